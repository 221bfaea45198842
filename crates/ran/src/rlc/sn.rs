//! Sequence numbers: arithmetic modulo 2^bits. A window is half of the space (TS 38.322 and 36.322
//! section 7.2).

/// The SNs of a field of some bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SnSpace {
    mask: u32,
}

impl SnSpace {
    /// Numbers of `bits`, 1 to 31.
    pub(crate) const fn new(bits: u8) -> Self {
        Self { mask: (1 << bits) - 1 }
    }

    /// AM_Window_Size or UM_Window_Size.
    #[inline]
    pub(crate) const fn window(self) -> u32 {
        self.mask.div_ceil(2)
    }

    /// `sn + n`.
    #[inline]
    pub(crate) const fn add(self, sn: u32, n: u32) -> u32 {
        sn.wrapping_add(n) & self.mask
    }

    /// Steps forward from `from` to `to`.
    #[inline]
    pub(crate) const fn distance(self, from: u32, to: u32) -> u32 {
        to.wrapping_sub(from) & self.mask
    }

    /// True if `sn` fits the field.
    #[inline]
    pub(crate) const fn contains(self, sn: u32) -> bool {
        sn <= self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_those_of_section_7_2() {
        for (bits, window) in [(5, 16), (6, 32), (10, 512), (12, 2048), (18, 131_072)] {
            assert_eq!(SnSpace::new(bits).window(), window);
        }
    }

    #[test]
    fn numbers_wrap() {
        let sn = SnSpace::new(6);
        assert_eq!((sn.add(63, 1), sn.distance(63, 0), sn.distance(0, 63)), (0, 1, 63));
        assert!(sn.contains(63) && !sn.contains(64));
    }
}
