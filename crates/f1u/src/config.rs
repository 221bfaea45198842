//! The configuration file of the box: TOML, checked completely before anything is installed.

use justfull_base::{Bytes, ConfigError, Duration, table};
use justfull_ran::limiter::{Bdp5gConfig, LimiterConfig};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Bytes of an interface's name (`IFNAMSIZ` less the closing zero).
const LONGEST_NAME: usize = 15;
/// Limiters that need no more than delivery statuses tell.
const LIMITERS: [&str; 4] = ["unlimited", "fixed", "bdp_5g", "drql"];

table! {
    /// The interfaces of the host on which F1-U passes.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PlaceConfig with Default {
        /// Interface at which the CU-UPs' packets arrive.
        cu_up: String = String::new(),
            rule("the name of an interface, of 1 to 15 bytes without blanks", |c| named(&c.cu_up)),
            "user data is read there";
        /// Interface at which the DUs' packets arrive; it may be the same.
        du: String = String::new(),
            rule("the name of an interface, of 1 to 15 bytes without blanks", |c| named(&c.du)),
            "delivery statuses are changed there";
        /// Number of the routing table through which the DUs' packets reach the box.
        table: u32 = 27_239, at_least(256), "the kernel's own tables are below";
        /// Priority of the rule that leads to the table.
        priority: u32 = 100, within(1, 32_765), "between the kernel's own rules";
    }
}

fn named(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !name.bytes().any(|b| b == b'/' || b.is_ascii_whitespace() || b == 0)
}

table! {
    /// What the box keeps and assumes of bearers.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct BearersConfig with Default {
        /// Least desired buffer size that the box writes.
        least: Bytes = Bytes(6_000), within(Bytes(1), Bytes(1 << 30)),
            "0 stops a CU-UP for good (TS 38.425 section 5.5.3.5)";
        /// Time from a delivery status at the DU until the data that it asks for is there.
        loop_delay: Duration = Duration::from_millis(1), at_most(Duration::from_secs(1));
        /// Largest PDCP PDU, in bytes.
        mtu: u32 as "bytes" = 1_500, within(100, 9_100);
        /// Bits of PDCP's sequence numbers; 0: learnt from the packets.
        pdcp_sn_bits: u8 as "bits" = 0,
            rule("0, 12 or 18", |c| [0, 12, 18].contains(&c.pdcp_sn_bits)),
            "TS 38.323 section 6.2.2";
        /// Tunnels in each direction; the frames of more pass unchanged.
        most: u32 as "tunnels" = 8_192, within(1, 65_536);
        /// Time after which a silent tunnel is forgotten.
        idle: Duration = Duration::from_secs(60),
            within(Duration::from_secs(1), Duration::from_secs(86_400));
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
            "the others need more than a delivery status tells";
        /// What it keeps and assumes of bearers.
        bearers: BearersConfig = BearersConfig::default();
        /// The interfaces for its operator.
        operation: OperationConfig = OperationConfig::default();
    }
}

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub file: String,
    /// The error in words.
    pub what: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

impl std::error::Error for FileError {}

impl F1uConfig {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The first mistake: file, field, value and allowed values.
    pub fn read(file: &Path) -> Result<Self, FileError> {
        let name = file.display().to_string();
        let failed = |what: String| FileError { file: name.clone(), what };
        let text = read_text(file, SETTINGS_LIMIT).map_err(|e| failed(e.to_string()))?;
        Self::parse(&text).map_err(failed)
    }

    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// The first mistake, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let line = |e: &toml::de::Error| {
            let before = text.get(..e.span().map_or(0, |span| span.start)).unwrap_or(text);
            before.matches('\n').count() + 1
        };
        let tree: Result<toml::Table, _> = text.parse();
        let tree = tree.map_err(|e| format!("line {}: {}", line(&e), e.message()))?;
        let mut config = Self::default();
        for (name, value) in &tree {
            match name.as_str() {
                "place" => config.place = part(name, value)?,
                "limiter" => config.limiter = part(name, value)?,
                "bearers" => config.bearers = part(name, value)?,
                "operation" => config.operation = part(name, value)?,
                _ => {
                    let names = Self::params().iter().map(|param| param.name).collect::<Vec<_>>();
                    let names = names.join(", ");
                    return Err(format!(
                        "field `{name}`: there is no such field, allowed is one of {names}"
                    ));
                }
            }
        }
        config.validate().map_err(|e: ConfigError| e.to_string())?;
        Ok(config)
    }
}

/// Reads the table `name`.
fn part<T: DeserializeOwned>(name: &str, value: &toml::Value) -> Result<T, String> {
    let reads = |value: toml::Value| value.try_into::<T>();
    reads(value.clone()).map_err(|error| {
        // The wrong field is the first that is wrong alone, beside the kind, which selects the
        // known ones.
        let entries = value.as_table();
        let kind = entries.and_then(|entries| entries.get("kind"));
        let wrong = entries.into_iter().flatten().find_map(|(key, value)| {
            let mut alone = toml::Table::new();
            kind.map(|kind| alone.insert("kind".into(), kind.clone()));
            alone.insert(key.clone(), value.clone());
            reads(toml::Value::Table(alone)).err().map(|_| format!("{name}.{key}"))
        });
        // Every field is wrong beside a wrong kind.
        let only = |kind: &toml::Value| {
            let alone = toml::Table::from_iter([("kind".to_owned(), kind.clone())]);
            reads(toml::Value::Table(alone)).is_err()
        };
        let path = match kind {
            Some(kind) if only(kind) => format!("{name}.kind"),
            _ => wrong.unwrap_or_else(|| name.to_owned()),
        };
        format!("field `{path}`: {}", error.message())
    })
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
        assert!(error.starts_with("field `place.cu_up`: found ,"), "{error}");
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
            ("[limiter]\nkind = \"x\"\noffset = 1.0", &["limiter.kind", "`x`", "bdp_5g"]),
            ("[limiter]\nkind = \"bdp_5g\"\noffset = 1.5", &["limiter.offset", "1.5"]),
            ("[operation]\nsocket = \"x\"", &["operation.socket", "x", "absolute path"]),
            ("[operation]\nmetrics = \"x\"", &["operation.metrics", "x", "127.0.0.1:9103"]),
            ("[place", &["line 4"]),
        ] {
            let error = F1uConfig::parse(&format!("{LEAST}{text}")).expect_err(text);
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
