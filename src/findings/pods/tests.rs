//! For each code a state in which it appears, and near misses in which it does not. Expectations are
//! derived by hand from the controller's rules.

use serde_json::{Value, json};

use crate::apimachinery::metadata::Condition;
use crate::build;
use crate::engine::decision::{Clause, Group};
use crate::findings::pods::finished_pods::FinishedPods;
use crate::findings::pods::never_ready::{NeverReady, StuckPod};
use crate::findings::pods::replicas_without_pods::ReplicasWithoutPods;
use crate::findings::pods::starting_pods::{Starting, StartingPods};
use crate::findings::pods::terminating_pods::TerminatingPods;
use crate::findings::pods::unschedulable_pods::UnschedulablePods;
use crate::findings::testing::{boxed, check, found, only, state, told, with};
use crate::findings::{Alternative, Code, Facts, Finding, Severity};

fn cpu() -> Value {
    build::resource("cpu", &build::utilization(50))
}

fn rps() -> Value {
    json!({"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": build::average("10")}})
}

/// Returns the state with a change to the objects of a kind and a name.
fn with_one(items: &[Value], kind: &str, name: &str, patch: &Value) -> Vec<Value> {
    let change = |item: &Value| {
        if item["kind"] == kind && item["metadata"]["name"] == name {
            build::with(item.clone(), patch)
        } else {
            item.clone()
        }
    };
    items.iter().map(change).collect()
}

/// Returns the state with a change to some of its pods.
fn with_pods(items: &[Value], names: &[&str], patch: &Value) -> Vec<Value> {
    names.iter().fold(items.to_vec(), |items, name| {
        with_one(&items, "Pod", name, patch)
    })
}

/// Returns the state without the metrics of a pod.
fn unmeasured(items: Vec<Value>, name: &str) -> Vec<Value> {
    let is_its = |item: &Value| item["kind"] == "PodMetrics" && item["metadata"]["name"] == name;
    items.into_iter().filter(|item| !is_its(item)).collect()
}

/// Returns a pod that has not been ready since it started.
fn unready_since(start: &str) -> Value {
    json!({
        "metadata": {"creationTimestamp": start},
        "status": {"startTime": start, "conditions": [
            {"type": "Ready", "status": "False", "lastTransitionTime": start}]},
    })
}

fn waiting(reason: &str, restarts: i32) -> Value {
    json!({"status": {"containerStatuses": [
        {"name": "app", "restartCount": restarts, "state": {"waiting": {"reason": reason}}}]}})
}

/// Returns values of `rps` for the first pods.
fn values(values: &[i64]) -> Value {
    let item = |(number, value)| {
        json!({
            "describedObject": {"kind": "Pod", "namespace": "default", "name": format!("web-{number}"),
                "apiVersion": "/v1"},
            "metric": {"name": "rps"}, "timestamp": "2026-11-21T05:59:50Z", "value": format!("{value}"),
        })
    };
    let items: Vec<Value> = (0..).zip(values).map(item).collect();
    json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList", "items": items})
}

#[test]
fn finished_pods() {
    let two = unmeasured(state(&[cpu()], &["30m", "0"]), "web-1");
    let is = |phase: &str| with_pods(&two, &["web-1"], &json!({"status": {"phase": phase}}));
    let facts = |succeeded: &[&str], failed: &[&str], missing_in: &[usize], fails| {
        let (succeeded, failed) = (boxed(succeeded), boxed(failed));
        FinishedPods {
            succeeded,
            failed,
            missing_in: missing_in.to_vec(),
            fails,
            owner: None,
        }
        .into()
    };
    let new = |items: &[Value]| {
        with(
            items,
            "ControllerState",
            &json!({"kubernetesVersion": "v1.38.0"}),
        )
    };
    let no_request = json!({"spec": {"containers": [{"name": "app"}]}});
    let code = Code::FinishedPods;
    check(vec![
        ("runs", code, is("Running"), None),
        // 30 % alone ask for 1; with the other at its request, 65 % ask for 3.
        (
            "succeeded",
            code,
            is("Succeeded"),
            Some((Severity::Warning, true, facts(&["web-1"], &[], &[0], None))),
        ),
        (
            "succeeded, in a version that leaves it out",
            code,
            new(&is("Succeeded")),
            Some((Severity::Info, false, facts(&["web-1"], &[], &[], None))),
        ),
        (
            "failed",
            code,
            is("Failed"),
            Some((Severity::Info, false, facts(&[], &["web-1"], &[], None))),
        ),
        (
            "failed without a request",
            code,
            with_pods(&is("Failed"), &["web-1"], &no_request),
            Some((Severity::Error, true, facts(&[], &["web-1"], &[], Some(0)))),
        ),
    ]);
}

