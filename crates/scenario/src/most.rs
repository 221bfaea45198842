//! Bounds of what a scenario requests, for those who run the scenarios of others.

use crate::error::ScenarioError;
use crate::file::MOST;
use crate::grid::MOST_RUNS;
use crate::locator::Locator;
use justfull_queue::{DisciplineConfig, QueueConfig};
use justfull_ran::StackConfig;
use justfull_run::WorldConfig;

/// Bounds of what a scenario requests, checked before its worlds are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Most {
    /// Runs: points of the sweep, methods and seeds together; at most a million.
    pub runs: usize,
    /// UEs of a world, at most a million.
    pub ues: usize,
    /// Flows of a world, at most a million.
    pub flows: usize,
    /// Lanes of all queues of a world, of about 100 B each.
    pub lanes: u64,
    /// Where there is no such bound, in words; empty if there is no such place.
    pub beyond: &'static str,
}

impl Default for Most {
    fn default() -> Self {
        let all = MOST as usize;
        Self { runs: MOST_RUNS, ues: all, flows: all, lanes: u64::MAX, beyond: "" }
    }
}

impl Most {
    /// `most` of `things`, as the allowed values of a number.
    pub(super) fn allowed(&self, most: usize, things: &str) -> String {
        let most = if most == 1_000_000 { "a million".into() } else { most.to_string() };
        let beyond = if self.beyond.is_empty() { "" } else { ": " };
        format!("{most} {things}{beyond}{}", self.beyond)
    }

    /// Checks the bounds that only a whole world shows.
    ///
    /// # Errors
    /// Its queues have too many lanes.
    pub(super) fn check(
        &self,
        world: &WorldConfig,
        locator: &Locator,
    ) -> Result<(), ScenarioError> {
        if self.lanes == u64::MAX {
            return Ok(());
        }
        let up = world.uplink.stack.as_ref().map_or(0, |stack| lanes(&stack.chain));
        let found = lanes(&world.stack).saturating_add(up);
        if found <= self.lanes {
            return Ok(());
        }
        let allowed =
            self.allowed(usize::try_from(self.lanes).unwrap_or(usize::MAX), "lanes of all queues");
        Err(locator.plain("ue", &format!("{found} lanes of queues"), &format!("at most {allowed}")))
    }
}

/// Lanes of all queues of `stack`.
fn lanes(stack: &StackConfig) -> u64 {
    let sum = |ue: &justfull_ran::UeConfig| {
        let own =
            ue.qos_flows.iter().map(|flow| flow.queue.as_deref().unwrap_or(&stack.sdap.queue));
        let of_flows: u64 = own.map(of_queue).sum();
        of_queue(&stack.upf.queue) + of_flows + u64::from(ue.drbs) * of_queue(&stack.rlc.queue)
    };
    stack.ues.iter().map(|ue| sum(ue)).fold(0, u64::saturating_add)
}

/// Lanes of one queue.
fn of_queue(queue: &QueueConfig) -> u64 {
    match &queue.discipline {
        DisciplineConfig::FqCoDel(fq) => fq.lanes.into(),
        DisciplineConfig::Sfq(sfq) => sfq.lanes.into(),
        DisciplineConfig::Lanes(lanes) => 2 * u64::from(lanes.lanes),
        _ => 0,
    }
}
