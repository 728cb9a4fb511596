//! The finding `controller-silent`.

use super::pods_changed_since;
use crate::apimachinery::quantity::Quantity;
use crate::findings::prelude::*;
use crate::snapshot::MetricAnswer;
use crate::snapshot::control_plane::manager;
use crate::snapshot::evidence::{LEASE_NAME, LEASE_NAMESPACE};
use crate::snapshot::hpa::MetricValueStatus;
use crate::snapshot::input::Input;
use crate::snapshot::metric::PUBLISHED_WITHIN;
use crate::snapshot::note::Subject;
use crate::words::value;

/// The controller makes no passes: the lease of the controller manager has run out, the HPA controller is switched off,
/// or no status has been written in several sync periods in which every pass would have changed it. If the only sign is
/// a CPU value in the status that is wrong and 10 minutes old, the finding is a warning.
///
/// Look at the controller manager.
#[derive(Debug, Clone, PartialEq)]
pub enum ControllerSilent {
    /// The lease of the controller manager has expired.
    Lapsed {
        /// The time of the last renewal.
        renewed: Timestamp,
    },
    /// The controller has not written a status for several sync periods.
    NeverPassed {
        /// The time when the HPA was created.
        created: Timestamp,
    },
    /// The HPA controller is switched off.
    Off {
        /// The pod of the controller manager.
        pod: String,
    },
    /// Every pass since some time would have written other replicas into the status.
    Replicas {
        /// The time when the status was written.
        written: Timestamp,
        /// The time when the replicas were set.
        since: Timestamp,
        /// The replicas.
        now: i32,
        /// The replicas in the status.
        then: i32,
    },
    /// Every pass since some time would have written another usage into the status.
    Usage {
        /// The time when the status was written.
        written: Timestamp,
        /// The time when the newest samples were available; `None` if that is not certain, but the status has had the
        /// same CPU usage for a very long time.
        since: Option<Timestamp>,
        /// The index of the metric in the spec, from 0.
        metric: usize,
        /// The value in the status.
        then: MetricValueStatus,
        /// The value now.
        now: MetricValueStatus,
    },
}

