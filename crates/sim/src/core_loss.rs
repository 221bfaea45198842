//! Random loss between the servers and the UPF.

use crate::world::WorldConfig;
use justfull_base::Rng;

/// Loses each packet with the same probability, independently of all others.
#[derive(Clone, Debug)]
pub struct CoreLoss {
    share: f64,
    rng: Rng,
}

impl CoreLoss {
    /// The loss that `config` asks for; none for a share of 0.
    #[must_use]
    pub fn new(config: &WorldConfig) -> Option<Box<Self>> {
        let share = config.core_loss.0;
        let rng = Rng::stream(config.stack.seed, "core.loss");
        (share > 0.0).then(|| Box::new(Self { share, rng }))
    }

    /// True when the next packet is lost.
    pub fn takes_next(&mut self) -> bool {
        self.rng.chance(self.share)
    }
}
