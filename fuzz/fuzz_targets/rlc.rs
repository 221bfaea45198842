//! Any bytes are refused or become a PDU that its entity accepts, in any mode: reassembly, status
//! reports and timers never panic.
//!
//! The first byte chooses the mode; then come PDUs, each after a byte with its length and a byte
//! for the SDU of its pieces and the step of the clock.

#![no_main]

use justfull_base::{Bytes, Duration, Instant};
use justfull_ran::rlc::codec::{self, Decoded, Format};
use justfull_ran::rlc::mode::{AmConfig, Generation, RlcModeConfig, UmConfig};
use justfull_ran::rlc::{Part, PduHeader, RlcRx, RlcTx, SduHandle, SduRef, SduSource, TbContent};
use libfuzzer_sys::fuzz_target;

/// SDUs without end.
struct Endless(u64);

impl SduSource for Endless {
    fn head(&mut self) -> Option<SduRef> {
        Some(SduRef { handle: SduHandle(self.0), size: 1 + self.0 as u32 % 300 })
    }

    fn take(&mut self) {
        self.0 += 1;
    }
}

fn mode(choice: u8) -> RlcModeConfig {
    let (nr, lte) = (Generation::Nr, Generation::Lte);
    let um = |generation, sn_bits| {
        RlcModeConfig::Um(UmConfig { generation, sn_bits, ..UmConfig::default() })
    };
    let am = |generation, sn_bits, li_bits| {
        RlcModeConfig::Am(AmConfig { generation, sn_bits, li_bits, ..AmConfig::default() })
    };
    match choice % 11 {
        8..11 => RlcModeConfig::Am(AmConfig {
            generation: Generation::Umts,
            pdu: Bytes([6, 42, 200][usize::from(choice % 11 - 8)]),
            window: [8, 768, 4095][usize::from(choice % 11 - 8)],
            max_dat: 3,
            ..AmConfig::default()
        }),
        0 => um(nr, 6),
        1 => um(nr, 12),
        2 => um(lte, 5),
        3 => um(lte, 10),
        4 => am(nr, 12, 11),
        5 => am(nr, 18, 11),
        6 => am(lte, 10, 11),
        _ => am(lte, 10, 15),
    }
}

/// The pieces that a header describes, as its sender may have cut them.
fn pieces(decoded: &Decoded, sdu: u64, content: &mut TbContent) {
    let count = decoded.elements.len();
    for (i, &len) in decoded.elements.iter().enumerate() {
        let (offset, last) = match decoded.header {
            PduHeader::Tm | PduHeader::Status(_) => (0, true),
            PduHeader::NrUm { si, so, .. } | PduHeader::NrAm { si, so, .. } => {
                (u32::from(so), si.has_last())
            }
            PduHeader::UmtsAm { open, .. } => (u32::from(len == 0) * 7, i + 1 < count || !open),
            PduHeader::UmtsMrw { .. } => (0, true),
            PduHeader::LteUm { fi, .. } | PduHeader::LteAm { fi, .. } => {
                (u32::from(i == 0 && fi.starts_inside) * 7, i + 1 < count || !fi.ends_inside)
            }
        };
        content.parts.push(Part { sdu: SduHandle(sdu + i as u64), offset, len, last });
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, mut rest)) = bytes.split_first() else { return };
    let mode = mode(choice);
    let format: Format = mode.format();
    let mut tx = RlcTx::new(&mode).expect("valid");
    let mut rx = RlcRx::new(&mode).expect("valid");
    let mut source = Endless(0);
    let (mut content, mut sent, mut decoded) =
        (TbContent::default(), TbContent::default(), Decoded::default());
    let mut now = Instant::ZERO;
    while let [len, about, tail @ ..] = rest {
        let (pdu, after) = tail.split_at(tail.len().min(usize::from(*len)));
        rest = after;
        now += Duration::from_millis(u64::from(about >> 3));
        sent.clear();
        let grant = u32::from(*len) * 2;
        assert!(tx.pull(now, grant, &mut source, &mut sent) <= grant);
        tx.on_timeout(now, about & 1 == 0);
        if codec::decode(format, pdu, &mut decoded).is_ok() {
            tx.on_status(now, &decoded.status, |_| {});
            content.clear();
            pieces(&decoded, u64::from(about & 7), &mut content);
            content.push_pdu(decoded.header, decoded.header_bytes, 0);
            rx.receive(now, &content, |_| {}, |_| {});
        }
        rx.on_timeout(now, |_| {}, |_| {});
        if let Some(status) = rx.status(now, grant) {
            assert!(codec::status_bytes(format, status) <= grant);
            tx.queue_status(status);
        }
    }
});
