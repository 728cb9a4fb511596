//! One HPA and the status that its controller last wrote, 15 seconds ago; and changes to it, each
//! with the reasons for which this pass would write something else.
#![allow(dead_code, reason = "not every suite looks at all of it")]

use serde_json::{Value, json};

use super::build;

/// What is changed, how, and the codes of the reasons.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    change: fn(&mut World),
    pub(crate) codes: &'static [&'static str],
    /// What differs.
    pub(crate) rows: &'static [&'static str],
}

/// The objects of an input.
pub(crate) struct World {
    hpa: Value,
    scale: Value,
    pods: Vec<Value>,
    metrics: Vec<Value>,
    external: Value,
    state: Value,
    more: Vec<Value>,
}

impl Case {
    /// The input as text.
    pub(crate) fn input(&self) -> String {
        let mut world = World::new();
        (self.change)(&mut world);
        let World {
            hpa,
            scale,
            pods,
            metrics,
            external,
            state,
            more,
        } = world;
        let objects = [hpa, scale, external, state]
            .into_iter()
            .filter(|object| !object.is_null());
        build::list(objects.chain(pods).chain(metrics).chain(more))
    }
}

const MINUTE: &str = "2026-11-21T05:59:";

/// Returns a time in the minute before the pass.
fn at(second: u8) -> Value {
    json!(format!("{MINUTE}{second:02}Z"))
}

fn written(second: u8) -> Value {
    json!({"manager": "kube-controller-manager", "subresource": "status", "time": at(second)})
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason,
           "lastTransitionTime": "2026-11-21T04:00:00Z", "message": ""})
}

impl World {
    /// Returns four pods at their target, as at the last pass.
    fn new() -> Self {
        let spec = json!({
            "minReplicas": 2, "maxReplicas": 10,
            "metrics": [
                build::resource("cpu", &build::utilization(50)),
                build::external("queue", &build::value("5")),
            ],
        });
        let hpa = json!({
            "metadata": {
                "creationTimestamp": "2026-11-21T04:00:00Z",
                "managedFields": [
                    {"manager": "kubectl", "time": "2026-11-21T04:00:00Z"}, written(45)],
            },
            "status": {
                "currentReplicas": 4, "desiredReplicas": 4,
                "lastScaleTime": "2026-11-21T05:00:00Z",
                "currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "current":
                        {"averageValue": "50m", "averageUtilization": 50}}},
                    {"type": "External", "external": {"metric": {"name": "queue"},
                        "current": {"value": "5"}}},
                ],
                "conditions": [
                    condition("AbleToScale", "True", "ReadyForNewScale"),
                    condition("ScalingActive", "True", "ValidMetricFound"),
                    condition("ScalingLimited", "False", "DesiredWithinRange"),
                ],
            },
        });
        let names = (0..4).map(|pod| format!("web-{pod}"));
        Self {
            hpa: build::with(build::hpa(&spec), &hpa),
            scale: build::scale(4),
            pods: names.clone().map(|name| build::pod(&name)).collect(),
            metrics: names.map(|name| build::pod_metrics(&name, "50m")).collect(),
            external: build::queue(&["5"]),
            state: build::state(&json!({"recommendations": [{"replicas": 4, "time": at(45)}]})),
            more: Vec::new(),
        }
    }

    fn usage(&mut self, cpu: &str, taken: &Value) {
        for metric in &mut self.metrics {
            metric["timestamp"] = taken.clone();
            metric["containers"][0]["usage"]["cpu"] = json!(cpu);
        }
    }

    fn status(&mut self) -> &mut Value {
        &mut self.hpa["status"]
    }

    /// Sets since when the status has been unchanged.
    fn written_at(&mut self, time: &str) {
        self.hpa["metadata"]["managedFields"][1]["time"] = json!(time);
    }

    fn reason(&mut self, condition: usize, status: &str, reason: &str) {
        let condition = &mut self.status()["conditions"][condition];
        (condition["status"], condition["reason"]) = (json!(status), json!(reason));
    }

    /// Sets a maximum of 4, and a status of a pass that proposed more; the history is not stated.
    fn beyond_the_maximum(&mut self, able: &str, cpu: &str, percent: i32) {
        self.hpa["spec"]["maxReplicas"] = json!(4);
        self.status()["currentMetrics"][0]["resource"]["current"] =
            json!({"averageValue": cpu, "averageUtilization": percent});
        self.reason(0, "True", able);
        self.reason(2, "True", "TooManyReplicas");
        self.state["memory"] = json!("unknown");
        self.state["recommendations"] = json!([]);
    }

    fn lease(&mut self, renewed: &str) {
        self.more.push(json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
            "spec": {"acquireTime": "2026-11-21T04:00:00Z", "renewTime": renewed},
        }));
    }

    fn error(&mut self, api: &str) {
        let error = json!({"api": api, "message": "no"});
        self.state["errors"] = json!([error]);
    }
}

