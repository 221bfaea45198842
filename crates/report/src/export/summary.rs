//! The tables of a comparison as Parquet, with the columns and names of the CSV files. The file's
//! metadata hold the meanings of columns, the resolved scenario, the command and the program's
//! version.
//!
//! Text is UTF-8, yes and no are booleans, a column of whole numbers is INT64, any other column of
//! numbers is DOUBLE; a missing value is a null. The rows of runs form one row group. Only one row
//! group of the longer tables is in memory.

use super::columns::{Column, Table};
use super::records::plain;
use super::value::{Kind, Value};
use super::{COLUMNS, SCHEMA, rows};
use justfull_lab::model::Comparison;
use justfull_run::results::RunResult;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// The rows of `runs.csv` as Parquet.
///
/// # Errors
/// The errors of `out`.
pub fn runs_parquet(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let columns =
        cells(COLUMNS, rows::flows(comparison), |column, cells| Kind::of(column.unit, cells));
    out.write_all(&file(&columns, described(comparison, &columns)).map_err(plain)?)
}

/// The rows of `runs.csv` as a part of a dataset: after them the text column `job` from `jobs`, the
/// names of all runs in their order. The types of columns do not depend on the rows: numbers are
/// DOUBLE, except the seed. `facts` go into the file's metadata. Meanings of columns and statistics
/// are left out, since there are many small parts.
///
/// # Errors
/// The errors of `out`.
pub fn part_parquet(
    comparison: &Comparison,
    jobs: &[String],
    facts: Vec<(String, String)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = cells(COLUMNS, rows::flows(comparison), |column, cells| match column.name {
        "seed" => Kind::Whole,
        _ => Kind::lasting(column.unit, cells),
    });
    let runs = comparison.groups.iter().flat_map(|group| &group.runs);
    let of_run = |run: &RunResult, job: &String| {
        let cell = Value::Text(job.clone());
        std::iter::repeat_n(cell, run.flows.len())
    };
    columns.push(Cells {
        name: "job",
        unit: "text",
        meaning: "Name of the job.",
        kind: Kind::Text,
        cells: runs.zip(jobs).flat_map(|(run, job)| of_run(run, job)).collect(),
    });
    let about = origin(comparison).into_iter().chain(facts).collect();
    let properties = properties(comparison, about)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    out.write_all(&file(&columns, properties).map_err(plain)?)
}

/// Rows of a row group of a long table; its cells are in memory until it is written.
const GROUP: usize = 1 << 15;

/// A long table as Parquet. Numbers are DOUBLE, except the seed: a column of whole numbers is not
/// known as such before its last row.
///
/// # Errors
/// The errors of `out`.
pub(super) fn long_parquet<'a, T: Table>(
    comparison: &Comparison,
    columns: &[Column<T>],
    mut rows: impl Iterator<Item = T::Row<'a>>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut group = || {
        cells(columns, rows.by_ref().take(GROUP), |column, _| match (column.name, column.unit) {
            ("seed", _) => Kind::Whole,
            (_, "text") => Kind::Text,
            _ => Kind::Real,
        })
    };
    let mut next = group();
    let mut file = begin(&next, described(comparison, &next)).map_err(plain)?;
    while next.first().is_some_and(|column| !column.cells.is_empty()) {
        write_group(&mut file, &next).map_err(plain)?;
        file.flush()?;
        out.write_all(file.inner())?;
        file.inner_mut().clear();
        next = group();
    }
    out.write_all(&file.into_inner().map_err(plain)?)
}

/// A column with its cells.
struct Cells {
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    kind: Kind,
    cells: Vec<Value>,
}

fn cells<'a, T: Table>(
    columns: &[Column<T>],
    rows: impl Iterator<Item = T::Row<'a>>,
    kind: impl Fn(&Column<T>, &[Value]) -> Kind,
) -> Vec<Cells> {
    let rows: Vec<T::Row<'a>> = rows.collect();
    let of = |column: &Column<T>| {
        let cells: Vec<Value> = rows.iter().map(|row| (column.value)(row)).collect();
        let Column { name, unit, meaning, .. } = *column;
        Cells { name, unit, meaning, kind: kind(column, &cells), cells }
    };
    columns.iter().map(of).collect()
}

fn file(columns: &[Cells], properties: WriterPropertiesBuilder) -> Result<Vec<u8>, ParquetError> {
    let mut file = begin(columns, properties)?;
    write_group(&mut file, columns)?;
    file.into_inner()
}

/// A file with these columns and no rows yet.
fn begin(
    columns: &[Cells],
    properties: WriterPropertiesBuilder,
) -> Result<SerializedFileWriter<Vec<u8>>, ParquetError> {
    let field = |column: &Cells| {
        let (physical, text) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Flag => (Physical::BOOLEAN, ConvertedType::NONE),
            Kind::Whole => (Physical::INT64, ConvertedType::NONE),
            Kind::Real => (Physical::DOUBLE, ConvertedType::NONE),
        };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(text);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("justfull").with_fields(fields).build()?);
    SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties.build()))
}

