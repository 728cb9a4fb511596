//! Findings about the way from the metrics to the replicas: tolerance, rounding, holds, rate limits,
//! bounds, and a target without replicas.

use jiff::{SignedDuration, Timestamp};

use super::last_pass::{LastPass, Rescale};
use super::requests::{is_alike, total};
use super::targets::{OtherTarget, Room, other_target, room, rooms};
use super::writer::by;
use super::{Case, Facts, Finding, Next, Severity};
use crate::apimachinery::managed_fields::SpecField;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::engine::decision::{
    Because, Decision, Direction, Group, MetricResult, MetricStep, Path, PodCounts, Proposal,
};
use crate::engine::decision::{RateLimit, Step};
use crate::memory::ground::{Ground, Running};
use crate::pass::Origin;
use crate::snapshot::Snapshot;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, HpaSpec, HpaStatus, MetricSpec, ScalingPolicy,
};
use crate::snapshot::memory::Recommendation;
use crate::snapshot::surroundings::{ScaleDown, Workload};
use crate::whatif::thresholds::{Borders, Scale};

/// A metric is off its target but within the tolerance.
#[derive(Debug, Clone, PartialEq)]
pub struct WithinTolerance {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// Current over target.
    pub ratio: f64,
    /// The tolerance on the side on which the metric is off.
    pub tolerance: f64,
    /// Where it would propose other replicas, if known.
    pub borders: Option<Borders>,
    /// Whether values are assumed for pods that do not count.
    pub is_filled: bool,
    /// Whether the version has the field `tolerance`.
    pub has_field: bool,
    /// A tolerance, in hundredths, with which the metric proposes more, if nothing is wrong.
    pub narrower: Option<u8>,
    /// The nearest target with which the pass proposes more now, if there is no field for the tolerance and nothing is
    /// wrong. Nobody has asked for fewer.
    pub target: Option<OtherTarget>,
    /// What keeps the replicas at any load, if it is memory.
    pub memory: Option<AlikeMemory>,
}

/// Memory below its target of which all pods use about as much, so it is probably not the load that they share. It
/// keeps replicas, of which any other metrics need at most half.
#[derive(Debug, Clone, PartialEq)]
pub struct AlikeMemory {
    /// The place of the metric in the spec, from 0.
    pub metric: usize,
    /// How its values are counted.
    pub scale: Scale,
    /// The metric, in the unit of its target.
    pub now: i64,
    /// The highest value at which it proposes fewer replicas.
    pub at: i64,
    /// One pod fewer.
    pub fewer: i32,
    /// Whether there are other metrics, which propose far fewer.
    pub has_others: bool,
    /// What would let fewer pods be enough.
    pub room: Room,
}

/// A metric is below the tolerance, and rounding up keeps the replicas.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounding {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The replicas.
    pub replicas: i32,
    /// The value that was rounded up.
    pub exact: f64,
    /// The number of replicas that share the same load in `one_fewer`.
    pub fewer: i32,
    /// The metric's value with one replica fewer, in the unit of the borders.
    pub one_fewer: Option<i64>,
    /// Where it would propose other replicas, if known.
    pub borders: Option<Borders>,
    /// The other metrics that propose as many, by index in the spec.
    pub beside: Vec<usize>,
    /// How long a higher recommendation holds back scaling down.
    pub window: Option<SignedDuration>,
    /// What keeps the replicas at any load, if it is memory.
    pub memory: Option<AlikeMemory>,
}

/// A recommendation inside the window decides.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldByWindow {
    /// The direction that it holds back.
    pub against: Direction,
    /// What the metrics propose.
    pub desired: i32,
    /// The result.
    pub result: i32,
    /// The recommendation that decides; the latest of equal ones.
    pub held_by: Recommendation,
    /// Where it comes from.
    pub origin: Origin,
    /// How long a recommendation counts.
    pub window: SignedDuration,
    /// The controller's default, in seconds, if the window is longer: somebody may want to scale sooner.
    pub shorter: Option<i64>,
    /// Whether each pod may have work of its own, of which the controller knows nothing.
    pub busy: bool,
    /// Since when the controller has led, if that is within the window: its history is no older.
    pub leads_since: Option<Timestamp>,
    /// What follows, if the metrics keep proposing the same.
    pub next: Option<Next>,
    /// Whether the earlier recommendation adds replicas, instead of only keeping them.
    pub adds: bool,
    /// What limits the passes after the window, if it takes several to reach what the metrics propose.
    pub then: Option<Then>,
}

/// How the replicas reach what the metrics propose once a window has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Then {
    /// The policies.
    pub policies: Vec<ScalingPolicy>,
    /// When the last pass gets there.
    pub reached: Timestamp,
}

/// A policy or the built-in doubling decides.
#[derive(Debug, Clone, PartialEq)]
pub struct RateLimited {
    /// The replicas after stabilization.
    pub desired: i32,
    /// What is allowed.
    pub result: i32,
    /// The replicas before the pass.
    pub current: i32,
    /// The limit.
    pub limit: RateLimit,
    /// What follows, if the metrics keep proposing the same.
    pub next: Option<Next>,
    /// The metric with the highest proposal, by index in the spec.
    pub metric: Option<usize>,
}

/// The direction in which the metrics propose to scale is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectionDisabled {
    /// The direction.
    pub direction: Direction,
    /// The replicas after stabilization.
    pub desired: i32,
    /// What is allowed.
    pub result: i32,
    /// Another value of the bound, if the replicas are at it, which would keep them there as well.
    pub bound: Option<i32>,
}

