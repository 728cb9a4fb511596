//! The words that name HPAs, in kubectl's forms: NAME, TYPE NAME and TYPE/NAME; and NAMESPACE/NAME. Any
//! type other than the HPA's is the type of a target. Nothing is looked up here. Follows
//! `hasCombinedTypeArgs` and `splitResourceTypeName` of cli-runtime's `resource.Builder`.

use std::fmt;

use clap::error::ErrorKind;

use super::{ConnectionFlags, command_line};
use crate::apimachinery::names;
use crate::apimachinery::similar;
use crate::error::Error;

/// The types known without a dot, each with its short name.
const TYPES: [(&str, &str); 6] = [
    (HPA, "hpa"),
    ("deployment", "deploy"),
    ("statefulset", "sts"),
    ("replicaset", "rs"),
    ("replicationcontroller", "rc"),
    ("rollout", "ro"),
];

const HPA: &str = "horizontalpodautoscaler";

/// Types that cannot be targets, each with its short name.
const UNSCALED: [(&str, &str); 12] = [
    ("service", "svc"),
    ("ingress", "ing"),
    ("configmap", "cm"),
    ("secret", "secret"),
    ("job", "job"),
    ("cronjob", "cj"),
    ("daemonset", "ds"),
    ("node", "no"),
    ("namespace", "ns"),
    ("persistentvolumeclaim", "pvc"),
    ("serviceaccount", "sa"),
    ("scaledobject", "so"),
];

/// The requested HPAs, and their cluster and namespace.
#[derive(Debug, Clone, Default)]
pub struct NamedRequest {
    /// Each HPA or target once, as typed; empty if nothing is named.
    pub named: Vec<Named>,
    /// The connection flags, with the namespace of a NAMESPACE/NAME.
    pub connection: ConnectionFlags,
}

/// One or more HPAs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// The HPA of this name.
    Hpa(String),
    /// The HPAs of this target.
    Target(Target),
}

/// A target, by type and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    type_: Type,
    name: String,
}

/// A resource as kubectl accepts it: `deploy`, `deployments.apps`, `deployments.v1.apps`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Type {
    typed: String,
    /// The resource in lower case and without the group; known ones in the singular.
    resource: String,
    /// The part after the first dot: a group, or version and group.
    group: Option<String>,
}

/// Words after a number that were meant as a unit of a duration.
const UNITS: [&str; 9] = [
    "s", "sec", "seconds", "m", "min", "minutes", "h", "hour", "hours",
];

