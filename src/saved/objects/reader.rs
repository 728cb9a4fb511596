//! Reads JSON objects, each directly into its own type: the reader finds the kind first and passes the rest
//! of the object on, without an intermediate tree.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::source::{RawFields, ReadFault, SourceText, part};
use super::workload::workload;
use super::{HPA, Objects, Undecoded, UndecodedHpa};
use crate::apimachinery::json::{BorrowedText, expecting};
use crate::apimachinery::{json, names};
use crate::saved::state::{Api, ApiError, ControllerState, OWN_API_VERSION};
use crate::saved::wire::{EventObject, LeaseObject, ScaleObject};
use crate::secret::Secret;
use crate::snapshot::Documents;
use crate::snapshot::control_plane::ManagerPod;
use crate::snapshot::hpa::CUSTOM;
use crate::snapshot::load::Load;
use crate::snapshot::metric::{ExternalMetricValue, MetricValue, PodMetrics};
use crate::snapshot::pod::{Meta, Pod};
use crate::snapshot::shared::push_sharing;
use crate::snapshot::surroundings::{
    ApiResourceList, ApiService, ScaledObject, VerticalPodAutoscaler, Workload,
};

/// Reads one object into [`Objects`].
pub(crate) struct ObjectReader<'r> {
    objects: &'r mut Objects,
    source: SourceText<'r>,
    /// The version and kind of the items of a typed list, which do not state them.
    inherited: Option<(&'r str, &'r str)>,
    /// The number of lists around it.
    depth: usize,
}

/// The maximum nesting of lists. A list that states its kind last is read again by the one around it.
const MAX_LISTS: usize = 8;

impl<'r> ObjectReader<'r> {
    /// Reads an object that is in no list.
    pub(crate) fn new(objects: &'r mut Objects, source: SourceText<'r>) -> Self {
        Self {
            objects,
            source,
            inherited: None,
            depth: 0,
        }
    }

    /// Returns the same reader, to read one of several objects.
    fn again(&mut self) -> ObjectReader<'_> {
        ObjectReader {
            objects: self.objects,
            ..*self
        }
    }
}

impl<'de> DeserializeSeed<'de> for ObjectReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // Null is no object.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ObjectReader<'_> {
    type Value = ();

    expecting!("a Kubernetes object");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self {
            objects,
            source,
            inherited,
            depth,
        } = self;
        let mut stated_version = None;
        let mut stated_kind = None;
        // Fields before the kind wait as raw text; usually the kind comes first.
        let mut early: Vec<(Cow<'de, str>, &'de RawValue)> = Vec::new();
        while stated_version.is_none() || stated_kind.is_none() {
            let Some(BorrowedText(key)) = map.next_key()? else {
                break;
            };
            match &*key {
                "apiVersion" => state(&key, &mut stated_version, map.next_value()?)?,
                "kind" => state(&key, &mut stated_kind, map.next_value()?)?,
                _ => {
                    early.push((key, map.next_value()?));
                    if inherited.is_some() {
                        break;
                    }
                }
            }
        }
        let (inherited_version, inherited_kind) = inherited.unwrap_or_default();
        let api_version = stated_version.unwrap_or_else(|| inherited_version.to_owned());
        let kind = stated_kind.unwrap_or_else(|| inherited_kind.to_owned());
        if kind.is_empty() {
            return Err(A::Error::custom(NO_KIND));
        }
        // This program's own documents are read strictly, except for amounts and durations, which handle null
        // themselves.
        source
            .elements
            .read_null_as_zero(api_version != OWN_API_VERSION);
        let current = Cell::new(None);
        let fields = MapAccessDeserializer::new(Replay {
            early: early.into_iter(),
            current: &current,
            rest: map,
            api_version: &api_version,
            kind: &kind,
            source,
        });
        let result = objects.read(&api_version, &kind, fields, source, depth);
        result.map_err(|e| match current.get() {
            // The fault is not the value but its presence.
            Some(value) => source.note(value.get(), ReadFault::before(&e)),
            None => e,
        })
    }
}

/// The error for an object that could be anything.
pub(crate) const NO_KIND: &str = "not a Kubernetes object: it has no kind";

/// Whether a text can be a kind: an identifier of at most 63 characters, as the API server requires of
/// custom kinds.
fn is_kind(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
}

