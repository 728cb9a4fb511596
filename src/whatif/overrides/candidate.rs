//! The manifests of a candidate, as `helm template` and `kustomize build` print them: which of them is the HPA, which
//! is its target, and what is left over. A ScaledObject counts as the HPA that KEDA creates from it.

use super::distinct;
use crate::apimachinery::annotations::{KEDA_OWNERSHIP, KEDA_TRANSFER};
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names::shell_word;
use crate::apiserver::convert::{HpaObject, HpaVersion};
use crate::apiserver::default::{AdmissionRules, set_on_decode, set_on_read};
use crate::apiserver::metadata::ObjectMeta;
use crate::apiserver::validate::{self, Cause, Invalid, validate};
use crate::args::Validate;
use crate::error::{Error, listed};
use crate::keda::{self, OpenMetric};
use crate::saved::assemble::rejected;
use crate::saved::file::RENDERED;
use crate::saved::manifest::{self, WorkloadManifest, refused};
use crate::saved::objects::{Objects, Undecoded, UndecodedHpa};
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, HpaSpec, HpaStatus, MetricSpec};
use crate::snapshot::input::Options;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings, Workload};
use crate::snapshot::{Scale, Snapshot};

/// The source that is read if the file name is `-`.
const STANDARD_INPUT: &str = "standard input";

/// Manifests of the HPA, or of its target.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The name of their source: a file, a directory, or standard input.
    pub origin: String,
    /// How unknown fields were treated.
    pub(super) validate: Validate,
    hpas: Vec<Manifest>,
    pub(super) workloads: Vec<WorkloadManifest>,
    /// Descriptions of all other objects.
    others: Vec<String>,
    /// Manifests that exist but were not read, and fields that the candidate does not use.
    pub(super) skipped: Vec<Note>,
    /// The metrics that were looked up in addition to those of the running HPA: those that this candidate may
    /// have, and those of other candidates.
    pub asked: Vec<MetricSpec>,
}

/// The manifest of an HPA, or of a ScaledObject from which KEDA creates one.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// The object, as `Kind/name`.
    pub(super) reference: String,
    /// The file.
    pub(super) origin: String,
    /// The line at which its document begins there, counted from 1.
    line: usize,
    /// The HPA's name.
    pub(super) name: String,
    namespace: Option<String>,
    target: Option<CrossVersionObjectReference>,
    /// The HPA, or the error why it cannot be assumed.
    object: Result<HpaObject, Error>,
    /// The ScaledObject, if KEDA creates the HPA from one.
    scaled_object: Option<ScaledObjectFacts>,
}

/// What a ScaledObject states in addition to its HPA.
#[derive(Debug, Clone, Default)]
struct ScaledObjectFacts {
    name: String,
    /// The metrics whose names only KEDA knows.
    open: Vec<OpenMetric>,
    /// The container of the target that the ScaledObject names.
    env_container: Option<String>,
    /// Whether the ScaledObject takes over an HPA that KEDA did not create.
    takes_over: bool,
}

/// The manifests for an HPA and its target.
pub(super) struct Chosen<'c> {
    /// The manifest of the HPA; `None` if there is only the target's.
    pub(super) hpa: Option<&'c Manifest>,
    /// The manifests of other HPAs for the same target.
    pub(super) rivals: Vec<&'c Manifest>,
    /// The manifest of the target.
    pub(super) workload: Option<&'c WorkloadManifest>,
    /// Descriptions of all other objects.
    pub(super) ignored: Vec<String>,
}

