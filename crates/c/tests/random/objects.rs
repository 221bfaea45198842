//! Limiters, pacers, queues and EQP under any calls that bytes make: the test draws the bytes, and
//! libFuzzer's target `c_objects` has this file too. No object finds a fault in itself, a queue
//! conserves its packets, and a schedule gives no more blocks than the slot has.

use justfull::eqp::*;
use justfull::jf_status::*;
use justfull::limiter::*;
use justfull::pacer::*;
use justfull::packet::{jf_counts, jf_packet, jf_slot, jf_view};
use justfull::queue::*;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

pub(super) const LIMITERS: [&str; 10] = [
    "unlimited",
    "fixed",
    "dyn_rlc",
    "drql",
    "dql",
    "bdp_5g",
    "e_bdp_5g",
    "hedge",
    "last_poll",
    "none of these",
];
const PACERS: [&str; 3] = ["unpaced", "usp", "none of these"];
const QUEUES: [&str; 8] = [
    "aqm.kind = \"codel\"",
    "aqm.kind = \"pie\"",
    "aqm.kind = \"ttlred1\"",
    "aqm.kind = \"adaptive_red\"",
    "discipline = { kind = \"fq_codel\", lanes = 4 }",
    "discipline = { kind = \"sfq\", perturb = \"1ms\" }",
    "discipline = { kind = \"lanes\", lanes = 4 }",
    "aqm.kind = \"dualpi2\"\ndiscipline.kind = \"dual_queue\"",
];
/// Resource blocks, UEs, bearers and SDUs of a schedule.
const RBS: u16 = 12;
const LISTED: usize = 4;

/// Bytes that choose; zeros follow the last.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// A small number and, now and then, one at an end of its range.
    fn number(&mut self) -> u64 {
        match self.byte() {
            byte @ 0..200 => u64::from(byte) * 100,
            byte => u64::MAX >> (byte - 200),
        }
    }
}

/// Runs the calls in `bytes` on objects that they choose.
pub(crate) fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    let grants = jf_grants {
        slot: choices.number(),
        mtu: choices.number() as u32,
        unit: choices.byte() % 3,
        reserved: [0; 3],
    };
    match choices.below(4) {
        0 => limiter(&mut choices, &grants),
        1 => pacer(&mut choices, &grants),
        2 => queue(&mut choices),
        _ => eqp(&mut choices),
    }
}

fn slot(now: u64, choices: &mut Choices<'_>) -> jf_slot {
    jf_slot {
        pulled_at: if choices.byte() < 250 { now } else { choices.number() },
        slot: choices.number(),
        granted: choices.number(),
        used: choices.number(),
        remaining: choices.number(),
        capacity: choices.number(),
        starved: choices.byte() % 3,
        reserved: [0; 7],
    }
}

fn limiter(choices: &mut Choices<'_>, grants: &jf_grants) {
    let text = format!("kind = \"{}\"", LIMITERS[choices.below(LIMITERS.len())]);
    let (mut limiter, mut now, mut word, mut flag) = (None, 0_u64, 0, 0);
    // SAFETY: the settings are there, handles are the library's or NULL, the rest are references.
    unsafe {
        let at = text.as_ptr().cast();
        let _refused = jf_limiter_create(at, text.len(), Some(grants), Some(&mut limiter), None);
        while !choices.0.is_empty() {
            now = now.saturating_add(choices.number());
            let view = jf_view { packets: choices.number(), bytes: choices.number() };
            let answer = match choices.below(5) {
                0 => jf_limiter_room(limiter, now, Some(&view), Some(&mut word)),
                1 => jf_limiter_on_admitted(limiter, now, choices.number(), Some(&view)),
                2 => jf_limiter_on_departed(limiter, now, choices.number()),
                3 => jf_limiter_overdraws(limiter, Some(&mut flag)),
                _ => jf_limiter_on_slot(limiter, Some(&slot(now, choices))),
            };
            assert_ne!(answer, JF_ERROR_BROKEN, "{text}");
        }
        assert_eq!(jf_limiter_destroy(limiter), JF_OK);
    }
}

fn pacer(choices: &mut Choices<'_>, grants: &jf_grants) {
    let text = format!("kind = \"{}\"", PACERS[choices.below(PACERS.len())]);
    let (mut pacer, mut now, mut word) = (None, 0_u64, 0);
    // SAFETY: as above.
    unsafe {
        let at = text.as_ptr().cast();
        let _refused = jf_pacer_create(at, text.len(), Some(grants), Some(&mut pacer), None);
        while !choices.0.is_empty() {
            now = now.saturating_add(choices.number());
            let answer = match choices.below(3) {
                0 => jf_pacer_occupancy(pacer, now, Some(&mut word)),
                1 => jf_pacer_on_enqueued(pacer, choices.number()),
                _ => {
                    let (moved, backlog) = (choices.number(), choices.number());
                    let poll = jf_poll { moved, backlog, room: choices.number() };
                    jf_pacer_on_poll(pacer, now, Some(&poll))
                }
            };
            assert_ne!(answer, JF_ERROR_BROKEN, "{text}");
        }
        assert_eq!(jf_pacer_destroy(pacer), JF_OK);
    }
}

