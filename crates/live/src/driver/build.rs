//! Builds a live run: its ends, links and observers.

use super::flows::{self, FlowTable};
use super::outlet::Outlet;
use super::radio::Radio;
use super::side::Side;
use super::waiting::Waiting;
use super::wan::Wan;
use super::{Ends, Live, LiveOptions};
use crate::arena::Arena;
use crate::capture::Recorder;
use crate::packet::{FragmentPorts, mapped};
use crate::recorder::LiveRecorder;
use crate::report::Account;
use crate::reports::ReportStream;
use justfull_base::{BitRate, ConfigError, Duration, Instant};
use justfull_net::{Port, SystemError};
use justfull_run::uplink::Uplink;
use justfull_run::wire::Wires;
use justfull_run::{CoreLoss, FlowConfig, UplinkConfig, WorldConfig};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The uplink of `config` with the settings `of_radio`, to servers at `delays`.
fn uplink(
    config: &WorldConfig,
    of_radio: &UplinkConfig,
    delays: &[Duration],
) -> Result<Uplink<u64>, ConfigError> {
    let (ues, seed) = (config.stack.ues.len(), config.stack.seed);
    let way = of_radio.beyond(config.stack.rlc.f1.delay);
    let uplink = Uplink::new(&way, ues, delays, Instant::ZERO + config.warmup, seed);
    let moves = config.cells.as_ref().is_some_and(|cells| cells.moves());
    let uplink = if moves { uplink.with_moves(ues) } else { uplink };
    let sleeps = config.stack.ues.iter().any(|ue| ue.drx.is_some());
    let uplink = if sleeps { uplink.with_drx(ues) } else { uplink };
    let uplink = uplink.with_statuses(config.stack.mac.status_way());
    match &config.cells {
        None => uplink.with_stack(of_radio),
        Some(cells) => uplink.with_stacks(of_radio, cells, &config.stack),
    }
}

/// Checks `config` and `options` for a run with this number of UEs' `interfaces`.
fn check(config: &WorldConfig, options: &LiveOptions, interfaces: usize) -> Result<(), String> {
    let ues = config.stack.ues.len();
    if interfaces != ues {
        return Err(format!("{interfaces} interfaces for the scenario's {ues} UEs"));
    }
    if config.flows.iter().any(FlowConfig::is_in_tunnel) {
        return Err("a live run has no flows in tunnels: only simulated runs have them".into());
    }
    if config.uplink.zhuge.is_some() {
        return Err("`uplink.zhuge` is simulated only; live, nothing holds acknowledgements".into());
    }
    let LiveOptions { buffers, flows, wake, read, .. } = options;
    if *buffers == 0 || *flows == 0 || wake.is_zero() || read.is_zero() {
        return Err("buffers, flows, wake and read must be above 0".into());
    }
    Ok(())
}

impl<P: Port> Live<P> {
    /// A run of `config` between `ends`. The flows of `config` only name the counts of real ones.
    ///
    /// # Errors
    /// A field of the scenario out of bounds; ports or addresses that do not fit its UEs.
    pub fn new(
        config: &WorldConfig,
        options: &LiveOptions,
        ends: Ends<P>,
    ) -> Result<Self, SystemError> {
        let refused = |reason: String| SystemError::new("start a live run", reason);
        let record = LiveRecorder::new(config).map_err(|e| refused(e.to_string()))?;
        let radio = Radio::new(config).map_err(|e| refused(e.to_string()))?;
        check(config, options, ends.ues.len()).map_err(refused)?;
        let (mut ue_of, mut any_ue, mut ues) = (BTreeMap::new(), None, Vec::new());
        for (ue, end) in (0u32..).zip(ends.ues) {
            if end.addresses.is_empty() && any_ue.replace(ue).is_some() {
                return Err(refused("more than one UE without an address".into()));
            }
            for address in end.addresses {
                let key = match address {
                    IpAddr::V4(v4) => mapped(v4.octets()),
                    IpAddr::V6(v6) => v6.octets(),
                };
                if ue_of.insert(key, ue).is_some() {
                    return Err(refused(format!("two UEs have the address {address}")));
                }
            }
            ues.push(end.port);
        }
        let delays = flows::extra_delays(config);
        let uplink = uplink(config, &config.uplink, &delays).map_err(|e| refused(e.to_string()))?;
        let arenas = [(); 2].map(|()| Arena::new(options.buffers, config.stack.mtu));
        let mut side = Side::new(record, arenas, config.air_delay);
        side.carries_statuses = uplink.carries_statuses();
        Ok(Self {
            side,
            core: Wires::new(config.core_rate, delays.iter().map(|d| config.core_delay + *d)),
            loss: CoreLoss::new(config.core_loss, config.stack.seed),
            uplink,
            statuses: 0,
            uploads: config.flows.iter().any(FlowConfig::is_upload),
            server: ends.server,
            flows: FlowTable::new(options.flows),
            fragments_down: FragmentPorts::new(),
            fragments_up: FragmentPorts::new(),
            down: Account::default(),
            up: Account::default(),
            mtu: config.stack.mtu,
            slot: config.tick(),
            wake: options.wake,
            read: options.read,
            give_up: options.give_up,
            end: Instant::ZERO + config.duration,
            done: Instant::ZERO,
            wan: None,
            reports: None,
            fault: None,
            radio,
            waiting: Waiting::on(&ues)
                .map_err(|e| SystemError::new("watch the UEs' interfaces", e))?,
            ues,
            outlet: Outlet::new(),
            outlet_up: Outlet::new(),
            ue_of,
            any_ue,
            behind_one: false,
            delays,
        })
    }

    /// Puts all UEs behind the first one's interface: a packet from there belongs to the UE with
    /// its source address, else to the first.
    #[must_use]
    pub fn behind_one(self) -> Self {
        Self { behind_one: true, ..self }
    }

    /// Records every packet with `recorder`.
    #[must_use]
    pub fn recorded(mut self, recorder: Recorder) -> Self {
        self.side.capture = Some(recorder);
        self
    }

    /// Puts the core's delay before a proxy: `servers` is the servers' interface, `proxy` the
    /// proxy's towards them, and the server's port of [`Ends`] the proxy's towards the stack. On
    /// the way back `proxy.wan_delay`, a part of the uplink's delay, is between proxy and servers;
    /// by default this is the core's delay, as in a simulated run.
    ///
    /// # Errors
    /// The uplink's delay is shorter than this part, or the core loses packets.
    pub fn behind_proxy(
        mut self,
        config: &WorldConfig,
        servers: P,
        proxy: P,
    ) -> Result<Self, SystemError> {
        let buffers = self.side.arena.buffers() as u32;
        let wan = Wan::new(config, buffers, &self.delays, servers, proxy);
        let (wan, delay) = wan.map_err(|e| SystemError::new("put a proxy between", e))?;
        let radio = UplinkConfig { delay, ..config.uplink.clone() };
        self.delays = vec![Duration::ZERO];
        self.core = Wires::new(BitRate(0), self.delays.iter().copied());
        let refused = |e: ConfigError| SystemError::new("put a proxy between", e);
        self.uplink = uplink(config, &radio, &self.delays).map_err(refused)?;
        self.wan = Some(wan);
        Ok(self)
    }

    /// Sends the cells' reports about their UEs to the listeners of `reports`.
    #[must_use]
    pub fn reporting(mut self, reports: ReportStream) -> Self {
        self.radio.start_reports();
        self.reports = Some(reports);
        self
    }
}
