//! A server of HTTP/1.1 that clients cannot block: a thread with tokio's and hyper's limits, a time
//! limit for reading an answer, and for each client a share of connections and bytes.

use crate::client::LONGEST_ANSWER;
use crate::share::{Held, Open, Places, Reader};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use justfull_net::{bounded_listener, client};
use justfull_trace::input::{SETTINGS_LIMIT, read_capped};
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Time limit for a request's head, for a handshake, and for a whole request.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most names that are looked up at a time.
const LOOKUPS: usize = 16;
/// Bytes of a request's head, and bytes read ahead.
const BUFFER: usize = 16 * 1024;

/// The certificates of an HTTPS server.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads a chain of certificates and the key of the first, both in PEM.
    ///
    /// # Errors
    /// A file cannot be read or does not have them, or they do not belong together.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, TlsError> {
        let of_chain = |e: &dyn fmt::Display| {
            TlsError::Certificates(format!("{}: {e}", certificates.display()))
        };
        let of_key = |e: &dyn fmt::Display| TlsError::Key(format!("{}: {e}", key.display()));
        let bytes = read_capped(certificates, SETTINGS_LIMIT).map_err(|e| of_chain(&e))?;
        let chain: Result<Vec<CertificateDer>, _> =
            CertificateDer::pem_slice_iter(&bytes).collect();
        let chain = chain.map_err(|e| of_chain(&e))?;
        if chain.is_empty() {
            return Err(of_chain(&"it has no certificate in PEM"));
        }
        let bytes = read_capped(key, SETTINGS_LIMIT).map_err(|e| of_key(&e))?;
        let secret = PrivateKeyDer::from_pem_slice(&bytes).map_err(|e| of_key(&e))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|e| match e {
                rustls::Error::InvalidCertificate(_) => of_chain(&e),
                _ => of_key(&e),
            })?;
        Ok(Self(Arc::new(config)))
    }
}

/// The wrong file of an HTTPS server, and why it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TlsError {
    /// The file of the certificates.
    Certificates(String),
    /// The file of the key, which may belong to another certificate.
    Key(String),
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificates(why) | Self::Key(why) => f.write_str(why),
        }
    }
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Listening {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Listening {
    /// The address it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends at once; a panic has been printed already.
            let _ended = thread.join();
        }
    }
}

/// Serves `router` at `address`, with at most `connections` at a time, and half of them for one
/// client. A new one replaces the connection that has been silent longest. A request that takes
/// longer than 5 s is answered with 408, and a client that does not read its answer is
/// disconnected.
///
/// # Errors
/// The address cannot be bound, or the thread cannot be started.
pub fn listen(
    address: SocketAddr,
    tls: Option<Tls>,
    router: Router,
    connections: usize,
) -> io::Result<Listening> {
    let listener = bounded_listener(address)?;
    let address = listener.local_addr()?;
    serve_at(address, Some(listener), tls, router, connections)
}

/// As [`listen`]. While another process has `address`, the server waits for it to end.
///
/// # Errors
/// The address cannot be bound for another reason, or the thread cannot be started.
pub fn listen_after(
    address: SocketAddr,
    tls: Option<Tls>,
    router: Router,
    connections: usize,
) -> io::Result<Listening> {
    let listener = match bounded_listener(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => None,
        other => Some(other?),
    };
    serve_at(address, listener, tls, router, connections)
}

/// Listens at `address` as soon as no other process does.
async fn when_free(address: SocketAddr) -> io::Result<TcpListener> {
    loop {
        match bounded_listener(address) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            other => return other,
        }
    }
}

fn serve_at(
    address: SocketAddr,
    listener: Option<TcpListener>,
    tls: Option<Tls>,
    router: Router,
    connections: usize,
) -> io::Result<Listening> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(LOOKUPS)
        .enable_all()
        .build()?;
    let router = router.layer(from_fn(patient));
    let (stop, stopped) = oneshot::channel::<()>();
    let places = Places::new(connections);
    let work = move || {
        runtime.block_on(async {
            let serves = async {
                let listener = match listener {
                    Some(listener) => listener,
                    None => when_free(address).await?,
                };
                listener.set_nonblocking(true)?;
                let listener = tokio::net::TcpListener::from_std(listener)?;
                accept(listener, tls, router, places).await;
                io::Result::Ok(())
            };
            tokio::select! {
                _failed = serves => {}
                _stopped = stopped => {}
            }
        });
        // Does not wait for name lookups that are still running.
        runtime.shutdown_background();
    };
    let thread = thread::Builder::new().name("http".into()).spawn(work)?;
    Ok(Listening { address, stop: Some(stop), thread: Some(thread) })
}

/// Answers a request in time. The body counts as its client's until it has been sent.
async fn patient(request: Request, next: Next) -> Response {
    let open = request.extensions().get::<Open>().cloned();
    let answer = tokio::time::timeout(PATIENCE, next.run(request)).await;
    let answer = answer.unwrap_or_else(|_late| StatusCode::REQUEST_TIMEOUT.into_response());
    let (head, body) = answer.into_parts();
    let Ok(bytes) = to_bytes(body, LONGEST_ANSWER).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    match open {
        Some(open) => Response::from_parts(head, Body::new(Held::new(open, bytes))),
        None => Response::from_parts(head, bytes.into()),
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    tls: Option<Tls>,
    router: Router,
    places: Places,
) {
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                // Perhaps no descriptor is free; one will be.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let (tls, router) = (tls.clone(), router.clone());
        places.enter(client(from.ip()), |open| {
            tokio::spawn(async move {
                // The end of a connection, whatever its reason, concerns only its client.
                let _ended = connection(stream, tls, router, &open).await;
                open.leave();
            })
            .abort_handle()
        });
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<Tls>,
    router: Router,
    open: &Open,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let stream = Reader::new(stream, open.clone());
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(BUFFER);
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(open.clone());
        router.call(request)
    });
    let ended = match tls {
        None => http.serve_connection(TokioIo::new(stream), service).await,
        Some(Tls(config)) => {
            let shake = TlsAcceptor::from(config).accept(stream);
            let stream = tokio::time::timeout(PATIENCE, shake).await??;
            http.serve_connection(TokioIo::new(stream), service).await
        }
    };
    ended.map_err(io::Error::other)
}
