//! What `apply` would do with the recorded passes: where the controller left the scale alone because it
//! could not decide, some concern cannot be overridden; where it wrote, every concern can.
//! And the next pass is predicted for each change. Nothing is written here.

use crate::common;
use crate::common::{build, written};
use crate::told;

use kubectl_hpa::apply::Change;
use kubectl_hpa::apply::gate::{Concern, GateCode, GateInput, Going, Leader};
use kubectl_hpa::apply::next::{NextPass, Verdict, next};
use kubectl_hpa::args::How;
use kubectl_hpa::memory::Remembered;
use kubectl_hpa::outlook::Range;
use kubectl_hpa::pass::Pass;
use serde_json::{Value, json};

/// Returns the change of a pass, and the concerns about writing it.
fn judged(pass: &Pass) -> (Option<Change>, Vec<Concern>) {
    judged_for(pass, &How::default())
}

fn judged_for(pass: &Pass, how: &How) -> (Option<Change>, Vec<Concern>) {
    let facts = GateInput {
        pass,
        going: &Going::No,
        leader: Leader::Unknown,
    };
    (facts.change(), facts.concerns(how))
}

/// Returns the status and reason of a condition that the pass set.
fn condition<'v>(expected: &'v Value, kind: &str) -> Option<(&'v str, &'v str)> {
    let conditions = expected["status"]["conditions"].as_array()?;
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == kind)?;
    Some((found["status"].as_str()?, found["reason"].as_str()?))
}

#[test]
fn what_the_controller_did_not_decide_is_never_written() {
    let (mut never, mut due) = (0, 0);
    for (case, told) in told::recorded() {
        let (name, expected, pass) = (&case.name, &case.expected, told.pass);
        let (change, concerns) = judged(pass);
        assert_eq!(
            change.map(|it| it.to),
            expected["scaleTo"].as_i64().map(|to| to as i32),
            "{name}"
        );
        let for_good = concerns.iter().any(|concern| concern.flag.is_none());
        if change.is_some() {
            due += 1;
            // Its memory is stated, so only a failed metric can make it uncertain. The scale alone does not say who set
            // it to 0.
            let zeroed = condition(expected, "ScaledToZero").is_some_and(|(is, _)| is == "True");
            assert!(for_good == zeroed, "{name}: {concerns:?}");
            let is_known =
                |it: &Concern| [GateCode::Metrics, GateCode::SwitchesOff].contains(&it.code);
            assert!(concerns.iter().all(is_known), "{name}: {concerns:?}");
            continue;
        }
        // An earlier pass may have set it, so the error shows whether this one continued.
        let inactive =
            condition(expected, "ScalingActive").is_some_and(|(status, _)| status == "False");
        let disabled =
            condition(expected, "ScalingActive").is_some_and(|(_, why)| why == "ScalingDisabled");
        let unable =
            condition(expected, "AbleToScale").is_some_and(|(_, why)| why == "FailedGetScale");
        if unable || (inactive && (disabled || !expected["error"].is_null())) {
            never += 1;
            let writes = pass.input.snapshot.scale_update_error.is_some();
            assert!(for_good || writes, "{name}: {expected:#}");
        }
    }
    assert!(due > 150 && never > 100, "{due} due, {never} never");
}

#[test]
fn what_comes_next_is_foreseen_for_each_change() {
    let mut verdicts = std::collections::BTreeMap::new();
    for (case, told) in told::recorded() {
        let (name, pass) = (&case.name, told.pass);
        let (Some(change), _) = judged(pass) else {
            continue;
        };
        for leader in [Leader::Unknown, Leader::Lapsed(pass.input.snapshot.now)] {
            let next = next(pass, &pass.remembered, change, leader, &How::default());
            let next = match next {
                Ok(next) => next,
                Err(e) => {
                    // Out of bounds it is corrected even if the pods are unknown.
                    let text = e.message;
                    let told = text.starts_with("the pods of the target are unknown")
                        || text.starts_with("the pass cannot be run for ");
                    assert!(told, "{name}: {text}");
                    *verdicts.entry("unknown").or_insert(0) += 1;
                    continue;
                }
            };
            let scale = next.pass.input.snapshot.scale.as_ref().expect("a scale");
            assert_eq!(scale.spec_replicas, change.to, "{name}");
            // It is the controller's own memory, without our change.
            let lapsed = matches!(leader, Leader::Lapsed(_));
            let want = if lapsed {
                Default::default()
            } else {
                pass.remembered.likely.clone()
            };
            assert_eq!(next.pass.remembered.likely, want, "{name}");
            let after = next.pass.decision.replicas_after().expect("a scale");
            let Range { min, max } = next.replicas;
            assert!(
                (min..=max).contains(&after),
                "{name}: {after} of {min} to {max}"
            );
            let verdict = match next.verdict {
                Verdict::Keeps => "keeps",
                Verdict::GoesOn => "goes on",
                Verdict::Undoes => "undoes",
                Verdict::Open => "open",
            };
            *verdicts.entry(verdict).or_insert(0) += 1;
        }
    }
    let all: Vec<_> = verdicts.keys().copied().collect();
    assert!(
        ["goes on", "keeps"].iter().all(|it| all.contains(it)),
        "{verdicts:?}"
    );
}

