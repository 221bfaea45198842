//! The carrier of a MAC that allocates resource blocks: the blocks of each slot, their allocation
//! units, and the bytes that n blocks carry at each modulation and coding scheme.
//!
//! Sources: TS 36.213 sections 7.1.6.1 (groups) and 7.1.7 (transport blocks); TS 38.214 sections
//! 5.1.2.2 and 5.1.3; TS 38.213 section 11.1 (slot patterns). A21 section V-A: 25 resource blocks;
//! two subframes of ten offer only 17, since system information takes the others.
//!
//! A slot of an NR block has 14 symbols minus control symbols, one front-loaded reference symbol
//! with both CDM groups and no further overhead. A special slot carries the downlink symbols that
//! its pattern leaves.

use crate::channel::Channel;
use alloc::string::String;
use alloc::vec::Vec;
use justfull_base::doc::MethodDoc;
use justfull_base::error::ensure;
use justfull_base::feedback::CellKind;
use justfull_base::{ConfigError, Duration, Instant, choice, params};
use justfull_phy::rbg::RbgLayout;
use justfull_phy::{cqi, lte, nr};

/// Resource elements per block of one front-loaded type-1 reference symbol with both CDM groups (TS
/// 38.211 section 7.4.1.1.2).
const DMRS_RES: u8 = 12;
/// Symbols of a slot.
const SYMBOLS: u8 = 14;
/// Modulation and coding schemes of a table.
const MCS_ROWS: usize = 29;

choice! {
    /// Whose tables size the transport blocks.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum CarrierKind {
        /// LTE (TS 36.213).
        #[default]
        Lte = "lte",
        /// NR (TS 38.214).
        Nr = "nr",
    }
}

choice! {
    /// The units in which resource blocks are allocated.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum AllocationType {
        /// Resource block groups (LTE and NR type 0, NR configuration 1).
        #[default]
        Type0 = "type0",
        /// Groups of NR configuration 2; as `type0` for LTE, which has one size.
        Type0Config2 = "type0_config2",
        /// Single resource blocks (NR type 1).
        Type1 = "type1",
    }
}

params! {
    /// Settings of a carrier.
    #[derive(Clone, Debug, PartialEq)]
    pub struct CarrierConfig {
        /// Whose tables size the transport blocks.
        kind: CarrierKind = CarrierKind::Lte;
        /// Blocks of the carrier.
        n_prb: u16 as "resource blocks" = 25,
            rule("LTE 1 to 110, 1 to 55 with two layers; NR 1 to 275", |c| {
                let lte = if c.layers == 2 { lte::MAX_PRBS / 2 } else { lte::MAX_PRBS };
                (1..=if c.is_lte() { lte } else { nr::MAX_PRBS }).contains(&c.n_prb)
            }), "TS 36.213 Table 7.1.7.2.1-1, TS 38.211 4.4.2";
        /// LTE: 64QAM, 256QAM. NR: TS 38.214 Tables 5.1.3.1-1 to -3.
        mcs_table: u8 as "table" = 1, rule("LTE 1 or 2, NR 1 to 3", |c| {
            (1..=if c.is_lte() { 2 } else { 3 }).contains(&c.mcs_table)
        }), "TS 36.213 7.1.7.1, TS 38.214 5.1.3.1";
        /// Spatial layers.
        layers: u8 as "layers" = 1, rule("LTE 1 or 2, NR 1 to 4", |c| {
            (1..=if c.is_lte() { 2 } else { 4 }).contains(&c.layers)
        }), "TS 36.213 7.1.7.2.2, TS 38.211 7.3.1.3";
        /// Groups of blocks (NR: configuration 1 or 2), or single blocks.
        allocation: AllocationType = AllocationType::Type0;
        /// Blocks left for data, slot by slot, repeated; empty for all of them.
        offered: Vec<u16> as "list of resource blocks" = Vec::new(), stated("each at most n_prb");
        /// Slot pattern, repeated: D downlink, S special, U uplink; empty for downlink only.
        tdd: String as "letters" = String::new(), stated("D, S, U; no S for LTE");
        /// Downlink symbols of a special slot, control among them (NR).
        special_symbols: u8 as "symbols" = 6, within(0, 13), SYMBOLS_SOURCE;
        /// Symbols of control in each downlink slot (NR).
        control_symbols: u8 as "symbols" = 1, within(0, 3), SYMBOLS_SOURCE;
    }
    check Self::check_patterns;
}

