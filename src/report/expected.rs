//! The expectations of an answer, and whether they hold, for each spec that is judged.

use super::section::{Detail, Part, Section};
use crate::backtest::ManifestPlace;
use crate::whatif::expect::{Expectation, Truth};

/// The expectations of one spec.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The name of the spec, if there are several.
    pub candidate: Option<String>,
    /// The manifest that it comes from, if it comes from one.
    pub manifest: Option<ManifestPlace>,
    /// Each expectation, and whether it holds.
    pub expectations: Vec<Expectation>,
}

impl Judged {
    /// Returns the name of an HPA, with the candidate's if there are several.
    pub(crate) fn named(&self, hpa: &str) -> String {
        match &self.candidate {
            Some(candidate) => format!("{hpa} ({candidate})"),
            None => hpa.to_owned(),
        }
    }
}

/// Returns whether expectations hold; `None` without any.
pub(crate) fn expected(judged: &[Judged]) -> Option<Section> {
    let lines = Part::Pairs(judged.iter().flat_map(worded).collect());
    Section::new("EXPECTED", Detail::Always, [lines]).unless_empty()
}

/// Each expectation with its result, and what that is based on.
fn worded(judged: &Judged) -> impl Iterator<Item = (String, String)> {
    let of = judged.candidate.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    judged.expectations.iter().map(move |expectation| {
        let sort = match expectation.truth {
            Truth::True => "holds",
            Truth::False => "FAILS",
            Truth::Unknown => "UNKNOWN",
        };
        let because = expectation.in_short();
        let because = if because.is_empty() { because } else { format!(": {because}") };
        (sort.to_owned(), format!("{of}{}{because}", expectation.name()))
    })
}
