//! The report for people: one sentence with what happens and why, the problems and their remedies, the
//! metrics, the way from the highest proposal to the replicas, and what comes next. The pods, the
//! controller's conditions and events, and all assumptions belong to the wide report. Everything is text
//! here; layout and color come later.

pub(in crate::report) mod changes;
mod comparison;
mod findings;
pub(in crate::report) mod headline;
pub(in crate::report) mod metrics;
mod path;
mod pods;
mod upcoming;
pub(in crate::report) mod verdict;

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::section::{Detail, Part, Section, Table, Tone};
use crate::words::{count, list};
use headline::Headline;

use super::Explanation;
use super::expected::{Judged, expected};
use crate::apimachinery::json::SecondsTime;
use crate::engine::decision::MetricStep;
use crate::findings::{Code, FindingView, Severity};
use crate::keda::OWNER;
use crate::memory::Knowledge;
use crate::pass::Pass;
use crate::snapshot::Scale;
use crate::snapshot::basis::Basis;
use crate::snapshot::hpa::{Hpa, HpaSpec, MetricSpec};
use crate::snapshot::note::{Note, Subject};

/// A report: what happens and why, and the sections with the details.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The reason why the answer may be unreliable.
    pub warning: Option<String>,
    /// The assumptions on which the answer is based.
    pub assuming: Vec<String>,
    /// The HPA and its target.
    pub title: String,
    /// The version whose rules apply, and the time.
    pub subtitle: String,
    /// The tone of the verdict.
    pub tone: Tone,
    /// The verdict, in a few words.
    pub verdict: String,
    /// The reasons, in a sentence or two.
    pub why: Vec<String>,
    /// The verdict on the observed state, if something is assumed.
    pub observed: Option<String>,
    /// The expectations and their results, if there are any: a comment begins with them.
    pub expected: Option<Section>,
    /// Whether it includes details that are usually not needed.
    pub wide: bool,
    /// The sections, in order.
    pub sections: Vec<Section>,
}

impl Page {
    /// Puts the expectations and their results first in a comment.
    pub fn expect(&mut self, judged: &[Judged]) {
        self.expected = expected(judged);
    }

    /// Creates the page of an explanation. `wide` adds details that are usually not needed: every pod, and the
    /// tolerance of each metric.
    pub fn new(explanation: &Explanation<'_>, wide: bool) -> Self {
        let words = Words { explanation, wide };
        let mut sections = words.of_pass(words.upcoming(), None);
        sections.extend(words.wide_hint());
        sections.extend(words.rests_on(Severity::Info, Vec::new(), Vec::new()));
        words
            .advising_page(sections)
            .without_owner(&explanation.pass.input.snapshot.hpa)
    }

    /// Returns the page without the selector that KEDA gives to all external metrics of a ScaledObject, if the
    /// names alone distinguish the metrics of the HPA.
    pub(super) fn without_owner(mut self, hpa: &Hpa) -> Self {
        let metrics = &hpa.spec.metrics;
        let start = format!("{OWNER}=");
        let selectors: BTreeSet<String> = metrics
            .iter()
            .map(MetricSpec::selector)
            .filter(|it| it.starts_with(&start) && !it.contains(','))
            .map(|selector| format!("{{{selector}}}"))
            .collect();
        let names: BTreeSet<String> = metrics.iter().map(MetricSpec::short_label).collect();
        if names.len() < metrics.len() {
            return self;
        }
        for selector in selectors {
            let mut shorten = |text: &mut String| {
                if text.contains(&selector) {
                    *text = text.replace(&selector, "");
                }
            };
            self.each_text(&mut shorten);
        }
        self
    }

    /// Returns the page with its own symbols in ASCII. Other letters are made ASCII when they are shown.
    #[must_use]
    pub fn in_ascii(mut self) -> Self {
        self.each_text(&mut |text| {
            if !text.is_ascii() {
                *text = text.replace('→', "->").replace('×', "x");
            }
        });
        self
    }

    /// Changes each of its texts, except commands.
    fn each_text(&mut self, change: &mut impl FnMut(&mut String)) {
        let lines = [&mut self.title, &mut self.verdict];
        let others = self.observed.iter_mut().chain(&mut self.warning);
        let sentences = self.assuming.iter_mut().chain(&mut self.why);
        for text in lines.into_iter().chain(others).chain(sentences) {
            change(text);
        }
        for section in self.expected.iter_mut().chain(&mut self.sections) {
            section.each_text(change);
        }
    }
}

/// The texts of an explanation, section by section.
pub(super) struct Words<'a> {
    pub(super) explanation: &'a Explanation<'a>,
    pub(super) wide: bool,
}

