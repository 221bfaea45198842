//! T20's three algorithms and A21's e5G-BDP, implemented again from their pseudo-code and followed
//! step by step on random loads.
//!
//! Each oracle keeps its state like the pseudo-code (running totals, snapshots, its own copy of the
//! queue), not like the production code, so a mistake in one is not repeated in the other.

use justfull_base::{Duration, Instant, Packet, Ratio, SlotReport};
use justfull_ran::channel::CapacityUnit;
use justfull_ran::limiter::{
    AnyLimiter, Bdp5g, Bdp5gConfig, Drql, DrqlConfig, EBdp5g, EBdp5gConfig, GrantContext, Limiter,
    RlcView,
};
use justfull_ran::pacer::{Pacer, SdapPoll, Usp, UspConfig};
use proptest::prelude::*;

const MTU: u64 = 1500;
const TTI_NS: u64 = 10_000_000;

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// The queue between SDAP and the radio: sizes, head first; the head may be partly sent.
#[derive(Default)]
struct Rlc {
    sizes: std::collections::VecDeque<u64>,
    sent_of_head: u64,
}

impl Rlc {
    fn view(&self) -> RlcView {
        let bytes = self.sizes.iter().sum::<u64>() - self.sent_of_head;
        RlcView { packets: self.sizes.len() as u64, bytes }
    }

    /// The MAC takes up to `capacity`.
    fn pull(&mut self, unit: CapacityUnit, mut capacity: u64) -> u64 {
        let mut used = 0;
        while let Some(&head) = self.sizes.front() {
            let need = match unit {
                CapacityUnit::Packets => 1,
                CapacityUnit::Bytes => head - self.sent_of_head,
            };
            let take = need.min(capacity);
            used += take;
            capacity -= take;
            if take < need {
                self.sent_of_head += take;
            }
            if take < need || take == 0 {
                break;
            }
            self.sizes.pop_front();
            self.sent_of_head = 0;
        }
        used
    }
}

/// One slot of a random load: the packets that SDAP holds at each of its polls, and the amount that
/// the MAC then takes.
#[derive(Clone, Debug)]
struct Slot {
    polls: Vec<(u64, Vec<u64>)>,
    capacity: u64,
    late_ns: u64,
}

fn slots(unit: CapacityUnit) -> impl Strategy<Value = Vec<Slot>> {
    let scale = match unit {
        CapacityUnit::Packets => 1,
        CapacityUnit::Bytes => 900,
    };
    let offered = prop::collection::vec(40..=MTU, 0..6);
    let poll = (0..TTI_NS, offered);
    let slot = (prop::collection::vec(poll, 0..6), 0..16u64, 0..TTI_NS / 4);
    let slot = slot.prop_map(move |(mut polls, capacity, late_ns)| {
        polls.sort_by_key(|(ns, _)| *ns);
        Slot { polls, capacity: capacity * scale, late_ns }
    });
    prop::collection::vec(slot, 1..120)
}

fn units() -> impl Strategy<Value = CapacityUnit> {
    prop_oneof![Just(CapacityUnit::Packets), Just(CapacityUnit::Bytes)]
}

fn load() -> impl Strategy<Value = (CapacityUnit, Vec<Slot>)> {
    units().prop_flat_map(|unit| (Just(unit), slots(unit)))
}

fn worth(unit: CapacityUnit, packets: u64) -> u64 {
    match unit {
        CapacityUnit::Packets => packets,
        CapacityUnit::Bytes => packets * MTU,
    }
}

