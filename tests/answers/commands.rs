//! The commands that reports print, executed: kubectl's by kubectl, on the test API server with the objects of the
//! state, and those of this program by itself, on the state in a file. [`by_hand`] does what kubectl does to the
//! objects, for machines without it and for further commands of the same shape; where kubectl runs, both must agree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assert_cmd::Command;
use kubectl_hpa::apimachinery::selector::{Labels, Selector};
use kubectl_hpa::apiserver::default::AdmissionRules;
use kubectl_hpa::snapshot::input::Input;
use serde_json::{Value, json};

use crate::api::json::{merge, patched};
use crate::api::writes::updated;
use crate::api::{Auth, Cluster, CustomMetric, Kubeconfig, Server};
use crate::common::ran::{PROGRAM, Ran, run};

/// The longest that a command may take.
const LONGEST: Duration = Duration::from_secs(20);

/// Returns the words of a command as a shell does, for the quotes that commands to paste have.
pub(super) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' if !quoted => word.get_or_insert_default().extend(letters.next()),
            ' ' if !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    assert!(!quoted, "{command}");
    words.extend(word);
    words
}

/// Returns a command without its names and numbers: what has the same shape is executed in the same way.
pub(super) fn shape(command: &str, input: &Input) -> String {
    let hpa = &input.snapshot.hpa;
    let mut names = BTreeMap::from([
        (hpa.name.as_str(), "HPA"),
        (hpa.namespace.as_str(), "NAMESPACE"),
        (hpa.spec.scale_target_ref.name.as_str(), "TARGET"),
    ]);
    names.extend(input.snapshot.pods.iter().map(|pod| (&*pod.name, "POD")));
    let mut shape = Vec::new();
    for word in words(command) {
        let (kind, name) = word.split_once('/').unwrap_or(("", &word));
        let word = match (serde_json::from_str(&word), names.get(name)) {
            (Ok(patch), _) => fields(&patch).into_iter().collect::<Vec<_>>().join(","),
            (_, Some(known)) => format!("{kind}/{known}"),
            _ => word
                .split(|letter: char| letter.is_ascii_digit())
                .filter(|it| !it.is_empty())
                .collect(),
        };
        if shape.last() != Some(&word) {
            shape.push(word);
        }
    }
    shape.join(" ")
}

/// Returns the paths of the fields of a patch.
fn fields(patch: &Value) -> BTreeSet<String> {
    let below = |name: &str, value: &Value| {
        let paths = fields(value).into_iter();
        paths
            .map(|path| format!("{name}.{path}"))
            .collect::<Vec<_>>()
    };
    match patch {
        Value::Object(all) => all
            .iter()
            .flat_map(|(name, value)| below(name, value))
            .collect(),
        Value::Array(all) => all.iter().flat_map(|value| below("[]", value)).collect(),
        Value::String(_) => BTreeSet::from(["text".to_owned()]),
        Value::Null => BTreeSet::from(["null".to_owned()]),
        _ => BTreeSet::from(["value".to_owned()]),
    }
}

/// An object before and after a command; without what is after it if it is gone.
pub(super) type Change = (Value, Option<Value>);

/// What a command writes.
#[derive(Debug, PartialEq)]
pub(super) enum Written {
    /// It only shows something.
    Nothing,
    /// What someone types into an editor.
    InEditor,
    /// It changes these objects.
    Changes(Vec<Change>),
}

