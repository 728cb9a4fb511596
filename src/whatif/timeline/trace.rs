//! A load over time, read from CSV: a column of times, and one for each metric that changes. What a
//! value means for the pods is the business of [`super::load`].

use jiff::{SignedDuration, Timestamp};

use super::{LastValue, TraceEnd};
use crate::error::Error;
use crate::numbers::{NoDuration, parse_duration};
use crate::snapshot::Snapshot;
use crate::whatif::overrides::{NamedMetric, share_usage};
use crate::whatif::unit;
use crate::whatif::value::{FORMS, Value};

/// The load, row by row.
#[derive(Debug, Clone)]
pub struct Trace {
    origin: String,
    columns: Vec<(String, NamedMetric)>,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    line: u64,
    time: Time,
    /// By column; none where the value before holds on.
    values: Vec<Option<(String, Value)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Time {
    After(SignedDuration),
    At(Timestamp),
}

/// A value that a metric has from a time on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Stated {
    /// How long after the first pass; negative before it.
    pub(super) after: SignedDuration,
    /// The places of the metric in the spec.
    pub(super) places: Vec<usize>,
    pub(super) value: Value,
    /// As it was typed.
    pub(super) text: String,
    /// Where it stands, for errors about it.
    pub(super) place: String,
}

const EXAMPLE: &str = "its first line is such as time,cpu,queue_depth, the others such as \
                       1m30s,80%,300";
const TIMES: &str = "a time is that since the first pass (30s, 1m30s, or seconds such as 90), or of \
                     the clock (2026-11-21T06:00:00Z)";

impl Trace {
    /// Reads a table; `origin` says where it is from.
    ///
    /// # Errors
    ///
    /// It is no such table, or a time or value of it is none; the error names line and column.
    pub fn read(bytes: &[u8], origin: &str) -> Result<Self, Error> {
        let bad = |line: u64, why: String| {
            Error::usage(format!("failed to read the trace {origin}:{line}: {why}"))
        };
        let mut reader = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .flexible(true)
            .has_headers(false)
            .from_reader(bytes);
        let mut records = reader.records().map(|record| {
            record.map_err(|e| {
                let line = e.position().map_or(1, csv::Position::line);
                let why = match e.kind() {
                    csv::ErrorKind::Utf8 { .. } => "not UTF-8 text".to_owned(),
                    _ => e.to_string(),
                };
                bad(line, why)
            })
        });
        let Some(header) = records.next().transpose()? else {
            return Err(bad(1, "it is empty".to_owned()).hint(EXAMPLE));
        };
        let place = header.iter().position(|title| title == "time");
        let Some(place) = place else {
            let why = "the first line has no column \"time\"".to_owned();
            return Err(bad(1, why).hint(EXAMPLE));
        };
        let mut columns: Vec<(String, NamedMetric)> = Vec::new();
        for title in header.iter().enumerate().filter(|(at, _)| *at != place).map(|(_, t)| t) {
            if columns.iter().any(|(other, _)| other == title) || title == "time" {
                return Err(bad(1, format!("duplicate column {title:?}")));
            }
            let wanted = NamedMetric::read(title, &format!("the trace {origin}:1: column"))?;
            columns.push((title.to_owned(), wanted));
        }
        if columns.is_empty() {
            return Err(bad(1, "there is no column for a metric".to_owned()).hint(EXAMPLE));
        }
        let mut rows: Vec<Row> = Vec::new();
        for record in records {
            let record = record?;
            let line = record.position().map_or(0, csv::Position::line);
            if record.len() != header.len() {
                let (got, want) = (record.len(), header.len());
                return Err(bad(line, format!("{got} fields, where the first line has {want}")));
            }
            let time = Time::read(&record[place]).map_err(|why| bad(line, why).hint(TIMES))?;
            if let Some(before) = rows.last().map(|row| row.time) {
                if std::mem::discriminant(&before) != std::mem::discriminant(&time) {
                    let why = "times are mixed: some are relative to the first pass, some absolute"
                        .to_owned();
                    return Err(bad(line, why).hint("use one form"));
                }
                if time <= before {
                    let why = format!("time {} is not after the previous one", &record[place]);
                    return Err(bad(line, why).hint("rows are sorted by time"));
                }
            }
            let cells = record.iter().enumerate().filter(|(at, _)| *at != place);
            let values = cells.zip(&columns).map(|((_, text), (title, _))| {
                if text.is_empty() {
                    return Ok(None);
                }
                let value = text.parse::<Value>().map_err(|why| {
                    bad(line, format!("{title}: {text}: {why}")).hint(format!("a value is {FORMS}"))
                })?;
                Ok(Some((text.to_owned(), value)))
            });
            rows.push(Row { line, time, values: values.collect::<Result<_, Error>>()? });
        }
        if rows.is_empty() {
            return Err(bad(1, "there are no rows".to_owned()).hint(EXAMPLE));
        }
        Ok(Self { origin: origin.to_owned(), columns, rows })
    }

