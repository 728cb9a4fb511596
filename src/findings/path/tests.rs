//! For each code a state in which it appears, and a near miss in which it does not. Expectations are
//! derived by hand from the controller's rules.

use serde_json::{Value, json};

use crate::build;
use crate::engine::decision::Direction;
use crate::findings::path::above_max::AboveMax;
use crate::findings::path::at_max::{AtMax, Counted};
use crate::findings::path::below_min::BelowMin;
use crate::findings::path::corrected::{Changed, Correction};
use crate::findings::testing::{found, state, with};
use crate::findings::{Code, Facts, Finding, Severity};

/// Returns four pods that request 100m each, with a target of 50%.
fn pods(cpu: &str) -> Vec<Value> {
    state(
        &[build::resource("cpu", &build::utilization(50))],
        &[cpu; 4],
    )
}

fn with_spec(items: &[Value], spec: &Value) -> Vec<Value> {
    with(items, "HorizontalPodAutoscaler", &json!({ "spec": spec }))
}

/// Returns a state with a recommendation of 6 replicas at a time.
fn recommended(items: &[Value], time: &str) -> Vec<Value> {
    let recommendations = json!([{"replicas": 6, "time": time}]);
    with(
        items,
        "ControllerState",
        &json!({ "recommendations": recommendations }),
    )
}

/// Returns a behavior that scales down at once, with more rules for a direction.
fn at_once(rules: &Value) -> Value {
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    json!({ "behavior": build::with(behavior, rules) })
}

#[test]
fn each_code_appears_where_its_rule_decides_and_not_beside_it() {
    let scale_down = json!({"scaleDown": {"selectPolicy": "Disabled"}});
    let scale_up = json!({"scaleUp": {"selectPolicy": "Disabled"}});
    let none = state(&[build::resource("cpu", &build::utilization(50))], &[]);
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
            recommended(&pods("10m"), "2026-11-21T05:56:00Z"),
            vec![recommended(&pods("10m"), "2026-11-21T05:54:00Z")],
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

/// Returns the same HPA, owned by a ScaledObject of KEDA with these annotations.
fn of_keda(items: &[Value], annotations: &Value) -> Vec<Value> {
    let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web",
        "uid": "1", "controller": true}]);
    let owned = json!({"metadata": {"ownerReferences": owner}});
    let mut items = with(items, "HorizontalPodAutoscaler", &owned);
    items.push(json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "web", "namespace": "default", "annotations": annotations},
    }));
    items
}

/// Returns an HPA with a metric of this total and a target for it.
fn total(name: &str, target: &str, value: &str, replicas: usize) -> Vec<Value> {
    let items = state(
        &[build::external(name, &build::value(target))],
        &vec!["50m"; replicas],
    );
    let values = [json!({"metricName": name, "value": value})];
    [items, vec![build::external_values(values)]].concat()
}

/// Returns an HPA with a queue of this length and a target.
fn queue(target: &Value, length: &str, replicas: usize) -> Vec<Value> {
    let items = state(&[build::external("queue", target)], &vec!["50m"; replicas]);
    [items, vec![build::queue(&[length])]].concat()
}

#[test]
fn a_target_that_keda_scales_from_zero_is_in_order() {
    let none = state(&[build::resource("cpu", &build::utilization(50))], &[]);
    let told = |items: &[Value]| -> Vec<_> {
        let told = |it: &Finding| (it.code(), it.severity);
        found(items).iter().map(told).collect()
    };
    let paused = |key: &str, value: &str| of_keda(&none, &json!({key: value}));
    assert_eq!(told(&none), [(Code::SwitchedOff, Severity::Warning)]);
    assert_eq!(
        told(&of_keda(&none, &json!({}))),
        [(Code::SwitchedOff, Severity::Info)]
    );
    for pause in [
        paused("autoscaling.keda.sh/paused", "true"),
        paused("autoscaling.keda.sh/paused-replicas", "0"),
    ] {
        let want = [
            (Code::PausedByKeda, Severity::Warning),
            (Code::SwitchedOff, Severity::Info),
        ];
        assert_eq!(told(&pause), want);
        assert_eq!(found(&pause)[1].follows, Some(Code::PausedByKeda));
    }
}

