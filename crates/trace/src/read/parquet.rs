//! justfull's own columns in Parquet: `start_ns`, `end_ns`, `bytes` and perhaps `cqi`, all of 32 or
//! 64 bits and without nulls.
//!
//! The library panics on some damaged files, since it trusts lengths and indices of the file. Such
//! a panic is reported as a damaged file.

use super::super::rows::At;
use super::super::unpack::read_error;
use super::super::{TraceError, lines::Marks};
use super::intervals::Intervals;
use super::{Parsed, Source, caught, pages};
use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::reader::ColumnReader;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, RowGroupReader};
use ::parquet::file::serialized_reader::SerializedFileReader;
use bytes::Bytes;
use std::fmt::Display;
use std::io::Read;

/// Largest file in bytes; it is held in memory as a whole. A third of the longest timeline without
/// any encoding, and many times all of it as justfull writes it.
const MOST_BYTES: u64 = 1 << 28;
/// Rows read at a time.
const BATCH: usize = 1 << 16;

/// The columns, and whether each is optional.
const COLUMNS: [(&str, bool); 4] =
    [("start_ns", true), ("end_ns", true), ("bytes", true), ("cqi", false)];

pub(super) fn read<R: Read>(reader: R, source: &Source<'_>) -> Result<Parsed, TraceError> {
    let mut whole = Vec::new();
    let read = reader.take(MOST_BYTES + 1).read_to_end(&mut whole);
    read.map_err(|error| read_error(source.path, None, &error))?;
    if whole.len() as u64 > MOST_BYTES {
        return Err(source.unusable("a larger file", "a Parquet file of at most 256 MiB"));
    }
    caught::quietly(|| read_whole(whole, source))
        .unwrap_or_else(|| Err(damaged("its parts contradict each other", source)))
}

fn damaged(what: impl Display, source: &Source<'_>) -> TraceError {
    source.unusable(&format!("a damaged file: {what}"), "a whole Parquet file")
}

fn read_whole(whole: Vec<u8>, source: &Source<'_>) -> Result<Parsed, TraceError> {
    pages::check_schema(&whole).map_err(|what| damaged(what, source))?;
    let damaged = |error: ParquetError| damaged(error, source);
    let whole = Bytes::from(whole);
    // Bytes of the file that no column has been found in yet.
    let mut unread = whole.len();
    let file = SerializedFileReader::new(whole.clone()).map_err(damaged)?;
    let mut rows = Intervals::default();
    for index in 0..file.num_row_groups() {
        let group = file.metadata().row_group(index);
        check(group, &whole, &mut unread, source)?;
        let group = file.get_row_group(index).map_err(damaged)?;
        take(group.as_ref(), &mut rows, source)?;
    }
    if rows.bytes.is_empty() {
        return Err(source.unusable("no rows", "at least one row"));
    }
    let cqi = rows.cqi();
    source.finish(rows.interval(), rows.bytes, cqi, Marks::default(), Vec::new())
}

/// Refuses files that would take more memory or time than their size warrants, or that cannot be
/// decoded.
fn check(
    group: &RowGroupMetaData,
    file: &[u8],
    unread: &mut usize,
    source: &Source<'_>,
) -> Result<(), TraceError> {
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
        if !known
            || !matches!(column.compression(), Compression::UNCOMPRESSED | Compression::SNAPPY)
        {
            let allowed = "plain, dictionary or delta encoding, uncompressed or Snappy";
            return Err(source.unusable(
                &format!("column {} in another encoding", column.column_path()),
                allowed,
            ));
        }
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let (Ok(start), Ok(size)) =
            (usize::try_from(start), usize::try_from(column.compressed_size()))
        else {
            return Err(source.unusable("a negative offset", "a whole Parquet file"));
        };
        let chunk = file.get(start..start.saturating_add(size));
        let Some(chunk) = chunk.filter(|_| column.num_values() == group.num_rows()) else {
            return Err(
                source.unusable("a column that its file does not hold", "a whole Parquet file")
            );
        };
        let name = column.column_path().string();
        if !COLUMNS.iter().any(|(known, _)| *known == name) {
            continue;
        }
        // Columns that share their bytes would take more time than the file has bytes.
        *unread = unread
            .checked_sub(chunk.len())
            .ok_or_else(|| damaged("columns that share their bytes", source))?;
        pages::check(chunk).map_err(|what| damaged(what, source))?;
    }
    Ok(())
}

