//! Backlog of each queue over time: mean and standard deviation weighted by time, as in E19's
//! plots.
//!
//! An entity is a QFI's queue in the UPF or in SDAP, or a bearer's queue in the RLC. N(t) is
//! constant between events, so the moments over the measured window are sums of N dt and N^2 dt.
//! Off by default, because it costs time at each event.

use crate::results::EntityResult;
use justfull_base::{Event, Instant, Layer, Packet, Probe};
use justfull_ran::{Egress, StatusWay, UeConfig};
use std::sync::Arc;

/// One queue.
struct Entity {
    layer: Layer,
    ue: u32,
    /// QFI in the UPF and in SDAP, bearer in the RLC.
    number: u8,
    packets: u64,
    bytes: u64,
    /// The time up to which the current backlog is in the sums.
    since: Instant,
    /// Integrals over the window of N, N^2 (packets), B, B^2 (bytes), in seconds.
    sums: [f64; 4],
}

impl Entity {
    /// Adds the current backlog up to `now`; time before `warmup` is not measured.
    fn settle(&mut self, now: Instant, warmup: Instant) {
        let from = self.since.max(warmup);
        self.since = now;
        if now > from && self.packets > 0 {
            let dt = now.since(from).as_secs_f64();
            let (n, b) = (self.packets as f64, self.bytes as f64);
            for (sum, value) in self.sums.iter_mut().zip([n, n * n, b, b * b]) {
                *sum += value * dt;
            }
        }
    }

    fn finish(&self, window_s: f64) -> EntityResult {
        let [n, n2, b, b2] = self.sums.map(|sum| sum / window_s);
        EntityResult {
            name: format!(
                "{}.ue{}.{}{}",
                self.layer.name(),
                self.ue,
                if self.layer == Layer::Rlc { "drb" } else { "qfi" },
                self.number
            ),
            layer: self.layer.name().into(),
            packets_mean: n,
            packets_sd: (n2 - n * n).max(0.0).sqrt(),
            bytes_mean: b,
            bytes_sd: (b2 - b * b).max(0.0).sqrt(),
        }
    }
}

/// The backlogs of all entities of a cell.
pub struct Backlogs {
    warmup: Instant,
    entities: Vec<Entity>,
    /// Index of a UE's first entity of a layer, by layer and UE.
    first: [Vec<u32>; 3],
    /// Index of a QFI among its UE's queues, and of its bearer among the bearers; by UE and QFI.
    place: Vec<[(u8, u8); 64]>,
}

impl Backlogs {
    /// All entities of `ues`, empty.
    pub fn new(ues: &[Arc<UeConfig>], warmup: Instant) -> Self {
        let mut all = Self {
            warmup,
            entities: Vec::new(),
            first: Default::default(),
            place: Vec::with_capacity(ues.len()),
        };
        for layer in Layer::ALL {
            for (ue, config) in ues.iter().enumerate() {
                all.first[layer as usize].push(all.entities.len() as u32);
                let numbers: Vec<u8> = match layer {
                    Layer::Rlc => (0..config.drbs).collect(),
                    Layer::Upf | Layer::Sdap => {
                        config.qos_flows.iter().map(|f| f.qfi.get()).collect()
                    }
                };
                let entity = |number| Entity {
                    layer,
                    ue: ue as u32,
                    number,
                    packets: 0,
                    bytes: 0,
                    since: Instant::ZERO,
                    sums: [0.0; 4],
                };
                all.entities.extend(numbers.into_iter().map(entity));
            }
        }
        for config in ues {
            let mut place = [(0, 0); 64];
            for (i, flow) in config.qos_flows.iter().enumerate() {
                place[usize::from(flow.qfi.get())] = (i as u8, flow.drb);
            }
            all.place.push(place);
        }
        all
    }

    /// `packet` enters or leaves a queue of `layer`.
    fn change(&mut self, now: Instant, layer: Layer, packet: &Packet, enters: bool) {
        let (queue, bearer) = self.place[packet.ue as usize][usize::from(packet.qfi.get())];
        let place = if layer == Layer::Rlc { bearer } else { queue };
        let first = self.first[layer as usize][packet.ue as usize] as usize;
        let entity = &mut self.entities[first + usize::from(place)];
        entity.settle(now, self.warmup);
        if enters {
            entity.packets += 1;
            entity.bytes += u64::from(packet.size);
        } else {
            entity.packets -= 1;
            entity.bytes -= u64::from(packet.size);
        }
    }

    /// The moments up to `end`.
    pub fn finish(&mut self, end: Instant) -> Vec<EntityResult> {
        let window_s = end.since(self.warmup).as_secs_f64();
        let (warmup, entities) = (self.warmup, &mut self.entities);
        entities.iter_mut().for_each(|e| e.settle(end, warmup));
        entities.iter().map(|e| e.finish(window_s)).collect()
    }
}

impl Probe for Backlogs {
    fn on_event(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Enqueued { layer, packet, .. } => self.change(now, *layer, packet, true),
            Event::Departed { layer, packet, .. } | Event::Withdrawn { layer, packet } => {
                self.change(now, *layer, packet, false);
            }
            Event::Dropped { layer, packet, reason } if reason.waited() => {
                self.change(now, *layer, packet, false);
            }
            Event::Dropped { .. }
            | Event::Marked { .. }
            | Event::Quantum { .. }
            | Event::Slot { .. } => {}
        }
    }
}

/// A driver with a Zhuge at its base station.
pub trait Foresees {
    /// Shows Zhuge an event of the cell.
    fn foresee(&mut self, now: Instant, event: &Event);
}

/// Observers of a cell's events beside its driver.
pub struct Watch {
    /// The backlogs, if the scenario requests them.
    pub backlogs: Option<Backlogs>,
    /// The driver has a Zhuge.
    pub foresees: bool,
}

/// A driver that also updates the backlogs and Zhuge. It is a separate type, so that worlds without
/// them have no extra cost.
pub struct Measured<'a, D> {
    /// The driver.
    pub driver: &'a mut D,
    /// They see each event before the driver.
    pub watch: &'a mut Watch,
}

impl<D: Probe + Foresees> Probe for Measured<'_, D> {
    fn on_event(&mut self, now: Instant, event: &Event) {
        if let Some(backlogs) = &mut self.watch.backlogs {
            backlogs.on_event(now, event);
        }
        if self.watch.foresees {
            self.driver.foresee(now, event);
        }
        self.driver.on_event(now, event);
    }
}

impl<D: Egress> Egress for Measured<'_, D> {
    fn deliver(&mut self, now: Instant, packet: &Packet, bound: Option<Instant>) {
        self.driver.deliver(now, packet, bound);
    }

    fn deliver_from_air(
        &mut self,
        now: Instant,
        left: Instant,
        packet: &Packet,
        bound: Option<Instant>,
    ) {
        self.driver.deliver_from_air(now, left, packet, bound);
    }

    fn send_status(&mut self, now: Instant, ue: u32, handle: u32, bytes: u32) -> StatusWay {
        self.driver.send_status(now, ue, handle, bytes)
    }
}
