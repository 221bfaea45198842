//! The settings in which methods differ, in words, for tables, reports and `check`.

use super::{Job, Scenario, ScenarioError, Table, Value};
use crate::keys;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::param::Form;
use justfull_run::{CellAqmConfig, ZhugeConfig};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A method and its settings in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodSettings {
    /// Name of the method.
    pub method: String,
    /// The settings, e.g. `rlc.queue.aqm = codel (target 15ms, interval 300ms)`.
    pub settings: String,
}

/// Parameters shown even with their default values: the aims of an algorithm.
const AIMS: [&str; 3] = ["target", "interval", "limit"];
/// Number of parameters shown for an algorithm without an aim.
const FIRST: usize = 2;
/// Maximum number of paths with the same value that are named one by one.
const NAMED: usize = 3;
/// Values of a layer without an algorithm of its own.
pub(super) const PLAIN: [&str; 6] = ["", "none", "fifo", "drop_tail", "unlimited", "unpaced"];
/// Makes the descriptions of parameters.
type Params = fn() -> Vec<ParamDoc>;
/// Tables without a kind that are one value, each with its parameters.
const TABLES: [(&str, Params); 2] =
    [("uplink.cell_aqm", CellAqmConfig::params), ("uplink.zhuge", ZhugeConfig::params)];
/// Keys of a scenario that do not affect its world, and a plugin's settings, which are shown with
/// its limiter.
const ABOUT: [&str; 9] =
    ["title", "description", "methods", "seed", "runs", "sweep", "variant", "duration", "plugin"];

impl Scenario {
    /// The settings of each method that differ between methods, or that a method sets, over all
    /// points of the sweep.
    ///
    /// # Errors
    /// The fault of the scenario under a method.
    pub fn method_settings(&self) -> Result<Vec<MethodSettings>, ScenarioError> {
        let swept: Vec<&str> =
            self.base.sweep.iter().flat_map(|sweep| sweep.path.paths()).collect();
        let mut all: Vec<BTreeMap<String, Value>> = Vec::new();
        for method in self.methods() {
            let job = Job { method: method.clone(), point: 0, seed: self.seeds()[0] };
            let mut found = BTreeMap::new();
            let file = self.of_job(&job)?.0;
            let tree = Table::try_from(&file).unwrap_or_default();
            for (key, value) in tree.into_iter().filter(|(key, _)| !ABOUT.contains(&key.as_str())) {
                leaves(value, key, &mut found);
            }
            self.show_own(method, &file, &swept, &mut found);
            all.push(found);
        }
        let paths: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
        let named: Vec<&str> = self
            .methods()
            .iter()
            .filter_map(|name| self.methods.find(name))
            .flat_map(|method| method.set.iter().map(|(path, _)| path))
            .collect();
        let shown = |path: &&String| {
            let differ = all.windows(2).any(|pair| pair[0].get(*path) != pair[1].get(*path));
            let within = |other: &&str| below(other, path).is_some();
            differ || named.iter().any(within)
        };
        let paths: Vec<&String> = paths.into_iter().filter(shown).collect();
        let of = |(method, values): (&String, &BTreeMap<String, Value>)| MethodSettings {
            method: method.clone(),
            settings: in_line(&paths, values, &swept),
        };
        Ok(self.methods().iter().zip(&all).map(of).collect())
    }
}

/// The part of `path` below `above`, empty for `above` itself; none for other paths.
fn below<'a>(path: &'a str, above: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(above)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// The parameters of the table without a kind at `path`, if it is one value.
fn params_of(path: &str) -> Option<Params> {
    TABLES.iter().find(|(table, _)| *table == path).map(|(_, params)| *params)
}

