//! Saved Kubernetes objects, sorted by their role in a pass. Nothing here decides which of them
//! belong together; `reader` reads them.

pub(super) mod reader;
pub(super) mod source;
mod workload;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;

use serde::Deserialize;

use super::state::ControllerState;
use super::wire::ScaleObject;
use crate::apimachinery::json::decode;
use crate::apimachinery::names;
use crate::apimachinery::selector::Labels;
use crate::apimachinery::similar;
use crate::args::{Named, Target};
use crate::error::listed;
use crate::secret::Secret;
use crate::snapshot::Documents;
use crate::snapshot::control_plane::ControlPlane;
use crate::snapshot::evidence::Evidence;
use crate::snapshot::hpa::{CUSTOM, CrossVersionObjectReference};
use crate::snapshot::input::Options;
use crate::snapshot::load::Load;
use crate::snapshot::metric::{ExternalMetricValue, MetricValue, PodMetrics};
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ApiService, ScaledObject, VerticalPodAutoscaler, Workload};
use reader::Earlier;

/// An API group, a kind, and the namespace if it is stated.
pub type ListedKind = (String, String, Option<String>);

/// All objects that were read.
#[derive(Debug, Default)]
pub struct Objects {
    /// Notes about input that was not read.
    pub notes: Vec<Note>,
    /// The files of directories that were skipped because no document in them states a kind.
    pub files_without_object: Vec<String>,
    /// The directories inside of those that were named, with files that were not read.
    pub skipped_directories: Vec<PathBuf>,
    /// HorizontalPodAutoscalers of any version, as JSON.
    pub hpas: Vec<UndecodedHpa>,
    /// Scales.
    pub scales: Vec<ScaleObject>,
    /// Whether they are manifests, whatever uid they have.
    pub are_manifests: bool,
    /// Objects that create pods.
    pub workloads: Vec<Workload>,
    /// The kinds of those in lists from a cluster: an object that such a list lacks did not exist.
    pub listed_workloads: BTreeSet<ListedKind>,
    /// The same objects, complete and in the same order; `None` for those that are not manifests.
    pub undecoded_workloads: Vec<Option<Undecoded>>,
    /// KEDA's ScaledObjects.
    pub scaled_objects: Vec<ScaledObject>,
    /// The same objects, complete and in the same order.
    pub undecoded_scaled_objects: Vec<Undecoded>,
    /// VerticalPodAutoscalers.
    pub vertical_pod_autoscalers: Vec<VerticalPodAutoscaler>,
    /// APIServices.
    pub api_services: Vec<ApiService>,
    /// Metrics in the resources of metrics APIs.
    pub served_metrics: BTreeMap<String, Vec<String>>,
    /// The version of the custom metrics API in that list.
    pub custom_version: Option<String>,
    /// Pods.
    pub pods: Vec<Shared<Pod>>,
    /// Items of the resource metrics API.
    pub pod_metrics: Vec<Shared<PodMetrics>>,
    /// Items of the custom metrics API.
    pub metric_values: Vec<MetricValue>,
    /// The places of those in earlier answers.
    pub earlier_metric_values: Earlier,
    /// Items of the external metrics API.
    pub external_values: Vec<ExternalMetricValue>,
    /// The lists of pods and of their usage in the input, even if empty: objects missing in them did not exist. If all
    /// items of a list are of one namespace, it says nothing about others. Of lists of any kind, only those with usage.
    /// Of the lists of metric values, only the empty ones.
    pub lists: BTreeSet<(Documents, Option<String>)>,
    /// Events about HPAs, and the controller manager's lease.
    pub evidence: Evidence,
    /// The pods of the controller manager, and its leader.
    pub control_plane: ControlPlane,
    /// The controller's state.
    pub state: Option<ControllerState<'static>>,
    /// Where it was read.
    pub state_origin: String,
    /// A load over time.
    pub load: Option<Load>,
    /// The number of skipped objects that a pass does not use, by kind and version.
    pub skipped: BTreeMap<(String, String), usize>,
}

impl Objects {
    /// Skips pods that are only manifests, such as the one with which a chart tests its connection: they do not
    /// run. In a recorded state, all pods count, whatever they lack.
    pub(super) fn skip_pod_manifests(&mut self) {
        if self.state.is_some() {
            return;
        }
        let (manifests, pods): (Vec<_>, Vec<_>) = std::mem::take(&mut self.pods)
            .into_iter()
            .partition(|pod| pod.is_manifest());
        self.pods = pods;
        if !manifests.is_empty() {
            let pods: Vec<String> = manifests
                .iter()
                .map(|pod| format!("Pod/{}", pod.name))
                .collect();
            let are = match pods.len() {
                1 => "it is a manifest, and does not run",
                _ => "they are manifests, and do not run",
            };
            self.notes.push(Note::new(format!(
                "skipped {}: without a status {are}",
                listed(&pods)
            )));
        }
    }

