//! KEDA's part of an HPA: the HorizontalPodAutoscaler that its operator creates from a ScaledObject
//! (`keda.sh/v1alpha1`). This code is pure: it queries no scaler, evaluates no formula and uses no clock.
//! Follows KEDA 2.20.2: `controllers/keda/hpa.go`, the schema and webhook in `apis/keda/v1alpha1`, and the
//! `GetMetricSpecForScaling` of each scaler in `pkg/scalers`.
//!
//! The metadata of triggers can contain passwords, so it stays in this module: of its values, only metric
//! names and targets leave, and a rejected value is shown only where it should have been a number.

mod check;
mod cron;
mod fields;
mod glob;
mod keys;
mod manifest;
mod metadata;
mod scalers;
#[cfg(test)]
mod tests;
mod trigger;
mod url;

use std::collections::HashSet;
use std::fmt;

use crate::apimachinery::annotations::{
    KEDA_FORCE, KEDA_PAUSED_SCALE_IN, KEDA_PAUSED_SCALE_OUT, KEDA_TRANSFER,
};
use crate::apimachinery::json::{DecodeError, decode};
use crate::apimachinery::metadata::{Metadata, OwnerReference};
use crate::apimachinery::quantity::{Format, Quantity};
use crate::apimachinery::selector::LabelSelector;
use crate::apiserver::convert::{UnknownFields, too_many};
use crate::error::listed;
use crate::numbers::count;
use crate::snapshot::hpa::{
    Behavior, CrossVersionObjectReference, ExternalMetricSource, HpaSpec, MAX_METRICS,
    MetricIdentifier, MetricSource, MetricSpec, MetricTarget, ScalingRules,
};
use crate::snapshot::note::Note;
use crate::snapshot::pod::Pod;
use crate::snapshot::surroundings::ScaledObject;
use manifest::{Fallback, ManifestSpec, ScaledObjectManifest, ScalingModifiers, Trigger};
use trigger::{Made, TriggerOwner};

/// The HPA of a ScaledObject.
#[derive(Debug, Clone, PartialEq)]
pub struct KedaHpa {
    /// The HPA's name.
    pub name: String,
    /// The HPA's namespace; `None` if the manifest states none.
    pub namespace: Option<String>,
    /// The HPA's spec, as KEDA sends it to the API server, without the metrics in `open`.
    pub spec: HpaSpec,
    /// The metrics that cannot be known from the manifest alone.
    pub open: Vec<OpenMetric>,
    /// Whether KEDA takes over an HPA of this name that it did not create.
    pub takes_over: bool,
    /// The container of the target to whose environment triggers refer, if it is specified
    /// (`envSourceContainerName`).
    pub env_container: Option<String>,
    /// The notes about settings of the HPA that come from annotations, and about KEDA's actions in addition to
    /// the HPA.
    pub notes: Vec<Note>,
}

/// The metrics of a trigger whose names only KEDA knows: they are the metrics of the running HPA with its
/// prefix.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenMetric {
    /// The place among the metrics of the HPA.
    at: usize,
    /// The trigger by its place in the ScaledObject.
    trigger: usize,
    /// The trigger's type.
    type_: String,
    name: OpenName,
    target: OpenTarget,
    /// The selector, the same for every external metric of the ScaledObject.
    selector: LabelSelector,
}

/// The name of a metric that cannot be known from the manifest alone.
#[derive(Debug, Clone, PartialEq)]
enum OpenName {
    /// Only KEDA knows the name, for this reason.
    OfKeda(String),
    /// This prefix, followed by the namespace, which the manifest does not state.
    OfNamespace(String),
}

/// The target of a metric that cannot be known from the manifest alone.
#[derive(Debug, Clone, PartialEq)]
enum OpenTarget {
    /// The target is in the manifest.
    Known(MetricTarget),
    /// The scaler determines the number, and the trigger this type.
    Number(&'static str),
}

/// The reason why KEDA, or the API server before it, rejects a ScaledObject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The field, such as `spec.triggers[0].metadata.threshold`; empty for the whole object.
    path: String,
    message: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl Refused {
    fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
            hint: None,
        }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Self {
        Self::new(error.path, error.message)
    }
}

