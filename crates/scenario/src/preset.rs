//! Presets of TCP senders: settings left out beside `preset` take the preset's values.

use justfull_tcp::{Preset, SenderConfig};
use toml::{Table, Value};

/// The tree with the values of its senders' presets.
pub(super) fn filled(mut tree: Table) -> Table {
    let flows = tree.get_mut("flow").and_then(Value::as_array_mut);
    for flow in flows.into_iter().flatten().filter_map(Value::as_table_mut) {
        for kind in ["tcp", "page", "dash"] {
            let sender = flow.get_mut(kind).and_then(|traffic| traffic.get_mut("sender"));
            fill(sender.and_then(Value::as_table_mut));
        }
    }
    let radio = tree.get_mut("proxy").and_then(|proxy| proxy.get_mut("radio"));
    fill(radio.and_then(Value::as_table_mut));
    tree
}

fn fill(sender: Option<&mut Table>) {
    let Some(sender) = sender else { return };
    if sender.get("preset").and_then(Value::as_str) != Some(Preset::Ns2.name()) {
        return;
    }
    let Ok(preset) = Table::try_from(SenderConfig::ns2()) else { return };
    for (key, value) in preset {
        if !sender.contains_key(&key) {
            sender.insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ScenarioFile;
    use justfull_tcp::{Recovery, SenderConfig};

    fn sender(sender: &str) -> Result<SenderConfig, String> {
        let text = format!(
            "title = \"t\"\nduration = \"1s\"\n[channel]\nkind = \"constant\"\nper_slot = 1\n\
             [[flow]]\nname = \"f\"\ntcp = {{ sender = {sender} }}\n"
        );
        let file = ScenarioFile::of(text.parse().expect("it is TOML"));
        let flow = file.map_err(|e| e.message().to_string())?.flow.remove(0);
        Ok(flow.tcp.expect("it is a transfer").sender)
    }

    #[test]
    fn a_preset_gives_what_is_left_out_and_nothing_else() {
        assert_eq!(sender("{ preset = \"ns2\" }"), Ok(SenderConfig::ns2()));
        let own = SenderConfig { mss: 536, recovery: Recovery::Dupack, ..SenderConfig::ns2() };
        let text = "{ preset = \"ns2\", mss = 536, recovery = \"dupack\" }";
        assert_eq!(sender(text), Ok(own));
        assert_eq!(sender("{ preset = \"linux\" }"), Ok(SenderConfig::default()));
        assert_eq!(sender("{}"), Ok(SenderConfig::default()));
        let error = sender("{ preset = \"ns3\" }").expect_err("there is none");
        assert!(error.contains("ns2"), "{error}");
    }
}
