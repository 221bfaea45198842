//! Transparent mode over transport blocks that hold no whole packet: a note before the run.
//!
//! RLC in transparent mode (TS 38.322 section 5.2.1) cuts no SDU, so a packet that is larger than
//! every block of its UE waits for ever, and all packets of its bearer behind it.

use justfull_base::rng::stream_key;
use justfull_base::{Duration, Instant};
use justfull_ran::carrier::{Carrier, SlotShape};
use justfull_ran::channel::{Channel, ChannelConfig, ChannelContext};
use justfull_ran::{RlcModeConfig, StackConfig};
use justfull_run::traffic::{ICMP_HEADER_BYTES, UDP_HEADER_BYTES, VOIP_PAYLOAD};
use justfull_run::{FlowConfig, Traffic, WorldConfig};
use justfull_tcp::SenderConfig;
use justfull_tcp::media::RTP_HEADER_BYTES;

/// Bytes of the MAC's subheader of a PDU (TS 38.321 section 6.1.2).
const SUBHEADER: u32 = 3;
/// Modulation and coding schemes of a table.
const MCS_ROWS: u8 = 29;
/// Most slots of a channel that are searched for their best MCS; a longer run may have any.
const MOST_SLOTS: u64 = 100_000;
/// Most flows that a note names.
const NAMED: usize = 3;

/// Notes on flows of `world` that stop, one for each direction.
pub(super) fn notes(world: &WorldConfig) -> Vec<String> {
    // A UE that moves or has a second cell sends by other carriers too.
    if world.cells.is_some() {
        return Vec::new();
    }
    let up = world.uplink.stack.as_ref().map(|stack| (&stack.chain, "uplink.stack."));
    [Some((&world.stack, "")), up]
        .into_iter()
        .flatten()
        .filter_map(|(stack, at)| note(stack, at, world))
        .collect()
}

/// The note on `stack`, whose settings begin with `at`.
fn note(stack: &StackConfig, at: &str, world: &WorldConfig) -> Option<String> {
    if !matches!(stack.rlc.mode, RlcModeConfig::Tm(_)) || !stack.scells.is_empty() {
        return None;
    }
    let carrier = Carrier::new(stack.mac.carrier()?, stack.mac.slot().period).ok()?;
    let of_cell = largest_block(stack, &carrier, &stack.channel, world.duration);
    let headers = stack.pdcp.header_bytes() + SUBHEADER;
    let mut stopped: Vec<(&str, u32, u32)> = Vec::new();
    for flow in &world.flows {
        if stopped.iter().any(|(name, ..)| *name == &*flow.name) {
            continue;
        }
        let packet = if at.is_empty() { largest_down(flow) } else { largest_up(flow) };
        let own = stack.ues[flow.ue as usize].channel.as_ref();
        let block = own.map_or(of_cell, |own| largest_block(stack, &carrier, own, world.duration));
        let room = block.saturating_sub(headers);
        if packet > room {
            stopped.push((&flow.name, packet, room));
        }
    }
    let room = stopped.iter().map(|(.., room)| *room).max()?;
    let mut names: Vec<String> = stopped
        .iter()
        .take(NAMED)
        .map(|(name, packet, _)| format!("flow.{name}, whose packets have up to {packet} B,"))
        .collect();
    if stopped.len() > NAMED {
        names.push(format!("and {} other flows", stopped.len() - NAMED));
    }
    Some(format!(
        "{at}rlc.mode is `tm`, which cuts no packet, and the largest transport block holds one of \
         {room} B: {} will stop at the first larger packet; `um` and `am` cut packets, and tm \
         needs more {at}mac.carrier.n_prb, a higher MCS or smaller packets",
        names.join(" ")
    ))
}

/// Bytes of the largest block that a UE of `channel` can get.
fn largest_block(
    stack: &StackConfig,
    carrier: &Carrier,
    channel: &ChannelConfig,
    duration: Duration,
) -> u32 {
    let n_prb = stack.mac.carrier().map_or(0, |carrier| carrier.n_prb);
    let best = |mcs: u8| {
        let sizes = carrier.sizes(SlotShape { n_prb, special: false }, mcs);
        sizes.iter().copied().max().unwrap_or(0)
    };
    let slots = duration.as_nanos() / stack.mac.slot().period.as_nanos().max(1);
    let known = matches!(channel, ChannelConfig::Mcs(_) | ChannelConfig::CqiRows(_));
    if known && slots <= MOST_SLOTS {
        let seen = schemes(stack, channel, slots + 1);
        return (0..MCS_ROWS).filter(|mcs| seen[usize::from(*mcs)]).map(best).max().unwrap_or(0);
    }
    (0..MCS_ROWS).map(best).max().unwrap_or(0)
}

/// The MCSs of a channel that no chance changes, in its first `slots` slots.
fn schemes(stack: &StackConfig, channel: &ChannelConfig, slots: u64) -> [bool; 256] {
    let mut seen = [false; 256];
    let slot = stack.mac.slot().period;
    let context = ChannelContext {
        key: stream_key(stack.seed, "channel"),
        slot,
        unit: stack.unit(),
        bandwidth: stack.mac.bandwidth(),
    };
    let Ok(mut channel) = Channel::new(channel, &context) else { return [true; 256] };
    for index in 0..slots {
        let start = Instant::ZERO + Duration::from_nanos(slot.as_nanos() * index);
        if let Some(mcs) = channel.next_mcs(index, start) {
            seen[usize::from(mcs)] = true;
        }
    }
    seen
}

/// Bytes of the largest packet that `flow` sends down, as far as its settings say; 0 otherwise.
fn largest_down(flow: &FlowConfig) -> u32 {
    match &*flow.traffic {
        Traffic::Tcp { sender, size, .. } => {
            let size = size.map_or(u64::MAX, |size| size.0).min(sender.mss.into());
            size as u32 + sender.header
        }
        Traffic::Udp { payload, .. } => datagram(payload.0),
        Traffic::Cbr(cbr) => datagram(cbr.payload.0),
        Traffic::OnOff(on_off) => datagram(on_off.payload.0),
        Traffic::Ping(ping) => ping.payload.0 as u32 + ICMP_HEADER_BYTES,
        Traffic::Voip(_) => datagram(VOIP_PAYLOAD.0),
        Traffic::Video(video) => datagram(video.payload.0),
        Traffic::VideoCall(call) => datagram(call.payload.0) + RTP_HEADER_BYTES,
        Traffic::Page(page) => segment(&page.sender),
        Traffic::Dash(dash) => segment(&dash.sender),
        Traffic::Upload { .. } => 0,
    }
}

/// Bytes of the largest packet that the UE of `flow` sends, as far as its settings say; 0
/// otherwise.
fn largest_up(flow: &FlowConfig) -> u32 {
    match &*flow.traffic {
        Traffic::Upload { sender, size, .. } => {
            let size = size.map_or(u64::MAX, |size| size.0).min(sender.mss.into());
            size as u32 + sender.header
        }
        Traffic::Ping(ping) => ping.payload.0 as u32 + ICMP_HEADER_BYTES,
        _ => 0,
    }
}

fn datagram(payload: u64) -> u32 {
    payload as u32 + UDP_HEADER_BYTES
}

const fn segment(sender: &SenderConfig) -> u32 {
    sender.mss + sender.header
}
