//! The Internet checksum (RFC 1071).

/// The place of the checksum in UDP's header.
const UDP: usize = 6;

/// Folds a one's complement sum to 16 bits.
const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The one's complement sum of bytes that begin at an even offset. An odd last byte is the high
/// byte of its word. The sum does not depend on the byte order (RFC 1071, section 2 B), so this
/// adds words of four bytes in the order of this machine.
pub(super) fn sum(bytes: &[u8]) -> u16 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word)));
    let sum = words.sum::<u64>() + u64::from(u32::from_ne_bytes(last));
    u16::from_be_bytes(fold(sum).to_ne_bytes())
}

/// Adds two one's complement sums.
pub(super) const fn add(one: u16, other: u16) -> u16 {
    fold(one as u64 + other as u64)
}

/// Fills in the checksum of the bytes from `start` to the end. Its field is at offset `field` and
/// holds the sum of the pseudo header (VIRTIO 1.2, section 5.1.6.2). False if the field is outside.
pub(super) fn complete(packet: &mut [u8], start: usize, field: usize) -> bool {
    complete_with(packet, start, field, 0)
}

/// As [`complete`], for an even number of bytes after which others follow, with the sum `more`.
pub(super) fn complete_with(packet: &mut [u8], start: usize, field: usize, more: u16) -> bool {
    if field < start || field + 2 > packet.len() {
        return false;
    }
    let checksum = match !add(sum(&packet[start..]), more) {
        // In UDP zero means "no checksum"; 0xffff replaces it (RFC 768).
        0 if field - start == UDP => 0xffff,
        other => other,
    };
    packet[field..field + 2].copy_from_slice(&checksum.to_be_bytes());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_bytes_is_the_sum_of_their_words_at_every_length() {
        // RFC 1071, section 3.
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
        let bytes: Vec<u8> = (0..200_u32).map(|n| (n * 151 + 7) as u8).collect();
        for length in 0..bytes.len() {
            let words = bytes[..length].chunks(2).fold(0, |sum, word| {
                let low = word.get(1).copied().unwrap_or(0);
                add(sum, u16::from_be_bytes([word[0], low]))
            });
            assert_eq!(sum(&bytes[..length]), words, "{length} bytes");
        }
    }
}
