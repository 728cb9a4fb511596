//! What concerns several findings of this group. Expectations are derived by hand from the controller's rules.

use serde_json::{Value, json};

use crate::build;
use crate::findings::path::rounding::Rounding;
use crate::findings::path::testing::{at_once, left, pods, recommended};
use crate::findings::path::within_tolerance::WithinTolerance;
use crate::findings::testing::{
    cpu, external, found, in_version, of_keda, only_of, said, state, with, with_hpa, with_spec,
};
use crate::findings::{Code, Severity};

#[test]
fn each_code_appears_where_its_rule_decides_and_not_beside_it() {
    let scale_down = json!({"scaleDown": {"selectPolicy": "Disabled"}});
    let scale_up = json!({"scaleUp": {"selectPolicy": "Disabled"}});
    let none = state(&[cpu()], &[]);
    for (code, severity, is, is_not) in [
        // 54% of 50% is within 10%; 50% is on target, and 56% is outside.
        (
            Code::WithinTolerance,
            Severity::Info,
            pods("54m"),
            vec![pods("50m"), pods("56m")],
        ),
        // 0.8 × 4 is 3.2, rounded up to 4; 0.74 × 4 is 2.96.
        (
            Code::Rounding,
            Severity::Info,
            pods("40m"),
            vec![pods("37m"), pods("54m")],
        ),
        (
            Code::HeldByWindow,
            Severity::Info,
            recommended(&pods("10m"), 6, "2026-11-21T05:56:00Z"),
            vec![recommended(&pods("10m"), 6, "2026-11-21T05:54:00Z")],
        ),
        // 8 × 4 is 32, and one pass may double.
        (
            Code::RateLimited,
            Severity::Info,
            pods("400m"),
            vec![pods("90m")],
        ),
        // 1.8 × 4 is 7.2, rounded up to 8.
        (
            Code::AtMax,
            Severity::Warning,
            with_spec(&pods("90m"), &json!({"maxReplicas": 7})),
            vec![with_spec(&pods("90m"), &json!({"maxReplicas": 8}))],
        ),
        // 0.2 × 4 is 0.8, rounded up to 1.
        (
            Code::AtMin,
            Severity::Info,
            with_spec(
                &with_spec(&pods("10m"), &at_once(&json!({}))),
                &json!({"minReplicas": 2}),
            ),
            vec![with_spec(&pods("10m"), &at_once(&json!({})))],
        ),
        (
            Code::AboveMax,
            Severity::Info,
            with_spec(&pods("50m"), &json!({"maxReplicas": 3})),
            vec![with_spec(&pods("50m"), &json!({"maxReplicas": 4}))],
        ),
        (
            Code::BelowMin,
            Severity::Info,
            with_spec(&pods("50m"), &json!({"minReplicas": 5})),
            vec![with_spec(&pods("50m"), &json!({"minReplicas": 4}))],
        ),
        (
            Code::DirectionDisabled,
            Severity::Info,
            with_spec(&pods("10m"), &at_once(&scale_down)),
            vec![with_spec(&pods("10m"), &at_once(&scale_up))],
        ),
        (
            Code::SwitchedOff,
            Severity::Warning,
            none,
            vec![pods("50m")],
        ),
    ] {
        let codes = |items: &[Value]| -> Vec<_> {
            found(items)
                .iter()
                .map(|it| (it.code(), it.severity, it.explains))
                .collect()
        };
        assert!(
            codes(&is).contains(&(code, severity, true)),
            "{code:?}: {:?}",
            codes(&is)
        );
        for near in is_not {
            let other = codes(&near);
            assert!(
                other.iter().all(|(found, ..)| *found != code),
                "{code:?}: {other:?}"
            );
        }
    }
}

#[test]
fn what_would_change_it_comes_from_the_engine() {
    let rounding = |items: &[Value]| only_of::<Rounding>(items).unwrap().0;
    let own = rounding(&pods("40m"));
    let got = (own.one_fewer, own.borders.unwrap().fewer);
    assert_eq!(got, (Some(53), Some(37)));
    // In a surge, four pods share what two would have to.
    let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 4}});
    let surge = rounding(&with(&pods("37m"), "Scale", &scale));
    assert_eq!((surge.replicas, surge.one_fewer), (3, Some(74)));
    // A queue is as long with fewer pods.
    let queue = external("queue", &build::value("1000"), "800", 4);
    assert_eq!(rounding(&queue).one_fewer, None);
    // 54% is 8% above 50%.
    let (tolerated, _) = only_of::<WithinTolerance>(&pods("54m")).unwrap();
    assert_eq!(tolerated.narrower, Some(7));
    let borders = tolerated.borders.unwrap();
    assert_eq!((borders.fewer, borders.more), (Some(37), Some(56)));
}