/// How the pods of `uncounted-pods` are left out, with the rest of the finding.
type Uncounted = (Severity, Vec<(Group, Clause)>, Option<Alternative>);

fn uncounted(items: &[Value]) -> Option<Uncounted> {
    let finding = only(Code::UncountedPods, items)?;
    assert!(finding.explains);
    let Facts::UncountedPods(facts) = finding.facts else {
        panic!("{:?}", finding.facts)
    };
    let rows = facts
        .pods
        .iter()
        .map(|it| (it.row.group, it.row.clause))
        .collect();
    Some((finding.severity, rows, finding.without))
}

#[test]
fn uncounted_pods() {
    let answer = |proposal, replicas| {
        Some(Alternative {
            proposal: Some(proposal),
            replicas: Some(replicas),
        })
    };
    let four = state(&[cpu()], &["80m", "80m", "80m", "80m"]);
    assert_eq!(uncounted(&four), None);
    // 1.6 over 4 pods is 7; with one at 0 it is 1.2 over 4, which is 5.
    let one = unmeasured(four.clone(), "web-3");
    let missing = (Group::Missing, Clause::NoMetric);
    assert_eq!(
        uncounted(&one),
        Some((Severity::Warning, vec![missing], answer(7, 7)))
    );
    let young = with_pods(&four, &["web-3"], &unready_since("2026-11-21T05:59:00Z"));
    let starts = (Group::Unready, Clause::InitializingNotReady);
    assert_eq!(
        uncounted(&young),
        Some((Severity::Info, vec![starts], answer(7, 7)))
    );
    // The node is told if it has several of them, and other pods are elsewhere.
    let on = |name: &str| json!({"spec": {"nodeName": name}});
    let node = |items: &[Value]| {
        let Facts::UncountedPods(facts) = only(Code::UncountedPods, items)?.facts else {
            return None;
        };
        Some((
            facts
                .nodes
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            facts.unscraped,
        ))
    };
    let none = Some((Vec::new(), false));
    let unscraped = Some((vec!["a".to_owned()], true));
    let two = unmeasured(unmeasured(four.clone(), "web-3"), "web-2");
    let bad = with_pods(&two, &["web-2", "web-3"], &on("a"));
    assert_eq!(node(&bad), none);
    let apart = with_pods(&bad, &["web-0"], &on("b"));
    assert_eq!(node(&apart), unscraped);
    assert_eq!(node(&with_pods(&bad, &["web-3"], &on("b"))), none);
    // Pods on two nodes are without metrics, and those with metrics are on a third.
    let both = Some((vec!["a".to_owned(), "c".to_owned()], true));
    assert_eq!(node(&with_pods(&apart, &["web-3"], &on("c"))), both);
    // A pod of the same node has metrics, so its kubelet is in order; a pod that is not ready has a reason of its own.
    assert!(!node(&with_pods(&apart, &["web-1"], &on("a"))).unwrap().1);
    let unready = with_pods(&apart, &["web-3"], &unready_since("2026-11-21T05:50:00Z"));
    assert_eq!(node(&unready), Some((vec!["a".to_owned()], false)));
    let alone = with_pods(&one, &["web-3"], &on("a"));
    assert_eq!(node(&with_pods(&alone, &["web-0"], &on("b"))), unscraped);
    // Two that use next to nothing change nothing if they count, but 3.2 over 6 pods is within the tolerance,
    // and over the 4 others it is 7.
    let six = state(&[cpu()], &["80m", "80m", "80m", "80m", "2m", "2m"]);
    let idle = with_pods(
        &six,
        &["web-4", "web-5"],
        &unready_since("2026-11-21T05:59:00Z"),
    );
    assert_eq!(
        uncounted(&idle),
        Some((Severity::Info, vec![starts; 2], answer(7, 7)))
    );
    // Pods that were ready once count for CPU, ready or not. One at 0 would give 5.
    let flaps = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T05:59:00Z"}]}});
    let counts = (Group::Ready, Clause::Counted);
    let want = (Severity::Info, vec![counts], answer(5, 5));
    assert_eq!(uncounted(&with_pods(&four, &["web-3"], &flaps)), Some(want));
    let mut rates = state(&[rps()], &["1m"]);
    rates.push(values(&[30]));
    assert_eq!(uncounted(&with_pods(&rates, &["web-0"], &flaps)), None);
    let queue = build::external("queue", &build::value("10"));
    let mut queue = state(&[queue], &["80m", "80m"]);
    queue.push(build::queue(&["20"]));
    assert_eq!(uncounted(&queue), None);
    let none_ready = with_pods(&queue, &["web-0", "web-1"], &flaps);
    let not_ready = (Group::Unready, Clause::NotReady);
    let want = (Severity::Warning, vec![not_ready; 2], answer(4, 4));
    assert_eq!(uncounted(&none_ready), Some(want));
    // Nothing can be computed while all pods are starting.
    let start = unready_since("2026-11-21T05:59:00Z");
    let all = with_pods(&four, &["web-0", "web-1", "web-2", "web-3"], &start);
    assert_eq!(
        uncounted(&all),
        Some((Severity::Error, vec![starts; 4], answer(7, 7)))
    );
    let gone = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
    let terminating = (Group::Ignored, Clause::Deleted);
    let all = with_pods(&four, &["web-0", "web-1", "web-2", "web-3"], &gone);
    assert_eq!(
        uncounted(&all),
        Some((Severity::Error, vec![terminating; 4], None))
    );
    // Which other finding is about the same pods.
    let named_by = |items: &[Value]| match only(Code::UncountedPods, items) {
        Some(Finding {
            facts: Facts::UncountedPods(_),
            follows,
            ..
        }) => follows,
        other => panic!("{other:?}"),
    };
    let stuck = with_pods(&four, &["web-3"], &unready_since("2026-11-21T05:00:00Z"));
    assert_eq!(named_by(&stuck), Some(Code::NeverReady));
    assert_eq!(named_by(&unmeasured(stuck, "web-2")), None);
    assert_eq!(named_by(&young), None);
    // A container with another name is why no pod has a value.
    let container = json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": "ap", "target": build::utilization(50)}});
    let unknown = state(&[container], &["80m", "80m"]);
    assert!(only(Code::UnknownContainer, &unknown).is_some());
    assert_eq!(uncounted(&unknown), None);
    // If the answer does not change, there is no finding: 100 % on the way down, as before.
    let low = unmeasured(state(&[cpu()], &["50m", "50m", "50m"]), "web-2");
    assert_eq!(uncounted(&low), None);
}

