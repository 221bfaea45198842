//! Copies of the downlink: whole datagrams, first fragments, and several datagrams in one packet.

use super::*;
use justfull_f1u::BearerView;

/// Bytes of the first fragment: an IPv4 header, and 75 units of eight bytes.
const FIRST: usize = 20 + 600;

/// An IPv4 packet in two fragments.
fn fragments(packet: &[u8]) -> Vec<Vec<u8>> {
    let length = |bytes: usize| u16::try_from(bytes).expect("short").to_be_bytes();
    let mut first = packet[..FIRST].to_vec();
    first[2..4].copy_from_slice(&length(FIRST));
    first[6..8].copy_from_slice(&[0x20, 0]);
    let mut later = [&packet[..20], &packet[FIRST..]].concat();
    let whole = later.len();
    later[2..4].copy_from_slice(&length(whole));
    later[6..8].copy_from_slice(&length((FIRST - 20) / 8));
    vec![first, later]
}

/// Datagrams as one packet, as the kernel forwards them for a sender with `UDP_SEGMENT`.
fn several(packets: &[Vec<u8>]) -> Vec<u8> {
    let messages: Vec<u8> = packets.iter().flat_map(|packet| &packet[HEADERS..]).copied().collect();
    packet(CU_UP, DU, &messages)
}

/// Sends a downlink as in [`flow`], in this form. Returns the sizes that reach the CU-UP, and the
/// bearer.
fn bounds(form: impl Fn(&[Vec<u8>]) -> Vec<Vec<u8>>) -> (Vec<u32>, BearerView) {
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    let mut sizes = Vec::new();
    for period in 0..40 {
        let now = at(u64::from(period) * 5_000);
        // The last one is shorter.
        let bytes = |n| if n == 9 { 700 } else { 1_000 };
        let down: Vec<_> = (0..10).map(|n| ONE.down(period * 10 + n, bytes(n))).collect();
        for packet in form(&down) {
            machine.on_copy(now, &packet);
        }
        let mut packet = ONE.told(period * 10 + 6);
        machine.on_datagram(now + Duration::from_micros(4_900), &mut packet);
        sizes.push(size(&packet));
    }
    let counts = *machine.counts();
    assert_eq!((counts.user_data, counts.malformed), (400, 0), "{counts:?}");
    let view = machine.views().next().expect("a bearer");
    (sizes, view)
}

#[test]
fn fragments_and_several_datagrams_in_one_packet_give_the_bounds_of_whole_datagrams() {
    let whole = bounds(<[_]>::to_vec);
    assert!(whole.0[30..].iter().all(|size| *size < 20_000), "{:?}", whole.0);
    assert_eq!(whole.1.bytes, 40 * 9_700);
    assert_eq!(bounds(|down| down.iter().flat_map(|one| fragments(one)).collect()), whole);
    assert_eq!(bounds(|down| vec![several(down)]), whole);
    let pairs = bounds(|down| down.chunks(2).map(several).collect());
    assert_eq!(pairs, whole);
}

#[test]
fn the_first_fragment_of_an_ipv6_packet_counts_its_whole_datagram() {
    let ipv4 = ONE.down(0, 1_000);
    let udp = &ipv4[20..];
    let mut first = vec![0x60, 0, 0, 0, 0, 0, 44, 64];
    first.extend([0xfd; 32]);
    first.extend([17, 0, 0, 1, 0, 0, 0, 7]);
    first.extend(&udp[..800]);
    first[4..6].copy_from_slice(&808_u16.to_be_bytes());
    let mut later = [&first[..48], &udp[800..]].concat();
    later[4..6].copy_from_slice(&u16::try_from(8 + udp.len() - 800).expect("short").to_be_bytes());
    later[42..44].copy_from_slice(&800_u16.to_be_bytes());
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    machine.on_copy(at(0), &first);
    machine.on_copy(at(0), &later);
    let view = machine.views().next().expect("a bearer");
    assert_eq!((view.packets, view.bytes), (1, 1_000));
    assert_eq!((machine.counts().user_data, machine.counts().other), (1, 1));
}

#[test]
fn a_whole_datagram_that_is_cut_or_lengthened_counts_no_bytes_that_it_lacks() {
    let good = ONE.down(0, 1_000);
    let message = &good[HEADERS..];
    for cut in 0..message.len() {
        let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
        machine.on_copy(at(0), &packet(CU_UP, DU, &message[..cut]));
        assert!(machine.views().next().is_none(), "{cut}");
        assert_eq!(machine.counts().malformed, u64::from(cut > 0), "{cut}");
    }
    let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
    machine.on_copy(at(0), &packet(CU_UP, DU, &[message, &[0xff; 9]].concat()));
    let view = machine.views().next().expect("a bearer");
    assert_eq!((view.packets, view.bytes, machine.counts().malformed), (1, 1_000, 1));
}

proptest! {
    #[test]
    fn any_bytes_of_a_copy_are_counted_and_a_short_message_is_not_cut_into_thousands(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        form in 0..3,
    ) {
        let mut machine = Machine::new(&F1uConfig::default()).expect("valid");
        let down: Vec<_> = (0..40).map(|n| ONE.down(n, 1_000)).collect();
        let mut copy = match form {
            0 => down[0].clone(),
            1 => fragments(&down[0]).remove(0),
            _ => several(&down),
        };
        for (index, value) in changes {
            let index = index.index(copy.len());
            copy[index] = value;
        }
        machine.on_copy(at(0), &copy);
        let counts = machine.counts();
        let all = counts.user_data + counts.other + counts.malformed;
        prop_assert!((1..=129).contains(&all), "{counts:?}");
    }
}
