//! A load over time, from a table: a column of times, a column for each metric that changes, and the record of the
//! cluster, if any. [`super::load`] deals with the meaning of a value for the pods.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::record::{Mark, Record};
use super::samples::{Gaps, Sample, regular};
use super::table::{EXAMPLE, TIMES, TraceOrigin, read_count, read_csv, read_time};
use super::{LastValue, TraceEnd};
use crate::apimachinery::json::{self, SecondsTime};
use crate::calendar::Calendar;
use crate::error::Error;
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{HpaSpec, MAX_METRICS, MetricSpec};
use crate::snapshot::load::Load;
use crate::whatif::overrides::{Meant, NamedMetric, OtherRun};
use crate::whatif::unit;
use crate::whatif::value::{AssumedValue, FORMS};

/// The load, column by column.
#[derive(Debug, Clone)]
pub struct Trace {
    origin: TraceOrigin,
    /// Whether times are clock times, counted from 1970, rather than since the first pass.
    is_absolute: bool,
    first: SignedDuration,
    last: SignedDuration,
    metrics: Vec<MetricColumn>,
    record: Record,
}

/// The values of a metric.
#[derive(Debug, Clone)]
struct MetricColumn {
    title: String,
    /// The column's name in errors.
    name: String,
    wanted: NamedMetric,
    samples: Vec<Sample<Typed>>,
    /// Whether the values are percentages, and the line of the first value that shows it.
    unit: Option<(bool, u64)>,
    step: Option<SignedDuration>,
}

/// A value with its text.
#[derive(Debug, Clone, PartialEq)]
struct Typed {
    value: AssumedValue,
    text: Box<str>,
}

/// A value that a metric has from a time on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TraceValue<'t> {
    /// The time since the first pass; negative before it.
    pub(super) after: SignedDuration,
    /// The number of the trace's metric, counted from 0.
    pub(super) column: usize,
    pub(super) value: AssumedValue,
    /// The value as typed.
    pub(super) text: &'t str,
    line: u64,
}

/// The facts about a load as a whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoadFacts {
    /// The metrics of the load, as the trace titles them.
    pub metrics: Vec<String>,
    /// The usual time between two samples, if they are regular.
    #[serde(serialize_with = "json::optional_seconds")]
    pub step: Option<SignedDuration>,
    /// Whether the times of the load are clock times.
    #[serde(skip)]
    pub is_absolute: bool,
    /// Its start.
    #[serde(serialize_with = "json::time::serialize")]
    pub start: Timestamp,
    /// Its end.
    #[serde(serialize_with = "json::time::serialize")]
    pub end: Timestamp,
    /// The times at which some metric has no value.
    pub gaps: Gaps,
    /// Changes of the spec, rollouts and the like, as marked in the trace.
    pub marks: Vec<Mark>,
}

/// The content of a column, from its title.
enum Title {
    Time,
    Replicas,
    Ready,
    Spec,
    /// One of the metrics, counted from 0.
    Metric(usize),
}

impl Trace {
    /// Reads a table in CSV; `origin` names its source.
    ///
    /// # Errors
    ///
    /// The text is not such a table, or one of its times or values is invalid; the error names line and column.
    pub fn read(bytes: &[u8], origin: &str) -> Result<Self, Error> {
        Self::of(&read_csv(bytes, origin)?)
    }

    /// Parses a table into a load.
    ///
    /// # Errors
    ///
    /// A column, a time or a value is invalid.
    pub fn of(load: &Load) -> Result<Self, Error> {
        let origin = match load.lines {
            Some(_) => TraceOrigin::Table(load.source.clone()),
            None => TraceOrigin::Load,
        };
        let (titles, metrics) = titles(&load.columns, load.queries.is_empty(), &origin)?;
        let mut times = load.ready_after.iter().chain(&load.metrics_after);
        if times.any(|time| time.0.is_negative()) {
            return Err(origin.bad(1, "the time until new pods are ready is negative"));
        }
        if load.rows.iter().len() == 0 {
            return Err(origin.bad(1, "there are no rows").hint(EXAMPLE));
        }
        let mut trace = Self {
            origin,
            is_absolute: false,
            first: SignedDuration::ZERO,
            last: SignedDuration::ZERO,
            metrics,
            record: Record {
                measured: load.ready_after.map(|after| after.0),
                ..Record::default()
            },
        };
        for (number, row) in load.rows.iter().enumerate() {
            trace.push(number == 0, load.line(number), &row, &titles)?;
        }
        let (first, last) = (trace.first, trace.last);
        for column in &mut trace.metrics {
            column.step = regular(&mut column.samples, first, last);
        }
        let record = &mut trace.record;
        let is_table = matches!(trace.origin, TraceOrigin::Table(_));
        if is_table && record.replicas.is_empty() && !record.ready.is_empty() {
            return Err(trace
                .origin
                .bad(1, "there is a column \"ready\", but none for replicas")
                .hint("ready says how many of the replicas were ready"));
        }
        record.step = regular(&mut record.replicas, first, last);
        regular(&mut record.ready, first, last);
        // The last sample holds as long as any other.
        record.end = last.saturating_add(record.step.unwrap_or_default());
        Ok(trace)
    }

