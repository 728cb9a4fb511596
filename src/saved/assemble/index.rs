//! The objects of an input by namespace, and the saved answers by HPA: grouped once, so that many HPAs are answered
//! without going through all objects for each.

use std::collections::{BTreeSet, HashMap};

use super::target::ScaleLookup;
use crate::apimachinery::metadata::Metadata;
use crate::saved::objects::{
    Api, ApiAnswer, ApiError, ControllerState, Objects, Undecoded, UndecodedHpa,
};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings, VerticalPodAutoscaler, Workload};

/// Objects by a name, in the order of the input.
pub(super) type Groups<'o, T> = HashMap<&'o str, Vec<T>>;

pub(super) fn grouped<'o, T: Copy>(
    objects: impl IntoIterator<Item = T>,
    key: impl Fn(T) -> &'o str,
) -> Groups<'o, T> {
    let mut groups = Groups::new();
    for object in objects {
        groups.entry(key(object)).or_default().push(object);
    }
    groups
}

pub(super) fn group<'g, T>(groups: &'g Groups<'_, T>, key: &str) -> &'g [T] {
    groups.get(key).map_or(&[], Vec::as_slice)
}

/// The objects of an input.
pub(super) struct Index<'o> {
    pub(super) objects: &'o Objects,
    pub(super) hpas: Groups<'o, &'o UndecodedHpa>,
    pub(super) pods: Groups<'o, &'o Shared<Pod>>,
    pub(super) pod_metrics: Groups<'o, &'o Shared<PodMetrics>>,
    /// The workloads, with their whole objects if they are manifests.
    pub(super) manifests: Groups<'o, (&'o Workload, &'o Option<Undecoded>)>,
    pub(super) target: ScaleLookup<'o>,
    pub(super) requests: Requests<'o>,
    pub(super) around: Around<'o>,
}

impl<'o> Index<'o> {
    pub(super) fn new(objects: &'o Objects, default_namespace: &'o str) -> Self {
        let stated = |namespace: Option<&'o str>| namespace.unwrap_or(default_namespace);
        let workloads = objects.workloads.iter().zip(&objects.undecoded_workloads);
        Self {
            objects,
            hpas: grouped(&objects.hpas, |it| stated(it.namespace.as_deref())),
            pods: grouped(&objects.pods, |it| stated(it.namespace.as_deref())),
            pod_metrics: grouped(&objects.pod_metrics, |it| stated(it.namespace.as_deref())),
            manifests: grouped(workloads, |(it, _)| {
                stated(it.metadata.namespace.as_deref())
            }),
            target: ScaleLookup::of(objects, default_namespace),
            requests: objects.state.as_ref().map(Requests::of).unwrap_or_default(),
            around: Around::new(objects, default_namespace),
        }
    }
}

/// The objects around the passes of each namespace.
pub(super) struct Around<'o> {
    workloads: Groups<'o, &'o Workload>,
    scaled_objects: Groups<'o, &'o ScaledObject>,
    vertical_pod_autoscalers: Groups<'o, &'o VerticalPodAutoscaler>,
    /// Those that belong to no namespace.
    everywhere: Surroundings,
}

impl<'o> Around<'o> {
    pub(super) fn new(objects: &'o Objects, default_namespace: &'o str) -> Self {
        let of = |it: &'o Metadata| it.namespace.as_deref().unwrap_or(default_namespace);
        Self {
            workloads: grouped(&objects.workloads, |it| of(&it.metadata)),
            scaled_objects: grouped(&objects.scaled_objects, |it| of(&it.metadata)),
            vertical_pod_autoscalers: grouped(&objects.vertical_pod_autoscalers, |it| {
                of(&it.metadata)
            }),
            everywhere: everywhere(objects, default_namespace),
        }
    }

    /// Returns those of a namespace.
    pub(super) fn of(&self, namespace: &str) -> Surroundings {
        fn cloned<T: Clone>(objects: &[&T]) -> Vec<T> {
            objects.iter().copied().cloned().collect()
        }
        Surroundings {
            workloads: cloned(group(&self.workloads, namespace)).into(),
            scaled_objects: cloned(group(&self.scaled_objects, namespace)).into(),
            vertical_pod_autoscalers: cloned(group(&self.vertical_pod_autoscalers, namespace))
                .into(),
            ..self.everywhere.clone()
        }
    }
}

fn everywhere(objects: &Objects, default_namespace: &str) -> Surroundings {
    let services = objects
        .api_services
        .iter()
        .filter_map(|it| it.spec.service.as_ref());
    let known = services.map(|it| (&*it.namespace, &*it.name));
    let known: BTreeSet<(&str, &str)> = known.chain([("kube-system", "metrics-server")]).collect();
    let serves = |pod: &&Shared<Pod>| {
        let own = pod.namespace.as_deref().unwrap_or(default_namespace);
        known.iter().any(|(namespace, service)| {
            let rest = pod.name.strip_prefix(service);
            own == *namespace && rest.is_some_and(|rest| rest.starts_with('-'))
        })
    };
    let servers: Vec<_> = objects.pods.iter().filter(serves).cloned().collect();
    Surroundings {
        api_services: objects.api_services.clone().into(),
        servers: servers.into(),
        custom_version: objects.custom_version.clone(),
        ..Surroundings::default()
    }
}

/// What a state says about the requests for HPAs, by `namespace/name`.
#[derive(Default)]
pub(super) struct Requests<'o> {
    answers: Groups<'o, &'o ApiAnswer<'o>>,
    errors: Groups<'o, Placed<'o>>,
    errors_of_all: Vec<Placed<'o>>,
}

/// An error with its place in the state: the first that matches a request counts.
type Placed<'o> = (usize, &'o ApiError);

impl<'o> Requests<'o> {
    fn of(state: &'o ControllerState<'o>) -> Self {
        let errors = state.errors.iter().enumerate();
        let (limited, errors_of_all): (Vec<_>, Vec<_>) =
            errors.partition(|(_, error)| error.hpa.is_some());
        Self {
            answers: grouped(&state.answers, |answer| &answer.hpa),
            errors: grouped(limited, |(_, error)| {
                error.hpa.as_deref().unwrap_or_default()
            }),
            errors_of_all,
        }
    }

    /// Returns the error of a request for an HPA.
    pub(super) fn error(&self, hpa: &Hpa, api: Api, metric: Option<&str>) -> Option<&'o ApiError> {
        let is_meant = |(_, error): &&Placed<'o>| {
            let limit = error.metric.as_deref();
            error.api == api && limit.is_none_or(|limit| Some(limit) == metric)
        };
        let own = group(&self.errors, &key(hpa)).iter();
        let found = own.chain(&self.errors_of_all).filter(is_meant);
        found
            .min_by_key(|(place, _)| *place)
            .map(|(_, error)| *error)
    }

    /// Returns the answers of the metrics APIs for an HPA.
    pub(super) fn answers(&self, hpa: &Hpa) -> &[&'o ApiAnswer<'o>] {
        group(&self.answers, &key(hpa))
    }

    /// Returns the answer of the resource metrics API for an HPA.
    pub(super) fn pod_metrics(&self, hpa: &Hpa) -> Option<&'o [Shared<PodMetrics>]> {
        let mut answers = self.answers(hpa).iter();
        let answer = answers.find(|answer| answer.api == Api::Resource)?;
        Some(answer.pod_metrics.as_deref().unwrap_or_default())
    }
}

fn key(hpa: &Hpa) -> String {
    format!("{}/{}", hpa.namespace, hpa.name)
}
