//! The host's own rules that packets of a split connection bypass. Without the proxy, all packets
//! meet them. With the proxy, only a connection's first segment does; the host receives and sends
//! all others itself.

use super::trace::Event;
use crate::nft::{
    self, META_IIF, META_IIFNAME, META_L4PROTO, META_MARK, META_OIF, META_OIFNAME, Netfilter, TCP,
};
use nix::net::if_::if_nametoindex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

/// Hooks that forwarded packets pass: prerouting, forward and postrouting.
const FORWARDED: [u32; 3] = [0, 2, 4];
const POSTROUTING: u32 = 4;
const INPUT: u32 = 1;
const OUTPUT: u32 = 3;
const FAMILIES: [(u8, &str); 3] = [(1, "inet"), (2, "ip"), (10, "ip6")];
const OTHERS: [(u8, &str); 2] = [(5, "netdev"), (7, "bridge")];
/// Operator of a comparison.
const EQUAL: u64 = 0;
/// The protocol in a header of IPv4, and the destination's port: header and offset.
const IPV4_PROTOCOL: [u64; 2] = [1, 9];
const SERVER_PORT: [u64; 2] = [2, 2];
/// Keys of connection tracking, and the states of a split connection's packets: established, new,
/// untracked (linux/netfilter/nf_conntrack_common.h).
const CT_STATE: u64 = 0;
const CT_MARK: u64 = 3;
const STATES: u8 = 2 | 8 | 64;

/// Family, table and name.
pub(super) type Chain = (u8, String, String);

/// A rule of another program.
pub(super) struct Rule {
    pub(super) chain: Chain,
    pub(super) handle: u64,
    /// Name and attributes of each expression.
    expressions: Vec<(String, Vec<u8>)>,
}

/// All rules of other programs that forwarded packets may meet, and whether the host tracks
/// connections.
pub(super) struct Rules {
    rules: Vec<Rule>,
    base: BTreeMap<Chain, Hook>,
}

/// The packets of interest.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Where they arrive.
    pub(super) interfaces: &'a [String],
    /// Where they leave; none if anywhere.
    pub(super) leave: &'a [String],
    /// Ports of servers; none if all.
    pub(super) ports: &'a [u16],
}

/// What a rule has loaded to compare.
enum Key {
    Meta(u32),
    /// Header and offset.
    Payload([u64; 2]),
    State,
    Other,
}

impl Key {
    /// True if no packet of `scope` has this value.
    fn is_not_of(&self, value: &[u8], scope: &Scope<'_>) -> bool {
        let named = |name: &String| is_name(value, name);
        let indexed = |name: &String| is_index(value, name);
        let (arrive, leave) = (scope.interfaces, scope.leave);
        match self {
            Self::Meta(META_L4PROTO) | Self::Payload(IPV4_PROTOCOL) => value != [TCP],
            Self::Meta(META_IIFNAME) => !arrive.iter().any(named),
            Self::Meta(META_IIF) => !arrive.iter().any(indexed),
            Self::Meta(META_OIFNAME) => !leave.is_empty() && !leave.iter().any(named),
            Self::Meta(META_OIF) => !leave.is_empty() && !leave.iter().any(indexed),
            Self::Payload(SERVER_PORT) => {
                let is = |port: &u16| value == port.to_be_bytes();
                !scope.ports.is_empty() && !scope.ports.iter().any(is)
            }
            _ => false,
        }
    }
}

/// The hook of a base chain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hook {
    number: u32,
    /// The chain translates addresses.
    nat: bool,
}

fn chain_of(family: u8, bytes: &[u8], name: u16) -> Chain {
    (family, nft::text(bytes, 1), nft::text(bytes, name))
}