const SYMBOLS_SOURCE: &str = "TS 38.211 section 7.3.2.2, TS 38.213 section 11.1";

impl CarrierConfig {
    const fn is_lte(&self) -> bool {
        matches!(self.kind, CarrierKind::Lte)
    }

    fn check_patterns(&self) -> Result<(), ConfigError> {
        for (i, n) in self.offered.iter().enumerate() {
            let why = "a slot offers no more than the carrier has";
            ensure(*n <= self.n_prb, &alloc::format!("offered[{i}]"), n, "at most n_prb", why)?;
        }
        let letter = self.tdd.chars().find(|c| !matches!(c, 'D' | 'S' | 'U'));
        let found = letter.map_or_else(|| self.tdd.clone(), String::from);
        let why = "TS 38.213 section 11.1";
        ensure(letter.is_none(), "tdd", &found, "the letters D, S and U", why)?;
        let why = "the shortened blocks of LTE's special subframes (TS 36.213 section 7.1.7) are \
                   not built";
        let ok = !(self.is_lte() && self.tdd.contains('S'));
        ensure(ok, "tdd", &self.tdd, "D and U for LTE", why)?;
        let carries = (0..self.period()).any(|k| self.shape(k as u64).n_prb > 0);
        ensure(
            carries,
            if self.tdd.is_empty() { "offered" } else { "tdd" },
            if self.tdd.is_empty() { &"only zeros" } else { &self.tdd },
            "a pattern in which some slot carries data",
            "a carrier without downlink carries nothing",
        )
    }

    /// Checks that a carrier of this kind has slots of length `slot`.
    ///
    /// # Errors
    /// `slot.period` if there are no such slots.
    pub fn check_slot(&self, slot: Duration) -> Result<(), ConfigError> {
        let lte = self.is_lte();
        let slots: &[u8] = if lte { &[0] } else { &[0, 1, 2, 3] };
        let known =
            slots.iter().any(|&mu| nr::Numerology::new(mu).is_some_and(|n| n.slot() == slot));
        let bound = if lte {
            "1ms with an LTE carrier"
        } else {
            "1ms, 500us, 250us or 125us with an NR carrier"
        };
        ensure(known, "slot.period", &slot, bound, "TS 36.211 section 4.1, TS 38.211 section 4.3.2")
    }

    /// Width in Hz of all its resource blocks in slots of length `slot`: twelve subcarriers each
    /// (TS 36.211 section 6.2.3, TS 38.211 section 4.4.4.1). None if there is no such slot.
    #[must_use]
    pub fn bandwidth(&self, slot: Duration) -> Option<u64> {
        let numerology = (0..=4).filter_map(nr::Numerology::new).find(|n| n.slot() == slot)?;
        Some(u64::from(self.n_prb) * 12_000 * u64::from(numerology.subcarrier_khz()))
    }

    /// Slots after which both patterns repeat.
    fn period(&self) -> usize {
        self.offered.len().max(1) * self.tdd.len().max(1)
    }

    /// The resource blocks of slot `k`.
    fn shape(&self, k: u64) -> SlotShape {
        let letter = self.tdd.as_bytes().get((k % self.tdd.len().max(1) as u64) as usize);
        let n_prb = self.offered.get((k % self.offered.len().max(1) as u64) as usize);
        let data_symbols = self.special_symbols.saturating_sub(self.control_symbols);
        let n_prb = n_prb.copied().unwrap_or(self.n_prb);
        match letter {
            None | Some(b'D') => SlotShape { n_prb, special: false },
            // A single symbol, which has the reference signals, carries no data.
            Some(b'S') if data_symbols > 1 => SlotShape { n_prb, special: true },
            _ => SlotShape::default(),
        }
    }

    /// The greatest distance, in slots, from a slot that carries data to the next such slot.
    pub(crate) fn longest_distance(&self) -> u64 {
        let period = self.period() as u64;
        let mut carrying = (0..2 * period).filter(|k| self.shape(*k).n_prb > 0);
        let mut before = carrying.next().unwrap_or(0);
        let distance = |k| k - core::mem::replace(&mut before, k);
        carrying.map(distance).max().unwrap_or(1)
    }

