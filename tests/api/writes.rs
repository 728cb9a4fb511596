//! The effects of writes: the scale of an object, the status of an HPA, an event, and what kubectl patches or deletes.
//! Uid and resourceVersion are preconditions as with the real server, whose messages were recorded. An HPA that is
//! patched is converted, validated and defaulted by the rules of the cluster.

use jiff::Timestamp;
use kubectl_hpa::apiserver::admit::{self, AdmissionError};
use kubectl_hpa::apiserver::convert::hpa_with_unknown_fields;
use kubectl_hpa::apiserver::default::AdmissionRules;
use serde_json::{Value, json};

use super::answer::status;
use super::authorize::{Target, details};
use super::discovery::join;
use super::http::{Answer, Request};
use super::json::{each, merge, merge_strategically, ordered, patched, string};
use super::objects::Cluster;

/// Executes a request; `None` if the server does not execute it, or repeats a recorded answer.
pub(crate) fn act(cluster: &mut Cluster, request: &Request) -> Option<Answer> {
    if cluster
        .overrides
        .contains_key(&(request.method.clone(), request.path.clone()))
    {
        return None;
    }
    let target = Target::parse(&request.path)?;
    let sub = target.subresource.as_deref();
    if (request.method.as_str(), sub) == ("DELETE", None) {
        return delete(cluster, request, &target);
    }
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    match (request.method.as_str(), target.resource.as_str(), sub) {
        ("PUT" | "PATCH", _, Some("scale")) => scale(cluster, request, &target, &body),
        ("PATCH", _, None) => patch(cluster, request, &target, &body),
        ("PUT", "horizontalpodautoscalers", Some("status")) => {
            hpa_status(cluster, request, &target, &body)
        }
        ("POST", "events", None) => Some(event(cluster, request, &target, body)),
        _ => None,
    }
}

/// Whether nothing is stored.
fn is_dry(request: &Request) -> bool {
    request.parameter("dryRun") == Some("All")
}

fn conflict(target: &Target, cause: &str) -> Answer {
    let (resource, name) = (target.qualified(), target.name.clone().unwrap_or_default());
    let text = format!("Operation cannot be fulfilled on {resource} \"{name}\": {cause}");
    status(409, "Conflict", &text, Some(details(target)))
}

/// Returns why a state cannot be written on top of another.
fn unmet(target: &Target, stored: &Value, sent: &Value) -> Option<Answer> {
    let (namespace, name) = (
        target.namespace.as_deref().unwrap_or(""),
        target.name.as_deref().unwrap_or(""),
    );
    let [is, want] = [stored, sent].map(|object| string(object, "/metadata/uid"));
    if !want.is_empty() && is != want {
        let resource = &target.resource;
        return Some(conflict(
            target,
            &format!(
                "StorageError: invalid object, Code: 4, Key: /registry/{resource}/{namespace}/{name}, \
                 ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: \
                 {want}, UID in object meta: {is}"
            ),
        ));
    }
    let [is, want] = [stored, sent].map(|object| string(object, "/metadata/resourceVersion"));
    (!want.is_empty() && is != want).then(|| {
        let cause = "the object has been modified; please apply your changes to the latest \
                     version and try again";
        conflict(target, cause)
    })
}

