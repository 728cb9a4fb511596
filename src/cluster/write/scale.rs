//! The only write of a scale. It names the state of the scale that it was decided on, so it meets no
//! other. It must not decide what is written. The preconditions are those of `scaleUpdatedObjectInfo` upstream.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::settle::{self, Fate, ReadBack, Write};
use crate::cluster::fetch::read::read;
use crate::cluster::observed::{ScaleAt, ScaleState};
use crate::cluster::target::target;
use crate::cluster::{Failure, Method, Session};
use crate::saved::wire::ScaleObject;
use crate::snapshot::written::FIELD_MANAGER;

/// Where a scale is read and written.
pub(crate) trait Scales {
    /// The scale as it is now.
    async fn read(&self) -> Result<ScaleState, Failure>;
    /// Asks for so many replicas in the place of a state.
    async fn put(&self, from: &ScaleState, replicas: i32) -> Result<ScaleState, Failure>;
    /// Who set the replicas last, as far as that shows.
    async fn owner(&self) -> Option<String>;
    /// Waits a moment for what may be under way.
    async fn pause(&self, time: Duration);
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
        let scale: ScaleObject = read("Scale", body)
            .map_err(|cause| Failure { method, ..self.session.unreadable(&path, cause) })?;
        Ok(ScaleState::of(&scale))
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
        let path = format!("{}/scale?{dry_run}fieldManager={FIELD_MANAGER}", self.at.path);
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
        let target = target(self.session, self.at).await.ok()?;
        target.owner().map(str::to_owned)
    }

    async fn pause(&self, time: Duration) {
        sleep(time).await;
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
) -> Fate<ScaleState> {
    // Whatever time was used up before, there is some to find out in.
    session.allow(settle::REQUESTS);
    settled(&Remote { session, at, dry_run: false }, &at.state, replicas, cut).await
}

/// Writes the replicas in the place of the state that was read, and finds out what became of it.
pub(crate) async fn settled<S: Scales>(
    scales: &S,
    from: &ScaleState,
    to: i32,
    cut: impl Future<Output = ()>,
) -> Fate<ScaleState> {
    settle::settled(&Replicas { scales, from, to }, cut).await
}

/// Replicas to be written in the place of a state. The resourceVersion moves with the first write that
/// arrives, and keeps out a second one.
struct Replicas<'s, S> {
    scales: &'s S,
    from: &'s ScaleState,
    to: i32,
}

impl<S: Scales> Write for Replicas<'_, S> {
    type State = ScaleState;

    async fn send(&self) -> Result<ScaleState, Failure> {
        self.scales.put(self.from, self.to).await
    }

    async fn look(&self) -> Result<ReadBack<ScaleState>, Failure> {
        let now = self.scales.read().await?;
        if now == *self.from {
            return Ok(ReadBack::Still);
        }
        if now.uid != self.from.uid {
            let what = "the target was replaced by another one of the same name";
            return Ok(ReadBack::Replaced(what.to_owned()));
        }
        let owner = self.scales.owner().await;
        let of_another = owner.as_ref().is_some_and(|owner| owner != FIELD_MANAGER);
        if now.replicas == self.to && !of_another {
            return Ok(ReadBack::Written(now, owner.is_some()));
        }
        let by = owner.map(|owner| format!(", last set by {owner}")).unwrap_or_default();
        let replicas = now.replicas;
        Ok(ReadBack::Replaced(format!(
            "the target now has {replicas} replicas{by}: the write can no longer take effect, or \
             something has changed the replicas since"
        )))
    }

    async fn pause(&self, time: Duration) {
        self.scales.pause(time).await;
    }

    fn open(&self) -> String {
        format!(
            "the scale is unchanged, and the write may still take effect while its resourceVersion \
             is {}",
            self.from.resource_version
        )
    }
}
