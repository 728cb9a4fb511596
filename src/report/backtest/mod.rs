//! Runs over one load, side by side: the result of the comparison, how far the replay can be trusted, a table of
//! totals, where each candidate first differs from the replay, and a chart. The same as data.
//! Candidates are compared with the replay, never with the record: sampling smooths peaks, and both runs see
//! the same smoothing.

mod chart;
mod data;
mod headline;
mod load;
mod totals;

use std::path::Path;

use super::clock::TimeDisplay;
use super::search::Searched;
use super::section::{Detail, Part, Section, Table};
use super::timeline::Played;
use crate::backtest::{Backtest, CandidateRun, Parting, Run};
use crate::calendar::Calendar;
use crate::findings::FindingView;
use crate::whatif::overrides::{MANIFEST, Override, Reported, TEMPLATE};
use crate::whatif::timeline::{LoadFacts, Mark, PassChange, Timeline, Totals};
use crate::words::{in_words, list, long, one_or_many, part, percent};
use jiff::Timestamp;

/// Runs side by side.
#[derive(Debug)]
pub struct Compared<'a> {
    backtest: &'a Backtest,
    replay: Played<'a>,
    candidates: Vec<ComparedRun<'a>>,
    /// Whether every pass is among the data.
    pub(super) has_passes: bool,
}

/// A candidate, compared with the replay.
#[derive(Debug)]
struct ComparedRun<'a> {
    name: String,
    candidate: &'a CandidateRun,
    played: Played<'a>,
    findings: Vec<FindingView>,
}

/// The name of a candidate: its file without the directory, if that is unique. A file that is given several
/// times is numbered.
pub(crate) fn name(backtest: &Backtest, candidate: &CandidateRun) -> String {
    let name = plain_name(backtest, candidate);
    let before = backtest
        .candidates
        .iter()
        .take_while(|other| !std::ptr::eq(*other, candidate))
        .filter(|other| plain_name(backtest, other) == name);
    match before.count() {
        0 => name.to_owned(),
        before => format!("{name} ({})", before + 1),
    }
}

/// The file of a candidate without the directory; with it if another one has that name.
fn plain_name<'a>(backtest: &'a Backtest, candidate: &'a CandidateRun) -> &'a str {
    let name = file_name(candidate);
    let is_other = |it: &CandidateRun| file_name(it) == name && it.run.name != candidate.run.name;
    if backtest.candidates.iter().any(is_other) {
        &candidate.run.name
    } else {
        name
    }
}

fn file_name(candidate: &CandidateRun) -> &str {
    let file = candidate
        .manifest
        .as_ref()
        .map_or(&candidate.run.name, |manifest| &manifest.file);
    let name = Path::new(file).file_name().and_then(|name| name.to_str());
    name.unwrap_or(file)
}

impl<'a> ComparedRun<'a> {
    fn totals(&self) -> &'a Totals {
        &self.candidate.run.timeline.totals
    }
}

impl<'a> Compared<'a> {
    /// Compares runs; with the findings of each candidate, in order.
    pub fn new(backtest: &'a Backtest, findings: Vec<Vec<FindingView>>) -> Self {
        let played = |run: &'a Run| Played::new(&run.timeline, &run.pass);
        let candidates = backtest.candidates.iter().zip(findings);
        Self {
            backtest,
            replay: played(&backtest.replay),
            candidates: candidates
                .map(|(candidate, findings)| ComparedRun {
                    name: name(backtest, candidate),
                    candidate,
                    played: played(&candidate.run),
                    findings,
                })
                .collect(),
            has_passes: false,
        }
    }

    /// The findings of the candidates, by name.
    pub(super) fn findings(&self) -> impl Iterator<Item = (&str, &[FindingView])> {
        let candidates = self.candidates.iter();
        candidates.map(|own| (&*own.name, &own.findings[..]))
    }

    /// The name of the run whose first pass is explained.
    pub(super) fn first(&self) -> &str {
        let first = self.candidates.first();
        first.map_or(&self.backtest.replay.name, |own| &own.name)
    }

