//! The figures of the standards, byte for byte, and round trips of all formats.

use super::*;
use crate::pdu::{FramingInfo, Part, PduSegment, SO_END, SduHandle, SegmentInfo};
use alloc::vec;
use proptest::prelude::*;

fn part(offset: u32, len: u32, last: bool) -> Part {
    Part { sdu: SduHandle(0), offset, len, last }
}

/// The bytes of a PDU with one header and these parts.
fn bytes_of(format: Format, header: PduHeader, parts: &[Part]) -> Vec<u8> {
    let mut content = TbContent::default();
    content.parts.extend(parts);
    content.push_pdu(header, 0, 0);
    let mut out = Vec::new();
    encode(format, &content, &content.pdus[0], &mut out);
    out
}

fn status_bytes_of(format: Format, status: &StatusPdu) -> Vec<u8> {
    let mut content = TbContent::default();
    content.push_status(status_bytes(format, status)).copy_from(status);
    let mut out = Vec::new();
    encode(format, &content, &content.pdus[0], &mut out);
    out
}

fn nr_um(sn_bits: u8, si: SegmentInfo, sn: u32, so: u16) -> Vec<u8> {
    bytes_of(Format::NrUm { sn_bits }, PduHeader::NrUm { si, sn, so }, &[])
}

fn nr_am(sn_bits: u8, poll: bool, si: SegmentInfo, sn: u32, so: u16) -> Vec<u8> {
    bytes_of(Format::NrAm { sn_bits }, PduHeader::NrAm { poll, si, sn, so }, &[])
}

#[test]
fn umd_pdus_of_nr_equal_figures_6_2_2_3() {
    assert_eq!(nr_um(6, SegmentInfo::Whole, 0, 0), [0b0000_0000], "figure 1: no SN");
    assert_eq!(nr_um(6, SegmentInfo::First, 0b10_1101, 0), [0b0110_1101], "figure 2");
    assert_eq!(nr_um(12, SegmentInfo::First, 0xabc, 0), [0b0100_1010, 0xbc], "figure 3");
    assert_eq!(
        nr_um(6, SegmentInfo::Middle, 0b10_1101, 0x1234),
        [0b1110_1101, 0x12, 0x34],
        "figure 4"
    );
    assert_eq!(
        nr_um(12, SegmentInfo::Last, 0xabc, 0x1234),
        [0b1000_1010, 0xbc, 0x12, 0x34],
        "figure 5"
    );
}

#[test]
fn amd_pdus_of_nr_equal_figures_6_2_2_4() {
    assert_eq!(nr_am(12, true, SegmentInfo::Whole, 0xabc, 0), [0b1100_1010, 0xbc], "figure 1");
    assert_eq!(
        nr_am(18, false, SegmentInfo::First, 0x2_3456, 0),
        [0b1001_0010, 0x34, 0x56],
        "figure 2"
    );
    assert_eq!(
        nr_am(12, false, SegmentInfo::Middle, 0xabc, 258),
        [0b1011_1010, 0xbc, 1, 2],
        "figure 3"
    );
    assert_eq!(
        nr_am(18, true, SegmentInfo::Last, 0x2_3456, 258),
        [0b1110_0010, 0x34, 0x56, 1, 2],
        "figure 4"
    );
}

