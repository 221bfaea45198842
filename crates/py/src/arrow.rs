//! Tables as Arrow, which readers take without a copy through the `PyCapsule` interface.

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    RecordBatchReader, StringArray,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Metadata, Schema};
use justfull_report::export::records::{Fact, Read, RecordColumn, names_of};
use justfull_report::export::{Column, Kind, RunFacts, Table as Rows, Value};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// A table of results: rows in memory, as Arrow has them.
#[pyclass(frozen, module = "justfull")]
pub(crate) struct Table {
    batches: Vec<RecordBatch>,
    schema: Arc<Schema>,
}

pub(crate) fn failed(error: &ArrowError) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

impl Table {
    pub(crate) fn new(batches: Vec<RecordBatch>, schema: Arc<Schema>) -> Self {
        Self { batches, schema }
    }

    /// The rows of a result file, with its columns and their types in Parquet.
    pub(crate) fn of<'a, T: Rows>(
        columns: &[Column<T>],
        rows: impl Iterator<Item = T::Row<'a>>,
    ) -> Result<Self, ArrowError> {
        let rows: Vec<T::Row<'a>> = rows.collect();
        let of = |column: &Column<T>| rows.iter().map(|row| (column.value)(row)).collect();
        Self::of_cells(columns, &columns.iter().map(of).collect::<Vec<_>>())
    }

    /// The cells of a result file, column by column.
    pub(crate) fn of_cells<T: Rows>(
        columns: &[Column<T>],
        cells: &[Vec<Value>],
    ) -> Result<Self, ArrowError> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
        for (column, cells) in columns.iter().zip(cells) {
            let array: ArrayRef = match Kind::of(column.unit, cells) {
                Kind::Text => Arc::new(cells.iter().map(Value::words).collect::<StringArray>()),
                Kind::Flag => Arc::new(cells.iter().map(Value::flag).collect::<BooleanArray>()),
                Kind::Whole => Arc::new(cells.iter().map(Value::whole).collect::<Int64Array>()),
                Kind::Real => Arc::new(cells.iter().map(Value::number).collect::<Float64Array>()),
            };
            fields.push(described(column.name, &array, true, column.unit, column.meaning));
            arrays.push(array);
        }
        let schema = Arc::new(Schema::new(fields));
        Ok(Self::new(vec![RecordBatch::try_new(Arc::clone(&schema), arrays)?], schema))
    }
}

fn described(name: &str, array: &ArrayRef, optional: bool, unit: &str, meaning: &str) -> Field {
    let about = [("unit", unit), ("meaning", meaning)].map(|(a, b)| (a.to_string(), b.to_string()));
    Field::new(name, array.data_type().clone(), optional).with_metadata(Metadata::from_iter(about))
}

/// The records of one run, with the columns of the record files.
pub(crate) fn records<R>(
    columns: &[RecordColumn<R>],
    records: &[R],
    facts: &RunFacts,
) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut arrays) = (Vec::new(), Vec::<ArrayRef>::new());
    for column in columns {
        let same = |text: Option<&str>| -> ArrayRef {
            Arc::new(records.iter().map(|_| text).collect::<StringArray>())
        };
        let array: ArrayRef = match column.read {
            Read::Whole(_, read) => Arc::new(
                records.iter().map(|r| read(r).map(u64::cast_signed)).collect::<Int64Array>(),
            ),
            Read::Name(list, read) => {
                let names = names_of(list, &facts.classes);
                let name = |r: &R| read(r).and_then(|i| names.get(i as usize)).map(String::as_str);
                Arc::new(records.iter().map(name).collect::<StringArray>())
            }
            Read::Run(Fact::Method) => same(Some(&facts.provenance.method)),
            Read::Run(Fact::Seed) => {
                let seed = facts.provenance.seed.cast_signed();
                Arc::new(records.iter().map(|_| Some(seed)).collect::<Int64Array>())
            }
            Read::Run(Fact::Point) => {
                same(Some(facts.provenance.point.as_str()).filter(|point| !point.is_empty()))
            }
        };
        fields.push(described(column.name, &array, true, column.unit, column.meaning));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

#[pymethods]
impl Table {
    /// The Arrow C stream of the table (Arrow `PyCapsule` interface). The data are shared, not
    /// copied.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore a wish that it cannot meet.
        drop(requested_schema);
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader: Box<dyn RecordBatchReader + Send> =
            Box::new(RecordBatchIterator::new(batches, Arc::clone(&self.schema)));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), c"arrow_array_stream")
    }

    /// The Arrow C schema of the table.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(|error| failed(&error))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Name, unit and meaning of each column.
    #[getter]
    fn columns(&self) -> Vec<(String, String, String)> {
        let of = |field: &Field, key: &str| field.metadata().get(key).cloned().unwrap_or_default();
        let fields = self.schema.fields().iter();
        fields.map(|f| (f.name().clone(), of(f, "unit"), of(f, "meaning"))).collect()
    }

    /// The cells of one column; `None` where a value is missing.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let index = self.schema.index_of(name).map_err(|_| {
            PyKeyError::new_err(format!(
                "found {name}, allowed is one of {}",
                self.column_names().join(", ")
            ))
        })?;
        let mut cells = Vec::with_capacity(self.__len__());
        for batch in &self.batches {
            let array = batch.column(index);
            for row in 0..batch.num_rows() {
                cells.push(cell(py, array, row)?);
            }
        }
        Ok(cells)
    }
}

/// One cell as Python's own value.
fn cell<'py>(py: Python<'py>, array: &ArrayRef, row: usize) -> PyResult<Bound<'py, PyAny>> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    if array.is_null(row) {
        return Ok(py.None().into_bound(py));
    }
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into_bound_py_any(py),
        DataType::Boolean => array.as_boolean().value(row).into_bound_py_any(py),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into_bound_py_any(py),
        _ => array.as_primitive::<Float64Type>().value(row).into_bound_py_any(py),
    }
}
