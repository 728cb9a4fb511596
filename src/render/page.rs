//! Lays out a page as text in the available width. Text from outside is cleaned here, before any style
//! is applied.

use std::borrow::Cow;
use std::collections::HashSet;

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Width};
use owo_colors::{OwoColorize, Style};
use textwrap::{Options, WordSplitter};

use super::chart;
use super::layout::Layout;
use super::style::{Styles, filled, wrapped};
use crate::findings::Severity;
use crate::report::list::Overview;
use crate::report::page::Page;
use crate::report::section::{Detail, Part, Remark, Section, StepLine, Table, Tone};

/// The page as text, with a newline at the end.
pub fn page(page: &Page, layout: &Layout) -> String {
    let mut out = Lines {
        text: String::new(),
        layout,
    };
    let styles = &layout.styles;
    if let Some(warning) = &page.warning {
        out.paragraph("", warning, styles.blocked);
        out.blank();
    }
    for assumption in &page.assuming {
        out.paragraph("", assumption, styles.reason);
    }
    if !page.assuming.is_empty() {
        out.blank();
    }
    out.paragraph("", &page.title, styles.heading);
    out.paragraph("", &page.subtitle, Style::new());
    out.blank();
    let tone = match page.tone {
        Tone::Up => styles.up,
        Tone::Down => styles.down,
        Tone::Stay => styles.stay,
        Tone::Blocked => styles.blocked,
    };
    out.paragraph(INDENT, &page.verdict, tone);
    for sentence in &page.why {
        out.paragraph(INDENT, sentence, Style::new());
    }
    if let Some(observed) = &page.observed {
        out.paragraph(&format!("{INDENT}OBSERVED  "), observed, Style::new());
    }
    let shown = page.sections.iter().filter(|section| match section.detail {
        Detail::Always | Detail::Folded => true,
        Detail::Roomy => page.wide || layout.width.is_none_or(|width| width >= ROOMY),
        Detail::Wide => page.wide,
        Detail::Comment => false,
    });
    for section in page.expected.iter().chain(shown) {
        out.section(section);
    }
    out.text
}

/// Lays out labels with their texts.
pub(crate) fn pairs(pairs: &[(String, String)], layout: &Layout) -> String {
    let mut out = Lines {
        text: String::new(),
        layout,
    };
    out.pairs(pairs);
    out.text
}

/// Lays out a list as text, with a newline at the end. Its lines stay whole, as kubectl's do. If they are too wide,
/// the columns in `spare` give way one after the other: they are left out, or cut down to a width. If that is not
/// enough, each line becomes a block. The last column of the lines has the color of its severity.
pub fn rows(overview: &Overview, spare: &[(&str, Option<usize>)], layout: &Layout) -> String {
    let mut columns = overview.columns.clone();
    let shown_row = |row: &[String]| row.iter().map(|cell| layout.shown(cell)).collect();
    let uncut: Vec<Vec<String>> = overview
        .rows
        .iter()
        .map(|(_, row)| shown_row(row))
        .collect();
    let mut rows = uncut.clone();
    for (title, least) in spare {
        let over = over(&columns, &rows, layout);
        let Some(place) = columns.iter().position(|(own, _)| own == title) else {
            continue;
        };
        if over == 0 {
            break;
        }
        if let Some(least) = least {
            let room = width_in(&columns, &rows, place).saturating_sub(over);
            for row in &mut rows {
                row[place] = cut(&row[place], room.max(*least));
            }
        } else {
            columns.remove(place);
            rows.iter_mut().for_each(|row| drop(row.remove(place)));
        }
    }
    let mut out = Lines {
        text: String::new(),
        layout,
    };
    if over(&columns, &rows, layout) > 0 {
        let titles: Vec<String> = overview
            .columns
            .iter()
            .map(|(title, _)| title.to_string())
            .collect();
        out.row_by_row(&titles, &overview.columns, &uncut);
        return out.text;
    }
    for ((severity, _), row) in overview.rows.iter().zip(&mut rows) {
        if let (Some(severity), Some(last)) = (severity, row.last_mut()) {
            *last = last
                .style(of_severity(*severity, &layout.styles))
                .to_string();
        }
    }
    let whole = Layout {
        width: None,
        ..layout.clone()
    };
    out.layout = &whole;
    out.grid(&columns, rows);
    out.text
}