#[test]
fn status_pdus_of_nr_equal_figures_6_2_2_5() {
    let nacks = vec![
        Nack::whole(0x123),
        Nack { sn: 0x124, range: 1, so_start: 0x0102, so_end: SO_END },
        Nack { sn: 0x130, range: 7, so_start: 0x0304, so_end: 0x0506 },
        Nack { sn: 0x140, range: 2, so_start: 0, so_end: SO_END },
    ];
    let status = StatusPdu { ack_sn: 0xabc, nacks };
    let expected = [
        &[0x0a, 0xbc, 0b1000_0000][..],
        &[0x12, 0b0011_1000],
        &[0x12, 0b0100_1100, 0x01, 0x02, 0xff, 0xff],
        &[0x13, 0b0000_1110, 0x03, 0x04, 0x05, 0x06, 7],
        &[0x14, 0b0000_0010, 2],
    ];
    assert_eq!(
        status_bytes_of(Format::NrAm { sn_bits: 12 }, &status),
        expected.concat(),
        "figure 1"
    );
    let status = StatusPdu {
        ack_sn: 0x2_3456,
        nacks: vec![Nack { sn: 0x3_0001, range: 3, so_start: 1, so_end: 2 }],
    };
    let expected: [u8; 11] =
        [0b0000_1000, 0b1101_0001, 0b0101_1010, 0xc0, 0x00, 0b0101_1000, 0x00, 1, 0x00, 2, 3];
    assert_eq!(status_bytes_of(Format::NrAm { sn_bits: 18 }, &status), expected, "figure 2");
}

#[test]
fn umd_pdus_of_lte_equal_figures_6_2_1_3() {
    let fi = FramingInfo { starts_inside: true, ends_inside: false };
    let um = |sn_bits, sn, parts: &[Part]| {
        bytes_of(Format::LteUm { sn_bits }, PduHeader::LteUm { fi, sn }, parts)
    };
    assert_eq!(um(5, 0b1_0110, &[part(1, 9, true)]), [0b1001_0110], "figure 1");
    assert_eq!(um(10, 0x2bc, &[part(1, 9, true)]), [0b0001_0010, 0xbc], "figure 2");
    let two = [part(1, 0x123, true), part(0, 9, true)];
    assert_eq!(um(5, 0b1_0110, &two), [0b1011_0110, 0b0001_0010, 0b0011_0000], "figure 3, odd");
    let three = [part(1, 0x123, true), part(0, 0x456, true), part(0, 9, true)];
    assert_eq!(
        um(10, 0x2bc, &three),
        [0b0001_0110, 0xbc, 0b1001_0010, 0b0011_0100, 0b0101_0110],
        "figure 6, even: E of the first length is set"
    );
}

#[test]
fn amd_pdus_of_lte_equal_figures_6_2_1_4_and_6_2_1_5() {
    let fi = FramingInfo { starts_inside: false, ends_inside: true };
    let am = |li_bits, segment, parts: &[Part]| {
        let header = PduHeader::LteAm { poll: true, fi, sn: 0x2bc, segment };
        bytes_of(Format::LteAm { li_bits }, header, parts)
    };
    assert_eq!(am(11, None, &[part(0, 9, false)]), [0b1010_1010, 0xbc]);
    let segment = Some(PduSegment { so: 0x1234, last: true });
    assert_eq!(am(11, segment, &[part(0, 9, false)]), [0b1110_1010, 0xbc, 0b1001_0010, 0x34]);
    let two = [part(0, 0x4567, true), part(0, 9, false)];
    assert_eq!(am(15, None, &two), [0b1010_1110, 0xbc, 0x45, 0x67]);
}

#[test]
fn status_pdus_of_lte_equal_figure_6_2_1_6() {
    let nacks = vec![Nack::whole(0x155), Nack { sn: 0x2aa, range: 1, so_start: 1, so_end: SO_END }];
    let status = StatusPdu { ack_sn: 0x2bc, nacks };
    // 0 000 1010111100 1 | 0101010101 1 0 | 1010101010 0 1 | 000000000000001 111111111111111, and
    // three bits of padding.
    let expected: [u8; 9] = [
        0b0000_1010,
        0b1111_0010,
        0b1010_1010,
        0b1101_0101,
        0b0101_0010,
        0b0000_0000,
        0b0000_0111,
        0b1111_1111,
        0b1111_1000,
    ];
    let found = status_bytes_of(Format::LteAm { li_bits: 11 }, &status);
    assert_eq!(found, expected);
    let mut decoded = Decoded::default();
    decode(Format::LteAm { li_bits: 11 }, &found, &mut decoded).expect("it is a report");
    assert_eq!(decoded.status, status);
    let status =
        StatusPdu { ack_sn: 2, nacks: vec![Nack { sn: 1, range: 1, so_start: 3, so_end: 0x123 }] };
    let found = status_bytes_of(Format::LteAm { li_bits: 11 }, &status);
    decode(Format::LteAm { li_bits: 11 }, &found, &mut decoded).expect("it is a report");
    assert_eq!(decoded.status, status, "SOend is a byte");
}

