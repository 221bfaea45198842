//! The JSON Schema describes every shipped scenario, and refuses wrong types and unknown keys.
//!
//! The validator below handles the schema's keywords and fails at any other. Validator crates have
//! dependencies with licences that `deny.toml` does not allow.

use justfull_base::{BitRate, Bytes, Duration};
use justfull_queue::Limit;
use justfull_scenario::{library, schema};
use serde_json::Value;

/// The values that a text matching `pattern` can be read as.
fn is_read(pattern: &str, text: &str) -> bool {
    match pattern {
        p if p.contains("ns|us|ms") => text.parse::<Duration>().is_ok(),
        p if p.contains("bit|kbit") => text.parse::<BitRate>().is_ok(),
        p if p.contains("packets?") => text.parse::<Limit>().is_ok(),
        p if p.contains("[kMG]") => text.parse::<Bytes>().is_ok(),
        p if p.contains("A-Fa-f") => text.contains(['.', ':']),
        other => panic!("an unknown pattern: {other}"),
    }
}

fn validate(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let ok = |ok: bool, what: &str| if ok { Ok(()) } else { Err(format!("{at}: {value}: {what}")) };
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let compare = || Some((value.as_f64()?, rule.as_f64()?));
        match keyword.as_str() {
            "$schema" | "title" | "description" | "default" => {}
            "type" => ok(
                match rule.as_str().expect("a type") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    other => panic!("an unknown type: {other}"),
                },
                rule.as_str().unwrap_or_default(),
            )?,
            "const" => ok(value == rule, "another constant")?,
            "enum" => {
                ok(rule.as_array().is_some_and(|names| names.contains(value)), "none of the names")?
            }
            "pattern" => {
                let pattern = rule.as_str().expect("a pattern");
                ok(value.as_str().is_some_and(|text| is_read(pattern, text)), pattern)?;
            }
            "minimum" => ok(compare().is_none_or(|(v, r)| v >= r), "below the minimum")?,
            "maximum" => ok(compare().is_none_or(|(v, r)| v <= r), "above the maximum")?,
            "exclusiveMinimum" => {
                ok(compare().is_none_or(|(v, r)| v > r), "at or below the minimum")?
            }
            "exclusiveMaximum" => {
                ok(compare().is_none_or(|(v, r)| v < r), "at or above the maximum")?
            }
            "minItems" | "maxItems" => {
                let items = value.as_array().map_or(0, Vec::len) as u64;
                ok(rule.as_u64() == Some(items), keyword)?;
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    validate(rule, item, &format!("{at}[{i}]"))?;
                }
            }
            "properties" => {
                for (key, rule) in rule.as_object().expect("an object") {
                    value.get(key).map_or(Ok(()), |v| validate(rule, v, &format!("{at}.{key}")))?;
                }
            }
            "required" => {
                for key in rule.as_array().expect("a list").iter().filter_map(Value::as_str) {
                    ok(value.get(key).is_some(), &format!("lacks {key}"))?;
                }
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (key, item) in value.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| !known.contains_key(key)) {
                        ok(rule != &Value::Bool(false), &format!("unknown key {key}"))?;
                        validate(rule, item, &format!("{at}.{key}"))?;
                    }
                }
            }
            "anyOf" => {
                let any = rule.as_array().expect("a list").iter().map(|r| validate(r, value, at));
                let errors: Vec<String> = any.map_while(Result::err).collect();
                ok(errors.len() < rule.as_array().map_or(0, Vec::len), &errors.join("; "))?;
            }
            other => panic!("an unknown keyword: {other}"),
        }
    }
    Ok(())
}

fn read(text: &str) -> Value {
    let tree: toml::Table = text.parse().expect("TOML");
    serde_json::to_value(tree).expect("as JSON")
}

#[test]
fn every_shipped_scenario_is_valid() {
    let schema = schema::schema();
    for (name, text) in library::SCENARIOS {
        assert_eq!(validate(&schema, &read(text), name), Ok(()));
    }
}

#[test]
fn wrong_types_unknown_keys_and_numbers_out_of_bounds_are_refused() {
    const SOUND: &str = r#"
title = "t"
duration = "1s"
[channel]
kind = "constant"
[rlc.limiter]
kind = "drql"
growth = 1.5
[[flow]]
name = "f"
[flow.tcp]
"#;
    let schema = schema::schema();
    let valid = |text: &str| validate(&schema, &read(text), "scenario");
    assert_eq!(valid(SOUND), Ok(()));
    assert_eq!(
        valid(
            &SOUND.replace(
                "[rlc.limiter]\nkind = \"drql\"\ngrowth = 1.5",
                "[rlc]\nlimiter = \"drql\""
            )
        ),
        Ok(())
    );
    for (from, to) in [
        ("duration = \"1s\"", "duration = 1"),
        ("duration = \"1s\"", "duration = \"1 parsec\""),
        ("title = \"t\"", "title = \"t\"\ncolour = 1"),
        ("title = \"t\"\n", ""),
        ("kind = \"drql\"", "kind = \"drqm\""),
        ("growth = 1.5", "growth = 1.0"),
        ("growth = 1.5", "growth = 17"),
        ("growth = 1.5", "grow = 1.5"),
        ("[flow.tcp]", "[flow.tcp.sender]\nmss = 0"),
        ("[flow.tcp]", "[flow.tcp.sender]\nprr = \"fast\""),
    ] {
        assert!(SOUND.contains(from));
        assert!(valid(&SOUND.replace(from, to)).is_err(), "{from} -> {to}");
    }
}
