//! The values of a metric at which the answer changes. The engine itself is run again and again, with that metric at
//! another value and everything else unchanged; formulas only suggest which values to try first, and never give the
//! answer.

mod search;

use jiff::Timestamp;
use serde::Serialize;

use super::overrides::{Dial, alone};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::engine::decision::{
    CombineStep, Decision, Direction, MetricResult, MetricStep, Proposal, Step,
};
use crate::engine::hold::Hold;
use crate::pass::{Doubts, Pass};
use crate::snapshot::hpa::{HpaSpec, MetricSpec};
use crate::snapshot::past::Bounds;
use crate::snapshot::{Documents, Snapshot, UnreadCause};
use search::ValueSearch;

/// The effect of the values of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thresholds {
    /// The metric's display name.
    pub metric: String,
    /// The metric's place in the spec, counted from 0.
    pub index: usize,
    /// The format of the metric's amounts.
    #[serde(skip)]
    pub format: Format,
    /// Whether the target is per replica, while the value is not.
    #[serde(skip)]
    pub divided: bool,
    /// The result of the search.
    #[serde(flatten)]
    pub found: ThresholdValues,
}

/// The values, or why they are unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ThresholdValues {
    /// The values were found.
    Changes(Box<Changes>),
    /// No other value can be assumed, or none would change anything.
    Nothing {
        /// The reason.
        error: String,
    },
}

/// The values at which the answer changes, in the unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    /// The unit of the values.
    pub unit: MetricUnit,
    /// The value in this pass, if it has one.
    pub now: Option<i64>,
    /// The highest value that was tried; no value beyond it changes anything, except near the limits of the integers.
    pub up_to: i64,
    /// The values around the target at which the ratio is within the tolerance, or pods without metrics reverse it.
    pub tolerance: Option<Span>,
    /// The effect of each value on the replicas, from 0 on.
    pub bands: Vec<Band>,
    /// The metric's own proposal at each value, from 0 on, whatever the pass does with it.
    pub asks: Vec<Asks>,
    /// The highest values at which the lower bound is reached.
    pub min: Reached,
    /// The lowest values at which the upper bound is reached.
    pub max: Reached,
    /// The pass at the value 0.
    pub lowest: RangeEnd,
    /// The pass at the highest value that was tried.
    pub highest: RangeEnd,
    /// The replicas at each value, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
    /// The unknowns on which a pass at another value may depend.
    #[serde(skip)]
    pub doubts: Doubts,
}

/// The unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MetricUnit {
    /// Whole percents of the pods' requests, as the controller compares them.
    Percent,
    /// Milli-units of each pod.
    MilliPerPod,
    /// Milli-units in total.
    Milli,
}

/// Values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The lowest.
    pub from: i64,
    /// The highest.
    pub to: i64,
}

impl Span {
    fn only(value: i64) -> Self {
        Self {
            from: value,
            to: value,
        }
    }
}

/// Values with the same effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The values.
    #[serde(flatten)]
    pub span: Span,
    /// The effect of these values.
    pub effect: Effect,
    /// Whether they have the effect regardless of unknowns such as the controller's history.
    pub certain: bool,
}

/// The effect on the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// The replicas decrease.
    Removes,
    /// The replicas stay.
    Keeps,
    /// The replicas increase.
    Adds,
}

/// Values with the same kind of proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Asks {
    /// The values.
    #[serde(flatten)]
    pub span: Span,
    /// Its proposal.
    pub asks: Ask,
}

/// A proposal compared with the replicas, before stabilization, limits and other metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Ask {
    /// The metric cannot be evaluated.
    Nothing,
    /// Fewer replicas.
    Fewer,
    /// The same number of replicas.
    Same,
    /// More replicas.
    More,
}

/// The values at which a bound is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// The bound.
    pub replicas: i32,
    /// The value at which the metric proposes the bound or a number beyond it; `None` if it never does.
    pub proposed: Option<i64>,
    /// The value at which the pass ends at the bound; `None` if it never does.
    pub met: Option<i64>,
}