#[test]
fn reserved_values_and_cut_pdus_are_refused() {
    let refused =
        |format, bytes: &[u8]| decode(format, bytes, &mut Decoded::default()).unwrap_err();
    let (um, am) = (Format::NrUm { sn_bits: 6 }, Format::NrAm { sn_bits: 12 });
    let (lte_um, lte_am) = (Format::LteUm { sn_bits: 5 }, Format::LteAm { li_bits: 11 });
    assert_eq!(refused(um, &[]), DecodeError::Truncated { needed: 1, found: 0 });
    assert_eq!(refused(um, &[0]), DecodeError::Truncated { needed: 2, found: 1 }, "no data");
    assert_eq!(
        refused(um, &[0xc0, 0]),
        DecodeError::Truncated { needed: 3, found: 2 },
        "half an SO"
    );
    assert_eq!(refused(um, &[0xc0, 0, 0, 9]), DecodeError::Invalid { field: "SO", value: 0 });
    assert_eq!(refused(am, &[0x10, 0, 0]), DecodeError::Invalid { field: "CPT", value: 1 });
    assert_eq!(refused(am, &[0, 0, 0, 0]), DecodeError::Trailing { end: 3, found: 4 });
    assert_eq!(refused(am, &[0, 0, 0x80]), DecodeError::Truncated { needed: 5, found: 3 });
    let no_range = [0, 0, 0x80, 0, 0x02, 0];
    assert_eq!(refused(am, &no_range), DecodeError::Invalid { field: "NACK range", value: 0 });
    let backwards = [0, 0, 0x80, 0, 0x04, 0, 9, 0, 8];
    assert_eq!(refused(am, &backwards), DecodeError::Invalid { field: "SOstart", value: 9 });
    assert_eq!(refused(lte_um, &[0x20, 0, 0, 1]), DecodeError::Invalid { field: "LI", value: 0 });
    assert_eq!(
        refused(lte_um, &[0x20, 0, 0x20, 1, 2]),
        DecodeError::Truncated { needed: 6, found: 5 }
    );
    assert_eq!(refused(lte_am, &[0x7f, 0, 0]), DecodeError::Invalid { field: "CPT", value: 7 });
}

#[test]
fn reserved_bits_are_ignored() {
    let mut decoded = Decoded::default();
    decode(Format::NrUm { sn_bits: 6 }, &[0x3f, 1, 2], &mut decoded).expect("a whole SDU");
    assert_eq!(decoded.header, PduHeader::NrUm { si: SegmentInfo::Whole, sn: 0, so: 0 });
    assert_eq!((decoded.header_bytes, decoded.elements.as_slice()), (1, &[2][..]));
}

