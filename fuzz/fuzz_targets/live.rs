//! No datagrams, in any order and at any instants, make the live driver panic or lose count: every
//! packet and every buffer is accounted for at the end (`Live::finish` asserts it), and packets are
//! conserved in the chain.
//!
//! The first two bytes choose the scenario; the second of them also chooses the numbers of flows
//! and buffers. Then come steps, each with a byte for a datagram's side and the step of the clock,
//! and two bytes for the datagram's length. An IPv4 header whose checksum is 0 gets the right one,
//! and addresses of 0 become those of the sides.

#![no_main]

use justfull_base::{BitRate, Bytes, Dscp, Duration, Instant, Qfi, Ratio};
use justfull_live::lateness::Lateness;
use justfull_live::{Ends, Live, LiveOptions, UePort};
use justfull_net::Port;
use justfull_net::clock::Priority;
use justfull_queue::aqm::{AqmConfig, codel};
use justfull_queue::{Limit, QueueConfig};
use justfull_ran::channel::{ChannelConfig, ConstantConfig, McsConfig};
use justfull_ran::{
    BytesConfig, FiveTuple, HarqConfig, MacConfig, PacketDetectionRule, PdcpConfig, PollConfig,
    QosFlowConfig, RbConfig, RlcConfig, SdapConfig, StackConfig, TieOrder, UeConfig, UpfConfig,
};
use justfull_run::{FlowConfig, Interval, Traffic, UplinkConfig, WorldConfig};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;
use std::sync::Arc;

const SERVER: [u8; 4] = [10, 46, 0, 1];
const UES: [[u8; 4]; 2] = [[10, 45, 0, 1], [10, 45, 0, 2]];

/// An interface in memory; it accepts a datagram or refuses it.
#[derive(Clone)]
struct Memory {
    waiting: Rc<RefCell<VecDeque<Vec<u8>>>>,
    takes: bool,
}

impl Memory {
    fn new(takes: bool) -> Self {
        Self { waiting: Rc::default(), takes }
    }
}

impl Port for Memory {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(datagram) = self.waiting.borrow_mut().pop_front() else { return Ok(None) };
        let length = datagram.len().min(buffer.len());
        buffer[..length].copy_from_slice(&datagram[..length]);
        Ok(Some(length))
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<bool> {
        assert!(!packet.is_empty());
        Ok(self.takes)
    }
}

