//! Findings: states rebuilt from users' threads, with the codes that explain them (`tests/cases`), and the
//! page that documents the codes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::apimachinery::quantity::Amount;
use kubectl_hpa::engine::decision::{Block, Group, MetricResult, Path as AtABound, PodRow};
use kubectl_hpa::error::Error;
use kubectl_hpa::findings::outside::controller_silent::ControllerSilent;
use kubectl_hpa::findings::path::at_max::AtMax;
use kubectl_hpa::findings::path::corrected::Correction;
use kubectl_hpa::findings::remedy::Remedy;
use kubectl_hpa::findings::requests::unreachable_target::AtLimits;
use kubectl_hpa::findings::{
    self, Code, Facts, Finding, FindingView, Rank, Severity, owners, pods, requests,
};
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::render::page::page;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::page::Page;
use kubectl_hpa::saved;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::pod::{ConditionStatus, Phase, Pod};
use kubectl_hpa::whatif::thresholds::Borders;
use serde_json::{Value, json};

use crate::advice::{Check, promise};
use crate::common::{self, build};
use crate::told::{self, Case, ToldPass, cases, passes};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns what is wrong with the findings of a case.
fn fault(case: &Case) -> Option<String> {
    let found: Vec<String> = match case.told() {
        // An HPA that does not exist gives an error, which names the code.
        Err(Error { message, hint, .. }) => {
            let text = format!("{message} {}", hint.as_deref().unwrap_or_default());
            let named = case.findings.iter().filter(|code| text.contains(&**code));
            named.cloned().collect()
        }
        Ok(told) => {
            let counts = |finding: &&FindingView| {
                !case.findings.is_empty() || finding.severity != Severity::Info
            };
            let findings = told.explanation.findings.iter().filter(counts);
            findings.map(|it| it.code.as_str().to_owned()).collect()
        }
    };
    let has_all = case.findings.iter().all(|code| found.contains(code));
    let first = found
        .first()
        .is_none_or(|first| case.findings.contains(first));
    (!has_all || !first).then(|| format!("found {found:?}, expected {:?}", case.findings))
}