/// The values below `value`; a table with a kind is one value.
fn leaves(value: Value, path: String, found: &mut BTreeMap<String, Value>) {
    match value {
        // The kind of the uplink is no algorithm: its stack has settings of its own.
        Value::Table(table)
            if params_of(&path).is_none() && !table.contains_key("kind") || path == "uplink" =>
        {
            for (key, value) in table {
                leaves(value, format!("{path}.{key}"), found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            for (i, item) in items.into_iter().enumerate() {
                let name = item.get("name").and_then(Value::as_str).map(str::to_string);
                leaves(item, format!("{path}.{}", name.unwrap_or_else(|| i.to_string())), found);
            }
        }
        other => drop(found.insert(path, other)),
    }
}

/// The values at `paths` that are not plain, each once with its paths.
fn in_line(paths: &[&String], values: &BTreeMap<String, Value>, swept: &[&str]) -> String {
    let mut shown: Vec<(String, Vec<&str>)> = Vec::new();
    for path in paths {
        let Some(value) = values.get(*path) else { continue };
        let text = in_words(path, value, swept);
        if PLAIN.contains(&&*text) {
            continue;
        }
        match shown.iter_mut().find(|(other, _)| *other == text) {
            Some((_, of)) => of.push(path),
            None => shown.push((text, vec![path])),
        }
    }
    if shown.is_empty() {
        return "as the scenario says".into();
    }
    let one = |(text, paths): (String, Vec<&str>)| {
        let more = match paths.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named: Vec<&str> = paths.into_iter().take(NAMED).collect();
        format!("{}{more} = {text}", named.join(", "))
    };
    shown.into_iter().map(one).collect::<Vec<_>>().join("; ")
}

/// `value`, found at `path`, in words: an algorithm by its name with the settings that matter; a
/// path in `swept` as swept.
pub(super) fn in_words(path: &str, value: &Value, swept: &[&str]) -> String {
    if swept.contains(&path) {
        return "swept".into();
    }
    let within: Vec<&str> = swept.iter().filter_map(|other| below(other, path)).collect();
    if let (Some(table), Some(params)) = (value.as_table(), params_of(path)) {
        return of_kind(&params(), table, &within).join(", ");
    }
    let Some((kind, table)) =
        value.as_table().and_then(|table| Some((table.get("kind")?.as_str()?, table)))
    else {
        return plain(value);
    };
    let settings: Vec<String> =
        doc(path, kind).map(|doc| of_kind(&doc.params(), table, &within)).unwrap_or_default();
    if settings.is_empty() { kind.into() } else { format!("{kind} ({})", settings.join(", ")) }
}

/// The description of the algorithm `kind` at `path`.
fn doc(path: &str, kind: &str) -> Option<&'static MethodDoc> {
    let found = keys::keys(path);
    let kinds = found.iter().flat_map(|key| keys::below(&key.param.form).1);
    kinds.into_iter().find(|doc| doc.name == kind)
}

/// The shown settings of an algorithm: its aims, and values other than the defaults.
fn of_kind(params: &[ParamDoc], table: &Table, swept: &[&str]) -> Vec<String> {
    let aims = params.iter().any(|param| AIMS.contains(&param.name));
    let is_amount = |param: &&ParamDoc| !matches!(param.form, Form::Bool | Form::Choice(_));
    let first: Vec<&str> =
        params.iter().filter(is_amount).take(FIRST).map(|param| param.name).collect();
    let one = |param: &ParamDoc| {
        if swept.contains(&param.name) {
            return Some(format!("{} swept", param.name));
        }
        let value = plain(table.get(param.name)?);
        let leads = if aims { &AIMS[..] } else { &first[..] };
        let shown = leads.contains(&param.name) || value != param.default;
        shown.then(|| format!("{} {value}", param.name))
    };
    params.iter().filter_map(one).collect()
}

/// A value in the form of parameters' defaults.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Float(number) => number.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MethodLibrary, Overrides, library};
    use std::path::Path;

    fn shown(name: &str, methods: &[&str], set: &[&str]) -> Vec<String> {
        let text = library::scenario(name).expect("it ships");
        let methods = Some(methods.iter().map(ToString::to_string).collect());
        let set = set.iter().map(|text| text.parse().expect("a setting")).collect();
        let overrides = Overrides { methods, set, ..Overrides::default() };
        let scenario = Scenario::parse(text, Path::new(name), None, overrides);
        let settings = scenario.expect("it is sound").method_settings().expect("it is sound");
        settings.into_iter().map(|of| format!("{}: {}", of.method, of.settings)).collect()
    }

    #[test]
    fn methods_of_one_kind_are_told_apart_by_their_settings() {
        let methods = ["Vanilla", "CoDel", "CoDel-RFC8289", "FQ-CoDel", "Justfull", "DRQL"];
        let expected = [
            "Vanilla: as the scenario says",
            "CoDel: rlc.queue.aqm = codel (target 15ms, interval 300ms)",
            "CoDel-RFC8289: rlc.queue.aqm = codel (target 5ms, interval 100ms)",
            "FQ-CoDel: rlc.queue.discipline = fq_codel (target 15ms, interval 300ms)",
            "Justfull: rlc.queue.discipline = fq_codel (ways 8, quantum 300B, turns by_share, target \
             15ms, interval 100ms, reserve 20ms, ceiling 45ms, deadline 90ms, dip 2s, spacing 8)",
            "DRQL: rlc.limiter = drql (hold 0s, growth 1.2)",
        ];
        assert_eq!(shown("download-pages-call", &methods, &[]), expected);
    }

    #[test]
    fn a_method_alone_is_named_with_the_settings_of_the_user() {
        let set = ["rlc.queue.aqm.target=20ms", "rlc.queue.aqm.ecn=false"];
        let expected = "CoDel: rlc.queue.aqm = codel (target 20ms, interval 300ms, ecn false)";
        assert_eq!(shown("download-pages-call", &["CoDel"], &set), [expected]);
    }

    #[test]
    fn swept_settings_are_named_as_swept() {
        let text = library::scenario("e19-one-qfi").expect("it ships");
        let methods = Some(vec!["CoDel".to_string(), "CoDel-RFC8289".into()]);
        let sweep = "rlc.queue.aqm.target=[5ms, 10ms]".parse().expect("an axis");
        let overrides = Overrides { methods, grid: vec![sweep], ..Overrides::default() };
        let read = Scenario::parse(text, Path::new("e"), None, overrides).expect("it is sound");
        let settings = read.method_settings().expect("it is sound");
        let expected = "rlc.queue.aqm = codel (target swept, interval 300ms)";
        assert_eq!(settings[0].settings, expected);
    }

    /// Every shipped method states the settings in which it differs from Vanilla, and no two
    /// methods state the same.
    #[test]
    fn every_shipped_method_says_what_no_other_says() {
        let library = MethodLibrary::shipped();
        let with_proxy = ["Split", "EqualShare", "RAPID"];
        let names: Vec<&str> =
            library.names().into_iter().filter(|name| !with_proxy.contains(name)).collect();
        let mut said: Vec<String> = Vec::new();
        for method in names {
            let text = library::scenario("live-lte").expect("it ships");
            let methods = Some(vec!["Vanilla".to_string(), method.into()]);
            let overrides = Overrides { methods, ..Overrides::default() };
            let Ok(read) = Scenario::parse(text, Path::new("l"), None, overrides) else { continue };
            let settings = read.method_settings().expect("it is sound").remove(1).settings;
            assert!(!said.contains(&settings), "{method}: {settings}");
            said.push(settings);
        }
        assert!(said.len() > 30, "{}", said.len());
    }
}
