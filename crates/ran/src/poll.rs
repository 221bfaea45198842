//! The next tick of a layer; skips ticks without work.

use crate::carried::Carried;
use crate::timeouts::{QueueId, Timeouts};
use justfull_base::{Instant, Ticker};

/// A layer's poll: armed while there is work, otherwise silent.
#[derive(Clone, Debug)]
pub(crate) struct Poll {
    ticker: Option<Ticker>,
    /// The armed tick, or the earliest tick that may be armed next.
    tick: u64,
    /// Time of the armed tick; never if none is armed.
    due: Instant,
}

impl Poll {
    pub(crate) fn new(ticker: Option<Ticker>) -> Self {
        Self { ticker, tick: 0, due: Instant::NEVER }
    }

    /// True if the layer acts at once instead of being polled.
    #[inline]
    pub(crate) fn is_event_driven(&self) -> bool {
        self.ticker.is_none()
    }

    /// There is work from `now` on.
    #[inline(always)]
    fn arm(&mut self, now: Instant, strictly: bool) {
        if self.due == Instant::NEVER
            && let Some(ticker) = &self.ticker
        {
            (self.tick, self.due) = ticker.first(self.tick, now, strictly);
        }
    }

    /// Time of the armed tick; never if none is armed.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Takes the armed tick: its number and instant.
    #[inline]
    fn take(&mut self) -> Option<(u64, Instant)> {
        if self.due == Instant::NEVER {
            return None;
        }
        let taken = (self.tick, self.due);
        self.tick += 1;
        self.due = Instant::NEVER;
        Some(taken)
    }

    /// The first tick at or after `t` (after, if `strictly`), armed or not; `t` itself if
    /// event-driven.
    #[inline(always)]
    pub(crate) fn first(&self, t: Instant, strictly: bool) -> (u64, Instant) {
        match &self.ticker {
            None => (0, t),
            Some(ticker) => first_tick(ticker, t, strictly),
        }
    }

    /// Time of tick `k`; none if it is missed, or if event-driven.
    fn at(&self, k: u64) -> Option<Instant> {
        self.ticker.as_ref().and_then(|ticker| ticker.at(k))
    }

    /// Number of ticks strictly between two instants, at most `most`; 0 if event-driven.
    pub(crate) fn count_between(&self, after: Instant, before: Instant, most: u32) -> u32 {
        self.ticker.as_ref().map_or(0, |ticker| ticker.count_between(after, before, most))
    }
}

/// Out of line, so that callers without ticks are short: 1.5 % of the instructions of S3.
#[inline(never)]
fn first_tick(ticker: &Ticker, t: Instant, strictly: bool) -> (u64, Instant) {
    ticker.first(0, t, strictly)
}

/// The polls of UPF, SDAP and MAC, and the timeouts of AQMs.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    pub(crate) upf: Poll,
    pub(crate) sdap: Poll,
    pub(crate) mac: Poll,
    /// Order at one instant: arrival, UPF, SDAP, MAC; otherwise the reverse, so that a layer's poll
    /// misses arrivals at the same instant.
    pub(crate) top_down: bool,
    /// Timeouts of AQMs.
    timeouts: Timeouts,
    /// The first instant at which one of the clocks is due.
    next: Instant,
    /// The last two served slots, the earlier first.
    slots: [Instant; 2],
    carried: Carried,
}

/// The tickers of the layers; none for a layer that acts at once.
pub(crate) struct Tickers {
    pub(crate) upf: Option<Ticker>,
    pub(crate) sdap: Option<Ticker>,
    pub(crate) mac: Option<Ticker>,
}

impl Clocks {
    /// Clocks; only the clock of the slots is running. `carried` stores the capacity of slots.
    pub(crate) fn new(tickers: Tickers, top_down: bool, carried: Carried) -> Self {
        let Tickers { upf, sdap, mac } = tickers;
        let (upf, sdap, mut mac) = (Poll::new(upf), Poll::new(sdap), Poll::new(mac));
        mac.arm(Instant::ZERO, false);
        let next = mac.due();
        let timeouts = Timeouts::new();
        Self { upf, sdap, mac, top_down, timeouts, next, slots: [Instant::NEVER; 2], carried }
    }

    /// AQMs may have timeouts.
    pub(crate) fn expect_timeouts(&mut self) {
        self.timeouts.on = true;
    }

    /// The UPF has work from `now` on, or strictly after.
    #[inline]
    pub(crate) fn arm_upf(&mut self, now: Instant, strictly: bool) {
        self.upf.arm(now, strictly);
        self.next = self.next.min(self.upf.due());
    }

