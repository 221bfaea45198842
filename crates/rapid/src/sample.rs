//! The reports of a driver about a flow, and the results of the control.

use justfull_base::Duration;

/// The driver's knowledge of a flow when it opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Payload bytes of a full segment, 1 to 65 535; other values are clamped.
    pub mss: u32,
    /// Round trip of the wired leg, from its handshake; none or 0 when unknown.
    pub wired_rtt: Option<Duration>,
    /// Round trip of the radio leg, from its handshake; none or 0 when unknown.
    pub radio_rtt: Option<Duration>,
}

/// Events of a flow since its last sample. A sample is due once per round trip of the wired leg;
/// one within half a round trip of the last is added to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Bytes that came from the server.
    pub arrived: u64,
    /// Bytes that the UE acknowledged.
    pub delivered: u64,
    /// Smoothed round trip of the wired leg; none or 0 when unknown.
    pub wired_rtt: Option<Duration>,
    /// Smallest round trip of the radio leg since the last sample; none or 0 without a
    /// measurement.
    pub radio_rtt: Option<Duration>,
    /// Smoothed round trip of the radio leg; none if the driver has only the smallest.
    pub radio_smoothed: Option<Duration>,
    /// Since the last sample, the proxy had no room and offered the server less than its window, so
    /// the arrivals do not show the flow's own rate.
    pub held: bool,
    /// Bytes that wait in the proxy because the window of the radio leg is full; 0 if they wait for
    /// another reason.
    pub waiting: u64,
}

/// The amounts that a flow may have in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Receive window advertised to the server, in bytes.
    pub server: u64,
    /// Congestion window towards the UE in bytes.
    pub radio: u64,
    /// False while this flow waits for its turn: read nothing from the server, so that its window
    /// closes. `server` is then the window for later.
    pub reading: bool,
}

impl Windows {
    /// Windows without a limit.
    pub const UNLIMITED: Self = Self { server: u64::MAX, radio: u64::MAX, reading: true };
}

/// How a flow uses its allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// In its first period: gets the equal share.
    New,
    /// Used its window: gets the equal share and a part of the capacity that slow flows released.
    Fast,
    /// Used less than its window: gets the capacity that it needs.
    Slow,
    /// Without data for `idle`: gets the floor and has no share.
    Idle,
}

/// A flow as an observer sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowView {
    /// Its category.
    pub category: Category,
    /// Smoothed arrival rate in bytes per second; none before the first sample.
    pub demand: Option<f64>,
    /// Its windows.
    pub windows: Windows,
}
