//! RAPID in service (R22 section 5): a transparent proxy for Linux that splits TCP connections
//! between UEs and servers and sets the windows of both legs with [`justfull_rapid`].
//!
//! Both ends see each other's addresses and ports: nftables' `tproxy` delivers a connection here,
//! and the proxy's own leg to the server is bound to the client's address and port. However the
//! process ends, only unused policy routes may stay, and the next start removes them.

mod allocator;
mod ask;
mod bpf;
mod check;
mod config;
mod connections;
mod directory;
mod engine;
mod flood;
mod flow;
mod guard;
mod handover;
mod held;
mod host;
mod inject;
mod line;
mod log;
mod metrics;
mod n3;
mod nft;
mod notify;
mod place;
mod pools;
mod radio;
mod radio_leg;
mod relay;
mod status;
mod steering;
mod system;
mod table;
mod turns;
mod workers;

pub use ask::ask;
pub use check::check;
pub use config::{
    CellsConfig, DirectoryConfig, LimitsConfig, OperationConfig, PoolConfig, ProxyConfig,
    RouteConfig, SelectConfig, TimeoutsConfig, UesConfig, UnknownConfig, WaitConfig,
};
pub use justfull_net::{Ports, Prefix};
pub use justfull_rapid::ControlConfig;
pub use n3::N3StageConfig;
pub use place::Place;
pub use radio::{
    AccessConfig, AmqpConfig, JsonLinesConfig, KpmConfig, NoRadioConfig, RadioConfig, RnisConfig,
    WebsocketConfig,
};
pub use radio_leg::RadioLegConfig;

use ask::{Asker, Servers};
use engine::{Ended, Engine, Offer};
use justfull_net::SystemError;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use workers::Spawner;

/// Runs the proxy of `config`, which was read from `file`, in the network namespace of the calling
/// thread, until SIGTERM or SIGINT; calls `ready` once it accepts connections. SIGHUP makes it read
/// `file` again. Call it while the process has one thread: it blocks these signals in this thread
/// and in those that it starts.
///
/// # Errors
/// A part that it cannot install, listen to, or read, with the missing right. Nothing is then left
/// installed.
pub fn run(config: ProxyConfig, file: &Path, ready: impl FnOnce()) -> Result<(), SystemError> {
    begin(config, file, false, ready)
}

/// Like [`run`], in the place of the running proxy at `operation.socket`, with all its connections;
/// that proxy then ends.
///
/// # Errors
/// As for [`run`], or a reason why the other proxy cannot be replaced; it then continues.
pub fn take_over(
    config: ProxyConfig,
    file: &Path,
    ready: impl FnOnce(),
) -> Result<(), SystemError> {
    begin(config, file, true, ready)
}

fn begin(
    config: ProxyConfig,
    file: &Path,
    takeover: bool,
    ready: impl FnOnce(),
) -> Result<(), SystemError> {
    let failed = |e: nix::Error| SystemError::new("listen for signals", e);
    engine::signals().thread_block().map_err(failed)?;
    let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
    let wake = EventFd::from_value_and_flags(0, flags).map_err(failed)?;
    let (wake, (to, asks)) = (Arc::new(wake), channel());
    let asker = Asker { to, wake: Arc::clone(&wake) };
    let (operation, file) = (config.operation.clone(), file.to_owned());
    n3::join(&config.n3)?;
    let spawner = spawner(&config)?;
    let (mut engine, mut servers) = if takeover {
        let (offer, outside) = Offer::ask(&config)?;
        let engine = Engine::adopt(config, file, (asks, wake), offer, spawner)?;
        (engine, Servers::serve(&operation, &asker, outside)?)
    } else {
        let servers = n3::at_home(|| Servers::start(&operation, &asker))?;
        (Engine::start(config, file, (asks, wake), spawner)?, servers)
    };
    engine.outside = servers.outside();
    n3::watch()?;
    engine.manager.ready("running");
    ready();
    let radio = Arc::clone(&engine.radio);
    match engine.run()? {
        Ended::HandedOver => {
            engine.leave();
            servers.leave();
        }
        Ended::Over => {
            drop(engine);
            drop(servers);
        }
    }
    radio.end();
    Ok(())
}

/// The process that starts workers, if there are to be some. It is made before any thread.
fn spawner(config: &ProxyConfig) -> Result<Option<Spawner>, SystemError> {
    if config.limits.workers == 1 {
        return Ok(None);
    }
    // This call raises the limit of descriptors, which the workers inherit.
    let _raised = host::limits(config);
    let own = config.clone();
    // A worker that fails ends its line, which the proxy notices.
    let work = move |line| drop(workers::work(&own, line));
    let made = Spawner::start(work).map_err(|e| SystemError::new("start workers", e))?;
    Ok(Some(made))
}
