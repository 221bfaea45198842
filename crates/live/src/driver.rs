//! The second driver of [`justfull_ran::Stack`]: real datagrams, a real clock.
//!
//! ```text
//! server's port -> core link -> Stack -> air -> UE's port
//! server's port <------------- uplink <-------- UE's port
//! ```
//! With several cells a [`Region`](justfull_run::region::Region) takes the stack's place.
//! With a proxy in between, the core link is on the proxy's other side ([`Live::behind_proxy`]).
//!
//! Each wake-up ([`Live::turn`]) reads everything that waits at the interfaces, advances the links
//! and the stack, and writes the packets that have come through. Wake-ups are at slots. If slots
//! are shorter than [`LiveOptions::wake`], they are at every n-th slot; the stack still serves the
//! packets slot by slot. In between, the interfaces are read every [`LiveOptions::read`].
//!
//! Interfaces do not report when a datagram arrived, only that it arrived between two readings. Its
//! stamp is the middle of that time, so delays are right on average and each is accurate to half of
//! [`LiveOptions::read`]. After a late wake-up all missed slots are handled at once, and the stamp
//! of the packets read then is half a reading period earlier: packets never use slots that passed
//! before they may have arrived. The rest of a gap beyond [`CATCH_UP`] is cut out of the run: for
//! the stack this time does not exist.
//!
//! The end of a link's delay wakes the loop too, so that a real datagram leaves on time, or up to a
//! quarter of a reading period later when there are many. Goodput counts the payload that reached
//! the UEs; a segment repeated needlessly counts again.

use crate::arena::Arena;
use crate::capture::Recorder;
use crate::lateness::{Batch, Lateness, Limit, missed};
use crate::packet::FragmentPorts;
use crate::report::{Account, LiveReport};
use crate::reports::ReportStream;
use flows::{FlowTable, Members};
use justfull_base::{Duration, Instant, Packet};
use justfull_net::clock::{Clock, Priority, wake_period};
use justfull_net::{Joined, Outages, Port, SystemError};
use justfull_ran::StatusWay;
use justfull_run::CoreLoss;
use justfull_run::results::{ReportsResult, RunResult};
use justfull_run::uplink::Uplink;
use justfull_run::wire::Wires;
use outlet::Outlet;
use ports::{Read, Reads, receive};
use radio::Radio;
use side::{Arrival, Side};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

mod build;
mod flows;
mod names;
mod outlet;
mod ports;
mod radio;
mod settings;
mod several;
mod side;
mod sojourn;
mod upload;
mod view;
mod waiting;
mod wan;

pub use names::NamedFlows;
pub use settings::{Ends, LiveOptions, UePort};
pub use side::Counts;
pub use sojourn::Sojourns;
pub use view::{View, Watch};
use waiting::Waiting;
use wan::Wan;

/// The longest gap that is caught up. Stalls of tens of milliseconds happen on any machine; a
/// longer gap means that the process was stopped.
pub const CATCH_UP: Duration = Duration::from_millis(100);

/// Marks a STATUS PDU on the uplink: buffers and flows have smaller numbers.
const STATUS: u64 = 1 << 63;

/// Time between two views of the run.
const VIEW_PERIOD: Duration = Duration::from_millis(100);

/// A live run.
pub struct Live<P> {
    radio: Radio,
    side: Side,
    server: P,
    ues: Vec<P>,
    waiting: Waiting,
    /// Packets on their way out to a UE, and to the server.
    outlet: Outlet,
    outlet_up: Outlet,
    ue_of: BTreeMap<[u8; 16], u32>,
    /// The UE that gets packets to all other addresses.
    any_ue: Option<u32>,
    /// All UEs are behind the first one's interface.
    behind_one: bool,
    flows: FlowTable,
    fragments_down: FragmentPorts,
    fragments_up: FragmentPorts,
    /// One wire between server and UPF for each of these delays, on top of the core's.
    delays: Vec<Duration>,
    core: Wires<Packet>,
    /// Random loss on the way to the UPF, if the scenario has any.
    loss: Option<Box<CoreLoss>>,
    /// Packets on their way up. An item is a packet's buffer, with its flow if it is an upload, or
    /// the handle of a STATUS PDU with [`STATUS`].
    uplink: Uplink<u64>,
    /// STATUS PDUs among them.
    statuses: u64,
    /// The scenario has uploads.
    uploads: bool,
    down: Account,
    up: Account,
    mtu: u32,
    slot: Duration,
    wake: Duration,
    read: Duration,
    give_up: Option<Limit>,
    end: Instant,
    /// All work up to this instant is done.
    done: Instant,
    /// The link between the servers and the proxy; the server's port then leads to the proxy.
    wan: Option<Wan<P>>,
    /// The listeners to the cells' reports.
    reports: Option<ReportStream>,
    fault: Option<SystemError>,
}

