//! ECN as bits of the TCP header: its negotiation (RFC 3168 section 6.1.1, RFC 9768 section 3.1),
//! the three bits of ACE and the AccECN option (RFC 9768 section 3.2).
//!
//! With ECN++ (draft-ietf-tcpm-generalized-ecn) SYN, SYN/ACK, acknowledgements, window probes and
//! retransmissions are ECN-capable too; without, the handshake reports Not-ECT in both directions.
//! The sender's first segment carries data, so its ACE is a counter and no code of the handshake
//! (section 3.2.2.1). A connection ends without FIN and RST.

use justfull_base::{Ecn, choice};

/// The counter of CE packets at the start (section 3.2.1).
const FIRST_CEP: u64 = 5;
/// Values of ACE.
const WRAP: u64 = 8;
/// The counters of bytes wrap at 2^24.
const FIELD: u64 = 1 << 24;
/// Kinds of the options (section 3.2.3): EE0B first, EE1B first.
const KINDS: [u8; 2] = [172, 174];

/// The flags of a segment as three bits, the highest first: AE, CWR, ECE.
pub type Flags = u8;

/// ECN echo of RFC 3168.
pub const ECE: Flags = 0b001;
/// Congestion window reduced (RFC 3168).
pub const CWR: Flags = 0b010;

/// ACE of a receiver that has counted `ce_packets` (section 3.2.2.2).
#[must_use]
pub const fn ace(ce_packets: u64) -> Flags {
    ((FIRST_CEP + ce_packets) % WRAP) as Flags
}

/// CE packets that an acknowledgement with `ace` newly reports, if the sender has counted `known`
/// so far and the acknowledgement covers `segments` new ones (appendix A.2.1). With eight segments
/// or more ACE may have wrapped; the result is then the largest number up to `segments` that fits.
#[must_use]
pub const fn new_marks(ace: Flags, known: u64, segments: u64) -> u64 {
    let least = least_marks(ace, known);
    if segments < WRAP || segments < least {
        return least;
    }
    segments - (segments - least) % WRAP
}

/// The same where the option reports `bytes` new bytes with CE and segments have up to `mss`
/// (appendix A.2.2): with less than half an MSS for each mark ACE has not wrapped.
#[must_use]
pub const fn marks_by_bytes(ace: Flags, known: u64, segments: u64, bytes: u64, mss: u64) -> u64 {
    let (least, safest) = (least_marks(ace, known), new_marks(ace, known, segments));
    if bytes <= mss * least && 2 * bytes < safest * mss { least } else { safest }
}

/// CE packets by ACE if it has wrapped at most once.
#[must_use]
pub const fn least_marks(ace: Flags, known: u64) -> u64 {
    (ace as u64 + WRAP - self::ace(known) as u64) % WRAP
}

/// Tells whether acknowledgements commonly cover many segments, so that a jump of the number alone
/// does not mean that some were lost (appendix A.2.1). The weight of 1/64 and the limit of four
/// segments are Linux's (`pkts_acked_ewma`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stretches {
    /// Average number of segments, in 64ths; 0 before the first acknowledgement.
    average: u64,
}

impl Stretches {
    /// An acknowledgement covers `segments` new ones; true if so many are common.
    pub(crate) const fn take(&mut self, segments: u64) -> bool {
        let old = if self.average == 0 { 64 * segments } else { self.average };
        self.average = (63 * old + 64 * segments) / 64;
        self.average > 4 * 64
    }
}

choice! {
    /// How the two ends of a connection feed back marks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Feedback {
        /// Not at all.
        Off = "off",
        /// By the echo of RFC 3168.
        Classic = "classic",
        /// By counters (RFC 9768).
        #[default]
        Accurate = "accurate",
    }
}

choice! {
    /// The ECN codepoint of the segments of a receiver, which carry no data.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ControlEcn {
        /// Not ECN-capable.
        #[default]
        Off = "off",
        /// ECT(0), as of a classic control.
        Ect0 = "ect0",
        /// ECT(1), as of a control for L4S.
        Ect1 = "ect1",
    }
}

impl ControlEcn {
    /// The codepoint.
    #[must_use]
    pub const fn codepoint(self) -> Ecn {
        match self {
            Self::Off => Ecn::NotEct,
            Self::Ect0 => Ecn::Ect0,
            Self::Ect1 => Ecn::Ect1,
        }
    }
}

impl Feedback {
    /// The flags of the SYN of a client that asks for it (section 3.1.1).
    #[must_use]
    pub const fn offer(self) -> Flags {
        match self {
            Self::Off => 0,
            Self::Classic => CWR | ECE,
            Self::Accurate => 0b111,
        }
    }

