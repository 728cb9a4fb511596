//! The plan and the outcome of `apply`: the explanation of its pass, the concerns about writing, the result,
//! and how the live controller will respond.

use serde::Serialize;

use super::Explanation;
use super::page::headline::Headline;
use super::page::{Page, Words};
use super::section::{Detail, Part, Section};
use crate::apimachinery::names::shell_word;
use crate::apply::gate::{Concern, Leader};
use crate::apply::next::{NextPass, Verdict};
use crate::apply::{Applied, ApplyOutcome, Change, Extra};
use crate::args::How;
use crate::cluster::observed::{ScaleAt, ScaleState};
use crate::cluster::write::settle::Told;
use crate::cluster::write::wait::{WaitEnd, Waited};
use crate::error::Error;
use crate::findings::Severity;
use crate::findings::command::typed;
use crate::memory::Knowledge;
use crate::outlook::Range;
use crate::saved::assemble::is_built_in;
use crate::snapshot::written::FIELD_MANAGER;
use crate::words::{count, distance, list, sentence};

/// The text for a write that was in conflict with one that wrote the same.
const SAME: &str = "written by this run, or by another one of kubectl-hpa at the same time";

/// The result of `apply`. Serializes as the published object: an explanation with more fields.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApplyResult<'a> {
    #[serde(flatten)]
    pub(crate) explanation: Explanation<'a>,
    target: Option<TargetView<'a>>,
    change: Option<Change>,
    ignores_stabilization: bool,
    concerns: &'a [Concern],
    next: Option<NextView>,
    result: ResultView,
    status: Option<ExtraView<'a>>,
    event: Option<ExtraView<'a>>,
    wait: Option<WaitView<'a>>,
    #[serde(skip)]
    applied: &'a Applied,
}

/// The target.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TargetView<'a> {
    resource: &'a str,
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
    resource_version: &'a str,
}

#[derive(Debug, Serialize)]
struct NextView {
    verdict: Option<Verdict>,
    replicas: Option<Range>,
    message: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultView {
    outcome: &'static str,
    exit_code: u8,
    message: String,
    replicas: Option<i32>,
    resource_version: Option<String>,
}

#[derive(Debug, Serialize)]
struct ExtraView<'a> {
    /// `None` if unknown.
    written: Option<bool>,
    error: Option<&'a str>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum WaitView<'a> {
    Ended {
        end: &'static str,
        replicas: Option<i32>,
        by: Option<&'a str>,
        message: String,
    },
    Failed {
        error: &'a str,
    },
}

impl<'a> ApplyResult<'a> {
    /// Combines the decision and the result.
    pub(crate) fn new(mut explanation: Explanation<'a>, applied: &'a Applied) -> Self {
        explanation.kind = "ApplyResult";
        let next = applied.next.as_ref().map(|next| match next {
            Ok(next) => NextView {
                verdict: Some(next.verdict),
                replicas: Some(next.replicas),
                message: worded(next, applied.change).join(" "),
            },
            Err(e) => NextView {
                verdict: None,
                replicas: None,
                message: unforeseen(e),
            },
        });
        let state = match &applied.result {
            ApplyOutcome::Written(state, _)
            | ApplyOutcome::Altered(state, _)
            | ApplyOutcome::Accepted(state) => Some(state),
            _ => None,
        };
        let result = ResultView {
            outcome: applied.result.name(),
            exit_code: applied.exit_code(),
            message: message(&explanation, applied),
            replicas: state.map(|state| state.replicas),
            resource_version: state.map(|state| state.resource_version.clone()),
        };
        Self {
            target: applied.at.as_ref().map(|at| TargetView {
                resource: &at.resource,
                name: &at.name,
                namespace: &at.namespace,
                uid: &at.state.uid,
                resource_version: &at.state.resource_version,
            }),
            change: applied.change,
            ignores_stabilization: applied.how.ignore_stabilization,
            concerns: &applied.concerns,
            next,
            result,
            status: applied.status.as_ref().map(extra),
            event: applied.event.as_ref().map(extra),
            wait: applied.wait.as_ref().map(|wait| match wait {
                Ok(waited) => WaitView::of(waited),
                Err(e) => WaitView::Failed { error: &e.message },
            }),
            explanation,
            applied,
        }
    }

