//! The objects of an input, grouped by namespace once, so that many HPAs are answered without going through all
//! objects for each.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::requests::{ApiRequests, Groups, group, grouped};
use super::target::ScaleLookup;
use super::time_of_pass;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::selector::Labels;
use crate::apiserver::admit::admit;
use crate::apiserver::default::AdmissionRules;
use crate::error::Error;
use crate::saved::objects::{Objects, Undecoded, UndecodedHpa};
use crate::saved::state::ControllerState;
use crate::snapshot::basis::Basis;
use crate::snapshot::hpa::MetricIdentifier;
use crate::snapshot::input::Options;
use crate::snapshot::metric::PodMetrics;
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;
use crate::snapshot::settings::{Settings, controller_settings};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings, VerticalPodAutoscaler, Workload};

/// The objects of an input, with what all passes over them have in common.
pub(super) struct Index<'o> {
    pub(super) objects: &'o Objects,
    pub(super) options: &'o Options,
    /// The time of the pass.
    pub(super) now: Timestamp,
    pub(super) settings: Settings,
    /// The sources of the time and the settings.
    pub(super) basis: Vec<Basis>,
    /// The notes about the settings.
    pub(super) notes: Vec<Note>,
    pub(super) hpas: Groups<'o, &'o UndecodedHpa>,
    pub(super) pods: Groups<'o, &'o Shared<Pod>>,
    pub(super) pod_metrics: Groups<'o, &'o Shared<PodMetrics>>,
    /// The workloads, with their whole objects if they are manifests.
    pub(super) workloads: Groups<'o, (&'o Workload, &'o Option<Undecoded>)>,
    scaled_objects: Groups<'o, &'o ScaledObject>,
    vertical_pod_autoscalers: Groups<'o, &'o VerticalPodAutoscaler>,
    /// The objects around all passes, which have no namespace.
    everywhere: Surroundings,
    pub(super) target: ScaleLookup<'o>,
    pub(super) requests: ApiRequests<'o>,
    /// The namespaces of the HPAs that request each external metric, once they are needed.
    external: OnceCell<ExternalRequests>,
}

impl<'o> Index<'o> {
    /// Groups the objects of an input. `clock` is the time if neither the input nor the options state one.
    ///
    /// # Errors
    ///
    /// The input or the options state a setting that does not exist, or the options a time for a past pass.
    pub(super) fn new(
        objects: &'o Objects,
        options: &'o Options,
        clock: Timestamp,
    ) -> Result<Self, Error> {
        let default_namespace = options.default_namespace();
        let stated = |namespace: Option<&'o str>| namespace.unwrap_or(default_namespace);
        let of = |it: &'o Metadata| stated(it.namespace.as_deref());
        let vpas = &objects.vertical_pod_autoscalers;
        let workloads = objects.workloads.iter().zip(&objects.undecoded_workloads);
        let state = objects.state.as_ref();
        let mut basis = Vec::new();
        let mut notes = Vec::new();
        Ok(Self {
            objects,
            options,
            now: time_of_pass(state, options, clock, &mut basis)?,
            settings: controller_settings(
                state.map(ControllerState::settings),
                options,
                &objects.control_plane,
                &mut basis,
                &mut notes,
            )?,
            basis,
            notes,
            hpas: grouped(&objects.hpas, |it| it.namespace_in(default_namespace)),
            pods: grouped(&objects.pods, |it| stated(it.namespace.as_deref())),
            pod_metrics: grouped(&objects.pod_metrics, |it| stated(it.namespace.as_deref())),
            workloads: grouped(workloads, |(it, _)| of(&it.metadata)),
            scaled_objects: grouped(&objects.scaled_objects, |it| of(&it.metadata)),
            vertical_pod_autoscalers: grouped(vpas, |it| of(&it.metadata)),
            everywhere: everywhere(objects, default_namespace),
            target: ScaleLookup::of(objects, default_namespace),
            requests: state.map(ApiRequests::of).unwrap_or_default(),
            external: OnceCell::new(),
        })
    }