/// Returns by how much the lines of a list are wider than the terminal.
fn over(columns: &[Column], rows: &[Vec<String>], layout: &Layout) -> usize {
    let widths =
        (0..columns.len()).map(|place| width_in(columns, rows, place) + gap(place, columns.len()));
    widths
        .sum::<usize>()
        .saturating_sub(layout.width.unwrap_or(usize::MAX))
}

/// Returns the width of a column.
fn width_in(columns: &[Column], rows: &[Vec<String>], place: usize) -> usize {
    let cells = rows.iter().map(|row| width_of(&row[place]));
    let title = width_of(&columns[place].0);
    cells.fold(title, usize::max)
}

/// Cuts a cell to a width, but not inside its first word if that has room.
fn cut(cell: &str, width: usize) -> String {
    const MARK: &str = "...";
    if width_of(cell) <= width {
        return cell.to_owned();
    }
    let word = cell.split(' ').next().unwrap_or_default();
    let word = if width_of(word) + MARK.len() <= width {
        word.len()
    } else {
        0
    };
    let fits = |end: &usize| *end <= word || width_of(&cell[..*end]) + MARK.len() <= width;
    let ends = cell.char_indices().map(|(end, _)| end).chain([cell.len()]);
    match ends.take_while(fits).last() {
        Some(end) if end < cell.len() => format!("{}{MARK}", &cell[..end]),
        _ => cell.to_owned(),
    }
}

/// Returns a text with its style, unless there is nothing to color.
fn styled(text: &str, style: Style) -> String {
    if text.is_empty() {
        return String::new();
    }
    text.style(style).to_string()
}

/// Returns the color of a finding.
fn of_severity(severity: Severity, styles: &Styles) -> Style {
    match severity {
        Severity::Error => styles.blocked,
        Severity::Warning => styles.down,
        Severity::Info => styles.reason,
    }
}

const INDENT: &str = "  ";

/// The columns between two columns of a table.
const GAP: usize = 2;

/// The title of a column, and whether it holds numbers.
type Column = (Cow<'static, str>, bool);

struct Lines<'l> {
    text: String,
    layout: &'l Layout,
}

