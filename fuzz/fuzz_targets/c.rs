//! The C library's boundary: settings of any text, and any order of calls with any content on a
//! gate and a queue, with an RLC that says anything and calls back. No object finds a fault in
//! itself, and each queue conserves its packets.
//!
//! The first byte chooses settings, or with 255 the text up to a zero is the settings; then come
//! calls of eight bytes: the kind, the QoS flow or bearer, two of the clock, four for the content.

#![no_main]

use justfull::gate::*;
use justfull::hooks::jf_rlc;
use justfull::jf_status::*;
use justfull::packet::{jf_counts, jf_packet, jf_slot, jf_view};
use justfull::queue::*;
use libfuzzer_sys::fuzz_target;
use std::ffi::c_void;
use std::ptr::NonNull;

const SETTINGS: [&str; 6] = [
    "limiter.kind = \"drql\"\nunit = \"packets\"\nsdap.queue.limit = \"8 packets\"\n",
    "limiter.kind = \"bdp_5g\"\nsdap.queue = { limit = \"9 packets\", aqm = { kind = \"codel\" } }\n",
    "limiter.kind = \"e_bdp_5g\"\ncapacity = 4\nsdap.queue.limit = \"20kB\"\n",
    "limiter.kind = \"dql\"\nsdap.queue = { discipline = { kind = \"fq_codel\", lanes = 4 } }\n",
    "limiter.kind = \"last_poll\"\nsdap.queue = { discipline = { kind = \"sfq\", perturb = \"1ms\" } }\n",
    "limiter.kind = \"hedge\"\nsdap.queue = { aqm = { kind = \"ttlred2\" } }\n",
];

/// The state of the RLC, and the gate that it calls.
struct Wild {
    packets: u64,
    bytes: u64,
    takes: bool,
    gate: Option<NonNull<jf_gate>>,
}

unsafe extern "C" fn view(context: *mut c_void, _: u8, view: *mut jf_view) {
    // SAFETY: the context is a `Wild`, and there is a place for a view.
    unsafe {
        let wild = &*context.cast::<Wild>();
        *view = jf_view { packets: wild.packets, bytes: wild.bytes };
    }
}

unsafe extern "C" fn enqueue(context: *mut c_void, now: u64, _: u8, _: *const jf_packet) -> bool {
    // SAFETY: the context is a `Wild`, and its gate a handle.
    unsafe {
        let wild = &*context.cast::<Wild>();
        let answer = jf_gate_poll(wild.gate, now, None);
        assert!(matches!(answer, JF_ERROR_BUSY | JF_ERROR_NULL), "{answer:?}");
        wild.takes
    }
}

/// Small numbers and, now and then, ones at the ends of their range.
fn number(byte: u8) -> u64 {
    if byte < 200 { u64::from(byte) * 100 } else { u64::MAX >> (byte - 200) }
}

fuzz_target!(|data: &[u8]| {
    let Some((&choice, mut rest)) = data.split_first() else { return };
    let text = if choice == 255 {
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        let (text, after) = rest.split_at(end);
        rest = after;
        text.to_vec()
    } else {
        let flows = "[[qos_flow]]\nqfi = 1\n[[qos_flow]]\nqfi = 2\n";
        (SETTINGS[usize::from(choice) % SETTINGS.len()].to_owned() + flows).into_bytes()
    };
    let mut wild = Box::new(Wild { packets: 0, bytes: 0, takes: true, gate: None });
    let context = &raw mut *wild;
    let rlc =
        jf_rlc { context: context.cast(), view: Some(view), enqueue: Some(enqueue), dropped: None };
    let (mut gate, mut queue) = (None, None);
    // SAFETY: the settings are there, and the RLC's functions may be called with its context.
    let made = unsafe {
        jf_gate_create(text.as_ptr().cast(), text.len(), Some(&rlc), Some(&mut gate), None)
    };
    assert_eq!(made == JF_OK, gate.is_some());
    assert!(choice == 255 || made == JF_OK, "{made:?}");
    // SAFETY: as above.
    let other = unsafe {
        let queue = Some(&mut queue);
        jf_queue_create(text.as_ptr().cast(), text.len(), context.cast(), None, queue, None)
    };
    assert_ne!(other, JF_ERROR_BROKEN);
    let mut now = 0_u64;
    for call in rest.chunks_exact(8) {
        let [kind, place, coarse, fine, a, b, c, d] = *call else { continue };
        now = now.saturating_add(number(coarse)).saturating_add(u64::from(fine));
        // SAFETY: the context is a `Wild` that nobody else borrows now.
        unsafe {
            (*context).gate = gate;
            (*context).packets = number(a);
            (*context).bytes = number(b);
            (*context).takes = c < 240;
        }
        let packet = jf_packet {
            id: number(a),
            size: number(b) as u32,
            flow_hash: c.into(),
            ecn: d % 5,
            protocol: c % 5,
            ..jf_packet::default()
        };
        let slot = jf_slot {
            pulled_at: now,
            slot: number(place).max(1).saturating_mul(1000),
            granted: number(a),
            used: number(b),
            remaining: number(c),
            capacity: number(d),
            starved: d % 2,
            reserved: [0; 7],
        };
        let (flow, drb, mut word) = (u32::from(place % 3), place % 2, 0);
        // SAFETY: handles of the library or NULL, and references.
        let answer = unsafe {
            match kind % 12 {
                0..=2 => jf_gate_offer(gate, now, flow, Some(&packet)),
                3..=4 => jf_gate_poll(gate, now, None),
                5 => jf_gate_on_slot(gate, drb, Some(&slot)),
                6 => jf_gate_on_departed(gate, now, drb, number(a)),
                7 => jf_gate_room(gate, now, flow, Some(&mut word)),
                8 => jf_gate_bypass(gate, now, drb, Some(&packet)),
                9 => jf_gate_on_timeout(gate, now),
                10 => jf_queue_enqueue(queue, now, Some(&packet)),
                _ => jf_queue_dequeue(queue, now, None),
            }
        };
        assert_ne!(answer, JF_ERROR_BROKEN);
    }
    let mut counts = jf_counts::default();
    // SAFETY: handles of the library or NULL, and references.
    unsafe {
        if jf_gate_counts(gate, 0, Some(&mut counts)) == JF_OK {
            let fates = counts.departed_packets + counts.dropped_packets + counts.waiting_packets;
            assert_eq!(counts.arrived_packets, fates);
        }
        assert_eq!((jf_gate_destroy(gate), jf_queue_destroy(queue)), (JF_OK, JF_OK));
    }
});