    /// Returns the objects around the passes of a namespace.
    pub(super) fn around(&self, namespace: &str) -> Surroundings {
        let workloads = group(&self.workloads, namespace).iter();
        let scaled_objects = group(&self.scaled_objects, namespace).iter().copied();
        let vpas = group(&self.vertical_pod_autoscalers, namespace).iter();
        Surroundings {
            workloads: Vec::from_iter(workloads.map(|(it, _)| (*it).clone())).into(),
            scaled_objects: Vec::from_iter(scaled_objects.cloned()).into(),
            vertical_pod_autoscalers: Vec::from_iter(vpas.copied().cloned()).into(),
            ..self.everywhere.clone()
        }
    }

    /// Whether an HPA of another namespace requests an external metric of this name whose value may have these labels.
    /// A value without any may be of each.
    pub(super) fn is_requested_outside(
        &self,
        namespace: &str,
        name: &str,
        labels: &Labels,
    ) -> bool {
        let requests = self.external.get_or_init(|| {
            let mut requests = ExternalRequests::default();
            let controller = &self.settings.controller;
            let rules = AdmissionRules::new(&controller.version, controller.gates);
            for (namespace, hpas) in &self.hpas {
                let accepted = hpas
                    .iter()
                    .filter_map(|hpa| admit(&hpa.json, namespace, rules).ok());
                let specs = accepted.flat_map(|hpa| hpa.into_hpa().spec.metrics);
                for source in specs.filter_map(|spec| spec.external) {
                    requests.add(namespace, source.metric);
                }
            }
            requests
        });
        let mut namespaces = requests.that_may_have(name, labels);
        namespaces.any(|other| other != namespace)
    }
}

/// The namespaces of the HPAs that request external metrics, by name, by the keys of the labels in the selector, and by
/// the values of these labels. Expressions are taken to match.
#[derive(Default)]
struct ExternalRequests(HashMap<String, HashMap<Vec<String>, NamespacesByValues>>);

type NamespacesByValues = HashMap<Vec<String>, BTreeSet<String>>;

impl ExternalRequests {
    fn add(&mut self, namespace: &str, MetricIdentifier { name, selector }: MetricIdentifier) {
        let labels = selector.unwrap_or_default().match_labels;
        let (keys, values) = labels.into_iter().unzip();
        let by_keys = self.0.entry(name).or_default();
        let namespaces = by_keys.entry(keys).or_default().entry(values).or_default();
        namespaces.insert(namespace.to_owned());
    }

    /// Returns the namespaces whose requests may have a value with these labels.
    fn that_may_have(&self, name: &str, labels: &Labels) -> impl Iterator<Item = &String> {
        let by_keys = self.0.get(name).into_iter().flatten();
        let found = by_keys.flat_map(|(keys, by_values)| {
            let stated = keys.iter().map(|key| labels.get(key).map(str::to_owned));
            let wanted = stated.collect::<Option<Vec<_>>>();
            let own = wanted.and_then(|wanted| by_values.get(&wanted));
            let any = by_values.values().filter(|_| labels.is_empty());
            own.into_iter().chain(any)
        });
        found.flatten()
    }
}

fn everywhere(objects: &Objects, default_namespace: &str) -> Surroundings {
    let services: BTreeSet<(&str, &str)> = objects
        .api_services
        .iter()
        .filter_map(|it| it.spec.service.as_ref())
        .map(|service| (&*service.namespace, &*service.name))
        .chain([("kube-system", "metrics-server")])
        .collect();
    let mut servers = Vec::new();
    for pod in &objects.pods {
        let own = pod.namespace.as_deref().unwrap_or(default_namespace);
        let serves =
            |(namespace, service): &(&str, &str)| own == *namespace && pod.is_named_after(service);
        if services.iter().any(serves) {
            servers.push(pod.clone());
        }
    }
    Surroundings {
        api_services: objects.api_services.clone().into(),
        servers: servers.into(),
        custom_version: objects.custom_version.clone(),
        ..Surroundings::default()
    }
}
