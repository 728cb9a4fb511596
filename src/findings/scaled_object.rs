//! The ScaledObject that KEDA creates an HPA from.

use std::fmt;

use crate::apimachinery::annotations::KEDA_PAUSED_REPLICAS;
use crate::snapshot::input::Input;
use crate::snapshot::surroundings::ScaledObject;

/// The ScaledObject that KEDA creates the HPA from. Displays as `ScaledObject/NAME`.
#[derive(Clone, Copy)]
pub(crate) struct OwnScaledObject<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The object itself, if it was read.
    pub(crate) object: Option<&'a ScaledObject>,
}

impl fmt::Display for OwnScaledObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScaledObject/{}", self.name)
    }
}

impl ScaledObject {
    /// Returns the replicas at which an annotation pauses the target.
    pub(super) fn paused_replicas(&self) -> Option<i32> {
        let stated = self.metadata.annotations.get(KEDA_PAUSED_REPLICAS)?;
        stated.parse().ok()
    }

    /// Whether KEDA cannot use its spec or a trigger.
    pub(super) fn is_unready(&self) -> bool {
        self.condition("Ready") == Some(false)
    }
}

impl Input {
    /// Returns the ScaledObject of the HPA, if KEDA creates that from one.
    pub(crate) fn own_scaled_object(&self) -> Option<OwnScaledObject<'_>> {
        let name = &*self.snapshot.hpa.scaled_object()?.name;
        let mut known = self.surroundings.scaled_objects.iter();
        Some(OwnScaledObject {
            name,
            object: known.find(|it| it.metadata.name == name),
        })
    }
}

/// Says that KEDA cannot use a ScaledObject.
pub(crate) fn unready(owner: OwnScaledObject<'_>) -> Option<String> {
    owner.object?.is_unready().then(|| {
        format!("The condition Ready of {owner} is False: KEDA cannot use its spec or a trigger.")
    })
}
