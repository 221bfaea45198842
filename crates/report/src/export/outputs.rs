//! The files written during a run, and the tap that writes them.

use super::facts::RunFacts;
use super::measure::Measurements;
use super::pcapng::Capture;
use super::records::{
    Format, PACKET_COLUMNS, PacketRecord, PacketTap, RecordFile, SLOT_COLUMNS, SlotRecord, SlotTap,
};
use super::sink::ExportError;
use super::{flent, irtt};
use justfull_base::{Duration, Event, Instant, Packet};
use justfull_run::Tap;
use justfull_tcp::{Ack, Segment};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The files requested for each run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Records of packets and their format.
    pub packets: Option<(PathBuf, Format)>,
    /// Records of slots and their format.
    pub slots: Option<(PathBuf, Format)>,
    /// A capture.
    pub pcapng: Option<PathBuf>,
    /// A data file of flent.
    pub flent: Option<PathBuf>,
    /// A file of measurements in irtt's format.
    pub irtt: Option<PathBuf>,
}

impl Outputs {
    /// True when no file is requested.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All paths, each with the option that requests it.
    #[must_use]
    pub fn paths(&self) -> Vec<(&'static str, &Path)> {
        let all = [
            ("--packets", self.packets.as_ref().map(|(path, _)| path)),
            ("--slots", self.slots.as_ref().map(|(path, _)| path)),
            ("--pcapng", self.pcapng.as_ref()),
            ("--flent", self.flent.as_ref()),
            ("--irtt", self.irtt.as_ref()),
        ];
        all.into_iter().filter_map(|(option, path)| Some((option, path?.as_path()))).collect()
    }

    /// The files of one of several runs: each name gets `run` before its extension.
    #[must_use]
    pub fn named(&self, run: &str) -> Self {
        let path = |path: &PathBuf| insert(path, run);
        let records = |(at, format): &(PathBuf, Format)| (insert(at, run), *format);
        Self {
            packets: self.packets.as_ref().map(records),
            slots: self.slots.as_ref().map(records),
            pcapng: self.pcapng.as_ref().map(path),
            flent: self.flent.as_ref().map(path),
            irtt: self.irtt.as_ref().map(path),
        }
    }
}

/// `run` without characters that are unsafe in a file name.
#[must_use]
pub fn as_file_name(run: &str) -> String {
    run.chars().map(|c| if c.is_alphanumeric() || "-_.@=".contains(c) { c } else { '_' }).collect()
}

/// `path` with `-run` before its first extension, so that `.flent.gz` stays whole. A name that
/// begins with a dot has no extension.
#[must_use]
pub fn insert(path: &Path, run: &str) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let at = name[1.min(name.len())..].find('.').map_or(name.len(), |at| at + 1);
    let (stem, endings) = name.split_at(at);
    path.with_file_name(OsString::from(format!("{stem}-{}{endings}", as_file_name(run))))
}

/// Writes the files of one run while it is in progress.
pub struct OutputTap {
    outputs: Outputs,
    facts: RunFacts,
    packets: Option<(PacketTap, RecordFile<PacketRecord>)>,
    slots: Option<(SlotTap, RecordFile<SlotRecord>)>,
    capture: Option<Capture>,
    measured: Option<Measurements>,
    /// The first failure.
    failed: Option<ExportError>,
    /// Set to end the run if a file cannot be written.
    stop: Arc<AtomicBool>,
}

