//! At which values of a metric the answer changes. The engine itself is asked, again and again, with
//! that metric at another value and everything else as it is; no formula tells what it would say, only
//! where it is asked first.

mod search;

use jiff::Timestamp;
use serde::Serialize;

use super::overrides::{Dial, in_container, look};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::engine::decision::{CombineStep, Decision, MetricResult, MetricStep, Proposal};
use crate::engine::hold::Hold;
use crate::error::Error;
use crate::pass::Pass;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::{Documents, Snapshot, UnreadCause};
use search::{Probe, ValueSearch};

/// What the values of one metric would change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Thresholds {
    /// What it is called to people.
    pub metric: String,
    /// Its place in the spec, counted from 0.
    pub index: usize,
    /// How amounts of it are written.
    #[serde(skip)]
    pub format: Format,
    /// Whether its target is per replica, while its value is not.
    #[serde(skip)]
    pub divided: bool,
    /// What is known of it.
    #[serde(flatten)]
    pub found: ThresholdValues,
}

/// The values, or why they are unknown.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ThresholdValues {
    /// They were found.
    Changes(Box<Changes>),
    /// No value can be put in its place, or none would change anything.
    Nothing {
        /// Why.
        error: String,
    },
}

/// The values at which something changes, in the unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    /// What the values count.
    pub unit: MetricUnit,
    /// The value in this pass, if it has one.
    pub now: Option<i64>,
    /// The highest value that was tried; none changes anything beyond that is not near the ends
    /// of all numbers.
    pub up_to: i64,
    /// The values that the metric itself takes for on target; none where no value is.
    pub tolerance: Option<Span>,
    /// From 0 on, what each value makes of the replicas.
    pub bands: Vec<Band>,
    /// From 0 on, what the metric itself asks for at each value, whatever becomes of it.
    pub asks: Vec<Asks>,
    /// The highest values with the lower bound.
    pub min: Reached,
    /// The lowest values with the upper bound.
    pub max: Reached,
    /// The pass at the value 0.
    pub lowest: RangeEnd,
    /// The pass at the highest value that was tried.
    pub highest: RangeEnd,
    /// Replicas over values, where they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub curve: Option<Curve>,
}

/// What values of a metric count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MetricUnit {
    /// Whole percents of what the pods request, as the controller compares them.
    Percent,
    /// Milli-units of each pod.
    MilliPerPod,
    /// Milli-units in all.
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

/// Values with the same effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Band {
    /// The values.
    #[serde(flatten)]
    pub span: Span,
    /// What they do.
    pub effect: Effect,
    /// Whether they do it whatever is unknown, such as what the controller remembers.
    pub certain: bool,
}

/// What becomes of the replicas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Effect {
    /// There are fewer.
    Removes,
    /// There are as many.
    Keeps,
    /// There are more.
    Adds,
}

/// Values at which the metric asks for the same kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Asks {
    /// The values.
    #[serde(flatten)]
    pub span: Span,
    /// What it asks for.
    pub asks: Ask,
}

/// A proposal compared with the replicas, before stabilization, limits and other metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Ask {
    /// The metric cannot be evaluated.
    Nothing,
    /// For fewer.
    Fewer,
    /// For as many.
    Same,
    /// For more.
    More,
}

/// Where a bound is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// The bound.
    pub replicas: i32,
    /// The value at which the metric asks for it or for what is beyond; none where it never does.
    pub proposed: Option<i64>,
    /// The value at which the pass ends there; none where it never does.
    pub met: Option<i64>,
}

/// The pass at one end of the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RangeEnd {
    /// What the metric asks for; none where it cannot be evaluated.
    pub proposal: Option<i32>,
    /// The replicas after the pass.
    pub replicas: i32,
    /// Where the pass changes nothing, the time of the pass that does, if the metric stays there; none
    /// where none does.
    #[serde(serialize_with = "crate::apimachinery::json::optional_time::serialize")]
    pub changes_at: Option<Timestamp>,
    /// What keeps the pass from following the metric within the bounds, in order.
    pub held_by: Vec<HeldBy>,
}

/// What keeps a pass from following a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "rule", rename_all = "camelCase")]
pub enum HeldBy {
    /// Another metric asks for more.
    Metric {
        /// What it is called to people.
        metric: String,
        /// What it asks for.
        replicas: i32,
    },
    /// Metrics failed, and without them nothing is removed.
    FailedMetrics,
    /// What was recommended before.
    Stabilization {
        /// What it leaves.
        replicas: i32,
    },
    /// The limit of what one pass may change.
    Rate {
        /// What it leaves.
        replicas: i32,
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
    /// The places at which anything changes; where there are very many, only some of them.
    pub steps: Vec<CurvePoint>,
}

/// From one value on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CurvePoint {
    /// The value.
    pub from: i64,
    /// What the metric asks for, whatever is above the upper bound as one more than that; none where
    /// it cannot be evaluated.
    pub proposal: Option<i32>,
    /// The replicas after the pass.
    pub replicas: i32,
}

