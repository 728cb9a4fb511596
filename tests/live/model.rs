//! Random sequences of faults, and what holds in each of them: a run ends in time, with a code from the
//! table in `docs/exit-codes.md`; standard output has a complete answer or nothing; a write names the state
//! that was read, takes effect at most once, and the report about it is true, even about what lands later.
//!
//! Unlike `nothing_is_overwritten_blindly_and_what_is_told_holds`, which only covers the writing and tries
//! far more, this runs the program itself with sockets, TLS and retries.

use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::api::json::each;
use super::api::{Answer, Auth, Client, Fault, Server, When, answer::status};
use super::apply::{SCALE, WEB, body_of, cluster, scale, set, writes};
use super::{Change, HPAS, POD_METRICS, PODS, Ran, program, run};

const EVENTS: &str = "/api/v1/namespaces/default/events";

/// When the last of the server's late actions is done.
const LATEST: Duration = Duration::from_millis(1800);

/// A fault of one request to a path.
#[derive(Debug, Clone)]
struct Step {
    place: &'static str,
    method: &'static str,
    nth: usize,
    /// Whether it also affects all that follow.
    lasts: bool,
    faults: Vec<Fault>,
}

impl Step {
    fn covers(&self, nth: usize) -> bool {
        self.nth == nth || self.lasts && self.nth < nth
    }

    /// Whether both affect one write. Together they would report it as refused and still execute it.
    fn meets(&self, other: &Self) -> bool {
        let is_one = (self.place, self.method) == (other.place, other.method);
        is_one && self.method != "GET" && (self.covers(other.nth) || other.covers(self.nth))
    }
}

#[derive(Debug, Clone)]
struct Sequence {
    arguments: &'static [&'static str],
    steps: Vec<Step>,
}

/// Returns faults in which a request is read but not answered properly. None of them says whether it was
/// executed.
fn lost() -> impl Strategy<Value = Fault> {
    prop::sample::select(vec![
        Fault::CutBeforeHead,
        Fault::CutAfterHead,
        Fault::CutInBody,
        Fault::InternalError,
        Fault::Unavailable(None),
        Fault::Timeout,
        Fault::HtmlBadGateway,
        Fault::Answer(Answer::text(302, "")),
        Fault::Answer(Answer::text(403, "blocked")),
        Fault::Answer(Answer::text(499, "")),
        Fault::Hang,
    ])
}

fn refused() -> impl Strategy<Value = Fault> {
    let answer = |code, reason| Fault::Answer(status(code, reason, "so it is", None));
    prop::sample::select(vec![
        answer(400, "BadRequest"),
        answer(403, "Forbidden"),
        answer(422, "Invalid"),
        Fault::Unauthorized,
        Fault::TooManyRequests(None),
        Fault::TooManyRequests(Some(0)),
        Fault::Unavailable(Some(0)),
        Fault::Answer(Answer::text(418, "")),
    ])
}

/// Returns what someone else does in the meantime.
fn moved() -> impl Strategy<Value = Fault> {
    let target: [Change; 5] = [
        |cluster| set(cluster, 6, "kubectl"),
        |cluster| set(cluster, 4, "argocd"),
        |cluster| set(cluster, 2, "kube-controller-manager"),
        |cluster| {
            cluster.edit("apps/v1", "Deployment", WEB, |it| {
                it["metadata"]["uid"] = json!("new");
            });
        },
        |cluster| {
            cluster.edit_hpa(WEB, |hpa| {
                hpa["spec"]["maxReplicas"] = json!(3);
            });
        },
    ];
    prop::sample::select(target.map(Fault::Before).to_vec())
}

fn read() -> impl Strategy<Value = Step> {
    let places = vec![HPAS, SCALE, PODS, POD_METRICS, EVENTS, "/apis/apps", "/"];
    let faults = prop_oneof![
        4 => lost(),
        3 => refused(),
        2 => moved(),
        1 => prop::sample::select(vec![
            Fault::InvalidJson,
            Fault::TruncatedJson,
            Fault::WrongKind,
            Fault::Expired,
            Fault::DelayAnswer(Duration::from_millis(100)),
            Fault::DelayBody(Duration::from_millis(100)),
            Fault::Warning("so it is".to_owned()),
        ]),
    ];
    (
        prop::sample::select(places),
        1..9_usize,
        prop::bool::weighted(0.15),
        faults,
    )
        .prop_map(|(place, nth, lasts, fault)| Step {
            place,
            method: "GET",
            nth,
            lasts,
            faults: vec![fault],
        })
}

