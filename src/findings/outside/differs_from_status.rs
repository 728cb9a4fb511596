//! The finding `differs-from-status`.

use jiff::{SignedDuration, Timestamp};

use super::{pods_changed_since, stated};
use crate::engine;
use crate::engine::decision::{Because, Decision, MetricResult};
use crate::findings::{About, Before, Case, Finding, Kind, Rank, Remedy, Severity, Text};
use crate::snapshot::controller::Controller;
use crate::snapshot::{MetricAnswer, Snapshot};
use crate::version::Version;
use crate::words::{count, duration, number, time};

/// The controller came to a different number of replicas than this pass, from the same values.
#[derive(Debug, Clone, PartialEq)]
pub struct DiffersFromStatus {
    /// What the controller decided on.
    pub last: i32,
    /// What this pass decides on.
    pub now: i32,
    /// When the controller wrote its decision.
    pub written: Timestamp,
    /// Settings that would each explain it.
    pub would_explain: Vec<Setting>,
}

impl Kind for DiffersFromStatus {
    type Hits = Option<Finding>;

    const CODE: &'static str = "differs-from-status";
    const WHEN: &'static str = "The controller came to a different number of replicas than this pass, from the same values and with a \
             history that makes no difference.";
    const REMEDY: &'static str = "State the flags and the version of the controller.";
    const RANK: Rank = Rank::Misconfigured;

    fn find(case: &Case<'_>, _: &Before<'_>) -> Self::Hits {
        let pass = case.pass;
        let hpa = &case.snapshot().hpa;
        let scale = case.scale()?;
        let status = case.decision().outcome.status.as_ref()?;
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
        // A pass that scales leaves the values from before in its status.
        let stood_still = hpa.status.current_replicas == last && scale.spec_replicas == last;
        let is_comparable = last != now
            && pass.input.observed_replicas.is_none()
            && stood_still
            && same_metrics
            && !pods_changed_since(case, written)
            && !measured_since(case, written)
            && !hpa.written.by_us
            && hpa.written.spec.is_none_or(|it| it <= written)
            && pass.input.lapsed_lease().is_none()
            && !pass.depends_on_history();
        if !is_comparable {
            return None;
        }
        // What only time has changed, such as the end of a period since a pod's start, is no setting.
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

    fn text(&self, about: &About<'_>) -> Text {
        let Self {
            last,
            now,
            written,
            would_explain,
        } = self;
        let word = |setting: &Setting| match setting {
            Setting::Tolerance(tolerance) => format!("a tolerance of {}", number(*tolerance)),
            Setting::DownscaleStabilization(window) => {
                format!("a downscale stabilization of {}", duration(*window))
            }
            Setting::CpuInitializationPeriod(period) => {
                format!("a CPU initialization period of {}", duration(*period))
            }
            Setting::InitialReadinessDelay(delay) => {
                format!("an initial readiness delay of {}", duration(*delay))
            }
            Setting::Version(version) => format!("the rules of {version}"),
        };
        let settings: Vec<String> = would_explain.iter().map(word).collect();
        let evidence = vec![
            format!(
                "The status of {} has the same values, and the controller's history makes no \
                 difference.",
                time(about.now(), *written)
            ),
            "What was not read of the controller's settings is assumed.".to_owned(),
        ];
        let flag = |setting: &Setting| match setting {
            Setting::Tolerance(tolerance) => format!("--tolerance {}", number(*tolerance)),
            Setting::DownscaleStabilization(window) => {
                format!("--downscale-stabilization {}", duration(*window))
            }
            Setting::CpuInitializationPeriod(period) => {
                format!("--cpu-initialization-period {}", duration(*period))
            }
            Setting::InitialReadinessDelay(delay) => {
                format!("--initial-readiness-delay {}", duration(*delay))
            }
            Setting::Version(version) => format!("--kubernetes-version {}", stated(version)),
        };
        let commands = would_explain
            .iter()
            .map(|it| about.kubectl("hpa explain", &flag(it)));
        Text {
            summary: format!(
                "the controller wanted {}, and this pass {now} from the same values: {} would explain it",
                count(*last, "replica"),
                settings.join(" or ")
            ),
            evidence,
            advice: Remedy::StateFlags.says("State the flags and the version of the controller."),
            commands: commands.collect(),
            objects: about.own(),
        }
    }
}

/// A setting of the controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Setting {
    /// The tolerance.
    Tolerance(f64),
    /// How long recommendations hold back scaling down.
    DownscaleStabilization(SignedDuration),
    /// How long CPU samples of pods that start may be skipped.
    CpuInitializationPeriod(SignedDuration),
    /// How long after its start a pod that is not ready counts as never having been ready.
    InitialReadinessDelay(SignedDuration),
    /// The version.
    Version(Version),
}

