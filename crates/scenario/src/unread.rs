//! Settings that a scenario allows but its world does not read.

use super::Scenario;
use super::error::ScenarioError;
use super::tree::{Path, get, indexed};
use justfull_ran::MacConfig;
use toml::{Table, Value};

const SINR: &str = "with channel umi the SINRs of a block's transmissions add up";
const NO_PROXY: &str =
    "without proxy.control there is no proxy; the methods Split, EqualShare and RAPID name one";
const STACKED: &str = "the queues of a stack are uplink.stack.sdap.queue and .rlc.queue";
const QUEUED: &str = "only with uplink.kind stack is there one";
const NO_CONTROL: &str = "without a control no part uses reports";
const CONTROLLED: &str = "the proxy's control sets the window";

/// The keys of a setting that a world does not read, and the reason.
pub(super) type Unread = (Vec<String>, &'static str);

/// Keys in `tree` that its world does not read, each with the reason.
pub(super) fn in_tree(tree: &Table) -> Vec<Unread> {
    let keys = |path: &str| path.split('.').map(str::to_string).collect::<Vec<_>>();
    let kind = |path: &str| get(tree, &keys(path)).and_then(Value::as_str);
    let mac = kind("mac.kind").and_then(MacConfig::by_name).unwrap_or_default();
    let mut all: Vec<Unread> = mac.unread().iter().map(|(path, why)| (keys(path), *why)).collect();
    if hears_sinr(tree) {
        all.push((keys("mac.harq.combining"), SINR));
    }
    if kind("uplink.kind") == Some("stack") {
        all.push((keys("uplink.limit"), STACKED));
    } else {
        all.push((keys("uplink.stack"), QUEUED));
    }
    all.push(match kind("proxy.control.kind") {
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

/// The reason why no method's world reads the value at `path`; none if one does. `unread` has each
/// method's tree and its unread settings.
fn unread_by_all(unread: &[(Table, Vec<Unread>)], path: &Path) -> Option<&'static str> {
    let reasons = unread.iter().map(|(tree, unread)| {
        let keys = indexed(tree, path.keys());
        unread.iter().find(|(at, _)| keys.starts_with(at)).map(|(_, why)| *why)
    });
    reasons.collect::<Option<Vec<_>>>()?.first().copied()
}

/// Notes on settings of the scenario that have no effect under any method. `unread` has each
/// method's unread settings.
pub(super) fn notes(mut unread: impl Iterator<Item = Vec<Unread>>) -> Vec<String> {
    let Some(mut all) = unread.next() else { return Vec::new() };
    unread.for_each(|unread| all.retain(|one| unread.contains(one)));
    all.into_iter().map(|(keys, why)| format!("{} has no effect: {why}", keys.join("."))).collect()
}

impl Scenario {
    /// Errors for a sweep, or for a user's setting with a new value, that no method's world reads.
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
            let Some(why) = unread_by_all(unread, &setting.path) else { continue };
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
