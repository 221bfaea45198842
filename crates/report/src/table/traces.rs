//! The table of traces: a summary of each.

use super::{Grid, Row, RowKind};
use justfull_trace::info::{CqiInfo, Info};

/// Names and values for a table.
fn lines(info: &Info) -> Vec<(String, String)> {
    let seconds = |s: f64| format!("{s:.3}");
    let rate = |r: f64| format!("{r:.3}");
    let mut lines = vec![
        ("format".to_string(), info.format.clone()),
        ("duration, s".into(), seconds(info.duration_s)),
        ("intervals".into(), info.intervals.to_string()),
        ("interval, ms".into(), info.interval_ms.to_string()),
        ("bytes".into(), info.bytes.to_string()),
        ("mean rate, Mbit/s".into(), rate(info.rate_mbit_s_mean)),
        ("rates over bins of, ms".into(), info.bin_ms.to_string()),
        ("lowest rate, Mbit/s".into(), rate(info.rate_mbit_s_min)),
    ];
    lines.extend(
        info.rate_mbit_s_percentiles.iter().map(|(p, r)| (format!("p{p}, Mbit/s"), rate(*r))),
    );
    lines.push(("highest rate, Mbit/s".into(), rate(info.rate_mbit_s_max)));
    lines.push(("outage, s".into(), seconds(info.outage_s)));
    lines.push(("longest outage, s".into(), seconds(info.longest_outage_s)));
    lines.push(("coherence (1/e), s".into(), info.coherence_s.map_or_else(|| "–".into(), seconds)));
    let cqi = |value: fn(&CqiInfo) -> String| info.cqi.as_ref().map_or_else(|| "–".into(), value);
    lines.push(("CQI mean".into(), cqi(|q| format!("{:.2}", q.mean))));
    lines.push(("CQI sd".into(), cqi(|q| format!("{:.2}", q.sd))));
    lines.push(("CQI range".into(), cqi(|q| format!("{} to {}", q.min, q.max))));
    lines.push((
        "CQI lag 1".into(),
        cqi(|q| q.lag1.map_or_else(|| "–".into(), |r| format!("{r:.3}"))),
    ));
    lines
}

/// A column for each trace; lines without any value are omitted.
#[must_use]
pub fn traces(infos: &[Info]) -> Grid {
    let columns: Vec<Vec<(String, String)>> = infos.iter().map(lines).collect();
    let count = columns.first().map_or(0, Vec::len);
    let header = std::iter::once(String::new()).chain(infos.iter().map(|info| info.file.clone()));
    let row = |index: usize| {
        let name = columns[0][index].0.clone();
        let cells =
            std::iter::once(name).chain(columns.iter().map(|column| column[index].1.clone()));
        Row::new(cells.collect(), RowKind::Method)
    };
    let has_value = |row: &Row| row.cells[1..].iter().any(|cell| cell != "–");
    Grid {
        dropped_first: Vec::new(),
        header: header.collect(),
        rows: (0..count).map(row).filter(has_value).collect(),
        numbers_from: 1,
        notes: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::markdown;
    use justfull_base::Duration;
    use justfull_trace::{FileFormat, Loaded, Timeline};

    #[test]
    fn columns_of_a_trace_are_printed_and_columns_of_no_trace_left_out() {
        let info = |bytes: &[u32], cqi: Option<Vec<u8>>| {
            let timeline =
                Timeline::new(Duration::from_secs(1), bytes.to_vec(), cqi).expect("a timeline");
            let loaded = Loaded { timeline, format: FileFormat::Csv, notes: Vec::new() };
            Info::of("x.csv", &loaded, None).expect("told")
        };
        let text = markdown(&traces(&[info(&[125_000, 0, 0, 375_000], Some(vec![3, 0, 0, 9]))]));
        assert!(
            text.contains("| outage, s | 2.000 |") && text.contains("| CQI range | 0 to 9 |"),
            "{text}"
        );
        let text = markdown(&traces(&[info(&[5, 5, 5], None)]));
        assert!(!text.contains("coherence") && !text.contains("CQI"), "{text}");
    }
}
