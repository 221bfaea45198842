//! The packets of one turn: from the tunnels into the domain, and back. A packet may hold several
//! segments in both directions; payloads are copied by the kernel alone.

use crate::datagrams::Datagrams;
use crate::machine::{Direction, HEADROOM, Machine, Route};
use crate::packet::Ip;
use crate::segments::{Joins, Pack};
use crate::status::Totals;
use justfull_base::Instant;
use justfull_net::segments::{Cut, LONGEST};
use justfull_net::{Detour, OFFLOAD_PREFIX, Port, Tun};
use std::io::{self, IoSlice};
use std::ops::Range;

/// Packets read from one device before the next device, and their bytes.
const PACKETS: usize = 64;
const BYTES: usize = 4 * ROOM;
/// Bytes of the longest packet with its prefix.
const ROOM: usize = OFFLOAD_PREFIX + LONGEST;
/// Offset of an inner packet that gets headers and a prefix.
const AT: usize = OFFLOAD_PREFIX + HEADROOM;

/// The buffers of a turn.
#[derive(Debug)]
pub(crate) struct Buffers {
    /// The packets that were read.
    read: Vec<u8>,
    joins: Joins,
    pack: Pack,
    /// The headers of datagrams that pass while others of their packet do not.
    head: Vec<u8>,
    /// One inner packet with its headers.
    single: Vec<u8>,
}

impl Buffers {
    pub(crate) fn new() -> Self {
        Self {
            read: vec![0; BYTES],
            joins: Joins::new(),
            pack: Pack::new(),
            head: Vec::with_capacity(ROOM),
            single: vec![0; AT + LONGEST],
        }
    }
}

/// One direction for the time of a turn.
pub(crate) struct Way<'a> {
    pub(crate) now: Instant,
    pub(crate) direction: Direction,
    pub(crate) machine: &'a mut Machine,
    pub(crate) totals: &'a mut Totals,
    /// The device of the domain, and the detour of the tunnels.
    pub(crate) device: &'a mut Tun,
    pub(crate) detour: &'a mut Detour,
}

