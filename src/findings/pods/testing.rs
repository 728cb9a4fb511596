//! States for the tests of this group.

use serde_json::{Value, json};

use super::uncounted_pods::UncountedPods;
use crate::build;
use crate::engine::decision::{Clause, Group};
use crate::findings::owners::testing::owned;
use crate::findings::testing::{only_of, state, with_one};
use crate::findings::{Alternative, Severity};

pub(crate) fn rps() -> Value {
    build::per_pod("rps", "10")
}

/// Returns a pod whose condition `Ready` has this status since a time.
pub(crate) fn ready(status: &str, since: &str) -> Value {
    let condition = json!({"type": "Ready", "status": status, "lastTransitionTime": since});
    json!({"status": {"conditions": [condition]}})
}

/// Returns a pod for which the scheduler has found no node since it was created, with its message.
pub(crate) fn unscheduled(created: &str, message: &str) -> Value {
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    json!({"metadata": {"creationTimestamp": created},
        "status": {"phase": "Pending", "startTime": null, "conditions": [condition]}})
}

/// Returns the state with a change to some of its pods.
pub(crate) fn with_pods(items: &[Value], names: &[&str], patch: &Value) -> Vec<Value> {
    names.iter().fold(items.to_vec(), |items, name| {
        with_one(&items, "Pod", name, patch)
    })
}

/// Returns the state with a pod that belongs to a Job.
pub(crate) fn of_job(items: &[Value], name: &str) -> Vec<Value> {
    with_pods(items, &[name], &owned("Job", "seed", &json!({})))
}

/// Returns the state without the metrics of a pod.
pub(crate) fn unmeasured(items: Vec<Value>, name: &str) -> Vec<Value> {
    let is_its = |item: &Value| item["kind"] == "PodMetrics" && item["metadata"]["name"] == name;
    items.into_iter().filter(|item| !is_its(item)).collect()
}

/// Returns a pod that has not been ready since it started.
pub(crate) fn unready_since(start: &str) -> Value {
    let started = json!({"metadata": {"creationTimestamp": start}, "status": {"startTime": start}});
    build::with(started, &ready("False", start))
}

pub(crate) fn waiting(reason: &str, restarts: i32) -> Value {
    json!({"status": {"containerStatuses": [
        {"name": "app", "restartCount": restarts, "state": {"waiting": {"reason": reason}}}]}})
}

/// Returns a pod that has not been ready since 05:00, because its container ends again and again.
pub(crate) fn crashing() -> Value {
    build::with(
        unready_since("2026-11-21T05:00:00Z"),
        &waiting("CrashLoopBackOff", 7),
    )
}

/// Returns states in which a metric has no value: no pod runs, or some do.
pub(crate) fn without_values(metric: &Value) -> [(&'static str, Vec<Value>); 8] {
    let mut items = state(std::slice::from_ref(metric), &["80m"; 3]);
    items.retain(|item| item["kind"] != "PodMetrics");
    let all = ["web-0", "web-1", "web-2"];
    let crashes = waiting("CrashLoopBackOff", 7);
    let early = "2026-11-21T05:00:00Z";
    let never = build::with(unready_since(early), &crashes);
    let lately = build::with(
        unready_since(early),
        &ready("False", "2026-11-21T05:45:00Z"),
    );
    let once = build::with(lately.clone(), &crashes);
    let homeless = unscheduled(early, "0/3 nodes are available");
    let running =
        json!({"state": {"running": {"startedAt": early}}, "name": "app", "restartCount": 7});
    let again = build::with(lately, &json!({"status": {"containerStatuses": [running]}}));
    let creating = json!({"metadata": {"creationTimestamp": "2026-11-21T05:58:00Z"},
        "status": {"phase": "Pending", "startTime": "2026-11-21T05:58:00Z"}});
    let creating = build::with(creating, &waiting("ContainerCreating", 0));
    [
        ("run", items.clone()),
        ("run again", with_pods(&items, &all, &again)),
        ("are being created", with_pods(&items, &all, &creating)),
        ("run in part", with_pods(&items, &all[1..], &never)),
        ("were never ready", with_pods(&items, &all, &never)),
        ("were ready once", with_pods(&items, &all, &once)),
        ("have no node", with_pods(&items, &all, &homeless)),
        (
            "are of both kinds",
            with_pods(&with_pods(&items, &all, &never), &all[..1], &homeless),
        ),
    ]
}

/// The severity, the groups and clauses of the pods of `uncounted-pods`, and the result without the problem.
pub(crate) type Uncounted = (Severity, Vec<(Group, Clause)>, Option<Alternative>);

pub(crate) fn uncounted(items: &[Value]) -> Option<Uncounted> {
    let (facts, finding) = only_of::<UncountedPods>(items)?;
    assert!(finding.explains);
    let rows = facts.pods.iter().map(|it| (it.row.group, it.row.clause));
    Some((finding.severity, rows.collect(), finding.without))
}