/// Searches the thresholds of each metric; `curve` is the place of the one whose curve is wanted.
/// The list is empty where the pass does not look at metrics, whatever they say. Where the memory is
/// not certain, the answers are those with the likely one, and each band says whether that matters.
///
/// Each value that is tried takes a pass over all metrics, so that many metrics are not all searched: those after
/// the first hundred say so, except that of the curve.
pub fn thresholds(pass: &Pass, curve: Option<usize>) -> Vec<Thresholds> {
    let Pass {
        input, decision, ..
    } = pass;
    let snapshot = &input.snapshot;
    if decision.combination().is_none() {
        return Vec::new();
    }
    let metrics = snapshot.hpa.spec.metrics.iter().enumerate();
    let searched = metrics.map(|(index, spec)| {
        let dial = if index < SEARCHED || curve == Some(index) {
            Dial::new(snapshot, index, decision)
        } else {
            Err(Error::failed(format!(
                "not searched, because it is not among the first {SEARCHED} metrics: --curve shows it"
            )))
        };
        let now = |unit| value_of(decision.metric(index)?, unit);
        Thresholds::of(snapshot.hpa.spec.label(index), spec, index, dial, |dial| {
            changes(pass, dial, now, index, curve == Some(index))
        })
    });
    searched.collect()
}

/// As many metrics as are searched, so that the time grows with the number of metrics and not with its square.
pub(crate) const SEARCHED: usize = 100;

/// Searches the thresholds of the usage of a container, with their curve, if the HPA only looks at whole
/// pods: at the metric at this place. None where the pass does not look at metrics.
pub fn of_container(pass: &Pass, whole: usize, container: &str) -> Option<Thresholds> {
    let Pass {
        input, decision, ..
    } = pass;
    let snapshot = &input.snapshot;
    decision.metric(whole)?;
    let metrics = &snapshot.hpa.spec.metrics;
    let spec = metrics.get(whole)?;
    let dial = Dial::of_container(snapshot, whole, container, decision);
    let label = spec.of_container(container).label(metrics);
    Some(Thresholds::of(label, spec, whole, dial, |dial| {
        changes(
            pass,
            dial,
            |unit| container_value(snapshot, whole, container, unit),
            whole,
            true,
        )
    }))
}

/// The value of a container, under the metric of whole pods at a place.
fn container_value(
    snapshot: &Snapshot,
    whole: usize,
    container: &str,
    unit: MetricUnit,
) -> Option<i64> {
    in_container(&mut snapshot.clone(), whole, container, |own, place| {
        value_of(look(own).metric(place)?, unit)
    })
}

impl Thresholds {
    fn of<'s>(
        metric: String,
        spec: &MetricSpec,
        index: usize,
        dial: Result<Dial<'s>, Error>,
        changes: impl FnOnce(Dial<'s>) -> Result<Changes, String>,
    ) -> Self {
        let changes = dial.map_err(|e| e.message).and_then(changes);
        Self {
            metric,
            index,
            format: quantity(spec).map(Quantity::format).unwrap_or_default(),
            divided: spec.is_divided(),
            found: match changes {
                Ok(changes) => ThresholdValues::Changes(Box::new(changes)),
                Err(error) => ThresholdValues::Nothing { error },
            },
        }
    }
}

/// Where the proposal of one metric changes, everything else as it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Borders {
    /// How the values are counted.
    pub scale: UnitScale,
    /// The value in this pass, if it has one.
    pub now: Option<i64>,
    /// The values that the metric itself takes for on target.
    pub tolerance: Option<Span>,
    /// The highest value at which it proposes fewer replicas than there are, if it does so at all lower ones.
    pub fewer: Option<i64>,
    /// The lowest value at which it proposes more, if it does so at all higher ones.
    pub more: Option<i64>,
}

/// How the values of a metric are counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UnitScale {
    /// What they count.
    pub unit: MetricUnit,
    /// How amounts are written.
    pub format: Format,
    /// Whether the target is per replica, while the value is not.
    pub divided: bool,
}

impl Borders {
    /// Searches them for the metric at a place in the spec; none where no value can be put in its place, or where one
    /// value for all pods leads to another answer than the values that they have.
    pub(crate) fn find(pass: &Pass, index: usize) -> Option<Self> {
        let (mut search, borders) = Self::searched(pass, index)?;
        let asked = pass
            .decision
            .metric(index)?
            .proposal()
            .map(|it| it.replicas.cmp(&search.current()));
        if let Some(now) = borders.now
            && search.asks_at(now).ok()? != asked
        {
            return None;
        }
        // What comes back beyond the tolerance has no one border.
        let asks = search.asks();
        let is_single = |ask| asks.iter().filter(|it| it.asks == ask).count() == 1;
        Some(Self {
            fewer: borders.fewer.filter(|_| is_single(Ask::Fewer)),
            more: borders.more.filter(|_| is_single(Ask::More)),
            ..borders
        })
    }

