//! The configuration file of the stage: TOML, checked completely before anything is installed.

use justfull_base::{ConfigError, Duration, table};
use justfull_net::{Ports, Prefix};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

/// Bytes of an interface's name (`IFNAMSIZ` less the closing zero).
const LONGEST_NAME: usize = 15;

table! {
    /// The interfaces of the host on which N3 or S1-U passes.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PlaceConfig with Default {
        /// Interface at which the base stations' packets arrive.
        ran: String = String::new(),
            rule("the name of an interface, of 1 to 15 bytes without blanks", |c| named(&c.ran)),
            "the uplink is read there";
        /// Interface at which the packets of UPF or SGW arrive.
        core: String = String::new(),
            rule("the name of another interface than place.ran, of 1 to 15 bytes without blanks",
                |c| named(&c.core) && c.core != c.ran),
            "the downlink is read there";
        /// Number of the routing table through which the uplink reaches the stage; the downlink has
        /// the next.
        table: u32 = 27_241, within(256, u32::MAX - 2), "the kernel's own tables are below";
        /// Priority of the rules that lead to the tables.
        priority: u32 = 101, within(1, 32_765), "between the kernel's own rules";
    }
}

fn named(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.len())
        && !name.bytes().any(|b| b == b'/' || b.is_ascii_whitespace() || b == 0)
}

table! {
    /// The connections that are taken out of their tunnels.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TunnelsConfig with Default {
        /// Addresses of UEs. Each address belongs to one UE.
        ues: Vec<Prefix> = Vec::new(),
            rule("one or more prefixes, such as [\"10.45.0.0/16\", \"fd45::/16\"]",
                |c| !c.ues.is_empty()),
            "they tell which end of an inner packet is the UE";
        /// Ports of servers. Left out: all.
        ports: Vec<Ports> = Vec::new();
        /// UEs and servers whose connections pass.
        except: Vec<Prefix> = Vec::new();
        /// Largest inner packet that fits the tunnels; 0: the smaller MTU of both interfaces less
        /// 68.
        mtu: u32 as "bytes" = 0,
            rule("0, or 1280 to 65535", |c| c.mtu == 0 || (1_280..=65_535).contains(&c.mtu)),
            "RFC 8200 section 5: an IPv6 network carries 1280";
        /// UEs at a time; packets of more pass.
        most_ues: u32 = 65_536, within(1, 1_000_000);
        /// Connections at a time; more pass.
        most_flows: u32 = 65_536, within(1, 1_000_000);
        /// Time after which a silent UE or connection is forgotten.
        idle: Duration = Duration::from_secs(7_440),
            within(Duration::from_secs(10), Duration::from_secs(604_800)),
            "as long as the proxy's `timeouts.idle`";
    }
}

table! {
    /// The interfaces for its operator.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct OperationConfig with Default {
        /// Socket of `justfull n3 status` and of the proxy; only its owner may use it.
        socket: String = "/run/justfull-n3.sock".into(),
            rule("an absolute path of at most 100 bytes",
                |c| c.socket.starts_with('/') && c.socket.len() <= 100),
            "unix(7)";
        /// Address of the metrics for Prometheus, such as 127.0.0.1:9104. Left out: none.
        metrics: String = String::new(),
            rule("an address with a port, such as 127.0.0.1:9104",
                |c| c.metrics.is_empty() || c.metrics.parse::<std::net::SocketAddr>().is_ok()),
            "it listens there";
    }
}

table! {
    /// The whole file.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct N3Config with Default {
        /// Where the packets pass.
        place: PlaceConfig = PlaceConfig::default();
        /// The connections that are taken out of their tunnels.
        tunnels: TunnelsConfig = TunnelsConfig::default();
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

impl TunnelsConfig {
    /// True for the address of a UE.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        within(&self.ues, address)
    }

    /// True for a connection of `ue` to `port` of `server` that the proxy may split.
    pub(crate) fn selects(&self, ue: IpAddr, server: IpAddr, port: u16) -> bool {
        let has = |ports: &Ports| (ports.first..=ports.last).contains(&port);
        let chosen = self.ports.is_empty() || self.ports.iter().any(has);
        chosen && !within(&self.except, ue) && !within(&self.except, server)
    }
}

fn within(prefixes: &[Prefix], address: IpAddr) -> bool {
    prefixes.iter().any(|prefix| {
        prefix.address().is_ipv4() == address.is_ipv4()
            && Prefix::of(address, prefix.bits()) == *prefix
    })
}

impl N3Config {
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
                "tunnels" => config.tunnels = part(name, value)?,
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

/// Reads the table `name`. A wrong field is the first that is wrong alone.
fn part<T: DeserializeOwned>(name: &str, value: &toml::Value) -> Result<T, String> {
    let reads = |value: toml::Value| value.try_into::<T>();
    reads(value.clone()).map_err(|error| {
        let wrong = value.as_table().into_iter().flatten().find_map(|(key, value)| {
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            reads(toml::Value::Table(alone)).err().map(|_| format!("{name}.{key}"))
        });
        format!("field `{}`: {}", wrong.unwrap_or_else(|| name.to_owned()), error.message())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "[place]\nran = \"r\"\ncore = \"c\"\n[tunnels]\nues = [\"10.45.0.0/16\"]\n";

    #[test]
    fn two_interfaces_and_the_ues_are_enough_and_each_is_needed() {
        let config = N3Config::parse(LEAST).expect("valid");
        assert!(config.tunnels.has([10, 45, 255, 1].into()));
        assert!(!config.tunnels.has([10, 46, 0, 1].into()));
        for (text, field) in [
            ("", "place.ran"),
            ("[place]\nran = \"r\"\ncore = \"r\"", "place.core"),
            ("[place]\nran = \"r\"\ncore = \"c\"", "tunnels.ues"),
        ] {
            let error = N3Config::parse(text).expect_err(text);
            assert!(error.contains(field), "{error}");
        }
    }

    #[test]
    fn each_wrong_field_is_named_with_its_value_and_what_is_allowed() {
        for (text, parts) in [
            ("mtu = 1000", &["tunnels.mtu", "1000", "0, or 1280 to 65535"][..]),
            ("most_flows = 0", &["tunnels.most_flows", "found 0", "1 to 1000000"]),
            ("ports = [\"x\"]", &["tunnels.ports", "x", "a port or a range"]),
            ("eus = []", &["tunnels.eus", "eus", "ues"]),
            ("[operation]\nsocket = \"x\"", &["operation.socket", "x", "absolute path"]),
            ("[operation]\nmetrics = \"x\"", &["operation.metrics", "x", "127.0.0.1:9104"]),
            ("[tunnel]\nues = []", &["field `tunnel`", "place, tunnels, operation"]),
            ("[place", &["line 6"]),
        ] {
            let error = N3Config::parse(&format!("{LEAST}{text}")).expect_err(text);
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }
}