/// Returns the objects that a command of kubectl is about: those of the state, and those that it implies.
pub(super) fn objects(items: &[Value], input: &Input) -> Vec<Value> {
    let hpa = &input.snapshot.hpa;
    let namespace = hpa.namespace.as_str();
    let mut all: Vec<Value> = Vec::new();
    let mut add = |object: Value| {
        let is_same = |own: &Value| {
            own["kind"] == object["kind"]
                && group(own) == group(&object)
                && ["name", "namespace"]
                    .iter()
                    .all(|it| own["metadata"][*it] == object["metadata"][*it])
        };
        if !all.iter().any(is_same) {
            all.push(object);
        }
    };
    for (place, item) in items.iter().enumerate() {
        let kind = item["kind"].as_str().unwrap_or_default();
        let is_own = item["apiVersion"]
            .as_str()
            .is_some_and(|it| it.starts_with("kubectl-hpa/"));
        let mut item = item.clone();
        match kind {
            "Scale" | "APIResourceList" => continue,
            _ if is_own => continue,
            "Event" => {
                let namespace = item["involvedObject"]["namespace"]
                    .as_str()
                    .unwrap_or(namespace);
                item["metadata"] =
                    json!({"name": format!("event-{place}"), "namespace": namespace});
            }
            // What the API server sets.
            "Pod" if item["metadata"]["deletionTimestamp"].is_string() => {
                item["metadata"]["deletionGracePeriodSeconds"] = json!(30);
            }
            "StatefulSet" if item["spec"]["updateStrategy"].is_null() => {
                item["spec"]["updateStrategy"] = json!({"type": "RollingUpdate"});
            }
            _ => {}
        }
        add(item);
    }
    // The targets of which only the scale is in the state, and what KEDA creates the HPA from.
    for scale in items.iter().filter(|item| item["kind"] == "Scale") {
        let target = &scale["metadata"]["ownerReferences"][0];
        let mut status = scale["status"].clone();
        // No workload writes such a selector, and kubectl does not read it.
        if status["selector"]
            .as_str()
            .is_some_and(|selector| selector.contains("!="))
        {
            status["selector"] = json!("");
        }
        add(json!({
            "apiVersion": target["apiVersion"], "kind": target["kind"],
            "metadata": {"name": scale["metadata"]["name"], "namespace": scale["metadata"]["namespace"]},
            "spec": {"replicas": scale["spec"]["replicas"]}, "status": status,
        }));
    }
    if let Some(owner) = hpa.owner.as_ref().filter(|own| own.kind == "ScaledObject") {
        add(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
            "metadata": {"name": owner.name, "namespace": namespace},
            "spec": {"scaleTargetRef": {"name": hpa.spec.scale_target_ref.name}},
        }));
    }
    // Others of the kind of a target that does not exist.
    let target = &hpa.spec.scale_target_ref;
    if target.api_version.matches('/').count() < 2 && !target.kind.is_empty() {
        add(json!({
            "apiVersion": target.api_version, "kind": target.kind,
            "metadata": {"name": "one", "namespace": namespace},
        }));
    }
    shown(namespace).into_iter().for_each(add);
    all
}

/// What lists of a real cluster show: a command that lists the wrong ones shows nothing.
fn shown(namespace: &str) -> Vec<Value> {
    let system = |api_version: &str, kind: &str, name: &str| {
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": "kube-system", "labels": {"component": name}}})
    };
    let local = |api_version: &str, kind: &str| {
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": "one", "namespace": namespace}})
    };
    let global = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    let mut failed = local("v1", "Event");
    failed["reason"] = json!("FailedCreate");
    let service = |name: &str| global("apiregistration.k8s.io/v1", "APIService", name);
    let webhooks = "admissionregistration.k8s.io/v1";
    vec![
        system("coordination.k8s.io/v1", "Lease", "kube-controller-manager"),
        system("v1", "Pod", "kube-controller-manager"),
        local("v1", "ResourceQuota"),
        local("v1", "Pod"),
        local("keda.sh/v1alpha1", "ScaledObject"),
        local("flagger.app/v1beta1", "Canary"),
        failed,
        global(webhooks, "ValidatingWebhookConfiguration", "one"),
        global(webhooks, "MutatingWebhookConfiguration", "one"),
        service("v1beta1.metrics.k8s.io"),
        service("v1beta1.custom.metrics.k8s.io"),
        service("v1beta1.external.metrics.k8s.io"),
    ]
}

/// Returns the resource of a kind.
fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    match kind.as_str() {
        _ if kind.ends_with('s') => format!("{kind}es"),
        _ => kind
            .strip_suffix('y')
            .map_or(format!("{kind}s"), |own| format!("{own}ies")),
    }
}

