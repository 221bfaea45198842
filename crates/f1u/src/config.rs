//! The configuration file of the box: TOML, checked completely before anything is installed.

use justfull_base::{Bytes, ConfigError, Duration, table};
use justfull_net::LOOPBACK;
use justfull_net::router::is_interface_name;
use justfull_ran::limiter::{Bdp5gConfig, LimiterConfig};
use justfull_trace::settings::{self, FileError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Limiters for which the fields of a delivery status are enough.
const LIMITERS: [&str; 4] = ["unlimited", "fixed", "bdp_5g", "drql"];

table! {
    /// The interfaces of the host on which F1-U passes. The host may be an end itself.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PlaceConfig with Default {
        /// Interface at which the CU-UPs' packets arrive; lo if the CU-UP is on this host.
        cu_up: String = String::new(),
            rule("the name of an interface, of 1 to 15 bytes without blanks", |c| is_interface_name(&c.cu_up)),
            "user data is read there";
        /// Interface at which the DUs' packets arrive; it may be the same, and lo if the DU is on
        /// this host.
        du: String = String::new(),
            rule("the name of an interface, of 1 to 15 bytes without blanks", |c| is_interface_name(&c.du)),
            "delivery statuses are changed there";
        /// Number of the routing table through which the DUs' packets reach the box.
        table: u32 = 27_239, within(256, u32::MAX - 1),
            "the kernel's own tables are below; the next one is that of user data in the box";
        /// Priority of the rule that leads to the table.
        priority: u32 = 100, within(1, 32_765), "between the kernel's own rules";
    }
}

table! {
    /// Limits and assumptions about bearers.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct BearersConfig with Default {
        /// Least desired buffer size that the box writes.
        least: Bytes = Bytes(6_000), within(Bytes(1), Bytes(1 << 30)),
            "0 stops a CU-UP for good (TS 38.425 section 5.5.3.5)";
        /// Time from a delivery status at the DU until the data that it requests arrives.
        loop_delay: Duration = Duration::from_millis(1), at_most(Duration::from_secs(1));
        /// Largest PDCP PDU, in bytes.
        mtu: u32 as "bytes" = 1_500, within(100, 9_100);
        /// Bits of PDCP's sequence numbers; 0: found from the packets.
        pdcp_sn_bits: u8 as "bits" = 0,
            rule("0, 12 or 18", |c| [0, 12, 18].contains(&c.pdcp_sn_bits)),
            "TS 38.323 section 6.2.2";
        /// Tunnels in each direction; the frames of more pass unchanged.
        most: u32 as "tunnels" = 8_192, within(1, 65_536);
        /// Time after which a silent tunnel is removed.
        idle: Duration = Duration::from_secs(60),
            within(Duration::from_secs(1), Duration::from_secs(86_400));
    }
}

table! {
    /// User data that waits in the box, for CU-UPs that drop above the desired size.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct HoldConfig with Default {
        /// The CU-UP may send this much of the radio's time beyond the limit of the DU; it waits in
        /// the box. 0: nothing waits there.
        time: Duration = Duration::ZERO, at_most(Duration::from_secs(1));
        /// Bytes of PDUs of one bearer that may wait.
        bearer: Bytes = Bytes(1_000_000), within(Bytes(10_000), Bytes(1 << 30));
        /// Bytes of memory of all user data that may wait, taken at the start; a packet takes
        /// chunks of 256 bytes, of which 240 hold its bytes.
        total: Bytes = Bytes(64_000_000), within(Bytes(100_000), Bytes(1 << 36));
    }
}

table! {
    /// Grants in steps, between the statuses of the DU.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PacerConfig with Default {
        /// Time between two steps: statuses of the box's own, or user data that waited. 0: a grant
        /// is open at once.
        interval: Duration = Duration::ZERO,
            rule("0s, or 500us to 1s",
                |c| c.interval.is_zero()
                    || (Duration::from_micros(500)..=Duration::from_secs(1)).contains(&c.interval));
    }
}

