//! The seeds of the targets: the recorded passes, manifests and answers, the examples, and a few
//! lines of each small language.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::mutate::Corpus;

pub(crate) fn quantity() -> Corpus {
    let quantities = [
        "0",
        "1\n2",
        "250m\n0.25",
        "-1.5\n1500m",
        "1.5Gi\n1610612736",
        "12e6\n12M",
        "1E3\n1k",
        "100n\n0.1u",
        "999999999999P\n1E",
        "1e-10\n1n",
        "0.3\n300m",
        "+7.00Ki\n7168",
        "9223372036854775807\n9223372036854775807m",
        "8Ei\n9223372036854775808",
        "1e18\n-1e18",
        "0.000000001Ki\n1n",
        "-9223372036854775808m\n1m",
    ];
    lines(
        &quantities,
        &[
            "Ki", "Mi", "Gi", "Ti", "Pi", "k", "M", "G", "T", "P", "u", "e", "e+3",
        ],
    )
}

pub(crate) fn selector() -> Corpus {
    let selectors = [
        "app=web",
        "app==web,tier!=db",
        "env in (a,b),!canary",
        "x notin (a, b ,c)",
        "n>1,n<10",
        "example.com/a=b",
        "a in (),b=",
        " a , b = c ",
        "",
        r#"{"matchLabels":{"app":"web"}}"#,
        r#"{"matchExpressions":[{"key":"tier","operator":"In","values":["a","b"]},{"key":"x","operator":"DoesNotExist"}]}"#,
    ];
    lines(
        &selectors,
        &[
            " in ",
            " notin ",
            "!",
            "in",
            "notin",
            "NotIn",
            "Exists",
            "matchLabels",
            "/",
        ],
    )
}

pub(crate) fn duration() -> Corpus {
    let durations = [
        "0",
        "5m0s",
        "1.5h",
        "300ms",
        "90s",
        "1h2m3.004005006s",
        "2562047h47m16.854775807s",
        "+1us",
        ".5m",
        "1\u{b5}s",
        "1\u{3bc}s",
        "9223372036854775807ns",
    ];
    lines(&durations, &["h", "m", "s", "ms", "us", "ns", "\u{b5}s"])
}

pub(crate) fn expression() -> Corpus {
    let expressions = [
        "desired <= 20 and not limited",
        "delta == 0",
        "not (blocked or stale) and desired >= min",
        "metric.cpu.utilization < 80%",
        "metric.\"queue_depth{queue=a}\".averageValue <= 250m",
        "current != desired or max > 512Mi",
        "((limited))",
        "not not stabilized",
        "failed == 0 and missing == 0",
        "metric.\"a \\\"b\\\\c\".desired >= -5",
        "warnings<1and recommended>=1.5",
        "run.replicaHours <= replay.replicaHours * 0.9",
        "run.short + 10m <= 1h30m / 2 and not run.settled",
        "(desired + 1) * -(2 - delta) / max < 1e-3 - -5",
        "((run.longestShort)) / 10m <= 3 or 10m * 6 < replay.atMax",
        "metric.cpu.utilization * desired / 80% <= 20 - 250m",
    ];
    let words = [
        "and", "or", "not ", "metric.", ".desired", ".value", "desired", "limited", "<=", ">=",
        "run.", "replay.", "short", "10m", "1h", " + ", " - ", " * ", " / ", "(", ")",
    ];
    lines(&expressions, &words)
}

pub(crate) fn trace() -> Corpus {
    let mut seeds = strings(&[
        "time,cpu\n0s,80%\n1m30s,x2\n",
        "cpu,time,\"queue_depth{queue=a,env=b}\"\n+20%,2026-11-21T06:00:00Z,30\n,2026-11-21T06:01:00Z,missing\n",
        "time, app=cpu\r\n0,1500m\r\n90,-10%\r\n",
        "\u{feff}time,memory\n0.5,512Mi\n",
    ]);
    seeds.push(read("examples/nginx/load.csv").into_bytes());
    Corpus::new(
        seeds,
        &["time", "cpu", "missing", "x2", "80%", "\"\"", "{queue=a}"],
    )
}

