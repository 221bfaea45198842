//! Frames of F1-U. Vectors are written by hand, a written frame is read back, and a message with a
//! cut or a changed byte gives an error or a frame.

mod random;

use justfull_nru::{
    Assistance, DeliveryStatus, Discard, DiscardBlock, DiscardBlocks, Frame, Malformed, Message,
    RadioQualities, RadioQuality, Session, SessionKind, SnRange, SnRanges, UserData, checksum,
    edit, gtpu,
};
use proptest::prelude::*;
use random::Random;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).expect("a byte")).collect()
}

/// Reads `bytes` as a container, and writes it again with padding.
fn there_and_back(bytes: &str, expected: Frame<'_>) {
    let bytes = hex(bytes);
    assert_eq!(Frame::read(&bytes), Ok(expected));
    let mut room = [0; 1018];
    let length = expected.write(&mut room).expect("it has room");
    assert!(length <= bytes.len() && bytes[length..].iter().all(|byte| *byte == 0));
    assert_eq!(room[..length], bytes[..length]);
}

#[test]
fn delivery_statuses_are_the_bytes_of_the_specification() {
    let status = DeliveryStatus { desired_buffer_size: 0x1122_3344, ..DeliveryStatus::default() };
    there_and_back("1000 11223344", Frame::Status(status));
    let rate = DeliveryStatus { desired_data_rate: Some(0xaabb_ccdd), ..status };
    there_and_back("1008 11223344 aabbccdd", Frame::Status(rate));
    let range = [SnRange { start: 0x01_0203, end: 0x11_1213 }];
    let lost = DeliveryStatus { lost: Some(SnRanges::new(&range)), ..status };
    there_and_back("1100 11223344 01 010203 111213 00", Frame::Status(lost));
    let all = DeliveryStatus {
        final_frame: true,
        highest_delivered: Some(3),
        highest_transmitted: Some(4),
        cause: Some(5),
        highest_delivered_retransmitted: Some(6),
        highest_retransmitted: Some(7),
        lost: Some(SnRanges::new(&range)),
        ..rate
    };
    there_and_back(
        "1f0f 11223344 aabbccdd 01 010203 111213 000003 000004 05 000006 000007 0000",
        Frame::Status(all),
    );
}

#[test]
fn user_data_and_assistance_are_the_bytes_of_the_specification() {
    let block = [DiscardBlock { start: 0x10, size: 5 }];
    let frame = UserData {
        sequence: 1,
        discard: Discard { flush: Some(0x20), blocks: Some(DiscardBlocks::new(&block)) },
        report_polling: true,
        report_delivered: Some(0x30),
        user_data: true,
        ..UserData::default()
    };
    there_and_back("070c 000001 000020 01 000010 05 000030 00", Frame::UserData(frame));
    let flags = UserData {
        sequence: 0xff_ffff,
        report_out_of_sequence: true,
        assistance_polling: true,
        retransmission: true,
        ..UserData::default()
    };
    there_and_back("0013 ffffff 00", Frame::UserData(flags));
    let quality =
        [RadioQuality { kind: 1, value: &[0xaa, 0xbb] }, RadioQuality { kind: 3, value: &[0xcc] }];
    let assistance = Assistance {
        duplicate: Some(true),
        quality: Some(RadioQualities::new(&quality)),
        uplink_delay: Some(100),
        downlink_delay: Some(200),
    };
    there_and_back("2f01 02 0102aabb 0301cc 00000064 000000c8", Frame::Assistance(assistance));
    there_and_back("3000 ffff 0000", Frame::Other(&hex("3000 ffff 0000")));
}

#[test]
fn a_message_is_the_bytes_of_ts_29281() {
    let bytes = hex("36 ff 0018 11223344 abcd 00 85 \
         01 0009 84 \
         02 1000 0000ff00 20 \
         01 beef 00 \
         80 01 55 66");
    let message = Message::read(&bytes).expect("a message");
    assert_eq!((message.kind, message.teid), (gtpu::G_PDU, 0x1122_3344));
    assert_eq!((message.sequence, message.n_pdu), (Some(0xabcd), None));
    let kinds: Vec<(u8, usize)> = message.extensions().map(|e| (e.kind, e.at)).collect();
    assert_eq!(kinds, [(0x85, 13), (0x84, 17), (0x20, 25)]);
    assert_eq!(message.extension(0x20).map(|e| e.content), Some(&[0xbe, 0xef][..]));
    assert_eq!(message.payload, [0x80, 1, 0x55, 0x66]);
    let session = message.session().expect("sound").expect("there");
    let kind = SessionKind::Downlink { paging_policy: false, reflective: false };
    assert_eq!(session, Session { kind, qfi: 9, flags: 0, rest: &[] });
    let status = DeliveryStatus { desired_buffer_size: 0xff00, ..DeliveryStatus::default() };
    assert_eq!(message.frame(), Ok(Some(Frame::Status(status))));

    let mut room = [0xee; 64];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, 0x1122_3344).expect("room");
    builder.sequence(0xabcd).expect("room");
    builder.extension(0x85, |room| session.write(room)).expect("room");
    builder.extension(0x84, |room| Frame::Status(status).write(room)).expect("room");
    let unknown = |room: &mut [u8]| {
        room[..2].copy_from_slice(&[0xbe, 0xef]);
        Ok(2)
    };
    builder.extension(0x20, unknown).expect("room");
    builder.payload(message.payload).expect("room");
    let length = builder.finish().expect("short enough");
    assert_eq!(room[..length], bytes);
}

