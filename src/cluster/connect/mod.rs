//! Turns flags and kubeconfig into the [`ClientConfig`] of a session. This is the only place that passes
//! credentials to the client. They go nowhere else, and are never sent over plain HTTP. Follows
//! `ClientConfig` of client-go's `clientcmd`, `rest.DefaultServerURL` and
//! `transport.HTTPWrappersForConfig`.

mod client;
pub(super) mod config_file;
pub(crate) mod environment;
pub(crate) mod exec;
pub(crate) mod kubeconfig;
mod look_path;
mod oidc;
pub(super) mod plugin_policy;
mod proxy;
pub(super) mod resolve;
pub(super) mod tls;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, USER_AGENT};
use http::{HeaderName, HeaderValue, Uri};
use jiff::Timestamp;
use kube::config::AuthInfo;

use super::connect::client::{ClientSource, Connector};
use super::connect::config_file::{Cluster, User};
use super::connect::environment::Environment;
use super::connect::exec::{Credentials, PluginFault};
use super::connect::kubeconfig::words;
use super::connect::proxy::Proxy;
use super::connect::resolve::Endpoint;
use super::connect::tls::{Identity, Tls, USER};
use super::http::body::ENCODINGS;
use crate::args::ConnectionFlags;
use crate::error::Error;
use crate::saved::file;
use crate::secret::{Secret, Secrets};
use crate::snapshot::command_flags::CommandFlags;

/// The default time for one request.
const REQUEST: Duration = Duration::from_secs(10);
/// The default time for all requests together.
const OVERALL: Duration = Duration::from_secs(30);

/// The minimum length of a part of a header that is removed from what a server repeats.
const SECRET: usize = 8;

/// The minimum length of a token or password that is removed: shorter ones are parts of words.
const CREDENTIAL: usize = 4;

/// Time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// The limit for one request with its body; `None` is no limit.
    pub(crate) request: Option<Duration>,
}

impl Timeouts {
    /// Reads `--request-timeout`, where 0 means no limit.
    fn new(flag: Option<Duration>) -> Self {
        let request = flag.unwrap_or(REQUEST);
        Self {
            request: Some(request).filter(|limit| !limit.is_zero()),
        }
    }

    /// Returns the limit for all requests of the session.
    pub(crate) fn overall(self) -> Option<Duration> {
        self.request.map(|request| OVERALL.max(request))
    }

    /// Returns a little less than the limit for a request, so that a timeout can name the slow step.
    fn connect(self) -> Option<Duration> {
        self.request.map(|request| request * 19 / 20)
    }
}

/// The clients with the current credentials.
#[derive(Clone)]
pub(crate) struct Clients {
    /// The number of credentials before these.
    pub(crate) age: u32,
    /// The client for reads, which keeps its connections.
    pub(crate) reads: kube::Client,
    /// Builds further clients.
    pub(crate) source: ClientSource,
    /// Their header `Authorization`, if the credentials have one.
    pub(crate) authorization: Option<HeaderValue>,
    /// The secrets in the headers of their requests. They must not be shown even if a server repeats them.
    pub(crate) sent: Secrets,
}

/// Everything from which a client is built, kept to build another one with fresh credentials.
#[derive(Debug)]
pub(crate) struct ClientConfig {
    pub(crate) server: Uri,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) target: Endpoint,
    pub(crate) limits: Timeouts,
    /// Further headers of each request.
    headers: Vec<(HeaderName, Secret)>,
    /// Whether the user's token comes from `--token`.
    token_flag: bool,
    /// The flags with which kubectl reaches the same server as the same user.
    pub(crate) command_flags: Arc<CommandFlags>,
    policy: plugin_policy::Policy,
    env: Environment,
}

