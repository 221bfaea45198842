//! The traffic of the world.

pub(crate) mod dash;
mod docs;
mod emodel;
mod on_off;
mod page;
mod ping;
mod video;
mod video_call;
mod voip;

pub use dash::{
    ABR_DOCS, AbrConfig, BbaConfig, BolaConfig, DashConfig, MpcConfig, Player, Shown,
    ThroughputConfig, Watched,
};
pub use docs::DOCS;
pub use on_off::{CbrConfig, OnOffConfig, Span};
pub(crate) use page::RETRY as REQUEST_RETRY;
pub use page::{
    Http, Lognormal, ObjectCount, ObjectSize, PageConfig, ParetoCount, RequestLaw, RequestSize,
};
pub use ping::{PingConfig, TurnConfig};
pub use video::{InputConfig, VideoConfig};
pub use video_call::{VideoCall, VideoCallConfig, Woken};
pub use voip::VoipConfig;

pub use on_off::Gate;
pub(crate) use page::PageCount;
pub use page::{Browser, Request, Wish};
pub(crate) use ping::PingCount;
pub(crate) use video::FrameCount;
pub use video::{Complete as CompleteFrame, Fate, Progress as FrameProgress, Video};
pub use voip::PAYLOAD as VOIP_PAYLOAD;
pub(crate) use voip::VoipCount;

use justfull_base::bounds::key;
use justfull_base::error::ensure;
use justfull_base::packet::Protocol;
use justfull_base::param::{Form, Param, written_table};
use justfull_base::{BitRate, Bytes, ConfigError, Dscp, Duration, Instant, Rng, choice};
use justfull_ran::FiveTuple;
use justfull_tcp::{ReceiverConfig, SenderConfig};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::sync::Arc;

/// Bytes of IPv4 and UDP headers.
pub const UDP_HEADER_BYTES: u32 = 28;

/// Bytes of IPv4 and ICMP echo headers (RFC 792).
pub const ICMP_HEADER_BYTES: u32 = 28;

/// Time between the datagrams of a source.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Interval {
    /// Constant.
    Constant(Duration),
    /// Normal; a draw below 0 counts as 0.
    Normal {
        /// Mean, above 0.
        mean: Duration,
        /// Standard deviation.
        sd: Duration,
    },
    /// Exponential: datagrams are a Poisson process.
    Exponential {
        /// Its mean, above 0.
        exponential: Duration,
    },
}

impl Interval {
    /// Mean time between datagrams.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Constant(mean)
            | Self::Normal { mean, .. }
            | Self::Exponential { exponential: mean } => mean,
        }
    }

    /// Time from a source's start to its first datagram: uniform within a mean interval; for a
    /// Poisson process an exponential interval.
    pub fn first(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Exponential { .. } => self.draw(rng),
            _ => self.mean().scaled(rng.unit()),
        }
    }

    /// Draws the time until the next datagram.
    pub fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Constant(d) => d,
            Self::Normal { mean, sd } => {
                let s = mean.as_secs_f64() + sd.as_secs_f64() * rng.normal();
                Duration::from_secs_f64(s.max(0.0))
            }
            Self::Exponential { exponential } => exponential.scaled(rng.exponential()),
        }
    }
}

impl Param for Interval {
    const UNIT: &'static str = "time, { mean, sd } or { exponential = mean }";

    fn form() -> Form {
        let mean = key::<Duration>("mean", "Mean of a normal law; a draw below 0 counts as 0.");
        let sd = key::<Duration>("sd", "Its standard deviation.");
        let exponential = key::<Duration>("exponential", "Mean of an exponential law.");
        let laws = [vec![mean, sd], vec![exponential]].map(Form::Table);
        Form::OneOf([Duration::form()].into_iter().chain(laws).collect())
    }

    fn allowed() -> String {
        "a mean of at least 1us".into()
    }

    fn written(&self) -> String {
        match self {
            Self::Constant(time) => time.written(),
            Self::Normal { mean, sd } => {
                written_table(&[("mean", mean.written()), ("sd", sd.written())])
            }
            Self::Exponential { exponential } => {
                written_table(&[("exponential", exponential.written())])
            }
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let mean = self.mean();
        ensure(mean >= Duration::from_micros(1), "", &mean, "at least 1us", "finer would not end")
    }
}

/// The table forms of an interval.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Law {
    mean: Option<Duration>,
    sd: Option<Duration>,
    exponential: Option<Duration>,
}

