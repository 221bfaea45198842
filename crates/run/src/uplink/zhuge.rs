//! Zhuge: the base station predicts the wait of each packet for a UE when it arrives, and holds the
//! UE's acknowledgements for the changes of this wait.
//!
//! Source: Meng and others, `SIGCOMM` 2022; its release for ns-3
//! (github.com/transys-project/zhuge, 1a73f1c, `src/zhuge/model`).
//!
//! Controls the round-trip time that a sender measures: when the queue begins to grow, the
//! acknowledgements that pass just then are late by as much as the packets behind them will be. A
//! packet's prediction is (the module `teller`)
//!
//! ```text
//! total = qLong + qShort + tx
//! qLong   bytes that wait, less the largest burst of 1 ms, over the mean rate of departures
//! qShort  time for which the first packet has been the first
//! tx      mean time between milliseconds with a departure
//! ```
//!
//! The change of `total` from one packet of a connection to the next is kept for `history`: an
//! increase as a hold to draw, a decrease as a token. Each packet that the UE sends on the
//! connection is held for an increase that is drawn from them, less what tokens pay, and leaves
//! after the one before (the module `updater`). The reports of a call are built here: they have the
//! predicted arrivals, and the UE's own reports do not reach the sender.
//!
//! The two presets are two algorithms and are never mixed. `as-released` follows the program where
//! it departs from the paper, in its mode for a wired bottleneck: whole milliseconds, no qShort and
//! no burst in qLong, at most 10 ms of a change and of a hold, a hold added to the one before, and
//! shorter holds where fewer packets come than before.
//!
//! Defaults: the release's.
//!
//! Known weaknesses: a hold shows the queue and not its cause, so a sender that fills the queue
//! until it loses packets is only slower. The reports of a call know no loss. Bursts of the radio
//! are changes of the prediction too.
//!
//! Deviations: the queue is all packets that wait in SDAP and RLC for the UE, so CU and DU that are
//! apart know it without delay. Of the paper only its abstract, its algorithms 1 and 2, its figures
//! and a summary were read: the lengths of its windows and the age of its tokens are not known, and
//! are the release's. Line 1 of algorithm 2 has the least of 0 and the wait for the acknowledgement
//! before, where the text has the greatest; tokens never let an acknowledgement pass another. The
//! first packet of a connection is no change. The release is silent in its first 3 s; its reports
//! of calls are of another protocol and are not built. The UE's own reports take no uplink.

mod teller;
mod updater;

use self::teller::Teller;
use self::updater::Updater;
use crate::results::ZhugeResult;
use crate::times::Times;
use justfull_base::doc::MethodDoc;
use justfull_base::{BitRate, Duration, Event, Instant, Layer, Rng, choice, table};
use serde::{Deserialize, Serialize};

choice! {
    serde;
    /// The source of the algorithm.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum ZhugePreset {
        /// The paper's.
        #[default]
        AsPublished = "as-published",
        /// The program's.
        AsReleased = "as-released",
    }
}

table! {
    /// Settings of Zhuge.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ZhugeConfig: "Zhuge, 1a73f1c" with Default {
        /// The algorithm.
        preset: ZhugePreset = ZhugePreset::AsPublished;
        /// Time over which departures are averaged.
        window: Duration = Duration::from_millis(200),
            within(Duration::from_millis(1), Duration::from_secs(10)),
            "the release has five frames of 40 ms";
        /// Time for which a change of the prediction is kept.
        history: Duration = Duration::from_millis(40),
            within(Duration::from_millis(1), Duration::from_secs(10)),
            "the release has 40 ms";
        /// Least rate of departures that is assumed.
        least_rate: BitRate = BitRate(512_000),
            within(BitRate(1_000), BitRate(1_000_000_000)), "the release has 500 x 1024 bit/s";
        /// Build the reports of video calls too.
        calls: bool = true;
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "uplink.zhuge",
    kind: "uplink",
    title: "Zhuge: acknowledgements are held for the wait that arriving packets will have",
    text: "Predicts the wait of each packet that arrives for a UE from the bytes before it, the \
           mean rate of departures and the age of the first packet. Increases of this wait within \
           `history` are holds from which one is drawn for each packet that the UE sends on the \
           connection; decreases are tokens that shorten holds. The order stays. Reports of video \
           calls are built at the base station with the predicted arrivals. One cell, without a \
           proxy; simulated only.",
    sources: "Meng and others, SIGCOMM 2022 (as-published); \
              github.com/transys-project/zhuge, 1a73f1c (as-released)",
    deviations: "Of the paper only the abstract, algorithms 1 and 2, figures and a summary were \
                 read; the lengths of its windows are the release's. Tokens never let an \
                 acknowledgement pass another. `as-released` builds no reports of calls.",
    params: ZhugeConfig::params,
};

