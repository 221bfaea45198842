//! The configuration file of the proxy: TOML, checked completely before anything is installed.

mod pools;
mod site;

pub use pools::PoolConfig;
pub use site::{CellsConfig, DirectoryConfig};

use crate::n3::N3StageConfig;
use crate::radio::RadioConfig;
use crate::radio_leg::RadioLegConfig;
use justfull_base::{Bytes, ConfigError, Duration, choice, table};
use justfull_net::router::is_interface_name;
use justfull_net::{PolicyRoute, Ports, Prefix};
use justfull_rapid::ControlConfig;
use justfull_trace::settings::{self, FileError};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// An hour.
const HOUR: Duration = Duration::from_secs(3_600);

choice! {
    serde;
    /// The families whose clients get an answer only when their server has answered.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum WaitConfig {
        /// The proxy answers at once.
        None = "none",
        /// IPv6.
        #[default]
        Ipv6 = "ipv6",
        /// Both.
        All = "all",
    }
}

impl WaitConfig {
    /// True for each family whose clients wait: IPv4, IPv6.
    pub(crate) const fn families(self) -> [bool; 2] {
        [matches!(self, Self::All), matches!(self, Self::All | Self::Ipv6)]
    }
}

choice! {
    serde;
    /// What becomes of a segment within the selection whose connection this host does not have.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum UnknownConfig {
        /// It passes: connections from before the proxy go on.
        #[default]
        Pass = "pass",
        /// Both ends of its connection are reset, which another host may have split.
        Reset = "reset",
    }
}

table! {
    /// The connections that are proxied. All others pass untouched.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct SelectConfig with Default {
        /// Interfaces at which the UEs' connections arrive, on the network's side of the core.
        interfaces: Vec<String> = Vec::new(),
            rule("one or more names of interfaces, of 1 to 15 bytes without blanks", named),
            "connections are taken where the UEs' come in";
        /// Addresses of UEs. Left out: all.
        ues: Vec<Prefix> = Vec::new();
        /// Ports of servers. Left out: all.
        ports: Vec<Ports> = Vec::new();
        /// UEs and servers whose connections are not proxied.
        except: Vec<Prefix> = Vec::new();
        /// The families whose clients get an answer only when their server has answered. A client
        /// with both families takes the first that answers (RFC 8305).
        wait_for_server: WaitConfig = WaitConfig::Ipv6;
        /// What becomes of segments within the selection whose connections this host does not have:
        /// `pass`, or `reset` on an active host and its standby.
        unknown: UnknownConfig = UnknownConfig::Pass;
    }
}

fn named(config: &SelectConfig) -> bool {
    !config.interfaces.is_empty() && config.interfaces.iter().all(|name| is_interface_name(name))
}

table! {
    /// The way of diverted packets to the proxy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct RouteConfig with Default {
        /// Mark on diverted packets (fwmark); no other program may use it, or its complement.
        mark: u32 = 27_238, within(1, u32::MAX - 1),
            "a packet without a mark has 0, and a mark has a complement";
        /// Number of the routing table that delivers them.
        table: u32 = 27_238, at_least(256), "the kernel's own tables are below";
        /// Priority of the rules that lead to the table; another rule has the next number.
        priority: u32 = 100, within(1, 32_765), "between the kernel's own rules";
    }
}

impl RouteConfig {
    /// The same for the kernel.
    #[must_use]
    pub const fn policy(&self) -> PolicyRoute {
        PolicyRoute { mark: self.mark, table: self.table, priority: self.priority }
    }
}

table! {
    /// The proxy's time limits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct TimeoutsConfig with Default {
        /// For a server's answer.
        connect: Duration = Duration::from_secs(10), within(SECOND, HOUR);
        /// For data on an open connection.
        idle: Duration = Duration::from_secs(7_440), within(SECOND, Duration::from_secs(604_800)),
            "RFC 5382 REQ-5: not less than 2 h 4 min unless it must be";
        /// For data on a connection that one end has closed.
        half_closed: Duration = Duration::from_secs(240), within(SECOND, HOUR),
            "RFC 5382 REQ-5: not less than 4 min unless it must be";
        /// For connections to end by themselves after SIGTERM; the proxy then resets the others.
        drain: Duration = Duration::from_secs(30), at_most(HOUR);
    }
}

const SECOND: Duration = Duration::from_secs(1);

