//! Logical channel prioritization (TS 38.321 clause 5.4.3.1): how a UE divides a grant among its
//! logical channels.
//!
//! First, in decreasing priority, each channel whose bucket is above 0 gets the bytes of its
//! bucket, up to the end of the SDU in which the bucket ends, since a UE should not segment an SDU
//! that fits. A channel with an infinite prioritised bit rate gets all bytes that it has. Then the
//! channels get the rest in decreasing priority; channels of one priority share it equally.

use alloc::vec::Vec;
use core::ops::Range;

/// A logical channel with data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Channel {
    /// Its bearer.
    pub(super) drb: u8,
    /// 1 to 16; lower goes first.
    pub(super) priority: u8,
    /// Bytes in the bucket, negative after a long SDU; none for an infinite prioritised bit rate.
    pub(super) bucket: Option<i64>,
    /// Its first SDUs with headers, as indexes into the list of all; together at least as long as
    /// the grant.
    pub(super) sdus: Range<u32>,
    /// Bytes of all its SDUs on the air.
    pub(super) backlog: u64,
    /// Bytes that it gets.
    pub(super) given: u64,
}

impl Channel {
    fn unmet(&self) -> u64 {
        self.backlog - self.given
    }

    /// Bytes for the bucket: whole SDUs until the bucket is empty.
    fn for_bucket(&self, sdus: &[u32]) -> u64 {
        let Some(bucket) = self.bucket else { return self.backlog };
        let mut bytes = 0;
        for &sdu in &sdus[self.sdus.start as usize..self.sdus.end as usize] {
            if bytes >= bucket {
                break;
            }
            bytes += i64::from(sdu);
        }
        u64::try_from(bytes).unwrap_or(0).min(self.backlog)
    }
}

/// Divides `grant` bytes among `channels`, which are in decreasing priority and have the SDUs
/// `sdus`.
pub(super) fn divide(grant: u64, channels: &mut [Channel], sdus: &[u32]) {
    let mut left = grant;
    for channel in channels.iter_mut() {
        channel.given = channel.for_bucket(sdus).min(left);
        left -= channel.given;
    }
    let mut rest = channels;
    while left > 0 && !rest.is_empty() {
        let priority = rest[0].priority;
        let equal = rest.partition_point(|channel| channel.priority == priority);
        let (now, after) = rest.split_at_mut(equal);
        left = share(left, now);
        rest = after;
    }
}

/// Shares `left` bytes equally among `channels` of one priority; returns the bytes that no channel
/// needs.
fn share(mut left: u64, channels: &mut [Channel]) -> u64 {
    loop {
        let waiting = channels.iter().filter(|channel| channel.unmet() > 0).count() as u64;
        if waiting == 0 || left == 0 {
            return left;
        }
        let least = channels.iter().map(Channel::unmet).filter(|unmet| *unmet > 0).min();
        let part = (left / waiting).min(least.unwrap_or(0)).max(1);
        for channel in channels.iter_mut().filter(|channel| channel.unmet() > 0) {
            let more = part.min(left);
            channel.given += more;
            left -= more;
        }
    }
}

/// The buckets of a UE's logical channels.
#[derive(Clone, Debug, Default)]
pub(super) struct Buckets {
    /// In bytes x 10^9, so that no fraction of a byte is lost.
    nano: Vec<i64>,
    /// Instant up to which they are filled, in ns.
    filled: u64,
}

/// Bytes in a bucket's unit.
const NANO: i64 = 1_000_000_000;

/// The growth of a bucket: the prioritised bit rate in bytes per second, and the greatest size in
/// bytes x 10^9.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) rate: i64,
    pub(super) most: i64,
}

impl Buckets {
    pub(super) fn new(channels: usize) -> Self {
        Self { nano: alloc::vec![0; channels], filled: 0 }
    }

    /// Grows all buckets to the instant `now` in ns, each by its `growth`; none: the bucket is
    /// infinite.
    pub(super) fn fill(&mut self, now: u64, growth: impl Fn(usize) -> Option<Growth>) {
        let since = i64::try_from(now - self.filled).unwrap_or(i64::MAX);
        self.filled = now;
        for (i, bucket) in self.nano.iter_mut().enumerate() {
            let Some(Growth { rate, most }) = growth(i) else { continue };
            *bucket = bucket.saturating_add(rate.saturating_mul(since)).min(most);
        }
    }

    /// Whole bytes in bucket `i`, rounded up, so that a bucket above 0 is not 0.
    pub(super) fn bytes(&self, i: usize) -> i64 {
        let nano = self.nano[i];
        nano.div_euclid(NANO) + i64::from(nano.rem_euclid(NANO) > 0)
    }

    /// Channel `i` sends `bytes`.
    pub(super) fn spend(&mut self, i: usize, bytes: u32) {
        self.nano[i] = self.nano[i].saturating_sub(i64::from(bytes) * NANO);
    }
}

#[cfg(test)]
mod tests;
