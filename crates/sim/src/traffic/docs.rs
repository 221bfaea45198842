//! What each kind of traffic is and which settings it has, for users.

use justfull_base::doc::{MethodDoc, ParamDoc};

/// Where a setting has no default.
const REQUIRED: &str = "required";

const fn payload(default: &'static str) -> ParamDoc {
    ParamDoc::new(
        "payload",
        "bytes",
        "1B to the MTU less 28B of headers",
        default,
        "Payload of each datagram.",
    )
}

const fn interval(text: &'static str) -> ParamDoc {
    ParamDoc::new("interval", "time, or { mean, sd }", "a mean of at least 1us", REQUIRED, text)
}

const fn rate(text: &'static str) -> ParamDoc {
    ParamDoc::new("rate", "rate", "above 0bit/s, a datagram per us at most", REQUIRED, text)
}

const SPAN: &str = "time, or { exponential = mean }";
const SPAN_BOUNDS: &str = "a mean of at least 1us";

const TCP: MethodDoc = MethodDoc {
    name: "tcp",
    kind: "traffic",
    title: "A TCP transfer, down or up",
    text: "One connection without handshake. Up, its segments take the uplink and its acknowledgements the chain.",
    sources: "RFC 9293; the ends have pages of their own",
    deviations: "no handshake and no close",
    params: &[
        ParamDoc::new("direction", "down or up", "one of these", "down", "Which way its payload goes."),
        ParamDoc::new("size", "bytes", "at least 1B", "none", "Bytes to transfer; left out, it never ends."),
        ParamDoc::new("sender", "table", "see the page of tcp sender", "its own", "The end that sends."),
        ParamDoc::new("receiver", "table", "see the page of tcp receiver", "its own", "The other end."),
    ],
};

const UDP: MethodDoc = MethodDoc {
    name: "udp",
    kind: "traffic",
    title: "Datagrams of one size at intervals",
    text: "Datagrams at constant or normally distributed intervals; a draw below 0 counts as 0.",
    sources: "T20 section IV (normal intervals)",
    deviations: "none",
    params: &[payload(REQUIRED), interval("Time between datagrams.")],
};

const PING: MethodDoc = MethodDoc {
    name: "ping",
    kind: "traffic",
    title: "Echo requests that the UE answers at once",
    text: "Requests go down the chain, replies of the same size come back over the uplink. They are sent whether or not earlier ones \
           were answered.",
    sources: "RFC 792; E19 section V, A21 section V-F (irtt)",
    deviations: "none",
    params: &[
        ParamDoc::new(
            "payload",
            "bytes",
            "at most the MTU less 28B of headers",
            REQUIRED,
            "Data bytes of each request and reply.",
        ),
        interval("Time between requests."),
    ],
};

const CBR: MethodDoc = MethodDoc {
    name: "cbr",
    kind: "traffic",
    title: "Datagrams at a constant rate",
    text: "The time between datagrams follows from rate and size; headers of 28 B count.",
    sources: "R22 section 5 (8 Mbit/s and 150 kbit/s beside TCP)",
    deviations: "none",
    params: &[rate("Rate on the IP layer."), payload("1400B")],
};

const ON_OFF: MethodDoc = MethodDoc {
    name: "on_off",
    kind: "traffic",
    title: "Datagrams at a constant rate by times",
    text: "As cbr while on, nothing while off; a source starts in the stationary state of its law, so that several are not in step.",
    sources: "Markov-modulated source, as talk spurts are usually described",
    deviations: "none",
    params: &[
        rate("Rate while on, on the IP layer."),
        payload("1400B"),
        ParamDoc::new("on", SPAN, SPAN_BOUNDS, REQUIRED, "Time on."),
        ParamDoc::new("off", SPAN, SPAN_BOUNDS, REQUIRED, "Time off."),
    ],
};