#[test]
fn a_report_is_cut_to_a_grant_and_acknowledges_nothing_that_misses() {
    let format = Format::NrAm { sn_bits: 12 };
    let full = StatusPdu {
        ack_sn: 9,
        nacks: vec![
            Nack::whole(2),
            Nack { sn: 4, range: 2, so_start: 10, so_end: 19 },
            Nack { sn: 5, range: 1, so_start: 30, so_end: SO_END },
        ],
    };
    let cut_to = |grant| {
        let mut status = full.clone();
        let bytes = fit_status(format, &mut status, grant);
        assert!(bytes <= grant && (bytes == 0 || bytes == status_bytes(format, &status)));
        (bytes, status.ack_sn, status.nacks)
    };
    assert_eq!(cut_to(2).0, 0);
    assert_eq!(cut_to(4), (3, 2, vec![]));
    assert_eq!(cut_to(5), (5, 4, vec![Nack::whole(2)]));
    assert_eq!(
        cut_to(17),
        (12, 9, full.nacks[..2].to_vec()),
        "SN 5 is named as missing, if not all of what misses"
    );
    assert_eq!(cut_to(18), (18, 9, full.nacks.clone()));
    let mut range = StatusPdu {
        ack_sn: 9,
        nacks: vec![
            Nack { so_end: 7, ..Nack::whole(4) },
            Nack { range: 3, so_start: 9, ..Nack::whole(4) },
        ],
    };
    assert_eq!(
        (fit_status(format, &mut range, 10), range.ack_sn),
        (9, 5),
        "what follows SN 4 is not named"
    );
}

fn any_format() -> impl Strategy<Value = Format> {
    prop_oneof![
        prop_oneof![Just(6), Just(12)].prop_map(|sn_bits| Format::NrUm { sn_bits }),
        prop_oneof![Just(5), Just(10)].prop_map(|sn_bits| Format::LteUm { sn_bits }),
        prop_oneof![Just(12), Just(18)].prop_map(|sn_bits| Format::NrAm { sn_bits }),
        prop_oneof![Just(11), Just(15)].prop_map(|li_bits| Format::LteAm { li_bits }),
    ]
}

fn umts(pdu: u32, header: PduHeader, parts: &[Part]) -> Vec<u8> {
    bytes_of(Format::UmtsAm { pdu }, header, parts)
}

fn umts_am(poll: bool, sn: u32, open: bool) -> PduHeader {
    PduHeader::UmtsAm { poll, sn, open, one_short: false }
}

#[test]
fn amd_pdus_of_umts_equal_clause_9_2_1_4() {
    let whole = umts(42, umts_am(true, 0xabc, true), &[part(0, 40, false)]);
    assert_eq!(whole, [0b1101_0101, 0b1110_0100], "D/C, SN, P, HE 00");
    let two = [part(5, 3, true), part(0, 20, true), part(0, 15, false)];
    assert_eq!(
        umts(42, umts_am(false, 0xabc, true), &two),
        [0b1101_0101, 0b1110_0001, 3 << 1 | 1, 23 << 1],
        "indicators count from the end of the header"
    );
    assert_eq!(
        umts(42, umts_am(false, 0, false), &[part(0, 10, true)]),
        [0x80, 1, 10 << 1 | 1, 0xfe],
        "padding"
    );
    assert_eq!(umts(42, umts_am(false, 0, false), &[part(0, 39, true)]), [0x80, 1, 39 << 1]);
    assert_eq!(
        umts(42, umts_am(false, 0, false), &[part(0, 38, true)]),
        [0x80, 1, 38 << 1 | 1, 0xfe],
        "padding of no bytes"
    );
    assert_eq!(
        umts(42, umts_am(false, 0, false), &[part(40, 0, true), part(0, 7, true)]),
        [0x80, 1, 1, 7 << 1 | 1, 0xfe],
        "an SDU ended with the PDU before"
    );
}

#[test]
fn pdus_of_umts_above_126_bytes_have_indicators_of_15_bits() {
    let header = |one_short, open| PduHeader::UmtsAm { poll: false, sn: 1, open, one_short };
    let ended = [part(125, 0, true), part(0, 50, true)];
    assert_eq!(
        umts(127, header(false, false), &ended),
        [0x80, 9, 0, 1, 0, 50 << 1 | 1, 0xff, 0xfe]
    );
    assert_eq!(
        umts(127, header(true, false), &ended),
        [0x80, 9, 0xff, 0xf7, 0, 50 << 1 | 1, 0xff, 0xfe],
        "one byte short: 111 1111 1111 1011"
    );
    assert_eq!(
        umts(127, header(false, false), &[part(0, 122, true)]),
        [0x80, 9, 0, 122 << 1],
        "no indicator fits the last byte"
    );
    assert_eq!(
        umts(126, header(false, false), &[part(0, 122, true)]),
        [0x80, 9, 122 << 1 | 1, 0xfe],
        "126 bytes still have 7 bits"
    );
}