impl Lines<'_> {
    fn clean(&self, text: &str) -> String {
        self.layout.shown(text)
    }

    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Writes a blank line, a title and the parts below it.
    fn section(&mut self, section: &Section) {
        self.blank();
        if !section.title.is_empty() {
            self.paragraph("", &section.title, self.layout.styles.heading);
        }
        for (place, part) in section.body.iter().enumerate() {
            match part {
                Part::Pairs(pairs) => self.pairs(pairs),
                Part::Table(table) => self.table(table),
                Part::Records(table) => self.records(table),
                Part::Steps(steps) => self.steps(steps),
                Part::Findings(remarks) => self.findings(remarks),
                Part::Text(sentences) => {
                    for sentence in sentences {
                        self.paragraph(INDENT, sentence, Style::new());
                    }
                }
                Part::Hinted(text, hint) => {
                    self.paragraph(INDENT, &format!("{text}{hint}"), Style::new());
                }
                Part::Hint(hint) => self.paragraph(INDENT, hint, Style::new()),
                Part::Chart(chart) => {
                    if place > 0 {
                        self.blank();
                    }
                    self.text.push_str(&chart::text(chart, self.layout));
                }
            }
        }
    }

    /// Writes findings in the color of their severity, each followed by its remedy.
    fn findings(&mut self, remarks: &[Remark]) {
        let styles = self.layout.styles.clone();
        for Remark {
            severity,
            code,
            summary,
            sentences,
            commands,
        } in remarks
        {
            let style = of_severity(*severity, &styles);
            let text = self.clean(&format!("{code}: {summary}"));
            let hanging = INDENT.repeat(2);
            for (place, line) in self.wrap(&text, hanging.len()).iter().enumerate() {
                let indent = if place == 0 { INDENT } else { &*hanging };
                let (code, rest) = match line.split_once(": ").filter(|_| place == 0) {
                    Some((code, rest)) => (code, format!(": {rest}")),
                    None => ("", line.clone()),
                };
                let code = styled(code, style);
                self.text += &format!("{indent}{code}{rest}\n");
            }
            for sentence in sentences {
                self.paragraph(&hanging, sentence, Style::new());
            }
            for command in commands {
                let command = self.clean(command);
                self.text += &format!("{hanging}$ {command}\n");
            }
        }
    }

    /// Writes text that starts after a prefix and continues below its own start.
    fn paragraph(&mut self, prefix: &str, text: &str, style: Style) {
        let text = self.clean(text);
        let indent = " ".repeat(width_of(prefix));
        for (place, line) in self.wrap(&text, width_of(prefix)).iter().enumerate() {
            self.text
                .push_str(if place == 0 { prefix } else { &indent });
            self.text.push_str(&styled(line, style));
            self.text.push('\n');
        }
    }

    /// Splits text into lines for the width that is left after the indentation.
    fn wrap(&self, text: &str, indent: usize) -> Vec<String> {
        match self.room(indent) {
            Some(room) => wrapped(text, room),
            None => vec![text.to_owned()],
        }
    }

    /// Returns the width that is left after the indentation.
    fn room(&self, indent: usize) -> Option<usize> {
        Some(self.layout.width?.saturating_sub(indent).max(MIN_TEXT))
    }

    /// Writes labels with their texts, which continue below their own start.
    fn pairs(&mut self, pairs: &[(String, String)]) {
        let labels: Vec<String> = pairs.iter().map(|(label, _)| self.clean(label)).collect();
        let widest = labels
            .iter()
            .map(|label| width_of(label))
            .max()
            .unwrap_or(0)
            .min(MAX_LABEL);
        for (label, (_, text)) in labels.iter().zip(pairs) {
            let padding = widest.saturating_sub(width_of(label));
            let prefix = format!("{INDENT}{label}{}  ", " ".repeat(padding));
            let room = self.room(width_of(&prefix)).unwrap_or(usize::MAX);
            let lines = self.wrap(&self.clean(text), width_of(&prefix));
            if width_of(label) > MAX_LABEL || lines.iter().any(|line| width_of(line) > room) {
                self.paragraph(INDENT, label, Style::new());
                self.paragraph(&" ".repeat(4), text, Style::new());
            } else {
                self.paragraph(&prefix, text, Style::new());
            }
        }
    }

    /// Writes counts below one another, each with its cause and the controller's reason.
    fn steps(&mut self, steps: &[StepLine]) {
        let width = steps
            .iter()
            .map(|line| line.replicas.to_string().len())
            .max()
            .unwrap_or(0);
        for StepLine {
            replicas,
            text,
            reason,
        } in steps
        {
            let number = format!("{INDENT}{replicas:>width$}  ");
            self.paragraph(&number, text, Style::new());
            if let Some(reason) = reason {
                self.behind(reason, width_of(&number));
            }
        }
    }

    /// Writes a reason at the end of the last line, or below it if there is no room.
    fn behind(&mut self, reason: &str, indent: usize) {
        self.text.pop();
        let last = self.text.rsplit('\n').next().map_or(0, width_of);
        let fits = self
            .layout
            .width
            .is_none_or(|width| last + 2 + reason.len() <= width);
        if fits {
            self.text.push_str("  ");
        } else {
            self.text.push('\n');
            self.text.push_str(&" ".repeat(indent));
        }
        self.text
            .push_str(&reason.style(self.layout.styles.reason).to_string());
        self.text.push('\n');
    }

    /// Writes rows whose last column is a sentence, which goes below the others if it does not fit.
    fn records(&mut self, table: &Table) {
        let titled = table.columns.iter().any(|(title, _)| !title.is_empty());
        let last = table.columns.len().saturating_sub(1);
        let titles = table
            .columns
            .iter()
            .map(|(title, _)| self.clean(title))
            .collect();
        let rows = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| self.clean(cell)).collect());
        let rows: Vec<Vec<String>> = titled.then_some(titles).into_iter().chain(rows).collect();
        // Without a title above it, a long label has its own line.
        let has_own_line = |place: usize, cell: &str| {
            !titled && place == 0 && last > 1 && width_of(cell) > MAX_LABEL
        };
        let mut widths = Vec::with_capacity(last);
        for place in 0..last {
            let cells = rows.iter().map(|row| &*row[place]);
            let beside = cells.filter(|cell| !has_own_line(place, cell));
            widths.push(beside.map(width_of).max().unwrap_or(0));
        }
        let whole = width_of(INDENT) + widths.iter().map(|width| width + GAP).sum::<usize>();
        if titled && self.layout.width.is_some_and(|width| whole > width + GAP) {
            let titles: Vec<String> = rows[0].clone();
            return self.row_by_row(&titles, &table.columns, &rows[1..]);
        }
        // Next to a short label, a sentence is wrapped in more than half of the width.
        let half = self.layout.width.unwrap_or(0) / 2;
        let goes_below = |sentence: &str, room: usize| {
            width_of(sentence) > room && (titled || room <= half || longest_word(sentence) > room)
        };
        for (place, row) in rows.iter().enumerate() {
            let mut prefix = INDENT.to_owned();
            let cells = row.iter().enumerate().zip(&widths).zip(&table.columns);
            for (((at, cell), width), (_, numbers)) in cells {
                let mut cell = &**cell;
                if has_own_line(at, cell) {
                    self.paragraph(INDENT, cell, Style::new());
                    cell = "";
                }
                let padding = " ".repeat(width - width_of(cell));
                let (before, after) = if *numbers {
                    (&*padding, "")
                } else {
                    ("", &*padding)
                };
                prefix += &format!("{before}{cell}{after}  ");
            }
            let sentence = &row[last];
            let room = self
                .layout
                .width
                .map(|width| width.saturating_sub(width_of(&prefix)));
            if titled && place == 0 {
                // Where the sentences go below, nothing is under their title.
                let fits = room.is_none_or(|room| width_of(sentence) <= room);
                let line = format!("{prefix}{}", if fits { sentence } else { "" });
                let heading = self.layout.styles.heading;
                self.text += &format!("{}\n", line.trim_end().style(heading));
            } else if sentence.is_empty() || room.is_some_and(|room| goes_below(sentence, room)) {
                self.text.push_str(prefix.trim_end());
                self.text.push('\n');
                if !sentence.is_empty() {
                    self.paragraph(&" ".repeat(6), sentence, Style::new());
                }
            } else {
                self.paragraph(&prefix, sentence, Style::new());
            }
        }
    }

    fn table(&mut self, table: &Table) {
        let rows = table
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| self.clean(cell)).collect())
            .collect();
        self.grid(&table.columns, rows);
    }

    /// Writes cells below their titles, or row by row if even their longest words do not fit side by side. Cells
    /// have been cleaned.
    fn grid(&mut self, columns: &[Column], mut rows: Vec<Vec<String>>) {
        let titles: Vec<String> = columns.iter().map(|(title, _)| self.clean(title)).collect();
        let mut grid = comfy_table::Table::new();
        grid.load_style(NOTHING);
        grid.set_content_arrangement(ContentArrangement::Disabled);
        let mut constraints = Vec::new();
        if let Some(width) = self.layout.width {
            let grid_width = width.min(usize::from(u16::MAX));
            let Some(widths) = widths(&titles, columns, &rows, grid_width) else {
                return self.row_by_row(&titles, columns, &rows);
            };
            for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
                *name = broken(name, widths[0]);
            }
            grid.set_content_arrangement(ContentArrangement::Dynamic);
            grid.set_width(grid_width as u16);
            constraints.extend(widths.iter().enumerate().map(|(place, width)| {
                let whole = width + gap(place, columns.len());
                ColumnConstraint::Absolute(Width::Fixed(whole as u16))
            }));
        }
        let heading = self.layout.styles.heading;
        grid.set_header(titles.iter().map(|title| match &**title {
            "" => Cell::new(""),
            title => Cell::new(title.style(heading).to_string()),
        }));
        grid.set_constraints(constraints);
        for row in rows {
            grid.add_row(row.into_iter().map(Cell::new));
        }
        for (place, (_, numbers)) in columns.iter().enumerate() {
            if let Some(column) = grid.column_mut(place) {
                column.set_padding((0, gap(place, columns.len()) as u16));
                if *numbers {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        for line in grid.trim_fmt().lines() {
            self.text.push_str(line.trim_end());
            self.text.push('\n');
        }
    }

    /// Writes each row as the first cells that distinguish it from the others, with the rest and their titles
    /// below them. Only numbers need a title next to them.
    fn row_by_row(&mut self, titles: &[String], columns: &[Column], rows: &[Vec<String>]) {
        let count = (1..titles.len())
            .find(|count| {
                let heads: HashSet<_> = rows.iter().map(|row| &row[..*count]).collect();
                heads.len() == rows.len()
            })
            .unwrap_or(1);
        for row in rows {
            let cells = titles.iter().zip(columns).zip(row).take(count);
            let head: Vec<String> = cells
                .filter(|(_, cell)| !cell.is_empty())
                .map(|((title, (_, numbers)), cell)| {
                    if *numbers {
                        format!("{title} {cell}")
                    } else {
                        cell.clone()
                    }
                })
                .collect();
            let mut named: Vec<(String, String)> = Vec::new();
            let rest = titles.iter().zip(row).skip(count);
            for (title, cell) in rest.filter(|(_, cell)| !cell.is_empty()) {
                match named.last_mut().filter(|_| title.is_empty()) {
                    // A mark belongs to the cell before it.
                    Some((_, before)) => *before += &format!("  {cell}"),
                    None => named.push((title.clone(), cell.clone())),
                }
            }
            self.paragraph("", &head.join(", "), Style::new());
            self.pairs(&named);
        }
    }
}

/// The columns between a column of a table and the next; nothing follows the last one.
fn gap(place: usize, columns: usize) -> usize {
    if place + 1 < columns { GAP } else { 0 }
}

/// Returns the widths of the columns of a table on a terminal; `None` if it is too narrow. Numbers and words
/// stay whole, and names, which are in the first column, are broken only where one of their words ends. The
/// remaining width is shared evenly among the columns that need more.
fn widths(
    titles: &[String],
    columns: &[Column],
    rows: &[Vec<String>],
    width: usize,
) -> Option<Vec<usize>> {
    let gaps = (0..columns.len())
        .map(|place| gap(place, columns.len()))
        .sum();
    let room = width.checked_sub(gaps)?;
    let most = |place: usize, of_cell: &dyn Fn(&str) -> usize| {
        let cells = rows.iter().map(|row| of_cell(&row[place]));
        cells.max().unwrap_or(0)
    };
    let whole: Vec<usize> = (0..columns.len())
        .map(|place| most(place, &width_of).max(width_of(&titles[place])))
        .collect();
    let mut least: Vec<usize> = (0..columns.len())
        .map(|place| {
            let cell = if columns[place].1 {
                width_of
            } else {
                longest_word
            };
            most(place, &cell).max(longest_word(&titles[place]))
        })
        .collect();
    if least.iter().sum::<usize>() > room {
        *least.first_mut()? = most(0, &longest_part).max(longest_word(&titles[0]));
    }
    let shared = |level: usize| -> Vec<usize> {
        let columns = least.iter().zip(&whole);
        columns
            .map(|(least, whole)| level.clamp(*least, (*whole).max(*least)))
            .collect()
    };
    let fits = |level: &usize| shared(*level).iter().sum::<usize>() <= room;
    let widths = (0..=room).take_while(fits).last().map(shared)?;
    // The space that wrapping leaves free at the ends of lines goes to the other columns.
    let used = widths.iter().enumerate().map(|(place, width)| {
        let lines = |cell: &str| widest_line(cell, *width, place == 0);
        most(place, &lines).max(lines(&titles[place]))
    });
    Some(used.collect())
}

/// Returns the width of the widest line of a cell, which is broken like a name or wrapped.
fn widest_line(cell: &str, width: usize, is_name: bool) -> usize {
    if is_name {
        let lines = broken(cell, width);
        lines.lines().map(width_of).max().unwrap_or(0)
    } else {
        let whole_words = Options::new(width).word_splitter(WordSplitter::NoHyphenation);
        let lines = textwrap::wrap(cell, whole_words);
        lines.iter().map(|line| width_of(line)).max().unwrap_or(0)
    }
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(width_of).max().unwrap_or(0)
}

/// The longest part of a name that [`broken`] keeps together.
fn longest_part(name: &str) -> usize {
    parts(name).map(width_of).max().unwrap_or(0)
}

fn parts(name: &str) -> impl Iterator<Item = &str> {
    name.split_inclusive(|letter: char| !letter.is_alphanumeric())
}

/// Breaks a name that is too long for its room at the end of one of its words.
fn broken(name: &str, room: usize) -> String {
    filled(parts(name), "", room).join("\n")
}

/// The width from which a terminal has room for details that the verdict already contains in short.
const ROOMY: usize = 100;

/// Labels longer than this get their own line.
const MAX_LABEL: usize = 28;

/// The minimum width of text, however narrow the terminal.
const MIN_TEXT: usize = 20;

/// Returns the number of columns that a text takes on a terminal.
fn width_of(text: &str) -> usize {
    unicode_width::UnicodeWidthStr::width(text)
}

#[cfg(test)]
mod tests {
    use super::{Lines, Overview, Table, rows};
    use crate::render::layout::of_width;
    use crate::report::list::SPARE;

    /// Returns a table of columns, each with whether it has numbers, and of rows.
    fn table<const N: usize>(columns: [(&'static str, bool); N], rows: &[[&str; N]]) -> Table {
        Table {
            columns: columns
                .map(|(title, numbers)| (title.into(), numbers))
                .to_vec(),
            rows: rows
                .iter()
                .map(|row| row.map(str::to_owned).to_vec())
                .collect(),
        }
    }

    /// Returns what is written on a terminal of a width.
    fn written(width: usize, write: impl FnOnce(&mut Lines<'_>)) -> String {
        let layout = of_width(width);
        let mut lines = Lines {
            text: String::new(),
            layout: &layout,
        };
        write(&mut lines);
        lines.text
    }

    fn grid(width: usize, table: &Table) -> String {
        written(width, |lines| {
            lines.grid(&table.columns, table.rows.clone());
        })
    }

    fn metrics(width: usize) -> String {
        let columns = [
            ("METRIC", false),
            ("CURRENT", false),
            ("COUNTED", false),
            ("PROPOSES", true),
        ];
        let counted = "2 ready, 3 unready, 1 missing";
        let requests = "http_requests_per_second";
        let rows = [
            ["cpu", "2575% (515m)", counted, "258"],
            [requests, "1", "metrics-api-unavailable", "8"],
        ];
        grid(width, &table(columns, &rows))
    }

    #[test]
    fn no_word_of_a_table_is_broken_and_every_line_fits() {
        for width in 40..=100 {
            let table = metrics(width);
            for line in table.lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
            for word in [
                "2575%",
                "(515m)",
                "unready,",
                "metrics-api-unavailable",
                "258",
                "second",
            ] {
                assert!(table.contains(word), "{word} at {width}:\n{table}");
            }
        }
    }

    #[test]
    fn a_column_is_as_wide_as_its_longest_word_with_hyphens() {
        let columns = [("RUN", false), ("HPA", false), ("PASSES", true)];
        let rows = [
            ["1", "a big-candidate.yaml", "12"],
            ["2", "the HPA as it is in the cluster", "3"],
        ];
        for width in 30..=60 {
            let text = grid(width, &table(columns, &rows));
            assert!(text.contains("big-candidate.yaml"), "{width}:\n{text}");
        }
    }

    #[test]
    fn the_titles_of_records_stay_on_one_line() {
        let columns = [("POD", false), ("USAGE", true), ("BECAUSE", false)];
        let rows = [["web-5d-abcde", "10m", "has no metrics; until they arrive"]];
        let table = table(columns, &rows);
        let records = |width| written(width, |lines| lines.records(&table));
        insta::assert_snapshot!(records(32), @r"
  POD           USAGE  BECAUSE
  web-5d-abcde    10m
      has no metrics; until they
      arrive
");
        insta::assert_snapshot!(records(26), @r"
  POD           USAGE
  web-5d-abcde    10m
      has no metrics;
      until they arrive
");
        insta::assert_snapshot!(records(20), @r"
web-5d-abcde
  USAGE    10m
  BECAUSE  has no metrics;
           until they arrive
");
    }

    #[test]
    fn a_text_with_a_long_word_goes_below_its_label() {
        let pairs = [("queue", "at https://example.com/a/b"), ("rate", "1")];
        let pairs = pairs.map(|(label, text)| (label.to_owned(), text.to_owned()));
        insta::assert_snapshot!(super::pairs(&pairs, &of_width(30)), @r"
  queue
    at https://example.com/a/b
  rate   1
");
    }

    #[test]
    fn a_row_alone_says_what_tells_it_from_the_others() {
        let columns = [
            ("target.cpu", true),
            ("window", true),
            ("REPLICA-HOURS", true),
        ];
        let rows = [["80%", "60s", "1211"], ["80%", "300s", "1227"]];
        insta::assert_snapshot!(grid(28, &table(columns, &rows)), @r"
target.cpu 80%, window 60s
  REPLICA-HOURS  1211
target.cpu 80%, window 300s
  REPLICA-HOURS  1227
");
    }

    #[test]
    fn a_list_fits_or_has_a_block_for_each_line() {
        let columns = [
            ("NAME", false),
            ("REFERENCE", false),
            ("TARGETS", false),
            ("WANTED", true),
            ("FINDING", false),
        ];
        let line = |name: &str, targets: &str| {
            let cells = [name, "Deployment/web", targets, "8", "metric-empty (+2)"];
            (None, cells.map(str::to_owned).to_vec())
        };
        let overview = Overview {
            columns: columns
                .map(|(title, numbers)| (title.into(), numbers))
                .to_vec(),
            rows: vec![
                line("web", "cpu: 63%/80%"),
                line("api", "s0-prometheus-http_rps: 3/7"),
            ],
        };
        let list = |width| rows(&overview, &SPARE, &of_width(width));
        insta::assert_snapshot!(list(76), @r"
NAME  REFERENCE       TARGETS                      WANTED  FINDING
web   Deployment/web  cpu: 63%/80%                      8  metric-empty (+2)
api   Deployment/web  s0-prometheus-http_rps: 3/7       8  metric-empty (+2)
");
        insta::assert_snapshot!(list(60), @r"
NAME  TARGETS                      WANTED  FINDING
web   cpu: 63%/80%                      8  metric-empty (+2)
api   s0-prometheus-http_rps: 3/7       8  metric-empty (+2)
");
        insta::assert_snapshot!(list(48), @r"
NAME  TARGETS          WANTED  FINDING
web   cpu: 63%/80%          8  metric-empty (+2)
api   s0-prometheu...       8  metric-empty (+2)
");
        insta::assert_snapshot!(list(40), @r"
web
  REFERENCE  Deployment/web
  TARGETS    cpu: 63%/80%
  WANTED     8
  FINDING    metric-empty (+2)
api
  REFERENCE  Deployment/web
  TARGETS    s0-prometheus-http_rps: 3/7
  WANTED     8
  FINDING    metric-empty (+2)
");
        for width in 36..100 {
            for line in list(width).lines() {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn a_table_gives_way_where_it_is_too_wide() {
        insta::assert_snapshot!(metrics(80), @r"
METRIC                    CURRENT       COUNTED                        PROPOSES
cpu                       2575% (515m)  2 ready, 3 unready, 1 missing       258
http_requests_per_second  1             metrics-api-unavailable               8
");
        insta::assert_snapshot!(metrics(60), @r"
METRIC      CURRENT  COUNTED                  PROPOSES
cpu         2575%    2 ready, 3 unready, 1         258
            (515m)   missing
http_       1        metrics-api-unavailable         8
requests_
per_second
");
        insta::assert_snapshot!(metrics(40), @r"
cpu
  CURRENT   2575% (515m)
  COUNTED   2 ready, 3 unready, 1
            missing
  PROPOSES  258
http_requests_per_second
  CURRENT   1
  COUNTED   metrics-api-unavailable
  PROPOSES  8
");
    }
}