/// A refused write is not executed; whether one with a lost answer was, is unknown.
fn write() -> impl Strategy<Value = Step> {
    let acts = prop_oneof![
        2 => Just(None),
        2 => Just(Some(Fault::Unheard)),
        3 => (50..1500_u64).prop_map(|time| Some(Fault::Late(Duration::from_millis(time)))),
    ];
    let way = prop_oneof![
        4 => (lost(), acts).prop_map(|(fault, acts)| acts.into_iter().chain([fault]).collect()),
        1 => prop::sample::select(vec![Fault::InvalidJson, Fault::TruncatedJson])
            .prop_map(|fault| vec![fault]),
        2 => refused().prop_map(|fault| vec![Fault::Unheard, fault]),
        1 => moved().prop_map(|fault| vec![fault]),
        1 => (moved(), lost()).prop_map(|(moved, lost)| vec![moved, lost]),
    ];
    let places = vec![
        (SCALE, "PUT"),
        (SCALE, "PUT"),
        (HPAS, "PUT"),
        (EVENTS, "POST"),
    ];
    (
        prop::sample::select(places),
        1..3_usize,
        prop::bool::weighted(0.2),
        way,
    )
        .prop_map(|((place, method), nth, lasts, faults)| Step {
            place,
            method,
            nth,
            lasts,
            faults,
        })
}

const READS: [&[&str]; 5] = [
    &["explain", "web", "-o", "json"],
    &["explain", "web"],
    &["explain", "-o", "json"],
    &[
        "predict",
        "web",
        "--cpu",
        "90%",
        "--expect",
        "desired <= 3",
        "-o",
        "json",
    ],
    &["predict", "web", "--exit-code", "-o", "markdown"],
];
const WRITES: [&[&str]; 5] = [
    &["apply", "web", "--yes", "-o", "json"],
    &["apply", "web", "--yes", "--force-uncertain"],
    &[
        "apply",
        "web",
        "--yes",
        "--force-uncertain",
        "--retry=2",
        "-o",
        "name",
    ],
    &[
        "apply",
        "web",
        "--yes",
        "--force-uncertain",
        "--event",
        "--write-status",
        "--force-write-status",
        "-o",
        "json",
    ],
    &[
        "apply",
        "web",
        "--yes",
        "--event",
        "--wait=200ms",
        "-o",
        "json",
    ],
];

fn sequence() -> impl Strategy<Value = Sequence> {
    let reads = (
        prop::sample::select(READS.to_vec()),
        prop::collection::vec(read(), 1..4),
    );
    let mixed = prop::collection::vec(prop_oneof![1 => read(), 3 => write()], 1..5);
    let writes = (prop::sample::select(WRITES.to_vec()), mixed);
    prop_oneof![1 => reads, 3 => writes].prop_map(|(arguments, all)| {
        let mut steps: Vec<Step> = Vec::new();
        for step in all {
            if !steps.iter().any(|other| other.meets(&step)) {
                steps.push(step);
            }
        }
        Sequence { arguments, steps }
    })
}

/// The server's state of what the program wrote.
struct Held {
    scaled: usize,
    events: usize,
    replicas: Value,
}

impl Held {
    fn by(server: &Server) -> Self {
        let mut scaled = 0;
        server.change(|cluster| scaled = cluster.heal().scaled);
        let mut client = Client::connect(server, &Auth::Token("admin")).expect("it listens");
        let events = client.get(EVENTS).expect("an answer").json();
        let own = |event: &&Value| event["source"]["component"] == "kubectl-hpa";
        let events = each(&events["items"]).filter(own).count();
        Self {
            scaled,
            events,
            replicas: scale(server)["spec"]["replicas"].clone(),
        }
    }
}

