//! The table of a load, built from answers. It has a column for each metric, the recorded replicas and
//! ready pods, and marks where something other than the load changed. Unrecorded values are missing in it,
//! and oddities are noted.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use jiff::SignedDuration;

use super::answer::{QueryAnswer, Series};
use super::copies::not_one;
use super::grid::Grid;
use super::queries::{Purpose, Question};
use crate::apimachinery::go::GoDuration;
use crate::apimachinery::json::SecondsTime;
use crate::calendar::Calendar;
use crate::error::{Error, docs};
use crate::keda;
use crate::numbers::{duration, part};
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::load::Load;

/// A query with its answer.
#[derive(Debug, Clone)]
pub struct Answered {
    /// The query.
    pub question: Question,
    /// The times for which it was sent.
    pub grid: Grid,
    /// The answer.
    pub answer: QueryAnswer,
    /// Why a part of the answer is missing, if a load is as good without it.
    pub failure: Option<String>,
}

/// The time for which a change has to last to be marked again, in seconds. The check leaves out at least
/// this time after a mark, because the controller's CPU initialization period is that long.
const AGAIN: i64 = 300;

/// The time from the start of a pod's containers until the pod has metrics: kubelets measure every 10 to 15
/// s, and metrics-server queries them every 15 s.
const API: SignedDuration = SignedDuration::from_secs(30);

/// The share of periods from which on a limit is worth mentioning.
const THROTTLED: f64 = 0.01;

/// Requests that differ by less are the same.
const SAME: f64 = 0.01;

/// The values of a series at the times of a grid.
type Column = Vec<Option<f64>>;

/// The same in words.
type TextColumn = Vec<Option<String>>;

/// Assembles a load of metrics. `source` is the origin of the answers, `min_replicas` the HPA's, and `requested` what
/// a pod requests now for each metric.
///
/// # Errors
///
/// A metric has no samples, or several series, or values that no metric can have.
pub fn assemble(
    metrics: &[MetricSpec],
    grid: Grid,
    answered: &[Answered],
    source: &str,
    min_replicas: Option<i32>,
    requested: &[Option<f64>],
) -> Result<Load, Error> {
    let recording = Recording {
        metrics,
        grid,
        answered,
        min_replicas,
        requested,
    };
    let mut load = Load {
        source: source.to_owned(),
        queries: answered
            .iter()
            .map(|own| own.question.asked.clone())
            .collect(),
        notes: warnings(answered.iter().map(|own| &own.answer)),
        ..Load::default()
    };
    let (titles, mut cells) = recording.cells()?;
    let replicas = recording.pods("replicas", Purpose::Replicas)?;
    let ready = recording.pods("ready", Purpose::Ready)?;
    let rows = recording.known_rows(&cells, &replicas, &mut load.notes)?;
    let unrecorded = [
        (
            &replicas,
            "the replicas were not recorded, so the replay cannot be checked",
        ),
        (&ready, "the pods that were ready were not recorded"),
    ];
    for (values, note) in unrecorded {
        if values.iter().all(Option::is_none) {
            load.notes.push(note.to_owned());
        }
    }
    let mut marks = recording.marks(&replicas)?;
    for (field, values) in recording.fields()? {
        load.notes.extend(marks.changes(&field, &values));
    }
    recording.measure(&mut load)?;
    let has_marks = marks.texts.range(rows.clone()).next().is_some();
    let (names, counts): (Vec<&str>, Vec<Column>) = [("replicas", replicas), ("ready", ready)]
        .into_iter()
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .unzip();
    load.columns.push("time".to_owned());
    load.columns.extend(titles);
    load.columns.extend(names.into_iter().map(str::to_owned));
    load.columns.extend(has_marks.then(|| "spec".to_owned()));
    for row in rows {
        let values = cells
            .iter_mut()
            .map(|column| column[row].take().unwrap_or_else(|| "missing".to_owned()));
        let pods = counts
            .iter()
            .map(|values| values[row].map_or_else(String::new, |n| n.to_string()));
        let mark = has_marks.then(|| {
            marks
                .texts
                .get(&row)
                .map_or(String::new(), |it| it.join("; "))
        });
        load.rows.push(
            std::iter::once(grid.time(row).to_string())
                .chain(values)
                .chain(pods)
                .chain(mark),
        );
    }
    Ok(load)
}

/// The recorded data about some metrics and their pods.
struct Recording<'r> {
    metrics: &'r [MetricSpec],
    grid: Grid,
    answered: &'r [Answered],
    min_replicas: Option<i32>,
    requested: &'r [Option<f64>],
}

