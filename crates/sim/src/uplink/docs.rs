//! What the uplink is and which settings it has, for users.

use justfull_base::doc::{MethodDoc, ParamDoc};

const UPLINK: MethodDoc = MethodDoc {
    name: "uplink",
    kind: "uplink",
    title: "The UEs' way back: a queue for each UE, access, and a wire of fixed delay",
    text: "Acknowledgements, replies, requests and uploads of a UE share one queue, in order. Access is free (default), at a constant \
           rate, or by grants; what finds no room in the queue is dropped.",
    sources: "TS 38.321 clause 5.4",
    deviations: "no HARQ, one logical channel, UEs do not compete",
    params: &[
        ParamDoc::new(
            "rate",
            "rate",
            "any; 0bit/s with grants",
            "0bit/s",
            "Rate of each UE; 0bit/s for infinitely fast.",
        ),
        ParamDoc::new("delay", "time", "any", "10ms", "One-way delay from UE to server."),
        ParamDoc::new("limit", "bytes", "at least the MTU", "4MB", "What a UE's queue holds at most."),
        ParamDoc::new("grants", "table", "see grants", "none", "A UE sends only what it is granted."),
    ],
};

const GRANTS: MethodDoc = MethodDoc {
    name: "grants",
    kind: "uplink",
    title: "Access by scheduling requests, buffer status reports and grants",
    text: "New data in an empty buffer triggers a scheduling request at the UE's next occasion; `grant_delay` later the PUSCH carries \
           `grant` bytes and a buffer status report, after which grants follow each `period` until the buffer is empty. With \
           `configured` there is a PUSCH each period without being asked for. A lone packet so waits from `grant_delay` to \
           `grant_delay + sr_period`, uniformly.",
    sources: "TS 38.321 clauses 5.4.4, 5.4.5, 5.8.2; TS 38.214 clause 6.1.2.1; the defaults are LTE as A21 and R22 met it",
    deviations: "the grant delay stands for all processing; no power headroom",
    params: &[
        ParamDoc::new(
            "sr_period",
            "time",
            "1us to 1h",
            "10ms",
            "Time between a UE's occasions to send a scheduling request.",
        ),
        ParamDoc::new(
            "sr_offset",
            "time",
            "below sr_period",
            "none",
            "The first occasion; left out, random for each UE.",
        ),
        ParamDoc::new(
            "grant_delay",
            "time",
            "at most 1h",
            "8ms",
            "From a scheduling request to the PUSCH that it is granted.",
        ),
        ParamDoc::new(
            "bsr_delay",
            "time",
            "1us to 1h",
            "8ms",
            "From that PUSCH, with its buffer status report, to the next.",
        ),
        ParamDoc::new("period", "time", "1us to 1h", "1ms", "Time between PUSCHs while the UE has data."),
        ParamDoc::new("grant", "bytes", "1B to 16MiB", "1250B", "Bytes that a PUSCH carries."),
        ParamDoc::new(
            "configured",
            "bool",
            "true or false",
            "false",
            "There is a PUSCH each period without scheduling requests.",
        ),
    ],
};

/// The uplink and its grants.
pub const DOCS: &[&MethodDoc] = &[&UPLINK, &GRANTS];
