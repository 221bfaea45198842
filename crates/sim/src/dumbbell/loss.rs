//! Random and deterministic losses on the wire.

use justfull_base::error::ensure;
use justfull_base::{ConfigError, Rng};

/// Losses behind the bottleneck, counted from 1 over the packets of one flow, including
/// retransmissions.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Loss {
    /// No loss.
    #[default]
    Never,
    /// Every n-th packet: the periodic loss of the square-root law (Mathis et al. 1997 section 2).
    Every(u64),
    /// Each packet with this probability, independently; 0 to 1.
    Random(f64),
    /// The packets with these numbers, in ascending order.
    Listed(Vec<u64>),
}

impl Loss {
    /// Checks the bounds.
    ///
    /// # Errors
    /// A period of 0, a probability outside 0 to 1, or a list that does not ascend.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            Self::Never => Ok(()),
            Self::Every(n) => {
                ensure(*n >= 2, "loss.every", n, "at least 2", "some packet must arrive")
            }
            Self::Random(p) => ensure(
                (0.0..1.0).contains(p),
                "loss.random",
                p,
                "0 up to 1",
                "some packet must arrive",
            ),
            Self::Listed(list) => {
                let rises =
                    list.windows(2).all(|pair| pair[0] < pair[1]) && list.first() != Some(&0);
                ensure(
                    rises,
                    "loss.listed",
                    &list.len(),
                    "rising numbers from 1",
                    "packets are counted from 1",
                )
            }
        }
    }
}

/// Loss state of a flow.
pub(super) struct LossState {
    rule: Rule,
    sent: u64,
}

enum Rule {
    Never,
    Every(u64),
    Random(f64, Rng),
    /// The remaining numbers, the next one last.
    Listed(Vec<u64>),
}

impl LossState {
    /// The state of losses by `loss`; random losses draw from the stream of this `name`.
    pub(super) fn new(loss: &Loss, seed: u64, name: &str, flow: usize) -> Self {
        let rule = match loss {
            Loss::Never => Rule::Never,
            Loss::Every(n) => Rule::Every(*n),
            Loss::Random(p) => Rule::Random(*p, Rng::stream(seed, &format!("{name}.{flow}"))),
            Loss::Listed(list) => Rule::Listed(list.iter().rev().copied().collect()),
        };
        Self { rule, sent: 0 }
    }

    /// True if the flow's next packet is lost.
    #[inline]
    pub(super) fn takes_next(&mut self) -> bool {
        self.sent += 1;
        match &mut self.rule {
            Rule::Never => false,
            Rule::Every(n) => self.sent.is_multiple_of(*n),
            Rule::Random(p, rng) => rng.chance(*p),
            Rule::Listed(left) => {
                let due = left.last() == Some(&self.sent);
                if due {
                    left.pop();
                }
                due
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(loss: &Loss, packets: u64) -> Vec<u64> {
        let mut state = LossState::new(loss, 7, "loss", 0);
        (1..=packets).filter(|_| state.takes_next()).collect()
    }

    #[test]
    fn periodic_and_listed_losses_take_exactly_their_packets() {
        assert_eq!(lost(&Loss::Every(4), 12), [4, 8, 12]);
        assert_eq!(lost(&Loss::Listed(vec![1, 5, 6]), 12), [1, 5, 6]);
        assert!(lost(&Loss::Never, 1000).is_empty());
    }

    #[test]
    fn random_losses_have_their_share_and_differ_between_flows_and_seeds() {
        let count = lost(&Loss::Random(0.1), 100_000).len();
        // Four standard deviations of a binomial count.
        assert!(count.abs_diff(10_000) < 380, "{count}");
        let mut other = LossState::new(&Loss::Random(0.1), 7, "loss", 1);
        let second: Vec<u64> = (1..=1000).filter(|_| other.takes_next()).collect();
        assert_ne!(second, lost(&Loss::Random(0.1), 1000));
    }

    #[test]
    fn losses_that_let_nothing_through_or_do_not_rise_are_refused() {
        for bad in
            [Loss::Every(1), Loss::Random(1.0), Loss::Listed(vec![2, 2]), Loss::Listed(vec![0])]
        {
            assert!(bad.validate().is_err(), "{bad:?}");
        }
        assert!(Loss::Listed(Vec::new()).validate().is_ok());
    }
}