/// `maxReplicas` decides.
#[derive(Debug, Clone, PartialEq)]
pub struct AtMax {
    /// The bound.
    pub bound: Bound,
    /// What the metrics that propose more count, the highest proposal first.
    pub counted: Vec<Counted>,
    /// The highest proposal of another metric, with its index in the spec, if `maxReplicas` allows it.
    pub beside: Option<(usize, i32)>,
    /// What keeps those metrics from proposing as many as `maxReplicas`, or else more, by index in the spec. Empty if
    /// nothing is found.
    pub rooms: Vec<(usize, Room)>,
    /// The proposal of the pass with all of it.
    pub proposal: Option<i32>,
    /// The last time that most replicas were removed at once, if the load has returned since.
    pub dropped: Option<Dropped>,
}

/// What a metric counts, in absolute terms and in milli-units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// All of it.
    pub total: i64,
    /// The target for a pod, the mean if requests differ.
    pub per_pod: i64,
    /// The pods that use it, with the request that the target is a percentage of, and whether all have the same; `None`
    /// for what is not of pods.
    pub of_pods: Option<(usize, Option<(i64, bool)>)>,
}

/// Replicas that were removed in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The replicas before.
    pub from: i32,
    /// The replicas after.
    pub to: i32,
    /// When it was.
    pub at: Timestamp,
}

/// `minReplicas` decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AtMin {
    /// The bound.
    pub bound: Bound,
    /// The lowest number that `minReplicas` may have.
    pub least: i32,
}

/// A bound that decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The bound.
    pub bound: i32,
    /// The count proposed without it.
    pub asked: i32,
    /// Since when the status has said the same.
    pub since: Option<Timestamp>,
    /// Whether scaling in that direction is disabled as well.
    pub is_disabled: bool,
    /// The metric with the highest proposal, by index in the spec.
    pub metric: Option<usize>,
    /// Current over target of that metric.
    pub ratio: Option<f64>,
    /// What speaks against that metric, if it is no resource.
    pub suspicion: Option<Suspicion>,
}

/// What speaks against a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Suspicion {
    /// It is the higher the older a pod is.
    Counter,
    /// The pods use this part of the cpu that they request: hardly any where it asks for more replicas, or more than
    /// that where it asks for fewer.
    Cpu(f64),
}

/// There are more replicas than `maxReplicas`, or there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AboveMax(pub Correction);

/// There are fewer replicas than `minReplicas`, or there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BelowMin(pub Correction);

/// Replicas that are corrected to a bound without using metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// By this pass.
    Due(Corrected),
    /// By an earlier pass, which is the last that has scaled.
    Done(CorrectedBefore),
}

/// Replicas that an earlier pass has corrected to a bound that still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorrectedBefore {
    /// The bound, and the replicas since then.
    pub bound: i32,
    /// The replicas before that pass, if the status or an event of the target says so.
    pub from: Option<i32>,
    /// When it was.
    pub at: Timestamp,
    /// What had changed.
    pub changed: Changed,
    /// What the metrics propose, if the bound still keeps the replicas from it.
    pub asked: Option<i32>,
}

impl CorrectedBefore {
    /// Returns another bound: what the replicas were, or what the metrics ask for within reason.
    pub fn earlier(&self) -> Option<i32> {
        let is_near = |asked: &i32| (1..=self.bound.saturating_mul(4)).contains(asked);
        self.from.or(self.asked.filter(is_near))
    }
}

/// What had changed before a pass that corrected replicas to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The HPA was created.
    Created,
    /// The HPA, by the field manager that has written the bound.
    Bound,
    /// The replicas: the HPA was not changed for long.
    Replicas,
    /// One of the two.
    Unknown,
}

/// Replicas that this pass corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrected {
    /// The replicas before the pass.
    pub current: i32,
    /// The bound.
    pub bound: i32,
    /// How it has come to that.
    pub cause: Cause,
}

/// Why replicas are beyond a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The bound is assumed; the HPA has this one, which allows the replicas.
    Assumed(i32),
    /// The replicas are assumed; the target has this many.
    AssumedReplicas(i32),
    /// The HPA is new: it has no status yet.
    NewHpa,
    /// The controller itself left these replicas, so the bound was changed after that.
    Changed,
    /// A person set them, as `other-writer` says.
    Person,
    /// A program set them, as `other-writer` says.
    Program,
    /// Unknown.
    Unknown,
}

impl Cause {
    /// Whether no one has set the replicas: the bound is new, or they are assumed.
    fn is_expected(self) -> bool {
        let is_assumed = matches!(self, Self::Assumed(_) | Self::AssumedReplicas(_));
        is_assumed || matches!(self, Self::NewHpa | Self::Changed)
    }
}

/// The target has no replicas, and the HPA does not scale it up again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SwitchedOff {
    /// The replicas of the target, if having none is assumed.
    pub observed: Option<i32>,
    /// Who last wrote the replicas of the target, and when.
    pub writer: Option<(String, Timestamp)>,
    /// Why that keeps it at 0, if it is known to.
    pub keeper: Option<Keeper>,
    /// Whether the HPA allows zero replicas.
    pub may_be_zero: bool,
}

/// What keeps a target at 0 on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keeper {
    /// Flagger runs this workload instead of the target.
    Flagger {
        /// The workload, if it was read.
        primary: Option<String>,
    },
    /// This Rollout runs the pods of the target, whose template it refers to.
    Rollout {
        /// The Rollout.
        rollout: CrossVersionObjectReference,
        /// When it scales down the target, if it says so.
        scale_down: Option<ScaleDown>,
        /// An HPA that scales the Rollout already.
        hpa: Option<String>,
    },
    /// KEDA has no active trigger.
    Keda,
    /// Argo Rollouts: a Rollout that was not read runs pods of this template.
    Rollouts,
    /// The object that owns the target sets its replicas.
    Owner(String),
    /// A manifest states 0 replicas.
    Manifest,
    /// A person or a program.
    Other,
}

/// The longest time in which a pass follows a change of the HPA or of the replicas, and the target follows the pass.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// Whether something happens within that time.
fn is_soon(after: SignedDuration) -> bool {
    (SignedDuration::ZERO..=SETTLED).contains(&after)
}

