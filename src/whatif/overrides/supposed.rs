//! Pods of a target that the input lacks, as with a manifest: ready, alike, as the workload's template makes
//! them, and as many as are typed or as the workload states.

use std::collections::BTreeSet;

use super::candidate::Candidate;
use super::pods::{PodChanges, ReplicasChange, State, be_ready, unknown_pods};
use super::samples::unmeasured;
use super::typed::Assumptions;
use crate::apimachinery::quantity::Amount;
use crate::apimachinery::selector::Labels;
use crate::error::{Error, listed};
use crate::saved::assemble::{has_own_scale, is_unscalable};
use crate::saved::manifest::WorkloadManifest;
use crate::snapshot::basis::Basis;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::pod::{Container, Pod, Requests, resource_name};
use crate::snapshot::requests::as_pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{SupposedPods, SupposedTemplate, Surroundings, Workload};
use crate::snapshot::{MetricAnswer, Scale, ScaleError, ScaleSelector, Snapshot};
use crate::whatif::timeline::Trace;
use crate::whatif::value::AssumedValue;

/// The label of pods whose workload is not known either.
const LABEL: &str = "assumed-target=true";
/// The name of the container in such pods, if nothing names one.
const CONTAINER: &str = "container";

/// The other known values of metrics, and facts about the pods.
#[derive(Debug, Clone)]
pub struct KnownValues<'v> {
    /// The values of a run.
    pub trace: Option<&'v Trace>,
    /// Whether a Prometheus is queried for values, which are amounts.
    pub is_asked: bool,
    /// The manifests of all candidates: if the input lacks the target, they describe it.
    pub candidates: Vec<&'v Candidate>,
}

/// Gives the target pods, if the input has no pods at all.
///
/// A share needs no known request: without a template, the pods request some amount of the resource.
///
/// # Errors
///
/// The number of pods is not known, or their requests are not although an amount is compared with a share; or the API
/// server would reject the target.
pub fn suppose_pods(
    input: &mut Input,
    assumptions: &Assumptions,
    values: &KnownValues<'_>,
) -> Result<(), Error> {
    let needs_none = assumptions.needs_no_pods() && values.trace.is_none() && !values.is_asked;
    if !input.surroundings.lacks_pods {
        return check_replicas(input, assumptions, needs_none);
    }
    let Input {
        snapshot,
        surroundings,
        notes,
        ..
    } = &mut *input;
    let target = &snapshot.hpa.spec.scale_target_ref;
    let running = surroundings.workload(target);
    let candidate = match running {
        Some(_) => None,
        None => of_candidates(&snapshot.hpa, assumptions, values)?,
    };
    let workload = running.or(candidate.map(|manifest| &manifest.object));
    let typed = assumptions.pods.typed_count()?;
    let (known, selector) = match known_scale(snapshot, workload) {
        Err(_) if needs_none => return Ok(()),
        found => found?,
    };
    let of_input = known.as_ref().filter(|_| candidate.is_none());
    let stated = of_input.map(|scale| scale.spec_replicas);
    let scale = match (typed, known) {
        (Some(replicas), _) => Some(Scale::new(replicas, selector.as_str())),
        // The status of a workload that its controller has not seen yet.
        (None, Some(scale)) if scale.status_replicas == 0 => Some(Scale {
            status_replicas: scale.spec_replicas,
            ..scale
        }),
        (None, known) => known,
    };
    if scale.is_none() && needs_none {
        return Ok(());
    }
    if let Some(elsewhere) = &surroundings.target_elsewhere {
        return Err(Error::usage(elsewhere.to_string()).hint(elsewhere.remedy()));
    }
    let Some(scale) = scale else {
        return Err(unknown_replicas(
            target,
            assumptions,
            workload,
            surroundings,
        ));
    };
    let Ok(required) = scale.selector.parsed() else {
        return Ok(());
    };
    if let Some(manifest) = candidate {
        manifest.notes.clone()?;
    }
    let made = workload.and_then(|own| own.template.as_deref()).map(as_pod);
    let (template, mut pod) = match (made, candidate) {
        (Some(pod), None) => (SupposedTemplate::OfTarget, pod),
        (Some(pod), Some(manifest)) => (of_candidate(manifest), pod),
        (None, _) => bare(assumptions, &snapshot.hpa, workload, values)?,
    };
    if !required.matches(&pod.labels) {
        pod.labels = required.example().into();
    }
    be_ready(&mut pod);
    let supposed = SupposedPods {
        count: scale.status_replicas,
        stated,
        template,
    };
    notes.extend(running.and_then(|own| some_not_ready(own, &assumptions.pods)));
    notes.extend(workload.and_then(template_elsewhere));
    let pods = alike(&pod, supposed.count, target, workload);
    place(input, pods, scale, supposed);
    Ok(())
}