#[test]
fn pods_that_were_never_ready() {
    let items = state(&[cpu()], &["80m", "80m", "80m"]);
    let unready = |start| with_pods(&items, &["web-2"], &unready_since(start));
    let stuck = |since: &str, container: Option<(&str, i32)>| {
        let pods = vec![StuckPod {
            name: "web-2".into(),
            since: Some(since.parse().unwrap()),
            container: container.map(|_| "app".into()),
            waiting: container.map(|(reason, _)| reason.into()),
            restarts: container.map_or(0, |(_, restarts)| restarts),
        }];
        let facts = NeverReady {
            pods,
            revision: None,
        };
        Some((Severity::Warning, true, facts.into()))
    };
    let (late, early) = ("2026-11-21T05:50:00Z", "2026-11-21T05:00:00Z");
    let crashes = waiting("CrashLoopBackOff", 7);
    let prepared = json!({"spec": {"initContainers": [{"name": "setup"}]},
        "status": {"initContainerStatuses": [{"name": "setup", "restartCount": 3}]}});
    let was_ready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T05:20:00Z"}]}});
    let code = Code::NeverReady;
    check(vec![
        ("are ready", code, items.clone(), None),
        ("may still become ready", code, unready(late), None),
        ("take too long", code, unready(early), stuck(early, None)),
        (
            "crash",
            code,
            with_pods(&unready(late), &["web-2"], &crashes),
            stuck(late, Some(("CrashLoopBackOff", 7))),
        ),
        (
            "crash, but have only just started",
            code,
            with_pods(&unready("2026-11-21T05:57:00Z"), &["web-2"], &crashes),
            None,
        ),
        (
            "had to repeat what has been done since",
            code,
            with_pods(&unready(late), &["web-2"], &prepared),
            None,
        ),
        (
            "are being prepared",
            code,
            with_pods(&unready(late), &["web-2"], &waiting("ContainerCreating", 0)),
            None,
        ),
        (
            "crash, and were ready once",
            code,
            with_pods(
                &with_pods(&items, &["web-2"], &was_ready),
                &["web-2"],
                &crashes,
            ),
            None,
        ),
    ]);
    let revision = |name: &str, hash: &str| json!({"metadata": {"name": name, "labels": {"pod-template-hash": hash}}});
    let rollout = with_one(&unready(early), "Pod", "web-0", &revision("web-0", "old"));
    let rollout = with_one(&rollout, "Pod", "web-2", &revision("web-2", "new"));
    let Some((_, _, Facts::NeverReady(facts))) = told(code, &rollout) else {
        panic!("no finding")
    };
    assert_eq!(facts.revision.as_deref(), Some("new"));
}

