//! All network I/O: from flags and kubeconfig to a [`Session`], which sends requests to the API server and
//! returns bodies or typed failures. It must not interpret objects or compute replicas. Follows client-go's
//! `clientcmd` and `rest`, with kube's client over separate connections.

mod connect;
pub mod fetch;
mod http;
pub mod observed;
pub mod progress;
pub mod prometheus;
pub(crate) mod signals;
pub mod target;
pub mod write;

#[cfg(test)]
mod tests;

pub use connect::environment::Environment;
pub use connect::files;
pub use connect::kubeconfig::{KubeconfigNames, names};
pub use http::failure::{Failure, FailureKind, Method, WaitingFor};
pub use http::status::ApiStatus;
pub use http::{Response, Session};

use crate::args::ConnectionFlags;
use crate::error::Error;

/// Connects as kubectl would. No request is sent yet.
///
/// # Errors
///
/// The configuration is not usable, or there are no credentials.
pub async fn connect(flags: &ConnectionFlags, env: &Environment) -> Result<Session, Error> {
    connect::prepare(flags, env).await.map(Session::new)
}
