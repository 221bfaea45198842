//! Invariants of every run, simulated and live, checked once at its end, also in release builds.
//!
//! A run that breaks an invariant contradicts itself; its driver names the invariant and leaves its
//! figures out. [`RunResult::broken_invariant`] checks the result alone; [`Evidence`] has the facts
//! that only the driver has.

use crate::recorder::Recorder;
use crate::results::{Distribution, FlowResult, RunResult, SliceResult, UplinkResult, ZhugeResult};
use justfull_ran::Stack;

/// Relative error allowed in sums of floating-point numbers.
const ROUNDING: f64 = 1e-9;

/// The fate of the payload that a TCP sender gave to the network, over the whole run: `sent =
/// received + dropped + under_way`, with each retransmission counted again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpBytes {
    /// Name of the flow.
    pub name: String,
    /// Bytes that the sender gave to the network.
    pub sent: u64,
    /// Bytes in segments that reached the receiver, including duplicates.
    pub received: u64,
    /// Bytes in segments that a queue or the radio dropped.
    pub dropped: u64,
    /// Bytes in segments in a queue or on a link at the end.
    pub under_way: u64,
}

/// Goodput over a link, and the most that the link can have carried, in bytes of the measured
/// window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Bytes that reached their receivers for the first time.
    pub goodput: u64,
    /// The greatest number of bytes that the link can have carried.
    pub most: u64,
}

/// Facts that the driver of a run has beyond its result.
pub struct Evidence {
    /// A queue of the chain that lost or duplicated a packet, in words.
    pub chain: Option<String>,
    /// A packet delivered earlier than any policy could, in words.
    pub early: Option<String>,
    /// Goodput towards UEs, and the capacity used by the radio.
    pub downlink: Carried,
    /// Goodput of each UE's uploads, and the capacity of its uplink if that has a rate.
    pub uplinks: Vec<Carried>,
    /// A contradiction in the counts of the uplink's stack, in words; none in a sound run.
    pub uplink: Option<String>,
    /// TCP flows; none in a live run, whose endpoints are the kernel's.
    pub tcp: Vec<TcpBytes>,
    /// A contradiction in the proxy, in words.
    pub proxy: Option<String>,
}

impl Evidence {
    /// The evidence from `stack` and `recorder` for a run; `downlink` has the numbers of its flows
    /// to UEs.
    pub fn of(
        stack: &Stack,
        recorder: &Recorder,
        mtu: u32,
        downlink: impl Iterator<Item = usize>,
    ) -> Self {
        Self::of_cells(core::iter::once(stack), recorder, mtu, downlink)
    }

    /// Like [`Self::of`], from the stacks of several cells.
    pub fn of_cells<'a>(
        stacks: impl Iterator<Item = &'a Stack> + Clone,
        recorder: &Recorder,
        mtu: u32,
        downlink: impl Iterator<Item = usize>,
    ) -> Self {
        let goodput = downlink.map(|flow| recorder.goodput_bytes(flow)).sum();
        let per_unit = stacks.clone().map(Stack::most_bytes_per_unit).max().unwrap_or_default();
        let begun = stacks.clone().map(Stack::most_begun).sum();
        let most = recorder.most_carried(per_unit, begun, mtu);
        let chain = stacks.into_iter().find_map(Stack::broken_conservation);
        let early = recorder.bound_beaten();
        Self {
            chain,
            early,
            downlink: Carried { goodput, most },
            uplink: None,
            uplinks: Vec::new(),
            tcp: Vec::new(),
            proxy: None,
        }
    }

    /// The first invariant that the run of `result` breaks, with its values.
    pub fn broken(&self, result: &RunResult) -> Option<String> {
        let carries = |what: &str, c: &Carried| {
            let Carried { goodput, most } = c;
            (goodput > most).then(|| {
                format!("goodput <= capacity of the window {what}: {goodput} B, at most {most} B")
            })
        };
        let chain = self.chain.as_ref().map(|counts| format!("packets are conserved: {counts}"));
        let uplink =
            self.uplink.as_ref().map(|c| format!("packets are conserved on the uplink: {c}"));
        let early = self.early.as_ref().map(|packet| format!("delay >= bound: {packet}"));
        chain
            .or(uplink)
            .or(early)
            .or_else(|| carries("on the radio", &self.downlink))
            .or_else(|| self.uplinks.iter().find_map(|c| carries("on a UE's uplink", c)))
            .or_else(|| self.tcp.iter().find_map(TcpBytes::broken))
            .or_else(|| self.proxy.as_ref().map(|words| format!("proxy: {words}")))
            .or_else(|| result.broken_invariant())
    }
}

