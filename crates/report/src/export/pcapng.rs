//! Captures that Wireshark opens: pcapng (draft-ietf-opsawg-pcapng), one interface for each layer.
//!
//! A packet stands once on the interface of each layer, at the instant at which it left that layer,
//! downwards or by a drop; `air` has it when it reaches the UE or, where the MAC deals in resource
//! blocks, when it is lost on the way; `uplink` has acknowledgements and echo replies when they
//! reach the server. The comment of a packet says what the layer did to it. Time 0 of the
//! simulation is the epoch, so that equal runs give equal files.
//!
//! What is captured is raw IPv4 (LINKTYPE_RAW, 101) as the simulator has it: addresses, ports,
//! lengths, ECN bits, sequence and acknowledgement numbers, timestamps and SACK blocks are those of
//! the flow; payloads are zeros and cut at [`SNAPLEN`], lengths and checksums are those of the
//! whole packet. There is no handshake in the simulator, so none is in the file: sequence numbers
//! start at 1, as after a SYN with 0.

mod file;
mod packet;

pub use file::{Kept, PacketFile};
pub use packet::SNAPLEN;

use super::facts::{RunFacts, SlotUnit, Way};
use super::sink::ExportError;
use justfull_base::packet::Protocol;
use justfull_base::{DropReason, Duration, Event, Instant, Layer, Packet};
use justfull_sim::traffic::UDP_HEADER_BYTES;
use justfull_tcp::{Ack, Segment};
use packet::{Addressed, Built, Content};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;

/// Interfaces by number, with what their packets have in common.
pub const INTERFACES: [(&str, &str); 5] = [
    ("upf", "packets as they leave the UPF or are dropped there"),
    ("sdap", "packets as they leave SDAP or are dropped there"),
    ("rlc", "packets as the MAC takes their last byte, or as the RLC drops them"),
    ("air", "packets as they reach the UE or are lost on the way"),
    ("uplink", "acknowledgements and echo replies as they reach the server"),
];

const AIR: usize = 3;
const UPLINK: usize = 4;

/// A packet on its way through the air.
struct Airborne {
    at: Instant,
    built: Built,
    comment: String,
}

/// A capture that is being written.
pub struct Capture {
    file: PacketFile,
    flows: Vec<Addressed>,
    classes: Vec<String>,
    air_delay: Duration,
    airborne: VecDeque<Airborne>,
    /// Where what leaves the RLC may still be lost on the air: what has left, by number of the
    /// packet, until its fate is known.
    flying: Option<BTreeMap<u64, Built>>,
    /// The last packet that left a UPF's queue: it enters SDAP next.
    from_upf: Option<u64>,
    /// IPv4 identification of the next packet on the uplink.
    uplink_id: u16,
    /// Numbers of the echo requests that are on their way, by flow and time of sending in ns.
    echoes: BTreeMap<(u32, u64), u16>,
    /// Number of the next echo request, by flow.
    next_echo: Vec<u16>,
    /// Size of a datagram on the IP layer, by flow.
    sizes: Vec<u32>,
    /// The flow is an upload.
    uploads: Vec<bool>,
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

