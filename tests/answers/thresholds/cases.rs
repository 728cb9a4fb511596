//! Thresholds worked out by hand from the controller's rules: `ceil(ratio x ready pods)`, a tolerance
//! of 0.1 on the ratio, missing pods counted as using their whole request below the target and
//! nothing above it, and without `behavior` at most twice the replicas or 4 in one pass.

use kubectl_hpa::engine::decision::Direction;
use kubectl_hpa::pass::Pass;
use kubectl_hpa::snapshot::{Documents, MetricAnswer, UnreadCause};
use kubectl_hpa::whatif::thresholds::{
    Ask, Changes, HeldBy, RangeEnd, Reached, ThresholdValues, Thresholds, thresholds,
};
use serde_json::json;

use crate::common::{self, build};

const CPU: &str = "{type: Resource, resource: {name: cpu, \
                    target: {type: Utilization, averageUtilization: 50}}}";
const QUEUE: &str = "{type: External, external: {metric: {name: queue}, \
                      target: {type: AverageValue, averageValue: '30'}}}";

/// A metric that fails, because the list in the input does not have it.
const EMPTY: &str = "{type: External, external: {metric: {name: rate}, \
                      target: {type: AverageValue, averageValue: '30'}}}";

/// A metric that could not be read.
const UNREAD: &str = "{type: External, external: {metric: {name: hits}, \
                      target: {type: AverageValue, averageValue: '30'}}}";

/// An HPA of 1 to 10 with 4 replicas and one pod per letter of `pods`, each of which requests 100m of
/// CPU: ready, without metrics (`M` requests 6900m), or being deleted.
struct Case {
    metrics: &'static [&'static str],
    pods: &'static str,
    spec: &'static str,
    state: &'static str,
    queue: i64,
}

const PLAIN: Case = Case {
    metrics: &[CPU],
    pods: "rrrr",
    spec: "maxReplicas: 10",
    // So that the controller has not just started, which would hold the replicas.
    state: "recommendations: [{replicas: 1, time: '2026-11-21T05:59:00Z'}]",
    queue: 120,
};

impl Case {
    fn thresholds(&self) -> Vec<Thresholds> {
        self.with_curve(None)
    }

    fn with_curve(&self, curve: Option<usize>) -> Vec<Thresholds> {
        let fields = |text: &str| build::yaml(&format!("{{{text}}}"));
        let metrics: Vec<_> = self
            .metrics
            .iter()
            .map(|metric| build::yaml(metric))
            .collect();
        let spec = build::with(
            json!({"minReplicas": 1, "metrics": metrics}),
            &fields(self.spec),
        );
        // The newest version, if none is stated.
        let state = build::state(&json!({"kubernetesVersion": null}));
        let mut items = vec![
            build::hpa(&spec),
            build::with(state, &fields(self.state)),
            build::queue(&[&self.queue.to_string()]),
            build::scale(4),
        ];
        for (number, sort) in self.pods.chars().enumerate() {
            let name = format!("web-{number}");
            let deleted = (sort == 'd').then_some("2026-11-21T05:59:59Z");
            let metadata = json!({"metadata": {"deletionTimestamp": deleted}});
            let request = if sort == 'M' { "6900m" } else { "100m" };
            let containers = json!({"spec": {"containers": [build::requesting("app", request)]}});
            items.push(build::with(
                build::with(build::pod(&name), &metadata),
                &containers,
            ));
            items.extend((!"mM".contains(sort)).then(|| build::pod_metrics(&name, "50m")));
        }
        let text = build::list(items);
        let mut input = common::read(&text).expect("the case is readable");
        for (answer, metric) in input.snapshot.metrics.iter_mut().zip(self.metrics) {
            if *metric == UNREAD {
                *answer = MetricAnswer::Unread(UnreadCause::Missing {
                    documents: Documents::ExternalMetricValueList,
                });
            }
        }
        thresholds(&Pass::run(input), curve)
    }

    fn changes(&self) -> Changes {
        match self.thresholds().swap_remove(0).found {
            ThresholdValues::Changes(changes) => *changes,
            ThresholdValues::Nothing { error } => panic!("{error}"),
        }
    }
}

