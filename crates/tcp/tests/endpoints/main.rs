//! Sender and receiver over a small simulated path.

mod conformance;
mod ecn;
mod engine;
mod link;
mod no_sack;
mod offload;
mod rack;
mod transfers;

use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::{CcConfig, SenderConfig};

/// Every control with its defaults. Only the fixed window fills the default path and a part of its
/// buffer: 40 segments and up to 68.
fn all_controls() -> Vec<CcConfig> {
    let names = justfull_tcp::cc::DOCS.iter().map(|doc| doc.name);
    let configured = |name| match CcConfig::by_name(name) {
        Some(CcConfig::Fixed(_)) => {
            CcConfig::Fixed(FixedConfig { segments: 64, ..FixedConfig::default() })
        }
        other => other.expect("every control on the list has a configuration"),
    };
    names.map(configured).collect()
}

/// False for a control that starts with two segments, whatever the initial window.
fn uses_initial_window(cc: &CcConfig) -> bool {
    !matches!(cc, CcConfig::Ledbatpp(_))
}

/// False for a window that belongs to its owner, so that the network does not change it.
fn reacts_to_loss(cc: &CcConfig) -> bool {
    !matches!(cc, CcConfig::Fixed(_))
}

fn config(cc: CcConfig) -> SenderConfig {
    SenderConfig { cc, ..SenderConfig::default() }
}

/// The settings of ns-2: no SACK, no timestamps, a SYN.
fn ns2(cc: CcConfig) -> SenderConfig {
    SenderConfig { cc, ..SenderConfig::ns2() }
}