/// Returns the template of pods as a manifest makes them.
fn of_candidate(manifest: &WorkloadManifest) -> SupposedTemplate {
    SupposedTemplate::OfCandidate {
        workload: manifest.object.reference(),
        origin: manifest.origin.clone(),
    }
}

/// Returns the scale of a target, if it is known, and the selector of its pods.
fn known_scale(
    snapshot: &Snapshot,
    workload: Option<&Workload>,
) -> Result<(Option<Scale>, ScaleSelector), Error> {
    let target = &snapshot.hpa.spec.scale_target_ref;
    Ok(match (&snapshot.scale, workload) {
        (Ok(scale), _) => (Some(scale.clone()), scale.selector.clone()),
        (Err(ScaleError::NoReplicas { selector, .. }), _) => (None, selector.clone()),
        (Err(ScaleError::Missing(_)), Some(workload)) => {
            let selector = workload.pod_selector().map(|own| own.to_string());
            let scale = Scale::new(workload.wanted(), &selector.unwrap_or_default());
            let selector = scale.selector.clone();
            (Some(scale).filter(|_| workload.states_replicas()), selector)
        }
        (Err(ScaleError::Missing(_)), None) => (None, LABEL.to_owned().into()),
        (Err(_), _) if is_unscalable(target.group(), &target.kind) => {
            let message = format!(
                "the kind {} has no scale: {target} cannot be scaled",
                target.kind
            );
            let hint = "point scaleTargetRef at an object that has a scale, such as a Deployment";
            return Err(Error::usage(message).hint(hint));
        }
        (Err(ScaleError::Mapping(e) | ScaleError::Get(e)), _) => {
            let hint = "check scaleTargetRef, or add the manifest of the target with another -f";
            return Err(unknown_pods(e).hint(hint));
        }
    })
}

fn unknown_replicas(
    target: &CrossVersionObjectReference,
    assumptions: &Assumptions,
    workload: Option<&Workload>,
    surroundings: &Surroundings,
) -> Error {
    let is_change = matches!(assumptions.pods.replicas, Some(ReplicasChange::By(_)));
    let (change, hint) = if is_change {
        (
            ", so --replicas cannot change them",
            "state their number, such as --replicas 3",
        )
    } else {
        ("", "state them with --replicas")
    };
    let message = format!("the replicas of {target} are unknown{change}");
    Error::usage(message).hint(match workload {
        Some(_) => hint.to_owned(),
        None => or_manifest(hint, target) + &if_meant(&surroundings.unscaled),
    })
}

/// Returns this many pods of a target that differ only in their names.
fn alike(
    pod: &Pod,
    count: i32,
    target: &CrossVersionObjectReference,
    workload: Option<&Workload>,
) -> Vec<Shared<Pod>> {
    // A partition spares pods by their ordinals.
    let (prefix, first) = if target.is_kind("StatefulSet") {
        let ordinals = workload.and_then(|own| own.ordinals);
        (target.name.clone(), ordinals.unwrap_or_default().start)
    } else {
        (format!("{}-assumed", target.name), 1)
    };
    let named = |number| Pod {
        name: format!("{prefix}-{number}").into(),
        ..pod.clone()
    };
    let numbers = first..first.saturating_add(count);
    numbers.map(|number| named(number).into()).collect()
}

/// Puts pods into the input, and adjusts everything that depends on their number.
fn place(input: &mut Input, pods: Vec<Shared<Pod>>, scale: Scale, supposed: SupposedPods) {
    let was = input.snapshot.clone();
    let Input {
        snapshot,
        surroundings,
        basis,
        notes,
        ..
    } = input;
    snapshot.pods = pods;
    let rivals = std::mem::take(&mut surroundings.rivals).into_iter();
    for rival in rivals {
        let hpa = Some(rival.key());
        let subject = Subject::UnknownSelector { hpa };
        notes.retain(|note| note.subject != subject);
        snapshot
            .other_hpas
            .extend(OtherHpa::of(rival, scale.clone()));
    }
    snapshot.scale = Ok(scale);
    if supposed.count <= 0 {
        // Without pods, there is nothing to measure.
        for (spec, answer) in snapshot.hpa.spec.metrics.iter().zip(&mut snapshot.metrics) {
            if answer.is_missing() && !spec.is_total() {
                *answer = if spec.is_resource() {
                    MetricAnswer::PodMetrics
                } else {
                    MetricAnswer::Pods(Vec::new())
                };
            }
        }
    }
    answer_for_no_container(snapshot);
    surroundings.lacks_scale = false;
    surroundings.supposed = Some(supposed.clone());
    basis.retain(|own| !matches!(own, Basis::StatusReplicas { .. }));
    basis.push(Basis::SupposedPods(supposed));
    input.remark_anew(&was);
}

