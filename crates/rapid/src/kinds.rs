//! The list of controls.

use crate::config::{Config, EqualShareConfig, Loss, NoneConfig};
use crate::doc::DOCS;
use justfull_base::kinds_config;

kinds_config! {
    /// The control that shares out the radio's capacity.
    #[derive(Clone, Debug, PartialEq)]
    pub enum ControlConfig(DOCS) = Rapid;
    "none" None = NoneConfig;
    "equal_share" EqualShare = EqualShareConfig;
    "rapid" Rapid = Config;
}

impl ControlConfig {
    /// The reaction of its radio legs to a loss.
    #[must_use]
    pub const fn loss(&self) -> Loss {
        match self {
            Self::Rapid(config) => config.loss,
            Self::None(_) | Self::EqualShare(_) => Loss::Ignore,
        }
    }

    /// True if the windows of each cell always add up to at most the cell and its floors.
    #[must_use]
    pub fn keeps_to_cells(&self) -> bool {
        match self {
            Self::Rapid(config) => [Config::default(), Config::open_loop()].contains(config),
            Self::EqualShare(_) => true,
            Self::None(_) => false,
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn a_control_is_written_as_its_kind_and_an_unknown_setting_is_refused() {
        let read = |text: &str| serde_json::from_str::<ControlConfig>(text);
        for (doc, config) in DOCS.iter().zip(ControlConfig::all()) {
            assert_eq!(config.name(), doc.name);
            assert_eq!(config.validate(), Ok(()));
            assert_eq!(read(&format!("{{\"kind\": \"{}\"}}", doc.name)).ok(), Some(config));
        }
        assert_eq!(DOCS.len(), ControlConfig::all().len());
        assert!(ControlConfig::by_name("milliproxy").is_none());
        assert!(read(r#"{"kind": "rapid", "treshold": 1}"#).is_err());
        assert!(read(r#"{"kind": "none", "idle": "1s"}"#).is_err());
        assert!(read(r#"{"kind": "rapid", "idle": "2s", "cap": "whole"}"#).is_ok());
    }

    #[test]
    fn every_preset_is_valid_and_reads_back() {
        for name in Config::PRESETS {
            let config = Config::preset(name).expect("listed presets exist");
            assert_eq!(config.validate(), Ok(()));
            let text = serde_json::to_string(&config).expect("written");
            assert_eq!(serde_json::from_str(&text).ok(), Some(config));
        }
        assert!(Config::preset("sounder").is_none());
    }
}
