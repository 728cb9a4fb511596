//! What an answer rests on besides the objects: what was assumed, and where the rest comes from. `report`
//! puts it into words.

use jiff::Timestamp;

use super::control_plane::{ManagerFact, Unshown};
use super::right::MissingRight;
use crate::version::Version;

/// One thing that the answer rests on.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// The time of the pass, where nothing states it.
    Clock {
        /// The time.
        time: Timestamp,
        /// Whose it is.
        source: ClockSource,
    },
    /// Flags of the controller.
    Flags {
        /// Each with its value.
        settings: Vec<String>,
        /// Where they come from.
        source: SettingSource,
    },
    /// Feature gates of the controller.
    Gates {
        /// Each with its value.
        settings: Vec<String>,
        /// Where they come from.
        source: SettingSource,
    },
    /// What the controller manager does not show, and why.
    ManagerUnread(Vec<(ManagerFact, Unshown)>),
    /// A version that is not stated, or whose rules are not confirmed.
    Version(Version),
    /// The target itself instead of its scale, which may not be read.
    Target {
        /// Its kind.
        kind: String,
        /// Its replicas; none where there is no target.
        replicas: Option<i32>,
        /// The right that is missing to read the scale.
        right: MissingRight,
    },
    /// `status.replicas` of a target that carries no status: its `spec.replicas`.
    StatusReplicas {
        /// Its kind.
        kind: String,
        /// Its replicas.
        replicas: i32,
    },
}

/// Whose time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// The system's; the objects were saved at an unknown time.
    System,
    /// That of the API server when it answered.
    Server,
    /// The system's, as the API server states no time.
    Local,
}

/// Where settings of the controller come from that are not stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingSource {
    /// This pod of the controller manager sets them.
    Pod(String),
    /// They have their defaults, as this pod does not set them.
    PodDefaults(String),
    /// They are assumed to have their defaults.
    Defaults,
}