    /// The mode of a server that supports `self`, after a SYN with the flags `syn` (sections 3.1.2
    /// and 3.1.3). A server of RFC 3168 takes AE for a bit without meaning.
    #[must_use]
    pub const fn answering(self, syn: Flags) -> Self {
        match (syn, self) {
            (0, _) | (_, Self::Off) => Self::Off,
            (0b011, _) | (0b111, Self::Classic) => Self::Classic,
            (_, Self::Classic) => Self::Off,
            (_, Self::Accurate) => Self::Accurate,
        }
    }

    /// The flags of the SYN/ACK of a server in this mode whose SYN arrived with `ecn` (section
    /// 3.1.1, table 2).
    #[must_use]
    pub const fn answer(self, ecn: Ecn) -> Flags {
        match (self, ecn) {
            (Self::Off, _) => 0,
            (Self::Classic, _) => ECE,
            (Self::Accurate, Ecn::NotEct) => 0b010,
            (Self::Accurate, Ecn::Ect1) => 0b011,
            (Self::Accurate, Ecn::Ect0) => 0b100,
            (Self::Accurate, Ecn::Ce) => 0b110,
        }
    }

    /// The mode of a client that offered `self`, by the flags of the SYN/ACK (section 3.1.2, table
    /// 2; RFC 3168 section 6.1.1). The reserved 101 is accurate (section 3.1.3); 111 comes from a
    /// server that returns all flags, which has no ECN.
    #[must_use]
    pub const fn agreed(self, syn_ack: Flags) -> Self {
        match (self, syn_ack) {
            (Self::Accurate, 0b001) => Self::Classic,
            (Self::Accurate, 0b010..=0b110) => Self::Accurate,
            (Self::Classic, 0b001 | 0b101) => Self::Classic,
            _ => Self::Off,
        }
    }
}

/// Payload bytes that a receiver has counted, by the codepoint they came with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteCounters {
    /// With ECT(0).
    pub ect0: u64,
    /// With CE.
    pub ce: u64,
    /// With ECT(1).
    pub ect1: u64,
}

impl ByteCounters {
    /// Adds `bytes` that arrived with `ecn`.
    pub const fn add(&mut self, ecn: Ecn, bytes: u64) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.ect0 += bytes,
            Ecn::Ect1 => self.ect1 += bytes,
            Ecn::Ce => self.ce += bytes,
        }
    }

    /// The option with the counters that have ever changed, in the order that needs the fewest
    /// fields (section 3.2.3.3). None if it needs more than `most` fields.
    #[must_use]
    pub const fn option(&self, most: u8) -> AccEcnOption {
        let ect1_first = self.ect0 == 0;
        // Section 3.2.1: the counters of ECT begin at 1, the counter of CE at 0.
        let (ect0, ect1) = (self.ect0 + 1, self.ect1 + 1);
        let (first, last) = if ect1_first { (ect1, ect0) } else { (ect0, ect1) };
        let fields = if self.ect0 > 0 && self.ect1 > 0 {
            3
        } else if self.ce > 0 {
            2
        } else {
            1
        };
        if fields > most {
            return AccEcnOption::NONE;
        }
        let [first, ce, last] =
            [(first % FIELD) as u32, (self.ce % FIELD) as u32, (last % FIELD) as u32];
        let kind = KINDS[ect1_first as usize] as u32;
        AccEcnOption([kind | (fields as u32) << 8, first, ce, last])
    }
}

/// An AccECN option (section 3.2.3), or none. The first word has its kind, 172, 174 or 0 for none,
/// and above it the number of its fields; the others are the counters in its order, each below
/// 2^24. Four equal words are copied at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccEcnOption([u32; 4]);

impl AccEcnOption {
    /// No option.
    pub const NONE: Self = Self([0; 4]);

    const fn fields(&self) -> u32 {
        self.0[0] >> 8
    }

