//! The clock of a live run: absolute sleeps on `CLOCK_MONOTONIC`, with real-time priority if the
//! kernel allows it.
//!
//! Sleeping until an absolute instant (clock_nanosleep(2), `TIMER_ABSTIME`) accumulates no error.
//! With `SCHED_FIFO` the thread runs as soon as its timer fires, whatever else is runnable. Without
//! the privilege (`CAP_SYS_NICE` or `RLIMIT_RTPRIO`) the timer slack of 50 us is removed (prctl(2),
//! `PR_SET_TIMERSLACK`), and other load makes wake-ups late by milliseconds. Processes that the
//! thread starts do not inherit the priority (`SCHED_RESET_ON_FORK`).
//!
//! `CLOCK_MONOTONIC` continues while a process is stopped, so a stop appears as one very late
//! wake-up.

use crate::SystemError;
use justfull_base::{Duration, Instant};
use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use serde::Serialize;

/// Priority of the stack's thread among `SCHED_FIFO` threads: above the lowest, below the kernel's
/// interrupt threads (50).
pub const PRIORITY: i32 = 10;

/// The time of a run, and how to wait.
pub trait Clock {
    /// Now.
    fn now(&mut self) -> Instant;

    /// Waits until `due` or a signal, and returns the time then.
    fn sleep_until(&mut self, due: Instant) -> Instant;
}

/// How the thread is scheduled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// `SCHED_FIFO`.
    RealTime,
    /// The normal policy, and why.
    Normal(String),
}

/// The kernel's monotonic clock, counted from the creation of this value.
#[derive(Clone, Copy, Debug)]
pub struct SlotClock {
    /// `CLOCK_MONOTONIC` at the start of the run, in ns.
    start: u64,
}

impl SlotClock {
    /// A run that starts now.
    ///
    /// # Errors
    /// The kernel has no monotonic clock.
    pub fn start() -> Result<Self, SystemError> {
        let now = monotonic().map_err(|e| SystemError::new("read CLOCK_MONOTONIC", e))?;
        Ok(Self { start: now })
    }

    /// The clock of another process of this machine, by its [`SlotClock::origin`].
    #[must_use]
    pub const fn at(origin: u64) -> Self {
        Self { start: origin }
    }

    /// Its start, in nanoseconds of `CLOCK_MONOTONIC`.
    #[must_use]
    pub const fn origin(&self) -> u64 {
        self.start
    }
}

fn monotonic() -> nix::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(now.tv_sec().cast_unsigned() * 1_000_000_000 + now.tv_nsec().cast_unsigned())
}

impl Clock for SlotClock {
    #[inline]
    fn now(&mut self) -> Instant {
        // It could be read at the start; it does not fail later.
        Instant::from_nanos(monotonic().map_or(0, |ns| ns.saturating_sub(self.start)))
    }

    fn sleep_until(&mut self, due: Instant) -> Instant {
        let at = self.start.saturating_add(due.as_nanos());
        let (seconds, nanos) = (at / 1_000_000_000, at % 1_000_000_000);
        let request = TimeSpec::new(seconds.cast_signed(), nanos.cast_signed());
        // A signal ends the sleep early, and the caller handles it. There is no other failure.
        let _woken =
            clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &request);
        self.now()
    }
}

/// The machine's clock, for work that does not depend on slots: applications, deadlines, outages.
#[expect(clippy::disallowed_methods, reason = "applications live on the machine's clock")]
#[must_use]
pub fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Time since 1970-01-01 UTC, for output to other programs.
#[expect(clippy::disallowed_methods, reason = "other programs live on the wall clock")]
#[must_use]
pub fn unix_time() -> std::time::Duration {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default()
}

/// Gives this thread real-time priority `level`, or else the finest timers available without it.
pub fn raise_priority(level: i32) -> Priority {
    let parameters = libc::sched_param { sched_priority: level };
    // SAFETY: `parameters` outlives the call, which reads it; 0 names the calling thread.
    let answer = unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            &raw const parameters,
        )
    };
    let Err(error) = Errno::result(answer) else { return Priority::RealTime };
    let refused = format!("SCHED_FIFO needs CAP_SYS_NICE or RLIMIT_RTPRIO: {}", error.desc());
    match prctl::set_timerslack(1) {
        Ok(()) => Priority::Normal(refused),
        Err(slack) => Priority::Normal(format!("{refused}; timer slack stays: {}", slack.desc())),
    }
}

/// Time between the wake-ups of a run with slots of `slot`: the smallest multiple that is at least
/// `least`.
#[must_use]
pub fn wake_period(slot: Duration, least: Duration) -> Duration {
    let slots = least.as_nanos().div_ceil(slot.as_nanos().max(1)).max(1);
    slot.times(slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_wakes_at_or_after_the_instant_that_is_due() {
        let mut clock = SlotClock::start().expect("Linux has one");
        let due = clock.now() + Duration::from_millis(2);
        let woke = clock.sleep_until(due);
        assert!(woke >= due && clock.now() >= woke, "{woke:?} {due:?}");
        assert!(clock.sleep_until(due) >= woke, "an instant that has passed is no wait");
    }

    #[test]
    fn short_slots_are_handled_in_whole_batches() {
        let us = Duration::from_micros;
        for (slot, period) in
            [(125, 500), (250, 500), (500, 500), (400, 800), (1_000, 1_000), (10_000, 10_000)]
        {
            assert_eq!(wake_period(us(slot), us(500)), us(period), "slots of {slot} us");
        }
    }
}
