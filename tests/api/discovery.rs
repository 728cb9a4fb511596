//! The served kinds, and their discovery documents: aggregated as recorded, plain as recorded where
//! available and otherwise derived from the aggregated ones.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::answer::{not_served, page_not_found};
use super::http::Answer;
use super::json::{each, each_mut, ordered, string};
use super::recorded::exchange;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The served kinds.
pub(crate) struct Discovery {
    core: Value,
    groups: Value,
    /// `APIResourceList`s by group version.
    plain: BTreeMap<String, Value>,
    /// Groups that are not built into the server: their unknown paths get another 404.
    delegated: BTreeSet<String>,
}

impl Discovery {
    /// What the recorded server served.
    pub(crate) fn recorded() -> Self {
        let core = exchange("discovery aggregated core").response.body;
        let groups = exchange("discovery aggregated groups").response.body;
        let mut plain = BTreeMap::new();
        let mut delegated = BTreeSet::new();
        for (group, version) in versions(&core).chain(versions(&groups)) {
            let list = resource_list(group, version);
            if version.get("resources").is_none() {
                delegated.insert(group.to_owned());
            }
            plain.insert(string(&list, "/groupVersion").to_owned(), list);
        }
        for name in ["apps/v1", "custom metrics", "metrics"] {
            let list = exchange(&format!("discovery {name}")).response.body;
            plain.insert(string(&list, "/groupVersion").to_owned(), list);
        }
        let mut discovery = Self {
            core,
            groups,
            plain,
            delegated,
        };
        // The recorded server had not reached its backends yet at that time.
        discovery.set_freshness("", "Current");
        discovery
    }

    /// Sets for a group, or for all, whether its discovery worked when the server last asked.
    pub(crate) fn set_freshness(&mut self, group: &str, freshness: &str) {
        let items = each_mut(&mut self.groups["items"]);
        for item in items.filter(|it| group.is_empty() || string(it, "/metadata/name") == group) {
            for version in each_mut(&mut item["versions"]) {
                version["freshness"] = json!(freshness);
            }
        }
    }

    /// Whether the group version is served at all.
    pub(crate) fn serves(&self, group_version: &str) -> bool {
        self.plain.contains_key(group_version)
    }

    /// The resource of that name, such as `deployments` or `deployments/scale`.
    pub(crate) fn resource(&self, group_version: &str, name: &str) -> Option<&Value> {
        self.resources(group_version)
            .find(|resource| string(resource, "/name") == name)
    }

    /// The name of a kind's resource, and whether its objects have namespaces.
    pub(crate) fn of_kind(&self, group_version: &str, kind: &str) -> Option<(&str, bool)> {
        let resource = self.resources(group_version).find(|resource| {
            string(resource, "/kind") == kind && !string(resource, "/name").contains('/')
        })?;
        let namespaced = resource["namespaced"] == json!(true);
        Some((string(resource, "/name"), namespaced))
    }

    /// Whether the group is built into the server.
    pub(crate) fn built_in(&self, group: &str) -> bool {
        let known = group.is_empty() || versions(&self.groups).any(|(name, _)| name == group);
        known && !self.delegated.contains(group)
    }

    /// Returns the 404 for what is not served.
    pub(crate) fn missing(&self, group: &str) -> Answer {
        if self.built_in(group) {
            not_served()
        } else {
            page_not_found()
        }
    }

    /// Serves a custom kind, with the scale subresource if `scale` is set.
    pub(crate) fn add_kind(&mut self, group_version: &str, kind: &str, plural: &str, scale: bool) {
        let (group, version) = split(group_version);
        self.delegated.insert(group.to_owned());
        let verbs = json!([
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "create",
            "update",
            "watch"
        ]);
        let reference = json!({"group": group, "version": version, "kind": kind});
        let mut resource = json!({
            "resource": plural,
            "responseKind": reference,
            "scope": "Namespaced",
            "singularResource": kind.to_lowercase(),
            "verbs": verbs,
        });
        if scale {
            resource["subresources"] = json!([{
                "subresource": "scale",
                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                "verbs": ["get", "patch", "update"],
            }]);
        }
        let versions = self.versions_mut(group);
        let at = versions
            .iter()
            .position(|v| string(v, "/version") == version);
        let at = at.unwrap_or_else(|| {
            versions.push(json!({"version": version, "resources": [], "freshness": "Current"}));
            versions.len() - 1
        });
        if versions[at].get("resources").is_none() {
            versions[at]["resources"] = json!([]);
        }
        let resources = versions[at]["resources"].as_array_mut();
        resources.expect("an array of resources").push(resource);
        let list = resource_list(group, &versions[at]);
        self.plain.insert(group_version.to_owned(), list);
    }

