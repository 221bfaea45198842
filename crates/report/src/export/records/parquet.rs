//! Records as Apache Parquet (format version 2, github.com/apache/parquet-format).
//!
//! Instants and counters rise or repeat, so whole numbers are delta-encoded; names use a
//! dictionary. Snappy compresses the result: it takes a quarter of the time of stronger codecs, and
//! every reader supports it.

use super::cells::{Cells, Values};
use super::columns::{Fact, Read, RecordColumn, Width};
use crate::export::facts::Provenance;
use crate::export::sink::Sink;
use parquet::basic::{Compression, ConvertedType, Encoding, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type};
use std::io;
use std::sync::Arc;

/// Rows of a row group; its cells are in memory until it is written.
const GROUP: usize = 1 << 17;

/// Names handed to the encoder at once.
const NAMES: usize = 1 << 10;

/// A Parquet file being written.
pub(super) struct Writer {
    file: SerializedFileWriter<Sink>,
    /// Cells of the current row group, by column.
    cells: Vec<Cells>,
    /// Names by column.
    names: Vec<Vec<ByteArray>>,
    rows: usize,
}

/// The disk's own message if the disk caused the error.
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
            Read::Whole(Width::Eight, _) | Read::Run(Fact::Seed) => {
                (Physical::INT64, ConvertedType::NONE)
            }
            Read::Name(..) | Read::Run(Fact::Method | Fact::Point) => {
                (Physical::BYTE_ARRAY, ConvertedType::UTF8)
            }
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
        let named = matches!(column.read, Read::Name(..) | Read::Run(Fact::Method | Fact::Point));
        properties = properties.set_column_dictionary_enabled(path.clone(), named);
        if named {
            // Minimum and maximum of names carry no information and cost a comparison per row.
            properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
        } else {
            properties = properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

/// The empty cells of `column` in the run with `seed`.
fn empty<R>(column: &RecordColumn<R>, seed: u64) -> Cells {
    let values = match column.read {
        Read::Whole(Width::Four, _) => Values::Four(Vec::new()),
        Read::Whole(Width::Eight, _) => Values::Eight(Vec::new()),
        Read::Name(..) => Values::Names(Vec::new()),
        Read::Run(Fact::Seed) => Values::Same(seed.cast_signed()),
        Read::Run(Fact::Method | Fact::Point) => Values::SameName,
    };
    Cells::new(values, column.optional)
}

impl Writer {
    /// A writer with `names` by column.
    pub(super) fn new<R>(
        sink: Sink,
        columns: &[RecordColumn<R>],
        names: &[Vec<String>],
        provenance: &Provenance,
    ) -> io::Result<Self> {
        let schema = Arc::new(schema(columns).map_err(plain)?);
        let properties = Arc::new(properties(columns, provenance));
        let file = SerializedFileWriter::new(sink, schema, properties).map_err(plain)?;
        let names = names.iter().map(|of| of.iter().map(|n| ByteArray::from(n.as_str())).collect());
        let cells = columns.iter().map(|column| empty(column, provenance.seed)).collect();
        Ok(Self { file, cells, names: names.collect(), rows: 0 })
    }

    /// Takes `rows` and writes a row group when it is full.
    pub(super) fn write<R>(
        &mut self,
        columns: &[RecordColumn<R>],
        mut rows: &[R],
    ) -> io::Result<()> {
        while !rows.is_empty() {
            let (now, later) = rows.split_at(rows.len().min(GROUP - self.rows));
            for (column, cells) in columns.iter().zip(&mut self.cells) {
                (column.append)(now, cells);
            }
            self.rows += now.len();
            if self.rows == GROUP {
                self.write_group()?;
            }
            rows = later;
        }
        Ok(())
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(plain)?;
        for (cells, names) in self.cells.iter_mut().zip(&self.names) {
            let Some(mut writer) = group.next_column().map_err(plain)? else { break };
            let levels = cells.levels.as_deref();
            match &cells.values {
                Values::Four(values) => {
                    writer.typed::<Int32Type>().write_batch(values, levels, None)
                }
                Values::Eight(values) => {
                    writer.typed::<Int64Type>().write_batch(values, levels, None)
                }
                Values::Names(numbers) => put_names(&mut writer, numbers, names, levels),
                Values::Same(value) => put_same(&mut writer, *value, self.rows),
                Values::SameName => {
                    put_same_name(&mut writer, names.first(), levels.is_some(), self.rows)
                }
            }
            .map_err(plain)?;
            writer.close().map_err(plain)?;
            cells.clear();
        }
        group.close().map_err(plain)?;
        self.rows = 0;
        Ok(())
    }

    /// Writes the last row group and the footer, and returns the sink.
    pub(super) fn finish(mut self) -> io::Result<Sink> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.into_inner().map_err(plain)
    }
}

/// Writes the names for `numbers`, a few at a time, because the encoder takes each as an object of
/// 32 bytes.
fn put_names(
    writer: &mut SerializedColumnWriter<'_>,
    mut numbers: &[u32],
    names: &[ByteArray],
    levels: Option<&[i16]>,
) -> Result<usize, ParquetError> {
    let rows = levels.map_or(numbers.len(), <[i16]>::len);
    let mut texts = Vec::with_capacity(NAMES.min(numbers.len()));
    for start in (0..rows).step_by(NAMES) {
        let end = rows.min(start + NAMES);
        let levels = levels.map(|levels| &levels[start..end]);
        let there =
            levels.map_or(end - start, |levels| levels.iter().filter(|&&level| level > 0).count());
        let (now, later) = numbers.split_at(there);
        texts.clear();
        texts.extend(now.iter().map(|&number| names[number as usize].clone()));
        writer.typed::<ByteArrayType>().write_batch(&texts, levels, None)?;
        numbers = later;
    }
    Ok(rows)
}

