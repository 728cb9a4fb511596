//! The controller, pure: one pass over a snapshot and a memory (`reconcileAutoscaler` upstream), by the rules
//! of the snapshot's version. It knows no cluster, clock or command line, and returns each step that it took,
//! so that an explanation only has to put the steps into words.

pub(crate) mod arith;
pub(crate) mod behavior;
mod conditions;
pub mod decision;
pub mod hold;
pub(crate) mod metrics;
pub(crate) mod pods;
mod replicas;

use jiff::Timestamp;

use crate::rules::Rules;
use behavior::Normalized;
use conditions::{ABLE_TO_SCALE, SCALED_TO_ZERO, SCALING_ACTIVE, SCALING_LIMITED, message_of};
use decision::{
    CombineStep, Decision, Event, MetricError, MetricResult, MetricStep, Outcome, Path, Step,
    UnreadMetric,
};

use crate::apimachinery::names;
use crate::memory::Memory;
use crate::snapshot::hpa::{Hpa, HpaStatus, MetricSpec, MetricStatus};
use crate::snapshot::memory::Recommendation;
use crate::snapshot::neighbour::{self, OtherHpa};
use crate::snapshot::shared::Shared;
use crate::snapshot::{Scale, ScaleError, Snapshot};
use crate::version::Version;

/// Runs one pass.
pub fn reconcile(snapshot: &Snapshot, memory: &Memory) -> Decision {
    reconcile_in(&snapshot.controller.version, snapshot, memory)
}

/// Runs one pass as the controller of another version would, with the snapshot's own flags and gates.
pub fn reconcile_in(version: &Version, snapshot: &Snapshot, memory: &Memory) -> Decision {
    reconcile_knowing(&[], version, snapshot, memory)
}

/// Runs one pass on a snapshot that differs from an earlier pass's only in the values of some metrics. The result is
/// the same as with [`reconcile`], but the steps of the other metrics are `known` from the earlier pass, in its order,
/// and not computed again.
pub(crate) fn reconcile_changed(
    known: &[Shared<MetricStep>],
    snapshot: &Snapshot,
    memory: &Memory,
) -> Decision {
    reconcile_knowing(known, &snapshot.controller.version, snapshot, memory)
}

fn reconcile_knowing(
    known: &[Shared<MetricStep>],
    version: &Version,
    snapshot: &Snapshot,
    memory: &Memory,
) -> Decision {
    let rules = Rules::of_version(version, snapshot.controller.gates_in(version));
    let mut pass = Reconciliation {
        known,
        ..Reconciliation::new(snapshot, rules, memory.clone())
    };
    pass.run();
    Decision {
        outcome: pass.outcome.finish(pass.unread),
        proposal: pass.proposal,
        trace: pass.trace,
        memory: pass.memory,
    }
}

/// Computes the replicas after a pass, from the metrics' proposal and a memory; also returns the steps of
/// stabilization and limits, or the path of a pass that does not read the metrics.
pub(crate) fn normalize(
    snapshot: &Snapshot,
    rules: Rules,
    memory: Memory,
    current: i32,
    desired: i32,
) -> (i32, Vec<Step>) {
    let mut pass = Reconciliation::new(snapshot, rules, memory);
    if let Some(replicas) = without_metrics(rules, &snapshot.hpa, current) {
        pass.choose_path(current);
        return (replicas, pass.trace);
    }
    let replicas = pass.normalize(current, desired).replicas;
    (replicas, pass.trace)
}

/// Returns a memory as a pass finds it: if there is no recommendation, the current count becomes one.
pub(crate) fn seeded(memory: &Memory, current: i32, now: Timestamp) -> Memory {
    let mut memory = memory.clone();
    // The controller's list is never empty once there is one.
    if memory.needs_seed() {
        memory.recommendations = vec![Recommendation {
            replicas: current,
            time: now,
        }];
    }
    memory
}

/// Returns the replicas after a pass that does not read the metrics; `None` if it reads them.
pub(crate) fn without_metrics(rules: Rules, hpa: &Hpa, current: i32) -> Option<i32> {
    match choose_path(rules, hpa, current) {
        Path::Disabled => Some(current),
        Path::AboveMax => Some(hpa.spec.max_replicas),
        Path::BelowMin => Some(hpa.spec.min()),
        Path::Metrics => None,
    }
}

