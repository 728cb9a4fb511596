//! The table of totals: a column for each run, or a row for each if the columns are too wide.

use jiff::SignedDuration;

use super::{Compared, ends_at, heading, signed};
use crate::backtest::Run;
use crate::report::search::OTHER_TARGETS;
use crate::report::section::{Part, Table};
use crate::report::totals::{hours, rescales};
use crate::whatif::timeline::Totals;
use crate::words::{list, long};

/// The width of most terminals, which a table with a column for each run has to fit.
const WIDTH: usize = 80;

/// A column of the table of totals.
struct Column<'a> {
    title: String,
    totals: &'a Totals,
    /// The change of the replica-hours against the replay, which only a candidate has; `None` if the replay has none.
    against_replay: Option<String>,
    /// The replicas at its end, after the load; `None` for the record, of which only the replicas are known.
    ends_at: Option<String>,
}

impl<'a> Compared<'a> {
    /// The totals, with a column for each run, or a row for each if that is too wide.
    pub(super) fn table(&self) -> [Part; 2] {
        let recorded = self.backtest.check.as_ref().map(|check| Column {
            title: "RECORDED".to_owned(),
            totals: &check.recorded.totals,
            against_replay: Some(String::new()),
            ends_at: None,
        });
        let replayed = Column {
            title: "REPLAYED".to_owned(),
            totals: self.totals(),
            against_replay: Some(String::new()),
            ends_at: Some(ends_at(&self.backtest.replay)),
        };
        let before = self.totals().replica_hours();
        let candidates = self.candidates.iter().map(|it| Column {
            title: heading(&it.name),
            totals: it.totals(),
            against_replay: (before > 0.0)
                .then(|| signed(it.totals().replica_hours() / before - 1.0)),
            ends_at: Some(ends_at(&it.candidate.run)),
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
        let mut table = by_row(&columns, true);
        if width(&table) > WIDTH {
            table = by_row(&columns, false);
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
        add("Switched off at 0", lengths(&columns, Totals::off));
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
        if !self.candidates.is_empty() {
            row("against the replay", each(&|it| it.against_replay.clone()));
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
        if any(Totals::off) {
            row("switched off at 0", of_runs(&|own| long(own.off())));
        }
        row("ends at", each(&|it| it.ends_at.clone()));
        table
    }
}

/// A row for each run whose totals are known.
fn by_row(columns: &[Column<'_>], has_ends: bool) -> Table {
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
    let rows = columns.iter().filter_map(|column| column.row(has_ends));
    Table::new(titles.into_iter().chain(ends), rows.collect())
}

impl<'a> Column<'a> {
    /// Returns the row of a run whose totals are known.
    fn row(&self, has_ends: bool) -> Option<Vec<String>> {
        let totals = self.known()?;
        let run = self.of_run();
        let dash = || "-".to_owned();
        let against = match self.against_replay.as_deref() {
            None | Some("") => String::new(),
            Some(change) => format!(" ({change})"),
        };
        let mut cells = vec![
            self.title.clone(),
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
        cells.extend(has_ends.then(|| self.ends_at.clone().unwrap_or_else(dash)));
        Some(cells)
    }

    /// The totals, unless nothing is known.
    fn known(&self) -> Option<&'a Totals> {
        (self.totals.passes > 0).then_some(self.totals)
    }

    /// The totals of a run, with proposals.
    fn of_run(&self) -> Option<&'a Totals> {
        self.ends_at.is_some().then_some(self.totals)
    }
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
