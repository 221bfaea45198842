//! Several cells: their settings, the UEs' places and moves, and handovers.
//!
//! Source: TS 38.300 section 9.2.3.2 (handover over Xn), TS 38.331 section 5.5.4.4 (event A3), TS
//! 38.323 sections 5.1.2 and 5.4 (PDCP), TS 38.322 section 5.1.2 (RLC), TS 38.413 section 8.4.4
//! (path switch request).
//!
//! ```text
//! decision --preparation--> the UE leaves --interruption--> it joins --path_switch--> UPF switches
//! ```
//! From the UE's departure on, the source forwards waiting packets, packets that still arrive from
//! the UPF and, in acknowledged mode, SDUs whose delivery is not confirmed. Each ordered pair of
//! cells has an Xn wire of one rate and one delay. The target keeps the forwarded data until the UE
//! joins. At the path switch the UPF sends an end marker behind the last packet of the old path.
//! Later packets go to the target, which keeps them until the end marker arrives.

use justfull_base::error::ensure;
use justfull_base::{BitRate, ConfigError, Duration, Ratio, choice, table};
use justfull_ran::channel::ChannelConfig;
use justfull_ran::{MacConfig, RlcModeConfig, SplitConfig, StackConfig};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most cells of a world. Their slots are served one by one.
pub const MOST_CELLS: usize = 256;
/// Most moves of one UE, which bounds memory.
pub const MOST_MOVES: usize = 100_000;

choice! {
    serde;
    /// The state of a UE's limiters, pacers and AQMs after a handover.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum State {
        /// They start anew, as in another gNB.
        #[default]
        New = "new",
        /// They keep the state that they had in the source, as in a gNB whose CU has both cells.
        Kept = "kept",
    }
}

table! {
    /// The path from the source gNB to the target.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct XnConfig with Default {
        /// Rate of the wire of two cells, in each direction; "0bit/s" for infinitely fast.
        rate: BitRate = BitRate(1_000_000_000);
        /// One-way delay.
        delay: Duration = Duration::from_millis(2), at_most(Duration::from_secs(10)), "a handover ends";
    }
}

table! {
    /// Handovers of all UEs.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct HandoverConfig with Default {
        /// From the decision to the UE's departure: request, admission, RRC reconfiguration. The
        /// source still serves it.
        preparation: Duration = Duration::from_millis(20), at_most(Duration::from_secs(10)),
            "TS 38.300 section 9.2.3.2.1";
        /// From the UE's departure to its first slot in the target: no cell serves it.
        interruption: Duration = Duration::from_millis(50), at_most(Duration::from_secs(10)),
            "TS 38.133 section 6.1.1.2.2";
        /// From the UE's arrival to the UPF's switch.
        path_switch: Duration = Duration::from_millis(10), at_most(Duration::from_secs(10)),
            "TS 38.413 section 8.4.4";
        /// Conditional handover: the target is prepared in advance, and the UE leaves at the
        /// decision. The source forwards only after the target has reported the UE's arrival.
        conditional: bool = false, free(), "TS 38.300 section 9.2.3.4";
        /// Share of handovers in which the UE does not reach the target in time. It then
        /// re-establishes its connection in the target when T304 ends.
        failure: Ratio = Ratio(0.0), within(Ratio(0.0), Ratio(1.0)), "TS 38.331 section 5.3.5.8.3";
        /// From the UE's departure to the end of T304.
        t304: Duration = Duration::from_millis(200),
            within(Duration::from_millis(50), Duration::from_secs(10)), "TS 38.331 t304";
        /// Radio links fail: a UE with `ue.a3` whose serving cell's SINR stays below `qout` for
        /// `t310` re-establishes its connection in the best other cell, which then fetches its
        /// context and its data.
        rlf: bool = false, free(), "TS 38.331 section 5.3.10.3";
        /// The SINR below which the UE's radio link is out of synchronisation.
        qout: f64 as "dB" = -8.0, within(-30.0, 30.0), "TS 38.133 section 8.1.1";
        /// Time for which the link must stay out of synchronisation.
        t310: Duration = Duration::from_secs(1), at_most(Duration::from_secs(10)), "TS 38.331 t310";
        /// From the end of T304, or from a failure of the radio link, to the UE's first slot in the
        /// target.
        reestablishment: Duration = Duration::from_millis(100), at_most(Duration::from_secs(10)),
            "TS 38.133 section 6.2.1";
        /// The source forwards. If false, it drops waiting packets and packets that still arrive.
        forwarding: bool = true;
        /// The state of limiters, pacers and AQMs in the target.
        state: State = State::New;
        /// The path between gNBs.
        xn: XnConfig = Default::default();
    }
}

