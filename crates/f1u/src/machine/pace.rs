//! The part of a grant that opens little by little until the next delivery status.
//!
//! A grant must last until the next status, so with a status each 5 ms the RLC queue gets 5 ms of
//! data at once, and a packet behind it waits for all of it. Opened in steps, the same data enters
//! as the radio takes it. If no status comes in time, the steps go on for one more period: the
//! radio of a lost status goes on too.

use justfull_base::{Duration, Instant};

/// Share of an interval that a status may be late before the steps go on.
const LATE: f64 = 0.25;

/// See the module's page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    pub(super) begun: Instant,
    /// The bytes that open in `period`, in steps of `interval`, one of them at once.
    pub(super) bytes: u32,
    pub(super) period: Duration,
    pub(super) interval: Duration,
    /// Time for which the steps go on after the period.
    pub(super) more: Duration,
}

/// The part of a grant that is open.
struct Open {
    /// The bytes of this time are open.
    time: Duration,
    /// The next step, if there is one.
    next: Option<Instant>,
}

impl Pace {
    /// The open part at `now`; none without steps.
    fn open(&self, now: Instant) -> Option<Open> {
        let interval = self.interval.as_nanos();
        let after = |from: Instant| {
            let steps = now.since(from).as_nanos().checked_div(interval)? + 1;
            Some(self.interval.times(steps))
        };
        let in_time = after(self.begun)?;
        if in_time < self.period {
            return Some(Open { time: in_time, next: Some(self.begun + in_time) });
        }
        let late = self.begun + self.period + self.interval.scaled(LATE);
        let more = if now < late { Duration::ZERO } else { after(late)? };
        let next = Some(late + more).filter(|_| more < self.more);
        Some(Open { time: self.period + more.min(self.more), next })
    }

    /// The bytes beyond those of one period that are open; below 0 before its end.
    pub(super) fn beyond(&self, now: Instant) -> i32 {
        let Some(open) = self.open(now) else { return 0 };
        let period = i128::from(self.period.as_nanos());
        let time = i128::from(open.time.as_nanos()) - period;
        let bytes = (i128::from(self.bytes) * time).checked_div(period).unwrap_or(0);
        bytes.clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }

    /// The next step; none once all is open.
    pub(super) fn next(&self, now: Instant) -> Option<Instant> {
        self.open(now).filter(|_| self.bytes > 0)?.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_open_in_equal_steps_of_which_one_at_once_and_go_on_where_no_status_comes() {
        let begun = Instant::ZERO + Duration::from_millis(7);
        let (ms, us) = (Duration::from_millis, Duration::from_micros);
        let pace = Pace { begun, bytes: 1_000, period: ms(5), interval: ms(1), more: ms(5) };
        let beyond = [0, 1, 2, 3, 4, 5].map(|after| pace.beyond(begun + ms(after)));
        assert_eq!(beyond, [-800, -600, -400, -200, 0, 0]);
        assert_eq!(pace.beyond(begun + us(1_900)), -600);
        let late = [5_249, 5_250, 6_250, 9_250, 60_000].map(us);
        assert_eq!(late.map(|after| pace.beyond(begun + after)), [0, 200, 400, 1_000, 1_000]);
        let next = [us(0), us(1_900), ms(4), us(5_250), us(9_250)];
        let expected = [Some(ms(1)), Some(ms(2)), Some(us(5_250)), Some(us(6_250)), None];
        let found = next.map(|after| pace.next(begun + after).map(|at| at.since(begun)));
        assert_eq!(found, expected);
        let once = Pace { more: Duration::ZERO, ..pace };
        assert_eq!((once.beyond(begun + ms(60)), once.next(begun + ms(4))), (0, None));
        assert_eq!(Pace::default().beyond(begun), 0, "without an interval all is open");
    }
}
