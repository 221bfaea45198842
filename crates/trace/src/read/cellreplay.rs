//! CellReplay's packet trains: `time_ms base_delay_ms arrival_ms arrival_ms ...`, one line per
//! train.
//!
//! Source: Sentosa et al. 2025 and their program. Arrivals count from the arrival of the train's
//! first packet. A train shows how fast an idle link responds, not what it could carry
//! continuously, so the capacity here is an estimate: the dispersion rate (n - 1) L / (t_n - t_1)
//! of a train of n packets of L bytes (Dovrolis, Ramanathan and Moore 2004), used until the next
//! train; the last one lasts as long as the one before it. Arrivals are in whole milliseconds: a
//! train that arrives all at once counts as 1 ms, and one of a single packet takes the previous
//! rate.
//!
//! The base delay is not part of a capacity; a note reports its range.

use super::super::rows::{self, At, Empty, Tally};
use super::super::{Duration, FileFormat, TraceError};
use super::{Parsed, Source};
use std::io::Read;

const COLUMN: &str = "train";

/// Bytes per number of milliseconds.
type Rate = (u64, u64);

/// State of the trains so far. A train's rate applies until the next one, so the last train waits
/// in `pending`.
#[derive(Default)]
struct Trains {
    first: u64,
    /// Time of the last train, and its own rate; none for a single packet.
    pending: Option<(u64, Option<Rate>)>,
    /// The rate used before it.
    held: Option<Rate>,
    /// Lengths of spans before the first rate, which get that rate.
    unrated: Vec<u32>,
    span: u64,
    bytes: Vec<u32>,
    delays: Option<(u64, u64)>,
    single: Tally,
    instant: Tally,
}

impl Trains {
    fn take(&mut self, at: At<'_>, row: &[u8], packet: u64, most: u64) -> Result<(), TraceError> {
        let text = at.text(COLUMN, row)?;
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let mut next = |column| words.next().map(|word| at.number(column, word, most)).transpose();
        let (Some(time), Some(delay)) = (next("time_ms")?, next("base_delay_ms")?) else {
            return Err(at.malformed(
                COLUMN,
                "a single number",
                "a time, a base delay and arrivals, in ms",
            ));
        };
        let (mut packets, mut last) = (0, 0);
        while let Some(arrival) = next("arrival_ms")? {
            if arrival < last {
                return Err(at.malformed(
                    "arrival_ms",
                    format!("{arrival} after {last}"),
                    "arrivals that do not fall",
                ));
            }
            (packets, last) = (packets + 1, arrival);
        }
        let (low, high) = self.delays.unwrap_or((delay, delay));
        self.delays = Some((low.min(delay), high.max(delay)));
        if packets < 2 {
            self.single.add(at.line);
        } else if last == 0 {
            self.instant.add(at.line);
        }
        let rate = (packets >= 2).then(|| ((packets - 1) * packet, last.max(1)));
        match self.pending {
            None => self.first = time,
            Some((before, _)) if time <= before => {
                return Err(at.malformed(
                    "time_ms",
                    format!("{time} after {before}"),
                    "times that rise",
                ));
            }
            Some((before, rate)) => self.lay(time - before, rate),
        }
        self.pending = Some((time, rate));
        Ok(())
    }

    /// Lays out the span of a train whose own rate is `rate`.
    fn lay(&mut self, span: u64, rate: Option<Rate>) {
        self.span = span;
        self.held = rate.or(self.held);
        let Some(rate) = self.held else {
            self.unrated.push(span as u32);
            return;
        };
        for before in std::mem::take(&mut self.unrated) {
            fill(&mut self.bytes, before.into(), rate);
        }
        fill(&mut self.bytes, span, rate);
    }

    /// Bytes of each millisecond from the first train on; the last train lasts as long as the one
    /// before it.
    fn finish(&mut self, source: &Source<'_>) -> Result<Vec<u32>, TraceError> {
        let last = self.pending.take();
        if let (Some((time, rate)), 1..) = (last, self.span) {
            source.ensure_length(time - self.first + self.span)?;
            self.lay(self.span, rate);
        } else if last.is_some_and(|(_, rate)| rate.is_some()) {
            return Err(source
                .unusable("a single train", "at least two: a rate lasts until the next train"));
        }
        if self.held.is_none() {
            let allowed = "at least two trains, one of several packets";
            return Err(source.unusable("no train of two packets", allowed));
        }
        Ok(std::mem::take(&mut self.bytes))
    }
}

/// Appends the whole bytes of each millisecond of a span, carrying remainders within it.
fn fill(bytes: &mut Vec<u32>, span: u64, rate: Rate) {
    bytes.extend((1..=span).map(|k| (rate.0 * k / rate.1 - rate.0 * (k - 1) / rate.1) as u32));
}

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let packet = u64::from(source.packet(FileFormat::CellreplayTrain)?);
    let most = source.options.max_intervals as u64;
    let mut trains = Trains::default();
    let marks = rows::each(reader, source.path, COLUMN, Empty::Refused, |at, row| {
        trains.take(at, row, packet, most)
    })?;
    let bytes = trains.finish(source)?;
    let mut notes = vec![
        "the capacity is estimated from the dispersion of the trains, each in force until the next"
            .to_string(),
    ];
    if let Some((low, high)) = trains.delays {
        notes.push(format!("base delays of {low} to {high} ms are no part of a capacity"));
    }
    let Tally { rows, first } = trains.single;
    if rows > 0 {
        notes.push(format!("line {first}: {rows} trains of one packet hold the rate before them"));
    }
    let Tally { rows, first } = trains.instant;
    if rows > 0 {
        notes.push(format!("line {first}: {rows} trains that arrived at once count as 1 ms"));
    }
    source.finish(Duration::from_millis(1), bytes, None, marks, notes)
}
