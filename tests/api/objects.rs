//! The content of a cluster, and how a test fills it: the recorded objects, and helpers to add others,
//! to revoke rights and to make requests fail.

use std::collections::BTreeMap;
use std::time::Duration;

use kubectl_hpa::apimachinery::selector::{LabelSelector, Labels};
use kubectl_hpa::apiserver::default::AdmissionRules;
use kubectl_hpa::version::Version;
use serde_json::{Value, json};

use super::authorize::Rights;
use super::discovery::Discovery;
use super::faults::{Fault, Rule, When};
use super::http::Answer;
use super::json::{each, ordered, string};
use super::list::fields_of;
use super::metrics::Metrics;
use super::recorded::{Exchange, exchange};
use super::tls::Transport;

/// The revision at which the recorded lists were taken.
const RECORDED_REVISION: i64 = 596;

/// When the recording was made, as `Date` headers write it.
pub(crate) const RECORDED_DATE: &str = "Sat, 21 Nov 2026 07:07:13 GMT";

/// Everything that a server answers from. Helpers modify it in place and can be chained.
pub(crate) struct Cluster {
    pub(super) transport: Transport,
    pub(super) latency: Duration,
    /// Whether an answer once given is kept, compressed, for repeated requests.
    pub(super) keeps: bool,
    pub(super) clock: Clock,
    pub(super) faults: Vec<Rule>,
    pub(super) rights: Rights,
    pub(super) discovery: Discovery,
    pub(super) metrics: Metrics,
    /// Fixed answers by method and path, regardless of the cluster's content.
    pub(super) overrides: BTreeMap<(String, String), Answer>,
    /// JSON at other paths than those of objects.
    pub(super) documents: BTreeMap<String, String>,
    /// By group version and resource.
    collections: BTreeMap<(String, String), Collection>,
    /// What it takes as the spec of an HPA that is patched.
    pub(super) admission: AdmissionRules,
    /// How many writes of a scale were executed.
    pub(crate) scaled: usize,
    /// The current `resourceVersion`.
    pub(super) revision: i64,
    /// Continue tokens from before this revision have expired.
    pub(super) compacted: i64,
}

/// The clock of the server's `Date` header.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    /// The system clock, ahead by this many seconds.
    Ahead(i64),
    /// It is stopped at [`RECORDED_DATE`], when the recorded objects were fresh.
    Recorded,
    /// The server states something that is not a time.
    Broken,
}

/// The objects of one resource by namespace and name.
#[derive(Default)]
pub(crate) struct Collection {
    pub(super) kind: String,
    pub(super) objects: BTreeMap<(String, String), Object>,
    /// Earlier states of edited objects, the oldest first.
    pub(super) earlier: Vec<((String, String), Object)>,
    /// Their scales, as JSON.
    pub(super) scales: BTreeMap<(String, String), String>,
}

/// One object.
#[derive(Clone)]
pub(crate) struct Object {
    /// The JSON without kind and version, as in a list of the built-in kinds.
    pub(super) bare: String,
    pub(super) labels: Labels,
    pub(super) fields: BTreeMap<String, String>,
}

impl Object {
    /// The JSON with kind and version.
    pub(super) fn whole(&self, group_version: &str, kind: &str) -> String {
        let rest = &self.bare[1..];
        format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{group_version}\",{rest}")
    }
}

/// The values of a scale subresource.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale<'a> {
    /// `spec.replicas`.
    pub(crate) wanted: i32,
    /// `status.replicas`.
    pub(crate) current: i32,
    /// `status.selector`; "" omits it.
    pub(crate) selector: &'a str,
}

impl Cluster {
    /// Returns a cluster with only the built-in kinds, the metrics APIs and the user "admin", who
    /// may do everything.
    pub(crate) fn empty() -> Self {
        let mut rights = Rights::default();
        rights.grant("admin");
        let version = ordered(&exchange("version").response.body);
        Self {
            transport: Transport::Tls,
            latency: Duration::ZERO,
            keeps: false,
            clock: Clock::Ahead(0),
            faults: Vec::new(),
            rights,
            discovery: Discovery::recorded(),
            metrics: Metrics::default(),
            overrides: BTreeMap::new(),
            documents: BTreeMap::from([("/version".to_owned(), version)]),
            collections: BTreeMap::new(),
            admission: AdmissionRules::of(&Version::released()),
            scaled: 0,
            revision: RECORDED_REVISION,
            compacted: 0,
        }
    }

