//! Values by hand: the values that theorems and arithmetic give for cases whose file does not state
//! them.
//!
//! Times in milliseconds, rates in Mbit/s. A slot of length T serves at its beginning, and a packet
//! leaves with the slot that takes its last byte; sizes in bytes are sizes of IP packets.

/// Bytes of a slot, in scenarios with 10 Mbit/s in slots of 1 ms.
const SLOT: f64 = 1250.0;
/// A full segment, and its payload.
const SEGMENT: f64 = 1500.0;
const MSS: f64 = 1448.0;
/// A datagram of a constant rate, and its payload.
const DATAGRAM: f64 = 1428.0;
const PAYLOAD: f64 = 1400.0;
/// Segments and datagrams that a queue of 100 kB holds.
const SEGMENTS: f64 = 66.0;
const DATAGRAMS: f64 = 70.0;

/// The value of the case `id`; none if its file states it.
pub(super) fn value(id: &str) -> Option<f64> {
    Some(match id {
        "md1-half" => in_slots(wait(0.5, 1.0), 1.0, 1.0),
        "md1" => in_slots(wait(0.8, 1.0), 1.0, 1.0),
        "md1-sd" => deviation_in_slots(0.8),
        "md1-within" => 100.0 * 0.2 * 0.8_f64.exp_m1() / 0.8,
        "md1-backlog" => 0.8 + 0.8 * wait(0.8, 1.0),
        "md1-fine" => in_slots(wait(0.8, 1.0), 1.0, 0.1),
        "mg1-small" => in_slots(wait_of_two(), 0.2, 0.1),
        "mg1-large" => in_slots(wait_of_two(), 1.0, 0.1),
        "mm1" => 0.1 * geometric(0.05, 0.1),
        "md1-five" => lost(5, 0.8),
        "md1-uplink" => 1.0 + wait(0.8, 1.0),
        "md1-core" => 1.0 + wait(0.5, 1.0) + 10.0 + 0.5 + 10.0,
        "below-goodput" => 5.0 * PAYLOAD / DATAGRAM,
        "above-delay" => DATAGRAMS * DATAGRAM / SLOT - DATAGRAM * 8.0 / 20e3 / 2.0,
        "above-goodput" => 10.0 * PAYLOAD / DATAGRAM,
        "cubic-least" => (0.7 * (SEGMENTS * SEGMENT + 20.0 * SLOT) - 20.0 * SLOT) / SLOT,
        "cubic-goodput" | "two-goodput" | "upload-goodput" => 10.0 * MSS / SEGMENT,
        "rtt-of-ues" | "fair-cubic" => 5.0 * MSS / SEGMENT,
        "upload-delay" => SEGMENTS * SEGMENT / SLOT,
        "sized-end" => 1.0 + (10.0 + (10e6 + 6907.0 * 52.0) / SLOT + 10.0) / 1e3,
        "rates-jain" => 64.0 / (3.0 * 30.0),
        "sparse-cubic" => 8.0 * MSS / SEGMENT,
        "late-goodput" | "ended-goodput" => PAYLOAD / DATAGRAM,
        "harq-delay" => 8.0 * (0.25 + 2.0 * 0.125) / 0.875,
        _ => return None,
    })
}

/// M/D/1: the mean wait at load `rho` with service times of `s` (Pollaczek, Khinchine).
fn wait(rho: f64, s: f64) -> f64 {
    rho * s / (2.0 * (1.0 - rho))
}

/// M/G/1: the mean wait of packets of 0.2 ms, one in 1 ms, and of 1 ms, one in 2.5 ms.
fn wait_of_two() -> f64 {
    let second_moment = 1.0 * 0.2 * 0.2 + 0.4 * 1.0 * 1.0;
    second_moment / (2.0 * (1.0 - 0.6))
}

/// The mean delay of a packet of service `s`, for a server in slots of `t` whose mean wait is
/// `wait` without slots. A server that looks for work at each slot takes a vacation for the rest of
/// a slot: its packets wait for half a slot more (Fuhrmann and Cooper 1985). The time from the
/// first slot to the slot that takes the last byte is s - t.
fn in_slots(wait: f64, s: f64, t: f64) -> f64 {
    wait + t / 2.0 + s - t
}

/// The standard deviation of the delay of M/D/1 at load `rho` in slots of one packet, in slots. The
/// moments of the wait are Takacs's; the wait in the queue does not depend on the wait for a slot.
fn deviation_in_slots(rho: f64) -> f64 {
    let first = wait(rho, 1.0);
    let second = 2.0 * first * first + rho / (3.0 * (1.0 - rho));
    (second - first * first + 1.0 / 12.0).sqrt()
}

/// The mean delay in slots if `a` packets of a Poisson process arrive in a slot, which serves a
/// waiting packet with probability `p`. With X before a slot, E (X - D + A)^2 = E X^2 for D served
/// and A arriving gives E X = (2 a - a^2) / (2 (p - a)). After a slot the mean is lower by a, half
/// a slot later by a / 2; that divided by a is the delay (Little).
fn geometric(a: f64, p: f64) -> f64 {
    (2.0 - a) / (2.0 * (p - a)) - 0.5
}

/// The share that a queue of `n` packets drops if a slot serves one packet and `rho` packets arrive
/// in it: from the stationary distribution of the queue before a slot, found by iteration.
fn lost(n: usize, rho: f64) -> f64 {
    let mut law = vec![1.0 / (n + 1) as f64; n + 1];
    for _ in 0..2_000 {
        let mut next = vec![0.0; n + 1];
        for (before, share) in law.iter().enumerate() {
            let after = before.saturating_sub(1);
            let mut arrive = (-rho).exp();
            for k in 0..40 {
                next[(after + k).min(n)] += share * arrive;
                arrive *= rho / (k + 1) as f64;
            }
        }
        law = next;
    }
    1.0 - (1.0 - law[0]) / rho
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found}, wanted {wanted}");
    }

    #[test]
    fn formulas_give_what_is_known_of_simple_queues() {
        // A slot of one packet: T / (2 (1 - rho)).
        close(in_slots(wait(0.5, 1.0), 1.0, 1.0), 1.0);
        close(in_slots(wait(0.8, 1.0), 1.0, 1.0), 2.5);
        // A queue that always serves is M/D/1 in slots; a queue with short slots is M/M/1.
        close(geometric(0.8, 1.0), 2.5);
        let (slots, mu) = (1e6, 0.1);
        assert!((geometric(0.05 / slots, mu / slots) / slots - 1.0 / (mu - 0.05)).abs() < 1e-3);
        // Room for one packet: an arrival that finds a packet is lost. A slot serves one if any has
        // come.
        close(lost(1, 0.8), 1.0 - (1.0 - (-0.8_f64).exp()) / 0.8);
        assert!(lost(60, 0.8).abs() < 1e-9);
    }
}
