//! The basis of an answer, apart from the objects: its assumptions, and the sources of everything else, with the words
//! for them.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::control_plane::{ManagerFact, Unshown, manager};
use super::hpa::HpaSpec;
use super::past::{Past, PastField, PastPart};
use super::right::MissingRight;
use super::surroundings::{SupposedPods, SupposedTemplate};
use crate::apimachinery::json::SecondsTime;
use crate::apimachinery::names::shell_word;
use crate::numbers::{self, duration, list, resource_amount};
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
    /// Flags or feature gates of the controller.
    Settings {
        /// Whether these are flags or gates.
        item: &'static str,
        /// The settings, each with its value.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BasisView {
    /// The subject.
    pub item: &'static str,
    /// The value used.
    pub value: String,
    /// The source.
    pub source: String,
    /// The age: a field of the published JSON, which is always null.
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
            Basis::Settings {
                item,
                settings,
                source,
            } => Self::new(item, settings.join(", "), source.to_string()),
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
            Self::Clock { .. } | Self::Settings { .. } | Self::ManagerUnread(_) => None,
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
                    let amount = resource_amount(resource, amount.milli_value());
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

/// The parts that a history may lack, each with its item in the basis and the value that is used instead.
const REPLACED: [(PastPart, &str, &str); 9] = [
    (PastPart::Replicas, "replicas", "the number of active pods"),
    (PastPart::Phases, "phases", "Running"),
    (
        PastPart::Readiness,
        "readiness",
        "ready since they were started",
    ),
    (
        PastPart::StartTimes,
        "start times",
        "when pods were created",
    ),
    (
        PastPart::ReadyTimes,
        "ready since",
        "the start, or the scrape that saw it",
    ),
    (PastPart::Requests, "requests", "those of the template"),
    (
        PastPart::Sidecars,
        "sidecars",
        "those of the template and current pods",
    ),
    (PastPart::Cpu, "usage of cpu", "unknown"),
    (PastPart::Memory, "usage of memory", "unknown"),
];

impl Past {
    /// Describes what a past pass is based on, apart from the history.
    pub(crate) fn basis(&self) -> Vec<BasisView> {
        let Past {
            source,
            read,
            scrape,
            lacks,
            kept,
            ..
        } = self;
        let read = format!("as read at {}", SecondsTime(*read));
        let lacks = |part| lacks.contains(&part);
        let mut views = vec![BasisView::new(
            "history",
            "samples of the pods and the HPA",
            source,
        )];
        let mut add =
            |item, value: &str, source: &str| views.push(BasisView::new(item, value, source));
        let fields = [
            (PastPart::Limits, "minReplicas and maxReplicas"),
            (PastPart::Targets, "the targets"),
        ];
        let recorded = fields.iter().filter(|(part, _)| !lacks(*part));
        let recorded: Vec<&str> = recorded.map(|(_, name)| *name).collect();
        let spec = if recorded.is_empty() {
            "all of it".to_owned()
        } else {
            format!("all but {}", recorded.join(", and "))
        };
        add("spec", &spec, &read);
        if !kept.is_empty() {
            add("targets", &format!("of {}", kept.join(", ")), &read);
        }
        add(
            "controller",
            "did not restart in its history",
            "the history does not say",
        );
        add(
            "passes",
            "at this time, and a sync period apart before it",
            "the history does not say when they were",
        );
        let scraped = scrape.map_or_else(
            || "no scrapes".to_owned(),
            |seconds| {
                format!(
                    "scrapes every {}",
                    duration(SignedDuration::from_secs(seconds))
                )
            },
        );
        add(
            "usage",
            "rates between two scrapes, of the last 45s",
            &format!("{scraped}; the metrics API's own samples are not recorded"),
        );
        for (part, item, value) in REPLACED.into_iter().filter(|(part, ..)| lacks(*part)) {
            let source = match part {
                PastPart::Requests | PastPart::Sidecars => &read,
                _ => "not recorded",
            };
            add(item, value, source);
        }
        views
    }

    /// Returns the notes on a past pass.
    pub(crate) fn notes(&self, spec: &HpaSpec) -> Vec<String> {
        let Past {
            warnings,
            changed,
            lacks,
            kept,
            queries,
            ..
        } = self;
        let fields = changed.iter().map(|PastField { field, then, now }| {
            format!("{field} of the HPA was {then}, and is {now} since")
        });
        let mut notes: Vec<String> = fields.collect();
        if !lacks.is_empty() || !kept.is_empty() {
            let text = "the history lacks parts of this pass: ASSUMED, with -o wide, has what is used instead";
            notes.push(text.to_owned());
        }
        let metrics = spec.metrics.iter().filter(|metric| !metric.is_resource());
        let names = metrics.map(|metric| metric.flag_name(&spec.metrics));
        notes.extend(
            names
                .filter(|name| queries.iter().all(|query| query.of != *name))
                .map(|name| {
                    let query = shell_word(&format!("{name}=PROMQL"));
                    format!("no query was stated for {name}: --query {query} gives its values")
                }),
        );
        notes.extend(warnings.iter().map(ToString::to_string));
        notes
    }
}
