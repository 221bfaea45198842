//! Keys of scenarios of an earlier format: `channel.unit`, `mac.dch`, `mac.hsdpa` and a
//! `mac.carrier` without `mac.kind` stand for `mac.kind`.

use toml::{Table, Value};

/// Replaces the former keys of a scenario that has no `mac.kind`; returns a note for the user.
pub(super) fn replace(tree: &mut Table) -> Option<String> {
    let mac = match tree.get("mac") {
        None => Table::new(),
        Some(Value::Table(mac)) if !mac.contains_key("kind") => mac.clone(),
        Some(_) => return None,
    };
    let mut units: Vec<&str> = channels(tree).flat_map(units_of).collect();
    units.dedup();
    let mut found: Vec<String> = units.first().map(|_| "channel.unit".into()).into_iter().collect();
    let mut kind = match units[..] {
        [] => None,
        [unit] => Some(unit.to_string()),
        _ => return None,
    };
    let mut new = Table::new();
    for (key, value) in mac {
        match (key.as_str(), value) {
            ("dch" | "hsdpa", Value::Table(settings)) => {
                found.push(format!("mac.{key}"));
                kind = Some(key);
                new.extend(settings);
            }
            (_, value) => {
                if key == "carrier" {
                    found.push("mac.carrier".into());
                    kind = Some("rb".into());
                }
                new.insert(key, value);
            }
        }
    }
    let kind = kind?;
    let note =
        format!("{} of an earlier format is read as mac.kind = \"{kind}\"", found.join(", "));
    new.insert("kind".into(), Value::String(kind));
    tree.insert("mac".into(), Value::Table(new));
    for channel in channels_mut(tree) {
        channel.remove("unit");
        if let Some(Value::Table(quality)) = channel.get_mut("quality") {
            quality.remove("unit");
        }
    }
    Some(note)
}

/// The units that a channel and its quality state.
fn units_of(channel: &Table) -> impl Iterator<Item = &str> {
    let quality = channel.get("quality").and_then(|quality| quality.get("unit"));
    [channel.get("unit"), quality].into_iter().flatten().filter_map(Value::as_str)
}

/// The channels of the cell and of its UEs.
fn channels(tree: &Table) -> impl Iterator<Item = &Table> {
    let ues = tree.get("ue").and_then(Value::as_array).into_iter().flatten();
    let owners = std::iter::once(tree).chain(ues.filter_map(Value::as_table));
    owners.filter_map(|owner| owner.get("channel")?.as_table())
}

fn channels_mut(tree: &mut Table) -> impl Iterator<Item = &mut Table> {
    tree.iter_mut().flat_map(|(key, value)| match (key.as_str(), value) {
        ("channel", Value::Table(channel)) => vec![channel],
        ("ue", Value::Array(ues)) => {
            let ues = ues.iter_mut().filter_map(Value::as_table_mut);
            ues.filter_map(|ue| ue.get_mut("channel")?.as_table_mut()).collect()
        }
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_keys_stand_for_the_kind_of_the_mac() {
        for (text, kind, note) in [
            ("channel = { kind = 'constant', unit = 'bytes' }", "bytes", "channel.unit"),
            ("ue = [{ channel = { unit = 'packets' } }]", "packets", "channel.unit"),
            (
                "channel = { quality = { unit = 'bytes' } }\nmac = { slot = {} }",
                "bytes",
                "channel.unit",
            ),
            ("mac = { dch = { pdus = 8 } }", "dch", "mac.dch"),
            ("mac = { hsdpa = { pdus = 8 } }", "hsdpa", "mac.hsdpa"),
            (
                "channel = { unit = 'bytes' }\nmac = { carrier = { n_prb = 50 } }",
                "rb",
                "channel.unit, mac.carrier",
            ),
        ] {
            let mut tree: Table = text.parse().expect("TOML");
            let note = format!("{note} of an earlier format is read as mac.kind = \"{kind}\"");
            assert_eq!(replace(&mut tree), Some(note), "{text}");
            assert_eq!(tree["mac"]["kind"].as_str(), Some(kind), "{text}");
            assert_eq!(channels(&tree).flat_map(units_of).count(), 0, "{text}");
            if matches!(kind, "dch" | "hsdpa") {
                assert_eq!(tree["mac"]["pdus"].as_integer(), Some(8), "{text}");
            }
        }
    }

    #[test]
    fn a_scenario_with_a_kind_or_with_two_units_keeps_its_keys() {
        for text in [
            "channel = { kind = 'constant' }",
            "channel = { unit = 'bytes' }\nmac = { kind = 'packets' }",
            "channel = { unit = 'bytes' }\nue = [{ channel = { unit = 'packets' } }]",
            "channel = { unit = 'bytes' }\nmac = 7",
        ] {
            let before: Table = text.parse().expect("TOML");
            let mut tree = before.clone();
            assert_eq!(replace(&mut tree), None, "{text}");
            assert_eq!(tree, before, "{text}");
        }
    }
}