/// Whether a text can be an `apiVersion`: a version, with a group before it.
fn is_api_version(text: &str) -> bool {
    let (group, version) = text.rsplit_once('/').unwrap_or(("", text));
    let is_of_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-.".contains(&c);
    !version.is_empty()
        && group.len() <= 253
        && version.len() <= 63
        && group.bytes().chain(version.bytes()).all(is_of_name)
}

/// Records a value of `apiVersion` or `kind`; null and empty count as absent. If there are several, Go's
/// decoder would use the last one, after the preceding fields had been read as something else.
fn state<E: Error>(key: &str, value: &mut Option<String>, stated: Option<String>) -> Result<(), E> {
    let Some(stated) = stated.filter(|stated| !stated.is_empty()) else {
        return Ok(());
    };
    match value {
        Some(earlier) if *earlier != stated => Err(contradiction(key)),
        _ => {
            *value = Some(stated);
            Ok(())
        }
    }
}

/// Returns the error for an object that states its version or kind twice. Until both are known, no part of
/// the object is quoted.
fn contradiction<E: Error>(key: &str) -> E {
    E::custom(format_args!("two different values of {key}"))
}

impl Objects {
    /// Reads the fields of an object of a known kind.
    fn read<'de, D: Deserializer<'de>>(
        &mut self,
        api_version: &str,
        kind: &str,
        fields: D,
        source: SourceText<'_>,
        depth: usize,
    ) -> Result<(), D::Error> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        match (group, kind) {
            ("autoscaling", HPA) => {
                let hpa = UndecodedHpa::read(fields, source, api_version)?;
                self.hpas.push(hpa);
            }
            ("autoscaling", "Scale") => self.scales.push(ScaleObject::deserialize(fields)?),
            ("apps" | "extensions", "Deployment" | "ReplicaSet" | "StatefulSet")
            | ("", "ReplicationController")
            | ("batch", "Job")
            | ("argoproj.io", "Rollout") => {
                let fields = RawFields::deserialize(fields)?.0;
                let object = workload(&fields, source, api_version, kind)?;
                let is_manifest = self.are_manifests || object.metadata.uid.is_empty();
                let whole = is_manifest.then(|| Undecoded::of(&fields, source, api_version, kind));
                self.take_workload(object, whole.transpose()?, depth);
            }
            ("keda.sh", "ScaledObject") => {
                let fields = RawFields::deserialize(fields)?.0;
                self.scaled_objects.push(ScaledObject {
                    metadata: part(&fields, "metadata", source)?,
                    spec: part(&fields, "spec", source)?,
                    status: part(&fields, "status", source)?,
                });
                let whole = Undecoded::of(&fields, source, api_version, kind)?;
                self.undecoded_scaled_objects.push(whole);
            }
            ("autoscaling.k8s.io", "VerticalPodAutoscaler") => {
                let vpa = VerticalPodAutoscaler::deserialize(fields)?;
                self.vertical_pod_autoscalers.push(vpa);
            }
            ("apiregistration.k8s.io", "APIService") => {
                self.api_services.push(ApiService::deserialize(fields)?);
            }
            ("", "APIResourceList") => self.take_served(ApiResourceList::deserialize(fields)?),
            ("", "Pod") => {
                let mut pod = Pod::deserialize(fields)?;
                self.control_plane.pods.extend(ManagerPod::of(&mut pod));
                push_sharing(&mut self.pods, pod);
            }
            // Events about other objects deserve no note: a namespace has thousands.
            ("" | "events.k8s.io", "Event") => {
                EventObject::deserialize(fields)?.keep(&mut self.evidence);
            }
            ("coordination.k8s.io", "Lease") => self.take_lease(&LeaseObject::deserialize(fields)?),
            ("metrics.k8s.io", "PodMetrics") => {
                let item = PodMetrics::deserialize(fields)?;
                if depth > 0 {
                    let place = item.namespace.as_deref().map(str::to_owned);
                    self.lists.insert((Documents::PodMetrics, place));
                }
                push_sharing(&mut self.pod_metrics, item);
            }
            ("custom.metrics.k8s.io", "MetricValueList") => {
                self.take_custom(PlainItems::deserialize(fields)?);
            }
            ("external.metrics.k8s.io", "ExternalMetricValueList") => {
                self.take_external(PlainItems::deserialize(fields)?);
            }
            ("kubectl-hpa", _) | ("", "ControllerState" | "Load") => {
                self.read_own(api_version, kind, fields, source)?;
            }
            (_, list) if list.ends_with("List") => {
                self.read_list(api_version, kind, fields, source, depth)?;
            }
            _ => {
                IgnoredAny::deserialize(fields)?;
                self.skip(api_version, kind);
            }
        }
        Ok(())
    }

    fn take_workload(&mut self, object: Workload, whole: Option<Undecoded>, depth: usize) {
        if depth > 0 && !object.is_manifest() {
            let Workload {
                group,
                kind,
                metadata,
                ..
            } = &object;
            let listed = (group.clone(), kind.clone(), metadata.namespace.clone());
            self.listed_workloads.insert(listed);
        }
        self.workloads.push(object);
        self.undecoded_workloads.push(whole);
    }

    fn take_served(&mut self, list: ApiResourceList) {
        if let Some(([group, version], names)) = list.metrics() {
            if group == CUSTOM {
                self.custom_version.get_or_insert(version);
            }
            self.served_metrics.entry(group).or_default().extend(names);
        }
    }

    fn take_lease(&mut self, lease: &LeaseObject) {
        if let Some(holder) = lease.holder() {
            self.control_plane.holder = Some(holder.to_owned());
        }
        self.evidence.lease = lease.of_controller_manager().or(self.evidence.lease);
    }

    fn take_custom(&mut self, list: PlainItems<MetricValue>) {
        self.note_empty(Documents::MetricValueList, &list);
        add_answer(
            &mut self.metric_values,
            &mut self.earlier_metric_values,
            list,
        );
    }

    fn take_external(&mut self, list: PlainItems<ExternalMetricValue>) {
        self.note_empty(Documents::ExternalMetricValueList, &list);
        let place = self.external_values.len();
        let items = list.items.into_iter();
        let placed = items.map(|item| ExternalMetricValue {
            list: place,
            ..item
        });
        self.external_values.extend(placed);
    }

    /// Reads a document of this program. An unsupported one is an error, because skipping it would lose its content.
    fn read_own<'de, D: Deserializer<'de>>(
        &mut self,
        api_version: &str,
        kind: &str,
        fields: D,
        source: SourceText<'_>,
    ) -> Result<(), D::Error> {
        let is_supported = api_version == OWN_API_VERSION;
        let message = match kind {
            "ControllerState" if is_supported => {
                return self.take_state(ControllerState::deserialize(fields)?, source);
            }
            "Load" if is_supported => {
                if self.load.replace(Load::deserialize(fields)?).is_none() {
                    return Ok(());
                }
                "second Load: only one can be played".to_owned()
            }
            "ControllerState" | "Load" => {
                format!("unsupported apiVersion of {kind}; expected {OWN_API_VERSION:?}")
            }
            "Explanation" | "ExplanationList" | "Prediction" | "ApplyResult" => {
                let read = if self.are_manifests {
                    "--hpa reads manifests"
                } else {
                    "-f reads the state that --save FILE writes"
                };
                format!("{kind} is an answer; {read}")
            }
            _ => "unsupported kind; expected ControllerState or Load".to_owned(),
        };
        Err(D::Error::custom(message))
    }

    /// Reads a list of objects of one kind, or of any.
    fn read_list<'de, D: Deserializer<'de>>(
        &mut self,
        api_version: &str,
        list: &str,
        fields: D,
        source: SourceText<'_>,
        depth: usize,
    ) -> Result<(), D::Error> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        if depth == MAX_LISTS {
            return Err(D::Error::custom("lists are nested too deeply"));
        }
        let item = list.strip_suffix("List").unwrap_or_default();
        let (pods, pod_metrics) = (self.pods.len(), self.pod_metrics.len());
        let inherited = (!item.is_empty()).then_some((api_version, item));
        fields.deserialize_map(ListReader(ItemsReader(ObjectReader {
            objects: self,
            source,
            inherited,
            depth: depth + 1,
        })))?;
        match (group, item) {
            ("", "Pod") => {
                let items = self.pods[pods..].iter();
                let only = only(items.map(|pod| pod.namespace.as_deref()));
                self.lists.insert((Documents::Pod, only));
            }
            ("metrics.k8s.io", "PodMetrics") => {
                let items = self.pod_metrics[pod_metrics..].iter();
                let only = only(items.map(|item| item.namespace.as_deref()));
                self.lists.insert((Documents::PodMetrics, only));
            }
            _ => {}
        }
        Ok(())
    }

    /// Notes an empty list of metric values, which may be the answer for any metric. One with values answers only for
    /// their metrics.
    fn note_empty<T>(&mut self, documents: Documents, list: &PlainItems<T>) {
        if list.items.is_empty() {
            self.lists.insert((documents, None));
        }
    }

    fn take_state<E: Error>(
        &mut self,
        state: ControllerState<'static>,
        source: SourceText<'_>,
    ) -> Result<(), E> {
        let is_own = |it: &ApiError| {
            let is_of_scale = matches!(it.api, Api::Mapping | Api::Scale | Api::ScaleUpdate);
            (it.denied || it.unanswered) && is_of_scale
        };
        if state.errors.iter().any(is_own) {
            return Err(E::custom(
                "errors: denied and unanswered are only for pods, resource, custom and external: without \
                 the scale, there is no answer",
            ));
        }
        if self.state.replace(state).is_some() {
            return Err(E::custom(format_args!(
                "second ControllerState (the first is in {}): saved states cannot be \
                 combined, so read one of them",
                self.state_origin
            )));
        }
        source.origin.clone_into(&mut self.state_origin);
        Ok(())
    }

    /// Counts a document that no pass uses.
    fn skip(&mut self, api_version: &str, kind: &str) {
        // Any other document may be anything with a field of this name.
        let is_named = (is_kind(kind) && is_api_version(api_version))
            || (kind == HPA && api_version.is_empty());
        let kind = if is_named {
            (kind, api_version)
        } else {
            ("object", "")
        };
        let kind = (kind.0.to_owned(), kind.1.to_owned());
        *self.skipped.entry(kind).or_default() += 1;
    }
}

