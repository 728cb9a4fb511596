//! Runs over one load, side by side: the result of the comparison, how far the replay can be trusted, a table of
//! totals, where each candidate first differs from the replay, and a chart. The same as data.
//! Candidates are compared with the replay, never with the record: sampling smooths peaks, and both runs see
//! the same smoothing.

mod data;

use std::path::Path;

use super::chart::{Chart, MOST_SERIES};
use super::clock::{TimeDisplay, millis};
use super::search::{OTHER_TARGETS, Searched};
use super::section::{Detail, Part, Section, Symbols, Table, Tone};
use super::timeline::Played;
use super::totals::{hours, rescales};
use crate::apimachinery::json::SecondsTime;
use crate::backtest::{Backtest, CandidateRun, Check, Parting, Run};
use crate::calendar::Calendar;
use crate::findings::FindingView;
use crate::whatif::overrides::{MANIFEST, Override, Reported, TEMPLATE};
use crate::whatif::timeline::{LoadFacts, Mark, PassChange, Timeline, Totals};
use crate::words::{count, duration, first_few, in_words, list, long, part, percent};
use jiff::{SignedDuration, Timestamp};

/// Runs side by side.
#[derive(Debug)]
pub struct Compared<'a> {
    backtest: &'a Backtest,
    replay: Played<'a>,
    /// In the order of the candidates.
    candidates: Vec<Played<'a>>,
    /// The findings of each candidate, in the same order.
    findings: Vec<Vec<FindingView>>,
    has_passes: bool,
}

/// A replay is warned about if it is within one of the recorded replicas for less than this share of the
/// time: if it is off by two or more for longer, it misses more than the peaks between two samples.
const TRUSTED: f64 = 0.9;

/// A replay is also warned about if it has exactly the recorded replicas for less than this share of the
/// time: with few replicas, one is much.
const TRUSTED_EQUAL: f64 = 0.5;

/// A replay is also warned about if its replica-hours, which people compare, are off by more than this share.
const TRUSTED_HOURS: f64 = 0.1;

/// The share of the time without an answer from which a comparison mentions it.
const CONSIDERABLE: f64 = 0.1;

/// The number of marks that are named.
const NAMED: usize = 3;

/// The width of most terminals, which a table with a column for each run has to fit.
const WIDTH: usize = 80;

/// The rows of the chart, which shares the screen with the table.
const ROWS: usize = 12;