/// Returns the metric with the highest proposal, if the pass follows metrics.
fn winner<'p>(case: &Case<'p>) -> Option<(&'p MetricStep, &'p Proposal)> {
    let decision = case.decision();
    let winner = decision
        .winner()
        .filter(|_| decision.path() == Some(Path::Metrics))?;
    match &winner.result {
        MetricResult::Proposal(proposal) => Some((winner, proposal)),
        MetricResult::Error(_) | MetricResult::Unread(_) => None,
    }
}

/// Returns the metric that decides, with its ratio, if the tolerance is what keeps the replicas.
fn within<'p>(case: &Case<'p>) -> Option<(&'p MetricStep, f64)> {
    let (winner, proposal) = winner(case)?;
    let ratio = match proposal.because {
        Because::WithinTolerance => proposal.ratio,
        Because::FilledWithinTolerance => proposal.filled?.ratio,
        _ => return None,
    };
    let is_kept = case.decision().proposal == case.decision().replicas_before();
    (is_kept && ratio != 1.0).then_some((winner, ratio))
}

/// Returns the direction in which the replicas would change without the tolerance, if that is what keeps
/// them.
pub(super) fn tolerated(case: &Case<'_>) -> Option<Direction> {
    let (_, ratio) = within(case)?;
    Some(if ratio > 1.0 {
        Direction::Up
    } else {
        Direction::Down
    })
}

/// Returns the side of its target on which the metric with the highest proposal is.
pub(super) fn side(case: &Case<'_>) -> Option<Direction> {
    let (_, proposal) = winner(case)?;
    Some(if proposal.ratio > 1.0 {
        Direction::Up
    } else {
        Direction::Down
    })
}

/// Returns the path of the field `tolerance` of a direction.
pub(super) fn tolerance_of(side: Direction) -> &'static str {
    match side {
        Direction::Up => "spec.behavior.scaleUp.tolerance",
        Direction::Down => "spec.behavior.scaleDown.tolerance",
    }
}

/// `within-tolerance`
pub(super) fn within_tolerance(case: &Case<'_>, found: &[Finding]) -> Option<Finding> {
    let (winner, ratio) = within(case)?;
    let has_field = case.has_tolerance_field();
    let side = if ratio > 1.0 {
        Direction::Up
    } else {
        Direction::Down
    };
    let spec = &case.snapshot().hpa.spec;
    let current = case.decision().replicas_before();
    let borders = Borders::find(case.pass, winner.index);
    let fewer =
        current.filter(|it| side == Direction::Down && *it > spec.min_replicas.unwrap_or(1));
    let memory = fewer.and_then(|current| alike_memory(case, winner, borders?, current));
    // Where something is wrong, a small change of a target is not what to look at.
    let is_sound = found.iter().all(|it| it.severity == Severity::Info);
    let more = current.filter(|it| side == Direction::Up && *it < spec.max_replicas && is_sound);
    let facts = WithinTolerance {
        metric: winner.index,
        ratio,
        tolerance: if ratio > 1.0 {
            winner.tolerance.up
        } else {
            winner.tolerance.down
        },
        borders,
        is_filled: is_filled(winner),
        has_field,
        narrower: more
            .filter(|_| has_field)
            .and_then(|_| narrower(case, winner.index, ratio)),
        target: more
            .filter(|_| !has_field)
            .and_then(|current| other_target(case, winner, current, side)),
        memory,
    };
    Some(Finding::explaining(Severity::Info, facts))
}

/// Whether the ratio that decides includes values assumed for pods that do not count.
fn is_filled(metric: &MetricStep) -> bool {
    matches!(&metric.result, MetricResult::Proposal(it) if it.filled.is_some_and(|filled| filled.ratio != it.ratio))
}

/// Returns the widest tolerance in whole hundredths that does not include the ratio, if the metric then
/// proposes something else.
fn narrower(case: &Case<'_>, metric: usize, ratio: f64) -> Option<u8> {
    // A ratio on the border is within it, however its difference from 1 is rounded.
    let hundredths = ((ratio - 1.0).abs() * 100.0 - 1e-9).ceil() - 1.0;
    if !(1.0..100.0).contains(&hundredths) {
        return None;
    }
    let tolerance = Quantity::from_milli(hundredths as i64 * 10, Format::DecimalSI);
    let current = case.decision().replicas_before()?;
    let side = if ratio > 1.0 {
        Direction::Up
    } else {
        Direction::Down
    };
    let decision = case.decide(|snapshot| set_tolerance(snapshot, side, tolerance));
    let proposal = decision.metric(metric)?.proposal()?.replicas;
    // While another metric fails, fewer replicas would be no decision.
    (proposal != current && decision.proposal.is_some()).then_some(hundredths as u8)
}

/// Sets the field `tolerance` of a direction.
pub(super) fn set_tolerance(snapshot: &mut Snapshot, side: Direction, tolerance: Quantity) {
    let behavior = snapshot.hpa.spec.behavior.get_or_insert_default();
    let rules = match side {
        Direction::Up => &mut behavior.scale_up,
        Direction::Down => &mut behavior.scale_down,
    };
    rules.get_or_insert_default().tolerance = Some(tolerance);
}

