//! The kubeconfig files that are read, and how they are merged. A missing file in a list is skipped; a
//! malformed one is an error. There is no fallback to the pod's own credentials here. Follows
//! `ClientConfigLoadingRules.Load` of client-go's `clientcmd`.

use std::io;
use std::path::{Path, PathBuf};

use super::config_file::{Kubeconfig, parse};
use super::environment::Environment;
use crate::error::Error;
use crate::saved::file;
use crate::secret::Secret;

/// The merged configuration and its files.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Loaded {
    pub(crate) config: Kubeconfig,
    /// The files that were tried, existing or not, in order.
    pub(crate) tried: Vec<PathBuf>,
    /// The tried files that do not exist.
    pub(crate) missing: Vec<PathBuf>,
}

/// Loads `--kubeconfig`, or else the files of `KUBECONFIG`, or else `~/.kube/config`.
pub(crate) fn load(explicit: Option<&str>, env: &Environment) -> Result<Loaded, Error> {
    if let Some(path) = explicit.filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        let config = read(&path)?.ok_or_else(|| {
            Error::failed(format!(
                "stat {}: no such file or directory",
                path.display()
            ))
        })?;
        return Ok(Loaded {
            config,
            tried: vec![path],
            missing: Vec::new(),
        });
    }
    let mut loaded = Loaded::default();
    for path in standard_paths(env) {
        match read(&path)? {
            Some(config) => loaded.config = merge(loaded.config, config),
            None => loaded.missing.push(path.clone()),
        }
        loaded.tried.push(path);
    }
    Ok(loaded)
}

/// The names defined in a kubeconfig. Its other values must not be printed: an address may contain a
/// password.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KubeconfigNames {
    /// The names of the contexts.
    pub contexts: Vec<String>,
    /// The names of the clusters.
    pub clusters: Vec<String>,
    /// The names of the users.
    pub users: Vec<String>,
}

/// Returns the names in the kubeconfig that would be loaded.
///
/// # Errors
///
/// The kubeconfig cannot be read.
pub fn names(explicit: Option<&str>, env: &Environment) -> Result<KubeconfigNames, Error> {
    let Kubeconfig {
        contexts,
        clusters,
        users,
        ..
    } = load(explicit, env)?.config;
    Ok(KubeconfigNames {
        contexts: contexts.into_keys().collect(),
        clusters: clusters.into_keys().collect(),
        users: users.into_keys().collect(),
    })
}

/// Returns the files of `KUBECONFIG`, or else `~/.kube/config`.
pub(super) fn standard_paths(env: &Environment) -> Vec<PathBuf> {
    let Some(list) = env.variable("KUBECONFIG") else {
        let home = env.home();
        return home
            .map(|home| home.join(".kube").join("config"))
            .into_iter()
            .collect();
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for path in std::env::split_paths(list) {
        if !path.as_os_str().is_empty() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Returns the files that a kubeconfig refers to, whether or not its entries are used. An unreadable
/// kubeconfig yields none. A pipe can be read only once, so it is left to the code that connects.
pub(super) fn files_of(path: &Path) -> Vec<PathBuf> {
    if !path.is_file() {
        return Vec::new();
    }
    let Ok(Some(mut config)) = read(path) else {
        return Vec::new();
    };
    let authorities = config.oidc_authorities().map(Secret::expose);
    let mut files: Vec<PathBuf> = authorities.map(PathBuf::from).collect();
    files.extend(config.paths_mut().map(|path| PathBuf::from(&**path)));
    files
}

/// Reads a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Kubeconfig>, Error> {
    let read = match file::read_text_of_connection(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(|e| words(&e)),
    };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = absolute.parent().unwrap_or(Path::new(""));
    read.and_then(|text| parse(text.trim_start_matches('\u{feff}'), directory))
        .map(Some)
        .map_err(|message| {
            Error::failed(format!(
                "error loading config file \"{}\": {message}",
                path.display()
            ))
        })
}

/// Returns the system's message, as Go prints it.
pub(crate) fn words(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        _ => e.to_string(),
    }
}

/// Merges two files: the earlier one takes precedence, with its whole entry for each name; the current
/// context is the first one that is set.
fn merge(mut earlier: Kubeconfig, mut later: Kubeconfig) -> Kubeconfig {
    if !earlier.current_context.is_empty() {
        later.current_context = earlier.current_context;
    }
    later.contexts.append(&mut earlier.contexts);
    later.clusters.append(&mut earlier.clusters);
    later.users.append(&mut earlier.users);
    later
}
