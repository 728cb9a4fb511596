//! What `predict` assumes against what controllers answered. A recorded pass is changed by hand, the
//! override puts the recorded value back, and the answer must be the recorded one; and where no pass
//! was recorded, the answer is worked out by hand from the controller's rules. Neither rests on the
//! code that changes snapshots.

use crate::common::ran::{Ran, program, run};
use crate::common::{self, build, decide, recorded};

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::{Format, Quantity};
use kubectl_hpa::args::Validate;
use kubectl_hpa::backtest::Plan;
use kubectl_hpa::engine::decision::{Decision, MetricResult, Step};
use kubectl_hpa::error::Error;
use kubectl_hpa::findings::remedy::Remedy;
use kubectl_hpa::findings::{Code, FindingView, Severity};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::saved;
use kubectl_hpa::saved::file::read_text;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::hpa::{Behavior, Hpa, MetricSpec, MetricTarget};
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::memory::{Memory, Recommendation};
use kubectl_hpa::snapshot::neighbour::OtherHpa;
use kubectl_hpa::snapshot::note::{Note, Subject};
use kubectl_hpa::snapshot::pod::{Phase, Pod};
use kubectl_hpa::snapshot::{Documents, MetricAnswer, PodValue, Snapshot, UnreadCause};
use kubectl_hpa::version::FeatureGate;
use kubectl_hpa::whatif::kept::kept_targets;
use kubectl_hpa::whatif::overrides::Override;
use kubectl_hpa::whatif::timeline::{TimelineOptions, Trace};
use recorded::{Case, first_difference};
use serde_json::{Value, json};

/// Returns the input that flags of `predict` assume, and each change to it.
fn assume(
    input: &Input,
    flags: impl IntoIterator<Item: AsRef<str>>,
) -> Result<(Input, Vec<Override>), Error> {
    common::assumed(flags)?.apply(input.clone(), &decide(input))
}

fn predict(input: &Input, flags: impl IntoIterator<Item: AsRef<str>>) -> Result<Decision, Error> {
    Ok(decide(&assume(input, flags)?.0))
}

/// The first field of the recorded answer that a decision does not have.
fn difference(decision: &Decision, expected: &Value) -> Option<String> {
    let mut got = json!(decision.outcome);
    got["proposal"] = json!(decision.proposal);
    ["proposal", "scaleTo", "status", "events", "error"]
        .into_iter()
        .find_map(|path| first_difference(path, &got[path], &expected[path]))
}

