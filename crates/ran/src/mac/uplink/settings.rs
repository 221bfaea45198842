//! Settings of the uplink's MAC, and the related settings of the cell.

use super::prioritisation::Growth;
use crate::carrier::CarrierConfig;
use crate::config::{CellContext, PollConfig};
use crate::harq::HarqConfig;
use crate::mac::MacSettings;
use crate::mac::blocks::{self, Blocks};
use crate::rb_scheduler::RbSchedulerConfig;
use alloc::string::String;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::{BitRate, Bytes, ConfigError, Duration, params, table};

params! {
    /// Scheduling requests.
    #[derive(Clone, Debug, PartialEq)]
    pub struct SrConfig: "TS 38.321 clause 5.4.4, TS 38.331 SchedulingRequestResourceConfig" {
        /// Time between a UE's occasions to send a scheduling request, in whole slots.
        period: Duration = Duration::from_millis(20),
            within(Duration::from_micros(125), Duration::from_secs(10));
        /// The first occasion. Left out: random for each UE.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        offset: Option<Duration> = None,
            rule("below period", |c| c.offset.unwrap_or_default() < c.period);
        /// Least time from a request to its repetition; with 0s a request is repeated at each
        /// occasion.
        prohibit: Duration = Duration::ZERO, at_most(Duration::from_millis(128)),
            "TS 38.331 sr-ProhibitTimer";
    }
}

params! {
    /// Buffer status reports.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BsrConfig: "TS 38.321 clause 5.4.5, TS 38.331 BSR-Config" {
        /// Time from a report to the next periodic report; 0s: no periodic reports.
        periodic: Duration = Duration::from_millis(10), at_most(Duration::from_millis(2_560));
        /// Time without a grant after which a UE with data reports again.
        retransmission: Duration = Duration::from_millis(80),
            within(Duration::from_millis(10), Duration::from_millis(10_240));
    }
}

params! {
    /// A configured grant: each UE has a PUSCH in each period without requests. The UEs are
    /// staggered over the period.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ConfiguredGrantConfig: "TS 38.321 clause 5.8.2" {
        /// Time between a UE's PUSCHs, in whole slots.
        period: Duration = Duration::from_millis(10),
            within(Duration::from_micros(125), Duration::from_secs(10));
        /// Resource blocks of each PUSCH. They stay reserved if the UE has no data.
        blocks: u16 as "resource blocks" = 4, within(1, 275), "a grant carries something";
    }
}

table! {
    /// A logical channel of each UE, for the bearer with the same index.
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    #[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
    pub struct LogicalChannelConfig: "TS 38.331 LogicalChannelConfig" {
        /// Priority: channels with a lower value are served first.
        priority: u8 where (within(1, 16));
        /// Logical channel group of its buffer status reports.
        #[cfg_attr(feature = "serde", serde(default))]
        group: u8 = 0, within(0, 7);
        /// Prioritised bit rate. Left out: infinite.
        #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
        pbr: Option<BitRate> = None,
            rule("0bit/s to 524288kbit/s", |c| {
                c.pbr.is_none_or(|rate| rate.0 <= 524_288_000)
            });
        /// Bucket size duration: the bucket holds at most the bytes that the prioritised bit rate
        /// adds in this time.
        #[cfg_attr(feature = "serde", serde(default = "bucket"))]
        bucket: Duration = bucket(), within(Duration::from_millis(5), Duration::from_secs(1));
    }
}

const fn bucket() -> Duration {
    Duration::from_millis(100)
}

impl LogicalChannelConfig {
    /// A channel of `priority` with an infinite prioritised bit rate.
    #[must_use]
    pub const fn of(priority: u8) -> Self {
        Self { priority, group: 0, pbr: None, bucket: bucket() }
    }

    /// The growth of its bucket; none if the rate is infinite.
    pub(super) fn growth(&self) -> Option<Growth> {
        let rate = i64::try_from(self.pbr?.0 / 8).unwrap_or(i64::MAX);
        let size = i64::try_from(self.bucket.as_nanos()).unwrap_or(i64::MAX);
        Some(Growth { rate, most: rate.saturating_mul(size) })
    }
}