/// A column of the table of totals.
struct Column<'a> {
    title: String,
    totals: &'a Totals,
    kind: RunKind,
    /// The replicas at its end, after the load.
    ends_at: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RunKind {
    /// Only its replicas are known.
    Record,
    Replay,
    Candidate,
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

impl<'a> Compared<'a> {
    /// Compares runs; with the findings of each candidate, in order.
    pub fn new(backtest: &'a Backtest, findings: Vec<Vec<FindingView>>) -> Self {
        let played = |run: &'a Run| Played::new(&run.timeline, &run.pass);
        let replay = played(&backtest.replay);
        let candidates = backtest
            .candidates
            .iter()
            .map(|own| played(&own.run))
            .collect();
        Self {
            backtest,
            replay,
            candidates,
            findings,
            has_passes: false,
        }
    }

    /// Returns the same with every pass as data.
    pub(super) fn with_passes(self, is_wanted: bool) -> Self {
        Self {
            has_passes: is_wanted,
            ..self
        }
    }

    /// The findings of the candidates, by name.
    pub(super) fn findings(&self) -> impl Iterator<Item = (String, &[FindingView])> {
        let findings = self.findings.iter().map(|findings| &findings[..]);
        self.backtest
            .candidates
            .iter()
            .map(|own| self.name(own))
            .zip(findings)
    }

    fn each(&self) -> impl Iterator<Item = (String, &'a CandidateRun, &Played<'a>)> {
        let candidates = self.backtest.candidates.iter().zip(&self.candidates);
        candidates.map(|(candidate, played)| (self.name(candidate), candidate, played))
    }

    fn name(&self, candidate: &CandidateRun) -> String {
        name(self.backtest, candidate)
    }

    /// The name of the run whose first pass is explained.
    pub(super) fn first(&self) -> String {
        let first = self.backtest.candidates.first();
        first.map_or_else(
            || self.backtest.replay.name.clone(),
            |first| self.name(first),
        )
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

    /// The result of the comparison, in a few words.
    pub(super) fn headline(&self) -> (Tone, String) {
        if let Some(search) = self.search() {
            return search.headline();
        }
        let is_off = |own: &Totals| own.highest.replicas == 0;
        if is_off(self.totals()) && self.runs().all(is_off) {
            let text = "THE HPA IS SWITCHED OFF: ITS TARGET HAS 0 REPLICAS THROUGHOUT";
            return (Tone::Stay, text.to_owned());
        }
        let is_unanswered = |own: &Totals| own.unanswered() == own.span();
        if is_unanswered(self.totals()) && self.runs().all(is_unanswered) {
            let text = "NO PASS HAS AN ANSWER: METRICS ARE MISSING THROUGHOUT";
            return (Tone::Stay, text.to_owned());
        }
        match &self.backtest.candidates[..] {
            [] => {
                let replay = self.totals();
                let hours = hours(replay.replica_hours());
                let short = long(replay.short());
                let mut parts = vec![
                    format!("{hours} REPLICA-HOURS"),
                    format!("SHORT FOR {short}"),
                ];
                parts.extend(self.without_answer(replay));
                (Tone::Stay, format!("REPLAY: {}", parts.join(", ")))
            }
            [candidate] => self.headline_of_one(candidate),
            several => (
                Tone::Stay,
                format!("{} CANDIDATES: {}", several.len(), self.range().join(", ")),
            ),
        }
    }

    /// The totals of the candidates.
    fn runs(&self) -> impl Iterator<Item = &'a Totals> {
        let candidates = self.backtest.candidates.iter();
        candidates.map(|own| &own.run.timeline.totals)
    }

    fn headline_of_one(&self, candidate: &CandidateRun) -> (Tone, String) {
        let name = heading(&self.name(candidate));
        let (totals, replay) = (&candidate.run.timeline.totals, self.totals());
        if candidate.stretches.all.is_empty() {
            let mut parts = vec![match self.ends(candidate) {
                None => "THE SAME REPLICAS AS THE REPLAY THROUGHOUT".to_owned(),
                Some((own, before)) => format!(
                    "THE SAME REPLICAS AS THE REPLAY WHILE THE LOAD LASTS, BUT IT ENDS AT {}, \
                     THE REPLAY AT {}",
                    own.to_uppercase(),
                    before.to_uppercase()
                ),
            }];
            parts.extend(self.without_answer(totals));
            return (Tone::Stay, format!("{name}: {}", parts.join("; ")));
        }
        let (hours, before) = (totals.replica_hours(), replay.replica_hours());
        let tone = if hours < before {
            Tone::Down
        } else if hours > before {
            Tone::Up
        } else {
            Tone::Stay
        };
        let mut parts = vec![difference(hours, before)];
        let short = long(totals.short());
        parts.push(match (long(replay.short()), replay.short().is_zero()) {
            (before, true) if before == short => "NEVER SHORT".to_owned(),
            (before, _) if before == short => format!("SHORT FOR {short} IN BOTH"),
            (before, _) => format!("SHORT FOR {short} INSTEAD OF {before}"),
        });
        parts.extend(self.without_answer(totals));
        (tone, format!("{name}: {}", parts.join(", ")))
    }

    /// Returns the totals of several candidates, from the lowest to the highest.
    fn range(&self) -> Vec<String> {
        let (each, own, before) =
            self.extent(Totals::replica_hours, |it| hours(it.replica_hours()));
        let mut parts = vec![
            format!("{each}{own} REPLICA-HOURS (REPLAY: {before})"),
            self.lengths_extent("SHORT", Totals::short),
        ];
        if is_considerable(self.totals()) || self.runs().any(is_considerable) {
            parts.push(self.lengths_extent("WITHOUT AN ANSWER", Totals::unanswered));
        }
        parts
    }

    /// Describes how long the candidates were in a state, from the shortest to the longest, and the replay.
    fn lengths_extent(&self, what: &str, of: impl Fn(&Totals) -> SignedDuration) -> String {
        let (each, own, before) = self.extent(|it| of(it).as_secs_f64(), |it| long(of(it)));
        format!("{each}{what} FOR {own} (REPLAY: {before})")
    }

    /// Describes the lowest and the highest total of the candidates, whether all are equal, and the replay's
    /// total.
    fn extent(
        &self,
        of: impl Fn(&Totals) -> f64,
        text: impl Fn(&Totals) -> String,
    ) -> (&'static str, String, String) {
        let mut runs: Vec<&Totals> = self.runs().collect();
        runs.sort_by(|one, other| of(one).total_cmp(&of(other)));
        let [least, most, before] = [runs[0], runs[runs.len() - 1], self.totals()].map(text);
        if least == most {
            ("EACH ", least, before)
        } else {
            ("", format!("{least} TO {most}"), before)
        }
    }

    /// Returns the replicas with which a candidate and the replay end after the load, if they differ.
    fn ends(&self, candidate: &CandidateRun) -> Option<(String, String)> {
        let (own, before) = (ends_at(&candidate.run), ends_at(&self.backtest.replay));
        (own != before).then_some((own, before))
    }

    /// The time without an answer, if it differs from the replay's or is considerable.
    fn without_answer(&self, own: &Totals) -> Option<String> {
        let replay = self.totals();
        let length = long(own.unanswered());
        if own.unanswered() != replay.unanswered() {
            let before = long(replay.unanswered());
            return Some(format!("NO ANSWER FOR {length} INSTEAD OF {before}"));
        }
        let in_both = if self.candidates.is_empty() {
            ""
        } else {
            " IN BOTH"
        };
        let span = long(own.span());
        is_considerable(own).then(|| format!("NO ANSWER FOR {length} OF {span}{in_both}"))
    }

    /// Returns the warning that the replay cannot be trusted.
    pub(super) fn warning(&self) -> Option<String> {
        let check = self.backtest.check.as_ref()?;
        let equal = share(check.equal, check.compared)?;
        let within_one = share(check.within_one, check.compared)?;
        let off = check.replica_hours.map_or(0.0, |ratio| (ratio - 1.0).abs());
        if within_one >= TRUSTED && equal >= TRUSTED_EQUAL && off <= TRUSTED_HOURS {
            return None;
        }
        let hours = check
            .replica_hours
            .filter(|_| off > TRUSTED_HOURS)
            .map(|ratio| format!(", replica-hours {}", signed(ratio - 1.0)));
        let (equal, within_one, hours) = (part(equal), part(within_one), hours.unwrap_or_default());
        let is_compared = !self.candidates.is_empty() || self.backtest.search.is_some();
        let comparison = if is_compared {
            ", and neither does the comparison"
        } else {
            ""
        };
        Some(format!(
            "Warning: the replay has the recorded replicas for {equal} of the time (within one for \
             {within_one}{hours}), so it says little about this cluster{comparison}"
        ))
    }

    /// Returns the reason why the runs are uncertain.
    pub(super) fn doubt(&self) -> Option<String> {
        let mut all = self.candidates.iter().chain([&self.replay]);
        let doubt = all.find_map(Played::doubt)?;
        Some(format!(
            "Not certain: a run {doubt}. These are the most likely ones."
        ))
    }

    /// Returns a line for each assumption: first those of all runs, then those of each candidate.
    pub(super) fn assuming(&self, symbols: Symbols) -> Vec<String> {
        let around = &self.backtest.replay.pass.input.surroundings;
        let shared = self
            .shared()
            .map(|own| format!("assuming {}", in_words(own, symbols.arrow, around)));
        let of_each = self.each().filter_map(|(name, candidate, _)| {
            let own: Vec<String> = self
                .own(candidate)
                .map(|own| in_words(own, symbols.arrow, around))
                .collect();
            (!own.is_empty()).then(|| format!("{name}: {}", list(&own)))
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
    pub(super) fn sections(&self, symbols: Symbols, wide: bool) -> Vec<Section> {
        let shared = self.shared().map(|own| assumed_row("all runs", own));
        let of_each = self.each().flat_map(|(name, candidate, _)| {
            self.own(candidate).map(move |own| assumed_row(&name, own))
        });
        let assumed = shared.chain(of_each);
        let columns = ["CANDIDATE", "ITEM", "ASSUMED", "RUNNING"].map(|title| (title, false));
        let assumed = Part::Table(Table::new(columns, assumed.collect()));
        let facts = Part::Pairs(self.facts());
        let parted = Part::Pairs(self.parted());
        let mut sections = vec![
            Section::new("", Detail::Comment, [assumed]),
            Section::new("", Detail::Always, [facts]),
        ];
        sections.extend(self.search().iter().flat_map(Searched::sections));
        // In a search, the replay is a row of its table.
        let detail = if self.search().is_some() {
            Detail::Wide
        } else {
            Detail::Always
        };
        sections.extend([
            Section::new("", detail, self.table()),
            Section::new("FIRST DIFFERENCE", Detail::Always, [parted]),
            Section::new(
                "",
                detail,
                [
                    Part::Chart(self.chart().into()),
                    Part::Text(self.not_drawn()),
                ],
            ),
        ]);
        sections.retain(|section| !section.body.is_empty());
        let candidates = self.each().map(|(name, _, played)| (name, played));
        let runs = [(self.backtest.replay.name.clone(), &self.replay)]
            .into_iter()
            .chain(candidates);
        sections.extend(runs.filter_map(|(name, played)| {
            let clock = self.clock();
            let Timeline { start, totals, .. } = played.timeline;
            let after = |time: Timestamp| {
                let is_after = time.duration_since(*start) >= totals.span();
                if is_after { " (after the load)" } else { "" }
            };
            let when = |time| format!("{}{}", clock.at(time), after(time));
            let changes = played.changes(("TIME", false), when, symbols, wide);
            Section::new(format!("RESCALES OF {name}"), Detail::Wide, changes).unless_empty()
        }));
        sections
    }

    /// The load, how the replay agrees with the record, and how pods start.
    fn facts(&self) -> Vec<(String, String)> {
        let played = self.totals().span();
        let load = match &self.backtest.load {
            Some(load) => self.load(load, played),
            None => format!("as it is in the first pass, for {}", long(played)),
        };
        let mut facts = vec![("LOAD".to_owned(), load)];
        let lacking = &self.backtest.lacking;
        facts.extend((!lacking.is_empty()).then(|| {
            let text = format!(
                "{}: not in the load, and not readable at its start",
                list(lacking)
            );
            ("NO VALUE".to_owned(), text)
        }));
        facts.extend(
            self.backtest
                .check
                .as_ref()
                .map(|it| ("CHECK".to_owned(), self.check(it))),
        );
        facts.extend(self.backtest.ready_after.map(|ready| {
            let used = self.backtest.replay.timeline.times.ready;
            let instead = if used == ready {
                String::new()
            } else {
                format!("; {} assumed (--ready-after)", duration(used))
            };
            (
                "PODS".to_owned(),
                format!("ready after {}, as recorded{instead}", duration(ready)),
            )
        }));
        facts
    }

    fn load(&self, load: &LoadFacts, played: SignedDuration) -> String {
        let LoadFacts {
            metrics,
            step,
            is_absolute,
            start: begun,
            end,
            gaps,
            marks: _,
        } = load;
        let mut text = list(metrics);
        if let Some(step) = step {
            text += &format!(", every {}", long(*step));
        }
        let length = end.duration_since(*begun);
        if !length.is_zero() {
            text += &format!(", {}", long(length));
        }
        if *is_absolute {
            text += &format!(" to {} {}", end.strftime("%a"), SecondsTime(*end));
        }
        if gaps.count > 0 {
            text += &format!("; {} ({})", count(gaps.count, "gap"), long(gaps.total));
        }
        let start = self.backtest.replay.timeline.start;
        let shown = Vec::from_iter(self.marks());
        if !shown.is_empty() {
            let clock = self.clock();
            let named: Vec<String> = shown
                .iter()
                .map(|Mark { time, text }| format!("{} {}", at_a_glance(text), clock.at(*time)))
                .collect();
            let marks = count(shown.len(), "mark");
            text += &format!("; {marks}: {}", first_few(&named, NAMED));
        }
        let skipped = start.duration_since(*begun);
        if skipped.is_positive() && skipped < length {
            text += &format!(
                "; its first {}, before the first pass, are left out",
                long(skipped)
            );
        }
        if played != length {
            text += &format!("; played for {}", long(played));
        }
        text
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

    fn check(&self, check: &Check) -> String {
        let Check {
            compared,
            equal,
            within_one,
            left_out,
            replica_hours,
            recorded,
        } = check;
        let period = self.backtest.replay.timeline.period;
        let time =
            |passes: usize| long(period.saturating_mul(i32::try_from(passes).unwrap_or(i32::MAX)));
        let mut parts = Vec::new();
        match (share(*equal, *compared), share(*within_one, *compared)) {
            (Some(equal), Some(within_one)) => parts.push(format!(
                "the replay has the recorded replicas for {} of the time, within one for {}",
                part(equal),
                part(within_one)
            )),
            _ => parts.push("nothing to compare the replay with".to_owned()),
        }
        parts.extend(replica_hours.map(|ratio| format!("replica-hours {}", signed(ratio - 1.0))));
        let unknown = recorded
            .replicas
            .iter()
            .filter(|replicas| replicas.is_none())
            .count();
        let marked = left_out.saturating_sub(unknown);
        if marked > 0 {
            parts.push(format!("left out {} after marks", time(marked)));
        }
        if unknown > 0 {
            parts.push(format!("not recorded for {}", time(unknown)));
        }
        parts.join("; ")
    }

    /// The totals, with a column for each run, or a row for each if that is too wide.
    fn table(&self) -> [Part; 2] {
        let recorded = self.backtest.check.as_ref().map(|check| Column {
            title: "RECORDED".to_owned(),
            totals: &check.recorded.totals,
            kind: RunKind::Record,
            ends_at: None,
        });
        let replayed = Column {
            title: "REPLAYED".to_owned(),
            totals: self.totals(),
            kind: RunKind::Replay,
            ends_at: Some(ends_at(&self.backtest.replay)),
        };
        let candidates = self.each().map(|(name, candidate, _)| Column {
            title: heading(&name),
            totals: &candidate.run.timeline.totals,
            kind: RunKind::Candidate,
            ends_at: Some(ends_at(&candidate.run)),
        });
        let all = recorded.into_iter().chain([replayed]).chain(candidates);
        let columns: Vec<Column<'_>> = all.collect();
        let mut sentences = Vec::new();
        sentences.extend(self.has_other_targets().then(|| OTHER_TARGETS.to_owned()));
        let table = self.by_column(&columns);
        if width(&table) <= WIDTH {
            return [Part::Table(table), Part::Text(sentences)];
        }
        let mut add = |what: &str, each: Vec<String>| {
            sentences.extend((!each.is_empty()).then(|| format!("{what}: {}.", list(&each))));
        };
        let mut table = self.by_row(&columns, true);
        if width(&table) > WIDTH {
            table = self.by_row(&columns, false);
            let ends = columns.iter().filter_map(|Column { title, ends_at, .. }| {
                Some(format!("{title} at {}", ends_at.as_ref()?))
            });
            add("Ends", ends.collect());
        }
        add(
            "Wanting more than max",
            lengths(&columns, Totals::above_max),
        );
        add("Without an answer", lengths(&columns, Totals::unanswered));
        [Part::Table(table), Part::Text(sentences)]
    }

    /// Whether a candidate has another target for a metric than the unchanged HPA.
    fn has_other_targets(&self) -> bool {
        let metrics = |run: &'a Run| run.pass.input.snapshot.hpa.spec.metrics.iter();
        let candidates = self.backtest.candidates.iter();
        candidates.flat_map(|own| metrics(&own.run)).any(|own| {
            metrics(&self.backtest.replay)
                .any(|before| before.id() == own.id() && before.target() != own.target())
        })
    }

    fn by_column(&self, columns: &[Column<'_>]) -> Table {
        let clock = self.clock();
        let titles = columns
            .iter()
            .map(|column| (column.title.clone().into(), true));
        let mut table = Table {
            columns: [("".into(), false)].into_iter().chain(titles).collect(),
            rows: vec![],
        };
        let mut row = |label: &str, cells: Vec<Option<String>>| {
            let shown = cells.into_iter().map(|cell| cell.unwrap_or("-".to_owned()));
            let labelled = std::iter::once(label.to_owned()).chain(shown);
            table.rows.push(labelled.collect());
        };
        let each =
            |cell: &dyn Fn(&Column<'_>) -> Option<String>| columns.iter().map(cell).collect();
        let known = |cell: &dyn Fn(&Totals) -> String| each(&|it| it.known().map(cell));
        let of_runs = |cell: &dyn Fn(&Totals) -> String| each(&|it| it.of_run().map(cell));
        let runs = || columns.iter().filter_map(Column::of_run);
        let any = |of: fn(&Totals) -> SignedDuration| runs().any(|own| !of(own).is_zero());
        row("replica-hours", known(&|own| hours(own.replica_hours())));
        if columns.iter().any(|it| it.kind == RunKind::Candidate) {
            row("against the replay", each(&|it| self.against_replay(it)));
        }
        row("mean", known(&|own| format!("{:.1}", own.mean())));
        row("lowest", known(&|own| own.lowest.replicas.to_string()));
        row("highest", known(&|own| own.highest.replicas.to_string()));
        row("first at", known(&|own| clock.at(own.highest.time)));
        row("at max", known(&|own| long(own.at_max())));
        if any(Totals::above_max) {
            row(
                "wanting more than max",
                of_runs(&|own| long(own.above_max())),
            );
        }
        row("short of the proposal", of_runs(&|own| long(own.short())));
        if any(Totals::short) {
            let longest = |it: &Column<'_>| it.of_run()?.longest_short();
            row(
                "replica-hours short",
                of_runs(&|own| hours(own.shortfall())),
            );
            row(
                "longest stretch",
                each(&|it| Some(long(longest(it)?.length))),
            );
            row("from", each(&|it| Some(clock.at(longest(it)?.start))));
        }
        row("rescales (reversals)", known(&rescales));
        if any(Totals::unanswered) {
            row("without an answer", of_runs(&|own| long(own.unanswered())));
        }
        row("ends at", each(&|it| it.ends_at.clone()));
        table
    }

    fn by_row(&self, columns: &[Column<'_>], has_ends: bool) -> Table {
        let titles = [
            ("RUN", false),
            ("REPLICA-HOURS", true),
            ("REPLICAS", true),
            ("AT MAX", true),
            ("SHORT", true),
            ("LONGEST", true),
            ("RESCALES", true),
        ];
        let ends = has_ends.then_some(("ENDS AT", true));
        let rows = columns
            .iter()
            .filter_map(|column| self.row(column, has_ends));
        Table::new(titles.into_iter().chain(ends), rows.collect())
    }

    /// Returns the row of a run whose totals are known.
    fn row(&self, column: &Column<'_>, has_ends: bool) -> Option<Vec<String>> {
        let totals = column.known()?;
        let run = column.of_run();
        let dash = || "-".to_owned();
        let against = self
            .against_replay(column)
            .filter(|change| !change.is_empty())
            .map_or_else(String::new, |change| format!(" ({change})"));
        let mut cells = vec![
            column.title.clone(),
            format!("{}{against}", hours(totals.replica_hours())),
            match (totals.lowest.replicas, totals.highest.replicas) {
                (one, same) if one == same => one.to_string(),
                (lowest, highest) => format!("{lowest}-{highest}"),
            },
            long(totals.at_max()),
            run.map_or_else(dash, |totals| long(totals.short())),
            run.and_then(Totals::longest_short)
                .map_or_else(dash, |totals| long(totals.length)),
            rescales(totals),
        ];
        cells.extend(has_ends.then(|| column.ends_at.clone().unwrap_or_else(dash)));
        Some(cells)
    }

    /// The change of the replica-hours, which only a candidate has.
    fn against_replay(&self, column: &Column<'_>) -> Option<String> {
        if column.kind != RunKind::Candidate {
            return Some(String::new());
        }
        let before = self.totals().replica_hours();
        (before > 0.0).then(|| signed(column.totals.replica_hours() / before - 1.0))
    }

    /// Returns where each candidate first differs from the replay, and for how long they differ.
    fn parted(&self) -> Vec<(String, String)> {
        let parted = self.each().map(|(name, candidate, played)| {
            let Some(Parting {
                time,
                replay,
                candidate: own,
            }) = &candidate.parted
            else {
                let text = match self.ends(candidate) {
                    None => "nowhere: the replicas are those of the replay throughout".to_owned(),
                    Some((own, before)) => format!(
                        "nowhere while the load lasts; after it, it ends at {own}, the replay at \
                         {before}"
                    ),
                };
                return (name, text);
            };
            let stretches = match candidate.stretches.all.len() {
                1 => "1 stretch".to_owned(),
                n => format!("{n} stretches"),
            };
            let differs = candidate.stretches.total();
            let share = differs.as_secs_f64() / self.totals().span().as_secs_f64();
            let text = format!(
                "{}: {}, where the replay {}. They differ for {}, {} of the time, in {}.",
                self.clock().at(*time),
                done(played, own),
                done(&self.replay, replay),
                long(differs),
                part(share),
                stretches
            );
            (name, text)
        });
        parted.collect()
    }

    /// The candidates whose lines fit into a chart with the replay and the record.
    fn drawn(&self) -> usize {
        MOST_SERIES - 1 - usize::from(self.backtest.check.is_some())
    }

    fn not_drawn(&self) -> Vec<String> {
        let left = self.candidates.len().saturating_sub(self.drawn());
        let sentence = || format!("The chart has the first {} candidates alone.", self.drawn());
        Vec::from_iter((left > 0).then(sentence))
    }

    /// The replicas of the runs over the time of the load.
    pub(super) fn chart(&self) -> Chart {
        let span = self.totals().span();
        let drawn = self.each().take(self.drawn());
        let candidates = drawn.map(|(name, _, played)| played.replicas(&name));
        // With one candidate, its line is the subject of the comparison.
        let mut series: Vec<_> = candidates.collect();
        series.insert(series.len().min(1), self.replay.replicas("replay"));
        let check = self.backtest.check.as_ref();
        series.extend(check.map(|check| {
            self.replay
                .series("recorded", 0, check.recorded.replicas.iter().copied())
        }));
        let counts = series.iter().flat_map(|series| &series.steps);
        let highest = counts.filter_map(|(_, count)| *count).max().unwrap_or(0);
        let runs = || self.candidates.iter().chain([&self.replay]);
        let mut bounds: Vec<(i32, String)> = runs()
            .flat_map(|played| [(played.bounds.0, "min"), (played.bounds.1, "max")])
            .map(|(count, name)| (count, name.to_owned()))
            .collect();
        bounds.sort();
        bounds.dedup();
        // A bound near one of the lines is drawn, and any other is named at the edge.
        let near = highest.saturating_add(highest / 4);
        let in_sight = bounds
            .iter()
            .map(|(count, _)| *count)
            .filter(|count| *count <= near);
        let highest = in_sight.max().unwrap_or(0).max(highest);
        let timeline = &self.backtest.replay.timeline;
        let marks = self.marks().map(|mark| {
            let after = mark.time.duration_since(timeline.start);
            (after, at_a_glance(&mark.text))
        });
        // The pass at the end of the load is not part of it.
        let end = millis(span);
        series
            .iter_mut()
            .for_each(|own| own.steps.retain(|(at, _)| *at < end));
        let clock = self.clock();
        Chart {
            title: if self.not_drawn().is_empty() {
                format!("replicas in {}", long(span))
            } else {
                format!(
                    "replicas in {}, first {} candidates",
                    long(span),
                    self.drawn()
                )
            },
            description: self.headline().1,
            across: clock.across(),
            span: (-millis(timeline.period), millis(span)),
            ticks: clock.ticks(span),
            replicas: (0, highest),
            series,
            bounds,
            current: None,
            events: marks.map(|(after, text)| (millis(after), text)).collect(),
            gaps: self.replay.gaps(end),
            most_rows: ROWS,
        }
    }
}

impl<'a> Column<'a> {
    /// The totals, unless nothing is known.
    fn known(&self) -> Option<&'a Totals> {
        (self.totals.passes > 0).then_some(self.totals)
    }

    /// The totals of a run, with proposals.
    fn of_run(&self) -> Option<&'a Totals> {
        (self.kind != RunKind::Record).then_some(self.totals)
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

/// Returns the replicas with which a run ends after the load.
fn ends_at(run: &Run) -> String {
    let Timeline { totals, swing, .. } = &run.timeline;
    match swing {
        Some((low, high)) => format!("{low} to {high}"),
        None if totals.is_settled => totals.last.to_string(),
        None if !totals.ends_answered => format!("{}, no answer", totals.last),
        None => format!("{}, unsettled", totals.last),
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

/// Whether the time without an answer is long enough to be mentioned.
fn is_considerable(totals: &Totals) -> bool {
    totals.unanswered().as_secs_f64() >= CONSIDERABLE * totals.span().as_secs_f64()
        && !totals.unanswered().is_zero()
}

/// The name of a candidate as a title: a file keeps its case.
fn heading(name: &str) -> String {
    if name == "candidate" {
        name.to_uppercase()
    } else {
        name.to_owned()
    }
}

/// Returns the change of the replica-hours as a title.
fn difference(own: f64, before: f64) -> String {
    if before <= 0.0 {
        return format!("{} REPLICA-HOURS INSTEAD OF {}", hours(own), hours(before));
    }
    let share = own / before - 1.0;
    let is_about_same = percent(share.abs()) == "0%";
    match part(share.abs()).to_uppercase() {
        _ if own == before => "THE SAME REPLICA-HOURS".to_owned(),
        _ if is_about_same => "ABOUT THE SAME REPLICA-HOURS".to_owned(),
        rounded if share < 0.0 => format!("{rounded} FEWER REPLICA-HOURS"),
        rounded => format!("{rounded} MORE REPLICA-HOURS"),
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

/// A part of a whole; `None` if the whole is 0.
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Describes a length of time in each run that has it, or once if it is equal in all.
fn lengths(columns: &[Column<'_>], of: fn(&Totals) -> SignedDuration) -> Vec<String> {
    let runs = || columns.iter().filter(|it| it.of_run().is_some());
    let lengths: Vec<(&str, String)> = runs()
        .map(|it| (&*it.title, of(it.totals)))
        .filter(|(_, length)| !length.is_zero())
        .map(|(title, length)| (title, long(length)))
        .collect();
    match &lengths[..] {
        [(_, first), rest @ ..]
            if lengths.len() == runs().count() && rest.iter().all(|(_, own)| own == first) =>
        {
            vec![format!("each run for {first}")]
        }
        _ => lengths
            .iter()
            .map(|(title, own)| format!("{title} for {own}"))
            .collect(),
    }
}

/// Returns the width of a table with no cell broken.
fn width(table: &Table) -> usize {
    let columns = table.columns.iter().enumerate();
    let widths = columns.map(|(place, (title, _))| {
        let cells = table.rows.iter().map(|row| row[place].chars().count());
        cells.chain([title.chars().count()]).max().unwrap_or(0) + 2
    });
    widths.sum::<usize>().saturating_sub(2)
}
