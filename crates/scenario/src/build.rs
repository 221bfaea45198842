//! Builds a world from a checked file.

mod scells;
mod uplink;

use super::Job;
use super::cells;
use super::channel::channel;
use super::cqi_channel;
use super::error::ScenarioError;
use super::file::{ChannelFile, Direction, FlowFile, ScenarioFile, TcpFile, UdpFile, UeFile};
use super::locator::Locator;
use super::most::Most;
use super::trace_channel::{self, Run};
use justfull_base::packet::Protocol;
use justfull_base::{Duration, Qfi};
use justfull_phy::five_qi::{TABLE, five_qi};
use justfull_ran::{FiveTuple, PacketDetectionRule, StackConfig, UeConfig};
use justfull_run::{FlowConfig, Traffic, UplinkConfig, WorldConfig};
use justfull_trace::TracePaths;
use std::sync::Arc;

/// First port of the flows at the UE; each flow of a scenario has its own.
const FIRST_PORT: u32 = 10_000;

/// Number of ports; after the last comes the first.
const PORTS: u32 = 1 << 16;

/// Ports reserved for each entry, if it does not need more.
const PORTS_APART: u32 = 997;

pub(super) fn world(
    file: &ScenarioFile,
    name: &str,
    job: &Job,
    traces: &TracePaths,
    locator: &Locator,
    most: &Most,
) -> Result<WorldConfig, ScenarioError> {
    let mac = file.cell.first().filter(|_| file.cell.len() == 1).and_then(|cell| cell.mac.as_ref());
    let mac = mac.unwrap_or(&file.mac);
    let (slot, unit) = (mac.slot().period, mac.unit());
    let run = Run { seed: job.seed, slot, unit, length: file.duration };
    let mut ues = ues(file, run, traces, locator, most)?;
    let flows = flows(file, &mut ues, locator, most)?;
    let cells = cells::cells(file, run, traces, locator)?;
    let scells = scells::scells(file, run, traces, locator)?;
    let only = file.cell.first().filter(|_| cells.is_none());
    let own = only.and_then(|cell| cell.channel.as_ref());
    let (own, at) = own.map_or((&file.channel, "channel"), |own| (own, "cell[0].channel"));
    let mut world = WorldConfig {
        scenario: name.into(),
        method: job.method.clone(),
        stack: StackConfig {
            upf: file.upf.clone(),
            sdap: file.sdap.clone(),
            rlc: file.rlc.clone(),
            pdcp: file.pdcp.clone(),
            mac: only.and_then(|cell| cell.mac.clone()).unwrap_or_else(|| file.mac.clone()),
            channel: channel(own, run, traces, at, locator)?,
            ues: shared(ues),
            slices: file.slice.iter().map(|slice| slice.share).collect(),
            scells,
            tie_order: file.tie_order,
            mtu: file.mtu,
            seed: job.seed,
            assert_bound: false,
        },
        flows,
        core_rate: file.core.rate,
        core_delay: file.core.delay,
        core_loss: file.core.loss,
        air_delay: file.air.delay,
        uplink: UplinkConfig {
            rate: file.uplink.rate,
            delay: file.uplink.delay,
            limit: file.uplink.limit,
            grants: file.uplink.grants.clone(),
            stack: None,
            cell_aqm: file
                .uplink
                .cell_aqm
                .map(|aqm| aqm.later_by(file.rlc.report_delay + file.rlc.f1.delay)),
            zhuge: file.uplink.zhuge,
        },
        cells,
        proxy: file.proxy.clone(),
        duration: file.duration,
        warmup: file.warmup,
        series_bins: file.series_bins,
        entity_backlog: file.entity_backlog,
    };
    uplink::add(&mut world, file, run, traces, locator)?;
    Ok(world)
}

