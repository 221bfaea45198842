//! No bytes make the reader of datagrams panic or read beyond them; an accepted datagram can be
//! marked, and then only the mark changes.
//!
//! The bytes are datagrams, each after two bytes with its length; one table of fragments gets all
//! of them. Random headers rarely have a right checksum, so an IPv4 datagram whose checksum is 0
//! gets the right one.

#![no_main]

use justfull_base::Ecn;
use justfull_live::packet::{Datagram, FragmentPorts, mark_ce, parse};
use libfuzzer_sys::fuzz_target;

/// Writes the checksum of an IPv4 header that has none (RFC 1071).
fn complete(datagram: &mut [u8]) {
    let header = usize::from(datagram.first().map_or(0, |b| b & 15)) * 4;
    if header < 20 || header > datagram.len() || datagram[0] >> 4 != 4 || datagram[10..12] != [0, 0]
    {
        return;
    }
    let words = datagram[..header].chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let mut sum = words.sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    datagram[10..12].copy_from_slice(&(!sum as u16).to_be_bytes());
}

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let mut ports = FragmentPorts::new();
    while let [high, low, tail @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (datagram, after) = tail.split_at(length.min(tail.len()));
        rest = after;
        let mut datagram = datagram.to_vec();
        complete(&mut datagram);
        let Ok(found) = parse(&datagram) else { continue };
        assert!(found.size as usize <= datagram.len() && found.payload < found.size);
        mark_ce(&mut datagram);
        assert_eq!(parse(&datagram), Ok(Datagram { ecn: Ecn::Ce, ..found }));
        let mut completed = found;
        ports.complete(&mut completed);
        assert_eq!(completed.size, found.size);
    }
});
