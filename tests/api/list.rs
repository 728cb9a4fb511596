//! Lists of objects: label and field selectors, and pages with the server's continue tokens.

use std::collections::BTreeMap;

use base64::Engine;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use kubectl_hpa::apimachinery::selector::Selector;
use serde_json::{Value, json};

use super::answer::status;
use super::authorize::Target;
use super::discovery::split;
use super::http::{Answer, Request};
use super::json::{ordered, string};
use super::objects::{Cluster, Collection, Object};

/// Answers a request for a list. The `kind` of its objects follows their group version.
pub(crate) fn list(
    cluster: &Cluster,
    collection: Option<&Collection>,
    (group_version, kind): (&str, &str),
    target: &Target,
    request: &Request,
) -> Answer {
    match page(cluster, collection, target, request) {
        Ok((metadata, items)) => {
            let built_in = cluster.discovery.built_in(split(group_version).0);
            let items: Vec<_> = items
                .into_iter()
                .map(|item| {
                    if built_in {
                        item.bare.clone()
                    } else {
                        item.whole(group_version, kind)
                    }
                })
                .collect();
            let items = items.join(",");
            let body = format!(
                "{{\"kind\":\"{kind}List\",\"apiVersion\":\"{group_version}\",\
                 \"metadata\":{},\"items\":[{items}]}}",
                ordered(&metadata)
            );
            Answer::json(200, body)
        }
        Err(refusal) => *refusal,
    }
}

type Page<'a> = (Value, Vec<&'a Object>);

fn page<'a>(
    cluster: &Cluster,
    collection: Option<&'a Collection>,
    target: &Target,
    request: &Request,
) -> Result<Page<'a>, Box<Answer>> {
    let labels = label_selector(request.parameter("labelSelector"))?;
    let fields = field_selector(request.parameter("fieldSelector"), target)?;
    let selects = |object: &Object| {
        let field = |name: &str| object.fields.get(name).map_or("", String::as_str);
        labels.matches(&object.labels)
            && fields
                .iter()
                .all(|(name, value, equal)| (field(name) == value) == *equal)
    };
    let namespace = target.namespace.as_deref();
    let exact = match (
        request.parameter("resourceVersionMatch"),
        request.parameter("resourceVersion"),
    ) {
        (Some("Exact"), Some(revision)) => Some(revision.parse::<i64>().unwrap_or_default()),
        _ => None,
    };
    if exact.is_some_and(|revision| revision < cluster.compacted) {
        return Err(Box::new(too_old()));
    }
    let mut objects = collection
        .into_iter()
        .flat_map(|collection| {
            collection.objects.iter().filter_map(move |(key, object)| {
                let then = match exact {
                    Some(revision) => collection.at(revision, key)?,
                    None => object,
                };
                Some((key, then))
            })
        })
        .filter(|((its, _), _)| namespace.is_none_or(|namespace| namespace == its));
    // Lists of other servers are never paged, whatever the request, and have no version.
    if target.group.ends_with("metrics.k8s.io") {
        let all = objects.map(|(_, object)| object);
        return Ok((json!({}), all.filter(|object| selects(object)).collect()));
    }
    let start = match request.parameter("continue") {
        Some(token) => Some(cluster.continued(token)?),
        None => None,
    };
    let limit = request
        .parameter("limit")
        .and_then(|text| text.parse().ok());
    let limit = limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let (mut items, mut last, mut remaining) = (Vec::new(), String::new(), 0);
    for (key, object) in objects.by_ref() {
        let key = start_key(namespace, key);
        if start
            .as_ref()
            .is_some_and(|start| key.as_str() < start.as_str())
        {
            continue;
        }
        if items.len() == limit {
            remaining = 1 + objects.count();
            break;
        }
        last = key;
        if selects(object) {
            items.push(object);
        }
    }
    let mut metadata = json!({"resourceVersion": cluster.revision.to_string()});
    if remaining > 0 {
        metadata["continue"] = json!(token(cluster.revision, &format!("{last}\0")));
        // With a selector the server does not know how many of the rest will match.
        if labels.is_empty() && fields.is_empty() {
            metadata["remainingItemCount"] = json!(remaining);
        }
    }
    Ok((metadata, items))
}

impl Collection {
    /// Returns an object as it was at a revision; `None` if it did not exist yet.
    fn at(&self, revision: i64, key: &(String, String)) -> Option<&Object> {
        let versions = self
            .earlier
            .iter()
            .filter(|(its, _)| its == key)
            .map(|(_, object)| object);
        versions
            .chain(self.objects.get(key))
            .rfind(|object| object.revision() <= revision)
    }
}

impl Object {
    fn revision(&self) -> i64 {
        let object: Value = serde_json::from_str(&self.bare).unwrap_or_default();
        string(&object, "/metadata/resourceVersion")
            .parse()
            .unwrap_or_default()
    }
}

/// The 410 for a state that has been compacted away (`NewResourceExpired`).
fn too_old() -> Answer {
    status(
        410,
        "Expired",
        "The resourceVersion for the provided list is too old.",
        None,
    )
}