/// Four pods that need one replica, of which six were recommended before. Only what is proposed now is limited.
#[test]
fn a_recommendation_from_before_reaches_no_limit() {
    let before = |spec: Value, replicas: i32| {
        let recommendations = json!([{"replicas": replicas, "time": "2026-11-21T05:58:00Z"}]);
        let items = with_spec(&pods("10m"), &spec);
        with(
            &items,
            "ControllerState",
            &json!({ "recommendations": recommendations }),
        )
    };
    let slowly = json!({"behavior": {"scaleUp": {"policies": [
        {"type": "Pods", "value": 1, "periodSeconds": 60}]}}});
    let told = |items: &[Value]| -> Vec<_> {
        let adds = |it: &Finding| match &it.facts {
            Facts::HeldByWindow(facts) => Some(facts.adds),
            _ => None,
        };
        found(items)
            .iter()
            .map(|it| (it.code(), it.severity, adds(it)))
            .collect()
    };
    let held = |adds: bool| vec![(Code::HeldByWindow, Severity::Info, Some(adds))];
    for (items, want) in [
        // At the maximum, and above it after the maximum was lowered.
        (before(json!({"maxReplicas": 4}), 6), held(false)),
        (before(json!({"maxReplicas": 4}), 4), held(false)),
        // Without behavior, the recommendation adds replicas: two, four as the doubling allows, and up to the maximum.
        (before(json!({}), 6), held(true)),
        (before(json!({}), 20), held(true)),
        (before(json!({"maxReplicas": 5}), 6), held(true)),
        // With any behavior, it adds none.
        (before(slowly, 6), held(false)),
    ] {
        assert_eq!(told(&items), want, "{}", items[0]["spec"]);
    }
    // What is proposed now is limited as before.
    let busy = with_spec(&pods("90m"), &json!({"maxReplicas": 6}));
    let recommendations = json!([{"replicas": 12, "time": "2026-11-21T05:58:00Z"}]);
    let busy = with(
        &busy,
        "ControllerState",
        &json!({ "recommendations": recommendations }),
    );
    let all = found(&busy);
    let Facts::AtMax(facts) = &all[0].facts else {
        panic!("{all:?}")
    };
    assert_eq!((facts.bound.asked, all[0].severity), (8, Severity::Warning));
}

/// If the bound decides only because of what another finding reports, the bound is not what to change.
#[test]
fn a_bound_decides_only_because_of_something_else() {
    let most = |items: Vec<Value>, max: i32| with_spec(&items, &json!({ "maxReplicas": max }));
    let paused = json!({"autoscaling.keda.sh/paused": "true"});
    let busy = most(pods("90m"), 7);
    for (items, prior) in [
        (busy.clone(), None),
        (of_keda(&busy, &json!({})), None),
        (of_keda(&busy, &paused), Some(Code::PausedByKeda)),
        // 225 of 75 in all are three times as many pods, and 3 pods at 75 each.
        (
            most(queue(&build::value("75"), "225", 4), 7),
            Some(Code::ValueMultiplies),
        ),
        // A time falls with the replicas, so more of them may be what is needed.
        (most(total("latency", "75m", "100m", 4), 5), None),
        // As an average, 900 needs 12 pods in any case.
        (most(queue(&build::average("75"), "900", 4), 7), None),
        (
            most(queue(&build::average("10m"), "40", 4), 5),
            Some(Code::SuspectUnit),
        ),
    ] {
        let all = found(&items);
        let bounds = all.iter().filter_map(|it| match &it.facts {
            Facts::AtMax(_) => Some((it.follows, it.severity)),
            _ => None,
        });
        let severity = if prior.is_some() {
            Severity::Info
        } else {
            Severity::Warning
        };
        assert_eq!(bounds.collect::<Vec<_>>(), [(prior, severity)]);
        assert_eq!(all[0].code(), prior.unwrap_or(Code::AtMax));
    }
}

#[test]
fn a_minimum_that_cannot_be_lower() {
    let idle = |keda: bool, gate: bool| {
        let items = queue(&build::average("10"), "0", 1);
        let items = if keda {
            of_keda(&items, &json!({}))
        } else {
            items
        };
        let gates = json!({"featureGates": {"HPAScaleToZero": gate}});
        with(&items, "ControllerState", &gates)
    };
    for (items, least) in [
        (idle(false, false), 1),
        (idle(false, true), 0),
        (idle(true, false), 1),
        (idle(true, true), 1),
    ] {
        let all = found(&items);
        let [Facts::AtMin(facts)] = all.iter().map(|it| &it.facts).collect::<Vec<_>>()[..] else {
            panic!("{all:?}")
        };
        assert_eq!(
            (facts.least, facts.bound.bound, facts.bound.asked),
            (least, 1, 0)
        );
    }
}

/// 0.8 × 4 is 3.2, rounded up to 4; so is 0.8 of another target. Nobody has asked for fewer.
#[test]
fn what_is_rounded_up_asks_for_nothing() {
    let beside = |queue: &str| {
        let metrics = [
            build::resource("cpu", &build::utilization(50)),
            build::external("queue", &build::average("10")),
        ];
        let items = [state(&metrics, &["40m"; 4]), vec![build::queue(&[queue])]].concat();
        let mut all = found(&items).into_iter().map(|it| it.facts);
        let facts = all.find_map(|it| {
            if let Facts::Rounding(it) = it {
                Some(it)
            } else {
                None
            }
        });
        facts.unwrap().beside
    };
    assert_eq!(beside("32"), vec![1]);
    assert_eq!(beside("20"), Vec::<usize>::new());
}