/// Answers metrics of a container that the pods do not have: it has no usage in them.
fn answer_for_no_container(snapshot: &mut Snapshot) {
    let Some(pod) = snapshot.pods.first() else {
        return;
    };
    let has = |name: &str| pod.running(false).any(|own| *own.name == *name);
    let metrics = snapshot.hpa.spec.metrics.iter().zip(&mut snapshot.metrics);
    let lacking = metrics.filter(|(spec, answer)| {
        answer.is_missing() && spec.container().is_some_and(|own| !has(own))
    });
    let answered = lacking
        .map(|(_, answer)| *answer = MetricAnswer::PodMetrics)
        .count();
    if answered > 0 && snapshot.pod_metrics.is_empty() {
        snapshot.pod_metrics = snapshot
            .pods
            .iter()
            .map(|pod| unmeasured(pod, &snapshot.hpa.namespace, snapshot.now).into())
            .collect();
    }
}

/// Checks that the replicas of a target whose pods the input has are stated or typed, if anything needs them.
fn check_replicas(input: &Input, assumptions: &Assumptions, needs_none: bool) -> Result<(), Error> {
    let (snapshot, surroundings) = (&input.snapshot, &input.surroundings);
    let are_known = !matches!(snapshot.scale, Err(ScaleError::NoReplicas { .. }));
    if are_known || needs_none || assumptions.pods.typed_count()?.is_some() {
        return Ok(());
    }
    let target = &snapshot.hpa.spec.scale_target_ref;
    let workload = surroundings.workload(target);
    Err(unknown_replicas(
        target,
        assumptions,
        workload,
        surroundings,
    ))
}

/// Returns the candidates' manifest of the target, for a target that the input lacks.
///
/// # Errors
///
/// The manifests disagree about the pods, so that the running ones are unknown.
fn of_candidates<'v>(
    hpa: &Hpa,
    assumptions: &Assumptions,
    values: &KnownValues<'v>,
) -> Result<Option<&'v WorkloadManifest>, Error> {
    let chosen = values
        .candidates
        .iter()
        .filter_map(|candidate| candidate.choose(hpa, &[]).ok());
    let manifests: Vec<&WorkloadManifest> = chosen.filter_map(|chosen| chosen.workload).collect();
    let Some(first) = manifests.first() else {
        return Ok(None);
    };
    let reference = first.object.reference();
    if let Some(other) = manifests
        .iter()
        .find(|other| unlabeled_pod(other) != unlabeled_pod(first))
    {
        let (one, other) = (&first.origin, &other.origin);
        let message = format!(
            "{one} and {other} have different pods for {reference}, and nothing says which of them run now"
        );
        let hint = "add the manifest of the target as it runs with -f";
        return Err(Error::usage(message).hint(hint));
    }
    let replicas = |own: &WorkloadManifest| own.object.replicas;
    let mut stating = manifests.iter().filter(|own| replicas(own).is_some());
    let stated = stating.next().unwrap_or(first);
    if let Some(other) = stating.find(|other| replicas(other) != replicas(stated))
        && assumptions.pods.replicas.is_none()
    {
        let (one, other) = (&stated.origin, &other.origin);
        let message = format!("{one} and {other} state different replicas for {reference}");
        let hint = "state with --replicas how many there are, or add the manifest of the target as it runs with -f";
        return Err(Error::usage(message).hint(hint));
    }
    Ok(Some(stated))
}

/// Returns the pod that a manifest makes, without its labels.
fn unlabeled_pod(manifest: &WorkloadManifest) -> Option<Pod> {
    let template = manifest.object.template.as_deref().map(as_pod)?;
    Some(Pod {
        labels: Labels::default().into(),
        ..template
    })
}

/// Adds to a hint that the target's manifest would also help, if it would: the replicas and pods of a custom resource
/// may be anywhere in its manifest.
fn or_manifest(hint: &str, target: &CrossVersionObjectReference) -> String {
    if has_own_scale(target.group(), &target.kind) {
        format!("{hint}, or add the manifest of the target with another -f")
    } else {
        hint.to_owned()
    }
}

