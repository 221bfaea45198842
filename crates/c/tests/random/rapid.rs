//! RAPID's control under random calls.

use super::extreme;
use justfull::jf_status::{self, *};
use justfull::rapid::*;
use justfull_base::Rng;
use std::ptr::NonNull;

/// Handles of UEs and flows that are there, that are gone, and that never were.
#[derive(Default)]
struct Handles {
    ues: [u64; 6],
    flows: [u64; 12],
}

/// A sane number below `bound`, or an extreme one.
fn number(rng: &mut Rng, bound: u64) -> u64 {
    if rng.chance(0.05) { extreme(rng) } else { rng.below(bound) }
}

fn opening(rng: &mut Rng) -> jf_rapid_opening {
    jf_rapid_opening {
        tag: rng.below(9),
        wired_rtt: number(rng, 50_000_000),
        radio_rtt: number(rng, 50_000_000),
        mss: number(rng, 1_500) as u32,
        headers: number(rng, 60) as u32,
    }
}

fn sample(rng: &mut Rng) -> jf_rapid_sample {
    jf_rapid_sample {
        arrived: number(rng, 100_000),
        delivered: number(rng, 100_000),
        waiting: number(rng, 100_000),
        wired_rtt: number(rng, 50_000_000),
        radio_rtt: number(rng, 50_000_000),
        radio_smoothed: number(rng, 50_000_000),
        held: rng.below(3) as u8,
        reserved: [0; 7],
    }
}

fn report(now: u64, rng: &mut Rng) -> (jf_cell_report, jf_ue_report) {
    let used = rng.below(1_000);
    let cell = jf_cell_report {
        at: if rng.chance(0.02) { extreme(rng) } else { now },
        slot: if rng.chance(0.02) { extreme(rng) } else { 500_000 },
        offered: if rng.chance(0.02) { extreme(rng) } else { 1_000 },
        used,
        slots: if rng.chance(0.02) { extreme(rng) as u32 } else { 10 },
        active_ues: number(rng, 4) as u32,
        kind: rng.below(4) as u8,
        mcs_table: rng.below(4) as u8,
        layers: rng.below(6) as u8,
        symbols: rng.below(16) as u8,
        dmrs_res: rng.below(20) as u8,
        reserved: [0; 3],
    };
    let blocks = rng.below(used + 2);
    let ue = jf_ue_report {
        blocks,
        repeats: rng.below(blocks + 2),
        bytes: number(rng, 100_000),
        backlog: number(rng, 100_000),
        mcs: if rng.chance(0.1) { JF_MCS_NONE } else { rng.below(32) as u8 },
        reserved: [0; 7],
    };
    (cell, ue)
}

fn call(
    rapid: Option<NonNull<jf_rapid>>,
    now: u64,
    handles: &mut Handles,
    rng: &mut Rng,
) -> jf_status {
    let now = if rng.chance(0.02) { extreme(rng) & (now | 0xffff) } else { now };
    let Handles { ues, flows } = handles;
    let other = ues[rng.below(6) as usize];
    let (ue, flow) = (&mut ues[rng.below(6) as usize], &mut flows[rng.below(12) as usize]);
    let (of_ue, of_flow) = (number(rng, 2), rng.chance(0.02));
    let ue_handle = if of_ue > 1 { of_ue } else { *ue };
    let flow_handle = if of_flow { extreme(rng) } else { *flow };
    let (cell, (of_cell, own)) = (number(rng, 3) as u32, report(now, rng));
    let (opening, sample) = (opening(rng), sample(rng));
    let (mut at, mut rate) = (0, 0.0);
    // SAFETY: the handle is one of the library, and the other pointers are references.
    unsafe {
        match rng.below(24) {
            0 => {
                let _ = jf_rapid_remove_ue(rapid, now, *ue);
                jf_rapid_add_ue(rapid, now, cell, Some(ue))
            }
            1 if rng.chance(0.2) => jf_rapid_remove_ue(rapid, now, ue_handle),
            1 if rng.chance(0.2) => jf_rapid_merge_ues(rapid, now, ue_handle, other),
            2 => jf_rapid_move_ue(rapid, now, ue_handle, cell),
            3 => jf_rapid_limit_ue(rapid, now, ue_handle, extreme(rng)),
            4..=5 => {
                let _ = jf_rapid_close(rapid, now, *flow);
                jf_rapid_open(rapid, now, ue_handle, Some(&opening), Some(flow))
            }
            6 if rng.chance(0.5) => jf_rapid_close(rapid, now, flow_handle),
            7 => jf_rapid_hold(rapid, flow_handle),
            8 => jf_rapid_capacity(rapid, ue_handle, Some(&mut rate)),
            9..=16 => jf_rapid_on_sample(rapid, now, flow_handle, Some(&sample)),
            17..=21 => jf_rapid_on_report(rapid, now, ue_handle, Some(&of_cell), Some(&own)),
            _ => match jf_rapid_next_timer(rapid, Some(&mut at)) {
                JF_OK => jf_rapid_on_timer(rapid, now),
                other => other,
            },
        }
    }
}

#[test]
fn random_calls_find_no_fault_in_a_control_and_each_window_has_a_floor() {
    for (seed, kind) in ["none", "equal_share", "rapid"].into_iter().enumerate() {
        let settings =
            format!("cells = 2\nues = 4\nflows = 8\nflows_of_ue = 3\ncontrol.kind = \"{kind}\"\n");
        let (mut rapid, text) = (None, settings.as_bytes());
        // SAFETY: the settings are there.
        let made =
            unsafe { jf_rapid_create(text.as_ptr().cast(), text.len(), Some(&mut rapid), None) };
        assert_eq!(made, JF_OK, "{settings}");
        let (mut rng, mut handles) = (Rng::stream(seed as u64, "calls"), Handles::default());
        let (mut now, mut changes) = (0, 0);
        for number in 0..40_000 {
            now += rng.below(2_000_000);
            let answer = call(rapid, now, &mut handles, &mut rng);
            assert_ne!(answer, JF_ERROR_BROKEN, "{kind}: call {number}");
            let mut change = jf_rapid_change::default();
            // SAFETY: as above.
            while unsafe { jf_rapid_next_change(rapid, Some(&mut change)) } == JF_OK {
                changes += 1;
                let floored = change.server >= 2 && change.radio >= 2;
                assert!(change.tag < 9 && change.reading < 2 && floored, "{kind}: {change:?}");
            }
        }
        assert!(changes > 1_000, "{kind}: {changes} changes");
        // SAFETY: as above.
        assert_eq!(unsafe { jf_rapid_destroy(rapid) }, JF_OK);
    }
}
