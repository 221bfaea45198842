//! Frames, checksums and addresses of attached interfaces.

use super::*;

fn pair(number: u32) -> Pair {
    let mut pair = [0; 32];
    pair[..4].copy_from_slice(&number.to_be_bytes());
    pair
}

#[test]
fn the_last_pairs_are_remembered_and_the_first_forgotten() {
    let mut headers = Headers::default();
    let last = 3 * PAIRS as u32;
    for number in 0..last {
        headers.learn(pair(number), [1; ETHERNET_BYTES]);
    }
    assert!((last - PAIRS as u32..last).all(|number| headers.find(&pair(number)).is_some()));
    assert_eq!(headers.find(&pair(0)), None);
    assert!(headers.young.len() + headers.old.len() <= 2 * PAIRS);
}

#[test]
fn padding_is_no_part_of_a_datagram() {
    let mut header = [0; ETHERNET_BYTES];
    header[12..].copy_from_slice(&ETHERTYPE_IPV4);
    let mut datagram = [0; 46];
    datagram[0] = 0x45;
    datagram[3] = 28;
    assert_eq!(addresses(&header, &datagram).map(|(_, length)| length), Some(28));
    datagram[3] = 200;
    assert_eq!(
        addresses(&header, &datagram).map(|(_, length)| length),
        Some(46),
        "a length that cannot be"
    );
    datagram[0] = 0x65;
    assert_eq!(addresses(&header, &datagram), None, "not what the frame says");
    assert_eq!(addresses(&header, &[]), None);
}

#[test]
fn a_frame_of_many_segments_is_cut_if_it_has_the_place_of_its_checksum() {
    let mut datagram = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    datagram
        .extend_from_slice(&[0, 80, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 0x10, 0, 0, 0, 0, 0, 0]);
    datagram.extend_from_slice(&[7; 250]);
    let mut header = [2; ETHERNET_BYTES];
    header[12..].copy_from_slice(&ETHERTYPE_IPV4);
    let frame = |flags: u8, begin: u16| {
        let mut frame = vec![flags, 1, 0, 0];
        for word in [100, begin, 16] {
            frame.extend_from_slice(&u16::to_ne_bytes(word));
        }
        [&frame[..], &header, &datagram].concat()
    };
    let mut joined = frame(NEEDS_CHECKSUM, 34);
    let (pair, found, mut cut) = cut_of(&mut joined).expect("it is sound");
    assert_eq!((pair[..8].to_vec(), found), (datagram[12..20].to_vec(), header));
    let (mut room, packet) = ([0; 1_500], &joined[OFFLOAD_BYTES + ETHERNET_BYTES..]);
    let lengths: Vec<usize> = std::iter::from_fn(|| cut.next(packet, &mut room)).collect();
    assert_eq!(lengths, [140, 140, 90]);
    for mut other in
        [frame(0, 34), frame(NEEDS_CHECKSUM, 13), frame(NEEDS_CHECKSUM, 34)[..30].to_vec()]
    {
        assert!(cut_of(&mut other).is_none());
    }
}

#[test]
fn a_checksum_left_to_the_interface_is_filled_in() {
    // RFC 1071, section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2; here they stand around a
    // field of zero.
    let mut frame = [
        NEEDS_CHECKSUM,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0x00,
        0x01,
        0xf2,
        0x03,
        0,
        0,
        0xf4,
        0xf5,
        0xf6,
        0xf7,
    ];
    frame[8..10].copy_from_slice(&4_u16.to_ne_bytes());
    complete_checksum(&mut frame);
    assert_eq!(frame[14..16], (!0xddf2_u16).to_be_bytes());
    let mut short = [NEEDS_CHECKSUM, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 1, 2, 3];
    complete_checksum(&mut short);
    assert_eq!(short[10..], [1, 2, 3], "what points outside of the frame changes nothing");
}
