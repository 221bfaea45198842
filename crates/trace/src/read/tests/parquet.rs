//! Tests of the reader of Parquet.

use super::*;

#[test]
fn parquet_of_more_rows_than_are_read_at_a_time_is_read_whole() {
    let bytes: Vec<u32> = (0..150_000_u32).map(|k| k.wrapping_mul(2_654_435_761)).collect();
    let cqi = Some((0..150_000_u32).map(|k| (k % 16) as u8).collect());
    let timeline = Timeline::new(Duration::from_micros(500), bytes, cqi).expect("a timeline");
    let mut file = Vec::new();
    let output = Output::new(&timeline, FileFormat::Parquet, None).expect("it fits");
    output.write(&mut file).expect("memory takes it");
    assert!(told(file).timeline == timeline);
}

#[test]
fn parquet_that_is_none_is_refused() {
    for text in ["PAR1", "PAR1PAR1", "PAR1xxxxxxxxxxxxxxxxxxxxxxxPAR1"] {
        let got = message(text);
        assert!(
            got.starts_with("t: found a damaged file: ")
                && got.ends_with("allowed is a whole Parquet file"),
            "{got}"
        );
    }
}

/// A small file of the own writer, with and without CQI.
fn parquet_file(cqi: bool) -> Vec<u8> {
    let bytes: Vec<u32> = (0..200).map(|k| k * k % 977 * 12).collect();
    let cqi = cqi.then(|| (0..200).map(|k| k % 16).collect());
    let timeline = Timeline::new(Duration::from_millis(10), bytes, cqi).expect("a timeline");
    let mut file = Vec::new();
    let output = Output::new(&timeline, FileFormat::Parquet, None).expect("it fits");
    output.write(&mut file).expect("memory takes it");
    file
}

#[test]
fn parquet_that_makes_its_library_panic_is_refused_as_damaged() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/parquet");
    let mut panics = 0;
    for entry in std::fs::read_dir(seeds).expect("the seeds are there") {
        let path = entry.expect("an entry").path();
        let file = std::fs::read(&path).expect("a file");
        let options = ReadOptions { max_intervals: 20_000, ..named(FileFormat::Parquet) };
        if let Err(error) = read(&file, &options) {
            assert!(
                error.starts_with("t: found ") && error.contains(", allowed is "),
                "{path:?}: {error}"
            );
            panics += usize::from(error.contains("its parts contradict each other"));
        }
    }
    assert!(
        panics > 0,
        "no seed holds what the library panics on any more: is it time to read without a net?"
    );
}

proptest! {
    #[test]
    fn parquet_with_wrong_bytes_is_read_or_refused(
        cqi in any::<bool>(),
        wrong in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        kept in proptest::option::of(any::<proptest::sample::Index>()),
    ) {
        let mut file = parquet_file(cqi);
        for (at, byte) in wrong {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Some(kept) = kept {
            file.truncate(kept.index(file.len()));
        }
        let options = ReadOptions { max_intervals: 10_000, ..named(FileFormat::Parquet) };
        match read(&file, &options) {
            Ok(loaded) => prop_assert!(loaded.timeline.bytes().len() <= 10_000),
            Err(error) => prop_assert!(error.starts_with("t:") && error.contains("allowed is "),
                "{}", error),
        }
    }
}
