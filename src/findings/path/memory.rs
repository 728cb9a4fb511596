//! Memory that keeps the replicas at any load.

use super::value;
use crate::engine::decision::MetricStep;
use crate::findings::requests::is_alike;
use crate::findings::targets::{More, Room, room};
use crate::findings::{About, Case, Remedy, Text};
use crate::whatif::thresholds::{Borders, Scale};
use crate::words::{count, sentence};

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

/// Returns what memory that does not fall with the load means for one replica fewer, if it alone keeps the replicas.
pub(crate) fn alike_memory<'p>(
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
pub(crate) fn is_baseline<'p>(case: &Case<'p>, metric: &'p MetricStep) -> bool {
    metric.name == "memory" && is_alike(case, metric)
}

/// Words what keeps the replicas: memory that is not shared, with the rule as evidence, or else the rule.
pub(crate) fn of_memory(about: &About<'_>, memory: Option<&AlikeMemory>, rule: Text) -> Text {
    let Some(memory) = memory else { return rule };
    let AlikeMemory {
        metric,
        scale,
        now,
        at,
        fewer,
        has_others,
        room,
    } = memory;
    let More { act, commands, .. } = room.more(about, *metric);
    let instead = if *has_others {
        "drop the metric"
    } else {
        "scale on load"
    };
    let mut evidence = vec![sentence(&format!("{}.", rule.summary))];
    evidence.extend(rule.evidence);
    Text {
        summary: format!(
            "for {}, {} must be {} or less; it is {}",
            count(*fewer, "replica"),
            about.label(*metric),
            value(scale, *at),
            value(scale, *now)
        ),
        evidence,
        advice: Remedy::LeaveRoom.says(format!(
            "Pods seldom free memory: {}, {act}, or {instead}.",
            about.for_fewer(room)
        )),
        commands,
        objects: rule.objects,
    }
}