impl Words<'_> {
    /// Returns a page with these sections.
    pub(super) fn page(&self, sections: Vec<Section>) -> Page {
        let (headline, why) = self.verdict();
        Page {
            warning: None,
            assuming: Vec::new(),
            title: self.title(),
            subtitle: self.subtitle(),
            tone: headline.tone(),
            verdict: self.headline(headline).to_uppercase(),
            why,
            observed: None,
            expected: None,
            wide: self.wide,
            sections,
        }
    }

    /// Returns the sections on the pass itself, with the passes that follow and the changes of the answer.
    pub(super) fn of_pass(&self, next: Option<Section>, changes: Option<Section>) -> Vec<Section> {
        let [findings, metrics] = [self.findings(Severity::Info), self.metrics()];
        let first = [
            findings,
            metrics,
            self.path(),
            next,
            changes,
            self.evidence(),
        ];
        let last = [self.conditions_and_events(), self.comparison()];
        let sections = first.into_iter().flatten().chain(self.pods());
        sections.chain(last.into_iter().flatten()).collect()
    }

    /// Returns a page with these sections that, after what decides, gives the advice on it.
    pub(super) fn advising_page(&self, sections: Vec<Section>) -> Page {
        let mut page = self.page(sections);
        let place = page.why.len().min(1);
        page.why.splice(place..place, self.advice_on_rules());
        page
    }

    /// Describes what happens, with the finding that is the cause if the controller cannot decide, does not run
    /// or could not write.
    fn headline(&self, headline: Headline) -> String {
        let text = headline.text();
        let mut findings = self.explanation.findings.iter();
        let is_trouble = |it: &&FindingView| it.severity < Severity::Info;
        let cause = match headline {
            // A more important problem may still not be the reason why there is no decision.
            Headline::Undecided(_) | Headline::CannotRead => findings.find(|it| it.ends),
            Headline::Lacks(_) | Headline::MayNotRead(_) | Headline::NotRead => None,
            _ => findings.find(is_trouble).filter(|first| match first.code {
                Code::ScaleNotWritten => matches!(headline, Headline::Scale { .. }),
                Code::ControllerSilent => first.severity == Severity::Error,
                _ => false,
            }),
        };
        match cause.map(|it| it.follows.unwrap_or(it.code)) {
            Some(Code::ScaleNotWritten) => format!("{text}: the last write failed"),
            Some(code) => format!("{text}: {}", code.as_str().replace('-', " ")),
            None => text,
        }
    }

    fn metric_steps(&self) -> impl Iterator<Item = &MetricStep> {
        self.explanation.pass.decision.metrics()
    }

    fn now(&self) -> Timestamp {
        self.explanation.pass.input.snapshot.now
    }

    fn scale(&self) -> Option<&Scale> {
        self.explanation.pass.input.snapshot.scale.as_ref().ok()
    }

    fn title(&self) -> String {
        let hpa = &self.explanation.pass.input.snapshot.hpa;
        let target = &hpa.spec.scale_target_ref;
        let deleted = if hpa.deletion_timestamp.is_some() {
            ", BEING DELETED"
        } else {
            ""
        };
        format!(
            "{}/{} → {}/{}{deleted}",
            hpa.namespace, hpa.name, target.kind, target.name
        )
    }

    fn subtitle(&self) -> String {
        let rules = &self.explanation.rules;
        format!("rules of {rules}, at {}", SecondsTime(self.now()))
    }

    /// Returns the label of a metric in the report.
    fn label(&self, metric: &MetricStep) -> String {
        Self::label_in(self.explanation.hpa.spec, metric)
    }

    /// Returns the label of a metric of a spec.
    pub(in crate::report) fn label_in(spec: &HpaSpec, metric: &MetricStep) -> String {
        let label = spec.label(metric.index);
        if label.is_empty() {
            format!("metric {}", metric.index + 1)
        } else {
            label
        }
    }

    /// Returns conditions as the controller would write them, and events as it would send them.
    fn conditions_and_events(&self) -> Option<Section> {
        let outcome = self.explanation.outcome;
        let conditions = outcome
            .status
            .iter()
            .flat_map(|status| &status.conditions)
            .map(|it| {
                vec![
                    it.type_.clone(),
                    it.status.clone(),
                    it.reason.clone(),
                    it.message.clone(),
                ]
            });
        let events = outcome.events.iter().flatten().map(|it| {
            vec![
                format!("{} event", it.type_),
                it.reason.to_owned(),
                it.message.clone(),
            ]
        });
        let conditions = Table::new([("", false); 4], conditions.collect());
        let events = Table::new([("", false); 3], events.collect());
        let body = [Part::Records(conditions), Part::Records(events)];
        Section::new("CONDITIONS AND EVENTS", Detail::Wide, body)
    }

    /// Returns the sections on what the answer is based on, with further assumptions about later passes, the more
    /// important part of which is in every report, and the notes. The report shows findings of at least a
    /// severity.
    pub(super) fn rests_on(
        &self,
        least: Severity,
        important: Vec<(String, String)>,
        further: Vec<(String, String)>,
    ) -> impl Iterator<Item = Section> {
        let assumed = self
            .assumed()
            .into_iter()
            .chain(important.iter().cloned())
            .chain(further);
        let assumed = Section::new("ASSUMED", Detail::Wide, [Part::Pairs(assumed.collect())]);
        let brief = Part::Hinted(
            self.briefly_assumed().unwrap_or_default(),
            " (-o wide for more).",
        );
        let brief = Section::new("", Detail::Always, [Part::Pairs(important), brief]);
        let pass = self.explanation.pass;
        // No finding repeats those on a past pass.
        let past = pass.input.evidence.past.iter();
        let of_past = past.flat_map(|past| past.notes(self.explanation.hpa.spec));
        let others = pass.notes().filter(|note| !self.is_found(note, least));
        let texts = of_past.chain(others.map(ToString::to_string));
        let notes = Section::new("NOTES", Detail::Always, [Part::Text(texts.collect())]);
        [assumed, brief.filter(|_| !self.wide), notes]
            .into_iter()
            .flatten()
    }

    /// Whether a finding of at least a severity that is shown already contains a note.
    fn is_found(&self, note: &Note, least: Severity) -> bool {
        let all = &self.explanation.findings;
        let listed = if self.wide {
            all.iter().collect()
        } else {
            findings::shown(all, least)
        };
        let mut shown = listed.into_iter().filter(|it| it.severity <= least);
        let metrics = &self.explanation.hpa.spec.metrics;
        match &note.subject {
            Subject::StaleValues { metric } => {
                let stale = shown.filter(|it| it.code == Code::StaleSamples);
                let mut places = stale.flat_map(|it| &it.metrics);
                places.any(|place| match metric {
                    Some(name) => metrics[*place].name() == name,
                    None => metrics[*place].is_resource(),
                })
            }
            Subject::NoSuchContainer { index } => {
                shown.any(|it| it.code == Code::UnknownContainer && it.metrics.contains(index))
            }
            _ => false,
        }
    }

    /// Returns the hint that the wide report has evidence and commands of the findings, if nothing else mentions
    /// it.
    pub(super) fn wide_hint(&self) -> Option<Section> {
        let is_mentioned = self.briefly_assumed().is_some();
        let hint = Part::Hint("-o wide shows the evidence, with commands to paste.");
        Section::new("", Detail::Always, [hint]).filter(|_| !is_mentioned && self.hides_evidence())
    }

    /// Describes assumptions that are not defaults.
    fn briefly_assumed(&self) -> Option<String> {
        let pass = self.explanation.pass;
        let is_used = pass.decision.stabilization().is_some();
        let history = self.history().0.filter(|_| is_used);
        let basis = pass.input.basis.iter().filter_map(Basis::brief);
        let all: Vec<String> = basis.chain(history.map(str::to_owned)).collect();
        (!all.is_empty()).then(|| format!("Assuming {}", list(&all)))
    }

    fn assumed(&self) -> Vec<(String, String)> {
        let basis = self.explanation.basis.iter().map(|basis| {
            let text = format!("{} ({})", basis.value, basis.source);
            (basis.item.to_owned(), text)
        });
        let history = self.history().1.map(|text| ("history".to_owned(), text));
        basis.chain(history).collect()
    }

    /// Describes the controller's history: in short, if it is not stated, and in a line of its own, if nothing in
    /// the basis states it.
    fn history(&self) -> (Option<&'static str>, Option<String>) {
        let Pass {
            input, remembered, ..
        } = self.explanation.pass;
        // Past recommendations do not count, and without behavior nothing else of the past does.
        if remembered.likely.is_without_past && input.snapshot.hpa.spec.behavior.is_none() {
            return (None, None);
        }
        let (brief, line) = match remembered.knowledge {
            Knowledge::Stated => {
                let memory = &remembered.likely;
                let recommendations = memory.recommendations.len();
                let events = memory.scale_up_events.len() + memory.scale_down_events.len();
                let seeded = match recommendations {
                    0 => ", so that the current replicas count as one,",
                    _ => "",
                };
                let line = format!(
                    "{}{seeded} and {} (stated in the input)",
                    count(recommendations, "recommendation"),
                    count(events, "scale event")
                );
                return (None, Some(line));
            }
            Knowledge::JustStarted if remembered.is_known_empty() => return (None, None),
            Knowledge::JustStarted if input.is_new_hpa => (
                "a new HPA without a history",
                "the HPA is new: the current replicas count as the only recommendation",
            ),
            Knowledge::JustStarted => (
                "a controller that has just started",
                "just started: the current replicas count as the only recommendation (no history \
                 is stated)",
            ),
            Knowledge::Inferred if input.evidence.past.is_some() => {
                return (Some("a history inferred from the passes before"), None);
            }
            Knowledge::Inferred if self.uses_record() => {
                let brief = "a history inferred from the status, events and samples";
                return (Some(brief), None);
            }
            Knowledge::Inferred => {
                return (Some("a history inferred from the status and events"), None);
            }
            Knowledge::Unknown if !remembered.likely.needs_seed() => (
                "the current replicas as the last recommendation",
                "unknown: the current replicas are assumed to have been recommended before the passes that \
                 failed (no evidence of others)",
            ),
            Knowledge::Unknown => (
                "the current replicas as the only recommendation",
                "unknown: the current replicas are assumed to be the only recommendation (no \
                 evidence of others)",
            ),
        };
        (Some(brief), Some(line.to_owned()))
    }
}
