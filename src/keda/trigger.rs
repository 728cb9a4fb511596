//! The metrics of a trigger in an HPA: resources by `cpu_memory_scaler.go`, all others External by the
//! table in [`super::scalers`].

use std::collections::BTreeMap;

use super::external::{OWNER, OpenMetric, OpenPart, external, target};
use super::manifest::Trigger;
use super::metadata::{Gap, TriggerMetadata};
use super::scalers::{Scaler, scaler, solace};
use super::{Refused, fields};
use crate::apimachinery::quantity::Quantity;
use crate::apimachinery::selector::LabelSelector;
use crate::snapshot::hpa::{MetricSpec, MetricTarget, ResourceMetricSource};
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
    let metadata = TriggerMetadata::new(index, trigger);
    notes.extend(metadata.unread().map(|(key, meant)| {
        Note::new(format!(
            "{}: KEDA does not read it; {meant} may be meant",
            metadata.path(&format!("metadata.{key}"))
        ))
    }));
    if trigger.is_resource() {
        return Ok(vec![Made::Known(Box::new(resource(&metadata)?))]);
    }
    let found = scaler(&trigger.type_).map_err(|meant| {
        let message = format!("KEDA 2.20 has no scaler {:?}", trigger.type_);
        let error = Refused::new(metadata.path("type"), message);
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
            return Err(Refused::new(metadata.path("metricType"), message));
        }
    };
    fields::check(&metadata)?;
    let made = external_metrics(&found, &metadata, type_, owner)?;
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
    owner: &TriggerOwner<'_>,
) -> Result<Vec<Made>, Refused> {
    let open = |part: OpenPart| {
        Made::Open(Box::new(OpenMetric {
            at: 0,
            trigger: metadata.index,
            type_: metadata.trigger.type_.clone(),
            part,
            selector: owner.selector(),
        }))
    };
    let known = |name: String, target: MetricTarget| {
        Made::Known(Box::new(external(name, owner.selector(), target)))
    };
    let of_scaler = match &*metadata.trigger.type_ {
        "external" | "external-push" => {
            metadata.need("scalerAddress")?;
            Err(Gap::Open(
                "only the scaler itself knows its metrics and targets".to_owned(),
            ))
        }
        solace_type @ ("solace-direct-messaging" | "solace-event-queue") => {
            let metrics = solace(solace_type, metadata)?.into_iter();
            return Ok(metrics
                .map(|(name, value)| known(name, target(type_, value)))
                .collect());
        }
        _ => scaler.target(metadata, owner.uses_modifiers),
    };
    let target = match of_scaler {
        Ok(value) => target(type_, value),
        Err(Gap::Open(why)) => return Ok(vec![open(OpenPart::Target { why, type_ })]),
        Err(Gap::Refused(refused)) => return Err(refused),
    };
    Ok(vec![match scaler.name(metadata) {
        Ok(start) if metadata.trigger.type_ == "kubernetes-workload" => match owner.namespace {
            Some(namespace) => known(format!("{start}{namespace}"), target),
            None => open(OpenPart::Namespace { start, target }),
        },
        Ok(name) => known(name, target),
        Err(Gap::Open(why)) => open(OpenPart::Name { why, target }),
        Err(Gap::Refused(refused)) => return Err(refused),
    }])
}

/// `parseResourceMetadata` and `GetMetricSpecForScaling` in `cpu_memory_scaler.go`.
fn resource(metadata: &TriggerMetadata<'_>) -> Result<MetricSpec, Refused> {
    let Trigger {
        type_, metric_type, ..
    } = metadata.trigger;
    if metadata.get("type").is_some() {
        let error = metadata.refused("type", "KEDA no longer reads it");
        return Err(error.hint(format!("use {}", metadata.path("metricType"))));
    }
    let text = metadata.need("value")?;
    let target = match &**metric_type {
        "Utilization" => {
            let percent: i32 = text.parse().map_err(|_| {
                metadata.refused("value", format!("{text:?} is not a whole percentage"))
            })?;
            // KEDA accepts it, but the API server rejects the HPA that KEDA creates from it.
            if percent <= 0 {
                return metadata.reject("value", format!("{percent} is not greater than 0"));
            }
            MetricTarget {
                type_: "Utilization".to_owned(),
                average_utilization: Some(percent),
                ..MetricTarget::default()
            }
        }
        "AverageValue" => {
            let value = Quantity::parse(text)
                .map_err(|e| metadata.refused("value", format!("{text:?}: {e}")))?;
            target("AverageValue", value)
        }
        other => {
            let message = match other {
                "" => "required".to_owned(),
                other => format!("{other:?} is not possible for {type_}"),
            };
            let error = Refused::new(metadata.path("metricType"), message);
            return Err(error.hint("use Utilization or AverageValue"));
        }
    };
    let whole = MetricSpec {
        type_: "Resource".to_owned(),
        resource: Some(ResourceMetricSource {
            name: type_.clone(),
            target,
        }),
        ..MetricSpec::default()
    };
    Ok(whole.part(metadata.get("containerName")))
}
