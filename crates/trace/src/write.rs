//! Trace files of every format, written from one [`Timeline`].
//!
//! Bytes are conserved: a remainder that does not fill a packet is carried to the next interval,
//! and a note reports what is left at the end. A format with a step of its own has a note on the
//! change of steps. A Mahimahi trace ends at its last opportunity, so silence at the end is lost,
//! and reported.

#[cfg(test)]
mod tests;

use super::format::FileFormat;
use super::read::UNITS;
use super::timeline::Timeline;
use super::unpack::MAX_LINES;
use justfull_base::{Bytes, ConfigError, Duration};
use std::borrow::Cow;
use std::io::{self, Write};

/// Size of the pieces in which text is written.
const PIECE: usize = 64 * 1024;
/// Intervals of 10 ms in a row of T20's.
const T20_INTERVALS: u64 = 100;

/// A timeline that fits a format, ready to be written.
#[derive(Debug)]
pub struct Output<'a> {
    timeline: Cow<'a, Timeline>,
    format: FileFormat,
    /// Bytes of the format's unit.
    unit: u64,
    /// The change of the steps, and the data that the file will lack, one sentence each.
    pub notes: Vec<String>,
}

impl<'a> Output<'a> {
    /// Makes `timeline` fit `format`, whose packets have `packet` bytes (the format's own when none
    /// is named).
    ///
    /// # Errors
    /// When the format cannot be written or cannot hold the timeline: fewer bytes than one packet,
    /// no CQI, a packet of no size.
    pub fn new(
        timeline: &'a Timeline,
        format: FileFormat,
        packet: Option<Bytes>,
    ) -> Result<Self, ConfigError> {
        let source = "a format can be written from a capacity or not";
        let refused = |bound: &str| Err(ConfigError::new("to", &format, bound, source));
        let packet = packet.map_or(format.packet_bytes(), |packet| packet.0);
        if !(1..=65_535).contains(&packet) {
            let source = "RFC 791 section 3.1: the total length has 16 bits";
            return Err(ConfigError::new("packet-bytes", &Bytes(packet), "1B to 65535B", source));
        }
        let (interval, unit) = match format {
            FileFormat::Mahimahi | FileFormat::Cellreplay => (Duration::from_millis(1), packet),
            FileFormat::T20 => (Duration::from_secs(1), packet * T20_INTERVALS),
            FileFormat::Cqi if timeline.cqi().is_none() => {
                return refused("a format that needs no CQI: the trace has none");
            }
            FileFormat::Cqi | FileFormat::Bytes | FileFormat::Csv => (timeline.interval(), 1),
            FileFormat::Ucc
            | FileFormat::CellreplayTrain
            | FileFormat::NrScope
            | FileFormat::Rates
            | FileFormat::Amounts => {
                let names = FileFormat::WRITTEN.map(FileFormat::name).join(", ");
                return refused(&format!("one of {names}"));
            }
        };
        let packets = timeline.total() / unit;
        if matches!(format, FileFormat::Mahimahi | FileFormat::Cellreplay) && packets > MAX_LINES {
            let bound = format!(
                "a format without a line per packet: {packets} packets, of {MAX_LINES} that are \
                 read"
            );
            return refused(&bound);
        }
        if timeline.total() == 0 {
            let source = "a link that carries nothing is no trace";
            return Err(ConfigError::new("bytes of the trace", &0, "at least 1", source));
        }
        if timeline.total() < unit {
            return refused("a format whose smallest amount the trace carries at least once");
        }
        let mut notes: Vec<String> = timeline.steps_to(interval).into_iter().collect();
        let timeline = if interval == timeline.interval() {
            Cow::Borrowed(timeline)
        } else {
            Cow::Owned(timeline.resample(interval)?)
        };
        notes.extend(lacks(&timeline, format, unit));
        Ok(Self { timeline, format, unit, notes })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// The error of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            FileFormat::Mahimahi | FileFormat::Cellreplay => self.opportunities(out),
            FileFormat::T20 => {
                let size = self.unit / T20_INTERVALS;
                writeln!(
                    out,
                    "# packets of {size} B per 10 ms, a row per second\npackets_per_10ms"
                )?;
                self.lines(out, self.timeline.packets(self.unit))
            }
            FileFormat::Bytes => {
                writeln!(out, "# bytes per {}\nbytes", self.timeline.interval())?;
                self.lines(out, self.timeline.bytes().iter().map(|&bytes| bytes.into()))
            }
            FileFormat::Cqi => {
                writeln!(out, "# a row per {}\ncqi", self.timeline.interval())?;
                self.lines(
                    out,
                    self.timeline.cqi().unwrap_or_default().iter().map(|&cqi| cqi.into()),
                )
            }
            // `new` refuses formats that cannot be written.
            _ => self.csv(out),
        }
    }

    /// One line per opportunity: the end of the millisecond in which it completes.
    fn opportunities(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut piece = Vec::with_capacity(PIECE + 32);
        let mut line = Vec::with_capacity(24);
        for (ms, packets) in (1..).zip(self.timeline.packets(self.unit)) {
            if packets == 0 {
                continue;
            }
            line.clear();
            push_decimal(&mut line, ms);
            line.push(b'\n');
            for _ in 0..packets {
                piece.extend_from_slice(&line);
                hand_on(&mut piece, out)?;
            }
        }
        out.write_all(&piece)
    }

    /// One number per line.
    fn lines(&self, out: &mut dyn Write, values: impl Iterator<Item = u64>) -> io::Result<()> {
        let mut piece = Vec::with_capacity(PIECE + 32);
        for value in values {
            push_decimal(&mut piece, value);
            piece.push(b'\n');
            hand_on(&mut piece, out)?;
        }
        out.write_all(&piece)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let (interval, end) =
            (self.timeline.interval().as_nanos(), self.timeline.duration().as_nanos());
        let whole = |(_, ns): &(&str, u64)| interval.is_multiple_of(*ns) && end.is_multiple_of(*ns);
        let (unit, length) = UNITS.into_iter().find(whole).unwrap_or(("ns", 1));
        let cqi = self.timeline.cqi();
        writeln!(out, "start_{unit},end_{unit},bytes{}", if cqi.is_some() { ",cqi" } else { "" })?;
        let (step, end) = (interval / length, end / length);
        let mut piece = Vec::with_capacity(PIECE + 128);
        for (index, &bytes) in self.timeline.bytes().iter().enumerate() {
            let start = index as u64 * step;
            for value in [start, (start + step).min(end)] {
                push_decimal(&mut piece, value);
                piece.push(b',');
            }
            push_decimal(&mut piece, bytes.into());
            if let Some(cqi) = cqi {
                piece.push(b',');
                push_decimal(&mut piece, cqi[index].into());
            }
            piece.push(b'\n');
            hand_on(&mut piece, out)?;
        }
        out.write_all(&piece)
    }
}

