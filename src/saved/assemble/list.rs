//! Several HPAs from the same saved objects: each gets the same as it would alone, and a failure for one
//! does not affect the others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;

use jiff::Timestamp;

use super::choose::{empty, not_own, own_and_neighbours};
use super::{Index, Place, Portion};
use crate::apimachinery::selector::Selectors;
use crate::args::Named;
use crate::error::{Error, listed};
use crate::saved::objects::{Objects, UndecodedHpa};
use crate::saved::state::ControllerState;
use crate::snapshot::input::{Input, Options};
use crate::snapshot::pod::Pod;
use crate::snapshot::selection::Selection;
use crate::snapshot::{Listed, ScaleSelector, named};

/// Passes everything for the passes of the selected HPAs of one or all namespaces to `take`, ordered by
/// namespace and name, followed by an error for each name that matches none of them, until it accepts no
/// more. `clock` is as for [`super::assemble`]. Returns how many selected HPAs are neighbours in a saved state, which
/// it does not pass.
///
/// # Errors
///
/// The objects or the options are unusable for all of them, or `take` fails.
pub fn assemble_all(
    objects: &Objects,
    options: &Options,
    namespace: Option<&str>,
    selection: &Selection,
    clock: Timestamp,
    mut take: impl FnMut(Listed<Input>) -> Result<ControlFlow<()>, Error>,
) -> Result<usize, Error> {
    if objects.hpas.is_empty() {
        return Err(empty(objects, options));
    }
    let index = Index::new(objects, options, clock)?;
    let default_namespace = options.default_namespace();
    let is_wanted = |object: &&UndecodedHpa| {
        namespace.is_none_or(|wanted| object.namespace_in(default_namespace) == wanted)
            && selection.wants(object.labels.as_ref(), |named| object.is(named))
    };
    let [own, neighbours] = own_and_neighbours(objects, default_namespace);
    let left_out = neighbours.into_iter().filter(is_wanted).count();
    let mut found: Vec<(&str, &UndecodedHpa)> = own
        .into_iter()
        .filter(is_wanted)
        .map(|object| (object.namespace_in(default_namespace), object))
        .collect();
    found.sort_by(|(a, one), (b, other)| (a, &one.name).cmp(&(b, &other.name)));
    each_once(&found)?;
    let state = objects.state.as_ref();
    if found.len() > 1 && state.is_some_and(ControllerState::has_history) {
        return Err(Error::usage(format!(
            "the ControllerState has the history of one HPA, but the input has {} HPAs",
            found.len()
        ))
        .hint("name the HPA that it belongs to"));
    }
    for found in found.chunk_by(|(one, _), (other, _)| one == other) {
        let namespace = found[0].0;
        let place = Place::new(&index, namespace);
        let portions = portions(&place);
        let places: HashMap<_, usize> = place
            .hpas
            .iter()
            .enumerate()
            .map(|(own, hpa)| (std::ptr::from_ref(hpa.object), own))
            .collect();
        for (_, object) in found {
            let own = places[&std::ptr::from_ref(*object)];
            let result = place.input(own, &portions[own]);
            let snapshot = result.as_ref().ok().map(|input| &input.snapshot);
            let taken = take(Listed {
                namespace: namespace.to_owned(),
                name: object.name.clone(),
                reference: snapshot.map_or_else(String::new, |it| it.hpa.reference()),
                result,
            })?;
            if taken.is_break() {
                return Ok(left_out);
            }
        }
    }
    for listed in missing(objects, options, namespace, selection, &found) {
        if take(listed)?.is_break() {
            break;
        }
    }
    Ok(left_out)
}

/// Returns an error for each name of a selection that matches none of the HPAs that were found, sorted by namespace.
fn missing<'s>(
    objects: &'s Objects,
    options: &'s Options,
    namespace: Option<&'s str>,
    selection: &'s Selection,
    found: &'s [(&str, &UndecodedHpa)],
) -> impl Iterator<Item = Listed<Input>> {
    let (first, last) = (found.first(), found.last());
    let only = first.filter(|(first, _)| last.is_some_and(|(last, _)| first == last));
    let searched = namespace.or(only.map(|(namespace, _)| *namespace));
    let names = selection.missing(move |named| found.iter().any(|(_, object)| object.is(named)));
    names.map(move |named| {
        let neighbour = objects.hpas.iter().find(|object| {
            let own = object.namespace_in(options.default_namespace());
            namespace.is_none_or(|wanted| own == wanted) && object.is(named)
        });
        let why = match (neighbour, named) {
            (Some(neighbour), _) => not_own(objects, neighbour, options),
            (None, Named::Hpa(_)) => Error::usage("not in the input"),
            (None, Named::Target(_)) => {
                Error::usage("no HorizontalPodAutoscaler in the input has this target")
            }
        };
        Listed::missing(searched.unwrap_or_default().to_owned(), named, why)
    })
}

