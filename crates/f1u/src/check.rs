//! Tries the abilities of this host that the box needs.

use crate::config::F1uConfig;
use crate::place::{conditions, copies, detours};
use justfull_net::{Capability, Detour, DetourConfig};

/// A name without an interface: no packet takes the detour of the trial.
const NOWHERE: &str = "jf-trial";

/// Tries everything that the box needs. Nothing stays, and no packet takes another way.
#[must_use]
pub fn check(config: &F1uConfig) -> Vec<Capability> {
    let named = |name, found| Capability { name, required: true, found };
    let mut all = conditions(config);
    all.push(("copies of the downlink", copied(config)));
    all.push(("detour of the uplink", trial(config)));
    all.into_iter().map(|(name, found)| named(name, found)).collect()
}

fn copied(config: &F1uConfig) -> Result<String, String> {
    let place = &config.place;
    if place.cu_up == place.du || detours(config).len() > 1 {
        return Ok("none: both directions take the detour".into());
    }
    copies(place).map(|_| "a packet socket with a filter".into()).map_err(|e| e.reason)
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