/// Fills in missing addresses of an IPv4 header, and a missing checksum (RFC 1071).
fn complete(datagram: &mut [u8], from: [u8; 4], to: [u8; 4]) {
    let header = usize::from(datagram.first().map_or(0, |b| b & 15)) * 4;
    if header < 20 || header > datagram.len() || datagram[0] >> 4 != 4 || datagram[10..12] != [0, 0]
    {
        return;
    }
    for (at, address) in [(12, from), (16, to)] {
        if datagram[at..at + 4] == [0; 4] {
            datagram[at..at + 4].copy_from_slice(&address);
        }
    }
    let words = datagram[..header].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let mut sum = words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    datagram[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
}

fn qfi(number: u8) -> Qfi {
    Qfi::new(number).expect("below 64")
}

fn ue() -> UeConfig {
    let qos_flow =
        |number| QosFlowConfig { qfi: qfi(number), drb: 0, priority: 0, weight: 1, queue: None };
    let of =
        |dscp| PacketDetectionRule { dscp: Dscp::new(dscp), ..PacketDetectionRule::any(qfi(1)) };
    let udp = justfull_base::packet::Protocol::Udp;
    UeConfig {
        drbs: 1,
        qos_flows: vec![qos_flow(1), qos_flow(9)],
        // Packets of neither kind match no rule.
        rules: vec![
            of(46),
            PacketDetectionRule { protocol: Some(udp), ..PacketDetectionRule::any(qfi(9)) },
        ],
        channel: None,
        slice: 0,
        drx: None,
    }
}

fn config(choice: u8) -> WorldConfig {
    let slot = Duration::from_millis(1);
    let mut queue = QueueConfig::tail_drop(Limit::Packets(8));
    if choice & 1 != 0 {
        queue.aqm = AqmConfig::CoDel(codel::CoDelConfig::default());
    }
    let poll = PollConfig::every(slot);
    let mut mac = MacConfig::Bytes(BytesConfig { slot: poll, ..BytesConfig::default() });
    let mut channel = ChannelConfig::Constant(ConstantConfig { per_slot: 1_500 });
    if choice & 2 != 0 {
        channel = ChannelConfig::Mcs(McsConfig { mcs: vec![10], ..McsConfig::default() });
        let harq = HarqConfig { bler: Ratio(0.3), transmissions: 2, ..HarqConfig::default() };
        mac = MacConfig::Rb(RbConfig { slot: poll, harq, ..RbConfig::default() });
    }
    let extra = if choice & 4 != 0 { Duration::from_millis(3) } else { Duration::ZERO };
    WorldConfig {
        scenario: "fuzz".into(),
        method: "fuzz".into(),
        stack: StackConfig {
            upf: UpfConfig::default(),
            sdap: SdapConfig::default(),
            rlc: RlcConfig { queue, ..RlcConfig::default() },
            mac,
            channel,
            ues: vec![Arc::new(ue()), Arc::new(ue())],
            pdcp: PdcpConfig::default(),
            slices: Vec::new(),
            scells: Vec::new(),
            tie_order: if choice & 8 != 0 { TieOrder::BottomUp } else { TieOrder::TopDown },
            mtu: 1500,
            seed: 1,
            assert_bound: true,
        },
        flows: vec![FlowConfig {
            name: "named".into(),
            ue: 0,
            tuple: FiveTuple { source_port: 1, destination_port: 2, ..FiveTuple::default() },
            dscp: Dscp::default(),
            traffic: Traffic::Udp { payload: Bytes(100), interval: Interval::Constant(slot) }
                .into(),
            low_latency: true,
            start: Duration::ZERO,
            stop: None,
            extra_delay: extra,
            proxied: None,
            delay_budget: None,
        }],
        core_rate: BitRate(if choice & 16 != 0 { 10_000_000 } else { 0 }),
        core_delay: Duration::from_millis(1),
        core_loss: Default::default(),
        air_delay: Duration::from_millis(1),
        uplink: UplinkConfig {
            rate: BitRate(1_000_000),
            delay: Duration::from_millis(1),
            limit: UplinkConfig::LIMIT,
            grants: None,
            stack: None,
            cell_aqm: None,
        },
        duration: Duration::from_secs(1_000),
        warmup: Duration::ZERO,
        series_bins: 10,
        cells: None,
        entity_backlog: choice & 32 != 0,
        proxy: Default::default(),
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [choice, sizes, rest @ ..] = bytes else { return };
    let options = LiveOptions {
        buffers: 1 + u32::from(sizes >> 4),
        flows: 1 + u32::from(sizes & 15),
        ..LiveOptions::default()
    };
    let (server, ues) = (Memory::new(true), [Memory::new(choice & 64 == 0), Memory::new(true)]);
    let port = |(ue, port): (usize, &Memory)| UePort {
        port: port.clone(),
        addresses: vec![IpAddr::from(Ipv4Addr::from(UES[ue]))],
    };
    let ends = Ends { ues: ues.iter().enumerate().map(port).collect(), server: server.clone() };
    let mut live = Live::new(&config(*choice), &options, ends).expect("sound settings");
    if choice & 128 != 0 {
        live = live.behind_one();
    }
    let (mut rest, mut now, mut sent) = (rest, Instant::ZERO, [0; 2]);
    while let [step, high, low, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(2_000).min(tail.len());
        let (datagram, after) = tail.split_at(length);
        rest = after;
        let mut datagram = datagram.to_vec();
        let ue = usize::from(step & 1);
        if step & 2 == 0 {
            complete(&mut datagram, SERVER, UES[ue]);
            server.waiting.borrow_mut().push_back(datagram);
            sent[0] += 1;
        } else {
            complete(&mut datagram, UES[ue], SERVER);
            ues[ue].waiting.borrow_mut().push_back(datagram);
            sent[1] += 1;
        }
        // In one of four cases the next datagram comes in the same reading.
        if step & 12 != 0 {
            now += Duration::from_micros(u64::from(step >> 2) * 25);
            live.turn(now).expect("memory does not fail");
        }
    }
    live.turn(now + Duration::from_millis(10)).expect("memory does not fail");
    let (result, report) =
        live.finish(Priority::RealTime, &Lateness::new(Duration::from_millis(1)));
    assert_eq!([report.down.received, report.up.received], sent);
    let opened: u64 = result.flows.iter().map(|flow| u64::from(flow.flows)).sum();
    assert_eq!(opened, report.flows);
    let fates: u64 = result.flows.iter().map(|flow| flow.entered_packets).sum();
    assert_eq!(fates, result.conservation.entered, "each packet is counted under a name");
});
