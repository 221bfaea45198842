//! Reports of the scenario's flows, from their ends.

use super::RttSample;

/// The report of a flow's application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplicationReport {
    /// Name of the flow in the scenario.
    pub flow: String,
    /// Payload bytes that its sender gave to the kernel.
    pub sent_bytes: u64,
    /// Payload bytes that its receiver read from the kernel.
    pub received_bytes: u64,
    /// Why one of its ends stopped early.
    pub failed: Option<String>,
    /// Its planned start, in nanoseconds since second 0.
    pub start_ns: u64,
    /// It is a transfer of a known size.
    pub sized: bool,
    /// When its receiver had all bytes of a sized transfer, in nanoseconds since second 0.
    pub whole_ns: Option<u64>,
    /// The smoothed round-trip times of its sender, each for the acknowledgements since the last
    /// one.
    pub rtts: Vec<RttSample>,
    /// Payload bytes that a transfer's receiver had read, in order of time: nanoseconds since
    /// second 0, and bytes.
    pub progress: Vec<(u64, u64)>,
}
