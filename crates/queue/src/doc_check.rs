//! Test helper: an algorithm's documentation against its configuration.

use justfull_base::doc::MethodDoc;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::string::{String, ToString};
use std::vec::Vec;

/// The keys and values of a JSON object in the order in which they are written.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("a configuration")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        d.deserialize_map(InOrder)
    }
}

/// Fails unless the parameters of `doc` are the keys of `config` in order, with its values as defaults.
pub(crate) fn assert_documents<C: Serialize>(doc: &MethodDoc, config: &C) {
    let text = serde_json::to_string(config).expect("a configuration can be written");
    let Fields(fields) = serde_json::from_str(&text).expect("it is an object");
    let written: Vec<(String, String)> = fields
        .into_iter()
        .map(|(key, value)| (key, value.as_str().map_or_else(|| value.to_string(), ToString::to_string)))
        .collect();
    let documented: Vec<(String, String)> =
        doc.params.iter().map(|p| (p.name.to_string(), p.default.to_string())).collect();
    assert_eq!(documented, written, "{}", doc.name);
}

#[test]
fn every_algorithm_documents_its_settings_and_defaults() {
    assert_documents(&crate::aqm::none::DOC, &crate::aqm::none::Config::default());
    assert_documents(&crate::aqm::codel::DOC, &crate::aqm::codel::Config::default());
    assert_documents(&crate::discipline::fifo::DOC, &crate::discipline::fifo::Config::default());
    assert_documents(&crate::discipline::sfq::DOC, &crate::discipline::sfq::Config::default());
    assert_documents(&crate::discipline::fq_codel::DOC, &crate::discipline::fq_codel::Config::default());
}

#[test]
fn a_scenario_file_names_the_kind_and_a_wrong_key_is_refused() {
    use crate::{AqmConfig, DisciplineConfig, QueueConfig};
    for doc in crate::AQMS {
        let text = std::format!("{{\"kind\": \"{}\"}}", doc.name);
        assert!(serde_json::from_str::<AqmConfig>(&text).is_ok(), "{text}");
        let text = std::format!("{{\"kind\": \"{}\", \"colour\": 1}}", doc.name);
        assert!(serde_json::from_str::<AqmConfig>(&text).is_err(), "{text}");
    }
    for doc in crate::DISCIPLINES {
        let text = std::format!("{{\"kind\": \"{}\"}}", doc.name);
        assert!(serde_json::from_str::<DisciplineConfig>(&text).is_ok(), "{text}");
        let text = std::format!("{{\"kind\": \"{}\", \"colour\": 1}}", doc.name);
        assert!(serde_json::from_str::<DisciplineConfig>(&text).is_err(), "{text}");
    }
    let text = r#"{"limit": "31 packets", "aqm": {"kind": "codel", "target": "15ms", "interval": "300ms"}}"#;
    let config: QueueConfig = serde_json::from_str(text).expect("as in a scenario file");
    assert_eq!(serde_json::from_str(&serde_json::to_string(&config).expect("written")).ok(), Some(config));
}
