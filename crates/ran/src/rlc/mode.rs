//! Settings of an RLC entity: its mode, generation, SN length and timers.
//!
//! Source: TS 38.331 section 6.3.2 (`RLC-Config`) and TS 36.331 section 6.3.2 (`RLC-Config`), with
//! the names of TS 38.322. Any value between the least and the greatest of the standard's list is
//! allowed, not only the listed ones. Defaults are NR's default configuration (TS 38.331 section
//! 9.2.1), where it has a value; SNs have 12 bits, which every mode of NR allows. Settings of UMTS
//! are in TS 25.331 section 10.3.4 (`RLC info`); no standard has defaults for them. PDU and window
//! are P06's for user data. A poll and its report take two TTIs and some processing, 50 to 150 ms
//! with TTIs of 20 ms. The prohibit timers let one report through in that time, and Timer_Poll
//! expires when the answer is overdue. Polls are on where they cost least: at the end of a burst,
//! at the end of a round of retransmissions, and from half of the window on. MaxDAT is the greatest
//! value, since P06 only states that the number of transmissions is limited. Deviations from the
//! source: infinity is written 0, a value in no list of pollPDU and pollByte; the key of NR's
//! t-Reassembly also sets LTE's t-Reordering, its counterpart.

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
        /// TS 25.322: SDUs are concatenated in PDUs of one size; acknowledged mode only.
        Umts = "umts",
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
        generation: Generation = Generation::Nr,
            rule("nr or lte", |c| c.generation != Generation::Umts), "of UMTS only AM is here";
        /// Length of the sequence number.
        sn_bits: u8 as "bits" = 12, rule("NR 6 or 12; LTE 5 or 10", |c| match c.generation {
            Generation::Nr => matches!(c.sn_bits, 6 | 12),
            Generation::Lte | Generation::Umts => matches!(c.sn_bits, 5 | 10),
        }), SN_SOURCE;
        /// t-Reassembly, in LTE t-Reordering: time after which missing PDUs are given up.
        t_reassembly: Duration = Duration::from_millis(35),
            within(Duration::ZERO, LONGEST_REASSEMBLY), REASSEMBLY_SOURCE;
    }
}

