//! The progress bar or lines of progress for programs, and Ctrl-C.

use crate::args::Progress;
use crate::terminal::say;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use justfull_lab::runner::Watch;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two paintings of the bar.
const FRAME: Duration = Duration::from_millis(80);

/// Time between two lines of progress.
const LINE: Duration = Duration::from_secs(1);

/// Watches the runs until dropped, from a separate thread if there is a viewer.
pub(crate) struct Display {
    pub(crate) watch: Arc<Watch>,
    bar: ProgressBar,
    /// The thread that paints; it ends when the sender is dropped.
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Display {
    /// Shows `progress` on standard error, or nothing if `quiet`. Ctrl-C ends the runs soon.
    pub(crate) fn new(quiet: bool, progress: Progress) -> Self {
        let watch = Arc::new(Watch::default());
        let cancelled = Arc::clone(&watch);
        // A second handler cannot be set. The first stays in force; a single command sets only one.
        let _ = ctrlc::set_handler(move || {
            if cancelled.cancel.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        let bar = match progress {
            Progress::Auto if !quiet && std::io::stderr().is_terminal() => ProgressBar::new(0),
            _ => {
                let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
                let lines = progress == Progress::Json && !quiet;
                let painter = lines.then(|| painter(&watch, &bar, Lines::default()));
                return Self { watch, bar, painter };
            }
        };
        let style = "{bar:30} {percent:>3} %  {msg}  {elapsed}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant template is sound"));
        let painter = Some(painter(&watch, &bar, Bar));
        Self { watch, bar, painter }
    }

    /// Adds `ms` simulated milliseconds to the announced total.
    pub(crate) fn announce(&self, ms: u64) {
        self.bar.inc_length(ms);
    }

    /// The simulated time so far and the speed, in words.
    pub(crate) fn speed(&self) -> String {
        let simulated = self.watch.simulated_ms.load(Ordering::Relaxed) as f64 * 1e-3;
        let passed = self.bar.elapsed().as_secs_f64();
        format!(
            "{simulated:.0} s simulated in {passed:.2} s: {:.0} times real time",
            simulated / passed.max(1e-3)
        )
    }
}

/// A display of the runs.
trait Paint: Send + 'static {
    /// Called every [`FRAME`]; `over` in the last call.
    fn paint(&mut self, watch: &Watch, bar: &ProgressBar, over: bool);
}

/// Calls `paint` until the sender is dropped.
fn painter(
    watch: &Arc<Watch>,
    bar: &ProgressBar,
    mut paint: impl Paint,
) -> (Sender<()>, JoinHandle<()>) {
    let (over, wait) = channel();
    let (watch, bar) = (Arc::clone(watch), bar.clone());
    let thread = std::thread::spawn(move || {
        while wait.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
            paint.paint(&watch, &bar, false);
        }
        paint.paint(&watch, &bar, true);
    });
    (over, thread)
}

/// A progress bar on a terminal.
struct Bar;

impl Paint for Bar {
    fn paint(&mut self, watch: &Watch, bar: &ProgressBar, _over: bool) {
        let ms = watch.simulated_ms.load(Ordering::Relaxed);
        bar.set_position(ms);
        let speed = ms as f64 * 1e-3 / bar.elapsed().as_secs_f64().max(1e-3);
        bar.set_message(format!(
            "{} runs, {speed:.0} x real time",
            watch.finished.load(Ordering::Relaxed)
        ));
    }
}

/// Progress as lines of JSON.
#[derive(Default)]
struct Lines {
    begun: bool,
    /// Finished runs whose line is written.
    finished: usize,
    /// Time of the last line, since the start.
    last: Duration,
}

impl Lines {
    fn line(&mut self, event: &str, simulated_ms: u64, bar: &ProgressBar) {
        self.last = bar.elapsed();
        say(&format!(
            "{{\"event\":\"{event}\",\"finished\":{},\"simulated_s\":{},\"announced_s\":{},\
             \"elapsed_s\":{:.3}}}",
            self.finished,
            simulated_ms as f64 * 1e-3,
            bar.length().unwrap_or_default() as f64 * 1e-3,
            self.last.as_secs_f64()
        ));
    }
}

impl Paint for Lines {
    fn paint(&mut self, watch: &Watch, bar: &ProgressBar, over: bool) {
        if !self.begun {
            self.begun = true;
            self.line("start", 0, bar);
        }
        let finished = watch.finished.load(Ordering::Relaxed);
        let ms = watch.simulated_ms.load(Ordering::Relaxed);
        while self.finished < finished {
            self.finished += 1;
            self.line("run", ms, bar);
        }
        if over {
            self.line("end", ms, bar);
        } else if bar.elapsed().saturating_sub(self.last) >= LINE {
            self.line("progress", ms, bar);
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some((over, painter)) = self.painter.take() {
            drop(over);
            // The painter cannot panic, and a panic would lose nothing.
            let _ = painter.join();
        }
        self.bar.finish_and_clear();
    }
}
