//! CU and DU apart: the requirements of F1-U on the RLC (TS 38.401 section 6.1; TS 38.425).

use super::RlcConfig;
use crate::limiter::LimiterNode;
use justfull_base::ConfigError;
use justfull_base::error::ensure;
use justfull_queue::DisciplineConfig;

/// Checks the bounds of `rlc.f1`, and the settings of `rlc` beside it.
pub(crate) fn check(rlc: &RlcConfig) -> Result<(), ConfigError> {
    rlc.f1.validate().map_err(|e| e.within("rlc.f1"))?;
    if !rlc.f1.is_apart() {
        return Ok(());
    }
    ensure(
        rlc.report_delay.is_zero(),
        "rlc.report_delay",
        &rlc.report_delay,
        "0s with rlc.f1",
        "rlc.f1.delay is the delay of reports too",
    )?;
    let (limiter, in_cu) = (&rlc.limiter, rlc.f1.limiter_at == LimiterNode::Cu);
    ensure(
        if in_cu { limiter.allows_late_reports() } else { !limiter.foresees() },
        "rlc.limiter",
        &limiter.name(),
        if in_cu { "one that uses reports of past slots" } else { "one that foresees nothing" },
        "with rlc.f1 it is apart from the data or from the radio",
    )?;
    check_order(rlc, "rlc.f1")
}

/// Checks that `rlc`, behind the wire of `setting`, keeps the order of SDUs.
pub(crate) fn check_order(rlc: &RlcConfig, setting: &str) -> Result<(), ConfigError> {
    let discipline = &rlc.queue.discipline;
    ensure(
        matches!(discipline, DisciplineConfig::Fifo(_)),
        "rlc.queue.discipline",
        &discipline.name(),
        &alloc::format!("fifo with {setting}"),
        "what the CU has sent to the DU has its number and is sent in that order (TS 38.323 \
         section 5.2.1)",
    )
}
