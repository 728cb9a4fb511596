//! The changes of the answer, one row for each range of values of a metric, and the curve of one metric as a
//! chart.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::apimachinery::quantity::{Format, Quantity};
use crate::engine::decision::Direction;
use crate::numbers;
use crate::pass::Doubts;
use crate::report::chart::{Chart, ChartMark, ChartSeries, MOST_ROWS, Shape, round_numbers};
use crate::report::section::Table;
use crate::whatif::kept::KeptTarget;
use crate::whatif::thresholds::{
    Ask, Changes, Curve, Effect, HeldBy, MetricUnit, RangeEnd, Span, ThresholdValues, Thresholds,
};
use crate::words;

/// Returns a row for each range of values of each metric: the metric, the values, and their effect.
pub(in crate::report) fn rows(
    of_metrics: &[Thresholds],
    kept: &[KeptTarget],
    now: Timestamp,
) -> Table {
    let mut rows = Vec::new();
    if of_metrics.is_empty() {
        let why = "no value of a metric changes anything: this pass ignores metrics";
        rows.push(["metrics".to_owned(), String::new(), why.to_owned()]);
    }
    for thresholds in of_metrics {
        let ranges = match &thresholds.found {
            ThresholdValues::Changes(changes) => ranges(thresholds, changes, now),
            ThresholdValues::Nothing { error } => {
                vec![ValueRange {
                    span: Span { from: 0, to: 0 },
                    values: String::new(),
                    effect: format!("nothing known: {error}"),
                }]
            }
        };
        let all = if thresholds.divided { ", in all" } else { "" };
        let mut label = format!("{}{all}", thresholds.metric);
        // The metric stands on the first of its rows.
        for ValueRange { values, effect, .. } in ranges {
            rows.push([std::mem::take(&mut label), values, effect]);
        }
    }
    rows.extend(kept.iter().map(kept_target));
    Table::new([("", false); 3], rows.into_iter().map(Vec::from).collect())
}

/// Returns a row with the target at which a metric still adds replicas at the same usage.
fn kept_target(own: &KeptTarget) -> [String; 3] {
    let KeptTarget {
        metric,
        pods,
        target,
        exact,
        alike,
        at_max,
        ..
    } = own;
    let before = per_pod(&own.observed_scale_up, *pods);
    let after = per_pod(&own.scale_up, *pods);
    let pods = if *alike {
        "per pod"
    } else {
        "per pod on average"
    };
    let [add, adds] = if *at_max {
        ["propose more replicas", "proposes more replicas"]
    } else {
        ["add replicas", "adds replicas"]
    };
    let text = match target {
        Some(target) if *exact || after == before => {
            format!("set it to {target}% to {add} from {after} {pods}, as now")
        }
        Some(target) => {
            format!("set it to {target}% to {add} from {after} {pods}; now it is from {before}")
        }
        None => format!(
            "no percentage {adds} as early as now, from {before}: 1% does so from {after} {pods}"
        ),
    };
    [format!("target of {metric}"), String::new(), text]
}

/// Returns the usage of each pod from which on replicas are added, rounded up.
fn per_pod(usage: &Quantity, pods: usize) -> String {
    let pods = i64::try_from(pods).unwrap_or(i64::MAX);
    let all = usage.milli_value();
    let each = all / pods + i64::from(all % pods > 0);
    numbers::quantity(&Quantity::from_milli(each, usage.format()))
}

/// A range of values of a metric.
struct ValueRange {
    span: Span,
    /// The range as text; empty if the effect does not depend on values.
    values: String,
    effect: String,
}

/// Returns one sentence on the effects of a metric's values.
fn sentence(of: &Thresholds, changes: &Changes, now: Timestamp) -> String {
    let parts =
        ranges(of, changes, now)
            .into_iter()
            .map(|ValueRange { values, effect, .. }| {
                if values.is_empty() {
                    effect
                } else {
                    format!("{values}: {effect}")
                }
            });
    let all = if of.divided { "in all, " } else { "" };
    format!("{all}{}", Vec::from_iter(parts).join("; "))
}