#[test]
fn where_a_limit_holds_as_well_the_window_explains_nothing() {
    let disabled = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
    let items = with_spec(
        &recommended(&pods("10m"), "2026-11-21T05:56:00Z"),
        &disabled,
    );
    let all = found(&items);
    let codes: Vec<_> = all.iter().map(|it| (it.code(), it.explains)).collect();
    assert_eq!(codes[0], (Code::DirectionDisabled, true));
    assert!(
        !codes.iter().any(|(code, _)| *code == Code::HeldByWindow),
        "{codes:?}"
    );
    let Facts::DirectionDisabled(facts) = all[0].facts else {
        panic!("{codes:?}")
    };
    assert_eq!((facts.direction, facts.desired), (Direction::Down, 1));
    // Where a bound decides, it says nothing.
    let least = json!({"minReplicas": 4});
    let codes = |items: &[Value]| found(items).iter().map(Finding::code).collect::<Vec<_>>();
    let recommended = |replicas: i32| {
        let recommendations = json!([{"replicas": replicas, "time": "2026-11-21T05:56:00Z"}]);
        let items = with_spec(&pods("10m"), &least);
        with(
            &items,
            "ControllerState",
            &json!({ "recommendations": recommendations }),
        )
    };
    assert_eq!(codes(&recommended(2)), [Code::AtMin]);
    assert_eq!(codes(&recommended(5)), [Code::HeldByWindow]);
}

#[test]
fn what_would_change_it_comes_from_the_engine() {
    let facts = |cpu: &str| {
        found(&pods(cpu))
            .into_iter()
            .next()
            .map(|finding| finding.facts)
    };
    let Some(Facts::Rounding(rounding)) = facts("40m") else {
        panic!()
    };
    assert_eq!(
        (rounding.one_fewer, rounding.borders.unwrap().fewer),
        (Some(53), Some(37))
    );
    // In a surge, four pods share what two would have to.
    let surge = |replicas: i32| {
        let scale = json!({"spec": {"replicas": replicas}, "status": {"replicas": 4}});
        let all = found(&with(&pods("37m"), "Scale", &scale));
        all.into_iter().find_map(|finding| match finding.facts {
            Facts::Rounding(facts) => Some((facts.fewer, facts.one_fewer)),
            _ => None,
        })
    };
    assert_eq!(surge(3), Some((2, Some(74))));
    // A queue is as long with fewer pods.
    let metric = build::external("queue", &build::value("1000"));
    let queue = [state(&[metric], &["50m"; 4]), vec![build::queue(&["800"])]].concat();
    let all = found(&queue);
    let Some(Facts::Rounding(rounding)) = all.first().map(|it| &it.facts) else {
        panic!("{all:?}")
    };
    assert_eq!(rounding.one_fewer, None);
    // 54% is 8% above 50%.
    let Some(Facts::WithinTolerance(tolerated)) = facts("54m") else {
        panic!()
    };
    assert_eq!(tolerated.narrower, Some(7));
    let borders = tolerated.borders.unwrap();
    assert_eq!((borders.fewer, borders.more), (Some(37), Some(56)));
}

/// Returns an HPA at its target whose last pass found and left that many replicas.
fn left(items: &[Value], replicas: i32, able: &str) -> Vec<Value> {
    let is_able = if able == "ReadyForNewScale" {
        "True"
    } else {
        "False"
    };
    let status = json!({"currentReplicas": replicas, "desiredReplicas": replicas, "conditions": [
        {"type": "AbleToScale", "status": is_able, "reason": able}]});
    with(
        items,
        "HorizontalPodAutoscaler",
        &json!({ "status": status }),
    )
}

/// If the controller itself left the replicas, no one else has scaled, and a bound has changed.
#[test]
fn a_bound_that_has_changed_is_no_trouble() {
    let least = with_spec(&pods("50m"), &json!({"minReplicas": 6}));
    let most = with_spec(&pods("50m"), &json!({"maxReplicas": 3}));
    let told = |items: &[Value]| -> Vec<_> {
        found(items)
            .iter()
            .map(|it| (it.code(), it.severity))
            .collect()
    };
    for (items, code) in [(least, Code::BelowMin), (most, Code::AboveMax)] {
        for (items, severity) in [
            // A new HPA.
            (items.clone(), Severity::Info),
            (left(&items, 4, "ReadyForNewScale"), Severity::Info),
            // The controller could not scale.
            (left(&items, 4, "FailedUpdateScale"), Severity::Warning),
            (left(&items, 5, "ReadyForNewScale"), Severity::Warning),
        ] {
            assert_eq!(told(&items), [(code, severity)]);
        }
    }
}

