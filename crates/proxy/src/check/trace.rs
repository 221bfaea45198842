//! What the kernel says about the packets of a trial: the rules and chains that they pass (traces
//! of nf_tables). Chains of the trial's own, between those of others, show how far a packet comes.

use super::segment::Segment;
use crate::nft::{self, Batch, Family, META_OIFNAME, NETDEV, Netfilter};
use crate::table::{Connection, LAST, OUTPUT, PREROUTING, TRIAL};
use std::io;

/// `NFNLGRP_NFTRACE`.
const GROUP: i32 = 9;
/// Kinds of a trace: the end of a base chain, a rule, the return to the calling chain.
const POLICY: u64 = 1;
const RULE: u64 = 3;
const INPUT: u32 = 1;
const POSTROUTING: u32 = 4;
/// `NFT_NETDEV_HOOK_EGRESS`.
const EGRESS: u32 = 1;
/// The chain that stops what would leave.
const LEAVE: &str = "leave";

/// A place between hooks and tables of iptables: before a table of this name, or after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) hook: Hook,
    pub(super) before: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    Prerouting,
    Input,
    Output,
    Postrouting,
}

/// The places in the order of packets, with hook and priority. The first chain of a hook is before
/// all others' chains. Legacy tables have the priorities of linux/netfilter_ipv4.h.
const PLACES: [(Place, u32, i32); 13] = [
    (place(Hook::Prerouting, "raw"), PREROUTING, -401),
    (place(Hook::Prerouting, "mangle"), PREROUTING, -151),
    (place(Hook::Prerouting, ""), PREROUTING, LAST),
    (place(Hook::Input, "mangle"), INPUT, -401),
    (place(Hook::Input, "filter"), INPUT, -1),
    (place(Hook::Input, "security"), INPUT, 49),
    (place(Hook::Output, "raw"), OUTPUT, -401),
    (place(Hook::Output, "mangle"), OUTPUT, -151),
    (place(Hook::Output, "filter"), OUTPUT, -1),
    (place(Hook::Output, "security"), OUTPUT, 49),
    (place(Hook::Output, ""), OUTPUT, LAST),
    (place(Hook::Postrouting, "mangle"), POSTROUTING, -151),
    (place(Hook::Postrouting, ""), POSTROUTING, LAST - 1),
];

const fn place(hook: Hook, before: &'static str) -> Place {
    Place { hook, before }
}

/// Adds the chains of the places, and the one that stops what would leave. `devices` are where a
/// server's packets leave if connections are tracked: the kernel then needs them to pass all hooks.
pub(super) fn watch(batch: &mut Batch, family: &Family, only: Connection, devices: &[String]) {
    let Connection { ue, server } = only;
    for (number, (_, hook, priority)) in PLACES.into_iter().enumerate() {
        let chain = number.to_string();
        batch.chain(&chain, Some((hook, priority)));
        if priority == -401 && hook != INPUT {
            for end in [ue, server] {
                batch.rule(&chain, |r| r.end(family, true, end).traced());
            }
        }
    }
    batch.chain(LEAVE, Some((POSTROUTING, LAST)));
    batch.rule(LEAVE, |r| r.interface(META_OIFNAME, "lo").verdict(nft::ACCEPT, ""));
    let mine = |r: nft::Expressions| r.end(family, true, server).end(family, false, ue);
    batch.rule(LEAVE, |r| mine(r).verdict(nft::DROP, ""));
    if devices.is_empty() {
        batch.rule(LEAVE, |r| r.end(family, true, ue).verdict(nft::DROP, ""));
        return;
    }
    batch.family(&NETDEV);
    batch.table();
    for (number, device) in devices.iter().enumerate() {
        let chain = format!("{LEAVE}-{number}");
        batch.device_chain(&chain, EGRESS, LAST, device);
        batch.rule(&chain, |r| r.end(family, false, server).verdict(nft::DROP, ""));
    }
}

/// An event about a packet.
#[derive(Clone, Debug)]
pub(super) struct Event {
    /// The packet's number.
    pub(super) id: u32,
    pub(super) family: u8,
    pub(super) table: String,
    pub(super) chain: String,
    /// The rule, if it is about one.
    pub(super) rule: Option<u64>,
    /// What becomes of the packet, if this ends a base chain or a rule has a verdict.
    pub(super) verdict: Option<u32>,
    /// The chain to which the rule leads.
    pub(super) target: String,
    pub(super) mark: u32,
    /// Indexes of the interfaces of arrival and departure, or 0.
    pub(super) interfaces: [u32; 2],
    /// The packet, in the first event of each base chain.
    pub(super) packet: Option<Segment>,
}

impl Event {
    fn read(family: u8, bytes: &[u8]) -> Self {
        let number = |kind| nft::number(bytes, kind);
        let kind = number(4).unwrap_or(0);
        let rule = number(3).filter(|_| kind == RULE);
        let verdict = match kind {
            POLICY => number(16),
            _ => nft::number(nft::attribute(bytes, 5), 1),
        };
        let index = |kind| number(kind).unwrap_or(0) as u32;
        Self {
            id: index(6),
            family,
            table: nft::text(bytes, 1),
            chain: nft::text(bytes, 2),
            rule,
            verdict: verdict.map(|verdict| verdict as u32),
            target: nft::text(nft::attribute(bytes, 5), 2),
            mark: index(14),
            interfaces: [index(10), index(12)],
            packet: Segment::read(nft::attribute(bytes, 8), nft::attribute(bytes, 9)),
        }
    }

    /// True if it is of the trial's own table.
    pub(super) fn own(&self) -> bool {
        self.table == TRIAL
    }

    /// True if the trial stopped this packet, which would have left the host.
    pub(super) fn left(&self) -> bool {
        self.own() && self.chain.starts_with(LEAVE) && self.verdict == Some(0)
    }

    /// The place that the packet has reached.
    pub(super) fn place(&self) -> Option<Place> {
        let number: usize = self.chain.parse().ok()?;
        self.own().then(|| PLACES.get(number).map(|(place, _, _)| *place))?
    }
}

/// The events of all packets of the trial, in order.
pub(super) struct Traces {
    socket: Netfilter,
    pub(super) events: Vec<Event>,
}

impl Traces {
    pub(super) fn open() -> io::Result<Self> {
        let socket = Netfilter::open()?;
        socket.listen(GROUP)?;
        Ok(Self { socket, events: Vec::new() })
    }

    /// Reads what has arrived.
    pub(super) fn read(&mut self) {
        let events = self.socket.events();
        self.events.extend(events.iter().map(|(family, bytes)| Event::read(*family, bytes)));
    }
}