/// Returns the effects of a metric's values, from low to high.
fn ranges(of: &Thresholds, changes: &Changes, now: Timestamp) -> Vec<ValueRange> {
    let ranges = Ranges {
        thresholds: of,
        changes,
        now,
        bounds: &bounds(changes),
        found: Vec::new(),
    };
    ranges.find()
}

/// The ranges of values of a metric, as they are found.
struct Ranges<'c> {
    thresholds: &'c Thresholds,
    changes: &'c Changes,
    now: Timestamp,
    /// The values at which the metric proposes a bound.
    bounds: &'c [(Ask, Span, String)],
    found: Vec<ValueRange>,
}

impl Ranges<'_> {
    fn find(mut self) -> Vec<ValueRange> {
        let bands = &self.changes.bands[..];
        if bands.windows(2).all(|pair| pair[0].effect < pair[1].effect) {
            self.in_order();
        } else {
            self.out_of_order();
        }
        if let Some(tolerance) = self.changes.tolerance {
            self.add(tolerance, "within tolerance");
        }
        for (ask, span, bound) in self.bounds {
            // Already covered above, unless the pass does everything that the metric proposes.
            let is_done = self.found.iter().all(|own| own.span != *span)
                || bands.iter().any(|own| own.span == *span);
            if !self.asked(*ask).contains(span) || is_done {
                self.add(*span, format!("proposes {bound}"));
            }
        }
        // Rows for all values come first.
        let whole = self.whole();
        self.found
            .sort_by_key(|range| (range.span.from, range.span != whole, range.span.to));
        if bands.iter().any(|band| !band.certain) {
            let end = self.changes.up_to;
            let Doubts {
                metrics,
                history,
                time,
            } = self.changes.doubts;
            let bases = [
                (time, "this time"),
                (history, "the most likely history"),
                (metrics, "the metrics that are known"),
            ];
            let doubtful = bases.into_iter().filter(|(is_in_doubt, _)| *is_in_doubt);
            let basis = Vec::from_iter(doubtful.map(|(_, basis)| basis)).join(" and ");
            self.found.push(ValueRange {
                span: Span { from: end, to: end },
                values: String::new(),
                effect: format!("not certain: based on {basis}"),
            });
        }
        self.found
    }

    /// Adds the effects of the values if higher ones lead to more replicas.
    fn in_order(&mut self) {
        let (changes, whole) = (self.changes, self.whole());
        match (self.band(Effect::Adds), self.band(Effect::Removes)) {
            (adds @ Some(Span { from: 0, .. }), _) => {
                let end = &changes.lowest;
                let is_raised = changes.min.replicas == end.replicas;
                let limit = is_raised.then(|| format!("below minReplicas ({})", end.replicas));
                let why = why(end, "at least", &holds(end, |_| true), limit);
                self.add(whole, format!("adds replicas{why}"));
                self.add_asked(Ask::More, adds.as_slice());
                self.add_asked(Ask::Fewer, &[]);
            }
            (_, removes @ Some(Span { to, .. })) if to == changes.up_to => {
                let end = &changes.highest;
                let why = why(end, "at most", &holds(end, |_| true), None);
                self.add(whole, format!("removes replicas{why}"));
                self.add_asked(Ask::More, &[]);
                self.add_asked(Ask::Fewer, removes.as_slice());
            }
            (adds, removes) => {
                for (ask, effect, band) in [
                    (Ask::More, "adds replicas", adds),
                    (Ask::Fewer, "removes replicas", removes),
                ] {
                    if let Some(span) = band {
                        self.add(span, effect);
                        self.add_asked(ask, &[span]);
                    } else {
                        self.add_nothing(ask);
                    }
                }
            }
        }
    }

    /// Adds the effects of the values if some pods do not count, so that the controller's answer jumps where the
    /// metric is on target.
    fn out_of_order(&mut self) {
        let bands = &self.changes.bands;
        for band in bands {
            let effect = match band.effect {
                Effect::Removes => "removes replicas",
                Effect::Keeps => "keeps the replicas",
                Effect::Adds => "adds replicas",
            };
            self.add(band.span, effect);
        }
        for (ask, effect) in [(Ask::More, Effect::Adds), (Ask::Fewer, Effect::Removes)] {
            let done = bands.iter().filter(|band| band.effect == effect);
            match &Vec::from_iter(done.map(|band| band.span))[..] {
                [] => self.add_nothing(ask),
                spans => self.add_asked(ask, spans),
            }
        }
    }

    fn add(&mut self, span: Span, effect: impl Into<String>) {
        let values = self.words(span);
        self.found.push(ValueRange {
            span,
            values,
            effect: effect.into(),
        });
    }

    /// Adds the metric's proposal, if the pass does not follow it exactly.
    fn add_asked(&mut self, ask: Ask, done: &[Span]) {
        let spans = self.asked(ask);
        if spans != done {
            for span in spans {
                self.add(span, self.proposal(ask, span));
            }
        }
    }

    /// Adds the direction that the pass does not follow at all, with the time of a later pass that does, and the
    /// reason. If the metric does not propose it either, that is the reason, and what holds the replicas at the end
    /// holds them in the other direction.
    fn add_nothing(&mut self, ask: Ask) {
        let Changes {
            lowest,
            highest,
            min,
            max,
            ..
        } = self.changes;
        let (end, bound, verbs, reached, name) = match ask {
            Ask::More => (highest, "at most", ["adds", "may add"], max, "max"),
            _ => (lowest, "at least", ["removes", "may remove"], min, "min"),
        };
        let spans = self.asked(ask);
        if spans.is_empty() {
            let is_kept = !self.asked(Ask::Same).is_empty();
            let asked = Some(end.replicas).filter(|_| is_kept).or(end.proposal);
            let why = asked.map(|asked| format!(": it proposes {bound} {asked}"));
            let none = format!("{} none{}", verbs[0], why.unwrap_or_default());
            return self.add(self.whole(), none);
        }
        let toward = toward(end);
        let holds = holds(end, |hold| explains(hold, ask, toward));
        let is_open = end.is_unread() && holds.is_empty();
        let verb = verbs[usize::from(is_open)];
        let changes_at = end.changes_at.filter(|_| toward == ask);
        let when = changes_at.map_or_else(String::new, |at| {
            format!(" before {}", words::future(self.now, at))
        });
        let is_reached = reached.replicas == end.replicas;
        let limit = is_reached.then(|| format!("already at {name}Replicas ({})", end.replicas));
        let none = format!("{verb} none{when}{}", why(end, bound, &holds, limit));
        for span in spans {
            let proposal = self.proposal(ask, span);
            self.add(span, format!("{proposal}, but {none}"));
        }
    }

    fn whole(&self) -> Span {
        Span {
            from: 0,
            to: self.changes.up_to,
        }
    }

    fn band(&self, effect: Effect) -> Option<Span> {
        let mut bands = self.changes.bands.iter();
        Some(bands.find(|band| band.effect == effect)?.span)
    }

    fn asked(&self, ask: Ask) -> Vec<Span> {
        let all = self.changes.asks.iter().filter(|asks| asks.asks == ask);
        all.map(|asks| asks.span).collect()
    }

    /// Describes the metric's proposal for more or fewer replicas.
    fn proposal(&self, ask: Ask, span: Span) -> String {
        let mut bounds = self.bounds.iter();
        match bounds.find(|(of, own, _)| (*of, *own) == (ask, span)) {
            Some((_, _, bound)) => format!("proposes {bound}"),
            None if ask == Ask::More => "proposes more".to_owned(),
            None => "proposes fewer".to_owned(),
        }
    }

    fn words(&self, span: Span) -> String {
        let value = |value: i64| value_of(self.thresholds, self.changes.unit, value);
        if span == self.whole() {
            "any value".to_owned()
        } else if span.from == span.to && span.to != self.changes.up_to {
            value(span.from)
        } else if span.from == 0 {
            format!("up to {}", value(span.to))
        } else if span.to == self.changes.up_to {
            format!("above {}", value(span.from - 1))
        } else {
            format!("{} to {}", value(span.from), value(span.to))
        }
    }
}

