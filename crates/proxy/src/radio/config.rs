//! The sources of radio information, and their settings.

use super::access::AccessConfig;
use justfull_base::doc::MethodDoc;
use justfull_base::{ConfigError, Duration, kinds_config, table};
use justfull_rnis::{KpmAvailable, KpmCell, KpmTotal, Tokens, Trust, UeTable, agent, read_token};
use justfull_trace::input::{SETTINGS_LIMIT, read_text};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use ureq::http::Uri;

table! {
    /// The source of radio information in a file or a named pipe: a JSON object on each line.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct JsonLinesConfig with Default {
        /// The file or named pipe.
        path: String = String::new(), rule("the path of a file or a named pipe", |c| !c.path.is_empty()),
            "reports are read from it";
    }
}

table! {
    /// No reports have no settings.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct NoRadioConfig with Default {}
}

table! {
    /// Takes radio information from an RNIS (ETSI GS MEC 012) with the extension that `justfull
    /// rnis` serves.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct RnisConfig with Default {
        /// Root of its paths, such as http://192.0.2.1:8080.
        url: String = String::new(), rule(HTTP, |c| http(&c.url)), "the service is there";
        /// Further services with the same settings.
        urls: Vec<String> = Vec::new(), rule(HTTP, |c| c.urls.iter().all(|url| http(url)));
        /// Address and port of the proxy's receiver of notifications, such as 192.0.2.9:9103. Left
        /// out: the proxy polls for reports instead.
        callback: String = String::new(),
            rule("an address with a port, such as 192.0.2.9:9103",
                |c| c.callback.is_empty() || c.callback.parse::<SocketAddr>().is_ok()),
            "it listens there";
        /// Root of the paths to which the service sends notifications, if not `http://` and
        /// `callback`.
        callback_url: String = String::new(),
            rule(HTTP, |c| c.callback_url.is_empty() || http(&c.callback_url)),
            "the service sends there";
        /// Time between two notifications, or two polls.
        period: Duration = Duration::from_millis(10),
            within(Duration::from_millis(1), Duration::from_secs(10));
        /// Lifetime of a subscription; it is renewed after half of this.
        expiry: Duration = Duration::from_secs(60),
            within(Duration::from_secs(4), Duration::from_secs(86_400));
        /// File with the bearer token for the service, read again for each connection. Left out:
        /// none.
        token_file: String = String::new(),
            rule("a file with one token",
                |c| c.token_file.is_empty() || read_token(c.token_file.as_ref()).is_ok()),
            "GS MEC 009 section 6.16";
        /// PEM file with the certificates that verify an https service.
        ca_file: String = CA_FILE.into(),
            rule("a file of PEM with certificates, for an https service",
                |c| !any("https", &c.url, &c.urls) || certificates(&c.ca_file));
        /// The proxy's certificate and OAuth 2.0.
        access: AccessConfig = AccessConfig::default();
    }
}

table! {
    /// Takes radio information over AMQP 0.9.1, in the form of R22's set-up.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct AmqpConfig with Default {
        /// Host and port of the broker.
        address: String = "127.0.0.1:5672".into(),
            rule("a host with a port", |c| host_port(&c.address).is_some());
        /// Use TLS (amqps); brokers have a port of its own for it, often 5671.
        tls: bool = false;
        /// PEM file with the certificates that verify a broker, for `tls`.
        ca_file: String = CA_FILE.into(),
            rule("a file of PEM with certificates, with `tls`",
                |c| !c.tls || certificates(&c.ca_file));
        /// Name of the user.
        user: String = "guest".into();
        /// File with the user's password. Left out: `guest`.
        password_file: String = String::new(),
            rule("a file with a password",
                |c| c.password_file.is_empty() || readable(&c.password_file));
        /// Virtual host.
        virtual_host: String = "/".into();
        /// Queues that are read; with an `exchange`, the routing keys to read from it.
        queues: Vec<String> = Vec::new(), rule("one or more names", |c| !c.queues.is_empty()),
            "reports are read from them";
        /// Exchange that fills a queue of the proxy's own. Left out: none.
        exchange: String = String::new();
        /// File with the UE for each routing key.
        ues: String = String::new(), rule(UES, |c| UeTable::read(c.ues.as_ref()).is_ok()),
            "UEs are known by address";
        /// The proxy's certificate and OAuth 2.0.
        access: AccessConfig = AccessConfig::default();
    }
}