pub(crate) fn prometheus() -> Corpus {
    let seeds = strings(&[
        r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},"values":[[1795240800,"0.25"],[1795240830,"NaN"],[1795240860,"1e3"]]}]}}"#,
        r#"{"status":"success","warnings":["w"],"infos":["i"],"data":{"resultType":"matrix","result":[{"metric":{},"values":[[0,"2"],[30,"3"],[60,"4"]]}]}}"#,
        r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1795240800.123,"+Inf"]}]}}"#,
        r#"{"status":"success","data":{"resultType":"scalar","result":[1,"3"]}}"#,
        r#"{"status":"error","errorType":"bad_data","error":"1:1: parse error"}"#,
        r#"{"status":"success","isPartial":true,"data":{"resultType":"matrix","result":[{"metric":{"__name__":"kube_pod_owner","pod":"web-1-a","owner_kind":"ReplicaSet","owner_name":"web-1"},"values":[[1795240800,"1"],[1795240815,"1"],[1795240830,"1"]]},{"metric":{"__name__":"kube_pod_created","pod":"web-1-a"},"values":[[1795240800,"1795240790"]]},{"metric":{"__name__":"kube_pod_status_ready","pod":"web-1-a"},"values":[[1795240815,"0"],[1795240830,"1"]]},{"metric":{"__name__":"kube_pod_status_ready_time","pod":"web-1-a"},"values":[[1795240830,"1795240820"]]},{"metric":{"__name__":"kube_pod_container_resource_requests","pod":"web-1-a","container":"app","resource":"cpu"},"values":[[1795240800,"0.2"]]},{"metric":{"__name__":"container_cpu_usage_seconds_total","pod":"web-1-a","container":"app"},"values":[[1795240800,"1"],[1795240815,"5"],[1795240830,"9"]]},{"metric":{"__name__":"kube_deployment_spec_replicas"},"values":[[1795240800,"1"],[1795240815,"1"],[1795240830,"2"]]},{"metric":{"__name__":"kube_horizontalpodautoscaler_spec_target_metric","metric_name":"cpu","metric_target_type":"utilization"},"values":[[1795240800,"60"]]}]}}"#,
    ]);
    let words = [
        "success",
        "error",
        "matrix",
        "values",
        "NaN",
        "-Inf",
        "1e300",
        "[1,\"1\"],",
        "-1",
    ];
    Corpus::new(seeds, &words)
}

pub(crate) fn range() -> Corpus {
    let ranges = [
        "target.cpu=50%..80%:5",
        "behavior.scaleDown.stabilizationWindowSeconds=60,300,600",
        "max=9..11",
        "target.memory=1Gi..2Gi:256Mi",
        "target.cpu=100m..300m:50m",
        "target.\"queue_depth{queue=a}\"=0.5..1.5:0.25",
    ];
    lines(
        &ranges,
        &[
            "..",
            ":",
            ",",
            "%",
            "=",
            "-1",
            "1e3",
            "Mi",
            "9223372036854775807",
        ],
    )
}

pub(crate) fn text() -> Corpus {
    let texts = [
        "plain",
        "a\u{1b}]0;title\u{7}b",
        "größe 大 🦀",
        "line\r\nbreak\tand: {yaml}",
        "- no",
        "yes",
        "0x1f",
        "1_000",
        "~",
        "'single' \"double\"",
        "trailing ",
        " leading",
        "key: value # comment",
        "2026-11-21",
        "%YAML 1.2\n---\n",
        "|-\n x",
        "\u{e0041}\u{ad}\u{2066}",
    ];
    lines(
        &texts,
        &[
            "yes", "off", "012", "0o7", "1e3", "=", "!!str", "@", "\u{85}", "\u{a0}",
        ],
    )
}

