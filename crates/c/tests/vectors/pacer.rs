//! Pacers of a queue that is filled up to their occupancy and polled four times for each
//! opportunity.

use super::Vector;
use justfull_base::{Duration, Instant, Rng};
use justfull_ran::limiter::{CapacityUnit, GrantContext};
use justfull_ran::pacer::{AnyPacer, Pacer, PacerConfig, SdapPoll};

pub(super) fn all() -> Vec<Vector> {
    let learned = PacerConfig::all().into_iter().filter(|config| !config.foresees());
    learned.map(|config| vector(&config)).collect()
}

fn vector(config: &PacerConfig) -> Vector {
    let (unit, slot) = (CapacityUnit::Packets, Duration::from_millis(1));
    let context = GrantContext { unit, slot, mtu: 1500 };
    let mut pacer = AnyPacer::new(config, &context).expect("in bounds");
    let name = config.name();
    let mut vector = Vector::new("pacer", name, &[&format!("kind = \"{name}\"")]);
    vector.say(format!("grants {} {} {}", unit.name(), slot.as_nanos(), context.mtu));
    let (mut rng, mut backlog) = (Rng::stream(2, "vectors"), 0_u64);
    for k in 0..100 {
        let start = Instant::ZERO + slot.times(k);
        let wanted = pacer.occupancy(start);
        vector.say(format!("occupancy {} {wanted}", start.as_nanos()));
        for _ in 0..wanted.saturating_sub(backlog).min(rng.below(12)) {
            pacer.on_enqueued(1);
            vector.say("enqueued 1".into());
            backlog += 1;
        }
        for quarter in 0..4 {
            let now = start + Duration::from_micros(250).times(quarter);
            let room = rng.below(4);
            let moved = room.min(backlog);
            backlog -= moved;
            let room = room - moved;
            pacer.on_poll(now, &SdapPoll { moved, backlog, room });
            vector.say(format!("poll {} {moved} {backlog} {room}", now.as_nanos()));
        }
    }
    vector
}