/// The UEs of `file`, one for each of an entry's `count`.
fn ues(
    file: &ScenarioFile,
    run: Run,
    traces: &TracePaths,
    locator: &Locator,
    most: &Most,
) -> Result<Vec<UeConfig>, ScenarioError> {
    let mut ues = Vec::new();
    for (i, ue) in file.ue.iter().enumerate() {
        let own = ue
            .channel
            .as_ref()
            .map(|c| channel(c, run, traces, &format!("ue[{i}].channel"), locator))
            .transpose()?;
        let config = UeConfig {
            drbs: ue.drbs,
            qos_flows: ue.qos_flow.clone(),
            rules: ue.rule.clone(),
            channel: own,
            slice: slice(file, i, ue, locator)?,
            drx: ue.drx.clone().map(Box::new),
        };
        if ue.count == 0 || ues.len() + ue.count as usize > most.ues {
            return Err(locator.plain(
                &format!("ue[{i}].count"),
                &ue.count.to_string(),
                &format!("1 to {}", most.allowed(most.ues, "UEs in all")),
            ));
        }
        ues.extend(std::iter::repeat_n(config, ue.count as usize));
    }
    if ues.is_empty() {
        return Err(locator.plain("ue", "an empty list", "at least one UE"));
    }
    Ok(ues)
}

/// Index of the slice named by entry `i` of the UEs.
fn slice(
    file: &ScenarioFile,
    i: usize,
    ue: &UeFile,
    locator: &Locator,
) -> Result<u16, ScenarioError> {
    let Some(name) = &ue.slice else { return Ok(0) };
    let names = || file.slice.iter().map(|slice| slice.name.as_str());
    names().position(|slice| slice == name).map(|at| at as u16).ok_or_else(|| {
        let known = names().collect::<Vec<_>>().join(", ");
        let allowed = if known.is_empty() { "none: there is no [[slice]]".into() } else { known };
        locator.plain(&format!("ue[{i}].slice"), name, &allowed)
    })
}

fn flows(
    file: &ScenarioFile,
    ues: &mut [UeConfig],
    locator: &Locator,
    most: &Most,
) -> Result<Vec<FlowConfig>, ScenarioError> {
    let mut flows = Vec::new();
    let ports = ports(file);
    for (i, flow) in file.flow.iter().enumerate() {
        let at = |field: &str| format!("flow[{i}].{field}");
        let first = flow.ue as usize;
        let span = if flow.ues == 0 { ues.len().saturating_sub(first) } else { flow.ues as usize };
        if span == 0 || first + span > ues.len() {
            let last = first + span.max(1) - 1;
            let found = if last == first {
                format!("UE {first}")
            } else {
                format!("UEs {first} to {last}")
            };
            let allowed = match ues.len() {
                0 => "none: there is no UE".into(),
                1 => "0: there is one UE".into(),
                n => format!("0 to {}, as there are UEs", n - 1),
            };
            return Err(locator.plain(&at("ue"), &found, &allowed));
        }
        if flow.count == 0 || flows.len() + span * flow.count as usize > most.flows {
            return Err(locator.plain(
                &at("count"),
                &flow.count.to_string(),
                &format!("1 to {}", most.allowed(most.flows, "flows in all")),
            ));
        }
        let port = ports.as_ref().map(|ports| ports[i]).ok_or_else(|| {
            let sum: u64 = file.flow.iter().map(|flow| u64::from(flow.count)).sum();
            locator.plain(
                &at("count"),
                &format!("{sum} with the other flows"),
                "at most 65536: each has a port",
            )
        })?;
        let (name, traffic) =
            (Arc::<str>::from(&*flow.name), Arc::new(traffic(flow, &at, locator)?));
        let delay_budget = delay_budget(flow, &at, locator)?;
        one_qfi_of_tunnel(file, flow, &at, locator)?;
        for (ue_index, ue) in ues.iter_mut().enumerate().skip(first).take(span) {
            for k in 0..flow.count {
                let own = || tuple(&traffic, ue_index, port + k);
                let tuple = if flow.tunnel { tunnel(ue_index) } else { own() };
                if let Some(qfi) = flow.qfi {
                    let rule = PacketDetectionRule {
                        protocol: Some(tuple.protocol),
                        destination_port: Some(tuple.destination_port),
                        ..PacketDetectionRule::any(qfi)
                    };
                    ue.rules.push(rule);
                }
                flows.push(FlowConfig {
                    name: Arc::clone(&name),
                    ue: ue_index as u32,
                    tuple,
                    dscp: flow.dscp,
                    traffic: Arc::clone(&traffic),
                    low_latency: flow.low_latency,
                    start: flow.start,
                    stop: flow.stop,
                    extra_delay: flow.extra_delay,
                    proxied: flow.proxied,
                    delay_budget,
                });
            }
        }
    }
    default_rules(ues);
    Ok(flows)
}