    /// Bits of a transport block of `n_prb` resource blocks and `symbols` symbols at `mcs`.
    fn bits(&self, mcs: u8, n_prb: u16, symbols: u8) -> Option<u32> {
        match self.kind {
            CarrierKind::Lte => {
                let table =
                    if self.mcs_table == 1 { lte::McsTable::Qam64 } else { lte::McsTable::Qam256 };
                let i_tbs = lte::mcs(table, mcs)?.i_tbs;
                if self.layers == 2 {
                    lte::tbs_bits_two_layers(i_tbs, n_prb)
                } else {
                    lte::tbs_bits(i_tbs, n_prb)
                }
            }
            CarrierKind::Nr => {
                let mcs = nr::mcs(self.nr_table(), mcs)?;
                nr::tbs_bits(&nr::NrTbsInput {
                    n_prb,
                    symbols,
                    dmrs_res: DMRS_RES,
                    overhead_res: 0,
                    modulation: mcs.modulation,
                    code_rate: mcs.code_rate,
                    layers: self.layers,
                })
            }
        }
    }

    const fn nr_table(&self) -> nr::McsTable {
        match self.mcs_table {
            1 => nr::McsTable::Table1,
            2 => nr::McsTable::Table2,
            _ => nr::McsTable::Table3,
        }
    }

    /// The rules that size its transport blocks, for reports.
    const fn report_kind(&self) -> CellKind {
        let Self { mcs_table, layers, control_symbols, .. } = *self;
        match self.kind {
            CarrierKind::Lte => CellKind::Lte { mcs_table, layers },
            CarrierKind::Nr => CellKind::Nr {
                mcs_table,
                layers,
                symbols: SYMBOLS - control_symbols,
                dmrs_res: DMRS_RES,
            },
        }
    }

    /// The MCS table of the cell's channels.
    #[must_use]
    pub const fn table(&self) -> cqi::McsTable {
        match self.kind {
            CarrierKind::Lte if self.mcs_table == 1 => cqi::McsTable::Lte(lte::McsTable::Qam64),
            CarrierKind::Lte => cqi::McsTable::Lte(lte::McsTable::Qam256),
            CarrierKind::Nr => cqi::McsTable::Nr(self.nr_table()),
        }
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "carrier",
    kind: "MAC",
    title: "a carrier of resource blocks",
    text: "With mac.kind rb the MAC allocates resource blocks: each slot offers a number of them, \
           the scheduler gives them to UEs in whole groups, and the tables give the size of n \
           blocks at the UE's MCS. RLC and PDCP then have headers and a receiving side.",
    sources: "TS 36.213 sections 7.1.6.1 and 7.1.7; TS 38.214 sections 5.1.2.2 and 5.1.3; TS \
              38.213 section 11.1; A21 section V-A",
    deviations: "LTE's special subframes are not built; an NR block has one front-loaded \
                 reference symbol and no further overhead",
    params: CarrierConfig::params,
};

/// The resource blocks of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotShape {
    /// Resource blocks for data.
    pub n_prb: u16,
    /// True for a special slot, with fewer symbols.
    pub special: bool,
}

/// A built carrier: 30 kB of transport block sizes for 25 LTE blocks, at most 64 kB for 275 NR
/// blocks with special slots.
#[derive(Clone, Debug)]
pub struct Carrier {
    shapes: Vec<SlotShape>,
    /// The shape with the most resource blocks.
    largest: SlotShape,
    /// Bytes of a transport block by kind of slot, MCS and number of resource blocks.
    bytes: Vec<u32>,
    n_prb: u16,
    group: u16,
    kind: CellKind,
    /// Data symbols of a special slot and of a full one.
    symbols: (u8, u8),
}

