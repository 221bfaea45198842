//! The SCells of a world.

use super::channel;
use crate::error::ScenarioError;
use crate::file::ScenarioFile;
use crate::locator::Locator;
use crate::trace_channel::Run;
use justfull_ran::ScellConfig;
use justfull_ran::channel::CapacityUnit;
use justfull_trace::TracePaths;
use std::sync::Arc;

/// The SCells of `file`.
pub(super) fn scells(
    file: &ScenarioFile,
    run: Run,
    traces: &TracePaths,
    locator: &Locator,
) -> Result<Vec<ScellConfig>, ScenarioError> {
    if let Some(i) = file.ue.iter().position(|ue| !ue.scells && file.scell.is_empty()) {
        let allowed = "true: there is no [[scell]]";
        return Err(locator.plain(&format!("ue[{i}].scells"), "false", allowed));
    }
    let each = file.ue.iter().flat_map(|ue| std::iter::repeat_n(ue.scells, ue.count as usize));
    let all = file.ue.iter().all(|ue| ue.scells);
    let ues: Arc<[bool]> = if all { Arc::new([]) } else { each.collect() };
    let scells = file.scell.iter().enumerate().map(|(i, scell)| {
        let slot = scell.slot.unwrap_or(run.slot);
        let run = Run { slot, unit: CapacityUnit::Bytes, ..run };
        let field = format!("scell[{i}].channel");
        Ok(ScellConfig {
            name: scell.name.clone(),
            slot,
            carrier: scell.carrier.clone(),
            harq: scell.harq.clone(),
            cqi_delay: scell.cqi_delay,
            channel: channel(&scell.channel, run, traces, &field, locator)?,
            ues: Arc::clone(&ues),
        })
    });
    scells.collect()
}
