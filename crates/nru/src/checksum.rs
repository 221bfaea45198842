//! The Internet checksum (RFC 1071), and its update when bytes change (RFC 1624, equation 3).

/// The one's complement sum of bytes that begin at an even offset; an odd last byte counts as a
/// high byte. The sum does not depend on the byte order (RFC 1071, section 2 B), so this adds words
/// of four bytes in the order of this machine.
#[must_use]
pub fn sum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
    let sum = words.sum::<u64>() + u64::from(u32::from_ne_bytes(last));
    u16::from_be_bytes(fold(sum).to_ne_bytes())
}

/// Adds two one's complement sums.
#[must_use]
pub fn add(one: u16, other: u16) -> u16 {
    fold(u64::from(one) + u64::from(other))
}

fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum after a change of the covered bytes at `at` from `before` to `after`, which have
/// the same length. The first covered byte has an even offset.
#[must_use]
pub fn updated(checksum: u16, at: usize, before: &[u8], after: &[u8]) -> u16 {
    let [before, after] = [before, after].map(|bytes| match at % 2 {
        0 => sum(bytes),
        // At an odd offset, high and low bytes of each word change places.
        _ => sum(bytes).swap_bytes(),
    });
    !add(add(!checksum, !before), after)
}

/// The checksum of UDP after such a change: none (0) stays none, and a result of 0 is written as
/// 0xffff (RFC 768).
#[must_use]
pub fn updated_udp(checksum: u16, at: usize, before: &[u8], after: &[u8]) -> u16 {
    if checksum == 0 {
        return 0;
    }
    match updated(checksum, at, before, after) {
        0 => 0xffff,
        other => other,
    }
}