    /// Returns the line that kubectl prints after a mutation; `None` if there was none.
    pub(crate) fn done(&self, name_only: bool) -> Option<String> {
        let target = name(&self.explanation);
        let how = match &self.applied.result {
            ApplyOutcome::Written(state, Told::Conflict(_)) if !name_only => {
                return Some(format!(
                    "{target} already has {}",
                    count(state.replicas, "replica")
                ));
            }
            ApplyOutcome::Written(..) => "",
            ApplyOutcome::Planned => " (dry run)",
            ApplyOutcome::Accepted(state) if self.applied.made(state).is_none() => {
                " (server dry run)"
            }
            _ => return None,
        };
        Some(if name_only {
            target
        } else {
            format!("{target} scaled{how}")
        })
    }

    /// Returns the values that were written to the cluster, or may have been, whatever else is reported.
    pub(crate) fn written(&self) -> Option<String> {
        let state = match &self.applied.result {
            ApplyOutcome::Superseded(_)
            | ApplyOutcome::Unknown(..)
            | ApplyOutcome::Written(_, Told::Conflict(_))
            | ApplyOutcome::Altered(_, Told::Conflict(_)) => {
                return Some(format!("{} may have been written", name(&self.explanation)));
            }
            ApplyOutcome::Written(state, _) | ApplyOutcome::Altered(state, _) => state,
            _ => return None,
        };
        let count = count(state.replicas, "replica");
        let extras: String = [
            ("status", &self.applied.status),
            ("event", &self.applied.event),
        ]
        .into_iter()
        .filter(|(_, extra)| **extra == Some(Extra::Written))
        .map(|(what, _)| format!(", {what} written"))
        .collect();
        Some(format!(
            "{} was written and has {count}{extras}",
            name(&self.explanation)
        ))
    }

    /// Describes the result.
    pub(crate) fn lines(&self) -> Vec<(String, String)> {
        let applied = self.applied;
        let mut lines = Vec::new();
        let mut line = |label: &str, text: String| lines.push((label.to_owned(), text));
        if let ApplyOutcome::Altered(state, _) | ApplyOutcome::Accepted(state) = &applied.result
            && let Some(to) = applied.made(state)
        {
            line(
                "replicas",
                format!("{}, stored by the server instead of {to}", state.replicas),
            );
        }
        match &applied.result {
            ApplyOutcome::Written(state, told) | ApplyOutcome::Altered(state, told) => {
                line("resourceVersion", state.resource_version.clone());
                let unclear = match told {
                    Told::Answer => None,
                    Told::Again(lost) => Some((lost, "sent again with the same resourceVersion")),
                    Told::Conflict(lost) => Some((lost, SAME)),
                    Told::Reading(lost, true) => {
                        Some((lost, "managedFields show that it was written"))
                    }
                    Told::Reading(lost, false) => Some((
                        lost,
                        "the target has these replicas (unless something else set them)",
                    )),
                };
                if let Some((lost, but)) = unclear {
                    line("answer", format!("{lost}; {but}"));
                }
            }
            ApplyOutcome::NothingDue => line("nothing due", self.result.message.clone()),
            _ => {}
        }
        for (label, extra) in [("status", &applied.status), ("event", &applied.event)] {
            match extra {
                Some(Extra::Written) => line(label, "written".to_owned()),
                Some(Extra::Accepted) => line(label, "accepted (server dry run)".to_owned()),
                _ => {}
            }
        }
        if let Some(Ok(waited)) = &applied.wait {
            line("wait", ended(waited));
        }
        lines
    }