/// Reads a time, or the table of a distribution.
struct IntervalVisitor;

impl<'de> Visitor<'de> for IntervalVisitor {
    type Value = Interval;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a time with its unit such as \"20ms\", { mean = \"20ms\", sd = \"5ms\" } or \
             { exponential = \"20ms\" }",
        )
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Interval, E> {
        text.parse()
            .map(Interval::Constant)
            .map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Interval, A::Error> {
        match Law::deserialize(MapAccessDeserializer::new(map))? {
            Law { mean: Some(mean), sd: Some(sd), exponential: None } => {
                Ok(Interval::Normal { mean, sd })
            }
            Law { mean: None, sd: None, exponential: Some(exponential) } => {
                Ok(Interval::Exponential { exponential })
            }
            Law { exponential: Some(_), .. } => {
                let both = Unexpected::Other("two laws, normal and exponential");
                Err(A::Error::invalid_value(both, &self))
            }
            Law { mean: None, .. } => Err(A::Error::missing_field("mean")),
            Law { sd: None, .. } => Err(A::Error::missing_field("sd")),
        }
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(IntervalVisitor)
    }
}

choice! {
    serde;
    /// The protocol number of a TCP transfer's packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Transport {
        /// TCP.
        #[default]
        Tcp = "tcp",
        /// UDP: a flow like QUIC (RFC 9000), whose ends do as TCP's and whose packets show nothing
        /// of it to what is between them.
        Udp = "udp",
        /// TCP under SSH (RFC 4253). Live, an `ssh` fetches the bytes from an `sshd`; the simulator
        /// sends them alone, without SSH's handshake.
        Ssh = "ssh",
    }
}

/// The traffic of a flow. The large settings are boxed, since most flows of a large cell are calls.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// A TCP transfer.
    Tcp {
        /// The server's end.
        sender: Box<SenderConfig>,
        /// The UE's end.
        receiver: Box<ReceiverConfig>,
        /// Bytes to transfer; none for a greedy flow.
        size: Option<Bytes>,
        /// Payload that the application writes per second from the start on; if none, it writes
        /// everything at once.
        rate: Option<BitRate>,
        /// The protocol in its packets.
        transport: Transport,
    },
    /// Datagrams at intervals.
    Udp {
        /// Payload of each, 1 to 65 507 bytes.
        payload: Bytes,
        /// Time between them.
        interval: Interval,
    },
    /// A TCP transfer from the UE: segments go up, acknowledgements come down the chain.
    Upload {
        /// The UE's end.
        sender: Box<SenderConfig>,
        /// The server's end.
        receiver: Box<ReceiverConfig>,
        /// Bytes to transfer; none for a greedy flow.
        size: Option<Bytes>,
        /// Payload that the application writes per second from the start on; if none, it writes
        /// everything at once.
        rate: Option<BitRate>,
        /// The protocol in its packets.
        transport: Transport,
    },
    /// Datagrams at a constant rate.
    Cbr(CbrConfig),
    /// Datagrams at a constant rate, with pauses.
    OnOff(OnOffConfig),
    /// Echo requests to which the UE, or the server, replies.
    Ping(PingConfig),
    /// A G.711 call to the UE.
    Voip(VoipConfig),
    /// Frames of a rendered video.
    Video(VideoConfig),
    /// A video call to the UE.
    VideoCall(Box<VideoCallConfig>),
    /// Pages that the UE loads.
    Page(Box<PageConfig>),
    /// Adaptive video over HTTP.
    Dash(Box<DashConfig>),
}

