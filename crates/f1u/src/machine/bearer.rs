//! The two tunnels of a bearer: the downlink's, to which the CU-UP sends, and the uplink's, to
//! which the DU reports.

use super::control::{Control, Report};
use super::pdcp::Length;
use super::sent::{Pushed, Sent};
use justfull_base::{Duration, Instant};
use justfull_nru::{DeliveryStatus, SN_END, UserData};
use justfull_ran::limiter::RlcView;
use std::net::IpAddr;

/// Statuses in a row about numbers that the CU-UP did not send, after which two tunnels no longer
/// belong together.
const MISSES: u8 = 3;
/// After a new begin of the CU-UP's numbers the DU still reports old ones for this long.
const OLD: Duration = Duration::from_secs(2);

/// No progress for this long, although the CU-UP has sent all that it may: what was sent may be
/// lost. Then the CU-UP may send a little more, again after twice the time, and so on.
const STALL: Duration = Duration::from_millis(20);
/// Doublings of it.
const DOUBLINGS: u8 = 6;

/// A tunnel in one direction. The TEID comes first, so that a comparison ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tunnel {
    pub(super) teid: u32,
    pub(super) from: IpAddr,
    pub(super) to: IpAddr,
}

impl Tunnel {
    /// A number that spreads tunnels.
    pub(super) fn hash(&self) -> u64 {
        let word = |address: IpAddr| match address {
            IpAddr::V4(v4) => u64::from(v4.to_bits()),
            IpAddr::V6(v6) => v6.to_bits() as u64,
        };
        let hosts = word(self.from).rotate_left(32) ^ word(self.to);
        justfull_base::rng::mix(hosts ^ u64::from(self.teid))
    }
}

/// The downlink of a bearer: what each packet needs, and the rest apart, for the cache's sake.
pub(super) struct Bearer {
    pub(super) tunnel: Tunnel,
    pub(super) seen: Instant,
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) sent: Option<Sent>,
    length: Length,
    /// The last NR-U sequence number.
    sequence: Option<u32>,
    /// The uplink tunnel that reports about it.
    pub(super) reporter: Option<u32>,
    pub(super) reported: Box<Reported>,
}

/// The state that only statuses use.
pub(super) struct Reported {
    pub(super) control: Control,
    progress: Progress,
    /// When the CU-UP's numbers began anew.
    begun: Instant,
}

/// The DU's reports about a bearer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Highest transmitted PDCP sequence number, and the sum of bytes up to it.
    transmitted: Option<Mark>,
    /// Highest delivered one; a bearer that has one is in acknowledged mode.
    delivered: Option<Mark>,
    /// The sum of bytes up to which the CU-UP may send.
    edge: Option<u32>,
    /// The sum of bytes sent at the last report.
    sent: u32,
    misses: u8,
    /// Since when nothing moves, how often that opened the edge, and by how much.
    stalled: Option<Instant>,
    openings: u8,
    opened: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    sn: u32,
    sum: u32,
}

/// The values to write into a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Desired {
    pub(super) size: u32,
    /// Bytes a second.
    pub(super) rate: u32,
}

/// The treatment of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Treatment {
    /// The bound to write.
    Bound(Desired),
    /// Nothing yet.
    Nothing,
    /// It is about numbers that the CU-UP did not send.
    Unknown,
    /// And so were the ones before it: the tunnels do not belong together.
    Stranger,
}

impl Bearer {
    pub(super) fn new(tunnel: Tunnel, bits: Option<u8>, control: Control, now: Instant) -> Self {
        Self {
            tunnel,
            seen: now,
            packets: 0,
            bytes: 0,
            sent: None,
            length: Length::known(bits),
            sequence: None,
            reporter: None,
            reported: Box::new(Reported { control, progress: Progress::default(), begun: now }),
        }
    }

    /// The CU-UP sends `pdu` in `frame`.
    pub(super) fn on_user_data(&mut self, now: Instant, frame: &UserData<'_>, pdu: &[u8]) {
        self.seen = now;
        if !frame.user_data && pdu.is_empty() || frame.retransmission {
            return;
        }
        self.packets += 1;
        self.bytes += pdu.len() as u64;
        let before = self.sequence.replace(frame.sequence);
        let follows = before.is_some_and(|before| (before + 1) % SN_END == frame.sequence);
        let Some(sn) = self.length.number(pdu, follows) else { return };
        let Some(bits) = self.length.bits() else { return };
        let sent = self.sent.get_or_insert_with(|| Sent::new(bits));
        let reported = &mut self.reported;
        let needed = |sent: &Sent, sn: u32| match reported.progress.oldest() {
            // A number that is further back than the one the DU is at is not needed.
            Some(oldest) => sent.behind(oldest).is_some_and(|at| sent.behind(sn) <= Some(at)),
            None => true,
        };
        let bytes = u32::try_from(pdu.len()).unwrap_or(u32::MAX);
        if sent.push(sn, bytes, needed) == Pushed::Begun {
            reported.begun = now;
            reported.progress = Progress { sent: sent.total(), ..Progress::default() };
        }
    }