/// Where scaling in a direction is disabled, another bound would change nothing. It is still a bound that decides.
#[test]
fn at_a_bound_a_disabled_direction_comes_first() {
    let disabled = |way: &str| {
        let rules = json!({way: {"selectPolicy": "Disabled"}});
        at_once(&rules)
    };
    let most = |cpu: &str, rules: &Value| {
        with_spec(&with_spec(&pods(cpu), rules), &json!({"maxReplicas": 4}))
    };
    let least = |cpu: &str, rules: &Value| {
        with_spec(&with_spec(&pods(cpu), rules), &json!({"minReplicas": 4}))
    };
    let (at_max, at_min, first) = (Code::AtMax, Code::AtMin, Code::DirectionDisabled);
    let (info, warning) = (Severity::Info, Severity::Warning);
    let wider = with_spec(
        &most("90m", &disabled("scaleUp")),
        &json!({"maxReplicas": 5}),
    );
    for (items, want) in [
        (
            most("90m", &disabled("scaleUp")),
            vec![(first, info, None), (at_max, info, Some(first))],
        ),
        (
            most("90m", &disabled("scaleDown")),
            vec![(at_max, warning, None)],
        ),
        (wider, vec![(first, info, None)]),
        (
            least("10m", &disabled("scaleDown")),
            vec![(first, info, None), (at_min, info, Some(first))],
        ),
        (
            least("10m", &disabled("scaleUp")),
            vec![(at_min, info, None)],
        ),
        // No lower bound is allowed.
        (
            with_spec(
                &queue(&build::average("10"), "0", 1),
                &disabled("scaleDown"),
            ),
            vec![(at_min, info, None)],
        ),
    ] {
        let all = found(&items);
        let told: Vec<_> = all
            .iter()
            .map(|it| (it.code(), it.severity, it.follows))
            .collect();
        assert_eq!(told, want);
    }
}

/// 0.5 × 6 is 3, and 0.48 × 6 is 2.88.
#[test]
fn what_comes_to_a_whole_number_is_not_rounded() {
    let surge = |cpu: &str| {
        let items = state(
            &[build::resource("cpu", &build::utilization(50))],
            &[cpu; 6],
        );
        let scale = json!({"spec": {"replicas": 3}, "status": {"replicas": 6}});
        found(&with(&items, "Scale", &scale))
            .iter()
            .any(|it| it.code() == Code::Rounding)
    };
    assert_eq!([surge("25m"), surge("24m")], [false, true]);
}

/// Four replicas at a maximum of 4 or a minimum of 4, with an event of a minute and an HPA that was written then.
#[test]
fn an_earlier_correction_is_told_while_nothing_has_scaled_since() {
    let event = |message: &str, at: &str| {
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "HorizontalPodAutoscaler", "name": "web", "namespace": "default"},
            "reason": "SuccessfulRescale", "message": message, "count": 1,
            "firstTimestamp": at, "lastTimestamp": at})
    };
    let above = "New size: 4; reason: Current number of replicas above Spec.MaxReplicas";
    let below = "New size: 4; reason: Current number of replicas below Spec.MinReplicas";
    let written = |at: &str| {
        json!({"metadata": {"managedFields": [{"manager": "argocd-controller", "operation": "Update",
            "time": at, "fieldsV1": {"f:spec": {"f:maxReplicas": {}, "f:minReplicas": {}}}}]}})
    };
    let most = |cpu: &str| with_spec(&pods(cpu), &json!({"maxReplicas": 4}));
    let least = |cpu: &str| with_spec(&pods(cpu), &json!({"minReplicas": 4}));
    let hpa = "HorizontalPodAutoscaler";
    let just = "2026-11-21T05:58:50Z";
    let at = "2026-11-21T05:59:00Z";
    let up = |severity, changed, asked| Some((Code::AboveMax, severity, changed, asked));
    let info = Severity::Info;
    for (about, items, events, want) in [
        (
            "lowered",
            with(&most("90m"), hpa, &written(just)),
            vec![event(above, at)],
            up(Severity::Warning, Changed::Bound, Some(8)),
        ),
        (
            "lowered, and enough",
            with(&most("50m"), hpa, &written(just)),
            vec![event(above, at)],
            up(info, Changed::Bound, None),
        ),
        (
            "scaled",
            with(&most("90m"), hpa, &written("2026-11-20T05:58:50Z")),
            vec![event(above, at)],
            up(info, Changed::Replicas, Some(8)),
        ),
        (
            "unknown",
            most("90m"),
            vec![event(above, at)],
            up(Severity::Warning, Changed::Unknown, Some(8)),
        ),
        (
            "raised",
            with(&least("50m"), hpa, &written(just)),
            vec![event(below, at)],
            Some((Code::BelowMin, info, Changed::Bound, None)),
        ),
        (
            "created",
            with(
                &least("50m"),
                hpa,
                &json!({"metadata": {"creationTimestamp": just}}),
            ),
            vec![event(below, at)],
            Some((Code::BelowMin, info, Changed::Created, None)),
        ),
        (
            "long ago",
            most("90m"),
            vec![event(above, "2026-11-21T04:59:00Z")],
            None,
        ),
        (
            "another bound",
            with_spec(&pods("50m"), &json!({"maxReplicas": 5})),
            vec![event(above, at)],
            None,
        ),
        (
            "scaled since",
            most("90m"),
            vec![
                event(above, at),
                event(
                    "New size: 4; reason: All metrics below target",
                    "2026-11-21T05:59:30Z",
                ),
            ],
            None,
        ),
    ] {
        let of = |it: &Finding| match &it.facts {
            Facts::AboveMax(AboveMax(Correction::Done(done)))
            | Facts::BelowMin(BelowMin(Correction::Done(done))) => {
                Some((it.code(), it.severity, done.changed, done.asked))
            }
            _ => None,
        };
        let all = found(&[items, events].concat());
        assert_eq!(all.iter().find_map(of), want, "{about}");
        // What the bound keeps away is a matter of the bound.
        let follows = all
            .iter()
            .find(|it| it.code() == Code::AtMax)
            .map(|it| it.follows);
        if let Some(follows) = follows {
            assert_eq!(follows, want.map(|_| Code::AboveMax), "{about}");
        }
    }
    // The status of the last pass says the same, with the replicas before it.
    let status = json!({"status": {"currentReplicas": 9, "desiredReplicas": 4,
        "lastScaleTime": at, "conditions": [
            {"type": "AbleToScale", "status": "True", "reason": "SucceededRescale"}]}});
    let all = found(&with(&most("90m"), hpa, &status));
    let earlier = all.iter().find_map(|it| match &it.facts {
        Facts::AboveMax(AboveMax(Correction::Done(done))) => done.earlier(),
        _ => None,
    });
    assert_eq!(earlier, Some(9));
}

