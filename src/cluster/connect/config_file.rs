//! The shape of a kubeconfig file, read as leniently as kubectl reads it: unknown fields are skipped, null
//! is the zero value, and nothing is required. Errors name the location, never a value, because values may
//! be secrets. Follows client-go's `clientcmd/api/v1`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_yaml::DuplicateKeyPolicy;

use crate::apimachinery::{json, yaml};
use crate::secret::Secret;

/// The setting of a login by OpenID Connect that names a file with certificates.
const OIDC_AUTHORITY: &str = "idp-certificate-authority";

/// One file, or several merged ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Kubeconfig {
    pub(crate) current_context: String,
    pub(crate) contexts: BTreeMap<String, Context>,
    pub(crate) clusters: BTreeMap<String, Cluster>,
    pub(crate) users: BTreeMap<String, User>,
}

/// The cluster, user and namespace to use.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Context {
    pub(crate) cluster: String,
    pub(crate) user: String,
    pub(crate) namespace: String,
}

/// The connection to an API server. Certificate data is in base64.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Cluster {
    pub(crate) server: String,
    pub(crate) tls_server_name: String,
    pub(crate) insecure_skip_tls_verify: bool,
    pub(crate) certificate_authority: String,
    pub(crate) certificate_authority_data: String,
    // The user part of the URL may contain a password.
    pub(crate) proxy_url: Secret,
    pub(crate) disable_compression: bool,
    pub(crate) extensions: Vec<Extension>,
}

/// Settings of other programs about a cluster.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Extension {
    pub(crate) name: String,
    pub(crate) extension: Value,
}

/// The credentials of a user.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct User {
    pub(crate) client_certificate: String,
    pub(crate) client_certificate_data: String,
    pub(crate) client_key: String,
    pub(crate) client_key_data: Secret,
    pub(crate) token: Secret,
    #[serde(rename = "tokenFile")]
    pub(crate) token_file: String,
    #[serde(rename = "as")]
    pub(crate) impersonate: String,
    #[serde(rename = "as-uid")]
    pub(crate) impersonate_uid: String,
    #[serde(rename = "as-groups")]
    pub(crate) impersonate_groups: Vec<String>,
    #[serde(rename = "as-user-extra")]
    pub(crate) impersonate_extra: BTreeMap<String, Vec<String>>,
    pub(crate) username: String,
    pub(crate) password: Secret,
    pub(crate) auth_provider: Option<AuthProvider>,
    pub(crate) exec: Option<Exec>,
}

/// A built-in way to log in.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AuthProvider {
    pub(crate) name: String,
    pub(crate) config: BTreeMap<String, Secret>,
}

/// A program that prints credentials.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Exec {
    pub(crate) command: String,
    pub(crate) args: Vec<Secret>,
    pub(crate) env: Vec<Variable>,
    pub(crate) api_version: String,
    pub(crate) install_hint: String,
    pub(crate) provide_cluster_info: bool,
    pub(crate) interactive_mode: String,
}

/// A variable for a credential program.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) value: Secret,
}

impl Kubeconfig {
    /// Returns the paths in its entries: certificates, keys, tokens, and commands that are paths. Follows
    /// `clientcmd.ResolveLocalPaths`.
    pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let of_clusters = self
            .clusters
            .values_mut()
            .map(|cluster| &mut cluster.certificate_authority);
        let of_users = self.users.values_mut().flat_map(|user| {
            let command = user.exec.as_mut().map(|exec| &mut exec.command);
            [
                &mut user.client_certificate,
                &mut user.client_key,
                &mut user.token_file,
            ]
            .into_iter()
            .chain(command.filter(|command| is_path(command)))
        });
        of_clusters.chain(of_users).filter(|path| !path.is_empty())
    }

    /// Returns the files with certificates that logins by OpenID Connect name.
    pub(super) fn oidc_authorities(&self) -> impl Iterator<Item = &Secret> {
        let providers = self.users.values().flat_map(|user| &user.auth_provider);
        let files = providers.filter_map(|provider| provider.config.get(OIDC_AUTHORITY));
        files.filter(|file| !file.is_empty())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct File {
    kind: String,
    #[serde(rename = "apiVersion")]
    api_version: String,
    current_context: String,
    contexts: Vec<Value>,
    clusters: Vec<Value>,
    users: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedEntry {
    name: String,
    context: Value,
    cluster: Value,
    user: Value,
}

/// Reads a file's text; the error names a line or a field. Resolves paths relative to `directory`.
pub(crate) fn parse(text: &str, directory: &Path) -> Result<Kubeconfig, String> {
    let first = documents(&mut text.as_bytes()).next().transpose()?;
    let value = first.unwrap_or_default();
    let file: File = typed(&value, "")?;
    let right_kind = matches!(file.kind.as_str(), "" | "Config");
    if !right_kind || !matches!(file.api_version.as_str(), "" | "v1") {
        return Err("it is not of kind Config and apiVersion v1".to_owned());
    }
    let mut config = Kubeconfig {
        current_context: file.current_context,
        contexts: entries(file.contexts, "contexts", |entry| entry.context)?,
        clusters: entries(file.clusters, "clusters", |entry| entry.cluster)?,
        users: entries(file.users, "users", |entry| entry.user)?,
    };
    for path in config.paths_mut() {
        *path = directory.join(&*path).to_string_lossy().into_owned();
    }
    Ok(config)
}

/// Reads the documents of a text, each when it is needed: one that follows may be broken. As in kubectl, the last of
/// repeated keys counts.
pub(super) fn documents<'t>(
    text: &'t mut &[u8],
) -> impl Iterator<Item = Result<Value, String>> + 't {
    let mut options = yaml::options(text.len());
    options.duplicate_keys = DuplicateKeyPolicy::LastWins;
    let fault = |e: serde_yaml::Error| match e.without_snippet().location() {
        Some(place) => format!("line {}: not readable as YAML", place.line()),
        None => "not readable as YAML".to_owned(),
    };
    serde_yaml::read_with_options(text, options).map(move |read| read.map_err(fault))
}

/// Reads a value as a type; the error says where the type is wrong, without the value.
pub(crate) fn typed<T: DeserializeOwned>(value: &Value, place: &str) -> Result<T, String> {
    json::decode(&value.to_string()).map_err(|e| match (place, &*e.path) {
        ("", "") => "it is not an object".to_owned(),
        ("", path) | (path, "") => format!("the value of {path} has the wrong type"),
        (place, path) => format!("the value of {place}.{path} has the wrong type"),
    })
}

fn entries<T: DeserializeOwned>(
    list: Vec<Value>,
    field: &str,
    content: fn(NamedEntry) -> Value,
) -> Result<BTreeMap<String, T>, String> {
    let mut entries = BTreeMap::new();
    for (number, entry) in list.into_iter().enumerate() {
        let place = format!("{field}[{number}]");
        let entry: NamedEntry = typed(&entry, &place)?;
        let name = entry.name.clone();
        if entries
            .insert(name, typed(&content(entry), &place)?)
            .is_some()
        {
            return Err(format!("{place} has the name of another one"));
        }
    }
    Ok(entries)
}

/// Whether a command is not looked for in `PATH`.
fn is_path(command: &str) -> bool {
    command.contains(std::path::is_separator)
}
