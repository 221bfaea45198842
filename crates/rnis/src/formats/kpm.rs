//! Indications of E2SM-KPM (O-RAN.WG3.E2SM-KPM, version 3) as JSON. The form is the result of
//! `extract_meas_data` in `e2sm_kpm_module`, the decoder of the OSC RIC's xApps in Python:
//! `measData` about a cell (report styles 1 and 2), `ueMeasData` about UEs (styles 3 to 5). The
//! measurements have the names of TS 28.552.
//!
//! KPM has neither a UE's modulation and coding scheme nor the size of its queue. So a report is in
//! bytes: the measured bytes per block of a UE, multiplied by the blocks of the cell. These bytes
//! include no MAC headers and no retransmissions. The queue follows from the mean delay in the RLC
//! (Little's law).

use super::ues::NamedUe;
use crate::malformed::Malformed;
use crate::report::{Report, cell_name};
use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant, choice};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Most UEs of an indication.
const MOST_UES: usize = 4_096;
/// Most cells, and most UEs, that a reader remembers.
const MOST_REMEMBERED: usize = 65_536;
/// Longest name of a UE in bytes.
const LONGEST_NAME: usize = 64;
/// Longest granularity period in milliseconds, and most periods in an indication.
const LONGEST_PERIOD: u64 = 10_000;
const MOST_PERIODS: usize = 1_000;
/// Greatest value of a measurement.
const MOST: f64 = 1e12;
/// Least number of blocks or per cent for a measurement of the bytes per block. Nodes round to
/// whole numbers; from ten on this changes the bytes per block by at most a tenth.
const LEAST_COUNT: f64 = 10.0;
/// Most bytes per block: 8 layers of 14 symbols and 12 subcarriers, 10 bits in each element.
const MOST_PER_BLOCK: f64 = 8.0 * 14.0 * 12.0 * 10.0 / 8.0;
/// Validity of measured bytes per block.
const REMEMBERED: Duration = Duration::from_secs(10);
/// Least validity of the measurement of a cell; it is valid for three periods if they are longer.
const CURRENT: Duration = Duration::from_secs(1);
const BYTES_PER_KBIT: f64 = 125.0;

choice! {
    serde;
    /// The unit of `RRU.PrbTotDl`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum KpmTotal {
        /// Per cent of the cell's blocks (TS 28.552 section 5.1.1.2.1).
        #[default]
        Percent = "percent",
        /// Blocks of the whole period, as OpenAirInterface counts.
        Blocks = "blocks",
    }
}

choice! {
    serde;
    /// The meaning of `RRU.PrbAvailDl`.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum KpmAvailable {
        /// Blocks that no UE used, as srsRAN counts.
        #[default]
        Free = "free",
        /// All blocks of the cell.
        All = "all",
    }
}

/// Facts about the cells that the indications omit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KpmCell {
    /// Resource blocks of the carrier.
    pub prbs: u16,
    /// Mean time between two downlink slots.
    pub slot: Duration,
    /// The granularity period of an indication without `granulPeriod`.
    pub period: Duration,
    /// The unit of `RRU.PrbTotDl`.
    pub total: KpmTotal,
    /// The meaning of `RRU.PrbAvailDl`.
    pub available: KpmAvailable,
    /// The unit of `DRB.RlcSduDelayDl`.
    pub delay_unit: Duration,
}

/// The content of an indication.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KpmMessage {
    /// Reports of the UEs whose addresses are known.
    pub reports: Vec<Report>,
    /// Number of UEs without a known address.
    pub unknown: u64,
    /// Number of malformed UEs.
    pub garbled: u64,
    /// Number of UEs without a measurement that a report needs.
    pub lacking: u64,
}

/// The identifier of a UE at its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KpmUe<'a> {
    /// The E2 node; empty if the indication does not name it.
    pub node: &'a str,
    /// The UE's identifier, such as the F1AP or NGAP identifier.
    pub id: &'a str,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    e2_agent_id: Option<String>,
    #[serde(default)]
    cell_id: Option<String>,
    #[serde(default, rename = "granulPeriod")]
    period: Option<u64>,
    #[serde(default, rename = "measData")]
    cell: Option<Measured>,
    /// Each UE is parsed separately, so a malformed UE does not affect the others.
    #[serde(default, rename = "ueMeasData")]
    ues: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct UeMessage {
    #[serde(default, rename = "granulPeriod")]
    period: Option<u64>,
    #[serde(rename = "measData")]
    measured: Measured,
}

