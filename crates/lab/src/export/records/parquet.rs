//! Records as Apache Parquet (format version 2, github.com/apache/parquet-format).
//!
//! Instants and counters rise or repeat, so whole numbers are delta-encoded; names go through a dictionary. Snappy is on top: a
//! quarter of the time of stronger codes, and every reader knows it.

use super::columns::{Read, RecordColumn, Width};
use crate::export::facts::Provenance;
use crate::export::sink::Sink;
use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::sync::Arc;

/// A Parquet file that is being written.
pub(super) struct Writer {
    file: SerializedFileWriter<Sink>,
    levels: Vec<i16>,
    fours: Vec<i32>,
    eights: Vec<i64>,
    texts: Vec<ByteArray>,
}

/// The disk's own words, where the error is the disk's.
pub(in crate::export) fn plain(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}

fn schema<R>(columns: &[RecordColumn<R>]) -> Result<Type, ParquetError> {
    let field = |column: &RecordColumn<R>| {
        let (physical, converted) = match column.read {
            Read::Whole(Width::Four, _) => (Physical::INT32, ConvertedType::NONE),
            Read::Whole(Width::Eight, _) => (Physical::INT64, ConvertedType::NONE),
            Read::Name(..) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        };
        let repetition = if column.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(repetition)
            .with_converted_type(converted);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("justfull").with_fields(fields).build()
}

fn properties<R>(columns: &[RecordColumn<R>], provenance: &Provenance) -> WriterProperties {
    let described = columns.iter().map(|c| {
        let text = format!("{}: {}", c.unit, c.meaning);
        KeyValue::new(format!("justfull.column.{}", c.name), text)
    });
    let pairs = provenance.pairs().map(|(key, value)| KeyValue::new(key.to_string(), value));
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("justfull {}", provenance.version))
        .set_key_value_metadata(Some(pairs.into_iter().chain(described).collect()))
        .set_compression(Compression::SNAPPY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_write_batch_size(1 << 14);
    for column in columns {
        let path = ColumnPath::from(column.name);
        let named = matches!(column.read, Read::Name(..));
        properties = properties.set_column_dictionary_enabled(path.clone(), named);
        if named {
            // Least and greatest name say nothing, and cost a comparison for each row.
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        } else {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

impl Writer {
    pub(super) fn new<R>(
        sink: Sink,
        columns: &[RecordColumn<R>],
        provenance: &Provenance,
    ) -> io::Result<Self> {
        let schema = Arc::new(schema(columns).map_err(plain)?);
        let properties = Arc::new(properties(columns, provenance));
        let file = SerializedFileWriter::new(sink, schema, properties).map_err(plain)?;
        Ok(Self { file, levels: Vec::new(), fours: Vec::new(), eights: Vec::new(), texts: Vec::new() })
    }

    /// Writes `rows` as one row group.
    pub(super) fn write<R>(
        &mut self,
        columns: &[RecordColumn<R>],
        names: &[Vec<String>],
        rows: &[R],
    ) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(plain)?;
        for (column, names) in columns.iter().zip(names) {
            let Some(mut writer) = group.next_column().map_err(plain)? else { break };
            let levels = column.optional.then_some(&mut self.levels);
            match column.read {
                Read::Whole(Width::Four, read) => {
                    let value = |n: u64| (n as u32).cast_signed();
                    put::<_, _, Int32Type>(&mut writer, rows, read, value, &mut self.fours, levels)?;
                }
                Read::Whole(Width::Eight, read) => {
                    let value = u64::cast_signed;
                    put::<_, _, Int64Type>(&mut writer, rows, read, value, &mut self.eights, levels)?;
                }
                Read::Name(_, read) => {
                    let names: Vec<ByteArray> = names.iter().map(|n| ByteArray::from(n.as_str())).collect();
                    let value = |n: u32| names[n as usize].clone();
                    put::<_, _, ByteArrayType>(&mut writer, rows, read, value, &mut self.texts, levels)?;
                }
            }
            writer.close().map_err(plain)?;
        }
        group.close().map_err(plain)?;
        Ok(())
    }

    /// Writes the footer and gives the sink back.
    pub(super) fn finish(self) -> io::Result<Sink> {
        self.file.into_inner().map_err(plain)
    }
}

/// Writes one column of `rows`; `levels` is room for which rows have a value, where they may lack one.
fn put<R, N, T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    rows: &[R],
    read: fn(&R) -> Option<N>,
    value: impl Fn(N) -> T::T,
    values: &mut Vec<T::T>,
    levels: Option<&mut Vec<i16>>,
) -> io::Result<()> {
    values.clear();
    let levels = match levels {
        None => {
            values.extend(rows.iter().filter_map(read).map(value));
            None
        }
        Some(levels) => {
            levels.clear();
            for row in rows {
                let found = read(row);
                levels.push(i16::from(found.is_some()));
                values.extend(found.map(&value));
            }
            Some(levels.as_slice())
        }
    };
    writer.typed::<T>().write_batch(values, levels, None).map_err(plain)?;
    Ok(())
}
