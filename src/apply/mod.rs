//! What `apply` decides beside the pass itself: whether its result may be written, what has moved
//! since it was read, and what the live controller makes of it. Pure; the writes are the cluster's.

pub mod gate;
pub mod next;

use serde::Serialize;

use crate::cluster::observed::{ScaleAt, ScaleState};
use crate::cluster::write::settle::Told;
use crate::error::Error;
use crate::snapshot::hpa::Hpa;
use gate::{Code, Concern};
use next::Next;

/// The change that is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The replicas that there are.
    pub from: i32,
    /// Those that there are to be.
    pub to: i32,
}

/// Everything about one application, the pass aside.
#[derive(Debug)]
pub struct Applied {
    /// What is scaled, and the state of it that was decided on; none where it could not be read.
    pub at: Option<ScaleAt>,
    /// What was to be written; none where nothing was due.
    pub change: Option<Change>,
    /// Whether no past recommendation counted.
    pub ignores_stabilization: bool,
    /// Whether the status of the HPA is to be written, too.
    pub writes_status: bool,
    /// Whether an event is to be sent, too.
    pub sends_event: bool,
    /// What stood against writing.
    pub concerns: Vec<Concern>,
    /// What the live controller makes of it, or why that cannot be foreseen.
    pub next: Option<Result<Next, Error>>,
    /// What came of it.
    pub result: ApplyOutcome,
    /// What came of the status of the HPA, where it was to be written.
    pub status: Option<Extra>,
    /// The same of the event.
    pub event: Option<Extra>,
    /// How the wait for the replicas ended, where that was asked for.
    pub wait: Option<Result<Waited, Error>>,
}

/// What came of an application.
#[derive(Debug, Clone, PartialEq)]
pub enum ApplyOutcome {
    /// Nothing was due.
    NothingDue,
    /// The concerns stood against it.
    Refused,
    /// The target is not as the command line has it; with what it is.
    Unmet(String),
    /// Something has moved since it was read, so it is not written; with what.
    Moved(String),
    /// The answer to the write was lost, and someone else has changed the target since, perhaps on
    /// top of it.
    Superseded(String),
    /// Whoever was asked said no.
    Declined,
    /// It would have been written (`--dry-run=client`).
    Planned,
    /// The server would have written it (`--dry-run=server`).
    Accepted(ScaleState),
    /// It is written.
    Written(ScaleState, Told),
    /// The server took it and made another count of it.
    Altered(ScaleState, Told),
    /// The server refused it, or it could not be sent.
    NotWritten(Error),
    /// Whether it is written is not known: why there is no answer, and why reading did not tell.
    Unknown(String, String),
}

impl ApplyOutcome {
    /// The name of it in the contract.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NothingDue => "nothingDue",
            Self::Refused => "refused",
            Self::Unmet(_) => "unmet",
            Self::Moved(_) => "moved",
            Self::Superseded(_) => "superseded",
            Self::Declined => "declined",
            Self::Planned => "planned",
            Self::Accepted(_) => "accepted",
            Self::Written(..) => "written",
            Self::Altered(..) => "altered",
            Self::NotWritten(_) => "notWritten",
            Self::Unknown(..) => "unknown",
        }
    }
}

/// What came of what is written beside the scale.
#[derive(Debug, Clone, PartialEq)]
pub enum Extra {
    /// It is written.
    Written,
    /// It is not.
    NotWritten(Error),
    /// Whether it is, is not known, or it was overwritten; in words.
    Unknown(String),
}

impl Extra {
    /// The exit code, where it is no success.
    fn exit_code(&self) -> Option<u8> {
        match self {
            Self::Written => None,
            Self::NotWritten(e) => Some(e.kind.exit_code()),
            Self::Unknown(_) => Some(7),
        }
    }
}

/// How a wait ended, and with how many replicas.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waited {
    /// How.
    pub end: WaitEnd,
    /// The replicas that were ready, or that someone else has set.
    pub replicas: i32,
    /// Who has set them, where someone else did and it shows.
    pub by: Option<String>,
    /// The exit code of the signal that ended it, or 0.
    #[serde(skip)]
    pub signal: u8,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum WaitEnd {
    /// All replicas are ready.
    Ready,
    /// Somebody else has changed the count.
    Changed,
    /// The target is gone.
    Gone,
    /// They were not ready in time.
    TimedOut,
    /// A signal ended it.
    Interrupted,
}

impl Applied {
    /// What stood against writing and is forced.
    pub fn forced(&self) -> impl Iterator<Item = &Concern> {
        self.concerns.iter().filter(|concern| concern.forced)
    }

    /// What was sent, where the server made another count of it.
    pub fn made(&self, state: &ScaleState) -> Option<i32> {
        self.change.map(|change| change.to).filter(|to| *to != state.replicas)
    }

    /// The exit code.
    pub fn exit_code(&self) -> u8 {
        let extras = [&self.status, &self.event].into_iter().flatten();
        let extra = extras.filter_map(Extra::exit_code).min_by_key(|code| *code != 7);
        match &self.result {
            ApplyOutcome::Refused
                if self.concerns.iter().any(|it| it.code() == Code::CannotScale) =>
            {
                1
            }
            ApplyOutcome::Refused | ApplyOutcome::Unmet(_) | ApplyOutcome::Moved(_) => 6,
            ApplyOutcome::Declined => 1,
            ApplyOutcome::NotWritten(e) => e.kind.exit_code(),
            ApplyOutcome::Altered(..) => 8,
            ApplyOutcome::Accepted(state) if self.made(state).is_some() => 8,
            // It may have been written, and overwritten since: 6 would say that it was not.
            ApplyOutcome::Superseded(_) | ApplyOutcome::Unknown(..) => 7,
            _ => extra.unwrap_or(match &self.wait {
                None => 0,
                Some(Ok(waited)) => match waited.end {
                    WaitEnd::Ready | WaitEnd::Changed => 0,
                    WaitEnd::Gone | WaitEnd::TimedOut => 1,
                    WaitEnd::Interrupted => waited.signal,
                },
                Some(Err(_)) => 1,
            }),
        }
    }
}

/// What the preconditions of the command line say of a target; as `kubectl scale` words it.
pub fn precondition(
    state: &ScaleState,
    replicas: Option<i32>,
    resource_version: Option<&str>,
) -> Option<String> {
    let ScaleState { replicas: was, resource_version: version, .. } = state;
    if let Some(want) = replicas.filter(|want| want != was) {
        return Some(format!("Expected replicas to be {want}, was {was}"));
    }
    let want = resource_version.filter(|want| want != version)?;
    Some(format!("Expected resource version to be {want}, was {version}"))
}

/// What has moved between two readings of an HPA and its target's scale.
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
        return Some(format!("the target was replaced: Expected uid to be {was}, was {is}"));
    }
    if was.replicas != is.replicas {
        return Some(format!("Expected replicas to be {}, was {}", was.replicas, is.replicas));
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