    /// Each run, the replay last.
    fn played(&self) -> impl Iterator<Item = &Played<'a>> {
        let candidates = self.candidates.iter().map(|own| &own.played);
        candidates.chain([&self.replay])
    }

    fn totals(&self) -> &'a Totals {
        &self.backtest.replay.timeline.totals
    }

    fn clock(&self) -> TimeDisplay {
        let from = self.backtest.replay.timeline.start;
        match &self.backtest.load {
            Some(LoadFacts {
                is_absolute: true, ..
            }) => TimeDisplay::Utc {
                from,
                to: from.plus(self.totals().span()),
            },
            _ => TimeDisplay::Since(from),
        }
    }

    /// The result of a search, if there was one.
    pub(super) fn search(&self) -> Option<Searched<'a>> {
        let found = self.backtest.search.as_ref()?;
        Some(Searched::new(found, self.totals()))
    }

    /// The totals of the candidates.
    fn runs(&self) -> impl Iterator<Item = &'a Totals> {
        self.candidates.iter().map(ComparedRun::totals)
    }

    /// Returns the replicas with which a candidate and the replay end after the load, if they differ.
    fn ends(&self, candidate: &CandidateRun) -> Option<(String, String)> {
        let [own, before] = [&candidate.run, &self.backtest.replay];
        let differ = last_replicas(own) != last_replicas(before);
        differ.then(|| (ends_at(own), ends_at(before)))
    }

    /// Returns the reason why the runs are uncertain.
    pub(super) fn doubt(&self) -> Option<String> {
        let doubt = self.played().find_map(Played::doubt)?;
        Some(format!(
            "Not certain: a run {doubt}. These are the most likely ones."
        ))
    }

    /// Returns a line for each assumption: first those of all runs, then those of each candidate.
    pub(super) fn assuming(&self) -> Vec<String> {
        let around = &self.backtest.replay.pass.input.surroundings;
        let shared = self
            .shared()
            .map(|own| format!("assuming {}", in_words(own, around)));
        let of_each = self.candidates.iter().filter_map(|it| {
            let own = self.own(it.candidate).map(|own| in_words(own, around));
            let own = Vec::from_iter(own);
            (!own.is_empty()).then(|| format!("{}: {}", it.name, list(&own)))
        });
        shared.chain(of_each).collect()
    }

    /// The assumptions of all runs that change what was observed.
    fn shared(&self) -> impl Iterator<Item = &'a Override> {
        self.backtest.replay.overrides.iter().filter(|own| {
            let observed = own.observed.as_ref();
            observed.is_none_or(|observed| observed.plain() != own.assumed)
        })
    }

    /// The assumptions of one candidate, in addition to its origin.
    fn own(&self, candidate: &'a CandidateRun) -> impl Iterator<Item = &'a Override> {
        let shared = &self.backtest.replay.overrides;
        candidate.run.overrides.iter().filter(move |own| {
            let mut pairs = shared.iter().map(|it| (&it.item, &it.assumed));
            let is_shared = pairs.any(|pair| pair == (&own.item, &own.assumed));
            !is_shared && ![MANIFEST, TEMPLATE].contains(&&*own.item)
        })
    }

    /// Returns the sections: the load and the check, the totals, where candidates part, and a chart; and the
    /// changes of each run.
    pub(super) fn sections(&self, wide: bool) -> Vec<Section> {
        let shared = self.shared().map(|own| assumed_row("all runs", own));
        let of_each = self.candidates.iter().flat_map(|it| {
            let own = self.own(it.candidate);
            own.map(|own| assumed_row(&it.name, own))
        });
        let assumed = shared.chain(of_each);
        let columns = ["CANDIDATE", "ITEM", "ASSUMED", "RUNNING"].map(|title| (title, false));
        let assumed = Part::Table(Table::new(columns, assumed.collect()));
        let facts = Part::Pairs(self.facts());
        let parted = Part::Pairs(self.parted());
        let mut sections = Vec::from_iter(Section::new("", Detail::Comment, [assumed]));
        sections.extend(Section::new("", Detail::Always, [facts]));
        sections.extend(self.search().iter().flat_map(Searched::sections));
        // In a search, the replay is a row of its table.
        let detail = if self.search().is_some() {
            Detail::Wide
        } else {
            Detail::Always
        };
        let chart = [
            Part::Chart(self.chart().into()),
            Part::Text(self.not_drawn()),
        ];
        sections.extend(Section::new("", detail, self.table()));
        sections.extend(Section::new("FIRST DIFFERENCE", Detail::Always, [parted]));
        sections.extend(Section::new("", detail, chart));
        let candidates = self.candidates.iter().map(|it| (&it.name, &it.played));
        let replay = (&self.backtest.replay.name, &self.replay);
        let runs = std::iter::once(replay).chain(candidates);
        sections.extend(runs.filter_map(|(name, played)| {
            let clock = self.clock();
            let Timeline { start, totals, .. } = played.timeline;
            let after = |time: Timestamp| {
                let is_after = time.duration_since(*start) >= totals.span();
                if is_after { " (after the load)" } else { "" }
            };
            let when = |time| format!("{}{}", clock.at(time), after(time));
            let changes = played.changes(("TIME", false), when, wide);
            Section::new(format!("RESCALES OF {name}"), Detail::Wide, changes)
        }));
        sections
    }

    /// The marks of the load within the run.
    fn marks(&self) -> impl Iterator<Item = &'a Mark> {
        let start = self.backtest.replay.timeline.start;
        let played = self.totals().span();
        let of_load = self.backtest.load.iter().flat_map(|load| &load.marks);
        of_load.filter(move |mark| {
            let after = mark.time.duration_since(start);
            !after.is_negative() && after < played
        })
    }

    /// Returns where each candidate first differs from the replay, and for how long they differ.
    fn parted(&self) -> Vec<(String, String)> {
        let parted = self.candidates.iter();
        parted
            .map(|it| (it.name.clone(), self.difference(it)))
            .collect()
    }

    fn difference(&self, it: &ComparedRun<'_>) -> String {
        let CandidateRun {
            parted, stretches, ..
        } = it.candidate;
        let Some(Parting {
            time,
            replay,
            candidate,
        }) = parted
        else {
            return match self.ends(it.candidate) {
                None => "nowhere: the replicas are those of the replay throughout".to_owned(),
                Some((own, before)) => format!(
                    "nowhere while the load lasts; after it, it ends at {own}, the replay at {before}"
                ),
            };
        };
        let differs = stretches.total();
        let share = differs.as_secs_f64() / self.totals().span().as_secs_f64();
        let number = stretches.all.len();
        format!(
            "{}: {}, where the replay {}. They differ for {}, {} of the time, in {number} {}.",
            self.clock().at(*time),
            done(&it.played, candidate),
            done(&self.replay, replay),
            long(differs),
            part(share),
            one_or_many(number, "stretch", "stretches")
        )
    }
}

