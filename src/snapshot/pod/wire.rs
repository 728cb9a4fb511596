//! The JSON of a pod, limited to the fields that are read and written.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ConditionStatus, Meta, Phase, ReadyCondition, Requests, ZERO_TIME};
use crate::apimachinery::json::{BorrowedText, optional_time, read_each, read_str, time};
use crate::apimachinery::metadata::Condition;
use crate::snapshot::manager::{Arguments, ManagerSettings};

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct Pod<'a> {
    pub(super) metadata: Meta<'a>,
    pub(super) spec: PodSpec<'a>,
    pub(super) status: PodStatus,
}

#[derive(Serialize)]
pub(super) struct Template<'a> {
    pub(super) metadata: Meta<'a>,
    pub(super) spec: PodSpec<'a>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodSpec<'a> {
    pub(super) containers: Containers<'a>,
    #[serde(skip_serializing_if = "Containers::is_empty")]
    pub(super) init_containers: Containers<'a>,
    #[serde(skip_serializing_if = "Resources::is_empty")]
    pub(super) resources: Resources<'a>,
    #[serde(skip_serializing_if = "is_empty")]
    pub(super) overhead: Cow<'a, Requests>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) node_name: Option<Cow<'a, str>>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct Resources<'a> {
    pub(super) requests: Cow<'a, Requests>,
    #[serde(skip_serializing_if = "is_empty")]
    pub(super) limits: Cow<'a, Requests>,
}

impl Resources<'_> {
    fn is_empty(&self) -> bool {
        is_empty(&self.requests) && is_empty(&self.limits)
    }
}

fn is_empty(requests: &Requests) -> bool {
    requests.0.is_empty()
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PodStatus {
    pub(super) phase: Phase,
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub(super) start_time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Conditions::is_empty")]
    pub(super) conditions: Conditions,
    #[serde(skip_serializing_if = "Statuses::is_empty")]
    pub(super) container_statuses: Statuses,
    #[serde(skip_serializing)]
    pub(super) init_container_statuses: Statuses,
}

impl Serialize for Phase {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Other => "Unknown",
            known => known.as_str(),
        })
    }
}

impl<'de> Deserialize<'de> for Phase {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_str(deserializer, "a pod phase", |phase| {
            Ok(Self::from_api(phase))
        })
    }
}

/// Containers, and the settings of a controller manager among them.
#[derive(Default)]
pub(super) struct Containers<'a> {
    pub(super) list: Cow<'a, [super::Container]>,
    pub(super) manager: Option<Box<ManagerSettings>>,
}

impl<'a> Containers<'a> {
    pub(super) fn of(list: &'a [super::Container]) -> Self {
        Self {
            list: Cow::Borrowed(list),
            manager: None,
        }
    }

    fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// The last three describe a controller manager, and have no other use.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Container<'a> {
    name: Cow<'a, str>,
    resources: Resources<'a>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    restart_policy: Option<BorrowedText<'a>>,
    #[serde(skip_serializing)]
    command: Arguments,
    #[serde(skip_serializing)]
    args: Arguments,
    #[serde(borrow, skip_serializing)]
    image: Option<BorrowedText<'a>>,
}

impl Serialize for Containers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.list.iter().map(|container| {
            Container {
                name: Cow::Borrowed(&container.name),
                resources: Resources {
                    requests: Cow::Borrowed(&container.requests),
                    limits: Cow::Borrowed(&container.limits),
                },
                restart_policy: container
                    .restart_always
                    .then_some(BorrowedText(Cow::Borrowed(ALWAYS))),
                ..Container::default()
            }
        }))
    }
}

const ALWAYS: &str = "Always";

impl<'de> Deserialize<'de> for Containers<'_> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mut containers, mut manager) = (Vec::new(), None);
        read_each(
            deserializer,
            "a list of containers",
            |wire: Container<'de>| {
                let Container {
                    name,
                    resources,
                    restart_policy,
                    command,
                    args,
                    image,
                } = wire;
                let image = image.as_deref().unwrap_or_default();
                if let Some(settings) = ManagerSettings::of(&name, command, args, image) {
                    manager = Some(Box::new(settings));
                }
                containers.push(super::Container {
                    name: name.into(),
                    requests: resources.requests.into_owned(),
                    limits: resources.limits.into_owned(),
                    restart_always: restart_policy.as_deref() == Some(ALWAYS),
                });
                Ok(())
            },
        )?;
        Ok(Self {
            list: Cow::Owned(containers),
            manager,
        })
    }
}

/// The statuses of containers that say more than the spec does.
#[derive(Default)]
pub(super) struct Statuses(pub(super) Vec<super::ContainerStatus>);

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ContainerStatus<'a> {
    #[serde(borrow)]
    name: BorrowedText<'a>,
    restart_count: i32,
    state: Option<ContainerState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<InEffect<'a>>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct ContainerState {
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<super::Waiting>,
    #[serde(skip_serializing_if = "Option::is_none")]
    terminated: Option<Terminated>,
}

/// `ContainerStateTerminated`, of which only the presence matters.
#[derive(Serialize, Deserialize)]
struct Terminated {}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct InEffect<'a> {
    requests: Option<Cow<'a, Requests>>,
}

