//! All network I/O: from flags and kubeconfig to a [`Session`], which asks the API server and gives
//! bodies or typed failures. It must not interpret objects or compute replicas. Follows client-go's
//! `clientcmd` and `rest`, with kube's client for TLS and HTTP.

mod connect;
pub mod fetch;
mod http;
pub mod observed;
pub mod target;
pub mod write;

#[cfg(test)]
mod tests;

pub use connect::connect;
pub use connect::environment::Environment;
pub use connect::kubeconfig::{Names, names};
pub use fetch::right::denied;
pub use http::failure::{Failure, FailureKind, Method, Waiting};
pub use http::status::ApiStatus;
pub use http::{Response, Session};
