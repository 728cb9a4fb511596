//! The manifests of a candidate, as `helm template` and `kustomize build` print them: which of them is
//! the HPA, which is its target, and what is left over. A ScaledObject counts as the HPA that KEDA
//! makes of it.

use serde_json::Value as Json;

use crate::apimachinery::annotations::{KEDA_OWNERSHIP, KEDA_TRANSFER};
use crate::apimachinery::json::decode;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names::shell_word;
use crate::apiserver::convert::{
    self, HpaObject, HpaVersion, UnknownFields, hpa_with_unknown_fields, unknown_in_workload,
};
use crate::apiserver::default::{AdmissionRules, set_on_decode, set_on_read};
use crate::apiserver::metadata::ObjectMeta;
use crate::apiserver::validate::{self, Cause, Invalid, validate};
use crate::args::Validate;
use crate::error::{Error, listed};
use crate::keda::{self, KedaHpa, OpenMetric, Refused};
use crate::saved::assemble::{count, rejected};
use crate::saved::file::RENDERED;
use crate::saved::objects::{Objects, Undecoded, UndecodedHpa};
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, HpaSpec, HpaStatus, MetricSpec};
use crate::snapshot::input::Options;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::note::{KedaNote, NotOwned, Note};
use crate::snapshot::shared::Shared;
use crate::snapshot::surroundings::{ScaledObject, Surroundings, Workload};
use crate::snapshot::{Scale, Snapshot};

/// What is read in place of a file that is called `-`.
const STANDARD_INPUT: &str = "standard input";

/// Manifests of the HPA, or of its target.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What they are called: a file, a directory, or standard input.
    origin: String,
    /// How its unknown fields were treated.
    validate: Validate,
    hpas: Vec<Manifest>,
    workloads: Vec<WorkloadManifest>,
    /// All else, in words.
    others: Vec<String>,
    /// What was not read where they are, and what it does not take.
    pub(super) skipped: Vec<Note>,
    /// The metrics that were looked up in addition to those of the running HPA: those that this candidate may
    /// have, and those of other candidates.
    pub(super) asked: Vec<MetricSpec>,
}

/// The manifest of an HPA, or of a ScaledObject that KEDA makes one of.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// What it is, as `Kind/name`.
    pub(super) reference: String,
    /// The file.
    pub(super) origin: String,
    /// The line at which its document begins there, counted from 1.
    line: usize,
    /// The HPA's name.
    name: String,
    namespace: Option<String>,
    target: Option<CrossVersionObjectReference>,
    /// The HPA, or why it cannot be assumed.
    object: Result<HpaObject, Error>,
    /// The metrics of its ScaledObject whose names only KEDA knows.
    open: Vec<OpenMetric>,
    /// The container of the target that the ScaledObject names.
    env_container: Option<String>,
    /// The ScaledObject, by name, with whether it takes over an HPA that KEDA did not create.
    scaled_object: Option<(String, bool)>,
}

/// The manifest of an object that creates pods.
#[derive(Debug, Clone)]
pub(super) struct WorkloadManifest {
    pub(super) object: Workload,
    /// The file.
    pub(super) origin: String,
    /// The containers whose cores are stated without a unit; `None` is the pod as a whole.
    pub(super) bare_cores: Vec<Option<Box<str>>>,
    /// What is to be said of it, or why it cannot be assumed.
    notes: Result<Vec<Note>, Error>,
}

/// What the manifests have for an HPA and its target.
pub(super) struct Chosen<'c> {
    /// The manifest of the HPA; none where only the target's is there.
    pub(super) hpa: Option<&'c Manifest>,
    /// Those of other HPAs for the same target.
    pub(super) rivals: Vec<&'c Manifest>,
    /// The manifest of the target.
    pub(super) workload: Option<&'c WorkloadManifest>,
    /// What else there is, in words.
    pub(super) ignored: Vec<String>,
}

