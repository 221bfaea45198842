//! justfull's own columns as Parquet.

use crate::timeline::Timeline;
use parquet::basic::Encoding;
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// The whole file: delta encoding makes it far smaller than the timeline.
pub(super) fn file(timeline: &Timeline) -> Result<Vec<u8>, ParquetError> {
    let (interval, bytes) = (timeline.interval().as_nanos(), timeline.bytes());
    let cqi = timeline.cqi();
    let last = if cqi.is_some() { "REQUIRED INT32 cqi;" } else { "" };
    let schema = format!(
        "message trace {{ REQUIRED INT64 start_ns; REQUIRED INT64 end_ns; REQUIRED INT64 bytes; \
         {last} }}"
    );
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_created_by(format!("justfull {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut out = Vec::new();
    let mut file = SerializedFileWriter::new(
        &mut out,
        Arc::new(parse_message_type(&schema)?),
        Arc::new(properties),
    )?;
    let mut group = file.next_row_group()?;
    let edges = |offset: u64| {
        (0..bytes.len() as u64).map(move |k| ((k + offset) * interval).cast_signed()).collect()
    };
    let columns: [Vec<i64>; 3] =
        [edges(0), edges(1), bytes.iter().map(|&bytes| bytes.into()).collect()];
    for values in columns {
        let mut column = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("a column is missing".into()))?;
        column.typed::<Int64Type>().write_batch(&values, None, None)?;
        column.close()?;
    }
    if let (Some(cqi), Some(mut column)) = (cqi, group.next_column()?) {
        let values: Vec<i32> = cqi.iter().map(|&cqi| cqi.into()).collect();
        column.typed::<Int32Type>().write_batch(&values, None, None)?;
        column.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(out)
}
