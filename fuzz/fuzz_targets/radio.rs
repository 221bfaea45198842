//! Inputs from sources of radio information, as the proxy reads them: lines of JSON, notifications
//! and answers of an RNIS, the text of R22's set-up, srsRAN's metrics. An accepted report can be
//! written and read again, and never claims more than a cell has.

#![no_main]

use justfull_base::{Duration, Instant};
use justfull_rnis::{
    MOST_ADDRESSES, Notification, Report, SrsranCell, flexran, notification, reports, srsran,
};
use libfuzzer_sys::fuzz_target;

const CELL: SrsranCell = SrsranCell {
    prbs: 106,
    slot: Duration::from_micros(500),
    period: Duration::from_millis(100),
    mcs_table: 2,
    symbols: 13,
    dmrs_res: 12,
};

fn check(report: &Report) {
    assert!((1..=MOST_ADDRESSES).contains(&report.ue.len()));
    // From the second writing on, times are whole microseconds.
    let line = |report: &Report| serde_json::to_vec(&report.written()).expect("it can be written");
    let again = Report::parse(&line(report)).expect("what was taken can be written");
    assert_eq!(Report::parse(&line(&again)), Ok(again));
}

fuzz_target!(|bytes: &[u8]| {
    let [choice, text @ ..] = bytes else { return };
    let at = Instant::from_nanos(1_000);
    let ue = ["10.45.0.1".parse().expect("an address")];
    match choice % 5 {
        0 => Report::parse(text).iter().for_each(check),
        1 => {
            if let Ok(Notification::Reports(reports, _)) = notification(text) {
                reports.iter().for_each(check);
            }
        }
        2 => reports(text).iter().for_each(|(reports, _)| reports.iter().for_each(check)),
        3 => flexran(text, &ue, at).iter().for_each(check),
        _ => {
            let Ok(read) = srsran(text, "gnb:8001", &CELL, at, |_| ue.to_vec()) else { return };
            for report in &read.reports {
                check(report);
                let ran = report.ran;
                assert!(ran.repeats <= ran.blocks && ran.blocks <= ran.used, "{ran:?}");
                assert!(ran.used <= ran.offered, "{ran:?}");
            }
        }
    }
});
