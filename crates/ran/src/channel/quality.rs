//! Converts channel quality to capacity: CQI, then MCS, then transport block, then packets or bytes
//! of a slot.

use super::share::Share;
use super::{CapacityUnit, ChannelContext};
use alloc::format;
use justfull_base::{Bytes, ConfigError, Duration};
use justfull_phy::cqi::{self, CqiToMcs, McsTable};
use justfull_phy::{lte, nr};

/// Symbols of an NR slot that carry data: 14 minus one control symbol.
const NR_DATA_SYMBOLS: u8 = 13;
/// Resource elements per block of one front-loaded type-1 reference symbol with both CDM groups (TS
/// 38.211 section 7.4.1.1.2).
const NR_DMRS_RES: u8 = 12;

/// The radio parameters that two kinds of channel share, with the fields of [`quality_params`].
#[derive(Clone, Copy, Debug)]
pub(super) struct QualityConfig {
    pub(super) map: CqiToMcs,
    pub(super) n_prb: u16,
    pub(super) numerology: u8,
    pub(super) layers: u8,
    pub(super) packet_bytes: Bytes,
    pub(super) interval: Duration,
    pub(super) min_packets: u64,
    pub(super) max_packets: u64,
}

/// [`params!`](justfull_base::params) with the parameters of a radio appended.
macro_rules! quality_params {
    (
        $(#[$($attribute:tt)*])*
        pub struct $Config:ident: $source:literal { $($params:tt)* }
        $(check $check:expr;)?
    ) => {
        justfull_base::params! {
            $(#[$($attribute)*])*
            pub struct $Config: $source {
                $($params)*
                /// Which MCS a CQI stands for: T20's list, OpenAirInterface's, ns-3's, or srsRAN's
                /// for the NR tables 1 to 3. It also picks LTE or NR transport blocks.
                map: CqiToMcs = CqiToMcs::Tmc;
                /// Resource blocks of the cell.
                n_prb: u16 as "resource blocks" = 25, rule(
                    "1 to 110 with an LTE map (55 for two layers), 1 to 275 with an NR map",
                    |c| (1..=c.quality().most_blocks()).contains(&c.n_prb),
                ), "TS 36.213 Table 7.1.7.2.1-1, TS 38.211 section 4.4.2";
                /// Subcarrier spacing 15 x 2^mu kHz; there is one transport block per 1ms / 2^mu,
                /// however long the MAC's slots.
                numerology: u8 as "mu" = 0, rule(
                    "0 with an LTE map, 0 to 3 with an NR map",
                    |c| c.numerology <= if c.quality().is_lte() { 0 } else { 3 },
                ), "TS 36.211 section 6.12, TS 38.211 Table 4.2-1: 15 to 120 kHz carry data";
                /// Spatial layers.
                layers: u8 as "layers" = 1, rule(
                    "1 or 2 with an LTE map, 1 to 4 with an NR map",
                    |c| (1..=if c.quality().is_lte() { 2 } else { 4 }).contains(&c.layers),
                ), "TS 36.213 section 7.1.7.2.2, TS 38.211 section 7.3.1.3";
                /// Size of a packet where grants count packets.
                packet_bytes: Bytes = Bytes(1460),
                    within(Bytes(1), Bytes(65_535)), super::rows::PACKET_SOURCE;
                /// Whole packets are counted per interval (T20: the MAC's tick) and shared among
                /// the slots in it.
                interval: Duration = Duration::from_millis(10),
                    above(Duration::ZERO).to(Duration::from_secs(3600)),
            super::rows::INTERVAL_SOURCE;
                /// Fewest packets per interval while there is a channel (CQI above 0).
                min_packets: u64 as "packets per interval" = 1,
                    rule("0 to max_packets", |c| c.min_packets <= c.max_packets),
            "T20's program clamps to 1..15";
                /// Most packets per interval.
                max_packets: u64 as "packets per interval" = 15,
                    within(1, super::MAX_AMOUNT), "T20's program: 15";
            }
            $(check $check;)?
        }

        impl $Config {
            const fn quality(&self) -> super::quality::QualityConfig {
                super::quality::QualityConfig {
                    map: self.map,
                    n_prb: self.n_prb,
                    numerology: self.numerology,
                    layers: self.layers,
                    packet_bytes: self.packet_bytes,
                    interval: self.interval,
                    min_packets: self.min_packets,
                    max_packets: self.max_packets,
                }
            }
        }
    };
}
pub(super) use quality_params;

impl QualityConfig {
    /// True for a map of LTE.
    pub(super) const fn is_lte(&self) -> bool {
        matches!(self.map.mcs_table(), McsTable::Lte(_))
    }

    /// Maximum number of resource blocks with this map and these layers.
    pub(super) fn most_blocks(&self) -> u16 {
        let lte = if self.layers == 2 { lte::MAX_PRBS / 2 } else { lte::MAX_PRBS };
        if self.is_lte() { lte } else { nr::MAX_PRBS }
    }

    /// Bits of the transport block of each CQI, and their period. CQI 0 carries nothing, regardless
    /// of its MCS in the map (TS 36.213 Table 7.2.3-1: out of range).
    fn blocks(&self) -> Result<([u64; 16], Duration), ConfigError> {
        let mut bits = [0; 16];
        for (cqi, slot) in (0..).zip(&mut bits).skip(1) {
            let size = cqi::to_mcs(self.map, cqi).and_then(|i_mcs| self.block(i_mcs));
            let missing = || {
                let found = format!("no transport block for CQI {cqi}");
                ConfigError::new(
                    "map",
                    &found,
                    "a map whose every answer has one",
                    "TS 36.213, TS 38.214",
                )
            };
            *slot = u64::from(size.ok_or_else(missing)?);
        }
        let period =
            nr::Numerology::new(self.numerology).map_or(Duration::from_millis(1), |n| n.slot());
        Ok((bits, period))
    }

    fn block(&self, i_mcs: u8) -> Option<u32> {
        match self.map.mcs_table() {
            McsTable::Lte(table) => {
                let i_tbs = lte::mcs(table, i_mcs)?.i_tbs;
                if self.layers == 2 {
                    lte::tbs_bits_two_layers(i_tbs, self.n_prb)
                } else {
                    lte::tbs_bits(i_tbs, self.n_prb)
                }
            }
            McsTable::Nr(table) => {
                let mcs = nr::mcs(table, i_mcs)?;
                nr::tbs_bits(&nr::NrTbsInput {
                    n_prb: self.n_prb,
                    symbols: NR_DATA_SYMBOLS,
                    dmrs_res: NR_DMRS_RES,
                    overhead_res: 0,
                    modulation: mcs.modulation,
                    code_rate: mcs.code_rate,
                    layers: self.layers,
                })
            }
        }
    }
}

/// The capacity of a slot at each CQI.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    amounts: [u64; 16],
    share: Share,
}

impl Levels {
    /// The levels of a valid `config` in the cell of `context`.
    ///
    /// In packets: `clamp(floor(TBS interval / (period 8 packet_bytes)), min, max)` per interval,
    /// shared among its slots; with slots as long as the interval this is the rule of T20's
    /// program. In bytes: all bits of the transport blocks, returned as whole bytes with the rest
    /// carried over.
    pub(super) fn new(
        config: &QualityConfig,
        context: &ChannelContext,
    ) -> Result<Self, ConfigError> {
        let slot = context.slot;
        let (bits, period) = config.blocks()?;
        match context.unit {
            CapacityUnit::Packets => {
                let amounts = bits.map(|bits| packets(bits, period, config));
                let share = if slot == config.interval {
                    Share::WHOLE
                } else {
                    Share::new(slot, config.interval, 1, 1)
                };
                Ok(Self { amounts, share })
            }
            CapacityUnit::Bytes => {
                Ok(Self { amounts: bits, share: Share::new(slot, period, 1, 8) })
            }
        }
    }

    /// The capacity of slot `slot_index` at `cqi` (0 to 15).
    #[inline]
    pub(super) fn amount(&self, cqi: u8, slot_index: u64) -> u64 {
        self.share.of(self.amounts[usize::from(cqi & 15)], slot_index)
    }
}

/// Whole packets per interval at `bits` per `period`; 0 if `bits` is 0.
fn packets(bits: u64, period: Duration, config: &QualityConfig) -> u64 {
    if bits == 0 {
        return 0;
    }
    let carried = u128::from(bits) * u128::from(config.interval.as_nanos());
    let packet = u128::from(period.as_nanos()) * 8 * u128::from(config.packet_bytes.0);
    let whole = u64::try_from(carried / packet).unwrap_or(u64::MAX);
    whole.clamp(config.min_packets, config.max_packets)
}
