//! The flows that a result is about: the low-latency flows of the scenario, or all flows.

use justfull_run::results::{FlowResult, RunResult};

/// The flows whose delay and drops are of interest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Subject {
    /// The flows that the scenario marks as low-latency.
    LowLatency,
    /// All flows: none is marked, or the marked ones had no packets.
    #[default]
    All,
}

impl Subject {
    /// The subject of the scenario of `run`; its flows may be without packets.
    #[must_use]
    pub fn of_scenario(run: &RunResult) -> Self {
        Self::when(run.flows.iter().any(|f| f.low_latency))
    }

    /// The subject for `runs`: all flows if no low-latency flow of any run had a packet, as in a
    /// live run in which only other programs send. One result for all runs, so that every seed is
    /// judged by the same flows.
    #[must_use]
    pub fn of(runs: &[RunResult]) -> Self {
        Self::when(runs.iter().flat_map(|run| &run.flows).any(|f| f.low_latency && had_packets(f)))
    }

    const fn when(low_latency: bool) -> Self {
        if low_latency { Self::LowLatency } else { Self::All }
    }

    /// True if only low-latency flows belong to it.
    #[must_use]
    pub fn is_low_latency(self) -> bool {
        self == Self::LowLatency
    }

    /// True if `flow` belongs to the subject.
    #[must_use]
    pub fn has(self, flow: &FlowResult) -> bool {
        flow.low_latency || self == Self::All
    }

    /// The flows of `run` that belong to the subject.
    pub fn flows(self, run: &RunResult) -> impl Iterator<Item = &FlowResult> {
        run.flows.iter().filter(move |flow| self.has(flow))
    }
}

/// True if a packet of `flow` entered the chain or was delivered.
#[must_use]
pub fn had_packets(flow: &FlowResult) -> bool {
    flow.entered_packets > 0 || flow.delivered_packets > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(call: u64, other: u64) -> RunResult {
        let flow = |name: &str, low_latency, entered_packets| FlowResult {
            name: name.into(),
            low_latency,
            entered_packets,
            ..FlowResult::default()
        };
        RunResult {
            flows: vec![flow("call", true, call), flow("iperf", false, other)],
            ..RunResult::default()
        }
    }

    /// A live run of iperf3 beside a silent call still shows a delay.
    #[test]
    fn where_the_low_latency_flows_are_silent_all_flows_are_the_subject() {
        let silent = run(0, 500);
        assert_eq!(Subject::of(std::slice::from_ref(&silent)), Subject::All);
        assert_eq!(
            Subject::of_scenario(&silent),
            Subject::LowLatency,
            "a claim never changes its flows"
        );
        let runs = [silent, run(3, 500)];
        assert_eq!(Subject::of(&runs), Subject::LowLatency);
        let names: Vec<&str> =
            Subject::of(&runs).flows(&runs[0]).map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["call"], "a seed without its packets does not turn to another flow");
    }
}
