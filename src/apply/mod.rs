//! The decisions of `apply` in addition to the pass itself: whether its result may be written, what has
//! changed since it was read, and how the live controller will respond. Pure; the cluster module does the
//! writing.

pub mod gate;
pub mod next;

use serde::Serialize;

use crate::args::How;
use crate::cluster::observed::{ScaleAt, ScaleState};
use crate::cluster::write::settle::Told;
use crate::cluster::write::wait::{WaitEnd, Waited};
use crate::error::Error;
use crate::pass::Pass;
use crate::snapshot::hpa::Hpa;
use gate::{Concern, GateCode};
use next::NextPass;

/// The change to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The current replicas.
    pub from: i32,
    /// The replicas to be written.
    pub to: i32,
}

/// Everything about one application, except the pass.
#[derive(Debug)]
pub struct Applied {
    /// The target, and the state of it that the decision is based on; `None` if it could not be read.
    pub at: Option<ScaleAt>,
    /// The change to be written; `None` if none was due.
    pub change: Option<Change>,
    /// How the decision should be written.
    pub how: How,
    /// The concerns about writing.
    pub concerns: Vec<Concern>,
    /// The live controller's response, or the reason why it is unpredictable.
    pub next: Option<Result<NextPass, Error>>,
    /// The result.
    pub result: ApplyOutcome,
    /// The result of writing the status of the HPA, if requested.
    pub status: Option<Extra>,
    /// The result of sending the event, if requested.
    pub event: Option<Extra>,
    /// The end of the wait for the replicas, if requested.
    pub wait: Option<Result<Waited, Error>>,
}

/// The result of an application.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplyOutcome {
    /// Nothing was due.
    NothingDue,
    /// Concerns prevented it.
    Refused,
    /// The target does not meet the command line's preconditions; with its actual state.
    Unmet(String),
    /// Something has changed since it was read, so it is not written; the text says what.
    Moved {
        /// What has changed.
        what: String,
        /// Whether the HPA or its target is gone, or about to be.
        is_gone: bool,
    },
    /// The answer to the write was lost, and someone else has changed the target since, perhaps after
    /// it was written.
    Superseded(String),
    /// The user declined.
    Declined,
    /// The scale would have been written (`--dry-run=client`).
    Planned,
    /// The server would have written it (`--dry-run=server`).
    Accepted(ScaleState),
    /// It is written.
    Written(ScaleState, Told),
    /// The server accepted the write but stored a different count.
    Altered(ScaleState, Told),
    /// The server refused the write, or it could not be sent.
    NotWritten(Error),
    /// It is unknown whether the scale is written: the reason why there is no answer, and the reason why reading the
    /// scale did not settle it.
    Unknown(String, String),
}

impl ApplyOutcome {
    /// Returns its name in the published JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NothingDue => "nothingDue",
            Self::Refused => "refused",
            Self::Unmet(_) => "unmet",
            Self::Moved { .. } => "moved",
            Self::Superseded(_) => "superseded",
            Self::Declined => "declined",
            Self::Planned => "planned",
            Self::Accepted(_) => "accepted",
            Self::Written(_, Told::Conflict(_)) => "already",
            Self::Written(..) => "written",
            Self::Altered(..) => "altered",
            Self::NotWritten(_) => "notWritten",
            Self::Unknown(..) => "unknown",
        }
    }
}

/// The result of a write in addition to the scale.
#[derive(Debug, Clone, PartialEq)]
pub enum Extra {
    /// It is written.
    Written,
    /// The server would write it (`--dry-run=server`).
    Accepted,
    /// It is not.
    NotWritten(Error),
    /// It is unknown whether it is, or it was overwritten; the text says which.
    Unknown(String),
}

impl Extra {
    /// Returns the exit code, unless it succeeded.
    fn exit_code(&self) -> Option<u8> {
        match self {
            Self::Written | Self::Accepted => None,
            Self::NotWritten(e) => Some(e.kind.exit_code()),
            Self::Unknown(_) => Some(7),
        }
    }
}

impl Applied {
    /// Returns the concerns that are overridden.
    pub fn forced(&self) -> impl Iterator<Item = &Concern> {
        self.concerns.iter().filter(|concern| concern.forced)
    }