fn umts_status(ack_sn: u32, nacks: &[(u32, u8)]) -> StatusPdu {
    let nacks = nacks.iter().map(|&(sn, range)| Nack { range, ..Nack::whole(sn) }).collect();
    StatusPdu { ack_sn, nacks }
}

#[test]
fn status_pdus_of_umts_equal_clause_9_2_2_11() {
    let format = Format::UmtsAm { pdu: 42 };
    let bytes = |ack_sn, nacks: &[_]| status_bytes_of(format, &umts_status(ack_sn, nacks));
    assert_eq!(bytes(0xabc, &[]), [0x02, 0xab, 0xc0], "ACK");
    assert_eq!(
        bytes(0xabc, &[(0x123, 1), (0x200, 16)]),
        [0x03, 0x21, 0x23, 0x02, 0x00, 0xf2, 0xab, 0xc0],
        "LIST of two pairs, ACK"
    );
    assert_eq!(
        bytes(0xabc, &[(0xfff, 17)]),
        [0x03, 0x2f, 0xff, 0xf0, 0x0f, 0x02, 0xab, 0xc0],
        "a pair names 16 SNs; 4095 + 16 is 15"
    );
    assert_eq!(
        bytes(0xabc, &[(0x100, 1), (0x102, 1), (0x104, 2), (0x108, 1)]),
        [0x04, 0x11, 0x00, 0b0101_0011, 0b0111_1111, 0x2a, 0xbc],
        "BITMAP of two bytes, ACK"
    );
    let mrw = umts(42, PduHeader::UmtsMrw { sn: 0xabc, end: 3 }, &[]);
    assert_eq!(mrw, [0x06, 0x1a, 0xbc, 0x30], "MRW of one SN, NO_MORE");
}

#[test]
fn long_lists_and_bitmaps_of_umts_take_several_super_fields() {
    let format = Format::UmtsAm { pdu: 42 };
    let far: Vec<(u32, u8)> = (0..40).map(|i| (i * 100, 1)).collect();
    let near: Vec<(u32, u8)> =
        (0..300).map(|i| (4000 + i * 2, 1)).map(|(sn, n)| (sn % 4096, n)).collect();
    for (nacks, bytes) in [(far, 4 + 3 * 8 + 40 * 16 + 16), (near, 4 + 5 * 20 + 75 * 8 + 16)] {
        let status = umts_status(7, &nacks);
        let encoded = status_bytes_of(format, &status);
        assert_eq!(encoded.len() as u32, u32::div_ceil(bytes, 8));
        let mut decoded = Decoded::default();
        decode(format, &encoded, &mut decoded).expect("valid");
        assert_eq!(decoded.status, status);
    }
}