    /// Whether the input has a list of these documents that shows what a namespace has.
    pub(super) fn has_list(&self, documents: Documents, namespace: &str) -> bool {
        [None, Some(namespace.to_owned())]
            .into_iter()
            .any(|only| self.lists.contains(&(documents, only)))
    }

    /// Returns the advice for skipped ScaledObjects of KEDA 1, if there are any.
    fn hint_of_old_keda(&self) -> Option<String> {
        let is_old = |(kind, api_version): &&(String, String)| {
            kind == "ScaledObject" && names::group(api_version) == "keda.k8s.io"
        };
        let (kind, api_version) = self.skipped.keys().find(is_old)?;
        Some(format!(
            "it has a {kind} of {api_version}, which is KEDA 1: convert it to keda.sh/v1alpha1"
        ))
    }

    /// Gives each Rollout without a template the one that it refers to.
    pub(super) fn follow_references(&mut self) {
        for place in 0..self.workloads.len() {
            let rollout = &self.workloads[place];
            if rollout.template_of.is_none() {
                continue;
            }
            let template = self.workloads.iter().find(|it| it.is_template_of(rollout));
            if let Some(template) = template.cloned() {
                self.workloads[place].resolve(&template);
            }
        }
    }

    /// Lists the objects that can be neither an HPA nor its target: by name, or as the number of a kind.
    pub(crate) fn others(&self) -> Vec<String> {
        let scales = self
            .scales
            .iter()
            .map(|it| format!("Scale/{}", it.metadata.name));
        let vpas = self
            .vertical_pod_autoscalers
            .iter()
            .map(|vpa| format!("VerticalPodAutoscaler/{}", vpa.metadata.name));
        let pods = self.pods.iter().map(|pod| format!("Pod/{}", pod.name));
        let metrics =
            self.pod_metrics.len() + self.metric_values.len() + self.external_values.len();
        let events =
            self.evidence.events.len() + self.evidence.scaled.len() + self.evidence.pods.len();
        let served = self.served_metrics.values().map(Vec::len).sum();
        let states = usize::from(self.state.is_some());
        let counted = [
            (
                metrics,
                ["value of a metrics API", "values of metrics APIs"],
            ),
            (events, ["event", "events"]),
            (states, ["ControllerState"; 2]),
            (self.api_services.len(), ["APIService"; 2]),
            (served, ["name of a metric", "names of metrics"]),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, [one, many])| format!("{count} {}", if count == 1 { one } else { many }));
        let skipped = self
            .skipped
            .iter()
            .map(|((kind, _), count)| format!("{count} {kind}"));
        scales
            .chain(vpas)
            .chain(pods)
            .chain(counted)
            .chain(skipped)
            .collect()
    }

    /// Says what the input has instead of a HorizontalPodAutoscaler, and which object was probably meant to be
    /// one.
    pub(crate) fn without_hpa(&self) -> String {
        if let Some(hint) = self
            .skipped
            .keys()
            .find_map(misspelt_hpa)
            .or(self.hint_of_old_keda())
        {
            return hint;
        }
        let workloads = self.workloads.iter().map(Workload::reference);
        let scaled_objects = self
            .scaled_objects
            .iter()
            .map(|object| format!("ScaledObject/{}", object.metadata.name));
        let there: Vec<String> = workloads
            .chain(scaled_objects)
            .chain(self.others())
            .collect();
        let files = &self.files_without_object[..];
        self.beside_skipped_directories(match (&there[..], files) {
            ([], []) => "it has no objects".to_owned(),
            ([], files) => {
                format!(
                    "it has no objects, only files without a kind: {}",
                    listed(files)
                )
            }
            (there, _) => format!("it has {}", listed(there)),
        })
    }

    /// Returns the note about the skipped files.
    pub(super) fn note_of_files_without_object(&self) -> Option<Note> {
        let files = &self.files_without_object;
        let text = || format!("skipped {}: no Kubernetes object", listed(files));
        (!files.is_empty()).then(|| Note::new(text()))
    }

    /// Adds the directories that may have what the input lacks.
    pub(super) fn beside_skipped_directories(&self, what_it_has: String) -> String {
        match self.words_of_skipped_directories() {
            Some(skipped) => format!("{what_it_has}; {skipped}"),
            None => what_it_has,
        }
    }

    /// Advises to name the skipped directories.
    pub(super) fn words_of_skipped_directories(&self) -> Option<String> {
        let paths = self.skipped_directories.iter();
        let shown: Vec<String> = paths.map(|it| it.display().to_string()).collect();
        match &shown[..] {
            [] => None,
            [one] => Some(format!(
                "the directory {one} is skipped: name it to read it"
            )),
            several => Some(format!(
                "{} directories are skipped: name them to read them: {}",
                several.len(),
                listed(several)
            )),
        }
    }

    /// Returns the metrics that the API of a group serves: those that it lists, and those with values in the
    /// namespace. Each is named once, as in its list. `None` if there is no sign that the group is served.
    pub(crate) fn served_metrics(&self, group: &str, namespace: &str) -> Option<Vec<String>> {
        let listed = self.served_metrics.get(group);
        let mut all = listed.cloned().unwrap_or_default();
        if group != CUSTOM {
            all.extend(self.external_values.iter().map(|it| it.metric_name.clone()));
        } else {
            let here = self
                .metric_values
                .iter()
                .filter(|it| it.described_object.namespace == namespace);
            let kind = |kind: &str| names::plural(kind);
            all.extend(here.map(|it| format!("{}/{}", kind(&it.described_object.kind), it.name)));
        }
        let mut seen = HashSet::new();
        all.retain(|metric| seen.insert(metric.clone()));
        (listed.is_some() || !all.is_empty()).then_some(all)
    }
}