impl Candidate {
    /// Takes possible HPAs and targets from objects that were read.
    ///
    /// # Errors
    ///
    /// There is no such manifest, or the only one that may be meant cannot be assumed.
    pub fn find(
        objects: &Objects,
        options: &Options,
        file: &str,
        validate: Validate,
    ) -> Result<Self, Error> {
        let hpas = Manifest::all(objects, options, validate);
        if hpas.is_empty() && objects.workloads.is_empty() {
            return Err(Error::usage(format!(
                "--hpa {file}: contains no HorizontalPodAutoscaler, ScaledObject or workload"
            ))
            .hint(objects.without_hpa()));
        }
        let meant = hpas.iter().filter(|it| {
            (options.name.is_empty() || it.name == options.name)
                && options
                    .target
                    .as_ref()
                    .is_none_or(|target| it.target.as_ref().is_some_and(|own| own.is(target)))
        });
        let may_be: Vec<&Manifest> = match meant.collect::<Vec<_>>() {
            none if none.is_empty() => hpas.iter().collect(),
            meant => meant,
        };
        if let [Manifest { object: Err(e), .. }] = may_be[..] {
            return Err(e.clone());
        }
        let asked = may_be
            .iter()
            .filter_map(|hpa| hpa.object.as_ref().ok())
            .flat_map(|object| object.spec.metrics.iter().cloned())
            .collect();
        Ok(Self {
            origin: if file == "-" {
                STANDARD_INPUT.to_owned()
            } else {
                file.to_owned()
            },
            validate,
            workloads: WorkloadManifest::all(
                objects.workloads.iter().zip(&objects.undecoded_workloads),
                validate,
            ),
            others: objects.others(),
            skipped: objects.notes.clone(),
            asked,
            hpas,
        })
    }

    /// Returns the flag that gives the candidate, with its value quoted for a shell.
    pub(super) fn flag(&self) -> (&'static str, String) {
        let path = if self.origin == STANDARD_INPUT {
            "-"
        } else {
            &self.origin
        };
        ("--hpa", shell_word(path))
    }

    /// Returns the file with the manifest of an HPA, and the line at which its document begins; `None` on
    /// standard input, or if there is only the target's manifest.
    pub fn place(&self, hpa: &Hpa) -> Option<(&str, usize)> {
        let Manifest { origin, line, .. } = self.choose(hpa, &[]).ok()?.hpa?;
        (self.origin != STANDARD_INPUT).then_some((origin, *line))
    }