/// The data that the file will lack.
fn lacks(timeline: &Timeline, format: FileFormat, unit: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if timeline.cqi().is_some()
        && matches!(
            format,
            FileFormat::Mahimahi | FileFormat::Cellreplay | FileFormat::T20 | FileFormat::Bytes
        )
    {
        notes.push(format!("{format} holds no CQI"));
    }
    if format == FileFormat::Cqi {
        notes.push("a CQI says nothing of bytes: the reader's map makes them".into());
    }
    if timeline.last() < timeline.interval() && format != FileFormat::Csv {
        notes.push(format!(
            "the last row stands for {} of {}: {format} has rows of one length",
            timeline.last(),
            timeline.interval()
        ));
    }
    let rest = timeline.total() % unit;
    if rest > 0 {
        notes.push(format!("{rest} B at the end are less than {unit} B and left out"));
    }
    if matches!(format, FileFormat::Mahimahi | FileFormat::Cellreplay) {
        let mut silent = 0;
        for packets in timeline.packets(unit) {
            silent = if packets > 0 { 0 } else { silent + 1 };
        }
        if silent > 0 {
            notes.push(format!(
                "{silent} ms of silence at the end are lost: {format} begins again after its last \
                 opportunity"
            ));
        }
    }
    notes
}

/// Writes the piece once it is large enough.
fn hand_on(piece: &mut Vec<u8>, out: &mut dyn Write) -> io::Result<()> {
    if piece.len() >= PIECE {
        out.write_all(piece)?;
        piece.clear();
    }
    Ok(())
}

/// Appends `value` in decimal digits.
fn push_decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut from = digits.len();
    loop {
        from -= 1;
        digits[from] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[from..]);
}
