//! Changes the spec of the HPA: a bound, a target, a field, or the whole spec for a candidate. As in an update, the API
//! server's code fills in defaults and may reject the spec.

use super::candidate::{Candidate, Chosen, Manifest, rejected_of_keda, same_target};
use super::difference::{
    Difference, PathStep, differences, overlap, plain, reported, same_metric, source_of,
    target_path, to_json,
};
use super::named::{NamedMetric, split};
use super::patch::{NewTarget, Patch, TARGETS};
use super::{Override, Reported, template};
use crate::apimachinery::json::decode;
use crate::apimachinery::names;
use crate::apiserver::admit;
use crate::apiserver::admit::AdmissionError;
use crate::apiserver::convert::HpaVersion;
use crate::apiserver::default::{AdmissionRules, DroppedField, drop_disabled};
use crate::error::{Error, listed};
use crate::keda;
use crate::saved::assemble::rejected;
use crate::saved::manifest::check_version;
use crate::snapshot::hpa::{Hpa, HpaSpec, MetricSpec};
use crate::snapshot::input::Input;
use crate::snapshot::memory::Memory;
use crate::snapshot::neighbour::OtherHpa;
use crate::snapshot::note::Note;
use crate::snapshot::{Documents, MetricAnswer, Scale, Snapshot, UnreadCause};
use crate::version::FeatureGate;
use crate::whatif::unit;

/// The item of an override by a manifest.
pub const MANIFEST: &str = "HPA";

/// The advice if flags set the same field.
pub(super) const KEEP_ONE: &str = "keep one of them";

/// The flag that sets a field.
pub(super) const SET: &str = "--set ";

/// The changes that are assumed for the spec.
#[derive(Debug, Clone, Default)]
pub(super) struct SpecChanges {
    pub(super) candidate: Option<Candidate>,
    /// Whether the pods keep the running template, whatever the candidate's template would change.
    pub(super) keeps_template: bool,
    fields: Vec<Patch>,
    targets: Vec<(NamedMetric, TypedTarget)>,
}

/// A target as it was typed.
#[derive(Debug, Clone)]
struct TypedTarget {
    target: NewTarget,
    text: String,
    /// The flag with its full text.
    typed: String,
}

impl SpecChanges {
    /// Adds `PATH=VALUE`; messages call it by its text with the flag before it.
    pub(super) fn add_field(&mut self, text: &str, flag: &'static str) -> Result<(), Error> {
        let field = Patch::read(text, flag)?;
        let mut fields = self.fields.iter();
        if let Some(other) = fields.find(|other| overlap(&other.path, &field.path)) {
            return Err(Error::usage(if other.item == field.item {
                format!("{} is set twice", field.item)
            } else {
                format!(
                    "{} and {} are both set, and overlap",
                    other.item, field.item
                )
            })
            .hint(KEEP_ONE));
        }
        self.fields.push(field);
        Ok(())
    }

    /// Adds `METRIC=VALUE`; messages show the text after the flag.
    pub(super) fn add_target(&mut self, text: &str, flag: &str) -> Result<(), Error> {
        let typed = format!("{flag}{text}");
        let form = match NewTarget::read(text, &typed) {
            _ if text.contains('=') => TARGETS.to_owned(),
            Ok(_) => format!("name the metric, such as {flag}cpu={text}; {TARGETS}"),
            Err(_) => format!("such as {typed}=70%; {TARGETS}"),
        };
        let (wanted, value) = split(text, &typed, &form)?;
        let target = TypedTarget {
            target: NewTarget::read(value, &typed)?,
            text: value.to_owned(),
            typed,
        };
        self.targets.push((wanted, target));
        Ok(())
    }

    pub(super) fn is_none(&self) -> bool {
        self.candidate.is_none() && self.fields.is_empty() && self.targets.is_empty()
    }

