//! BOLA-BASIC.
//!
//! Source: Spiteri, Urgaonkar, Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online
//! Videos", INFOCOM 2016, sections III and V.
//!
//! Controls the rung by the buffer alone: with Q chunks in the buffer it takes the rung m that
//! maximises (V (v_m + gp) - Q) / S_m, where S_m is the size of a chunk and v_m = ln(S_m / S_1).
//!
//! V and gp follow from two levels of the buffer: at Q_low the first two rungs are equal, at Q_max
//! no chunk is requested. With a = (S_1 v_2 - S_2 v_1) / (S_2 - S_1) that is
//! V = (Q_max - Q_low) / (v_M + a) and gp = Q_max / V - v_M.
//!
//! Weaknesses: it begins at the lowest rung and climbs with the buffer, and it alternates between
//! two rungs where the throughput is between them.
//!
//! Deviations: no BOLA-FINITE (V that grows from the first chunk on), no BOLA-U or BOLA-O, and no
//! chunk is given up.

use super::View;
use justfull_base::doc::MethodDoc;
use justfull_base::{Duration, table};
use serde::{Deserialize, Serialize};

table! {
    /// Settings of BOLA.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct BolaConfig: "Spiteri et al. 2016" with Default {
        /// Buffer below which all chunks have the lowest bitrate.
        low: Duration = Duration::from_secs(10), stated("above 0, below dash.buffer less a chunk");
    }
}

/// User documentation.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "bola",
    kind: "bitrate adaptation",
    title: "BOLA: the bitrate follows from the buffer, by Lyapunov optimisation",
    text: "With Q chunks in the buffer it takes the rung m that maximises (V (v_m + gp) - Q) / \
           S_m, with sizes S_m and utilities v_m = ln(S_m / S_1). V and gp are such that the \
           first two rungs are equal at `low`, and that no chunk is wanted where a further one \
           would overfill the buffer.",
    sources: "Spiteri, Urgaonkar, Sitaraman, INFOCOM 2016 (BOLA-BASIC)",
    deviations: "no BOLA-FINITE, BOLA-U or BOLA-O; a chunk is never given up",
    params: BolaConfig::params,
};

pub(super) fn choose(config: &BolaConfig, view: &View<'_>) -> usize {
    let utility = |mbit_s: f64| libm::log(mbit_s / view.ladder[0]);
    let [first, second] = [view.ladder[0], view.ladder[1]];
    let top = utility(view.ladder[view.ladder.len() - 1]);
    let [low, most, now] =
        [config.low.as_secs_f64(), view.most_s, view.buffer_s].map(|s| s / view.chunk_s);
    let v = (most - low) / (top + first * utility(second) / (second - first));
    let gp = most / v - top;
    let score = |mbit_s: f64| (v * (utility(mbit_s) + gp) - now) / mbit_s;
    let mut best = 0;
    for rung in 1..view.ladder.len() {
        if score(view.ladder[rung]) > score(view.ladder[best]) {
            best = rung;
        }
    }
    best
}