/// Runs it, and checks everything that must hold.
fn holds(sequence: &Sequence) -> Result<(), TestCaseError> {
    let Sequence { arguments, steps } = sequence;
    let mut cluster = cluster();
    for step in steps {
        for fault in &step.faults {
            let when = When::on(step.place).method(step.method);
            let when = if step.lasts {
                when.from(step.nth)
            } else {
                when.nth(step.nth)
            };
            cluster.fault(when, fault.clone());
        }
    }
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let mut command = program();
    command
        .args(*arguments)
        .args(["-n", "default", "--request-timeout=700ms"]);
    let ran = run(command.env("KUBECONFIG", config.path()));
    let Some(code) = ran.code else {
        return Err(TestCaseError::fail("it was killed at the end of its time"));
    };
    prop_assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
    let answer = whole(arguments, &ran)?;
    let (verb, is_told) = (arguments[0], !ran.stdout.is_empty());
    let codes: &[i32] = match verb {
        "explain" => &[0, 1],
        "predict" => &[0, 1, 3, 4, 5],
        _ => &[0, 1, 6, 7],
    };
    prop_assert!(codes.contains(&code), "{code}: {}", ran.stderr);
    prop_assert!(
        is_told || code != 0 || arguments.ends_with(&["name"]),
        "nothing is printed"
    );
    prop_assert_eq!(
        ran.stderr.is_empty() && code != 0 && !is_told,
        false,
        "nothing is said"
    );

    let sent = writes(&server);
    if verb != "apply" {
        prop_assert!(sent.is_empty());
        return Ok(());
    }
    let puts: Vec<_> = sent.iter().filter(|write| write.path == SCALE).collect();
    for put in &puts {
        let body = body_of(put);
        for field in ["uid", "resourceVersion"] {
            let is_named = body["metadata"][field]
                .as_str()
                .is_some_and(|it| !it.is_empty());
            prop_assert!(is_named, "a blind write: {body}");
        }
    }
    let then = Held::by(&server);
    let is_late = steps
        .iter()
        .flat_map(|step| &step.faults)
        .any(|it| matches!(it, Fault::Late(_)));
    if is_late && !sent.is_empty() {
        thread::sleep(LATEST);
    }
    let later = Held::by(&server);
    let told = format!("{code}: {}", ran.stderr);
    prop_assert!(later.scaled <= 1 && later.events <= 1, "done twice; {told}");
    let says_written = match &answer {
        Some(answer) => answer["result"]["outcome"] == "written",
        None if arguments.ends_with(&["name"]) => is_told,
        None => ran.stdout.contains("deployment.apps/web scaled\n"),
    };
    let is_open = ran.stderr.contains("unknown whether it was written");
    if says_written {
        prop_assert_eq!((then.scaled, later.scaled), (1, 1), "{}", told);
    } else if code != 7 {
        prop_assert_eq!((then.scaled, later.scaled), (0, 0), "{}", told);
    } else if !is_open {
        prop_assert!(
            ran.stderr.contains("the write can no longer take effect"),
            "{told}"
        );
        prop_assert_eq!(then.scaled, later.scaled, "{}", told);
    }
    let Some(answer) = answer else { return Ok(()) };
    match &answer["event"]["written"] {
        Value::Bool(true) => prop_assert_eq!((then.events, later.events), (1, 1), "{}", told),
        Value::Bool(false) => prop_assert_eq!((then.events, later.events), (0, 0), "{}", told),
        _ => {}
    }
    let replicas = &answer["result"]["replicas"];
    let is_alone = !steps
        .iter()
        .flat_map(|step| &step.faults)
        .any(|it| matches!(it, Fault::Before(_)));
    if says_written && is_alone {
        prop_assert_eq!(replicas, &later.replicas, "{}", told);
    }
    Ok(())
}

/// Returns the answer in JSON, if that was requested and there is one; checks that it is complete.
fn whole(arguments: &[&str], ran: &Ran) -> Result<Option<Value>, TestCaseError> {
    prop_assert!(
        ran.stdout.is_empty() || ran.stdout.ends_with('\n'),
        "{:?}",
        ran.stdout
    );
    if ran.stdout.is_empty() || !arguments.ends_with(&["json"]) {
        return Ok(None);
    }
    let answer = serde_json::from_str(&ran.stdout);
    answer
        .map(Some)
        .map_err(|e| TestCaseError::fail(format!("{e}: {}", ran.stdout)))
}

/// Runs many at once, because most of their time is waiting.
fn try_all(cases: u32, seed: u64) {
    const AT_ONCE: u32 = 8;
    thread::scope(|scope| {
        for number in 0..AT_ONCE {
            scope.spawn(move || {
                let config = ProptestConfig {
                    cases: cases.div_ceil(AT_ONCE),
                    max_shrink_iters: 40,
                    failure_persistence: None,
                    ..ProptestConfig::default()
                };
                let mut bytes = [0; 32];
                bytes[..8].copy_from_slice(&seed.to_le_bytes());
                bytes[8..12].copy_from_slice(&number.to_le_bytes());
                let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
                let mut runner = TestRunner::new_with_rng(config, rng);
                if let Err(e) = runner.run(&sequence(), |sequence| holds(&sequence)) {
                    panic!("seed {seed}: {e}");
                }
            });
        }
    });
}

#[test]
fn whatever_fails_what_is_told_is_true() {
    try_all(40, 0);
}

/// `SEQUENCES` sets how many, `SEED` which.
#[test]
#[ignore = "minutes for SEQUENCES=1000: cargo test --release --test live -- --ignored"]
#[expect(clippy::print_stderr, reason = "a long run should say what it does")]
fn whatever_fails_what_is_told_is_true_in_the_long_run() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let cases = number("SEQUENCES").unwrap_or(1000);
    let since_epoch = std::time::UNIX_EPOCH.elapsed().expect("a clock").as_secs();
    let seed = number("SEED").unwrap_or(since_epoch);
    eprintln!("{cases} sequences, SEED={seed}");
    try_all(u32::try_from(cases).expect("fewer"), seed);
}
