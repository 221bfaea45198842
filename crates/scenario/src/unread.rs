//! Settings that a scenario has a place for and its world does not read.

use super::Scenario;
use super::error::ScenarioError;
use super::tree::{Path, get, indexed};
use toml::{Table, Value};

const NO_CARRIER: &str = "only a MAC with a carrier has it";
const NO_RLC: &str = "only a MAC with a carrier, dch or hsdpa has it";
const UMTS: &str =
    "with dch and hsdpa the RLC delivers in sequence, and its PDUs count their headers";
const NO_UMTS: &str = "only a MAC with dch or hsdpa has it";
const HEADERS: &str = "with a carrier the headers of MAC, RLC and PDCP count themselves";
const SINR: &str = "with channel umi the SINRs of a block's transmissions add up";
const NO_PROXY: &str =
    "without proxy.control there is no proxy; the methods Split, EqualShare and RAPID name one";
const NO_CONTROL: &str = "without a control nobody asks for reports";
const CONTROLLED: &str = "the proxy's control sets the window";
const UNIT: &str = "with a carrier everything is counted in bytes";

/// The keys of a setting that a world does not read, and the reason.
pub(super) type Unread = (Vec<String>, &'static str);

/// Keys in `tree` that its world does not read, each with the reason.
pub(super) fn in_tree(tree: &Table) -> Vec<Unread> {
    let keys = |path: &str| path.split('.').map(str::to_string).collect::<Vec<_>>();
    let has = |path: &str| get(tree, &keys(path)).is_some();
    let mut all: Vec<Unread> = if has("mac.carrier") {
        let unread = [("mac.overhead", HEADERS), ("channel.unit", UNIT)];
        let unread = unread.into_iter().chain([("pdcp.umts_header", NO_UMTS)]);
        unread.map(|(path, why)| (keys(path), why)).collect()
    } else {
        let fixed = has("mac.dch") || has("mac.hsdpa");
        let of_umts = ["mac.overhead", "pdcp.sn_bits", "pdcp.t_reordering", "pdcp.out_of_order"];
        let of_none = ["pdcp", "mac.status_delay"];
        let of_rlc = if fixed { (&of_umts[..], UMTS) } else { (&of_none[..], NO_RLC) };
        let of_blocks = (&["mac.scheduler", "mac.harq", "mac.cqi_delay"][..], NO_CARRIER);
        let unread = [of_rlc, of_blocks].into_iter();
        unread.flat_map(|(paths, why)| paths.iter().map(move |path| (keys(path), why))).collect()
    };
    if all.iter().any(|(_, why)| *why == UNIT) {
        let ues = tree.get("ue").and_then(Value::as_array).map_or(0, Vec::len);
        all.extend((0..ues).map(|i| (keys(&format!("ue.{i}.channel.unit")), UNIT)));
    }
    if hears_sinr(tree) {
        all.push((keys("mac.harq.combining"), SINR));
    }
    let control = get(tree, &keys("proxy.control.kind")).and_then(Value::as_str);
    all.push(match control {
        None => (keys("proxy"), NO_PROXY),
        Some("none") => (keys("proxy.report"), NO_CONTROL),
        Some(_) => (keys("proxy.radio.cc"), CONTROLLED),
    });
    all.retain(|(keys, _)| get(tree, keys).is_some());
    all
}

/// All channels of `tree` have a SINR.
fn hears_sinr(tree: &Table) -> bool {
    let umi = |table: Option<&Value>| {
        table.and_then(Value::as_table).and_then(|t| t.get("kind")?.as_str()) == Some("umi")
    };
    let ues = tree.get("ue").and_then(Value::as_array);
    let own = ues.into_iter().flatten().filter_map(|ue| ue.as_table()?.get("channel"));
    umi(tree.get("channel")) && own.map(Some).all(umi)
}

/// Why no method's world reads what stands at `path`; none when one does. `unread` has each
/// method's tree and what in it is not read.
fn unread_by_all(unread: &[(Table, Vec<Unread>)], path: &Path) -> Option<&'static str> {
    let reasons = unread.iter().map(|(tree, unread)| {
        let keys = indexed(tree, path.keys());
        unread.iter().find(|(at, _)| keys.starts_with(at)).map(|(_, why)| *why)
    });
    reasons.collect::<Option<Vec<_>>>()?.first().copied()
}

/// What stands in the scenario under every method and has no effect, but for the unit, of which
/// other notes speak. `unread` is what each method does not read.
pub(super) fn notes(mut unread: impl Iterator<Item = Vec<Unread>>) -> Vec<String> {
    let Some(mut all) = unread.next() else { return Vec::new() };
    unread.for_each(|unread| all.retain(|one| unread.contains(one)));
    let told = all.into_iter().filter(|(_, why)| *why != UNIT);
    told.map(|(keys, why)| format!("{} has no effect: {why}", keys.join("."))).collect()
}

impl Scenario {
    /// A sweep, or a setting of the user that changes something, which no method's world reads. A
    /// channel's unit is accepted, since whoever goes from one MAC to another need not take it
    /// out; see [`notes`].
    pub(super) fn unread_settings(&self, unread: &[(Table, Vec<Unread>)]) -> Vec<ScenarioError> {
        let mut errors = Vec::new();
        let swept = self.base.sweep.iter().flat_map(|sweep| sweep.path.paths());
        for path in swept.filter_map(|path| path.parse::<Path>().ok()) {
            if let Some(why) = unread_by_all(unread, &path) {
                let allowed = format!("a path that the world reads: {why}");
                errors.push(self.locator.plain("sweep.path", &path.to_string(), &allowed));
            }
        }
        for (i, setting) in self.overrides.set.iter().enumerate() {
            let Some(why) = unread_by_all(unread, &setting.path).filter(|why| *why != UNIT) else {
                continue;
            };
            let mut without = self.clone();
            without.overrides.set.remove(i);
            let file = |scenario: &Self| Some(scenario.read(scenario.case(None, None)).ok()?.0);
            if file(self) != file(&without) {
                let keys = indexed(&self.tree, setting.path.keys());
                let found = "a setting that no world reads here";
                let allowed = format!("its present value: {why}");
                errors.push(ScenarioError {
                    set_by: "--set".into(),
                    at: None,
                    ..self.locator.at_keys(&keys, found, &allowed)
                });
            }
        }
        errors
    }
}
