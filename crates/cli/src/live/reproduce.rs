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

/// Maximum number of tries of a run until this machine is not late; the last try counts.
const TRIES: u32 = 2;

/// Time between reads of the interfaces, for a path of 50 ms. A shorter time in several parallel
/// runs leaves the proxies too little of two cores.
const READ: Duration = Duration::from_millis(1);

/// Maximum size of a receive buffer: the kernels' default when the paper was written, and until
/// Linux 6.16, which has 32 MiB. With 32 MiB, downloads of several runs through proxies without
/// windows take more memory than `net.ipv4.tcp_mem` allows for all TCP of a machine.
pub(super) const RECEIVE_BUFFER: u32 = 6 << 20;

/// Maximum number of flows of all parallel runs: through a proxy without windows each holds up to
/// about 20 MB of the kernel's TCP memory, and a machine with 4 GiB of memory has room for this
/// number only.
const FLOWS_AT_ONCE: usize = 16;

/// Number of flows of the runs in progress.
static FLOWS: Mutex<usize> = Mutex::new(0);
/// Notified at the end of a run.
static ENDED: Condvar = Condvar::new();

/// The place of a run among others; released when dropped.
struct Place {
    flows: usize,
}

impl Place {
    /// Waits for a place for a run of `flows`; more flows than the maximum count as the maximum.
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

/// Takes the right to build networks, before any thread starts.
pub(crate) fn prepare() -> Result<(), Failure> {
    privilege().map(drop).map_err(|e| Failure::usage(&e))
}

/// Runs `job` live, with the proxy if its method names a control. None if it was interrupted.
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
