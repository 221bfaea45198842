//! A download over QUIC (RFC 9000), by quinn: one connection with one stream, on the ports of the
//! simulator's transfer over UDP. No proxy splits it.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use justfull_run::Traffic;
use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig};
use socket2::{Protocol, Type};
use tokio::time::timeout;

use super::{Applications, CHUNK, CONNECT, Flow, LOOK, Own, bound, failed, flow_ends, samples};
use justfull_net::clock::now;
use justfull_net::{Network, Side, SystemError};

/// Default window of a receiver, if the scenario does not fix it: larger than any cell needs.
const WINDOW: u32 = 16 << 20;
/// The name in the certificate.
const NAME: &str = "server";

impl Applications {
    /// Starts a download over QUIC under `control`.
    pub(super) fn start_quic(
        &mut self,
        network: &Network,
        Own { config: flow, shared, .. }: Own<'_>,
        control: &str,
    ) -> Result<(), SystemError> {
        let (server, ue) = flow_ends(flow);
        let udp = |side, own| bound(network, side, Type::DGRAM, Protocol::UDP, own);
        let (at_server, at_ue) = (udp(Side::Server, server)?, udp(Side::Ue(flow.ue as usize), ue)?);
        let window = match &*flow.traffic {
            Traffic::Tcp { receiver, .. } => super::window::fixed(&receiver.window),
            _ => None,
        };
        let (serves, fetches) =
            configs(control, window.unwrap_or(WINDOW)).map_err(|e| failed(&flow.name, e))?;
        let (at_server, at_ue): (UdpSocket, UdpSocket) = (at_server.into(), at_ue.into());
        self.spawn(shared, move |flow| on_thread(serve(flow, serves, at_server)))?;
        self.spawn(shared, move |flow| {
            if !flow.wait_until(flow.start) {
                return Ok(());
            }
            on_thread(fetch(flow, fetches, at_ue, server))
        })
    }
}

/// Runs `work` with a runtime of its own.
fn on_thread(work: impl Future<Output = io::Result<()>>) -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// The settings of both ends. The certificate is made for this transfer alone.
fn configs(control: &str, window: u32) -> io::Result<(ServerConfig, ClientConfig)> {
    let own = rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(io::Error::other)?;
    let certificate = CertificateDer::from(own.cert);
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).map_err(io::Error::other)?;
    let mut server =
        ServerConfig::with_single_cert(vec![certificate], key.into()).map_err(io::Error::other)?;
    let control: Arc<dyn ControllerFactory + Send + Sync> = match control {
        "bbr" => Arc::new(BbrConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        _ => Arc::new(NewRenoConfig::default()),
    };
    let mut sending = TransportConfig::default();
    sending.congestion_controller_factory(control).send_window(u64::from(WINDOW));
    server.transport_config(Arc::new(sending));
    let mut client =
        ClientConfig::with_root_certificates(Arc::new(roots)).map_err(io::Error::other)?;
    let mut receiving = TransportConfig::default();
    receiving.stream_receive_window(window.into()).receive_window(window.into());
    client.transport_config(Arc::new(receiving));
    Ok((server, client))
}

fn endpoint(server: Option<ServerConfig>, socket: UdpSocket) -> io::Result<Endpoint> {
    socket.set_nonblocking(true)?;
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(TokioRuntime))
}

