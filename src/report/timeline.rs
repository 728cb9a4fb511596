//! The passes that follow: a line for each change, the time when the replicas settle, and a chart; also as
//! data, pass by pass.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::chart::{Chart, ChartSeries, MOST_ROWS, Shape};
use super::clock::{TimeDisplay, millis};
use super::page::verdict::{corrected, limited};
use super::section::{Detail, Part, Section, Table};
use super::totals::{self, TotalsView};
use super::{Certainty, Range};
use crate::apimachinery::json::SecondsTime;
use crate::engine::decision::Step;
use crate::engine::hold::Hold;
use crate::pass::{Doubts, Pass};
use crate::snapshot::memory::Recommendation;
use crate::whatif::timeline::{
    LastValue, PENDING, PassChange, PodLack, Stays, Timeline, Tolerated, Totals,
};
use crate::words::{count, distance, duration, first_few, list, time};

/// A timeline, with its first pass.
#[derive(Debug)]
pub struct Played<'a> {
    pub(super) timeline: &'a Timeline,
    pass: &'a Pass,
    doubts: Doubts,
}

impl<'a> Played<'a> {
    pub(super) fn new(timeline: &'a Timeline, pass: &'a Pass) -> Self {
        let Totals { highest, asked, .. } = &timeline.totals;
        Self {
            timeline,
            pass,
            doubts: pass.doubts(highest.replicas, *asked),
        }
    }

    /// The bounds of the spec, with their names.
    pub(super) fn bounds(&self) -> [(i32, String); 2] {
        let spec = &self.pass.input.snapshot.hpa.spec;
        [(spec.min(), "min"), (spec.max_replicas, "max")]
            .map(|(count, name)| (count, name.to_owned()))
    }

    /// Returns the label of the metric that decided.
    fn metric(&self, change: &PassChange) -> Option<String> {
        let metrics = &self.pass.input.snapshot.hpa.spec.metrics;
        Some(metrics.get(change.by?)?.label(metrics))
    }

    /// Whether another course is possible.
    pub(super) fn certainty(&self) -> Certainty {
        if self.doubts.any() {
            Certainty::Bounded
        } else {
            Certainty::Certain
        }
    }

    /// Returns what is uncertain, and the possible replicas after the first pass, as text.
    pub(super) fn doubt(&self) -> Option<String> {
        let Doubts {
            metrics,
            history,
            time,
        } = self.doubts;
        let unknown: Vec<String> = [
            (metrics, "metrics that could not be read"),
            (history, "the controller's history"),
            (time, "the time"),
        ]
        .into_iter()
        .filter(|(is_open, _)| *is_open)
        .map(|(_, what)| what.to_owned())
        .collect();
        let first = match self.pass.outlook.range(&self.pass.decision) {
            Some(Range { min, max }) if min != max => {
                format!("the first pass may end anywhere from {min} to {max}")
            }
            _ => "the first pass does not depend on it".to_owned(),
        };
        (!unknown.is_empty()).then(|| format!("depends on {}; {first}", list(&unknown)))
    }

    /// Returns a row for each change (only the first of many unless `wide`), its end, the totals, and a chart.
    pub(super) fn section(&self, wide: bool) -> Option<Section> {
        let Timeline {
            start,
            span,
            passes,
            totals,
            ..
        } = self.timeline;
        let title = format!(
            "OVER TIME: {} PASS{} IN {}, ONE EVERY {}",
            passes.len(),
            if passes.len() == 1 { "" } else { "ES" },
            duration(*span),
            duration(totals.period)
        );
        let when = |time: Timestamp| duration(time.duration_since(*start));
        let [changes, more] = self.changes(("AFTER", true), when, wide);
        let end = self.end().into_iter().chain([totals::sentence(totals)]);
        let body = [
            changes,
            more,
            Part::Text(end.collect()),
            Part::Chart(self.chart().into()),
        ];
        Section::new(title, Detail::Always, body)
    }