    /// Changes the spec, and with a candidate the pods that its workload makes.
    pub(super) fn apply(
        &self,
        input: &mut Input,
        overrides: &mut Vec<Override>,
    ) -> Result<(), Error> {
        let before = input.snapshot.hpa.spec.clone();
        let (mut differences, mut workload) = (Vec::new(), None);
        if let Some(candidate) = &self.candidate {
            let chosen = candidate.choose(&input.snapshot.hpa, &input.snapshot.other_hpas)?;
            differences = replace(candidate, &chosen, input, overrides)?;
            workload = chosen.workload;
        }
        let place = overrides.len();
        let set = self.set(&before, &mut input.snapshot, overrides)?;
        // Fields that are set on top are reported as they were typed.
        differences
            .retain(|own| own.path.is_empty() || !set.iter().any(|path| overlap(path, &own.path)));
        overrides.splice(place..place, differences.into_iter().map(|own| own.own));
        if let Some(workload) = workload.filter(|_| !self.keeps_template) {
            template::apply(input, workload, overrides)?;
        }
        Ok(())
    }

    /// Sets the fields and targets that were typed, and returns their paths.
    fn set(
        &self,
        before: &HpaSpec,
        snapshot: &mut Snapshot,
        overrides: &mut Vec<Override>,
    ) -> Result<Vec<Vec<PathStep>>, Error> {
        if self.fields.is_empty() && self.targets.is_empty() {
            return Ok(Vec::new());
        }
        let mut spec = snapshot.hpa.spec.clone();
        let mut paths = Vec::new();
        for (wanted, target) in &self.targets {
            for place in wanted.places_in(&snapshot.hpa.spec.metrics)? {
                let (path, own) = self.set_target(target, &mut spec, place, before, &paths)?;
                paths.push(path);
                overrides.push(own);
            }
        }
        let changed = self.set_fields(before, &spec, overrides)?;
        update(snapshot, changed, HpaVersion::V2, None, &[])?;
        let flag = self.fields.first().map_or("", |field| field.flag);
        let origin = format!("{flag}scaleTargetRef");
        same_target(before, &snapshot.hpa.spec, &origin)?;
        paths.extend(self.fields.iter().map(|field| field.path.clone()));
        Ok(paths)
    }

    /// Sets the target of a metric at its place; `taken` are the paths that are already set.
    fn set_target(
        &self,
        typed: &TypedTarget,
        spec: &mut HpaSpec,
        place: usize,
        before: &HpaSpec,
        taken: &[Vec<PathStep>],
    ) -> Result<(Vec<PathStep>, Override), Error> {
        let TypedTarget {
            target,
            text,
            typed,
        } = typed;
        let label = spec.metrics[place].label(&spec.metrics);
        let metric = &mut spec.metrics[place];
        unit::check_flag(metric, text, typed)?;
        let path = target_path(metric, place);
        if taken.contains(&path) {
            return Err(Error::usage(format!("the target of {label} is set twice")).hint(KEEP_ONE));
        }
        if let Some(field) = self.fields.iter().find(|field| overlap(&field.path, &path)) {
            return Err(Error::usage(format!(
                "the target of {label} and {} are both set, and overlap",
                field.item
            ))
            .hint(KEEP_ONE));
        }
        target.set(metric, &label)?;
        let observed = same_metric(&spec.metrics, place, &before.metrics)
            .and_then(|own| before.metrics[own].target())
            .map(reported);
        let item = format!("target of {label}");
        Ok((path, Override::new(item, target.to_string(), observed)))
    }

    /// The spec with the fields.
    fn set_fields(
        &self,
        before: &HpaSpec,
        spec: &HpaSpec,
        overrides: &mut Vec<Override>,
    ) -> Result<HpaSpec, Error> {
        let (running, mut json) = (to_json(before)?, to_json(spec)?);
        for field in &self.fields {
            // In another manifest, the same index may belong to another metric.
            let is_own = self.candidate.is_none()
                || field
                    .path
                    .iter()
                    .all(|step| matches!(step, PathStep::Name(_)));
            let observed = field.find(&running).filter(|_| is_own).map(plain);
            field.set(&mut json)?;
            field.check(&json, &spec.metrics)?;
            overrides.push(Override::new(
                &*field.item,
                &*field.text,
                observed.map(Reported::Text),
            ));
        }
        decode(&json.to_string()).map_err(|e| self.undecodable(&e.to_string()))
    }

