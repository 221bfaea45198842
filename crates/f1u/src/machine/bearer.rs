//! The two tunnels of a bearer: the downlink's, to which the CU-UP sends, and the uplink's, to
//! which the DU reports.

use super::control::{Control, Report};
use super::hold::Held;
use super::pace::Pace;
use super::pdcp::{Length, Pdu};
use super::rewrite::{Desired, Original};
use super::sent::{Pushed, Sent};
use crate::config::F1uConfig;
use justfull_base::{Duration, Instant};
use justfull_nru::{DeliveryStatus, SN_END, UserData};
use justfull_ran::limiter::RlcView;
use std::net::IpAddr;

/// After this many statuses in a row about numbers that the CU-UP did not send, two tunnels no
/// longer belong together.
const MISSES: u8 = 3;
/// After a new begin of the CU-UP's numbers the DU still reports old ones for this long.
const OLD: Duration = Duration::from_secs(2);

/// Without progress for this long, although the CU-UP has sent all that it may, the sent data may
/// be lost. Then the CU-UP may send a little more, again after twice the time, and so on.
const STALL: Duration = Duration::from_millis(20);
/// Most doublings of this time.
const DOUBLINGS: u8 = 6;
/// A greater desired size counts as this one, so that sums stay comparable.
const LARGE: u32 = 1 << 30;
/// Without a status for this long, nothing waits in the box.
const QUIET: Duration = Duration::from_millis(200);

/// The settings that each status needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Between two steps of a grant.
    interval: Duration,
    /// User data waits in the box for this long.
    time: Duration,
    /// Bytes of a bearer that may wait.
    pub(super) most: u32,
}

impl Rules {
    pub(super) fn new(config: &F1uConfig) -> Self {
        Self {
            interval: config.pacer.interval,
            time: config.hold.time,
            most: u32::try_from(config.hold.bearer.0).unwrap_or(u32::MAX),
        }
    }

    /// From now on no user data waits.
    pub(super) fn end(&mut self) {
        self.time = Duration::ZERO;
    }

    /// The box holds user data.
    pub(super) fn holds(&self) -> bool {
        !self.time.is_zero()
    }

    /// A bearer has steps between packets.
    pub(super) fn steps(&self) -> bool {
        self.holds() || !self.interval.is_zero()
    }

    /// Bytes that the CU-UP may send beyond the bytes that the DU may have.
    fn room(&self, control: &Control) -> u32 {
        if !self.holds() {
            return 0;
        }
        let bytes = control.steady() * self.time.as_secs_f64();
        (bytes as u32).max(control.least()).min(self.most)
    }
}

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

/// The downlink of a bearer: the state that each packet needs, and the rest apart, for the cache's
/// sake.
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
    /// When the DU reported last.
    heard: Instant,
    /// How the last grant opens.
    pace: Pace,
    pub(super) held: Held,
    /// The last status that may be repeated, and whether it is the DU's last one.
    original: Option<Original>,
    repeats: bool,
    /// The bearer's next step.
    pub(super) due: Option<Instant>,
}

/// The DU's reports about a bearer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// Highest transmitted PDCP sequence number, and the sum of bytes up to it.
    transmitted: Option<Mark>,
    /// Highest delivered one; a bearer that has one is in acknowledged mode.
    delivered: Option<Mark>,
    /// The sum of bytes up to which the DU may have data.
    edge: Option<u32>,
    /// Bytes that the CU-UP may send beyond it.
    room: u32,
    /// The sum from which the last status counts, and the sum that it grants.
    from: u32,
    granted: u32,
    /// The sum of bytes sent at the last report.
    sent: u32,
    misses: u8,
    /// Start of the time without progress, the number of openings of the edge since, and the bytes
    /// of the last opening.
    stalled: Option<Instant>,
    openings: u8,
    opened: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    sn: u32,
    sum: u32,
}

impl Mark {
    /// Bytes from here to the sum `released`; 0 for a DU that claims to have transmitted data that
    /// waits in the box.
    fn until(self, released: u32) -> u32 {
        bytes(self.sum, released)
    }
}

