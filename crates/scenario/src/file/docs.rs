//! Documentation of the parts that only scenario files have: channels from files, TCP and UDP
//! flows, the uplink.

use super::channels::{CQI_TRACE, MCS_TRACE, TRACE};
use super::{TcpFile, UdpFile, UplinkFile, UplinkStackFile};
use justfull_base::doc::MethodDoc;
use justfull_run::{A3Config, HandoverConfig, XnConfig};

/// Every page.
pub const DOCS: &[&MethodDoc] =
    &[&TRACE, &CQI_TRACE, &MCS_TRACE, &TCP, &UDP, &UPLINK, &UPLINK_STACK, &HANDOVER, &XN, &A3];

const TCP: MethodDoc = MethodDoc {
    name: "tcp",
    kind: "traffic",
    title: "A TCP transfer, down or up",
    text: "One connection without handshake. Up, its segments take the uplink and its \
           acknowledgements the chain.",
    sources: "RFC 9293; the ends have pages of their own",
    deviations: "no handshake and no close",
    params: TcpFile::params,
};

const UDP: MethodDoc = MethodDoc {
    name: "udp",
    kind: "traffic",
    title: "Datagrams of one size at intervals",
    text: "Datagrams at constant, normally or exponentially distributed intervals; a normal draw \
           below 0 counts as 0. With exponential intervals they are a Poisson process from the \
           flow's start on.",
    sources: "T20 section IV (normal intervals); Kleinrock 1975 section 2.4 (Poisson process)",
    deviations: "none",
    params: UdpFile::params,
};

const UPLINK_STACK: MethodDoc = MethodDoc {
    name: "uplink.stack",
    kind: "uplink",
    title: "The uplink as a stack: the UEs' queues and the MAC of the cell's uplink",
    text: "SDAP, RLC and PDCP have the settings of the cell's, at the UE. What a limiter keeps in \
           SDAP is not in the UE's buffer status reports.",
    sources: "TS 38.321 clause 5.4; TS 37.324; TS 38.322; TS 38.323",
    deviations: "see mac.kind uplink",
    params: UplinkStackFile::params,
};

const UPLINK: MethodDoc = MethodDoc {
    name: "uplink",
    kind: "uplink",
    title: "The UEs' way back: a queue for each UE or a stack, and a wire of fixed delay",
    text: "With `kind = \"queue\"` acknowledgements, replies, requests and uploads of a UE share \
           one queue, in order. Access is free (default), at a constant rate, or by grants; \
           packets beyond the queue's limit are dropped. With `kind = \"stack\"` each UE has SDAP, \
           PDCP and RLC with their methods above `uplink.stack.mac`, and UEs compete for the \
           cell's uplink; a packet has the QFI of its flow's downlink.",
    sources: "TS 38.321 clause 5.4; TS 23.501 clause 5.7.5.3",
    deviations: "queue: no HARQ, one logical channel, UEs do not compete",
    params: UplinkFile::params,
};

const HANDOVER: MethodDoc = MethodDoc {
    name: "handover",
    kind: "mobility",
    title: "Handover between cells over Xn",
    text: "The source decides, prepares the target, and serves the UE until it leaves. From then \
           on it forwards what waits, in acknowledged mode what is not acknowledged, and what \
           still comes from the UPF. The target keeps it until the UE is there, and keeps the \
           packets of the new path until the end marker has come. RLC is re-established; in \
           acknowledged mode PDCP's numbers go on, in others they start anew. The UE's uplink \
           waits, and asks for access anew.",
    sources: "TS 38.300 section 9.2.3.2; TS 38.323 sections 5.1.2 and 5.4; TS 38.322 section \
              5.1.2; TS 38.413 section 8.4.4",
    deviations: "a failed handover ends in the target, which was prepared; after a failure of \
                 the radio link the UE selects the best other cell, if that is better than its \
                 own; before a conditional handover the source keeps its data instead of sending \
                 it in vain; the PDCP status report takes no time and no capacity; uplink data has \
                 no PDCP; the signalling takes no capacity; of UMTS there is none",
    params: HandoverConfig::params,
};

const XN: MethodDoc = MethodDoc {
    name: "handover.xn",
    kind: "mobility",
    title: "The path from the source gNB to the target",
    text: "A wire for each ordered pair of cells, which carries the forwarded data of all UEs in \
           order, each packet with 44 bytes of tunnel.",
    sources: "TS 38.300 section 9.2.3.2; TS 29.281",
    deviations: "no loss, no other traffic",
    params: XnConfig::params,
};

const A3: MethodDoc = MethodDoc {
    name: "a3",
    kind: "mobility",
    title: "Event A3: a neighbour becomes better than the serving cell",
    text: "The UE measures the signals of all cells at its place, without filter. Where the best \
           neighbour is better than its cell by offset plus hysteresis at each measurement of the \
           time to trigger, the source decides on a handover.",
    sources: "TS 38.331 section 5.5.4.4",
    deviations: "the SINR without interference stands for RSRP; no filter of layer 3",
    params: A3Config::params,
};
