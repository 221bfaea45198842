//! A PDCP PDU, its sequence number, and how long this number is (TS 38.323 section 6.2.2).

/// Packets in a row that must fit one length and not the other.
const VOTES: u8 = 4;

/// The lengths of a data radio bearer's sequence numbers, in bits.
const LENGTHS: [u8; 2] = [12, 18];

/// A PDCP PDU, of which a packet may have the begin only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pdu<'a> {
    pub(super) begin: &'a [u8],
    /// Bytes after it.
    pub(super) missing: usize,
}

impl Pdu<'_> {
    /// All its bytes.
    pub(super) fn bytes(&self) -> u32 {
        u32::try_from(self.begin.len() + self.missing).unwrap_or(u32::MAX)
    }
}

/// Finds the length of a bearer's sequence numbers: they count up by one from packet to packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Length {
    bits: Option<u8>,
    before: Option<[u32; 2]>,
    votes: [u8; 2],
}

impl Length {
    /// A length that is known, or none.
    pub(super) fn known(bits: Option<u8>) -> Self {
        Self { bits, ..Self::default() }
    }

    pub(super) fn bits(&self) -> Option<u8> {
        self.bits
    }

    /// The sequence number of a data PDU; none for a control PDU, and until the length is known.
    /// `follows` is true if no packet is missing before it.
    pub(super) fn number(&mut self, pdu: &[u8], follows: bool) -> Option<u32> {
        let [first, second, third] = *pdu.first_chunk::<3>()?;
        if first & 0x80 == 0 {
            return None;
        }
        let numbers = [
            u32::from_be_bytes([0, 0, first & 0xf, second]),
            u32::from_be_bytes([0, first & 0x3, second, third]),
        ];
        if self.bits.is_none() {
            self.vote(numbers, follows);
        }
        let index = LENGTHS.iter().position(|bits| Some(*bits) == self.bits)?;
        Some(numbers[index])
    }

    fn vote(&mut self, numbers: [u32; 2], follows: bool) {
        let before = self.before.replace(numbers).filter(|_| follows);
        for (index, bits) in LENGTHS.into_iter().enumerate() {
            let next = before.map(|before| (before[index] + 1) & ((1 << bits) - 1));
            let fits = next == Some(numbers[index]);
            self.votes[index] = if fits { self.votes[index] + 1 } else { 0 };
        }
        let winner = (0..2).find(|index| self.votes[*index] >= VOTES && self.votes[1 - index] <= 1);
        self.bits = winner.map(|index| LENGTHS[index]);
        self.votes = self.votes.map(|votes| votes.min(VOTES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PDUs of consecutive numbers; a cipher makes the byte after the header anything.
    fn pdu(bits: u8, sn: u32) -> [u8; 4] {
        let noise = (sn.wrapping_mul(0x9e37_79b9) >> 24) as u8;
        let [_, high, middle, low] = (sn & ((1 << bits) - 1)).to_be_bytes();
        match bits {
            12 => [0x80 | middle, low, noise, noise],
            _ => [0x80 | high, middle, low, noise],
        }
    }

    #[test]
    fn the_length_is_learnt_from_five_packets_at_any_number() {
        for bits in LENGTHS {
            for first in (0..1 << bits).step_by(61) {
                let mut length = Length::default();
                let numbers: Vec<Option<u32>> =
                    (0..5).map(|n| length.number(&pdu(bits, first + n), true)).collect();
                let last = (first + 4) & ((1 << bits) - 1);
                assert_eq!(numbers, [None, None, None, None, Some(last)], "{bits} {first}");
            }
        }
    }

    #[test]
    fn control_pdus_and_gaps_teach_nothing() {
        let mut length = Length::default();
        for n in 0..20 {
            assert_eq!(length.number(&pdu(12, n), n % 3 != 0), None);
            assert_eq!(length.number(&[0x10, 0, 0], true), None, "a status report of PDCP");
        }
        assert_eq!(Length::known(Some(18)).number(&pdu(18, 70_000), false), Some(70_000));
    }
}
