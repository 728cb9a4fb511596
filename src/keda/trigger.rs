//! The metrics of a trigger in an HPA: resources by `cpu_memory_scaler.go`, all others External by the
//! table in [`super::scalers`].

use std::collections::BTreeMap;

use super::manifest::Trigger;
use super::metadata::{Gap, TriggerMetadata};
use super::scalers::{Scaler, scaler, solace};
use super::{OWNER, OpenMetric, OpenName, OpenTarget, Refused, external, fields};
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::selector::LabelSelector;
use crate::snapshot::hpa::{
    ContainerResourceMetricSource, MetricSpec, MetricTarget, ResourceMetricSource,
};
use crate::snapshot::note::Note;

/// The ScaledObject that contains a trigger.
pub(super) struct TriggerOwner<'o> {
    pub(super) name: &'o str,
    pub(super) namespace: Option<&'o str>,
    /// Whether it has `scalingModifiers`, so that no trigger needs a target.
    pub(super) uses_modifiers: bool,
}

impl TriggerOwner<'_> {
    /// Returns the selector of all its external metrics, as `getScaledObjectMetricSpecs` in `hpa.go` does.
    pub(super) fn selector(&self) -> LabelSelector {
        let labels = BTreeMap::from([(OWNER.to_owned(), self.name.to_owned())]);
        LabelSelector {
            match_labels: labels,
            ..LabelSelector::default()
        }
    }
}

/// A metric of a trigger.
pub(super) enum Made {
    Known(Box<MetricSpec>),
    /// A metric whose name only KEDA knows.
    Open(Box<OpenMetric>),
}

impl Made {
    pub(super) fn type_(&self) -> &str {
        match self {
            Self::Known(metric) => &metric.type_,
            Self::Open(_) => "External",
        }
    }

    /// Returns the name, if it is known and the metric is of type External.
    pub(super) fn external(&self) -> Option<&str> {
        match self {
            Self::Known(metric) => metric.external.as_ref().map(|own| &*own.metric.name),
            Self::Open(_) => None,
        }
    }

    /// Returns the metric, if it is of type Resource.
    pub(super) fn resource(self) -> Option<MetricSpec> {
        match self {
            Self::Known(metric) if metric.resource.is_some() => Some(*metric),
            _ => None,
        }
    }
}

/// Returns the metrics of a trigger, like the scaler's `GetMetricSpecForScaling`.
pub(super) fn metrics(
    trigger: &Trigger,
    index: usize,
    owner: &TriggerOwner<'_>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Made>, Refused> {
    let none = BTreeMap::new();
    let metadata = TriggerMetadata::new(
        index,
        &trigger.type_,
        trigger.metadata.as_ref().unwrap_or(&none),
        trigger.authentication_ref.is_some(),
        owner.namespace,
    );
    notes.extend(metadata.unread().map(|(key, meant)| {
        Note::new(format!(
            "spec.triggers[{index}].metadata.{key}: KEDA does not read it; {meant} may be meant"
        ))
    }));
    if trigger.is_resource() {
        let metric = resource(trigger, index, &metadata)?;
        return Ok(vec![Made::Known(Box::new(metric))]);
    }
    let path = |field: &str| format!("spec.triggers[{index}].{field}");
    let found = scaler(&trigger.type_).map_err(|meant| {
        let error = Refused::new(
            path("type"),
            format!("KEDA 2.20 has no scaler {:?}", trigger.type_),
        );
        match meant {
            Some(meant) => error.hint(format!("did you mean {meant}?")),
            None => error,
        }
    })?;
    // `GetMetricTargetType` in `scaler.go`; the API server rejects any other text.
    let type_ = match (found.only, &*trigger.metric_type) {
        (Some(only), _) => only,
        (None, "" | "AverageValue") => "AverageValue",
        (None, "Value") => "Value",
        (None, other) => {
            let message = format!(
                "{other:?} is not possible for an external metric: use AverageValue or Value"
            );
            return Err(Refused::new(path("metricType"), message));
        }
    };
    fields::check(&trigger.type_, &metadata)?;
    let made = external_metrics(&found, &metadata, type_, trigger, index, owner)?;
    let assumed = metadata.assumed().into_iter();
    notes.extend(assumed.map(|field| {
        Note::new(format!(
            "spec.triggers[{index}]: KEDA prefers a {field} from authenticationRef, which is not read and \
             assumed to have none"
        ))
    }));
    Ok(made)
}

