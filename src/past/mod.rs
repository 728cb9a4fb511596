//! A past pass: the state at its time and at the passes before, from samples, and the recommendations of each
//! of those passes. The state between two samples is uncertain, so each pass is run over the samples around
//! its time in every direction, which gives bounds. Nothing upstream corresponds to it.

pub mod answers;
mod course;
mod lacks;
mod moment;
mod outcome;
mod pods;
mod replay;
mod sidecars;
mod usage;
mod view;

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};

use crate::calendar::Calendar;
use crate::engine;
use crate::error::{Error, docs};
use crate::memory::{Memory, infer, sampled};
use crate::numbers::duration;
use crate::outlook;
use crate::prometheus::history::History;
use crate::saved::assemble::save_command;
use crate::snapshot::basis::Basis;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::hpa::{Hpa, HpaStatus};
use crate::snapshot::input::Input;
use crate::snapshot::note::Subject;
use crate::snapshot::past::{Bounds, Past, PastPart, PastPass, PastRescale};
use crate::snapshot::surroundings::Surroundings;
use crate::snapshot::written::Written;
use crate::snapshot::{ScaleError, Snapshot};
use course::RecordedCourse;
use lacks::{check_created, check_pods, lacks, with_state};
use moment::{Moments, RestoredSpec};
use sidecars::with_sidecars;
use view::View;

/// The maximum number of passes before a past pass. Each is run several times.
const MOST: i32 = 50_000;

/// Returns how long before a pass a history has to begin, and how long after it it has to continue.
pub fn span(input: &Input) -> (SignedDuration, SignedDuration) {
    /// Usage per pod is shown for the time before, and counters need two samples.
    const LEAST: SignedDuration = SignedDuration::from_mins(10);
    const AROUND: SignedDuration = SignedDuration::from_mins(2);
    let Snapshot {
        hpa, controller, ..
    } = &input.snapshot;
    (
        LEAST.max(infer::window(hpa, controller).plus(AROUND)),
        AROUND,
    )
}

/// Checks that a past pass can be determined from the state that was read later.
///
/// # Errors
///
/// The pods of the target cannot be determined.
pub fn check(input: &Input) -> Result<(), Error> {
    moment::selected(input).map(drop)
}

/// Checks that the passes before a past pass are not too many.
///
/// # Errors
///
/// They are.
pub fn check_count(input: &Input) -> Result<(), Error> {
    let Snapshot {
        hpa, controller, ..
    } = &input.snapshot;
    let (window, period) = (infer::window(hpa, controller), controller.sync_period);
    let passes = window
        .as_nanos()
        .checked_div(period.as_nanos())
        .unwrap_or_default();
    if passes > MOST.into() {
        let (span_text, period_text) = (duration(window), duration(period));
        return Err(Error::usage(format!(
            "{span_text} of history with a pass every {period_text} has {passes} passes; the limit is {MOST}"
        ))
        .hint("use a longer --sync-period"));
    }
    Ok(())
}

/// Returns when the HPA of an input was read; if that is itself a past pass, its time is earlier.
pub fn read(input: &Input) -> Timestamp {
    input
        .evidence
        .past
        .as_ref()
        .map_or(input.snapshot.now, |past| past.read)
}

