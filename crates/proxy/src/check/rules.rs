//! The host's own rules that packets of a split connection bypass. Without the proxy, all packets
//! meet them. With the proxy, only a connection's first segment does; the host receives and sends
//! all others itself.

use crate::nft::{self, META_IIF, META_IIFNAME, META_L4PROTO, META_MARK, Netfilter, TCP};
use nix::net::if_::if_nametoindex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

/// Hooks that forwarded packets pass: prerouting, forward and postrouting.
const FORWARDED: [u32; 3] = [0, 2, 4];
const POSTROUTING: u32 = 4;
const FAMILIES: [(u8, &str); 3] = [(1, "inet"), (2, "ip"), (10, "ip6")];
/// Operator of a comparison.
const EQUAL: u64 = 0;

type Chain = (u8, String, String);

/// A rule of another program.
struct Rule {
    chain: Chain,
    handle: u64,
    /// Name and attributes of each expression.
    expressions: Vec<(String, Vec<u8>)>,
}

/// All rules of other programs that forwarded packets may meet, and whether the host tracks
/// connections.
struct Rules {
    rules: Vec<Rule>,
    base: BTreeMap<Chain, Hook>,
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

fn read() -> io::Result<Rules> {
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
    /// The chain named by its verdict.
    fn target(&self) -> Option<String> {
        self.verdicts().map(|verdict| nft::text(verdict, 2)).find(|chain| !chain.is_empty())
    }

    fn verdicts(&self) -> impl Iterator<Item = &[u8]> {
        let immediate = self.expressions.iter().filter(|(name, _)| name == "immediate");
        let verdicts = immediate.map(|(_, data)| nft::attribute(nft::attribute(data, 2), 2));
        verdicts.filter(|verdict| !verdict.is_empty())
    }

    /// True if it only concerns packets from other interfaces, or other protocols; and true if it
    /// reads the interface at all.
    fn about_others(&self, interfaces: &[String]) -> (bool, bool) {
        let (mut key, mut others, mut looks) = (0, false, false);
        for (name, data) in &self.expressions {
            match name.as_str() {
                "meta" if nft::number(data, 1).is_some() => {
                    key = nft::number(data, 2).unwrap_or(0) as u32;
                    looks |= matches!(key, META_IIF | META_IIFNAME);
                }
                "cmp" if nft::number(data, 2) == Some(EQUAL) => {
                    let value = nft::attribute(nft::attribute(data, 3), 1);
                    others |= match key {
                        META_L4PROTO => value != [TCP],
                        META_IIFNAME => !interfaces.iter().any(|name| is_name(value, name)),
                        META_IIF => !interfaces.iter().any(|name| is_index(value, name)),
                        _ => false,
                    };
                    key = 0;
                }
                _ => key = 0,
            }
        }
        (others, looks)
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
                "ct" if nft::number(data, 4).is_some() => Some("sets a mark of connections"),
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

fn family_name(family: u8) -> &'static str {
    FAMILIES.iter().find_map(|(number, name)| (*number == family).then_some(*name)).unwrap_or("?")
}

/// The family of a table with this chain.
pub(super) fn family_of(table: &str, chain: &str) -> &'static str {
    let found = read().ok().and_then(|rules| {
        let same = |one: &&Chain| one.1 == table && one.2 == chain;
        let own = rules.rules.iter().map(|rule| &rule.chain);
        rules.base.keys().chain(own).find(same).map(|chain| chain.0)
    });
    family_name(found.unwrap_or(1))
}

/// The first rule that the UEs' packets at `interfaces` miss when the proxy splits their
/// connections, and the command that shows it.
pub(super) fn missed(interfaces: &[String]) -> Result<String, String> {
    let rules = read().map_err(|e| crate::table::explain(&e))?;
    let reached = rules.reached();
    for rule in &rules.rules {
        let (others, looks) = rule.about_others(interfaces);
        let hooks = reached.get(&rule.chain).into_iter().flatten();
        let forwarded = hooks.filter(|hook| !others && FORWARDED.contains(&hook.number));
        if let Some(what) = forwarded.filter_map(|hook| rule.does(*hook, looks)).next() {
            let ((family, table, chain), handle) = (&rule.chain, rule.handle);
            let family = family_name(*family);
            return Err(format!(
                "rule {handle} of chain {chain} in table {family} {table} {what}, and of a split \
                 connection only the first segment meets it (`nft -a list chain {family} {table} \
                 {chain}`); leave the UEs or servers that it is about out (`select.except`)"
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
    let rules = read();
    rules.is_ok_and(|rules| {
        let by = |name: &str| matches!(name, "ct" | "masq" | "nat" | "redir" | "connlimit");
        let tracks = |rule: &Rule| {
            rule.expressions.iter().any(|(name, data)| {
                let of = || nft::text(data, 1);
                by(name) || name == "match" && matches!(of().as_str(), "conntrack" | "state")
            })
        };
        rules.base.values().any(|hook| hook.nat) || rules.rules.iter().any(tracks)
    })
}
