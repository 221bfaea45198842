//! A program between the servers and the stack, and the observations of connections' ends: both are
//! parts of the results.

use crate::applications::{ApplicationReport, RttSample};
use justfull_base::Duration;
use justfull_net::{Network, SystemError};
use justfull_run::results::{Distribution, FlowResult, ProxyResult, RunResult};
use std::iter::repeat_n;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// A program on [`Side::Proxy`](justfull_net::Side::Proxy).
pub trait Middle {
    /// Starts it, and returns when it is ready. The stack does not run yet.
    ///
    /// # Errors
    /// It cannot be started.
    fn start(&mut self, network: &Network) -> Result<(), SystemError>;

    /// Called some fifty times a second during the run, with the time since second 0.
    ///
    /// # Errors
    /// The program failed; the run then fails and ends.
    fn look(&mut self, at: Duration) -> Result<(), SystemError>;

    /// Called at the end of the run, while the program still runs. The one who started it ends it.
    ///
    /// # Errors
    /// It failed in the end.
    fn finish(&mut self) -> Result<(), SystemError>;

    /// Samples of the connections that it splits, in order of time.
    fn legs(&self) -> &[LegSample];
}

/// A split connection at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LegSample {
    /// The UE's end.
    pub client: SocketAddr,
    /// The server's end.
    pub server: SocketAddr,
    /// The round-trip time of its leg to the UE.
    pub radio: RttSample,
}

/// Adds the observations of connections' ends to `result`: round-trip times in the measured window,
/// and when transfers were complete. `legs` are samples of split connections, with the names of
/// their flows.
pub(crate) fn fill(
    result: &mut RunResult,
    applications: &[ApplicationReport],
    legs: &[(String, RttSample)],
) {
    let ns = |s: f64| (s * 1e9) as u64;
    let window = ns(result.warmup_s)..=ns(result.duration_s);
    for flow in &mut result.flows {
        let own = || applications.iter().filter(|application| application.flow == flow.name);
        let seconds = |ns: u64| ns as f64 * 1e-9;
        let starts = own().map(|application| application.start_ns);
        flow.started_s = starts.min().map(seconds);
        let sized = || own().filter(|application| application.sized);
        flow.sized = sized().count() as u32;
        let whole: Vec<u64> = sized().filter_map(|application| application.whole_ns).collect();
        flow.first_received_s = whole.iter().min().copied().map(seconds);
        if whole.len() == flow.sized as usize {
            flow.received_s = whole.iter().max().copied().map(seconds);
        }
        let end = flow.received_s.filter(|_| own().all(|application| application.sized));
        let mut server: Vec<RttSample> = own().flat_map(|of| of.rtts.iter().copied()).collect();
        server.sort_unstable_by_key(|sample| sample.at_ns);
        let radio = legs.iter().filter(|(name, _)| *name == flow.name).map(|(_, sample)| *sample);
        round_trips(flow, &window, &server, &radio.collect::<Vec<_>>());
        if let Some(end) = end {
            flow.ends(end);
        }
    }
    together(result, applications, &window);
}

/// Goodputs from the start of the window until the first sized transfer is complete, or to the
/// window's end.
fn together(
    result: &mut RunResult,
    applications: &[ApplicationReport],
    window: &RangeInclusive<u64>,
) {
    let (from, to) = (*window.start(), *window.end());
    let transfers = || applications.iter().filter(|application| !application.progress.is_empty());
    let ends = transfers().filter_map(|of| of.whole_ns).filter(|end| *end >= from);
    let until = ends.min().unwrap_or(to).min(to);
    if until <= from || transfers().next().is_none() {
        return;
    }
    // None for a flow that begins after that time.
    let mbit_s = |application: &ApplicationReport| {
        let at = |ns: u64| {
            let before = application.progress.partition_point(|(at, _)| *at <= ns);
            before.checked_sub(1).map_or(0, |last| application.progress[last].1)
        };
        let active = until.checked_sub(from.max(application.start_ns)).filter(|ns| *ns > 0)?;
        Some((at(until) - at(from)) as f64 * 8e3 / active as f64)
    };
    for flow in &mut result.flows {
        let own = transfers().filter(|application| application.flow == flow.name);
        flow.together_mbit_s = own.filter_map(mbit_s).sum();
    }
    result.together.until_s = until as f64 * 1e-9;
    let all: Vec<f64> = transfers().filter_map(mbit_s).collect();
    let (sum, squares) = all.iter().fold((0.0, 0.0), |(s, q), x| (s + x, q + x * x));
    result.together.jain_index =
        (all.len() > 1 && squares > 0.0).then(|| sum * sum / (all.len() as f64 * squares));
}

