//! YAML, which is converted to JSON first, as in kubectl, so that a number is read as kubectl would send
//! it, and one reader serves both. This is the only place that reads YAML.

use std::collections::{BTreeSet, HashSet};
use std::io;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::ser::Formatter;
use serde_yaml::Spanned;
use serde_yaml::budget::BudgetBreach;
use serde_yaml::options::{DuplicateKeyPolicy, NonFiniteFloatPolicy};

use super::{path_of, read_json, unreadable};
use crate::apimachinery::go;
use crate::apimachinery::json;
use crate::apimachinery::json::place::{FieldPath, PlaceStep};
use crate::apimachinery::json::{expecting, plain};
use crate::apimachinery::yaml;
use crate::error::Error;
use crate::saved::objects::Objects;
use crate::saved::objects::reader::NO_KIND;
use crate::snapshot::note::Note;

/// Reads YAML documents; empty ones are left out. Of equal keys, the last one counts, as in kubectl, which
/// sends JSON without duplicates.
pub(super) fn read(text: &str, origin: &str, objects: &mut Objects) -> Result<(), Error> {
    let read = match documents_of(text) {
        Err(e) if is_non_finite(&e) => {
            with_overflows_quoted(text).and_then(|quoted| documents_of(&quoted))
        }
        read => read,
    };
    let (documents, has_repeated) = read.map_err(|e| fault_of(&e, text, origin))?;
    if documents.is_empty() {
        let is_empty = text.trim().is_empty();
        let what = if is_empty {
            "is empty"
        } else {
            "has no object"
        };
        return Err(Error::usage(format!("failed to read {origin}: it {what}")));
    }
    let note = if has_repeated {
        repeated(text, origin)?
    } else {
        None
    };
    for (place, document) in documents.into_iter().enumerate() {
        let (line, _) = place_of(document.referenced);
        let json = json_of(&document.value.0)
            .map_err(|e| unreadable(origin, None, &FieldPath::default(), &e.to_string()))?;
        read_json(&json, origin, line, &json::Elements::of_file(), objects).map_err(|fault| {
            let path = path_of(&fault, &json);
            unreadable(origin, find(text, place, &path), &path, &fault.message)
        })?;
    }
    objects.notes.extend(note);
    Ok(())
}

/// Returns the error for a text that cannot be read as YAML.
fn fault_of(e: &serde_yaml::Error, text: &str, origin: &str) -> Error {
    let place = e.location().map(place_of);
    let is_of_key = matches!(e.without_snippet(), serde_yaml::Error::Unexpected { .. });
    let key = is_of_key.then(|| key_of_no_field(text)).flatten();
    let (path, message) = match key {
        Some((path, kind)) => (path, format!("{kind} as a key, expected a string")),
        None => (FieldPath::default(), message_of(e, text.len())),
    };
    let error = unreadable(origin, place, &path, &message);
    if is_of_helm(text) {
        error.hint(MANIFESTS_OF_HELM)
    } else {
        error
    }
}

fn is_non_finite(e: &serde_yaml::Error) -> bool {
    matches!(
        e.without_snippet(),
        serde_yaml::Error::NonFiniteFloat { .. }
    )
}

/// Returns a text in which each number that is too large for a float is in quotes: go-yaml reads it as a string
/// (`resolve`, because `strconv.ParseFloat` fails), such as the abbreviated hash `31e4082` of a commit.
///
/// # Errors
///
/// The text cannot be read as YAML, whatever its numbers are.
fn with_overflows_quoted(text: &str) -> Result<String, serde_yaml::Error> {
    let mut places = BTreeSet::new();
    for document in &trees(text)? {
        infinite(document, &mut places);
    }
    let (mut quoted, mut copied) = (String::with_capacity(text.len()), 0);
    for start in places {
        let number = number_at(text, start);
        let digits = number.trim_start_matches(['+', '-']);
        // Infinity itself is no number of JSON, for kubectl too.
        if !digits.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        quoted.push_str(&text[copied..start]);
        quoted.extend(["\"", number, "\""]);
        copied = start + number.len();
    }
    quoted.push_str(&text[copied..]);
    Ok(quoted)
}

