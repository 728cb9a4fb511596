//! The resource of a kind, and the path of its scale. Built-in kinds are known; for others, the API
//! server's aggregated discovery is asked once. Only group and kind matter, as in the
//! controller's mapper; the version of a reference is ignored. Follows `RESTMappings`.

use serde::Deserialize;

use crate::apimachinery::json;
use crate::apimachinery::metadata::Metadata;
use crate::apimachinery::names::{plural, segment};
use crate::cluster::{Failure, Method, Session};

/// A resource, with the version that the server prefers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    /// The API group; empty for the core group.
    pub(crate) group: String,
    /// The preferred version.
    pub(crate) version: String,
    /// The plural name in paths.
    pub(crate) name: String,
}

impl Resource {
    pub(crate) fn new(group: &str, version: &str, name: &str) -> Self {
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns the path of all objects in a namespace.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let api = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        collection(&api, Some(namespace), &self.name)
    }

    /// Returns the path of an object in a namespace.
    pub(crate) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), segment(name))
    }

    /// Returns `resource.group`, or the resource alone in the core group.
    pub(crate) fn group_resource(&self) -> String {
        match self.group.as_str() {
            "" => self.name.clone(),
            group => format!("{}.{group}", self.name),
        }
    }
}

/// Returns the path of all objects of a resource in one namespace, or in all. `api` is the path of a group's version.
pub(crate) fn collection(api: &str, namespace: Option<&str>, resource: &str) -> String {
    match namespace {
        Some(namespace) => format!("{api}/namespaces/{}/{resource}", segment(namespace)),
        None => format!("{api}/{resource}"),
    }
}

/// The kinds that every server has in the version v1 of a group.
const BUILT_IN: [(&str, &[&str]); 3] = [
    ("", &["ReplicationController", "Pod", "Service", "Node"]),
    ("apps", &["Deployment", "StatefulSet", "ReplicaSet"]),
    ("networking.k8s.io", &["Ingress"]),
];

/// Returns the resource of a kind that every server has. Discovery knows a kind in its spelling and in lower case, and
/// nothing in between.
pub(crate) fn built_in(group: &str, kind: &str) -> Option<Resource> {
    let (_, kinds) = BUILT_IN.iter().find(|(own, _)| *own == group)?;
    let known = kinds.iter().find(|known| is_kind(known, kind))?;
    Some(Resource::new(group, "v1", &plural(known)))
}

fn is_kind(known: &str, kind: &str) -> bool {
    known == kind || known.to_lowercase() == kind
}

/// The server's resources, as the controller's client sees them. Stale versions, whose discovery failed
/// when the server last requested it, are left out (`SplitGroupsAndResources`).
#[derive(Debug, Default)]
pub(crate) struct Discovery {
    groups: Vec<ApiGroup>,
    /// The reason why the resources are unknown.
    plain: Option<Failure>,
}

/// The resources for an HPA that does not need them.
pub(super) static UNDISCOVERED: Result<Discovery, Failure> = Ok(Discovery {
    groups: Vec::new(),
    plain: None,
});

const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

impl Discovery {
    /// Requests all groups at once.
    ///
    /// # Errors
    ///
    /// The server does not answer, or its answer has no groups.
    pub(crate) async fn ask(session: &Session) -> Result<Self, Failure> {
        let path = "/apis";
        let response = session.get_as(path, ACCEPT).await?;
        let list: GroupList = session.object(&response, json::read).await?;
        match list.kind.as_str() {
            "APIGroupDiscoveryList" => {
                let mut groups = list.items;
                for ApiGroup {
                    versions, stale, ..
                } in &mut groups
                {
                    stale.extend(versions.extract_if(.., |it| it.freshness == "Stale"));
                }
                Ok(Self {
                    groups,
                    plain: None,
                })
            }
            // From servers before v1.27, which do not report staleness.
            "APIGroupList" => {
                let cause = "the server has no aggregated discovery; servers have it as of v1.27";
                let plain = Some(session.unreadable(Method::Get, path, cause));
                Ok(Self {
                    groups: list.groups.into_iter().map(ApiGroup::from).collect(),
                    plain,
                })
            }
            other => {
                let cause = format!("neither groups nor resources, but the kind {other:?}");
                Err(session.unreadable(Method::Get, path, cause))
            }
        }
    }

