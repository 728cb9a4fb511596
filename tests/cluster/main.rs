//! The program against the cluster of the kubeconfig, or of the environment, whose controller decides at the same
//! time. `cargo test --test cluster -- --ignored --nocapture` needs kubectl and the rights of an
//! administrator. Everything is created in namespaces of its own, or has the label `kubectl-hpa-test`, and is
//! deleted at the end, whether or not the test succeeds.
#![allow(
    clippy::print_stderr,
    reason = "a long run says what it does, and a skipped one why"
)]
#![allow(
    clippy::unwrap_used,
    reason = "what cannot fail here is not worth a message"
)]

mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::{Value, json};
use watch::{Answers, Tools, Verdict, Watch};

/// The label of everything outside of the namespaces.
const LABEL: &str = "kubectl-hpa-test";

/// The minor version from which ContainerResource metrics are on by default.
const CONTAINERS_SINCE: u32 = 27;

/// The percentage of answers whose most likely replicas must be right.
const LIKELIEST: usize = 90;

/// A namespace, which is deleted with everything that belongs to it.
struct Space {
    tools: Tools,
    name: String,
}

impl Space {
    /// Creates it; `None` if there is no kubeconfig. One that leads nowhere is an error.
    fn new(test: &str) -> Option<Self> {
        let home = env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config"));
        let is_set = env::var_os("KUBECONFIG").is_some_and(|value| !value.is_empty());
        if !is_set && !home.is_some_and(|path| path.exists()) {
            eprintln!(
                "skipped: there is no cluster, as neither KUBECONFIG nor ~/.kube/config exists"
            );
            return None;
        }
        let name = format!("kubectl-hpa-{test}-{}", std::process::id());
        let space = Self {
            tools: Tools::default(),
            name,
        };
        let context = space
            .tools
            .kubectl(&["config", "current-context"], "")
            .unwrap_or_default();
        eprintln!(
            "{}: context {}, version {}",
            space.name,
            context.trim(),
            space.version()
        );
        space.create(&json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": space.name, "labels": {LABEL: space.name}},
        }));
        Some(space)
    }

    fn create(&self, object: &Value) {
        self.tools
            .kubectl(&["create", "-f", "-"], &object.to_string())
            .unwrap();
    }

    /// The minor version of the server.
    fn version(&self) -> u32 {
        let version = self.tools.kubectl(&["get", "--raw=/version"], "");
        let version: Value = serde_json::from_str(&version.unwrap()).unwrap();
        let minor = version["minor"].as_str().unwrap();
        minor.trim_end_matches('+').parse().unwrap()
    }

    /// Runs the program in the namespace.
    fn program(&self, verb: &str, name: &str, more: &[&str]) -> (i32, String, String) {
        self.tools
            .program(&[&[verb, name, "-n", &*self.name], more].concat())
    }

    /// Creates the workloads and HPAs of the suite with these names, or all that the version has.
    fn load(&self, names: &[&str]) -> BTreeSet<String> {
        let text = include_str!("workloads.yaml");
        let objects = text
            .split("\n---\n")
            .map(|text| serde_yaml::from_str::<Value>(text).unwrap());
        let has_containers = self.version() >= CONTAINERS_SINCE;
        let mut loaded = BTreeSet::new();
        for object in objects {
            let name = object["metadata"]["name"].as_str().unwrap();
            let wanted = names.is_empty() && (has_containers || name != "container");
            if !wanted && !names.contains(&name) {
                continue;
            }
            let arguments = ["apply", "-n", &self.name, "-f", "-"];
            self.tools.kubectl(&arguments, &object.to_string()).unwrap();
            if object["kind"] == "HorizontalPodAutoscaler" {
                loaded.insert(name.to_owned());
            }
        }
        loaded
    }

    /// Waits until all pods run and, if the cluster serves them, have metrics.
    fn wait_for_pods(&self) {
        let path = format!("/apis/metrics.k8s.io/v1beta1/namespaces/{}/pods", self.name);
        let has_metrics = self
            .tools
            .kubectl(&["get", "--raw=/apis/metrics.k8s.io/v1beta1"], "")
            .is_ok();
        until(
            "running pods with metrics",
            Duration::from_secs(300),
            || {
                let pods = self.tools.json(&["get", "pods", "-n", &self.name]);
                let pods = pods["items"].as_array().unwrap();
                let ready = |pod: &Value| {
                    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
                    conditions
                        .clone()
                        .any(|it| it["type"] == "Ready" && it["status"] == "True")
                };
                let measured = || {
                    let metrics = self.tools.kubectl(&["get", "--raw", &path], "").ok();
                    let metrics: Option<Value> =
                        metrics.and_then(|it| serde_json::from_str(&it).ok());
                    metrics
                        .and_then(|it| Some(it["items"].as_array()?.len()))
                        .unwrap_or(0)
                };
                !pods.is_empty()
                    && pods.iter().all(ready)
                    && (!has_metrics || measured() >= pods.len())
            },
        );
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        let label = format!("{LABEL}={}", self.name);
        for arguments in [
            &["delete", "namespace", &*self.name, "--wait=false"][..],
            &["delete", "clusterroles,clusterrolebindings", "-l", &label],
            &[
                "delete",
                "roles,rolebindings",
                "-n",
                "kube-system",
                "-l",
                &label,
            ],
        ] {
            if let Err(e) = self.tools.kubectl(arguments, "") {
                eprintln!("not deleted: kubectl {}: {e}", arguments.join(" "));
            }
        }
    }
}

