//! Runs a credential plugin: once, with a time limit, and with standard input only if someone can answer.
//! Its output, arguments and environment must never appear in an error; what it prints to standard error is
//! its own. Follows client-go's `plugin/pkg/client/auth/exec`.

use std::process::Stdio;
use std::time::Duration;

use http::HeaderValue;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::config_file::{Cluster, Exec, documents, typed};
use super::environment::Environment;
use super::kubeconfig::words;
use super::look_path::{Unfound, look_path};
use super::plugin_policy::Policy;
use super::tls::Identity;
use crate::apimachinery::json;
use crate::cluster::http::status::one_line;
#[cfg(unix)]
use crate::cluster::signals::ProcessGroup;
use crate::error::Error;
use crate::saved::file;
use crate::secret::Secret;

const LIMIT: Duration = Duration::from_secs(60);
/// The longest output that a plugin may print.
const LONGEST: u64 = 1 << 20;
/// The cluster extension meant for plugins.
const EXTENSION: &str = "client.authentication.k8s.io/exec";
const VERSIONS: [&str; 2] = [
    "client.authentication.k8s.io/v1",
    "client.authentication.k8s.io/v1beta1",
];

/// The credentials that a plugin returned.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Credentials {
    pub(crate) token: Option<Secret>,
    pub(crate) identity: Option<Identity>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ExecCredential {
    kind: String,
    api_version: String,
    status: Option<ExecCredentialStatus>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ExecCredentialStatus {
    token: Option<Secret>,
    client_certificate_data: Option<String>,
    client_key_data: Option<Secret>,
}

/// Runs the plugin.
pub(crate) async fn run(
    exec: &Exec,
    cluster: &Cluster,
    policy: &Policy,
    env: &Environment,
) -> Result<Credentials, PluginFault> {
    run_within(LIMIT, exec, cluster, policy, env).await
}

/// The fault and the remedy, without any of the plugin's output.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginFault {
    /// The fault.
    pub cause: String,
    /// The remedy.
    pub hint: Option<String>,
}

impl From<PluginFault> for Error {
    fn from(PluginFault { cause, hint }: PluginFault) -> Self {
        let message = format!("Unable to connect to the server: getting credentials: {cause}");
        Self {
            hint,
            ..Self::bare(message)
        }
    }
}

impl From<String> for PluginFault {
    fn from(cause: String) -> Self {
        Self { cause, hint: None }
    }
}

pub(crate) async fn run_within(
    limit: Duration,
    exec: &Exec,
    cluster: &Cluster,
    policy: &Policy,
    env: &Environment,
) -> Result<Credentials, PluginFault> {
    if !VERSIONS.contains(&exec.api_version.as_str()) {
        let known = VERSIONS.join(" or ");
        return Err(format!("exec plugin: invalid apiVersion, not {known}").into());
    }
    let interactive = match exec.interactive_mode.as_str() {
        "Never" => false,
        "Always" if !env.interactive => {
            let cause = "exec plugin cannot support interactive mode: standard input is not a \
                         terminal";
            return Err(cause.to_owned().into());
        }
        _ => env.interactive,
    };
    let name = &exec.command;
    policy.check(name, env)?;
    let mut command = plugin_command(exec, cluster, interactive, env)?;
    // In a separate process group, the plugin ends with its children, but cannot read from the terminal.
    #[cfg(unix)]
    let has_group = exec.interactive_mode == "Never" || !env.attended;
    #[cfg(unix)]
    let spawned = if has_group {
        ProcessGroup::spawn(&mut command).map(|(child, group)| (child, Some(group)))
    } else {
        command.spawn().map(|child| (child, None))
    };
    #[cfg(not(unix))]
    let spawned = command.spawn().map(|child| (child, ()));
    let (mut child, group) = spawned.map_err(|e| PluginFault {
        cause: format!("exec: executable {name}: {}", words(&e)),
        // The plugin itself has been found.
        hint: (e.kind() == std::io::ErrorKind::NotFound).then(|| {
            "the file exists, but the interpreter in its first line, or its loader, does not"
                .to_owned()
        }),
    })?;
    let stdout = child.stdout.take();
    let finish = async {
        let mut output = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(LONGEST + 1).read_to_end(&mut output).await?;
        }
        Ok::<_, std::io::Error>((child.wait().await?, output))
    };
    let (status, output) = tokio::time::timeout(limit, finish)
        .await
        .map_err(|_| {
            let seconds = limit.as_secs();
            format!("exec: executable {name} did not respond within {seconds}s")
        })?
        .map_err(|e| format!("exec: executable {name}: {}", words(&e)))?;
    // The plugin may have left behind an agent that keeps its credentials.
    #[cfg(unix)]
    if let Some(group) = group {
        group.release().await;
    }
    #[cfg(not(unix))]
    let () = group;
    if output.len() as u64 > LONGEST {
        return Err(format!("exec: executable {name} printed more than 1 MiB").into());
    }
    if !status.success() {
        let code = status.code().unwrap_or(-1);
        return Err(format!("exec: executable {name} failed with exit code {code}").into());
    }
    read(&output, exec).map_err(PluginFault::from)
}

