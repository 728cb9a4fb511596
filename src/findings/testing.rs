//! Findings in small states, for the tests of the groups.

use std::any::Any;

use serde_json::{Value, json};

use super::{Alternative, Code, Finding, FindingView, Kind, Severity, views};
use crate::build;
use crate::pass::Pass;
pub(super) use crate::saved::testing::input;
use crate::snapshot::UnreadCause;
use crate::snapshot::hpa::{CrossVersionObjectReference, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::right::UnknownFact;
use crate::snapshot::surroundings::Workload;

type Removal = fn(&mut Input);

/// What the network layer may be unable to read, each with how the input lacks it then.
pub(super) const SOURCES: [(UnknownFact, Removal); 7] = [
    (UnknownFact::OF_TARGET, |input| {
        keep(input, |it, target| !it.is_named_by(target));
    }),
    // A metric that needs the pods has no answer without them.
    (UnknownFact::OF_PODS, |input| {
        let mut specs = input.snapshot.hpa.spec.metrics.iter();
        if !specs.any(MetricSpec::needs_pods) {
            let message = "the pods may not be listed".to_owned();
            input.snapshot.pods_unread = Some(UnreadCause::PodsRefused { message });
            input.snapshot.pods.clear();
        }
    }),
    (UnknownFact::OF_OTHER_TARGETS, |input| {
        let is_found = input.snapshot.scale.is_ok();
        keep(input, |_, _| is_found);
    }),
    (UnknownFact::OF_REPLICA_SETS, |input| {
        keep(input, |it, target| {
            it.kind != "ReplicaSet" || it.is_named_by(target)
        });
    }),
    (UnknownFact::OF_SCALED_OBJECT, |input| {
        input.surroundings.scaled_objects = Vec::new().into();
    }),
    (UnknownFact::OF_API_SERVICE, |input| {
        input.surroundings.api_services = Vec::new().into();
    }),
    (UnknownFact::OF_METRIC_NAMES, |input| {
        input.surroundings.served_metrics.clear();
    }),
];

/// Keeps some of the workloads, which are compared with the target.
fn keep(input: &mut Input, is_kept: impl Fn(&Workload, &CrossVersionObjectReference) -> bool) {
    let target = &input.snapshot.hpa.spec.scale_target_ref;
    let mut workloads = input.surroundings.workloads.to_vec();
    workloads.retain(|it| is_kept(it, target));
    input.surroundings.workloads = workloads.into();
}

/// Returns the findings about a pass. Each that is not found without a source is listed for it.
fn find(pass: &Pass) -> Vec<Finding> {
    let found = super::find(pass);
    for (fact, remove) in SOURCES {
        let mut input = pass.input.clone();
        remove(&mut input);
        if (&input.snapshot, &input.surroundings)
            == (&pass.input.snapshot, &pass.input.surroundings)
        {
            continue;
        }
        let rest = super::find(&Pass::run(input));
        for code in found.iter().map(Finding::code) {
            assert!(
                fact.hides(code.as_str()) || rest.iter().any(|it| it.code() == code),
                "list {code:?} in {fact:?} (src/snapshot/right.rs): it is not found without that source"
            );
        }
    }
    found
}

/// Runs a pass of the HPA `web` of these objects.
pub(crate) fn pass(items: &[Value]) -> Pass {
    Pass::run(input(items).unwrap())
}

/// Runs a pass of these objects on an assumption.
pub(crate) fn assuming(items: &[Value], assume: impl Fn(&mut Input)) -> Pass {
    let mut input = pass(items).input;
    input.observed = Some(input.snapshot.clone().into());
    assume(&mut input);
    Pass::run(input)
}

/// Returns the findings about the HPA `web` of these objects.
pub(super) fn found(items: &[Value]) -> Vec<Finding> {
    find(&pass(items))
}

/// Returns the codes of the findings in a state.
pub(super) fn codes(items: &[Value]) -> Vec<Code> {
    found(items).iter().map(Finding::code).collect()
}

/// Returns the findings in a state, each with its severity and the finding that it follows from.
pub(super) fn told(items: &[Value]) -> Vec<(Code, Severity, Option<Code>)> {
    let findings = found(items).into_iter();
    let told = findings.map(|it| (it.code(), it.severity, it.follows));
    told.collect()
}

/// Returns the only finding of a code, if there is one.
pub(super) fn only(code: Code, items: &[Value]) -> Option<Finding> {
    let mut all = found(items).into_iter().filter(|it| it.code() == code);
    let finding = all.next();
    assert_eq!(all.next(), None, "{} is there once", code.as_str());
    finding
}

/// Returns the only finding of a kind, with its facts, if there is one.
pub(super) fn only_of<K: Kind + Clone>(items: &[Value]) -> Option<(K, Finding)> {
    let facts_of = |it: &Finding| (it.facts.kind() as &dyn Any).downcast_ref::<K>().cloned();
    let findings = found(items).into_iter();
    let mut all = findings.filter_map(|it| Some((facts_of(&it)?, it)));
    let own = all.next();
    assert!(all.next().is_none(), "it is there once");
    own
}

/// Returns an HPA with these metrics, the scale of its target, and pods that each use this much CPU of the
/// 100m that they request.
pub(crate) fn state(metrics: &[Value], cpu: &[&str]) -> Vec<Value> {
    let spec = json!({ "maxReplicas": 20, "metrics": metrics });
    let replicas = i32::try_from(cpu.len()).unwrap();
    let mut items = vec![
        build::hpa(&spec),
        build::scale(replicas),
        build::state(&json!({})),
    ];
    for (number, cpu) in cpu.iter().enumerate() {
        let name = format!("web-{number}");
        items.extend([build::pod(&name), build::pod_metrics(&name, cpu)]);
    }
    items
}

/// Returns the state with a patch of the objects of a kind.
pub(crate) fn with(items: &[Value], kind: &str, patch: &Value) -> Vec<Value> {
    patched(items, patch, |item| item["kind"] == kind)
}

/// Returns the state with a patch of some objects.
fn patched(items: &[Value], patch: &Value, is_meant: impl Fn(&Value) -> bool) -> Vec<Value> {
    let mut items = items.to_vec();
    for item in items.iter_mut().filter(|item| is_meant(item)) {
        *item = build::with(item.take(), patch);
    }
    items
}

/// Returns the state with these containers in its pods.
pub(crate) fn with_containers(items: &[Value], containers: &Value) -> Vec<Value> {
    with(items, "Pod", &json!({"spec": {"containers": containers}}))
}

pub(crate) fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

pub(crate) fn queue(target: &Value) -> Value {
    build::external("queue", target)
}

/// Returns the value of an external metric.
pub(crate) fn valued(name: &str, value: &str) -> Value {
    build::external_values([json!({"metricName": name, "value": value})])
}

/// Returns an HPA with an external metric of this value, and pods that use half of what they request.
pub(crate) fn external(name: &str, target: &Value, value: &str, pods: usize) -> Vec<Value> {
    let items = state(&[build::external(name, target)], &vec!["50m"; pods]);
    [items, vec![valued(name, value)]].concat()
}

/// Returns an event about an object.
pub(crate) fn event(kind: &str, name: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": kind, "namespace": "default", "name": name},
        "reason": reason, "message": message, "lastTimestamp": at})
}