    /// SDAP has work from `now` on, or strictly after.
    #[inline(always)]
    pub(crate) fn arm_sdap(&mut self, now: Instant, strictly: bool) {
        if self.sdap.due() == Instant::NEVER {
            self.sdap.arm(now, strictly);
            self.next = self.next.min(self.sdap.due());
        }
    }

    /// The queues of the UE in `place` request no call.
    pub(crate) fn forget_timeouts(&mut self, place: u32) {
        self.timeouts.forget(place);
        self.next = self.first_due();
    }

    /// Takes the due opportunity of the UPF: its instant.
    #[inline]
    pub(crate) fn take_upf(&mut self) -> Option<Instant> {
        let (_, now) = self.upf.take()?;
        self.next = self.first_due();
        Some(now)
    }

    /// Takes SDAP's due poll: its instant.
    #[inline]
    pub(crate) fn take_sdap(&mut self) -> Option<Instant> {
        let (_, now) = self.sdap.take()?;
        self.next = self.first_due();
        Some(now)
    }

    /// Takes the due slot, and arms the next: its number and instant.
    #[inline(always)]
    pub(crate) fn take_slot(&mut self) -> Option<(u64, Instant)> {
        let (k, now) = self.mac.take()?;
        self.mac.arm(now, false);
        self.next = self.first_due();
        self.slots = [self.slots[1], now];
        Some((k, now))
    }

    /// True if AQMs may have timeouts.
    #[inline]
    pub(crate) const fn have_timeouts(&self) -> bool {
        self.timeouts.are_on()
    }

    /// Time of the first timeout; never if there is none.
    #[inline]
    pub(crate) const fn timeout_due(&self) -> Instant {
        self.timeouts.due()
    }

    /// The AQM of `queue` requests a call at `at`.
    pub(crate) fn arm_timeout(&mut self, at: Instant, queue: QueueId) {
        self.timeouts.push(at, Some(queue));
        self.next = self.next.min(at);
    }

    /// Data arrives at the DU at `at`.
    pub(crate) fn arm_wire(&mut self, at: Instant) {
        self.timeouts.push(at, None);
        self.next = self.next.min(at);
    }

    /// Takes the first timeout that is due by `now`; without a queue, data arrives at the DU.
    pub(crate) fn take_timeout(&mut self, now: Instant) -> Option<(Instant, Option<QueueId>)> {
        let taken = self.timeouts.pop(now);
        self.next = self.first_due();
        taken
    }

    /// The first instant at which a clock is due; the slots never end, so there is always one.
    #[inline]
    pub(crate) fn next_wake(&self) -> Instant {
        debug_assert_eq!(self.next, self.first_due());
        self.next
    }

    #[inline]
    fn first_due(&self) -> Instant {
        let polls = self.upf.due().min(self.sdap.due());
        polls.min(self.mac.due()).min(self.timeouts.due())
    }

    /// Slot `k` is over and had `capacity`.
    #[inline]
    pub(crate) fn slot_carried(&mut self, k: u64, capacity: u64) {
        self.carried.record(k, capacity);
    }

    /// The first slot after the first SDAP poll after the first UPF poll after `entered`: its
    /// number and instant.
    pub(crate) fn first_slot(&self, entered: Instant) -> (u64, Instant) {
        let strictly = !self.top_down;
        let at = self.sdap.first(self.upf.first(entered, strictly).1, strictly).1;
        self.mac.first(at, strictly)
    }

    /// The departure time that a packet would have if it had all slots to itself from
    /// [`Self::first_slot`] on; no policy can be faster. The packet has `size` bytes, entered at
    /// `entered`, and leaves with the current slot.
    #[inline(always)]
    pub(crate) fn bound(&self, entered: Instant, size: u32) -> Instant {
        let strictly = !self.top_down;
        let at = self.sdap.first(self.upf.first(entered, strictly).1, strictly).1;
        // A packet that meets no queue leaves in the current slot: no need to compute its number.
        let [before, served] = self.slots;
        let meets =
            if strictly { before <= at && at < served } else { before < at && at <= served };
        debug_assert!(
            !meets || self.mac.first(at, strictly).1 == served,
            "{entered:?} in {:?}",
            self.slots
        );
        if meets {
            return served;
        }
        let (first, begins) = self.mac.first(at, strictly);
        self.through(first, begins, size)
    }

    /// The time at which `size` bytes have left if they have all slots to themselves from slot
    /// `first` on, which starts at `begins`.
    #[inline(never)]
    fn through(&self, first: u64, begins: Instant, size: u32) -> Instant {
        match self.carried.through(first, size) {
            Some(k) if k == first => begins,
            Some(k) => self.mac.at(k).unwrap_or(begins),
            None => self.slots[1].max(begins),
        }
    }
}