impl Traffic {
    /// Short name of the kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Tcp { .. } => "tcp",
            Self::Upload { .. } => "upload",
            Self::Udp { .. } => "udp",
            Self::Cbr(_) => "cbr",
            Self::OnOff(_) => "on_off",
            Self::Ping(_) => "ping",
            Self::Voip(_) => "voip",
            Self::Video(_) => "video",
            Self::VideoCall(_) => "video_call",
            Self::Page(_) => "page",
            Self::Dash(_) => "dash",
        }
    }

    /// The transport protocol of its packets.
    #[must_use]
    pub const fn protocol(&self) -> Protocol {
        match self {
            Self::Tcp { transport: Transport::Udp, .. }
            | Self::Upload { transport: Transport::Udp, .. } => Protocol::Udp,
            Self::Page(page) if matches!(page.http, Http::Http3) => Protocol::Udp,
            Self::Tcp { .. } | Self::Upload { .. } | Self::Page(_) | Self::Dash(_) => Protocol::Tcp,
            Self::Udp { .. } | Self::Cbr(_) | Self::OnOff(_) | Self::Voip(_) => Protocol::Udp,
            Self::Video(_) | Self::VideoCall(_) => Protocol::Udp,
            Self::Ping(_) => Protocol::Icmp,
        }
    }

    /// Payload and mean interval of its datagrams, if their payload handle is the time of sending;
    /// none for TCP, and for frames, which are bursts of datagrams.
    #[must_use]
    pub fn datagrams(&self) -> Option<(Bytes, Duration)> {
        let (payload, interval) = match self {
            Self::Udp { payload, interval } => (*payload, *interval),
            Self::Ping(ping) => (ping.payload, ping.interval),
            Self::Cbr(cbr) => (cbr.payload, cbr.interval()),
            Self::OnOff(on_off) => (on_off.payload, on_off.cbr().interval()),
            Self::Voip(voip) => (VOIP_PAYLOAD, voip.interval()),
            Self::Tcp { .. } | Self::Upload { .. } => return None,
            Self::Video(_) | Self::VideoCall(_) | Self::Page(_) | Self::Dash(_) => return None,
        };
        Some((payload, interval.mean()))
    }

    /// The settings of its TCP senders.
    #[must_use]
    pub const fn sender(&self) -> Option<&SenderConfig> {
        match self {
            Self::Tcp { sender, .. } | Self::Upload { sender, .. } => Some(sender),
            Self::Page(page) => Some(&page.sender),
            Self::Dash(dash) => Some(&dash.sender),
            _ => None,
        }
    }

    /// The mutable settings of its TCP senders.
    pub fn sender_mut(&mut self) -> Option<&mut SenderConfig> {
        match self {
            Self::Tcp { sender, .. } | Self::Upload { sender, .. } => Some(sender),
            Self::Page(page) => Some(&mut page.sender),
            Self::Dash(dash) => Some(&mut dash.sender),
            _ => None,
        }
    }

    /// Number of its flows of packets: the connections of a page, otherwise one.
    #[must_use]
    pub const fn connections(&self) -> u32 {
        match self {
            Self::Page(page) => page.connections,
            _ => 1,
        }
    }
}

/// Checks that datagrams of `payload` fit into `mtu`.
pub fn check_payload(payload: Bytes, mtu: u32) -> Result<(), ConfigError> {
    let most = u64::from(mtu.saturating_sub(UDP_HEADER_BYTES));
    let bound = "1B to the MTU less 28B of headers";
    ensure(
        (1..=most).contains(&payload.0),
        "payload",
        &payload,
        bound,
        "no IP fragmentation is modelled",
    )
}

/// Checks that segments of `sender` fit into `mtu`.
pub fn check_mss(sender: &SenderConfig, mtu: u32) -> Result<(), ConfigError> {
    ensure_mss(sender, mtu, "sender.mss")
}

/// Checks that segments of `sender` fit into `mtu`; `field` names their size in errors.
pub fn ensure_mss(sender: &SenderConfig, mtu: u32, field: &str) -> Result<(), ConfigError> {
    let most = mtu.saturating_sub(sender.header);
    let bound = format!("1 to the MTU less {}B of headers", sender.header);
    ensure(sender.mss <= most, field, &sender.mss, &bound, "no IP fragmentation is modelled")
}