    /// Searches them as if all pods had the same value: the highest one for fewer replicas and the lowest for more.
    pub(crate) fn of_alike(pass: &Pass, index: usize) -> Option<Self> {
        Self::searched(pass, index).map(|(_, borders)| borders)
    }

    fn searched(pass: &Pass, index: usize) -> Option<(ValueSearch<'_>, Self)> {
        let Pass {
            input,
            remembered,
            decision,
            ..
        } = pass;
        let snapshot = &input.snapshot;
        let spec = snapshot.hpa.spec.metrics.get(index)?;
        let dial = Dial::new(snapshot, index, decision).ok()?;
        let scale = UnitScale::of(spec, &dial);
        let now = decision
            .metric(index)
            .and_then(|step| value_of(step, scale.unit));
        let mut search = ValueSearch::new(snapshot, remembered, dial, index);
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
    fn of(spec: &MetricSpec, dial: &Dial<'_>) -> Self {
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
    dial: Dial<'_>,
    now: impl FnOnce(MetricUnit) -> Option<i64>,
    index: usize,
    with_curve: bool,
) -> Result<Changes, String> {
    let Pass {
        input, remembered, ..
    } = pass;
    let snapshot = &input.snapshot;
    let UnitScale { unit, .. } = UnitScale::of(&snapshot.hpa.spec.metrics[index], &dial);
    let now = now(unit);
    let mut search = ValueSearch::new(snapshot, remembered, dial, index);
    search.run(now)?;
    let curve = with_curve.then(|| search.curve(now)).transpose()?;
    let (min, max) = search.bounds();
    let lowest = |holds: &dyn Fn(&Probe) -> bool| search.lowest(holds);
    let highest = |holds: &dyn Fn(&Probe) -> bool| search.highest(holds);
    Ok(Changes {
        unit,
        now,
        up_to: search.end(),
        tolerance: search.tolerance(),
        min: Reached {
            replicas: min,
            proposed: highest(&|seen| seen.proposal.is_some_and(|proposal| proposal <= min)),
            met: highest(&|seen| seen.replicas == min),
        },
        max: Reached {
            replicas: max,
            proposed: lowest(&|seen| seen.proposal.is_some_and(|proposal| proposal >= max)),
            met: lowest(&|seen| seen.replicas == max),
        },
        lowest: search.pass(0)?,
        highest: search.pass(search.end())?,
        bands: search.bands()?,
        asks: search.asks(),
        curve,
    })
}

/// The amount that a metric is compared with; none for a percentage.
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
        Some(MetricResult::Unread(UnreadCause::Refused { message })) => Err(message),
        Some(MetricResult::Unread(UnreadCause::Missing {
            documents: Documents::Samples,
        })) => Err("the history lacks it"),
        Some(MetricResult::Unread(UnreadCause::Missing { .. })) => Err("the input lacks it"),
        None => Err("the pass ignores it"),
    }
}

/// What the status says of a metric, in the unit.
fn value_of(step: &MetricStep, unit: MetricUnit) -> Option<i64> {
    let MetricResult::Proposal(proposal) = &step.result else {
        return None;
    };
    let current = &proposal.current;
    let quantity = match unit {
        MetricUnit::Percent => return current.average_utilization.map(i64::from),
        MetricUnit::MilliPerPod => current.average_value.as_ref(),
        MetricUnit::Milli => proposal.total.as_ref().or(current.value.as_ref()),
    };
    quantity.map(Quantity::milli_value)
}

/// What keeps the pass from following a metric within the bounds.
fn holds(snapshot: &Snapshot, decision: &Decision, index: usize) -> Vec<HeldBy> {
    let mut holds = Vec::new();
    let spec = &snapshot.hpa.spec;
    let (min, max) = (spec.min_replicas.unwrap_or(1), spec.max_replicas);
    let bounded = |replicas: i32| replicas.min(max).max(min);
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
    holds.extend(decision.holds().filter_map(|hold| match hold {
        Hold::Failed(_) => Some(HeldBy::FailedMetrics),
        Hold::Window(step) if bounded(step.desired) != bounded(step.result) => {
            Some(HeldBy::Stabilization {
                replicas: step.result,
            })
        }
        Hold::Limit(limit) if limit.is_rate() => Some(HeldBy::Rate {
            replicas: limit.result,
        }),
        Hold::Unwritten { .. } => Some(HeldBy::Scale),
        _ => None,
    }));
    holds
}
