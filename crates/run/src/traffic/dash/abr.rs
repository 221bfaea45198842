//! Bitrate adaptation: which rung of the ladder the next chunk of a video has.

mod bba;
mod bola;
mod mpc;
mod throughput;

pub use bba::BbaConfig;
pub use bola::BolaConfig;
pub use mpc::MpcConfig;
pub use throughput::ThroughputConfig;

use justfull_base::doc::MethodDoc;
use justfull_base::kinds_config;
use std::collections::VecDeque;

/// The description of every kind.
pub const DOCS: &[&MethodDoc] = &[&bola::DOC, &bba::DOC, &mpc::DOC, &throughput::DOC];

kinds_config! {
    serde;
    /// The bitrate adaptation of a player.
    #[derive(Clone, Debug, PartialEq)]
    pub enum AbrConfig(DOCS);
    "bola" Bola = BolaConfig;
    "bba" Bba = BbaConfig;
    "mpc" Mpc = MpcConfig;
    "throughput" Throughput = ThroughputConfig;
}

impl Default for AbrConfig {
    fn default() -> Self {
        Self::Bola(BolaConfig::default())
    }
}

/// The state of a player that is about to request a chunk.
pub(super) struct View<'a> {
    /// Bitrates in Mbit/s, ascending, at least two.
    pub(super) ladder: &'a [f64],
    /// Length of a chunk in s.
    pub(super) chunk_s: f64,
    /// Most video in the buffer just before a request, in s.
    pub(super) most_s: f64,
    /// Video in the buffer, in s.
    pub(super) buffer_s: f64,
    /// Rung of the last chunk; none before the first.
    pub(super) last: Option<usize>,
    /// Throughputs of the last chunks.
    pub(super) history: &'a History,
    /// Penalties of the quality of experience: for a second of stall and for a change by 1 Mbit/s.
    pub(super) penalties: [f64; 2],
}

impl AbrConfig {
    /// The rung of the next chunk.
    pub(super) fn choose(&self, view: &View<'_>) -> usize {
        match self {
            Self::Bola(config) => bola::choose(config, view),
            Self::Bba(config) => bba::choose(config, view),
            Self::Mpc(config) => mpc::choose(config, view),
            Self::Throughput(config) => throughput::choose(config, view),
        }
    }
}

/// Number of the last chunks whose throughput counts (Yin et al. 2015, section 7.1).
const LAST: usize = 5;

/// Throughputs of the last chunks in Mbit/s, and the errors of their predictions.
#[derive(Clone, Debug)]
pub(super) struct History {
    throughputs: VecDeque<f64>,
    errors: VecDeque<f64>,
}

impl History {
    pub(super) fn new() -> Self {
        let [throughputs, errors] = [(); 2].map(|()| VecDeque::with_capacity(LAST));
        Self { throughputs, errors }
    }

    /// A chunk arrived at `mbit_s`.
    pub(super) fn push(&mut self, mbit_s: f64) {
        if let Some(predicted) = self.predicted() {
            push(&mut self.errors, (predicted - mbit_s).abs() / mbit_s);
        }
        push(&mut self.throughputs, mbit_s);
    }

    /// The harmonic mean of the last throughputs; none before the first chunk.
    pub(super) fn predicted(&self) -> Option<f64> {
        let slowness: f64 = self.throughputs.iter().map(|mbit_s| 1.0 / mbit_s).sum();
        (slowness > 0.0).then(|| self.throughputs.len() as f64 / slowness)
    }

    /// The greatest relative error of the last predictions.
    fn error(&self) -> f64 {
        self.errors.iter().copied().fold(0.0, f64::max)
    }
}

fn push(last: &mut VecDeque<f64>, value: f64) {
    if last.len() == LAST {
        last.pop_front();
    }
    last.push_back(value);
}

#[cfg(test)]
mod tests;