/// Returns the query of a ScaledObject's `prometheus` trigger for a metric of its HPA, which is named after the
/// trigger's place: `s0-prometheus`.
pub fn prometheus_query<'o>(object: &'o ScaledObject, spec: &MetricSpec) -> Option<&'o str> {
    let MetricSource::External(source) = spec.source() else {
        return None;
    };
    let (place, type_) = source.metric.name.strip_prefix('s')?.split_once('-')?;
    let is_its = type_ == "prometheus" || type_.starts_with("prometheus-");
    let place: usize = place.parse().ok().filter(|_| is_its)?;
    object.spec.queries.get(&place).map(String::as_str)
}

/// Whether such a query has an average, a quantile or a value per pod, which does not grow with the number
/// of pods. No other conclusion is drawn from it. An average of queues is none of pods.
pub(crate) fn is_per_pod(query: &str) -> bool {
    const AVERAGES: [&str; 3] = ["avg", "quantile", "histogram_quantile"];
    const QUEUES: [&str; 5] = ["queue", "messages", "backlog", "pending", "lag"];
    const COUNTS: [&str; 5] = [
        "kube_deployment_",
        "kube_statefulset_",
        "kube_replicaset_",
        "kube_pod_",
        "kube_horizontalpodautoscaler_",
    ];
    // Keywords are in any case.
    let plain = without_matchers(query).to_ascii_lowercase();
    let is_open = |letter: char| letter.is_whitespace() || letter == '(';
    let divides = |divisor: &str| {
        let mut named = words_of(without_join(divisor).trim_start_matches(is_open));
        let inner = named.find(|word| !["", "scalar", "sum", "max"].contains(word));
        inner.is_some_and(|it| it == "count" || COUNTS.iter().any(|own| it.starts_with(own)))
    };
    let first = words_of(plain.trim_start_matches(is_open)).next();
    let is_average = first.is_some_and(|name| AVERAGES.contains(&name));
    let words = words_of(&plain);
    let parts: Vec<&str> = words.flat_map(|word| word.split('_')).collect();
    let is_other = is_rate(query) || parts.contains(&"seconds");
    let has_queue = || parts.iter().any(|part| QUEUES.contains(part));
    let is_of_queue = first == Some("avg") && !is_other && has_queue();
    is_average && !is_of_queue || plain.split('/').skip(1).any(divides)
}

/// Whether such a query has a rate of something.
pub(crate) fn is_rate(query: &str) -> bool {
    const RATES: [&str; 5] = ["rate", "irate", "increase", "delta", "deriv"];
    words_of(&without_matchers(query)).any(|word| RATES.contains(&word))
}

/// Returns the names and keywords of a query.
fn words_of(query: &str) -> impl Iterator<Item = &str> {
    query.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
}

/// Returns an operand without the clauses that say how it is joined, such as `on (pod) group_left`.
fn without_join(operand: &str) -> &str {
    const CLAUSES: [&str; 4] = ["on", "ignoring", "group_left", "group_right"];
    let mut rest = operand.trim_start();
    while let Some(clause) = words_of(rest).next().filter(|word| CLAUSES.contains(word)) {
        let after = rest[clause.len()..].trim_start();
        let labels = after.strip_prefix('(').and_then(|it| it.split_once(')'));
        rest = labels.map_or(after, |(_, after)| after.trim_start());
    }
    rest
}