#[test]
fn a_report_of_umts_is_cut_and_then_acknowledges_only_what_is_in_order() {
    let format = Format::UmtsAm { pdu: 42 };
    let cut_to = |grant, nacks: &[_]| {
        let mut status = umts_status(3000, nacks);
        let bytes = fit_status(format, &mut status, grant);
        assert!(bytes <= grant && (bytes == 0 || bytes == status_bytes(format, &status)));
        let nacks: Vec<_> = status.nacks.iter().map(|nack| (nack.sn, nack.range)).collect();
        (bytes, status.ack_sn, nacks)
    };
    let nacks = [(10, 1), (500, 40), (900, 1)];
    assert_eq!(cut_to(2, &nacks).0, 0);
    assert_eq!(cut_to(2, &[]).0, 0);
    assert_eq!(cut_to(3, &[]), (3, 3000, vec![]));
    assert_eq!(cut_to(5, &nacks), (3, 10, vec![]));
    assert_eq!(cut_to(6, &nacks), (6, 10, vec![(10, 1)]));
    assert_eq!(cut_to(8, &nacks), (8, 10, vec![(10, 1), (500, 8)]), "by pairs of 16");
    assert_eq!(cut_to(13, &nacks), (12, 10, vec![(10, 1), (500, 40)]));
    assert_eq!(cut_to(14, &nacks), (14, 3000, nacks.to_vec()));
    let near: Vec<(u32, u8)> = (0..60).map(|i| (10 + i * 2, 1)).collect();
    assert_eq!(cut_to(42, &near), (20, 3000, near.clone()), "a bitmap has room for all");
    let many: Vec<(u32, u8)> = (0..1000).map(|i| (i * 3, 1)).collect();
    let (bytes, ack_sn, kept) = cut_to(42, &many);
    assert_eq!((bytes, ack_sn), (40, 0), "a third bitmap takes three bytes more");
    assert_eq!(kept, many[..kept.len()]);
    assert!(kept.len() > 80, "{}: bitmaps", kept.len());
}

/// Clauses 9.2.2.8 and 9.2.2.11.4: padding counts as header, and a run of missing PDUs may be
/// longer than one list entry can express.
#[test]
fn padding_and_long_runs_of_umts_are_read() {
    let mut decoded = Decoded::default();
    let padded = [0x80, 1, 1 << 1 | 1, 0xfe, 0xaa, 0];
    decode(Format::UmtsAm { pdu: 6 }, &padded, &mut decoded).expect("valid");
    assert_eq!((decoded.header_bytes, decoded.elements.as_slice()), (5, &[1][..]));
    let format = Format::UmtsAm { pdu: 42 };
    let status = umts_status(2000, &[(10, 255), (265, 255), (520, 80)]);
    decode(format, &status_bytes_of(format, &status), &mut decoded).expect("valid");
    assert_eq!(decoded.status, status);
}

#[test]
fn invalid_pdus_of_umts_are_errors() {
    let format = Format::UmtsAm { pdu: 6 };
    let error = |bytes: &[u8]| decode(format, bytes, &mut Decoded::default()).expect_err("invalid");
    let invalid = |field, value| DecodeError::Invalid { field, value };
    assert_eq!(error(&[]), DecodeError::Truncated { needed: 1, found: 0 });
    assert_eq!(error(&[0x80, 0, 1, 2, 3]), DecodeError::Truncated { needed: 6, found: 5 });
    assert_eq!(error(&[0x80, 0, 1, 2, 3, 4, 5]), DecodeError::Trailing { end: 6, found: 7 });
    for he in [2, 3] {
        assert_eq!(error(&[0x80, he, 1, 2, 3, 4]), invalid("HE", u32::from(he)));
    }
    let li = |first, second| error(&[0x80, 1, first, second, 0, 0]);
    assert_eq!(li(4 << 1, 0), DecodeError::Truncated { needed: 7, found: 6 });
    assert_eq!(li(2 << 1 | 1, 1 << 1), invalid("LI", 1));
    assert_eq!(li(2 << 1 | 1, 2 << 1), invalid("LI", 2));
    assert_eq!(li(2 << 1 | 1, 0), invalid("LI", 0));
    for special in [124, 125, 126] {
        assert_eq!(li(special << 1, 0), invalid("LI", u32::from(special)));
    }
    assert_eq!(li(0xff, 0), invalid("LI", 127));
    assert_eq!(li(0xfe, 0), DecodeError::Truncated { needed: 4, found: 3 });
    assert_eq!(error(&[0x10, 0, 0]), invalid("PDU type", 1));
    for sufi in [0, 1, 5, 7, 8, 15] {
        assert_eq!(error(&[sufi, 0, 0, 0]), invalid("SUFI type", u32::from(sufi)));
    }
    assert_eq!(error(&[0x03, 0x00]), invalid("LENGTH", 0));
    assert_eq!(error(&[0x06, 0x0a, 0xbc, 0x30]), invalid("LENGTH", 0));
    assert_eq!(error(&[0x06, 0x1a, 0xbc, 0x32]), invalid("SUFI type", 2));
    assert_eq!(
        error(&[0x03, 0x10, 0x00, 0x06, 0x1a, 0xbc, 0x30]),
        invalid("SUFI type", 6),
        "MRW after a list"
    );
}