pub(super) fn read() -> io::Result<Rules> {
    let mut netfilter = Netfilter::open()?;
    let known = |family: &u8| FAMILIES.iter().any(|(number, _)| number == family);
    let foreign = |bytes: &[u8]| !nft::text(bytes, 1).starts_with("justfull-");
    let mut base = BTreeMap::new();
    for (family, bytes) in netfilter.list(nft::GET_CHAIN, 0, true, |_| {})? {
        let hook = nft::number(nft::attribute(&bytes, 4), 1);
        if let Some(hook) = hook.filter(|_| known(&family) && foreign(&bytes)) {
            let nat = nft::text(&bytes, 7) == "nat";
            base.insert(chain_of(family, &bytes, 3), Hook { number: hook as u32, nat });
        }
    }
    let listed = netfilter.list(nft::GET_RULE, 0, true, |_| {})?;
    let rules = listed.iter().filter(|(family, bytes)| known(family) && foreign(bytes));
    let rules = rules.map(|(family, bytes)| Rule {
        chain: chain_of(*family, bytes, 2),
        handle: nft::number(bytes, 3).unwrap_or(0),
        expressions: nft::attributes(nft::attribute(bytes, 4))
            .map(|(_, one)| (nft::text(one, 1), nft::attribute(one, 2).to_vec()))
            .collect(),
    });
    Ok(Rules { rules: rules.collect(), base })
}

impl Rules {
    /// True if they track connections.
    pub(super) fn track(&self) -> bool {
        let by = |name: &str| matches!(name, "ct" | "masq" | "nat" | "redir" | "connlimit");
        let tracks = |rule: &Rule| {
            rule.expressions.iter().any(|(name, data)| {
                let of = || nft::text(data, 1);
                by(name) || name == "match" && matches!(of().as_str(), "conntrack" | "state")
            })
        };
        self.base.values().any(|hook| hook.nat) || self.rules.iter().any(tracks)
    }

    /// The chains that packets from or to this host's own sockets meet.
    pub(super) fn local(&self) -> Vec<Chain> {
        let local = |hook: &Hook| [INPUT, OUTPUT].contains(&hook.number);
        let all = self.reached().into_iter().filter(|(_, hooks)| hooks.iter().any(local));
        all.map(|(chain, _)| chain).collect()
    }

    /// The rules of a chain, in order.
    pub(super) fn of_chain<'a>(
        &'a self,
        family: u8,
        table: &str,
        chain: &str,
    ) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| {
            (rule.chain.0, rule.chain.1.as_str(), rule.chain.2.as_str()) == (family, table, chain)
        })
    }

    /// The rule that an event is about.
    pub(super) fn of(&self, event: &Event) -> Option<&Rule> {
        self.of_chain(event.family, &event.table, &event.chain)
            .find(|rule| Some(rule.handle) == event.rule)
    }

    /// Base chains that lead to each chain: those with a rule to it, or all of its table if no rule
    /// is found (a map may lead there).
    fn reached(&self) -> BTreeMap<Chain, BTreeSet<Hook>> {
        let mut reached: BTreeMap<Chain, BTreeSet<Hook>> =
            self.base.iter().map(|(chain, hook)| (chain.clone(), [*hook].into())).collect();
        // The kernel's bound on the depth of calls between chains.
        for _ in 0..16 {
            for rule in &self.rules {
                let Some(target) = rule.target() else { continue };
                let target = (rule.chain.0, rule.chain.1.clone(), target);
                let hooks = reached.get(&rule.chain).cloned().unwrap_or_default();
                reached.entry(target).or_default().extend(hooks);
            }
        }
        for rule in &self.rules {
            if reached.get(&rule.chain).is_none_or(BTreeSet::is_empty) {
                let (family, table, _) = &rule.chain;
                let same = |chain: &Chain| (&chain.0, &chain.1) == (family, table);
                let all = self.base.iter().filter(|(chain, _)| same(chain)).map(|(_, hook)| *hook);
                let all = all.collect();
                reached.insert(rule.chain.clone(), all);
            }
        }
        reached
    }
}

impl Rule {
    /// True if it sets a packet's mark.
    pub(super) fn marks(&self) -> bool {
        self.expressions.iter().any(|(name, data)| match name.as_str() {
            "meta" => {
                nft::number(data, 3).is_some() && nft::number(data, 2) == Some(META_MARK.into())
            }
            "target" => matches!(nft::text(data, 1).as_str(), "MARK" | "CONNMARK"),
            _ => false,
        })
    }

