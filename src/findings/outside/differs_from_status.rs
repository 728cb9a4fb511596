//! The finding `differs-from-status`.

use std::collections::HashSet;

use super::pods_changed_since;
use crate::engine;
use crate::engine::decision::{Because, Decision};
use crate::findings::prelude::*;
use crate::snapshot::controller::Controller;
use crate::version::Version;

/// The controller decided on a different number of replicas from this pass, with the same values and a history that
/// makes no difference.
///
/// State the flags and the version of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiffersFromStatus {
    /// The replicas that the controller decided on.
    pub last: i32,
    /// The replicas that this pass decides on.
    pub now: i32,
    /// The time when the controller wrote its decision.
    pub written: Timestamp,
    /// Settings, each of which would explain the difference.
    pub would_explain: Vec<Setting>,
}

impl Kind for DiffersFromStatus {
    fn find(case: &Case<'_>) -> Option<Finding> {
        let pass = case.pass;
        let hpa = &case.snapshot.hpa;
        let scale = case.scale()?;
        let status = case.decision.outcome.status.as_ref()?;
        let (last, now) = (hpa.status.desired_replicas, status.desired_replicas);
        let written = hpa.written.status?;
        let same_metrics = match (&hpa.status.current_metrics, &status.current_metrics) {
            (Some(then), Some(now)) => {
                then.len() == now.len()
                    && then
                        .iter()
                        .zip(now)
                        .all(|(then, now)| then.labelled().is_some() && then.agrees_with(now))
            }
            _ => false,
        };
        // A pass that scales leaves the earlier values in its status.
        let stood_still = hpa.status.current_replicas == last && scale.spec_replicas == last;
        let range = pass.outlook.range(case.decision);
        let is_certain = range.is_some_and(|range| range.is_only(now));
        let is_comparable = last != now
            && pass.input.observed_replicas().is_none()
            && stood_still
            && same_metrics
            && !pods_changed_since(case, written)
            && !measured_since(case, written)
            && !hpa.written.by_us
            && hpa.written.spec.is_none_or(|it| it <= written)
            && pass.input.lapsed_lease().is_none()
            && is_certain;
        if !is_comparable {
            return None;
        }
        // A change by time alone, such as the end of a period since a pod's start, is no setting.
        let then = case
            .decide(|snapshot| snapshot.now = written)
            .outcome
            .status;
        if then.is_some_and(|it| it.desired_replicas == last) {
            return None;
        }
        let would_explain = would_explain(case, last);
        // Without a setting that explains it, the status may belong to a pass that read other values.
        (!would_explain.is_empty()).then(|| {
            let facts = DiffersFromStatus {
                last,
                now,
                written,
                would_explain,
            };
            Finding::aside(Severity::Warning, facts)
        })
    }

    fn summary(&self, _: &About<'_>) -> String {
        let settings: Vec<&str> = self.would_explain.iter().map(|it| &*it.words).collect();
        format!(
            "the controller wanted {}, and this pass {} from the same values: {} would explain it",
            count(self.last, "replica"),
            self.now,
            settings.join(" or ")
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        vec![
            format!(
                "The status of {} has the same values, and the controller's history makes no \
                 difference.",
                time(about.now(), self.written)
            ),
            "What was not read of the controller's settings is assumed.".to_owned(),
        ]
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let settings = self.would_explain.iter();
        Remedy::StateFlags
            .says("State the flags and the version of the controller.")
            .with_all(settings.map(|it| about.kubectl("hpa explain", &it.flag)))
    }
}

/// A setting of the controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Describes the setting: `a tolerance of 0.2`.
    pub words: String,
    /// The flag that states the setting.
    pub flag: String,
}

impl Setting {
    fn new(words: &str, flag: &str, value: &str) -> Self {
        Self {
            words: format!("{words} {value}"),
            flag: format!("{flag} {value}"),
        }
    }
}

/// Whether a sample was taken since some time, so that a pass before it did not have its value.
fn measured_since(case: &Case<'_>, since: Timestamp) -> bool {
    let snapshot = case.snapshot;
    let pods: HashSet<&str> = case.pods().map(|pod| &*pod.name).collect();
    let answers = snapshot.metrics.iter();
    let mut samples = answers
        .flat_map(|answer| snapshot.measurements(answer))
        .filter(|sample| sample.pod.is_none_or(|pod| pods.contains(pod)));
    samples.any(|sample| sample.time.is_some_and(|time| time > since))
}