impl Way<'_> {
    /// Packets of the tunnels; true if more may wait.
    pub(crate) fn outer(&mut self, buffers: &mut Buffers) -> io::Result<bool> {
        let (mut used, mut more) = (0, true);
        for _ in 0..PACKETS {
            let Some(room) = buffers.read.get_mut(used..used + ROOM) else { break };
            let Some(length) = self.detour.receive(room)? else {
                more = false;
                break;
            };
            self.datagrams(buffers, used..used + length);
            used = if buffers.joins.is_empty() { 0 } else { used + length };
        }
        let Buffers { read, joins, .. } = buffers;
        joins.flush(read, &mut |parts| count(self.totals, self.device.send_parts(parts)));
        Ok(more)
    }

    /// An outer packet at `whole` with its prefix.
    fn datagrams(&mut self, buffers: &mut Buffers, whole: Range<usize>) {
        let Buffers { read, joins, head, .. } = buffers;
        let packet = whole.start + OFFLOAD_PREFIX..whole.end;
        if packet.is_empty() {
            return;
        }
        let outer = Ip::read(&read[packet.clone()]);
        let outer = outer.filter(|ip| ip.tunnelled(&read[packet.clone()]).is_some());
        let all = outer.as_ref().and_then(|outer| Datagrams::read(&read[whole.clone()], outer));
        let (Some(outer), Some(all)) = (outer, all) else {
            self.pass(1, &[IoSlice::new(&read[whole])]);
            return;
        };
        self.totals.joined += u64::from(all.count() > 1);
        let mut passing = 0..0;
        let mut last: Option<[Range<usize>; 2]> = None;
        for number in 0..all.count() {
            let bytes = &mut read[packet.clone()];
            let place = all.place(number);
            let same = last.take().and_then(|[last, inner]| {
                self.machine.on_next(bytes, &last, &inner, place.clone())
            });
            let inner = same.or_else(|| {
                self.machine.on_datagram(self.now, self.direction, bytes, &outer, place.clone())
            });
            last = inner.clone().map(|inner| [place, inner]);
            match inner {
                None if passing.end == number => passing.end += 1,
                None => {
                    self.pass_some(&read[packet.clone()], &all, &passing, head);
                    passing = number..number + 1;
                }
                Some(inner) => {
                    let inner = packet.start + inner.start..packet.start + inner.end;
                    let mut send =
                        |parts: &[IoSlice<'_>]| count(self.totals, self.device.send_parts(parts));
                    joins.take(read, inner, &mut send);
                }
            }
        }
        if passing.len() == all.count() {
            self.pass(passing.len(), &[IoSlice::new(&read[whole])]);
        } else {
            self.pass_some(&read[packet], &all, &passing, head);
        }
    }

    /// Sends some datagrams of a packet back unchanged.
    fn pass_some(
        &mut self,
        packet: &[u8],
        all: &Datagrams,
        passing: &Range<usize>,
        head: &mut Vec<u8>,
    ) {
        if !passing.is_empty() {
            let payload = all.part(packet, passing, head);
            self.pass(passing.len(), &[IoSlice::new(head), IoSlice::new(&packet[payload])]);
        }
    }

    fn pass(&mut self, datagrams: usize, parts: &[IoSlice<'_>]) {
        self.totals.passed[self.direction as usize] += datagrams as u64;
        count(self.totals, self.detour.send_parts(parts));
    }

    /// Packets of the domain; true if more may wait. Packets towards the servers are uplink.
    pub(crate) fn inner(&mut self, buffers: &mut Buffers) -> io::Result<bool> {
        let Buffers { read, pack, single, .. } = buffers;
        let mut bytes = 0;
        for _ in 0..PACKETS {
            let Some(length) = self.device.receive(&mut read[..ROOM])? else { return Ok(false) };
            let whole = &read[..length];
            let Some(cut) = Cut::new(whole) else { continue };
            let packet = &whole[OFFLOAD_PREFIX..];
            let Some(route) = self.machine.route(self.now, self.direction, packet) else {
                continue;
            };
            let fits = cut.longest() + HEADROOM <= LONGEST;
            if cut.is_many() && fits && self.detour.joins() {
                self.packed(&route, cut, packet, pack);
            } else {
                self.singly(&route, cut, packet, single);
            }
            bytes += length;
            if bytes > BYTES {
                break;
            }
        }
        Ok(true)
    }

    /// Sends the segments of a packet through a tunnel, many at a time.
    fn packed(&mut self, route: &Route, mut cut: Cut, packet: &[u8], pack: &mut Pack) {
        let Route(header) = route;
        loop {
            while pack.add(header, &mut cut, packet) {}
            if pack.segments() == 0 {
                break;
            }
            let number = self.machine.numbers(pack.segments() as u16);
            let mut send =
                |parts: &[IoSlice<'_>]| count(self.totals, self.detour.send_parts(parts));
            pack.send(header, packet, number, &mut send);
        }
    }

    /// Sends the segments of a packet through a tunnel one by one.
    fn singly(&mut self, route: &Route, mut cut: Cut, packet: &[u8], single: &mut [u8]) {
        while let Some(length) = cut.next(packet, &mut single[AT..]) {
            let room = &mut single[..AT + length];
            let Some(begin) = self.machine.wrap(route, room, AT) else {
                count(self.totals, Ok(false));
                continue;
            };
            let begin = begin - OFFLOAD_PREFIX;
            room[begin..begin + OFFLOAD_PREFIX].fill(0);
            count(self.totals, self.detour.send(&room[begin..]));
        }
    }
}

/// Counts a packet that the kernel did not take.
fn count(totals: &mut Totals, sent: io::Result<bool>) {
    totals.refused += u64::from(!sent.unwrap_or(false));
}
