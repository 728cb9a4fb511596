//! How long the whole command takes with a server on the loopback interface, and how much memory:
//! compared with `curl` for the same requests in sequence, and with `kubectl describe hpa` if it is
//! installed. The server runs in this process, and so on the same processors. It only asserts
//! that the commands succeed. With `-- fleet`, many HPAs at once, compared with what kubectl takes to get
//! them with their targets and pods; with `-- file`, many HPAs and pods from a file; with `-- metrics`,
//! an HPA with many metrics; with `-- backtest`, a week of load. `scripts/performance` runs all of them.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

#[path = "../tests/api/mod.rs"]
mod api;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use api::{Auth, Clock, Cluster, ExternalMetric, Kubeconfig, NAME, Recorded, Server, exchange};
use serde_json::{Value, json};

const RUNS: usize = 15;
/// The same of what takes seconds.
const FEW: usize = 5;

fn main() {
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    println!("in turn, on {processors} processors; ms, and MiB at most\n");
    let asked = |name: &str| std::env::args().any(|argument| argument == name);
    if asked("fleet") {
        [1_000, 2_000, 4_000].into_iter().for_each(measure_fleet);
    } else if asked("file") {
        // The last two files have 30 MB and 100 MB.
        for (hpas, pods) in [
            (1_000, 5),
            (2_000, 5),
            (4_000, 5),
            (1_000, 35),
            (1_000, 115),
        ] {
            measure_file(hpas, pods);
        }
    } else if asked("backtest") {
        measure_backtest();
    } else if asked("metrics") {
        measure_metrics();
    } else {
        for (pods, delay, kept) in [
            (10, 0, true),
            (1_000, 0, true),
            (5_000, 0, true),
            (20_000, 0, true),
            (5_000, 0, false),
            (10, 50, true),
            (5_000, 50, true),
        ] {
            measure(pods, Duration::from_millis(delay), kept);
        }
    }
}

/// A real server writes and compresses its answers again for each client. With `kept` ones no one waits
/// for that, which leaves only the clients' own share.
fn measure(pods: usize, delay: Duration, kept: bool) {
    let mut cluster = cluster(pods, delay);
    if kept {
        cluster.keep_answers();
    }
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    let ours = explain(&config);
    run(&ours);
    let (asked, rounds) = (server.requests(), server.rounds());
    println!(
        "{pods} pods, {} ms each way, answers {}: {} requests",
        delay.as_millis(),
        if kept { "kept" } else { "made again" },
        asked.len()
    );
    if !delay.is_zero() {
        println!("  in {rounds} rounds");
    }
    let commands = vec![
        ("kubectl-hpa explain", ours),
        (
            "curl --compressed",
            curl(&server, &asked, &["--compressed"]),
        ),
        ("curl", curl(&server, &asked, &[])),
    ];
    let describe = ("kubectl describe hpa", describe(&config));
    let row = format!("{} | {}", thousands(pods), asked.len());
    let commands = commands
        .into_iter()
        .chain(is_installed(&describe.1).then_some(describe));
    compare(RUNS, &row, commands);
}

/// An HPA with 200 External metrics, each of them another question.
fn measure_metrics() {
    let mut cluster = cluster(10, Duration::ZERO);
    let names: Vec<String> = (0..200).map(|number| format!("queue-{number}")).collect();
    for name in &names {
        cluster.external_metric(ExternalMetric {
            name: name.clone(),
            namespace: "default".to_owned(),
            value: "7".to_owned(),
            timestamp: "2026-11-21T07:07:00Z".to_owned(),
            ..ExternalMetric::default()
        });
    }
    let target = json!({"type": "AverageValue", "averageValue": "1"});
    let metric = |name| json!({"type": "External", "external": {"metric": {"name": name}, "target": target}});
    let metrics: Vec<Value> = names.iter().map(metric).collect();
    let hpa = ["default", "nginx-deployment"];
    cluster.edit("autoscaling/v2", "HorizontalPodAutoscaler", hpa, |hpa| {
        hpa["spec"]["metrics"] = json!(metrics);
    });
    cluster.keep_answers();
    let server = Server::start(cluster);
    let config = server.kubeconfig(&Auth::Token("admin"));
    run(&explain(&config));
    let asked = server.requests();
    println!("200 metrics: {} requests", asked.len());
    let describe = ("kubectl describe hpa", describe(&config));
    let commands = vec![
        ("kubectl-hpa explain", explain(&config)),
        (
            "curl --compressed",
            curl(&server, &asked, &["--compressed"]),
        ),
    ];
    let row = format!("10, with 200 metrics | {}", asked.len());
    let commands = commands
        .into_iter()
        .chain(is_installed(&describe.1).then_some(describe));
    compare(RUNS, &row, commands);
}

