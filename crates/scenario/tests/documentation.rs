//! Every kind of every interface can be read by its name, with the defaults of its page, and
//! refuses unknown keys.

use justfull_base::doc::ParamDoc;
use justfull_base::param::{Form, Param};
use justfull_queue::{AqmConfig, DisciplineConfig};
use justfull_ran::channel::ChannelConfig;
use justfull_ran::limiter::LimiterConfig;
use justfull_ran::pacer::PacerConfig;
use justfull_ran::pdcp::PdcpConfig;
use justfull_ran::rb_scheduler::RbSchedulerConfig;
use justfull_ran::rlc::RlcModeConfig;
use justfull_ran::scheduler::SdapSchedulerConfig;
use justfull_ran::{CarrierConfig, HarqConfig, MacConfig, RlcConfig, SdapConfig, UpfConfig};
use justfull_run::GrantConfig;
use justfull_run::traffic::{
    AbrConfig, DashConfig, PageConfig, VideoCallConfig, VideoConfig, VoipConfig,
};
use justfull_tcp::cc::CcConfig;
use justfull_tcp::{RcConfig, ReceiverConfig, SenderConfig};
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// A value from its text on a page: a kind, a number, a list, a table, a bool, or else text.
fn value(param: &ParamDoc) -> Value {
    let written = &param.default;
    if let Form::Kinds(_) = param.form {
        return Value::Table(Table::from_iter([("kind".into(), Value::String(written.clone()))]));
    }
    // A choice may look like a number, e.g. a kernel's version.
    if let Form::Choice(_) = param.form {
        return Value::String(written.clone());
    }
    let parsed: Option<Table> = format!("x = {written}").parse().ok();
    parsed.map_or_else(
        || Value::String(written.clone()),
        |mut table| table.remove("x").expect("a key"),
    )
}

fn read<C: DeserializeOwned>(table: &Table) -> Result<C, toml::de::Error> {
    C::deserialize(table.clone())
}

/// Fails unless `base` is a configuration with these parameters and their stated defaults.
fn assert_table<C: Param + DeserializeOwned + Serialize>(
    name: &str,
    base: &Table,
    params: &[ParamDoc],
) {
    let written = |config: &C| Value::try_from(config).expect("a configuration can be written");
    let config: C = read(base).unwrap_or_else(|e| panic!("{name}: {e}"));
    if let Err(error) = config.check() {
        // Rows that a scenario or its trace must name.
        assert_eq!(error.value, "[]", "{name}: {error}");
    }
    let mut table = base.clone();
    for param in params {
        let key = format!("{name}.{}", param.name);
        assert!(
            !param.unit.is_empty() && !param.bounds.is_empty() && !param.text.is_empty(),
            "{key}"
        );
        // An omitted setting has no value; the parameters of a table have tests of their own.
        if param.default != "none" && !matches!(param.form, Form::Table(_)) {
            table.insert(param.name.into(), value(param));
        }
        assert_eq!(
            written(&read(&table).unwrap_or_else(|e| panic!("{key}: {e}"))),
            written(&config),
            "{key}"
        );
        let mut wrong = base.clone();
        wrong.insert(param.name.into(), Value::Array(vec![Value::Boolean(true)]));
        assert!(read::<C>(&wrong).is_err(), "{key} takes [true]");
    }
    table.insert("colour".into(), Value::Integer(1));
    assert!(read::<C>(&table).is_err(), "{name}: an unknown key is refused");
}

fn assert_kinds<C: Param + DeserializeOwned + Serialize>(kind: &str) {
    let Form::Kinds(docs) = C::form() else { panic!("{kind} is a list of kinds") };
    for doc in &docs {
        assert_eq!(doc.kind, kind, "{}", doc.name);
        let base = Table::from_iter([("kind".into(), Value::String(doc.name.into()))]);
        assert_table::<C>(doc.name, &base, &doc.params());
        let prose = [doc.title, doc.text, doc.sources, doc.deviations];
        assert!(prose.iter().all(|text| !text.is_empty()), "{} has an empty paragraph", doc.name);
    }
    let mut names: Vec<&str> = docs.iter().map(|doc| doc.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), docs.len(), "a name stands for one {kind}");
}

#[test]
fn every_kind_is_read_with_its_stated_defaults_and_refuses_an_unknown_key() {
    assert_kinds::<AqmConfig>("aqm");
    assert_kinds::<DisciplineConfig>("discipline");
    assert_kinds::<LimiterConfig>("limiter");
    assert_kinds::<PacerConfig>("pacer");
    assert_kinds::<SdapSchedulerConfig>("scheduler");
    assert_kinds::<RbSchedulerConfig>("resource block scheduler");
    assert_kinds::<RlcModeConfig>("RLC mode");
    assert_kinds::<ChannelConfig>("channel");
    assert_kinds::<MacConfig>("MAC");
    assert_kinds::<CcConfig>("congestion control");
    assert_kinds::<RcConfig>("rate control");
    assert_kinds::<AbrConfig>("bitrate adaptation");
}

#[test]
fn every_table_is_read_with_its_stated_defaults_and_refuses_an_unknown_key() {
    let empty = Table::new();
    assert_table::<PdcpConfig>("pdcp", &empty, &PdcpConfig::params());
    assert_table::<CarrierConfig>("carrier", &empty, &CarrierConfig::params());
    assert_table::<HarqConfig>("harq", &empty, &HarqConfig::params());
    assert_table::<ReceiverConfig>("receiver", &empty, &ReceiverConfig::params());
    assert_table::<SenderConfig>("sender", &empty, &SenderConfig::params());
    assert_table::<UpfConfig>("upf", &empty, &UpfConfig::params());
    assert_table::<SdapConfig>("sdap", &empty, &SdapConfig::params());
    assert_table::<RlcConfig>("rlc", &empty, &RlcConfig::params());
    assert_table::<VoipConfig>("voip", &empty, &VoipConfig::params());
    assert_table::<VideoConfig>("video", &empty, &VideoConfig::params());
    assert_table::<VideoCallConfig>("video_call", &empty, &VideoCallConfig::params());
    assert_table::<PageConfig>("page", &empty, &PageConfig::params());
    assert_table::<DashConfig>("dash", &empty, &DashConfig::params());
    assert_table::<GrantConfig>("grants", &empty, &GrantConfig::params());
}
