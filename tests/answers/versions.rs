//! Differences between versions that no recorded answer covers: v1.23 to v1.25, v1.30, rare
//! situations of the others, and API servers other than v1.36.2. Each row is derived by hand, and
//! a comment gives the reasoning; the sources are the patch levels of `pkg/controller/podautoscaler` that
//! were read (1.23.0, 1.25.9, 1.26.4) and pull requests of kubernetes/kubernetes. No row shows what a
//! controller said.

use crate::common;
use crate::common::build::{self, average, pod_metrics, queue, resource_of, utilization};

use kubectl_hpa::apiserver::admit::{AdmissionError, admit};
use kubectl_hpa::apiserver::default::AdmissionRules;
use serde_json::{Value, json};

/// One situation in which versions differ.
struct Case {
    /// What it is about.
    rule: &'static str,
    /// The HPA's spec, except its target and bounds, which are 1 to 100.
    spec: Value,
    /// More fields of the `ControllerState`.
    state: Value,
    /// The target's replicas, desired and current.
    replicas: i32,
    /// Pods, their metrics, and other objects.
    objects: Vec<Value>,
    /// Values at a path of the answer, each with the version since which they hold.
    answers: Vec<(&'static str, &'static str, Value)>,
}

impl Case {
    fn new(rule: &'static str, spec: Value) -> Self {
        Self {
            rule,
            spec,
            state: json!({}),
            replicas: 2,
            objects: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn with(mut self, objects: impl IntoIterator<Item = Value>) -> Self {
        self.objects.extend(objects);
        self
    }

    fn at(self, replicas: i32) -> Self {
        Self { replicas, ..self }
    }

    fn stating(self, state: Value) -> Self {
        Self { state, ..self }
    }

    fn answer(mut self, version: &'static str, place: &'static str, value: Value) -> Self {
        self.answers.push((version, place, value));
        self
    }

    /// Returns the object that `-o json` prints, with the notes.
    fn run(&self, version: &str) -> Value {
        let version = json!({"kubernetesVersion": version});
        let mut spec = self.spec.clone();
        let status = spec["status"].take();
        let hpa = build::hpa(&json!({"minReplicas": 1}));
        let own = json!({"metadata": {"generation": 7}, "spec": spec, "status": status});
        let mut items = vec![
            build::with(build::state(&version), &self.state),
            build::with(hpa, &own),
            build::scale(self.replicas),
        ];
        items.extend(self.objects.iter().cloned());
        let input = common::read(&build::list(items)).expect("an input");
        common::explain(&input).1
    }
}

/// Returns a pod in a phase, with these fields of its spec.
fn pod(name: &str, phase: &str, spec: &Value) -> Value {
    build::with(
        build::pod(name),
        &json!({"spec": spec, "status": {"phase": phase}}),
    )
}

fn requesting(cpu: &str) -> Value {
    json!({"containers": [build::requesting("app", cpu)]})
}

/// Returns a target for all pods' CPU.
fn cpu(target: &Value) -> Value {
    build::resource("cpu", target)
}

/// Returns a target for the queue.
fn external(target: &Value) -> Value {
    build::external("queue", target)
}

/// Returns scale changes: 4 added 30 s ago, 2 removed 20 s ago.
fn changes() -> Value {
    json!({
        "scaleUpEvents": [{"replicas": 4, "time": "2026-11-21T05:59:30Z"}],
        "scaleDownEvents": [{"replicas": 2, "time": "2026-11-21T05:59:40Z"}],
    })
}

fn behavior(direction: &str, pods: i32) -> Value {
    json!({direction: {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": pods, "periodSeconds": 60}]}})
}

const FAILED: &str = "failed to compute desired number of replicas based on listed metrics for \
                      Deployment/default/web: invalid metrics (1 invalid out of 1), first error is: ";

fn failed(error: &str) -> Value {
    json!(format!("{FAILED}{error}"))
}

const PASS: &str = "/outcome/error";
const SCALE: &str = "/outcome/scaleTo";
const PROPOSAL: &str = "/proposal";
const GENERATION: &str = "/outcome/status/observedGeneration";
const ACTIVE: &str = "/outcome/status/conditions/1/message";
const EVENT: &str = "/outcome/events/0/message";

/// Returns another HPA with the same target.
fn other(name: &str) -> Value {
    let hpa = build::hpa(&json!({"minReplicas": 1, "metrics": [cpu(&utilization(50))]}));
    build::with(hpa, &json!({"metadata": {"name": name, "uid": name}}))
}

fn controllers() -> Vec<Case> {
    let one = || {
        [
            pod("web-0", "Running", &requesting("100m")),
            pod_metrics("web-0", "100m"),
        ]
    };
    let no_metrics = "unable to get metrics for resource cpu: no metrics returned from resource \
                      metrics API";
    let unread = "failed to get cpu usage: unable to get metrics for resource cpu: unable to fetch \
                  metrics from resource metrics API: ";
    vec![
        // 1.23.0 subtracts 4 from 10 and allows 4 more: nothing. #109058, in 1.25.9, also adds back
        // the 2 removed: 10 - 4 + 2 = 8, and 4 more.
        Case::new(
            "the limit for scaling up counts removed replicas",
            json!({"metrics": [external(&average("1"))], "behavior": behavior("scaleUp", 4)}),
        )
        .at(10)
        .stating(changes())
        .with([queue(&["100"])])
        .answer("v1.23.0", SCALE, json!(null))
        .answer("v1.24.17", SCALE, json!(null))
        .answer("v1.25.9", SCALE, json!(12)),
        // 1.23.0 adds the 2 removed to 10 and allows 2 fewer: nothing. Since then 8 and 2 fewer.
        Case::new(
            "the limit for scaling down counts added replicas",
            json!({"metrics": [external(&average("1"))], "behavior": behavior("scaleDown", 2)}),
        )
        .at(10)
        .stating(changes())
        .with([queue(&["1"])])
        .answer("v1.23.0", SCALE, json!(null))
        .answer("v1.25.9", SCALE, json!(6)),
        // 1.23.0 returns these errors as they are, 1.25.9 wraps them like those of the other types.
        Case::new(
            "errors of resource metrics name the metric",
            json!({"metrics": [cpu(&utilization(50))]}),
        )
        .with([pod("web-0", "Running", &requesting("100m"))])
        .answer("v1.23.0", PASS, failed(&format!("failed to get cpu utilization: {no_metrics}")))
        .answer("v1.24.17", EVENT, json!(format!("failed to get cpu utilization: {no_metrics}")))
        .answer(
            "v1.25.9",
            PASS,
            failed(&format!(
                "failed to get cpu resource metric value: failed to get cpu utilization: {no_metrics}"
            )),
        )
        .answer("v1.25.9", EVENT, json!(format!("failed to get cpu utilization: {no_metrics}"))),
        Case::new(
            "errors of external metrics name the metric",
            json!({"metrics": [external(&average("1"))]}),
        )
        .answer(
            "v1.24.0",
            PASS,
            failed(
                "failed to get queue external metric: unable to get external metric default/queue/nil: no \
                 metrics returned from external metrics API",
            ),
        )
        .answer(
            "v1.25.9",
            PASS,
            failed(
                "failed to get queue external metric value: failed to get queue external metric: unable to \
                 get external metric default/queue/nil: no metrics returned from external metrics API",
            ),
        ),
        // #112011: 1.25.9 does not know the selectors of other HPAs. 200% of 50%: twice one pod.
        Case::new(
            "two HPAs over the same pods",
            json!({"metrics": [cpu(&utilization(50))]}),
        )
        .at(1)
        .with(one())
        .with([other("other")])
        .answer("v1.25.9", SCALE, json!(2))
        .answer("v1.26.4", "/outcome/status/conditions/1/reason", json!("AmbiguousSelector")),
        // 100m of 100m is half of 200%. Up to 1.25.9 the missing pod counts as 100m: 200m of 200m
        // stay at half, ceil(0.5 x 2). From 1.26.4 on as 200m: 300m of 200m are 0.75, ceil(1.5).
        Case::new(
            "a missing pod counts as its target",
            json!({"metrics": [cpu(&utilization(200))]}),
        )
        .with(one())
        .with([pod("web-1", "Running", &requesting("100m"))])
        .answer("v1.25.9", PROPOSAL, json!(1))
        .answer("v1.26.4", PROPOSAL, json!(2)),
        // The pod is pending, so no metric is left, and it requests nothing. 1.25.9 checks
        // requests first.
        Case::new("no metrics left", json!({"metrics": [cpu(&utilization(50))]}))
            .with([pod("web-0", "Pending", &json!({"containers": [{"name": "app"}]}))])
            .with([pod_metrics("web-0", "100m")])
            .answer("v1.25.9", EVENT, json!("failed to get cpu utilization: missing request for cpu"))
            .answer(
                "v1.26.4",
                EVENT,
                json!("failed to get cpu utilization: did not receive metrics for any ready pods"),
            ),
        Case::new("a missing request", json!({"metrics": [cpu(&utilization(50))]}))
            .with([pod("web-0", "Running", &json!({"containers": [{"name": "app"}]}))])
            .with([pod_metrics("web-0", "100m")])
            .answer("v1.25.9", EVENT, json!("failed to get cpu utilization: missing request for cpu"))
            .answer(
                "v1.26.4",
                EVENT,
                json!(
                    "failed to get cpu utilization: missing request for cpu in container app of Pod \
                     web-0"
                ),
            ),
        Case::new("raw values are usage", json!({"metrics": [cpu(&average("50m"))]}))
            .with([pod("web-0", "Running", &requesting("100m"))])
            .answer("v1.25.9", EVENT, json!(format!("failed to get cpu utilization: {no_metrics}")))
            .answer("v1.26.4", EVENT, json!(format!("failed to get cpu usage: {no_metrics}"))),
        Case::new(
            "a target without values",
            json!({"metrics": [cpu(&json!({"type": "Utilization"}))]}),
        )
        .answer(
            "v1.23.0",
            EVENT,
            json!(
                "invalid resource metric source: neither a utilization target nor a value target \
                 was set"
            ),
        )
        .answer(
            "v1.26.4",
            EVENT,
            json!(
                "invalid resource metric source: neither an average utilization target nor an \
                 average value (usage) target was set"
            ),
        ),
        // 1.23.0 to 1.35: with minReplicas 0 metrics decide, whatever the gate: ceil(20/15).
        // 1.36 checks the condition, which is missing.
        Case::new(
            "zero replicas without the condition",
            json!({"minReplicas": 0, "metrics": [external(&json!({"type": "Value", "value": "15"}))]}),
        )
        .at(0)
        .with([queue(&["20"])])
        .answer("v1.23.0", SCALE, json!(2))
        .answer("v1.25.9", SCALE, json!(2))
        .answer("v1.36.2", SCALE, json!(null))
        .answer("v1.37.0", SCALE, json!(null)),
        // The condition counts if the gate is on, which is the default in 1.37 (#139648).
        Case::new(
            "zero replicas with the condition",
            json!({"minReplicas": 0, "metrics": [external(&json!({"type": "Value", "value": "15"}))],
                "status": {"desiredReplicas": 0, "conditions": [{"type": "ScaledToZero",
                    "status": "True", "reason": "ScaledToZero",
                    "lastTransitionTime": "2026-11-21T05:00:00Z"}]}}),
        )
        .at(0)
        .with([queue(&["20"])])
        .answer("v1.36.2", SCALE, json!(null))
        .answer("v1.37.0", SCALE, json!(2)),
        // The limits apply the minimum without `behavior`, so nothing is raised, which would be a reason.
        Case::new(
            "waking without a metric above zero",
            json!({"minReplicas": 2, "metrics": [external(&json!({"type": "Value", "value": "15"}))],
                "status": {"desiredReplicas": 0, "conditions": [{"type": "ScaledToZero",
                    "status": "True", "reason": "ScaledToZero",
                    "lastTransitionTime": "2026-11-21T05:00:00Z"}]}}),
        )
        .at(0)
        .with([queue(&["0"])])
        .answer("v1.37.0", SCALE, json!(2))
        .answer("v1.37.0", "/outcome/events/0/message", json!("New size: 2; reason: ")),
        // Locked since 1.30: stating the gate makes no difference.
        Case::new(
            "container metrics whose gate is off",
            json!({"metrics": [resource_of("cpu", "app", &utilization(50))]}),
        )
        .at(1)
        .stating(json!({"featureGates": {"HPAContainerMetrics": false}}))
        .with(one())
        .answer("v1.26.4", SCALE, json!(2))
        .answer(
            "v1.29.14",
            PASS,
            failed("ContainerResource metric type is not supported: disabled by the feature gate"),
        )
        .answer("v1.30.14", SCALE, json!(2)),
        // Its condition without a type is appended once.
        Case::new(
            "container metrics whose gate was off before",
            json!({
                "metrics": [resource_of("cpu", "app", &utilization(50))],
                "status": {"desiredReplicas": 1, "conditions": [{"type": "", "status": ""}]},
            }),
        )
        .at(1)
        .stating(json!({"featureGates": {"HPAContainerMetrics": false}}))
        .with(one())
        .answer("v1.29.14", "/outcome/status/conditions/1/type", json!("AbleToScale"))
        .answer("v1.29.14", "/outcome/status/conditions/2", json!(null)),
        // 1.30.14 behaves like 1.29.14 and 1.31.14, which were recorded: |1 - 1.1| is above 0.1 in floats.
        Case::new("the edge of the tolerance", json!({"metrics": [cpu(&utilization(50))]}))
            .at(1)
            .with([pod("web-0", "Running", &requesting("100m")), pod_metrics("web-0", "55m")])
            .answer("v1.30.14", SCALE, json!(2))
            .answer("v1.33.13", SCALE, json!(null)),
        // web-0 uses exactly its target, web-1 is missing. Until 1.27.16 any ratio not below 1 fills
        // in zero: 100m over 2 pods are half, ceil(0.5 x 2). 1.28.15 fills in only above 1, and
        // the ratio stays.
        Case::new("a missing pod with one on its target", json!({"metrics": [cpu(&average("100m"))]}))
            .with(one())
            .with([pod("web-1", "Running", &requesting("100m"))])
            .answer("v1.27.16", PROPOSAL, json!(1))
            .answer("v1.28.15", PROPOSAL, json!(2)),
        // Until 1.28.15 setCondition passes the message to Sprintf as its format, without arguments;
        // the event is sent as it is.
        Case::new("an error that looks like a format", json!({"metrics": [cpu(&average("1"))]}))
            .stating(json!({"errors": [{"api": "resource", "message": "50%d of 100%"}]}))
            .answer("v1.28.15", "/outcome/status/conditions/1/message", json!(format!(
                "the HPA was unable to compute the replica count: {unread}50%!d(MISSING) of \
                 100%!(NOVERB)"
            )))
            .answer("v1.28.15", EVENT, json!(format!("{unread}50%d of 100%")))
            .answer("v1.29.14", "/outcome/status/conditions/1/message", json!(format!(
                "the HPA was unable to compute the replica count: {unread}50%d of 100%"
            ))),
        // 3e9 does not fit: the processor turns it into the smallest integer, 1.34.9 into the largest.
        Case::new("more per pod than fit", json!({"metrics": [external(&average("1"))]}))
            .with([queue(&["3000000000"])])
            .answer("v1.33.13", PROPOSAL, json!(i32::MIN))
            .answer("v1.34.9", PROPOSAL, json!(i32::MAX)),
        // The sum is negative on the way, which 1.34.9 treats as an overflow.
        Case::new("a sum that starts below zero", json!({"metrics": [external(&average("1"))]}))
            .with([queue(&["-5", "10"])])
            .answer("v1.33.13", PROPOSAL, json!(5))
            .answer("v1.34.9", PROPOSAL, json!(i32::MAX)),
        Case::new(
            "more for all than fit",
            json!({"metrics": [external(&json!({"type": "Value", "value": "1"}))]}),
        )
        .with(one())
        .with([queue(&["3000000000"])])
        .answer("v1.34.9", PROPOSAL, json!(i32::MIN))
        .answer("v1.35.6", PROPOSAL, json!(i32::MAX)),
        // In thousandths 2 x 9223372036854775000 - 2^64 = -1616, so ceil(-1.616); 1.35.6 saturates at
        // the largest sum.
        Case::new(
            "a sum that overflows",
            json!({"metrics": [external(&json!({"type": "Value", "value": "1"}))]}),
        )
        .with(one())
        .with([queue(&["9223372036854775"; 2])])
        .answer("v1.34.9", PROPOSAL, json!(-1))
        .answer("v1.35.6", PROPOSAL, json!(i32::MAX)),
        // Until 1.34.9 web-1 requests nothing for the container: 200m of 100m, four times 50%, times the
        // 2 ready pods.
        Case::new(
            "a container that a pod does not have",
            json!({"metrics": [resource_of("cpu", "app", &utilization(50))]}),
        )
        .with(one())
        .with([pod("web-1", "Running", &json!({"containers": [{"name": "other"}]}))])
        .with([pod_metrics("web-1", "100m")])
        .answer("v1.34.9", PROPOSAL, json!(8))
        .answer(
            "v1.35.6",
            EVENT,
            json!("failed to get cpu utilization: container app not found in Pod web-1"),
        ),
        // The gate is gone in 1.37 (#140107): a tolerance counts whatever is stated. 60% of 50%.
        Case::new(
            "a tolerance whose gate is off",
            json!({"metrics": [cpu(&utilization(50))],
                "behavior": {"scaleUp": {"tolerance": "500m"}}}),
        )
        .at(1)
        .stating(json!({"featureGates": {"HPAConfigurableTolerance": false}}))
        .with([pod("web-0", "Running", &requesting("100m")), pod_metrics("web-0", "60m")])
        .answer("v1.36.2", SCALE, json!(2))
        .answer("v1.37.0", SCALE, json!(null)),
        // #139029 puts the words into the intended order.
        Case::new(
            "an object without a metric",
            json!({"metrics": [{"type": "Object", "object": {"metric": {"name": "rps"},
                "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "main"},
                "target": {"type": "Value", "value": "10"}}}]}),
        )
        .answer(
            "v1.36.2",
            EVENT,
            json!(
                "unable to get metric rps: Service on default main/unable to fetch metrics from \
                 custom metrics API: the server could not find the metric rps for services main"
            ),
        )
        .answer(
            "v1.37.0",
            EVENT,
            json!(
                "unable to get metric rps on Service default/main: unable to fetch metrics from \
                 custom metrics API: the server could not find the metric rps for services main"
            ),
        ),
        // #138228: the status has metadata.generation. What someone else has left in a condition
        // stays from the version whose API knows the field.
        Case::new(
            "generations",
            json!({"metrics": [cpu(&utilization(50))], "status": {"observedGeneration": 3,
                "conditions": [{"type": "AbleToScale", "status": "True", "reason": "x",
                    "message": "", "observedGeneration": 5,
                    "lastTransitionTime": "2026-11-21T05:00:00Z"}]}}),
        )
        .with(one())
        .answer("v1.36.2", GENERATION, json!(null))
        .answer("v1.36.2", "/outcome/status/conditions/0/observedGeneration", json!(null))
        .answer("v1.37.0", GENERATION, json!(7))
        .answer("v1.37.0", "/outcome/status/conditions/0/observedGeneration", json!(5))
        .answer("v1.37.0", "/outcome/status/conditions/1/observedGeneration", json!(null)),
        Case::new(
            "without its gate a pass drops the generation",
            json!({"metrics": [cpu(&utilization(50))], "status": {"observedGeneration": 3}}),
        )
        .with(one())
        .stating(json!({"featureGates": {"HPAGeneration": false}}))
        .answer("v1.37.0", GENERATION, json!(null))
        // The gate is locked.
        .answer("v1.38.0", GENERATION, json!(7)),
        // #139142: the message names two of the HPAs, in random order; three with the older store.
        Case::new("HPAs of the same pods", json!({"metrics": [cpu(&utilization(50))]}))
            .with(one().into_iter().chain(["a", "b", "c"].map(other)))
            .answer(
                "v1.36.2",
                ACTIVE,
                json!("pods by selector app=web are controlled by multiple HPAs: \
                       [default/web default/a default/b default/c]"),
            )
            .answer(
                "v1.37.0",
                ACTIVE,
                json!("pods by selector app=web are controlled by more than one HPA \
                       (e.g. [default/web default/a])"),
            ),
        Case::new("HPAs of the same pods, older store", json!({"metrics": [cpu(&utilization(50))]}))
            .with(one().into_iter().chain(["a", "b", "c"].map(other)))
            .stating(json!({"featureGates": {"HPAOptimizedSelectorStore": false}}))
            .answer(
                "v1.37.0",
                ACTIVE,
                json!("pods by selector app=web are controlled by more than one HPA \
                       (e.g. [default/web default/a default/b])"),
            ),
        // Target and usage are 0, so the ratio is NaN.
        // `abs(1 - NaN) > tolerance` is false: status.replicas stays. An interval does not contain NaN.
        Case::new(
            "a ratio that is no number, of an average over the target",
            json!({"metrics": [external(&average("0"))]}),
        )
        .at(3)
        .with([queue(&["0"])])
        .answer("v1.32.13", PROPOSAL, json!(3))
        .answer("v1.33.13", PROPOSAL, json!(i32::MIN)),
        // #141302: half of the target; web-1 has ended, is missing until then and counts as 100m,
        // which makes 125m of 200m, 62% of 50%: more, so the 2 stay. Left out, one pod is enough.
        Case::new("a pod that has succeeded", json!({"metrics": [cpu(&utilization(50))]}))
            .with([pod("web-0", "Running", &requesting("100m")), pod_metrics("web-0", "25m")])
            .with([pod("web-1", "Succeeded", &requesting("100m"))])
            .answer("v1.37.0", PROPOSAL, json!(2))
            .answer("v1.38.0", PROPOSAL, json!(1)),
        // #142154: 100m of 100m and 100m of overhead are 50%, which is the target; without, twice.
        Case::new("the overhead of a pod", json!({"metrics": [cpu(&utilization(50))]}))
            .at(1)
            .with([
                pod(
                    "web-0",
                    "Running",
                    &json!({"containers": [{"name": "app"}], "overhead": {"cpu": "100m"},
                        "resources": {"requests": {"cpu": "100m"}}}),
                ),
                pod_metrics("web-0", "100m"),
            ])
            .answer("v1.37.0", PROPOSAL, json!(1))
            .answer("v1.38.0", PROPOSAL, json!(2)),
    ]
}

#[test]
fn controllers_differ_by_version() {
    let mut wrong = Vec::new();
    for case in controllers() {
        for (version, place, value) in &case.answers {
            let answer = case.run(version);
            let got = answer.pointer(place).unwrap_or(&Value::Null);
            if got != value {
                wrong.push(format!(
                    "{}, {version}: {place} is {got}, not {value}",
                    case.rule
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A version, and the causes that its API server reports.
type Causes = (&'static str, Vec<&'static str>);

/// Returns a manifest without uid, with these fields of its spec.
fn manifest(spec: &Value) -> Value {
    build::with(build::hpa(spec), &json!({"metadata": {"uid": null}}))
}

/// Returns manifests, each with the causes for which API servers of these versions reject it.
fn manifests() -> Vec<(Value, Vec<Causes>)> {
    let v2 = |spec: Value| manifest(&spec);
    let below_min =
        "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`";
    let container = json!([resource_of("cpu", "app", &utilization(50))]);
    vec![
        // 1.23.0 and 1.35.6 have one check for everything below 1.
        (
            v2(json!({"maxReplicas": null})),
            vec![
                (
                    "v1.35.6",
                    vec![
                        "spec.maxReplicas: Invalid value: 0: must be greater than 0",
                        below_min,
                    ],
                ),
                (
                    "v1.36.2",
                    vec![
                        "spec.maxReplicas: Required value: must be set and greater than 0",
                        below_min,
                    ],
                ),
            ],
        ),
        // 1.23.0 does not check it; 1.34.9 does.
        (
            v2(json!({"maxReplicas": 3, "scaleTargetRef": {"apiVersion": null}})),
            vec![
                ("v1.33.13", vec![]),
                (
                    "v1.34.9",
                    vec![
                        "spec.scaleTargetRef.apiVersion: Invalid value: \"\": apiVersion must \
                         specify API group",
                    ],
                ),
            ],
        ),
        // HPAContainerMetrics is off through 1.26; the text is 1.23.0's.
        (
            v2(json!({"maxReplicas": 3, "metrics": container})),
            vec![
                (
                    "v1.26.4",
                    vec![
                        "spec.metrics[0].containerResource: Required value: must populate \
                         information for the given metric source (only allowed when \
                         HPAContainerMetrics feature is enabled)",
                    ],
                ),
                ("v1.27.16", vec![]),
            ],
        ),
        // HPAScaleToZero is on since 1.37 (#139648).
        (
            v2(json!({"minReplicas": 0, "maxReplicas": 3, "metrics": [external(&average("1"))]})),
            vec![
                (
                    "v1.36.2",
                    vec!["spec.minReplicas: Invalid value: 0: must be greater than or equal to 1"],
                ),
                ("v1.37.0", vec![]),
            ],
        ),
        // v1 cannot omit the value next to an average; 1.36 drops it if it is zero.
        (
            build::with(
                v2(json!({"maxReplicas": 3})),
                &json!({"apiVersion": "autoscaling/v1",
                "metadata": {"annotations":
                    {"autoscaling.alpha.kubernetes.io/metrics": json!([{"type": "Object", "object":
                        {"metricName": "m", "targetValue": "0", "averageValue": "3",
                            "target": {"apiVersion": "v1", "kind": "Service", "name": "s"}}}])
                        .to_string()}}}),
            ),
            vec![
                (
                    "v1.35.6",
                    vec![
                        "spec.metrics[0].object.target.value: Invalid value: \"0\": must be positive",
                    ],
                ),
                ("v1.36.2", vec![]),
            ],
        ),
    ]
}

#[test]
fn api_servers_differ_by_version() {
    for (manifest, answers) in manifests() {
        for (version, want) in answers {
            let rules = AdmissionRules::of(&version.parse().expect("a version"));
            let causes: Vec<String> = match admit(&manifest.to_string(), "default", rules) {
                Ok(_) => Vec::new(),
                Err(AdmissionError::Invalid(invalid)) => {
                    invalid.causes.iter().map(ToString::to_string).collect()
                }
                Err(e) => panic!("{version}: {e}"),
            };
            assert_eq!(causes, want, "{version}: {manifest}");
        }
    }
}

#[test]
fn a_tolerance_is_dropped_where_its_gate_is_off() {
    let behavior = json!({"scaleUp": {"tolerance": "500m"}});
    let manifest = manifest(&json!({"maxReplicas": 3, "behavior": behavior}));
    for (version, kept) in [
        ("v1.32.13", false),
        ("v1.34.9", false),
        ("v1.35.6", true),
        ("v1.37.0", true),
    ] {
        let rules = AdmissionRules::of(&version.parse().expect("a version"));
        let object = admit(&manifest.to_string(), "default", rules).expect("a valid manifest");
        let up = object.spec.behavior.and_then(|behavior| behavior.scale_up);
        let tolerance = up.and_then(|rules| rules.tolerance);
        assert_eq!(tolerance.is_some(), kept, "{version}");
    }
}
