//! ABC (Accel-Brake Control): marks the share of packets at which senders must brake.
//!
//! Source: Goyal, Agarwal, Netravali, Alizadeh and Balakrishnan, NSDI 2020, equations 1 and 2 and
//! algorithm 1; the authors' release (prateshg/ABC-NSDI2020, b1693cb, `cellular_packet_queue.cc`).
//!
//! Controls the rate of its senders (`abc` among the congestion controls). A packet without a mark
//! says accelerate: two packets may follow it. A packet with CE says brake: none follows. So with
//! the share f of accelerates the queue gets 2 f times its present rate, one round trip later.
//!
//! ```text
//! target rate  tr = eta x mu - (mu / delta) x (x - target)+
//! share        f  = tr / (2 cr), at most 1
//! each packet  tokens += f, at most `tokens`; above 1 the packet takes one and accelerates
//! ```
//!
//! mu is the rate that the MAC offers the bearer, cr the rate of departures in the last `window`,
//! from the first of them on, x the time that the backlog takes at mu. The tokens spread the brakes
//! evenly, without chance.
//!
//! In steady state N senders on a path with the round trip R, in packets, use the share
//! eta + N / (mu R) of the rate without a queue; where this is above 1, the queue is that x at
//! which x = target + delta (eta - 1 + N / (mu (R + x))).
//!
//! Defaults: the release's, with the delta and target of its script.
//!
//! Known weaknesses: senders without ABC in the same queue take the rate (the paper gives them a
//! queue of their own), and ECN senders of RFC 3168 take a brake for congestion. A delta below two
//! thirds of the round trip oscillates (theorem 3.1).
//!
//! Deviations: rates are of bytes, the release's of packets. The release takes eta x cr for
//! eta x mu, and adds 0.49 tokens for each opportunity without a packet, which has the same share
//! in steady state. Packets that leave at one instant see the same cr, of the time before. Before
//! the first rate all packets accelerate.

use super::{Aqm, AqmContext, AqmSettings, Needs, QueueView, Tag, Verdict};
use crate::lane::Lane;
use alloc::collections::VecDeque;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Ecn, Instant, Packet, Ratio, params};

impl AqmSettings for AbcConfig {
    fn needs_rate(&self) -> bool {
        true
    }

    fn needs_room(&self) -> bool {
        false
    }
}

/// Describes ABC.
pub const DOC: MethodDoc = MethodDoc {
    name: "abc",
    kind: "aqm",
    title: "Accel-Brake Control: the share of packets that brake",
    text: "Marks so many packets with CE that the senders reach a target rate: `eta` of the rate \
           that the MAC offers, less the backlog above `target` over `delta`. Only for senders \
           with the control `abc`. The MAC reports the bearer's rate, so it works on the RLC \
           queue only. It draws no random numbers.",
    sources: "Goyal and others, NSDI 2020, equations 1 and 2, algorithm 1; \
              github.com/prateshg/ABC-NSDI2020, b1693cb",
    deviations: "Rates are of bytes. A brake is CE, as in the release. Packets that leave at one \
                 instant see the same rate of departures. The paper's second queue for senders \
                 without ABC is left out.",
    params: AbcConfig::params,
};

params! {
    /// Settings of [`Abc`].
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct AbcConfig: "ABC-NSDI2020, b1693cb" {
        /// Share of the rate that is aimed at.
        eta: Ratio = Ratio(0.98), above(Ratio(0.0)).to(Ratio(1.0));
        /// Time in which the backlog above the target is to leave.
        delta: Duration = Duration::from_millis(133), above(Duration::ZERO),
            "the release's script has 133 ms for a round trip of 100 ms";
        /// Queueing delay up to which the target rate stays.
        target: Duration = Duration::from_millis(50), free(),
            "the release's script";
        /// Time over which the rate of departures is measured.
        window: Duration = Duration::from_millis(20),
            within(Duration::from_millis(1), Duration::from_secs(1));
        /// Most tokens. An accelerate takes one, and only if more than one is there.
        tokens: u32 = 5, within(2, 1000);
    }
}

/// The bytes that left in the last `window`, by instant.
#[derive(Clone, Debug, Default)]
struct Departures {
    past: VecDeque<(Instant, u64)>,
    bytes: u64,
    /// The present instant, and the bytes that have left in it.
    now: Instant,
    present: u64,
}

impl Departures {
    /// Counts a departure of `size` bytes at `now`. Returns the rate before it in bytes a second:
    /// the bytes since the first departure of the last `window`, without those at `now`; 0 without
    /// a departure before `now`.
    fn leave(&mut self, now: Instant, size: u32, window: Duration) -> f64 {
        if now != self.now {
            if self.present > 0 {
                self.past.push_back((self.now, self.present));
                self.bytes += self.present;
            }
            (self.now, self.present) = (now, 0);
            while let Some((at, bytes)) = self.past.front()
                && now.since(*at) > window
            {
                self.bytes -= bytes;
                self.past.pop_front();
            }
        }
        self.present += u64::from(size);
        self.past.front().map_or(0.0, |(at, _)| self.bytes as f64 / now.since(*at).as_secs_f64())
    }
}

/// ABC.
#[derive(Clone, Debug)]
pub struct Abc {
    config: AbcConfig,
    departures: Departures,
    tokens: f64,
}

impl Abc {
    /// ABC with the settings of `config`.
    ///
    /// # Errors
    /// A setting outside its bounds.
    pub fn new(config: &AbcConfig, _: AqmContext) -> Result<Self, ConfigError> {
        config.validate()?;
        let tokens = f64::from(config.tokens);
        Ok(Self { config: *config, departures: Departures::default(), tokens })
    }

    /// Equation 2: the share of accelerates, with departures at the rate `cr`, `backlog` bytes
    /// waiting, and the rate `mu`, both in bytes a second.
    fn share(&self, cr: f64, backlog: u64, mu: f64) -> f64 {
        let AbcConfig { eta, delta, target, .. } = self.config;
        if cr <= 0.0 {
            return 1.0;
        }
        let above = (backlog as f64 - mu * target.as_secs_f64()).max(0.0);
        let rate = eta.0 * mu - above / delta.as_secs_f64();
        (0.5 * rate / cr).clamp(0.0, 1.0)
    }
}

impl Aqm for Abc {
    fn needs(&self) -> Needs {
        Needs { service_rate: true, offers: true, ..Needs::default() }
    }

    fn marks(&self) -> bool {
        true
    }

    fn on_dequeue(
        &mut self,
        now: Instant,
        view: &QueueView,
        _lane: Lane,
        packet: &Packet,
        _tag: Tag,
        _sojourn: Duration,
    ) -> Verdict {
        if packet.ecn == Ecn::NotEct {
            return Verdict::Pass;
        }
        let cr = self.departures.leave(now, packet.size, self.config.window);
        let backlog = view.backlog_bytes + u64::from(packet.size);
        let mu = view.service_rate.map(|rate| rate.0 as f64 / 8.0);
        let share = mu.map_or(1.0, |mu| self.share(cr, backlog, mu));
        self.tokens = (self.tokens + share).min(self.config.tokens.into());
        if packet.ecn == Ecn::Ce {
            return Verdict::Pass;
        }
        if self.tokens > 1.0 {
            self.tokens -= 1.0;
            return Verdict::Pass;
        }
        Verdict::Mark
    }
}

#[cfg(test)]
mod tests;
