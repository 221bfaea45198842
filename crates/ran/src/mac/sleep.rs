//! The sleep of a cell's UEs that have DRX: data for a UE that sleeps waits without a turn.

use crate::drx::Drx;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;
use justfull_base::{Duration, Instant};

/// The UEs of a cell, as far as they have DRX.
pub(crate) struct Sleep {
    /// By place.
    ues: Vec<Option<Sleeper>>,
    /// UEs without a place in a cell of several, by number.
    elsewhere: BTreeMap<u32, Box<Sleeper>>,
    /// Awake UEs that may have data.
    served: Vec<u32>,
    /// UEs that sleep while data waits, by the next start of their active time.
    alarms: BinaryHeap<Reverse<(Instant, u32)>>,
    /// UEs that have fallen asleep, or got data while asleep, since the last slot.
    fallen: Vec<u32>,
}

/// A UE with DRX.
struct Sleeper {
    drx: Drx,
    state: State,
    /// An AQM counts a packet's wait from the UE's wake at the earliest.
    excludes_sleep: bool,
}

impl Sleeper {
    fn new(drx: Drx, excludes_sleep: bool) -> Self {
        Self { drx, state: State::Idle, excludes_sleep }
    }
}

/// The cell's view of a UE.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It has no data.
    Idle,
    /// It is among `served`.
    Served,
    /// It sleeps while data waits, until this instant at the latest.
    Asleep(Instant),
}

/// The end of a UE's sleep.
#[derive(Clone, Copy)]
pub(crate) struct Wake {
    pub(crate) ue: u32,
    /// The begin of its active time; none if AQMs count sleep too.
    pub(crate) counts_from: Option<Instant>,
}

impl Sleep {
    /// The UEs with these DRX, by place; `true` for AQMs that count from a UE's wake.
    pub(crate) fn new(ues: impl Iterator<Item = Option<(Drx, bool)>>) -> Self {
        Self {
            ues: ues
                .map(|ue| ue.map(|(drx, excludes_sleep)| Sleeper::new(drx, excludes_sleep)))
                .collect(),
            elsewhere: BTreeMap::new(),
            served: Vec::new(),
            alarms: BinaryHeap::new(),
            fallen: Vec::new(),
        }
    }

    /// UE `number` with this `drx` may enter the cell later; its AQMs count from its wake if
    /// `excludes_sleep`.
    pub(crate) fn expect(&mut self, number: u32, mut drx: Drx, excludes_sleep: bool) {
        drx.leave(Instant::ZERO);
        let sleeper = Box::new(Sleeper::new(drx, excludes_sleep));
        self.elsewhere.insert(number, sleeper);
    }

    /// UE `number` gets `place`.
    pub(crate) fn make_place(&mut self, place: u32, number: u32) {
        let at = place as usize;
        let most = self.ues.len().max(at + 1);
        self.ues.resize_with(most, || None);
        self.ues[at] = self.elsewhere.remove(&number).map(|sleeper| *sleeper);
    }

    /// UE `number`, which has left, no longer has `place`.
    pub(crate) fn leave_place(&mut self, place: u32, number: u32) {
        if let Some(sleeper) = self.ues[place as usize].take() {
            self.elsewhere.insert(number, Box::new(sleeper));
        }
    }

    fn of(&mut self, ue: u32) -> Option<&mut Sleeper> {
        self.ues[ue as usize].as_mut()
    }

    /// True unless `ue` sleeps while data waits for it.
    pub(crate) fn is_awake(&self, ue: u32) -> bool {
        let asleep = |sleeper: &Sleeper| matches!(sleeper.state, State::Asleep(_));
        !self.ues[ue as usize].as_ref().is_some_and(asleep)
    }

    /// True if `ue` is active at `now`, with or without data.
    pub(crate) fn listens(&mut self, ue: u32, now: Instant) -> bool {
        self.of(ue).is_none_or(|sleeper| sleeper.drx.is_active(now))
    }

    /// `ue` has data from `now` on: true if it may be served.
    pub(crate) fn admits(&mut self, ue: u32, now: Instant) -> bool {
        let Some(Sleeper { drx, state, .. }) = &mut self.ues[ue as usize] else { return true };
        if *state == State::Idle {
            if drx.is_active(now) {
                *state = State::Served;
                self.served.push(ue);
            } else {
                self.fall_asleep(ue);
            }
        }
        self.is_awake(ue)
    }

    /// `ue`, which has data, sleeps.
    fn fall_asleep(&mut self, ue: u32) {
        let Self { ues, alarms, fallen, .. } = self;
        let Some(Sleeper { drx, state, .. }) = &mut ues[ue as usize] else { return };
        *state = State::Asleep(drx.next_start());
        alarms.push(Reverse((drx.next_start(), ue)));
        fallen.push(ue);
    }

