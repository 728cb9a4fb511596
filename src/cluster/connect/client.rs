//! Clients of one API server: kube's, over connections that go there directly or through a proxy, with a
//! limit on the time to connect. They must not repeat a request. Follows `transport.New` of client-go, and
//! kube's own `ClientBuilder::try_from`.

use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{BoxFuture, Either, select};
use http::{HeaderValue, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::rt::TokioExecutor;
use kube::client::middleware::{BaseUriLayer, ExtraHeadersLayer};
use kube::client::{Body, ClientBuilder, ConfigExt};
use percent_encoding::percent_decode_str;
use tokio::sync::watch;
use tokio::time::timeout;
use tower_service::Service;

use super::tls::Tls;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Tcp = <HttpConnector as Service<Uri>>::Response;

/// Everything needed to build clients of one API server.
#[derive(Clone)]
pub(crate) struct ClientSource {
    server: BaseUriLayer,
    headers: ExtraHeadersLayer,
    connector: Connector,
}

impl ClientSource {
    /// Uses only the server and the headers of `config`.
    pub(super) fn new(config: &kube::Config, connector: Connector) -> kube::Result<Self> {
        Ok(Self {
            server: config.base_uri_layer(),
            headers: config.extra_headers_layer()?,
            connector,
        })
    }

    /// Returns a client with separate connections. Unlike kube's, it has no layer for credentials, which would
    /// add JSONPath and regular expressions for plugins that never run there, and none that repeats requests. Once it is
    /// `stopped`, it makes no connection, and abandons one that is being made.
    pub(crate) fn client(&self, stopped: Option<watch::Receiver<bool>>) -> kube::Client {
        let connector = Connector {
            stopped,
            ..self.connector.clone()
        };
        let connections: Connections<_, Body> =
            Connections::builder(TokioExecutor::new()).build(connector);
        ClientBuilder::new(connections, "default")
            .with_layer(&self.headers)
            .with_layer(&self.server)
            .build()
    }
}

/// A connector to the server, with TLS where the address requires it.
#[derive(Clone)]
pub(super) struct Connector {
    inner: HttpsConnector<Route>,
    limit: Option<Duration>,
    stopped: Option<watch::Receiver<bool>>,
}

impl Connector {
    /// Returns a connector, through a proxy if one is specified; `limit` applies to each connection.
    pub(super) fn new(proxy: Option<&Uri>, tls: &Tls, limit: Option<Duration>) -> Self {
        Self {
            inner: tls.over(Route::new(proxy, tls)),
            limit,
            stopped: None,
        }
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
        let in_time: Self::Future = match self.limit {
            Some(limit) => Box::pin(async move {
                let late = |_| io::Error::from(io::ErrorKind::TimedOut);
                timeout(limit, connection).await.map_err(late)?
            }),
            None => connection,
        };
        let Some(mut stopped) = self.stopped.clone() else {
            return in_time;
        };
        Box::pin(async move {
            let stop = stopped.wait_for(|stopped| *stopped);
            // The first one is asked first.
            match select(pin!(stop), in_time).await {
                Either::Left(_) => Err(io::Error::from(io::ErrorKind::Interrupted).into()),
                Either::Right((made, _)) => made,
            }
        })
    }
}

/// The route to the server, below its TLS.
#[derive(Clone)]
enum Route {
    Direct(HttpConnector),
    Socks(SocksV5<HttpConnector>),
    Tunnel(Tunnel<HttpConnector>),
    /// With TLS to the proxy as well.
    TlsTunnel(Tunnel<HttpsConnector<HttpConnector>>),
}

impl Route {
    fn new(proxy: Option<&Uri>, tls: &Tls) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        let Some(proxy) = proxy else {
            return Self::Direct(tcp);
        };
        match proxy.scheme_str() {
            Some("socks5") => {
                let socks = SocksV5::new(proxy.clone(), tcp);
                let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
                Self::Socks(match credentials(proxy) {
                    Some((user, password)) => socks.with_auth(text(user), text(password)),
                    None => socks,
                })
            }
            Some("https") => Self::TlsTunnel(tunnel(proxy, tls.over(tcp))),
            _ => Self::Tunnel(tunnel(proxy, tcp)),
        }
    }
}

/// Returns a tunnel through an HTTP proxy, with the user and password in its address, if any.
fn tunnel<C>(proxy: &Uri, connector: C) -> Tunnel<C> {
    let tunnel = Tunnel::new(proxy.clone(), connector);
    let Some((user, password)) = credentials(proxy) else {
        return tunnel;
    };
    let pair = STANDARD.encode([user, password].join(&b':'));
    match HeaderValue::try_from(format!("Basic {pair}")) {
        // The tunnel marks it as sensitive.
        Ok(header) => tunnel.with_auth(header),
        Err(_) => tunnel,
    }
}

/// Returns the user and password in a proxy's address. As in Go, a user without a password has an empty one.
fn credentials(proxy: &Uri) -> Option<(Vec<u8>, Vec<u8>)> {
    let (pair, _) = proxy.authority()?.as_str().split_once('@')?;
    let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
    Some((
        percent_decode_str(user).collect(),
        percent_decode_str(password).collect(),
    ))
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

/// Makes a connection that has no TLS yet.
fn plain<E: Into<BoxError>>(
    connection: impl Future<Output = Result<Tcp, E>> + Send + 'static,
) -> BoxFuture<'static, Result<MaybeHttpsStream<Tcp>, BoxError>> {
    Box::pin(async move {
        connection
            .await
            .map(MaybeHttpsStream::Http)
            .map_err(Into::into)
    })
}
