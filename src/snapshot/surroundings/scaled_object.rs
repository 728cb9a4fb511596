//! KEDA's ScaledObjects, from which it creates HPAs.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};

use crate::apimachinery::annotations::{KEDA_PAUSED, KEDA_PAUSED_REPLICAS};
use crate::apimachinery::go;
use crate::apimachinery::json::{Elements, Objects, optional_time};
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names;
use crate::snapshot::command_flags::CommandFlags;
use crate::snapshot::hpa::{CrossVersionObjectReference, Hpa, HpaSpec};

/// A ScaledObject of KEDA (`keda.sh/v1alpha1`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScaledObject {
    /// Identity, and the annotations that pause it.
    pub metadata: Metadata,
    /// The desired state.
    pub spec: ScaledObjectSpec,
    /// The state that KEDA reports.
    pub status: ScaledObjectStatus,
}

impl ScaledObject {
    /// Returns the annotations that pause the ScaledObject altogether. KEDA then deletes its HPA.
    pub fn pauses(&self) -> Vec<&'static str> {
        let stated = self.metadata.annotations.get(KEDA_PAUSED_REPLICAS);
        let replicas = stated.map(|_| KEDA_PAUSED_REPLICAS);
        let whole = self.is_set(KEDA_PAUSED).then_some(KEDA_PAUSED);
        replicas.into_iter().chain(whole).collect()
    }

    /// Whether an annotation is true. KEDA treats everything except a false value as true
    /// (`getBoolAnnotation`).
    pub fn is_set(&self, annotation: &str) -> bool {
        let value = self.metadata.annotations.get(annotation);
        value.is_some_and(|value| go::parse_bool(value) != Some(false))
    }

    /// Whether the ScaledObject scales a target.
    pub(crate) fn is_of(&self, target: &CrossVersionObjectReference) -> bool {
        let own = &self.spec.scale_target_ref;
        let kind = if own.kind.is_empty() {
            "Deployment"
        } else {
            &own.kind
        };
        own.name == target.name && kind.eq_ignore_ascii_case(&target.kind)
    }

    /// Returns the status of a condition, if it has been determined.
    pub fn condition(&self, type_: &str) -> Option<bool> {
        let condition = self.status.conditions.iter().find(|it| it.type_ == type_)?;
        match &*condition.status {
            "True" => Some(true),
            "False" => Some(false),
            _ => None,
        }
    }

    /// Returns the bound that the ScaledObject states for a field of the HPA, if the HPA has a different one.
    /// `None` while scaling is paused.
    pub(crate) fn withheld_bound(&self, field: &str, hpa: &HpaSpec) -> Option<i32> {
        let (stated, own) = match field {
            "maxReplicas" => (self.spec.max_replica_count?, hpa.max_replicas),
            _ => (self.spec.min_replica_count?.max(1), hpa.min()),
        };
        (stated != own && self.pauses().is_empty()).then_some(stated)
    }

    /// Returns the reason why the ScaledObject has no HPA, if it is paused.
    pub(crate) fn why_no_hpa(&self, flags: &CommandFlags) -> Option<String> {
        let pauses = self.pauses();
        if pauses.is_empty() {
            return None;
        }
        let Metadata {
            name,
            namespace,
            annotations,
            ..
        } = &self.metadata;
        let value = |it: &&str| format!("{it}={}", annotations.get(it).unwrap_or_default());
        let stated: Vec<String> = pauses.iter().map(value).collect();
        let (stated, noun) = (
            stated.join(" and "),
            if pauses.len() == 1 {
                "the annotation"
            } else {
                "the annotations"
            },
        );
        let removed: String = pauses.iter().map(|it| format!(" {it}-")).collect();
        let flag = match namespace {
            Some(namespace) => format!(" -n {}", names::shell_word(namespace)),
            None => String::new(),
        };
        let own = names::shell_word(name);
        let command = flags.add_to(&format!(
            "kubectl annotate scaledobject {own}{flag}{removed}"
        ));
        let away = format!(
            "paused-by-keda: ScaledObject/{name} has {noun} {stated}, so KEDA \
             has deleted the HPA; "
        );
        Some(if self.is_written_by_flagger() {
            away + "Flagger does so between releases, and runs another workload instead"
        } else {
            away + &format!("after `{command}`, KEDA creates it again")
        })
    }

    /// Whether Flagger writes this ScaledObject: it pauses the ScaledObject of a canary's target between
    /// releases.
    pub(crate) fn is_written_by_flagger(&self) -> bool {
        self.metadata
            .managed_fields
            .iter()
            .any(|it| it.manager.contains("flagger"))
    }

    /// Whether KEDA creates this HPA for the ScaledObject.
    pub(crate) fn creates(&self, hpa: &Hpa) -> bool {
        let name = &self.metadata.name;
        let owner = hpa.scaled_object();
        owner.is_some_and(|owner| owner.name == *name)
            || hpa.name == format!("keda-hpa-{name}")
            || hpa.name == self.status.hpa_name
            || Some(&hpa.name) == self.spec.hpa_name()
    }

    /// Whether a name is the ScaledObject's, its HPA's, or its target's.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let Metadata { name: own, .. } = &self.metadata;
        let given = format!("keda-hpa-{own}");
        [
            own,
            &given,
            &self.status.hpa_name,
            &self.spec.scale_target_ref.name,
        ]
        .into_iter()
        .chain(self.spec.hpa_name())
        .any(|known| *known == *name)
    }
}

