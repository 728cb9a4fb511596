//! The server itself: an accepting thread, one thread per connection, and a log of the requests.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};
use rustls::{ServerConnection, StreamOwned};

use super::answer::{answer, write};
use super::faults::Effects;
use super::http::{Answer, Extent, POLL, Request, is_timeout, read_request, write_answer};
use super::kubeconfig::{Auth, Exec, Kubeconfig};
use super::log::{Recorded, rounds};
use super::objects::{Clock, Cluster, RECORDED_DATE};
use super::tls::{Certificates, Identity, Transport};

/// The longest that a connection is held: idle, hanging or stuck.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A running API server. Dropping it closes all connections and ends all threads.
pub(crate) struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    cluster: RwLock<Cluster>,
    transport: Transport,
    certificates: Certificates,
    /// Users by their client certificates.
    bearers: Mutex<BTreeMap<Vec<u8>, String>>,
    log: Mutex<Vec<Recorded>>,
    kept: Mutex<BTreeMap<Request, Arc<Kept>>>,
    started: Instant,
    connections: AtomicUsize,
    stop: AtomicBool,
}

/// An answer as it was sent.
struct Kept {
    user: Option<String>,
    status: u16,
    /// Of its body, before it was compressed.
    size: usize,
    bytes: Vec<u8>,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1.
    pub(crate) fn start(cluster: Cluster) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on the loopback");
        let address = listener.local_addr().expect("a bound address");
        let transport = cluster.transport;
        let shared = Arc::new(Shared {
            cluster: RwLock::new(cluster),
            transport,
            certificates: Certificates::new(transport),
            bearers: Mutex::default(),
            log: Mutex::default(),
            kept: Mutex::default(),
            started: Instant::now(),
            connections: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        });
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self {
            shared,
            address,
            acceptor: Some(acceptor),
        }
    }

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server's URL, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        let scheme = match self.shared.transport {
            Transport::Plain => "http",
            _ => "https",
        };
        format!("{scheme}://{}", self.address)
    }

    /// Returns the certificate of the authority that clients should trust, as PEM.
    pub(crate) fn authority(&self) -> &str {
        &self.shared.certificates.authority
    }

    /// Returns the client certificate of these credentials, if they are one.
    pub(crate) fn identity(&self, auth: &Auth<'_>) -> Option<Identity> {
        match auth {
            Auth::Certificate(user) | Auth::Exec(Exec::Certificate(user)) => {
                let identity = self.shared.certificates.client(user);
                let mut bearers = lock(&self.shared.bearers);
                bearers.insert(identity.der.clone(), (*user).to_owned());
                Some(identity)
            }
            Auth::BadCertificate => Some(Certificates::new(Transport::Tls).client("admin")),
            _ => None,
        }
    }

    /// Writes a kubeconfig for this server with these credentials; it is removed when dropped.
    pub(crate) fn kubeconfig(&self, auth: &Auth<'_>) -> Kubeconfig {
        Kubeconfig::write(self, auth)
    }

    /// Changes the cluster between requests.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Cluster)) {
        self.shared.write(change);
    }

    /// All requests so far, in the order in which they arrived.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        lock(&self.shared.log).clone()
    }

    /// The number of sequential rounds that the requests so far took, by the rule of [`rounds`].
    pub(crate) fn rounds(&self) -> usize {
        rounds(&self.requests())
    }

    /// How many connections were accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection, so it gets one.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            // A thread that panicked has reported it on stderr.
            drop(acceptor.join());
        }
    }
}

/// A panic in one connection must not hide what the others logged.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads = Vec::new();
    for stream in listener.incoming() {
        if shared.stops() {
            break;
        }
        let Ok(stream) = stream else { continue };
        let number = shared.connections.fetch_add(1, Ordering::SeqCst);
        let shared = Arc::clone(shared);
        threads.push(std::thread::spawn(move || {
            // The server does not care about a client that disconnects.
            drop(serve(stream, number, &shared));
        }));
    }
    for thread in threads {
        drop(thread.join());
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

fn serve(tcp: TcpStream, number: usize, shared: &Arc<Shared>) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(Some(POLL))?;
    tcp.set_write_timeout(Some(PATIENCE))?;
    let closer = tcp.try_clone()?;
    match shared.transport {
        Transport::Silent => hang(&mut &tcp, shared),
        Transport::Plain => drop(converse(&mut &tcp, &|_| None, number, shared)),
        _ => {
            let config = shared.certificates.config();
            let connection = ServerConnection::new(config).map_err(io::Error::other)?;
            let mut stream = StreamOwned::new(connection, tcp);
            let bearer = |stream: &mut StreamOwned<ServerConnection, TcpStream>| {
                let chain = stream.conn.peer_certificates()?;
                let bearers = lock(&shared.bearers);
                Some(bearers.get(chain.first()?.as_ref()).cloned())
            };
            let ended = converse(&mut stream, &bearer, number, shared);
            // If an answer was cut, the connection must end without a close notification.
            if matches!(ended, Ok(End::Orderly)) {
                stream.conn.send_close_notify();
                stream.flush()?;
            }
        }
    }
    closer.shutdown(Shutdown::Both)
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Orderly,
    Cut,
}

type Bearer<'a, S> = &'a dyn Fn(&mut S) -> Option<Option<String>>;

