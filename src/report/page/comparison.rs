//! The status that the controller last wrote, next to the one that this pass would write.

use jiff::SignedDuration;

use super::Words;
use crate::numbers;
use crate::report::comparison::{
    Comparison, ComparisonRow, DifferenceCode, Moment, SampleTimes, StatusValue,
};
use crate::report::section::{Detail, Part, Section, Table};
use crate::snapshot::hpa::{MetricSpec, MetricValueStatus};
use crate::snapshot::written::FIELD_MANAGER;
use crate::words;

impl Words<'_> {
    pub(super) fn comparison(&self) -> Option<Section> {
        let comparison = self.explanation.comparison.as_ref()?;
        let never = never(comparison);
        let metrics = &self.explanation.hpa.spec.metrics;
        let shown = |row: &&ComparisonRow<'_>| row.differs && !never;
        let differing: Vec<&ComparisonRow<'_>> = comparison.rows.iter().filter(shown).collect();
        let measured = differing.iter().any(|row| row.measured.is_some());
        let mut columns = vec![("STATUS", false), ("THEN", false), ("NOW", false)];
        columns.extend(measured.then_some(("MEASURED", false)));
        let rows = differing.into_iter().map(|row| {
            let mut cells = vec![row.name.clone()];
            cells.extend(values(row, row.index.and_then(|index| metrics.get(index))));
            cells.extend(measured.then(|| row.measured.map_or_else(String::new, age)));
            cells
        });
        let table = Table::new(columns, rows.collect());
        let reasons = comparison
            .reasons
            .iter()
            .map(|it| (it.code.to_string(), it.message.clone()));
        let body = [Part::Table(table), Part::Pairs(reasons.collect())];
        Some(Section::titled(title(comparison), Detail::Wide, body))
    }
}

/// Whether there is nothing to compare with.
fn never(comparison: &Comparison<'_>) -> bool {
    comparison.rows.iter().all(|row| row.last.is_none())
}

/// Describes how old the status is, and who wrote it, if that was `apply`.
fn title(comparison: &Comparison<'_>) -> String {
    let written = match comparison.written {
        _ if never(comparison) => "never written".to_owned(),
        Some(written) if comparison.written_by_us => {
            format!("written {} by {FIELD_MANAGER}", ago(written))
        }
        Some(written) => format!("written {}", ago(written)),
        None => "written at an unknown time".to_owned(),
    };
    let scaled = comparison
        .last_scale_time
        .map(|moment| format!(", last scaled {}", ago(moment)))
        .unwrap_or_default();
    let rescaled = comparison
        .reasons
        .iter()
        .any(|reason| reason.code == DifferenceCode::RescaledSince);
    let same = if comparison.differs {
        ""
    } else if rescaled {
        ", the same as in this pass, but the replicas were set in between"
    } else {
        ", the same as in this pass"
    };
    format!("LAST STATUS, {written}{scaled}{same}")
}

fn length(moment: Moment) -> String {
    numbers::age(SignedDuration::from_secs(moment.age).abs())
}

/// The time may be after the pass, such as one that `--now` moves back.
fn ago(moment: Moment) -> String {
    let side = if moment.age < 0 {
        "after this pass"
    } else {
        "ago"
    };
    format!("{} {side}", length(moment))
}

fn age(SampleTimes { from, to }: SampleTimes) -> String {
    let (newest, oldest) = (ago(to), ago(from));
    if newest == oldest {
        oldest
    } else if (from.age < 0) == (to.age < 0) {
        format!("{} to {oldest}", length(to))
    } else {
        format!("{newest} to {oldest}")
    }
}

/// Returns the two values of a row, exact if they would look alike.
fn values(row: &ComparisonRow<'_>, metric: Option<&MetricSpec>) -> [String; 2] {
    let both = [row.last.as_ref(), row.now.as_ref()];
    let shown = both.map(|value| text(value, |value| words::value(metric, value)));
    if row.differs && shown[0] == shown[1] {
        both.map(|value| text(value, exact))
    } else {
        shown
    }
}

fn text(value: Option<&StatusValue<'_>>, metric: impl Fn(&MetricValueStatus) -> String) -> String {
    match value {
        None => "-".to_owned(),
        Some(StatusValue::Replicas(replicas)) => replicas.to_string(),
        Some(StatusValue::Metric(value)) => metric(value),
        Some(StatusValue::Condition { status, reason }) => format!("{status} {reason}"),
    }
}

/// Without rounding.
fn exact(value: &MetricValueStatus) -> String {
    let quantity = value.average_value.as_ref().or(value.value.as_ref());
    quantity.map_or_else(|| words::value(None, value), words::exact_quantity)
}