/// The pass at one end of the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RangeEnd {
    /// The replicas that the metric proposes; `None` if it cannot be evaluated.
    pub proposal: Option<i32>,
    /// The replicas after the pass.
    pub replicas: i32,
    /// If the pass certainly changes nothing and a later one most likely does, the earliest time of a pass that may,
    /// provided that the metric stays at this value.
    #[serde(serialize_with = "crate::apimachinery::json::optional_time::serialize")]
    pub changes_at: Option<Timestamp>,
    /// The reasons why the pass does not follow the metric within the bounds, in order.
    pub held_by: Vec<HeldBy>,
}

impl RangeEnd {
    /// Whether the result depends on unread metrics.
    pub(crate) fn is_unread(&self) -> bool {
        self.held_by.contains(&HeldBy::UnreadMetrics)
    }
}

/// A reason why a pass does not follow a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "camelCase")]
pub enum HeldBy {
    /// Another metric proposes more.
    Metric {
        /// The metric's display name.
        metric: String,
        /// Its proposal.
        replicas: i32,
    },
    /// Metrics failed, and without them no replicas are removed.
    FailedMetrics,
    /// Metrics are unread, and whether the controller removes replicas depends on them.
    UnreadMetrics,
    /// Earlier recommendations within the stabilization window.
    Stabilization {
        /// The replicas that it leaves.
        replicas: i32,
    },
    /// The limit of what one pass may change.
    Rate {
        /// The replicas that it leaves.
        replicas: i32,
    },
    /// The direction, which `behavior` disables.
    Disabled {
        /// The direction.
        direction: Direction,
    },
    /// The scale cannot be written.
    Scale,
}

/// Replicas over values of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Curve {
    /// The values that it covers.
    #[serde(flatten)]
    pub span: Span,
    /// The points at which anything changes; if there are very many, only some of them.
    pub steps: Vec<CurvePoint>,
}

/// The state from one value on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CurvePoint {
    /// The value.
    pub from: i64,
    /// The replicas that the metric proposes, at most one more than the upper bound; `None` if it cannot be
    /// evaluated.
    pub proposal: Option<i32>,
    /// The replicas after the pass.
    pub replicas: i32,
}

/// Searches for the thresholds of each metric; `curve` is the place of the metric whose curve is requested. The list is
/// empty if the pass evaluates no metrics, whatever their values. If the history or the time is uncertain, the
/// likeliest is used, and each band says whether it matters.
///
/// Each value that is tried takes a pass, so only the first hundred metrics are searched, and the metric of the curve;
/// the others say so.
pub fn thresholds(pass: &Pass, curve: Option<usize>) -> Vec<Thresholds> {
    let metrics = 0..pass.input.snapshot.hpa.spec.metrics.len();
    metrics
        .filter_map(|index| of_metric(pass, index, None, curve == Some(index)))
        .collect()
}

/// Searches for the thresholds of the metric at a place, with its curve if requested; or of the usage of a container,
/// if the metric at the place is about whole pods. `None` if the pass evaluates no metrics.
pub fn of_metric(
    pass: &Pass,
    index: usize,
    container: Option<&str>,
    with_curve: bool,
) -> Option<Thresholds> {
    pass.decision.combination()?;
    let snapshot = &pass.input.snapshot;
    let metrics = &snapshot.hpa.spec.metrics;
    let spec = metrics[index].part(container);
    let alone = container.map(|_| alone(snapshot, index, spec.clone()));
    let step = match &alone {
        Some(alone) => alone.metric(0),
        None => pass.decision.metric(index),
    };
    let changes = if index < SEARCHED || with_curve {
        let dial = Dial::new(snapshot, index, container).map_err(|e| e.message);
        dial.and_then(|dial| changes(pass, dial, step, index, with_curve))
    } else {
        Err(format!(
            "not searched, because it is not among the first {SEARCHED} metrics: --curve shows it"
        ))
    };
    Some(Thresholds {
        metric: match container {
            Some(_) => spec.label(metrics),
            None => snapshot.hpa.spec.label(index),
        },
        index,
        format: quantity(&spec).map(Quantity::format).unwrap_or_default(),
        divided: spec.is_divided(),
        found: match changes {
            Ok(changes) => ThresholdValues::Changes(Box::new(changes)),
            Err(error) => ThresholdValues::Nothing { error },
        },
    })
}