    fn undecodable(&self, cause: &str) -> Error {
        let is_of_flag = self.fields.iter().any(|field| field.flag == SET);
        let flag = if is_of_flag { "--set: " } else { "" };
        let error = Error::usage(format!(
            "{flag}the API server would reject the spec: {cause}"
        ));
        // The likely cause is a string for a field that does not accept one.
        let Some(field) = self.fields.iter().find(|field| field.value.is_string()) else {
            return error;
        };
        let text = match &*field.text {
            "" => "an empty value is text".to_owned(),
            text if field.value == text => format!("{text} is text, because it is no JSON"),
            text => format!("{text} is text, because it has quotes"),
        };
        error.hint(format!(
            "{text}; a number has no unit (300), a list is like \
             [{{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":60}}]"
        ))
    }
}

/// Replaces the HPA with a candidate, adds the candidate's other HPAs for the same target, and returns the fields that
/// differ.
fn replace(
    candidate: &Candidate,
    chosen: &Chosen<'_>,
    input: &mut Input,
    overrides: &mut Vec<Override>,
) -> Result<Vec<Difference>, Error> {
    let Input {
        snapshot,
        surroundings,
        notes,
        stated_memory,
        is_new_hpa,
        ..
    } = input;
    let neighbours = candidate.neighbours(chosen, snapshot, surroundings);
    let is_neighbour = |it: &&String| neighbours.iter().any(|(own, _)| own.reference == **it);
    let objects: Vec<String> = chosen
        .ignored
        .iter()
        .filter(|it| !is_neighbour(it))
        .cloned()
        .collect();
    let mut of_all = candidate.skipped.clone();
    if !objects.is_empty() {
        of_all.push(Note::new(format!(
            "only the HPA and its target are read from manifests; ignored: {}",
            listed(&objects)
        )));
    }
    notes.extend(Note::of_manifest(&candidate.origin, of_all));
    add_others(neighbours, snapshot)?;
    let Some(manifest) = chosen.hpa else {
        add_rivals(chosen, snapshot)?;
        overrides.extend(chosen.rivals.iter().map(|it| {
            let item = format!("{MANIFEST} {}", it.name);
            Override::event(item, format!("from {}", it.origin))
        }));
        return Ok(Vec::new());
    };
    let (origin, object) = (&manifest.origin, manifest.object()?);
    let version = &snapshot.controller.version;
    let not_served = check_version(object, origin, version, candidate.validate)?;
    let before = snapshot.hpa.spec.clone();
    if let Err(e) = same_target(&before, &object.spec, origin) {
        manifest.check_spec(rules(snapshot))?;
        return Err(e);
    }
    let (spec, named) = manifest.spec(&snapshot.hpa)?;
    let in_manifests = chosen.workload.map(|workload| &workload.object);
    let target = in_manifests.or_else(|| surroundings.workload(&before.scale_target_ref));
    manifest.check_env_container(target)?;
    let of_object = not_served.into_iter().chain(object.notes.clone());
    notes.extend(Note::of_manifest(origin, of_object.chain(named)));
    notes.extend(note_on_name(manifest, &snapshot.hpa)?);
    if object.metadata.name != snapshot.hpa.name {
        // The controller keeps its history by namespace and name.
        *stated_memory = Some(Memory::default());
        *is_new_hpa = true;
    }
    let ownership = manifest.ownership(&snapshot.hpa);
    let also = &candidate.asked;
    let moved = update(snapshot, spec, object.version, Some(manifest), also)?;
    notes.extend(Note::of_manifest(
        origin,
        ownership.into_iter().chain(moved),
    ));
    add_rivals(chosen, snapshot)?;
    let differences = differences(&before, &snapshot.hpa.spec)?;
    let nothing = if differences.is_empty() {
        ", which changes nothing"
    } else {
        ""
    };
    overrides.push(Override::event(MANIFEST, format!("from {origin}{nothing}")));
    Ok(differences)
}