impl<P: Port> Live<P> {
    /// Does everything that is due up to `now`, which is not before the `now` of the last turn.
    ///
    /// # Errors
    /// An interface has gone. All packets before that are accounted for.
    pub fn turn(&mut self, now: Instant) -> Result<(), SystemError> {
        self.pass(now, true)
    }

    /// Reads, makes the stack serve its slots if `slots`, and writes the packets that have reached
    /// their end.
    fn pass(&mut self, now: Instant, slots: bool) -> Result<(), SystemError> {
        let gap = now.since(self.done).as_nanos().min(self.read.as_nanos());
        let stamp = now - Duration::from_nanos(gap / 2);
        if let Some(wan) = &mut self.wan {
            wan.turn(stamp, now, &self.ue_of, &self.side.record)?;
        }
        self.read_server(stamp)?;
        self.read_ues(stamp)?;
        if slots {
            self.advance(now);
            if let Some(reports) = &mut self.reports
                && reports.are_due(now)
            {
                self.radio.each_report(now, |of, report| reports.send(of, report));
            }
        }
        // The kernel replies to a segment within the write that delivers it, so its reply has an
        // exact stamp.
        if self.write_ues(now)? {
            self.read_ues(now)?;
        }
        if self.write_server(now)? {
            self.read_server(now)?;
        }
        self.done = now;
        Ok(())
    }

    fn read_server(&mut self, stamp: Instant) -> Result<(), SystemError> {
        let mut reads = Reads::default();
        while reads.go_on(&self.server) {
            let read = receive(&mut self.server, &mut self.side.arena, self.mtu, &mut self.down);
            let (handle, mut datagram) =
                match read.map_err(|e| SystemError::new("read from the server's side", e))? {
                    Read::Nothing => break,
                    Read::Accounted => continue,
                    Read::Packet(handle, datagram) => (handle, datagram),
                };
            self.fragments_down.complete(&mut datagram);
            let Some(ue) = self.ue_of.get(&datagram.tuple.destination).copied().or(self.any_ue)
            else {
                self.down.no_ue += 1;
                self.side.arena.give_back(handle);
                continue;
            };
            let members = Members {
                radio: &mut self.radio,
                uplink: &mut self.uplink,
                record: &mut self.side.record,
                on_their_way: &self.side.on_their_way,
            };
            let key = (datagram.tuple, datagram.dscp);
            let flow = self.flows.find(stamp, ue, &key, &self.delays, members);
            let packet = Packet {
                payload: handle | u64::from(datagram.payload) << 32,
                flow: flow.number,
                size: datagram.size,
                ecn: datagram.ecn,
                protocol: datagram.tuple.protocol,
                tracked: flow.tracked,
                ..Packet::default()
            };
            self.side.on_their_way.begin(flow.number);
            if handle == self.side.arena.spare() {
                self.turn_away(stamp, packet);
                continue;
            }
            self.core.push(stamp, flow.pipe, datagram.size, packet);
        }
        Ok(())
    }

    fn read_ues(&mut self, stamp: Instant) -> Result<(), SystemError> {
        let found =
            self.waiting.look().map_err(|e| SystemError::new("watch the UEs' interfaces", e))?;
        for number in 0..found.len() {
            let of_port = self.waiting.found(number);
            let mut reads = Reads::default();
            while reads.go_on(&self.ues[of_port as usize]) {
                let port = &mut self.ues[of_port as usize];
                let read = receive(port, &mut self.side.arena_up, self.mtu, &mut self.up);
                let (handle, datagram) = match read
                    .map_err(|e| SystemError::new(format!("read from UE {of_port}'s side"), e))?
                {
                    Read::Nothing => break,
                    Read::Accounted => continue,
                    Read::Packet(handle, datagram) => (handle, datagram),
                };
                let by_source =
                    self.behind_one.then(|| self.ue_of.get(&datagram.tuple.source)).flatten();
                let ue = by_source.copied().unwrap_or(of_port);
                self.send_up(stamp, ue, datagram, handle);
            }
        }
        Ok(())
    }