/// `rounding`
pub(super) fn rounding(case: &Case<'_>) -> Option<Finding> {
    let (winner, proposal) = winner(case)?;
    let current = case.decision().replicas_before()?;
    let ratio = proposal
        .filled
        .map_or(proposal.ratio, |filled| filled.ratio);
    let is_rounded = matches!(
        proposal.because,
        Because::RatioTimesReady | Because::RatioTimesFilled | Because::UsageOverTarget
    );
    let allowed = case.snapshot().hpa.spec.min_replicas.unwrap_or(1);
    if !is_rounded || ratio >= 1.0 || proposal.replicas != current || current <= allowed {
        return None;
    }
    let pods = match (proposal.filled, proposal.counted) {
        (Some(filled), _) => filled.size as f64,
        (None, Some(counted)) => counted.ready as f64,
        (None, None) => f64::from(case.scale()?.status_replicas),
    };
    // More pods count than there are replicas, and need just as many.
    let exact = ratio * pods;
    if (exact - f64::from(current)).abs() < SHOWN {
        return None;
    }
    let borders = Borders::find(case.pass, winner.index);
    // The pods share what they use, but not a value of something else, nor memory that each needs. What pods use that
    // do not count is unknown.
    let is_shared = proposal.filled.is_none() && !winner.is_total() && !is_baseline(case, winner);
    let counted = proposal.counted.as_ref().filter(|_| is_shared);
    let shared = borders.and_then(|borders| borders.now).zip(counted);
    let fewer = current - 1;
    let one_fewer = |(now, counted): (i64, &PodCounts)| {
        let total = i128::from(now) * i128::try_from(counted.ready).ok()?;
        i64::try_from(total.checked_div(fewer.into())?).ok()
    };
    let window = case.decision().trace.iter().find_map(|step| match step {
        Step::Stabilize { down_window, .. } => Some(*down_window),
        _ => None,
    });
    let also = |it: &&MetricStep| {
        it.index != winner.index && it.proposal().is_some_and(|it| it.replicas >= current)
    };
    let facts = Rounding {
        metric: winner.index,
        replicas: current,
        exact,
        fewer,
        one_fewer: shared.and_then(one_fewer),
        borders,
        beside: case.metrics().filter(also).map(|it| it.index).collect(),
        window,
        memory: borders.and_then(|borders| alike_memory(case, winner, borders, current)),
    };
    Some(Finding::explaining(Severity::Info, facts))
}

/// Returns what memory that does not fall with the load means for one replica fewer, if it alone keeps the replicas.
fn alike_memory<'p>(
    case: &Case<'p>,
    metric: &'p MetricStep,
    borders: Borders,
    current: i32,
) -> Option<AlikeMemory> {
    let proposal = metric.proposal().filter(|it| it.filled.is_none())?;
    let is_counted = proposal
        .counted
        .is_some_and(|it| usize::try_from(current) == Ok(it.ready));
    let mut others = case.metrics().filter(|it| it.index != metric.index);
    let needs = |it: &MetricStep| it.proposal().is_none_or(|it| it.replicas > current / 2);
    let fewer = current - 1;
    let fits = proposal.ratio * f64::from(current) <= f64::from(fewer);
    if !is_counted || fits || !is_baseline(case, metric) || others.any(needs) {
        return None;
    }
    let Borders {
        scale,
        now,
        fewer: at,
        ..
    } = borders;
    Some(AlikeMemory {
        metric: metric.index,
        scale,
        now: now?,
        at: at?,
        fewer,
        has_others: case.metrics().count() > 1,
        room: room(case, metric, fewer),
    })
}

/// Whether a metric is memory of which all pods use about as much.
fn is_baseline<'p>(case: &Case<'p>, metric: &'p MetricStep) -> bool {
    metric.name == "memory" && is_alike(case, metric)
}

/// Half of the last digit of a number of replicas that is shown.
const SHOWN: f64 = 0.005;

/// How stabilization changes the proposal, if a recommendation does.
struct Held {
    desired: i32,
    result: i32,
    up_window: Option<SignedDuration>,
    down_window: SignedDuration,
    held_by: Recommendation,
}

fn held(case: &Case<'_>) -> Option<Held> {
    case.decision().trace.iter().find_map(|step| match step {
        Step::Stabilize {
            desired,
            result,
            up_window,
            down_window,
            held_by,
            ..
        } if desired != result => Some(Held {
            desired: *desired,
            result: *result,
            up_window: *up_window,
            down_window: *down_window,
            held_by: (*held_by)?,
        }),
        _ => None,
    })
}

/// `held-by-window`
pub(super) fn held_by_window(case: &Case<'_>) -> Option<Finding> {
    let pass = case.pass;
    let Held {
        desired,
        result,
        up_window,
        down_window,
        held_by,
    } = held(case)?;
    let against = if held_by.replicas > desired {
        Direction::Down
    } else {
        Direction::Up
    };
    let window = match against {
        Direction::Up => up_window.unwrap_or_default(),
        Direction::Down => down_window,
    };
    // The latest of equal recommendations holds longest.
    let remembered = pass.remembered.likely.recommendations.iter();
    let equal = remembered.filter(|other| other.replicas == held_by.replicas);
    let held_by = equal
        .copied()
        .max_by_key(|other| other.time)
        .unwrap_or(held_by);
    let now = case.snapshot().now;
    let leads_since = pass
        .remembered
        .grounds
        .iter()
        .find_map(|ground| match ground {
            Ground::Controller(Running::Leads(since)) if now.duration_since(*since) < window => {
                Some(*since)
            }
            _ => None,
        });
    let facts = HeldByWindow {
        against,
        desired,
        result,
        held_by,
        origin: pass.origin(&held_by),
        window,
        shorter: shorter(case, against, window),
        busy: against == Direction::Down && has_own_work(case),
        leads_since,
        next: case.next(),
        adds: against == Direction::Down
            && case.decision().replicas_after() > case.decision().replicas_before(),
        then: then(case, desired, against, window),
    };
    let without = case.without_history();
    let is_held_anyway = |it: Limited| it.is_bound() || it.is_disabled();
    if without.replicas == case.answer().replicas && limit(case).is_some_and(is_held_anyway) {
        return None;
    }
    // If a limit would hold them as well, the end of the window changes nothing.
    let finding = if without.replicas == case.answer().replicas {
        Finding::aside(Severity::Info, facts)
    } else {
        Finding::explaining(Severity::Info, facts)
    };
    Some(finding.without(without))
}