fn group(object: &Value) -> &str {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns the object that kubectl finds by `TYPE NAME`, where the type may have a group.
fn find<'o>(objects: &'o [Value], kind: &str, name: &str, namespace: &str) -> &'o Value {
    let (kind, of) = kind
        .split_once('.')
        .map_or((kind, None), |(kind, group)| (kind, Some(group)));
    let kind = if kind == "hpa" {
        "horizontalpodautoscaler"
    } else {
        kind
    };
    let is_it = |object: &&Value| {
        object["kind"]
            .as_str()
            .is_some_and(|own| own.to_lowercase() == kind)
            && of.is_none_or(|of| group(object) == of)
            && object["metadata"]["name"] == name
            && object["metadata"]["namespace"] == namespace
    };
    objects
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {kind} {name} in {namespace}"))
}

/// Does to the objects what kubectl does.
pub(super) fn by_hand(objects: &[Value], command: &str, rules: AdmissionRules) -> Written {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert_eq!(words[0], "kubectl", "{command}");
    let of = |target: &str, namespace: &str| {
        let (kind, name) = target.split_once('/').expect("a target");
        find(objects, kind, name, namespace)
    };
    let patch = |object: &Value, type_: &str, patch: &str| {
        let patch: Value = serde_json::from_str(patch).expect("JSON");
        let mut after = object.clone();
        match type_ {
            "--type=merge" => merge(&mut after, &patch),
            "--type=json" => {
                after = patched(after, &patch).unwrap_or_else(|| panic!("no such path: {command}"));
            }
            other => panic!("{other}"),
        }
        if object["kind"] == "HorizontalPodAutoscaler" {
            let (admitted, unknown) =
                updated(object, &after, rules).unwrap_or_else(|e| panic!("{command}: {e}"));
            assert!(unknown.is_empty(), "{command}: {unknown:?}");
            after = admitted;
        }
        changed(object, after)
    };
    match words[1..] {
        ["patch", kind, name, "-n", namespace, type_, "-p", text] => {
            patch(find(objects, kind, name, namespace), type_, text)
        }
        ["patch", target, "-n", namespace, type_, "-p", text] => {
            patch(of(target, namespace), type_, text)
        }
        [
            "set",
            "resources",
            target,
            "-n",
            namespace,
            "-c",
            container,
            requests,
        ] => {
            let request = requests.strip_prefix("--requests=").expect("requests");
            let (resource, request) = request.split_once('=').expect("a request");
            let object = of(target, namespace);
            let mut after = object.clone();
            let all = after["spec"]["template"]["spec"]["containers"].as_array_mut();
            let own = all
                .into_iter()
                .flatten()
                .find(|own| own["name"] == container);
            merge(
                own.expect("the container"),
                &json!({"resources": {"requests": {resource: request}}}),
            );
            changed(object, after)
        }
        ["scale", target, "-n", namespace, replicas] => {
            let replicas = replicas.strip_prefix("--replicas=").expect("replicas");
            let object = of(target, namespace);
            let mut after = object.clone();
            after["spec"]["replicas"] = json!(replicas.parse::<i32>().expect("a count"));
            changed(object, after)
        }
        ["rollout", "resume", target, "-n", namespace] => {
            let object = of(target, namespace);
            let mut after = object.clone();
            merge(&mut after, &json!({"spec": {"paused": null}}));
            changed(object, after)
        }
        ["annotate", kind, name, "-n", namespace, key] => {
            let object = find(objects, kind, name, namespace);
            let key = key.strip_suffix('-').expect("an annotation to take away");
            let mut after = object.clone();
            merge(
                &mut after,
                &json!({"metadata": {"annotations": {key: null}}}),
            );
            changed(object, after)
        }
        ["delete", "pod", "-n", namespace, "-l", selector, fields] => {
            let fields = fields.strip_prefix("--field-selector=").expect("fields");
            let phases: Vec<_> = fields
                .split(',')
                .map(|term| term.strip_prefix("status.phase!=").expect("a phase"))
                .collect();
            let selector = Selector::parse(selector).expect("a selector");
            let is_it = |object: &&Value| {
                let phase = object["status"]["phase"].as_str().unwrap_or_default();
                object["kind"] == "Pod"
                    && object["metadata"]["namespace"] == namespace
                    && !phases.contains(&phase)
                    && selector.matches(&labels(object))
            };
            deleted(objects.iter().filter(is_it))
        }
        ["delete", "pod", ref names @ .., "-n", namespace] => {
            let named: Vec<_> = names
                .iter()
                .map(|name| find(objects, "pod", name, namespace))
                .collect();
            deleted(objects.iter().filter(|object| named.contains(object)))
        }
        ["scale", .., "--dry-run=server"]
        | [
            "get" | "top" | "api-resources" | "auth" | "describe" | "logs",
            ..,
        ]
        | ["rollout", "status", ..] => Written::Nothing,
        ["edit", ..] | ["apply", "edit-last-applied", ..] => Written::InEditor,
        _ => panic!("unknown: {command}"),
    }
}