/// Round-trip times of a flow: of its sender and, if it is split, of both legs.
fn round_trips(
    flow: &mut FlowResult,
    window: &RangeInclusive<u64>,
    server: &[RttSample],
    radio: &[RttSample],
) {
    let within = |sample: &&RttSample| window.contains(&sample.at_ns);
    let time = |sample: &RttSample| Duration::from_micros(u64::from(sample.rtt_us));
    // Repeated as often as there were acknowledgements.
    let times = |(sample, time): (&RttSample, Duration)| repeat_n(time, sample.acks as usize);
    let of = |samples: &[RttSample]| {
        let each = samples.iter().filter(within).map(|sample| (sample, time(sample)));
        Distribution::of(each.flat_map(times))
    };
    if radio.is_empty() {
        flow.rtt = of(server);
        return;
    }
    // For each sample of the radio leg, the last sample of the server leg before it.
    let both = radio.iter().filter(within).filter_map(|sample| {
        let before = server.partition_point(|other| other.at_ns <= sample.at_ns);
        Some((sample, time(server.get(before.checked_sub(1)?)?) + time(sample)))
    });
    flow.rtt = Distribution::of(both.flat_map(times));
    let (server_rtt, radio_rtt) = (of(server), of(radio));
    flow.proxy = Some(ProxyResult { server_rtt, radio_rtt, ..ProxyResult::default() });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(ms: u64, rtt_us: u32) -> RttSample {
        RttSample { at_ns: ms * 1_000_000, rtt_us, acks: 1 }
    }

    fn result() -> RunResult {
        let mut flow = FlowResult { name: "bulk".into(), ..FlowResult::default() };
        flow.set_goodput(4_000_000.0, Some([1.0, 3.0]));
        RunResult { warmup_s: 1.0, duration_s: 3.0, flows: vec![flow], ..RunResult::default() }
    }

    fn application() -> ApplicationReport {
        ApplicationReport {
            flow: "bulk".into(),
            start_ns: 500_000_000,
            sized: true,
            whole_ns: Some(2_500_000_000),
            rtts: vec![
                sample(900, 90_000),
                RttSample { acks: 3, ..sample(1_100, 10_000) },
                sample(2_000, 30_000),
            ],
            progress: vec![(900_000_000, 1_000_000), (2_400_000_000, 4_000_000)],
            ..ApplicationReport::default()
        }
    }

    #[test]
    fn the_ends_of_a_connection_say_when_it_was_whole_and_how_long_its_round_trips_were() {
        let mut result = result();
        fill(&mut result, &[application()], &[]);
        let flow = &result.flows[0];
        assert_eq!((flow.started_s, flow.received_s, flow.sized), (Some(0.5), Some(2.5), 1));
        assert_eq!((flow.rtt.count, flow.rtt.mean_ms), (4, 15.0), "the first is of the warm-up");
        assert_eq!(flow.proxy, None);
        // 4 MB in the 1.5 s until it was complete.
        assert_eq!((flow.goodput_mbit_s.round(), flow.active_to_s), (21.0, Some(2.5)));
        // 3 MB in the 1.5 s from the start of the window to the end of the transfer.
        assert_eq!((flow.together_mbit_s.round(), result.together.until_s), (16.0, 2.5));
        let late = ApplicationReport { start_ns: 2_000_000_000, ..application() };
        let mut result = self::result();
        fill(&mut result, &[late], &[]);
        let together = result.flows[0].together_mbit_s;
        assert!((together - 48.0).abs() < 0.5, "{together} of the 0.5 s since its start");
        let mut result = self::result();
        fill(&mut result, &[application()], &[]);
        let late = ApplicationReport { whole_ns: None, ..application() };
        fill(&mut result, &[application(), late], &[]);
        assert_eq!((result.flows[0].sized, result.flows[0].first_received_s), (2, Some(2.5)));
        let greedy = ApplicationReport { sized: false, whole_ns: None, ..application() };
        let mut result = self::result();
        fill(&mut result, &[application(), greedy], &[]);
        assert_eq!(result.flows[0].active_to_s, Some(3.0), "another goes on");
    }

    #[test]
    fn of_a_split_connection_both_legs_count() {
        let mut result = result();
        let radio = |ms, us| ("bulk".to_owned(), sample(ms, us));
        let legs = [radio(950, 1), radio(1_500, 5_000), radio(2_100, 7_000)];
        fill(&mut result, &[application()], &legs);
        let flow = &result.flows[0];
        assert_eq!((flow.rtt.count, flow.rtt.min_ms, flow.rtt.max_ms), (2, 15.0, 37.0));
        let proxy = flow.proxy.as_ref().expect("it is split");
        assert_eq!((proxy.server_rtt.mean_ms, proxy.radio_rtt.mean_ms), (15.0, 6.0));
    }
}
