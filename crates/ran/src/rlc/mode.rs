//! Settings of an RLC entity: its mode, generation, SN length and timers.
//!
//! Source: TS 38.331 section 6.3.2 (`RLC-Config`) and TS 36.331 section 6.3.2 (`RLC-Config`), with
//! the names of TS 38.322. Any value between the least and the greatest of the standard's list is
//! allowed, not only the listed ones. Defaults are those of NR's default configuration (TS 38.331
//! section 9.2.1), if it has one; SNs have 12 bits, which every mode of NR allows. Deviations from
//! the source: infinity is written 0, which no list of pollPDU and pollByte contains; the key of
//! NR's t-Reassembly also sets LTE's t-Reordering, its counterpart.

use super::codec::Format;
use justfull_base::doc::MethodDoc;
use justfull_base::{Bytes, Duration, choice, kinds_config, params};

/// Every mode's description.
pub const DOCS: &[&MethodDoc] = &[&TM_DOC, &UM_DOC, &AM_DOC];

choice! {
    /// Whose RLC it is.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Generation {
        /// TS 38.322: an SDU or a segment of one in each PDU.
        #[default]
        Nr = "nr",
        /// TS 36.322: SDUs are concatenated in a PDU.
        Lte = "lte",
    }
}

params! {
    /// Settings of transparent mode: there are none.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct TmConfig {}
}

params! {
    /// Settings of unacknowledged mode.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct UmConfig {
        /// TS 38.322, or TS 36.322 with its concatenation and its t-Reordering.
        generation: Generation = Generation::Nr;
        /// Length of the sequence number.
        sn_bits: u8 as "bits" = 12, rule("NR 6 or 12; LTE 5 or 10", |c| match c.generation {
            Generation::Nr => matches!(c.sn_bits, 6 | 12),
            Generation::Lte => matches!(c.sn_bits, 5 | 10),
        }), SN_SOURCE;
        /// t-Reassembly, in LTE t-Reordering: time after which what is missing is given up.
        t_reassembly: Duration = Duration::from_millis(35),
            within(Duration::ZERO, LONGEST_REASSEMBLY), REASSEMBLY_SOURCE;
    }
}

params! {
    /// Settings of acknowledged mode.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AmConfig {
        /// TS 38.322, or TS 36.322 with its concatenation and its t-Reordering.
        generation: Generation = Generation::Nr;
        /// Length of the sequence number.
        sn_bits: u8 as "bits" = 12, rule("NR 12 or 18; LTE 10", |c| match c.generation {
            Generation::Nr => matches!(c.sn_bits, 12 | 18),
            Generation::Lte => c.sn_bits == 10,
        }), SN_SOURCE;
        /// LTE: length of a length indicator.
        li_bits: u8 as "bits" = 11,
            rule("11 or 15", |c| matches!(c.li_bits, 11 | 15)), "TS 36.322 section 6.2.2.5";
        /// t-Reassembly, in LTE t-Reordering: time after which what is missing is reported.
        t_reassembly: Duration = Duration::from_millis(35),
            within(Duration::ZERO, LONGEST_REASSEMBLY), REASSEMBLY_SOURCE;
        /// Least time between two status reports.
        t_status_prohibit: Duration = Duration::ZERO,
            within(Duration::ZERO, Duration::from_millis(2400)), "TS 38.331 T-StatusProhibit";
        /// Time after which an unanswered poll is repeated.
        t_poll_retransmit: Duration = Duration::from_millis(45),
            within(Duration::from_millis(1), Duration::from_secs(4)), "TS 38.331 T-PollRetransmit";
        /// PDUs after which the sender polls; 0 for infinity.
        poll_pdu: u32 as "PDUs" = 0, within(0, 65_536), "TS 38.331 PollPDU";
        /// Bytes after which the sender polls; 0B for infinity.
        poll_byte: Bytes = Bytes(0),
            within(Bytes(0), Bytes(40 << 20)), "TS 38.331 PollByte";
        /// Retransmissions of one SDU (LTE: PDU) at which the sender reports a failure.
        max_retx_threshold: u8 as "retransmissions" = 8,
            within(1, 32), "TS 38.331 maxRetxThreshold";
    }
}

kinds_config! {
    /// Which mode, with its settings.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum RlcModeConfig(DOCS) = Um;
    "tm" Tm = TmConfig;
    "um" Um = UmConfig;
    "am" Am = AmConfig;
}

const SN_SOURCE: &str = "TS 38.322 and 36.322 section 6.2, the SN field";
const REASSEMBLY_SOURCE: &str = "TS 38.331 t-Reassembly; TS 36.331 t-Reordering";
const LONGEST_REASSEMBLY: Duration = Duration::from_millis(1600);

impl RlcModeConfig {
    /// The format of its PDUs.
    #[must_use]
    pub fn format(&self) -> Format {
        match self {
            Self::Tm(_) => Format::Tm,
            Self::Um(UmConfig { generation: Generation::Nr, sn_bits, .. }) => {
                Format::NrUm { sn_bits: *sn_bits }
            }
            Self::Um(UmConfig { generation: Generation::Lte, sn_bits, .. }) => {
                Format::LteUm { sn_bits: *sn_bits }
            }
            Self::Am(AmConfig { generation: Generation::Nr, sn_bits, .. }) => {
                Format::NrAm { sn_bits: *sn_bits }
            }
            Self::Am(AmConfig { generation: Generation::Lte, li_bits, .. }) => {
                Format::LteAm { li_bits: *li_bits }
            }
        }
    }
}

const KIND: &str = "RLC mode";
const TM_DOC: MethodDoc = MethodDoc {
    name: "tm",
    kind: KIND,
    title: "Transparent mode",
    text: "An SDU is a PDU: no header, no segmentation. An SDU waits for a grant that holds all \
           of it.",
    sources: "TS 38.322 section 5.2.1",
    deviations: "none",
    params: TmConfig::params,
};

const UM_DOC: MethodDoc = MethodDoc {
    name: "um",
    kind: KIND,
    title: "Unacknowledged mode",
    text: "SDUs are cut to fit the grant and put together by the UE. What is lost on the air \
           stays lost: the rest of its SDU is given up when t-Reassembly ends. LTE concatenates \
           SDUs in one PDU and delivers in order.",
    sources: "TS 38.322 section 5.2.2; TS 36.322 section 5.1.2",
    deviations: "values between those that the standard lists are allowed",
    params: UmConfig::params,
};

const AM_DOC: MethodDoc = MethodDoc {
    name: "am",
    kind: KIND,
    title: "Acknowledged mode",
    text: "As unacknowledged mode, and what is lost is sent again: the sender polls, the UE \
           answers with a status report that names the bytes that miss. NR delivers each SDU when \
           it is complete, LTE in order.",
    sources: "TS 38.322 sections 5.2.3 and 5.3; TS 36.322 sections 5.1.3 and 5.2",
    deviations: "values between those that the standard lists are allowed; 0 stands for infinity",
    params: AmConfig::params,
};