/// Returns a pass over pods with these usages, half of their requests as target, and one recommendation, which it
/// ignores; and the history with it.
fn ignoring(usages: &[&str], (replicas, time): (i32, &str)) -> (Pass, Remembered) {
    let cpu = build::resource("cpu", &build::utilization(50));
    let past = json!({"replicas": replicas, "time": format!("2026-11-21T{time}Z")});
    let mut items = vec![
        build::hpa(&json!({ "metrics": [cpu] })),
        build::scale(usages.len() as i32),
        build::state(&json!({ "recommendations": [past] })),
    ];
    for (place, usage) in usages.iter().enumerate() {
        let name = format!("web-{place}");
        items.extend([build::pod(&name), build::pod_metrics(&name, usage)]);
    }
    let input = common::read(&build::list(items)).expect("an input");
    let own = Remembered::of(&input);
    let pass = Pass::with(input, own.clone().without_recommendations());
    (pass, own)
}

fn foreseen(pass: &Pass, own: &Remembered, change: Change, how: &How) -> NextPass {
    next(pass, own, change, Leader::Unknown, how).expect("a pass")
}

/// What the next pass finds depends on when it runs, as a recommendation may leave its window before.
#[test]
fn what_is_not_known_of_the_next_pass_leaves_it_open() {
    let (eight, past) = (&["12m"; 8][..], (1, "05:00:00"));
    for (usages, past, verdict, min, max) in [
        (eight, (8, "05:55:30"), Verdict::Undoes, 4, 4),
        (eight, (8, "05:55:10"), Verdict::Open, 1, 4),
        (eight, (8, "05:55:01"), Verdict::Open, 1, 4),
        (&["25m"; 4], past, Verdict::GoesOn, 1, 1),
    ] {
        let (pass, own) = ignoring(usages, past);
        let (change, _) = judged(&pass);
        let next = foreseen(&pass, &own, change.expect("a change"), &How::default());
        let range = Range { min, max };
        assert_eq!(
            (next.verdict, next.replicas),
            (verdict, range),
            "{usages:?} {past:?}"
        );
    }
}

/// At 0, the next pass computes something only if the status says that the HPA scaled it to 0.
#[test]
fn a_write_of_0_does_not_switch_the_hpa_off() {
    let queue = build::external("queue", &build::average("10"));
    let past = json!({"replicas": 3, "time": "2026-11-21T05:59:00Z"});
    for (version, gate, write_status, concerns, verdict) in [
        (
            "v1.36.2",
            Some(true),
            false,
            &[GateCode::SwitchesOff][..],
            Verdict::Keeps,
        ),
        (
            "v1.36.2",
            Some(true),
            true,
            &[GateCode::StatusHeld],
            Verdict::Undoes,
        ),
        // The controller's own write switches it off, too.
        ("v1.36.2", Some(false), false, &[], Verdict::Keeps),
        // It may be on nonetheless.
        (
            "v1.36.2",
            None,
            false,
            &[GateCode::SwitchesOff],
            Verdict::Keeps,
        ),
        ("v1.35.0", Some(true), false, &[], Verdict::Undoes),
    ] {
        let gates = gate.map_or(json!({}), |on: bool| json!({"HPAScaleToZero": on}));
        let state = json!({"recommendations": [past], "kubernetesVersion": version,
            "featureGates": gates});
        let items = [
            build::hpa(&json!({"minReplicas": 0, "metrics": [queue]})),
            build::scale(1),
            build::state(&state),
            build::queue(&["0"]),
            build::pod("web-0"),
        ];
        let input = common::read(&build::list(items)).expect("an input");
        let own = Remembered::of(&input);
        let pass = Pass::with(input, own.clone().without_recommendations());
        let how = How {
            write_status,
            ..How::default()
        };
        let (change, found) = judged_for(&pass, &how);
        let found: Vec<_> = found.iter().map(|concern| concern.code).collect();
        let next = foreseen(&pass, &own, change.expect("a change"), &how);
        assert_eq!(
            (&found[..], next.verdict),
            (concerns, verdict),
            "{version} {gate:?} {how:?}"
        );
    }
}