/// Packet delay budget of the flow's 5QI.
fn delay_budget(
    flow: &FlowFile,
    at: &dyn Fn(&str) -> String,
    locator: &Locator,
) -> Result<Option<Duration>, ScenarioError> {
    let Some(value) = flow.five_qi else { return Ok(None) };
    match five_qi(value) {
        Some(row) => Ok(Some(row.delay_budget)),
        None => {
            let known: Vec<String> = TABLE.iter().map(|row| row.value.to_string()).collect();
            let allowed = format!("one of the standardised {}", known.join(", "));
            Err(locator.plain(&at("five_qi"), &value.to_string(), &allowed))
        }
    }
}

/// Packets without a matching rule go to the UE's last QoS flow, like the default rule of a PDU
/// session (TS 23.501 section 5.7.1.1).
fn default_rules(ues: &mut [UeConfig]) {
    for ue in ues {
        if let Some(last) = ue.qos_flows.last() {
            ue.rules.push(PacketDetectionRule::any(last.qfi));
        }
    }
}

/// Shares one allocation between equal neighbours: a large cell has thousands of them.
fn shared(ues: Vec<UeConfig>) -> Vec<Arc<UeConfig>> {
    let mut all: Vec<Arc<UeConfig>> = Vec::with_capacity(ues.len());
    for ue in ues {
        let same = all.last().filter(|last| ***last == ue).cloned();
        all.push(same.unwrap_or_else(|| Arc::new(ue)));
    }
    all
}

fn traffic(
    flow: &FlowFile,
    at: &dyn Fn(&str) -> String,
    locator: &Locator,
) -> Result<Traffic, ScenarioError> {
    let tcp = |tcp: &TcpFile| {
        let (sender, receiver) = (Box::new(tcp.sender.clone()), Box::new(tcp.receiver.clone()));
        let &TcpFile { size, rate, protocol: transport, .. } = tcp;
        match tcp.direction {
            Direction::Down => Traffic::Tcp { sender, receiver, size, rate, transport },
            Direction::Up => Traffic::Upload { sender, receiver, size, rate, transport },
        }
    };
    let udp = |udp: &UdpFile| Traffic::Udp { payload: udp.payload, interval: udp.interval };
    let kinds = [
        ("tcp", flow.tcp.as_ref().map(tcp)),
        ("udp", flow.udp.as_ref().map(udp)),
        ("ping", flow.ping.clone().map(Traffic::Ping)),
        ("cbr", flow.cbr.clone().map(Traffic::Cbr)),
        ("on_off", flow.on_off.clone().map(Traffic::OnOff)),
        ("voip", flow.voip.clone().map(Traffic::Voip)),
        ("video", flow.video.clone().map(Traffic::Video)),
        ("video_call", flow.video_call.clone().map(|call| Traffic::VideoCall(Box::new(call)))),
        ("page", flow.page.clone().map(|page| Traffic::Page(Box::new(page)))),
        ("dash", flow.dash.clone().map(|dash| Traffic::Dash(Box::new(dash)))),
    ];
    let all = kinds.each_ref().map(|(name, _)| format!("`{name}`")).join(", ");
    let mut said = kinds.into_iter().filter_map(|(name, traffic)| Some((name, traffic?)));
    match (said.next(), said.next()) {
        (Some((_, traffic)), None) => Ok(traffic),
        (None, _) => {
            Err(locator.plain(&at("name"), &flow.name, &format!("a flow with one table of {all}")))
        }
        (Some((first, _)), Some((second, _))) => {
            Err(locator.plain(&at(second), &format!("`{first}` and `{second}`"), "one of them"))
        }
    }
}