/// Returns the values at which a metric proposes a bound, the direction of that proposal, and the bound as
/// text. If it is already at a bound, the row for the tolerance shows it.
fn bounds(changes: &Changes) -> Vec<(Ask, Span, String)> {
    let tolerance = changes.tolerance.unwrap_or(Span { from: 0, to: 0 });
    let Changes {
        max,
        min,
        up_to: to,
        ..
    } = *changes;
    let mut bounds = Vec::new();
    if let Some(from) = max
        .proposed
        .filter(|from| *from > 0 && *from != tolerance.from)
    {
        let text = format!("maxReplicas ({})", max.replicas);
        bounds.push((Ask::More, Span { from, to }, text));
    }
    if let Some(to) = min.proposed.filter(|own| *own < to && *own != tolerance.to) {
        let text = format!("minReplicas ({})", min.replicas);
        bounds.push((Ask::Fewer, Span { from: 0, to }, text));
    }
    bounds
}

/// Describes why a pass does not follow a metric to an end; `bound` qualifies the proposal there: "at most"
/// at the highest values, "at least" at the lowest. Without `holds`, it may be the limit.
fn why(end: &RangeEnd, bound: &str, holds: &[String], limit: Option<String>) -> String {
    const UNREAD: &str = "it depends on metrics that could not be read";
    if end.is_unread() {
        return match holds {
            [] => format!(": {UNREAD}"),
            _ => format!(": {}, and then {UNREAD}", words::list(holds)),
        };
    }
    if !holds.is_empty() {
        return format!(": {}", words::list(holds));
    }
    let asked = end.proposal.filter(|asked| *asked == end.replicas);
    limit
        .or_else(|| asked.map(|asked| format!("it proposes {bound} {asked}")))
        .map_or_else(String::new, |why| format!(": {why}"))
}

