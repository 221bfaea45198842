//! The progress bar, and Ctrl-C.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use justfull_lab::runner::Watch;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Watches the runs from a thread of its own until it is dropped.
pub(crate) struct Display {
    pub(crate) watch: Arc<Watch>,
    bar: ProgressBar,
    over: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
}

impl Display {
    /// A bar on standard error, hidden when that is no terminal or when `quiet`; Ctrl-C ends the runs soon.
    pub(crate) fn new(quiet: bool) -> Self {
        let watch = Arc::new(Watch::default());
        let cancelled = Arc::clone(&watch);
        // A second handler cannot be set; the first then stays in force, which a single command never sees.
        let _ = ctrlc::set_handler(move || {
            if cancelled.cancel.swap(true, Ordering::Relaxed) {
                std::process::exit(130);
            }
        });
        let bar = ProgressBar::new(0);
        if quiet || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let style = "{bar:30} {percent:>3} %  {msg}  {elapsed}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a constant template is sound"));
        let over = Arc::new(AtomicBool::new(false));
        let painter = {
            let (watch, bar, over) = (Arc::clone(&watch), bar.clone(), Arc::clone(&over));
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    paint(&watch, &bar);
                    std::thread::sleep(Duration::from_millis(80));
                }
            })
        };
        Self { watch, bar, over, painter: Some(painter) }
    }

    /// `ms` simulated milliseconds in `runs` runs are to come on top of what was announced before.
    pub(crate) fn announce(&self, ms: u64, _runs: usize) {
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
    bar.set_message(format!("{} runs, {speed:.0} x real time", watch.finished.load(Ordering::Relaxed)));
}

impl Drop for Display {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(painter) = self.painter.take() {
            // The painter cannot panic; nothing is lost if it did.
            let _ = painter.join();
        }
        self.bar.finish_and_clear();
    }
}