table! {
    /// The interfaces for its operator.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct OperationConfig with Default {
        /// Socket of `justfull f1u status`; only its owner may use it.
        socket: String = "/run/justfull-f1u.sock".into(),
            rule("an absolute path of at most 100 bytes",
                |c| c.socket.starts_with('/') && c.socket.len() <= 100),
            "unix(7)";
        /// Address of the metrics for Prometheus, such as 127.0.0.1:9103. Left out: none.
        metrics: String = String::new(),
            rule("an address with a port, such as 127.0.0.1:9103",
                |c| c.metrics.is_empty() || c.metrics.parse::<std::net::SocketAddr>().is_ok()),
            "it listens there";
    }
}

table! {
    /// The whole file.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct F1uConfig with Default {
        /// Where the packets pass.
        place: PlaceConfig = PlaceConfig::default();
        /// The limiter of each bearer.
        limiter: LimiterConfig = LimiterConfig::Bdp5g(Bdp5gConfig::default()),
            rule("one of unlimited, fixed, bdp_5g, drql", |c| LIMITERS.contains(&c.limiter.name())),
            "the others need more than a delivery status has";
        /// Limits and assumptions about bearers.
        bearers: BearersConfig = BearersConfig::default();
        /// User data that waits in the box.
        hold: HoldConfig = HoldConfig::default();
        /// Grants in steps.
        pacer: PacerConfig = PacerConfig::default();
        /// The interfaces for its operator.
        operation: OperationConfig = OperationConfig::default();
    }
}

impl PlaceConfig {
    /// The interface to the other end, if the DU or the CU-UP is on this host; `lo` if both are.
    #[must_use]
    pub fn end(&self) -> Option<&str> {
        match (self.cu_up == LOOPBACK, self.du == LOOPBACK) {
            (false, false) => None,
            (true, _) => Some(&self.du),
            (false, true) => Some(&self.cu_up),
        }
    }
}

impl F1uConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The first mistake: file, field, value and allowed values.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        settings::read(file, Self::parse)
    }

    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// The first mistake, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Self = settings::settings(&settings::table(text)?, &Self::params())?;
        config.validate().map_err(|e: ConfigError| e.to_string())?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "[place]\ncu_up = \"core\"\ndu = \"ran\"\n";

    #[test]
    fn two_interfaces_are_enough_and_each_is_needed() {
        let config = F1uConfig::parse(LEAST).expect("valid");
        assert_eq!((config.place.cu_up.as_str(), config.limiter.name()), ("core", "bdp_5g"));
        let error = F1uConfig::parse("").expect_err("no interface");
        assert!(error.starts_with("field `place.cu_up`: found \"\","), "{error}");
    }

    #[test]
    fn each_wrong_field_is_named_with_its_value_and_what_is_allowed() {
        for (text, parts) in [
            ("[bearers]\nleast = \"0B\"", &["bearers.least", "found 0B", "1B to"][..]),
            ("[bearers]\npdcp_sn_bits = 13", &["bearers.pdcp_sn_bits", "13", "0, 12 or 18"]),
            ("[bearers]\nleats = \"9B\"", &["bearers.leats", "least"]),
            ("[bearers]\nleast = 9", &["bearers.least", "9", "1500B"]),
            ("[bearer]\nleast = 9", &["field `bearer`", "place, limiter, bearers"]),
            ("[limiter]\nkind = \"dyn_rlc\"", &["limiter", "dyn_rlc", "fixed, bdp_5g, drql"]),
            ("[limiter]\nkind = \"x\"\noffset = 1.0", &["limiter.kind", "found x", "bdp_5g"]),
            ("[limiter]\nkind = \"bdp_5g\"\noffset = 1.5", &["limiter.offset", "1.5"]),
            ("[operation]\nsocket = \"x\"", &["operation.socket", "x", "absolute path"]),
            ("[operation]\nmetrics = \"x\"", &["operation.metrics", "x", "127.0.0.1:9103"]),
            ("[place", &["line 4"]),
        ] {
            let error = F1uConfig::parse(&format!("{LEAST}{text}")).expect_err(text);
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
            assert!(!error.contains("()"), "{text}: {error}");
        }
    }
}