    /// The next UE that has fallen asleep since the last slot, and sleeps, if its AQMs do not count
    /// sleep.
    pub(crate) fn next_fallen(&mut self) -> Option<u32> {
        while let Some(ue) = self.fallen.pop() {
            let excludes_sleep =
                self.ues[ue as usize].as_ref().is_some_and(|sleeper| sleeper.excludes_sleep);
            if excludes_sleep && !self.is_awake(ue) {
                return Some(ue);
            }
        }
        None
    }

    /// The slot at `now` sends a block to `ue`, again if `repeats`.
    pub(crate) fn transmits(&mut self, ue: u32, repeats: bool, now: Instant) {
        match self.of(ue) {
            Some(sleeper) if repeats => sleeper.drx.repeat(now),
            Some(sleeper) => sleeper.drx.grant(now),
            None => {}
        }
    }

    /// A block to `ue` was not decoded; it listens for its repetition from `start` on.
    pub(crate) fn expects_repeat(&mut self, ue: u32, start: Instant) {
        if let Some(sleeper) = self.of(ue) {
            sleeper.drx.expect_repeat(start);
        }
    }

    /// The next UE that has woken by `now` while data waits for it.
    pub(crate) fn next_wake(&mut self, now: Instant) -> Option<Wake> {
        loop {
            let &Reverse((at, ue)) = self.alarms.peek().filter(|Reverse((at, _))| *at <= now)?;
            self.alarms.pop();
            let Self { ues, served, alarms, .. } = self;
            let Some(Sleeper { drx, state, excludes_sleep }) = &mut ues[ue as usize] else {
                continue;
            };
            if *state != State::Asleep(at) {
                continue;
            }
            if drx.is_active(now) {
                *state = State::Served;
                served.push(ue);
                return Some(Wake { ue, counts_from: excludes_sleep.then_some(at) });
            }
            // No slot began in its active time.
            *state = State::Asleep(drx.next_start());
            alarms.push(Reverse((drx.next_start(), ue)));
        }
    }

    /// The next UE among `served` that has no data or has fallen asleep by `now`; true if it has
    /// fallen asleep.
    pub(crate) fn next_rest(
        &mut self,
        now: Instant,
        has_data: impl Fn(u32) -> bool,
    ) -> Option<(u32, bool)> {
        for place in 0..self.served.len() {
            let ue = self.served[place];
            let Some(sleeper) = self.of(ue) else { continue };
            let waits = has_data(ue);
            if waits && sleeper.drx.is_active(now) {
                continue;
            }
            sleeper.state = State::Idle;
            if waits {
                self.fall_asleep(ue);
            }
            self.served.swap_remove(place);
            return Some((ue, waits));
        }
        None
    }

    /// `ue` sends a scheduling request at `now`. Returns its wake if data waits for it.
    pub(crate) fn request(&mut self, ue: u32, now: Instant) -> Option<Wake> {
        let sleeper = self.ues[ue as usize].as_mut()?;
        sleeper.drx.request(now);
        if !matches!(sleeper.state, State::Asleep(_)) {
            return None;
        }
        sleeper.state = State::Served;
        let counts_from = sleeper.excludes_sleep.then_some(now);
        self.served.push(ue);
        Some(Wake { ue, counts_from })
    }

    /// `ue` has had a grant of the uplink at `now`.
    pub(crate) fn grant_uplink(&mut self, ue: u32, now: Instant) {
        if let Some(sleeper) = self.of(ue) {
            sleeper.drx.grant_uplink(now);
        }
    }

    /// `ue` leaves the cell at `now`.
    pub(crate) fn leave(&mut self, ue: u32, now: Instant) {
        self.served.retain(|other| *other != ue);
        if let Some(sleeper) = self.of(ue) {
            sleeper.state = State::Idle;
            sleeper.drx.leave(now);
        }
    }

    /// `ue` enters the cell at `now`.
    pub(crate) fn enter(&mut self, ue: u32, now: Instant) {
        if let Some(sleeper) = self.of(ue) {
            sleeper.drx.enter(now);
        }
    }

    /// Active time is counted from `from` on.
    pub(crate) fn count_from(&mut self, from: Instant) {
        let elsewhere = self.elsewhere.values_mut().map(|sleeper| &mut **sleeper);
        let all = self.ues.iter_mut().flatten().chain(elsewhere);
        all.for_each(|sleeper| sleeper.drx.count_from(from));
    }

    /// Active time of each UE with DRX up to `now`; `number` gives the number of the UE in a place.
    pub(crate) fn active<'a>(
        &'a self,
        now: Instant,
        number: impl Fn(u32) -> u32 + 'a,
    ) -> impl Iterator<Item = (u32, Duration)> + 'a {
        let here = (0..).zip(&self.ues);
        let here = here.filter_map(move |(place, ue)| Some((number(place), ue.as_ref()?)));
        let elsewhere = self.elsewhere.iter().map(|(ue, sleeper)| (*ue, &**sleeper));
        here.chain(elsewhere).map(move |(ue, sleeper)| (ue, sleeper.drx.clone().active(now)))
    }
}