/// Returns ScaledObjects with the specs and triggers of KEDA's own tests.
pub(crate) fn scaled_object() -> Corpus {
    let cases = |table: &str| -> Vec<Value> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/keda/tests")
            .join(table);
        let text = fs::read_to_string(path).expect("a table");
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a case"))
            .collect()
    };
    let whole = |mut spec: Value| {
        spec["scaleTargetRef"] = json!({"name": "web"});
        let object = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": "web"}, "spec": spec,
        });
        object.to_string().into_bytes()
    };
    let specs = ["hpas.jsonl", "refused.jsonl"].into_iter().flat_map(cases);
    let specs = specs.map(|mut case| case["spec"].take());
    let triggers = cases("names.jsonl")
        .into_iter()
        .map(|case| json!({"triggers": [{"type": case["type"], "metadata": case["metadata"]}]}));
    Corpus::new(
        specs.chain(triggers).map(whole).collect(),
        &[
            "metricType",
            "Value",
            "FromEnv",
            "authenticationRef",
            "containerName",
            "queueURL",
            "useRegex",
            "external",
            "scalingModifiers",
            "1e18",
            "*/5",
        ],
    )
}

pub(crate) fn hpa() -> Corpus {
    let mut seeds = inputs(&["tests/admission"], 1);
    let states = states(29).into_iter().filter_map(|state| {
        let mut state: Value = serde_json::from_slice(&state).ok()?;
        Some(state["items"][0].take().to_string().into_bytes())
    });
    seeds.extend(states);
    let annotation = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "annotations": {
            "autoscaling.alpha.kubernetes.io/metrics": r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":50}}]"#,
            "autoscaling.alpha.kubernetes.io/behavior": r#"{"ScaleUp":{"Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":60}]}}"#,
            "autoscaling.alpha.kubernetes.io/conditions": r#"[{"type":"AbleToScale","status":"True"}]"#,
            "autoscaling.alpha.kubernetes.io/current-metrics": r#"[{"type":"Resource","resource":{"name":"memory","currentAverageValue":"5"}}]"#,
        }},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3, "targetCPUUtilizationPercentage": 50},
    });
    let beta = json!({
        "apiVersion": "autoscaling/v2beta1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 3, "metrics": [
            {"type": "Object", "object": {"metricName": "rps", "target": {"kind": "Service", "name": "web"}, "targetValue": "5", "averageValue": "1"}},
            {"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "5"}},
            {"type": "External", "external": {"metricName": "q", "metricSelector": {"matchLabels": {"a": "b"}}, "targetAverageValue": "5"}},
        ]},
    });
    seeds.extend([annotation, beta].map(|object| object.to_string().into_bytes()));
    Corpus::new(seeds, &OBJECTS)
}

pub(crate) fn document() -> Corpus {
    let mut seeds = examples();
    seeds.extend(states(25));
    seeds.extend(
        seeds
            .clone()
            .iter()
            .step_by(4)
            .filter_map(|seed| as_yaml(seed)),
    );
    Corpus::new(seeds, &OBJECTS)
}

pub(crate) fn snapshot() -> Corpus {
    let mut seeds = examples();
    seeds.extend(states(13));
    Corpus::new(seeds, &OBJECTS)
}

pub(crate) fn predict() -> Corpus {
    let typed = [
        "--cpu\n80%",
        "--cpu\nx2\n--for\n2m",
        "--memory\n+20%\n--replicas\n+2\n--expect\ndesired <= 20",
        "--unready\n1\n--missing\n1",
        "--metric\nqueue_depth=300\n--max\n30\n--curve\nqueue_depth",
        "--pending\nweb-0\n--pod\nweb-1:cpu=300m",
        "--min\n0\n--fail-on\nlimited,stale",
        "--target\ncpu=70%\n--set\nbehavior.scaleDown.stabilizationWindowSeconds=60",
        "--trace\ntime,cpu;0s,80%;30s,x2;1m,missing",
        "--curve\ncpu\n--expect\nmetric.cpu.utilization < 80 or not blocked",
        "--metric\nhttp_requests=missing\n--for\n1m\n--ready-after\n5s",
        "--set\nmetrics=null\n--set\nmaxReplicas=3",
        "--cpu\napp=250m\n--replicas\n50",
        "--request\ncpu=x2\n--cpu\n80%",
        "--request\napp=cpu=250m\n--request\nmemory=-10%\n--pod\nweb-1:app=cpu=x2",
    ];
    let states = states(23);
    let seeds = states
        .iter()
        .zip(typed.iter().cycle())
        .map(|(state, typed)| [typed.as_bytes(), b"\n---\n", state].concat());
    let words = [
        "--cpu\n",
        "--memory\n",
        "--request\n",
        "--metric\n",
        "--pod\n",
        "--replicas\n",
        "--unready\n",
        "--missing\n",
        "--pending\n",
        "--min\n",
        "--max\n",
        "--target\n",
        "--set\n",
        "--curve\n",
        "--expect\n",
        "--for\n",
        "--trace\n",
        "missing",
        "80%",
        "x2",
        "web-0",
        "web-1:",
        "cpu=",
        "spec.",
    ];
    Corpus::new(seeds.collect(), &words)
}