table! {
    /// The proxy's limits.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct LimitsConfig with Default {
        /// Processes that relay the connections. Each has its own limit of descriptors and at most
        /// a core; the end of one resets its connections alone. With 1 the proxy itself relays
        /// them.
        workers: u32 = 1, within(1, 64), "more than a host has cores, and than descriptors need";
        /// Connections at a time; more pass unsplit. The limit of descriptors may allow fewer: each
        /// connection takes two, and a ninth of them is reserved for connections that arrive at
        /// once.
        flows: u32 = 8_000, within(1, 1_000_000);
        /// Pipes in all. A connection holds one only while there is data in it; without a pipe, the
        /// proxy copies its data.
        pipes: u32 = 256, within(0, 100_000);
        /// Size of a pipe.
        pipe: Bytes = Bytes(256 << 10), within(Bytes(4_096), Bytes(1 << 20)),
            "pipe(7): a page to /proc/sys/fs/pipe-max-size";
    }
}

table! {
    /// The addresses that belong to one UE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct UesConfig with Default {
        /// Bits of an IPv4 address that distinguish UEs.
        ipv4_bits: u8 = 32, within(1, 32);
        /// Bits of an IPv6 address that distinguish UEs.
        ipv6_bits: u8 = 64, within(1, 128), "TS 23.501 section 5.8.2.2.3: a UE has a /64 prefix";
    }
}

table! {
    /// The interfaces for its operator.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct OperationConfig with Default {
        /// Socket of `justfull proxy status`; only its owner may use it.
        socket: String = "/run/justfull-proxy.sock".into(),
            rule("an absolute path of at most 100 bytes",
                |c| c.socket.starts_with('/') && c.socket.len() <= 100),
            "unix(7)";
        /// Address of the metrics for Prometheus, such as 127.0.0.1:9102. Left out: none.
        metrics: String = String::new(),
            rule("an address with a port, such as 127.0.0.1:9102",
                |c| c.metrics.is_empty() || c.metrics.parse::<std::net::SocketAddr>().is_ok()),
            "it listens there";
        /// File of the log, one line of JSON for each connection; `-` is standard output. Left
        /// out: none.
        log: String = String::new();
        /// Write only the network of UEs' addresses to the log.
        hide_addresses: bool = false;
    }
}

table! {
    /// The whole file.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ProxyConfig with Default {
        /// The connections that are proxied.
        select: SelectConfig = SelectConfig::default();
        /// Pools of UEs' addresses that may overlap; in a file they are tables `[[pools]]`. Left
        /// out: an address is one UE, whatever its interface.
        pools: Vec<PoolConfig> = Vec::new();
        /// The way of diverted packets to the proxy.
        route: RouteConfig = RouteConfig::default();
        /// Its time limits.
        timeouts: TimeoutsConfig = TimeoutsConfig::default();
        /// Its limits.
        limits: LimitsConfig = LimitsConfig::default();
        /// The control that sets the windows.
        control: ControlConfig = ControlConfig::default();
        /// The bound on bytes in flight to the UE; in a file it is `control.radio_leg`.
        radio_leg: RadioLegConfig = RadioLegConfig::Auto;
        /// The source of radio information.
        radio: RadioConfig = RadioConfig::default();
        /// The addresses that belong to one UE.
        ues: UesConfig = UesConfig::default();
        /// The cells of the site.
        cells: CellsConfig = CellsConfig::default();
        /// The directory of UEs from outside.
        directory: DirectoryConfig = DirectoryConfig::default();
        /// The stage at N3 or S1-U.
        n3: N3StageConfig = N3StageConfig::default();
        /// The interfaces for its operator.
        operation: OperationConfig = OperationConfig::default();
    }
}

impl ProxyConfig {
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
        let mut tree = settings::table(text)?;
        let radio_leg = take_radio_leg(&mut tree)?;
        let pools = pools::take(&mut tree)?;
        let mut params = Self::params();
        params.retain(|param| param.name != "radio_leg");
        let config = Self { radio_leg, pools, ..settings::settings(&tree, &params)? };
        config.validate().and_then(|()| config.suits_pools()).map_err(|e| e.to_string())?;
        Ok(config)
    }

    /// Refuses what pools exclude.
    fn suits_pools(&self) -> Result<(), ConfigError> {
        if self.pools.is_empty() {
            return Ok(());
        }
        let unknown = self.select.unknown;
        if unknown != UnknownConfig::Pass {
            let why = "a segment is of no known pool";
            let allowed = "`pass` beside `pools`";
            return Err(ConfigError::new("select.unknown", &unknown.name(), allowed, why));
        }
        let socket = &self.n3.socket;
        if !socket.is_empty() {
            let allowed = "to leave it out beside `pools`";
            return Err(ConfigError::new("n3.socket", socket, allowed, "a stage has one pool"));
        }
        Ok(())
    }

    /// The tables that differ from `new` and cannot change while the proxy runs.
    #[must_use]
    pub fn needs_restart(&self, new: &Self) -> Vec<&'static str> {
        let fixed = [
            (self.pools != new.pools, "pools"),
            (self.route != new.route, "route"),
            (self.limits != new.limits, "limits"),
            (self.control != new.control || self.radio_leg != new.radio_leg, "control"),
            (self.radio != new.radio, "radio"),
            (self.ues != new.ues, "ues"),
            (self.cells != new.cells, "cells"),
            (self.directory != new.directory, "directory"),
            (self.n3 != new.n3, "n3"),
            (self.operation != new.operation, "operation"),
        ];
        fixed.into_iter().filter_map(|(differs, name)| differs.then_some(name)).collect()
    }
}