impl TcpBytes {
    fn broken(&self) -> Option<String> {
        let Self { name, sent, received, dropped, under_way } = self;
        (*sent != received + dropped + under_way).then(|| {
            format!(
                "bytes sent = received + dropped + under way, flow {name}: {sent} = {received} + \
                 {dropped} + {under_way}"
            )
        })
    }
}

impl RunResult {
    /// The first invariant that the result alone shows to be broken, with its values; none in a
    /// sound result.
    ///
    /// The invariants are: packets are conserved, in the chain and on the uplink; used <= offered;
    /// in every distribution minimum <= 25th <= ... <= 99.9th percentile <= maximum, minimum <=
    /// mean <= maximum, and so no delay variation below 0; the delay of tracked flows is not below
    /// their bound, quantile by quantile; 0 <= R <= 100; shares are within 0 and 1; no value is
    /// infinite or undefined.
    #[must_use]
    pub fn broken_invariant(&self) -> Option<String> {
        let c = &self.conservation;
        let conserved = c.entered == c.delivered + c.dropped + c.queued;
        check(conserved, || format!("entered = delivered + dropped + queued: {c:?}"))
            .or_else(|| self.uplink.broken())
            .or_else(|| {
                let (used, offered) = (self.cell.used, self.cell.offered);
                check(used <= offered, || format!("used <= offered: {used}, {offered}"))
            })
            .or_else(|| self.flows.iter().find_map(FlowResult::broken))
            .or_else(|| self.slices.iter().find_map(SliceResult::broken))
            .or_else(|| {
                self.layers.iter().find_map(|layer| {
                    let of = |what: &str| format!("{} sojourn, {what}", layer.layer);
                    let low = layer.low_latency_sojourn.broken(&of("low latency"));
                    low.or_else(|| layer.other_sojourn.broken(&of("other")))
                })
            })
    }
}

fn check(holds: bool, words: impl FnOnce() -> String) -> Option<String> {
    (!holds).then(words)
}

impl UplinkResult {
    fn broken(&self) -> Option<String> {
        let Self { entered, delivered, overflow_drops, queued, .. } = self;
        check(*entered == delivered + overflow_drops + queued, || {
            format!(
                "uplink: entered = delivered + overflow drops + queued: {entered} = {delivered} + \
                 {overflow_drops} + {queued}"
            )
        })
        .or_else(|| self.wait.broken("uplink wait"))
        .or_else(|| self.zhuge.as_ref()?.broken())
    }
}

impl ZhugeResult {
    fn broken(&self) -> Option<String> {
        let Self { acks, held, hold, .. } = self;
        check(held <= acks, || format!("Zhuge: held <= packets: {held} <= {acks}"))
            .or_else(|| hold.broken("hold of Zhuge"))
    }
}

impl FlowResult {
    fn broken(&self) -> Option<String> {
        let of = |what: &str| format!("{what} of flow {}", self.name);
        let none = Distribution::default();
        let (voip, proxy) = (self.voip.as_ref(), self.proxy.as_ref());
        let times = [
            ("delay", &self.delay),
            ("way to the UE", &self.to_ue),
            ("bound", &self.bound),
            ("round trip", &self.rtt),
            ("residence in the proxy", proxy.map_or(&none, |proxy| &proxy.residence)),
            ("round trip of the server leg", proxy.map_or(&none, |proxy| &proxy.server_rtt)),
            ("round trip of the radio leg", proxy.map_or(&none, |proxy| &proxy.radio_rtt)),
            ("way from server to UE", proxy.map_or(&none, |proxy| &proxy.server_to_ue)),
            ("one way", voip.map_or(&none, |voip| &voip.one_way)),
            ("frame completion", self.frames.as_ref().map_or(&none, |frames| &frames.completion)),
            ("page load", self.pages.as_ref().map_or(&none, |pages| &pages.load)),
            ("object", self.pages.as_ref().map_or(&none, |pages| &pages.object)),
            ("end to end", self.pages.as_ref().map_or(&none, |pages| &pages.end_to_end)),
        ];
        let within = |what: &str, value: f64, low: f64, high: f64| {
            let sound = (low..=high).contains(&value);
            check(sound, || format!("{low} <= {} <= {high}: {value}", of(what)))
        };
        times
            .into_iter()
            .find_map(|(what, times)| times.broken(&of(what)))
            .or_else(|| self.delay.below(&self.bound, &self.name))
            .or_else(|| within("goodput", self.goodput_mbit_s, 0.0, f64::MAX))
            .or_else(|| within("PDV", self.ipdv_mean_ms.unwrap_or_default(), 0.0, f64::MAX))
            .or_else(|| within("jitter", self.jitter_mean_ms.unwrap_or_default(), 0.0, f64::MAX))
            .or_else(|| within("Jain's index", self.jain_index.unwrap_or(1.0), 0.0, 1.0 + ROUNDING))
            .or_else(|| within("goodput together", self.together_mbit_s, 0.0, f64::MAX))
            .or_else(|| within("R", voip.map_or(0.0, |voip| voip.rating), 0.0, 100.0))
            .or_else(|| within("loss", voip.map_or(0.0, |voip| voip.loss_percent), 0.0, 100.0))
            .or_else(|| {
                self.within_percent
                    .iter()
                    .find_map(|share| within("share in time", *share, 0.0, 100.0))
            })
            .or_else(|| {
                let (late, delivered) = (self.late_packets, self.delivered_packets);
                check(late <= delivered, || {
                    format!("{}: {late} of {delivered}", of("late <= delivered"))
                })
            })
    }
}

