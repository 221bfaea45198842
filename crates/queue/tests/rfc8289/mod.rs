//! The pseudo-code of RFC 8289, for tests to compare with.

use justfull_queue::aqm::codel::CoDelConfig;
use std::collections::VecDeque;

/// RFC 8289 section 5.6, statement by statement, with its own queue. Times in nanoseconds; 0 stands
/// for "not above".
pub(crate) struct Rfc8289 {
    /// Time of arrival, size and number of each packet.
    pub(crate) queue: VecDeque<(u64, u32, u64)>,
    target: u64,
    interval: u64,
    maxpacket: u64,
    pub(crate) first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    pub(crate) dropping: bool,
    pub(crate) dropped: Vec<u64>,
}

impl Rfc8289 {
    pub(crate) fn new(config: &CoDelConfig) -> Self {
        Self {
            queue: VecDeque::new(),
            target: config.target.as_nanos(),
            interval: config.interval.as_nanos(),
            maxpacket: config.mtu.0,
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            dropped: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.queue.iter().map(|p| u64::from(p.1)).sum()
    }

    fn dodequeue(&mut self, now: u64) -> (Option<u64>, bool) {
        let mut ok_to_drop = false;
        let Some((tstamp, _, id)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        if now - tstamp < self.target || self.bytes() <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(id), ok_to_drop)
    }

    fn control_law(&self, t: u64, count: u32) -> u64 {
        t + (self.interval as f64 / f64::from(count).sqrt()).round() as u64
    }

    pub(crate) fn dequeue(&mut self, now: u64) -> Option<u64> {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.1 {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(r.0);
                self.count += 1;
                r = self.dodequeue(now);
                if r.1 {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.1 {
            self.dropped.extend(r.0);
            r = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1
                && now.wrapping_sub(self.drop_next).cast_signed()
                    < (16 * self.interval).cast_signed()
            {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        r.0
    }
}