/// Returns a query without its comments and matchers, which may contain anything.
fn without_matchers(query: &str) -> String {
    let mut plain = String::new();
    let mut quote = None;
    let mut is_matcher = false;
    let mut letters = query.chars();
    while let Some(letter) = letters.next() {
        match quote {
            // A backslash escapes the next letter, but not in a raw string.
            Some('"' | '\'') if letter == '\\' => drop(letters.next()),
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '#' => {
                letters.find(|letter| *letter == '\n');
                plain.push('\n');
            }
            None if ['"', '\'', '`'].contains(&letter) => quote = Some(letter),
            None if ['{', '}'].contains(&letter) => is_matcher = letter == '{',
            None if is_matcher => {}
            None => plain.push(letter),
        }
    }
    plain
}

/// The only version of a ScaledObject.
const API_VERSION: &str = "keda.sh/v1alpha1";

/// The annotation and label with which KEDA's metrics server identifies the owner of a requested metric
/// (`ScaledObjectOwnerAnnotation`, `scaledobject_types.go`).
pub(crate) const OWNER: &str = "scaledobject.keda.sh/name";

/// Whether a metric is one that is requested from KEDA's metrics server.
pub fn is_of_trigger(spec: &MetricSpec) -> bool {
    let metric = spec
        .external
        .as_ref()
        .and_then(|external| external.metric.selector.as_ref());
    metric.is_some_and(|selector| selector.match_labels.contains_key(OWNER))
}

/// The metric that replaces all external ones under `scalingModifiers` (`CompositeMetricName`,
/// `scaledobject_types.go`). It has no index.
const COMPOSITE: &str = "composite-metric";

/// Returns the HPA's name, like `getHPAName` in `hpa.go`.
fn hpa_name(name: &str, spec: &ManifestSpec) -> String {
    match spec.hpa_config().map_or("", |config| &config.name) {
        "" => format!("keda-hpa-{name}"),
        own => own.to_owned(),
    }
}

/// Returns the name of the HPA of a ScaledObject and the target that it scales, if they can be read.
pub fn identity(json: &str) -> (String, Option<CrossVersionObjectReference>) {
    let name = decode(json).map_or_else(|_| String::new(), |it: ScaledObject| it.metadata.name);
    let spec = decode(json)
        .ok()
        .and_then(|it: ScaledObjectManifest| it.spec)
        .unwrap_or_default();
    let target = spec
        .scale_target_ref
        .as_ref()
        .map(manifest::ScaleTarget::resolved);
    (hpa_name(&name, &spec), target)
}