/// No one sets a larger tolerance, so the cause must be something else.
const LARGEST_TOLERANCE: f64 = 0.3;

/// Returns the assumed settings that would bring a pass to this many replicas.
fn would_explain(case: &Case<'_>, wanted: i32) -> Vec<Setting> {
    let search = SettingSearch { case, wanted };
    let known = &case.pass.input.known.flags;
    let mut settings = Vec::new();
    if known.tolerance.is_none() {
        settings.extend(search.tolerance());
    }
    for (known, words, flag, period) in [
        (
            known.downscale_stabilization,
            "a downscale stabilization of",
            "--downscale-stabilization",
            (|it| &mut it.downscale_stabilization) as Period,
        ),
        (
            known.cpu_initialization_period,
            "a CPU initialization period of",
            "--cpu-initialization-period",
            |it| &mut it.cpu_initialization_period,
        ),
        (
            known.initial_readiness_delay,
            "an initial readiness delay of",
            "--initial-readiness-delay",
            |it| &mut it.initial_readiness_delay,
        ),
    ] {
        if known.is_none() {
            let found = search.period(period);
            settings.extend(found.map(|it| Setting::new(words, flag, &duration(it))));
        }
    }
    if case.snapshot.controller.version.stated().is_none() {
        settings.extend(search.version());
    }
    settings
}

/// A period of the controller.
type Period = fn(&mut Controller) -> &mut SignedDuration;

/// A search for settings that would bring a pass to this many replicas.
struct SettingSearch<'c, 'p> {
    case: &'c Case<'p>,
    wanted: i32,
}

impl SettingSearch<'_, '_> {
    fn is_explained_by(&self, decision: &Decision) -> bool {
        let status = decision.outcome.status.as_ref();
        status.is_some_and(|it| it.desired_replicas == self.wanted)
    }

    fn is_explained_with(&self, change: impl FnOnce(&mut Controller)) -> bool {
        let decision = self
            .case
            .decide(|snapshot| change(&mut snapshot.controller));
        self.is_explained_by(&decision)
    }

    fn tolerance(&self) -> Option<Setting> {
        let proposal = self.case.decision.winner()?.proposal()?;
        let border = (proposal.ratio - 1.0).abs() * 100.0;
        // The next whole percent beyond the border.
        let percent = match proposal.because {
            Because::WithinTolerance | Because::FilledWithinTolerance => border.ceil() - 1.0,
            _ => border.floor() + 1.0,
        };
        let tolerance = percent / 100.0;
        let explains = tolerance <= LARGEST_TOLERANCE
            && self.is_explained_with(|controller| controller.tolerance = tolerance);
        explains.then(|| Setting::new("a tolerance of", "--tolerance", &number(tolerance)))
    }

    fn period(&self, of: Period) -> Option<SignedDuration> {
        let mut periods = [0, 1, 2, 3, 10, 15, 30]
            .map(SignedDuration::from_mins)
            .into_iter();
        periods.find(|period| self.is_explained_with(|controller| *of(controller) = *period))
    }

    fn version(&self) -> Option<Setting> {
        let (snapshot, memory) = (self.case.snapshot, &self.case.pass.remembered.likely);
        let minor = snapshot.controller.version.minor();
        Version::all()
            .filter(|version| version.minor() != minor)
            .find(|version| self.is_explained_by(&engine::reconcile_in(version, snapshot, memory)))
            .map(|version| Setting {
                words: format!("the rules of {version}"),
                flag: format!("--kubernetes-version {}", version.named()),
            })
    }
}

#[cfg(test)]
mod tests {

    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::Code;
    use crate::findings::outside::testing::{settled, with_pods};
    use crate::findings::pods::testing::{ready, unmeasured};
    use crate::findings::testing::{only, only_of, with_pod};