    /// Takes a row.
    fn push(
        &mut self,
        is_first: bool,
        line: u64,
        row: &[&str],
        titles: &[Title],
    ) -> Result<(), Error> {
        let Self { origin, record, .. } = self;
        let (got, want) = (row.len(), titles.len());
        if got != want {
            let fields = if got == 1 { "field" } else { "fields" };
            let why = format!("{got} {fields}, where the first line has {want}");
            return Err(origin.bad(line, why));
        }
        let cells = || row.iter().copied().zip(titles);
        let text = cells().find_map(|(text, title)| matches!(title, Title::Time).then_some(text));
        let (time, is_absolute) =
            read_time(text.unwrap_or("")).map_err(|why| origin.bad(line, why).hint(TIMES))?;
        if is_first {
            (self.first, self.is_absolute) = (time, is_absolute);
        } else if is_absolute != self.is_absolute {
            let why = "times are mixed: some are relative to the first pass, some absolute";
            return Err(origin.bad(line, why).hint("use one form"));
        } else if time <= self.last {
            let why = "the time is not after the previous one";
            return Err(origin.bad(line, why).hint("rows are sorted by time"));
        }
        self.last = time;
        for (text, title) in cells().filter(|(text, _)| !text.is_empty()) {
            let bad = |why| origin.bad(line, why);
            let sample = |count| Sample::new(time, line, Some(count));
            match title {
                Title::Time => {}
                Title::Replicas => {
                    let count = read_count(text).map_err(|why| bad(format!("replicas: {why}")))?;
                    record.replicas.push(sample(count));
                }
                Title::Ready => {
                    let count = read_count(text).map_err(|why| bad(format!("ready: {why}")))?;
                    record.ready.push(sample(count));
                }
                Title::Spec => record.marks.push((time, text.to_owned())),
                Title::Metric(column) => self.metrics[*column].push(time, text, origin, line)?,
            }
        }
        Ok(())
    }

    /// Returns the start of the trace, if a run has to begin there and not at `now`: the trace ends before `now`, or
    /// its start is further away than one pass can influence another. Nearer to `now`, the controller's history at that
    /// time counts.
    pub fn begins_elsewhere(&self, now: Timestamp, reach: SignedDuration) -> Option<Timestamp> {
        let has_ended = !self.after(self.last, now).is_positive();
        let is_elsewhere = self.after(self.first, now).abs() > reach;
        (self.is_absolute && (has_ended || is_elsewhere)).then(|| self.moment(self.first, now))
    }

    /// Whether the trace was recorded rather than made up, for a first pass at `start`: it contains the replicas, or
    /// has begun by then.
    pub fn is_recorded(&self, start: Timestamp) -> bool {
        let has_begun = self.is_absolute && !self.after(self.first, start).is_positive();
        has_begun || !self.record.replicas.is_empty()
    }

    /// Returns the record of the cluster, for a first pass at `start`.
    pub fn record(&self, start: Timestamp) -> Record {
        self.record.clone().after(|time| self.after(time, start))
    }

    /// Returns the facts about the trace as a whole, for a first pass at `start` and for the part that is played.
    pub fn facts(&self, start: Timestamp, played: SignedDuration) -> LoadFacts {
        let marks = self.record.marks.iter().map(|(time, text)| Mark {
            time: self.moment(*time, start),
            text: text.clone(),
        });
        let samples = self.metrics.iter().map(|column| column.samples.as_slice());
        let begin = self.first.saturating_sub(self.after(self.first, start));
        let span = (begin, begin.saturating_add(played).min(self.last));
        LoadFacts {
            metrics: self
                .metrics
                .iter()
                .map(|column| column.title.clone())
                .collect(),
            step: self.metrics.iter().filter_map(|column| column.step).max(),
            is_absolute: self.is_absolute,
            start: self.moment(self.first, start),
            end: self.moment(self.last, start),
            gaps: Gaps::of(samples, span),
            marks: marks.collect(),
        }
    }

