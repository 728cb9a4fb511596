//! Random inputs as users save them: an HPA `default/web` of any metric types, its target, pods in
//! every state, the answers of the metrics APIs, failures, and the controller's history. Values
//! come from small sets around the points where the controller changes its mind. The HPA has a
//! `uid` and meets an API server's guarantees; everything else is as odd as the APIs allow.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::build;

/// An input, in the parts that the properties vary.
#[derive(Clone)]
pub(crate) struct Scenario {
    /// The document with clock, flags, gates, memory and errors.
    pub(crate) state: Value,
    /// The HPAs and their targets.
    pub(crate) hpas: Vec<Value>,
    pub(crate) pods: Vec<Value>,
    /// Items of the three metrics APIs, at most one per pod or object.
    pub(crate) pod_metrics: Vec<Value>,
    pub(crate) custom: Vec<Value>,
    pub(crate) external: Vec<Value>,
}

impl Scenario {
    pub(crate) fn text(&self) -> String {
        let Self {
            state,
            hpas,
            pods,
            pod_metrics,
            custom,
            external,
        } = self;
        let objects = [std::slice::from_ref(state), hpas, pods, pod_metrics];
        let custom = build::list_of("custom.metrics.k8s.io/v1beta2", "MetricValueList", custom);
        let external = build::list_of(
            "external.metrics.k8s.io/v1beta1",
            "ExternalMetricValueList",
            external,
        );
        let items = objects.into_iter().flatten().map(Value::to_string);
        build::list_of_texts("v1", "List", items.chain([custom, external]))
    }

    /// Returns the same objects, with those that the APIs return in no particular order rearranged.
    pub(crate) fn reordered(&self, ranks: &[usize]) -> Self {
        let sorted = |items: &[Value]| {
            let mut ranked: Vec<_> = ranks.iter().cycle().zip(items).collect();
            ranked.sort_by_key(|(rank, _)| **rank);
            ranked.into_iter().map(|(_, item)| item.clone()).collect()
        };
        Self {
            pods: sorted(&self.pods),
            pod_metrics: sorted(&self.pod_metrics),
            custom: sorted(&self.custom),
            external: sorted(&self.external),
            ..self.clone()
        }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

pub(crate) fn scenario() -> impl Strategy<Value = Scenario> {
    // Boxed, because the parts together are too large for the stack of a thread.
    let pods = pods().boxed();
    let metrics = (custom().boxed(), vec(external(), 0..4));
    let any = (state().boxed(), hpas().boxed(), pods, metrics).prop_map(
        |(state, hpas, (pods, pod_metrics), (custom, external))| Scenario {
            state,
            hpas,
            pods,
            pod_metrics,
            custom,
            external,
        },
    );
    (any, proptest::bool::weighted(0.04)).prop_map(
        |(scenario, idle)| {
            if idle { idled(scenario) } else { scenario }
        },
    )
}

/// Returns the same with no load and permission to scale to zero, which is unlikely to occur by chance.
fn idled(mut scenario: Scenario) -> Scenario {
    let spec = &mut scenario.hpas[0]["spec"];
    spec["minReplicas"] = json!(0);
    spec["metrics"] = json!([{"type": "External", "external": {
        "metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "5"},
    }}]);
    scenario.external = vec![json!({"metricName": "queue", "value": "0"})];
    scenario.state["featureGates"]["HPAScaleToZero"] = json!(true);
    scenario.state["recommendations"] = json!([{"replicas": 3, "time": before(4000)}]);
    scenario
}

/// Returns another order of up to a dozen things.
pub(crate) fn ranks() -> impl Strategy<Value = Vec<usize>> {
    Just((0..12).collect::<Vec<_>>()).prop_shuffle()
}

/// Returns how many seconds ago something happened: the edges of every window, period and delay, and both
/// sides.
fn age() -> impl Strategy<Value = i64> {
    select(vec![
        0, 1, 10, 14, 15, 16, 29, 30, 31, 59, 60, 61, 120, 299, 300, 301, 1800, 4000,
    ])
}

/// The controller's clock in every scenario.
const NOW: Timestamp = Timestamp::constant(1_795_240_800, 0);

fn before(age: i64) -> String {
    (NOW - SignedDuration::from_secs(age)).to_string()
}

fn time() -> impl Strategy<Value = String> {
    age().prop_map(before)
}

/// Replica counts, up to the limits of the type.
fn replicas() -> impl Strategy<Value = i32> {
    prop_oneof![
        9 => select(vec![0, 0, 1, 2, 3, 4, 5, 7, 10, 11, 20, 50, 100, 1000]),
        1 => select(vec![1 << 20, (1 << 30) - 1, 1 << 30, i32::MAX - 1, i32::MAX]),
    ]
}

/// Amounts of usage, requests and values; the numbers keep the API's freedom of notation.
fn amount() -> impl Strategy<Value = Value> {
    let plain = [
        "0", "10m", "100m", "250m", "500m", "1", "2", "3", "7", "64Mi", "1Gi",
    ];
    let odd = [
        "1n",
        "1500u",
        "0.3",
        ".5",
        "1e3",
        "12E2",
        "1E",
        "8Ei",
        "0.0000000000000000000",
        "9e18",
    ];
    prop_oneof![
        8 => select(plain.to_vec()).prop_map(Value::from),
        2 => select(odd.to_vec()).prop_map(Value::from),
        1 => select(vec![json!(0), json!(1), json!(1.5), json!(300)]),
    ]
}

/// Custom and external metrics may also be negative.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        9 => amount(),
        1 => select(vec!["-1", "-1500u", "-10", "-8Ei"]).prop_map(Value::from),
    ]
}

