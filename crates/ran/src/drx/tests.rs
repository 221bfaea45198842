use super::*;
use alloc::vec::Vec;
use justfull_base::Rng;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// A cycle of 40 ms from 4 ms on, 5 ms of it on, and 10 ms of inactivity.
fn plain() -> DrxConfig {
    DrxConfig {
        long_cycle: ms(40),
        start_offset: Some(ms(4)),
        on_duration: ms(5),
        inactivity: ms(10),
        ..DrxConfig::default()
    }
}

/// The active slots of 1 ms from `from` to `to`.
fn active_in(drx: &mut Drx, from: u64, to: u64) -> Vec<u64> {
    (from..=to).filter(|slot| drx.is_active(at(*slot))).collect()
}

fn span(from: u64, to: u64) -> Vec<u64> {
    (from..=to).collect()
}

#[test]
fn without_grants_a_ue_is_active_in_the_on_duration_of_each_long_cycle() {
    let mut drx = Drx::new(&plain(), Duration::ZERO);
    assert_eq!(active_in(&mut drx, 0, 90), [span(4, 8), span(44, 48), span(84, 88)].concat());
    assert_eq!(drx.active(at(90)), ms(15));
}

#[test]
fn a_grant_keeps_a_ue_active_for_the_inactivity_timer() {
    // A grant at 6: the timer runs to 16, though the on-duration ends at 9. A grant at 16, the
    // last slot, restarts it.
    let mut drx = Drx::new(&plain(), Duration::ZERO);
    assert_eq!(active_in(&mut drx, 0, 6), span(4, 6));
    drx.grant(at(6));
    assert_eq!(active_in(&mut drx, 7, 16), span(7, 16));
    drx.grant(at(16));
    assert_eq!(active_in(&mut drx, 17, 50), [span(17, 26), span(44, 48)].concat());
    assert_eq!(drx.active(at(50)), ms(22 + 5));
}

#[test]
fn short_cycles_follow_the_inactivity_timer_until_theirs_expires() {
    // Short cycles of 20 ms for 40 ms. A grant at 6: inactivity to 16, short cycles in (16, 56]:
    // starts at 24 and 44; then the long one at 84.
    let config = DrxConfig { short_cycle: Some(ms(20)), ..plain() };
    let mut drx = Drx::new(&config, Duration::ZERO);
    drx.grant(at(6));
    let wanted = [span(6, 16), span(24, 28), span(44, 48), span(84, 88)].concat();
    assert_eq!(active_in(&mut drx, 6, 100), wanted);
}

#[test]
fn a_grant_in_a_short_cycle_restarts_the_short_cycles_at_the_next_expiry() {
    // As above, and a grant at 46: inactivity to 56, where the first short cycles end, and new ones
    // begin: starts at 64, 84, and long ones at 124.
    let config = DrxConfig { short_cycle: Some(ms(20)), ..plain() };
    let mut drx = Drx::new(&config, Duration::ZERO);
    drx.grant(at(6));
    assert_eq!(active_in(&mut drx, 6, 46), [span(6, 16), span(24, 28), span(44, 46)].concat());
    drx.grant(at(46));
    let wanted = [span(47, 56), span(64, 68), span(84, 88), span(124, 128)].concat();
    assert_eq!(active_in(&mut drx, 47, 140), wanted);
}

#[test]
fn a_scheduling_request_keeps_a_ue_active_until_its_grant() {
    let mut drx = Drx::new(&plain(), Duration::ZERO);
    assert_eq!(active_in(&mut drx, 0, 20), span(4, 8));
    drx.request(at(20));
    assert_eq!(active_in(&mut drx, 20, 27), span(20, 27));
    drx.grant_uplink(at(27));
    assert_eq!(active_in(&mut drx, 28, 43), span(28, 37));
    assert_eq!(drx.active(at(43)), ms(5 + 17));
}

#[test]
fn the_retransmission_timer_runs_from_its_start_until_the_block_comes_again() {
    let config = DrxConfig { inactivity: Duration::ZERO, retransmission: ms(6), ..plain() };
    let mut drx = Drx::new(&config, Duration::ZERO);
    drx.grant(at(8));
    drx.expect_repeat(at(15));
    drx.expect_repeat(at(16));
    assert_eq!(active_in(&mut drx, 8, 17), [8, 15, 16, 17]);
    drx.repeat(at(17));
    assert_eq!(active_in(&mut drx, 18, 30), span(18, 21), "the second block's timer");
    drx.repeat(at(44));
    assert_eq!(active_in(&mut drx, 45, 60), span(45, 48));
}

#[test]
fn a_ue_is_not_active_in_a_cell_that_it_has_left() {
    let mut drx = Drx::new(&plain(), Duration::ZERO);
    drx.grant(at(6));
    drx.leave(at(10));
    assert!(active_in(&mut drx, 10, 100).is_empty());
    drx.enter(at(101));
    assert_eq!(active_in(&mut drx, 101, 130), [span(101, 111), span(124, 128)].concat());
}

#[test]
fn active_time_counts_from_the_given_instant() {
    let mut drx = Drx::new(&plain(), Duration::ZERO);
    drx.count_from(at(46));
    assert_eq!(drx.active(at(90)), ms(3 + 5));
}

