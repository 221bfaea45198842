//! PDUs of one size: their cuts, length indicators, and padding.

use super::*;

#[test]
fn a_tti_of_64_kbit_s_is_four_pdus_of_42_bytes() {
    let (mut tx, mut rx) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 4 * 42, &mut Queue::of(&[1000]));
    assert_eq!(content.bytes(), 168);
    assert_eq!(
        cuts(&content),
        [[(0, 40, false)], [(40, 40, false)], [(80, 40, false)], [(120, 40, false)]]
    );
    assert_eq!(content.pdus[0].header_bytes, 2);
    assert_eq!(tx.pending().rest_of_head, 21 * 42, "840 bytes");
    assert_eq!(receive(&mut rx, ms(0), &content).0, NONE);
    assert_eq!((tx.pdu(), tx.head_left()), (Some(42), Some(840)));
    let mut sizes = Vec::new();
    tx.next_sizes(9, &mut sizes);
    assert_eq!(sizes, [21 * 42]);
    assert_eq!(RlcModeConfig::Am(quiet()).pdu(), Some(42));
}

#[test]
fn a_rest_of_the_grant_below_a_pdu_is_left() {
    let (mut tx, _) = entities(&quiet());
    let mut queue = Queue::of(&[1000]);
    assert!(pull(&mut tx, ms(0), 41, &mut queue).is_empty());
    assert_eq!(pull(&mut tx, ms(0), 125, &mut queue).bytes(), 84);
}

/// Clause 9.2.2.8.
#[test]
fn a_length_indicator_ends_an_sdu_and_the_next_follows() {
    let (mut tx, mut rx) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 84, &mut Queue::of(&[10, 20, 30]));
    let expected: [&[_]; 2] = [&[(0, 10, true), (0, 20, true), (0, 8, false)], &[(8, 22, true)]];
    assert_eq!(cuts(&content), expected);
    assert_eq!(content.pdus[0].header_bytes, 4, "two indicators of 7 bits");
    assert_eq!(content.pdus[1].header_bytes, 20, "with padding");
    assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1, 2]);
}

/// Clause 9.2.2.8: the next PDU indicates the end of an SDU that fills its PDU.
#[test]
fn an_sdu_that_fills_its_pdu_ends_with_the_next() {
    let (mut tx, mut rx) = entities(&quiet());
    let mut queue = Queue::of(&[40]);
    let first = pull(&mut tx, ms(0), 42, &mut queue);
    assert_eq!(cuts(&first), [[(0, 40, false)]]);
    assert!(queue.0.is_empty() && tx.head_left().is_none());
    assert_eq!(tx.pending().rest_of_head, 42, "its end is not yet sent");
    assert_eq!(receive(&mut rx, ms(0), &first).0, NONE);
    queue.push(5);
    let next = pull(&mut tx, ms(1), 42, &mut queue);
    assert_eq!(cuts(&next), [[(40, 0, true), (0, 5, true)]]);
    assert_eq!(receive(&mut rx, ms(1), &next).0, [0, 0], "the second queue counts from 0 again");

    let (mut tx, mut rx) = entities(&quiet());
    let both = pull(&mut tx, ms(0), 84, &mut Queue::of(&[40]));
    assert_eq!(cuts(&both)[1], [(40, 0, true)], "alone, with padding");
    assert_eq!(receive(&mut rx, ms(0), &both).0, [0]);
    assert_eq!(tx.pending().total(), 0);
}

/// Clause 9.2.2.8: with a length indicator the last byte but one is the last possible end.
#[test]
fn an_sdu_one_byte_short_of_its_pdu_has_its_indicator() {
    let (mut tx, _) = entities(&quiet());
    let content = pull(&mut tx, ms(0), 42, &mut Queue::of(&[39]));
    assert_eq!(cuts(&content), [[(0, 39, true)]]);
    assert_eq!(content.pdus[0].header_bytes, 3);
}

/// Clause 9.2.2.8, indicators of 15 bits.
#[test]
fn in_large_pdus_an_sdu_may_end_one_byte_short_of_the_pdu() {
    let large = AmConfig { pdu: Bytes(127), ..quiet() };
    for (size, first, rest, header, one_short) in [
        (125, (0, 125, false), (125, 0, true), 2, false),
        (124, (0, 124, false), (124, 0, true), 3, true),
        (123, (0, 123, true), (0, 50, true), 4, false),
    ] {
        let (mut tx, mut rx) = entities(&large);
        let content = pull(&mut tx, ms(0), 254, &mut Queue::of(&[size, 50]));
        assert_eq!((cuts(&content)[0][0], cuts(&content)[1][0]), (first, rest), "{size}");
        assert_eq!(content.pdus[0].header_bytes, header, "{size}");
        let PduHeader::UmtsAm { one_short: found, .. } = content.pdus[1].header else {
            panic!("an AMD PDU");
        };
        assert_eq!(found, one_short, "{size}");
        assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1]);
    }
}

/// Clause 9.2.2.8: no SDU starts in the one byte behind an indicator of 15 bits.
#[test]
fn one_byte_behind_an_indicator_of_15_bits_is_padding() {
    let (mut tx, mut rx) = entities(&AmConfig { pdu: Bytes(127), ..quiet() });
    let content = pull(&mut tx, ms(0), 254, &mut Queue::of(&[122, 60]));
    assert_eq!(cuts(&content), [[(0, 122, true)], [(0, 60, true)]]);
    assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1]);
}

#[test]
fn the_smallest_pdus_carry_four_bytes() {
    let (mut tx, mut rx) = entities(&AmConfig { pdu: Bytes(6), ..quiet() });
    let content = pull(&mut tx, ms(0), 600, &mut Queue::of(&[5, 1, 2, 3]));
    assert_eq!(receive(&mut rx, ms(0), &content).0, [0, 1, 2, 3]);
}

/// The size of an SDU in a PDU of its own, and the bytes that the layer below adds to every PDU.
#[test]
fn headers_and_lower_layers_count() {
    let mode = RlcModeConfig::Am(quiet());
    let mut tx = RlcTx::above(3, &mode).expect("valid");
    let headers = tx.headers();
    assert_eq!((headers.whole, headers.first, headers.later), (6, 5, 5));
    assert_eq!(headers.of_whole(3), 8, "a further SDU adds an indicator of a byte");
    assert!(tx.is_acknowledged() && !tx.forgets_whole());
    let content = pull(&mut tx, ms(0), 2 * 45, &mut Queue::of(&[100]));
    assert_eq!((content.pdus.len(), content.bytes()), (2, 90));
    assert_eq!(content.pdus[0].header_bytes, 5);
    assert_eq!(tx.pending().rest_of_head, 45);
}
