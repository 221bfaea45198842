//! Model predictive control, robust or not.
//!
//! Source: Yin, Jindal, Sekar, Sinopoli, "A Control-Theoretic Approach for Dynamic Adaptive Video
//! Streaming over HTTP", SIGCOMM 2015, sections 3.3, 4 and 5.
//!
//! Controls the rung by a plan: of all sequences of rungs for the next `horizon` chunks it takes
//! the one with the greatest quality of experience at the predicted throughput, and requests the
//! first chunk of it. The prediction is the harmonic mean of the last five throughputs; RobustMPC
//! divides it by 1 + e, where e is the greatest relative error of the last five predictions.
//!
//! The buffer of the plan: a chunk of d Mbit at c Mbit/s takes d / c; what is missing in the buffer
//! is a stall; then it grows by a chunk, and waits where it is full.
//!
//! Weakness: an exhaustive search, so it costs rungs^horizon plans a chunk, at most 100 000; plans
//! that cannot beat the best one are left early.
//!
//! Deviations: none of the rule; the lowest rung while there is no throughput.

use super::View;
use justfull_base::doc::MethodDoc;
use justfull_base::table;
use serde::{Deserialize, Serialize};

table! {
    /// Settings of model predictive control.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct MpcConfig: "Yin et al. 2015" with Default {
        /// Chunks of a plan.
        horizon: u32 as "chunks" = 5,
            within(1, 6), "at most 100 000 plans: 4 chunks with 16 bitrates";
        /// Lower the prediction by the greatest of its last errors.
        robust: bool = true;
    }
}

/// User documentation.
pub(super) const DOC: MethodDoc = MethodDoc {
    name: "mpc",
    kind: "bitrate adaptation",
    title: "Model predictive control: the best plan for the next chunks",
    text: "Of all plans for the next `horizon` chunks it takes the one with the greatest quality \
           of experience at the predicted throughput: the harmonic mean of the last five, which \
           RobustMPC divides by one plus the greatest error of the last five predictions.",
    sources: "Yin et al., SIGCOMM 2015",
    deviations: "the lowest bitrate before the first throughput is known",
    params: MpcConfig::params,
};

/// Qualities that differ by at most this value are equal. At the last chunk of a plan a higher rung
/// costs as much as it gains, and rounding must not decide. MPC then takes the plan with the
/// lowest rungs.
const EQUAL: f64 = 1e-9;

/// A search among plans.
struct Search<'a> {
    view: &'a View<'a>,
    mbit_s: f64,
    best: f64,
    /// First rung of the best plan.
    rung: usize,
}

/// The plan as far as it goes.
#[derive(Clone, Copy)]
struct Plan {
    /// Chunks that are left to plan.
    left: u32,
    buffer_s: f64,
    /// Bitrate of the chunk before.
    last: f64,
    /// Rung of its first chunk; none while it is empty.
    first: Option<usize>,
    quality: f64,
}

impl Search<'_> {
    /// Tries all continuations of `plan`, from the lowest rung up.
    fn try_all(&mut self, plan: Plan) {
        if plan.left == 0 {
            if plan.quality > self.best + EQUAL {
                (self.best, self.rung) = (plan.quality, plan.first.unwrap_or(0));
            }
            return;
        }
        let View { ladder, chunk_s, most_s, penalties: [stall, change], .. } = *self.view;
        let top = ladder[ladder.len() - 1];
        if plan.quality + f64::from(plan.left) * top <= self.best + EQUAL {
            return;
        }
        for (rung, rate) in ladder.iter().enumerate() {
            let takes = rate * chunk_s / self.mbit_s;
            let missing = (takes - plan.buffer_s).max(0.0);
            self.try_all(Plan {
                left: plan.left - 1,
                buffer_s: ((plan.buffer_s - takes).max(0.0) + chunk_s).min(most_s),
                last: *rate,
                first: plan.first.or(Some(rung)),
                quality: plan.quality + rate - stall * missing - change * (rate - plan.last).abs(),
            });
        }
    }
}

pub(super) fn choose(config: &MpcConfig, view: &View<'_>) -> usize {
    let (Some(predicted), Some(last)) = (view.history.predicted(), view.last) else { return 0 };
    let error = if config.robust { view.history.error() } else { 0.0 };
    let mbit_s = predicted / (1.0 + error);
    let mut search = Search { view, mbit_s, best: f64::NEG_INFINITY, rung: 0 };
    search.try_all(Plan {
        left: config.horizon,
        buffer_s: view.buffer_s,
        last: view.ladder[last],
        first: None,
        quality: 0.0,
    });
    search.rung
}
