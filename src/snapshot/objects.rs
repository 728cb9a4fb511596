//! Saved Kubernetes objects, sorted by what a pass needs of them. JSON is read in one go, each
//! object straight into its own type: the reader learns the kind first and hands the rest of the
//! object on, without a tree in between. Nothing here decides which objects belong together.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::value::CowStrDeserializer;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::metric::{ExternalMetricValue, MetricValue, PodMetrics};
use super::pod::{Meta, Pod};
use super::stated::{Recommendation, ScaleEvent};
use crate::json::null_as_default;
use crate::selector::LabelSelector;

/// The group and version of the documents that are ours.
pub const OWN_API_VERSION: &str = "kubectl-hpa/v1alpha1";

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Objects {
    /// HorizontalPodAutoscalers of any version, as JSON.
    pub hpas: Vec<HpaObject>,
    /// Scales.
    pub scales: Vec<ScaleObject>,
    /// Deployments and the other built-in kinds with a scale.
    pub workloads: Vec<Workload>,
    /// Pods.
    pub pods: Vec<Pod>,
    /// Items of the resource metrics API.
    pub pod_metrics: Vec<PodMetrics>,
    /// Items of the custom metrics API.
    pub metric_values: Vec<MetricValue>,
    /// Items of the external metrics API.
    pub external_values: Vec<ExternalMetricValue>,
    /// The controller's state, with where it was read.
    pub state: Option<ControllerState>,
    /// How many objects of kinds that a pass does not look at were passed over.
    pub skipped: BTreeMap<String, usize>,
}

/// A HorizontalPodAutoscaler that has not been decoded yet: most inputs hold others, too.
#[derive(Debug)]
pub struct HpaObject {
    /// Where it was read.
    pub origin: String,
    /// Its name.
    pub name: String,
    /// Its namespace, if stated.
    pub namespace: Option<String>,
    /// The whole object.
    pub json: String,
}

/// A saved scale subresource. The kind that it belongs to is not part of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ScaleObject {
    /// Name and namespace of the target.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Meta,
    /// The wanted replicas.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: Replicas,
    /// The replicas that there are.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ScaleStatus,
}

/// A replica count.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Replicas {
    /// The count; 0 if unstated.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
}

/// The status of a saved scale.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ScaleStatus {
    /// The count; 0 if unstated.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// The pods' selector as text.
    #[serde(deserialize_with = "null_as_default")]
    pub selector: String,
}

/// A built-in kind with a scale.
#[derive(Debug, Clone)]
pub struct Workload {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Name and namespace.
    pub metadata: Meta,
    /// `spec.replicas`, 1 if unstated.
    pub replicas: i32,
    /// `status.replicas`.
    pub status_replicas: i32,
    /// `spec.selector`.
    pub selector: Option<LabelSelector>,
}

/// The document of our own that states what has no kind in Kubernetes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ControllerState {
    #[serde(rename = "metadata")]
    _metadata: Option<IgnoredAny>,
    /// The clock.
    pub now: Option<Timestamp>,
    /// The version of the controller.
    pub kubernetes_version: Option<String>,
    /// Its flags, where they are known.
    #[serde(deserialize_with = "null_as_default")]
    pub flags: Flags,
    /// Its feature gates, where they are known.
    #[serde(deserialize_with = "null_as_default")]
    pub feature_gates: BTreeMap<String, bool>,
    /// Says that the lists below are not known, where they are neither stated nor empty.
    pub memory: Option<StatedAs>,
    /// Remembered recommendations; none means that the controller has just started.
    #[serde(deserialize_with = "null_as_default")]
    pub recommendations: Vec<Recommendation>,
    /// Remembered changes up.
    #[serde(deserialize_with = "null_as_default")]
    pub scale_up_events: Vec<ScaleEvent>,
    /// Remembered changes down.
    #[serde(deserialize_with = "null_as_default")]
    pub scale_down_events: Vec<ScaleEvent>,
    /// Requests that failed when this was captured.
    #[serde(deserialize_with = "null_as_default")]
    pub errors: Vec<ApiError>,
}

/// What a document says about the memory as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StatedAs {
    /// It is not known.
    Unknown,
}

/// Controller flags that are known; the others have their defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Flags {
    /// `--horizontal-pod-autoscaler-tolerance`.
    pub tolerance: Option<f64>,
    /// `--horizontal-pod-autoscaler-downscale-stabilization`.
    pub downscale_stabilization: Option<SignedDuration>,
    /// `--horizontal-pod-autoscaler-cpu-initialization-period`.
    pub cpu_initialization_period: Option<SignedDuration>,
    /// `--horizontal-pod-autoscaler-initial-readiness-delay`.
    pub initial_readiness_delay: Option<SignedDuration>,
    /// `--horizontal-pod-autoscaler-sync-period`.
    pub sync_period: Option<SignedDuration>,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiError {
    /// Which request.
    pub api: Api,
    /// Narrows it to the metric or resource of this name.
    #[serde(default)]
    pub metric: Option<String>,
    /// The text of the failure.
    pub message: String,
}

