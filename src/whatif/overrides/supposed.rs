//! Pods of a target that the input lacks, as beside a manifest: ready, alike, as the template of the workload
//! makes them, and as many as are typed or as the workload states.

use std::collections::BTreeSet;

use super::pods::{Replicas, be_ready};
use super::template::as_pod;
use super::typed::{Assigned, Assumptions};
use crate::apimachinery::quantity::Amount;
use crate::error::Error;
use crate::order;
use crate::snapshot::ScaleSelector;
use crate::snapshot::basis::Basis;
use crate::snapshot::hpa::MetricSpec;
use crate::snapshot::input::Input;
use crate::snapshot::note::{Note, WhyUnknownSelector};
use crate::snapshot::pod::{Container, Pod, Requests, resource_name};
use crate::snapshot::surroundings::SupposedPods;
use crate::snapshot::{MetricAnswer, Scale, ScaleError};
use crate::whatif::timeline::Trace;
use crate::whatif::value::Value;

/// The label of pods of which not even the workload is known.
const LABEL: &str = "assumed-target=true";
/// The container of such pods, where no metric names one.
const CONTAINER: &str = "container";

/// What else is known of the values of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Values<'v> {
    /// Metrics of candidates.
    pub also: &'v [MetricSpec],
    /// The values of a run.
    pub trace: Option<&'v Trace>,
    /// Whether a Prometheus is asked for values, which states amounts.
    pub is_asked: bool,
}

/// Gives the target pods, if the input has none because it lacks them all.
///
/// A share of a request needs no request: without a template the pods request some amount of the resource.
///
/// # Errors
///
/// Nothing says how many there are, or what they request where an amount is compared with a share.
pub fn suppose_pods(
    input: &mut Input,
    assumptions: &Assumptions,
    values: Values<'_>,
) -> Result<(), Error> {
    let Input { snapshot, surroundings, .. } = &*input;
    if !surroundings.lacks_pods {
        return Ok(());
    }
    let target = &snapshot.hpa.spec.scale_target_ref;
    let workload = surroundings.workload(target).or_else(|| assumptions.workload(&snapshot.hpa));
    let typed = match assumptions.pods.replicas {
        Some(typed @ Replicas::To(_)) => Some(typed.after(0)?),
        Some(Replicas::By(_)) | None => None,
    };
    // An API server sets 1 where a manifest states no replicas; that they are left to the HPA says nothing.
    let states_none = workload.is_some_and(|own| own.status.is_none() && own.replicas.is_none());
    let (known, selector) = match (&snapshot.scale, workload) {
        (Ok(scale), _) => (Some(scale.clone()), scale.selector.clone()),
        (Err(ScaleError::Missing(_)), Some(workload)) => {
            let selector = workload.selector.as_ref().and_then(|own| own.to_selector().ok());
            let selector: ScaleSelector =
                selector.map(|own| own.to_string()).unwrap_or_default().into();
            let (spec_replicas, status_replicas) = (workload.wanted(), workload.wanted());
            let scale = Scale { spec_replicas, status_replicas, selector: selector.clone() };
            (Some(scale), selector)
        }
        (Err(ScaleError::Missing(_)), None) => (None, LABEL.to_owned().into()),
        (Err(_), _) => return Ok(()),
    };
    let known = known.filter(|_| !states_none);
    let stated = known.as_ref().map(|scale| scale.spec_replicas);
    let scale = match (typed, known) {
        (Some(replicas), _) => {
            Some(Scale { spec_replicas: replicas, status_replicas: replicas, selector })
        }
        // The status of a workload that its controller has not seen yet.
        (None, Some(scale)) if scale.status_replicas == 0 => {
            Some(Scale { status_replicas: scale.spec_replicas, ..scale })
        }
        (None, known) => known,
    };
    let Some(scale) = scale else {
        if assumptions.needs_no_pods() && values.trace.is_none() && !values.is_asked {
            return Ok(());
        }
        let message = format!("the replicas of {}/{} are unknown", target.kind, target.name);
        let hint = "state them with --replicas, or add the manifest of the target with another -f";
        return Err(Error::usage(message).hint(hint));
    };
    let Ok(required) = scale.selector.parsed() else { return Ok(()) };
    let own = format!("{} {}", target.kind, target.name);
    let rival = input.notes.iter().find_map(|note| match note {
        Note::UnknownSelector { hpa, why: WhyUnknownSelector::NoTarget(target) }
            if *target == own =>
        {
            Some(hpa)
        }
        _ => None,
    });
    if let Some(rival) = rival {
        let message = format!("the HPA {rival} has the same target: the controller scales neither");
        return Err(Error::usage(message).hint("leave one of them out of the input"));
    }
    let template = workload.and_then(|own| own.template.as_deref()).map(as_pod);
    let mut pod = match &template {
        Some(template) => template.clone(),
        None => bare(assumptions, &snapshot.hpa.spec.metrics, values)?,
    };
    if !required.matches(&pod.labels) {
        pod.labels = required.example().into();
    }
    be_ready(&mut pod);
    let prefix = format!("{}-assumed", target.name);
    let replicas = scale.status_replicas;
    let count = usize::try_from(replicas).unwrap_or_default();
    let of_container = |pod: &Pod| pod.containers.first().map(|own| own.requests.clone());
    let supposed = SupposedPods {
        count: replicas,
        stated,
        requests: of_container(&pod).filter(|_| template.is_none()),
    };

    let was = snapshot.clone();
    let Input { snapshot, surroundings, basis, .. } = input;
    snapshot.pods = (1..=count)
        .map(|n| Pod { name: format!("{prefix}-{n}").into(), ..pod.clone() }.into())
        .collect();
    snapshot.scale = Ok(scale);
    if count == 0 {
        // Then there is nothing to measure.
        for (spec, answer) in snapshot.hpa.spec.metrics.iter().zip(&mut snapshot.metrics) {
            if answer.is_missing() && !spec.is_total() {
                *answer = match spec.is_resource() {
                    true => MetricAnswer::PodMetrics,
                    false => MetricAnswer::Pods(Vec::new()),
                };
            }
        }
    }
    surroundings.lacks_scale = false;
    surroundings.supposed = Some(supposed.clone());
    basis.retain(|own| !matches!(own, Basis::StatusReplicas { .. }));
    basis.push(Basis::SupposedPods(supposed));
    input.remark_anew(&was);
    Ok(())
}