    /// Returns the command that shows the target.
    fn get_target(&self) -> String {
        let input = &self.explanation.pass.input;
        let hpa = &input.snapshot.hpa;
        let target = typed(&hpa.spec.scale_target_ref);
        let namespace = shell_word(&hpa.namespace);
        let command = format!("kubectl get {target} -n {namespace}");
        input.command_flags.add_to(&command)
    }

    /// Returns the other errors to print on standard error.
    pub(crate) fn errors(&self) -> Vec<Error> {
        let Applied {
            how,
            result,
            status,
            event,
            wait,
            ..
        } = self.applied;
        let failed = Error::failed(self.result.message.clone());
        let told = match result {
            ApplyOutcome::Refused => refused(self.applied).map(refusal).collect(),
            ApplyOutcome::Moved { is_gone: true, .. }
            | ApplyOutcome::Unmet(_)
            | ApplyOutcome::Declined => vec![failed],
            ApplyOutcome::Moved { .. } => {
                let verb = if how.retry == 0 { "use" } else { "increase" };
                vec![failed.hint(format!("run it again, or {verb} --retry"))]
            }
            ApplyOutcome::Superseded(_) => {
                vec![failed.hint("the write can no longer take effect; run apply again")]
            }
            ApplyOutcome::NotWritten(e) => vec![Error {
                message: failed.message,
                ..e.clone()
            }],
            ApplyOutcome::Unknown(..) => {
                let hint = format!("`{}` shows its current replicas", self.get_target());
                vec![failed.hint(hint)]
            }
            ApplyOutcome::Altered(state, _) | ApplyOutcome::Accepted(state) => {
                altered(self.applied, state)
                    .map(Error::failed)
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        };
        let extras = [("the status of the HPA", status), ("the event", event)]
            .into_iter()
            .filter_map(|(what, extra)| match extra.as_ref()? {
                Extra::Written | Extra::Accepted => None,
                Extra::NotWritten(e) => Some(e.clone().within(format!("{what} was not written"))),
                Extra::Unknown(message) => Some(Error::failed(format!("{what}: {message}"))),
            });
        let waited = wait.iter().filter_map(|wait| match wait {
            Err(e) => Some(e.clone().within("failed to wait")),
            Ok(waited) if matches!(waited.end, WaitEnd::Ready(_) | WaitEnd::Changed(..)) => None,
            Ok(waited) => Some(Error::failed(ended(waited))),
        });
        told.into_iter().chain(extras).chain(waited).collect()
    }
}

/// Returns the concerns because of which nothing is written.
fn refused(applied: &Applied) -> impl Iterator<Item = &Concern> {
    applied.concerns.iter().filter(|concern| !concern.forced)
}

/// Returns the error with the reason why nothing is written, and with the remedies.
fn refusal(concern: &Concern) -> Error {
    let error = Error::failed(format!("{}; nothing written", concern.text));
    let remedies = concern.remedies();
    if remedies.is_empty() {
        error
    } else {
        error.hint(remedies.join("; "))
    }
}

impl Page {
    /// Returns the page of a plan: the pass in short, the values to write, and what comes next.
    pub(crate) fn of_plan(explanation: &Explanation<'_>, applied: &Applied) -> Self {
        let words = Words {
            explanation,
            wide: false,
        };
        let metrics = [Part::Table(words.metric_table())];
        let metrics = Section::new("", Detail::Always, metrics);
        // An ordinary rule at work is no argument against writing its result.
        let mut sections = Vec::from_iter(words.findings(Severity::Warning));
        sections.extend(metrics);
        sections.extend(words.path());
        sections.extend(words.rests_on(Severity::Warning, Vec::new(), Vec::new()));
        // This page has no wide form.
        for part in sections.iter_mut().flat_map(|section| &mut section.body) {
            if let Part::Hinted(_, hint) = part {
                *hint = if hint.ends_with('.') { "." } else { "" };
            }
        }
        sections.extend(written(explanation, applied));
        sections.extend(coming(applied));

        let ignored = applied.how.ignore_stabilization.then(|| {
            "ignoring stabilization: past recommendations do not count (--ignore-stabilization)"
                .to_owned()
        });
        let forced = applied.forced().map(|concern| {
            let flag = concern.flag.unwrap_or_default();
            format!("forced with {flag}: {}", concern.text)
        });
        Self {
            assuming: ignored.into_iter().chain(forced).collect(),
            ..words.page(sections)
        }
    }
}

/// Returns the values to write, the scale first.
fn written(explanation: &Explanation<'_>, applied: &Applied) -> Option<Section> {
    let (change, at) = (applied.change?, applied.at.as_ref()?);
    let mut lines = vec![(name(explanation), write(change, at))];
    if applied.how.write_status {
        let text = "as the controller would write it (--write-status)";
        lines.push(("status of the HPA".to_owned(), text.to_owned()));
    }
    let rescale = explanation.outcome.rescale().filter(|_| applied.how.event);
    lines.extend(rescale.map(|event| {
        (
            "event".to_owned(),
            format!("{}: {} (--event)", event.reason, event.message),
        )
    }));
    Section::new("WRITE", Detail::Always, [Part::Pairs(lines)])
}

/// Describes how the live controller will respond.
fn coming(applied: &Applied) -> Option<Section> {
    let (label, lines) = match applied.next.as_ref()? {
        Ok(next) => (label(next.verdict), worded(next, applied.change)),
        Err(e) => ("unknown", vec![unforeseen(e)]),
    };
    let labels = [label]
        .into_iter()
        .chain(std::iter::repeat(""))
        .map(str::to_owned);
    let lines = Part::Pairs(labels.zip(lines).collect());
    Section::new("NEXT PASS OF THE CONTROLLER", Detail::Always, [lines])
}

/// Returns the question to confirm before a change is written.
pub(crate) fn question(explanation: &Explanation<'_>, change: Change) -> String {
    let Change { from, to } = change;
    format!("Scale {} from {from} to {to}?", name(explanation))
}

/// Returns `deployment.apps/web`, as kubectl names a target.
fn name(explanation: &Explanation<'_>) -> String {
    let target = &explanation.hpa.spec.scale_target_ref;
    let (kind, group) = (target.kind.to_lowercase(), target.group());
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", target.name)
}

/// Returns the text for a write of the scale, and the value that it replaces.
fn write(Change { from, to }: Change, at: &ScaleAt) -> String {
    let version = &at.state.resource_version;
    format!(
        "{from} → {to} replicas, replacing resourceVersion {version}, as field manager \
         {FIELD_MANAGER}"
    )
}

fn extra(extra: &Extra) -> ExtraView<'_> {
    let (written, error) = match extra {
        Extra::Written => (Some(true), None),
        Extra::Accepted => (Some(false), None),
        Extra::NotWritten(e) => (Some(false), Some(&*e.message)),
        Extra::Unknown(message) => (None, Some(&**message)),
    };
    ExtraView { written, error }
}

/// Returns how the server changed the replicas that were sent.
fn altered(applied: &Applied, state: &ScaleState) -> Option<String> {
    let to = applied.made(state)?;
    let is = state.replicas;
    Some(format!(
        "the server stored {is} replicas instead of {to}, possibly because of a webhook"
    ))
}

/// Describes the result, in a sentence.
fn message(explanation: &Explanation<'_>, applied: &Applied) -> String {
    match &applied.result {
        ApplyOutcome::NothingDue => {
            let due = format!(
                "{}, so nothing is written.",
                Headline::of(explanation.pass).text()
            );
            let sentences = std::iter::once(due).chain(idle(&applied.how));
            Vec::from_iter(sentences).join(" ")
        }
        ApplyOutcome::Refused => {
            let texts: Vec<&str> = refused(applied).map(|concern| &*concern.text).collect();
            format!("{}; nothing written", texts.join("; "))
        }
        ApplyOutcome::Unmet(what) | ApplyOutcome::Moved { what, .. } => {
            format!("{what}; nothing written")
        }
        ApplyOutcome::Superseded(what) => what.clone(),
        ApplyOutcome::Declined => "declined; nothing written".to_owned(),
        ApplyOutcome::Planned => "not sent".to_owned(),
        ApplyOutcome::Accepted(state) => {
            let other = altered(applied, state);
            other.unwrap_or_else(|| "the server would write it".to_owned())
        }
        ApplyOutcome::Altered(state, Told::Conflict(_)) => {
            format!("{}; {SAME}", altered(applied, state).unwrap_or_default())
        }
        ApplyOutcome::Altered(state, _) => altered(applied, state).unwrap_or_default(),
        ApplyOutcome::Written(_, Told::Answer) => "written".to_owned(),
        ApplyOutcome::Written(_, Told::Again(lost)) => format!("written on the second try; {lost}"),
        ApplyOutcome::Written(state, Told::Conflict(lost)) => {
            format!(
                "already {}: {SAME}; {lost}",
                count(state.replicas, "replica")
            )
        }
        ApplyOutcome::Written(_, Told::Reading(lost, true)) => {
            format!("written, according to a read; {lost}")
        }
        ApplyOutcome::Written(_, Told::Reading(lost, false)) => {
            format!("written by this or by something else, according to a read; {lost}")
        }
        ApplyOutcome::NotWritten(e) => format!("{}; nothing written", e.message),
        ApplyOutcome::Unknown(lost, why) => {
            format!("{lost}: unknown whether it was written: {why}")
        }
    }
}

/// Says which flags do nothing without a change.
fn idle(how: &How) -> Option<String> {
    let flags: Vec<&str> = [
        (how.write_status, "--write-status"),
        (how.event, "--event"),
        (how.wait.is_some(), "--wait"),
    ]
    .into_iter()
    .filter_map(|(is_set, flag)| is_set.then_some(flag))
    .collect();
    let verb = if flags.len() == 1 { "does" } else { "do" };
    let text = || format!("Without a change, {} {verb} nothing.", list(&flags));
    (!flags.is_empty()).then(text)
}

fn label(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Keeps => "kept",
        Verdict::GoesOn => "continues",
        Verdict::Undoes => "UNDONE",
        Verdict::Open => "open",
    }
}

