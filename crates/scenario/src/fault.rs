//! Finds the wrong field if a scenario does not parse: the first value that its place's [`Form`]
//! does not allow.

use super::error::ScenarioError;
use super::locator::Locator;
use crate::near;
use justfull_base::doc::ParamDoc;
use justfull_base::param::Form;
use toml::{Table, Value};

/// Lists of up to this many names are shown whole, even if some names are similar to the found one.
const LISTED: usize = 12;
/// Settings that have moved: the end of the old path, and the new setting.
const MOVED: [(&[&str], &str); 4] = [
    (&["channel", "unit"], "mac.kind"),
    (&["quality", "unit"], "mac.kind"),
    (&["mac", "dch"], "mac.kind = \"dch\""),
    (&["mac", "hsdpa"], "mac.kind = \"hsdpa\""),
];

/// A value that its place does not allow.
#[derive(Debug)]
struct Mistake {
    keys: Vec<String>,
    found: String,
    allowed: String,
    /// The place does not exist.
    nowhere: bool,
}

/// The reader's message, if it is a sentence of the value's own type.
struct Said<'a> {
    message: &'a str,
    found: &'a str,
    allowed: &'a str,
    /// The path of the value, without indices.
    way: Vec<&'a str>,
}

impl<'a> Said<'a> {
    fn of(text: &'a str, message: &'a str) -> Self {
        let line = text.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`'));
        let (found, allowed) = message.split_once(", expected ").unwrap_or((message, ""));
        let found = found.split_once(": ").map_or(found, |(_, found)| found);
        Self {
            message,
            found,
            allowed,
            way: line.map(|way| way.split('.').collect()).unwrap_or_default(),
        }
    }

    /// True if the message is about the value at `keys`.
    fn is_at(&self, keys: &[String]) -> bool {
        let mut named = keys.iter().filter(|key| key.parse::<usize>().is_err());
        self.allowed.contains(' ')
            && self.way.iter().all(|key| named.next().is_some_and(|k| k == key))
    }
}

/// A walk through the tree of a scenario.
struct Walk<'a> {
    keys: Vec<String>,
    said: Said<'a>,
}

impl Walk<'_> {
    fn mistake(&self, found: &str, allowed: &str) -> Mistake {
        let (keys, found, allowed) = (self.keys.clone(), found.into(), allowed.into());
        Mistake { keys, found, allowed, nowhere: false }
    }

    /// The result of `check` one level down, at `key`.
    fn at<T>(&mut self, key: &str, check: impl FnOnce(&mut Self) -> T) -> T {
        self.keys.push(key.into());
        let found = check(self);
        self.keys.pop();
        found
    }

    /// The first mistake in `value` at a place of this `form`.
    fn value(&mut self, form: &Form, value: &Value) -> Result<(), Mistake> {
        match (form, value) {
            (Form::Any, _) | (Form::Bool, Value::Boolean(_)) => Ok(()),
            (Form::Number, Value::Integer(_) | Value::Float(_)) => Ok(()),
            (Form::Integer(least, most), Value::Integer(n))
                if n >= least && (*n < 0 || n.unsigned_abs() <= *most) =>
            {
                Ok(())
            }
            (Form::Text(text), Value::String(s)) if (text.reads)(s) => Ok(()),
            (Form::Choice(names), Value::String(name)) => self.name(name, names),
            (Form::List(item, count), Value::Array(list))
                if count.is_none_or(|count| count == list.len()) =>
            {
                let mut items = list.iter().enumerate();
                items.try_for_each(|(i, value)| self.at(&i.to_string(), |w| w.value(item, value)))
            }
            (Form::Map(item), Value::Table(table)) => {
                let mut items = table.iter();
                items.try_for_each(|(key, value)| self.at(key, |w| w.value(item, value)))
            }
            (Form::Table(params), Value::Table(table)) => self.table(params, table, ""),
            (Form::Kinds(docs), Value::Table(table)) => {
                let names: Vec<&str> = docs.iter().map(|doc| doc.name).collect();
                self.at("kind", |walk| match table.get("kind") {
                    None => {
                        Err(Mistake { nowhere: true, ..walk.mistake("nothing", &one_of(&names)) })
                    }
                    Some(kind) => walk.value(&Form::Choice(names.clone()), kind),
                })?;
                let kind = table.get("kind").and_then(Value::as_str);
                let doc = docs.iter().find(|doc| Some(doc.name) == kind);
                doc.map_or(Ok(()), |doc| self.table(&doc.params(), table, "kind"))
            }
            (Form::OneOf(forms), value) => self.any(forms, value),
            _ => Err(self.wrong(form, value)),
        }
    }

    /// The mistake of a `value` with another type than this `form`, or out of its range.
    fn wrong(&self, form: &Form, value: &Value) -> Mistake {
        let found = described(value);
        let own = matches!(form, Form::Integer(..) | Form::OneOf(_));
        if own && self.said.found == found && self.said.is_at(&self.keys) {
            return self.mistake(&found, self.said.allowed);
        }
        if let (Form::Text(own), Value::String(text)) = (form, value) {
            // The type gives the reason.
            let why = self.said.message.strip_prefix(&format!("{text:?} is not {}: ", own.words));
            let found = why.map_or_else(|| found.clone(), |why| format!("{found}, {why}"));
            return self.mistake(&found, own.words);
        }
        let allowed = match form {
            Form::Choice(_) | Form::Kinds(_) => format!("text in quotes: {}", in_words(form)),
            _ => in_words(form),
        };
        self.mistake(&found, &allowed)
    }

    /// Checks that `name` is one of `names`.
    fn name(&self, name: &str, names: &[&str]) -> Result<(), Mistake> {
        if names.contains(&name) {
            return Ok(());
        }
        Err(self.mistake(&format!("`{name}`"), &suggesting(name, names)))
    }

    /// The first mistake in a table of `params` and of the key `besides`.
    fn table(&mut self, params: &[ParamDoc], table: &Table, besides: &str) -> Result<(), Mistake> {
        for (key, value) in table.iter().filter(|(key, _)| *key != besides) {
            self.at(key, |walk| match params.iter().find(|param| param.name == key) {
                Some(param) => walk.value(&param.form, value),
                None => {
                    Err(walk
                        .unknown(key, &params.iter().map(|param| param.name).collect::<Vec<_>>()))
                }
            })?;
        }
        let lacks = params.iter().find(|p| p.required && !table.contains_key(p.name));
        lacks.map_or(Ok(()), |param| Err(self.at(param.name, |walk| walk.missing(&param.form))))
    }

    /// The first mistake in a `value` that none of these `forms` allows.
    fn any(&mut self, forms: &[Form], value: &Value) -> Result<(), Mistake> {
        let mut mistakes = Vec::new();
        for form in forms {
            match self.value(form, value) {
                Ok(()) => return Ok(()),
                Err(mistake) => mistakes.push(mistake),
            }
        }
        let Value::Table(table) = value else {
            return Err(self.wrong(&Form::OneOf(forms.to_vec()), value));
        };
        let mut tables: Vec<&[ParamDoc]> = Vec::new();
        for form in forms {
            if let Form::Table(params) = form {
                tables.push(params);
            }
        }
        if tables.is_empty() {
            let deepest = mistakes.into_iter().max_by_key(|mistake| mistake.keys.len());
            return deepest.map_or(Ok(()), Err);
        }
        self.of_all(&tables, table)?;
        let mut best = (0, tables[0]);
        for params in tables {
            let agrees = |(key, value): &(&String, &Value)| {
                params.iter().any(|p| p.name == *key && self.value(&p.form, value).is_ok())
            };
            let agreed = table.iter().filter(agrees).count();
            if agreed > best.0 {
                best = (agreed, params);
            }
        }
        self.table(best.1, table, "").map_err(|mistake| {
            // A key of another form: the reader's message names the conflicting keys.
            if mistake.nowhere && self.said.is_at(&mistake.keys) {
                let (found, allowed) = (self.said.found.into(), self.said.allowed.into());
                return Mistake { found, allowed, nowhere: false, ..mistake };
            }
            mistake
        })
    }

    /// A mistake of `table` under all of `tables`: an unknown key or an unknown name.
    fn of_all(&mut self, tables: &[&[ParamDoc]], table: &Table) -> Result<(), Mistake> {
        for (key, value) in table {
            let of_key = tables.iter().flat_map(|params| params.iter()).filter(|p| p.name == key);
            let of_key: Vec<&Form> = of_key.map(|param| &param.form).collect();
            if of_key.is_empty() {
                let mut known: Vec<&str> = tables.concat().iter().map(|param| param.name).collect();
                known.dedup();
                return Err(self.at(key, |walk| walk.unknown(key, &known)));
            }
            let names = of_key.iter().map(|form| match form {
                Form::Choice(names) => Some(&names[..]),
                _ => None,
            });
            if let (Some(names), Value::String(name)) = (names.collect::<Option<Vec<_>>>(), value) {
                self.at(key, |walk| walk.name(name, &names.concat()))?;
            }
        }
        Ok(())
    }

    fn unknown(&self, key: &str, known: &[&str]) -> Mistake {
        let is_end = |end: &[&str]| {
            let from = self.keys.len().saturating_sub(end.len());
            self.keys[from..].iter().eq(end.iter())
        };
        let allowed = match MOVED.iter().find(|(end, _)| is_end(end)) {
            Some((_, instead)) => format!("{instead} in its place"),
            None => suggesting(key, known),
        };
        Mistake { nowhere: true, ..self.mistake("an unknown field", &allowed) }
    }

    fn missing(&self, form: &Form) -> Mistake {
        let allowed = match form {
            Form::Text(text) if text.pattern.is_empty() => "a value: the field is required".into(),
            form => in_words(form),
        };
        self.mistake("nothing", &allowed)
    }
}

impl Locator {
    /// The mistake in `tree`, a table of `params`, in plain words; `error` is the reader's error.
    pub(super) fn fault(
        &self,
        tree: &Table,
        error: &toml::de::Error,
        params: &[ParamDoc],
    ) -> ScenarioError {
        let (text, message) = (error.to_string(), error.message().replace('\n', ", "));
        let said = Said::of(&text, &message);
        let mut walk = Walk { keys: Vec::new(), said };
        let mistake = walk.table(params, tree, "").err().unwrap_or_else(|| {
            // Only the reader's message describes this mistake.
            walk.keys = walk.said.way.iter().map(ToString::to_string).collect();
            let other = Some(walk.said.allowed).filter(|allowed| !allowed.is_empty());
            walk.mistake(walk.said.found, other.unwrap_or("another value"))
        });
        let Mistake { keys, found, allowed, nowhere } = mistake;
        ScenarioError { nowhere, ..self.at_keys(&keys, &found, &allowed) }
    }
}

/// A value in a message.
fn described(value: &Value) -> String {
    match value {
        Value::String(text) => format!("string {text:?}"),
        Value::Integer(n) => format!("integer `{n}`"),
        Value::Float(n) => format!("floating point `{n}`"),
        Value::Boolean(b) => format!("boolean `{b}`"),
        Value::Datetime(at) => format!("date `{at}`"),
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
    }
}

/// The values that a place of this form may hold, in words.
fn in_words(form: &Form) -> String {
    match form {
        Form::Bool => "true or false".into(),
        Form::Integer(least, most) => {
            format!("a whole number from {least} to {}", (*most).min(i64::MAX as u64))
        }
        Form::Number => "a number".into(),
        Form::Text(text) => text.words.into(),
        Form::Choice(names) => one_of(names),
        Form::List(_, None) => "a list".into(),
        Form::List(_, Some(count)) => format!("a list of {count}"),
        Form::Map(_) => "a table".into(),
        Form::Table(params) => {
            let names: Vec<&str> = params.iter().map(|param| param.name).collect();
            format!("a table of {}", one_of(&names))
        }
        Form::Kinds(docs) => one_of(&docs.iter().map(|doc| doc.name).collect::<Vec<_>>()),
        Form::OneOf(forms) => {
            let mut words: Vec<String> = forms.iter().map(in_words).collect();
            words.dedup();
            words.join(", or ")
        }
        Form::Any => "another value".into(),
    }
}

/// Names in a message.
fn one_of(names: &[&str]) -> String {
    match names {
        [] => "none: nothing can be set there".into(),
        [name] => format!("`{name}`"),
        [one, other] => format!("`{one}` or `{other}`"),
        names => format!("one of `{}`", names.join("`, `")),
    }
}

/// The `known` names; if some are similar to `name`, only these in place of a long list.
fn suggesting(name: &str, known: &[&str]) -> String {
    let near: Vec<String> =
        near::near(name, known).iter().map(|name| format!("`{name}`")).collect();
    let near: Vec<&str> = near.iter().map(String::as_str).collect();
    match near.is_empty() {
        true => one_of(known),
        false if known.len() <= LISTED => format!("{}{}", one_of(known), near::did_you_mean(&near)),
        false => format!("one of {} names{}", known.len(), near::did_you_mean(&near)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScenarioFile;

    fn fault(text: &str) -> ScenarioError {
        let tree: Table = text.parse().expect("TOML");
        let locator = Locator::new(text, "test.toml".as_ref());
        let error = ScenarioFile::read(&tree, &locator).expect_err("a mistake");
        assert!(error.at.is_some(), "{error}");
        error
    }

    const HEAD: &str = "title = \"t\"\nduration = \"1s\"\n";
    const CHANNEL: &str = "channel = { kind = \"constant\", per_slot = 4 }\n";

    #[test]
    fn a_mistake_in_a_long_list_is_found_at_its_place() {
        let head = format!("{HEAD}{CHANNEL}");
        let flows = |from: usize, to: usize| -> String {
            let flow = |i| format!("[[flow]]\nname = \"f{i}\"\ntcp = {{ size = \"1kB\" }}\n");
            (from..to).map(flow).collect()
        };
        let with = |wrong: &str| format!("{head}{}{wrong}{}", flows(0, 2500), flows(2501, 3000));
        let rows = vec!["{ kind = \"drql\", min = 1 }"; 3000].join(", ");
        for (text, field) in [
            (with("[[flow]]\nname = \"x\"\nstrat = \"1s\"\n"), "flow[2500].strat"),
            (with("[[flow]]\nname = \"x\"\ntcp = { size = 1 }\n"), "flow[2500].tcp.size"),
            (with("[[flow]]\ntcp = {}\n"), "flow[2500].name"),
            (format!("{head}[rlc]\nlimiter = [{rows}]\n{}", flows(0, 1)), "rlc.limiter"),
            (
                format!(
                    "{head}{}\n[rlc.limiter]\nrows = [{rows}]\nkind = \"dqrl\"",
                    flows(0, 3000)
                ),
                "rlc.limiter.kind",
            ),
            (head.replace("4 }", &format!("[{rows}] }}")) + &flows(0, 3000), "channel.per_slot"),
            (format!("{head}{}\n[sweep]\npath = [{rows}]", flows(0, 3000)), "sweep.path"),
            (format!("{head}{}\n[sweep]\npath = {{ a = [{rows}] }}", flows(0, 1)), "sweep.path.a"),
        ] {
            assert_eq!(fault(&text).field, field);
        }
    }

    #[test]
    fn the_old_spelling_of_a_mac_is_one_error_that_names_the_new_one() {
        let with = |lines: &str| {
            let flow = "[[flow]]\nname = \"f\"\ntcp = {}\n";
            fault(&format!("{HEAD}{lines}\n{flow}")).to_string()
        };
        let kinds = "one of `packets`, `bytes`, `rb`, `dch`, `hsdpa`";
        for old in ["mac = { carrier = { n_prb = 25 } }", "mac = { dch = { pdus = 4 } }"] {
            let error = with(&format!("{CHANNEL}{old}"));
            let said = format!("field `mac.kind`: found nothing, allowed is {kinds}");
            assert!(error.contains(&said), "{error}");
        }
        let error = with(&format!("{CHANNEL}mac = {{ kind = \"bytes\", dch = {{}} }}"));
        assert!(
            error.contains("`mac.dch`: found an unknown field, allowed is mac.kind"),
            "{error}"
        );
        let error = with("channel = { kind = \"constant\", unit = \"bytes\" }");
        assert!(
            error.contains("`channel.unit`") && error.contains("allowed is mac.kind"),
            "{error}"
        );
    }

    #[test]
    fn a_law_is_judged_by_the_form_that_it_agrees_with() {
        let with = |poll: &str| {
            fault(&format!("{HEAD}{CHANNEL}sdap = {{ poll = {{ lateness = {poll} }} }}\n"))
        };
        for (poll, field, allowed) in [
            ("{ law = \"missed\" }", "probability", "a number"),
            ("{ law = \"often\" }", "law", "one of `exact`, `uniform`, `missed`"),
            ("{ law = \"uniform\", max = 1 }", "max", "a time with its unit"),
            ("{ law = \"exact\", most = 1 }", "most", "one of"),
        ] {
            let error = with(poll);
            assert_eq!(error.field, format!("sdap.poll.lateness.{field}"));
            assert!(error.allowed.contains(allowed), "{error}");
        }
    }
}
