//! Tests of the rules of every SDAP scheduler, and of each scheduler.

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::Rng;

fn all(queues: usize) -> Vec<AnySdapScheduler> {
    SdapSchedulerConfig::all()
        .iter()
        .map(|c| AnySdapScheduler::new(c, queues).expect("defaults are sound"))
        .collect()
}

fn candidate(head_bytes: u32, weight: u32) -> Candidate {
    Candidate { eligible: true, head_enqueued: Instant::ZERO, head_bytes, priority: 0, weight }
}

/// Bytes sent per queue over `picks` picks with every queue always full.
fn share(scheduler: &mut AnySdapScheduler, candidates: &[Candidate], picks: usize) -> Vec<u64> {
    let mut sent = vec![0; candidates.len()];
    for _ in 0..picks {
        let i = scheduler.pick(candidates).expect("all are eligible");
        scheduler.on_sent(i, candidates[i].head_bytes);
        sent[i] += u64::from(candidates[i].head_bytes);
    }
    sent
}

#[test]
fn every_scheduler_picks_an_eligible_queue_whenever_there_is_one() {
    let mut rng = Rng::stream(3, "schedulers");
    for mut scheduler in all(5) {
        for _ in 0..5_000 {
            let candidates: Vec<_> = (0..5)
                .map(|_| Candidate {
                    eligible: rng.chance(0.4),
                    head_enqueued: Instant::from_nanos(rng.below(100)),
                    head_bytes: 1 + rng.below(65_535) as u32,
                    priority: rng.below(3) as u8,
                    weight: 1 + rng.below(4) as u32,
                })
                .collect();
            match scheduler.pick(&candidates) {
                Some(i) => {
                    assert!(candidates[i].eligible);
                    scheduler.on_sent(i, candidates[i].head_bytes);
                }
                None => assert!(candidates.iter().all(|c| !c.eligible)),
            }
        }
    }
}

#[test]
fn a_scheduler_without_memory_picks_as_if_it_had_picked_nothing() {
    let mut rng = Rng::stream(4, "schedulers");
    for (mut old, mut new) in all(3).into_iter().zip(all(3)).filter(|(s, _)| !s.has_memory()) {
        for _ in 0..1_000 {
            let candidates: Vec<_> = (0..3)
                .map(|_| Candidate {
                    eligible: rng.chance(0.6),
                    head_enqueued: Instant::from_nanos(rng.below(3)),
                    priority: rng.below(2) as u8,
                    ..candidate(1 + rng.below(1_500) as u32, 1)
                })
                .collect();
            let picked = old.pick(&candidates);
            assert_eq!(picked, new.pick(&candidates));
            picked.into_iter().for_each(|i| old.on_sent(i, candidates[i].head_bytes));
        }
    }
    let remember = all(3).iter().filter(|s| s.has_memory()).count();
    assert_eq!(remember, 2, "round robin and DRR");
}

#[test]
fn round_robin_shares_packets_and_drr_shares_bytes_by_weight() {
    let candidates = [candidate(200, 1), candidate(1500, 2)];
    let mut scheduler = AnySdapScheduler::RoundRobin(RoundRobin::default());
    assert_eq!(share(&mut scheduler, &candidates, 1000), [100_000, 750_000]);
    let mut scheduler =
        AnySdapScheduler::Drr(Drr::new(&DrrConfig::default(), 2).expect("sound").into());
    let sent = share(&mut scheduler, &candidates, 9_500);
    let ratio = sent[1] as f64 / sent[0] as f64;
    assert!((1.98..2.02).contains(&ratio), "{ratio}");
}

#[test]
fn fifo_goes_by_arrival_and_strict_priority_by_number() {
    let mut candidates = [candidate(200, 1), candidate(1500, 1)];
    candidates[0].head_enqueued = Instant::from_nanos(5);
    candidates[0].priority = 1;
    candidates[1].priority = 2;
    assert_eq!(Fifo.pick(&candidates), Some(1));
    assert_eq!(StrictPriority.pick(&candidates), Some(0));
}
