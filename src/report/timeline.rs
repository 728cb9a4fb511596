//! What follows on a pass as time goes on: a line for each change, when it settles, and a chart. The
//! same as data, pass by pass.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::chart::{Chart, Series};
use super::page::Symbols;
use super::section::{Detail, Part, Section, Table};
use super::words::{count, distance, duration, list, time};
use super::{Certainty, Explanation, Range};
use crate::apimachinery::json::SecondsTime;
use crate::snapshot::MetricAnswer;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::memory::Recommendation;
use crate::whatif::timeline::{Change, Lack, LastValue, Limited, PENDING, Stays, Timeline};

/// A timeline with the explanation of its first pass.
#[derive(Debug)]
pub struct Played<'a> {
    timeline: &'a Timeline,
    certainty: Certainty,
    /// What each metric of the spec is called.
    metrics: Vec<String>,
    bounds: (i32, i32),
    /// The controller's `--horizontal-pod-autoscaler-cpu-initialization-period`.
    initialization: SignedDuration,
}

impl<'a> Played<'a> {
    pub(crate) fn new(timeline: &'a Timeline, explanation: &Explanation<'_>) -> Self {
        let spec = &explanation.pass.input.snapshot.hpa.spec;
        let unread = explanation.pass.input.snapshot.metrics.iter().any(MetricAnswer::is_unread);
        let is_open = explanation.pass.remembered.is_open() || unread;
        Self {
            timeline,
            certainty: if is_open { Certainty::Bounded } else { Certainty::Certain },
            metrics: spec.metrics.iter().map(MetricSpec::label).collect(),
            bounds: (spec.min_replicas.unwrap_or(1), spec.max_replicas),
            initialization: explanation.pass.input.snapshot.controller.cpu_initialization_period,
        }
    }

    /// A row for each change, how it ends, and a chart.
    pub(super) fn section(&self, symbols: Symbols) -> Section {
        let Timeline { start, period, span, passes, changes, .. } = self.timeline;
        let row = |change: &Change| {
            let Change { time, from, to, .. } = change;
            vec![
                duration(time.duration_since(*start)),
                format!("{from} {} {to}", symbols.arrow),
                self.because(change),
            ]
        };
        let title = format!(
            "OVER TIME: {} PASS{} IN {}, ONE EVERY {}",
            passes.len(),
            if passes.len() == 1 { "" } else { "ES" },
            duration(*span),
            duration(*period)
        );
        let changes = Table {
            columns: vec![("AFTER", true), ("REPLICAS", false), ("BECAUSE", false)],
            rows: changes.iter().map(row).collect(),
        };
        let body = [Part::Records(changes), Part::Text(self.end()), Part::Chart(self.chart())];
        Section::new(title, Detail::Always, body)
    }

