//! The basis of an answer besides the objects: its assumptions, and the sources of everything else, with the
//! words for them.

use jiff::Timestamp;
use serde::Serialize;

use super::control_plane::{ManagerFact, Unshown, manager};
use super::right::MissingRight;
use super::surroundings::{SupposedPods, SupposedTemplate};
use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::quantity::Quantity;
use crate::numbers::{self, format_of, list};
use crate::version::Version;

/// One item that the answer is based on.
#[derive(Debug, Clone, PartialEq)]
pub enum Basis {
    /// The time of the pass, if the input does not state it.
    Clock {
        /// The time.
        time: Timestamp,
        /// The source.
        source: ClockSource,
    },
    /// Flags of the controller.
    Flags {
        /// Each flag with its value.
        settings: Vec<String>,
        /// The source of these settings.
        source: SettingSource,
    },
    /// Feature gates of the controller.
    Gates {
        /// Each gate with its value.
        settings: Vec<String>,
        /// The source of these settings.
        source: SettingSource,
    },
    /// The facts about the controller manager that could not be read, with the reasons.
    ManagerUnread(Vec<(ManagerFact, Unshown)>),
    /// A version that is not stated, or whose rules are unconfirmed.
    Version(Version),
    /// The target itself, used because its scale may not be read.
    Target {
        /// The target's kind.
        kind: String,
        /// The target's replicas; `None` if there is no target.
        replicas: Option<i32>,
        /// The missing right to read the scale.
        right: MissingRight,
    },
    /// Pods that the input lacks.
    SupposedPods(SupposedPods),
    /// `status.replicas` of a target without a status: its `spec.replicas`.
    StatusReplicas {
        /// The target's kind.
        kind: String,
        /// Its replicas.
        replicas: i32,
    },
}

/// The source of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClockSource {
    /// The system clock; the objects were saved at an unknown time.
    #[error("the system clock; use --now to set it")]
    System,
    /// The API server's clock when it answered.
    #[error("the API server's")]
    Server,
    /// The system clock, because the API server states no time.
    #[error("the local clock, because the API server sent no time")]
    Local,
}

/// The source of the controller's settings, if they are not stated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingSource {
    /// This pod of the controller manager sets them.
    #[error("{}", manager(.0))]
    Pod(String),
    /// The defaults, because this pod of the controller manager does not set them.
    #[error("the defaults; {} sets none of these", manager(.0))]
    PodDefaults(String),
    /// The defaults, by assumption.
    #[error("the defaults")]
    Defaults,
}

/// One item that the answer is based on, in words.
#[derive(Debug, Serialize)]
pub struct BasisView {
    /// The subject.
    pub item: &'static str,
    /// The value used.
    pub value: String,
    /// The source.
    pub source: String,
    /// Its age: a field of the published JSON, which is always null.
    age: Option<i64>,
}

impl BasisView {
    pub(crate) fn new(
        item: &'static str,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Self {
        Self {
            item,
            value: value.into(),
            source: source.into(),
            age: None,
        }
    }
}

impl From<&Basis> for BasisView {
    fn from(basis: &Basis) -> Self {
        match basis {
            Basis::Clock { time, source } => {
                Self::new("clock", SecondsTime(*time).to_string(), source.to_string())
            }
            Basis::Flags { settings, source } => {
                Self::new("controller flags", settings.join(", "), source.to_string())
            }
            Basis::Gates { settings, source } => {
                Self::new("feature gates", settings.join(", "), source.to_string())
            }
            Basis::ManagerUnread(unread) => {
                let what = unread.iter().map(|(fact, _)| fact.to_string());
                let value = format!("{} unknown", Vec::from_iter(what).join(" and "));
                let why = unread.iter().map(|(_, why)| why.to_string());
                Self::new("controller manager", value, Vec::from_iter(why).join("; "))
            }
            Basis::Version(version) => {
                let unstated = version
                    .stated()
                    .is_none()
                    .then_some("the newest confirmed rules");
                let sources = unstated.into_iter().chain(version.caveat());
                Self::new(
                    "version",
                    version.to_string(),
                    Vec::from_iter(sources).join("; "),
                )
            }
            Basis::Target {
                kind,
                replicas,
                right,
            } => Self::new(
                "scale",
                replicas.map_or("none".to_owned(), |replicas| format!("{replicas} replicas")),
                format!(
                    "the {kind} itself, because its scale may not be read; {}",
                    right.advice()
                ),
            ),
            Basis::SupposedPods(SupposedPods {
                count, template, ..
            }) => {
                let made = match template {
                    SupposedTemplate::OfTarget => {
                        ", as the template of the target makes them".to_owned()
                    }
                    template => template.makes(),
                };
                let pods = match count {
                    0 => "none".to_owned(),
                    count => format!("{count}, ready and alike{made}"),
                };
                Self::new("pods", pods, "the input has no pods of the target")
            }
            Basis::StatusReplicas { kind, replicas } => Self::new(
                "status.replicas",
                replicas.to_string(),
                format!("spec.replicas, because the {kind} has no status"),
            ),
        }
    }
}

impl Basis {
    /// Returns an assumption as the end of a sentence; `None` for a default, and for observed values.
    pub(crate) fn brief(&self) -> Option<String> {
        match self {
            Self::Clock {
                source: ClockSource::System,
                ..
            } => Some("the time of the system clock".to_owned()),
            Self::Clock { .. }
            | Self::Flags { .. }
            | Self::Gates { .. }
            | Self::ManagerUnread(_) => None,
            Self::Version(version) => Some(format!("the rules of {version}")),
            Self::Target { kind, .. } => Some(format!("the scale that the {kind} states")),
            Self::SupposedPods(SupposedPods {
                count, template, ..
            }) => {
                let made = template.makes();
                Some(match count {
                    0 => "no pods".to_owned(),
                    1 => format!("1 ready pod{made}"),
                    count => format!("{count} pods, ready and alike{made}"),
                })
            }
            Self::StatusReplicas { replicas, .. } => {
                Some(format!("{replicas} for status.replicas"))
            }
        }
    }
}

impl SupposedTemplate {
    /// Describes the source of assumed pods, as the end of a clause; empty for the target in the input.
    fn makes(&self) -> String {
        match self {
            Self::OfTarget => String::new(),
            Self::OfCandidate { workload, origin } => {
                format!(", as {workload} in {origin} makes them")
            }
            Self::Unknown { requests, .. } if requests.0.is_empty() => String::new(),
            Self::Unknown {
                containers,
                requests,
            } => {
                let amounts = requests.0.iter().map(|(resource, amount)| {
                    let amount = Quantity::from_milli(amount.milli_value(), format_of(resource));
                    format!("{} of {resource}", numbers::quantity(&amount))
                });
                let amounts = list(&Vec::from_iter(amounts));
                match &containers[..] {
                    [] => format!(", requesting {amounts} each"),
                    [one] => format!(", with no container but {one}, which requests {amounts}"),
                    several => {
                        let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                        let several = list(&names);
                        format!(
                            ", with no containers but {several}, each of which requests {amounts}"
                        )
                    }
                }
            }
        }
    }
}
