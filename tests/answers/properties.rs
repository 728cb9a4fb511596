//! What must hold for every input, tried on random ones: the bounds of the HPA, that the order of
//! what the APIs return plays no role, that saving loses nothing, that the range given for an unknown
//! memory or for refused metrics holds the answer of each, and that no input makes the crate panic. It proves nothing
//! about a single answer; `vectors.rs` does.

use crate::common;
use crate::common::build;
use crate::common::build::with;
use crate::common::scenario;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use kubectl_hpa::apimachinery::quantity::Quantity;
use kubectl_hpa::args::Overrides;
use kubectl_hpa::engine::decision::{Because, Decision, MetricResult, Path, Step};
use kubectl_hpa::engine::reconcile;
use kubectl_hpa::error::{Error, ErrorKind};
use kubectl_hpa::memory::Remembered;
use kubectl_hpa::outlook::Outlook;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::render::page::page;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::page::Page;
use kubectl_hpa::saved::save;
use kubectl_hpa::snapshot::hpa::{Behavior, ScalingRules};
use kubectl_hpa::snapshot::input::Input;
use kubectl_hpa::snapshot::memory::ScaleEvent;
use kubectl_hpa::snapshot::surroundings::Surroundings;
use kubectl_hpa::snapshot::{MetricAnswer, Snapshot, UnreadCause};
use kubectl_hpa::whatif::expect::{Expression, Fact, Field, MetricField, PassFacts};
use kubectl_hpa::whatif::overrides::Assumptions;
use kubectl_hpa::whatif::thresholds::thresholds;
use kubectl_hpa::whatif::timeline::{TimelineOptions, Trace};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestCaseResult, TestRunner};
use scenario::{Scenario, ranks, scenario};
use serde_json::{Value, json};

/// Tries a property on so few inputs that all properties take seconds; the long form takes more.
fn holds<S: Strategy>(inputs: S, property: impl Fn(&S::Value) -> TestCaseResult) {
    holds_for(48, inputs, property);
}