/// Answers the requests of one connection until it ends.
fn converse<S: Stream>(
    stream: &mut S,
    bearer: Bearer<'_, S>,
    number: usize,
    shared: &Arc<Shared>,
) -> io::Result<End> {
    let mut buffer = Vec::new();
    let mut is_kept = false;
    loop {
        let idle = Instant::now();
        let stop = || shared.stops() || idle.elapsed() > PATIENCE;
        let Some(request) = read_request(stream, &mut buffer, &stop)? else {
            return Ok(End::Orderly);
        };
        let entry = shared.arrived(&request, number);
        let (effects, latency, keeps) = shared.read(|cluster| {
            let effects = Effects::of(&cluster.faults, &request);
            (effects, cluster.latency, cluster.keeps)
        });
        if effects.cut_where_kept && is_kept {
            shared.done(entry, None, 0, 0);
            return Ok(End::Orderly);
        }
        is_kept = true;
        shared.sleep(latency);
        let kept = lock(&shared.kept).get(&request).cloned();
        if let Some(kept) = kept {
            shared.sleep(latency);
            shared.done(entry, kept.user.clone(), kept.status, kept.size);
            stream.write_all(&kept.bytes)?;
            stream.flush()?;
            continue;
        }
        let certificate = bearer(stream);
        for change in &effects.before {
            shared.write(change);
        }
        let (answer, user) = if effects.unheard {
            (Answer::text(502, ""), None)
        } else if request.method == "GET" {
            shared.read(|cluster| answer(cluster, &request, certificate))
        } else {
            shared.write(|cluster| write(cluster, &request, certificate))
        };
        if let Some(late) = effects.late {
            let (shared, request) = (Arc::clone(shared), request.clone());
            let certificate = bearer(stream);
            std::thread::spawn(move || {
                shared.sleep(late);
                shared.write(|cluster| drop(write(cluster, &request, certificate)));
            });
        }
        let answer = effects.change(&request, answer);
        let answer = dated(answer, shared.read(|cluster| cluster.clock));
        if effects.hangs {
            hang(stream, shared);
        } else {
            shared.sleep(latency + effects.answer_delay);
        }
        if effects.hangs || effects.extent == Extent::Nothing {
            shared.done(entry, user, 0, 0);
            return Ok(End::Cut);
        }
        // Before the body is sent: its reader may be faster than this thread.
        let pause = || {
            shared.sleep(effects.body_delay);
            shared.done(entry, user.clone(), answer.status, answer.body.len());
        };
        if keeps {
            let mut bytes = Vec::new();
            write_answer(&mut bytes, &request, &answer, Extent::Whole, &|| {})?;
            let size = answer.body.len();
            let kept = Kept {
                user: user.clone(),
                status: answer.status,
                size,
                bytes,
            };
            lock(&shared.kept).insert(request.clone(), Arc::new(kept));
        }
        write_answer(stream, &request, &answer, effects.extent, &pause)?;
        if effects.extent != Extent::Whole {
            return Ok(End::Cut);
        }
        if request.header("connection") == Some("close") {
            return Ok(End::Orderly);
        }
    }
}

/// Waits until the client closes the connection or the server stops.
fn hang(stream: &mut dyn Stream, shared: &Shared) {
    let since = Instant::now();
    let mut bytes = [0; 1024];
    while !shared.stops() && since.elapsed() < PATIENCE {
        match stream.read(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(_) => return,
        }
    }
}

/// Adds the headers that every answer has. One that came via a gateway was not audited.
fn dated(answer: Answer, clock: Clock) -> Answer {
    static AUDITED: AtomicUsize = AtomicUsize::new(1);
    let date = match clock {
        Clock::Recorded => RECORDED_DATE.to_owned(),
        Clock::Broken => "yesterday".to_owned(),
        Clock::Ahead(seconds) => {
            let now = Timestamp::now() + SignedDuration::from_secs(seconds);
            let printed = DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
            printed.expect("a date of this age")
        }
    };
    let answer = answer.with("Date", date);
    if answer.headers.iter().any(|(name, _)| name == "Via") {
        return answer;
    }
    let number = AUDITED.fetch_add(1, Ordering::SeqCst);
    answer.with("Audit-Id", format!("00000000-0000-4000-9000-{number:012}"))
}

impl Shared {
    fn stops(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    fn read<T>(&self, read: impl FnOnce(&Cluster) -> T) -> T {
        let cluster = self.cluster.read();
        read(&cluster.unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, write: impl FnOnce(&mut Cluster) -> T) -> T {
        let cluster = self.cluster.write();
        write(&mut cluster.unwrap_or_else(PoisonError::into_inner))
    }

    /// Sleeps in slices, so that the server can stop at any time.
    fn sleep(&self, time: Duration) {
        let until = Instant::now() + time.min(PATIENCE);
        while !self.stops() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(POLL));
        }
    }

    /// Logs a request and returns its index.
    fn arrived(&self, request: &Request, connection: usize) -> usize {
        let mut log = lock(&self.log);
        log.push(Recorded {
            request: request.clone(),
            at: self.started.elapsed(),
            done: None,
            connection,
            user: None,
            status: 0,
            bytes: 0,
        });
        log.len() - 1
    }

    fn done(&self, entry: usize, user: Option<String>, status: u16, bytes: usize) {
        let entry = &mut lock(&self.log)[entry];
        entry.done = Some(self.started.elapsed());
        entry.user = user;
        entry.status = status;
        entry.bytes = bytes;
    }
}