/// Returns the Deployment of the pods, whose replicas something else has set, and the last pass left others.
fn set_by_helm(items: &[Value], left: i32) -> Vec<Value> {
    let mut items = self::left(items, left, "ReadyForNewScale");
    let scale = items.iter().find(|it| it["kind"] == "Scale").unwrap();
    let replicas = scale["spec"]["replicas"].as_i64().unwrap() as i32;
    let managed = json!({"metadata": {"managedFields": [{"manager": "helm", "operation": "Update",
        "time": "2026-11-21T05:59:55Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]}});
    items.push(build::with(build::deployment(replicas), &managed));
    items
}

/// Neither a window nor a policy decides while something else sets the replicas, or no passes are made.
#[test]
fn a_rule_that_does_not_decide_follows_what_does() {
    let created = json!({"metadata": {"uid": "1", "creationTimestamp": "2026-11-21T05:00:00Z"}});
    let held = recommended(&pods("10m"), 6, "2026-11-21T05:58:00Z");
    let limited = pods("400m");
    for (items, code) in [(held, Code::HeldByWindow), (limited, Code::RateLimited)] {
        let follows = |items: &[Value]| {
            let text = said(code, items);
            let tells_next = text.evidence.iter().any(|it| it.contains("keep proposing"));
            (text.follows, tells_next)
        };
        assert_eq!(follows(&items), (None, true));
        for (items, cause) in [
            (set_by_helm(&items, 6), Code::OtherWriter),
            (with_hpa(&items, &created), Code::ControllerSilent),
        ] {
            assert_eq!(follows(&items), (Some(cause), false), "{code:?}");
        }
    }
}

/// The value of a cron trigger is the number of replicas that a schedule asks for, at a target that no one can change.
/// The targets of other triggers are whole numbers.
#[test]
fn a_schedule_is_no_load() {
    let of = |name: &str, target: &str, value: &str, replicas: usize| {
        let labels = json!({"scaledobject.keda.sh/name": "web"});
        let selector = json!({"external": {"metric": {"selector": {"matchLabels": labels}}}});
        let metric = build::with(build::external(name, &build::average(target)), &selector);
        let values = [json!({"metricName": name, "metricLabels": labels, "value": value})];
        let pods = state(&[metric], &vec!["1m"; replicas]);
        let items = [pods, vec![build::external_values(values)]].concat();
        with_spec(&of_keda(&items, &json!({})), &json!({"maxReplicas": 60}))
    };
    let cron = "s0-cron-Europe-Berlin-08xx1-5-018xx1-5";
    let advice = |code: Code, items: &[Value]| said(code, items).advice.text();
    for (name, target, value, want) in [
        (cron, "1", "24", "Nothing to do."),
        (
            "s0-kafka-lag",
            "5",
            "120",
            "Nothing to do; with a target of 4, it proposes 30 at this load.",
        ),
        (
            "s0-prometheus",
            "5",
            "120",
            "Nothing to do; with a target of 4.9, it proposes 25 at this load.",
        ),
    ] {
        let near = in_version(&of(name, target, value, 22), "v1.33.0");
        assert_eq!(advice(Code::WithinTolerance, &near), want, "{name}");
    }
    let ends = |name: &str| recommended(&of(name, "1", "1", 6), 6, "2026-11-21T05:56:00Z");
    let of_jobs = |name: &str| advice(Code::HeldByWindow, &ends(name)).contains("ScaledJob");
    assert_eq!([cron, "s0-kafka-lag"].map(of_jobs), [false, true]);
    let full = |name: &str| with_spec(&of(name, "1", "20", 10), &json!({"maxReplicas": 10}));
    assert_eq!(
        advice(Code::AtMax, &full(cron)),
        "Raise maxReplicaCount of ScaledObject/web if nodes can carry it (predict --max 20)."
    );
    let idle = "Look at s0-kafka-lag first: the pods use 1% of the cpu that they request.";
    assert_eq!(advice(Code::AtMax, &full("s0-kafka-lag")), idle);
}
