//! Sender and receiver over a small simulated path.

mod conformance;
mod engine;
mod link;
mod rack;
mod transfers;

use justfull_tcp::{CcConfig, SenderConfig};

fn all_controls() -> Vec<CcConfig> {
    let names = justfull_tcp::cc::DOCS.iter().map(|doc| doc.name);
    names
        .map(|name| CcConfig::by_name(name).expect("every control on the list has a configuration"))
        .collect()
}

fn config(cc: CcConfig) -> SenderConfig {
    SenderConfig { cc, ..SenderConfig::default() }
}
