//! `--pcapng` of a live run: a thread takes frames out of the driver's ring and writes them.

use crate::failure::Failure;
use justfull_base::Instant;
use justfull_live::capture::{FRAMES, Fate, Frame, Frames, Place, Recorder, SNAPLEN, ring};
use justfull_report::export::pcapng::{INTERFACES, Kept, PacketFile, ms};
use justfull_report::export::{ExportError, Provenance};
use std::io;
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two reads of the ring.
const LOOK: Duration = Duration::from_millis(5);

/// The interface of [`Place::Uplink`].
const UPLINK: usize = 4;

/// A capture that is being written.
pub(super) struct Writer {
    thread: JoinHandle<Result<(PacketFile, Instant), ExportError>>,
}

impl Writer {
    /// Opens `path` and begins to write the frames that the driver puts into the ring.
    pub(super) fn start(path: &Path, provenance: &Provenance) -> Result<(Recorder, Self), Failure> {
        let mut interfaces = INTERFACES;
        interfaces[UPLINK].1 = "datagrams of UEs as they reach the server, or as the queue of a \
                                UE has no room for them";
        let file = PacketFile::create(path, provenance, &interfaces, SNAPLEN as u32)
            .map_err(|e| Failure::usage(&e))?;
        let (recorder, frames) = ring(FRAMES);
        let work = move || write(&frames, file);
        let thread = thread::Builder::new().name("capture".into()).spawn(work);
        let thread = thread.map_err(|e| Failure::Usage(format!("--pcapng: {e}")))?;
        Ok((recorder, Self { thread }))
    }

    /// Waits for the last frame at the end of the run, and moves the file into place if it is
    /// `wanted`.
    pub(super) fn finish(self, wanted: bool) -> Result<(), Failure> {
        let written = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let committed =
            written.and_then(|(file, end)| if wanted { file.commit_or_keep(end) } else { Ok(()) });
        committed.map_err(|e| Failure::Failed(e.to_string()))
    }
}

/// Writes frames until the run is over; returns the instant of the last.
fn write(frames: &Frames, mut file: PacketFile) -> Result<(PacketFile, Instant), ExportError> {
    let mut last = Instant::ZERO;
    loop {
        let drained = frames.drain(|frame| {
            last = last.max(frame.at);
            put(&mut file, frame)
        });
        match drained {
            Ok(true) => thread::sleep(LOOK),
            Ok(false) => return Ok((file, last)),
            Err(what) => return Err(file.keep(what)),
        }
    }
}

fn put(file: &mut PacketFile, frame: &Frame) -> io::Result<()> {
    let interface = Place::ALL.iter().position(|place| *place == frame.place).unwrap_or_default();
    if matches!(frame.fate, Fate::Dropped(..)) {
        file.dropped(interface, 1);
    }
    file.put(
        interface,
        frame.at,
        Kept { bytes: frame.bytes(), original: frame.original },
        &comment(frame),
    )
}

/// The flow of a frame and the event, in the words of a simulated run's capture.
fn comment(frame: &Frame) -> String {
    let mut words = Vec::new();
    if let Some(identity) = frame.identity {
        words.push(format!("flow={} packet={}", identity.flow, identity.packet));
    }
    words.extend(frame.ue.map(|ue| format!("ue={ue}")));
    words.extend(frame.identity.map(|identity| format!("qfi={}", identity.qfi)));
    words.push(match frame.fate {
        Fate::Left(sojourn) => format!("sojourn={}ms", ms(sojourn)),
        Fate::Reached(total) => format!("total={}ms", ms(total)),
        Fate::Arrived => "up".into(),
        Fate::Dropped(reason, waited) => {
            format!("dropped={} sojourn={}ms", reason.name(), ms(waited))
        }
    });
    words.join(" ")
}