    /// True if the DU can have transmitted this number; exactly when it is the last one sent.
    pub(super) fn fits(&self, sn: u32) -> Option<bool> {
        let sent = self.sent.as_ref()?;
        sent.behind(sn).map(|behind| behind == 0)
    }

    /// The DU reports.
    pub(super) fn on_status(&mut self, now: Instant, status: &DeliveryStatus<'_>) -> Treatment {
        let Some(sent) = &self.sent else { return Treatment::Nothing };
        let reported = &mut *self.reported;
        let mark = |sn: Option<u32>| sn.map(|sn| sent.up_to(sn).map(|sum| Mark { sn, sum }));
        let (transmitted, delivered) =
            (mark(status.highest_transmitted), mark(status.highest_delivered));
        if transmitted == Some(None) || delivered == Some(None) {
            let late = now.since(reported.begun) > OLD;
            reported.progress.misses += u8::from(late);
            let stranger = reported.progress.misses >= MISSES;
            return if stranger { Treatment::Stranger } else { Treatment::Unknown };
        }
        reported.progress.misses = 0;
        let (transmitted, delivered) = (transmitted.flatten(), delivered.flatten());
        let total = sent.total();
        let newer = |old: Option<Mark>, new: Option<Mark>| match (old, new) {
            (Some(old), Some(new)) if new.sum.wrapping_sub(old.sum).cast_signed() < 0 => Some(old),
            (old, new) => new.or(old),
        };
        let before = reported.progress.transmitted;
        let after = newer(before, transmitted);
        // A status that another one overtook, or that comes twice, gets the bound of the newest.
        let stale = reported.progress.edge.is_some()
            && transmitted.zip(after).is_some_and(|(own, newest)| own.sn != newest.sn);
        reported.progress.transmitted = after;
        reported.progress.delivered = newer(reported.progress.delivered, delivered);
        let Some(at) = after else { return Treatment::Nothing };
        if !stale {
            let freed = before.map_or(0, |before| at.sum.wrapping_sub(before.sum));
            let packets = sent.behind(at.sn).unwrap_or(0);
            let queue = total.wrapping_sub(at.sum);
            let mtu = reported.control.mtu().cast_signed();
            let edge = reported.progress.edge;
            let full = edge.is_some_and(|edge| edge.wrapping_sub(total).cast_signed() < mtu);
            let report = Report {
                now,
                freed,
                entered: total.wrapping_sub(reported.progress.sent),
                queue: RlcView { packets: u64::from(packets), bytes: u64::from(queue) },
                full,
            };
            reported.control.report(&report);
            reported.progress.sent = total;
            let opened = reported.progress.open(now, freed > 0 || !full, || {
                queue.saturating_sub(reported.control.limit()) + reported.control.least()
            });
            let limit = reported.control.limit().saturating_add(opened);
            // Without a limit there is no edge.
            let edge = Some(at.sum.wrapping_add(limit));
            reported.progress.edge = edge.filter(|_| reported.control.limit() != u32::MAX);
        }
        reported.bound(delivered.or(reported.progress.delivered), transmitted.unwrap_or(at))
    }

    /// Bytes between the CU-UP and the radio, as far as they are known.
    pub(super) fn in_flight(&self) -> u32 {
        let total = self.sent.as_ref().map_or(0, Sent::total);
        self.reported.progress.transmitted.map_or(0, |at| total.wrapping_sub(at.sum))
    }

    /// The reporter has gone.
    pub(super) fn part(&mut self) {
        self.reporter = None;
        self.reported.progress =
            Progress { sent: self.reported.progress.sent, ..Progress::default() };
    }

    pub(super) fn heap(&self) -> usize {
        size_of::<Reported>() + self.sent.as_ref().map_or(0, Sent::heap)
    }
}

impl Reported {
    /// The bound beyond the number that the status counts from.
    fn bound(&self, delivered: Option<Mark>, transmitted: Mark) -> Treatment {
        let Some(edge) = self.progress.edge else { return Treatment::Nothing };
        let from = delivered.unwrap_or(transmitted);
        let size = edge.wrapping_sub(from.sum);
        // Twice what the radio takes: the size alone bounds.
        let rate = (self.control.rate() * 2.0) as u32;
        Treatment::Bound(Desired { size, rate: rate.max(self.control.limit()) })
    }
}

impl Progress {
    /// How much more than the limit the CU-UP may send; `more` is that when nothing moves.
    fn open(&mut self, now: Instant, moves: bool, more: impl Fn() -> u32) -> u32 {
        if moves {
            (self.stalled, self.openings, self.opened) = (None, 0, 0);
            return 0;
        }
        let since = *self.stalled.get_or_insert(now);
        if now.since(since) >= STALL.times(1 << self.openings) {
            self.openings = (self.openings + 1).min(DOUBLINGS);
            self.stalled = Some(now);
            self.opened = more();
        }
        self.opened
    }

    /// The number from which on sums are needed.
    fn oldest(&self) -> Option<u32> {
        self.delivered.or(self.transmitted).map(|mark| mark.sn)
    }
}