    /// Returns the recorded cluster, before anything was written to it: the HPA `nginx-deployment` in
    /// `default` and its Deployment, pods, events and metrics.
    pub(crate) fn recorded() -> Self {
        let mut cluster = Self::empty();
        for name in ["hpa", "hpa v1", "deployment"] {
            cluster.insert(&exchange(name).response.body);
        }
        for name in ["pods", "events of the hpa", "pod metrics"] {
            let list = exchange(name).response.body;
            let kind = string(&list, "/kind").trim_end_matches("List");
            for item in each(&list["items"]) {
                let mut item = item.clone();
                item["kind"] = json!(kind);
                item["apiVersion"] = list["apiVersion"].clone();
                cluster.insert(&item);
            }
        }
        cluster.metrics = Metrics::recorded();
        cluster
    }

    /// From now on, a request with the method and path of a recorded one gets the recorded answer, for
    /// everyone who may send it and whatever the query: `"pod metrics with the backend down"`, say.
    pub(crate) fn as_recorded(&mut self, name: &str) -> &mut Self {
        let Exchange {
            request, response, ..
        } = exchange(name);
        let path = request.path.split('?').next().unwrap_or_default();
        let content_type = &response.headers["content-type"];
        let answer = match &response.body {
            Value::String(text) => Answer::new(response.status, content_type, text.as_str()),
            body => Answer::json(response.status, ordered(body)),
        };
        self.overrides
            .insert((request.method, path.to_owned()), answer);
        self
    }

    /// Merges these fields into its recorded version.
    pub(crate) fn version(&mut self, said: &Value) -> &mut Self {
        let mut version = exchange("version").response.body;
        for (field, value) in said.as_object().into_iter().flatten() {
            version[field] = value.clone();
        }
        self.documents
            .insert("/version".to_owned(), ordered(&version));
        self
    }

    /// Sets what it takes as the spec of an HPA; the default is what the newest version does.
    pub(crate) fn admission(&mut self, rules: AdmissionRules) -> &mut Self {
        self.admission = rules;
        self
    }

    /// Sets how clients reach the server; the default is proper TLS. It must be set before the
    /// start.
    pub(crate) fn transport(&mut self, transport: Transport) -> &mut Self {
        self.transport = transport;
        self
    }

    /// Sets how long a request and its answer each take.
    pub(crate) fn latency(&mut self, each_way: Duration) -> &mut Self {
        self.latency = each_way;
        self
    }

    /// Keeps every answer as it is sent, for repeated requests: as fast as a server can be, for
    /// measurements. The cluster's content and rights must not change.
    pub(crate) fn keep_answers(&mut self) -> &mut Self {
        self.keeps = true;
        self
    }

    /// Sets the `Date` header; the default is the system time.
    pub(crate) fn clock(&mut self, clock: Clock) -> &mut Self {
        self.clock = clock;
        self
    }

    /// Makes the requests that `when` selects fail.
    pub(crate) fn fault(&mut self, when: When, fault: Fault) -> &mut Self {
        self.faults.push(Rule::new(when, fault));
        self
    }

    /// Removes all faults.
    pub(crate) fn heal(&mut self) -> &mut Self {
        self.faults.clear();
        self.overrides.clear();
        self
    }

    /// Grants a user every right. Any user can authenticate; only "admin" has rights at first.
    pub(crate) fn grant(&mut self, user: &str) -> &mut Self {
        self.rights.grant(user);
        self
    }

    /// Grants a user one right. Resources are written `pods`, `pods.metrics.k8s.io`,
    /// `deployments.apps/scale`, `*.custom.metrics.k8s.io`; `*` is any user, verb or resource, and
    /// `#NAME` and then `@NAMESPACE` after the resource limit it.
    pub(crate) fn allow(&mut self, user: &str, verb: &str, resource: &str) -> &mut Self {
        self.rights.allow([user, verb, resource]);
        self
    }