/// Runs a comparison over all recorded passes. It returns nothing where it does not apply, or else what
/// differs, or whether the answer would have been another one without the override, which must be so
/// `at_least` this often.
fn over_recorded(at_least: usize, compare: impl Fn(&Case, Input) -> Option<Result<bool, String>>) {
    let mut applied = 0;
    let mut wrong = Vec::new();
    for (case, input) in recorded::inputs() {
        match compare(case, input.clone()) {
            None => {}
            Some(Ok(other)) => applied += usize::from(other),
            Some(Err(e)) => wrong.push(format!("{}: {e}", case.name)),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ, {applied} do not:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        applied >= at_least,
        "it made a difference to {applied} passes only"
    );
}

/// Compares what is predicted with what was recorded.
fn as_recorded(case: &Case, input: &Input, flags: &[String]) -> Result<bool, String> {
    let before = decide(input);
    let assumed = common::assumed(flags).and_then(|own| own.apply(input.clone(), &before));
    let (assumed, _) = assumed.map_err(|e| format!("{flags:?}: {e}"))?;
    match difference(&decide(&assumed), &case.expected) {
        None => Ok(difference(&before, &case.expected).is_some()),
        Some(e) => Err(format!("{flags:?}: {e}")),
    }
}

/// The metric as it is typed, where that is unambiguous.
fn typed(input: &Input, index: usize) -> Option<String> {
    let metrics = &input.snapshot.hpa.spec.metrics;
    let name = |spec: &MetricSpec| match spec.selector() {
        selector if selector.is_empty() => spec.name().to_owned(),
        selector => format!("{}{{{selector}}}", spec.name()),
    };
    let own = name(&metrics[index]);
    let alone = metrics
        .iter()
        .filter(|spec| spec.name() == metrics[index].name())
        .count()
        == 1;
    (alone && !own.is_empty()).then_some(own)
}

fn milli(value: i64) -> String {
    format!("{value}m")
}

#[test]
fn a_value_that_is_put_back_gives_the_recorded_answer() {
    over_recorded(135, |case, mut input| {
        let mut flags = Vec::new();
        for index in 0..input.snapshot.hpa.spec.metrics.len() {
            let total = match &input.snapshot.metrics[index] {
                MetricAnswer::Object(values) if values.len() == 1 => values[0].value,
                MetricAnswer::External(values) if !values.is_empty() => {
                    values.iter().try_fold(0i64, |sum, value| {
                        let inside = value.value >= 0;
                        sum.checked_add(value.value).filter(|_| inside)
                    })?
                }
                _ => continue,
            };
            let Some(name) = typed(&input, index).filter(|_| total >= 0) else {
                continue;
            };
            flags.push(format!("--metric={name}={}", milli(total)));
            input.snapshot.metrics[index] = MetricAnswer::Failed("gone".to_owned());
        }
        (!flags.is_empty()).then(|| as_recorded(case, &input, &flags))
    });
}

#[test]
fn what_each_pod_used_gives_the_recorded_answer() {
    over_recorded(113, |case, mut input| {
        let [spec] = &input.snapshot.hpa.spec.metrics[..] else {
            return None;
        };
        let (name, container) = (spec.name().to_owned(), spec.container().map(str::to_owned));
        let scale = input.snapshot.scale.clone().ok()?;
        let selector = scale.selector.parsed().ok().filter(|own| !own.is_empty())?;
        let of_target = |pod: &str| {
            let pods = &input.snapshot.pods;
            pods.iter()
                .any(|p| *p.name == *pod && selector.matches(&p.labels))
        };
        let mut values = Vec::new();
        match &mut input.snapshot.metrics[0] {
            MetricAnswer::PodMetrics => {
                for pod in &mut input.snapshot.pod_metrics {
                    let own = |c: &&mut kubectl_hpa::snapshot::metric::ContainerUsage| {
                        container.as_ref().is_none_or(|name| **name == *c.name)
                    };
                    // A pod counts only with all that is asked of it.
                    let mut sum = None;
                    for usage in pod.containers.iter_mut().filter(own) {
                        let (_, milli) = usage.usage.iter_mut().find(|(n, _)| *n == name)?;
                        let was = std::mem::replace(milli, 3);
                        sum = Some(sum.unwrap_or(0i64).checked_add(was)?);
                    }
                    values.extend(sum.map(|sum| (pod.name.clone(), sum)));
                }
            }
            MetricAnswer::Pods(list) => {
                for value in list {
                    values.push((value.pod.clone(), std::mem::replace(&mut value.value, 3)));
                }
            }
            _ => return None,
        }
        if values.is_empty()
            || values
                .iter()
                .any(|(pod, value)| *value < 0 || !of_target(pod))
        {
            return None;
        }
        let flags: Vec<String> = values
            .iter()
            .map(|(pod, value)| format!("--pod={pod}:{name}={}", milli(*value)))
            .collect();
        Some(as_recorded(case, &input, &flags))
    });
}

/// The proposal depends on the share alone, unless values are filled in for pods.
#[test]
fn a_share_or_average_gives_the_recorded_proposal() {
    over_recorded(54, |case, mut input| {
        let [spec] = &input.snapshot.hpa.spec.metrics[..] else {
            return None;
        };
        let name = spec.name().to_owned();
        let step = decide(&input)
            .trace
            .into_iter()
            .find_map(|step| match step {
                Step::ComputeMetric(metric) => Some(metric),
                _ => None,
            })?;
        match &step.result {
            MetricResult::Proposal(proposal) if proposal.filled.is_none() => {}
            _ => return None,
        }
        // Metrics of pods that are not there keep what they are, and count in an average.
        if step.pods.is_empty() || step.strangers > 0 {
            return None;
        }
        let part = ["resource", "containerResource", "pods"]
            .into_iter()
            .find_map(|part| case.expected["status"]["currentMetrics"][0].get(part))?;
        let current = &part["current"];
        let value = match (&current["averageUtilization"], &current["averageValue"]) {
            (Value::Number(percent), _) => format!("{percent}%"),
            (_, Value::String(average)) if !average.starts_with('-') => average.clone(),
            _ => return None,
        };
        for pod in &mut input.snapshot.pod_metrics {
            for (_, milli) in pod.containers.iter_mut().flat_map(|c| &mut c.usage) {
                *milli = 3;
            }
        }
        if let MetricAnswer::Pods(values) = &mut input.snapshot.metrics[0] {
            values.iter_mut().for_each(|value| value.value = 3);
        }
        let flags = [format!("--metric={name}={value}")];
        let check = || {
            let decision = predict(&input, &flags).map_err(|e| format!("{flags:?}: {e}"))?;
            let got = json!({"proposal": decision.proposal, "scaleTo": decision.outcome.scale_to});
            let same = got["proposal"] == case.expected["proposal"]
                && got["scaleTo"] == case.expected["scaleTo"];
            let other = decide(&input).proposal != decision.proposal;
            if same {
                Ok(other)
            } else {
                Err(format!("{flags:?}: {got}"))
            }
        };
        Some(check())
    });
}

#[test]
fn a_metric_that_fails_gives_the_recorded_answer() {
    let text = "the server is currently unable to handle the request \
                (get pods.custom.metrics.k8s.io *)";
    over_recorded(8, |case, mut input| {
        let mut flags = Vec::new();
        for index in 0..input.snapshot.hpa.spec.metrics.len() {
            let spec = &input.snapshot.hpa.spec.metrics[index];
            let failed = MetricAnswer::Failed(text.to_owned());
            if spec.type_ == "Pods" && input.snapshot.metrics[index] == failed {
                flags.push(format!("--metric={}=missing", typed(&input, index)?));
                input.snapshot.metrics[index] = MetricAnswer::Pods(Vec::new());
            }
        }
        (!flags.is_empty()).then(|| as_recorded(case, &input, &flags))
    });
}

#[test]
fn bounds_that_are_put_back_give_the_recorded_answer() {
    over_recorded(112, |case, mut input| {
        let spec = &mut input.snapshot.hpa.spec;
        let (min, max) = (spec.min_replicas?, spec.max_replicas);
        let flags = [format!("--min={min}"), format!("--max={max}")];
        spec.min_replicas = Some(min.saturating_sub(1).max(i32::from(min != 0)));
        spec.max_replicas = max.saturating_add(7);
        admissible(as_recorded(case, &input, &flags))
    });
}

/// What no API server takes is not predicted; some recorded specs are of that kind.
fn admissible(result: Result<bool, String>) -> Option<Result<bool, String>> {
    match result {
        Err(e) if e.contains("is invalid") || e.contains("drops this field") => None,
        result => Some(result),
    }
}

#[test]
fn a_behavior_that_is_put_back_gives_the_recorded_answer() {
    over_recorded(179, |case, mut input| {
        let spec = &mut input.snapshot.hpa.spec;
        let was = spec.behavior.take();
        let flags = [format!("--set=behavior={}", json!(was))];
        if was.is_none() {
            spec.behavior = Some(Behavior::default());
        }
        admissible(as_recorded(case, &input, &flags))
    });
}

#[test]
fn a_target_that_is_put_back_gives_the_recorded_answer() {
    over_recorded(266, |case, mut input| {
        let mut flags = Vec::new();
        for index in 0..input.snapshot.hpa.spec.metrics.len() {
            let Some(name) = typed(&input, index) else {
                continue;
            };
            let spec = &mut input.snapshot.hpa.spec.metrics[index];
            let targets: Vec<&mut MetricTarget> = [
                spec.resource.as_mut().map(|source| &mut source.target),
                spec.container_resource
                    .as_mut()
                    .map(|source| &mut source.target),
                spec.pods.as_mut().map(|source| &mut source.target),
                spec.object.as_mut().map(|source| &mut source.target),
                spec.external.as_mut().map(|source| &mut source.target),
            ]
            .into_iter()
            .flatten()
            .collect();
            for target in targets {
                let other = Some(Quantity::from_milli(7, Format::DecimalSI));
                let was = if let Some(percent) = target.average_utilization.replace(3) {
                    format!("{percent}%")
                } else if let Some(value) = target.value.take() {
                    target.average_utilization = None;
                    target.value = other;
                    value.to_string()
                } else {
                    target.average_utilization = None;
                    std::mem::replace(&mut target.average_value, other)?.to_string()
                };
                flags.push(format!("--target={name}={was}"));
            }
        }
        (!flags.is_empty()).then(|| admissible(as_recorded(case, &input, &flags)))?
    });
}

/// A manifest replaces an HPA that has other metrics.
#[test]
fn a_candidate_gives_the_recorded_answer() {
    over_recorded(390, |case, _| {
        let mut items: Value = serde_json::from_str(case.input.get()).expect("JSON");
        let list = items["items"].as_array_mut().expect("a list");
        let hpa = list.iter_mut().find(|item| {
            item["kind"] == "HorizontalPodAutoscaler" && item["metadata"]["name"] == "web"
        })?;
        if hpa["apiVersion"] != "autoscaling/v2" {
            return None;
        }
        let mut manifest = hpa.clone();
        manifest["metadata"] = json!({"name": "web"});
        manifest["status"] = Value::Null;
        hpa["spec"] = json!({
            "scaleTargetRef": hpa["spec"]["scaleTargetRef"],
            "minReplicas": 0,
            "maxReplicas": 7,
        });
        let text = manifest.to_string();
        let candidate = common::candidate(&text, "candidate.json", Validate::Strict);
        let candidate = candidate.expect("a manifest");
        let options = Options {
            name: "web".to_owned(),
            namespace: Some("default".to_owned()),
            also: candidate.asked.clone(),
            ..Options::default()
        };
        let input = saved::read(&items.to_string(), &options, Timestamp::UNIX_EPOCH);
        let (input, assumptions) = (input.expect("an input"), common::assuming(candidate));
        let check = || {
            let applied = assumptions.apply(input.clone(), &decide(&input));
            let (assumed, _) = applied.map_err(|e| e.to_string())?;
            let decision = decide(&assumed);
            if !decision.outcome.unread.is_empty() {
                // The recording has no value for a metric that only the candidate has.
                return Ok(false);
            }
            match difference(&decision, &case.expected) {
                None => Ok(difference(&decide(&input), &case.expected).is_some()),
                Some(e) => Err(e),
            }
        };
        admissible(check())
    });
}

/// Four pods that request 100m each, use 50m, and are to use 50 %; a queue of 100.
fn web() -> Input {
    web_beside([])
}

/// Returns the same pods with other objects.
fn web_beside(more: impl IntoIterator<Item = Value>) -> Input {
    let metrics = json!([build::resource("cpu", &build::utilization(50))]);
    let hpa = build::hpa(&json!({"minReplicas": 2, "metrics": metrics}));
    let mut items = vec![hpa, build::scale(4), build::state(&json!({}))];
    for pod in 1..=4 {
        let name = format!("web-{pod}");
        items.extend([build::pod(&name), build::pod_metrics(&name, "50m")]);
    }
    items.extend(more);
    common::read(&build::list(items)).expect("an input")
}

#[test]
fn answers_follow_from_the_rules() {
    let pods = "--set=behavior.scaleUp.policies[0].type=Pods \
                --set=behavior.scaleUp.policies[0].value=1 \
                --set=behavior.scaleUp.policies[0].periodSeconds=15";
    // Where less is asked for than there is, the seeded recommendation of 4 holds for 5m.
    for (flags, proposal, replicas, because) in [
        ("", Some(4), 4, "50 % of 50 %"),
        ("--cpu=90%", Some(8), 8, "90/50 x 4 = 7.2, rounded up"),
        ("--cpu=90m", Some(8), 8, "the same as an amount"),
        ("--cpu=+80%", Some(8), 8, "50m and 80 % of it"),
        ("--cpu=x1.8", Some(8), 8, "50m times 1.8"),
        ("--cpu=-40%", Some(3), 4, "30/50 x 4 = 2.4, rounded up"),
        (
            "--cpu=54%",
            Some(4),
            4,
            "54/50 = 1.08 is within the tolerance of 0.1",
        ),
        (
            "--cpu=56%",
            Some(5),
            5,
            "56/50 = 1.12 is not: 4.48, rounded up",
        ),
        (
            "--cpu=112.9%",
            Some(9),
            8,
            "truncated to 112: 8.96; at most twice as many",
        ),
        ("--cpu=missing", None, 4, "without a metric nothing changes"),
        (
            "--cpu=90% --replicas=2",
            Some(4),
            4,
            "90/50 x 2 = 3.6; at most max(2 x 2, 4)",
        ),
        (
            "--cpu=90% --replicas=6",
            Some(11),
            11,
            "90/50 x 6 = 10.8, rounded up",
        ),
        (
            "--cpu=90% --replicas=+2",
            Some(11),
            11,
            "the same as two more than 4",
        ),
        ("--cpu=90% --replicas=-2", Some(4), 4, "and as two fewer"),
        (
            "--replicas=6",
            Some(6),
            6,
            "further pods use the average, so the ratio stays 1",
        ),
        ("--replicas=0", None, 0, "zero replicas disable scaling"),
        (
            "--cpu=90% --unready=1",
            Some(6),
            6,
            "270 of 400 = 67 %: 67/50 x 4 = 5.36",
        ),
        (
            "--cpu=90% --unready=web-2",
            Some(6),
            6,
            "whichever pod it is",
        ),
        (
            "--cpu=20% --unready=2",
            Some(1),
            4,
            "left out scaling down: 20/50 x 2 = 0.8",
        ),
        (
            "--cpu=90% --missing=1",
            Some(6),
            6,
            "a missing pod counts as 0 scaling up",
        ),
        (
            "--cpu=10% --missing=1",
            Some(3),
            4,
            "and as 100 % down: 130 of 400 = 32 %: 2.56",
        ),
        (
            "--cpu=90% --pending=2",
            Some(4),
            4,
            "180 of 400 = 45 %: 0.9 is within the tolerance",
        ),
        (
            "--cpu=90% --pending=3",
            Some(4),
            4,
            "90 of 400 = 22 %: the direction would flip",
        ),
        ("--cpu=300%", Some(24), 8, "one pass at most doubles"),
        ("--pod=web-1:cpu=210m", Some(8), 8, "360 of 400 = 90 %"),
        (
            "--pod=web-1:cpu=210%",
            Some(8),
            8,
            "the same as a share of its request",
        ),
        ("--pod=web-1:cpu=x4.2", Some(8), 8, "the same as a multiple"),
        (
            "--pod=web-1:cpu=missing --cpu=10%",
            Some(3),
            4,
            "a missing pod as 100 %: 2.56",
        ),
        (
            "--min=6",
            None,
            6,
            "below the minimum the metrics are ignored",
        ),
        ("--max=3", None, 3, "nor above the maximum"),
        ("--cpu=90% --max=6", Some(8), 6, "the maximum"),
        ("--target=cpu=25%", Some(8), 8, "50/25 x 4"),
        ("--target=cpu=25m", Some(8), 8, "50m over 25m x 4"),
        (
            "--set=metrics[0].resource.target.averageUtilization=25",
            Some(8),
            8,
            "the same",
        ),
        (
            &format!("--cpu=300% {pods}"),
            Some(24),
            5,
            "a policy of 1 pod",
        ),
        (
            "--cpu=300% --set=behavior.scaleUp.selectPolicy=Disabled",
            Some(24),
            4,
            "disabled",
        ),
    ] {
        let decision = predict(&web(), flags.split_whitespace());
        let decision = decision.unwrap_or_else(|e| panic!("{flags}: {e}"));
        let answer = (decision.proposal, decision.replicas_after());
        assert_eq!(answer, (proposal, Some(replicas)), "{flags}: {because}");
    }
}

/// The controller truncates the share of all pods to whole percents.
#[test]
fn a_share_of_the_only_pod_is_the_share_of_all_pods() {
    let mut input = web();
    input.snapshot.pods.truncate(1);
    input.snapshot.pod_metrics.truncate(1);
    for (share, used) in [("80%", 80), ("80.5%", 80), ("33.3%", 33), ("0.5%", 0)] {
        for flag in ["--cpu=", "--pod=web-1:cpu="] {
            let flag = format!("{flag}{share}");
            let decision = predict(&input, [&flag]).expect("a decision");
            let cpu = decision.metric(0).expect("cpu");
            assert_eq!(cpu.pods[0].value, Some(used), "{flag}");
        }
    }
}

/// web-4 has no metrics, so it is missing already, and without it nothing would change.
#[test]
fn a_number_of_pods_is_taken_from_those_that_count() {
    let mut input = web();
    input
        .snapshot
        .pod_metrics
        .retain(|sample| *sample.name != *"web-4");
    for (flags, pods) in [
        ("--unready=2", "web-2, web-3"),
        ("--missing=1", "web-3"),
        ("--missing=4", "web-4, web-1, web-2, web-3"),
        ("--replicas=5 --missing=1", "web-3"),
    ] {
        let assumed = assume(&input, flags.split_whitespace());
        let (_, overrides) = assumed.unwrap_or_else(|e| panic!("{flags}: {e}"));
        let own = overrides
            .iter()
            .find(|own| !own.pods.is_empty())
            .expect("pods");
        assert_eq!(own.assumed, pods, "{flags}");
    }
}

/// A pod that has just started may be their model: the newest, which a rollout has replaced first. It also shows which
/// containers they have.
#[test]
fn pods_that_are_added_are_ready_as_of_long_ago() {
    let mut input = web();
    let now = input.snapshot.now;
    input.snapshot.pods[1].name = "web-10".into();
    input.snapshot.pods[1].containers[0].requests =
        serde_json::from_value(json!({"cpu": "1"})).expect("requests");
    let measured = &mut input.snapshot.pod_metrics[1];
    measured.name = "web-10".into();
    measured.containers[0].name = "new".into();
    for pod in &mut input.snapshot.pods {
        pod.start_time = Some(now - SignedDuration::from_secs(60));
    }
    input.snapshot.pods[1].start_time = Some(now - SignedDuration::from_secs(59));
    let assumptions = common::assumed(&["--replicas=+2"]).expect("assumptions");
    let (changed, _) = assumptions.apply(input.clone(), &decide(&input)).unwrap();
    let starts = changed.snapshot.pods.iter().map(|pod| pod.start_time);
    let recent = Some(now - SignedDuration::from_hours(1));
    assert_eq!(starts.filter(|start| *start > recent).count(), 4);
    let requests = changed.snapshot.pods[4..].iter();
    let mut requests = requests.map(|pod| pod.containers[0].requests.0[0].1.milli_value());
    assert!(requests.all(|request| request == 1000));
    let mut measured = changed.snapshot.pod_metrics[4..].iter();
    assert!(measured.all(|item| *item.containers[0].name == *"new"));
}

/// A pod of another owner uses 450m of the 500m that it requests. It counts, but only its owner changes it or deletes it:
/// it is no model for others either, although it is the newest, and the first by name.
#[test]
fn a_pod_of_another_owner_stays_as_it_is() {
    let owner = build::owned_by("apps/v1", "StatefulSet", "db");
    let own = json!({"metadata": {"ownerReferences": owner}, "status": {"startTime": "2026-11-21T05:50:00Z"},
        "spec": {"containers": [build::requesting("app", "500m")]}});
    let input = web_beside([
        build::with(build::pod("db-0"), &own),
        build::pod_metrics("db-0", "450m"),
    ]);
    let container = build::with(build::requesting("app", "200m"), &json!({"image": "web"}));
    let template = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [container]}}},
    });
    let candidate = common::candidate(&template.to_string(), "web.json", Validate::Ignore);
    let candidate = common::assuming(candidate.expect("one"));
    let read = |flags: &str| common::assumed(flags.split_whitespace()).expect("assumptions");
    let split = |of: &Input| -> (Vec<Pod>, Vec<Pod>) {
        let pods = of.snapshot.pods.iter().map(|pod| Pod::clone(pod));
        pods.partition(|pod| pod.is_foreign)
    };
    for (assumptions, request, pods, proposal, because) in [
        (read(""), 100, 4, 8, "650 of 900 = 72 %: 72/50 x 5 = 7.2"),
        (read("--replicas=4"), 100, 4, 8, "the same"),
        (read("--replicas=2"), 100, 2, 5, "550 of 700 = 78 %: 4.68"),
        (
            read("--replicas=+2"),
            100,
            6,
            10,
            "750 of 1100 = 68 %: 9.52",
        ),
        (
            read("--unready=4"),
            100,
            4,
            4,
            "450 of 900 = 50 %, from 90 %",
        ),
        (read("--request=cpu=x2"), 200, 4, 4, "650 of 1300 = 50 %"),
        (candidate, 200, 4, 4, "the same as a template"),
    ] {
        let (changed, _) = assumptions
            .apply(input.clone(), &decide(&input))
            .expect(because);
        let (foreign, own) = split(&changed);
        assert_eq!((foreign.len(), foreign), (1, split(&input).0), "{because}");
        let requests = own
            .iter()
            .map(|pod| pod.containers[0].requests.0[0].1.milli_value());
        assert_eq!(Vec::from_iter(requests), vec![request; pods], "{because}");
        assert_eq!(decide(&changed).proposal, Some(proposal), "{because}");
    }
}

/// Without any pod, nothing tells what new ones would be like.
#[test]
fn no_pods_are_assumed_without_a_model() {
    let mut input = web();
    input.snapshot.pods.clear();
    for (flag, replicas) in [
        ("--replicas=1", "1 replica"),
        ("--replicas=3", "3 replicas"),
    ] {
        let assumptions = common::assumed(&[flag]).expect("assumptions");
        let applied = assumptions.apply(input.clone(), &decide(&input));
        let (changed, _) = applied.unwrap_or_else(|e| panic!("{flag}: {e}"));
        let said = format!("no pod can serve as a model, so no pods are assumed for {replicas}");
        let mut notes = changed.notes.iter();
        assert!(notes.any(|note| note.text == said), "{:?}", changed.notes);
    }
}

/// Each pod is visited a few times, however many are chosen: this takes minutes if each one is searched for.
#[test]
fn half_of_many_pods_are_put_in_a_state_at_once() {
    let input = web();
    let flags = ["--replicas=60000", "--missing=20000", "--pending=10000"];
    let assumptions = common::assumed(&flags).expect("assumptions");
    let (Input { snapshot, .. }, _) = assumptions.apply(input.clone(), &decide(&input)).unwrap();
    let pending = snapshot.pods.iter();
    let pending = pending.filter(|pod| pod.phase == Phase::Pending).count();
    assert_eq!((pending, snapshot.pod_metrics.len()), (10_000, 30_000));
}

