//! The units in which people write the values of a metric.

use super::hpa::{MetricSpec, MetricValueStatus};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::numbers::{format_of, plain_quantity, quantity};

/// Returns the value of a metric as text: `63% (12m)`, `12m`, `-` for none.
pub(crate) fn value(metric: Option<&MetricSpec>, value: &MetricValueStatus) -> String {
    let amount = value.average_value.as_ref().or(value.value.as_ref());
    match (
        value.average_utilization,
        amount.map(|amount| amount_of(metric, amount)),
    ) {
        (Some(percent), Some(amount)) => format!("{percent}% ({amount})"),
        (Some(percent), None) => format!("{percent}%"),
        (None, amount) => amount.unwrap_or_else(|| "-".to_owned()),
    }
}

/// Returns an amount of a metric as text. Statuses have memory as a decimal number if it is not a multiple of 1024, and
/// always before v1.34.
pub(crate) fn amount_of(metric: Option<&MetricSpec>, amount: &Quantity) -> String {
    match metric
        .filter(|metric| metric.is_resource())
        .map(|metric| format_of(metric.name()))
    {
        Some(format @ Format::BinarySI) => quantity(&amount.in_format(format)),
        Some(_) => quantity(amount),
        None if metric.is_some() => plain_quantity(amount),
        None => quantity(amount),
    }
}
