//! Tries the abilities of this host that the box needs.

use crate::config::F1uConfig;
use crate::service::detours;
use justfull_net::{Capability, Copies, Detour, DetourConfig, router};
use justfull_nru::gtpu;

/// A name without an interface: no packet takes the detour of the trial.
const NOWHERE: &str = "jf-trial";

/// Tries everything that the box needs. Nothing stays, and no packet takes another way.
#[must_use]
pub fn check(config: &F1uConfig) -> Vec<Capability> {
    let named = |name, required, found| Capability { name, required, found };
    vec![
        named("interfaces", true, interfaces(config)),
        named("copies of the downlink", true, copies(config)),
        named("detour of the uplink", true, trial(config)),
        named("forwarding", true, router::forwards(false)),
        named("reverse path filter", true, router::lets_detours_back([])),
    ]
}

fn interfaces(config: &F1uConfig) -> Result<String, String> {
    let place = &config.place;
    router::interfaces_exist([("place.cu_up", &*place.cu_up), ("place.du", &*place.du)])?;
    Ok(format!("{} to the CU-UPs, {} to the DUs", place.cu_up, place.du))
}

fn copies(config: &F1uConfig) -> Result<String, String> {
    if config.place.cu_up == config.place.du || detours(config).len() > 1 {
        return Ok("none: both directions take the detour".into());
    }
    let opened = Copies::open(&config.place.cu_up, gtpu::PORT);
    opened.map(|_| "a packet socket with a filter".into()).map_err(|e| e.reason)
}

fn trial(config: &F1uConfig) -> Result<String, String> {
    let place = &config.place;
    // No table of a running box.
    let table = place.table ^ 1 << 24;
    let real = detours(config).into_iter().next().ok_or("no detour")?;
    let trial = DetourConfig { incoming: NOWHERE.into(), table, ..real };
    drop(Detour::install(&trial, false).map_err(|e| e.reason)?);
    Ok(format!("a TUN device, table {}, priority {}", place.table, place.priority))
}
