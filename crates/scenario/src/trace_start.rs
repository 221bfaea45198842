//! The start of a run in its trace.

use justfull_base::Duration;
use justfull_base::param::{Form, Param};
use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceStart {
    /// This long after the trace's start.
    At(Duration),
    /// By the run's seed, such that consecutive seeds are spread over the whole trace.
    Spread,
}

impl Default for TraceStart {
    fn default() -> Self {
        Self::At(Duration::ZERO)
    }
}

impl Param for TraceStart {
    const UNIT: &'static str = "time or \"spread\"";

    fn form() -> Form {
        Form::OneOf(vec![Form::Choice(vec!["spread"]), Duration::form()])
    }

    fn written(&self) -> String {
        match self {
            Self::At(time) => time.written(),
            Self::Spread => "spread".into(),
        }
    }
}

impl Serialize for TraceStart {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&self.written())
    }
}

impl<'de> Deserialize<'de> for TraceStart {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = String::deserialize(d)?;
        if text == "spread" {
            return Ok(Self::Spread);
        }
        let expected = "\"spread\" or a time such as \"30s\"";
        text.parse()
            .map(Self::At)
            .map_err(|_| D::Error::invalid_value(Unexpected::Str(&text), &expected))
    }
}

/// The fractional part of the golden ratio times 2^64: its multiples modulo one are spread evenly
/// for any number of them (Weyl, 1916).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl TraceStart {
    /// The first row of the run with `seed`, of `rows` rows of length `row`; none beyond the last.
    pub(super) fn row(self, seed: u64, rows: usize, row: Duration) -> Option<usize> {
        let first = match self {
            Self::At(time) => time.as_nanos() / row.as_nanos().max(1),
            Self::Spread => {
                let part = u128::from(seed.wrapping_sub(1).wrapping_mul(GOLDEN));
                ((part * rows as u128) >> 64) as u64
            }
        };
        usize::try_from(first).ok().filter(|first| *first < rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn seeds_in_a_row_are_spread_over_the_whole_trace() {
        assert_eq!(TraceStart::Spread.row(1, 184, SECOND), Some(0));
        for (first, seeds) in [(1_u64, 3_u64), (1, 5), (7, 8), (900, 20), (u64::MAX - 2, 6)] {
            let mut begins: Vec<usize> = (0..seeds)
                .map(|i| TraceStart::Spread.row(first.wrapping_add(i), 1000, SECOND))
                .collect::<Option<_>>()
                .expect("within the trace");
            begins.sort_unstable();
            let around = begins[0] + 1000 - begins[begins.len() - 1];
            let gaps = begins.windows(2).map(|pair| pair[1] - pair[0]).chain([around]);
            let (least, most) = gaps.fold((1000, 0), |(a, b), gap| (a.min(gap), b.max(gap)));
            // The gaps of a golden section differ at most by its square (three gap theorem).
            assert!(most <= 3 * least && most <= 3000 / seeds as usize, "{begins:?}");
        }
    }
}
