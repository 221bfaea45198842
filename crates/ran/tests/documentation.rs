//! Every limiter, pacer, scheduler and channel documents exactly its settings and their defaults.
#![cfg(feature = "serde")]

use justfull_base::doc::MethodDoc;
use justfull_ran::channel::{self, ChannelConfig};
use justfull_ran::limiter::{self, LimiterConfig};
use justfull_ran::pacer::{self, PacerConfig};
use justfull_ran::pdcp::{self, PdcpConfig};
use justfull_ran::rb_scheduler::{self, RbSchedulerConfig};
use justfull_ran::rlc::mode::{MODE_DOCS, RlcModeConfig};
use justfull_ran::scheduler::{self, SdapSchedulerConfig};
use serde::Serialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// The keys and values of a JSON object in the order in which they are written.
struct Fields(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
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

/// A default as documentation writes it: text bare, lists with a space after each comma.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string().replace(',', ", "), String::from)
}

/// `{"kind": NAME}` is a configuration of `C` whose keys and values, after the kind, are the parameters of `doc`.
fn assert_documents<C: DeserializeOwned + Serialize>(doc: &MethodDoc) {
    let text = format!("{{\"kind\": \"{}\"}}", doc.name);
    let config: C = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let text = serde_json::to_string(&config).expect("a configuration can be written");
    let Fields(fields) = serde_json::from_str(&text).expect("it is an object");
    let found: Vec<(&str, String)> =
        fields.iter().map(|(key, value)| (key.as_str(), written(value))).collect();
    let kind = ("kind", doc.name.to_string());
    let documented: Vec<(&str, String)> =
        std::iter::once(kind).chain(doc.params.iter().map(|p| (p.name, p.default.to_string()))).collect();
    assert_eq!(documented, found, "{} {}", doc.kind, doc.name);
    let wrong = format!("{{\"kind\": \"{}\", \"colour\": 1}}", doc.name);
    assert!(serde_json::from_str::<C>(&wrong).is_err(), "a wrong key is refused: {wrong}");
}

fn assert_all<C: DeserializeOwned + Serialize>(kind: &str, docs: &[&MethodDoc]) {
    for doc in docs {
        assert_eq!(doc.kind, kind, "{}", doc.name);
        assert_documents::<C>(doc);
        let prose = [doc.title, doc.text, doc.sources, doc.deviations];
        assert!(prose.iter().all(|text| !text.is_empty()), "{} has an empty paragraph", doc.name);
    }
    let mut names: Vec<&str> = docs.iter().map(|doc| doc.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), docs.len(), "a name stands for one {kind}");
}

#[test]
fn every_limiter_documents_its_settings_and_defaults() {
    assert_all::<LimiterConfig>("limiter", limiter::DOCS);
}

#[test]
fn every_rlc_mode_documents_its_settings_and_defaults() {
    assert_all::<RlcModeConfig>("RLC mode", MODE_DOCS);
}

#[test]
fn pdcp_documents_its_settings_and_defaults() {
    let text = serde_json::to_string(&PdcpConfig::default()).expect("a configuration can be written");
    let Fields(fields) = serde_json::from_str(&text).expect("it is an object");
    let found: Vec<(&str, String)> =
        fields.iter().map(|(key, value)| (key.as_str(), written(value))).collect();
    let documented: Vec<(&str, String)> =
        pdcp::DOC.params.iter().map(|p| (p.name, p.default.to_string())).collect();
    assert_eq!(documented, found);
    assert!(serde_json::from_str::<PdcpConfig>("{\"colour\": 1}").is_err(), "a wrong key is refused");
}

#[test]
fn every_pacer_documents_its_settings_and_defaults() {
    assert_all::<PacerConfig>("pacer", pacer::DOCS);
}

#[test]
fn every_scheduler_documents_its_settings_and_defaults() {
    assert_all::<SdapSchedulerConfig>("scheduler", scheduler::DOCS);
}

#[test]
fn every_resource_block_scheduler_documents_its_settings_and_defaults() {
    assert_all::<RbSchedulerConfig>("resource block scheduler", rb_scheduler::DOCS);
}

#[test]
fn every_channel_documents_its_settings_and_defaults() {
    assert_all::<ChannelConfig>("channel", &channel::DOCS);
}

#[test]
fn every_variant_of_a_choice_is_in_the_list_that_explains_it() {
    let name = |value: Value| value["kind"].as_str().map(String::from).expect("a kind");
    let names = |docs: &[&MethodDoc]| docs.iter().map(|d| d.name.to_string()).collect::<Vec<_>>();
    use justfull_ran::{limiter as l, pacer as p, scheduler as s};
    let limiters = [
        LimiterConfig::Unlimited(l::UnlimitedConfig {}),
        LimiterConfig::Fixed(l::FixedConfig::default()),
        LimiterConfig::DynRlc(l::DynRlcConfig::default()),
        LimiterConfig::Drql(l::DrqlConfig::default()),
        LimiterConfig::Dql(l::DqlConfig::default()),
        LimiterConfig::Bdp5g(l::Bdp5gConfig::default()),
        LimiterConfig::EBdp5g(l::EBdp5gConfig::default()),
        LimiterConfig::LastPoll(l::LastPollConfig::default()),
        LimiterConfig::Clairvoyant(l::ClairvoyantConfig {}),
    ];
    let found: Vec<_> = limiters.iter().map(|c| name(serde_json::to_value(c).expect("written"))).collect();
    assert_eq!(found, names(limiter::DOCS));
    let pacers = [
        PacerConfig::Unpaced(p::UnpacedConfig {}),
        PacerConfig::Usp(p::UspConfig::default()),
        PacerConfig::Clairvoyant(p::ClairvoyantPacerConfig {}),
    ];
    let found: Vec<_> = pacers.iter().map(|c| name(serde_json::to_value(c).expect("written"))).collect();
    assert_eq!(found, names(pacer::DOCS));
    let schedulers = [
        SdapSchedulerConfig::Fifo(s::FifoConfig {}),
        SdapSchedulerConfig::RoundRobin(s::RoundRobinConfig {}),
        SdapSchedulerConfig::StrictPriority(s::StrictPriorityConfig {}),
        SdapSchedulerConfig::Drr(s::DrrConfig::default()),
    ];
    let found: Vec<_> = schedulers.iter().map(|c| name(serde_json::to_value(c).expect("written"))).collect();
    assert_eq!(found, names(scheduler::DOCS));
    use justfull_ran::rb_scheduler as rb;
    let blocks = [
        RbSchedulerConfig::FixedPartition(rb::FixedPartitionConfig::default()),
        RbSchedulerConfig::RoundRobin(rb::RbRoundRobinConfig::default()),
        RbSchedulerConfig::ProportionalFair(rb::ProportionalFairConfig::default()),
        RbSchedulerConfig::Eqp(rb::EqpConfig::default()),
    ];
    let found: Vec<_> = blocks.iter().map(|c| name(serde_json::to_value(c).expect("written"))).collect();
    assert_eq!(found, names(rb_scheduler::DOCS));
}
