//! Another spec than the HPA has: a bound, a target, a field, or a whole manifest in its place. It
//! takes the way of an update through the API server, which fills in defaults and may reject it.

use std::fmt;

use serde_json::{Map, Value as Json, json};

use super::named::{NamedMetric, split};
use super::{Override, Reported};
use crate::apimachinery::quantity::Quantity;
use crate::apiserver::admit;
use crate::apiserver::admit::AdmissionError;
use crate::apiserver::convert::{
    HpaObject, HpaVersion, UnknownField, hpa_with_unknown_fields, unknown_fields,
};
use crate::apiserver::default::{AdmissionRules, Dropped, drop_disabled, set_on_decode};
use crate::args::{Overrides, Validate};
use crate::error::Error;
use crate::saved::objects::{Objects, UndecodedHpa};
use crate::snapshot::Snapshot;
use crate::snapshot::hpa::{HpaSpec, MetricSpec, MetricTarget};
use crate::snapshot::input::Options;
use crate::snapshot::note::Note;
use crate::whatif::unit;

/// The item of what is assumed with a manifest.
pub const MANIFEST: &str = "HPA";

/// What is assumed of the spec.
#[derive(Debug, Clone, Default)]
pub(super) struct SpecChanges {
    pub(super) candidate: Option<Candidate>,
    fields: Vec<Field>,
    targets: Vec<(NamedMetric, TypedTarget)>,
}

/// A manifest that stands for the HPA.
#[derive(Debug, Clone)]
pub struct Candidate {
    origin: String,
    line: Option<usize>,
    object: HpaObject,
    /// The metrics that were looked up beside those of the running HPA: its own, and those of other
    /// candidates.
    asked: Vec<MetricSpec>,
}

/// A target as it was typed.
#[derive(Debug, Clone)]
struct TypedTarget {
    target: NewTarget,
    /// The value, and all that the flag was given.
    text: String,
    typed: String,
}

/// What a metric is compared with.
#[derive(Debug, Clone)]
enum NewTarget {
    /// A share of the request.
    Percent(i32),
    /// An amount.
    Amount(Quantity),
}

const TARGETS: &str = "a target is a whole percentage of the request (70%) or an amount (250m, 30)";

/// A field of the spec with its new value.
#[derive(Debug, Clone)]
struct Field {
    path: Vec<Step>,
    value: Json,
    /// As it was typed.
    item: String,
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Name(String),
    Place(usize),
}

impl Candidate {
    /// The manifest of an HPA among objects that were read.
    ///
    /// # Errors
    ///
    /// There is none, or it cannot be told which.
    pub fn find(
        objects: &Objects,
        options: &Options,
        file: &str,
        validate: Validate,
    ) -> Result<Self, Error> {
        let named = || objects.hpas.iter().filter(|hpa| hpa.is_meant(options));
        let hpa = match (&objects.hpas[..], named().count()) {
            ([hpa], _) => hpa,
            (_, 1) => named().next().unwrap_or(&objects.hpas[0]),
            ([], _) => {
                return Err(Error::usage(format!(
                    "--hpa {file}: contains no HorizontalPodAutoscaler"
                )));
            }
            _ => {
                let count = objects.hpas.len();
                let one = match (&options.target, &*options.name) {
                    (Some(target), _) => format!(", and not exactly one for {target}"),
                    (None, "") => String::new(),
                    (None, name) => format!(", and not exactly one named {name}"),
                };
                return Err(Error::usage(format!(
                    "--hpa {file}: contains {count} HorizontalPodAutoscalers{one}"
                )));
            }
        };
        let origin = hpa.origin.clone();
        let line = (file != "-").then_some(hpa.line);
        let (mut object, unknown) = hpa_with_unknown_fields(&hpa.json)
            .map_err(|e| Error::usage(format!("{origin}: {e}")))?;
        match validate {
            Validate::Strict if !unknown.is_empty() => {
                let unknown: Vec<String> = unknown.iter().map(ToString::to_string).collect();
                return Err(Error::usage(format!("{origin}: {}", unknown.join("; ")))
                    .hint("use --validate=warn to drop the field, as the API server would"));
            }
            Validate::Strict | Validate::Ignore => {}
            Validate::Warn => {
                let cause = |field: &UnknownField| field.to_string();
                let ignored =
                    unknown.iter().map(|field| Note::FieldIgnored { cause: cause(field) });
                object.notes.extend(ignored);
            }
        }
        object.notes.extend(ignored(objects, hpa));
        set_on_decode(&mut object.spec, object.version);
        Ok(Self { origin, line, asked: object.spec.metrics.clone(), object })
    }