/// Returns the text for a pass's change of the replicas, with its reason.
fn done(played: &Played<'_>, change: &PassChange) -> String {
    let PassChange { from, to, .. } = change;
    let what = if from == to {
        format!("keeps {to}")
    } else {
        format!("goes to {to}")
    };
    match played.because(change) {
        because if because.is_empty() => what,
        because => format!("{what} ({because})"),
    }
}

/// Returns the lowest and the highest replicas with which a run ends, and whether later passes may change them. A missing
/// answer changes none.
fn last_replicas(run: &Run) -> ((i32, i32), bool) {
    let Timeline { totals, swing, .. } = &run.timeline;
    let replicas = swing.unwrap_or((totals.last, totals.last));
    (
        replicas,
        swing.is_none() && !totals.is_settled && totals.ends_answered,
    )
}

/// Returns the replicas with which a run ends after the load.
fn ends_at(run: &Run) -> String {
    let Timeline { totals, swing, .. } = &run.timeline;
    match swing {
        Some((low, high)) => format!("{low} to {high}"),
        None if totals.is_settled => totals.last.to_string(),
        None if !totals.ends_answered => format!("{} (no answer)", totals.last),
        None => format!("{} (unsettled)", totals.last),
    }
}

fn assumed_row(run: &str, own: &Override) -> Vec<String> {
    let observed = own.observed.as_ref().map(Reported::plain);
    vec![
        run.to_owned(),
        own.item.clone(),
        own.assumed.clone(),
        observed.unwrap_or_default(),
    ]
}

/// A text of any length, cut to fit next to others.
fn at_a_glance(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// The name of a candidate as a title: a file keeps its case.
fn heading(name: &str) -> String {
    if name == "candidate" {
        name.to_uppercase()
    } else {
        name.to_owned()
    }
}

/// A change in percent, with its sign; 0% is no change at all.
fn signed(share: f64) -> String {
    match percent(share.abs()) {
        none if share == 0.0 => none,
        about if about == "0%" => "about the same".to_owned(),
        less if share < 0.0 => format!("-{less}"),
        more => format!("+{more}"),
    }
}
