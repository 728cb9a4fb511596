//! The queries for shell completion, and for the HPA that a command line refers to: the names of
//! namespaces, HPAs and pods. Each takes one request, or the requests of a pass up to its pods.

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::timeout;

use super::items::{HpaItem, unreadable};
use super::surroundings::{SurroundingAnswers, Wish};
use super::{Awaited, Fetch, GRACE};
use crate::apimachinery::json;
use crate::cluster::{Failure, Session};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::pod::{Meta, Pod};
use crate::snapshot::selection::Selection;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::paused;

/// Returns the names of the namespaces.
///
/// # Errors
///
/// The list cannot be read.
pub async fn namespaces(session: &Session) -> Result<Vec<String>, Failure> {
    #[derive(Deserialize)]
    struct Namespace {
        metadata: Meta<'static>,
    }
    let asked = Fetch::new(session, session.namespace());
    let (list, _): (Vec<Box<RawValue>>, _) =
        asked.pages("/api/v1/namespaces", "NamespaceList").await?;
    let namespaces = list
        .iter()
        .filter_map(|object| json::read::<Namespace>(object.get().as_bytes()).ok());
    Ok(namespaces.map(|own| own.metadata.name.into()).collect())
}

/// The HPAs of a namespace.
pub struct Hpas(Vec<HpaItem>);

impl Hpas {
    /// Returns the names of all HPAs.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|item| &*item.name)
    }

    /// Returns the HPAs that can be read.
    pub(crate) fn readable(&self) -> impl Iterator<Item = &Hpa> {
        self.0.iter().filter_map(|item| item.hpa.as_ref().ok())
    }

    /// Returns the remedy for a target that none of these has, if some cannot be read.
    pub(crate) fn unreadable(&self) -> Option<String> {
        unreadable(self.0.iter().filter_map(HpaItem::failure))
    }
}

/// Returns the HPAs of the session's namespace.
///
/// # Errors
///
/// The list cannot be read.
pub async fn hpas(session: &Session) -> Result<Hpas, Failure> {
    let asked = Fetch::new(session, session.namespace());
    let (items, _) = asked
        .items(Some(session.namespace()), &Selection::default())
        .await?;
    Ok(Hpas(items))
}

/// Returns one HPA of the session's namespace, if it can be read.
pub async fn hpa(session: &Session, name: &str) -> Option<Hpa> {
    let asked = Fetch::new(session, session.namespace());
    asked.hpa(name).await.ok().map(|(hpa, ..)| hpa)
}

/// Returns the pods of an HPA's target, if they can be read.
pub async fn pods(session: &Session, name: &str) -> Option<Vec<Shared<Pod>>> {
    let asked = Fetch::new(session, session.namespace());
    asked
        .needed(name, &[], &Awaited::default(), unbounded_channel().0)
        .await
        .ok()
        .map(|(needed, _)| needed.pods)
}

/// Explains why the session's namespace has no HPA for a target of this name, if KEDA has removed it.
pub async fn paused_for(session: &Session, target: &str) -> Option<String> {
    let asked = Fetch::new(session, session.namespace());
    let answers = SurroundingAnswers::default();
    let wish = Wish::scaled_objects(asked.namespace);
    // The error omits what has not arrived by then.
    let _ = timeout(GRACE, asked.surrounding(wish.clone(), &answers)).await;
    let scaled_objects = answers.take(&wish).scaled_objects;
    paused(scaled_objects.iter(), target, session.command_flags())
}