table! {
    /// Event A3: a neighbour becomes better by an offset than the serving cell.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct A3Config with Default {
        /// How much better.
        offset: f64 as "dB" = 3.0, within(-15.0, 15.0), "TS 38.331 a3-Offset";
        /// Hysteresis.
        hysteresis: f64 as "dB" = 1.0, within(0.0, 15.0), "TS 38.331 Hysteresis";
        /// Time for which the event must hold; with 0 ms the first measurement decides.
        time_to_trigger: Duration = Duration::from_millis(160),
            at_most(Duration::from_millis(5120)), "TS 38.331 TimeToTrigger";
        /// Time between measurements.
        period: Duration = Duration::from_millis(40),
            within(Duration::from_millis(1), Duration::from_secs(10)), "TS 38.331 section 5.5.3";
    }
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct CellConfig {
    /// Its name.
    pub name: Arc<str>,
    /// Its MAC, with its carrier and slots.
    pub mac: MacConfig,
    /// Its channel.
    pub channel: ChannelConfig,
    /// Position of the gNB's antenna, for UEs with a channel of kind `umi`.
    pub gnb: Option<[f64; 3]>,
}

/// A change of cell at a given time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// When the source decides.
    pub at: Duration,
    /// Index of the target.
    pub to: u32,
}

/// The place of a UE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Index of its cell at the start.
    pub cell: u32,
    /// Its moves, in order of time.
    pub moves: Vec<Move>,
    /// Its measurements, if they decide on handovers.
    pub a3: Option<A3Config>,
    /// Index of its secondary cell, and its split bearers, with dual connectivity.
    pub split: Option<(u32, SplitConfig)>,
}

/// The cells of a world with several.
#[derive(Clone, Debug, PartialEq)]
pub struct CellsConfig {
    /// Two or more.
    pub cells: Vec<CellConfig>,
    /// One for each UE.
    pub places: Vec<Arc<Place>>,
    /// Handovers.
    pub handover: HandoverConfig,
}

impl CellsConfig {
    /// The settings of cell `index`. `common` has the settings that all cells share.
    ///
    /// # Panics
    /// If there is no such cell.
    #[must_use]
    pub fn stack(&self, common: &StackConfig, index: usize) -> StackConfig {
        let CellConfig { mac, channel, .. } = &self.cells[index];
        let (mac, channel) = (mac.clone(), channel.clone());
        self.placed(StackConfig { mac, channel, ..common.clone() }, index)
    }

    /// The settings of the uplink of cell `index`, if the uplink is a stack; `common` and `chain`
    /// have the settings that all cells and their uplinks share. A carrier, slots and a channel
    /// that the common uplink has from the common cell are those of the cell itself.
    ///
    /// # Panics
    /// If there is no such cell.
    #[must_use]
    pub fn uplink(&self, common: &StackConfig, chain: &StackConfig, index: usize) -> StackConfig {
        let cell = &self.cells[index];
        let mut stack = chain.clone();
        if let (MacConfig::Uplink(uplink), MacConfig::Rb(shared), MacConfig::Rb(own)) =
            (&mut stack.mac, &common.mac, &cell.mac)
            && (&uplink.carrier, uplink.slot) == (&shared.carrier, shared.slot)
        {
            (uplink.carrier, uplink.slot) = (own.carrier.clone(), own.slot);
        }
        if stack.channel == common.channel {
            stack.channel = cell.channel.clone();
        }
        self.placed(stack, index)
    }

    /// `stack` with the random numbers and the antenna of cell `index`.
    fn placed(&self, mut stack: StackConfig, index: usize) -> StackConfig {
        let cell = &self.cells[index];
        stack.seed = justfull_base::rng::stream_key(stack.seed, &format!("cell.{}", cell.name));
        let Some(gnb) = cell.gnb else { return stack };
        for ue in &mut stack.ues {
            if let Some(ChannelConfig::Umi(own)) = &ue.channel {
                let channel =
                    ChannelConfig::Umi(justfull_ran::channel::UmiConfig { gnb, ..own.clone() });
                Arc::make_mut(ue).channel = Some(channel);
            }
        }
        stack
    }

    /// The UEs with a place in `cell` at the start, and the others that may be there later or
    /// measure it. A UE with split bearers has a place in its secondary cell too.
    #[must_use]
    pub fn ues_of(&self, cell: u32) -> [Vec<u32>; 2] {
        self.divided(cell, |place| place.cell == cell || place.secondary() == Some(cell))
    }

    /// Like [`Self::ues_of`] for the uplink, which a UE has to its serving cell alone.
    #[must_use]
    pub fn uplinks_of(&self, cell: u32) -> [Vec<u32>; 2] {
        self.divided(cell, |place| place.cell == cell)
    }

