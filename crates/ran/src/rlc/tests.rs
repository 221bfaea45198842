//! Tests of the entities, clause by clause, and of their invariants under any fate of their PDUs.

mod am;
mod bad_input;
mod oracle;
mod properties;
mod um;
mod umts;
mod umts_air;

use super::codec::{Decoded, Format, decode, encode};
use super::mode::{AmConfig, Generation, UmConfig};
use super::*;
use crate::pdu::Nack;
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

    /// Handles count from 0 as long as no SDU is taken.
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

fn nr_am() -> AmConfig {
    AmConfig::default()
}

fn lte_am() -> AmConfig {
    AmConfig { generation: Generation::Lte, sn_bits: 10, ..AmConfig::default() }
}

/// The result of a pull of `grant` bytes at `now`.
fn pull(tx: &mut RlcTx, now: Instant, grant: u32, queue: &mut Queue) -> TbContent {
    let mut content = TbContent::default();
    let bytes = tx.pull(now, grant, queue, &mut content);
    assert!(bytes <= grant);
    assert_eq!(u64::from(bytes), content.bytes(), "it answers the bytes that it made");
    tx.assert_sound();
    content
}

/// The handles that `rx` delivers and abandons for `content`.
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

/// `content` after its headers were encoded and decoded.
fn through_bytes(format: Format, content: &TbContent) -> TbContent {
    let mut out = TbContent::default();
    let (mut bytes, mut decoded) = (Vec::new(), Decoded::default());
    for pdu in &content.pdus {
        bytes.clear();
        encode(format, content, pdu, &mut bytes);
        assert_eq!(
            bytes.len() as u32,
            pdu.header_bytes,
            "the header has as many bytes as were counted"
        );
        let parts = content.parts_of(pdu);
        let data: u32 = parts.iter().map(|part| part.len).sum();
        bytes.resize(bytes.len() + data as usize, 0xa5);
        decode(format, &bytes, &mut decoded).expect("what is encoded decodes");
        if let PduHeader::Status(_) = decoded.header {
            out.push_status(decoded.header_bytes).copy_from(&decoded.status);
            continue;
        }
        let lengths: Vec<u32> = parts.iter().map(|part| part.len).collect();
        assert_eq!(decoded.elements, lengths, "length indicators say where SDUs end");
        let first = out.parts.len() as u32;
        out.parts.extend(parts);
        out.push_pdu(decoded.header, decoded.header_bytes, first);
    }
    assert_eq!(&out.pdus, &content.pdus);
    out
}