/// A pod of which nothing is known but the HPA: with the containers that metrics and flags name, and requests of
/// what shares are given.
fn bare(
    assumptions: &Assumptions,
    metrics: &[MetricSpec],
    values: Values<'_>,
) -> Result<Pod, Error> {
    let metrics = || metrics.iter().chain(values.also);
    let of_metrics = metrics().filter_map(MetricSpec::container);
    let of_values = assumptions.metrics.iter().filter_map(|own| own.wanted.container.as_deref());
    let of_requests = assumptions.requests.iter().filter_map(|own| own.container());
    let mut names: BTreeSet<&str> = order::set(of_metrics.chain(of_values).chain(of_requests));
    if names.is_empty() {
        names.insert(CONTAINER);
    }
    let mut requests = Requests::default();
    for spec in metrics().filter(|spec| spec.is_resource()) {
        let resource = spec.name();
        let is_share = spec.target().is_some_and(|own| own.average_utilization.is_some());
        let is_typed = assumptions.requests.iter().any(|own| own.resource() == resource);
        if !is_share || is_typed || requests.get(resource).is_some() {
            continue;
        }
        if let Some(amount) = amount_of(resource, assumptions, values) {
            let message = format!("{amount}: nothing says what share of the request that is");
            let hint = format!(
                "state the request with --request {resource}=VALUE, or add the manifest of the target with \
                 another -f"
            );
            return Err(Error::usage(message).hint(hint));
        }
        let amount = if resource == "memory" { 1 << 30 } else { 1 };
        requests.0.push((resource_name(resource), Amount::int(amount, 0)));
    }
    let containers = names.into_iter().map(|name| Container {
        name: name.into(),
        requests: requests.clone(),
        limits: Requests::default(),
        restart_always: false,
    });
    Ok(Pod { containers: Vec::from_iter(containers).into(), ..Pod::default() })
}

/// What gives a resource an amount, if anything does.
fn amount_of(resource: &str, assumptions: &Assumptions, values: Values<'_>) -> Option<String> {
    let of_pods = assumptions.of_pods.iter().map(|(_, own)| own);
    let mut typed = assumptions.metrics.iter().chain(of_pods);
    let is_amount = |own: &&Assigned| {
        own.wanted.name == resource && matches!(own.value, Value::Amount(_) | Value::Scale(_))
    };
    let typed = typed.find(is_amount).map(|own| own.flag.clone());
    let of_trace = || values.trace?.amount_of(resource);
    let asked = || values.is_asked.then(|| "--prometheus".to_owned());
    typed.or_else(of_trace).or_else(asked)
}
