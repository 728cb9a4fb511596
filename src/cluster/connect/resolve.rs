//! Applies flags to kubeconfig entries: the result is the one cluster, user and namespace to use, checked
//! with kubectl's messages. This module does no network I/O and runs nothing. Follows `DirectClientConfig`,
//! `DeferredLoadingClientConfig` and `validation.go` of client-go's `clientcmd`.

use std::collections::BTreeMap;

use super::config_file::{Cluster, Context, User};
use super::environment::Environment;
use super::kubeconfig::{Loaded, words};
use crate::args::{ConnectionFlags, check_namespace};
use crate::error::Error;
use crate::saved::file;
use crate::secret::Secret;

/// The server to connect to, and the user to connect as.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) cluster: Cluster,
    pub(crate) user: User,
    pub(crate) user_name: String,
    pub(crate) namespace: String,
}

/// Applies the flags to the kubeconfig and checks the result.
pub(crate) fn resolve(
    flags: &ConnectionFlags,
    loaded: &Loaded,
    env: &Environment,
) -> Result<Endpoint, Error> {
    let config = &loaded.config;
    let context_flag = given(&flags.context);
    let context_name = context_flag.unwrap_or(&config.current_context);
    let context = match config.contexts.get(context_name) {
        Some(context) => context.clone(),
        None if context_name.is_empty() => Context::default(),
        None if context_flag.is_some() => {
            return Err(unknown("context", context_name, &config.contexts));
        }
        None => {
            let message = format!(
                "Error in configuration: context was not found for specified context: {context_name}"
            );
            return Err(Error::bare(message).hint(listed("--context", &config.contexts)));
        }
    };
    let cluster_name = given(&flags.cluster).unwrap_or(&context.cluster);
    let user_name = given(&flags.user).unwrap_or(&context.user);
    // kubectl falls back to localhost:8080, or to no user, if a context names something that does not exist.
    let user = match config.users.get(user_name) {
        Some(user) => user.clone(),
        None if user_name.is_empty() => User::default(),
        None if flags.user.is_none() && brings_credentials(flags) => User::default(),
        None => return Err(unknown("auth info", user_name, &config.users)),
    };
    let cluster = match config.clusters.get(cluster_name) {
        Some(cluster) => cluster.clone(),
        None if cluster_name.is_empty() => Cluster::default(),
        None if flags.cluster.is_none() && flags.server.is_some() => Cluster::default(),
        None => return Err(unknown("cluster", cluster_name, &config.clusters)),
    };
    let entries = Endpoint {
        cluster,
        user,
        user_name: user_name.to_owned(),
        ..Endpoint::default()
    };
    let mut target = Endpoint {
        cluster: with_cluster_flags(entries.cluster.clone(), flags),
        user: with_user_flags(entries.user.clone(), flags),
        ..entries.clone()
    };
    let in_cluster = service_account(env);
    let nothing = is_empty(&target);
    if target.cluster.server.is_empty() {
        match &in_cluster {
            Some(own) if is_empty(&entries) => {
                target = with_account(own, target)?;
            }
            _ => return Err(no_server(cluster_name, loaded, nothing)),
        }
    }
    target.namespace = given(&flags.namespace)
        .or(Some(context.namespace.as_str()).filter(|name| !name.is_empty()))
        .map(str::to_owned)
        // In a pod, kubectl prefers the pod's namespace even if a kubeconfig names the cluster.
        .or(in_cluster.map(|own| own.namespace))
        .unwrap_or_else(|| "default".to_owned());
    check_namespace(&target.namespace)?;
    // Without a fault of its own, the kubeconfig is not to blame.
    check(&target, cluster_name).map_err(|e| match check(&entries, cluster_name) {
        Ok(()) if !nothing => e.of_flags(),
        _ => e,
    })?;
    Ok(target)
}

/// Returns the connection of a pod's account with what the flags state. As in client-go, only the token and the
/// authority change it.
fn with_account(own: &Endpoint, stated: Endpoint) -> Result<Endpoint, Error> {
    let authority = stated.cluster.certificate_authority.clone();
    let token = stated.user.token.clone();
    let mut rest = stated;
    rest.cluster.certificate_authority.clear();
    rest.user.token = Secret::default();
    if !is_empty(&rest) {
        return Err(Error::failed(
            "the service account of a pod takes only --token and --certificate-authority",
        )
        .hint("use --kubeconfig or KUBECONFIG for other connection flags"));
    }
    let mut target = own.clone();
    if !authority.is_empty() {
        target.cluster.certificate_authority = authority;
    }
    if !token.is_empty() {
        target.user = User {
            token,
            ..User::default()
        };
    }
    Ok(target)
}

