//! An instrument on each acknowledgement: windows, and the first mark.

use super::scope::MSS;
use justfull_base::Instant;
use justfull_sim::dumbbell::Observer;
use justfull_sim::{Dumbbell, DumbbellConfig};
use justfull_tcp::{Ack, Sender};

/// The record of the first flow.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    /// (seconds, segments) of the window after each acknowledgement.
    pub(super) windows: Vec<(f64, f64)>,
    mark: Option<(f64, f64)>,
}

impl Observer for Watch {
    fn acknowledged(&mut self, now: Instant, flow: u32, _: &Ack, sender: &Sender) {
        if flow != 0 {
            return;
        }
        let now = now.as_secs_f64();
        if sender.marked_segments() > 0 && self.mark.is_none() {
            let before = self.windows.last().map_or(f64::NAN, |(_, window)| *window);
            self.mark = Some((now, before));
        }
        self.windows.push((now, sender.cwnd() as f64 / MSS));
    }
}

impl Watch {
    /// When the first mark was reported, seconds, and the window before, segments.
    pub(super) fn first_mark(&self) -> Option<(f64, f64)> {
        self.mark
    }

    /// The smallest window between two instants, segments.
    pub(super) fn least(&self, from: f64, to: f64) -> f64 {
        let within = self.windows.iter().filter(|(t, _)| (from..=to).contains(t));
        within.map(|(_, window)| *window).fold(f64::NAN, f64::min)
    }
}

/// Runs `config`, whose settings are constants of an experiment.
pub(super) fn watched(config: &DumbbellConfig) -> Watch {
    let mut watch = Watch::default();
    Dumbbell::new(config).expect("an experiment's settings are sound").run(&mut watch);
    watch
}