/// Returns four pods that request 100Mi of memory each, which they use so much of.
fn memory(metrics: &[Value], cpu: &str, usages: [&str; 4], resources: &Value) -> Vec<Value> {
    let requests = build::with(
        build::requesting("app", "100m"),
        &json!({"resources": {"requests": {"memory": "100Mi"}}}),
    );
    let requests = json!([build::with(requests, &json!({ "resources": resources }))]);
    let items = state(metrics, &[cpu; 4]);
    let mut items = with(&items, "Pod", &json!({"spec": {"containers": requests}}));
    let all = items.iter_mut().filter(|it| it["kind"] == "PodMetrics");
    for (item, usage) in all.zip(usages) {
        item["containers"][0]["usage"]["memory"] = json!(usage);
    }
    items
}

/// A target of 80%: fewer pods cannot share what each needs.
#[test]
fn memory_that_each_pod_needs_keeps_the_replicas() {
    let state =
        |metrics: &[Value], cpu: &str, usages: [&str; 4]| memory(metrics, cpu, usages, &json!({}));
    let memory = || build::resource("memory", &build::utilization(80));
    let cpu = || build::resource("cpu", &build::utilization(50));
    let kept = |items: &[Value]| {
        found(items).into_iter().find_map(|it| match it.facts {
            Facts::Rounding(it) => Some((Code::Rounding, it.memory)),
            Facts::WithinTolerance(it) => Some((Code::WithinTolerance, it.memory)),
            _ => None,
        })
    };
    for (about, items, code, want) in [
        // At 60%, 3 pods are enough, and 78 is 60% of 130.
        (
            "within",
            state(&[memory()], "10m", ["78Mi"; 4]),
            Code::WithinTolerance,
            Some((60, false, "130Mi")),
        ),
        // 70 of 120 is 58%, which is 0.725 of 80%: 2.9 of 4 pods.
        (
            "rounded",
            state(&[memory()], "10m", ["70Mi"; 4]),
            Code::Rounding,
            Some((60, false, "120Mi")),
        ),
        (
            "beside",
            state(&[memory(), cpu()], "10m", ["70Mi"; 4]),
            Code::Rounding,
            Some((60, true, "120Mi")),
        ),
        (
            "shared",
            state(&[memory()], "10m", ["78Mi", "78Mi", "96Mi", "60Mi"]),
            Code::WithinTolerance,
            None,
        ),
        (
            "above",
            state(&[memory()], "10m", ["82Mi"; 4]),
            Code::WithinTolerance,
            None,
        ),
        (
            "with cpu",
            state(&[memory(), cpu()], "40m", ["70Mi"; 4]),
            Code::Rounding,
            None,
        ),
        // Cpu needs 3 of the 4.
        (
            "beside busy pods",
            state(&[memory(), cpu()], "30m", ["70Mi"; 4]),
            Code::Rounding,
            None,
        ),
        (
            "at the minimum",
            with_spec(
                &state(&[memory()], "10m", ["78Mi"; 4]),
                &json!({"minReplicas": 4}),
            ),
            Code::WithinTolerance,
            None,
        ),
    ] {
        let (told, memory) = kept(&items).unwrap();
        let memory = memory.map(|it| {
            let request = it.room.request.map(|it| it.request.to_string());
            (it.at, it.has_others, request)
        });
        let want = want.map(|(one, others, request)| (one, others, Some(request.to_owned())));
        assert_eq!((told, memory), (code, want), "{about}");
    }
}