impl Recording<'_> {
    /// Returns the answer to the question for a purpose; `None` if it was not asked.
    fn answer(&self, purpose: Purpose) -> Option<&Answered> {
        self.answered
            .iter()
            .find(|answered| answered.question.purpose == purpose)
    }

    /// Returns the values for a purpose; empty if it was not queried.
    fn column(&self, purpose: Purpose) -> Result<Column, Error> {
        self.answer(purpose).map_or(Ok(Vec::new()), single)
    }

    /// Returns the values for a purpose, which must be numbers of pods.
    fn pods(&self, name: &str, purpose: Purpose) -> Result<Column, Error> {
        let values = self.column(purpose)?;
        let is_count =
            |value: f64| value >= 0.0 && value.fract() == 0.0 && value <= f64::from(i32::MAX);
        let wrong = known(&values)
            .into_iter()
            .find(|(_, value)| !is_count(**value));
        if let Some((row, value)) = wrong {
            let (value, time) = (digits(*value), self.grid.time(row));
            return Err(Error::failed(format!(
                "the query for {name} gives {value} at {time}: it is not a number of pods"
            )));
        }
        Ok(values)
    }

    /// Returns the names of the queried metrics, and their values as a metrics API would state them.
    fn cells(&self) -> Result<(Vec<String>, Vec<TextColumn>), Error> {
        let (mut titles, mut cells) = (Vec::new(), Vec::new());
        for (place, spec) in self.metrics.iter().enumerate() {
            let Some(answered) = self.answer(Purpose::Metric(place)) else {
                continue;
            };
            titles.push(spec.flag_name(self.metrics));
            let values = single(answered)?;
            if values.iter().all(Option::is_none) {
                return Err(no_samples(answered));
            }
            let mut column = vec![None; values.len()];
            for (row, value) in known(&values) {
                column[row] = Some(amount(spec, *value).map_err(|why| {
                    let (about, time) = (&answered.question.asked.of, self.grid.time(row));
                    let value = digits(*value);
                    Error::failed(format!(
                        "the query for {about} gives {value} at {time}: {why}"
                    ))
                })?);
            }
            cells.push(column);
        }
        Ok((titles, cells))
    }

    /// Returns the rows from the first to the last that are part of the load, and notes why others are left out.
    fn known_rows(
        &self,
        cells: &[TextColumn],
        replicas: &Column,
        notes: &mut Vec<String>,
    ) -> Result<RangeInclusive<usize>, Error> {
        // Before the first replicas, a load per pod is unknown, and so is whether the controller followed the metrics.
        let awake = awake(replicas);
        let rows = || awake.unwrap_or(0)..self.grid.len();
        let has = |row: &usize| cells.iter().any(|column| column[*row].is_some());
        let Some(first_value) = rows().find(has) else {
            return Err(match awake.filter(|_| !cells.is_empty()) {
                Some(row) => Error::failed(format!(
                    "Prometheus has no finite numbers for the metrics since {}, when the target got replicas",
                    self.grid.time(row)
                ))
                .hint("choose another time with --since or --until"),
                None => Error::usage("there is no metric to ask Prometheus for")
                    .hint("name a query with --query METRIC=PROMQL"),
            });
        };
        let last_value = rows().rfind(has).unwrap_or(first_value);
        // A short gap at either end is due to scrapes that did not fall on it. In a longer one, the target had replicas
        // and the metric was missing.
        let is_long = |count: usize| count as i64 * self.grid.step > AGAIN;
        let runs = |row: &usize| matches!(replicas.get(*row), Some(Some(count)) if *count > 0.0);
        let begun = rows()
            .find(runs)
            .filter(|it| is_long(first_value.saturating_sub(*it)));
        let first = begun.unwrap_or(first_value);
        let ended = rows()
            .rfind(runs)
            .filter(|it| is_long(it.saturating_sub(last_value)));
        let last = ended.unwrap_or(last_value);
        let time = |row| SecondsTime(self.grid.time(row));
        match awake {
            Some(row) => notes.push(format!(
                "the target had 0 replicas until {}: the load begins after that",
                time(row)
            )),
            None if is_long(first) => {
                notes.push(format!("the history begins only at {}", time(first)));
            }
            None => {}
        }
        if is_long(self.grid.len() - 1 - last) {
            notes.push(format!("the history ends at {}", time(last)));
        }
        Ok(first..=last)
    }

    /// Returns the changes other than those of the load and the HPA's spec.
    fn marks(&self, replicas: &Column) -> Result<Marks, Error> {
        let mut marks = Marks {
            grid: self.grid,
            texts: BTreeMap::new(),
        };
        // If the number of outdated pods stays the same, none is being replaced.
        marks.last(&self.column(Purpose::Outdated)?, true, |_| {
            "rollout".to_owned()
        });
        marks.last(
            &self.column(Purpose::Restarts)?,
            false,
            |count| match count {
                count if count < 1.5 => "1 restart".to_owned(),
                count => format!("{count} restarts"),
            },
        );
        let desired = self.column(Purpose::Desired)?;
        let zeros = self.zeros(replicas, &desired)?;
        marks.last(&zeros, false, |_| "0 replicas".to_owned());
        marks.templates(&self.column(Purpose::Template)?);
        marks.by_hand(replicas, &desired);
        Ok(marks)
    }

    /// Returns 1 where something other than the HPA keeps the target at 0 replicas, else 0. With a minimum of 0 then, the
    /// HPA itself goes there and back, unless it desired more when the target was already there.
    fn zeros(&self, replicas: &Column, desired: &Column) -> Result<Column, Error> {
        let mins = self.column(Purpose::MinReplicas)?;
        let now = self.min_replicas.map(f64::from);
        let mut is_kept = false;
        let kept = replicas.iter().enumerate().map(|(row, count)| {
            let count = (*count)?;
            let min = mins.get(row).copied().flatten().or(now);
            let is_own = min == Some(0.0) && differing_at(row, replicas, desired).is_none();
            is_kept = count == 0.0 && (is_kept || !is_own);
            Some(f64::from(u8::from(is_kept)))
        });
        Ok(kept.collect())
    }

    /// Returns fields of the HPA's spec, with their values at each time.
    fn fields(&self) -> Result<Vec<(String, TextColumn)>, Error> {
        let mut fields = Vec::new();
        for (field, purpose) in [
            ("minReplicas", Purpose::MinReplicas),
            ("maxReplicas", Purpose::MaxReplicas),
        ] {
            let values = self.column(purpose)?.into_iter();
            let texts = values.map(|it| it.map(|it| it.to_string()));
            fields.push((field.to_owned(), texts.collect()));
        }
        let Some(answered) = self.answer(Purpose::Targets) else {
            return Ok(fields);
        };
        let mut types: BTreeMap<&str, Vec<(&str, Column)>> = BTreeMap::new();
        for series in &answered.answer.series {
            let label = |name: &str| series.labels.get(name).unwrap_or_default();
            let of_type = (label("metric_target_type"), values(series, answered)?);
            types.entry(label("metric_name")).or_default().push(of_type);
        }
        for (name, columns) in types {
            // A target of another type is another series.
            let texts = (0..self.grid.len()).map(|row| {
                let (type_, value) = columns
                    .iter()
                    .find_map(|(type_, it)| Some((*type_, it[row]?)))?;
                Some(match type_ {
                    "utilization" => format!("{value}%"),
                    "" => value.to_string(),
                    type_ => format!("{value} ({type_})"),
                })
            });
            fields.push((format!("target of {name}"), texts.collect()));
        }
        Ok(fields)
    }

    /// Adds the measurements of the pods other than the load.
    fn measure(&self, load: &mut Load) -> Result<(), Error> {
        let counts = self.column(Purpose::Unmeasured)?;
        let known = counts.iter().flatten();
        let lost = known.filter(|count| **count > 0.0).count();
        if lost > 0 {
            let share = lost as f64 / counts.len() as f64;
            load.notes.push(format!(
                "in {} of the samples the usage of a pod is missing in the total, because its scrapes were lost",
                part(share)
            ));
        }
        if let Some((pods, took)) = self.started(Purpose::Started) {
            load.ready_after = Some(took);
            let ready = format!("{} to become ready", duration(took.0));
            load.notes.push(match pods {
                1 => format!("a new pod took {ready}"),
                _ => format!(
                    "new pods took {ready} (the median of {pods}); --ready-after replaces it"
                ),
            });
        }
        let measured = self.answer(Purpose::Measured);
        if let Some(failure) = measured.and_then(|own| own.failure.as_ref()) {
            load.notes.push(format!(
                "{failure}; --metrics-after states when new pods have metrics"
            ));
        }
        if let Some((pods, took)) = self.started(Purpose::Measured) {
            load.metrics_after = Some(GoDuration(took.0.plus(API)));
            load.notes.push(format!(
                "the containers of new pods started after {} (the median of {pods}); without --metrics-after, metrics \
                 are assumed 30s later",
                duration(took.0)
            ));
        }
        for (place, spec) in self.metrics.iter().enumerate() {
            let values = self.column(Purpose::Requests(place))?;
            let now = self.requested.get(place).copied().flatten();
            load.notes
                .extend(requests(spec, self.metrics, &values, now));
        }
        let throttled = self.column(Purpose::Throttled)?;
        let shares: Vec<f64> = throttled.into_iter().flatten().collect();
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        if mean >= THROTTLED {
            load.notes.push(format!(
                "CPU limits held containers back in {} of the periods: without them, they would have used more",
                part(mean)
            ));
        }
        Ok(())
    }

    /// Returns the number of new pods with a known time for a purpose, and the median of these times.
    fn started(&self, purpose: Purpose) -> Option<(usize, GoDuration)> {
        let series = self.answer(purpose)?.answer.series.iter();
        let mut times: Vec<f64> = series
            // A pod that lost its readiness again shows the last time; a pod that is not ready yet may show an earlier
            // pod's time.
            .filter_map(|series| {
                let times = series.points.iter().map(|(_, value)| *value);
                let own = times.filter(|time| (0.0..1e6).contains(time));
                own.min_by(f64::total_cmp)
            })
            .collect();
        times.sort_unstable_by(f64::total_cmp);
        let median = times.get(times.len() / 2)?;
        let took = SignedDuration::from_millis((median * 1e3) as i64);
        Some((times.len(), GoDuration(took)))
    }
}

