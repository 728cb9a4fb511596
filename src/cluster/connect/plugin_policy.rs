//! The credential plugins that may run: the policy in kuberc, which overrides any kubeconfig. This module
//! only reads, and runs nothing. Follows kubectl's `pkg/kuberc` and `PluginPolicy` of client-go.

use std::path::PathBuf;

use serde::Deserialize;

use super::config_file::{document, typed};
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
    credential_plugin_policy: String,
    credential_plugin_allowlist: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    name: String,
    command: String,
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

fn parse(text: &str) -> Result<Policy, String> {
    let preference: Preference = typed(&document(text)?, "")?;
    let list: Vec<String> = preference
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
    match preference.credential_plugin_policy.as_str() {
        "" | "AllowAll" | "DenyAll" if !list.is_empty() => {
            Err("credentialPluginAllowlist needs the policy Allowlist".to_owned())
        }
        "" | "AllowAll" => Ok(Policy::AllowAll),
        "DenyAll" => Ok(Policy::DenyAll),
        "Allowlist" => Ok(Policy::Allowlist(list)),
        _ => Err("credentialPluginPolicy is not one of AllowAll, DenyAll and Allowlist".to_owned()),
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
                Ok(Policy::Allowlist(vec!["a".to_owned(), "/b".to_owned()])),
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