/// Writes `value` into each of `rows`, a few at a time.
fn put_same(
    writer: &mut SerializedColumnWriter<'_>,
    value: i64,
    rows: usize,
) -> Result<usize, ParquetError> {
    let values = [value; NAMES];
    for start in (0..rows).step_by(NAMES) {
        writer.typed::<Int64Type>().write_batch(&values[..NAMES.min(rows - start)], None, None)?;
    }
    Ok(rows)
}

/// Writes `name` into each of `rows` of a column that may be `optional`; writes nothing without a
/// name.
fn put_same_name(
    writer: &mut SerializedColumnWriter<'_>,
    name: Option<&ByteArray>,
    optional: bool,
    rows: usize,
) -> Result<usize, ParquetError> {
    let names: Vec<ByteArray> =
        name.map_or_else(Vec::new, |name| vec![name.clone(); NAMES.min(rows)]);
    let levels = vec![i16::from(name.is_some()); NAMES.min(rows)];
    for start in (0..rows).step_by(NAMES) {
        let count = NAMES.min(rows - start);
        let levels = optional.then(|| &levels[..count]);
        writer.typed::<ByteArrayType>().write_batch(
            &names[..count.min(names.len())],
            levels,
            None,
        )?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::super::columns::{PACKET_COLUMNS, PacketRecord, Stamp};
    use super::super::{Format, RecordFile};
    use super::{GROUP, NAMES};
    use crate::export::RunFacts;
    use justfull_scenario::library;
    use justfull_scenario::{Overrides, Scenario};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use std::fs::{File, read_dir};
    use std::path::Path;

    fn facts() -> RunFacts {
        let text = library::scenario("voip-over-lte").expect("it ships");
        let scenario = Scenario::parse(text, Path::new("t.toml"), None, Overrides::default())
            .expect("it is sound");
        let job = scenario.jobs().remove(0);
        let toml = scenario.job_toml(&job).expect("it is sound");
        RunFacts::new(&scenario.world(&job).expect("it is sound"), toml, String::new())
    }

    fn record(id: u64) -> PacketRecord {
        let left_upf = if id.is_multiple_of(7) { Stamp::NONE } else { Stamp::at(id + 5) };
        PacketRecord {
            id,
            class: (id % 2) as u32,
            entered: id,
            left_upf,
            ..PacketRecord::default()
        }
    }

    #[test]
    fn rows_come_back_in_order_across_row_groups() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("p.parquet");
        let facts = facts();
        let rows = GROUP as u64 + 1500;
        let mut file =
            RecordFile::create(&path, Format::Parquet, &PACKET_COLUMNS, &facts).expect("a place");
        (0..rows).for_each(|id| file.push(record(id)).expect("room"));
        file.commit(&path).expect("room");
        let reader = SerializedFileReader::new(File::open(&path).expect("it is there"))
            .expect("it is Parquet");
        let groups: Vec<i64> =
            reader.metadata().row_groups().iter().map(|group| group.num_rows()).collect();
        assert_eq!(groups, [1 << 17, 1500]);
        let mut found = 0;
        for (id, row) in reader.get_row_iter(None).expect("rows").enumerate() {
            let (row, id) = (row.expect("a row"), id as u64);
            let number = |column: usize| row.get_long(column).ok().map(i64::cast_unsigned);
            assert_eq!((number(0), number(8)), (Some(id), Some(id)));
            assert_eq!(row.get_string(1).expect("a name"), &facts.classes[(id % 2) as usize]);
            assert_eq!(number(9), record(id).left_upf.get(), "packet {id}");
            assert!(row.get_long(11).is_err(), "not delivered");
            // Each row, not only the metadata, has method, seed and point.
            assert_eq!(row.get_string(21).expect("a method"), &facts.provenance.method);
            assert_eq!(number(22), Some(facts.provenance.seed));
            assert!(row.get_string(23).is_err(), "nothing is swept");
            found += 1;
        }
        assert_eq!(found, rows);
    }

    #[test]
    fn the_point_of_a_sweep_stands_in_every_row_of_every_form() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let mut facts = facts();
        facts.provenance.point = "interval_ms = 20".into();
        let rows = NAMES as u64 + 5;
        for &(format, ending) in Format::ALL {
            let path = folder.path().join(ending);
            let mut file =
                RecordFile::create(&path, format, &PACKET_COLUMNS, &facts).expect("a place");
            (0..rows).for_each(|id| file.push(record(id)).expect("room"));
            file.commit(&path).expect("room");
            if format == Format::Parquet {
                let reader = SerializedFileReader::new(File::open(&path).expect("it is there"))
                    .expect("Parquet");
                let points = reader
                    .get_row_iter(None)
                    .expect("rows")
                    .map(|row| row.expect("a row").get_string(23).expect("a point").clone());
                assert_eq!(points.filter(|point| point == "interval_ms = 20").count() as u64, rows);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("text");
            let is_row = |line: &&str| {
                line.ends_with("interval_ms = 20") || line.ends_with("\"interval_ms = 20\"}")
            };
            assert_eq!(text.lines().filter(is_row).count() as u64, rows, "{ending}");
        }
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join("p.parquet");
        let mut file =
            RecordFile::create(&path, Format::Parquet, &PACKET_COLUMNS, &facts()).expect("a place");
        (0..5000).for_each(|id| file.push(record(id)).expect("room"));
        drop(file);
        assert_eq!(read_dir(&folder).expect("a folder").count(), 0);
    }
}
