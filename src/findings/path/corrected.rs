//! Replicas beyond a bound, which this pass or an earlier one corrects without using metrics.

use std::collections::BTreeSet;

use super::bound::{bound, is_near};
use super::side::SideWords;
use super::{NOTHING_TO_DO, tried};
use crate::apimachinery::managed_fields::{ManagedFieldsEntry, SpecField};
use crate::engine::decision::Path;
use crate::findings::Alternative;
use crate::findings::last_pass::LastPass;
use crate::findings::prelude::*;
use crate::snapshot::evidence::{EVENTS_KEPT, Event};
use crate::snapshot::hpa::{Hpa, HpaSpec};

/// Replicas that are corrected to `maxReplicas` (up) or `minReplicas` without using metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction<const UP: bool> {
    /// By this pass.
    Due(Corrected),
    /// By an earlier pass, which is the last that has scaled.
    Done(CorrectedBefore),
}

/// Replicas that an earlier pass has corrected to a bound that still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CorrectedBefore {
    /// The bound beyond which they were.
    pub side: Direction,
    /// The bound, and the replicas since then.
    pub bound: i32,
    /// The replicas before that pass, if the status or an event of the target shows them.
    pub from: Option<i32>,
    /// The time when it happened.
    pub at: Timestamp,
    /// The change that preceded it.
    pub changed: Changed,
    /// The replicas that the metrics propose, if the bound still prevents them.
    pub asked: Option<i32>,
}

impl CorrectedBefore {
    /// Returns another bound: the earlier replicas, or the metrics' proposal if it is within reason.
    pub fn earlier(&self) -> Option<i32> {
        let is_meant = |asked: &i32| *asked > 0 && is_near(self.bound, *asked);
        self.from.or(self.asked.filter(is_meant))
    }
}

/// The change that preceded a pass that corrected replicas to a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    /// The HPA was created.
    Created,
    /// The HPA changed, according to the field manager that wrote the bound.
    Bound,
    /// The replicas changed: the HPA had not been changed for a long time.
    Replicas,
    /// Either the HPA or the replicas changed.
    Unknown,
}

/// Replicas that this pass corrects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrected {
    /// The bound beyond which they are.
    pub side: Direction,
    /// The replicas before the pass.
    pub current: i32,
    /// The bound.
    pub bound: i32,
    /// The reason why they are beyond it.
    pub cause: BeyondBoundCause,
}

/// The reason why replicas are beyond a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeyondBoundCause {
    /// The bound is assumed, and the running HPA's bound allows the replicas.
    Assumed,
    /// The replicas are assumed.
    AssumedReplicas,
    /// The HPA is new: it has no status yet.
    NewHpa,
    /// The controller itself left these replicas, so the bound was changed later.
    Changed,
    /// A person set them, as `other-writer` reports.
    Person,
    /// A program sets them, as `other-writer` reports.
    Program,
    /// Unknown.
    Unknown,
}

/// The longest time within which a pass follows a change of the HPA or of the replicas, and the target follows the
/// pass.
const SETTLED: SignedDuration = SignedDuration::from_secs(60);

/// Whether something happens within [`SETTLED`].
fn is_soon(after: SignedDuration) -> bool {
    (SignedDuration::ZERO..=SETTLED).contains(&after)
}

/// Returns the result of the pass with another bound.
fn with_bound(case: &Case<'_>, beyond: Direction, bound: i32) -> Alternative {
    case.without(|snapshot| snapshot.hpa.spec.set_bound(beyond, bound))
}