/// A connection whose acknowledgements are held.
#[derive(Debug)]
struct Connection {
    updater: Updater,
    rng: Rng,
}

/// Zhuge for all UEs.
pub(super) struct Zhuge {
    config: ZhugeConfig,
    seed: u64,
    ues: Vec<Teller>,
    /// By the flow's number; none for a flow that is not held.
    connections: Vec<Option<Box<Connection>>>,
    warmup: Instant,
    counts: ZhugeResult,
    holds: Times,
}

impl Zhuge {
    /// Zhuge for `ues` UEs in the run with `seed`.
    pub(super) fn new(config: &ZhugeConfig, ues: usize, warmup: Instant, seed: u64) -> Self {
        Self {
            config: *config,
            seed,
            ues: (0..ues).map(|_| Teller::new(config)).collect(),
            connections: Vec::new(),
            warmup,
            counts: ZhugeResult::default(),
            holds: Times::new(),
        }
    }

    /// From now on holds the acknowledgements of flow `number`, a download.
    pub(super) fn hold_flow(&mut self, number: u32) {
        let number = number as usize;
        if self.connections.len() <= number {
            self.connections.resize_with(number + 1, || None);
        }
        let rng = Rng::stream(self.seed, &format!("zhuge.{number}"));
        let connection = Connection { updater: Updater::new(&self.config), rng };
        self.connections[number] = Some(Box::new(connection));
    }

    /// Takes an event of the cell. Returns the predicted delay of a packet that arrives.
    pub(super) fn on_event(&mut self, now: Instant, event: &Event) -> Option<Duration> {
        match event {
            Event::Enqueued { layer: Layer::Sdap, packet, .. } => {
                let teller = self.ues.get_mut(packet.ue as usize)?;
                let told = teller.tell(now);
                teller.entered(now, packet.size);
                self.counts.packets += 1;
                if let Some(Some(connection)) = self.connections.get_mut(packet.flow as usize) {
                    connection.updater.told(now, &told);
                }
                return Some(told.total);
            }
            Event::Departed { layer: Layer::Rlc, packet, .. } => {
                self.ues.get_mut(packet.ue as usize)?.departed(now, packet.size);
            }
            Event::Withdrawn { layer: Layer::Sdap | Layer::Rlc, packet } => {
                self.ues.get_mut(packet.ue as usize)?.dropped(now, packet.size);
            }
            // A packet that the RLC turns away has been in SDAP's queue.
            Event::Dropped { layer, packet, reason }
                if (*layer != Layer::Upf && reason.waited())
                    || (*layer == Layer::Rlc && reason.arriving()) =>
            {
                self.ues.get_mut(packet.ue as usize)?.dropped(now, packet.size);
            }
            _ => {}
        }
        None
    }

    /// The hold of a packet that the UE of flow `flow` sent and the base station receives at `now`;
    /// none for a flow that is not held.
    pub(super) fn hold(&mut self, now: Instant, flow: u32) -> Option<Duration> {
        let Connection { updater, rng } =
            self.connections.get_mut(flow as usize)?.as_deref_mut()?;
        let hold = updater.release(now, rng).since(now);
        self.counts.acks += 1;
        self.counts.held += u64::from(!hold.is_zero());
        if now >= self.warmup {
            self.holds.record(hold);
        }
        Some(hold)
    }

    /// True if it builds the reports of calls.
    pub(super) fn reports(&self) -> bool {
        self.config.calls && self.config.preset == ZhugePreset::AsPublished
    }

    /// A report that it built leaves.
    pub(super) fn count_report(&mut self) {
        self.counts.reports += 1;
    }

    /// Its actions so far.
    pub(super) fn counts(&self) -> ZhugeResult {
        ZhugeResult { hold: self.holds.finish(), ..self.counts.clone() }
    }
}

#[cfg(test)]
mod tests;