    /// Advances the core's wires and the cells to `now`.
    fn advance(&mut self, now: Instant) {
        let Self { radio, core, loss, side, uplink, statuses, .. } = self;
        let stack = match radio {
            Radio::Cell(stack) => stack,
            Radio::Cells(_) => return self.advance_several(now),
        };
        while core.next() <= now {
            let next = core.next();
            while let Some(packet) = core.pop(next) {
                side.record.entered(next, packet.flow);
                if loss.as_mut().is_some_and(|loss| loss.takes_next()) {
                    stack.lose(next, packet, side);
                } else {
                    stack.input(next, packet, side);
                }
            }
        }
        if let Some(accesses) = uplink.take_accesses() {
            accesses.for_each(|access| stack.note_access(access));
        }
        stack.wake(now, side);
        for (sent, ue, handle, bytes) in side.statuses.drain(..) {
            match uplink.push_status(sent, ue, bytes, STATUS | u64::from(handle)) {
                StatusWay::Carried => *statuses += 1,
                StatusWay::Lost | StatusWay::Delayed => stack.lose_status(handle),
            }
        }
    }

    /// Writes arrived packets to the UEs; true if there was any.
    fn write_ues(&mut self, now: Instant) -> Result<bool, SystemError> {
        let mut wrote = false;
        while let Some(Arrival { handle, ue }) = self.side.air.pop(now) {
            wrote = true;
            if self.outlet.waits_for().is_some_and(|other| other != ue)
                && let Err(error) = self.flush_ue()
            {
                outlet::refuse(&mut self.side.arena, handle, &mut self.down);
                return Err(error);
            }
            let (port, arena) = (&mut self.ues[ue as usize], &mut self.side.arena);
            let sent = self.outlet.push(port, ue, arena, handle, &mut self.down);
            sent.map_err(|e| SystemError::new(format!("write to UE {ue}'s side"), e))?;
        }
        self.flush_ue()?;
        Ok(wrote)
    }

    /// Writes the packets that wait for a UE's interface.
    fn flush_ue(&mut self) -> Result<(), SystemError> {
        let Some(ue) = self.outlet.waits_for() else { return Ok(()) };
        let port = &mut self.ues[ue as usize];
        let sent = self.outlet.flush(port, &mut self.side.arena, &mut self.down);
        sent.map_err(|e| SystemError::new(format!("write to UE {ue}'s side"), e))
    }

    /// Writes arrived packets to the server; true if there was any.
    fn write_server(&mut self, now: Instant) -> Result<bool, SystemError> {
        let mut wrote = false;
        let failed = |e| SystemError::new("write to the server's side", e);
        while self.uplink.next() <= now {
            let due = self.uplink.next();
            let Self { uplink, side, radio, .. } = self;
            let mut lost = 0;
            while let Some(item) = uplink.pop(due, |entered, item, fate| {
                lost += u64::from(side.took_leave_up(due, *item, entered, fate));
                false
            }) {
                if item & STATUS != 0 {
                    self.statuses -= 1;
                    radio.receive_status(now, item as u32, side);
                    continue;
                }
                wrote = true;
                side.arrived_up(due, item);
                let handle = upload::buffer_of(item);
                if let Some(capture) = &mut side.capture {
                    capture.arrived(due, side.arena_up.bytes(handle));
                }
                let (port, arena) = (&mut self.server, &mut side.arena_up);
                let sent = self.outlet_up.push(port, 0, arena, handle, &mut self.up);
                sent.map_err(failed)?;
            }
            self.up.dropped += lost;
        }
        let arena = &mut self.side.arena_up;
        self.outlet_up.flush(&mut self.server, arena, &mut self.up).map_err(failed)?;
        Ok(wrote)
    }

    /// The next wake-up, and whether it is for slots.
    fn next_wake(&self) -> (Instant, bool) {
        let batch = wake_period(self.slot, self.wake) - self.slot;
        let slots = self.radio.next_slot() + batch;
        let read = self.read.as_nanos();
        let reads = slots.since(self.done).as_nanos() * 2 > read * 3;
        let (at, for_slots) = if reads { (self.done + self.read, false) } else { (slots, true) };
        // When a link's delay ends, its packet is written at once; if there are many, only four
        // times per reading period.
        let wan = self.wan.as_ref().map_or(Instant::NEVER, Wan::next);
        let ends = self.side.air.next().min(self.uplink.next()).min(wan);
        let ends = ends.max(self.done + Duration::from_nanos(read.div_ceil(4)));
        if ends < at { (ends, false) } else { (at, for_slots) }
    }

