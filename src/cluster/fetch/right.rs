//! Which right a refused request lacks, read off its path as the API server reads it, and how to
//! ask whether one has it. Nothing is sent here. Follows `RequestInfoFactory` of apiserver.

use super::super::{ApiStatus, Failure, Method};
use crate::error::Error;

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Request {
    verb: &'static str,
    group: String,
    /// With its subresource, such as `deployments/scale`.
    resource: String,
    namespace: Option<String>,
}

impl Request {
    /// None for what is no resource, such as `/apis`.
    fn of(method: Method, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let (verb, resource) = match rest {
            [] => return None,
            [resource] => ("list", (*resource).to_owned()),
            [resource, _] => ("get", (*resource).to_owned()),
            [resource, _, sub, ..] => ("get", format!("{resource}/{sub}")),
        };
        let namespace = namespace.map(str::to_owned);
        let verb = match method {
            Method::Get => verb,
            Method::Put => "update",
            Method::Post => "create",
        };
        Some(Self { verb, group: group.to_owned(), resource, namespace })
    }
}

/// The failure, with the right that is missing where that is the cause.
pub fn denied(failure: &Failure) -> Error {
    let error: Error = failure.clone().into();
    match missing(failure) {
        Some(right) => error.hint(right),
        None => error,
    }
}

/// The right that is missing, how to ask whether it is there, and the rule that gives it.
pub(super) fn missing(failure: &Failure) -> Option<String> {
    lacking(failure).map(|(right, remedy)| format!("{right}; {remedy}"))
}

/// The right that is missing, and then the rest.
pub(super) fn lacking(failure: &Failure) -> Option<(String, String)> {
    if !failure.is_forbidden() || is_of_admission(failure) {
        return None;
    }
    let request = Request::of(failure.method, &failure.path);
    let Some(Request { verb, group, resource, namespace }) = request else {
        let path = failure.path.split('?').next().unwrap_or_default();
        let remedy = format!(
            "`kubectl auth can-i get {path}` tells whether it is there; \
             rule for a ClusterRole: - {{nonResourceURLs: [{path:?}], verbs: [\"get\"]}}"
        );
        return Some((format!("missing right: get {path}"), remedy));
    };
    let rule = format!("{{apiGroups: [{group:?}], resources: [{resource:?}], verbs: [{verb:?}]}}");
    let (name, sub) = resource.split_once('/').unwrap_or((&resource, ""));
    let name = if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") };
    let (slash, option) = match sub {
        "" => (String::new(), String::new()),
        sub => (format!("/{sub}"), format!(" --subresource={sub}")),
    };
    let (place, flag, role) = match namespace {
        Some(name) => (format!(" in the namespace {name}"), format!(" -n {name}"), "Role"),
        None => (String::new(), " -A".to_owned(), "ClusterRole"),
    };
    let remedy = format!(
        "`kubectl auth can-i {verb} {name}{option}{flag}` tells whether it is there; rule for a \
         {role}: - {rule}"
    );
    Some((format!("missing right: {verb} {name}{slash}{place}"), remedy))
}

/// Whether a write was authorized, and then refused for what it says: by a webhook, say, or a quota.
fn is_of_admission(failure: &Failure) -> bool {
    let unauthorized = |api: &ApiStatus| {
        ["update", "create"]
            .iter()
            .any(|verb| api.message.contains(&format!(" cannot {verb} resource ")))
    };
    failure.method != Method::Get && !failure.api().is_some_and(unauthorized)
}

/// What to do about a metrics API that cannot be asked, beside what the controller says about it.
pub(super) fn advice(failure: &Failure) -> Option<String> {
    if let Some(right) = missing(failure) {
        return Some(right);
    }
    let mut parts = failure.path.trim_start_matches('/').split('/');
    let (Some("apis"), Some(group), Some(version)) = (parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    // A Status with details is about one metric, not about the API.
    let api = failure.api()?;
    let whole = matches!(api.code, 404 if !api.from_server) || api.code == 503;
    whole.then(|| {
        format!(
            "{group} is not available ({}): `kubectl get apiservice {version}.{group}` tells why",
            api.code
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::{ApiStatus, Failure, FailureKind};
    use super::missing;

    #[test]
    fn rights_are_read_off_the_path() {
        for (path, want) in [
            (
                "/api/v1/namespaces/shop/pods?limit=500",
                "missing right: list pods in the namespace shop; `kubectl auth can-i list pods -n \
                 shop` tells whether it is there; rule for a Role: - {apiGroups: [\"\"], \
                 resources: [\"pods\"], verbs: [\"list\"]}",
            ),
            (
                "/apis/apps/v1/namespaces/shop/deployments/web/scale",
                "missing right: get deployments.apps/scale in the namespace shop; `kubectl auth \
                 can-i get deployments.apps --subresource=scale -n shop` tells whether it is \
                 there; rule for a Role: - {apiGroups: [\"apps\"], resources: \
                 [\"deployments/scale\"], verbs: [\"get\"]}",
            ),
            (
                "/apis",
                "missing right: get /apis; `kubectl auth can-i get /apis` tells whether it is \
                 there; rule for a ClusterRole: - {nonResourceURLs: [\"/apis\"], verbs: \
                 [\"get\"]}",
            ),
        ] {
            let mut failure = Failure::unreadable("host", path, "");
            assert_eq!(missing(&failure), None);
            let status = ApiStatus { code: 403, ..ApiStatus::default() };
            failure.kind = FailureKind::Api(Box::new(status));
            assert_eq!(missing(&failure).as_deref(), Some(want));
        }
    }
}
