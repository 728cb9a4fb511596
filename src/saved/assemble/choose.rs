//! The HPAs of an input that are meant, and the errors if no HPA or several may be meant.

use super::super::manifest;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names;
use crate::args::{Target, Validate};
use crate::error::{Error, listed};
use crate::saved::objects::{Objects, Undecoded, UndecodedHpa};
use crate::saved::state::ControllerState;
use crate::snapshot::input::Options;
use crate::snapshot::named;
use crate::snapshot::surroundings::{ScaledObject, Workload, paused};

/// Returns how many HPAs the options select; a pass needs exactly one.
pub fn count(objects: &Objects, options: &Options) -> usize {
    meant(objects, options).count()
}

/// Returns the HPAs that the options select.
fn meant<'o>(objects: &'o Objects, options: &'o Options) -> impl Iterator<Item = &'o UndecodedHpa> {
    let [own, _] = own_and_neighbours(objects, options.default_namespace());
    own.into_iter().filter(|hpa| is_meant(hpa, options))
}

/// Returns the HPAs that the input is about, and the neighbours that a saved state also has. They may share their pods;
/// it lacks the answers to them.
pub(crate) fn own_and_neighbours<'o>(
    objects: &'o Objects,
    default_namespace: &str,
) -> [Vec<&'o UndecodedHpa>; 2] {
    let owners = objects.state.as_ref().and_then(ControllerState::owners);
    let is_own = |hpa: &&UndecodedHpa| {
        let owners = owners.as_ref();
        owners.is_none_or(|keys| keys.contains(&*hpa.key_in(default_namespace)))
    };
    objects.hpas.iter().partition::<Vec<_>, _>(is_own).into()
}

/// Returns the error if a neighbour is to be explained.
pub(super) fn not_own(objects: &Objects, hpa: &UndecodedHpa, options: &Options) -> Error {
    let owners = objects.state.as_ref().and_then(ControllerState::owners);
    let owners: Vec<String> = owners.into_iter().flatten().map(str::to_owned).collect();
    let key = hpa.key_in(options.default_namespace());
    Error::usage(format!(
        "the ControllerState belongs to {}, not to {key}",
        listed(&owners)
    ))
    .hint(format!("leave it out, or save one of {key}"))
}

/// Whether the options select an HPA.
pub(crate) fn is_meant(hpa: &UndecodedHpa, options: &Options) -> bool {
    hpa.is_meant(options)
        && match (&options.namespace, &hpa.namespace) {
            (Some(wanted), Some(stated)) => wanted == stated,
            _ => true,
        }
}

/// Returns the one HPA that the options select.
pub(super) fn find<'o>(
    objects: &'o Objects,
    options: &'o Options,
) -> Result<&'o UndecodedHpa, Error> {
    let found: Vec<&UndecodedHpa> = meant(objects, options).collect();
    match found[..] {
        [hpa] => Ok(hpa),
        [] => Err(none(objects, options)),
        [first, .., last] => Err(several(&found, options, first.key() == last.key())),
    }
}

/// Returns the error if the options select none of the HPAs.
fn none(objects: &Objects, options: &Options) -> Error {
    let Options {
        name,
        namespace,
        target,
        ..
    } = options;
    let hpas = &objects.hpas;
    if let Some(neighbour) = hpas.iter().find(|hpa| is_meant(hpa, options)) {
        return not_own(objects, neighbour, options);
    }
    let place = match namespace {
        Some(namespace) => format!("in the namespace {namespace} of the input"),
        None => "in the input".to_owned(),
    };
    let error = match (target, namespace) {
        (Some(target), _) => format!("no HorizontalPodAutoscaler for {target} {place}"),
        (None, _) if name.is_empty() && hpas.is_empty() => return empty(objects, options),
        (None, _) if name.is_empty() => format!("no HorizontalPodAutoscaler {place}"),
        (None, Some(namespace)) => {
            format!("no HorizontalPodAutoscaler {namespace}/{name} in the input")
        }
        (None, None) => format!("no HorizontalPodAutoscaler {name} in the input"),
    };
    let here = |object: &&ScaledObject| may_be_in(namespace.as_deref(), &object.metadata);
    let called = target.as_ref().map_or(&**name, Target::name);
    if !called.is_empty()
        && let Some(hint) = paused(
            objects.scaled_objects.iter().filter(here),
            called,
            &options.command_flags,
        )
    {
        return Error::usage(error).hint(hint);
    }
    let mut called = scaled_objects(objects).filter(|(it, _)| here(it) && it.is_called(called));
    if let Some(own) = called.next() {
        return Error::usage(error).hint(of_scaled_object(objects, own, options));
    }
    let mut there: Vec<String> = hpas
        .iter()
        .map(|hpa| match hpa.target().filter(|_| target.is_some()) {
            Some(target) => format!("{} ({target})", hpa.key()),
            None => hpa.key(),
        })
        .collect();
    there.sort();
    Error::usage(error).hint(if there.is_empty() {
        objects.without_hpa()
    } else {
        objects.beside_skipped_directories(format!("it has {}", listed(&there)))
    })
}

