//! Watches whether an interface is up, and waits while it is down.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::libc;

use crate::Outages;
use crate::netlink::LinkName;

/// How long to wait for an interface that is down.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// How often to check meanwhile.
const LOOK: Duration = Duration::from_millis(20);

nix::ioctl_readwrite_bad!(get_index, libc::SIOCGIFINDEX, libc::ifreq);
nix::ioctl_readwrite_bad!(get_flags, libc::SIOCGIFFLAGS, libc::ifreq);

/// The kernel's state of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Up,
    Down,
    /// There is no interface of this name, or it is a different one.
    Gone,
}

/// The state of the interface that had the number `index` when `socket` was bound to it, in the
/// namespace of `socket`.
pub(super) fn state(socket: &OwnedFd, name: &LinkName, index: i32) -> State {
    let mut request = libc::ifreq {
        ifr_name: name.as_c_chars(),
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_ifindex: 0 },
    };
    // SAFETY: SIOCGIFINDEX reads and writes one `ifreq`, which lives until the call returns, and
    // sets its `ifru_ifindex`.
    let found = unsafe {
        get_index(socket.as_raw_fd(), &raw mut request).map(|_| request.ifr_ifru.ifru_ifindex)
    };
    if found != Ok(index) {
        return State::Gone;
    }
    // SAFETY: as above, for SIOCGIFFLAGS and `ifru_flags`.
    let flags = unsafe {
        get_flags(socket.as_raw_fd(), &raw mut request).map(|_| request.ifr_ifru.ifru_flags)
    };
    match flags {
        Ok(flags) if i32::from(flags) & libc::IFF_UP != 0 => State::Up,
        Ok(_) => State::Down,
        Err(_) => State::Gone,
    }
}

/// The times when an interface was down, as far as they are known.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// Since when it is down, and when to check again.
    down: Option<(Instant, Instant)>,
    past: Outages,
}

impl Watch {
    /// True while it is down, as far as this is known.
    pub(super) fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// Notes that it may have gone down at `now`.
    pub(super) fn doubt(&mut self, now: Instant) {
        self.down.get_or_insert((now, now));
    }

    /// True when it is up at `now`. Calls `state` when it is time to check again.
    ///
    /// # Errors
    /// It has gone, or has been down for too long.
    pub(super) fn is_up(
        &mut self,
        now: Instant,
        state: impl FnOnce() -> State,
    ) -> Result<bool, (io::ErrorKind, String)> {
        let Some((since, next)) = self.down else { return Ok(true) };
        if now < next {
            return Ok(false);
        }
        let time = now.saturating_duration_since(since);
        match state() {
            State::Gone => Err((io::ErrorKind::NotFound, "has gone".into())),
            State::Up => {
                self.past = self.outages(now);
                self.down = None;
                Ok(true)
            }
            State::Down if time >= PATIENCE => Err((
                io::ErrorKind::NetworkDown,
                format!("has been down for {} s", PATIENCE.as_secs()),
            )),
            State::Down => {
                self.down = Some((since, now + LOOK));
                Ok(false)
            }
        }
    }

    /// How often and how long it has been down up to `now`.
    pub(super) fn outages(&self, now: Instant) -> Outages {
        let time = self.down.map(|(since, _)| now.saturating_duration_since(since));
        // A suspicion that was cleared at once does not count.
        let time = time.filter(|time| !time.is_zero()).map(|time| time.as_nanos() as u64);
        Outages {
            count: self.past.count + u64::from(time.is_some()),
            time: self.past.time + justfull_base::Duration::from_nanos(time.unwrap_or(0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::now;

    #[test]
    fn a_link_that_flaps_is_waited_for_up_to_a_limit() {
        let begin = now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut watch = Watch::default();
        assert_eq!(watch.is_up(at(0), || State::Gone), Ok(true), "nobody looks without a doubt");
        watch.doubt(at(100));
        assert_eq!(watch.is_up(at(100), || State::Down), Ok(false));
        assert_eq!(
            watch.is_up(at(110), || State::Up),
            Ok(false),
            "it is not yet time to look again"
        );
        assert_eq!(watch.is_up(at(600), || State::Up), Ok(true));
        let told = |outages: Outages| (outages.count, outages.time.as_nanos() / 1_000_000);
        assert_eq!(told(watch.outages(at(5_000))), (1, 500));

        watch.doubt(at(6_000));
        assert_eq!(watch.is_up(at(6_000), || State::Up), Ok(true));
        assert_eq!(told(watch.outages(at(7_000))), (1, 500), "it was up all the time");

        watch.doubt(at(10_000));
        assert_eq!(watch.is_up(at(39_999), || State::Down), Ok(false));
        assert_eq!(told(watch.outages(at(39_999))), (2, 30_499));
        let (kind, why) = watch.is_up(at(40_019), || State::Down).expect_err("too long");
        assert_eq!((kind, &*why), (io::ErrorKind::NetworkDown, "has been down for 30 s"));
        assert!(watch.is_up(at(40_020), || State::Gone).is_err_and(|(_, why)| why == "has gone"));
    }
}
