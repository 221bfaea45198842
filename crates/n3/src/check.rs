//! Tries the abilities of this host that the stage needs.

use crate::config::N3Config;
use crate::service::{detours, mtu};
use justfull_net::clock::now;
use justfull_net::{Capability, Copies, Detour, DetourConfig, Domain, Port, router};
use std::thread;
use std::time::Duration;

/// A name without an interface: no packet takes the detour of the trial.
const NOWHERE: &str = "jf-trial";
/// How long the check listens for IPsec.
const LISTEN: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(20);

/// Tries everything that the stage needs, and listens a second for IPsec. Nothing stays, and no
/// packet takes another way.
#[must_use]
pub fn check(config: &N3Config) -> Vec<Capability> {
    let named = |name, required, found| Capability { name, required, found };
    vec![
        named("interfaces", true, interfaces(config)),
        named("detours", true, trial(config)),
        named("routing domain", true, domain(config)),
        named("forwarding", true, router::forwards(false)),
        named("reverse path filter", true, router::lets_detours_back([])),
        named("tunnels in the clear", false, clear(config)),
        named("largest inner packet", true, Ok(format!("{} bytes", mtu(config)))),
    ]
}

fn interfaces(config: &N3Config) -> Result<String, String> {
    let place = &config.place;
    router::interfaces_exist([("place.ran", &*place.ran), ("place.core", &*place.core)])?;
    Ok(format!("{} to the base stations, {} to the core", place.ran, place.core))
}

fn trial(config: &N3Config) -> Result<String, String> {
    let mut joins = true;
    // Each has its own device: a process that this one forks meanwhile can hold the first open.
    for (real, device) in detours(config).into_iter().zip(["jftrya", "jftryb"]) {
        // Neither a running stage nor the other detour uses this table.
        let table = real.table ^ 1 << 24;
        let trial = DetourConfig { device: device.into(), incoming: NOWHERE.into(), table, ..real };
        joins &= Detour::install(&trial, false).map_err(|e| e.reason)?.joins();
    }
    let place = &config.place;
    let (first, second) = (place.table, place.table + 1);
    let packets = if joins { "packets of several datagrams" } else { "single datagrams" };
    let priority = place.priority;
    Ok(format!("two TUN devices for {packets}, tables {first} and {second}, priority {priority}"))
}

fn domain(config: &N3Config) -> Result<String, String> {
    let built = Domain::build(&config.tunnels.ues).map_err(|e| e.reason)?;
    drop(built);
    Ok("a namespace with two TUN devices".into())
}

/// Listens for IPsec at both interfaces.
fn clear(config: &N3Config) -> Result<String, String> {
    let open = |name: &str| Copies::open_esp(name).map_err(|e| e.reason);
    let mut both = [open(&config.place.ran)?, open(&config.place.core)?];
    let (began, mut bytes) = (now(), [0; 64]);
    while now().duration_since(began) < LISTEN {
        for copies in &mut both {
            if copies.receive(&mut bytes).map_err(|e| e.to_string())?.is_some() {
                return Err(
                    "encrypted: IPsec (ESP) passes here, and the stage cannot read tunnels inside \
                     it: place the stage between the security gateway and the core"
                        .into(),
                );
            }
        }
        thread::sleep(STEP);
    }
    Ok("no IPsec in a second".into())
}