/// Whether there is neither a cluster nor a user.
fn is_empty(entries: &Endpoint) -> bool {
    entries.cluster == Cluster::default() && entries.user == User::default()
}

fn given(flag: &Option<String>) -> Option<&str> {
    flag.as_deref().filter(|text| !text.is_empty())
}

/// Replaces a field by a flag, if that is given. Returns whether it is.
fn set(field: &mut String, flag: &Option<String>) -> bool {
    let given = given(flag);
    if let Some(text) = given {
        text.clone_into(field);
    }
    given.is_some()
}

fn brings_credentials(flags: &ConnectionFlags) -> bool {
    flags.token.is_some() || flags.client_certificate.is_some()
}

fn unknown<T>(sort: &str, name: &str, known: &BTreeMap<String, T>) -> Error {
    let flag = match sort {
        "auth info" => "--user".to_owned(),
        _ => format!("--{sort}"),
    };
    Error::failed(format!("{sort} {name:?} does not exist")).hint(listed(&flag, known))
}

fn listed<T>(flag: &str, known: &BTreeMap<String, T>) -> String {
    if known.is_empty() {
        return format!("the kubeconfig has no {}", flag.trim_start_matches('-'));
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    format!("{flag} may be one of: {}", names.join(", "))
}

fn no_server(cluster_name: &str, loaded: &Loaded, nothing: bool) -> Error {
    let tried: Vec<String> = loaded
        .tried
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if !cluster_name.is_empty() {
        return Error::failed(format!("no server found for cluster {cluster_name:?}"));
    }
    if loaded.tried.len() == loaded.missing.len() {
        let looked = match tried.as_slice() {
            [] => "neither KUBECONFIG nor HOME is set".to_owned(),
            paths => format!("looked at {}", paths.join(", ")),
        };
        return Error::failed(format!("no kubeconfig found ({looked})")).hint(
            "use --kubeconfig or KUBECONFIG; explain and predict also read saved objects with -f",
        );
    }
    let message = if nothing {
        format!("no current-context is set in {}", tried.join(", "))
    } else {
        "default cluster has no server defined".to_owned()
    };
    Error::failed(message).hint(listed("--context", &loaded.config.contexts))
}

fn with_cluster_flags(mut cluster: Cluster, flags: &ConnectionFlags) -> Cluster {
    if set(&mut cluster.server, &flags.server) {
        // The name of the kubeconfig's server does not apply to this one.
        cluster.tls_server_name.clear();
    }
    set(&mut cluster.tls_server_name, &flags.tls_server_name);
    let authority = given(&flags.certificate_authority);
    let insecure = flags.insecure_skip_tls_verify == Some(true);
    if insecure || authority.is_some() {
        cluster.insecure_skip_tls_verify = insecure;
        cluster.certificate_authority = authority.unwrap_or_default().to_owned();
        cluster.certificate_authority_data.clear();
    }
    if flags.disable_compression == Some(true) {
        cluster.disable_compression = true;
    }
    cluster
}

fn with_user_flags(mut user: User, flags: &ConnectionFlags) -> User {
    if set(&mut user.client_certificate, &flags.client_certificate) {
        user.client_certificate_data.clear();
    }
    if set(&mut user.client_key, &flags.client_key) {
        user.client_key_data = Secret::default();
    }
    if let Some(token) = flags.token.as_ref().filter(|token| !token.is_empty()) {
        user.token = token.clone();
    }
    set(&mut user.impersonate, &flags.impersonate);
    set(&mut user.impersonate_uid, &flags.impersonate_uid);
    if !flags.impersonate_groups.is_empty() {
        user.impersonate_groups
            .clone_from(&flags.impersonate_groups);
    }
    let stated = flags.impersonate_extra.iter();
    let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (key, value) in stated.filter_map(|entry| entry.split_once('=')) {
        let values = extra.entry(key.to_owned()).or_default();
        values.push(value.to_owned());
    }
    user.impersonate_extra.extend(extra);
    user
}

/// Returns the pod's own service account; `None` outside a cluster.
fn service_account(env: &Environment) -> Option<Endpoint> {
    let host = env.variable("KUBERNETES_SERVICE_HOST")?;
    let port = env.variable("KUBERNETES_SERVICE_PORT")?;
    let token = env.service_account.join("token");
    if !token.is_file() {
        return None;
    }
    let authority = env.service_account.join("ca.crt");
    let stated = env.variable("POD_NAMESPACE").map_or_else(
        || file::read_text_of_connection(env.service_account.join("namespace")).unwrap_or_default(),
        str::to_owned,
    );
    let namespace = match stated.trim() {
        "" => "default".to_owned(),
        name => name.to_owned(),
    };
    let mut target = Endpoint {
        namespace,
        ..Endpoint::default()
    };
    target.cluster.server = if host.contains(':') {
        format!("https://[{host}]:{port}")
    } else {
        format!("https://{host}:{port}")
    };
    if authority.is_file() {
        target.cluster.certificate_authority = authority.to_string_lossy().into_owned();
    }
    target.user.token_file = token.to_string_lossy().into_owned();
    Some(target)
}

/// Follows `ConfirmUsable`; several faults make one message.
fn check(target: &Endpoint, cluster_name: &str) -> Result<(), Error> {
    let mut faults = user_faults(&target.user, &target.user_name);
    let cluster = &target.cluster;
    let authority = &cluster.certificate_authority;
    if !authority.is_empty() && !cluster.certificate_authority_data.is_empty() {
        faults.push(format!(
            "certificate-authority-data and certificate-authority are both specified for \
             {cluster_name}. certificate-authority-data will override."
        ));
    }
    readable(
        "certificate-authority",
        authority,
        cluster_name,
        &mut faults,
    );
    let has_none = authority.is_empty() && cluster.certificate_authority_data.is_empty();
    if cluster.insecure_skip_tls_verify && !has_none {
        faults.push(
            "specifying a root certificates file with the insecure flag is not allowed".to_owned(),
        );
    }
    match faults.as_slice() {
        [] => Ok(()),
        [fault] => Err(Error::failed(fault)),
        _ => {
            let message = format!("Error in configuration: {}", faults.join("; "));
            Err(Error::bare(message))
        }
    }
}

fn readable(what: &str, path: &str, name: &str, faults: &mut Vec<String>) {
    if path.is_empty() {
        return;
    }
    if let Err(e) = std::fs::File::open(path) {
        let cause = words(&e);
        faults.push(format!(
            "unable to read {what} {path} for {name} due to open {path}: {cause}"
        ));
    }
}

fn user_faults(user: &User, name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let basic = !user.username.is_empty() || !user.password.is_empty();
    let has_data = !user.client_certificate_data.is_empty();
    if !user.client_certificate.is_empty() || has_data {
        if !user.client_certificate.is_empty() && has_data {
            faults.push(format!(
                "client-cert-data and client-cert are both specified for {name}. \
                 client-cert-data will override."
            ));
        }
        match (user.client_key.is_empty(), user.client_key_data.is_empty()) {
            (false, false) => faults.push(format!(
                "client-key-data and client-key are both specified for {name}; client-key-data \
                 will override"
            )),
            (true, true) => faults.push(format!(
                "client-key-data or client-key must be specified for {name} to use the clientCert \
                 authentication method."
            )),
            _ => {}
        }
        readable("client-cert", &user.client_certificate, name, &mut faults);
        readable("client-key", &user.client_key, name, &mut faults);
    }
    if let Some(exec) = &user.exec {
        let mode = exec.interactive_mode.as_str();
        let nameless = exec.env.iter().any(|variable| variable.name.is_empty());
        let is_v1 = exec.api_version == "client.authentication.k8s.io/v1";
        for (is_missing, what) in [
            (exec.command.is_empty(), "command"),
            (exec.api_version.is_empty(), "apiVersion"),
            (nameless, "env variable name"),
            (is_v1 && mode.is_empty(), "interactiveMode"),
        ] {
            if is_missing {
                faults.push(format!(
                    "{what} must be specified for {name} to use exec authentication plugin"
                ));
            }
        }
        if !matches!(mode, "" | "Never" | "IfAvailable" | "Always") {
            faults.push(format!(
                "invalid interactiveMode for {name}: it must be Never, IfAvailable or Always"
            ));
        }
        if user.auth_provider.is_some() {
            faults.push(format!(
                "authProvider cannot be provided in combination with an exec plugin for {name}"
            ));
        }
    }
    if basic && !user.token.is_empty() {
        faults.push(format!(
            "more than one authentication method found for {name}; found [token basicAuth], only \
             one is allowed"
        ));
    }
    let more = !user.impersonate_uid.is_empty()
        || !user.impersonate_groups.is_empty()
        || !user.impersonate_extra.is_empty();
    if more && user.impersonate.is_empty() {
        faults.push(format!(
            "requesting uid, groups or user-extra for {name} without impersonating a user"
        ));
    }
    faults
}