/// The name of an object that leaves the rest of its name to the API server.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Prefix {
    generate_name: String,
}

impl UndecodedHpa {
    fn read<'de, D: Deserializer<'de>>(
        fields: D,
        source: SourceText<'_>,
        api_version: &str,
    ) -> Result<Self, D::Error> {
        let fields = RawFields::deserialize(fields)?.0;
        let metadata: Meta<'_> = part(&fields, "metadata", source)?;
        let Prefix { generate_name } = part(&fields, "metadata", source)?;
        let name = match &*metadata.name {
            "" if !generate_name.is_empty() => names::generated(&generate_name),
            own => own.to_owned(),
        };
        let json = whole(&fields, api_version, HPA)?;
        Ok(Self {
            origin: source.origin.to_owned(),
            line: source.line,
            name,
            namespace: metadata.namespace.map(Into::into),
            labels: fields.get("metadata").map(|_| metadata.labels.into_owned()),
            json,
        })
    }
}

/// Reassembles an object as JSON.
fn whole<E: Error>(
    fields: &BTreeMap<String, &RawValue>,
    api_version: &str,
    kind: &str,
) -> Result<String, E> {
    let text = |text: &str| serde_json::to_string(text).map_err(E::custom);
    let mut json = format!(
        r#"{{"apiVersion":{},"kind":{}"#,
        text(api_version)?,
        text(kind)?
    );
    for (name, raw) in fields {
        json += &format!(",{}:{raw}", text(name)?);
    }
    json.push('}');
    Ok(json)
}

