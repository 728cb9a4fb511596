//! Who sent a request and whether they may: tokens, client certificates, impersonation, and rights
//! by user, verb and resource, with the server's messages about missing ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::answer::status;
use super::http::{Answer, Request};
use super::json::ordered;

/// The start of a token; the name of its user follows.
const TOKEN: &str = "secret-token-of-";

/// The bearer token of a user.
pub(crate) fn token(user: &str) -> String {
    format!("{TOKEN}{user}")
}

/// What a path requests, as in the server's `RequestInfo`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// The API group; "" for the core group.
    pub(crate) group: String,
    /// The version.
    pub(crate) version: String,
    /// The namespace, if the path has one.
    pub(crate) namespace: Option<String>,
    /// The resource; "" if the path does not name one.
    pub(crate) resource: String,
    /// The object's name.
    pub(crate) name: Option<String>,
    /// The subresource, which follows the name.
    pub(crate) subresource: Option<String>,
}

impl Target {
    /// Parses a path. Returns `None` for paths outside group versions.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let mut parts: Vec<_> = path.trim_matches('/').split('/').collect();
        let (group, version, from) = match parts.as_slice() {
            ["api", version, _, ..] => ("", *version, 2),
            ["apis", group, version, _, ..] => (*group, *version, 3),
            _ => return None,
        };
        let mut target = Self {
            group: group.to_owned(),
            version: version.to_owned(),
            ..Self::default()
        };
        parts.drain(..from);
        if let ["namespaces", namespace, resource, ..] = parts.as_slice()
            && !["status", "finalize"].contains(resource)
        {
            target.namespace = Some((*namespace).to_owned());
            parts.drain(..2);
        }
        let mut parts = parts.into_iter().map(str::to_owned);
        target.resource = parts.next()?;
        target.name = parts.next();
        target.subresource = parts.next();
        Some(target)
    }

    /// `pods`, `deployments.apps`: the resource as named in messages.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// `deployments.apps/scale`: the resource as named in rights.
    fn right(&self) -> String {
        let sub = self.subresource.as_deref();
        self.qualified() + &sub.map(|sub| format!("/{sub}")).unwrap_or_default()
    }
}

/// Who sent a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// The name.
    pub(crate) name: String,
    groups: Vec<String>,
}

/// The rights of all users. Users granted everything have what is not denied, all others only what
/// is allowed and not denied.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    everything: BTreeSet<String>,
    allowed: Vec<Rule>,
    denied: Vec<Rule>,
}

#[derive(Debug)]
struct Rule {
    user: String,
    verb: String,
    resource: String,
    /// Limits it to this namespace.
    namespace: Option<String>,
    /// Limits it to the object of this name.
    name: Option<String>,
}

impl Rule {
    fn new([user, verb, resource]: [&str; 3]) -> Self {
        let (resource, namespace) = match resource.split_once('@') {
            Some((resource, namespace)) => (resource, Some(namespace.to_owned())),
            None => (resource, None),
        };
        let (resource, name) = match resource.split_once('#') {
            Some((resource, name)) => (resource, Some(name.to_owned())),
            None => (resource, None),
        };
        let [user, verb, resource] = [user, verb, resource].map(str::to_owned);
        Self {
            user,
            verb,
            resource,
            namespace,
            name,
        }
    }

    fn covers(&self, user: &str, verb: &str, target: &Target) -> bool {
        let is = |pattern: &str, text: &str| pattern == "*" || pattern == text;
        let group = self.resource.strip_prefix("*.");
        is(&self.user, user)
            && is(&self.verb, verb)
            && (self.namespace.is_none() || self.namespace == target.namespace)
            && (self.name.is_none() || self.name == target.name)
            && (is(&self.resource, &target.right()) || group == Some(&target.group))
    }
}

impl Rights {
    /// Grants `user` every right.
    pub(crate) fn grant(&mut self, user: &str) {
        self.everything.insert(user.to_owned());
    }

    /// Grants a right; `*` means any user, verb or resource.
    pub(crate) fn allow(&mut self, rule: [&str; 3]) {
        self.allowed.push(Rule::new(rule));
    }

    /// Revokes a right from everyone.
    pub(crate) fn deny(&mut self, rule: [&str; 3]) {
        self.denied.push(Rule::new(rule));
    }

