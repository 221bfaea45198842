//! The rate-based player.
//!
//! Source: the rate-based player of Mao, Netravali, Alizadeh, "Neural Adaptive Video Streaming with
//! Pensieve", SIGCOMM 2017, section 5.1.
//!
//! Controls the rung by the throughput alone: it takes the highest rung that is at most `share` of
//! the harmonic mean of the throughputs of the last five chunks. It begins at the lowest.
//!
//! Weakness: a chunk that ends within slow start has a throughput below the path's, and a bearer
//! that is idle between chunks shows other rates than a busy one.
//!
//! Deviations: none.

use super::View;
use justfull_base::doc::MethodDoc;
use justfull_base::{Ratio, table};
use serde::{Deserialize, Serialize};

table! {
    /// Settings of the rate-based player.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ThroughputConfig: "Mao et al. 2017" with Default {
        /// Share of the predicted throughput that a chunk may take.
        share: Ratio = Ratio(1.0), within(Ratio(0.1), Ratio(1.0));
    }
}

/// User documentation.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "throughput",
    kind: "bitrate adaptation",
    title: "The highest bitrate that the last chunks' throughput allows",
    text: "Predicts the harmonic mean of the throughputs of the last five chunks and takes the \
           highest rung of at most `share` of it.",
    sources: "Mao et al., SIGCOMM 2017 (Pensieve), section 5.1, rate-based",
    deviations: "none",
    params: ThroughputConfig::params,
};

pub(super) fn choose(config: &ThroughputConfig, view: &View<'_>) -> usize {
    let most = view.history.predicted().map_or(0.0, |mbit_s| mbit_s * config.share.0);
    view.ladder.iter().rposition(|rung| *rung <= most).unwrap_or(0)
}