#[test]
fn cycles_and_timers_that_do_not_fit_are_refused_with_field_and_bounds() {
    let refused = |config: DrxConfig| {
        let error = config.validate().expect_err("outside its bounds");
        (error.field.clone(), error.to_string())
    };
    let (field, text) = refused(DrxConfig { on_duration: ms(41), ..plain() });
    assert_eq!(field, "on_duration");
    assert!(text.contains("41ms") && text.contains("40ms"), "{text}");
    let short = |short| DrxConfig { short_cycle: Some(ms(short)), ..plain() };
    assert_eq!(refused(short(15)).0, "short_cycle");
    assert_eq!(refused(short(40)).0, "short_cycle");
    assert_eq!(refused(short(4)).0, "on_duration");
    assert_eq!(refused(DrxConfig { start_offset: Some(ms(40)), ..plain() }).0, "start_offset");
    assert_eq!(refused(DrxConfig { on_duration: Duration::ZERO, ..plain() }).0, "on_duration");
    assert_eq!(refused(DrxConfig { long_cycle: ms(1), ..plain() }).0, "long_cycle");
    assert_eq!(DrxConfig::default().validate(), Ok(()));
}

/// TS 38.321 clause 5.7 step by step, in steps of 1 ms: timers that count down.
struct Naive {
    config: DrxConfig,
    on: u64,
    inactivity: Option<u64>,
    short: u64,
    /// Blocks: milliseconds until the retransmission timer starts, then its rest.
    blocks: Vec<(u64, u64)>,
    requested: bool,
}

impl Naive {
    /// The state in the slot at `now`; true if it is active.
    fn step(&mut self, now: u64) -> bool {
        let c = &self.config;
        let [long, offset] =
            [c.long_cycle, c.start_offset.unwrap()].map(|d| d.as_nanos() / 1_000_000);
        // Timers that expire by this slot.
        self.on = self.on.saturating_sub(1);
        self.short = self.short.saturating_sub(1);
        for (wait, rest) in &mut self.blocks {
            if *wait > 0 {
                *wait -= 1;
            } else {
                *rest = rest.saturating_sub(1);
            }
        }
        match self.inactivity {
            Some(0) => {
                // It expired after the last slot: the first short cycle has begun by now.
                self.inactivity = None;
                if let Some(cycle) = c.short_cycle {
                    self.short = cycle.as_nanos() / 1_000_000 * u64::from(c.short_cycles);
                }
            }
            Some(left) => self.inactivity = Some(left - 1),
            None => {}
        }
        let short = c.short_cycle.map(|d| d.as_nanos() / 1_000_000);
        let starts = match short.filter(|_| self.short > 0) {
            Some(short) => now % short == offset % short,
            None => now % long == offset,
        };
        if starts {
            self.on = c.on_duration.as_nanos() / 1_000_000;
        }
        let repeats = self.blocks.iter().any(|(wait, rest)| *wait == 0 && *rest > 0);
        self.on > 0 || self.inactivity.is_some() || self.requested || repeats
    }

    fn grant(&mut self, uplink: bool) {
        self.requested &= !uplink;
        self.inactivity = Some(self.config.inactivity.as_nanos() / 1_000_000);
    }
}

#[test]
fn thousands_of_random_sequences_are_active_in_the_slots_of_a_naive_ue() {
    let mut rng = Rng::stream(1, "drx");
    for case in 0..3_000 {
        let short = 2 + rng.below(20);
        let long = short * (2 + rng.below(4));
        let config = DrxConfig {
            long_cycle: ms(long),
            start_offset: Some(ms(rng.below(long))),
            on_duration: ms(1 + rng.below(short)),
            inactivity: ms(rng.below(30)),
            short_cycle: rng.chance(0.6).then(|| ms(short)),
            short_cycles: 1 + rng.below(4) as u8,
            retransmission: ms(rng.below(10)),
            aqm_clock: AqmClock::Wake,
        };
        let mut drx = Drx::new(&config, Duration::ZERO);
        let mut naive = Naive {
            config: config.clone(),
            on: 0,
            inactivity: None,
            short: 0,
            blocks: Vec::new(),
            requested: false,
        };
        for slot in 0..300 {
            let (found, wanted) = (drx.is_active(at(slot)), naive.step(slot));
            assert_eq!(found, wanted, "case {case}, slot {slot}: {config:?}");
            if found && rng.chance(0.1) {
                let uplink = rng.chance(0.5);
                if uplink {
                    drx.grant_uplink(at(slot));
                } else {
                    drx.grant(at(slot));
                }
                naive.grant(uplink);
                if rng.chance(0.3) && config.retransmission > Duration::ZERO {
                    let wait = 1 + rng.below(8);
                    // Round trips are alike, so the starts are in order.
                    let last = drx.repeats.back().map_or(0, |start| start.as_nanos() / 1_000_000);
                    let start = (slot + wait).max(last);
                    drx.expect_repeat(at(start));
                    naive.blocks.push((start - slot, config.retransmission.as_nanos() / 1_000_000));
                }
            } else if rng.chance(0.02) {
                drx.request(at(slot));
                naive.requested = true;
            } else if found && !naive.blocks.is_empty() && rng.chance(0.2) {
                let begun = naive.blocks[0].0 == 0;
                if begun {
                    drx.repeat(at(slot));
                    naive.blocks.remove(0);
                }
            }
        }
        assert_eq!(drx.repeats.len(), naive.blocks.len());
    }
}
