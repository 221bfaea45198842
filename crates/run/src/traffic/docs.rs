//! User documentation of each kind of traffic and its settings.

use justfull_base::doc::MethodDoc;

const PING: MethodDoc = MethodDoc {
    name: "ping",
    kind: "traffic",
    title: "Echo requests that the UE answers at once",
    text: "Requests go down the chain, replies of the same size come back over the uplink. They \
           are sent whether or not earlier ones were answered. With `from_ue` the UE sends the \
           requests over the uplink, and the server answers at once. A reply reaches the cell \
           `phase` after the start of the first slot after its arrival, and up to `jitter` later.",
    sources: "RFC 792; E19 section V, A21 section V-F (irtt)",
    deviations: "none",
    params: super::PingConfig::params,
};

const CBR: MethodDoc = MethodDoc {
    name: "cbr",
    kind: "traffic",
    title: "Datagrams at a constant rate",
    text: "The time between datagrams follows from rate and size; headers of 28 B count.",
    sources: "R22 section 5 (8 Mbit/s and 150 kbit/s beside TCP)",
    deviations: "none",
    params: super::CbrConfig::params,
};

const ON_OFF: MethodDoc = MethodDoc {
    name: "on_off",
    kind: "traffic",
    title: "Datagrams at a constant rate by times",
    text: "As cbr while on, nothing while off; a source starts in the stationary state of its \
           law, so that several are not in step.",
    sources: "Markov-modulated source, as talk spurts are usually described",
    deviations: "none",
    params: super::OnOffConfig::params,
};

const VOIP: MethodDoc = MethodDoc {
    name: "voip",
    kind: "traffic",
    title: "A G.711 call, judged by the E-model",
    text: "160 B of voice each 20 ms, 200 B on the IP layer. Packets that miss their playout, the \
           fastest packet's way plus the de-jitter buffer, count as lost; loss and mouth-to-ear \
           delay give R and the mean opinion score.",
    sources: "ITU-T G.711, G.107, G.113 appendix I",
    deviations: "the ways beyond the server and beyond the UE are not in the delay",
    params: super::VoipConfig::params,
};

const VIDEO: MethodDoc = MethodDoc {
    name: "video",
    kind: "traffic",
    title: "Frames of a rendered video, as cloud gaming sends them",
    text: "A burst of datagrams for each frame; sizes of a Gaussian law cut at half and one and a \
           half of the mean, sent with a jitter cut at twice its standard deviation. A frame is \
           complete when its last datagram has reached the UE.",
    sources: "TR 38.838 section 5.1",
    deviations: "one buffer for both eyes",
    params: super::VideoConfig::params,
};

const VIDEO_CALL: MethodDoc = MethodDoc {
    name: "video_call",
    kind: "traffic",
    title: "A video call whose encoder follows a rate control",
    text: "A frame of the target rate once a period, cut into RTP packets that are paced. The UE \
           reports arrivals and marks over the uplink. A frame is complete when its last packet \
           has reached the UE; a skipped frame counts as sent and broken.",
    sources: "RTP (RFC 3550), reports as in RFC 8888 or transport-wide congestion control; RFC 8867 \
              (tests of such calls)",
    deviations: "the encoder follows at once and has no key frames; no audio; nothing is sent \
                 again, and no packet protects others",
    params: super::VideoCallConfig::params,
};

const PAGE: MethodDoc = MethodDoc {
    name: "page",
    kind: "traffic",
    title: "Page loads: a main object, parsing, embedded objects over parallel connections",
    text: "Each connection has one request at a time and lives on over pages. Or, over HTTP/1.0, \
           each object has a connection of its own; over HTTP/1.1, one connection takes all \
           requests at once; over HTTP/2 and 3 the server also interleaves the answers, \
           and over HTTP/3 they do not wait for each other. A page is loaded when its last \
           object is there.",
    sources: "HTTP model of 3GPP and NGMN (NGMN white paper on radio access performance \
              evaluation, annex A); P06 section V; RFC 9113; RFC 9114",
    deviations: "no handshakes but with HTTP/1.0 or the sender's `handshake`, and then from the \
                 server, after the request; a request is one packet",
    params: super::PageConfig::params,
};

const DASH: MethodDoc = MethodDoc {
    name: "dash",
    kind: "traffic",
    title: "Adaptive video over HTTP: chunks whose bitrate the player selects",
    text: "The player requests one chunk after another over one TCP connection while its buffer \
           has room, and selects the bitrate of each from the ladder. Playback begins once the \
           buffer holds `startup`, and stalls where it runs empty. The quality of experience is \
           the sum of the bitrates in Mbit/s, less 4.3 for each second of stall, less the changes \
           of the bitrate. At the flow's `stop` the user leaves.",
    sources: "Mao et al., SIGCOMM 2017 (Pensieve): ladder, chunks, buffer, QoE_lin; Yin et al., \
              SIGCOMM 2015",
    deviations: "sizes of chunks are constant unless `size_sd` says otherwise; a request is one \
                 packet; the full buffer waits for room, not for steps of 500 ms",
    params: super::DashConfig::params,
};

/// Every kind of traffic that has its own configuration, in the order of scenario files.
pub const DOCS: &[&MethodDoc] = &[&PING, &CBR, &ON_OFF, &VOIP, &VIDEO, &VIDEO_CALL, &PAGE, &DASH];
