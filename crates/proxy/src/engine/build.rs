//! Builds the proxy's loop.

use super::{Asks, Engine, FORGET_EVERY, LISTENER, LOOK_AT_ROUTES, SIGNALS, Totals, WAKE, signals};
use crate::config::ProxyConfig;
use crate::connections::{Connections, Part, SCRATCH, TICK};
use crate::directory::{Directory, Session};
use crate::flood::Flood;
use crate::flow::Shared;
use crate::guard::Guard;
use crate::host::{self, Host};
use crate::log::Log;
use crate::n3;
use crate::notify::Manager;
use crate::pools::Pools;
use crate::radio;
use crate::radio_leg::RadioLeg;
use crate::relay::Pool;
use crate::steering::Steering;
use crate::table;
use crate::turns::Turns;
use crate::workers::Spawner;
use justfull_base::{Duration, Instant};
use justfull_net::SystemError;
use justfull_net::clock::{Clock, SlotClock};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::path::PathBuf;
use std::sync::Arc;

impl Engine {
    /// Prepares everything and installs the rules last.
    pub(crate) fn start(
        config: ProxyConfig,
        file: PathBuf,
        asks: Asks,
        spawner: Option<Spawner>,
    ) -> Result<Self, SystemError> {
        let clock = SlotClock::start()?;
        // Before the listeners, since accepted sockets may inherit the bound from them.
        let slots = host::limits(&config).most as u32;
        let (leg, refused) = RadioLeg::take(config.radio_leg, slots, config.control.loss())?;
        let host = Host::install(&config)?;
        let mut engine = Self::build(config, file, asks, host, clock, leg, None)?;
        engine.leg_refused = refused;
        engine.employ(spawner, Vec::new()).map_err(|e| SystemError::new("start workers", e))?;
        let now = engine.clock.now();
        let refused = |e| SystemError::new("divert connections", table::explain(&e));
        engine.look_at_diversion(now).map_err(refused)?;
        Ok(engine)
    }

    pub(super) fn build(
        config: ProxyConfig,
        file: PathBuf,
        asks: Asks,
        mut host: Host,
        clock: SlotClock,
        leg: RadioLeg,
        before: Option<Vec<Session>>,
    ) -> Result<Self, SystemError> {
        let (asks, wake) = asks;
        let failed = |what: &'static str| move |e: nix::Error| SystemError::new(what, e);
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed("make an epoll"))?;
        let signals =
            SignalFd::with_flags(&signals(), SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
                .map_err(failed("listen for signals"))?;
        let pools = Pools::of(&config);
        let steering = Steering::new(&config.control, config.ues, &config.cells, pools.clone())
            .map_err(|e| SystemError::new("start the control", e))?;
        let log = Log::open(&config.operation, pools.clone())?;
        let successor = before.is_some();
        let start = || radio::start(&config.radio, Arc::clone(&wake), successor);
        let (reports, radio) = n3::at_home(start)?;
        let start =
            || Directory::start(&config.directory, pools.clone(), Arc::clone(&wake), before);
        let directory = n3::at_home(start)?;
        let pipe = i32::try_from(config.limits.pipe.0).unwrap_or(i32::MAX);
        host.limits.most = host.limits.most.min(leg.slots());
        host.limits.flows = host.limits.flows.min(host.limits.most);
        let mut guard = Guard::new(config.ues);
        guard.tracked = crate::check::track();
        let shared = Shared {
            pool: Pool::new(host.limits.pipes, pipe),
            scratch: vec![0; SCRATCH],
            time_waits: 0,
            leg,
            turn: Duration::ZERO,
            pools,
        };
        let mut engine = Self {
            connections: Connections::new(shared, epoll, Part::ALL),
            workers: None,
            held: None,
            wait_refused: None,
            kept_before: [0; 2],
            resets: 0,
            host,
            leg_refused: Vec::new(),
            config,
            file,
            steering,
            totals: Totals::default(),
            log,
            radio,
            directory,
            reloads: 0,
            last_reload: None,
            wake,
            signals,
            asks,
            reports,
            reported: None,
            clock,
            next_tick: Instant::ZERO + TICK,
            next_forget: Instant::ZERO + FORGET_EVERY,
            next_routes: Instant::ZERO + LOOK_AT_ROUTES,
            guard,
            diversion: None,
            drain_until: None,
            flood: Flood::default(),
            turns: Turns::default(),
            outside: None,
            manager: Manager::of_environment(),
            handed_over: false,
        };
        engine.watch().map_err(failed("watch the listeners"))?;
        engine.prepare_wait()?;
        Ok(engine)
    }

    fn watch(&self) -> nix::Result<()> {
        let (epoll, level) = (&self.connections.epoll, EpollFlags::EPOLLIN);
        epoll.add(&*self.wake, EpollEvent::new(level, WAKE))?;
        epoll.add(&self.signals, EpollEvent::new(level, SIGNALS))?;
        for (number, listener) in (0..).zip(&self.host.listeners) {
            epoll.add(listener, EpollEvent::new(level, LISTENER + number))?;
        }
        Ok(())
    }
}
