//! A pod, reduced to what a pass looks at: labels, phase, readiness, requests. Read straight from
//! JSON without an intermediate tree, because a namespace may hold tens of thousands of them.
//! Nothing here judges a pod; grouping is the engine's.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::control_plane::ManagerSettings;
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

/// The fields of `metadata` that a pass uses, for any kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// The object's name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: Box<str>,
    /// The object's namespace, if stated.
    pub namespace: Option<Box<str>>,
    /// The object's labels.
    #[serde(deserialize_with = "null_as_default")]
    pub labels: Labels,
    /// Set once the object is being deleted.
    pub deletion_timestamp: Option<Timestamp>,
}

/// The Go zero time stands for a transition that no one has stated.
pub(crate) const ZERO_TIME: Timestamp = Timestamp::constant(-62_135_596_800, 0);

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = wire::Pod::deserialize(deserializer)?;
        Ok(Self {
            name: wire.metadata.name,
            namespace: wire.metadata.namespace,
            labels: wire.metadata.labels,
            deletion_timestamp: wire.metadata.deletion_timestamp,
            phase: wire.status.phase,
            start_time: wire.status.start_time,
            ready: wire.status.conditions.ready,
            is_unschedulable: wire.status.conditions.is_unschedulable,
            containers: wire.spec.containers.list,
            init_containers: wire.spec.init_containers.list,
            manager: wire.spec.containers.manager,
            requests: wire.spec.resources.requests,
            overhead: wire.spec.overhead,
        })
    }
}

/// The JSON of a pod, as far as it is read.
mod wire {
    use serde::de::{Deserializer, SeqAccess, Visitor};

    use super::super::control_plane::Arguments;
    use super::{
        ConditionStatus, Container, Cow, Deserialize, ManagerSettings, Meta, Phase, ReadyCondition,
        Requests, Timestamp, ZERO_TIME, null_as_default,
    };

    #[derive(Deserialize, Default)]
    #[serde(default)]
    pub(crate) struct Pod {
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) metadata: Meta,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) spec: Spec,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) status: Status,
    }

    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    pub(crate) struct Spec {
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) containers: Containers,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) init_containers: Containers,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) resources: Resources,
        pub(crate) overhead: Requests,
    }

    #[derive(Deserialize, Default)]
    #[serde(default)]
    pub(crate) struct Resources {
        pub(crate) requests: Requests,
    }

    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    pub(crate) struct Status {
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) phase: Phase,
        pub(crate) start_time: Option<Timestamp>,
        #[serde(deserialize_with = "null_as_default")]
        pub(crate) conditions: Conditions,
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
    pub(crate) struct Containers {
        pub(crate) list: Vec<Container>,
        pub(crate) manager: Option<Box<ManagerSettings>>,
    }

    impl<'de> Deserialize<'de> for Containers {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            #[derive(Deserialize, Default)]
            #[serde(rename_all = "camelCase", default)]
            struct Wire<'a> {
                #[serde(deserialize_with = "null_as_default")]
                name: Box<str>,
                #[serde(deserialize_with = "null_as_default")]
                resources: Resources,
                restart_policy: Option<Box<str>>,
                command: Arguments,
                args: Arguments,
                #[serde(borrow)]
                image: Option<Cow<'a, str>>,
            }
            struct List;
            impl<'de> Visitor<'de> for List {
                type Value = Containers;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("a list of containers")
                }

                fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Containers, A::Error> {
                    let mut containers = Containers::default();
                    while let Some(wire) = list.next_element::<Wire<'de>>()? {
                        let Wire { name, resources, restart_policy, command, args, image } = wire;
                        let image = image.unwrap_or_default();
                        if let Some(settings) = ManagerSettings::of(&name, command, args, &image) {
                            containers.manager = Some(Box::new(settings));
                        }
                        containers.list.push(Container {
                            name,
                            requests: resources.requests,
                            restart_always: restart_policy.as_deref() == Some("Always"),
                        });
                    }
                    Ok(containers)
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
                    while let Some(condition) = list.next_element::<Condition>()? {
                        conditions.is_unschedulable |= condition.is_unschedulable;
                        if conditions.ready.is_none() && condition.is_ready {
                            conditions.ready = Some(ReadyCondition {
                                status: condition.status,
                                last_transition_time: condition
                                    .last_transition_time
                                    .unwrap_or(ZERO_TIME),
                            });
                        }
                    }
                    Ok(conditions)
                }
            }
            deserializer.deserialize_seq(List)
        }
    }

    struct Condition {
        is_ready: bool,
        is_unschedulable: bool,
        status: ConditionStatus,
        last_transition_time: Option<Timestamp>,
    }

    impl<'de> Deserialize<'de> for Condition {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            #[derive(Deserialize, Default)]
            #[serde(rename_all = "camelCase", default)]
            struct Wire<'a> {
                #[serde(rename = "type", borrow)]
                type_: Option<Cow<'a, str>>,
                #[serde(borrow)]
                status: Option<Cow<'a, str>>,
                #[serde(borrow)]
                reason: Option<Cow<'a, str>>,
                last_transition_time: Option<Timestamp>,
            }
            let wire = Wire::deserialize(deserializer)?;
            Ok(Self {
                is_ready: wire.type_.as_deref() == Some("Ready"),
                is_unschedulable: wire.type_.as_deref() == Some("PodScheduled")
                    && wire.status.as_deref() == Some("False")
                    && wire.reason.as_deref() == Some("Unschedulable"),
                status: match wire.status.as_deref() {
                    Some("True") => ConditionStatus::True,
                    Some("False") => ConditionStatus::False,
                    _ => ConditionStatus::Unknown,
                },
                last_transition_time: wire.last_transition_time,
            })
        }
    }
}

impl Serialize for Requests {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, amount)| (name, amount)))
    }
}
