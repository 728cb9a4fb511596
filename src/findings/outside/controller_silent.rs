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
    use crate::findings::pods::testing::ready;
    use crate::findings::testing::{event, input, only_of, with, with_hpa};
    use crate::memory::Remembered;

    #[test]
    fn a_controller_that_makes_no_passes() {
        let created = |time: &str| {
            let metadata = json!({ "metadata": {"creationTimestamp": time} });
            build::with(build::hpa(&json!({})), &metadata)
        };
        let status_at = json!([{"manager": "kube-controller-manager", "subresource": "status",
            "time": "2026-11-21T04:59:00Z"}]);
        let earlier = build::with(
            settled(4),
            &json!({"metadata": {"managedFields": status_at}}),
        );
        let lapsed = || build::lease("2026-11-21T05:00:00.000000Z");
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
        let message = "Scaled up replica set web-1 from 2 to 4";
        let at = "2026-11-21T05:30:00Z";
        let followed = event("Deployment", "web", "ScalingReplicaSet", message, at);
        let acquired = json!({"spec": {"acquireTime": "2026-11-21T05:59:50.000000Z"}});
        let held = build::lease("2026-11-21T05:59:58.000000Z");
        let new = build::with(held.clone(), &acquired);
        let silent = |hpa: &Value, more: &[Value]| {
            let items = [&[unknown_memory(), hpa.clone(), build::scale(4)], more].concat();
            let (facts, it) = only_of::<ControllerSilent>(&with_pods(items, 4, "50m"))?;
            assert_eq!((it.severity, it.explains), (Severity::Error, true));
            match facts {
                ControllerSilent::Lapsed { .. } => Some("lapsed"),
                ControllerSilent::NeverPassed { .. } => Some("never"),
                other => panic!("{other:?}"),
            }
        };
        for lease in [
            vec![lapsed()],
            // Its holder makes passes until the lease ends.
            vec![build::lease("2026-11-21T04:58:50.000000Z")],
            // Others need no controller manager.
            vec![lapsed(), foreign],
            vec![lapsed(), pod(json!([]))],
            vec![lapsed(), owned("Node", "v1")],
        ] {
            assert_eq!(silent(&earlier, &lease), Some("lapsed"), "{lease:?}");
        }
        for lease in [
            vec![held],
            // It has created pods since, tried to scale, or written a status, so its lease is a different one.
            vec![lapsed(), owned("ReplicaSet", "apps/v1")],
            vec![lapsed(), followed],
            vec![lapsed(), rescale(8, 80)],
        ] {
            assert_eq!(silent(&earlier, &lease), None, "{lease:?}");
        }
        assert_eq!(silent(&settled(4), &[lapsed()]), None);
        let early = created("2026-11-21T05:50:00Z");
        assert_eq!(silent(&early, &[]), Some("never"));
        assert_eq!(silent(&early, &[new]), None);
        assert_eq!(silent(&created("2026-11-21T05:59:40Z"), &[]), None);
    }

    /// A status that is older than what every pass would have written.
    #[test]
    fn a_status_that_passes_would_have_changed() {
        let at = |time: &str| format!("2026-11-21T{time}Z");
        let status = |written: &str, replicas: i32, used: i32| {
            let current = json!({"averageUtilization": used, "averageValue": format!("{used}m")});
            let of_cpu =
                json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
            let managed = json!({"manager": "kube-controller-manager", "subresource": "status",
                "time": at(written)});
            let patch = json!({"metadata": {"managedFields": [managed]}, "status": {"currentMetrics": [of_cpu]}});
            build::with(settled(replicas), &patch)
        };
        let all = |hpa: Value, set: &str| {
            let mut managed = writes("kubectl", "scale");
            managed[0]["time"] = json!(at(set));
            let items = [
                unknown_memory(),
                hpa,
                build::scale(4),
                deployment(4, &managed),
            ];
            with_pods(items, 4, "50m")
        };
        let used = |written: &str, used: i32, sampled: &str| {
            let items = all(status(written, 4, used), "01:00:00");
            with(&items, "PodMetrics", &json!({ "timestamp": at(sampled) }))
        };
        let unread = |items: &[Value]| {
            let able =
                json!([{"type": "AbleToScale", "status": "False", "reason": "FailedGetScale"}]);
            with_hpa(items, &json!({"status": {"conditions": able}}))
        };
        let long_ago = "05:20:00";
        let set_later = all(status(long_ago, 2, 50), "05:40:00");
        let seen = used(long_ago, 40, "05:57:00");
        for (items, want) in [
            // Set 20 minutes ago, just now, and before the status.
            (set_later.clone(), Some("replicas")),
            (all(status(long_ago, 2, 50), "05:59:40"), None),
            (all(status(long_ago, 2, 50), "05:10:00"), None),
            (all(status(long_ago, 4, 50), "05:40:00"), None),
            // Samples that all passes since 05:58 have seen, and a newer one.
            (seen.clone(), Some("usage")),
            (used("05:56:00", 40, "05:57:00"), Some("usage")),
            (used("05:56:00", 40, "05:59:00"), None),
            (used("05:56:00", 50, "05:57:00"), None),
            // Usage that does not change for 40 minutes, unless idle pods have it.
            (used(long_ago, 40, "05:59:00"), Some("steady")),
            (used(long_ago, 10, "05:59:00"), None),
            (used(long_ago, 45, "05:59:00"), None),
            (used(long_ago, 50, "05:59:00"), None),
            // A pass that cannot read the scale writes neither.
            (unread(&set_later), None),
            (unread(&used(long_ago, 40, "05:59:50")), None),
            // Other pods may count than did.
            (with(&seen, "Pod", &ready("True", &at("05:59:00"))), None),
        ] {
            let got = only_of::<ControllerSilent>(&items).map(|(facts, it)| {
                let (kind, severity) = match facts {
                    ControllerSilent::Replicas { .. } => ("replicas", Severity::Error),
                    ControllerSilent::Usage { since: Some(_), .. } => ("usage", Severity::Error),
                    ControllerSilent::Usage { since: None, .. } => ("steady", Severity::Warning),
                    other => panic!("{other:?}"),
                };
                assert_eq!((it.severity, it.explains), (severity, true));
                kind
            });
            assert_eq!(got, want, "{}", items[1]);
            // Nor has a pass recommended anything since then.
            if want == Some("replicas") {
                let remembered = Remembered::of(&input(&items).expect("an input"));
                let set = at("05:40:00").parse().expect("a time");
                assert!(remembered.likely.recommendations[0].time <= set);
                let sure = remembered.possible.map(|it| it.highest.at_least);
                assert_eq!(sure, Some(None));
            }
        }
    }
}