/// Returns the input of the pass at a time, from the state that was read later and a history.
///
/// # Errors
///
/// The target's pods cannot be determined, the history does not contain them, or the HPA did not exist yet.
pub fn rewind(mut input: Input, history: &History, at: Timestamp) -> Result<Input, Error> {
    let read = read(&input);
    let target = input.snapshot.hpa.reference();
    let (completed, lacks) = completed(history, &input);
    let with_state = with_state(completed, &input);
    let created = history.created(at).or(input.snapshot.hpa.written.created);
    check_created(history, &input.snapshot, created, at)?;
    // Another HPA of the name was there before one that was created later.
    let begin = created.filter(|created| *created <= at);
    let (window, _) = span(&input);
    let first = begin
        .map(|begin| sampled::first_pass(begin, &input.snapshot.controller))
        .filter(|first| at.minus(window) <= *first)
        .map(Timestamp::as_millisecond);
    let period = period(&input.snapshot);
    let course = |record| RecordedCourse::around(at, period, first, record);
    let moments = Moments::new(&input, &with_state, &lacks, course)?;
    let at = moments.course.time();
    input.snapshot.now = at;
    let base = input.snapshot.clone();
    let likely = moments.at(&base, at, View::LIKELY).ok_or_else(|| {
        Error::failed(format!(
            "Prometheus has no samples of {target} and its pods in the {} before {at}",
            duration(SignedDuration::from_millis(with_state.state_age()))
        ))
        .hint(format!(
            "they need kube-state-metrics; -v 1 prints the queries, see {}",
            docs("prometheus.md")
        ))
    })?;
    check_pods(&likely, &lacks)?;
    let played = moments.played(&base, at);
    let course = &moments.course;
    let RestoredSpec { changed, kept, .. } = moments.restored(at, View::LIKELY);
    let past = Past {
        read,
        changed,
        kept,
        doubt: course.doubt(),
        outcome: course.outcome().filter(|_| moments.is_recorded_after(at)),
        proposal: played.map(|(bounds, _)| bounds),
        recorded: moments.recorded_after(at),
        ..before(&moments, &base, at, begin)
    };
    go_back(&mut input, likely, past);
    outcome::follow(&mut input, &moments, &base, at);
    Ok(input)
}

/// Returns a history with the sidecars that it does not distinguish from other containers, and the parts that a pass
/// uses but the history lacks.
fn completed<'h>(history: &'h History, input: &Input) -> (Cow<'h, History>, Vec<PastPart>) {
    let mut lacks = lacks(history, &input.snapshot.hpa.spec);
    let completed = with_sidecars(history, input);
    if matches!(completed, Cow::Owned(_)) {
        lacks.push(PastPart::Sidecars);
    }
    (completed, lacks)
}

/// Replaces the current state with a past pass: fields that were read later say nothing about the time of the
/// pass.
fn go_back(input: &mut Input, likely: Snapshot, past: Past) {
    let before = std::mem::replace(&mut input.snapshot, likely);
    let hpa = &mut input.snapshot.hpa;
    (hpa.uid, hpa.generation, hpa.written) = (None, None, Written::default());
    (hpa.status, hpa.deletion_timestamp) = (HpaStatus::default(), None);
    hpa.resource_version.clear();
    input.surroundings = Surroundings::default();
    input.evidence = Evidence {
        past: Some(past),
        ..Evidence::default()
    };
    (input.observed, input.stated_memory, input.clock_doubt) = (None, None, None);
    // The time and the scale are those of the past pass.
    input.basis.retain(|basis| {
        !matches!(
            basis,
            Basis::Clock { .. } | Basis::Target { .. } | Basis::StatusReplicas { .. }
        )
    });
    // Only notes about the HPA and the settings still apply.
    input.notes.retain(|note| {
        matches!(
            note.subject,
            Subject::FieldDropped { .. }
                | Subject::AnnotationIgnored
                | Subject::UnknownFields
                | Subject::ControllerOff { .. }
                | Subject::Settings
        )
    });
    input.remark_anew(&before);
}

/// Returns the time from one pass to the next, in milliseconds.
fn period(snapshot: &Snapshot) -> i64 {
    let period = snapshot.controller.sync_period.as_millis();
    i64::try_from(period)
        .unwrap_or(i64::MAX)
        .clamp(1, 86_400 * SECOND)
}

