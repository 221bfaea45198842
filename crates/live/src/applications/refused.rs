//! Traffic that only the simulator sends.

use justfull_run::{Traffic, Transport};

/// The part of it that has no application; none if all has.
pub(super) fn simulated_only(traffic: &Traffic) -> Option<&'static str> {
    match traffic {
        Traffic::Ping(ping) if ping.from_ue.is_some() => {
            Some("`ping.from_ue` is simulated only; live, the server sends the requests")
        }
        Traffic::Video(video) if video.inputs.is_some() => {
            Some("`video.inputs` is simulated only; live, the user of a video sends nothing")
        }
        Traffic::Page(_) => Some("`page` is simulated only; live, `tcp.size` stands for it"),
        Traffic::Dash(_) => Some("`dash` is simulated only; live, `tcp.size` stands for it"),
        Traffic::VideoCall(_) => Some("`video_call` is simulated only; live, `video` has a rate"),
        Traffic::Tcp { rate, transport, .. } | Traffic::Upload { rate, transport, .. } => {
            if rate.is_some() {
                Some("`tcp.rate` is simulated only; live, a transfer writes all at once")
            } else if *transport == Transport::Udp && !is_quic(traffic) {
                Some(NO_QUIC)
            } else if *transport == Transport::Ssh && matches!(traffic, Traffic::Upload { .. }) {
                Some("`tcp.protocol = \"ssh\"` of an upload is simulated only; live, it downloads")
            } else {
                None
            }
        }
        _ => None,
    }
}

const NO_QUIC: &str = if cfg!(feature = "quic") {
    "`tcp.protocol = \"udp\"` of an upload is simulated only; live, a download over UDP is QUIC"
} else {
    "`tcp.protocol = \"udp\"` is simulated only in this build; with the feature `quic` a download \
     over UDP is QUIC"
};

/// True for a transfer that QUIC can make, with a control of quinn.
fn is_quic(traffic: &Traffic) -> bool {
    let known = |name: &str| matches!(name, "new_reno" | "cubic" | "bbr");
    cfg!(feature = "quic")
        && matches!(traffic, Traffic::Tcp { sender, .. } if known(sender.cc.name()))
}
