//! The clairvoyant policy: it gets the time and the capacity of the next pull, but not the coming
//! arrivals.
//!
//! Source: this project; a reference beside the bound, not a method for deployment. At each SDAP
//! poll it admits only the amount that the remaining polls could no longer bring in time:
//! `capacity - polls_left x packets_per_poll - backlog`, with the capacity of the next pull and of
//! all pulls after it before the next poll. So bulk packets enter at the last moment, an urgent
//! packet that arrives before the last poll overtakes them, and the radio never starves while SDAP
//! has enough.
//!
//! Known weaknesses: it needs a fixed grant schedule (one bearer in the cell). With grants in bytes
//! it counts each packet of a poll at the largest size. It ignores pulls after the next poll, so a
//! poll that moves few packets does not prepare for large ones. Deviations from the source: none.

use super::{CapacityUnit, GrantContext, Limiter, LimiterSettings, RlcView};
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, Instant, SlotForecast, SlotReport, params};

params! {
    /// No settings.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ClairvoyantConfig {}
}

impl LimiterSettings for ClairvoyantConfig {
    fn foresees(&self) -> bool {
        true
    }

    /// False because it needs each pull at once.
    fn allows_late_reports(&self) -> bool {
        false
    }
}

/// Description for users.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "clairvoyant",
    kind: "limiter",
    title: "Clairvoyant: uses the coming grants, not the arrivals (a yardstick)",
    text: "Passes packets to the RLC at the last poll before the next pull, exactly as many as the \
           pull takes. Only for cells with one bearer, whose grant schedule is fixed.",
    sources: "this project",
    deviations: "none",
    params: ClairvoyantConfig::params,
};

/// The clairvoyant limiter of a bearer.
#[derive(Clone, Debug)]
pub struct Clairvoyant {
    context: GrantContext,
    wanted: u64,
}

impl Clairvoyant {
    /// A clairvoyant limiter for the bearer in `context`.
    ///
    /// # Errors
    /// None.
    pub fn new(_: &ClairvoyantConfig, context: &GrantContext) -> Result<Self, ConfigError> {
        Ok(Self { context: *context, wanted: 0 })
    }
}

/// The amount that must be below this layer after this poll so that the remaining polls can bring
/// the rest.
pub(crate) fn wanted(context: &GrantContext, forecast: &SlotForecast) -> u64 {
    let later =
        context.amount(u64::from(forecast.polls_left) * u64::from(forecast.packets_per_poll));
    forecast.capacity.saturating_sub(later)
}

impl Limiter for Clairvoyant {
    fn unit(&self) -> CapacityUnit {
        self.context.unit
    }
    fn room(&mut self, _now: Instant, queue: &RlcView) -> u64 {
        self.wanted.saturating_sub(queue.backlog(self.context.unit))
    }
    fn overdraws(&self) -> bool {
        true
    }
    fn on_admitted(&mut self, _now: Instant, _amount: u64, _queue: &RlcView) {}
    fn on_departed(&mut self, _now: Instant, _sojourn: Duration) {}
    fn on_slot(&mut self, _report: &SlotReport) {}
    fn wants_reports(&self) -> bool {
        false
    }
    fn paces(&self) -> bool {
        true
    }
    fn wants_forecast(&self) -> bool {
        true
    }
    fn on_forecast(&mut self, forecast: &SlotForecast) {
        self.wanted = wanted(&self.context, forecast);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_packets_over_polls_of_ten_start_at_the_last_but_one() {
        let context = GrantContext {
            unit: CapacityUnit::Packets,
            slot: Duration::from_millis(10),
            mtu: 1500,
        };
        let mut l = Clairvoyant::new(&ClairvoyantConfig {}, &context).expect("no settings");
        let rooms = [3, 2, 1, 0].map(|polls_left| {
            let next_pull = Instant::from_nanos(1);
            l.on_forecast(&SlotForecast {
                next_pull,
                capacity: 15,
                polls_left,
                packets_per_poll: 10,
            });
            l.room(Instant::ZERO, &RlcView { packets: u64::from(polls_left == 0) * 5, bytes: 0 })
        });
        assert_eq!(rooms, [0, 0, 5, 10]);
    }
}
