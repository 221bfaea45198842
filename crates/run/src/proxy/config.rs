//! Settings of a split proxy.

use justfull_base::bounds::key;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::error::ensure;
use justfull_base::param::{Form, Param, written_table};
use justfull_base::{Bytes, ConfigError, Duration, Instant, table};
use justfull_rapid::ControlConfig;
use justfull_tcp::SenderConfig;
use serde::{Deserialize, Serialize};

/// An hour: longer than any useful age of a report.
const HOUR: Duration = Duration::from_secs(3_600);

table! {
    /// Settings of a proxy that splits TCP connections in front of the UPF.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ProxyConfig with Default {
        /// The control that divides the radio's capacity among the flows. Left out: no proxy. The
        /// methods Split, EqualShare and RAPID set it; a scenario has the other settings.
        #[serde(skip_serializing_if = "Option::is_none")]
        control: Option<ControlConfig> = None;
        /// From the proxy to a server, on the way back: UE to proxy takes uplink.delay less it.
        /// Left out: core.delay.
        #[serde(skip_serializing_if = "Option::is_none")]
        wan_delay: Option<Duration> = None, stated("at most uplink.delay");
        /// Bytes of a flow that the proxy has taken from the server and the UE has not
        /// acknowledged, at most. When they are there, the server's window is closed.
        buffer: Bytes = Bytes(10_000_000),
            within(Bytes(1), Bytes(1 << 30)).and("at least one MSS of each flow", |_| true),
            "RFC 7323 section 2.3: no window is larger";
        /// The sender of the radio leg. Its MSS is the flow's own where that is smaller; its
        /// congestion control counts without a control of the proxy (none): any other sets the
        /// window.
        radio: SenderConfig = SenderConfig::default();
        /// The way of the radio's reports to the proxy.
        report: ReportConfig = ReportConfig::default();
    }
}

impl ProxyConfig {
    /// True if there is a proxy.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        self.control.is_some()
    }

    /// Checks the bounds that depend on the whole world: its delays, its MTU and the MSS of its
    /// proxied flows.
    pub fn fits(
        &self,
        core: Duration,
        uplink: Duration,
        mtu: u32,
        largest_mss: u32,
    ) -> Result<(), ConfigError> {
        let wan = self.wan_delay.unwrap_or(core);
        let why = "UE to proxy takes the rest of uplink.delay";
        let found = match self.wan_delay {
            Some(delay) => delay.to_string(),
            None => format!("{core}, that of the core"),
        };
        let allowed = format!("at most uplink.delay, {uplink}");
        ensure(wan <= uplink, "wan_delay", &found, &allowed, why)?;
        let least = u64::from(largest_mss);
        let allowed = format!("at least one MSS, {least}B");
        ensure(self.buffer.0 >= least, "buffer", &self.buffer, &allowed, "a segment must fit")?;
        let mss = self.radio.mss;
        let most = mtu.saturating_sub(self.radio.header);
        let bound = format!("1 to the MTU less {}B of headers, {most}", self.radio.header);
        ensure(mss <= most, "radio.mss", &mss, &bound, "no IP fragmentation is modelled")
    }
}

table! {
    /// Settings of the way of reports from the cell to the proxy.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct ReportConfig with Default {
        /// Time between two reports about a UE. Where that is shorter than a slot, one report
        /// comes after each slot.
        period: Duration = Duration::from_millis(1),
            within(Duration::from_micros(10), Duration::from_secs(60)), "a report covers slots";
        /// From a report's making to its arrival.
        delay: Duration = Duration::ZERO, at_most(HOUR), "a report arrives";
        /// Random extra delay, from 0 to this: reports may overtake each other.
        jitter: Duration = Duration::ZERO, at_most(HOUR), "a report arrives";
        /// Share of reports that do not arrive.
        loss: f64 as "ratio" = 0.0, within(0.0, 1.0), "a share";
        /// Times during which no report is sent.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        stops: Vec<Stop> = Vec::new();
        /// Factor on blocks and bytes: above 1, the radio claims more than it has.
        factor: f64 as "factor" = 1.0, within(0.01, 100.0), "an error, not nonsense";
    }
}

/// A time during which no report is sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// Start of this time.
    pub from: Duration,
    /// Length of this time.
    #[serde(rename = "for")]
    pub lasts: Duration,
}

impl Stop {
    /// True during this time.
    pub fn covers(&self, now: Instant) -> bool {
        let from = Instant::ZERO + self.from;
        now >= from && now.since(from) < self.lasts
    }
}

impl Param for Stop {
    const UNIT: &'static str = "table";

    fn form() -> Form {
        let from: ParamDoc = key::<Duration>("from", "When it begins.");
        Form::Table(vec![from, key::<Duration>("for", "How long it lasts.")])
    }

    fn written(&self) -> String {
        written_table(&[("from", self.from.written()), ("for", self.lasts.written())])
    }
}

/// Description.
pub const DOC: MethodDoc = MethodDoc {
    name: "proxy",
    kind: "proxy",
    title: "A proxy in front of the UPF that splits TCP connections",
    text: "Each proxied flow is two connections: from the server to the proxy, and from there \
           over the radio. The proxy offers the server as much as its control allows and its \
           buffer holds, and sends towards the UE with the window of its control, or with a \
           congestion control of its own (none). Reports of the radio reach it over a way with a \
           period, a delay, losses and stops. TCP transfers to UEs are proxied unless they say \
           `proxied = false`; datagrams, uploads and pages pass by. Without `control` there is no \
           proxy. The round trip through an empty network is what it is without a proxy.",
    sources: "R22 sections 3 and 5; RFC 3135 (PEP), RFC 7323 (timestamps)",
    deviations: "no handshake: until the first round trip is measured a flow has the first window \
                 of its control. The proxied flows of servers at one distance share a link of \
                 `core.rate`, beside that of the others.",
    params: ProxyConfig::params,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_valid_and_no_proxy_and_each_wrong_setting_is_named() {
        let base = ProxyConfig::default();
        assert!(base.validate().is_ok() && !base.is_there());
        let refused = |change: fn(&mut ProxyConfig)| {
            let mut config = ProxyConfig::default();
            change(&mut config);
            config.validate().map_err(|e| e.field).err()
        };
        assert_eq!(refused(|c| c.buffer = Bytes(0)), Some("buffer".into()));
        assert_eq!(refused(|c| c.report.period = Duration::ZERO), Some("report.period".into()));
        assert_eq!(refused(|c| c.report.loss = 1.1), Some("report.loss".into()));
        assert_eq!(refused(|c| c.report.factor = 0.0), Some("report.factor".into()));
        assert_eq!(refused(|c| c.radio.mss = 0), Some("radio.mss".into()));
    }

    #[test]
    fn a_proxy_must_fit_between_ue_and_server_and_hold_a_segment() {
        let ms = Duration::from_millis;
        let fits = |config: &ProxyConfig, core, uplink| {
            config.fits(core, uplink, 1500, 1448).map_err(|e| e.field)
        };
        let base = ProxyConfig::default();
        assert_eq!(fits(&base, ms(5), ms(5)), Ok(()));
        assert_eq!(fits(&base, ms(5), ms(4)), Err("wan_delay".into()));
        let near = ProxyConfig { wan_delay: Some(ms(4)), ..base.clone() };
        assert_eq!(fits(&near, ms(5), ms(4)), Ok(()));
        let small = ProxyConfig { buffer: Bytes(1447), ..base };
        assert_eq!(fits(&small, ms(5), ms(5)), Err("buffer".into()));
    }
}
