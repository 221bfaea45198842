//! Settings of an RLC entity: its mode, generation, SN length and timers.
//!
//! Source: TS 38.331 section 6.3.2 (`RLC-Config`) and TS 36.331 section 6.3.2 (`RLC-Config`), with the names of TS 38.322. Any
//! value between the least and the greatest of the standard's list is taken, not only those listed. Defaults are those of the
//! default configuration of NR (TS 38.331 section 9.2.1), where it has one; SNs of 12 bits, which every mode of NR can have.
//! Deviations from the source: infinity is written 0, which no list of pollPDU and pollByte has; LTE's t-Reordering is set by the
//! key of NR's t-Reassembly, since one stands where the other does.

use super::codec::Format;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;
use justfull_base::{Bytes, ConfigError, Duration};

/// Every mode's description.
pub const MODE_DOCS: &[&MethodDoc] = &[&TM_DOC, &UM_DOC, &AM_DOC];

/// Whose RLC it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum Generation {
    /// TS 38.322: an SDU or a segment of one in each PDU.
    #[default]
    Nr,
    /// TS 36.322: SDUs are concatenated in a PDU.
    Lte,
}

/// Settings of transparent mode: there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct TmConfig {}

/// Settings of unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct UmConfig {
    /// Whose RLC it is.
    pub generation: Generation,
    /// Bits of the SN: 6 or 12 for NR, 5 or 10 for LTE.
    pub sn_bits: u8,
    /// t-Reassembly, in LTE t-Reordering: time after which what is missing is given up.
    pub t_reassembly: Duration,
}

/// Settings of acknowledged mode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct AmConfig {
    /// Whose RLC it is.
    pub generation: Generation,
    /// Bits of the SN: 12 or 18 for NR, 10 for LTE.
    pub sn_bits: u8,
    /// LTE: bits of a length indicator, 11 or 15.
    pub li_bits: u8,
    /// t-Reassembly, in LTE t-Reordering: time after which what is missing is reported.
    pub t_reassembly: Duration,
    /// t-StatusProhibit: least time between two status reports.
    pub t_status_prohibit: Duration,
    /// t-PollRetransmit: time after which an unanswered poll is repeated.
    pub t_poll_retransmit: Duration,
    /// pollPDU: PDUs after which the sender polls; 0 for infinity.
    pub poll_pdu: u32,
    /// pollByte: bytes after which the sender polls; 0 for infinity.
    pub poll_byte: Bytes,
    /// maxRetxThreshold: retransmissions of one SDU (LTE: PDU) at which the sender reports a failure.
    pub max_retx_threshold: u8,
}

/// Which mode, with its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "kind", rename_all = "snake_case"))]
pub enum RlcModeConfig {
    /// Transparent mode.
    Tm(TmConfig),
    /// Unacknowledged mode.
    Um(UmConfig),
    /// Acknowledged mode.
    Am(AmConfig),
}

impl Default for UmConfig {
    fn default() -> Self {
        Self { generation: Generation::Nr, sn_bits: 12, t_reassembly: Duration::from_millis(35) }
    }
}

impl Default for AmConfig {
    fn default() -> Self {
        Self {
            generation: Generation::Nr,
            sn_bits: 12,
            li_bits: 11,
            t_reassembly: Duration::from_millis(35),
            t_status_prohibit: Duration::ZERO,
            t_poll_retransmit: Duration::from_millis(45),
            poll_pdu: 0,
            poll_byte: Bytes(0),
            max_retx_threshold: 8,
        }
    }
}

impl Default for RlcModeConfig {
    fn default() -> Self {
        Self::Um(UmConfig::default())
    }
}

const SN_SOURCE: &str = "TS 38.322 and 36.322 section 6.2, the SN field";

fn check_reassembly(t: Duration) -> Result<(), ConfigError> {
    const SOURCE: &str = "TS 38.331 t-Reassembly; TS 36.331 t-Reordering";
    ensure(t <= Duration::from_millis(1600), "t_reassembly", &t, "0s to 1.6s", SOURCE)
}

impl UmConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let (allowed, bound) = match self.generation {
            Generation::Nr => ([6, 12], "6 or 12 for NR"),
            Generation::Lte => ([5, 10], "5 or 10 for LTE"),
        };
        ensure(allowed.contains(&self.sn_bits), "sn_bits", &self.sn_bits, bound, SN_SOURCE)?;
        check_reassembly(self.t_reassembly)
    }
}

