//! What tests put into a cluster, and what comes out.

use serde_json::json;

use super::super::api::{CustomMetric, ExternalMetric, Scale};
use super::{HPA, get, names, server};

#[test]
fn objects_can_be_added_changed_and_removed() {
    let server = server(|cluster| {
        let spec = json!({"maxReplicas": 7});
        let scale = Scale {
            wanted: 3,
            current: 2,
            selector: "app=web",
        };
        cluster
            .custom_kind("argoproj.io/v1alpha1", "Rollout", "rollouts")
            .hpa(
                ["default", "web"],
                ["argoproj.io/v1alpha1", "Rollout", "web"],
                &spec,
            )
            .scale("argoproj.io/v1alpha1", "Rollout", ["default", "web"], scale)
            .pod_metrics(["default", "web"], &[("app", "web")], 2, ["5m", "1Mi"])
            .put(json!({
                "apiVersion": "apps/v1",
                "kind": "StatefulSet",
                "metadata": {"name": "db", "namespace": "default"},
                "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "db"}}},
                "status": {"replicas": 3},
            }));
    });
    let hpa = get(&server, &format!("{HPA}/web")).json();
    assert_eq!(hpa["spec"]["maxReplicas"], 7);
    assert_eq!(hpa["spec"]["scaleTargetRef"]["kind"], "Rollout");
    assert_eq!(
        names(&get(&server, HPA).json()),
        ["nginx-deployment", "web"]
    );
    let all = "/apis/autoscaling/v2/horizontalpodautoscalers";
    assert_eq!(names(&get(&server, all).json()).len(), 2);
    let rollouts = "/apis/argoproj.io/v1alpha1/namespaces/default/rollouts";
    let scale = get(&server, &format!("{rollouts}/web/scale")).json();
    assert_eq!(scale["spec"], json!({"replicas": 3}));
    assert_eq!(
        scale["status"],
        json!({"replicas": 2, "selector": "app=web"})
    );
    let db = "/apis/apps/v1/namespaces/default/statefulsets/db";
    let scale = get(&server, &format!("{db}/scale")).json();
    assert_eq!(
        scale["status"],
        json!({"replicas": 3, "selector": "app=db"})
    );
    let metrics = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods?labelSelector=app%3Dweb";
    let list = get(&server, metrics).json();
    assert_eq!(names(&list), ["web-00000", "web-00001"]);
    assert_eq!(list["items"][1]["containers"][0]["usage"]["cpu"], "5m");

    server.change(|cluster| {
        cluster
            .edit("apps/v1", "StatefulSet", ["default", "db"], |it| {
                it["spec"]["replicas"] = json!(9);
            })
            .remove(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                ["default", "web"],
            )
            .forget_pod_metrics();
    });
    let scale = get(&server, &format!("{db}/scale")).json();
    assert_eq!(scale["spec"]["replicas"], 9);
    let gone = get(&server, &format!("{HPA}/web"));
    assert_eq!(gone.status, 404);
    assert_eq!(names(&get(&server, metrics).json()), [""; 0]);
}

#[test]
fn custom_metrics_come_in_both_shapes_and_are_selected() {
    let server = server(|cluster| {
        let metric = CustomMetric {
            name: "errors".to_owned(),
            resource: "services".to_owned(),
            kind: ["Service".to_owned(), "v1".to_owned()],
            namespace: "default".to_owned(),
            object: "web".to_owned(),
            value: "7".to_owned(),
            timestamp: "2026-11-21T06:59:00Z".to_owned(),
            window: Some(30),
            labels: [("verb", "GET")].into_iter().collect(),
        };
        cluster
            .serve_versions("custom.metrics.k8s.io", &["v1beta1", "v1beta2"])
            .custom_metric(metric);
    });
    let path = |version: &str, query: &str| {
        let base = format!("/apis/custom.metrics.k8s.io/{version}/namespaces/default");
        let path = format!("{base}/services/web/errors{query}");
        get(&server, &path).json()["items"].clone()
    };
    let old = path("v1beta1", "");
    assert_eq!(
        (&old[0]["metricName"], &old[0]["window"]),
        (&json!("errors"), &json!(30))
    );
    let new = path("v1beta2", "?metricLabelSelector=verb%3DGET");
    let selector = json!({"matchLabels": {"verb": "GET"}});
    assert_eq!(
        new[0]["metric"],
        json!({"name": "errors", "selector": selector})
    );
    assert_eq!(new[0]["windowSeconds"], 30);
    assert_eq!(
        path("v1beta2", "?metricLabelSelector=verb%3DPUT"),
        json!([])
    );
}

#[test]
fn external_metrics_can_be_added_and_forgotten() {
    let server = server(|cluster| {
        cluster.external_metric(ExternalMetric {
            name: "lag".to_owned(),
            namespace: "default".to_owned(),
            labels: [("topic", "a")].into_iter().collect(),
            value: "3".to_owned(),
            timestamp: "2026-11-21T06:59:00Z".to_owned(),
        });
    });
    let base = "/apis/external.metrics.k8s.io/v1beta1";
    let values = |selector: &str| {
        let path = format!("{base}/namespaces/default/lag?labelSelector={selector}");
        get(&server, &path).json()["items"].as_array().map(Vec::len)
    };
    assert_eq!(
        (values("topic%3Da"), values("topic%3Db")),
        (Some(1), Some(0))
    );
    assert_eq!(get(&server, base).json()["resources"][0]["name"], "lag");
    server.change(|cluster| {
        cluster.forget_metric("lag");
    });
    assert_eq!(values(""), Some(0));
}
