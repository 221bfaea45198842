//! The progress bar, and Ctrl-C.

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

/// Watches the runs until it is dropped: from a thread of its own where the bar is seen.
pub(crate) struct Display {
    pub(crate) watch: Arc<Watch>,
    bar: ProgressBar,
    /// The thread that paints, which ends when the sender is dropped.
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Display {
    /// A bar on standard error, unless that is no terminal or `quiet` is set; Ctrl-C ends the runs
    /// soon.
    pub(crate) fn new(quiet: bool) -> Self {
        let watch = Arc::new(Watch::default());
        let cancelled = Arc::clone(&watch);
        // A second handler cannot be set; the first then stays in force, which a single command
        // never sees.
        let _ = ctrlc::set_handler(move || {
            if cancelled.cancel.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        if quiet || !std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            return Self { watch, bar, painter: None };
        }
        let bar = ProgressBar::new(0);
        let style = "{bar:30} {percent:>3} %  {msg}  {elapsed}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant template is sound"));
        let (over, wait) = channel();
        let painted = (Arc::clone(&watch), bar.clone());
        let painter = std::thread::spawn(move || {
            while wait.recv_timeout(FRAME) == Err(RecvTimeoutError::Timeout) {
                paint(&painted.0, &painted.1);
            }
        });
        Self { watch, bar, painter: Some((over, painter)) }
    }

    /// `ms` simulated milliseconds are to come on top of what was announced before.
    pub(crate) fn announce(&self, ms: u64) {
        self.bar.inc_length(ms);
    }

    /// Seconds simulated so far and seconds passed.
    pub(crate) fn speed(&self) -> (f64, f64) {
        let simulated = self.watch.simulated_ms.load(Ordering::Relaxed) as f64 * 1e-3;
        (simulated, self.bar.elapsed().as_secs_f64())
    }
}

fn paint(watch: &Watch, bar: &ProgressBar) {
    let ms = watch.simulated_ms.load(Ordering::Relaxed);
    bar.set_position(ms);
    let speed = ms as f64 * 1e-3 / bar.elapsed().as_secs_f64().max(1e-3);
    bar.set_message(format!(
        "{} runs, {speed:.0} x real time",
        watch.finished.load(Ordering::Relaxed)
    ));
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some((over, painter)) = self.painter.take() {
            drop(over);
            // The painter cannot panic; nothing is lost if it did.
            let _ = painter.join();
        }
        self.bar.finish_and_clear();
    }
}