/// Returns the metrics of a scaler, with this type of target.
fn external_metrics(
    scaler: &Scaler,
    metadata: &TriggerMetadata<'_>,
    type_: &'static str,
    trigger: &Trigger,
    index: usize,
    owner: &TriggerOwner<'_>,
) -> Result<Vec<Made>, Refused> {
    let open = |name: OpenName, target: OpenTarget| {
        Made::Open(Box::new(OpenMetric {
            at: 0,
            trigger: index,
            type_: trigger.type_.clone(),
            name,
            target,
            selector: owner.selector(),
        }))
    };
    let known = |name: String, target: MetricTarget| {
        Made::Known(Box::new(external(name, owner.selector(), target)))
    };
    match &*trigger.type_ {
        "external" | "external-push" => {
            metadata.need("scalerAddress")?;
            let why = "only the scaler itself knows its metrics and targets".to_owned();
            Ok(vec![open(OpenName::OfKeda(why), OpenTarget::Number(type_))])
        }
        "solace-direct-messaging" | "solace-event-queue" => {
            let metrics = solace(&trigger.type_, metadata)?.into_iter();
            Ok(metrics
                .map(|(name, value)| known(name, target(type_, value)))
                .collect())
        }
        _ => {
            let target = match scaler.target(metadata, owner.uses_modifiers) {
                Ok(value) => target(type_, value),
                Err(gap) => {
                    let name = OpenName::of(gap, metadata)?;
                    return Ok(vec![open(name, OpenTarget::Number(type_))]);
                }
            };
            Ok(vec![match scaler.name(metadata) {
                Ok(name) => known(name, target),
                Err(gap) => open(OpenName::of(gap, metadata)?, OpenTarget::Known(target)),
            }])
        }
    }
}

/// `parseResourceMetadata` and `GetMetricSpecForScaling` in `cpu_memory_scaler.go`.
fn resource(
    trigger: &Trigger,
    index: usize,
    metadata: &TriggerMetadata<'_>,
) -> Result<MetricSpec, Refused> {
    if metadata.get("type").is_some() {
        let error = metadata.refused("type", "KEDA no longer reads it");
        return Err(error.hint(format!("use spec.triggers[{index}].metricType")));
    }
    let text = metadata.need("value")?;
    let target = match &*trigger.metric_type {
        "Utilization" => MetricTarget {
            type_: "Utilization".to_owned(),
            average_utilization: match text.parse() {
                Ok(percent) if percent > 0 => Some(percent),
                // KEDA accepts it, but the API server rejects the HPA that KEDA creates from it.
                Ok(percent) => {
                    return Err(
                        metadata.refused("value", format!("{percent} is not greater than 0"))
                    );
                }
                Err(_) => {
                    let message = format!("{text:?} is not a whole percentage");
                    return Err(metadata.refused("value", message));
                }
            },
            ..MetricTarget::default()
        },
        "AverageValue" => target(
            "AverageValue",
            Quantity::parse(text)
                .map_err(|e| metadata.refused("value", format!("{text:?}: {e}")))?,
        ),
        other => {
            let message = match other {
                "" => "required".to_owned(),
                other => format!("{other:?} is not possible for {}", trigger.type_),
            };
            let path = format!("spec.triggers[{index}].metricType");
            return Err(Refused::new(path, message).hint("use Utilization or AverageValue"));
        }
    };
    let name = trigger.type_.clone();
    Ok(match metadata.get("containerName") {
        Some(container) => MetricSpec {
            type_: "ContainerResource".to_owned(),
            container_resource: Some(ContainerResourceMetricSource {
                name,
                target,
                container: container.to_owned(),
            }),
            ..MetricSpec::default()
        },
        None => MetricSpec {
            type_: "Resource".to_owned(),
            resource: Some(ResourceMetricSource { name, target }),
            ..MetricSpec::default()
        },
    })
}

impl OpenName {
    /// Returns the name that a gap leaves open.
    fn of(gap: Gap, metadata: &TriggerMetadata<'_>) -> Result<Self, Refused> {
        match gap {
            Gap::Refused(refused) => Err(refused),
            Gap::Open(why) => Ok(Self::OfKeda(why)),
            Gap::OfNamespace(start) => Ok(Self::OfNamespace(metadata.with_index(start))),
        }
    }
}

/// `GetMetricTarget` and `GetMetricTargetMili` in `scaler.go`.
pub(super) fn target(type_: &str, value: Quantity) -> MetricTarget {
    let own = match type_ {
        "AverageValue" => MetricTarget {
            average_value: Some(value),
            ..MetricTarget::default()
        },
        _ => MetricTarget {
            value: Some(value),
            ..MetricTarget::default()
        },
    };
    MetricTarget {
        type_: type_.to_owned(),
        ..own
    }
}
