//! The HPAs that KEDA creates from the ScaledObjects of an input, which then count as if the input had them.

use super::assemble::is_meant;
use super::manifest::{self, refused};
use super::objects::{Objects, Undecoded, UndecodedHpa};
use crate::apimachinery::metadata::Metadata;
use crate::apiserver::convert;
use crate::args::Validate;
use crate::error::Error;
use crate::keda::{self, KedaHpa, OpenMetric};
use crate::snapshot::hpa::Hpa;
use crate::snapshot::input::Options;
use crate::snapshot::note::Note;
use crate::snapshot::surroundings::ScaledObject;

/// Adds the HPAs that KEDA creates from ScaledObjects: if `options` select no HPA of the objects, those of the
/// ScaledObjects that they select; and if the input is manifests, also the others, which may scale the same target.
/// Returns notes on the selected ones. `options` select the same HPA afterwards.
///
/// # Errors
///
/// The API server or KEDA would reject the selected ScaledObject, or only KEDA knows one of its metrics.
pub fn add_hpas_of_keda(objects: &mut Objects, options: &mut Options) -> Result<Vec<Note>, Error> {
    let mut notes = Vec::new();
    let of_hpas = objects.hpas.iter().filter(|hpa| is_meant(hpa, options));
    let meant: Vec<&UndecodedHpa> = of_hpas.collect();
    let has_hpa = !meant.is_empty();
    let only = match meant[..] {
        [only] => Some(only.name.clone()),
        _ => None,
    };
    let mut made: Vec<UndecodedHpa> = Vec::new();
    let scaled_objects = objects
        .scaled_objects
        .iter()
        .zip(&objects.undecoded_scaled_objects);
    for (object, whole) in scaled_objects {
        let (name, target) = keda::identity(whole.json.expose());
        let Metadata {
            namespace: stated,
            uid,
            ..
        } = &object.metadata;
        let is_named = [&*name, &*object.metadata.name].contains(&&*options.name);
        let fits = match &options.target {
            Some(wanted) => target.is_some_and(|own| own.is(wanted)),
            None => options.name.is_empty() || is_named,
        };
        let is_here =
            options.namespace.is_none() || stated.is_none() || options.namespace == *stated;
        let is_meant = fits && is_here && !has_hpa;
        let has_own = objects
            .hpas
            .iter()
            .any(|hpa| hpa.name == name && hpa.namespace == *stated);
        if !is_meant && (!uid.is_empty() || has_own) {
            continue;
        }
        // An API server drops the fields that it does not know; only the manifest that is meant is checked for them.
        let validate = if uid.is_empty() && is_meant {
            options.validate
        } else {
            Validate::Warn
        };
        let namespace = options.default_namespace();
        let (hpa, of_keda) =
            match hpa_of_keda(objects, (object, whole), namespace, validate, is_meant) {
                // A note names the ScaledObject if its target is the same.
                Err(_) if !is_meant => continue,
                made => made?,
            };
        if is_meant {
            notes.extend(Note::of_manifest(&whole.origin, of_keda));
        }
        if is_meant && is_named {
            options.name.clone_from(&hpa.name);
        }
        made.push(hpa);
    }
    if let Some(only) = only
        && !made.is_empty()
        && options.name.is_empty()
    {
        options.name = only;
    }
    objects.hpas.extend(made);
    Ok(notes)
}

/// Returns the HPA that KEDA creates from a ScaledObject of the input, with notes on it.
fn hpa_of_keda(
    objects: &Objects,
    (object, whole): (&ScaledObject, &Undecoded),
    default_namespace: &str,
    validate: Validate,
    is_meant: bool,
) -> Result<(UndecodedHpa, Vec<Note>), Error> {
    let origin = &whole.origin;
    let made = manifest::hpa_of_keda(whole, Some(default_namespace), validate)?;
    let KedaHpa {
        name,
        namespace,
        mut spec,
        open,
        env_container,
        mut notes,
        ..
    } = made;
    let own = namespace.as_deref().unwrap_or(default_namespace);
    match OpenMetric::fill(&open, &mut spec, None, own) {
        Ok(of_metrics) => notes.extend(of_metrics),
        Err(e) if is_meant => return Err(refused(e, origin)),
        // Only the selection of another HPA matters.
        Err(_) => {}
    }
    let scaled = &spec.scale_target_ref;
    let mut workloads = objects.workloads.iter();
    let target = workloads.find(|own| {
        own.is_named_by(scaled) && (namespace.is_none() || own.metadata.namespace == namespace)
    });
    let template = target.and_then(|own| own.template.as_deref());
    keda::check_env_container(env_container.as_deref(), template)
        .map_err(|e| refused(e, origin))?;
    let in_namespace = namespace.clone().unwrap_or_default();
    let hpa = Hpa {
        name: name.clone(),
        namespace: in_namespace,
        owner: Some(keda::owner_reference(&object.metadata)),
        spec,
        ..Hpa::default()
    };
    let mut json =
        serde_json::to_value(convert::to_json(&hpa)).map_err(|e| Error::failed(e.to_string()))?;
    json["apiVersion"] = "autoscaling/v2".into();
    json["kind"] = "HorizontalPodAutoscaler".into();
    let (origin, line, json) = (origin.clone(), whole.line, json.to_string());
    Ok((
        UndecodedHpa {
            origin,
            line,
            name,
            namespace,
            labels: Some(hpa.labels),
            json,
        },
        notes,
    ))
}