/// Tries until it holds.
#[track_caller]
fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < limit, "{what}: not after {limit:?}");
        sleep(Duration::from_secs(2));
    }
}

/// The seconds that the controller is watched.
fn seconds() -> u64 {
    env::var("CLUSTER_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(480)
}

#[test]
#[ignore = "needs a cluster: cargo test --test cluster -- --ignored --nocapture"]
fn each_decision_is_that_of_the_controller() {
    let Some(space) = Space::new("decisions") else {
        return;
    };
    let hpas = space.load(&[]);
    space.wait_for_pods();
    let mut watch = Watch::new(&space.tools, &space.name);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds()) {
        watch.look();
        sleep(Duration::from_secs(2));
    }
    let sent = events(&space);
    let mut wrong = judged(&watch.answers());
    let verdicts = watch.verdicts();
    for name in &hpas {
        let verdicts = verdicts.get(&**name).map_or(&[][..], Vec::as_slice);
        let count = |is: fn(&Verdict) -> bool| verdicts.iter().filter(|it| is(it)).count();
        let same = count(|it| matches!(it, Verdict::Same(_)));
        let open = count(|it| *it == Verdict::InRange);
        let unseen = count(|it| *it == Verdict::Unseen);
        eprintln!(
            "{name}: {} statuses, {same} the same word for word, {open} inside the range, {unseen} not asked in time",
            verdicts.len()
        );
        for verdict in verdicts {
            if let Verdict::Differs(difference) = verdict {
                eprintln!("{name}: {difference}");
            }
        }
        let last = verdicts.iter().rfind(|it| **it != Verdict::Unseen);
        match last {
            None => wrong.push(format!("{name}: no status could be compared")),
            Some(Verdict::Differs(difference)) => wrong.push(format!("{name}: {difference}")),
            Some(_) => {}
        }
        for verdict in verdicts {
            let Verdict::Same(events) = verdict else {
                continue;
            };
            let texts = events
                .iter()
                .map(|event| ["type", "reason", "message"].map(|it| event[it].clone()));
            let sent = sent.get(name).map_or(&[][..], Vec::as_slice);
            let missing = texts.filter(|text| !sent.iter().any(|it| says(it, text)));
            wrong.extend(missing.map(|text| format!("{name}: no event {text:?}")));
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Prints how the answers about each HPA compare with the passes that followed, and returns what is wrong. The
/// most likely answer is not always right, but mostly.
fn judged(answers: &BTreeMap<&str, Answers>) -> Vec<String> {
    let mut wrong = Vec::new();
    let (mut all, mut likeliest) = (0, 0);
    for (name, own) in answers {
        eprintln!(
            "{name}: {} answers about the next pass, {} certain, {} with the most likely replicas right",
            own.all, own.certain, own.likeliest
        );
        wrong.extend(
            own.outside
                .iter()
                .map(|outside| format!("{name}: {outside}")),
        );
        all += own.all;
        likeliest += own.likeliest;
    }
    if likeliest * 100 < all * LIKELIEST {
        wrong.push(format!(
            "only {likeliest} of {all} answers had the right most likely replicas"
        ));
    }
    wrong
}

/// The events about each HPA, with type, reason and message.
fn events(space: &Space) -> BTreeMap<String, Vec<[Value; 3]>> {
    let all = space.tools.json(&["get", "events", "-n", &space.name]);
    let mut sent: BTreeMap<String, Vec<[Value; 3]>> = BTreeMap::new();
    for event in all["items"].as_array().unwrap() {
        let about = &event["involvedObject"];
        if about["kind"] == "HorizontalPodAutoscaler" {
            let name = about["name"].as_str().unwrap().to_owned();
            let text = ["type", "reason", "message"].map(|it| event[it].clone());
            sent.entry(name).or_default().push(text);
        }
    }
    sent
}

/// Whether an event has a text. From the eleventh similar event on, one combined event has the last text only.
fn says(sent: &[Value; 3], text: &[Value; 3]) -> bool {
    let is_combined = |message: &str| message.starts_with("(combined from similar events)");
    let same = sent[..2] == text[..2];
    same && (sent[2] == text[2] || sent[2].as_str().is_some_and(is_combined))
}

/// The scale of a Deployment: its replicas, and the manager that wrote them last through the subresource.
fn scale(space: &Space, name: &str) -> (i64, Option<String>) {
    let arguments = [
        "get",
        "deployment",
        name,
        "-n",
        &space.name,
        "--show-managed-fields",
    ];
    let target = space.tools.json(&arguments);
    let fields = target["metadata"]["managedFields"].as_array().unwrap();
    let writer = fields.iter().find(|it| it["subresource"] == "scale");
    let writer = writer
        .and_then(|it| it["manager"].as_str())
        .map(str::to_owned);
    (target["spec"]["replicas"].as_i64().unwrap(), writer)
}

/// Below `minReplicas` a pass needs no metrics. The controller repairs it too, within a sync period, so whoever is
/// first wins; a few attempts are enough to be first.
#[test]
#[ignore = "needs a cluster: cargo test --test cluster -- --ignored --nocapture"]
fn apply_writes_once_and_only_what_it_was_asked_for() {
    let Some(space) = Space::new("apply") else {
        return;
    };
    // An HPA whose target does not exist is no reason not to write.
    space.load(&["idle", "gone"]);
    let target = ["deployment", "idle", "-n", &*space.name];
    let mut won = false;
    for attempt in 1..=10 {
        let below = [&["scale"], &target[..], &["--replicas=1"]].concat();
        space.tools.kubectl(&below, "").unwrap();
        // What is not asked for is not written, whoever is first.
        for (flags, code) in [
            (&["--yes", "--current-replicas=7"][..], 6),
            (&["--yes", "--resource-version=1"], 6),
        ] {
            let (got, _, errors) = space.program("apply", "idle", flags);
            assert_eq!(got, code, "{flags:?}: {errors}");
        }
        let (code, _, errors) = space.program("apply", "idle", &["--dry-run=server"]);
        assert!([0, 6].contains(&code), "{errors}");
        let (code, answer, errors) = space.program(
            "apply",
            "idle",
            &["--yes", "--current-replicas=1", "-o", "json"],
        );
        assert!([0, 6].contains(&code), "{errors}");
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let (replicas, writer) = scale(&space, "idle");
        eprintln!(
            "attempt {attempt}: exit code {code}, {replicas} replicas, written by {writer:?}"
        );
        if code == 0 && !answer["change"].is_null() {
            assert_eq!(writer.as_deref(), Some("kubectl-hpa"));
            assert_eq!(replicas, 2, "minReplicas");
            assert_eq!(answer["result"]["replicas"], 2, "{answer:#}");
            won = true;
            break;
        }
        assert_ne!(
            writer.as_deref(),
            Some("kubectl-hpa"),
            "nothing was written"
        );
    }
    assert!(won, "the controller was first each time");
}

/// The printed commands that write something are taken by the API server as they are printed, without a warning.
#[test]
#[ignore = "needs a cluster: cargo test --test cluster -- --ignored --nocapture"]
fn printed_commands_are_taken() {
    const WITH_DRY_RUN: [&str; 5] = ["patch", "scale", "set", "annotate", "delete"];
    let Some(space) = Space::new("commands") else {
        return;
    };
    let hpas = space.load(&[]);
    space.wait_for_pods();
    let (mut tried, mut wrong) = (BTreeSet::new(), Vec::new());
    // Bounds above or below the replicas bring about other findings.
    for bounds in [
        &[][..],
        &["--min", "1", "--max", "1"],
        &["--min", "5", "--max", "10"],
    ] {
        for name in &hpas {
            let verb = if bounds.is_empty() {
                "explain"
            } else {
                "predict"
            };
            let flags = [bounds, &["-o", "json"]].concat();
            let (_, answer, errors) = space.program(verb, name, &flags);
            let Ok(answer) = serde_json::from_str::<Value>(&answer) else {
                panic!("{verb} {name} {flags:?}: {errors}");
            };
            let findings = answer["findings"].as_array().into_iter().flatten();
            let commands = findings.flat_map(|it| it["commands"].as_array().into_iter().flatten());
            for command in commands.filter_map(Value::as_str) {
                let verb = command.split(' ').nth(1).unwrap_or_default();
                if !WITH_DRY_RUN.contains(&verb) || command.contains("--dry-run") {
                    continue;
                }
                let shape = command.replace(|letter: char| letter.is_ascii_digit(), "0");
                if !tried.insert(shape.replace(name, "NAME")) {
                    continue;
                }
                let pasted = format!("{command} --dry-run=server");
                let ran = Command::new("sh").args(["-c", &pasted]).output().unwrap();
                if !ran.status.success() || !ran.stderr.is_empty() {
                    wrong.push(format!(
                        "{pasted}: {}",
                        String::from_utf8_lossy(&ran.stderr)
                    ));
                }
            }
        }
    }
    eprintln!(
        "tried:\n{}",
        tried.into_iter().collect::<Vec<_>>().join("\n")
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The roles of `examples/rbac`, with names of their own, for a user who has nothing else.
#[test]
#[ignore = "needs a cluster: cargo test --test cluster -- --ignored --nocapture"]
fn the_roles_suffice_and_without_them_the_right_is_named() {
    let Some(space) = Space::new("roles") else {
        return;
    };
    space.load(&["idle"]);
    space.wait_for_pods();
    for (file, flags) in [
        ("explain", &["-o", "wide"][..]),
        ("predict", &["--cpu", "30%", "-o", "wide"]),
        ("apply", &["--dry-run=server", "--force-uncertain"]),
    ] {
        let user = format!("{}-{file}", space.name);
        let as_user = format!("--as={user}");
        let flags = [flags, &[&*as_user, "-v=1"]].concat();
        let (code, output, errors) = space.program(file, "idle", &flags);
        let said = format!("{output}{errors}");
        assert!(
            code == 1 && said.contains("missing permission: get horizontalpodautoscalers"),
            "{said}"
        );

        grant(&space, file, &user);
        until("the rights of the roles", Duration::from_secs(30), || {
            let (code, output, errors) = space.program(file, "idle", &flags);
            let said = format!("{output}{errors}");
            let holds = code == 0 && !said.contains("missing permission");
            if !holds {
                eprintln!("{file}: exit code {code}: {said}");
            }
            holds
        });
    }
}

/// Creates the roles of a file and binds them to a user, where the file says they belong.
fn grant(space: &Space, file: &str, user: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/rbac/{file}.yaml"));
    let text = fs::read_to_string(path).unwrap();
    for document in text.split("\n---\n") {
        let mut role: Value = serde_yaml::from_str(document).unwrap();
        let (kind, first) = (role["kind"].take(), role["metadata"]["name"].take());
        let name = format!("{user}-{}", first.as_str().unwrap());
        role["kind"] = kind.clone();
        role["metadata"]["name"] = json!(name);
        role["metadata"]["labels"] = json!({LABEL: space.name});
        space.create(&role);
        // The optional one is for the whole cluster; the others are for a namespace.
        let is_global = first == "kubectl-hpa-metrics-apis";
        let mut metadata = json!({"name": name, "labels": {LABEL: space.name}});
        if !is_global {
            let place = &role["metadata"]["namespace"];
            metadata["namespace"] = if place.is_null() {
                json!(space.name)
            } else {
                place.clone()
            };
        }
        let api = "rbac.authorization.k8s.io";
        space.create(&json!({
            "apiVersion": format!("{api}/v1"),
            "kind": if is_global { "ClusterRoleBinding" } else { "RoleBinding" },
            "metadata": metadata,
            "roleRef": {"apiGroup": api, "kind": kind, "name": name},
            "subjects": [{"apiGroup": api, "kind": "User", "name": user}],
        }));
    }
}

/// What the suite creates can be created, and has an HPA of each type of metric.
#[test]
fn the_workloads_are_whole() {
    let text = include_str!("workloads.yaml");
    let mut types = BTreeSet::new();
    let mut targets = BTreeSet::new();
    let mut hpas = Vec::new();
    for document in text.split("\n---\n") {
        let object: Value = serde_yaml::from_str(document).unwrap();
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        if object["kind"] != "HorizontalPodAutoscaler" {
            assert_eq!(object["spec"]["selector"]["matchLabels"]["app"], *name);
            targets.insert((object["kind"].as_str().unwrap().to_owned(), name));
            continue;
        }
        let target = &object["spec"]["scaleTargetRef"];
        assert_eq!(target["name"], *name);
        hpas.push((target["kind"].as_str().unwrap().to_owned(), name));
        let metrics = object["spec"]["metrics"].as_array().unwrap();
        types.extend(
            metrics
                .iter()
                .map(|metric| metric["type"].as_str().unwrap().to_owned()),
        );
    }
    let without: Vec<_> = hpas.iter().filter(|hpa| !targets.contains(*hpa)).collect();
    assert!(without.len() == 1 && without[0].1 == "gone", "{without:?}");
    assert_eq!(targets.len() + 1, hpas.len());
    assert_eq!(types.len(), 5, "{types:?}");
    // An API server would take them.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cluster/workloads.yaml");
    let (_, answer, errors) = Tools::default().program(&["explain", "-f", path, "-o", "json"]);
    let answer: Value = serde_json::from_str(&answer).expect(&errors);
    assert_eq!(
        answer["items"].as_array().unwrap().len(),
        hpas.len(),
        "{}",
        answer["errors"]
    );
}