/// Targets are positive: validation ensures that.
fn wanted() -> impl Strategy<Value = &'static str> {
    select(vec![
        "1m", "100m", "0.3", "500m", "1", "1500m", "2", "10", "1e3", "100Mi", "1E", "9E",
    ])
}

fn target() -> impl Strategy<Value = Value> {
    let types = select(vec!["Utilization", "Value", "AverageValue"]);
    let percent = weighted(0.5, select(vec![1, 11, 50, 80, 100, 150, i32::MAX]));
    (
        types,
        weighted(0.6, wanted()),
        weighted(0.5, wanted()),
        percent,
    )
        .prop_map(|(type_, value, average, percent)| {
            json!({
                "type": type_, "value": value, "averageValue": average,
                "averageUtilization": percent,
            })
        })
}

fn identifier(name: &'static str) -> impl Strategy<Value = Value> {
    let selectors = vec![
        Value::Null,
        Value::Null,
        json!({}),
        json!({"matchLabels": {"queue": "a"}}),
        json!({"matchExpressions": [{"key": "queue", "operator": "Around"}]}),
    ];
    select(selectors).prop_map(move |selector| json!({"name": name, "selector": selector}))
}

/// Objects that metrics may describe. A namespace is looked up under the HPA's own name for it.
fn objects() -> Vec<Value> {
    vec![
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"}),
        json!({"apiVersion": "v1", "kind": "Namespace", "name": "default"}),
    ]
}

fn metric() -> BoxedStrategy<Value> {
    let resource = || select(vec!["cpu", "cpu", "cpu", "memory", "nvidia.com/gpu"]);
    let container = select(vec!["app", "app", "proxy", "absent"]);
    prop_oneof![
        3 => (resource(), target()).prop_map(|(name, target)| {
            json!({"type": "Resource", "resource": {"name": name, "target": target}})
        }),
        2 => (resource(), container, target()).prop_map(|(name, container, target)| {
            let source = json!({"name": name, "container": container, "target": target});
            json!({"type": "ContainerResource", "containerResource": source})
        }),
        2 => (identifier("rps"), wanted()).prop_map(|(metric, average)| {
            let target = json!({"type": "AverageValue", "averageValue": average});
            json!({"type": "Pods", "pods": {"metric": metric, "target": target}})
        }),
        2 => (identifier("hits"), select(objects()), target()).prop_map(|(metric, object, target)| {
            let source = json!({"metric": metric, "describedObject": object, "target": target});
            json!({"type": "Object", "object": source})
        }),
        2 => (identifier("queue"), target()).prop_map(|(metric, target)| {
            json!({"type": "External", "external": {"metric": metric, "target": target}})
        }),
    ]
    .boxed()
}