    /// Revokes one right, written as in [`allow`](Self::allow), from everyone.
    pub(crate) fn deny(&mut self, user: &str, verb: &str, resource: &str) -> &mut Self {
        self.rights.deny([user, verb, resource]);
        self
    }

    /// Gives all revoked rights back.
    pub(crate) fn restore(&mut self) -> &mut Self {
        self.rights.restore();
        self
    }

    /// Makes all continue tokens issued so far expire.
    pub(crate) fn compact(&mut self) -> &mut Self {
        self.revision += 1;
        self.compacted = self.revision;
        self
    }

    /// Serves a custom kind with the scale subresource.
    pub(crate) fn custom_kind(&mut self, api_version: &str, kind: &str, plural: &str) -> &mut Self {
        self.discovery.add_kind(api_version, kind, plural, true);
        self
    }

    /// Serves a custom kind that cannot be scaled.
    pub(crate) fn unscalable_kind(&mut self, group: &str, kind: &str, plural: &str) -> &mut Self {
        self.discovery.add_kind(group, kind, plural, false);
        self
    }

    /// Serves a metrics API in these versions, the preferred one first; with none, not at all, as
    /// if it were not installed.
    pub(crate) fn serve_versions(&mut self, group: &str, versions: &[&str]) -> &mut Self {
        self.discovery.serve_versions(group, versions);
        self
    }

    /// Makes the discovery of a group stale: it failed when the server last asked, but is still served.
    pub(crate) fn make_stale(&mut self, group: &str) -> &mut Self {
        self.discovery.set_freshness(group, "Stale");
        self
    }

    /// Stops serving a version of a built-in group, such as `autoscaling/v2`.
    pub(crate) fn remove_version(&mut self, group_version: &str) -> &mut Self {
        self.discovery.remove_version(group_version);
        self
    }

    /// Adds or replaces an object of any served kind. Metadata that a server sets is filled
    /// in; for a scalable kind so is its scale, from `spec.replicas`, `status.replicas` and the
    /// selector. Other defaults are the caller's.
    pub(crate) fn put(&mut self, mut object: Value) -> &mut Self {
        self.revision += 1;
        let uid = format!("00000000-0000-4000-8000-{:012}", self.revision);
        let given = [
            ("uid", json!(uid)),
            ("resourceVersion", json!(self.revision.to_string())),
            ("creationTimestamp", json!("2026-11-21T07:06:22Z")),
        ];
        for (field, value) in given {
            let metadata = object["metadata"].as_object_mut();
            let metadata = metadata.expect("an object has metadata");
            metadata.entry(field).or_insert(value);
        }
        self.insert(&object);
        self
    }

    /// Removes an object with its scale. Panics if it does not exist, so that no test removes nothing.
    pub(crate) fn remove(&mut self, api_version: &str, kind: &str, object: [&str; 2]) -> &mut Self {
        self.revision += 1;
        let key = (object[0].to_owned(), object[1].to_owned());
        let collection = self.collection_mut(api_version, kind);
        let removed = collection.objects.remove(&key);
        assert!(removed.is_some(), "no {kind} {object:?} to remove");
        collection.scales.remove(&key);
        self
    }

    /// Whether objects of a kind can be added.
    pub(crate) fn serves(&self, api_version: &str, kind: &str) -> bool {
        self.discovery.of_kind(api_version, kind).is_some()
    }

    /// Returns the state of an object, which has its kind, namespace and name; `None` if it does not exist.
    pub(crate) fn get(&self, object: &Value) -> Option<Value> {
        let text = |pointer: &str| string(object, pointer);
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let (resource, _) = self.discovery.of_kind(api_version, kind)?;
        let key = (
            text("/metadata/namespace").to_owned(),
            text("/metadata/name").to_owned(),
        );
        let stored = self.collection(api_version, resource)?.objects.get(&key)?;
        Some(serde_json::from_str(&stored.whole(api_version, kind)).expect("stored JSON"))
    }