/// Returns a note if a manifest has another name or namespace than the HPA.
fn note_on_name(manifest: &Manifest, hpa: &Hpa) -> Result<Option<Note>, Error> {
    let metadata = &manifest.object()?.metadata;
    let namespace = match &*metadata.namespace {
        "" => &hpa.namespace,
        own => own,
    };
    manifest.check_metadata(namespace)?;
    let name = match &*metadata.name {
        "" => names::generated(&metadata.generate_name),
        own => own.to_owned(),
    };
    let (of_manifest, key) = (format!("{namespace}/{name}"), hpa.key());
    let text = if metadata.name != hpa.name {
        // KEDA refuses its ScaledObject instead.
        let beside = if manifest.is_of_keda() {
            String::new()
        } else {
            // KEDA creates its HPA again.
            let of_keda = hpa.scaled_object();
            let other = of_keda.map_or_else(
                || hpa.name.clone(),
                |it| format!("ScaledObject/{}", it.name),
            );
            format!(
                "; applied alongside {key}, both stop scaling, because they select the same pods: delete {other}, as \
                 Helm does and `kubectl apply --prune` can"
            )
        };
        format!(
            "{of_manifest} is a new HPA, predicted in place of {key}: its history begins with the current replicas{beside}"
        )
    } else if of_manifest != key {
        format!("the manifest of {of_manifest} is used for {key} and inherits its history")
    } else {
        return Ok(None);
    };
    Ok(Some(Note::new(text)))
}

/// Adds the other HPAs for the same target, or replaces them.
fn add_rivals(chosen: &Chosen<'_>, snapshot: &mut Snapshot) -> Result<(), Error> {
    let Ok(scale) = snapshot.scale.clone() else {
        return Ok(());
    };
    let rivals = chosen.rivals.iter();
    add_others(rivals.map(|rival| (*rival, scale.clone())), snapshot)
}

/// Adds HPAs with the scales of their targets, or replaces them.
fn add_others<'m>(
    others: impl IntoIterator<Item = (&'m Manifest, Scale)>,
    snapshot: &mut Snapshot,
) -> Result<(), Error> {
    for (manifest, scale) in others {
        let hpa = manifest.applied(&snapshot.hpa.namespace, rules(snapshot))?;
        snapshot.other_hpas.retain(|own| own.hpa.name != hpa.name);
        snapshot.other_hpas.extend(OtherHpa::of(hpa, scale));
    }
    Ok(())
}

fn rules(snapshot: &Snapshot) -> AdmissionRules {
    let controller = &snapshot.controller;
    AdmissionRules::new(&controller.version, controller.gates)
}