    /// Returns a row for each change, and how many are left out: only the first of many are shown unless `wide`.
    pub(super) fn changes(
        &self,
        time: (&'static str, bool),
        when: impl Fn(Timestamp) -> String,
        wide: bool,
    ) -> [Part; 2] {
        let changes = &self.timeline.changes;
        let shown = if wide { changes.len() } else { SHOWN };
        let cells = changes.iter().take(shown).map(|change| {
            let PassChange { time, from, to, .. } = change;
            vec![when(*time), format!("{from} → {to}"), self.because(change)]
        });
        let rows = Vec::from_iter(cells);
        let hidden = changes.len() - rows.len();
        let more = (hidden > 0).then(|| format!("and {hidden} more (-o wide shows all)"));
        let table = Table::new([time, ("REPLICAS", false), ("BECAUSE", false)], rows);
        [Part::Records(table), Part::Text(Vec::from_iter(more))]
    }

    /// Describes why a pass changed the replicas as it did.
    pub(super) fn because(&self, change: &PassChange) -> String {
        let asked = match (change.proposal, self.metric(change)) {
            (None, _) => String::new(),
            (Some(proposal), Some(metric)) => {
                let value = change
                    .value
                    .as_ref()
                    .map_or_else(String::new, |value| format!(" at {}", value.plain()));
                match change.tolerated {
                    Some(Tolerated::Measured) => format!("{metric}{value} is within tolerance"),
                    Some(Tolerated::Filled) => format!(
                        "{metric}{value} is within tolerance with the values assumed for unready \
                         pods and those without metrics"
                    ),
                    None => format!("{metric} proposes {proposal}"),
                }
            }
            (Some(proposal), None) => format!("the metrics propose {proposal}"),
        };
        let limits = change
            .limits
            .iter()
            .filter_map(|step| Self::limit(step, change));
        let parts = std::iter::once(asked).chain(limits);
        parts
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    fn limit(step: &Step, change: &PassChange) -> Option<String> {
        Some(match step.hold()? {
            Hold::Corrected(beyond, bound) => corrected(beyond, bound, change.from),
            Hold::Window(stabilized) => match stabilized.held_by {
                Some(Recommendation { replicas, time }) => format!(
                    "the recommendation of {replicas} from {} earlier still holds",
                    distance(time, change.time)
                ),
                None => "stabilization limits the change".to_owned(),
            },
            Hold::Limit(limit) => limited(limit, change.from),
            Hold::Woken(min) => format!("it starts at minReplicas ({min})"),
            _ => return None,
        })
    }

    /// Describes the end of the run.
    fn end(&self) -> Vec<String> {
        let Timeline {
            start,
            span,
            passes,
            changes,
            totals,
            swing,
            ..
        } = self.timeline;
        let last = passes.last().map_or(0, |point| point.replicas);
        let since = self.timeline.steady_since();
        let whole = duration(*span);
        let unknown = if totals.ends_answered {
            ""
        } else {
            ": the last pass lacks metric values"
        };
        let end = match (swing, changes.is_empty()) {
            (Some((low, high)), _) => {
                format!("It does not settle: it oscillates between {low} and {high}.")
            }
            (None, true) if totals.is_settled => format!("It stays at {last} throughout."),
            (None, true) => {
                format!("It stays at {last} for {whole}, but may not have settled{unknown}.")
            }
            (None, false) if totals.is_settled => format!(
                "It settles at {last}, at {} (after {}).",
                time(*start, since),
                duration(since.duration_since(*start))
            ),
            (None, false) if !totals.ends_answered => {
                format!("It ends at {last}, but may not have settled{unknown}.")
            }
            (None, false) => {
                format!("It has not settled after {whole}: it ends at {last}.")
            }
        };
        let open = self
            .doubt()
            .map(|doubt| format!("Not certain: the course {doubt}. This is the most likely one."));
        let off = passes.last().filter(|point| point.is_off).map(|_| {
            "At 0 the HPA is off, whatever the load, until something else sets 1 or more."
                .to_owned()
        });
        std::iter::once(end).chain(off).chain(open).collect()
    }

    /// Returns the replicas from the pass before the first on.
    pub(super) fn replicas(&self, name: &str) -> ChartSeries {
        let Timeline {
            start,
            passes,
            changes,
            ..
        } = self.timeline;
        let before = changes.first().filter(|change| change.time == *start);
        let first = before.map_or_else(|| passes.first().map(|p| p.replicas), |c| Some(c.from));
        let counts = std::iter::once(first).chain(passes.iter().map(|p| Some(p.replicas)));
        self.series(name, -1, counts)
    }

    /// Returns the counts at the passes where they change; the first has a given place.
    pub(super) fn series(
        &self,
        name: &str,
        first: i32,
        counts: impl Iterator<Item = Option<i32>>,
    ) -> ChartSeries {
        let at = |place: i32| millis(self.timeline.totals.period.saturating_mul(place));
        let mut steps: Vec<_> = (first..)
            .zip(counts)
            .map(|(i, count)| (at(i), count))
            .collect();
        steps.dedup_by(|later, kept| later.1 == kept.1);
        ChartSeries {
            name: name.to_owned(),
            steps,
            shape: Shape::Steps,
        }
    }

    /// Returns the stretches up to a place in which no pass has an answer by all metrics, in milliseconds.
    pub(super) fn gaps(&self, end: i64) -> Vec<(i64, i64)> {
        let period = millis(self.timeline.totals.period);
        let mut gaps: Vec<(i64, i64)> = Vec::new();
        let passes = (0_i64..)
            .map(|place| place * period)
            .zip(&self.timeline.passes);
        for (from, _) in passes.filter(|(from, pass)| *from < end && !pass.is_answered) {
            match gaps.last_mut().filter(|last| last.1 == from) {
                Some(last) => last.1 += period,
                None => gaps.push((from, from + period)),
            }
        }
        gaps
    }

    /// Charts replicas over time.
    pub fn chart(&self) -> Chart {
        let Timeline {
            start,
            span,
            passes,
            totals,
            ..
        } = self.timeline;
        let replicas = self.replicas("replicas");
        let highest = replicas
            .steps
            .iter()
            .filter_map(|(_, count)| *count)
            .max()
            .unwrap_or(0);
        let bounds = self.bounds().into_iter();
        let last = totals.length(passes.len().saturating_sub(1));
        let clock = TimeDisplay::Since(*start);
        Chart {
            title: format!("replicas in {}", duration(*span)),
            description: self.end().join(" "),
            across: clock.across(),
            span: (-millis(totals.period), millis(last.max(*span))),
            ticks: clock.ticks(*span),
            replicas: (0, highest),
            series: vec![
                replicas,
                self.series("proposed", 0, passes.iter().map(|p| p.proposal)),
            ],
            bounds: bounds.filter(|(count, _)| *count <= highest).collect(),
            current: None,
            events: Vec::new(),
            gaps: Vec::new(),
            most_rows: MOST_ROWS,
        }
    }

    /// Describes the assumptions about later passes, each with its subject.
    pub(super) fn assumed(&self) -> Vec<(String, String)> {
        let times = self.timeline.times;
        let load = match &self.timeline.trace {
            Some(trace) => {
                let stays = if trace.after > self.timeline.span || trace.last.is_empty() {
                    String::new()
                } else {
                    let (after, last) = (duration(trace.after), last_values(&trace.last));
                    format!(", which ends after {after} with {last}")
                };
                format!("as in the trace{stays}; other metrics stay constant")
            }
            None => {
                "the total usage of the pods and all other metrics stay constant (--trace changes \
                 this)"
                    .to_owned()
            }
        };
        let mut assumed = vec![(
            "load".to_owned(),
            format!("{load}; the ready pods share the load evenly"),
        )];
        if !self.timeline.lacks_pods {
            let also = if self.timeline.is_short {
                "; the target is assumed to create those that it lacks now"
            } else {
                ""
            };
            let text = format!(
                "like the existing ones: pending for {}, ready after {}, with metrics after {} \
                 (--ready-after, --metrics-after){also}",
                duration(PENDING.min(times.ready)),
                duration(times.ready),
                duration(times.measured)
            );
            assumed.push(("new pods".to_owned(), text));
        }
        let (starting, ready) = (self.timeline.starting, duration(times.ready));
        if starting > 0 {
            let become_ready = if starting == 1 {
                "becomes ready"
            } else {
                "become ready"
            };
            let text = format!(
                "{} {become_ready} {ready} after creation, or {ready} from now if that has passed \
                 (--ready-after)",
                count(starting, "pod")
            );
            assumed.push(("starting pods".to_owned(), text));
        }
        let stays = self.stays();
        if !stays.is_empty() {
            assumed.push(("other pods".to_owned(), stays));
        }
        assumed
    }

    /// Describes which pods are assumed to stay as they are, and why.
    fn stays(&self) -> String {
        let mut by_lack: BTreeMap<PodLack, Vec<&str>> = BTreeMap::new();
        for Stays { pod, lacks } in &self.timeline.stays {
            by_lack.entry(*lacks).or_default().push(pod);
        }
        let parts = by_lack.into_iter().map(|(lack, pods)| {
            let (stay, they_are) = match pods.len() {
                1 => ("stays", "it is"),
                _ => ("stay", "they are"),
            };
            let how = match lack {
                PodLack::Failed => "failed".to_owned(),
                PodLack::Unschedulable => "unschedulable".to_owned(),
                PodLack::Metrics => "without metrics".to_owned(),
                PodLack::Readiness => format!(
                    "unready: {they_are} not within the CPU initialization period of {}",
                    duration(
                        self.pass
                            .input
                            .snapshot
                            .controller
                            .cpu_initialization_period
                    )
                ),
            };
            format!("{} {stay} {how}", first_few(&pods, NAMED))
        });
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// The number of pods with the same problem that are named.
const NAMED: usize = 5;

/// The number of changes that can be read at a glance.
const SHOWN: usize = 20;

impl Serialize for Played<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = self.timeline;
        let seconds = |duration: SignedDuration| duration.as_secs_f64();
        let at = |time: Timestamp| SecondsTime(time).to_string();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start", &at(own.start))?;
        map.serialize_entry("syncPeriod", &seconds(own.totals.period))?;
        map.serialize_entry("for", &seconds(own.span))?;
        let trace = own.trace.as_ref().map(|it| TimelineTraceView {
            ends_after: seconds(it.after),
            last: &it.last,
        });
        map.serialize_entry("load", if trace.is_some() { "trace" } else { "held" })?;
        map.serialize_entry("trace", &trace)?;
        map.serialize_entry("readyAfter", &seconds(own.times.ready))?;
        map.serialize_entry("metricsAfter", &seconds(own.times.measured))?;
        map.serialize_entry("startingPods", &own.starting)?;
        map.serialize_entry("stays", &own.stays)?;
        map.serialize_entry("certainty", &self.certainty())?;
        map.serialize_entry("changes", &self.change_views())?;
        let settled = own.totals.is_settled.then(|| at(own.steady_since()));
        map.serialize_entry("settledAt", &settled)?;
        map.serialize_entry("swing", &own.swing.map(|(min, max)| Range { min, max }))?;
        map.serialize_entry("final", &own.passes.last().map(|point| point.replicas))?;
        map.serialize_entry("passes", &own.passes.len())?;
        map.serialize_entry("totals", &TotalsView::from(&own.totals))?;
        let passes = self.passes();
        map.serialize_entry("replicas", &passes.replicas)?;
        map.serialize_entry("proposals", &passes.proposals)?;
        map.serialize_entry("readyPods", &passes.ready_pods)?;
        map.end()
    }
}

impl Played<'_> {
    /// Returns how a pass changed the replicas, as data.
    pub(super) fn view(&self, change: &PassChange) -> ChangeView {
        ChangeView {
            time: SecondsTime(change.time).to_string(),
            from: change.from,
            to: change.to,
            proposal: change.proposal,
            metric: self.metric(change),
            limits: change.limits.iter().filter_map(LimitView::of).collect(),
        }
    }

    /// Returns the passes that changed the replicas, as data.
    pub(super) fn change_views(&self) -> Vec<ChangeView> {
        self.timeline
            .changes
            .iter()
            .map(|change| self.view(change))
            .collect()
    }

    /// Returns every pass, as data.
    pub(super) fn passes(&self) -> PassesView {
        let passes = &self.timeline.passes;
        PassesView {
            replicas: passes.iter().map(|pass| pass.replicas).collect(),
            proposals: passes.iter().map(|pass| pass.proposal).collect(),
            ready_pods: passes.iter().map(|pass| pass.ready).collect(),
        }
    }
}

/// Describes the values with which a trace ends.
fn last_values(last: &[LastValue]) -> String {
    let words = last.iter().map(|last| {
        if last.is_missing {
            format!("{} without a value", last.metric)
        } else {
            format!("{} at {}", last.metric, last.value)
        }
    });
    list(&Vec::from_iter(words))
}

/// Every pass, column by column.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PassesView {
    replicas: Vec<i32>,
    proposals: Vec<Option<i32>>,
    ready_pods: Vec<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TimelineTraceView<'a> {
    ends_after: f64,
    last: &'a [LastValue],
}

