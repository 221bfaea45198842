//! justfull's own columns in Parquet: `start_ns`, `end_ns`, `bytes` and perhaps `cqi`, all of 32 or 64 bits and without nulls.
//!
//! The library answers some damaged files with a panic: it trusts lengths and indices of the file. Such a panic is told as the
//! damaged file that it is.

use super::super::rows::At;
use super::super::{TraceError, lines::Marks};
use super::intervals::Intervals;
use super::{Parsed, Source, caught};
use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::reader::ColumnReader;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, RowGroupReader};
use ::parquet::file::serialized_reader::SerializedFileReader;
use bytes::Bytes;
use std::fmt::Display;
use std::io::Read;

/// Largest file, in bytes: eight bytes for each of three columns of the longest timeline.
const MOST_BYTES: u64 = 1 << 30;

/// The columns, and whether there may be none.
const COLUMNS: [(&str, bool); 4] = [("start_ns", true), ("end_ns", true), ("bytes", true), ("cqi", false)];

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let mut whole = Vec::new();
    let failed =
        |error: &dyn Display| source.unusable(&format!("a read error: {error}"), "a whole Parquet file");
    reader.take(MOST_BYTES + 1).read_to_end(&mut whole).map_err(|error| failed(&error))?;
    if whole.len() as u64 > MOST_BYTES {
        return Err(source.unusable("a larger file", "a Parquet file of at most 1 GiB"));
    }
    caught::quietly(|| read_whole(whole, source))
        .unwrap_or_else(|| Err(damaged("its parts contradict each other", source)))
}

fn damaged(what: impl Display, source: &Source<'_>) -> TraceError {
    source.unusable(&format!("a damaged file: {what}"), "a whole Parquet file")
}

fn read_whole(whole: Vec<u8>, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let damaged = |error: ParquetError| damaged(error, source);
    let length = whole.len() as u64;
    let file = SerializedFileReader::new(Bytes::from(whole)).map_err(damaged)?;
    let mut rows = Intervals::default();
    for index in 0..file.num_row_groups() {
        let group = file.metadata().row_group(index);
        check(group, length, source)?;
        let group = file.get_row_group(index).map_err(damaged)?;
        take(group.as_ref(), &mut rows, source)?;
    }
    if rows.bytes.is_empty() {
        return Err(source.unusable("no rows", "at least one row"));
    }
    let cqi = rows.cqi();
    source.finish(rows.interval(), rows.bytes, cqi, Marks::default(), Vec::new())
}

/// Refuses what would take more memory or time than the file's own size warrants, or cannot be decoded.
fn check(group: &RowGroupMetaData, length: u64, source: &Source<'_>) -> Result<(), TraceError> {
    source.ensure_length(u64::try_from(group.num_rows()).unwrap_or(u64::MAX))?;
    for column in group.columns() {
        let known = column.encodings().all(|encoding| {
            matches!(
                encoding,
                Encoding::PLAIN
                    | Encoding::RLE
                    | Encoding::PLAIN_DICTIONARY
                    | Encoding::RLE_DICTIONARY
                    | Encoding::DELTA_BINARY_PACKED
            )
        });
        if !known || !matches!(column.compression(), Compression::UNCOMPRESSED | Compression::SNAPPY) {
            let allowed = "plain, dictionary or delta encoding, uncompressed or Snappy";
            return Err(
                source.unusable(&format!("column {} in another encoding", column.column_path()), allowed)
            );
        }
        let (Ok(start), Ok(size)) =
            (u64::try_from(column.data_page_offset()), u64::try_from(column.compressed_size()))
        else {
            return Err(source.unusable("a negative offset", "a whole Parquet file"));
        };
        if start.saturating_add(size) > length || column.num_values() != group.num_rows() {
            return Err(source.unusable("a column that its file does not hold", "a whole Parquet file"));
        }
    }
    Ok(())
}

/// Appends a row group.
fn take(group: &dyn RowGroupReader, rows: &mut Intervals, source: &Source<'_>) -> Result<(), TraceError> {
    let mut columns: [Vec<i64>; 4] = Default::default();
    for ((name, needed), values) in COLUMNS.into_iter().zip(&mut columns) {
        let described = group.metadata().columns();
        let place = described.iter().position(|column| column.column_path().string() == name);
        match place {
            Some(place) => *values = column(group, place, name, source)?,
            None if needed => {
                let names: Vec<String> =
                    described.iter().map(|column| column.column_path().string()).collect();
                let allowed = format!("columns {}", COLUMNS.map(|(name, _)| name).join(", "));
                return Err(
                    source.unusable(&format!("no column {name} among {}", names.join(", ")), &allowed)
                );
            }
            None => {}
        }
    }
    let [starts, ends, amounts, cqis] = columns;
    for (index, ((start, end), amount)) in starts.into_iter().zip(ends).zip(amounts).enumerate() {
        let at = At { path: source.path, line: rows.bytes.len() as u64 + 1 };
        let whole = |column, value: i64, most: u64| {
            let fits = u64::try_from(value).ok().filter(|&value| value <= most);
            fits.ok_or_else(|| {
                at.malformed(column, value.to_string(), format!("a whole number from 0 to {most}"))
            })
        };
        let span = (whole("start_ns", start, u64::MAX)?, whole("end_ns", end, u64::MAX)?);
        let bytes = whole("bytes", amount, u32::MAX.into())? as u32;
        rows.take(&at, span, 1, bytes, source.options.max_intervals)?;
        if let Some(&cqi) = cqis.get(index) {
            rows.cqi.push(whole("cqi", cqi, 15)? as u8);
        }
    }
    Ok(())
}

/// The whole of a column.
fn column(
    group: &dyn RowGroupReader,
    place: usize,
    name: &'static str,
    source: &Source<'_>,
) -> Result<Vec<i64>, TraceError> {
    let wrong =
        |found: &str| source.unusable(found, &format!("column {name} of INT32 or INT64 without nulls, flat"));
    let descriptor = group.metadata().column(place).column_descr_ptr();
    if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
        return Err(wrong("a nested column"));
    }
    let expected = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
    let mut levels = Vec::new();
    let damaged = |error: ParquetError| wrong(&format!("a damaged column: {error}"));
    let values: Vec<i64> = match group.get_column_reader(place).map_err(damaged)? {
        ColumnReader::Int64ColumnReader(mut reader) => {
            let mut values = Vec::new();
            while reader.read_records(expected, Some(&mut levels), None, &mut values).map_err(damaged)?.0 > 0
            {
            }
            values
        }
        ColumnReader::Int32ColumnReader(mut reader) => {
            let mut values: Vec<i32> = Vec::new();
            while reader.read_records(expected, Some(&mut levels), None, &mut values).map_err(damaged)?.0 > 0
            {
            }
            values.into_iter().map(i64::from).collect()
        }
        _ => return Err(wrong("another type")),
    };
    if values.len() != expected {
        return Err(wrong(&format!("{} values in {expected} rows", values.len())));
    }
    Ok(values)
}