    /// Writes what has reached the UEs by `now`.
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
                let next = &mut self.next_echo[flow];
                let number =
                    *self.echoes.entry((packet.flow, packet.payload)).or_insert_with(|| {
                        let number = *next;
                        *next = next.wrapping_add(1);
                        number
                    });
                Content::Echo(number)
            }
            _ => Content::Udp,
        };
        self.flows[flow].downlink(packet, content)
    }

    fn whose(&self, packet: &Packet) -> String {
        let class = &self.classes[packet.flow as usize];
        format!("flow={class} packet={} ue={} qfi={}", packet.id, packet.ue, packet.qfi.get())
    }

    /// Hears `event`; `segment` is what its packet carries where that is TCP. An upload's
    /// acknowledgements, which carry none, are not captured, and neither are its segments,
    /// which do not pass the stack.
    ///
    /// # Errors
    /// What the disk returned.
    pub fn hear(
        &mut self,
        now: Instant,
        event: &Event,
        segment: Option<&Segment>,
    ) -> io::Result<()> {
        self.land(now)?;
        let uncarried = |packet: &Packet| packet.protocol == Protocol::Tcp && segment.is_none();
        if justfull_sim::tap::packet_of(event).is_some_and(uncarried) {
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
                if *layer == Layer::Sdap && arriving(*reason) {
                    self.passed_upf(now, packet, segment)?;
                }
                let built = self.build(packet, segment);
                self.echoes.remove(&(packet.flow, packet.payload));
                let waited =
                    if arriving(*reason) { Duration::ZERO } else { now.since(packet.enqueued) };
                let whose = self.whose(packet);
                let comment = format!("{whose} dropped={} sojourn={}ms", reason.name(), ms(waited));
                self.file.dropped(*layer as usize, 1);
                self.put(*layer as usize, now, &built, &comment)
            }
            Event::Enqueued { .. }
            | Event::Marked { .. }
            | Event::Quantum { .. }
            | Event::Slot { .. } => Ok(()),
        }
    }

    /// `packet`, which left the RLC at `left` where that is not `now`, is on its way to the UE.
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

    /// Hears that the UE has `packet`, which left the RLC at `left`, whole and in order.
    ///
    /// # Errors
    /// What the disk returned.
    pub fn delivered(&mut self, now: Instant, left: Instant, packet: &Packet) -> io::Result<()> {
        self.land(now)?;
        match self.flying.as_mut().and_then(|flying| flying.remove(&packet.id)) {
            Some(built) => self.take_off(now, Some(left), packet, built),
            None => Ok(()),
        }
    }

    /// A packet comes to SDAP: where the UPF lets all pass, it tells nothing, and the packet left
    /// it as it came.
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

    /// Hears that `ack` reached the sender of `flow`.
    ///
    /// # Errors
    /// What the disk returned.
    pub fn acknowledged(&mut self, now: Instant, flow: u32, ack: &Ack) -> io::Result<()> {
        self.land(now)?;
        if self.uploads[flow as usize] {
            return Ok(());
        }
        let id = self.take_uplink_id();
        let built = self.flows[flow as usize].acknowledgement(now, ack, id);
        let rtt = now.since(ack.ts_echo);
        let comment = format!("flow={} rtt={}ms", self.classes[flow as usize], ms(rtt));
        self.put(UPLINK, now, &built, &comment)
    }

    /// Hears that the reply to the echo request that `flow` sent at `sent` reached the server.
    ///
    /// # Errors
    /// What the disk returned.
    pub fn replied(&mut self, now: Instant, flow: u32, sent: Instant) -> io::Result<()> {
        self.land(now)?;
        let Some(number) = self.echoes.remove(&(flow, sent.as_nanos())) else { return Ok(()) };
        let id = self.take_uplink_id();
        let built = self.flows[flow as usize].reply(number, self.sizes[flow as usize], id);
        let comment = format!("flow={} rtt={}ms", self.classes[flow as usize], ms(now.since(sent)));
        self.put(UPLINK, now, &built, &comment)
    }

    fn take_uplink_id(&mut self) -> u16 {
        self.uplink_id = self.uplink_id.wrapping_add(1);
        self.uplink_id
    }

    /// Writes what is left, with the counts of each interface at `end`, and puts the file in its
    /// place.
    ///
    /// # Errors
    /// Names the file when the disk refuses; nothing is left behind then.
    pub fn commit(mut self, end: Instant) -> Result<(), ExportError> {
        match self.land(end) {
            Ok(()) => self.file.commit(end),
            Err(what) => Err(self.file.failed(what)),
        }
    }
}

/// True when a packet that is dropped for `reason` was not yet in the queue.
const fn arriving(reason: DropReason) -> bool {
    matches!(reason, DropReason::Overflow | DropReason::AqmEnqueue | DropReason::NoRule)
}

/// A time in ms, exact to the nanosecond, as comments have it.
#[must_use]
pub fn ms(time: Duration) -> String {
    let ns = time.as_nanos();
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}
