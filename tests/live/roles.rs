//! The roles in `examples/rbac`: with exactly what a file grants nothing is missing, and whatever is removed
//! is reported by name, with the rule that restores it.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use super::api::{Cluster, Fault, Server, When, lease};
use super::{Ran, ask, own_by_keda, recorded};

/// A role of a file.
#[derive(Deserialize)]
struct Role {
    kind: String,
    metadata: Metadata,
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Metadata {
    namespace: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rule {
    api_groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// One verb on one resource.
#[derive(Debug, Clone)]
struct Right {
    group: String,
    resource: String,
    verb: String,
    name: Option<String>,
    /// `None` for cluster-scoped resources.
    namespace: Option<String>,
}

/// The cluster-scoped resource.
const OF_THE_CLUSTER: &str = "apiservices";

impl Right {
    /// Returns it as the server of the tests writes it.
    fn pattern(&self) -> String {
        let Self {
            group,
            resource,
            name,
            namespace,
            ..
        } = self;
        let (resource, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let dot = if group.is_empty() { "" } else { "." };
        let slash = if sub.is_empty() { "" } else { "/" };
        let name = name
            .as_ref()
            .map(|name| format!("#{name}"))
            .unwrap_or_default();
        let place = namespace
            .as_ref()
            .map(|place| format!("@{place}"))
            .unwrap_or_default();
        format!("{resource}{dot}{group}{slash}{sub}{name}{place}")
    }

    /// Returns the texts about it if it is missing.
    fn missed(&self) -> [String; 2] {
        let Self {
            group,
            resource,
            verb,
            namespace,
            ..
        } = self;
        if resource == "*" {
            return [
                format!("missing permission: {verb} "),
                format!("add to a Role: - {{apiGroups: [{group:?}], resources: "),
            ];
        }
        let (name, sub) = resource.split_once('/').unwrap_or((resource, ""));
        let (dot, slash) = (
            if group.is_empty() { "" } else { "." },
            if sub.is_empty() { "" } else { "/" },
        );
        let (place, role) = match namespace {
            Some(namespace) => (format!(" in the namespace {namespace}"), "Role"),
            None => (String::new(), "ClusterRole"),
        };
        [
            format!("missing permission: {verb} {name}{dot}{group}{slash}{sub}{place}"),
            format!(
                "add to a {role}: - {{apiGroups: [{group:?}], resources: [{resource:?}], verbs: \
                 [{verb:?}]}}"
            ),
        ]
    }

    /// Returns the HPA concerned.
    fn hpa(&self) -> &'static str {
        let of = |part: &str| self.resource.starts_with(part);
        match () {
            () if of("scaledobjects") && self.verb == "get" => "keda",
            () if of("scaledobjects") => "gone",
            () if of(OF_THE_CLUSTER) => "off",
            () if of("statefulsets") => "db",
            () if of("replicasets") => "set",
            () if of("replicationcontrollers") => "old",
            () if of("rollouts") => "roll",
            () => "web",
        }
    }
}

/// Returns what a file grants in `default`, and in the namespaces of its Roles.
fn rights(file: &str) -> Vec<Right> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples/rbac")
        .join(file);
    let text = std::fs::read_to_string(path).expect("a file of roles");
    let mut rights = Vec::new();
    for document in text.split("\n---\n") {
        let role: Role = serde_yaml::from_str(document).expect("a role");
        assert!(
            ["Role", "ClusterRole"].contains(&&*role.kind),
            "{}",
            role.kind
        );
        for rule in &role.rules {
            assert!(rule.resource_names.len() <= 1 && rule.api_groups.len() == 1);
            for resource in &rule.resources {
                rights.extend(rule.verbs.iter().map(|verb| Right {
                    group: rule.api_groups[0].clone(),
                    resource: resource.clone(),
                    verb: verb.clone(),
                    name: rule.resource_names.first().cloned(),
                    namespace: (resource != OF_THE_CLUSTER).then(|| {
                        role.metadata
                            .namespace
                            .clone()
                            .unwrap_or("default".to_owned())
                    }),
                }));
            }
        }
    }
    rights
}

/// Adds a target of each kind, each with an HPA that uses every type of metric.
fn cluster(granted: &[Right]) -> Cluster {
    let mut cluster = recorded();
    cluster.custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts");
    cluster.external_value("default", ["queue", "1"], &[]);
    let metrics = json!([
        {"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 40}}},
        {"type": "Pods", "pods": {"metric": {"name": "http_requests"},
            "target": {"type": "AverageValue", "averageValue": "1"}}},
        {"type": "External", "external": {"metric": {"name": "queue"},
            "target": {"type": "AverageValue", "averageValue": "1"}}},
    ]);
    for (name, api_version, kind) in [
        ("web", "apps/v1", "Deployment"),
        ("db", "apps/v1", "StatefulSet"),
        ("set", "apps/v1", "ReplicaSet"),
        ("old", "v1", "ReplicationController"),
        ("roll", "argoproj.io/v1alpha1", "Rollout"),
        ("keda", "apps/v1", "Deployment"),
        ("off", "apps/v1", "Deployment"),
    ] {
        let labels = [("app", name)];
        let target = ["default", name];
        cluster.put(json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": name}}},
            "status": {"replicas": 2},
        }));
        for pod in ["00000", "00001"] {
            let object = ["default", &*format!("{name}-{pod}")];
            cluster.custom_value(["pods", "Pod", "/v1"], object, ["http_requests", "1"]);
        }
        cluster.pods(target, &labels, 2);
        cluster.pod_metrics(target, &labels, 2, ["10m", "1Mi"]);
        cluster.hpa(
            target,
            [api_version, kind, name],
            &json!({"metrics": metrics}),
        );
        // The history of its last pass is uncertain.
        cluster.edit_hpa(target, |hpa| {
            let written = json!({"subresource": "status", "time": "2026-11-21T07:07:10Z"});
            hpa["metadata"]["managedFields"] = json!([written]);
            let condition = |type_: &str, reason: &str| {
                json!({"type": type_, "status": "True", "reason": reason})
            };
            hpa["status"] = json!({
                "currentReplicas": 2,
                "desiredReplicas": 2,
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {}}}],
                "conditions": [
                    condition("AbleToScale", "ReadyForNewScale"),
                    condition("ScalingActive", "ValidMetricFound"),
                    condition("ScalingLimited", "ScaleUpLimit"),
                ],
            });
        });
    }
    cluster.put(lease("one", "07:07:12"));
    cluster.edit_hpa(["default", "keda"], |hpa| {
        own_by_keda(hpa, "keda");
    });
    cluster.edit_hpa(["default", "off"], |hpa| {
        hpa["spec"]["metrics"][2]["external"]["metric"]["name"] = json!("off");
        hpa["status"]["currentMetrics"] = json!([{"type": ""}, {"type": ""}, {"type": ""}]);
    });
    let off = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default/off";
    cluster.fault(When::on(off), Fault::Unavailable(None));
    for right in granted {
        cluster.allow("bob", &right.verb, &right.pattern());
    }
    cluster
}