    /// Returns the manifests of an HPA and its target. A manifest of one of the `others` in the same namespace
    /// belongs to that HPA.
    ///
    /// # Errors
    ///
    /// There is no manifest for the HPA, or the choice is ambiguous.
    pub(super) fn choose(
        &self,
        hpa: &Hpa,
        others: &[Shared<OtherHpa>],
    ) -> Result<Chosen<'_>, Error> {
        let target = &hpa.spec.scale_target_ref;
        let is_of_it = |namespace: &Option<String>| may_be_in(namespace, &hpa.namespace);
        // Manifests that are all of other namespaces are compared as if they were of this one.
        let mut namespaces = self.hpas.iter().map(|it| &it.namespace);
        let mut of_workloads = self
            .workloads
            .iter()
            .map(|it| &it.object.metadata.namespace);
        let is_elsewhere = !namespaces.any(is_of_it) && !of_workloads.any(is_of_it);
        let here = |namespace: &Option<String>| is_elsewhere || is_of_it(namespace);
        let scales_it = |it: &Manifest| it.target.as_ref().is_some_and(|own| own.is_same(target));
        let all_fitting: Vec<&Manifest> = self
            .hpas
            .iter()
            .filter(|it| here(&it.namespace) && scales_it(it))
            .collect();
        let is_of_other = |it: &&Manifest| {
            it.name != hpa.name && others.iter().any(|other| other.hpa.name == it.name)
        };
        let (of_others, fitting): (Vec<&Manifest>, Vec<&Manifest>) =
            all_fitting.iter().copied().partition(is_of_other);
        let of_hpa: Vec<&Manifest> = fitting
            .iter()
            .filter(|it| it.name == hpa.name)
            .copied()
            .collect();
        let meant = if of_hpa.is_empty() { fitting } else { of_hpa };
        let workload = self.workload_of(target, here)?;
        let is_alone = workload.is_none() && of_others.is_empty();
        let chosen = match (&meant[..], &self.hpas[..]) {
            ([one], _) => Some(*one),
            ([], [one]) if is_alone && here(&one.namespace) => Some(one),
            // A manifest with this name for another target is a contradiction, whatever other manifests there are.
            ([], _) => self
                .hpas
                .iter()
                .find(|it| here(&it.namespace) && it.name == hpa.name),
            (several, _) => {
                let places: Vec<String> = several
                    .iter()
                    .map(|it| format!("{} ({}:{})", it.name, it.origin, it.line))
                    .collect();
                return Err(Error::usage(format!(
                    "{}: {} HorizontalPodAutoscalers for {target}: {}",
                    self.origin,
                    several.len(),
                    listed(&places)
                ))
                .hint("keep one of them"));
            }
        };
        if chosen.is_none() && is_alone {
            return Err(self.without(target));
        }
        let rivals: Vec<&Manifest> = all_fitting
            .into_iter()
            .filter(|it| match chosen {
                Some(chosen) => chosen.name != it.name,
                None => is_of_other(it),
            })
            .collect();
        let taken: Vec<&Manifest> = chosen.into_iter().chain(rivals.iter().copied()).collect();
        let ignored = self.ignored(&taken, workload, here);
        Ok(Chosen {
            hpa: chosen,
            rivals,
            workload,
            ignored,
        })
    }

    fn workload_of(
        &self,
        target: &CrossVersionObjectReference,
        here: impl Fn(&Option<String>) -> bool,
    ) -> Result<Option<&WorkloadManifest>, Error> {
        let mut of_target = self
            .workloads
            .iter()
            .filter(|it| it.object.is_named_by(target) && here(&it.object.metadata.namespace));
        let workload = of_target.next();
        if let (Some(workload), Some(_)) = (workload, of_target.next()) {
            let (origin, workload) = (&self.origin, workload.object.reference());
            return Err(
                Error::usage(format!("{origin}: contains {workload} more than once"))
                    .hint("keep one of them"),
            );
        }
        Ok(workload)
    }

    /// Returns the manifests that do not apply here.
    fn ignored(
        &self,
        taken: &[&Manifest],
        workload: Option<&WorkloadManifest>,
        here: impl Fn(&Option<String>) -> bool,
    ) -> Vec<String> {
        let is_taken = |it: &&Manifest| taken.iter().any(|own| std::ptr::eq(*own, *it));
        let hpas = self
            .hpas
            .iter()
            .filter(|it| !is_taken(it))
            .map(|it| (it.reference.clone(), &it.namespace));
        let workloads = self
            .workloads
            .iter()
            .filter(|it| {
                !workload.is_some_and(|own| {
                    std::ptr::eq(own, *it) || it.object.is_template_of(&own.object)
                })
            })
            .map(|it| (it.object.reference(), &it.object.metadata.namespace));
        hpas.chain(workloads)
            .map(|(reference, namespace)| {
                if here(namespace) {
                    reference
                } else {
                    placed(reference, namespace)
                }
            })
            .chain(self.others.iter().cloned())
            .collect()
    }

    /// Returns the manifests of HPAs for other targets whose selectors also match pods of the target, with the
    /// scales of their targets if these are known.
    pub(super) fn neighbours(
        &self,
        chosen: &Chosen<'_>,
        snapshot: &Snapshot,
        surroundings: &Surroundings,
    ) -> Vec<(&Manifest, Scale)> {
        let Ok(Ok(selector)) = snapshot.scale.as_ref().map(|it| it.selector.parsed()) else {
            return Vec::new();
        };
        let others = self.hpas.iter().filter(|it| {
            let mut taken = chosen.hpa.iter().chain(&chosen.rivals);
            may_be_in(&it.namespace, &snapshot.hpa.namespace)
                && !taken.any(|own| std::ptr::eq(*own, *it))
        });
        let with_scale = others.filter_map(|it| {
            let target = it.target.as_ref()?;
            let mut manifests = self.workloads.iter().map(|own| &own.object);
            let workload = surroundings
                .workload(target)
                .or_else(|| manifests.find(|own| own.is_named_by(target)))?;
            let own_selector = workload.pod_selector()?;
            let mut pods = snapshot.pods.iter();
            let shares =
                pods.any(|pod| selector.matches(&pod.labels) && own_selector.matches(&pod.labels));
            shares.then(|| (it, workload.to_scale(own_selector.to_string())))
        });
        with_scale.collect()
    }

    /// Returns the error for a candidate with no manifest for a target.
    fn without(&self, target: &CrossVersionObjectReference) -> Error {
        let hpas = self.hpas.iter().map(|it| {
            let own = placed(it.reference.clone(), &it.namespace);
            match &it.target {
                Some(target) => format!("{own} for {target}"),
                None => own,
            }
        });
        let objects = self.workloads.iter().map(|it| &it.object);
        let workloads = objects.map(|it| placed(it.reference(), &it.metadata.namespace));
        let there: Vec<String> = hpas.chain(workloads).collect();
        let error = Error::usage(format!(
            "{}: contains neither a HorizontalPodAutoscaler for {target} nor {target}",
            self.origin
        ));
        if there.iter().any(|own| own.contains("{{")) {
            error.hint(RENDERED)
        } else {
            error.hint(format!("it has {}", listed(&there)))
        }
    }
}