/// Measurements by name; other names are ignored.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Measured {
    #[serde(rename = "RRU.PrbUsedDl")]
    used: Values,
    #[serde(rename = "RRU.PrbTotDl")]
    total: Values,
    #[serde(rename = "RRU.PrbAvailDl")]
    available: Values,
    #[serde(rename = "DRB.RlcSduTransmittedVolumeDL")]
    rlc_volume: Values,
    #[serde(rename = "DRB.PdcpSduVolumeDL")]
    pdcp_volume: Values,
    #[serde(rename = "DRB.UEThpDl")]
    throughput: Values,
    #[serde(rename = "DRB.RlcSduDelayDl")]
    delay: Values,
    #[serde(rename = "DRB.MeanActiveUeDl")]
    active_ues: Values,
}

impl Measured {
    fn all(&self) -> [&Values; 8] {
        let Self { used, total, available, rlc_volume, pdcp_volume, .. } = self;
        let Self { throughput, delay, active_ues, .. } = self;
        [used, total, available, rlc_volume, pdcp_volume, throughput, delay, active_ues]
    }

    /// The number of granularity periods; none if a value or a list is out of bounds.
    fn periods(&self) -> Option<u32> {
        let good = |values: &&Values| {
            values.0.len() <= MOST_PERIODS
                && values.0.iter().flatten().all(|value| (0.0..=MOST).contains(value))
        };
        let all = self.all();
        all.iter().all(good).then(|| {
            all.iter().map(|values| values.0.len()).max().unwrap_or_default().max(1) as u32
        })
    }
}

/// The values of a measurement, one for each granularity period; none where the node has no value.
#[derive(Default, Deserialize)]
#[serde(from = "Written")]
struct Values(Vec<Option<f64>>);

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Several(Vec<Option<f64>>),
    One(Option<f64>),
}

impl From<Written> for Values {
    fn from(written: Written) -> Self {
        match written {
            Written::Several(values) => Self(values),
            Written::One(value) => Self(vec![value]),
        }
    }
}

impl Values {
    fn sum(&self) -> Option<f64> {
        self.0.iter().flatten().copied().reduce(|a, b| a + b)
    }

    /// The mean over the periods with a value.
    fn mean(&self) -> Option<f64> {
        Some(self.sum()? / self.0.iter().flatten().count() as f64)
    }

    /// The mean over all periods; a period without a value counts as 0.
    fn each(&self) -> Option<f64> {
        Some(self.sum()? / self.0.len() as f64)
    }
}

/// The time that an indication covers.
#[derive(Clone, Copy)]
struct Span {
    periods: f64,
    seconds: f64,
    /// Downlink slots in this time.
    slots: u32,
}

/// The use of a cell in its last measurement.
struct Use {
    at: Instant,
    until: Instant,
    /// The part of the cell's blocks that UEs used, 0 to 1.
    part: Option<f64>,
    active_ues: u32,
}

/// A UE of an indication.
struct Share {
    ue: NamedUe,
    /// The part of the cell's blocks that the UE used, 0 to 1.
    part: f64,
    bytes: f64,
    backlog: f64,
    /// Its bytes per block.
    per_block: f64,
    span: Span,
}

/// Reads indications. It keeps the last measurement of each cell, and the last bytes per block of
/// each UE, since an idle UE uses no blocks.
#[derive(Default)]
pub struct KpmReader {
    cells: BTreeMap<String, Use>,
    per_block: BTreeMap<String, (f64, Instant)>,
}

/// Inserts an entry; clears a full map first, as a bound on the memory.
fn remember<T>(map: &mut BTreeMap<String, T>, name: String, value: T) {
    if map.len() >= MOST_REMEMBERED && !map.contains_key(&name) {
        map.clear();
    }
    map.insert(name, value);
}