impl Candidate {
    /// Takes what can be an HPA or its target from objects that were read.
    ///
    /// # Errors
    ///
    /// There is nothing of the kind, or the only manifest that can be meant cannot be assumed.
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
        let is_meant = |it: &&Manifest| {
            (options.name.is_empty() || it.name == options.name)
                && options
                    .target
                    .as_ref()
                    .is_none_or(|target| it.target.as_ref().is_some_and(|own| own.is(target)))
        };
        let may_be: Vec<&Manifest> = match hpas.iter().filter(is_meant).collect::<Vec<_>>() {
            none if none.is_empty() => hpas.iter().collect(),
            meant => meant,
        };
        if let [Manifest { object: Err(e), .. }] = may_be[..] {
            return Err(e.clone());
        }
        let asked = may_be.iter().filter_map(|hpa| hpa.object.as_ref().ok());
        let asked = asked.flat_map(|object| object.spec.metrics.iter().cloned()).collect();
        Ok(Self {
            origin: if file == "-" { STANDARD_INPUT.to_owned() } else { file.to_owned() },
            validate,
            workloads: WorkloadManifest::all(objects, validate),
            others: objects.others(),
            skipped: objects.notes.clone(),
            asked,
            hpas,
        })
    }

    /// The metrics that it may need answers to.
    pub fn metrics(&self) -> &[MetricSpec] {
        &self.asked
    }

    /// Whether it has workloads, one of which may be the target.
    pub(super) fn has_workloads(&self) -> bool {
        !self.workloads.is_empty()
    }

    /// The containers of its workloads.
    pub(super) fn containers(&self) -> Vec<Box<str>> {
        let templates = self.workloads.iter().filter_map(|it| it.object.template.as_deref());
        templates.flat_map(|it| it.running(false)).map(|own| own.name.clone()).collect()
    }

    /// The same among others, for all of which these metrics were looked up.
    #[must_use]
    pub fn among(self, asked: &[MetricSpec]) -> Self {
        Self { asked: asked.to_vec(), ..self }
    }

    /// What it is called: a file, a directory, or standard input.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The flags that give it, each with its value as a word of a shell; empty if the flag has it.
    pub(super) fn flags(&self) -> impl Iterator<Item = (&'static str, String)> + use<> {
        let path = if self.origin == STANDARD_INPUT { "-" } else { &self.origin };
        let validate = match self.validate {
            Validate::Strict => None,
            Validate::Warn => Some("--validate=warn"),
            Validate::Ignore => Some("--validate=ignore"),
        };
        let validate = validate.map(|flag| (flag, String::new()));
        [("--hpa", shell_word(path))].into_iter().chain(validate)
    }

    /// The file of the manifest of an HPA, and the line at which its document begins; none on
    /// standard input, or where only its target's is there.
    pub fn place(&self, hpa: &Hpa) -> Option<(&str, usize)> {
        let Manifest { origin, line, .. } = self.choose(hpa, &[]).ok()?.hpa?;
        (self.origin != STANDARD_INPUT).then_some((origin, *line))
    }

    /// The manifests of an HPA and its target. A manifest of one of the `others` in the same namespace is about
    /// that HPA.
    ///
    /// # Errors
    ///
    /// Nothing does, or it is ambiguous what.
    pub(super) fn choose(
        &self,
        hpa: &Hpa,
        others: &[Shared<OtherHpa>],
    ) -> Result<Chosen<'_>, Error> {
        let target = &hpa.spec.scale_target_ref;
        let is_of_it = |namespace: &Option<String>| {
            namespace.as_ref().is_none_or(|namespace| *namespace == hpa.namespace)
        };
        // Manifests that are all of other namespaces are compared as if they were of this one.
        let mut namespaces = self.hpas.iter().map(|it| &it.namespace);
        let mut of_workloads = self.workloads.iter().map(|it| &it.object.metadata.namespace);
        let is_elsewhere = !namespaces.any(is_of_it) && !of_workloads.any(is_of_it);
        let here = |namespace: &Option<String>| is_elsewhere || is_of_it(namespace);
        let scales_it = |it: &Manifest| it.target.as_ref().is_some_and(|own| is_same(own, target));
        let is_own = |it: &&&Manifest| it.name == hpa.name && scales_it(it);
        let fitting = self.hpas.iter().filter(|it| here(&it.namespace) && scales_it(it));
        let all_fitting: Vec<&Manifest> = fitting.collect();
        let is_of_other = |it: &&Manifest| {
            it.name != hpa.name && others.iter().any(|other| other.hpa.name == it.name)
        };
        let (of_others, fitting): (Vec<&Manifest>, Vec<&Manifest>) =
            all_fitting.iter().copied().partition(is_of_other);
        let own: Vec<&Manifest> = fitting.iter().filter(is_own).copied().collect();
        let mut of_target = self.workloads.iter().filter(|WorkloadManifest { object, .. }| {
            let Metadata { name, namespace, .. } = &object.metadata;
            *name == target.name && object.is_kind_of(target) && here(namespace)
        });
        let workload = of_target.next();
        if let (Some(workload), Some(_)) = (workload, of_target.next()) {
            let (origin, workload) = (&self.origin, workload.object.reference());
            return Err(Error::usage(format!("{origin}: contains {workload} more than once"))
                .hint("keep one of them"));
        }
        let named = || self.hpas.iter().find(|it| here(&it.namespace) && it.name == hpa.name);
        let chosen = match (&own[..], &fitting[..], &self.hpas[..]) {
            ([one], ..) | ([], [one], _) => Some(*one),
            ([], [], [one]) if workload.is_none() && of_others.is_empty() => Some(one),
            // One of this name for another target contradicts, whatever else there is.
            ([], [], _) => named(),
            (several @ [_, ..], ..) | ([], several, _) => {
                let places = several
                    .iter()
                    .map(|Manifest { name, origin, line, .. }| format!("{name} ({origin}:{line})"));
                let places: Vec<String> = places.collect();
                let (origin, count, places) = (&self.origin, several.len(), listed(&places));
                return Err(Error::usage(format!(
                    "{origin}: {count} HorizontalPodAutoscalers for {target}: {places}"
                ))
                .hint("keep one of them"));
            }
        };
        if chosen.is_none() && workload.is_none() && of_others.is_empty() {
            return Err(self.without(target));
        }
        let rivals = all_fitting.into_iter().filter(|it| match chosen {
            Some(chosen) => chosen.name != it.name,
            None => is_of_other(it),
        });
        let rivals: Vec<&Manifest> = rivals.collect();
        let is_taken = |it: &&Manifest| {
            chosen.into_iter().chain(rivals.iter().copied()).any(|own| std::ptr::eq(own, *it))
        };
        let placed = |reference: String, namespace: &Option<String>| match here(namespace) {
            true => reference,
            false => placed(reference, namespace),
        };
        let hpas = self.hpas.iter().filter(|it| !is_taken(it));
        let hpas = hpas.map(|it| placed(it.reference.clone(), &it.namespace));
        let workloads = self.workloads.iter();
        let is_used = |it: &WorkloadManifest| {
            workload
                .is_some_and(|own| std::ptr::eq(own, it) || it.object.is_template_of(&own.object))
        };
        let workloads = workloads.filter(|it| !is_used(it));
        let workloads =
            workloads.map(|it| placed(it.object.reference(), &it.object.metadata.namespace));
        let all = hpas.chain(workloads).chain(self.others.iter().cloned());
        let all: Vec<String> = all.collect();
        Ok(Chosen { hpa: chosen, rivals, workload, ignored: all })
    }

    /// Returns the manifests of HPAs for other targets that select pods of the target, too, with the scales of their
    /// targets, as far as these are known.
    pub(super) fn neighbours(
        &self,
        chosen: &Chosen<'_>,
        snapshot: &Snapshot,
        surroundings: &Surroundings,
    ) -> Vec<(&Manifest, Scale)> {
        let is_here =
            |it: &Manifest| it.namespace.as_ref().is_none_or(|own| *own == snapshot.hpa.namespace);
        let is_chosen = |it: &Manifest| {
            let taken = chosen.hpa.into_iter().chain(chosen.rivals.iter().copied());
            taken.into_iter().any(|own| std::ptr::eq(own, it))
        };
        let Ok(Ok(selector)) = snapshot.scale.as_ref().map(|it| it.selector.parsed()) else {
            return Vec::new();
        };
        let pods = || snapshot.pods.iter().filter(|pod| selector.matches(&pod.labels));
        let others = self.hpas.iter().filter(|it| is_here(it) && !is_chosen(it));
        let with_scale = others.filter_map(|it| {
            let target = it.target.as_ref()?;
            let mut manifests = self.workloads.iter().map(|own| &own.object);
            let is_target =
                |own: &&Workload| own.metadata.name == target.name && own.is_kind_of(target);
            let workload = surroundings.workload(target).or_else(|| manifests.find(is_target))?;
            let own = workload.selector.as_ref()?.to_selector().ok()?;
            let shares = pods().any(|pod| own.matches(&pod.labels));
            shares.then(|| (it, workload.to_scale(own.to_string())))
        });
        with_scale.collect()
    }

    /// The error where nothing is about a target.
    fn without(&self, target: &CrossVersionObjectReference) -> Error {
        let hpas = self.hpas.iter().map(|it| match &it.target {
            Some(target) => {
                format!("{} for {target}", placed(it.reference.clone(), &it.namespace))
            }
            None => placed(it.reference.clone(), &it.namespace),
        });
        let workloads = self.workloads.iter();
        let workloads =
            workloads.map(|it| placed(it.object.reference(), &it.object.metadata.namespace));
        let there: Vec<String> = hpas.chain(workloads).collect();
        let error = Error::usage(format!(
            "{}: contains neither a HorizontalPodAutoscaler for {target} nor {target}",
            self.origin
        ));
        match there.iter().any(|own| own.contains("{{")) {
            true => error.hint(RENDERED),
            false => error.hint(format!("it has {}", listed(&there))),
        }
    }
}