/// Adds the places in the text at which the infinite values of a node are written, and perhaps some of equal strings.
fn infinite(node: &Spanned<Tree>, places: &mut BTreeSet<usize>) {
    if matches!(node.value.scalar(), Some("inf" | "-inf")) {
        let at = node.defined.span().byte_offset();
        places.extend(at.and_then(|at| usize::try_from(at).ok()));
    }
    for (_, inner) in node.value.inner() {
        infinite(inner, places);
    }
}

/// Returns the number at a place of a text; empty if there is something else, such as a tag.
fn number_at(text: &str, start: usize) -> &str {
    let rest = text.get(start..).unwrap_or_default();
    let is_of_number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    &rest[..rest.find(|c| !is_of_number(c)).unwrap_or(rest.len())]
}

/// Whether a text is YAML, or JSON, without anything that states a kind, or what kubectl prints in place of an answer.
pub(super) fn has_no_object(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let is_object = |it: &Spanned<Tree>| it.value.states_kind() || it.value.lists_objects();
    let is_error = text.starts_with("Error from server") && !text.contains("apiVersion");
    is_error || trees(text).is_ok_and(|all| !all.iter().any(is_object))
}

/// Whether a text is YAML, or JSON, with a list of objects, but no document that states a kind.
pub(super) fn is_list_without_kind(text: &str) -> bool {
    trees(text.trim_start_matches('\u{feff}')).is_ok_and(|all| {
        let states_kind = all.iter().any(|it| it.value.states_kind());
        !states_kind && all.iter().any(|it| it.value.lists_objects())
    })
}

/// The advice to read manifests instead of Helm's messages.
const MANIFESTS_OF_HELM: &str =
    "these are messages of Helm: use the output of `helm template` or `helm get manifest`";

/// Whether a text begins with a message of Helm about a release or a chart, instead of with a manifest.
fn is_of_helm(text: &str) -> bool {
    let begins = |line: &str| text.lines().take(10).any(|own| own.starts_with(line));
    begins("LAST DEPLOYED:") || begins("Pulled:")
}

/// Returns a note about the keys that a text repeats.
///
/// # Errors
///
/// A document has several objects, of which kubectl sees parts.
fn repeated(text: &str, origin: &str) -> Result<Option<Note>, Error> {
    let Ok(documents) = trees(text) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    for document in &documents {
        let tree = &document.value;
        let earlier = found.len();
        tree.repeated(&mut FieldPath::default(), &mut found);
        if let Some(line) = second_object(tree, &found[earlier..]) {
            let message =
                format!("failed to read {origin}:{line}: a second object in the same document");
            return Err(Error::usage(message).hint("separate objects by a line ---"));
        }
    }
    let named: Vec<String> = found
        .iter()
        .take(MAX_NAMED)
        .map(|(path, line)| format!("{path} (line {line})"))
        .collect();
    let more = match found.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Ok(Some(Note::new(format!(
        "{origin} repeats {}{more}: the last one counts, as for kubectl",
        named.join(", ")
    ))))
}

/// Returns the line of a second object in a document: the first repeated field, if the kind and another field of the
/// object are repeated. An object that only repeats its own type is one object, for kubectl too.
fn second_object(document: &Tree, repeated: &[(FieldPath, usize)]) -> Option<usize> {
    let field = |name: &str| PlaceStep::Field(name.to_owned());
    let (kind, version) = (field("kind"), field("apiVersion"));
    let own = repeated.iter().filter_map(|(path, line)| match &*path.0 {
        [step] => Some((step, *line)),
        _ => None,
    });
    let own: Vec<(&PlaceStep, usize)> = own.collect();
    let fields = document.inner().into_iter();
    let kinds: HashSet<Option<&str>> = fields
        .filter(|(step, _)| step.as_ref() == Ok(&kind))
        .map(|(_, node)| node.value.scalar())
        .collect();
    let is_of_type = |step: &PlaceStep| *step == kind || *step == version && kinds.len() == 1;
    let repeats_kind = own.iter().any(|(step, _)| **step == kind);
    let is_another = repeats_kind && own.iter().any(|(step, _)| !is_of_type(step));
    let first = own.iter().map(|(_, line)| *line).min();
    first.filter(|_| is_another)
}