impl NamedRequest {
    /// Reads the words of the command line.
    ///
    /// # Errors
    ///
    /// The words are not of these forms, or name different namespaces.
    pub fn read(words: &[String], connection: &ConnectionFlags) -> Result<Self, Error> {
        let (type_, names) = match words {
            [first, names @ ..] if !names.is_empty() => match Type::known(first) {
                Some(type_) => (Some(type_), names),
                None => (None, words),
            },
            _ => (None, words),
        };
        let mut request = Self {
            named: Vec::new(),
            connection: connection.clone(),
        };
        // As in kubectl, an empty namespace counts as none.
        request.connection.namespace.take_if(|name| name.is_empty());
        let flag = request.connection.namespace.clone();
        let mut namespaces = Vec::new();
        for word in names {
            let (namespace, named) = read(type_.as_ref(), word)?;
            if let (Some(own), Some(flag)) = (namespace, &flag)
                && own != flag
            {
                let hint = format!(
                    "{own} is not a known type, so it is read as a namespace; types are hpa, deploy, sts, rs, rc, \
                     ro and RESOURCE.GROUP"
                );
                return Err(Error::usage(format!("{word} contradicts -n {flag}")).hint(hint));
            }
            namespaces.push(namespace.or(flag.as_deref()));
            if !request.named.contains(&named) {
                request.named.push(named);
            }
        }
        if namespaces.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Error::usage(format!(
                "the names are not in one namespace: {}",
                names.join(", ")
            ))
            .hint("explain one namespace at a time (-n), or all of them with -A"));
        }
        if let Some(Some(namespace)) = namespaces.first() {
            request.connection.namespace = Some((*namespace).to_owned());
        }
        if let Some(namespace) = &request.connection.namespace {
            check_namespace(namespace)?;
        }
        Ok(request)
    }

    /// Returns the request of a verb that works on one HPA; `None` if nothing is named.
    ///
    /// # Errors
    ///
    /// More than one HPA or target is named.
    pub fn one(&self, verb: &str) -> Result<Option<&Named>, Error> {
        match &self.named[..] {
            [] => Ok(None),
            [named] => Ok(Some(named)),
            several => {
                let names: Vec<String> = several.iter().map(ToString::to_string).collect();
                let is_unit = |name: &&String| UNITS.contains(&&***name);
                let unit = names.iter().find(is_unit);
                let is_type = |name: &&String| Type::known(name).is_some();
                let hint = match (unit, names.iter().find(is_type)) {
                    (Some(unit), _) => {
                        let (short, _) = unit.split_at(1);
                        Some(format!("a duration is one word, such as 5{short}"))
                    }
                    (None, Some(type_)) => Some(format!("a type comes first: {type_} NAME")),
                    (None, None) => names
                        .iter()
                        .find_map(|name| meant_as_value(verb, name))
                        .or_else(|| Some("explain lists several".to_owned())),
                };
                let error = format!(
                    "{verb} takes one HPA, not {}: {}",
                    several.len(),
                    names.join(", ")
                );
                Err(Error {
                    hint,
                    ..Error::usage(error)
                })
            }
        }
    }
}

/// Whether a word has a slash, but no type before it.
#[must_use]
pub fn states_no_type(word: &str) -> bool {
    let before = word.split_once('/').map(|(before, _)| before);
    before.is_some_and(|before| Type::known(before).is_none() && !before.contains('.'))
        || word.starts_with("./")
        || word.starts_with("../")
}

/// Returns the probable meaning of a word that is read as a namespace, before a slash, or as the first of
/// several names.
#[must_use]
pub fn meant_as_type(words: &[String]) -> Option<String> {
    let first = words.first().filter(|_| words.len() > 1);
    let mut slashed = words.iter().filter(|word| states_no_type(word));
    first
        .and_then(|word| unscaled(word, "name"))
        .or_else(|| slashed.find_map(|word| meant_before_slash(word)))
}

fn meant_before_slash(word: &str) -> Option<String> {
    let (before, name) = word.split_once('/')?;
    if let Some(hint) = unscaled(before, "namespace") {
        return Some(hint);
    }
    let types = TYPES.iter().flat_map(|(kind, short)| [*kind, *short]);
    // Two letters are similar to too many words.
    let meant = similar::nearest(before, types.filter(|type_| type_.len() > 2))?;
    Some(format!(
        "{before} is not a known type, so it is read as a namespace: did you mean {meant}/{name}?"
    ))
}

/// Says that a word is the type of something that cannot be a target; `read_as` is what the word is read
/// as.
fn unscaled(word: &str, read_as: &str) -> Option<String> {
    let lower = word.to_lowercase();
    if ["po", "pod", "pods"].contains(&&*lower) {
        let hint = "a pod has no HPA of its own: name the workload, such as deploy/NAME";
        return Some(hint.to_owned());
    }
    let (kind, _) = UNSCALED.iter().find(|own| is_typed(&lower, own))?;
    let named = if *kind == "scaledobject" {
        "name its HPA, keda-hpa-NAME unless it states another name"
    } else {
        "name the workload, such as deploy/NAME"
    };
    Some(format!(
        "{word} is not the type of a target, so it is read as a {read_as}: {named}"
    ))
}

/// Whether a word in lower case is a kind, its plural or its short name.
fn is_typed(word: &str, (kind, short): &(&str, &str)) -> bool {
    word == *kind || word == *short || word == names::plural(kind)
}

