//! Builds a stack from its settings.

use super::core_network::Ue;
use super::*;
use crate::bearer::{Bearer, Link, ServiceRate, SlotWeight};
use crate::carried::Carried;
use crate::channel::ChannelContext;
use crate::config::urgent;
use crate::drx::{AqmClock, Drx};
use crate::gate::GateConfig;
use crate::limiter::Apart;
use crate::mac::{Feed, OwnChannel, Roster, Sleep};
use crate::poll::Tickers;
use crate::upf::UeUpf;
use crate::{MacConfig, PollConfig, UeConfig};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::sync::Arc;
use justfull_base::Rng;
use justfull_base::rng::{mix, stream_key};

/// Why F1-U and delivery reports need a single cell.
const HANDOVER: &str = "a handover between the DUs of a CU is not modelled";

/// Key of the random streams of UE `index`.
pub(super) fn ue_key(config: &StackConfig, index: usize) -> u64 {
    mix(stream_key(config.seed, "ue") ^ index as u64)
}

/// The facts about the cell of `config` for a channel with this `key`.
fn channel_context(config: &StackConfig, key: u64) -> ChannelContext {
    let mac = &config.mac;
    let (slot, unit, bandwidth) = (mac.slot().period, mac.unit(), mac.bandwidth());
    ChannelContext { key, slot, unit, bandwidth }
}

/// The UPF's queues of UE `index` with the settings `ue`.
pub(super) fn build_upf(
    config: &StackConfig,
    index: usize,
    ue: &UeConfig,
) -> Result<UeUpf, ConfigError> {
    let key = mix(ue_key(config, index) ^ 1);
    UeUpf::new(&config.upf.queue, ue.qos_flows.len(), key).map_err(|e| e.within("upf.queue"))
}

/// The core with the UPF's queues of the UEs `here`, without these; `passes` if packets pass
/// straight through its UPF.
fn build_core(
    config: &StackConfig,
    here: &[u32],
    places: usize,
    passes: bool,
) -> Result<Core, ConfigError> {
    let upf = |&index: &u32| build_upf(config, index as usize, &config.ues[index as usize]);
    Ok(Core {
        flows: Vec::new(),
        ues: Vec::with_capacity(places),
        upfs: if passes { Vec::new() } else { collect_exactly(here.iter().map(upf))? },
        batch: config.upf.batch,
        busy: Vec::new(),
        hash_key: stream_key(config.seed, "upf.hash"),
        aqm_idles: passes && config.upf.queue.has_aqm(),
        paced: 0,
        next_id: 0,
        refused: 0,
    })
}

/// The DRX of UE `index`, if it has any; true if AQMs count from its wake.
fn build_drx(config: &StackConfig, index: u32) -> Option<(Drx, bool)> {
    let drx = config.ues[index as usize].drx.as_ref()?;
    let cycle = drx.long_cycle.as_nanos() / 1_000_000;
    let mut rng = Rng::stream(config.seed, &alloc::format!("drx.{index}"));
    let offset = Duration::from_millis(rng.below(cycle.max(1)));
    Some((Drx::new(drx, offset), drx.aqm_clock == AqmClock::Wake))
}

/// The sleep of the UEs `here`; none without DRX, and on an uplink, where a request wakes a UE.
fn build_sleep(config: &StackConfig, here: &[u32]) -> Option<Box<Sleep>> {
    let sleeps = config.ues.iter().any(|ue| ue.drx.is_some());
    if !sleeps || matches!(config.mac, MacConfig::Uplink(_)) {
        return None;
    }
    Some(Box::new(Sleep::new(here.iter().map(|&index| build_drx(config, index)))))
}

/// The gate of the UE with the settings `ue`; `key` is the key of its random streams.
pub(super) fn build_gate(
    config: &StackConfig,
    ue: &UeConfig,
    context: &GrantContext,
    key: u64,
) -> Result<Gate, ConfigError> {
    let gate = GateConfig {
        sdap: &config.sdap,
        limiter: &config.rlc.limiter,
        report_delay: config.rlc.report_delay,
        qos_flows: &ue.qos_flows,
        drbs: ue.drbs,
    };
    Gate::build(&gate, &config.rlc.f1, context, mix(key ^ 2))
}

