//! The uplink of a world as a stack.

use super::{channel, shared};
use crate::error::ScenarioError;
use crate::file::{ScenarioFile, UplinkStackFile};
use crate::locator::Locator;
use crate::method::MethodPlace;
use crate::trace_channel::Run;
use justfull_ran::channel::CapacityUnit;
use justfull_ran::{MacConfig, StackConfig, UeConfig, UpfConfig, UplinkMacConfig};
use justfull_run::{UplinkKind, UplinkStack, WorldConfig};
use justfull_trace::TracePaths;

/// Adds the uplink's stack to `world`, if `file` has one.
pub(super) fn add(
    world: &mut WorldConfig,
    file: &ScenarioFile,
    run: Run,
    traces: &TracePaths,
    locator: &Locator,
) -> Result<(), ScenarioError> {
    if file.uplink.kind == UplinkKind::Stack {
        world.uplink.stack = Some(Box::new(stack(file, &world.stack, run, traces, locator)?));
    } else if file.uplink.method_at != MethodPlace::Cell {
        let (place, allowed) = (file.uplink.method_at.name(), "cell, or with uplink.kind stack");
        return Err(locator.plain("uplink.method_at", place, allowed));
    }
    Ok(())
}

/// The uplink of `file` as a stack below the UEs of `cell`.
fn stack(
    file: &ScenarioFile,
    cell: &StackConfig,
    run: Run,
    traces: &TracePaths,
    locator: &Locator,
) -> Result<UplinkStack, ScenarioError> {
    let stack = file.uplink.stack.clone().unwrap_or_default();
    let UplinkStackFile { channel: own, sdap, rlc, pdcp, mac, ack_filter } = &stack;
    let (mut mac, plain) = (mac.clone(), UplinkMacConfig::default());
    if let MacConfig::Rb(of_cell) = &cell.mac
        && (&mac.carrier, mac.slot) == (&plain.carrier, plain.slot)
    {
        (mac.carrier, mac.slot) = (of_cell.carrier.clone(), of_cell.slot);
    }
    let own = own.as_ref().map(|own| {
        let run = Run { slot: mac.slot.period, unit: CapacityUnit::Bytes, ..run };
        channel(own, run, traces, "uplink.stack.channel", locator)
    });
    let own = own.transpose()?;
    let ues = match &own {
        None => cell.ues.clone(),
        Some(_) => {
            shared(cell.ues.iter().map(|ue| UeConfig { channel: None, ..(**ue).clone() }).collect())
        }
    };
    let chain = StackConfig {
        upf: UpfConfig::default(),
        sdap: sdap.clone(),
        rlc: rlc.clone(),
        pdcp: pdcp.clone(),
        mac: MacConfig::Uplink(mac),
        channel: own.unwrap_or_else(|| cell.channel.clone()),
        ues,
        scells: Vec::new(),
        ..cell.clone()
    };
    Ok(UplinkStack { chain, ack_filter: *ack_filter })
}