/// HPAs with this many pods each, from a file that `--save` wrote.
fn measure_file(hpas: usize, pods: usize) {
    let server = Server::start(fleet(hpas, pods));
    let config = server.kubeconfig(&Auth::Token("admin"));
    let path = config.path().display().to_string();
    let file = config.directory().join("fleet.json");
    let file = file.display().to_string();
    let program = &program();
    run(&words(&[
        program,
        "explain",
        "-A",
        "--kubeconfig",
        &path,
        "--save",
        &file,
    ]));
    let size = std::fs::metadata(&file).map_or(0, |about| about.len());
    println!(
        "{hpas} HPAs, {} pods, a file of {} MB",
        hpas * pods,
        size / 1_000_000
    );
    let one = ["-f", &file, "web-0500", "-n", "team-0"];
    let row = format!(
        "{} | {} | {} MB",
        thousands(hpas),
        thousands(hpas * pods),
        size / 1_000_000
    );
    compare(
        FEW,
        &row,
        [
            (
                "explain -A -f",
                words(&[program, "explain", "-A", "-f", &file]),
            ),
            (
                "explain NAME -f",
                words(&[&[program, "explain"], &one[..]].concat()),
            ),
            ("jq length", words(&["jq", "length", &file])),
        ]
        .into_iter()
        .filter(|(_, command)| is_installed(command)),
    );
}

/// The week of `examples/backtest`: the HPA as it is, a candidate, and a search over 15 combinations.
fn measure_backtest() {
    let example = |name: &str| format!("{}/examples/backtest/{name}", env!("CARGO_MANIFEST_DIR"));
    let program = &program();
    let (state, week) = (example("state.yaml"), example("week.csv"));
    let predict = words(&[
        program, "predict", "web", "-n", "shop", "-f", &state, "--trace", &week,
    ]);
    let with = |more: &[&str]| [predict.clone(), words(more)].concat();
    let passes = 7 * 24 * 60 * 4;
    println!("a week of load every minute, about {passes} passes a run");
    let vary = ["--vary", "max=20..30:5", "--vary", "target.cpu=50%..70%:5"];
    compare(
        FEW,
        "a week",
        [
            ("predict --trace", predict.clone()),
            (
                "  with a candidate",
                with(&["--hpa", &example("candidate.yaml")]),
            ),
            ("  --vary, 15 of them", with(&vary)),
        ]
        .into_iter(),
    );
}

/// HPAs in ten namespaces with five pods each.
fn measure_fleet(hpas: usize) {
    const PODS: usize = 5;
    let server = Server::start(fleet(hpas, PODS));
    let config = server.kubeconfig(&Auth::Token("admin"));
    let path = config.path().display().to_string();
    let program = &program();
    let ours =
        |more: &[&str]| words(&[&[program, "explain", "-A", "--kubeconfig", &path], more].concat());
    run(&ours(&[]));
    let asked = server.requests();
    println!(
        "{hpas} HPAs, {} pods: {} requests",
        hpas * PODS,
        asked.len()
    );
    let cache = config.directory().join("cache").display().to_string();
    let theirs = words(&[
        "kubectl",
        "--kubeconfig",
        &path,
        "--cache-dir",
        &cache,
        "get",
    ]);
    let theirs = [theirs, words(&["hpa,deploy,pods", "-A", "-o", "json"])].concat();
    let commands = vec![
        ("explain -A", ours(&[])),
        ("explain -A -o json", ours(&["-o", "json"])),
        ("explain -A -o jsonl", ours(&["-o", "jsonl"])),
        (
            "curl --compressed",
            curl(&server, &asked, &["--compressed"]),
        ),
    ];
    // Minutes with more.
    let is_compared = hpas <= 1_000 && is_installed(&theirs);
    let theirs = is_compared.then_some(("kubectl get -o json", theirs));
    let row = format!(
        "{} | {} | {}",
        thousands(hpas),
        thousands(hpas * PODS),
        asked.len()
    );
    compare(FEW, &row, commands.into_iter().chain(theirs));
}