impl Carrier {
    /// The carrier of `config` for slots of length `slot`.
    ///
    /// # Errors
    /// The first field outside its bounds.
    pub fn new(config: &CarrierConfig, slot: Duration) -> Result<Self, ConfigError> {
        config.validate()?;
        config.check_slot(slot)?;
        let shapes: Vec<SlotShape> = (0..config.period()).map(|k| config.shape(k as u64)).collect();
        let normal = SYMBOLS - config.control_symbols;
        let special = config.special_symbols.saturating_sub(config.control_symbols);
        let kinds: &[u8] = if config.tdd.contains('S') { &[normal, special] } else { &[normal] };
        let mut bytes =
            Vec::with_capacity(kinds.len() * MCS_ROWS * (usize::from(config.n_prb) + 1));
        for &symbols in kinds {
            for mcs in 0..MCS_ROWS as u8 {
                // Zero if the table defines no size: reserved indices carry nothing.
                bytes.extend(
                    (0..=config.n_prb).map(|n| config.bits(mcs, n, symbols).unwrap_or(0) / 8),
                );
            }
        }
        let group = match (config.allocation, config.kind) {
            (AllocationType::Type1, _) => Some(1),
            (_, CarrierKind::Lte) => lte::rbg_size(config.n_prb),
            (AllocationType::Type0, _) => nr::rbg_size(config.n_prb, nr::RbgConfig::One),
            (AllocationType::Type0Config2, _) => nr::rbg_size(config.n_prb, nr::RbgConfig::Two),
        };
        let symbols_of = |shape: &SlotShape| if shape.special { special } else { normal };
        let size = |shape: &SlotShape| u32::from(shape.n_prb) * u32::from(symbols_of(shape));
        let largest = shapes.iter().copied().max_by_key(size).unwrap_or_default();
        Ok(Self {
            shapes,
            largest,
            bytes,
            n_prb: config.n_prb,
            group: group.unwrap_or(1),
            kind: config.report_kind(),
            symbols: (special, normal),
        })
    }

    /// The resource blocks of slot `k`.
    #[inline]
    #[must_use]
    pub fn shape(&self, k: u64) -> SlotShape {
        self.shapes[(k % self.shapes.len() as u64) as usize]
    }

    /// Bytes that 0, 1, 2, ... resource blocks carry at `mcs` in a slot of `shape`; all zero for an
    /// MCS that the table does not define.
    #[inline]
    #[must_use]
    pub fn sizes(&self, shape: SlotShape, mcs: u8) -> &[u32] {
        self.row(&self.bytes, shape, mcs)
    }

    /// The table of [`Self::sizes`] for a UE whose power fills at most `most` blocks; further
    /// blocks carry nothing. Empty if the carrier has no more than `most` blocks.
    pub(crate) fn limited(&self, most: u16) -> Vec<u32> {
        if most >= self.n_prb {
            return Vec::new();
        }
        let rows = self.bytes.chunks(usize::from(self.n_prb) + 1);
        rows.flat_map(|row| (0..row.len()).map(|n| row[n.min(usize::from(most))])).collect()
    }