fn labels(object: &Value) -> Labels {
    let labels = object["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten();
    labels
        .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
        .collect()
}

fn changed(before: &Value, after: Value) -> Written {
    Written::Changes(vec![(before.clone(), Some(after))])
}

fn deleted<'o>(objects: impl Iterator<Item = &'o Value>) -> Written {
    Written::Changes(objects.map(|object| (object.clone(), None)).collect())
}

/// Runs a command in a shell, as if it were pasted.
fn pasted(command: &str, prepare: impl FnOnce(&mut Command)) -> Ran {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env_clear().timeout(LONGEST);
    shell.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    prepare(&mut shell);
    let mut ran = run(&mut shell);
    // The test server has no watches, which kubectl opens even if it does not wait.
    let remarks = ran.stderr.lines();
    let remarks: Vec<&str> = remarks
        .filter(|it| !it.contains("Failed to watch"))
        .collect();
    ran.stderr = remarks.join("\n");
    ran
}

/// Returns what is wrong with a command if it has not done what it is for, or not without a remark.
fn fault_of(ran: &Ran) -> Option<String> {
    // `kubectl auth can-i` answers with its exit code as well.
    let is_no = ran.code == Some(1) && ran.stdout == "no\n";
    let is_well = (ran.code == Some(0) || is_no) && ran.stderr.is_empty();
    (!is_well).then(|| format!("exit code {:?}: {}", ran.code, ran.shown()))
}

/// This program with a state in a file.
pub(super) struct Program {
    directory: PathBuf,
}

impl Program {
    pub(super) fn new() -> Self {
        let name = format!("commands-{}", std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&directory).expect("a directory");
        Self { directory }
    }

    /// The file of the state.
    pub(super) fn file(&self) -> PathBuf {
        self.directory.join("state.json")
    }

    /// Runs a command `kubectl hpa …` as `kubectl` would, and returns what is wrong.
    pub(super) fn fault(&self, command: &str, state: &str) -> Option<String> {
        fs::write(self.file(), state).expect("a file");
        let plugin = "kubectl() { shift; \"$PLUGIN\" \"$@\"; }";
        let ran = pasted(&format!("{plugin}; {command}"), |shell| {
            shell.env("PLUGIN", PROGRAM);
        });
        // Without an answer, the report and the code say so.
        let has_no_answer = ran.code == Some(1) && !ran.stdout.is_empty() && ran.stderr.is_empty();
        fault_of(&ran).filter(|_| !has_no_answer)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Leftovers are below the target directory.
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// kubectl with an API server, whose objects are replaced for each command.
pub(super) struct Kubectl {
    server: Server,
    config: Kubeconfig,
    /// All kinds of all states, so that what kubectl knows of the server stays true.
    kinds: BTreeSet<(String, String)>,
}

impl Kubectl {
    /// Returns kubectl if it is installed.
    pub(super) fn installed(kinds: BTreeSet<(String, String)>) -> Option<Self> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&paths).any(|path| path.join("kubectl").is_file()) {
            return None;
        }
        let server = Server::start(Self::cluster(&kinds));
        let config = server.kubeconfig(&Auth::Token("admin"));
        Some(Self {
            server,
            config,
            kinds,
        })
    }