/// Whoever assumes that pods are down knows why, so nothing is said about them that asks for an action.
#[test]
fn pods_that_are_assumed_to_be_down_are_no_problem() {
    const CODES: [Code; 3] = [Code::NeverReady, Code::UncountedPods, Code::MetricEmpty];
    let advice = |pass: &Pass| -> String {
        let findings = Explanation::new(pass).findings;
        let found = findings.iter().filter(|it| CODES.contains(&it.code));
        let warns =
            |it: &FindingView| it.severity < Severity::Info && pass.decision.proposal.is_some();
        let said = found.map(|it| it.advice() + if warns(it) { "!" } else { "" });
        said.collect()
    };
    let assumed =
        |input: &Input, flags: &str| Pass::run(assume(input, flags.split_whitespace()).unwrap().0);
    let mut input = web();
    for flags in [
        "--unready=2",
        "--pending=2",
        "--pending=2 --cpu=95%",
        "--pending=4",
        "--missing=2 --cpu=95%",
        "--missing=4",
        "--replicas=6 --unready=web-1 --pending=web-2",
    ] {
        let mut pass = assumed(&input, flags);
        assert_eq!(advice(&pass), "", "{flags}");
        pass.input.observed = None;
        for pod in &mut pass.input.snapshot.pods {
            pod.assumed_missing.clear();
        }
        assert_ne!(advice(&pass), "", "{flags}: the pods are old");
    }
    // Nor does a target that is off lack the pods of the replicas that are assumed.
    let mut off = input.clone();
    off.snapshot.pods.clear();
    let scale = off.snapshot.scale.as_mut().expect("a scale");
    (scale.spec_replicas, scale.status_replicas) = (0, 0);
    let pass = assumed(&off, "--replicas=3");
    assert_eq!(Explanation::new(&pass).findings.len(), 0);
    // Nor does one that was switched on a moment ago.
    off.snapshot.scale.as_mut().expect("a scale").spec_replicas = 3;
    for flags in ["--replicas=3", "--replicas=5"] {
        let found = Explanation::new(&assumed(&off, flags)).findings;
        let codes = Vec::from_iter(found.iter().map(|it| it.code));
        assert!(!codes.contains(&Code::SelectorMatchesNothing), "{codes:?}");
    }
    // Nor does a StatefulSet wait for such a pod.
    let mut set = input.clone();
    let hpa = &mut set.snapshot.hpa;
    hpa.spec.scale_target_ref.kind = "StatefulSet".to_owned();
    hpa.status.last_scale_time = "2026-11-21T05:00:00Z".parse().ok();
    (hpa.status.current_replicas, hpa.status.desired_replicas) = (6, 6);
    set.snapshot.scale.as_mut().expect("a scale").spec_replicas = 6;
    let advice_on_lack = |input: &Input, flags: &str| {
        let findings = Explanation::new(&assumed(input, flags)).findings;
        let mut findings = findings.iter();
        let lacks = findings.find(|it| it.code == Code::ReplicasWithoutPods);
        lacks.map(FindingView::remedy)
    };
    let told = advice_on_lack(&set, "--cpu=95% --unready=web-4");
    assert_eq!(told, Some(Remedy::FindQuota));
    let last_in = |status: &Value| -> Pod {
        let pod = build::with(build::pod("web-4"), &json!({ "status": status }));
        serde_json::from_value(pod).unwrap()
    };
    // A pod that starts is not pending in fact.
    let unready =
        |at: &str| json!([{"type": "Ready", "status": "False", "lastTransitionTime": at}]);
    let start = "2026-11-21T05:50:00Z";
    // But it does wait for a pod that is actually unready, which is not assumed.
    let old = "2026-11-21T05:00:00Z";
    let flaps = last_in(&json!({"startTime": old, "conditions": unready(start)}));
    set.snapshot.pods[3] = flaps.clone().into();
    for flags in ["", "--unready=web-4", "--pending=web-4", "--missing=web-4"] {
        let told = advice_on_lack(&set, &format!("--cpu=95% {flags}"));
        assert_eq!(told, Some(Remedy::FindUnready), "{flags}");
    }
    // Such a pod counts, so only the assumption removes its values; a pod that actually lacks them is reported.
    let mut counted = input.clone();
    counted.snapshot.pods[3] = flaps.into();
    let pass = assumed(&counted, "--cpu=95% --missing=web-4");
    assert_eq!(advice(&pass), "");
    let one = assumed(&input, "--pod=web-4:cpu=missing");
    assert_eq!(advice(&one), "");
    let mut unmeasured = input.clone();
    unmeasured.snapshot.pod_metrics.pop();
    // A value of another metric does not matter.
    let rps = build::per_pod("rps", "10");
    let metrics = &mut unmeasured.snapshot.hpa.spec.metrics;
    metrics.push(serde_json::from_value(rps).expect("a metric"));
    let values = unmeasured.snapshot.pods.iter().map(|pod| PodValue {
        pod: pod.name.clone(),
        value: 1000,
        timestamp: unmeasured.snapshot.now,
        window: SignedDuration::from_secs(60),
    });
    let values = MetricAnswer::Pods(values.collect());
    unmeasured.snapshot.metrics.push(values);
    for flags in [
        "",
        "--unready=web-4",
        "--missing=web-4",
        "--pod=web-4:rps=missing",
    ] {
        let told = "Find out why the metrics API has no values for some pods.!";
        let pass = assumed(&unmeasured, &format!("--cpu=95% {flags}"));
        assert_eq!(advice(&pass), told, "{flags}");
    }
    // Nor does a value that a pod actually lacks explain the missing value of another metric.
    let mut without_rps = unmeasured;
    without_rps.snapshot.pod_metrics = input.snapshot.pod_metrics.clone();
    if let Some(MetricAnswer::Pods(values)) = without_rps.snapshot.metrics.last_mut() {
        values.pop();
    }
    for flags in [
        "--missing=4",
        "--cpu=app=missing",
        "--pod=web-4:cpu=missing",
    ] {
        assert_eq!(advice(&assumed(&without_rps, flags)), "", "{flags}");
    }
    // Where no pod has a value, neither one that is added nor one that is stated explains the others.
    let mut empty = input.clone();
    empty.snapshot.pod_metrics.clear();
    for (flags, told) in [
        (
            "--replicas=+1",
            "Make sure that metrics-server scrapes the nodes of these pods.",
        ),
        (
            "--pod=web-4:cpu=200%",
            "Find out why the metrics API has no values for some pods.!",
        ),
    ] {
        assert_eq!(advice(&assumed(&empty, flags)), told, "{flags}");
    }
    input.snapshot.pods[3] =
        last_in(&json!({"startTime": start, "conditions": unready(start)})).into();
    assert_eq!(advice(&assumed(&input, "--cpu=95% --pending=web-4")), "");
    // What keeps a pod from running is reported even if the pod is also assumed to be unready.
    let waits = json!({"waiting": {"reason": "CrashLoopBackOff"}});
    let crashes = json!({"startTime": "2026-11-21T05:00:00Z", "conditions": unready(start),
        "containerStatuses": [{"name": "app", "state": waits}]});
    input.snapshot.pods[3] = last_in(&crashes).into();
    input.snapshot.pod_metrics.pop();
    for flags in [
        "--cpu=95%",
        "--cpu=95% --unready=web-4",
        "--cpu=95% --unready=web-1 --unready=web-4",
    ] {
        let told = "Find out why app does not run in web-4: CrashLoopBackOff.!";
        assert_eq!(advice(&assumed(&input, flags)), told, "{flags}");
    }
}

/// Advice does not change running objects if a template is only assumed.
#[test]
fn running_objects_are_not_changed_for_an_assumed_template() {
    let input = |metric: Value, container: Value| {
        let target = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}},
        });
        let owner = build::owned_by("apps/v1", "ReplicaSet", "web-5d");
        let labels = json!({"app": "web", "pod-template-hash": "5d"});
        let own = json!({"metadata": {"labels": labels, "ownerReferences": owner},
            "spec": {"containers": [container]}});
        let items = [
            build::hpa(&json!({"maxReplicas": 20, "metrics": [metric]})),
            build::scale(1),
            build::state(&json!({})),
            target,
            build::with(build::pod("web-0"), &own),
            build::pod_metrics("web-0", "50m"),
        ];
        common::read(&build::list(items)).expect("a state")
    };
    let cpu = build::resource("cpu", &build::utilization(50));
    let near = build::resource_of("cpu", "ap", &build::utilization(50));
    let (bare, app) = (json!({"name": "app"}), build::requesting("app", "100m"));
    for (metric, container, flags, command) in [
        (&cpu, &bare, &[][..], Some("kubectl set resources")),
        (&cpu, &bare, &["--cpu=60m"], Some("kubectl set resources")),
        (&cpu, &app, &["--request=cpu=0"], None),
        (&cpu, &app, &["--request=cpu=2m"], None),
        (&near, &app, &[], Some("kubectl patch hpa")),
        (&near, &app, &["--request=app=cpu=200m"], None),
    ] {
        let input = input(metric.clone(), container.clone());
        let assumptions = common::assumed(flags).expect("assumptions");
        let decision = decide(&input);
        let pass = Pass::run(assumptions.apply(input, &decision).expect("a state").0);
        let findings = Explanation::new(&pass).findings;
        let commands: Vec<_> = findings.iter().flat_map(FindingView::commands).collect();
        let is_given = |it: &str| commands.iter().any(|own| own.starts_with(it));
        assert!(!findings.is_empty(), "{flags:?}");
        let only_shows = || {
            commands
                .iter()
                .all(|it| it.starts_with("kubectl hpa predict"))
        };
        assert!(
            command.map_or_else(only_shows, is_given),
            "{flags:?}: {commands:?}"
        );
    }
}

/// Pods below a partition keep what the running template did not have either: something injects it.
#[test]
fn pods_that_are_left_have_the_running_template() {
    let app = build::requesting("app", "100m");
    for partition in 0..4 {
        let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}},
                "updateStrategy": {"rollingUpdate": {"partition": partition}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [app]}}},
            "status": {"replicas": 3, "updatedReplicas": 3, "updateRevision": "web-1"},
        });
        let metrics = [build::resource("cpu", &build::utilization(50))];
        let hpa = build::hpa(&json!({"scaleTargetRef": target, "metrics": metrics}));
        let mut items = vec![hpa, build::scale(3), build::state(&json!({})), set];
        let owner = build::owned_by("apps/v1", "StatefulSet", "web");
        let labels = json!({"controller-revision-hash": "web-1"});
        let injected = json!({"metadata": {"labels": labels, "ownerReferences": owner},
            "spec": {"containers": [app, {"name": "istio-proxy"}]}});
        for name in ["web-0", "web-1", "web-2"] {
            items.push(build::with(build::pod(name), &injected));
            items.push(build::pod_metrics(name, "50m"));
        }
        let input = common::read(&build::list(items)).expect("a state");
        let assumptions = common::assumed(&["--request=app=cpu=200m"]).expect("assumptions");
        let decision = decide(&input);
        let pass = Pass::run(assumptions.apply(input, &decision).expect("a state").0);
        let findings = Explanation::new(&pass).findings.into_iter();
        let mut missing = findings.filter(|it| it.code == Code::MissingRequest);
        let remedy = missing.next().map(|it| it.remedy());
        assert_eq!(remedy, Some(Remedy::Annotate), "{partition}");
    }
}

/// A StatefulSet fills the gaps in its ordinals first. An added pod has the template of its ordinal, as pods that run.
#[test]
fn added_pods_have_the_template_of_their_ordinal() {
    let answer = |pods: &[usize], ordinals: Value| {
        let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
        let set = json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "ordinals": ordinals,
                "updateStrategy": {"rollingUpdate": {"partition": 2}},
                "template": {"metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [build::requesting("app", "100m")]}}},
        });
        let metrics = [build::resource("cpu", &build::utilization(50))];
        let hpa = build::hpa(&json!({"scaleTargetRef": target, "metrics": metrics}));
        let mut items = vec![hpa, build::scale(3), build::state(&json!({})), set];
        for name in pods.iter().map(|ordinal| format!("web-{ordinal}")) {
            items.extend([build::pod(&name), build::pod_metrics(&name, "50m")]);
        }
        let input = common::read(&build::list(items)).expect("a state");
        let typed = ["--request=cpu=200m", "--replicas=4"];
        let assumptions = common::assumed(&typed).expect("assumptions");
        let decision = decide(&input);
        let snapshot = assumptions
            .apply(input, &decision)
            .expect("a state")
            .0
            .snapshot;
        let pods = snapshot.pods.iter().map(|pod| {
            let request = pod.containers[0].requests.get("cpu").expect("a request");
            format!("{} {}", pod.name, request.milli_value())
        });
        Vec::from_iter(pods).join(", ")
    };
    for (pods, ordinals, expected) in [
        (
            &[0, 1][..],
            json!(null),
            "web-0 100, web-1 100, web-2 200, web-3 200",
        ),
        (
            &[0, 2, 3],
            json!(null),
            "web-0 100, web-2 200, web-3 200, web-1 100",
        ),
        (
            &[1, 2, 3],
            json!(null),
            "web-1 100, web-2 200, web-3 200, web-0 100",
        ),
        (
            &[6, 7],
            json!({"start": 5}),
            "web-6 100, web-7 200, web-5 100, web-8 200",
        ),
    ] {
        assert_eq!(answer(pods, ordinals), expected);
    }
}