/// The requests of a pass that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Api {
    /// Finding the target's resource.
    Mapping,
    /// Reading the scale.
    Scale,
    /// Writing the scale.
    ScaleUpdate,
    /// The resource metrics API.
    Resource,
    /// The custom metrics API.
    Custom,
    /// The external metrics API.
    External,
}

impl Api {
    /// Its word in the input format.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mapping => "mapping",
            Self::Scale => "scale",
            Self::ScaleUpdate => "scaleUpdate",
            Self::Resource => "resource",
            Self::Custom => "custom",
            Self::External => "external",
        }
    }
}

/// A value of the input that is not what its place needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// Line and column, counted from 1; none where the text was not JSON.
    pub(super) position: Option<(usize, usize)>,
    /// What is wrong.
    pub(super) message: String,
}

impl Fault {
    /// Line and column of a JSON error, and its text without them.
    pub(super) fn from_json(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let suffix = format!(" at line {line} column {column}");
        let message = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
        Self {
            position: (line > 0).then_some((line, column)),
            message,
        }
    }
}

/// Reads one object into [`Objects`].
pub(super) struct ObjectReader<'r> {
    pub(super) objects: &'r mut Objects,
    pub(super) source: Source<'r>,
    /// Version and kind of the items of a typed list, which state neither themselves.
    pub(super) inherited: Option<(&'r str, &'r str)>,
}

/// The text that objects are read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'r> {
    /// Where it comes from, for messages.
    pub(super) origin: &'r str,
    /// All of it, to tell positions in.
    pub(super) text: &'r str,
    /// The first fault in a part that was read out of order: the JSON reader would state the
    /// position where it had got to instead.
    pub(super) fault: &'r RefCell<Option<Fault>>,
}

impl Source<'_> {
    /// Notes a fault in a part of the text.
    fn note(&self, part: &str, error: &serde_json::Error) {
        let mut fault = Fault::from_json(error);
        let start = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        if let (Some((line, column)), Some(before)) = (fault.position, self.text.get(..start)) {
            let lines_before = before.bytes().filter(|&byte| byte == b'\n').count();
            let columns_before = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
            let column = if line == 1 {
                columns_before + column
            } else {
                column
            };
            fault.position = Some((lines_before + line, column));
        }
        self.fault.borrow_mut().get_or_insert(fault);
    }
}

impl<'de> DeserializeSeed<'de> for ObjectReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ObjectReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut api_version, mut kind) = match self.inherited {
            Some((api_version, kind)) => (Some(api_version.into()), Some(kind.into())),
            None => (None, None),
        };
        // Fields before the kind wait as raw text; usually there are none.
        let mut early: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
        let inherits = self.inherited.is_some();
        while inherits || api_version.is_none() || kind.is_none() {
            let Some(Text(key)) = map.next_key()? else {
                break;
            };
            match &*key {
                "apiVersion" => api_version = map.next_value::<Option<String>>()?,
                "kind" => kind = map.next_value::<Option<String>>()?,
                _ => {
                    early.push((key, map.next_value()?));
                    if inherits {
                        break;
                    }
                }
            }
        }
        let api_version = api_version.unwrap_or_default();
        let Some(kind) = kind.filter(|kind| !kind.is_empty()) else {
            return Err(A::Error::custom("not a Kubernetes object: it has no kind"));
        };
        let early = early.into_iter();
        let fields = MapAccessDeserializer::new(Replay {
            early,
            pending: None,
            rest: map,
            source: self.source,
        });
        self.objects.read(&api_version, kind, fields, self.source)
    }
}

impl Objects {
    /// Reads the fields of an object of a known kind.
    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        api_version: &str,
        kind: String,
        fields: D,
        source: Source<'_>,
    ) -> Result<(), D::Error> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        match (group, kind.as_str()) {
            ("autoscaling", "HorizontalPodAutoscaler") => {
                self.hpas
                    .push(HpaObject::read(fields, source.origin, api_version)?);
            }
            ("autoscaling", "Scale") => self.scales.push(ScaleObject::deserialize(fields)?),
            ("apps" | "extensions", "Deployment" | "ReplicaSet" | "StatefulSet")
            | ("", "ReplicationController") => {
                self.workloads.push(Workload::read(fields, group, kind)?);
            }
            ("", "Pod") => self.pods.push(Pod::deserialize(fields)?),
            ("metrics.k8s.io", "PodMetrics") => {
                self.pod_metrics.push(PodMetrics::deserialize(fields)?);
            }
            ("custom.metrics.k8s.io", "MetricValueList") => {
                self.metric_values
                    .extend(Items::deserialize(fields)?.items.into_iter().flatten());
            }
            ("external.metrics.k8s.io", "ExternalMetricValueList") => {
                self.external_values
                    .extend(Items::deserialize(fields)?.items.into_iter().flatten());
            }
            ("kubectl-hpa", "ControllerState") if api_version == OWN_API_VERSION => {
                let state = ControllerState::deserialize(fields)?;
                if self.state.replace(state).is_some() {
                    return Err(D::Error::custom("a second ControllerState in the input"));
                }
            }
            (_, list) if list.ends_with("List") => {
                let item = list.trim_end_matches("List");
                let inherited = (!item.is_empty()).then_some((api_version, item));
                fields.deserialize_map(ListReader {
                    objects: self,
                    source,
                    inherited,
                })?;
            }
            _ => {
                IgnoredAny::deserialize(fields)?;
                *self.skipped.entry(kind).or_default() += 1;
            }
        }
        Ok(())
    }
}