#[derive(Debug, Serialize)]
pub(super) struct ChangeView {
    time: String,
    from: i32,
    to: i32,
    proposal: Option<i32>,
    metric: Option<String>,
    limits: Vec<LimitView>,
}

#[derive(Debug, Serialize)]
struct LimitView {
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    recommendation: Option<Recommendation>,
}

impl LimitView {
    fn of(step: &Step) -> Option<Self> {
        let (by, recommendation) = match step.hold()? {
            Hold::Corrected(..) => ("outOfBounds", None),
            Hold::Window(stabilized) => ("stabilization", stabilized.held_by),
            Hold::Limit(limit) => (limit.reason, None),
            Hold::Woken(_) => ("wokenFromZero", None),
            _ => return None,
        };
        Some(Self { by, recommendation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::decision::{Direction, LimitStep, RateLimit};

    #[test]
    fn a_trace_ends_with_values_or_without() {
        let last =
            [("cpu", "0", false), ("queue", "missing", true)].map(|(metric, value, is_missing)| {
                LastValue {
                    metric: metric.to_owned(),
                    value: value.to_owned(),
                    is_missing,
                }
            });
        assert_eq!(last_values(&last), "cpu at 0 and queue without a value");
    }

    #[test]
    fn a_rate_limit_is_told_in_its_direction() {
        for (reason, direction, select, result, expected) in [
            (
                "ScaleUpLimit",
                Direction::Up,
                "Max",
                9,
                "the policies currently allow at most 9",
            ),
            (
                "ScaleDownLimit",
                Direction::Down,
                "Max",
                7,
                "the policies currently allow no fewer than 7",
            ),
            (
                "ScaleDownLimit",
                Direction::Down,
                "Disabled",
                8,
                "behavior disables scaling down",
            ),
        ] {
            let step = Step::Limit(LimitStep {
                desired: if direction == Direction::Up { 20 } else { 1 },
                result,
                rate: Some(RateLimit {
                    direction,
                    replicas: result,
                    select_policy: Some(select.to_owned()),
                    policies: Vec::new(),
                }),
                min: 1,
                max: 30,
                reason,
            });
            let change = PassChange {
                time: Timestamp::UNIX_EPOCH,
                from: 8,
                to: result,
                proposal: None,
                by: None,
                value: None,
                tolerated: None,
                limits: Vec::new(),
            };
            assert_eq!(Played::limit(&step, &change).as_deref(), Some(expected));
        }
    }
}
