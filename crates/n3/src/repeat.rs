//! Messages of one packet whose headers are equal to those of the message before: their treatment
//! is the same, and the tables stay as they are.

use crate::packet::{FIN, IPV4_BYTES, IPV6_BYTES, RST, SYN, TCP};

/// Octets of GTP-U's header without optional fields, and of TCP's without options.
const GTPU_BYTES: usize = 8;
const TCP_BYTES: usize = 20;
/// The flag of a sequence number.
const NUMBERED: u8 = 0b010;

/// True if the message `next` has the headers of the message `last`, and both hold a segment of the
/// same connection, which the segment of `next` neither begins nor ends. `headers` is the length of
/// GTP-U's header in `last`.
pub(crate) fn repeats(last: &[u8], next: &[u8], headers: usize) -> bool {
    let (Some((own, inner)), Some((other, before))) =
        (next.split_at_checked(headers), last.split_at_checked(headers))
    else {
        return false;
    };
    let stated = usize::from(u16::from_be_bytes([own[2], own[3]]));
    own[..2] == other[..2]
        && own[0] & NUMBERED == 0
        && stated == next.len() - GTPU_BYTES
        && own[4..] == other[4..]
        && segment(inner).zip(segment(before)).is_some_and(|(tcp, tcp_before)| {
            let ends = if tcp == IPV4_BYTES { 12..24 } else { 8..44 };
            tcp == tcp_before
                && inner[ends.clone()] == before[ends]
                && inner[tcp + 13] & (SYN | FIN | RST) == 0
        })
}

/// The offset of TCP's header in a packet without options, extension headers and fragments, whose
/// length is right.
fn segment(packet: &[u8]) -> Option<usize> {
    let half = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
    let tcp = if *packet.first()? == 0x45 { IPV4_BYTES } else { IPV6_BYTES };
    if packet.len() < tcp + TCP_BYTES {
        return None;
    }
    let plain = match packet[0] {
        0x45 => packet[9] == TCP && half(2) == packet.len() && half(6) & 0x3fff == 0,
        0x60..=0x6f => packet[6] == TCP && half(4) + IPV6_BYTES == packet.len(),
        _ => false,
    };
    plain.then_some(tcp)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADERS: usize = 16;

    /// A message with a segment of `payload` octets; IPv6 if `v6`.
    fn message(v6: bool, payload: usize) -> Vec<u8> {
        let mut inner = vec![if v6 { 0x60 } else { 0x45 }, 0, 0, 0, 0, 7, 0x40, 0, 64, TCP, 3, 9];
        if v6 {
            inner[6] = TCP;
        }
        inner.resize(if v6 { IPV6_BYTES } else { IPV4_BYTES }, 0xa5);
        inner.extend_from_slice(&[0x9c, 0x40, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18]);
        inner.resize(inner.len() + 6 + payload, 7);
        let length = if v6 { inner.len() - IPV6_BYTES } else { inner.len() };
        let at = if v6 { 4 } else { 2 };
        inner[at..at + 2].copy_from_slice(&(length as u16).to_be_bytes());
        let mut message = vec![0x34, 255, 0, 0, 0, 0, 1, 9, 0, 0, 0, 0x85, 1, 0x10, 9, 0];
        message[2..4].copy_from_slice(&((8 + inner.len()) as u16).to_be_bytes());
        message.extend_from_slice(&inner);
        message
    }

    #[test]
    fn a_segment_of_the_same_connection_and_tunnel_repeats_the_last() {
        for v6 in [false, true] {
            let last = message(v6, 100);
            for payload in [0, 1, 100, 1_000] {
                let mut next = message(v6, payload);
                let tcp = HEADERS + if v6 { IPV6_BYTES } else { IPV4_BYTES };
                next[tcp + 7] = 200;
                assert!(repeats(&last, &next, HEADERS));
            }
        }
    }

    #[test]
    fn a_change_of_any_octet_that_a_table_depends_on_is_no_repetition() {
        for v6 in [false, true] {
            let last = message(v6, 100);
            let ip = if v6 { IPV6_BYTES } else { IPV4_BYTES };
            let free = |at: usize| match at.checked_sub(HEADERS) {
                None => false,
                // Type of service, identification, hops and the checksum; then all but ports and
                // the flags of TCP.
                Some(at) if at < ip && v6 => matches!(at, 1..=3 | 7),
                Some(at) if at < ip => matches!(at, 1 | 4 | 5 | 8 | 10 | 11),
                Some(at) => !matches!(at - ip, 0..=3 | 13),
            };
            for at in 0..last.len() {
                for mask in [1, 2, 4] {
                    let mut next = last.clone();
                    next[at] ^= mask;
                    let version = v6 && at == HEADERS;
                    let repeated = repeats(&last, &next, HEADERS);
                    assert_eq!(repeated, free(at) || version, "{v6} octet {at}");
                }
                assert!(!repeats(&last, &last[..at], HEADERS), "cut to {at} octets");
            }
        }
    }

    #[test]
    fn a_message_with_a_sequence_number_repeats_none() {
        let mut last = message(false, 10);
        last[0] |= NUMBERED;
        assert!(!repeats(&last, &last, HEADERS));
    }
}