/// Returns the direction in which the metrics would go at an end at which the replicas stay.
fn toward(end: &RangeEnd) -> Ask {
    let others = end.held_by.iter().filter_map(|hold| match hold {
        HeldBy::Metric { replicas, .. } => Some(*replicas),
        _ => None,
    });
    let highest = others.chain(end.proposal).max();
    match highest.map(|replicas| replicas.cmp(&end.replicas)) {
        None => Ask::Nothing,
        Some(Ordering::Less) => Ask::Fewer,
        Some(Ordering::Equal) => Ask::Same,
        Some(Ordering::Greater) => Ask::More,
    }
}

/// Whether a rule is a reason why a pass does not do what a metric proposes, if the metrics together would go
/// `toward` a direction.
fn explains(hold: &HeldBy, ask: Ask, toward: Ask) -> bool {
    match hold {
        HeldBy::Metric { .. } | HeldBy::FailedMetrics => ask == Ask::Fewer,
        HeldBy::Disabled {
            direction: Direction::Up,
        } => ask == Ask::More,
        HeldBy::Disabled {
            direction: Direction::Down,
        } => ask == Ask::Fewer,
        HeldBy::Stabilization { .. } | HeldBy::Rate { .. } => ask == toward,
        HeldBy::UnreadMetrics | HeldBy::Scale => true,
    }
}

