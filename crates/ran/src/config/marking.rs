//! The node that marks L4S packets for the queue of the RLC.

use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, choice, params};
use justfull_queue::QueueConfig;

choice! {
    /// The node that sets the marks of the RLC's AQM on L4S packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum MarkingPlace {
        /// The node with the RLC, at once.
        #[default]
        Du = "du",
        /// The CU, on packets that leave SDAP, before PDCP numbers and ciphers them.
        Cu = "cu",
        /// The UPF, on packets that it sends to the RAN.
        Upf = "upf",
    }
}

params! {
    /// Marks on L4S packets for the queue of the RLC, and the reports that bring their share to
    /// another node.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MarkingConfig: "TS 38.415, UL PDU SESSION INFORMATION" {
        /// The node that sets the marks.
        place: MarkingPlace = MarkingPlace::Du;
        /// Time between two reports of the share of L4S packets to be marked.
        report_period: Duration = Duration::ZERO,
            stated("above 0s to 1s with place cu or upf; 0s with du");
        /// Time from a report to its first effect.
        report_delay: Duration = Duration::ZERO, stated("0s to 1s; 0s with place du");
    }
}

impl MarkingConfig {
    /// True if another node than the RLC's sets the marks.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.place != MarkingPlace::Du
    }
}

impl MarkingConfig {
    /// Checks the settings, and what the `queue` of the RLC must have beside them; on an `uplink`
    /// the UE marks.
    pub(crate) fn check(&self, queue: &QueueConfig, uplink: bool) -> Result<(), ConfigError> {
        let Self { place, report_period, report_delay } = self;
        let (elsewhere, name) = (self.is_elsewhere(), place.name());
        let most = Duration::from_secs(1);
        let with = |allowed: &str| alloc::format!("{allowed} with rlc.marking.place {name}");
        ensure(
            report_period.is_zero() != elsewhere && *report_period <= most,
            "rlc.marking.report_period",
            report_period,
            &with(if elsewhere { "above 0s, at most 1s," } else { "0s" }),
            "another node marks by the reports of the RAN (TS 38.415)",
        )?;
        ensure(
            *report_delay <= if elsewhere { most } else { Duration::ZERO },
            "rlc.marking.report_delay",
            report_delay,
            &with(if elsewhere { "0s to 1s" } else { "0s" }),
            "the way of a report",
        )?;
        ensure(
            !elsewhere || queue.marks_l4s(),
            "rlc.queue.aqm.kind",
            &queue.aqm.name(),
            &with("an AQM that marks L4S (dualpi2, or l4s_threshold of codel or fq_codel)"),
            "without its marks a report has no share",
        )?;
        ensure(
            !(uplink && elsewhere),
            "rlc.marking.place",
            &name,
            "du on an uplink",
            "the UE has all layers of the uplink",
        )
    }
}