fn queue(choices: &mut Choices<'_>) {
    let kind = QUEUES[choices.below(QUEUES.len())];
    let text = format!("[queue]\nlimit = \"9 packets\"\n{kind}\n");
    let (mut queue, mut now, mut at) = (None, 0_u64, 0);
    let (mut out, mut counts) = (MaybeUninit::uninit(), jf_counts::default());
    // SAFETY: as above.
    unsafe {
        let settings = text.as_ptr().cast();
        let no_context = std::ptr::null_mut();
        let made = jf_queue_create(settings, text.len(), no_context, None, Some(&mut queue), None);
        assert_eq!(made, JF_OK, "{text}");
        while !choices.0.is_empty() {
            now = now.saturating_add(choices.number());
            let packet = jf_packet {
                size: choices.number() as u32,
                flow_hash: choices.byte().into(),
                ecn: choices.byte() % 5,
                protocol: choices.byte() % 5,
                ..jf_packet::default()
            };
            let answer = match choices.below(9) {
                0..=2 => jf_queue_enqueue(queue, now, Some(&packet)),
                3..=4 => jf_queue_dequeue(queue, now, Some(&mut out)),
                5 => jf_queue_peek(queue, Some(&mut out)),
                6 => jf_queue_set_rate(queue, choices.number()),
                7 => jf_queue_goes_before(queue, Some(&packet)),
                _ => match jf_queue_next_timeout(queue, Some(&mut at)) {
                    JF_OK => jf_queue_on_timeout(queue, now),
                    other => other,
                },
            };
            assert_ne!(answer, JF_ERROR_BROKEN, "{text}");
        }
        assert_eq!(jf_queue_counts(queue, Some(&mut counts)), JF_OK);
        let fates = counts.departed_packets + counts.dropped_packets + counts.waiting_packets;
        assert_eq!(counts.arrived_packets, fates, "{text}");
        assert_eq!(jf_queue_destroy(queue), JF_OK);
    }
}

fn eqp(choices: &mut Choices<'_>) {
    let text = "shares = [0.5, 0.5]\nrbs = 12\nues = 4\nbearers = 4\nsdus = 4\n";
    let (mut eqp, mut now) = (None, 0_u64);
    // SAFETY: as above.
    unsafe {
        let made = jf_eqp_create(text.as_ptr().cast(), text.len(), Some(&mut eqp), None);
        assert_eq!(made, JF_OK);
        while !choices.0.is_empty() {
            now = now.saturating_add(choices.number());
            let answer = schedule(eqp, now, choices);
            assert_ne!(answer, JF_ERROR_BROKEN);
            let mut rbs = 0.0;
            let answer = jf_eqp_quantum(eqp, choices.byte().into(), Some(&mut rbs));
            assert!(answer != JF_OK || rbs.is_finite(), "{rbs}");
        }
        assert_eq!(jf_eqp_destroy(eqp), JF_OK);
    }
}

fn schedule(
    eqp: Option<NonNull<jf_eqp>>,
    now: u64,
    choices: &mut Choices<'_>,
) -> justfull::jf_status {
    // Most tables and lists are right, so that most slots are scheduled.
    let mut table = [0_u32; RBS as usize + 1];
    for n in 1..table.len() {
        let more = choices.number() as u32 % 1_000;
        table[n] = if choices.byte() < 250 { table[n - 1] + more } else { more };
    }
    let count = choices.below(LISTED + 2);
    let ues: Vec<jf_eqp_ue> = (0..count)
        .map(|n| jf_eqp_ue {
            tbs: table.as_ptr(),
            ue: if choices.byte() < 250 { n as u32 } else { 1 },
            bearers: if choices.byte() < 250 { 1 } else { choices.byte().into() },
            slice: u16::from(choices.byte() % 3),
            reserved: [0; 3],
        })
        .collect();
    let bearers: Vec<jf_eqp_bearer> = (0..count)
        .map(|_| jf_eqp_bearer {
            backlog: choices.number(),
            head_of_line: choices.number(),
            sdus: if choices.byte() < 250 { 1 } else { choices.byte().into() },
            drb: choices.byte() % 5,
            reserved: [0; 3],
        })
        .collect();
    let sdus: Vec<u32> = (0..count).map(|_| choices.number() as u32).collect();
    let rbs = if choices.byte() < 240 { RBS } else { u16::from(choices.byte()) % (RBS + 1) };
    let demand = jf_eqp_demand {
        ues: ues.as_ptr(),
        ues_length: ues.len(),
        bearers: bearers.as_ptr(),
        bearers_length: bearers.len(),
        sdus: sdus.as_ptr(),
        sdus_length: sdus.len(),
        slot: choices.number(),
        rbs,
        unit: 1 + u16::from(choices.byte() % 4),
        reserved: 0,
    };
    let mut grants = vec![jf_eqp_grant::default(); count + 1];
    let mut bytes = vec![0_u32; count + 1];
    let (grants_at, bytes_at) =
        (NonNull::new(grants.as_mut_ptr()), NonNull::new(bytes.as_mut_ptr()));
    // SAFETY: each pointer has as many items as the demand says.
    let answer = unsafe { jf_eqp_schedule(eqp, now, Some(&demand), grants_at, bytes_at, None) };
    if answer == JF_OK {
        let given: u32 = grants.iter().map(|grant| u32::from(grant.rbs)).sum();
        assert!(given <= u32::from(rbs), "{given} of {rbs}");
    }
    answer
}
