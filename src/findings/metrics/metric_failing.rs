//! The finding `metric-failing`.

use super::miss::{Miss, RefusedRight, Rejection, said};
use super::{ServedBy, api, end, failed, point_at_keda, points_at, short};
use crate::apimachinery::go;
use crate::findings::last_pass::{ACTIVE, READ_SINCE};
use crate::findings::prelude::*;
use crate::snapshot::hpa::{CrossVersionObjectReference, EXTERNAL, MetricSpec, MetricTarget};

/// A metrics API knows a metric and reports an error for it, at least to the controller; or the controller does not
/// ask for the metric, because its spec has a fault that the API server does not check.
///
/// Look at the backend that the adapter reads the metric from, or correct the spec of the metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricFailing {
    /// Its index in the spec, from 0.
    pub metric: usize,
    /// The API's message, or the controller's; empty if KEDA hides it behind a fallback.
    pub message: String,
    /// The reason.
    pub cause: FailureCause,
}

/// The reason why a metric fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureCause {
    /// Its trigger fails, and KEDA asks for this many replicas instead.
    Fallback(i32),
    /// The controller lacks a right.
    Refused(RefusedRight),
    /// The controller lacked a right in the last pass, and the metric was read with other rights or not at all.
    RefusedLast(RefusedRight),
    /// No API serves the kind of the described object.
    Unmapped(Unmapped),
    /// The controller does not request the metric.
    Rejected(Rejection),
    /// KEDA's metrics server has no connection to the operator, which reads the triggers and computes fallbacks.
    OperatorUnreached,
    /// Something behind the API fails.
    Backend,
}

impl Kind for MetricFailing {
    fn find(case: &Case<'_>) -> Vec<Finding> {
        case.metrics()
            .filter_map(|step| match Miss::of(case, step) {
                Some(Miss::Failing(text)) => Some(failed(case, Self::of(case, step, text))),
                Some(Miss::Rejected(rejection, text)) => {
                    let cause = FailureCause::Rejected(rejection);
                    Some(failed(case, Self::new(step, text, cause)))
                }
                Some(_) => None,
                None => fallen_back(case, step).or_else(|| refused_last(case, step)),
            })
            .collect()
    }

    fn failed_metrics(&self) -> Vec<usize> {
        vec![self.metric]
    }

    fn summary(&self, about: &About<'_>) -> String {
        let label = about.label(self.metric);
        let group = about.spec(self.metric).api_group();
        let (named, effect) = (about.effect(&label), about.effect("it"));
        match (&self.cause, about.not_of_keda(group)) {
            (FailureCause::Fallback(replicas), _) => format!(
                "{label} is not measured: its trigger fails, and KEDA asks for the {} of spec.fallback",
                count(*replicas, "replica")
            ),
            (
                FailureCause::Refused(RefusedRight {
                    user,
                    verb,
                    resource,
                }),
                _,
            ) => format!("{user} cannot {verb} {resource}.{group}, {named}"),
            (FailureCause::RefusedLast(right), _) => format!(
                "{} could not {} {}.{group} in the last pass, so nothing was scaled",
                right.user, right.verb, right.resource
            ),
            (FailureCause::Unmapped(Unmapped { object, .. }), _) => format!(
                "the API server has no kind {} in the group {:?}, {named}",
                object.kind,
                object.group()
            ),
            (FailureCause::Rejected(Rejection::Selector), _) => {
                format!("the selector of {label} is invalid, {effect}")
            }
            (FailureCause::Rejected(Rejection::Target), _) => {
                let type_ = &about.target_of(self.metric).type_;
                format!("the target of {label} has no field for its type {type_}, {effect}")
            }
            (FailureCause::Rejected(Rejection::Gate), _) => {
                format!("{label} needs the feature gate {GATE}, which is off, {effect}")
            }
            (
                FailureCause::Backend | FailureCause::OperatorUnreached,
                Some(ServedBy { service, .. }),
            ) => format!(
                "{label} fails, {effect}: {service} serves {}, not KEDA",
                api(group)
            ),
            (FailureCause::OperatorUnreached, None) => {
                format!(
                    "{label} fails, {effect}: KEDA's metrics server has no connection to keda-operator"
                )
            }
            (FailureCause::Backend, None) => {
                format!("{label} fails, {effect}: {}", end(&self.message))
            }
        }
    }