    fn group(&self, name: &str) -> Option<&ApiGroup> {
        self.groups.iter().find(|it| &*it.metadata.name == name)
    }

    /// Returns the versions of a group, the preferred one first; `None` if the group is not served.
    pub(crate) fn versions(&self, group: &str) -> Option<impl Iterator<Item = &str>> {
        let found = self.group(group)?;
        Some(found.versions.iter().map(|version| &*version.version))
    }

    /// Returns the preferred version of a group whose versions are all stale.
    pub(crate) fn stale(&self, group: &str) -> Option<&str> {
        let found = self.group(group)?;
        let first = found.stale.first().filter(|_| found.versions.is_empty())?;
        Some(&first.version)
    }

    /// Returns the metrics that the metrics API of a group serves, named as in its list.
    pub(crate) fn metrics(&self, group: &str) -> Vec<String> {
        let versions = self.group(group).into_iter().flat_map(|it| &it.versions);
        let resources = versions.flat_map(|it| &it.resources);
        let names = resources.flat_map(|own| {
            // Custom metrics are listed as subresources of the objects that they describe.
            let described = own
                .subresources
                .iter()
                .map(|it| format!("{}/{}", own.resource, it.subresource));
            let external = Some(own.resource.clone()).filter(|_| own.subresources.is_empty());
            described.chain(external)
        });
        names.collect()
    }

    /// Returns the resource of a kind, in the first version that serves it.
    ///
    /// # Errors
    ///
    /// The server does not say which resources it has.
    pub(crate) fn resource(&self, group: &str, kind: &str) -> Result<Option<Resource>, &Failure> {
        match &self.plain {
            Some(plain) => Err(plain),
            None => Ok(self
                .served(group, kind)
                .map(|(version, served)| Resource::new(group, &version.version, &served.resource))),
        }
    }

    /// Returns whether a kind has the subresource scale; `None` if the kind is not listed.
    pub(crate) fn serves_scale(&self, group: &str, kind: &str) -> Option<bool> {
        let (_, served) = self.served(group, kind)?;
        let mut subresources = served.subresources.iter();
        Some(subresources.any(|own| own.subresource == "scale"))
    }

    fn served(&self, group: &str, kind: &str) -> Option<(&ApiVersion, &ServedResource)> {
        self.group(group)?.versions.iter().find_map(|version| {
            let mut resources = version.resources.iter();
            let resource = resources.find(|it| is_kind(&it.response_kind.kind, kind))?;
            Some((version, resource))
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GroupList {
    kind: String,
    items: Vec<ApiGroup>,
    groups: Vec<PlainGroup>,
}

/// A group of an `APIGroupList`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PlainGroup {
    name: String,
    preferred_version: ApiVersion,
    versions: Vec<ApiVersion>,
}

impl From<PlainGroup> for ApiGroup {
    fn from(plain: PlainGroup) -> Self {
        let PlainGroup {
            name,
            preferred_version,
            mut versions,
        } = plain;
        // The sort is stable: the others stay in the server's order.
        versions.sort_by_key(|version| version.version != preferred_version.version);
        Self {
            metadata: Metadata {
                name,
                ..Metadata::default()
            },
            versions,
            stale: Vec::new(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiGroup {
    metadata: Metadata,
    versions: Vec<ApiVersion>,
    /// The versions whose discovery failed.
    #[serde(skip)]
    stale: Vec<ApiVersion>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ApiVersion {
    version: String,
    /// `Current` or `Stale`; empty in plain lists.
    freshness: String,
    resources: Vec<ServedResource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ServedResource {
    resource: String,
    response_kind: DiscoveredKind,
    subresources: Vec<Subresource>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subresource {
    subresource: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiscoveredKind {
    kind: String,
}