/// An object with its namespace, if it states one.
fn placed(reference: String, namespace: &Option<String>) -> String {
    match namespace {
        Some(namespace) => format!("{reference} in {namespace}"),
        None => reference,
    }
}

impl WorkloadManifest {
    fn all(objects: &Objects, validate: Validate) -> Vec<Self> {
        let all = objects.workloads.iter().zip(&objects.undecoded_workloads);
        let read = |(object, whole): (&Workload, _)| Self::read(object.clone(), whole, validate);
        let mut all: Vec<Self> = all.map(read).collect();
        for place in 0..all.len() {
            let rollout = &all[place].object;
            let Some(reference) = &rollout.template_of else { continue };
            let elsewhere = Note::TemplateElsewhere {
                workload: rollout.reference(),
                of: reference.to_string(),
                is_assumed: false,
            };
            let of = all.iter().find(|it| it.object.is_template_of(rollout)).cloned();
            let own = &mut all[place];
            let Some(of) = of.filter(|it| it.object.template.is_some()) else {
                if let Ok(notes) = &mut own.notes {
                    notes.push(elsewhere);
                }
                continue;
            };
            own.object.resolve(&of.object);
            own.bare_cores = of.bare_cores;
            own.notes = own.notes.clone().and_then(|mut notes| {
                notes.extend(of.notes?);
                Ok(notes)
            });
        }
        all
    }