/// Returns the controller's default in seconds, if a window is longer.
fn shorter(case: &Case<'_>, against: Direction, window: SignedDuration) -> Option<i64> {
    let default = match against {
        Direction::Up => SignedDuration::ZERO,
        Direction::Down => case.snapshot().controller.downscale_stabilization,
    };
    (default < window).then_some(default.as_secs())
}

/// Whether the metric that decides is a total of which each pod is to have at most one, as of jobs in a queue.
fn has_own_work(case: &Case<'_>) -> bool {
    let Some((step, _)) = winner(case).filter(|(step, _)| step.is_total()) else {
        return false;
    };
    step.target
        .average_value
        .as_ref()
        .is_some_and(|it| it.milli_value() <= 1000)
}

/// Returns how the replicas reach what the metrics propose after the window, if policies make that take longer than
/// the window.
fn then(case: &Case<'_>, desired: i32, against: Direction, window: SignedDuration) -> Option<Then> {
    let behavior = case.snapshot().hpa.spec.behavior.as_ref()?;
    let rules = match against {
        Direction::Up => behavior.scale_up.as_ref(),
        Direction::Down => behavior.scale_down.as_ref(),
    };
    let upcoming = &case.pass.outlook.upcoming;
    let mut changes = upcoming
        .windows(2)
        .filter(|pair| pair[0].replicas != pair[1].replicas);
    let takes_several = changes.nth(1).is_some();
    let last = upcoming
        .last()
        .filter(|last| takes_several && last.replicas == desired)?;
    // Policies that take no longer than the window are not worth a word.
    let ends = upcoming
        .iter()
        .find(|it| Some(it.replicas) != case.decision().replicas_after())?;
    if last.time.duration_since(ends.time) <= window {
        return None;
    }
    let policies = rules?.policies.clone()?;
    Some(Then {
        policies,
        reached: last.time,
    })
}

/// A limit that changes the replicas.
struct Limited {
    desired: i32,
    result: i32,
    rate: Option<RateLimit>,
    reason: &'static str,
}

impl Limited {
    fn is_bound(&self) -> bool {
        matches!(self.reason, "TooManyReplicas" | "TooFewReplicas")
    }

    fn is_disabled(&self) -> bool {
        self.rate.as_ref().is_some_and(RateLimit::is_disabled)
    }

    /// Returns the bound with which the replicas would come nearest to what is desired.
    fn wider(&self, case: &Case<'_>) -> i32 {
        if self.desired > self.result {
            self.desired
        } else {
            self.desired.max(least(case))
        }
    }

    /// Whether a direction is disabled that could be enabled to some effect: at the lowest bound it could not.
    fn is_only_disabled(&self, case: &Case<'_>) -> bool {
        self.is_disabled() && !(self.is_bound() && self.wider(case) == self.result)
    }
}

/// Returns the last limit on the replicas, if it changes what the metrics propose. A recommendation that holds them
/// may hide a limit that would hold them as well.
fn limit(case: &Case<'_>) -> Option<Limited> {
    let of = |decision: &Decision| {
        decision.trace.iter().find_map(|step| match step {
            Step::Limit {
                desired,
                result,
                rate,
                reason,
                ..
            } if desired != result => {
                let rate = rate.clone();
                Some(Limited {
                    desired: *desired,
                    result: *result,
                    rate,
                    reason,
                })
            }
            _ => None,
        })
    };
    let Some(held) = held(case) else {
        return of(case.decision());
    };
    // What only a recommendation from before is beyond would not limit what the metrics propose now.
    let limits_metrics = |limit: &Limited| {
        if limit.desired > limit.result {
            held.desired > limit.result
        } else {
            held.desired < limit.result
        }
    };
    let own = of(case.decision()).filter(limits_metrics);
    let own = own.map(|limit| Limited {
        desired: held.desired,
        ..limit
    });
    own.or_else(|| {
        let after = case.decision().replicas_after();
        of(case.forgotten()).filter(|limit| Some(limit.result) == after)
    })
}

/// `rate-limited`
pub(super) fn rate_limited(case: &Case<'_>) -> Option<Finding> {
    let Limited {
        desired,
        result,
        rate,
        reason,
    } = limit(case).filter(|it| !it.is_disabled())?;
    let limit = rate?;
    let current = case.decision().replicas_before()?;
    let next = case.next();
    matches!(reason, "ScaleUpLimit" | "ScaleDownLimit").then(|| {
        let metric = winner(case).map(|(metric, _)| metric.index);
        let facts = RateLimited {
            desired,
            result,
            current,
            limit,
            next,
            metric,
        };
        Finding::explaining(Severity::Info, facts)
    })
}

/// `direction-disabled`
pub(super) fn direction_disabled(case: &Case<'_>) -> Option<Finding> {
    let limited = limit(case).filter(|it| it.is_only_disabled(case))?;
    let bound = limited.is_bound().then(|| limited.wider(case));
    let Limited {
        desired,
        result,
        rate,
        ..
    } = limited;
    let direction = rate?.direction;
    let facts = DirectionDisabled {
        direction,
        desired,
        result,
        bound,
    };
    let without = case.without(|snapshot| {
        let spec = &mut snapshot.hpa.spec;
        let rules = spec.behavior.as_mut().and_then(|rules| match direction {
            Direction::Up => rules.scale_up.as_mut(),
            Direction::Down => rules.scale_down.as_mut(),
        });
        if let Some(rules) = rules {
            rules.select_policy = Some("Max".to_owned());
        }
        match (bound, direction) {
            (Some(bound), Direction::Up) => spec.max_replicas = bound,
            (Some(bound), Direction::Down) => spec.min_replicas = Some(bound),
            (None, _) => {}
        }
    });
    Some(Finding::explaining(Severity::Info, facts).without(without))
}