#[test]
fn each_thread_is_answered() {
    let faults: Vec<String> = cases()
        .iter()
        .filter_map(|(name, case)| Some(format!("{name} ({}): {}", case.thread, fault(case)?)))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The codes about metrics, and about pods as metrics are read of them.
const OF_METRICS: [Code; 18] = [
    Code::MissingRequest,
    Code::MetricsApiUnavailable,
    Code::MetricNotFound,
    Code::MetricFailing,
    Code::MetricEmpty,
    Code::UnknownContainer,
    Code::ContainerMetricsMissing,
    Code::DilutedByContainer,
    Code::ResizeInProgress,
    Code::RequestsDifferFromTemplate,
    Code::SuspectUnit,
    Code::MemoryBaseline,
    Code::UnreachableTarget,
    Code::RequestTooSmall,
    Code::StaleSamples,
    Code::SelectorMissing,
    Code::SelectorMatchesNothing,
    Code::SharedPods,
];

/// What is wrong with a metric or with pods is wrong as well if a pass ignores the metrics, because the replicas
/// are beyond a bound.
#[test]
fn a_pass_that_ignores_the_metrics_hides_no_trouble_with_them() {
    let mut seen = BTreeSet::new();
    let codes = |found: &[Finding]| -> BTreeSet<Code> {
        let codes = found.iter().map(Finding::code);
        codes.filter(|it| OF_METRICS.contains(it)).collect()
    };
    for (name, case) in cases() {
        let Ok(ToldPass { pass, .. }) = case.told() else {
            continue;
        };
        let Some(replicas) = pass
            .decision
            .replicas_before()
            .filter(|replicas| *replicas > 1)
        else {
            continue;
        };
        if is_beyond(pass) {
            continue;
        }
        let mut above = pass.input.clone();
        above.snapshot.hpa.spec.min_replicas = Some(1);
        above.snapshot.hpa.spec.max_replicas = replicas - 1;
        let mut below = pass.input.clone();
        below.snapshot.hpa.spec.min_replicas = Some(replicas + 1);
        below.snapshot.hpa.spec.max_replicas = i32::MAX;
        let want = codes(&findings::find(&within_bounds(pass)));
        let [above, below] = [above, below].map(|input| findings::find(&Pass::run(input)));
        assert_eq!(
            (codes(&above), codes(&below)),
            (want.clone(), want.clone()),
            "{name}"
        );
        // None of them explains the correction.
        let explains = |it: &Finding| it.explains && OF_METRICS.contains(&it.code());
        assert!(!above.iter().any(explains), "{name}");
        seen.extend(want);
    }
    let unseen: Vec<Code> = OF_METRICS
        .into_iter()
        .filter(|code| !seen.contains(code))
        .collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

/// Whether a pass ignores the metrics, because the replicas are beyond a bound.
fn is_beyond(pass: &Pass) -> bool {
    matches!(
        pass.decision.path(),
        Some(AtABound::AboveMax | AtABound::BelowMin)
    )
}

/// What a report says to the person who asked, and what it once said and should not. Widths do not matter.
#[test]
fn a_report_names_the_remedy_and_does_no_harm() {
    for (name, says, never) in [
        // A recommendation that is only held.
        (
            "h08",
            &["cpu proposes 3 replicas; a higher recommendation of 10"][..],
            &["at-max", "go back", "Look at"][..],
        ),
        (
            "h08c",
            &["a higher recommendation of 7 (inferred from the API) still holds"],
            &["at-max"],
        ),
        (
            "T25",
            &["proposes 1 replica; a higher recommendation"],
            &["at-max", "Raise maxReplicas"],
        ),
        // A number that runs away.
        (
            "T17",
            &[
                "24 times its target of 0.05 (50m)",
                "Set the target to 50, if that is what is meant (predict --target).",
                "0.05 per pod",
            ],
            &["Raise maxReplicas", "50m per pod"],
        ),
        (
            "T19",
            &[
                "request-too-small: cpu is at 280% of the requests",
                "(predict --request app=cpu=40m)",
            ],
            &["Raise maxReplicas"],
        ),
        // A reset by whatever has taken the replicas out of its manifest.
        (
            "T05",
            &["If the chart states replicas, take them out. If not, the reset to 1 happens once"],
            &["Take replicas out of the chart"],
        ),
        (
            "T06",
            &[
                "Have Argo CD ignore /spec/replicas, or take replicas out of the manifest, which resets them to 1 once.",
            ],
            &["at each replace"],
        ),
        // A target that is at 0 on purpose.
        (
            "T02",
            &["Leave it: between releases, Flagger keeps it at 0 and runs Deployment/api-primary."],
            &["cale the target to 1"],
        ),
        (
            "48b",
            &[
                "helm set the target to 0",
                "take replicas out of its manifest",
            ],
            &[],
        ),
        // A query without a result.
        (
            "T09",
            &["metric-empty: ", "Try the adapter's query"],
            &["Correct the name"],
        ),
        (
            "T10",
            &["metric-empty: ", "or set spec.fallback there."],
            &["Correct the name", "Repair "],
        ),
        // Advice in addition to a first finding.
        (
            "T12",
            &["never-ready: service-7d9c6b5f4-8wq2p has not"],
            &["Wait for a larger change"],
        ),
        (
            "X02",
            &["never-ready: app-5f6d7c8b9-c7rlx and 2 more have not"],
            &["tolerance: "],
        ),
        (
            "h01",
            &[
                "at 91.7% of its target, within the tolerance (90% to 110%), and keeps the replicas.\n\nMETRIC",
            ],
            &["Wait for"],
        ),
        (
            "h11",
            &["uncounted-pods: 2 of 6 pods do not count (web-"],
            &["within-tolerance: "],
        ),
        // A field that only the manifest may have, and gates.
        (
            "X08",
            &["To use it, upgrade to Kubernetes 1.35, or enable the gate if you can."],
            &[],
        ),
        // Names.
        (
            "T03",
            &["Point scaleTargetRef at Deployment/onyx-api-server"],
            &["Add the target"],
        ),
        (
            "T11",
            &[
                "does not answer (FailedDiscoveryCheck)",
                "-o wide shows the evidence",
            ],
            &[],
        ),
        (
            "X12",
            &["unschedulable-pods: api-7d9c6b5f4-b5n4d and 3 more have"],
            &[],
        ),
        // Pods that are not needed.
        (
            "T24",
            &["Nothing to do: the metrics propose no more pods"],
            &["Add nodes"],
        ),
        // What comes after a window, and the number of its steps.
        (
            "T21",
            &["in 4 steps", "Wait until 12:39:35Z, or"],
            &["more steps", "patch"],
        ),
        (
            "33b",
            &["Wait until 12:04:50Z.\n"],
            &["stabilizationWindowSeconds", "instead of ~3"],
        ),
        (
            "06",
            &[
                "(600s) to scale down sooner.",
                "5  most likely at 12:09:35Z",
            ],
            &["patch"],
        ),
        (
            "h03",
            &["it scales to 4 or fewer if", "4  most likely at 12:04:35Z"],
            &["at the earliest"],
        ),
        (
            "T22",
            &[
                "flapping: the controller has scaled up 14 times and down 13 times",
                "to 600.",
            ],
            &[],
        ),
        // No metric asked for fewer.
        ("T18", &["; the minimum is 3.\n\nMETRIC"], &["--min"]),
        // Memory is not a load that pods share.
        (
            "11",
            &["for 3 replicas, memory must be 60% or less; it is 67%"],
            &["would be"],
        ),
        (
            "h06",
            &["rounded up to the current 4: nothing to do"],
            &["--request"],
        ),
        (
            "T01",
            &["For 4 instead of 5, raise the memory request of app to 450Mi"],
            &["scale on load"],
        ),
        // The events show the last scale-down.
        ("h10", &["STAYS AT 6"], &["SCALE DOWN"]),
        ("h09b", &["old-revision-pods: 5 pods of 2 revisions"], &[]),
    ] {
        let layout = Layout {
            width: None,
            ..Layout::default()
        };
        let screen = page(&narrow(told::case(name)), &layout);
        for text in says {
            assert!(screen.contains(text), "{name}: {text}\n{screen}");
        }
        for text in never {
            assert!(!screen.contains(text), "{name}: {text}\n{screen}");
        }
    }
}

/// What is broken comes before what is configured wrongly, and that before the rule that holds.
#[test]
fn causes_are_in_one_order() {
    let mut seen = BTreeSet::new();
    for told in passes() {
        let (name, found) = (&told.name, told.found());
        // A cause stands before what follows from it, whatever it is.
        let is_linked = |it: &Finding| {
            let is_cause = found.iter().any(|other| other.follows == Some(it.code()));
            is_cause || it.follows.is_some()
        };
        let ranks = found
            .iter()
            .filter(|it| it.explains && !is_linked(it))
            .map(Finding::rank);
        let ranks: Vec<Rank> = ranks.collect();
        assert!(ranks.is_sorted(), "{name}: {ranks:?}");
        seen.extend(ranks.windows(2).map(|pair| (pair[0], pair[1])));
    }
    // All pairs of different ranks were there.
    for pair in [
        (Rank::Broken, Rank::Rule),
        (Rank::Misconfigured, Rank::Rule),
    ] {
        assert!(seen.contains(&pair), "{seen:?}");
    }
}

/// Something that is more important, but not why there is no decision, does not stand in the headline.
#[test]
fn the_headline_names_the_reason_of_the_verdict() {
    let case = &cases()["29"];
    let mut state = case.state.clone();
    for item in state["items"].as_array_mut().expect("a list") {
        match item["kind"].as_str() {
            Some("HorizontalPodAutoscaler") => {
                item["status"]["currentReplicas"] = json!(5);
                item["status"]["desiredReplicas"] = json!(5);
            }
            Some("Deployment") => {
                item["metadata"]["managedFields"] = json!([{"manager": "argocd-controller",
                    "operation": "Update", "apiVersion": "apps/v1", "time": "2026-11-21T11:59:55Z",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}}]);
            }
            _ => {}
        }
    }
    let pass = Pass::run(case.read(&state.to_string()).expect("an input"));
    let explanation = Explanation::new(&pass);
    let codes: BTreeSet<Code> = explanation.findings.iter().map(|it| it.code).collect();
    assert!(codes.contains(&Code::OtherWriter), "{codes:?}");
    let verdict = Page::new(&explanation, false).verdict;
    assert_eq!(verdict, "CANNOT DECIDE, STAYS AT 2: MISSING REQUEST");
    // No pass names what does not end it.
    const NEVER: [Code; 5] = [
        Code::OtherWriter,
        Code::ControllerSilent,
        Code::PausedByKeda,
        Code::FieldIgnored,
        Code::DiffersFromStatus,
    ];
    for told in passes() {
        let (name, verdict) = (&told.name, narrow(told).verdict);
        let named = NEVER.iter().find(|code| {
            let words = code.as_str().replace('-', " ").to_uppercase();
            verdict.starts_with("CANNOT DECIDE") && verdict.ends_with(&words)
        });
        assert_eq!(named, None, "{name}: {verdict}");
    }
}

/// A pass that scales, while the last one could not write that.
#[test]
fn the_headline_says_that_the_last_write_failed() {
    let verdict = |name: &str| narrow(told::case(name)).verdict;
    assert_eq!(verdict("Y14"), "SCALE UP 4 → 6: THE LAST WRITE FAILED");
    assert_eq!(verdict("Y13"), "SCALE UP 4 → 6");
}

/// The result without a problem may be as open as what its command predicts.
#[test]
fn a_result_without_the_problem_is_no_more_certain_than_it_is_predicted() {
    let found = &told::case("60b").json()["findings"][0]["evidence"][0];
    assert_eq!(
        found,
        "With the default, Max: 2 replicas (2 to 7 are possible)."
    );
}

/// A finding about exactly the pods of another one, which says what to do about them, leaves the screen.
#[test]
fn the_same_pods_are_shown_once() {
    let shows = |name: &str, wide: bool, code: &str| {
        let shown = Page::new(&told::case(name).explanation, wide);
        page(&shown, &Layout::default()).contains(&format!("  {code}: "))
    };
    for (name, code) in [
        ("33b", "container-metrics-missing"),
        ("43", "uncounted-pods"),
    ] {
        assert_eq!(
            [shows(name, false, code), shows(name, true, code)],
            [false, true],
            "{name}"
        );
    }
    assert!(shows("33", false, "container-metrics-missing"));
    assert!(shows("24b", false, "uncounted-pods"));
}

/// What a saved state says is found, evidence included, is found when it is read again.
#[test]
fn saving_a_state_changes_no_finding() {
    for (name, case) in cases() {
        let Ok(told) = case.told() else { continue };
        let text = saved::save::to_json(&[&told.pass.input], &[]).expect("a saved state");
        let again = case.read(&text);
        let again = again.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(found(&again), told.json()["findings"], "{name}");
    }
}

/// Of a finding that names who scaled the target, another need not ask.
#[test]
fn who_scaled_the_target_above_its_maximum_is_asked_only_if_unknown() {
    let case = &cases()["60"];
    let mut items = case.state["items"].as_array().cloned().expect("a list");
    let advice = |items: &[Value]| {
        let text = build::list(items.iter().cloned());
        let found = found(&case.read(&text).expect("an input"));
        let above = found
            .as_array()
            .and_then(|all| all.iter().find(|it| it["code"] == "above-max"));
        above.expect("above-max")["advice"]
            .as_str()
            .map(str::to_owned)
    };
    let want = "Change maxReplicas if 15 is right.";
    assert_eq!(advice(&items).as_deref(), Some(want));
    for item in items.iter_mut().filter(|item| item["kind"] == "Deployment") {
        item["metadata"]["managedFields"] = json!([]);
    }
    let want = "Find out what scaled it to 15, or change maxReplicas.";
    assert_eq!(advice(&items).as_deref(), Some(want));
}

#[test]
fn half_of_the_screens_fit_24_lines() {
    let told = cases().values().filter_map(|case| case.told().ok());
    let mut lines: Vec<usize> = told
        .map(|told| screen(&narrow(told)).lines().count())
        .collect();
    lines.sort_unstable();
    let median = lines[lines.len() / 2];
    assert!(median <= 24, "{median} of {lines:?}");
}

/// The page about a pass without `-o wide`.
fn narrow(told: &ToldPass) -> Page {
    Page::new(&told.explanation, false)
}

/// A page on a terminal of 80 columns.
fn screen(shown: &Page) -> String {
    let layout = common::of_width(80);
    page(shown, &layout)
}

/// What is wrong and what to do, with a fourth line if that is to be done elsewhere; evidence and commands are for
/// wide reports.
#[test]
fn a_finding_takes_at_most_three_lines() {
    for (name, case) in cases() {
        let Ok(told) = case.told() else { continue };
        let screen = screen(&narrow(told));
        let Some((_, section)) = screen.split_once("\nFINDINGS\n") else {
            continue;
        };
        let section = section.split("\n\n").next().unwrap_or_default();
        let mut findings: Vec<Vec<&str>> = Vec::new();
        for line in section
            .lines()
            .filter(|line| !line.contains("(-o wide shows all)"))
        {
            match findings.last_mut().filter(|_| line.starts_with("    ")) {
                Some(finding) => finding.push(line),
                None => findings.push(vec![line]),
            }
        }
        assert!(!findings.is_empty(), "{name}: {screen}");
        for finding in findings {
            let text = finding.join(" ");
            let is_elsewhere = text.contains(" writes ") || text.contains(" owns ");
            let most = if is_elsewhere { 4 } else { 3 };
            assert!(finding.len() <= most, "{name}: {finding:#?}");
        }
    }
}

/// The findings of an input, as `-o json` prints them.
fn found(input: &Input) -> Value {
    let (_, explanation) = common::explain(input);
    explanation["findings"].clone()
}

#[test]
fn a_pass_without_an_answer_has_a_finding_that_says_so() {
    let mut silent = Vec::new();
    let mut blocked = 0;
    for (_, told) in told::recorded() {
        let ToldPass {
            name,
            pass,
            explanation,
            ..
        } = told;
        let worst = explanation.findings.iter().map(|view| view.severity).min();
        // There is no code for a controller that may not read the scale, or a failing server.
        let has_cause = match pass.decision.block() {
            Some(Block::NoScale) => pass
                .decision
                .outcome
                .error
                .as_ref()
                .is_some_and(|e| e.contains("not found")),
            other => other.is_some(),
        };
        let starting = "did not receive metrics for targeted pods";
        // Starting pods are ordinary, as long as the other metrics decide.
        let failed = pass.decision.metrics().any(|it| match &it.result {
            MetricResult::Error(e) => !e.message.contains(starting),
            MetricResult::Proposal(_) | MetricResult::Unread(_) => false,
        });
        blocked += usize::from(has_cause);
        if (has_cause || failed) && worst.is_none_or(|worst| worst > Severity::Warning) {
            silent.push(format!("{name}: {:?}, {worst:?}", pass.decision.block()));
        }
    }
    assert!(blocked > 50, "{blocked} passes are blocked");
    assert!(
        silent.is_empty(),
        "{} without a finding:\n{}",
        silent.len(),
        silent.join("\n")
    );
}

/// A healthy HPA with three metrics, of which a past recommendation keeps the replicas, as it looks on a
/// terminal of 24 lines of 80 columns.
#[test]
fn a_healthy_hpa_with_three_metrics_fits_a_terminal() {
    let requests = "http_requests_per_second";
    let status = json!({"currentReplicas": 5, "desiredReplicas": 5, "lastScaleTime": "2026-11-21T05:30:00Z",
        "conditions": [
            {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale",
                "message": "recommended size matches current size",
                "lastTransitionTime": "2026-11-18T12:00:00Z"},
            {"type": "ScalingLimited", "status": "False", "reason": "DesiredWithinRange",
            "message": "the desired count is within the acceptable range",
            "lastTransitionTime": "2026-11-18T12:00:00Z"}]});
    let shown = |custom: &str, behavior: &Value, status: &Value, state: &Value| {
        let metrics = json!([
            build::resource("cpu", &build::utilization(60)),
            build::resource("memory", &build::utilization(80)),
            build::per_pod(custom, "100"),
        ]);
        let hpa = build::hpa(
            &json!({"minReplicas": 2, "maxReplicas": 12, "metrics": metrics, "behavior": behavior}),
        );
        let mut items = vec![
            build::state(state),
            build::with(hpa, &json!({"status": status})),
            build::scale(5),
        ];
        let mut values = Vec::new();
        for pod in [
            "web-7d9c6b5f4-2x9kq",
            "web-7d9c6b5f4-4hj7m",
            "web-7d9c6b5f4-6bvzt",
            "web-7d9c6b5f4-8wq2p",
            "web-7d9c6b5f4-9rs6t",
        ] {
            let containers = json!([{"name": "app", "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}}}]);
            let used = json!([{"name": "app", "usage": {"cpu": "30m", "memory": "52Mi"}}]);
            items.push(build::with(
                build::pod(pod),
                &json!({"spec": {"containers": containers}}),
            ));
            items.push(build::with(
                build::pod_metrics(pod, "30m"),
                &json!({"containers": used}),
            ));
            values.push(json!({"describedObject": {"kind": "Pod", "namespace": "default", "name": pod, "apiVersion": "/v1"},
                "metric": {"name": custom}, "timestamp": "2026-11-21T05:59:45Z", "value": "40"}));
        }
        items.push(
            json!({"apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
            "metadata": {}, "items": values}),
        );
        let input = common::read(&build::list(items)).expect("it is read");
        let pass = Pass::run(input);
        let explanation = Explanation::new(&pass);
        let findings = explanation.findings.iter();
        let codes: Vec<_> = findings.map(|it| (it.code, it.severity)).collect();
        assert_eq!(codes, [(Code::HeldByWindow, Severity::Info)]);
        screen(&Page::new(&explanation, false))
    };
    let slowly = json!({
        "scaleDown": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]},
        "scaleUp": {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 60}]},
    });
    let (none, istio) = (Value::Null, "istio_requests_in_flight_per_gateway");
    let recent = json!({"recommendations": [{"replicas": 5, "time": "2026-11-21T05:59:00Z"}]});
    let unknown = json!({"memory": "unknown"});
    let mut longest = 0;
    for (custom, behavior, status, state) in [
        (requests, &none, &status, &recent),
        (requests, &slowly, &status, &recent),
        (istio, &none, &status, &recent),
        (requests, &none, &none, &recent),
        (requests, &none, &status, &unknown),
        (requests, &none, &none, &unknown),
        (requests, &slowly, &none, &unknown),
    ] {
        let screen = shown(custom, behavior, status, state);
        let (_, next) = screen.split_once("\nNEXT PASSES").expect("what follows");
        let next = next.lines().skip(1).take_while(|line| !line.is_empty());
        longest = longest.max(next.count());
        assert!(
            screen.lines().count() <= 24,
            "{}\n{screen}",
            screen.lines().count()
        );
        assert!(
            screen.lines().all(|line| line.chars().count() <= 80),
            "{screen}"
        );
        // The name is only broken where one of its words ends.
        let words: Vec<&str> = custom.split('_').collect();
        let name = |line: &str| {
            line.split_whitespace()
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        let starts = screen
            .lines()
            .skip_while(|line| !line.starts_with(words[0]));
        let broken: Vec<String> = starts
            .take_while(|line| !line.is_empty())
            .map(name)
            .collect();
        assert_eq!(broken.concat(), custom, "{screen}");
        let whole = |part: &String| {
            part.split('_')
                .all(|word| word.is_empty() || words.contains(&word))
        };
        assert!(broken.iter().all(whole), "{screen}");
    }
    assert!(longest >= 3, "{longest}");
}

/// Returns all integers in a text, except those that are part of a name.
fn integers(text: &str) -> Vec<i64> {
    let words = text.split(|c: char| c.is_whitespace() || ",;()".contains(c));
    words
        .filter_map(|word| word.trim_end_matches('.').parse().ok())
        .collect()
}

/// All integers of a document.
fn integers_of(value: &Value, all: &mut BTreeSet<i64>) {
    match value {
        Value::Number(number) => all.extend(number.as_i64()),
        Value::String(text) => all.extend(integers(text)),
        Value::Array(items) => {
            all.insert(items.len() as i64);
            items.iter().for_each(|item| integers_of(item, all));
        }
        Value::Object(fields) => fields.values().for_each(|field| integers_of(field, all)),
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn the_replicas_in_a_summary_are_those_of_the_trace() {
    const OF_REPLICAS: [&str; 8] = [
        "at-max",
        "at-min",
        "above-max",
        "below-min",
        "rate-limited",
        "direction-disabled",
        "held-by-window",
        "blocked-by-failed-metric",
    ];
    let mut seen = BTreeMap::new();
    for (case, told) in told::recorded() {
        let (name, explanation) = (&case.name, told.json());
        let mut known = BTreeSet::new();
        integers_of(&explanation["trace"], &mut known);
        integers_of(&explanation["hpa"]["spec"], &mut known);
        for finding in explanation["findings"].as_array().expect("a list") {
            let (code, summary) = (
                &finding["code"],
                finding["summary"].as_str().expect("a text"),
            );
            let Some(code) = OF_REPLICAS.into_iter().find(|known| *code == **known) else {
                continue;
            };
            *seen.entry(code).or_insert(0) += 1;
            // What all pods use together is no step of the pass.
            let replicas = match summary.split_once(" (") {
                Some((before, rest)) if rest.contains(" per pod)") => {
                    format!("{before}{}", rest.split_once(')').expect("its end").1)
                }
                _ => summary.to_owned(),
            };
            let unknown: Vec<i64> = integers(&replicas)
                .into_iter()
                .filter(|number| !known.contains(number))
                .collect();
            assert!(unknown.is_empty(), "{name}: {summary} has {unknown:?}");
        }
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

/// Returns the pass under bounds that allow the replicas.
fn within_bounds(pass: &Pass) -> Pass {
    let mut input = pass.input.clone();
    let spec = &mut input.snapshot.hpa.spec;
    (spec.min_replicas, spec.max_replicas) = (Some(1), i32::MAX);
    Pass::run(input)
}

/// Compares what a finding states with the trace of the pass and the objects that it read, and returns what is
/// not so.
fn faults(pass: &Pass, finding: &Finding) -> Vec<&'static str> {
    let (decision, snapshot) = (&pass.decision, &pass.input.snapshot);
    let spec = &snapshot.hpa.spec;
    let current = decision.replicas_before();
    let scale = snapshot.scale.as_ref().ok();
    let step = |metric: usize| decision.metric(metric).expect("an evaluated metric");
    let proposed = |metric: usize| step(metric).proposal().map(|it| it.replicas);
    let is_failed = |metric: usize| step(metric).is_failed();
    let pod = |name: &str| {
        snapshot
            .pods
            .iter()
            .find(|pod| *pod.name == *name)
            .expect("a pod")
    };
    let ready = |metric: usize| {
        step(metric)
            .pods
            .iter()
            .filter(|row| row.group == Group::Ready)
    };
    let name_of = |row: &PodRow| &*snapshot.pods[row.pod as usize].name;
    let sum =
        |rows: &mut dyn Iterator<Item = &PodRow>| rows.filter_map(|row| row.value).sum::<i64>();
    let is_ready = |name: &str| {
        pod(name)
            .ready
            .is_some_and(|ready| ready.status == ConditionStatus::True)
    };
    let stabilized = decision.stabilization();
    let stabilized = stabilized.map(|step| (step.desired, step.result));
    // What a recommendation hides is not in the trace.
    let limited = decision.limit().filter(|step| step.holds());
    let limited = limited.map(|step| (step.desired, step.result));
    let is_limited = |desired: i32, result: i32| {
        // What is limited is what the metrics propose, not what a recommendation from before leaves.
        let proposed = stabilized.map_or(desired, |(proposed, _)| proposed);
        let left = stabilized.map_or(desired, |(_, left)| left);
        limited.is_none_or(|it| it.1 == result && desired == proposed && it.0 == left)
    };
    // The usage of a container according to the resource metrics API.
    let usage = |pod: &str, container: &str, resource: &str| {
        let metrics = snapshot.pod_metrics.iter().find(|it| *it.name == *pod)?;
        let own = metrics
            .containers
            .iter()
            .find(|it| *it.name == *container)?;
        own.usage
            .iter()
            .find(|(name, _)| *name == *resource)
            .map(|(_, usage)| *usage)
    };
    let request = |pod: &Pod, container: &str, resource: &str| {
        let mut all = pod.containers.iter().chain(&pod.init_containers);
        let own = all.find(|it| *it.name == *container)?;
        own.requests.get(resource).map(Amount::milli_value)
    };
    let checks: Vec<(&'static str, bool)> = match &finding.facts {
        Facts::TargetNotFound(_) | Facts::ScaleNotRead(_) => {
            vec![("there is no scale", current.is_none())]
        }
        Facts::ScaleNotWritten(it) => {
            let would = decision
                .unwritten()
                .map(|(to, _)| to)
                .or(decision.outcome.scale_to);
            vec![("to", would == Some(it.to)), ("now", would != current)]
        }
        Facts::ControllerSilent(ControllerSilent::Lapsed { renewed }) => {
            vec![("the lease is old", *renewed < snapshot.now)]
        }
        Facts::ControllerSilent(ControllerSilent::NeverPassed { created }) => {
            vec![("the HPA is old", *created < snapshot.now)]
        }
        Facts::ControllerSilent(ControllerSilent::Replicas {
            since, now, then, ..
        }) => vec![
            ("now", current == Some(*now)),
            (
                "then",
                snapshot.hpa.status.current_replicas == *then && now != then,
            ),
            ("since", *since < snapshot.now),
        ],
        Facts::ControllerSilent(ControllerSilent::Usage { metric, now, .. }) => {
            vec![(
                "now",
                step(*metric)
                    .proposal()
                    .is_some_and(|it| it.current == *now),
            )]
        }
        Facts::ControllerSilent(ControllerSilent::Off { .. })
        | Facts::PausedByKeda(_)
        | Facts::FieldIgnored(_)
        | Facts::SelectorMissing(_) => Vec::new(),
        Facts::OtherWriter(it) => vec![
            (
                "now",
                scale.is_some_and(|scale| scale.spec_replicas == it.now),
            ),
            ("left", it.left != Some(it.now)),
            (
                "after",
                it.after
                    .is_none_or(|after| Some(after) == decision.replicas_after()),
            ),
        ],
        Facts::DiffersFromStatus(it) => vec![
            ("last", it.last == snapshot.hpa.status.desired_replicas),
            (
                "now",
                decision
                    .outcome
                    .status
                    .as_ref()
                    .is_some_and(|own| own.desired_replicas == it.now),
            ),
            ("written", it.written <= snapshot.now),
        ],
        Facts::MissingRequest(it) => {
            let requested = it.containers.iter().flat_map(|own| {
                own.pods
                    .iter()
                    .filter_map(|name| request(pod(name), &own.container, &it.resource))
            });
            let used = it.containers.iter().all(|own| {
                let all = own
                    .pods
                    .iter()
                    .map(|pod| usage(pod, &own.container, &it.resource));
                all.max().flatten() == own.usage
            });
            let requested: i64 = requested.sum();
            vec![
                ("fails", is_failed(it.metric)),
                ("requests", requested == 0),
                ("usage", used),
            ]
        }
        Facts::MetricsApiUnavailable(it) => {
            let steps = decision.metrics();
            let has_no_value = steps
                .filter(|step| it.metrics.contains(&step.index))
                .all(|step| step.proposal().is_none());
            vec![("has no value", has_no_value)]
        }
        Facts::MetricNotFound(it) => vec![("fails", is_failed(it.metric))],
        Facts::MetricFailing(it) => vec![("fails", is_failed(it.metric))],
        Facts::MetricEmpty(it) => vec![("fails", is_failed(it.metric))],
        Facts::UnknownContainer(it) => vec![("fails", is_failed(it.metric))],
        Facts::BlockedByFailedMetric(it) => vec![
            ("fails", it.failed.iter().all(|metric| is_failed(*metric))),
            ("proposal", proposed(it.highest) == Some(it.proposal)),
            (
                "replicas",
                current == Some(it.replicas) && decision.proposal.is_none(),
            ),
            ("fewer", it.proposal < it.replicas),
        ],
        Facts::ContainerMetricsMissing(it) => {
            let measured = it
                .pods
                .iter()
                .any(|own| usage(&own.pod, &it.container, &step(it.metric).name).is_some());
            vec![
                ("pods", it.pods.len() <= it.all),
                ("not measured", !measured),
            ]
        }
        Facts::DilutedByContainer(it) => {
            let rows = || ready(it.metric);
            let resource = &step(it.metric).name;
            let is_share = |share: &requests::diluted_by_container::ContainerShare| {
                let used = rows().filter_map(|row| usage(name_of(row), &share.container, resource));
                let requested = rows().filter_map(|row| {
                    request(&snapshot.pods[row.pod as usize], &share.container, resource)
                });
                share.usage <= used.sum() && share.request <= requested.sum()
            };
            vec![
                ("proposal", proposed(it.metric) == Some(it.proposal)),
                ("shares", it.shares.iter().all(is_share)),
                ("pods", it.pods <= rows().count()),
            ]
        }
        Facts::ResizeInProgress(it) => {
            let is_of_spec = |own: &requests::resize_in_progress::Resized| {
                request(pod(&own.pod), &own.container, &step(it.metric).name) == Some(own.spec)
            };
            vec![
                ("spec", it.containers.iter().all(is_of_spec)),
                (
                    "differ",
                    it.containers.iter().all(|own| own.spec != own.in_effect),
                ),
            ]
        }
        Facts::RequestsDifferFromTemplate(it) => {
            let all = |container: &str| {
                let all = snapshot
                    .pods
                    .iter()
                    .filter_map(|pod| request(pod, container, &step(it.metric).name));
                all.collect::<BTreeSet<i64>>()
            };
            let is_so = |own: &requests::requests_differ_from_template::Differing| {
                let all = all(own.container.as_deref().expect("a container"));
                let differ = own.template != Some(own.least) || own.template != Some(own.most);
                all.contains(&own.least) && all.contains(&own.most) && differ && own.pods <= it.pods
            };
            vec![("requests", it.containers.iter().all(is_so))]
        }
        Facts::ValueMultiplies(it) => {
            let proposal = step(it.metric).proposal().expect("a proposal");
            // ceil(ratio × ready pods), of which there is one for each replica.
            let next = |last: i32| (proposal.ratio * f64::from(last)).ceil() as i32;
            vec![
                ("proposal", it.proposals.first() == Some(&proposal.replicas)),
                (
                    "value",
                    proposal.current.value.as_ref() == Some(&it.current),
                ),
                (
                    "passes",
                    it.proposals.windows(2).all(|pair| pair[1] == next(pair[0])),
                ),
            ]
        }
        Facts::SuspectUnit(it) => {
            let proposal = step(it.metric).proposal().expect("a proposal");
            let own = proposal
                .current
                .average_value
                .as_ref()
                .or(proposal.current.value.as_ref());
            let ratio = it.current.milli_value() as f64 / it.target.milli_value() as f64;
            vec![
                ("value", own == Some(&it.current)),
                ("ratio", (it.ratio / ratio - 1.0).abs() < 1e-9),
                ("far", !(0.2..=5.0).contains(&it.ratio)),
            ]
        }
        Facts::MemoryBaseline(it) => {
            let values: BTreeSet<i64> = ready(it.metric).filter_map(|row| row.value).collect();
            vec![
                (
                    "usage",
                    values.contains(&it.least) && values.last() == Some(&it.most),
                ),
                (
                    "above",
                    it.least > it.target && it.pods <= values.len().max(ready(it.metric).count()),
                ),
            ]
        }
        Facts::UnreachableTarget(it) => match &it.by {
            AtLimits::All {
                tolerance, is_full, ..
            } => vec![
                (
                    "below",
                    step(it.metric)
                        .proposal()
                        .is_some_and(|own| own.ratio <= 1.0 + tolerance + 1e-9),
                ),
                (
                    "more",
                    !is_full || finding.without.is_none_or(|own| own.proposal > current),
                ),
            ],
            AtLimits::Few {
                busy,
                container,
                usage: used,
                limit,
                others,
                mean,
            } => {
                let rows = || ready(it.metric);
                let is_busy = |row: &&PodRow| busy.iter().any(|own| **own == *name_of(row));
                let idle: Vec<i64> = rows()
                    .filter(|row| !is_busy(row))
                    .filter_map(|row| row.value)
                    .collect();
                vec![
                    ("usage", usage(&busy[0], container, "cpu") == Some(*used)),
                    ("limit", *used as f64 >= *limit as f64 * 0.9),
                    ("others", idle.len() == *others && busy.len() <= *others),
                    (
                        "mean",
                        idle.iter().sum::<i64>() / idle.len() as i64 == *mean,
                    ),
                ]
            }
        },
        Facts::StaleSamples(it) => {
            let window = it.window.map_or(120.0, |window| 2.0 * window.as_secs_f64());
            let age = snapshot.now.duration_since(it.newest).as_secs_f64();
            vec![
                ("old", age.abs() > window),
                ("samples", (1..=it.samples).contains(&it.stale)),
            ]
        }
        Facts::SelectorMatchesNothing(it) => vec![
            (
                "replicas",
                scale.is_some_and(|scale| scale.status_replicas == it.replicas),
            ),
            (
                "pods",
                it.own
                    .iter()
                    .chain(&it.others)
                    .all(|name| !pod(name).name.is_empty()),
            ),
        ],
        Facts::SharedPods(it) => {
            let selects = |name: &str| {
                snapshot
                    .other_hpas
                    .iter()
                    .filter_map(|own| own.scale.as_ref())
                    .any(|scale| scale.selector.matches(&pod(name).labels))
            };
            vec![("selected", it.pods.iter().all(|name| selects(name)))]
        }
        Facts::FinishedPods(it) => vec![
            (
                "succeeded",
                it.succeeded
                    .iter()
                    .all(|name| pod(name).phase == Phase::Succeeded),
            ),
            (
                "failed",
                it.failed
                    .iter()
                    .all(|name| pod(name).phase == Phase::Failed),
            ),
        ],
        Facts::ForeignPods(it) => {
            let names: BTreeSet<&str> = it
                .of
                .iter()
                .flat_map(|(_, pods)| pods.iter().map(|it| &**it))
                .collect();
            let is_share = |share: &owners::foreign_pods::MetricShare| {
                let theirs =
                    sum(&mut ready(share.metric).filter(|row| names.contains(name_of(row))));
                (share.all, share.theirs) == (sum(&mut ready(share.metric)), theirs)
            };
            vec![("share", it.share.as_ref().is_none_or(is_share))]
        }
        Facts::NeverReady(it) => vec![("unready", it.pods.iter().all(|own| !is_ready(&own.name)))],
        Facts::UnschedulablePods(it) => {
            vec![(
                "unscheduled",
                it.pods.iter().all(|name| pod(name).unschedulable.is_some()),
            )]
        }
        Facts::ReplicasWithoutPods(it) => {
            let scale = scale.expect("a scale");
            let there: Vec<_> = snapshot
                .pods
                .iter()
                .filter(|pod| scale.selector.matches(&pod.labels))
                .filter(|pod| !matches!(pod.phase, Phase::Failed | Phase::Succeeded))
                .collect();
            let stays = there.iter().filter(|pod| pod.deletion_timestamp.is_none());
            let pods = if there.len() < scale.status_replicas as usize {
                scale.status_replicas
            } else {
                stays.count() as i32
            };
            vec![(
                "scale",
                (scale.spec_replicas, pods) == (it.replicas, it.pods),
            )]
        }
        Facts::OldRevisionPods(it) => {
            let all: usize = it.revisions.iter().map(|own| own.pods).sum();
            vec![
                (
                    "replicas",
                    scale.is_some_and(|scale| scale.spec_replicas == it.replicas),
                ),
                ("beyond", it.beyond.len() == all - it.replicas as usize),
            ]
        }
        Facts::TerminatingPods(it) => {
            let ends = it.pods.iter().map(|name| pod(name).deletion_timestamp);
            vec![("last", ends.max().flatten() == Some(it.last))]
        }
        Facts::StartingPods(it) => {
            let starts = it
                .pods
                .iter()
                .filter_map(|name| pod(name).start_time.or(pod(name).created));
            vec![("since", starts.min() == Some(it.since))]
        }
        Facts::UncountedPods(it) => {
            let is_row = |own: &pods::uncounted_pods::UncountedPod| {
                let is_counted = own.row.group == Group::Ready;
                // A metric without any value has no rows.
                let rows = &step(own.metric).pods;
                (rows.is_empty() || rows.contains(&own.row)) && is_counted == it.count
            };
            vec![
                ("rows", it.pods.iter().all(is_row)),
                ("of", it.count || it.pods.len() <= it.of),
            ]
        }
        Facts::WithinTolerance(it) => {
            let proposal = step(it.metric).proposal().expect("a proposal");
            let filled = proposal.filled.map(|filled| filled.ratio);
            vec![
                (
                    "ratio",
                    it.ratio == proposal.ratio || Some(it.ratio) == filled,
                ),
                ("within", (it.ratio - 1.0).abs() <= it.tolerance + 1e-9),
                ("kept", decision.proposal == current),
                ("borders", is_between(it.borders.as_ref())),
            ]
        }
        Facts::Rounding(it) => vec![
            (
                "rounded",
                it.exact.ceil() as i32 == it.replicas && proposed(it.metric) == current,
            ),
            (
                "beside",
                it.beside.iter().all(|metric| proposed(*metric) >= current),
            ),
            ("borders", is_between(it.borders.as_ref())),
        ],
        Facts::HeldByWindow(it) => vec![
            ("stabilized", stabilized == Some((it.desired, it.result))),
            (
                "remembered",
                pass.remembered.likely.recommendations.contains(&it.held_by)
                    // Without a history the replicas count as one.
                    || Some(it.held_by.replicas) == current,
            ),
            (
                "inside",
                snapshot.now.duration_since(it.held_by.time) <= it.window,
            ),
        ],
        Facts::RateLimited(it) => vec![
            ("limited", is_limited(it.desired, it.result)),
            ("current", current == Some(it.current)),
            (
                "result",
                decision
                    .unwritten()
                    .map(|it| it.0)
                    .or(decision.replicas_after())
                    == Some(it.result),
            ),
        ],
        Facts::DirectionDisabled(it) => {
            vec![("limited", is_limited(it.limit.asked, it.limit.bound))]
        }
        Facts::AtMax(AtMax { bound: it, .. }) => vec![
            (
                "bound",
                it.bound == spec.max_replicas && it.asked > it.bound,
            ),
            ("limited", is_limited(it.asked, it.bound)),
            (
                "ratio",
                it.ratio
                    == decision
                        .winner()
                        .and_then(|own| Some(own.proposal()?.ratio)),
            ),
        ],
        Facts::AtMin(it) => vec![
            (
                "bound",
                it.bound.bound == spec.min_replicas.unwrap_or(1) && it.bound.asked < it.bound.bound,
            ),
            ("limited", is_limited(it.bound.asked, it.bound.bound)),
        ],
        Facts::AboveMax(Correction::Done(it)) => {
            vec![(
                "bound",
                [spec.max_replicas, current.unwrap_or(-1)] == [it.bound; 2],
            )]
        }
        Facts::BelowMin(Correction::Done(it)) => {
            vec![(
                "bound",
                [spec.min_replicas.unwrap_or(1), current.unwrap_or(-1)] == [it.bound; 2],
            )]
        }
        Facts::AboveMax(Correction::Due(it)) => vec![
            (
                "bound",
                it.bound == spec.max_replicas && it.current > it.bound,
            ),
            ("current", current == Some(it.current)),
        ],
        Facts::BelowMin(Correction::Due(it)) => vec![
            (
                "bound",
                it.bound == spec.min_replicas.unwrap_or(1) && it.current < it.bound,
            ),
            ("current", current == Some(it.current)),
        ],
        Facts::SwitchedOff(_) => vec![("no replicas", current == Some(0))],
        Facts::RequestTooSmall(it) => {
            let rows = || ready(it.metric);
            let container = it.container.as_deref().expect("requests of containers");
            let used: Vec<i64> = rows()
                .filter_map(|row| usage(name_of(row), container, &step(it.metric).name))
                .collect();
            let pods = rows().map(|row| &snapshot.pods[row.pod as usize]);
            let most = pods
                .filter_map(|pod| request(pod, container, &step(it.metric).name))
                .max();
            let proposal = step(it.metric).proposal().expect("a proposal");
            let percent = proposal.current.average_utilization.map(f64::from);
            vec![
                (
                    "usage",
                    used.iter().sum::<i64>() / used.len() as i64 == it.usage,
                ),
                ("request", most == Some(it.request)),
                (
                    "share",
                    percent == Some((it.share * 100.0).round()) && it.share >= 2.0,
                ),
                ("enough", it.enough.milli_value() > it.request),
            ]
        }
        Facts::Flapping(it) => {
            let events = pass.input.evidence.events.iter();
            let of = |size: i32| format!("New size: {size};");
            let all: i32 = events
                .clone()
                .filter(|own| own.name == snapshot.hpa.name && own.reason == "SuccessfulRescale")
                .map(|own| own.count)
                .sum();
            let has = |size: i32| {
                events
                    .clone()
                    .any(|own| own.message.starts_with(of(size).as_str()))
            };
            vec![
                ("times", it.ups + it.downs <= all),
                ("sizes", has(it.low) && has(it.high) && it.low < it.high),
                (
                    "window",
                    it.window < SignedDuration::from_secs(it.longer.into()),
                ),
            ]
        }
    };
    checks
        .into_iter()
        .filter(|(_, holds)| !holds)
        .map(|(what, _)| what)
        .collect()
}

/// Whether a value that keeps the replicas is between those for fewer and those for more.
fn is_between(borders: Option<&Borders>) -> bool {
    let Some(Borders {
        now: Some(now),
        fewer,
        more,
        ..
    }) = borders
    else {
        return true;
    };
    fewer.is_none_or(|fewer| fewer < *now) && more.is_none_or(|more| *now < more)
}

/// A maximum is said to decide where it does, and only there: as many replicas may be what the metrics propose.
#[test]
fn a_maximum_is_told_if_it_decides() {
    let mut seen = BTreeMap::new();
    for ToldPass {
        name,
        pass,
        explanation,
        ..
    } in passes()
    {
        if pass.decision.path() != Some(AtABound::Metrics) {
            continue;
        }
        let max = pass.input.snapshot.hpa.spec.max_replicas;
        let told = explanation.findings.iter().any(|it| it.code == Code::AtMax);
        let unwritten = pass.decision.unwritten().map(|it| it.0);
        let is_there = unwritten.or(pass.decision.replicas_after()) == Some(max);
        let wants_more = pass
            .decision
            .proposal
            .is_some_and(|proposal| proposal > max);
        // A limit of a pass may be lower.
        let is_bound = pass
            .decision
            .limit()
            .is_some_and(|step| step.reason == "TooManyReplicas" && step.desired > step.result);
        if told {
            assert!(is_there && wants_more, "{name}");
        } else {
            assert!(!(is_there && wants_more && is_bound), "{name}");
        }
        *seen.entry((told, is_there)).or_insert(0) += 1;
    }
    // There are some that are at the maximum without being limited by it.
    assert!(
        seen[&(true, true)] > 10 && seen[&(false, true)] > 10,
        "{seen:?}"
    );
}

#[test]
fn the_evidence_is_that_of_the_trace() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for told in passes() {
        let ToldPass { name, pass, .. } = told;
        for finding in told.found() {
            seen.insert(finding.code());
            let code = finding.code().as_str();
            let of_reading = OF_METRICS.contains(&finding.code()) && is_beyond(pass);
            let reading = of_reading.then(|| within_bounds(pass));
            wrong.extend(
                faults(reading.as_ref().unwrap_or(pass), finding)
                    .into_iter()
                    .map(|it| format!("{name}: {code}: {it}")),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "{} are false:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let unseen: Vec<_> = Code::ALL
        .iter()
        .filter(|code| !seen.contains(code))
        .collect();
    assert!(unseen.is_empty(), "never found: {unseen:?}");
}

/// Counts of replicas in a text, `3` in `3 replicas`, are those of the trace, the spec, or the facts.
#[test]
fn the_replicas_in_the_evidence_are_known() {
    let mut checked = 0;
    for told in passes() {
        let (name, views) = (&told.name, told.json());
        let mut known = BTreeSet::new();
        for part in ["trace", "proposal", "upcoming", "outcome", "hpa"] {
            integers_of(&views[part], &mut known);
        }
        for finding in told.found() {
            known.extend(integers(&format!("{finding:?}")));
        }
        for finding in views["findings"].as_array().expect("a list") {
            let texts = finding["evidence"]
                .as_array()
                .expect("a list")
                .iter()
                .chain([&finding["summary"]]);
            for text in texts.filter_map(Value::as_str) {
                let words: Vec<&str> = text.split_whitespace().collect();
                let counts = words
                    .windows(2)
                    .filter(|pair| pair[1].starts_with("replica"));
                for count in counts.filter_map(|pair| pair[0].parse::<i64>().ok()) {
                    checked += 1;
                    assert!(known.contains(&count), "{name}: {text}");
                }
            }
        }
    }
    assert!(checked > 500, "{checked}");
}

#[test]
fn what_does_not_belong_to_the_target_changes_no_finding() {
    let mut kinds = BTreeSet::new();
    for (name, case) in cases() {
        let Ok(before) = case.told() else { continue };
        let hpa = &before.pass.input.snapshot.hpa;
        let namespace = &hpa.namespace;
        let mut state = case.state.clone();
        let items = state["items"].as_array_mut().expect("items");
        let pod = |namespace: &str, labels: Value| {
            let pod = build::with(
                build::pod("stranger"),
                &json!({"metadata": {"labels": null}}),
            );
            let metadata = json!({"namespace": namespace, "labels": labels});
            build::with(
                pod,
                &json!({"metadata": metadata, "status": {"phase": "Pending"}}),
            )
        };
        let labels = items.iter().find(|item| item["kind"] == "Pod");
        let labels = labels.map_or(Value::Null, |pod| pod["metadata"]["labels"].clone());
        let mut copies: Vec<Value> = items
            .iter()
            .filter_map(|item| moved(item, namespace))
            .collect();
        // External values do not state their namespace.
        for copy in &mut copies {
            for metric in copy["spec"]["metrics"].as_array_mut().into_iter().flatten() {
                if metric["type"] == "External" {
                    metric["external"]["metric"]["name"] = json!("of elsewhere");
                }
            }
        }
        items.push(pod(namespace, json!({"no-one": "selects-it"})));
        items.push(pod("elsewhere", labels));
        kinds.extend(
            copies
                .iter()
                .filter_map(|it| it["kind"].as_str().map(str::to_owned)),
        );
        items.extend(copies);
        let options = Options {
            name: hpa.name.clone(),
            namespace: Some(namespace.clone()),
            ..Options::default()
        };
        let after = saved::read(&state.to_string(), &options, Timestamp::UNIX_EPOCH);
        let after = after.unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_eq!(before.json()["findings"], found(&after), "{name}");
    }
    for kind in [
        "HorizontalPodAutoscaler",
        "Deployment",
        "Pod",
        "PodMetrics",
        "ReplicaSet",
        "VerticalPodAutoscaler",
        "Event",
    ] {
        assert!(kinds.contains(kind), "{kind}: {kinds:?}");
    }
}

/// Returns a copy of an object in another namespace, if it is in this one or about objects in it.
fn moved(item: &Value, namespace: &str) -> Option<Value> {
    let mut copy = item.clone();
    let mut parts = vec![&mut copy];
    while let Some(part) = parts.pop() {
        let Some(fields) = part.as_object_mut() else {
            continue;
        };
        for (name, field) in fields {
            if ["metadata", "describedObject", "involvedObject"].contains(&&**name) {
                if field["namespace"] == namespace {
                    field["namespace"] = json!("elsewhere");
                }
            } else if let Value::Array(items) = field
                && name == "items"
            {
                parts.extend(items);
            }
        }
    }
    (copy != *item).then_some(copy)
}

/// Returns the source of a kind of finding: the file with the name of the code, which one room has.
fn source_of(code: Code) -> String {
    let file = format!("{}.rs", code.as_str().replace('-', "_"));
    let rooms = fs::read_dir(root().join("src/findings")).expect("the rooms");
    let files = rooms.map(|room| room.expect("a room").path().join(&file));
    let own: Vec<_> = files.filter(|it| it.is_file()).collect();
    assert_eq!(own.len(), 1, "{file} is in one room");
    fs::read_to_string(&own[0]).expect("a source")
}

/// Returns the documentation of a type or a variant in a source, each paragraph as one line.
fn documented(name: &str, source: &str) -> String {
    let mut lines = Vec::new();
    for line in source.lines().map(str::trim) {
        let mut words = line.split(|it: char| !it.is_alphanumeric());
        let item = words.find(|it| !["pub", "struct", "enum", "type"].contains(it));
        if let Some(text) = line.strip_prefix("///") {
            lines.push(text.trim());
        } else if item == Some(name) && !lines.is_empty() {
            let paragraphs = lines.split(|line| line.is_empty());
            return Vec::from_iter(paragraphs.map(|it| it.join(" "))).join("\n\n");
        } else if !line.starts_with("#[") {
            lines.clear();
        }
    }
    panic!("{name} has no documentation")
}

/// Returns the page that lists the codes, with an example of each from a case.
fn documentation() -> String {
    let mut text = "\
# Findings

`kubectl hpa explain` and `predict` say first which ordinary rule of the controller decides, and what is wrong. A report
names the rule in its first sentence, and shows the three most important of the other findings; `-o wide` shows all of
them with their evidence and with commands to paste, and `-o json` has them in `findings`.

A finding rests on evidence: what could not be read leads to no finding, so the absence of one says nothing.
The lines that say what the answer would be otherwise (such as `Without it: ...`) come from running the controller's
algorithm on a changed state. `error` means that nothing can be computed or written, `warning` that somebody should
act, and `info` that an ordinary rule is at work. What explains the present decision comes first: what is broken, then
what is configured wrongly, then which ordinary rule holds; among these the more severe, and then what costs more
replicas. A finding that follows from another one (`follows` in `-o json`) is listed after it and refers to its advice.
[Advice](advice.md) lists what each kind of advice promises, and how that is tested.

`--fail-on CODE` makes `explain`, its list, and `predict` exit with code 3 if there is such a finding; it also
takes a severity, for all findings at least as severe. `--ignore CODE` leaves a finding out; it is an error if it leaves
nothing for which the run could fail. A code that does not exist is an error, which names a near one:

```console
$ kubectl-hpa explain nginx-deployment -f examples/nginx --fail-on held-by-windows
? 2
error: unknown finding \"held-by-windows\"
hint: did you mean held-by-window?

```

This page is generated from the program's own texts.
"
    .to_owned();
    let mut examples = BTreeMap::new();
    for case in cases().values() {
        let Ok(told) = case.told() else { continue };
        let page = findings_page(told);
        for (place, finding) in told.explanation.findings.iter().enumerate() {
            // The best example is one with something to paste, and then one that is the first finding.
            let text = example(&page, finding.code);
            let rank = (text.contains("\n  $ "), place == 0);
            if examples
                .get(&finding.code)
                .is_none_or(|(old, _)| rank > *old)
            {
                examples.insert(finding.code, (rank, text));
            }
        }
    }
    for &code in Code::ALL {
        let _ = write!(
            text,
            "\n## `{}`\n\n{}\n",
            code.as_str(),
            documented(&format!("{code:?}"), &source_of(code))
        );
        if let Some((_, example)) = examples.get(&code) {
            let _ = write!(text, "\n```text\n{example}```\n");
        }
    }
    text
}

/// Returns the page with the kinds of advice.
fn advice() -> String {
    let mut text = "\
# Advice

Each piece of advice in the [findings](findings.md) is of one of these kinds. What it promises is tested: over all
states of users' threads, all recorded passes and moments of recorded runs, each command is played on the state in
which it is given. *Played* means that the engine runs the pass again on the changed state, and the finding is gone or
the answer changes as promised, and nothing else goes wrong. *Shows* means that the commands only show something, and
what they name is there. *Nothing to do* is said only where the finding is information, or follows from another one.
The rest cannot be played, for the reason in the table.

| kind | when | promise | check |
| --- | --- | --- | --- |
"
    .to_owned();
    let source = fs::read_to_string(root().join("src/findings/remedy.rs")).expect("a source");
    for remedy in Remedy::ALL {
        let (result, way) = promise(*remedy);
        let check = match way {
            Check::Played => "played".to_owned(),
            Check::Shown => "shows".to_owned(),
            Check::Quiet => "nothing to do".to_owned(),
            Check::Unplayed(why) => format!("not played: {why}"),
        };
        let when = documented(&format!("{remedy:?}"), &source);
        let _ = writeln!(text, "| {remedy:?} | {when} | {result} | {check} |");
    }
    text
}

/// Returns what a report says about all findings.
fn findings_page(told: &ToldPass) -> String {
    let layout = common::of_width(100);
    let mut all = Page::new(&told.explanation, true);
    all.sections.retain(|section| section.title == "FINDINGS");
    page(&all, &layout)
}

/// Returns what a page says about one finding.
fn example(page: &str, code: Code) -> String {
    let start = format!("  {}: ", code.as_str());
    let mut lines = page.lines().skip_while(|line| !line.starts_with(&start));
    let mut example = format!("{}\n", lines.next().unwrap_or_default().trim_start());
    for line in lines.take_while(|line| line.starts_with("    ")) {
        example += &format!("{}\n", &line[2..]);
    }
    example
}

#[test]
fn the_documentation_is_current() {
    for (page, text) in [
        ("docs/findings.md", documentation()),
        ("docs/advice.md", advice()),
    ] {
        let path = root().join(page);
        if env::var_os("UPDATE_FINDINGS").is_some() {
            fs::write(&path, &text).expect("docs can be written");
        }
        let there = fs::read_to_string(&path).expect(page);
        assert!(there == text, "{page} is stale: run with UPDATE_FINDINGS=1");
    }
}
