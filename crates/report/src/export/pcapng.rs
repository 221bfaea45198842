//! Captures for Wireshark: pcapng (draft-ietf-opsawg-pcapng), one interface for each layer.
//!
//! A packet appears once on the interface of each layer, at the instant it left that layer,
//! downwards or by a drop. `air` shows it when it reaches the UE or, if the MAC allocates resource
//! blocks, when it is lost on the way; `uplink` shows acknowledgements and echo messages when they
//! reach the server. The comment of a packet names the layer's action. Time 0 of the simulation is
//! the epoch, so equal runs give equal files.
//!
//! The captured data are raw IPv4 (LINKTYPE_RAW, 101). Addresses, ports, lengths, ECN bits,
//! sequence and acknowledgement numbers, the flags AE, CWR and ECE, timestamps, SACK blocks and
//! AccECN options are the flow's own. Payloads are zeros cut at [`SNAPLEN`]; lengths and checksums
//! cover the whole packet. Only a sender with `handshake` has a SYN and a SYN/ACK; sequence numbers
//! start at 1, as after a SYN with 0.

mod file;
mod packet;

pub use file::{Kept, PacketFile};
pub use packet::SNAPLEN;

use super::facts::{RunFacts, SlotUnit, Way};
use super::sink::ExportError;
use justfull_base::packet::Protocol;
use justfull_base::{Duration, Event, Instant, Layer, Packet};
use justfull_run::traffic::UDP_HEADER_BYTES;
use justfull_tcp::{Ack, Segment};
use packet::{Addressed, Built, Content};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;

/// Interfaces by number, each with a description of its packets.
pub const INTERFACES: [(&str, &str); 5] = [
    ("upf", "packets as they leave the UPF or are dropped there"),
    ("sdap", "packets as they leave SDAP or are dropped there"),
    ("rlc", "packets as the MAC takes their last byte, or as the RLC drops them"),
    ("air", "packets as they reach the UE or are lost on the way"),
    ("uplink", "acknowledgements and echoes as they reach the server"),
];

const AIR: usize = 3;
const UPLINK: usize = 4;

/// A packet in transit over the air.
struct Airborne {
    at: Instant,
    built: Built,
    comment: String,
}

/// A capture being written.
pub struct Capture {
    file: PacketFile,
    flows: Vec<Addressed>,
    classes: Vec<String>,
    air_delay: Duration,
    airborne: VecDeque<Airborne>,
    /// For runs in which packets may be lost after the RLC: packets that have left it, by number,
    /// until their delivery or loss.
    flying: Option<BTreeMap<u64, Built>>,
    /// The last packet that left a UPF queue; it enters SDAP next.
    from_upf: Option<u64>,
    /// IPv4 identification of the next packet on the uplink.
    uplink_id: u16,
    /// Sequence numbers of echo requests in transit, by flow and time of sending in ns.
    echoes: BTreeMap<(u32, u64), u16>,
    /// Number of the next echo request, by flow.
    next_echo: Vec<u16>,
    /// Size of a datagram on the IP layer, by flow.
    sizes: Vec<u32>,
    /// True for uploads, by flow.
    uploads: Vec<bool>,
    /// True if the UE sends the echo requests, by flow.
    asked_by_ue: Vec<bool>,
}

impl Capture {
    /// Opens `path` for the run of `facts`.
    ///
    /// # Errors
    /// Names the file when it cannot be written.
    pub fn create(path: &Path, facts: &RunFacts) -> Result<Self, ExportError> {
        Ok(Self {
            file: PacketFile::create(path, &facts.provenance, &INTERFACES, SNAPLEN)?,
            flows: facts.flows.iter().map(|flow| Addressed::new(&flow.tuple, flow.dscp)).collect(),
            classes: (0..facts.flows.len()).map(|i| facts.class_of(i as u32).to_string()).collect(),
            air_delay: facts.air_delay,
            airborne: VecDeque::new(),
            flying: (facts.slots_in == SlotUnit::ResourceBlocks).then(BTreeMap::new),
            from_upf: None,
            uplink_id: 0,
            echoes: BTreeMap::new(),
            next_echo: vec![1; facts.flows.len()],
            sizes: facts
                .flows
                .iter()
                .map(|f| f.datagrams.map_or(0, |(payload, _)| payload + UDP_HEADER_BYTES))
                .collect(),
            uploads: facts.flows.iter().map(|f| f.stream == Some(Way::Up)).collect(),
            asked_by_ue: facts.flows.iter().map(|f| f.asked_by_ue).collect(),
        })
    }

