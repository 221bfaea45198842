//! The flows of a scenario file.

use super::{MOST, is_default, one_u32};
use justfull_base::{BitRate, Bytes, Dscp, Duration, Qfi, choice, table};
use justfull_run::traffic::{
    CbrConfig, DashConfig, OnOffConfig, PageConfig, VideoCallConfig, VideoConfig, VoipConfig,
};
use justfull_run::{Interval, PingConfig, Transport};
use justfull_tcp::{ReceiverConfig, SenderConfig};
use serde::{Deserialize, Serialize};

table! {
    /// Flows, alike.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct FlowFile {
        /// Name; counted together under it.
        name: String;
        /// How many to each UE.
        #[serde(default = "one_u32")]
        count: u32 = one_u32(), within(1, MOST);
        /// First UE that has it.
        #[serde(default)]
        ue: u32 = Default::default();
        /// Number of UEs that have it, from `ue` on; all of them when 0.
        #[serde(default = "one_u32")]
        ues: u32 = one_u32();
        /// Differentiated services codepoint of its packets towards the UE (RFC 2474), 0 to 63.
        #[serde(default, skip_serializing_if = "Dscp::is_default")]
        dscp: Dscp = Default::default();
        /// QFI; left out, the UE's own rules decide.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        qfi: Option<Qfi> = None;
        /// Its packets are in the UE's tunnel, whose flows have one 5-tuple; simulated runs only.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tunnel: bool = Default::default();
        /// The scenario is about its delay.
        #[serde(default)]
        low_latency: bool = Default::default();
        /// 5QI of its QoS flow (TS 23.501 Table 5.7.4-1): packets that miss its packet delay budget
        /// are counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        five_qi: Option<u8> = None;
        /// When it starts.
        #[serde(default)]
        start: Duration = Default::default();
        /// When it stops; left out, at the end of the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Duration> = None;
        /// One-way delay between server and UPF on top of the core's.
        #[serde(default)]
        extra_delay: Duration = Default::default();
        /// A proxy splits it, where there is one; left out: if it is a TCP transfer to the UE.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proxied: Option<bool> = None, stated("false but for a TCP transfer to the UE");
        /// A TCP transfer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tcp: Option<TcpFile> = None;
        /// Datagrams.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        udp: Option<UdpFile> = None;
        /// Echo requests that the UE answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ping: Option<PingConfig> = None;
        /// Datagrams at a constant rate.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cbr: Option<CbrConfig> = None;
        /// Datagrams at a constant rate by times.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        on_off: Option<OnOffConfig> = None;
        /// A G.711 call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        voip: Option<VoipConfig> = None;
        /// Frames of a rendered video.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        video: Option<VideoConfig> = None;
        /// A video call whose encoder follows a rate control.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        video_call: Option<VideoCallConfig> = None;
        /// Pages that the UE loads.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        page: Option<PageConfig> = None;
        /// Adaptive video over HTTP.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dash: Option<DashConfig> = None;
    }
}

choice! {
    serde;
    /// Which way a TCP transfer goes.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Direction {
        /// From the server to the UE.
        #[default]
        Down = "down",
        /// From the UE to the server: its segments take the uplink, its acknowledgements the chain.
        Up = "up",
    }
}

table! {
    /// A TCP transfer.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TcpFile with Default {
        /// Direction of the transfer.
        #[serde(skip_serializing_if = "is_down")]
        direction: Direction = Default::default();
        /// Bytes to transfer; left out, it never ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        size: Option<Bytes> = None, stated("at least 1B");
        /// Payload that its application writes per second, a segment at a time, from the start on;
        /// left out, all is there at the start.
        #[serde(skip_serializing_if = "Option::is_none")]
        rate: Option<BitRate> = None, stated("1bit/s to a segment per 1us");
        /// Protocol of its packets. With `udp` it is a flow like QUIC (RFC 9000): its ends work as
        /// TCP's, and rules, queues and a proxy treat it as datagrams. With `ssh` the bytes belong
        /// to an SSH session: live, an `ssh` fetches them from an `sshd`; the simulator sends the
        /// bytes without SSH's handshake.
        #[serde(skip_serializing_if = "is_default")]
        protocol: Transport = Default::default();
        /// The end that sends: the server's, or the UE's where it goes up.
        sender: SenderConfig = Default::default();
        /// The other end.
        receiver: ReceiverConfig = Default::default();
    }
}

table! {
    /// Datagrams.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct UdpFile {
        /// Payload of each.
        payload: Bytes where (stated("1B to the MTU less 28B of headers"));
        /// Time between them: a time, `{ mean, sd }` for a normal law, or `{ exponential = mean }`
        /// for a Poisson process.
        interval: Interval;
    }
}

fn is_down(direction: &Direction) -> bool {
    *direction == Direction::Down
}