    /// Serves a group of another server in these versions, the preferred one first, with its existing
    /// resources; an empty list stops serving it.
    pub(crate) fn serve_versions(&mut self, group: &str, versions: &[&str]) {
        let (had, others) = std::mem::take(&mut self.plain)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(name, _)| split(name).0 == group);
        self.plain = others;
        if versions.is_empty() {
            let items = self.groups["items"].as_array_mut();
            items
                .expect("a list of groups")
                .retain(|item| string(item, "/metadata/name") != group);
            return;
        }
        self.delegated.insert(group.to_owned());
        for version in versions {
            let group_version = format!("{group}/{version}");
            let mut list = had.values().next().cloned().unwrap_or_else(
                || json!({"kind": "APIResourceList", "apiVersion": "v1", "resources": []}),
            );
            list["groupVersion"] = json!(group_version);
            self.plain.insert(group_version, list);
        }
        *self.versions_mut(group) = versions
            .iter()
            .map(|version| json!({"version": version, "freshness": "Current"}))
            .collect();
    }

    /// Stops serving one version of a built-in group.
    pub(crate) fn remove_version(&mut self, group_version: &str) {
        let (group, version) = split(group_version);
        self.plain.remove(group_version);
        self.versions_mut(group)
            .retain(|served| string(served, "/version") != version);
    }

    /// Lists a metric among the resources of its API. The aggregated discovery has a custom metric as a subresource of
    /// what it describes.
    pub(crate) fn add_metric(&mut self, group: &str, name: &str, kind: &str, verbs: &[&str]) {
        let lists = self.plain.iter_mut();
        for (_, list) in lists.filter(|(name, _)| split(name).0 == group) {
            let resources = list["resources"].as_array_mut();
            let resources = resources.expect("an array of resources");
            if resources.iter().all(|known| string(known, "/name") != name) {
                resources.push(json!({
                    "name": name,
                    "singularName": "",
                    "namespaced": true,
                    "kind": kind,
                    "verbs": verbs,
                }));
            }
        }
        for version in self.versions_mut(group) {
            if version.get("resources").is_none() {
                version["resources"] = json!([]);
            }
            let resources = version["resources"]
                .as_array_mut()
                .expect("an array of resources");
            let resource = match name.split_once('/') {
                Some((of, name)) => {
                    json!({"resource": of, "subresources": [{"subresource": name}]})
                }
                None => json!({ "resource": name }),
            };
            resources.push(resource);
        }
    }

    /// Returns the document at `path` in the first form that `accept` names, if it belongs to discovery.
    pub(crate) fn answer(&self, path: &str, accept: &str) -> Option<Answer> {
        let mut parts = path.trim_matches('/').split('/');
        let parts = (parts.next()?, parts.next(), parts.next(), parts.next());
        let document = match parts {
            ("api", None, ..) if wants_aggregated(accept) => return Some(aggregated(&self.core)),
            ("apis", None, ..) if wants_aggregated(accept) => {
                return Some(aggregated(&self.groups));
            }
            ("api", None, ..) => json!({
                "kind": "APIVersions",
                "versions": ["v1"],
                "serverAddressByClientCIDRs": [
                    {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"},
                ],
            }),
            ("apis", None, ..) => json!({
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": each(&self.groups["items"]).map(group).collect::<Vec<_>>(),
            }),
            ("apis", Some(name), None, _) => {
                let found =
                    each(&self.groups["items"]).find(|g| string(g, "/metadata/name") == name);
                let Some(found) = found else {
                    return Some(self.missing(name));
                };
                let mut document = group(found);
                document["kind"] = json!("APIGroup");
                document["apiVersion"] = json!("v1");
                document
            }
            ("api", Some(version), None, _) => return Some(self.list("", version)),
            ("apis", Some(group), Some(version), None) => return Some(self.list(group, version)),
            _ => return None,
        };
        Some(Answer::json(200, ordered(&document)))
    }

    fn list(&self, group: &str, version: &str) -> Answer {
        match self.plain.get(&join(group, version)) {
            Some(list) => Answer::json(200, ordered(list)),
            None => self.missing(group),
        }
    }

    fn resources(&self, group_version: &str) -> impl Iterator<Item = &Value> {
        let list = self.plain.get(group_version).into_iter();
        list.flat_map(|list| each(&list["resources"]))
    }

    /// Returns the versions of a group, which is added if it is missing.
    fn versions_mut(&mut self, group: &str) -> &mut Vec<Value> {
        let items = self.groups["items"].as_array_mut();
        let items = items.expect("a list of groups");
        let at = items
            .iter()
            .position(|item| string(item, "/metadata/name") == group);
        let at = at.unwrap_or_else(|| {
            items.push(json!({"metadata": {"name": group}, "versions": []}));
            items.len() - 1
        });
        let versions = items[at]["versions"].as_array_mut();
        versions.expect("an array of versions")
    }
}