/// A manifest also says how its pods get its template. A partition leaves those that were made before.
#[test]
fn advice_follows_the_strategy_of_a_manifest() {
    let set = |strategy: Value, request: Option<&str>| {
        let requests = request.map(|cpu| json!({"requests": {"cpu": cpu}}));
        let container = json!({"name": "app", "image": "shop", "resources": requests});
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "serviceName": "web",
                "updateStrategy": strategy,
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}},
        })
    };
    let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
    let metrics = [build::resource("cpu", &build::utilization(50))];
    let hpa = build::hpa(&json!({"scaleTargetRef": target, "maxReplicas": 9, "metrics": metrics}));
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    let on_delete = json!({"type": "OnDelete"});
    let partition = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 1}});
    for (running, of_pods, manifest, request, want) in [
        (
            &on_delete,
            Some("100m"),
            json!({}),
            None,
            "in StatefulSet/web.",
        ),
        (
            &on_delete,
            None,
            partition.clone(),
            Some("200m"),
            "Lower partition (1) to 0 in the update strategy.",
        ),
        (
            &partition,
            Some("100m"),
            on_delete.clone(),
            None,
            "Then delete the pods one by one: the update strategy is OnDelete.",
        ),
    ] {
        let mut stated = set(running.clone(), of_pods);
        stated["status"] = json!({"replicas": 2, "updatedReplicas": 2, "updateRevision": "web-1"});
        let mut items = vec![
            hpa.clone(),
            build::scale(2),
            build::state(&json!({})),
            stated,
        ];
        let own = json!({"metadata": {"labels": {"controller-revision-hash": "web-1"},
            "ownerReferences": build::owned_by("apps/v1", "StatefulSet", "web")}});
        for name in ["web-0", "web-1"] {
            let mut pod = build::with(build::pod(name), &own);
            if of_pods.is_none() {
                pod["spec"]["containers"] = json!([{"name": "app"}]);
            }
            items.push(pod);
            items.push(build::pod_metrics(name, "50m"));
        }
        let (state, rendered) = (path("state.json"), path("rendered.json"));
        std::fs::write(&state, build::list(items)).expect("a file");
        let manifests = [hpa.clone(), set(manifest, request)];
        std::fs::write(&rendered, build::list(manifests)).expect("a file");
        let args = [
            "predict", "web", "-f", &state, "--hpa", &rendered, "-o", "json",
        ];
        let Ran { stdout, stderr, .. } = run(program().args(args));
        let answer: Value = serde_json::from_str(&stdout).expect(&stderr);
        let findings = answer["findings"].as_array().expect("findings");
        let mut missing = findings.iter().filter(|it| it["code"] == "missing-request");
        let advice = missing
            .next()
            .map(|it| it["advice"].as_str().expect("a text"));
        assert!(
            advice.is_some_and(|it| it.ends_with(want)),
            "{want} {answer}"
        );
    }
}

/// No one has set replicas that are assumed. `web` has four, of which the last pass knew three.
#[test]
fn replicas_that_are_assumed_have_no_writer() {
    let mut input = web();
    let target = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", "managedFields": [{"manager": "helm",
            "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}},
    });
    let mut objects = Objects::default();
    read_text(&build::list([target]), "state", &mut objects).expect("a target");
    input.surroundings.workloads = objects.workloads.into();
    (
        input.snapshot.hpa.status.current_replicas,
        input.snapshot.hpa.status.desired_replicas,
    ) = (3, 3);
    let max = input.snapshot.hpa.spec.max_replicas;
    let found = |flags: &[&str]| {
        let assumed = assume(&input, flags);
        let pass = Pass::run(assumed.unwrap_or_else(|e| panic!("{flags:?}: {e}")).0);
        let findings = serde_json::to_value(Explanation::new(&pass)).expect("JSON");
        let all = findings["findings"].as_array().cloned().unwrap_or_default();
        all.into_iter()
            .filter(|it| it["severity"] != "info" || it["code"] != "held-by-window")
            .map(|it| {
                [&it["code"], &it["severity"], &it["advice"]]
                    .map(|it| it.as_str().unwrap_or_default().to_owned())
            })
            .collect::<Vec<_>>()
    };
    let more = (max + 1).to_string();
    let codes = |flags: &[&str]| {
        found(flags)
            .into_iter()
            .map(|[code, ..]| code)
            .collect::<Vec<_>>()
    };
    assert_eq!(codes(&[]), ["other-writer"]);
    assert_eq!(codes(&["--replicas=4"]), ["other-writer"]);
    assert_eq!(codes(&["--max=2"]), ["other-writer", "above-max"]);
    let above = found(&["--replicas", &more]);
    let advice = format!("Add --max {more} to see what the metrics propose.");
    assert_eq!(above, [["above-max".to_owned(), "info".to_owned(), advice]]);
    let below = found(&["--replicas=2", "--min=3"]);
    let advice = "Use another minReplicas if 2 is right.".to_owned();
    assert_eq!(below, [["below-min".to_owned(), "info".to_owned(), advice]]);
    let off = found(&["--replicas=0"]);
    assert_eq!(off, [["switched-off", "info", ""].map(str::to_owned)]);
}

#[test]
fn running_pods_get_values_where_there_are_none() {
    let flags = ["--cpu=90%"];
    let mut nothing = web();
    nothing.snapshot.pod_metrics.clear();
    let mut failed = web();
    failed.snapshot.metrics[0] = MetricAnswer::Failed("down".to_owned());
    for input in [nothing, failed] {
        // A load gives none to those that are assumed to have none.
        let missing = common::assumed(["--missing=1"]).expect("assumptions");
        let trace = Trace::read(b"time,cpu\n0s,400m\n1m,400m\n", "load.csv").expect("a trace");
        let options = TimelineOptions {
            trace: Some(Arc::new(trace)),
            ..TimelineOptions::default()
        };
        let plan = Plan::new(options, input.clone(), true);
        let plan = plan.beside(std::iter::once(&missing), None);
        let run = plan.run(&missing, &[]).expect("a run").expect("a run");
        let first = run.replay.pass.decision;
        let proposal = first.metrics().next().and_then(|step| step.proposal());
        let counted = proposal.and_then(|it| it.counted).expect("counts");
        assert_eq!((counted.ready, counted.missing), (3, 1));

        assert_eq!(decide(&input).replicas_after(), Some(4));
        assert_eq!(
            predict(&input, &flags).map(|d| d.replicas_after()),
            Ok(Some(8))
        );
        let change = predict(&input, ["--cpu=x2"]).expect_err("nothing was observed");
        assert_eq!(change.message, "cpu: there is no observed value to change");
        // Except those that are assumed to have none.
        let missing = ["--missing=web-4", flags[0]];
        assert_eq!(
            predict(&input, &missing).map(|d| d.replicas_after()),
            Ok(Some(6))
        );
    }
    let missing = ["--missing=4", flags[0]];
    let error = predict(&web(), &missing).expect_err("none has a value");
    assert_eq!(
        error.message,
        "cpu: every running pod is assumed to have no value"
    );
    // One pod without a value among others stays without.
    let mut one = web();
    one.snapshot.pod_metrics.pop();
    assert_eq!(
        predict(&one, &flags).map(|d| d.replicas_after()),
        Ok(Some(6))
    );
}

/// Controllers of v1.30 evaluate no container's metric while a pod lacks the container's usage.
#[test]
fn a_share_needs_the_usage_of_every_container() {
    let metric = build::resource_of("cpu", "app", &build::utilization(50));
    let other = json!({"containers": [{"name": "side", "usage": {"cpu": "50m"}}]});
    let read = common::read(&build::list([
        build::hpa(&json!({"metrics": [metric]})),
        build::scale(2),
        build::state(&json!({"kubernetesVersion": "v1.30.14"})),
        build::pod("web-0"),
        build::pod("web-1"),
        build::pod_metrics("web-0", "50m"),
        build::with(build::pod_metrics("web-1", "50m"), &other),
    ]));
    let input = read.expect("an input");
    let e = predict(&input, ["--cpu=app=60%"]).expect_err("no such usage");
    assert_eq!(
        (&*e.message, e.hint.as_deref()),
        (
            "cpu in app: failed to get cpu utilization: unable to get metrics for resource cpu: failed to get container \
             metrics: container app not present in metrics for pod default/web-1",
            Some(
                "assume no metrics at all for such a pod (--missing POD), or give single pods values (--pod)"
            ),
        )
    );
    for flags in [
        &["--cpu=app=60%", "--missing=web-1"][..],
        &["--pod=web-1:app=cpu=30m"],
    ] {
        assert!(predict(&input, flags).is_ok(), "{flags:?}");
    }
}

/// Runs that differ only in that one has no answer end alike.
#[test]
fn a_run_without_an_answer_is_compared_by_its_replicas() {
    let cpu = build::resource("cpu", &build::utilization(50));
    let bare = json!({"spec": {"containers": [{"name": "app"}]}});
    let input = build::list([
        build::hpa(&json!({"metrics": [cpu]})),
        build::scale(2),
        build::state(&json!({})),
        build::with(build::pod("web-0"), &bare),
        build::with(build::pod("web-1"), &bare),
        build::pod_metrics("web-0", "50m"),
        build::pod_metrics("web-1", "50m"),
    ]);
    let flags = ["--request=app=cpu=100m", "--for=5m"];
    let ran = run(program()
        .args(["predict", "web", "-f", "-"])
        .args(flags)
        .write_stdin(input));
    let said = "THE SAME REPLICAS AS THE REPLAY THROUGHOUT; NO ANSWER FOR 0s INSTEAD OF 5m\n";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
}

#[test]
fn why_no_pod_can_have_a_value_is_said() {
    let error = |change: fn(&mut Snapshot), flag: &str| {
        let mut input = several();
        input.snapshot.pod_metrics.clear();
        change(&mut input.snapshot);
        predict(&input, [flag]).expect_err("no pod")
    };
    let message = |change: fn(&mut Snapshot), flag: &str| {
        let e = error(change, flag);
        assert_eq!(e.kind.exit_code(), 2);
        (e.message, e.hint)
    };
    let stop = |snapshot: &mut Snapshot| {
        snapshot
            .pods
            .iter_mut()
            .for_each(|pod| pod.phase = Phase::Pending);
    };
    assert_eq!(
        message(stop, "--cpu=side=1m"),
        (
            "cpu in side: no pod of the target is running".to_owned(),
            None
        )
    );
    let rename = |snapshot: &mut Snapshot| {
        for pod in &mut snapshot.pods {
            pod.containers
                .iter_mut()
                .for_each(|own| own.name = "web".into());
        }
    };
    assert_eq!(
        message(rename, "--cpu=side=1m"),
        (
            "cpu in side: no running pod has a container side".to_owned(),
            Some("they have web".to_owned())
        )
    );
    let rename_one = |snapshot: &mut Snapshot| {
        let pod = &mut snapshot.pods[0];
        pod.name = "web-0".into();
        pod.containers
            .iter_mut()
            .for_each(|own| own.name = "web".into());
    };
    assert_eq!(
        message(rename_one, "--pod=web-0:side=cpu=1m"),
        (
            "--pod web-0:side=cpu=1m: web-0 has no container side".to_owned(),
            Some("they have web".to_owned())
        )
    );
    let refuse = |snapshot: &mut Snapshot| {
        snapshot.pods.clear();
        let message = "forbidden".to_owned();
        snapshot.pods_unread = Some(UnreadCause::PodsRefused { message });
    };
    let e = error(refuse, "--cpu=side=1m");
    assert_eq!(
        (e.kind.exit_code(), &*e.message),
        (
            1,
            "cpu in side: the pods of the target are unknown: you are not allowed to read them"
        )
    );
    // Metrics that need no pods still depend on the replicas.
    let mut unread = several();
    refuse(&mut unread.snapshot);
    let scaled = predict(&unread, ["--replicas=6"]).expect("an answer");
    assert_eq!(scaled.replicas_before(), Some(6));
}

/// The spec may have a metric several times.
#[test]
fn each_target_is_observed_where_it_is_set() {
    let mut input = web();
    let snapshot = &mut input.snapshot;
    let mut also = snapshot.hpa.spec.metrics[0].clone();
    let target = &mut also.resource.as_mut().expect("cpu").target;
    target.average_utilization = None;
    target.average_value = Some(Quantity::from_milli(60, Format::DecimalSI));
    snapshot.hpa.spec.metrics.push(also);
    snapshot.metrics.push(MetricAnswer::PodMetrics);
    let assumptions = common::assumed(&["--target=cpu=80%"]).expect("assumptions");
    let (_, overrides) = assumptions.apply(input.clone(), &decide(&input)).unwrap();
    let observed: Vec<_> = overrides.iter().filter_map(Override::observed).collect();
    assert_eq!(observed, ["50%", "60m"]);
}

/// Amounts are plain numbers for people, and exact in the JSON.
#[test]
fn amounts_are_plain_beside_what_is_assumed() {
    let mut input = web();
    let exact = Quantity::from_milli(937_872_588_800, Format::BinarySI);
    let target = &mut input.snapshot.hpa.spec.metrics[0]
        .resource
        .as_mut()
        .expect("cpu")
        .target;
    (target.average_utilization, target.average_value) = (None, Some(exact));
    target.type_ = "AverageValue".to_owned();
    let (_, overrides) = assume(&input, ["--target=cpu=1"]).expect("it is");
    let observed = overrides[0].observed.as_ref().expect("a target");
    assert_eq!(
        (&*observed.plain(), &*observed.to_string()),
        ("894.4Mi", "937872588800m")
    );
    assert_eq!(json!(observed), json!("937872588800m"));
    // Below minReplicas, the pass ignores what it comes to.
    let (input, mut overrides) = assume(&web(), ["--replicas=1", "--cpu=x2"]).expect("it is");
    let last = overrides.last_mut().expect("the cpu");
    last.came_to(&input.snapshot, &decide(&input));
    assert_eq!(json!(last.result), json!("100%"));
    // Nor is the usage of a container.
    let (assumed, mut overrides) = assume(&web(), ["--replicas=1", "--cpu=app=x2"]).expect("it is");
    let last = overrides.last_mut().expect("the cpu of app");
    last.came_to(&assumed.snapshot, &decide(&assumed));
    assert_eq!(json!(last.result), json!("100%"));
}

