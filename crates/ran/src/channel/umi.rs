//! A street canyon at millimetre waves: the quality of a gNB's signal for a UE that walks between
//! buildings.
//!
//! Source: TR 38.901, UMi street canyon: path loss with and without line of sight (Table 7.4.1-1),
//! shadow fading (section 7.4.4, Tables 7.4.1-1 and 7.5-6), penetration into buildings (section
//! 7.4.3). Line of sight is not random here: it follows from the line between the antennas and the
//! buildings, as in R22's simulation, which also gives the default powers.
//!
//! Once per [`UmiConfig::step`] the position of the UE determines the obstacles between it and the
//! gNB. These determine the losses, and the losses give the SINR, with the transmit power spread
//! evenly over the carrier's resource blocks:
//!
//! ```text
//! SINR = tx_power + gnb_gain + ue_gain - path loss - shadow - penetration - noise_figure - noise
//! ```
//!
//! in dB, with thermal noise of -174 dBm/Hz over the carrier. The SINR gives the CQI that the UE
//! reports, and `map` gives the MCS with which the MAC answers. The failure rate of the block then
//! follows from the SINR of the slot in which it is sent. A late report (`mac.cqi_delay`) states an
//! older SINR. [`justfull_phy::link`] has the curves. Transmissions of one block add their SINRs
//! (Chase combining: 3 dB for the second at the same SINR), and a block is decoded once their sum
//! reaches its required SINR. This requirement is drawn once, so a block that fails at some sum
//! fails at any lower sum.
//!
//! For a UE inside a building or on its walls there are three losses: on the path, as if the
//! building did not exist; in the wall; and from the wall to the UE. The last loss and the wall's
//! deviation are drawn once for each building.
//!
//! Defaults: 28 GHz, 35 dBm, a noise figure of 9 dB (R22's program), 64 and 16 antenna elements (18
//! and 12 dB), a UE that stands in line of sight.
//!
//! Known weaknesses: no small-scale fading (the attenuation of the Shannon bound stands for it), no
//! beam search and no interference: the arrays always point at each other, and SINR is SNR. There
//! are no reflections and no diffraction except in the formulas' averages; a step into the shadow
//! costs about 20 dB at once. Deviations from TR 38.901: line of sight by geometry and not at
//! random; below 10 m the loss is the loss at 10 m. UEs with their own channels have their own
//! shadows.

mod path_loss;
mod scene;
mod shadowing;
#[cfg(test)]
mod tests;

use super::{ChannelContext, ChannelModel, ChannelSettings};
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::param::Param;
use justfull_base::rng::mix;
use justfull_base::{ConfigError, Duration, Instant, Ratio, Rng, choice, params, table};
use justfull_phy::CqiToMcs;
use justfull_phy::cqi::McsTable;
use justfull_phy::link::LinkCurves;
use path_loss::{Heights, power};
use scene::{Ground, Scene, distance};
use shadowing::Shadows;

/// Greatest distance on the ground between gNB and UE (Table 7.4.1-1).
const GREATEST_DISTANCE: f64 = 5000.0;
/// Least and greatest height of a UE (Table 7.4.1-1).
const UE_HEIGHTS: [f64; 2] = [1.5, 22.5];
/// Greatest height of gNB and buildings, above any existing building.
const GREATEST_HEIGHT: f64 = 1000.0;
/// Maximum number of corners of a walk, and of buildings: each is examined for every step.
const MOST: usize = 1000;

choice! {
    /// How much the walls of buildings take away (TR 38.901 Table 7.4.3-2).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum OutdoorToIndoor {
        /// Of old buildings: 30 % plain glass, the rest concrete.
        #[default]
        Low = "low",
        /// Of new ones: 70 % metal-coated glass, the rest concrete.
        High = "high",
    }
}

table! {
    /// A building: a box on the ground.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    #[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
    pub struct Building {
        /// From where to where along x; the second is greater.
        x: [f64; 2] as "m, m";
        /// From where to where along y; the second is greater.
        y: [f64; 2] as "m, m";
        /// From the ground to the roof.
        height: f64 as "m" where (above(0.0).to(GREATEST_HEIGHT));
    }
    check Self::check_extent;
}

