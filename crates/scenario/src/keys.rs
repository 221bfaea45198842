//! The description of a scenario's key, by its full path, from the parameters' own data.

use crate::schema::root;
use justfull_base::doc::{MethodDoc, ParamDoc};
use justfull_base::param::Form;

/// A key at a place of a scenario.
#[derive(Clone, Debug)]
pub struct Key {
    /// Kinds on the path that have it, such as `codel`; empty if all do.
    pub kinds: Vec<&'static str>,
    /// Its description.
    pub param: ParamDoc,
}

/// The keys at `path`, one for each kind with its own key there; none if there is no such key.
/// Names of list elements are optional: `flow.bulk.tcp`, `flow.0.tcp` and `flow.tcp` are one key.
#[must_use]
pub fn keys(path: &str) -> Vec<Key> {
    let parts: Vec<&str> = path.split('.').collect();
    let mut found = Vec::new();
    if !parts.contains(&"") {
        in_params(root(), &parts, &[], &mut found);
    }
    found
}

/// The paths of all keys, in order, each once.
#[must_use]
pub fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    add_params(root(), "", &mut paths);
    paths.sort_unstable();
    paths.dedup();
    paths
}

/// True if the key at `path` takes only text under each kind that has it: one of several names, or
/// free text. Times, sizes and rates do not count, although they are text with a unit.
pub(crate) fn is_text(path: &str) -> bool {
    let found = keys(path);
    let text = |key: &Key| match key.param.form {
        Form::Choice(_) => true,
        Form::Text(text) => text.pattern.is_empty(),
        _ => false,
    };
    !found.is_empty() && found.iter().all(text)
}

/// The keys directly below `form`, and its kinds with a description of each.
#[must_use]
pub fn below(form: &Form) -> (Vec<ParamDoc>, Vec<&'static MethodDoc>) {
    match form {
        Form::Table(params) => (params.clone(), Vec::new()),
        Form::Kinds(docs) => (Vec::new(), docs.clone()),
        Form::List(item, _) => below(item),
        Form::OneOf(forms) => {
            let (mut params, mut kinds) = (Vec::<ParamDoc>::new(), Vec::new());
            for (own, of_kind) in forms.iter().map(below) {
                let known = |p: &ParamDoc, all: &[ParamDoc]| all.iter().any(|q| q.name == p.name);
                let new: Vec<_> = own.into_iter().filter(|p| !known(p, &params)).collect();
                params.extend(new);
                kinds.extend(of_kind);
            }
            (params, kinds)
        }
        _ => (Vec::new(), Vec::new()),
    }
}

fn in_params(params: &[ParamDoc], parts: &[&str], kinds: &[&'static str], found: &mut Vec<Key>) {
    let [name, rest @ ..] = parts else { return };
    for param in params.iter().filter(|param| param.name == *name) {
        if rest.is_empty() {
            found.push(Key { kinds: kinds.to_vec(), param: param.clone() });
        } else {
            in_form(&param.form, rest, kinds, found);
        }
    }
}

fn in_form(form: &Form, parts: &[&str], kinds: &[&'static str], found: &mut Vec<Key>) {
    match form {
        Form::Table(params) => in_params(params, parts, kinds, found),
        Form::OneOf(forms) => forms.iter().for_each(|form| in_form(form, parts, kinds, found)),
        Form::Kinds(docs) => {
            for doc in docs {
                let kinds: Vec<_> = kinds.iter().copied().chain([doc.name]).collect();
                in_params(&doc.params(), parts, &kinds, found);
            }
        }
        Form::List(item, _) => {
            let before = found.len();
            in_form(item, parts, kinds, found);
            // The first part may be the name of the element.
            if found.len() == before && parts.len() > 1 {
                in_form(item, &parts[1..], kinds, found);
            }
        }
        Form::Map(item) if parts.len() > 1 => in_form(item, &parts[1..], kinds, found),
        _ => {}
    }
}

fn add_params(params: &[ParamDoc], above: &str, paths: &mut Vec<String>) {
    for param in params {
        let path =
            if above.is_empty() { param.name.into() } else { format!("{above}.{}", param.name) };
        add_form(&param.form, &path, paths);
        paths.push(path);
    }
}

fn add_form(form: &Form, path: &str, paths: &mut Vec<String>) {
    match form {
        Form::Table(params) => add_params(params, path, paths),
        Form::OneOf(forms) => forms.iter().for_each(|form| add_form(form, path, paths)),
        Form::Kinds(docs) => docs.iter().for_each(|doc| add_params(&doc.params(), path, paths)),
        Form::List(item, _) => add_form(item, path, paths),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(path: &str) -> Vec<(String, &'static str)> {
        keys(path).into_iter().map(|key| (key.kinds.join(" "), key.param.text)).collect()
    }

    #[test]
    fn a_key_is_found_by_its_path_with_or_without_the_name_of_an_element() {
        assert_eq!(keys("rlc.queue.limit").len(), 1);
        assert_eq!(keys("duration")[0].param.unit, "time");
        let plain = texts("flow.tcp.sender.mss");
        assert_eq!(plain.len(), 1);
        assert_eq!(texts("flow.bulk.tcp.sender.mss"), plain);
        assert_eq!(texts("flow.0.tcp.sender.mss"), plain);
        let intervals = texts("rlc.queue.aqm.interval");
        assert!(intervals.iter().any(|(kinds, _)| kinds == "codel"), "{intervals:?}");
        for none in ["", ".", "rlc.", "rlc..limit", "no-such", "rlc.queue.limit.x"] {
            assert!(keys(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn every_path_leads_to_a_key_and_has_a_sentence() {
        let all = paths();
        assert!(all.len() > 300, "{}", all.len());
        for path in &all {
            let keys = keys(path);
            assert!(!keys.is_empty(), "{path}");
            assert!(keys.iter().all(|key| !key.param.text.is_empty()), "{path}");
        }
    }

    #[test]
    fn text_is_a_value_of_no_other_form() {
        for text in ["title", "flow.bulk.name", "flow.0.tcp.sender.kernel", "tie_order"] {
            assert!(is_text(text), "{text}");
        }
        for other in ["mtu", "duration", "rlc.queue.limit", "rlc.limiter", "flow", "no-such", ""] {
            assert!(!is_text(other), "{other}");
        }
    }

    #[test]
    fn below_a_table_are_its_keys_and_below_a_choice_its_kinds() {
        let of = |path: &str| below(&keys(path)[0].param.form);
        assert!(of("rlc").0.iter().any(|param| param.name == "limiter"));
        assert!(of("rlc.limiter").1.iter().any(|doc| doc.name == "drql"));
        assert!(of("flow").0.iter().any(|param| param.name == "tcp"));
        assert!(of("mtu").0.is_empty());
    }
}