/// Prepares a session as kubectl would: loads and merges the kubeconfig, applies the flags, and runs the
/// credential plugin if there is one. No request is sent yet.
///
/// # Errors
///
/// The configuration is not usable, or there are no credentials.
pub(super) async fn prepare(flags: &ConnectionFlags, env: &Environment) -> Result<Prepared, Error> {
    let loaded = kubeconfig::load(flags.kubeconfig.as_deref(), env)?;
    let notes: Vec<String> = loaded
        .missing
        .iter()
        .map(|path| format!("no kubeconfig at {}", path.display()))
        .collect();
    let mut notices = Vec::new();
    let mut target = resolve::resolve(flags, &loaded, env)?;
    let server = server_uri(&target.cluster)?;
    if server.scheme_str() == Some("http") && forget_credentials(&mut target.user) {
        notices.push("credentials are not sent over plain HTTP".to_owned());
    }
    let proxy = proxy::choose(&server, &target.cluster.proxy_url, env, &mut notices)
        .map_err(Error::failed)?;
    let plan = ClientConfig {
        server,
        proxy,
        target,
        limits: Timeouts::new(flags.request_timeout),
        headers: Vec::new(),
        token_flag: flags.token.as_ref().is_some_and(|token| !token.is_empty()),
        command_flags: Arc::new(CommandFlags::of(flags)),
        policy: plugin_policy::load(env)?,
        env: env.clone(),
    };
    let credentials = plan.credentials().await?;
    Prepared::new(plan, credentials, notices, notes)
}

/// Returns the files of a connection that flags, variables and kubeconfigs name, whether they exist or not.
pub fn files(flags: &ConnectionFlags, env: &Environment) -> Vec<PathBuf> {
    let given = |flag: &Option<String>| flag.clone().filter(|path| !path.is_empty());
    let mut files = match given(&flags.kubeconfig) {
        Some(path) => vec![path.into()],
        None => kubeconfig::standard_paths(env),
    };
    let of_entries = files.iter().flat_map(|path| kubeconfig::files_of(path));
    files.extend(of_entries.collect::<Vec<_>>());
    let named = [
        &flags.certificate_authority,
        &flags.client_certificate,
        &flags.client_key,
    ];
    files.extend(named.into_iter().filter_map(given).map(PathBuf::from));
    files.extend(plugin_policy::path(env));
    files
}

/// Prepares a session with another server, reached without a kubeconfig, by the same rules: at this address, with headers
/// that identify the user, and others. They are sent over plain HTTP only if they do not leave the machine. `authority`
/// is the file with the certificate authorities to trust, instead of the system's.
///
/// # Errors
///
/// The address, a header or the authorities are unusable.
pub(super) fn prepare_elsewhere(
    url: &str,
    headers: Vec<(HeaderName, Secret)>,
    authority: Option<&str>,
    flags: &ConnectionFlags,
    env: &Environment,
) -> Result<Prepared, Error> {
    let cluster = Cluster {
        server: url.to_owned(),
        certificate_authority: authority.unwrap_or_default().to_owned(),
        disable_compression: flags.disable_compression == Some(true),
        ..Cluster::default()
    };
    // The hints of the two are about a kubeconfig.
    let here = |e: Error| Error {
        hint: authority.map(|path| format!("see --prometheus-ca {path}")),
        ..e
    };
    let server = server_uri(&cluster).map_err(here)?;
    if server.scheme_str() == Some("http") && !headers.is_empty() && !proxy::is_loopback(&server) {
        return Err(
            Error::usage("headers are not sent over plain HTTP, except to this machine")
                .hint("use an https:// address, or the one of a `kubectl port-forward`"),
        );
    }
    let mut notices = Vec::new();
    let proxy =
        proxy::choose(&server, &Secret::default(), env, &mut notices).map_err(Error::failed)?;
    let plan = ClientConfig {
        server,
        proxy,
        target: Endpoint {
            cluster,
            ..Endpoint::default()
        },
        limits: Timeouts::new(flags.request_timeout),
        headers,
        token_flag: false,
        command_flags: Arc::default(),
        policy: plugin_policy::Policy::default(),
        env: env.clone(),
    };
    Prepared::new(plan, None, notices, Vec::new()).map_err(here)
}

