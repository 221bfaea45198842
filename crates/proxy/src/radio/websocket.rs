//! srsRAN's metrics over WebSocket (RFC 6455): its remote control is asked to send them
//! (`metrics_subscribe`), and each message is read as it comes.

use super::config::WebsocketConfig;
use super::{Sink, State, connect};
use justfull_net::clock::{Clock, SlotClock, now};
use justfull_rnis::{SrsranCell, UeTable, srsran};
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;
use tungstenite::client::client_with_config;
use tungstenite::error::Error;
use tungstenite::http::Uri;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{HandshakeError, Message, WebSocket};

/// For each step of connecting.
const PATIENCE: Duration = Duration::from_millis(800);
/// How long a read waits before the connection is looked after.
const LOOK: Duration = Duration::from_millis(500);
/// Silence after which the other end is asked for a sign, and after which it is given up.
const PING: Duration = Duration::from_secs(5);
const GONE: Duration = Duration::from_secs(15);
/// Longest message.
const LONGEST: usize = 4 << 20;
const SUBSCRIBE: &str = r#"{"cmd": "metrics_subscribe"}"#;
/// Where there is none in the URL.
const PORT: u16 = 80;

pub(super) fn start(config: WebsocketConfig, sink: Sink) -> io::Result<()> {
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
    connect(sink, move |sink| {
        let mut socket = match open(&config.url) {
            Ok(socket) => socket,
            Err(why) => return Some(why),
        };
        follow(&mut socket, sink, (&cell, clock), &mut table)
    })
}

/// Connects and subscribes.
fn open(url: &str) -> Result<WebSocket<TcpStream>, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url} is no URI"))?;
    let host = uri.host().unwrap_or_default();
    let at = (host.trim_matches(['[', ']']), uri.port_u16().unwrap_or(PORT));
    let address = at.to_socket_addrs().map_err(|e| e.to_string())?.next();
    let address = address.ok_or_else(|| format!("{host} has no address"))?;
    let failed = |e: io::Error| e.to_string();
    let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
    let limits =
        WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let shaken = client_with_config(url, stream, Some(limits));
    let (mut socket, _) = shaken.map_err(|e| match e {
        HandshakeError::Failure(e) => e.to_string(),
        HandshakeError::Interrupted(_) => "no answer to the handshake".into(),
    })?;
    socket.send(Message::text(SUBSCRIBE)).map_err(|e| e.to_string())?;
    socket.get_ref().set_read_timeout(Some(LOOK)).map_err(failed)?;
    Ok(socket)
}

/// Reads until the connection ends.
fn follow(
    socket: &mut WebSocket<TcpStream>,
    sink: &Sink,
    (cell, mut clock): (&SrsranCell, SlotClock),
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
                // What was known stays; a wrong file is told where it is written.
                let _kept = table.refresh();
                let ues = |rnti: u32| table.addresses(&rnti.to_string()).to_vec();
                match srsran(text, cell, clock.now(), ues) {
                    Ok((reports, unknown)) => {
                        sink.unknown(unknown);
                        if !reports.into_iter().all(|report| sink.take(Ok(report))) {
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