#[test]
fn terminating_pods() {
    let queue = |target: &Value| {
        let mut items = state(&[build::external("queue", target)], &["1m", "1m", "1m"]);
        items.push(build::queue(&["20"]));
        items
    };
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
    let unready = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T05:59:00Z"}]}});
    let value = queue(&build::value("10"));
    let terminates = with_pods(&value, &["web-2"], &deleted);
    let facts = TerminatingPods {
        pods: boxed(&["web-2"]),
        metric: 0,
        last: "2026-11-21T06:00:20Z".parse().unwrap(),
    };
    let code = Code::TerminatingPods;
    check(vec![
        ("stay", code, value.clone(), None),
        (
            "count",
            code,
            terminates.clone(),
            Some((Severity::Warning, true, facts.into())),
        ),
        (
            "are not ready",
            code,
            with_pods(&terminates, &["web-2"], &unready),
            None,
        ),
        (
            "make no difference to an average",
            code,
            with_pods(&queue(&build::average("10")), &["web-2"], &deleted),
            None,
        ),
    ]);
}

#[test]
fn starting_pods() {
    let started = |start: &str, ready: &str| {
        json!({
            "metadata": {"creationTimestamp": start},
            "status": {"startTime": start, "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": ready}]},
        })
    };
    let warm = state(&[cpu()], &["50m", "50m", "150m"]);
    let start = "2026-11-21T05:57:00Z";
    let new = |items| with_pods(items, &["web-2"], &started(start, "2026-11-21T05:58:30Z"));
    let settled = |items| with_pods(items, &["web-2"], &started(start, "2026-11-21T05:57:10Z"));
    let facts = |since: &str, how| {
        let since = since.parse().unwrap();
        StartingPods {
            pods: boxed(&["web-2"]),
            since,
            metric: 0,
            how,
        }
        .into()
    };
    let hot = facts(
        start,
        Starting::Hot {
            usage: 150,
            others: 50,
        },
    );
    let mut queue = state(&[rps()], &["1m", "1m", "1m"]);
    queue.push(values(&[15]));
    let slow = "2026-11-21T05:45:00Z";
    let assumed = StartingPods {
        pods: boxed(&["web-1", "web-2"]),
        since: slow.parse().unwrap(),
        metric: 0,
        how: Starting::NotReady { assumed: 2 },
    };
    // 1.5 times one pod is 2; with two more at 0, the ratio is 0.5, and the 3 stay.
    let two = |start| with_pods(&queue, &["web-1", "web-2"], &unready_since(start));
    let mut counted = state(&[rps()], &["1m", "1m", "1m"]);
    counted.push(values(&[10, 10, 30]));
    let unready = |items: &[Value], start| with_pods(items, &["web-2"], &unready_since(start));
    let used = facts(slow, Starting::NotReady { assumed: 0 });
    let briefly = facts(start, Starting::NotReady { assumed: 0 });
    let code = Code::StartingPods;
    check(vec![
        ("use more, but are old", code, warm.clone(), None),
        (
            "use more",
            code,
            new(&warm),
            Some((Severity::Warning, true, hot)),
        ),
        (
            "use more, and have been ready for minutes, as a canary",
            code,
            settled(&warm),
            None,
        ),
        (
            "use as much",
            code,
            new(&state(&[cpu()], &["80m", "80m", "80m"])),
            None,
        ),
        ("have no metrics for long", code, two(slow), {
            Some((Severity::Warning, true, assumed.into()))
        }),
        ("have no metrics yet", code, two(start), None),
        (
            "count without being ready",
            code,
            unready(&counted, slow),
            { Some((Severity::Warning, true, used)) },
        ),
        (
            "count before they are ready",
            code,
            unready(&counted, start),
            { Some((Severity::Info, true, briefly)) },
        ),
        ("count and are ready", code, counted.clone(), None),
    ]);
    for (since, present, want) in [
        ("2026-11-21T05:57:00Z", 0, Some(300)),
        ("2026-11-21T05:57:00Z", 300, Some(600)),
        ("2026-11-21T05:35:00Z", 0, Some(1800)),
        ("2026-11-21T05:35:00Z", 3600, None),
        ("2026-11-21T05:00:00Z", 0, None),
    ] {
        let pods = StartingPods {
            pods: boxed(&["web-2"]),
            since: since.parse().unwrap(),
            metric: 0,
            how: Starting::NotReady { assumed: 0 },
        };
        let now = build::NOW.parse().unwrap();
        assert_eq!(pods.longer_window(present, now), want, "{since} {present}");
    }
}