/// The command of a plugin, whose answer is read.
fn plugin_command(
    exec: &Exec,
    cluster: &Cluster,
    interactive: bool,
    env: &Environment,
) -> Result<Command, PluginFault> {
    let path = look_path(&exec.command, env).map_err(|why| not_run(exec, &why))?;
    let mut command = Command::new(path);
    command
        .args(exec.args.iter().map(Secret::expose))
        .env("KUBERNETES_EXEC_INFO", info(exec, cluster, interactive)?)
        .stdin(if interactive {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(if env.silent {
            Stdio::null()
        } else {
            Stdio::inherit()
        })
        .kill_on_drop(true);
    for variable in &exec.env {
        command.env(&variable.name, variable.value.expose());
    }
    Ok(command)
}

fn not_run(exec: &Exec, why: &Unfound) -> PluginFault {
    let (cause, hint) = match why {
        Unfound::Relative => (
            "cannot run executable found relative to current directory",
            "an entry of PATH is empty or relative: remove it, or use the full path of \
             the plugin in the kubeconfig"
                .to_owned(),
        ),
        Unfound::Denied => (
            "permission denied",
            "make it executable with chmod +x".to_owned(),
        ),
        Unfound::Missing => ("not found", installing(exec)),
    };
    // Go's own messages have a colon, client-go's do not.
    let colon = if *why == Unfound::Missing { "" } else { ":" };
    PluginFault {
        cause: format!("exec: executable {}{colon} {cause}", exec.command),
        hint: Some(hint),
    }
}

fn installing(exec: &Exec) -> String {
    match exec.install_hint.trim() {
        "" => "the credential plugin named in the kubeconfig is not installed".to_owned(),
        hint => one_line(hint),
    }
}

/// Returns `KUBERNETES_EXEC_INFO`, the plugin's input.
fn info(exec: &Exec, cluster: &Cluster, interactive: bool) -> Result<String, String> {
    let mut spec = json!({ "interactive": interactive });
    if exec.provide_cluster_info {
        spec["cluster"] = cluster_info(cluster)?;
    }
    let info = json!({
        "kind": "ExecCredential",
        "apiVersion": exec.api_version,
        "spec": spec,
    });
    Ok(info.to_string())
}

fn cluster_info(cluster: &Cluster) -> Result<Value, String> {
    let mut info = json!({ "server": cluster.server });
    let mut authority = cluster.certificate_authority_data.clone();
    if authority.is_empty() && !cluster.certificate_authority.is_empty() {
        use base64::Engine;
        let path = &cluster.certificate_authority;
        let bytes = file::read_of_connection(path)
            .map_err(|e| format!("failed to read certificate-authority {path}: {}", words(&e)))?;
        authority = base64::engine::general_purpose::STANDARD.encode(bytes);
    }
    for (name, text) in [
        ("tls-server-name", cluster.tls_server_name.as_str()),
        ("certificate-authority-data", authority.as_str()),
        ("proxy-url", cluster.proxy_url.expose()),
    ] {
        if !text.is_empty() {
            info[name] = text.into();
        }
    }
    for (name, on) in [
        ("insecure-skip-tls-verify", cluster.insecure_skip_tls_verify),
        ("disable-compression", cluster.disable_compression),
    ] {
        if on {
            info[name] = on.into();
        }
    }
    let config = cluster
        .extensions
        .iter()
        .find(|extension| extension.name == EXTENSION);
    if let Some(config) = config {
        info["config"] = config.extension.clone();
    }
    Ok(info)
}

/// Reads a plugin's output; the error says what is missing, not what was there.
fn read(output: &[u8], exec: &Exec) -> Result<Credentials, String> {
    let command = &exec.command;
    // As in client-go, it may also be YAML, or repeat keys.
    let as_yaml = || {
        let first = documents(&mut &*output).next()?.ok()?;
        typed(&first, "").ok()
    };
    let answer = json::read(output).ok().or_else(as_yaml);
    let answer = answer
        .filter(|answer: &ExecCredential| matches!(&*answer.kind, "" | "ExecCredential"))
        .ok_or_else(|| format!("exec: executable {command} did not print an ExecCredential"))?;
    if answer.api_version != exec.api_version {
        // The version comes from the plugin, and is shown only if it is one of the known ones.
        let theirs = VERSIONS
            .into_iter()
            .find(|version| *version == answer.api_version)
            .unwrap_or("another one");
        return Err(format!(
            "exec plugin is configured to use API version {}, plugin returned version {theirs}",
            exec.api_version
        ));
    }
    let status = answer
        .status
        .ok_or("exec plugin didn't return a status field")?;
    let token = status.token.filter(|token| !token.is_empty());
    if token
        .as_ref()
        .is_some_and(|token| HeaderValue::from_str(token.expose()).is_err())
    {
        return Err(format!(
            "exec: executable {command} returned a token with a newline or another control \
             character, so it cannot be sent"
        ));
    }
    let certificate = status.client_certificate_data.unwrap_or_default();
    let key = status.client_key_data.unwrap_or_default();
    let identity = match (certificate.is_empty(), key.is_empty()) {
        (false, false) => Some(Identity { certificate, key }),
        (true, true) if token.is_none() => {
            return Err("exec plugin didn't return a token or cert/key pair".to_owned());
        }
        (true, true) => None,
        _ => {
            return Err("exec plugin returned only certificate or key, not both".to_owned());
        }
    };
    Ok(Credentials { token, identity })
}
