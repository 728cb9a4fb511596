//! The External metrics of a ScaledObject's HPA: how to distinguish them from others, and the part of a trigger's
//! metric that cannot be known from the manifest alone.

use super::Refused;
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::selector::LabelSelector;
use crate::snapshot::hpa::{
    ExternalMetricSource, HpaSpec, MetricIdentifier, MetricSpec, MetricTarget,
};
use crate::snapshot::note::Note;

/// The annotation and label with which KEDA's metrics server identifies the owner of a requested metric
/// (`ScaledObjectOwnerAnnotation`, `scaledobject_types.go`).
pub(crate) const OWNER: &str = "scaledobject.keda.sh/name";

/// The metrics of a trigger whose names only KEDA knows: they are the metrics of the running HPA with its
/// prefix.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenMetric {
    /// The number of known metrics before it.
    pub(super) at: usize,
    /// The trigger by its place in the ScaledObject.
    pub(super) trigger: usize,
    /// The trigger's type.
    pub(super) type_: String,
    pub(super) part: OpenPart,
    /// The selector, the same for every external metric of the ScaledObject.
    pub(super) selector: LabelSelector,
}

/// The part of a metric that cannot be known from the manifest alone.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum OpenPart {
    /// The name is this prefix, followed by the namespace, which the manifest does not state.
    Namespace { start: String, target: MetricTarget },
    /// Only KEDA knows the name, for this reason.
    Name { why: String, target: MetricTarget },
    /// Only KEDA knows the name and, for this reason, the number of the target; the trigger determines its type.
    Target { why: String, type_: &'static str },
}

impl OpenMetric {
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
        let mut added = 0;
        for trigger in open {
            let metrics = trigger.metrics(running, namespace, &mut notes)?;
            let place = trigger.at + added;
            added += metrics.len();
            spec.metrics.splice(place..place, metrics);
        }
        Ok(notes)
    }

    /// Returns the metrics of the trigger.
    fn metrics(
        &self,
        running: Option<&HpaSpec>,
        namespace: &str,
        notes: &mut Vec<Note>,
    ) -> Result<Vec<MetricSpec>, Refused> {
        let Self { trigger, type_, .. } = self;
        let place = format!("spec.triggers[{trigger}] ({type_})");
        let named = |name, target: &MetricTarget| {
            Ok(vec![external(name, self.selector.clone(), target.clone())])
        };
        let (why, taken) = match &self.part {
            OpenPart::Namespace { start, target } => {
                return named(format!("{start}{namespace}"), target);
            }
            OpenPart::Name { why, target } if running.is_none() => {
                let name = format!("s{trigger}-{type_}-unknown");
                notes.push(Note::new(format!(
                    "{place}: {name} stands in for the name of its metric, which only KEDA knows: {why}"
                )));
                return named(name, target);
            }
            OpenPart::Name { why, .. } => (why, "is"),
            OpenPart::Target { why, .. } => (why, "and the number of its target are"),
        };
        let all = running.iter().flat_map(|running| &running.metrics);
        let mut metrics: Vec<MetricSpec> = all.filter(|metric| self.is(metric)).cloned().collect();
        if metrics.is_empty() {
            return Err(self.lacks(why, running.is_some()));
        }
        for target in metrics.iter_mut().filter_map(MetricSpec::target_mut) {
            self.part.replace(target);
        }
        let names: Vec<&str> = metrics.iter().map(MetricSpec::name).collect();
        notes.push(Note::new(format!(
            "{place}: the name of its metric {taken} taken from the running HPA, because only KEDA knows: {}",
            names.join(", ")
        )));
        Ok(metrics)
    }

    /// Whether a metric of the running HPA belongs to this trigger.
    fn is(&self, metric: &MetricSpec) -> bool {
        metric.external.as_ref().is_some_and(|it| {
            indexed(&it.metric.name).is_some_and(|(index, _)| index == self.trigger)
                && it.metric.selector.as_ref() == Some(&self.selector)
        })
    }

    /// Returns the error for a trigger without a metric.
    fn lacks(&self, why: &str, is_running: bool) -> Refused {
        let trigger = self.trigger;
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
        let (what, hint) = match self.part {
            OpenPart::Target { .. } => ("target", other),
            _ => ("name", format!("state the value in the file, or {other}")),
        };
        let message = format!("unknown {what} of the metric: {why}{lacks}");
        Refused::new(format!("spec.triggers[{trigger}]"), message).hint(hint)
    }
}

impl OpenPart {
    /// Replaces a target of the running HPA by what the manifest says of it.
    fn replace(&self, running: &mut MetricTarget) {
        match self {
            Self::Namespace { target, .. } | Self::Name { target, .. } => {
                running.clone_from(target);
            }
            Self::Target { type_, .. } => {
                if let Some(number) = running.value.take().or(running.average_value.take()) {
                    *running = target(type_, number);
                }
            }
        }
    }
}

/// Whether a metric is one that is requested from KEDA's metrics server.
pub fn is_of_trigger(spec: &MetricSpec) -> bool {
    selector_of_keda(spec).is_some()
}

/// Returns the selector with which a metric is requested from KEDA's metrics server.
fn selector_of_keda(spec: &MetricSpec) -> Option<&LabelSelector> {
    let selector = spec.external.as_ref()?.metric.selector.as_ref()?;
    Some(selector).filter(|selector| selector.match_labels.contains_key(OWNER))
}

/// Returns the index of a trigger in the name of its metric, such as `s0-prometheus`, and the rest of the name.
pub(super) fn indexed(name: &str) -> Option<(usize, &str)> {
    let (index, rest) = name.strip_prefix('s')?.split_once('-')?;
    Some((index.parse().ok()?, rest))
}

/// Returns the metrics of a new HPA of a ScaledObject that have another index in the running one: their
/// places in the new and in the running spec. Only the index in their names differs, and no other metric
/// has the same name after it.
pub(crate) fn moved(running: &[MetricSpec], new: &[MetricSpec]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for name in new.iter().filter_map(without_index) {
        if let ([to], [from]) = (&places(new, name)[..], &places(running, name)[..])
            && new[*to].name() != running[*from].name()
        {
            pairs.push((*to, *from));
        }
    }
    pairs
}

/// Returns the places of the metrics with a name and selector.
fn places(metrics: &[MetricSpec], name: (&str, &LabelSelector)) -> Vec<usize> {
    (0..metrics.len())
        .filter(|place| without_index(&metrics[*place]) == Some(name))
        .collect()
}

/// Returns the name after the index, and the selector.
pub(super) fn without_index(metric: &MetricSpec) -> Option<(&str, &LabelSelector)> {
    let (_, rest) = indexed(&metric.external.as_ref()?.metric.name)?;
    Some((rest, selector_of_keda(metric)?))
}

/// Returns an External metric.
pub(super) fn external(name: String, selector: LabelSelector, target: MetricTarget) -> MetricSpec {
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

/// `GetMetricTarget` and `GetMetricTargetMili` in `scaler.go`.
pub(super) fn target(type_: &str, number: Quantity) -> MetricTarget {
    let mut target = MetricTarget {
        type_: type_.to_owned(),
        ..MetricTarget::default()
    };
    if type_ == "AverageValue" {
        target.average_value = Some(number);
    } else {
        target.value = Some(number);
    }
    target
}
