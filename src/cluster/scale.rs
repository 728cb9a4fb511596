//! The only write of a scale, and what became of it. A write names the state of the scale that it was
//! decided on, so it meets no other; where its answer is lost, reading again tells. It must not
//! decide what is written. The preconditions are those of `scaleUpdatedObjectInfo` upstream.

use std::future::ready;
use std::pin::Pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use serde::Deserialize;
use serde_json::json;
use tokio::pin;
use tokio::time::sleep;

use super::fetch::read::read;
use super::managed::{self, MANAGER};
use super::{ApiStatus, Failure, FailureKind, Method, Session, Waiting};
use crate::json::null_as_default;
use crate::snapshot::live::{ScaleAt, ScaleState};
use crate::snapshot::metadata::ObjectMeta;
use crate::snapshot::objects::{Replicas, ScaleStatus};

/// A scale as it is on the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireScale {
    #[serde(deserialize_with = "null_as_default")]
    metadata: ObjectMeta,
    #[serde(deserialize_with = "null_as_default")]
    pub(super) spec: Replicas,
    #[serde(deserialize_with = "null_as_default")]
    pub(super) status: ScaleStatus,
}

impl WireScale {
    /// Which state it is.
    pub(super) fn state(&self) -> ScaleState {
        ScaleState {
            uid: self.metadata.uid.clone(),
            resource_version: self.metadata.resource_version.clone(),
            replicas: self.spec.replicas,
        }
    }
}

/// What became of a write.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// The target has what was written.
    Written {
        /// The scale afterwards.
        state: ScaleState,
        /// What told so.
        told: Told,
    },
    /// Somebody else was first, says the server: it is not written.
    Overtaken(String),
    /// The answer was lost, and reading shows what somebody else has made of the target: it is not
    /// written and no longer can be, or was overwritten.
    Superseded(String),
    /// The server refused it, or it was not sent: it is not written.
    Refused(Failure),
    /// It may be written, or may still be: why there is no answer, and why reading did not tell.
    Unknown(String, String),
}

/// What told that a write was done.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// Its answer.
    Answer,
    /// The answer to the same write sent again, as that to the first was lost.
    Again(String),
    /// Reading, as the answer was lost; and whether `managedFields` show that it was this write.
    /// Where they do not, somebody else may have written the same.
    Reading(String, bool),
}

/// Where a scale is read and written.
pub(super) trait Scales {
    /// The scale as it is now.
    async fn read(&self) -> Result<ScaleState, Failure>;
    /// Asks for so many replicas in the place of a state.
    async fn put(&self, from: &ScaleState, replicas: i32) -> Result<ScaleState, Failure>;
    /// Who set the replicas last, as far as that shows.
    async fn owner(&self) -> Option<String>;
    /// Waits a moment for what may be under way.
    async fn pause(&self);
}

/// The scale of a target behind an API server.
struct Remote<'s> {
    session: &'s Session,
    at: &'s ScaleAt,
    dry_run: bool,
}

impl Remote<'_> {
    fn state(&self, body: &[u8], method: Method) -> Result<ScaleState, Failure> {
        let path = format!("{}/scale", self.at.path);
        let scale: WireScale = read("Scale", body).map_err(|cause| Failure {
            method,
            ..Failure::unreadable(self.session.host(), &path, cause)
        })?;
        Ok(scale.state())
    }
}

impl Scales for Remote<'_> {
    async fn read(&self) -> Result<ScaleState, Failure> {
        let path = format!("{}/scale", self.at.path);
        let response = self.session.get(&path, "application/json").await?;
        self.state(&response.body, Method::Get)
    }

    async fn put(&self, from: &ScaleState, replicas: i32) -> Result<ScaleState, Failure> {
        let dry_run = if self.dry_run { "dryRun=All&" } else { "" };
        let path = format!("{}/scale?{dry_run}fieldManager={MANAGER}", self.at.path);
        let scale = json!({
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": self.at.name,
                "namespace": self.at.namespace,
                "uid": from.uid,
                "resourceVersion": from.resource_version,
            },
            "spec": {"replicas": replicas},
        });
        let body = scale.to_string();
        let response = self.session.write(Method::Put, &path, body.as_bytes()).await?;
        self.state(&response.body, Method::Put)
    }

    async fn owner(&self) -> Option<String> {
        let target = managed::target(self.session, self.at).await.ok()?;
        target.owner().map(str::to_owned)
    }

    async fn pause(&self) {
        sleep(PAUSE).await;
    }
}

/// Reads a scale again.
///
/// # Errors
///
/// It cannot be read.
pub async fn read_again(session: &Session, at: &ScaleAt) -> Result<ScaleState, Failure> {
    Remote { session, at, dry_run: false }.read().await
}

/// Asks the server what it would say to the write, without writing.
///
/// # Errors
///
/// Everything but a yes.
pub async fn dry_run(
    session: &Session,
    at: &ScaleAt,
    replicas: i32,
) -> Result<ScaleState, Failure> {
    Remote { session, at, dry_run: true }.put(&at.state, replicas).await
}