impl HpaObject {
    fn read<'de, D: Deserializer<'de>>(
        fields: D,
        origin: &str,
        api_version: &str,
    ) -> Result<Self, D::Error> {
        // Raw values keep the spelling of numbers, which quantities depend on.
        let mut object = BTreeMap::<String, Box<RawValue>>::deserialize(fields)?;
        let text = |text: &str| RawValue::from_string(serde_json::json!(text).to_string());
        object.insert(
            "apiVersion".into(),
            text(api_version).map_err(D::Error::custom)?,
        );
        object.insert(
            "kind".into(),
            text("HorizontalPodAutoscaler").map_err(D::Error::custom)?,
        );
        let metadata: Meta = match object.get("metadata") {
            Some(raw) => serde_json::from_str::<Option<Meta>>(raw.get())
                .map_err(|e| D::Error::custom(Fault::from_json(&e).message))?
                .unwrap_or_default(),
            None => Meta::default(),
        };
        Ok(Self {
            origin: origin.to_owned(),
            name: metadata.name.into(),
            namespace: metadata.namespace.map(Into::into),
            json: serde_json::to_string(&object).map_err(D::Error::custom)?,
        })
    }
}

impl Workload {
    fn read<'de, D: Deserializer<'de>>(
        fields: D,
        group: &str,
        kind: String,
    ) -> Result<Self, D::Error> {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Wire<S> {
            #[serde(deserialize_with = "null_as_default")]
            metadata: Meta,
            spec: Option<Spec<S>>,
            #[serde(deserialize_with = "null_as_default")]
            status: Replicas,
        }
        #[derive(Deserialize)]
        struct Spec<S> {
            replicas: Option<i32>,
            selector: Option<S>,
        }
        fn build<S>(
            wire: Wire<S>,
            group: &str,
            kind: String,
            selector: impl Fn(S) -> LabelSelector,
        ) -> Workload {
            let (replicas, own) = wire.spec.map_or((None, None), |s| (s.replicas, s.selector));
            Workload {
                group: group.to_owned(),
                kind,
                metadata: wire.metadata,
                replicas: replicas.unwrap_or(1),
                status_replicas: wire.status.replicas,
                selector: own.map(selector),
            }
        }
        if kind == "ReplicationController" {
            let wire = Wire::<BTreeMap<String, String>>::deserialize(fields)?;
            let from_map = |match_labels| LabelSelector {
                match_labels,
                ..LabelSelector::default()
            };
            return Ok(build(wire, group, kind, from_map));
        }
        let wire = Wire::<LabelSelector>::deserialize(fields)?;
        Ok(build(wire, group, kind, std::convert::identity))
    }
}

/// The items of a list whose items need no reader of their own.
#[derive(Deserialize)]
struct Items<T> {
    #[serde(default = "Option::default")]
    items: Option<Vec<T>>,
}

/// Reads the items of a list, each as an object.
struct ListReader<'r> {
    objects: &'r mut Objects,
    source: Source<'r>,
    inherited: Option<(&'r str, &'r str)>,
}

impl<'de> Visitor<'de> for ListReader<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of Kubernetes objects")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self {
            objects,
            source,
            inherited,
        } = self;
        while let Some(Text(key)) = map.next_key()? {
            if key == "items" {
                map.next_value_seed(ListReader {
                    objects: &mut *objects,
                    source,
                    inherited,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self {
            objects,
            source,
            inherited,
        } = self;
        while items
            .next_element_seed(ObjectReader {
                objects: &mut *objects,
                source,
                inherited,
            })?
            .is_some()
        {}
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for ListReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The fields that came before the kind, then those that follow.
struct Replay<'r, 'de, A> {
    early: std::vec::IntoIter<(Cow<'de, str>, &'de RawValue)>,
    pending: Option<&'de RawValue>,
    rest: A,
    source: Source<'r>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Replay<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.early.next() {
            Some((key, value)) => {
                self.pending = Some(value);
                seed.deserialize(CowStrDeserializer::new(key)).map(Some)
            }
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.pending.take() {
            Some(value) => seed.deserialize(value).map_err(|e| {
                self.source.note(value.get(), &e);
                A::Error::custom("invalid field")
            }),
            None => self.rest.next_value_seed(seed),
        }
    }
}

/// A string, borrowed where it needs no unescaping.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Words)
    }
}
