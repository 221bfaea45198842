use super::*;

const CELL: KpmCell = KpmCell {
    prbs: 100,
    slot: Duration::from_micros(500),
    period: Duration::from_millis(1_000),
    total: KpmTotal::Percent,
    available: KpmAvailable::Free,
    delay_unit: Duration::from_micros(100),
};

/// A node with two UEs: 40 and 20 of 100 blocks in 200 slots, 8 000 and 2 000 kbit.
const INDICATION: &str = r#"{"e2_agent_id": "gnbd_001_001_00019b_0", "ueMeasData": {
    "0": {"granulPeriod": 100, "measData": {"DRB.RlcSduTransmittedVolumeDL": [8000],
          "DRB.UEThpDl": [99999.0], "RRU.PrbUsedDl": [40], "RRU.PrbAvailDl": [30],
          "DRB.RlcSduDelayDl": [50.0], "CQI": [15]}},
    "1": {"granulPeriod": 100, "measData": {"DRB.RlcSduTransmittedVolumeDL": [2000],
          "RRU.PrbUsedDl": [20], "RRU.PrbAvailDl": [30], "DRB.RlcSduDelayDl": [null]}}}}"#;

fn ms(n: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(n)
}

fn known(ue: KpmUe<'_>) -> Option<NamedUe> {
    let address = format!("10.45.0.{}", ue.id.parse::<u8>().ok()?);
    let cell = (ue.node.is_empty()).then(|| "east".into());
    Some(NamedUe { addresses: vec![address.parse().ok()?], cell, pool: Some("blue".into()) })
}

fn read_at(reader: &mut KpmReader, text: &str, rules: &KpmCell, at: u64) -> KpmMessage {
    reader.read(text.as_bytes(), rules, ms(at), known).expect("an indication")
}

fn read(text: &str) -> KpmMessage {
    read_at(&mut KpmReader::default(), text, &CELL, 5)
}

#[test]
fn a_report_has_the_bytes_that_the_cells_blocks_would_carry() {
    let KpmMessage { reports, unknown, garbled, lacking } = read(INDICATION);
    assert_eq!((reports.len(), unknown, garbled, lacking), (2, 0, 0, 0));
    assert_eq!(reports[0].cell.as_deref(), Some("gnbd_001_001_00019b_0"));
    assert_eq!(reports[0].pool.as_deref(), Some("blue"));
    let ran = reports[0].ran;
    assert_eq!((ran.at, ran.slots, ran.active_ues, ran.mcs), (ms(5), 200, 2, None));
    // 1 000 000 bytes on 40 of 100 blocks are 2 500 000 bytes on all; 30 of 100 were free.
    assert_eq!((ran.offered, ran.blocks, ran.bytes), (2_500_000, 1_000_000, 1_000_000));
    assert_eq!(ran.used, 1_750_000);
    // 10 000 000 bytes/s with a delay of 5 ms.
    assert_eq!(ran.backlog, 50_000);
    let other = reports[1].ran;
    assert_eq!((other.offered, other.blocks, other.backlog), (1_250_000, 250_000, 0));
    assert_eq!(other.used, 875_000);
}

#[test]
fn several_periods_of_an_indication_are_one_report() {
    let text = r#"{"ueMeasData": {"7": {"measData": {"RRU.PrbTotDl": [10, 30, null],
        "DRB.UEThpDl": [1000, 3000, null]}}}, "granulPeriod": 20}"#;
    let reports = read(text).reports;
    let ran = reports[0].ran;
    assert_eq!((reports[0].cell.as_deref(), ran.slots), (Some("east"), 120));
    // 1 000 and 3 000 kbit/s, each for 20 ms, are 10 000 bytes on 40 % of the blocks of 20 ms.
    assert_eq!((ran.bytes, ran.offered, ran.used), (10_000, 75_000, 10_000));
}

#[test]
fn a_period_without_values_does_not_change_the_bytes_per_block() {
    let of = |used: &str, volume: &str| {
        let text = INDICATION.replace("[40]", used).replace("[8000]", volume);
        let ran = read(&text).reports[0].ran;
        (ran.slots, ran.offered, ran.bytes)
    };
    // The second period adds nothing: 1 000 000 bytes on 40 of 100 blocks in 200 slots.
    for (used, volume) in [
        ("[40, null]", "[8000, null]"),
        ("[40, 0]", "[8000, null]"),
        ("[40, null]", "[8000, 0]"),
        ("[40, 0]", "[8000, 0]"),
    ] {
        assert_eq!(of(used, volume), (400, 5_000_000, 1_000_000), "{used} {volume}");
    }
    // One number holds for each period.
    assert_eq!(of("40", "[8000, 8000]"), (400, 5_000_000, 2_000_000));
    assert_eq!(of("[40, 40]", "8000"), (400, 5_000_000, 2_000_000));
}

#[test]
fn the_units_of_other_nodes_are_settings() {
    let oai = KpmCell {
        total: KpmTotal::Blocks,
        available: KpmAvailable::All,
        delay_unit: Duration::from_micros(1),
        ..CELL
    };
    // 4 000 blocks of the 20 000 blocks in 200 slots.
    let text = r#"{"ueMeasData": {"7": {"granulPeriod": 100, "measData": {"RRU.PrbTotDl": [4000],
        "RRU.PrbAvailDl": [100], "DRB.PdcpSduVolumeDL": [800], "DRB.RlcSduDelayDl": [5000.0]}}}}"#;
    let ran = read_at(&mut KpmReader::default(), text, &oai, 5).reports[0].ran;
    assert_eq!((ran.offered, ran.used, ran.backlog), (500_000, 100_000, 5_000));
}

