//! The rules of every limiter, shipped or user-defined.
//!
//! Each rule puts a limiter over the queue of one bearer, served by a MAC that grants in packets or
//! in bytes, and examines only its answers.

use super::{AnyLimiter, CapacityUnit, GrantContext, Limiter, LimiterConfig, RlcView};
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use justfull_base::{Duration, Instant, Packet, Rng, SlotForecast, SlotReport};

const SLOT: Duration = Duration::from_millis(10);
const MTU: u32 = 1500;
const POLLS_PER_SLOT: u64 = 10;
const UNITS: [CapacityUnit; 2] = [CapacityUnit::Packets, CapacityUnit::Bytes];

/// The result of a rule: nothing, or the values that break it.
type Found = Result<(), String>;
type Rule = fn(&LimiterConfig, CapacityUnit) -> Found;

/// A rule of [`check`], and its text.
const RULES: [(&str, Rule); 6] = [
    ("a full limiter refuses until the radio has taken something or time has passed", refuses),
    ("a greedy flow never starves for good", never_starves),
    ("an empty queue gets room within a slot", gives_room),
    ("room is not lost when queued packets are dropped", forgets_drops),
    ("one report of the latest idle slot stands for all of them", may_idle),
    ("time alone changes the answer only of a limiter that paces", keeps_still),
];

/// A limiter broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The rule, in words.
    pub rule: &'static str,
    /// Unit in which the MAC granted.
    pub unit: CapacityUnit,
    /// The values that break the rule.
    pub found: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: broken with grants in {}: {}", self.rule, self.unit.name(), self.found)
    }
}

impl core::error::Error for Broken {}

/// Checks the limiter of `config` against every rule, with grants in packets and in bytes. Returns
/// the rules.
///
/// # Errors
/// The first broken rule.
pub fn check(config: &LimiterConfig) -> Result<Vec<&'static str>, Broken> {
    for (rule, holds) in RULES {
        for unit in UNITS {
            holds(config, unit).map_err(|found| Broken { rule, unit, found })?;
        }
    }
    Ok(RULES.iter().map(|(rule, _)| *rule).collect())
}

fn ensure(ok: bool, found: impl FnOnce() -> String) -> Found {
    if ok { Ok(()) } else { Err(found()) }
}

const fn context(unit: CapacityUnit) -> GrantContext {
    GrantContext { unit, slot: SLOT, mtu: MTU }
}

/// The RLC queue of a bearer, served by a MAC that grants in the unit of the limiter's context.
struct Bearer {
    limiter: AnyLimiter,
    queue: VecDeque<(Instant, u32)>,
    bytes: u64,
    sent_of_head: u32,
    unit: CapacityUnit,
}

impl Bearer {
    fn new(limiter: AnyLimiter, unit: CapacityUnit) -> Self {
        Self { limiter, queue: VecDeque::new(), bytes: 0, sent_of_head: 0, unit }
    }

    fn view(&self) -> RlcView {
        RlcView {
            packets: self.queue.len() as u64,
            bytes: self.bytes - u64::from(self.sent_of_head),
        }
    }

    /// Drops everything without notice to the limiter.
    fn clear(&mut self) {
        self.queue.clear();
        (self.bytes, self.sent_of_head) = (0, 0);
    }

    /// One SDAP poll with an endless supply of packets of `size`. Returns the number that entered,
    /// at most `most`.
    fn fill(&mut self, now: Instant, size: u32, capacity: u64, most: u64) -> u64 {
        if self.limiter.wants_forecast() {
            let next_pull = now + SLOT;
            self.limiter.on_forecast(&SlotForecast {
                next_pull,
                capacity,
                polls_left: 0,
                packets_per_poll: 1,
            });
        }
        let sdu = Packet { size, ..Packet::default() };
        let mut entered = 0;
        while entered < most && self.limiter.admits(now, &sdu, &self.view()) {
            self.queue.push_back((now, size));
            self.bytes += u64::from(size);
            let amount = self.limiter.amount(&sdu);
            self.limiter.on_admitted(now, amount, &self.view());
            entered += 1;
        }
        entered
    }

    /// One slot. Returns the number of SDUs that left.
    fn pull(&mut self, now: Instant, capacity: u64) -> u64 {
        let (mut used, mut left_queue) = (0, 0);
        while used < capacity
            && let Some(&(entered, size)) = self.queue.front()
        {
            let need = match self.unit {
                CapacityUnit::Packets => 1,
                CapacityUnit::Bytes => u64::from(size - self.sent_of_head),
            };
            if need > capacity - used {
                self.sent_of_head += (capacity - used) as u32;
                used = capacity;
                break;
            }
            used += need;
            left_queue += 1;
            self.queue.pop_front();
            self.bytes -= u64::from(size);
            self.sent_of_head = 0;
            self.limiter.on_departed(now, now.since(entered));
        }
        self.report(now, capacity, used);
        left_queue
    }

