//! What a live run is doing, on the terminal, twice a second. A thread of its own writes: a
//! terminal that takes no more holds up neither the run nor its results.

use super::last::{Last, Seen};
use justfull_base::{DropReason, Duration, Instant, Layer};
use justfull_live::driver::{Counts, View};
use std::fmt::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

/// Time between two looks.
const SHOW: std::time::Duration = std::time::Duration::from_millis(500);
/// Lines of a look.
const LINES: usize = 4;
/// Longest wait for the terminal when the run is over.
const END: std::time::Duration = std::time::Duration::from_secs(1);

/// Writes to standard error until it is dropped.
pub(super) struct Terminal {
    stop: Option<Sender<()>>,
    ended: Receiver<()>,
}

impl Terminal {
    /// Shows `last`; none when there can be no thread for it.
    pub(super) fn start(last: Last) -> Option<Self> {
        let ((stop, stopped), (alive, ended)) = (channel::<()>(), channel());
        let work = move || {
            let mut board = Board::new();
            while stopped.recv_timeout(SHOW) == Err(RecvTimeoutError::Timeout) {
                if let Some(Seen { now, view, .. }) = last.get() {
                    board.saw(now, &view);
                }
            }
            drop((board, alive));
        };
        thread::Builder::new().name("terminal".into()).spawn(work).ok()?;
        Some(Self { stop: Some(stop), ended })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop = None;
        // The channel closes when the thread has ended. A thread that does not end by then ends
        // with the process.
        let _ended = self.ended.recv_timeout(END);
    }
}

/// The lines on the terminal, and what was counted when they were written.
struct Board {
    last: Instant,
    bytes: u64,
    counts: Counts,
}

impl Board {
    fn new() -> Self {
        Self { last: Instant::ZERO, bytes: 0, counts: Counts::default() }
    }

    /// Writes the lines anew when there is something new.
    fn saw(&mut self, now: Instant, view: &View) {
        if now <= self.last {
            return;
        }
        let up = if self.last == Instant::ZERO { String::new() } else { format!("\x1b[{LINES}A") };
        eprint!("{up}{}", self.look(now, view));
    }

    /// The lines for what happened since the last look, each of which clears the rest of its line.
    fn look(&mut self, now: Instant, view: &View) -> String {
        let since = now.since(self.last).as_secs_f64();
        let (counts, before) = (&view.counts, &self.counts);
        let rate = (view.down.delivered_bytes - self.bytes) as f64 * 8e-6 / since;
        let (used, offered) = (counts.used - before.used, counts.offered - before.offered);
        let mut text = format!(
            "\r{:7.1} s   {rate:9.2} Mbit/s   {:5.1} % of the cell   late {:.0} us (p99), {} of \
             {} slots missed\x1b[K\n",
            now.as_nanos() as f64 * 1e-9,
            100.0 * used as f64 / (offered as f64).max(1.0),
            view.lateness.p99_us,
            view.lateness.missed,
            view.lateness.slots,
        );
        let _ok = write!(text, "  backlog ");
        for (layer, packets) in Layer::ALL.into_iter().zip(view.backlog_packets) {
            let _ok = write!(text, "  {} {packets} packets", layer.name());
        }
        text.push_str("\x1b[K\n  sojourn ");
        for (i, layer) in Layer::ALL.into_iter().enumerate() {
            let times = counts.sojourn[i].since(&before.sojourn[i]);
            let ms = |p| times.percentile(p).map_or(0.0, Duration::as_millis_f64);
            let _ok = match times.count {
                0 => write!(text, "  {} -", layer.name()),
                _ => {
                    write!(text, "  {} {:.1} ms (p50) {:.1} (p95)", layer.name(), ms(0.5), ms(0.95))
                }
            };
        }
        text.push_str("\x1b[K\n  dropped ");
        text.push_str(&drops(counts));
        if view.aged_flows > 0 {
            let _ok = write!(text, "   {} of {} flows aged out", view.aged_flows, view.flows);
        }
        text.push_str("\x1b[K\n");
        (self.last, self.bytes, self.counts) = (now, view.down.delivered_bytes, *counts);
        text
    }
}

/// Drops by layer and reason, and marks by layer, since the start.
fn drops(counts: &Counts) -> String {
    let mut text = String::new();
    for (i, layer) in Layer::ALL.into_iter().enumerate() {
        let reasons = DropReason::ALL.into_iter().zip(counts.drops[i]).filter(|(_, n)| *n > 0);
        for (reason, n) in reasons {
            let _ok = write!(text, "  {} {}: {n}", layer.name(), reason.name());
        }
        if counts.marks[i] > 0 {
            let _ok = write!(text, "  {} marked: {}", layer.name(), counts.marks[i]);
        }
    }
    if text.is_empty() { "  none".into() } else { text }
}

impl Drop for Board {
    fn drop(&mut self) {
        if self.last > Instant::ZERO {
            eprint!("\x1b[{LINES}A\r\x1b[J");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::metrics::tests::view;

    #[test]
    fn a_look_tells_of_the_time_since_the_last() {
        let mut view = view();
        view.backlog_packets = [0, 3, 250];
        view.counts = Counts { slots: 500, offered: 1_250_000, used: 625_000, ..Counts::default() };
        view.down.delivered_bytes = 1_250_000;
        (view.lateness.slots, view.lateness.missed, view.lateness.p99_us) = (500, 2, 21.0);
        view.counts.drops[2][DropReason::Overflow as usize] = 12;
        view.counts.sojourn[2].record(Duration::from_millis(100));
        let mut board = Board::new();
        let first = board.look(Instant::ZERO + Duration::from_millis(500), &view);
        assert_eq!(first.lines().count(), LINES);
        for part in [
            "20.00 Mbit/s",
            "50.0 %",
            "late 21 us",
            "2 of 500",
            "rlc 250 packets",
            "rlc overflow: 12",
            "2 of 9 flows aged out",
            "upf -",
        ] {
            assert!(first.contains(part), "{part}: {first}");
        }
        assert!(first.contains("rlc 98.3 ms (p50)"), "{first}");
        view.down.delivered_bytes += 125_000;
        let second = board.look(Instant::ZERO + Duration::from_secs(1), &view);
        assert!(second.contains("2.00 Mbit/s") && second.contains("rlc -"), "{second}");
    }
}
