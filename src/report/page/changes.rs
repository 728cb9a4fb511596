//! What would change the answer, one line for each metric, and the curve of one as a chart.

use jiff::Timestamp;

use crate::apimachinery::quantity::{Format, Quantity};
use crate::numbers;
use crate::report::chart::{Chart, MOST_ROWS, Mark, Series, Shape, round_numbers};
use crate::report::words;
use crate::whatif::kept::KeptTarget;
use crate::whatif::thresholds::{
    Ask, Band, Changes, Curve, Effect, End, Found, Hold, Reached, Span, Thresholds, Unit,
};

/// Returns a line for each metric.
pub(in crate::report) fn lines(thresholds: &[Thresholds], now: Timestamp) -> Vec<(String, String)> {
    let line = |of: &Thresholds| {
        let text = match &of.found {
            Found::Changes(changes) => sentence(of, changes, now),
            Found::Nothing { error } => format!("nothing known: {error}"),
        };
        (of.metric.clone(), text)
    };
    if thresholds.is_empty() {
        let why = "no value of a metric changes anything: this pass ignores metrics";
        return vec![("metrics".to_owned(), why.to_owned())];
    }
    thresholds.iter().map(line).collect()
}

/// Returns a line with the target with which a metric still adds replicas at the same usage.
pub(in crate::report) fn kept(own: &KeptTarget) -> (String, String) {
    let KeptTarget { metric, pods, target, exact, alike, .. } = own;
    // The usage from which replicas are added: a pod at less than this has less.
    let each = |usage: &Quantity| {
        let pods = i64::try_from(*pods).unwrap_or(i64::MAX);
        let own = usage.milli_value();
        let own = own / pods + i64::from(own % pods > 0);
        numbers::quantity(&Quantity::from_milli(own, usage.format()))
    };
    let (before, after) = (each(&own.observed_scale_up), each(&own.scale_up));
    let pods = if *alike { "per pod" } else { "per pod on average" };
    let text = match (target, exact) {
        (Some(target), true) => {
            format!("set it to {target}% to add replicas from {after} {pods}, as now")
        }
        (Some(target), false) => format!(
            "set it to {target}% to add replicas no later than now: from {after} {pods} instead of {before}"
        ),
        (None, _) => format!(
            "no percentage adds replicas as early as now, from {before}: 1% does so from {after} {pods}"
        ),
    };
    (format!("target of {metric}"), text)
}