/// Whether a sample was taken since some time, so that a pass before it did not have its value.
fn measured_since(case: &Case<'_>, since: Timestamp) -> bool {
    let snapshot = case.snapshot();
    let mut own = case.pods().filter_map(|pod| case.metrics_of(pod));
    let mut others = snapshot.metrics.iter().flat_map(MetricAnswer::times);
    own.any(|it| it.timestamp > since) || others.any(|time| time > since)
}

/// No one sets a larger one, so the cause must be something else.
const LARGEST_TOLERANCE: f64 = 0.3;

/// Returns the assumed settings that would bring a pass to this many replicas.
fn would_explain(case: &Case<'_>, wanted: i32) -> Vec<Setting> {
    let pass = case.pass;
    let comes_to_it = |decision: &Decision| {
        decision
            .outcome
            .status
            .as_ref()
            .is_some_and(|it| it.desired_replicas == wanted)
    };
    let memory = &pass.remembered.likely;
    let run = |change: &dyn Fn(&mut Snapshot)| {
        let mut snapshot = case.snapshot().clone();
        change(&mut snapshot);
        comes_to_it(&engine::reconcile(&snapshot, memory))
    };
    let tolerance = || {
        let MetricResult::Proposal(proposal) = &case.decision().winner()?.result else {
            return None;
        };
        let percent = (proposal.ratio - 1.0).abs() * 100.0;
        // The next whole percent beyond the border.
        let percent = match proposal.because {
            Because::WithinTolerance | Because::FilledWithinTolerance => percent.ceil() - 1.0,
            _ => percent.floor() + 1.0,
        };
        let tolerance = percent / 100.0;
        let explains = tolerance <= LARGEST_TOLERANCE
            && run(&|snapshot| snapshot.controller.tolerance = tolerance);
        explains.then_some(Setting::Tolerance(tolerance))
    };
    let period = |change: &dyn Fn(&mut Controller, SignedDuration)| {
        let mut periods = [0, 1, 2, 3, 10, 15, 30]
            .map(SignedDuration::from_mins)
            .into_iter();
        periods.find(|period| run(&|snapshot| change(&mut snapshot.controller, *period)))
    };
    let version = || {
        let own = &case.snapshot().controller.version;
        let mut others = Version::all().filter(|it| it.minor() != own.minor());
        let explains =
            |it: &Version| comes_to_it(&engine::reconcile_in(it, case.snapshot(), memory));
        others.find(explains).map(Setting::Version)
    };
    let known = &pass.input.known.flags;
    let mut settings = Vec::new();
    if known.tolerance.is_none() {
        settings.extend(tolerance());
    }
    if known.downscale_stabilization.is_none() {
        let own = period(&|controller, own| controller.downscale_stabilization = own);
        settings.extend(own.map(Setting::DownscaleStabilization));
    }
    if known.cpu_initialization_period.is_none() {
        let own = period(&|controller, own| controller.cpu_initialization_period = own);
        settings.extend(own.map(Setting::CpuInitializationPeriod));
    }
    if known.initial_readiness_delay.is_none() {
        let own = period(&|controller, own| controller.initial_readiness_delay = own);
        settings.extend(own.map(Setting::InitialReadinessDelay));
    }
    if case.snapshot().controller.version.stated().is_none() {
        settings.extend(version());
    }
    settings
}