/// Returns HPAs in ten namespaces, each with a Deployment, its ReplicaSet and this many pods.
fn fleet(hpas: usize, pods: usize) -> Cluster {
    const NAMESPACES: usize = 10;
    let mut cluster = Cluster::empty();
    cluster.clock(Clock::Recorded).keep_answers();
    let pod = pod();
    for number in 0..hpas {
        let namespace = &*format!("team-{}", number % NAMESPACES);
        let name = &*format!("web-{number:04}");
        let set = &*format!("{name}-596d9ffddd");
        let labels = [("app", name), ("pod-template-hash", "596d9ffddd")];
        let workload = |kind: &str, name: &str, labels: &Value| {
            json!({
                "apiVersion": "apps/v1",
                "kind": kind,
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "spec": {
                    "replicas": pods,
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": pod["spec"]},
                },
                "status": {"replicas": pods, "readyReplicas": pods, "observedGeneration": 1},
            })
        };
        cluster.put(workload("Deployment", name, &json!({"app": name})));
        let of_set = json!({"app": name, "pod-template-hash": "596d9ffddd"});
        cluster.put(workload("ReplicaSet", set, &of_set));
        cluster.hpa(
            [namespace, name],
            ["apps/v1", "Deployment", name],
            &json!({}),
        );
        cluster.copies("v1", "Pod", pod.clone(), [namespace, set], &labels, pods);
        cluster.pod_metrics([namespace, set], &labels, pods, ["10m", "1Mi"]);
    }
    cluster
}

fn is_installed(command: &[String]) -> bool {
    let mut version = Command::new(&command[0]);
    let version = version
        .args(["version", "--client"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    version.status().is_ok()
}

/// Prints what commands take, in turn, and then as a row of a table of docs/performance.md that begins with `row`.
fn compare(runs: usize, row: &str, commands: impl Iterator<Item = (&'static str, Vec<String>)>) {
    let commands: Vec<_> = commands.collect();
    let mut times = vec![Vec::new(); commands.len()];
    for _ in 0..=runs {
        for ((_, command), times) in commands.iter().zip(&mut times) {
            times.push(run(command));
        }
    }
    let mut row = format!("| {row} |");
    for ((name, command), times) in commands.iter().zip(times) {
        // The first run is a warm-up.
        let mut times: Vec<_> = times.into_iter().skip(1).collect();
        times.sort();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let memory = memory(command).map(|kib| kib / 1024.0);
        let shown = memory.map_or("-".to_owned(), |mib| format!("{mib:.1}"));
        let (min, median) = (ms(times[0]), ms(times[times.len() / 2]));
        println!("  {name:<22} min {min:>8.1}  median {median:>8.1}  memory {shown:>6}");
        if *name == "curl" {
            continue;
        }
        row += &match min / 1e3 {
            seconds if seconds >= 1.0 => format!(" {seconds:.1} s"),
            seconds if seconds >= 0.1 => format!(" {seconds:.2} s"),
            seconds => format!(" {seconds:.3} s"),
        };
        if let Some(mib) = memory.filter(|_| !name.starts_with("curl")) {
            row += &format!(", {mib:.0} MiB");
        }
        row += " |";
    }
    println!("{row}\n");
}

/// A number as people write it.
fn thousands(number: usize) -> String {
    match number / 1000 {
        0 => number.to_string(),
        more => format!("{},{:03}", thousands(more), number % 1000),
    }
}

/// Returns the recorded cluster with this many pods of a usual size behind its HPA.
fn cluster(pods: usize, delay: Duration) -> Cluster {
    let mut cluster = Cluster::recorded();
    cluster.clock(Clock::Recorded).latency(delay);
    let more = pods.saturating_sub(2);
    let labels = [("app", "nginx"), ("pod-template-hash", "596d9ffddd")];
    cluster.copies(
        "v1",
        "Pod",
        pod(),
        ["default", "web-596d9ffddd"],
        &labels,
        more,
    );
    cluster.pod_metrics(["default", "web-596d9ffddd"], &labels, more, ["10m", "1Mi"]);
    cluster
}

/// Returns a pod of about six kilobytes, as a Deployment with the usual admission creates it: the
/// recorded one with an environment, volumes, probes, owners and what the kubelet reports.
fn pod() -> Value {
    let mut pod = exchange("pods").response.body["items"][0].take();
    pod["metadata"]["uid"] = json!(format!("uid-of-{NAME}"));
    pod["metadata"]["generateName"] = json!("web-596d9ffddd-");
    pod["metadata"]["annotations"] = json!({
        "prometheus.io/scrape": "true",
        "prometheus.io/port": "8080",
        "checksum/config": "d9c5b9d1c7c25c2c6e0d1a51f1b0ea2f2b9ac3c4b5d4e2c1f0a9b8c7d6e5f4a3",
    });
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web-596d9ffddd",
        "uid": "885d8bcd-957d-4962-abd2-2ccd737a20eb",
        "controller": true,
        "blockOwnerDeletion": true,
    }]);
    let environment: Vec<_> = (0..16)
        .map(|number| {
            let from = json!({"secretKeyRef": {"name": "web", "key": format!("key-{number}")}});
            json!({"name": format!("SETTING_NUMBER_{number}"), "valueFrom": from})
        })
        .collect();
    let container = &mut pod["spec"]["containers"][0];
    container["env"] = json!(environment);
    container["ports"] = json!([{"containerPort": 8080, "name": "http", "protocol": "TCP"}]);
    for probe in ["livenessProbe", "readinessProbe"] {
        container[probe] = json!({
            "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        });
    }
    container["volumeMounts"] = json!([
        {"name": "config", "readOnly": true, "mountPath": "/etc/web"},
        {
            "name": "kube-api-access-x7k2p",
            "readOnly": true,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        },
    ]);
    let names: serde_json::Map<_, _> = (0..16)
        .map(|number| {
            let key = format!("k:{{\"name\":\"SETTING_NUMBER_{number}\"}}");
            (
                key,
                json!({".": {}, "f:name": {}, "f:valueFrom": {".": {}, "f:secretKeyRef": {}}}),
            )
        })
        .collect();
    let managed = "/metadata/managedFields/0/fieldsV1/f:spec/f:containers/k:{\"name\":\"nginx\"}";
    pod.pointer_mut(managed).expect("its container")["f:env"] = json!(names);
    pod["spec"]["volumes"] = json!([
        {"name": "config", "configMap": {"name": "web", "defaultMode": 420}},
        {"name": "kube-api-access-x7k2p", "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
            ],
        }},
    ]);
    pod["status"]["hostIP"] = json!("10.0.0.12");
    pod["status"]["podIP"] = json!("10.244.3.17");
    pod["status"]["containerStatuses"] = json!([{
        "name": "nginx",
        "state": {"running": {"startedAt": "2026-11-21T05:25:59Z"}},
        "lastState": {},
        "ready": true,
        "restartCount": 0,
        "image": "docker.io/library/nginx:1.18",
        "imageID": "docker.io/library/nginx@sha256:e90ac5331fe095cea01b121a3627174b2e33e06e83720e9a934c7b8ccc9c55a0",
        "containerID": format!("containerd://of-{NAME}"),
        "started": true,
    }]);
    pod
}