/// Runs a verb with these rights; returns all of its output.
fn said(verb: &[&str], hpa: &str, granted: &[Right]) -> (Ran, String) {
    let server = Server::start(cluster(granted));
    let words = [&[verb[0], hpa, "-n", "default", "-v=1"], &verb[1..]].concat();
    let ran = ask(&server, "bob", &words);
    let said = ran.shown();
    (ran, said)
}

fn holds(file: &str, verb: &[&str]) {
    let rights = rights(file);
    for hpa in ["web", "db", "set", "old", "roll", "keda", "off", "gone"] {
        let (ran, said) = said(verb, hpa, &rights);
        if !["off", "gone"].contains(&hpa) {
            assert_eq!(ran.code, Some(0), "{file}: {said}");
        }
        assert!(!said.contains("missing permission"), "{file}: {said}");
    }
    for (place, right) in rights.iter().enumerate() {
        let mut fewer = rights.clone();
        fewer.remove(place);
        let (_, said) = said(verb, right.hpa(), &fewer);
        for part in right.missed() {
            assert!(
                said.contains(&part),
                "{file} without {right:?}: no {part:?} in: {said}"
            );
        }
    }
}

#[test]
fn explain_needs_what_its_role_grants() {
    holds("explain.yaml", &["explain", "-o=wide"]);
}

#[test]
fn predict_needs_what_its_role_grants() {
    holds("predict.yaml", &["predict", "--cpu=30%", "-o=wide"]);
}

#[test]
fn apply_needs_what_its_role_grants() {
    let all = [
        "apply",
        "--yes",
        "--ignore-stabilization",
        "--write-status",
        "--force-write-status",
        "--event",
    ];
    holds("apply.yaml", &all);
}

/// The roles agree in what they share.
#[test]
fn what_is_read_is_the_same_for_all() {
    let texts = |file: &str| {
        let rights = rights(file)
            .into_iter()
            .filter(|right| right.verb != "update");
        let own = rights
            .filter(|right| right.verb != "create")
            .map(|right| format!("{right:?}"));
        own.collect::<Vec<_>>()
    };
    let (explain, predict, apply) = (
        texts("explain.yaml"),
        texts("predict.yaml"),
        texts("apply.yaml"),
    );
    assert_eq!(explain, predict);
    assert!(explain.iter().all(|right| apply.contains(right)));
}
