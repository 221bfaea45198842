//! Hand-worked grants, and a naive oracle that hands out bytes one by one.

use super::*;
use justfull_base::Rng;

/// A channel of `priority` with these SDUs and these bytes in its bucket.
fn channel(priority: u8, bucket: Option<i64>, own: &[u32], all: &mut Vec<u32>) -> Channel {
    let start = all.len() as u32;
    all.extend(own);
    let backlog = own.iter().map(|&sdu| u64::from(sdu)).sum();
    let sdus = start..all.len() as u32;
    Channel { drb: 0, priority, bucket, sdus, backlog, given: 0 }
}

fn given(grant: u64, channels: &mut [Channel], sdus: &[u32]) -> Vec<u64> {
    divide(grant, channels, sdus);
    channels.iter().map(|channel| channel.given).collect()
}

#[test]
fn buckets_come_before_the_rest_of_better_priorities() {
    let mut sdus = Vec::new();
    let mut channels = [
        channel(1, Some(150), &[100, 100, 100], &mut sdus),
        channel(2, Some(50), &[80, 80], &mut sdus),
    ];
    // 200 for the first bucket (it ends within the second SDU), 80 for the second bucket; then the
    // rest: 20 go to priority 1.
    assert_eq!(given(300, &mut channels, &sdus), [220, 80]);
    assert_eq!(given(250, &mut channels, &sdus), [200, 50]);
    assert_eq!(given(120, &mut channels, &sdus), [120, 0]);
    assert_eq!(given(1_000, &mut channels, &sdus), [300, 160]);
}

#[test]
fn an_infinite_rate_takes_all_before_the_next_bucket() {
    let mut sdus = Vec::new();
    let mut channels = [
        channel(1, None, &[100, 100, 100], &mut sdus),
        channel(2, Some(1_000), &[80, 80], &mut sdus),
    ];
    assert_eq!(given(310, &mut channels, &sdus), [300, 10]);
}

#[test]
fn an_empty_or_negative_bucket_waits_for_the_rest() {
    let mut sdus = Vec::new();
    let mut channels = [
        channel(1, Some(0), &[100], &mut sdus),
        channel(2, Some(-300), &[100], &mut sdus),
        channel(3, Some(1), &[100], &mut sdus),
    ];
    assert_eq!(given(150, &mut channels, &sdus), [50, 0, 100]);
    assert_eq!(given(230, &mut channels, &sdus), [100, 30, 100]);
}

#[test]
fn channels_of_one_priority_share_the_rest_equally() {
    let mut sdus = Vec::new();
    let mut channels = [
        channel(4, Some(0), &[1_000], &mut sdus),
        channel(4, Some(0), &[30], &mut sdus),
        channel(4, Some(0), &[1_000], &mut sdus),
    ];
    assert_eq!(given(331, &mut channels, &sdus), [151, 30, 150]);
}

#[test]
fn a_bucket_grows_at_its_rate_up_to_its_size_and_is_spent_in_bytes() {
    let growth = |_| Some(Growth { rate: 8_000, most: 800 * NANO });
    let mut buckets = Buckets::new(1);
    buckets.fill(10_000_000, growth);
    assert_eq!(buckets.bytes(0), 80, "8 kB/s for 10 ms");
    buckets.spend(0, 100);
    assert_eq!(buckets.bytes(0), -20);
    buckets.fill(12_500_001, growth);
    assert_eq!(buckets.bytes(0), 1, "above 0 by 8 nB: rounded up");
    buckets.fill(10_000_000_000, growth);
    assert_eq!(buckets.bytes(0), 800, "PBR x BSD");
}

/// The clause read literally: SDU after SDU for the buckets, then byte after byte.
fn oracle(grant: u64, channels: &[Channel], sdus: &[u32]) -> Vec<u64> {
    let mut given = alloc::vec![0_u64; channels.len()];
    let mut left = grant;
    for (i, channel) in channels.iter().enumerate() {
        let mut bucket = channel.bucket.unwrap_or(i64::MAX);
        for sdu in sdus[channel.sdus.start as usize..channel.sdus.end as usize].iter() {
            if bucket <= 0 {
                break;
            }
            for _ in 0..*sdu {
                if left > 0 {
                    given[i] += 1;
                    left -= 1;
                }
            }
            bucket -= i64::from(*sdu);
        }
    }
    for priority in 1..=16 {
        loop {
            let before = left;
            for (i, channel) in channels.iter().enumerate() {
                if channel.priority == priority && given[i] < channel.backlog && left > 0 {
                    given[i] += 1;
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
    }
    given
}

/// 3000 random grants; the oracle takes 0.1 s in a debug build.
#[test]
fn random_grants_are_divided_like_the_oracles() {
    let mut rng = Rng::stream(1, "lcp");
    let mut shared = 0;
    for round in 0..3_000 {
        let (mut sdus, mut channels) = (Vec::new(), Vec::new());
        let mut priority = 1;
        for _ in 0..=rng.below(5) {
            priority += rng.below(3) as u8;
            let own: Vec<u32> = (0..=rng.below(4)).map(|_| 1 + rng.below(200) as u32).collect();
            let bucket = match rng.below(5) {
                0 => None,
                1 => Some(0),
                _ => Some(i64::from(rng.below(600) as u32) - 200),
            };
            channels.push(channel(priority, bucket, &own, &mut sdus));
        }
        let grant = rng.below(1_500);
        let wanted = oracle(grant, &channels, &sdus);
        divide(grant, &mut channels, &sdus);
        let found: Vec<u64> = channels.iter().map(|channel| channel.given).collect();
        assert_eq!(found, wanted, "round {round}: {grant} B among {channels:?}");
        shared += u32::from(wanted.iter().filter(|bytes| **bytes > 0).count() > 1);
    }
    assert!(shared > 1_000, "grants that several channels share: {shared}");
}
