//! What the entities do, clause by clause, and what they must do whatever happens to their PDUs.

mod um;

use super::mode::{Generation, UmConfig};
use super::*;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use justfull_base::{Duration, Instant};

/// A queue of SDUs.
#[derive(Default)]
struct Queue(VecDeque<SduRef>);

impl Queue {
    fn of(sizes: &[u32]) -> Self {
        let mut queue = Self::default();
        sizes.iter().for_each(|&size| queue.push(size));
        queue
    }

    /// Handles count from 0 while nothing is taken.
    fn push(&mut self, size: u32) {
        let handle = SduHandle(self.0.back().map_or(0, |last| last.handle.0 + 1));
        self.0.push_back(SduRef { handle, size });
    }
}

impl SduSource for Queue {
    fn head(&mut self) -> Option<SduRef> {
        self.0.front().copied()
    }

    fn take(&mut self) {
        self.0.pop_front().expect("a head was shown");
    }
}

/// No handle.
const NONE: [u64; 0] = [];

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn um(generation: Generation, sn_bits: u8) -> RlcModeConfig {
    RlcModeConfig::Um(UmConfig { generation, sn_bits, ..UmConfig::default() })
}

/// What a pull of `grant` bytes at `now` gives.
fn pull(tx: &mut RlcTx, now: Instant, grant: u32, queue: &mut Queue) -> TbContent {
    let mut content = TbContent::default();
    let bytes = tx.pull(now, grant, queue, &mut content);
    assert!(bytes <= grant);
    assert_eq!(u64::from(bytes), content.bytes(), "it answers the bytes that it made");
    tx.assert_sound();
    content
}

/// The handles that `rx` delivers and gives up on `content`.
fn receive(rx: &mut RlcRx, now: Instant, content: &TbContent) -> (Vec<u64>, Vec<u64>) {
    let (mut delivered, mut abandoned) = (Vec::new(), Vec::new());
    rx.receive(now, content, |sdu| delivered.push(sdu.0), |sdu| abandoned.push(sdu.0));
    (delivered, abandoned)
}

fn time_out(rx: &mut RlcRx, now: Instant) -> (Vec<u64>, Vec<u64>) {
    let (mut delivered, mut abandoned) = (Vec::new(), Vec::new());
    rx.on_timeout(now, |sdu| delivered.push(sdu.0), |sdu| abandoned.push(sdu.0));
    (delivered, abandoned)
}
