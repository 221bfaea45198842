//! Which source of radio information there is, and its settings.

use justfull_base::doc::MethodDoc;
use justfull_base::{kinds_config, table};
use serde::{Deserialize, Serialize};

table! {
    /// The source of radio information in a file or a named pipe: a JSON object on each line.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct JsonLinesConfig with Default {
        /// The file or named pipe.
        path: String = String::new(), rule("the path of a file or a named pipe", |c| !c.path.is_empty()),
            "reports are read from it";
    }
}

table! {
    /// No reports have no settings.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct NoRadioConfig with Default {}
}

const NO_RADIO: MethodDoc = MethodDoc {
    name: "none",
    kind: "radio information",
    title: "No reports: capacity is estimated from delivery",
    text: "A UE's capacity is a multiple (`probe`) of what its flows deliver.",
    sources: "the rule for missing reports of crates/rapid",
    deviations: "none",
    params: NoRadioConfig::params,
};

const JSON_LINES: MethodDoc = MethodDoc {
    name: "json_lines",
    kind: "radio information",
    title: "Reports as JSON, one on a line, from a file that grows or a named pipe",
    text: "Each line is one report about one UE; docs/guide/rapid-in-service.md lists its keys.",
    sources: "the fields of R22 section 3.1",
    deviations: "none",
    params: JsonLinesConfig::params,
};

/// The description of every source.
const RADIO_DOCS: &[&MethodDoc] = &[&NO_RADIO, &JSON_LINES];

kinds_config! {
    serde;
    /// Where radio information comes from.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub enum RadioConfig(RADIO_DOCS);
    "none" None = NoRadioConfig;
    "json_lines" JsonLines = JsonLinesConfig;
}

impl Default for RadioConfig {
    fn default() -> Self {
        Self::None(NoRadioConfig {})
    }
}