/// Adds to a hint that the target may be another workload of the input.
fn if_meant(unscaled: &[String]) -> String {
    match unscaled {
        [] => String::new(),
        [only] => format!("; correct scaleTargetRef, if {only} is meant"),
        all => format!(
            "; correct scaleTargetRef, if one of {} is meant",
            listed(all)
        ),
    }
}

/// Notes that a Rollout takes its template from another object, which is unknown.
fn template_elsewhere(rollout: &Workload) -> Option<Note> {
    let elsewhere = rollout
        .template_of
        .as_ref()
        .filter(|_| rollout.template.is_none())?;
    Some(Note::new(format!(
        "{} has the template of {elsewhere} (spec.workloadRef), which the input lacks: the pods are assumed \
         without it",
        rollout.reference()
    )))
}

/// Returns a note if the status of a workload has replicas that are not ready, and the flags say nothing about them.
fn some_not_ready(workload: &Workload, typed: &PodChanges) -> Option<Note> {
    let mut states = typed.states.iter();
    let is_stated = matches!(typed.replicas, Some(ReplicasChange::To(_)))
        || states.any(|(state, _)| *state == State::Unready);
    let status = workload.status.as_ref()?;
    let (replicas, ready) = (status.replicas, status.ready_replicas?);
    let unready = replicas.saturating_sub(ready);
    let text = format!(
        "the status of {} has {ready} of {replicas} replicas ready, but all assumed pods are \
         ready: --unready {unready} assumes otherwise",
        workload.reference(),
    );
    (unready > 0 && !is_stated).then(|| Note::new(text))
}

/// Returns a pod if only the HPA is known: with the containers that metrics and flags name, and with requests for the
/// resources that are given as shares.
fn bare(
    assumptions: &Assumptions,
    hpa: &Hpa,
    workload: Option<&Workload>,
    values: &KnownValues<'_>,
) -> Result<(SupposedTemplate, Pod), Error> {
    let metrics = || {
        let candidates = values.candidates.iter();
        let of_candidates = candidates.flat_map(|own| &own.asked);
        hpa.spec.metrics.iter().chain(of_candidates)
    };
    let of_metrics = metrics().filter_map(MetricSpec::container);
    let of_values = assumptions
        .values
        .iter()
        .filter(|own| own.pod.is_none())
        .filter_map(|own| own.wanted.container.as_deref());
    let of_requests = assumptions
        .requests
        .iter()
        .filter_map(|own| own.request.container.as_deref());
    let mut names: BTreeSet<&str> = of_metrics.chain(of_values).chain(of_requests).collect();
    let named = names.iter().map(|name| (*name).into()).collect();
    if names.is_empty() {
        names.insert(CONTAINER);
    }
    let mut requests = Requests::default();
    for spec in metrics().filter(|spec| spec.is_utilization()) {
        let resource = spec.name();
        let is_typed = assumptions
            .requests
            .iter()
            .any(|own| *own.request.resource == *resource);
        if is_typed || requests.get(resource).is_some() {
            continue;
        }
        if let Some(amount) = amount_of(resource, assumptions, values) {
            let message = format!("{amount}: nothing says what share of the request that is");
            let hint = format!("state the request with --request {resource}=VALUE");
            return Err(Error::usage(message).hint(
                match workload.and_then(|own| own.template_of.as_ref()) {
                    Some(of) => format!(
                        "{hint}, or add the manifest of {of} (spec.workloadRef) with another -f"
                    ),
                    None => or_manifest(&hint, &hpa.spec.scale_target_ref),
                },
            ));
        }
        let amount = if resource == "memory" { 1 << 30 } else { 1 };
        requests
            .0
            .push((resource_name(resource), Amount::int(amount, 0)));
    }
    let containers = names.into_iter().map(|name| Container {
        name: name.into(),
        requests: requests.clone(),
        limits: Requests::default(),
        restart_always: false,
    });
    let pod = Pod {
        containers: Vec::from_iter(containers).into(),
        ..Pod::default()
    };
    Ok((
        SupposedTemplate::Unknown {
            containers: named,
            requests,
        },
        pod,
    ))
}

/// Returns the source of an amount of a resource, if there is one.
fn amount_of(
    resource: &str,
    assumptions: &Assumptions,
    values: &KnownValues<'_>,
) -> Option<String> {
    let amount = assumptions.values.iter().find(|own| {
        own.wanted.is_of_resource(resource)
            && matches!(own.value, AssumedValue::Amount(_) | AssumedValue::Scale(_))
    });
    let flag = amount.map(|own| own.flag.clone());
    let of_trace = || values.trace?.amount_of(resource);
    let asked = || values.is_asked.then(|| "--prometheus".to_owned());
    flag.or_else(of_trace).or_else(asked)
}