/// Returns the reference to the ScaledObject that KEDA gives the HPA, whose changes it reverts. A manifest has no uid yet,
/// which an API server requires: all zeros stand for it.
pub fn owner_reference(object: &Metadata) -> OwnerReference {
    let uid = if object.uid.is_empty() {
        "00000000-0000-0000-0000-000000000000"
    } else {
        &object.uid
    };
    OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: "ScaledObject".to_owned(),
        name: object.name.clone(),
        uid: uid.to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Returns the unknown fields of a ScaledObject, which kubectl reports before the API server checks the
/// others.
///
/// # Errors
///
/// The text is not JSON.
pub fn unknown_fields(json: &str) -> Result<UnknownFields, Refused> {
    Ok(manifest::unknown_fields(json)?)
}

/// Returns the path in a ScaledObject that corresponds to a field of the HPA that KEDA creates from it.
pub fn path_of(field: &str) -> String {
    const PATHS: [(&str, &str); 3] = [
        (
            "spec.behavior",
            "spec.advanced.horizontalPodAutoscalerConfig.behavior",
        ),
        ("spec.minReplicas", "spec.minReplicaCount"),
        ("spec.maxReplicas", "spec.maxReplicaCount"),
    ];
    let found = PATHS
        .iter()
        .find_map(|(path, own)| Some((own, field.strip_prefix(path)?)));
    found.map_or_else(|| field.to_owned(), |(own, rest)| format!("{own}{rest}"))
}

impl KedaHpa {
    /// Returns the HPA that KEDA creates from a ScaledObject, like `newHPAForScaledObject` in `hpa.go`.
    /// `namespace` applies if the manifest states none.
    ///
    /// # Errors
    ///
    /// The API server or KEDA rejects the ScaledObject, or KEDA creates no HPA for it because it is paused.
    pub fn of(json: &str, namespace: Option<&str>) -> Result<Self, Refused> {
        let ScaledObjectManifest { api_version, spec } = decode(json)?;
        if api_version != API_VERSION {
            let message = format!("unsupported version {api_version:?} (supported: {API_VERSION})");
            return Err(Refused::new("apiVersion", message));
        }
        let object: ScaledObject = decode(json)?;
        let name = &object.metadata.name;
        if name.is_empty() {
            return Err(Refused::new("metadata.name", "required"));
        }
        let spec = spec.ok_or_else(|| Refused::new("spec", "required"))?;
        let triggers = spec.triggers.len();
        if triggers > MAX_METRICS {
            return Err(Refused::new(
                "spec.triggers",
                too_many("triggers", triggers),
            ));
        }
        check::schema(&spec)?;
        check::webhook(name, &spec)?;
        let pauses = object.pauses();
        if let Some(first) = pauses.first() {
            let path = format!("metadata.annotations[{first}]");
            let hint = format!(
                "remove {} from the file to see what its HPA would decide",
                pauses.join(" and ")
            );
            return Err(
                Refused::new(path, "KEDA deletes the HPA of a paused ScaledObject").hint(hint),
            );
        }
        let stated = object.metadata.namespace.as_deref();
        let owner = TriggerOwner {
            name,
            namespace: stated.or(namespace),
            uses_modifiers: spec.modifiers().is_some(),
        };
        let mut notes = Vec::new();
        let (metrics, open) = metrics(&spec, &owner, &mut notes)?;
        let behavior = behavior(&object, &spec, &mut notes);
        notes.extend(outside(&object, &spec));
        let reference = spec.scale_target_ref.as_ref();
        let hpa = HpaSpec {
            scale_target_ref: reference
                .map(manifest::ScaleTarget::resolved)
                .unwrap_or_default(),
            min_replicas: Some(spec.hpa_min()),
            max_replicas: spec.hpa_max(),
            metrics,
            behavior,
        };
        Ok(Self {
            name: hpa_name(name, &spec),
            namespace: stated.map(str::to_owned),
            spec: hpa,
            open,
            takes_over: object.metadata.annotations.get(KEDA_TRANSFER) == Some("true")
                && spec
                    .hpa_config()
                    .is_some_and(|config| !config.name.is_empty()),
            env_container: reference
                .map(|own| own.env_source_container_name.clone())
                .filter(|container| !container.is_empty()),
            notes,
        })
    }
}

/// Checks that a target has the container to whose environment triggers refer (`ResolveContainerEnv` in
/// `scale_resolvers.go`).
///
/// # Errors
///
/// The target's template has no such container.
pub fn check_env_container(container: Option<&str>, template: Option<&Pod>) -> Result<(), Refused> {
    let (Some(name), Some(template)) = (container, template) else {
        return Ok(());
    };
    if template.containers.iter().any(|own| *own.name == *name) {
        return Ok(());
    }
    let names: Vec<&str> = template.containers.iter().map(|own| &*own.name).collect();
    let path = "spec.scaleTargetRef.envSourceContainerName";
    Err(
        Refused::new(path, format!("the target has no container {name:?}"))
            .hint(format!("it has {}", names.join(", "))),
    )
}

/// Returns the metrics in KEDA's order, like `getScaledObjectMetricSpecs` in `hpa.go`. It sorts by type; up
/// to 12 metrics, Go's sort keeps the order within a type. Beyond that, KEDA's order is different, and not
/// followed.
fn metrics(
    spec: &ManifestSpec,
    owner: &TriggerOwner<'_>,
    notes: &mut Vec<Note>,
) -> Result<(Vec<MetricSpec>, Vec<OpenMetric>), Refused> {
    let mut all = Vec::new();
    let mut names = HashSet::new();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let made = trigger::metrics(trigger, index, owner, notes)?;
        if made.is_empty() {
            let path = format!("spec.triggers[{index}].metadata");
            return Err(Refused::new(path, "no target value"));
        }
        for name in made.iter().filter_map(Made::external) {
            if !names.insert(name.to_owned()) {
                let path = format!("spec.triggers[{index}]");
                let message = format!("another trigger has the metric {name:?} already");
                return Err(Refused::new(path, message));
            }
        }
        all.extend(made);
    }
    // A target that is not a number results in no composite metric.
    let modifiers = spec
        .modifiers()
        .filter(|own| own.target_number().is_some_and(|it| it > 0.0));
    if let Some(modifiers) = modifiers {
        // Only Resource metrics are kept, so ContainerResource metrics are lost along with the external ones.
        let lost = all
            .iter()
            .filter(|it| it.type_() == "ContainerResource")
            .count();
        if lost > 0 {
            notes.push(Note::new(format!(
                "scalingModifiers: KEDA leaves out {} with containerName",
                count(lost, "trigger")
            )));
        }
        let names: Vec<&str> = spec
            .triggers
            .iter()
            .filter(|it| !it.is_resource() && !it.name.is_empty())
            .map(|it| &*it.name)
            .collect();
        let from = if names.is_empty() {
            String::new()
        } else {
            format!(" from {}", names.join(", "))
        };
        notes.push(Note::new(format!(
            "scalingModifiers: {COMPOSITE} replaces the external metrics; KEDA computes it{from}, and \
             the formula is not evaluated here: --metric {COMPOSITE}=VALUE assumes its value"
        )));
        let mut kept: Vec<MetricSpec> = all.into_iter().filter_map(Made::resource).collect();
        kept.push(composite(modifiers, owner)?);
        return Ok((kept, Vec::new()));
    }
    all.sort_by(|one, other| one.type_().cmp(other.type_()));
    let (mut known, mut open) = (Vec::new(), Vec::new());
    for (at, made) in all.into_iter().enumerate() {
        match made {
            Made::Known(metric) => known.push(*metric),
            Made::Open(metric) => open.push(OpenMetric { at, ..*metric }),
        }
    }
    Ok((known, open))
}