params! {
    /// Settings of the uplink's MAC.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UplinkMacConfig {
        /// The slots: 1ms with an LTE carrier, 1ms to 125us with an NR carrier.
        slot: PollConfig = PollConfig::every(Duration::from_millis(1));
        /// The carrier. The slots U of its pattern carry the uplink.
        carrier: CarrierConfig = CarrierConfig::default();
        /// The scheduler of resource blocks. It uses the reported buffer levels.
        scheduler: RbSchedulerConfig = RbSchedulerConfig::default();
        /// Transport blocks that are sent again.
        harq: HarqConfig = HarqConfig::default();
        /// Time from a STATUS PDU of the base station to the UE's RLC (AM).
        status_delay: Duration = Duration::from_millis(8);
        /// Scheduling requests.
        sr: SrConfig = SrConfig::default();
        /// Buffer status reports.
        bsr: BsrConfig = BsrConfig::default();
        /// Slots from the reception of a PUSCH or a scheduling request until the scheduler uses it.
        decoding: u8 as "slots" = 2, within(0, 64), "the base station's time";
        /// Slots from a grant to its PUSCH.
        k2: u8 as "slots" = 4, within(0, 32), "TS 38.214 clause 6.1.2.1";
        /// Bytes granted for a scheduling request.
        sr_grant: Bytes = Bytes(512), within(Bytes(8), Bytes(65_535)),
            "a report and some data must fit";
        /// Power headroom with one resource block, in dB: it bounds the resource blocks that a UE
        /// can fill. Left out: a UE can fill all blocks.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        power_headroom: Option<f64> as "dB" = None, rule("0 to 40", |c| {
            c.power_headroom.is_none_or(|db| (0.0..=40.0).contains(&db))
        }), "TS 38.213 clause 7.1.1";
        /// A logical channel for each bearer, in order. Left out with one bearer: a channel of
        /// priority 1.
        logical_channel: Vec<LogicalChannelConfig> as "list of tables" = Vec::new(),
            stated("one for each bearer");
        /// Configured grants: a PUSCH of each UE in each period without requests. Left out: none.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
        configured: Option<ConfiguredGrantConfig> = None;
    }
}

/// Description.
pub(crate) const DOC: MethodDoc = MethodDoc {
    name: "uplink",
    kind: "MAC",
    title: "the uplink: scheduling requests, buffer status reports, grants",
    text: "The MAC of `uplink.stack`. New data triggers a buffer status report and, without a \
           grant, a scheduling request at the UE's next occasion. The scheduler uses the reported \
           levels less its later grants. A PUSCH is in the first slot of the uplink at least \
           `decoding` + `k2` slots after its request or report. The UE divides the grant among its \
           logical channels by priority, prioritised bit rate and bucket.",
    sources: "TS 38.321 clauses 5.4.3.1, 5.4.4, 5.4.5, 5.8.2, 6.1.3.1; TS 38.214 clause 6.1.2.1; \
              the defaults of sr and bsr are OCUDU's",
    deviations: "no grant is lost; no random access, no limit of requests, no control plane; the \
                 headroom is a setting, and UEs do not report it",
    params: UplinkMacConfig::params,
};

/// Descriptions of the parts of an uplink's MAC.
pub const UPLINK_DOCS: [&MethodDoc; 4] = [&SR, &BSR, &CHANNEL, &CONFIGURED];

const SR: MethodDoc = MethodDoc {
    name: "uplink.sr",
    kind: "MAC",
    title: "scheduling requests",
    text: "A pending request is sent in the first slot of the uplink at or after an occasion.",
    sources: "TS 38.321 clause 5.4.4; the default is OCUDU's",
    deviations: "no request is lost; no limit of requests",
    params: SrConfig::params,
};

const BSR: MethodDoc = MethodDoc {
    name: "uplink.bsr",
    kind: "MAC",
    title: "buffer status reports",
    text: "A report is short if one group has data and long if several have. Padding carries a \
           report if it fits. The scheduler takes a level as its upper end.",
    sources: "TS 38.321 clauses 5.4.5, 6.1.3.1; the defaults are OCUDU's",
    deviations: "a truncated report has one group",
    params: BsrConfig::params,
};