/// Returns a bound that decides, for the controller's reason.
fn bound(case: &Case<'_>, is: &str) -> Option<Bound> {
    let limited = limit(case).filter(|it| it.reason == is)?;
    let is_disabled = limited.is_only_disabled(case);
    let Limited {
        desired: asked,
        result,
        ..
    } = limited;
    let status = &case.snapshot().hpa.status.conditions;
    let since = status
        .iter()
        .find(|it| it.type_ == "ScalingLimited" && it.reason == is);
    let winner = winner(case);
    Some(Bound {
        bound: result,
        asked,
        is_disabled,
        since: since.and_then(|condition| condition.last_transition_time),
        metric: winner.map(|(metric, _)| metric.index),
        ratio: winner.map(|(_, proposal)| proposal.ratio),
        suspicion: winner.and_then(|(metric, proposal)| suspicion(case, metric, proposal.ratio)),
    })
}

/// Returns what speaks against a metric that is no resource.
fn suspicion(case: &Case<'_>, step: &MetricStep, ratio: f64) -> Option<Suspicion> {
    /// Shares of the requests that say that pods are idle, or busy.
    const IDLE: f64 = 0.1;
    const BUSY: f64 = 1.0;
    if step.is_resource() {
        return None;
    }
    if ratio > 1.0 && rises_with_age(case, step) {
        return Some(Suspicion::Counter);
    }
    let share = case.cpu_share()?;
    let speaks = if ratio > 1.0 {
        share <= IDLE
    } else {
        share >= BUSY
    };
    speaks.then_some(Suspicion::Cpu(share))
}

