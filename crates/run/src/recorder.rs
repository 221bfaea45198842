//! Statistics of a run, gathered during the run without allocation per packet.

mod active;
mod applications;
mod class;
mod ended;
mod over_time;
mod proxied;
mod together;
mod upload;

use self::active::Active;
pub use self::active::Opening;
pub use self::class::ClassInfo;
use self::class::{Class, Single};
use self::over_time::{Bins, MOST_NAMES};
use self::together::Together;
use crate::app_stats::{AppEvent, sent_at};
use crate::results::FlowResult;
use crate::slice_quantum::SliceQuantum;
use crate::times::Times;
use justfull_base::{DropReason, Duration, Event, Instant, Layer, Packet, Probe};
use justfull_tcp::Sender;

/// Counts for one layer.
struct LayerCount {
    low_latency: Times,
    other: Times,
    drops: [u64; DropReason::ALL.len()],
    marks: u64,
    backlog: u64,
    backlog_sum: u64,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    slots: u64,
    capacity: u64,
    backlog: [u64; 3],
    rlc_bytes: u64,
    delivered_bytes: u64,
}

/// The measured part of a run.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// The first instant of the window.
    pub start: Instant,
    /// The last instant of the window.
    pub end: Instant,
}

/// The recorder, a listener to the stack.
pub struct Recorder {
    warmup: Instant,
    end: Instant,
    air_delay: Duration,
    classes: Vec<Class>,
    singles: Vec<Single>,
    /// By flow, apart from the data that each packet reads.
    active: Vec<Active>,
    /// By flow: the last round trip of its server leg, if a proxy splits it.
    wired: Vec<Option<Duration>>,
    together: Together,
    layers: [LayerCount; 3],
    /// By slice; empty under a scheduler without loans.
    slices: Vec<SliceQuantum>,
    offered: u64,
    used: u64,
    /// From this instant on, a packet that leaves the RLC reaches its UE in the window.
    reaches: Instant,
    /// Units used by slots before the window for packets that reach their UEs in it.
    used_before: u64,
    /// A packet that left the RLC before its bound, with both instants, in words.
    beats_bound: Option<String>,
    /// Bytes of packets that left the RLC before `reaches` and reached UEs after it.
    held_before: u64,
    slots: u64,
    starved_slots: u64,
    /// Maps a time to its index in `series`.
    bins: Bins,
    series: Vec<Bin>,
}

impl Recorder {
    /// A recorder for `window`. `air_delay`, from the pull to the UE, is part of delay budgets and
    /// of the time to the UE.
    pub fn new(
        window: Window,
        bins: usize,
        air_delay: Duration,
        classes: Vec<ClassInfo>,
        flows: &[Opening],
    ) -> Self {
        let Window { start: warmup, end } = window;
        let new = |(i, info)| Class::new(info, i < MOST_NAMES, warmup, air_delay);
        let classes = classes.into_iter().enumerate().map(new);
        let layer = || LayerCount {
            low_latency: Times::new(),
            other: Times::new(),
            drops: [0; DropReason::ALL.len()],
            marks: 0,
            backlog: 0,
            backlog_sum: 0,
        };
        Self {
            warmup,
            end,
            air_delay,
            classes: classes.collect(),
            singles: flows.iter().map(Single::new).collect(),
            active: flows.iter().map(Active::new).collect(),
            wired: Vec::new(),
            together: Together::default(),
            layers: [layer(), layer(), layer()],
            slices: Vec::new(),
            offered: 0,
            used: 0,
            reaches: Instant::ZERO + warmup.since(Instant::ZERO).saturating_sub(air_delay),
            used_before: 0,
            held_before: 0,
            beats_bound: None,
            slots: 0,
            starved_slots: 0,
            bins: Bins::new(end, bins),
            series: vec![Bin::default(); bins + 1],
        }
    }

