//! The parameters of queries, and the errors of requests.

use crate::client::LONGEST_ANSWER;
use crate::types::ProblemDetails;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use justfull_net::Prefix;
use serde::Serialize;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The form of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Text,
    Texts,
    Number,
    Numbers,
    Ipv4s,
    Ipv6s,
}

/// A parameter of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) required: bool,
    pub(crate) text: &'static str,
}

const fn optional(name: &'static str, form: Form, text: &'static str) -> Parameter {
    Parameter { name, form, required: false, text }
}

const APPLICATION: Parameter =
    optional("app_ins_id", Form::Text, "The application instance of the request.");
const CELLS: Parameter = optional("cell_id", Form::Texts, "Only these cells.");
const IPV4: Parameter = optional("ue_ipv4_address", Form::Ipv4s, "Only UEs with these addresses.");
const IPV6: Parameter = optional("ue_ipv6_address", Form::Ipv6s, "Only UEs with these addresses.");
const NATED: Parameter = optional(
    "nated_ip_address",
    Form::Texts,
    "Only UEs behind these addresses: none is known to be.",
);
const TEID: Parameter = optional("gtp_teid", Form::Texts, "Only these tunnels: none is known.");
const RATE: &str = "Only bearers with this bit rate: none has one.";

/// Of `rab_info` (GS MEC 012 section 7.3).
pub(crate) const RAB_INFO: &[Parameter] = &[
    APPLICATION,
    CELLS,
    IPV4,
    IPV6,
    NATED,
    TEID,
    optional("erab_id", Form::Number, "Only bearers of this number."),
    optional("qci", Form::Number, "Only bearers of this QoS class."),
    optional("erab_mbr_dl", Form::Number, RATE),
    optional("erab_mbr_ul", Form::Number, RATE),
    optional("erab_gbr_dl", Form::Number, RATE),
    optional("erab_gbr_ul", Form::Number, RATE),
];

/// Of `plmn_info` (GS MEC 012 section 7.4).
pub(crate) const PLMN_INFO: &[Parameter] = &[Parameter {
    name: "app_ins_id",
    form: Form::Texts,
    required: true,
    text: "The application instances of the request.",
}];

/// Of `s1_bearer_info` (GS MEC 012 section 7.5).
pub(crate) const S1_BEARER_INFO: &[Parameter] = &[
    optional("temp_ue_id", Form::Texts, "Only UEs with these temporary identifiers."),
    IPV4,
    IPV6,
    NATED,
    TEID,
    CELLS,
    optional("erab_id", Form::Numbers, "Only bearers of these numbers."),
];

/// Of `layer2_meas` (GS MEC 012 section 7.5a); selection by kind of measurement is not supported.
pub(crate) const LAYER2_MEAS: &[Parameter] = &[APPLICATION, CELLS, IPV4, IPV6, NATED, TEID];

/// Of the extension's reports.
pub(crate) const RAN_REPORTS: &[Parameter] = &[IPV4, IPV6];

/// Of the list of subscriptions (GS MEC 012 section 7.6).
pub(crate) const SUBSCRIPTIONS: &[Parameter] = &[optional(
    "subscription_type",
    Form::Text,
    "`rab_est`, `rab_rel`, `cell_change` or `justfull_ran_report`.",
)];