/// What leaves memory room is found by playing it, and is nothing that the limits do not allow.
#[test]
fn room_for_memory_is_what_the_pods_may_have() {
    let share = || build::resource("memory", &build::utilization(80));
    let amount = || build::resource("memory", &build::average("80Mi"));
    let limit = |limit: &str| json!({"limits": {"memory": limit}});
    let restarted = |items: &[Value]| {
        let statuses = json!([{"name": "app", "restartCount": 3}]);
        with(
            items,
            "Pod",
            &json!({"status": {"containerStatuses": statuses}}),
        )
    };
    let of = |metric: Value, resources: &Value| memory(&[metric], "10m", ["78Mi"; 4], resources);
    let none = json!({});
    for (about, items, request, target, is_tight) in [
        ("a share", of(share(), &none), Some("130Mi"), None, false),
        // A container cannot request more than its limit.
        (
            "below a limit",
            of(share(), &limit("128Mi")),
            None,
            None,
            false,
        ),
        ("at a limit", of(share(), &limit("86Mi")), None, None, true),
        (
            "restarted",
            restarted(&of(share(), &none)),
            Some("130Mi"),
            None,
            true,
        ),
        // 78 × 4 of 104 are 3.
        ("an amount", of(amount(), &none), None, Some("110Mi"), false),
        (
            "an amount above the limit",
            of(amount(), &limit("104Mi")),
            None,
            None,
            false,
        ),
        (
            "an amount at the limit",
            of(amount(), &limit("86Mi")),
            None,
            None,
            true,
        ),
        (
            "an amount, restarted",
            restarted(&of(amount(), &none)),
            None,
            None,
            true,
        ),
    ] {
        let all = found(&items);
        let room = all.iter().find_map(|it| match &it.facts {
            Facts::WithinTolerance(it) => it.memory.as_ref().map(|it| it.room.clone()),
            _ => None,
        });
        let room = room.unwrap_or_else(|| panic!("{about}: {all:?}"));
        let amount = room.target.and_then(|it| it.target.average_value);
        assert_eq!(
            (
                room.request.map(|it| it.request.to_string()).as_deref(),
                amount.map(|it| it.to_string()).as_deref(),
                room.is_tight
            ),
            (request, target, is_tight),
            "{about}"
        );
    }
}