/// Whether an object is in a namespace, if it states one.
fn may_be_in(stated: &Option<String>, namespace: &str) -> bool {
    stated.as_ref().is_none_or(|own| own == namespace)
}

/// An object with its namespace, if it states one.
fn placed(reference: String, namespace: &Option<String>) -> String {
    match namespace {
        Some(namespace) => format!("{reference} in {namespace}"),
        None => reference,
    }
}

impl Manifest {
    /// Returns all HPAs that some objects define.
    fn all(objects: &Objects, options: &Options, validate: Validate) -> Vec<Self> {
        let namespace = options.namespace.as_deref();
        let of_keda = objects
            .scaled_objects
            .iter()
            .zip(&objects.undecoded_scaled_objects)
            .map(|(it, whole)| Self::of_keda(it, whole, namespace, validate));
        let read = objects.hpas.iter().map(|hpa| Self::read(hpa, validate));
        read.chain(of_keda).collect()
    }

    fn read(hpa: &UndecodedHpa, validate: Validate) -> Self {
        let object = manifest::read_hpa(hpa, validate).map(|mut object| {
            if object.status != HpaStatus::default() {
                object.notes.push(Note::new(
                    "the status in the manifest is ignored, as by the API server: only the controller writes it",
                ));
            }
            set_on_decode(&mut object.spec, object.version);
            object
        });
        Self {
            reference: format!("HorizontalPodAutoscaler/{}", hpa.name),
            origin: hpa.origin.clone(),
            line: hpa.line,
            name: hpa.name.clone(),
            namespace: hpa.namespace.clone(),
            target: hpa.target(),
            object,
            scaled_object: None,
        }
    }

    /// The HPA that KEDA makes of a ScaledObject.
    fn of_keda(
        object: &ScaledObject,
        whole: &Undecoded,
        namespace: Option<&str>,
        validate: Validate,
    ) -> Self {
        let Undecoded { origin, line, json } = whole;
        let (name, target) = keda::identity(json.expose());
        let Metadata {
            name: own_name,
            namespace: own_namespace,
            ..
        } = &object.metadata;
        let mut facts = ScaledObjectFacts {
            name: own_name.clone(),
            ..ScaledObjectFacts::default()
        };
        let object_of_keda = manifest::hpa_of_keda(whole, namespace, validate).map(|hpa| {
            facts.open = hpa.open;
            facts.env_container = hpa.env_container;
            facts.takes_over = hpa.takes_over;
            HpaObject {
                version: HpaVersion::V2,
                metadata: ObjectMeta {
                    name: hpa.name,
                    namespace: hpa.namespace.unwrap_or_default(),
                    ..ObjectMeta::default()
                },
                spec: hpa.spec,
                status: HpaStatus::default(),
                notes: hpa.notes,
            }
        });
        Self {
            reference: format!("ScaledObject/{own_name}"),
            origin: origin.clone(),
            line: *line,
            name,
            namespace: own_namespace.clone(),
            target,
            object: object_of_keda,
            scaled_object: Some(facts),
        }
    }