/// Returns the reason why there is no HPA of a name, if one of these ScaledObjects owned it and is paused.
pub(crate) fn paused<'s>(
    objects: impl Iterator<Item = &'s ScaledObject>,
    name: &str,
    flags: &CommandFlags,
) -> Option<String> {
    objects
        .filter(|object| object.is_called(name))
        .find_map(|object| object.why_no_hpa(flags))
}

/// The spec of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaledObjectSpec {
    /// The object to scale; a Deployment if no kind is stated.
    pub scale_target_ref: CrossVersionObjectReference,
    /// The minimum replicas while a trigger is active; KEDA's HPA has 1 for 0.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub min_replica_count: Option<i32>,
    /// The maximum replicas.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub max_replica_count: Option<i32>,
    /// The replicas while no trigger is active, if they are fewer than the minimum.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub idle_replica_count: Option<i32>,
    /// The seconds after the last trigger was active until KEDA scales to the idle replicas, or to 0.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub cooldown_period: Option<i32>,
    /// The advanced settings, such as the name of KEDA's HPA.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub advanced: Option<Advanced>,
    /// The replicas that KEDA requests instead of the value of a trigger that fails.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "if_valid")]
    pub fallback: Option<Fallback>,
    /// The queries of the triggers of the type `prometheus`, by place. Nothing else of a trigger is read, and
    /// this is not saved.
    #[serde(
        rename = "triggers",
        skip_serializing,
        deserialize_with = "prometheus_queries"
    )]
    pub queries: BTreeMap<usize, String>,
}

/// `Advanced` of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Advanced {
    /// `HorizontalPodAutoscalerConfig`.
    pub horizontal_pod_autoscaler_config: HpaConfig,
}

/// The settings of the HPA that KEDA creates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HpaConfig {
    /// The name of the HPA, if stated.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl ScaledObjectSpec {
    /// Returns the name of the HPA, if stated.
    pub(crate) fn hpa_name(&self) -> Option<&String> {
        let advanced = self.advanced.as_ref()?;
        let name = &advanced.horizontal_pod_autoscaler_config.name;
        Some(name).filter(|name| !name.is_empty())
    }
}

/// `Fallback` of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Fallback {
    /// The number of failures of a trigger before the fallback.
    pub failure_threshold: i32,
    /// The replicas.
    pub replicas: i32,
    /// `currentReplicas` and others that depend on the current replicas; `static` if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub behavior: String,
}

impl Fallback {
    /// Whether the fallback does not depend on the current replicas.
    pub(crate) fn is_static(&self) -> bool {
        matches!(&*self.behavior, "" | "static")
    }
}

/// Reads a value that only explains something, if it is valid: an invalid value is reported when the manifest is
/// applied.
fn if_valid<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let elements = Elements::of_answer();
    Ok(Option::deserialize(Objects::new(value, &elements)).unwrap_or_default())
}

fn prometheus_queries<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<usize, String>, D::Error> {
    let stated = serde_json::Value::deserialize(deserializer)?;
    let triggers = stated.as_array().into_iter().flatten();
    Ok(triggers
        .enumerate()
        .filter(|(_, trigger)| trigger["type"] == "prometheus")
        .filter_map(|(place, trigger)| {
            Some((place, trigger["metadata"]["query"].as_str()?.to_owned()))
        })
        .collect())
}

/// The status of a [`ScaledObject`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaledObjectStatus {
    /// The name of the HPA.
    pub hpa_name: String,
    /// The time at which a trigger was last active.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "optional_time::deserialize"
    )]
    pub last_active_time: Option<Timestamp>,
    /// The conditions `Ready`, `Active`, `Fallback` and `Paused`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<KedaCondition>,
}

/// A condition of a [`ScaledObject`]. Its message is not read, because it may contain the address of a
/// trigger's source with credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KedaCondition {
    /// The type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}