/// Writes the replicas in the place of the state that was read, and finds out what became of it.
/// Once `cut` is over, the answer is no longer waited for and nothing is sent again.
pub async fn write(
    session: &Session,
    at: &ScaleAt,
    replicas: i32,
    cut: impl Future<Output = ()>,
) -> Fate {
    // Whatever time was used up before, there is some to find out in.
    session.allow(LOOKS + 2);
    settled(&Remote { session, at, dry_run: false }, &at.state, replicas, cut).await
}

/// As often it is looked whether a write has arrived.
const LOOKS: u32 = 4;
/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(400);

/// What a failed write leaves to find out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// It is not written and will not be.
    Refused,
    /// Somebody else was first.
    Overtaken,
    /// The server is done with it, one way or the other.
    Done,
    /// It may still be under way.
    UnderWay,
    /// The same, and nothing is to be sent any more.
    Cut,
}

fn after(failure: &Failure) -> After {
    match &failure.kind {
        FailureKind::Api(status) => match status.code {
            404 | 409 => After::Overtaken,
            500 | 503 if status.from_server && !is_late(status) => After::Done,
            408 | 500.. => After::UnderWay,
            _ => After::Refused,
        },
        // Nothing was sent: the connection did not come about.
        FailureKind::Refused
        | FailureKind::Dns(_)
        | FailureKind::Proxy { .. }
        | FailureKind::Credentials { .. }
        | FailureKind::Timeout {
            waiting: Waiting::Name | Waiting::Connection | Waiting::Unanswered(_),
            ..
        } => After::Refused,
        FailureKind::Tls { .. }
        | FailureKind::Timeout { waiting: Waiting::Answer, .. }
        | FailureKind::Lost(_)
        | FailureKind::Body(_) => After::UnderWay,
    }
}

/// Whether the server gave up on its store, which may yet do what it was asked.
fn is_late(status: &ApiStatus) -> bool {
    status.reason == "ServerTimeout" || status.message.contains("etcdserver: request timed out")
}

/// Writes, and finds out what became of it. A write is sent a second time at most, and names the same
/// state then: whichever of the two arrives first moves the resourceVersion and keeps the other out.
pub(super) async fn settled<S: Scales>(
    scales: &S,
    from: &ScaleState,
    to: i32,
    cut: impl Future<Output = ()>,
) -> Fate {
    pin!(cut);
    let answer = unless(cut.as_mut(), scales.put(from, to)).await;
    let (lost, after) = match answer {
        Some(Ok(state)) => return Fate::Written { state, told: Told::Answer },
        Some(Err(failure)) => match after(&failure) {
            After::Refused => return Fate::Refused(failure),
            After::Overtaken => return Fate::Overtaken(failure.to_string()),
            after => (Some(failure), after),
        },
        None => (None, After::Cut),
    };
    let text = match &lost {
        Some(failure) => failure.to_string(),
        None => "interrupted while waiting for the answer".to_owned(),
    };
    let mut again = after == After::UnderWay;
    for _ in 0..LOOKS {
        let now = match scales.read().await {
            Ok(now) => now,
            Err(e) if e.is_not_found() => return Fate::Superseded(format!("{text}; by now {e}")),
            Err(e) => {
                return Fate::Unknown(text, format!("the scale cannot be read either: {e}"));
            }
        };
        if now != *from {
            return moved(scales, from, now, to, text).await;
        }
        if let (After::Done, Some(failure)) = (after, &lost) {
            return Fate::Refused(failure.clone());
        }
        if !again {
            scales.pause().await;
        } else if let Some(Ok(state)) = unless(cut.as_mut(), scales.put(from, to)).await {
            return Fate::Written { state, told: Told::Again(text) };
        }
        again = false;
    }
    let message = format!(
        "the scale is still as it was, and the write may yet arrive while its resourceVersion is {}",
        from.resource_version
    );
    Fate::Unknown(text, message)
}

/// What a scale that is no longer as it was says about a write whose answer was lost.
async fn moved<S: Scales>(
    scales: &S,
    from: &ScaleState,
    now: ScaleState,
    to: i32,
    lost: String,
) -> Fate {
    if now.uid != from.uid {
        return Fate::Superseded(format!(
            "{lost}; the target is another one by now, with the same name"
        ));
    }
    let owner = scales.owner().await;
    let of_another = owner.as_ref().is_some_and(|owner| owner != MANAGER);
    if now.replicas == to && !of_another {
        return Fate::Written { state: now, told: Told::Reading(lost, owner.is_some()) };
    }
    let by = owner.map(|owner| format!(", last set by {owner}")).unwrap_or_default();
    let replicas = now.replicas;
    Fate::Superseded(format!(
        "{lost}; the target has {replicas} replicas by now{by}: the write has not arrived and no \
         longer can, or somebody has changed the replicas since"
    ))
}

/// What comes of some work, unless it is cut; what is cut already does not begin.
async fn unless<T>(
    mut cut: Pin<&mut impl Future<Output = ()>>,
    work: impl Future<Output = T>,
) -> Option<T> {
    if let Either::Left(_) = select(cut.as_mut(), ready(())).await {
        return None;
    }
    pin!(work);
    match select(work, cut).await {
        Either::Left((done, _)) => Some(done),
        Either::Right(((), _)) => None,
    }
}