/// Returns the first row with replicas of a target that begins with none.
fn awake(replicas: &Column) -> Option<usize> {
    let known = known(replicas);
    known.first().filter(|(_, count)| **count == 0.0)?;
    let (row, _) = known.iter().find(|(_, count)| **count != 0.0)?;
    Some(*row)
}

/// The number of the server's warnings that are listed.
const LISTED: usize = 3;

/// Returns the server's warnings, each once.
pub fn warnings<'a>(answers: impl Iterator<Item = &'a QueryAnswer>) -> Vec<String> {
    let mut unique: Vec<&String> = Vec::new();
    for warning in answers.flat_map(|answer| &answer.warnings) {
        if !unique.contains(&warning) {
            unique.push(warning);
        }
    }
    let more = unique.len().saturating_sub(LISTED);
    let shown = unique
        .into_iter()
        .take(LISTED)
        .map(|text| format!("Prometheus warns: {text}"));
    let further = (more > 0).then(|| format!("Prometheus warns {more} more times"));
    shown.chain(further).collect()
}

/// There are no finite numbers for a metric.
fn no_samples(own: &Answered) -> Error {
    let (start, end) = (own.grid.time(0), own.grid.last());
    let warnings = own.answer.warnings.iter().take(LISTED);
    let warned: String = warnings
        .map(|text| format!("the server warns: {text}; "))
        .collect();
    Error::failed(format!(
        "Prometheus has no finite numbers for {} between {start} and {end}",
        own.question.asked.of
    ))
    .hint(format!(
        "{warned}-v 1 prints the queries; they need cAdvisor and kube-state-metrics, see {}; --query METRIC=PROMQL \
         replaces one",
        docs("prometheus.md")
    ))
}

/// Returns the values of the only series of an answer; all missing if it has no series.
fn single(own: &Answered) -> Result<Column, Error> {
    match &own.answer.series[..] {
        [] => Ok(vec![None; own.grid.len()]),
        [series] => values(series, own),
        more => Err(not_one(&own.question.asked.of, more)),
    }
}

fn values(series: &Series, own: &Answered) -> Result<Column, Error> {
    let mut values = vec![None; own.grid.len()];
    for (millis, value) in &series.points {
        let place = own.grid.place(*millis).ok_or_else(|| {
            Error::failed(format!(
                "Prometheus answers the query for {} with samples at other times than were asked for",
                own.question.asked.of
            ))
        })?;
        values[place] = Some(*value);
    }
    Ok(values)
}

/// Returns a value of a load as a metrics API would state it.
fn amount(spec: &MetricSpec, value: f64) -> Result<String, &'static str> {
    let milli = if spec.is_resource() {
        usage_milli(value)?
    } else {
        stated_milli(spec, value)?
    };
    if milli < 0 {
        return Err("it is negative");
    }
    Ok(written(spec, milli))
}

/// Returns a value in thousandths as the API that serves the metric states it: KEDA's prints it, or 0
/// if it is negative (`quantityFromFloat64`), prometheus-adapter cuts it (`metricFor`, `convertSample`).
///
/// # Errors
///
/// It is larger or smaller than any metric can be.
pub fn stated_milli(spec: &MetricSpec, value: f64) -> Result<i64, &'static str> {
    let milli = value * 1e3;
    if milli >= 9e18 {
        Err("it is larger than any metric can be")
    } else if keda::is_of_trigger(spec) {
        let stated = keda::stated(value).map_err(|_| "it is not a number")?;
        Ok(stated.milli_value())
    } else if milli <= -9e18 {
        Err("it is smaller than any metric can be")
    } else {
        Ok(milli as i64)
    }
}