    /// Runs on `clock` until the scenario's end, or until `stop`.
    ///
    /// # Panics
    /// If packets are not accounted for, which is a bug.
    pub fn run<C: Clock, W: Watch>(
        mut self,
        clock: &mut C,
        priority: Priority,
        stop: &AtomicBool,
        watch: &mut W,
    ) -> (RunResult, LiveReport) {
        let limit = self.give_up.unwrap_or(Limit::LATE);
        let mut lateness = Lateness::held_to(limit, wake_period(self.slot, self.wake));
        // The difference between the clock's time and the run's: the time before the start, and
        // stops.
        let mut outside = clock.now().since(Instant::ZERO);
        let (mut stops, mut stopped) = (0, Duration::ZERO);
        let mut view_at = Instant::ZERO + VIEW_PERIOD;
        let planned = |every: Duration| self.end.since(Instant::ZERO).as_nanos() / every.as_nanos();
        let (all_slots, all_wakes) = (planned(self.slot), planned(lateness.period()));
        let mut given_up = false;
        while self.done < self.end && !stop.load(Ordering::Relaxed) {
            let (due, for_slots) = self.next_wake();
            let due = due.min(self.end);
            let mut now = clock.sleep_until(due + outside) - outside;
            if now < due {
                continue;
            }
            let gap = now.since(due);
            if gap > CATCH_UP {
                let lost = gap - CATCH_UP;
                (stops, stopped, outside) = (stops + 1, stopped + lost, outside + lost);
                let slots = lost.as_nanos() / self.slot.as_nanos();
                lateness.slots(slots, slots);
                now = now - lost;
            }
            let for_slots = for_slots || now >= self.end;
            if for_slots {
                lateness.woke(due, due + gap);
            }
            let (first, before) = (self.radio.next_slot(), self.side.counts.slots);
            let outcome = self.pass(now.min(self.end), for_slots);
            let counted = self.side.counts.slots - before;
            let count = self.radio.served(first, self.slot, counted);
            let batch = Batch { first, count, slot: self.slot };
            let period = lateness.period();
            let slots_due = first + (period - self.slot);
            let late = missed(batch, slots_due, period, clock.now() - outside);
            lateness.slots(batch.count, late);
            if let Err(fault) = outcome {
                self.done = now;
                self.fault = Some(fault);
                break;
            }
            given_up = self.give_up.is_some() && lateness.is_settled(all_slots, all_wakes);
            if given_up {
                break;
            }
            if now >= view_at {
                view_at = now + VIEW_PERIOD;
                watch.saw(now, &self.view(&lateness));
            }
        }
        let (result, mut report) = self.finish(priority, &lateness);
        (report.stops, report.stopped, report.given_up) = (stops, stopped, given_up);
        (result, report)
    }

    /// The results so far.
    ///
    /// # Panics
    /// If packets are not accounted for, which is a bug.
    #[must_use]
    pub fn finish(mut self, priority: Priority, lateness: &Lateness) -> (RunResult, LiveReport) {
        let chain = self.radio.conserved(self.done);
        let links = self.core.len() + self.side.air.len();
        self.down.dropped = chain.dropped - self.down.no_buffer;
        self.down.queued = chain.queued + links as u64;
        self.up.queued = self.uplink.finish().queued - self.statuses;
        for account in [&self.down, &self.up] {
            assert!(account.is_balanced(), "datagrams are accounted for: {account:?}");
        }
        let arenas = [&self.side.arena, &self.side.arena_up];
        assert_eq!(
            arenas.map(|arena| arena.in_use() as u64),
            [self.down.queued, self.up.queued],
            "each buffer in use holds a queued packet"
        );
        let reports = self.reports.as_ref().map(ReportStream::counts);
        let joined = self.ues.iter().map(Port::joined).fold(self.server.joined(), |sum, of| {
            Joined { cut: sum.cut + of.cut, joined: sum.joined + of.joined }
        });
        let wan = self.wan.map(Wan::finish);
        let report = LiveReport {
            priority,
            lateness: lateness.report(),
            read_period: self.read.min(lateness.period()),
            stops: 0,
            stopped: Duration::ZERO,
            given_up: false,
            down: self.down,
            up: self.up,
            flows: self.flows.opened(),
            aged_flows: self.flows.aged,
            shared_packets: self.flows.shared_packets,
            buffers: arenas[0].buffers(),
            buffers_used: arenas.map(Arena::most_used),
            buffer_bytes: arenas.map(Arena::memory).iter().sum(),
            congestion_control: Vec::new(),
            capture: self.side.capture.as_ref().map(Recorder::report),
            reports,
            wan,
            joined,
            outages: self.ues.iter().map(Port::outages).fold(self.server.outages(), |sum, of| {
                Outages { count: sum.count + of.count, time: sum.time + of.time }
            }),
            ended_servers: Vec::new(),
            tcp_was_short: false,
            fault: self.fault.map(|fault| fault.to_string()),
        };
        let mut result = self.radio.finish(self.side.record, self.done, &self.uplink);
        result.reports = reports
            .map_or(ReportsResult::default(), |of| ReportsResult { ues: of.ues, sent: of.made });
        (result, report)
    }
}

#[cfg(test)]
mod tests;
