//! Several HPAs from the same saved objects: each gets what it would get alone, and a failure for
//! one does not affect the others.

use jiff::Timestamp;
use serde::Deserialize;

use super::{empty, once, without_pods};
use crate::args::Named;
use crate::error::Error;
use crate::saved::objects::{ControllerState, Objects, UndecodedHpa};
use crate::snapshot::Listed;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::memory::Memory;
use crate::snapshot::pod::Meta;
use crate::snapshot::selection::Selection;
use crate::snapshot::settings::controller_settings;

/// Returns everything for the passes of the selected HPAs of one or all namespaces, ordered by namespace
/// and name, followed by an error for each name that matches none of them. `clock` is as for
/// [`super::assemble`].
///
/// # Errors
///
/// The objects or the options are unusable for all of them.
pub fn assemble_all(
    objects: &Objects,
    options: &Options,
    namespace: Option<&str>,
    selection: &Selection,
    clock: Timestamp,
) -> Result<Vec<Listed<Input>>, Error> {
    if objects.hpas.is_empty() {
        return Err(empty(objects));
    }
    let state = objects.state.as_ref();
    let control_plane = &objects.control_plane;
    controller_settings(
        state.map(ControllerState::settings),
        options,
        control_plane,
        &mut Vec::new(),
        &mut Vec::new(),
    )?;
    let default_namespace = options.default_namespace();
    let in_namespace = |stated: Option<&str>| {
        namespace.is_none_or(|wanted| stated.unwrap_or(default_namespace) == wanted)
    };
    let wanted = |object: &&UndecodedHpa| {
        in_namespace(object.namespace.as_deref())
            && selection.wants(labels(&object.json).as_ref(), |named| object.is(named))
    };
    let mut found: Vec<(&str, &UndecodedHpa)> = objects
        .hpas
        .iter()
        .filter(wanted)
        .map(|object| (object.namespace.as_deref().unwrap_or(default_namespace), object))
        .collect();
    found.sort_by_key(|(namespace, object)| (*namespace, &*object.name));
    let keys: Vec<String> =
        found.iter().map(|(namespace, object)| format!("{namespace}/{}", object.name)).collect();
    once("HorizontalPodAutoscaler", keys.iter().map(String::as_str))?;
    if found.len() > 1 && state.is_some_and(|state| state.lists() != Memory::default()) {
        return Err(Error::usage(format!(
            "the ControllerState has the history of one HPA, but the input has {} HPAs",
            found.len()
        ))
        .hint("name the HPA that it belongs to"));
    }
    let listed = found.iter().map(|&(namespace, object)| {
        let result = input(objects, object, options, clock);
        let snapshot = result.as_ref().ok().map(|input| &input.snapshot);
        Listed {
            namespace: namespace.to_owned(),
            name: object.name.clone(),
            reference: snapshot.map_or_else(String::new, |it| it.hpa.reference()),
            result,
        }
    });
    let missing = selection.missing(|named| found.iter().any(|(_, object)| object.is(named)));
    let (first, last) = (found.first(), found.last());
    let only = first.filter(|(first, _)| last.is_some_and(|(last, _)| first == last));
    let namespace = namespace.or(only.map(|(namespace, _)| *namespace));
    let missing = missing.map(|named| {
        let message = match named {
            Named::Hpa(_) => "not in the input",
            Named::Target(_) => "no HorizontalPodAutoscaler in the input has this target",
        };
        let namespace = namespace.unwrap_or_default().to_owned();
        Listed::missing(namespace, named, Error::usage(message))
    });
    Ok(listed.chain(missing).collect())
}

/// Returns the labels of an HPA; `None` if they are malformed.
fn labels(json: &str) -> Option<crate::apimachinery::selector::Labels> {
    #[derive(Deserialize)]
    struct Object {
        metadata: Meta<'static>,
    }
    serde_json::from_str::<Object>(json).ok().map(|object| object.metadata.labels.into_owned())
}

/// Returns everything for one of them, with copies of only those pods that its target selects.
fn input(
    objects: &Objects,
    object: &UndecodedHpa,
    options: &Options,
    clock: Timestamp,
) -> Result<Input, Error> {
    let (mut input, selected) = without_pods(objects, object, options, clock)?;
    let snapshot = &mut input.snapshot;
    let saved = objects.state.as_ref().and_then(|state| state.pod_metrics(&snapshot.hpa.key()));
    snapshot.pod_metrics = match saved {
        Some(saved) => saved.to_vec(),
        None => {
            let metrics = objects.pod_metrics.iter().zip(selected);
            metrics.filter(|(_, selected)| *selected).map(|(item, _)| item.clone()).collect()
        }
    };
    if let Ok(scale) = &snapshot.scale {
        let default_namespace = options.default_namespace();
        let own = objects.pods.iter().filter(|pod| {
            pod.namespace.as_deref().unwrap_or(default_namespace) == snapshot.hpa.namespace
                && scale.selector.matches(&pod.labels)
        });
        snapshot.pods = own.cloned().collect();
    }
    input.remark();
    input.doubt_clock();
    Ok(input)
}
