//! RAPID's control at the C library's boundary: any order of calls with any content, on handles of
//! UEs and flows that are there, that are gone, and that never were. No call finds a fault in it,
//! and each window is one that TCP can have.
//!
//! The first byte chooses the control; then come calls of twelve bytes: the kind, two that choose
//! the UE and the flow, one of the clock, eight for the content.

#![no_main]

use justfull::jf_status::{self, *};
use justfull::rapid::*;
use libfuzzer_sys::fuzz_target;
use std::ptr::NonNull;

const KINDS: [&str; 3] = ["none", "equal_share", "rapid"];

/// Small numbers and, now and then, ones at the ends of their range.
fn number(byte: u8) -> u64 {
    if byte < 200 { u64::from(byte) * 1000 } else { u64::MAX >> (byte - 200) }
}

struct Run {
    rapid: Option<NonNull<jf_rapid>>,
    ues: [u64; 4],
    flows: [u64; 8],
    now: u64,
}

impl Run {
    fn call(&mut self, bytes: &[u8; 12]) -> jf_status {
        let [kind, ue, flow, clock, a, b, c, d, e, f, g, h] = *bytes;
        self.now = self.now.saturating_add(number(clock).saturating_mul(100));
        let (rapid, now, other) = (self.rapid, self.now, self.ues[usize::from(flow % 4)]);
        let (ue, flow) =
            (&mut self.ues[usize::from(ue % 4)], &mut self.flows[usize::from(flow % 8)]);
        let opening = jf_rapid_opening {
            tag: u64::from(a),
            wired_rtt: number(b).saturating_mul(100),
            radio_rtt: number(c),
            mss: number(d) as u32,
            headers: u32::from(e),
        };
        let sample = jf_rapid_sample {
            arrived: number(a),
            delivered: number(b),
            waiting: number(c),
            wired_rtt: number(d),
            radio_rtt: number(e),
            radio_smoothed: number(f),
            held: g % 3,
            reserved: [0; 7],
        };
        let cell = jf_cell_report {
            at: if h < 250 { now } else { number(a) },
            slot: number(b).max(1),
            offered: number(c),
            used: u64::from(d),
            slots: number(e) as u32,
            active_ues: u32::from(f),
            kind: g % 4,
            mcs_table: g / 4 % 4,
            layers: g / 16 % 6,
            symbols: h % 16,
            dmrs_res: 12,
            reserved: [0; 3],
        };
        let own = jf_ue_report {
            blocks: u64::from(f),
            repeats: u64::from(g),
            bytes: number(a),
            backlog: number(h),
            mcs: b,
            reserved: [0; 7],
        };
        let (mut at, mut rate) = (0, 0.0);
        // SAFETY: a handle of the library, and references.
        unsafe {
            match kind % 15 {
                0 => jf_rapid_add_ue(rapid, now, u32::from(a % 3), Some(ue)),
                1 => jf_rapid_remove_ue(rapid, now, *ue),
                2 => jf_rapid_move_ue(rapid, now, *ue, u32::from(a % 3)),
                14 => jf_rapid_merge_ues(rapid, now, *ue, other),
                3 => jf_rapid_limit_ue(rapid, now, *ue, number(a)),
                4..=5 => jf_rapid_open(rapid, now, *ue, Some(&opening), Some(flow)),
                6 => jf_rapid_close(rapid, now, *flow),
                7 => jf_rapid_hold(rapid, *flow),
                8 => jf_rapid_capacity(rapid, number(a), Some(&mut rate)),
                9..=10 => jf_rapid_on_sample(rapid, now, *flow, Some(&sample)),
                11..=12 => jf_rapid_on_report(rapid, now, *ue, Some(&cell), Some(&own)),
                _ => match jf_rapid_next_timer(rapid, Some(&mut at)) {
                    JF_OK if at <= now => jf_rapid_on_timer(rapid, now),
                    other => other,
                },
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, rest)) = data.split_first() else { return };
    let kind = KINDS[usize::from(choice) % KINDS.len()];
    let text =
        format!("cells = 2\nues = 3\nflows = 6\nflows_of_ue = 3\ncontrol.kind = \"{kind}\"\n");
    let mut run = Run { rapid: None, ues: [0; 4], flows: [0; 8], now: 0 };
    // SAFETY: the settings are there.
    let made =
        unsafe { jf_rapid_create(text.as_ptr().cast(), text.len(), Some(&mut run.rapid), None) };
    assert_eq!(made, JF_OK);
    for bytes in rest.chunks_exact(12) {
        let Some(bytes) = bytes.first_chunk() else { continue };
        assert_ne!(run.call(bytes), JF_ERROR_BROKEN);
        let mut change = jf_rapid_change::default();
        // SAFETY: a handle of the library, and a reference.
        while unsafe { jf_rapid_next_change(run.rapid, Some(&mut change)) } == JF_OK {
            let windows = [change.server, change.radio];
            let sane = windows.iter().all(|bytes| *bytes == u64::MAX || *bytes <= 1 << 30);
            assert!(sane && change.reading < 2, "{change:?}");
        }
    }
    // SAFETY: a handle of the library.
    assert_eq!(unsafe { jf_rapid_destroy(run.rapid) }, JF_OK);
});