    /// The chain named by its verdict.
    fn target(&self) -> Option<String> {
        self.verdicts().map(|verdict| nft::text(verdict, 2)).find(|chain| !chain.is_empty())
    }

    fn verdicts(&self) -> impl Iterator<Item = &[u8]> {
        let immediate = self.expressions.iter().filter(|(name, _)| name == "immediate");
        let verdicts = immediate.map(|(_, data)| nft::attribute(nft::attribute(data, 2), 2));
        verdicts.filter(|verdict| !verdict.is_empty())
    }

    /// True if it only concerns packets of other interfaces, protocols, ports or states; and true
    /// if it reads the interface at all.
    pub(super) fn about_others(&self, scope: &Scope<'_>) -> (bool, bool) {
        let (mut key, mut others, mut looks) = (Key::Other, false, false);
        for (name, data) in &self.expressions {
            let of = |kind| nft::number(data, kind).unwrap_or(u64::MAX);
            let value = || nft::attribute(nft::attribute(data, 3), 1);
            match name.as_str() {
                "meta" if nft::number(data, 1).is_some() => {
                    key = Key::Meta(of(2) as u32);
                    looks |= matches!(key, Key::Meta(META_IIF | META_IIFNAME));
                }
                "payload" if nft::number(data, 1).is_some() => key = Key::Payload([of(2), of(3)]),
                "ct" if of(2) == CT_STATE => key = Key::State,
                "bitwise" if matches!(key, Key::State) => {
                    let mask = nft::attribute(nft::attribute(data, 4), 1);
                    others |= mask.first().is_some_and(|states| states & STATES == 0);
                    key = Key::Other;
                }
                "cmp" if of(2) == EQUAL => {
                    others |= key.is_not_of(value(), scope);
                    key = Key::Other;
                }
                _ => key = Key::Other,
            }
        }
        (others, looks)
    }

    /// True if it stops packets beyond a rate, a quota or a number of connections.
    pub(super) fn limits(&self) -> bool {
        const BY: [&str; 9] = [
            "limit",
            "quota",
            "connlimit",
            "numgen",
            "hashlimit",
            "statistic",
            "connbytes",
            "recent",
            "synproxy",
        ];
        let limits = self.expressions.iter().any(|(name, data)| {
            let inside = [7, 10].into_iter().any(|kind| {
                let held = nft::attribute(data, kind);
                let names = nft::attributes(held).map(|(_, one)| nft::text(one, 1));
                names.chain([nft::text(held, 1)]).any(|name| BY.contains(&name.as_str()))
            });
            BY.contains(&name.as_str())
                || name == "match" && BY.contains(&nft::text(data, 1).as_str())
                || name == "dynset" && inside
        });
        let target = |of: &[u8]| !matches!(nft::text(of, 1).as_str(), "LOG" | "NFLOG");
        let decides = self.expressions.iter().any(|(name, data)| match name.as_str() {
            "reject" | "synproxy" => true,
            "target" => target(data),
            _ => false,
        });
        limits && (decides || self.verdicts().next().is_some())
    }

    /// The command that lets packets pass before its chain.
    pub(super) fn insert(&self, of: &str) -> String {
        let (family, table, chain) = &self.chain;
        format!("`nft insert rule {} {table} {chain} {of} accept`", family_name(*family))
    }

    /// Its name, and the command that shows it.
    pub(super) fn named(&self) -> (String, String) {
        let ((family, table, chain), handle) = (&self.chain, self.handle);
        let family = family_name(*family);
        (
            format!("rule {handle} of chain {chain} in table {family} {table}"),
            format!("nft -a list chain {family} {table} {chain}"),
        )
    }