/// Returns the state with the pods created an hour after each other.
pub(crate) fn by_age(items: &[Value]) -> Vec<Value> {
    let pods = ["web-0", "web-1", "web-2"].iter().zip(["03", "04", "05"]);
    pods.fold(items.to_vec(), |items, (pod, hour)| {
        let created = format!("2026-11-21T{hour}:00:00Z");
        with_pod(
            &items,
            pod,
            &json!({"metadata": {"creationTimestamp": created}}),
        )
    })
}

/// Returns the values of a metric of the first pods.
pub(crate) fn values(name: &str, values: &[&str]) -> Value {
    let items = (0..).zip(values).map(|(number, value)| {
        let pod = format!("web-{number}");
        json!({"describedObject": {"kind": "Pod", "namespace": "default", "name": pod, "apiVersion": "/v1"},
            "metric": {"name": name}, "timestamp": "2026-11-21T05:59:50Z", "value": value})
    });
    let items = Vec::from_iter(items);
    json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList", "items": items})
}

/// Returns an HPA with a metric of each pod of these values.
pub(crate) fn of_pods(name: &str, target: &str, own: &[&str]) -> Vec<Value> {
    let items = state(&[build::per_pod(name, target)], &vec!["50m"; own.len()]);
    [items, vec![values(name, own)]].concat()
}

/// Returns the state with a change to one of its pods.
pub(crate) fn with_pod(items: &[Value], name: &str, patch: &Value) -> Vec<Value> {
    with_one(items, "Pod", name, patch)
}

/// Returns the state with a change to the objects of a kind and a name.
pub(crate) fn with_one(items: &[Value], kind: &str, name: &str, patch: &Value) -> Vec<Value> {
    let is_it = |item: &Value| item["kind"] == kind && item["metadata"]["name"] == name;
    patched(items, patch, is_it)
}

pub(crate) fn with_hpa(items: &[Value], patch: &Value) -> Vec<Value> {
    with(items, "HorizontalPodAutoscaler", patch)
}

pub(crate) fn with_spec(items: &[Value], spec: &Value) -> Vec<Value> {
    with_hpa(items, &json!({ "spec": spec }))
}

/// Returns the state with a change to what is known of the controller.
pub(crate) fn with_state(items: &[Value], patch: &Value) -> Vec<Value> {
    with(items, "ControllerState", patch)
}

pub(crate) fn in_version(items: &[Value], version: &str) -> Vec<Value> {
    with_state(items, &json!({ "kubernetesVersion": version }))
}

/// Returns the finding of a code in a state.
pub(crate) fn said(code: Code, items: &[Value]) -> FindingView {
    let pass = pass(items);
    view(code, &pass, &find(&pass))
}

