//! Rules that let some of the proxy's packets pass and not all: rates, quotas, counts of
//! connections. One connection alone passes them, and clients stall later.

use super::ends::Ends;
use super::rules::{Rules, Scope};
use super::trace::Event;
use std::collections::BTreeMap;

/// The first such rule of another program that a packet of the trial has met.
pub(super) fn met(rules: &Rules, events: &[Event], ends: &Ends, mark: u32) -> Option<String> {
    let sides = [&ends.ue_side, &ends.server_side, "lo"].map(ToString::to_string);
    let scope = Scope { interfaces: &sides, leave: &sides, ports: &[ends.server.port()] };
    let local = rules.local();
    // The chains that each packet has passed, and the rule that ended each.
    let mut passed: BTreeMap<_, Option<u64>> = BTreeMap::new();
    for event in events.iter().filter(|event| !event.own()) {
        let key = |chain| (event.id, event.family, event.table.as_str(), chain, event.mark);
        let ended = passed.entry(key(event.chain.as_str())).or_default();
        *ended = ended.or(event.rule.filter(|_| matches!(event.verdict, Some(0 | 1))));
        if !event.target.is_empty() {
            passed.entry(key(event.target.as_str())).or_default();
        }
    }
    let (rule, marked) =
        passed.into_iter().find_map(|((_, family, table, chain, marked), ended)| {
            let all = rules.of_chain(family, table, chain);
            let met = all.scan(false, |over, rule| {
                let now = *over;
                *over |= Some(rule.handle) == ended;
                (!now).then_some(rule)
            });
            let mut met = met.filter(|rule| {
                rule.limits() && local.contains(&rule.chain) && !rule.about_others(&scope).0
            });
            met.next().map(|rule| (rule, marked))
        })?;
    let of = match marked == mark {
        true => format!("meta mark {mark}"),
        false => "socket transparent 1".into(),
    };
    Some(format!(
        "{} lets a part of the packets pass, and without the proxy its clients' do not meet it; \
         {} lets all of the proxy's packets pass",
        rule.named().0,
        rule.insert(&of)
    ))
}
