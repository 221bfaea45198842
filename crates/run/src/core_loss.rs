//! Random loss between the servers and the UPF.

use justfull_base::{Ratio, Rng};

/// Loses each packet with the same probability, independently of all others.
#[derive(Clone, Debug)]
pub struct CoreLoss {
    share: f64,
    rng: Rng,
}

impl CoreLoss {
    /// The loss of `share` in the run with `seed`; none for a share of 0.
    #[must_use]
    pub fn new(share: Ratio, seed: u64) -> Option<Box<Self>> {
        let lossy = || Self { share: share.0, rng: Rng::stream(seed, "core.loss") };
        (share.0 > 0.0).then(|| Box::new(lossy()))
    }

    /// True if the next packet is lost.
    #[inline]
    pub fn takes_next(&mut self) -> bool {
        self.rng.chance(self.share)
    }
}