#[test]
fn the_measurement_of_a_cell_is_used_for_its_ues_for_1_s() {
    let cell = |key: &str| {
        format!(
            r#"{{"cell_id": "east", "granulPeriod": 100, "measData": {{{key},
                "DRB.MeanActiveUeDl": [6.2]}}}}"#
        )
    };
    let ues = INDICATION.replace("{\"e2_agent_id\"", "{\"cell_id\": \"east\", \"e2_agent_id\"");
    let used = |key: &str, at: u64| {
        let mut reader = KpmReader::default();
        let only = read_at(&mut reader, &cell(key), &CELL, 0);
        assert_eq!(only, KpmMessage::default());
        let report = read_at(&mut reader, &ues, &CELL, at).reports[0].clone();
        assert_eq!(report.cell.as_deref(), Some("east"));
        (report.ran.used, report.ran.active_ues)
    };
    assert_eq!(used("\"RRU.PrbTotDl\": [90]", 100), (2_250_000, 7));
    assert_eq!(used("\"RRU.PrbAvailDl\": [4]", 100), (2_400_000, 7));
    assert_eq!(used("\"RRU.PrbUsedDl\": 10", 100), (1_500_000, 7), "its UEs had 60");
    assert_eq!(used("\"RRU.PrbTotDl\": [90]", 1_000), (1_750_000, 2), "a second later");
}

#[test]
fn an_idle_ue_keeps_its_bytes_per_block_for_10_s() {
    let idle = INDICATION.replace("[8000]", "[0]").replace("[40]", "[0]");
    let mut reader = KpmReader::default();
    let first = read_at(&mut reader, &idle, &CELL, 0);
    assert_eq!((first.reports.len(), first.lacking), (1, 1), "it has no bytes per block yet");
    read_at(&mut reader, INDICATION, &CELL, 100);
    let ran = read_at(&mut reader, &idle, &CELL, 200).reports[0].ran;
    assert_eq!((ran.offered, ran.blocks, ran.bytes), (2_500_000, 0, 0));
    assert_eq!(read_at(&mut reader, &idle, &CELL, 10_100).lacking, 1, "it is old");
    // Nine blocks are too few for a measurement of the bytes per block.
    let few = INDICATION.replace("[40]", "[9]");
    assert_eq!(read_at(&mut KpmReader::default(), &few, &CELL, 0).lacking, 1);
}

#[test]
fn parts_that_contradict_each_other_never_exceed_the_cell() {
    let text = INDICATION.replace("[40]", "[90]").replace("[20]", "[70]");
    let reports = read(&text).reports;
    for report in &reports {
        let ran = report.ran;
        assert!(ran.blocks <= ran.used && ran.used <= ran.offered, "{ran:?}");
    }
    let parts = reports.iter().map(|r| r.ran.blocks as f64 / r.ran.offered as f64);
    assert!((parts.sum::<f64>() - 1.0).abs() < 1e-5);
}

#[test]
fn a_malformed_ue_affects_no_other_and_a_ue_without_a_measurement_is_counted() {
    for (from, to, garbled, lacking) in [
        ("[40]", "[-1]", 1, 0),
        ("[40]", "\"x\"", 1, 0),
        ("[40]", "[1e13]", 1, 0),
        ("[8000]", "[1e12]", 1, 0),
        (
            "\"granulPeriod\": 100, \"measData\": {\"DRB.RlcSduTransmittedVolumeDL\": [8",
            "\"granulPeriod\": 0, \"measData\": {\"DRB.RlcSduTransmittedVolumeDL\": [8",
            1,
            0,
        ),
        ("\"0\"", "\"a b\"", 1, 0),
        ("\"RRU.PrbUsedDl\": [40]", "\"RRU.PrbUsedUl\": [40]", 0, 1),
        ("[8000]", "[null]", 0, 0),
    ] {
        let text = INDICATION.replacen(from, to, 1);
        assert_ne!(text, INDICATION);
        let read = read(&text);
        assert_eq!((read.garbled, read.lacking), (garbled, lacking), "{to}");
        assert_eq!(read.reports.len() as u64, 2 - garbled - lacking, "{to}");
    }
    let unknown = read(&INDICATION.replace("\"1\"", "\"imsi-1\""));
    assert_eq!((unknown.reports.len(), unknown.unknown), (1, 1));
    assert_eq!(unknown.reports[0].ran.used, 1_750_000, "its blocks count");
}

#[test]
fn text_that_is_no_indication_is_refused() {
    let periods = format!("{:?}", vec![1; MOST_PERIODS + 1]);
    let ues: Vec<String> = (0..=MOST_UES).map(|n| format!("\"{n}\": 0")).collect();
    for text in [
        String::new(),
        "7".into(),
        "{\"ueMeasData\": []}".into(),
        "{\"measData\": {\"RRU.PrbTotDl\": [-1]}}".into(),
        "{\"measData\": {}, \"granulPeriod\": 0}".into(),
        format!("{{\"measData\": {{\"RRU.PrbTotDl\": {periods}}}}}"),
        "{\"e2_agent_id\": \"a b\", \"ueMeasData\": {}}".into(),
        "{\"cell_id\": \"\"}".into(),
        format!("{{\"ueMeasData\": {{{}}}}}", ues.join(",")),
    ] {
        let read = KpmReader::default().read(text.as_bytes(), &CELL, ms(0), known);
        assert!(read.is_err(), "{text}: {read:?}");
    }
    assert_eq!(read("{}"), KpmMessage::default());
}

#[test]
fn the_memory_of_a_reader_has_a_bound() {
    let mut map = BTreeMap::new();
    for n in 0..2 * MOST_REMEMBERED {
        remember(&mut map, n.to_string(), n);
        assert!(map.len() <= MOST_REMEMBERED);
    }
    assert!(map.contains_key(&(2 * MOST_REMEMBERED - 1).to_string()));
}