const CHANNEL: MethodDoc = MethodDoc {
    name: "uplink.logical_channel",
    kind: "MAC",
    title: "logical channels of a UE",
    text: "A grant fills the buckets in decreasing priority, then gives the rest in \
           decreasing priority; channels of one priority share it.",
    sources: "TS 38.321 clause 5.4.3.1",
    deviations: "restrictions to grants and subcarrier spacings are left out",
    params: LogicalChannelConfig::params,
};

const CONFIGURED: MethodDoc = MethodDoc {
    name: "uplink.configured",
    kind: "MAC",
    title: "configured grants",
    text: "The turns of the UEs are staggered over the period. A turn outside the slots of the \
           uplink moves to the next one. A UE without data skips its turn.",
    sources: "TS 38.321 clause 5.8.2",
    deviations: "no HARQ timer of its own",
    params: ConfiguredGrantConfig::params,
};

impl UplinkMacConfig {
    /// The carrier with the letters U and D exchanged. Special slots carry no uplink.
    pub(super) fn mirrored(&self) -> CarrierConfig {
        let turn = |letter| if letter == 'U' { 'D' } else { 'U' };
        let tdd: String = self.carrier.tdd.chars().map(turn).collect();
        CarrierConfig { tdd, ..self.carrier.clone() }
    }

    /// Most resource blocks that a UE's power fills (TS 38.213 clause 7.1.1: the power grows by
    /// 10 log10 of the number of blocks).
    pub(super) fn most_blocks(&self) -> u16 {
        self.power_headroom.map_or(u16::MAX, |db| libm::pow(10.0, db / 10.0) as u16)
    }

    /// The logical channel of bearer `drb`.
    pub(super) fn channel(&self, drb: usize) -> LogicalChannelConfig {
        self.logical_channel.get(drb).cloned().unwrap_or(LogicalChannelConfig::of(1))
    }

    /// Number of nominal slots in `time`, at least 1.
    pub(super) fn slots(&self, time: Duration) -> u64 {
        (time.as_nanos() / self.slot.period.as_nanos().max(1)).max(1)
    }

    fn check_configured(&self, ues: usize) -> Result<(), ConfigError> {
        let Some(grant) = &self.configured else { return Ok(()) };
        grant.validate().map_err(|e| e.within("mac.configured"))?;
        let at_once = (ues as u64).div_ceil(self.slots(grant.period));
        let fits = at_once * u64::from(grant.blocks) <= u64::from(self.carrier.n_prb);
        ensure(
            fits,
            "mac.configured.blocks",
            &grant.blocks,
            "so few that the UEs of one slot fit the carrier",
            "UEs are staggered over the period",
        )
    }

    fn check_channels(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        for (i, channel) in self.logical_channel.iter().enumerate() {
            channel
                .validate()
                .map_err(|e| e.within(&alloc::format!("mac.logical_channel[{i}]")))?;
        }
        let drbs = cell.ues.iter().map(|ue| usize::from(ue.drbs)).max().unwrap_or(0);
        let found = self.logical_channel.len();
        let alone = found == 0 && drbs <= 1;
        ensure(
            alone || found >= drbs,
            "mac.logical_channel",
            &found,
            &alloc::format!("{drbs} tables with a priority, one for each bearer of a UE"),
            "TS 38.331 LogicalChannelConfig",
        )
    }
}

impl MacSettings for UplinkMacConfig {
    fn carrier(&self) -> Option<&CarrierConfig> {
        Some(&self.carrier)
    }

    fn pdu_header(&self) -> Option<u8> {
        Some(blocks::HEADER)
    }

    fn unread(&self) -> &'static [(&'static str, &'static str)] {
        blocks::UNREAD
    }

    fn check(&self, cell: &CellContext<'_>) -> Result<(), ConfigError> {
        let Self { slot, carrier, harq, .. } = self;
        blocks::check(&Blocks { slot, carrier, harq }, cell)?;
        let carries = self.carrier.tdd.is_empty() || self.carrier.tdd.contains('U');
        let why = "the uplink has its slots";
        ensure(carries, "mac.carrier.tdd", &self.carrier.tdd, "a pattern with a U", why)?;
        ensure(
            !cell.rlc.limiter.foresees(),
            "rlc.limiter",
            &"clairvoyant",
            "another limiter",
            "a UE does not get its coming grants in advance",
        )?;
        self.check_channels(cell)?;
        self.check_configured(cell.ues.len())
    }
}
