//! srsRAN's metrics over WebSocket (RFC 6455): requests them from its remote control
//! (`metrics_subscribe`), and reads each message as it comes. TLS follows RFC 2818.

use super::config::WebsocketConfig;
use super::stream::{self, Stream};
use super::{Sink, State, connect};
use justfull_net::clock::{Clock, SlotClock, now};
use justfull_rnis::{SrsranCell, SrsranUe, UeTable, srsran, tls_client};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::ClientConfig;
use tungstenite::client::{IntoClientRequest, client_with_config};
use tungstenite::error::Error;
use tungstenite::http::Uri;
use tungstenite::http::header::AUTHORIZATION;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{HandshakeError, Message, WebSocket};

/// Longest read before the connection's timers are checked.
const LOOK: Duration = Duration::from_millis(500);
/// Silence after which a ping is sent, and silence after which the connection is closed.
const PING: Duration = Duration::from_secs(5);
const GONE: Duration = Duration::from_secs(15);
/// Longest message.
const LONGEST: usize = 4 << 20;
const SUBSCRIBE: &str = r#"{"cmd": "metrics_subscribe"}"#;
/// Most bytes of a base station's name: with a slash and a cell's number it has 64 bytes.
const LONGEST_STATION: usize = 58;
/// Ports for a URL without one: without TLS, with TLS.
const PORTS: [u16; 2] = [80, 443];

type Socket = WebSocket<Box<dyn Stream>>;

/// Reads the services of `config`, each on its own thread.
///
/// # Errors
/// A file cannot be read, or a thread cannot be started.
pub(super) fn start(config: &WebsocketConfig, sink: &Sink) -> io::Result<()> {
    let urls = std::iter::once(&config.url).chain(&config.urls);
    urls.into_iter().try_for_each(|url| {
        let config = WebsocketConfig { url: url.clone(), ..config.clone() };
        start_one(config, sink.of(url))
    })
}

fn start_one(config: WebsocketConfig, sink: Sink) -> io::Result<()> {
    let mut table = UeTable::read(config.ues.as_ref())?;
    let clock = SlotClock::start().map_err(io::Error::other)?;
    let cell = SrsranCell {
        prbs: config.prbs,
        slot: config.slot,
        period: config.period,
        mcs_table: config.mcs_table,
        symbols: config.symbols,
        dmrs_res: config.dmrs_res,
    };
    let secure = config.url.starts_with("wss");
    let trust = config.access.trust(Some(&config.ca_file));
    let tls = secure.then(|| tls_client(&trust)).transpose()?;
    connect(sink, move |sink| {
        let opened = config
            .access
            .token()
            .and_then(|token| open(&config.url, tls.as_ref(), token.as_deref()));
        let mut socket = match opened {
            Ok(socket) => socket,
            Err(why) => return Some(why),
        };
        follow(&mut socket, sink, station(&config.url), &cell, clock, &mut table)
    })
}

/// The name of a base station: host and port of its URL, cut to the length that a cell's name
/// allows.
fn station(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    authority.get(..LONGEST_STATION).unwrap_or(authority)
}

/// Connects and subscribes.
fn open(url: &str, tls: Option<&Arc<ClientConfig>>, token: Option<&str>) -> Result<Socket, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url} is no URI"))?;
    let host = uri.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let port = uri.port_u16().unwrap_or(PORTS[usize::from(tls.is_some())]);
    let (tcp, stream) = stream::open(host, port, tls)?;
    let limits =
        WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let mut request = url.into_client_request().map_err(|e| e.to_string())?;
    if let Some(token) = token {
        let value = format!("Bearer {token}").parse().map_err(|_| "the token is no header")?;
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let shaken = client_with_config(request, stream, Some(limits));
    let (mut socket, _) = shaken.map_err(|e| match e {
        HandshakeError::Failure(e) => e.to_string(),
        HandshakeError::Interrupted(_) => "no answer to the handshake".into(),
    })?;
    socket.send(Message::text(SUBSCRIBE)).map_err(|e| e.to_string())?;
    tcp.set_read_timeout(Some(LOOK)).map_err(|e| e.to_string())?;
    Ok(socket)
}

/// Reads until the connection ends.
fn follow(
    socket: &mut Socket,
    sink: &Sink,
    station: &str,
    cell: &SrsranCell,
    mut clock: SlotClock,
    table: &mut UeTable,
) -> Option<String> {
    sink.state(State::Connected);
    let (mut heard, mut asked) = (now(), now());
    loop {
        match socket.read() {
            Ok(message) => {
                heard = now();
                let text = match &message {
                    Message::Text(text) => text.as_bytes(),
                    Message::Binary(bytes) => bytes.as_ref(),
                    Message::Close(_) => return Some("the other end closed".into()),
                    _ => continue,
                };
                // After an error the old table stays; the one who writes a wrong file gets the
                // error there.
                let _kept = table.refresh();
                let ues = |ue: SrsranUe<'_>| match table.of_rnti(ue) {
                    Some(ue) => (ue.addresses.clone(), ue.pool.clone()),
                    None => (Vec::new(), None),
                };
                match srsran(text, station, cell, clock.now(), ues) {
                    Ok(read) => {
                        sink.unknown(read.unknown);
                        sink.garbled(read.garbled);
                        if !read.reports.into_iter().all(|report| sink.take(Ok(report))) {
                            return None;
                        }
                    }
                    Err(_) => sink.garbled(1),
                }
                sink.wake();
            }
            Err(Error::Io(e))
                if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                let silent = now().duration_since(heard);
                if silent >= GONE {
                    return Some("the other end is silent".into());
                }
                if silent >= PING && now().duration_since(asked) >= PING {
                    asked = now();
                    if let Err(e) = socket.send(Message::Ping(Vec::new().into())) {
                        return Some(e.to_string());
                    }
                }
            }
            Err(error) => return Some(error.to_string()),
        }
    }
}