/// Returns the change that preceded a correction to the bound in a field.
fn changed(case: &Case<'_>, field: SpecField, at: Timestamp) -> Changed {
    let written = &case.snapshot.hpa.written;
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

/// Returns the bound beyond which the replicas were, how many there were, and when the controller corrected them, if
/// nothing has been scaled since: from its newest event, or from the status of the last pass.
fn last_correction(case: &Case<'_>, current: i32) -> Option<(Direction, Option<i32>, Timestamp)> {
    let hpa = &case.snapshot.hpa;
    let evidence = &case.pass.input.evidence;
    let rescales = case.pass.input.rescale_events();
    let newest = rescales
        .max_by_key(|it| it.last)
        .filter(|it| it.new_size() == Some(current));
    let told = newest.and_then(|it| Some((it.corrects()?, it.last?)));
    let status = LastPass::of(&hpa.status, current).filter(|it| it.scaled && it.to == current);
    let (beyond, at) = told.or_else(|| {
        let from = status.filter(|it| it.from > 0)?.from;
        let is_beyond = |side: &Direction| side.is_beyond(from, hpa.spec.bound(*side));
        let beyond = Direction::BOTH.into_iter().find(is_beyond)?;
        Some((beyond, hpa.status.last_scale_time?))
    })?;
    let follows = |it: &&Event| it.last.is_some_and(|last| is_soon(last.duration_since(at)));
    let followed = evidence.scaled.iter().filter(follows);
    // During a rollout, a count of one ReplicaSet is not the target's.
    let sets: BTreeSet<Option<&str>> = followed.clone().map(Event::replica_set).collect();
    let scaled_from = followed
        .filter_map(Event::followed)
        .find(|(_, to)| *to == current)
        .and_then(|(from, _)| from.filter(|_| sets.len() == 1));
    let from = status.map(|it| it.from).or(scaled_from);
    let from_beyond = from.filter(|from| *from > 0 && beyond.is_beyond(*from, current));
    (case.since(at)? <= EVENTS_KEPT).then_some((beyond, from_beyond, at))
}

/// Removes the bound that replicas are beyond, so that a pass reads its metrics.
pub(crate) fn widen(spec: &mut HpaSpec, beyond: Direction) {
    match beyond {
        Direction::Up => spec.max_replicas = i32::MAX,
        Direction::Down => spec.min_replicas = Some(1),
    }
}

/// Returns why these replicas are beyond the maximum (up) or the minimum (down).
fn cause(case: &Case<'_>, current: i32, beyond: Direction) -> BeyondBoundCause {
    let Hpa { status, .. } = &case.snapshot.hpa;
    if let Some(observed) = &case.pass.input.observed {
        let bound = observed.hpa.spec.bound(beyond);
        if !beyond.is_beyond(current, bound) {
            return BeyondBoundCause::Assumed;
        }
    }
    if case.pass.input.observed_replicas().is_some() {
        return BeyondBoundCause::AssumedReplicas;
    }
    let other = case.shown().find_map(|it| match &it.facts {
        Facts::OtherWriter(facts) => Some(facts),
        _ => None,
    });
    match other.map(|it| (&it.owner, it.left.and(it.writer.as_ref()))) {
        Some((Some(_), _)) => return BeyondBoundCause::Program,
        Some((None, Some(writer))) if writer.by.repeats() => return BeyondBoundCause::Program,
        Some((None, Some(_))) => return BeyondBoundCause::Person,
        Some((None, None)) | None => {}
    }
    // A pass corrects replicas beyond a bound to the bound, if it can.
    let able = status.condition("AbleToScale");
    let is_able = able.is_none_or(|it| it.status != "False");
    let is_new = status.is_empty();
    // The status at the time of a past pass is not known.
    if is_new && case.pass.input.evidence.past.is_none() {
        BeyondBoundCause::NewHpa
    } else if !is_new && status.desired_replicas == current && is_able {
        BeyondBoundCause::Changed
    } else {
        BeyondBoundCause::Unknown
    }
}

impl SideWords {
    /// Returns a command that predicts another bound, and one that sets it.
    fn tried(&self, about: &About<'_>, bound: i32) -> Vec<Command> {
        let patch = json!({ self.bound: bound });
        tried(about, &format!("{} {bound}", self.flag), &patch)
    }

    /// Returns the last writer of the bound. KEDA writes the bounds of its HPAs on behalf of someone else.
    fn writer<'a>(&self, about: &About<'a>) -> Option<&'a ManagedFieldsEntry> {
        let hpa = about.hpa;
        let entry = hpa.written.last_writer(self.owned);
        entry.filter(|it| !it.manager.is_empty() && hpa.scaled_object().is_none())
    }

    /// Describes the last writer of the bound.
    fn written(&self, about: &About<'_>) -> Option<String> {
        let ManagedFieldsEntry {
            manager, time: at, ..
        } = self.writer(about)?;
        let (field, now) = (self.bound, about.now());
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

impl CorrectedBefore {
    /// Whether the HPA was new, and no action is needed.
    fn is_of_new_hpa(&self, about: &About<'_>) -> bool {
        self.changed == Changed::Created && about.finding.severity == Severity::Info
    }

    fn summary(&self, about: &About<'_>) -> String {
        let words = self.side.words();
        let SideWords {
            bound: field,
            beyond,
            other,
            ..
        } = words;
        let Self { bound, at, .. } = self;
        let were = match self.from {
            Some(from) => format!(
                "{} {} {beyond}",
                count(from, "replica"),
                one_or_many(from, "was", "were")
            ),
            None => format!("there were {other} replicas than"),
        };
        let writer = words
            .writer(about)
            .filter(|_| self.changed == Changed::Bound);
        let when = match writer {
            _ if self.is_of_new_hpa(about) => " when the HPA was created".to_owned(),
            Some(writer) => format!(", which {} wrote", writer.manager),
            None => String::new(),
        };
        let ago = distance(*at, about.now());
        format!(
            "{were} {field} ({bound}){when}, so the controller set {bound} {ago} ago and ignored the metrics"
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let words = self.side.words();
        let mut evidence = vec![format!(
            "The controller corrected that at {} without considering metrics, stabilization or rate limits.",
            time(about.now(), self.at)
        )];
        evidence.extend(words.written(about));
        let reason = match self.changed {
            Changed::Created => Some("The HPA had just been created."),
            Changed::Bound => None,
            Changed::Replicas => Some(
                "The HPA had not been changed for long, so something else had scaled the target.",
            ),
            Changed::Unknown => {
                Some("Either the HPA was changed, or something else had scaled the target.")
            }
        };
        evidence.extend(reason.map(str::to_owned));
        let with = |earlier| about.result(&format!("With {} {earlier}", words.bound));
        evidence.extend(self.earlier().and_then(with));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        if self.is_of_new_hpa(about) {
            return Remedy::Nothing.says(NOTHING_TO_DO);
        }
        let words = self.side.words();
        let SideWords { change, flag, .. } = words;
        let bound = self.bound;
        let field = about.field(words.bound);
        let earlier = self.earlier();
        let hint = earlier.map(|it| about.try_it(&format!("{flag} {it}")));
        let hint = hint.unwrap_or_default();
        let advice = Remedy::ChangeBound.says(match self.changed {
            Changed::Created => format!("If {bound} is not meant, {change} {field}{hint}."),
            Changed::Replicas => {
                format!("Find out what scaled the target, or {change} {field}{hint}.")
            }
            Changed::Bound | Changed::Unknown => {
                format!("If {bound} is not meant, {change} {field} again{hint}.")
            }
        });
        let is_unowned = about.hpa.written.last_writer(words.owned).is_none();
        advice
            .with_all(earlier.into_iter().flat_map(|it| words.tried(about, it)))
            .with_all(is_unowned.then(|| about.kubectl("get hpa", "-o yaml --show-managed-fields")))
    }
}

impl Corrected {
    fn summary(&self) -> String {
        let Self { current, bound, .. } = self;
        let SideWords {
            bound: field,
            beyond,
            ..
        } = self.side.words();
        format!(
            "{} {} {beyond} {field} ({bound}), so the controller sets {bound} and ignores the metrics",
            count(*current, "replica"),
            one_or_many(*current, "is", "are")
        )
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        let words = self.side.words();
        let (current, field) = (self.current, words.bound);
        let mut evidence = Vec::new();
        match self.cause {
            BeyondBoundCause::Assumed => evidence.extend(about.running(self.side)),
            BeyondBoundCause::AssumedReplicas => {
                let own = about.pass.input.observed_replicas();
                let of_target =
                    |own| format!("{} has {}.", about.reference(), count(own, "replica"));
                evidence.extend(own.map(of_target));
            }
            BeyondBoundCause::NewHpa => evidence.push("The HPA has no status yet.".to_owned()),
            BeyondBoundCause::Changed => {
                evidence.push(format!(
                    "The last pass left {}, so {field} was changed after it.",
                    count(current, "replica")
                ));
                evidence.extend(words.written(about));
            }
            BeyondBoundCause::Person | BeyondBoundCause::Program | BeyondBoundCause::Unknown => {}
        }
        evidence.extend(about.result(&format!("With {field} {current}")));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let current = self.current;
        let words = self.side.words();
        let SideWords {
            bound: field, flag, ..
        } = words;
        let own = about.field(field);
        let without = about.finding.without;
        let stay = without.and_then(|it| it.replicas) == Some(current);
        // The metrics may need some of the replicas that the maximum takes away.
        let is_above = |proposal: &i32| self.side == Direction::Up && *proposal > self.bound;
        let needed = without.and_then(|it| it.proposal).filter(is_above);
        let right = needed.filter(|_| !stay).unwrap_or(current);
        let is_moot = !stay && needed.is_none();
        let advice = match self.cause {
            BeyondBoundCause::AssumedReplicas => {
                let flags = format!("--replicas {current} {flag} {current}");
                let advice = Remedy::AssumeBound.says(format!(
                    "Add {flag} {current} to see what the metrics propose."
                ));
                return advice.with(about.predict(&flags));
            }
            BeyondBoundCause::Unknown if is_moot => {
                return Remedy::TakeOut.says(format!("Find out what scaled it to {current}."));
            }
            BeyondBoundCause::Person if is_moot => {
                return Remedy::LeaveReplicas.says("Leave the replicas to the HPA.");
            }
            _ if is_moot => return Remedy::Nothing.says(NOTHING_TO_DO),
            // The HPA itself allows the replicas.
            BeyondBoundCause::Assumed => {
                Remedy::AssumeBound.says(format!("Use another {field} if {right} is right."))
            }
            BeyondBoundCause::Unknown => Remedy::ChangeBound.says(format!(
                "Find out what scaled it to {current}, or change {own}."
            )),
            _ => Remedy::ChangeBound.says(format!("Change {own} if {right} is right.")),
        };
        advice.with_all(words.tried(about, right))
    }
}

impl<const UP: bool> Correction<UP>
where
    Self: Into<Facts>,
{
    /// The side of the bound on which the replicas are or were.
    const BEYOND: Direction = if UP { Direction::Up } else { Direction::Down };

    /// Looks for the correction by an earlier pass that led to the present replicas.
    fn find_done(case: &Case<'_>, current: i32) -> Option<Finding> {
        let beyond = Self::BEYOND;
        let (_, from, at) = last_correction(case, current).filter(|(side, ..)| *side == beyond)?;
        if beyond == Direction::Down && current == case.snapshot.hpa.spec.max_replicas {
            return None;
        }
        let done = CorrectedBefore {
            side: beyond,
            bound: current,
            from,
            at,
            changed: changed(case, beyond.words().owned, at),
            asked: bound(case, beyond).map(|it| it.asked),
        };
        let severity = match (beyond, done.asked, done.changed) {
            // The bound keeps out replicas that are needed.
            (Direction::Up, Some(_), Changed::Created | Changed::Bound | Changed::Unknown) => {
                Severity::Warning
            }
            _ => Severity::Info,
        };
        let without = done.earlier().map(|it| with_bound(case, beyond, it));
        Some(Finding::explaining(severity, Self::Done(done)).without(without))
    }
}

impl<const UP: bool> Kind for Correction<UP>
where
    Self: Into<Facts>,
{
    fn find(case: &Case<'_>) -> Option<Finding> {
        let beyond = Self::BEYOND;
        let decision = case.decision;
        let current = decision.replicas_before()?;
        let bound = case.snapshot.hpa.spec.bound(beyond);
        match (decision.path()?, beyond) {
            (Path::AboveMax, Direction::Up) | (Path::BelowMin, Direction::Down) => {}
            (Path::Metrics, _) if current == bound => return Self::find_done(case, current),
            _ => return None,
        }
        let cause = cause(case, current, beyond);
        let severity = match cause {
            // No one has set the replicas: the bound is new, or they are assumed.
            BeyondBoundCause::Assumed
            | BeyondBoundCause::AssumedReplicas
            | BeyondBoundCause::NewHpa
            | BeyondBoundCause::Changed => Severity::Info,
            BeyondBoundCause::Person | BeyondBoundCause::Program | BeyondBoundCause::Unknown => {
                Severity::Warning
            }
        };
        let due = Self::Due(Corrected {
            side: beyond,
            current,
            bound,
            cause,
        });
        let without = with_bound(case, beyond, current);
        Some(Finding::explaining(severity, due).without(without))
    }

    fn cause(&self, about: &About<'_>) -> Option<Code> {
        match self {
            Self::Due(due) if due.cause == BeyondBoundCause::Program => {
                about.any(Code::OtherWriter)
            }
            Self::Due(_) => None,
            Self::Done(_) => about.whole_pause().or_else(|| about.any(Code::OtherWriter)),
        }
    }

    fn summary(&self, about: &About<'_>) -> String {
        match self {
            Self::Due(due) => due.summary(),
            Self::Done(done) => done.summary(about),
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        match self {
            Self::Due(due) => due.evidence(about),
            Self::Done(done) => done.evidence(about),
        }
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        match self {
            Self::Due(due) => due.advice(about),
            Self::Done(done) => done.advice(about),
        }
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        about.own_and_target()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::build;
    use crate::findings::find_except;
    use crate::findings::path::testing::{left, pods};
    use crate::findings::testing::{
        cpu, found, pass, said, set_by, state, told, view, with, with_hpa, with_spec,
    };

    /// Returns the status of a pass that has scaled from a number of replicas to 4.
    fn scaled_from(replicas: i32) -> Value {
        json!({"status": {"currentReplicas": replicas, "desiredReplicas": 4,
            "lastScaleTime": "2026-11-21T05:59:00Z",
            "conditions": [{"type": "AbleToScale", "status": "True", "reason": "SucceededRescale"}]}})
    }

    /// If the controller itself left the replicas, no one else has scaled, and a bound has changed.
    #[test]
    fn a_bound_that_has_changed_is_no_trouble() {
        let least = with_spec(&pods("50m"), &json!({"minReplicas": 6}));
        let most = with_spec(&pods("50m"), &json!({"maxReplicas": 3}));
        for (items, code) in [(least, Code::BelowMin), (most, Code::AboveMax)] {
            for (items, severity) in [
                // A new HPA.
                (items.clone(), Severity::Info),
                (left(&items, 4, "ReadyForNewScale"), Severity::Info),
                // The controller could not scale.
                (left(&items, 4, "FailedUpdateScale"), Severity::Warning),
                (left(&items, 5, "ReadyForNewScale"), Severity::Warning),
            ] {
                assert_eq!(told(&items), [(code, severity, None)]);
            }
        }
    }

    /// Four replicas at a maximum of 4 or a minimum of 4, with an event of a minute and an HPA that was written then.
    #[test]
    fn an_earlier_correction_is_told_while_nothing_has_scaled_since() {
        let event = |reason: &str, at: &str| build::rescale(4, reason, at);
        let above = "Current number of replicas above Spec.MaxReplicas";
        let below = "Current number of replicas below Spec.MinReplicas";
        let written = |at: &str| {
            json!({"metadata": {"managedFields": [{"manager": "argocd-controller", "operation": "Update",
                "time": at, "fieldsV1": {"f:spec": {"f:maxReplicas": {}, "f:minReplicas": {}}}}]}})
        };
        let most = |cpu: &str| with_spec(&pods(cpu), &json!({"maxReplicas": 4}));
        let least = |cpu: &str| with_spec(&pods(cpu), &json!({"minReplicas": 4}));
        let hpa = "HorizontalPodAutoscaler";
        let just = "2026-11-21T05:58:50Z";
        let at = "2026-11-21T05:59:00Z";
        let up = |severity, changed, asked| Some((Code::AboveMax, severity, changed, asked));
        let info = Severity::Info;
        let done = |it: &Finding| match &it.facts {
            Facts::AboveMax(Correction::Done(done)) | Facts::BelowMin(Correction::Done(done)) => {
                Some(*done)
            }
            _ => None,
        };
        for (about, items, events, want) in [
            (
                "lowered",
                with(&most("90m"), hpa, &written(just)),
                vec![event(above, at)],
                up(Severity::Warning, Changed::Bound, Some(8)),
            ),
            (
                "lowered, and enough",
                with(&most("50m"), hpa, &written(just)),
                vec![event(above, at)],
                up(info, Changed::Bound, None),
            ),
            (
                "scaled",
                with(&most("90m"), hpa, &written("2026-11-20T05:58:50Z")),
                vec![event(above, at)],
                up(info, Changed::Replicas, Some(8)),
            ),
            (
                "unknown",
                most("90m"),
                vec![event(above, at)],
                up(Severity::Warning, Changed::Unknown, Some(8)),
            ),
            (
                "raised",
                with(&least("50m"), hpa, &written(just)),
                vec![event(below, at)],
                Some((Code::BelowMin, info, Changed::Bound, None)),
            ),
            (
                "created",
                with(
                    &least("50m"),
                    hpa,
                    &json!({"metadata": {"creationTimestamp": just}}),
                ),
                vec![event(below, at)],
                Some((Code::BelowMin, info, Changed::Created, None)),
            ),
            (
                "long ago",
                most("90m"),
                vec![event(above, "2026-11-21T04:59:00Z")],
                None,
            ),
            (
                "another bound",
                with_spec(&pods("50m"), &json!({"maxReplicas": 5})),
                vec![event(above, at)],
                None,
            ),
            (
                "scaled since",
                most("90m"),
                vec![
                    event(above, at),
                    event("All metrics below target", "2026-11-21T05:59:30Z"),
                ],
                None,
            ),
        ] {
            let all = found(&[items, events].concat());
            let own = all.iter().find_map(|it| {
                let done = done(it)?;
                Some((it.code(), it.severity, done.changed, done.asked))
            });
            assert_eq!(own, want, "{about}");
            // What the bound keeps away is a matter of the bound.
            let follows = all
                .iter()
                .find(|it| it.code() == Code::AtMax)
                .map(|it| it.follows);
            if let Some(follows) = follows {
                assert_eq!(follows, want.map(|_| Code::AboveMax), "{about}");
            }
        }
        // The status of the last pass says the same, with the replicas before it.
        let earlier = |items: &[Value]| found(items).iter().find_map(done)?.earlier();
        assert_eq!(earlier(&with_hpa(&most("90m"), &scaled_from(9))), Some(9));
        // So do the events of a Deployment, unless a rollout divides the replicas between ReplicaSets.
        let scaled = |set: &str, from: i32, to: i32| {
            let followed = event(
                &format!("Scaled up replica set {set} from {from} to {to}"),
                at,
            );
            let of = json!({"metadata": {"name": set}, "involvedObject": {"kind": "Deployment"},
                "reason": "ScalingReplicaSet"});
            build::with(followed, &of)
        };
        for (scaled, want) in [
            (vec![scaled("web-1", 2, 4)], Some(2)),
            (vec![scaled("web-2", 0, 4)], None),
            (vec![scaled("web-2", 2, 4), scaled("web-1", 1, 2)], None),
        ] {
            let items = with(&least("50m"), hpa, &written(just));
            let items = [items, vec![event(below, at)], scaled].concat();
            assert_eq!(earlier(&items), want);
        }
    }

    /// A correction refers to what scaled the target, unless a person did, whose finding refers to it, or that finding
    /// is not shown.
    #[test]
    fn replicas_beyond_a_bound_that_a_program_sets() {
        let advice = |manager: &str, ignored: &[Code]| {
            let writer = json!({"manager": manager, "operation": "Update"});
            let pass = pass(&set_by(&writer, 1));
            let below = view(Code::BelowMin, &pass, &find_except(&pass, ignored));
            (below.advice.text(), below.commands.len())
        };
        let ignored = [Code::OtherWriter];
        let own = "Change minReplicas if 1 is right.".to_owned();
        let other = "Follow the advice of other-writer.".to_owned();
        let unknown = "Find out what scaled it to 1, or change minReplicas.".to_owned();
        assert_eq!(advice("helm", &[]), (other, 0));
        assert_eq!(advice("kubectl-edit", &[]), (own, 2));
        assert_eq!(advice("helm", &ignored), (unknown, 2));
    }

    /// If the bound has changed, the advice is about the bound, and not about what scaled the target.
    #[test]
    fn a_bound_that_has_changed() {
        let items = with_spec(&pods("50m"), &json!({"minReplicas": 6}));
        let left = |replicas: i32| left(&items, replicas, "ReadyForNewScale");
        // The metrics need 4 of 6.
        let at_once = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let most = json!({"maxReplicas": 3, "behavior": at_once});
        let most = said(
            Code::AboveMax,
            &with_spec(&state(&[cpu()], &["30m"; 6]), &most),
        );
        assert_eq!(most.advice.text(), "Change maxReplicas if 4 is right.");
        assert_eq!(most.commands.len(), 2);
        let change = "Change minReplicas if 4 is right.";
        for (items, advice, evidence, remedy) in [
            (
                items.clone(),
                change,
                Some("The HPA has no status yet."),
                Remedy::Nothing,
            ),
            (
                left(4),
                change,
                Some("The last pass left 4 replicas, so minReplicas was changed after it."),
                Remedy::Nothing,
            ),
            (
                left(5),
                "Find out what scaled it to 4, or change minReplicas.",
                None,
                Remedy::TakeOut,
            ),
        ] {
            let text = said(Code::BelowMin, &items);
            assert_eq!(text.advice.text(), advice);
            // No bound that allows 4 would keep them, even if the metrics need fewer than 6.
            for target in [30, 45] {
                let metric = build::resource("cpu", &build::utilization(target));
                let other = with_spec(&items, &json!({"metrics": [metric]}));
                let moot = said(Code::BelowMin, &other);
                assert_eq!((moot.remedy(), moot.commands.len()), (remedy, 0));
            }
            let with = "With minReplicas 4: 4 replicas.";
            let want: Vec<&str> = evidence.into_iter().chain([with]).collect();
            assert_eq!(text.evidence, want);
        }
    }

    /// The status and the fields of a GitOps tool show who has lowered the maximum, and the value to raise it to.
    #[test]
    fn a_maximum_that_was_lowered_names_its_writer() {
        let text = |manager: &Value| {
            let hpa = json!({"metadata": {"managedFields": manager}, "spec": {"maxReplicas": 4}});
            let lowered = build::with(hpa, &scaled_from(9));
            said(Code::AboveMax, &with_hpa(&pods("90m"), &lowered))
        };
        let writer = json!([{"manager": "argocd-controller", "operation": "Update",
            "time": "2026-11-21T05:58:50Z", "fieldsV1": {"f:spec": {"f:maxReplicas": {}}}}]);
        let told = text(&writer);
        assert_eq!(
            told.summary,
            "9 replicas were above maxReplicas (4), which argocd-controller wrote, so the controller set 4 \
             60s ago and ignored the metrics"
        );
        assert_eq!(
            told.evidence,
            [
                "The controller corrected that at 05:59:00Z without considering metrics, stabilization or rate \
                 limits.",
                "The field manager argocd-controller wrote maxReplicas, and last changed the HPA at 05:58:50Z \
                 (70s ago).",
                "With maxReplicas 9: 8 replicas.",
            ]
        );
        let again = "If 4 is not meant, raise maxReplicas again (predict --max 9).";
        assert_eq!(
            told.advice.text(),
            format!("{again} Argo CD writes hpa/web: change it in Git.")
        );
        assert_eq!(told.commands.len(), 1);
        // Without managed fields, a command shows them.
        let unknown = text(&json!([]));
        assert_eq!(unknown.advice.text(), again);
        let fields = "kubectl get hpa web -n default -o yaml --show-managed-fields";
        assert_eq!(unknown.commands.last().map(String::as_str), Some(fields));
    }

    /// Before the HPA was created, there was one replica, and nothing is wrong with that.
    #[test]
    fn a_minimum_of_a_new_hpa() {
        let created = |created: &str| {
            let hpa =
                json!({"metadata": {"creationTimestamp": created}, "spec": {"minReplicas": 4}});
            let items = with_hpa(&pods("50m"), &build::with(hpa, &scaled_from(1)));
            said(Code::BelowMin, &items).advice.text()
        };
        assert_eq!(created("2026-11-21T05:58:50Z"), "Nothing to do.");
        let again = "If 4 is not meant, lower minReplicas again (predict --min 1).";
        assert_eq!(created("2026-11-20T05:58:50Z"), again);
    }
}