fn unforeseen(e: &Error) -> String {
    format!(
        "How the controller will respond cannot be predicted: {}.",
        e.message
    )
}

/// Describes how the live controller will respond, and why.
fn worded(next: &NextPass, change: Option<Change>) -> Vec<String> {
    let Some(Change { to, .. }) = change else {
        return Vec::new();
    };
    let Range { min, max } = next.replicas;
    let period = crate::words::duration(next.pass.input.snapshot.controller.sync_period);
    let now = next.pass.input.snapshot.now;
    let (before, who) = match next.leader {
        Leader::Holds(_) | Leader::Seen(_) => (
            None,
            format!("the controller's next pass (within {period})"),
        ),
        Leader::Lapsed(renewed) => (
            Some(format!(
                "No controller manager holds the lease (last renewed {} ago): until one does, the \
                 replicas stay as they are{}.",
                distance(renewed, now),
                without_pods(next)
            )),
            "the first pass after that".to_owned(),
        ),
        Leader::Unknown => (
            Some("Whether a controller is running is unknown.".to_owned()),
            format!("if one is, its next pass (within {period})"),
        ),
    };
    let explanation = Explanation::new(&next.pass);
    let words = Words {
        explanation: &explanation,
        wide: false,
    };
    let why = match (next.verdict, &words.unknown()[..]) {
        // The reason for the most likely result does not explain the range.
        (Verdict::Open, []) => "it depends on when it runs.".to_owned(),
        (Verdict::Open, unknown) => format!("{}.", unknown.join(", and ")),
        _ => words.verdict().1.into_iter().next().unwrap_or_default(),
    };
    let does = match next.verdict {
        Verdict::Keeps => format!("keeps {to}"),
        Verdict::GoesOn if min == max => format!("continues to {min}"),
        Verdict::GoesOn => format!("continues to {min} to {max}"),
        Verdict::Undoes if min == max => format!("reverts this to {min}"),
        Verdict::Undoes => format!("reverts this to {min} to {max}"),
        Verdict::Open => format!("may end anywhere from {min} to {max}"),
    };
    let memory = match (next.leader, next.pass.remembered.knowledge) {
        (Leader::Lapsed(_), _) | (_, Knowledge::JustStarted) => {
            format!(
                "Its history then starts with {}, without this change.",
                count(to, "replica")
            )
        }
        _ if next.pass.input.snapshot.hpa.spec.behavior.is_some() => {
            "Its history does not include this change: the recommendation holds nothing, and rate \
             limits do not count the step."
                .to_owned()
        }
        _ => {
            "Its history includes neither this change nor the recommendation behind it.".to_owned()
        }
    };
    let does = sentence(&format!("{who} {does}: {why}"));
    let snapshot = &next.pass.input.snapshot;
    // A StatefulSet removes those.
    let is_certain = snapshot.hpa.spec.scale_target_ref.is_kind("StatefulSet");
    let removes = change.is_some_and(|it| it.to < it.from);
    let uses_pods = next.pass.decision.metrics().any(|it| !it.pods.is_empty());
    let pods = (removes && uses_pods && !is_certain)
        .then(|| "This assumes that the pods whose names sort last are removed.".to_owned());
    before
        .into_iter()
        .chain([does])
        .chain(pods)
        .chain([memory])
        .collect()
}