fn umts_pdu() -> impl Strategy<Value = u32> {
    prop_oneof![4..12u32, Just(42), 120..=130u32]
}

proptest! {
    /// PDUs that decode in UMTS encode to the same bytes, apart from padding, or to another form of
    /// the same report.
    #[test]
    fn decoded_pdus_of_umts_encode_to_bytes_that_decode_to_them(
        pdu in umts_pdu(), is_data in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0..12u8, 0xf0..=0xffu8], 130),
        reports in 0..60usize,
    ) {
        let format = Format::UmtsAm { pdu };
        let mut bytes = bytes;
        bytes[0] = if is_data { bytes[0] | 0x80 } else { bytes[0] & 0x0f };
        if is_data {
            bytes[1] &= 0xfd;
        }
        bytes.truncate(if is_data { pdu as usize } else { reports });
        let mut first = Decoded::default();
        if decode(format, &bytes, &mut first).is_ok() {
            let mut content = TbContent::default();
            let open = matches!(first.header, PduHeader::UmtsAm { open: true, .. });
            if first.header == PduHeader::Status(0) {
                content.push_status(0).copy_from(&first.status);
            } else {
                let count = first.elements.len();
                let parts = first.elements.iter().enumerate();
                content.parts.extend(parts.map(|(i, &len)| part(0, len, i + 1 < count || !open)));
                content.push_pdu(first.header, first.header_bytes, 0);
            }
            let mut again = Vec::new();
            encode(format, &content, &content.pdus[0], &mut again);
            if is_data {
                prop_assert_eq!(&again, &bytes[..again.len()]);
                again.resize(pdu as usize, 0);
            } else if first.header == PduHeader::Status(0) {
                prop_assert_eq!(again.len() as u32, status_bytes(format, &first.status));
            }
            let mut second = Decoded::default();
            prop_assert_eq!(decode(format, &again, &mut second), Ok(()));
            second.header_bytes = first.header_bytes;
            if first.status.nacks.windows(2).all(|pair| pair[0].sn < pair[1].sn) {
                prop_assert_eq!(first, second);
            }
        }
    }
}

proptest! {
    /// PDUs that decode encode again to the same bytes, apart from reserved bits and padding, and
    /// these bytes decode to the same PDU.
    #[test]
    fn decoded_pdus_encode_to_bytes_that_decode_to_them(
        format in any_format(),
        bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut first = Decoded::default();
        if decode(format, &bytes, &mut first).is_ok() {
            let mut content = TbContent::default();
            if first.header == PduHeader::Status(0) {
                content.push_status(first.header_bytes).copy_from(&first.status);
            } else {
                content.parts.extend(first.elements.iter().map(|&len| part(0, len, true)));
                content.push_pdu(first.header, first.header_bytes, 0);
            }
            let mut again = Vec::new();
            encode(format, &content, &content.pdus[0], &mut again);
            if first.header != PduHeader::Status(0) {
                prop_assert_eq!(again.len() as u32, first.header_bytes);
                again.extend(core::iter::repeat_n(0, first.elements.iter().sum::<u32>() as usize));
            } else {
                prop_assert_eq!(again.len() as u32, status_bytes(format, &first.status));
            }
            let mut second = Decoded::default();
            prop_assert_eq!(decode(format, &again, &mut second), Ok(()));
            second.header_bytes = first.header_bytes;
            prop_assert_eq!(first, second);
        }
    }
}
