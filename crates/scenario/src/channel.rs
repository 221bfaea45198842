//! The channel of a cell or UE, from the file's.

use super::error::ScenarioError;
use super::file::{ChannelFile, ChannelSource};
use super::locator::Locator;
use super::trace_channel::{self, Run};
use justfull_ran::channel::{ChannelConfig, CqiRowsConfig};
use justfull_trace::{Format, TracePaths, Values};

/// The channel of `file` in the run `run`; `file` is the value of `field`.
pub(super) fn channel(
    file: &ChannelFile,
    run: Run,
    traces: &TracePaths,
    field: &str,
    locator: &Locator,
) -> Result<ChannelConfig, ScenarioError> {
    Ok(match file.source() {
        ChannelSource::Here(channel) => channel,
        ChannelSource::Trace(t) => ChannelConfig::Rows(trace_channel::rows(
            t,
            run,
            traces,
            &format!("{field}.file"),
            locator,
        )?),
        ChannelSource::CqiTrace(t) => {
            let format = Format::Cqi { missing: t.missing };
            let field = format!("{field}.file");
            let Values::Cqi(cqi) =
                trace_channel::read(t.file.as_ref(), traces, format, t.rows, &field, locator)?
                    .values
            else {
                return Err(locator.plain(&field, "capacities", "channel qualities"));
            };
            ChannelConfig::CqiRows(CqiRowsConfig { cqi, ..t.quality.clone() })
        }
        ChannelSource::McsTrace(t) => {
            ChannelConfig::Mcs(trace_channel::mcs(t, traces, &format!("{field}.file"), locator)?)
        }
    })
}