impl Building {
    fn check_extent(&self) -> Result<(), ConfigError> {
        const WHY: &str = "a building has an extent";
        for (axis, [low, high]) in [("x", self.x), ("y", self.y)] {
            let ok = low < high && low.is_finite() && high.is_finite();
            ensure(ok, axis, &[low, high].written(), "two positions, the second greater", WHY)?;
        }
        Ok(())
    }
}

params! {
    /// Settings of a street canyon.
    #[derive(Clone, Debug, PartialEq)]
    pub struct UmiConfig: "TR 38.901 Table 7.4.1-1" {
        /// The gNB's antenna: x, y, height above ground.
        gnb: [f64; 3] as "m, m, m" = [0.0, 0.0, 10.0],
            stated("a height above 1, at most 1000; outside of the buildings");
        /// Where the UE is at first: x, y, height above ground.
        ue: [f64; 3] as "m, m, m" = [10.0, 0.0, 1.5],
            stated("at most 5000 from the gNB, a height of 1.5 to 22.5");
        /// Corners that the UE walks to, one after the other: x, y of each; at the last it stays.
        walk: Vec<[f64; 2]> as "list of m, m" = Vec::new(),
            stated("at most 1000 corners, each at most 5000 from the gNB and none where the UE \
                    already is");
        /// How fast it walks.
        speed: f64 as "m/s" = 1.0, within(0.01, 500.0), "slower is standing";
        /// Buildings, each as { x = [20, 63], y = [3, 58], height = 28 }.
        buildings: Vec<Building> as "list of tables" = Vec::new(), stated("at most 1000");
        /// Carrier frequency.
        frequency: f64 as "GHz" = 28.0, within(0.5, 100.0), "TR 38.901 section 7.1";
        /// Power of the gNB over the whole carrier.
        tx_power: f64 as "dBm" = 35.0, within(-50.0, 100.0);
        /// Gain of the gNB's antenna array.
        gnb_gain: f64 as "dB" = 18.0, within(-50.0, 100.0);
        /// Gain of the UE's.
        ue_gain: f64 as "dB" = 12.0, within(-50.0, 100.0);
        /// Noise figure of the UE.
        noise_figure: f64 as "dB" = 9.0, within(0.0, 50.0);
        /// Draw shadow fading and the loss through each building at random; if false, both have
        /// their mean.
        shadowing: bool = true;
        /// How much the walls of buildings take away from a UE inside.
        outdoor_to_indoor: OutdoorToIndoor = OutdoorToIndoor::Low;
        /// How long the UE is taken to stand still.
        step: Duration = Duration::from_millis(10),
            above(Duration::ZERO).to(Duration::from_secs(10)), "a walk is more than a jump";
        /// Which MCS answers a CQI; it leads to the carrier's MCS table.
        map: CqiToMcs = CqiToMcs::NrTable1, rule("nr_t1, nr_t2, nr_t3", |c| {
            matches!(c.map.mcs_table(), McsTable::Nr(_))
        }), "LTE's MCSs have no code rate of their own";
        /// Share of Shannon's bound that the link reaches; it says what SINR an MCS needs.
        attenuation: Ratio = Ratio(0.6), within(Ratio(0.1), Ratio(1.0)), "TR 36.942 Annex A.1";
        /// The step in SINR from 90 % of block errors to 10 %.
        bler_width: f64 as "dB" = 1.0, within(0.01, 20.0), "a curve falls over some SINR";
    }
    check Self::check_scene;
}