/// The maximum number of metrics that are searched, so that the time grows with their number and not with its square.
pub(crate) const SEARCHED: usize = 100;

/// The values at which the proposal of one metric changes, with everything else unchanged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Borders {
    /// How the values are counted.
    pub scale: UnitScale,
    /// The value in this pass, if it has one.
    pub now: Option<i64>,
    /// The values around the target at which the ratio is within the tolerance, or pods without metrics reverse it.
    pub tolerance: Option<Span>,
    /// The highest value at which the metric proposes fewer replicas than now, if it also does at all lower values.
    pub fewer: Option<i64>,
    /// The lowest value at which the metric proposes more replicas, if it also does at all higher values.
    pub more: Option<i64>,
}

/// The scale on which the values of a metric are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitScale {
    /// The unit of the values.
    pub unit: MetricUnit,
    /// The format of amounts.
    pub format: Format,
    /// Whether the target is per replica, while the value is not.
    pub divided: bool,
}

impl Borders {
    /// Searches for the borders of the metric at a place in the spec; `None` if no value can be substituted, or if one
    /// value for all pods leads to a different answer from their actual values.
    pub(crate) fn find(pass: &Pass, index: usize) -> Option<Self> {
        let (mut search, borders) = Self::searched(pass, index)?;
        let proposal = pass.decision.metric(index)?.proposal();
        let asked = search.ask(proposal.map(|it| it.replicas));
        if let Some(now) = borders.now
            && search.ask_at(now).ok()? != asked
        {
            return None;
        }
        // A proposal that returns beyond the tolerance has no single border.
        let asks = search.asks();
        let is_single = |ask| asks.iter().filter(|it| it.asks == ask).count() == 1;
        Some(Self {
            fewer: borders.fewer.filter(|_| is_single(Ask::Fewer)),
            more: borders.more.filter(|_| is_single(Ask::More)),
            ..borders
        })
    }

    /// Searches for the borders as if all pods had the same value: the highest value for fewer replicas and the lowest
    /// for more.
    pub(crate) fn of_alike(pass: &Pass, index: usize) -> Option<Self> {
        Self::searched(pass, index).map(|(_, borders)| borders)
    }

    fn searched(pass: &Pass, index: usize) -> Option<(ValueSearch<'_>, Self)> {
        let snapshot = &pass.input.snapshot;
        let spec = snapshot.hpa.spec.metrics.get(index)?;
        let dial = Dial::new(snapshot, index, None).ok()?;
        let scale = UnitScale::of(spec, &dial);
        let now = pass
            .decision
            .metric(index)
            .and_then(|step| value_of(step, scale.unit));
        let mut search = ValueSearch::new(pass, dial, index);
        search.run_for_asks().ok()?;
        let asks = search.asks();
        let asking = |ask| asks.iter().filter(move |it| it.asks == ask);
        let borders = Self {
            scale,
            now,
            tolerance: search.tolerance(),
            fewer: asking(Ask::Fewer).map(|it| it.span.to).max(),
            more: asking(Ask::More).map(|it| it.span.from).min(),
        };
        Some((search, borders))
    }
}

impl UnitScale {
    fn of(spec: &MetricSpec, dial: &Dial) -> Self {
        Self {
            unit: if dial.is_percent() {
                MetricUnit::Percent
            } else if spec.is_total() {
                MetricUnit::Milli
            } else {
                MetricUnit::MilliPerPod
            },
            format: quantity(spec).map(Quantity::format).unwrap_or_default(),
            divided: spec.is_divided(),
        }
    }
}

