//! Whole screens, as a user sees them: narrow, wide, with and without color, in ASCII, and
//! for inputs with uncertain answers. A change of wording or layout shows here first.

use crate::common::{build, of_width, recorded, written};
use crate::told;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use jiff::{SignedDuration, Timestamp};
use kubectl_hpa::findings::Severity;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::render::layout::Layout;
use kubectl_hpa::render::page::{page, rows};
use kubectl_hpa::render::style::Styles;
use kubectl_hpa::report::Explanation;
use kubectl_hpa::report::list::{Overview, SPARE, overview, row};
use kubectl_hpa::report::page::Page;
use kubectl_hpa::report::section::{Part, Table};
use kubectl_hpa::saved::assemble::{assemble, assemble_all};
use kubectl_hpa::saved::file;
use kubectl_hpa::saved::objects::Objects;
use kubectl_hpa::snapshot::input::{Input, Options};
use kubectl_hpa::snapshot::note::Note;
use kubectl_hpa::snapshot::selection::Selection;
use kubectl_hpa::snapshot::{Listed, Snapshot};
use serde_json::{Value, json};

/// The screen for files of the repository.
fn screen(name: &str, files: &[&str], wide: bool, layout: &Layout) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    let files: Vec<String> = files.iter().map(|file| format!("{root}/{file}")).collect();
    let options = Options {
        name: name.to_owned(),
        ..Options::default()
    };
    let clock: Timestamp = "2026-11-21T07:06:29Z".parse().expect("a time");
    let input = assemble(file::read(&files).expect("files"), &options, clock).expect("an input");
    let pass = Pass::run(input);
    let explanation = Explanation::new(&pass);
    let shown = Page::new(&explanation, wide);
    if layout.ascii {
        page(&shown.in_ascii(), layout)
    } else {
        page(&shown, layout)
    }
}

fn narrow() -> Layout {
    of_width(80)
}