/// A session before it starts.
pub(super) struct Prepared {
    pub(super) plan: ClientConfig,
    pub(super) clients: Clients,
    /// The notices that the user must see.
    pub(super) notices: Vec<String>,
    /// The notes that are shown only with `-v`.
    pub(super) notes: Vec<String>,
}

impl Prepared {
    fn new(
        plan: ClientConfig,
        credentials: Option<Credentials>,
        notices: Vec<String>,
        mut notes: Vec<String>,
    ) -> Result<Self, Error> {
        let proxy = plan.proxy.as_ref();
        notes.extend(proxy.map(|proxy| format!("through the proxy {proxy}")));
        Ok(Self {
            clients: plan.clients(credentials)?,
            plan,
            notices,
            notes,
        })
    }
}

impl ClientConfig {
    /// Whether the credentials come from a plugin, which may be run again.
    pub(crate) fn has_plugin(&self) -> bool {
        self.plugin().is_some()
    }

    /// Returns the plugin, unless other credentials take precedence (`UpdateTransportConfig`).
    fn plugin(&self) -> Option<&config_file::Exec> {
        let user = &self.target.user;
        let others = [
            &user.token_file,
            &user.username,
            &user.client_certificate,
            &user.client_certificate_data,
        ];
        let other = !user.token.is_empty() || others.iter().any(|it| !it.is_empty());
        user.exec.as_ref().filter(|_| !other)
    }

    /// Runs the plugin, if there is one.
    pub(crate) async fn credentials(&self) -> Result<Option<Credentials>, PluginFault> {
        let Some(plugin) = self.plugin() else {
            return Ok(None);
        };
        exec::run(plugin, &self.target.cluster, &self.policy, &self.env)
            .await
            .map(Some)
    }

    /// Builds the clients with these credentials.
    pub(crate) fn clients(&self, credentials: Option<Credentials>) -> Result<Clients, Error> {
        let Endpoint { cluster, user, .. } = &self.target;
        let (token, of_plugin) = match credentials {
            Some(Credentials { token, identity }) => (token, identity),
            None => (self.token()?, None),
        };
        let identity = match of_plugin {
            None => Identity::of(user)?,
            own => own,
        };
        let tls = Tls::new(cluster, identity.as_ref())?;
        let proxy = self.proxy.as_ref().map(|proxy| &proxy.uri);
        let connector = Connector::new(proxy, &tls, self.limits.connect());
        let mut config = kube::Config::new(self.server.clone());
        config.auth_info = AuthInfo {
            impersonate: some(&user.impersonate),
            impersonate_uid: some(&user.impersonate_uid),
            impersonate_groups: Some(user.impersonate_groups.clone()),
            impersonate_user_extra: Some(user.impersonate_extra.clone().into_iter().collect()),
            ..AuthInfo::default()
        };
        config.headers = vec![(USER_AGENT, user_agent())];
        if !cluster.disable_compression {
            config.headers.push((ACCEPT_ENCODING, ENCODINGS));
        }
        let (mut sent, mut authorization) = (Secrets::default(), None);
        if let Some((scheme, credential)) = self.authorization(token)? {
            let mut value = HeaderValue::try_from(format!("{scheme} {}", credential.expose()))
                .map_err(|_| {
                    Error::failed("the credentials in the kubeconfig are invalid").hint(USER)
                })?;
            value.set_sensitive(true);
            authorization = Some(value.clone());
            config.headers.push((AUTHORIZATION, value));
            // The server reads it from the credential.
            let password = (scheme == "Basic").then(|| user.password.clone());
            [Some(credential), password]
                .into_iter()
                .flatten()
                .filter(|it| it.expose().len() >= CREDENTIAL)
                .for_each(|it| sent.push(it));
        }
        for (name, secret) in &self.headers {
            let mut value = HeaderValue::from_str(secret.expose())
                .map_err(|_| Error::failed(format!("the value of {name} cannot be sent")))?;
            value.set_sensitive(true);
            config.headers.push((name.clone(), value));
            for part in parts_of_header(name, secret.expose()) {
                sent.push(part);
            }
        }
        let source = ClientSource::new(&config, connector).map_err(|_| {
            Error::failed("the impersonated user cannot be sent in a header").hint(USER)
        })?;
        Ok(Clients {
            age: 0,
            reads: source.client(None),
            source,
            authorization,
            sent,
        })
    }

