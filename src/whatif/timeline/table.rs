//! The table of a load: its CSV, and the times and counts in its cells. Errors name the line and the column, and never
//! quote the table: it may be the wrong file.

use jiff::{SignedDuration, Timestamp};

use crate::error::Error;
use crate::numbers::{NoDuration, parse_duration};
use crate::snapshot::load::{Load, Rows};
use crate::whatif::MAX_PODS;

pub(super) const EXAMPLE: &str = "its first line is such as time,cpu,queue_depth, the others such as \
                       1m30s,80%,300";
pub(super) const TIMES: &str = "a time is that since the first pass (30s, 1m30s, or seconds such as 90), or of \
                     the clock (2026-11-21T06:00:00Z with T and Z, or seconds since 1970)";

/// The source of a load. A saved load's own account of it is text from a file, which no error quotes.
#[derive(Debug, Clone)]
pub(super) enum TraceOrigin {
    /// A table that was read in this run, from this file or other source.
    Table(String),
    /// A Prometheus, or a saved state.
    Load,
}

impl TraceOrigin {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Table(source) => format!("the trace {source}"),
            Self::Load => "the load".to_owned(),
        }
    }

    /// Returns the error for something at a place in the table.
    pub(super) fn bad(&self, line: u64, why: impl std::fmt::Display) -> Error {
        Error::usage(format!("failed to read {}: {why}", self.at(line)))
    }

    /// Returns the text for a place in the table: its line, where the first line has the headers.
    pub(super) fn at(&self, line: u64) -> String {
        let name = self.name();
        match (self, line) {
            (Self::Table(_), line) => format!("{name}:{line}"),
            (Self::Load, 1) => name,
            (Self::Load, line) => format!("{name}, {}", self.row(line)),
        }
    }

    /// Adds the remedy for a column that no run has to an error: a saved state may have it from a candidate.
    pub(super) fn lacking(&self, error: Error) -> Error {
        match self {
            Self::Table(_) => error,
            Self::Load => error.hint(
                "the load was saved with a candidate that has it: give the candidate with --hpa, or another load with \
                 --trace",
            ),
        }
    }

    /// Returns the words for a line after the first one.
    pub(super) fn row(&self, line: u64) -> String {
        match self {
            Self::Table(_) => format!("line {line}"),
            Self::Load => format!("row {}", line - 1),
        }
    }
}

/// Reads a table in CSV; `origin` names its source.
///
/// # Errors
///
/// The text is not a table; the error names the line.
pub fn read_csv(bytes: &[u8], origin: &str) -> Result<Load, Error> {
    let table = TraceOrigin::Table(origin.to_owned());
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .flexible(true)
        .has_headers(false)
        .from_reader(bytes);
    let mut row = csv::StringRecord::new();
    if read_record(&mut reader, &mut row, &table, bytes)?.is_none() {
        return Err(table.bad(1, "it is empty").hint(EXAMPLE));
    }
    let columns = row.iter().map(str::to_owned).collect();
    let mut rows = Rows::default();
    let mut lines = Vec::new();
    while let Some(line) = read_record(&mut reader, &mut row, &table, bytes)? {
        lines.push(line);
        rows.push(&row);
    }
    Ok(Load {
        source: origin.to_owned(),
        columns,
        rows,
        lines: Some(lines),
        ..Load::default()
    })
}

/// Reads a row and returns its line; `None` at the end.
fn read_record(
    reader: &mut csv::Reader<&[u8]>,
    record: &mut csv::StringRecord,
    origin: &TraceOrigin,
    bytes: &[u8],
) -> Result<Option<u64>, Error> {
    let is_read = reader.read_record(record).map_err(|e| {
        let line = e.position().map_or(1, csv::Position::line);
        let why = match e.kind() {
            csv::ErrorKind::Utf8 { .. } => "not UTF-8 text".to_owned(),
            _ => e.to_string(),
        };
        origin.bad(line, why)
    })?;
    let line = record.position().map_or(1, |own| line_of(own, bytes));
    // A quote that is never closed takes in the rows that follow.
    let broken = record.iter().position(|cell| cell.contains(['\n', '\r']));
    if let Some(place) = broken {
        let why = format!(
            "column {}: a quote is not closed, or spans lines",
            place + 1
        );
        return Err(origin.bad(line, why));
    }
    Ok(is_read.then_some(line))
}

/// Returns the line of a row. The reader counts the rest of a newline before a row, and empty lines, as parts
/// of the row.
fn line_of(position: &csv::Position, bytes: &[u8]) -> u64 {
    let rest = bytes.get(usize::try_from(position.byte()).unwrap_or(usize::MAX)..);
    let breaks = rest
        .unwrap_or_default()
        .iter()
        .take_while(|byte| b"\r\n".contains(byte));
    position.line() + breaks.filter(|byte| **byte == b'\n').count() as u64
}

/// Reads a time, and whether it is a clock time.
pub(super) fn read_time(text: &str) -> Result<(SignedDuration, bool), String> {
    if text.is_empty() {
        return Err("the time is missing".to_owned());
    }
    match (parse_duration(text), text.parse::<Timestamp>()) {
        // The format that Prometheus exports: seconds since 1970. As a duration they would be a lifetime.
        (Ok(duration), _) if is_number(text) && duration >= EPOCH => Ok((duration, true)),
        (Ok(duration), _) => Ok((duration, false)),
        (Err(why @ NoDuration::Negative), _) => Err(format!("the time {why}")),
        (Err(_), Ok(time)) => Ok((time.duration_since(Timestamp::UNIX_EPOCH), true)),
        (Err(_), Err(_)) if is_number(text) && text.len() > 10 => {
            Err("not a time: seconds since 1970 have ten digits, not milliseconds".to_owned())
        }
        (Err(why @ NoDuration::Long), Err(_)) => Err(format!("the time {why}")),
        (Err(NoDuration::Form), Err(_)) => Err("not a time".to_owned()),
    }
}

/// The smallest number that is read as seconds since 1970: a time in 2001.
const EPOCH: SignedDuration = SignedDuration::from_secs(1_000_000_000);

fn is_number(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_digit() || c == b'.')
}

/// Reads a number of pods, which exports write as `6` or as `6.0`.
pub(super) fn read_count(text: &str) -> Result<i32, String> {
    let digits = text.split_once('.').map_or(text, |(whole, rest)| {
        if !rest.is_empty() && rest.bytes().all(|c| c == b'0') {
            whole
        } else {
            text
        }
    });
    let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
    let count: i32 = digits
        .parse()
        .ok()
        .filter(|_| is_number)
        .ok_or("not a number of pods")?;
    if usize::try_from(count).is_ok_and(|count| count <= MAX_PODS) {
        Ok(count)
    } else {
        Err(format!("at most {MAX_PODS} pods can be played"))
    }
}