/// Bytes from one sum to another; 0 if the other is smaller.
fn bytes(from: u32, to: u32) -> u32 {
    to.wrapping_sub(from).cast_signed().max(0).cast_unsigned()
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
    /// So were the statuses before it: the tunnels do not belong together.
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
            reported: Box::new(Reported {
                control,
                progress: Progress::default(),
                begun: now,
                heard: now,
                pace: Pace::default(),
                held: Held::default(),
                original: None,
                repeats: false,
                due: None,
            }),
        }
    }

    /// The CU-UP sends `pdu` in `frame`. Returns the bytes that the sums count.
    pub(super) fn on_user_data(
        &mut self,
        now: Instant,
        frame: &UserData<'_>,
        pdu: &Pdu<'_>,
    ) -> u32 {
        self.seen = now;
        if !frame.user_data && pdu.bytes() == 0 || frame.retransmission {
            return 0;
        }
        self.packets += 1;
        self.bytes += u64::from(pdu.bytes());
        let before = self.sequence.replace(frame.sequence);
        let follows = before.is_some_and(|before| (before + 1) % SN_END == frame.sequence);
        let Some(sn) = self.length.number(pdu.begin, follows) else { return 0 };
        let Some(bits) = self.length.bits() else { return 0 };
        let sent = self.sent.get_or_insert_with(|| Sent::new(bits));
        let reported = &mut self.reported;
        let needed = |sent: &Sent, sn: u32| match reported.progress.oldest() {
            // A number before the DU's present one is not needed.
            Some(oldest) => sent.behind(oldest).is_some_and(|at| sent.behind(sn) <= Some(at)),
            None => true,
        };
        let bytes = pdu.bytes();
        match sent.push(sn, bytes, needed) {
            Pushed::Ignored => return 0,
            Pushed::Counted => {}
            Pushed::Begun => {
                reported.begun = now;
                reported.restart(sent.total());
            }
        }
        bytes
    }

    /// True if the DU can have transmitted this number; exactly when it is the last one sent.
    pub(super) fn fits(&self, sn: u32) -> Option<bool> {
        let sent = self.sent.as_ref()?;
        sent.behind(sn).map(|behind| behind == 0)
    }

    /// The DU reports; `original` keeps a status for repetition, and is false for one that is for
    /// once.
    pub(super) fn on_status(
        &mut self,
        now: Instant,
        status: &DeliveryStatus<'_>,
        rules: &Rules,
        original: impl FnOnce(&mut Option<Original>) -> bool,
    ) -> Treatment {
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
        let newer = |old: Option<Mark>, new: Option<Mark>| match (old, new) {
            (Some(old), Some(new)) if new.sum.wrapping_sub(old.sum).cast_signed() < 0 => Some(old),
            (old, new) => new.or(old),
        };
        // A delivered packet was transmitted.
        let told = newer(transmitted, delivered);
        let before = reported.progress.transmitted;
        let after = newer(before, told);
        // A status that was overtaken or comes twice gets the bound of the newest.
        let stale = reported.progress.edge.is_some()
            && transmitted.is_some()
            && told.zip(after).is_some_and(|(own, newest)| own.sn != newest.sn);
        reported.progress.transmitted = after;
        reported.progress.delivered = newer(reported.progress.delivered, delivered);
        let Some(at) = after else { return Treatment::Nothing };
        // A CU-UP counts from the newest number, whichever status had it.
        let from = reported.progress.delivered.unwrap_or(at);
        if !stale {
            let freed = before.map_or(0, |before| at.sum.wrapping_sub(before.sum));
            let most = from.sum.wrapping_add(status.desired_buffer_size.min(LARGE));
            reported.grant(now, sent, &Step { at, freed, most }, rules);
            let repeats = rules.steps() && !rules.holds() && reported.pace.next(now).is_some();
            reported.repeats = repeats && original(&mut reported.original);
        }
        reported.bound(now, from)
    }

    /// Bytes that have left for the DU.
    fn released(&self) -> u32 {
        let total = self.sent.as_ref().map_or(0, Sent::total);
        total.wrapping_sub(self.reported.held.bytes())
    }

    /// Bytes between the box and the radio, as far as they are known.
    pub(super) fn in_flight(&self) -> u32 {
        let transmitted = self.reported.progress.transmitted;
        transmitted.map_or(0, |at| at.until(self.released()))
    }

    /// User data that has just been counted must wait.
    pub(super) fn waits(&self, now: Instant) -> bool {
        let beyond = |edge: u32| edge.wrapping_sub(self.released()).cast_signed() < 0;
        !self.reported.held.is_empty() || self.reported.open(now).is_some_and(beyond)
    }

    /// True if the DU may have the first packet that waits; none without one.
    pub(super) fn may_leave(&self, now: Instant) -> Option<bool> {
        let after = self.released().wrapping_add(self.reported.held.next()?);
        let edge = self.reported.open(now);
        Some(edge.is_none_or(|edge| edge.wrapping_sub(after).cast_signed() >= 0))
    }

    /// A repetition of the last status with the bytes that are open now, for a CU-UP that has sent
    /// its whole grant.
    pub(super) fn own_status(&mut self, now: Instant) -> Option<(&Original, Desired)> {
        let sent = self.sent.as_ref().map_or(0, Sent::total);
        let reported = &mut *self.reported;
        let original = reported.original.as_ref().filter(|_| reported.repeats)?;
        let edge = reported.edge(now)?;
        let progress = &mut reported.progress;
        let left = progress.granted.wrapping_sub(sent).cast_signed();
        if edge == progress.granted || left >= reported.control.mtu().cast_signed() {
            return None;
        }
        progress.granted = edge;
        let size = bytes(progress.from, edge).max(reported.control.least());
        Some((original, reported.control.desired(size)))
    }

    /// When a packet that waits may leave, or a status of the box's own is due.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        let Reported { held, pace, repeats, heard, .. } = &*self.reported;
        let waits = !held.is_empty();
        let step = pace.next(now).filter(|_| waits || *repeats);
        [step, waits.then_some(*heard + QUIET)].into_iter().flatten().min()
    }

    /// An uplink tunnel may be found to report about it: nobody does, or the reporter is silent
    /// although the CU-UP sends.
    pub(super) fn wants_reporter(&self) -> bool {
        self.reporter.is_none() || self.seen.since(self.reported.heard) > QUIET
    }

    /// Another uplink tunnel reports from now on, or none.
    pub(super) fn part(&mut self, reporter: Option<u32>) {
        self.reporter = reporter;
        self.reported.restart(self.reported.progress.sent);
    }

    pub(super) fn heap(&self) -> usize {
        let original = self.reported.original.as_ref().map_or(0, Original::heap);
        size_of::<Reported>() + original + self.sent.as_ref().map_or(0, Sent::heap)
    }
}