/// The bearers of the UE with the settings `ue` below `gate`; `key` is the key of their random
/// streams.
pub(super) fn build_bearers(
    config: &StackConfig,
    ue: &UeConfig,
    gate: &Gate,
    key: u64,
) -> Result<Few<Bearer>, ConfigError> {
    let bearers = (0..ue.drbs).map(|drb| {
        let key = mix(key ^ 3) ^ u64::from(drb);
        let mut rlc = Cow::Borrowed(&config.rlc);
        if rlc.queue.discipline.has_classes() {
            rlc.to_mut().queue.discipline.serve_first(urgent(&ue.qos_flows));
        }
        let passes = !gate.limits() && config.rlc.f1.delay.is_zero();
        let mut bearer = Bearer::new(&rlc, passes, key)?;
        if let Some(header) = config.mac.pdu_header() {
            bearer.link = Some(Link::new(&config.rlc.mode, &config.pdcp, header)?);
        }
        Ok(bearer)
    });
    Ok(collect_exactly(bearers).map_err(|e: ConfigError| e.within("rlc"))?.into())
}

/// The clocks of the polls and slots, and a slot's length.
fn build_clocks(config: &StackConfig) -> Result<(Clocks, Duration), ConfigError> {
    let seed = config.seed;
    let upf = config.upf.poll.ticker(seed, "upf.poll").map_err(|e| e.within("upf.poll"))?;
    let sdap = config.sdap.poll.ticker(seed, "sdap.poll").map_err(|e| e.within("sdap.poll"))?;
    let pulls = PollConfig { period: config.tick(), ..*config.mac.slot() };
    let mac = pulls.ticker(seed, "mac.slot").map_err(|e| e.within("mac.slot"))?;
    let slot = mac.map_or(pulls.period, |ticker| ticker.period());
    let top_down = config.tie_order == TieOrder::TopDown;
    Ok((Clocks::new(Tickers { upf, sdap, mac }, top_down, carried(config)), slot))
}

/// The store of slot capacities, empty if they do not determine the service of one packet.
fn carried(config: &StackConfig) -> Carried {
    let own = config.ues.iter().any(|ue| ue.channel.is_some());
    if own { Carried::default() } else { config.mac.carried() }
}

impl Stack {
    /// A cell with the settings `config`.
    ///
    /// # Errors
    /// The first field outside its bounds, or a combination that cannot work.
    pub fn new(config: &StackConfig) -> Result<Self, ConfigError> {
        config.validate()?;
        let here: Vec<u32> = (0..config.ues.len() as u32).collect();
        Self::build(config, &here, 0, None)
    }

    /// A cell of several with the settings `config`, which is valid and lists the UEs of all cells.
    /// The UEs `here` have a place in it, in ascending order; others get one when they
    /// [enter](Self::attach) it. Of these, `guests` have their channels to the cell, and their DRX
    /// there, from the start.
    ///
    /// # Errors
    /// A combination that cannot work.
    pub fn of_several(
        config: &StackConfig,
        here: &[u32],
        guests: &[u32],
    ) -> Result<Self, ConfigError> {
        let mut roster = Roster::default();
        for &number in here {
            roster.add(number);
        }
        // Places for the first guests, so that no UE moves when they enter.
        let spare = guests.len().min(here.len() / 8 + 8);
        justfull_base::error::ensure(
            !config.rlc.f1.is_apart(),
            "rlc.f1",
            &"set",
            "none with several cells",
            HANDOVER,
        )?;
        justfull_base::error::ensure(
            !config.rlc.marking.is_elsewhere(),
            "rlc.marking.place",
            &config.rlc.marking.place.name(),
            "du with several cells",
            HANDOVER,
        )?;
        config.queues().try_for_each(|(owner, queue)| {
            owner.refuse_reports(queue, "none of these with several cells", HANDOVER)
        })?;
        let mut stack = Self::build(config, here, spare, Some(Box::new(roster)))?;
        for &number in guests {
            let own = stack.build_channel(config, number as usize)?;
            if let (Some(roster), Some(own)) = (&mut stack.cell.roster, own) {
                roster.elsewhere.insert(number, own);
            }
            let drx = build_drx(config, number);
            if let (Some(sleep), Some((drx, excludes_sleep))) = (&mut stack.cell.sleep, drx) {
                sleep.expect(number, drx, excludes_sleep);
            }
        }
        Ok(stack)
    }

