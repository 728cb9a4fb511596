//! The decision of a pass under different conditions: the explanation of that pass, the assumptions, and the
//! answer without them.

use serde::{Serialize, Serializer};

use super::backtest::Compared;
use super::chart::Chart;
use super::expected::Judged;
use super::page::headline::Headline;
use super::page::{Page, Words, changes};
use super::section::{Detail, Part, Section, Table};
use super::timeline::Played;
use super::{Certainty, Explanation, Range};
use crate::findings::{Code, Severity};
use crate::pass::Pass;
use crate::whatif::expect::Expectation;
use crate::whatif::kept::KeptTarget;
use crate::whatif::overrides::Override;
use crate::whatif::thresholds::Thresholds;
use crate::whatif::timeline::Timeline;
use crate::words::{assumed, in_words};

/// A prediction. Serializes as the contract's object: an explanation with more fields.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Prediction<'a> {
    #[serde(flatten)]
    pub(crate) explanation: Explanation<'a>,
    pub(crate) overrides: Vec<Override>,
    /// The answer without the overrides; `None` if pods are assumed, so that nothing was observed.
    pub(crate) observed: Option<ObservedAnswer>,
    /// The passes that follow; `None` if they were not asked for or cannot be played.
    pub timeline: Option<Played<'a>>,
    /// The runs side by side; `None` if there is nothing to compare.
    pub(crate) backtest: Option<Compared<'a>>,
    #[serde(serialize_with = "in_one_list")]
    pub(crate) expectations: Vec<Judged>,
    /// For each metric, the values at which the answer changes; empty if the pass ignores metrics.
    pub(crate) thresholds: Vec<Thresholds>,
    /// The targets that keep the scale points, if other requests are assumed.
    pub kept_targets: Vec<KeptTarget>,
}

/// An expectation as the contract has it.
#[derive(Serialize)]
struct ExpectationView<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<&'a str>,
    #[serde(flatten)]
    expectation: &'a Expectation,
}

fn in_one_list<S: Serializer>(judged: &[Judged], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(judged.iter().flat_map(
        |Judged {
             candidate,
             expectations,
             ..
         }| {
            expectations.iter().map(move |expectation| ExpectationView {
                candidate: candidate.as_deref(),
                expectation,
            })
        },
    ))
}

/// The answer without the overrides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct ObservedAnswer {
    /// The replicas after the pass; `None` if the scale could not be read.
    pub(crate) replicas: Option<i32>,
    /// Whether unknowns could change it.
    pub(crate) certainty: Certainty,
    /// The replicas after the pass, over all unknowns.
    pub(crate) range: Option<Range>,
    #[serde(skip)]
    headline: Headline,
}

impl<'a> Prediction<'a> {
    /// Compares the two passes.
    pub fn new(
        mut explanation: Explanation<'a>,
        overrides: Vec<Override>,
        timeline: Option<&'a Timeline>,
        backtest: Option<Compared<'a>>,
        expectations: Vec<Judged>,
        thresholds: Vec<Thresholds>,
        observed: &Pass,
    ) -> Self {
        explanation.kind = "Prediction";
        // The written status belongs to the observed state.
        explanation.comparison = None;
        let pass = explanation.pass;
        let range = observed.outlook.range(&observed.decision);
        Self {
            timeline: timeline.map(|timeline| Played::new(timeline, pass)),
            backtest,
            explanation,
            overrides,
            observed: pass
                .input
                .surroundings
                .supposed
                .is_none()
                .then(|| ObservedAnswer {
                    replicas: observed.decision.replicas_after(),
                    certainty: Certainty::of(range),
                    range,
                    headline: Headline::of(observed),
                }),
            expectations,
            thresholds,
            kept_targets: Vec::new(),
        }
    }

    /// Returns the prediction with every pass of the compared runs.
    #[must_use]
    pub fn with_passes(mut self, is_wanted: bool) -> Self {
        if let Some(backtest) = &mut self.backtest {
            backtest.has_passes = is_wanted;
        }
        self
    }

    /// Replicas over time: of all runs if several are compared.
    pub fn over_time(&self) -> Option<Chart> {
        let of_runs = self.backtest.as_ref().map(|backtest| {
            let search = backtest.search();
            search.map_or_else(|| backtest.chart(), |search| search.chart())
        });
        of_runs.or_else(|| self.timeline.as_ref().map(Played::chart))
    }

    /// Replicas over the values of the metric of `--curve`.
    pub fn curve(&self) -> Option<Chart> {
        let replicas = self.explanation.pass.decision.replicas_after();
        let now = self.explanation.pass.input.snapshot.now;
        self.thresholds
            .iter()
            .find_map(|of| changes::chart(of, replicas, now))
    }
}

impl Page {
    /// Creates the page of a prediction: its assumptions, the page of its pass, and the answer without the
    /// overrides.
    pub fn of_prediction(prediction: &Prediction<'_>, wide: bool) -> Self {
        let mut page = Self::with_assumptions(prediction, wide);
        page.expect(&prediction.expectations);
        page.without_owner(&prediction.explanation.pass.input.snapshot.hpa)
    }

