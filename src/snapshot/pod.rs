//! A pod, reduced to what a pass looks at: labels, phase, readiness, requests. Read straight from
//! JSON without an intermediate tree, because a namespace may hold tens of thousands of them.
//! Nothing here judges a pod; grouping is the engine's.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::manager::ManagerSettings;
use crate::apimachinery::json::{duplicate, null_as_default};
use crate::apimachinery::quantity::Amount;
use crate::apimachinery::selector::Labels;

/// A resource's name, such as `cpu`; the two common ones are not allocated.
pub type ResourceName = Cow<'static, str>;

/// Interns the names that nearly every container uses.
pub(crate) fn resource_name(name: &str) -> ResourceName {
    match name {
        "cpu" => Cow::Borrowed("cpu"),
        "memory" => Cow::Borrowed("memory"),
        other => Cow::Owned(other.to_owned()),
    }
}

/// A pod of the HPA's namespace.
#[derive(Debug, Clone, PartialEq)]
pub struct Pod {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.namespace`, where the object states one.
    pub namespace: Option<Box<str>>,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.deletionTimestamp`: the pod is terminating.
    pub deletion_timestamp: Option<Timestamp>,
    /// `status.phase`.
    pub phase: Phase,
    /// `status.startTime`.
    pub start_time: Option<Timestamp>,
    /// The first condition of type `Ready`.
    pub ready: Option<ReadyCondition>,
    /// The scheduler found no node for it: `PodScheduled` is false with the reason `Unschedulable`.
    pub is_unschedulable: bool,
    /// `spec.containers`.
    pub containers: Vec<Container>,
    /// `spec.initContainers`, in order.
    pub init_containers: Vec<Container>,
    /// `spec.resources.requests`: requests of the pod as a whole.
    pub requests: Requests,
    /// `spec.overhead`.
    pub overhead: Requests,
    /// What it runs with, if it has the container of a controller manager.
    pub manager: Option<Box<ManagerSettings>>,
}

impl Pod {
    /// Whether it has a container of a name, one that starts it up included.
    pub fn has_container(&self, name: &str) -> bool {
        self.containers.iter().chain(&self.init_containers).any(|it| &*it.name == name)
    }
}

/// `PodPhase`. Only four of the phases are told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Not running yet.
    Pending,
    /// Running.
    Running,
    /// Ended with an error.
    Failed,
    /// Ended well.
    Succeeded,
    /// `Unknown`, empty, or a phase that Kubernetes does not have.
    #[default]
    Other,
}

impl Phase {
    /// The API's word for it; empty where there is none.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Failed => "Failed",
            Self::Succeeded => "Succeeded",
            Self::Other => "",
        }
    }

    fn from_api(phase: &str) -> Self {
        match phase {
            "Pending" => Self::Pending,
            "Running" => Self::Running,
            "Failed" => Self::Failed,
            "Succeeded" => Self::Succeeded,
            _ => Self::Other,
        }
    }
}

/// The Ready condition of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadyCondition {
    /// Its status.
    pub status: ConditionStatus,
    /// When the status last changed; the zero time if unstated.
    pub last_transition_time: Timestamp,
}

/// `ConditionStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `Unknown` or anything else.
    Unknown,
}

impl ConditionStatus {
    /// The API's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// A container and what it requests.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The container's name.
    pub name: Box<str>,
    /// `resources.requests`.
    pub requests: Requests,
    /// `restartPolicy: Always`: an init container that keeps running beside the others.
    pub restart_always: bool,
}

/// A resource list: few entries, looked up by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Requests(pub Vec<(ResourceName, Amount)>);

impl Requests {
    /// The amount of a resource, if the list has it.
    pub fn get(&self, name: &str) -> Option<&Amount> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, amount)| amount)
    }
}

impl<'de> Deserialize<'de> for Requests {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Requests;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map of resource names to quantities")
            }

            fn visit_unit<E>(self) -> Result<Requests, E> {
                Ok(Requests::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Requests, A::Error> {
                let mut list = Requests(Vec::with_capacity(2));
                while let Some(name) = map.next_key::<Name>()? {
                    if list.get(&name.0).is_some() {
                        return Err(duplicate(&name.0));
                    }
                    let amount = map.next_value::<Option<Amount>>()?.unwrap_or_default();
                    list.0.push((name.0, amount));
                }
                Ok(list)
            }
        }
        deserializer.deserialize_any(List)
    }
}

/// A map key read as a resource name without an intermediate string.
pub(crate) struct Name(pub(super) ResourceName);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Word;
        impl Visitor<'_> for Word {
            type Value = Name;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a resource name")
            }

            fn visit_str<E>(self, name: &str) -> Result<Name, E> {
                Ok(Name(resource_name(name)))
            }
        }
        deserializer.deserialize_str(Word)
    }
}

