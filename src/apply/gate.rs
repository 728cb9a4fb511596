//! Whether the result of a pass may be written. Each concern has its reason and, if it can be overridden, the
//! flag that does so.

use jiff::Timestamp;
use serde::Serialize;

use super::{Change, hpa_after};
use crate::args::How;
use crate::cluster::observed::ScaleAt;
use crate::engine::choose_path;
use crate::engine::decision::{MetricResult, Path, Step};
use crate::engine::hold::Hold;
use crate::memory::Knowledge;
use crate::memory::infer::window;
use crate::outlook::{Outlook, Range};
use crate::pass::Pass;
use crate::rules::Rules;
use crate::snapshot::basis::{Basis, BasisView};
use crate::snapshot::input::Input;
use crate::snapshot::note::remedy_of_unread;
use crate::snapshot::written::Written;
use crate::snapshot::{MetricAnswer, UnreadCause};
use crate::version::FeatureGate;
use crate::words::{duration, lacking, list};

/// A concern about writing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Concern {
    /// Its name.
    pub code: GateCode,
    /// The text of the concern.
    #[serde(rename = "message")]
    pub text: String,
    /// The advice that would settle it.
    #[serde(skip)]
    pub advice: Option<String>,
    /// The flag that overrides it; `None` if nothing does.
    pub flag: Option<&'static str>,
    /// Whether it is overridden.
    pub forced: bool,
}

/// A reason why a result should not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GateCode {
    /// The HPA has been marked for deletion.
    HpaDeleted,
    /// The target has been marked for deletion.
    TargetDeleted,
    /// The scale cannot be read, its new value would be refused, or its preconditions cannot be stated.
    CannotScale,
    /// The target has no replicas.
    ScalingDisabled,
    /// The controller refuses the target's selector.
    NoSelector,
    /// Other HPAs select the same pods.
    SharedPods,
    /// Too many metrics failed.
    NoMetric,
    /// At 0 replicas, the controller ignores the HPA unless its status shows that it scaled the target to 0.
    SwitchesOff,
    /// Metrics that only the controller may have read may change what it writes.
    Rights,
    /// The controller's history may change the replicas.
    Memory,
    /// Metrics that failed may change the replicas.
    Metrics,
    /// It is unknown whether the target is being deleted.
    Target,
    /// Something that may change the outcome could not be read.
    Unread,
    /// Apparently, another controller manager writes the status.
    StatusHeld,
}

impl Concern {
    /// A concern that nothing overrides.
    fn new(code: GateCode, text: impl Into<String>) -> Self {
        Self {
            code,
            text: text.into(),
            advice: None,
            flag: None,
            forced: false,
        }
    }

    /// Returns the same concern, with a flag that overrides it.
    fn unless(self, flag: &'static str, forced: bool) -> Self {
        Self {
            flag: Some(flag),
            forced,
            ..self
        }
    }

    /// Returns the remedies, the best first, and how to override the concern.
    pub(crate) fn remedies(&self) -> Vec<String> {
        let anyway = self.flag.map(|flag| format!("use {flag} to write anyway"));
        self.advice.clone().into_iter().chain(anyway).collect()
    }
}

/// Whether the target is being deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Going {
    /// It is not.
    No,
    /// It has been marked for deletion at this time.
    Since(Timestamp),
    /// Unknown, for this reason.
    Unknown(String),
}

/// Whether a controller manager holds its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leader {
    /// A controller manager holds it, and renewed it at this time.
    Holds(Timestamp),
    /// No controller manager holds it; the last holder renewed it at this time.
    Lapsed(Timestamp),
    /// There is no current lease of the usual name, or it cannot be read, but the status of the HPA was written
    /// within the last few passes, at this time.
    Seen(Timestamp),
    /// There is no current lease of the usual name, or it cannot be read, and another sign of a controller is older.
    Unknown,
}

impl Leader {
    /// Returns the known facts about the leading controller manager.
    pub fn of(input: &Input) -> Self {
        let Written { status, by_us, .. } = input.snapshot.hpa.written;
        let lease = input.evidence.lease;
        let held = lease.filter(|lease| !lease.has_lapsed(input.snapshot.now));
        let seen = status.filter(|written| !by_us && !input.is_several_passes_ago(*written));
        match (held, input.lapsed_lease(), seen) {
            (Some(lease), ..) => Self::Holds(lease.renewed),
            (None, Some(lease), _) => Self::Lapsed(lease.renewed),
            (None, None, Some(written)) => Self::Seen(written),
            (None, None, None) => Self::Unknown,
        }
    }
}