    fn evidence(&self, about: &About<'_>) -> Vec<String> {
        if let (FailureCause::Fallback(replicas), Some(owner)) = (&self.cause, about.owner()) {
            return vec![format!(
                "The condition Fallback of {owner} is True, and the value is the one for {replicas} replicas."
            )];
        }
        if let FailureCause::RefusedLast(_) = self.cause {
            let was_read = about
                .step(self.metric)
                .is_some_and(|step| step.proposal().is_some());
            let since = was_read.then(|| READ_SINCE.to_owned());
            return about.last_says(ACTIVE).into_iter().chain(since).collect();
        }
        if let FailureCause::Rejected(_) = self.cause {
            return vec![format!("The controller says: {}.", short(&self.message))];
        }
        let mut evidence = vec![format!("The API says: {}.", short(&self.message))];
        let group = about.spec(self.metric).api_group();
        evidence.extend(about.not_of_keda(group).as_ref().map(points_at));
        evidence
    }

    fn advice(&self, about: &About<'_>) -> Advice {
        let group = about.spec(self.metric).api_group();
        match (&self.cause, about.not_of_keda(group), about.owner()) {
            (FailureCause::Fallback(_), _, Some(owner)) => Remedy::LookAtScaledObject
                .says(format!("Find out why its trigger in {owner} fails."))
                .with(about.describe_scaled_object(owner)),
            (
                FailureCause::Refused(RefusedRight { user, .. })
                | FailureCause::RefusedLast(RefusedRight { user, .. }),
                ..,
            ) => {
                // `kubectl auth can-i` knows only the resources that discovery lists, and adapters need not list their
                // metrics.
                let ask = about.ask(self.metric).line;
                Remedy::Grant
                    .says("Grant it the right with a role and a binding.")
                    .with(format!("{ask} --as={}", shell_word(user)))
            }
            (FailureCause::Unmapped(unmapped), ..) => unmapped.advice(about, self.metric),
            (FailureCause::Rejected(rejection), ..) => rejection.advice(about, self.metric),
            (_, Some(served_by), _) => point_at_keda(&served_by),
            (FailureCause::OperatorUnreached, ..) => Remedy::LookAtApi
                .says(OPERATOR)
                .with("kubectl get pods --all-namespaces -l app=keda-operator"),
            (_, None, Some(owner)) if group == EXTERNAL => Remedy::LookAtScaledObject
                .says(format!(
                    "Look at its trigger in {owner}{}.",
                    about.or_fallback(owner, &[self.metric], "spec.fallback there")
                ))
                .with(about.describe_scaled_object(owner)),
            _ => look_at_backend(about, self.metric),
        }
    }

    fn objects(&self, about: &About<'_>) -> Vec<String> {
        match about.owner().filter(|_| self.is_fallback()) {
            Some(owner) => vec![format!("scaledobject/{}", owner.name)],
            None => about.own(),
        }
    }
}

impl MetricFailing {
    fn of(case: &Case<'_>, step: &MetricStep, text: &str) -> Self {
        let spec = case.spec(step);
        let refused = RefusedRight::read(text).map(if step.is_failed() {
            FailureCause::Refused
        } else {
            FailureCause::RefusedLast
        });
        let unmapped = || Unmapped::read(text, spec, case.target()).map(FailureCause::Unmapped);
        let is_unreached = is_operator_unreached(case, spec, text);
        let unreached = || is_unreached.then_some(FailureCause::OperatorUnreached);
        let cause = refused.or_else(unmapped).or_else(unreached);
        let cause = cause.unwrap_or(FailureCause::Backend);
        Self::new(step, text, cause)
    }