/// The kind of an HPA.
pub(super) const HPA: &str = "HorizontalPodAutoscaler";

/// Returns the reason why an object is not an HPA, if its kind or its version is nearly an HPA's.
fn misspelt_hpa((kind, api_version): &(String, String)) -> Option<String> {
    let is_of_group = api_version.starts_with("autoscaling/");
    if kind == HPA && api_version.is_empty() {
        Some(format!("a {kind} has no apiVersion: add autoscaling/v2"))
    } else if kind == HPA {
        Some(format!(
            "a {kind} has the apiVersion {api_version}: did you mean autoscaling/v2?"
        ))
    } else if is_of_group && similar::nearest(kind, [HPA]).is_some() {
        Some(format!("it has the kind {kind}: did you mean {HPA}?"))
    } else {
        None
    }
}

/// A HorizontalPodAutoscaler that has not been decoded yet: most inputs contain others, too.
#[derive(Debug)]
pub struct UndecodedHpa {
    /// Where it was read.
    pub origin: String,
    /// The line at which its document begins there, counted from 1.
    pub line: usize,
    /// The HPA's name.
    pub name: String,
    /// The HPA's namespace, if stated.
    pub namespace: Option<String>,
    /// The HPA's labels; `None` without metadata.
    pub labels: Option<Labels>,
    /// The whole object.
    pub json: String,
}

/// A complete object. Triggers and environments may contain passwords, so it is neither shown nor saved.
#[derive(Debug)]
pub struct Undecoded {
    /// Where it was read.
    pub origin: String,
    /// The line at which its document begins there, counted from 1.
    pub line: usize,
    /// The whole object.
    pub json: Secret,
}

impl UndecodedHpa {
    /// Returns the HPA's target, if it can be read.
    pub(crate) fn target(&self) -> Option<CrossVersionObjectReference> {
        #[derive(Deserialize)]
        struct HpaTargetObject {
            spec: HpaTargetSpec,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct HpaTargetSpec {
            scale_target_ref: CrossVersionObjectReference,
        }
        decode::<HpaTargetObject>(&self.json)
            .ok()
            .map(|object| object.spec.scale_target_ref)
            .filter(|target| !target.kind.is_empty())
    }

    fn has(&self, target: &Target) -> bool {
        self.target().is_some_and(|own| own.is(target))
    }

    /// Whether a name refers to the HPA.
    pub(crate) fn is(&self, named: &Named) -> bool {
        match named {
            Named::Hpa(name) => self.name == *name,
            Named::Target(target) => self.has(target),
        }
    }

    /// Whether the options select the HPA, whatever its namespace.
    pub(crate) fn is_meant(&self, options: &Options) -> bool {
        (options.name.is_empty() || self.name == options.name)
            && options
                .target
                .as_ref()
                .is_none_or(|target| self.has(target))
    }
}