    /// The metrics that it needs answers to.
    pub fn metrics(&self) -> &[MetricSpec] {
        &self.object.spec.metrics
    }

    /// The same among others, for all of which these metrics were looked up.
    #[must_use]
    pub fn among(self, asked: &[MetricSpec]) -> Self {
        Self { asked: asked.to_vec(), ..self }
    }

    /// Where it is from: its file.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The line at which its document begins there, counted from 1; none for standard input.
    pub fn line(&self) -> Option<usize> {
        self.line
    }
}

/// What stands in the file of a candidate besides it.
fn ignored(objects: &Objects, candidate: &UndecodedHpa) -> Option<Note> {
    const SHOWN: usize = 10;
    let Objects { hpas, workloads, scales, pods, state, skipped, .. } = objects;
    let hpas = hpas.iter().filter(|hpa| !std::ptr::eq(*hpa, candidate));
    let hpas = hpas.map(|hpa| format!("HorizontalPodAutoscaler/{}", hpa.name));
    let workloads = workloads.iter().map(|it| format!("{}/{}", it.kind, it.metadata.name));
    let scales = scales.iter().map(|scale| format!("Scale/{}", scale.metadata.name));
    let pods = pods.iter().map(|pod| format!("Pod/{}", pod.name));
    let metrics =
        objects.pod_metrics.len() + objects.metric_values.len() + objects.external_values.len();
    let counted = [
        (metrics, "values of metrics APIs"),
        (objects.evidence.events.len() + objects.evidence.scaled.len(), "events"),
        (usize::from(state.is_some()), "ControllerState"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let counted = counted.map(|(count, what)| format!("{count} {what}"));
    let skipped = skipped.iter().map(|((kind, _), count)| format!("{count} {kind}"));
    let all = hpas.chain(workloads).chain(scales).chain(pods).chain(counted).chain(skipped);
    let mut all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    (!all.is_empty()).then_some(Note::ManifestNotAlone { objects: all })
}

impl SpecChanges {
    pub(super) fn read(typed: &Overrides) -> Result<Self, Error> {
        let mut fields: Vec<Field> = Vec::new();
        for (name, value) in [("minReplicas", typed.min), ("maxReplicas", typed.max)] {
            fields.extend(value.map(|value| Field {
                path: vec![Step::Name(name.to_owned())],
                value: value.into(),
                item: name.to_owned(),
                text: value.to_string(),
            }));
        }
        for text in &typed.fields {
            let field = Field::read(text)?;
            if let Some(other) = fields.iter().find(|other| overlap(&other.path, &field.path)) {
                return Err(Error::usage(match other.item == field.item {
                    true => format!("{} is set twice", field.item),
                    false => format!("{} and {} are both set, and overlap", other.item, field.item),
                }));
            }
            fields.push(field);
        }
        let mut targets = Vec::new();
        for text in &typed.targets {
            let (wanted, value) = split(text, "--target", text, TARGETS)?;
            let target = NewTarget::read(value, text)?;
            targets.push((
                wanted,
                TypedTarget { target, text: value.to_owned(), typed: text.clone() },
            ));
        }
        Ok(Self { candidate: None, fields, targets })
    }

    pub(super) fn is_none(&self) -> bool {
        self.candidate.is_none() && self.fields.is_empty() && self.targets.is_empty()
    }

    pub(super) fn apply(
        &self,
        snapshot: &mut Snapshot,
        overrides: &mut Vec<Override>,
        notes: &mut Vec<Note>,
    ) -> Result<(), Error> {
        let before = snapshot.hpa.spec.clone();
        if let Some(Candidate { origin, object, asked, .. }) = &self.candidate {
            same_target(&before, &object.spec, origin)?;
            notes.extend(object.notes.iter().map(|note| Note::OfManifest {
                origin: origin.clone(),
                note: Box::new(note.clone()),
            }));
            let hpa = &snapshot.hpa;
            let namespace = match &*object.metadata.namespace {
                "" => &hpa.namespace,
                own => own,
            };
            let (manifest, hpa) = (format!("{namespace}/{}", object.metadata.name), hpa.key());
            if manifest != hpa {
                notes.push(Note::ManifestRenamed { manifest, hpa });
            }
            update(snapshot, object.spec.clone(), object.version, origin, asked)?;
            overrides.push(Override::new(
                MANIFEST,
                format!("that of {origin}"),
                Some(Reported::Text("the running one".to_owned())),
            ));
        }
        if self.fields.is_empty() && self.targets.is_empty() {
            return Ok(());
        }
        let mut spec = snapshot.hpa.spec.clone();
        let mut taken: Vec<usize> = Vec::new();
        for (wanted, TypedTarget { target, text, typed }) in &self.targets {
            for place in wanted.places(snapshot)? {
                let metric = typed.strip_suffix(&**text).unwrap_or(typed);
                unit::check(&spec.metrics[place], text, |value| {
                    format!("--target {metric}{value}")
                })
                .map_err(|why| Error::usage(format!("--target {typed}: {why}")))?;
                let label = spec.metrics[place].label();
                if taken.contains(&place) {
                    return Err(Error::usage(format!("the target of {label} is set twice")));
                }
                taken.push(place);
                let path = target_path(&spec.metrics[place], place);
                if let Some(field) = self.fields.iter().find(|field| overlap(&field.path, &path)) {
                    return Err(Error::usage(format!(
                        "the target of {label} and {} are both set, and overlap",
                        field.item
                    )));
                }
                let source = source_of(&spec.metrics[place]);
                let running = before.metrics.iter().find(|metric| source_of(metric) == source);
                let observed = running.and_then(MetricSpec::target).map(reported);
                target.set(&mut spec.metrics[place], &label)?;
                overrides.push(Override::new(
                    format!("target of {label}"),
                    target.to_string(),
                    observed,
                ));
            }
        }
        let (running, mut json) = (to_json(&before)?, to_json(&spec)?);
        for field in &self.fields {
            // In another manifest, the same place is that of another metric.
            let is_own = self.candidate.is_none()
                || field.path.iter().all(|step| matches!(step, Step::Name(_)));
            let observed = field.find(&running).filter(|_| is_own).map(plain);
            if field.value.is_null() && field.find(&json).is_none() && !field.is_of_spec(&json)? {
                return Err(field.unknown(&json));
            }
            field.set(&mut json)?;
            overrides.push(Override::new(&*field.item, &*field.text, observed.map(Reported::Text)));
        }
        let text = json.to_string();
        let spec: HpaSpec = crate::apimachinery::json::decode(&text).map_err(|e| {
            Error::usage(format!("--set: the API server would reject the spec: {e}"))
        })?;
        // What the spec does not have is lost on the way.
        let kept = to_json(&spec)?;
        for field in &self.fields {
            let empty = matches!(&field.value, Json::Null)
                || field.value.as_array().is_some_and(Vec::is_empty);
            if !empty && field.find(&kept).is_none() {
                return Err(field.unknown(&json));
            }
        }
        same_target(&before, &spec, "--set scaleTargetRef")?;
        update(snapshot, spec, HpaVersion::V2, "the changed spec", &[])
    }
}

/// Makes sure that a spec is about the target that was looked at.
fn same_target(before: &HpaSpec, after: &HpaSpec, origin: &str) -> Result<(), Error> {
    let (own, other) = (&before.scale_target_ref, &after.scale_target_ref);
    if (own.group(), &own.kind, &own.name) == (other.group(), &other.kind, &other.name) {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{origin}: it scales {}/{}, the HPA {}/{}",
        other.kind, other.name, own.kind, own.name
    ))
    .hint("observations of one target do not apply to another: use -f with the other's objects"))
}

