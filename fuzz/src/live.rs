//! Outside input with a cluster: a kubeconfig, and the answers of an API server, which are sent to the
//! client over the loopback interface.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use kubectl_hpa::args::ConnectionFlags;
use kubectl_hpa::cluster::fetch::list::fetch_all;
use kubectl_hpa::cluster::fetch::{complete, control_plane, fetch, old_versions};
use kubectl_hpa::cluster::observed::{self, Observed};
use kubectl_hpa::cluster::progress::Progress;
use kubectl_hpa::cluster::target::target;
use kubectl_hpa::cluster::write::scale;
use kubectl_hpa::cluster::{Environment, Session, connect, names};
use kubectl_hpa::snapshot::Listed;
use kubectl_hpa::snapshot::input::Options;
use kubectl_hpa::snapshot::note::Note;
use kubectl_hpa::snapshot::right::UnknownFact;
use serde_json::value::RawValue;
use tokio::runtime::{Builder, Runtime};

use super::passes::assert_worded;
use super::{as_text, assert_told};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::snapshot::selection::Selection;

/// The secrets in kubeconfigs.
const SECRET: &str = "c2VjcmV0LWluLXRoZS1zZWVkcw";

/// A kubeconfig: it is read, or rejected without showing its content; and a client is built from it.
pub fn kubeconfig(data: &[u8]) {
    HOME.with(|home| {
        fs::write(&home.kubeconfig, data).expect("a file of one's own");
        let path = home.kubeconfig.to_str();
        if let Err(e) = names(path, &home.environment) {
            assert_told(&e);
            assert!(!e.message.contains(SECRET), "{e}");
            return;
        }
        let flags = ConnectionFlags {
            kubeconfig: path.map(str::to_owned),
            ..Default::default()
        };
        match home.runtime.block_on(connect(&flags, &home.environment)) {
            Ok(session) => {
                let told = format!("{session:?} {:?} {:?}", session.notices(), session.notes(9));
                assert!(!told.contains(SECRET), "{told}");
            }
            Err(e) => assert_told(&e),
        }
    });
}

/// A directory with a kubeconfig, in which no credential plugin may run.
struct Home {
    runtime: Runtime,
    kubeconfig: PathBuf,
    environment: Environment,
}

thread_local! {
    static HOME: Home = Home::new();
}

impl Home {
    fn new() -> Self {
        let name = format!(
            "kubectl-hpa-fuzz-{}-{:?}",
            std::process::id(),
            thread::current().id()
        );
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).expect("a directory of one's own");
        let kuberc = directory.join("kuberc");
        fs::write(&kuberc, "credentialPluginPolicy: DenyAll\n").expect("a file of one's own");
        let kuberc = kuberc.to_str().expect("a path in UTF-8").to_owned();
        let variables = BTreeMap::from([("KUBERC".to_owned(), kuberc)]);
        let environment = Environment {
            variables,
            ..Environment::default()
        };
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let kubeconfig = directory.join("config");
        fs::write(&kubeconfig, "").expect("a file of one's own");
        Self {
            runtime,
            kubeconfig,
            environment,
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Some(directory) = self.kubeconfig.parent() {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// The requested HPA.
const NAME: &str = "nginx-deployment";

/// An API server's answers: an object of bodies by path. Those of the kind Status are failures with
/// their code; missing paths are not found. Everything that asks a cluster is tried.
pub fn answers(data: &[u8]) {
    let Some(bodies) = as_text(data).and_then(|text| serde_json::from_str(text).ok()) else {
        return;
    };
    HOME.with(|home| {
        SERVER.with_borrow_mut(|server| {
            *server.bodies.lock().unwrap_or_else(PoisonError::into_inner) = bodies;
            let session = server.session(home);
            home.runtime.block_on(ask(&session));
        });
    });
}

type Bodies = BTreeMap<String, Box<RawValue>>;

/// A server with its client.
struct Server {
    bodies: Arc<Mutex<Bodies>>,
    address: String,
    /// With the number of uses; a session's log grows with its requests.
    session: Option<(Session, u32)>,
}

thread_local! {
    static SERVER: RefCell<Server> = RefCell::new(Server::start());
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address").to_string();
        let bodies = Arc::new(Mutex::new(Bodies::new()));
        let shared = Arc::clone(&bodies);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let bodies = Arc::clone(&shared);
                thread::spawn(move || serve(stream, &bodies));
            }
        });
        Self {
            bodies,
            address,
            session: None,
        }
    }

    fn session(&mut self, home: &Home) -> Session {
        let flags = ConnectionFlags {
            server: Some(format!("http://{}", self.address)),
            namespace: Some("default".to_owned()),
            request_timeout: Some(Duration::ZERO),
            ..ConnectionFlags::default()
        };
        let (session, used) = self
            .session
            .take()
            .filter(|(_, used)| *used < 200)
            .unwrap_or_else(|| {
                let connected = home.runtime.block_on(connect(&flags, &home.environment));
                (connected.expect("an address is enough"), 0)
            });
        self.session = Some((session.clone(), used + 1));
        session
    }
}