    /// The UEs that are `here` in `cell`, and the others that may be there later or measure it.
    fn divided(&self, cell: u32, here: impl Fn(&Place) -> bool) -> [Vec<u32>; 2] {
        let those = |is: &dyn Fn(&Place) -> bool| {
            (0..).zip(&self.places).filter(|(_, place)| is(place)).map(|(ue, _)| ue).collect()
        };
        [those(&here), those(&|place| !here(place) && place.may_be_in(cell))]
    }

    /// True if a UE may change its cell.
    #[must_use]
    pub fn moves(&self) -> bool {
        self.places.iter().any(|place| place.moves())
    }

    /// Checks the bounds; `common` has the settings that all cells share.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn validate(&self, common: &StackConfig) -> Result<(), ConfigError> {
        let n = self.cells.len();
        let most = format!("2 to {MOST_CELLS}");
        ensure((2..=MOST_CELLS).contains(&n), "cell", &n, &most, "each serves its slots")?;
        self.handover.validate().map_err(|e| e.within("handover"))?;
        self.handover.xn.validate().map_err(|e| e.within("handover.xn"))?;
        for (i, cell) in self.cells.iter().enumerate() {
            let at = format!("cell[{i}]");
            let twice = self.cells[..i].iter().any(|other| other.name == cell.name);
            ensure(
                !twice,
                &format!("{at}.name"),
                &cell.name,
                "each name once",
                "a UE names its cell",
            )?;
            let first = &self.cells[0];
            let same =
                first.mac.unit() == cell.mac.unit() && first.mac.has_rlc() == cell.mac.has_rlc();
            let allowed = format!("the kind of the first cell, {}", first.mac.name());
            let why = "results and limiters have one unit";
            ensure(same, &format!("{at}.mac.kind"), &cell.mac.name(), &allowed, why)?;
            ensure(
                matches!(cell.mac.name(), "packets" | "bytes" | "rb"),
                &format!("{at}.mac.kind"),
                &cell.mac.name(),
                "packets, bytes, rb with several cells",
                "UMTS has soft handover and relocation, which are not modelled",
            )?;
            self.stack(common, i).validate().map_err(|e| of_cell(e, &at))?;
        }
        let (places, ues) = (self.places.len(), common.ues.len());
        let why = "each UE is in a cell";
        ensure(places == ues, "places", &places, &format!("{ues}, as there are UEs"), why)?;
        let measured = self.places.iter().any(|place| place.a3.is_some());
        let why = "measurements show that a link fails";
        let ok = !self.handover.rlf || measured;
        ensure(ok, "handover.rlf", &true, "false without a UE that has a3", why)?;
        for (i, place) in self.places.iter().enumerate() {
            place.validate(n).map_err(|e| e.within(&format!("ue[{i}]")))?;
            self.validate_split(i, place, common)?;
        }
        if self.moves() && self.cells[0].mac.has_rlc() { validate_moves(common) } else { Ok(()) }
    }

    /// Checks the split bearers of UE `i`, in `place`, and the settings that depend on them.
    fn validate_split(
        &self,
        i: usize,
        place: &Place,
        common: &StackConfig,
    ) -> Result<(), ConfigError> {
        let Some((secondary, split)) = &place.split else { return Ok(()) };
        let at = |name: &str| format!("ue[{i}].{name}");
        let known = (*secondary as usize) < self.cells.len() && *secondary != place.cell;
        let allowed = "another cell than `cell`";
        let why = "the legs of a split bearer are in two cells";
        ensure(known, &at("secondary"), secondary, allowed, why)?;
        split.validate().map_err(|e| e.within(&at("split")))?;
        let stays = place.moves.is_empty() && place.a3.is_none();
        let why = "handovers of split bearers are not modelled";
        ensure(stays, &at("secondary"), &"set", "none for a UE that moves", why)?;
        let drbs = common.ues[i].drbs;
        let wrong = split.drbs.iter().find(|drb| **drb >= drbs);
        let why = "TS 37.340 section 4.2.2";
        let found = wrong.copied().unwrap_or_default();
        ensure(wrong.is_none(), &at("split.drbs"), &found, &format!("below {drbs}"), why)?;
        let mac = self.cells[0].mac.name();
        let why = "PDCP is above the legs";
        ensure(mac == "rb", "mac.kind", &mac, "rb with ue.secondary", why)?;
        let mode = common.rlc.mode.is_of_nr() && !matches!(common.rlc.mode, RlcModeConfig::Tm(_));
        let found = common.rlc.mode.name();
        ensure(mode, "rlc.mode", &found, "um or am of nr with ue.secondary", why)?;
        let sn_bits = common.pdcp.sn_bits;
        let why = "half of the numbers must hold what waits in both legs";
        ensure(sn_bits == 18, "pdcp.sn_bits", &sn_bits, "18 with ue.secondary", why)?;
        let queue = &common.rlc.queue;
        let plain = queue.discipline.name() == "fifo" && queue.aqm.name() == "none";
        let found = format!("{} and {}", queue.discipline.name(), queue.aqm.name());
        let allowed = "discipline fifo and aqm none with ue.secondary";
        let why = "a PDU that is dropped below PDCP makes the UE wait for t-Reordering";
        ensure(plain, "rlc.queue", &found, allowed, why)?;
        let sent = common.rlc.hold == justfull_ran::config::Hold::Sent;
        let found = common.rlc.hold.name();
        let why = "the legs' queues hold what waits";
        ensure(sent, "rlc.hold", &found, "sent with ue.secondary", why)?;
        let pacer = common.sdap.pacer.name();
        let why = "a pacer fills one RLC";
        ensure(pacer == "unpaced", "sdap.pacer", &pacer, "unpaced with ue.secondary", why)
    }

    /// Checks the bounds of the uplink's stack `chain`; `common` has the settings that all cells
    /// share.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn validate_uplink(
        &self,
        common: &StackConfig,
        chain: &StackConfig,
    ) -> Result<(), ConfigError> {
        for i in 0..self.cells.len() {
            self.uplink(common, chain, i).validate()?;
        }
        if self.moves() { validate_moves(chain) } else { Ok(()) }
    }

    /// Checks that a UE measured by A3 has a signal in each cell.
    ///
    /// # Errors
    /// The UE without one.
    pub fn validate_signals(&self, common: &StackConfig) -> Result<(), ConfigError> {
        let measured = self.places.iter().enumerate().filter(|(_, place)| place.a3.is_some());
        for (i, _) in measured {
            let umi = matches!(common.ues[i].channel, Some(ChannelConfig::Umi(_)));
            let allowed = "with a channel of kind umi";
            let why = "A3 compares signals at positions";
            ensure(umi, &format!("ue[{i}].a3"), &"set", allowed, why)?;
            for (c, cell) in self.cells.iter().enumerate() {
                let field = format!("cell[{c}].gnb");
                let why = "a UE measures the signals of all cells";
                ensure(cell.gnb.is_some(), &field, &"none", "a position with ue.a3", why)?;
            }
        }
        Ok(())
    }
}