fn scale(
    cluster: &mut Cluster,
    request: &Request,
    target: &Target,
    body: &Value,
) -> Option<Answer> {
    let group_version = join(&target.group, &target.version);
    let name = target.name.clone()?;
    let key = (target.namespace.clone()?, name.clone());
    let Some(collection) = cluster.collection(&group_version, &target.resource) else {
        return Some(absent(target));
    };
    let kind = collection.kind.clone();
    let Some(stored) = collection.scales.get(&key) else {
        return Some(absent(target));
    };
    let mut scale: Value = serde_json::from_str(stored).expect("stored JSON");
    if let Some(refusal) = unmet(target, &scale, body) {
        return Some(refusal);
    }
    let replicas = body["spec"]["replicas"].as_i64().unwrap_or(0);
    if replicas < 0 {
        let cause = format!("Invalid value: {replicas}: must be greater than or equal to 0");
        let text = format!("Scale.autoscaling \"{name}\" is invalid: spec.replicas: {cause}");
        let details = json!({
            "name": name, "group": "autoscaling", "kind": "Scale",
            "causes": [{"reason": "FieldValueInvalid", "message": cause, "field": "spec.replicas"}],
        });
        return Some(status(422, "Invalid", &text, Some(details)));
    }
    scale["spec"]["replicas"] = json!(replicas);
    if is_dry(request) {
        return Some(Answer::json(200, ordered(&scale)));
    }
    let manager = request.parameter("fieldManager").unwrap_or("unknown");
    if collection.objects.contains_key(&key) {
        cluster.set_replicas(&group_version, &kind, [&key.0, &name], replicas, manager);
        cluster.scaled += 1;
    } else {
        cluster.revision += 1;
        scale["metadata"]["resourceVersion"] = json!(cluster.revision.to_string());
        let collection = cluster.collection_mut(&group_version, &kind);
        collection.scales.insert(key.clone(), ordered(&scale));
    }
    let collection = cluster.collection(&group_version, &target.resource)?;
    Some(Answer::json(200, collection.scales.get(&key)?.clone()))
}

/// The 404 of an object that does not exist.
pub(super) fn absent(target: &Target) -> Answer {
    let name = target.name.as_deref().unwrap_or_default();
    let text = format!("{} \"{name}\" not found", target.qualified());
    status(404, "NotFound", &text, Some(details(target)))
}

fn hpa_status(
    cluster: &mut Cluster,
    request: &Request,
    target: &Target,
    body: &Value,
) -> Option<Answer> {
    let version = join(&target.group, &target.version);
    let key = (target.namespace.clone()?, target.name.clone()?);
    let whole = |cluster: &Cluster| {
        let collection = cluster.collection(&version, &target.resource)?;
        Some(
            collection
                .objects
                .get(&key)?
                .whole(&version, &collection.kind),
        )
    };
    let stored: Value = serde_json::from_str(&whole(cluster)?).expect("stored JSON");
    if let Some(refusal) = unmet(target, &stored, body) {
        return Some(refusal);
    }
    if !is_dry(request) {
        cluster.edit_hpa([&key.0, &key.1], |hpa| {
            hpa["status"] = body["status"].clone();
            // The server's strategy resets only the spec.
            hpa["metadata"]["labels"] = body["metadata"]["labels"].clone();
        });
    }
    Some(Answer::json(200, whole(cluster)?))
}

fn event(cluster: &mut Cluster, request: &Request, target: &Target, mut event: Value) -> Answer {
    event["metadata"]["namespace"] = json!(target.namespace);
    event["kind"] = json!("Event");
    event["apiVersion"] = json!("v1");
    let name = string(&event, "/metadata/name").to_owned();
    let key = (target.namespace.clone().unwrap_or_default(), name.clone());
    let events = cluster.collection("v1", "events");
    if events.is_some_and(|events| events.objects.contains_key(&key)) {
        let text = format!("events \"{name}\" already exists");
        return status(409, "AlreadyExists", &text, Some(details(target)));
    }
    if !is_dry(request) {
        cluster.put(event.clone());
    }
    Answer::json(201, ordered(&event))
}