/// The result of a pass, with other known facts.
#[derive(Debug, Clone, Copy)]
pub struct GateInput<'a> {
    /// The pass.
    pub pass: &'a Pass,
    /// Whether the target is being deleted.
    pub going: &'a Going,
    /// The leading controller manager.
    pub leader: Leader,
}

const FORCE_UNCERTAIN: &str = "--force-uncertain";
const FORCE_STATUS: &str = "--force-write-status";

impl GateInput<'_> {
    /// Returns the due change; `None` if the pass leaves the scale alone.
    pub fn change(&self) -> Option<Change> {
        let from = self.pass.input.snapshot.scale.as_ref().ok()?.spec_replicas;
        self.pass
            .decision
            .outcome
            .scale_to
            .map(|to| Change { from, to })
    }

    /// Returns all concerns about writing it that its scale does not show, the worst first.
    pub fn concerns(&self, how: &How) -> Vec<Concern> {
        let mut concerns = self.never();
        if let Some(change) = self.change() {
            concerns.extend(self.off(change, how));
            concerns.extend(self.unknown_words(how));
            let uncertain = self.uncertain().into_iter();
            concerns.extend(
                uncertain.map(|concern| concern.unless(FORCE_UNCERTAIN, how.force_uncertain)),
            );
            let status = self.status(how);
            concerns
                .extend(status.map(|concern| concern.unless(FORCE_STATUS, how.force_write_status)));
        }
        concerns
    }

    /// Returns the concern that the write could not state its preconditions, or that those of the command line cannot
    /// be checked.
    pub fn unknown_state(&self, how: &How, at: Option<&ScaleAt>) -> Option<Concern> {
        let expects = how.current_replicas.is_some() || how.resource_version.is_some();
        let writes = self.change().is_some();
        let input = &self.pass.input;
        let (text, advice) = match at {
            // If there is no scale, that is a concern of its own.
            None if (writes || expects) && input.snapshot.scale.is_ok() => {
                let mut all = input.basis.iter();
                let instead = all.find(|basis| matches!(basis, Basis::Target { .. }));
                let text = "the scale was not read, so its state is unknown".to_owned();
                let based_on = |basis| format!("based on {}", BasisView::from(basis).source);
                (text, instead.map(based_on))
            }
            Some(at)
                if writes && (at.state.uid.is_empty() || at.state.resource_version.is_empty()) =>
            {
                let (resource, name) = (&at.resource, &at.name);
                let text = format!("the scale of {resource}/{name} has no uid or resourceVersion");
                (text, None)
            }
            _ => return None,
        };
        Some(Concern {
            advice,
            ..Concern::new(GateCode::CannotScale, text)
        })
    }

    /// Returns concerns that nothing overrides.
    fn never(&self) -> Vec<Concern> {
        let hpa = self
            .pass
            .input
            .snapshot
            .hpa
            .deletion_timestamp
            .map(|since| {
                let text = format!("the HPA has been marked for deletion since {since}");
                Concern::new(GateCode::HpaDeleted, text)
            });
        let target = match self.going {
            Going::Since(since) => {
                let text = format!("the target has been marked for deletion since {since}");
                Some(Concern::new(GateCode::TargetDeleted, text))
            }
            _ => None,
        };
        let holds = self.pass.decision.holds();
        hpa.into_iter()
            .chain(target)
            .chain(holds.filter_map(|hold| self.against(hold)))
            .collect()
    }

    /// Returns the concern about a hold that is not an ordinary rule.
    fn against(&self, hold: Hold<'_>) -> Option<Concern> {
        Some(match hold {
            Hold::Unreadable(error) | Hold::Unwritten { error, .. } => Concern::new(
                GateCode::CannotScale,
                format!("the target cannot be scaled: {error}"),
            ),
            Hold::AtZero => Concern::new(
                GateCode::ScalingDisabled,
                "scaling is disabled since the replica count of the target is zero",
            ),
            Hold::Selector {
                reason,
                message,
                hpas,
            } => {
                let code = match hpas {
                    [] => GateCode::NoSelector,
                    _ => GateCode::SharedPods,
                };
                let text = format!("the controller does not scale it ({reason}): {message}");
                Concern::new(code, text)
            }
            Hold::Failed(_) => match self.unread() {
                Some(unread) => self.rights(format!(
                    "{unread}, so what the controller would write is unknown"
                )),
                None => Concern::new(
                    GateCode::NoMetric,
                    format!(
                        "{} failed, so the controller does not scale: {}",
                        list(&self.failed()),
                        self.first_failure()
                    ),
                ),
            },
            _ => return None,
        })
    }

    /// Returns the concern that the controller would ignore the HPA from then on, as it would not after its own write.
    fn off(&self, Change { to, .. }: Change, how: &How) -> Option<Concern> {
        let input = &self.pass.input;
        let rules = Rules::of(&input.snapshot.controller);
        let mut gates = input.known.gates.iter();
        let is_known = gates.any(|(gate, _)| *gate == FeatureGate::HPAScaleToZero);
        if to == 0 && rules.zero_by_condition && !rules.scale_to_zero && !is_known {
            let text = "unknown whether HPAScaleToZero is on: only if it is, and the status has the condition \
                        ScaledToZero, can the HPA scale the target up again";
            let advice = "if it is on, use --feature-gates HPAScaleToZero=true and --write-status, which writes the \
                          condition; with =false, 0 replicas switch the HPA off";
            return Some(Concern {
                advice: Some(advice.to_owned()),
                ..Concern::new(GateCode::SwitchesOff, text)
            });
        }
        let is_off = |writes: bool| {
            let hpa = hpa_after(self.pass, writes);
            choose_path(rules, &hpa, to) == Path::Disabled
        };
        let text = "without the condition ScaledToZero in the status, 0 replicas switch the HPA off until something \
                    else scales the target up";
        let advice = "use --write-status to write the condition, too, with --force-write-status while a controller \
                      manager runs";
        (is_off(how.write_status) && !is_off(true)).then(|| Concern {
            advice: Some(advice.to_owned()),
            ..Concern::new(GateCode::SwitchesOff, text)
        })
    }

    /// Returns the concern that the status or event to write is unknown, if the controller may have read more.
    fn unknown_words(&self, how: &How) -> Option<Concern> {
        let flag = match (how.write_status, how.event) {
            (true, _) => "--write-status",
            (false, true) => "--event",
            (false, false) => return None,
        };
        let unread = self.unread()?;
        Some(self.rights(format!("{unread}, so what {flag} would write is unknown")))
    }

    /// Returns the concerns about data that could lead to a different answer.
    fn uncertain(&self) -> Vec<Concern> {
        let mut uncertain = Vec::new();
        if let Some(anywhere) = anywhere(self.pass.outlook.range(&self.pass.decision)) {
            if self.pass.depends_on_history() {
                uncertain.push(self.memory(&anywhere));
            }
            let unread = self.unread();
            uncertain.extend(unread.map(|unread| self.rights(format!("{unread}: {anywhere}"))));
        }
        let failed = self.failed();
        if !failed.is_empty()
            && let Some(anywhere) = anywhere(self.with_failed_metrics())
        {
            let with = if failed.len() == 1 { "it" } else { "them" };
            let text = format!("{} failed: with {with}, {anywhere}", failed.join(", "));
            uncertain.push(Concern::new(GateCode::Metrics, text));
        }
        if let Going::Unknown(cause) = self.going {
            let text = format!("unknown whether the target is being deleted: {cause}");
            uncertain.push(Concern::new(GateCode::Target, text));
        }
        // Out of bounds, it is corrected without looking at pods and metrics.
        if self.pass.decision.path() == Some(Path::Metrics) {
            let notes = self.pass.input.notes.iter();
            let leaving_open = notes.filter(|note| note.leaves_outcome_open());
            uncertain
                .extend(leaving_open.map(|note| Concern::new(GateCode::Unread, note.to_string())));
        }
        uncertain
    }

    /// Returns the concern about the controller's history.
    fn memory(&self, anywhere: &str) -> Concern {
        let known = match self.pass.remembered.knowledge {
            Knowledge::Inferred => "known only within bounds",
            _ => "unknown",
        };
        let snapshot = &self.pass.input.snapshot;
        let window = duration(window(&snapshot.hpa, &snapshot.controller));
        let text = format!("the controller's history of the last {window} is {known}: {anywhere}");
        Concern {
            advice: Some(format!(
                "use --observe {window} to watch the HPA first, --prometheus to read its history, or --history \
                 none if the controller has just started"
            )),
            ..Concern::new(GateCode::Memory, text)
        }
    }

    /// Returns the concern about metrics that only the controller may have read.
    fn rights(&self, text: String) -> Concern {
        Concern {
            advice: remedy_of_unread(&self.pass.input.notes).map(str::to_owned),
            ..Concern::new(GateCode::Rights, text)
        }
    }

    /// Describes the metrics that the controller may have read but that are unread here; `None` if all are read.
    fn unread(&self) -> Option<String> {
        let outcome = &self.pass.decision.outcome;
        lacking(&outcome.lacking(&self.pass.input.snapshot.hpa.spec))
    }

    /// Returns the labels of the metrics that fail.
    fn failed(&self) -> Vec<String> {
        let metrics = self.pass.decision.metrics();
        let failed = metrics.filter(|metric| metric.is_failed());
        let specs = &self.pass.input.snapshot.hpa.spec.metrics;
        failed
            .map(|metric| specs[metric.index].label(specs))
            .collect()
    }

    /// Returns the reason why the first of them fails: the message of the API, or else of the controller.
    fn first_failure(&self) -> String {
        let mut metrics = self.pass.decision.metrics();
        let failure = metrics.find_map(|metric| Some((metric.index, metric.error()?)));
        failure.map_or_else(String::new, |(index, error)| {
            match &self.pass.input.snapshot.metrics[index] {
                MetricAnswer::Failed(text) => text.clone(),
                _ => error.message.clone(),
            }
        })
    }

    /// Returns the possible replicas if metrics that failed may have any value.
    fn with_failed_metrics(&self) -> Option<Range> {
        let mut decision = self.pass.decision.clone();
        for step in &mut decision.trace {
            if let Step::ComputeMetric(metric) = step
                && let Some(error) = metric.error()
            {
                let message = error.message.clone();
                metric.result = MetricResult::Unread(UnreadCause::Refused { message });
            }
        }
        let outlook = Outlook::new(&self.pass.input.snapshot, &self.pass.remembered, &decision);
        outlook.range(&decision)
    }

    /// Returns a concern if writing the status is up to someone else.
    fn status(&self, how: &How) -> Option<Concern> {
        if !how.write_status {
            return None;
        }
        let text = match self.leader {
            Leader::Lapsed(_) => return None,
            Leader::Holds(renewed) => format!(
                "a controller manager holds the lease (renewed at {renewed}) and writes the status itself"
            ),
            Leader::Seen(written) => {
                format!("a controller wrote the status at {written}, and writes it itself")
            }
            Leader::Unknown => {
                "unknown whether a controller manager runs and writes the status itself".to_owned()
            }
        };
        Some(Concern::new(GateCode::StatusHeld, text))
    }
}