/// The content of a new status.
struct Step {
    /// The DU has transmitted up to here.
    at: Mark,
    /// And this much since the status before.
    freed: u32,
    /// The sum of bytes up to which the DU's own size lets the CU-UP send.
    most: u32,
}

impl Reported {
    /// Sets the data that the DU may have until the next status.
    fn grant(&mut self, now: Instant, sent: &Sent, step: &Step, rules: &Rules) {
        let Step { at, freed, most } = *step;
        let released = sent.total().wrapping_sub(self.held.bytes());
        let packets = sent.behind(at.sn).unwrap_or(0).saturating_sub(self.held.packets());
        let queue = at.until(released);
        let mtu = self.control.mtu().cast_signed();
        let edge = self.progress.edge;
        let full = edge.is_some_and(|edge| edge.wrapping_sub(released).cast_signed() < mtu);
        let report = Report {
            now,
            freed,
            entered: released.wrapping_sub(self.progress.sent),
            queue: RlcView { packets: u64::from(packets), bytes: u64::from(queue) },
            full,
        };
        self.control.report(&report);
        self.progress.sent = released;
        let opened = self.progress.open(now, freed > 0 || !full, || {
            queue.saturating_sub(self.control.limit()) + self.control.least()
        });
        let limit = self.control.limit().saturating_add(opened);
        let mut edge = at.sum.wrapping_add(limit);
        // A CU-UP keeps to the DU's own size, and the box does so with the data that it holds.
        if rules.holds() && edge.wrapping_sub(most).cast_signed() > 0 {
            edge = most;
        }
        // Without a limit there is no edge.
        self.progress.edge = Some(edge).filter(|_| self.control.limit() != u32::MAX);
        self.progress.room = rules.room(&self.control);
        self.heard = now;
        let period = self.control.period();
        let taken = (self.control.rate() * period.as_secs_f64()) as u32;
        let taken = taken.min(limit.saturating_sub(self.control.least()));
        // User data that waits in the box leaves within the DU's own size.
        let more = if rules.holds() { Duration::ZERO } else { period };
        let interval = rules.interval;
        self.pace = Pace { begun: now, bytes: taken, period, interval, more };
    }

    /// The sum of bytes up to which the DU may have data now.
    fn edge(&self, now: Instant) -> Option<u32> {
        self.progress.edge.map(|edge| edge.wrapping_add_signed(self.pace.beyond(now)))
    }

    /// The same for user data in the box; none if it need not wait.
    fn open(&self, now: Instant) -> Option<u32> {
        self.edge(now).filter(|_| now.since(self.heard) < QUIET)
    }

    /// The bound beyond the number that the status counts from.
    fn bound(&mut self, now: Instant, from: Mark) -> Treatment {
        let (Some(whole), Some(open)) = (self.progress.edge, self.edge(now)) else {
            return Treatment::Nothing;
        };
        let room = self.progress.room;
        let edge = if room > 0 { whole.wrapping_add(room) } else { open };
        (self.progress.from, self.progress.granted) = (from.sum, edge);
        let size = bytes(from.sum, edge).max(self.control.least());
        Treatment::Bound(self.control.desired(size))
    }

    /// Numbers or the reporter begin anew; `sent` is the sum of bytes sent.
    fn restart(&mut self, sent: u32) {
        self.progress = Progress { sent, ..Progress::default() };
        self.pace = Pace::default();
        self.repeats = false;
    }
}

impl Progress {
    /// The bytes beyond the limit that the CU-UP may send; `more` returns them for a time without
    /// progress.
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
