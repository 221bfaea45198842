//! Standardised 5QIs: TS 23.501 Table 5.7.4-1 (Release 17, with the satellite and later rows where
//! published).

use ResourceType::{DelayCriticalGbr, Gbr, NonGbr};
use justfull_base::{Bytes, Duration};

/// The kind of resource that a QoS flow needs (TS 23.501 section 5.7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceType {
    /// Guaranteed bit rate.
    Gbr,
    /// No guarantee.
    NonGbr,
    /// Guaranteed bit rate whose packets count as lost when they exceed the delay budget.
    DelayCriticalGbr,
}

/// The characteristics of one 5QI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FiveQi {
    /// The identifier.
    pub value: u8,
    /// Resource type.
    pub resource: ResourceType,
    /// Default priority level, 1 to 127; lower is more urgent.
    pub priority: u8,
    /// Packet delay budget between UE and UPF. The radio's share is this less the core's 1 to 20
    /// ms.
    pub delay_budget: Duration,
    /// Exponent e of the packet error rate 10^-e.
    pub error_exponent: u8,
    /// Default maximum data burst volume; delay-critical flows only.
    pub burst: Option<Bytes>,
    /// Default averaging window; flows with a guaranteed rate only.
    pub window: Option<Duration>,
    /// Its purpose.
    pub example: &'static str,
}

/// Builds a row: value, resource type, priority, delay budget in ms, error exponent, burst in bytes
/// (0 for none), example.
const fn row(
    value: u8,
    resource: ResourceType,
    priority: u8,
    budget_ms: u64,
    error_exponent: u8,
    burst: u64,
    example: &'static str,
) -> FiveQi {
    FiveQi {
        value,
        resource,
        priority,
        delay_budget: Duration::from_millis(budget_ms),
        error_exponent,
        burst: if burst > 0 { Some(Bytes(burst)) } else { None },
        window: if matches!(resource, NonGbr) { None } else { Some(Duration::from_millis(2000)) },
        example,
    }
}

/// All rows, sorted by identifier.
#[rustfmt::skip]
pub static TABLE: [FiveQi; 31] = [
    row(1, Gbr, 20, 100, 2, 0, "conversational voice"),
    row(2, Gbr, 40, 150, 3, 0, "conversational video (live)"),
    row(3, Gbr, 30, 50, 3, 0, "real-time gaming; V2X; process monitoring"),
    row(4, Gbr, 50, 300, 6, 0, "non-conversational (buffered) video"),
    row(5, NonGbr, 10, 100, 6, 0, "IMS signalling"),
    row(6, NonGbr, 60, 300, 6, 0, "buffered video; TCP applications"),
    row(7, NonGbr, 70, 100, 3, 0, "voice; live video; interactive gaming"),
    row(8, NonGbr, 80, 300, 6, 0, "buffered video; TCP applications"),
    row(9, NonGbr, 90, 300, 6, 0, "buffered video; TCP applications (usual default)"),
    row(10, NonGbr, 90, 1100, 6, 0, "as 9 over satellite access"),
    row(65, Gbr, 7, 75, 2, 0, "mission-critical push-to-talk voice"),
    row(66, Gbr, 20, 100, 2, 0, "other push-to-talk voice"),
    row(67, Gbr, 15, 100, 3, 0, "mission-critical video"),
    row(69, NonGbr, 5, 60, 6, 0, "mission-critical signalling"),
    row(70, NonGbr, 55, 200, 6, 0, "mission-critical data"),
    row(71, Gbr, 56, 150, 6, 0, "live uplink streaming"),
    row(72, Gbr, 56, 300, 4, 0, "live uplink streaming"),
    row(73, Gbr, 56, 300, 8, 0, "live uplink streaming"),
    row(74, Gbr, 56, 500, 8, 0, "live uplink streaming"),
    row(76, Gbr, 56, 500, 4, 0, "live uplink streaming"),
    row(79, NonGbr, 65, 50, 2, 0, "V2X messages"),
    row(80, NonGbr, 68, 10, 6, 0, "low-latency eMBB; augmented reality"),
    row(82, DelayCriticalGbr, 19, 10, 4, 255, "discrete automation"),
    row(83, DelayCriticalGbr, 22, 10, 4, 1354, "discrete automation; platooning"),
    row(84, DelayCriticalGbr, 24, 30, 5, 1354, "intelligent transport"),
    row(85, DelayCriticalGbr, 21, 5, 5, 255, "high-voltage electricity; remote driving"),
    row(86, DelayCriticalGbr, 18, 5, 4, 1354, "V2X collision avoidance"),
    row(87, DelayCriticalGbr, 25, 5, 3, 500, "interactive service: motion tracking"),
    row(88, DelayCriticalGbr, 25, 10, 3, 1125, "interactive service: motion tracking"),
    row(89, DelayCriticalGbr, 25, 15, 4, 17000, "cloud/edge rendered visual content"),
    row(90, DelayCriticalGbr, 25, 20, 4, 63000, "cloud/edge rendered visual content"),
];

/// The row of 5QI `value`; none for values that are not standardised (operators may define 128 to
/// 254).
#[must_use]
pub fn five_qi(value: u8) -> Option<&'static FiveQi> {
    TABLE.binary_search_by_key(&value, |row| row.value).ok().map(|index| &TABLE[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_value_and_unknown_values_are_not() {
        for entry in &TABLE {
            assert_eq!(five_qi(entry.value), Some(entry));
        }
        for unknown in [0, 11, 75, 81, 91, 128, 255] {
            assert_eq!(five_qi(unknown), None);
        }
    }

    #[test]
    fn voice_gaming_and_the_default_bearer_have_their_known_budgets() {
        let budget = |value| five_qi(value).map(|row| (row.priority, row.delay_budget));
        assert_eq!(budget(1), Some((20, Duration::from_millis(100))));
        assert_eq!(budget(3), Some((30, Duration::from_millis(50))));
        assert_eq!(budget(9), Some((90, Duration::from_millis(300))));
        assert_eq!(budget(79), Some((65, Duration::from_millis(50))));
        assert_eq!(budget(80), Some((68, Duration::from_millis(10))));
    }

    #[test]
    fn bursts_belong_to_delay_critical_rows_and_windows_to_guaranteed_ones() {
        for entry in &TABLE {
            assert_eq!(entry.burst.is_some(), entry.resource == DelayCriticalGbr, "{entry:?}");
            assert_eq!(entry.window.is_none(), entry.resource == NonGbr, "{entry:?}");
        }
    }
}