/// Returns the passes before the next one, from the current state and a history up to now, to narrow the
/// controller's possible history.
///
/// # Errors
///
/// The target's pods cannot be determined, there are too many passes, or the history belongs to another HPA.
pub fn record(input: &Input, history: &History, next: Timestamp) -> Result<Past, Error> {
    check_count(input)?;
    let snapshot = &input.snapshot;
    let (completed, lacks) = completed(history, input);
    let course = |record| RecordedCourse::before_known(next, period(snapshot), record);
    let moments = Moments::new(input, &completed, &lacks, course)?;
    let created = snapshot.hpa.written.created;
    let recorded = history.created(next);
    if let (Some(created), Some(recorded)) = (created, recorded)
        && created.duration_since(recorded).abs() > SignedDuration::from_secs(1)
    {
        let message = format!(
            "the history in Prometheus does not belong to {}: its HPA was created at {recorded}",
            snapshot.hpa.key()
        );
        return Err(Error::failed(message).hint(format!(
            "--prometheus-match selects the series of one cluster, see {}",
            docs("prometheus.md")
        )));
    }
    let mut past = before(&moments, snapshot, next, created);
    past.replicas = moments.recorded_at(snapshot.now);
    for pass in &mut past.passes {
        pass.found = Some(moments.course.replicas(pass.time));
    }
    Ok(past)
}

/// In milliseconds.
const SECOND: i64 = 1000;

/// Runs the passes before one whose history may matter to it, and returns them as its past. The fields about the
/// pass itself are empty.
fn before(
    moments: &Moments<'_>,
    base: &Snapshot,
    at: Timestamp,
    created: Option<Timestamp>,
) -> Past {
    let window = infer::window(&base.hpa, &base.controller);
    let period = base.controller.sync_period;
    let first = created.map(|created| sampled::first_pass(created, &base.controller));
    let since = at.minus(window);
    let mut passes = Vec::new();
    let mut time = at;
    while period.is_positive() {
        time = time.minus(period);
        if time < since || first.is_some_and(|first| time < first) {
            break;
        }
        if let Some((recommended, likely)) = moments.played(base, time) {
            passes.push(sampled_pass(time, recommended, likely));
        }
    }
    // The first pass of all begins with the replicas as a recommendation.
    if let Some(earliest) = first.filter(|first| (since..=at).contains(first))
        && let Some(PastPass { time, .. }) = passes.last()
    {
        let replicas = moments.course.replicas(earliest);
        passes.push(sampled_pass(*time, replicas, Some(replicas.at_least)));
    }
    passes.reverse();
    let time = |millis: i64| Timestamp::from_millisecond(millis).unwrap_or(at);
    let course = &moments.course;
    let rescales = course
        .rescales()
        .map(|(replicas, from, until)| PastRescale {
            replicas,
            from: time(from),
            until: time(until),
            likely: None,
        });
    let History {
        source,
        queries,
        warnings,
        scrape,
        ..
    } = moments.history;
    Past {
        source: source.clone(),
        queries: queries.clone(),
        warnings: warnings.clone(),
        read: base.now,
        scrape: scrape.map(|millis| (millis + SECOND / 2) / SECOND),
        lacks: moments.lacks.to_vec(),
        replicas: moments.course.replicas(at),
        passes,
        rescales: rescales.filter(|it| it.until >= since).collect(),
        ..Past::default()
    }
}

fn sampled_pass(time: Timestamp, recommended: Bounds, likely: Option<i32>) -> PastPass {
    PastPass {
        time,
        recommended,
        likely,
        found: None,
    }
}

/// Returns the proposals of a pass over a snapshot, with an empty memory, which does not matter for them.
fn asked_by(snapshot: &Snapshot) -> Option<(Bounds, Option<i32>)> {
    let current = snapshot.scale.as_ref().ok()?.spec_replicas;
    let decision = engine::reconcile(snapshot, &Memory::default());
    let bounds = outlook::proposals(&decision, current)?;
    Some((bounds, decision.proposal.map(|proposal| proposal.max(0))))
}

/// Returns the error for a target whose pods cannot be determined.
fn no_selector(hpa: &Hpa, e: &ScaleError) -> Error {
    let why = match e {
        ScaleError::Mapping(why) | ScaleError::Get(why) => why,
        ScaleError::Missing(_) | ScaleError::NoReplicas { .. } => {
            let lacking = e.lacking().unwrap_or_default();
            let message = format!("--at: {lacking}, which selects the pods");
            return Error::usage(message).hint(save_command(hpa, ""));
        }
    };
    let target = hpa.reference();
    Error::failed(format!("--at: the scale of {target} cannot be read: {why}"))
}
