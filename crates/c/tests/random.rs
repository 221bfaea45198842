//! Random calls with random and extreme arguments: no object ever finds a fault in itself, and each
//! queue conserves its packets.

#[path = "random/objects.rs"]
mod objects;
#[path = "random/rapid.rs"]
mod rapid;

use justfull::gate::{
    jf_gate, jf_gate_bypass, jf_gate_counts, jf_gate_create, jf_gate_destroy, jf_gate_drain,
    jf_gate_next_timeout, jf_gate_offer, jf_gate_on_departed, jf_gate_on_slot, jf_gate_on_timeout,
    jf_gate_poll, jf_gate_room,
};
use justfull::hooks::jf_rlc;
use justfull::jf_status::{self, *};
use justfull::packet::{JF_AMOUNT_MAX, jf_counts, jf_packet, jf_slot, jf_view};
use justfull_base::Rng;
use std::ffi::c_void;
use std::ptr::NonNull;

/// An RLC with random answers.
struct Wild(Rng);

unsafe extern "C" fn view(context: *mut c_void, _: u8, view: *mut jf_view) {
    // SAFETY: the context is a `Wild`, and there is a place for a view.
    unsafe {
        let rng = &mut (*context.cast::<Wild>()).0;
        *view = jf_view { packets: extreme(rng), bytes: extreme(rng) };
    }
}

unsafe extern "C" fn enqueue(context: *mut c_void, _: u64, _: u8, _: *const jf_packet) -> bool {
    // SAFETY: the context is a `Wild`.
    unsafe { (*context.cast::<Wild>()).0.chance(0.9) }
}

/// Small, large, or beyond every bound.
fn extreme(rng: &mut Rng) -> u64 {
    match rng.below(8) {
        0 => 0,
        1 => JF_AMOUNT_MAX,
        2 => u64::MAX - rng.below(3),
        3 => 1 << rng.below(64),
        _ => rng.below(20_000),
    }
}

fn packet(id: u64, rng: &mut Rng) -> jf_packet {
    jf_packet {
        id,
        flow_hash: rng.below(20) as u32,
        size: if rng.chance(0.05) { extreme(rng) as u32 } else { 1 + rng.below(1500) as u32 },
        ecn: rng.below(5) as u8,
        protocol: rng.below(5) as u8,
        ..jf_packet::default()
    }
}

fn slot(now: u64, rng: &mut Rng) -> jf_slot {
    jf_slot {
        pulled_at: if rng.chance(0.05) { extreme(rng) } else { now },
        slot: if rng.chance(0.05) { extreme(rng) } else { 1_000_000 },
        granted: extreme(rng),
        used: extreme(rng),
        remaining: extreme(rng),
        capacity: extreme(rng),
        starved: rng.below(3) as u8,
        reserved: [0; 7],
    }
}

/// One call of `gate` at about `now`.
fn call(gate: Option<NonNull<jf_gate>>, now: u64, id: u64, rng: &mut Rng) -> jf_status {
    let (flow, drb) = (rng.below(3) as u32, rng.below(3) as u8);
    let now = if rng.chance(0.02) { extreme(rng) & (now | 0xffff) } else { now };
    let (packet, slot) = (packet(id, rng), slot(now, rng));
    let (mut at, mut room) = (0, 0);
    // SAFETY: the handle is one of the library, and the other pointers are references.
    unsafe {
        match rng.below(12) {
            0..=3 => jf_gate_offer(gate, now, flow, Some(&packet)),
            4..=5 => jf_gate_poll(gate, now, None),
            6 => jf_gate_on_slot(gate, drb, Some(&slot)),
            7 => jf_gate_on_departed(gate, now, drb, extreme(rng)),
            8 => jf_gate_room(gate, now, flow, Some(&mut room)),
            9 => jf_gate_bypass(gate, now, drb, Some(&packet)),
            10 if rng.chance(0.02) => jf_gate_drain(gate, now),
            _ => match jf_gate_next_timeout(gate, Some(&mut at)) {
                JF_OK => jf_gate_on_timeout(gate, now),
                other => other,
            },
        }
    }
}

fn conserves(gate: Option<NonNull<jf_gate>>, settings: &str) {
    for flow in 0..2 {
        let mut counts = jf_counts::default();
        // SAFETY: as above.
        let told = unsafe { jf_gate_counts(gate, flow, Some(&mut counts)) };
        let jf_counts { arrived_packets, departed_packets, dropped_packets, .. } = counts;
        let fates = departed_packets + dropped_packets + counts.waiting_packets;
        assert_eq!((told, arrived_packets), (JF_OK, fates), "{settings}");
    }
}

#[test]
fn random_calls_find_no_fault_and_lose_no_packet() {
    // The last is no limiter.
    let (_, limiters) = objects::LIMITERS.split_last().expect("a list");
    let queues = [
        "aqm.kind = \"codel\"",
        "aqm.kind = \"red\"",
        "aqm.kind = \"adaptive_red\"",
        "aqm.kind = \"ttlred1\"",
        "aqm.kind = \"ttlred2\"",
        "aqm.kind = \"pie\"",
        "discipline = { kind = \"sfq\", perturb = \"1ms\" }",
        "discipline.kind = \"fq_codel\"",
        "discipline.kind = \"protocol\"",
        "discipline.kind = \"lanes\"",
        "aqm.kind = \"dualpi2\"\ndiscipline.kind = \"dual_queue\"",
    ];
    for (i, limiter) in limiters.iter().enumerate() {
        for (j, queue) in queues.iter().enumerate() {
            let unit = if *limiter == "fixed" || (i + j) % 2 == 0 { "packets" } else { "bytes" };
            run(limiter, queue, unit, (i * queues.len() + j) as u64);
        }
    }
}

fn run(limiter: &str, queue: &str, unit: &str, seed: u64) {
    let settings = format!(
        "unit = \"{unit}\"\nbearers = 2\nlimiter.kind = \"{limiter}\"\nsdap.pacer.kind = \"usp\"\n\
         sdap.scheduler.kind = \"drr\"\n[sdap.queue]\nlimit = \"50 packets\"\n{queue}\n\
         [[qos_flow]]\nqfi = 1\n[[qos_flow]]\nqfi = 2\ndrb = 1\n"
    );
    let (mut wild, mut rng) = (Wild(Rng::stream(seed, "rlc")), Rng::stream(seed, "calls"));
    let rlc = jf_rlc {
        context: (&raw mut wild).cast(),
        view: Some(view),
        enqueue: Some(enqueue),
        dropped: None,
    };
    let (mut gate, text) = (None, settings.as_bytes());
    // SAFETY: the settings are there, and the RLC's functions may be called with its context.
    let made = unsafe {
        jf_gate_create(text.as_ptr().cast(), text.len(), Some(&rlc), Some(&mut gate), None)
    };
    assert_eq!(made, JF_OK, "{settings}");
    let mut now = 0;
    for id in 0..3_000 {
        now += rng.below(400_000);
        let answer = call(gate, now, id, &mut rng);
        assert_ne!(answer, JF_ERROR_BROKEN, "{settings}\ncall {id}");
    }
    conserves(gate, &settings);
    // SAFETY: the handle is one of the library.
    assert_eq!(unsafe { jf_gate_destroy(gate) }, JF_OK);
}

#[test]
fn random_bytes_find_no_fault_in_a_limiter_pacer_queue_or_scheduler() {
    for seed in 0..4_000 {
        let mut rng = Rng::stream(seed, "bytes");
        let bytes: Vec<u8> = (0..rng.below(600)).map(|_| rng.below(256) as u8).collect();
        objects::run(&bytes);
    }
}
