//! The effects of writes: the scale of an object, the status of an HPA, an event. Uid and resourceVersion
//! are preconditions as with the real server, whose messages were recorded.

use serde_json::{Value, json};

use super::answer::status;
use super::authorize::{Target, details};
use super::discovery::join;
use super::http::{Answer, Request};
use super::json::{ordered, string};
use super::objects::Cluster;

/// Executes a request; `None` if the server does not execute it, or repeats a recorded answer.
pub(crate) fn act(cluster: &mut Cluster, request: &Request) -> Option<Answer> {
    if cluster.overrides.contains_key(&(request.method.clone(), request.path.clone())) {
        return None;
    }
    let target = Target::parse(&request.path)?;
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let sub = target.subresource.as_deref();
    match (request.method.as_str(), target.resource.as_str(), sub) {
        ("PUT", _, Some("scale")) => scale(cluster, request, &target, &body),
        ("PUT", "horizontalpodautoscalers", Some("status")) => {
            hpa_status(cluster, request, &target, &body)
        }
        ("POST", "events", None) => Some(event(cluster, request, &target, body)),
        _ => None,
    }
}

fn conflict(target: &Target, cause: &str) -> Answer {
    let (resource, name) = (target.qualified(), target.name.clone().unwrap_or_default());
    let text = format!("Operation cannot be fulfilled on {resource} \"{name}\": {cause}");
    status(409, "Conflict", &text, Some(details(target)))
}

/// Returns why a state cannot be written on top of another.
fn unmet(target: &Target, stored: &Value, sent: &Value) -> Option<Answer> {
    let (namespace, name) =
        (target.namespace.as_deref().unwrap_or(""), target.name.as_deref().unwrap_or(""));
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
    if request.parameter("dryRun") == Some("All") {
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

fn absent(target: &Target) -> Answer {
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
    let (namespace, name) = (target.namespace.clone()?, target.name.clone()?);
    let key = (namespace.clone(), name.clone());
    let stored = cluster.collection(&version, &target.resource)?.objects.get(&key)?;
    let stored = stored.whole(&version, "HorizontalPodAutoscaler");
    let stored: Value = serde_json::from_str(&stored).expect("stored JSON");
    if let Some(refusal) = unmet(target, &stored, body) {
        return Some(refusal);
    }
    if request.parameter("dryRun") != Some("All") {
        cluster.edit(&version, "HorizontalPodAutoscaler", [&namespace, &name], |hpa| {
            hpa["status"] = body["status"].clone();
            // The server's strategy resets only the spec.
            hpa["metadata"]["labels"] = body["metadata"]["labels"].clone();
        });
    }
    let stored = cluster.collection(&version, &target.resource)?.objects.get(&key)?;
    Some(Answer::json(200, stored.whole(&version, "HorizontalPodAutoscaler")))
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
    if request.parameter("dryRun") != Some("All") {
        cluster.put(event.clone());
    }
    Answer::json(201, ordered(&event))
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
            let managed = object["metadata"]["managedFields"].as_array().into_iter().flatten();
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