    /// Returns the value of `Authorization` after its scheme, which tells the server who the user is.
    fn authorization(
        &self,
        token: Option<Secret>,
    ) -> Result<Option<(&'static str, Secret)>, Error> {
        let user = &self.target.user;
        if let Some(token) = token {
            return Ok(Some(("Bearer", token)));
        }
        if !user.username.is_empty() {
            let pair = format!("{}:{}", user.username, user.password.expose());
            return Ok(Some(("Basic", Secret::new(STANDARD.encode(pair)))));
        }
        let Some(provider) = &user.auth_provider else {
            return Ok(None);
        };
        if provider.name != "oidc" {
            let name = &provider.name;
            return Err(
                Error::failed(format!("no Auth Provider found for name {name:?}"))
                    .hint("its credentials now come from a plugin: see `exec` in the kubeconfig"),
            );
        }
        let token = oidc::id_token(&provider.config, Timestamp::now())?;
        Ok(Some((
            "Bearer",
            sendable(token, "the OIDC id-token of the kubeconfig")?,
        )))
    }

    /// Returns the user's token: the file's, if the file can be read and has one, or else, as in client-go, the value
    /// of `--token`.
    fn token(&self) -> Result<Option<Secret>, Error> {
        let user = &self.target.user;
        let of_file = (!user.token_file.is_empty()).then(|| token_in(&user.token_file));
        let token = match of_file {
            Some(Ok((token, source))) => sendable(token, &source),
            Some(Err(e)) if user.token.is_empty() => Err(e),
            None if user.token.is_empty() => return Ok(None),
            _ if self.token_flag => {
                sendable(user.token.clone(), "--token").map_err(Error::of_flags)
            }
            _ => {
                let name = &self.target.user_name;
                let source = format!("the token of user {name:?} in the kubeconfig");
                sendable(user.token.clone(), &source)
            }
        };
        token.map(Some)
    }
}

/// Returns the token in a file, and its name in an error.
fn token_in(path: &str) -> Result<(Secret, String), Error> {
    let text = file::read_text_of_connection(path).map_err(|e| {
        let cause = words(&e);
        Error::failed(format!("failed to read token file {path:?}: {cause}"))
    })?;
    // Like client-go, this trims only tokens that are read from a file.
    match text.trim() {
        "" => Err(Error::failed(format!(
            "read empty token from file {path:?}"
        ))),
        token => Ok((Secret::new(token), format!("the token in file {path:?}"))),
    }
}

/// The schemes of `Authorization` that are not secret; another first word may be part of a key.
const SCHEMES: [&str; 4] = ["Basic", "Bearer", "Digest", "Negotiate"];

