//! The answers of the three metrics APIs, reduced to what a pass uses: milli-values, with the timestamps
//! and windows that grouping needs. Both shapes of the custom metrics API are read.

use std::borrow::Cow;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

use super::pod::{Meta, ResourceName, ZERO_TIME, read_by_resource};
use super::shared::{Share, Shared};
use super::{ObjectValue, PodValue};
use crate::apimachinery::go::GoDuration;
use crate::apimachinery::json::optional_time;
use crate::apimachinery::quantity::Amount;
use crate::apimachinery::selector::{LabelSelector, Labels};
use crate::snapshot::by_name::Cursor;

/// The resource metrics API shows a sample at most this long after it was taken.
pub(crate) const PUBLISHED_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// The usage of one pod's containers: an item of the resource metrics API.
#[derive(Debug, Clone, PartialEq)]
pub struct PodMetrics {
    /// The pod's name.
    pub name: Box<str>,
    /// The namespace, if the object states one.
    pub namespace: Option<Box<str>>,
    /// The labels by which the API selects; usually a copy of the pod's labels.
    pub labels: Shared<Labels>,
    /// The end of the window over which usage was measured.
    pub timestamp: Timestamp,
    /// The length of that window.
    pub window: SignedDuration,
    /// Usage by container, including sidecars.
    pub containers: Vec<ContainerUsage>,
}

/// The items of the resource metrics API by the name of their pod.
pub(crate) struct Measured<'s> {
    by_name: Vec<&'s PodMetrics>,
    cursor: Cursor,
}

impl<'s> Measured<'s> {
    pub(crate) fn of(items: &'s [Shared<PodMetrics>]) -> Self {
        let mut by_name: Vec<&PodMetrics> = items.iter().map(|item| &**item).collect();
        by_name.sort_by_key(|item| &*item.name);
        Self {
            by_name,
            cursor: Cursor::default(),
        }
    }

    /// Returns the item of a pod; if there are several, the last one.
    pub(crate) fn of_pod(&self, name: &str) -> Option<&'s PodMetrics> {
        self.cursor
            .find(&self.by_name, |item| &item.name, name)
            .copied()
    }
}

impl Share for PodMetrics {
    fn share(&mut self, before: &Self) {
        if self.labels == before.labels {
            self.labels = before.labels.clone();
        }
    }
}

impl PodMetrics {
    /// Returns the usage of a resource in milli-units, of the pod or of one of its containers. For the pod, all
    /// of its containers must have been measured (`getPodMetrics`, `getContainerMetrics`).
    pub(crate) fn usage(&self, resource: &str, container: Option<&str>) -> Option<i64> {
        match container {
            Some(name) => self
                .containers
                .iter()
                .find(|own| &*own.name == name)?
                .get(resource),
            None if self.containers.is_empty() => None,
            None => {
                let mut all = self.containers.iter().map(|own| own.get(resource));
                all.try_fold(0i64, |sum, usage| Some(sum.wrapping_add(usage?)))
            }
        }
    }

    /// Returns the first container without usage of a resource, if others have it: the pod as a whole then has none.
    pub(crate) fn unmeasured(&self, resource: &str, container: Option<&str>) -> Option<&str> {
        if container.is_some() {
            return None;
        }
        let all = self.containers.iter();
        let (with, without): (Vec<_>, Vec<_>) = all.partition(|own| own.get(resource).is_some());
        let first = without.first().filter(|_| !with.is_empty())?;
        Some(&first.name)
    }
}

/// The usage of one container.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerUsage {
    /// The container's name.
    pub name: Box<str>,
    /// Milli-values by resource, each rounded up to a milli.
    #[serde(with = "usage_map")]
    pub usage: Usage,
}

/// The usage of a container by resource. CPU and memory need no separate allocation.
pub type Usage = SmallVec<[(ResourceName, i64); 2]>;

impl ContainerUsage {
    /// Returns the usage of a resource in milli-units, if measured.
    pub fn get(&self, resource: &str) -> Option<i64> {
        self.usage
            .iter()
            .find(|(name, _)| name == resource)
            .map(|(_, milli)| *milli)
    }
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct WirePodMetrics<'a> {
    metadata: Meta<'a>,
    #[serde(deserialize_with = "optional_time::deserialize")]
    timestamp: Option<Timestamp>,
    window: GoDuration,
    containers: Cow<'a, [ContainerUsage]>,
}

