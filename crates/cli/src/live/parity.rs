//! `parity`.

use super::reproduce::RECEIVE_BUFFER;
use super::words::{notes, verdict};
use super::{Beside, Chosen, Plan, Proxy, proxy_of_method, run};
use crate::args::{GridArgs, ParityArgs};
use crate::failure::Failure;
use crate::plugins::Plugins;
use crate::terminal::{print, print_exact, say};
use justfull_base::{Duration, Instant};
use justfull_lab::parity::{self, Parity};
use justfull_live::driver::LiveOptions;
use justfull_live::lateness::Limit;
use justfull_live::session::{Command, Outcome, Session};
use justfull_net::{Side, Stop, privilege};
use justfull_report::table;
use justfull_run::results::RunResult;
use justfull_sim::{Progress, World};
use serde_json::Value;

pub(crate) fn parity(args: &ParityArgs) -> Result<(), Failure> {
    let (grid, none) = (&GridArgs::default(), Plugins::default());
    let plan = Plan::of(&args.file, &args.scenario, grid, &args.method, 1, &none)?.at_first_point();
    for chosen in plan.firsts() {
        let chosen = chosen?;
        // A method with a proxy has one in its live run too.
        if proxy_of_method(&chosen).map_err(Failure::Usage)?.is_some() {
            plan.check_reported(&chosen, true)?;
        }
        if !args.command.is_empty() {
            sole_flow(&chosen)?;
        }
    }
    privilege().map_err(|e| Failure::usage(&e))?;
    // Covers all runs and the time between them: a process that has listened to a signal once is
    // not ended by it afterwards.
    let stop = Stop::listen().map_err(|e| Failure::usage(&e))?;
    let (mut missed, mut rows, mut too_short) = (0, 0, 0);
    let mut failed = None;
    for job in &plan.jobs {
        let chosen = plan.chosen(job)?;
        let (parity, made) = compared(&chosen, args, &stop)?;
        if args.json {
            print_exact(&json_line(&chosen, &parity, &made, args.allow_late)?)?;
        } else {
            print(&page(&chosen, &parity, &made, args.allow_late))?;
        }
        match made.iter().try_for_each(|made| judged(&made.outcome, args.allow_late)) {
            Ok(()) => {
                missed += parity.missed();
                rows += parity.rows.len();
                too_short += parity.too_short();
            }
            // Such a run is not judged, since its misses are not the method's.
            Err(why) => failed = failed.or(Some(why)),
        }
    }
    if missed > 0 {
        return Err(Failure::Failed(format!(
            "{missed} of {rows} comparisons are outside their bands"
        )));
    }
    if rows > 0 && too_short == rows {
        failed =
            failed.or_else(|| Some(Failure::Failed("too short: nothing could be compared".into())));
    }
    failed.map_or(Ok(()), Err)
}

/// A live run, and its proxy's note and status.
struct Made {
    outcome: Outcome,
    proxy: Option<(String, Value)>,
}

/// Checks that the live run may be compared.
fn judged(outcome: &Outcome, allow_late: bool) -> Result<(), Failure> {
    if is_judged(outcome, allow_late) {
        return verdict(outcome, allow_late);
    }
    let Limit { missed, p99 } = Limit::COMPARABLE;
    Err(Failure::Failed(format!(
        "not judged: {} % of the live run's slots were late, or 1 % of its wake-ups by {p99} of \
         their period, so that its delays are this machine's too; --allow-late judges it",
        100.0 * missed
    )))
}

fn is_judged(outcome: &Outcome, allow_late: bool) -> bool {
    comparable(outcome) || allow_late
}

fn comparable(outcome: &Outcome) -> bool {
    !outcome.report.given_up && outcome.report.lateness.is_within(Limit::COMPARABLE)
}

/// Time before a live run is repeated: a late machine stays late for a while.
const PAUSE: Duration = Duration::from_secs(5);

/// Waits for [`PAUSE`], or for `stop`.
fn pause(stop: &Stop) {
    let step = Duration::from_millis(20);
    for _ in 0..PAUSE.as_nanos() / step.as_nanos() {
        if stop.requested() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_nanos(step.as_nanos()));
    }
}

/// Lets a simulated run continue until a stop is requested.
struct Until<'a>(&'a Stop);

impl Progress for Until<'_> {
    fn advanced(&mut self, _now: Instant) -> bool {
        !self.0.requested()
    }
}

fn ended() -> Failure {
    Failure::Failed("ended by a signal".into())
}

/// The comparison of one method's simulated run with its live runs.
fn compared(
    chosen: &Chosen<'_>,
    args: &ParityArgs,
    stop: &Stop,
) -> Result<(Parity, Vec<Made>), Failure> {
    let world = World::new(&chosen.config).map_err(|e| Failure::usage(&e))?;
    let simulated = world.run(&mut Until(stop)).ok_or_else(ended)?;
    let mut made =
        (0..args.live_runs).map(|_| live_run(chosen, args, stop)).collect::<Result<Vec<_>, _>>()?;
    if !args.command.is_empty() {
        for made in &mut made {
            stand_for(&simulated, &mut made.outcome.result);
        }
    }
    let live: Vec<&RunResult> = made.iter().map(|made| &made.outcome.result).collect();
    let runs = std::iter::once(("the simulated run", &simulated))
        .chain(live.iter().map(|run| ("a live run", *run)));
    for (which, run) in runs {
        if let Some(invariant) = &run.broken {
            return Err(Failure::Failed(format!("{}, {which}: {invariant}", chosen.job.method)));
        }
    }
    let window =
        Duration::from_nanos(chosen.config.duration.as_nanos() - chosen.config.warmup.as_nanos());
    let mut parity = Parity::of(&simulated, &live, window);
    if let Some(time) = args.explain {
        parity.explain(&simulated, &live, time);
    }
    Ok((parity, made))
}