fn holds_for<S: Strategy>(cases: u32, inputs: S, property: impl Fn(&S::Value) -> TestCaseResult) {
    let config = ProptestConfig {
        cases,
        // A counterexample becomes a case of its own, not a seed in a file.
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if let Err(e) = TestRunner::new(config).run(&inputs, |input| property(&input)) {
        panic!("{e}");
    }
}

#[test]
fn bounds_are_kept() {
    holds(scenario(), keeps_bounds);
}

#[test]
fn a_fresh_controller_is_held_by_its_windows() {
    holds(scenario(), is_held_when_fresh);
}

#[test]
fn the_range_holds_what_refused_metrics_would_say() {
    holds((scenario(), any::<u8>()), |(scenario, refused)| {
        holds_refused(scenario, *refused)
    });
}

#[test]
fn order_plays_no_role() {
    holds((scenario(), ranks()), |(scenario, ranks)| {
        ignores_order(scenario, ranks)
    });
}

#[test]
fn saving_loses_nothing() {
    holds(scenario(), survives_saving);
}

#[test]
fn a_boundless_tolerance_changes_nothing() {
    holds(scenario(), tolerates_everything);
}

#[test]
fn the_range_holds_every_memory() {
    holds(scenario(), is_inside_the_range);
}

#[test]
fn the_range_holds_every_memory_of_an_old_controller() {
    holds(scenario(), is_inside_the_old_range);
}

#[test]
fn every_answer_can_be_worded() {
    holds(scenario(), is_worded);
}

#[test]
fn time_goes_on_within_bounds_and_what_is_settled_stays() {
    holds(
        (scenario(), 0..40i32, any::<bool>()),
        |(scenario, passes, follows)| goes_on(scenario, *passes, *follows),
    );
}

#[test]
fn other_requests_give_the_answer_of_pods_that_make_them() {
    let applied = Cell::new(0);
    // Of 96 situations it applied to 29 to 49 in twelve runs, and once to 23.
    let requests = (scenario(), new_request());
    holds_for(192, requests, |(scenario, new)| {
        is_as_edited(scenario, new, &applied)
    });
    assert!(applied.get() > 24, "it applied to {} only", applied.get());
}

#[test]
fn usage_of_a_container_gives_the_answer_of_pods_that_use_it() {
    let applied = Cell::new(0);
    holds_for(96, (scenario(), new_usage()), |(scenario, new)| {
        is_as_measured(scenario, *new, &applied)
    });
    assert!(applied.get() > 8, "it applied to {} only", applied.get());
}

#[test]
fn any_text_is_read_or_refused() {
    holds(texts(), |text| is_read_or_refused(text));
}

#[test]
fn damaged_input_is_read_or_refused() {
    holds((scenario(), damages()), |(scenario, damages)| {
        is_bearable(scenario, damages)
    });
}

/// Changes follow on each other within the bounds; and where nothing is said to be left that could
/// change the replicas, nothing does.
fn goes_on(scenario: &Scenario, passes: i32, follows: bool) -> TestCaseResult {
    let Ok(mut input) = read(scenario) else {
        return Ok(());
    };
    let memory = Remembered::of(&input).likely;
    let snapshot = &mut input.snapshot;
    // Hundreds of pods are enough.
    snapshot.hpa.spec.max_replicas = snapshot.hpa.spec.max_replicas.min(300);
    let name = snapshot
        .hpa
        .spec
        .metrics
        .first()
        .map_or("cpu", |metric| metric.name());
    let trace = format!("time,{name}\n20s,x1.5\n1m,missing\n80s,x0.5\n");
    let trace = Trace::read(trace.as_bytes(), "the trace")
        .ok()
        .filter(|_| follows)
        .map(Arc::new);
    let period = snapshot.controller.sync_period;
    let play = |passes: i32| {
        let plan = TimelineOptions {
            span: Some(period.saturating_mul(passes)),
            trace: trace.clone(),
            ..TimelineOptions::default()
        };
        let mut snapshot = snapshot.clone();
        let player = match common::player(plan, &mut snapshot) {
            Ok(player) => player,
            // An ambiguous name, nothing observed that could change, no time at all.
            Err(e) if e.kind == ErrorKind::Usage => return None,
            Err(e) => panic!("{e}"),
        };
        let first = reconcile(&snapshot, &memory);
        // There may be more replicas than can be played.
        let timeline = player.play(&snapshot, &first).ok().flatten();
        timeline.map(|timeline| (timeline, first.replicas_after()))
    };
    let Some((timeline, after)) = play(passes + 6) else {
        return Ok(());
    };
    prop_assert_eq!(timeline.passes.len(), passes as usize + 7);
    prop_assert_eq!(timeline.passes.first().map(|pass| pass.replicas), after);
    let (min, max) = (
        snapshot.hpa.spec.min_replicas.unwrap_or(1),
        snapshot.hpa.spec.max_replicas,
    );
    let mut before = snapshot
        .scale
        .as_ref()
        .map_or(0, |scale| scale.spec_replicas);
    let mut changes = timeline.changes.iter();
    for pass in &timeline.passes {
        if pass.replicas != before {
            let change = changes.next().expect("a change");
            prop_assert_eq!((change.from, change.to), (before, pass.replicas));
            prop_assert!(
                min > max || (min..=max).contains(&pass.replicas),
                "{:?}",
                change
            );
        }
        before = pass.replicas;
    }
    prop_assert!(changes.next().is_none());
    // What is settled is so for the load of the end.
    let was_last = !follows || timeline.span >= SignedDuration::from_secs(80);
    if timeline.totals.is_settled
        && was_last
        && let Some((longer, _)) = play(2 * passes + 60)
    {
        prop_assert_eq!(longer.changes, timeline.changes);
    }
    Ok(())
}

/// Without this, the others might hold because nothing ever happens.
#[test]
fn the_scenarios_lead_everywhere() {
    const SCENARIOS: usize = 2000;
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    let missing = |seen: &BTreeSet<String>| {
        PLACES
            .split_whitespace()
            .filter(|place| !seen.contains(*place))
            .collect::<Vec<_>>()
    };
    for _ in 0..SCENARIOS {
        if missing(&seen).is_empty() {
            return;
        }
        let scenario = scenario().new_tree(&mut runner).expect("a scenario");
        let input = read(&scenario.current()).expect("a scenario is read");
        let decision = reconcile(&input.snapshot, &Remembered::of(&input).likely);
        for step in &decision.trace {
            note(&json!(step), &mut seen);
        }
        for row in decision.metrics().flat_map(|metric| &metric.pods) {
            note(&json!([row.group, row.clause]), &mut seen);
        }
        let outcome = &decision.outcome;
        let status = outcome.status.as_ref().expect("every metric is read");
        seen.extend(
            status
                .conditions
                .iter()
                .map(|condition| condition.reason.clone()),
        );
        let events = outcome.events.iter().flatten();
        seen.extend(events.map(|event| event.reason.to_owned()));
        let up = decision.outcome.scale_to.zip(current(&input.snapshot));
        seen.extend(up.map(|(new, current)| if new > current { "up" } else { "down" }.to_owned()));
    }
    panic!("never seen in {SCENARIOS} scenarios: {:?}", missing(&seen));
}

/// The words of a trace that say which way it went.
fn note(step: &Value, seen: &mut BTreeSet<String>) {
    match step {
        Value::String(text) => {
            seen.insert(text.clone());
        }
        Value::Array(list) => list.iter().for_each(|item| note(item, seen)),
        Value::Object(map) => map.values().for_each(|item| note(item, seen)),
        _ => {}
    }
}

const PLACES: &str = "
    up down disabled aboveMax belowMin metrics
    seedRecommendations rejectSelector combineMetrics raiseToMin rescale
    Resource ContainerResource Pods Object External
    withinTolerance ratioTimesReady filledWithinTolerance directionFlips countFlips
    ratioTimesFilled usageOverTarget fromZero
    deleted failed pending noMetric noReadiness initializingNotReady initializingOldSample
    neverReady counted
    FailedGetScale InvalidSelector SelectorRequired AmbiguousSelector FailedUpdateScale
    FailedGetResourceMetric FailedGetContainerResourceMetric FailedGetPodsMetric
    FailedGetObjectMetric FailedGetExternalMetric FailedComputeMetricsReplicas
    ReadyForNewScale ScaleDownStabilized ScaleUpStabilized DesiredWithinRange
    TooFewReplicas TooManyReplicas ScaleUpLimit ScaleDownLimit
    ScalingDisabled ValidMetricFound SucceededRescale ScaledToZero NotScaledToZero
";

/// The long form, a minute or two: `cargo test --release --test answers properties -- --ignored`.
#[test]
#[ignore = "takes minutes: cargo test --release --test answers properties -- --ignored"]
fn all_of_it_at_length() {
    const CASES: u32 = 20_000;
    holds_for(CASES, scenario(), keeps_bounds);
    holds_for(CASES, scenario(), is_held_when_fresh);
    holds_for(CASES, (scenario(), any::<u8>()), |(scenario, refused)| {
        holds_refused(scenario, *refused)
    });
    holds_for(CASES, (scenario(), ranks()), |(scenario, ranks)| {
        ignores_order(scenario, ranks)
    });
    holds_for(CASES, scenario(), survives_saving);
    holds_for(CASES, scenario(), tolerates_everything);
    holds_for(CASES, scenario(), is_inside_the_range);
    holds_for(CASES, scenario(), is_inside_the_old_range);
    holds_for(CASES, scenario(), is_worded);
    holds_for(
        CASES,
        (scenario(), 0..40i32, any::<bool>()),
        |(scenario, passes, follows)| goes_on(scenario, *passes, *follows),
    );
    let applied = Cell::new(0);
    holds_for(CASES, (scenario(), new_usage()), |(scenario, new)| {
        is_as_measured(scenario, *new, &applied)
    });
    holds_for(CASES, (scenario(), new_request()), |(scenario, new)| {
        is_as_edited(scenario, new, &applied)
    });
    holds_for(CASES, texts(), |text| is_read_or_refused(text));
    holds_for(CASES, (scenario(), damages()), |(scenario, damages)| {
        is_bearable(scenario, damages)
    });
}

/// What was read of a scenario. The scenarios are such that nothing refuses them.
fn read(scenario: &Scenario) -> Result<Input, TestCaseError> {
    common::read(&scenario.text()).map_err(|e| TestCaseError::fail(format!("refused: {e}")))
}

fn remembered(input: &Input) -> Remembered {
    Remembered::of(input)
}

/// The replicas of the target, where its scale could be read.
fn current(snapshot: &Snapshot) -> Option<i32> {
    Some(snapshot.scale.as_ref().ok()?.spec_replicas)
}

fn path(decision: &Decision) -> Option<Path> {
    decision.trace.iter().find_map(|step| match step {
        Step::ChoosePath { path, .. } => Some(*path),
        _ => None,
    })
}

fn failed_metrics(decision: &Decision) -> usize {
    decision
        .combination()
        .map_or(0, |combined| combined.invalid)
}

fn direction(behavior: &Behavior, up: bool) -> &ScalingRules {
    let rules = if up {
        &behavior.scale_up
    } else {
        &behavior.scale_down
    };
    rules.as_ref().expect("rules, by default")
}

/// From here on the controller's own limit on the rate of scaling up leaves the integers.
const OVERFLOWING: i32 = 1 << 30;

fn keeps_bounds(scenario: &Scenario) -> TestCaseResult {
    let input = read(scenario)?;
    let snapshot = &input.snapshot;
    let decision = reconcile(snapshot, &remembered(&input).likely);
    let (min, max) = (
        snapshot.hpa.spec.min_replicas.unwrap_or(1),
        snapshot.hpa.spec.max_replicas,
    );
    let scaled = decision
        .outcome
        .events
        .iter()
        .flatten()
        .filter(|event| event.reason == "SuccessfulRescale");
    let scaled: Vec<_> = scaled.map(|event| event.message.as_str()).collect();
    let status = decision
        .outcome
        .status
        .as_ref()
        .expect("every metric is read");
    let Some(new) = decision.outcome.scale_to else {
        prop_assert!(scaled.is_empty());
        return Ok(());
    };
    let current = current(snapshot).expect("a scale that was written was read");
    prop_assert_ne!(new, current);
    prop_assert_eq!(scaled.len(), 1);
    let size = format!("New size: {new}; reason: ");
    prop_assert!(scaled[0].starts_with(&size));
    prop_assert_eq!(
        (status.current_replicas, status.desired_replicas),
        (current, new)
    );
    prop_assert_eq!(status.last_scale_time, Some(snapshot.now));

    match path(&decision) {
        // Corrections know neither metrics nor rates nor windows.
        Some(Path::AboveMax) => {
            prop_assert!(current > max);
            prop_assert_eq!(new, max);
            prop_assert!(status.current_metrics.is_none());
            return Ok(());
        }
        Some(Path::BelowMin) => {
            prop_assert!(current < min);
            prop_assert_eq!(new, min);
            prop_assert!(status.current_metrics.is_none());
            return Ok(());
        }
        Some(Path::Metrics) => {}
        path => prop_assert!(false, "scaled on {path:?}"),
    }
    // A proposal below zero counts as none.
    let desired = decision.proposal.expect("a proposal was followed").max(0);
    prop_assert!(current == 0 || (min..=max).contains(&current));
    // Where metrics are missing, nothing shrinks, unless the rate limit overflows.
    if failed_metrics(&decision) > 0 && current < OVERFLOWING {
        prop_assert!(new > current);
    }
    let Some(behavior) = &snapshot.hpa.spec.behavior else {
        if current >= OVERFLOWING {
            prop_assert!(new == min || new == i32::MIN);
            return Ok(());
        }
        prop_assert!((min..=max).contains(&new));
        // The minimum goes before the rate.
        prop_assert!(new <= min.max(4).max(2 * current));
        // The past can raise the replicas above what is wanted now, never lower them.
        prop_assert!(new >= desired.min(max).min(4.max(2 * current)));
        return Ok(());
    };
    // Waking from zero, the minimum goes before everything.
    let woken = current == 0 && new == min;
    if new > current {
        prop_assert!(new <= max || woken);
        prop_assert!(new >= min);
        prop_assert!(new <= desired || woken);
    } else {
        prop_assert!(new >= min);
        prop_assert!(new >= desired);
    }
    let disabled = direction(behavior, new > current).select_policy.as_deref() == Some("Disabled");
    prop_assert!(!disabled || woken);
    Ok(())
}

/// A list with nothing but the current replicas holds in both directions, as long as its window is
/// open.
fn is_held_when_fresh(scenario: &Scenario) -> TestCaseResult {
    let mut scenario = scenario.clone();
    scenario.state["recommendations"] = json!([]);
    let input = read(&scenario)?;
    let snapshot = &input.snapshot;
    let decision = reconcile(snapshot, &remembered(&input).likely);
    let (Some(new), Some(Path::Metrics)) = (decision.outcome.scale_to, path(&decision)) else {
        return Ok(());
    };
    let current = current(snapshot).expect("a scale that was written was read");
    let flag = snapshot.controller.downscale_stabilization;
    match &snapshot.hpa.spec.behavior {
        None => prop_assert!(new > current || flag.is_zero() || current >= OVERFLOWING),
        Some(behavior) => {
            let down = direction(behavior, false).stabilization_window_seconds;
            let down = down.map_or(flag.as_secs(), i64::from);
            let up = direction(behavior, true).stabilization_window_seconds;
            prop_assert!(new > current || down == 0);
            prop_assert!(new < current || up == Some(0) || current == 0);
        }
    }
    Ok(())
}

fn ignores_order(scenario: &Scenario, ranks: &[usize]) -> TestCaseResult {
    let (one, other) = (read(scenario)?, read(&scenario.reordered(ranks))?);
    if depends_on_order(&one.snapshot) {
        return Ok(());
    }
    let mut answers = [one, other].map(|input| answer(&input));
    for answer in &mut answers {
        mask_missing_requests(answer);
    }
    prop_assert_eq!(&answers[0], &answers[1]);
    Ok(())
}

/// Whether the sum of an external metric depends on the order of its values. An average's is given
/// up at the first partial sum below zero, a value's where it would exceed the integers.
fn depends_on_order(snapshot: &Snapshot) -> bool {
    let metrics = snapshot.hpa.spec.metrics.iter().zip(&snapshot.metrics);
    metrics.into_iter().any(|(spec, answer)| {
        let (MetricAnswer::External(values), Some(source)) = (answer, &spec.external) else {
            return false;
        };
        let values: Vec<_> = values.iter().map(|value| i128::from(value.value)).collect();
        let negative = values.iter().any(|value| *value < 0);
        if source.target.average_value.is_some() {
            negative && values.iter().sum::<i128>() >= 0
        } else {
            let positive: i128 = values.iter().filter(|value| **value > 0).sum();
            negative && positive > i128::from(i64::MAX)
        }
    })
}

/// Of several pods without a request, or without a container before 1.33, the error names the one
/// that comes first, whatever the case.
fn mask_missing_requests(answer: &mut Value) {
    const FORMS: [&str; 3] = [
        "missing request for ",
        "missing pod-level request for ",
        "container ",
    ];
    match answer {
        Value::String(text) => {
            let starts = FORMS.iter().filter_map(|form| text.find(form));
            if (text.contains(" Pod ") || text.contains(" for pod "))
                && let Some(start) = starts.min()
            {
                text.replace_range(start.., "a request is missing");
            }
        }
        Value::Array(list) => list.iter_mut().for_each(mask_missing_requests),
        Value::Object(map) => map.values_mut().for_each(mask_missing_requests),
        _ => {}
    }
}

/// All that an answer says about the controller, apart from how it came about.
fn answer(input: &Input) -> Value {
    let (_, mut object) = common::explain(input);
    let parts = ["hpa", "outcome", "proposal", "certainty", "range", "memory"];
    Value::Object(
        parts
            .iter()
            .map(|part| ((*part).to_owned(), object[*part].take()))
            .collect(),
    )
}

/// The same scenario with nothing said about the controller's memory.
fn without_memory(scenario: &Scenario) -> Scenario {
    let mut unknown = scenario.clone();
    for list in ["recommendations", "scaleUpEvents", "scaleDownEvents"] {
        unknown.state[list] = json!([]);
    }
    unknown.state["memory"] = json!("unknown");
    unknown
}

/// Objects of each kind that explains an answer, with all that is kept of them.
fn surroundings() -> Surroundings {
    let labels = json!({"app": "web", "pod-template-hash": "1"});
    let container = json!({"name": "app", "resources": {
        "requests": {"cpu": "100m"}, "limits": {"cpu": "200m", "memory": "1Gi"}}});
    let sidecar = json!({"name": "proxy", "restartPolicy": "Always"});
    let template = json!({"metadata": {"labels": labels},
        "spec": {"containers": [container], "initContainers": [sidecar]}});
    let spec = json!({"replicas": 3, "selector": {"matchLabels": labels}, "template": template});
    let condition = json!({"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
        "message": "exceeded quota", "lastTransitionTime": "2026-11-21T05:00:00Z"});
    let object = |kind: [&str; 2], name: &str, metadata: &Value, rest: &Value| {
        let metadata = with(
            json!({"name": name, "namespace": "default", "uid": name}),
            metadata,
        );
        with(
            json!({"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}),
            rest,
        )
    };
    let owner = |kind: &str, name: &str| {
        json!({"ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": name,
            "uid": name, "controller": true}]})
    };
    let written = json!({
        "labels": labels,
        "annotations": {"deployment.kubernetes.io/revision": "7", "meta.helm.sh/release-name": "a"},
        "managedFields": [{"manager": "kubectl", "subresource": "scale",
            "time": "2026-11-21T05:59:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}}}],
    });
    let of_web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let strategy = json!({"strategy": {"type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}}});
    let items = [
        build::hpa(&json!({})),
        object(
            ["apps/v1", "Deployment"],
            "other",
            &written,
            &json!({"spec": with(spec.clone(), &strategy), "status": {"replicas": 3, "conditions": [condition]}}),
        ),
        object(
            ["apps/v1", "ReplicaSet"],
            "other-1",
            &owner("Deployment", "other"),
            &json!({"spec": spec, "status": {"replicas": 3}}),
        ),
        object(
            ["argoproj.io/v1alpha1", "Rollout"],
            "canary",
            &json!({}),
            &json!({"spec": spec, "status": {"replicas": 3, "currentPodHash": "1"}}),
        ),
        object(
            ["apps/v1", "StatefulSet"],
            "db",
            &json!({}),
            &json!({"spec": spec, "status": {"replicas": 3, "updateRevision": "db-1"}}),
        ),
        object(
            ["v1", "ReplicationController"],
            "old",
            &json!({}),
            &json!({"spec": {
            "replicas": 3, "selector": {"app": "old"}, "template": template}}),
        ),
        object(
            ["batch/v1", "Job"],
            "job",
            &json!({}),
            &json!({"spec": {"template": template}}),
        ),
        object(
            ["keda.sh/v1alpha1", "ScaledObject"],
            "web",
            &json!({"annotations": {"autoscaling.keda.sh/paused-scale-in": "true"}}),
            &json!({"spec": {"scaleTargetRef": of_web}, "status": {"hpaName": "keda-hpa-web"}}),
        ),
        object(
            ["autoscaling.k8s.io/v1", "VerticalPodAutoscaler"],
            "web",
            &json!({}),
            &json!({"spec": {"targetRef": of_web, "updatePolicy": {"updateMode": "Auto"}}}),
        ),
        object(
            ["apiregistration.k8s.io/v1", "APIService"],
            "v1beta1.metrics.k8s.io",
            &json!({"namespace": null}),
            &json!({"status": {"conditions": [condition]}}),
        ),
    ];
    common::read(&build::list(items))
        .expect("objects")
        .surroundings
}

fn survives_saving(scenario: &Scenario) -> TestCaseResult {
    let findings = |input: &Input| common::explain(input).1["findings"].take();
    let save = |input: &Input| {
        let saved = save::to_json(&[input], &[]);
        saved.map_err(|e| TestCaseError::fail(format!("not saved: {e}")))
    };
    let unknown = without_memory(scenario);
    for scenario in [scenario, &unknown] {
        let mut input = read(scenario)?;
        let Surroundings {
            lacks_scale,
            lacks_pods,
            ..
        } = input.surroundings;
        input.surroundings = Surroundings {
            lacks_scale,
            lacks_pods,
            ..surroundings()
        };
        let text = save(&input)?;
        let back =
            common::read(&text).map_err(|e| TestCaseError::fail(format!("{e} in {text}")))?;
        prop_assert_eq!(answer(&back), answer(&input), "saved as {}", text);
        prop_assert_eq!(&back.surroundings, &input.surroundings);
        prop_assert_eq!(findings(&back), findings(&input), "saved as {}", text);
        prop_assert_eq!(save(&back)?, text);
    }
    Ok(())
}

fn tolerates_everything(scenario: &Scenario) -> TestCaseResult {
    let mut scenario = scenario.clone();
    scenario.state["flags"]["tolerance"] = json!(1e300);
    // Later versions always let an HPA have tolerances of its own.
    scenario.state["kubernetesVersion"] = json!("v1.36.2");
    scenario.state["featureGates"]["HPAConfigurableTolerance"] = json!(false);
    scenario.state["recommendations"] = json!([]);
    let input = read(&scenario)?;
    let decision = reconcile(&input.snapshot, &remembered(&input).likely);
    let Ok(scale) = &input.snapshot.scale else {
        return Ok(());
    };
    let mut all_stay = true;
    for step in &decision.trace {
        let Step::ComputeMetric(metric) = step else {
            continue;
        };
        let MetricResult::Proposal(proposal) = &metric.result else {
            continue;
        };
        // Only what is not a number is outside; from zero there is nothing to tolerate.
        if !proposal.ratio.is_finite() || proposal.because == Because::FromZero {
            all_stay = false;
            continue;
        }
        // Metrics for the target as a whole, divided by its pods, look at another count.
        let by_status = matches!(metric.type_.as_str(), "Object" | "External")
            && proposal.current.average_value.is_some();
        let stays = if by_status {
            scale.status_replicas
        } else {
            scale.spec_replicas
        };
        prop_assert_eq!(proposal.replicas, stays);
        all_stay &= stays == scale.spec_replicas;
    }
    if decision.proposal.is_some() && all_stay && scale.spec_replicas < OVERFLOWING {
        let min = input.snapshot.hpa.spec.min_replicas.unwrap_or(1);
        let wakes = scale.spec_replicas < min && input.snapshot.scale_update_error.is_none();
        let woken = wakes.then_some(min);
        prop_assert_eq!(decision.outcome.scale_to, woken);
    }
    Ok(())
}

/// The same as the next, with a controller whose limits count the changes of one direction only.
fn is_inside_the_old_range(scenario: &Scenario) -> TestCaseResult {
    let mut scenario = scenario.clone();
    scenario.state["kubernetesVersion"] = json!("v1.24.17");
    for hpa in &mut scenario.hpas {
        for metric in hpa["spec"]["metrics"].as_array_mut().into_iter().flatten() {
            // Such a controller crashes over a target without the field of its type.
            if let Some(target) = metric.pointer_mut("/object/target") {
                target["value"] = json!("5");
                target["averageValue"] = json!("5");
            }
        }
    }
    if adds_up(&read(&scenario)?) {
        is_inside_the_range(&scenario)
    } else {
        Ok(())
    }
}

/// Whether the replicas with the changes of one direction fit into 32 bits, as the bounds assume
/// (docs/history.md).
fn adds_up(input: &Input) -> bool {
    let (Some(current), Some(stated)) = (current(&input.snapshot), &input.stated_memory) else {
        return true;
    };
    let sum = |events: &[ScaleEvent]| events.iter().map(|it| i64::from(it.replicas)).sum::<i64>();
    let (added, removed) = (sum(&stated.scale_up_events), sum(&stated.scale_down_events));
    let current = i64::from(current);
    [current - added, current + removed]
        .iter()
        .all(|start| i32::try_from(*start).is_ok())
}

fn is_inside_the_range(scenario: &Scenario) -> TestCaseResult {
    let input = read(scenario)?;
    let unknown = Remembered::unknown(input.snapshot.now);
    let open = Pass::with(input.clone(), unknown);
    let range = Explanation::new(&open).range;
    let remembered = remembered(&input);
    let known = Pass {
        outlook: Outlook::default(),
        ..Pass::with(input, remembered)
    };
    holds_facts(&known, &open)?;
    let Some(replicas) = known.decision.replicas_after() else {
        prop_assert!(range.is_none());
        return Ok(());
    };
    let inside = range.is_some_and(|range| (range.min..=range.max).contains(&replicas));
    prop_assert!(inside, "{} is outside {:?}", replicas, range);
    Ok(())
}

/// Whether the answer of a controller that reads everything is inside the range of whoever is refused
/// some of the metrics, a bit for each.
fn holds_refused(scenario: &Scenario, refused: u8) -> TestCaseResult {
    for scenario in [scenario, &without_memory(scenario)] {
        let input = read(scenario)?;
        let remembered = remembered(&input);
        let mut less = input.clone();
        for (index, answer) in less.snapshot.metrics.iter_mut().enumerate() {
            if refused >> (index % 8) & 1 == 1 {
                *answer = MetricAnswer::Unread(UnreadCause::Refused {
                    message: "no".to_owned(),
                });
            }
        }
        let read = Pass::with(input, remembered.clone());
        let open = Pass::with(less, remembered);
        holds_facts(&read, &open)?;
        let range = open.outlook.range(&open.decision);
        let replicas = read.decision.replicas_after();
        let (least, most) = (range.map(|range| range.min), range.map(|range| range.max));
        let inside = least <= replicas && replicas <= most;
        prop_assert!(inside, "{replicas:?} is outside {range:?}");
    }
    Ok(())
}

/// Whether the facts about a pass of which less is known always allow the facts about the pass itself.
fn holds_facts(known: &Pass, open: &Pass) -> TestCaseResult {
    let input = &known.input;
    let (known, open) = (PassFacts::of(known), PassFacts::of(open));
    const OF_PASS: &str = "desired == current or delta == min or max == recommended or \
                           failed == missing or warnings == 0 or limited or stabilized or \
                           blocked or stale";
    let of_pass = Expression::parse(OF_PASS).expect("an expression").fields;
    let metrics = input.snapshot.hpa.spec.metrics.iter().flat_map(|metric| {
        [
            MetricField::Desired,
            MetricField::Utilization,
            MetricField::Value,
        ]
        .map(|field| Field::Metric(metric.label(&input.snapshot.hpa.spec.metrics), field))
    });
    for field in of_pass.into_iter().map(|(_, field)| field).chain(metrics) {
        let (known, open) = (known.get(&field), open.get(&field));
        let inside = match (&known, &open) {
            (_, Fact::Unknown(_)) => true,
            (
                Fact::Count { min, max },
                Fact::Count {
                    min: least,
                    max: most,
                },
            ) => least <= min && max <= most,
            _ => known == open,
        };
        prop_assert!(inside, "{field} is {known}, and not {open}");
    }
    Ok(())
}

fn is_worded(scenario: &Scenario) -> TestCaseResult {
    let input = read(scenario)?;
    word(&input);
    Ok(())
}

/// Words an answer in every form, as wide as it likes and in little room.
fn word(input: &Input) {
    let pass = Pass::with(input.clone(), remembered(input));
    let explanation = Explanation::new(&pass);
    serde_json::to_string(&explanation).expect("an explanation is JSON");
    let shown = Page::new(&explanation, true);
    for (width, ascii) in [(None, false), (Some(20), true)] {
        let layout = Layout {
            width,
            ascii,
            ..Layout::default()
        };
        assert!(!page(&shown, &layout).is_empty());
    }
}

/// A request of a container, or a change of every request of a resource.
#[derive(Debug, Clone)]
struct NewRequest {
    container: Option<&'static str>,
    resource: &'static str,
    value: &'static str,
}

fn new_request() -> impl Strategy<Value = NewRequest> {
    let container = proptest::sample::select(vec![None, Some("app"), Some("proxy"), Some("init")]);
    let value = prop_oneof![
        2 => proptest::sample::select(vec!["x2", "x0.5", "x0"]),
        1 => proptest::sample::select(vec!["0", "100Mi", "10m", "70m", "250m", "1", "3"]),
    ];
    let resource = proptest::sample::select(vec!["cpu", "cpu", "memory"]);
    (container, resource, value).prop_map(|(container, resource, value)| NewRequest {
        container,
        resource,
        value,
    })
}

/// What is predicted for other requests is what the engine says of pods with these requests. Which
/// of several containers an amount without one is for is no concern of it.
fn is_as_edited(scenario: &Scenario, new: &NewRequest, applied: &Cell<u32>) -> TestCaseResult {
    let NewRequest {
        container,
        resource,
        value,
    } = *new;
    let item = container.map_or(resource.to_owned(), |own| format!("{own}={resource}"));
    let flag = format!("{item}={value}");
    let typed = Overrides {
        requests: vec![flag.clone()],
        ..Overrides::default()
    };
    if container.is_none() && !value.starts_with('x') {
        return Ok(());
    }
    let input = read(scenario)?;
    let Ok(assumptions) = Assumptions::read(&typed) else {
        return Ok(());
    };
    let Ok((assumed, _)) = assumptions.apply(input.clone(), &Pass::run(input).decision) else {
        return Ok(());
    };
    let change = |requests: &mut Value| {
        let Some(before) = requests.get(resource) else {
            if !value.starts_with('x') {
                *requests = with(requests.clone(), &json!({resource: value}));
            }
            return;
        };
        let before = before
            .as_str()
            .map_or_else(|| before.to_string(), str::to_owned);
        let before = Quantity::parse(&before).expect("a quantity").milli_value();
        requests[resource] = match value {
            "x2" => json!(format!("{}m", i128::from(before) * 2)),
            "x0.5" => json!(format!("{}m", before / 2 + before % 2)),
            "x0" => json!("0"),
            amount => json!(amount),
        };
    };
    let mut edited = scenario.clone();
    // No rollout replaces a pod that has ended.
    let has_ended = |pod: &Value| {
        ["Failed", "Succeeded"]
            .map(Value::from)
            .contains(&pod["status"]["phase"])
    };
    for pod in edited.pods.iter_mut().filter(|pod| !has_ended(pod)) {
        for list in ["containers", "initContainers"] {
            for own in pod["spec"][list].as_array_mut().into_iter().flatten() {
                if container.is_none_or(|name| own["name"] == name) {
                    change(&mut own["resources"]["requests"]);
                }
            }
        }
        if container.is_none() && pod["spec"]["resources"].is_object() {
            change(&mut pod["spec"]["resources"]["requests"]);
        }
    }
    let edited = read(&edited)?;
    prop_assert_eq!(answer(&assumed), answer(&edited), "{}", flag);
    let [assumed, edited] = [assumed, edited].map(|input| thresholds(&Pass::run(input), Some(0)));
    prop_assert_eq!(assumed, edited, "{}", flag);
    applied.set(applied.get() + 1);
    Ok(())
}

/// A container, and what it uses of CPU.
fn new_usage() -> impl Strategy<Value = (&'static str, &'static str)> {
    let values = vec!["x2", "x0", "0", "10m", "70m", "250m", "3000m"];
    (
        proptest::sample::select(vec!["app", "proxy"]),
        proptest::sample::select(values),
    )
}

/// What is predicted for the usage of a container is what the engine says of pods that use it.
fn is_as_measured(
    scenario: &Scenario,
    (container, value): (&str, &str),
    applied: &Cell<u32>,
) -> TestCaseResult {
    let input = read(scenario)?;
    let metrics = input
        .snapshot
        .hpa
        .spec
        .metrics
        .iter()
        .zip(&input.snapshot.metrics);
    let mut of_cpu = metrics.filter(|(spec, _)| spec.name() == "cpu" && spec.is_resource());
    let is_used = |own: &Value| own["name"] == container && own["usage"].get("cpu").is_some();
    let Ok(scale) = &input.snapshot.scale else {
        return Ok(());
    };
    let is_own = |item: &&Value| {
        let mut pods = input.snapshot.pods.iter();
        let pod = pods.find(|pod| item["metadata"]["name"] == *pod.name);
        pod.is_some_and(|pod| scale.selector.matches(&pod.labels))
    };
    let own = scenario.pod_metrics.iter().filter(is_own);
    let mut used = own.flat_map(|own| own["containers"].as_array());
    // What was not measured at all, of the pods of the target, is assumed to be measured.
    let failed = of_cpu.any(|(_, answer)| *answer != MetricAnswer::PodMetrics);
    if failed || !used.any(|own| own.iter().any(is_used)) {
        return Ok(());
    }
    let cpu = vec![format!("{container}={value}")];
    let typed = Overrides {
        cpu,
        ..Overrides::default()
    };
    let assumptions = Assumptions::read(&typed).map_err(|e| TestCaseError::fail(e.message))?;
    let Ok((assumed, _)) = assumptions.apply(input.clone(), &Pass::run(input).decision) else {
        return Ok(());
    };
    let mut edited = scenario.clone();
    let all = edited
        .pod_metrics
        .iter_mut()
        .filter_map(|own| own["containers"].as_array_mut());
    for own in all.flatten().filter(|own| is_used(own)) {
        let usage = &mut own["usage"]["cpu"];
        let before = usage
            .as_str()
            .map_or_else(|| usage.to_string(), str::to_owned);
        let before = Quantity::parse(&before).expect("a quantity").milli_value();
        *usage = match value {
            "x2" => json!(format!("{}m", i128::from(before) * 2)),
            "x0" => json!("0"),
            amount => json!(amount),
        };
    }
    prop_assert_eq!(
        answer(&assumed),
        answer(&read(&edited)?),
        "{}={}",
        container,
        value
    );
    applied.set(applied.get() + 1);
    Ok(())
}

/// Texts of all kinds: any bytes, and words that the readers know in any order.
fn texts() -> impl Strategy<Value = String> {
    let words = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\n",
        "  ",
        "- ",
        "---\n",
        "null",
        "true",
        "-1",
        "1e999",
        "\"",
        "\\",
        "\"items\"",
        "\"kind\":",
        "\"apiVersion\":",
        "\"v1\"",
        "\"List\"",
        "\"Pod\"",
        "kind: Pod\n",
        "\"autoscaling/v2\"",
        "\"HorizontalPodAutoscaler\"",
        "&a ",
        "*a",
        "!!binary ",
        "\u{feff}",
        "|",
        "é",
    ];
    prop_oneof![
        1 => any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        2 => proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..40).prop_map(|words| words.concat()),
        1 => proptest::collection::vec(proptest::sample::select(words.to_vec()), 0..40).prop_map(|words| format!("{{{}", words.concat())),
    ]
}

fn is_read_or_refused(text: &str) -> TestCaseResult {
    match common::read(text) {
        Ok(input) => word(&input),
        Err(Error { kind, message, .. }) => {
            prop_assert_eq!(kind, ErrorKind::Usage);
            prop_assert!(!message.is_empty());
        }
    }
    Ok(())
}

/// What befalls an input on its way.
#[derive(Debug, Clone)]
enum Damage {
    /// A value becomes another.
    Replace(Index, Value),
    /// A field or an item goes missing.
    Remove(Index),
    /// The text loses a stretch.
    Cut(Index, usize),
    /// Something gets into the text.
    Insert(Index, &'static str),
    /// It is read as YAML.
    Yaml,
}

fn damages() -> impl Strategy<Value = Vec<Damage>> {
    let values = vec![
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!(""),
        json!("x"),
        json!(-1),
        json!(1.5),
        json!(i64::MAX),
        json!(1e300),
        json!([null]),
        json!({"": null}),
        json!("-9223372036854775808s"),
        json!("9999-12-31T23:59:59Z"),
        json!("-009999-01-02T01:59:59Z"),
        json!("1e99999999999"),
        json!(i64::from(i32::MIN)),
        json!(["\u{0}"]),
    ];
    let inserted = vec![
        "\"",
        "{",
        "]",
        ",",
        "0",
        "-",
        "\u{1f980}",
        "\n---\n",
        "null",
    ];
    let damage = prop_oneof![
        8 => (any::<Index>(), proptest::sample::select(values)).prop_map(|(at, value)| Damage::Replace(at, value)),
        3 => any::<Index>().prop_map(Damage::Remove),
        1 => (any::<Index>(), 1usize..30).prop_map(|(at, length)| Damage::Cut(at, length)),
        1 => (any::<Index>(), proptest::sample::select(inserted)).prop_map(|(at, text)| Damage::Insert(at, text)),
        1 => Just(Damage::Yaml),
    ];
    proptest::collection::vec(damage, 1..4)
}

fn is_bearable(scenario: &Scenario, damages: &[Damage]) -> TestCaseResult {
    let mut tree: Value = serde_json::from_str(&scenario.text()).expect("an input is JSON");
    for damage in damages {
        let mut places = Vec::new();
        pointers(&tree, String::new(), &mut places);
        match damage {
            Damage::Replace(at, value) => {
                *tree
                    .pointer_mut(&places[at.index(places.len())])
                    .expect("a place that was listed") = value.clone();
            }
            Damage::Remove(at) => remove(&mut tree, &places[at.index(places.len())]),
            _ => {}
        }
    }
    let mut text: Vec<char> = tree.to_string().chars().collect();
    for damage in damages {
        let length = text.len();
        match damage {
            Damage::Cut(at, cut) if length > 0 => {
                let start = at.index(length);
                text.drain(start..length.min(start + cut));
            }
            Damage::Insert(at, inserted) => {
                let start = at.index(length + 1);
                text.splice(start..start, inserted.chars());
            }
            Damage::Yaml => {
                text.splice(..0, "---\n".chars());
            }
            _ => {}
        }
    }
    is_read_or_refused(&String::from_iter(text))
}

/// The places of all values, the whole last.
fn pointers(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Array(list) => {
            for (place, item) in list.iter().enumerate() {
                pointers(item, format!("{at}/{place}"), places);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                pointers(item, format!("{at}/{key}"), places);
            }
        }
        _ => {}
    }
    places.push(at);
}

fn remove(tree: &mut Value, place: &str) {
    let Some((parent, last)) = place.rsplit_once('/') else {
        return;
    };
    match tree.pointer_mut(parent) {
        Some(Value::Array(list)) => {
            list.remove(last.parse().expect("the number of an item"));
        }
        Some(Value::Object(map)) => {
            map.remove(&last.replace("~1", "/").replace("~0", "~"));
        }
        _ => {}
    }
}