/// The program that is measured: `KUBECTL_HPA`, such as a released one, or the one of this build.
fn program() -> String {
    let built = || env!("CARGO_BIN_EXE_kubectl-hpa").to_owned();
    std::env::var("KUBECTL_HPA").unwrap_or_else(|_| built())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn explain(config: &Kubeconfig) -> Vec<String> {
    let path = config.path().display().to_string();
    let program = &program();
    words(&[
        program,
        "explain",
        "nginx-deployment",
        "-n",
        "default",
        "--kubeconfig",
        &path,
    ])
}

fn describe(config: &Kubeconfig) -> Vec<String> {
    let path = config.path().display().to_string();
    let cache = config.directory().join("cache").display().to_string();
    let hpa = ["hpa", "nginx-deployment", "-n", "default"];
    let mut command = words(&[
        "kubectl",
        "--kubeconfig",
        &path,
        "--cache-dir",
        &cache,
        "describe",
    ]);
    command.extend(words(&hpa));
    command
}

/// Returns the arguments for the same requests in sequence over one connection.
fn curl(server: &Server, asked: &[Recorded], flags: &[&str]) -> Vec<String> {
    let header = format!("Authorization: Bearer {}", api::authorize::token("admin"));
    let mut command = words(&[
        "curl",
        "-sSk",
        "-H",
        &header,
        "-H",
        "Accept: application/json",
    ]);
    command.extend(words(flags));
    for request in asked {
        let query = request
            .query
            .iter()
            .map(|(key, value)| format!("{key}={}", encoded(value)));
        let query = query.collect::<Vec<_>>().join("&");
        let mark = if query.is_empty() { "" } else { "?" };
        command.extend(words(&["-o", "/dev/null"]));
        command.push(format!("{}{}{mark}{query}", server.url(), request.path));
    }
    command
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encode = |byte| {
        if plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(encode).collect()
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .stdout(Stdio::null())
        .env("KUBERC", "off");
    for name in [
        "KUBECONFIG",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        command.env_remove(name);
    }
    command
}

/// Runs from start to exit.
fn run(words: &[String]) -> Duration {
    let begun = Instant::now();
    let status = command(words).status().expect("it runs");
    let took = begun.elapsed();
    assert!(status.success(), "{words:?}: {status}");
    took
}

/// Returns the largest resident set in KiB, if GNU time is installed.
fn memory(words: &[String]) -> Option<f64> {
    let timed = [&["/usr/bin/time", "-f", "%M"].map(str::to_owned)[..], words].concat();
    let output = command(&timed).output().ok()?;
    String::from_utf8(output.stderr)
        .ok()?
        .lines()
        .last()?
        .parse()
        .ok()
}
