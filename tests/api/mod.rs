//! A Kubernetes API server for tests: real sockets, TLS and HTTP/1.1 on the loopback interface, with
//! the answers that a v1.36.2 server gave when `tests/wire` was recorded, and switches for common
//! failures.
//!
//! A test fills a [`Cluster`] (usually [`Cluster::recorded`]), starts a [`Server`] with it, hands
//! the program under test a [`Kubeconfig`], and afterwards reads the requests that arrived. Nothing
//! here waits longer than [`server::PATIENCE`], and dropping the server ends all its threads.
//!
//! ```ignore
//! let mut cluster = Cluster::recorded();
//! cluster
//!     .latency(Duration::from_millis(50))
//!     .deny("bob", "list", "pods.metrics.k8s.io")
//!     .grant("bob")
//!     .fault(When::on("/api/v1/namespaces/default/pods").first(1), Fault::Unavailable(Some(1)));
//! let server = Server::start(cluster);
//! let config = server.kubeconfig(&Auth::Token("bob"));
//! // run the program with `--kubeconfig` and `config.path()`
//! assert_eq!(server.rounds(), 3);
//! ```
//!
//! A client sees what the real server would say, and everything recorded is compared with it in
//! `tests/live/api_server`. Where the recording has nothing (429, 500, 504, 406, 410, impersonation)
//! the messages follow the Kubernetes sources, but have not been compared with a server.

#![allow(
    dead_code,
    reason = "every test binary that includes the module uses another part of it"
)]

pub(crate) mod answer;
pub(crate) mod authorize;
pub(crate) mod client;
pub(crate) mod discovery;
mod faults;
pub(crate) mod http;
pub(crate) mod json;
pub(crate) mod kubeconfig;
mod list;
mod log;
mod metrics;
mod objects;
mod proxy;
mod recorded;
pub(crate) mod server;
pub(crate) mod tls;
mod workload;
pub(crate) mod writes;

#[allow(
    unused_imports,
    reason = "every test binary that includes the module uses another part of it"
)]
pub(crate) use self::{
    client::{Client, Response},
    faults::{Fault, When},
    http::Answer,
    kubeconfig::{Auth, Exec, Kubeconfig},
    log::{Recorded, rounds},
    metrics::{CustomMetric, ExternalMetric},
    objects::{Clock, Cluster, Scale},
    proxy::{Gate, Proxy},
    recorded::{Exchange, exchange, exchanges},
    server::Server,
    tls::Transport,
    workload::{NAME, lease},
};