/// Returns the finding of a code, out of those about a pass.
pub(crate) fn view(code: Code, pass: &Pass, found: &[Finding]) -> FindingView {
    let mut views = views(pass, found).into_iter();
    let own = views.find(|view| view.code == code);
    own.unwrap_or_else(|| panic!("{} is there", code.as_str()))
}

/// Returns what is said about each state, for a snapshot. A finding of the code has a heading with its severity,
/// whether it explains the pass, the finding that it follows from, and the proposal and the replicas without the
/// problem. Below are its summary, evidence (`-`), advice (`>`), commands (`$`), and objects (`@`) unless there is
/// only the HPA. A state whose text is the same as an earlier one's refers to that state.
pub(crate) fn table<'t>(
    code: Code,
    states: impl IntoIterator<Item = (&'t str, Vec<Value>)>,
) -> String {
    let mut rows: Vec<(&str, String)> = Vec::new();
    let mut text = String::new();
    for (about, items) in states {
        let row = row_of(code, &items);
        let same = rows.iter().find(|(_, earlier)| *earlier == row);
        match same.filter(|_| row != "none") {
            Some((earlier, _)) => text += &format!("{about}: as {earlier}\n"),
            None => text += &format!("{about}: {row}\n"),
        }
        rows.push((about, row));
    }
    text
}

/// Returns what is said about one state.
fn row_of(code: Code, items: &[Value]) -> String {
    let pass = pass(items);
    let findings = find(&pass);
    let texts = views(&pass, &findings);
    let mut own = findings
        .iter()
        .zip(&texts)
        .filter(|(finding, _)| finding.code() == code);
    let Some((finding, text)) = own.next() else {
        return "none".to_owned();
    };
    assert!(own.next().is_none(), "{} is there once", code.as_str());
    let explains = if text.explains { "explains" } else { "aside" };
    let mut row = format!("{}, {explains}", text.severity.as_str());
    if let Some(cause) = text.follows {
        row += &format!(", follows {}", cause.as_str());
    }
    if let Some(Alternative {
        proposal, replicas, ..
    }) = finding.without
    {
        let [proposal, replicas] =
            [proposal, replicas].map(|it| it.map_or("none".to_owned(), |it| it.to_string()));
        row += &format!(", without it {proposal} -> {replicas}");
    }
    let advice = text.advice.text();
    let objects = if text.objects.is_empty() {
        "none".to_owned()
    } else {
        text.objects.join(" ")
    };
    let lines = [("", &text.summary)]
        .into_iter()
        .chain(text.evidence.iter().map(|it| ("- ", it)))
        .chain((!advice.is_empty()).then_some(("> ", &advice)))
        .chain(text.commands.iter().map(|it| ("$ ", it)))
        .chain((objects != "hpa/web").then_some(("@ ", &objects)));
    for (mark, line) in lines {
        row += &format!("\n    {mark}{line}");
    }
    row
}

/// Returns these objects with an HPA that KEDA creates from a ScaledObject, which is not among them.
pub(crate) fn owned_by_keda(items: &[Value]) -> Vec<Value> {
    let owner = build::owned_by("keda.sh/v1alpha1", "ScaledObject", "web");
    with_hpa(items, &json!({"metadata": {"ownerReferences": owner}}))
}

/// Returns these objects with an HPA that KEDA creates from a ScaledObject of this spec and status.
pub(crate) fn of_keda(items: &[Value], object: &Value) -> Vec<Value> {
    let own = build::scaled_object("web", object);
    [owned_by_keda(items), vec![own]].concat()
}

/// Returns conditions of a ScaledObject, whose messages hold a secret.
pub(crate) fn conditions(all: &[(&str, &str)]) -> Value {
    let conditions = all.iter().map(|(type_, status)| {
        json!({"type": type_, "status": status, "reason": "X",
            "message": "amqp://user:hunter2@rabbit refused"})
    });
    json!({"status": {"conditions": Vec::from_iter(conditions)}})
}

/// Returns an HPA of KEDA with a metric of this total and target per replica, and four busy or idle pods.
pub(crate) fn triggered(target: &str, total: &str, object: &Value) -> Vec<Value> {
    let items = external("s0-prometheus", &build::average(target), total, 4);
    of_keda(&items, object)
}

/// Returns a state in which the last pass left 6 replicas, and something has set another number.
pub(crate) fn set_by(writer: &Value, replicas: i32) -> Vec<Value> {
    let items = state(&[cpu()], &vec!["50m"; usize::try_from(replicas).unwrap()]);
    let status = json!({"currentReplicas": 6, "desiredReplicas": 6, "conditions": [
        {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale"}]});
    let mut items = with_hpa(
        &items,
        &json!({"status": status, "spec": {"minReplicas": 2}}),
    );
    let replicas_of =
        json!({"time": "2026-11-21T05:59:55Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
    let managed = json!({"metadata": {"managedFields": [build::with(replicas_of, writer)]}});
    items.push(build::with(build::deployment(replicas), &managed));
    items
}