fn rules() -> impl Strategy<Value = Value> {
    let policy = (
        select(vec!["Pods", "Percent"]),
        select(vec![1, 4, 10, 50, 90, 100, 200, 900, 1_000_000, i32::MAX]),
        select(vec![1, 15, 60, 300, 1800]),
    )
        .prop_map(|(type_, value, period)| json!({"type": type_, "value": value, "periodSeconds": period}));
    let select_policy = weighted(0.6, select(vec!["Max", "Min", "Disabled"]));
    let window = weighted(0.7, select(vec![0, 1, 15, 60, 300, 3600]));
    let tolerance = weighted(0.2, select(vec!["0", "0.05", "0.3", "100m", "2"]));
    (
        weighted(0.8, vec(policy, 1..4)),
        select_policy,
        window,
        tolerance,
    )
        .prop_map(|(policies, select_policy, window, tolerance)| {
            json!({
                "policies": policies, "selectPolicy": select_policy,
                "stabilizationWindowSeconds": window, "tolerance": tolerance,
            })
        })
}

fn behavior() -> impl Strategy<Value = Value> {
    (weighted(0.8, rules()), weighted(0.8, rules()))
        .prop_map(|(up, down)| json!({"scaleUp": up, "scaleDown": down}))
}

/// An HPA with limits around the replicas of its target.
fn hpa(name: &'static str) -> BoxedStrategy<Value> {
    let limits = (select(vec![0, 0, 1, 1, 2, 3, 5, 10]), replicas());
    let conditions = weighted(0.6, proptest::bool::weighted(0.7)).prop_map(|zeroed| {
        let condition = |zeroed| json!([{"type": "ScaledToZero", "status": if zeroed { "True" } else { "False" }}]);
        zeroed.map(condition)
    });
    let status = (replicas(), conditions);
    (
        limits,
        vec(metric(), 0..4),
        weighted(0.6, behavior()),
        status,
    )
        .prop_map(
            move |((min, above), metrics, behavior, (desired, conditions))| {
                let spec = json!({
                    "scaleTargetRef": {"name": name},
                    "minReplicas": min, "maxReplicas": above.max(min).max(1),
                    "metrics": metrics, "behavior": behavior,
                });
                let own = json!({
                    "metadata": {"name": name, "uid": name},
                    "status": {"desiredReplicas": desired, "conditions": conditions},
                });
                build::with(build::hpa(&spec), &own)
            },
        )
        .boxed()
}

/// The HPA, perhaps another one, and their targets.
fn hpas() -> impl Strategy<Value = Vec<Value>> {
    let selector = prop_oneof![
        12 => Just("app=web"),
        1 => select(vec!["app in (web,other)", "tier!=be", "", "app in (", "app=nothing"]),
    ];
    let scale = weighted(
        0.95,
        (
            replicas(),
            weighted(0.7, replicas()),
            selector,
            any::<bool>(),
        ),
    );
    let other = (
        hpa("other"),
        replicas(),
        select(vec!["app=other", "tier=be"]),
    );
    (hpa("web"), scale, weighted(0.15, other)).prop_map(|(hpa, scale, other)| {
        let saved = |name: &str, spec: i32, status: i32, selector: &str| {
            json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {"replicas": spec}, "status": {"replicas": status, "selector": selector},
            })
        };
        let mut items = vec![hpa];
        if let Some((spec, status, selector, as_workload)) = scale {
            let status = status.unwrap_or(spec);
            items.push(if as_workload && selector == "app=web" {
                json!({
                    "apiVersion": "apps/v1", "kind": "Deployment",
                    "metadata": {"name": "web", "namespace": "default"},
                    "spec": {"replicas": spec, "selector": {"matchLabels": {"app": "web"}}},
                    "status": {"replicas": status},
                })
            } else {
                saved("web", spec, status, selector)
            });
        }
        if let Some((other, spec, selector)) = other {
            items.push(other);
            items.push(saved("other", spec, spec, selector));
        }
        items
    })
}

fn requests() -> impl Strategy<Value = Value> {
    (weighted(0.93, amount()), weighted(0.8, amount()))
        .prop_map(|(cpu, memory)| present(&[("cpu", cpu), ("memory", memory)]))
}

/// Returns the entries that are present.
fn present(entries: &[(&str, Option<Value>)]) -> Value {
    let there = entries
        .iter()
        .filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    Value::Object(there.collect())
}

fn container(name: &'static str) -> impl Strategy<Value = Value> {
    requests().prop_map(move |requests| json!({"name": name, "resources": {"requests": requests}}))
}