/// The parameters that a request gave.
#[derive(Debug, Default)]
pub(crate) struct Asked(Vec<(&'static str, String)>);

impl Asked {
    /// Checks `pairs`; unknown parameters are ignored. A list may be several parameters or one with
    /// commas.
    pub(crate) fn parse(known: &[Parameter], pairs: &[(String, String)]) -> Result<Self, Problem> {
        let mut asked = Self::default();
        for (name, value) in pairs {
            let Some(parameter) = known.iter().find(|known| known.name == name) else { continue };
            let single = matches!(parameter.form, Form::Text | Form::Number);
            if single && asked.has(parameter.name) {
                return Err(Problem::new(400, format!("parameter `{name}` is given twice")));
            }
            let values: Vec<&str> =
                if single { vec![value.as_str()] } else { value.split(',').collect() };
            for value in values {
                let (sound, allowed) = match parameter.form {
                    Form::Text | Form::Texts => (true, ""),
                    Form::Number | Form::Numbers => {
                        (value.parse::<u32>().is_ok(), "a whole number from 0 to 4294967295")
                    }
                    Form::Ipv4s => (value.parse::<Ipv4Addr>().is_ok(), "an IPv4 address"),
                    Form::Ipv6s => (value.parse::<Ipv6Addr>().is_ok(), "an IPv6 address"),
                };
                if !sound {
                    return Err(Problem::new(
                        400,
                        format!("parameter `{name}`: found `{value}`, allowed is {allowed}"),
                    ));
                }
                asked.0.push((parameter.name, value.to_owned()));
            }
        }
        match known.iter().find(|known| known.required && !asked.has(known.name)) {
            Some(missing) => {
                Err(Problem::new(400, format!("parameter `{}` is missing", missing.name)))
            }
            None => Ok(asked),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// True if the request selects `value`: it gives no value for this parameter, or this one.
    pub(crate) fn admits(&self, name: &str, value: impl ToString) -> bool {
        let value = value.to_string();
        !self.has(name) || self.values(name).any(|asked| asked == value)
    }

    /// True if the request selects a UE with these addresses.
    pub(crate) fn admits_ue(&self, ue: &[Prefix]) -> bool {
        let unknown = ["nated_ip_address", "gtp_teid", "temp_ue_id"];
        let mut asked = ["ue_ipv4_address", "ue_ipv6_address"]
            .into_iter()
            .flat_map(|name| self.values(name))
            .filter_map(|value| value.parse().ok())
            .peekable();
        let all = asked.peek().is_none() && !unknown.iter().any(|name| self.has(name));
        all || asked
            .any(|address| ue.iter().any(|prefix| Prefix::of(address, prefix.bits()) == *prefix))
    }
}

/// Why a request was refused.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
}

impl Problem {
    pub(crate) fn new(status: u16, detail: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, detail: detail.into() }
    }

    #[cfg(test)]
    pub(crate) const fn status(&self) -> u16 {
        self.status.as_u16()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let details = ProblemDetails {
            title: self.status.canonical_reason().unwrap_or_default().into(),
            status: self.status.as_u16(),
            detail: self.detail,
        };
        let mut answer = written(self.status, &details);
        let headers = answer.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

/// An answer of JSON, if it is no longer than a client reads.
pub(crate) fn written(status: StatusCode, value: &impl Serialize) -> Response {
    let mut text = Text(Vec::new());
    // The types of answers can always be written, so an error is due to the length.
    match serde_json::to_writer(&mut text, value) {
        Ok(()) => (status, [(header::CONTENT_TYPE, "application/json")], text.0).into_response(),
        Err(_) => {
            let most = LONGEST_ANSWER >> 20;
            Problem::new(400, format!("the answer has more than {most} MiB: ask for fewer UEs"))
                .into_response()
        }
    }
}

/// A text of bounded length.
struct Text(Vec<u8>);

impl io::Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > LONGEST_ANSWER {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(known: &[Parameter], pairs: &[(&str, &str)]) -> Result<Asked, u16> {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Asked::parse(known, &pairs).map_err(|problem| problem.status())
    }

    #[test]
    fn parameters_are_checked_and_lists_are_read_both_ways() {
        for pairs in [
            &[("qci", "x")][..],
            &[("qci", "-1")],
            &[("qci", "1"), ("qci", "2")],
            &[("ue_ipv4_address", "10.45.0.256")],
            &[("ue_ipv6_address", "10.45.0.1")],
            &[("ue_ipv4_address", "10.45.0.1,")],
        ] {
            assert!(matches!(parse(RAB_INFO, pairs), Err(400)), "{pairs:?}");
        }
        assert!(matches!(parse(PLMN_INFO, &[]), Err(400)));
        let ue: [Prefix; 2] = ["10.45.0.1", "fd45::/64"].map(|p| p.parse().expect("a prefix"));
        for (pairs, admitted) in [
            (&[][..], true),
            (&[("other", "x")], true),
            (&[("ue_ipv4_address", "10.45.0.1,10.45.0.2")], true),
            (&[("ue_ipv4_address", "10.45.0.2"), ("ue_ipv4_address", "10.45.0.1")], true),
            (&[("ue_ipv4_address", "10.45.0.2"), ("ue_ipv6_address", "fd45::77")], true),
            (&[("ue_ipv4_address", "10.45.0.2")], false),
            (&[("ue_ipv6_address", "fd45:1::1")], false),
            (&[("gtp_teid", "1")], false),
        ] {
            let asked = parse(RAB_INFO, pairs).expect("good ones");
            assert_eq!(asked.admits_ue(&ue), admitted, "{pairs:?}");
        }
        let asked = parse(RAB_INFO, &[("qci", "9"), ("cell_id", "1,2")]).expect("good ones");
        assert!(asked.admits("qci", 9) && !asked.admits("qci", 8) && asked.admits("erab_id", 5));
        assert!(asked.admits("cell_id", "2") && !asked.admits("cell_id", "3"));
    }
}