fn to_json(spec: &HpaSpec) -> Result<Json, Error> {
    serde_json::to_value(spec).map_err(|e| Error::failed(format!("failed to write the spec: {e}")))
}

/// Whether one path leads to the other, or both to the same.
fn overlap(one: &[Step], other: &[Step]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Where the target of a metric stands.
fn target_path(metric: &MetricSpec, place: usize) -> [Step; 4] {
    let name = |text: &str| Step::Name(text.to_owned());
    let mut source = metric.type_.clone();
    source.get_mut(..1).map(str::make_ascii_lowercase);
    [name("metrics"), Step::Place(place), Step::Name(source), name("target")]
}

/// Replaces the spec, as the API server would, and gives each metric the answer that was read for it.
fn update(
    snapshot: &mut Snapshot,
    spec: HpaSpec,
    version: HpaVersion,
    origin: &str,
    also: &[MetricSpec],
) -> Result<(), Error> {
    let controller = &snapshot.controller;
    let rules = AdmissionRules::new(&controller.version, controller.gates);
    let in_use = drop_disabled(&mut snapshot.hpa.spec.clone(), rules);
    let dropped = drop_disabled(&mut spec.clone(), rules);
    if let Some(Dropped { path, gate, .. }) = dropped.iter().find(|it| !in_use.contains(it)) {
        return Err(Error::usage(format!(
            "{origin}: {path}: {} drops this field unless the feature gate {gate} is on",
            controller.version
        ))
        .hint(format!(
            "field-ignored: remove it, or use --feature-gates {gate}=true or another --kubernetes-version"
        )));
    }
    let updated = admit::update(&snapshot.hpa, spec, version, rules, snapshot.now);
    let updated = updated.map_err(|e| match e {
        AdmissionError::Invalid(e) => Error::usage(format!("{origin}: {e}"))
            .hint("the API server would reject this change with these causes"),
        AdmissionError::Decode(e) => Error::usage(format!("{origin}: {e}")),
    })?;
    let known: Vec<MetricSpec> =
        snapshot.hpa.spec.metrics.iter().chain(also).map(source_of).collect();
    let mut answers = Vec::new();
    for (index, metric) in updated.spec.metrics.iter().enumerate() {
        let source = source_of(metric);
        let same = known.iter().position(|known| *known == source);
        // All resources are read from one answer.
        let place = same.or_else(|| {
            known.iter().position(MetricSpec::is_resource).filter(|_| metric.is_resource())
        });
        let answer = place.and_then(|place| snapshot.metrics.get(place));
        let answer = answer.ok_or_else(|| {
            Error::usage(format!(
                "{origin}: spec.metrics[{index}]: {} was not read, because the HPA does not have \
                 this metric",
                metric.label()
            ))
            .hint("use --hpa with the whole manifest to have it read")
        })?;
        answers.push(answer.clone());
    }
    snapshot.metrics = answers;
    snapshot.hpa = updated;
    Ok(())
}

/// A metric without its target: what is asked for.
pub(super) fn source_of(metric: &MetricSpec) -> MetricSpec {
    let mut source = metric.clone();
    if let Some(target) = source.target_mut() {
        *target = MetricTarget::default();
    }
    if let Some(external) = &mut source.external {
        external.metric.selector =
            external.metric.selector.take().filter(|s| *s != Default::default());
    }
    source
}

fn reported(target: &MetricTarget) -> Reported {
    match (target.average_utilization, &target.average_value, &target.value) {
        (Some(percent), ..) => Reported::Text(format!("{percent}%")),
        (_, Some(value), _) | (.., Some(value)) => Reported::Amount(value.clone()),
        _ => Reported::Text(String::new()),
    }
}

impl NewTarget {
    fn read(text: &str, typed: &str) -> Result<Self, Error> {
        if text.starts_with('+') {
            return Err(Error::usage(format!(
                "--target {typed}: {text} looks like a change, but a target cannot be changed by \
                 an amount: give the new target without the +"
            )));
        }
        let target = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().map(Self::Percent),
            None => Quantity::parse(text).ok().map(Self::Amount),
        };
        target.ok_or_else(|| {
            Error::usage(format!("--target {typed}: {text} is not a target")).hint(TARGETS)
        })
    }

    /// Sets the target of a metric, of the same type where the value leaves that open.
    fn set(&self, metric: &mut MetricSpec, label: &str) -> Result<(), Error> {
        let of_resource = metric.is_resource();
        let Some(target) = metric.target_mut() else {
            return Err(Error::usage(format!("{label} has no target")));
        };
        let whole = !of_resource && target.type_ == "Value";
        let (type_, own) = match self {
            Self::Percent(percent) if of_resource => (
                "Utilization",
                MetricTarget { average_utilization: Some(*percent), ..MetricTarget::default() },
            ),
            Self::Percent(_) => {
                return Err(Error::usage(format!("--target: {self} is not a target of {label}"))
                    .hint(
                        "only resources can have a percentage as target: use an amount such as 30",
                    ));
            }
            Self::Amount(amount) if whole => {
                ("Value", MetricTarget { value: Some(amount.clone()), ..MetricTarget::default() })
            }
            Self::Amount(amount) => (
                "AverageValue",
                MetricTarget { average_value: Some(amount.clone()), ..MetricTarget::default() },
            ),
        };
        *target = MetricTarget { type_: type_.to_owned(), ..own };
        Ok(())
    }
}