    /// True if there is an option.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.0[0] != 0
    }

    /// Bytes of the option: 0 for none, else 2 to 11.
    #[must_use]
    pub const fn len(&self) -> usize {
        if self.is_some() { 2 + 3 * self.fields() as usize } else { 0 }
    }

    /// True if there is no option.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        !self.is_some()
    }

    /// The option on the wire, in the first [`len`](Self::len) bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 11] {
        let mut bytes = [0; 11];
        (bytes[0], bytes[1]) = (self.0[0] as u8, self.len() as u8);
        for (field, counter) in bytes[2..].chunks_exact_mut(3).zip(&self.0[1..]) {
            field.copy_from_slice(&counter.to_be_bytes()[1..]);
        }
        bytes
    }

    /// True if its counter of CE bytes differs from `known`, which has not wrapped.
    #[inline]
    #[must_use]
    pub const fn has_news(&self, known: u64) -> bool {
        self.fields() > 1 && self.0[2] as u64 != known % FIELD
    }

    /// Bytes with CE beyond the `known` ones, less than 2^23; 0 from an older option, and from one
    /// without this field, which says that the counter never changed. None without an option.
    #[must_use]
    pub const fn new_ce_bytes(&self, known: u64) -> Option<u64> {
        if self.is_empty() {
            return None;
        }
        let wire = if self.fields() > 1 { self.0[2] as u64 } else { known };
        let new = (wire + FIELD - known % FIELD) % FIELD;
        Some(if new < FIELD / 2 { new } else { 0 })
    }
}

/// The counters of a receiver in accurate mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Packets with CE.
    packets: u64,
    bytes: ByteCounters,
    /// CE packets since the last acknowledgement.
    pending: u64,
    /// The packet before carried CE.
    was_ce: bool,
    /// A counter of bytes has changed since the last acknowledgement.
    changed: bool,
}

impl Counters {
    /// A packet with `bytes` of data arrives with `ecn`. True if it must be acknowledged at once:
    /// the first CE after another codepoint, and each `most`-th CE without an acknowledgement
    /// (section 3.2.2.5.1).
    pub(crate) const fn take(&mut self, ecn: Ecn, bytes: u64, most: u64) -> bool {
        let ce = matches!(ecn, Ecn::Ce);
        self.changed |= !matches!(ecn, Ecn::NotEct);
        self.bytes.add(ecn, bytes);
        let first = ce && !self.was_ce;
        self.was_ce = ce;
        self.packets += ce as u64;
        self.pending += ce as u64;
        first || ce && self.pending >= most
    }