    /// Where it ends, for a first pass at `now`.
    pub(super) fn end(&self, now: Timestamp) -> TraceEnd {
        let last = self.columns.iter().enumerate().filter_map(|(place, (title, _))| {
            let mut values = self.rows.iter().rev().filter_map(|row| row.values[place].as_ref());
            let (text, value) = values.next()?;
            let is_missing = *value == Value::Missing;
            Some(LastValue { metric: title.clone(), value: text.clone(), is_missing })
        });
        let after = self.rows.last().map_or(SignedDuration::ZERO, |row| row.time.after(now));
        TraceEnd { after, last: last.collect() }
    }

    /// What it states about an HPA's metrics, for a first pass at the snapshot's time, by time.
    pub(super) fn resolve(&self, snapshot: &Snapshot) -> Result<Vec<Stated>, Error> {
        let mut places: Vec<Vec<usize>> = Vec::with_capacity(self.columns.len());
        for (title, wanted) in &self.columns {
            let own = wanted.places(snapshot).map_err(|e| Error {
                message: format!("the trace {}, column {title:?}: {}", self.origin, e.message),
                ..e
            })?;
            let origin = &self.origin;
            for ((other, _), taken) in self.columns.iter().zip(&places) {
                if taken.iter().any(|place| own.contains(place)) {
                    return Err(Error::usage(format!(
                        "the trace {origin}: the columns {other:?} and {title:?} are the same metric"
                    )));
                }
                let shared = |(one, two): (Option<&usize>, Option<&usize>)| {
                    one.zip(two).is_some_and(|(one, two)| share_usage(snapshot, *one, *two))
                };
                if shared((taken.first(), own.first())) {
                    return Err(Error::usage(format!(
                        "the trace {origin}: the columns {other:?} and {title:?} are based on the \
                         same usage: set only one"
                    )));
                }
            }
            places.push(own);
        }
        let stated = self.rows.iter().flat_map(|row| {
            let cells = row.values.iter().zip(&self.columns).zip(&places);
            cells.filter_map(move |((value, (title, _)), places)| {
                let (text, value) = value.as_ref()?;
                let place = format!("the trace {}:{}: {title}: {text}", self.origin, row.line);
                for own in places {
                    let spec = &snapshot.hpa.spec.metrics[*own];
                    if let Err(why) = unit::check(spec, text, str::to_owned) {
                        return Some(Err(Error::usage(format!("{place}: {why}"))));
                    }
                }
                Some(Ok(Stated {
                    after: row.time.after(snapshot.now),
                    places: places.clone(),
                    value: *value,
                    text: text.clone(),
                    place,
                }))
            })
        });
        stated.collect()
    }
}