table! {
    /// Takes radio information from srsRAN's metrics over WebSocket.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct WebsocketConfig with Default {
        /// URL of its remote control, such as ws://192.0.2.1:8001.
        url: String = String::new(),
            rule("ws:// or wss:// with a host and perhaps a port", |c| websocket(&c.url)),
            "the metrics are there";
        /// Further services with the same settings.
        urls: Vec<String> = Vec::new(),
            rule("ws:// or wss:// with a host and perhaps a port",
                |c| c.urls.iter().all(|url| websocket(url)));
        /// PEM file with the certificates that verify a wss service.
        ca_file: String = CA_FILE.into(),
            rule("a file of PEM with certificates, for a wss service",
                |c| !any("wss", &c.url, &c.urls) || certificates(&c.ca_file));
        /// File with the UE for each RNTI.
        ues: String = String::new(), rule(UES, |c| UeTable::read(c.ues.as_ref()).is_ok()),
            "UEs are known by address";
        /// Time that a message covers: the period of srsRAN's reports.
        period: Duration = Duration::from_secs(1),
            within(Duration::from_millis(1), Duration::from_secs(10));
        /// Resource blocks of the carrier.
        prbs: u16 = 106, within(1, 275), "TS 38.101-1 Table 5.3.2-1: 20 MHz at 15 kHz";
        /// Mean time between two downlink slots.
        slot: Duration = Duration::from_millis(1),
            within(Duration::from_micros(31), Duration::from_millis(10));
        /// Table of modulation and coding schemes.
        mcs_table: u8 = 2, within(1, 3), "TS 38.214 section 5.1.3.1";
        /// Symbols of a slot with data.
        symbols: u8 = 13, within(1, 14);
        /// Resource elements of a block that reference signals take.
        dmrs_res: u8 = 12, within(0, 120), "TS 38.211 section 7.4.1.1";
        /// The proxy's certificate and OAuth 2.0.
        access: AccessConfig = AccessConfig::default();
    }
    check |c| {
        let all = 12 * u16::from(c.symbols);
        if u16::from(c.dmrs_res) < all {
            return Ok(());
        }
        let allowed = "less than 12 for each of `symbols`";
        Err(ConfigError::new("dmrs_res", &c.dmrs_res, allowed, "TS 38.214 section 5.1.3.2"))
    };
}

table! {
    /// Takes radio information from an xApp that writes indications of E2SM-KPM as JSON.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct KpmConfig with Default {
        /// File or named pipe with an indication on each line. Left out: none.
        path: String = String::new();
        /// Address at which the xApp posts lines to `/indications`, such as 127.0.0.1:9105. Left
        /// out: none.
        listen: String = String::new(),
            rule("an address with a port, such as 127.0.0.1:9105",
                |c| c.listen.is_empty() || c.listen.parse::<SocketAddr>().is_ok()),
            "it listens there";
        /// File of the tokens that let xApps post, one on each line. Left out: only programs of
        /// this host may, and `listen` is an address of this host.
        token_file: String = String::new(),
            rule("a file of tokens",
                |c| c.token_file.is_empty() || Tokens::read(c.token_file.as_ref()).is_ok()),
            "RFC 6750";
        /// File with the UE for each identifier of KPM.
        ues: String = String::new(), rule(UES, |c| UeTable::read(c.ues.as_ref()).is_ok()),
            "UEs are known by address";
        /// Granularity period of an indication that does not have it.
        period: Duration = Duration::from_millis(100),
            within(Duration::from_millis(1), Duration::from_secs(10));
        /// Resource blocks of the carrier.
        prbs: u16 = 106, within(1, 275), "TS 38.101-1 Table 5.3.2-1: 20 MHz at 15 kHz";
        /// Mean time between two downlink slots.
        slot: Duration = Duration::from_millis(1),
            within(Duration::from_micros(31), Duration::from_millis(10));
        /// Unit of `RRU.PrbTotDl`.
        prb_total: KpmTotal = KpmTotal::Percent;
        /// Meaning of `RRU.PrbAvailDl`.
        prb_available: KpmAvailable = KpmAvailable::Free;
        /// Unit of `DRB.RlcSduDelayDl`.
        delay_unit: Duration = Duration::from_micros(100),
            within(Duration::from_micros(1), Duration::from_millis(1)),
            "TS 28.552 section 5.1.3.3.3: 0.1 ms";
    }
    check |c| {
        if c.path.is_empty() == c.listen.is_empty() {
            let allowed = "the path of a file or a named pipe, or else `listen`";
            return Err(ConfigError::new("path", &c.path, allowed, "indications are read from one"));
        }
        let outside = c.listen.parse::<SocketAddr>().is_ok_and(|at| !at.ip().is_loopback());
        if outside && c.token_file.is_empty() {
            let allowed = "an address of this host such as 127.0.0.1:9105, or `token_file`";
            return Err(ConfigError::new("listen", &c.listen, allowed, "reports set the windows"));
        }
        Ok(())
    };
}

impl KpmConfig {
    /// Facts about the cells that the indications omit.
    pub(super) const fn cell(&self) -> KpmCell {
        KpmCell {
            prbs: self.prbs,
            slot: self.slot,
            period: self.period,
            total: self.prb_total,
            available: self.prb_available,
            delay_unit: self.delay_unit,
        }
    }
}

/// Debian's collection of certificates.
const CA_FILE: &str = "/etc/ssl/certs/ca-certificates.crt";
const HTTP: &str = "http:// or https:// with a host and perhaps a port";
const UES: &str = "a file with a name and 1 to 16 addresses or prefixes on each line";
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(1);

