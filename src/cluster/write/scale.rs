//! The only write of a scale. It names the state of the scale on which the decision is based, so it
//! replaces no other. The replicas are decided elsewhere. Its preconditions follow upstream's
//! `scaleUpdatedObjectInfo`.

use serde_json::json;

use super::query;
use super::settle::{self, Fate, ReadBack, Write};
use crate::apimachinery::metadata::Metadata;
use crate::cluster::fetch::Fetch;
use crate::cluster::observed::{ScaleAt, ScaleState};
use crate::cluster::target::target;
use crate::cluster::{Failure, Method, Session};
use crate::snapshot::written::FIELD_MANAGER;

/// The place where a scale is read and written.
pub(crate) trait Scales {
    /// Returns the current scale.
    async fn read(&self) -> Result<ScaleState, Failure>;
    /// Requests this many replicas, replacing a state. The answer is a scale of the same object.
    async fn put(&self, from: &ScaleState, replicas: i32) -> Result<ScaleState, Failure>;
    /// Returns the failure for a successful answer that does not prove the write.
    fn unproven(&self, cause: &str) -> Failure;
    /// Returns the last writer of the replicas, if known.
    async fn owner(&self) -> Option<String>;
}

/// The scale of a target behind an API server.
struct Remote<'s> {
    session: &'s Session,
    at: &'s ScaleAt,
    dry_run: bool,
}

impl Remote<'_> {
    fn path(&self) -> String {
        format!("{}/scale", self.at.path)
    }

    fn fetch(&self) -> Fetch<'_> {
        Fetch::new(self.session, &self.at.namespace)
    }
}

impl Scales for Remote<'_> {
    async fn read(&self) -> Result<ScaleState, Failure> {
        let response = self.session.get(&self.path()).await?;
        let served = self.fetch().served_scale(&response, &self.at.name).await?;
        Ok(ScaleState::of(&served.object))
    }

    async fn put(&self, from: &ScaleState, replicas: i32) -> Result<ScaleState, Failure> {
        let path = self.path() + &query(self.dry_run);
        let scale = json!({
            "kind": "Scale",
            "apiVersion": self.at.api_version,
            "metadata": {
                "name": self.at.name,
                "namespace": self.at.namespace,
                "uid": from.uid,
                "resourceVersion": from.resource_version,
            },
            "spec": {"replicas": replicas},
        });
        let body = scale.to_string();
        let response = self
            .session
            .write(Method::Put, &path, body.as_bytes())
            .await?;
        let read = self.fetch().served_scale(&response, &self.at.name).await;
        let served = read.map_err(|e| e.of_path(self.path()))?;
        let Metadata {
            name,
            namespace,
            uid,
            ..
        } = &served.object.metadata;
        let is_own = (&**name, namespace.as_deref(), uid)
            == (&*self.at.name, Some(&*self.at.namespace), &from.uid);
        if !is_own {
            return Err(self.unproven("the answer is the scale of another object"));
        }
        Ok(ScaleState::of(&served.object))
    }

    fn unproven(&self, cause: &str) -> Failure {
        self.session.unreadable(Method::Put, &self.path(), cause)
    }

    async fn owner(&self) -> Option<String> {
        let target = target(self.session, self.at).await.ok()?;
        target.owner().map(str::to_owned)
    }
}

/// Reads a scale again.
///
/// # Errors
///
/// The scale cannot be read.
pub async fn read_again(session: &Session, at: &ScaleAt) -> Result<ScaleState, Failure> {
    Remote {
        session,
        at,
        dry_run: false,
    }
    .read()
    .await
}

/// Asks the server how it would respond to the write, without writing.
///
/// # Errors
///
/// Anything except success.
pub async fn dry_run(
    session: &Session,
    at: &ScaleAt,
    replicas: i32,
) -> Result<ScaleState, Failure> {
    Remote {
        session,
        at,
        dry_run: true,
    }
    .put(&at.state, replicas)
    .await
}

/// Writes the replicas, replacing the state that was read, and determines the outcome. Once `cut`
/// completes, the answer is no longer awaited and nothing is sent again.
pub async fn write(
    session: &Session,
    at: &ScaleAt,
    replicas: i32,
    cut: impl Future<Output = ()>,
) -> Fate<ScaleState> {
    // Even if much time has been used up, this leaves some to determine the outcome.
    session.allow(settle::REQUESTS);
    settled(
        &Remote {
            session,
            at,
            dry_run: false,
        },
        &at.state,
        replicas,
        cut,
    )
    .await
}

/// Writes the replicas, replacing the state that was read, and determines the outcome.
pub(crate) async fn settled<S: Scales>(
    scales: &S,
    from: &ScaleState,
    to: i32,
    cut: impl Future<Output = ()>,
) -> Fate<ScaleState> {
    settle::settled(&Replicas { scales, from, to }, cut).await
}

/// Replicas to be written over a state. The first write to arrive changes the resourceVersion, which
/// excludes a second one.
struct Replicas<'s, S> {
    scales: &'s S,
    from: &'s ScaleState,
    to: i32,
}

impl<S: Scales> Write for Replicas<'_, S> {
    type State = ScaleState;

    async fn send(&self) -> Result<ScaleState, Failure> {
        let after = self.scales.put(self.from, self.to).await?;
        if after.resource_version.is_empty() {
            return Err(self.scales.unproven("the answer has no resourceVersion"));
        }
        if after.resource_version == self.from.resource_version {
            // A webhook that undoes the change leaves the target unchanged; if so, reading shows the same.
            let is_undone =
                after == *self.from && self.scales.read().await.is_ok_and(|now| now == after);
            if !is_undone {
                return Err(self
                    .scales
                    .unproven("the answer has the resourceVersion from before"));
            }
        }
        Ok(after)
    }

    async fn look(&self) -> Result<ReadBack<ScaleState>, Failure> {
        let now = self.scales.read().await?;
        if now == *self.from {
            return Ok(ReadBack::Still);
        }
        if now.uid != self.from.uid {
            let what = "the target was replaced by another one of the same name";
            return Ok(ReadBack::Replaced(what.to_owned(), true));
        }
        let owner = self.scales.owner().await;
        let is_own = owner.as_ref().map(|owner| owner == FIELD_MANAGER);
        let by = owner
            .map(|owner| format!(", last set by {owner}"))
            .unwrap_or_default();
        let replicas = now.replicas;
        let what = format!(
            "the target now has {replicas} replicas{by}: the write can no longer take effect, or \
             something has changed the replicas since"
        );
        Ok(match is_own {
            Some(true) | None if replicas == self.to => ReadBack::Written(now, is_own.is_some()),
            // This write would have changed the count.
            _ if replicas == self.from.replicas => ReadBack::Replaced(what, true),
            Some(true) => ReadBack::Changed(now, what),
            is_own => ReadBack::Replaced(what, is_own.is_some()),
        })
    }

    fn open(&self) -> String {
        format!(
            "the scale is unchanged, and the write may still take effect while its resourceVersion \
             is {}",
            self.from.resource_version
        )
    }
}