impl AmConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        let (allowed, bound): (&[u8], _) = match self.generation {
            Generation::Nr => (&[12, 18], "12 or 18 for NR"),
            Generation::Lte => (&[10], "10 for LTE"),
        };
        ensure(allowed.contains(&self.sn_bits), "sn_bits", &self.sn_bits, bound, SN_SOURCE)?;
        let li = "TS 36.322 section 6.2.2.5";
        ensure(matches!(self.li_bits, 11 | 15), "li_bits", &self.li_bits, "11 or 15", li)?;
        check_reassembly(self.t_reassembly)?;
        let (prohibit, poll) = (self.t_status_prohibit, self.t_poll_retransmit);
        ensure(
            prohibit <= Duration::from_millis(2400),
            "t_status_prohibit",
            &prohibit,
            "0s to 2.4s",
            "TS 38.331 T-StatusProhibit",
        )?;
        ensure(
            (Duration::from_millis(1)..=Duration::from_secs(4)).contains(&poll),
            "t_poll_retransmit",
            &poll,
            "1ms to 4s",
            "TS 38.331 T-PollRetransmit",
        )?;
        ensure(
            self.poll_pdu <= 65_536,
            "poll_pdu",
            &self.poll_pdu,
            "0 (infinity) to 65536",
            "TS 38.331 PollPDU",
        )?;
        ensure(
            self.poll_byte <= Bytes(40 << 20),
            "poll_byte",
            &self.poll_byte,
            "0B (infinity) to 40MiB",
            "TS 38.331 PollByte",
        )?;
        ensure(
            (1..=32).contains(&self.max_retx_threshold),
            "max_retx_threshold",
            &self.max_retx_threshold,
            "1 to 32",
            "TS 38.331 maxRetxThreshold",
        )
    }
}

impl RlcModeConfig {
    /// Checks the settings.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Tm(_) => Ok(()),
            Self::Um(um) => um.validate(),
            Self::Am(am) => am.validate(),
        }
    }

    /// How its PDUs are written.
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
const GENERATION: ParamDoc = ParamDoc::new(
    "generation",
    "`nr` or `lte`",
    "nr, lte",
    "nr",
    "TS 38.322, or TS 36.322 with concatenation of SDUs.",
);

const TM_DOC: MethodDoc = MethodDoc {
    name: "tm",
    kind: KIND,
    title: "Transparent mode",
    text: "An SDU is a PDU: no header, no segmentation. An SDU waits for a grant that holds all of it.",
    sources: "TS 38.322 section 5.2.1",
    deviations: "none",
    params: &[],
};

const UM_DOC: MethodDoc = MethodDoc {
    name: "um",
    kind: KIND,
    title: "Unacknowledged mode",
    text: "SDUs are cut to fit the grant and put together by the UE. What is lost on the air stays lost: the rest of its SDU is given \
           up when t-Reassembly ends. LTE concatenates SDUs in one PDU and delivers in order.",
    sources: "TS 38.322 section 5.2.2; TS 36.322 section 5.1.2",
    deviations: "values between those that the standard lists are allowed",
    params: &[
        GENERATION,
        ParamDoc::new("sn_bits", "bits", "NR 6 or 12; LTE 5 or 10", "12", "Length of the sequence number."),
        ParamDoc::new(
            "t_reassembly",
            "time",
            "0s to 1.6s",
            "35ms",
            "t-Reassembly, in LTE t-Reordering: time after which what is missing is given up.",
        ),
    ],
};

const AM_DOC: MethodDoc = MethodDoc {
    name: "am",
    kind: KIND,
    title: "Acknowledged mode",
    text: "As unacknowledged mode, and what is lost is sent again: the sender polls, the UE answers with a status report that names \
           the bytes that miss. NR delivers each SDU when it is complete, LTE in order.",
    sources: "TS 38.322 sections 5.2.3 and 5.3; TS 36.322 sections 5.1.3 and 5.2",
    deviations: "values between those that the standard lists are allowed; 0 stands for infinity",
    params: &[
        GENERATION,
        ParamDoc::new("sn_bits", "bits", "NR 12 or 18; LTE 10", "12", "Length of the sequence number."),
        ParamDoc::new("li_bits", "bits", "11 or 15", "11", "LTE: length of a length indicator."),
        ParamDoc::new(
            "t_reassembly",
            "time",
            "0s to 1.6s",
            "35ms",
            "t-Reassembly, in LTE t-Reordering: time after which what is missing is reported.",
        ),
        ParamDoc::new(
            "t_status_prohibit",
            "time",
            "0s to 2.4s",
            "0s",
            "Least time between two status reports.",
        ),
        ParamDoc::new(
            "t_poll_retransmit",
            "time",
            "1ms to 4s",
            "45ms",
            "Time after which an unanswered poll is repeated.",
        ),
        ParamDoc::new(
            "poll_pdu",
            "PDUs",
            "0 to 65536",
            "0",
            "PDUs after which the sender polls; 0 for infinity.",
        ),
        ParamDoc::new(
            "poll_byte",
            "size",
            "0B to 40MiB",
            "0B",
            "Bytes after which the sender polls; 0B for infinity.",
        ),
        ParamDoc::new(
            "max_retx_threshold",
            "retransmissions",
            "1 to 32",
            "8",
            "Retransmissions of one SDU (LTE: PDU) at which the sender reports a failure.",
        ),
    ],
};