/// `group/version`, or `version` in the group without a name.
pub(crate) fn join(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Group and version of an `apiVersion`.
pub(crate) fn split(group_version: &str) -> (&str, &str) {
    group_version.split_once('/').unwrap_or(("", group_version))
}

fn aggregated(document: &Value) -> Answer {
    let mut answer = Answer::json(200, ordered(document));
    answer.headers = vec![("Content-Type".into(), AGGREGATED.into())];
    answer
}

/// Whether the aggregated form precedes the plain one.
fn wants_aggregated(accept: &str) -> bool {
    let entry = accept.split(',').map(str::trim).find(|entry| {
        let is = |parameter: &str| entry.split(';').any(|part| part.trim() == parameter);
        !entry.contains("as=") || is("as=APIGroupDiscoveryList") && is("v=v2")
    });
    entry.is_some_and(|entry| entry.contains("as="))
}

/// All versions of an `APIGroupDiscoveryList` with the names of their groups.
fn versions(list: &Value) -> impl Iterator<Item = (&str, &Value)> {
    each(&list["items"]).flat_map(|group| {
        each(&group["versions"]).map(|version| (string(group, "/metadata/name"), version))
    })
}

/// The entry of an `APIGroupList` for one of an `APIGroupDiscoveryList`.
fn group(item: &Value) -> Value {
    let name = string(item, "/metadata/name");
    let versions: Vec<_> = each(&item["versions"])
        .map(|version| {
            let version = string(version, "/version");
            json!({"groupVersion": join(name, version), "version": version})
        })
        .collect();
    json!({"name": name, "preferredVersion": versions.first(), "versions": versions})
}

/// The `APIResourceList` for one version of an `APIGroupDiscoveryList`, without the storage hashes
/// that only the server knows.
pub(crate) fn resource_list(group: &str, version: &Value) -> Value {
    let mut resources = Vec::new();
    let entry = |name: String, of: &Value, scope: &Value| {
        let kind = &of["responseKind"];
        let mut entry = json!({
            "name": name,
            "singularName": of.get("singularResource").unwrap_or(&json!("")),
            "namespaced": scope == "Namespaced",
            "kind": kind["kind"],
            "verbs": of["verbs"],
        });
        let own = (&json!(group), &version["version"]);
        if kind["version"] != "" && (&kind["group"], &kind["version"]) != own {
            entry["group"] = kind["group"].clone();
            entry["version"] = kind["version"].clone();
        }
        for field in ["shortNames", "categories"] {
            if let Some(value) = of.get(field) {
                entry[field] = value.clone();
            }
        }
        entry
    };
    for resource in each(&version["resources"]) {
        let (name, scope) = (string(resource, "/resource"), &resource["scope"]);
        resources.push(entry(name.to_owned(), resource, scope));
        for sub in each(&resource["subresources"]) {
            let name = format!("{name}/{}", string(sub, "/subresource"));
            resources.push(entry(name, sub, scope));
        }
    }
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": join(group, string(version, "/version")),
        "resources": resources,
    })
}
