//! Segments that leave as one buffer, and data that waits for a larger one.

use crate::config;
use crate::engine::{ack, at, flush, sender};
use justfull_tcp::cc::fixed::FixedConfig;
use justfull_tcp::{CcConfig, Kernel, Mark, Segment, Sender, SenderConfig};

/// Twelve segments of endless data are out at 1 ms, and the window stays at twelve.
fn twelve_out(kernel: Kernel) -> Sender {
    let cc = CcConfig::Fixed(FixedConfig { segments: 12, ..FixedConfig::default() });
    let mut s = sender(&SenderConfig { kernel, ..config(cc) });
    s.write(u64::MAX);
    assert_eq!(flush(&mut s, at(1)).len(), 12);
    s
}

/// Acknowledges `segments` at `ms`; returns PSH or not of each segment that then leaves.
fn leave(s: &mut Sender, ms: u64, segments: u64, echo: u64) -> Vec<bool> {
    s.on_ack(at(ms), &ack(segments, &[], echo));
    flush(s, at(ms)).iter().map(|segment| segment.mark == Mark::Push).collect()
}

#[test]
fn a_lone_segment_waits_while_an_acknowledgement_is_due_and_leaves_with_the_next() {
    for kernel in Kernel::ALL.into_iter().filter(|kernel| *kernel != Kernel::Rfc) {
        let mut s = twelve_out(kernel);
        let push = !matches!(kernel, Kernel::Linux4_15 | Kernel::Linux5_3);
        // No segment left within the last millisecond.
        assert_eq!(leave(&mut s, 51, 1, 1), [false], "{kernel:?}");
        assert_eq!(leave(&mut s, 51, 2, 1), [false; 0], "{kernel:?}");
        assert_eq!(leave(&mut s, 51, 3, 1), [false, push], "{kernel:?}");
    }
    let mut s = twelve_out(Kernel::Rfc);
    for segments in 1..4 {
        assert_eq!(leave(&mut s, 51, segments, 1), [false]);
    }
}

#[test]
fn before_6_18_it_waits_from_half_a_round_trip_on() {
    for kernel in Kernel::ALL.into_iter().filter(|kernel| *kernel != Kernel::Rfc) {
        let waits = kernel != Kernel::Linux6_18;
        let mut s = twelve_out(kernel);
        assert_eq!(leave(&mut s, 51, 12, 1).len(), 12);
        // 34 ms of about 50 ms have passed since they left.
        assert_eq!(leave(&mut s, 85, 13, 51).len(), 1);
        assert_eq!(leave(&mut s, 85, 14, 51).is_empty(), waits, "{kernel:?}");
    }
}

#[test]
fn a_third_of_the_window_never_waits() {
    let mut s = twelve_out(Kernel::Linux6_18);
    assert_eq!(leave(&mut s, 51, 1, 1).len(), 1);
    // Four may leave, and leave two by two, though the oldest are overdue.
    assert_eq!(leave(&mut s, 51, 5, 1), [false, true, false, true]);
}

#[test]
fn the_first_window_and_the_end_of_the_data_are_pushed() {
    let cc = CcConfig::Fixed(FixedConfig { segments: 12, ..FixedConfig::default() });
    let mut s = sender(&config(cc));
    s.write(12 * 1448 + 100);
    let pushed = |out: &[Segment]| -> Vec<u64> {
        out.iter().filter(|x| x.mark == Mark::Push).map(|x| x.seq / 1448).collect()
    };
    // Without a round trip the rate is unknown: one buffer.
    assert_eq!(pushed(&flush(&mut s, at(1))), [11]);
    s.on_ack(at(51), &ack(2, &[], 1));
    assert_eq!(pushed(&flush(&mut s, at(51))), [12]);
}
