//! Floods of first segments (RFC 4987): the kernel answers with cookies when a listener's queue is
//! full. Connections still succeed; `status` and the log report the flood.

use justfull_base::{Duration, Instant};
use std::fs;

/// A cookie is valid for two minutes at most (`MAX_SYNCOOKIE_AGE`, linux/tcp.h).
const COOKIES_LAST: Duration = Duration::from_secs(120);
/// Most first segments between two checks, beyond the ones that became connections, that cannot
/// fill a queue.
const FEW: u64 = 16;

/// State of a flood.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    /// Cookies that the network namespace has sent; none before the first check.
    sent: Option<u64>,
    /// First segments that the rules have diverted, less accepted connections.
    open: u64,
    /// When the last of them expires; none if there are none.
    until: Option<Instant>,
}

impl Flood {
    /// Reads the kernel's count; true when a flood has begun or ended. The count covers all
    /// listeners of the namespace, so only cookies that come with `diverted` first segments belong
    /// to the proxy.
    pub(crate) fn look(&mut self, now: Instant, diverted: u64, accepted: u64) -> bool {
        let netstat = fs::read_to_string("/proc/thread-self/net/netstat").unwrap_or_default();
        self.take(now, &netstat, diverted.saturating_sub(accepted))
    }

    fn take(&mut self, now: Instant, netstat: &str, open: u64) -> bool {
        let before = self.until.is_some();
        let more = open.saturating_sub(std::mem::replace(&mut self.open, open)) > FEW;
        let sent = cookies_sent(netstat).or(self.sent);
        let old = std::mem::replace(&mut self.sent, sent);
        if old.is_some() && old < sent && more {
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

    fn netstat(sent: u64) -> String {
        format!("TcpExt: A SyncookiesSent B\nTcpExt: 1 {sent} 2\nIpExt: SyncookiesSent\nIpExt: 9\n")
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_flood_begins_with_a_cookie_and_ends_when_the_last_is_too_old() {
        let mut flood = Flood::default();
        assert!(!flood.take(at(1), &netstat(0), 0) && !flood.take(at(2), "", 90));
        assert!(flood.take(at(3), &netstat(5), 180) && flood.is_on());
        assert!(!flood.take(at(100), &netstat(6), 270) && flood.is_on());
        assert!(!flood.take(at(219), &netstat(6), 270) && flood.is_on());
        assert!(flood.take(at(220), &netstat(6), 270) && !flood.is_on());
        assert!(!flood.take(at(221), &netstat(6), 270));
    }

    #[test]
    fn cookies_of_before_and_of_other_listeners_are_no_flood() {
        let mut flood = Flood::default();
        assert!(!flood.take(at(1), &netstat(500), 100) && !flood.is_on());
        assert!(!flood.take(at(2), &netstat(600), 110) && !flood.is_on());
        assert!(!flood.take(at(3), &netstat(600), 900) && !flood.is_on());
    }
}
