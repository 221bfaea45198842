//! Data from UEs to servers: the fate of its packets on the uplink.

use super::Recorder;
use justfull_base::Instant;

impl Recorder {
    /// True if the data of `flow` goes up.
    #[inline]
    pub fn is_upload(&self, flow: u32) -> bool {
        self.classes[self.singles[flow as usize].class as usize].from == Instant::NEVER
    }

    /// A packet of `flow` is about to enter the queue of its UE.
    #[inline]
    pub fn upload_entered(&mut self, now: Instant, flow: u32) {
        if now >= self.warmup {
            self.class_of(flow).result.entered_packets += 1;
        }
    }

    /// A packet of `flow` that entered this queue at `entered` is dropped, at once if it finds the
    /// queue full.
    pub fn upload_dropped(&mut self, entered: Instant, flow: u32) {
        if entered >= self.warmup {
            self.class_of(flow).result.dropped_packets += 1;
        }
    }

    /// A packet of `flow` that entered this queue at `entered` has been sent whole.
    #[inline]
    pub fn upload_left(&mut self, now: Instant, flow: u32, entered: Instant) {
        let single = &mut self.singles[flow as usize];
        let class = &mut self.classes[single.class as usize];
        if let Some(over_time) = class.followed_mut() {
            over_time.delivered(now.since(entered));
        }
        if entered >= self.warmup {
            class.count(single, entered, now, now);
        }
    }
}