#[test]
fn a_message_without_optional_octets_has_eight_bytes_before_its_payload() {
    let mut room = [0; 16];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::END_MARKER, 5).expect("room");
    builder.payload(&[1, 2]).expect("room");
    let length = builder.finish().expect("short enough");
    assert_eq!(room[..length], hex("30 fe 0002 00000005 0102"));
    let message = Message::read(&room[..length]).expect("a message");
    assert_eq!((message.frame(), message.payload), (Ok(None), &[1, 2][..]));
}

#[test]
fn wrong_headers_name_their_field() {
    let read = |text: &str| Message::read(&hex(text)).expect_err("it is wrong");
    assert_eq!(read("50 ff 0000 00000001"), Malformed::Version(2));
    assert_eq!(read("20 ff 0000 00000001"), Malformed::Prime);
    assert_eq!(read("30 ff 0001 00000001"), Malformed::Length { stated: 1, found: 0 });
    assert_eq!(read("30 ff 0000 00000001 00"), Malformed::Length { stated: 0, found: 1 });
    assert_eq!(read("34 ff 0005 00000001 000000 84 00"), Malformed::EmptyExtension);
    let cut = read("34 ff 0007 00000001 000000 84 01 10 00");
    assert_eq!(cut, Malformed::Short("next extension header type"));
    let most = Malformed::Value { field: "number of lost ranges", found: 162, most: 161 };
    let many = hex(&format!("1100 00000000 a2 {}", "00".repeat(162 * 6)));
    assert_eq!(Frame::read(&many), Err(most));
    assert!(Frame::read(&hex(&format!("1100 00000000 a1 {}", "00".repeat(966)))).is_ok());
    assert_eq!(
        most.to_string(),
        "field `number of lost ranges`: found 162, allowed is at most 161"
    );
}

#[test]
fn values_without_a_place_are_refused() {
    let beyond = |sequence| Frame::UserData(UserData { sequence, ..UserData::default() });
    let mut room = [0; 1018];
    assert_eq!(beyond((1 << 24) - 1).write(&mut room), Ok(5));
    assert!(matches!(beyond(1 << 24).write(&mut room), Err(Malformed::Value { .. })));
    let ranges = [SnRange::default(); 162];
    let lost = Some(SnRanges::new(&ranges));
    let status = Frame::Status(DeliveryStatus { lost, ..DeliveryStatus::default() });
    assert!(matches!(status.write(&mut room), Err(Malformed::Value { found: 162, .. })));
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, 1).expect("room");
    assert!(builder.extension(0, |_| Ok(2)).is_err(), "0 means no extension header");
}

#[test]
fn the_greatest_container_has_1018_bytes() {
    let container = [0x3f; 1018];
    let mut room = vec![0; 1200];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, 1).expect("room");
    builder.extension(0x84, |room| Frame::Other(&container).write(room)).expect("it fits");
    assert!(builder.extension(0x84, |room| Frame::Other(&[0x3f; 1019]).write(room)).is_err());
    let length = builder.finish().expect("short enough");
    let message = Message::read(&room[..length]).expect("a message");
    assert_eq!(message.frame(), Ok(Some(Frame::Other(&container))));
}

#[test]
fn a_message_is_read_from_a_packet_that_ends_in_its_payload_or_goes_on_after_it() {
    let mut room = [0; 64];
    let mut builder = gtpu::Builder::new(&mut room, gtpu::G_PDU, 7).expect("room");
    let frame = Frame::Other(&[0x30, 1, 2, 3, 4, 5]);
    builder.extension(gtpu::NR_RAN_CONTAINER, |room| frame.write(room)).expect("room");
    builder.payload(&[9; 20]).expect("room");
    let length = builder.finish().expect("short enough");
    let whole = Message::read(&room[..length]).expect("a message");
    for end in length..=room.len() {
        let begin = Message::begin(&room[..end]).expect("a message");
        assert_eq!((begin.message, begin.length, begin.missing), (whole, length, 0));
    }
    for missing in 1..=20 {
        let begin = Message::begin(&room[..length - missing]).expect("its headers are there");
        assert_eq!((begin.length, begin.missing), (length, missing));
        assert_eq!(begin.message.payload.len() + missing, 20);
        assert_eq!(begin.message.frame(), whole.frame());
    }
    assert!((0..length - 20).all(|end| Message::begin(&room[..end]).is_err()), "a cut header");
    // The stated length ends inside the extension header.
    room[3] = 6;
    assert!(Message::begin(&room).is_err());
}