/// Returns the parts of a header's value that a server may repeat: all of it without a scheme, its words, and
/// what they say behind a `=`. One as short as a tenant's number is not secret.
fn parts_of_header(name: &HeaderName, value: &str) -> Vec<Secret> {
    let value = value.trim();
    let (scheme, whole) = value
        .split_once(char::is_whitespace)
        .filter(|(scheme, _)| {
            *name == AUTHORIZATION && SCHEMES.iter().any(|own| scheme.eq_ignore_ascii_case(own))
        })
        .unwrap_or(("", value));
    let words = whole.split(|c: char| c.is_whitespace() || ";,".contains(c));
    let parts = words.flat_map(|word| {
        let stated = word.split_once('=').map(|(_, it)| it.trim_matches('"'));
        [Some(word.trim_matches('"')), stated].into_iter().flatten()
    });
    let long = [whole]
        .into_iter()
        .chain(parts)
        .filter(|it| it.len() >= SECRET);
    let mut secrets: Vec<Secret> = long.map(Secret::new).collect();
    let pair = STANDARD.decode(whole.trim_start()).unwrap_or_default();
    // The server reads the password from it.
    if scheme.eq_ignore_ascii_case("Basic")
        && let Some((_, password)) = String::from_utf8_lossy(&pair).split_once(':')
        && password.len() >= CREDENTIAL
    {
        secrets.push(Secret::new(password));
    }
    secrets
}

/// Returns `kubectl-hpa/1.2.3 (linux/amd64)`, with Go's names.
fn user_agent() -> HeaderValue {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    let version = env!("CARGO_PKG_VERSION");
    let text = format!("kubectl-hpa/{version} ({system}/{machine})");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("kubectl-hpa"))
}

/// The origin of the server's address, as a hint.
const PLACE: &str = "it comes from --server, or from the cluster in the kubeconfig";

fn no_server_uri() -> Error {
    Error::usage("the server's address is not a URL of http or https, or a host:port pair")
        .hint(PLACE)
}

/// Returns the server's address. A bare host and port use https if anything about TLS is configured.
fn server_uri(cluster: &Cluster) -> Result<Uri, Error> {
    let stated = cluster.server.trim_end_matches('/');
    let text = if stated.contains("://") {
        let end = stated.find(['?', '#']).unwrap_or(stated.len());
        stated[..end].to_owned()
    } else if stated.contains('/') || stated.ends_with(':') {
        // What ends with a colon is a scheme without a host, such as `https://`, or a host without a port.
        return Err(no_server_uri());
    } else if cluster.insecure_skip_tls_verify
        || !cluster.certificate_authority.is_empty()
        || !cluster.certificate_authority_data.is_empty()
    {
        format!("https://{stated}")
    } else {
        format!("http://{stated}")
    };
    let uri: Uri = text.parse().map_err(|_| no_server_uri())?;
    if let Some(scheme) = uri
        .scheme_str()
        .filter(|own| !["http", "https"].contains(own))
    {
        let message =
            format!("{scheme} is not a scheme of the server's address, only http and https");
        return Err(Error::usage(message).hint(PLACE));
    }
    if let Some(message) = proxy::no_such_port(&uri, "the server's address") {
        return Err(Error::usage(message).hint(PLACE));
    }
    if uri.host().is_none_or(str::is_empty) {
        return Err(no_server_uri());
    }
    // A user in the address would be shown along with it, and users in client-go have tokens.
    if uri
        .authority()
        .is_some_and(|part| part.as_str().contains('@'))
    {
        return Err(Error::usage("the server's address must not name a user").hint(PLACE));
    }
    Ok(uri)
}

/// Removes everything that identifies the user; returns whether there was anything to remove.
fn forget_credentials(user: &mut User) -> bool {
    let kept = User {
        impersonate: std::mem::take(&mut user.impersonate),
        impersonate_uid: std::mem::take(&mut user.impersonate_uid),
        impersonate_groups: std::mem::take(&mut user.impersonate_groups),
        impersonate_extra: std::mem::take(&mut user.impersonate_extra),
        ..User::default()
    };
    let had = *user != User::default();
    *user = kept;
    had
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns a token if a header can hold it; `source` names it in an error, which never shows it.
fn sendable(token: Secret, source: &str) -> Result<Secret, Error> {
    if HeaderValue::from_str(token.expose()).is_ok() {
        return Ok(token);
    }
    let cause = "contains a newline or another control character";
    Err(
        Error::failed(format!("{source} {cause}, so it cannot be sent")).hint(
            "a token must be a single line: check for a second line, or for `token: |` in YAML",
        ),
    )
}
