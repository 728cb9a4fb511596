//! Optional answers that make a result more precise: the server's version, and the other HPAs of the
//! namespace with their targets' scales. Whatever does not arrive in time is reported as unknown.

use std::cell::RefCell;

use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::join;

use super::super::Failure;
use super::control_plane::{ControllerAnswers, come};
use super::discovery::Discovery;
use super::items::{HPAS, HpaItem};
use super::read::List;
use super::right::cause;
use super::scale::FetchedScale;
use super::{Awaited, Fetch, hpas_path, share_with_none};
use crate::error::{Error, listed};
use crate::snapshot::command_flags::CommandFlags;
use crate::snapshot::evidence::Event;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::neighbour::{OtherHpa, UnknownSelector, WhyUnknownSelector};
use crate::snapshot::note::Note;
use crate::snapshot::right::UnknownFact;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, paused};
use crate::snapshot::{Scale, ScaleError};
use crate::version;

/// The number of scales that are requested concurrently.
const AT_ONCE: usize = 8;

/// The answers that have arrived so far.
#[derive(Default)]
pub(super) struct OptionalAnswers {
    version: Awaited<ServerVersion>,
    /// The names of all HPAs of the namespace.
    names: RefCell<Vec<String>>,
    others: Awaited<OtherHpas>,
    events: Awaited<Vec<Event>>,
    /// Evidence about the controller manager.
    pub(super) controller: ControllerAnswers,
}

/// The other HPAs, and those whose selectors are unknown.
#[derive(Clone, Default)]
struct OtherHpas {
    known: Vec<Shared<OtherHpa>>,
    unknown: Vec<UnknownSelector>,
}

/// The answer of `/version`. Since 1.31 a server may emulate an older version.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ServerVersion {
    git_version: String,
    minor: String,
    emulation_major: String,
    emulation_minor: String,
}

impl ServerVersion {
    /// Returns the version whose rules apply.
    pub(super) fn followed(self, notes: &mut Vec<Note>) -> String {
        let Self {
            git_version,
            minor,
            emulation_major,
            emulation_minor,
        } = self;
        if emulation_major.is_empty()
            || emulation_minor.is_empty()
            || emulation_minor == minor.trim_end_matches('+')
        {
            return git_version;
        }
        let emulated = format!("v{emulation_major}.{emulation_minor}");
        notes.push(Note::new(format!(
            "the server is {git_version} and emulates {emulated}"
        )));
        emulated
    }
}

impl OptionalAnswers {
    /// Returns the version, the HPAs other than `own`, and the events.
    pub(super) fn take(
        &self,
        own: &Hpa,
        scale: &Result<Scale, ScaleError>,
        notes: &mut Vec<Note>,
    ) -> (Option<String>, Vec<Shared<OtherHpa>>, Vec<Event>) {
        let version = version_of(&self.version, notes);
        let answer = come(self.others.get(), UnknownFact::SharedPods, notes);
        let is_alone = answer.as_ref().is_some_and(|others| {
            let mut unknown = others.unknown.iter();
            others.known.is_empty() && !unknown.any(UnknownSelector::may_be_stored)
        });
        if is_alone {
            share_with_none(notes);
        }
        let mut others = answer.unwrap_or_default();
        UnknownSelector::note_all(&others.unknown, own, scale, notes);
        let unknown = others.unknown.iter();
        let stated = unknown.filter_map(|it| it.as_stated(own, scale));
        others.known.extend(stated);
        let events = come(self.events.get(), UnknownFact::HpaEvents, notes).unwrap_or_default();
        (version, others.known, events)
    }

    /// Returns the error about an HPA that does not exist, with the names of the existing ones, or the reason
    /// why there can be none. A 404 that is not a `Status` stays as it is.
    pub(super) fn about_absence(
        &self,
        [namespace, name]: [&str; 2],
        failure: Failure,
        scaled_objects: &[ScaledObject],
        flags: &CommandFlags,
    ) -> Error {
        let names = self.names.take();
        if let Some(Err(e)) = self.others.get()
            && is_unserved(e, &self.version)
        {
            return unserved(&self.version);
        }
        let is_absent = failure.is_gone();
        let error = Error::from(failure);
        if !is_absent {
            return error;
        }
        if let Some(hint) = paused(scaled_objects.iter(), name, flags) {
            return error.hint(hint);
        }
        if names.is_empty() {
            return error.hint(format!(
                "searched namespace {namespace}; use -n for another"
            ));
        }
        error.hint(format!("the namespace {namespace} has {}", listed(&names)))
    }
}