/// Returns the replicas after a pass for which the metrics ask for nothing.
pub(crate) fn without_proposal(rules: Rules, hpa: &Hpa, current: i32) -> i32 {
    without_metrics(rules, hpa, current).unwrap_or(current)
}

/// Returns the snapshot of a pass that finds that the controller itself scaled the workload to zero.
pub(crate) fn zeroed(snapshot: &Snapshot) -> Snapshot {
    let mut zeroed = snapshot.clone();
    let conditions = &mut zeroed.hpa.status.conditions;
    conditions::set(conditions, SCALED_TO_ZERO, "True", snapshot.now);
    zeroed
}

/// Returns the other HPAs whose selectors the controller stores for the ambiguity check: their own passes read
/// the metrics, or did before the last pass over this one, which found them.
pub(crate) fn stored_hpas(
    snapshot: &Snapshot,
    rules: Rules,
) -> impl Iterator<Item = &Shared<OtherHpa>> {
    snapshot.other_hpas.iter().filter(move |other| {
        let scale = other.scale.as_ref();
        scale.is_none_or(|it| without_metrics(rules, &other.hpa, it.spec_replicas).is_none())
            || neighbour::has_found_shared(&snapshot.hpa, &other.hpa)
    })
}

/// Returns the path of a pass over an HPA whose target has `current` replicas.
pub(crate) fn choose_path(rules: Rules, hpa: &Hpa, current: i32) -> Path {
    let (min, max) = (hpa.spec.min(), hpa.spec.max_replicas);
    let wakes = if rules.zero_by_condition {
        was_zeroed(rules, hpa) && (min != 0 || has_object_or_external(hpa))
    } else {
        min == 0
    };
    if current == 0 && !wakes {
        Path::Disabled
    } else if current == 0 {
        Path::Metrics
    } else if current > max {
        Path::AboveMax
    } else if current < min {
        Path::BelowMin
    } else {
        Path::Metrics
    }
}

/// Whether the controller itself scaled the workload to zero.
fn was_zeroed(rules: Rules, hpa: &Hpa) -> bool {
    rules.zero_by_condition
        && rules.scale_to_zero
        && conditions::is_true(&hpa.status.conditions, SCALED_TO_ZERO)
}

/// Whether the minimum is applied after the limits, to a workload that starts again from zero.
pub(crate) fn is_raised(rules: Rules, hpa: &Hpa, current: i32, limited: i32) -> bool {
    let min = hpa.spec.min();
    current == 0 && min != 0 && was_zeroed(rules, hpa) && limited < min
}

fn has_object_or_external(hpa: &Hpa) -> bool {
    hpa.spec.metrics.iter().any(MetricSpec::is_total)
}

const ABOVE_MAX: &str = "Current number of replicas above Spec.MaxReplicas";
const BELOW_MIN: &str = "Current number of replicas below Spec.MinReplicas";

/// The state of a pass in progress.
struct Reconciliation<'s> {
    snapshot: &'s Snapshot,
    rules: Rules,
    min: i32,
    max: i32,
    memory: Memory,
    outcome: Draft,
    unread: Vec<UnreadMetric>,
    proposal: Option<i32>,
    /// The statuses of the metrics, if they were evaluated.
    statuses: Option<Vec<MetricStatus>>,
    trace: Vec<Step>,
    /// The steps of metrics that need not be computed, in the order of the spec.
    known: &'s [Shared<MetricStep>],
}

/// The outcome of a pass so far.
struct Draft {
    scale_to: Option<i32>,
    status: HpaStatus,
    events: Vec<Event>,
    error: Option<String>,
    /// The scale is unknown here, and therefore everything else about the pass.
    is_unknown: bool,
}

impl Draft {
    /// Returns the outcome. What the controller writes and reports depends on every metric, so none of it is
    /// claimed if a metric is unknown here.
    fn finish(self, unread: Vec<UnreadMetric>) -> Outcome {
        let Self {
            scale_to,
            status,
            events,
            error,
            is_unknown,
        } = self;
        let is_known = unread.is_empty() && !is_unknown;
        Outcome {
            scale_to,
            status: is_known.then_some(status),
            events: is_known.then_some(events),
            error: error.filter(|_| is_known),
            unread,
        }
    }
}

/// The result of the metrics path.
struct Want {
    replicas: i32,
    reason: String,
}

/// The result of stabilization and limits.
struct Allowed {
    replicas: i32,
    /// Whether the minimum was applied last, to a workload that starts again from zero.
    raised: bool,
}