impl Statuses {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|status| {
            let requests = status.requests.as_ref().map(Cow::Borrowed);
            ContainerStatus {
                name: BorrowedText(Cow::Borrowed(&status.name)),
                restart_count: status.restart_count,
                state: Some(ContainerState {
                    waiting: status.waiting.clone(),
                    terminated: status.terminated.then_some(Terminated {}),
                }),
                resources: requests.map(|requests| InEffect {
                    requests: Some(requests),
                }),
            }
        }))
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut statuses = Vec::new();
        read_each(
            deserializer,
            "a list of container statuses",
            |status: ContainerStatus<'de>| {
                let ContainerStatus {
                    name,
                    restart_count,
                    state,
                    resources,
                } = status;
                let ContainerState {
                    waiting,
                    terminated,
                } = state.unwrap_or_default();
                let is_running = waiting.is_none() && terminated.is_none();
                let requests = resources.and_then(|it| it.requests).map(Cow::into_owned);
                if restart_count != 0 || !is_running || requests.is_some() {
                    statuses.push(super::ContainerStatus {
                        name: name.0.into(),
                        restart_count,
                        waiting,
                        terminated: terminated.is_some(),
                        requests,
                    });
                }
                Ok(())
            },
        )?;
        Ok(Self(statuses))
    }
}

/// The conditions that are kept: the first of type Ready, which is the one that the controller finds; the
/// reason why the scheduler found no node; and the state of a resize.
#[derive(Default)]
pub(super) struct Conditions {
    pub(super) ready: Option<ReadyCondition>,
    pub(super) unschedulable: Option<Box<str>>,
    pub(super) resizes: Vec<Condition>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct PodCondition<'a> {
    #[serde(rename = "type", borrow)]
    type_: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    status: Option<BorrowedText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    reason: Option<BorrowedText<'a>>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    message: Option<BorrowedText<'a>>,
    /// Only read for conditions that are kept.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    last_transition_time: Option<BorrowedText<'a>>,
}

impl PodCondition<'_> {
    fn time(&self) -> Result<Option<Timestamp>, String> {
        let time = self.last_transition_time.as_deref().map(str::parse);
        time.transpose().map_err(|_| {
            let type_ = self.type_.as_deref().unwrap_or_default();
            format!("lastTransitionTime of {type_}: {}", time::FORM)
        })
    }
}

const READY: &str = "Ready";
const RESIZE_PENDING: &str = "PodResizePending";
const RESIZE_IN_PROGRESS: &str = "PodResizeInProgress";
/// The type, status and reason of the condition of a pod for which the scheduler found no node.
const UNSCHEDULABLE: [Option<&str>; 3] =
    [Some("PodScheduled"), Some("False"), Some("Unschedulable")];

impl Conditions {
    fn is_empty(&self) -> bool {
        self.ready.is_none() && self.unschedulable.is_none() && self.resizes.is_empty()
    }

    fn add(&mut self, condition: &PodCondition<'_>) -> Result<(), String> {
        let PodCondition {
            type_,
            status,
            reason,
            message,
            ..
        } = condition;
        let words = [type_.as_deref(), status.as_deref(), reason.as_deref()];
        if words == UNSCHEDULABLE {
            self.unschedulable = Some(message.as_deref().unwrap_or_default().into());
        }
        let is_resize = matches!(words[0], Some(RESIZE_PENDING | RESIZE_IN_PROGRESS));
        if is_resize && words[1] == Some("True") {
            self.resizes.push(Condition {
                type_: words[0].unwrap_or_default().to_owned(),
                status: words[1].unwrap_or_default().to_owned(),
                reason: words[2].unwrap_or_default().to_owned(),
                message: message.as_deref().unwrap_or_default().to_owned(),
                last_transition_time: condition.time()?,
                observed_generation: None,
            });
        }
        if self.ready.is_none() && type_.as_deref() == Some(READY) {
            self.ready = Some(ReadyCondition {
                status: match status.as_deref() {
                    Some("True") => ConditionStatus::True,
                    Some("False") => ConditionStatus::False,
                    _ => ConditionStatus::Unknown,
                },
                last_transition_time: condition.time()?.unwrap_or(ZERO_TIME),
            });
        }
        Ok(())
    }
}

impl Serialize for Conditions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        fn words(text: &str) -> Option<BorrowedText<'_>> {
            (!text.is_empty()).then_some(BorrowedText(Cow::Borrowed(text)))
        }
        let time = |time: Timestamp| BorrowedText(time.to_string().into());
        let [type_, status, reason] = UNSCHEDULABLE.map(|word| words(word.unwrap_or_default()));
        let unschedulable = self.unschedulable.as_deref().map(|message| PodCondition {
            type_,
            status,
            reason,
            message: words(message),
            last_transition_time: None,
        });
        let ready = self.ready.map(|ready| PodCondition {
            type_: words(READY),
            status: words(ready.status.as_str()),
            last_transition_time: Some(time(ready.last_transition_time)),
            ..PodCondition::default()
        });
        let resizes = self.resizes.iter().map(|resize| PodCondition {
            type_: words(&resize.type_),
            status: words(&resize.status),
            reason: words(&resize.reason),
            message: words(&resize.message),
            last_transition_time: resize.last_transition_time.map(time),
        });
        serializer.collect_seq(unschedulable.into_iter().chain(ready).chain(resizes))
    }
}

impl<'de> Deserialize<'de> for Conditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut conditions = Self::default();
        read_each(deserializer, "a list of pod conditions", |condition| {
            conditions.add(&condition)
        })?;
        Ok(conditions)
    }
}
