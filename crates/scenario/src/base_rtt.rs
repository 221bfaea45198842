//! The round trip of a packet through empty queues, measured in runs of a lone ping.
//!
//! No formula covers all parts of a scenario's path: polls, slots of every kind, HARQ, requests for
//! grants and their segments. So the scenario's own cell carries echoes, one at a time.

use justfull_base::{Bytes, Duration};
use justfull_ran::config::Phase;
use justfull_ran::upf::detect;
use justfull_ran::{MacConfig, PollConfig, UplinkMacConfig};
use justfull_run::{FlowConfig, Interval, PingConfig, Traffic, WorldConfig};
use justfull_sim::World;
use std::sync::Arc;

/// Payload of an echo: the default of `ping`.
pub(crate) const PAYLOAD: Bytes = Bytes(56);
/// Number of runs; each has other relative phases of polls, slots and requests for grants.
const RUNS: u32 = 16;
/// Echoes of a run.
const ECHOES: u64 = 40;
/// Least time from an echo to the next.
const APART: Duration = Duration::from_millis(40);
/// Longest interval that is tried.
const FARTHEST: Duration = Duration::from_secs(40);
/// Spacing of echoes as a fraction of a period, so that they cover its phases evenly.
const GOLDEN: f64 = 0.618_033_988_75;
/// Phase steps from run to run, in parts of [`RUNS`] of a period: of SDAP's polls, of slots, and of
/// occasions to request grants. The UPF's polls stay. All steps are odd, so each visits every part
/// once.
const STEPS: [u32; 3] = [1, 3, 5];

/// The round trip of an echo of 56 B of payload, 84 B with its headers, through empty queues.
///
/// A ping of the same flow measures this time in a run without other traffic: the core's wire and
/// delay, the flow's extra delay both ways, polls, the slots that the packet takes, the air, the
/// wait for the uplink and its transmission, with requests and grants if there are any. The mean is
/// over instants that are spread evenly over the phases of polls, slots and occasions to request
/// grants; minimum and maximum are the values found. With a varying channel they apply to its
/// start. Proxies and random losses in the core are excluded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BaseRtt {
    /// Mean in ms.
    pub(crate) mean_ms: f64,
    /// Least value in ms.
    pub(crate) min_ms: f64,
    /// Greatest value in ms.
    pub(crate) max_ms: f64,
}

/// The base round trips of `flows`, in their order; none for a flow whose echoes do not return.
pub(crate) fn of_flows(world: &WorldConfig, flows: &[&FlowConfig]) -> Vec<Option<BaseRtt>> {
    // UEs of one kind and flows of one QFI differ only in the extra delay.
    let qfi = |flow: &FlowConfig| {
        detect(&world.stack.ues[flow.ue as usize].rules, &flow.tuple, flow.dscp)
    };
    let alike = |a: &FlowConfig, b: &FlowConfig| {
        let [ue, other] = [a, b].map(|flow| &world.stack.ues[flow.ue as usize]);
        Arc::ptr_eq(ue, other) && qfi(a) == qfi(b)
    };
    let mut known: Vec<(&FlowConfig, Option<BaseRtt>)> = Vec::new();
    let mut found_of = Vec::with_capacity(flows.len());
    for &flow in flows {
        let found = match known.iter().find(|(other, _)| alike(flow, other)) {
            Some((_, found)) => *found,
            None => {
                let found = measured(world, flow);
                known.push((flow, found));
                found
            }
        };
        let extra = 2.0 * flow.extra_delay.as_millis_f64();
        found_of.push(found.map(|BaseRtt { mean_ms, min_ms, max_ms }| BaseRtt {
            mean_ms: mean_ms + extra,
            min_ms: min_ms + extra,
            max_ms: max_ms + extra,
        }));
    }
    found_of
}

