//! `reproduce --live`: one run of a claim's scenario.

use super::{Beside, Chosen, Proxy, run};
use crate::Failure;
use crate::terminal::say;
use justfull_base::Duration;
use justfull_lab::claims::ClaimsError;
use justfull_live::driver::LiveOptions;
use justfull_live::lateness::Limit;
use justfull_live::session::Session;
use justfull_net::privilege;
use justfull_scenario::{Job, Scenario};
use justfull_sim::results::RunResult;

/// Times that a run is made until this machine was not late in it; the last one counts.
const TRIES: u32 = 2;

/// Time between readings of the interfaces, of a path of 50 ms. Shorter ones of several runs at
/// once leave the proxies too little of two cores.
const READ: Duration = Duration::from_millis(1);

/// Most bytes of a receive buffer: the kernels' default when the paper was written, and until
/// Linux 6.16, which has 32 MiB. With those, downloads of several runs through proxies without
/// windows take more memory than `net.ipv4.tcp_mem` allows all TCP of a machine.
const RECEIVE_BUFFER: u32 = 6 << 20;

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
    let chosen = Chosen { scenario: scenario.clone(), job: job.clone(), config };
    let session =
        Session { own_flows: true, receive_buffer: Some(RECEIVE_BUFFER), ..Session::default() };
    let mut left = TRIES;
    loop {
        left -= 1;
        let control = chosen.config.proxy.control.as_ref();
        let proxy = control.map(|control| Proxy::of_text(String::new(), Some(control)));
        let mut beside = Beside::alone();
        beside.proxy = proxy.transpose().map_err(failed)?;
        let give_up = (left > 0).then_some(Limit::LATE);
        let options = LiveOptions { give_up, read: READ, ..LiveOptions::default() };
        let (outcome, _files) = run(&session, &chosen, (&options, true), &mut beside)
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
