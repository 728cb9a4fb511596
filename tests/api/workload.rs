//! Any number of pods, their metrics, events and HPAs, shaped like the recorded ones.

use kubectl_hpa::apimachinery::selector::Labels;
use serde_json::{Value, json};

use super::json::{ordered, string};
use super::list::fields_of;
use super::metrics::{CustomMetric, ExternalMetric};
use super::objects::{Cluster, Object};
use super::recorded::exchange;

/// The placeholder for the name in the template of a generated object.
pub(crate) const NAME: &str = "@name@";

/// Returns the lease of a controller manager that has led for an hour, renewed at a time of the recorded hour.
pub(crate) fn lease(holder: &str, renewed: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
        "spec": {
            "holderIdentity": holder,
            "acquireTime": "2026-11-21T06:00:00.000000Z",
            "renewTime": format!("2026-11-21T{renewed}.000000Z"),
            "leaseDurationSeconds": 15,
        },
    })
}

impl Cluster {
    /// Adds `count` running pods called `PREFIX-00000` and so on, each a copy of the first recorded
    /// one (container `nginx`, which requests 20m of CPU) with these labels.
    pub(crate) fn pods(
        &mut self,
        [namespace, prefix]: [&str; 2],
        labels: &[(&str, &str)],
        count: usize,
    ) -> &mut Self {
        let mut pod = exchange("pods").response.body["items"][0].take();
        pod["metadata"]["uid"] = json!(format!("uid-of-{NAME}"));
        self.copies("v1", "Pod", pod, [namespace, prefix], labels, count)
    }

    /// Adds `count` PodMetrics with the names that [`pods`](Self::pods) uses, with the time of the
    /// recorded ones.
    pub(crate) fn pod_metrics(
        &mut self,
        [namespace, prefix]: [&str; 2],
        labels: &[(&str, &str)],
        count: usize,
        [cpu, memory]: [&str; 2],
    ) -> &mut Self {
        let mut metrics = exchange("pod metrics").response.body["items"][0].take();
        metrics["containers"][0]["usage"] = json!({"cpu": cpu, "memory": memory});
        let version = "metrics.k8s.io/v1beta1";
        self.copies(
            version,
            "PodMetrics",
            metrics,
            [namespace, prefix],
            labels,
            count,
        )
    }

    /// Adds copies of an object that differ only in name, without building each as JSON values. The
    /// template may have the name elsewhere as well, as [`NAME`].
    pub(crate) fn copies(
        &mut self,
        api_version: &str,
        kind: &str,
        mut template: Value,
        [namespace, prefix]: [&str; 2],
        labels: &[(&str, &str)],
        count: usize,
    ) -> &mut Self {
        let fields = template.as_object_mut().expect("an object");
        fields.remove("kind");
        fields.remove("apiVersion");
        let labels: Labels = labels.iter().copied().collect();
        template["metadata"]["name"] = json!(NAME);
        template["metadata"]["namespace"] = json!(namespace);
        template["metadata"]["labels"] = json!(labels);
        let text = ordered(&template);
        let fields = fields_of("pods", &template);
        self.revision += 1;
        let collection = self.collection_mut(api_version, kind);
        for number in 0..count {
            let name = format!("{prefix}-{number:05}");
            let mut fields = fields.clone();
            fields.insert("metadata.name".to_owned(), name.clone());
            let object = Object {
                bare: text.replace(NAME, &name),
                labels: labels.clone(),
                fields,
            };
            collection
                .objects
                .insert((namespace.to_owned(), name), object);
        }
        self
    }