/// Answers requests in sequence until the client hangs up.
fn serve(mut stream: TcpStream, bodies: &Mutex<Bodies>) {
    let _ = stream.set_nodelay(true);
    let Ok(mut reader) = stream.try_clone().map(BufReader::new) else {
        return;
    };
    let mut line = String::new();
    loop {
        line.clear();
        if !matches!(reader.read_line(&mut line), Ok(1..)) {
            return;
        }
        let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
        while line.trim_end() != "" {
            line.clear();
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
        }
        let path = path.split('?').next().unwrap_or_default();
        let answer = {
            let bodies = bodies.lock().unwrap_or_else(PoisonError::into_inner);
            answer(bodies.get(path).map(AsRef::as_ref))
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

const NOT_FOUND: &str =
    r#"{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}"#;

fn answer(body: Option<&RawValue>) -> String {
    #[derive(serde::Deserialize)]
    struct Status {
        kind: String,
        code: u16,
    }
    let body = body.map_or(NOT_FOUND, RawValue::get);
    let status = serde_json::from_str::<Status>(body)
        .ok()
        .filter(|it| it.kind == "Status");
    // Answers with other codes are retried after a while.
    let code = status.map(|it| {
        if matches!(it.code, 400..=500) {
            it.code
        } else {
            500
        }
    });
    format!(
        "HTTP/1.1 {} Answered\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Date: Sat, 21 Nov 2026 07:07:13 GMT\r\n\r\n{body}",
        code.unwrap_or(200),
        body.len()
    )
}

async fn ask(session: &Session) {
    match fetch(session, "default", NAME, &[]).await {
        Err(e) => assert_told(&e),
        Ok(observed) => {
            let at = observed.scale_at.clone();
            if let Ok(mut input) = observed::input(observed, &Options::default()) {
                let hpa = &input.snapshot.hpa;
                let since = jiff::Timestamp::UNIX_EPOCH;
                old_versions::look_back(session, hpa, since, at.as_ref(), None).await;
                if let Err(why) = control_plane::scaled(session, hpa).await {
                    let note = Note::not_known(UnknownFact::TargetEvents, &why);
                    input.notes.push(note);
                }
                if let Some(at) = &at {
                    let _ = target(session, at).await;
                    let _ = scale::read_again(session, at).await;
                }
                assert_worded(&Pass::run(input));
            }
        }
    }
    let told = |_, listed: Listed<Observed>| match listed
        .result
        .and_then(|it| observed::input(it, &Options::default()))
    {
        Ok(input) => assert_worded(&Pass::run(input)),
        Err(e) => assert_told(&e),
    };
    let all = Selection::default();
    if let Err(e) = fetch_all(session, None, &all, &Progress::default(), &told).await {
        assert_told(&e);
    }
    let _ = complete::namespaces(session).await;
    let _ = complete::hpas(session).await;
    let _ = complete::pods(session, NAME).await;
}