/// Each pass uses every pod: computing all steps of a curve would take too long, and none would be visible.
#[test]
fn a_curve_over_many_pods_has_fewer_steps() {
    for (pods, most) in [(10, 1001), (2000, 100)] {
        let pods = "r".repeat(pods).leak();
        let case = Case {
            pods,
            spec: "maxReplicas: 100000",
            ..PLAIN
        };
        let ThresholdValues::Changes(changes) = case.with_curve(Some(0)).swap_remove(0).found
        else {
            panic!("there are thresholds");
        };
        let steps = changes.curve.expect("a curve").steps;
        let proposals = steps.iter().filter_map(|step| step.proposal);
        let highest = proposals.clone().max().expect("proposals");
        assert!(steps.windows(2).all(|pair| pair[0].from < pair[1].from));
        assert!(
            highest > 98_000,
            "it covers all of it, not {highest} at most"
        );
        // The replicas after the pass have steps of their own, up to twice the current 4.
        assert!(
            (most / 2..=most + 10).contains(&steps.len()),
            "{} steps",
            steps.len()
        );
    }
}

/// Returns effects with the highest value of each; the last has no end.
fn bands(changes: &Changes) -> String {
    let last = changes.bands.len() - 1;
    let band = |(place, band)| {
        let json = json!(band);
        let effect = json["effect"].as_str().expect("an effect");
        if place == last {
            effect.to_owned()
        } else {
            format!("{effect} ..{}", json["to"])
        }
    };
    changes
        .bands
        .iter()
        .enumerate()
        .map(band)
        .collect::<Vec<_>>()
        .join(", ")
}

#[test]
fn thresholds_follow_from_the_rules() {
    for (case, expected, tolerance, max, min, because) in [
        (
            Case { ..PLAIN },
            "removes ..37, keeps ..55, adds",
            (45, 55),
            Some(113),
            Some(12),
            "4 v / 50: at most 3 up to 37.5, above 9 from 112.5, at most 1 up to 12.5",
        ),
        (
            Case {
                state: "kubernetesVersion: v1.30.0, recommendations: [{replicas: 1, time: '2026-11-21T05:59:00Z'}]",
                ..PLAIN
            },
            "removes ..37, keeps ..54, adds",
            (45, 54),
            Some(113),
            Some(12),
            "older controllers compare |1 - 1.1| with 0.1, which floats make larger",
        ),
        (
            Case {
                pods: "rrdd",
                ..PLAIN
            },
            "removes ..44, keeps ..55, removes ..75, keeps ..100, adds",
            (45, 55),
            Some(226),
            Some(25),
            "2 v / 50 of the pods that count, but the 4 there are while it is on target",
        ),
        (
            Case {
                pods: "rrrm",
                ..PLAIN
            },
            "removes ..17, keeps ..74, adds",
            (27, 74),
            Some(151),
            None,
            "(3 v + 100) / 4 below the target, 3 v / 4 above it, truncated; not below 25",
        ),
        (
            Case {
                pods: "rrrM",
                ..PLAIN
            },
            "keeps ..1343, adds",
            (0, 1343),
            Some(2712),
            None,
            "3 v / 72 above the target, truncated: 56 from 1344, 113 from 2712; below it, the fourth uses its all",
        ),
        (
            Case {
                metrics: &[QUEUE],
                ..PLAIN
            },
            "removes ..90000, keeps ..132000, adds",
            (108_000, 132_000),
            Some(270_001),
            Some(30_000),
            "v / 30 in all, the ratio over 4 x 30",
        ),
    ] {
        let changes = case.changes();
        assert_eq!(bands(&changes), expected, "{because}");
        let span = changes.tolerance.map(|span| (span.from, span.to));
        assert_eq!(span, Some(tolerance), "{because}");
        assert_eq!(
            (changes.max.proposed, changes.min.proposed),
            (max, min),
            "{because}"
        );
        assert!(changes.bands.iter().all(|band| band.certain));
    }
}