    /// Returns, as text, the first column that gives a resource an amount, and not a share.
    pub(in crate::whatif) fn amount_of(&self, resource: &str) -> Option<String> {
        let is_amount = |sample: &Sample<Typed>| matches!(&sample.value, Some(it) if matches!(it.value, AssumedValue::Amount(_)));
        let mut columns = self
            .metrics
            .iter()
            .filter(|it| it.wanted.is_of_resource(resource));
        let column = columns.find(|column| column.samples.iter().any(is_amount))?;
        Some(format!("{} of {}", column.name, self.origin.name()))
    }

    /// Returns the source of the trace and the time that it covers, for errors about its length.
    pub(super) fn extent(&self, start: Timestamp) -> String {
        let [first, last] =
            [self.first, self.last].map(|time| SecondsTime(self.moment(time, start)));
        format!("{} is of {first} to {last}", self.origin.name())
    }

    /// Returns the time since a first pass at `start`; negative before it.
    fn after(&self, time: SignedDuration, start: Timestamp) -> SignedDuration {
        if self.is_absolute {
            time.saturating_sub(start.duration_since(Timestamp::UNIX_EPOCH))
        } else {
            time
        }
    }

    fn moment(&self, time: SignedDuration, start: Timestamp) -> Timestamp {
        start.plus(self.after(time, start))
    }

    /// Returns the end of the trace, for a first pass at `now`.
    pub(super) fn end(&self, now: Timestamp) -> TraceEnd {
        let last = self.metrics.iter().filter_map(|column| {
            let typed = column.samples.last()?.value.as_ref();
            Some(LastValue {
                metric: column.title.clone(),
                value: typed.map_or("missing", |typed| &*typed.text).to_owned(),
                is_missing: typed.is_none(),
            })
        });
        TraceEnd {
            after: self.after(self.last, now),
            last: last.collect(),
        }
    }

    /// Returns the places of the values of each metric of the trace, including containers that only the pods of
    /// `changed` have. The metrics of the unchanged HPA are `unchanged`.
    ///
    /// # Errors
    ///
    /// Two columns set the same metric, or neither the HPA nor any of `others`, which are played over the same load,
    /// has the metric.
    pub(super) fn places(
        &self,
        snapshot: &Snapshot,
        changed: Option<&Snapshot>,
        unchanged: &[MetricSpec],
        others: &[OtherRun],
    ) -> Result<Vec<Meant>, Error> {
        let origin = self.origin.at(1);
        let mut places: Vec<Meant> = Vec::with_capacity(self.metrics.len());
        for column in &self.metrics {
            let MetricColumn { name, wanted, .. } = column;
            let found = wanted.find_in_run(others, unchanged, snapshot, changed, None, name);
            let meant = found.map_err(|e| self.origin.lacking(e.within(&origin)))?;
            let meant = meant.unwrap_or_default();
            for (MetricColumn { name: other, .. }, taken) in self.metrics.iter().zip(&places) {
                // Only another run may have them.
                if taken.places.is_empty() || meant.places.is_empty() {
                    continue;
                }
                if taken.spec.id() == meant.spec.id() {
                    return Err(Error::usage(format!(
                        "{origin}: {other} and {name} are the same metric"
                    )));
                }
                if taken.spec.shares_usage(&meant.spec) {
                    return Err(Error::usage(format!(
                        "{origin}: {other} and {name} are based on the same usage: set only one"
                    )));
                }
            }
            places.push(meant);
        }
        Ok(places)
    }