impl KpmReader {
    /// Reads an indication that arrived at `at`; `known` returns a UE's addresses, and its cell if
    /// the indication does not name one.
    ///
    /// # Errors
    /// The text is no JSON object of this form, has more than 4 096 UEs, or a name, a period or a
    /// value of its cell is out of bounds.
    pub fn read(
        &mut self,
        text: &[u8],
        rules: &KpmCell,
        at: Instant,
        mut known: impl FnMut(KpmUe<'_>) -> Option<NamedUe>,
    ) -> Result<KpmMessage, Malformed> {
        let message: Message = serde_json::from_slice(text)?;
        if message.ues.len() > MOST_UES {
            return Err(
                format!("`ueMeasData` has {} UEs, at most {MOST_UES}", message.ues.len()).into()
            );
        }
        let node = message.e2_agent_id.unwrap_or_default();
        let cell = message.cell_id.as_deref().or(Some(node.as_str()).filter(|id| !id.is_empty()));
        let cell = cell.map(cell_name).transpose()?;
        let scope = cell.as_deref().unwrap_or_default().to_owned();
        if let Some(measured) = &message.cell {
            let used = cell_use(measured, rules, message.period, at)?;
            remember(&mut self.cells, scope.clone(), used);
        }
        let mut read = KpmMessage::default();
        let mut shares = Vec::new();
        let mut free = None;
        for (id, value) in message.ues {
            let parsed: Option<UeMessage> =
                serde_json::from_value(value).ok().filter(|_| sound(&id));
            let spanned = parsed.and_then(|ue| {
                let span = span(&ue.measured, rules, ue.period.or(message.period))?;
                Some((ue.measured, span))
            });
            let Some((measured, span)) = spanned else {
                read.garbled += 1;
                continue;
            };
            free = free.or_else(|| available(&measured, rules));
            match self.share(&format!("{scope}/{id}"), &measured, rules, span, at) {
                Err(Unread::Garbled) => read.garbled += 1,
                Err(Unread::Lacking) => read.lacking += 1,
                Ok(mut share) => {
                    share.ue = known(KpmUe { node: &node, id: &id }).unwrap_or_default();
                    read.unknown += u64::from(share.ue.addresses.is_empty());
                    shares.push(share);
                }
            }
        }
        let used = self.cells.get(&scope).filter(|used| at >= used.at && at < used.until);
        let sum: f64 = shares.iter().map(|share| share.part).sum();
        let part = used.and_then(|used| used.part).or(free).unwrap_or(0.0).max(sum).min(1.0);
        let active = shares.iter().filter(|share| share.part > 0.0).count() as u32;
        let active = active.max(used.map_or(0, |used| used.active_ues));
        // With a wrong number of blocks the sum may exceed 1; the scale corrects it.
        let scale = if sum > 1.0 { 1.0 / sum } else { 1.0 };
        for share in shares.into_iter().filter(|share| !share.ue.addresses.is_empty()) {
            let ran = report(&share, rules, share.part * scale, part, active, at);
            let cell = cell.clone().or_else(|| share.ue.cell.clone());
            let NamedUe { addresses, pool, .. } = share.ue;
            read.reports.push(Report { ue: addresses, pool, cell, ran });
        }
        Ok(read)
    }

    fn share(
        &mut self,
        name: &str,
        measured: &Measured,
        rules: &KpmCell,
        span: Span,
        at: Instant,
    ) -> Result<Share, Unread> {
        let (part, count) = part(measured, rules, span).ok_or(Unread::Lacking)?;
        let volume = measured.rlc_volume.each().or_else(|| measured.pdcp_volume.each());
        let volume = volume.map(|each| each * span.periods);
        let throughput = || Some(measured.throughput.each()? * span.seconds);
        let kbit = volume.or_else(throughput).ok_or(Unread::Lacking)?;
        let bytes = kbit * BYTES_PER_KBIT;
        if count >= LEAST_COUNT && bytes > 0.0 {
            let per_block = bytes / (part * blocks(rules, span));
            if per_block > MOST_PER_BLOCK {
                return Err(Unread::Garbled);
            }
            remember(&mut self.per_block, name.to_owned(), (per_block, at));
        }
        let remembered =
            self.per_block.get(name).filter(|(_, measured)| at.since(*measured) < REMEMBERED);
        let &(per_block, _) = remembered.ok_or(Unread::Lacking)?;
        let delay = measured.delay.mean().unwrap_or(0.0) * rules.delay_unit.as_secs_f64();
        let backlog = (bytes / span.seconds * delay).min(MOST);
        Ok(Share { ue: NamedUe::default(), part, bytes, backlog, per_block, span })
    }
}

/// Reasons for a UE without a report.
enum Unread {
    Garbled,
    Lacking,
}

fn sound(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic())
}

