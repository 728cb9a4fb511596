//! HPAs of an input as an API server admits them: with defaults and notes, or with the reason for rejection.

use super::index::Index;
use crate::apiserver::admit;
use crate::apiserver::admit::AdmissionError;
use crate::apiserver::convert::{hpa_from_json, hpa_with_unknown_fields};
use crate::apiserver::default::AdmissionRules;
use crate::apiserver::validate::Invalid;
use crate::error::Error;
use crate::saved::manifest;
use crate::saved::objects::UndecodedHpa;
use crate::snapshot::controller::Controller;
use crate::snapshot::hpa::{
    CrossVersionObjectReference, Hpa, HpaSpec, METRIC_SOURCE_TYPES, MetricSource, MetricSpec,
};
use crate::snapshot::input::Options;
use crate::snapshot::neighbour::{OtherHpa, UnknownSelector, WhyUnknownSelector};
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::right::UnknownFactCause;
use crate::snapshot::shared::Shared;
use crate::snapshot::{Scale, ScaleError, ScaleSelector};
use crate::version::Version;

/// An HPA of the input.
pub(super) struct InputHpa<'o> {
    pub(super) object: &'o UndecodedHpa,
    /// The HPA as the controller would see it, with notes about what was ignored while reading it.
    pub(super) admitted: Result<(Hpa, Vec<Note>), Error>,
    /// The result of the controller's request for the target's scale, if it can be read. An outer `Err` means
    /// unusable input.
    pub(super) scale: Result<Result<Scale, ScaleError>, Error>,
}

impl<'o> InputHpa<'o> {
    pub(super) fn new(object: &'o UndecodedHpa, index: &Index<'o>) -> Self {
        let mut notes = Vec::new();
        let namespace = index.options.default_namespace();
        let admitted = admitted(object, namespace, &index.settings.controller, &mut notes);
        let scale = admitted
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|hpa| index.target.scale(hpa, &index.requests));
        Self {
            object,
            admitted: admitted.map(|hpa| (hpa, notes)),
            scale,
        }
    }

    /// Returns the target of an HPA that can be read.
    pub(super) fn target(&self) -> Option<&CrossVersionObjectReference> {
        let (hpa, _) = self.admitted.as_ref().ok()?;
        Some(&hpa.spec.scale_target_ref)
    }

    /// Returns the selector of its target's pods, if it is known.
    pub(super) fn selector(&self) -> Option<&ScaleSelector> {
        ScaleSelector::of(self.scale.as_ref().ok()?).ok()
    }

    /// Returns the HPA as a neighbour of others.
    ///
    /// # Errors
    ///
    /// Its selector is unknown.
    pub(super) fn as_other(&self, namespace: &str) -> Result<Shared<OtherHpa>, UnknownSelector> {
        let key = format!("{namespace}/{}", self.object.name);
        let (hpa, _) = self.admitted.as_ref().map_err(|e| {
            let why = WhyUnknownSelector::HpaUnreadable(e.message.clone());
            UnknownSelector::new(key.clone(), None, why)
        })?;
        let target = || hpa.spec.scale_target_ref.to_string();
        let why = match &self.scale {
            Ok(Ok(scale)) => return OtherHpa::of(hpa.clone(), scale.clone()),
            Ok(Err(ScaleError::NoReplicas { selector, .. })) => {
                // Whatever the replicas are, the HPA's own passes bring them inside its bounds, and read the selector.
                let scale = Scale::new(hpa.spec.min(), selector.as_str());
                return OtherHpa::of(hpa.clone(), scale);
            }
            Ok(Err(ScaleError::Missing(target))) => {
                WhyUnknownSelector::NoTarget(target.to_string())
            }
            Ok(Err(ScaleError::Mapping(_) | ScaleError::Get(_))) => {
                WhyUnknownSelector::TargetGone { target: target() }
            }
            Err(e) => WhyUnknownSelector::TargetUnreadable {
                target: target(),
                why: UnknownFactCause::Failed(e.message.clone()),
            },
        };
        Err(UnknownSelector::new(key, Some(hpa), why))
    }
}

/// Returns the unknown fields of the manifest of an HPA, in words.
fn unknown_in(json: &str) -> Vec<String> {
    let read = hpa_with_unknown_fields(json);
    read.map_or_else(|_| Vec::new(), |(_, unknown)| unknown.messages())
}