/// A message of the random numbers from `seed` on.
fn message(seed: u64) -> Vec<u8> {
    let mut room = vec![0xee; 4096];
    let length = Random::new(seed).message(&mut room, |_| ());
    room.truncate(length);
    room
}

#[test]
fn every_cut_is_an_error_in_the_header_or_in_the_frame() {
    for seed in 0..200 {
        let whole = message(seed);
        for end in 0..whole.len() {
            assert!(Message::read(&whole[..end]).is_err(), "the length is another: {seed} {end}");
            // With the length corrected, it may be a shorter message.
            let mut cut = whole[..end].to_vec();
            if end >= 8 {
                cut[2..4].copy_from_slice(&u16::try_from(end - 8).expect("short").to_be_bytes());
                exercise(&cut);
            }
        }
    }
}

/// Reads all fields of a message, and changes the fields that [`edit`] can change.
fn exercise(bytes: &[u8]) {
    let Ok(message) = Message::read(bytes) else { return };
    let extensions: usize = message.extensions().map(|e| e.content.len() + 2).sum();
    assert!(extensions + message.payload.len() <= bytes.len());
    assert!(message.extensions().all(|e| bytes[e.at..].starts_with(e.content)));
    let _session = message.session();
    let mut room = [0; 1018];
    if let Ok(Some(frame)) = message.frame() {
        let length = frame.write(&mut room).expect("what was read can be written");
        let padded = &room[..(length + 2).div_ceil(4) * 4 - 2];
        assert_eq!(Frame::read(padded), Ok(reread(&frame, padded)));
    }
    if let Ok(Some(places)) = edit::places(&message) {
        let mut changed = bytes.to_vec();
        for at in [Some(places.desired_buffer_size), places.desired_data_rate].into_iter().flatten()
        {
            edit::set(&mut changed, at, 7, 0).expect("it lies inside");
        }
        assert_eq!(changed.len(), bytes.len());
        if let Ok(Some(Frame::Status(status))) = Message::read(&changed).expect("sound").frame() {
            assert_eq!(status.desired_buffer_size, 7);
            assert_eq!(status.desired_data_rate, places.desired_data_rate.map(|_| 7));
        }
    }
}

/// `frame` as it reads from `padded`: a frame of an unknown type includes its padding.
fn reread<'a>(frame: &Frame<'a>, padded: &'a [u8]) -> Frame<'a> {
    if matches!(frame, Frame::Other(_)) { Frame::Other(padded) } else { *frame }
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(&bytes);
        let _frame = Frame::read(&bytes);
    }

    #[test]
    fn changed_bytes_are_refused_or_read(
        seed: u64,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = message(seed);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        exercise(&bytes);
    }

    #[test]
    fn written_frames_are_read_back(seed: u64) {
        let mut room = vec![0xee; 4096];
        let mut written = None;
        let length = Random::new(seed).message(&mut room.clone(), |frame| {
            let mut bytes = vec![0; 1018];
            let length = frame.write(&mut bytes).expect("room");
            bytes.truncate(length);
            written = Some(bytes);
        });
        let same = Random::new(seed).message(&mut room, |_| ());
        prop_assert_eq!(same, length, "the same seed gives the same message");
        let message = Message::read(&room[..length]).expect("a message");
        let frame = message.frame().expect("sound").expect("there");
        let mut again = [0; 1018];
        let length = frame.write(&mut again).expect("room");
        let written = written.expect("a frame");
        prop_assert_eq!(&again[..written.len()], &written[..]);
        prop_assert!(again[written.len()..length].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn an_updated_checksum_equals_the_checksum_of_the_changed_bytes(
        mut bytes in prop::collection::vec(any::<u8>(), 10..100),
        at: prop::sample::Index, value: u32,
    ) {
        // The checksum is in the first two covered bytes.
        bytes[..2].fill(0);
        let old = !checksum::sum(&bytes);
        let at = 2 + at.index(bytes.len() - 6);
        let before = bytes[at..at + 4].to_vec();
        let updated = checksum::updated(old, at, &before, &value.to_be_bytes());
        bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
        bytes[..2].copy_from_slice(&updated.to_be_bytes());
        prop_assert_eq!(checksum::sum(&bytes), 0xffff);
    }
}

#[test]
fn a_checksum_of_udp_is_never_made_and_never_zero() {
    assert_eq!(checksum::updated_udp(0, 3, &[1, 2], &[3, 4]), 0, "none stays none");
    // 0xfffe covers a sum of 1; without it the sum is 0 and the checksum 0xffff.
    assert_eq!(checksum::updated_udp(0xfffe, 0, &[0, 1], &[0, 0]), 0xffff);
    assert_eq!(checksum::updated_udp(1, 0, &[0xff, 0xfe], &[0xff, 0xff]), 0xffff, "not 0");
}