    /// Adds a class without flows, and returns its number.
    pub fn add_class(&mut self, info: ClassInfo) -> u32 {
        let followed = self.classes.len() < MOST_NAMES;
        self.classes.push(Class::new(info, followed, self.warmup, self.air_delay));
        (self.classes.len() - 1) as u32
    }

    /// Adds the flow of `opening` under the next flow number.
    pub fn open(&mut self, opening: &Opening) {
        self.singles.push(Single::new(opening));
        self.active.push(Active::new(opening));
        self.classes[opening.class as usize].result.flows += 1;
    }

    /// Flow `flow` has ended, and its number belongs to the flow of `opening` from now on. Its own
    /// counts stay in the results of its class.
    pub fn reopen(&mut self, flow: u32, opening: &Opening) {
        self.close(flow);
        self.together.end(flow);
        self.singles[flow as usize] = Single::new(opening);
        self.active[flow as usize] = Active::new(opening);
        self.classes[opening.class as usize].result.flows += 1;
    }

    /// The class of `flow`.
    #[inline]
    pub fn class_number(&self, flow: u32) -> u32 {
        self.singles[flow as usize].class
    }

    /// The result of all flows of `class`.
    pub fn class_result(&self, class: u32) -> &FlowResult {
        &self.classes[class as usize].result
    }

    /// Ends the run at `end`, which may be earlier than planned. Returns the end of the measured
    /// window, which is never empty.
    pub fn end_at(&mut self, end: Instant) -> Instant {
        self.end = self.end.min(end).max(self.warmup + Duration::from_nanos(1));
        self.end
    }

    #[inline(always)]
    fn class_of(&mut self, flow: u32) -> &mut Class {
        &mut self.classes[self.singles[flow as usize].class as usize]
    }

    #[inline]
    fn class(&mut self, packet: &Packet) -> &mut Class {
        self.class_of(packet.flow)
    }

    #[inline]
    fn bin_at(&mut self, now: Instant) -> &mut Bin {
        if !self.bins.are_at(now) {
            self.turn(now);
        }
        &mut self.series[self.bins.current()]
    }

    /// Advances to the bin of `now`.
    #[cold]
    fn turn(&mut self, now: Instant) {
        self.bins.turn(now);
        let bin = self.bins.current() / self.bins.in_one_of_flows();
        for class in &mut self.classes {
            let received = class.received_bytes;
            if let Some(over_time) = class.followed_mut() {
                over_time.turn(bin, received);
            }
        }
    }

    /// A packet is about to enter the UPF.
    #[inline]
    pub fn entered(&mut self, now: Instant, flow: u32) {
        let class = self.class_of(flow);
        if now >= class.from {
            class.result.entered_packets += 1;
        }
    }

    /// A packet left the stack whole.
    #[inline(always)]
    pub fn delivered(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.count_delivered(now, now, packet, bound, None);
    }