/// Returns where a list continues, relative to what is listed, as storage keys are.
fn start_key(namespace: Option<&str>, (its, name): &(String, String)) -> String {
    match namespace {
        Some(_) => format!("/{name}"),
        None => format!("/{its}/{name}"),
    }
}

/// A continue token, `storage.EncodeContinue`.
fn token(revision: i64, start: &str) -> String {
    let start = Value::from(start);
    let text = format!("{{\"v\":\"meta.k8s.io/v1\",\"rv\":{revision},\"start\":{start}}}");
    RAW_URL.encode(text.as_bytes())
}

/// Go's `base64.RawURLEncoding`, which ignores the bits behind the last byte.
const RAW_URL: GeneralPurpose =
    GeneralPurpose::new(&URL_SAFE, NO_PAD.with_decode_allow_trailing_bits(true));

/// Go's error of decoding a text: the offset of the first byte outside the alphabet, or where one is missing.
fn illegal_base64(text: &str) -> String {
    let is_of_alphabet = |c: u8| c.is_ascii_alphanumeric() || b"-_".contains(&c);
    let at = text.bytes().position(|c| !is_of_alphabet(c));
    format!(
        "illegal base64 data at input byte {}",
        at.unwrap_or(text.len())
    )
}

impl Cluster {
    /// Returns where to continue, `storage.DecodeContinue`; the 400 for an invalid token and the 410 for
    /// one from before the history was compacted.
    fn continued(&self, text: &str) -> Result<String, Box<Answer>> {
        let invalid = |cause: String| {
            let text = format!("invalid continue token: continue key is not valid: {cause}");
            Box::new(bad_request(&text))
        };
        let data = RAW_URL
            .decode(text)
            .map_err(|_| invalid(illegal_base64(text)))?;
        let token: Value = serde_json::from_slice(&data).map_err(|_| {
            let first = char::from(data.first().copied().unwrap_or_default());
            invalid(format!(
                "invalid character '{first}' looking for beginning of value"
            ))
        })?;
        let revision = token["rv"].as_i64().unwrap_or_default();
        let start = string(&token, "/start").to_owned();
        if revision > 0 && revision < self.compacted {
            return Err(Box::new(expired(text)));
        }
        Ok(start)
    }
}

/// Returns the 410 for an old token, `etcd3.handleCompactedErrorForPaging`, with a token that continues
/// with the current state.
pub(crate) fn expired(old: &str) -> Answer {
    let old = RAW_URL.decode(old).unwrap_or_default();
    let old: Value = serde_json::from_slice(&old).unwrap_or_default();
    let start = string(&old, "/start");
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {"continue": token(-1, start)},
        "status": "Failure",
        "message": "The provided continue parameter is too old to display a consistent list \
                    result. You can start a new list without the continue parameter, or use the \
                    continue token in this response to retrieve the remainder of the results. \
                    Continuing with the provided token results in an inconsistent list - objects \
                    that were created, modified, or deleted between the time the first chunk was \
                    returned and now may show up in the list.",
        "reason": "Expired",
        "code": 410,
    });
    Answer::json(410, ordered(&status))
}

fn bad_request(message: &str) -> Answer {
    status(400, "BadRequest", message, None)
}

/// Returns a parameter's label selector; everything if it is missing.
pub(crate) fn label_selector(text: Option<&str>) -> Result<Selector, Box<Answer>> {
    Selector::parse(text.unwrap_or_default()).map_err(|error| {
        // The parameter is parsed by a decoder that does not say which step failed.
        let text = error.to_string();
        let cause = text.strip_prefix("unable to parse requirement: ");
        Box::new(bad_request(cause.unwrap_or(&text)))
    })
}

/// Field, value, and whether they must be equal.
type Term = (String, String, bool);

fn field_selector(text: Option<&str>, target: &Target) -> Result<Vec<Term>, Box<Answer>> {
    let text = text.unwrap_or_default();
    let terms = text.split(',').filter(|term| !term.is_empty());
    let supported = supported_fields(&target.resource);
    terms
        .map(|term| {
            let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
                (field, value, false)
            } else if let Some((field, value)) = term.split_once("==") {
                (field, value, true)
            } else if let Some((field, value)) = term.split_once('=') {
                (field, value, true)
            } else {
                let text = format!("invalid selector: '{text}'; can't understand '{term}'");
                return Err(Box::new(bad_request(&text)));
            };
            if !supported.contains(&field) {
                let text = format!("field label not supported: {field}");
                return Err(Box::new(bad_request(&text)));
            }
            Ok((field.to_owned(), value.to_owned(), equal))
        })
        .collect()
}

fn supported_fields(resource: &str) -> &'static [&'static str] {
    match resource {
        "events" => &[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "type",
        ],
        "pods" => &[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        _ => &["metadata.name", "metadata.namespace"],
    }
}

/// Returns the fields of an object that field selectors may use.
pub(crate) fn fields_of(resource: &str, object: &Value) -> BTreeMap<String, String> {
    let pointer = |field: &str| format!("/{}", field.replace('.', "/"));
    supported_fields(resource)
        .iter()
        .map(|field| {
            let value = string(object, &pointer(field));
            ((*field).to_owned(), value.to_owned())
        })
        .collect()
}