/// Replaces the spec, as the API server would, and gives each metric its answer; with the notes on the answers. Errors
/// name the manifest that the spec is from, if any, and the fields of a ScaledObject if KEDA makes it.
fn update(
    snapshot: &mut Snapshot,
    spec: HpaSpec,
    version: HpaVersion,
    manifest: Option<&Manifest>,
    also: &[MetricSpec],
) -> Result<Vec<Note>, Error> {
    let origin = manifest.map_or("the changed spec", |own| &own.origin);
    let of_keda = manifest.is_some_and(Manifest::is_of_keda);
    let (controller, rules) = (&snapshot.controller, rules(snapshot));
    let in_use = drop_disabled(&mut snapshot.hpa.spec.clone(), rules.gates);
    let dropped = drop_disabled(&mut spec.clone(), rules.gates);
    let has_gate = |gate: FeatureGate| gate.stage(&controller.version).is_settable();
    // What uses a gate that the version has keeps all of its fields (`toleranceInUse`).
    let is_kept = |it: &DroppedField| {
        let of_gate = |own: &DroppedField| own.gate == it.gate && has_gate(it.gate);
        in_use.iter().any(|own| own == it || of_gate(own))
    };
    if let Some(DroppedField { path, gate, .. }) = dropped.iter().find(|it| !is_kept(it)) {
        let path = if of_keda {
            keda::path_of(path)
        } else {
            path.clone()
        };
        let version = &controller.version;
        let (why, gates) = if has_gate(*gate) {
            (
                format!(" unless the feature gate {gate} is on"),
                format!("--feature-gates {gate}=true or "),
            )
        } else {
            (", which it does not have".to_owned(), String::new())
        };
        return Err(
            Error::usage(format!("{origin}: {path}: {version} drops this field{why}")).hint(
                format!("field-ignored: remove it, or use {gates}another --kubernetes-version"),
            ),
        );
    }
    let stated = spec.clone();
    let updated =
        admit::update(&snapshot.hpa, spec, version, rules, snapshot.now).map_err(|e| match e {
            AdmissionError::Invalid(e) if of_keda => rejected_of_keda(origin, &e),
            AdmissionError::Invalid(e) => {
                let unknown = manifest.map(Manifest::unknown).unwrap_or_default();
                let hint = rejected("change", &unknown, &stated, &e);
                Error::usage(format!("{origin}: {e}")).hint(hint)
            }
            AdmissionError::Decode(e) => Error::usage(format!("{origin}: {e}")),
        })?;
    let (metrics, notes) = answers(snapshot, &updated.spec.metrics, also, origin, of_keda)?;
    snapshot.metrics = metrics;
    snapshot.hpa = updated;
    Ok(notes)
}

/// Returns the answer that was read for each of the new metrics, with notes on metrics whose answer was read under
/// another name. The snapshot has the answers to its own metrics, and then to those of `also`.
fn answers(
    snapshot: &Snapshot,
    metrics: &[MetricSpec],
    also: &[MetricSpec],
    origin: &str,
    of_keda: bool,
) -> Result<(Vec<MetricAnswer>, Vec<Note>), Error> {
    let running = &snapshot.hpa.spec.metrics;
    let known: Vec<MetricSpec> = running.iter().chain(also).map(source_of).collect();
    let is_running = |metric: &MetricSpec| known[..running.len()].contains(&source_of(metric));
    let mut moved = keda::moved(running, metrics);
    moved.retain(|(to, _)| !is_running(&metrics[*to]));
    let notes = moved
        .iter()
        .map(|(to, from)| {
            let (metric, running) = (metrics[*to].name(), running[*from].name());
            Note::new(format!(
                "{metric} has the value of {running}: of the running HPA's metrics, only that one has this \
                 name after its index"
            ))
        })
        .collect();
    let mut answers = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        let source = source_of(metric);
        let same = known.iter().position(|known| *known == source);
        // All resources are read from one answer.
        let moved_from = moved
            .iter()
            .find(|(to, _)| *to == index)
            .map(|(_, from)| *from);
        let place = moved_from.or(same).or_else(|| {
            known
                .iter()
                .position(MetricSpec::is_resource)
                .filter(|_| metric.is_resource())
        });
        // The name of a trigger's metric may not have been known when answers were asked for.
        let documents = Documents::ExternalMetricValueList;
        let is_late = of_keda && keda::is_of_trigger(metric);
        let missing = is_late.then_some(MetricAnswer::Unread(UnreadCause::Missing { documents }));
        let answer = place
            .and_then(|place| snapshot.metrics.get(place))
            .cloned()
            .or(missing)
            .ok_or_else(|| {
                Error::usage(format!(
                    "{origin}: spec.metrics[{index}]: {} was not read, because the HPA does not have \
                     this metric",
                    metric.label(metrics)
                ))
                .hint("use --hpa with the whole manifest to have it read")
            })?;
        answers.push(answer);
    }
    Ok((answers, notes))
}