impl UmiConfig {
    /// Checks the positions.
    fn check_scene(&self) -> Result<(), ConfigError> {
        const TABLE: &str = "TR 38.901 Table 7.4.1-1";
        let [x, y, height] = self.gnb;
        let standing = x.is_finite() && y.is_finite() && height > path_loss::ENVIRONMENT;
        let ok = standing && height <= GREATEST_HEIGHT;
        let allowed = "finite positions, a height above 1, at most 1000";
        ensure(ok, "gnb", &self.gnb.written(), allowed, TABLE)?;
        let ok = (UE_HEIGHTS[0]..=UE_HEIGHTS[1]).contains(&self.ue[2]);
        let why = "TR 38.901 Table 7.4.1-1: a UE stands on the ground or in a building";
        ensure(ok, "ue", &self.ue.written(), "a height of 1.5 to 22.5", why)?;
        let is_near = |at: Ground| distance(at, [x, y]) <= GREATEST_DISTANCE;
        let allowed = "at most 5000 m from the gNB";
        ensure(is_near([self.ue[0], self.ue[1]]), "ue", &self.ue.written(), allowed, TABLE)?;
        let most = format!("at most {MOST}");
        let why = "each is looked at for every step";
        ensure(self.walk.len() <= MOST, "walk", &self.walk.len(), &most, why)?;
        ensure(self.buildings.len() <= MOST, "buildings", &self.buildings.len(), &most, why)?;
        let mut before = [self.ue[0], self.ue[1]];
        for (i, &corner) in self.walk.iter().enumerate() {
            let field = format!("walk[{i}]");
            ensure(is_near(corner), &field, &corner.written(), allowed, TABLE)?;
            let moves = "another place than the one before";
            let why = "at the last corner the UE stays";
            ensure(distance(corner, before) > 0.0, &field, &corner.written(), moves, why)?;
            before = corner;
        }
        for (i, building) in self.buildings.iter().enumerate() {
            let field = format!("buildings[{i}]");
            building.validate().map_err(|e| e.within(&field))?;
            let apart = "a building that the gNB is not in";
            let why = "the formulas are for an antenna outside";
            ensure(!building.surrounds(self.gnb), &field, &building.written(), apart, why)?;
        }
        Ok(())
    }
}

impl ChannelSettings for UmiConfig {
    fn map(&self) -> Option<CqiToMcs> {
        Some(self.map)
    }

    fn needs_carrier(&self) -> bool {
        true
    }

    fn errors_follow_sinr(&self) -> bool {
        true
    }
}

/// The radio parameters that convert a position to a SINR.
#[derive(Debug)]
struct Street {
    scene: Scene,
    heights: Heights,
    frequency: f64,
    /// Powers and gains minus noise, in dB: the SINR without any loss.
    budget: f64,
    /// With line of sight, without it and inside; none without shadow fading.
    shadows: Option<Box<[Shadows; 3]>>,
    /// Loss in dB of each building's wall and of the path behind it.
    buildings: Vec<f64>,
    curves: LinkCurves,
    step: u64,
    arrival: Instant,
}

/// Standard deviation in dB and correlation distance in m of shadow fading in sight, out of sight
/// and inside (TR 38.901 Tables 7.4.1-1 and 7.5-6, UMi).
const SHADOWS: [(f64, f64); 3] = [(4.0, 10.0), (7.82, 13.0), (7.0, 7.0)];

impl Street {
    fn new(config: &UmiConfig, context: &ChannelContext, hertz: f64) -> Result<Self, ConfigError> {
        let UmiConfig { frequency, tx_power, gnb_gain, ue_gain, noise_figure, .. } = *config;
        let budget = tx_power + gnb_gain + ue_gain - noise_figure - path_loss::noise(hertz);
        let field = |n: usize| {
            let (deviation, correlation) = SHADOWS[n];
            Shadows::new(mix(context.key ^ (n as u64 + 1)), deviation, correlation)
        };
        let (wall, deviation) = path_loss::wall(config.outdoor_to_indoor, frequency);
        let mut rng = Rng::from_key(mix(context.key ^ 4));
        let mut building = || {
            if !config.shadowing {
                return wall + path_loss::MEAN_WITHIN;
            }
            wall + deviation * rng.normal() + path_loss::within([rng.unit(), rng.unit()])
        };
        let no_curves = || {
            let allowed = "a map that leads to an NR table";
            ConfigError::new("map", &config.map.name(), allowed, "TS 38.214 section 5.1.3.1")
        };
        let curves = LinkCurves::new(config.map, config.attenuation.0, config.bler_width);
        let scene = Scene::new(config);
        Ok(Self {
            heights: Heights { gnb: config.gnb[2], ue: config.ue[2] },
            frequency,
            budget,
            shadows: config.shadowing.then(|| Box::new(core::array::from_fn(field))),
            buildings: config.buildings.iter().map(|_| building()).collect(),
            curves: curves.ok_or_else(no_curves)?,
            step: config.step.as_nanos(),
            arrival: scene.arrival(),
            scene,
        })
    }

