//! Settings of the whole chain, and their dependencies.

use crate::channel::{CapacityUnit, ChannelConfig, MAX_SLOT};
use crate::config::queues::Owner;
use crate::config::{
    CellContext, Hold, RlcConfig, ScellConfig, SdapConfig, TieOrder, UeConfig, UpfConfig,
    check_report_delay, f1,
};
use crate::mac::MacConfig;
use crate::pdcp::PdcpConfig;
use crate::rlc::RlcModeConfig;
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::error::ensure;
use justfull_base::{ConfigError, Duration, Layer, Ratio};
use justfull_queue::QueueConfig;

/// The whole chain.
#[derive(Clone, Debug, PartialEq)]
pub struct StackConfig {
    /// User plane function.
    pub upf: UpfConfig,
    /// Service data adaptation.
    pub sdap: SdapConfig,
    /// Radio link control.
    pub rlc: RlcConfig,
    /// Medium access control.
    pub mac: MacConfig,
    /// The cell's channel.
    pub channel: ChannelConfig,
    /// Packet data convergence; with a MAC of kind rb, dch or hsdpa.
    pub pdcp: PdcpConfig,
    /// User equipments; at least one. Identical ones may share their settings.
    pub ues: Vec<Arc<UeConfig>>,
    /// Shares of the slices in the resource blocks, together at most 1; empty for one slice with
    /// all of them.
    pub slices: Vec<Ratio>,
    /// SCells, which send the same data as the carrier of `mac`; with a MAC of kind rb.
    pub scells: Vec<ScellConfig>,
    /// Order of events at one instant.
    pub tie_order: TieOrder,
    /// Largest packet in bytes, 68 to 65 535.
    pub mtu: u32,
    /// Seed of phases, skews, hashes and channels.
    pub seed: u64,
    /// Assert for every packet that it was not delivered before its bound (costs time).
    pub assert_bound: bool,
}

impl StackConfig {
    /// The settings of UE `index`, which are no longer shared from then on.
    ///
    /// # Panics
    /// If there is no such UE.
    pub fn ue_mut(&mut self, index: usize) -> &mut UeConfig {
        Arc::make_mut(&mut self.ues[index])
    }

    /// The unit of the channel, grants, limiters and pacers.
    #[must_use]
    pub fn unit(&self) -> CapacityUnit {
        self.mac.unit()
    }

    /// The time from one pull of the MAC to the next: the length of the shortest slot of all
    /// carriers.
    #[must_use]
    pub fn tick(&self) -> Duration {
        let scells = self.scells.iter().map(|scell| scell.slot);
        scells.fold(self.mac.slot().period, Duration::min)
    }

    /// The facts about the cell for the MAC.
    pub(crate) fn cell(&self) -> CellContext<'_> {
        let Self { ues, channel, rlc, slices, scells, .. } = self;
        CellContext { ues, channel, rlc, slices, scells, mtu: self.mtu, seed: self.seed }
    }

    /// Checks the bounds that a single layer cannot check.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn validate(&self) -> Result<(), ConfigError> {
        ensure(
            !self.ues.is_empty(),
            "ue",
            &0,
            "at least one UE",
            "a cell without UEs carries nothing",
        )?;
        ensure(
            (68..=65_535).contains(&self.mtu),
            "mtu",
            &self.mtu,
            "68 to 65535",
            "RFC 791 section 3.2",
        )?;
        self.upf.validate().map_err(|e| e.within("upf"))?;
        self.sdap.validate().map_err(|e| e.within("sdap"))?;
        let slot = self.mac.slot().period;
        ensure(
            !slot.is_zero() && slot <= MAX_SLOT,
            "mac.slot.period",
            &slot,
            "above 0s, at most 1s",
            "TS 38.211 section 4.3.2 has 62.5us to 1ms; T20 ticks at 10ms",
        )?;
        self.validate_hold()?;
        self.validate_report_delay()?;
        self.validate_f1()?;
        let uplink = matches!(self.mac, MacConfig::Uplink(_));
        self.rlc.marking.check(&self.rlc.queue, uplink)?;
        self.mac.check_in(&self.cell())?;
        if self.mac.has_rlc() {
            self.rlc.mode.validate().map_err(|e| e.within("rlc.mode"))?;
            self.pdcp.validate().map_err(|e| e.within("pdcp"))?;
        }
        self.validate_aqms()?;
        self.validate_drx()?;
        let one_bearer = self.ues.len() == 1 && self.ues[0].drbs == 1;
        ensure(
            one_bearer || !self.foresees(),
            "rlc.limiter",
            &"clairvoyant",
            "a cell with one UE and one bearer",
            "only there are the grants fixed beforehand",
        )?;
        self.ues
            .iter()
            .enumerate()
            .try_for_each(|(i, ue)| ue.validate().map_err(|e| e.within(&alloc::format!("ue[{i}]"))))
    }
}