#[test]
fn a_metric_that_is_missing_fails_as_an_api_that_is_down() {
    let decision = predict(&web(), ["--cpu=missing"]).expect("a decision");
    let expected = "failed to get cpu utilization: unable to get metrics for resource cpu: unable \
                    to fetch metrics from resource metrics API: the server is currently unable to \
                    handle the request (get pods.metrics.k8s.io)";
    assert_eq!(
        decision.outcome.events.expect("every metric is read")[0].message,
        expected
    );
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    for (flags, message, hint) in [
        (
            "--cpu=80%%",
            "--cpu 80%%: not a value",
            "a value is a percentage of the request \
                                                         (80%)",
        ),
        ("--cpu=NaN", "--cpu NaN: not a value", "a value is"),
        (
            "--cpu=-250m",
            "--cpu -250m: must not be negative",
            "a value is",
        ),
        (
            "--cpu=-110%",
            "--cpu -110%: must not be negative",
            "a value is",
        ),
        (
            "--cpu=1e400",
            "--cpu 1e400: larger than any metric can be",
            "a value is",
        ),
        (
            "--metric=cpu",
            "--metric cpu: not of the form NAME=VALUE",
            "a value is",
        ),
        ("--metric=rps=1", "the HPA has no metric rps", "it has cpu"),
        (
            "--memory=app=1",
            "the HPA has no metric memory in app",
            "it has cpu",
        ),
        (
            "--target=app=cpu=1m",
            "the HPA has no metric cpu in app",
            "it has cpu",
        ),
        (
            "--cpu=ap=1m",
            "--cpu ap=1m: no pod of the target has a container ap",
            "mean app?",
        ),
        (
            "--cpu=proxy=1m",
            "no pod of the target has a container proxy",
            "they have app",
        ),
        ("--cpu=app=1m --cpu=app=2m", "cpu in app is set twice", ""),
        (
            "--cpu=1m --cpu=app=2m",
            "cpu in app and cpu are based on the same usage",
            "",
        ),
        (
            "--cpu=app=2m --cpu=1m",
            "cpu and cpu in app are based on the same usage",
            "",
        ),
        (
            "--pod=web-1:ap=cpu=1m",
            "web-1 has no container ap",
            "mean app?",
        ),
        (
            "--pod=web-1:app=cpu=1m --pod=web-1:app=cpu=2m",
            "cpu in app of web-1 is set twice",
            "keep one of them",
        ),
        (
            "--pod=web-1:cpu=1m --pod=web-1:app=cpu=2m",
            "cpu in app of web-1 and cpu are based on the same usage",
            "",
        ),
        (
            "--pod=web-1:app=cpu=2m --pod=web-1:cpu=1m",
            "cpu of web-1 and cpu in app are based on the same usage",
            "",
        ),
        (
            "--cpu=missing --pod=web-1:app=cpu=1m",
            "cpu cannot both be missing and have a value of web-1",
            "",
        ),
        ("--memory=1", "the HPA has no metric memory", "it has cpu"),
        ("--cpu=1m --cpu=2m", "cpu is set twice", ""),
        ("--cpu=1m --metric=cpu=2m", "cpu is set twice", ""),
        (
            "--pod=web-1:cpu=1m --pod=web-1:cpu=2m",
            "cpu of web-1 is set twice",
            "keep one of them",
        ),
        (
            "--pod=web-9:cpu=1",
            "the target has no pod web-9",
            "it has web-1, web-2, web-3, web-4",
        ),
        (
            "--pod=web-1",
            "--pod web-1: not of the form POD:METRIC=VALUE",
            "such as",
        ),
        (
            "--unready=5",
            "--unready 5: only 4 pods of the target meet the condition Ready",
            "",
        ),
        (
            "--missing=5",
            "--missing 5: only 4 pods of the target are in the phase Running",
            "",
        ),
        (
            "--unready=web-9",
            "the target has no pod web-9",
            "it has web-1",
        ),
        (
            "--unready=web-1 --pending=web-1",
            "web-1 cannot be both unready and pending",
            "",
        ),
        (
            "--missing=web-1 --pod=web-1:cpu=1m",
            "web-1 cannot both be without metrics and have a value",
            "",
        ),
        (
            "--unready=Web_1",
            "--unready Web_1: not a number or the name of a pod",
            "",
        ),
        (
            "--replicas=-5",
            "--replicas -5: the target has 4 replicas; the result cannot be \
                           negative",
            "",
        ),
        (
            "--replicas -5",
            "--replicas -5: the target has 4 replicas; the result cannot be \
                           negative",
            "",
        ),
        (
            "--replicas=+99997",
            "--replicas +99997: at most 100000 pods can be assumed",
            "",
        ),
        (
            "--replicas=x2",
            "--replicas x2: not a number such as 6 or a change such as +2",
            "",
        ),
        (
            "--replicas=+20%",
            "--replicas +20%: not a number such as 6 or a change such",
            "",
        ),
        (
            "--replicas=99999999999",
            "--replicas 99999999999: at most 100000 pods can",
            "",
        ),
        (
            "--replicas=-99999999999",
            "--replicas -99999999999: no target has that many replicas",
            "",
        ),
        (
            "--replicas=100001",
            "--replicas 100001: at most 100000 pods can be assumed",
            "",
        ),
        ("--unready -1", "--unready -1: must not be negative", ""),
        (
            "--unready 99999999999999999999",
            "--unready 99999999999999999999: too large",
            "",
        ),
        (
            "--min -1",
            "spec.minReplicas: Invalid value: -1",
            "the API server would reject",
        ),
        (
            "--cpu==1",
            "--cpu =1: the container is missing",
            "such as --cpu app=80%",
        ),
        (
            "--cpu=missing --pod=web-1:cpu=1m",
            "cpu cannot both be missing and have a value of web-1",
            "",
        ),
        (
            "--max=1",
            "must be greater than or equal to `minReplicas`",
            "the API server would reject",
        ),
        (
            "--min=0",
            "spec.minReplicas: Invalid value: 0",
            "the API server would reject",
        ),
        (
            "--max=5 --set=maxReplicas=6",
            "maxReplicas is set twice",
            "keep one of them",
        ),
        (
            "--target=cpu=70% --target=cpu=60%",
            "the target of cpu is set twice",
            "keep one of them",
        ),
        (
            "--target=cpu=70% --set=metrics[0].resource.target.averageUtilization=60",
            "the target of cpu and metrics[0].resource.target.averageUtilization are both set",
            "keep one of them",
        ),
        (
            "--target=cpu=70% --set=metrics=[]",
            "the target of cpu and metrics are both set",
            "keep one of them",
        ),
        (
            "--target=cpu",
            "--target cpu: not of the form NAME=VALUE",
            "a target is a whole",
        ),
        (
            "--set=nonsense=null",
            "--set nonsense: the spec has no such field",
            "a path such as",
        ),
        (
            "--set=nonsense=[]",
            "--set nonsense: unknown field \"spec.nonsense\"",
            "",
        ),
        (
            "--set=maxReplicas=x --set=minreplicas=1",
            "--set minreplicas: the spec has no such field",
            "did you mean minReplicas?",
        ),
        (
            "--set=minReplicas.nonsense=null",
            "the parent of nonsense is not an object",
            "",
        ),
        (
            "--set=scaleTargetRef.apiVersion=",
            "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must specify API group",
            "",
        ),
        (
            "--set=behavior.scaleDwn=null",
            "--set behavior.scaleDwn: the spec has no such field",
            "did you mean behavior.scaleDown?",
        ),
        (
            "--set=behavior={\"scaleDown\":{\"stabilisationWindowSeconds\":0}}",
            "unknown field \"spec.behavior.scaleDown.stabilisationWindowSeconds\", did you mean \
             \"spec.behavior.scaleDown.stabilizationWindowSeconds\"?",
            "",
        ),
        (
            "--set=behavior.scaleUp.policies=[{\"type\":\"Pods\",\"value\":1,\"periodSeconds\":15,\"foo\":1}]",
            "--set behavior.scaleUp.policies: unknown field \"spec.behavior.scaleUp.policies[0].foo\"",
            "",
        ),
        (
            "--set=scaleTargetRef.name=other",
            "--set scaleTargetRef: it scales Deployment/other, but the HPA scales Deployment/web",
            "one target do not apply to another",
        ),
        (
            "--target=cpu=+10%",
            "--target cpu=+10%: +10% looks like a change",
            "",
        ),
        (
            "--target=cpu=x2",
            "--target cpu=x2: x2 is not a target",
            "a target is a whole",
        ),
        (
            "--target=cpu=70.5%",
            "--target cpu=70.5%: 70.5% is not a target",
            "a whole percentage",
        ),
        (
            "--set=maxReplicas",
            "--set maxReplicas: it has no =",
            "PATH=VALUE",
        ),
        (
            "--set=maxreplicas=3",
            "--set maxreplicas: the spec has no such field",
            "did you mean maxReplicas?",
        ),
        (
            "--set=maxReplicas=x",
            "the API server would reject the spec",
            "x is text, because it is no JSON; a number",
        ),
        (
            "--set=maxReplicas=\"10\"",
            "the API server would reject the spec",
            "\"10\" is text, because it has quotes; a number",
        ),
        (
            "--set=maxReplicas=",
            "the API server would reject the spec",
            "an empty value is text; a number",
        ),
        (
            "--target=cpu",
            "--target cpu: not of the form",
            "such as --target cpu=70%",
        ),
        (
            "--target=70%",
            "--target 70%: not of the form",
            "such as --target cpu=70%",
        ),
        ("--missing=-1", "--missing -1: must not be negative", ""),
        ("--cpu=", "--cpu: the value is missing", ""),
        (
            "--memory=90%",
            "--memory 90%: the HPA has no metric memory",
            "it has cpu",
        ),
        (
            "--set=metrics[2].type=Pods",
            "there is no [2] in a list of 1",
            "",
        ),
        (
            "--set=maxReplicas.a=1",
            "the parent of a is not an object",
            "",
        ),
        (
            "--set=metrics[0].resource.name=memory --set=metrics[0].resource=null",
            "overlap",
            "",
        ),
    ] {
        let error = predict(&web(), flags.split_whitespace()).expect_err(flags);
        assert_eq!(error.kind.exit_code(), 2, "{flags}");
        assert!(
            error.message.contains(message),
            "{flags}: {}",
            error.message
        );
        let told = error.hint.unwrap_or_default();
        assert!(told.contains(hint), "{flags}: {told}");
    }
}

/// `web` with a sidecar that starts as an init container, and a container that only starts it up.
fn sidecars() -> Input {
    let pods = (1..=2).map(|number| {
        let containers = json!([
            build::requesting("app", "100m"),
            build::requesting("proxy", "50m")
        ]);
        let log = build::with(
            build::requesting("log", "20m"),
            &json!({"restartPolicy": "Always"}),
        );
        let init = json!([log, {"name": "init", "resources": {"requests": {"memory": "1Gi"}}}]);
        let spec = json!({"containers": containers, "initContainers": init});
        build::with(build::pod(&format!("web-{number}")), &json!({"spec": spec}))
    });
    let metrics = json!([build::resource("cpu", &build::utilization(50))]);
    let hpa = build::hpa(&json!({"metrics": metrics}));
    let used = |number: i32| {
        let used = |name: &str| json!({"name": name, "usage": {"cpu": "30m"}});
        let all = json!({"containers": [used("app"), used("proxy"), used("log")]});
        build::with(build::pod_metrics(&format!("web-{number}"), "0"), &all)
    };
    let all = [
        build::state(&json!({})),
        hpa,
        build::scale(2),
        used(1),
        used(2),
    ];
    common::read(&build::list(all.into_iter().chain(pods))).expect("an input")
}

/// Pods that request CPU as a whole.
fn as_a_whole() -> Input {
    let mut input = sidecars();
    let whole = json!({"requests": {"cpu": "1"}});
    for pod in &mut input.snapshot.pods {
        pod.requests = serde_json::from_value(whole["requests"].clone()).expect("requests");
    }
    input
}

