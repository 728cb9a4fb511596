//! The right that a refused request lacks, derived from its path as the API server does, and how to check
//! whether the user has it; with it, a failure becomes an error. Nothing is sent here. Follows
//! `RequestInfoFactory` of apiserver.

use std::time::Duration;

use super::super::http::status::ResourcePath;
use super::super::{ApiStatus, Failure, FailureKind, Method};
use crate::error::Error;
use crate::snapshot::note::{Note, Subject};
use crate::snapshot::right::{MissingRight, Right, UnknownFactCause};

/// Returns the right that a request needs.
fn needed(method: Method, requested: &str) -> Right {
    let alone = || Right::Path(requested.split('?').next().unwrap_or_default().to_owned());
    let Some(ResourcePath {
        group,
        namespace,
        rest,
        ..
    }) = ResourcePath::of(requested)
    else {
        return alone();
    };
    let (verb, resource) = match rest.as_slice() {
        [] => return alone(),
        [resource] => ("list", (*resource).to_owned()),
        [resource, _] => ("get", (*resource).to_owned()),
        [resource, _, sub, ..] => ("get", format!("{resource}/{sub}")),
    };
    let verb = match method {
        Method::Get => verb,
        Method::Put => "update",
        Method::Post => "create",
    };
    Right::Resource {
        verb,
        group: group.to_owned(),
        resource,
        namespace: namespace.map(str::to_owned),
    }
}

/// The failure in kubectl's words, with the missing right as a hint if that is the cause.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        // Only these start with `error: ` in kubectl.
        let plain = match &failure.kind {
            FailureKind::Api(status) => {
                status.may_be_of_another() || status.reason == "Unauthorized"
            }
            FailureKind::Body(_) | FailureKind::Page | FailureKind::Interrupted => true,
            _ => false,
        };
        let error = if plain {
            Self::failed(text)
        } else {
            Self::bare(text)
        };
        let reason = failure
            .api()
            .filter(|_| !plain)
            .map(|status| status.reason.clone());
        let hint = missing(&failure).map_or_else(|| failure.hint(), |right| Some(right.advice()));
        let took = failure.took;
        let untimed = Failure {
            took: Duration::ZERO,
            ..failure
        };
        Self {
            retried: (untimed.tries > 1).then(|| (untimed.to_string(), took).into()),
            reason: reason.filter(|reason| !reason.is_empty()),
            hint,
            ..error
        }
    }
}

/// Returns the missing right.
pub(super) fn missing(failure: &Failure) -> Option<MissingRight> {
    (failure.lacks_right() && !is_of_admission(failure)).then(|| MissingRight {
        right: needed(failure.method, &failure.path),
        path: failure.path.clone(),
        flags: failure.command_flags.clone(),
    })
}

/// Returns the missing right, or the failure itself.
pub(super) fn cause(failure: &Failure) -> UnknownFactCause {
    missing(failure).map_or_else(
        || UnknownFactCause::Failed(failure.to_string()),
        |right| UnknownFactCause::MissingRight(Box::new(right)),
    )
}

/// Whether a write was authorized but rejected for its content, for example by a webhook or a quota.
fn is_of_admission(failure: &Failure) -> bool {
    let refusals = [" cannot update resource ", " cannot create resource "];
    let unauthorized = |api: &ApiStatus| refusals.iter().any(|it| api.message.contains(it));
    failure.method != Method::Get && !failure.api().is_some_and(unauthorized)
}

/// Returns the remedy for a metrics API that is unavailable, or whose answer was lost, in addition to the message.
pub(super) fn advice(failure: &Failure) -> Option<Note> {
    if let Some(right) = missing(failure) {
        return Some(Note::about(Subject::UnreadMetric, right.advice()));
    }
    let api = ResourcePath::of(&failure.path).filter(|it| !it.group.is_empty());
    if failure.is_own() {
        let subject = api.map_or("the API server", |it| it.group);
        let text = format!("{subject} could not be read: {}", failure.hint()?);
        return Some(Note::about(Subject::UnreadMetric, text));
    }
    let ResourcePath { group, version, .. } = api?;
    // A Status with details concerns one metric, not the API.
    let status = failure.api().filter(|it| !it.html)?;
    let whole = matches!(status.code, 404 if !status.from_server) || status.code == 503;
    whole.then(|| {
        let command = failure
            .command_flags
            .add_to(&format!("kubectl get apiservice {version}.{group}"));
        Note::new(format!(
            "{group} is not available ({}): see `{command}`",
            status.code
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::super::super::{ApiStatus, Failure};
    use super::missing;

    #[test]
    fn rights_are_read_off_the_path() {
        for (path, want) in [
            (
                "/api/v1/namespaces/shop/pods?limit=500",
                "missing permission: list pods in the namespace shop; check it with `kubectl auth \
                 can-i list pods -n shop`; add to a Role: - {apiGroups: [\"\"], \
                 resources: [\"pods\"], verbs: [\"list\"]}",
            ),
            (
                "/apis/apps/v1/namespaces/shop/deployments/web/scale",
                "missing permission: get deployments.apps/scale in the namespace shop; check it \
                 with `kubectl auth can-i get deployments.apps --subresource=scale -n shop`; add \
                 to a Role: - {apiGroups: [\"apps\"], resources: \
                 [\"deployments/scale\"], verbs: [\"get\"]}",
            ),
            (
                "/apis",
                "missing permission: get /apis; check it with `kubectl auth can-i get /apis`; add \
                 to a ClusterRole: - {nonResourceURLs: [\"/apis\"], verbs: \
                 [\"get\"]}",
            ),
        ] {
            let missing = |status| missing(&Failure::of(status, path));
            let status = ApiStatus {
                code: 403,
                from_server: true,
                ..ApiStatus::default()
            };
            let of_gateway = ApiStatus {
                from_server: false,
                ..status.clone()
            };
            let of_impersonation = ApiStatus {
                message: "users \"jane\" is forbidden: User \"bob\" cannot impersonate resource \"users\"".to_owned(),
                ..status.clone()
            };
            let of_anonymous = ApiStatus {
                message:
                    "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\""
                        .to_owned(),
                ..status.clone()
            };
            let hint = Failure::of(of_anonymous.clone(), path).hint();
            assert!(hint.is_some_and(|it| it.starts_with("system:anonymous means ")));
            for other in [of_gateway, of_impersonation, of_anonymous] {
                assert_eq!(missing(other), None);
            }
            let right = missing(status).map(|right| right.advice());
            assert_eq!(right.as_deref(), Some(want));
        }
    }
}