    /// The SINR of a UE at `position`, in dB.
    fn sinr_db(&self, position: Ground) -> f64 {
        let view = self.scene.view(position);
        let outside = if view.in_sight { path_loss::in_sight } else { path_loss::out_of_sight };
        let mut loss = outside(view.ground, self.heights, self.frequency);
        let mut field = usize::from(!view.in_sight);
        if let Some(building) = view.inside {
            loss += self.buildings[building];
            field = 2;
        }
        let shadow = self.shadows.as_ref().map_or(0.0, |fields| fields[field].at(position));
        self.budget - loss - shadow
    }

    /// The signal in the step that contains `at`.
    fn signal_at(&self, at: Instant) -> Signal {
        let step = at.min(self.arrival).as_nanos() / self.step;
        let since = Instant::from_nanos(step * self.step);
        let last = since + Duration::from_nanos(self.step) > self.arrival;
        let until = if last { Instant::NEVER } else { since + Duration::from_nanos(self.step) };
        let position = self.scene.position(if last { self.arrival } else { since });
        let db = self.sinr_db(position);
        Signal { until, sinr: power(db), cqi: self.curves.cqi(db) }
    }
}

/// The signal at a UE for some time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Signal {
    /// The first instant at which the signal may differ.
    until: Instant,
    /// The SINR as a ratio.
    sinr: f64,
    cqi: u8,
}

/// A running street canyon.
#[derive(Clone, Debug)]
pub struct Umi {
    street: Arc<Street>,
    /// The signal at the last advance.
    now: Signal,
}

impl Umi {
    /// The channel of a valid `config`.
    pub(super) fn new(config: &UmiConfig, context: &ChannelContext) -> Result<Self, ConfigError> {
        let Some(hertz) = context.bandwidth else {
            let allowed = "another kind, or with mac.kind rb";
            let why = "the carrier's width says how much noise there is";
            return Err(ConfigError::new("kind", &"umi", allowed, why));
        };
        let street = Street::new(config, context, hertz as f64)?;
        let now = street.signal_at(Instant::ZERO);
        Ok(Self { street: Arc::new(street), now })
    }

    /// The signal at `at`, not before the last advance.
    #[inline]
    fn signal(&self, at: Instant) -> Signal {
        if at < self.now.until { self.now } else { self.street.signal_at(at) }
    }
}

impl ChannelModel for Umi {
    #[inline]
    fn cqi(&self, _: u64, at: Instant) -> Option<u8> {
        Some(self.signal(at).cqi)
    }

    fn sinr_db(&self, at: Instant) -> Option<f64> {
        Some(10.0 * libm::log10(self.signal(at).sinr))
    }

    #[inline]
    fn advance(&mut self, _: u64, now: Instant) {
        if now >= self.now.until {
            self.now = self.street.signal_at(now);
        }
    }

    fn block_error(&self, at: Instant, mcs: u8, combined: &mut f64) -> Option<f64> {
        *combined += self.signal(at).sinr;
        Some(self.street.curves.bler(mcs, 10.0 * libm::log10(*combined)))
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "umi",
    kind: "channel",
    title: "a UE that walks through a street canyon at 28 GHz",
    text: "Positions, a walk and buildings give sight, path loss, shadow fading and what walls \
           take away; powers and thermal noise give the SINR, that the CQI and the MCS. A block \
           fails as its MCS and the SINR of its slot say, so that a report which is late \
           (mac.cqi_delay) costs blocks, and mac.harq.bler stays 0. It needs a carrier \
           (mac.kind rb) of NR. Settings for the scene of R22: docs/guide/radio.md.",
    sources: "TR 38.901 sections 7.4.1 to 7.4.4, UMi street canyon; R22 section 4, Tables 1 and 2; \
              TR 36.942 Annex A.1 (SINR to CQI); Cai and Giannakis 2003 (shadow fading)",
    deviations: "sight by geometry, not by chance; no small-scale fading, interference or beam \
                 search; transmissions of a block add their SINRs",
    params: UmiConfig::params,
};