fn span(measured: &Measured, rules: &KpmCell, period: Option<u64>) -> Option<Span> {
    let periods = measured.periods()?;
    let one = match period {
        None => rules.period,
        Some(ms @ 1..=LONGEST_PERIOD) => Duration::from_millis(ms),
        Some(_) => return None,
    };
    let all = one.as_nanos().checked_mul(u64::from(periods))?;
    let slots = (all / rules.slot.as_nanos().max(1)).clamp(1, u64::from(u32::MAX)) as u32;
    Some(Span { periods: periods.into(), seconds: all as f64 / 1e9, slots })
}

fn blocks(rules: &KpmCell, span: Span) -> f64 {
    f64::from(rules.prbs) * f64::from(span.slots)
}

/// The used part of the cell's blocks, 0 to 1, and the measured blocks or per cent.
fn part(measured: &Measured, rules: &KpmCell, span: Span) -> Option<(f64, f64)> {
    let prbs = f64::from(rules.prbs);
    let (part, count) = match (measured.used.each(), rules.total) {
        (Some(used), _) => (used / prbs, used),
        (None, KpmTotal::Percent) => {
            let percent = measured.total.each()?;
            (percent / 100.0, percent)
        }
        (None, KpmTotal::Blocks) => {
            let mean = measured.total.each()? * span.periods / f64::from(span.slots);
            (mean / prbs, mean)
        }
    };
    Some((part.min(1.0), count))
}

/// The part of the cell's blocks that UEs used, 0 to 1, from the number of free blocks.
fn available(measured: &Measured, rules: &KpmCell) -> Option<f64> {
    let free = (rules.available == KpmAvailable::Free).then(|| measured.available.mean())??;
    Some((1.0 - free / f64::from(rules.prbs)).max(0.0))
}

fn cell_use(
    measured: &Measured,
    rules: &KpmCell,
    period: Option<u64>,
    at: Instant,
) -> Result<Use, Malformed> {
    let span = span(measured, rules, period).ok_or_else(|| {
        format!(
            "`measData`: allowed are values of 0 to {MOST:e} for at most {MOST_PERIODS} periods, \
             with `granulPeriod` of 1 to {LONGEST_PERIOD}"
        )
    })?;
    let part = part(measured, rules, span).map(|(part, _)| part);
    let active = measured.active_ues.mean().unwrap_or(0.0).ceil().min(MOST_UES as f64);
    Ok(Use {
        at,
        until: at + CURRENT.max(Duration::from_secs_f64(3.0 * span.seconds)),
        part: part.or_else(|| available(measured, rules)),
        active_ues: active as u32,
    })
}

/// The report about a UE that used the part `own` of the cell's blocks; all UEs used the part
/// `used`.
fn report(
    share: &Share,
    rules: &KpmCell,
    own: f64,
    used: f64,
    active_ues: u32,
    at: Instant,
) -> RanReport {
    let offered = share.per_block * blocks(rules, share.span);
    let used = (used * offered).round() as u64;
    RanReport {
        at,
        kind: CellKind::Bytes,
        slot: rules.slot,
        slots: share.span.slots,
        offered: offered.round() as u64,
        used,
        active_ues,
        blocks: ((own * offered).round() as u64).min(used),
        repeats: 0,
        bytes: share.bytes.round() as u64,
        mcs: None,
        backlog: share.backlog.round() as u64,
    }
}

#[cfg(test)]
mod tests;