    /// The effect of the rule that the packets of a split connection miss.
    fn does(&self, hook: Hook, looks: bool) -> Option<&'static str> {
        let Hook { number: hook, nat } = hook;
        let translates = |name: &str| matches!(name, "masq" | "nat" | "MASQUERADE" | "SNAT");
        if nat {
            let found = self.expressions.iter().any(|(name, data)| {
                translates(name) || name == "target" && translates(&nft::text(data, 1))
            });
            return (found && looks && hook == POSTROUTING)
                .then_some("translates addresses by the interface at which packets come in");
        }
        // Packets that leave this host meet these rules too, but have no interface of arrival.
        if hook == POSTROUTING && !looks {
            return None;
        }
        let decides = self.verdicts().next().is_some();
        // With another expression, a counter does not count all packets.
        let ends = decides
            || self.expressions.iter().any(|(name, data)| match name.as_str() {
                "reject" | "log" | "target" | "tproxy" | "synproxy" => true,
                // A map of verdicts.
                "lookup" => nft::number(data, 3) == Some(0),
                _ => false,
            });
        // It selects first segments, or the state of the connection.
        let about_first = self.expressions.iter().any(|(name, data)| match name.as_str() {
            "payload" => nft::number(data, 2) == Some(2) && nft::number(data, 3) == Some(13),
            "ct" => nft::number(data, 2) == Some(0),
            _ => false,
        });
        self.expressions.iter().find_map(|(name, data)| {
            let sets = |register, key, of| {
                nft::number(data, register).is_some() && nft::number(data, key) == Some(of)
            };
            match name.as_str() {
                "meta" if sets(3, 2, META_MARK.into()) => Some("sets a mark"),
                "ct" if sets(4, 2, CT_MARK) => Some("sets a mark of connections"),
                "payload" if nft::number(data, 5).is_some() => Some("rewrites headers"),
                "counter" | "objref" if !ends => Some("counts packets"),
                "quota" => Some("limits packets"),
                "limit" if decides && !about_first => Some("limits packets"),
                "queue" | "dup" | "fwd" => Some("hands packets to others"),
                "target" => match nft::text(data, 1).as_str() {
                    "MARK" => Some("sets a mark"),
                    "CONNMARK" => Some("sets a mark of connections"),
                    "DSCP" | "TOS" | "TTL" | "HL" => Some("rewrites headers"),
                    "NFQUEUE" | "TEE" => Some("hands packets to others"),
                    _ => None,
                },
                _ => None,
            }
        })
    }
}

fn is_name(value: &[u8], name: &str) -> bool {
    let end = value.iter().position(|byte| *byte == 0);
    // Without its closing zero it is a prefix: `ran*`.
    match end {
        Some(end) => &value[..end] == name.as_bytes(),
        None => name.as_bytes().starts_with(value),
    }
}

fn is_index(value: &[u8], name: &str) -> bool {
    if_nametoindex(name).is_ok_and(|index| value == index.to_ne_bytes())
}

pub(super) fn family_name(family: u8) -> &'static str {
    let mut all = FAMILIES.iter().chain(&OTHERS);
    all.find_map(|(number, name)| (*number == family).then_some(*name)).unwrap_or("?")
}

/// The first rule that the UEs' packets at `interfaces` miss when the proxy splits their
/// connections, and the command that shows it.
pub(super) fn missed(interfaces: &[String]) -> Result<String, String> {
    let rules = read().map_err(|e| crate::table::explain(&e))?;
    let scope = Scope { interfaces, leave: &[], ports: &[] };
    let reached = rules.reached();
    for rule in &rules.rules {
        let (others, looks) = rule.about_others(&scope);
        let hooks = reached.get(&rule.chain).into_iter().flatten();
        let forwarded = hooks.filter(|hook| !others && FORWARDED.contains(&hook.number));
        if let Some(what) = forwarded.filter_map(|hook| rule.does(*hook, looks)).next() {
            let (named, list) = rule.named();
            return Err(format!(
                "{named} {what}, and of a split connection only the first segment meets it \
                 (`{list}`); leave the UEs or servers that it is about out (`select.except`)"
            ));
        }
    }
    let legacy = fs::read_to_string("/proc/thread-self/net/ip_tables_names").unwrap_or_default();
    let legacy = legacy.split_whitespace().collect::<Vec<_>>().join(", ");
    Ok(match legacy.is_empty() {
        true => "first segments meet all of them, and none is about the rest".into(),
        false => {
            format!("first segments meet all; those of iptables-legacy ({legacy}) are not read")
        }
    })
}

/// True if rules of this host track connections.
pub(crate) fn track() -> bool {
    read().is_ok_and(|rules| rules.track())
}
