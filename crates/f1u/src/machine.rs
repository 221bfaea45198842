//! The decisions of the box, without sockets and clock: it reads the packets of F1-U and changes
//! delivery statuses in place.
//!
//! Every packet must be forwarded, whatever the [`Verdict`], at once or, if the verdict is
//! [`Verdict::Held`], when [`Machine::poll`] gives it back. A packet that the box does not
//! understand stays as it is.

mod bearer;
mod control;
mod hold;
mod pace;
mod packet;
mod pairing;
mod pdcp;
mod rewrite;
mod sent;
mod tunnels;
mod view;

use crate::config::F1uConfig;
use bearer::{Bearer, Rules, Treatment, Tunnel};
use hold::Store;
use justfull_base::{ConfigError, Instant};
use justfull_nru::gtpu::Begin;
use justfull_nru::{DeliveryStatus, Frame, Message, UserData, edit, gtpu};
use packet::Datagram;
use pairing::Search;
use pdcp::Pdu;
use rewrite::{Bounds, Desired, Original};
use std::collections::BTreeSet;
use tunnels::Tunnels;

pub use view::{BearerView, Counts, Verdict};

/// The kernel forwards at most this many datagrams as one packet (`UDP_MAX_SEGMENTS` of Linux).
const MOST_SEGMENTS: usize = 128;
/// The longest payload of a datagram.
const LONGEST: usize = 65_535;

/// See the module's page.
pub struct Machine {
    rules: Rules,
    /// Bytes of memory that may wait.
    most_held: usize,
    store: Store,
    tunnels: Tunnels,
    /// The next step of each bearer that has one.
    agenda: BTreeSet<(Instant, u32)>,
    counts: Counts,
    room: Vec<u8>,
}

/// Where a packet waits.
struct Place {
    bearer: u32,
    /// Bytes that the bearer's sums count.
    pdu: u32,
}

/// A packet that was read, and its place if it must wait.
struct Read {
    verdict: Verdict,
    place: Option<Place>,
}

impl From<Verdict> for Read {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, place: None }
    }
}

