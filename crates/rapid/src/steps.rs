//! The steps of a window in whole segments, as its flow's allocation changes.

/// Distance of an interval's ends from the steps, in bytes. Windows below [`LARGEST`] have rounding
/// errors of less than a thousandth of this.
const MARGIN: f64 = 1e-3;
/// Larger windows have no interval.
const LARGEST: u64 = 1 << 29;

/// The steps around a window: the window stays while `gain` times the amount plus `offset` is
/// within `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    gain: f64,
    offset: f64,
    from: f64,
    to: f64,
}

impl Steps {
    /// The steps around a window of whole segments, at least `floor`. Windows of radio legs round
    /// up (`round_up`). None if the window is too large.
    pub(crate) fn around(
        window: u64,
        floor: u64,
        mss: u32,
        round_up: bool,
        gain: f64,
        offset: f64,
    ) -> Option<Self> {
        if window >= LARGEST {
            return None;
        }
        let mss = u64::from(mss);
        let segments = window / mss * mss;
        // The largest and smallest whole bytes of this window, before rounding to segments.
        let (least, most) = match round_up {
            true => ((segments + 1).saturating_sub(mss), segments),
            false => (segments, segments + mss - 1),
        };
        let from = if window <= floor { f64::NEG_INFINITY } else { least as f64 };
        Some(Self { gain, offset, from, to: (most + 1) as f64 })
    }

    /// The least and the largest allocation.
    pub(crate) fn interval(self) -> [f64; 2] {
        let amount = |bytes: f64| (bytes - self.offset) / self.gain;
        [amount(self.from + MARGIN), amount(self.to - MARGIN)]
    }
}