/// Returns usage in thousandths: rounded to billionths of a unit, and then up to the next thousandth. Smaller
/// digits are noise from a sum of floats.
pub fn usage_milli(value: f64) -> Result<i64, &'static str> {
    let billionths = (value * 1e9).round();
    if billionths < 0.0 {
        return Err("it is negative");
    }
    // A float is exact as long as it can represent every whole number.
    if billionths < 9e15 {
        Ok((billionths as i64 + 999_999) / 1_000_000)
    } else if value * 1e3 < 9e18 {
        Ok((value * 1e3).ceil() as i64)
    } else {
        Err("it is larger than any metric can be")
    }
}

/// Returns a value for a message. All digits of a very large number would be of no use.
pub fn digits(value: f64) -> String {
    if value.abs() < 1e15 {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Returns an amount with an unambiguous unit.
fn written(spec: &MetricSpec, milli: i64) -> String {
    const KI: i64 = 1024 * 1000;
    let is_bytes = spec.is_resource() && spec.name() == "memory";
    match milli {
        0 => "0".to_owned(),
        _ if is_bytes && milli % KI == 0 => format!("{}Ki", milli / KI),
        _ if is_bytes => {
            let text = format!("{}.{:06}", milli / 1_000_000, milli % 1_000_000);
            format!("{}k", text.trim_end_matches('0').trim_end_matches('.'))
        }
        _ if !spec.is_resource() && milli % 1000 == 0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    }
}

/// The changes other than the load, by row.
struct Marks {
    grid: Grid,
    texts: BTreeMap<usize, Vec<String>>,
}

impl Marks {
    fn add(&mut self, row: usize, text: String) {
        let marked = self.texts.entry(row).or_default();
        if !marked.contains(&text) {
            marked.push(text);
        }
    }

    /// Marks the row at which something begins, and again as long as it lasts or still changes.
    fn last(&mut self, values: &[Option<f64>], changes: bool, text: impl Fn(f64) -> String) {
        let mut since: Option<(usize, f64)> = None;
        for (row, value) in values.iter().enumerate() {
            let Some(value) = value.filter(|value| *value > 0.0) else {
                since = None;
                continue;
            };
            let is_new = since.is_none_or(|(since, before)| {
                (row - since) as i64 * self.grid.step >= AGAIN && (!changes || value != before)
            });
            if is_new {
                self.add(row, text(value));
                since = Some((row, value));
            }
        }
    }

    /// Marks the rows in which the newest template is newer than before.
    fn templates(&mut self, created: &[Option<f64>]) {
        for (row, before, time) in pairs(created) {
            if time > before {
                self.add(row, "rollout".to_owned());
            }
        }
    }

    /// Marks the rows at which the replicas became different from the HPA's. After a gap, they are marked only if they
    /// last: the HPA may have been about to change them.
    fn by_hand(&mut self, replicas: &[Option<f64>], desired: &[Option<f64>]) {
        for (row, before, count) in pairs(replicas) {
            let is_other = is_other_at(row, replicas, desired);
            let was_other = is_other_at(row - 1, replicas, desired);
            let lasts = replicas[row - 1].is_some() || is_other_at(row + 1, replicas, desired);
            if before != count && *count > 0.0 && is_other && !was_other && lasts {
                self.add(row, format!("{count} replicas by hand"));
            }
        }
    }

    /// Marks the rows at which a field of the HPA changed, and returns the note about the last change.
    fn changes(&mut self, field: &str, values: &[Option<String>]) -> Option<String> {
        let mut last = None;
        for (row, before, value) in pairs(values)
            .into_iter()
            .filter(|(_, one, other)| one != other)
        {
            self.add(row, format!("{field} from {before} to {value}"));
            last = Some((row, before));
        }
        let (row, before) = last?;
        let until = SecondsTime(self.grid.time(row));
        Some(format!(
            "{field} of the HPA was {before} until {until}: before that, the check compares the HPA as it is with one \
             that was different"
        ))
    }
}

/// Returns the replicas in a row, if they are known to differ from the desired ones.
fn differing_at(row: usize, replicas: &[Option<f64>], desired: &[Option<f64>]) -> Option<f64> {
    let (own, other) = (replicas.get(row).copied()??, desired.get(row).copied()??);
    (own != other).then_some(own)
}

/// Whether the replicas in a row differ from the HPA's, which are scraped up to a sample before or after
/// what it desires.
fn is_other_at(row: usize, replicas: &[Option<f64>], desired: &[Option<f64>]) -> bool {
    let around = row.saturating_sub(1)..=row + 1;
    let mut desired_around = around.filter_map(|row| desired.get(row).copied().flatten());
    differing_at(row, replicas, desired)
        .is_some_and(|count| desired_around.all(|desired| desired != count))
}

/// Returns the known values, each with its row.
fn known<T>(values: &[Option<T>]) -> Vec<(usize, &T)> {
    values
        .iter()
        .enumerate()
        .filter_map(|(row, value)| Some((row, value.as_ref()?)))
        .collect()
}

/// Returns the known values, each with its row and the previous value.
fn pairs<T>(values: &[Option<T>]) -> Vec<(usize, &T, &T)> {
    known(values)
        .windows(2)
        .map(|pair| (pair[1].0, pair[0].1, pair[1].1))
        .collect()
}

/// Returns the note about requests that were not always the same, or are not those of now.
fn requests(
    spec: &MetricSpec,
    among: &[MetricSpec],
    values: &[Option<f64>],
    now: Option<f64>,
) -> Option<String> {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    let last = *known.last()?;
    let least = known.iter().copied().min_by(f64::total_cmp)?;
    let most = known.iter().copied().max_by(f64::total_cmp)?;
    let apart = |value: f64| (value - last).abs() > SAME * last;
    let text = |value: f64| amount(spec, value).ok();
    let metric = spec.label(among);
    let at_end = text(last)?;
    let (which, amounts) = if apart(least) || apart(most) {
        let (least, most) = (text(least)?, text(most)?);
        (
            "changed",
            format!("from {least} to {most} for each, {at_end} at the end"),
        )
    } else {
        let today = text(now.filter(|now| apart(*now))?)?;
        (
            "were different",
            format!("{at_end} for each, {today} today"),
        )
    };
    Some(format!(
        "the requests of the pods {which}: {metric} {amounts}; the replay has those of today all the time"
    ))
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::json;

    use super::{Answered, assemble, warnings};
    use crate::build;
    use crate::prometheus::answer::{QueryAnswer, Series};
    use crate::prometheus::copies::{copies, followed, not_one, several};
    use crate::prometheus::grid::Grid;
    use crate::prometheus::queries::{Purpose, Question, SLOW};
    use crate::snapshot::hpa::Hpa;
    use crate::snapshot::load::{Load, LoadQuery};

    const START: &str = "2026-11-21T06:00:00Z";
    const NAN: f64 = f64::NAN;

    fn grid(count: i64) -> Grid {
        let start: Timestamp = START.parse().unwrap();
        let end = start + SignedDuration::from_secs(30 * (count - 1));
        Grid::new(start, end, SignedDuration::from_secs(30)).unwrap()
    }

    /// An answer with a series for each list of values; a value that is not a number is missing.
    fn answered(purpose: Purpose, grid: Grid, all: &[&[f64]]) -> Answered {
        let question = Question {
            purpose,
            asked: LoadQuery::new(format!("{purpose:?}"), "q".to_owned()),
        };
        let series = all.iter().map(|values| {
            let points = values
                .iter()
                .enumerate()
                .filter(|(_, value)| value.is_finite());
            let time = |place: usize| grid.time(place).as_millisecond();
            Series {
                points: points.map(|(at, value)| (time(at), *value)).collect(),
                ..Series::default()
            }
        });
        Answered {
            question,
            grid,
            answer: QueryAnswer {
                series: series.collect(),
                warnings: Vec::new(),
            },
            failure: None,
        }
    }

    fn hpa(metric: &serde_json::Value) -> Hpa {
        Hpa::of(&json!({"maxReplicas": 9, "metrics": [metric]}), json!({}))
    }

    fn load(hpa: &Hpa, count: i64, answers: &[(Purpose, &[&[f64]])]) -> Result<Load, String> {
        let all = answers.iter().map(|(purpose, values)| {
            let is_slow = matches!(
                purpose,
                Purpose::Requests(_) | Purpose::Started | Purpose::Measured | Purpose::Unmeasured
            );
            let grid = if is_slow {
                grid(count).every(SLOW)
            } else {
                grid(count)
            };
            answered(*purpose, grid, values)
        });
        let all: Vec<Answered> = all.collect();
        let metrics = &hpa.spec.metrics;
        let min = hpa.spec.min_replicas;
        assemble(metrics, grid(count), &all, "a server", min, &[Some(0.4)]).map_err(|e| e.message)
    }

    fn rows(load: &Load) -> Vec<String> {
        let row = |row: Vec<&str>| row[1..].join(",");
        load.rows.iter().map(row).collect()
    }

    fn cpu() -> Hpa {
        hpa(&build::resource("cpu", &build::utilization(50)))
    }

    #[test]
    fn what_was_not_recorded_is_missing_and_the_ends_are_cut() {
        let values: &[f64] = &[NAN, 0.25, 0.2500000000001, NAN, 0.0, 1.0001, NAN];
        let ready: &[f64] = &[1.0, 2.0, NAN, 2.0, 3.0, 3.0, 3.0];
        let load = load(
            &cpu(),
            7,
            &[(Purpose::Metric(0), &[values]), (Purpose::Ready, &[ready])],
        )
        .unwrap();
        assert_eq!(load.columns, ["time", "cpu", "ready"]);
        assert_eq!(load.rows.iter().next().unwrap()[0], "2026-11-21T06:00:30Z");
        // A float's noise is not part of the load, and a fraction of a thousandth counts as a whole one.
        assert_eq!(
            rows(&load),
            ["250m,2", "250m,", "missing,2", "0,3", "1001m,3"]
        );
        let note = "the replicas were not recorded, so the replay cannot be checked";
        assert_eq!(load.notes, [note]);
    }

    #[test]
    fn a_long_time_with_replicas_and_without_a_metric_is_missing_at_the_ends_too() {
        // 5m30s, 5m, and 5m30s without replicas.
        for (before, after, count, want) in [
            (11, 11, 4.0, (11, 11)),
            (10, 10, 4.0, (0, 0)),
            (11, 11, 0.0, (0, 0)),
            (11, 11, NAN, (0, 0)),
        ] {
            let values = [vec![NAN; before], vec![1.0; 3], vec![NAN; after]].concat();
            let replicas = [vec![count; before], vec![4.0; 3], vec![count; after]].concat();
            let answers: &[(Purpose, &[&[f64]])] = &[
                (Purpose::Metric(0), &[&values]),
                (Purpose::Replicas, &[&replicas]),
            ];
            let rows = rows(&load(&cpu(), values.len() as i64, answers).unwrap());
            let is_missing = |row: &&String| row.starts_with("missing,");
            let begun = rows.iter().take_while(is_missing).count();
            let ended = rows.iter().rev().take_while(is_missing).count();
            assert_eq!((begun, ended), want, "{before} {after} {count}");
            assert_eq!(rows.len(), begun + 3 + ended);
        }
        // One sample shows that it had replicas.
        let values = [vec![1.0; 3], vec![NAN; 11]].concat();
        let replicas = [vec![NAN; 13], vec![4.0]].concat();
        let answers: &[(Purpose, &[&[f64]])] = &[
            (Purpose::Metric(0), &[&values]),
            (Purpose::Replicas, &[&replicas]),
        ];
        assert_eq!(rows(&load(&cpu(), 14, answers).unwrap()).len(), 14);
    }

    #[test]
    fn units_leave_no_doubt() {
        let external = |labels: serde_json::Value| {
            let metric = json!({"name": "q", "selector": {"matchLabels": labels}});
            let target = json!({"type": "Value", "value": "1"});
            json!({"type": "External", "external": {"metric": metric, "target": target}})
        };
        let of_keda = external(json!({ crate::keda::OWNER: "web" }));
        for (metric, value, want) in [
            (
                build::resource("memory", &build::utilization(50)),
                1024.0 * 1024.0,
                "1024Ki",
            ),
            (
                build::resource("memory", &build::utilization(50)),
                1_234_567.0,
                "1234.567k",
            ),
            (
                build::resource("cpu", &build::utilization(50)),
                2.0,
                "2000m",
            ),
            (external(json!({})), 30.0, "30"),
            (external(json!({})), 10.0009, "10"),
            // 1000.9999999999999 thousandths.
            (external(json!({})), 1.001, "1"),
            (of_keda.clone(), 10.0004, "10"),
            (of_keda.clone(), 10.0006, "10001m"),
            (of_keda.clone(), 0.0625, "62m"),
            (of_keda, -35.0, "0"),
        ] {
            let load = load(
                &hpa(&metric),
                2,
                &[(Purpose::Metric(0), &[&[value, value]])],
            )
            .unwrap();
            assert_eq!(rows(&load)[0], want);
        }
    }

    #[test]
    fn what_no_metric_can_be_is_an_error() {
        for (values, part) in [
            (&[&[-1.0, 1.0][..]][..], "it is negative"),
            (
                &[&[1e300, 1.0]],
                "gives 1e300 at 2026-11-21T06:00:00Z: it is larger than any metric can be",
            ),
            (&[&[1.0, 1.0], &[1.0, 1.0]], "gives 2 series, not one"),
            (&[], "no finite numbers for"),
            (&[&[NAN, NAN]], "no finite numbers for"),
        ] {
            let e = load(&cpu(), 2, &[(Purpose::Metric(0), values)]).unwrap_err();
            assert!(e.contains(part), "{e}");
        }
        let e = load(&cpu(), 2, &[]).unwrap_err();
        assert!(e.contains("there is no metric to ask"), "{e}");
        let mut odd = answered(Purpose::Metric(0), grid(2), &[&[1.0, 1.0]]);
        odd.answer.series[0].points[0].0 += 1;
        let hpa = cpu();
        let metrics = &hpa.spec.metrics;
        let e = assemble(metrics, grid(2), &[odd], "a server", None, &[]).unwrap_err();
        assert!(
            e.message.contains("at other times than were asked for"),
            "{e}"
        );
    }

    /// The marks, by row.
    fn marks(count: i64, answers: &[(Purpose, &[&[f64]])]) -> Vec<(usize, String)> {
        let cpu_values = vec![1.0; count as usize];
        let all: &[&[f64]] = &[&cpu_values];
        let answers: Vec<_> = [(Purpose::Metric(0), all)]
            .into_iter()
            .chain(answers.iter().copied())
            .collect();
        let load = load(&cpu(), count, &answers).unwrap();
        let last = load.columns.iter().position(|title| title == "spec");
        let Some(last) = last else { return Vec::new() };
        let marks = load.rows.iter().map(|row| row[last].to_owned());
        marks
            .enumerate()
            .filter(|(_, mark)| !mark.is_empty())
            .collect()
    }

    #[test]
    fn what_changed_beside_the_load_is_marked() {
        let mark = |at, text: &str| (at, text.to_owned());
        // A rollout of six minutes is marked again after five, if it has not ended.
        let mut outdated = vec![0.0; 20];
        outdated[3..15].fill(2.0);
        let begun = [mark(3, "rollout")];
        assert_eq!(marks(20, &[(Purpose::Outdated, &[&outdated])]), begun);
        outdated[12..15].fill(1.0);
        let twice = [mark(3, "rollout"), mark(13, "rollout")];
        assert_eq!(marks(20, &[(Purpose::Outdated, &[&outdated])]), twice);
        let created: &[f64] = &[10.0, 10.0, NAN, 99.0, 99.0];
        assert_eq!(
            marks(5, &[(Purpose::Template, &[created])]),
            [mark(3, "rollout")]
        );
        let both: &[f64] = &[0.0, 0.0, 0.0, 1.0, 0.0];
        let twice = marks(
            5,
            &[
                (Purpose::Template, &[created]),
                (Purpose::Outdated, &[both]),
            ],
        );
        assert_eq!(twice, [mark(3, "rollout")]);
        let restarts: &[f64] = &[0.0, 1.0, 2.0, 0.0, 3.0];
        let restarted = marks(5, &[(Purpose::Restarts, &[restarts])]);
        assert_eq!(restarted, [mark(1, "1 restart"), mark(4, "3 restarts")]);
        let max: &[f64] = &[10.0, 10.0, 20.0, NAN, 20.0];
        assert_eq!(
            marks(5, &[(Purpose::MaxReplicas, &[max])]),
            [mark(2, "maxReplicas from 10 to 20")]
        );
    }

    #[test]
    fn a_hand_at_the_replicas_is_told_from_a_scrape_between_two_writes() {
        let replicas: &[f64] = &[2.0, 2.0, 4.0, 4.0, 7.0, 4.0, 4.0];
        // The HPA goes to 4 itself, and back to it after someone wrote 7.
        let desired: &[f64] = &[2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 4.0];
        let found = marks(
            7,
            &[
                (Purpose::Replicas, &[replicas]),
                (Purpose::Desired, &[desired]),
            ],
        );
        assert_eq!(found, [(4, "7 replicas by hand".to_owned())]);
        // What was not recorded in between may have hidden it.
        let hidden: &[f64] = &[2.0, 2.0, NAN, 7.0, 7.0];
        let kept: &[f64] = &[2.0, 2.0, NAN, 2.0, 2.0];
        let found = marks(
            5,
            &[(Purpose::Replicas, &[hidden]), (Purpose::Desired, &[kept])],
        );
        assert_eq!(found, [(3, "7 replicas by hand".to_owned())]);
        // The HPA's own are scraped when it desires them, a sample later, and in the middle after a gap. Someone who
        // scales is named once if the HPA never follows.
        let late: &[f64] = &[2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0];
        let ramp: &[f64] = &[2.0, 3.0, 4.0, 5.0, 6.0, 6.0, 6.0];
        let gap: &[f64] = &[2.0, 2.0, NAN, NAN, 4.0, 8.0, 8.0];
        let after: &[f64] = &[2.0, 2.0, NAN, NAN, 8.0, 8.0, 8.0];
        let steps: &[f64] = &[4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0];
        let stays: &[f64] = &[4.0; 7];
        for (replicas, desired, want) in [
            (desired, desired, &[][..]),
            (late, ramp, &[]),
            (gap, after, &[]),
            (steps, stays, &[(2, "5 replicas by hand".to_owned())]),
        ] {
            let found = marks(
                7,
                &[
                    (Purpose::Replicas, &[replicas]),
                    (Purpose::Desired, &[desired]),
                ],
            );
            assert_eq!(found, want, "{replicas:?}");
        }
    }

    #[test]
    fn a_load_begins_where_the_target_has_replicas_and_zeros_are_marked() {
        let replicas: &[f64] = &[0.0, 0.0, 4.0, 4.0, 0.0, 4.0];
        let desired: &[f64] = &[4.0; 6];
        let cpu_values: &[f64] = &[1.0; 6];
        let answers: &[(Purpose, &[&[f64]])] = &[
            (Purpose::Metric(0), &[cpu_values]),
            (Purpose::Replicas, &[replicas]),
            (Purpose::Ready, &[replicas]),
            (Purpose::Desired, &[desired]),
        ];
        let marked = [
            "1000m,4,4,",
            "1000m,4,4,",
            "1000m,0,0,0 replicas",
            "1000m,4,4,",
        ];
        let at_zero =
            "the target had 0 replicas until 2026-11-21T06:01:00Z: the load begins after that";
        for min in [None, Some(0), Some(1)] {
            let mut hpa = cpu();
            hpa.spec.min_replicas = min;
            let load = load(&hpa, 6, answers).unwrap();
            assert_eq!(rows(&load), marked, "{min:?}");
            assert_eq!(load.notes, [at_zero]);
        }
        // The target had replicas before the metric had values.
        let late: &[f64] = &[NAN, NAN, NAN, 1.0, 1.0, 1.0];
        let answers: &[(Purpose, &[&[f64]])] = &[
            (Purpose::Metric(0), &[late]),
            (Purpose::Replicas, &[replicas]),
        ];
        assert_eq!(
            load(&cpu(), 6, answers).unwrap().notes,
            [at_zero, "the pods that were ready were not recorded"]
        );
        let gone: &[f64] = &[1.0, 1.0, NAN, NAN, NAN, NAN];
        let answers: &[(Purpose, &[&[f64]])] = &[
            (Purpose::Metric(0), &[gone]),
            (Purpose::Replicas, &[replicas]),
        ];
        let e = load(&cpu(), 6, answers).unwrap_err();
        let since = "for the metrics since 2026-11-21T06:01:00Z, when the target got replicas";
        assert!(e.contains(since), "{e}");
        let half: &[f64] = &[4.5; 6];
        let answers: &[(Purpose, &[&[f64]])] = &[
            (Purpose::Metric(0), &[cpu_values]),
            (Purpose::Replicas, &[half]),
        ];
        let e = load(&cpu(), 6, answers).unwrap_err();
        assert!(
            e.contains("gives 4.5 at") && e.contains("not a number of pods"),
            "{e}"
        );
    }

    #[test]
    fn zeros_that_the_hpa_itself_may_have_written_are_no_marks() {
        let mut at_zero = [0.0; 14];
        (at_zero[0], at_zero[13]) = (4.0, 4.0);
        // A switched-off HPA desires 0, too, from its next pass on.
        let mut late = at_zero;
        late[1] = 4.0;
        let (replicas, by_other): (&[f64], &[f64]) = (&at_zero, &late);
        let (cpu_values, unknown): (&[f64], &[f64]) = (&[1.0; 14], &[NAN; 14]);
        for (min, then, desired, want) in [
            (Some(0), NAN, replicas, &[][..]),
            (Some(0), NAN, unknown, &[]),
            (Some(0), NAN, by_other, &[1, 11]),
            (Some(1), NAN, replicas, &[1, 11]),
            (None, NAN, unknown, &[1, 11]),
            (Some(0), 1.0, replicas, &[1, 11]),
            (Some(1), 0.0, replicas, &[]),
        ] {
            let mut hpa = cpu();
            hpa.spec.min_replicas = min;
            let answers: &[(Purpose, &[&[f64]])] = &[
                (Purpose::Metric(0), &[cpu_values]),
                (Purpose::Replicas, &[replicas]),
                (Purpose::Desired, &[desired]),
                (Purpose::MinReplicas, &[&[then; 14]]),
            ];
            let rows = rows(&load(&hpa, 14, answers).unwrap());
            let marked = (0..14).filter(|row| rows[*row].ends_with("0 replicas"));
            assert_eq!(
                marked.collect::<Vec<_>>(),
                want,
                "{min:?} {then} {desired:?}"
            );
        }
    }

    #[test]
    fn copies_by_other_servers_are_none_and_warnings_are_few() {
        let copy = |labels: &[(&str, &str)]| Series {
            labels: labels.iter().copied().collect(),
            points: vec![(0, 9.0)],
        };
        let answer = |all: &[&[(&str, &str)]]| QueryAnswer {
            series: all.iter().map(|labels| copy(labels)).collect(),
            warnings: (0..5).map(|n| format!("store {n}")).collect(),
        };
        let same = answer(&[&[("instance", "a"), ("replica", "1")], &[("instance", "b")]]);
        assert_eq!(several(same.series.iter()), None);
        let two = answer(&[
            &[("cluster", "eu"), ("pod", "a")],
            &[("cluster", "us"), ("pod", "b")],
        ]);
        assert_eq!(
            several(two.series.iter()).unwrap(),
            "Prometheus has this HPA with several values of cluster (eu, us): their series are mixed; \
             --prometheus-match 'cluster=\"eu\"' selects one"
        );
        // Usage of one container at the same time is from several servers.
        let usage = |replica: &str, id: &str, times: [i64; 2]| Series {
            points: times.map(|time| (time, 1.0)).to_vec(),
            ..copy(&[
                ("container", "app"),
                ("pod", "a"),
                ("prometheus_replica", replica),
                ("id", id),
            ])
        };
        let twice = [usage("p-1", "x", [0, 30]), usage("p-0", "x", [5, 35])];
        assert_eq!(
            followed(twice.iter()).unwrap(),
            "Prometheus has the usage with several values of prometheus_replica (p-0, p-1), as from servers that \
             scrape the same: of each container, the one with more samples counts, and another where it has none"
        );
        let replaced = [usage("p-0", "x", [0, 30]), usage("p-0", "y", [29, 60])];
        assert_eq!(followed(replaced.iter()), None);
        let moved = [usage("p-0", "x", [0, 30]), usage("p-1", "x", [45, 60])];
        assert_eq!(followed(moved.iter()), None);
        assert_eq!(copies(&twice), Some("prometheus_replica"));
        assert_eq!(copies(&replaced), None);
        let e = not_one("q", &twice);
        assert_eq!(
            e.hint.unwrap(),
            "count each once, as with sum(max without (prometheus_replica) (...))"
        );
        let notes = warnings([&two, &same].into_iter());
        assert_eq!(notes.len(), 4);
        assert_eq!(notes[2], "Prometheus warns: store 2");
        assert_eq!(notes[3], "Prometheus warns 2 more times");
    }

    /// The server chooses the values of labels, and users paste the matcher into a shell.
    #[test]
    fn the_matcher_of_a_label_is_one_word() {
        for (value, word) in [
            ("eu", r#"'cluster="eu"'"#),
            ("a'; touch x; '", r#"'cluster="a'\''; touch x; '\''"'"#),
            (r#"a"b\c"#, r#"'cluster="a\"b\\c"'"#),
        ] {
            let copies = [value, "us"].map(|value| Series {
                labels: [("cluster", value)].into_iter().collect(),
                points: Vec::new(),
            });
            let note = several(copies.iter()).unwrap();
            let expected = format!("--prometheus-match {word} selects one");
            assert!(note.ends_with(&expected), "{note}");
        }
    }

    #[test]
    fn a_target_of_another_type_is_a_change() {
        let mut targets = answered(
            Purpose::Targets,
            grid(4),
            &[&[60.0, 60.0], &[NAN, NAN, 0.5, 0.5]],
        );
        for (series, type_) in targets
            .answer
            .series
            .iter_mut()
            .zip(["utilization", "average"])
        {
            let labels = [("metric_name", "cpu"), ("metric_target_type", type_)];
            series.labels = labels.into_iter().collect();
        }
        let all = [answered(Purpose::Metric(0), grid(4), &[&[1.0; 4]]), targets];
        let hpa = cpu();
        let metrics = &hpa.spec.metrics;
        let load = assemble(metrics, grid(4), &all, "a server", None, &[]).unwrap();
        assert_eq!(
            rows(&load)[2],
            "1000m,target of cpu from 60% to 0.5 (average)"
        );
    }

    #[test]
    fn requests_that_are_not_those_of_now_are_noted() {
        let other = |recorded: &str| {
            format!(
                "the requests of the pods were different: cpu {recorded} for each, 400m today; the replay has those \
                 of today all the time"
            )
        };
        for (requests, want) in [
            (0.2, Some(other("200m"))),
            (0.8, Some(other("800m"))),
            (0.401, None),
            (NAN, None),
        ] {
            let answers: &[(Purpose, &[&[f64]])] = &[
                (Purpose::Metric(0), &[&[1.0; 21]]),
                (Purpose::Replicas, &[&[1.0; 21]]),
                (Purpose::Ready, &[&[1.0; 21]]),
                (Purpose::Requests(0), &[&[requests; 2]]),
            ];
            let notes = load(&cpu(), 21, answers).unwrap().notes;
            assert_eq!(notes, Vec::from_iter(want), "{requests}");
        }
    }

    #[test]
    fn what_looks_odd_is_noted() {
        let values = vec![1.0; 101];
        let all: &[&[f64]] = &[&values];
        let requests: &[f64] = &[0.2, 0.2, 0.4, 0.4, 0.4, 0.4];
        let started: &[&[f64]] = &[&[-9.0, 30.0, 12.0], &[10.0], &[14.0]];
        let unmeasured: &[f64] = &[1.0, 0.0, 2.0];
        let max: Vec<f64> = (0..101)
            .map(|at| if at < 50 { 10.0 } else { 20.0 })
            .collect();
        let load = load(
            &cpu(),
            101,
            &[
                (Purpose::Metric(0), all),
                (Purpose::Replicas, all),
                (Purpose::Ready, all),
                (Purpose::Requests(0), &[requests]),
                (Purpose::Started, started),
                (Purpose::Measured, &[&[5.0], &[4.0], &[60.0]]),
                (Purpose::Unmeasured, &[unmeasured]),
                (Purpose::MaxReplicas, &[&max]),
                (Purpose::Throttled, &[&[0.05; 101]]),
            ],
        )
        .unwrap();
        let took = crate::apimachinery::go::GoDuration(SignedDuration::from_secs(12));
        assert_eq!(load.ready_after, Some(took));
        let after =
            |seconds| crate::apimachinery::go::GoDuration(SignedDuration::from_secs(seconds));
        assert_eq!(load.metrics_after, Some(after(35)));
        assert_eq!(
            load.notes,
            [
                "maxReplicas of the HPA was 10 until 2026-11-21T06:25:00Z: before that, the check compares the HPA \
                 as it is with one that was different",
                "in 33.3% of the samples the usage of a pod is missing in the total, because its scrapes were lost",
                "new pods took 12s to become ready (the median of 3); --ready-after replaces it",
                "the containers of new pods started after 5s (the median of 3); without --metrics-after, metrics are \
                 assumed 30s later",
                "the requests of the pods changed: cpu from 200m to 400m for each, 400m at the end; the replay has \
                 those of today all the time",
                "CPU limits held containers back in 5% of the periods: without them, they would have used more",
            ]
        );
    }

    #[test]
    fn a_history_that_is_shorter_than_requested_is_noted() {
        let mut values = [NAN; 30];
        values[12..18].fill(1.0);
        let mut started = answered(Purpose::Started, grid(30).every(SLOW), &[&[10.0]]);
        let mut measured = answered(Purpose::Measured, grid(30), &[]);
        measured.failure = Some("timed out".to_owned());
        started.answer.warnings.push("partial".to_owned());
        let usage = answered(Purpose::Metric(0), grid(30), &[&values]);
        let (metrics, all) = (cpu().spec.metrics, [usage, started, measured]);
        let load = assemble(&metrics, grid(30), &all, "a server", None, &[]).unwrap();
        assert_eq!(
            load.notes,
            [
                "Prometheus warns: partial",
                "the history begins only at 2026-11-21T06:06:00Z",
                "the history ends at 2026-11-21T06:08:30Z",
                "the replicas were not recorded, so the replay cannot be checked",
                "the pods that were ready were not recorded",
                "a new pod took 10s to become ready",
                "timed out; --metrics-after states when new pods have metrics",
            ]
        );
    }
}