pub(crate) fn kubeconfig() -> Corpus {
    let config = "apiVersion: v1
kind: Config
current-context: here
contexts:
- name: here
  context: {cluster: c, user: u, namespace: shop}
- name: other
  context: {cluster: c, user: plugin}
clusters:
- name: c
  cluster:
    server: https://10.0.0.1:6443/base
    tls-server-name: api.example.com
    certificate-authority-data: Zm9v
    proxy-url: http://me:c2VjcmV0LWluLXRoZS1zZWVkcw@proxy:3128
    extensions:
    - {name: client.authentication.k8s.io/exec, extension: {a: b}}
users:
- name: u
  user:
    token: c2VjcmV0LWluLXRoZS1zZWVkcw
    as: me
    as-groups: [a, b]
    as-user-extra: {scopes: [x]}
- name: basic
  user: {username: me, password: c2VjcmV0LWluLXRoZS1zZWVkcw}
- name: oidc
  user:
    auth-provider:
      name: oidc
      config: {id-token: a.c2VjcmV0LWluLXRoZS1zZWVkcw.c, refresh-token: c2VjcmV0LWluLXRoZS1zZWVkcw}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: /nonexistent/plugin
      args: [c2VjcmV0LWluLXRoZS1zZWVkcw]
      env:
      - {name: A, value: c2VjcmV0LWluLXRoZS1zZWVkcw}
      interactiveMode: Never
";
    let mut seeds = strings(&[config]);
    for user in ["basic", "oidc", "plugin"] {
        let other = config.replace("user: u,", &format!("user: {user},"));
        seeds.push(other.clone().into_bytes());
        let tree: Value = serde_yaml::from_str(&other).expect("YAML");
        seeds.push(tree.to_string().into_bytes());
    }
    seeds.push(config.replace("https://10", "http://10").into_bytes());
    let words = [
        "server",
        "user",
        "cluster",
        "name",
        "https://",
        "http://",
        "socks5://",
        "[::1]:",
        "@",
        "client-key-data",
    ];
    Corpus::new(seeds, &words)
}