/// Whether the values of a metric are in the order of the ages of its pods, and far apart, as those of a counter are
/// that begins at 0 with each pod.
fn rises_with_age(case: &Case<'_>, step: &MetricStep) -> bool {
    let values = step
        .pods
        .iter()
        .filter_map(|row| Some((case.pod_of(row).created?, row.value?)));
    let mut values: Vec<(Timestamp, i64)> = values.collect();
    values.sort_by_key(|(created, _)| *created);
    let falls = |pair: &[(Timestamp, i64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
    values.len() >= 3
        && values.windows(2).all(falls)
        && values[0].1 / 2 >= values[values.len() - 1].1
}

/// `at-max`
pub(super) fn at_max(case: &Case<'_>) -> Option<Finding> {
    let bound = bound(case, "TooManyReplicas")?;
    let without = case.without(|snapshot| snapshot.hpa.spec.max_replicas = i32::MAX);
    let severity = if bound.is_disabled {
        Severity::Info
    } else {
        Severity::Warning
    };
    let proposals = || {
        case.metrics()
            .filter_map(|step| Some((step, step.proposal()?.replicas)))
    };
    let (mut above, others): (Vec<_>, Vec<_>) =
        proposals().partition(|(_, proposal)| *proposal > bound.bound);
    above.sort_by_key(|(_, proposal)| std::cmp::Reverse(*proposal));
    let above: Vec<&MetricStep> = above.into_iter().map(|(step, _)| step).collect();
    // Below the maximum there is room for a load that rises.
    let found = [bound.bound.saturating_sub(1), bound.bound]
        .into_iter()
        .find_map(|most| rooms(case, &above, most));
    let (rooms, proposal) = found.unzip();
    let facts = AtMax {
        bound,
        counted: above.iter().filter_map(|step| counted_by(step)).collect(),
        beside: others
            .into_iter()
            .map(|(step, it)| (step.index, it))
            .max_by_key(|it| it.1),
        rooms: rooms.unwrap_or_default(),
        proposal,
        dropped: dropped(case),
    };
    Some(Finding::explaining(severity, facts).without(without))
}

/// Returns what a metric counts, if that can be divided by its target.
fn counted_by(step: &MetricStep) -> Option<Counted> {
    let proposal = step.proposal()?;
    let target = &step.target;
    let average = target.average_value.as_ref().map(Quantity::milli_value);
    if let (Some(total), Some(per_pod)) = (&proposal.total, average) {
        return Some(Counted {
            metric: step.index,
            total: total.milli_value(),
            per_pod,
            of_pods: None,
        });
    }
    let rows = || step.pods.iter().filter(|row| row.group == Group::Ready);
    let sum = total(rows().map(|row| row.value))?;
    let pods = i64::try_from(rows().count())
        .ok()
        .filter(|pods| *pods > 0)?;
    let (per_pod, request) = match (average, target.average_utilization) {
        (Some(average), _) => (average, None),
        (None, Some(percent)) => {
            let mean = total(rows().map(|row| row.request))? / pods;
            let is_same = rows().all(|row| row.request == Some(mean));
            (
                mean.checked_mul(percent.into())? / 100,
                Some((mean, is_same)),
            )
        }
        (None, None) => return None,
    };
    let of_pods = Some((rows().count(), request));
    Some(Counted {
        metric: step.index,
        total: sum,
        per_pod,
        of_pods,
    })
}

/// Returns the last time that the controller removed most replicas at once and has added some since, if events show it.
fn dropped(case: &Case<'_>) -> Option<Dropped> {
    /// As long as an API server keeps events by default.
    const RECENT: SignedDuration = SignedDuration::from_hours(1);
    /// Fewer are no loss.
    const SEVERAL: i32 = 4;
    let (rescales, _) = case.pass.input.rescales();
    let is_drop = |pair: &&[Rescale]| {
        let (from, to) = (pair[0].size, pair[1].size);
        pair[1].is_up == Some(false) && to <= from / 2 && from.saturating_sub(to) >= SEVERAL
    };
    let last = rescales.windows(2).rfind(is_drop)?;
    let (
        from,
        Rescale {
            size: to, time: at, ..
        },
    ) = (last[0].size, last[1]);
    let has_returned = rescales.last()?.time > at;
    (has_returned && case.since(at)? <= RECENT).then_some(Dropped { from, to, at })
}

/// `at-min`
pub(super) fn at_min(case: &Case<'_>) -> Option<Finding> {
    let bound = bound(case, "TooFewReplicas")?;
    let least = least(case);
    let without = case.without(|snapshot| snapshot.hpa.spec.min_replicas = Some(least));
    Some(Finding::explaining(Severity::Info, AtMin { bound, least }).without(without))
}

/// Returns the lowest number that `minReplicas` may have.
fn least(case: &Case<'_>) -> i32 {
    let Snapshot {
        hpa, controller, ..
    } = case.snapshot();
    let may_be_zero = controller.gates.scale_to_zero
        && hpa.scaled_object().is_none()
        && hpa.spec.metrics.iter().any(MetricSpec::is_total);
    i32::from(!may_be_zero)
}

/// `above-max` and `below-min`
pub(super) fn corrected(case: &Case<'_>, found: &[Finding]) -> Option<Finding> {
    let (path, current, min, max) = case.decision().trace.iter().find_map(|step| match step {
        Step::ChoosePath {
            path,
            current,
            min,
            max,
        } => Some((*path, *current, *min, *max)),
        _ => None,
    })?;
    let beyond = match path {
        Path::AboveMax => Direction::Up,
        Path::BelowMin => Direction::Down,
        Path::Metrics if current == max || current == min => {
            return corrected_before(case, current, max);
        }
        Path::Metrics | Path::Disabled => return None,
    };
    let cause = cause(case, found, current, beyond);
    let severity = if cause.is_expected() {
        Severity::Info
    } else {
        Severity::Warning
    };
    let without = case.without(|snapshot| match beyond {
        Direction::Up => snapshot.hpa.spec.max_replicas = current,
        Direction::Down => snapshot.hpa.spec.min_replicas = Some(current),
    });
    let of = |bound| {
        Correction::Due(Corrected {
            current,
            bound,
            cause,
        })
    };
    let facts: Facts = match beyond {
        Direction::Up => AboveMax(of(max)).into(),
        Direction::Down => BelowMin(of(min)).into(),
    };
    Some(Finding::explaining(severity, facts).without(without))
}

/// Returns the correction to a bound that led to the present replicas.
fn corrected_before(case: &Case<'_>, current: i32, max: i32) -> Option<Finding> {
    let (beyond, from, at) = last_correction(case, current)?;
    let (field, reason) = match beyond {
        Direction::Up if current == max => (SpecField::MaxReplicas, "TooManyReplicas"),
        Direction::Down if current < max => (SpecField::MinReplicas, "TooFewReplicas"),
        Direction::Up | Direction::Down => return None,
    };
    let written = &case.snapshot().hpa.written;
    let before = |time: Timestamp| at.duration_since(time);
    let by_writer = written
        .last_writer(field)
        .and_then(|it| it.time)
        .map(before);
    let changed = match (by_writer, written.spec.map(before)) {
        _ if written.created.map(before).is_some_and(is_soon) => Changed::Created,
        (Some(before), _) if is_soon(before) => Changed::Bound,
        (_, Some(before)) if before > SETTLED => Changed::Replicas,
        _ => Changed::Unknown,
    };
    let asked = bound(case, reason).map(|it| it.asked);
    let done = CorrectedBefore {
        bound: current,
        from,
        at,
        changed,
        asked,
    };
    let severity = match (beyond, asked, changed) {
        // The bound keeps replicas away that are needed.
        (Direction::Up, Some(_), Changed::Created | Changed::Bound | Changed::Unknown) => {
            Severity::Warning
        }
        _ => Severity::Info,
    };
    let facts: Facts = match beyond {
        Direction::Up => AboveMax(Correction::Done(done)).into(),
        Direction::Down => BelowMin(Correction::Done(done)).into(),
    };
    let without = done.earlier().map(|earlier| {
        case.without(|snapshot| match beyond {
            Direction::Up => snapshot.hpa.spec.max_replicas = earlier,
            Direction::Down => snapshot.hpa.spec.min_replicas = Some(earlier),
        })
    });
    Some(Finding {
        without,
        ..Finding::explaining(severity, facts)
    })
}

/// Returns the side of the bound on which the replicas were, how many there were, and when the controller corrected
/// them, if nothing has been scaled since then: by its newest event, or by the status of the last pass.
fn last_correction(case: &Case<'_>, current: i32) -> Option<(Direction, Option<i32>, Timestamp)> {
    /// As long as an API server keeps events by default.
    const RECENT: SignedDuration = SignedDuration::from_hours(1);
    let hpa = &case.snapshot().hpa;
    let evidence = &case.pass.input.evidence;
    let own = evidence.events.iter().filter(|it| it.is_rescale_of(hpa));
    let newest = own
        .max_by_key(|it| it.last)
        .filter(|it| it.new_size() == Some(current));
    let told = newest.and_then(|it| Some((it.corrects()?, it.last?)));
    let status = LastPass::of(&hpa.status, current).filter(|it| it.scaled && it.to == current);
    let (beyond, at) = told.or_else(|| {
        let HpaSpec {
            min_replicas,
            max_replicas,
            ..
        } = hpa.spec;
        let beyond = match status?.from {
            from if from > max_replicas => Direction::Up,
            from if from > 0 && from < min_replicas.unwrap_or(1) => Direction::Down,
            _ => return None,
        };
        Some((beyond, hpa.status.last_scale_time?))
    })?;
    let follows = |it: &&Event| it.last.is_some_and(|last| is_soon(last.duration_since(at)));
    let mut followed = evidence
        .scaled
        .iter()
        .filter(follows)
        .filter_map(Event::followed);
    let from = followed
        .find(|(_, to)| *to == current)
        .and_then(|(from, _)| from);
    let from = status.map(|it| it.from).or(from);
    let is_beyond = |from: &i32| match beyond {
        Direction::Up => *from > current,
        Direction::Down => *from < current,
    };
    (case.since(at)? <= RECENT).then_some((beyond, from.filter(is_beyond), at))
}

/// Takes away the bound that replicas are beyond, so that a pass reads its metrics.
pub(super) fn widen(spec: &mut HpaSpec, beyond: Direction) {
    match beyond {
        Direction::Up => spec.max_replicas = i32::MAX,
        Direction::Down => spec.min_replicas = Some(1),
    }
}

/// Returns why these replicas are beyond the maximum (up) or the minimum (down).
fn cause(case: &Case<'_>, found: &[Finding], current: i32, beyond: Direction) -> Cause {
    let Hpa { status, .. } = &case.snapshot().hpa;
    if let Some(observed) = &case.pass.input.observed {
        let own = match beyond {
            Direction::Up => observed.spec.max_replicas,
            Direction::Down => observed.spec.min_replicas.unwrap_or(1),
        };
        let allows = if beyond == Direction::Up {
            current <= own
        } else {
            current >= own
        };
        if allows {
            return Cause::Assumed(own);
        }
    }
    if let Some(own) = case.pass.input.observed_replicas {
        return Cause::AssumedReplicas(own);
    }
    let other = found.iter().find_map(|it| match &it.facts {
        Facts::OtherWriter(facts) => Some(facts).filter(|_| facts.left.is_some()),
        _ => None,
    });
    match other.map(|it| (&it.owner, &it.writer)) {
        Some((Some(_), _)) => return Cause::Program,
        Some((None, Some(writer))) if writer.by.repeats() => return Cause::Program,
        Some((None, Some(_))) => return Cause::Person,
        Some((None, None)) | None => {}
    }
    // A pass sets what is beyond a bound to the bound, if it can.
    let mut conditions = status.conditions.iter();
    let is_able = conditions.all(|it| it.type_ != "AbleToScale" || it.status != "False");
    let is_new = *status == HpaStatus::default();
    // Of a past pass, no status is known.
    if is_new && case.pass.input.evidence.past.is_none() {
        Cause::NewHpa
    } else if !is_new && status.desired_replicas == current && is_able {
        Cause::Changed
    } else {
        Cause::Unknown
    }
}

/// `switched-off`
pub(super) fn switched_off(case: &Case<'_>) -> Option<Finding> {
    if case.decision().path() != Some(Path::Disabled) {
        return None;
    }
    let observed = case.pass.input.observed_replicas;
    let writer = case.surroundings().last_replicas_write(case.target());
    let writer = writer.filter(|_| observed.is_none());
    let hpa = &case.snapshot().hpa;
    let keeper = match (rollout(case), writer) {
        (Some(own), _) if observed.is_none() => {
            let mut others = case.snapshot().stored_hpas();
            let other = others.find(|it| it.hpa.reference() == own.reference());
            Some(Keeper::Rollout {
                rollout: own.to_reference(),
                scale_down: own.scale_down,
                hpa: other.map(|it| it.hpa.name.clone()),
            })
        }
        _ if observed.is_none() && hpa.scaled_object().is_none() && is_scaled_by_keda(case) => {
            Some(Keeper::Keda)
        }
        (_, Some((manager, _))) => Some(keeper(case, manager)),
        // The name that Flagger gives says enough where no one says who wrote the replicas.
        (_, None) if observed.is_none() => primary(case).map(|own| Keeper::Flagger {
            primary: Some(own.reference()),
        }),
        (_, None) => None,
    };
    let facts = SwitchedOff {
        observed,
        keeper: keeper.clone(),
        writer: writer.map(|(manager, time)| (manager.to_owned(), time)),
        may_be_zero: hpa.spec.min_replicas == Some(0),
    };
    // Scaling from zero is KEDA's part, and the pause has its own finding.
    let severity = match (hpa.scaled_object(), keeper) {
        (_, Some(Keeper::Rollout { hpa: None, .. } | Keeper::Rollouts)) => Severity::Warning,
        (None, None | Some(Keeper::Manifest | Keeper::Other | Keeper::Owner(_)))
            if observed.is_none() =>
        {
            Severity::Warning
        }
        _ => Severity::Info,
    };
    Some(Finding::explaining(severity, facts))
}

/// Whether a ScaledObject scales the target beside the HPA, as one that takes it over once it has an HPA.
fn is_scaled_by_keda(case: &Case<'_>) -> bool {
    case.surroundings()
        .scaled_objects
        .iter()
        .any(|it| it.is_of(case.target()))
}

/// Returns the Rollout that has its template from the target, and may keep that at 0.
pub(super) fn rollout<'p>(case: &Case<'p>) -> Option<&'p Workload> {
    let target = case.workload()?;
    case.surroundings()
        .workloads
        .iter()
        .find(|it| target.is_template_of(it))
}