/// Without past recommendations, bounds and rate limits still apply.
#[test]
fn ignoring_stabilization_ignores_nothing_else() {
    let mut other = 0;
    for (case, told) in told::recorded() {
        let pass = told.pass;
        let (held, _) = judged(pass);
        let own = &pass.remembered;
        let ignoring = own.clone().without_recommendations();
        assert_eq!(ignoring.likely.scale_up_events, own.likely.scale_up_events);
        assert_eq!(
            ignoring.likely.scale_down_events,
            own.likely.scale_down_events
        );
        let (change, _) = judged(&Pass::with(pass.input.clone(), ignoring));
        other += usize::from(change != held);
        // Counts that do not fit 32 bits become negative in the controller, too.
        if let Some(Change { from, to: to @ 0.. }) = change {
            let spec = &pass.input.snapshot.hpa.spec;
            let bounds = spec.min_replicas.unwrap_or(1)..=spec.max_replicas;
            // A rate limit may prevent it from returning within them at once.
            let between = from.min(to)..=from.max(to);
            let inside = bounds.contains(&to) || !between.contains(bounds.start());
            assert!(inside, "{}: {from} to {to} of {bounds:?}", case.name);
        }
    }
    assert!(other > 20, "only {other} are held by stabilization");
}

/// Returns the concerns about writing a change of a case whose metrics ask for 7, as text.
fn against(change: impl Fn(String) -> String) -> String {
    let case = written::CASES
        .iter()
        .find(|case| case.name == "a hold that no history explains");
    let input = change(case.expect("a case").input()).replace(r#""cpu":"25m""#, r#""cpu":"80m""#);
    let pass = Pass::run(common::read(&input).expect("an input"));
    let (change, concerns) = judged(&pass);
    assert!(change.is_some(), "{concerns:?}");
    let texts = concerns.into_iter().map(|concern| concern.text);
    texts.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_memory_within_bounds_is_not_called_unknown() {
    let policy = r#""behavior":{"scaleUp":{"policies":[{"type":"Pods","value":2,
        "periodSeconds":60}]}},"maxReplicas""#;
    let scaled = |input: String| {
        let limited = input.replace(r#""maxReplicas""#, policy);
        limited.replace("2026-11-21T05:00:00Z", "2026-11-21T05:59:40Z")
    };
    let bounds = "the controller's history of the last 5m20s is known only within bounds: the pass \
                  may end anywhere from 4 to 7";
    assert_eq!(against(scaled), bounds);
    let without_status = |input: String| input.replace("ReadyForNewScale", "SucceededGetScale");
    let unknown = "the controller's history of the last 5m20s is unknown: the pass may end anywhere \
                   from 7 to 8";
    assert_eq!(against(without_status), unknown);
}

/// A known history would not narrow a range that comes from an unread metric. If each alone widens it, both are named.
#[test]
fn a_history_is_no_concern_if_it_does_not_widen_the_range() {
    let denied = |input: String| {
        let error = r#""errors":[{"api":"external","message":"no","denied":true}],"memory""#;
        input.replace(r#""memory""#, error)
    };
    let rights = "you are not allowed to read queue: the pass may end anywhere from 7 to 8";
    assert_eq!(against(denied), rights);
    let without_status =
        |input: String| denied(input).replace("ReadyForNewScale", "SucceededGetScale");
    let both = "the controller's history of the last 5m20s is unknown: the pass may end anywhere from 7 to 8; ";
    assert_eq!(against(without_status), both.to_owned() + rights);
}

#[test]
fn a_pronoun_agrees_with_the_metrics_that_failed() {
    let failed = |input: String| {
        let error = r#""errors":[{"api":"external","message":"no"}],"memory""#;
        input.replace(r#""memory""#, error)
    };
    let one = against(failed);
    assert!(
        one.starts_with("queue failed: with it, the pass may end"),
        "{one}"
    );
    let two = against(|input| {
        let other = r#""metrics":[{"type":"External","external":{"metric":{"name":"other"},
            "target":{"type":"Value","value":"5"}}},"#;
        failed(input.replace(r#""metrics":["#, other))
    });
    assert!(
        two.starts_with("other, queue failed: with them, the pass may end"),
        "{two}"
    );
}