impl Kind for ControllerSilent {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let input = &case.pass.input;
        let off = input.notes.iter().find_map(|note| match &note.subject {
            Subject::ControllerOff { pod } => Some(ControllerSilent::Off { pod: pod.clone() }),
            _ => None,
        });
        // A leader that has only just come has missed no pass.
        let lease = input.evidence.lease;
        let held = lease.filter(|lease| lease.is_held(input.snapshot.now));
        let is_new = held.is_some_and(|lease| !input.is_several_passes_ago(lease.acquired));
        let missed = || never_passed(input).or_else(|| unwritten(case));
        let facts = off
            .or_else(|| lapsed(input))
            .or_else(|| missed().filter(|_| !is_new))?;
        let severity = match facts {
            ControllerSilent::Usage { since: None, .. } => Severity::Warning,
            _ => Severity::Error,
        };
        Some(Finding::explaining(severity, facts))
    }

    fn summary(&self, about: &About<'_>) -> String {
        let now = about.now();
        match self {
            Self::Lapsed { renewed } => format!(
                "the controller manager's lease was last renewed {} ago, so nothing is scaled",
                distance(*renewed, now)
            ),
            Self::NeverPassed { created } => format!(
                "the HPA was created {} ago, and the controller has written no status yet",
                distance(*created, now)
            ),
            Self::Replicas { written, since, .. }
            | Self::Usage {
                written,
                since: Some(since),
                ..
            } => format!(
                "the status was written {} ago, and any pass since {} would have changed it, so nothing is scaled",
                distance(*written, now),
                time(now, *since)
            ),
            Self::Usage {
                written, metric, ..
            } => format!(
                "the status still has the {} of {} ago: the controller may make no passes",
                about.label(*metric),
                distance(*written, now)
            ),
            Self::Off { .. } => {
                "the HPA controller is switched off by --controllers, so nothing is scaled"
                    .to_owned()
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let now = about.now();
        let period = duration(about.snapshot.controller.sync_period);
        let passes = format!("A running controller makes a pass every {period}.");
        vec![match self {
            Self::Lapsed { renewed } => format!(
                "A running controller manager renews its lease every few seconds and makes \
                 a pass every {period}; the last renewal was at {}.",
                time(now, *renewed)
            ),
            Self::NeverPassed { .. } => passes,
            Self::Replicas {
                since,
                now: replicas,
                then,
                ..
            } => format!(
                "The status says {}, and the target has had {replicas} since {}. {passes}",
                count(*then, "replica"),
                time(now, *since)
            ),
            Self::Usage {
                since,
                metric,
                then,
                now: current,
                ..
            } => {
                let [then, current] =
                    [then, current].map(|it| value(Some(about.spec(*metric)), it));
                match since {
                    Some(since) => format!(
                        "The status has {} at {then}; the samples that passes have had since {} make it {current}. \
                         {passes}",
                        about.label(*metric),
                        time(now, *since)
                    ),
                    None => format!(
                        "The status has it at {then}, and now it is {current}. Usage seldom stays the same for so \
                         long, and each pass writes what has changed. {passes}"
                    ),
                }
            }
            Self::Off { pod } => format!("The flag is set on {}.", manager(pod)),
        }]
    }

    fn advice(&self, _: &About<'_>) -> Advice {
        let lease: Command =
            format!("kubectl get lease {LEASE_NAME} -n {LEASE_NAMESPACE} -o yaml").into();
        let pods: Command =
            format!("kubectl get pods -n {LEASE_NAMESPACE} -l component=kube-controller-manager")
                .into();
        let (act, commands) = match self {
            Self::Lapsed { .. } => (
                "Look at the controller manager: no instance holds the lease.",
                vec![lease, pods],
            ),
            Self::NeverPassed { .. } => (
                "Look at the controller manager: is it running, and is the HPA controller on?",
                vec![lease, pods],
            ),
            // The reason is not known.
            Self::Replicas { .. } | Self::Usage { .. } => (
                "Look at the controller manager: is the HPA controller blocked, slow or off?",
                vec![pods, lease],
            ),
            Self::Off { pod } => {
                let pod = shell_word(pod);
                (
                    "Take the HPA controller out of --controllers of the controller manager.",
                    vec![format!("kubectl get pod {pod} -n {LEASE_NAMESPACE} -o yaml").into()],
                )
            }
        };
        Remedy::LookAtController.says(act).with_all(commands)
    }

    fn objects(&self, _: &About<'_>) -> Vec<String> {
        vec![match self {
            Self::Off { pod } => format!("pod/{pod}"),
            _ => format!("lease/{LEASE_NAME}"),
        }]
    }
}

/// Looks for a lease that its holder has not renewed.
fn lapsed(input: &Input) -> Option<ControllerSilent> {
    let renewed = input.lapsed_lease()?.renewed;
    Some(ControllerSilent::Lapsed { renewed })
}

/// Looks for an HPA that has no status although it should have had several passes.
fn never_passed(input: &Input) -> Option<ControllerSilent> {
    let hpa = &input.snapshot.hpa;
    let created = hpa
        .written
        .created
        .filter(|it| input.is_several_passes_ago(*it))?;
    (hpa.uid.is_some() && hpa.status.is_empty())
        .then_some(ControllerSilent::NeverPassed { created })
}

/// Looks for a value that each pass since some time would have written, while the status is older.
fn unwritten(case: &Case<'_>) -> Option<ControllerSilent> {
    let input = &case.pass.input;
    let hpa = &case.snapshot.hpa;
    let written = hpa
        .written
        .status
        .filter(|_| !hpa.written.by_us && input.observed.is_none())?;
    // A pass that cannot read the scale writes nothing else.
    let able = hpa.status.condition("AbleToScale");
    if able.is_some_and(|it| it.status == "False" && it.reason == "FailedGetScale") {
        return None;
    }
    let (now, then) = (case.scale()?.spec_replicas, hpa.status.current_replicas);
    if let Some(since) = input.replicas_unseen_since() {
        return Some(ControllerSilent::Replicas {
            written,
            since,
            now,
            then,
        });
    }
    unwritten_usage(case, written)
}

/// Looks for usage that each pass since some time would have written.
fn unwritten_usage(case: &Case<'_>, written: Timestamp) -> Option<ControllerSilent> {
    /// Usage of a running process does not stay the same for this long.
    const LONG: SignedDuration = SignedDuration::from_mins(10);
    /// Idle processes may have the same usage for hours, in milli-units of CPU.
    const IDLE: i64 = 20;
    /// A larger relative difference in usage is not noise.
    const NOISE: f64 = 0.2;
    let input = &case.pass.input;
    let hpa = &case.snapshot.hpa;
    let status = case.decision.outcome.status.as_ref()?;
    let lists = [
        hpa.status.current_metrics.as_deref()?,
        status.current_metrics.as_deref()?,
    ];
    let is_comparable = lists[0].len() == lists[1].len()
        && hpa.written.spec.is_none_or(|it| it <= written)
        && !pods_changed_since(case, written);
    for step in case.metrics().filter(|_| is_comparable) {
        let samples = matches!(
            case.snapshot.metrics.get(step.index),
            Some(MetricAnswer::PodMetrics)
        );
        let (then, current) = (lists[0].get(step.index)?, lists[1].get(step.index)?);
        if !samples || then.agrees_with(current) {
            continue;
        }
        let (Some((_, then)), Some((_, current))) = (then.labelled(), current.labelled()) else {
            continue;
        };
        let rows = step
            .pods
            .iter()
            .filter_map(|row| case.metrics_of(case.pod_of(row)));
        let newest = rows.map(|it| it.timestamp).max()?;
        let published = newest.checked_add(PUBLISHED_WITHIN).ok()?;
        let is_unseen = newest > written && input.is_unseen(written, published);
        let usage = |it: &MetricValueStatus| it.average_value.as_ref().map(Quantity::milli_value);
        let was_busy = usage(then).is_some_and(|then| {
            let change = usage(current).map_or(0, |now| now.abs_diff(then));
            then >= IDLE && change as f64 > then as f64 * NOISE
        });
        let is_long = input.knows_time() && case.snapshot.now.duration_since(written) >= LONG;
        if is_unseen || step.name == "cpu" && was_busy && is_long {
            return Some(ControllerSilent::Usage {
                written,
                since: is_unseen.then_some(published),
                metric: step.index,
                then: then.clone(),
                now: current.clone(),
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;

    use crate::findings::outside::testing::{
        deployment, rescale, settled, unknown_memory, with_pods, writes,
    };
    use crate::findings::testing::{input, only};
    use crate::memory::Remembered;

    use crate::findings::{Code, Facts};

    #[test]
    fn a_controller_that_makes_no_passes() {
        let created = |time: &str| {
            build::with(
                build::hpa(&json!({})),
                &json!({"metadata": {"creationTimestamp": time}}),
            )
        };
        let earlier = build::with(
            settled(4),
            &json!({"metadata": {"managedFields": [
                {"manager": "kube-controller-manager", "subresource": "status",
                    "time": "2026-11-21T04:59:00Z"},
            ]}}),
        );
        let lapsed = "2026-11-21T05:00:00.000000Z";
        let pod = |owners: Value| {
            let metadata =
                json!({"creationTimestamp": "2026-11-21T05:30:00Z", "ownerReferences": owners});
            build::with(build::pod("web-9"), &json!({ "metadata": metadata }))
        };
        let owned = |kind: &str, api: &str| pod(build::owned_by(api, kind, "web-1"));
        let foreign = build::with(
            rescale(8, 80),
            &json!({"source": {"component": "an-operator"}}),
        );
        let followed = json!({
            "apiVersion": "v1", "kind": "Event",
            "involvedObject": {"kind": "Deployment", "namespace": "default", "name": "web"},
            "reason": "ScalingReplicaSet", "message": "Scaled up replica set web-1 from 2 to 4",
            "lastTimestamp": "2026-11-21T05:30:00Z",
        });
        let acquired = json!({"spec": {"acquireTime": "2026-11-21T05:59:50.000000Z"}});
        let new = build::with(build::lease("2026-11-21T05:59:58.000000Z"), &acquired);
        for (hpa, lease, want) in [
            (earlier.clone(), vec![build::lease(lapsed)], Some("lapsed")),
            // Its holder makes passes until the lease ends.
            (
                earlier.clone(),
                vec![build::lease("2026-11-21T04:58:50.000000Z")],
                Some("lapsed"),
            ),
            (
                earlier.clone(),
                vec![build::lease("2026-11-21T05:59:58.000000Z")],
                None,
            ),
            // Others need no controller manager.
            (
                earlier.clone(),
                vec![build::lease(lapsed), foreign],
                Some("lapsed"),
            ),
            (
                earlier.clone(),
                vec![build::lease(lapsed), pod(json!([]))],
                Some("lapsed"),
            ),
            (
                earlier.clone(),
                vec![build::lease(lapsed), owned("Node", "v1")],
                Some("lapsed"),
            ),
            // It has created pods since, tried to scale, or written a status, so its lease is a different one.
            (
                earlier.clone(),
                vec![build::lease(lapsed), owned("ReplicaSet", "apps/v1")],
                None,
            ),
            (earlier.clone(), vec![build::lease(lapsed), followed], None),
            (earlier, vec![build::lease(lapsed), rescale(8, 80)], None),
            (settled(4), vec![build::lease(lapsed)], None),
            (created("2026-11-21T05:50:00Z"), vec![], Some("never")),
            (created("2026-11-21T05:50:00Z"), vec![new], None),
            (created("2026-11-21T05:59:40Z"), vec![], None),
        ] {
            let items = [unknown_memory(), hpa.clone(), build::scale(4)]
                .into_iter()
                .chain(lease);
            let got = only(Code::ControllerSilent, &with_pods(items, 4, "50m")).map(|it| {
                assert_eq!((it.severity, it.explains), (Severity::Error, true));
                match it.facts {
                    Facts::ControllerSilent(ControllerSilent::Lapsed { .. }) => "lapsed",
                    Facts::ControllerSilent(ControllerSilent::NeverPassed { .. }) => "never",
                    other => panic!("{other:?}"),
                }
            });
            assert_eq!(got, want, "{hpa}");
        }
    }

    /// A status that is older than what every pass would have written.
    #[test]
    fn a_status_that_passes_would_have_changed() {
        let status = |written: &str, replicas: i32, used: i32| {
            let current = json!({"averageUtilization": used, "averageValue": format!("{used}m")});
            build::with(
                settled(replicas),
                &json!({
                    "metadata": {"managedFields": [{"manager": "kube-controller-manager",
                        "subresource": "status", "time": written}]},
                    "status": {"currentMetrics": [
                        {"type": "Resource", "resource": {"name": "cpu", "current": current}}]},
                }),
            )
        };
        let set_at = |time: &str| {
            let managed = build::with(
                writes("kubectl", "scale")[0].clone(),
                &json!({ "time": time }),
            );
            deployment(4, &json!([managed]), &json!({}))
        };
        let measured = |items: Vec<Value>, time: &str| -> Vec<Value> {
            let dated = |item: Value| {
                if item["kind"] == "PodMetrics" {
                    build::with(item, &json!({ "timestamp": time }))
                } else {
                    item
                }
            };
            items.into_iter().map(dated).collect()
        };
        let ready_at = |items: Vec<Value>, time: &str| -> Vec<Value> {
            let condition =
                json!([{"type": "Ready", "status": "True", "lastTransitionTime": time}]);
            let turned = |item: Value| {
                if item["kind"] == "Pod" {
                    build::with(item, &json!({"status": {"conditions": condition}}))
                } else {
                    item
                }
            };
            items.into_iter().map(turned).collect()
        };
        let unread = |hpa: Value| {
            let able =
                json!([{"type": "AbleToScale", "status": "False", "reason": "FailedGetScale"}]);
            build::with(hpa, &json!({"status": {"conditions": able}}))
        };
        let long_ago = "2026-11-21T05:20:00Z";
        let all = |hpa: Value, target: Value| {
            with_pods([unknown_memory(), hpa, build::scale(4), target], 4, "50m")
        };
        let used = |written: &str, used: i32, sampled: &str| {
            measured(
                all(status(written, 4, used), set_at("2026-11-21T01:00:00Z")),
                sampled,
            )
        };
        for (items, want) in [
            // Set 20 minutes ago, just now, and before the status.
            (
                all(status(long_ago, 2, 50), set_at("2026-11-21T05:40:00Z")),
                Some("replicas"),
            ),
            (
                all(status(long_ago, 2, 50), set_at("2026-11-21T05:59:40Z")),
                None,
            ),
            (
                all(status(long_ago, 2, 50), set_at("2026-11-21T05:10:00Z")),
                None,
            ),
            (
                all(status(long_ago, 4, 50), set_at("2026-11-21T05:40:00Z")),
                None,
            ),
            // Samples that all passes since 05:58 have seen, and a newer one.
            (used(long_ago, 40, "2026-11-21T05:57:00Z"), Some("usage")),
            (
                used("2026-11-21T05:56:00Z", 40, "2026-11-21T05:57:00Z"),
                Some("usage"),
            ),
            (
                used("2026-11-21T05:56:00Z", 40, "2026-11-21T05:59:00Z"),
                None,
            ),
            (
                used("2026-11-21T05:56:00Z", 50, "2026-11-21T05:57:00Z"),
                None,
            ),
            // Usage that does not change for 40 minutes, unless idle pods have it.
            (used(long_ago, 40, "2026-11-21T05:59:00Z"), Some("steady")),
            (used(long_ago, 10, "2026-11-21T05:59:00Z"), None),
            (used(long_ago, 45, "2026-11-21T05:59:00Z"), None),
            (used(long_ago, 50, "2026-11-21T05:59:00Z"), None),
            // A pass that cannot read the scale writes neither.
            (
                all(
                    unread(status(long_ago, 2, 50)),
                    set_at("2026-11-21T05:40:00Z"),
                ),
                None,
            ),
            (
                all(
                    unread(status(long_ago, 4, 40)),
                    set_at("2026-11-21T01:00:00Z"),
                ),
                None,
            ),
            // Other pods may count than did.
            (
                ready_at(
                    used(long_ago, 40, "2026-11-21T05:57:00Z"),
                    "2026-11-21T05:59:00Z",
                ),
                None,
            ),
        ] {
            let got = only(Code::ControllerSilent, &items).map(|it| {
                let (kind, severity) = match it.facts {
                    Facts::ControllerSilent(ControllerSilent::Replicas { .. }) => {
                        ("replicas", Severity::Error)
                    }
                    Facts::ControllerSilent(ControllerSilent::Usage { since: Some(_), .. }) => {
                        ("usage", Severity::Error)
                    }
                    Facts::ControllerSilent(ControllerSilent::Usage { since: None, .. }) => {
                        ("steady", Severity::Warning)
                    }
                    other => panic!("{other:?}"),
                };
                assert_eq!((it.severity, it.explains), (severity, true));
                kind
            });
            assert_eq!(got, want, "{}", items[1]);
            // Nor has a pass recommended anything since then.
            if want == Some("replicas") {
                let remembered = Remembered::of(&input(&items).expect("an input"));
                let set = "2026-11-21T05:40:00Z".parse().expect("a time");
                assert!(remembered.likely.recommendations[0].time <= set);
                let sure = remembered.possible.map(|it| it.highest.at_least);
                assert_eq!(sure, Some(None));
            }
        }
    }
}
