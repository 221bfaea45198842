//! The texts of a live run about itself, in notes and for its exit status.

use crate::failure::Failure;
use justfull_live::report::{Account, LiveReport};
use justfull_live::session::Outcome;
use justfull_net::Running;
use justfull_net::clock::Priority;
use justfull_run::results::RunResult;

/// A note on the start of the run, which the tables leave out.
pub(super) fn warm_up(result: &RunResult) -> Option<String> {
    let (warmup, duration) = (result.warmup_s, result.duration_s);
    let change = "`--set warmup=0s`, or another time, changes that";
    match warmup {
        0.0 => None,
        _ if duration <= warmup + 1e-6 => Some(format!(
            "the run ended within its warm-up of {warmup} s, so that the tables are empty: \
             {change}"
        )),
        _ => Some(format!(
            "the first {warmup} s of {duration:.1} are warm-up, which the tables leave out: \
             {change}"
        )),
    }
}

/// The note for a run whose TCP was limited by the kernel's memory.
const SHORT_OF_MEMORY: &str = "the kernel's TCP was short of memory (net.ipv4.tcp_mem), so that \
                               every receiver of this machine offered four segments at most";

/// Timing, accounts and congestion control in words.
pub(super) fn notes(report: &LiveReport, allow_late: bool) -> Vec<String> {
    let mut notes = timing(report, allow_late);
    notes.push(format!("down: {}; up: {}", in_words(&report.down), in_words(&report.up)));
    if let Some([down, up]) = report.wan.filter(|ways| ways.iter().any(|way| way.no_buffer > 0)) {
        let (down, up) = (in_words(&down), in_words(&up));
        notes.push(format!("between the servers and the proxy, down: {down}; up: {up}"));
    }
    let ([down, up], buffers) = (report.buffers_used, report.buffers);
    notes.push(format!(
        "{}; {down} packet buffers used down and {up} up, of {buffers} each",
        flows_in_words(report)
    ));
    notes.extend(settings(report));
    notes
}

/// Lateness of the run, and interruptions.
fn timing(report: &LiveReport, allow_late: bool) -> Vec<String> {
    let late = &report.lateness;
    let mut notes = vec![format!(
        "woken every {} for slots, late by {:.0} us (p50), {:.0} us (p99), {:.0} us (p99.9), at \
         most {:.0} us; {} of {} slots ({:.2} %) handled after the next wake-up was due: {}",
        late.period,
        late.p50_us,
        late.p99_us,
        late.p999_us,
        late.max_us,
        late.missed,
        late.slots,
        100.0 * late.missed_share(),
        match (late.late, allow_late) {
            (false, _) => "on time",
            (true, false) => "LATE",
            (true, true) => "LATE, which --allow-late takes",
        }
    )];
    if let Priority::Normal(why) = &report.priority {
        notes.push(format!(
            "without real-time priority, so that any other load delays wake-ups, by milliseconds: \
             {why}"
        ));
    }
    if report.tcp_was_short {
        notes.push(SHORT_OF_MEMORY.into());
    }
    if report.outages.count > 0 {
        let (count, time) = (report.outages.count, report.outages.time);
        notes.push(format!(
            "an attached interface was down {count} times, for {time} in all, and waited for"
        ));
    }
    for (line, status) in &report.ended_servers {
        notes.push(format!("the server `{line}` ended before the run, with status {status}"));
    }
    if report.stops > 0 {
        notes.push(format!(
            "held up {} times for {} in all, taken out of the run",
            report.stops, report.stopped
        ));
    }
    notes
}

/// Congestion control, and the ends of files and of the run.
fn settings(report: &LiveReport) -> Vec<String> {
    let mut notes = Vec::new();
    let controls: Vec<String> = report
        .congestion_control
        .iter()
        .take(4)
        .map(|(side, name)| format!("{side} {name}"))
        .collect();
    if !controls.is_empty() {
        notes.push(format!("congestion control of the kernel by route: {}", controls.join(", ")));
    }
    if let Some(capture) = report.capture.filter(|capture| capture.lost > 0) {
        let (frames, lost) = (capture.frames, capture.lost);
        notes.push(format!("the capture has {frames} frames; {lost} more found its buffer full"));
    }
    if let Some(fault) = &report.fault {
        notes.push(format!("ended before its time: {fault}"));
    }
    notes
}

/// The notes of several runs: a note that all runs share appears once; the others name their run.
/// The accounts are in `live.json`.
pub(super) fn notes_of_several(runs: &[(String, Vec<String>)]) -> Vec<String> {
    let Some((_, first)) = runs.first() else { return Vec::new() };
    let shared = |note: &String| runs.iter().all(|(_, notes)| notes.contains(note));
    let own = runs.iter().flat_map(|(name, notes)| {
        notes.iter().filter(|note| !shared(note)).map(move |note| format!("{name}: {note}"))
    });
    own.chain(first.iter().filter(|note| shared(note)).cloned()).collect()
}

/// The notes for one of several runs.
pub(super) fn brief(report: &LiveReport, allow_late: bool) -> Vec<String> {
    let mut notes = timing(report, allow_late);
    notes.extend(settings(report));
    notes
}

/// The flows that appeared, and the changes in the table of flows.
fn flows_in_words(report: &LiveReport) -> String {
    let mut flows = format!("{} flows", report.flows);
    if report.aged_flows > 0 {
        flows += &format!(
            ", of which {} were aged out of the full table of flows: a flow that came again after \
             that is counted twice",
            report.aged_flows
        );
    }
    if report.shared_packets > 0 {
        flows += &format!(", and {} packets had to share a flow", report.shared_packets);
    }
    flows
}

/// The account of one direction.
fn in_words(account: &Account) -> String {
    let lost = [
        (account.malformed_total(), "malformed"),
        (account.no_ue, "for no UE"),
        (account.no_buffer, "without a buffer"),
        (account.dropped, "dropped"),
        (account.refused, "refused by the interface"),
        (account.queued, "queued at the end"),
    ];
    let lost: String =
        lost.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {n} {what}")).collect();
    format!("{} packets came, {} delivered{lost}", account.received, account.delivered)
}

/// The exit status for the run's end.
pub(super) fn verdict(outcome: &Outcome, allow_late: bool) -> Result<(), Failure> {
    if let Some(fault) = &outcome.report.fault {
        return Err(Failure::Failed(fault.clone()));
    }
    if let Some(status) = outcome.status.filter(|status| !status.success()) {
        return Err(Failure::Failed(format!(
            "the command ended with status {}",
            Running::exit_code(status)
        )));
    }
    if outcome.report.late() && !allow_late {
        let what = if outcome.report.tcp_was_short { SHORT_OF_MEMORY } else { "the run is late" };
        return Err(Failure::Failed(format!(
            "{what}: its delays are this machine's, not the scenario's alone; --allow-late takes it"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_all_runs_share_come_once_and_others_name_their_run() {
        let run = |name: &str, notes: &[&str]| {
            (name.to_owned(), notes.iter().map(|note| (*note).to_owned()).collect())
        };
        let runs = [run("A, seed 1", &["late by 5 us", "cubic"]), run("B, seed 1", &["cubic"])];
        assert_eq!(notes_of_several(&runs), ["A, seed 1: late by 5 us", "cubic"]);
        assert!(notes_of_several(&[]).is_empty());
    }
}