/// First port of each entry, counted from [`FIRST_PORT`], such that no two entries share a port;
/// none if there are not enough. Entries have space between them, so that a flow added to one
/// changes no port, and so no hash, of the later entries.
fn ports(file: &ScenarioFile) -> Option<Vec<u32>> {
    let with = |apart: u32| -> Option<Vec<u32>> {
        let mut free = 0_u32;
        let begin = |(i, flow): (u32, &FlowFile)| {
            let first = free.max(i.checked_mul(apart)?);
            free = first.checked_add(flow.count).filter(|&end| end <= PORTS)?;
            Some(first)
        };
        (0..).zip(&file.flow).map(begin).collect()
    };
    with(PORTS_APART).or_else(|| with(0))
}

/// Checks that `flow`, if it is in a tunnel, has the QFI of the first flow in a tunnel. Packet
/// rules cannot separate the flows of a tunnel.
fn one_qfi_of_tunnel(
    file: &ScenarioFile,
    flow: &FlowFile,
    at: &dyn Fn(&str) -> String,
    locator: &Locator,
) -> Result<(), ScenarioError> {
    let first = file.flow.iter().find(|other| other.tunnel).map_or(flow.qfi, |first| first.qfi);
    if !flow.tunnel || flow.qfi == first {
        return Ok(());
    }
    let shown = |qfi: Option<Qfi>| qfi.map_or_else(|| "none".to_owned(), |qfi| qfi.to_string());
    let allowed = format!("{}, as the first flow in a tunnel", shown(first));
    Err(locator.plain(&at("qfi"), &shown(flow.qfi), &allowed))
}

/// `v4` as an IPv4-mapped IPv6 address.
fn mapped(v4: [u8; 4]) -> [u8; 16] {
    let mut address = [0; 16];
    address[10..12].fill(0xff);
    address[12..].copy_from_slice(&v4);
    address
}

/// The address of UE number `ue`, of the range for private use.
fn address(ue: usize) -> [u8; 16] {
    let [_, b, c, d] = (ue as u32 + 1).to_be_bytes();
    mapped([10, b, c, d])
}

/// The outer header of a tunnel without ports: ESP (RFC 4303).
fn tunnel(ue: usize) -> FiveTuple {
    FiveTuple {
        source: mapped([192, 0, 2, 1]),
        destination: address(ue),
        source_port: 0,
        destination_port: 0,
        protocol: Protocol::Other,
    }
}

/// Addresses of the documentation range (RFC 5737) as IPv4-mapped IPv6 addresses.
fn tuple(traffic: &Traffic, ue: usize, flow: u32) -> FiveTuple {
    let protocol = traffic.protocol();
    FiveTuple {
        source: mapped([192, 0, 2, 1]),
        destination: address(ue),
        source_port: match protocol {
            Protocol::Tcp => 5201,
            Protocol::Udp => 2112,
            Protocol::Icmp | Protocol::Other => 0,
        },
        // ICMP has no ports. This field holds the identifier of the echo requests, by which rules
        // distinguish pings.
        destination_port: ((FIRST_PORT + flow) % PORTS) as u16,
        protocol,
    }
}

/// The repairs made in the traces of `file`.
pub(super) fn trace_warnings(
    file: &ScenarioFile,
    traces: &TracePaths,
    locator: &Locator,
) -> Result<Vec<String>, ScenarioError> {
    let own = |(i, ue): (usize, &UeFile)| Some((format!("ue[{i}].channel"), ue.channel.clone()?));
    let all = std::iter::once(("channel".to_string(), file.channel.clone()));
    let mut warnings = Vec::new();
    let scells = file.scell.iter().enumerate();
    let scells = scells.map(|(i, scell)| (format!("scell[{i}].channel"), scell.channel.clone()));
    let own = file.ue.iter().enumerate().filter_map(own);
    for (field, channel) in all.chain(own).chain(scells) {
        let field = format!("{field}.file");
        match channel {
            ChannelFile::CqiTrace(t) => {
                warnings.extend(cqi_channel::notes(&t, traces, &field, locator)?);
            }
            ChannelFile::Trace(t) => {
                warnings.extend(trace_channel::notes(&t, file.mac.unit(), traces, &field, locator)?)
            }
            _ => {}
        }
    }
    Ok(warnings)
}
