//! From a request to the answer of a healthy server: who is asking, whether they may, and what exists.

use serde_json::{Value, json};

use super::authorize::{Target, User};
use super::discovery::join;
use super::http::{Answer, Request};
use super::json::{each, ordered, string};
use super::list::list;
use super::objects::Cluster;
use super::writes;

/// A failure as the server words it in JSON.
pub(crate) fn status(code: u16, reason: &str, message: &str, details: Option<Value>) -> Answer {
    let mut status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    });
    if let Some(details) = details {
        status["details"] = details;
    }
    Answer::json(code, ordered(&status))
}

/// The 404 of a path without a handler.
pub(crate) fn page_not_found() -> Answer {
    Answer::text(404, "404 page not found\n")
}

/// The 404 of a path in a known group.
pub(crate) fn not_served() -> Answer {
    let text = "the server could not find the requested resource";
    status(404, "NotFound", text, Some(json!({})))
}

/// Returns the answer of a healthy server, and whom it identified as the sender. `certificate` is the user
/// of the client certificate, `Some(None)` if that user is unknown.
pub(crate) fn answer(
    cluster: &Cluster,
    request: &Request,
    certificate: Option<Option<String>>,
) -> (Answer, Option<String>) {
    let user = match cluster.rights.sender(request, certificate) {
        Ok(user) => user,
        Err(refusal) => return (*refusal, None),
    };
    let answer = match cluster.rights.check(&user, request) {
        Ok(()) => resolve(cluster, request),
        Err(refusal) => *refusal,
    };
    fair(cluster, &user, answer)
}

/// The same for a request that may change something, and changes it.
pub(crate) fn write(
    cluster: &mut Cluster,
    request: &Request,
    certificate: Option<Option<String>>,
) -> (Answer, Option<String>) {
    let user = match cluster.rights.sender(request, certificate) {
        Ok(user) => user,
        Err(refusal) => return (*refusal, None),
    };
    let review = cluster.rights.review(&user, request);
    let answer = review.unwrap_or_else(|| match cluster.rights.check(&user, request) {
        Ok(()) => writes::act(cluster, request).unwrap_or_else(|| resolve(cluster, request)),
        Err(refusal) => *refusal,
    });
    fair(cluster, &user, answer)
}

/// Adds the headers about limits that every answer has, and the sender.
fn fair(cluster: &Cluster, user: &User, answer: Answer) -> (Answer, Option<String>) {
    let fairness = cluster.rights.fairness(user);
    let answer = fairness
        .into_iter()
        .fold(answer, |answer, (name, value)| answer.with(name, value));
    (answer, Some(user.name.clone()))
}

fn resolve(cluster: &Cluster, request: &Request) -> Answer {
    let key = (request.method.clone(), request.path.clone());
    if let Some(answer) = cluster.overrides.get(&key) {
        return answer.clone();
    }
    let accept = request.header("accept").unwrap_or("*/*");
    if !accepts_json(accept) {
        let text = "only the following media types are accepted: application/json";
        return status(406, "NotAcceptable", text, None);
    }
    if let Some(text) = cluster.documents.get(&request.path) {
        return Answer::json(200, text.clone());
    }
    if let Some(answer) = cluster.discovery.answer(&request.path, accept) {
        return answer;
    }
    let Some(target) = Target::parse(&request.path) else {
        return page_not_found();
    };
    let group_version = join(&target.group, &target.version);
    if !cluster.discovery.serves(&group_version) {
        return cluster.discovery.missing(&target.group);
    }
    if request.method != "GET" || request.parameter("watch").is_some() {
        let text = "the server does not allow this method on the requested resource";
        return status(405, "MethodNotAllowed", text, Some(json!({})));
    }
    match target.group.as_str() {
        "custom.metrics.k8s.io" => cluster.metrics.custom(cluster, &target, request),
        "external.metrics.k8s.io" => cluster.metrics.external(&target, request),
        _ => object(cluster, &target, &group_version, request),
    }
}

fn object(cluster: &Cluster, target: &Target, group_version: &str, request: &Request) -> Answer {
    let sub = target.subresource.as_deref();
    let resource = target.resource.clone() + &sub.map(|s| format!("/{s}")).unwrap_or_default();
    let Some(served) = cluster.discovery.resource(group_version, &resource) else {
        return cluster.discovery.missing(&target.group);
    };
    let collection = cluster.collection(group_version, &target.resource);
    let Some(name) = &target.name else {
        let kind = served["kind"].as_str().unwrap_or_default();
        return list(cluster, collection, (group_version, kind), target, request);
    };
    // Any other subresource returns the object itself.
    let scale = sub == Some("scale");
    let namespace = target.namespace.clone().unwrap_or_default();
    let found = collection.and_then(|collection| {
        if scale {
            return collection.scales.get(&(namespace, name.clone())).cloned();
        }
        let object = collection.objects.get(&(namespace, name.clone()))?;
        Some(object.whole(group_version, &collection.kind))
    });
    match found {
        Some(text) if sub == Some("log") => log(&text, request),
        Some(text) => Answer::json(200, text),
        None => writes::absent(target),
    }
}

/// Answers a request for the log of a container, which is a line of text if the pod has it.
fn log(pod: &str, request: &Request) -> Answer {
    let pod: Value = serde_json::from_str(pod).expect("stored JSON");
    let containers = each(&pod["spec"]["containers"]);
    let name = request.parameter("container").unwrap_or_default();
    if containers.clone().any(|it| it["name"] == name) || name.is_empty() && containers.count() == 1
    {
        return Answer::text(200, "a line of the log\n");
    }
    let pod = string(&pod, "/metadata/name");
    let text = format!("container {name} is not valid for pod {pod}");
    status(400, "BadRequest", &text, None)
}

/// Whether one of the accepted types is JSON, in any shape: if the server has no table for an object, it
/// sends the object itself, provided the client accepts that.
fn accepts_json(accept: &str) -> bool {
    accept.split(',').any(|entry| {
        let media = entry.split(';').next().unwrap_or_default().trim();
        ["application/json", "application/*", "*/*"].contains(&media)
    })
}