    /// The row of `table` for `mcs` in a slot of `shape`.
    #[inline]
    pub(crate) fn row<'a>(&self, table: &'a [u32], shape: SlotShape, mcs: u8) -> &'a [u32] {
        let row = usize::from(shape.special) * MCS_ROWS + usize::from(mcs).min(MCS_ROWS - 1);
        let width = usize::from(self.n_prb) + 1;
        &table[row * width..][..width]
    }

    /// Bytes that all blocks of slot `k` carry at the MCS of `channel`, if it is pulled at `now`.
    pub(crate) fn whole_slot(&self, channel: &Channel, k: u64, now: Instant) -> u64 {
        let shape = self.shape(k);
        let mcs = channel.mcs(k, now);
        mcs.map_or(0, |mcs| u64::from(self.sizes(shape, mcs)[usize::from(shape.n_prb)]))
    }

    /// Bytes that the largest slot of the pattern carries at `mcs`.
    #[inline]
    #[must_use]
    pub fn full_slot(&self, mcs: u8) -> u64 {
        u64::from(self.sizes(self.largest, mcs)[usize::from(self.largest.n_prb)])
    }

    /// Maximum number of bytes per resource block, over all sizes of blocks and all MCSs, rounded
    /// up.
    #[must_use]
    pub fn most_bytes_per_block(&self) -> u64 {
        let rows = self.bytes.chunks(usize::from(self.n_prb) + 1);
        let shares =
            rows.flat_map(|row| row.iter().zip(0u32..).skip(1).map(|(bytes, n)| bytes.div_ceil(n)));
        shares.max().map_or(0, u64::from)
    }

    /// The rules that size its transport blocks, for reports.
    #[must_use]
    pub const fn report_kind(&self) -> CellKind {
        self.kind
    }

    /// Symbols that carry data in a slot of `shape`, and in a full one.
    #[must_use]
    pub const fn symbols(&self, shape: SlotShape) -> (u8, u8) {
        let (special, full) = self.symbols;
        if shape.special { (special, full) } else { (full, full) }
    }

    /// Resource blocks of a group; the last group of a slot has the rest.
    #[must_use]
    pub const fn group(&self) -> u16 {
        self.group
    }

    /// The groups of a slot with `n_prb` blocks; none if it has none.
    #[must_use]
    pub const fn layout(&self, n_prb: u16) -> Option<RbgLayout> {
        RbgLayout::new(0, n_prb, self.group)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a21s_cell_carries_2292_bytes_in_25_blocks_and_1572_in_17() {
        let config = CarrierConfig {
            offered: alloc::vec![17, 25, 25, 25, 25, 17, 25, 25, 25, 25],
            ..CarrierConfig::default()
        };
        let carrier = Carrier::new(&config, MS).expect("a carrier");
        let offered: Vec<u32> = (0..10)
            .map(|k| {
                let shape = carrier.shape(k);
                carrier.sizes(shape, 28)[usize::from(shape.n_prb)]
            })
            .collect();
        assert_eq!(offered, [1572, 2292, 2292, 2292, 2292, 1572, 2292, 2292, 2292, 2292]);
        assert_eq!(carrier.group(), 2);
        assert_eq!(carrier.layout(25).map(|l| (l.count(), l.prbs(12))), Some((13, 1)));
    }

    #[test]
    fn a_tdd_pattern_has_full_special_and_empty_slots() {
        let config = CarrierConfig {
            kind: CarrierKind::Nr,
            n_prb: 273,
            mcs_table: 2,
            layers: 4,
            tdd: "DDDSU".into(),
            ..CarrierConfig::default()
        };
        let carrier = Carrier::new(&config, Duration::from_micros(500)).expect("a carrier");
        let bytes = |k| {
            let shape = carrier.shape(k);
            carrier.sizes(shape, 27)[usize::from(shape.n_prb)]
        };
        assert_eq!(bytes(0), bytes(7));
        assert!(bytes(3) > 0 && bytes(3) * 2 < bytes(0), "{} of {}", bytes(3), bytes(0));
        assert_eq!(bytes(4), 0);
        assert_eq!(carrier.group(), 16);
    }

    #[test]
    fn sizes_never_fall_as_blocks_are_added() {
        for kind in [CarrierKind::Lte, CarrierKind::Nr] {
            let config = CarrierConfig { kind, n_prb: 100, ..CarrierConfig::default() };
            let carrier = Carrier::new(&config, MS).expect("a carrier");
            for mcs in 0..=28 {
                let sizes = carrier.sizes(carrier.shape(0), mcs);
                // I_TBS 6 with one block is an exception in the standard itself.
                assert!(sizes[2..].windows(2).all(|w| w[0] <= w[1]), "{kind:?} {mcs}");
            }
        }
    }

    #[test]
    fn a_carrier_that_carries_nothing_or_has_another_slot_is_refused() {
        let refused =
            |config: &CarrierConfig, slot| Carrier::new(config, slot).expect_err("refused").field;
        let base = CarrierConfig::default();
        assert_eq!(refused(&CarrierConfig { tdd: "UUU".into(), ..base.clone() }, MS), "tdd");
        assert_eq!(refused(&CarrierConfig { tdd: "DX".into(), ..base.clone() }, MS), "tdd");
        assert_eq!(
            refused(&CarrierConfig { offered: alloc::vec![26], ..base.clone() }, MS),
            "offered[0]"
        );
        assert_eq!(refused(&CarrierConfig { n_prb: 0, ..base.clone() }, MS), "n_prb");
        assert_eq!(refused(&base, Duration::from_micros(500)), "slot.period");
    }
}