    /// Returns the count that was sent, if the server stored a different one.
    pub fn made(&self, state: &ScaleState) -> Option<i32> {
        self.change
            .map(|change| change.to)
            .filter(|to| *to != state.replicas)
    }

    /// Returns the exit code.
    pub fn exit_code(&self) -> u8 {
        let extras = [&self.status, &self.event].into_iter().flatten();
        let extra = extras
            .filter_map(Extra::exit_code)
            .min_by_key(|code| *code != 7);
        match &self.result {
            ApplyOutcome::Refused
                if self
                    .concerns
                    .iter()
                    .any(|concern| concern.code == GateCode::CannotScale) =>
            {
                1
            }
            ApplyOutcome::Refused | ApplyOutcome::Unmet(_) | ApplyOutcome::Moved { .. } => 6,
            ApplyOutcome::Declined => 1,
            ApplyOutcome::NotWritten(e) => e.kind.exit_code(),
            ApplyOutcome::Altered(..) => 8,
            ApplyOutcome::Accepted(state) if self.made(state).is_some() => 8,
            // It may have been written, and overwritten since: 6 would mean that it was not.
            ApplyOutcome::Superseded(_) | ApplyOutcome::Unknown(..) => 7,
            _ => extra.unwrap_or(match &self.wait {
                None => 0,
                Some(Ok(waited)) => match waited.end {
                    WaitEnd::Ready(_) | WaitEnd::Changed(..) => 0,
                    WaitEnd::Gone | WaitEnd::TimedOut(_) => 1,
                    WaitEnd::Interrupted(signal) => signal,
                },
                Some(Err(_)) => 1,
            }),
        }
    }
}

/// Checks the preconditions of the command line against a target; worded as by `kubectl scale`.
pub fn precondition(state: &ScaleState, how: &How) -> Option<String> {
    let ScaleState {
        replicas: was,
        resource_version: version,
        ..
    } = state;
    if let Some(want) = how.current_replicas.filter(|want| want != was) {
        return Some(format!("Expected replicas to be {want}, was {was}"));
    }
    let stated = how.resource_version.as_deref();
    let want = stated.filter(|want| want != version)?;
    Some(format!(
        "Expected resource version to be {want}, was {version}"
    ))
}

/// Returns the HPA as the next pass finds it: with the pass's status if that is written, or otherwise its present one.
fn hpa_after(pass: &Pass, writes_status: bool) -> Hpa {
    let mut hpa = pass.input.snapshot.hpa.clone();
    let status = pass.decision.outcome.status.as_ref();
    if let Some(written) = status.filter(|_| writes_status) {
        hpa.status.clone_from(written);
    }
    hpa
}

/// Returns the change between two readings of an HPA and its target's scale, if there is one.
pub fn moved(hpa: [&Hpa; 2], scale: [&ScaleState; 2]) -> Option<String> {
    let [before, now] = hpa;
    let name = format!("the HPA {}", before.key());
    if before.uid != now.uid {
        return Some(format!("{name} was deleted and recreated"));
    }
    if let Some(since) = now.deletion_timestamp {
        return Some(format!("{name} has been marked for deletion since {since}"));
    }
    let [was, is] = scale;
    if was.uid != is.uid {
        let [was, is] = [&was.uid, &is.uid];
        return Some(format!(
            "the target was replaced: Expected uid to be {was}, was {is}"
        ));
    }
    if was.replicas != is.replicas {
        return Some(format!(
            "Expected replicas to be {}, was {}",
            was.replicas, is.replicas
        ));
    }
    if before.generation != now.generation || before.spec != now.spec {
        let generation = |hpa: &Hpa| hpa.generation.map(|it| it.to_string());
        let generations = match (generation(before), generation(now)) {
            (Some(was), Some(is)) if was != is => format!(": generation {was}, now {is}"),
            _ => String::new(),
        };
        return Some(format!("the spec of {name} was changed{generations}"));
    }
    if before.resource_version != now.resource_version {
        let [was, is] = [&before.resource_version, &now.resource_version];
        return Some(format!(
            "{name} was written by the controller or something else: resourceVersion {was}, now \
             {is}"
        ));
    }
    (was.resource_version != is.resource_version).then(|| {
        let [was, is] = [&was.resource_version, &is.resource_version];
        format!("the target was written: Expected resource version to be {was}, was {is}")
    })
}
