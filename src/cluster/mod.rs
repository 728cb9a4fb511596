//! All network I/O: from flags and kubeconfig to a [`Session`], which asks the API server and gives
//! bodies or typed failures. It must not interpret objects or compute replicas. Follows client-go's
//! `clientcmd` and `rest`, with kube's client for TLS and HTTP.

mod body;
mod config_file;
mod connect;
mod discovery;
mod environment;
mod exec;
mod failure;
pub mod fetch;
pub mod hpa;
mod http;
mod kubeconfig;
mod look_path;
pub mod managed;
mod oidc;
mod plugin_policy;
mod proxy;
mod resolve;
mod retry;
pub mod scale;
pub mod settle;
mod status;
mod tls;
pub mod wait;
mod warning;

#[cfg(test)]
mod tests;

pub use connect::connect;
pub use environment::Environment;
pub use failure::{Failure, FailureKind, Method, Waiting};
pub use fetch::right::denied;
pub use http::{Response, Session};
pub use kubeconfig::{Names, names};
pub use status::ApiStatus;
