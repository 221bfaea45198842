//! The decisions of the box, without sockets and clock: it reads the packets of F1-U and changes
//! delivery statuses in place.
//!
//! Every packet must be forwarded, whatever the [`Verdict`]. A packet that the box does not
//! understand stays as it is.

mod bearer;
mod control;
mod packet;
mod pairing;
mod pdcp;
mod sent;

use crate::config::F1uConfig;
use bearer::{Bearer, Desired, Treatment, Tunnel};
use control::Control;
use justfull_base::{ConfigError, Duration, Instant};
use justfull_nru::{DeliveryStatus, Frame, Message, edit, gtpu};
use pairing::Search;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// How often idle tunnels are looked for.
const LOOK: Duration = Duration::from_secs(1);
/// A search for a bearer looks at all of them, so that there is at most one in this time.
const SEARCHES: Duration = Duration::from_millis(1);

/// The kind of a packet, by its treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// User data of the downlink.
    UserData,
    /// A delivery status that stays as it is.
    Status,
    /// A delivery status whose bounds were changed.
    Rewritten,
    /// Something else, or GTP-U of an unknown kind.
    Other,
    /// GTP-U or NR-U with a wrong length or value.
    Malformed,
}

/// Packets by their treatment, and the reasons for unchanged statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Packets with user data of the downlink.
    pub user_data: u64,
    /// Delivery statuses.
    pub statuses: u64,
    /// Delivery statuses whose bounds were changed.
    pub rewritten: u64,
    /// Delivery statuses whose bearer is not known yet.
    pub unpaired: u64,
    /// Delivery statuses about numbers that were not seen.
    pub unknown: u64,
    /// Packets that are no frames of NR-U, or of an unknown type.
    pub other: u64,
    /// Packets with a wrong length or value.
    pub malformed: u64,
    /// Packets of tunnels for which there is no place.
    pub over_limit: u64,
}

/// An uplink tunnel.
struct Reporter {
    tunnel: Tunnel,
    seen: Instant,
    bearer: Option<u32>,
    search: Search,
    statuses: u64,
    rewritten: u64,
}

/// A bearer, for its operator.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BearerView {
    /// Address of the CU-UP.
    pub cu_up: IpAddr,
    /// Address of the DU.
    pub du: IpAddr,
    /// TEID of the downlink, of the DU's.
    pub downlink_teid: u32,
    /// TEID of the uplink, of the CU-UP's; none until it is known.
    pub uplink_teid: Option<u32>,
    /// User data sent down, in packets and bytes.
    pub packets: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Bytes that the DU has not transmitted.
    pub in_flight: u32,
    /// Bytes that it may have; none without a limit yet.
    pub limit: Option<u32>,
    /// Bytes a second that the radio takes.
    pub rate: f64,
    /// Delivery statuses.
    pub statuses: u64,
    /// Those that were changed.
    pub rewritten: u64,
}

/// See the module's page.
pub struct Machine {
    config: F1uConfig,
    downlinks: BTreeMap<Tunnel, u32>,
    /// Where the last downlink tunnel of a hash is; one that is no longer there is looked up.
    recent: Vec<u32>,
    uplinks: BTreeMap<Tunnel, u32>,
    bearers: Vec<Option<Bearer>>,
    reporters: Vec<Option<Reporter>>,
    /// Places without a tunnel.
    free: [Vec<u32>; 2],
    looked: Instant,
    next_search: Instant,
    counts: Counts,
}

impl Machine {
    /// A box without bearers.
    ///
    /// # Errors
    /// A field of the limiter that is out of bounds.
    pub fn new(config: &F1uConfig) -> Result<Self, ConfigError> {
        Control::new(&config.limiter, &config.bearers)?;
        Ok(Self {
            config: config.clone(),
            downlinks: BTreeMap::new(),
            recent: vec![0; (config.bearers.most as usize * 2).next_power_of_two()],
            uplinks: BTreeMap::new(),
            bearers: Vec::new(),
            reporters: Vec::new(),
            free: [Vec::new(), Vec::new()],
            looked: Instant::ZERO,
            next_search: Instant::ZERO,
            counts: Counts::default(),
        })
    }

    /// Reads an IP packet that arrived at `now`, and changes the bounds of a delivery status in
    /// place, with UDP's checksum. Its length stays.
    pub fn on_datagram(&mut self, now: Instant, packet: &mut [u8]) -> Verdict {
        let verdict = self.read(now, packet);
        let count = match verdict {
            Verdict::UserData => &mut self.counts.user_data,
            Verdict::Status | Verdict::Rewritten => &mut self.counts.statuses,
            Verdict::Other => &mut self.counts.other,
            Verdict::Malformed => &mut self.counts.malformed,
        };
        *count += 1;
        self.counts.rewritten += u64::from(verdict == Verdict::Rewritten);
        verdict
    }

