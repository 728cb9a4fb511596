//! HTTP to one API server: requests with the headers of the user, over connections that lead there
//! directly or through a proxy, and that may only take so long to make. It must not repeat a request.
//! Follows `transport.New` of client-go.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Request, Uri};
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::legacy::{Client as Connections, ResponseFuture};
use hyper_util::rt::TokioExecutor;
use percent_encoding::percent_decode_str;
use tokio::time::timeout;
use tower_service::Service;

use super::tls::Tls;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Tcp = <HttpConnector as Service<Uri>>::Response;

/// Sends requests to one API server.
#[derive(Clone)]
pub(crate) struct Client {
    server: Uri,
    headers: HeaderMap,
    connector: Connector,
    connections: Connections<Connector, Full<Bytes>>,
}

impl Client {
    /// A client that sends these headers with each request.
    pub(super) fn new(server: Uri, headers: HeaderMap, connector: Connector) -> Self {
        let connections = Connections::builder(TokioExecutor::new()).build(connector.clone());
        Self { server, headers, connector, connections }
    }

    /// The same with connections of its own.
    pub(crate) fn anew(&self) -> Self {
        Self::new(self.server.clone(), self.headers.clone(), self.connector.clone())
    }

    /// The address of a path with its query, below the server's own path.
    pub(crate) fn address(&self, path: &str) -> Result<Uri, http::Error> {
        let path: PathAndQuery = path.parse()?;
        let base = self.server.path().trim_end_matches('/');
        let mut parts = self.server.clone().into_parts();
        parts.path_and_query = Some(format!("{base}{path}").parse()?);
        Ok(Uri::from_parts(parts)?)
    }

    /// Sends a request to one of its addresses.
    pub(crate) fn send(&self, mut request: Request<Full<Bytes>>) -> ResponseFuture {
        request.headers_mut().extend(self.headers.clone());
        self.connections.request(request)
    }
}

/// Makes connections to the server, with TLS where its address asks for it.
#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<Route>,
    limit: Option<Duration>,
}

impl Connector {
    /// Connections through a proxy, if one is given, of which each may take so long.
    pub(super) fn new(proxy: Option<&Uri>, tls: &Tls, limit: Option<Duration>) -> Self {
        Self { inner: tls.over(Route::new(proxy, tls)), limit }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<MaybeHttpsStream<Tcp>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        let connection = self.inner.call(server);
        match self.limit {
            Some(limit) => Box::pin(async move {
                let late = |_| io::Error::from(io::ErrorKind::TimedOut);
                timeout(limit, connection).await.map_err(late)?
            }),
            None => connection,
        }
    }
}

/// The way to the server, before TLS with it.
#[derive(Clone)]
enum Route {
    Direct(HttpConnector),
    Socks(SocksV5<HttpConnector>),
    Tunnel(Tunnel<HttpConnector>),
    /// With TLS to the proxy too.
    TlsTunnel(Tunnel<HttpsConnector<HttpConnector>>),
}

impl Route {
    fn new(proxy: Option<&Uri>, tls: &Tls) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let Some(proxy) = proxy else { return Self::Direct(tcp) };
        match proxy.scheme_str() {
            Some("socks5") => Self::Socks(SocksV5::new(proxy.clone(), tcp)),
            Some("https") => Self::TlsTunnel(tunnel(proxy, tls.over(tcp))),
            _ => Self::Tunnel(tunnel(proxy, tcp)),
        }
    }
}

/// A tunnel of an HTTP proxy, which learns its user and password if its address has them.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let user = proxy.authority().and_then(|authority| authority.as_str().split_once('@'));
    let Some((user, _)) = user else { return tunnel };
    let user: Vec<u8> = percent_decode_str(user).collect();
    match HeaderValue::try_from(format!("Basic {}", STANDARD.encode(user))) {
        // It is marked as sensitive there.
        Ok(header) => tunnel.with_auth(header),
        Err(_) => tunnel,
    }
}

impl Service<Uri> for Route {
    type Response = MaybeHttpsStream<Tcp>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Direct(tcp) => tcp.poll_ready(context).map_err(Into::into),
            Self::Socks(proxy) => proxy.poll_ready(context).map_err(Into::into),
            Self::Tunnel(proxy) => proxy.poll_ready(context).map_err(Into::into),
            Self::TlsTunnel(proxy) => proxy.poll_ready(context).map_err(Into::into),
        }
    }

    fn call(&mut self, server: Uri) -> Self::Future {
        match self {
            Self::Direct(tcp) => plain(tcp.call(server)),
            Self::Socks(proxy) => plain(proxy.call(server)),
            Self::Tunnel(proxy) => plain(proxy.call(server)),
            Self::TlsTunnel(proxy) => {
                let connection = proxy.call(server);
                Box::pin(async move { Ok(connection.await?) })
            }
        }
    }
}

/// A connection without TLS so far.
fn plain<E: Into<BoxError>>(
    connection: impl Future<Output = Result<Tcp, E>> + Send + 'static,
) -> BoxFuture<'static, Result<MaybeHttpsStream<Tcp>, BoxError>> {
    Box::pin(async move { connection.await.map(MaybeHttpsStream::Http).map_err(Into::into) })
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{Client, Connector};
    use crate::cluster::connect::config_file::Cluster;
    use crate::cluster::connect::tls::Tls;

    #[test]
    fn addresses_are_below_the_servers_path() {
        let cluster = Cluster { insecure_skip_tls_verify: true, ..Cluster::default() };
        let tls = Tls::new(&cluster, None).unwrap();
        for (server, path, address) in [
            ("https://h:6443", "/api/v1/nodes?limit=1", "https://h:6443/api/v1/nodes?limit=1"),
            ("https://h/k8s/c-1/", "/api", "https://h/k8s/c-1/api"),
            ("http://[::1]:80/a", "/b?c=/d", "http://[::1]:80/a/b?c=/d"),
            ("https://h", "//other/api", "https://h//other/api"),
        ] {
            let connector = Connector::new(None, &tls, None);
            let client = Client::new(server.parse().unwrap(), HeaderMap::new(), connector);
            assert_eq!(client.address(path).unwrap(), address);
            assert!(client.address("/a b").is_err() && client.address("other/api").is_err());
        }
    }
}