    fn read(object: Workload, whole: &Undecoded, validate: Validate) -> Self {
        let Undecoded { origin, json, .. } = whole;
        let place = format!("{origin}: {}", object.reference());
        let mut bare_cores = Vec::new();
        let mut read = || {
            let whole: Json =
                decode(json.expose()).map_err(|e| Error::usage(format!("{place}: {e}")))?;
            let unknown = unknown_in_workload(&whole, &object.group, &object.kind);
            let notes = ignored(&unknown, &place, validate)?;
            bare_cores = states_bare_cores(&whole["spec"]["template"]["spec"]);
            let causes = validate::workload(&object, &whole);
            let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
            match causes.is_empty() {
                true => Ok(notes),
                false => Err(Error::usage(format!("{place}: {}", causes.join("; ")))
                    .hint("the API server would reject this manifest")),
            }
        };
        let notes = read();
        Self { notes, bare_cores, origin: origin.clone(), object }
    }

    /// What is to be said of it.
    ///
    /// # Errors
    ///
    /// It has fields that there are not, or the API server would reject it.
    pub(super) fn notes(&self) -> Result<Vec<Note>, Error> {
        self.notes.clone()
    }
}

/// The containers of a pod's spec whose cores have no unit, and none if those of the pod as a whole have none.
fn states_bare_cores(spec: &Json) -> Vec<Option<Box<str>>> {
    let is_bare = |resources: &Json| {
        let request = &resources["requests"]["cpu"];
        let cores = if request.is_null() { &resources["limits"]["cpu"] } else { request };
        let is_bare = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        cores.is_u64() || cores.as_str().is_some_and(|text| is_bare(text.trim()))
    };
    let lists = ["containers", "initContainers"].into_iter();
    let all = lists.flat_map(|list| spec[list].as_array().into_iter().flatten());
    let bare = all.filter(|own| is_bare(&own["resources"]));
    let bare = bare.filter_map(|own| Some(Some(own["name"].as_str()?.into())));
    bare.chain(is_bare(&spec["resources"]).then_some(None)).collect()
}