/// Runs `load` through a limiter and shows each step to `watch`: before each poll, after each
/// admission, after each pull.
fn follow(limiter: &mut AnyLimiter, load: &[Slot], watch: &mut dyn FnMut(&mut AnyLimiter, Step)) {
    let unit = limiter.unit();
    let mut rlc = Rlc::default();
    let mut pulled_at = Instant::ZERO;
    for (k, slot) in load.iter().enumerate() {
        let mut waiting = std::collections::VecDeque::new();
        for (ns, offered) in &slot.polls {
            let now = pulled_at + Duration::from_nanos(*ns);
            waiting.extend(offered.iter().copied());
            watch(limiter, Step::Asked { now, backlog: rlc.view().backlog(unit) });
            while let Some(&size) = waiting.front() {
                let sdu = Packet { size: size as u32, ..Packet::default() };
                if !limiter.admits(now, &sdu, &rlc.view()) {
                    break;
                }
                waiting.pop_front();
                rlc.sizes.push_back(size);
                let amount = limiter.amount(&sdu);
                limiter.on_admitted(now, amount, &rlc.view());
                watch(limiter, Step::Admitted { amount });
            }
        }
        pulled_at = at((k as u64 + 1) * TTI_NS * 5 / 4 + slot.late_ns);
        let used = rlc.pull(unit, slot.capacity);
        let remaining = rlc.view().backlog(unit);
        let capacity = slot.capacity;
        limiter.on_slot(&SlotReport {
            pulled_at,
            slot: Duration::from_nanos(TTI_NS),
            granted: capacity,
            used,
            remaining,
            capacity,
            starved: remaining == 0 && used < capacity,
        });
        watch(limiter, Step::Pulled { now: pulled_at, used, remaining, capacity });
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Asked { now: Instant, backlog: u64 },
    Admitted { amount: u64 },
    Pulled { now: Instant, used: u64, remaining: u64, capacity: u64 },
}

/// T20 Algorithm 1, with lines 13 and 17 as explained in its text.
struct DrqlOracle {
    t_ns: u64,
    min_val: Option<u64>,
    enqueued_bytes: u64,
    dequeued_bytes: u64,
    limit: u64,
    last_time: u64,
    peak: u64,
    bounds: (u64, u64),
}

impl DrqlOracle {
    fn new(start: u64, bounds: (u64, u64), t_ns: u64) -> Self {
        let (enqueued_bytes, dequeued_bytes, last_time, peak) = (0, 0, 0, 0);
        Self {
            t_ns,
            min_val: None,
            enqueued_bytes,
            dequeued_bytes,
            limit: start,
            last_time,
            peak,
            bounds,
        }
    }

    fn enqueued(&mut self, amount: u64) {
        self.enqueued_bytes += amount;
        self.peak = self.peak.max(self.enqueued_bytes - self.dequeued_bytes);
    }

    /// Procedure DEQUEUED.
    fn dequeued(&mut self, now: u64, bytes: u64) {
        self.dequeued_bytes += bytes; // 4
        let limit_reached = self.peak >= self.limit; // 5
        let remaining = self.enqueued_bytes - self.dequeued_bytes; // 6
        let buffer_starved = remaining == 0 && limit_reached; // 7
        if buffer_starved {
            // 9, by a fifth; "always been remaining data" is no longer true, so the interval
            // restarts.
            self.limit = (self.limit * 6).div_ceil(5).min(self.bounds.1);
            (self.last_time, self.min_val) = (now, None);
        } else if remaining > 0 {
            if self.min_val.is_none_or(|least| least > remaining) {
                self.min_val = Some(remaining); // 12
            }
            if now >= self.last_time + self.t_ns {
                self.last_time = now; // 14
                self.limit =
                    self.limit.saturating_sub(self.min_val.unwrap_or(0)).max(self.bounds.0); // 15
                self.min_val = None; // 16
            }
        } else {
            (self.last_time, self.min_val) = (now, None); // 18, 19
        }
        self.peak = remaining;
    }
}

/// T20 Algorithm 2.
struct BdpOracle {
    offset: f64,
    bytes_tx: u64,
    bytes_to_send: u64,
    last_time: u64,
}

impl BdpOracle {
    /// Procedure SET_VALUES.
    fn set_values(&mut self, now: u64, remaining: u64, channel_capacity: u64) {
        if channel_capacity > remaining {
            self.bytes_to_send = channel_capacity - remaining;
        } else {
            self.bytes_to_send = 0;
        }
        self.bytes_tx = 0;
        self.last_time = now;
    }

    /// Function GET_OPTIMAL_VALUE, with no more than one TTI elapsed.
    #[allow(clippy::implicit_saturating_sub, reason = "lines 15 to 18 as they are printed")]
    fn get_optimal_value(&self, now: u64) -> u64 {
        let elapsed_time = now - self.last_time;
        let mut normal_tti = (elapsed_time as f64 / TTI_NS as f64).min(1.0);
        normal_tti += self.offset;
        let soll_tx = (normal_tti * self.bytes_to_send as f64).floor() as u64;
        if soll_tx > self.bytes_tx { soll_tx - self.bytes_tx } else { 0 }
    }
}

/// A21 Algorithms 1 to 3, called per packet. It counts the queue from its inputs, like the
/// pseudo-code.
struct EBdpOracle {
    srs_bytes: f64,
    last_acc_bytes: f64,
    acc_bytes: f64,
    max_bytes: f64,
    bandwidth: f64,
    last_tti: u64,
    reduce_const: f64,
    new: f64,
    mtu: f64,
    byte: f64,
}

impl EBdpOracle {
    /// None if the numbers are so close that the result depends on the order of floating-point
    /// operations.
    fn limit_reached(&self, now: u64, data_size: f64) -> Option<bool> {
        if self.srs_bytes + self.last_acc_bytes > self.max_bytes {
            return Some(true); // 6
        }
        let paced_bytes = self.calculate_paced_bytes(now); // 8
        let decide = |left: f64, right: f64| ((left - right).abs() > 1e-6).then_some(left > right);
        if decide(paced_bytes * self.reduce_const, data_size + self.srs_bytes)? {
            return Some(false); // 10
        }
        let mut extra_bytes = data_size / 5.0; // 12
        if self.srs_bytes != 0.0 && self.last_acc_bytes != 0.0 {
            extra_bytes = data_size / 3.0; // 14
        }
        decide(self.srs_bytes + self.last_acc_bytes + extra_bytes, paced_bytes) // 16
    }

    fn update_bw_est(&mut self, now: u64) {
        let rms_bytes = self.srs_bytes - (self.acc_bytes - self.last_acc_bytes);
        // The load's slots are a little longer than a TTI; a TTI in between would be an idle one.
        let mut missed = ((now - self.last_tti) as f64 / TTI_NS as f64 + 0.5) as u64;
        let old = 1.0 - self.new;
        let seen = |bandwidth: f64| if bandwidth < self.byte { 0.0 } else { bandwidth };
        while missed > 1 {
            self.bandwidth = seen(self.bandwidth * old);
            missed -= 1;
        }
        self.bandwidth = seen(self.new * rms_bytes + old * self.bandwidth);
        self.srs_bytes = 0.0;
        self.last_acc_bytes = self.acc_bytes;
        self.last_tti = now;
    }

    fn calculate_paced_bytes(&self, now: u64) -> f64 {
        let elapsed = (now - self.last_tti) as f64 / TTI_NS as f64;
        let incr = if elapsed < 0.5 { 1.2 } else { 1.33 };
        if self.bandwidth != 0.0 {
            incr * elapsed * self.bandwidth + self.mtu / 7.0
        } else if self.last_acc_bytes == 0.0 && elapsed > 0.5 {
            self.mtu / 4.0
        } else {
            0.0
        }
    }
}

/// T20 Algorithm 3.
struct UspOracle {
    num_ticks: u64,
    dequeued_bytes: u64,
    dequeued_bytes_last: u64,
    saturation_detected: bool,
    optimal_occ: u64,
    last_time: u64,
    doubled_in: Option<u64>,
    bounds: (u64, u64),
}

impl UspOracle {
    /// Procedure DEQUEUED.
    fn dequeued(&mut self, now: u64, bytes: u64) {
        if self.saturation_detected {
            self.saturation_detected = false;
            let accepted = self.dequeued_bytes - self.dequeued_bytes_last;
            self.optimal_occ = self.clamp(accepted.div_ceil(self.num_ticks.max(1)));
            self.begin(now);
        } else if now > self.last_time + TTI_NS {
            self.begin(now);
        }
        self.dequeued_bytes += bytes;
    }

    fn begin(&mut self, now: u64) {
        self.last_time = now;
        self.dequeued_bytes_last = self.dequeued_bytes;
        self.num_ticks = 0;
        self.doubled_in = None;
    }

    fn clamp(&self, occ: u64) -> u64 {
        occ.max(self.bounds.0).min(self.bounds.1)
    }

    /// Function GET_OPT_OCCUPANCY.
    fn get_opt_occupancy(&mut self, now: u64) -> u64 {
        self.num_ticks += 1;
        if now > self.last_time + TTI_NS / 2 && self.doubled_in != Some(self.last_time) {
            self.doubled_in = Some(self.last_time);
            self.optimal_occ = self.clamp(2 * self.optimal_occ);
        }
        self.optimal_occ
    }
}

fn context(unit: CapacityUnit) -> GrantContext {
    GrantContext { unit, slot: Duration::from_nanos(TTI_NS), mtu: MTU as u32 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn drql_follows_algorithm_1_as_its_text_explains_it(
        (unit, load) in load(),
        start in 1u32..=64,
        hold_slots in 0u64..4,
    ) {
        let hold = Duration::from_nanos(hold_slots * TTI_NS);
        let config = DrqlConfig { start, max: 64, hold, ..DrqlConfig::default() };
        let mut limiter =
            AnyLimiter::Drql(Box::new(Drql::new(&config, &context(unit)).expect("in bounds")));
        let bounds = (worth(unit, 1), worth(unit, 64));
        let mut oracle =
            DrqlOracle::new(worth(unit, u64::from(start)), bounds, hold_slots.max(1) * TTI_NS);
        let mut slots = 0;
        follow(&mut limiter, &load, &mut |limiter, step| match step {
            Step::Asked { now, backlog } => {
                let queue = match unit {
                    CapacityUnit::Packets => RlcView { packets: backlog, bytes: 0 },
                    CapacityUnit::Bytes => RlcView { packets: 0, bytes: backlog },
                };
                let room =
                    oracle.limit.saturating_sub(oracle.enqueued_bytes - oracle.dequeued_bytes);
                assert_eq!(limiter.room(now, &queue), room, "slot {slots}");
            }
            Step::Admitted { amount } => oracle.enqueued(amount),
            Step::Pulled { now, used, .. } => {
                slots += 1;
                oracle.dequeued(now.as_nanos(), used);
                let AnyLimiter::Drql(drql) = limiter else { unreachable!("it was built as one") };
                assert_eq!(drql.limit(), oracle.limit, "after slot {slots}");
            }
        });
    }

    #[test]
    fn bdp_5g_follows_algorithm_2((unit, load) in load(), percent in 0u32..100) {
        let offset = f64::from(percent) / 100.0;
        let config = Bdp5gConfig { offset: Ratio(offset), start: 0, ..Bdp5gConfig::default() };
        let mut limiter =
            AnyLimiter::Bdp5g(Box::new(Bdp5g::new(&config, &context(unit)).expect("in bounds")));
        let mut oracle = BdpOracle { offset, bytes_tx: 0, bytes_to_send: 0, last_time: 0 };
        let mut admitted = 0u64;
        follow(&mut limiter, &load, &mut |limiter, step| match step {
            Step::Asked { now, .. } => {
                let room = limiter.room(now, &RlcView::default());
                assert_eq!(room, oracle.get_optimal_value(now.as_nanos()));
            }
            Step::Admitted { amount } => {
                oracle.bytes_tx += amount;
                admitted += amount;
            }
            Step::Pulled { now, remaining, capacity, .. } => {
                // No slot's allowance is ever exceeded by more than one SDU.
                let most = ((1.0 + offset) * oracle.bytes_to_send as f64) as u64 + MTU;
                assert!(admitted <= most, "{admitted} in one slot, allowed were {most}");
                admitted = 0;
                oracle.set_values(now.as_nanos(), remaining, capacity);
            }
        });
    }

    #[test]
    fn e_bdp_5g_follows_algorithms_1_to_3(
        (unit, load) in load(),
        reduce in 1u32..=8,
        new in 1u32..=7,
    ) {
        let (reduce, new) = (f64::from(reduce) / 8.0, f64::from(new) / 8.0);
        let config =
            EBdp5gConfig { reduce: Ratio(reduce), ewma_new: new, ewma_old: [1.0 - new, 0.0, 0.0],
                ..EBdp5gConfig::default() };
        let mut limiter =
            AnyLimiter::EBdp5g(Box::new(EBdp5g::new(&config, &context(unit)).expect("in bounds")));
        let mtu = worth(unit, 1) as f64;
        let mut oracle = EBdpOracle {
            srs_bytes: 0.0,
            last_acc_bytes: 0.0,
            acc_bytes: 0.0,
            max_bytes: f64::INFINITY,
            bandwidth: 0.0,
            last_tti: 0,
            reduce_const: reduce,
            new,
            mtu,
            byte: mtu / MTU as f64,
        };
        let sizes: Vec<u64> =
            if unit == CapacityUnit::Packets { vec![1] } else { (1..=MTU).step_by(7).collect() };
        follow(&mut limiter, &load, &mut |limiter, step| match step {
            Step::Asked { now, .. } => {
                let room = limiter.room(now, &RlcView::default());
                for size in &sizes {
                    if let Some(held) = oracle.limit_reached(now.as_nanos(), *size as f64) {
                        assert_eq!(room < *size, held, "{size} of {unit:?}, room {room}");
                    }
                }
            }
            Step::Admitted { amount } => {
                oracle.srs_bytes += amount as f64;
                oracle.acc_bytes += amount as f64;
            }
            Step::Pulled { now, used, remaining, capacity } => {
                oracle.acc_bytes -= used as f64;
                assert!((oracle.acc_bytes - remaining as f64).abs() < 0.5,
                    "the load drops nothing");
                oracle.max_bytes = capacity as f64;
                oracle.update_bw_est(now.as_nanos());
            }
        });
    }

    #[test]
    fn usp_follows_algorithm_3(
        unit in units(),
        max in 1u32..200,
        steps in prop::collection::vec((0u64..TTI_NS / 2, 0u64..8, 0u64..4, 0u64..4, any::<bool>()),
            1..400),
    ) {
        let context = GrantContext { unit, slot: Duration::from_nanos(TTI_NS), mtu: MTU as u32 };
        let config = UspConfig { max, ..UspConfig::default() };
        let mut usp = Usp::new(&config, &context).expect("in bounds");
        let bounds = (worth(unit, 1), worth(unit, u64::from(max)));
        let mut oracle = UspOracle {
            num_ticks: 0,
            dequeued_bytes: 0,
            dequeued_bytes_last: 0,
            saturation_detected: false,
            optimal_occ: bounds.1,
            last_time: 0,
            doubled_in: None,
            bounds,
        };
        let scale = if unit == CapacityUnit::Bytes { 700 } else { 1 };
        let mut ns = 0;
        for (gap, moved, backlog, room, upf) in steps {
            ns += gap;
            if upf {
                prop_assert_eq!(usp.occupancy(at(ns)), oracle.get_opt_occupancy(ns));
                continue;
            }
            let poll =
                SdapPoll { moved: moved * scale, backlog: backlog * scale, room: room * scale };
            usp.on_poll(at(ns), &poll);
            if poll.moved > 0 {
                oracle.dequeued(ns, poll.moved);
            }
            // "SDAP sets the flag once the RLC buffer reaches a congested state": it holds data and
            // admits none.
            if poll.room == 0 && poll.backlog > 0 {
                oracle.saturation_detected = true;
            }
        }
    }
}