/// Returns the workload that Flagger runs instead of the target, by the name that it gives
/// (`Canary.GetPrimaryName`).
pub(super) fn primary<'p>(case: &Case<'p>) -> Option<&'p Workload> {
    let target = case.target();
    let name = format!("{}-primary", target.name);
    let mut workloads = case.surroundings().workloads.iter();
    workloads.find(|it| it.is_kind_of(target) && it.metadata.name == name)
}

/// Returns what the last writer of 0 replicas has done that for.
fn keeper(case: &Case<'_>, manager: &str) -> Keeper {
    let manager = manager.to_lowercase();
    if manager.contains("flagger") {
        return Keeper::Flagger {
            primary: primary(case).map(Workload::reference),
        };
    }
    let managed = case
        .workload()
        .map_or(&[][..], |target| &target.metadata.managed_fields);
    let last = managed
        .iter()
        .filter(|it| it.owns(SpecField::Replicas))
        .max_by_key(|it| it.time);
    let owner = case
        .workload()
        .and_then(|target| target.metadata.controller());
    match owner {
        _ if manager.contains("keda") => Keeper::Keda,
        _ if manager.contains("rollouts") => Keeper::Rollouts,
        Some(owner) => Keeper::Owner(format!("{}/{}", owner.kind, owner.name)),
        None if last.is_some_and(|it| by(it).is_of_manifest()) => Keeper::Manifest,
        None => Keeper::Other,
    }
}

#[cfg(test)]
mod tests;
