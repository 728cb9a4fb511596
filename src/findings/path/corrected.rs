//! Replicas beyond a bound, which this pass or an earlier one corrects without using metrics.

use jiff::{SignedDuration, Timestamp};
use serde_json::Map;

use super::bound::bound;
use super::{NOTHING_TO_DO, tried};
use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField};
use crate::engine::decision::{Direction, Path, Step};
use crate::findings::last_pass::LastPass;
use crate::findings::{
    About, Alternative, Before, Case, Code, Facts, Finding, Others, Remedy, Severity, Text,
};
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::{Hpa, HpaSpec, HpaStatus};
use crate::words::{count, distance, time};

/// Replicas that are corrected to a bound without using metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// By this pass.
    Due(Corrected),
    /// By an earlier pass, which is the last that has scaled.
    Done(CorrectedBefore),
}

/// Replicas that an earlier pass has corrected to a bound that still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorrectedBefore {
    /// The bound, and the replicas since then.
    pub bound: i32,
    /// The replicas before that pass, if the status or an event of the target says so.
    pub from: Option<i32>,
    /// When it was.
    pub at: Timestamp,
    /// What had changed.
    pub changed: Changed,
    /// What the metrics propose, if the bound still keeps the replicas from it.
    pub asked: Option<i32>,
}

impl CorrectedBefore {
    /// Returns another bound: what the replicas were, or what the metrics ask for within reason.
    pub fn earlier(&self) -> Option<i32> {
        let is_near = |asked: &i32| (1..=self.bound.saturating_mul(4)).contains(asked);
        self.from.or(self.asked.filter(is_near))
    }
}

/// What had changed before a pass that corrected replicas to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The HPA was created.
    Created,
    /// The HPA, by the field manager that has written the bound.
    Bound,
    /// The replicas: the HPA was not changed for long.
    Replicas,
    /// One of the two.
    Unknown,
}

/// Replicas that this pass corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrected {
    /// The replicas before the pass.
    pub current: i32,
    /// The bound.
    pub bound: i32,
    /// How it has come to that.
    pub cause: Cause,
}

/// Why replicas are beyond a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The bound is assumed; the HPA has this one, which allows the replicas.
    Assumed(i32),
    /// The replicas are assumed; the target has this many.
    AssumedReplicas(i32),
    /// The HPA is new: it has no status yet.
    NewHpa,
    /// The controller itself left these replicas, so the bound was changed after that.
    Changed,
    /// A person set them, as `other-writer` says.
    Person,
    /// A program set them, as `other-writer` says.
    Program,
    /// Unknown.
    Unknown,
}

impl Cause {
    /// Whether no one has set the replicas: the bound is new, or they are assumed.
    fn is_expected(self) -> bool {
        let is_assumed = matches!(self, Self::Assumed(_) | Self::AssumedReplicas(_));
        is_assumed || matches!(self, Self::NewHpa | Self::Changed)
    }
}

/// The longest time in which a pass follows a change of the HPA or of the replicas, and the target follows the pass.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// Whether something happens within that time.
fn is_soon(after: SignedDuration) -> bool {
    (SignedDuration::ZERO..=SETTLED).contains(&after)
}

/// Looks for a correction to a bound: to `maxReplicas` (up) or `minReplicas` (down).
pub(super) fn corrected(
    case: &Case<'_>,
    before: &Before<'_>,
    beyond: Direction,
    facts: fn(Correction) -> Facts,
) -> Option<Finding> {
    let (path, current, min, max) = case.decision().trace.iter().find_map(|step| match step {
        Step::ChoosePath {
            path,
            current,
            min,
            max,
        } => Some((*path, *current, *min, *max)),
        _ => None,
    })?;
    let bound = match (path, beyond) {
        (Path::AboveMax, Direction::Up) => max,
        (Path::BelowMin, Direction::Down) => min,
        (Path::Metrics, _) if current == max || current == min => {
            return corrected_before(case, current, beyond, facts);
        }
        _ => return None,
    };
    let cause = cause(case, before, current, beyond);
    let severity = if cause.is_expected() {
        Severity::Info
    } else {
        Severity::Warning
    };
    let due = Correction::Due(Corrected {
        current,
        bound,
        cause,
    });
    let without = with_bound(case, beyond, current);
    Some(Finding::explaining(severity, facts(due)).without(without))
}

/// Returns the result of the pass with another bound.
fn with_bound(case: &Case<'_>, beyond: Direction, bound: i32) -> Alternative {
    case.without(|snapshot| match beyond {
        Direction::Up => snapshot.hpa.spec.max_replicas = bound,
        Direction::Down => snapshot.hpa.spec.min_replicas = Some(bound),
    })
}