    fn put(
        &mut self,
        interface: usize,
        at: Instant,
        built: &Built,
        comment: &str,
    ) -> io::Result<()> {
        self.file.put(
            interface,
            at,
            Kept { bytes: built.kept(), original: built.original },
            comment,
        )
    }

    /// Writes the packets that have reached the UEs by `now`.
    fn land(&mut self, now: Instant) -> io::Result<()> {
        while self.airborne.front().is_some_and(|first| first.at <= now) {
            let Some(Airborne { at, built, comment }) = self.airborne.pop_front() else { break };
            self.put(AIR, at, &built, &comment)?;
        }
        Ok(())
    }

    /// `packet` as bytes.
    fn build(&mut self, packet: &Packet, segment: Option<&Segment>) -> Built {
        let flow = packet.flow as usize;
        let content = match (packet.protocol, segment) {
            (Protocol::Tcp, Some(segment)) => Content::Tcp(segment),
            (Protocol::Icmp, _) => {
                let number = self.echo_of(packet.flow, packet.payload);
                if self.asked_by_ue[flow] { Content::Reply(number) } else { Content::Echo(number) }
            }
            _ => Content::Udp,
        };
        self.flows[flow].downlink(packet, content)
    }

    fn whose(&self, packet: &Packet) -> String {
        let class = &self.classes[packet.flow as usize];
        format!("flow={class} packet={} ue={} qfi={}", packet.id, packet.ue, packet.qfi.get())
    }