/// The metrics do not decide.
enum NoProposal {
    /// Not for the controller either: the pass ends with this error.
    Failed(String),
    /// They may decide for the controller, which may have read the metrics that are unknown here.
    Unread,
}

impl<'s> Reconciliation<'s> {
    fn new(snapshot: &'s Snapshot, rules: Rules, memory: Memory) -> Self {
        let mut status = snapshot.hpa.status.clone();
        if !rules.condition_generations {
            for condition in &mut status.conditions {
                condition.observed_generation = None;
            }
        }
        Self {
            snapshot,
            rules,
            min: snapshot.hpa.spec.min(),
            max: snapshot.hpa.spec.max_replicas,
            memory,
            outcome: Draft {
                scale_to: None,
                status,
                events: Vec::new(),
                error: None,
                is_unknown: false,
            },
            unread: Vec::new(),
            proposal: None,
            statuses: None,
            trace: Vec::new(),
            known: &[],
        }
    }

    fn run(&mut self) {
        let Some(scale) = self.read_scale() else {
            return;
        };
        let current = scale.spec_replicas;
        if self.memory.needs_seed() {
            self.memory = seeded(&self.memory, current, self.snapshot.now);
            self.trace
                .push(Step::SeedRecommendations { replicas: current });
        }

        let path = self.choose_path(current);
        let (min, max) = (self.min, self.max);
        let want = match path {
            Path::Disabled => {
                self.condition(SCALING_ACTIVE, false, "ScalingDisabled");
                if self.rules.zero_by_condition && !self.rules.scale_to_zero {
                    conditions::remove(&mut self.outcome.status.conditions, SCALED_TO_ZERO);
                }
                Want {
                    replicas: current,
                    reason: String::new(),
                }
            }
            Path::AboveMax => Want {
                replicas: max,
                reason: ABOVE_MAX.to_owned(),
            },
            Path::BelowMin => Want {
                replicas: min,
                reason: BELOW_MIN.to_owned(),
            },
            Path::Metrics => match self.follow_metrics(scale) {
                Ok(want) => want,
                Err(NoProposal::Failed(error)) => {
                    self.set_failed_status(current);
                    self.event("Warning", "FailedComputeMetricsReplicas", error.clone());
                    self.outcome.error = Some(format!(
                        "failed to compute desired number of replicas based on listed metrics \
                         for {}: {error}",
                        self.reference(),
                    ));
                    return;
                }
                Err(NoProposal::Unread) => return,
            },
        };
        let rescale = want.replicas != current;
        if rescale && !self.rescale(current, &want) {
            self.set_failed_status(current);
            return;
        }
        self.set_status(current, want.replicas, rescale);
    }

    /// Chooses the path for some replicas.
    fn choose_path(&mut self, current: i32) -> Path {
        let path = choose_path(self.rules, &self.snapshot.hpa, current);
        self.trace.push(Step::ChoosePath {
            path,
            current,
            min: self.min,
            max: self.max,
        });
        path
    }

