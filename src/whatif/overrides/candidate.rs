//! The manifests of a candidate, as `helm template` and `kustomize build` print them: which of them is
//! the HPA, which is its target, and what is left over. A ScaledObject counts as the HPA that KEDA
//! makes of it.

use serde_json::Value as Json;

use crate::apimachinery::annotations::{KEDA_OWNERSHIP, KEDA_TRANSFER};
use crate::apimachinery::json::decode;
use crate::apimachinery::metadata::Metadata;
use crate::apiserver::convert::{
    self, HpaObject, HpaVersion, UnknownFields, hpa_with_unknown_fields, unknown_in_workload,
};
use crate::apiserver::default::{AdmissionRules, set_on_decode, set_on_read};
use crate::apiserver::metadata::ObjectMeta;
use crate::apiserver::validate::{self, Cause, Invalid, validate};
use crate::args::Validate;
use crate::error::{Error, listed};
use crate::keda::{self, KedaHpa, OpenMetric, Refused};
use crate::saved::assemble::count;
use crate::saved::file::RENDERED;
use crate::saved::objects::{Objects, Undecoded, UndecodedHpa};
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, HpaSpec, HpaStatus, MetricSpec};
use crate::snapshot::input::Options;
use crate::snapshot::note::{KedaNote, NotOwned, Note};
use crate::snapshot::surroundings::{ScaledObject, Workload};

/// Manifests of the HPA, or of its target.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// What they are called: a file, a directory, or standard input.
    origin: String,
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
    reference: String,
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
    /// What else there is.
    pub(super) ignored: Option<Note>,
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
            let others = others(objects);
            let error = Error::usage(format!(
                "--hpa {file}: contains no HorizontalPodAutoscaler, ScaledObject or workload"
            ));
            return Err(match others.is_empty() {
                true => error,
                false => error.hint(format!("it has {}", listed(&others))),
            });
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
            origin: if file == "-" { "standard input".to_owned() } else { file.to_owned() },
            workloads: WorkloadManifest::all(objects, validate),
            others: others(objects),
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

    /// The file of the manifest of an HPA, and the line at which its document begins; none on
    /// standard input, or where only its target's is there.
    pub fn place(&self, hpa: &Hpa) -> Option<(&str, usize)> {
        let Manifest { origin, line, .. } = self.choose(hpa).ok()?.hpa?;
        (self.origin != "standard input").then_some((origin, *line))
    }

    /// The manifests of an HPA and its target.
    ///
    /// # Errors
    ///
    /// Nothing does, or it is ambiguous what.
    pub(super) fn choose(&self, hpa: &Hpa) -> Result<Chosen<'_>, Error> {
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
        let fitting: Vec<&Manifest> = fitting.collect();
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
            ([], [], [one]) if workload.is_none() => Some(one),
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
        if chosen.is_none() && workload.is_none() {
            return Err(self.without(target));
        }
        let rivals: Vec<&Manifest> = fitting
            .into_iter()
            .filter(|it| chosen.is_some_and(|chosen| chosen.name != it.name))
            .collect();
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
        let workloads = workloads.filter(|it| workload.is_none_or(|own| !std::ptr::eq(own, *it)));
        let workloads =
            workloads.map(|it| placed(it.object.reference(), &it.object.metadata.namespace));
        let all = hpas.chain(workloads).chain(self.others.iter().cloned());
        let all: Vec<String> = all.collect();
        let ignored = (!all.is_empty()).then_some(Note::ManifestNotAlone { objects: all });
        Ok(Chosen { hpa: chosen, rivals, workload, ignored })
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
            let KedaHpa { name, namespace, spec, open, takes_over, mut notes } = made;
            notes.extend(unknown);
            let namespace = namespace.unwrap_or_default();
            let metadata = ObjectMeta { name, namespace, ..ObjectMeta::default() };
            let version = HpaVersion::V2;
            let status = HpaStatus::default();
            Ok((HpaObject { version, metadata, spec, status, notes }, open, takes_over))
        };
        let (object_of_keda, open, takes_over) = match read() {
            Ok((object, open, takes_over)) => (Ok(object), open, takes_over),
            Err(e) => (Err(e), Vec::new(), false),
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
            scaled_object: Some((object.metadata.name.clone(), takes_over)),
        }
    }

    /// The spec that replaces the running one, with the metrics that are named as there, and what is to be
    /// said of those.
    ///
    /// # Errors
    ///
    /// The running one has no metric of a trigger that needs one.
    pub(super) fn spec(&self, running: &HpaSpec) -> Result<(HpaSpec, Vec<Note>), Error> {
        let object = self.object()?;
        let mut spec = object.spec.clone();
        let notes = OpenMetric::fill(&self.open, &mut spec, running);
        let notes = notes.map_err(|e| refused(e, &self.origin))?;
        set_on_decode(&mut spec, object.version);
        Ok((spec, notes))
    }

    /// What KEDA's webhook says of an HPA that the API server has, if it did not create it (`verifyHpas`).
    pub(super) fn ownership(&self, hpa: &Hpa) -> Option<Note> {
        let (name, takes_over) = self.scaled_object.as_ref()?;
        let is_own = hpa.scaled_object().is_some_and(|owner| owner.name == *name);
        let is_same = self.name == hpa.name;
        let fate = match (hpa.accepts_scaled_objects, is_same) {
            (_, true) if *takes_over => NotOwned::TakenOver(KEDA_TRANSFER),
            (true, true) => NotOwned::TakenOver(KEDA_OWNERSHIP),
            (true, false) => NotOwned::Beside(self.name.clone()),
            (false, _) => NotOwned::Refuses,
        };
        (!is_own && hpa.uid.is_some())
            .then(|| Note::Keda(KedaNote::NotOwned { hpa: hpa.name.clone(), fate }))
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
            let invalid = Invalid { name: self.name.clone(), causes };
            if self.is_of_keda() {
                return Err(rejected_of_keda(&self.origin, &invalid));
            }
            return Err(Error::usage(format!("{}: {invalid}", self.origin))
                .hint("the API server would reject this manifest"));
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
        let own = &object.metadata.namespace;
        let is_named = [&*name, &*object.metadata.name].contains(&&*options.name);
        let is_meant = match &options.target {
            Some(wanted) => target.is_some_and(|own| own.is(wanted)),
            None => options.name.is_empty() || is_named,
        };
        let is_here = options.namespace.is_none() || own.is_none() || options.namespace == *own;
        if !is_meant || !is_here {
            continue;
        }
        let namespace = options.namespace.as_deref();
        let made = KedaHpa::of(json.expose(), namespace).map_err(|e| refused(e, origin))?;
        let KedaHpa { name, namespace, mut spec, open, notes: of_keda, .. } = made;
        let running = HpaSpec::default();
        let filled = OpenMetric::fill(&open, &mut spec, &running);
        let filled = filled.map_err(|e| refused(e, origin))?;
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
    Err(Error::usage(format!("{origin}: it scales {other}, the HPA {own}")).hint(
        match other.name.contains("{{") {
            true => RENDERED,
            false => {
                "observations of one target do not apply to another: use -f with the other's objects"
            }
        },
    ))
}