    fn build(
        config: &StackConfig,
        here: &[u32],
        spare: usize,
        roster: Option<Box<Roster>>,
    ) -> Result<Self, ConfigError> {
        let places = here.len() + spare;
        let (seed, unit) = (config.seed, config.unit());
        let (clocks, slot) = build_clocks(config)?;
        let context = channel_context(config, stream_key(seed, "channel"));
        let channel = Channel::new(&config.channel, &context).map_err(|e| e.within("channel"))?;
        let unpaced = !config.sdap.pacer.paces();
        let passes = clocks.upf.is_event_driven() && unpaced;
        let context = GrantContext { unit, slot, mtu: config.mtu };
        let service = AnyService::new(&config.mac, &config.cell())?;
        let reported = (config.mac.cqi_delay() > 0).then(|| channel.clone());
        let mut stack = Self {
            core: build_core(config, here, places, passes)?,
            cell: Cell {
                ues: Vec::with_capacity(places),
                gates: Vec::with_capacity(places),
                slices: here.iter().map(|&ue| config.ues[ue as usize].slice).collect(),
                channel,
                reported,
                per_ue_channels: config.ues.iter().any(|ue| ue.channel.is_some()),
                errors_follow_sinr: config.cell().channels().any(|(_, c)| c.errors_follow_sinr()),
                unit,
                backlog: RlcView::default(),
                wants_reports: false,
                offers: Vec::new(),
                rated: Vec::new(),
                feeds: Vec::new(),
                slot_weight: SlotWeight::of(slot),
                meter: None,
                sleep: build_sleep(config, here),
                roster,
            },
            service,
            clocks,
            sdap_batch: config.sdap.batch,
            sdap_busy: Vec::new(),
            slot,
            last_slot: None,
            unpaced,
            pours: unpaced && !config.rlc.marking.is_elsewhere(),
            assert_bound: config.assert_bound,
            clairvoyant: config.foresees().then_some(context),
            held: 0,
            delivered: 0,
            came: 0,
            gone: 0,
            carried: 0,
            splits: None,
            wire: Wire::of(&config.rlc),
            marking: Marking::of(&config.rlc.marking, places),
        };
        for (place, index) in here.iter().map(|&ue| ue as usize).enumerate() {
            let ue = &config.ues[index];
            let key = ue_key(config, index);
            let gate = build_gate(config, ue, &context, key)?;
            let bearers = build_bearers(config, ue, &gate, key)?;
            let own = stack.build_channel(config, index)?;
            stack.cell.wants_reports |= gate.wants_reports();
            stack.cell.gates.push(gate);
            stack.cell.ues.push(UeRadio { bearers, own });
            let apart = Apart::of(config.rlc.report_delay, &config.rlc.f1, mix(key ^ 2));
            stack.inform(place, apart);
            stack.service.enter(place as u32, index as u32, ue.drbs);
            let ue = stack.build_ue(ue);
            stack.core.ues.push(ue);
        }
        if stack.queues().any(|queue| queue.needs().timeouts) {
            stack.clocks.expect_timeouts();
        }
        stack.check_polls(config)?;
        Ok(stack)
    }