fn sentence(of: &Thresholds, changes: &Changes, now: Timestamp) -> String {
    let value = |value: i64| value_of(of, changes.unit, value);
    let span = |span: Span| match span.from == span.to {
        true => format!("at {}", value(span.from)),
        false => format!("from {} to {}", value(span.from), value(span.to)),
    };
    let bands = &changes.bands[..];
    let mut parts = Vec::new();
    // What the metric asks for, if the pass does not do exactly that.
    let asks = |ask: Ask, done: &[Span]| {
        let all = changes.asks.iter().filter(|asks| asks.asks == ask).map(|asks| asks.span);
        let all: Vec<Span> = all.collect();
        let asked = all.iter().map(|span| match (span.from, span.to) {
            (0, to) if to == changes.up_to => "at any value".to_owned(),
            (0, to) => format!("up to {}", value(to)),
            (from, to) if to == changes.up_to => format!("above {}", value(from - 1)),
            (from, to) => format!("from {} to {}", value(from), value(to)),
        });
        let what = if ask == Ask::More { "more" } else { "fewer" };
        let asked = format!("proposes {what} {}", words::list(&asked.collect::<Vec<_>>()));
        (!all.is_empty() && all != done).then_some(asked)
    };
    // What the pass does not do at all, with when a later one does, and why.
    let nothing = |ask: Ask, verb: &str| {
        let (end, bound) = match ask {
            Ask::More => (&changes.highest, "at most"),
            _ => (&changes.lowest, "at least"),
        };
        let asks = asks(ask, &[]).map_or_else(String::new, |asked| format!("{asked}, but "));
        let when = match end.changes_at {
            Some(at) => format!("before {}", words::future(now, at)),
            None => "at any value".to_owned(),
        };
        format!("{asks}{verb} {when}{}", why(end, bound, changes))
    };
    if bands.windows(2).all(|pair| pair[0].effect < pair[1].effect) {
        let of = |effect| bands.iter().find(|band| band.effect == effect).map(|band| band.span);
        match (of(Effect::Adds), of(Effect::Removes)) {
            (adds @ Some(Span { from: 0, .. }), _) => {
                parts.push(format!(
                    "adds replicas at any value{}",
                    why(&changes.lowest, "at least", changes)
                ));
                parts.extend(asks(Ask::More, adds.as_slice()));
                parts.extend(asks(Ask::Fewer, &[]));
            }
            (_, removes @ Some(Span { to, .. })) if to == changes.up_to => {
                parts.push(format!(
                    "removes replicas at any value{}",
                    why(&changes.highest, "at most", changes)
                ));
                parts.extend(asks(Ask::More, &[]));
                parts.extend(asks(Ask::Fewer, removes.as_slice()));
            }
            (adds, removes) => {
                match adds {
                    Some(Span { from, .. }) => {
                        parts.push(format!("adds replicas above {}", value(from - 1)));
                        parts.extend(asks(Ask::More, adds.as_slice()));
                    }
                    None => parts.push(nothing(Ask::More, "adds no replicas")),
                }
                match removes {
                    Some(Span { to, .. }) => {
                        parts.push(format!("removes up to {}", value(to)));
                        parts.extend(asks(Ask::Fewer, removes.as_slice()));
                    }
                    None => parts.push(nothing(Ask::Fewer, "removes none")),
                }
            }
        }
    } else {
        // Some pods do not count, so the controller jumps where the metric is on target.
        parts.extend(bands.iter().map(|Band { span: values, effect, .. }| {
            let effect = match effect {
                Effect::Removes => "removes",
                Effect::Keeps => "keeps",
                Effect::Adds => "adds",
            };
            match values.to == changes.up_to {
                true => format!("{effect} from {}", value(values.from)),
                false => format!("{effect} {}", span(*values)),
            }
        }));
        for (ask, effect) in [(Ask::More, Effect::Adds), (Ask::Fewer, Effect::Removes)] {
            let done = bands.iter().filter(|band| band.effect == effect).map(|band| band.span);
            parts.extend(asks(ask, &Vec::from_iter(done)));
        }
    }
    if let Some(tolerance) = changes.tolerance {
        parts.push(format!("tolerance {}", span(tolerance).trim_start_matches("from ")));
    }
    // If it is already at a bound, tolerance says so.
    let tolerance = changes.tolerance.unwrap_or(Span { from: 0, to: 0 });
    let Reached { replicas, proposed, .. } = changes.max;
    if let Some(from) = proposed.filter(|from| *from > 0 && *from != tolerance.from) {
        parts.push(format!("proposes maxReplicas ({replicas}) above {}", value(from - 1)));
    }
    let Reached { replicas, proposed, .. } = changes.min;
    if let Some(to) = proposed.filter(|to| *to < changes.up_to && *to != tolerance.to) {
        parts.push(format!("proposes minReplicas ({replicas}) up to {}", value(to)));
    }
    if bands.iter().any(|band| !band.certain) {
        parts.push("not certain: based on the most likely history".to_owned());
    }
    let all = if of.divided { "in all, " } else { "" };
    format!("{all}{}", parts.join("; "))
}