    fn read(&mut self, now: Instant, packet: &mut [u8]) -> Verdict {
        if now.since(self.looked) >= LOOK {
            self.forget(now);
        }
        let Some(found) = packet::datagram(packet) else { return Verdict::Other };
        let Ok(message) = Message::read(&packet[found.message.clone()]) else {
            return Verdict::Malformed;
        };
        if message.kind != gtpu::G_PDU {
            return Verdict::Other;
        }
        let tunnel = Tunnel { teid: message.teid, from: found.from, to: found.to };
        match message.frame() {
            Err(_) => Verdict::Malformed,
            Ok(Some(Frame::UserData(frame))) => {
                if let Some(bearer) = self.bearer(now, tunnel) {
                    bearer.on_user_data(now, &frame, message.payload);
                }
                Verdict::UserData
            }
            Ok(Some(Frame::Status(status))) => {
                let Ok(Some(places)) = edit::places(&message) else { return Verdict::Malformed };
                let Some(desired) = self.on_status(now, tunnel, &status) else {
                    return Verdict::Status;
                };
                let checksum = found.checksum;
                let rewritten = rewrite(packet, checksum, found.message.start, &places, desired);
                if rewritten { Verdict::Rewritten } else { Verdict::Status }
            }
            Ok(_) => Verdict::Other,
        }
    }

    /// The bearer of a downlink tunnel, if there is a place for it.
    fn bearer(&mut self, now: Instant, tunnel: Tunnel) -> Option<&mut Bearer> {
        let recent = tunnel.hash() as usize & (self.recent.len() - 1);
        let index = self.recent[recent];
        let there = self.bearers.get(index as usize).and_then(Option::as_ref);
        if there.is_some_and(|bearer| bearer.tunnel == tunnel) {
            return self.bearers[index as usize].as_mut();
        }
        let index = match self.downlinks.get(&tunnel) {
            Some(index) => *index,
            None => {
                let config = &self.config.bearers;
                let free = &mut self.free[0];
                let Some(index) = place(&mut self.bearers, free, config.most as usize) else {
                    self.counts.over_limit += 1;
                    return None;
                };
                // The settings were checked at the start.
                let control = Control::new(&self.config.limiter, config).ok()?;
                let bits = Some(config.pdcp_sn_bits).filter(|bits| *bits > 0);
                let bearer = Bearer::new(tunnel, bits, control, now);
                self.bearers[index as usize] = Some(bearer);
                self.downlinks.insert(tunnel, index);
                index
            }
        };
        self.recent[recent] = index;
        self.bearers[index as usize].as_mut()
    }

    /// The place of an uplink tunnel, if there is one for it.
    fn reporter(&mut self, now: Instant, tunnel: Tunnel) -> Option<u32> {
        if let Some(index) = self.uplinks.get(&tunnel) {
            return Some(*index);
        }
        let most = self.config.bearers.most as usize;
        let Some(index) = place(&mut self.reporters, &mut self.free[1], most) else {
            self.counts.over_limit += 1;
            return None;
        };
        let (search, bearer) = (Search::default(), None);
        let reporter = Reporter { tunnel, seen: now, bearer, search, statuses: 0, rewritten: 0 };
        self.reporters[index as usize] = Some(reporter);
        self.uplinks.insert(tunnel, index);
        Some(index)
    }

    fn on_status(
        &mut self,
        now: Instant,
        tunnel: Tunnel,
        status: &DeliveryStatus<'_>,
    ) -> Option<Desired> {
        let index = self.reporter(now, tunnel)?;
        let reporter = self.reporters[index as usize].as_mut()?;
        (reporter.seen, reporter.statuses) = (now, reporter.statuses + 1);
        let Some(bearer) = reporter.bearer else {
            self.counts.unpaired += 1;
            self.search(now, index, status);
            return None;
        };
        let bearer = self.bearers[bearer as usize].as_mut()?;
        match bearer.on_status(now, status) {
            Treatment::Bound(desired) => {
                reporter.rewritten += 1;
                Some(desired)
            }
            Treatment::Nothing => None,
            Treatment::Unknown => {
                self.counts.unknown += 1;
                None
            }
            Treatment::Stranger => {
                self.counts.unknown += 1;
                bearer.part();
                (reporter.bearer, reporter.search) = (None, Search::default());
                None
            }
        }
    }