    /// Gives all revoked rights back.
    pub(crate) fn restore(&mut self) {
        self.denied.clear();
    }

    fn may(&self, user: &User, verb: &str, target: &Target) -> bool {
        let covers = |rule: &Rule| rule.covers(&user.name, verb, target);
        let any = self.has_everything(user) || self.allowed.iter().any(covers);
        any && !self.denied.iter().any(covers)
    }

    fn has_everything(&self, user: &User) -> bool {
        let masters = user.groups.iter().any(|group| group == "system:masters");
        masters || self.everything.contains(&user.name)
    }

    /// Returns the headers that say which limits of priority and fairness applied, as recorded.
    pub(crate) fn fairness(&self, user: &User) -> [(&'static str, &'static str); 2] {
        let (schema, level) = if self.has_everything(user) {
            (
                "cb59dec0-eda7-495b-ad1a-51690bf25ca7",
                "8f2c64f1-d238-4601-8ee6-7587cee2acee",
            )
        } else {
            (
                "8d337b84-27d0-48b1-9117-6dade623bc26",
                "42b837a3-95c6-47cc-9684-4b047414e163",
            )
        };
        [
            ("X-Kubernetes-Pf-Flowschema-Uid", schema),
            ("X-Kubernetes-Pf-Prioritylevel-Uid", level),
        ]
    }

    /// Returns the sender of a request. `certificate` is the user of the client certificate, and
    /// `Some(None)` if that user is unknown.
    ///
    /// # Errors
    ///
    /// The 401, or the 403 for impersonation.
    pub(crate) fn sender(
        &self,
        request: &Request,
        certificate: Option<Option<String>>,
    ) -> Result<User, Box<Answer>> {
        let header = request.header("authorization");
        let bearer = header.and_then(|value| value.strip_prefix("Bearer "));
        let token = bearer.map(|token| token.strip_prefix(TOKEN).map(str::to_owned));
        let name = match (certificate, token) {
            (Some(Some(name)), _) | (_, Some(Some(name))) => name,
            (None, None) => {
                return Ok(User {
                    name: "system:anonymous".to_owned(),
                    groups: vec!["system:unauthenticated".to_owned()],
                });
            }
            _ => {
                let answer = status(401, "Unauthorized", "Unauthorized", None);
                return Err(Box::new(answer));
            }
        };
        let groups = vec!["system:authenticated".to_owned()];
        let user = User {
            name,
            groups: groups.clone(),
        };
        let Some(other) = request.header("impersonate-user") else {
            return Ok(user);
        };
        let target = Target {
            resource: "users".to_owned(),
            name: Some(other.to_owned()),
            ..Target::default()
        };
        if !self.may(&user, "impersonate", &target) {
            return Err(Box::new(forbidden(&user, "impersonate", &target)));
        }
        let headers = request.headers.iter();
        let stated = headers.filter(|(name, _)| name == "impersonate-group");
        // As the API server adds it (`WithImpersonation`).
        let all = groups
            .into_iter()
            .chain(stated.map(|(_, group)| group.clone()));
        Ok(User {
            name: other.to_owned(),
            groups: all.collect(),
        })
    }

    /// Whether `user` may send that request.
    ///
    /// # Errors
    ///
    /// The 403.
    pub(crate) fn check(&self, user: &User, request: &Request) -> Result<(), Box<Answer>> {
        let Some(target) = Target::parse(&request.path) else {
            return self.check_path(user, request);
        };
        let verb = match (request.method.as_str(), &target.name) {
            ("GET", Some(_)) => "get",
            ("GET", None) if request.parameter("watch").is_some() => "watch",
            ("GET", None) => "list",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            _ => "delete",
        };
        if self.may(user, verb, &target) {
            return Ok(());
        }
        Err(Box::new(forbidden(user, verb, &target)))
    }