/// Checks that the flow for which a command stands is the scenario's only one.
fn sole_flow(chosen: &Chosen<'_>) -> Result<(), Failure> {
    match chosen.config.flows.len() {
        1 => Ok(()),
        flows => Err(Failure::Usage(format!(
            "{}: found {flows} flows; allowed is one with a command, which stands for it in the \
             live run",
            chosen.scenario.name
        ))),
    }
}

/// The flow of a command stands for the scenario's flow, which sends nothing in the live run: the
/// flow in the same direction with the most delivered packets.
fn stand_for(simulated: &RunResult, live: &mut RunResult) {
    let Some(flow) = simulated.flows.first() else { return };
    live.flows.retain(|live| live.name != flow.name);
    let same = live.flows.iter_mut().filter(|live| live.direction == flow.direction);
    if let Some(most) = same.max_by_key(|live| live.delivered_packets) {
        most.name.clone_from(&flow.name);
    }
}

/// The session of a live run: the scenario's own flows, or the command in their place.
fn session(chosen: &Chosen<'_>, args: &ParityArgs) -> Session {
    let receive_buffer = chosen.config.proxy.control.is_some().then_some(RECEIVE_BUFFER);
    let program = (!args.command.is_empty()).then(|| Command::Program(args.command.clone()));
    Session {
        serve: args.serve.clone(),
        own_flows: program.is_none(),
        command: program.map(|program| (Side::Ue(0), program)),
        congestion_control: args.congestion_control.clone(),
        acknowledge_each: true,
        receive_buffer,
        ..Session::default()
    }
}

/// A live run, repeated while it cannot be compared. Every try but the last ends as soon as this is
/// certain: all tries together take no longer than the same number of whole runs.
fn live_run(chosen: &Chosen<'_>, args: &ParityArgs, stop: &Stop) -> Result<Made, Failure> {
    let session = session(chosen, args);
    let whole = chosen.config.duration;
    let mut left = whole.times(u64::from(args.tries));
    let (outcome, proxy) = loop {
        let more = !args.allow_late && left >= whole.times(2);
        let options = LiveOptions {
            read: args.pace.read,
            give_up: more.then_some(Limit::COMPARABLE),
            ..LiveOptions::default()
        };
        let proxy = proxy_of_method(chosen).map_err(Failure::Usage)?;
        let report_period = chosen.config.proxy.report.period;
        let mut beside = Beside { proxy, report_period, ..Beside::alone() };
        let (outcome, _) = run(&session, chosen, &options, args.quiet, &mut beside)?;
        if !more || comparable(&outcome) || outcome.interrupted || outcome.report.fault.is_some() {
            break (outcome, beside.proxy);
        }
        let took = chosen.config.tick().times(outcome.report.lateness.slots);
        left = left.saturating_sub(took + PAUSE);
        say(&format!("{}: late after {took}; once more in {PAUSE}", chosen.job.method));
        pause(stop);
        if stop.requested() {
            return Err(ended());
        }
    };
    if outcome.interrupted {
        return Err(ended());
    }
    let proxy = proxy.map(|proxy: Proxy| (proxy.note(), proxy.facts()));
    Ok(Made { outcome, proxy })
}

fn page(chosen: &Chosen<'_>, parity: &Parity, made: &[Made], allow_late: bool) -> String {
    let mut text = String::new();
    for Made { outcome, proxy } in made {
        let proxied = proxy.iter().map(|(note, _)| note.clone());
        for note in notes(&outcome.report, allow_late).into_iter().chain(proxied) {
            text.push_str(&format!("note: {note}\n"));
        }
    }
    let (grid, style) = (table::parity(parity), table::Style::detect());
    let (duration, warmup) = (chosen.config.duration, chosen.config.warmup);
    if warmup > Duration::ZERO {
        text.push_str(&format!(
            "note: of {duration} the first {warmup} are warm-up and not compared\n"
        ));
    }
    if parity.too_short() > 0 {
        let (time, packets) = (parity::LEAST_TIME, parity::LEAST_PACKETS);
        text.push_str(&format!(
            "note: too short to compare all: that takes {time} after the warm-up and {packets} \
             delays of a flow (--duration)\n"
        ));
    }
    let judged = made.iter().all(|made| is_judged(&made.outcome, allow_late));
    let judged = if judged { "" } else { ", not judged" };
    let (drawn, notes) = (table::terminal(&grid, style), table::notes([&grid], style));
    text.push_str(&format!(
        "\n{}: simulated and live{judged}\n{drawn}\n{notes}",
        chosen.job.method
    ));
    text
}

fn json_line(
    chosen: &Chosen<'_>,
    parity: &Parity,
    made: &[Made],
    allow_late: bool,
) -> Result<String, Failure> {
    let line = serde_json::json!({
        "scenario": chosen.scenario.name,
        "method": chosen.job.method,
        "rows": parity.rows,
        "missed": parity.missed(),
        "too_short": parity.too_short(),
        "late": made.iter().any(|made| made.outcome.report.late()),
        "judged": made.iter().all(|made| is_judged(&made.outcome, allow_late)),
        "allow_late": allow_late,
        "live": made.iter().map(|made| &made.outcome.report).collect::<Vec<_>>(),
        "proxy": made.iter().filter_map(|made| made.proxy.as_ref()).map(|(_, facts)| facts)
            .collect::<Vec<_>>(),
    });
    let text = serde_json::to_string(&line).map_err(|e| Failure::Failed(e.to_string()))?;
    Ok(format!("{text}\n"))
}