    #[test]
    fn a_controller_that_decides_otherwise() {
        let values = |utilization: i32, desired: i32| {
            let current = json!({"averageUtilization": utilization, "averageValue": format!("{utilization}m")});
            let of_cpu =
                json!({"type": "Resource", "resource": {"name": "cpu", "current": current}});
            let status = json!({"desiredReplicas": desired, "currentMetrics": [of_cpu]});
            build::with(settled(4), &json!({ "status": status }))
        };
        let written = |time: &str| json!({"manager": "kube-controller-manager", "subresource": "status", "time": time});
        let managed = |fields: Value| {
            let metadata = json!({"metadata": {"managedFields": fields}});
            build::with(values(58, 4), &metadata)
        };
        let dated = managed(json!([
            {"manager": "kubectl", "time": "2026-11-21T05:00:00Z", "fieldsV1": {"f:spec": {}}},
            written("2026-11-21T05:59:51Z"),
        ]));
        let earlier = managed(json!([written("2026-11-21T05:59:49Z")]));
        let failed = build::with(
            dated.clone(),
            &json!({"status": {"conditions": [
                {"type": "AbleToScale", "status": "False", "reason": "FailedUpdateScale"},
                {"type": "ScalingActive", "status": "True", "reason": "ValidMetricFound"},
            ]}}),
        );
        // One pod is not ready and became so a minute after its start, ten minutes ago. It counts, unless that
        // is within one of these periods: then it counts as 0 for scaling up, which keeps the replicas.
        let state = build::state(&json!({"recommendations": [], "flags": {"tolerance": 0.1}}));
        let items = with_pods([state, values(58, 4), build::scale(4)], 4, "58m");
        let unready = |start: &str, since: &str| {
            let pod = build::with(
                json!({"status": {"startTime": start}}),
                &ready("False", since),
            );
            with_pod(&items, "web-3", &pod)
        };
        let items = unready("2026-11-21T05:50:00Z", "2026-11-21T05:51:00Z");
        let (facts, _) = only_of::<DiffersFromStatus>(&items).expect("a difference");
        let initialization = Setting::new(
            "a CPU initialization period of",
            "--cpu-initialization-period",
            "15m",
        );
        let readiness = Setting::new(
            "an initial readiness delay of",
            "--initial-readiness-delay",
            "2m",
        );
        assert_eq!(facts.would_explain, [initialization, readiness]);
        // It counts since the controller's pass, by the default period of five minutes.
        let items = unready("2026-11-21T05:54:55Z", "2026-11-21T05:56:00Z");
        assert_eq!(only(Code::DiffersFromStatus, &items), None);
        // At 42 % of 50 %, four pods stay four, and three are enough for three. The fourth counts unless it was
        // deleted, or created without having started, and both may have happened since the controller's pass.
        let behavior =
            json!({"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}});
        let pending = |created: &str| {
            json!({"metadata": {"creationTimestamp": created},
                "status": {"phase": "Pending", "startTime": null, "conditions": null}})
        };
        let deleted = |time: &str| json!({"metadata": {"deletionTimestamp": time}});
        for (patch, want) in [
            (deleted("2026-11-21T05:59:20Z"), true),
            (deleted("2026-11-21T06:00:20Z"), false),
            (pending("2026-11-21T05:59:40Z"), true),
            (pending("2026-11-21T05:59:56Z"), false),
        ] {
            let state = build::state(&json!({"recommendations": []}));
            let hpa = build::with(values(42, 4), &behavior);
            let items = with_pods([state, hpa, build::scale(4)], 4, "42m");
            let items = unmeasured(with_pod(&items, "web-3", &patch), "web-3");
            let found = only(Code::DiffersFromStatus, &items);
            assert_eq!(found.is_some(), want, "{patch}");
        }
        // At 58 % of 50 %, a controller with the default tolerance goes to 5.
        let tolerance = vec![Setting::new("a tolerance of", "--tolerance", "0.16")];
        for (hpa, cpu, flags, want) in [
            (values(58, 4), "58m", json!({}), Some(tolerance)),
            (values(58, 4), "58m", json!({"tolerance": 0.1}), None),
            // Other values, or a pass that has scaled.
            (values(57, 4), "58m", json!({}), None),
            (values(58, 5), "58m", json!({}), None),
            // No one sets such a tolerance.
            (values(90, 4), "90m", json!({}), None),
            (values(50, 4), "50m", json!({}), None),
            // The pass may have seen other samples.
            (earlier, "58m", json!({}), None),
            // Nothing that is assumed explains it, and its pass saw the same.
            (dated, "58m", json!({"tolerance": 0.1}), None),
            (failed, "58m", json!({"tolerance": 0.1}), None),
        ] {
            let state = build::state(&json!({"recommendations": [], "flags": flags}));
            let items = with_pods([state, hpa.clone(), build::scale(4)], 4, cpu);
            let got = only_of::<DiffersFromStatus>(&items).map(|(facts, it)| {
                assert_eq!((it.severity, it.explains), (Severity::Warning, false));
                assert_eq!((facts.last, facts.now), (4, 5));
                facts.would_explain
            });
            assert_eq!(got, want, "{hpa}");
        }
    }
}