    /// The UE receives a packet that left the RLC whole at `left`.
    #[inline]
    pub fn delivered_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        let to_ue = now.since(left) + self.air_delay;
        self.count_delivered(now, left, packet, bound, Some(to_ue));
        if packet.entered < self.warmup && left < self.reaches && now >= self.reaches {
            self.held_before += u64::from(packet.size);
        }
    }

    /// Checks that `packet`, which left the RLC at `left`, did not do so before its `bound`.
    #[inline(always)]
    fn hold_to_bound(&mut self, left: Instant, packet: &Packet, bound: Option<Instant>) {
        if let Some(bound) = bound.filter(|bound| left < *bound) {
            self.note_beaten_bound(left, packet, bound);
        }
    }

    /// Separate from the path of valid packets.
    #[cold]
    #[inline(never)]
    fn note_beaten_bound(&mut self, left: Instant, packet: &Packet, bound: Instant) {
        if self.beats_bound.is_none() {
            let (name, entered) = (self.name_of(packet.flow as usize), packet.entered);
            let words = format!(
                "packet of flow {name}: entered {entered:?}, left {left:?}, bound {bound:?}"
            );
            self.beats_bound = Some(words);
        }
    }

    /// The first packet that left the RLC before its bound, in words.
    pub fn bound_beaten(&self) -> Option<String> {
        self.beats_bound.clone()
    }

    /// Counts a delivered packet. Budgets, IPDV and jitter cover its path to the UE, all other
    /// statistics its path to the pull at `left`; from there to the UE it took `to_ue`, if known.
    #[inline(always)]
    fn count_delivered(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
        to_ue: Option<Duration>,
    ) {
        let single = &mut self.singles[packet.flow as usize];
        let class = &mut self.classes[single.class as usize];
        if let Some(over_time) = &mut class.over_time {
            over_time.delivered(left.since(packet.entered));
        }
        if packet.entered < class.from {
            return self.hold_to_bound(left, packet, bound);
        }
        class.count(single, packet.entered, left, now);
        if let Some(time) = to_ue {
            class.to_ue.get_or_insert_with(Times::new).record(time);
        }
        if bound.is_some() {
            if let (Some(times), Some(bound)) = (&mut class.bound, bound) {
                times.record(bound.since(packet.entered));
            }
            self.hold_to_bound(left, packet, bound);
        }
    }

    /// `bytes` of new payload reach the receiver of `flow`.
    #[inline(always)]
    pub fn goodput(&mut self, now: Instant, flow: u32, bytes: u64) {
        self.bin_at(now).delivered_bytes += bytes;
        let single = &mut self.singles[flow as usize];
        let noted = bytes >= single.left;
        single.left -= if noted { 0 } else { bytes };
        let class = &mut self.classes[single.class as usize];
        class.received_bytes += bytes;
        if now >= self.warmup {
            single.goodput_bytes += bytes;
            class.goodput_bytes += bytes;
        }
        if noted {
            self.note_last(now, flow, bytes);
        }
    }

    /// A sender measured a round trip; for a flow that a proxy splits, a round trip of the radio
    /// leg.
    #[inline(always)]
    pub fn rtt(&mut self, now: Instant, flow: u32, rtt: Duration) {
        if now >= self.warmup {
            let rtt = match self.wired.get(flow as usize) {
                Some(Some(wired)) => self.radio_rtt(now, flow, rtt, *wired),
                _ => rtt,
            };
            if let Some(times) = &mut self.class_of(flow).rtt {
                times.record(rtt);
            }
        }
    }

    /// Counts `event` of `flow` for an item sent at `sent`.
    #[inline]
    pub fn app_event(&mut self, flow: u32, sent: Instant, event: AppEvent) {
        if sent >= self.warmup {
            self.class_of(flow).app.count(event);
        }
    }

    /// The reply to the request of `sent` arrives.
    #[cold]
    #[inline]
    pub fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        if sent >= self.warmup {
            self.app_event(flow, sent, AppEvent::Completed(now.since(sent)));
            self.rtt(now, flow, now.since(sent));
        }
    }

    /// A datagram of `flow` was dropped.
    #[cold]
    #[inline]
    pub fn datagram_lost(&mut self, flow: u32, handle: u64) {
        if self.class_of(flow).app.counts_datagrams() {
            self.app_event(flow, sent_at(handle), AppEvent::Lost);
        }
    }

    /// Adds the counters of a TCP flow's sender at the end of the run.
    pub fn tcp_totals(&mut self, flow: u32, sender: &Sender) {
        let result = &mut self.class_of(flow).result;
        let stats = sender.stats();
        result.retransmitted_segments += stats.segments_retransmitted;
        result.timeouts += stats.timeouts;
        let marked = result.marked_acks.unwrap_or_default() + stats.marked_acks;
        result.marked_acks = Some(marked).filter(|count| *count > 0);
        result.in_flight_end_bytes += sender.in_flight();
    }

    /// Records the time at which all data of a TCP flow's sender was acknowledged, if it was.
    pub fn tcp_completed(&mut self, flow: u32, completed: Option<Instant>) {
        let class = self.class_of(flow);
        let done = completed.map(Instant::as_secs_f64);
        class.result.completed_s = match (class.result.completed_s, done) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        };
    }

    #[inline(always)]
    fn slot(&mut self, now: Instant, capacity: u64, used: u64, rlc: (u64, u64)) {
        let backlog = [self.layers[0].backlog, self.layers[1].backlog, rlc.0];
        let bin = self.bin_at(now);
        bin.slots += 1;
        bin.capacity += capacity;
        for (sum, layer) in bin.backlog.iter_mut().zip(backlog) {
            *sum += layer;
        }
        bin.rlc_bytes += rlc.1;
        if now >= self.warmup {
            self.slots += 1;
            self.offered += capacity;
            self.used += used;
            self.starved_slots += u64::from(used < capacity);
            for (layer, backlog) in self.layers.iter_mut().zip(backlog) {
                layer.backlog_sum += backlog;
            }
        } else if now >= self.reaches {
            self.used_before += used;
        }
    }

    /// `slice` has lent `rbs` blocks until the slot at `now`.
    #[cold]
    fn quantum(&mut self, now: Instant, slice: u16, rbs: f64) {
        if now >= self.warmup {
            let slices = usize::from(slice) + 1;
            if self.slices.len() < slices {
                self.slices.resize_with(slices, SliceQuantum::default);
            }
            self.slices[usize::from(slice)].record(rbs);
        }
    }

    /// Name of flow number `flow`.
    pub fn name_of(&self, flow: usize) -> &str {
        &self.classes[self.singles[flow].class as usize].result.name
    }

    /// Numbers of all flows.
    pub fn flow_numbers(&self) -> std::ops::Range<usize> {
        0..self.singles.len()
    }

    /// Goodput of flow number `flow` in the window, in bytes.
    pub fn goodput_bytes(&self, flow: usize) -> u64 {
        self.singles[flow].goodput_bytes
    }
}