    /// Adds a Deployment with this many running pods, each of which uses 10m of its 20m of CPU, and
    /// an HPA of the same name for it, with the recorded one's spec.
    pub(crate) fn autoscaled(
        &mut self,
        [namespace, name]: [&str; 2],
        replicas: usize,
    ) -> &mut Self {
        let labels = [("app", name)];
        self.put(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}},
            "status": {"replicas": replicas},
        }));
        self.pods([namespace, name], &labels, replicas);
        self.pod_metrics([namespace, name], &labels, replicas, ["10m", "1Mi"]);
        self.hpa(
            [namespace, name],
            ["apps/v1", "Deployment", name],
            &json!({}),
        )
    }

    /// Adds an HPA for a target `[apiVersion, kind, name]`, with the recorded one's defaults for
    /// fields missing in `spec`, and without a status.
    pub(crate) fn hpa(
        &mut self,
        [namespace, name]: [&str; 2],
        target: [&str; 3],
        spec: &Value,
    ) -> &mut Self {
        let mut hpa = exchange("hpa").response.body;
        hpa["metadata"] = json!({"name": name, "namespace": namespace});
        hpa["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
        let [api_version, kind, target] = target;
        hpa["spec"]["scaleTargetRef"] =
            json!({"apiVersion": api_version, "kind": kind, "name": target});
        for (field, value) in spec.as_object().into_iter().flatten() {
            hpa["spec"][field] = value.clone();
        }
        self.put(hpa)
    }

    /// Changes an HPA. Panics if it does not exist.
    pub(crate) fn edit_hpa(
        &mut self,
        hpa: [&str; 2],
        change: impl FnOnce(&mut Value),
    ) -> &mut Self {
        self.edit("autoscaling/v2", "HorizontalPodAutoscaler", hpa, change)
    }

    /// Adds an event about an HPA: a copy of the first recorded one with this reason and message,
    /// last seen at `time`.
    pub(crate) fn event(
        &mut self,
        [namespace, hpa]: [&str; 2],
        [reason, message]: [&str; 2],
        time: &str,
    ) -> &mut Self {
        let mut event = exchange("events of the hpa").response.body["items"][0].take();
        let name = format!("{hpa}.{:016x}", self.revision + 1);
        event["kind"] = json!("Event");
        event["apiVersion"] = json!("v1");
        event["metadata"] = json!({"name": name, "namespace": namespace});
        event["involvedObject"]["namespace"] = json!(namespace);
        event["involvedObject"]["name"] = json!(hpa);
        event["reason"] = json!(reason);
        event["message"] = json!(message);
        event["firstTimestamp"] = json!(time);
        event["lastTimestamp"] = json!(time);
        self.put(event)
    }

    /// Adds a value of a custom metric.
    pub(crate) fn custom_metric(&mut self, metric: CustomMetric) -> &mut Self {
        let resource = format!("{}/{}", metric.resource, metric.name);
        let (group, kind) = ("custom.metrics.k8s.io", "MetricValueList");
        self.discovery
            .add_metric(group, &resource, kind, &["get", "list"]);
        self.metrics.custom.push(metric);
        self
    }

    /// Adds a value of a custom metric at the time of the recording. A resource is named as in
    /// paths, with the kind and `apiVersion` of the object.
    pub(crate) fn custom_value(
        &mut self,
        [resource, kind, api_version]: [&str; 3],
        [namespace, object]: [&str; 2],
        [name, value]: [&str; 2],
    ) -> &mut Self {
        self.custom_metric(CustomMetric {
            name: name.to_owned(),
            resource: resource.to_owned(),
            kind: [kind.to_owned(), api_version.to_owned()],
            namespace: namespace.to_owned(),
            object: object.to_owned(),
            value: value.to_owned(),
            timestamp: "2026-11-21T07:07:00Z".to_owned(),
            ..CustomMetric::default()
        })
    }

    /// Adds a value of an external metric in a namespace at the time of the recording.
    pub(crate) fn external_value(
        &mut self,
        namespace: &str,
        [name, value]: [&str; 2],
        labels: &[(&str, &str)],
    ) -> &mut Self {
        self.external_metric(ExternalMetric {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            labels: labels.iter().copied().collect(),
            value: value.to_owned(),
            timestamp: "2026-11-21T07:07:00Z".to_owned(),
        })
    }

    /// Adds a value of an external metric.
    pub(crate) fn external_metric(&mut self, metric: ExternalMetric) -> &mut Self {
        let (group, kind) = ("external.metrics.k8s.io", "ExternalMetricValueList");
        self.discovery
            .add_metric(group, &metric.name, kind, &["get"]);
        self.metrics.external.push(metric);
        self
    }

    /// Removes all values of a metric from both APIs.
    pub(crate) fn forget_metric(&mut self, name: &str) -> &mut Self {
        self.metrics.custom.retain(|metric| metric.name != name);
        self.metrics.external.retain(|metric| metric.name != name);
        self
    }

    /// Removes all other HPAs: their recorded statuses would show that a controller runs.
    pub(crate) fn keep_only_hpa(&mut self, hpa: [&str; 2]) -> &mut Self {
        let hpas = self.collection_mut("autoscaling/v2", "HorizontalPodAutoscaler");
        let is_kept = |(namespace, name): &(String, String)| [&**namespace, name] == hpa;
        hpas.objects.retain(|key, _| is_kept(key));
        self
    }

    /// Removes all PodMetrics, as if metrics-server had just started.
    pub(crate) fn forget_pod_metrics(&mut self) -> &mut Self {
        let version = "metrics.k8s.io/v1beta1";
        self.collection_mut(version, "PodMetrics").objects.clear();
        self
    }

    /// Changes a stored object. Panics if it does not exist.
    pub(crate) fn edit(
        &mut self,
        api_version: &str,
        kind: &str,
        [namespace, name]: [&str; 2],
        change: impl FnOnce(&mut Value),
    ) -> &mut Self {
        let collection = self.collection_mut(api_version, kind);
        let key = (namespace.to_owned(), name.to_owned());
        let Some(object) = collection.objects.get(&key) else {
            panic!("no {kind} {name} to edit in {namespace}");
        };
        let text = object.whole(api_version, kind);
        let earlier = (key, object.clone());
        collection.earlier.push(earlier);
        let mut object: Value = serde_json::from_str(&text).expect("stored JSON");
        change(&mut object);
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        assert_eq!(string(&object, "/metadata/name"), name, "the name stays");
        self.insert(&object);
        self
    }
}