fn certificates(file: &str) -> bool {
    agent(&Trust { ca: Some(file.as_ref()), ..Trust::default() }, PATIENCE).is_ok()
}

fn readable(file: &str) -> bool {
    read_text(file.as_ref(), SETTINGS_LIMIT).is_ok()
}

fn uri(text: &str) -> Option<Uri> {
    text.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty()))
}

fn http(text: &str) -> bool {
    uri(text).is_some_and(|uri| {
        matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.path().len() <= 1
            && uri.query().is_none()
    })
}

/// True if one of the URLs has this scheme.
fn any(scheme: &str, first: &str, others: &[String]) -> bool {
    first.starts_with(scheme) || others.iter().any(|url| url.starts_with(scheme))
}

fn websocket(text: &str) -> bool {
    uri(text).is_some_and(|uri| matches!(uri.scheme_str(), Some("ws" | "wss")))
}

/// Host and port of `host:port`.
pub(crate) fn host_port(text: &str) -> Option<(&str, u16)> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then_some((host, port.parse().ok().filter(|port| *port > 0)?))
}

const NO_RADIO: MethodDoc = MethodDoc {
    name: "none",
    kind: "radio information",
    title: "No reports: capacity is estimated from delivery",
    text: "A UE's capacity is a multiple (`probe`) of the delivery of its flows.",
    sources: "the rule for missing reports of crates/rapid",
    deviations: "none",
    params: NoRadioConfig::params,
};

const JSON_LINES: MethodDoc = MethodDoc {
    name: "json_lines",
    kind: "radio information",
    title: "Reports as JSON, one on a line, from a file that grows or a named pipe",
    text: "Each line is one report about one UE; docs/guide/rapid-in-service.md lists its keys.",
    sources: "the fields of R22 section 3.1",
    deviations: "none",
    params: JsonLinesConfig::params,
};

const RNIS: MethodDoc = MethodDoc {
    name: "rnis",
    kind: "radio information",
    title: "Reports of a Radio Network Information Service (ETSI GS MEC 012)",
    text: "Subscribes to the extension's reports and renews the subscription in time; polls for \
           reports while no notification comes.",
    sources: "ETSI GS MEC 012 V2.1.1; GS MEC 009; docs/guide/rnis.md for the extension",
    deviations: "the standard's own data have no blocks, schemes or backlogs: a service without the \
                 extension is refused",
    params: RnisConfig::params,
};

const AMQP: MethodDoc = MethodDoc {
    name: "amqp",
    kind: "radio information",
    title: "R22's reports over AMQP 0.9.1: cqi,txq,tbs_bytes,prb",
    text: "`tbs_bytes` is the amount that the UE could get in a subframe, `txq` its backlog. The \
           routing key names the UE.",
    sources: "R22 section 5.1; pub_stat.py of RAPID-LINUX",
    deviations: "the time of a report is its time of arrival",
    params: AmqpConfig::params,
};

const WEBSOCKET: MethodDoc = MethodDoc {
    name: "websocket",
    kind: "radio information",
    title: "srsRAN's scheduler metrics, JSON over WebSocket",
    text: "Blocks follow from `dl_brate`, `dl_mcs`, `dl_nof_ok` and `dl_nof_nok`; `dl_bs` is the \
           backlog. The RNTI names the UE.",
    sources: "srsRAN Project 25.10, apps/helpers/metrics/json_generators/du_high/scheduler.cpp",
    deviations: "the time of a report is its time of arrival",
    params: WebsocketConfig::params,
};

const KPM: MethodDoc = MethodDoc {
    name: "kpm",
    kind: "radio information",
    title: "Indications of E2SM-KPM (O-RAN) as JSON, from an xApp",
    text: "A UE's bytes for each of its blocks, multiplied by the cell's blocks, are the capacity; \
           the delay in the RLC gives the backlog. The UE's identifier of KPM names the UE.",
    sources: "O-RAN.WG3.E2SM-KPM version 3; TS 28.552; e2sm_kpm_module.py of the OSC RIC's xApps \
              in Python",
    deviations: "the time of a report is its time of arrival; HARQ retransmissions are not seen \
                 apart; a UE without ten blocks or ten per cent in the last 10 s has no report",
    params: KpmConfig::params,
};

/// The description of every source.
const RADIO_DOCS: &[&MethodDoc] = &[&NO_RADIO, &JSON_LINES, &RNIS, &AMQP, &WEBSOCKET, &KPM];

kinds_config! {
    serde;
    /// The source of radio information.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum RadioConfig(RADIO_DOCS);
    "none" None = NoRadioConfig;
    "json_lines" JsonLines = JsonLinesConfig;
    "rnis" Rnis = RnisConfig;
    "amqp" Amqp = AmqpConfig;
    "websocket" Websocket = WebsocketConfig;
    "kpm" Kpm = KpmConfig;
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self::None(NoRadioConfig {})
    }
}
