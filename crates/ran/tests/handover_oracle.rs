//! PDCP and RLC through handovers, written a second time from TS 38.323 sections 5.1.2, 5.2.2 and
//! 5.4 and TS 38.322 section 5.1.2: plain maps, COUNTs that never wrap, whole SDUs. The stack and
//! this model meet the same arrivals, handovers and losses on the air.
//!
//! A slot is lost when the channel has fallen since the slot before, since the transport block has
//! the MCS of that slot. Reports take longer than a UE's stay in a cell: RLC gets no
//! acknowledgement and repeats nothing there, so all SDUs of a stay are unacknowledged at its end.

use justfull_base::{Dscp, Duration, Event, Instant, Packet, Probe, Qfi, Ratio, Rng};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, McsConfig, RowLength};
use justfull_ran::config::{Phase, Skew};
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::rlc::mode::{AmConfig, UmConfig};
use justfull_ran::stack::{Entry, Flows, Forwarded, Kept};
use justfull_ran::{
    CarrierConfig, Egress, FiveTuple, HarqConfig, MacConfig, PdcpConfig, PollConfig, RbConfig,
    RlcConfig, SdapConfig, Stack, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Deliveries to the UE: microseconds and number of the SDU.
#[derive(Default)]
struct Log {
    delivered: Vec<(u64, u64)>,
    dropped: BTreeSet<u64>,
}

impl Probe for Log {
    fn on_event(&mut self, _now: Instant, event: &Event) {
        if let Event::Dropped { packet, .. } = event {
            self.dropped.insert(packet.payload);
        }
    }
}

impl Egress for Log {
    fn deliver(&mut self, now: Instant, packet: &Packet, _bound: Option<Instant>) {
        self.delivered.push((now.as_nanos() / 1_000, packet.payload));
    }
}

fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

/// About `us`: an even number that is no begin of a slot; arrivals are at odd ones.
fn off_slot(us: u64) -> u64 {
    let even = us & !1;
    if even.is_multiple_of(1_000) { even + 2 } else { even }
}

/// A case: two cells, between which the UE moves.
#[derive(Clone, Debug)]
struct Case {
    acknowledged: bool,
    forwarding: bool,
    t_reordering_us: u64,
    /// MCS of each slot of each cell, from the first again.
    mcs: [Vec<u8>; 2],
    /// Arrivals, in microseconds.
    arrivals: Vec<u64>,
    /// Departures and the arrivals in the other cell, in microseconds.
    handovers: Vec<(u64, u64)>,
    end_us: u64,
}

impl Case {
    fn draw(rng: &mut Rng) -> Self {
        let rows =
            |rng: &mut Rng| (0..7 + rng.below(20)).map(|_| 12 + rng.below(17) as u8).collect();
        let mcs = [rows(rng), rows(rng)];
        let (mut us, mut handovers) = (0, Vec::new());
        for _ in 0..1 + rng.below(4) {
            let leaves = us + 5_000 + rng.below(150_000);
            us = leaves + rng.below(30_000);
            handovers.push((off_slot(leaves), off_slot(us)));
        }
        let last = us + 60_000;
        let mut arrivals = Vec::new();
        let mut next = 0;
        while next < last {
            next += 2 + 2 * rng.below(6_000);
            arrivals.push(next + 1);
        }
        Self {
            acknowledged: rng.chance(0.5),
            forwarding: rng.chance(0.6),
            t_reordering_us: [0, 5_000, 20_000, 100_000][rng.below(4) as usize],
            mcs,
            arrivals,
            handovers,
            end_us: last + 300_000,
        }
    }

    /// True if slot `k` of `cell` is lost.
    fn loses(&self, cell: usize, k: u64) -> bool {
        let mcs = |k: u64| self.mcs[cell][k as usize % self.mcs[cell].len()];
        k > 0 && mcs(k) < mcs(k - 1)
    }

    fn config(&self, cell: usize) -> StackConfig {
        let ue = UeConfig::plain(Qfi::new(9).expect("below 64"));
        let slot = PollConfig {
            phase: Phase::Fixed(Duration::ZERO),
            skew: Skew::Ppm(0.0),
            ..PollConfig::every(Duration::from_millis(1))
        };
        let mode = if self.acknowledged {
            RlcModeConfig::Am(AmConfig {
                t_poll_retransmit: Duration::from_secs(4),
                ..AmConfig::default()
            })
        } else {
            RlcModeConfig::Um(UmConfig::default())
        };
        let rows = McsConfig {
            mcs: self.mcs[cell].clone(),
            row: RowLength::Slots(1),
            ..McsConfig::default()
        };
        StackConfig {
            upf: UpfConfig::default(),
            sdap: SdapConfig::default(),
            rlc: RlcConfig {
                queue: QueueConfig::tail_drop(Limit::Unlimited),
                mode,
                ..RlcConfig::default()
            },
            mac: MacConfig::Rb(RbConfig {
                slot,
                carrier: CarrierConfig { n_prb: 100, ..CarrierConfig::default() },
                harq: HarqConfig { transmissions: 1, bler: Ratio(0.0), ..HarqConfig::default() },
                cqi_delay: 1,
                status_delay: Duration::from_secs(60),
                ..RbConfig::default()
            }),
            channel: ChannelConfig::Mcs(rows),
            pdcp: PdcpConfig {
                sn_bits: 18,
                t_reordering: Duration::from_micros(self.t_reordering_us),
                ..PdcpConfig::default()
            },
            ues: vec![Arc::new(ue)],
            slices: Vec::new(),
            scells: Vec::new(),
            tie_order: TieOrder::TopDown,
            mtu: 1500,
            seed: 7 + cell as u64,
            assert_bound: false,
        }
    }
}

/// The packet with this `id`.
fn packet(id: usize) -> Packet {
    Packet { size: 40, payload: id as u64, ..Packet::default() }
}

/// Packet `id` arrives at the UPF of `cell` at `us`.
fn enter(flows: &mut Flows, cell: &mut Stack, us: u64, id: usize, log: &mut Log) {
    let mut packet = packet(id);
    let qos = flows.stamp(at(us), &mut packet, cell);
    cell.input_stamped(at(us), &mut packet, qos, log);
}

/// The deliveries and the SDUs dropped for handovers, by the stacks.
fn by_stacks(case: &Case) -> Log {
    by_stacks_of(case, &[case.config(0), case.config(1)])
}

/// The same in cells of `configs`.
fn by_stacks_of(case: &Case, configs: &[StackConfig; 2]) -> Log {
    // The UE begins in the first cell.
    let mut cells = [(0, &[0][..], &[][..]), (1, &[], &[0])]
        .map(|(cell, here, guests)| Stack::of_several(&configs[cell], here, guests))
        .map(|stack| stack.expect("within bounds"));
    let ue = &configs[0].ues[0];
    let mut flows = Flows::default();
    flows.open(0, ue, &FiveTuple::default(), Dscp::default());
    let mut log = Log::default();
    let mut arrivals = case.arrivals.iter().copied().enumerate().peekable();
    let mut here = 0;
    for &(leaves, joins) in &case.handovers {
        while let Some((id, us)) = arrivals.next_if(|(_, us)| *us < leaves) {
            enter(&mut flows, &mut cells[here], us, id, &mut log);
        }
        let departure = cells[here].detach(at(leaves), 0, &mut log).expect("it is there");
        let mut data: VecDeque<Forwarded> = departure.data.into();
        while let Some((id, us)) = arrivals.next_if(|(_, us)| *us < joins) {
            let mut passing = packet(id);
            let qos = flows.stamp(at(us), &mut passing, &cells[here]);
            let kept = cells[here].pass_by(at(us), &mut passing, qos, &mut log);
            assert!(!kept, "packets pass through the UPF");
            data.push_back(Forwarded::Fresh(passing));
        }
        cells[here].wake(at(joins), &mut log);
        let (context, target) = (departure.context, 1 - here);
        let entry = Entry { config: &configs[target], ue, kept: Kept::Nothing };
        cells[target].attach(at(joins), context, &entry, &mut log).expect("it has no place there");
        cells[here].leave_place(0);
        for sdu in data {
            match sdu.packet() {
                Some(packet) if !case.forwarding => {
                    log.dropped.insert(packet.payload);
                }
                _ => cells[target].accept(at(joins), sdu, &mut log),
            }
        }
        here = target;
    }
    for (id, us) in arrivals {
        enter(&mut flows, &mut cells[here], us, id, &mut log);
    }
    cells.iter_mut().for_each(|cell| cell.wake(at(case.end_us), &mut log));
    cells.iter().for_each(Stack::assert_conserved);
    log
}

/// A bearer with both its ends.
#[derive(Default)]
struct Plain {
    /// SDUs without a number, in order.
    fresh: VecDeque<u64>,
    /// SDUs that are sent again, with their COUNTs.
    again: VecDeque<(u64, u64)>,
    tx_next: u64,
    unacknowledged: Vec<(u64, u64)>,
    /// SDUs that the UE's RLC has received.
    has: BTreeSet<u64>,
    rx_deliv: u64,
    rx_next: u64,
    rx_reord: u64,
    timer: Option<u64>,
    stored: BTreeMap<u64, u64>,
    delivered: Vec<(u64, u64)>,
    lost: BTreeSet<u64>,
}

impl Plain {
    /// Slot at `us` of `case`: timers first, then the transport block.
    fn slot(&mut self, us: u64, lost: bool, case: &Case) {
        if self.timer.is_some_and(|at| at <= us) {
            // Section 5.2.2.2: all SDUs before RX_REORD, then the SDUs in sequence from it on.
            self.timer = None;
            let before: Vec<u64> = self.stored.range(..self.rx_reord).map(|(c, _)| *c).collect();
            for count in before {
                let id = self.stored.remove(&count).expect("listed");
                self.delivered.push((us, id));
            }
            self.rx_deliv = self.rx_deliv.max(self.rx_reord);
            self.deliver_in_sequence(us);
            self.start_timer(us, case);
        }
        let numbered = std::mem::take(&mut self.again);
        let mut block: Vec<(u64, u64)> = numbered.into();
        for id in std::mem::take(&mut self.fresh) {
            block.push((self.tx_next, id));
            self.tx_next += 1;
        }
        self.unacknowledged.extend(block.iter().copied());
        if lost {
            if !case.acknowledged {
                self.lost.extend(block.iter().map(|(_, id)| *id));
            }
            return;
        }
        for (count, id) in block {
            self.has.insert(id);
            // Section 5.2.2.1.
            if count < self.rx_deliv || self.stored.contains_key(&count) {
                self.lost.insert(id);
                continue;
            }
            self.stored.insert(count, id);
            self.rx_next = self.rx_next.max(count + 1);
            if count == self.rx_deliv {
                self.deliver_in_sequence(us);
            }
            if self.rx_deliv >= self.rx_reord {
                self.timer = None;
            }
            self.start_timer(us, case);
        }
    }

    fn deliver_in_sequence(&mut self, us: u64) {
        while let Some(id) = self.stored.remove(&self.rx_deliv) {
            self.delivered.push((us, id));
            self.rx_deliv += 1;
        }
    }

    fn start_timer(&mut self, us: u64, case: &Case) {
        if self.timer.is_none() && self.rx_deliv < self.rx_next {
            self.rx_reord = self.rx_next;
            self.timer = Some(us + case.t_reordering_us);
        }
    }

    /// The UE leaves its cell at `us`.
    fn leave(&mut self, us: u64, case: &Case) {
        if case.acknowledged {
            let sent = std::mem::take(&mut self.unacknowledged);
            self.again = sent.into_iter().filter(|(_, id)| !self.has.contains(id)).collect();
        } else {
            // Section 5.1.2 for UM: the stored SDUs in the order of their COUNTs; variables anew.
            let stored = std::mem::take(&mut self.stored);
            self.delivered.extend(stored.into_values().map(|id| (us, id)));
            (self.tx_next, self.rx_deliv, self.rx_next, self.rx_reord) = (0, 0, 0, 0);
            self.timer = None;
            self.unacknowledged.clear();
        }
    }

    /// The UE joins the target, which has the SDUs that the source forwarded.
    fn join(&mut self, case: &Case) {
        if !case.forwarding {
            self.lost.extend(self.again.drain(..).map(|(_, id)| id));
            self.lost.extend(self.fresh.drain(..));
        }
    }
}

fn by_hand(case: &Case) -> Plain {
    let mut plain = Plain::default();
    // Arrivals, departures, joins and slots in the order of time; a UE on its way has no slots.
    let mut events: Vec<(u64, u8, usize)> = Vec::new();
    events.extend(case.arrivals.iter().enumerate().map(|(id, us)| (*us, 0, id)));
    events.extend(case.handovers.iter().map(|(us, _)| (*us, 1, 0)));
    events.extend(case.handovers.iter().map(|(_, us)| (*us, 2, 0)));
    events.extend((0..=case.end_us / 1_000).map(|k| (k * 1_000, 3, k as usize)));
    events.sort_unstable();
    let (mut cell, mut away) = (0, false);
    for (us, what, which) in events {
        match what {
            0 => plain.fresh.push_back(which as u64),
            1 => {
                plain.leave(us, case);
                away = true;
            }
            2 => {
                plain.join(case);
                (cell, away) = (1 - cell, false);
            }
            _ if away => {}
            _ => plain.slot(us, case.loses(cell, which as u64), case),
        }
    }
    plain
}

#[test]
fn thousands_of_random_handovers_deliver_what_the_plain_model_says() {
    let mut rng = Rng::stream(40, "handovers");
    let (mut delivered, mut lost, mut waited) = (0, 0, 0);
    for number in 0..3_000 {
        let case = Case::draw(&mut rng);
        let (found, wanted) = (by_stacks(&case), by_hand(&case));
        assert_eq!(found.delivered, wanted.delivered, "case {number}: {case:?}");
        assert_eq!(found.dropped, wanted.lost, "dropped in case {number}: {case:?}");
        delivered += found.delivered.len();
        lost += found.dropped.len();
        waited += found.delivered.iter().filter(|(us, _)| us % 1_000 != 0).count();
        let ids: Vec<u64> = found.delivered.iter().map(|(_, id)| *id).collect();
        assert!(ids.is_sorted_by(|a, b| a < b), "in order and once, case {number}");
    }
    assert!(delivered > 50_000 && lost > 5_000 && waited > 100, "{delivered} {lost} {waited}");
}

#[test]
fn acknowledged_mode_with_forwarding_delivers_every_sdu_once_and_in_order() {
    // RLC's own retransmissions, and t-Reordering longer than they take.
    let mut rng = Rng::stream(41, "handovers");
    for number in 0..200 {
        let mut case = Case::draw(&mut rng);
        (case.acknowledged, case.forwarding) = (true, true);
        // Losses at random: a channel could have the period of the repeats.
        case.mcs = [vec![20], vec![20]];
        case.t_reordering_us = 3_000_000;
        case.end_us += 3_000_000;
        let mut configs = [case.config(0), case.config(1)];
        for config in &mut configs {
            let MacConfig::Rb(rb) = &mut config.mac else { unreachable!("blocks") };
            rb.status_delay = Duration::from_millis(8);
            rb.harq.bler = Ratio(0.4);
            config.rlc.mode = RlcModeConfig::Am(AmConfig {
                t_poll_retransmit: Duration::from_millis(20),
                max_retx_threshold: 32,
                ..AmConfig::default()
            });
        }
        let log = by_stacks_of(&case, &configs);
        let ids: Vec<u64> = log.delivered.iter().map(|(_, id)| *id).collect();
        assert_eq!(ids, Vec::from_iter(0..case.arrivals.len() as u64), "case {number}: {case:?}");
        assert!(log.dropped.is_empty(), "case {number}");
    }
}