    fn report(&mut self, pulled_at: Instant, capacity: u64, used: u64) {
        let remaining = self.view().backlog(self.unit);
        let starved = remaining == 0 && used < capacity;
        let report = SlotReport {
            pulled_at,
            slot: SLOT,
            granted: capacity,
            used,
            remaining,
            capacity,
            starved,
        };
        self.limiter.on_slot(&report);
    }
}

/// Capacity of a slot that carries `packets` full packets.
fn carries(unit: CapacityUnit, packets: u64) -> u64 {
    context(unit).amount(packets)
}

fn pull_instant(slot: u64) -> Instant {
    Instant::ZERO + SLOT.times(slot)
}

fn poll_instant(slot: u64, poll: u64) -> Instant {
    pull_instant(slot) + Duration::from_nanos(SLOT.as_nanos() * poll / POLLS_PER_SLOT)
}

fn made(config: &LimiterConfig, unit: CapacityUnit) -> Result<Bearer, String> {
    let limiter = AnyLimiter::new(config, &context(unit)).map_err(|error| format!("{error}"))?;
    Ok(Bearer::new(limiter, unit))
}

fn refuses(config: &LimiterConfig, unit: CapacityUnit) -> Found {
    let mut bearer = made(config, unit)?;
    if bearer.limiter.is_unlimited() {
        return Ok(());
    }
    let capacity = carries(unit, 4);
    for slot in 0..200 {
        for poll in 1..POLLS_PER_SLOT {
            let now = poll_instant(slot, poll);
            let entered = bearer.fill(now, MTU, capacity, 100_000);
            ensure(entered < 100_000, || "it never refuses".into())?;
            let view = bearer.view();
            let sdu = Packet { size: 1, ..Packet::default() };
            if bearer.limiter.overdraws() {
                let room = bearer.limiter.room(now, &view);
                ensure(room == 0, || format!("it refused although there was room for {room}"))?;
                let admits = bearer.limiter.admits(now, &sdu, &view);
                ensure(!admits, || format!("it admits beyond its room in slot {slot}"))?;
            }
        }
        bearer.pull(pull_instant(slot + 1), capacity);
    }
    Ok(())
}

fn never_starves(config: &LimiterConfig, unit: CapacityUnit) -> Found {
    // In every hundred slots an SDU leaves, for any capacity, including slots with none.
    let mut bearer = made(config, unit)?;
    let mut rng = Rng::stream(11, config.name());
    for epoch in 0..30 {
        let mut departed = 0;
        let most = 1 + rng.below(15);
        for slot in epoch * 100..epoch * 100 + 100 {
            let packets = if rng.chance(0.1) { 0 } else { 1 + rng.below(most) };
            let capacity = carries(unit, packets);
            for poll in 1..POLLS_PER_SLOT {
                bearer.fill(poll_instant(slot, poll), MTU, capacity, 64);
            }
            departed += bearer.pull(pull_instant(slot + 1), capacity);
        }
        let from = epoch * 100;
        ensure(departed > 10, || format!("{departed} packets in the hundred slots from {from}"))?;
    }
    Ok(())
}

fn gives_room(config: &LimiterConfig, unit: CapacityUnit) -> Found {
    let mut bearer = made(config, unit)?;
    let mut rng = Rng::stream(12, config.name());
    let capacity = carries(unit, 3);
    for round in 0..100u64 {
        let first = round * 20;
        for slot in first..first + 10 {
            let size = 40 + rng.below(1461) as u32;
            bearer.fill(poll_instant(slot, 1 + rng.below(9)), size, capacity, rng.below(30));
            bearer.pull(pull_instant(slot + 1), capacity);
        }
        bearer.clear();
        bearer.report(pull_instant(first + 11), capacity, 0);
        let room = (1..POLLS_PER_SLOT).any(|poll| {
            let now = poll_instant(first + 11, poll);
            let next_pull = now + SLOT;
            let forecast = SlotForecast { next_pull, capacity, polls_left: 0, packets_per_poll: 1 };
            if bearer.limiter.wants_forecast() {
                bearer.limiter.on_forecast(&forecast);
            }
            bearer.limiter.room(now, &RlcView::default()) > 0
        });
        ensure(room, || format!("no room for an empty queue in round {round}"))?;
    }
    Ok(())
}