impl SliceResult {
    fn broken(&self) -> Option<String> {
        let five = [
            self.quantum_min,
            self.quantum_p25,
            self.quantum_p50,
            self.quantum_p75,
            self.quantum_max,
        ];
        check(rises(&five), || {
            format!("minimum <= quartiles <= maximum, quantum of slice {}: {five:?}", self.slice)
        })
    }
}

/// True if no value is undefined or below the previous one.
fn rises(values: &[f64]) -> bool {
    values.windows(2).all(|w| w[0] <= w[1])
}

impl Distribution {
    /// The extremes and the percentiles between them, in order.
    fn ordered(&self) -> [f64; 9] {
        let d = self;
        [d.min_ms, d.p25_ms, d.p50_ms, d.p75_ms, d.p90_ms, d.p95_ms, d.p99_ms, d.p999_ms, d.max_ms]
    }

    /// The invariant that it breaks, as the distribution called `what`.
    fn broken(&self, what: &str) -> Option<String> {
        if self.count == 0 {
            let empty = *self == Self::default();
            return check(empty, || format!("no figures without a value, {what}: {self:?}"));
        }
        let ordered = self.ordered();
        let about = |x: f64| x * ROUNDING;
        let mean = self.mean_ms >= self.min_ms - about(self.min_ms)
            && self.mean_ms <= self.max_ms + about(self.max_ms);
        let points = || self.cdf.iter().all(|(ms, _)| (self.min_ms..=self.max_ms).contains(ms));
        let rising = || self.cdf.windows(2).all(|w| w[0].0 <= w[1].0 && w[0].1 < w[1].1);
        check(self.min_ms >= 0.0 && self.max_ms.is_finite() && rises(&ordered), || {
            format!("minimum <= percentiles <= maximum, {what}: {ordered:?} ms")
        })
        .or_else(|| {
            let (min, mean_ms, max) = (self.min_ms, self.mean_ms, self.max_ms);
            check(mean && self.sd_ms >= 0.0, || {
                format!("minimum <= mean <= maximum, {what}: {min}, {mean_ms}, {max} ms")
            })
        })
        .or_else(|| {
            check(points() && rising(), || {
                let (min, max, points) = (self.min_ms, self.max_ms, &self.cdf);
                let (first, last) = (points.first(), points.last());
                format!(
                    "the CDF rises between the extremes, {what}: {min} to {max} ms, {first:?} to \
                     {last:?}"
                )
            })
        })
    }

