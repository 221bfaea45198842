//! Accurate ECN (RFC 9768): counters, the three bits of ACE, the codes of the handshake and the
//! options.
//!
//! The simulated ends carry the receiver's exact counters in each [`Ack`](crate::Ack). With `ace`
//! a sender reads the three bits in their place.

use alloc::vec::Vec;
use justfull_base::Ecn;

/// The counter of CE packets at the start (section 3.2.1).
const FIRST_CEP: u64 = 5;
/// Values of ACE.
const WRAP: u64 = 8;
/// Kinds of the options (section 3.2.3): EE0B first, EE1B first.
const KINDS: [u8; 2] = [172, 174];
/// The counters of bytes wrap at 2^24.
const FIELD: u64 = 1 << 24;

/// The flags of a segment as three bits, the highest first: AE, CWR, ECE.
pub type Flags = u8;

/// ACE of a receiver that has counted `ce_packets` (section 3.2.2.1).
#[must_use]
pub const fn ace(ce_packets: u64) -> Flags {
    ((FIRST_CEP + ce_packets) % WRAP) as Flags
}

/// CE packets that an acknowledgement with `ace` newly reports, if the sender has counted `known`
/// so far and the acknowledgement covers `segments` new ones (appendix A.2). With eight segments or
/// more ACE may have wrapped; the result is then the largest number up to `segments` that fits.
#[must_use]
pub const fn new_marks(ace: Flags, known: u64, segments: u64) -> u64 {
    let least = (ace as u64 + WRAP - self::ace(known) as u64) % WRAP;
    if segments < WRAP || segments < least {
        return least;
    }
    segments - (segments - least) % WRAP
}

/// The flags of a SYN that offers accurate ECN (section 3.1.1).
pub const SYN: Flags = 0b111;