    fn cluster(kinds: &BTreeSet<(String, String)>) -> Cluster {
        let mut cluster = Cluster::empty();
        cluster.serve_versions("custom.metrics.k8s.io", &["v1beta1"]);
        // Its rights are what its administrator looks at.
        cluster.grant("system:serviceaccount:kube-system:horizontal-pod-autoscaler");
        for (api_version, kind) in kinds {
            if !cluster.serves(api_version, kind) {
                cluster.custom_kind(api_version, kind, &plural(kind));
            }
        }
        cluster
    }

    /// Executes a command on the objects, and returns what it has changed, or what is wrong.
    pub(super) fn execute(
        &self,
        objects: &[Value],
        input: &Input,
        rules: AdmissionRules,
        command: &str,
    ) -> Result<Vec<Change>, String> {
        let mut cluster = Self::cluster(&self.kinds);
        cluster.admission(rules);
        for object in objects {
            cluster.put(object.clone());
        }
        measure(&mut cluster, input, objects);
        let held = |cluster: &Cluster| -> Vec<Option<Value>> {
            objects.iter().map(|object| cluster.get(object)).collect()
        };
        let before = held(&cluster);
        self.server.change(|own| *own = cluster);
        let ran = pasted(command, |shell| {
            let home = self.config.directory();
            // It closes the editor at once.
            shell
                .env("KUBECONFIG", self.config.path())
                .env("HOME", home)
                .env("EDITOR", "true");
        });
        let is_edited = command.contains("kubectl edit") || command.contains("edit-last-applied");
        let mut after = Vec::new();
        self.server.change(|own| after = held(own));
        if let Some(fault) = fault_of(&ran).filter(|_| !is_edited) {
            return Err(fault);
        }
        // A scale without a selector shows that it has none.
        if ran.stdout.is_empty() && !command.contains("-o jsonpath=") {
            return Err("shows nothing".to_owned());
        }
        let changes = objects.iter().zip(before.into_iter().zip(after));
        let changes = changes.filter(|(_, (before, after))| before != after);
        Ok(changes
            .map(|(object, (_, after))| (object.clone(), after.map(|it| of(object, it))))
            .collect())
    }
}

/// Returns an object without what the server has added to its metadata.
fn of(object: &Value, mut held: Value) -> Value {
    let mut metadata = object["metadata"].clone();
    for field in ["labels", "annotations"] {
        match held["metadata"].get(field) {
            Some(value) => metadata[field] = value.clone(),
            None => drop(metadata.as_object_mut().expect("metadata").remove(field)),
        }
    }
    held["metadata"] = metadata;
    held
}

/// Gives the metrics of an HPA values.
fn measure(cluster: &mut Cluster, input: &Input, objects: &[Value]) {
    let hpa = &input.snapshot.hpa;
    let time = "2026-11-21T05:59:50Z";
    let pods = || objects.iter().filter(|it| it["kind"] == "Pod");
    for pod in pods() {
        let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
        let usage =
            |own: &Value| json!({"name": own["name"], "usage": {"cpu": "1m", "memory": "1Mi"}});
        let own = &pod["metadata"];
        cluster.put(json!({
            "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
            "metadata": {"name": own["name"], "namespace": own["namespace"], "labels": own["labels"]},
            "timestamp": time, "window": "15s", "containers": containers.map(usage).collect::<Vec<_>>(),
        }));
    }
    for spec in &hpa.spec.metrics {
        let value = |resource: &str, object: &str| CustomMetric {
            name: spec.name().to_owned(),
            resource: resource.to_owned(),
            namespace: hpa.namespace.clone(),
            object: object.to_owned(),
            value: "1".to_owned(),
            timestamp: time.to_owned(),
            ..CustomMetric::default()
        };
        if let Some(object) = spec.described_object() {
            let dot = if object.group().is_empty() { "" } else { "." };
            let resource = format!("{}{dot}{}", plural(&object.kind), object.group());
            cluster.custom_metric(value(&resource, &object.name));
        } else if spec.type_ == "Pods" {
            for pod in pods() {
                let name = pod["metadata"]["name"].as_str().unwrap_or_default();
                cluster.custom_metric(value("pods", name));
            }
        }
    }
}
