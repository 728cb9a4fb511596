//! The reasons why a fact could not be determined. The most important is a right that a request lacks, in
//! RBAC's terms: how to check whether the user has it, and the rule that grants it.

use std::fmt;
use std::sync::Arc;

use super::command_flags::CommandFlags;
use super::hpa::{CUSTOM, EXTERNAL};
use crate::apimachinery::names::shell_word;

/// A right that a request lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRight {
    /// The right.
    pub right: Right,
    /// The path of the request.
    pub path: String,
    /// The flags with which kubectl reaches the same cluster as the same user.
    pub flags: Arc<CommandFlags>,
}

/// A right, in RBAC's terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Right {
    /// A right to a resource of the API.
    Resource {
        /// The verb, such as `list`.
        verb: &'static str,
        /// The API group; empty for the core group.
        group: String,
        /// The resource, with its subresource: `deployments/scale`.
        resource: String,
        /// The namespace; `None` if the request is for all of them, or the resource is cluster-scoped.
        namespace: Option<String>,
    },
    /// A right to read a path that is not a resource, such as `/apis`.
    Path(String),
}

/// A fact that could not be determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnknownFact {
    /// The server's version.
    #[error("the server's version is unknown")]
    ServerVersion,
    /// Whether another HPA selects the same pods.
    #[error("unknown whether another HPA selects the same pods")]
    SharedPods,
    /// The HPA's events.
    #[error("the HPA's events are unknown")]
    HpaEvents,
    /// The target's events.
    #[error("the target's events are unknown")]
    TargetEvents,
    /// The states of the HPA while it was watched.
    #[error("some reads of the HPA failed while it was watched")]
    States,
    /// The replicas at earlier passes.
    #[error("the replicas at earlier passes are unknown")]
    EarlierReplicas,
    /// Whether a VerticalPodAutoscaler sets the requests of pods.
    #[error("unknown whether a VerticalPodAutoscaler sets requests")]
    VerticalPodAutoscalers,
    /// Whether there are findings of this kind.
    #[error("{} are left out", such(.0))]
    Findings(&'static [&'static str]),
}

/// The findings that are left out without an object or a list. `--fail-on` does not take them for absent then; the
/// tests of findings check that the lists are complete.
impl UnknownFact {
    /// Without the target.
    pub(crate) const OF_TARGET: Self = Self::Findings(&[
        "other-writer",
        "old-revision-pods",
        "requests-differ-from-template",
        "replicas-without-pods",
        "container-metrics-missing",
        "controller-silent",
    ]);
    /// Without the pods.
    pub(crate) const OF_PODS: Self = Self::Findings(&[
        "selector-matches-nothing",
        "never-ready",
        "unschedulable-pods",
        "finished-pods",
        "replicas-without-pods",
        "old-revision-pods",
    ]);
    /// Without the other objects of the kind of a target that does not exist.
    pub(crate) const OF_OTHER_TARGETS: Self = Self::Findings(&["target-not-found"]);
    /// Without the ReplicaSets of pods.
    pub(crate) const OF_REPLICA_SETS: Self = Self::Findings(&["foreign-pods", "old-revision-pods"]);
    /// Without the ScaledObject that KEDA creates the HPA from.
    pub(crate) const OF_SCALED_OBJECT: Self = Self::Findings(&[
        "paused-by-keda",
        "metric-failing",
        "other-writer",
        "suspect-unit",
    ]);
    /// Without the APIService of a metrics API.
    pub(crate) const OF_API_SERVICE: Self = Self::Findings(&[
        "metrics-api-unavailable",
        "metric-failing",
        "metric-not-found",
    ]);
    /// Without the names of external metrics.
    pub(crate) const OF_METRIC_NAMES: Self = Self::Findings(&["metric-not-found"]);

    /// Whether findings with a code are not found because the fact is unknown.
    pub(crate) fn hides(self, code: &str) -> bool {
        matches!(self, Self::Findings(codes) if codes.contains(&code))
    }
}

/// Names findings by their first codes.
pub(crate) fn such(codes: &[&str]) -> String {
    let named = match codes {
        [first, second] => format!("{first} and {second}"),
        [first, second, _, ..] => format!("{first}, {second} and others"),
        few => few.concat(),
    };
    format!("findings such as {named}")
}

/// The reason why a fact could not be determined.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UnknownFactCause {
    /// No answer came in time.
    #[error("no answer in time")]
    Late,
    /// A right is missing.
    #[error("{}", .0.advice())]
    MissingRight(Box<MissingRight>),
    /// The pods cannot be read.
    #[error("the pods cannot be read")]
    NoPods,
    /// The request failed.
    #[error("{0}")]
    Failed(String),
}

impl MissingRight {
    /// Returns the right, how to check it, and the rule that grants it.
    pub fn advice(&self) -> String {
        format!("{self}; {}", self.remedy())
    }

    /// Returns how to check the right, and the rule that grants it.
    pub fn remedy(&self) -> String {
        /// The API groups whose resources discovery need not list; `kubectl auth can-i` then asks about another
        /// right.
        const UNLISTED: [&str; 2] = [CUSTOM, EXTERNAL];
        let (check, role, rule) = match &self.right {
            Right::Path(path) => (
                format!("auth can-i get {}", shell_word(path)),
                "ClusterRole",
                format!("{{nonResourceURLs: [{path:?}], verbs: [\"get\"]}}"),
            ),
            Right::Resource {
                verb,
                group,
                resource,
                namespace,
            } => {
                let (name, subresource) = self.right.name();
                let option = subresource
                    .map(|sub| format!(" --subresource={}", shell_word(sub)))
                    .unwrap_or_default();
                let (flag, role) = match namespace {
                    Some(namespace) => (format!("-n {}", shell_word(namespace)), "Role"),
                    None => ("-A".to_owned(), "ClusterRole"),
                };
                let check = if UNLISTED.contains(&&**group) {
                    format!("get --raw {}", shell_word(&self.path))
                } else {
                    format!("auth can-i {verb} {}{option} {flag}", shell_word(&name))
                };
                (
                    check,
                    role,
                    format!(
                        "{{apiGroups: [{group:?}], resources: [{resource:?}], verbs: [{verb:?}]}}"
                    ),
                )
            }
        };
        let check = self.flags.add_to(&format!("kubectl {check}"));
        format!("check it with `{check}`; add to a {role}: - {rule}")
    }
}

impl Right {
    /// Returns the resource with its group, such as `deployments.apps`, and the subresource.
    fn name(&self) -> (String, Option<&str>) {
        match self {
            Self::Path(path) => (path.clone(), None),
            Self::Resource {
                group, resource, ..
            } => {
                let (name, subresource) = match resource.split_once('/') {
                    Some((name, subresource)) => (name, Some(subresource)),
                    None => (&**resource, None),
                };
                let dot = if group.is_empty() { "" } else { "." };
                (format!("{name}{dot}{group}"), subresource)
            }
        }
    }
}

impl fmt::Display for MissingRight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = match &self.right {
            Right::Path(_) => "get",
            Right::Resource { verb, .. } => verb,
        };
        let (name, subresource) = self.right.name();
        write!(f, "missing permission: {verb} {name}")?;
        if let Some(subresource) = subresource {
            write!(f, "/{subresource}")?;
        }
        match &self.right {
            Right::Resource {
                namespace: Some(namespace),
                ..
            } => {
                write!(f, " in the namespace {namespace}")
            }
            _ => Ok(()),
        }
    }
}
