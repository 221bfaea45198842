//! The rules of a host that stands by for another host. They reset connections that this host
//! neither has nor saw begin.

use super::{MOST_DIVERTED, of_family};
use crate::config::SelectConfig;
use crate::nft::{self, Batch, Family, GOTO, JUMP, META_IIFNAME, META_OIFNAME, RETURN, SetAction};

/// The chains for segments of unknown connections. Names with `up` are for segments from a UE,
/// names with `down` for segments to a UE.
pub(super) const CHAINS: [&str; 5] = ["reset", "ports-up", "lost-up", "ports-down", "lost-down"];
const LOST: [&str; 2] = ["lost-up", "lost-down"];
const PORTS: [&str; 2] = ["ports-up", "ports-down"];
/// The set of connections that began on this host and pass unsplit.
const UNSPLIT: &str = "unsplit";
/// The set with a flag. The flag stands if a connection began while [`UNSPLIT`] was full. While it
/// stands, nothing is reset: segments of such a connection look like segments of a lost connection.
const FULL: &str = "full";
/// Lifetime of an entry after the last segment, in milliseconds (RFC 5382 REQ-5).
const UNSPLIT_FOR: u64 = 7_440_000;
/// The counter of segments that were answered with a reset.
pub(super) const RESETS: &str = "resets";

/// Makes the sets, the counter and the chains that [`rules`] needs.
pub(super) fn prepare(batch: &mut Batch, family: &Family) {
    batch.set(UNSPLIT, family, MOST_DIVERTED, UNSPLIT_FOR);
    batch.set(FULL, family, 1, UNSPLIT_FOR);
    batch.counter(RESETS);
    CHAINS.into_iter().for_each(|chain| batch.chain(chain, None));
}

/// Adds the rules. They follow the rules that divert first segments, so a first segment that
/// reaches them passes unsplit.
pub(super) fn rules(batch: &mut Batch, family: &Family, select: &SelectConfig) {
    for (from_ue, key) in [(true, META_IIFNAME), (false, META_OIFNAME)] {
        let chain = LOST[usize::from(!from_ue)];
        for interface in &select.interfaces {
            let at = |r: nft::Expressions| r.interface(key, interface);
            // Later fragments of an IP packet match neither rule: they have no TCP header.
            batch.rule("forward", |r| at(r).first().verdict(JUMP, chain));
            batch.rule("forward", |r| at(r).not_first().verdict(JUMP, chain));
        }
        remember(batch, family, chain, from_ue);
        selection(batch, family, select, from_ue);
    }
    batch.rule("reset", |r| r.counted(RESETS).copy_on(family).answer_with_reset());
}

/// Adds the rules that remember connections and let their segments pass.
fn remember(batch: &mut Batch, family: &Family, chain: &str, from_ue: bool) {
    let update = SetAction::Update;
    batch.rule(chain, |r| r.reset().verdict(RETURN, ""));
    batch.rule(chain, |r| {
        r.first().change_set_by(family, UNSPLIT, update, from_ue).verdict(RETURN, "")
    });
    // The set is full.
    batch.rule(chain, |r| r.first().raise(family, FULL).verdict(RETURN, ""));
    batch.rule(chain, |r| {
        r.in_set_by(family, UNSPLIT, from_ue)
            .change_set_by(family, UNSPLIT, update, from_ue)
            .verdict(RETURN, "")
    });
    batch.rule(chain, |r| r.raised(family, FULL).verdict(RETURN, ""));
}

/// Adds the rules that apply the selection of first segments to all segments from or to a UE.
fn selection(batch: &mut Batch, family: &Family, select: &SelectConfig, from_ue: bool) {
    let at = usize::from(!from_ue);
    let (chain, then) = (LOST[at], PORTS[at]);
    for (address, bits) in of_family(family, &select.except) {
        for source in [true, false] {
            batch.rule(chain, |r| r.prefix(family, source, &address, bits).verdict(RETURN, ""));
        }
    }
    for (address, bits) in of_family(family, &select.ues) {
        batch.rule(chain, |r| r.prefix(family, from_ue, &address, bits).verdict(GOTO, then));
    }
    if select.ues.is_empty() {
        batch.rule(chain, |r| r.verdict(GOTO, then));
    }
    for ports in &select.ports {
        batch.rule(then, |r| r.ports(!from_ue, ports.first, ports.last).verdict(GOTO, "reset"));
    }
    if select.ports.is_empty() {
        batch.rule(then, |r| r.verdict(GOTO, "reset"));
    }
}
