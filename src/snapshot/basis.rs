//! What an answer is based on besides the objects: assumptions, and where the rest comes from. `report`
//! puts it into words.

use jiff::Timestamp;

use super::control_plane::{ManagerFact, Unshown};
use super::right::MissingRight;
use super::surroundings::SupposedPods;
use crate::version::Version;

/// One item that the answer is based on.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// The time of the pass, if the input does not state it.
    Clock {
        /// The time.
        time: Timestamp,
        /// Where it comes from.
        source: ClockSource,
    },
    /// Flags of the controller.
    Flags {
        /// Each flag with its value.
        settings: Vec<String>,
        /// Where they come from.
        source: SettingSource,
    },
    /// Feature gates of the controller.
    Gates {
        /// Each gate with its value.
        settings: Vec<String>,
        /// Where they come from.
        source: SettingSource,
    },
    /// What could not be read about the controller manager, and why.
    ManagerUnread(Vec<(ManagerFact, Unshown)>),
    /// A version that is not stated, or whose rules are unconfirmed.
    Version(Version),
    /// The target itself, used because its scale may not be read.
    Target {
        /// Its kind.
        kind: String,
        /// Its replicas; `None` if there is no target.
        replicas: Option<i32>,
        /// The missing right to read the scale.
        right: MissingRight,
    },
    /// Pods that the input lacks.
    SupposedPods(SupposedPods),
    /// `status.replicas` of a target without a status: its `spec.replicas`.
    StatusReplicas {
        /// Its kind.
        kind: String,
        /// Its replicas.
        replicas: i32,
    },
}

/// Where a time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// The system clock; the objects were saved at an unknown time.
    System,
    /// The API server's clock when it answered.
    Server,
    /// The system clock, because the API server states no time.
    Local,
}

/// Where the controller's settings come from if they are not stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// This pod of the controller manager sets them.
    Pod(String),
    /// They have their defaults, because this pod does not set them.
    PodDefaults(String),
    /// They are assumed to have their defaults.
    Defaults,
}
