//! A connection as `justfull proxy flows` shows it.

use super::Flow;
use crate::relay::End;
use crate::system;
use justfull_base::Instant;
use justfull_rapid::Windows;
use serde_json::{Value, json};

impl Flow {
    /// The values of its own process. The control adds others.
    pub(crate) fn shown(&self, now: Instant) -> Value {
        let info = |end: &End| system::tcp_info(&end.socket).unwrap_or_default();
        let (client, server) = (info(&self.client), info(&self.server));
        let limited = self.windows != Windows::UNLIMITED;
        json!({
            "client": self.client_at.to_string(),
            "pool": self.pool,
            "server": self.server_at.to_string(),
            "connected": self.connected,
            "seconds": now.since(self.opened).as_secs_f64(),
            "silent_s": now.since(self.active).as_secs_f64(),
            "bytes_up": self.up.bytes,
            "bytes_down": self.down.bytes,
            "closed": [self.up.closed, self.down.closed],
            "mss": [client.mss, server.mss],
            "ecn": [client.ecn, server.ecn],
            "ecn_seen": [client.ecn_seen, server.ecn_seen],
            "marked": [client.marked, server.marked],
            "server_window": limited.then_some(self.windows.server),
            "advertised": server.advertised,
            "radio_window": limited.then_some(self.windows.radio),
            "pace_bytes_per_s": self.paced,
            "cwnd": client.cwnd,
            "in_flight": client.in_flight,
            "reading": self.windows.reading,
            "wired_rtt_s": if self.wired.is_zero() { server.rtt } else { self.wired }.as_secs_f64(),
            "radio_rtt_s": client.rtt.as_secs_f64(),
            "radio_acks": client.acks,
        })
    }
}
