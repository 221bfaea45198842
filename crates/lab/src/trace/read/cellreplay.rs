//! CellReplay's packet trains: `time_ms base_delay_ms arrival_ms arrival_ms ...`, a line for each train.
//!
//! Source: Sentosa et al. 2025 and their program. Arrivals count from that of the train's first packet. A train says how
//! fast a link without load answers, not what it could carry all the time, so the capacity given here is an
//! estimate: the dispersion rate (n - 1) L / (t_n - t_1) of a train of n packets of L bytes (Dovrolis, Ramanathan and
//! Moore 2004), in force until the next train; the last one lasts as long as the one before it. Arrivals are in whole
//! milliseconds: a train that comes in at once counts as 1 ms, and one of a single packet takes the rate before it.
//!
//! The base delay is no part of a capacity: its range is told in a note.

use super::super::rows::{self, At, Tally};
use super::super::{Duration, FileFormat, TraceError};
use super::{Parsed, Source};
use std::io::Read;

const COLUMN: &str = "train";

/// A train: when it was sent, and what it carried in how long; none for a single packet.
struct Train {
    time: u64,
    rate: Option<(u64, u64)>,
}

#[derive(Default)]
struct Trains {
    trains: Vec<Train>,
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
            return Err(at.malformed(COLUMN, "a single number", "a time, a base delay and arrivals, in ms"));
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
        match self.trains.last().map(|train| train.time) {
            Some(before) if time <= before => {
                return Err(at.malformed("time_ms", format!("{time} after {before}"), "times that rise"));
            }
            _ => {}
        }
        let (low, high) = self.delays.unwrap_or((delay, delay));
        self.delays = Some((low.min(delay), high.max(delay)));
        if packets < 2 {
            self.single.add(at.line);
        } else if last == 0 {
            self.instant.add(at.line);
        }
        let rate = (packets >= 2).then(|| ((packets - 1) * packet, last.max(1)));
        self.trains.push(Train { time, rate });
        Ok(())
    }

    /// Bytes of each millisecond from the first train on.
    fn bytes(&self, source: &Source<'_>) -> Result<Vec<u32>, TraceError> {
        let (Some(first), Some(known)) = (self.trains.first(), self.trains.iter().find_map(|t| t.rate))
        else {
            return Err(
                source.unusable("no train of two packets", "at least two trains, one of several packets")
            );
        };
        let Some(spans) =
            (self.trains.len() >= 2).then(|| self.trains.windows(2).map(|two| two[1].time - two[0].time))
        else {
            return Err(source.unusable("a single train", "at least two: a rate lasts until the next train"));
        };
        let last = spans.clone().next_back().unwrap_or(1);
        let whole = self.trains.last().map_or(0, |train| train.time) - first.time + last;
        source.ensure_length(whole)?;
        let mut bytes = Vec::with_capacity(whole as usize);
        let mut rate = known;
        for (train, span) in self.trains.iter().zip(spans.chain([last])) {
            rate = train.rate.unwrap_or(rate);
            // Whole bytes of each millisecond, the rest carried on within the span.
            bytes.extend((1..=span).map(|k| (rate.0 * k / rate.1 - rate.0 * (k - 1) / rate.1) as u32));
        }
        Ok(bytes)
    }
}

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let packet = u64::from(source.packet(FileFormat::CellreplayTrain)?);
    let most = source.options.max_intervals as u64;
    let mut trains = Trains::default();
    let marks = rows::each(reader, source.path, COLUMN, |at, row| trains.take(at, row, packet, most))?;
    let bytes = trains.bytes(source)?;
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