const DESIRED: &str = "desiredReplicas";

/// All rows, as of a status that no pass has written.
const ALL_ROWS: &[&str] = &[
    CURRENT,
    DESIRED,
    "cpu",
    "queue",
    "AbleToScale",
    "ScalingActive",
    "ScalingLimited",
];
const CURRENT: &str = "currentReplicas";

pub(crate) const CASES: [Case; 46] = [
    Case {
        name: "as it was",
        change: |_| {},
        codes: &[],
        rows: &[],
    },
    Case {
        name: "as it was, and no one leads",
        change: |world| {
            world.written_at("2026-11-21T05:55:00Z");
            world.lease("2026-11-21T05:57:00Z");
        },
        codes: &["controller-not-running"],
        rows: &[],
    },
    Case {
        name: "as it was, and the controller has another lease",
        change: |world| world.lease("2026-11-21T05:57:00Z"),
        codes: &[],
        rows: &[],
    },
    Case {
        name: "never reconciled",
        change: |world| world.hpa["status"] = json!({}),
        codes: &["no-status-yet"],
        rows: ALL_ROWS,
    },
    Case {
        name: "never reconciled, with a status of zero values",
        change: |world| {
            world.hpa["status"] = json!({"currentReplicas": 0, "desiredReplicas": 0, "currentMetrics": [],
                "conditions": null});
        },
        codes: &["no-status-yet"],
        rows: ALL_ROWS,
    },
    Case {
        name: "a sample from after the status",
        change: |world| world.usage("60m", &at(50)),
        codes: &["metrics-moved"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample from just before the status",
        change: |world| world.usage("60m", &at(40)),
        codes: &["metrics-moved"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample from the second of the status",
        change: |world| world.usage("60m", &at(45)),
        codes: &["metrics-moved"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample from long before the status",
        change: |world| world.usage("60m", &json!("2026-11-21T05:58:00Z")),
        codes: &["unexplained"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample of the controller's last passes",
        change: |world| {
            world.written_at("2026-11-21T05:55:00Z");
            world.usage("60m", &json!("2026-11-21T05:57:59Z"));
        },
        codes: &["stale-status"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample of the last passes, of slower ones",
        change: |world| {
            world.written_at("2026-11-21T05:55:00Z");
            world.usage("60m", &json!("2026-11-21T05:57:59Z"));
            world.state["flags"] = json!({"syncPeriod": "30s"});
        },
        codes: &["metrics-moved"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample of the last passes, and no one leads",
        change: |world| {
            world.written_at("2026-11-21T05:55:00Z");
            world.usage("60m", &json!("2026-11-21T05:57:59Z"));
            world.lease("2026-11-21T05:57:00Z");
        },
        codes: &["controller-not-running", "metrics-moved"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a sample of the last passes, of which the time is not known",
        change: |world| {
            world.written_at("2026-11-21T05:55:00Z");
            world.usage("60m", &json!("2026-11-21T05:57:59Z"));
            world.lease("2026-11-21T05:57:00Z");
            world.state = json!(null);
        },
        codes: &["metrics-moved"],
        // Without a version, the newest rules apply, which write this condition.
        rows: &[DESIRED, "cpu", "AbleToScale", "ScaledToZero"],
    },
    Case {
        name: "a metric without a time",
        change: |world| world.external["items"][0]["value"] = json!("8"),
        codes: &["metrics-moved"],
        rows: &[DESIRED, "queue", "AbleToScale"],
    },
    Case {
        name: "a metric that is rounded for people",
        change: |world| {
            for metric in &mut world.metrics {
                metric["containers"][0]["usage"]["memory"] = json!("104857601");
            }
            world.hpa["spec"]["metrics"][0]["resource"] = json!({"name": "memory", "target":
                {"type": "AverageValue", "averageValue": "100Mi"}});
            world.status()["currentMetrics"][0]["resource"] = json!({"name": "memory",
                "current": {"averageValue": "104857602"}});
        },
        codes: &["metrics-moved"],
        rows: &["memory"],
    },
    Case {
        name: "names that a terminal would obey",
        change: |world| {
            let name = "queue\u{1b}[31m\u{202e}";
            world.hpa["spec"]["metrics"][1]["external"]["metric"]["name"] = json!(name);
            world.external["items"][0]["metricName"] = json!(name);
        },
        codes: &["spec-changed"],
        rows: &["queue\u{1b}[31m\u{202e}"],
    },
    Case {
        name: "without managedFields",
        change: |world| {
            world.hpa["metadata"]["managedFields"] = json!([]);
            world.usage("60m", &at(50));
        },
        codes: &["unexplained"],
        rows: &[DESIRED, "cpu", "AbleToScale"],
    },
    Case {
        name: "a smaller maximum",
        change: |world| {
            world.hpa["metadata"]["managedFields"][0]["time"] = at(50);
            world.hpa["spec"]["maxReplicas"] = json!(3);
        },
        codes: &["spec-changed"],
        rows: &[DESIRED, "cpu", "queue", "AbleToScale"],
    },
    Case {
        name: "a smaller maximum, at an unknown time",
        change: |world| {
            world.hpa["metadata"]["managedFields"] = json!([]);
            world.hpa["spec"]["maxReplicas"] = json!(3);
        },
        codes: &["spec-changed"],
        rows: &[DESIRED, "cpu", "queue", "AbleToScale"],
    },
    Case {
        name: "another generation, since v1.37",
        change: |world| {
            world.state["kubernetesVersion"] = json!("v1.37.0");
            world.hpa["metadata"]["managedFields"] = json!([]);
            world.hpa["metadata"]["generation"] = json!(4);
            world.hpa["status"]["observedGeneration"] = json!(3);
            world.hpa["spec"]["metrics"][1]["external"]["target"]["value"] = json!("2");
        },
        codes: &["spec-changed"],
        rows: &[DESIRED, "AbleToScale", "ScalingLimited", "ScaledToZero"],
    },
    Case {
        name: "other metrics",
        change: |world| {
            world.hpa["metadata"]["managedFields"] = json!([]);
            world.hpa["spec"]["metrics"]
                .as_array_mut()
                .expect("a list")
                .reverse();
        },
        codes: &["spec-changed"],
        rows: &["queue", "cpu"],
    },
    Case {
        name: "a metric less",
        change: |world| drop(world.hpa["spec"]["metrics"].as_array_mut().map(Vec::pop)),
        codes: &["spec-changed"],
        rows: &["queue"],
    },
    Case {
        name: "scaled by somebody",
        change: |world| world.scale["spec"]["replicas"] = json!(5),
        codes: &["rescaled-since"],
        rows: &[CURRENT, DESIRED],
    },
    Case {
        name: "scaled by the controller, which lost its status",
        change: |world| {
            world.scale["spec"]["replicas"] = json!(5);
            world.more.push(json!({
                "apiVersion": "v1", "kind": "Event", "metadata": {"name": "web.1"},
                "involvedObject": {"kind": "HorizontalPodAutoscaler", "namespace": "default",
                                   "name": "web", "uid": "u"},
                "reason": "SuccessfulRescale", "message": "New size: 5; reason: ",
                "firstTimestamp": at(50), "lastTimestamp": at(50), "count": 1,
            }));
        },
        codes: &["rescaled-since"],
        rows: &[CURRENT, DESIRED],
    },
    Case {
        name: "scaled above the maximum",
        change: |world| world.scale["spec"]["replicas"] = json!(12),
        codes: &["rescaled-since"],
        rows: &[CURRENT, DESIRED, "cpu", "queue", "AbleToScale"],
    },
    Case {
        name: "scaled below the minimum",
        change: |world| world.scale["spec"]["replicas"] = json!(1),
        codes: &["rescaled-since"],
        rows: &[CURRENT, DESIRED, "cpu", "queue", "AbleToScale"],
    },
    Case {
        name: "scaled to zero",
        change: |world| world.scale["spec"]["replicas"] = json!(0),
        codes: &["rescaled-since"],
        rows: &[
            CURRENT,
            DESIRED,
            "cpu",
            "queue",
            "AbleToScale",
            "ScalingActive",
        ],
    },
    Case {
        name: "zero as before",
        change: |world| {
            world.scale["spec"]["replicas"] = json!(0);
            let status = world.status();
            status["currentMetrics"] = json!(null);
            status["currentReplicas"] = json!(0);
            status["desiredReplicas"] = json!(0);
            world.reason(0, "True", "SucceededGetScale");
            world.reason(1, "False", "ScalingDisabled");
        },
        codes: &[],
        rows: &[],
    },
    Case {
        name: "scaled back",
        change: |world| {
            world.status()["desiredReplicas"] = json!(8);
            world.reason(0, "True", "SucceededRescale");
        },
        codes: &["rescaled-since"],
        rows: &[DESIRED, "AbleToScale"],
    },
    Case {
        name: "scaled by the last pass",
        change: |world| {
            world.status()["currentReplicas"] = json!(2);
            world.reason(0, "True", "SucceededRescale");
        },
        codes: &["just-scaled"],
        rows: &[CURRENT, "AbleToScale"],
    },
    Case {
        name: "a metric that fails",
        change: |world| world.error("resource"),
        codes: &["fails-now"],
        rows: &["cpu"],
    },
    Case {
        name: "a scale that cannot be read",
        change: |world| world.error("scale"),
        codes: &["fails-now"],
        rows: &["AbleToScale"],
    },
    Case {
        name: "two HPAs for the same pods",
        change: |world| {
            let mut other = world.hpa.clone();
            other["metadata"]["name"] = json!("other");
            world.more.push(other);
        },
        codes: &["fails-now"],
        rows: &["cpu", "queue", "AbleToScale", "ScalingActive"],
    },
    Case {
        name: "a metric that failed, as all did",
        change: |world| {
            world.status()["currentMetrics"] = json!([{"type": ""}, {"type": ""}]);
            world.reason(0, "True", "SucceededGetScale");
            world.reason(1, "False", "FailedGetResourceMetric");
        },
        codes: &["failed-then", "failed-then"],
        rows: &["cpu", "queue", "AbleToScale", "ScalingActive"],
    },
    Case {
        name: "a pod that has just become ready",
        change: |world| {
            world.status()["currentMetrics"][0]["resource"]["current"] =
                json!({"averageValue": "55m", "averageUtilization": 55});
            world.usage("50m", &json!("2026-11-21T05:58:00Z"));
            world.pods[0]["status"]["conditions"][0]["lastTransitionTime"] = at(50);
        },
        codes: &["pods-changed"],
        rows: &["cpu"],
    },
    Case {
        name: "a pod that is no longer young",
        change: |world| {
            world.status()["currentMetrics"][0]["resource"]["current"] =
                json!({"averageValue": "55m", "averageUtilization": 55});
            world.usage("50m", &json!("2026-11-21T05:58:00Z"));
            world.pods[0]["status"]["startTime"] = json!("2026-11-21T05:54:55Z");
        },
        codes: &["pods-changed"],
        rows: &["cpu"],
    },
    Case {
        name: "a recommendation that holds",
        change: |world| {
            world.state["recommendations"][0] = json!({"replicas": 6, "time": at(10)});
        },
        codes: &["memory"],
        rows: &[DESIRED, "AbleToScale"],
    },
    Case {
        name: "a recommendation that held",
        change: |world| world.reason(0, "True", "ScaleDownStabilized"),
        codes: &["memory"],
        rows: &["AbleToScale"],
    },
    Case {
        name: "a hold that no history explains",
        change: |world| {
            // The metrics ask for 2, as they did then; a controller that has just started holds 4.
            world.usage("25m", &at(40));
            world.external["items"][0]["value"] = json!("1");
            let status = world.status();
            status["currentMetrics"][0]["resource"]["current"] =
                json!({"averageValue": "25m", "averageUtilization": 25});
            status["currentMetrics"][1]["external"]["current"] = json!({"value": "1"});
            world.reason(0, "True", "ReadyForNewScale");
            world.state["memory"] = json!("unknown");
            world.state["recommendations"] = json!([]);
        },
        codes: &["unexplained"],
        rows: &["AbleToScale"],
    },
    Case {
        name: "a hold that may be over",
        change: |world| {
            world.beyond_the_maximum("ScaleDownStabilized", "60m", 60);
            world.usage("75m", &at(50));
        },
        codes: &["metrics-moved"],
        rows: &["cpu", "AbleToScale"],
    },
    Case {
        name: "a hold that may have begun",
        change: |world| {
            world.beyond_the_maximum("ReadyForNewScale", "75m", 75);
            world.usage("60m", &at(50));
        },
        codes: &["metrics-moved"],
        rows: &["cpu", "AbleToScale"],
    },
    Case {
        name: "a tolerance other than the controller's, where the memory changes nothing",
        change: |world| {
            world.status()["currentMetrics"][0]["resource"]["current"] =
                json!({"averageValue": "54m", "averageUtilization": 54});
            world.usage("54m", &json!("2026-11-21T05:58:00Z"));
            world.state["flags"] = json!({"tolerance": 0.01});
            world.state["memory"] = json!("unknown");
            world.state["recommendations"] = json!([]);
        },
        codes: &["unexplained"],
        rows: &[DESIRED, "AbleToScale"],
    },
    Case {
        name: "a hold that is longer than the window",
        change: |world| {
            world.written_at("2026-11-21T05:50:00Z");
            world.usage("50m", &json!("2026-11-21T05:49:00Z"));
            world.reason(0, "True", "ScaleDownStabilized");
        },
        codes: &["stale-status"],
        rows: &["AbleToScale"],
    },
    Case {
        name: "scaled back to what the pass before found",
        change: |world| {
            world.usage("100m", &at(40));
            let status = world.status();
            status["currentMetrics"][0]["resource"]["current"] =
                json!({"averageValue": "100m", "averageUtilization": 100});
            status["desiredReplicas"] = json!(8);
            world.reason(0, "True", "SucceededRescale");
        },
        codes: &["rescaled-since"],
        rows: &[],
    },
    Case {
        name: "a status without conditions",
        change: |world| {
            world.usage("50m", &json!("2026-11-21T05:58:00Z"));
            world.status()["conditions"] = json!([]);
        },
        codes: &["unexplained"],
        rows: &["AbleToScale", "ScalingActive", "ScalingLimited"],
    },
    Case {
        name: "as it was, and written by us",
        change: |world| {
            world.hpa["metadata"]["managedFields"][1]["manager"] = json!("kubectl-hpa");
        },
        codes: &[],
        rows: &[],
    },
];
