//! Tests of the reader of Parquet.

use super::*;
use ::parquet::file::metadata::{ParquetMetaDataWriter, RowGroupMetaData};
use ::parquet::file::reader::FileReader;
use ::parquet::file::serialized_reader::SerializedFileReader;

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

/// `file` with `more` bytes at the end of its data, and row groups made from its one, which is
/// given with the place of those bytes.
fn rebuilt(
    mut file: Vec<u8>,
    more: impl FnOnce(&[u8], &RowGroupMetaData) -> Vec<u8>,
    groups: impl FnOnce(RowGroupMetaData, i64) -> Vec<RowGroupMetaData>,
) -> Vec<u8> {
    let reader = SerializedFileReader::new(::bytes::Bytes::from(file.clone())).expect("sound");
    let metadata = reader.metadata().clone();
    let (_, length) = file[..file.len() - 4].split_last_chunk().expect("a length");
    file.truncate(file.len() - 8 - u32::from_le_bytes(*length) as usize);
    let group = metadata.row_group(0).clone();
    let place = file.len().cast_signed() as i64;
    file.extend(more(&file, &group));
    let metadata = metadata.into_builder().set_row_groups(groups(group, place)).build();
    ParquetMetaDataWriter::new(&mut file, &metadata).finish().expect("memory takes it");
    file
}

/// What is read of `file`, or why it is not.
fn outcome(file: &[u8]) -> Result<usize, String> {
    let options = ReadOptions { max_intervals: 20_000, ..named(FileFormat::Parquet) };
    read(file, &options).map(|loaded| loaded.timeline.bytes().len())
}

/// F6: the library made room for 2^30 values, 8 GiB, before it looked for them. A fuzzer called it
/// a slow unit.
#[test]
fn f6_parquet_with_a_dictionary_of_more_values_than_bytes_is_refused() {
    // A dictionary page of 16 bytes and 5 bytes of number, then the column's own page.
    let header = |values: [u8; 5]| {
        let [a, b, c, d, e] = values;
        vec![0x15, 4, 0x15, 32, 0x15, 32, 0x4c, 0x15, a, b, c, d, e, 0x15, 0, 0, 0]
    };
    let file = |values| {
        let page = [header(values), vec![0; 16]].concat();
        let length = page.len().cast_signed() as i64;
        let more = |file: &[u8], group: &RowGroupMetaData| {
            let (start, size) = group.column(0).byte_range();
            [&page, &file[start as usize..(start + size) as usize]].concat()
        };
        rebuilt(parquet_file(false), more, |group, place| {
            let mut columns = group.columns().to_vec();
            let column = columns[0].clone();
            let size = column.compressed_size() + length;
            let column = column.into_builder().set_dictionary_page_offset(Some(place));
            let column = column.set_data_page_offset(place + length);
            columns[0] = column.set_total_compressed_size(size).build().expect("a column");
            let group = group.into_builder().set_column_metadata(columns).build();
            vec![group.expect("a row group")]
        })
    };
    assert_eq!(outcome(&file([0x84, 0x80, 0x80, 0x80, 0])), Ok(200), "two values of 8 bytes");
    let error = outcome(&file([0x80, 0x80, 0x80, 0x80, 8])).expect_err("2^30 values");
    assert!(error.contains("a dictionary of 16 bytes that claims 1073741824 values"), "{error}");
}

/// The time to read a file must not be the number of its row groups times its bytes.
#[test]
fn parquet_whose_columns_share_their_bytes_is_refused() {
    let shared = |groups: usize| {
        rebuilt(
            parquet_file(true),
            |_, _| Vec::new(),
            |group, _| {
                let columns = group.columns().iter().cloned();
                let columns = columns.map(|column| {
                    column.into_builder().set_num_values(0).build().expect("a column")
                });
                let none = group.clone().into_builder().set_num_rows(0);
                let none =
                    none.set_column_metadata(columns.collect()).build().expect("a row group");
                let mut all = vec![group];
                all.resize(groups, none);
                all
            },
        )
    };
    assert_eq!(outcome(&shared(1)), Ok(200));
    let error = outcome(&shared(1000)).expect_err("1000 times the same bytes");
    assert!(error.contains("columns that share their bytes"), "{error}");
}

/// The library calls itself for each level of the schema, and makes room for the columns that a
/// group claims.
#[test]
fn parquet_with_a_deep_or_boundless_schema_is_refused() {
    // The element "a" that claims `children` in zigzag form.
    let element = |children: &[u8]| [&[0x35, 0, 0x18, 1, b'a', 0x15][..], children, &[0]].concat();
    let file = |count: u8, elements: Vec<u8>| {
        let footer = [&[0x15, 2, 0x19, 0xfc, 0x80 | (count & 0x7f), count >> 7][..], &elements];
        let footer = footer.concat();
        let length = (footer.len() as u32).to_le_bytes();
        [b"PAR1", footer.as_slice(), &length, b"PAR1"].concat()
    };
    let deep = |count: u8| {
        let footer = element(&[2]).repeat(usize::from(count));
        outcome(&file(count, footer)).expect_err("no columns")
    };
    assert!(deep(200).contains("a damaged file"));
    let many = [&[0x15, 2, 0x19, 0xfc, 0xa0, 0x8d, 6][..], &element(&[2]).repeat(100_000)].concat();
    let length = (many.len() as u32).to_le_bytes();
    let error = outcome(&[b"PAR1", many.as_slice(), &length, b"PAR1"].concat());
    assert!(error.expect_err("too deep").contains("a schema of 100000 columns"));
    let error = outcome(&file(1, element(&[0xfe, 0xff, 0xff, 0xff, 0x0f])));
    let error = error.expect_err("2^31 - 1 columns");
    assert!(error.contains("more columns in a group than the 1 of the schema"), "{error}");
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