/// Patches an object in the way that its media type says.
fn patch(
    cluster: &mut Cluster,
    request: &Request,
    target: &Target,
    body: &Value,
) -> Option<Answer> {
    let version = join(&target.group, &target.version);
    let name = target.name.clone()?;
    let key = (target.namespace.clone().unwrap_or_default(), name.clone());
    let Some(collection) = cluster.collection(&version, &target.resource) else {
        return Some(absent(target));
    };
    let kind = collection.kind.clone();
    let Some(stored) = collection.objects.get(&key) else {
        return Some(absent(target));
    };
    let stored: Value = serde_json::from_str(&stored.whole(&version, &kind)).expect("stored JSON");
    let mut object = stored.clone();
    match request.header("content-type")? {
        "application/merge-patch+json" => merge(&mut object, body),
        "application/strategic-merge-patch+json" if cluster.discovery.built_in(&target.group) => {
            merge_strategically(&mut object, body);
        }
        "application/json-patch+json" => match patched(object, body) {
            Some(patched) => object = patched,
            None => {
                let text = "the server rejected our request due to an error in our request";
                return Some(status(422, "Invalid", text, Some(json!({}))));
            }
        },
        other => {
            let text = format!("the body of the request was in an unknown format - {other}");
            return Some(status(415, "UnsupportedMediaType", &text, Some(json!({}))));
        }
    }
    let mut warnings = Vec::new();
    if kind == "HorizontalPodAutoscaler" {
        (object, warnings) = match updated(&stored, &object, cluster.admission) {
            Ok(updated) => updated,
            Err(AdmissionError::Decode(error)) => {
                let text = format!(
                    "HorizontalPodAutoscaler in version \"{}\" cannot be handled as a \
                     HorizontalPodAutoscaler: {}",
                    target.version, error.message
                );
                return Some(status(400, "BadRequest", &text, None));
            }
            Err(AdmissionError::Invalid(error)) => {
                return Some(status(
                    422,
                    "Invalid",
                    &error.to_string(),
                    Some(details(target)),
                ));
            }
        };
    }
    if !is_dry(request) {
        cluster.edit(&version, &kind, [&key.0, &name], |stored| {
            *stored = object.clone();
        });
    }
    let answer = Answer::json(200, ordered(&object));
    Some(warnings.iter().fold(answer, |answer, warning| {
        answer.with(
            "Warning",
            format!("299 - \"{}\"", warning.replace('"', "\\\"")),
        )
    }))
}

/// Returns an HPA as the API server stores an update of it, and its warnings about unknown fields.
pub(crate) fn updated(
    stored: &Value,
    sent: &Value,
    rules: AdmissionRules,
) -> Result<(Value, Vec<String>), AdmissionError> {
    let (old, _) = hpa_with_unknown_fields(&stored.to_string())?;
    let (new, unknown) = hpa_with_unknown_fields(&sent.to_string())?;
    let version = new.version;
    let hpa = admit::update(
        &old.into_hpa(),
        new.spec,
        version,
        rules,
        Timestamp::UNIX_EPOCH,
    )?;
    let mut object = sent.clone();
    object["spec"] = serde_json::to_value(&hpa.spec).expect("a spec is JSON");
    let warnings = unknown
        .first
        .iter()
        .map(|field| format!("unknown field \"{}\"", field.path));
    Ok((object, warnings.collect()))
}

fn delete(cluster: &mut Cluster, request: &Request, target: &Target) -> Option<Answer> {
    let version = join(&target.group, &target.version);
    let name = target.name.as_deref()?;
    let namespace = target.namespace.as_deref().unwrap_or_default();
    let collection = cluster.collection(&version, &target.resource)?;
    let kind = collection.kind.clone();
    let Some(object) = collection
        .objects
        .get(&(namespace.to_owned(), name.to_owned()))
    else {
        return Some(absent(target));
    };
    let answer = Answer::json(200, object.whole(&version, &kind));
    if !is_dry(request) {
        cluster.remove(&version, &kind, [namespace, name]);
    }
    Some(answer)
}

impl Cluster {
    /// Sets the replicas of an object as someone would through its scale.
    pub(crate) fn set_replicas(
        &mut self,
        api_version: &str,
        kind: &str,
        object: [&str; 2],
        replicas: i64,
        manager: &str,
    ) -> &mut Self {
        let entry = json!({
            "manager": manager,
            "operation": "Update",
            "apiVersion": api_version,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:replicas": {}}},
            "subresource": "scale",
        });
        self.edit(api_version, kind, object, |object| {
            object["spec"]["replicas"] = json!(replicas);
            let generation = object["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            object["metadata"]["generation"] = json!(generation);
            let managed = each(&object["metadata"]["managedFields"]);
            let others = managed.cloned().filter_map(|mut other| {
                if let Some(Value::Object(spec)) = other.pointer_mut("/fieldsV1/f:spec") {
                    spec.remove("f:replicas");
                    if spec.is_empty() {
                        return None;
                    }
                }
                Some(other)
            });
            object["metadata"]["managedFields"] = [entry].into_iter().chain(others).collect();
        })
    }
}
