//! Where packets of F1-U pass this host: the detours, the copies, and the settings for them.

use crate::config::{F1uConfig, PlaceConfig};
use justfull_net::{Copies, DetourConfig, LOOPBACK, SystemError, router, routing};
use justfull_nru::gtpu;

/// The detours of a place: the uplink's, and the downlink's.
pub(crate) fn both(place: &PlaceConfig) -> [DetourConfig; 2] {
    let detour = |device: &str, incoming: &str, table| DetourConfig {
        device: device.into(),
        incoming: incoming.into(),
        port: gtpu::PORT,
        table,
        priority: place.priority,
        prefixed: false,
        end: place.end().map(String::from),
    };
    let down = detour("jff1d", &place.cu_up, place.table + 1);
    [detour("jff1u", &place.du, place.table), down]
}

/// The detours of a configuration: the uplink's, and the downlink's if user data may wait.
pub(crate) fn detours(config: &F1uConfig) -> Vec<DetourConfig> {
    let both = Vec::from(both(&config.place));
    let down = !config.hold.time.is_zero() && config.place.cu_up != config.place.du;
    both.into_iter().take(1 + usize::from(down)).collect()
}

/// Copies of the downlink, which arrives or begins here.
pub(crate) fn copies(place: &PlaceConfig) -> Result<Copies, SystemError> {
    if place.cu_up == LOOPBACK {
        return Copies::open_leaving(&place.du, gtpu::PORT);
    }
    Copies::open(&place.cu_up, gtpu::PORT)
}

/// Checks the settings of this host without which packets of the detour would be lost.
///
/// # Errors
/// The first that must change.
pub(crate) fn is_ready(config: &F1uConfig) -> Result<(), SystemError> {
    let failed = |reason| SystemError::new("run the box here", reason);
    conditions(config).into_iter().try_for_each(|(_, found)| found.map(drop).map_err(failed))
}

/// The settings of this host that must be right, with the findings.
pub(crate) fn conditions(config: &F1uConfig) -> Vec<(&'static str, Result<String, String>)> {
    let place = &config.place;
    let mut all = vec![
        ("interfaces", interfaces(config)),
        ("forwarding", forwarding(config)),
        ("reverse path filter", router::lets_detours_back(place.end())),
    ];
    let detours = detours(config);
    if place.cu_up == LOOPBACK || place.du == LOOPBACK && detours.len() > 1 {
        all.push(("local addresses", routing::delivers_behind(place.priority)));
    }
    all
}

fn interfaces(config: &F1uConfig) -> Result<String, String> {
    let place = &config.place;
    router::interfaces_exist([("place.cu_up", &*place.cu_up), ("place.du", &*place.du)])?;
    let side = |name: &str, there: &str, here: &str| match name {
        LOOPBACK => here.to_owned(),
        _ => format!("{name} to the {there}"),
    };
    let cu_up = side(&place.cu_up, "CU-UPs", "the CU-UP on this host");
    Ok(format!("{cu_up}, {}", side(&place.du, "DUs", "the DU on this host")))
}

/// The kernel must forward between two sides; at an end, into the detours of arriving packets.
fn forwarding(config: &F1uConfig) -> Result<String, String> {
    if config.place.end().is_none() {
        return router::forwards(false);
    }
    let arriving = detours(config).into_iter().filter(|detour| detour.incoming != LOOPBACK);
    let found: Result<Vec<_>, _> =
        arriving.map(|detour| router::forwards_from(&detour.incoming)).collect();
    Ok(found?.pop().unwrap_or_else(|| "not needed: packets of this host take the detour".into()))
}
