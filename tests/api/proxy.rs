//! A proxy on the loopback interface, by SOCKS 5 or by HTTP's CONNECT, with a log of the requested hosts.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::server::lock;

/// Who may use a proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Gate {
    /// Anyone.
    Open,
    /// Only `user:password`; everyone else gets a 407, or no method.
    For(&'static str),
    /// No one: 403.
    Closed,
    /// It never answers.
    Silent,
}

/// A running proxy. Dropping it ends it; its connections end with either side.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

struct Shared {
    gate: Gate,
    asked: Mutex<Vec<String>>,
    /// Connections that are held without an answer.
    held: Mutex<Vec<TcpStream>>,
    stop: AtomicBool,
}

impl Proxy {
    /// Starts a proxy on a free port of 127.0.0.1.
    pub(crate) fn start(gate: Gate) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on the loopback");
        let address = listener.local_addr().expect("a bound address");
        let shared = Arc::new(Shared {
            gate,
            asked: Mutex::default(),
            held: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let acceptor = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for stream in listener.incoming() {
                    if shared.stop.load(Ordering::SeqCst) {
                        return;
                    }
                    let (Ok(stream), shared) = (stream, Arc::clone(&shared)) else {
                        continue;
                    };
                    // The proxy does not care about a client that disconnects.
                    std::thread::spawn(move || drop(shared.serve(stream)));
                }
            }
        });
        Self {
            address,
            shared,
            acceptor: Some(acceptor),
        }
    }

    /// Returns `scheme://user@127.0.0.1:port`, the user with its password, if any.
    pub(crate) fn url(&self, scheme: &str, user: &str) -> String {
        let at = if user.is_empty() { "" } else { "@" };
        format!("{scheme}://{user}{at}{}", self.address)
    }

    /// Returns the requested hosts, as `host:port`.
    pub(crate) fn asked(&self) -> Vec<String> {
        lock(&self.shared.asked).clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // The acceptor waits for a connection, so it gets one.
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            drop(acceptor.join());
        }
    }
}

impl Shared {
    fn serve(&self, client: TcpStream) -> io::Result<()> {
        let mut first = [0];
        client.peek(&mut first)?;
        if first == [5] {
            self.serve_socks(client)
        } else {
            self.serve_http(client)
        }
    }

    fn serve_socks(&self, mut client: TcpStream) -> io::Result<()> {
        let methods = read(&mut client, 1)?;
        if let Gate::For(user) = self.gate {
            if !methods.contains(&2) {
                return client.write_all(&[5, 0xff]);
            }
            client.write_all(&[5, 2])?;
            let name = read(&mut client, 1)?;
            let password = read(&mut client, 0)?;
            let is_right = [name, password].join(&b':') == user.as_bytes();
            client.write_all(&[1, u8::from(!is_right)])?;
            if !is_right {
                return Ok(());
            }
        } else {
            client.write_all(&[5, 0])?;
        }
        let mut request = [0; 10];
        client.read_exact(&mut request)?;
        // It is an IPv4 address.
        let [5, 1, 0, 1, a, b, c, d, port @ ..] = request else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let place = format!("{a}.{b}.{c}.{d}:{}", u16::from_be_bytes(port));
        lock(&self.asked).push(place.clone());
        let server = TcpStream::connect(place)?;
        client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
        relay(client, server)
    }

    fn serve_http(&self, mut client: TcpStream) -> io::Result<()> {
        let mut lines = BufReader::new(client.try_clone()?).lines();
        let request = lines.next().unwrap_or_else(|| Ok(String::new()))?;
        let mut authorization = None;
        for line in lines {
            let line = line?;
            match line.split_once(": ") {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("proxy-authorization") => {
                    authorization = Some(value.to_owned());
                }
                Some(_) => {}
            }
        }
        let place = request
            .strip_prefix("CONNECT ")
            .and_then(|rest| rest.split(' ').next());
        let place = place.unwrap_or_default().to_owned();
        lock(&self.asked).push(place.clone());
        let refusal = match self.gate {
            Gate::Open => None,
            Gate::For(user) => {
                let wanted = format!("Basic {}", STANDARD.encode(user.as_bytes()));
                (authorization != Some(wanted)).then_some(
                    "407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"",
                )
            }
            Gate::Closed => Some("403 Forbidden"),
            Gate::Silent => {
                lock(&self.held).push(client);
                return Ok(());
            }
        };
        if let Some(refusal) = refusal {
            return write!(client, "HTTP/1.1 {refusal}\r\nContent-Length: 0\r\n\r\n");
        }
        let server = TcpStream::connect(place)?;
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        relay(client, server)
    }
}

/// Reads a field of SOCKS: some bytes, the length, and as many bytes.
fn read(client: &mut TcpStream, before: usize) -> io::Result<Vec<u8>> {
    let mut head = vec![0; before + 1];
    client.read_exact(&mut head)?;
    let mut field = vec![0; usize::from(head[before])];
    client.read_exact(&mut field)?;
    Ok(field)
}

/// Passes on what each side says. A client speaks after it has been accepted, so nothing was read ahead.
fn relay(mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
    let (mut back, mut forth) = (server.try_clone()?, client.try_clone()?);
    std::thread::spawn(move || {
        drop(io::copy(&mut back, &mut forth));
        drop(forth.shutdown(Shutdown::Write));
    });
    drop(io::copy(&mut client, &mut server));
    server.shutdown(Shutdown::Write)
}
