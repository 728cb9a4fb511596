//! Notes in addition to the answer: about input that was read but not used, facts that could not be read, and anything
//! that looks wrong. The controller ignores all of that. A note is worded where its facts are found.

use std::fmt;

use super::right::{UnknownFact, UnknownFactCause};
use crate::version::FeatureGate;

/// One note for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// The subject, if other code needs it.
    pub subject: Subject,
    /// The manifest or candidate that the note is about, if any.
    pub origin: Option<String>,
    /// The note, as a sentence.
    pub text: String,
}

/// The subject of a note, where other code needs it.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    /// A subject that no other code needs.
    Other,
    /// A field was dropped, because its feature gate is off.
    FieldDropped {
        /// The field.
        path: String,
        /// The gate.
        gate: FeatureGate,
        /// The value; as JSON if it is an object.
        value: String,
    },
    /// An annotation cannot be read.
    AnnotationIgnored,
    /// The HPA has unknown fields.
    UnknownFields,
    /// The controller ignores a field of the spec, because its feature gate is off.
    FieldUnused {
        /// The field.
        path: String,
        /// The gate.
        gate: FeatureGate,
    },
    /// A metric is about a container that no pod of the target has.
    NoSuchContainer {
        /// The metric's index in the spec.
        index: usize,
    },
    /// Values are older than twice the window over which they were measured.
    StaleValues {
        /// The custom metric; `None` for the resource metrics.
        metric: Option<String>,
    },
    /// The input lacks something, or has something else instead.
    InputLacks,
    /// Metrics lack a value in a state whose pods are assumed.
    NoValues,
    /// Other HPAs of the namespace may select the same pods.
    UnknownSelector {
        /// The HPA, as `namespace/name`; `None` for several.
        hpa: Option<String>,
    },
    /// The other HPAs of the namespace, which may select the same pods, were not read.
    SharedPods,
    /// The remedy for a metric that only the controller may have read.
    UnreadMetric,
    /// The HPA controller is switched off.
    ControllerOff {
        /// The pod of the controller manager.
        pod: String,
    },
    /// The controller's version, flags or feature gates.
    Settings,
    /// The API server ignores a field of a manifest.
    FieldIgnored {
        /// The reason, as in the API server's warning.
        cause: String,
    },
    /// A manifest is written in a version that no API server of the rules serves.
    VersionNotServed,
    /// The template of a manifest has containers that no pod has yet.
    UsageUnknown {
        /// The containers.
        containers: Vec<String>,
    },
    /// The assumed requests only take effect after the pods are replaced.
    RolloutFirst {
        /// The target.
        target: String,
    },
    /// The assumed request is so large that a unit may have been forgotten.
    RequestFar {
        /// The resource that is requested, and the container that requests it.
        item: String,
    },
}

impl Note {
    /// Returns a note whose subject no other code needs.
    pub fn new(text: impl Into<String>) -> Self {
        Self::about(Subject::Other, text)
    }

    /// Returns a note that other code asks about.
    pub fn about(subject: Subject, text: impl Into<String>) -> Self {
        Self {
            subject,
            origin: None,
            text: text.into(),
        }
    }

    /// Returns a note that a fact could not be determined.
    pub fn not_known(fact: UnknownFact, why: &UnknownFactCause) -> Self {
        let subject = match fact {
            UnknownFact::SharedPods => Subject::SharedPods,
            _ => Subject::Other,
        };
        Self::about(subject, format!("{fact}: {why}"))
    }

    /// Returns notes about a manifest.
    pub(crate) fn of_manifest(
        origin: &str,
        notes: impl IntoIterator<Item = Self>,
    ) -> impl Iterator<Item = Self> {
        notes.into_iter().map(|note| Self {
            origin: Some(origin.to_owned()),
            ..note
        })
    }

    /// Whether kubectl rejects a manifest for the note's reason.
    pub(crate) fn is_rejected(&self) -> bool {
        matches!(
            self.subject,
            Subject::FieldIgnored { .. } | Subject::VersionNotServed
        )
    }

    /// Whether the note is about other HPAs that may select the same pods.
    pub(crate) fn is_of_shared_pods(&self) -> bool {
        matches!(
            self.subject,
            Subject::SharedPods | Subject::UnknownSelector { .. }
        )
    }

    /// Whether the controller may reach a different outcome because of the note's subject.
    pub fn leaves_outcome_open(&self) -> bool {
        let leaves_open = matches!(
            self.subject,
            Subject::UnknownFields
                | Subject::AnnotationIgnored
                | Subject::UnknownSelector { .. }
                | Subject::SharedPods
        );
        // A part of a manifest that was not applied does not change what the controller does.
        leaves_open && self.origin.is_none()
    }
}

/// Returns the remedy for the first metric that only the controller may have read, if one is known.
pub(crate) fn remedy_of_unread(notes: &[Note]) -> Option<&str> {
    let note = notes
        .iter()
        .find(|note| note.subject == Subject::UnreadMetric)?;
    Some(&note.text)
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, text, .. } = self;
        let rest = origin
            .as_ref()
            .and_then(|origin| text.strip_prefix(&**origin));
        match origin {
            // The text begins with the file, or with a file in the directory.
            _ if rest.is_some_and(|rest| rest.starts_with([' ', '/'])) => f.write_str(text),
            Some(origin) => write!(f, "{origin}: {text}"),
            None => f.write_str(text),
        }
    }
}