impl Undecoded {
    fn of<E: Error>(
        fields: &BTreeMap<String, &RawValue>,
        source: SourceText<'_>,
        api_version: &str,
        kind: &str,
    ) -> Result<Self, E> {
        Ok(Self {
            origin: source.origin.to_owned(),
            line: source.line,
            json: Secret::new(whole(fields, api_version, kind)?),
        })
    }
}

/// The items of a list, if the items need no special reader.
#[derive(Deserialize)]
struct PlainItems<T> {
    #[serde(default = "Vec::new")]
    items: Vec<T>,
    #[serde(default, rename = "metadata")]
    _whole: Option<WholeList>,
}

/// Returns the namespace that the items of a list have in common; `None` if they may be of any.
fn only<'a>(mut namespaces: impl Iterator<Item = Option<&'a str>>) -> Option<String> {
    let first = namespaces.next()??;
    let is_same = namespaces.all(|other| other == Some(first));
    is_same.then(|| first.to_owned())
}

/// The places of the items in earlier answers, by hash.
#[derive(Debug, Default)]
pub struct Earlier {
    places: HashMap<u64, Vec<usize>>,
    /// The number of items that have been entered.
    count: usize,
}

/// Adds the answer to one request. An identical item in an earlier answer is the same measurement,
/// requested with another selector or saved in two files; one answer may contain it several times.
fn add_answer(
    known: &mut Vec<MetricValue>,
    earlier: &mut Earlier,
    answer: PlainItems<MetricValue>,
) {
    let hashed = |item: &MetricValue| {
        let object = &item.described_object;
        let mut state = DefaultHasher::new();
        (&item.name, &object.kind, &object.name, item.timestamp).hash(&mut state);
        state.finish()
    };
    let Earlier { places, count } = earlier;
    for (place, item) in known.iter().enumerate().skip(*count) {
        places.entry(hashed(item)).or_default().push(place);
    }
    *count = known.len();
    if places.is_empty() {
        known.extend(answer.items);
        return;
    }
    // An item is found once in each answer.
    let mut found = Vec::new();
    for item in answer.items {
        let hash = hashed(&item);
        let alike = places.entry(hash).or_default();
        match alike.iter().position(|&place| known[place] == item) {
            Some(same) => found.push((hash, alike.swap_remove(same))),
            None => known.push(item),
        }
    }
    for (hash, place) in found {
        places.entry(hash).or_default().push(place);
    }
}