/// The number of repeated keys of a file that are named.
const MAX_NAMED: usize = 5;

/// Returns a document as kubectl would send it: in Go, a number without a fraction is an integer, whatever
/// its notation.
fn json_of(fields: &serde_json::Map<String, serde_json::Value>) -> serde_json::Result<String> {
    struct GoNumbers;

    impl Formatter for GoNumbers {
        fn write_f64<W: io::Write + ?Sized>(&mut self, to: &mut W, n: f64) -> io::Result<()> {
            to.write_all(go::float(n).as_bytes())
        }
    }

    let mut json = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(&mut json, GoNumbers);
    fields.serialize(&mut writer)?;
    String::from_utf8(json).map_err(serde_json::Error::custom)
}

/// Returns the documents, and whether a key is repeated.
fn documents_of(text: &str) -> Result<(Vec<Spanned<YamlDocument>>, bool), serde_yaml::Error> {
    let is_repeated =
        |e: &serde_yaml::Error| matches!(e, serde_yaml::Error::DuplicateMappingKey { .. });
    match documents(text, DuplicateKeyPolicy::Error) {
        Err(e) if is_repeated(e.without_snippet()) => {
            Ok((documents(text, DuplicateKeyPolicy::LastWins)?, true))
        }
        unique => Ok((unique?, false)),
    }
}

fn documents<'t, T: Deserialize<'t>>(
    text: &'t str,
    duplicate_keys: DuplicateKeyPolicy,
) -> Result<Vec<T>, serde_yaml::Error> {
    let mut options = yaml::options(text.len());
    options.duplicate_keys = duplicate_keys;
    serde_yaml::from_multiple_with_options(text, options)
}

/// Returns the nodes of the documents of a text, with their places and all repeated keys. A number may be infinite.
fn trees(text: &str) -> Result<Vec<Spanned<Tree>>, serde_yaml::Error> {
    let mut options = yaml::options(text.len());
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    serde_yaml::from_multiple_with_options(text, options)
}

/// A YAML document that can be an object. Any other document is rejected as soon as that is clear, however
/// much follows.
struct YamlDocument(serde_json::Map<String, serde_json::Value>);

impl<'de> Deserialize<'de> for YamlDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DocumentVisitor;

        impl<'de> Visitor<'de> for DocumentVisitor {
            type Value = YamlDocument;

            expecting!("a Kubernetes object");

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlDocument, A::Error> {
                let mut fields = serde_json::Map::new();
                while let Some((name, value)) = map.next_entry()? {
                    fields.insert(name, value);
                }
                if fields.contains_key("kind") {
                    Ok(YamlDocument(fields))
                } else {
                    // Unlike a custom message, this comes with a place in the document.
                    Err(A::Error::missing_field("kind"))
                }
            }
        }

        deserializer.deserialize_any(DocumentVisitor)
    }
}

/// Returns the position of a field in a document, or of the closest thing around it. The text is read
/// again for this, because reading it does not keep positions.
fn find(text: &str, document: usize, path: &FieldPath) -> Option<(usize, usize)> {
    let documents = trees(text).ok()?;
    let mut node = documents.get(document)?;
    for step in &path.0 {
        let mut inner = node.value.inner().into_iter().rev();
        let Some((_, next)) = inner.find(|(own, _)| own.as_ref() == Ok(step)) else {
            break;
        };
        node = next;
    }
    Some(place_of(node.referenced))
}

