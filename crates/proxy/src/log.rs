//! The log: one line of JSON for each connection when it has ended.

use crate::config::OperationConfig;
use crate::flow::{Flow, Outcome};
use justfull_base::Instant;
use justfull_net::Prefix;
use justfull_net::SystemError;
use serde_json::json;
use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::net::{IpAddr, SocketAddr};

/// Bits of an address that are written when addresses are hidden: an operator's network.
const SHOWN_BITS: [u8; 2] = [16, 32];

/// See the module's page. A disk that is full loses lines and nothing else.
pub(crate) struct Log {
    to: Option<BufWriter<Box<dyn Write>>>,
    hide: bool,
    /// Lines that could not be written.
    pub(crate) lost: u64,
}

impl Log {
    pub(crate) fn open(config: &OperationConfig) -> Result<Self, SystemError> {
        let to: Option<Box<dyn Write>> = match config.log.as_str() {
            "" => None,
            "-" => Some(Box::new(io::stdout())),
            path => {
                let file = OpenOptions::new().create(true).append(true).open(path);
                Some(Box::new(
                    file.map_err(|e| SystemError::new(format!("open the log {path}"), e))?,
                ))
            }
        };
        Ok(Self { to: to.map(BufWriter::new), hide: config.hide_addresses, lost: 0 })
    }

    fn address(&self, at: SocketAddr) -> String {
        match (self.hide, at.ip()) {
            (false, _) => at.to_string(),
            (true, ip @ IpAddr::V4(_)) => Prefix::of(ip, SHOWN_BITS[0]).to_string(),
            (true, ip) => Prefix::of(ip, SHOWN_BITS[1]).to_string(),
        }
    }

    fn write(&mut self, line: &serde_json::Value) {
        let Some(to) = &mut self.to else { return };
        // Whole or not at all: what a full disk refuses leaves no half of a line.
        if to.write_all(format!("{line}\n").as_bytes()).is_err() {
            self.lost += 1;
        }
    }

    /// A connection has ended.
    pub(crate) fn ended(&mut self, flow: &Flow, now: Instant, outcome: Outcome) {
        if self.to.is_none() {
            return;
        }
        let line = json!({
            "time": unix_seconds(),
            "event": "connection",
            "client": self.address(flow.client_at),
            "server": flow.server_at.to_string(),
            "outcome": outcome.name(),
            "seconds": now.since(flow.opened).as_secs_f64(),
            "bytes_up": flow.up.bytes,
            "bytes_down": flow.down.bytes,
            "mss": flow.mss,
        });
        self.write(&line);
    }

    /// A connection that never began has ended.
    pub(crate) fn refused(&mut self, client: SocketAddr, server: SocketAddr, outcome: Outcome) {
        if self.to.is_none() {
            return;
        }
        let line = json!({
            "time": unix_seconds(),
            "event": "connection",
            "client": self.address(client),
            "server": server.to_string(),
            "outcome": outcome.name(),
        });
        self.write(&line);
    }

    /// Something else has happened.
    pub(crate) fn note(&mut self, event: &str, what: &str) {
        let line = json!({ "time": unix_seconds(), "event": event, "what": what });
        self.write(&line);
        self.flush();
    }

    /// Writes what waits.
    pub(crate) fn flush(&mut self) {
        if let Some(to) = &mut self.to
            && to.flush().is_err()
        {
            self.lost += 1;
        }
    }
}

/// The time of the day, for people: nothing is computed from it.
#[expect(clippy::disallowed_methods, reason = "the log tells when something was")]
fn unix_seconds() -> f64 {
    let now = std::time::SystemTime::now();
    now.duration_since(std::time::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}
