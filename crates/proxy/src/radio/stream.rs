//! A connection to a source, with TLS or without.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};

/// Time limit for each step of connecting.
const PATIENCE: Duration = Duration::from_millis(800);

/// A connection with or without TLS.
pub(super) trait Stream: Read + Write {}

impl<T: Read + Write> Stream for T {}

/// Connects to a port of a host; with `tls` the host must show a certificate for its name. The
/// first returned value sets the timeouts of the second.
pub(super) fn open(
    host: &str,
    port: u16,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<(TcpStream, Box<dyn Stream>), String> {
    let address = (host, port).to_socket_addrs().map_err(|e| e.to_string())?.next();
    let address = address.ok_or_else(|| format!("{host} has no address"))?;
    let failed = |e: io::Error| e.to_string();
    let tcp = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    tcp.set_nodelay(true).map_err(failed)?;
    tcp.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    tcp.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let own = tcp.try_clone().map_err(failed)?;
    let stream: Box<dyn Stream> = match tls {
        None => Box::new(own),
        Some(config) => Box::new(secured(own, host, config)?),
    };
    Ok((tcp, stream))
}

/// Makes the TLS handshake with a server, which must show a certificate for `host`.
fn secured(
    mut tcp: TcpStream,
    host: &str,
    config: &Arc<ClientConfig>,
) -> Result<StreamOwned<ClientConnection, TcpStream>, String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|e| format!("{host}: {e}"))?;
    let mut tls = ClientConnection::new(Arc::clone(config), name).map_err(|e| e.to_string())?;
    while tls.is_handshaking() {
        tls.complete_io(&mut tcp).map_err(|e| match e.kind() {
            io::ErrorKind::WouldBlock => "no answer to the TLS handshake".to_owned(),
            _ => e.to_string(),
        })?;
    }
    Ok(StreamOwned::new(tls, tcp))
}