/// Writes no labels: they have already selected the pods of an answer.
impl Serialize for PodMetrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metadata = Meta {
            name: Cow::Borrowed(&self.name),
            namespace: self.namespace.as_deref().map(Cow::Borrowed),
            ..Meta::default()
        };
        let wire = WirePodMetrics {
            metadata,
            timestamp: Some(self.timestamp),
            window: GoDuration(self.window),
            containers: Cow::Borrowed(&self.containers),
        };
        wire.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PodMetrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WirePodMetrics::deserialize(deserializer)?;
        Ok(Self {
            name: wire.metadata.name.into(),
            namespace: wire.metadata.namespace.map(Into::into),
            labels: wire.metadata.labels.into_owned().into(),
            timestamp: wire.timestamp.unwrap_or(ZERO_TIME),
            window: wire.window.0,
            containers: wire.containers.into_owned(),
        })
    }
}

/// Reads and writes the usage of a container as a map.
mod usage_map {
    use super::{Deserializer, Milli, ResourceName, Serializer, Usage, read_by_resource};

    pub(super) fn serialize<S: Serializer>(
        usage: &[(ResourceName, i64)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(usage.iter().map(|(name, milli)| (name, Milli(*milli))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Usage, D::Error> {
        let mut usage = Usage::new();
        read_by_resource(deserializer, |name, Milli(milli)| usage.push((name, milli)))?;
        Ok(usage)
    }
}

/// An amount in thousandths: read from any quantity, rounded up, and written with the suffix `m`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Milli(pub i64);

impl Serialize for Milli {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{}m", self.0))
    }
}

impl<'de> Deserialize<'de> for Milli {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Amount::deserialize(deserializer)?.milli_value()))
    }
}

/// An item of the custom metrics API, `v1beta1` or `v1beta2`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "MetricValueWire")]
pub struct MetricValue {
    /// The kind, name and so on of the object that the value describes.
    pub described_object: ObjectReference,
    /// The metric's name.
    pub name: String,
    /// The metric's selector.
    pub selector: Option<LabelSelector>,
    /// When it was measured.
    pub timestamp: Timestamp,
    /// The window of the measurement, in seconds; a minute if unstated.
    pub window: SignedDuration,
    /// The value.
    pub value: Amount,
}

/// `v1.ObjectReference`: the object that a custom metric describes, or that an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// The kind.
    pub kind: String,
    /// The namespace; empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct MetricValueWire {
    described_object: ObjectReference,
    metric: Option<MetricWire>,
    metric_name: Option<String>,
    selector: Option<LabelSelector>,
    #[serde(deserialize_with = "optional_time::deserialize")]
    timestamp: Option<Timestamp>,
    window_seconds: Option<i64>,
    window: Option<i64>,
    value: Amount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct MetricWire {
    name: String,
    selector: Option<LabelSelector>,
}

/// The window that the controller assumes if a custom metric states none.
pub(super) const DEFAULT_CUSTOM_WINDOW: i64 = 60;

impl From<MetricValueWire> for MetricValue {
    fn from(wire: MetricValueWire) -> Self {
        let (name, selector) = match wire.metric {
            Some(metric) => (metric.name, metric.selector),
            None => (wire.metric_name.unwrap_or_default(), wire.selector),
        };
        let window = wire
            .window_seconds
            .or(wire.window)
            .unwrap_or(DEFAULT_CUSTOM_WINDOW);
        Self {
            described_object: wire.described_object,
            name,
            selector,
            timestamp: wire.timestamp.unwrap_or(ZERO_TIME),
            window: SignedDuration::from_secs(window),
            value: wire.value,
        }
    }
}

impl MetricValue {
    /// Returns the item as the value of a pod.
    pub(crate) fn of_pod(&self) -> PodValue {
        PodValue {
            pod: self.described_object.name.as_str().into(),
            value: self.value.milli_value(),
            timestamp: self.timestamp,
            window: self.window,
        }
    }

    /// Returns the item as the value of another object.
    pub(crate) fn of_object(&self) -> ObjectValue {
        let timestamp = Some(self.timestamp).filter(|time| *time != ZERO_TIME);
        ObjectValue {
            value: self.value.milli_value(),
            timestamp,
        }
    }
}

/// An item of the external metrics API.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalMetricValue {
    /// The metric's name.
    #[serde(default)]
    pub metric_name: String,
    /// The labels by which the API selects.
    #[serde(default)]
    pub metric_labels: Labels,
    /// When it was measured.
    #[serde(default, deserialize_with = "optional_time::deserialize")]
    pub timestamp: Option<Timestamp>,
    /// The value.
    #[serde(default)]
    pub value: Amount,
    /// The place of the list that has the item: later lists have higher numbers.
    #[serde(skip)]
    pub list: usize,
}
