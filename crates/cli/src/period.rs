//! `--report-period`.

use crate::failure::Failure;
use justfull_base::Duration;

/// Shortest time between two reports: about one slot.
const LEAST_PERIOD: Duration = Duration::from_millis(1);

/// Refuses a period shorter than a slot, or longer than the run.
pub(crate) fn check_period(found: Duration, duration: Duration) -> Result<(), Failure> {
    if (LEAST_PERIOD..=duration).contains(&found) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "--report-period: found {found}, allowed is {LEAST_PERIOD} to {duration}, the duration"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_without_a_slot_and_an_endless_period_are_refused() {
        let duration = Duration::from_secs(60);
        for found in [Duration::from_millis(1), Duration::from_millis(10), duration] {
            assert!(check_period(found, duration).is_ok(), "{found}");
        }
        for found in [Duration::ZERO, Duration::from_nanos(1), Duration::from_secs(3_600)] {
            let Err(Failure::Usage(why)) = check_period(found, duration) else {
                panic!("{found} is refused")
            };
            assert!(why.contains(&format!("found {found}, allowed is 1ms to 60s")), "{why}");
        }
    }
}