#[test]
fn replicas_without_pods() {
    let three = state(&[cpu()], &["80m", "80m", "80m"]);
    let lacks = with(&three, "Scale", &json!({"spec": {"replicas": 6}}));
    let scaled = |at: &str| {
        with(
            &lacks,
            "HorizontalPodAutoscaler",
            &json!({"status": {"lastScaleTime": at}}),
        )
    };
    let long_ago = "2026-11-21T05:50:00Z";
    let facts = |failure, since: Option<&str>| ReplicasWithoutPods {
        replicas: 6,
        pods: 3,
        is_held_up: true,
        failure,
        since: since.map(|it| it.parse().unwrap()),
        metric: Some(0),
        waits_for: None,
        owned: None,
    };
    let deployment = |status: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"replicas": 3, "conditions": [{"type": "ReplicaFailure", "status": status,
                "reason": "FailedCreate", "message": "exceeded quota"}]}})
    };
    let fails = |status| [&lacks[..], &[deployment(status)]].concat();
    let failure = Condition {
        type_: "ReplicaFailure".to_owned(),
        status: "True".to_owned(),
        reason: "FailedCreate".to_owned(),
        message: "exceeded quota".to_owned(),
        last_transition_time: None,
    };
    let warning = |facts: ReplicasWithoutPods| Some((Severity::Warning, true, facts.into()));
    let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:20Z"}});
    let mut none = with(&lacks, "Scale", &json!({"status": {"replicas": 0}}));
    none.retain(|item| item["kind"] != "Pod" && item["kind"] != "PodMetrics");
    let all = ReplicasWithoutPods {
        pods: 0,
        is_held_up: false,
        metric: None,
        ..facts(None, None)
    };
    let unreported = json!({"spec": {"replicas": 3}, "status": {"replicas": 1}});
    let unreported = with(&scaled(long_ago), "Scale", &unreported);
    let set = json!({"spec": {"scaleTargetRef": {"kind": "StatefulSet"}}});
    let set = with(&scaled(long_ago), "HorizontalPodAutoscaler", &set);
    let flaps = json!({"status": {"conditions": [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T05:49:00Z"}]}});
    // A pod without a node has no condition Ready.
    let homeless = json!({"status": {"phase": "Pending", "startTime": null, "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"}]}});
    let homeless = unmeasured(with_pods(&set, &["web-2"], &homeless), "web-2");
    let set = with_pods(&set, &["web-2"], &flaps);
    let waits = ReplicasWithoutPods {
        waits_for: Some("web-2".into()),
        ..facts(None, Some(long_ago))
    };
    let code = Code::ReplicasWithoutPods;
    check(vec![
        ("are all there", code, three.clone(), None),
        ("since an unknown time", code, lacks.clone(), None),
        (
            "were scaled just now",
            code,
            scaled("2026-11-21T05:59:00Z"),
            None,
        ),
        (
            "for minutes",
            code,
            scaled(long_ago),
            warning(facts(None, Some(long_ago))),
        ),
        (
            "are being replaced",
            code,
            with_pods(&scaled(long_ago), &["web-2"], &deleted),
            None,
        ),
        (
            "fail",
            code,
            fails("True"),
            warning(facts(Some(failure), None)),
        ),
        ("are there, and not reported", code, unreported, None),
        (
            "are all missing",
            code,
            none,
            Some((Severity::Error, true, all.into())),
        ),
        ("no longer fail", code, fails("False"), None),
        ("wait for another one", code, set, warning(waits.clone())),
        (
            "wait for one without a node",
            code,
            homeless,
            warning(waits),
        ),
    ]);
}

/// Before 1.33 a pod without a value fails a ContainerResource metric for all of them.
#[test]
fn a_pod_that_is_never_ready_fails_the_metric_of_a_container() {
    let metric = json!({"type": "ContainerResource", "containerResource": {
        "name": "cpu", "container": "app", "target": build::utilization(50)}});
    let start = build::with(
        unready_since("2026-11-21T05:00:00Z"),
        &waiting("CrashLoopBackOff", 9),
    );
    let items = with_pods(&state(&[metric], &["70m"; 4]), &["web-3"], &start);
    let empty = with_one(&items, "PodMetrics", "web-3", &json!({"containers": []}));
    let answer = |replicas| {
        Some(Alternative {
            proposal: replicas,
            replicas,
        })
    };
    for (version, items, explains) in [
        ("v1.30.5", &empty, true),
        ("v1.30.5", &unmeasured(items.clone(), "web-3"), true),
        ("v1.36.2", &empty, true),
        // Its value is there, so that only its readiness is missing.
        ("v1.30.5", &items, true),
    ] {
        let items = with(
            items,
            "ControllerState",
            &json!({"kubernetesVersion": version}),
        );
        let finding = only(Code::NeverReady, &items).unwrap();
        // 1.4 × 4 is 5.6.
        assert_eq!(
            (finding.explains, finding.without),
            (explains, answer(Some(6))),
            "{version}"
        );
    }
    // An API that does not answer has no value of any pod.
    let failing = json!({"errors": [{"api": "resource", "message": "down"}]});
    let finding = only(Code::NeverReady, &with(&items, "ControllerState", &failing)).unwrap();
    assert_eq!(finding.without.and_then(|it| it.proposal), None);
}

/// Pods that do not count because they never were ready are a consequence, also if their being ready would change
/// nothing.
#[test]
fn what_never_was_ready_comes_before_what_follows_from_it() {
    let items = state(&[cpu()], &["55m", "55m", "2m", "2m"]);
    let items = with_pods(
        &items,
        &["web-2", "web-3"],
        &unready_since("2026-11-21T05:00:00Z"),
    );
    let codes: Vec<Code> = found(&items).iter().map(Finding::code).collect();
    let never_ready = codes.iter().position(|code| *code == Code::NeverReady);
    let uncounted = codes.iter().position(|code| *code == Code::UncountedPods);
    assert!(uncounted.is_some() && never_ready < uncounted, "{codes:?}");
    assert_eq!(never_ready, Some(0), "{codes:?}");
}

/// More replicas or a shorter window are no remedy for pods that do not run.
#[test]
fn what_pods_that_do_not_run_bring_about_follows_them() {
    let follows = |items: &[Value], code: Code| {
        let all = found(items);
        let it = all.iter().find(|it| it.code() == code);
        let prior = it.unwrap_or_else(|| panic!("{all:?}")).follows;
        (prior, all.first().map(Finding::code))
    };
    // 3 of 6 pods at 60 % of 50 % propose 4, and 6 pods would propose 8.
    let short = json!({"recommendations": [{"replicas": 6, "time": "2026-11-21T05:58:00Z"}]});
    let half = state(&[cpu()], &["60m"; 3]);
    let half = with(
        &with(&half, "Scale", &json!({"spec": {"replicas": 6}})),
        "ControllerState",
        &short,
    );
    let scaled = json!({"status": {"lastScaleTime": "2026-11-21T05:40:00Z"}});
    let half = with(&half, "HorizontalPodAutoscaler", &scaled);
    let cause = Some(Code::ReplicasWithoutPods);
    assert_eq!(follows(&half, Code::HeldByWindow), (cause, cause));
    let idle = with(&state(&[cpu()], &["20m"; 6]), "ControllerState", &short);
    assert_eq!(
        follows(&idle, Code::HeldByWindow),
        (None, Some(Code::HeldByWindow))
    );
    // 4 of 5 pods run at 90 % of 50 %, at the maximum.
    let most = |items: &[Value]| {
        with(
            items,
            "HorizontalPodAutoscaler",
            &json!({"spec": {"maxReplicas": 5}}),
        )
    };
    let full = most(&state(&[cpu()], &["90m"; 5]));
    assert_eq!(follows(&full, Code::AtMax), (None, Some(Code::AtMax)));
    let pending = json!({
        "metadata": {"creationTimestamp": "2026-11-21T05:45:00Z"},
        "status": {"phase": "Pending", "startTime": null, "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                "message": "0/3 nodes are available"}]},
    });
    let waiting = with_pods(&unmeasured(full, "web-4"), &["web-4"], &pending);
    let cause = Some(Code::UnschedulablePods);
    assert_eq!(follows(&waiting, Code::AtMax), (cause, cause));
}

#[test]
fn unschedulable_pods() {
    let items = unmeasured(state(&[cpu()], &["80m", "80m", "80m"]), "web-2");
    let pending = |created: &str, reason: &str| {
        let pod = json!({
            "metadata": {"creationTimestamp": created},
            "status": {"phase": "Pending", "startTime": null, "conditions": [
                {"type": "PodScheduled", "status": "False", "reason": reason,
                    "message": "0/3 nodes are available"}]},
        });
        with_pods(&items, &["web-2"], &pod)
    };
    let facts = |since: &str| {
        let message = "0/3 nodes are available".into();
        let since = Some(since.parse().unwrap());
        UnschedulablePods {
            pods: boxed(&["web-2"]),
            message,
            since,
            are_needed: true,
            autoscaler: None,
        }
        .into()
    };
    let (late, early) = ("2026-11-21T05:59:00Z", "2026-11-21T05:45:00Z");
    let code = Code::UnschedulablePods;
    check(vec![
        ("run", code, items.clone(), None),
        (
            "wait",
            code,
            pending(early, "Unschedulable"),
            Some((Severity::Warning, true, facts(early))),
        ),
        (
            "have waited briefly",
            code,
            pending(late, "Unschedulable"),
            Some((Severity::Info, true, facts(late))),
        ),
        ("are gated", code, pending(early, "SchedulingGated"), None),
    ]);
}