impl Time {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the time is missing".to_owned());
        }
        match (parse_duration(text), text.parse()) {
            (Ok(duration), _) => Ok(Self::After(duration)),
            (Err(why @ NoDuration::Negative), _) => Err(format!("time {text} {why}")),
            (Err(NoDuration::Form), Ok(time)) => Ok(Self::At(time)),
            (Err(NoDuration::Form), Err(_)) => Err(format!("{text:?} is not a time")),
        }
    }

    fn after(self, now: Timestamp) -> SignedDuration {
        match self {
            Self::After(duration) => duration,
            Self::At(time) => time.duration_since(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Trace;

    #[test]
    fn a_table_is_read() {
        let text = "\u{feff}time, cpu ,\"queue_depth{env=b,queue=a}\"\r\n0,1500m,30\r\n1m30s,,x2\n";
        let trace = Trace::read(text.as_bytes(), "load.csv").unwrap();
        let titles: Vec<&str> = trace.columns.iter().map(|(title, _)| &**title).collect();
        assert_eq!(titles, ["cpu", "queue_depth{env=b,queue=a}"]);
        let rows: Vec<String> = trace
            .rows
            .iter()
            .map(|row| {
                let values = row.values.iter();
                let values =
                    values.map(|value| value.as_ref().map_or("-", |(text, _)| text.as_str()));
                format!("{:?} {}", row.time, values.collect::<Vec<_>>().join(" "))
            })
            .collect();
        assert_eq!(rows, ["After(0s) 1500m 30", "After(1m 30s) - x2"]);
        // The order of the columns is free.
        let trace = Trace::read(b"cpu,time\n80%,2026-11-21T06:00:00Z\n", "load.csv").unwrap();
        assert_eq!(trace.end("2026-11-21T05:59:00Z".parse().unwrap()).after.as_secs(), 60);
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        for (text, message) in [
            ("", ":1: it is empty"),
            ("\n\n", ":1: it is empty"),
            ("0s,80%\n", ":1: the first line has no column \"time\""),
            ("time\n0s\n", ":1: there is no column for a metric"),
            ("time,cpu\n", ":1: there are no rows"),
            ("time,cpu,cpu\n0s,1,1\n", ":1: duplicate column \"cpu\""),
            ("time,cpu,time\n0s,1,1\n", ":1: duplicate column \"time\""),
            ("time,cpu\n0s,1\n5s\n", ":3: 1 fields, where the first line has 2"),
            ("time,cpu\n0s,1,2\n", ":2: 3 fields, where the first line has 2"),
            ("time,cpu\n,1\n", ":2: the time is missing"),
            ("time,cpu\nsoon,1\n", ":2: \"soon\" is not a time"),
            ("time,cpu\n-5s,1\n", ":2: time -5s must not be negative"),
            ("time,cpu\n1e400,1\n", ":2: \"1e400\" is not a time"),
            ("time,cpu\nNaN,1\n", ":2: \"NaN\" is not a time"),
            ("time,cpu\n30s,1\n15s,1\n", ":3: time 15s is not after the previous one"),
            ("time,cpu\n30s,1\n30,1\n", ":3: time 30 is not after the previous one"),
            (
                "time,cpu\n0s,1\n2026-11-21T06:00:00Z,1\n",
                ":3: times are mixed: some are relative to the first pass, some absolute",
            ),
            ("time,cpu\n0s,80%%\n", ":2: cpu: 80%%: not a value"),
            ("time,cpu\n0s,NaN\n", ":2: cpu: NaN: not a value"),
            ("time,cpu\n0s,-5\n", ":2: cpu: -5: must not be negative"),
            ("time,cpu\n0s,1e400\n", ":2: cpu: 1e400: larger than any metric can be"),
        ] {
            let error = Trace::read(text.as_bytes(), "load.csv").unwrap_err();
            assert_eq!(
                error.message,
                format!("failed to read the trace load.csv{message}"),
                "{text:?}"
            );
        }
        for (text, message) in [
            ("time,\n0s,1\n", "the trace load.csv:1: column : the metric is missing"),
            ("time,a{b\n0s,1\n", "the trace load.csv:1: column a{b: the metric is missing"),
        ] {
            let error = Trace::read(text.as_bytes(), "load.csv").unwrap_err();
            assert_eq!(error.message, message);
        }
        let error = Trace::read(b"time,cpu\n0s,\xff\n", "load.csv").unwrap_err();
        assert_eq!(error.message, "failed to read the trace load.csv:2: not UTF-8 text");
    }
}