/// Whether the server does not serve the API version that the controller uses, as the failed list of its HPAs shows. A
/// server that is too old for it adds no header to its 404, either.
pub(super) fn is_unserved(list: &Failure, version: &Awaited<ServerVersion>) -> bool {
    let is_too_old = |said: &ServerVersion| version::is_too_old(&said.git_version);
    let read = version.get().and_then(|said| said.as_ref().ok());
    list.is_not_found() || (list.is_404() && read.is_some_and(is_too_old))
}

/// Returns the error about a server that lacks the API version that the controller uses.
pub(super) fn unserved(version: &Awaited<ServerVersion>) -> Error {
    let Some(Ok(ServerVersion { git_version, .. })) = version.get() else {
        return Error::failed("the server does not serve autoscaling/v2")
            .hint("it states no version either: check that its address is an API server's");
    };
    Error::failed(format!(
        "the server ({git_version}) does not serve autoscaling/v2"
    ))
    .hint("it is served as of Kubernetes v1.23")
}

/// Returns an HPA that may select the pods of another.
///
/// # Errors
///
/// Its selector is unknown.
pub(super) fn other(
    hpa: &Hpa,
    found: &Result<FetchedScale, Failure>,
) -> Result<Shared<OtherHpa>, UnknownSelector> {
    let target = hpa.spec.scale_target_ref.to_string();
    let why = match found.as_ref().map(|found| &found.scale) {
        Ok(Ok(scale)) => return OtherHpa::of(hpa.clone(), scale.clone()),
        Ok(Err(_)) => WhyUnknownSelector::TargetGone { target },
        Err(failure) => WhyUnknownSelector::TargetUnreadable {
            target,
            why: cause(failure),
        },
    };
    Err(UnknownSelector::new(hpa.key(), Some(hpa), why))
}

/// Returns the version whose rules apply, if it has arrived.
pub(super) fn version_of(answer: &Awaited<ServerVersion>, notes: &mut Vec<Note>) -> Option<String> {
    let version = come(answer.get(), UnknownFact::ServerVersion, notes)?;
    Some(version.followed(notes))
}

impl Fetch<'_> {
    /// Fetches the other HPAs of the namespace into `optional`; the one of that name is left out.
    pub(super) async fn other_hpas(
        &self,
        name: &str,
        discovered: &Awaited<Discovery>,
        optional: &OptionalAnswers,
    ) {
        let others = async || {
            let listed = self.hpas().await?;
            let names = listed.iter().map(|item| item.name.clone());
            *optional.names.borrow_mut() = names.collect();
            Ok(self.others(name, listed, discovered).await)
        };
        optional.others.get_or_init(others).await;
    }

    /// Fetches the other optional answers into `optional`, for the HPA of that name.
    pub(super) async fn optional(&self, name: &str, optional: &OptionalAnswers) {
        join!(
            optional.version.get_or_init(|| self.version()),
            optional
                .events
                .get_or_init(|| self.events(Some(self.namespace), Some(name))),
            self.controller(&optional.controller)
        );
    }

    pub(super) async fn version(&self) -> Result<ServerVersion, Failure> {
        // The answer has no kind.
        self.json("/version", "").await
    }

    async fn hpas(&self) -> Result<Vec<HpaItem>, Failure> {
        let path = hpas_path(Some(self.namespace));
        let list: List<Box<RawValue>> = self.json(&path, HPAS).await?;
        self.read_items(&path, Some(self.namespace), list.items)
            .await
    }

    /// Returns the other HPAs whose selector the controller knows, where they can be read.
    async fn others(
        &self,
        name: &str,
        listed: Vec<HpaItem>,
        discovered: &Awaited<Discovery>,
    ) -> OtherHpas {
        let others = listed.into_iter().filter(|other| other.name != name);
        let asked = others.map(|item| async move {
            let hpa = item
                .hpa
                .as_ref()
                .map_err(|failure| item.unreadable(failure))?;
            let scale = self.target_scale(hpa, self.discovery(discovered)).await;
            other(hpa, &scale)
        });
        let answers: Vec<_> = stream::iter(asked).buffered(AT_ONCE).collect().await;
        let mut others = OtherHpas::default();
        for known in answers {
            match known {
                Ok(known) => others.known.push(known),
                Err(unknown) => others.unknown.push(unknown),
            }
        }
        others
    }
}