    /// Checks that a recorded load has a column for each metric that `is_given` does not name: without it, a run knows
    /// less than the HPA saw. `as_it_is` is the spec of the unchanged HPA, if others are played too.
    ///
    /// # Errors
    ///
    /// A metric has no column.
    pub(super) fn check_complete(
        &self,
        snapshot: &Snapshot,
        places: &[Meant],
        is_given: impl Fn(usize) -> bool,
        as_it_is: Option<&HpaSpec>,
    ) -> Result<(), Error> {
        if !self.is_recorded(snapshot.now) {
            return Ok(());
        }
        let metrics = &snapshot.hpa.spec.metrics;
        let lacking = (0..metrics.len()).find(|place| {
            let mut columns = places.iter().flat_map(|meant| &meant.places);
            !columns.any(|other| other == place || metrics[*other].shares_usage(&metrics[*place]))
                && !is_given(*place)
        });
        let Some(place) = lacking else {
            return Ok(());
        };
        let (origin, label) = (self.origin.at(1), metrics[place].label(metrics));
        let id = metrics[place].id();
        let has_it = |spec: &HpaSpec| spec.metrics.iter().any(|own| own.id() == id);
        let is_of_hpa = as_it_is.is_none_or(has_it);
        let (who, hint) = if is_of_hpa {
            (
                "the HPA",
                "add the column (from Prometheus with --query METRIC=PROMQL), or assume a constant \
                 value, such as --metric NAME=VALUE",
            )
        } else {
            (
                "a candidate",
                "add the column (from Prometheus with --query METRIC=PROMQL): a load that was recorded \
                 has all metrics",
            )
        };
        Err(Error::usage(format!(
            "{origin}: there is no column for {label}, by which {who} scales"
        ))
        .hint(hint))
    }

    /// Returns the values of the trace by time, for a first pass at `start`.
    pub(super) fn stated(&self, start: Timestamp) -> Vec<TraceValue<'_>> {
        let columns = self.metrics.iter().enumerate();
        let mut stated: Vec<TraceValue<'_>> = columns
            .flat_map(|(column, own)| {
                own.samples
                    .iter()
                    .map(move |Sample { time, line, value }| TraceValue {
                        after: self.after(*time, start),
                        column,
                        value: value
                            .as_ref()
                            .map_or(AssumedValue::Missing, |typed| typed.value),
                        text: value.as_ref().map_or("missing", |typed| &*typed.text),
                        line: *line,
                    })
            })
            .collect();
        stated.sort_by_key(|stated| stated.after);
        stated
    }

    /// Returns the place of a value for errors.
    pub(super) fn place(&self, stated: &TraceValue<'_>) -> String {
        let TraceValue { column, line, .. } = stated;
        format!("{}: {}", self.origin.at(*line), self.metrics[*column].name)
    }

    /// Checks that a value has a unit that fits the metric.
    pub(super) fn check_unit(
        &self,
        metrics: &[MetricSpec],
        place: usize,
        stated: &TraceValue<'_>,
    ) -> Result<(), Error> {
        let spec = &metrics[place];
        unit::check(spec, stated.text, str::to_owned).map_err(|_| {
            let (place, label) = (self.place(stated), spec.label(metrics));
            Error::usage(format!("{place}: not in a unit of {label}"))
                .hint("a value has a unit: 80% (of the request), 500m (half a core) or 512Mi")
        })
    }
}

impl MetricColumn {
    /// Takes a cell.
    fn push(
        &mut self,
        time: SignedDuration,
        text: &str,
        origin: &TraceOrigin,
        line: u64,
    ) -> Result<(), Error> {
        let name = &self.name;
        let value = text.parse::<AssumedValue>().map_err(|why| {
            let error = origin.bad(line, format!("{name}: {why}"));
            error.hint(format!("a value is {FORMS}"))
        })?;
        // Two kinds of values in one column are a mistake in joining two sources.
        if let Some(is_percentage) = is_share(&value) {
            let (first, shown) = *self.unit.get_or_insert((is_percentage, line));
            if first != is_percentage {
                let why = format!("{name}: another unit than in {}", origin.row(shown));
                let hint = "use percentages or amounts throughout a column";
                return Err(origin.bad(line, why).hint(hint));
            }
        }
        let typed = (value != AssumedValue::Missing).then(|| Typed {
            value,
            text: text.into(),
        });
        self.samples.push(Sample::new(time, line, typed));
        Ok(())
    }
}

/// Whether the value is a percentage rather than an amount; `None` if it fits both.
fn is_share(value: &AssumedValue) -> Option<bool> {
    match value {
        AssumedValue::Share(_) => Some(true),
        AssumedValue::Amount(_) => Some(false),
        AssumedValue::Scale(_) | AssumedValue::Missing => None,
    }
}

