//! NR-Scope's log of grants.
//!
//! Source: Wan, Cao, Marder and Jamieson, "NR-Scope: A Practical 5G Standalone Telemetry Tool",
//! CoNEXT 2024, and the program's description: CSV whose first row names the columns, a row for
//! each DCI that was decoded. Read here: `timestamp` (Unix time in s), `rnti`, `dci_format` (1_0
//! and 1_1 grant downlink, 0_0 and 0_1 uplink) and `transport_block_size` in bits. The program
//! appends to a file that is there, header included, so headers repeat.
//!
//! Every block counts, retransmissions too. The log has grants only: a link without data to send
//! looks like an outage.

use super::super::clock::Clock;
use super::super::error::quote;
use super::super::pieces::PER_BIT;
use super::super::rows::At;
use super::super::table::{self, Record, nearest, place};
use super::super::{Link, ReadOption, Repeated, Rnti, TraceError};
use super::series::{Field, Fill, Series};
use super::{Parsed, Source};
use std::collections::BTreeMap;
use std::io::Read;

const TIME: &str = "timestamp";
const RNTI: &str = "rnti";
const DCI: &str = "dci_format";
const SIZE: &str = "transport_block_size";
/// Largest block in bits: a slot never has more.
const MOST_BITS: u64 = 10_000_000;
/// Most terminals that are named one by one.
const NAMED: usize = 4;

/// Names of the columns, and where the wanted ones are.
struct Layout {
    names: Vec<String>,
    time: usize,
    rnti: usize,
    dci: usize,
    size: usize,
}

impl Layout {
    fn find(at: &At<'_>, record: &Record<'_>) -> Result<Self, TraceError> {
        let names: Vec<String> = record.iter().map(str::to_string).collect();
        let find = |name: &str| {
            let missing = || at.malformed(name, "no such column", nearest(&names, name));
            place(&names, name).ok_or_else(missing)
        };
        let (time, rnti, dci, size) = (find(TIME)?, find(RNTI)?, find(DCI)?, find(SIZE)?);
        Ok(Self { names, time, rnti, dci, size })
    }
}

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let (link, rnti) =
        (source.options.link.unwrap_or_default(), source.options.rnti.unwrap_or_default());
    let clock = Some(Clock::new(None, TIME, source.options.words.clone()));
    let mut series = Series::new(clock, Repeated::Sum, None, source.options);
    let mut layout: Option<Layout> = None;
    let (mut others, mut terminals) = (0_u64, BTreeMap::<u16, u64>::new());
    let marks = table::each(reader, source.path, source.dialect, SIZE, |at, record| {
        let Some(layout) = &layout else {
            layout = Some(Layout::find(&at, record)?);
            return Ok(());
        };
        if record.iter().eq(layout.names.iter().map(String::as_str)) {
            return Ok(());
        }
        if record.iter().any(|field| field == SIZE) {
            let allowed = "a row, or the header of the first line again";
            return Err(at.malformed(SIZE, "another header", allowed));
        }
        record.ensure_fields(&at, SIZE, layout.names.len())?;
        let own = at.number(RNTI, record.get(layout.rnti), u16::MAX.into())? as u16;
        let bits = at.number(SIZE, record.get(layout.size), MOST_BITS)?;
        let wanted = match (record.get(layout.dci), link) {
            ("1_0" | "1_1", Link::Down) | ("0_0" | "0_1", Link::Up) => true,
            ("1_0" | "1_1", Link::Up) | ("0_0" | "0_1", Link::Down) => false,
            (found, _) => {
                return Err(at.malformed(DCI, quote(found), "1_0, 1_1, 0_0 or 0_1"));
            }
        };
        if !wanted {
            others += 1;
            return Ok(());
        }
        *terminals.entry(own).or_default() += bits;
        // Rows of other terminals keep the time: the log goes on.
        let counted = if rnti == Rnti::Sum || rnti == Rnti::One(own) { bits } else { 0 };
        let amount = Some(u128::from(counted) * PER_BIT);
        series.push(&at, Some(record.get(layout.time)), Field { column: SIZE, text: "" }, amount)
    })?;
    let known = named(&terminals);
    if let Rnti::One(rnti) = rnti
        && !terminals.contains_key(&rnti)
    {
        return Err(source.unusable(&format!("no rnti {rnti}"), &format!("one of {known}")));
    }
    if series.len() == 0 {
        let found = format!("no grant of the direction {}", link.name());
        let option = source.aside(ReadOption::Link);
        return Err(source.unusable(&found, &format!("rows of it, or the other direction{option}")));
    }
    let mut notes: Vec<String> = series.begun().into_iter().chain(source.dialect.note()).collect();
    notes.push(format!(
        "grants of the direction {}, {others} of the other one are left out",
        link.name()
    ));
    notes.push(match rnti {
        Rnti::Sum if terminals.len() == 1 => format!("the log has one terminal, rnti {known}"),
        Rnti::Sum => {
            let option = source.aside(ReadOption::Rnti);
            format!("{} terminals are added up, rnti {known}{option}", terminals.len())
        }
        Rnti::One(rnti) => format!("rnti {rnti} of {known}"),
    });
    let row = source.options.interval.filter(|row| !row.is_zero());
    let timeline = series.amounts(&Fill { source, row }, &mut notes)?;
    Ok(source.marked(timeline, marks, notes))
}

/// The terminals with most bits, and how many more there are.
fn named(terminals: &BTreeMap<u16, u64>) -> String {
    let mut all: Vec<(u16, u64)> = terminals.iter().map(|(rnti, bits)| (*rnti, *bits)).collect();
    all.sort_by_key(|(rnti, bits)| (std::cmp::Reverse(*bits), *rnti));
    let names: Vec<String> = all.iter().take(NAMED).map(|(rnti, _)| rnti.to_string()).collect();
    match all.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