impl StackConfig {
    /// Checks that the MAC can let its UEs sleep.
    fn validate_drx(&self) -> Result<(), ConfigError> {
        let Some(first) = self.ues.iter().position(|ue| ue.drx.is_some()) else { return Ok(()) };
        ensure(
            !matches!(self.mac, MacConfig::Dch(_) | MacConfig::Hsdpa(_)),
            &alloc::format!("ue[{first}].drx"),
            &"set",
            "none with mac.kind dch or hsdpa",
            "TS 38.321 clause 5.7: UMTS has another DRX",
        )?;
        ensure(
            !self.foresees(),
            "rlc.limiter",
            &"clairvoyant",
            "another limiter with ue.drx",
            "a UE's sleep depends on its data",
        )?;
        let slots =
            if let MacConfig::Rb(rb) = &self.mac { rb.carrier.longest_distance() } else { 1 };
        let least = self.mac.slot().period.times(slots);
        let narrow = self.ues.iter().enumerate().find_map(|(i, ue)| {
            let on_duration = ue.drx.as_ref()?.on_duration;
            (on_duration < least).then_some((i, on_duration))
        });
        narrow.map_or(Ok(()), |(i, on_duration)| {
            Err(ConfigError::new(
                &alloc::format!("ue[{i}].drx.on_duration"),
                &on_duration,
                &alloc::format!("at least {least}, the longest time between slots with downlink"),
                "such a slot must begin in it",
            ))
        })
    }

    /// Checks that SDUs are held only if something is acknowledged.
    fn validate_hold(&self) -> Result<(), ConfigError> {
        ensure(
            self.rlc.hold == Hold::Sent || matches!(self.rlc.mode, RlcModeConfig::Am(_)),
            "rlc.hold",
            &self.rlc.hold.name(),
            "sent, or with rlc.mode am",
            "only acknowledged mode has acknowledgements",
        )
    }

    /// Checks the settings related to `rlc.report_delay`.
    fn validate_report_delay(&self) -> Result<(), ConfigError> {
        let RlcConfig { report_delay, limiter, .. } = &self.rlc;
        if report_delay.is_zero() {
            return Ok(());
        }
        check_report_delay(*report_delay, limiter)?;
        f1::check_order(&self.rlc, "rlc.report_delay")
    }

    /// Checks the settings related to `rlc.f1`.
    fn validate_f1(&self) -> Result<(), ConfigError> {
        f1::check(&self.rlc)?;
        let uplink = matches!(self.mac, MacConfig::Uplink(_));
        ensure(
            !(uplink && self.rlc.f1.is_apart()),
            "rlc.f1",
            &"set",
            "none on an uplink",
            "UEs have all layers of the uplink; the cell's rlc.f1 delays its packets",
        )
    }

    /// True if its limiters or pacers get the capacity of coming slots.
    pub(crate) fn foresees(&self) -> bool {
        self.rlc.limiter.foresees() || self.sdap.pacer.foresees()
    }

    /// The settings of all kinds of queues, each with its place.
    pub(crate) fn queues(&self) -> impl Iterator<Item = (Owner, &QueueConfig)> {
        let of_layers = [
            (Layer::Upf, &self.upf.queue),
            (Layer::Sdap, &self.sdap.queue),
            (Layer::Rlc, &self.rlc.queue),
        ];
        let of_layers = of_layers.into_iter().map(|(layer, q)| (Owner::of(layer), q));
        let own = self.ues.iter().enumerate().flat_map(|(ue, config)| {
            config.qos_flows.iter().enumerate().filter_map(move |(i, flow)| {
                let owner = Owner::of_flow(ue, i);
                Some((owner, flow.queue.as_deref()?))
            })
        });
        of_layers.chain(own)
    }

    /// Checks the requirements of every AQM: a limit that admits a packet, and a layer below that
    /// reports its rate.
    fn validate_aqms(&self) -> Result<(), ConfigError> {
        self.queues().try_for_each(|(owner, queue)| owner.check(queue, self.mtu))
    }
}
