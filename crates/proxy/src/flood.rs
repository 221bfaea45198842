//! Floods of first segments (RFC 4987): the kernel answers with cookies when its queue is full, and
//! then remembers nothing of a connection until its third segment comes. The rules divert first
//! segments and what belongs to a socket; so while cookies are out they must divert such third
//! segments as well, or they would pass to the server, which resets what it does not know.

use justfull_base::{Duration, Instant};
use std::fs;

/// A cookie is good for two minutes at most (`MAX_SYNCOOKIE_AGE`, linux/tcp.h).
const COOKIES_LAST: Duration = Duration::from_secs(120);

/// Whether cookies are out.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    sent: u64,
    /// When the last of them is no good any more; none while there are none.
    until: Option<Instant>,
}

impl Flood {
    /// Looks at the kernel's count; true when it has begun or ended.
    pub(crate) fn look(&mut self, now: Instant) -> bool {
        self.take(now, fs::read_to_string("/proc/thread-self/net/netstat").as_deref().unwrap_or(""))
    }

    fn take(&mut self, now: Instant, netstat: &str) -> bool {
        let before = self.until.is_some();
        let sent = cookies_sent(netstat).unwrap_or(self.sent);
        if std::mem::replace(&mut self.sent, sent) < sent {
            self.until = Some(now + COOKIES_LAST);
        }
        self.until = self.until.filter(|until| now < *until);
        before != self.is_on()
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.until.is_some()
    }
}

/// `SyncookiesSent`: names are on one line, values on the next (proc_net_netstat(5)).
fn cookies_sent(netstat: &str) -> Option<u64> {
    let mut lines = netstat.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_whitespace().position(|name| name == "SyncookiesSent")?;
    values.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_begins_with_a_cookie_and_ends_when_the_last_is_too_old() {
        let netstat = |sent| {
            format!(
                "TcpExt: A SyncookiesSent B\nTcpExt: 1 {sent} 2\nIpExt: SyncookiesSent\nIpExt: 9\n"
            )
        };
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut flood = Flood::default();
        assert!(!flood.take(at(1), &netstat(0)) && !flood.take(at(2), "") && !flood.is_on());
        assert!(flood.take(at(3), &netstat(5)) && flood.is_on());
        assert!(!flood.take(at(100), &netstat(6)) && flood.is_on());
        assert!(!flood.take(at(219), &netstat(6)) && flood.is_on());
        assert!(flood.take(at(220), &netstat(6)) && !flood.is_on());
        assert!(!flood.take(at(221), &netstat(6)));
    }
}