/// Returns the contents of the columns, and the columns of metrics. In a trace a title names a metric as a
/// flag does, in a load from Prometheus as the HPA does. Errors name a column by its number: its title is text from a
/// file that may not be a table at all.
fn titles(
    header: &[String],
    is_trace: bool,
    origin: &TraceOrigin,
) -> Result<(Vec<Title>, Vec<MetricColumn>), Error> {
    let bad = |why: &str| origin.bad(1, why);
    if !header.iter().any(|title| title == "time") {
        let error = bad("the first line has no column \"time\"");
        let of_another_form = header.iter().find(|title| {
            let first = title.split([';', '\t', '|']).next().unwrap_or_default();
            title.eq_ignore_ascii_case("time") || first.trim().eq_ignore_ascii_case("time")
        });
        return Err(match of_another_form {
            Some(title) if title.eq_ignore_ascii_case("time") => {
                error.hint("write \"time\" in small letters")
            }
            Some(_) => error.hint("separate the columns with commas"),
            None => error.hint(EXAMPLE),
        });
    }
    let mut titles: Vec<Title> = Vec::with_capacity(header.len());
    let mut metrics: Vec<MetricColumn> = Vec::new();
    let mut known = HashSet::with_capacity(header.len());
    for (number, title) in header.iter().enumerate() {
        let name = format!("column {}", number + 1);
        if !known.insert(title) {
            return Err(bad(&format!("{name} has the title of another column")));
        }
        if metrics.len() > MAX_METRICS {
            let why = format!("it has more than {MAX_METRICS} columns of metrics");
            return Err(bad(&why).hint("leave out those that the HPA does not have"));
        }
        titles.push(match &**title {
            "time" => Title::Time,
            "replicas" => Title::Replicas,
            "ready" => Title::Ready,
            "spec" => Title::Spec,
            _ => {
                let wanted = NamedMetric::of_column(title, is_trace).map_err(|e| Error {
                    message: bad(&format!("{name}: not a metric")).message,
                    ..e
                })?;
                metrics.push(MetricColumn {
                    title: title.clone(),
                    name,
                    wanted,
                    samples: Vec::new(),
                    unit: None,
                    step: None,
                });
                Title::Metric(metrics.len() - 1)
            }
        });
    }
    if metrics.is_empty() {
        return Err(bad("there is no column for a metric").hint(EXAMPLE));
    }
    Ok((titles, metrics))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{Load, Trace};

    #[test]
    fn a_table_is_read() {
        let text = "\u{feff}time, cpu ,\"queue_depth{env=b,queue=a}\"\r\n0,1500m,30\r\n1m30s,,x2\n";
        let trace = Trace::read(text.as_bytes(), "load.csv").unwrap();
        let titles: Vec<&str> = trace.metrics.iter().map(|own| &*own.title).collect();
        assert_eq!(titles, ["cpu", "queue_depth{env=b,queue=a}"]);
        let stated = trace.stated(Timestamp::UNIX_EPOCH);
        let stated = stated
            .iter()
            .map(|own| (own.after.as_secs(), own.column, own.text, own.line));
        assert_eq!(
            stated.collect::<Vec<_>>(),
            [(0, 0, "1500m", 2), (0, 1, "30", 2), (90, 1, "x2", 3)]
        );
        // The order of the columns is free.
        let trace = Trace::read(b"cpu,time\n80%,2026-11-21T06:00:00Z\n", "load.csv").unwrap();
        assert_eq!(
            trace
                .end("2026-11-21T05:59:00Z".parse().unwrap())
                .after
                .as_secs(),
            60
        );
        // 2026-11-21T06:00:00.5Z, as Prometheus has it.
        let trace = Trace::read(b"time,cpu\n1795240800.5,80%\n", "load.csv").unwrap();
        let start = "2026-11-21T05:59:00Z".parse().unwrap();
        assert_eq!(trace.end(start).after.as_millis(), 60_500);
    }

    #[test]
    fn a_long_column_is_read_in_one_pass() {
        let cells = (0..80_000).map(|row| match row {
            0..40_000 => (row, "missing"),
            _ => (row, "80%"),
        });
        let rows: String = cells.map(|(row, cell)| format!("{row},{cell}\n")).collect();
        let trace = Trace::read(format!("time,cpu\n{rows}").as_bytes(), "load.csv").unwrap();
        assert_eq!(trace.metrics[0].unit, Some((true, 40_002)));
    }

    #[test]
    fn what_is_no_table_is_an_error() {
        for (text, message) in [
            ("", ":1: it is empty"),
            ("\n\n", ":1: it is empty"),
            ("0s,80%\n", ":1: the first line has no column \"time\""),
            ("time\n0s\n", ":1: there is no column for a metric"),
            ("time,cpu\n", ":1: there are no rows"),
            (
                "time,cpu,ready\n0s,1,1\n",
                ":1: there is a column \"ready\", but none for replicas",
            ),
            (
                "time,cpu,cpu\n0s,1,1\n",
                ":1: column 3 has the title of another column",
            ),
            (
                "time,cpu,time\n0s,1,1\n",
                ":1: column 3 has the title of another column",
            ),
            (
                "time,cpu\n0s,1\n5s\n",
                ":3: 1 field, where the first line has 2",
            ),
            (
                "time,cpu\n0s,1,2\n",
                ":2: 3 fields, where the first line has 2",
            ),
            ("time,cpu\n,1\n", ":2: the time is missing"),
            ("time,cpu\nsoon,1\n", ":2: not a time"),
            ("time,cpu\n-5s,1\n", ":2: the time must not be negative"),
            ("time,cpu\n1e400,1\n", ":2: not a time"),
            ("time,cpu\nNaN,1\n", ":2: not a time"),
            (
                "time,cpu\n30s,1\n15s,1\n",
                ":3: the time is not after the previous one",
            ),
            (
                "time,cpu\n30s,1\n30,1\n",
                ":3: the time is not after the previous one",
            ),
            (
                "time,cpu\n0s,1\n2026-11-21T06:00:00Z,1\n",
                ":3: times are mixed: some are relative to the first pass, some absolute",
            ),
            (
                "time,cpu\n0s,80%\n5s,\n10s,1500m\n",
                ":4: column 2: another unit than in line 2",
            ),
            (
                "time,cpu\n0s,missing\n5s,1500m\n10s,1\n15s,80%\n",
                ":5: column 2: another unit than in line 3",
            ),
            (
                "time,cpu\r\n0s,1\r\n\r\n\r\n5s,x\r\n",
                ":5: column 2: not a value",
            ),
            (
                "time,cpu,replicas\n0s,1,-1\n",
                ":2: replicas: not a number of pods",
            ),
            (
                "time,cpu,replicas\n0s,1,2.5\n",
                ":2: replicas: not a number of pods",
            ),
            (
                "time,cpu,ready\n0s,1,x\n",
                ":2: ready: not a number of pods",
            ),
            (
                "time,replicas,spec\n0s,1,rollout\n",
                ":1: there is no column for a metric",
            ),
            (
                "time,cpu,ready\n0s,1,100001\n",
                ":2: ready: at most 100000 pods can be played",
            ),
            (
                "time,cpu\n1763272800000,1\n",
                ":2: not a time: seconds since 1970 have ten digits, not \
                 milliseconds",
            ),
            (
                "time,cpu\n0s,\"1\n5s,2\n",
                ":2: column 2: a quote is not closed, or spans lines",
            ),
            (
                "time,cpu,spec\n0s,1,a\n5s,2,\"b\n10s,3,c\n15s,4,c\n",
                ":3: column 3: a quote is not closed, or spans lines",
            ),
            (
                "time,\"cpu\n0s,1\n",
                ":1: column 2: a quote is not closed, or spans lines",
            ),
            ("time,cpu\n0s,80%%\n", ":2: column 2: not a value"),
            ("time,cpu\n0s,NaN\n", ":2: column 2: not a value"),
            ("time,cpu\n0s,-5\n", ":2: column 2: must not be negative"),
            (
                "time,cpu\n0s,1e400\n",
                ":2: column 2: larger than any metric can be",
            ),
            ("time,\n0s,1\n", ":1: column 2: not a metric"),
            ("time,a{b\n0s,1\n", ":1: column 2: not a metric"),
            ("time,a{b in}\n0s,1\n", ":1: column 2: not a metric"),
        ] {
            let error = Trace::read(text.as_bytes(), "load.csv").unwrap_err();
            assert_eq!(
                error.message,
                format!("failed to read the trace load.csv{message}"),
                "{text:?}"
            );
        }
        let mut load = Load {
            columns: vec!["time".to_owned(), "cpu".to_owned()],
            ..Load::default()
        };
        for row in [["0s", "80%"], ["5s", "80%"], ["10s", "1500m"]] {
            load.rows.push(row);
        }
        assert_eq!(
            Trace::of(&load).unwrap_err().message,
            "failed to read the load, row 3: column 2: another unit than in row 1"
        );
        let error = Trace::read(b"time,cpu\n0s,\xff\n", "load.csv").unwrap_err();
        assert_eq!(
            error.message,
            "failed to read the trace load.csv:2: not UTF-8 text"
        );
    }
}