impl Machine {
    /// A box without bearers.
    ///
    /// # Errors
    /// A field of the limiter that is out of bounds, or more memory for user data that waits than
    /// the host has.
    pub fn new(config: &F1uConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            rules: Rules::new(config),
            most_held: usize::try_from(config.hold.total.0).unwrap_or(usize::MAX),
            store: Store::new(&config.hold)?,
            tunnels: Tunnels::new(config)?,
            agenda: BTreeSet::new(),
            counts: Counts::default(),
            room: Vec::new(),
        })
    }

    /// Reads an IP packet that arrived at `now`, and changes the bounds of a delivery status in
    /// place, with UDP's checksum. Its length stays. [`Machine::poll`] must follow.
    pub fn on_datagram(&mut self, now: Instant, packet: &mut [u8]) -> Verdict {
        let Read { verdict, place } = self.read(now, packet);
        self.counts.add(verdict);
        match place {
            Some(place) if self.hold(now, &place, packet) => Verdict::Held,
            _ => verdict,
        }
    }

    /// Reads a copy of an IP packet of the downlink that the kernel forwards at `now`: a datagram,
    /// the first fragment of one, or several that the kernel forwards as one packet (UDP
    /// segmentation offload).
    pub fn on_copy(&mut self, now: Instant, packet: &[u8]) {
        self.tunnels.forget(now);
        let Some(found) = packet::datagram(packet) else {
            return self.counts.add(Verdict::Other);
        };
        let payload = &packet[found.payload.clone()];
        // The kernel cuts it into datagrams as long as the first message.
        let several = |begin: &Begin<'_>| {
            !found.fragment && (1..=MOST_SEGMENTS).contains(&(payload.len() / begin.length))
        };
        let each = Message::begin(payload).ok().filter(several).map(|begin| begin.length);
        for datagram in payload.chunks(each.unwrap_or(LONGEST)) {
            let verdict = self.read_copy(now, &found, datagram);
            self.counts.add(verdict);
        }
    }

    /// Counts the user data of a message of the downlink.
    fn read_copy(&mut self, now: Instant, found: &Datagram, payload: &[u8]) -> Verdict {
        let begin = Message::begin(payload);
        let whole = |begin: &Begin<'_>| found.fragment || begin.length == payload.len();
        let Some(Begin { message, missing, .. }) = begin.ok().filter(whole) else {
            return Verdict::Malformed;
        };
        match message.frame() {
            Err(_) => Verdict::Malformed,
            Ok(Some(Frame::UserData(frame))) if message.kind == gtpu::G_PDU => {
                let tunnel = Tunnel { teid: message.teid, from: found.from, to: found.to };
                let pdu = Pdu { begin: message.payload, missing };
                self.on_user_data(now, tunnel, &frame, &pdu);
                Verdict::UserData
            }
            Ok(_) => Verdict::Other,
        }
    }

    fn read(&mut self, now: Instant, packet: &mut [u8]) -> Read {
        self.tunnels.forget(now);
        let found = packet::datagram(packet).filter(|found| !found.fragment);
        let Some(found) = found else { return Verdict::Other.into() };
        let Ok(message) = Message::read(&packet[found.payload.clone()]) else {
            return Verdict::Malformed.into();
        };
        let tunnel = Tunnel { teid: message.teid, from: found.from, to: found.to };
        if message.kind != gtpu::G_PDU {
            return Read { verdict: Verdict::Other, place: self.behind(tunnel) };
        }
        match message.frame() {
            Err(_) => Read { verdict: Verdict::Malformed, place: self.behind(tunnel) },
            Ok(Some(Frame::UserData(frame))) => {
                let pdu = Pdu { begin: message.payload, missing: 0 };
                let place = self.on_user_data(now, tunnel, &frame, &pdu);
                Read { verdict: Verdict::UserData, place }
            }
            Ok(Some(Frame::Status(status))) => {
                let Ok(Some(places)) = edit::places(&message) else {
                    return Verdict::Malformed.into();
                };
                let bounds = Bounds::new(&found, places);
                let original = |kept: &mut Option<Original>| {
                    Original::keep(kept, packet, &bounds, &message, &status)
                };
                let desired = self.on_status(now, tunnel, &status, original);
                match desired.is_some_and(|desired| bounds.lower(packet, desired)) {
                    true => Verdict::Rewritten.into(),
                    false => Verdict::Status.into(),
                }
            }
            Ok(_) => Read { verdict: Verdict::Other, place: self.behind(tunnel) },
        }
    }

    /// The place of a packet without user data of its own, such as an End Marker: behind the
    /// waiting user data of its tunnel.
    fn behind(&self, tunnel: Tunnel) -> Option<Place> {
        if self.store.used() == 0 {
            return None;
        }
        let index = self.tunnels.found(tunnel)?;
        let bearer = self.tunnels.bearers[index as usize].as_ref()?;
        (!bearer.reported.held.is_empty()).then_some(Place { bearer: index, pdu: 0 })
    }

    /// Counts user data; returns its place if it must wait.
    fn on_user_data(
        &mut self,
        now: Instant,
        tunnel: Tunnel,
        frame: &UserData<'_>,
        pdu: &Pdu<'_>,
    ) -> Option<Place> {
        let Some(index) = self.tunnels.bearer(now, tunnel) else {
            self.counts.over_limit += 1;
            return None;
        };
        let bearer = self.tunnels.bearers[index as usize].as_mut()?;
        let counted = bearer.on_user_data(now, frame, pdu);
        // A PDU that is sent again left in an earlier packet.
        let waits = self.rules.holds() && !frame.retransmission && bearer.waits(now);
        waits.then_some(Place { bearer: index, pdu: counted })
    }

    /// False for a packet without a place: one that came before [`Machine::poll`] made room.
    fn hold(&mut self, now: Instant, place: &Place, packet: &[u8]) -> bool {
        let bearer = self.tunnels.bearers[place.bearer as usize].as_mut();
        let Some(Bearer { reported, .. }) = bearer else { return false };
        if !self.store.push(&mut reported.held, packet, place.pdu) {
            self.counts.early += 1;
            return false;
        }
        self.counts.held += 1;
        self.plan(place.bearer, now);
        true
    }

    fn on_status(
        &mut self,
        now: Instant,
        tunnel: Tunnel,
        status: &DeliveryStatus<'_>,
        original: impl FnOnce(&mut Option<Original>) -> bool,
    ) -> Option<Desired> {
        let Some(index) = self.tunnels.reporter(now, tunnel) else {
            self.counts.over_limit += 1;
            return None;
        };
        let reporter = self.tunnels.reporters[index as usize].as_mut()?;
        (reporter.seen, reporter.statuses) = (now, reporter.statuses + 1);
        let Some(place) = reporter.bearer else {
            self.counts.unpaired += 1;
            self.tunnels.search(now, index, status);
            return None;
        };
        let bearer = self.tunnels.bearers[place as usize].as_mut()?;
        let treatment = bearer.on_status(now, status, &self.rules, original);
        if treatment == Treatment::Stranger {
            bearer.part(None);
            (reporter.bearer, reporter.search) = (None, Search::default());
        }
        reporter.rewritten += u64::from(matches!(treatment, Treatment::Bound(_)));
        let unknown = matches!(treatment, Treatment::Unknown | Treatment::Stranger);
        self.counts.unknown += u64::from(unknown);
        if self.rules.steps() {
            self.plan(place, now);
        }
        match treatment {
            Treatment::Bound(desired) => Some(desired),
            _ => None,
        }
    }

    /// The bearer's next step is at `at`, or earlier.
    fn plan(&mut self, index: u32, at: Instant) {
        let Some(bearer) = self.tunnels.bearers[index as usize].as_mut() else { return };
        let due = &mut bearer.reported.due;
        if due.is_some_and(|due| due <= at) {
            return;
        }
        if let Some(later) = due.replace(at) {
            self.agenda.remove(&(later, index));
        }
        self.agenda.insert((at, index));
    }

    /// When [`Machine::poll`] has something to do; none before the next packet.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        self.agenda.first().map(|(at, _)| *at)
    }

    /// Gives `send` the packets that are due: user data that waited, and delivery statuses of the
    /// box's own.
    pub fn poll(&mut self, now: Instant, mut send: impl FnMut(&[u8])) {
        while let Some((at, index)) = self.agenda.first().copied() {
            if at > now {
                break;
            }
            self.agenda.pop_first();
            self.step(now, index, &mut send);
        }
    }

    fn step(&mut self, now: Instant, index: u32, send: &mut impl FnMut(&[u8])) {
        let Some(bearer) = self.tunnels.bearers[index as usize].as_mut() else { return };
        bearer.reported.due = None;
        while let Some(fits) = bearer.may_leave(now) {
            let held = &mut bearer.reported.held;
            let full = held.bytes() > self.rules.most || self.store.used() > self.most_held;
            if !fits && !full {
                break;
            }
            let Some(packet) = self.store.pop(held) else { break };
            self.counts.early += u64::from(!fits);
            send(packet);
        }
        if let Some((original, desired)) = bearer.own_status(now) {
            send(original.repeated(desired, &mut self.room));
            self.counts.own_statuses += 1;
        }
        if let Some(at) = bearer.next(now) {
            self.plan(index, at);
        }
    }

    /// Gives `send` all that waits: the box ends, and later packets do not wait.
    pub fn release(&mut self, mut send: impl FnMut(&[u8])) {
        self.rules.end();
        for bearer in self.tunnels.bearers.iter_mut().flatten() {
            while let Some(packet) = self.store.pop(&mut bearer.reported.held) {
                send(packet);
            }
        }
    }

    /// Packets so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of memory for bearers, tunnels and the most user data that has waited, without the
    /// maps' nodes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.tunnels.memory() + self.store.memory()
    }

    /// Bytes of memory of the user data that waits.
    #[must_use]
    pub fn held(&self) -> usize {
        self.store.used()
    }

    /// Downlink tunnels, and downlink tunnels with a known reporter.
    #[must_use]
    pub fn bearers(&self) -> (usize, usize) {
        let all = self.tunnels.bearers.iter().flatten();
        (self.tunnels.downlinks(), all.filter(|bearer| bearer.reporter.is_some()).count())
    }

    /// Every bearer.
    pub fn views(&self) -> impl Iterator<Item = BearerView> {
        let Tunnels { bearers, reporters, .. } = &self.tunnels;
        bearers.iter().flatten().map(|bearer| {
            let reporter = bearer.reporter.and_then(|n| reporters[n as usize].as_ref());
            BearerView {
                cu_up: bearer.tunnel.from,
                du: bearer.tunnel.to,
                downlink_teid: bearer.tunnel.teid,
                uplink_teid: reporter.map(|reporter| reporter.tunnel.teid),
                packets: bearer.packets,
                bytes: bearer.bytes,
                in_flight: bearer.in_flight(),
                held: bearer.reported.held.bytes(),
                limit: Some(bearer.reported.control.limit()).filter(|limit| *limit != u32::MAX),
                rate: bearer.reported.control.rate(),
                statuses: reporter.map_or(0, |reporter| reporter.statuses),
                rewritten: reporter.map_or(0, |reporter| reporter.rewritten),
            }
        })
    }
}