#[test]
fn a_remembered_recommendation_scales_up_without_load() {
    insta::assert_snapshot!(screen("nginx-deployment", &["examples/nginx/after-15s"], false, &narrow()), @r#"
default/nginx-deployment → Deployment/nginx-deployment
rules of v1.36.2, at 2026-11-21T07:06:44Z

  SCALE UP 4 → 8
  cpu keeps the replicas, because pods without usable metrics make the result
  ambiguous; the higher recommendation of 258 from 15s ago still holds; one pass
  may at most double the current 4.
  To keep it from adding replicas, set any behavior, such as a scaleDown window
  of 300s.

FINDINGS
  uncounted-pods: 2 of 4 pods do not count (nginx-deployment-596d9ffddd-9xkzq
    and 1 more)
    Wait until the pods have metrics.

METRIC  CURRENT  TARGET  RATIO  COUNTED             PROPOSES
cpu      0% (0)     20%      0  2 ready, 2 missing         4  highest
  cpu  with 2 missing pods at 100% of the request, the ratio reverses from 0 to
       2.5: keeps 4

NEXT PASSES, IF THE METRICS KEEP PROPOSING 4
  10  at 07:06:59Z (in 15s)
   4  at 07:11:29Z (in 4m45s)

  -o wide shows the evidence, with commands to paste.
"#);
}

#[test]
fn an_unknown_memory_makes_the_answer_a_range() {
    insta::assert_snapshot!(screen("nginx-deployment", &["examples/nginx/after-30s/hpa.yaml", "examples/nginx/after-30s/pods.yaml"], false, &narrow()), @r#"
default/nginx-deployment → Deployment/nginx-deployment
rules of v1.37.0, at 2026-11-21T07:06:29Z

  STAYS AT 8
  cpu proposes 0 replicas; the history is unknown, and the current 8 are assumed
  to be the last recommendation.
  Wait until 07:11:29Z.
  Not certain: the controller's history is unknown; 2 to 10 are possible.
  To narrow this, give a history with --prometheus, or --observe 5m35s.

METRIC  CURRENT  TARGET  RATIO  COUNTED             PROPOSES
cpu      0% (0)     20%      0  4 ready, 4 unready         0  highest

NEXT PASSES, IF THE METRICS KEEP PROPOSING 0
  2  most likely at 07:11:29Z (in 5m); by 07:12:04Z at the latest

  Assuming the time of the system clock, the rules of v1.37.0 and the current
  replicas as the only recommendation (-o wide for more).
"#);
}

#[test]
fn wide_shows_every_pod() {
    insta::assert_snapshot!(screen("worker", &["examples/queue"], true, &narrow()), @r#"
default/worker → StatefulSet/worker
rules of v1.36.2, at 2026-11-21T07:00:00Z

  SCALE UP 6 → 7
  queue_depth proposes 8 replicas; the policies currently allow at most 7 (2
  pods per 60s).

FINDINGS
  uncounted-pods: 4 of 6 pods do not count (worker-2 and 3 more)
    Not ready, and started less than 5m ago; until ready, 07:02:30Z (in 2m30s)
    at the latest: worker-2.
    Ready, but with no sample from 07:00:05Z or later yet: worker-3.
    Without metrics: worker-4.
    Pending: worker-5.
    cpu assumes 1 pod without metrics at 0 and 3 unready pods at 0, which takes
    its ratio from 2.0625 to 0.6875.
    If they counted, and used as much as the others on average: a proposal of
    11, and 7 replicas after stabilization and limits.
    Wait until the pods are ready and measured.
    $ kubectl describe pod worker-2 -n default
  rate-limited: the metrics propose 8, but the policy allows at most 7 now
    2 pods per 60s, counted from 5 at the start of the period, allows 7.
    It goes to 8 replicas at 07:00:45Z (in 45s) if the metrics keep proposing
    the same.
    Wait for the next passes, or change behavior.scaleUp.policies.
    $ kubectl hpa predict worker -n default --for 5m

METRIC           CURRENT      TARGET   RATIO  COUNTED     PROPOSES
cpu          165% (825m)         80%  2.0625  2 ready, 3         6
                                              unready, 1
                                              missing
queue_depth       35.667  30 per pod  1.1889  6 replicas         8  highest
  cpu                        with 1 missing pod at 0 and 3 unready pods at 0,
                             the ratio reverses from 2.0625 to 0.6875: keeps 6
                             (tolerance 0.9 to 1.1)
  queue_depth{queue=orders}  214 in total / 30 per pod, rounded up: 8 (tolerance
                             0.9 to 1.1)

FROM PROPOSAL TO REPLICAS
  8  highest proposal: queue_depth
  8  stabilization: no recommendation holds it (up 0s, down 5m)
  7  rate limit: at most 7 (2 pods per 60s from 5 allows 7)  ScaleUpLimit
  7  bounds: 2 to 20

NEXT PASSES, IF THE METRICS KEEP PROPOSING 8
  8  at 07:00:45Z (in 45s)

PODS FOR cpu
  POD       USAGE  REQUEST  GROUP    COUNTED  BECAUSE
  worker-0   890m     500m  ready       890m
  worker-1   760m     500m  ready       760m
  worker-2   410m     500m  unready        0
      is not ready, and started less than 5m ago; until ready, 07:02:30Z (in
      2m30s) at the latest
  worker-3   655m     500m  unready        0
      started less than 5m ago, and its sample window began before its last
      readiness change; until a sample of 07:00:05Z or later, 07:03:40Z (in
      3m40s) at the latest
  worker-4      -     500m  missing        0  has no metrics; until they arrive
  worker-5      -     500m  unready        0  is pending; until it runs

CONDITIONS AND EVENTS
  AbleToScale     True  SucceededRescale
      the HPA controller was able to update the target scale to 7
  ScalingActive   True  ValidMetricFound
      the HPA was able to successfully calculate a replica count from external
      metric queue_depth(&LabelSelector{MatchLabels:map[string]string{queue:
      orders,},MatchExpressions:[]LabelSelectorRequirement{},})
  ScalingLimited  True  ScaleUpLimit
      the desired replica count is increasing faster than the maximum scale rate
  Normal event  SuccessfulRescale
      New size: 7; reason: external metric
      queue_depth(&LabelSelector{MatchLabels:map[string]string{queue:
      orders,},MatchExpressions:[]LabelSelectorRequirement{},}) above target

LAST STATUS, written 24s ago, last scaled 24s ago
STATUS           THEN                      NOW                MEASURED
currentReplicas  5                         6
desiredReplicas  6                         7
cpu              118% (590m)               165% (825m)        15s ago
queue_depth      33                        35.667
ScalingLimited   False DesiredWithinRange  True ScaleUpLimit
  just-scaled    the last pass scaled from 5 to 6; its status shows the values
                 from before
  metrics-moved  cpu was measured after the status was written; queue_depth was
                 read after the status was written
  pods-changed   2 pods started, changed readiness or left the initialization
                 period since the status was written

ASSUMED
  controller flags  tolerance 0.1, downscale-stabilization 5m,
                    cpu-initialization-period 5m, initial-readiness-delay 30s,
                    sync-period 15s (the defaults)
  feature gates     HPAScaleToZero=false, HPAConfigurableTolerance=true,
                    PodLevelResources=true (the defaults)
  history           2 recommendations and 1 scale event (stated in the input)
"#);
}

#[test]
fn ascii_and_long_lines_in_a_pipe() {
    insta::assert_snapshot!(screen("worker", &["examples/queue"], false, &Layout { ascii: true, ..Layout::default() }), @r#"
default/worker -> StatefulSet/worker
rules of v1.36.2, at 2026-11-21T07:00:00Z

  SCALE UP 6 -> 7
  queue_depth proposes 8 replicas; the policies currently allow at most 7 (2 pods per 60s).
  Wait for the next passes, or change behavior.scaleUp.policies.

FINDINGS
  uncounted-pods: 4 of 6 pods do not count (worker-2 and 3 more)
    Wait until the pods are ready and measured.

METRIC           CURRENT      TARGET   RATIO  COUNTED                        PROPOSES
cpu          165% (825m)         80%  2.0625  2 ready, 3 unready, 1 missing         6
queue_depth       35.667  30 per pod  1.1889  6 replicas                            8  highest
  cpu  with 1 missing pod at 0 and 3 unready pods at 0, the ratio reverses from 2.0625 to 0.6875: keeps 6

FROM PROPOSAL TO REPLICAS
  8  highest proposal: queue_depth
  7  rate limit: at most 7 (2 pods per 60s from 5 allows 7)  ScaleUpLimit

NEXT PASSES, IF THE METRICS KEEP PROPOSING 8
  8  at 07:00:45Z (in 45s)

  -o wide shows the evidence, with commands to paste.
"#);
}

#[test]
fn an_old_manifest_with_three_metrics() {
    insta::assert_snapshot!(screen("podinfo", &["examples/podinfo"], false, &narrow()), @r#"
default/podinfo → Deployment/podinfo
rules of v1.25.9, at 2026-11-21T07:00:00Z

  STAYS AT 2
  cpu proposes 1 replica; the higher recommendation of 2 from 15s ago still
  holds.

FINDINGS
  at-min: the metrics propose 1, and minReplicas is 2: nothing to do

METRIC         CURRENT  TARGET   RATIO  COUNTED  PROPOSES
cpu            2% (2m)     80%   0.025  2 ready         1  highest
memory          12.4Mi   200Mi  0.0619  2 ready         1
http_requests    0.899      10  0.0899  2 ready         1

  -o wide shows the evidence, with commands to paste.
"#);
}

#[test]
fn colours_stress_what_the_words_say() {
    let layout = Layout {
        styles: Styles::colored(),
        ..narrow()
    };
    let colored = screen("nginx-deployment", &["examples/nginx"], false, &layout);
    assert!(
        colored.contains("\u{1b}[32;1mSCALE UP 2 → 4\u{1b}[0m"),
        "{colored:?}"
    );
    let plain = anstream::adapter::strip_str(&colored).to_string();
    let expected = screen("nginx-deployment", &["examples/nginx"], false, &narrow());
    assert_eq!(plain, expected);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [80, 100, 200] {
        for (name, directory) in [
            ("nginx-deployment", "examples/nginx"),
            ("worker", "examples/queue"),
            ("podinfo", "examples/podinfo"),
        ] {
            let layout = of_width(width);
            for line in screen(name, &[directory], true, &layout).lines() {
                // A command is never wrapped.
                if line.trim_start().starts_with("$ ") {
                    continue;
                }
                let columns = unicode_width::UnicodeWidthStr::width(line);
                assert!(columns <= width, "{columns} columns of {width}: {line}");
            }
        }
    }
}

/// Returns the page of a pass that is built here.
fn words(json: &str) -> Page {
    page_of(json, false)
}

fn page_of(json: &str, wide: bool) -> Page {
    let mut objects = Objects::default();
    file::read_text(json, "case", &mut objects).expect("objects");
    let options = Options {
        name: "web".to_owned(),
        ..Options::default()
    };
    let input = assemble(objects, &options, Timestamp::UNIX_EPOCH).expect("an input");
    let pass = Pass::run(input);
    let explanation = Explanation::new(&pass);
    Page::new(&explanation, wide).in_ascii()
}

/// Returns what the page of a case says about the last status.
fn last_written(case: &str, wide: bool) -> String {
    let case = written::CASES
        .iter()
        .find(|it| it.name == case)
        .expect("a case");
    // A comment folds what only a wide screen shows.
    let screen = page(
        &Page {
            wide: true,
            ..page_of(&case.input(), wide)
        },
        &narrow(),
    );
    let is_command = |line: &&str| line.trim_start().starts_with("$ ");
    for line in screen.lines().filter(|line| !is_command(line)) {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
    }
    let start = screen.find("LAST STATUS").expect("the section");
    screen[start..]
        .split("\n\n")
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn what_was_last_written_takes_a_line_where_nothing_differs() {
    let last = last_written("as it was", false);
    insta::assert_snapshot!(last, @"LAST STATUS, written 15s ago, last scaled 60m ago, the same as in this pass");
    insta::assert_snapshot!(last_written("as it was", true), @"LAST STATUS, written 15s ago, last scaled 60m ago, the same as in this pass");
    insta::assert_snapshot!(last_written("as it was, and no one leads", false), @r#"
LAST STATUS, written 5m ago, last scaled 60m ago, the same as in this pass
  controller-not-running  the controller manager's lease was last renewed 3m ago
"#);
}

#[test]
fn what_differs_from_what_was_last_written() {
    insta::assert_snapshot!(last_written("without managedFields", false), @r#"
LAST STATUS, written at an unknown time, last scaled 60m ago
STATUS           THEN                   NOW                    MEASURED
desiredReplicas  4                      5
cpu              50% (50m)              60% (60m)              10s ago
AbleToScale      True ReadyForNewScale  True SucceededRescale
  unexplained  nothing that was read explains desiredReplicas, cpu and
               AbleToScale; possible causes: the time at which the status was
               written is unknown (kubectl get --show-managed-fields includes
               it); the controller's flags, version or feature gates may differ
               from the assumed ones
"#);
    insta::assert_snapshot!(last_written("two HPAs for the same pods", false), @r#"
LAST STATUS, written 15s ago, last scaled 60m ago
STATUS         THEN                   NOW
cpu            50% (50m)              -
queue          5                      -
AbleToScale    True ReadyForNewScale  True SucceededGetScale
ScalingActive  True ValidMetricFound  False AmbiguousSelector
  fails-now  ScalingActive is False now: AmbiguousSelector
"#);
    insta::assert_snapshot!(last_written("scaled to zero", false), @r#"
LAST STATUS, written 15s ago, last scaled 60m ago
STATUS           THEN                   NOW
currentReplicas  4                      0
desiredReplicas  4                      0
cpu              50% (50m)              -
queue            5                      -
AbleToScale      True ReadyForNewScale  True SucceededGetScale
ScalingActive    True ValidMetricFound  False ScalingDisabled
  rescaled-since  the last pass set 4 replicas, and now there are 0: something
                  else scaled it, or the controller scaled it and could not
                  write its status
"#);
    insta::assert_snapshot!(last_written("scaled by the controller, which lost its status", false), @r#"
LAST STATUS, written 15s ago, last scaled 60m ago
STATUS           THEN  NOW
currentReplicas  4     5
desiredReplicas  4     5
  rescaled-since  the last pass set 4 replicas, and now there are 5: the
                  controller scaled it, according to its event 10s ago
"#);
    insta::assert_snapshot!(last_written("a metric that is rounded for people", false), @r#"
LAST STATUS, written 15s ago, last scaled 60m ago
STATUS  THEN       NOW        MEASURED
memory  104857602  104857601  10s ago
  metrics-moved  memory was measured after the status was written
"#);
    insta::assert_snapshot!(last_written("names that a terminal would obey", false), @r#"
LAST STATUS, written 15s ago, last scaled 60m ago
STATUS               THEN  NOW
queue^[[31m\u{202e}  -     5
  spec-changed  the status has different metrics than the spec, which has
                changed since
"#);
}

#[test]
fn every_recorded_pass_has_a_verdict_and_a_reason() {
    for (case, told) in told::recorded() {
        let page = Page::new(&told.explanation, false);
        let why = page.why.join(" ");
        assert!(
            why.len() > 20 && why.ends_with('.'),
            "{}: {why:?}",
            case.name
        );
        let scaled = case.expected["scaleTo"].is_i64();
        assert_eq!(
            page.verdict.starts_with("SCALE "),
            scaled,
            "{}: {}",
            case.name,
            page.verdict
        );
        // A cause may follow.
        let verdict = page.verdict.split(':').next();
        let unread = case.expected["error"].as_str().is_some_and(|error| {
            [
                "invalid API version",
                "unable to determine",
                "failed to query",
            ]
            .iter()
            .any(|start| error.starts_with(start))
        });
        assert_eq!(
            verdict == Some("CANNOT SCALE"),
            unread,
            "{}: {}",
            case.name,
            page.verdict
        );
        let conditions = case.expected["status"]["conditions"].as_array().unwrap();
        let disabled = conditions.iter().any(|c| c["reason"] == "ScalingDisabled");
        assert_eq!(
            page.verdict == "DISABLED AT 0",
            disabled,
            "{}: {}",
            case.name,
            page.verdict
        );
    }
}

#[test]
fn a_workload_that_wakes_without_a_metric_is_not_disabled() {
    let metrics = json!([build::external("queue", &build::value("1"))]);
    let spec = json!({"minReplicas": 0, "maxReplicas": 5, "metrics": metrics});
    let zeroed = json!([{"type": "ScaledToZero", "status": "True"}]);
    let page = words(&build::list([
        build::with(
            build::hpa(&spec),
            &json!({"status": {"conditions": zeroed}}),
        ),
        build::scale(0),
        build::state(&json!({"featureGates": {"HPAScaleToZero": true}})),
    ]));
    assert_eq!(page.verdict, "CANNOT DECIDE, STAYS AT 0: METRIC EMPTY");
}

/// The headline names the finding that has the remedy, even if that is only information.
#[test]
fn a_pod_that_has_no_node_yet_keeps_the_metric_from_a_value() {
    let cpu = build::resource("cpu", &build::utilization(50));
    let homeless = json!({"metadata": {"creationTimestamp": "2026-11-21T05:59:00Z"}, "status": {
        "phase": "Pending", "startTime": null, "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}});
    let page = words(&build::list([
        build::hpa(&json!({"maxReplicas": 5, "metrics": [cpu]})),
        build::scale(1),
        build::with(build::pod("web-0"), &homeless),
        build::state(&json!({})),
    ]));
    assert_eq!(
        page.verdict,
        "CANNOT DECIDE, STAYS AT 1: UNSCHEDULABLE PODS"
    );
}

/// The list of the HPAs in `examples/shop`.
fn shop(all_namespaces: bool, wide: bool, layout: &Layout) -> String {
    let files = [format!("{}/examples/shop", env!("CARGO_MANIFEST_DIR"))];
    let list = listed(&file::read(&files).expect("files"), all_namespaces, wide);
    rows(&list, if wide { &[] } else { &SPARE }, layout)
}

fn listed(objects: &Objects, all_namespaces: bool, wide: bool) -> Overview {
    let (options, all) = (Options::default(), Selection::default());
    let mut passes = Vec::new();
    let take = |listed: Listed<Input>| {
        passes.push(listed.and_then(|input| Ok(Pass::run(input))));
        Ok(ControlFlow::Continue(()))
    };
    assemble_all(objects, &options, None, &all, Timestamp::UNIX_EPOCH, take).expect("inputs");
    let explained = passes.iter().map(|listed| Listed {
        namespace: listed.namespace.clone(),
        name: listed.name.clone(),
        reference: listed.reference.clone(),
        result: listed
            .result
            .as_ref()
            .map(Explanation::new)
            .map_err(Clone::clone),
    });
    overview(
        explained.map(|listed| row(&listed, wide)).collect(),
        all_namespaces,
        wide,
    )
}

#[test]
fn a_line_says_what_the_recorded_controller_wrote() {
    let mut met = BTreeSet::new();
    for case in recorded::cases() {
        let mut objects = Objects::default();
        file::read_text(case.input.get(), "case", &mut objects).expect("objects");
        objects.hpas.retain(|hpa| hpa.name == "web");
        let list = listed(&objects, false, true);
        let (severity, row) = &list.rows[0];
        let row: Vec<&str> = row.iter().map(String::as_str).collect();
        let [.., current, wanted, _, _, _, winner, limit, _] = row[..] else {
            panic!("{row:?}")
        };
        let about = || format!("{}: {row:?} for {}", case.name, case.expected);
        let condition = |kind: &str, status: &str| {
            let conditions = case.expected["status"]["conditions"].as_array()?;
            let found = conditions
                .iter()
                .find(|it| it["type"] == kind && it["status"] == status);
            found?["reason"].as_str()
        };
        let events = case.expected["events"].as_array().into_iter().flatten();
        let reasons: Vec<&str> = events
            .filter_map(|event| event["reason"].as_str())
            .collect();
        let scaled = case.expected["scaleTo"].as_i64().map(|to| to.to_string());
        if let Some(scaled) = &scaled {
            assert_eq!(wanted, scaled, "{}", about());
        } else if wanted != "-" && condition("AbleToScale", "False") != Some("FailedUpdateScale") {
            assert_eq!(wanted, current, "{}", about());
        }
        if reasons.contains(&"FailedComputeMetricsReplicas") {
            assert_eq!(*severity, Some(Severity::Error), "{}", about());
            assert_eq!((wanted, winner), ("-", "-"), "{}", about());
        }
        if [
            "ScaleUpLimit",
            "ScaleDownLimit",
            "TooManyReplicas",
            "TooFewReplicas",
        ]
        .contains(&limit)
        {
            assert_eq!(
                condition("ScalingLimited", "True"),
                Some(limit),
                "{}",
                about()
            );
        }
        if limit.starts_with("Scale") && limit.ends_with("Stabilized") && scaled.is_none() {
            assert_eq!(condition("AbleToScale", "True"), Some(limit), "{}", about());
        }
        met.insert(limit.to_owned());
    }
    for word in [
        "-",
        "ScaleDownLimit",
        "ScaleDownStabilized",
        "ScaleUpLimit",
        "ScaleUpStabilized",
        "TooFewReplicas",
        "TooManyReplicas",
        "maxReplicas",
        "minReplicas",
        "tolerance",
    ] {
        assert!(met.contains(word), "no pass comes to {word}: {met:?}");
    }
}

#[test]
fn a_list_leaves_out_what_can_be_told_from_names_where_it_is_too_wide() {
    insta::assert_snapshot!(shop(false, false, &Layout::default()), @r#"
NAME       REFERENCE          TARGETS                          CURRENT   WANTED  FINDING
mail       Deployment/mail    queue_depth: <unknown>/30 (avg)        2        -  metrics-api-unavailable
pay        Deployment/pay     cpu: <unknown>/50%                     2        -  shared-pods
pay-queue  Deployment/pay     queue_depth: <unknown>/30 (avg)        2        -  shared-pods
cart       Deployment/cart    cpu: 95%/20%                           3        6  uncounted-pods (+1)
report     Deployment/report  cpu: <unknown>/50%                     0        0  switched-off
search     Deployment/search  cpu: 85%/40%                           3        3  at-max
web        Deployment/web     cpu: 51%/50%                           3  3 (3-6)  within-tolerance
"#);
    insta::assert_snapshot!(shop(false, false, &narrow()), @r#"
NAME       TARGETS                     CURRENT   WANTED  FINDING
mail       queue_depth: <unknown>/...        2        -  metrics-api-unavailable
pay        cpu: <unknown>/50%                2        -  shared-pods
pay-queue  queue_depth: <unknown>/...        2        -  shared-pods
cart       cpu: 95%/20%                      3        6  uncounted-pods (+1)
report     cpu: <unknown>/50%                0        0  switched-off
search     cpu: 85%/40%                      3        3  at-max
web        cpu: 51%/50%                      3  3 (3-6)  within-tolerance
"#);
    let wide = of_width(120);
    assert_eq!(
        shop(false, false, &wide),
        shop(false, false, &Layout::default())
    );
    insta::assert_snapshot!(shop(true, false, &narrow()), @r#"
NAMESPACE  NAME       TARGETS          CURRENT   WANTED  FINDING
shop       mail       queue_depth:...        2        -  metrics-api-unavailable
shop       pay        cpu: <unknow...        2        -  shared-pods
shop       pay-queue  queue_depth:...        2        -  shared-pods
shop       cart       cpu: 95%/20%           3        6  uncounted-pods (+1)
shop       report     cpu: <unknow...        0        0  switched-off
shop       search     cpu: 85%/40%           3        3  at-max
shop       web        cpu: 51%/50%           3  3 (3-6)  within-tolerance
"#);
    insta::assert_snapshot!(shop(false, true, &Layout::default()), @r#"
NAME       REFERENCE          TARGETS                          CURRENT   WANTED  MIN  MAX  PROPOSAL  WINNER  LIMIT            FINDING
mail       Deployment/mail    queue_depth: <unknown>/30 (avg)        2        -    1    5         -  -       -                metrics-api-unavailable
pay        Deployment/pay     cpu: <unknown>/50%                     2        -    2    6         -  -       -                shared-pods
pay-queue  Deployment/pay     queue_depth: <unknown>/30 (avg)        2        -    2    8         -  -       -                shared-pods
cart       Deployment/cart    cpu: 95%/20%                           3        6    2   20        10  cpu     ScaleUpLimit     uncounted-pods (+1)
report     Deployment/report  cpu: <unknown>/50%                     0        0    1    5         -  -       -                switched-off
search     Deployment/search  cpu: 85%/40%                           3        3    1    3         7  cpu     TooManyReplicas  at-max
web        Deployment/web     cpu: 51%/50%                           3  3 (3-6)    2   10         3  cpu     tolerance        within-tolerance
"#);
    let records = shop(false, true, &narrow());
    let headings: Vec<&str> = records
        .lines()
        .filter(|line| !line.starts_with(' '))
        .collect();
    assert_eq!(
        headings,
        [
            "mail",
            "pay",
            "pay-queue",
            "cart",
            "report",
            "search",
            "web"
        ]
    );
    let cart: Vec<&str> = records
        .lines()
        .skip_while(|line| *line != "cart")
        .take(11)
        .collect();
    insta::assert_snapshot!(cart.join("\n"), @r#"
cart
  REFERENCE  Deployment/cart
  TARGETS    cpu: 95%/20%
  CURRENT    3
  WANTED     6
  MIN        2
  MAX        20
  PROPOSAL   10
  WINNER     cpu
  LIMIT      ScaleUpLimit
  FINDING    uncounted-pods (+1)
"#);
}

#[test]
fn errors_are_cut_before_targets() {
    const REJECTED: &str =
        "the HPA was rejected: spec.maxReplicas: Invalid value: 0: must be greater than 0";
    let line = |cells: [&str; 5]| (None, cells.map(str::to_owned).to_vec());
    let columns = ["NAME", "TARGETS", "CURRENT", "WANTED", "FINDING"];
    let columns = columns.map(|title| (title.into(), title == "CURRENT" || title == "WANTED"));
    let list = Overview {
        columns: columns.to_vec(),
        rows: vec![
            line(["a", "-", "-", "-", REJECTED]),
            line([
                "b",
                "cpu: 95%/20%, memory: 1Gi/2Gi",
                "3",
                "6",
                "uncounted-pods (+1)",
            ]),
            line([
                "größe",
                "größe_der_schlange: 5/30 (avg)",
                "3",
                "3",
                "at-max",
            ]),
        ],
    };
    let at = |width| rows(&list, &SPARE, &of_width(width));
    insta::assert_snapshot!(at(80), @r#"
NAME   TARGETS                       CURRENT  WANTED  FINDING
a      -                                   -       -  the HPA was rejected: s...
b      cpu: 95%/20%, memory: 1Gi...        3       6  uncounted-pods (+1)
größe  größe_der_schlange: 5/30 ...        3       3  at-max
"#);
    insta::assert_snapshot!(at(70), @r#"
NAME   TARGETS             CURRENT  WANTED  FINDING
a      -                         -       -  the HPA was rejected: s...
b      cpu: 95%/20%, m...        3       6  uncounted-pods (+1)
größe  größe_der_schla...        3       3  at-max
"#);
}

/// The parts of the section with a title; the section of the metrics has none.
fn parts<'a>(page: &'a Page, title: &str) -> impl Iterator<Item = &'a Part> {
    let sections = page
        .sections
        .iter()
        .filter(move |section| section.title == title);
    sections.flat_map(|section| &section.body)
}

/// The pairs of a section.
fn pairs<'a>(page: &'a Page, title: &str) -> impl Iterator<Item = &'a (String, String)> {
    parts(page, title).flat_map(|part| match part {
        Part::Pairs(pairs) => &pairs[..],
        _ => &[],
    })
}

/// Returns what a page says about the controller's past recommendations.
fn said_of_memory(json: &str) -> String {
    let page = words(json);
    let path = parts(&page, "FROM PROPOSAL TO REPLICAS").flat_map(|part| match part {
        Part::Steps(steps) => &steps[..],
        other => panic!("{other:?}"),
    });
    let rules = path.map(|step| &step.text);
    let stabilization = rules.filter(|rule| rule.starts_with("stabilization"));
    let assumed = pairs(&page, "ASSUMED");
    let memory = assumed
        .filter(|(item, _)| item == "history")
        .map(|(_, text)| text);
    let all = page.why.iter().chain(stabilization).chain(memory);
    all.map(String::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn an_unknown_memory_is_not_that_of_a_controller_that_has_just_started() {
    let case = written::CASES
        .iter()
        .find(|it| it.name == "a hold that no history explains");
    let inferred = case.expect("a case").input();
    let with = |memory: &str| inferred.replace(r#""memory":"unknown""#, memory);
    // Nothing left in the status says anything about its passes.
    let unknown = inferred.replace("ReadyForNewScale", "SucceededGetScale");
    insta::assert_snapshot!(said_of_memory(&unknown), @r#"
cpu proposes 2 replicas; the history is unknown, and the current 4 are assumed to be the last recommendation.
Wait until 06:05:00Z.
Not certain: the controller's history is unknown; 2 to 8 are possible.
To narrow this, give a history with --prometheus, or --observe 5m20s.
stabilization: the history is unknown; the current 4 are assumed to have been recommended in the last 5m
unknown: the current replicas are assumed to be the only recommendation (no evidence of others)
"#);
    insta::assert_snapshot!(said_of_memory(&inferred), @r"
    cpu proposes 2 replicas; a higher recommendation of 4 (inferred from the API) still holds.
    Wait until 06:04:45Z.
    stabilization: 4 was recommended in the last 5m, as inferred from the API
    ");
    insta::assert_snapshot!(said_of_memory(&with(r#""scaleDownEvents":[]"#)), @r#"
cpu proposes 2 replicas; the controller has no history and uses the current 4 as its last recommendation.
Wait until 06:05:00Z.
stabilization: no recommendation yet; the current 4 count for 5m
just started: the current replicas count as the only recommendation (no history is stated)
"#);
    let event = r#""scaleUpEvents":[{"replicas":1,"time":"2026-11-21T05:59:30Z"}]"#;
    insta::assert_snapshot!(said_of_memory(&with(event)), @r#"
cpu proposes 2 replicas; no history is stated, so the current 4 count as the last recommendation.
Wait until 06:05:00Z.
stabilization: no history is stated; the current 4 count for 5m
0 recommendations, so that the current replicas count as one, and 1 scale event (stated in the input)
"#);
    for open in [&inferred, &unknown] {
        assert!(
            !said_of_memory(open).contains("just started"),
            "{}",
            said_of_memory(open)
        );
    }
}

/// A recommendation of an HPA that is younger than the window is in the window, if there was one.
#[test]
fn only_what_may_be_older_than_the_window_is_said_to_be() {
    let h03 = told::case("h03").pass;
    let why = |age: i64| {
        // What else may be remembered stays open.
        let mut pass = h03.clone();
        let Snapshot { hpa, now, .. } = &mut pass.input.snapshot;
        hpa.written.created = Some(*now - SignedDuration::from_secs(age));
        Page::new(&Explanation::new(&pass), false).why.join(" ")
    };
    let (old, young) = (why(3600), why(270));
    assert!(
        old.contains("Not certain: it scales to 4 or fewer if"),
        "{old}"
    );
    assert!(
        young.contains("Not certain: the controller's history is known only within bounds"),
        "{young}"
    );
}

#[test]
fn a_hold_says_how_long_it_counts() {
    let case = written::CASES
        .iter()
        .find(|it| it.name == "a recommendation that holds");
    let higher = case.expect("a case").input();
    insta::assert_snapshot!(said_of_memory(&higher), @r#"
cpu is at 100% of its target, within the tolerance (90% to 110%), and keeps the replicas; the higher recommendation of 6 from 50s ago still holds, which raises the result to 6.
To keep it from adding replicas, set any behavior, such as a scaleDown window of 300s.
stabilization: 6 was recommended 50s ago and counts for 5m
1 recommendation and 0 scale events (stated in the input)
"#);
    let behavior = r#""behavior":{"scaleDown":{"stabilizationWindowSeconds":120},
        "scaleUp":{"stabilizationWindowSeconds":60}},"maxReplicas""#;
    let down = higher.replace(r#""maxReplicas""#, behavior);
    insta::assert_snapshot!(said_of_memory(&down), @r#"
cpu is at 100% of its target, within the tolerance (90% to 110%), and keeps the replicas.
1 recommendation and 0 scale events (stated in the input)
"#);
    let up = down.replace(r#""cpu":"50m""#, r#""cpu":"80m""#);
    insta::assert_snapshot!(said_of_memory(&up.replace(r#""replicas":6,"#, r#""replicas":5,"#)), @r#"
cpu proposes 7 replicas; the lower recommendation of 5 from 50s ago still holds, which lowers the result to 5.
Wait until 06:00:15Z, or shorten behavior.scaleUp.stabilizationWindowSeconds (60s) to scale up sooner.
stabilization: 5 was recommended 50s ago and counts for 1m
1 recommendation and 0 scale events (stated in the input)
"#);
}

#[test]
fn a_status_that_comes_out_the_same_again_tells_that_the_replicas_were_set_in_between() {
    let case = "scaled back to what the pass before found";
    insta::assert_snapshot!(last_written(case, false), @r#"
LAST STATUS, written 15s ago, last scaled 60m ago, the same as in this pass, but
the replicas were set in between
  rescaled-since  the last pass set 8 replicas, and now there are 4: something
                  else scaled it, or the controller scaled it and could not
                  write its status
"#);
}

#[test]
fn a_status_that_apply_wrote_is_not_taken_for_the_controllers() {
    let last = last_written("as it was, and written by us", false);
    insta::assert_snapshot!(last, @"
LAST STATUS, written 15s ago by kubectl-hpa, last scaled 60m ago, the same as in
this pass
");
}

#[test]
fn metrics_that_ask_for_fewer_while_one_fails_are_said_not_to_be_followed() {
    let case = written::CASES
        .iter()
        .find(|it| it.name == "a hold that no history explains");
    let error = r#""errors":[{"api":"external","message":"no"}],"memory""#;
    let input = case.expect("a case").input().replace(r#""memory""#, error);
    insta::assert_snapshot!(words(&input).why[0], @"1 of 2 metrics failed, and the other proposes 2: while a metric fails, the controller does not scale below the current 4.");
}

#[test]
fn an_average_on_its_target_keeps_the_count_of_the_status() {
    let metrics = json!([build::external("queue", &build::average("10"))]);
    let spec = json!({"minReplicas": 2, "maxReplicas": 10, "metrics": metrics});
    let case = |status: i32| {
        build::list([
            build::hpa(&spec),
            build::with(build::scale(4), &json!({"status": {"replicas": status}})),
            build::pod("web-0"),
            build::queue(&[&(10 * status).to_string()]),
            build::state(&json!({})),
        ])
    };
    let said = |status| {
        let page = words(&case(status));
        let details = pairs(&page, "").map(|(_, detail)| &**detail);
        let lines = [&*page.verdict, &*page.why[0]].into_iter().chain(details);
        lines.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(said(4), @r#"
STAYS AT 4
queue is at 100% of its target, within the tolerance (90% to 110%), and keeps the replicas.
"#);
    insta::assert_snapshot!(said(5), @r#"
SCALE UP 4 -> 5
queue is at 100% of its target, within the tolerance (90% to 110%), and keeps the 5 replicas of the target's status, not the 4 of its spec.
"#);
}

/// Before v1.34, statuses have memory as a decimal number.
#[test]
fn memory_has_a_binary_unit_in_every_version_and_table() {
    let metrics = json!([build::resource("memory", &build::average("500Mi"))]);
    let then = json!([{"type": "Resource", "resource": {"name": "memory",
        "current": {"averageValue": "603979776"}}}]);
    let hpa = build::with(
        build::hpa(&json!({"metrics": metrics})),
        &json!({"status": {"currentReplicas": 1, "desiredReplicas": 1, "currentMetrics": then}}),
    );
    let usage = json!([{"name": "app", "usage": {"memory": "705167360"}}]);
    let usage = build::with(
        build::pod_metrics("web-0", "1m"),
        &json!({"containers": usage}),
    );
    for (version, usage, now) in [
        ("v1.33.0", Some(&usage), "672.5Mi"),
        ("v1.37.0", Some(&usage), "672.5Mi"),
        ("v1.37.0", None, "-"),
    ] {
        let state = build::state(&json!({"kubernetesVersion": version}));
        let items = [hpa.clone(), build::scale(1), build::pod("web-0"), state];
        let input = build::list(items.into_iter().chain(usage.cloned()));
        let page = page_of(&input, true);
        let rows = page
            .sections
            .iter()
            .flat_map(|section| &section.body)
            .filter_map(|part| {
                let Part::Table(table) = part else {
                    return None;
                };
                table.rows.iter().find(|row| row[0] == "memory")
            });
        let rows: Vec<_> = rows.map(|row| (&*row[1], &*row[2])).collect();
        assert_eq!(rows, [(now, "500Mi"), ("576Mi", now)], "{version}");
        let mut objects = Objects::default();
        file::read_text(&input, "case", &mut objects).expect("objects");
        let targets = format!(
            "memory: {}/500Mi",
            if now == "-" { "<unknown>" } else { now }
        );
        let list = listed(&objects, false, false);
        assert!(list.rows[0].1.contains(&targets), "{:?}", list.rows[0]);
    }
}

/// Returns an HPA over four replicas with one metric, pods in these phases, ready or not, and another
/// object.
fn with_pods(metric: &Value, pods: &[(&str, &str, bool)], more: &Value) -> String {
    let pod = |(name, phase, is_ready): &(&str, &str, bool)| {
        let pod = build::with(build::pod(name), &json!({"status": {"phase": phase}}));
        let unready = json!({"status": {"conditions": [
            {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-21T05:00:10Z"}]}});
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-21T06:00:10Z"}});
        let pod = if *is_ready {
            pod
        } else {
            build::with(pod, &unready)
        };
        if *name == "deleted" {
            build::with(pod, &deleted)
        } else {
            pod
        }
    };
    let spec = json!({"maxReplicas": 10, "metrics": [metric]});
    let state = build::state(&json!({"kubernetesVersion": "v1.37.0"}));
    let items = [build::hpa(&spec), build::scale(4), state, more.clone()];
    build::list(items.into_iter().chain(pods.iter().map(pod)))
}

/// Draws a table on its own.
fn drawn(table: &Table) -> String {
    let rows_of = table.rows.iter().map(|row| (None, row.clone())).collect();
    rows(
        &Overview {
            columns: table.columns.clone(),
            rows: rows_of,
        },
        &[],
        &Layout::default(),
    )
}

#[test]
fn an_assumed_list_of_pod_metrics_is_noted() {
    let spec = json!({"metrics": [build::resource("cpu", &build::utilization(50))]});
    let empty =
        json!({"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetricsList", "items": []});
    for (more, is_noted) in [
        (build::pod("web-1"), true),
        (empty, false),
        (build::pod_metrics("web-0", "10m"), false),
        (
            build::state(&json!({"errors": [{"api": "resource", "message": "down"}]})),
            false,
        ),
    ] {
        let state = (more["kind"] != "ControllerState").then(|| build::state(&json!({})));
        let items = [
            build::hpa(&spec),
            build::scale(1),
            build::pod("web-0"),
            more.clone(),
        ];
        let input =
            crate::common::read(&build::list(items.into_iter().chain(state))).expect("an input");
        assert_eq!(
            input.notes.contains(&Note::new(
                "the input has a ControllerState but no PodMetrics, so the list of them is assumed to be empty"
            )),
            is_noted,
            "{more}"
        );
    }
}

/// Returns the metrics, the pods and the notes of a page.
fn said_of_pods(json: &str, wide: bool) -> String {
    let page = page_of(json, wide);
    let said = page.sections.iter().flat_map(|section| {
        section.body.iter().filter_map(|part| match part {
            Part::Table(metrics) if section.title.is_empty() => Some(drawn(metrics)),
            Part::Records(pods) if section.title.starts_with("PODS FOR ") => Some(drawn(pods)),
            Part::Text(notes) if section.title == "NOTES" => Some(notes.join("\n") + "\n"),
            _ => None,
        })
    });
    said.collect()
}

#[test]
fn a_value_for_all_pods_shows_which_of_them_count() {
    let pods = [
        ("deleted", "Running", true),
        ("failed", "Failed", false),
        ("pending", "Pending", false),
        ("ready", "Running", true),
        ("succeeded", "Succeeded", false),
        ("unknown", "Unknown", false),
        ("unready", "Running", false),
    ];
    let external = build::external("queue", &build::value("5"));
    let input = with_pods(&external, &pods, &build::queue(&["20"]));
    insta::assert_snapshot!(said_of_pods(&input, false), @r#"
METRIC  CURRENT  TARGET  RATIO  COUNTED                        PROPOSES
queue        20       5      4  2 ready, 3 unready, 2 ignored         8  highest
POD        GROUP    BECAUSE
failed     ignored  has failed; until it is removed
pending    unready  is pending; until it runs
succeeded  ignored  has succeeded; until it is removed
unknown    unready  is in an unknown phase; until it runs
unready    unready  is not ready; until ready
"#);
    insta::assert_snapshot!(said_of_pods(&input, true), @r#"
METRIC  CURRENT  TARGET  RATIO  COUNTED                        PROPOSES
queue        20       5      4  2 ready, 3 unready, 2 ignored         8  highest
POD        GROUP    BECAUSE
deleted    ready
failed     ignored  has failed; until it is removed
pending    unready  is pending; until it runs
ready      ready
succeeded  ignored  has succeeded; until it is removed
unknown    unready  is in an unknown phase; until it runs
unready    unready  is not ready; until ready
"#);
    let on_target = with_pods(&external, &pods, &build::queue(&["5"]));
    insta::assert_snapshot!(said_of_pods(&on_target, true), @r#"
METRIC  CURRENT  TARGET  RATIO  COUNTED  PROPOSES
queue         5       5      1  -               4  highest
"#);
    let service = json!({"apiVersion": "v1", "kind": "Service", "name": "front"});
    let depth = json!({"metric": {"name": "depth"}, "describedObject": service});
    let source = build::with(depth.clone(), &json!({"target": build::value("5")}));
    let object = json!({"type": "Object", "object": source});
    let depth = json!({
        "apiVersion": "custom.metrics.k8s.io/v1beta2", "kind": "MetricValueList",
        "items": [build::with(depth, &json!({"value": "20"}))],
    });
    insta::assert_snapshot!(said_of_pods(&with_pods(&object, &pods, &depth), false), @r#"
METRIC                  CURRENT  TARGET  RATIO  COUNTED                        PROPOSES
depth on Service/front       20       5      4  2 ready, 3 unready, 2 ignored         8  highest
POD        GROUP    BECAUSE
failed     ignored  has failed; until it is removed
pending    unready  is pending; until it runs
succeeded  ignored  has succeeded; until it is removed
unknown    unready  is in an unknown phase; until it runs
unready    unready  is not ready; until ready
"#);
}

#[test]
fn no_metric_is_awaited_of_a_pod_that_will_have_none() {
    let metrics = build::pod_metrics("ready", "90m");
    let pods = [
        ("ready", "Running", true),
        ("starting", "Running", true),
        ("succeeded", "Succeeded", false),
    ];
    let cpu = build::resource("cpu", &build::utilization(50));
    insta::assert_snapshot!(said_of_pods(&with_pods(&cpu, &pods, &metrics), false), @r#"
METRIC    CURRENT  TARGET  RATIO  COUNTED             PROPOSES
cpu     90% (90m)     50%    1.8  1 ready, 2 missing         4  highest
POD        USAGE  REQUEST  GROUP    COUNTED  BECAUSE
starting       -     100m  missing        0  has no metrics; until they arrive
succeeded      -     100m  missing        0  has succeeded and therefore has no metric; until it is removed
"#);
    // The container without usage leaves its pod without a value.
    let lacking = json!({"containers": [
        {"name": "app", "usage": {"cpu": "90m"}}, {"name": "side", "usage": {"memory": "1Mi"}}]});
    let partly = build::with(metrics.clone(), &lacking);
    let said = said_of_pods(&with_pods(&cpu, &pods, &partly), false);
    let because = "missing        -  has no cpu of the container side; until it arrives";
    assert!(said.contains(because), "{said}");
    let container = |target: &Value| {
        let metric = build::resource_of("cpu", "wbe", target);
        said_of_pods(&with_pods(&metric, &pods, &metrics), false)
    };
    insta::assert_snapshot!(container(&build::average("50m")), @r#"
METRIC      CURRENT  TARGET  RATIO  COUNTED             PROPOSES
cpu in wbe        -     50m      -  0 ready, 3 missing         -  failed
POD        USAGE  GROUP    COUNTED  BECAUSE
ready          -  missing        -  has no container "wbe"
starting       -  missing        -  has no container "wbe"
succeeded      -  missing        -  has succeeded and therefore has no metric; until it is removed
"#);
    insta::assert_snapshot!(container(&build::utilization(50)), @r#"
METRIC      CURRENT  TARGET  RATIO  COUNTED             PROPOSES
cpu in wbe        -     50%      -  0 ready, 3 missing         -  failed
POD        USAGE  GROUP    COUNTED  BECAUSE
ready          -  missing        -  has no container "wbe"
starting       -  missing        -  has no container "wbe"
succeeded      -  missing        -  has succeeded and therefore has no metric; until it is removed
"#);
}
