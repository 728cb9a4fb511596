//! The items of a list of HPAs. An unreadable item stays in the list with its name and the reason, because
//! it may have the target in question, or select the same pods.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::Failure;
use super::{Fetch, accepted, check_requested, rules};
use crate::apimachinery::json;
use crate::apimachinery::selector::Labels;
use crate::apiserver::admit;
use crate::apiserver::convert::HpaObject;
use crate::args::Named;
use crate::error::listed;
use crate::snapshot::hpa::Hpa;
use crate::snapshot::neighbour::{UnknownSelector, WhyUnknownSelector};
use crate::snapshot::note::Note;
use crate::snapshot::pod::Meta;
use crate::snapshot::selection::Selection;

/// The kind of a list of HPAs.
pub(super) const HPAS: &str = "HorizontalPodAutoscalerList";

/// An HPA of a list.
pub(super) struct HpaItem {
    pub(super) namespace: String,
    pub(super) name: String,
    /// Whether its explanation was requested; the others matter only for shared pods.
    pub(super) wanted: bool,
    pub(super) hpa: Result<Hpa, Failure>,
    /// The notes about fields that were ignored while reading.
    pub(super) notes: Vec<Note>,
    labels: Labels,
}

impl HpaItem {
    /// Whether a name refers to the item; an HPA that cannot be read matches only its own name.
    pub(super) fn is(&self, named: &Named) -> bool {
        match (&self.hpa, named) {
            (Ok(hpa), named) => hpa.is(named),
            (Err(_), Named::Hpa(name)) => self.name == *name,
            (Err(_), Named::Target(_)) => false,
        }
    }

    /// Returns the HPA's name and the reason why it cannot be read.
    pub(super) fn failure(&self) -> Option<(&str, &Failure)> {
        Some((&self.name, self.hpa.as_ref().err()?))
    }

    /// Records whether the HPA is requested.
    pub(super) fn select(&mut self, selection: &Selection) {
        self.wanted = selection.wants(Some(&self.labels), |named| self.is(named));
    }

    /// Returns the unknown selector of an HPA that cannot be read.
    pub(super) fn unreadable(&self, failure: &Failure) -> UnknownSelector {
        let key = format!("{}/{}", self.namespace, self.name);
        let why = WhyUnknownSelector::HpaUnreadable(failure.to_string());
        UnknownSelector::new(key, None, why)
    }
}

/// Returns the remedy for a target that none of the HPAs has, if some of them cannot be read: their names,
/// with the reasons.
pub(in super::super) fn unreadable<'i>(
    all: impl Iterator<Item = (&'i str, &'i Failure)>,
) -> Option<String> {
    let named: Vec<String> = all
        .map(|(name, failure)| format!("{name} ({failure})"))
        .collect();
    (!named.is_empty()).then(|| {
        format!(
            "it may be the target of one that cannot be read: {}",
            listed(&named)
        )
    })
}

/// Reads an item of a list; its kind and version are those of the list.
pub(super) fn admitted_item(item: &str, namespace: &str) -> Result<HpaObject, String> {
    accepted(admit::admit_item(item, namespace, rules()))
}

impl Fetch<'_> {
    /// Reads the items of a list of HPAs from this path, of one namespace or of all, all of them requested.
    pub(super) async fn read_items(
        &self,
        path: &str,
        listed: Option<&str>,
        list: Vec<Box<RawValue>>,
    ) -> Result<Vec<HpaItem>, Failure> {
        #[derive(Deserialize)]
        struct ListedObject {
            metadata: Meta<'static>,
        }
        let (namespace, only) = (self.namespace.to_owned(), listed.map(str::to_owned));
        let objects = self
            .session
            .aside(move || {
                let mut objects = Vec::new();
                for object in list {
                    let ListedObject { metadata } = json::read(object.get().as_bytes())?;
                    if let (Some(only), Some(stated)) = (&only, &metadata.namespace) {
                        check_requested([stated, &metadata.name], [only, &metadata.name])?;
                    }
                    objects.push((metadata, admitted_item(object.get(), &namespace)));
                }
                Ok::<_, String>(objects)
            })
            .await
            .unwrap_or_else(|e| Err(e.to_string()))
            .map_err(|cause| self.unreadable(path, cause))?;
        let items = objects.into_iter().map(|(metadata, hpa)| HpaItem {
            namespace: metadata.namespace.unwrap_or_default().into(),
            name: metadata.name.into(),
            wanted: true,
            notes: hpa
                .as_ref()
                .map(|hpa| hpa.notes.clone())
                .unwrap_or_default(),
            hpa: hpa
                .map(HpaObject::into_hpa)
                .map_err(|cause| self.unreadable(path, cause)),
            labels: metadata.labels.into_owned(),
        });
        Ok(items.collect())
    }
}