/// The base round trip of `flow` without its extra delay.
fn measured(world: &WorldConfig, flow: &FlowConfig) -> Option<BaseRtt> {
    let period = longest_period(world);
    let answer = world.uplink.grants.as_ref().map(|grants| grants.grant_delay + grants.bsr_delay);
    let least = APART.max(period.times(2)) + answer.unwrap_or_default();
    let mut apart = period.times(least.as_nanos().div_ceil(period.as_nanos().max(1)));
    while apart <= FARTHEST {
        let found = (0..RUNS).map(|run| of_run(&lone(world, flow, apart, run), apart));
        match found.collect::<Option<Vec<_>>>() {
            // Echoes may have overlapped.
            None => apart = apart.times(4),
            Some(found) => return together(&found),
        }
    }
    None
}

/// The result of all runs together.
fn together(found: &[(u64, BaseRtt)]) -> Option<BaseRtt> {
    let count: u64 = found.iter().map(|(count, _)| count).sum();
    let sum: f64 = found.iter().map(|(count, of)| *count as f64 * of.mean_ms).sum();
    let some = || found.iter().filter(|(count, _)| *count > 0).map(|(_, of)| of);
    Some(BaseRtt {
        mean_ms: sum / count as f64,
        min_ms: some().map(|of| of.min_ms).reduce(f64::min)?,
        max_ms: some().map(|of| of.max_ms).reduce(f64::max)?,
    })
}

/// Replies and round trips of a run of `config`, whose echoes are `apart`; none if one takes longer
/// than `apart`, not counting the fixed delays.
fn of_run(config: &WorldConfig, apart: Duration) -> Option<(u64, BaseRtt)> {
    let ways = config.core_delay + config.air_delay + config.uplink.delay;
    let result = World::new(config).ok()?.run(&mut ())?;
    let rtt = &result.flows.first()?.rtt;
    let found = BaseRtt { mean_ms: rtt.mean_ms, min_ms: rtt.min_ms, max_ms: rtt.max_ms };
    let alone = rtt.count > 0 && rtt.max_ms < (ways + apart).as_millis_f64();
    alone.then_some((rtt.count, found))
}

/// The MAC of the uplink, if that is a stack.
fn requests(world: &WorldConfig) -> Option<&UplinkMacConfig> {
    match &world.uplink.stack.as_ref()?.chain.mac {
        MacConfig::Uplink(mac) => Some(mac),
        _ => None,
    }
}

/// The longest time between two polls, slots, or occasions to send on the uplink.
fn longest_period(world: &WorldConfig) -> Duration {
    let stack = &world.stack;
    let occasions = world.uplink.grants.as_ref().map_or(Duration::ZERO, |grants| {
        if grants.configured { grants.period } else { grants.sr_period }
    });
    let occasions = requests(world).map_or(occasions, |mac| mac.sr.period);
    let polls = [&stack.upf.poll, &stack.sdap.poll, stack.mac.slot()].map(|poll| poll.period);
    polls.into_iter().fold(occasions, Duration::max)
}