/// Describes what else stops without a controller manager, which also runs the controllers of the built-in kinds.
fn without_pods(next: &NextPass) -> String {
    let target = &next.pass.input.snapshot.hpa.spec.scale_target_ref;
    if is_built_in(target.group(), &target.kind) {
        format!(", and {target} creates and removes no pods")
    } else {
        String::new()
    }
}

impl<'a> WaitView<'a> {
    fn of(waited: &'a Waited) -> Self {
        let ready = waited.counts.and_then(|counts| counts.ready);
        let (end, replicas, by) = match &waited.end {
            WaitEnd::Ready(replicas) => ("ready", Some(*replicas), None),
            WaitEnd::Changed(replicas, by) => ("changed", Some(*replicas), by.as_deref()),
            WaitEnd::Gone => ("gone", None, None),
            WaitEnd::TimedOut(_) => ("timedOut", ready, None),
            WaitEnd::Interrupted(_) => ("interrupted", ready, None),
        };
        Self::Ended {
            end,
            replicas,
            by,
            message: ended(waited),
        }
    }
}

/// Describes how a wait ended.
fn ended(Waited { end, counts }: &Waited) -> String {
    let seen = counts.map(|counts| format!(" (last seen: {counts})"));
    let seen = seen.unwrap_or_default();
    match end {
        WaitEnd::Ready(replicas) => format!("all {replicas} replicas are ready"),
        WaitEnd::Changed(replicas, by) => {
            let writer = by.as_deref().unwrap_or("something else");
            format!("{writer} has since set the replicas to {replicas}")
        }
        WaitEnd::Gone => "the target no longer exists".to_owned(),
        WaitEnd::TimedOut(failure) => {
            let failed = failure
                .as_ref()
                .map(|it| format!("; the last check failed: {it}"));
            let failed = failed.unwrap_or_default();
            format!("the replicas were not seen ready in time{seen}; the scale was written{failed}")
        }
        WaitEnd::Interrupted(_) => {
            format!("interrupted while waiting{seen}; the scale was written")
        }
    }
}