/// The error for a page of a list: the answer for a part of the pods is not that for all of them.
const ONE_PAGE: &str = "the list has more pages (continue): save all of them, as kubectl get does";

/// The metadata of a list, which must be whole.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WholeList {
    #[serde(rename = "continue", deserialize_with = "no_token")]
    _next: (),
}

/// Reads the token for the next page, which is empty on the last one.
fn no_token<'de, D: Deserializer<'de>>(token: D) -> Result<(), D::Error> {
    let next = Option::<BorrowedText<'de>>::deserialize(token)?;
    let has_more = next.is_some_and(|BorrowedText(token)| !token.is_empty());
    (!has_more)
        .then_some(())
        .ok_or_else(|| D::Error::custom(ONE_PAGE))
}

/// Reads a list.
struct ListReader<'r>(ItemsReader<'r>);

impl<'de> Visitor<'de> for ListReader<'_> {
    type Value = ();

    expecting!("a list of Kubernetes objects");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut reader = Some(self.0);
        while let Some(BorrowedText(key)) = map.next_key()? {
            match &*key {
                "items" => {
                    let items = reader.take().ok_or_else(|| json::duplicate(&key))?;
                    map.next_value_seed(items)?;
                }
                "metadata" => {
                    map.next_value::<Option<WholeList>>()?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Reads the items of a list, each as an object; null means no items.
struct ItemsReader<'r>(ObjectReader<'r>);

impl<'de> Visitor<'de> for ItemsReader<'_> {
    type Value = ();

    expecting!("a list of Kubernetes objects");

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self(mut reader) = self;
        while items.next_element_seed(reader.again())?.is_some() {}
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for ItemsReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// The fields that preceded the kind, then those that follow.
struct Replay<'r, 'de, A> {
    early: std::vec::IntoIter<(Cow<'de, str>, &'de RawValue)>,
    /// The value of the early field that is being read.
    current: &'r Cell<Option<&'de RawValue>>,
    rest: A,
    /// The version and kind as which the object is read; the rest must not state others.
    api_version: &'r str,
    kind: &'r str,
    source: SourceText<'r>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Replay<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let early = self.early.next();
        self.current.set(early.as_ref().map(|(_, value)| *value));
        if let Some((key, _)) = early {
            return seed.deserialize(CowStrDeserializer::new(key)).map(Some);
        }
        while let Some(BorrowedText(key)) = self.rest.next_key()? {
            let earlier = match &*key {
                "apiVersion" => self.api_version,
                "kind" => self.kind,
                _ => return seed.deserialize(CowStrDeserializer::new(key)).map(Some),
            };
            let again: Option<BorrowedText<'de>> = self.rest.next_value()?;
            if let Some(BorrowedText(again)) = again
                && again != earlier
            {
                return Err(contradiction(&key));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.current.get() {
            Some(value) => seed
                .deserialize(json::Objects::new(value, self.source.elements))
                .map_err(|e| {
                    self.source
                        .note(value.get(), ReadFault::from_json(&e, value.get()))
                }),
            None => self.rest.next_value_seed(seed),
        }
    }
}