impl OutputTap {
    /// Opens the files of `outputs` for the run of `facts`. Sets `stop` if a later write fails.
    ///
    /// # Errors
    /// Names the first file that cannot be opened.
    pub fn create(
        outputs: &Outputs,
        facts: RunFacts,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, ExportError> {
        if let (Some(path), None) = (&outputs.irtt, irtt::flow_of(&facts)) {
            return Err(irtt::without_flow(path));
        }
        let packets = match &outputs.packets {
            None => None,
            Some((path, format)) => {
                let file = RecordFile::create(path, *format, &PACKET_COLUMNS, &facts)?;
                Some((PacketTap::new(&facts), file))
            }
        };
        let slots = match &outputs.slots {
            None => None,
            Some((path, format)) => Some((
                SlotTap::new(&facts),
                RecordFile::create(path, *format, &SLOT_COLUMNS, &facts)?,
            )),
        };
        let capture =
            outputs.pcapng.as_ref().map(|path| Capture::create(path, &facts)).transpose()?;
        let measured = (outputs.flent.is_some() || outputs.irtt.is_some())
            .then(|| Measurements::new(&facts, flent::STEP));
        Ok(Self {
            outputs: outputs.clone(),
            facts,
            packets,
            slots,
            capture,
            measured,
            failed: None,
            stop,
        })
    }

    /// Keeps the first failure and stops the run.
    fn check(&mut self, path: impl Fn(&Outputs) -> Option<PathBuf>, outcome: io::Result<()>) {
        if let Err(what) = outcome {
            let path = path(&self.outputs).unwrap_or_default();
            // Later failures follow from the first.
            self.failed.get_or_insert(ExportError { path, what });
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Writes the remaining data and moves all files into place if the run was `sound`. Otherwise,
    /// and if the tap is dropped, no files are left.
    ///
    /// # Errors
    /// Names the first file that could not be written.
    pub fn end(self, sound: bool) -> Result<(), ExportError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if !sound {
            return Ok(());
        }
        let Outputs { packets, slots, flent, irtt, .. } = &self.outputs;
        if let (Some((path, _)), Some((tap, mut file))) = (packets, self.packets) {
            for record in tap.rest() {
                file.push(record).map_err(|what| ExportError { path: path.clone(), what })?;
            }
            file.commit(path)?;
        }
        if let (Some((path, _)), Some((_, file))) = (slots, self.slots) {
            file.commit(path)?;
        }
        if let Some(capture) = self.capture {
            capture.commit(Instant::ZERO + self.facts.duration)?;
        }
        if let Some(measured) = &self.measured {
            if let Some(path) = flent {
                flent::write(path, measured, &self.facts)?;
            }
            if let Some(path) = irtt {
                irtt::write(path, measured, &self.facts)?;
            }
        }
        Ok(())
    }
}

impl Tap for OutputTap {
    fn on_event(&mut self, now: Instant, event: &Event, segment: Option<&Segment>) {
        if self.failed.is_some() {
            return;
        }
        if let Some((tap, file)) = &mut self.packets
            && let Some(record) = tap.on_event(now, event)
        {
            let outcome = file.push(*record);
            self.check(|o| o.packets.as_ref().map(|(path, _)| path.clone()), outcome);
        }
        if let Some((tap, file)) = &mut self.slots
            && let Some(record) = tap.on_event(now, event)
        {
            let outcome = file.push(record);
            self.check(|o| o.slots.as_ref().map(|(path, _)| path.clone()), outcome);
        }
        if let Some(capture) = &mut self.capture {
            let outcome = capture.record(now, event, segment);
            self.check(|o| o.pcapng.clone(), outcome);
        }
        if let Some(measured) = &mut self.measured {
            measured.record(now, event);
        }
    }

    fn delivered(&mut self, now: Instant, left: Instant, packet: &Packet) {
        if self.failed.is_some() {
            return;
        }
        if let Some((tap, file)) = &mut self.packets
            && let Some(record) = tap.end(now, packet)
        {
            let outcome = file.push(*record);
            self.check(|o| o.packets.as_ref().map(|(path, _)| path.clone()), outcome);
        }
        if let Some(capture) = &mut self.capture {
            let outcome = capture.delivered(now, left, packet);
            self.check(|o| o.pcapng.clone(), outcome);
        }
        if let Some(measured) = &mut self.measured {
            measured.delivered(now, packet);
        }
    }

    fn received(&mut self, now: Instant, flow: u32, bytes: u64) {
        if let Some(measured) = &mut self.measured {
            measured.received(now, flow, bytes);
        }
    }

    fn acknowledged(&mut self, now: Instant, flow: u32, ack: &Ack, sample: Option<Duration>) {
        if let Some(capture) = &mut self.capture
            && self.failed.is_none()
        {
            let outcome = capture.acknowledged(now, flow, ack, sample);
            self.check(|o| o.pcapng.clone(), outcome);
        }
    }

    fn requested(&mut self, now: Instant, flow: u32, sent: Instant) {
        if let Some(measured) = &mut self.measured {
            measured.requested(now, flow, sent);
        }
        if let Some(capture) = &mut self.capture
            && self.failed.is_none()
        {
            let outcome = capture.requested(now, flow, sent);
            self.check(|o| o.pcapng.clone(), outcome);
        }
    }

    fn replied(&mut self, now: Instant, flow: u32, sent: Instant) {
        if let Some(measured) = &mut self.measured {
            measured.replied(now, flow, sent);
        }
        if let Some(capture) = &mut self.capture
            && self.failed.is_none()
        {
            let outcome = capture.replied(now, flow, sent);
            self.check(|o| o.pcapng.clone(), outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_stands_before_all_endings_and_is_a_sound_name() {
        let name = |path: &str, run: &str| insert(Path::new(path), run).display().to_string();
        assert_eq!(
            name("out/run.flent.gz", "CoDel@DRQL-seed3"),
            "out/run-CoDel@DRQL-seed3.flent.gz"
        );
        assert_eq!(name("packets", "a/b c"), "packets-a_b_c");
        assert_eq!(name("./.hidden.csv", "x"), "./.hidden-x.csv");
    }
}
