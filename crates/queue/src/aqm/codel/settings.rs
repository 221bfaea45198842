//! CoDel's settings.

use crate::aqm::{AqmSettings, QueueView, becomes_mark};
use justfull_base::{Bytes, Duration, Ecn, Packet, choice, params};

/// A packet with fewer packets of its size behind it is not dropped for its `deadline`: a sender
/// finds such a loss by a timeout only (RFC 5681 section 3.2: three duplicate ACKs).
const FEW: u64 = 4;

choice! {
    /// Whose algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Variant {
        /// RFC 8289.
        #[default]
        Rfc8289 = "rfc8289",
        /// T20's released program.
        T20Released = "t20_released",
    }
}

params! {
    /// Settings of [`CoDel`](super::CoDel).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CoDelConfig {
        /// Sojourn time below which nothing is signalled.
        target: Duration = Duration::from_millis(5),
            above(Duration::ZERO).and("at most the interval", |c: &Self| {
                // An interval of 0 is named itself.
                c.target <= c.interval || c.interval.is_zero()
            }),
            "RFC 8289 section 4.3: 5 to 10 % of the interval";
        /// How long the sojourn time must stay above the target before the first signal; about
        /// one RTT.
        interval: Duration = Duration::from_millis(100),
            within(Duration::from_micros(1), Duration::from_secs(3600)),
            "RFC 8289 section 4.2: the order of an RTT";
        /// Mark packets that are ECN-capable in place of dropping them.
        ecn: bool = true,
            rule("true, false; false with t20_released", |c| {
                !c.ecn || c.variant == Variant::Rfc8289
            }), "T20's program never marks";
        /// No signal while at most this much is left behind the packet in its lane.
        mtu: Bytes = Bytes(1500), stated("any; without effect with t20_released");
        /// Mark every ECN-capable packet that waited longer than this, whatever CoDel says.
        ce_threshold: Duration = Duration::ZERO,
            rule("any, 0s for off; 0s without ecn", |c| c.ecn || c.ce_threshold.is_zero()),
            "RFC 8290 section 5.2.7: the threshold only marks";
        /// Mark every packet with ECT(1) that waited longer than this, and mark it also where CoDel
        /// signals, in place of a drop; 0s for off. For lanes that L4S flows do not share.
        l4s_threshold: Duration = Duration::ZERO,
            rule("any, 0s for off; 0s without ecn", |c| c.ecn || c.l4s_threshold.is_zero()),
            "RFC 9331 section 5.2: an L4S sender expects immediate marks";
        /// A packet is below the target while no more left its lane since it came than the radio
        /// could send in this time at its greatest rate of late; 0s for off.
        reserve: Duration = Duration::ZERO,
            rule("0s for off, else the target to 1s; 0s with t20_released", |c| {
                c.reserve.is_zero()
                    || (c.target..=Duration::from_secs(1)).contains(&c.reserve)
                        && c.variant == Variant::Rfc8289
            }), "a reserve below the target has no effect";
        /// With `reserve`: a packet that has waited this long is above the target all the same.
        ceiling: Duration = Duration::from_millis(60),
            rule("at least reserve", |c| c.ceiling >= c.reserve),
            "at the greatest rate the reserve waits for as long as it says";
        /// With `reserve`: time in which a greatest rate that is not reached again falls to 1/e.
        memory: Duration = Duration::from_secs(30),
            within(Duration::from_millis(100), Duration::from_secs(3600)),
            "CUBIC grows back to its last window in seconds (RFC 9438 section 4.2)";
        /// Drop a packet that has waited this long while more than four of its size are behind it,
        /// whatever CoDel says; 0s for off.
        deadline: Duration = Duration::ZERO,
            rule("0s for off, else above the target; 0s with t20_released", |c| {
                c.deadline.is_zero() || c.deadline > c.target && c.variant == Variant::Rfc8289
            }), "below the target nothing is too late";
        /// Time over which the queue's rate is averaged: while it is lower, all of CoDel's times
        /// but `ce_threshold` pass as much more slowly; 0s for off.
        dip: Duration = Duration::ZERO,
            rule("0s for off, else 100ms to 1h; 0s with t20_released", |c| {
                let bounds = Duration::from_millis(100)..=Duration::from_secs(3600);
                c.dip.is_zero() || bounds.contains(&c.dip) && c.variant == Variant::Rfc8289
            }), "a rate is measured over up to 100 ms";
        /// A lane drops at most one packet per this many packets that it passes; 0 for no bound.
        spacing: u32 as "packets" = 0,
            rule("0 to 1000; 0 with t20_released", |c| {
                c.spacing == 0 || c.spacing <= 1000 && c.variant == Variant::Rfc8289
            }), "a CoDel that drops one packet in a thousand controls nothing";
        /// Greatest reserve of a lane: half of its sender's round trip as measured at the lane, if
        /// that is more than `reserve`; 0s for off.
        reach: Duration = Duration::ZERO,
            rule("0s for off, else reserve to 1s with a reserve", |c| {
                c.reach.is_zero()
                    || !c.reserve.is_zero()
                        && (c.reserve..=Duration::from_secs(1)).contains(&c.reach)
            }), "only a reserve grows";
        /// Pass packets that are smaller than the largest of the last dozens of their lane.
        spare_small: bool = false;
        /// Lanes of the lowest numbers that are never signalled.
        spared: u16 as "lanes" = 0;
        /// The RFC's algorithm, or the algorithm of T20's released program.
        variant: Variant = Variant::Rfc8289;
    }
}

impl AqmSettings for CoDelConfig {
    fn needs_room(&self) -> bool {
        false
    }
}

impl CoDelConfig {
    /// The settings of a lane with this `reserve`: its ceiling grows in proportion, and its
    /// deadline, if it has one, by the time that the reserve grows.
    pub(super) fn reaching(&self, reserve: Duration) -> Self {
        if reserve == self.reserve {
            return *self;
        }
        let longer = reserve - self.reserve;
        let deadline =
            if self.deadline.is_zero() { Duration::ZERO } else { self.deadline + longer };
        let factor = reserve.as_secs_f64() / self.reserve.as_secs_f64();
        Self { reserve, ceiling: self.ceiling.scaled(factor), deadline, ..*self }
    }

    /// True when `packet` has the codepoint of L4S and is treated so.
    pub(super) fn is_l4s(&self, packet: &Packet) -> bool {
        packet.ecn == Ecn::Ect1 && !self.l4s_threshold.is_zero()
    }

    /// True when a signal on `packet` is a mark.
    pub(super) fn marks(&self, view: &QueueView, packet: &Packet) -> bool {
        becomes_mark(self.ecn, view.ect1, packet) || self.is_l4s(packet)
    }

    /// True when `packet` has waited beyond one of the thresholds.
    pub(super) fn is_beyond(&self, packet: &Packet, sojourn: Duration) -> bool {
        let beyond = |threshold: Duration| !threshold.is_zero() && sojourn > threshold;
        beyond(self.ce_threshold) && packet.ecn.is_capable()
            || self.is_l4s(packet) && beyond(self.l4s_threshold)
    }

    /// True when `packet`, with `bytes_behind` it, is dropped once it has waited for its deadline.
    pub(super) const fn has_deadline(&self, packet: &Packet, bytes_behind: u64) -> bool {
        !self.deadline.is_zero() && bytes_behind > FEW * packet.size as u64
    }
}