impl fmt::Display for NewTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Amount(amount) => amount.fmt(f),
        }
    }
}

impl Field {
    fn read(text: &str) -> Result<Self, Error> {
        let form = |why: &str| {
            Error::usage(format!("--set {text}: {why}")).hint(
                "it has the form PATH=VALUE, such as \
                 behavior.scaleDown.stabilizationWindowSeconds=60 or \
                 metrics[0].resource.target.averageUtilization=70",
            )
        };
        let (typed, value) = text.split_once('=').ok_or_else(|| form("it has no ="))?;
        let path = typed.strip_prefix("spec.").unwrap_or(typed);
        let mut steps = Vec::new();
        for part in path.split('.') {
            let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
            if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric()) {
                return Err(form("the path has an empty or invalid name"));
            }
            steps.push(Step::Name(name.to_owned()));
            while let Some(after) = rest.strip_prefix('[') {
                let (place, further) = after.split_once(']').ok_or_else(|| form("unclosed ["))?;
                let place = place.parse().map_err(|_| form("an index is not a number"))?;
                steps.push(Step::Place(place));
                rest = further;
            }
            if !rest.is_empty() {
                return Err(form("unexpected text after ]"));
            }
        }
        // What is no JSON is text: a quantity, a word.
        let json = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
        Ok(Self { path: steps, value: json, item: path.to_owned(), text: value.to_owned() })
    }

    /// Whether a spec may have it: some value stays there.
    fn is_of_spec(&self, spec: &Json) -> Result<bool, Error> {
        for probe in [json!(1), json!("1"), json!({}), json!([{}]), json!({"1": "1"})] {
            let mut probed = spec.clone();
            Self { value: probe, ..self.clone() }.set(&mut probed)?;
            let read = crate::apimachinery::json::decode::<HpaSpec>(&probed.to_string());
            if let Ok(spec) = read
                && self.find(&to_json(&spec)?).is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// That a spec has no such field, with the one that may be meant.
    fn unknown(&self, spec: &Json) -> Error {
        let mut typed = spec.clone();
        let meant = match self.set(&mut typed) {
            Ok(()) => {
                let unknown = unknown_fields(&json!({"spec": typed}), HpaVersion::V2);
                unknown.into_iter().find_map(|field| field.meant)
            }
            Err(_) => None,
        };
        let error = Error::usage(format!("--set {}: the spec has no such field", self.item));
        match meant.as_deref().and_then(|meant| meant.strip_prefix("spec.")) {
            Some(meant) => error.hint(format!("did you mean {meant}?")),
            None => error.hint(
                "a path such as maxReplicas, metrics[0].resource.target.averageUtilization, \
                 behavior.scaleDown.policies",
            ),
        }
    }

    fn find<'j>(&self, json: &'j Json) -> Option<&'j Json> {
        self.path.iter().try_fold(json, |json, step| match step {
            Step::Name(name) => json.get(name),
            Step::Place(place) => json.get(place),
        })
    }

    fn set(&self, json: &mut Json) -> Result<(), Error> {
        let item = &self.item;
        let mut at = json;
        for step in &self.path {
            at = match step {
                Step::Name(name) => {
                    if at.is_null() {
                        *at = Json::Object(Map::new());
                    }
                    let fields = at.as_object_mut().ok_or_else(|| {
                        Error::usage(format!("--set {item}: the parent of {name} is not an object"))
                    })?;
                    fields.entry(name).or_insert(Json::Null)
                }
                Step::Place(place) => {
                    if at.is_null() {
                        *at = Json::Array(Vec::new());
                    }
                    let list = at.as_array_mut().ok_or_else(|| {
                        Error::usage(format!(
                            "--set {item}: [{place}] is applied to something that is not a list"
                        ))
                    })?;
                    let length = list.len();
                    if *place == length {
                        list.push(Json::Null);
                    }
                    list.get_mut(*place).ok_or_else(|| {
                        Error::usage(format!(
                            "--set {item}: the list has {length} entries, so it has no [{place}]"
                        ))
                    })?
                }
            };
        }
        at.clone_from(&self.value);
        Ok(())
    }
}

/// A value as it would be typed.
fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        json => json.to_string(),
    }
}