/// Takes `radio_leg` out of the table `control`; its other keys belong to its kind.
fn take_radio_leg(tree: &mut toml::Table) -> Result<RadioLegConfig, String> {
    let Some(control) = tree.get_mut("control").and_then(toml::Value::as_table_mut) else {
        return Ok(RadioLegConfig::Auto);
    };
    let Some(value) = control.remove("radio_leg") else { return Ok(RadioLegConfig::Auto) };
    if control.is_empty() {
        tree.remove("control");
    }
    let names = RadioLegConfig::ALL.map(RadioLegConfig::name).join(", ");
    let wrong = || format!("field `control.radio_leg`: found {value}, allowed is one of {names}");
    value.clone().try_into().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "[select]\ninterfaces = [\"eth1\"]\n";

    #[test]
    fn a_configuration_that_is_no_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("it starts");
        assert!(made.success());
        let long = folder.path().join("long");
        std::fs::write(&long, "#".repeat(5_000_000)).expect("a file");
        for (file, part) in [
            (pipe.as_path(), "found a pipe, allowed is a regular file"),
            (Path::new("/dev/zero"), "found a device, allowed is a regular file"),
            (long.as_path(), "found more than 4MB"),
        ] {
            let error = ProxyConfig::read(file).expect_err(part).to_string();
            assert!(error.contains(part) && error.starts_with(&*file.to_string_lossy()), "{error}");
        }
        // The named files are checked too.
        for (name, rest) in [
            ("kind = \"rnis\"\nurl = \"http://192.0.2.1\"\ntoken_file", ""),
            ("kind = \"amqp\"\nqueues = [\"a\"]\nues", ""),
            ("kind = \"amqp\"\nqueues = [\"a\"]\npassword_file", "ues = \"/dev/null\"\n"),
            ("kind = \"websocket\"\nurl = \"ws://192.0.2.1\"\nues", ""),
            ("kind = \"rnis\"\nurl = \"https://192.0.2.1\"\nca_file", ""),
            ("kind = \"kpm\"\npath = \"/run/kpm\"\nues", ""),
            ("kind = \"kpm\"\nlisten = \"127.0.0.1:0\"\ntoken_file", "ues = \"/dev/null\"\n"),
        ] {
            for file in [&*pipe.to_string_lossy(), "/dev/zero", &*long.to_string_lossy()] {
                let text = format!("{LEAST}[radio]\n{rest}{name} = {file:?}\n");
                let error = ProxyConfig::parse(&text).expect_err(name);
                assert!(error.contains("found") && error.contains("allowed is a file"), "{error}");
            }
        }
    }

    #[test]
    fn the_least_file_is_valid_and_one_without_interfaces_is_not() {
        let config = ProxyConfig::parse(LEAST).expect("valid");
        assert_eq!(config.select.interfaces, ["eth1"]);
        assert_eq!(config.control, ControlConfig::default());
        let error = ProxyConfig::parse("").expect_err("nothing to take connections from");
        assert!(error.starts_with("field `select.interfaces`: found []"), "{error}");
    }

    #[test]
    fn each_wrong_field_is_named_with_its_value_and_what_is_allowed() {
        for (text, parts) in [
            (
                "[select]\ninterfaces = [\"a b\"]",
                &["select.interfaces", "a b", "1 to 15 bytes"][..],
            ),
            ("[timeouts]\nconnect = \"0s\"", &["timeouts.connect", "0s", "1s to"]),
            ("[timeouts]\nconnect = 5", &["timeouts.connect", "5", "a time with its unit"]),
            ("[timeouts]\nconect = \"5s\"", &["timeouts.conect", "did you mean connect?"]),
            ("[sellect]", &["sellect", "did you mean select?"]),
            ("[select]\nues = [\"10.0.0.1/8\"]", &["select.ues", "10.0.0.1/8", "a prefix"]),
            ("[select]\nports = [\"0\"]", &["select.ports", "\"0\"", "1 to 65535"]),
            ("[control]\nkind = \"rapit\"", &["control.kind", "rapit", "equal_share, rapid"]),
            ("[control]\nkind = \"rapid\"\nprob = 1.0", &["control.prob", "did you mean probe?"]),
            ("[control]\nkind = \"rapid\"\nprobe = 9.0", &["control.probe", "9", "1 to 4"]),
            ("[control]\nkind = \"rapid\"\nprobe = \"x\"", &["control.probe", "\"x\""]),
            ("[control]\nradio_leg = \"bbr\"", &["control.radio_leg", "\"bbr\"", "struct_ops, "]),
            ("radio_leg = \"auto\"\n", &["radio_leg", "there is no such field"]),
            ("[radio]\nkind = \"json_lines\"", &["radio.path", "the path of a file"]),
            ("[radio]\nkind = \"rest\"", &["radio.kind", "rest", "rnis, amqp, websocket"]),
            ("[radio]\nkind = \"rnis\"", &["radio.url", "http:// or https://"]),
            ("[radio]\nkind = \"rnis\"\nurl = \"ftp://x\"", &["radio.url", "ftp://x", "http"]),
            (
                "[radio]\nkind = \"rnis\"\nurl = \"http://x\"\ntoken_file = \"/none\"",
                &["radio.token_file", "/none", "a file with one token"],
            ),
            (
                "[radio]\nkind = \"rnis\"\nurl = \"https://x\"\nca_file = \"/none\"",
                &["radio.ca_file", "/none", "a file of PEM"],
            ),
            (
                "[radio]\nkind = \"amqp\"\nqueues = [\"x\"]\ntls = true\nca_file = \"/none\"",
                &["radio.ca_file", "/none", "a file of PEM"],
            ),
            (
                "[radio]\nkind = \"websocket\"\nurl = \"wss://x\"\nca_file = \"/none\"",
                &["radio.ca_file", "/none", "a file of PEM"],
            ),
            (
                "[radio]\nkind = \"rnis\"\nurl = \"http://x\"\ncallback = \"x\"",
                &["radio.callback", "found x", "an address with a port"],
            ),
            ("[radio]\nkind = \"amqp\"", &["radio.queues", "[]", "one or more names"]),
            (
                "[radio]\nkind = \"amqp\"\nqueues = [\"q\"]\nues = \"/none\"",
                &["radio.ues", "/none", "on each line"],
            ),
            (
                "[radio]\nkind = \"websocket\"\nurl = \"http://x\"",
                &["radio.url", "http://x", "ws://"],
            ),
            ("[radio]\nkind = \"kpm\"\npath = \"p\"", &["radio.ues", "on each line"]),
            ("[limits]\nworkers = 0", &["limits.workers", "found 0", "1 to 64"]),
            ("[select]\nunknown = \"drop\"", &["select.unknown", "`drop`", "`pass` or `reset`"]),
            ("[limits]\nworkers = 65", &["limits.workers", "found 65", "1 to 64"]),
            ("[route]\nmark = 0", &["route.mark", "found 0", "1 to 4294967294"]),
            ("[operation]\nsocket = \"x\"", &["operation.socket", "x", "absolute path"]),
            ("[operation]\nmetrics = \"x\"", &["operation.metrics", "x", "127.0.0.1:9102"]),
            ("[select", &["line 1"]),
        ] {
            let with = if text.contains("interfaces") || text.contains("[select") {
                text.replace("[select]\nu", "[select]\ninterfaces = [\"e\"]\nu")
                    .replace("[select]\np", "[select]\ninterfaces = [\"e\"]\np")
            } else {
                format!("{LEAST}{text}")
            };
            let error = ProxyConfig::parse(&with).expect_err(text);
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }

    #[test]
    fn the_bound_of_the_radio_leg_stands_beside_any_control() {
        for text in ["radio_leg = \"pacing\"", "kind = \"equal_share\"\nradio_leg = \"pacing\""] {
            let config = ProxyConfig::parse(&format!("{LEAST}[control]\n{text}")).expect("valid");
            assert_eq!(config.radio_leg, RadioLegConfig::Pacing);
        }
        let old = ProxyConfig::parse(LEAST).expect("valid");
        assert_eq!((old.radio_leg, old.control.name()), (RadioLegConfig::Auto, "rapid"));
    }

    #[test]
    fn the_guides_configuration_and_its_report_are_read() {
        let guide = include_str!("../../../docs/guide/rapid-in-service.md");
        let block = |language: &str| {
            let (_, rest) = guide.split_once(&format!("```{language}\n")).expect("a block");
            rest.split_once("```").expect("its end").0
        };
        let config = ProxyConfig::parse(block("toml")).expect("valid");
        assert_eq!(config.radio.name(), "json_lines");
        let report = justfull_rnis::Report::parse(block("json").as_bytes()).expect("a report");
        assert_eq!(report.ue.len(), 2);
    }

    #[test]
    fn settings_that_need_a_restart_are_named() {
        let old = ProxyConfig::parse(LEAST).expect("valid");
        let new = format!("{LEAST}[route]\nmark = 5\n[timeouts]\nconnect = \"5s\"\n");
        assert_eq!(old.needs_restart(&ProxyConfig::parse(&new).expect("valid")), ["route"]);
    }
}