/// Returns the place of the first key that is not a field name, and its kind; `None` for a text that is
/// nested more deeply than any manifest.
fn key_of_no_field(text: &str) -> Option<(FieldPath, &'static str)> {
    const DEEPEST: usize = 32;
    let mut options = yaml::options(text.len());
    options.non_finite_float_policy = NonFiniteFloatPolicy::PassThrough;
    if let Some(budget) = &mut options.budget {
        budget.max_depth = DEEPEST;
    }
    let documents: Vec<Spanned<Tree>> =
        serde_yaml::from_multiple_with_options(text, options).ok()?;
    documents.iter().find_map(|document| {
        let mut path = FieldPath::default();
        let kind = document.value.key_of_no_field(&mut path)?;
        Some((path, kind))
    })
}

/// The nodes of a YAML document.
enum Tree {
    Null,
    Scalar(String),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Tree, Spanned<Tree>)>),
}

impl Tree {
    /// Returns the value of a scalar.
    fn scalar(&self) -> Option<&str> {
        match self {
            Self::Scalar(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the step to the field of this key; if it is no name of a field, its kind.
    fn step(&self) -> Result<PlaceStep, &'static str> {
        match self {
            Self::Null => Err("null"),
            Self::Scalar(name) => Ok(PlaceStep::Field(name.clone())),
            Self::List(_) => Err("a list"),
            Self::Map(_) => Err("an object"),
        }
    }

    /// Returns the inner nodes, each with the step to it. `Err` has the kind of a key that is not a field name.
    fn inner(&self) -> Vec<(Result<PlaceStep, &'static str>, &Spanned<Self>)> {
        match self {
            Self::Null | Self::Scalar(_) => Vec::new(),
            Self::List(elements) => {
                let places = (0..).map(|place| Ok(PlaceStep::Element(place)));
                places.zip(elements).collect()
            }
            Self::Map(fields) => fields
                .iter()
                .map(|(key, value)| (key.step(), value))
                .collect(),
        }
    }

    /// Returns the value of a field.
    fn field(&self, name: &str) -> Option<&Self> {
        let name = PlaceStep::Field(name.to_owned());
        let mut fields = self.inner().into_iter();
        let (_, node) = fields.find(|(step, _)| step.as_ref() == Ok(&name))?;
        Some(&node.value)
    }

    /// Whether the node states its kind.
    fn states_kind(&self) -> bool {
        self.field("kind").is_some()
    }

    /// Whether the node is a list as an API returns it, up to its items, or has an object in its elements or `items`.
    fn lists_objects(&self) -> bool {
        let items = self.field("items");
        let states_version = |it: &Self| it.field("apiVersion").is_some();
        let is_of_api = items.is_some() && states_version(self) && self.inner().len() == 2;
        let is_object = |it: &Self| it.states_kind() && states_version(it);
        match items.unwrap_or(self) {
            _ if is_of_api => true,
            Self::List(items) => items.iter().any(|it| is_object(&it.value)),
            _ => false,
        }
    }

    /// Returns the kind of the first key that is not a field name, and leaves its place in `path`.
    fn key_of_no_field(&self, path: &mut FieldPath) -> Option<&'static str> {
        self.inner().into_iter().find_map(|(step, node)| {
            path.0.push(match step {
                Ok(step) => step,
                Err(kind) => return Some(kind),
            });
            let found = node.value.key_of_no_field(path);
            if found.is_none() {
                path.0.pop();
            }
            found
        })
    }

    /// Adds the repeated fields, with the lines of their values.
    fn repeated(&self, path: &mut FieldPath, found: &mut Vec<(FieldPath, usize)>) {
        let mut seen = HashSet::new();
        for (step, node) in self.inner() {
            let Ok(step) = step else {
                continue;
            };
            path.0.push(step.clone());
            if !seen.insert(step) {
                found.push((path.clone(), place_of(node.referenced).0));
            }
            node.value.repeated(path, found);
            path.0.pop();
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nodes;

        macro_rules! scalars {
            ($($method:ident: $value:ty,)*) => {
                $(
                    fn $method<E>(self, value: $value) -> Result<Tree, E> {
                        Ok(Tree::Scalar(value.to_string()))
                    }
                )*
            };
        }

        impl<'de> Visitor<'de> for Nodes {
            type Value = Tree;

            expecting!("any value");

            scalars! {
                visit_bool: bool,
                visit_i64: i64,
                visit_i128: i128,
                visit_u64: u64,
                visit_u128: u128,
                visit_f64: f64,
                visit_str: &str,
            }

            fn visit_unit<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }

            fn visit_none<E>(self) -> Result<Tree, E> {
                Ok(Tree::Null)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = list.next_element()? {
                    elements.push(element);
                }
                Ok(Tree::List(elements))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Tree::Map(fields))
            }
        }

        deserializer.deserialize_any(Nodes)
    }
}

