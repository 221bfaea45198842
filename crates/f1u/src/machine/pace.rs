//! The part of a grant that opens little by little until the next delivery status.
//!
//! A grant must last until the next status, so with a status each 5 ms the RLC queue gets 5 ms of
//! data at once, and a packet behind it waits for all of it. Opened in steps, the same data enters
//! as the radio takes it.

use justfull_base::{Duration, Instant};

/// See the module's page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    begun: Instant,
    /// The bytes that open in `period`, in steps of `interval`, one of them at once.
    bytes: u32,
    period: Duration,
    interval: Duration,
}

impl Pace {
    /// `bytes` that open during `period` from `now` on.
    pub(super) fn begin(now: Instant, bytes: u32, period: Duration, interval: Duration) -> Self {
        Self { begun: now, bytes, period, interval }
    }

    /// The bytes that are not open yet.
    pub(super) fn closed(&self, now: Instant) -> u32 {
        let Some(steps) = now.since(self.begun).as_nanos().checked_div(self.interval.as_nanos())
        else {
            return 0;
        };
        let open = self.interval.as_nanos().saturating_mul(steps.saturating_add(1));
        let left = self.period.as_nanos().saturating_sub(open);
        let share = u128::from(self.bytes) * u128::from(left);
        let closed = share.checked_div(u128::from(self.period.as_nanos())).unwrap_or(0);
        u32::try_from(closed).unwrap_or(u32::MAX)
    }

    /// The next step; none once all is open.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        (self.closed(now) > 0).then(|| {
            let passed = now.since(self.begun).as_nanos() % self.interval.as_nanos();
            now + Duration::from_nanos(self.interval.as_nanos() - passed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_open_in_equal_steps_of_which_one_at_once_until_the_period_ends() {
        let begun = Instant::ZERO + Duration::from_millis(7);
        let ms = Duration::from_millis;
        let pace = Pace::begin(begun, 1_000, ms(5), ms(1));
        let closed = [0, 1, 2, 3, 4, 9].map(|after| pace.closed(begun + ms(after)));
        assert_eq!(closed, [800, 600, 400, 200, 0, 0]);
        assert_eq!(pace.closed(begun + Duration::from_micros(1_900)), 600);
        assert_eq!(pace.next(begun + Duration::from_micros(1_900)), Some(begun + ms(2)));
        assert_eq!((pace.next(begun), pace.next(begun + ms(4))), (Some(begun + ms(1)), None));
        assert_eq!(Pace::default().closed(begun), 0, "without an interval all is open");
    }
}
