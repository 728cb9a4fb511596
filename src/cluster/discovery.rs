//! Which resource a kind is, and where its scale is found. Built-in kinds are known; for others the
//! API server's aggregated discovery is asked once. Only group and kind count, as for the
//! controller's mapper; the version of a reference plays no part. Follows `RESTMappings`.

use serde::Deserialize;

use super::{Failure, Session};

/// A resource, with the version that the server prefers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resource {
    /// The API group; empty for the core group.
    pub(super) group: String,
    /// The preferred version.
    pub(super) version: String,
    /// The plural name in paths.
    pub(super) name: String,
}

impl Resource {
    fn new(group: &str, version: &str, name: &str) -> Self {
        Self { group: group.to_owned(), version: version.to_owned(), name: name.to_owned() }
    }

    /// The path of an object in a namespace.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        let (namespace, name) = (segment(namespace), segment(name));
        format!("{root}/namespaces/{namespace}/{}/{name}", self.name)
    }

    /// `resource.group`, or the resource alone in the core group.
    pub(super) fn group_resource(&self) -> String {
        match self.group.as_str() {
            "" => self.name.clone(),
            group => format!("{}.{group}", self.name),
        }
    }
}

/// The resource of a kind that every server has; its lower-case form names it, too.
pub(super) fn built_in(group: &str, kind: &str) -> Option<Resource> {
    let resource = match (group, kind.to_lowercase().as_str()) {
        ("apps", "deployment") => Resource::new("apps", "v1", "deployments"),
        ("apps", "statefulset") => Resource::new("apps", "v1", "statefulsets"),
        ("apps", "replicaset") => Resource::new("apps", "v1", "replicasets"),
        ("", "replicationcontroller") => Resource::new("", "v1", "replicationcontrollers"),
        ("", "pod") => Resource::new("", "v1", "pods"),
        ("", "service") => Resource::new("", "v1", "services"),
        ("", "node") => Resource::new("", "v1", "nodes"),
        ("networking.k8s.io", "ingress") => Resource::new("networking.k8s.io", "v1", "ingresses"),
        _ => return None,
    };
    let upper = |kind: &str| kind.chars().next().is_some_and(char::is_uppercase);
    // Discovery knows a kind as it is spelt and in lower case, nothing in between.
    let spelt = ["Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"];
    let others = ["Pod", "Service", "Node", "Ingress"];
    let known = spelt.contains(&kind) || others.contains(&kind) || !upper(kind);
    (known && (upper(kind) || kind == kind.to_lowercase())).then_some(resource)
}

/// What the server serves.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    groups: Vec<Group>,
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

impl Discovery {
    /// Asks for all groups at once.
    ///
    /// # Errors
    ///
    /// The server does not answer, or not in the aggregated form (before v1.27).
    pub(super) async fn ask(session: &Session) -> Result<Self, Failure> {
        let path = "/apis";
        let response = session.get(path, AGGREGATED).await?;
        let list: GroupList = serde_json::from_slice(&response.body)
            .map_err(|e| Failure::unreadable(session.host(), path, e.to_string()))?;
        if list.kind != "APIGroupDiscoveryList" {
            let cause = "the server has no aggregated discovery; it is older than v1.27";
            return Err(Failure::unreadable(session.host(), path, cause));
        }
        Ok(Self { groups: list.items })
    }

    /// The resource of a kind, in the first version that serves it.
    pub(super) fn resource(&self, group: &str, kind: &str) -> Option<Resource> {
        let found = self.groups.iter().find(|g| g.metadata.name == group)?;
        found.versions.iter().find_map(|version| {
            let resource = version.resources.iter().find(|resource| {
                let own = &resource.response_kind.kind;
                *own == kind || own.to_lowercase() == kind
            })?;
            Some(Resource::new(group, &version.version, &resource.resource))
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroupList {
    kind: String,
    items: Vec<Group>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Group {
    metadata: Name,
    versions: Vec<Version>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Name {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    version: String,
    resources: Vec<ServedResource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServedResource {
    resource: String,
    response_kind: Kind,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Kind {
    kind: String,
}

/// Text as a segment of a path or a value of a query.
pub(super) fn segment(text: &str) -> String {
    let mut segment = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                segment.push(char::from(byte));
            }
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}