/// The input with a Deployment whose template has these resources of `app`.
fn with_template(input: &Input, resources: &Value) -> Input {
    let template = json!({"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "resources": resources}]}});
    let target = json!({"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}});
    let state = build::list([build::hpa(&json!({})), build::scale(2), target]);
    let mut with = input.clone();
    with.surroundings.workloads = common::read(&state)
        .expect("a state")
        .surroundings
        .workloads;
    with
}

#[test]
fn a_request_that_cannot_be_is_refused_with_what_can() {
    let forms = "a request is an amount (250m, 512Mi) or a change (+20%, -10%, x2)";
    let examples = "such as cpu=250m, or app=cpu=250m for one container";
    for (typed, message, hint) in [
        (
            "app",
            "not of the form [CONTAINER=]RESOURCE=VALUE",
            examples,
        ),
        (
            "250m",
            "not of the form [CONTAINER=]RESOURCE=VALUE",
            examples,
        ),
        ("=cpu=1", "the container is missing", examples),
        ("app=250m", "\"app\" is neither cpu nor memory", examples),
        ("app=gpu=1", "\"gpu\" is neither cpu nor memory", examples),
        ("cpu=app=1", "\"app\" is neither cpu nor memory", examples),
        ("app=cpu=", ": not a value", forms),
        ("app=cpu=fast", "fast: not a value", forms),
        ("app=cpu=-1", "-1: must not be negative", forms),
        ("app=cpu=-110%", "-110%: must not be negative", forms),
        (
            "app=cpu=1e400",
            "1e400: larger than any metric can be",
            forms,
        ),
        ("app=cpu=80%", "80% is not a request", forms),
        ("app=cpu=missing", "missing is not a request", forms),
        (
            "app=cpu=250Mi",
            "Mi is not a unit of cpu, which is measured in cores: 250 thousandths of a core is \
             --request app=cpu=250m",
            "",
        ),
        (
            "memory=100m",
            "less than a KiB, because m is a part of a byte: 100 MiB is --request memory=100Mi",
            "",
        ),
        (
            "memory=512",
            "512 bytes are less than a KiB: 512 MiB is --request memory=512Mi",
            "",
        ),
        (
            "ap=cpu=1",
            "no pod of the target has a container ap",
            "did you mean app?",
        ),
        (
            "storage=cpu=1",
            "no pod of the target has a container storage",
            "they have app, init, log, proxy",
        ),
        (
            "cpu=250m",
            "ambiguous: the containers are app, log, proxy",
            "name one, such as --request app=cpu=250m",
        ),
        (
            "app=memory=x2",
            "app requests no memory",
            "give an amount, such as 250m or 512Mi",
        ),
    ] {
        let error = predict(&sidecars(), [format!("--request={typed}")]).expect_err(typed);
        assert_eq!(error.kind.exit_code(), 2, "{typed}");
        assert_eq!(error.message, format!("--request {typed}: {message}"));
        assert_eq!(error.hint.unwrap_or_default(), hint, "{typed}");
    }
    for (flags, hint) in [
        (
            "--request=app=cpu=1 --request=app=cpu=x2",
            "keep one of --request app=cpu=1 and --request app=cpu=x2",
        ),
        (
            "--request=cpu=x2 --request=app=cpu=1",
            "keep one of --request cpu=x2 and --request app=cpu=1",
        ),
    ] {
        let error = predict(&sidecars(), flags.split(' ')).expect_err(hint);
        let message = "the cpu request of app is set twice";
        assert_eq!((error.kind.exit_code(), &*error.message), (2, message));
        assert_eq!(error.hint.as_deref(), Some(hint));
    }
    let error = predict(&as_a_whole(), ["--request=app=cpu=1"]).expect_err("whole");
    assert_eq!(error.hint.as_deref(), Some("--request cpu=1 changes that"));
    let error = predict(&as_a_whole(), ["--request=cpu=50m"]).expect_err("too little");
    assert_eq!(
        error.message,
        "--request cpu=50m: the containers of a pod would request 170m cpu, more than the 50m of the pod as a \
         whole (spec.resources)"
    );
    assert!(predict(&as_a_whole(), ["--request=cpu=170m"]).is_ok());
    // Nor may a request be above the limit of its container, or of the pod as a whole.
    let limits = || serde_json::from_value(json!({"cpu": "250m"})).expect("limits");
    let (mut limited, mut whole) = (sidecars(), as_a_whole());
    limited.snapshot.pods[1].containers[0].limits = limits();
    whole.snapshot.pods[1].limits = limits();
    for (input, typed, message) in [
        (
            &limited,
            "app=cpu=x3",
            "the cpu request of app would be 300m, above the limit of 250m",
        ),
        (
            &whole,
            "cpu=300m",
            "the cpu request of the pods would be 300m, above the limit of 250m",
        ),
    ] {
        let error = predict(input, [format!("--request={typed}")]).expect_err(typed);
        assert_eq!(error.message, format!("--request {typed}: {message}"));
        let hint = "the API server would reject such a pod: raise the limit, too, in a manifest of the target (--hpa)";
        assert_eq!(error.hint.as_deref(), Some(hint));
    }
    // A pod that has ended, and the limits of running pods where the template has others, are no obstacle.
    let mut ended = limited.clone();
    ended.snapshot.pods[1].phase = Phase::Failed;
    let raised = with_template(&limited, &json!({"limits": {"cpu": "500m"}}));
    // New pods have the request of the template, while pods of an earlier one run, or others that a VPA has changed.
    let both = json!({"requests": {"cpu": "20m"}, "limits": {"cpu": "250m"}});
    let lowered = with_template(&limited, &both);
    for (input, typed, message) in [
        (
            &raised,
            "app=cpu=x6",
            "the cpu request of app would be 3, above the limit of 500m",
        ),
        (
            &lowered,
            "app=cpu=x13",
            "the cpu request of app would be 260m, above the limit of 250m",
        ),
    ] {
        let error = predict(input, [format!("--request={typed}")]).expect_err(typed);
        assert_eq!(error.message, format!("--request {typed}: {message}"));
    }
    for (input, typed) in [
        (&ended, "app=cpu=300m"),
        (&raised, "app=cpu=300m"),
        (&lowered, "app=cpu=x12"),
        (&limited, "app=cpu=250m"),
        (&limited, "proxy=cpu=1"),
        (&whole, "cpu=250m"),
    ] {
        assert!(
            predict(input, [format!("--request={typed}")]).is_ok(),
            "{typed}"
        );
    }
}

/// A template with limits of the pod as a whole and no such requests: the API server sets those by the containers.
#[test]
fn requests_as_a_whole_that_no_template_states_follow_the_containers() {
    let whole = as_a_whole();
    let input = with_template(&whole, &json!({"requests": {"cpu": "400m"}}));
    let workloads = &input.surroundings.workloads;
    let other = workloads[0].template.as_deref().expect("a template");
    // The pods may differ from the template in the requests of their containers.
    for of in [&whole.snapshot.pods[1], other] {
        follows_the_containers(&input, of);
    }
}

fn follows_the_containers(input: &Input, made_of: &Pod) {
    let mut input = input.clone();
    let mut template = made_of.clone();
    template.requests = serde_json::from_value(json!({})).expect("requests");
    template.limits = serde_json::from_value(json!({"cpu": "1"})).expect("limits");
    for workload in input.surroundings.workloads.iter_mut() {
        workload.template = Some(Box::new(template.clone()));
    }
    let above = "the cpu request of the pods would be 1070m, above the limit of 1";
    for (typed, expected) in [
        ("app=cpu=400m", Ok(470)),
        ("app=cpu=x2", Ok(270)),
        ("cpu=x2", Ok(340)),
        ("cpu=300m", Ok(300)),
        ("app=cpu=1", Err(format!("--request app=cpu=1: {above}"))),
    ] {
        let assumptions = common::assumed([format!("--request={typed}")]).expect(typed);
        let applied = assumptions.apply(input.clone(), &decide(&input));
        let requested = applied.map(|(changed, _)| {
            let requests = &changed.snapshot.pods[1].requests;
            requests.0[0].1.milli_value()
        });
        assert_eq!(requested.map_err(|e| e.message), expected, "{typed}");
    }
}

#[test]
fn a_request_is_that_of_the_containers_that_are_meant() {
    let told = |input: &Input, flags: &str| {
        let assumed = assume(input, flags.split(' '));
        let (input, overrides) = assumed.unwrap_or_else(|e| panic!("{flags}: {e}"));
        let words: Vec<String> = overrides
            .iter()
            .map(|own| {
                let observed = own.observed.as_ref().map(ToString::to_string);
                let result = own
                    .result
                    .as_ref()
                    .map(|it| format!(" -> {it}"))
                    .unwrap_or_default();
                format!(
                    "{}: {}{result} ({})",
                    own.item,
                    own.assumed,
                    observed.unwrap_or_default()
                )
            })
            .collect();
        let decision = decide(&input);
        let requests = decision
            .metric(0)
            .expect("cpu")
            .pods
            .iter()
            .map(|row| row.request);
        let requests: Vec<Option<i64>> = requests.collect();
        (words.join(", "), requests[0])
    };
    let one = web();
    for (input, flags, words, request) in [
        (
            &one,
            "--request=cpu=0.25",
            "cpu request of app: 0.25 (100m)",
            Some(250),
        ),
        (
            &one,
            "--request=cpu=+20%",
            "cpu request of app: +20% -> 120m (100m)",
            Some(120),
        ),
        (
            &one,
            "--request=app=cpu=x1.001",
            "cpu request of app: x1.001 -> 101m (100m)",
            Some(101),
        ),
        (
            &one,
            "--request=cpu=0",
            "cpu request of app: 0 (100m)",
            Some(0),
        ),
        (
            &sidecars(),
            "--request=log=cpu=1",
            "cpu request of log: 1 (20m)",
            Some(1150),
        ),
    ] {
        assert_eq!(told(input, flags), (words.to_owned(), request), "{flags}");
    }
    let all = "cpu request of app: x2 -> 200m (100m), cpu request of log: x2 -> 40m (20m), \
               cpu request of proxy: x2 -> 100m (50m)";
    assert_eq!(
        told(&sidecars(), "--request=cpu=x2"),
        (all.to_owned(), Some(340))
    );
    let whole = "cpu request of the pods: 2 (1)";
    assert_eq!(
        told(&as_a_whole(), "--request=cpu=2"),
        (whole.to_owned(), Some(2000))
    );
    let both = "cpu request of app: 1 (100m), cpu request of proxy: x2 -> 100m (50m)";
    let flags = "--request=app=cpu=1 --request=proxy=cpu=x2";
    assert_eq!(told(&sidecars(), flags), (both.to_owned(), Some(1120)));
}

#[test]
fn a_request_that_is_far_from_the_observed_one_is_questioned() {
    let far = |typed: &str| {
        let assumed = assume(&sidecars(), [format!("--request={typed}")]);
        let (input, _) = assumed.unwrap_or_else(|e| panic!("{typed}: {e}"));
        let far = |note: &Note| {
            let Subject::RequestFar { item } = &note.subject else {
                return None;
            };
            let times = note.text.split_once(" times the observed ");
            let times = times.and_then(|(before, _)| before.rsplit(' ').next());
            let is_bare = note.text.contains(" thousandths of a core would be ");
            Some(format!(
                "{item}: {}{}",
                times.unwrap_or("0"),
                if is_bare { " bare" } else { "" }
            ))
        };
        input
            .notes
            .iter()
            .filter_map(far)
            .collect::<Vec<_>>()
            .join(", ")
    };
    for (typed, said) in [
        ("app=cpu=250m", ""),
        ("app=cpu=9999m", ""),
        ("app=cpu=10", "cpu request of app: 100 bare"),
        ("app=cpu=10000m", "cpu request of app: 100"),
        ("app=cpu=250", "cpu request of app: 2500 bare"),
        ("cpu=x99", ""),
        (
            "cpu=x100",
            "cpu request of app: 100, cpu request of log: 100, cpu request of proxy: 100",
        ),
        ("init=memory=99Gi", ""),
        ("init=memory=100Gi", "memory request of init: 100"),
        // Without a request before.
        ("app=memory=1023Gi", ""),
        ("app=memory=1Ti", "memory request of app: 0"),
        ("init=cpu=99", ""),
        ("init=cpu=100", "cpu request of init: 0 bare"),
    ] {
        assert_eq!(far(typed), said, "{typed}");
    }
}

#[test]
fn the_usage_of_a_container_is_part_of_that_of_its_pods() {
    // What each pod uses and requests in all.
    let rows = |input: &Input, flags: &str| {
        let decision = predict(input, flags.split_whitespace());
        let decision = decision.unwrap_or_else(|e| panic!("{flags}: {e}"));
        let rows = decision
            .metric(0)
            .expect("cpu")
            .pods
            .iter()
            .map(|row| row.value);
        rows.collect::<Vec<Option<i64>>>()
    };
    let both = |value| vec![Some(value), Some(value)];
    for (flags, used) in [
        ("", both(90)),
        ("--cpu=app=800m", both(860)),
        ("--cpu=app=x2", both(120)),
        ("--cpu=app=+20%", both(96)),
        // Of its own request: 80 of 100.
        ("--cpu=app=80%", both(140)),
        ("--cpu=log=100%", both(80)),
        ("--cpu=app=80% --cpu=proxy=0 --cpu=log=x3", both(170)),
        ("--cpu=app=80% --request=app=cpu=x2", both(220)),
        (
            "--cpu=app=x2 --pod=web-1:app=cpu=1000m",
            vec![Some(1060), Some(120)],
        ),
        ("--pod=web-1:proxy=cpu=+50%", vec![Some(105), Some(90)]),
        ("--pod=web-1:log=cpu=200%", vec![Some(100), Some(90)]),
        ("--cpu=app=missing", vec![None, None]),
        ("--pod=web-2:log=cpu=missing", vec![Some(90), None]),
        (
            "--cpu=app=800m --replicas=+1",
            vec![Some(860), Some(860), Some(860)],
        ),
    ] {
        assert_eq!(rows(&sidecars(), flags), used, "{flags}");
        // So it is where the controller has no metrics of containers, nor counts the requests of sidecars.
        let mut old = sidecars();
        old.snapshot.controller.version = "v1.28.15".parse().expect("a version");
        old.snapshot.controller.gates[FeatureGate::HPAContainerMetrics] = false;
        assert_eq!(rows(&old, flags), used, "{flags} in 1.28");
    }
    // Both metrics look at the same usage.
    let mut two = sidecars();
    let own = build::resource_of("cpu", "app", &build::utilization(50));
    two.snapshot
        .hpa
        .spec
        .metrics
        .push(serde_json::from_value(own).expect("a metric"));
    two.snapshot.metrics.push(MetricAnswer::PodMetrics);
    assert_eq!(rows(&two, "--cpu=app=800m"), both(860));
    // Nothing is known of the other containers where nothing was read.
    let mut unread = sidecars();
    unread.snapshot.pod_metrics.clear();
    unread.snapshot.metrics = vec![MetricAnswer::Failed("down".to_owned())];
    assert_eq!(
        rows(&unread, "--cpu=app=8m --cpu=proxy=1m --cpu=log=1m"),
        both(10)
    );
    let error = predict(&unread, ["--cpu=app=8m"]).expect_err("unknown");
    assert_eq!(error.message, "cpu: the usage of log, proxy is unknown");
}

/// Whatever the controller makes of the request: one pod lacks the container, the pods request CPU as a whole, or a
/// request is missing.
#[test]
fn a_percentage_is_refused_only_where_it_has_no_base() {
    let mut uneven = sidecars();
    uneven.snapshot.pods[1].containers.pop();
    uneven.snapshot.pod_metrics[1].containers.remove(1);
    let without_request = |mut input: Input| {
        for pod in &mut input.snapshot.pods {
            pod.containers[1].requests.0.clear();
        }
        input
    };
    let (whole, failing) = (without_request(as_a_whole()), without_request(sidecars()));
    let mut two = failing.clone();
    let own = build::resource_of("cpu", "app", &build::utilization(50));
    let metrics = &mut two.snapshot.hpa.spec.metrics;
    metrics.push(serde_json::from_value(own).expect("a metric"));
    two.snapshot.metrics.push(MetricAnswer::PodMetrics);
    let no_request = "cpu in proxy: a percentage cannot be used: web-1 has no request for it";
    for (input, flag, said) in [
        (
            &uneven,
            "--cpu=proxy=200%",
            Ok("200% of the request → 100m was 30m: 160 60"),
        ),
        (
            &uneven,
            "--pod=web-1:proxy=cpu=200%",
            Ok("200% of the request → 100m was 30m: 160 60"),
        ),
        (
            &whole,
            "--cpu=app=200%",
            Ok("200% of the request was 30%: 260 260"),
        ),
        (&whole, "--cpu=proxy=200%", Err(no_request)),
        (&whole, "--pod=web-1:proxy=cpu=200%", Err(no_request)),
        // The metric fails whatever the pods use.
        (
            &failing,
            "--cpu=200%",
            Ok("200% of the request was 90m: 90 90"),
        ),
        (&failing, "--cpu=95m", Ok("95m was 90m: 95 95")),
        (
            &failing,
            "--cpu=app=200%",
            Ok("200% of the request was 30%: 260 260"),
        ),
        (
            &two,
            "--cpu=200%",
            Err(
                "cpu: a percentage cannot be used: failed to get cpu utilization: missing request for cpu in \
                 container proxy of Pod web-1",
            ),
        ),
        (
            &two,
            "--cpu=app=200%",
            Ok("200% of the request was 30%: 260 260"),
        ),
    ] {
        let assumed = assume(input, [flag]);
        let told = assumed.map(|(input, mut overrides)| {
            let (own, decision) = (&mut overrides[0], decide(&input));
            own.came_to(&input.snapshot, &decision);
            let came = own.result.iter().map(|it| format!(" → {it}"));
            let was = own.observed().unwrap_or_default();
            let rows = &decision.metric(0).expect("cpu").pods;
            let used = rows
                .iter()
                .filter_map(|row| row.value)
                .map(|it| format!(" {it}"));
            format!(
                "{}{} was {was}:{}",
                own.assumed,
                came.collect::<String>(),
                used.collect::<String>()
            )
        });
        assert_eq!(
            told.map_err(|e| e.message),
            said.map(str::to_owned).map_err(str::to_owned),
            "{flag}"
        );
    }
}

#[test]
fn one_pod_does_not_speak_for_others_that_were_not_read() {
    let mut unread = sidecars();
    unread.snapshot.pod_metrics.clear();
    let cause = UnreadCause::Missing {
        documents: Documents::PodMetrics,
    };
    unread.snapshot.metrics = vec![MetricAnswer::Unread(cause)];
    let lacks = |pod: &str| Some(format!("cpu: the value of {pod} is unknown"));
    for (flags, said) in [
        ("--pod=web-1:cpu=100%", lacks("web-2")),
        ("--pod=web-1:app=cpu=100%", lacks("web-2")),
        ("--pod=web-1:cpu=100% --unready=web-2", lacks("web-2")),
        (
            "--pod=web-1:cpu=100% --replicas=+1",
            lacks("web-1-assumed-1"),
        ),
        ("--pod=web-1:cpu=100% --missing=web-2", None),
        ("--pod=web-1:cpu=100% --pending=web-2", None),
        ("--pod=web-1:cpu=100% --pod=web-2:cpu=missing", None),
        ("--pod=web-1:cpu=100% --pod=web-2:cpu=90%", None),
        ("--pod=web-1:cpu=100% --cpu=90%", None),
    ] {
        let error = predict(&unread, flags.split_whitespace()).err();
        assert_eq!(error.map(|e| e.message), said, "{flags}");
    }
}

/// At the maximum a pass only proposes more replicas.
#[test]
fn a_target_that_keeps_is_not_said_to_add_replicas_at_the_maximum() {
    for (flags, said) in [
        (&[][..], " to add replicas "),
        (&["--max=2"], " to propose more replicas "),
    ] {
        let stdout = run(program()
            .args([
                "predict",
                "nginx-deployment",
                "-f",
                "examples/nginx",
                "--request=cpu=30m",
            ])
            .args(flags))
        .stdout;
        let row = stdout
            .lines()
            .find(|line| line.contains("target of cpu"))
            .expect("a row");
        assert!(row.contains(said), "{row}");
    }
}

#[test]
fn the_target_that_keeps_where_an_hpa_scales_up_is_what_the_engine_says() {
    let assumed = |input: &Input, flags: &str| {
        let assumed = assume(input, flags.split_whitespace());
        assumed.unwrap_or_else(|e| panic!("{flags}: {e}")).0
    };
    let find = |input: &Input, flags: &str| {
        kept_targets(&Pass::run(input.clone()), &Pass::run(assumed(input, flags)))
    };
    let kept = |input: &Input, flags: &str| {
        let words = find(input, flags).into_iter().map(|own| {
            let (before, after) = (&own.observed_scale_up, &own.scale_up);
            let target = own
                .target
                .map_or("none".to_owned(), |target| format!("{target}%"));
            let is = if own.exact { "as" } else { "not" };
            format!("{}: {target} from {after}, {is} {before}", own.metric)
        });
        words.collect::<Vec<String>>().join(", ")
    };
    for (flags, words) in [
        ("", ""),
        ("--cpu=x2", ""),
        ("--request=init=memory=x2 --request=app=cpu=100m", ""),
        // Of two pods: 170m each before.
        ("--request=cpu=x2", "cpu: 25% from 191m, as 191m"),
        ("--request=cpu=x3", "cpu: 16% from 184m, not 191m"),
        ("--request=app=cpu=15m", "cpu: 101% from 191m, as 191m"),
        ("--request=app=cpu=200m", "cpu: 31% from 189m, not 191m"),
        // Those that are gone request nothing to compare with.
        (
            "--request=cpu=x2 --replicas=-1",
            "cpu: 25% from 96m, as 96m",
        ),
        (
            "--request=cpu=x2 --replicas=+2 --target=cpu=9%",
            "cpu: 25% from 191m, as 191m",
        ),
        // No target is below 1%, and none is a share of nothing.
        ("--request=cpu=x51", "cpu: none from 347m, not 191m"),
        ("--request=cpu=x0", ""),
    ] {
        assert_eq!(kept(&sidecars(), flags), words, "{flags}");
    }
    let one = "cpu in app: 203% from 56m, as 56m";
    assert_eq!(kept(&several(), "--request=app=cpu=25m"), one);
    let mut amount = web();
    let target = &mut amount.snapshot.hpa.spec.metrics[0]
        .resource
        .as_mut()
        .unwrap()
        .target;
    (target.average_utilization, target.average_value) =
        (None, Some(Quantity::from_milli(70, Format::DecimalSI)));
    assert_eq!(kept(&amount, "--request=cpu=25m"), "");
    // What is said about usage is what a pass does with that usage, even with a pod that does not count.
    let adds = |states: &str, flags: &str, usage: i64| {
        let flags = format!("{states} {flags} --cpu={usage}m");
        let decision = decide(&assumed(&web(), &flags));
        let step = decision.metric(0).expect("cpu");
        let MetricResult::Proposal(own) = &step.result else {
            panic!("{flags}: {step:?}")
        };
        own.replicas
            > web()
                .snapshot
                .scale
                .as_ref()
                .expect("a scale")
                .spec_replicas
    };
    let requests = ["2", "200m", "250m", "333m", "30m", "7m"];
    for (request, states) in requests
        .iter()
        .flat_map(|it| [(it, ""), (it, "--unready=1")])
    {
        let request = format!("--request=cpu={request}");
        let own = find(&assumed(&web(), states), &request).remove(0);
        let adds = |flags: &str, usage| adds(states, flags, usage);
        let pods = i64::try_from(own.pods).expect("few");
        let each = |usage: &Quantity| (usage.milli_value() + pods - 1) / pods;
        let (before, after) = (each(&own.observed_scale_up), each(&own.scale_up));
        assert!(adds("", before) && !adds("", before - 1), "{request}");
        let target = own.target.expect("a target");
        let with = |target: i32| format!("{request} --target=cpu={target}%");
        assert!(
            adds(&with(target), after) && !adds(&with(target), after - 1),
            "{request}"
        );
        assert!(
            after <= before && own.exact == (after == before),
            "{request}"
        );
        // Whole milli-units of each pod may be more in all.
        let is_more = own.observed_scale_up.milli_value() < before * pods;
        assert!(
            is_more || !adds(&with(target + 1), before),
            "{request}: {} is higher",
            target + 1
        );
    }
}

#[test]
fn an_amount_of_a_resource_has_a_unit_that_leaves_no_doubt() {
    let percent = web();
    let mut average = web();
    let target = &mut average.snapshot.hpa.spec.metrics[0]
        .resource
        .as_mut()
        .unwrap()
        .target;
    target.average_utilization = None;
    target.average_value = Some(Quantity::from_milli(100, Format::DecimalSI));
    let readings = "ambiguous, because the target of cpu is a utilization: 80% of the request is";
    for (flags, refusal) in [
        (
            "--cpu=80",
            format!("--cpu 80: {readings} --cpu 80%, 80 cores is --cpu 80000m"),
        ),
        (
            "--metric=cpu=80",
            format!(
                "--metric cpu=80: {readings} --metric cpu=80%, 80 cores is --metric cpu=80000m"
            ),
        ),
        (
            "--pod=web-1:cpu=80",
            format!(
                "--pod web-1:cpu=80: {readings} --pod web-1:cpu=80%, 80 cores is --pod \
                 web-1:cpu=80000m"
            ),
        ),
        (
            "--target=cpu=80",
            format!(
                "--target cpu=80: {readings} --target cpu=80%, 80 cores is --target cpu=80000m"
            ),
        ),
    ] {
        let error = predict(&percent, [flags]).expect_err("it is ambiguous");
        assert_eq!(
            (error.kind.exit_code(), &error.message, error.hint),
            (2, &refusal, None)
        );
        // Compared with an average in cores, it is cores.
        assert!(predict(&average, [flags]).is_ok(), "{flags}");
    }
    for flag in [
        "--cpu=400Mi",
        "--metric=cpu=400Mi",
        "--pod=web-1:cpu=400Mi",
        "--target=cpu=400Mi",
    ] {
        for input in [&percent, &average] {
            let error = predict(input, [flag]).expect_err("no unit of cpu");
            assert_eq!(error.kind.exit_code(), 2);
            let typed = flag.replacen('=', " ", 1);
            let said = format!("{typed}: Mi is not a unit of cpu, which is measured in cores: ");
            assert!(error.message.starts_with(&said), "{}", error.message);
            let instead = typed.replace("400Mi", "400m");
            assert!(
                error.message.ends_with(&format!(" is {instead}")),
                "{}",
                error.message
            );
        }
    }
}

/// One pod with two containers and two queues: 50m of 100m and 20m of 50m are used, 10 and 20 wait.
fn several() -> Input {
    let resource = |name: &str| build::resource_of("cpu", name, &build::utilization(50));
    let queue = |queue: &str| {
        let selector =
            json!({"external": {"metric": {"selector": {"matchLabels": {"queue": queue}}}}});
        build::with(build::external("depth", &build::average("30")), &selector)
    };
    let metrics = [resource("app"), resource("side"), queue("a"), queue("b")];
    let containers = [
        build::requesting("app", "100m"),
        build::requesting("side", "50m"),
    ];
    let usage = json!([{"name": "app", "usage": {"cpu": "50m"}}, {"name": "side", "usage": {"cpu": "20m"}}]);
    let values = [("a", "10"), ("b", "12"), ("b", "8")].map(|(queue, value)| {
        json!({"metricName": "depth", "metricLabels": {"queue": queue}, "value": value})
    });
    let items = [
        build::hpa(&json!({"metrics": metrics})),
        build::scale(1),
        build::state(&json!({})),
        build::with(
            build::pod("web-1"),
            &json!({"spec": {"containers": containers}}),
        ),
        build::with(
            build::pod_metrics("web-1", "50m"),
            &json!({"containers": usage}),
        ),
        build::external_values(values),
    ];
    common::read(&build::list(items)).expect("an input")
}

#[test]
fn containers_and_selectors_narrow_a_metric() {
    for (flags, proposals) in [
        ("", [1, 1, 1, 1]),
        // 140/50, rounded up; what the other container uses stays.
        ("--cpu=app=140%", [3, 1, 1, 1]),
        ("--cpu=side=70m", [1, 3, 1, 1]),
        ("--cpu=app=140% --cpu=side=260%", [3, 6, 1, 1]),
        // The total of a queue over 30, rounded up.
        ("--metric=depth{queue=a}=100", [1, 1, 4, 1]),
        ("--metric=depth{queue=b}=x4.6", [1, 1, 1, 4]),
        ("--target=depth{queue=b}=9", [1, 1, 1, 3]),
    ] {
        let decision = predict(&several(), flags.split_whitespace());
        let decision = decision.unwrap_or_else(|e| panic!("{flags}: {e}"));
        let found: Vec<i32> = decision
            .trace
            .iter()
            .filter_map(|step| match step {
                Step::ComputeMetric(metric) => match &metric.result {
                    MetricResult::Proposal(proposal) => Some(proposal.replicas),
                    result => panic!("{flags:?}: {result:?}"),
                },
                _ => None,
            })
            .collect();
        assert_eq!(found, proposals, "{flags:?}");
    }
    for (flag, message) in [
        (
            "--cpu=80%",
            "--cpu 80%: cpu is ambiguous: cpu in app, cpu in side",
        ),
        (
            "--metric=depth=1",
            "--metric depth=1: depth is ambiguous: depth{queue=a}, depth{queue=b}",
        ),
        (
            "--metric=depth{queue=c}=1",
            "--metric depth{queue=c}=1: the HPA has no metric depth{queue=c}",
        ),
        (
            "--metric=depth{queue=a}=80%",
            "depth{queue=a} is not a resource, so it has no request",
        ),
        (
            "--pod=web-1:depth{queue=a}=8",
            "depth{queue=a} has no value for each pod",
        ),
        (
            "--target=depth{queue=a}=80%",
            "--target: 80% is not a target of depth{queue=a}",
        ),
    ] {
        let error = predict(&several(), [flag]).expect_err(flag);
        assert_eq!(
            (error.kind.exit_code(), &*error.message),
            (2, message),
            "{flag}"
        );
    }
}

#[test]
fn a_candidate_is_the_hpa_that_is_assumed() {
    let manifest = |flags: &[&str]| {
        let text = "---
{kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: {name: web},
              spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web, apiVersion: apps/v1}}}";
        let candidate = common::candidate(text, "web.yaml", Validate::Strict);
        let mut assumptions = common::assumed(flags).expect("readable flags");
        assumptions.replace_hpa(candidate.expect("one"));
        assumptions
            .apply(web(), &decide(&web()))
            .expect("the same target")
    };
    // Above its maximum of 3 the controller corrects without looking at metrics.
    let (input, _) = manifest(&[]);
    assert_eq!(decide(&input).outcome.scale_to, Some(3));
    // What was observed is not what the manifest says; its metric is the default of 80 %.
    let flags = [
        "--max=7",
        "--target=cpu=40%",
        "--set=behavior.scaleDown.stabilizationWindowSeconds=60",
        "--set=behavior.scaleUp=null",
    ];
    let (_, overrides) = manifest(&flags);
    let observed: Vec<_> = overrides
        .iter()
        .map(|own| own.observed.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!(
        observed.iter().map(Option::as_deref).collect::<Vec<_>>(),
        [None, Some("2"), Some("50%"), Some("100"), None, None]
    );
    assert!(common::candidate(&build::list([]), "web.yaml", Validate::Strict).is_err());
    assert_eq!(input.notes, web().notes);
}

/// What is skipped in a manifest may be what it is about.
#[test]
fn what_is_odd_about_a_candidate_is_said() {
    let text = "---
{kind: HorizontalPodAutoscaler, apiVersion: autoscaling/v2, metadata: {name: api, namespace: shop},
  spec: {maxReplicas: 30, targetCPU: 80, scaleTargetRef: {kind: Deployment, name: web,
    apiVersion: apps/v1}}}";
    let candidate = common::candidate(text, "api.yaml", Validate::Warn);
    let assumptions = common::assuming(candidate.expect("one"));
    let recommendations = vec![Recommendation {
        replicas: 9,
        time: web().snapshot.now,
    }];
    let memory = Memory {
        recommendations,
        ..Memory::default()
    };
    let running = Input {
        stated_memory: Some(memory),
        ..web()
    };
    let (input, _) = assumptions
        .apply(running, &decide(&web()))
        .expect("the same target");
    assert_eq!(
        input.stated_memory,
        Some(Memory::default()),
        "the history of another HPA"
    );
    let notes: Vec<String> = input.notes.iter().map(ToString::to_string).collect();
    for note in [
        "api.yaml: ignored: unknown field \"spec.targetCPU\"",
        "shop/api is a new HPA, predicted in place of default/web: its history begins with the current replicas; \
         applied alongside default/web, both stop scaling, because they select the same pods: delete web, as Helm does \
         and `kubectl apply --prune` can",
    ] {
        assert!(notes.iter().any(|own| own == note), "{notes:?}");
    }
    // An HPA of this name that is there already keeps its manifest, and the one in question its spec.
    let mut running = web();
    let scale = running.snapshot.scale.clone().expect("a scale");
    let other = Hpa {
        name: "api".to_owned(),
        ..running.snapshot.hpa.clone()
    };
    running.snapshot.other_hpas = vec![
        OtherHpa {
            hpa: other,
            scale: Some(scale),
        }
        .into(),
    ];
    let (input, overrides) = assumptions
        .apply(running, &decide(&web()))
        .expect("another HPA");
    assert_eq!(input.snapshot.hpa, web().snapshot.hpa);
    assert_eq!(input.snapshot.other_hpas[0].hpa.spec.max_replicas, 30);
    assert_eq!(
        overrides.iter().map(|own| &*own.item).collect::<Vec<_>>(),
        ["HPA api"]
    );
}

/// The exit codes of a gate, and what it leaves behind.
#[test]
fn expectations_decide_the_exit_code() {
    let directory = std::env::temp_dir().join(format!("kubectl-hpa-gate-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let (xml, summary) = (directory.join("report.xml"), directory.join("summary.md"));
    let predict = |flags: &[&str]| {
        run(program()
            .args(["predict", "nginx-deployment", "-f", "examples/nginx"])
            .args(flags)
            .env("GITHUB_STEP_SUMMARY", &summary))
    };
    // 60 % of 20 % proposes 3 x 2 = 6, and one pass doubles the 2 at most.
    for (flags, code) in [
        (
            &["--expect", "desired == 4 and recommended == 6"] as &[&str],
            0,
        ),
        (&["--expect", "desired == 4", "--exit-code"], 5),
        (&["--expect", "desired == 6"], 3),
        (&["--fail-on", "limited"], 3),
        (&["--fail-on", "scale-down,maxed", "--exit-code"], 5),
        // The false one goes before the due change and before the unknown one.
        (&["--expect", "desired == 6", "--exit-code"], 3),
        (&["--metric-that-is-none"], 2),
        (&["--expect", "desird == 6"], 2),
        (&["--expect", "metric.memory.desired < 3"], 2),
    ] {
        let all: Vec<&str> = ["--cpu", "60%"].iter().chain(flags).copied().collect();
        let ran = predict(&all);
        assert_eq!(ran.code, Some(code), "{flags:?}: {}", ran.stderr);
        assert_eq!(ran.stdout.is_empty(), code == 2, "{flags:?}");
    }
    // A failing metric leaves open what the controller itself could read of it.
    let unknown = predict(&["--cpu", "missing", "--expect", "desired <= 20"]);
    assert_eq!(unknown.code, Some(4));

    let path = xml.to_str().expect("a path");
    let junit = format!("junit={path}");
    let flags = [
        "--cpu",
        "60%",
        "--expect",
        "desired == 6",
        "--report",
        &junit,
        "--report",
        "github",
    ];
    let ran = predict(&[&flags[..], &["-o", "json"]].concat());
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.json()["expectations"][0]["truth"], "false");
    assert_eq!(
        ran.stderr,
        "::error title=HPA default/nginx-deployment::desired == 6 is false: desired is 4\n"
    );
    let report = std::fs::read_to_string(&xml).expect("a report");
    assert!(
        report.contains("<failure type=\"false\" message=\"desired is 4\"/>"),
        "{report}"
    );
    let summary = std::fs::read_to_string(&summary).expect("a summary");
    assert!(summary.contains("**SCALE UP 2 → 4**"), "{summary}");
    std::fs::remove_dir_all(&directory).expect("it was there");

    let nowhere = "junit=/nonexistent/report.xml";
    let unreported = predict(&["--fail-on", "stale", "--report", nowhere]);
    assert_eq!(unreported.code, Some(1));
}

#[test]
fn a_report_on_nothing_is_refused() {
    for report in ["github", "junit=/nonexistent/report.xml"] {
        let requires = format!("--report {report} requires an expectation");
        run(program()
            .args(["predict", "nginx-deployment", "-f", "examples/nginx"])
            .args(["--exit-code", "--report", report]))
        .fails(2, &[&requires, "--expect or --fail-on"]);
    }
}

/// Runs `predict nginx-deployment -f examples/nginx` with a candidate of this text and flags.
fn with_candidate(test: &str, text: &str, flags: &[&str]) -> Ran {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.yaml"));
    std::fs::write(&path, text).expect("a file");
    run(program()
        .args(["predict", "nginx-deployment", "-f", "examples/nginx"])
        .arg("--hpa")
        .arg(&path)
        .args(flags))
}

/// A manifest with these fields of `spec` in addition to its target.
fn manifest(spec: &str) -> String {
    format!(
        "apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: nginx-deployment}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: nginx-deployment}}
{spec}
"
    )
}

#[test]
fn the_last_one_of_a_repeated_field_counts() {
    let twice = manifest("  maxReplicas: 9\n  minReplicas: 1\n  minReplicas: 3");
    let stdout = with_candidate("twice", &twice, &[]).text();
    assert!(
        stdout.contains("assuming minReplicas 3 (observed 2)"),
        "{stdout}"
    );
    assert!(
        stdout.contains("repeats spec.minReplicas (line 8): the last one counts"),
        "{stdout}"
    );
}

#[test]
fn validate_takes_the_values_of_kubectl() {
    let text = manifest("  maxReplicas: 9\n  minReplica: 3");
    let note = r#"ignored: unknown field "spec.minReplica", did you mean "spec.minReplicas"?"#;
    for (flag, want, noted) in [
        ("--validate", 2, false),
        ("--validate=strict", 2, false),
        ("--validate=true", 2, false),
        ("--validate=warn", 0, true),
        ("--validate=ignore", 0, false),
        ("--validate=false", 0, false),
        ("--validate=maybe", 2, false),
    ] {
        let ran = with_candidate("validate", &text, &[flag]);
        let shown = ran.shown();
        assert_eq!(
            (ran.code, ran.stdout.is_empty()),
            (Some(want), want == 2),
            "{flag}: {shown}"
        );
        assert_eq!(ran.stdout.contains(note), noted, "{flag}: {shown}");
    }
}

#[test]
fn what_the_version_drops_cannot_be_assumed() {
    let tolerance = "behavior.scaleDown.tolerance=0.05";
    let candidate = manifest("  maxReplicas: 9\n  behavior: {scaleUp: {tolerance: 0.05}}");
    let old = ["--kubernetes-version", "v1.34"];
    let predict = |flags: &[&str]| with_candidate("dropped", &manifest("  maxReplicas: 9"), flags);
    // v1.30 has neither the field nor the gate.
    let lacks = "drops this field, which it does not have";
    let neither = "remove it, or use another --kubernetes-version";
    let hint = "--feature-gates HPAConfigurableTolerance=true";
    let gated = "drops this field unless the feature gate HPAConfigurableTolerance is on";
    for (version, why, hint) in [("v1.34", gated, hint), ("v1.30", lacks, neither)] {
        let flags = ["--kubernetes-version", version];
        for ran in [
            predict(&[&flags[..], &["--set", tolerance]].concat()),
            with_candidate("dropped_too", &candidate, &flags),
        ] {
            ran.fails(2, &[".tolerance: v1.3", why, hint]);
        }
    }
    let gate = ["--feature-gates", "HPAConfigurableTolerance=true"];
    predict(&[&old[..], &gate, &["--set", tolerance]].concat()).text();
    predict(&["--set", tolerance]).text();
}

/// The gate of the API server may be on where the controller's is off. A gate does not help metrics of pods.
#[test]
fn a_minimum_of_zero_is_refused_with_its_gate() {
    let queue = build::external("queue", &build::average("1"));
    let cpu = build::resource("cpu", &build::utilization(50));
    for (metric, is_named) in [(queue, true), (cpu, false)] {
        let hpa = build::hpa(&json!({"metrics": [metric]}));
        let items = [hpa, build::scale(4), build::state(&json!({}))];
        let input = common::read(&build::list(items)).expect("an input");
        let error = predict(&input, ["--min=0"]).expect_err("a cause");
        let hint = error.hint.unwrap_or_default();
        assert_eq!(hint.contains("HPAScaleToZero=true"), is_named, "{hint}");
    }
}

/// `toleranceInUse`: an HPA that has a tolerance in one direction keeps a new one in both. `dropDisabledFields` knows no
/// value.
#[test]
fn what_is_in_use_may_change_though_its_gate_is_off() {
    let off = json!({"featureGates": {"HPAConfigurableTolerance": false}});
    let old = json!({"kubernetesVersion": "v1.32.0"});
    let change = |state: &Value, behavior: &Value, flag: &str| {
        let metrics = json!([build::resource("cpu", &build::utilization(50))]);
        let hpa = build::hpa(&json!({"metrics": metrics, "behavior": behavior}));
        let items = [hpa, build::scale(4), build::state(state)];
        predict(
            &common::read(&build::list(items)).expect("an input"),
            [flag],
        )
    };
    for flag in [
        "--set=behavior.scaleDown.tolerance=0",
        "--set=behavior.scaleUp.tolerance=0.3",
    ] {
        let up = json!({"scaleUp": {"tolerance": "0"}});
        assert!(change(&off, &up, flag).is_ok(), "{flag}");
        let error = change(&off, &json!({}), flag).expect_err(flag);
        assert!(error.message.contains("drops this field"), "{error}");
    }
    let up = json!({"scaleUp": {"tolerance": "0"}});
    let error = change(&old, &up, "--set=behavior.scaleDown.tolerance=0").expect_err("no field");
    assert!(error.message.contains("does not have"), "{error}");
}

#[test]
fn a_field_of_the_input_that_its_version_ignores_is_noted() {
    let text = manifest("  maxReplicas: 9\n  behavior: {scaleUp: {tolerance: 0.05}}");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("ignored.yaml");
    let target = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx-deployment}
spec: {replicas: 2, selector: {matchLabels: {app: nginx}}}
";
    let kept = text.replace("metadata: {", "metadata: {uid: u, ");
    for (text, note, old) in [
        (
            text,
            "spec.behavior.scaleUp.tolerance is dropped, as by the API server",
            "v1.34",
        ),
        (
            kept.clone(),
            "spec.behavior.scaleUp.tolerance is ignored: the controller of v1.34 uses it only with the feature gate",
            "v1.34",
        ),
        // This version has no such gate.
        (
            kept,
            "spec.behavior.scaleUp.tolerance is ignored: the controller of v1.32.4 does not have it",
            "v1.32.4",
        ),
    ] {
        std::fs::write(&path, text + target).expect("a file");
        for (version, noted) in [(old, true), ("v1.36", false)] {
            let stdout = run(program()
                .args(["explain", "nginx-deployment", "-f"])
                .arg(&path)
                .args(["-f", "examples/nginx/pods.yaml"])
                .args(["--kubernetes-version", version]))
            .text();
            assert_eq!(stdout.contains(note), noted, "{version}: {stdout}");
        }
    }
}