    /// Handles `event`; `segment` is the content of its packet if it is TCP. Acknowledgements of
    /// uploads have no segment and are not captured. Upload segments do not pass the stack and are
    /// not captured either.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn record(
        &mut self,
        now: Instant,
        event: &Event,
        segment: Option<&Segment>,
    ) -> io::Result<()> {
        self.land(now)?;
        let uncarried = |packet: &Packet| packet.protocol == Protocol::Tcp && segment.is_none();
        if justfull_run::tap::packet_of(event).is_some_and(uncarried) {
            return Ok(());
        }
        match event {
            Event::Enqueued { layer: Layer::Sdap, packet, .. } => {
                self.passed_upf(now, packet, segment)
            }
            Event::Departed { layer, packet, sojourn } => {
                let built = self.build(packet, segment);
                let whose = self.whose(packet);
                let comment = format!("{whose} sojourn={}ms", ms(*sojourn));
                self.put(*layer as usize, now, &built, &comment)?;
                match layer {
                    Layer::Upf => self.from_upf = Some(packet.id),
                    Layer::Sdap => {}
                    Layer::Rlc => match &mut self.flying {
                        Some(flying) => {
                            flying.insert(packet.id, built);
                        }
                        None => self.take_off(now, None, packet, built)?,
                    },
                }
                Ok(())
            }
            Event::Dropped { packet, reason, .. } if reason.on_air() => {
                let lost = self.flying.as_mut().and_then(|flying| flying.remove(&packet.id));
                self.echoes.remove(&(packet.flow, packet.payload));
                let Some(built) = lost else { return Ok(()) };
                let comment = format!("{} dropped={}", self.whose(packet), reason.name());
                self.file.dropped(AIR, 1);
                self.put(AIR, now, &built, &comment)
            }
            Event::Dropped { layer, packet, reason } => {
                if *layer == Layer::Sdap && reason.arriving() {
                    self.passed_upf(now, packet, segment)?;
                }
                let built = self.build(packet, segment);
                self.echoes.remove(&(packet.flow, packet.payload));
                let waited =
                    if reason.arriving() { Duration::ZERO } else { now.since(packet.enqueued) };
                let whose = self.whose(packet);
                let comment = format!("{whose} dropped={} sojourn={}ms", reason.name(), ms(waited));
                self.file.dropped(*layer as usize, 1);
                self.put(*layer as usize, now, &built, &comment)
            }
            Event::Enqueued { .. }
            | Event::Withdrawn { .. }
            | Event::Marked { .. }
            | Event::Quantum { .. }
            | Event::Slot { .. } => Ok(()),
        }
    }

    /// `packet` leaves for the UE; it left the RLC at `left` if that differs from `now`.
    fn take_off(
        &mut self,
        now: Instant,
        left: Option<Instant>,
        packet: &Packet,
        built: Built,
    ) -> io::Result<()> {
        let at = now + self.air_delay;
        let mut comment =
            format!("{} total={}ms", self.whose(packet), ms(at.since(packet.entered)));
        if let Some(left) = left {
            comment.push_str(&format!(" to_ue={}ms", ms(at.since(left))));
        }
        self.airborne.push_back(Airborne { at, built, comment });
        self.land(now)
    }

    /// The UE receives `packet` whole and in order; it left the RLC at `left`.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn delivered(&mut self, now: Instant, left: Instant, packet: &Packet) -> io::Result<()> {
        self.land(now)?;
        match self.flying.as_mut().and_then(|flying| flying.remove(&packet.id)) {
            Some(built) => self.take_off(now, Some(left), packet, built),
            None => Ok(()),
        }
    }

    /// A packet enters SDAP. A transparent UPF emits no event, so this records that the packet left
    /// the UPF at once.
    fn passed_upf(
        &mut self,
        now: Instant,
        packet: &Packet,
        segment: Option<&Segment>,
    ) -> io::Result<()> {
        if self.from_upf.take() == Some(packet.id) {
            return Ok(());
        }
        let built = self.build(packet, segment);
        let comment = format!("{} sojourn={}ms", self.whose(packet), ms(Duration::ZERO));
        self.put(Layer::Upf as usize, now, &built, &comment)
    }

    /// `ack` reaches the sender of `flow`, which takes this `sample` of the round-trip time.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn acknowledged(
        &mut self,
        now: Instant,
        flow: u32,
        ack: &Ack,
        sample: Option<Duration>,
    ) -> io::Result<()> {
        self.land(now)?;
        if self.uploads[flow as usize] {
            return Ok(());
        }
        let id = self.take_uplink_id();
        let built = self.flows[flow as usize].acknowledgement(now, ack, id);
        let mut comment = format!("flow={}", self.classes[flow as usize]);
        if let Some(rtt) = sample {
            comment.push_str(&format!(" rtt={}ms", ms(rtt)));
        }
        self.put(UPLINK, now, &built, &comment)
    }

    /// Sequence number of the echo request that `flow` sent at `sent` ns.
    fn echo_of(&mut self, flow: u32, sent: u64) -> u16 {
        let next = &mut self.next_echo[flow as usize];
        *self.echoes.entry((flow, sent)).or_insert_with(|| {
            let number = *next;
            *next = next.wrapping_add(1);
            number
        })
    }

    /// The echo request that the UE of `flow` sent at `sent` reaches the server.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn requested(&mut self, now: Instant, flow: u32, sent: Instant) -> io::Result<()> {
        self.land(now)?;
        let number = self.echo_of(flow, sent.as_nanos());
        let id = self.take_uplink_id();
        let built = self.flows[flow as usize].request(number, self.sizes[flow as usize], id);
        let comment = format!("flow={}", self.classes[flow as usize]);
        self.put(UPLINK, now, &built, &comment)
    }

    /// The reply to the echo request that `flow` sent at `sent` reaches the sender of the request:
    /// the server or the UE.
    ///
    /// # Errors
    /// The error of the disk.
    pub fn replied(&mut self, now: Instant, flow: u32, sent: Instant) -> io::Result<()> {
        self.land(now)?;
        let Some(number) = self.echoes.remove(&(flow, sent.as_nanos())) else { return Ok(()) };
        if self.asked_by_ue[flow as usize] {
            return Ok(());
        }
        let id = self.take_uplink_id();
        let built = self.flows[flow as usize].reply(number, self.sizes[flow as usize], id);
        let comment = format!("flow={} rtt={}ms", self.classes[flow as usize], ms(now.since(sent)));
        self.put(UPLINK, now, &built, &comment)
    }

    fn take_uplink_id(&mut self) -> u16 {
        self.uplink_id = self.uplink_id.wrapping_add(1);
        self.uplink_id
    }

    /// Writes the remaining packets and the counts of each interface at `end`, and moves the file
    /// into place.
    ///
    /// # Errors
    /// Names the file if it cannot be written; no file is left then.
    pub fn commit(mut self, end: Instant) -> Result<(), ExportError> {
        match self.land(end) {
            Ok(()) => self.file.commit(end),
            Err(what) => Err(self.file.failed(what)),
        }
    }
}

/// A time in ms for comments, exact to the nanosecond.
#[must_use]
pub fn ms(time: Duration) -> String {
    let ns = time.as_nanos();
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}