/// Looks for the correction to a bound that led to the present replicas.
fn corrected_before(
    case: &Case<'_>,
    current: i32,
    beyond: Direction,
    facts: fn(Correction) -> Facts,
) -> Option<Finding> {
    let (_, from, at) = last_correction(case, current).filter(|(side, ..)| *side == beyond)?;
    let max = case.snapshot().hpa.spec.max_replicas;
    let (field, reason) = match beyond {
        Direction::Up if current == max => (SpecField::MaxReplicas, "TooManyReplicas"),
        Direction::Down if current < max => (SpecField::MinReplicas, "TooFewReplicas"),
        Direction::Up | Direction::Down => return None,
    };
    let done = CorrectedBefore {
        bound: current,
        from,
        at,
        changed: changed(case, field, at),
        asked: bound(case, reason).map(|it| it.asked),
    };
    let severity = match (beyond, done.asked, done.changed) {
        // The bound keeps replicas away that are needed.
        (Direction::Up, Some(_), Changed::Created | Changed::Bound | Changed::Unknown) => {
            Severity::Warning
        }
        _ => Severity::Info,
    };
    let without = done.earlier().map(|it| with_bound(case, beyond, it));
    Some(Finding {
        without,
        ..Finding::explaining(severity, facts(Correction::Done(done)))
    })
}

/// Returns what had changed before a correction to the bound in a field.
fn changed(case: &Case<'_>, field: SpecField, at: Timestamp) -> Changed {
    let written = &case.snapshot().hpa.written;
    let before = |time: Timestamp| at.duration_since(time);
    let by_writer = written
        .last_writer(field)
        .and_then(|it| it.time)
        .map(before);
    match (by_writer, written.spec.map(before)) {
        _ if written.created.map(before).is_some_and(is_soon) => Changed::Created,
        (Some(before), _) if is_soon(before) => Changed::Bound,
        (_, Some(before)) if before > SETTLED => Changed::Replicas,
        _ => Changed::Unknown,
    }
}

/// Returns the side of the bound on which the replicas were, how many there were, and when the controller corrected
/// them, if nothing has been scaled since then: by its newest event, or by the status of the last pass.
fn last_correction(case: &Case<'_>, current: i32) -> Option<(Direction, Option<i32>, Timestamp)> {
    /// As long as an API server keeps events by default.
    const RECENT: SignedDuration = SignedDuration::from_hours(1);
    let hpa = &case.snapshot().hpa;
    let evidence = &case.pass.input.evidence;
    let own = evidence.events.iter().filter(|it| it.is_rescale_of(hpa));
    let newest = own
        .max_by_key(|it| it.last)
        .filter(|it| it.new_size() == Some(current));
    let told = newest.and_then(|it| Some((it.corrects()?, it.last?)));
    let status = LastPass::of(&hpa.status, current).filter(|it| it.scaled && it.to == current);
    let (beyond, at) = told.or_else(|| {
        let HpaSpec {
            min_replicas,
            max_replicas,
            ..
        } = hpa.spec;
        let beyond = match status?.from {
            from if from > max_replicas => Direction::Up,
            from if from > 0 && from < min_replicas.unwrap_or(1) => Direction::Down,
            _ => return None,
        };
        Some((beyond, hpa.status.last_scale_time?))
    })?;
    let follows = |it: &&Event| it.last.is_some_and(|last| is_soon(last.duration_since(at)));
    let mut followed = evidence
        .scaled
        .iter()
        .filter(follows)
        .filter_map(Event::followed);
    let from = followed
        .find(|(_, to)| *to == current)
        .and_then(|(from, _)| from);
    let from = status.map(|it| it.from).or(from);
    let is_beyond = |from: &i32| match beyond {
        Direction::Up => *from > current,
        Direction::Down => *from < current,
    };
    (case.since(at)? <= RECENT).then_some((beyond, from.filter(is_beyond), at))
}

/// Takes away the bound that replicas are beyond, so that a pass reads its metrics.
pub(crate) fn widen(spec: &mut HpaSpec, beyond: Direction) {
    match beyond {
        Direction::Up => spec.max_replicas = i32::MAX,
        Direction::Down => spec.min_replicas = Some(1),
    }
}