/// Words why a pass does not follow a metric to an end; `bound` says what the proposal there is: "at most"
/// at the highest values, "at least" at the lowest.
fn why(end: &End, bound: &str, changes: &Changes) -> String {
    // Replicas raised or held above what another metric asks for do not depend on that.
    let matters =
        |hold: &&Hold| !matches!(hold, Hold::Metric { replicas, .. } if *replicas < end.replicas);
    let holds = end.held_by.iter().filter(matters).map(|hold| match hold {
        Hold::Metric { metric, replicas } => format!("{metric} proposes {replicas}"),
        Hold::FailedMetrics => "a metric failed, and without it no replicas are removed".to_owned(),
        Hold::Stabilization { replicas } => format!("stabilization holds {replicas}"),
        Hold::Rate { replicas } => format!("the rate limit holds {replicas}"),
        Hold::Scale => "the scale cannot be written".to_owned(),
    });
    let mut holds: Vec<String> = holds.collect();
    if holds.is_empty() {
        for (bound, name) in [(changes.min, "min"), (changes.max, "max")] {
            if bound.replicas == end.replicas {
                holds.push(format!("already at {name}Replicas ({})", bound.replicas));
            }
        }
    }
    if holds.is_empty() {
        let asked = end.proposal.map(|asked| format!("it proposes {bound} {asked}"));
        holds.extend(asked.filter(|_| end.proposal == Some(end.replicas)));
    }
    if holds.is_empty() {
        return String::new();
    }
    format!(": {}", words::list(&holds))
}

fn value_of(of: &Thresholds, unit: Unit, value: i64) -> String {
    words::in_unit(value, unit, of.format)
}

/// Charts replicas over the values of a metric; `None` if no curve was requested. `replicas` is the count
/// after the pass.
pub(in crate::report) fn chart(
    of: &Thresholds,
    replicas: Option<i32>,
    now: Timestamp,
) -> Option<Chart> {
    let Found::Changes(changes) = &of.found else { return None };
    let Curve { span, steps } = changes.curve.as_ref()?;
    let value = |value: i64| value_of(of, changes.unit, value);
    let (min, max) = (changes.min.replicas, changes.max.replicas);
    let counts = || steps.iter().map(|step| step.replicas);
    let most = counts().chain([max]).max().unwrap_or(max);
    let least = counts().chain([min]).min().unwrap_or(min);
    // Close to zero, the chart starts there.
    let least = if i64::from(least) * 4 <= i64::from(most) { least.min(0) } else { least };
    let metric = &of.metric;
    let across = match changes.unit {
        Unit::Percent => format!("{metric}, as a percentage of requests"),
        Unit::MilliPerPod => format!("{metric}, per pod"),
        Unit::Milli => format!("{metric}, in total"),
    };
    Some(Chart {
        title: format!("REPLICAS OVER {metric}"),
        description: format!("{metric}: {}.", sentence(of, changes, now)),
        across,
        span: (span.from, span.to),
        ticks: ticks(of, changes.unit, *span).map(|at| (at, value(at))).collect(),
        replicas: (least, most),
        series: vec![
            Series {
                name: "replicas after the pass".to_owned(),
                steps: steps.iter().map(|step| (step.from, Some(step.replicas))).collect(),
                shape: Shape::Steps,
            },
            Series {
                name: format!("proposal of {metric}"),
                steps: steps.iter().map(|step| (step.from, step.proposal)).collect(),
                shape: Shape::Steps,
            },
        ],
        bounds: vec![(min, "min".to_owned()), (max, "max".to_owned())],
        current: changes.now.map(|now| Mark {
            at: now,
            replicas,
            label: match now > span.to {
                true => format!("now: {}, beyond the right edge", value(now)),
                false => format!("now: {}", value(now)),
            },
        }),
        events: Vec::new(),
        gaps: Vec::new(),
        most_rows: MOST_ROWS,
    })
}

/// Round values.
fn ticks(of: &Thresholds, unit: Unit, span: Span) -> impl Iterator<Item = i64> {
    const MOST: usize = 8;
    let binary = unit != Unit::Percent && of.format == Format::BinarySI;
    // The largest power of 1024 that gives a few ticks.
    let powers = std::iter::successors(Some(1000i64), |power| power.checked_mul(1024));
    let unit = powers.take_while(|power| binary && span.to / power >= 2).last().unwrap_or(1);
    let numbers = round_numbers((span.from / unit, span.to / unit), MOST, 1);
    numbers.into_iter().map(move |number| number * unit)
}
