//! The progress of a live run on the terminal: four lines twice a second, or a whole page with
//! `--tui`. A separate thread writes, so that a blocked terminal holds up neither the run nor its
//! results.

use super::change::{Before, drops};
use super::dials::Dials;
use super::last::{Last, Seen};
use crate::screen::{Keys, Screen, To};
use crate::terminal::say;
use crossterm::terminal::size;
use justfull_base::{Duration, Instant, Layer};
use justfull_net::Stop;
use std::fmt::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

/// Time between two updates of the four lines.
const SHOW: std::time::Duration = std::time::Duration::from_millis(500);
/// Time between two pages.
const PAGE: std::time::Duration = std::time::Duration::from_millis(250);
/// Time between two lines without a terminal.
const LINE: std::time::Duration = std::time::Duration::from_secs(1);
/// Lines of an update.
const LINES: usize = 4;
/// Longest wait for the terminal at the end of the run.
const END: std::time::Duration = std::time::Duration::from_secs(1);
/// Columns and lines if the terminal does not report them.
const SIZE: (u16, u16) = (80, 24);
/// Switch the wrapping of lines that are longer than the terminal is wide: off, and on.
const CUT: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// Shows a run until it is dropped.
pub(super) struct Terminal {
    stop: Option<Sender<()>>,
    ended: Receiver<()>,
}

impl Terminal {
    /// Shows `last`, as a page if `tui`; none if no thread can be started.
    pub(super) fn start(last: Last, tui: bool) -> Option<Self> {
        let ((stop, stopped), (alive, ended)) = (channel::<()>(), channel());
        let work = move || {
            match (tui, To::any()) {
                (false, _) => {
                    let mut board = Board::new();
                    each(SHOW, &stopped, &last, |seen| board.saw(&seen));
                }
                (true, Some(to)) => page(to, &stopped, &last),
                (true, None) => lines(&stopped, &last),
            }
            drop(alive);
        };
        thread::Builder::new().name("terminal".into()).spawn(work).ok()?;
        Some(Self { stop: Some(stop), ended })
    }
}

/// Calls `show` with the run at each period until `stopped`.
fn each(
    every: std::time::Duration,
    stopped: &Receiver<()>,
    last: &Last,
    mut show: impl FnMut(Seen),
) {
    while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
        last.get().into_iter().for_each(&mut show);
    }
}

/// Paints pages until the run ends or a signal ends it. The run's end may take time, but the
/// terminal is released at once.
fn page(to: To, stopped: &Receiver<()>, last: &Last) {
    let (Ok(signals), Ok(screen)) = (Stop::listen(), Screen::open(to, Keys::Others)) else {
        return lines(stopped, last);
    };
    let (mut dials, mut screen) = (Dials::default(), Some(screen));
    each(PAGE, stopped, last, |seen| {
        if signals.requested() {
            screen = None;
        }
        if let Some(open) = screen.as_ref().filter(|_| dials.look(seen)) {
            let (width, height) = size().unwrap_or(SIZE);
            if open.show(&dials.page(width.into(), height.into())).is_err() {
                screen = None;
            }
        }
    });
}

/// Writes one line per second.
fn lines(stopped: &Receiver<()>, last: &Last) {
    let mut dials = Dials::default();
    each(LINE, stopped, last, |seen| {
        if dials.look(seen) {
            dials.line().iter().for_each(|line| say(line));
        }
    });
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.stop = None;
        // The channel closes when the thread has ended. A thread that has not ended by then ends
        // with the process.
        let _ended = self.ended.recv_timeout(END);
    }
}

/// The lines on the terminal, and the counts at the time of writing.
struct Board {
    before: Before,
}

impl Board {
    fn new() -> Self {
        Self { before: Before::new() }
    }

    /// Rewrites the lines if there is news.
    fn saw(&mut self, seen: &Seen) {
        let first = self.before.at == Instant::ZERO;
        if let Some(text) = self.look(seen) {
            let up = if first { String::new() } else { format!("\x1b[{LINES}A") };
            // A wrapped line would be one more than the next update rewrites.
            eprint!("{up}{CUT}{text}{WRAP}");
        }
    }

    /// The lines for the events since the last update; each clears the rest of its line.
    fn look(&mut self, seen: &Seen) -> Option<String> {
        let change = self.before.change(seen)?;
        let Seen { now, view, .. } = seen;
        let counts = &view.counts;
        let mut text = format!(
            "\r{:7.1} s   {:9.2} Mbit/s   {:5.1} % of the cell   late {:.0} us (p99), {} of \
             {} slots missed\x1b[K\n",
            now.as_nanos() as f64 * 1e-9,
            change.rate,
            100.0 * change.used,
            view.lateness.p99_us,
            view.lateness.missed,
            view.lateness.slots,
        );
        let _ok = write!(text, "  backlog ");
        for (layer, packets) in Layer::ALL.into_iter().zip(view.backlog_packets) {
            let _ok = write!(text, "  {} {packets} packets", layer.name());
        }
        text.push_str("\x1b[K\n  sojourn ");
        for (layer, times) in Layer::ALL.into_iter().zip(&change.counts.sojourn) {
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
        Some(text)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        if self.before.at > Instant::ZERO {
            eprint!("\x1b[{LINES}A\r\x1b[J");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::metrics::tests::view;
    use justfull_base::DropReason;
    use justfull_live::driver::{Counts, View};

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
        let seen = |ms, view: &View| Seen {
            about: Default::default(),
            now: Instant::ZERO + Duration::from_millis(ms),
            view: view.clone(),
        };
        let first = board.look(&seen(500, &view)).expect("it is new");
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
        let second = board.look(&seen(1_000, &view)).expect("it is new");
        assert!(second.contains("2.00 Mbit/s") && second.contains("rlc -"), "{second}");
    }
}