/// Sends as much as the transfer has, or until the end.
async fn serve(flow: &Flow, config: ServerConfig, socket: UdpSocket) -> io::Result<()> {
    let endpoint = endpoint(Some(config), socket)?;
    let incoming = loop {
        if flow.ended() {
            return Ok(());
        }
        if let Ok(incoming) = timeout(LOOK, endpoint.accept()).await {
            break incoming;
        }
    };
    let Some(incoming) = incoming else { return Ok(()) };
    let connection = incoming.await?;
    let mut stream = connection.open_uni().await?;
    let chunk = vec![0; CHUNK];
    let mut left = flow.size.unwrap_or(u64::MAX);
    let mut sampled = now();
    while left > 0 && !flow.ended() {
        let most = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        // Data that is not written in this time has not been accepted.
        if let Ok(written) = timeout(samples::PERIOD, stream.write(&chunk[..most])).await {
            let bytes = written.map_err(io::Error::other)? as u64;
            left -= bytes;
            flow.sent.fetch_add(bytes, Ordering::Relaxed);
        }
        if now().saturating_duration_since(sampled) >= samples::PERIOD {
            sampled = now();
            sample(flow, &connection);
        }
    }
    // A stream that is already closed needs no end.
    let _closed = stream.finish();
    while !flow.ended() && timeout(samples::PERIOD, stream.stopped()).await.is_err() {
        sample(flow, &connection);
    }
    connection.close(0_u32.into(), b"");
    let _idle = timeout(LOOK, endpoint.wait_idle()).await;
    Ok(())
}

fn sample(flow: &Flow, connection: &quinn::Connection) {
    let received = flow.received.load(Ordering::Relaxed);
    let stats = connection.stats();
    flow.senders.add(flow.begin, stats.path.rtt, stats.frame_rx.acks, received);
}

/// Reads until the server ends the stream.
async fn fetch(
    flow: &Flow,
    config: ClientConfig,
    socket: UdpSocket,
    server: SocketAddr,
) -> io::Result<()> {
    let endpoint = endpoint(None, socket)?;
    let connecting = endpoint.connect_with(config, server, NAME).map_err(io::Error::other)?;
    let Ok(connection) = timeout(CONNECT, connecting).await else {
        return if flow.ended() { Ok(()) } else { Err(io::ErrorKind::TimedOut.into()) };
    };
    let connection = connection?;
    let mut stream = loop {
        if flow.ended() {
            return Ok(());
        }
        if let Ok(stream) = timeout(LOOK, connection.accept_uni()).await {
            break stream?;
        }
    };
    let mut buffer = vec![0; CHUNK];
    while !flow.stop.load(Ordering::Relaxed) {
        match timeout(LOOK, stream.read(&mut buffer)).await {
            Err(_) => {}
            Ok(Ok(Some(bytes))) => flow.took(bytes as u64),
            // The end of the stream, or of the server at the end of the run.
            Ok(Ok(None) | Err(_)) => break,
        }
    }
    connection.close(0_u32.into(), b"");
    let _idle = timeout(Duration::from_millis(10), endpoint.wait_idle()).await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::applications::samples::Senders;
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::{Arc, OnceLock};
    use std::thread;

    #[test]
    fn a_transfer_over_quic_arrives_whole_under_each_control() {
        for control in ["cubic", "bbr", "new_reno"] {
            let flow = Flow {
                name: control.into(),
                begin: now(),
                start: now(),
                end: None,
                stop: Arc::<AtomicBool>::default(),
                sent: AtomicU64::new(0),
                received: AtomicU64::new(0),
                failed: OnceLock::new(),
                size: Some(3_000_000),
                whole: OnceLock::new(),
                senders: Senders::default(),
            };
            let any = || UdpSocket::bind("127.0.0.1:0").expect("a port");
            let (at_server, at_ue) = (any(), any());
            let to = at_server.local_addr().expect("it has one");
            let (server, client) = configs(control, WINDOW).expect("sound");
            thread::scope(|scope| {
                let serving = scope.spawn(|| on_thread(serve(&flow, server, at_server)));
                on_thread(fetch(&flow, client, at_ue, to)).expect("it comes");
                flow.stop.store(true, Ordering::Relaxed);
                serving.join().expect("no panic").expect("it is sent");
            });
            assert_eq!(flow.received.load(Ordering::Relaxed), 3_000_000, "{control}");
            assert!(flow.whole.get().is_some());
        }
    }
}