fn place_of(location: serde_yaml::Location) -> (usize, usize) {
    let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    (number(location.line()), number(location.column()))
}

/// Returns the reader's error as text without the position, and without any of the input, which may not be a Kubernetes
/// object. `length` is the length of the input, on which the limits depend.
fn message_of(error: &serde_yaml::Error, length: usize) -> String {
    use serde_yaml::Error as Yaml;

    let message = match error.without_snippet() {
        Yaml::SerdeInvalidType {
            unexpected,
            expected,
            ..
        } => {
            return plain(&format!("invalid type: {unexpected}, expected {expected}"));
        }
        // The scanner's texts are fixed, except for a character that it did not expect.
        Yaml::ExternalMessage { msg, .. } => msg.split(": `").next().unwrap_or_default(),
        Yaml::Unexpected { expected, .. } => return format!("expected {expected}"),
        Yaml::DuplicateMappingKey { .. } => "duplicate field",
        Yaml::SerdeMissingField { .. } => NO_KIND,
        Yaml::AliasError { error, .. } => return message_of(error, length),
        Yaml::UnknownAnchor { .. } => "an alias without its anchor",
        Yaml::NonFiniteFloat { .. } => "not a finite number",
        Yaml::Budget { breach, .. } => return exceeded(breach, length),
        _ => "not readable as YAML",
    };
    message.to_owned()
}

/// Names the limit of the reader that a text of this length exceeds.
fn exceeded(breach: &BudgetBreach, length: usize) -> String {
    let limits = yaml::options(length).budget.unwrap_or_default();
    let (most, what) = match breach {
        BudgetBreach::Depth { .. } => (limits.max_depth, "nested lists and objects"),
        BudgetBreach::Documents { .. } => (limits.max_documents, "documents"),
        BudgetBreach::Aliases { .. } => (limits.max_aliases, "aliases"),
        BudgetBreach::Anchors { .. } => (limits.max_anchors, "anchors"),
        BudgetBreach::AliasAnchorRatio { .. } => {
            (limits.alias_anchor_ratio_multiplier, "aliases per anchor")
        }
        BudgetBreach::MergeKeys { .. } => (limits.max_merge_keys, "merge keys"),
        BudgetBreach::RecordedAnchorEvents { .. } => {
            (limits.max_recorded_anchor_events, "parts behind anchors")
        }
        BudgetBreach::RecordedAnchorBytes { .. } => {
            (limits.max_recorded_anchor_bytes, "bytes behind anchors")
        }
        BudgetBreach::Nodes { .. } => (limits.max_nodes, "values after expanding aliases"),
        BudgetBreach::ScalarBytes { .. } => (
            limits.max_total_scalar_bytes,
            "bytes of values after expanding aliases",
        ),
        _ => (limits.max_events, "parts after expanding aliases"),
    };
    format!("more than {most} {what}")
}