    /// Adds or replaces the scale of `[namespace, name]` alone, whether or not there is an object.
    pub(crate) fn scale(
        &mut self,
        api_version: &str,
        kind: &str,
        [namespace, name]: [&str; 2],
        scale: Scale<'_>,
    ) -> &mut Self {
        self.revision += 1;
        let metadata = json!({
            "name": name,
            "namespace": namespace,
            "uid": format!("00000000-0000-4000-8000-{:012}", self.revision),
            "resourceVersion": self.revision.to_string(),
            "creationTimestamp": "2026-11-21T07:06:22Z",
        });
        let text = scale_json(&metadata, scale);
        let collection = self.collection_mut(api_version, kind);
        let key = (namespace.to_owned(), name.to_owned());
        collection.scales.insert(key, text);
        self
    }

    /// Adds an object as it is.
    pub(super) fn insert(&mut self, object: &Value) {
        let (api_version, kind) = (string(object, "/apiVersion"), string(object, "/kind"));
        let scalable = self
            .discovery
            .of_kind(api_version, kind)
            .is_some_and(|(name, _)| {
                let scale = format!("{name}/scale");
                self.discovery.resource(api_version, &scale).is_some()
            });
        let collection = self.collection_mut(api_version, kind);
        let key = (
            string(object, "/metadata/namespace").to_owned(),
            string(object, "/metadata/name").to_owned(),
        );
        if scalable {
            collection.scales.insert(key.clone(), scale_of(object));
        }
        let labels = object["metadata"]["labels"]
            .as_object()
            .into_iter()
            .flatten();
        let mut bare = object.clone();
        let fields = bare.as_object_mut().expect("an object");
        fields.remove("kind");
        fields.remove("apiVersion");
        let resource = if kind == "Event" { "events" } else { "pods" };
        let object = Object {
            bare: ordered(&bare),
            labels: labels
                .map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
                .collect(),
            fields: fields_of(resource, object),
        };
        collection.objects.insert(key, object);
    }

    /// Returns the objects of a resource, if there were any.
    pub(super) fn collection(&self, group_version: &str, resource: &str) -> Option<&Collection> {
        let key = (group_version.to_owned(), resource.to_owned());
        self.collections.get(&key)
    }

    /// Returns the objects of a kind, which must be served.
    pub(super) fn collection_mut(&mut self, api_version: &str, kind: &str) -> &mut Collection {
        let Some((resource, _)) = self.discovery.of_kind(api_version, kind) else {
            panic!("{api_version} {kind} is not served: add it with custom_kind");
        };
        let key = (api_version.to_owned(), resource.to_owned());
        let collection = self.collections.entry(key).or_default();
        kind.clone_into(&mut collection.kind);
        collection
    }
}

/// Returns the scale that the server derives from an object.
fn scale_of(object: &Value) -> String {
    let replicas = |pointer: &str, default| {
        let number = object.pointer(pointer).and_then(Value::as_i64);
        i32::try_from(number.unwrap_or(default)).expect("replicas are an int32")
    };
    let selector = match object.pointer("/spec/selector") {
        Some(selector) if selector.is_object() => {
            let selector: LabelSelector = serde_json::from_value(selector.clone())
                .expect("spec.selector is a label selector");
            let selector = selector.to_selector().expect("a valid label selector");
            selector.to_string()
        }
        _ => string(object, "/status/selector").to_owned(),
    };
    let scale = Scale {
        wanted: replicas("/spec/replicas", 1),
        current: replicas("/status/replicas", 0),
        selector: &selector,
    };
    let own = &object["metadata"];
    let fields = [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ];
    let metadata: serde_json::Map<_, _> = fields
        .into_iter()
        .map(|field| (field.to_owned(), own[field].clone()))
        .collect();
    scale_json(&Value::from(metadata), scale)
}

fn scale_json(metadata: &Value, scale: Scale<'_>) -> String {
    let mut status = json!({"replicas": scale.current});
    if !scale.selector.is_empty() {
        status["selector"] = json!(scale.selector);
    }
    let scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": {"replicas": scale.wanted},
        "status": status,
    });
    ordered(&scale)
}