    fn new(step: &MetricStep, text: &str, cause: FailureCause) -> Self {
        Self {
            metric: step.index,
            message: text.to_owned(),
            cause,
        }
    }

    /// Whether the metric's value is a number of replicas that KEDA asks for, which was not measured.
    pub(crate) fn is_fallback(&self) -> bool {
        matches!(self.cause, FailureCause::Fallback(_))
    }
}

/// Whether KEDA's metrics server reports that its connection to the operator failed. Errors that the operator returns,
/// such as those of a trigger that uses gRPC too, start with `error when`.
fn is_operator_unreached(case: &Case<'_>, spec: &MetricSpec, text: &str) -> bool {
    let error = said(text);
    let unavailable = error.strip_prefix("rpc error: code = Unavailable desc = ");
    let is_own = unavailable.is_some_and(|it| !it.starts_with("error when "));
    let is_of_keda = case.snapshot.hpa.scaled_object().is_some() && spec.api_group() == EXTERNAL;
    is_of_keda && (is_own || TIMEOUTS.iter().any(|it| error.starts_with(it)))
}

/// The errors of KEDA's metrics server and of gRPC when the connection to the operator times out.
const TIMEOUTS: [&str; 3] = [
    "timeout while waiting to establish gRPC connection to KEDA Metrics Service server",
    "rpc error: code = DeadlineExceeded desc = latest balancer error: ",
    "rpc error: code = DeadlineExceeded desc = received context error while waiting for new LB policy update: ",
];

/// The advice on an operator that is not reached.
const OPERATOR: &str =
    "Look at keda-operator: its pod, Service, network policies and certificates.";

/// The feature gate of ContainerResource metrics.
const GATE: FeatureGate = FeatureGate::HPAContainerMetrics;

impl Rejection {
    /// Returns the advice to correct the spec of a metric.
    fn advice(self, about: &About<'_>, metric: usize) -> Advice {
        match self {
            Self::Selector => Remedy::CorrectMetric
                .says("Correct its selector, which the API server does not check.")
                .with(about.kubectl("get hpa", "-o yaml")),
            Self::Target => match &about.target_of(metric).average_value {
                Some(amount) => Remedy::CorrectMetric
                    .says(format!(
                        "Use averageValue: {amount} with type: AverageValue."
                    ))
                    .with_all(about.patch_target(metric, MetricTarget::per_replica(amount.clone()))),
                // A total needs to be divided, and a time or a share must not be.
                None => Remedy::CorrectMetric.says(
                    "If it is a total, such as a queue length, rename value to averageValue; if not, use type: Value.",
                ),
            },
            Self::Gate => Remedy::Upgrade
                .says("Upgrade to Kubernetes 1.30, or enable the gate if you can.")
                .with(about.kubectl("hpa explain", &format!("--feature-gates {GATE}=true"))),
        }
    }
}

/// Returns the advice to look at the source from which an API reads a metric.
fn look_at_backend(about: &About<'_>, metric: usize) -> Advice {
    let spec = about.spec(metric);
    let Some((namespace, name)) = datadog_metric(spec.name()) else {
        let api = api(spec.api_group());
        return Remedy::LookAtBackend
            .says(format!("Look at the backend of {api}."))
            .with(about.ask(metric));
    };
    let advice = Remedy::LookAtBackend.says(format!("Look at DatadogMetric {namespace}/{name}."));
    let (namespace, name) = (shell_word(namespace), shell_word(name));
    advice.with(format!(
        "kubectl describe datadogmetric {name} -n {namespace}"
    ))
}

/// A kind that no API serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmapped {
    /// The object of that kind.
    pub object: CrossVersionObjectReference,
    /// The object that was probably meant.
    pub meant: Option<CrossVersionObjectReference>,
}

