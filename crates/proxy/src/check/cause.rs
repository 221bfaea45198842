//! Why a packet of a trial got no further, and what lets it pass.

use super::ends::Ends;
use super::rules::{Rule, Rules, family_name};
use super::trace::{Event, Hook, Place};
use crate::config::ProxyConfig;
use justfull_net::routing::{Packet, rules_before};
use std::fs;

/// Verdicts of netfilter: dropped, taken by a rule, handed to a program.
const DROPPED: u32 = 0;
const TAKEN: u32 = 2;
const QUEUED: u32 = 3;

/// The events of the step that failed.
pub(super) struct Cause<'a> {
    pub(super) config: &'a ProxyConfig,
    pub(super) rules: &'a Rules,
    pub(super) ends: &'a Ends,
    pub(super) events: &'a [Event],
}

impl Cause<'_> {
    /// The obstacle and its remedy.
    pub(super) fn told(&self) -> String {
        let place = self.place();
        if let Some(event) = self.events.iter().find(|event| !event.own() && takes(event).is_some())
        {
            return self.by_rule(event);
        }
        match place {
            None => format!(
                "it does not come in: is {} up, and does a program there (`tc`, `nft list \
                 hooks`) drop it?",
                self.ends.ue_side
            ),
            Some(Place { hook: Hook::Prerouting, before: "" }) => self.by_route(),
            Some(place) => self.by_legacy(place),
        }
    }

    /// The last place that a packet has reached.
    fn place(&self) -> Option<Place> {
        self.events.iter().rev().find_map(Event::place)
    }

    /// A rule of nftables, or the policy of a chain.
    fn by_rule(&self, event: &Event) -> String {
        let Event { family, table, chain, .. } = event;
        let (family, did) = (family_name(*family), takes(event).unwrap_or_default());
        let what = match event.rule {
            Some(handle) => format!("rule {handle} of chain {chain}"),
            None => format!("the policy of chain {chain}"),
        };
        let before = self.events.iter().take_while(|one| !std::ptr::eq(*one, event));
        let hook = before.filter_map(Event::place).last().map(|place| place.hook);
        let mark = self.config.route.mark;
        let insert = |of: &str| format!("`nft insert rule {family} {table} {chain} {of} accept`");
        let remedy = match hook {
            _ if event.mark == mark => insert(&format!("meta mark {mark}")),
            Some(Hook::Postrouting) => insert("fib saddr type != local"),
            _ => insert("socket transparent 1"),
        };
        format!("{what} in table {family} {table} {did} it; {remedy} lets the proxy's packets pass")
    }

    /// The packet passes all rules, and is then led elsewhere.
    fn by_route(&self) -> String {
        let (mark, priority) = (self.config.route.mark, self.config.route.priority);
        let last = self.events.iter().rfind(|event| event.place().is_some());
        let marked = self.events.iter().any(|event| event.mark == mark);
        if let Some(event) = last.filter(|event| event.mark != mark && marked) {
            return self.by_mark(event.mark);
        }
        let interface = match last.map_or(0, |event| event.interfaces[0]) {
            1 => "lo",
            _ => self.ends.ue_side.as_str(),
        };
        let packet = Packet { from: self.ends.ue.ip(), to: self.ends.server.ip(), interface, mark };
        let before = rules_before(priority, &packet).unwrap_or_default();
        if let Some(rule) = before.first() {
            let less = rule.priority.saturating_sub(2);
            let remedy = match less {
                0 => format!("give it a priority after {}", priority + 1),
                _ => format!("set `route.priority = {less}`"),
            };
            return format!(
                "the rule {} of `ip rule` ({}) takes it before `route.priority` {priority}: \
                 {remedy}",
                rule.priority, rule.text
            );
        }
        "no rule of a firewall drops it and none of `ip rule` takes it: look at \
         net.ipv4.conf.*.rp_filter and net.ipv6.conf.lo.disable_ipv6"
            .into()
    }

    /// A rule has changed the mark.
    fn by_mark(&self, now: u32) -> String {
        let mark = self.config.route.mark;
        let marks = |event: &&Event| self.rules.of(event).is_some_and(Rule::marks);
        let by = self.events.iter().rev().find(marks).map(|event| {
            let Event { family, table, chain, rule, .. } = event;
            let family = family_name(*family);
            format!(
                "rule {} of chain {chain} in table {family} {table} sets mark {now:#x} on it; `nft \
                 insert rule {family} {table} {chain} meta mark {mark} accept` keeps the proxy's",
                rule.unwrap_or_default()
            )
        });
        by.unwrap_or_else(|| {
            format!("another program sets mark {now:#x} on it in place of the proxy's {mark}")
        })
    }

    /// No rule of nftables drops it between two places.
    fn by_legacy(&self, place: Place) -> String {
        let v6 = self.ends.ue.is_ipv6();
        let names = ["ip_tables_names", "ip6_tables_names"][usize::from(v6)];
        let names = fs::read_to_string(format!("/proc/thread-self/net/{names}"));
        let legacy = names.unwrap_or_default().split_whitespace().any(|name| name == place.before);
        let command = ["iptables-legacy", "ip6tables-legacy"][usize::from(v6)];
        let (chain, of) = match place.hook {
            Hook::Prerouting => ("PREROUTING", self.mark_match()),
            Hook::Input => ("INPUT", self.mark_match()),
            Hook::Output => ("OUTPUT", "-m addrtype ! --src-type LOCAL".into()),
            Hook::Postrouting => ("POSTROUTING", "-m addrtype ! --src-type LOCAL".into()),
        };
        match legacy {
            true => format!(
                "a rule of {command}, table {0}, chain {chain} drops it: `{command} -t {0} -I \
                 {chain} {of} -j ACCEPT` lets the proxy's packets pass",
                place.before
            ),
            false => format!(
                "no rule of a firewall drops it, and it ends after {chain}: look at programs at \
                 its interfaces (`tc filter`, `nft list hooks`) and at this host's routes"
            ),
        }
    }

    fn mark_match(&self) -> String {
        format!("-m mark --mark {}", self.config.route.mark)
    }
}

/// What a rule of another program does to the packet that ends its way.
fn takes(event: &Event) -> Option<&'static str> {
    match event.verdict? & 0xff {
        DROPPED => Some("drops"),
        TAKEN => Some("takes"),
        QUEUED => Some("hands a program"),
        _ => None,
    }
}
