//! The configuration for a known place, such as `justfull live --proxy`: it fills in the settings
//! that the file omits.

use crate::config::ProxyConfig;
use justfull_rapid::ControlConfig;
use justfull_trace::settings;
use serde::Serialize;

/// Values of a place for settings that the file omits.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Interface at which the UEs' connections arrive.
    pub interface: &'a str,
    /// File or named pipe with reports as lines of JSON.
    pub reports: &'a str,
    /// Socket of `justfull proxy status`, an absolute path.
    pub socket: &'a str,
    /// The control that sets the windows; none for the default.
    pub control: Option<&'a ControlConfig>,
}

/// The settings that a place fills in, in the file's structure.
#[derive(Serialize)]
struct Filled<'a> {
    select: Select<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control: Option<&'a ControlConfig>,
    radio: Radio<'a>,
    /// A UE of a live run has one address of each family, and all share a prefix.
    ues: Ues,
    operation: Operation<'a>,
    /// The end of a run is the end of its connections.
    timeouts: Timeouts,
}

#[derive(Serialize)]
struct Select<'a> {
    interfaces: [&'a str; 1],
}

#[derive(Serialize)]
struct Radio<'a> {
    kind: &'static str,
    path: &'a str,
}

#[derive(Serialize)]
struct Ues {
    ipv6_bits: u8,
}

#[derive(Serialize)]
struct Timeouts {
    drain: &'static str,
}

#[derive(Serialize)]
struct Operation<'a> {
    socket: &'a str,
}

impl ProxyConfig {
    /// The whole, checked text of a file. `text` may omit the settings of `place`: interface,
    /// source of reports, control, socket, the addresses of one UE, and the time to end.
    ///
    /// # Errors
    /// The first mistake, in words.
    pub fn complete(text: &str, place: &Place<'_>) -> Result<String, String> {
        let mut tree = settings::table(text)?;
        if let Some(pools) = tree.get("pools") {
            return Err(format!(
                "field `pools`: found {pools}, allowed is to leave it out: its UEs are at one \
                 interface"
            ));
        }
        let filled = Filled {
            select: Select { interfaces: [place.interface] },
            control: place.control,
            radio: Radio { kind: "json_lines", path: place.reports },
            ues: Ues { ipv6_bits: 128 },
            operation: Operation { socket: place.socket },
            timeouts: Timeouts { drain: "0s" },
        };
        let filled = toml::Table::try_from(filled).map_err(|e| e.to_string())?;
        for (name, own) in filled {
            let there = tree.entry(&name).or_insert_with(|| toml::Table::new().into());
            let (Some(there), toml::Value::Table(own)) = (there.as_table_mut(), own) else {
                continue;
            };
            // A table with `kind` is complete.
            if there.contains_key("kind") {
                continue;
            }
            for (key, value) in own {
                there.entry(key).or_insert(value);
            }
        }
        let text = toml::to_string(&tree).map_err(|e| e.to_string())?;
        let interfaces = Self::parse(&text)?.select.interfaces;
        if interfaces.iter().any(|name| name == place.interface) {
            return Ok(text);
        }
        Err(format!(
            "field `select.interfaces`: found {interfaces:?}, and no UE is behind those; allowed \
             is {:?}, also among others, or nothing: it is filled in",
            place.interface
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RadioConfig;

    fn complete(text: &str, control: Option<&ControlConfig>) -> Result<ProxyConfig, String> {
        let place = Place { interface: "ran", reports: "/r", socket: "/s", control };
        ProxyConfig::complete(text, &place)
            .map(|whole| ProxyConfig::parse(&whole).expect("checked"))
    }

    #[test]
    fn missing_keys_of_a_file_are_filled_in_and_its_values_hold() {
        let config = complete("", None).expect("nothing must be there");
        assert_eq!(
            (config.select.interfaces.as_slice(), config.ues.ipv6_bits),
            (&["ran".into()][..], 128)
        );
        assert_eq!((config.operation.socket.as_str(), config.radio.name()), ("/s", "json_lines"));
        assert_eq!(config.control, ControlConfig::default());
        let text = "[select]\nports = [\"80\"]\n[radio]\nkind = \"none\"\n[ues]\nipv6_bits = 64\n";
        let config = complete(text, None).expect("sound");
        assert_eq!((config.select.interfaces.len(), config.select.ports.len()), (1, 1));
        assert_eq!((config.radio, config.ues.ipv6_bits), (RadioConfig::default(), 64));
    }

    #[test]
    fn the_places_control_is_taken_where_the_file_has_none() {
        let none = ControlConfig::None(Default::default());
        assert_eq!(complete("", Some(&none)).map(|config| config.control), Ok(none.clone()));
        let own = complete("[control]\nkind = \"equal_share\"\n", Some(&none)).expect("sound");
        assert_eq!(own.control.name(), "equal_share");
    }

    #[test]
    fn a_wrong_file_is_refused_as_ever() {
        let error = complete("[timeouts]\nconnect = \"0s\"", None).expect_err("too short");
        assert!(error.contains("timeouts.connect"), "{error}");
        let error =
            complete("[select]\ninterfaces = [\"any\"]", None).expect_err("nothing is split");
        assert!(error.starts_with("field `select.interfaces`: found [\"any\"]"), "{error}");
        assert!(error.contains("allowed is \"ran\""), "{error}");
        assert!(complete("[select]\ninterfaces = [\"eth1\", \"ran\"]", None).is_ok());
        assert!(complete("[select", None).is_err_and(|error| error.starts_with("line 1")));
        assert!(complete("select = 5", None).is_err());
    }
}