    /// ACE and the option of an acknowledgement that leaves with `blocks` SACK blocks. The option
    /// goes with each acknowledgement after a counter has changed (section 3.2.3.3). Of 40 bytes of
    /// options timestamps take 12 and SACK 4 and 8 for each block, which precede.
    pub(crate) fn report(&mut self, with_option: bool, blocks: u8) -> (Flags, AccEcnOption) {
        let most = match blocks {
            0 | 1 => 3,
            2 => 2,
            _ => 0,
        };
        let wanted = with_option && core::mem::take(&mut self.changed) && most > 0;
        self.pending = 0;
        let option = if wanted { self.bytes.option(most) } else { AccEcnOption::NONE };
        (ace(self.packets), option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::Rng;

    #[test]
    fn ace_begins_at_five_and_wraps_after_eight() {
        assert_eq!([0, 3, 11].map(ace), [0b101, 0b000, 0b000]);
        assert_eq!([1, 2, 4].map(ace), [0b110, 0b111, 0b001]);
    }

    #[test]
    fn the_counter_follows_every_history_in_which_it_cannot_wrap_unseen() {
        let mut rng = Rng::stream(3, "ace");
        let (mut true_count, mut known) = (0, 0);
        for _ in 0..10_000 {
            let segments = rng.below(8);
            true_count += rng.below(segments + 1);
            known += new_marks(ace(true_count), known, segments);
            assert_eq!(known, true_count);
        }
    }

    #[test]
    fn where_it_may_have_wrapped_the_most_that_fits_is_assumed() {
        assert_eq!(new_marks(ace(3), 0, 7), 3);
        assert_eq!(new_marks(ace(3), 0, 10), 3, "11 do not fit");
        assert_eq!(new_marks(ace(3), 0, 11), 11);
        assert_eq!(new_marks(ace(0), 0, 20), 16);
        assert_eq!(new_marks(ace(5), 0, 2), 5, "marks of control packets count too");
    }

    #[test]
    fn stretched_acknowledgements_become_common_in_some_tens() {
        let mut stretches = Stretches::default();
        assert!((0..100).all(|_| !stretches.take(2)), "delayed acknowledgements");
        assert!(!stretches.take(20), "one after a loss");
        let common = (0..100).take_while(|_| !stretches.take(10)).count();
        assert!((10..40).contains(&common), "{common}");
    }

    #[test]
    fn the_options_bytes_decide_whether_ace_has_wrapped() {
        // The examples of appendix A.2.2.
        assert_eq!(marks_by_bytes(ace(0), 0, 8, 1460, 1460), 8);
        assert_eq!(marks_by_bytes(ace(2), 0, 10, 1460, 1460), 2);
        assert_eq!(marks_by_bytes(ace(7), 0, 15, 10_200, 1460), 7);
        assert_eq!(marks_by_bytes(ace(11), 0, 12, 11 * 1460, 1460), 11);
        assert_eq!(marks_by_bytes(ace(0), 0, 12, 0, 1460), 0);
    }

    #[test]
    fn each_pair_of_ends_agrees_on_one_mode_as_table_2_has_it() {
        use Feedback::{Accurate, Classic, Off};
        for client in [Off, Classic, Accurate] {
            for server in [Off, Classic, Accurate] {
                let chosen = server.answering(client.offer());
                let agreed = client.agreed(chosen.answer(Ecn::NotEct));
                assert_eq!((chosen, agreed), (client.min(server), client.min(server)));
            }
        }
        let reserved = [0b001, 0b010, 0b100, 0b101, 0b110];
        assert!(reserved.iter().all(|&syn| Accurate.answering(syn) == Accurate), "3.1.3");
        assert!(reserved.iter().all(|&syn| Classic.answering(syn) == Off), "RFC 3168");
        assert_eq!(Accurate.agreed(0b111), Off, "a server that returns the flags");
        assert_eq!((Accurate.agreed(0b101), Classic.agreed(0b011)), (Accurate, Off));
    }

    #[test]
    fn the_syn_ack_states_how_the_syn_arrived() {
        let flags =
            [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|e| Feedback::Accurate.answer(e));
        assert_eq!(flags, [0b010, 0b011, 0b100, 0b110]);
        assert!(flags.iter().all(|&f| Feedback::Accurate.agreed(f) == Feedback::Accurate));
    }

    #[test]
    fn an_option_has_the_counters_that_changed_in_the_shortest_order() {
        let wire = |counted: ByteCounters| {
            let option = counted.option(3);
            option.bytes()[..option.len()].to_vec()
        };
        let l4s = ByteCounters { ect1: 1448, ..ByteCounters::default() };
        assert_eq!(wire(l4s), [174, 5, 0x00, 0x05, 0xa9]);
        assert_eq!(wire(ByteCounters { ce: 2, ..l4s }), [174, 8, 0, 5, 0xa9, 0, 0, 2]);
        let classic = ByteCounters { ect0: 9, ce: 2, ect1: 0 };
        assert_eq!(wire(classic), [172, 8, 0, 0, 10, 0, 0, 2]);
        let both = ByteCounters { ect1: 5, ..classic };
        assert_eq!(wire(both), [172, 11, 0, 0, 10, 0, 0, 2, 0, 0, 6]);
        assert_eq!((both.option(2), both.option(2).len()), (AccEcnOption::NONE, 0));
    }

    #[test]
    fn the_sender_follows_the_counter_of_bytes_across_wraps_and_ignores_older_options() {
        let mut rng = Rng::stream(4, "option");
        let (mut counted, mut known) = (ByteCounters::default(), 0);
        for _ in 0..5_000 {
            let before = counted.option(3);
            counted.add(Ecn::Ect1, rng.below(1 << 20));
            counted.add(Ecn::Ce, 1 + rng.below(1 << 20));
            let now = counted.option(3);
            assert!(now.has_news(known));
            known += now.new_ce_bytes(known).expect("an option");
            assert_eq!(known, counted.ce);
            assert!(!now.has_news(known));
            assert_eq!(before.new_ce_bytes(known), Some(0));
        }
        assert_eq!(AccEcnOption::NONE.new_ce_bytes(known), None);
    }

    #[test]
    fn a_change_to_ce_and_each_second_ce_ask_for_an_acknowledgement() {
        let mut counters = Counters::default();
        let (e, c) = (Ecn::Ect1, Ecn::Ce);
        let asks = [e, c, c, e, c, e].map(|ecn| counters.take(ecn, 100, 2));
        assert_eq!(asks, [false, true, true, false, true, false], "none was acknowledged");
        let (flags, option) = counters.report(true, 0);
        assert_eq!((flags, option.new_ce_bytes(0)), (ace(3), Some(300)));
        assert!(counters.report(true, 0).1.is_empty(), "no counter has changed");
        counters.take(c, 100, 2);
        assert!(!counters.take(c, 100, 3), "the second of three");
        assert!(counters.report(true, 3).1.is_empty(), "three SACK blocks leave no room");
    }
}