    /// Answers whether the sender has a right, which everyone may ask; `None` if the request asks something else.
    pub(crate) fn review(&self, user: &User, request: &Request) -> Option<Answer> {
        let asked = Target::parse(&request.path)?;
        if (request.method.as_str(), asked.qualified().as_str())
            != ("POST", "selfsubjectaccessreviews.authorization.k8s.io")
        {
            return None;
        }
        let asked = Asked::read(&request.body)?;
        let is_allowed = match &asked {
            Asked::Resource { verb, target } => self.may(user, verb, target),
            Asked::Path => self.has_everything(user),
        };
        let review = json!({
            "kind": "SelfSubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {},
            "status": { "allowed": is_allowed },
        });
        Some(Answer::json(201, ordered(&review)))
    }

    /// Anyone may request the version, and authenticated users may use discovery
    /// (`system:public-info-viewer` and `system:discovery`).
    fn check_path(&self, user: &User, request: &Request) -> Result<(), Box<Answer>> {
        let first = request.path.split('/').nth(1).unwrap_or_default();
        let known = user
            .groups
            .iter()
            .any(|group| group == "system:authenticated");
        if ["version", "healthz", "livez", "readyz"].contains(&first)
            || known && ["api", "apis", "openapi"].contains(&first)
            || self.has_everything(user)
        {
            return Ok(());
        }
        let verb = request.method.to_lowercase();
        let text = format!(
            "forbidden: User \"{}\" cannot {verb} path \"{}\"",
            user.name, request.path
        );
        Err(Box::new(status(403, "Forbidden", &text, Some(json!({})))))
    }
}

/// What a review asks about.
enum Asked {
    Resource { verb: String, target: Target },
    Path,
}

impl Asked {
    /// Reads the spec of a SelfSubjectAccessReview in Protobuf, as kubectl sends it: `ResourceAttributes` are field 1.
    fn read(body: &[u8]) -> Option<Self> {
        let envelope = fields(body.strip_prefix(b"k8s\0")?);
        let review = fields(envelope.get(&2)?);
        let spec = fields(review.get(&2)?);
        let Some(attributes) = spec.get(&1) else {
            return Some(Self::Path);
        };
        let attributes = fields(attributes);
        let text = |field: u64| {
            let text = attributes.get(&field).filter(|text| !text.is_empty());
            text.map(|text| String::from_utf8_lossy(text).into_owned())
        };
        let target = Target {
            namespace: text(1),
            group: text(3).unwrap_or_default(),
            resource: text(5).unwrap_or_default(),
            subresource: text(6),
            name: text(7),
            ..Target::default()
        };
        Some(Self::Resource {
            verb: text(2).unwrap_or_default(),
            target,
        })
    }
}

/// Returns the fields of a Protobuf message that have a length.
fn fields(mut message: &[u8]) -> BTreeMap<u64, &[u8]> {
    fn number(bytes: &mut &[u8]) -> u64 {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let Some((byte, rest)) = bytes.split_first() else {
                break;
            };
            *bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        number
    }
    let mut fields = BTreeMap::new();
    while !message.is_empty() {
        let tag = number(&mut message);
        let value = number(&mut message);
        if tag & 7 == 2 {
            let (text, rest) =
                message.split_at(usize::try_from(value).unwrap_or(0).min(message.len()));
            fields.insert(tag >> 3, text);
            message = rest;
        }
    }
    fields
}

/// The 403 in the words of the server's `ForbiddenMessage`.
fn forbidden(user: &User, verb: &str, target: &Target) -> Answer {
    let name = target.name.as_deref().map(|name| format!(" \"{name}\""));
    let sub = target.subresource.as_deref().map(|sub| format!("/{sub}"));
    let place = match &target.namespace {
        Some(namespace) => format!("in the namespace \"{namespace}\""),
        None => "at the cluster scope".to_owned(),
    };
    let text = format!(
        "{}{} is forbidden: User \"{}\" cannot {verb} resource \"{}{}\" in API group \"{}\" {place}",
        target.qualified(),
        name.unwrap_or_default(),
        user.name,
        target.resource,
        sub.unwrap_or_default(),
        target.group,
    );
    status(403, "Forbidden", &text, Some(details(target)))
}

/// The `details` of a Status about `target`.
pub(crate) fn details(target: &Target) -> serde_json::Value {
    let mut details = json!({"kind": target.resource});
    if let Some(name) = &target.name {
        details["name"] = json!(name);
    }
    if !target.group.is_empty() {
        details["group"] = json!(target.group);
    }
    details
}