/// Says how to type a word that names an HPA, but was probably meant as the value of the flag before it: if
/// a flag's value is optional, it follows an equals sign.
fn meant_as_value(verb: &str, word: &str) -> Option<String> {
    let definition = command_line();
    let flags: Vec<&str> = definition
        .find_subcommand(verb)?
        .get_arguments()
        .filter(|flag| flag.is_require_equals_set())
        .filter_map(clap::Arg::get_long)
        .filter(|long| takes(verb, long, word))
        .collect();
    let flag = match flags[..] {
        [] => return None,
        [one] => one,
        _ => "FLAG",
    };
    Some(format!(
        "if {word} is the value of --{flag}, write --{flag}={word}"
    ))
}

/// Whether a flag of a verb takes a word as its value.
fn takes(verb: &str, flag: &str, word: &str) -> bool {
    let typed = ["kubectl-hpa", verb, "NAME", &format!("--{flag}={word}")];
    !command_line().try_get_matches_from(typed).is_err_and(|e| {
        matches!(
            e.kind(),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation
        )
    })
}

/// Returns the HPA or target that a word names, and the namespace that it states.
fn read<'w>(type_: Option<&Type>, word: &'w str) -> Result<(Option<&'w str>, Named), Error> {
    let Some((before, name)) = word.split_once('/') else {
        let name = checked(word)?;
        return Ok((
            None,
            type_.map_or(Named::Hpa(name.clone()), |it| it.clone().named(name)),
        ));
    };
    if type_.is_some() {
        return Err(Error::usage(
            "there is no need to specify a resource type as a separate argument when passing \
             arguments in resource/name form",
        )
        .hint("use either TYPE NAME or TYPE/NAME"));
    }
    if name.contains('/') {
        let message = "arguments in resource/name form may not have more than one slash";
        return Err(Error::usage(message));
    }
    if before.is_empty() || name.is_empty() {
        let message = "arguments in resource/name form must have a single resource and name";
        return Err(Error::usage(message));
    }
    let name = checked(name)?;
    // A namespace has no dot.
    match Type::known(before).or_else(|| before.contains('.').then(|| Type::of(before))) {
        Some(type_) => Ok((None, type_.named(name))),
        None => Ok((Some(before), Named::Hpa(name))),
    }
}

/// Checks a namespace, which is a segment of every path.
///
/// # Errors
///
/// It would lead to another path.
pub(crate) fn check_namespace(namespace: &str) -> Result<(), Error> {
    match &*names::path_segment(namespace) {
        [] => Ok(()),
        [wrong, ..] => Err(Error::usage(format!(
            "invalid namespace {namespace:?}: {wrong}"
        ))),
    }
}

/// Checks a name. In a path, these two would lead to another object; any other name is looked up, so that
/// the error can list the existing ones.
fn checked(name: &str) -> Result<String, Error> {
    match name {
        "" => Err(Error::usage("resource name may not be empty")),
        "." | ".." => Err(Error::usage(format!(
            "invalid resource name {name:?}: may not be '{name}'"
        ))),
        name => Ok(name.to_owned()),
    }
}

impl Type {
    fn of(typed: &str) -> Self {
        let lower = typed.to_lowercase();
        let (resource, group) = match lower.split_once('.') {
            Some((resource, group)) => (resource, Some(group.to_owned())),
            None => (&*lower, None),
        };
        let known = TYPES.iter().find(|own| is_typed(resource, own));
        Self {
            typed: typed.to_owned(),
            resource: known.map_or(resource, |(kind, _)| kind).to_owned(),
            group,
        }
    }

    /// Returns a type that is recognized without further evidence, such as a slash after it.
    fn known(typed: &str) -> Option<Self> {
        let type_ = Self::of(typed);
        let is_known = TYPES.iter().any(|(kind, _)| *kind == type_.resource);
        is_known.then_some(type_)
    }

    fn named(self, name: String) -> Named {
        if self.is("autoscaling", HPA) {
            Named::Hpa(name)
        } else {
            Named::Target(Target { type_: self, name })
        }
    }