/// The fields of `metadata` that are read of each of many objects.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta<'a> {
    /// The object's name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: Cow<'a, str>,
    /// The object's namespace, if stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Cow<'a, str>>,
    /// The object's labels.
    #[serde(skip_serializing_if = "Labels::is_empty", deserialize_with = "null_as_default")]
    pub labels: Cow<'a, Labels>,
    /// Set once the object is being deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Timestamp>,
}

/// The Go zero time stands for a transition that no one has stated.
pub(crate) const ZERO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire::Pod { metadata, spec, status } = wire::Pod::deserialize(deserializer)?;
        Ok(Self {
            name: metadata.name.into(),
            namespace: metadata.namespace.map(Into::into),
            labels: metadata.labels.into_owned(),
            deletion_timestamp: metadata.deletion_timestamp,
            phase: status.phase,
            start_time: status.start_time,
            ready: status.conditions.ready,
            is_unschedulable: status.conditions.is_unschedulable,
            containers: spec.containers.list.into_owned(),
            init_containers: spec.init_containers.list.into_owned(),
            manager: spec.containers.manager,
            requests: spec.resources.requests.into_owned(),
            overhead: spec.overhead.into_owned(),
        })
    }
}

impl Pod {
    /// Its JSON, as a pod of a namespace.
    pub(crate) fn to_json<'a>(&'a self, namespace: &'a str) -> impl Serialize + 'a {
        wire::Pod {
            metadata: Meta {
                name: Cow::Borrowed(&self.name),
                namespace: Some(Cow::Borrowed(namespace)),
                labels: Cow::Borrowed(&self.labels),
                deletion_timestamp: self.deletion_timestamp,
            },
            spec: wire::Spec {
                containers: wire::Containers::of(&self.containers),
                init_containers: wire::Containers::of(&self.init_containers),
                resources: wire::Resources { requests: Cow::Borrowed(&self.requests) },
                overhead: Cow::Borrowed(&self.overhead),
            },
            status: wire::Status {
                phase: self.phase,
                start_time: self.start_time,
                conditions: wire::Conditions {
                    ready: self.ready,
                    is_unschedulable: self.is_unschedulable,
                },
            },
        }
    }
}

/// The JSON of a pod, as far as it is read and written.
mod wire {
    use serde::Serializer;
    use serde::de::{Deserializer, SeqAccess, Visitor};

    use super::super::manager::Arguments;
    use super::{
        ConditionStatus, Cow, Deserialize, ManagerSettings, Meta, Phase, ReadyCondition, Requests,
        Serialize, Timestamp, ZERO_TIME, null_as_default,
    };