/// Checks that the RLC of `stack` can follow UEs that move.
fn validate_moves(stack: &StackConfig) -> Result<(), ConfigError> {
    ensure(
        stack.rlc.mode.is_of_nr(),
        "rlc.mode.generation",
        &"lte",
        "nr with UEs that move",
        "RLC is re-established as in TS 38.322",
    )?;
    ensure(
        stack.rlc.hold == justfull_ran::config::Hold::Sent,
        "rlc.hold",
        &stack.rlc.hold.name(),
        "sent with UEs that move",
        "PDCP keeps what is not acknowledged",
    )
}

/// The field of cell `at` that `e` names, if cells have that field.
fn of_cell(e: ConfigError, at: &str) -> ConfigError {
    let own = ["mac", "channel"].iter().any(|own| e.field.starts_with(own));
    if own { e.within(at) } else { e }
}

impl Place {
    /// True if the UE may change the cell.
    #[must_use]
    pub fn moves(&self) -> bool {
        !self.moves.is_empty() || self.a3.is_some()
    }

    /// The secondary cell of a UE with split bearers.
    pub(crate) fn secondary(&self) -> Option<u32> {
        self.split.as_ref().map(|(secondary, _)| *secondary)
    }

    /// True if the UE may be in `cell` or measures it.
    fn may_be_in(&self, cell: u32) -> bool {
        self.cell == cell || self.a3.is_some() || self.moves.iter().any(|step| step.to == cell)
    }

    fn validate(&self, cells: usize) -> Result<(), ConfigError> {
        let known = format!("0 to {}", cells - 1);
        let is_cell = |cell: u32| (cell as usize) < cells;
        ensure(is_cell(self.cell), "cell", &self.cell, &known, "an index of the cells")?;
        let n = self.moves.len();
        let most = format!("at most {MOST_MOVES}");
        ensure(n <= MOST_MOVES, "moves", &n, &most, "memory is bounded")?;
        let (mut at, mut here) = (Duration::ZERO, self.cell);
        for (i, step) in self.moves.iter().enumerate() {
            let field = |name: &str| format!("moves[{i}].{name}");
            ensure(is_cell(step.to), &field("cell"), &step.to, &known, "an index of the cells")?;
            let why = "a handover leads to another cell";
            ensure(step.to != here, &field("cell"), &step.to, "another cell than before", why)?;
            let later = step.at >= at;
            ensure(later, &field("at"), &step.at, "not before the move above", "in order of time")?;
            (at, here) = (step.at, step.to);
        }
        let Some(a3) = &self.a3 else { return Ok(()) };
        ensure(n == 0, "moves", &n, "none with a3", "measurements decide")?;
        a3.validate().map_err(|e| e.within("a3"))
    }
}