/// Describes what holds the replicas, whatever the unread metrics say, if that explains something.
fn holds(end: &RangeEnd, explains: impl Fn(&HeldBy) -> bool) -> Vec<String> {
    let told = end.held_by.iter().filter(|hold| explains(hold));
    let words = told.filter_map(|hold| match hold {
        // Replicas raised or held above another metric's proposal do not depend on that proposal.
        HeldBy::Metric { replicas, .. } if *replicas < end.replicas => None,
        HeldBy::Metric { metric, replicas } => Some(format!("{metric} proposes {replicas}")),
        HeldBy::FailedMetrics => Some("while a metric fails, no replicas are removed".to_owned()),
        HeldBy::UnreadMetrics => None,
        HeldBy::Stabilization { replicas } => Some(format!("stabilization holds {replicas}")),
        HeldBy::Rate { replicas } => Some(format!("the rate limit holds {replicas}")),
        HeldBy::Disabled { direction } => Some(format!("behavior disables scaling {direction}")),
        HeldBy::Scale => Some("the scale cannot be written".to_owned()),
    });
    words.collect()
}

fn value_of(of: &Thresholds, unit: MetricUnit, value: i64) -> String {
    words::in_unit(value, unit, of.format)
}

/// Charts replicas over the values of a metric; `None` if no curve was requested. `replicas` is the count
/// after the pass.
pub(in crate::report) fn chart(
    of: &Thresholds,
    replicas: Option<i32>,
    now: Timestamp,
) -> Option<Chart> {
    let ThresholdValues::Changes(changes) = &of.found else {
        return None;
    };
    let Curve { span, steps } = changes.curve.as_ref()?;
    let value = |value: i64| value_of(of, changes.unit, value);
    let (min, max) = (changes.min.replicas, changes.max.replicas);
    let counts = || steps.iter().map(|step| step.replicas);
    let most = counts().chain([max]).max().unwrap_or(max);
    let least = counts().chain([min]).min().unwrap_or(min);
    // Close to zero, the chart starts there.
    let least = if i64::from(least) * 4 <= i64::from(most) {
        least.min(0)
    } else {
        least
    };
    let metric = &of.metric;
    let across = match changes.unit {
        MetricUnit::Percent => format!("{metric}, as a percentage of requests"),
        MetricUnit::MilliPerPod => format!("{metric}, per pod"),
        MetricUnit::Milli => format!("{metric}, in total"),
    };
    Some(Chart {
        title: format!("REPLICAS OVER {metric}"),
        description: format!("{metric}: {}.", sentence(of, changes, now)),
        across,
        span: (span.from, span.to),
        ticks: ticks(of, changes.unit, *span)
            .map(|at| (at, value(at)))
            .collect(),
        replicas: (least, most),
        series: vec![
            ChartSeries {
                name: "replicas after the pass".to_owned(),
                steps: steps
                    .iter()
                    .map(|step| (step.from, Some(step.replicas)))
                    .collect(),
                shape: Shape::Steps,
            },
            ChartSeries {
                name: format!("proposal of {metric}"),
                steps: steps
                    .iter()
                    .map(|step| (step.from, step.proposal))
                    .collect(),
                shape: Shape::Steps,
            },
        ],
        bounds: vec![(min, "min".to_owned()), (max, "max".to_owned())],
        current: changes.now.map(|now| ChartMark {
            at: now,
            replicas,
            label: if now > span.to {
                format!("now: {}, beyond the right edge", value(now))
            } else {
                format!("now: {}", value(now))
            },
        }),
        events: Vec::new(),
        gaps: Vec::new(),
        most_rows: MOST_ROWS,
    })
}

/// Round values.
fn ticks(of: &Thresholds, unit: MetricUnit, span: Span) -> impl Iterator<Item = i64> {
    const MOST: usize = 8;
    let binary = unit != MetricUnit::Percent && of.format == Format::BinarySI;
    // The largest power of 1024 that gives a few ticks.
    let powers = std::iter::successors(Some(1000i64), |power| power.checked_mul(1024));
    let unit = powers
        .take_while(|power| binary && span.to / power >= 2)
        .last()
        .unwrap_or(1);
    let numbers = round_numbers((span.from / unit, span.to / unit), MOST, 1);
    numbers.into_iter().map(move |number| number * unit)
}