/// Returns the composite metric, from the same function. Its target is truncated to thousandths.
fn composite(
    modifiers: &ScalingModifiers,
    owner: &TriggerOwner<'_>,
) -> Result<MetricSpec, Refused> {
    let path = "spec.advanced.scalingModifiers.target";
    let target = modifiers.target_number().unwrap_or_default();
    // An empty formula or target, and a target that is not positive, is rejected where the formula is compiled
    // (`ValidateAndCompileScalingModifiers`, `scaledobject_webhook.go`). In Go on amd64, int64() of a number
    // that does not fit is the least number, which the API server rejects.
    if target * 1000.0 >= i64::MAX as f64 {
        return Err(Refused::new(path, "larger than any target of a metric"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "as Go's int64() cuts it")]
    let milli = (target * 1000.0) as i64;
    if milli <= 0 {
        return Err(Refused::new(path, "must be at least 0.001"));
    }
    let type_ = modifiers.metric_type.as_deref().unwrap_or("AverageValue");
    let target = trigger::target(type_, Quantity::from_milli(milli, Format::DecimalSI));
    Ok(external(COMPOSITE.to_owned(), owner.selector(), target))
}

/// Returns an External metric.
fn external(name: String, selector: LabelSelector, target: MetricTarget) -> MetricSpec {
    let metric = MetricIdentifier {
        name,
        selector: Some(selector),
    };
    MetricSpec {
        type_: "External".to_owned(),
        external: Some(ExternalMetricSource { metric, target }),
        ..MetricSpec::default()
    }
}

/// Returns the behavior, in which an annotation can disable a direction, as in `newHPAForScaledObject`.
fn behavior(object: &ScaledObject, spec: &ManifestSpec, notes: &mut Vec<Note>) -> Option<Behavior> {
    let mut behavior = spec.hpa_config().and_then(|config| config.behavior.clone());
    if let Some(Behavior {
        scale_up,
        scale_down,
        ..
    }) = &mut behavior
    {
        // KEDA sends no empty list, so that the API server sets its defaults.
        for rules in [scale_up, scale_down].into_iter().flatten() {
            rules.policies.take_if(|policies| policies.is_empty());
        }
    }
    let mut disable =
        |annotation, direction, rules: fn(&mut Behavior) -> &mut Option<ScalingRules>| {
            if object.is_set(annotation) {
                let rules = rules(behavior.get_or_insert_default()).get_or_insert_default();
                rules.select_policy = Some("Disabled".to_owned());
                notes.push(Note::new(format!(
                    "{annotation}: KEDA sets behavior.{direction}.selectPolicy to Disabled"
                )));
            }
        };
    disable(KEDA_PAUSED_SCALE_IN, "scaleDown", |behavior| {
        &mut behavior.scale_down
    });
    disable(KEDA_PAUSED_SCALE_OUT, "scaleUp", |behavior| {
        &mut behavior.scale_up
    });
    behavior
}

/// Returns notes about KEDA's actions in addition to the HPA: its scale loop
/// (`pkg/scaling/executor/scale_scaledobjects.go`), its metrics server (`pkg/fallback/fallback.go`), and
/// its cache.
fn outside(object: &ScaledObject, spec: &ManifestSpec) -> Vec<Note> {
    let rest = replicas_at_rest(object, spec);
    let notes = [
        rest.map(|replicas| scale_loop(object, spec, replicas)),
        spec.fallback.as_ref().map(|own| fallback(own, spec)),
        used_by_keda(spec, rest.is_some()),
    ];
    notes.into_iter().flatten().map(Note::new).collect()
}

/// Returns the replicas to which KEDA itself scales while no trigger is active.
fn replicas_at_rest(object: &ScaledObject, spec: &ManifestSpec) -> Option<i32> {
    // CPU and memory alone always count as active.
    let is_active = object.is_set(KEDA_FORCE) || spec.triggers.iter().all(Trigger::is_resource);
    if is_active || object.is_set(KEDA_PAUSED_SCALE_IN) {
        return None;
    }
    let is_zero = spec.min_replica_count.unwrap_or(0) == 0;
    spec.idle_replica_count.or(is_zero.then_some(0))
}

/// Describes what KEDA itself scales.
fn scale_loop(object: &ScaledObject, spec: &ManifestSpec, rest: i32) -> String {
    let cooldown = spec.cooldown_period.unwrap_or(300);
    let back = if object.is_set(KEDA_PAUSED_SCALE_OUT) {
        ""
    } else {
        ", and back"
    };
    format!(
        "KEDA itself scales to {} when no trigger for an external metric has been active for \
         {cooldown}s{back}; that is not predicted",
        count(rest, "replica")
    )
}

/// Describes what KEDA reports instead of failing triggers.
fn fallback(fallback: &Fallback, spec: &ManifestSpec) -> String {
    // `HasValidFallback`.
    let is_whole = |target: &str| target.parse::<i64>().is_ok_and(|target| target > 0);
    if let Some(ScalingModifiers { target, .. }) = spec.modifiers()
        && !is_whole(target)
    {
        return format!(
            "spec.fallback has no effect: for it, KEDA needs a whole number in \
             spec.advanced.scalingModifiers.target, which is {target:?}"
        );
    }
    // Other behaviors compare the number with the current replicas, or do not use it.
    let value = match fallback.behavior.as_deref() {
        None | Some("" | "static") => count(fallback.replicas.unwrap_or_default(), "replica"),
        Some(other) => format!("behavior {other}"),
    };
    let failures = count(fallback.failure_threshold.unwrap_or_default(), "time");
    format!(
        "spec.fallback is not predicted: once a trigger has failed more than {failures}, KEDA \
         reports a value of its own ({value})"
    )
}

/// Names the fields that KEDA itself uses. The cooldown is told with the replicas `at_rest`.
fn used_by_keda(spec: &ManifestSpec, at_rest: bool) -> Option<String> {
    let modifiers = spec.modifiers();
    let has_activation = modifiers.is_some_and(|it| !it.activation_target.is_empty());
    let initial = spec.initial_cooldown_period.is_some();
    let mut fields: Vec<String> = [
        ("pollingInterval", spec.polling_interval.is_some()),
        ("initialCooldownPeriod", initial),
        ("cooldownPeriod", spec.cooldown_period.is_some() && !at_rest),
        ("advanced.scalingModifiers.activationTarget", has_activation),
    ]
    .into_iter()
    .filter(|(_, is_set)| *is_set)
    .map(|(field, _)| format!("spec.{field}"))
    .collect();
    for (index, trigger) in spec.triggers.iter().enumerate() {
        let keys = trigger.metadata.iter().flat_map(|it| it.keys());
        let is_read = |key: &&String| keys::keys(&trigger.type_).any(|own| own == **key);
        let activation = keys
            .filter(|key| key.starts_with("activation"))
            .filter(is_read);
        fields.extend(activation.map(|key| format!("spec.triggers[{index}].metadata.{key}")));
        if trigger.use_cached_metrics {
            fields.push(format!("spec.triggers[{index}].useCachedMetrics"));
        }
    }
    (!fields.is_empty()).then(|| {
        format!(
            "used by KEDA itself and not part of the HPA: {}",
            listed(&fields)
        )
    })
}

/// Returns the metrics of a new HPA of a ScaledObject that have another index in the running one: their
/// places in the new and in the running spec. Only the index in their names differs, and no other metric
/// has the same name after it.
pub(crate) fn moved(running: &[MetricSpec], new: &[MetricSpec]) -> Vec<(usize, usize)> {
    fn without_index(metric: &MetricSpec) -> Option<(&str, &LabelSelector)> {
        let source = metric.external.as_ref()?;
        let (index, rest) = source.metric.name.strip_prefix('s')?.split_once('-')?;
        index.parse::<usize>().ok()?;
        let selector = source.metric.selector.as_ref()?;
        selector
            .match_labels
            .contains_key(OWNER)
            .then_some((rest, selector))
    }
    let places = |metrics: &[MetricSpec], name: (&str, &LabelSelector)| -> Vec<usize> {
        (0..metrics.len())
            .filter(|place| without_index(&metrics[*place]) == Some(name))
            .collect()
    };
    let names = new.iter().filter_map(without_index);
    let pairs =
        names.filter_map(
            |name| match (&places(new, name)[..], &places(running, name)[..]) {
                ([to], [from]) if new[*to].name() != running[*from].name() => Some((*to, *from)),
                _ => None,
            },
        );
    pairs.collect()
}

impl OpenMetric {
    /// Whether a metric of the running HPA belongs to this trigger.
    fn is(&self, metric: &MetricSpec) -> bool {
        metric.external.as_ref().is_some_and(|it| {
            it.metric.name.starts_with(&format!("s{}-", self.trigger))
                && it.metric.selector.as_ref() == Some(&self.selector)
        })
    }

    /// Returns the error for a trigger without a metric.
    fn lacks(trigger: usize, why: &str, target: &OpenTarget, is_running: bool) -> Refused {
        // A running HPA can only be replaced by another.
        let (lacks, flag) = if is_running {
            (
                format!(", and the running HPA has no metric s{trigger}-..."),
                "--hpa",
            )
        } else {
            (String::new(), "-f")
        };
        let other = format!("use {flag} with the HPA that KEDA makes");
        let (what, hint) = match target {
            OpenTarget::Known(_) => ("name", format!("state the value in the file, or {other}")),
            OpenTarget::Number(_) => ("target", other),
        };
        let message = format!("unknown {what} of the metric: {why}{lacks}");
        Refused::new(format!("spec.triggers[{trigger}]"), message).hint(hint)
    }

    /// Puts the metrics of each open trigger into the spec of an HPA in a namespace. A name that only KEDA
    /// knows is taken from the running HPA. If there is no such HPA, another name is used in its place, because
    /// the replicas do not depend on it; the values of a manifest alone are not requested.
    ///
    /// # Errors
    ///
    /// The running HPA has no metric of such a trigger, or there is no running HPA and only KEDA knows the
    /// target.
    pub fn fill(
        open: &[Self],
        spec: &mut HpaSpec,
        running: Option<&HpaSpec>,
        namespace: &str,
    ) -> Result<Vec<Note>, Refused> {
        let mut notes = Vec::new();
        let mut further = 0;
        for Self {
            at,
            trigger,
            type_,
            name,
            target,
            selector,
        } in open
        {
            let place = at + further;
            let mut add = |name: String, target: &MetricTarget| {
                spec.metrics
                    .insert(place, external(name, selector.clone(), target.clone()));
            };
            let why = match (name, target) {
                (OpenName::OfNamespace(start), OpenTarget::Known(target)) => {
                    add(format!("{start}{namespace}"), target);
                    continue;
                }
                (OpenName::OfNamespace(why) | OpenName::OfKeda(why), _) => why,
            };
            let own = open.iter().filter(|it| it.trigger == *trigger);
            let found: Vec<MetricSpec> = running
                .iter()
                .flat_map(|running| &running.metrics)
                .filter(|metric| own.clone().any(|it| it.is(metric)))
                .cloned()
                .map(|mut metric| {
                    if let Some(own) = metric.target_mut() {
                        target.replace(own);
                    }
                    metric
                })
                .collect();
            if found.is_empty() {
                let (OpenTarget::Known(target), None) = (target, running) else {
                    return Err(Self::lacks(*trigger, why, target, running.is_some()));
                };
                let metric = format!("s{trigger}-{type_}-unknown");
                notes.push(Note::new(format!(
                    "spec.triggers[{trigger}] ({type_}): {metric} stands for the name of its metric, which only KEDA \
                     knows: {why}"
                )));
                add(metric, target);
                continue;
            }
            let taken = match target {
                OpenTarget::Known(_) => "the name of its metric is taken",
                OpenTarget::Number(_) => {
                    "the name of its metric and the number of its target are taken"
                }
            };
            let names: Vec<&str> = found.iter().map(MetricSpec::name).collect();
            notes.push(Note::new(format!(
                "spec.triggers[{trigger}] ({type_}): {taken} from the running HPA, because only KEDA knows: {}",
                names.join(", ")
            )));
            further += found.len() - 1;
            spec.metrics.splice(place..place, found);
        }
        Ok(notes)
    }
}

impl OpenTarget {
    /// Sets a target of the running HPA to this one.
    fn replace(&self, running: &mut MetricTarget) {
        match self {
            Self::Known(target) => running.clone_from(target),
            Self::Number(type_) => {
                if let Some(number) = running.value.take().or(running.average_value.take()) {
                    *running = trigger::target(type_, number);
                }
            }
        }
    }
}

impl manifest::ScaleTarget {
    /// Returns the target with KEDA's defaults, like `ParseGVKR` in `gvkr.go`.
    fn resolved(&self) -> CrossVersionObjectReference {
        let or = |text: &str, default: &str| match text {
            "" => default.to_owned(),
            text => text.to_owned(),
        };
        CrossVersionObjectReference {
            kind: or(&self.kind, "Deployment"),
            name: self.name.clone(),
            api_version: or(&self.api_version, "apps/v1"),
        }
    }
}