    fn with_assumptions(prediction: &Prediction<'_>, wide: bool) -> Self {
        let words = Words {
            explanation: &prediction.explanation,
            wide,
        };
        let played = prediction.timeline.as_ref();
        let now = prediction.explanation.pass.input.snapshot.now;
        let rows = changes::rows(&prediction.thresholds, &prediction.kept_targets, now);
        let changes = Section::new("CHANGES", Detail::Always, [Part::Records(rows)]);
        let curve = prediction.curve().and_then(|curve| {
            let title = curve.title.clone();
            Section::new(title, Detail::Always, [Part::Chart(curve.into())])
        });

        // A timeline covers the same for a load that does not follow the pods.
        let next = match (played, &prediction.backtest) {
            (_, Some(_)) => None,
            (Some(played), None) => played.section(wide),
            (None, None) => words.upcoming(),
        };
        // Without a scale, no value was tried.
        let has_scale = prediction.explanation.pass.input.snapshot.scale.is_ok();
        let mut sections = words.of_pass(next, changes.filter(|_| has_scale));
        let mut assumed = played.map(Played::assumed).unwrap_or_default();
        for code in words.overruling().filter(|_| played.is_some()) {
            let (who, what) = match code {
                Code::ControllerSilent => ("controller", "assumed to make passes from now on"),
                _ => (
                    "other writer",
                    "assumed not to set the replicas from now on",
                ),
            };
            assumed.push((who.to_owned(), what.to_owned()));
        }
        let Some(backtest) = &prediction.backtest else {
            sections.extend(curve);
            sections.extend(words.wide_hint());
            sections.extend(words.rests_on(Severity::Info, assumed, Vec::new()));
            let mut page = words.advising_page(sections);
            assume(&mut page, prediction);
            return page;
        };
        // The comparison comes first; the pass that it begins with is a detail.
        sections
            .iter_mut()
            .for_each(|section| section.detail = Detail::Wide);
        let rests_on = words.rests_on(Severity::Warning, Vec::new(), assumed);
        let mut page = words.page(Vec::new());
        let first = std::iter::once(page.verdict).chain(page.why).collect();
        let title = format!("FIRST PASS OF {}", backtest.first());
        page.sections = backtest.sections(wide);
        page.sections.extend(words.lasting_findings(backtest, wide));
        page.sections.extend(curve);
        page.sections
            .extend(Section::new(title, Detail::Wide, [Part::Text(first)]));
        page.sections.extend(sections.into_iter().chain(rests_on));
        page.warning = backtest.warning();
        page.assuming = backtest.assuming();
        (page.tone, page.verdict) = backtest.headline();
        page.why = Vec::from_iter(backtest.doubt());
        page
    }
}

/// Adds the assumptions of a prediction, with the answer without them.
fn assume(page: &mut Page, prediction: &Prediction<'_>) {
    let observed = prediction.observed.map(
        |ObservedAnswer {
             range, headline, ..
         }| {
            let headline = headline.text().to_uppercase();
            match range.filter(|it| it.min != it.max) {
                Some(Range { min, max }) => {
                    format!("{headline}, not certain: between {min} and {max}")
                }
                None => headline,
            }
        },
    );
    let around = &prediction.explanation.pass.input.surroundings;
    let was_observed = around.supposed.is_none() && !around.lacks_pods;
    if prediction.overrides.is_empty() && was_observed {
        page.assuming
            .push("assuming nothing beyond what was observed".to_owned());
    } else {
        let answers = observed
            .as_deref()
            .map(|observed| [&*page.verdict, observed]);
        let table = overrides(prediction, answers);
        let table = Section::new("", Detail::Comment, [Part::Table(table)]);
        page.sections.splice(0..0, table);
    }
    page.assuming.extend(
        prediction
            .overrides
            .iter()
            .map(|own| format!("assuming {}", in_words(own, around))),
    );
    page.observed = observed.filter(|_| !around.lacks_pods);
}

/// Returns the assumed and the observed values, side by side, with the verdict on each, if anything was
/// observed.
fn overrides(prediction: &Prediction<'_>, verdicts: Option<[&str; 2]>) -> Table {
    let all = &prediction.overrides;
    let has_observed = verdicts.is_some() || all.iter().any(|own| own.observed().is_some());
    let rows = all.iter().map(|own| {
        let observed = has_observed.then(|| own.observed().unwrap_or_default());
        [own.item.clone(), assumed(own)]
            .into_iter()
            .chain(observed)
            .collect()
    });
    let answers = verdicts.map(|[assumed, observed]| {
        let cells = ["answer", assumed, observed];
        cells.map(str::to_owned).to_vec()
    });
    let columns = [("ITEM", false), ("ASSUMED", false)]
        .into_iter()
        .chain(has_observed.then_some(("OBSERVED", false)));
    Table::new(columns, rows.chain(answers).collect())
}