    fn is(&self, group: &str, kind: &str) -> bool {
        let is_group = |typed: &str| typed == group || after_version(typed) == Some(group);
        (self.resource == kind.to_lowercase() || self.resource == names::plural(kind))
            && self.group.as_deref().is_none_or(is_group)
    }
}

/// Returns the group after a version, which kubectl accepts together: `v1.apps`.
fn after_version(typed: &str) -> Option<&str> {
    let (version, group) = typed.split_once('.')?;
    let number = version.strip_prefix('v')?;
    number
        .starts_with(|c: char| c.is_ascii_digit())
        .then_some(group)
}

impl Target {
    /// Whether the target is of this group and kind. A target without a group may be of any.
    pub fn is_of(&self, group: &str, kind: &str) -> bool {
        self.type_.is(group, kind)
    }

    /// Returns the target's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// As typed, with a slash.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.type_.typed, self.name)
    }
}

/// An HPA by its name alone, a target with its type.
impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hpa(name) => f.write_str(name),
            Self::Target(target) => target.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Named, NamedRequest};
    use crate::args::ConnectionFlags;

    fn read(words: &str) -> Result<NamedRequest, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let (words, namespace) = match &words[..] {
            [flag, namespace, rest @ ..] if flag == "-n" => (rest, Some(namespace.clone())),
            all => (all, None),
        };
        let connection = ConnectionFlags {
            namespace,
            ..ConnectionFlags::default()
        };
        let with_hint =
            |e: crate::error::Error| format!("{} {}", e.message, e.hint.unwrap_or_default());
        NamedRequest::read(words, &connection).map_err(with_hint)
    }

    #[test]
    fn words_name_hpas_or_targets_and_at_most_one_namespace() {
        for (words, names, namespace) in [
            ("web", "hpa web", None),
            ("web api web", "hpa web, hpa api", None),
            ("hpa web api", "hpa web, hpa api", None),
            ("hpa/web", "hpa web", None),
            ("HorizontalPodAutoscaler/web", "hpa web", None),
            ("horizontalpodautoscalers.autoscaling/web", "hpa web", None),
            ("hpa.v2.autoscaling web", "hpa web", None),
            ("hpa.example.com/web", "hpa.example.com/web", None),
            ("deploy/web", "deploy/web", None),
            ("Deployment/web", "Deployment/web", None),
            ("sts db cache", "sts/db, sts/cache", None),
            ("deployments.apps web", "deployments.apps/web", None),
            (
                "deploy/web api rollouts/canary",
                "deploy/web, hpa api, rollouts/canary",
                None,
            ),
            ("widgets.example.com/web", "widgets.example.com/web", None),
            // A single word is a name, and so is an unknown one before another.
            ("deploy", "hpa deploy", None),
            ("hpa", "hpa hpa", None),
            ("my.web api", "hpa my.web, hpa api", None),
            ("shop/web", "hpa web", Some("shop")),
            ("shop/web shop/api", "hpa web, hpa api", Some("shop")),
            ("-n shop shop/web api", "hpa web, hpa api", Some("shop")),
            ("-n shop deploy/web", "deploy/web", Some("shop")),
            ("-n  web", "hpa web", None),
        ] {
            let request = read(words).unwrap();
            let found = request.named.iter().map(|named| match named {
                Named::Hpa(name) => format!("hpa {name}"),
                Named::Target(target) => target.to_string(),
            });
            assert_eq!(found.collect::<Vec<_>>().join(", "), names, "{words}");
            assert_eq!(
                request.connection.namespace.as_deref(),
                namespace,
                "{words}"
            );
        }
    }

    #[test]
    fn other_words_are_refused() {
        for (words, message) in [
            (
                "deploy hpa/web",
                "there is no need to specify a resource type as a separate ",
            ),
            (
                "hpa shop/web",
                "there is no need to specify a resource type as a separate ",
            ),
            (
                "shop/deploy/web",
                "arguments in resource/name form may not have more than one slash",
            ),
            (
                "deploy/",
                "arguments in resource/name form must have a single resource and name",
            ),
            (
                "/web",
                "arguments in resource/name form must have a single resource and name",
            ),
            ("hpa/..", "invalid resource name \"..\": may not be '..'"),
            ("deploy .", "invalid resource name \".\": may not be '.'"),
            ("", "resource name may not be empty"),
            (
                "-n a%b web",
                "invalid namespace \"a%b\": may not contain '%'",
            ),
            (
                "-n shop/",
                "invalid namespace \"shop/\": may not contain '/'",
            ),
            ("-n test shop/web", "shop/web contradicts -n test"),
            (
                "shop/web test/web",
                "the names are not in one namespace: shop/web, test/web explain one namespace at a \
                 time (-n), or all of them with -A",
            ),
            (
                "shop/web api",
                "the names are not in one namespace: shop/web, api",
            ),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.starts_with(message), "{words}: {error}");
        }
        let error = read("deploy/web api").unwrap().one("predict").unwrap_err();
        assert_eq!(
            error.message,
            "predict takes one HPA, not 2: deploy/web, api"
        );
    }

    #[test]
    fn a_word_may_be_meant_as_a_value_or_a_type() {
        for (verb, words, hint) in [
            (
                "apply",
                "web 2m",
                Some("if 2m is the value of --wait, write --wait=2m"),
            ),
            (
                "predict",
                "web warn",
                Some("if warn is the value of --validate, write --validate=warn"),
            ),
            (
                "apply",
                "web true",
                Some("if true is the value of --FLAG, write --FLAG=true"),
            ),
            (
                "predict",
                "web minutes",
                Some("a duration is one word, such as 5m"),
            ),
            (
                "predict",
                "web deploy",
                Some("a type comes first: deploy NAME"),
            ),
            ("predict", "web api", Some("explain lists several")),
        ] {
            let error = read(words).unwrap().one(verb).unwrap_err();
            assert_eq!(error.hint.as_deref(), hint, "{verb} {words}");
        }
        for (word, hint) in [
            ("svc/web", "svc is not the type of a target"),
            ("Services/web", "Services is not the type of a target"),
            (
                "scaledobjects/web",
                "so it is read as a namespace: name its HPA, keda-hpa-NAME",
            ),
            ("pods/web", "a pod has no HPA of its own"),
            ("pods web", "a pod has no HPA of its own"),
            (
                "svc web",
                "svc is not the type of a target, so it is read as a name:",
            ),
            ("svc", ""),
            ("web api", ""),
            ("deply/web", "did you mean deploy"),
            ("shop/web", ""),
        ] {
            let words: Vec<String> = word.split(' ').map(str::to_owned).collect();
            let found = super::meant_as_type(&words).unwrap_or_default();
            assert!(
                found.contains(hint) && found.is_empty() == hint.is_empty(),
                "{word}: {found}"
            );
        }
    }

    #[test]
    fn a_type_is_of_any_group_unless_it_states_one() {
        for (typed, group, kind, is) in [
            ("deploy", "apps", "Deployment", true),
            ("deployments", "extensions", "deployment", true),
            ("deployments.apps", "apps", "Deployment", true),
            ("deployments.v1.apps", "apps", "Deployment", true),
            ("deployments.apps", "extensions", "Deployment", false),
            ("deployments.x.apps", "apps", "Deployment", false),
            ("rc", "", "ReplicationController", true),
            ("sts", "apps", "Deployment", false),
            ("rollout", "argoproj.io", "Rollout", true),
            (
                "rollouts.v1alpha1.argoproj.io",
                "argoproj.io",
                "Rollout",
                true,
            ),
            ("policies.example.com", "example.com", "Policy", true),
            ("policy.example.com", "example.com", "Policy", true),
        ] {
            let request = read(&format!("{typed}/web")).unwrap();
            let [Named::Target(target)] = &request.named[..] else {
                panic!("{typed}")
            };
            assert_eq!(target.is_of(group, kind), is, "{typed} {group} {kind}");
        }
    }
}