    /// Reads the target's scale. Without it the pass ends: only the condition AbleToScale changes.
    fn read_scale(&mut self) -> Option<&'s Scale> {
        let target = &self.snapshot.hpa.spec.scale_target_ref;
        let version = names::group_version(&target.api_version);
        let (error, cause) = match (version, &self.snapshot.scale) {
            (Ok(_), Ok(scale)) => {
                self.trace.push(Step::ReadScale {
                    replicas: Some(scale.spec_replicas),
                    status_replicas: Some(scale.status_replicas),
                    selector: Some(scale.selector.as_str().to_owned()),
                    error: None,
                });
                self.condition(ABLE_TO_SCALE, true, "SucceededGetScale");
                return Some(scale);
            }
            (Ok(_), Err(e @ (ScaleError::Missing(_) | ScaleError::NoReplicas { .. }))) => {
                // What the controller would read and report is unknown.
                self.outcome.is_unknown = true;
                self.trace.push(Step::unread_scale(e.lacking()));
                return None;
            }
            (Err(e), _) => (
                format!("invalid API version in scale target reference: {e}"),
                e,
            ),
            (Ok(_), Err(ScaleError::Mapping(e))) => (
                format!("unable to determine resource for scale target reference: {e}"),
                e.clone(),
            ),
            (Ok(_), Err(ScaleError::Get(e))) => (
                format!(
                    "failed to query scale subresource for {}: {e}",
                    self.reference()
                ),
                e.clone(),
            ),
        };
        self.trace.push(Step::unread_scale(Some(cause.clone())));
        let message =
            format!("the HPA controller was unable to get the target's current scale: {cause}");
        self.condition_with(ABLE_TO_SCALE, false, "FailedGetScale", message);
        self.event("Warning", "FailedGetScale", cause);
        self.outcome.error = Some(error);
        None
    }

    /// The metrics path: proposals, stabilization, limits. Stores the error of a partial failure in the outcome.
    fn follow_metrics(&mut self, scale: &'s Scale) -> Result<Want, NoProposal> {
        let current = scale.spec_replicas;
        let (highest, name) = self.compute_metrics(scale)?;
        self.proposal = Some(highest);
        // A proposal of zero or less never beats the initial value, nor does its metric's name.
        let (desired, name) = if highest > 0 {
            (highest, name)
        } else {
            (0, String::new())
        };
        // The reason is fixed before normalization, even if that reverses the change.
        let mut reason = match desired.cmp(&current) {
            std::cmp::Ordering::Greater => format!("{name} above target"),
            std::cmp::Ordering::Less => "All metrics below target".to_owned(),
            std::cmp::Ordering::Equal => String::new(),
        };

        let want = self.normalize(current, desired);
        if reason.is_empty() && want.raised {
            reason = BELOW_MIN.to_owned();
        }
        Ok(Want {
            replicas: want.replicas,
            reason,
        })
    }

    /// Computes the allowed replicas from the metrics' proposal.
    fn normalize(&mut self, current: i32, desired: i32) -> Allowed {
        let wanted = behavior::BehaviorInput {
            current,
            desired,
            min: self.min,
            max: self.max,
            now: self.snapshot.now,
            downscale_stabilization: self.snapshot.controller.downscale_stabilization,
        };
        let own = self.snapshot.hpa.spec.behavior.as_ref();
        let Normalized { stabilized, limit } =
            behavior::normalize(wanted, own, &self.rules, &mut self.memory);
        let replicas = limit.result;
        self.condition(ABLE_TO_SCALE, true, stabilized.reason);
        self.condition(SCALING_LIMITED, limit.holds(), limit.reason);
        self.trace
            .extend([Step::Stabilize(stabilized), Step::Limit(limit)]);

        let raised = is_raised(self.rules, &self.snapshot.hpa, current, replicas);
        if !raised {
            return Allowed { replicas, raised };
        }
        self.trace.push(Step::RaiseToMin { result: self.min });
        Allowed {
            replicas: self.min,
            raised,
        }
    }

    /// `computeReplicasForMetrics`: returns the highest proposal and the name of its metric.
    fn compute_metrics(&mut self, scale: &'s Scale) -> Result<(i32, String), NoProposal> {
        let pods = self.select_pods(scale)?;
        let context = metrics::MetricContext::new(self.snapshot, self.rules, scale, pods);
        let mut combined = CombineStep {
            highest: 0,
            by: None,
            invalid: 0,
            unread: 0,
            total: self.snapshot.hpa.spec.metrics.len(),
            accepted: false,
        };
        let mut name = String::new();
        let mut first_error = None;
        let mut statuses = Vec::with_capacity(combined.total);
        let mut known = self.known.iter().peekable();
        for index in 0..combined.total {
            let step = match known.next_if(|step| step.index == index) {
                Some(step) => step.clone(),
                None => context.compute(index).into(),
            };
            statuses.push(context.status(&step));
            match &step.result {
                MetricResult::Proposal(proposal) => {
                    // While no proposal is above zero, the latest metric counts, even with a
                    // negative proposal.
                    if combined.highest == 0 || proposal.replicas > combined.highest {
                        combined.highest = proposal.replicas;
                        combined.by = Some(index);
                        name.clone_from(&proposal.metric_name);
                    }
                }
                MetricResult::Error(error) => {
                    if !error.is_silent() {
                        self.event("Warning", error.reason, error.message.clone());
                    }
                    combined.invalid += 1;
                    first_error.get_or_insert_with(|| error.clone());
                }
                MetricResult::Unread(why) => {
                    combined.unread += 1;
                    self.unread.push(UnreadMetric {
                        index,
                        why: why.clone(),
                    });
                }
            }
            self.trace.push(Step::ComputeMetric(step));
        }
        self.statuses = Some(statuses);
        let highest = combined.highest;
        self.combine(combined, first_error, &name, scale.spec_replicas)?;
        Ok((highest, name))
    }

    /// Decides whether the metrics that could be evaluated are enough. `name` is the name of the metric with the
    /// highest proposal.
    fn combine(
        &mut self,
        mut combined: CombineStep,
        first_error: Option<MetricError>,
        name: &str,
        current: i32,
    ) -> Result<(), NoProposal> {
        let CombineStep {
            highest,
            invalid,
            unread,
            total,
            ..
        } = combined;
        // If metrics are missing, only a proposal that does not shrink the target is trusted.
        let without = invalid + unread;
        let accepted = without == 0 || (without < total && highest >= current);
        combined.accepted = accepted;
        self.trace.push(Step::CombineMetrics(combined));
        let error = first_error.as_ref().map(|first| {
            format!(
                "invalid metrics ({invalid} invalid out of {total}), first error is: {}",
                first.error
            )
        });
        match (first_error, error) {
            (_, error) if accepted => {
                let message = format!(
                    "the HPA was able to successfully calculate a replica count from {name}"
                );
                self.condition_with(SCALING_ACTIVE, true, "ValidMetricFound", message);
                self.outcome.error = error.filter(|_| self.rules.partial_error);
                Ok(())
            }
            (Some(first), Some(error)) if unread == 0 => {
                self.deactivate(&first);
                Err(NoProposal::Failed(error))
            }
            _ => Err(NoProposal::Unread),
        }
    }

    /// Returns the pods of the target (`validateAndParseSelector`), unless its selector is missing,
    /// unreadable, or matches pods of another HPA too.
    fn select_pods(&mut self, scale: &'s Scale) -> Result<pods::Selected<'s>, NoProposal> {
        if scale.selector.as_str().is_empty() {
            let message = "the HPA target's scale is missing a selector";
            let error = "selector is required";
            return Err(self.reject_selector(
                "InvalidSelector",
                message,
                "SelectorRequired",
                error,
            ));
        }
        let selector = scale.selector.parsed().map_err(|e| {
            let error = format!(
                "couldn't convert selector into a corresponding internal selector object: {e}"
            );
            self.reject_selector("InvalidSelector", &error, "InvalidSelector", &error)
        })?;
        let pods = pods::Selected::new(&self.snapshot.pods, selector);
        if !self.rules.rejects_shared_pods {
            return Ok(pods);
        }
        let others = stored_hpas(self.snapshot, self.rules)
            .filter(|other| pods.iter().any(|pod| other.selects(pod)));
        let hpas: Vec<String> = std::iter::once(&self.snapshot.hpa)
            .chain(others.map(|other| &other.hpa))
            .map(Hpa::key)
            .collect();
        if hpas.len() == 1 {
            return Ok(pods);
        }
        let error = match self.rules.shared_pods_examples {
            None => format!(
                "pods by selector {selector} are controlled by multiple HPAs: [{}]",
                hpas.join(" ")
            ),
            // The controller's choice and order of the examples are random.
            Some(most) => format!(
                "pods by selector {selector} are controlled by more than one HPA (e.g. [{}])",
                hpas[..hpas.len().min(most)].join(" ")
            ),
        };
        let failed = self.reject_selector("AmbiguousSelector", &error, "AmbiguousSelector", &error);
        if let Some(Step::RejectSelector { hpas: list, .. }) = self.trace.last_mut() {
            *list = hpas;
        }
        Err(failed)
    }

    fn reject_selector(
        &mut self,
        reason: &'static str,
        message: &str,
        event: &'static str,
        error: &str,
    ) -> NoProposal {
        self.event("Warning", event, error.to_owned());
        self.condition_with(SCALING_ACTIVE, false, reason, self.as_format(message));
        self.trace.push(Step::RejectSelector {
            reason,
            message: message.to_owned(),
            hpas: Vec::new(),
        });
        NoProposal::Failed(error.to_owned())
    }

    /// Writes the scale; returns false if that fails.
    fn rescale(&mut self, current: i32, want: &Want) -> bool {
        let Want { replicas, reason } = want;
        let error = self.snapshot.write_error(*replicas);
        self.trace.push(Step::Rescale {
            from: current,
            to: *replicas,
            reason: reason.clone(),
            error: error.clone(),
        });
        if let Some(e) = error {
            let text = format!("New size: {replicas}; reason: {reason}; error: {e}");
            self.event("Warning", "FailedRescale", text);
            let message = format!("the HPA controller was unable to update the target scale: {e}");
            self.condition_with(ABLE_TO_SCALE, false, "FailedUpdateScale", message);
            self.outcome.error = Some(format!("failed to rescale {}: {e}", self.reference()));
            return false;
        }
        let message =
            format!("the HPA controller was able to update the target scale to {replicas}");
        self.condition_with(ABLE_TO_SCALE, true, "SucceededRescale", message);
        self.event(
            "Normal",
            "SuccessfulRescale",
            format!("New size: {replicas}; reason: {reason}"),
        );
        if let Some(rules) = &self.snapshot.hpa.spec.behavior {
            let now = self.snapshot.now;
            behavior::store_scale_event(rules, &mut self.memory, current, *replicas, now);
        }
        if self.rules.zero_by_condition {
            self.mark_zero(current, *replicas);
        }
        self.outcome.scale_to = Some(*replicas);
        true
    }

    /// Records in the status whether the controller itself scaled to zero.
    fn mark_zero(&mut self, from: i32, to: i32) {
        if !self.rules.scale_to_zero {
            conditions::remove(&mut self.outcome.status.conditions, SCALED_TO_ZERO);
            return;
        }
        let to_zero =
            from > 0 && to == 0 && self.min == 0 && has_object_or_external(&self.snapshot.hpa);
        let reason = if to_zero {
            "ScaledToZero"
        } else {
            "NotScaledToZero"
        };
        self.condition(SCALED_TO_ZERO, to_zero, reason);
    }

    /// Reports why no metric could decide. Silent failures have no condition, so the one without a type is set.
    fn deactivate(&mut self, first: &MetricError) {
        if first.is_silent() {
            self.set_condition("", "", "", "");
            return;
        }
        let message = format!(
            "the HPA was unable to compute the replica count: {}",
            first.message
        );
        self.condition_with(
            SCALING_ACTIVE,
            false,
            first.reason,
            self.as_format(&message),
        );
    }

    /// Formats a message that the controller takes from elsewhere.
    fn as_format(&self, message: &str) -> String {
        if self.rules.messages_are_formats {
            crate::apimachinery::go::sprintf(message)
        } else {
            message.to_owned()
        }
    }

    /// Sets the status of a pass that could not decide or scale.
    fn set_failed_status(&mut self, current: i32) {
        let previous = &self.snapshot.hpa.status;
        if !self.rules.reports_failed_metrics {
            self.statuses.clone_from(&previous.current_metrics);
        }
        self.set_status(current, previous.desired_replicas, false);
    }

    /// Rebuilds the status around the conditions. `current` is the count before a rescale.
    fn set_status(&mut self, current: i32, desired: i32, rescaled: bool) {
        let status = &mut self.outcome.status;
        status.observed_generation = self
            .rules
            .observes_generation
            .then(|| self.snapshot.hpa.generation.unwrap_or_default());
        status.current_replicas = current;
        status.desired_replicas = desired;
        status.current_metrics = self.statuses.take();
        if rescaled {
            status.last_scale_time = Some(self.snapshot.now);
        }
    }

    /// `{kind}/{namespace}/{name}` of the target, as errors name it.
    fn reference(&self) -> String {
        let hpa = &self.snapshot.hpa;
        let target = &hpa.spec.scale_target_ref;
        format!("{}/{}/{}", target.kind, hpa.namespace, target.name)
    }

    fn event(&mut self, type_: &'static str, reason: &'static str, message: String) {
        self.outcome.events.push(Event {
            type_,
            reason,
            message,
        });
    }

    /// Sets a condition whose message follows from its reason.
    fn condition(&mut self, type_: &str, status: bool, reason: &str) {
        self.condition_with(type_, status, reason, message_of(reason));
    }

    fn condition_with(
        &mut self,
        type_: &str,
        status: bool,
        reason: &str,
        message: impl Into<String>,
    ) {
        let status = if status { "True" } else { "False" };
        self.set_condition(type_, status, reason, message);
    }

    fn set_condition(
        &mut self,
        type_: &str,
        status: &str,
        reason: &str,
        message: impl Into<String>,
    ) {
        let list = &mut self.outcome.status.conditions;
        let condition = conditions::set(list, type_, status, self.snapshot.now);
        reason.clone_into(&mut condition.reason);
        condition.message = message.into();
    }
}

#[cfg(test)]
mod tests;