fn changes(
    pass: &Pass,
    dial: Dial,
    step: Option<&MetricStep>,
    index: usize,
    with_curve: bool,
) -> Result<Changes, String> {
    let spec = &pass.input.snapshot.hpa.spec;
    let UnitScale { unit, .. } = UnitScale::of(&spec.metrics[index], &dial);
    let now = step.and_then(|step| value_of(step, unit));
    let mut search = ValueSearch::new(pass, dial, index);
    search.run(now)?;
    let curve = with_curve.then(|| search.curve(now)).transpose()?;
    let (min, max, end) = (spec.min(), spec.max_replicas, search.end);
    Ok(Changes {
        unit,
        now,
        up_to: end,
        tolerance: search.tolerance(),
        min: Reached {
            replicas: min,
            proposed: search.highest(&|seen| seen.proposal.is_some_and(|proposal| proposal <= min)),
            met: search.highest(&|seen| seen.replicas == min),
        },
        max: Reached {
            replicas: max,
            proposed: search.lowest(&|seen| seen.proposal.is_some_and(|proposal| proposal >= max)),
            met: search.lowest(&|seen| seen.replicas == max),
        },
        lowest: search.pass(0)?,
        highest: search.pass(end)?,
        bands: search.bands()?,
        asks: search.asks(),
        curve,
        doubts: pass.doubts(max, Some(Bounds::UNKNOWN)),
    })
}

/// Returns the target amount of a metric; `None` for a percentage.
fn quantity(spec: &MetricSpec) -> Option<&Quantity> {
    let target = spec.target()?;
    if spec.is_total() && !spec.is_divided() {
        target.value.as_ref()
    } else {
        target.average_value.as_ref().or(target.value.as_ref())
    }
}

fn proposal_of(decision: &Decision, index: usize) -> Result<&Proposal, &str> {
    match decision.metric(index).map(|step| &step.result) {
        Some(MetricResult::Proposal(proposal)) => Ok(proposal),
        Some(MetricResult::Error(error)) => Err(&error.error),
        Some(MetricResult::Unread(
            UnreadCause::Refused { message }
            | UnreadCause::PodsRefused { message }
            | UnreadCause::Unanswered { message },
        )) => Err(message),
        Some(MetricResult::Unread(UnreadCause::Missing {
            documents: Documents::Samples,
        })) => Err("the history lacks it"),
        Some(MetricResult::Unread(UnreadCause::Missing { .. })) => Err("the input lacks it"),
        None => Err("the pass ignores it"),
    }
}

/// Returns the value of a metric in the status, in the unit.
fn value_of(step: &MetricStep, unit: MetricUnit) -> Option<i64> {
    let proposal = step.proposal()?;
    let current = &proposal.current;
    let quantity = match unit {
        MetricUnit::Percent => return current.average_utilization.map(i64::from),
        MetricUnit::MilliPerPod => current.average_value.as_ref(),
        MetricUnit::Milli => proposal.total.as_ref().or(current.value.as_ref()),
    };
    quantity.map(Quantity::milli_value)
}

/// Returns the reasons why the pass does not follow a metric within the bounds.
fn holds(snapshot: &Snapshot, decision: &Decision, index: usize) -> Vec<HeldBy> {
    let mut holds = Vec::new();
    let spec = &snapshot.hpa.spec;
    if let Some(&CombineStep {
        highest,
        by: Some(by),
        accepted: true,
        ..
    }) = decision.combination()
        && by != index
    {
        let own = proposal_of(decision, index).map(|proposal| proposal.replicas);
        if own != Ok(highest) {
            holds.push(HeldBy::Metric {
                metric: spec.label(by),
                replicas: highest,
            });
        }
    }
    holds.extend(held_by(spec, &decision.trace));
    holds
}

/// Returns the reasons why steps do not follow the metrics within the bounds.
fn held_by(spec: &HpaSpec, steps: &[Step]) -> Vec<HeldBy> {
    let bounded = |replicas: i32| replicas.min(spec.max_replicas).max(spec.min());
    let holds = steps.iter().filter_map(Step::hold).filter_map(|hold| {
        let rule = match hold {
            Hold::Failed(CombineStep { invalid: 0, .. }) => HeldBy::UnreadMetrics,
            Hold::Failed(_) => HeldBy::FailedMetrics,
            Hold::Window(step) if bounded(step.desired) != bounded(step.result) => {
                HeldBy::Stabilization {
                    replicas: step.result,
                }
            }
            Hold::Limit(limit) if limit.is_rate() => HeldBy::Rate {
                replicas: limit.result,
            },
            Hold::Unwritten { .. } => HeldBy::Scale,
            _ => return None,
        };
        let disabled = hold.disabled(spec);
        Some(disabled.map_or(rule, |direction| HeldBy::Disabled { direction }))
    });
    let mut all = Vec::from_iter(holds);
    all.dedup();
    all
}