/// The tolerance is a matter of more replicas only, and of nothing while something is wrong.
#[test]
fn a_change_of_the_tolerance_is_offered_for_more_replicas_only() {
    let offered = |items: &[Value]| {
        found(items).into_iter().find_map(|it| match it.facts {
            Facts::WithinTolerance(it) => Some((it.narrower, it.target.map(|it| it.proposal))),
            _ => None,
        })
    };
    let earlier = |items: &[Value]| {
        with(
            items,
            "ControllerState",
            &json!({"kubernetesVersion": "v1.30.0"}),
        )
    };
    // Eight pods that use 46m are 8% below the target; 54m are 8% above it.
    let pods = |cpu: &str| {
        state(
            &[build::resource("cpu", &build::utilization(50))],
            &[cpu; 8],
        )
    };
    assert_eq!(offered(&pods("54m")), Some((Some(7), None)));
    assert_eq!(offered(&earlier(&pods("54m"))), Some((None, Some(9))));
    assert_eq!(offered(&pods("46m")), Some((None, None)));
    assert_eq!(offered(&earlier(&pods("46m"))), Some((None, None)));
    // A pod that waits in an error is what to look at.
    let mut stuck = pods("54m");
    let start = json!("2026-11-21T05:00:00Z");
    let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == "web-7";
    let pod = stuck.iter_mut().find(is_it).unwrap();
    pod["status"]["startTime"] = start.clone();
    pod["status"]["conditions"] =
        json!([{"type": "Ready", "status": "False", "lastTransitionTime": start}]);
    pod["status"]["containerStatuses"] = json!([{"name": "app", "restartCount": 14,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    assert!(
        offered(&stuck).is_none_or(|it| it == (None, None)),
        "{:?}",
        offered(&stuck)
    );
}

/// Returns the Deployment of the pods, whose replicas something else has set, and the last pass left others.
fn set_by_helm(items: &[Value], left: i32) -> Vec<Value> {
    let mut items = self::left(items, left, "ReadyForNewScale");
    let replicas =
        items.iter().find(|it| it["kind"] == "Scale").unwrap()["spec"]["replicas"].clone();
    items.push(json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "managedFields": [{"manager": "helm",
            "operation": "Update", "time": "2026-11-21T05:59:55Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"replicas": replicas},
    }));
    items
}

/// Neither a window nor a policy decides while something else sets the replicas.
#[test]
fn a_rule_beside_another_writer_follows_it() {
    let held = recommended(&pods("10m"), "2026-11-21T05:58:00Z");
    let limited = pods("400m");
    for (items, code) in [(held, Code::HeldByWindow), (limited, Code::RateLimited)] {
        let follows = |items: &[Value]| {
            let all = found(items);
            let own = all.iter().find(|it| it.code() == code);
            own.unwrap_or_else(|| panic!("{all:?}")).follows
        };
        assert_eq!(follows(&items), None);
        assert_eq!(
            follows(&set_by_helm(&items, 6)),
            Some(Code::OtherWriter),
            "{code:?}"
        );
    }
}

/// Fewer replicas are offered only if what is counted is in order.
#[test]
fn a_minimum_beside_a_finding_about_what_is_counted_follows_it() {
    let spec = with_spec(&pods("10m"), &at_once(&json!({})));
    let least = with_spec(&spec, &json!({"minReplicas": 3}));
    let follows = |items: &[Value]| {
        let all = found(items);
        let own = all.iter().find(|it| it.code() == Code::AtMin);
        own.unwrap_or_else(|| panic!("{all:?}")).follows
    };
    assert_eq!(follows(&least), None);
    // One of the pods is of something else.
    let mut foreign = least;
    for (number, kind) in [
        (0, "StatefulSet"),
        (1, "ReplicaSet"),
        (2, "ReplicaSet"),
        (3, "ReplicaSet"),
    ] {
        let name = format!("web-{number}");
        let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == name;
        let pod = foreign.iter_mut().find(is_it).unwrap();
        pod["metadata"]["labels"]["pod-template-hash"] = json!("5d");
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind,
            "name": "web-5d", "controller": true}]);
    }
    assert_eq!(follows(&foreign), Some(Code::ForeignPods));
}

/// Pods that have only just started use most of what is above the maximum: their start is what to look at.
#[test]
fn a_maximum_beside_hot_pods_that_start_follows_them() {
    let pods = |young: &str| {
        let mut items = state(
            &[build::resource("cpu", &build::utilization(50))],
            &["90m", "90m", "300m", "300m"],
        );
        for name in ["web-2", "web-3"] {
            let is_it = |it: &&mut Value| it["kind"] == "Pod" && it["metadata"]["name"] == name;
            let pod = items.iter_mut().find(is_it).unwrap();
            pod["status"]["startTime"] = json!(young);
            pod["metadata"]["creationTimestamp"] = json!(young);
            pod["status"]["conditions"] =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": young}]);
        }
        with_spec(&items, &json!({"maxReplicas": 4}))
    };
    let told = |items: &[Value]| -> Vec<_> {
        found(items)
            .iter()
            .map(|it| (it.code(), it.severity, it.follows))
            .collect()
    };
    // Without them, two pods at 180% need 8 replicas of 4, which is still more than the maximum.
    let young = told(&pods("2026-11-21T05:58:45Z"));
    assert_eq!(
        young,
        [
            (Code::StartingPods, Severity::Warning, None),
            (Code::AtMax, Severity::Info, Some(Code::StartingPods))
        ]
    );
    assert_eq!(told(&pods("2026-11-21T05:00:00Z"))[0].0, Code::AtMax);
}

/// Only a window that is longer than by default is more than what everybody has.
#[test]
fn a_shorter_window_is_the_default() {
    let shorter = |rules: &Value, items: &[Value]| {
        let recommended = recommended(items, "2026-11-21T05:59:30Z");
        let all = found(&with_spec(&recommended, &json!({ "behavior": rules })));
        all.into_iter().find_map(|it| match it.facts {
            Facts::HeldByWindow(it) => Some(it.shorter),
            _ => None,
        })
    };
    let window = |direction: &str, seconds: i32| json!({ direction: {"stabilizationWindowSeconds": seconds} });
    assert_eq!(
        shorter(&window("scaleDown", 3600), &pods("10m")),
        Some(Some(300))
    );
    assert_eq!(
        shorter(&window("scaleDown", 301), &pods("10m")),
        Some(Some(300))
    );
    assert_eq!(shorter(&window("scaleDown", 300), &pods("10m")), Some(None));
    assert_eq!(shorter(&json!({}), &pods("10m")), Some(None));
    // Scaling up has none by default.
    assert_eq!(
        shorter(&window("scaleUp", 60), &pods("200m")),
        Some(Some(0))
    );
}

