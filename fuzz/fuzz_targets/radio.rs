//! Inputs from sources of radio information, as the proxy reads them: lines of JSON, notifications
//! and answers of an RNIS, the text of R22's set-up, srsRAN's metrics, indications of KPM. An
//! accepted report can be written and read again, and never claims more than a cell has.

#![no_main]

use justfull_base::{Duration, Instant};
use justfull_rnis::{
    KpmAvailable, KpmCell, KpmReader, KpmTotal, MOST_ADDRESSES, NamedUe, Notification, Report,
    SrsranCell, cell_name, flexran, notification, reports, srsran,
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

const KPM: KpmCell = KpmCell {
    prbs: 106,
    slot: Duration::from_micros(500),
    period: Duration::from_millis(100),
    total: KpmTotal::Percent,
    available: KpmAvailable::Free,
    delay_unit: Duration::from_micros(100),
};

/// A report that the proxy has worked out never claims more than a cell has.
fn bounded(report: &Report) {
    check(report);
    let ran = report.ran;
    assert!(ran.repeats <= ran.blocks && ran.blocks <= ran.used, "{ran:?}");
    assert!(ran.used <= ran.offered, "{ran:?}");
}

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
    match choice % 6 {
        0 => Report::parse(text).iter().for_each(check),
        1 => match notification(text) {
            Ok(Notification::Reports(reports, _)) => reports.iter().for_each(check),
            Ok(Notification::CellChange(change)) => {
                assert!((1..=MOST_ADDRESSES).contains(&change.ue.len()));
                assert_eq!(cell_name(&change.cell), Ok(change.cell));
            }
            _ => {}
        },
        2 => reports(text).iter().for_each(|(reports, _)| reports.iter().for_each(check)),
        3 => flexran(text, &ue, at).iter().for_each(check),
        4 => {
            let known = |_: justfull_rnis::KpmUe<'_>| {
                Some(NamedUe { addresses: ue.to_vec(), cell: None, pool: None })
            };
            let mut reader = KpmReader::default();
            // The second has what the first has shown.
            for _ in 0..2 {
                let Ok(read) = reader.read(text, &KPM, at, known) else { return };
                read.reports.iter().for_each(bounded);
            }
        }
        _ => {
            let Ok(read) = srsran(text, "gnb:8001", &CELL, at, |_| (ue.to_vec(), None)) else {
                return;
            };
            read.reports.iter().for_each(bounded);
        }
    }
});
