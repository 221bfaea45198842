//! The channel of a cell or UE, from the file's.

use super::cqi_channel;
use super::error::ScenarioError;
use super::file::{ChannelFile, ChannelSource};
use super::locator::Locator;
use super::trace_channel::{self, Run};
use justfull_ran::channel::ChannelConfig;
use justfull_trace::TracePaths;

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
            ChannelConfig::CqiRows(cqi_channel::rows(t, traces, &format!("{field}.file"), locator)?)
        }
        ChannelSource::McsTrace(t) => {
            ChannelConfig::Mcs(trace_channel::mcs(t, traces, &format!("{field}.file"), locator)?)
        }
    })
}
