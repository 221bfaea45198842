//! Expands bare names, which stand for a table of that kind: `scheduler = "proportional_fair"` is
//! `{ kind = "proportional_fair" }`.

use toml::{Table, Value};

/// Keys of the tables that have a `kind`.
const HOLDERS: [&str; 13] = [
    "abr",
    "aqm",
    "carrier",
    "cc",
    "channel",
    "control",
    "discipline",
    "limiter",
    "mac",
    "mode",
    "pacer",
    "scheduler",
    "uplink",
];

/// True if the table `key` has a `kind`.
pub(super) fn holds(key: &str) -> bool {
    HOLDERS.contains(&key)
}

/// Replaces all bare names in `tree` by tables.
pub(super) fn expand(tree: &mut Table) {
    for (key, value) in tree.iter_mut() {
        expand_value(key, value);
    }
}

/// Replaces `value`, found at `key`, by a table if it is a bare name; does the same for all values
/// below it.
pub(super) fn expand_value(key: &str, value: &mut Value) {
    match value {
        Value::String(name) if holds(key) => {
            let kind = Value::String(std::mem::take(name));
            *value = Value::Table(Table::from_iter([("kind".to_string(), kind)]));
        }
        Value::Table(table) => expand(table),
        Value::Array(array) => array.iter_mut().filter_map(Value::as_table_mut).for_each(expand),
        _ => {}
    }
}