/// Returns the end of the hint for a rejected spec: the minimum, which the API server does not name, if the maximum is
/// below it, and the gate that allows a minimum of 0: the API server's may be on where the controller's is off.
fn bounds(spec: &HpaSpec, invalid: &Invalid) -> String {
    let min = spec.min_replicas.filter(|min| spec.max_replicas < *min);
    let bound = min.map_or_else(String::new, |min| format!("; minReplicas is {min}"));
    let mut causes = invalid.causes.iter();
    let gate = match spec.min_replicas {
        Some(0) if causes.all(|it| it.field == "spec.minReplicas") => {
            "; if its feature gate HPAScaleToZero is on, use --feature-gates HPAScaleToZero=true"
        }
        _ => "",
    };
    bound + gate
}

/// Returns the hint for a manifest or a change that the API server rejects. The missing value may have been
/// stated in a field that the API server does not know, such as one of an older version.
pub(crate) fn rejected(
    what: &str,
    unknown: &[String],
    spec: &HpaSpec,
    invalid: &Invalid,
) -> String {
    let bounds = bounds(spec, invalid);
    let rejects = format!("the API server would reject this {what} with these causes");
    match unknown {
        [] => format!("{rejects}{bounds}"),
        unknown => format!(
            "{rejects}, and ignores what it does not know: {}{bounds}",
            unknown.join("; ")
        ),
    }
}

/// Checks the manifest of an HPA as kubectl does, and returns the notes about it; `None` for an HPA that an
/// API server has accepted.
pub(super) fn check_hpa(
    object: &UndecodedHpa,
    rules: &Version,
    options: &Options,
) -> Result<Option<Vec<Note>>, Error> {
    // An HPA that cannot be decoded is a separate error.
    let is_admitted = hpa_from_json(&object.json).map_or(true, |hpa| hpa.is_admitted());
    if is_admitted {
        return Ok(None);
    }
    let hpa = manifest::read_hpa(object, options.validate)?;
    let not_served = manifest::check_version(&hpa, &object.origin, rules, options.validate)?;
    let is_ignored = |note: &Note| matches!(note.subject, Subject::FieldIgnored { .. });
    let ignored = hpa.notes.into_iter().filter(is_ignored);
    Ok(Some(ignored.chain(not_served).collect()))
}

/// Returns the HPA as the controller would see it, after the API server.
fn admitted(
    object: &UndecodedHpa,
    namespace: &str,
    controller: &Controller,
    notes: &mut Vec<Note>,
) -> Result<Hpa, Error> {
    let rules = AdmissionRules::new(&controller.version, controller.gates);
    let admitted = admit::admit(&object.json, namespace, rules).map_err(|e| match e {
        AdmissionError::Invalid(e) => {
            let spec = hpa_from_json(&object.json)
                .map(|hpa| hpa.spec)
                .unwrap_or_default();
            let hint = rejected("manifest", &unknown_in(&object.json), &spec, &e);
            Error::usage(format!("{}: {e}", object.origin)).hint(hint)
        }
        AdmissionError::Decode(e) => Error::usage(format!(
            "{}: HorizontalPodAutoscaler {}: {e}",
            object.origin, object.name
        )),
    })?;
    notes.extend(admitted.notes.iter().cloned());
    let hpa = admitted.into_hpa();
    for (index, metric) in hpa.spec.metrics.iter().enumerate() {
        if lacks_source(metric, &controller.version) {
            return Err(Error::usage(format!(
                "{}: HorizontalPodAutoscaler {}: spec.metrics[{index}]: no source for the type {}",
                object.origin, hpa.name, metric.type_
            ))
            .hint(format!(
                "the controller of {} would crash on it",
                controller.version
            )));
        }
    }
    Ok(hpa)
}

/// Whether a metric of a known type lacks its source, or, for an old controller, its target: the controller
/// would crash.
fn lacks_source(metric: &MetricSpec, version: &Version) -> bool {
    match metric.source() {
        MetricSource::Unknown => METRIC_SOURCE_TYPES.contains(&&*metric.type_),
        MetricSource::Pods(source) => source.target.average_value.is_none(),
        // Before 1.27 only the target's type decides which field is used.
        MetricSource::Object(source) if version.minor() < 27 => {
            match source.target.type_.as_str() {
                "Value" => source.target.value.is_none(),
                "AverageValue" => source.target.average_value.is_none(),
                _ => false,
            }
        }
        _ => false,
    }
}