/// Checks the `rate` at which an application writes segments of `mss`.
fn check_rate(rate: BitRate, mss: u32) -> Result<(), ConfigError> {
    let fastest = u64::from(mss) * 8_000_000;
    let bound = format!("1bit/s to a segment per 1us, {}", BitRate(fastest));
    ensure((1..=fastest).contains(&rate.0), "rate", &rate, &bound, "finer would not end")
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// Name; flows of one name are counted together.
    pub name: Arc<str>,
    /// UE at the other end.
    pub ue: u32,
    /// Addresses and ports.
    pub tuple: FiveTuple,
    /// Codepoint of its packets towards the UE.
    pub dscp: Dscp,
    /// The traffic; equal flows may share it.
    pub traffic: Arc<Traffic>,
    /// True if the scenario marks it `low_latency`.
    pub low_latency: bool,
    /// Start. A source of datagrams starts at a random time within one mean interval after it; a
    /// Poisson process starts at once.
    pub start: Duration,
    /// Time after which it sends no new data; none for the end of the run.
    pub stop: Option<Duration>,
    /// One-way delay between server and UPF on top of the core's.
    pub extra_delay: Duration,
    /// Packet delay budget of its QoS flow (TS 23.501 section 5.7.3.4), between UPF and UE; none if
    /// the scenario requests none.
    pub delay_budget: Option<Duration>,
    /// Whether a proxy, if there is one, splits it; none to split it if possible.
    pub proxied: Option<bool>,
}

impl FlowConfig {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn validate(&self, mtu: u32) -> Result<(), ConfigError> {
        if let Some(stop) = self.stop {
            ensure(stop > self.start, "stop", &stop, "after start", "a flow lasts some time")?;
        }
        ensure(
            self.proxied != Some(true) || self.can_be_proxied(),
            "proxied",
            &true,
            "false, or left out, but for a TCP transfer to the UE",
            "a proxy splits these alone",
        )?;
        match &*self.traffic {
            Traffic::Udp { payload, interval } => {
                check_payload(*payload, mtu)?;
                interval.check().map_err(|e| e.within("interval"))
            }
            Traffic::Ping(ping) => ping.fits(mtu).map_err(|e| e.within("ping")),
            Traffic::Cbr(cbr) => cbr.fits(mtu).map_err(|e| e.within("cbr")),
            Traffic::OnOff(on_off) => on_off.fits(mtu).map_err(|e| e.within("on_off")),
            Traffic::Voip(voip) => {
                check_payload(VOIP_PAYLOAD, mtu)?;
                voip.validate().map_err(|e| e.within("voip"))
            }
            Traffic::Video(video) => video.fits(mtu).map_err(|e| e.within("video")),
            Traffic::VideoCall(call) => call.fits(mtu).map_err(|e| e.within("video_call")),
            Traffic::Page(page) => page.fits(mtu).map_err(|e| e.within("page")),
            Traffic::Dash(dash) => dash.fits(mtu).map_err(|e| e.within("dash")),
            Traffic::Tcp { sender, size, rate, .. }
            | Traffic::Upload { sender, size, rate, .. } => {
                ensure_mss(sender, mtu, "tcp.mss")?;
                ensure(
                    size.is_none_or(|s| s.0 > 0),
                    "size",
                    &"0B",
                    "at least 1B, or none",
                    "nothing to send",
                )?;
                sender.validate().map_err(|e| e.within("tcp"))?;
                rate.map_or(Ok(()), |rate| check_rate(rate, sender.mss))
            }
        }
    }

    /// True for traffic that a proxy can split.
    fn can_be_proxied(&self) -> bool {
        matches!(&*self.traffic, Traffic::Tcp { .. }) && self.traffic.protocol() == Protocol::Tcp
    }

    /// True if a proxy, if there is one, splits it: a TCP transfer to the UE, unless configured
    /// otherwise.
    #[must_use]
    pub fn goes_by_proxy(&self) -> bool {
        self.proxied.unwrap_or(true) && self.can_be_proxied()
    }

    /// True if its data goes from the UE to a server.
    #[must_use]
    pub fn is_upload(&self) -> bool {
        matches!(&*self.traffic, Traffic::Upload { .. })
    }

    /// True if its packets are in a tunnel: only the outer header is visible.
    #[must_use]
    pub fn is_in_tunnel(&self) -> bool {
        self.tuple.protocol == Protocol::Other
    }

    /// Addresses and ports of its packets on `connection`: each connection of a page has its own
    /// server.
    #[must_use]
    pub fn tuple_of(&self, connection: u32) -> FiveTuple {
        let mut tuple = self.tuple;
        if !self.is_in_tunnel() {
            tuple.source[15] = tuple.source[15].wrapping_add(connection as u8);
        }
        tuple
    }

    /// The instant after which the flow sends no new data.
    #[must_use]
    pub fn stop_instant(&self) -> Instant {
        self.stop.map_or(Instant::NEVER, |s| Instant::ZERO + s)
    }
}
