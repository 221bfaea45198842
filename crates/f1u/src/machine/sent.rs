//! The data that a CU-UP has sent on a bearer: the sum of bytes up to each PDCP sequence number.

/// Sequence numbers remembered at first, and at most: 6 MB in packets of 750 bytes. Never more than
/// half of all numbers, PDCP's window: the other half is not sent yet.
const FIRST: usize = 64;
pub(super) const MOST: usize = 8_192;
/// A jump forward by more than this is a new begin.
const GAP: u32 = 1_024;
/// How far back a packet that was overtaken still counts.
const LATE: u32 = 64;

/// Sums of bytes by sequence number. Sums wrap at 2^32 bytes; differences of two that are
/// remembered do not.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    /// The sum up to and with each of the last `known` sequence numbers, at the number modulo the
    /// length, a power of two.
    sums: Vec<u32>,
    known: u32,
    last: u32,
    /// Sequence numbers count modulo this and one more.
    mask: u32,
}

/// The effect of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    Counted,
    /// Nothing: it came twice, or much too late.
    Ignored,
    /// It is the first of a new sequence.
    Begun,
}

impl Sent {
    /// For sequence numbers of `bits` bits.
    pub(super) fn new(bits: u8) -> Self {
        Self { sums: Vec::new(), known: 0, last: 0, mask: (1 << bits) - 1 }
    }

    /// Bytes of memory beside the value itself.
    pub(super) fn heap(&self) -> usize {
        self.sums.capacity() * size_of::<u32>()
    }

    fn place(&self, sn: u32) -> usize {
        sn as usize & (self.sums.len() - 1)
    }

    /// How far `sn` is behind the last; none if it is not remembered.
    pub(super) fn behind(&self, sn: u32) -> Option<u32> {
        let distance = self.last.wrapping_sub(sn) & self.mask;
        (distance < self.known).then_some(distance)
    }

    /// The sum of bytes up to and with `sn`, if it is remembered.
    pub(super) fn up_to(&self, sn: u32) -> Option<u32> {
        self.behind(sn).map(|_| self.sums[self.place(sn)])
    }

    /// The sum of all bytes.
    pub(super) fn total(&self) -> u32 {
        self.up_to(self.last).unwrap_or(0)
    }

    /// A packet of `bytes` with the number `sn`. `needed` is true for a number that must be kept.
    pub(super) fn push(
        &mut self,
        sn: u32,
        bytes: u32,
        needed: impl Fn(&Self, u32) -> bool,
    ) -> Pushed {
        if self.known == 0 {
            return self.begin(sn, bytes);
        }
        let ahead = sn.wrapping_sub(self.last) & self.mask;
        let behind = self.last.wrapping_sub(sn) & self.mask;
        if ahead == 0 {
            return Pushed::Ignored;
        }
        if ahead <= GAP {
            for number in 1..=ahead {
                let sum = self.total().wrapping_add(if number == ahead { bytes } else { 0 });
                self.append(sum, &needed);
            }
            return Pushed::Counted;
        }
        if behind >= self.known {
            return self.begin(sn, bytes);
        }
        self.late(sn, behind, bytes)
    }

    fn begin(&mut self, sn: u32, bytes: u32) -> Pushed {
        if self.sums.is_empty() {
            self.sums = vec![0; FIRST];
        }
        let before = self.total();
        (self.last, self.known) = (sn & self.mask, 1);
        let place = self.place(self.last);
        self.sums[place] = before.wrapping_add(bytes);
        Pushed::Begun
    }

    fn append(&mut self, sum: u32, needed: &impl Fn(&Self, u32) -> bool) {
        if self.known as usize == self.sums.len() {
            let oldest = self.last.wrapping_sub(self.known - 1) & self.mask;
            let most = MOST.min(self.mask as usize / 2 + 1);
            if self.sums.len() < most && needed(self, oldest) {
                self.grow();
            } else {
                self.known -= 1;
            }
        }
        self.last = (self.last + 1) & self.mask;
        let place = self.place(self.last);
        self.sums[place] = sum;
        self.known += 1;
    }

    fn grow(&mut self) {
        let mut longer = Self { sums: vec![0; self.sums.len() * 2], ..*self };
        for distance in 0..self.known {
            let sn = self.last.wrapping_sub(distance) & self.mask;
            let place = longer.place(sn);
            longer.sums[place] = self.sums[self.place(sn)];
        }
        *self = longer;
    }

    /// A packet that others overtook: its place has the sum of the number before it.
    fn late(&mut self, sn: u32, behind: u32, bytes: u32) -> Pushed {
        let before = self.up_to(sn.wrapping_sub(1) & self.mask);
        if behind > LATE || before.is_none() || before != self.up_to(sn) {
            return Pushed::Ignored;
        }
        for distance in 0..=behind {
            let place = self.place(self.last.wrapping_sub(distance) & self.mask);
            self.sums[place] = self.sums[place].wrapping_add(bytes);
        }
        Pushed::Counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn never(_: &Sent, _: u32) -> bool {
        false
    }

    #[test]
    fn sums_follow_gaps_late_packets_and_a_wrap() {
        let mut sent = Sent::new(12);
        assert_eq!(sent.push(4_094, 100, never), Pushed::Begun);
        assert_eq!(sent.push(4_095, 10, never), Pushed::Counted);
        assert_eq!(sent.push(2, 5, never), Pushed::Counted);
        assert_eq!(
            [4_094, 4_095, 0, 1, 2].map(|sn| sent.up_to(sn)),
            [Some(100), Some(110), Some(110), Some(110), Some(115)]
        );
        assert_eq!(sent.push(1, 7, never), Pushed::Counted);
        assert_eq!([0, 1, 2].map(|sn| sent.up_to(sn)), [Some(110), Some(117), Some(122)]);
        assert_eq!(sent.push(1, 7, never), Pushed::Ignored, "it came twice");
        assert_eq!((sent.up_to(3), sent.up_to(4_093), sent.total()), (None, None, 122));
        assert_eq!(sent.push(2_000, 50, never), Pushed::Begun, "a new sequence");
        assert_eq!((sent.up_to(2), sent.total()), (None, 172));
    }

    #[test]
    fn it_grows_while_numbers_are_needed_and_no_further_than_its_bound() {
        let mut sent = Sent::new(18);
        for sn in 0..20_000 {
            sent.push(sn, 1, |_, _| true);
        }
        assert_eq!((sent.heap(), sent.behind(20_000 - 8_192)), (MOST * 4, Some(8_191)));
        assert_eq!((sent.behind(20_000 - 8_193), sent.total()), (None, 20_000));
        let mut short = Sent::new(12);
        for sn in 0..20_000 {
            short.push(sn & 0xfff, 1, |_, _| true);
        }
        assert_eq!((short.behind(short.last), short.behind(short.last + 1)), (Some(0), None));
        assert_eq!((short.heap(), short.total()), (2_048 * 4, 20_000));
        let mut small = Sent::new(18);
        for sn in 0..20_000 {
            small.push(sn, 1, never);
        }
        assert_eq!((small.heap(), small.total()), (FIRST * 4, 20_000));
    }
}
