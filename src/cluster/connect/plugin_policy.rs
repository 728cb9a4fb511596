//! The credential plugins that may run: the policy in kuberc, which overrides any kubeconfig. This module
//! only reads, and runs nothing. Follows kubectl's `pkg/kuberc` and `PluginPolicy` of client-go.

use std::path::PathBuf;

use serde::Deserialize;

use super::config_file::{documents, typed};
use super::environment::Environment;
use super::kubeconfig::words;
use super::look_path::look_path;
use crate::error::Error;
use crate::saved::file;

/// The user's policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum Policy {
    /// Every plugin may run.
    #[default]
    AllowAll,
    /// No plugin may run.
    DenyAll,
    /// Only these may run, by name in PATH or by path.
    Allowlist(Vec<String>),
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Preference {
    api_version: String,
    kind: String,
    credential_plugin_policy: String,
    credential_plugin_allowlist: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    command: String,
}

/// The API group of kuberc.
const GROUP: &str = "kubectl.config.k8s.io/";

impl Preference {
    /// Whether a document is one of kuberc; it need not say so.
    fn is_of_kuberc(&self) -> bool {
        matches!(&*self.kind, "" | "Preference")
            && (self.api_version.is_empty() || self.api_version.starts_with(GROUP))
    }

    /// Returns its policy; `None` if it states none.
    fn policy(self) -> Result<Option<Policy>, String> {
        let mut list: Vec<String> = self
            .credential_plugin_allowlist
            .into_iter()
            .map(|entry| {
                if entry.command.is_empty() {
                    entry.name
                } else {
                    entry.command
                }
            })
            .collect();
        list.sort_unstable();
        let policy = match self.credential_plugin_policy.as_str() {
            "" | "AllowAll" | "DenyAll" if !list.is_empty() => {
                return Err("credentialPluginAllowlist needs the policy Allowlist".to_owned());
            }
            "" => return Ok(None),
            "AllowAll" => Policy::AllowAll,
            "DenyAll" => Policy::DenyAll,
            "Allowlist" => Policy::Allowlist(list),
            _ => {
                let known = "AllowAll, DenyAll and Allowlist";
                return Err(format!("credentialPluginPolicy is not one of {known}"));
            }
        };
        Ok(Some(policy))
    }
}

/// Reads `KUBERC`, or else `~/.kube/kuberc`.
pub(crate) fn load(env: &Environment) -> Result<Policy, Error> {
    let Some(path) = path(env) else {
        return Ok(Policy::AllowAll);
    };
    let shown = path.display();
    let text = match file::read_text_of_connection(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Policy::AllowAll),
        Err(e) => {
            return Err(Error::failed(format!(
                "kuberc error {shown}: {}",
                words(&e)
            )));
        }
    };
    parse(&text).map_err(|cause| Error::failed(format!("kuberc error {shown}: {cause}")))
}

/// The file of the policy, unless it is switched off.
pub(super) fn path(env: &Environment) -> Option<PathBuf> {
    let off = env.variable("KUBECTL_KUBERC") == Some("false");
    match env.variable("KUBERC") {
        Some("off") => None,
        _ if off => None,
        Some(path) => Some(PathBuf::from(path)),
        None => env.home().map(|home| home.join(".kube").join("kuberc")),
    }
}

/// Reads the policy of a file. Each kubectl takes the first document with a version that it knows; this program takes a
/// policy in any version, as long as all that are stated are the same.
fn parse(text: &str) -> Result<Policy, String> {
    let mut bytes = text.as_bytes();
    let mut policies = Vec::new();
    for document in documents(&mut bytes) {
        let preference: Preference = typed(&document?, "")?;
        if preference.is_of_kuberc() {
            policies.extend(preference.policy()?);
        }
    }
    policies.dedup();
    match policies.len() {
        0 | 1 => Ok(policies.pop().unwrap_or_default()),
        _ => Err("its documents have different policies for credential plugins".to_owned()),
    }
}

impl Policy {
    /// Checks whether a plugin may run; if not, the error is client-go's message.
    pub(crate) fn check(&self, command: &str, env: &Environment) -> Result<(), String> {
        let policy = match self {
            Self::AllowAll => return Ok(()),
            Self::DenyAll => "DenyAll",
            Self::Allowlist(list) => {
                let found = look_path(command, env);
                let same = |entry: &String| found.is_ok() && look_path(entry, env) == found;
                if list.iter().any(same) {
                    return Ok(());
                }
                "Allowlist"
            }
        };
        Err(format!(
            "plugin {command:?} not allowed: policy set to {policy:?}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::{Policy, parse};
    use crate::cluster::connect::environment::Environment;

    #[test]
    fn policies() {
        for (text, want) in [
            ("", Ok(Policy::AllowAll)),
            ("kind: Preference\naliases: []", Ok(Policy::AllowAll)),
            ("credentialPluginPolicy: DenyAll", Ok(Policy::DenyAll)),
            (
                "credentialPluginPolicy: Allowlist\n\
                 credentialPluginAllowlist: [{name: a}, {command: /b}]",
                Ok(Policy::Allowlist(vec!["/b".to_owned(), "a".to_owned()])),
            ),
            (
                "apiVersion: kubectl.config.k8s.io/v9\nkind: Preference\n---\n\
                 apiVersion: foo/v1\nkind: Preference\ncredentialPluginPolicy: AllowAll\n---\n\
                 apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n\
                 credentialPluginPolicy: DenyAll",
                Ok(Policy::DenyAll),
            ),
            (
                "apiVersion: kubectl.config.k8s.io/v9\ncredentialPluginPolicy: AllowAll\n---\n\
                 credentialPluginPolicy: DenyAll",
                Err(()),
            ),
            ("credentialPluginPolicy: Maybe", Err(())),
            ("credentialPluginAllowlist: [{name: a}]", Err(())),
            ("credentialPluginPolicy: [", Err(())),
        ] {
            assert_eq!(parse(text).map_err(|_| ()), want, "{text}");
        }
    }

    #[test]
    fn a_list_goes_by_what_would_run() {
        let env = Environment {
            variables: [("PATH".to_owned(), "/bin:/usr/bin".to_owned())].into(),
            ..Environment::default()
        };
        let check = |list: &[&str], command: &str| {
            let list = list.iter().map(|name| (*name).to_owned()).collect();
            Policy::Allowlist(list).check(command, &env)
        };
        assert!(check(&["sh"], "sh").is_ok());
        assert!(check(&["/bin/sh"], "sh").is_ok());
        assert!(check(&["sh"], "/tmp/sh").is_err());
        assert!(check(&["nowhere"], "nowhere").is_err());
        assert_eq!(
            Policy::DenyAll.check("sh", &env),
            Err("plugin \"sh\" not allowed: policy set to \"DenyAll\"".to_owned())
        );
    }
}