/// Returns why these replicas are beyond the maximum (up) or the minimum (down).
fn cause(case: &Case<'_>, before: &Before<'_>, current: i32, beyond: Direction) -> Cause {
    let Hpa { status, .. } = &case.snapshot().hpa;
    if let Some(observed) = &case.pass.input.observed {
        let own = match beyond {
            Direction::Up => observed.spec.max_replicas,
            Direction::Down => observed.spec.min_replicas.unwrap_or(1),
        };
        let allows = if beyond == Direction::Up {
            current <= own
        } else {
            current >= own
        };
        if allows {
            return Cause::Assumed(own);
        }
    }
    if let Some(own) = case.pass.input.observed_replicas {
        return Cause::AssumedReplicas(own);
    }
    let other = before.shown().find_map(|it| match &it.facts {
        Facts::OtherWriter(facts) => Some(facts).filter(|_| facts.left.is_some()),
        _ => None,
    });
    match other.map(|it| (&it.owner, &it.writer)) {
        Some((Some(_), _)) => return Cause::Program,
        Some((None, Some(writer))) if writer.by.repeats() => return Cause::Program,
        Some((None, Some(_))) => return Cause::Person,
        Some((None, None)) | None => {}
    }
    // A pass sets what is beyond a bound to the bound, if it can.
    let mut conditions = status.conditions.iter();
    let is_able = conditions.all(|it| it.type_ != "AbleToScale" || it.status != "False");
    let is_new = *status == HpaStatus::default();
    // Of a past pass, no status is known.
    if is_new && case.pass.input.evidence.past.is_none() {
        Cause::NewHpa
    } else if !is_new && status.desired_replicas == current && is_able {
        Cause::Changed
    } else {
        Cause::Unknown
    }
}

/// The words for a bound that replicas are beyond.
pub(super) struct BoundWords {
    field: &'static str,
    owned: SpecField,
    beyond: &'static str,
    other: &'static str,
    change: &'static str,
    flag: &'static str,
}

pub(super) const MAX: BoundWords = BoundWords {
    field: "maxReplicas",
    owned: SpecField::MaxReplicas,
    beyond: "above",
    other: "more",
    change: "raise",
    flag: "--max",
};

pub(super) const MIN: BoundWords = BoundWords {
    field: "minReplicas",
    owned: SpecField::MinReplicas,
    beyond: "below",
    other: "fewer",
    change: "lower",
    flag: "--min",
};

impl BoundWords {
    /// Words a correction to the bound.
    pub(super) fn correction(&self, about: &About<'_>, correction: &Correction) -> Text {
        match correction {
            Correction::Due(due) => due_text(about, *due, self),
            Correction::Done(done) => done_text(about, done, self),
        }
    }

    /// Returns who has written the bound last. KEDA writes those of its HPAs, for somebody else.
    fn writer<'a>(&self, about: &About<'a>) -> Option<&'a ManagedFieldsEntry> {
        let hpa = about.hpa();
        let entry = hpa.written.last_writer(self.owned);
        entry.filter(|it| !it.manager.is_empty() && hpa.scaled_object().is_none())
    }

    /// Words who has written the bound last.
    fn written(&self, about: &About<'_>) -> Option<String> {
        let ManagedFieldsEntry {
            manager, time: at, ..
        } = self.writer(about)?;
        let (field, now) = (self.field, about.now());
        Some(match at {
            Some(at) => format!(
                "The field manager {manager} wrote {field}, and last changed the HPA at {} ({} ago).",
                time(now, *at),
                distance(*at, now)
            ),
            None => format!("The field manager {manager} wrote {field}."),
        })
    }
}