    /// Returns the metrics whose names only KEDA knows.
    fn open(&self) -> &[OpenMetric] {
        let facts = self.scaled_object.as_ref();
        facts.map_or(&[], |facts| &facts.open)
    }

    /// Returns the spec that replaces the running one, with metric names as in the running one, and notes on
    /// those metrics.
    ///
    /// # Errors
    ///
    /// The running HPA lacks the metric of a trigger that needs it.
    pub(super) fn spec(&self, running: &Hpa) -> Result<(HpaSpec, Vec<Note>), Error> {
        let object = self.object()?;
        let mut spec = object.spec.clone();
        let notes = OpenMetric::fill(
            self.open(),
            &mut spec,
            Some(&running.spec),
            &running.namespace,
        )
        .map_err(|e| refused(e, &self.origin))?;
        set_on_decode(&mut spec, object.version);
        Ok((spec, notes))
    }

    /// Checks that the target has the container that the ScaledObject names, if its template is known.
    ///
    /// # Errors
    ///
    /// The target has no such container.
    pub(super) fn check_env_container(&self, target: Option<&Workload>) -> Result<(), Error> {
        let template = target.and_then(|own| own.template.as_deref());
        let facts = self.scaled_object.as_ref();
        let named = facts.and_then(|facts| facts.env_container.as_deref());
        keda::check_env_container(named, template).map_err(|e| refused(e, &self.origin))
    }

    /// Returns what KEDA's webhook says about an HPA that the API server has but KEDA did not create
    /// (`verifyHpas`).
    pub(super) fn ownership(&self, hpa: &Hpa) -> Option<Note> {
        let ScaledObjectFacts {
            name, takes_over, ..
        } = self.scaled_object.as_ref()?;
        let owner = hpa.scaled_object().map(|owner| &owner.name);
        let is_same = self.name == hpa.name;
        hpa.uid.as_ref()?;
        let own = format!("HorizontalPodAutoscaler/{}", hpa.name);
        let taken_over =
            |annotation| format!("{annotation}: KEDA takes over {own}, which it did not create");
        Some(Note::new(
            match (owner, hpa.accepts_scaled_objects, is_same) {
                (Some(owner), ..) if owner == name => return None,
                // `verifyScaledObjects` rejects it, regardless of the annotations.
                (Some(owner), ..) => format!(
                    "KEDA's webhook refuses it while ScaledObject/{owner}, whose HorizontalPodAutoscaler is {}, scales \
                 the target: delete ScaledObject/{owner} first",
                    hpa.name
                ),
                (None, _, true) if *takes_over => taken_over(KEDA_TRANSFER),
                (None, true, true) => taken_over(KEDA_OWNERSHIP),
                (None, true, false) => format!(
                    "{KEDA_OWNERSHIP} of {own} has KEDA create HorizontalPodAutoscaler/{} alongside it: both scale the \
                 target until one is deleted",
                    self.name
                ),
                (None, false, _) => format!(
                    "KEDA's webhook refuses it while {own}, which KEDA did not create, scales the target: delete \
                 that HPA, or have KEDA take it over with the annotation {KEDA_TRANSFER}: \"true\" and \
                 spec.advanced.horizontalPodAutoscalerConfig.name: {}",
                    hpa.name
                ),
            },
        ))
    }

    /// Whether the HPA comes from a ScaledObject.
    pub(super) fn is_of_keda(&self) -> bool {
        self.scaled_object.is_some()
    }

    /// The HPA.
    ///
    /// # Errors
    ///
    /// The manifest cannot be read, or has unknown fields.
    pub(super) fn object(&self) -> Result<&HpaObject, Error> {
        self.object.as_ref().map_err(Clone::clone)
    }