    /// The own channel of UE `index`, if it has one.
    fn build_channel(
        &self,
        config: &StackConfig,
        index: usize,
    ) -> Result<Option<Box<OwnChannel>>, ConfigError> {
        let Some(own) = &config.ues[index].channel else { return Ok(None) };
        let context = channel_context(config, mix(ue_key(config, index) ^ 4));
        let channel = Channel::new(own, &context)
            .map_err(|e| e.within("channel").within(&alloc::format!("ue[{index}]")))?;
        let reported = self.cell.reported.is_some().then(|| channel.clone());
        Ok(Some(Box::new(OwnChannel { channel, reported })))
    }

    /// Registers the bearers of the UE in `place` for all that their AQMs, and AQMs above, need.
    fn inform(&mut self, place: usize, apart: Option<Apart>) {
        self.rate_bearers(place);
        self.feed_aqms(place as u32, apart);
        self.watch_marks(place as u32);
    }

    /// Registers the bearers of the UE in `place` whose AQMs need their rates, unless the MAC
    /// reports the rates itself.
    fn rate_bearers(&mut self, place: usize) {
        let Self { cell, service, .. } = self;
        if service.tells_rates() {
            return;
        }
        for (drb, bearer) in (0..).zip(cell.ues[place].bearers.iter()) {
            let rate = ServiceRate::of(bearer.queue().needs());
            cell.rated.extend(rate.map(|rate| (BearerId { ue: place as u32, drb }, rate)));
        }
    }

    /// Registers the bearers of the UE in `place` whose AQMs in SDAP need delivery reports, which
    /// come over the way `apart`.
    pub(super) fn feed_aqms(&mut self, place: u32, apart: Option<Apart>) {
        let Cell { gates, ues, feeds, .. } = &mut self.cell;
        let gate = &gates[place as usize];
        let drbs = 0..ues[place as usize].bearers.len() as u8;
        let fed = drbs.filter(|drb| gate.needs_reports(*drb));
        feeds.extend(fed.map(|drb| Feed::new(BearerId { ue: place, drb }, apart)));
    }

    /// The UE in `place` is here: another node may mark for its bearers.
    pub(super) fn watch_marks(&mut self, place: u32) {
        if let Some(marking) = &mut self.marking {
            marking.watch(place, &mut self.cell.ues[place as usize].bearers);
        }
    }

    fn build_ue(&self, ue: &UeConfig) -> Ue {
        Ue {
            qfis: self.shared(|ue| &ue.qfis, ue.qos_flows.iter().map(|flow| flow.qfi)),
            rules: self.shared(|ue| &ue.rules, ue.rules.iter().cloned()),
            away: false,
        }
    }

    /// Shares `items` with the previous UE if they are equal.
    fn shared<T: PartialEq>(
        &self,
        of: impl Fn(&Ue) -> &Arc<[T]>,
        items: impl ExactSizeIterator<Item = T> + Clone,
    ) -> Arc<[T]> {
        match self.core.ues.last().map(of) {
            Some(before) if before.iter().eq(items.clone().collect::<Vec<_>>().iter()) => {
                Arc::clone(before)
            }
            _ => items.collect(),
        }
    }

    /// Checks that a pacer, and a limiter whose room changes with time alone, have a poll that
    /// calls them again.
    fn check_polls(&self, config: &StackConfig) -> Result<(), ConfigError> {
        let paces = self.cell.gates.iter().any(Gate::paces);
        // The clairvoyant pacer counts SDAP's polls before the UPF's next opportunity.
        let foresees = config.sdap.pacer.foresees();
        let why = "the method opens with time and must be asked several times a slot";
        justfull_base::error::ensure(
            !((paces || foresees) && self.clocks.sdap.is_event_driven()),
            "sdap.poll.period",
            &config.sdap.poll.period,
            "above 0s with this rlc.limiter or sdap.pacer",
            why,
        )?;
        let paced = config.sdap.pacer.paces();
        justfull_base::error::ensure(
            !(paced && self.clocks.upf.is_event_driven()),
            "upf.poll.period",
            &config.upf.poll.period,
            "above 0s with this sdap.pacer",
            why,
        )
    }
}