/// Returns the error if there is no HPA at all.
pub(super) fn empty(objects: &Objects, options: &Options) -> Error {
    let why = |object: &ScaledObject| object.why_no_hpa(&options.command_flags);
    let paused = objects.scaled_objects.iter().find_map(why);
    let first = || scaled_objects(objects).next();
    let hint = paused.or_else(|| Some(of_scaled_object(objects, first()?, options)));
    Error::usage("the input has no HorizontalPodAutoscaler")
        .hint(hint.unwrap_or_else(|| objects.without_hpa()))
}

/// Whether an object may be in the requested namespace.
fn may_be_in(namespace: Option<&str>, metadata: &Metadata) -> bool {
    let stated = metadata.namespace.as_deref();
    namespace.is_none() || stated.is_none() || namespace == stated
}

/// Returns the answer for the HPA that KEDA creates from a ScaledObject, or the reason why it creates none.
fn of_scaled_object(
    objects: &Objects,
    (object, whole): (&ScaledObject, &Undecoded),
    options: &Options,
) -> String {
    let Metadata {
        name,
        namespace: stated,
        ..
    } = &object.metadata;
    let namespace = stated.as_deref().unwrap_or(options.default_namespace());
    let made = match manifest::hpa_of_keda(whole, Some(namespace), Validate::Warn) {
        Ok(made) => made,
        Err(e) => return format!("KEDA creates none from ScaledObject/{name}: {}", e.message),
    };
    let target = &made.spec.scale_target_ref;
    let states_replicas = |own: &Workload| own.is_named_by(target) && own.states_replicas();
    let replicas = if objects.workloads.iter().any(states_replicas) {
        ""
    } else {
        " --replicas 3"
    };
    let [own, namespace] = [name, namespace].map(names::shell_word);
    let command = format!("kubectl hpa predict {own} -n {namespace}");
    let command = options.command_flags.add_to(&command);
    format!(
        "KEDA creates it from ScaledObject/{name}: `{command}{replicas}` predicts it with assumed pods, and asks for the \
         values that it needs"
    )
}

/// The ScaledObjects of the input, with their documents.
fn scaled_objects(objects: &Objects) -> impl Iterator<Item = (&ScaledObject, &Undecoded)> {
    let whole = &objects.undecoded_scaled_objects;
    objects.scaled_objects.iter().zip(whole)
}

/// Returns the error for several HPAs, if it is unclear which one is meant.
fn several(found: &[&UndecodedHpa], options: &Options, is_repeated: bool) -> Error {
    let Options {
        name,
        namespace,
        target,
        ..
    } = options;
    let of = match target {
        Some(target) => format!(" for {target}"),
        None if name.is_empty() => String::new(),
        None => format!(" named {name}"),
    };
    let is_twice = is_repeated || (!name.is_empty() && namespace.is_some());
    let in_files = is_twice || !name.is_empty();
    let places: Vec<String> = found
        .iter()
        .map(|hpa| {
            if in_files {
                format!("{} ({}:{})", hpa.key(), hpa.origin, hpa.line)
            } else {
                hpa.key()
            }
        })
        .collect();
    Error::usage(format!(
        "{} HorizontalPodAutoscalers{of} in the input: {}",
        found.len(),
        listed(&places)
    ))
    .hint(match (is_twice, name.is_empty()) {
        (true, _) => "keep one of them",
        (false, true) => "name one of them",
        (false, false) => "name the namespace with -n",
    })
}

impl UndecodedHpa {
    /// Returns `namespace/name`, or the name alone if no namespace is stated.
    fn key(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", named(&self.name)),
            None => named(&self.name).to_owned(),
        }
    }

    /// Returns `namespace/name`, as in a state.
    fn key_in(&self, default_namespace: &str) -> String {
        format!("{}/{}", self.namespace_in(default_namespace), self.name)
    }

    /// Returns the namespace; this one if none is stated.
    pub(super) fn namespace_in<'o>(&'o self, default_namespace: &'o str) -> &'o str {
        self.namespace.as_deref().unwrap_or(default_namespace)
    }
}