fn pod_spec() -> impl Strategy<Value = Value> {
    let init =
        (container("init"), weighted(0.5, Just("Always"))).prop_map(|(mut container, policy)| {
            container["restartPolicy"] = json!(policy);
            container
        });
    let containers = (container("app"), weighted(0.4, container("proxy")));
    let rest = (
        vec(init, 0..2),
        weighted(0.1, requests()),
        weighted(0.1, requests()),
    );
    (containers, rest).prop_map(|((app, proxy), (init, requests, overhead))| {
        let containers: Vec<_> = std::iter::once(app).chain(proxy).collect();
        json!({
            "containers": containers, "initContainers": init,
            "resources": requests.map(|requests| json!({"requests": requests})),
            "overhead": overhead,
        })
    })
}

fn pod_status() -> impl Strategy<Value = Value> {
    let phase = prop_oneof![
        8 => Just("Running"),
        2 => select(vec!["Pending", "Failed", "Succeeded", "Unknown", ""]),
    ];
    let ready = (
        select(vec!["True", "True", "True", "False", "Unknown"]),
        weighted(0.95, time()),
    )
        .prop_map(
            |(status, time)| json!({"type": "Ready", "status": status, "lastTransitionTime": time}),
        );
    (phase, weighted(0.95, time()), weighted(0.95, ready)).prop_map(|(phase, start, ready)| {
        let conditions: Vec<_> = ready.into_iter().collect();
        json!({"phase": phase, "startTime": start, "conditions": conditions})
    })
}

/// Usage of a pod as metrics-server reports it, without a name yet.
fn usage() -> impl Strategy<Value = Value> {
    let container = |name: &'static str| {
        (weighted(0.95, amount()), amount()).prop_map(move |(cpu, memory)| {
            let usage = present(&[("cpu", cpu), ("memory", Some(memory))]);
            json!({"name": name, "usage": usage})
        })
    };
    let containers = (
        weighted(0.97, container("app")),
        weighted(0.4, container("proxy")),
    );
    (containers, time(), select(vec!["15s", "30s", "1m0s"])).prop_map(
        |((app, proxy), time, window)| {
            let containers: Vec<_> = app.into_iter().chain(proxy).collect();
            json!({
                "apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics",
                "timestamp": time, "window": window, "containers": containers,
            })
        },
    )
}

/// Pods, and the usage of most of them and of some that no longer exist.
fn pods() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    let labels = (
        select(vec!["web", "web", "web", "web", "other"]),
        select(vec!["fe", "be"]),
    );
    let pod = (
        labels,
        pod_spec(),
        pod_status(),
        weighted(0.08, time()),
        weighted(0.85, usage()),
    );
    let strangers = vec(usage(), 0..2);
    (vec(pod, 0..8), prop_oneof![4 => Just(Vec::new()), 1 => strangers]).prop_map(|(all, strangers)| {
        let (mut pods, mut metrics) = (Vec::new(), Vec::new());
        for (number, ((app, tier), spec, status, deleted, usage)) in all.into_iter().enumerate() {
            let metadata = json!({
                "name": format!("web-{number}"), "namespace": "default",
                "labels": {"app": app, "tier": tier},
            });
            if let Some(mut usage) = usage {
                usage["metadata"] = metadata.clone();
                metrics.push(usage);
            }
            let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status});
            pod["metadata"]["deletionTimestamp"] = json!(deleted);
            pods.push(pod);
        }
        for (number, mut usage) in strangers.into_iter().enumerate() {
            usage["metadata"] = json!({
                "name": format!("gone-{number}"), "namespace": "default",
                "labels": {"app": "web", "tier": "fe"},
            });
            metrics.push(usage);
        }
        (pods, metrics)
    })
}