/// A total of which each pod is to have one is work of its own.
#[test]
fn jobs_are_work_of_each_pod() {
    let busy = |per_pod: &str| {
        let items = recommended(
            &queue(&build::average(per_pod), "2", 6),
            "2026-11-21T05:59:30Z",
        );
        found(&items).into_iter().find_map(|it| match it.facts {
            Facts::HeldByWindow(it) => Some(it.busy),
            _ => None,
        })
    };
    assert_eq!((busy("1"), busy("2")), (Some(true), Some(false)));
}

fn at_max(items: &[Value]) -> AtMax {
    let all = found(items).into_iter();
    let own = all.into_iter().find_map(|it| match it.facts {
        Facts::AtMax(facts) => Some(facts),
        _ => None,
    });
    own.expect("at-max")
}

/// What the metrics count is named in absolute terms, and what else would be enough is found by playing it.
#[test]
fn a_maximum_is_not_the_only_lever() {
    let most = |items: &[Value], max: i32| with_spec(items, &json!({ "maxReplicas": max }));
    let of = |facts: &AtMax| {
        let values = facts.rooms.iter().map(|(metric, room)| {
            let request = room.request.as_ref().map(|it| it.request.to_string());
            let target = room
                .target
                .as_ref()
                .and_then(|it| it.target.average_value.clone());
            (
                *metric,
                request.or(target.map(|it| it.to_string())).unwrap(),
            )
        });
        (values.collect::<Vec<_>>(), facts.proposal)
    };
    // 50% of 100m is 50m, of which 360m need 8; 360m of 240m is 75% for 2 pods, and within 10% of it for 3.
    let busy = at_max(&most(&pods("90m"), 4));
    let own = Counted {
        metric: 0,
        total: 360,
        per_pod: 50,
        of_pods: Some((4, Some((100, true)))),
    };
    assert_eq!((busy.counted.clone(), busy.beside), (vec![own], None));
    assert_eq!(of(&busy), (vec![(0, "240m".to_owned())], Some(3)));
    // 900 at 75 per pod are 12; at 190, they are 5 of at most 6.
    let long = at_max(&most(&queue(&build::average("75"), "900", 4), 6));
    let own = Counted {
        metric: 0,
        total: 900_000,
        per_pod: 75_000,
        of_pods: None,
    };
    assert_eq!(long.counted, [own]);
    let (values, proposal) = of(&long);
    assert_eq!((values.len(), proposal), (1, Some(5)));
    // One of two metrics is above the maximum, or both are.
    let metrics = [
        build::resource("cpu", &build::utilization(50)),
        build::resource("memory", &build::utilization(80)),
    ];
    let two = |usage: &str| most(&memory(&metrics, "90m", [usage; 4], &json!({})), 6);
    let one = at_max(&two("60Mi"));
    assert_eq!(
        (one.counted.len(), one.beside, one.rooms.len()),
        (1, Some((1, 3)), 1)
    );
    let both = at_max(&two("160Mi"));
    assert_eq!(
        (both.counted.len(), both.beside, both.rooms.len()),
        (2, None, 2)
    );
    assert!(both.proposal < Some(6), "{both:?}");
}

/// A load that returns after most replicas were removed at once had better kept some.
#[test]
fn a_drop_in_one_step_is_named_while_the_load_is_back() {
    let busy = with_spec(&pods("90m"), &json!({"maxReplicas": 4}));
    let dropped = |sizes: &[(i32, &str, &str)]| {
        let events = sizes.iter().map(|(size, side, time)| {
            let message = format!("New size: {size}; reason: cpu resource utilization {side} target");
            json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("e{time}"), "namespace": "default"},
                "involvedObject": {"kind": "HorizontalPodAutoscaler", "name": "web", "namespace": "default"},
                "reason": "SuccessfulRescale", "message": message, "type": "Normal", "count": 1,
                "firstTimestamp": format!("2026-11-21T{time}Z"), "lastTimestamp": format!("2026-11-21T{time}Z")})
        });
        at_max(&busy.iter().cloned().chain(events).collect::<Vec<_>>())
            .dropped
            .map(|it| (it.from, it.to))
    };
    let (up, down) = ((4, "above", "05:50:00"), (1, "below", "05:40:00"));
    assert_eq!(
        dropped(&[(20, "above", "05:10:00"), down, up]),
        Some((20, 1))
    );
    assert_eq!(
        dropped(&[(20, "above", "05:10:00"), down]),
        None,
        "nothing was added since"
    );
    assert_eq!(
        dropped(&[(4, "above", "05:10:00"), down, up]),
        None,
        "3 are few"
    );
    assert_eq!(
        dropped(&[(20, "above", "03:10:00"), (1, "below", "04:40:00"), up]),
        None,
        "long ago"
    );
    assert_eq!(
        dropped(&[(20, "above", "05:10:00"), (12, "below", "05:40:00"), up]),
        None
    );
}
