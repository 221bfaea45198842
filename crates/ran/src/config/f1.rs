//! CU and DU apart: settings of F1-U between them (TS 38.401 section 6.1; TS 38.425).

use super::RlcConfig;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, choice, params};
use justfull_queue::DisciplineConfig;

choice! {
    /// The node that has the limiters.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum LimiterNode {
        /// The CU: a limiter gets what slots left behind with the reports of the DU.
        #[default]
        Cu = "cu",
        /// The DU: a limiter gets each slot at once, and reports carry its room as the desired
        /// buffer size.
        Du = "du",
    }
}

params! {
    /// F1-U between a CU with SDAP and PDCP and a DU with RLC and MAC.
    #[derive(Clone, Debug, PartialEq)]
    pub struct F1Config {
        /// One-way delay of user data in both directions, and of reports.
        delay: Duration = Duration::ZERO, within(Duration::ZERO, Duration::from_secs(1));
        /// Time between delivery status reports; "0s" for one of each slot.
        report_period: Duration = Duration::ZERO,
            within(Duration::ZERO, Duration::from_secs(1)), "TS 38.425 section 5.4.2";
        /// The node that has the limiter.
        limiter_at: LimiterNode = LimiterNode::Cu;
    }
}

impl F1Config {
    /// True if something is late between CU and DU.
    #[must_use]
    pub const fn is_apart(&self) -> bool {
        !(self.delay.is_zero() && self.report_period.is_zero())
    }

    /// Checks the bounds, and what `rlc`, of which this is a part, may have beside it.
    pub(crate) fn check_in(&self, rlc: &RlcConfig) -> Result<(), ConfigError> {
        self.validate().map_err(|e| e.within("rlc.f1"))?;
        if !self.is_apart() {
            return Ok(());
        }
        ensure(
            rlc.report_delay.is_zero(),
            "rlc.report_delay",
            &rlc.report_delay,
            "0s with rlc.f1",
            "rlc.f1.delay is the delay of reports too",
        )?;
        let (limiter, in_cu) = (&rlc.limiter, self.limiter_at == LimiterNode::Cu);
        ensure(
            if in_cu { limiter.learns() } else { !limiter.foresees() },
            "rlc.limiter",
            &limiter.name(),
            if in_cu { "one that learns from reports of slots" } else { "one that learns" },
            "with rlc.f1 it is apart from the data or from the radio",
        )?;
        check_order(rlc, "rlc.f1")
    }
}

/// Checks that `rlc`, which is behind the wire that `setting` describes, keeps the order of SDUs.
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