/// Describes a range with more than one count.
fn anywhere(range: Option<Range>) -> Option<String> {
    let Range { min, max } = range.filter(|range| range.min != range.max)?;
    Some(format!("the pass may end anywhere from {min} to {max}"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::build;
    use crate::saved::testing::input;

    /// Returns who leads at 06:00 by the last renewal of the lease, the last status, and another object.
    fn leader(renewed: Option<&str>, written: Option<&str>, also: Option<Value>) -> Leader {
        let date = |time: &str| format!("2026-11-21T{time}Z");
        let hpa = written.map_or(build::hpa(&json!({})), |time| {
            let entry = json!({"manager": "kube-controller-manager", "subresource": "status",
                "time": date(time)});
            let written = json!({"metadata": {"managedFields": [entry]}});
            build::with(build::hpa(&json!({})), &written)
        });
        let lease = renewed.map(|time| build::lease(&date(time)));
        let state = build::state(&json!({}));
        let items = [hpa, build::scale(4), state].into_iter();
        let items = Vec::from_iter(items.chain(lease).chain(also));
        Leader::of(&input(&items).unwrap())
    }

    #[test]
    fn a_leader_is_lost_only_if_nothing_shows_another() {
        let at = |time: &str| format!("2026-11-21T{time}Z").parse().unwrap();
        let owner = build::owned_by("apps/v1", "ReplicaSet", "web-1");
        let metadata =
            json!({"creationTimestamp": "2026-11-21T05:55:00Z", "ownerReferences": owner});
        let pod = build::with(build::pod("web-0"), &json!({ "metadata": metadata }));
        let (held, lapsed) = (Some("05:59:58"), Some("05:00:00"));
        let (recent, earlier) = (Some("05:59:50"), Some("05:50:00"));
        for (renewed, written, also, want) in [
            (held, earlier, None, Leader::Holds(at("05:59:58"))),
            (lapsed, None, None, Leader::Lapsed(at("05:00:00"))),
            (
                lapsed,
                Some("04:59:00"),
                None,
                Leader::Lapsed(at("05:00:00")),
            ),
            (lapsed, recent, None, Leader::Seen(at("05:59:50"))),
            (lapsed, earlier, None, Leader::Unknown),
            (lapsed, None, Some(pod), Leader::Unknown),
            (None, recent, None, Leader::Seen(at("05:59:50"))),
            (None, earlier, None, Leader::Unknown),
        ] {
            assert_eq!(
                leader(renewed, written, also),
                want,
                "{renewed:?} {written:?}"
            );
        }
    }
}