/// The content of the custom metrics API: at most one value per pod and object, for each selector that metrics have. One
/// without a selector could be of several metrics, and unknown.
fn custom() -> impl Strategy<Value = Vec<Value>> {
    let item = |object: Value, name: &'static str| {
        weighted(
            0.8,
            (value(), time(), weighted(0.5, select(vec![0, 30, 60]))),
        )
        .prop_map(move |there| {
            let (value, time, window) = there?;
            let of = |selector: Value| {
                json!({
                    "describedObject": object, "metric": {"name": name, "selector": selector},
                    "timestamp": time, "windowSeconds": window, "value": value,
                })
            };
            Some([Value::Null, json!({"matchLabels": {"queue": "a"}})].map(of))
        })
    };
    let of_pods = (0..8).map(|number| {
        let name = format!("web-{number}");
        let pod = json!({"kind": "Pod", "namespace": "default", "name": name, "apiVersion": "/v1"});
        item(pod, "rps").boxed()
    });
    let of_objects = objects().into_iter().map(|mut object| {
        object["namespace"] = json!("default");
        item(object, "hits").boxed()
    });
    let items: Vec<_> = of_pods.chain(of_objects).collect();
    items.prop_map(|items| items.into_iter().flatten().flatten().collect())
}

fn external() -> impl Strategy<Value = Value> {
    (value(), select(vec!["a", "b"]), time()).prop_map(|(value, queue, time)| {
        json!({
            "metricName": "queue", "metricLabels": {"queue": queue},
            "timestamp": time, "value": value,
        })
    })
}

fn errors() -> impl Strategy<Value = Vec<Value>> {
    let error = (
        select(vec![
            "mapping",
            "scale",
            "scaleUpdate",
            "resource",
            "resource",
            "custom",
            "external",
        ]),
        weighted(0.5, select(vec!["cpu", "memory", "rps", "hits", "queue"])),
        select(vec![
            "the server is currently unable to handle the request",
            "out of luck: 100%",
        ]),
    )
        .prop_map(|(api, metric, message)| {
            let metric = metric.filter(|_| matches!(api, "resource" | "custom" | "external"));
            json!({"api": api, "metric": metric, "message": message})
        });
    prop_oneof![3 => Just(Vec::new()), 1 => vec(error, 1..3)]
}

/// The controller's history. An event is a number of replicas that were added or removed.
fn memory() -> impl Strategy<Value = [Vec<Value>; 3]> {
    let entry = |(replicas, time)| json!({"replicas": replicas, "time": time});
    let recommendations = vec((replicas(), time()).prop_map(entry), 0..5);
    let changes = prop_oneof![
        9 => select(vec![1, 2, 4, 5, 10, 30, 100, 1000]),
        1 => select(vec![1_000_000, 1 << 30, i32::MAX]),
    ];
    let events = move || {
        let event = (changes.clone(), time()).prop_map(entry);
        prop_oneof![1 => Just(Vec::new()), 1 => vec(event, 1..4)]
    };
    (recommendations, events(), events()).prop_map(<[_; 3]>::from)
}

fn state() -> impl Strategy<Value = Value> {
    let window = || {
        weighted(
            0.3,
            select(vec!["0s", "1s", "30s", "1m0.5s", "5m0s", "1h0m0s"]),
        )
    };
    // Most have the version that the others are checked against.
    let versions =
        prop_oneof![2 => Just(36u32), 1 => 27u32..39].prop_map(|minor| format!("v1.{minor}"));
    let flags = (
        weighted(0.3, select(vec![0.0, 0.01, 0.1, 0.5, 3.0])),
        window(),
        window(),
        window(),
    );
    let gates = (
        weighted(0.8, proptest::bool::weighted(0.7)),
        weighted(0.3, any::<bool>()),
        weighted(0.3, any::<bool>()),
    );
    (versions, flags, gates, memory(), errors()).prop_map(
        |(
            version,
            (tolerance, down, initialization, delay),
            (zero, own, pod_level),
            memory,
            errors,
        )| {
            let [recommendations, ups, downs] = memory;
            let gates = [
                ("HPAScaleToZero", zero),
                ("HPAConfigurableTolerance", own),
                ("PodLevelResources", pod_level),
            ];
            let gates = gates.map(|(name, on)| (name, on.map(Value::from)));
            json!({
                "apiVersion": "kubectl-hpa/v1alpha1", "kind": "ControllerState",
                "now": before(0),
                "kubernetesVersion": version,
                "flags": {
                    "tolerance": tolerance, "downscaleStabilization": down,
                    "cpuInitializationPeriod": initialization, "initialReadinessDelay": delay,
                },
                "featureGates": present(&gates),
                "recommendations": recommendations, "scaleUpEvents": ups, "scaleDownEvents": downs,
                "errors": errors,
            })
        },
    )
}