    /// The quantile at which it is below `bound`, the bound of the same values; unknown if only
    /// some of them have a bound.
    fn below(&self, bound: &Self, flow: &str) -> Option<String> {
        if self.count != bound.count {
            return None;
        }
        let (own, least) = (self.ordered(), bound.ordered());
        let above = own.iter().zip(&least).all(|(own, least)| own >= least)
            && self.mean_ms >= bound.mean_ms;
        check(above, || format!("delay >= bound, flow {flow}: {own:?}, bound {least:?} ms"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{CellResult, Conservation, LayerResult, VoipResult};

    fn sound() -> Distribution {
        Distribution {
            count: 2,
            mean_ms: 1.5,
            min_ms: 1.0,
            p25_ms: 1.0,
            p50_ms: 1.0,
            p75_ms: 2.0,
            p90_ms: 2.0,
            p95_ms: 2.0,
            p99_ms: 2.0,
            p999_ms: 2.0,
            max_ms: 2.0,
            cdf: vec![(1.0, 0.5), (2.0, 1.0)],
            ..Distribution::default()
        }
    }

    /// The first broken invariant of a sound run after `change`.
    fn broken(change: impl FnOnce(&mut RunResult)) -> Option<String> {
        let voip = VoipResult { rating: 93.2, one_way: sound(), ..VoipResult::default() };
        let flow = FlowResult {
            name: "call".into(),
            delivered_packets: 2,
            delay: sound(),
            bound: sound(),
            voip: Some(voip),
            ..FlowResult::default()
        };
        let mut run = RunResult {
            flows: vec![flow],
            layers: vec![LayerResult {
                layer: "rlc".into(),
                other_sojourn: sound(),
                ..LayerResult::default()
            }],
            cell: CellResult { used: 5, offered: 5, ..CellResult::default() },
            slices: vec![SliceResult::default()],
            conservation: Conservation { entered: 6, delivered: 3, dropped: 2, queued: 1 },
            ..RunResult::default()
        };
        change(&mut run);
        run.broken_invariant()
    }

    fn names(found: Option<String>, words: &str) {
        assert!(found.as_ref().is_some_and(|found| found.contains(words)), "{words}: {found:?}");
    }

    #[test]
    fn a_sound_run_breaks_nothing_and_each_broken_invariant_is_told_by_name_with_its_values() {
        assert_eq!(broken(|_| {}), None);
        names(broken(|r| r.conservation.queued = 0), "entered = delivered + dropped + queued");
        names(broken(|r| r.uplink.entered = 1), "uplink: entered = delivered");
        names(broken(|r| r.cell.used = 6), "used <= offered: 6, 5");
        names(
            broken(|r| r.flows[0].delay.p99_ms = 2.1),
            "percentiles <= maximum, delay of flow call",
        );
        names(broken(|r| r.flows[0].delay.p25_ms = 0.9), "minimum <= percentiles");
        names(broken(|r| r.flows[0].delay.mean_ms = 2.1), "minimum <= mean <= maximum");
        names(broken(|r| r.flows[0].delay.p50_ms = f64::NAN), "minimum <= percentiles");
        names(broken(|r| r.flows[0].delay.cdf[1].0 = 2.1), "the CDF rises");
        names(broken(|r| r.flows[0].delay.count = 0), "no figures without a value");
        names(
            broken(|r| {
                let d = &mut r.flows[0].bound;
                (d.p99_ms, d.p999_ms, d.max_ms) = (2.5, 2.5, 2.5);
            }),
            "delay >= bound, flow call",
        );
        names(broken(|r| r.flows[0].ipdv_mean_ms = Some(-13e-6)), "0 <= PDV of flow call");
        names(broken(|r| r.flows[0].jitter_mean_ms = Some(-1.0)), "0 <= jitter of flow call");
        names(
            broken(|r| r.flows[0].voip.as_mut().expect("a call").rating = -64.0),
            "0 <= R of flow call <= 100",
        );
        names(broken(|r| r.flows[0].late_packets = 3), "late <= delivered");
        names(broken(|r| r.flows[0].goodput_mbit_s = f64::INFINITY), "goodput");
        names(broken(|r| r.layers[0].other_sojourn.p90_ms = 0.0), "rlc sojourn, other");
        names(broken(|r| r.slices[0].quantum_p25 = 1.0), "quantum of slice 0");
    }

    #[test]
    fn evidence_of_the_driver_is_named_with_its_values() {
        let carried = |goodput| Carried { goodput, most: 100 };
        let tcp = |received| TcpBytes {
            name: "bulk".into(),
            sent: 10,
            received,
            dropped: 2,
            under_way: 1,
        };
        let evidence = |chain: Option<&str>, down, up, received| Evidence {
            uplink: None,
            chain: chain.map(String::from),
            early: None,
            downlink: carried(down),
            uplinks: vec![carried(0), carried(up)],
            tcp: vec![tcp(7), tcp(received)],
            proxy: None,
        };
        let broken = |evidence: Evidence| evidence.broken(&RunResult::default());
        assert_eq!(broken(evidence(None, 100, 100, 7)), None);
        names(broken(evidence(Some("rlc queue"), 0, 0, 7)), "packets are conserved: rlc queue");
        let early =
            Evidence { early: Some("packet of flow call".into()), ..evidence(None, 0, 0, 7) };
        names(broken(early), "delay >= bound: packet of flow call");
        names(
            broken(evidence(None, 101, 0, 7)),
            "capacity of the window on the radio: 101 B, at most 100 B",
        );
        names(broken(evidence(None, 0, 101, 7)), "on a UE's uplink");
        names(broken(evidence(None, 0, 0, 6)), "flow bulk: 10 = 6 + 2 + 1");
    }
}
