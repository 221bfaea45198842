//! A server of HTTP/1.1 whose clients cannot hold it: a thread with tokio's and hyper's limits.

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Connections at a time; more wait.
const CONNECTIONS: usize = 256;
/// For a request's head, for a handshake, and for a request as a whole.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of a request's head, and of what is read ahead.
const BUFFER: usize = 16 * 1024;

/// What a server of HTTPS shows.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ServerConfig>);

impl Tls {
    /// Reads a chain of certificates and the key of the first, both in PEM.
    ///
    /// # Errors
    /// A file cannot be read or does not have them, or they do not belong together.
    pub fn read(certificates: &Path, key: &Path) -> Result<Self, String> {
        let named = |file: &Path, e: String| format!("{}: {e}", file.display());
        let chain: Vec<CertificateDer> = CertificateDer::pem_file_iter(certificates)
            .and_then(Iterator::collect)
            .map_err(|e| named(certificates, e.to_string()))?;
        if chain.is_empty() {
            return Err(named(certificates, "it has no certificate in PEM".into()));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|e| named(key, e.to_string()))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
            .map_err(|e| named(key, e.to_string()))?;
        Ok(Self(Arc::new(config)))
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
            // It ends at once; that it panicked has been said.
            let _ended = thread.join();
        }
    }
}

/// Serves `router` at `address`. A request that takes longer than 5 s is answered with 408.
///
/// # Errors
/// The address cannot be bound, or the thread cannot be started.
pub fn listen(address: SocketAddr, tls: Option<Tls>, router: Router) -> io::Result<Listening> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let router = router.layer(from_fn(patient));
    let (stop, stopped) = oneshot::channel::<()>();
    let work = move || {
        runtime.block_on(async {
            let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
            tokio::select! {
                () = accept(listener, tls, router) => {}
                _stopped = stopped => {}
            }
        });
    };
    let thread = thread::Builder::new().name("http".into()).spawn(work)?;
    Ok(Listening { address, stop: Some(stop), thread: Some(thread) })
}

async fn patient(request: Request, next: Next) -> Response {
    let answer = tokio::time::timeout(PATIENCE, next.run(request)).await;
    answer.unwrap_or_else(|_late| StatusCode::REQUEST_TIMEOUT.into_response())
}

async fn accept(listener: tokio::net::TcpListener, tls: Option<Tls>, router: Router) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                // No descriptors, perhaps: they come back.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let (tls, router) = (tls.clone(), router.clone());
        tokio::spawn(async move {
            // Whatever ends a connection is its client's.
            let _ended = connection(stream, tls, router).await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, tls: Option<Tls>, router: Router) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE).max_buf_size(BUFFER);
    let service = TowerToHyperService::new(router);
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
