//! BBA-0.
//!
//! Source: Huang, Johari, McKeown, Trunnell, Watson, "A Buffer-Based Approach to Rate Adaptation",
//! SIGCOMM 2014, section 4 and algorithm 1.
//!
//! Controls the rung by the buffer alone: up to the reservoir it takes the lowest, from reservoir
//! plus cushion on the highest, and between them the rate map f is linear. It leaves its rung only
//! where f reaches the next one above or below: then it takes the highest rung below f, or the
//! lowest above.
//!
//! Defaults: reservoir and cushion of Pensieve's buffer-based player (Mao et al. 2017, section
//! 5.1), which has the same ladder and a buffer of 60 s; the paper has 90 s and 126 s of 240 s.
//!
//! Weakness: it knows nothing of the throughput, so it begins at the lowest rung.
//!
//! Deviations: none.

use super::View;
use justfull_base::doc::MethodDoc;
use justfull_base::{Duration, table};
use serde::{Deserialize, Serialize};

table! {
    /// Settings of BBA-0.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct BbaConfig: "Huang et al. 2014" with Default {
        /// Buffer up to which chunks have the lowest bitrate.
        reservoir: Duration = Duration::from_secs(5);
        /// Buffer beyond the reservoir over which the bitrate grows to the highest.
        cushion: Duration = Duration::from_secs(10), above(Duration::ZERO);
    }
}

/// User documentation.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "bba",
    kind: "bitrate adaptation",
    title: "BBA-0: the bitrate grows linearly with the buffer",
    text: "The lowest rung up to `reservoir`, the highest from reservoir plus `cushion` on, a \
           straight line between. The rung changes where the line reaches the next one.",
    sources: "Huang et al., SIGCOMM 2014, algorithm 1; the defaults are those of Mao et al., \
              SIGCOMM 2017 (Pensieve), section 5.1",
    deviations: "none",
    params: BbaConfig::params,
};

pub(super) fn choose(config: &BbaConfig, view: &View<'_>) -> usize {
    let [reservoir, cushion] = [config.reservoir, config.cushion].map(|time| time.as_secs_f64());
    let (ladder, top) = (view.ladder, view.ladder.len() - 1);
    let Some(last) = view.last else { return 0 };
    if view.buffer_s <= reservoir {
        return 0;
    }
    if view.buffer_s >= reservoir + cushion {
        return top;
    }
    let rate = ladder[0] + (ladder[top] - ladder[0]) * (view.buffer_s - reservoir) / cushion;
    if rate >= ladder[(last + 1).min(top)] {
        ladder.iter().rposition(|rung| *rung < rate).unwrap_or(0)
    } else if rate <= ladder[last.saturating_sub(1)] {
        ladder.iter().position(|rung| *rung > rate).unwrap_or(top)
    } else {
        last
    }
}