/// Words replicas that were beyond a bound, and that an earlier pass has corrected.
fn done_text(about: &About<'_>, done: &CorrectedBefore, words: &BoundWords) -> Text {
    let BoundWords {
        field,
        beyond,
        other,
        change,
        flag,
        ..
    } = words;
    let CorrectedBefore {
        bound,
        from,
        at,
        changed,
        asked: _,
    } = *done;
    let ago = distance(at, about.now());
    let were = match from {
        Some(1) => format!("1 replica was {beyond} {field} ({bound})"),
        Some(from) => format!("{from} replicas were {beyond} {field} ({bound})"),
        None => format!("there were {other} replicas than {field} ({bound})"),
    };
    let writer = words.writer(about).filter(|_| changed == Changed::Bound);
    let by = writer.map_or_else(String::new, |it| format!(", which {} wrote", it.manager));
    let mut evidence = vec![format!(
        "The controller corrected that at {} without considering metrics, stabilization or rate limits.",
        time(about.now(), at)
    )];
    evidence.extend(words.written(about));
    evidence.extend(
        match changed {
            Changed::Created => Some("The HPA had just been created."),
            Changed::Bound => None,
            Changed::Replicas => Some(
                "The HPA had not been changed for long, so something else had scaled the target.",
            ),
            Changed::Unknown => {
                Some("Either the HPA was changed, or something else had scaled the target.")
            }
        }
        .map(str::to_owned),
    );
    let earlier = done.earlier();
    let flags = earlier.map(|earlier| format!("{flag} {earlier}"));
    evidence.extend(
        earlier
            .zip(about.without())
            .map(|(earlier, without)| format!("With {field} {earlier}: {without}.")),
    );
    let hint = flags
        .as_ref()
        .map_or_else(String::new, |flags| about.try_it(flags));
    let to = about.field(field);
    if changed == Changed::Created && about.finding.severity == Severity::Info {
        return Text {
            summary: format!(
                "{were} when the HPA was created, so the controller set {bound} {ago} ago and ignored \
                 the metrics"
            ),
            evidence,
            advice: Remedy::Nothing.says(NOTHING_TO_DO),
            commands: Vec::new(),
            objects: [about.own(), vec![about.target()]].concat(),
        };
    }
    let advice = match changed {
        Changed::Created => format!("If {bound} is not meant, {change} {to}{hint}."),
        Changed::Replicas => format!("Find out what scaled the target, or {change} {to}{hint}."),
        Changed::Bound | Changed::Unknown => {
            format!("If {bound} is not meant, {change} {to} again{hint}.")
        }
    };
    let mut commands = Vec::new();
    if let (Some(flags), Some(earlier)) = (&flags, earlier) {
        let patch = Map::from_iter([((*field).to_owned(), earlier.into())]);
        commands = tried(about, flags, &patch.into());
    }
    if about.hpa().written.last_writer(words.owned).is_none() {
        commands.push(about.kubectl("get hpa", "-o yaml --show-managed-fields"));
    }
    Text {
        summary: format!(
            "{were}{by}, so the controller set {bound} {ago} ago and ignored the metrics"
        ),
        evidence,
        advice: Remedy::ChangeBound.says(advice),
        commands,
        objects: [about.own(), vec![about.target()]].concat(),
    }
}

/// Words replicas beyond a bound.
fn due_text(about: &About<'_>, corrected: Corrected, words: &BoundWords) -> Text {
    let BoundWords {
        field,
        beyond,
        flag,
        ..
    } = *words;
    let Corrected {
        current,
        bound,
        cause,
    } = corrected;
    let mut evidence = Vec::new();
    evidence.extend(match cause {
        Cause::Assumed(own) => Some(format!("The HPA itself has {field} {own}.")),
        Cause::AssumedReplicas(own) => Some(format!(
            "{} has {}.",
            about.hpa().reference(),
            count(own, "replica")
        )),
        Cause::NewHpa => Some("The HPA has no status yet.".to_owned()),
        Cause::Changed => Some(format!(
            "The last pass left {}, so {field} was changed after it.",
            count(current, "replica")
        )),
        Cause::Person | Cause::Program | Cause::Unknown => None,
    });
    evidence.extend(words.written(about).filter(|_| cause == Cause::Changed));
    let without = about.without();
    evidence.extend(without.map(|without| format!("With {field} {current}: {without}.")));
    let patch = Map::from_iter([(field.to_owned(), current.into())]);
    let commands = tried(about, &format!("{flag} {current}"), &patch.into());
    let (advice, commands) = match cause {
        Cause::AssumedReplicas(_) => (
            Remedy::AssumeBound.says(format!(
                "Add {flag} {current} to see what the metrics propose."
            )),
            vec![about.predict(&format!("--replicas {current} {flag} {current}"))],
        ),
        // The HPA itself allows the replicas.
        Cause::Assumed(_) => (
            Remedy::AssumeBound.says(format!("Use another {field} if {current} is right.")),
            commands,
        ),
        Cause::Unknown => (
            Remedy::ChangeBound.says(format!(
                "Find out what scaled it to {current}, or change {}.",
                about.field(field)
            )),
            commands,
        ),
        _ => (
            Remedy::ChangeBound.says(format!(
                "Change {} if {current} is right.",
                about.field(field)
            )),
            commands,
        ),
    };
    Text {
        summary: format!(
            "{} {beyond} {field} ({bound}), so the controller sets {bound} and ignores the metrics",
            match current {
                1 => "1 replica is".to_owned(),
                _ => format!("{current} replicas are"),
            }
        ),
        evidence,
        advice,
        commands,
        objects: [about.own(), vec![about.target()]].concat(),
    }
}

impl Correction {
    /// Returns the finding that it follows from.
    pub(super) fn cause(&self, others: &Others<'_>) -> Option<Code> {
        match self {
            Self::Due(due) if due.cause == Cause::Program => others.any(Code::OtherWriter),
            Self::Due(_) => None,
            Self::Done(_) => others
                .whole_pause()
                .or_else(|| others.any(Code::OtherWriter)),
        }
    }
}