fn write_group(
    file: &mut SerializedFileWriter<Vec<u8>>,
    columns: &[Cells],
) -> Result<(), ParquetError> {
    let mut group = file.next_row_group()?;
    for column in columns {
        let cells = &column.cells;
        match column.kind {
            Kind::Text => put::<ByteArrayType>(&mut group, cells, text)?,
            Kind::Flag => put::<BoolType>(&mut group, cells, Value::flag)?,
            Kind::Whole => put::<Int64Type>(&mut group, cells, Value::whole)?,
            Kind::Real => put::<DoubleType>(&mut group, cells, Value::number)?,
        }
    }
    group.close().map(drop)
}

fn origin(comparison: &Comparison) -> Vec<(String, String)> {
    let facts = [
        ("justfull.schema", SCHEMA.to_string()),
        ("justfull.version", comparison.version.clone()),
        ("justfull.command", comparison.command.clone()),
        ("justfull.scenario_toml", comparison.scenario_toml.clone()),
    ];
    facts.map(|(key, value)| (key.to_string(), value)).into()
}

fn properties(comparison: &Comparison, facts: Vec<(String, String)>) -> WriterPropertiesBuilder {
    let pairs = facts.into_iter().map(|(key, value)| KeyValue::new(key, value));
    WriterProperties::builder()
        .set_created_by(format!("justfull {}", comparison.version))
        .set_key_value_metadata(Some(pairs.collect()))
        .set_compression(Compression::SNAPPY)
}

/// Properties of a file that holds the meanings of its columns.
fn described(comparison: &Comparison, columns: &[Cells]) -> WriterPropertiesBuilder {
    let meaning =
        |c: &Cells| (format!("justfull.column.{}", c.name), format!("{}: {}", c.unit, c.meaning));
    let facts = origin(comparison).into_iter().chain(columns.iter().map(meaning));
    properties(comparison, facts.collect())
}

fn text(cell: &Value) -> Option<ByteArray> {
    cell.words().map(ByteArray::from)
}

fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    cells: &[Value],
    read: fn(&Value) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(read(cell).is_some())).collect();
    let values: Vec<T::T> = cells.iter().filter_map(read).collect();
    if let Some(mut writer) = group.next_column()? {
        writer.typed::<T>().write_batch(&values, Some(&levels), None)?;
        writer.close()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::CDF_COLUMNS;
    use super::*;
    use justfull_lab::model::example;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn the_file_holds_every_cell_of_the_table_and_says_where_it_comes_from() {
        let comparison = example::comparison(2);
        let mut file = Vec::new();
        runs_parquet(&comparison, &mut file).expect("memory takes it");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        let metadata = reader.metadata().file_metadata();
        let facts = metadata.key_value_metadata().expect("there is metadata");
        let fact = |key: &str| facts.iter().find(|f| f.key == key).and_then(|f| f.value.clone());
        assert_eq!(fact("justfull.scenario_toml"), Some(comparison.scenario_toml.clone()));
        assert!(fact("justfull.column.delay_ms_mean").is_some_and(|text| text.starts_with("ms: ")));
        let mut rows = 0;
        for (row, source) in reader.get_row_iter(None).expect("rows").zip(rows::flows(&comparison))
        {
            let row = row.expect("a row");
            for ((name, field), column) in row.get_column_iter().zip(COLUMNS) {
                assert_eq!(name, column.name);
                let same = match ((column.value)(&source), field) {
                    (Value::Text(a), Field::Str(b)) => a == *b,
                    (Value::Whole(a), Field::Long(b)) => a.cast_signed() == *b,
                    (Value::Whole(a), Field::Double(b)) => (a as f64).to_bits() == b.to_bits(),
                    (Value::Real(a), Field::Double(b)) => a.to_bits() == b.to_bits(),
                    (Value::Flag(a), Field::Bool(b)) => a == *b,
                    (Value::Absent, Field::Null) => true,
                    (Value::Real(a), Field::Null) => !a.is_finite(),
                    _ => false,
                };
                assert!(same, "{name}: {field}");
            }
            rows += 1;
        }
        assert_eq!(rows, rows::flows(&comparison).count());
        assert!(rows > 0);
    }

    #[test]
    fn a_long_table_is_whole_in_row_groups_of_bounded_size() {
        let mut comparison = example::comparison(1);
        let run = &mut comparison.groups[0].runs[0];
        run.flows[0].delay.cdf = (0..2 * GROUP + 7).map(|i| (i as f64, i as f64)).collect();
        let mut file = Vec::new();
        long_parquet(&comparison, CDF_COLUMNS, rows::cdf(&comparison), &mut file)
            .expect("memory takes it");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        let groups = reader.metadata().row_groups();
        assert!(groups.len() >= 3 && groups.iter().all(|g| g.num_rows() <= 1 << 15));
        let read = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
        let mut expected = rows::cdf(&comparison);
        for row in read {
            let source = expected.next().expect("as many rows");
            let fields: Vec<_> = row.get_column_iter().map(|(_, field)| field.clone()).collect();
            assert_eq!(fields[6], Field::Long(source.run.seed.cast_signed()));
            assert_eq!(fields[8], Field::Str(source.of.into()));
            assert_eq!(fields[9], Field::Double(source.time_ms));
        }
        assert!(expected.next().is_none());
    }
}
