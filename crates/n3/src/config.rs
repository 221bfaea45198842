//! The configuration file of the stage: TOML, checked completely before anything is installed.

use justfull_base::{ConfigError, Duration, table};
use justfull_net::router::is_interface_name;
use justfull_net::{Ports, Prefix};
use justfull_trace::settings::{self, FileError};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::Path;

table! {
    /// The interfaces of the host on which N3 or S1-U passes.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct PlaceConfig with Default {
        /// Interface at which the base stations' packets arrive.
        ran: String = String::new(),
            rule("the name of an interface, of 1 to 15 bytes without blanks", |c| is_interface_name(&c.ran)),
            "the uplink is read there";
        /// Interface at which the packets of UPF or SGW arrive.
        core: String = String::new(),
            rule("the name of another interface than place.ran, of 1 to 15 bytes without blanks",
                |c| is_interface_name(&c.core) && c.core != c.ran),
            "the downlink is read there";
        /// Number of the routing table through which the uplink reaches the stage; the downlink has
        /// the next.
        table: u32 = 27_241, within(256, u32::MAX - 2), "the kernel's own tables are below";
        /// Priority of the rules that lead to the tables.
        priority: u32 = 101, within(1, 32_765), "between the kernel's own rules";
    }
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
            "one end of an inner packet is the UE";
        /// Ports of servers. Left out: all.
        ports: Vec<Ports> = Vec::new();
        /// UEs and servers whose connections pass.
        except: Vec<Prefix> = Vec::new();
        /// Largest inner packet that fits the tunnels; 0: the smaller MTU of the two interfaces
        /// less 68.
        mtu: u32 as "bytes" = 0,
            rule("0, or 1280 to 65535", |c| c.mtu == 0 || (1_280..=65_535).contains(&c.mtu)),
            "RFC 8200 section 5: an IPv6 network carries 1280";
        /// UEs at a time; packets of more pass.
        most_ues: u32 = 65_536, within(1, 1_000_000);
        /// Connections at a time; more pass.
        most_flows: u32 = 65_536, within(1, 1_000_000);
        /// Time after which a silent UE or connection is removed.
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