/// `world` with only echoes of `flow`, one each `apart`, and the phases of `run`.
fn lone(world: &WorldConfig, flow: &FlowConfig, apart: Duration, run: u32) -> WorldConfig {
    let period = longest_period(world);
    let interval = Interval::Constant(apart + period.scaled(GOLDEN));
    let ping = PingConfig { payload: PAYLOAD, interval, from_ue: None };
    let echoes = FlowConfig {
        traffic: Traffic::Ping(ping).into(),
        low_latency: false,
        start: Duration::ZERO,
        stop: None,
        extra_delay: Duration::ZERO,
        delay_budget: None,
        proxied: None,
        ..flow.clone()
    };
    let mut config = WorldConfig {
        flows: vec![echoes],
        core_loss: Default::default(),
        proxy: Default::default(),
        duration: interval.mean().times(ECHOES),
        warmup: Duration::ZERO,
        series_bins: 1,
        cells: None,
        entity_backlog: false,
        ..world.clone()
    };
    let shift = |step: u32, period: Duration| {
        period.scaled((f64::from(run * step % RUNS) + 0.5) / f64::from(RUNS))
    };
    let stack = &mut config.stack;
    stack.seed = stack.seed.wrapping_add(run.into());
    let spread = |poll: &mut PollConfig, phase: &dyn Fn(Duration) -> Duration| {
        if poll.phase == Phase::Random && !poll.period.is_zero() {
            poll.phase = Phase::Fixed(phase(poll.period));
        }
    };
    let [of_sdap, of_slots, of_requests] = STEPS;
    spread(&mut stack.upf.poll, &|_| Duration::ZERO);
    spread(&mut stack.sdap.poll, &|period| shift(of_sdap, period));
    let tick = stack.tick();
    spread(stack.mac.slot_mut(), &|_| shift(of_slots, tick));
    if let Some(grants) = config.uplink.grants.as_mut().filter(|grants| !grants.configured) {
        grants.sr_offset.get_or_insert(shift(of_requests, grants.sr_period));
    }
    if let Some(stack) = &mut config.uplink.stack
        && let MacConfig::Uplink(mac) = &mut stack.chain.mac
    {
        stack.chain.seed = stack.chain.seed.wrapping_add(run.into());
        spread(&mut mac.slot, &|period| shift(of_slots, period));
        mac.sr.offset.get_or_insert(shift(of_requests, mac.sr.period));
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Job, Overrides, Scenario};
    use std::path::Path;

    /// A cell of 10 Mbit/s in slots of `slot`, with `more` and a periodic echo.
    fn scenario(slot: &str, per_slot: u64, more: &str, flow: &str) -> String {
        format!(
            "title = \"A lone flow\"\nduration = \"60s\"\nwarmup = \"0s\"\nruns = 1\n\
             methods = [\"Vanilla\"]\nchannel = {{ kind = \"constant\", per_slot = {per_slot} }}\n\
             mac = {{ kind = \"bytes\", slot = {{ period = \"{slot}\" }} }}\n{more}\n[[ue]]\n\
             [[flow]]\nname = \"one\"\n{flow}\n"
        )
    }

    fn world(text: &str, seed: u64) -> WorldConfig {
        let read = Scenario::parse(text, Path::new("lone"), None, Overrides::default());
        let scenario = read.unwrap_or_else(|e| panic!("{e}: {text}"));
        scenario.world(&Job { method: "Vanilla".into(), point: 0, seed }).expect("it is sound")
    }

    /// The base round trip of the only flow of `text`, and the mean, minimum and maximum over
    /// `seeds` runs of it.
    fn both(text: &str, seeds: u64) -> (BaseRtt, BaseRtt) {
        let config = world(text, 1);
        let base = of_flows(&config, &[&config.flows[0]]).remove(0).expect("echoes come back");
        let runs = (0..seeds).map(|seed| {
            let config = world(text, 100 + seed);
            let run = World::new(&config).expect("it is sound").run(&mut ()).expect("it ends");
            let rtt = &run.flows[0].rtt;
            let found = BaseRtt { mean_ms: rtt.mean_ms, min_ms: rtt.min_ms, max_ms: rtt.max_ms };
            (rtt.count, found)
        });
        (base, together(&runs.collect::<Vec<_>>()).expect("there are some"))
    }

    const PING: &str = "ping = { payload = \"56B\", interval = { mean = \"97ms\", sd = \"9ms\" } }";
    const WAYS: &str = "core = { rate = \"0bit/s\", delay = \"10ms\" }\n";

    /// Asserts that pings measure the base round trip, and that it is `by_hand` in ms.
    fn measures(slot: &str, per_slot: u64, more: &str, flow: &str, by_hand: f64) {
        let text = scenario(slot, per_slot, &format!("{WAYS}{more}"), &format!("{PING}\n{flow}"));
        let (base, run) = both(&text, 12);
        assert!((base.mean_ms - by_hand).abs() < 0.12, "{base:?}, {by_hand} by hand: {text}");
        assert!((base.mean_ms - run.mean_ms).abs() < 0.3, "{base:?}, measured {run:?}: {text}");
        let within = base.min_ms > run.min_ms - 0.2 && base.max_ms < run.max_ms + 0.2;
        assert!(within, "{base:?}, measured {run:?}: {text}");
    }

    #[test]
    fn a_fixed_uplink_adds_its_delay_and_the_air_its_own() {
        measures("1ms", 1_250, "uplink = { delay = \"10ms\" }", "", 20.5);
        measures(
            "1ms",
            1_250,
            "uplink = { delay = \"10ms\" }\nair = { delay = \"4ms\" }",
            "",
            24.5,
        );
    }

    #[test]
    fn an_extra_delay_counts_both_ways() {
        measures("1ms", 1_250, "uplink = { delay = \"10ms\" }", "extra_delay = \"80ms\"", 180.5);
    }

    #[test]
    fn a_request_and_a_grant_of_the_uplink_count_with_the_wait_for_an_occasion() {
        let grants = |more: &str| format!("uplink = {{ delay = \"10ms\", grants = {{ {more} }} }}");
        let granted = grants("sr_period = \"10ms\", grant_delay = \"8ms\"");
        measures("1ms", 1_250, &granted, "", 20.5 + 5.0 + 8.0);
        // 84 B in three grants of 40 B.
        let small = "sr_period = \"10ms\", grant_delay = \"8ms\", bsr_delay = \"6ms\", \
                     period = \"2ms\", grant = \"40B\"";
        measures("1ms", 1_250, &grants(small), "", 20.5 + 5.0 + 8.0 + 6.0 + 2.0);
        measures("1ms", 1_250, &grants("configured = true, period = \"5ms\""), "", 20.5 + 2.5);
    }

    #[test]
    fn wires_and_an_uplink_with_a_rate_serialise() {
        let wires = "uplink = { rate = \"1Mbit/s\", delay = \"10ms\" }";
        measures("1ms", 1_250, wires, "", 20.5 + 0.672);
        let core =
            "core = { rate = \"500kbit/s\", delay = \"10ms\" }\nuplink = { delay = \"10ms\" }";
        let text = scenario("1ms", 1_250, core, PING);
        let (base, run) = both(&text, 6);
        assert!((base.mean_ms - 20.5 - 1.344).abs() < 0.1, "{base:?}");
        assert!((base.mean_ms - run.mean_ms).abs() < 0.2, "{base:?}, measured {run:?}");
    }

    #[test]
    fn slots_count_with_half_of_one_and_as_many_more_as_the_packet_takes() {
        let uplink = "uplink = { delay = \"10ms\" }";
        measures("100us", 125, uplink, "", 20.05);
        measures("10ms", 12_500, uplink, "", 25.0);
        // 84 B in slots of 30 B.
        measures("1ms", 30, uplink, "", 20.5 + 2.0);
    }

    #[test]
    fn polls_count_with_half_of_their_period() {
        let polls = "uplink = { delay = \"10ms\" }\nupf = { poll = { period = \"2ms\" } }\n\
                     sdap = { poll = { period = \"4ms\" } }";
        measures("1ms", 1_250, polls, "", 20.0 + 1.0 + 2.0 + 0.5);
    }

    #[test]
    fn a_small_transfer_over_resource_blocks_without_errors_measures_it_too() {
        let more = "core = { rate = \"0bit/s\", delay = \"10ms\" }\n\
                    uplink = { delay = \"10ms\" }";
        let text = scenario(
            "1ms",
            1_250,
            more,
            "tcp = { rate = \"100kbit/s\", receiver = { delayed_ack = false } }",
        );
        let text = text
            .replace(
                "channel = { kind = \"constant\", per_slot = 1250 }",
                "channel = { kind = \"mcs\" }",
            )
            .replace("kind = \"bytes\"", "kind = \"rb\", carrier = { kind = \"lte\", n_prb = 50 }");
        let (base, run) = both(&text, 4);
        assert!((base.mean_ms - run.mean_ms).abs() < 0.2, "{base:?}, measured {run:?}");
    }

    #[test]
    fn a_slow_cell_is_given_the_time_that_an_echo_takes_and_a_dead_one_has_none() {
        // 84 B at 1 B each 10 ms.
        let uplink =
            "core = { rate = \"0bit/s\", delay = \"10ms\" }\nuplink = { delay = \"10ms\" }";
        let config = world(&scenario("10ms", 1, uplink, PING), 1);
        let base = of_flows(&config, &[&config.flows[0]]).remove(0).expect("they come back");
        assert!((base.mean_ms - 20.0 - 5.0 - 830.0).abs() < 0.5, "{base:?}");
    }
}