/// Checks that no two HPAs, sorted by namespace and name, have the same namespace and name.
fn each_once(sorted: &[(&str, &UndecodedHpa)]) -> Result<(), Error> {
    let groups = sorted.chunk_by(|(a, one), (b, other)| (a, &one.name) == (b, &other.name));
    let mut repeated = Vec::new();
    for same in groups.filter(|group| group.len() > 1) {
        let places = same
            .iter()
            .map(|(_, object)| format!("{}:{}", object.origin, object.line));
        let (namespace, first) = same[0];
        repeated.push(format!(
            "{namespace}/{} ({})",
            named(&first.name),
            listed(&places.collect::<Vec<_>>())
        ));
    }
    if repeated.is_empty() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the input repeats a HorizontalPodAutoscaler: {}",
        listed(&repeated)
    ))
    .hint("keep one of each"))
}

/// Returns the part of a namespace for each of its HPAs: what their selectors match, and the pods that their targets
/// own. Usage and values are those of the pods that match.
fn portions<'o>(place: &Place<'_, 'o>) -> Vec<Portion<'o>> {
    let mut all = Vec::new();
    let (mut hpas, mut selectors) = (Vec::new(), Vec::new());
    for (own, hpa) in place.hpas.iter().enumerate() {
        let target = hpa.target().into_iter();
        all.push(Portion {
            sharing: target.flat_map(|target| place.scaling(target)).collect(),
            ..Portion::default()
        });
        if let Some(Ok(selector)) = hpa.selector().map(ScaleSelector::parsed) {
            hpas.push(own);
            selectors.push(selector.clone());
        }
    }
    let selectors = Selectors::new(selectors);
    let matching =
        |labels| BTreeSet::from_iter(selectors.matching(labels).map(|place| hpas[place]));
    // Most pods are matched together with others, and by possibly many HPAs.
    let mut known = HashSet::new();
    for pod in place.pods {
        let matching = matching(&pod.labels);
        let mut unmatched = owning(place, pod);
        unmatched.retain(|own| !matching.contains(own));
        for own in matching.iter().copied().chain(unmatched) {
            all[own].pods.push(pod);
        }
        if !known.contains(&matching) {
            for own in &matching {
                all[*own].sharing.extend(&matching);
            }
            known.insert(matching);
        }
    }
    for item in place.pod_metrics {
        for own in place.labels(item).map(matching).into_iter().flatten() {
            all[own].usage.push(item);
        }
    }
    for value in &place.metric_values {
        let labels = place.labels_of_pod(value);
        for own in labels.map(matching).into_iter().flatten() {
            all[own].values.push(value);
        }
    }
    all
}

/// Returns the places of the HPAs that scale the closest owner of a pod that has any. As for findings, the name of a
/// ReplicaSet that was not read reveals its owner.
pub(super) fn owning(place: &Place<'_, '_>, pod: &Pod) -> Vec<usize> {
    let mut next = pod.owner.as_deref();
    // Owners that own each other would be followed forever.
    for _ in 0..8 {
        let Some(owner) = next else { break };
        let scaling = scaling_one_of(place, &[&owner.kind], &owner.name);
        if !scaling.is_empty() {
            return scaling;
        }
        let Some(workload) = place.surroundings.owner(owner) else {
            let maker = pod.maker(owner).unwrap_or_default();
            return scaling_one_of(place, &["Deployment", "Rollout"], maker);
        };
        next = workload.metadata.controller();
    }
    Vec::new()
}

/// Returns the places of the HPAs whose targets are of one of these kinds and have this name.
fn scaling_one_of(place: &Place<'_, '_>, kinds: &[&str], name: &str) -> Vec<usize> {
    let is_one = |own: &usize| {
        let target = place.hpas[*own].target();
        target.is_some_and(|target| kinds.iter().any(|kind| target.is_kind(kind)))
    };
    let places = place.by_target.get(name).into_iter().flatten();
    places.copied().filter(is_one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::build;
    use crate::saved::file::read_text;

    /// Alone, an HPA has all pods. In a list, it has those that its target owns, whatever the selector matches.
    #[test]
    fn an_hpa_has_the_pods_that_its_target_owns() {
        for (kind, owner, want) in [
            ("Deployment", "web", 1),
            ("ReplicaSet", "web-5d", 1),
            ("ReplicaSet", "api-5d", 0),
            ("StatefulSet", "web", 0),
        ] {
            let owner = build::owned_by("apps/v1", kind, owner);
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
                "name": "web-0", "namespace": "default", "ownerReferences": owner,
                "labels": {"tier": "front", "pod-template-hash": "5d"}}});
            let hpa = build::hpa(&json!({"maxReplicas": 20}));
            let items = [hpa, build::scale(1), build::state(&json!({})), pod];
            let mut objects = Objects::default();
            read_text(&build::list(items), "state", &mut objects).unwrap();
            let mut found = Vec::new();
            let take = |listed: Listed<Input>| {
                found.push(listed.result?.snapshot.pods.len());
                Ok(ControlFlow::Continue(()))
            };
            let (options, all) = (Options::default(), Selection::default());
            assemble_all(&objects, &options, None, &all, Timestamp::UNIX_EPOCH, take).unwrap();
            assert_eq!(found, [want], "{kind}");
        }
    }
}
