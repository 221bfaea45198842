//! A split bearer of dual connectivity: settings of the PDCP entity in the master gNB that sends
//! over the RLC entities of two cells (TS 37.340 section 4.2.2; TS 38.323; TS 38.425).

use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Ratio, choice, params};

choice! {
    /// The rule by which a split bearer's PDCP chooses the leg of a PDU.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Routing {
        /// One leg has all PDUs.
        Primary = "primary",
        /// Each leg has a fixed share of the bytes; with a share of 0.5 they alternate.
        Weighted = "weighted",
        /// The leg over which the PDU is expected to arrive first.
        #[default]
        FlowControl = "flow_control",
    }
}

choice! {
    /// A leg of a split bearer.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Leg {
        /// The RLC entity of the UE's own cell, which is in the same node as PDCP.
        Master = "master",
        /// The RLC entity of the secondary cell, behind Xn.
        #[default]
        Secondary = "secondary",
    }
}

params! {
    /// A split bearer.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SplitConfig {
        /// How PDCP chooses the leg of a PDU.
        routing: Routing = Routing::FlowControl;
        /// The leg of all PDUs with routing primary.
        primary: Leg = Leg::Secondary;
        /// Share of the bytes over the secondary leg with routing weighted.
        weight: Ratio = Ratio(0.5), within(Ratio(0.0), Ratio(1.0));
        /// Time between delivery status reports of the secondary leg; "0s" for none.
        report_period: Duration = Duration::from_millis(5),
            within(Duration::ZERO, Duration::from_secs(1)), "TS 38.425 section 5.4.2";
        /// The secondary leg reports a radio link outage once it has had data for this long without
        /// sending or delivering any; "0s" for never.
        outage: Duration = Duration::from_millis(50),
            within(Duration::ZERO, Duration::from_secs(10)), "TS 38.425 section 5.5.3.23";
        /// Bearers that are split; empty for all of the UE's.
        drbs: alloc::vec::Vec<u8> as "list of bearers" = alloc::vec::Vec::new(),
            stated("each below the UE's number of bearers");
    }
    check Self::check_reports;
}

impl SplitConfig {
    fn check_reports(&self) -> Result<(), ConfigError> {
        let reports = !self.report_period.is_zero();
        ensure(
            reports || self.routing != Routing::FlowControl,
            "report_period",
            &self.report_period,
            "above 0s with routing flow_control",
            "the rule decides by reports",
        )?;
        ensure(
            reports || self.outage.is_zero(),
            "outage",
            &self.outage,
            "0s with a report_period of 0s",
            "a report carries the outage",
        )
    }

    /// True if bearer `drb` is split.
    #[must_use]
    pub fn splits(&self, drb: u8) -> bool {
        self.drbs.is_empty() || self.drbs.contains(&drb)
    }
}
