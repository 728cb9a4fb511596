//! The selected HPAs of a list. Nothing here reads them.

use super::Listed;
use super::hpa::{CrossVersionObjectReference, Hpa};
use crate::apimachinery::selector::{Labels, Selector};
use crate::args::{Named, Target};
use crate::error::Error;

/// The HPAs that a list explains.
#[derive(Debug, Clone)]
pub enum Selection {
    /// The HPAs with matching labels.
    Labels(Selector),
    /// The HPAs with these names or targets.
    Named(Vec<Named>),
}

/// Selects all HPAs.
impl Default for Selection {
    fn default() -> Self {
        Self::Labels(Selector::default())
    }
}

impl Selection {
    /// Whether the selection includes an HPA with these labels and the names that `is` recognizes. An HPA whose labels
    /// cannot be read is included, so that it is not silently left out.
    pub(crate) fn wants(&self, labels: Option<&Labels>, is: impl Fn(&Named) -> bool) -> bool {
        match self {
            Self::Labels(selector) => labels.is_none_or(|labels| selector.matches(labels)),
            Self::Named(named) => named.iter().any(is),
        }
    }

    /// Returns the selected names that were not found.
    pub(crate) fn missing(
        &self,
        is_found: impl Fn(&Named) -> bool,
    ) -> impl Iterator<Item = &Named> {
        let named = match self {
            Self::Labels(_) => &[][..],
            Self::Named(named) => named,
        };
        named.iter().filter(move |named| !is_found(named))
    }
}

impl<T> Listed<T> {
    /// Returns the entry for a name that was not found, as typed.
    pub(crate) fn missing(namespace: String, named: &Named, why: Error) -> Self {
        Self {
            namespace,
            name: named.to_string(),
            reference: String::new(),
            result: Err(why),
        }
    }
}

impl Hpa {
    /// Whether a name refers to this HPA or its target.
    pub(crate) fn is(&self, named: &Named) -> bool {
        match named {
            Named::Hpa(name) => self.name == *name,
            Named::Target(target) => self.spec.scale_target_ref.is(target),
        }
    }
}

impl CrossVersionObjectReference {
    /// Whether the name refers to this target.
    pub(crate) fn is(&self, target: &Target) -> bool {
        self.name == target.name() && target.is_of(self.group(), &self.kind)
    }
}