/// The flags of the SYN/ACK, or of the third acknowledgement, that state the codepoint of the
/// packet before (section 3.1.1, table 2; section 3.2.2.1).
#[must_use]
pub const fn arrived_as(ecn: Ecn) -> Flags {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The ECN mode that the flags of a SYN/ACK select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreed {
    /// Accurate ECN; the codepoint with which the SYN arrived, if a known code states it.
    Accurate(Option<Ecn>),
    /// RFC 3168.
    Classic,
    /// No ECN.
    Nothing,
}

/// A server's ECN mode after a SYN with these flags (section 3.1.2). No flags mean no ECN, ECE and
/// CWR alone the ECN of RFC 3168, all other flags accurate ECN.
#[must_use]
pub const fn offered(syn: Flags) -> Agreed {
    match syn {
        0b000 => Agreed::Nothing,
        0b011 => Agreed::Classic,
        _ => Agreed::Accurate(None),
    }
}

/// The ECN mode of a client that offered accurate ECN, by the SYN/ACK (section 3.1.1, table 2).
#[must_use]
pub const fn agreed(syn_ack: Flags) -> Agreed {
    match syn_ack {
        0b010 => Agreed::Accurate(Some(Ecn::NotEct)),
        0b011 => Agreed::Accurate(Some(Ecn::Ect1)),
        0b100 => Agreed::Accurate(Some(Ecn::Ect0)),
        0b110 => Agreed::Accurate(Some(Ecn::Ce)),
        // Reserved: taken for accurate ECN.
        0b101 => Agreed::Accurate(None),
        0b001 => Agreed::Classic,
        _ => Agreed::Nothing,
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

/// The order of an option's fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// EE0B, ECEB, EE1B.
    Ect0First,
    /// EE1B, ECEB, EE0B.
    Ect1First,
}

impl ByteCounters {
    /// The fields on the wire: the counters of ECT begin at 1, the counter of CE at 0 (section
    /// 3.2.1).
    const fn fields(self, order: Order) -> [u64; 3] {
        let (ect0, ce, ect1) = (self.ect0 + 1, self.ce, self.ect1 + 1);
        match order {
            Order::Ect0First => [ect0, ce, ect1],
            Order::Ect1First => [ect1, ce, ect0],
        }
    }

    /// The option with the first `fields` of its fields, 0 to 3 (section 3.2.3).
    #[must_use]
    pub fn option(self, order: Order, fields: usize) -> Vec<u8> {
        let fields = fields.min(3);
        let mut bytes = Vec::from([KINDS[order as usize], 2 + 3 * fields as u8]);
        for field in self.fields(order).into_iter().take(fields) {
            bytes.extend_from_slice(&((field % FIELD) as u32).to_be_bytes()[1..]);
        }
        bytes
    }

    /// The counters after an option that follows counters of `self`: each field moves on by less
    /// than 2^24. Missing fields stay. None if the bytes are no such option.
    #[must_use]
    pub fn read(self, option: &[u8]) -> Option<Self> {
        let (&[kind, length], fields) = option.split_first_chunk::<2>()?;
        let order = match kind {
            172 => Order::Ect0First,
            174 => Order::Ect1First,
            _ => return None,
        };
        if usize::from(length) != option.len() || !fields.len().is_multiple_of(3) || length > 11 {
            return None;
        }
        let mut known = self.fields(order);
        for (known, wire) in known.iter_mut().zip(fields.chunks_exact(3)) {
            let wire = u64::from(u32::from_be_bytes([0, wire[0], wire[1], wire[2]]));
            *known += (wire + FIELD - *known % FIELD) % FIELD;
        }
        let [first, ce, last] = known;
        let (ect0, ect1) = if order == Order::Ect0First { (first, last) } else { (last, first) };
        Some(Self { ect0: ect0 - 1, ce, ect1: ect1 - 1 })
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
    fn the_handshake_says_how_each_first_packet_arrived() {
        assert_eq!(arrived_as(Ecn::Ce), 0b110, "AE = 1, CWR = 1, ECE = 0");
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            assert_eq!(agreed(arrived_as(ecn)), Agreed::Accurate(Some(ecn)));
        }
        let rest = [0b000, 0b001, 0b101, 0b111].map(agreed);
        let reserved = Agreed::Accurate(None);
        assert_eq!(rest, [Agreed::Nothing, Agreed::Classic, reserved, Agreed::Nothing]);
        let offers = [0b000, 0b011, SYN, 0b100].map(offered);
        let accurate = Agreed::Accurate(None);
        assert_eq!(offers, [Agreed::Nothing, Agreed::Classic, accurate, accurate]);
    }

    #[test]
    fn an_option_holds_the_counters_in_its_order() {
        let counted = ByteCounters { ect1: 1448, ..ByteCounters::default() };
        let bytes = counted.option(Order::Ect1First, 3);
        assert_eq!(bytes, [174, 11, 0x00, 0x05, 0xa9, 0, 0, 0, 0, 0, 1]);
        assert_eq!(counted.option(Order::Ect0First, 1), [172, 5, 0, 0, 1]);
        assert_eq!(counted.option(Order::Ect0First, 0), [172, 2]);
    }

    #[test]
    fn options_are_read_as_they_were_written_across_wraps_and_nonsense_is_none() {
        let mut rng = Rng::stream(4, "option");
        let (mut sent, mut heard) = (ByteCounters::default(), ByteCounters::default());
        for step in 0..5_000 {
            sent.ect0 += rng.below(1 << 20);
            sent.ce += rng.below(1 << 20);
            sent.ect1 += rng.below(1 << 20);
            let order = if step % 2 == 0 { Order::Ect0First } else { Order::Ect1First };
            heard = heard.read(&sent.option(order, 3)).expect("it is an option");
            assert_eq!(heard, sent);
        }
        let part = ByteCounters::default().read(&[174, 8, 0, 0, 9, 0, 0, 2]);
        assert_eq!(part, Some(ByteCounters { ect0: 0, ce: 2, ect1: 8 }));
        for wrong in [&[][..], &[174], &[173, 2], &[174, 5, 0, 0], &[174, 4, 0, 0], &[172, 11]] {
            assert_eq!(ByteCounters::default().read(wrong), None, "{wrong:?}");
        }
    }
}
