//! What a pass would decide if something were otherwise: the explanation of that pass, what was
//! assumed, and the answer without it.

use serde::Serialize;

use super::chart::Chart;
use super::page::{Page, Symbols, Table, changes};
use super::timeline::Played;
use super::{Certainty, Explanation, Range};
use crate::whatif::expect::{Expectation, Truth};
use crate::whatif::overrides::{Override, Reported};
use crate::whatif::thresholds::Thresholds;
use crate::whatif::timeline::Timeline;

/// A prediction. Serializes as the contract's object: an explanation with more fields.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Prediction<'a> {
    /// The pass with the overrides.
    #[serde(flatten)]
    pub explanation: Explanation<'a>,
    /// What was assumed.
    pub overrides: Vec<Override>,
    /// The answer without it.
    pub observed: Observed,
    /// What follows as time goes on; none where that was not asked for, or cannot be played.
    pub timeline: Option<Played<'a>>,
    /// What was expected of it.
    pub expectations: Vec<Expectation>,
    /// For each metric, at which values the answer changes; empty where metrics play no part.
    pub thresholds: Vec<Thresholds>,
    #[serde(skip)]
    observed_verdict: String,
}

/// The answer without the overrides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Observed {
    /// The replicas after the pass; none where the scale could not be read.
    pub replicas: Option<i32>,
    /// Whether what is unknown could change it.
    pub certainty: Certainty,
    /// The replicas after the pass, over everything that is unknown.
    pub range: Option<Range>,
}

impl<'a> Prediction<'a> {
    /// Puts the two passes side by side.
    pub fn new(
        mut explanation: Explanation<'a>,
        overrides: Vec<Override>,
        timeline: Option<&'a Timeline>,
        expectations: Vec<Expectation>,
        thresholds: Vec<Thresholds>,
        observed: &Explanation<'_>,
    ) -> Self {
        explanation.kind = "Prediction";
        // What was written is the answer to what was observed.
        explanation.comparison = None;
        let mut verdict = Page::new(observed, false, Symbols::UNICODE).verdict;
        if let Some(range) = observed.range.filter(|range| range.min != range.max) {
            verdict += &format!(", not certain: between {} and {}", range.min, range.max);
        }
        let timeline = timeline.map(|timeline| Played::new(timeline, &explanation));
        Self {
            timeline,
            explanation,
            overrides,
            observed: Observed {
                replicas: observed.decision.replicas_after(),
                certainty: observed.certainty,
                range: observed.range,
            },
            expectations,
            thresholds,
            observed_verdict: verdict,
        }
    }

    /// Replicas over the values of the metric whose curve was asked for.
    pub fn curve(&self) -> Option<Chart> {
        let replicas = self.explanation.decision.replicas_after();
        let now = self.explanation.snapshot.now;
        self.thresholds.iter().find_map(|of| changes::chart(of, replicas, now))
    }

    /// What was assumed beside what was observed, as a table.
    pub fn overrides_table(&self) -> Table {
        let row = |it: &Override| {
            let assumed = assumed(it, Symbols::UNICODE);
            vec![
                it.item.clone(),
                assumed,
                it.observed.as_ref().map(Reported::plain).unwrap_or_default(),
            ]
        };
        Table {
            columns: vec![("ITEM", false), ("ASSUMED", false), ("OBSERVED", false)],
            rows: self.overrides.iter().map(row).collect(),
        }
    }
}

impl Page {
    /// Words a prediction: what it assumes, and the page of its pass with the answer without the
    /// overrides beside.
    pub fn of_prediction(prediction: &Prediction<'_>, wide: bool, symbols: Symbols) -> Self {
        let assuming = prediction.overrides.iter().map(|own| {
            let observed = own.observed.as_ref();
            let observed = observed.map(|observed| format!(" (observed {})", observed.plain()));
            let assumed = assumed(own, symbols);
            format!("assuming {} {assumed}{}", own.item, observed.unwrap_or_default())
        });
        let assuming: Vec<String> = match prediction.overrides.len() {
            0 => vec!["assuming nothing else than was observed".to_owned()],
            _ => assuming.collect(),
        };
        let verdict = prediction.observed_verdict.replace(Symbols::UNICODE.arrow, symbols.arrow);
        let mut page = Self::new(&prediction.explanation, wide, symbols);
        if let Some(played) = &prediction.timeline {
            // It says the same of a load that does not follow the pods.
            page.upcoming.clear();
            page.assumed.extend(played.assumed());
        }
        Self {
            assuming,
            observed: Some(verdict),
            expected: prediction.expectations.iter().map(worded).collect(),
            changes: changes::lines(&prediction.thresholds, prediction.explanation.snapshot.now),
            curve: prediction.curve(),
            timeline: prediction.timeline.as_ref().map(|played| played.words(symbols)),
            ..page
        }
    }
}

/// What is assumed, with what it comes to.
fn assumed(own: &Override, symbols: Symbols) -> String {
    match &own.result {
        Some(result) => format!("{} {} {}", own.assumed, symbols.arrow, result.plain()),
        None => own.assumed.clone(),
    }
}

/// An expectation with how it stands, and what that rests on.
fn worded(expectation: &Expectation) -> (String, String) {
    let sort = match expectation.truth {
        Truth::True => "holds",
        Truth::False => "FAILS",
        Truth::Unknown => "UNKNOWN",
    };
    let because = expectation.because();
    let because = if because.is_empty() { because } else { format!(": {because}") };
    (sort.to_owned(), format!("{}{because}", expectation.name()))
}