const VOIP: MethodDoc = MethodDoc {
    name: "voip",
    kind: "traffic",
    title: "A G.711 call, judged by the E-model",
    text: "160 B of voice each 20 ms, 200 B on the IP layer. Packets that miss their playout, the fastest packet's way plus the \
           de-jitter buffer, count as lost; loss and mouth-to-ear delay give R and the mean opinion score.",
    sources: "ITU-T G.711, G.107, G.113 appendix I",
    deviations: "the ways beyond the server and beyond the UE are not in the delay",
    params: &[
        ParamDoc::new("jitter_buffer", "time", "any", "60ms", "Length of the de-jitter buffer."),
        ParamDoc::new(
            "concealment",
            "bool",
            "true or false",
            "true",
            "The decoder conceals losses (G.711 appendix I).",
        ),
        ParamDoc::new(
            "talk",
            SPAN,
            SPAN_BOUNDS,
            "none",
            "Time of a talk spurt; left out, the talker never pauses.",
        ),
        ParamDoc::new(
            "silence",
            SPAN,
            SPAN_BOUNDS,
            "none",
            "Time of a pause between spurts; goes with `talk`.",
        ),
    ],
};

const VIDEO: MethodDoc = MethodDoc {
    name: "video",
    kind: "traffic",
    title: "Frames of a rendered video, as cloud gaming sends them",
    text: "A burst of datagrams for each frame; sizes of a Gaussian law cut at half and one and a half of the mean, sent with a jitter \
           cut at twice its standard deviation. A frame is complete when its last datagram has reached the UE.",
    sources: "TR 38.838 section 5.1",
    deviations: "one buffer for both eyes",
    params: &[
        ParamDoc::new("fps", "frames per second", "1 to 1000", "60", "Frames per second."),
        ParamDoc::new(
            "rate",
            "rate",
            "2 B to 100 MB for each frame",
            "30Mbit/s",
            "Mean rate of the frames' contents, headers not counted.",
        ),
        ParamDoc::new(
            "size_sd",
            "ratio",
            "0 to 0.25",
            "0.105",
            "Standard deviation of a frame's size over its mean.",
        ),
        ParamDoc::new(
            "jitter_sd",
            "time",
            "at most a quarter of a frame",
            "2ms",
            "Standard deviation of the time at which a frame is sent.",
        ),
        payload("1400B"),
        ParamDoc::new("budget", "time", "any", "15ms", "Time in which a frame should be complete."),
    ],
};

const PAGE: MethodDoc = MethodDoc {
    name: "page",
    kind: "traffic",
    title: "Page loads: a main object, parsing, embedded objects over parallel connections",
    text: "Each connection has one request at a time and lives on over pages. A page is loaded when its last object is there.",
    sources: "HTTP model of 3GPP and NGMN (NGMN white paper on radio access performance evaluation, annex A)",
    deviations: "no handshakes; a request is one packet",
    params: &[
        ParamDoc::new(
            "main",
            "bytes, or { mean, sd, min, max }",
            "1B to 1GiB",
            "lognormal, mean 10.71kB",
            "Size of the main object.",
        ),
        ParamDoc::new(
            "embedded",
            "bytes, or { mean, sd, min, max }",
            "1B to 1GiB",
            "lognormal, mean 7.758kB",
            "Size of an embedded object.",
        ),
        ParamDoc::new(
            "objects",
            "number, or { pareto, least, most }",
            "at most 10000",
            "Pareto 1.1 from 2 to 55",
            "Number of embedded objects.",
        ),
        ParamDoc::new(
            "parsing",
            SPAN,
            SPAN_BOUNDS,
            "exponential, 130ms",
            "From the main object's arrival to the first request for an embedded one.",
        ),
        ParamDoc::new(
            "reading",
            SPAN,
            SPAN_BOUNDS,
            "exponential, 30s",
            "From a page's last object to the next page.",
        ),
        ParamDoc::new("request", "bytes", "40B to the MTU", "350B", "Size of a request on the IP layer."),
        ParamDoc::new("connections", "number", "1 to 32", "6", "Parallel connections."),
        ParamDoc::new("sender", "table", "see the page of tcp sender", "its own", "The server's ends."),
        ParamDoc::new("receiver", "table", "see the page of tcp receiver", "its own", "The UE's ends."),
    ],
};

/// Every kind of traffic, in the order of scenario files.
pub const DOCS: &[&MethodDoc] = &[&TCP, &UDP, &PING, &CBR, &ON_OFF, &VOIP, &VIDEO, &PAGE];
