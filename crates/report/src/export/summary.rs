//! The tables of a comparison as Parquet: columns and names of the CSV files; the file's metadata
//! hold the meanings of columns, the resolved scenario, the command and the program's version.
//!
//! Text is UTF-8, yes and no are booleans, a column of whole numbers is INT64 and any other DOUBLE;
//! a missing value is a null. Summaries are small: a table is one row group, built in memory.

use super::columns::{Column, Table};
use super::records::plain;
use super::value::{Kind, Value};
use super::{COLUMNS, SCHEMA, rows};
use justfull_lab::model::Comparison;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::io::{self, Write};
use std::sync::Arc;

/// The rows of `runs.csv` as Parquet.
///
/// # Errors
/// The errors of `out`.
pub fn runs_parquet(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&table(&COLUMNS, rows::flows(comparison), comparison).map_err(plain)?)
}

fn table<'a, T: Table>(
    columns: &[Column<T>],
    rows: impl Iterator<Item = T::Row<'a>>,
    comparison: &Comparison,
) -> Result<Vec<u8>, ParquetError> {
    let rows: Vec<T::Row<'a>> = rows.collect();
    let cells: Vec<Vec<Value>> =
        columns.iter().map(|column| rows.iter().map(|row| (column.value)(row)).collect()).collect();
    let field = |(column, cells): (&Column<T>, &Vec<Value>)| {
        let (physical, text) = match Kind::of(column.unit, cells) {
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
    let fields = columns.iter().zip(&cells).map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("justfull").with_fields(fields).build()?);
    let mut file =
        SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties(columns, comparison)))?;
    let mut group = file.next_row_group()?;
    for (column, cells) in columns.iter().zip(&cells) {
        match Kind::of(column.unit, cells) {
            Kind::Text => put::<ByteArrayType>(&mut group, cells, text)?,
            Kind::Flag => put::<BoolType>(&mut group, cells, Value::flag)?,
            Kind::Whole => put::<Int64Type>(&mut group, cells, Value::whole)?,
            Kind::Real => put::<DoubleType>(&mut group, cells, Value::number)?,
        }
    }
    group.close()?;
    file.into_inner()
}

fn properties<T: Table>(columns: &[Column<T>], comparison: &Comparison) -> WriterProperties {
    let facts = [
        ("justfull.schema", SCHEMA.to_string()),
        ("justfull.version", comparison.version.clone()),
        ("justfull.command", comparison.command.clone()),
        ("justfull.scenario_toml", comparison.scenario_toml.clone()),
    ];
    let facts = facts.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let meanings = columns.iter().map(|c| {
        KeyValue::new(format!("justfull.column.{}", c.name), format!("{}: {}", c.unit, c.meaning))
    });
    WriterProperties::builder()
        .set_created_by(format!("justfull {}", comparison.version))
        .set_key_value_metadata(Some(facts.chain(meanings).collect()))
        .set_compression(Compression::SNAPPY)
        .build()
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
            for ((name, field), column) in row.get_column_iter().zip(&COLUMNS) {
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
}
