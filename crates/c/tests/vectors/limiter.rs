//! Limiters above a bearer of bytes and one of packets: an endless backlog with one pause, four
//! polls a slot, and slots that differ.

use super::Vector;
use justfull_base::{Duration, Instant, Rng, SlotReport};
use justfull_ran::limiter::{
    AnyLimiter, CapacityUnit, GrantContext, Limiter, LimiterConfig, RlcView,
};
use std::collections::VecDeque;

const SLOT: Duration = Duration::from_millis(1);
const SLOTS: u64 = 60;

/// The bearer below: the rest of each SDU, and the time of its entry.
#[derive(Default)]
struct Bearer {
    sdus: VecDeque<(u32, Instant)>,
    bytes: u64,
}

impl Bearer {
    fn view(&self) -> RlcView {
        RlcView { packets: self.sdus.len() as u64, bytes: self.bytes }
    }
}

pub(super) fn all() -> Vec<Vector> {
    let learned = LimiterConfig::all().into_iter().filter(|config| !config.foresees());
    learned.map(|config| vector(&config)).collect()
}

fn vector(config: &LimiterConfig) -> Vector {
    let name = config.name();
    // The limit of `fixed` is in packets, and so are its grants.
    let unit = if name == "fixed" { CapacityUnit::Packets } else { CapacityUnit::Bytes };
    let context = GrantContext { unit, slot: SLOT, mtu: 1500 };
    let mut limiter = AnyLimiter::new(config, &context).expect("in bounds");
    let mut vector = Vector::new("limiter", name, &[&format!("kind = \"{name}\"")]);
    vector.say(format!("grants {} {} {}", unit.name(), SLOT.as_nanos(), context.mtu));
    let (mut rng, mut bearer) = (Rng::stream(1, "vectors"), Bearer::default());
    for k in 0..SLOTS {
        let start = Instant::ZERO + SLOT.times(k);
        if !(30..36).contains(&k) {
            for quarter in 0..4 {
                let now = start + Duration::from_micros(250).times(quarter);
                poll(now, &mut limiter, &mut bearer, &mut rng, &mut vector);
            }
        }
        pull(start + SLOT, &mut limiter, &mut bearer, &mut rng, &mut vector);
    }
    vector
}

/// SDUs enter while there is room, at most eight.
fn poll(
    now: Instant,
    limiter: &mut AnyLimiter,
    bearer: &mut Bearer,
    rng: &mut Rng,
    vector: &mut Vector,
) {
    for n in 0..8 {
        let size = if rng.chance(0.2) { 60 } else { 1400 };
        let (view, unit) = (bearer.view(), limiter.unit());
        let room = limiter.room(now, &view);
        let RlcView { packets, bytes } = view;
        vector.say(format!("room {} {packets} {bytes} {room}", now.as_nanos()));
        let used = if unit == CapacityUnit::Packets { 1 } else { u64::from(size) };
        if room == u64::MAX && n > 0 {
            return;
        }
        if room == 0 || !limiter.overdraws() && room < used {
            return;
        }
        bearer.sdus.push_back((size, now));
        bearer.bytes += u64::from(size);
        let view = bearer.view();
        limiter.on_admitted(now, used, &view);
        let RlcView { packets, bytes } = view;
        vector.say(format!("admitted {} {used} {packets} {bytes}", now.as_nanos()));
    }
}

/// A slot takes as much as it can.
fn pull(
    now: Instant,
    limiter: &mut AnyLimiter,
    bearer: &mut Bearer,
    rng: &mut Rng,
    vector: &mut Vector,
) {
    let unit = limiter.unit();
    let granted = if unit == CapacityUnit::Packets { rng.below(5) } else { rng.below(6_000) };
    let mut used = 0;
    while used < granted
        && let Some((left, entered)) = bearer.sdus.front_mut()
    {
        let part = match unit {
            CapacityUnit::Packets => *left,
            CapacityUnit::Bytes => (*left).min((granted - used) as u32),
        };
        used += if unit == CapacityUnit::Packets { 1 } else { u64::from(part) };
        bearer.bytes -= u64::from(part);
        *left -= part;
        if *left == 0 {
            let sojourn = now.since(*entered);
            bearer.sdus.pop_front();
            limiter.on_departed(now, sojourn);
            vector.say(format!("departed {} {}", now.as_nanos(), sojourn.as_nanos()));
        }
    }
    let (remaining, capacity, starved) = (
        bearer.view().backlog(unit),
        if unit == CapacityUnit::Packets { 5 } else { 6_000 },
        used < granted,
    );
    limiter.on_slot(&SlotReport {
        pulled_at: now,
        slot: SLOT,
        granted,
        used,
        remaining,
        capacity,
        starved,
    });
    vector.say(format!(
        "slot {} {} {granted} {used} {remaining} {capacity} {}",
        now.as_nanos(),
        SLOT.as_nanos(),
        u8::from(starved)
    ));
}