impl Unmapped {
    /// Returns the advice to describe an object of another kind.
    fn advice(&self, about: &About<'_>, metric: usize) -> Advice {
        let Some(meant) = &self.meant else {
            return Remedy::DescribeObject
                .says("Correct describedObject of the metric.")
                .with("kubectl api-resources");
        };
        let path = format!("/spec/metrics/{metric}/object/describedObject");
        let replaced = about.replace(&path, json!(meant));
        let CrossVersionObjectReference {
            api_version, kind, ..
        } = meant;
        Remedy::DescribeObject
            .says(format!(
                "State apiVersion: {api_version} and kind: {kind} in describedObject."
            ))
            .with(replaced.unwrap_or_else(|| "kubectl api-resources".into()))
    }

    /// Recognizes the error of the controller's mapper about the object that a metric describes.
    fn read(text: &str, spec: &MetricSpec, target: &CrossVersionObjectReference) -> Option<Self> {
        let object = spec.described_object()?;
        let error = format!("no matches for kind {} in ", go::quote(&object.kind));
        text.contains(&error).then(|| {
            let same = |kind: &str| kind.eq_ignore_ascii_case(&object.kind);
            let known = KINDS.iter().find_map(|(version, kinds)| {
                Some((*version, *kinds.iter().find(|kind| same(kind))?))
            });
            let own = same(&target.kind).then(|| (&*target.api_version, &*target.kind));
            let meant = known
                .or(own)
                .map(|(version, kind)| CrossVersionObjectReference {
                    api_version: version.to_owned(),
                    kind: kind.to_owned(),
                    name: object.name.clone(),
                })
                .filter(|it| it.group() != object.group() || it.kind != object.kind);
            Self {
                object: object.clone(),
                meant,
            }
        })
    }
}

/// The kinds that every cluster has, by version: objects that metrics describe.
const KINDS: [(&str, &[&str]); 4] = [
    (
        "apps/v1",
        &["Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"],
    ),
    ("networking.k8s.io/v1", &["Ingress"]),
    ("batch/v1", &["Job", "CronJob"]),
    (
        "v1",
        &[
            "Service",
            "Pod",
            "Namespace",
            "Node",
            "ReplicationController",
        ],
    ),
];

/// Returns a finding about a value that KEDA substitutes for one that it cannot read: the target times the replicas of
/// its fallback, for a target of type Value divided by the ready pods (`doFallback` of KEDA).
pub(in crate::findings) fn fallen_back(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    let object = case.scaled_object()?;
    let stated = object.spec.fallback.as_ref()?;
    if object.condition("Fallback") != Some(true) || case.spec(step).api_group() != EXTERNAL {
        return None;
    }
    let proposal = step.proposal()?;
    let (target, value, ready) = match &step.target.average_value {
        Some(target) => (target, proposal.total.as_ref()?, 1),
        None => (
            step.target.value.as_ref()?,
            proposal.current.value.as_ref()?,
            proposal.counted?.ready,
        ),
    };
    let milli = target.approximate_f64() * 1e3;
    let asks_for = |replicas: &i32| {
        (milli * (f64::from(*replicas) / ready as f64)) as i64 == value.milli_value()
    };
    let current = case.scale().filter(|_| !stated.is_static());
    let mut asked = [stated.replicas]
        .into_iter()
        .chain(current.map(|scale| scale.status_replicas));
    let facts = MetricFailing {
        metric: step.index,
        message: String::new(),
        cause: FailureCause::Fallback(asked.find(asks_for)?),
    };
    let decides = case.decides(step) && case.decision.block().is_none();
    Some(Finding::new(Severity::Warning, decides, facts))
}

/// Returns a finding about a metric that has a value here but that the controller could not read in the last pass.
fn refused_last(case: &Case<'_>, step: &MetricStep) -> Option<Finding> {
    step.proposal()?;
    let said = case.failed_metric_in_last_pass(step)?;
    let cause = FailureCause::RefusedLast(RefusedRight::read(said)?);
    let facts = MetricFailing::new(step, said, cause);
    Some(Finding::explaining(Severity::Warning, facts))
}