pub(crate) fn answers() -> Corpus {
    #[derive(Deserialize)]
    struct Exchange {
        request: Asked,
        response: Answered,
    }
    #[derive(Deserialize)]
    struct Asked {
        method: String,
        path: String,
    }
    #[derive(Deserialize)]
    struct Answered {
        status: u16,
        body: Value,
    }
    let files = in_directory("tests/wire");
    let file = files
        .iter()
        .find(|file| file.to_string_lossy().contains("kubernetes-"))
        .expect("a recording");
    let text = read(file);
    let exchange = |line| serde_json::from_str::<Exchange>(line).expect("an exchange");
    let exchanges = text
        .lines()
        .map(exchange)
        .filter(|it| it.request.method == "GET");
    let (mut found, mut failed) = (BTreeMap::new(), Vec::new());
    for Exchange { request, response } in exchanges {
        let path = request
            .path
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned();
        match response.status {
            200 => drop(found.entry(path).or_insert(response.body)),
            _ => failed.push((path, response.body)),
        }
    }
    let base: Value = found.into_iter().collect();
    let mut seeds = vec![base.clone()];
    seeds.extend(failed.into_iter().map(|(path, body)| {
        let mut answers = base.clone();
        answers[path] = body;
        answers
    }));
    let mut several = base;
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/nginx-deployment";
    several[path]["spec"]["metrics"] = json!([
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
        {"type": "Pods", "pods": {"metric": {"name": "http_requests"}, "target": {"type": "AverageValue", "averageValue": "5"}}},
        {"type": "Object", "object": {"metric": {"name": "requests-per-sec"}, "describedObject": {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main-route"}, "target": {"type": "Value", "value": "5"}}},
        {"type": "External", "external": {"metric": {"name": "queue_depth", "selector": {"matchLabels": {"queue": "a"}}}, "target": {"type": "AverageValue", "averageValue": "5"}}},
    ]);
    seeds.push(several);
    let bytes = seeds.iter().map(|seed| seed.to_string().into_bytes());
    Corpus::new(bytes.collect(), &OBJECTS)
}

/// Words in Kubernetes' objects, and in those that `--save` writes.
const OBJECTS: [&str; 58] = [
    "apiVersion",
    "kind",
    "metadata",
    "items",
    "spec",
    "status",
    "name",
    "namespace",
    "List",
    "Pod",
    "Scale",
    "v1",
    "autoscaling/v2",
    "autoscaling/v1",
    "autoscaling/v2beta2",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ControllerState",
    "PodMetrics",
    "MetricValueList",
    "ExternalMetricValueList",
    "metrics.k8s.io/v1beta1",
    "kubectl-hpa/v1alpha1",
    "type",
    "Resource",
    "ContainerResource",
    "Pods",
    "Object",
    "External",
    "target",
    "averageUtilization",
    "averageValue",
    "value",
    "Value",
    "cpu",
    "memory",
    "containers",
    "resources",
    "requests",
    "labels",
    "app",
    "deletionTimestamp",
    "phase",
    "Failed",
    "Ready",
    "conditions",
    "selector",
    "replicas",
    "minReplicas",
    "maxReplicas",
    "behavior",
    "policies",
    "tolerance",
    "Percent",
    "Disabled",
    "timestamp",
    "window",
    "0s",
];

/// Returns every `step`th recorded pass.
fn states(step: usize) -> Vec<Vec<u8>> {
    inputs(&["tests/vectors", "tests/vectors/versions"], step)
}

/// Returns the inputs of the recorded answers, by file and line.
fn inputs(directories: &[&str], step: usize) -> Vec<Vec<u8>> {
    #[derive(Deserialize)]
    struct Recorded {
        input: Box<RawValue>,
    }
    let texts: Vec<String> = directories
        .iter()
        .flat_map(in_directory)
        .map(read)
        .collect();
    let input = |line| {
        let recorded: Recorded = serde_json::from_str(line).expect("a line as recorded");
        recorded.input.get().as_bytes().to_vec()
    };
    texts
        .iter()
        .flat_map(|text| text.lines())
        .step_by(step)
        .map(input)
        .collect()
}

/// Returns the states of the examples, each as one text.
fn examples() -> Vec<Vec<u8>> {
    let directories = ["nginx", "nginx/after-15s", "podinfo", "queue", "shop"];
    let texts = directories.map(|directory| {
        let files = in_directory(format!("examples/{directory}"));
        files
            .into_iter()
            .filter(|file| file.extension().is_some_and(|end| end != "csv"))
            .map(read)
            .collect::<Vec<_>>()
    });
    texts
        .iter()
        .map(|texts| texts.join("\n---\n").into_bytes())
        .collect()
}

fn as_yaml(json: &[u8]) -> Option<Vec<u8>> {
    let tree: Value = serde_json::from_slice(json).ok()?;
    Some(serde_yaml::to_string(&tree).ok()?.into_bytes())
}

fn lines(seeds: &[&str], words: &[&str]) -> Corpus {
    Corpus::new(strings(seeds), words)
}

fn strings(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(path).expect("a file of the repository")
}

/// Returns the files of a directory, by name.
fn in_directory(directory: impl AsRef<Path>) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = fs::read_dir(directory).expect("a directory of the repository");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.retain(|file| file.is_file());
    files.sort();
    files
}