impl Probe for Recorder {
    #[inline(always)]
    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Enqueued { layer, packet, .. } => {
                self.layers[*layer as usize].backlog += 1;
                // The RLC backlog found by a packet that leaves SDAP, as it is about to enter the
                // RLC (T20 Fig. 5).
                if *layer == Layer::Sdap && packet.entered >= self.warmup {
                    let below = self.layers[Layer::Rlc as usize].backlog;
                    let class = self.class(packet);
                    let counts = u64::from(packet.entered >= class.from);
                    class.sdap_entries += counts;
                    class.rlc_backlog_sum += below * counts;
                }
            }
            Event::Departed { layer, packet, sojourn } => {
                let count = &mut self.layers[*layer as usize];
                count.backlog -= 1;
                if packet.entered >= self.warmup {
                    if packet.tracked { &mut count.low_latency } else { &mut count.other }
                        .record(*sojourn);
                }
            }
            Event::Withdrawn { layer, .. } => self.layers[*layer as usize].backlog -= 1,
            Event::Marked { layer, packet } => {
                if packet.entered >= self.warmup {
                    self.layers[*layer as usize].marks += 1;
                    let class = self.class(packet);
                    class.result.marked_packets += u64::from(packet.entered >= class.from);
                }
            }
            Event::Dropped { layer, packet, reason } => {
                let count = &mut self.layers[*layer as usize];
                count.backlog -= u64::from(reason.waited());
                if packet.entered >= self.warmup {
                    count.drops[*reason as usize] += 1;
                    let class = self.class(packet);
                    class.result.dropped_packets += u64::from(packet.entered >= class.from);
                }
            }
            Event::Quantum { slice, rbs } => self.quantum(now, *slice, *rbs),
            Event::Slot { capacity, used, rlc_packets, rlc_bytes } => {
                self.slot(now, *capacity, *used, (*rlc_packets, *rlc_bytes));
            }
        }
    }
}