/// Returns the namespace and the name of the DatadogMetric that a metric names (`datadogmetric@NAMESPACE:NAME`).
fn datadog_metric(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix("datadogmetric@")?.split_once(':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use crate::findings::Code;
    use crate::findings::metrics::testing::{failing, pointing};
    use crate::findings::testing::{
        codes, conditions, cpu, of_keda, only_of, queue, said, state, table, triggered, with_spec,
    };

    /// A kind is spelled as its API spells it, and belongs to one group.
    #[test]
    fn a_kind_that_no_api_has() {
        let meant = |version: &str, kind: &str, error: &str| {
            let object = json!({"apiVersion": version, "kind": kind, "name": "x"});
            let metric = json!({"type": "Object", "object": {"describedObject": object,
                "metric": {"name": "queue"}, "target": build::value("10")}});
            let items = failing(&state(&[metric], &["50m"]), "custom", error);
            let (facts, _) = only_of::<MetricFailing>(&items).unwrap();
            match facts.cause {
                FailureCause::Unmapped(it) => Some(it.meant.map(|it| (it.api_version, it.kind))),
                _ => None,
            }
        };
        let unmapped = |kind: &str, group: &str| {
            format!(
                "unable to map kind {kind} to resource: no matches for kind {kind:?} in group {group:?}"
            )
        };
        let is = |version: &str, kind: &str| Some(Some((version.to_owned(), kind.to_owned())));
        let deployment = is("apps/v1", "Deployment");
        let ingress = is("networking.k8s.io/v1", "Ingress");
        for (version, kind, want) in [
            ("", "Deployment", deployment.clone()),
            ("apps/v1", "dEPLOYMENT", deployment),
            ("extensions/v1beta1", "Ingress", ingress),
            // The server lacks what every server has.
            ("apps/v1", "Deployment", Some(None)),
            ("example.com/v1", "Queue", Some(None)),
        ] {
            let (group, _) = version.split_once('/').unwrap_or_default();
            let got = meant(version, kind, &unmapped(kind, group));
            assert_eq!(got, want, "{version} {kind}");
        }
        for error in [unmapped("Pod", ""), "timeout".to_owned()] {
            assert_eq!(meant("", "Deployment", &error), None, "{error}");
        }
    }

    /// A server other than KEDA's fails.
    #[test]
    fn a_metric_of_keda_that_is_not_found() {
        let served_by = |namespace: &str, name: &str| {
            let queue = queue(&build::average("10"));
            let says = "DatadogMetric not found";
            let items = failing(&state(&[queue], &["50m"]), "external", says);
            let service = pointing("external.metrics.k8s.io", namespace, name, "True");
            of_keda(&[items, vec![service]].concat(), &json!({}))
        };
        let states = [
            ("by Datadog", served_by("datadog", "agent")),
            (
                "by KEDA",
                served_by("keda", "keda-operator-metrics-apiserver"),
            ),
        ];
        insta::assert_snapshot!(table(Code::MetricFailing, states), @r"
        by Datadog: error, explains
            queue fails, so nothing is scaled: datadog/agent serves the external metrics API, not KEDA
            - The API says: DatadogMetric not found.
            - The APIService v1beta1.external.metrics.k8s.io points at the Service datadog/agent; only one server can serve an API.
            > Point v1beta1.external.metrics.k8s.io at KEDA's metrics server, which ends the metrics of datadog/agent for other HPAs; or read its metrics in an HPA of their own.
            $ kubectl get apiservice v1beta1.external.metrics.k8s.io -o yaml
        by KEDA: error, explains
            queue fails, so nothing is scaled: DatadogMetric not found
            - The API says: DatadogMetric not found.
            > Look at its trigger in ScaledObject/web, or set spec.fallback there.
            $ kubectl describe scaledobject web -n default
        ");
    }

    /// Neither a trigger nor a fallback is of use without the operator.
    #[test]
    fn an_operator_of_keda_that_its_metrics_server_does_not_reach() {
        let dial = "connection error: desc = \"transport: dial tcp: connection refused\"";
        let of_operator = |text: &str| {
            let queue = queue(&build::average("10"));
            let items = failing(&state(&[queue], &["50m"]), "external", text);
            let own = said(Code::MetricFailing, &of_keda(&items, &json!({})));
            assert_ne!(said(Code::MetricFailing, &items).advice.text(), OPERATOR);
            own.advice.text() == OPERATOR
        };
        let unavailable = |what: &str| format!("rpc error: code = Unavailable desc = {what}");
        for text in [
            unavailable(dial),
            format!(
                "unable to fetch metrics from external metrics API: {}",
                TIMEOUTS[0]
            ),
            unavailable("error reading from server: EOF"),
            format!("{}{dial}", TIMEOUTS[1]),
            format!("{}context deadline exceeded", TIMEOUTS[2]),
        ] {
            assert!(of_operator(&text), "{text}");
        }
        // Not only a connection takes too long, and a trigger may use gRPC as well.
        for text in [
            "rpc error: code = DeadlineExceeded desc = context deadline exceeded".to_owned(),
            unavailable(&format!("error when getting metric values {dial}")),
            format!("rpc error: code = Unknown desc = {dial}"),
        ] {
            assert!(!of_operator(&text), "{text}");
        }
    }

    /// The metric leaves the pass after a correction without an answer.
    #[test]
    fn a_metric_that_fails_while_the_pass_ignores_it() {
        let metrics = [queue(&build::average("10")), cpu()];
        for (metrics, least, effect) in [
            (&metrics[..1], 1, "so nothing is scaled"),
            (&metrics[..], 1, "so it blocks scaling down"),
            (&metrics, 2, "so it cannot add replicas"),
        ] {
            let items = failing(&state(metrics, &["50m"; 4]), "external", "timeout");
            let items = with_spec(&items, &json!({"minReplicas": least, "maxReplicas": 2}));
            assert_eq!(said(Code::AboveMax, &items).commands.len(), 2);
            let summary = said(Code::MetricFailing, &items).summary;
            assert_eq!(
                summary,
                format!("queue fails, {effect} after this pass: timeout")
            );
        }
    }

    /// KEDA's fallback is not a measurement: no other advice is based on the number.
    #[test]
    fn a_value_that_keda_puts_in_place_of_one_that_fails() {
        let fallback = json!({"spec": {"fallback": {"failureThreshold": 3, "replicas": 30}}});
        let failing = build::with(conditions(&[("Fallback", "True")]), &fallback);
        let items = triggered("10", "300", &failing);
        // For a target of type Value, KEDA divides by the ready pods.
        let metric = build::external("s0-prometheus", &build::value("10"));
        let items_of_value = triggered("10", "75", &failing);
        let of_value = with_spec(&items_of_value, &json!({"metrics": [metric]}));
        said(Code::MetricFailing, &of_value);
        assert!(!codes(&of_value).contains(&Code::ValueMultiplies));
        // Go multiplies by 0.001; a division by 1000 leads to another float.
        said(Code::MetricFailing, &triggered("1001m", "30030m", &failing));
        let text = said(Code::MetricFailing, &items);
        assert_eq!(
            text.summary,
            "s0-prometheus is not measured: its trigger fails, and KEDA asks for the 30 replicas of spec.fallback"
        );
        assert_eq!(
            text.advice.text(),
            "Find out why its trigger in ScaledObject/web fails."
        );
        assert_eq!(
            said(Code::RateLimited, &items).advice.text(),
            "Follow the advice of metric-failing."
        );
        // Another value is measured, and so is the same one without the condition.
        assert!(!codes(&triggered("10", "310", &failing)).contains(&Code::MetricFailing));
        let passed = build::with(conditions(&[("Fallback", "False")]), &fallback);
        assert!(!codes(&triggered("10", "300", &passed)).contains(&Code::MetricFailing));
    }
}