fn is_same(one: &CrossVersionObjectReference, other: &CrossVersionObjectReference) -> bool {
    (one.group(), &one.kind, &one.name) == (other.group(), &other.kind, &other.name)
}

/// What can stand neither for an HPA nor for its target.
fn others(objects: &Objects) -> Vec<String> {
    let Objects { scales, vertical_pod_autoscalers, pods, .. } = objects;
    let scales = scales.iter().map(|it| format!("Scale/{}", it.metadata.name));
    let vpas = vertical_pod_autoscalers.iter();
    let vpas = vpas.map(|it| format!("VerticalPodAutoscaler/{}", it.metadata.name));
    let pods = pods.iter().map(|pod| format!("Pod/{}", pod.name));
    let metrics =
        objects.pod_metrics.len() + objects.metric_values.len() + objects.external_values.len();
    let counted = [
        (metrics, "values of metrics APIs"),
        (objects.evidence.events.len() + objects.evidence.scaled.len(), "events"),
        (usize::from(objects.state.is_some()), "ControllerState"),
        (objects.api_services.len(), "APIService"),
        (objects.served_metrics.values().map(Vec::len).sum(), "names of metrics"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, what)| format!("{count} {what}"));
    let skipped = objects.skipped.iter().map(|((kind, _), count)| format!("{count} {kind}"));
    scales.chain(vpas).chain(pods).chain(counted).chain(skipped).collect()
}
