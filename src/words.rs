//! Small wordings that texts share: durations, times, counts, values. Every
//! number is given in the unit that people use for it.

use jiff::Timestamp;

use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::quantity::{Format, Quantity};
use crate::engine::decision::{Fill, Filled, MetricStep};
use crate::numbers::{age, border};
pub(crate) use crate::numbers::{
    count, duration, first_few, list, long, number, part, percent, quantity, shortened,
};
pub(crate) use crate::outlook::lacking;
use crate::snapshot::surroundings::Surroundings;
pub(crate) use crate::snapshot::value::{amount_of, value};
use crate::whatif::overrides::Override;
use crate::whatif::thresholds::MetricUnit;

/// Returns the format of a metric: memory uses powers of 1024, everything else powers of 1000.
pub(crate) fn metric_format(metric: &MetricStep) -> Format {
    if metric.is_resource() && metric.name == "memory" {
        Format::BinarySI
    } else {
        Format::DecimalSI
    }
}

/// Returns an amount in thousandths.
pub(crate) fn amount(milli: i64, format: Format) -> String {
    quantity(&Quantity::from_milli(milli, format))
}

/// Returns the values that a metric assumes for pods that do not count: for those that lack metrics, as `missing` names
/// them, and for unready ones.
pub(crate) fn fills(filled: &Filled, missing: &str, unready: usize) -> Vec<String> {
    let mut fills = Vec::new();
    match (filled.missing, filled.missing_percent) {
        (Fill::None, _) => {}
        (Fill::Zero, _) => fills.push(format!("{missing} at 0")),
        (Fill::Target, Some(percent)) => {
            fills.push(format!("{missing} at {percent}% of the request"));
        }
        (Fill::Target, None) => fills.push(format!("{missing} at the target")),
    }
    if filled.unready_as_zero {
        fills.push(format!("{} at 0", count(unready, "unready pod")));
    }
    fills
}

/// Returns a quantity without rounding: for bytes, texts show fewer digits.
pub(crate) fn exact_quantity(exact: &Quantity) -> String {
    match exact.format() {
        Format::BinarySI => exact.to_string(),
        _ => quantity(exact),
    }
}

/// Returns a value of a metric in the unit of its thresholds.
pub(crate) fn in_unit(value: i64, unit: MetricUnit, format: Format) -> String {
    match unit {
        MetricUnit::Percent => format!("{value}%"),
        MetricUnit::MilliPerPod | MetricUnit::Milli => border(&Quantity::from_milli(value, format)),
    }
}

/// Returns the distance between two times, rough if it is long, as kubectl shows ages.
pub(crate) fn distance(from: Timestamp, to: Timestamp) -> String {
    age(to.duration_since(from))
}

/// Returns `06:03:20Z`, with the date if it is not today.
pub(crate) fn time(now: Timestamp, at: Timestamp) -> String {
    let text = SecondsTime(at).to_string();
    let today = SecondsTime(now).to_string();
    match text.split_once('T') {
        Some((date, time)) if today.starts_with(date) => time.to_owned(),
        _ => text,
    }
}

/// Returns `06:03:20Z (in 3m20s)`, with the date if it is not today.
pub(crate) fn future(now: Timestamp, at: Timestamp) -> String {
    let shown = time(now, at);
    if at > now {
        format!("{shown} (in {})", distance(now, at))
    } else {
        format!("{shown} ({} ago)", distance(at, now))
    }
}

/// Returns the text for an override: what is assumed, and what was observed or, in a manifest, stated.
pub(crate) fn in_words(own: &Override, around: &Surroundings) -> String {
    let was = match around.supposed {
        Some(_) => "stated",
        None => "observed",
    };
    let before = own.observed().map(|before| format!(" ({was} {before})"));
    format!(
        "{} {}{}",
        own.item,
        assumed(own),
        before.unwrap_or_default()
    )
}

/// Returns the assumed value, with its result.
pub(crate) fn assumed(own: &Override) -> String {
    match &own.result {
        Some(result) => format!("{} → {}", own.assumed, result.plain()),
        None => own.assumed.clone(),
    }
}

/// Returns the word for one of something, or for any other number.
pub(crate) fn one_or_many<'t>(n: impl TryInto<i64>, one: &'t str, many: &'t str) -> &'t str {
    if matches!(n.try_into(), Ok(1)) {
        one
    } else {
        many
    }
}

/// Capitalizes the start.
pub(crate) fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
