//! `reproduce --live`: one run of a claim's scenario.

use super::{Beside, Chosen, proxy_of_method, run};
use crate::failure::Failure;
use crate::terminal::say;
use justfull_base::Duration;
use justfull_lab::claims::ClaimsError;
use justfull_live::driver::LiveOptions;
use justfull_live::lateness::Limit;
use justfull_live::session::Session;
use justfull_net::privilege;
use justfull_run::results::RunResult;
use justfull_scenario::{Job, Scenario};
use std::sync::{Condvar, Mutex, PoisonError};

/// Times that a run is made until this machine was not late in it; the last one counts.
const TRIES: u32 = 2;

/// Time between readings of the interfaces, of a path of 50 ms. Shorter ones of several runs at
/// once leave the proxies too little of two cores.
const READ: Duration = Duration::from_millis(1);

/// Most bytes of a receive buffer: the kernels' default when the paper was written, and until
/// Linux 6.16, which has 32 MiB. With those, downloads of several runs through proxies without
/// windows take more memory than `net.ipv4.tcp_mem` allows all TCP of a machine.
pub(super) const RECEIVE_BUFFER: u32 = 6 << 20;

/// Flows of all runs at the same time: through a proxy without windows each holds up to some 20 MB
/// of the kernel's memory of TCP, which a machine with 4 GiB of memory has for no more.
const FLOWS_AT_ONCE: usize = 16;

/// Flows of the runs that are under way.
static FLOWS: Mutex<usize> = Mutex::new(0);
/// A run has ended.
static ENDED: Condvar = Condvar::new();

/// The place of a run among others; it goes with its owner.
struct Place {
    flows: usize,
}

impl Place {
    /// Waits until there is one for a run of `flows`, of which more than all count as all.
    fn take(flows: usize) -> Self {
        let flows = flows.min(FLOWS_AT_ONCE);
        let taken = FLOWS.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |taken: &mut usize| *taken + flows > FLOWS_AT_ONCE;
        let mut taken = ENDED.wait_while(taken, full).unwrap_or_else(PoisonError::into_inner);
        *taken += flows;
        Self { flows }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        *FLOWS.lock().unwrap_or_else(PoisonError::into_inner) -= self.flows;
        ENDED.notify_all();
    }
}

/// Takes the right to build networks, before there is a thread.
pub(crate) fn prepare() -> Result<(), Failure> {
    privilege().map(drop).map_err(|e| Failure::usage(&e))
}

/// Runs `job` live: with the proxy where its method names a control. None when it was interrupted.
pub(crate) fn one(scenario: &Scenario, job: &Job) -> Result<Option<RunResult>, ClaimsError> {
    let failed = |what: String| {
        ClaimsError::Run(format!("{}, {}, seed {}: {what}", scenario.name, job.method, job.seed))
    };
    let config = scenario.world(job)?;
    let _place = Place::take(config.flows.len());
    let chosen = Chosen { scenario, job: job.clone(), config };
    let session =
        Session { own_flows: true, receive_buffer: Some(RECEIVE_BUFFER), ..Session::default() };
    let mut left = TRIES;
    loop {
        left -= 1;
        let proxy = proxy_of_method(&chosen).map_err(failed)?;
        let mut beside = Beside { proxy, ..Beside::alone() };
        let give_up = (left > 0).then_some(Limit::LATE);
        let options = LiveOptions { give_up, read: READ, ..LiveOptions::default() };
        let (outcome, _files) = run(&session, &chosen, &options, true, &mut beside)
            .map_err(|error| failed(error.to_string()))?;
        if outcome.interrupted {
            return Ok(None);
        }
        if let Some(fault) = outcome.report.fault {
            return Err(failed(fault));
        }
        if !outcome.report.late() || left == 0 {
            return Ok(Some(outcome.result));
        }
        let what = if outcome.report.tcp_was_short { "short of TCP memory" } else { "late" };
        say(&format!("{}, {}, seed {}: {what}; once more", scenario.name, job.method, job.seed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    #[test]
    fn runs_wait_for_each_other_and_the_largest_run_alone() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for flows in [2, 40, 9, 16, 2, 7, 8, 1] {
                let (now, most) = (&now, &most);
                scope.spawn(move || {
                    let _place = Place::take(flows);
                    let flows = flows.min(FLOWS_AT_ONCE);
                    let all = now.fetch_add(flows, Ordering::SeqCst) + flows;
                    most.fetch_max(all, Ordering::SeqCst);
                    thread::yield_now();
                    now.fetch_sub(flows, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.into_inner(), FLOWS_AT_ONCE);
        assert_eq!(*FLOWS.lock().expect("no thread has panicked"), 0);
    }
}
