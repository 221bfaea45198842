//! Uplink opportunities of UEs without a stack: at a rate per UE, or by requests and grants.

use super::cell_aqm::{Decision, Received};
use super::{Fate, Uplink, Waiting};
use justfull_base::{BitRate, Duration, Instant};

impl<T: Copy> Uplink<T> {
    /// UE `ue` requests access at `now`; its first packet has `size` bytes.
    pub(super) fn request_access(&mut self, now: Instant, ue: u32, size: u32) {
        self.note(now, ue, false);
        let buffer = &mut self.buffers[ue as usize];
        buffer.armed = true;
        let at = match &self.grants {
            None => now + time_for(self.rate, size),
            Some(g) if g.configured => occasion(now, buffer.offset, g.period),
            Some(g) => {
                buffer.requested = true;
                occasion(now, buffer.offset, g.sr_period) + g.grant_delay
            }
        };
        buffer.due = at;
        self.opportunities.arm(ue, at);
    }

    /// A UE's opportunity: puts its data on the wire, and schedules the next opportunity if data is
    /// left.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        ue: u32,
        ended: &mut dyn FnMut(Instant, &mut T, Fate) -> bool,
    ) {
        let buffer = &mut self.buffers[ue as usize];
        if buffer.paused || now < buffer.due {
            // The UE has left its cell, or has sent a newer request.
            buffer.armed &= !buffer.paused;
            if buffer.armed {
                self.opportunities.arm(ue, buffer.due);
            }
            return;
        }
        self.note(now, ue, true);
        let buffer = &mut self.buffers[ue as usize];
        let mut room = match &self.grants {
            None => u64::from(buffer.queue.front().map_or(0, |first| first.size)),
            Some(g) => g.grant.0,
        };
        while let Some(first) = buffer.queue.front_mut().filter(|_| room > 0) {
            let left = u64::from(first.size - buffer.head_sent);
            let sent = left.min(room);
            room -= sent;
            buffer.bytes -= sent;
            if sent < left {
                buffer.head_sent += sent as u32;
                break;
            }
            let decision = match &mut self.cell_aqm {
                Some(aqm) => {
                    let Waiting { flow, size, ecn, .. } = *first;
                    aqm.received(now, Received { ue, flow, size, ecn })
                }
                None => Decision::Pass,
            };
            buffer.head_sent = 0;
            if decision == Decision::Drop {
                let again = ended(first.entered, &mut first.item, Fate::Lost { flow: first.flow });
                self.counts.dropped += 1;
                self.counts.dropped_bytes += u64::from(first.size);
                let lost = buffer.queue.pop_front().filter(|_| again);
                // The UE sends a lost request again.
                if let Some(lost) = lost {
                    self.counts.entered += 1;
                    buffer.bytes += u64::from(lost.size);
                    buffer.queue.push_back(Waiting { entered: now, ..lost });
                }
                continue;
            }
            if first.entered >= self.warmup {
                self.waits.record(now.since(first.entered));
            }
            ended(first.entered, &mut first.item, Fate::Sent { ce: decision == Decision::Mark });
            match self.zhuge.as_mut().and_then(|zhuge| zhuge.hold(now, first.flow)) {
                None => self.wires.push(now, first.wire, first.size, first.item),
                Some(hold) => self.wires.push_held(now + hold, first.wire, first.size, first.item),
            }
            buffer.queue.pop_front();
        }
        if let Some(aqm) = &mut self.cell_aqm {
            aqm.sent(now, ue, buffer.bytes);
        }
        let after = match (&self.grants, buffer.queue.front()) {
            (_, None) => {
                buffer.armed = false;
                return;
            }
            (None, Some(first)) => time_for(self.rate, first.size),
            (Some(g), Some(_)) if buffer.requested => g.bsr_delay,
            (Some(g), Some(_)) => g.period,
        };
        buffer.requested = false;
        buffer.due = now + after;
        self.opportunities.arm(ue, now + after);
    }
}

/// Transmission time of `size` bytes at `rate`; zero at rate 0, which stands for no limit.
fn time_for(rate: BitRate, size: u32) -> Duration {
    if rate.0 == 0 { Duration::ZERO } else { rate.time_for_ceil(u64::from(size)) }
}

/// The first occasion at or after `now`. Occasions begin at `offset` and are `period` apart.
fn occasion(now: Instant, offset: Duration, period: Duration) -> Instant {
    let since = now.since(Instant::ZERO + offset).as_nanos();
    Instant::ZERO + offset + period.times(since.div_ceil(period.as_nanos()))
}