params! {
    /// Settings of acknowledged mode.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AmConfig {
        /// TS 38.322; TS 36.322 with its concatenation and its t-Reordering; or TS 25.322 with
        /// PDUs of one size and timers of its own, below.
        generation: Generation = Generation::Nr;
        /// Length of the sequence number.
        sn_bits: u8 as "bits" = 12, rule("NR 12 or 18; LTE 10; UMTS 12", |c| match c.generation {
            Generation::Nr => matches!(c.sn_bits, 12 | 18),
            Generation::Lte => c.sn_bits == 10,
            Generation::Umts => c.sn_bits == 12,
        }), SN_SOURCE;
        /// LTE: length of a length indicator.
        li_bits: u8 as "bits" = 11,
            rule("11 or 15", |c| matches!(c.li_bits, 11 | 15)), "TS 36.322 section 6.2.2.5";
        /// t-Reassembly, in LTE t-Reordering: time after which missing PDUs are reported.
        t_reassembly: Duration = Duration::from_millis(35),
            within(Duration::ZERO, LONGEST_REASSEMBLY), REASSEMBLY_SOURCE;
        /// Least time between two status reports.
        t_status_prohibit: Duration = Duration::ZERO,
            within(Duration::ZERO, Duration::from_millis(2400)), "TS 38.331 T-StatusProhibit";
        /// Time after which an unanswered poll is repeated.
        t_poll_retransmit: Duration = Duration::from_millis(45),
            within(Duration::from_millis(1), Duration::from_secs(4)), "TS 38.331 T-PollRetransmit";
        /// PDUs after which the sender polls; 0 for infinity. Of UMTS, Poll_PDU: retransmissions
        /// count too.
        poll_pdu: u32 as "PDUs" = 0, within(0, 65_536), "TS 38.331 PollPDU";
        /// Bytes after which the sender polls; 0B for infinity.
        poll_byte: Bytes = Bytes(0),
            within(Bytes(0), Bytes(40 << 20)), "TS 38.331 PollByte";
        /// Retransmissions of one SDU (LTE: PDU) at which the sender reports a failure.
        max_retx_threshold: u8 as "retransmissions" = 8,
            within(1, 32), "TS 38.331 maxRetxThreshold";
        /// UMTS: size of every PDU, with its header of 2 bytes. Length indicators have 7 bits up
        /// to 126 bytes, above 15.
        pdu: Bytes = Bytes(42), within(Bytes(6), Bytes(625)),
            "TS 25.331 DL RLC PDU size, up to 5000 bits; a report of what is missing takes 6 bytes";
        /// UMTS: PDUs that may be sent and not be acknowledged (VT(WS)), and that the UE takes
        /// ahead of one that is missing.
        window: u32 as "PDUs" = 768, within(1, 4095), "TS 25.331 Transmission window size";
        /// UMTS: SDUs after which the sender polls, in the PDU that ends the last of them; 0 for
        /// never.
        poll_sdu: u32 as "SDUs" = 0, within(0, 64), "TS 25.331 Poll_SDU";
        /// UMTS: part of the window in use from which on each new PDU polls; 0 for never.
        poll_window: u8 as "percent" = 50, within(0, 99), "TS 25.331 Poll_Window";
        /// UMTS: the last PDU that can be sent now polls, because no SDU waits or the window is
        /// full. Without it the end of what is sent may stay unacknowledged.
        poll_last: bool = true, rule(
            "true, or one of poll_pdu, poll_sdu, poll_window, timer_status_periodic above 0",
            |c| c.generation != Generation::Umts || c.poll_last || c.poll_pdu > 0
                || c.poll_sdu > 0 || c.poll_window > 0 || !c.timer_status_periodic.is_zero(),
        ), "who neither polls nor gets reports never moves the window";
        /// UMTS: the last PDU that waits for retransmission polls.
        poll_last_retx: bool = true;
        /// UMTS: Timer_Poll, after which an unanswered poll is repeated.
        timer_poll: Duration = Duration::from_millis(200),
            within(Duration::from_millis(10), Duration::from_secs(1)), "TS 25.331 Timer_poll";
        /// UMTS: Timer_Poll_Prohibit, least time between two polls; 0s for none.
        timer_poll_prohibit: Duration = Duration::from_millis(100),
            within(Duration::ZERO, Duration::from_secs(1)), "TS 25.331 Timer_poll_prohibit";
        /// UMTS: Timer_Status_Prohibit, least time between two status reports; 0s for none.
        timer_status_prohibit: Duration = Duration::from_millis(100),
            within(Duration::ZERO, Duration::from_secs(1)), "TS 25.331 Timer_Status_Prohibit";
        /// UMTS: Timer_Status_Periodic, time from one report to the next without any other cause,
        /// from the first PDU on; 0s for none.
        timer_status_periodic: Duration = Duration::ZERO,
            within(Duration::ZERO, Duration::from_secs(2)), "TS 25.331 Timer_Status_Periodic";
        /// UMTS: the UE reports as soon as it finds that a PDU is missing.
        missing_pdu_indicator: bool = true;
        /// UMTS: MaxDAT. A PDU is sent at most one time less; then the SDUs in it, and those
        /// before it, are discarded.
        max_dat: u8 as "transmissions" = 40,
            within(2, 40), "TS 25.331 MaxDAT; TS 25.322 clause 9.6, by which 1 sends nothing";
        /// UMTS: Timer_MRW, after which an unanswered order to move the receiving window is
        /// repeated.
        timer_mrw: Duration = Duration::from_millis(200),
            within(Duration::from_millis(50), Duration::from_millis(900)), "TS 25.331 Timer_MRW";
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
            Self::Um(UmConfig { sn_bits, .. }) => Format::LteUm { sn_bits: *sn_bits },
            Self::Am(AmConfig { generation: Generation::Nr, sn_bits, .. }) => {
                Format::NrAm { sn_bits: *sn_bits }
            }
            Self::Am(AmConfig { generation: Generation::Lte, li_bits, .. }) => {
                Format::LteAm { li_bits: *li_bits }
            }
            Self::Am(AmConfig { generation: Generation::Umts, pdu, .. }) => {
                Format::UmtsAm { pdu: pdu.0 as u32 }
            }
        }
    }

    /// True for the RLC of NR, and for TM, which has no headers.
    #[must_use]
    pub fn is_of_nr(&self) -> bool {
        matches!(self.format(), Format::Tm | Format::NrUm { .. } | Format::NrAm { .. })
    }

    /// The size of its PDUs, if all have one size (UMTS).
    #[must_use]
    pub fn pdu(&self) -> Option<u32> {
        match self.format() {
            Format::UmtsAm { pdu } => Some(pdu),
            _ => None,
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
    text: "As unacknowledged mode, with retransmissions: the sender polls, and the UE answers with \
           a status report that names the missing bytes. NR delivers each SDU when it is complete, \
           LTE in order. UMTS cuts and joins SDUs to PDUs of one size, reports missing PDUs, \
           delivers in order, and discards SDUs whose PDU was sent too often.",
    sources: "TS 38.322 sections 5.2.3 and 5.3; TS 36.322 sections 5.1.3 and 5.2; TS 25.322 \
              clauses 9 and 11",
    deviations: "values between those that the standard lists are allowed; 0 stands for infinity; \
                 UMTS: no RESET, a report that acknowledges what was not sent is discarded; \
                 reports are not piggybacked; the window does not change (WINDOW); MRW is \
                 repeated until it is answered; a report answers it in place of MRW_ACK; what \
                 is not sent yet of a discarded SDU goes out for nothing; in \
                 windows above 2048, whose SNs are ambiguous, a PDU nearer behind VR(R) than ahead \
                 of VR(H) is a duplicate",
    params: AmConfig::params,
};