impl Manifest {
    /// All HPAs that some objects come to.
    fn all(objects: &Objects, options: &Options, validate: Validate) -> Vec<Self> {
        let Objects { hpas, scaled_objects, undecoded_scaled_objects, .. } = objects;
        let hpas = hpas.iter().map(|hpa| Self::read(hpa, validate));
        let of_keda = scaled_objects.iter().zip(undecoded_scaled_objects);
        let namespace = options.namespace.as_deref();
        let of_keda = of_keda.map(|(it, whole)| Self::of_keda(it, whole, namespace, validate));
        hpas.chain(of_keda).collect()
    }

    fn read(hpa: &UndecodedHpa, validate: Validate) -> Self {
        let origin = &hpa.origin;
        let read = || {
            let (mut object, unknown) = hpa_with_unknown_fields(&hpa.json)
                .map_err(|e| Error::usage(format!("{origin}: {e}")))?;
            object.notes.extend(ignored(&unknown, origin, validate)?);
            if object.status != HpaStatus::default() {
                object.notes.push(Note::StatusIgnored);
            }
            set_on_decode(&mut object.spec, object.version);
            Ok(object)
        };
        Self {
            reference: format!("HorizontalPodAutoscaler/{}", hpa.name),
            origin: origin.clone(),
            line: hpa.line,
            name: hpa.name.clone(),
            namespace: hpa.namespace.clone(),
            target: hpa.target(),
            object: read(),
            open: Vec::new(),
            env_container: None,
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
        let own = &object.metadata.namespace;
        let read = || {
            let unknown = keda::unknown_fields(json.expose()).map_err(|e| refused(e, origin))?;
            let unknown = ignored(&unknown, origin, validate)?;
            let made = KedaHpa::of(json.expose(), namespace).map_err(|e| refused(e, origin))?;
            let whole: Json =
                decode(json.expose()).map_err(|e| Error::usage(format!("{origin}: {e}")))?;
            let causes = validate::of_metadata(&ObjectMeta::stated(&whole["metadata"]));
            let causes: Vec<String> = causes.iter().map(ToString::to_string).collect();
            if !causes.is_empty() {
                return Err(Error::usage(format!("{origin}: {}", causes.join("; ")))
                    .hint("the API server would reject this manifest"));
            }
            let KedaHpa { name, namespace, spec, open, takes_over, env_container, mut notes } =
                made;
            notes.extend(unknown);
            let namespace = namespace.unwrap_or_default();
            let metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
            let version = HpaVersion::V2;
            let status = HpaStatus::default();
            let hpa = HpaObject { version, metadata, spec, status, notes };
            Ok((hpa, open, takes_over, env_container))
        };
        let (object_of_keda, open, takes_over, env_container) = match read() {
            Ok((hpa, open, takes_over, container)) => (Ok(hpa), open, takes_over, container),
            Err(e) => (Err(e), Vec::new(), false, None),
        };
        Self {
            reference: format!("ScaledObject/{}", object.metadata.name),
            origin: origin.clone(),
            line: *line,
            name,
            namespace: own.clone(),
            target,
            object: object_of_keda,
            open,
            env_container,
            scaled_object: Some((object.metadata.name.clone(), takes_over)),
        }
    }

    /// The spec that replaces the running one, with the metrics that are named as there, and what is to be
    /// said of those.
    ///
    /// # Errors
    ///
    /// The running one has no metric of a trigger that needs one.
    pub(super) fn spec(&self, running: &Hpa) -> Result<(HpaSpec, Vec<Note>), Error> {
        let object = self.object()?;
        let mut spec = object.spec.clone();
        let notes =
            OpenMetric::fill(&self.open, &mut spec, Some(&running.spec), &running.namespace);
        let notes = notes.map_err(|e| refused(e, &self.origin))?;
        set_on_decode(&mut spec, object.version);
        Ok((spec, notes))
    }

    /// Makes sure that the target has the container that the ScaledObject names, if its template is known.
    ///
    /// # Errors
    ///
    /// It has no such container.
    pub(super) fn check_env_container(&self, target: Option<&Workload>) -> Result<(), Error> {
        let template = target.and_then(|own| own.template.as_deref());
        keda::check_env_container(self.env_container.as_deref(), template)
            .map_err(|e| refused(e, &self.origin))
    }

    /// What KEDA's webhook says of an HPA that the API server has, if it did not create it (`verifyHpas`).
    pub(super) fn ownership(&self, hpa: &Hpa) -> Option<Note> {
        let (name, takes_over) = self.scaled_object.as_ref()?;
        let owner = hpa.scaled_object().map(|owner| &owner.name);
        let is_same = self.name == hpa.name;
        let fate = match (owner, hpa.accepts_scaled_objects, is_same) {
            (Some(owner), ..) if owner == name => return None,
            // `verifyScaledObjects` refuses it whatever the annotations say.
            (Some(owner), ..) => NotOwned::OfAnother(owner.clone()),
            (None, _, true) if *takes_over => NotOwned::TakenOver(KEDA_TRANSFER),
            (None, true, true) => NotOwned::TakenOver(KEDA_OWNERSHIP),
            (None, true, false) => NotOwned::Beside(self.name.clone()),
            (None, false, _) => NotOwned::Refuses,
        };
        hpa.uid.as_ref()?;
        Some(Note::Keda(KedaNote::NotOwned { hpa: hpa.name.clone(), fate }))
    }

    /// The HPA, as the item of an assumption.
    pub(super) fn label(&self) -> String {
        format!("HPA {}", self.name)
    }

    /// Whether it comes from a ScaledObject.
    pub(super) fn is_of_keda(&self) -> bool {
        self.scaled_object.is_some()
    }

    /// The HPA.
    ///
    /// # Errors
    ///
    /// The manifest cannot be read, or has fields that there are not.
    pub(super) fn object(&self) -> Result<&HpaObject, Error> {
        self.object.as_ref().map_err(Clone::clone)
    }

    /// Makes sure that the API server would take the metadata, in a namespace. KEDA makes those of its HPAs.
    pub(super) fn check_metadata(&self, namespace: &str) -> Result<(), Error> {
        let metadata = self.object()?.metadata.clone();
        let causes =
            validate::of_metadata(&ObjectMeta { namespace: namespace.to_owned(), ..metadata });
        if causes.is_empty() || self.is_of_keda() {
            return Ok(());
        }
        let invalid = Invalid { name: self.name.clone(), causes };
        let hint = match self.name.contains("{{") {
            true => RENDERED,
            false => "the API server would reject this manifest",
        };
        Err(Error::usage(format!("{}: {invalid}", self.origin)).hint(hint))
    }

    /// Makes sure that the API server would take the spec.
    pub(super) fn check_spec(&self, rules: AdmissionRules) -> Result<(), Error> {
        let mut object = self.object()?.clone();
        set_on_read(&mut object.spec);
        let mut causes = match self.open[..] {
            [] => validate(&object.metadata, &object.spec, rules),
            _ => Vec::new(),
        };
        causes.retain(|cause| cause.field.starts_with("spec."));
        if causes.is_empty() {
            return Ok(());
        }
        Err(self.rejected(causes))
    }

    fn rejected(&self, causes: Vec<Cause>) -> Error {
        let invalid = Invalid { name: self.name.clone(), causes };
        if self.is_of_keda() {
            return rejected_of_keda(&self.origin, &invalid);
        }
        let error = Error::usage(format!("{}: {invalid}", self.origin));
        error.hint(rejected("manifest", &self.unknown()))
    }

    /// The unknown fields that it has, in words.
    pub(super) fn unknown(&self) -> Vec<String> {
        let notes = self.object.iter().flat_map(|object| &object.notes);
        let unknown = notes.filter_map(|note| match note {
            Note::FieldIgnored { cause } => Some(cause.clone()),
            _ => None,
        });
        unknown.collect()
    }

    /// The HPA as the API server would have it in a namespace.
    ///
    /// # Errors
    ///
    /// The manifest cannot be read, or the API server would reject it.
    pub(super) fn applied(&self, namespace: &str, rules: AdmissionRules) -> Result<Hpa, Error> {
        let mut object = self.object()?.clone();
        set_on_read(&mut object.spec);
        namespace.clone_into(&mut object.metadata.namespace);
        // A metric whose name only KEDA knows has no values to validate.
        let causes = match self.open[..] {
            [] => validate(&object.metadata, &object.spec, rules),
            _ => Vec::new(),
        };
        if !causes.is_empty() {
            return Err(self.rejected(causes));
        }
        Ok(object.into_hpa())
    }
}

/// The error for an HPA of KEDA that the API server would reject, with the fields of its ScaledObject.
pub(super) fn rejected_of_keda(origin: &str, invalid: &Invalid) -> Error {
    let mut causes: Vec<String> = Vec::new();
    for Cause { field, message } in &invalid.causes {
        let cause = format!("{}: {message}", keda::path_of(field));
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    Error::usage(format!("{origin}: {}", causes.join("; ")))
        .hint("the API server would reject the HPA that KEDA makes of it")
}

fn refused(refused: Refused, origin: &str) -> Error {
    let error = Error::usage(format!("{origin}: {refused}"));
    match refused.hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// Adds the HPAs that KEDA makes of the ScaledObjects that `options` mean, if they mean no HPA of the objects, and
/// returns what is to be said of them. `options` mean the HPA afterwards.
///
/// # Errors
///
/// KEDA would refuse the ScaledObject, or only KEDA knows one of its metrics.
pub fn add_hpas_of_keda(objects: &mut Objects, options: &mut Options) -> Result<Vec<Note>, Error> {
    let mut notes = Vec::new();
    if count(objects, options) > 0 {
        return Ok(notes);
    }
    let all = objects.scaled_objects.iter().zip(&objects.undecoded_scaled_objects);
    for (object, Undecoded { origin, line, json }) in all {
        let (name, target) = keda::identity(json.expose());
        let in_manifest = &object.metadata.namespace;
        let is_named = [&*name, &*object.metadata.name].contains(&&*options.name);
        let is_meant = match &options.target {
            Some(wanted) => target.is_some_and(|own| own.is(wanted)),
            None => options.name.is_empty() || is_named,
        };
        let is_here = options.namespace.is_none()
            || in_manifest.is_none()
            || options.namespace == *in_manifest;
        if !is_meant || !is_here {
            continue;
        }
        let default = options.default_namespace();
        let made = KedaHpa::of(json.expose(), Some(default)).map_err(|e| refused(e, origin))?;
        let KedaHpa { name, namespace, mut spec, open, env_container, notes: of_keda, .. } = made;
        let own = namespace.as_deref().unwrap_or(default);
        let filled = OpenMetric::fill(&open, &mut spec, None, own);
        let filled = filled.map_err(|e| refused(e, origin))?;
        let scaled = &spec.scale_target_ref;
        let mut workloads = objects.workloads.iter();
        let target = workloads.find(|own| {
            let Metadata { name, namespace: other, .. } = &own.metadata;
            *name == scaled.name
                && own.is_kind_of(scaled)
                && (in_manifest.is_none() || other == in_manifest)
        });
        let template = target.and_then(|own| own.template.as_deref());
        keda::check_env_container(env_container.as_deref(), template)
            .map_err(|e| refused(e, origin))?;
        notes.extend(
            of_keda
                .into_iter()
                .chain(filled)
                .map(|it| Note::OfManifest { origin: origin.clone(), note: Box::new(it) }),
        );
        if is_named {
            options.name.clone_from(&name);
        }
        let in_namespace = namespace.clone().unwrap_or_default();
        let hpa = Hpa { name: name.clone(), namespace: in_namespace, spec, ..Hpa::default() };
        let json = serde_json::to_value(convert::to_json(&hpa));
        let mut json = json.map_err(|e| Error::failed(e.to_string()))?;
        json["apiVersion"] = "autoscaling/v2".into();
        json["kind"] = "HorizontalPodAutoscaler".into();
        let json = json.to_string();
        objects.hpas.push(UndecodedHpa {
            origin: origin.clone(),
            line: *line,
            name,
            namespace,
            json,
        });
    }
    Ok(notes)
}

/// What is to be said of unknown fields of a manifest.
fn ignored(unknown: &UnknownFields, origin: &str, validate: Validate) -> Result<Vec<Note>, Error> {
    match validate {
        Validate::Strict if !unknown.is_empty() => {
            let unknown = unknown.messages().join("; ");
            Err(Error::usage(format!("{origin}: {unknown}"))
                .hint("use --validate=warn to drop the field, as the API server would"))
        }
        Validate::Strict | Validate::Ignore => Ok(Vec::new()),
        Validate::Warn => {
            let causes = unknown.messages().into_iter();
            Ok(causes.map(|cause| Note::FieldIgnored { cause }).collect())
        }
    }
}

/// Makes sure that a spec scales the target that was observed.
pub(super) fn same_target(before: &HpaSpec, after: &HpaSpec, origin: &str) -> Result<(), Error> {
    let (own, other) = (&before.scale_target_ref, &after.scale_target_ref);
    if is_same(own, other) {
        return Ok(());
    }
    Err(Error::usage(format!("{origin}: it scales {other}, but the HPA scales {own}")).hint(
        match other.name.contains("{{") {
            true => RENDERED,
            false => {
                "observations of one target do not apply to another: use -f with the other's objects and the new \
                 HPA, without the running one"
            }
        },
    ))
}

/// Whether two references are to one object. Discovery has each kind in small letters as well.
fn is_same(one: &CrossVersionObjectReference, other: &CrossVersionObjectReference) -> bool {
    one.group() == other.group()
        && one.kind.eq_ignore_ascii_case(&other.kind)
        && one.name == other.name
}