    #[derive(Serialize, Deserialize, Default)]
    #[serde(default)]
    pub(crate) struct Pod<'a> {
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) metadata: Meta<'a>,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) spec: Spec<'a>,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) status: Status,
    }

    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    pub(crate) struct Spec<'a> {
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) containers: Containers<'a>,
        #[serde(
            skip_serializing_if = "Containers::is_empty",
            deserialize_with = "null_as_default"
        )]
        pub(crate) init_containers: Containers<'a>,
        #[serde(skip_serializing_if = "Resources::is_empty", deserialize_with = "null_as_default")]
        pub(crate) resources: Resources<'a>,
        #[serde(skip_serializing_if = "is_empty")]
        pub(crate) overhead: Cow<'a, Requests>,
    }

    #[derive(Serialize, Deserialize, Default)]
    #[serde(default)]
    pub(crate) struct Resources<'a> {
        pub(crate) requests: Cow<'a, Requests>,
    }

    impl Resources<'_> {
        fn is_empty(&self) -> bool {
            is_empty(&self.requests)
        }
    }

    fn is_empty(requests: &Requests) -> bool {
        requests.0.is_empty()
    }

    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    pub(crate) struct Status {
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) phase: Phase,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub(crate) start_time: Option<Timestamp>,
        #[serde(
            skip_serializing_if = "Conditions::is_empty",
            deserialize_with = "null_as_default"
        )]
        pub(crate) conditions: Conditions,
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
            struct Word;
            impl Visitor<'_> for Word {
                type Value = Phase;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a pod phase")
                }

                fn visit_str<E>(self, phase: &str) -> Result<Phase, E> {
                    Ok(Phase::from_api(phase))
                }
            }
            deserializer.deserialize_str(Word)
        }
    }

    /// Containers, and what the controller manager among them runs with.
    #[derive(Default)]
    pub(crate) struct Containers<'a> {
        pub(crate) list: Cow<'a, [super::Container]>,
        pub(crate) manager: Option<Box<ManagerSettings>>,
    }

    impl<'a> Containers<'a> {
        pub(crate) fn of(list: &'a [super::Container]) -> Self {
            Self { list: Cow::Borrowed(list), manager: None }
        }

        fn is_empty(&self) -> bool {
            self.list.is_empty()
        }
    }

    /// The last three tell what a controller manager runs with, and go nowhere else.
    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Container<'a> {
        #[serde(deserialize_with = "null_as_default")]
        name: Cow<'a, str>,
        #[serde(deserialize_with = "null_as_default")]
        resources: Resources<'a>,
        #[serde(borrow, skip_serializing_if = "Option::is_none")]
        restart_policy: Option<Cow<'a, str>>,
        #[serde(skip_serializing)]
        command: Arguments,
        #[serde(skip_serializing)]
        args: Arguments,
        #[serde(borrow, skip_serializing)]
        image: Option<Cow<'a, str>>,
    }

    impl Serialize for Containers<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.list.iter().map(|container| Container {
                name: Cow::Borrowed(&container.name),
                resources: Resources { requests: Cow::Borrowed(&container.requests) },
                restart_policy: container.restart_always.then_some(Cow::Borrowed(ALWAYS)),
                ..Container::default()
            }))
        }
    }

    const ALWAYS: &str = "Always";

    impl<'de> Deserialize<'de> for Containers<'_> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct List;
            impl<'de> Visitor<'de> for List {
                type Value = Containers<'static>;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a list of containers")
                }

                fn visit_seq<A: SeqAccess<'de>>(
                    self,
                    mut list: A,
                ) -> Result<Containers<'static>, A::Error> {
                    let (mut containers, mut manager) = (Vec::new(), None);
                    while let Some(wire) = list.next_element::<Container<'de>>()? {
                        let Container { name, resources, restart_policy, command, args, image } =
                            wire;
                        let image = image.unwrap_or_default();
                        if let Some(settings) = ManagerSettings::of(&name, command, args, &image) {
                            manager = Some(Box::new(settings));
                        }
                        containers.push(super::Container {
                            name: name.into(),
                            requests: resources.requests.into_owned(),
                            restart_always: restart_policy.as_deref() == Some(ALWAYS),
                        });
                    }
                    Ok(Containers { list: Cow::Owned(containers), manager })
                }
            }
            deserializer.deserialize_seq(List)
        }
    }

    /// What is kept of all conditions: the first of type Ready, the one that the controller finds,
    /// and whether the scheduler found no node.
    #[derive(Default)]
    pub(crate) struct Conditions {
        pub(crate) ready: Option<ReadyCondition>,
        pub(crate) is_unschedulable: bool,
    }

    #[derive(Serialize, Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Condition<'a> {
        #[serde(rename = "type", borrow)]
        type_: Option<Cow<'a, str>>,
        #[serde(borrow)]
        status: Option<Cow<'a, str>>,
        #[serde(borrow, skip_serializing_if = "Option::is_none")]
        reason: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        last_transition_time: Option<Timestamp>,
    }

    const READY: &str = "Ready";
    /// Type, status and reason of the condition of a pod that the scheduler found no node for.
    const UNSCHEDULABLE: [Option<&str>; 3] =
        [Some("PodScheduled"), Some("False"), Some("Unschedulable")];

    impl Conditions {
        fn is_empty(&self) -> bool {
            self.ready.is_none() && !self.is_unschedulable
        }
    }

    impl Serialize for Conditions {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let [type_, status, reason] = UNSCHEDULABLE.map(|word| word.map(Cow::Borrowed));
            let unschedulable = Condition { type_, status, reason, last_transition_time: None };
            let ready = self.ready.map(|ready| Condition {
                type_: Some(Cow::Borrowed(READY)),
                status: Some(Cow::Borrowed(ready.status.as_str())),
                reason: None,
                last_transition_time: Some(ready.last_transition_time),
            });
            serializer.collect_seq(
                self.is_unschedulable.then_some(unschedulable).into_iter().chain(ready),
            )
        }
    }

    impl<'de> Deserialize<'de> for Conditions {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct List;
            impl<'de> Visitor<'de> for List {
                type Value = Conditions;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a list of pod conditions")
                }

                fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Conditions, A::Error> {
                    let mut conditions = Conditions::default();
                    while let Some(condition) = list.next_element::<Condition<'de>>()? {
                        let Condition { type_, status, reason, last_transition_time } = condition;
                        let words = [type_.as_deref(), status.as_deref(), reason.as_deref()];
                        conditions.is_unschedulable |= words == UNSCHEDULABLE;
                        if conditions.ready.is_none() && type_.as_deref() == Some(READY) {
                            conditions.ready = Some(ReadyCondition {
                                status: match status.as_deref() {
                                    Some("True") => ConditionStatus::True,
                                    Some("False") => ConditionStatus::False,
                                    _ => ConditionStatus::Unknown,
                                },
                                last_transition_time: last_transition_time.unwrap_or(ZERO_TIME),
                            });
                        }
                    }
                    Ok(conditions)
                }
            }
            deserializer.deserialize_seq(List)
        }
    }
}

impl Serialize for Requests {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, amount)| (name, amount)))
    }
}
