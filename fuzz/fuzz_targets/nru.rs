//! Any bytes are refused or become a message of F1-U, which can be written again and whose delivery
//! status can be changed in place.

#![no_main]

use justfull_nru::{Frame, Message, checksum, edit};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _frame = Frame::read(bytes);
    let begin = Message::begin(bytes);
    if let Ok(begin) = &begin {
        let here = begin.length - begin.missing;
        assert!(begin.message.payload.len() <= here && here <= bytes.len());
    }
    let Ok(message) = Message::read(bytes) else { return };
    assert_eq!(begin.map(|begin| (begin.message, begin.length)), Ok((message, bytes.len())));
    let extensions: usize = message.extensions().map(|e| e.content.len() + 2).sum();
    assert!(extensions + message.payload.len() <= bytes.len());
    let _session = message.session();
    if let Ok(Some(frame)) = message.frame() {
        let mut room = [0; 1018];
        let length = frame.write(&mut room).expect("what was read can be written");
        let again = Frame::read(&room[..length]).expect("what was written can be read");
        assert_eq!(again, frame);
    }
    let Ok(Some(places)) = edit::places(&message) else { return };
    let mut changed = bytes.to_vec();
    let mut sum = !checksum::sum(bytes);
    for at in [Some(places.desired_buffer_size), places.desired_data_rate].into_iter().flatten() {
        let before = changed[at..at + 4].to_vec();
        edit::set(&mut changed, at, 0x0102_0304, 0).expect("it lies inside");
        sum = checksum::updated(sum, at, &before, &changed[at..at + 4]);
    }
    let zeros = checksum::sum(&changed) % 0xffff;
    assert_eq!(zeros, !sum % 0xffff, "0 and 0xffff are one sum");
});