    /// Why a pass changed the replicas.
    fn because(&self, change: &Change) -> String {
        let asked = match (change.proposal, change.by.and_then(|by| self.metrics.get(by))) {
            (None, _) => String::new(),
            (Some(proposal), Some(metric)) => format!("{metric} proposes {proposal}"),
            (Some(proposal), None) => format!("the metrics propose {proposal}"),
        };
        let limits = change.limits.iter().map(|limited| self.limit(*limited, change));
        let parts = std::iter::once(asked).chain(limits);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    fn limit(&self, limited: Limited, change: &Change) -> String {
        let (min, max) = self.bounds;
        let to = change.to;
        match limited {
            Limited::OutOfBounds if change.from > max => {
                format!("{} is above maxReplicas ({max})", change.from)
            }
            Limited::OutOfBounds => format!("{} is below minReplicas ({min})", change.from),
            Limited::Stabilized(Some(Recommendation { replicas, time })) => {
                format!(
                    "the recommendation of {replicas} from {} earlier still holds",
                    distance(time, change.time)
                )
            }
            Limited::Stabilized(None) => "stabilization limits the change".to_owned(),
            Limited::Limit("TooManyReplicas") => format!("the maximum is {max}"),
            Limited::Limit("TooFewReplicas") => format!("the minimum is {min}"),
            Limited::Limit(_) => format!("one pass may go to at most {to}"),
            Limited::Woken => format!("it starts at minReplicas ({min})"),
        }
    }

    /// How it ends.
    fn end(&self) -> Vec<String> {
        let Timeline { start, span, passes, changes, swing, is_settled, .. } = self.timeline;
        let last = passes.last().map_or(0, |point| point.replicas);
        let since = self.timeline.steady_since();
        let whole = duration(*span);
        let end = match (swing, changes.is_empty()) {
            (Some((low, high)), _) => {
                format!("It does not settle: it oscillates between {low} and {high}.")
            }
            (None, true) if *is_settled => format!("It stays at {last} throughout."),
            (None, true) => {
                format!("It stays at {last} for {whole}, but may not have settled.")
            }
            (None, false) if *is_settled => format!(
                "It settles at {last}, at {} (after {}).",
                time(*start, since),
                duration(since.duration_since(*start))
            ),
            (None, false) => {
                format!("It has not settled after {whole}: it ends at {last}.")
            }
        };
        let open = match self.certainty {
            Certainty::Certain => None,
            Certainty::Bounded => Some(
                "Not certain: the controller's history, or what it may read, is uncertain. This is \
                 the most likely course."
                    .to_owned(),
            ),
        };
        std::iter::once(end).chain(open).collect()
    }

    /// Replicas over time.
    pub fn chart(&self) -> Chart {
        let Timeline { start, period, span, passes, changes, .. } = self.timeline;
        let at = |place: usize| millis(period.saturating_mul(place as i32));
        let before = changes.first().filter(|change| change.time == *start);
        let first = before.map_or_else(|| passes.first().map(|p| p.replicas), |c| Some(c.from));
        let series = |name: &str, counts: Vec<(i64, Option<i32>)>| {
            let mut steps = counts;
            steps.dedup_by(|later, kept| later.1 == kept.1);
            Series { name: name.to_owned(), steps }
        };
        let replicas = passes.iter().enumerate().map(|(i, p)| (at(i), Some(p.replicas)));
        let replicas = std::iter::once((-at(1), first)).chain(replicas).collect();
        let proposed = passes.iter().enumerate().map(|(i, p)| (at(i), p.proposal)).collect();
        let highest = passes.iter().map(|p| p.replicas).chain(first).max().unwrap_or(0);
        let (min, max) = self.bounds;
        let bounds = [(min, "min"), (max, "max")].into_iter();
        let bounds = bounds.filter(|(count, _)| *count <= highest);
        let (ticks, last) = (ticks(*span), at(passes.len().saturating_sub(1)));
        Chart {
            title: format!("replicas in {}", duration(*span)),
            description: self.end().join(" "),
            across: format!("time since {}", SecondsTime(*start)),
            span: (-at(1), last.max(millis(*span))),
            ticks: ticks.map(|tick| (millis(tick), duration(tick))).collect(),
            replicas: (0, highest),
            series: vec![series("replicas", replicas), series("proposed", proposed)],
            bounds: bounds.map(|(count, name)| (count, name.to_owned())).collect(),
            current: None,
        }
    }

    /// What is assumed of what follows, each with what it is about.
    pub(super) fn assumed(&self) -> Vec<(String, String)> {
        let times = self.timeline.times;
        let load = match &self.timeline.trace {
            Some(trace) => {
                let last = trace.last.iter().map(|LastValue { metric, value, is_missing }| {
                    let value = if *is_missing { "no value" } else { value };
                    format!("{metric} at {value}")
                });
                let last = list(&last.collect::<Vec<_>>());
                let stays = match trace.after > self.timeline.span || last.is_empty() {
                    true => String::new(),
                    false => format!(", which ends after {} with {last}", duration(trace.after)),
                };
                format!("as in the trace{stays}; other metrics stay constant")
            }
            None => {
                "the total usage of the pods and all other metrics stay constant (--trace changes \
                 this)"
                    .to_owned()
            }
        };
        let mut assumed = vec![
            ("load".to_owned(), format!("{load}; the ready pods share the load evenly")),
            (
                "new pods".to_owned(),
                format!(
                    "like the existing ones: pending for {}, ready after {}, with metrics after {} \
                     (--ready-after, --metrics-after)",
                    duration(PENDING.min(times.ready)),
                    duration(times.ready),
                    duration(times.measured)
                ),
            ),
        ];
        let (starting, ready) = (self.timeline.starting, duration(times.ready));
        if starting > 0 {
            let become_ready = if starting == 1 { "becomes ready" } else { "become ready" };
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

    /// Which pods are assumed to stay as they are, and why.
    fn stays(&self) -> String {
        let mut by_lack: BTreeMap<Lack, Vec<&str>> = BTreeMap::new();
        for Stays { pod, lacks } in &self.timeline.stays {
            by_lack.entry(*lacks).or_default().push(pod);
        }
        let parts = by_lack.into_iter().map(|(lack, pods)| {
            let (stay, they_are) = match pods.len() {
                1 => ("stays", "it is"),
                _ => ("stay", "they are"),
            };
            let how = match lack {
                Lack::Failed => "failed".to_owned(),
                Lack::Unschedulable => "unschedulable".to_owned(),
                Lack::Metrics => "without metrics".to_owned(),
                Lack::Readiness => format!(
                    "unready: {they_are} not within the CPU initialization period of {}",
                    duration(self.initialization)
                ),
            };
            let named = pods.iter().take(NAMED).map(|pod| (*pod).to_owned());
            let further = pods.len().checked_sub(NAMED).filter(|further| *further > 0);
            let names: Vec<_> = named.chain(further.map(|n| format!("{n} more"))).collect();
            format!("{} {stay} {how}", list(&names))
        });
        parts.collect::<Vec<_>>().join("; ")
    }
}

/// How many pods with the same lack are named.
const NAMED: usize = 5;

fn millis(duration: SignedDuration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Times that people count in, of which at most eight are in a span.
fn ticks(span: SignedDuration) -> impl Iterator<Item = SignedDuration> {
    const APART: [i64; 17] =
        [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];
    let most = span.as_secs() / 7;
    let apart = APART.into_iter().find(|apart| *apart >= most);
    let apart = apart.unwrap_or_else(|| (most / 86_400 + 1) * 86_400);
    (0..=span.as_secs() / apart).map(move |n| SignedDuration::from_secs(n * apart))
}

impl Serialize for Played<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Timeline { start, period, span, trace, times, .. } = self.timeline;
        let Timeline { starting, stays, passes, changes, is_settled, swing, .. } = self.timeline;
        let seconds = |duration: &SignedDuration| duration.as_secs_f64();
        let at = |time: Timestamp| SecondsTime(time).to_string();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("start", &at(*start))?;
        map.serialize_entry("syncPeriod", &seconds(period))?;
        map.serialize_entry("for", &seconds(span))?;
        map.serialize_entry("load", if trace.is_some() { "trace" } else { "held" })?;
        let trace = trace.as_ref();
        let trace = trace.map(|it| TraceView { ends_after: seconds(&it.after), last: &it.last });
        map.serialize_entry("trace", &trace)?;
        map.serialize_entry("readyAfter", &seconds(&times.ready))?;
        map.serialize_entry("metricsAfter", &seconds(&times.measured))?;
        map.serialize_entry("startingPods", starting)?;
        map.serialize_entry("stays", stays)?;
        map.serialize_entry("certainty", &self.certainty)?;
        let changes: Vec<_> = changes
            .iter()
            .map(|change| ChangeView {
                time: at(change.time),
                from: change.from,
                to: change.to,
                proposal: change.proposal,
                metric: change.by.and_then(|by| self.metrics.get(by)).map(String::as_str),
                limits: change.limits.iter().map(LimitView::of).collect(),
            })
            .collect();
        map.serialize_entry("changes", &changes)?;
        let settled = is_settled.then(|| at(self.timeline.steady_since()));
        map.serialize_entry("settledAt", &settled)?;
        map.serialize_entry("swing", &swing.map(|(min, max)| Range { min, max }))?;
        map.serialize_entry("final", &passes.last().map(|point| point.replicas))?;
        map.serialize_entry("passes", &passes.len())?;
        let column = |of: fn(&_) -> _| passes.iter().map(of).collect::<Vec<Option<i64>>>();
        map.serialize_entry("replicas", &column(|p| Some(p.replicas.into())))?;
        map.serialize_entry("proposals", &column(|p| p.proposal.map(i64::from)))?;
        map.serialize_entry("readyPods", &column(|p| i64::try_from(p.ready).ok()))?;
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceView<'a> {
    ends_after: f64,
    last: &'a [LastValue],
}

#[derive(Serialize)]
struct ChangeView<'a> {
    time: String,
    from: i32,
    to: i32,
    proposal: Option<i32>,
    metric: Option<&'a str>,
    limits: Vec<LimitView>,
}

#[derive(Serialize)]
struct LimitView {
    by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    recommendation: Option<Recommendation>,
}

impl LimitView {
    fn of(limited: &Limited) -> Self {
        let (by, recommendation) = match limited {
            Limited::OutOfBounds => ("outOfBounds", None),
            Limited::Stabilized(recommendation) => ("stabilization", *recommendation),
            Limited::Limit(reason) => (*reason, None),
            Limited::Woken => ("wokenFromZero", None),
        };
        Self { by, recommendation }
    }
}
