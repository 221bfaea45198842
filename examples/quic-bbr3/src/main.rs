//! A download over QUIC whose sender is noq's BBRv3 (draft-ietf-ccwg-bbr), for `justfull live` and
//! `justfull parity`: `quic-bbr3 serve FILE` sends until the client ends, `quic-bbr3 fetch FILE
//! SECONDS` receives for that time. The server writes its certificate to FILE, which the client
//! reads.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq::congestion::Bbr3Config;
use noq::rustls::RootCertStore;
use noq::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use noq::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use tokio::time::{sleep, timeout};

type Outcome = Result<(), Box<dyn Error>>;

const NAME: &str = "server";
const PORT: u16 = 4433;
/// Larger than a cell needs.
const WINDOW: u32 = 16 << 20;

async fn serve(file: &Path) -> Outcome {
    let own = rcgen::generate_simple_self_signed([NAME.to_owned()])?;
    let certificate = CertificateDer::from(own.cert);
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Bbr3Config::default()));
    transport.send_window(u64::from(WINDOW));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)))?;
    let fresh = file.with_extension("new");
    std::fs::write(&fresh, &certificate)?;
    std::fs::rename(&fresh, file)?;
    let incoming = endpoint.accept().await.ok_or("no connection comes")?;
    let connection = incoming.await?;
    let mut stream = connection.open_uni().await?;
    let chunk = vec![0; 1 << 16];
    // The client's end of the connection is an error of the stream, and the end of the transfer.
    while stream.write_all(&chunk).await.is_ok() {}
    Ok(())
}

async fn fetch(file: &Path, time: Duration) -> Outcome {
    let begin = Instant::now();
    while !file.exists() {
        if begin.elapsed() > Duration::from_secs(10) {
            return Err("the server has written no certificate within 10 s".into());
        }
        sleep(Duration::from_millis(20)).await;
    }
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(file)?))?;
    std::fs::remove_file(file)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut transport = TransportConfig::default();
    transport.stream_receive_window(WINDOW.into()).receive_window(WINDOW.into());
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))?;
    let addresses: Vec<_> = (NAME, PORT).to_socket_addrs()?.collect();
    let address = addresses.into_iter().find(SocketAddr::is_ipv4).ok_or("`server` is unknown")?;
    let connection = endpoint.connect_with(config, address, NAME)?.await?;
    let mut stream = connection.accept_uni().await?;
    let mut buffer = vec![0; 1 << 16];
    let (begin, mut received) = (Instant::now(), 0_u64);
    while let Some(left) = time.checked_sub(begin.elapsed()) {
        match timeout(left, stream.read(&mut buffer)).await {
            Ok(read) => received += read?.ok_or("the server has ended the stream")? as u64,
            Err(_) => break,
        }
    }
    let mbit_s = received as f64 * 8e-6 / begin.elapsed().as_secs_f64();
    println!("{received} bytes, {mbit_s:.2} Mbit/s");
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", file] => serve(file.as_ref()).await,
        ["fetch", file, seconds] => {
            fetch(file.as_ref(), Duration::from_secs_f64(seconds.parse()?)).await
        }
        _ => Err("usage: quic-bbr3 serve FILE | fetch FILE SECONDS".into()),
    }
}