    /// Looks for the bearer that a status is about.
    fn search(&mut self, now: Instant, index: u32, status: &DeliveryStatus<'_>) {
        let Some(reporter) = self.reporters[index as usize].as_mut() else { return };
        let Some(sn) = status.highest_transmitted else { return };
        let (bearers, tunnel) = (&self.bearers, reporter.tunnel);
        let due = now >= self.next_search;
        let next_search = &mut self.next_search;
        let among = || {
            *next_search = if due { now + SEARCHES } else { *next_search };
            let hosts = move |bearer: &Bearer| {
                bearer.reporter.is_none()
                    && bearer.tunnel.from == tunnel.to
                    && bearer.tunnel.to == tunnel.from
            };
            let all = bearers.iter().enumerate().take(if due { usize::MAX } else { 0 });
            all.filter_map(move |(number, bearer)| {
                let bearer = bearer.as_ref().filter(|bearer| hosts(bearer))?;
                Some((u32::try_from(number).ok()?, bearer))
            })
        };
        let of = |number: u32| {
            let bearer = bearers.get(number as usize)?.as_ref();
            bearer.filter(|bearer| bearer.reporter.is_none())
        };
        let Some(found) = reporter.search.on_report(now, sn, among, of) else { return };
        reporter.bearer = Some(found);
        if let Some(bearer) = self.bearers[found as usize].as_mut() {
            bearer.reporter = Some(index);
        }
    }

    /// Removes idle tunnels.
    fn forget(&mut self, now: Instant) {
        self.looked = now;
        let idle = self.config.bearers.idle;
        for index in 0..self.bearers.len() {
            let Some(bearer) = self.bearers[index].take_if(|b| now.since(b.seen) > idle) else {
                continue;
            };
            self.downlinks.remove(&bearer.tunnel);
            self.free[0].extend(u32::try_from(index));
            let reporter = bearer.reporter.and_then(|n| self.reporters[n as usize].as_mut());
            if let Some(reporter) = reporter {
                (reporter.bearer, reporter.search) = (None, Search::default());
            }
        }
        for index in 0..self.reporters.len() {
            let Some(reporter) = self.reporters[index].take_if(|r| now.since(r.seen) > idle) else {
                continue;
            };
            self.uplinks.remove(&reporter.tunnel);
            self.free[1].extend(u32::try_from(index));
            if let Some(bearer) = reporter.bearer.and_then(|n| self.bearers[n as usize].as_mut()) {
                bearer.part();
            }
        }
    }

    /// Packets so far.
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Bytes of memory for bearers and tunnels, without the map's nodes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let bearers = self.bearers.capacity() * size_of::<Option<Bearer>>();
        let reporters = self.reporters.capacity() * size_of::<Option<Reporter>>();
        let recent = self.recent.capacity() * size_of::<u32>();
        recent
            + bearers
            + reporters
            + self.bearers.iter().flatten().map(Bearer::heap).sum::<usize>()
    }

    /// Downlink tunnels, and those of them whose reports are known.
    #[must_use]
    pub fn bearers(&self) -> (usize, usize) {
        let paired = self.bearers.iter().flatten().filter(|bearer| bearer.reporter.is_some());
        (self.downlinks.len(), paired.count())
    }

    /// Every bearer.
    pub fn views(&self) -> impl Iterator<Item = BearerView> {
        self.bearers.iter().flatten().map(|bearer| {
            let reporter = bearer.reporter.and_then(|n| self.reporters[n as usize].as_ref());
            BearerView {
                cu_up: bearer.tunnel.from,
                du: bearer.tunnel.to,
                downlink_teid: bearer.tunnel.teid,
                uplink_teid: reporter.map(|reporter| reporter.tunnel.teid),
                packets: bearer.packets,
                bytes: bearer.bytes,
                in_flight: bearer.in_flight(),
                limit: Some(bearer.reported.control.limit()).filter(|limit| *limit != u32::MAX),
                rate: bearer.reported.control.rate(),
                statuses: reporter.map_or(0, |reporter| reporter.statuses),
                rewritten: reporter.map_or(0, |reporter| reporter.rewritten),
            }
        })
    }
}

/// A place in a list of at most `most`.
fn place<T>(list: &mut Vec<Option<T>>, free: &mut Vec<u32>, most: usize) -> Option<u32> {
    free.pop().or_else(|| {
        (list.len() < most).then(|| {
            list.push(None);
            u32::try_from(list.len() - 1).ok()
        })?
    })
}

/// Lowers the bounds of the status in `packet` to `desired`. A bound of the DU that is lower stays.
/// True if a bound changed.
fn rewrite(
    packet: &mut [u8],
    checksum_at: usize,
    message_at: usize,
    places: &edit::Places,
    desired: Desired,
) -> bool {
    let bounds = [
        (Some(places.desired_buffer_size), desired.size),
        (places.desired_data_rate, desired.rate),
    ];
    let mut changed = false;
    for (at, value) in bounds {
        let Some(at) = at else { continue };
        let field = packet[message_at + at..].first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        if field.is_none_or(|field| field <= value) {
            continue;
        }
        let checksum = u16::from_be_bytes([packet[checksum_at], packet[checksum_at + 1]]);
        let Ok(after) = edit::set(&mut packet[message_at..], at, value, checksum) else { continue };
        packet[checksum_at..checksum_at + 2].copy_from_slice(&after.to_be_bytes());
        changed = true;
    }
    changed
}