    /// Checks that the API server would accept the metadata in a namespace. The HPAs of KEDA have metadata made
    /// by KEDA.
    pub(super) fn check_metadata(&self, namespace: &str) -> Result<(), Error> {
        let metadata = self.object()?.metadata.clone();
        let causes = validate::of_metadata(&ObjectMeta {
            namespace: namespace.to_owned(),
            ..metadata
        });
        if causes.is_empty() || self.is_of_keda() {
            return Ok(());
        }
        let invalid = self.invalid(causes);
        let hint = if self.name.contains("{{") {
            RENDERED
        } else {
            "the API server would reject this manifest"
        };
        Err(Error::usage(format!("{}: {invalid}", self.origin)).hint(hint))
    }

    /// Checks that the API server would accept the spec.
    pub(super) fn check_spec(&self, rules: AdmissionRules) -> Result<(), Error> {
        let mut object = self.object()?.clone();
        set_on_read(&mut object.spec);
        let mut causes = self.causes(&object, rules);
        causes.retain(|cause| cause.field.starts_with("spec."));
        self.accept(&object.spec, causes)
    }

    /// Returns what the API server would reject. A metric whose name only KEDA knows has no values to validate.
    fn causes(&self, object: &HpaObject, rules: AdmissionRules) -> Vec<Cause> {
        match self.open() {
            [] => validate(&object.metadata, &object.spec, rules),
            _ => Vec::new(),
        }
    }

    /// Returns the error for what the API server would reject, if anything.
    fn accept(&self, spec: &HpaSpec, causes: Vec<Cause>) -> Result<(), Error> {
        if causes.is_empty() {
            return Ok(());
        }
        let invalid = self.invalid(causes);
        if self.is_of_keda() {
            return Err(rejected_of_keda(&self.origin, &invalid));
        }
        let error = Error::usage(format!("{}: {invalid}", self.origin));
        Err(error.hint(rejected("manifest", &self.unknown(), spec, &invalid)))
    }

    fn invalid(&self, causes: Vec<Cause>) -> Invalid {
        let name = self.name.clone();
        Invalid { name, causes }
    }

    /// Returns the unknown fields of the manifest as text.
    pub(super) fn unknown(&self) -> Vec<String> {
        let notes = self.object.iter().flat_map(|object| &object.notes);
        let unknown = notes.filter_map(|note| match &note.subject {
            Subject::FieldIgnored { cause } => Some(cause.clone()),
            _ => None,
        });
        unknown.collect()
    }

    /// Returns the HPA as the API server would store it in a namespace.
    ///
    /// # Errors
    ///
    /// The manifest cannot be read, or the API server would reject it.
    pub(super) fn applied(&self, namespace: &str, rules: AdmissionRules) -> Result<Hpa, Error> {
        let mut object = self.object()?.clone();
        set_on_read(&mut object.spec);
        namespace.clone_into(&mut object.metadata.namespace);
        self.accept(&object.spec, self.causes(&object, rules))?;
        Ok(object.into_hpa())
    }
}

/// Returns the error for an HPA of KEDA that the API server would reject, with the fields of its
/// ScaledObject.
pub(super) fn rejected_of_keda(origin: &str, invalid: &Invalid) -> Error {
    let causes = invalid.causes.iter();
    let texts = causes.map(|own| format!("{}: {}", keda::path_of(&own.field), own.message));
    Error::usage(format!("{origin}: {}", distinct(texts).join("; ")))
        .hint("the API server would reject the HPA that KEDA makes of it")
}

/// Checks that a spec scales the target that was observed.
pub(super) fn same_target(before: &HpaSpec, after: &HpaSpec, origin: &str) -> Result<(), Error> {
    let (own, other) = (&before.scale_target_ref, &after.scale_target_ref);
    if own.is_same(other) {
        return Ok(());
    }
    let [scales, running] = [other, own].map(|it| {
        if own.to_string() == other.to_string() {
            it.with_group()
        } else {
            it.to_string()
        }
    });
    Err(Error::usage(format!("{origin}: it scales {scales}, but the HPA scales {running}")).hint(
        if other.name.contains("{{") { RENDERED } else {
                "observations of one target do not apply to another: use -f with the other's objects and the new \
                 HPA, without the running one"
            },
    ))
}