/// What the ends are, and why no more than that.
#[test]
fn what_holds_the_answer_is_named() {
    let held = "recommendations: [{replicas: 8, time: '2026-11-21T05:59:00Z'}]";
    let own = "maxReplicas: 10, behavior: {scaleUp: {policies: [{type: Pods, value: 1, \
               periodSeconds: 60}]}, scaleDown: {stabilizationWindowSeconds: 0, selectPolicy: \
               Disabled}}";
    let stabilized = HeldBy::Stabilization { replicas: 8 };
    let disabled = || HeldBy::Disabled {
        direction: Direction::Down,
    };
    let other = |replicas| HeldBy::Metric {
        metric: "queue".to_owned(),
        replicas,
    };
    // The 4 from a minute ago hold until they are five minutes old.
    let steady = "recommendations: [{replicas: 4, time: '2026-11-21T05:59:00Z'}]";
    let later = "2026-11-21T06:04:00Z".parse().expect("a time");
    for (case, lowest, highest) in [
        (
            Case {
                state: steady,
                ..PLAIN
            },
            (
                Some(0),
                4,
                Some(later),
                vec![HeldBy::Stabilization { replicas: 4 }],
            ),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case { ..PLAIN },
            (Some(0), 1, None, vec![]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                state: held,
                ..PLAIN
            },
            (Some(0), 8, None, vec![stabilized]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case { spec: own, ..PLAIN },
            (Some(0), 4, None, vec![disabled()]),
            (5, vec![HeldBy::Rate { replicas: 5 }]),
        ),
        (
            Case {
                spec: "maxReplicas: 10, behavior: {scaleDown: {selectPolicy: Disabled}}",
                state: steady,
                ..PLAIN
            },
            (Some(0), 4, None, vec![disabled()]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                spec: own,
                metrics: &[CPU, UNREAD],
                ..PLAIN
            },
            (Some(0), 4, None, vec![disabled()]),
            (5, vec![HeldBy::Rate { replicas: 5 }]),
        ),
        (
            Case {
                state: steady,
                metrics: &[CPU, UNREAD],
                ..PLAIN
            },
            (
                Some(0),
                4,
                None,
                vec![HeldBy::UnreadMetrics, HeldBy::Stabilization { replicas: 4 }],
            ),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                spec: "minReplicas: 4, maxReplicas: 10",
                metrics: &[CPU, UNREAD],
                ..PLAIN
            },
            (Some(0), 4, None, vec![]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                metrics: &[CPU, QUEUE],
                queue: 180,
                ..PLAIN
            },
            (Some(0), 6, None, vec![other(6)]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                metrics: &[CPU, EMPTY],
                ..PLAIN
            },
            (Some(0), 4, None, vec![HeldBy::FailedMetrics]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                metrics: &[CPU, UNREAD],
                ..PLAIN
            },
            (Some(0), 4, None, vec![HeldBy::UnreadMetrics]),
            (8, vec![HeldBy::Rate { replicas: 8 }]),
        ),
        (
            Case {
                state: "errors: [{api: scaleUpdate, message: denied}]",
                metrics: &[CPU, UNREAD],
                ..PLAIN
            },
            (Some(0), 4, None, vec![HeldBy::Scale]),
            (4, vec![HeldBy::Rate { replicas: 8 }, HeldBy::Scale]),
        ),
    ] {
        let changes = case.changes();
        let (proposal, replicas, changes_at, held_by) = lowest;
        assert_eq!(
            changes.lowest,
            RangeEnd {
                proposal,
                replicas,
                changes_at,
                held_by
            }
        );
        assert_eq!((changes.highest.replicas, changes.highest.held_by), highest);
        assert_eq!(
            changes.max,
            Reached {
                replicas: 10,
                proposed: Some(113),
                met: None
            }
        );
    }
}

/// Stabilization holds the replicas whatever the metric's value, but not what the metric asks for: the
/// borders are the same as in a case without a hold.
#[test]
fn a_held_metric_says_where_it_asks_for_fewer() {
    let steady = "recommendations: [{replicas: 4, time: '2026-11-21T05:59:00Z'}]";
    let asks = |case: Case| {
        let asks = case.changes().asks;
        asks.iter()
            .map(|it| (it.asks, it.span.to))
            .take(2)
            .collect::<Vec<_>>()
    };
    let expected = [(Ask::Fewer, 37), (Ask::Same, 55)];
    assert_eq!(
        asks(Case {
            state: steady,
            ..PLAIN
        }),
        expected
    );
    assert_eq!(asks(PLAIN), expected);
    assert_eq!(
        bands(
            &Case {
                state: steady,
                ..PLAIN
            }
            .changes()
        ),
        "keeps ..55, adds"
    );
}

#[test]
fn what_no_value_can_change_has_no_thresholds() {
    assert_eq!(
        Case {
            spec: "maxReplicas: 3",
            ..PLAIN
        }
        .thresholds(),
        []
    );
    let failing = Case { pods: "", ..PLAIN }.thresholds();
    let ThresholdValues::Nothing { error } = &failing[0].found else {
        panic!("{failing:?}")
    };
    assert!(error.contains("the target has no pods"), "{error}");
}