fn forgets_drops(config: &LimiterConfig, unit: CapacityUnit) -> Found {
    // Fill, drop everything without notice (like an AQM), and continue: the limiter must recover.
    let mut bearer = made(config, unit)?;
    if bearer.limiter.is_unlimited() {
        return Ok(());
    }
    let capacity = carries(unit, 6);
    let fill = |bearer: &mut Bearer, slot| -> u64 {
        let entered = (1..POLLS_PER_SLOT)
            .map(|p| bearer.fill(poll_instant(slot, p), MTU, capacity, 5_000))
            .sum();
        bearer.clear();
        bearer.report(pull_instant(slot + 1), capacity, 0);
        entered
    };
    let early: Vec<u64> = (10..20).map(|slot| fill(&mut bearer, slot)).collect();
    let late: Vec<u64> = (500..510).map(|slot| fill(&mut bearer, slot)).collect();
    let kept = late.iter().sum::<u64>() >= early.iter().sum::<u64>();
    ensure(kept && late.iter().all(|n| *n > 0), || {
        format!("{early:?} packets entered, and after 480 drained slots {late:?}")
    })
}

/// Makes a bearer with a random past idle for some slots, with a report of each or only of the
/// last, and returns the answers in the following slots; first the number of SDUs that left before
/// the idle time.
fn answers_after_idling(
    config: &LimiterConfig,
    unit: CapacityUnit,
    seed: u64,
    told_of_each: bool,
) -> Result<(u64, Vec<u64>), String> {
    let mut rng = Rng::stream(seed, "idle");
    let mut bearer = made(config, unit)?;
    let busy = 1 + rng.below(25);
    let mut left = 0;
    for slot in 0..busy {
        let capacity = carries(unit, rng.below(8));
        // In either half of the slot, since some limiters open late.
        for poll in [3, 8] {
            bearer.fill(poll_instant(slot, poll), MTU, capacity, rng.below(12));
        }
        left += bearer.pull(pull_instant(slot + 1), capacity);
    }
    left += bearer.pull(pull_instant(busy + 1), carries(unit, 100_000));
    let idle = 2 + rng.below(40);
    let capacity = carries(unit, 5);
    for slot in busy + 2..=busy + idle {
        if told_of_each || slot == busy + idle {
            bearer.report(pull_instant(slot), capacity, 0);
        }
    }
    let mut answers = Vec::new();
    for slot in busy + idle..busy + idle + 60 {
        for poll in 1..POLLS_PER_SLOT {
            let now = poll_instant(slot, poll);
            bearer.fill(now, MTU, capacity, 2);
            answers.push(bearer.limiter.room(now, &bearer.view()));
        }
        bearer.pull(pull_instant(slot + 1), carries(unit, rng.below(12)));
    }
    Ok((left, answers))
}

fn may_idle(config: &LimiterConfig, unit: CapacityUnit) -> Found {
    let mut all_left = 0;
    for seed in 0..40 {
        let each = answers_after_idling(config, unit, seed, true)?;
        let last = answers_after_idling(config, unit, seed, false)?;
        let differs = each.1.iter().zip(&last.1).position(|(each, last)| each != last);
        if let Some(i) = differs {
            let (each, last) = (each.1[i], last.1[i]);
            return Err(format!(
                "told of each idle slot it has room for {each}, told of the last for {last} (past \
                 {seed}, answer {i})"
            ));
        }
        all_left += each.0;
    }
    ensure(all_left > 40, || format!("{all_left} packets left in all pasts"))
}

/// The rooms for an empty queue at three instants between two slots.
fn rooms_between_slots(bearer: &mut Bearer) -> [u64; 3] {
    bearer.pull(pull_instant(1), carries(bearer.unit, 8));
    [1, 5, 9].map(|poll| bearer.limiter.room(poll_instant(1, poll), &RlcView::default()))
}

fn keeps_still(config: &LimiterConfig, unit: CapacityUnit) -> Found {
    let mut bearer = made(config, unit)?;
    if bearer.limiter.paces() || bearer.limiter.wants_forecast() {
        let paces = bearer.limiter.paces();
        return ensure(paces, || "a forecast ages: it must pace".into());
    }
    let rooms = rooms_between_slots(&mut bearer);
    ensure(rooms.iter().all(|room| *room == rooms[0]), || format!("room for {rooms:?}"))
}

#[cfg(test)]
mod tests;
