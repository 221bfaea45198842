//! From channel quality to capacity.

use justfull_base::{ConfigError, Duration, Instant};
use justfull_ran::channel::{
    AtEnd, CapacityUnit, Channel, ChannelConfig, ChannelContext, CqiRowsConfig, RowLength,
};

/// Bytes that the transport blocks of each CQI carry in `interval`.
///
/// # Errors
/// When `quality` has no transport block for a CQI, or the interval is above 1 s, the longest a CQI
/// is taken to hold.
pub(crate) fn capacity_of_cqi(
    cqi: &[u8],
    interval: Duration,
    quality: &CqiRowsConfig,
) -> Result<Vec<u32>, ConfigError> {
    let rows = CqiRowsConfig {
        cqi: (0..=15).collect(),
        row: RowLength::Slots(1),
        at_end: AtEnd::Hold,
        ..quality.clone()
    };
    let channel = Channel::new(
        &ChannelConfig::CqiRows(rows),
        &ChannelContext { key: 0, slot: interval, unit: CapacityUnit::Bytes, bandwidth: None },
    );
    let channel = channel.map_err(|e| ConfigError {
        field: if e.field == "slot" { "interval".into() } else { e.field },
        ..e
    })?;
    // Row q of the channel is CQI q: its bytes in an interval, whole ones.
    let bytes: Vec<u32> = (0..=15).map(|q| channel.peek(q, Instant::ZERO) as u32).collect();
    Ok(cqi.iter().map(|&q| bytes[usize::from(q.min(15))]).collect())
}
