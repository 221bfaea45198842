//! Resource block groups: the units in which a scheduler allocates a carrier (allocation type 0).

/// How a carrier or bandwidth part divides into groups.
///
/// Groups are aligned to the carrier's grid: the first has `size - start mod size` blocks, the last
/// has the rest (TS 36.213 section 7.1.6.1; TS 38.214 section 5.1.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RbgLayout {
    /// First resource block of the bandwidth part modulo the group size.
    offset: u16,
    n_rb: u16,
    size: u16,
}

impl RbgLayout {
    /// Groups of `size` blocks over the `n_rb` blocks that begin at block `start` of the carrier.
    ///
    /// None when `n_rb` or `size` is 0, or when the last block's number does not fit 16 bits.
    #[must_use]
    pub const fn new(start: u16, n_rb: u16, size: u16) -> Option<Self> {
        if n_rb == 0
            || size == 0
            || start.checked_add(n_rb).is_none()
            || n_rb.checked_add(size).is_none()
        {
            return None;
        }
        Some(Self { offset: start % size, n_rb, size })
    }

    /// Number of groups.
    #[must_use]
    pub const fn count(&self) -> u16 {
        (self.n_rb + self.offset).div_ceil(self.size)
    }

    /// Resource blocks of all groups together.
    #[must_use]
    pub const fn n_rb(&self) -> u16 {
        self.n_rb
    }

    /// Resource blocks of group `index`; 0 beyond the last.
    #[must_use]
    pub const fn prbs(&self, index: u16) -> u16 {
        if index >= self.count() {
            return 0;
        }
        self.edge(index + 1) - self.edge(index)
    }

    /// First block of group `index`, counted from the start of the part.
    const fn edge(&self, index: u16) -> u16 {
        let edge = (index as u32 * self.size as u32).saturating_sub(self.offset as u32);
        if edge < self.n_rb as u32 { edge as u16 } else { self.n_rb }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_add_up_to_the_carrier_and_only_the_outer_two_are_short() {
        for (start, n_rb, size) in
            [(0, 25, 2), (0, 100, 4), (7, 51, 4), (3, 1, 16), (5, 273, 16), (8, 16, 8)]
        {
            let layout = RbgLayout::new(start, n_rb, size).unwrap();
            let groups: std::vec::Vec<u16> = (0..layout.count()).map(|i| layout.prbs(i)).collect();
            assert_eq!(groups.iter().sum::<u16>(), n_rb, "{layout:?}");
            assert!(groups.iter().all(|&g| g > 0 && g <= size), "{groups:?}");
            assert!(groups.iter().skip(1).rev().skip(1).all(|&g| g == size), "{groups:?}");
            assert_eq!(layout.prbs(layout.count()), 0);
        }
    }

    #[test]
    fn the_first_group_ends_at_a_multiple_of_the_size() {
        let layout = RbgLayout::new(7, 51, 4).unwrap();
        assert_eq!((layout.prbs(0), layout.prbs(1), layout.count()), (1, 4, 14));
    }

    #[test]
    fn an_empty_carrier_has_no_layout() {
        assert_eq!(RbgLayout::new(0, 0, 2), None);
        assert_eq!(RbgLayout::new(0, 25, 0), None);
        assert_eq!(RbgLayout::new(u16::MAX, 25, 2), None);
    }
}