/// Appends a row group, a few rows of all columns at a time.
fn take(
    group: &dyn RowGroupReader,
    rows: &mut Intervals,
    source: &Source<'_>,
) -> Result<(), TraceError> {
    let described = group.metadata().columns();
    let mut columns: [Option<Column>; 4] = Default::default();
    for ((name, needed), column) in COLUMNS.into_iter().zip(&mut columns) {
        match described.iter().position(|column| column.column_path().string() == name) {
            Some(place) => *column = Some(Column::open(group, place, name, source)?),
            None if needed => {
                let names: Vec<String> =
                    described.iter().map(|column| column.column_path().string()).collect();
                let allowed = format!("columns {}", COLUMNS.map(|(name, _)| name).join(", "));
                return Err(source
                    .unusable(&format!("no column {name} among {}", names.join(", ")), &allowed));
            }
            None => {}
        }
    }
    let mut left = usize::try_from(group.metadata().num_rows()).unwrap_or(usize::MAX);
    while left > 0 {
        let count = left.min(BATCH);
        for column in columns.iter_mut().flatten() {
            column.fill(count, source)?;
        }
        let [Some(starts), Some(ends), Some(amounts), cqis] = &columns else { return Ok(()) };
        let cqis = cqis.as_ref().map_or(&[][..], |column| &column.values);
        append([&starts.values, &ends.values, &amounts.values, cqis], rows, source)?;
        left -= count;
    }
    Ok(())
}

/// Appends rows of the columns [`COLUMNS`]; the last may be empty.
fn append(
    [starts, ends, amounts, cqis]: [&[i64]; 4],
    rows: &mut Intervals,
    source: &Source<'_>,
) -> Result<(), TraceError> {
    for (index, ((&start, &end), &amount)) in starts.iter().zip(ends).zip(amounts).enumerate() {
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

/// A column read in pieces.
struct Column {
    reader: ColumnReader,
    name: &'static str,
    /// The current piece, and what it is built from.
    values: Vec<i64>,
    narrow: Vec<i32>,
    levels: Vec<i16>,
}

impl Column {
    fn open(
        group: &dyn RowGroupReader,
        place: usize,
        name: &'static str,
        source: &Source<'_>,
    ) -> Result<Self, TraceError> {
        let descriptor = group.metadata().column(place).column_descr_ptr();
        if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
            return Err(wrong("a nested column", name, source));
        }
        let reader = group.get_column_reader(place);
        let reader =
            reader.map_err(|error| wrong(&format!("a damaged column: {error}"), name, source))?;
        Ok(Self { reader, name, values: Vec::new(), narrow: Vec::new(), levels: Vec::new() })
    }

    /// Reads the next `count` values.
    fn fill(&mut self, count: usize, source: &Source<'_>) -> Result<(), TraceError> {
        let Self { reader, name, values, narrow, levels } = self;
        values.clear();
        narrow.clear();
        levels.clear();
        loop {
            let left = count - values.len().max(narrow.len());
            let read = match reader {
                _ if left == 0 => break,
                ColumnReader::Int64ColumnReader(reader) => {
                    reader.read_records(left, Some(levels), None, values)
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    reader.read_records(left, Some(levels), None, narrow)
                }
                _ => return Err(wrong("another type", name, source)),
            };
            let read =
                read.map_err(|error| wrong(&format!("a damaged column: {error}"), name, source))?;
            // A null is a record without a value.
            if read.1 == 0 || read.0 != read.1 {
                return Err(wrong("fewer values than rows", name, source));
            }
        }
        values.extend(narrow.iter().map(|&value| i64::from(value)));
        Ok(())
    }
}

fn wrong(found: &str, name: &str, source: &Source<'_>) -> TraceError {
    source.unusable(found, &format!("column {name} of INT32 or INT64 without nulls, flat"))
}
