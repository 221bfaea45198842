//! Files of settings: TOML, read whole and checked against the parameters of their type before
//! anything starts.

use crate::input::{SETTINGS_LIMIT, read_text};
use crate::near::{did_you_mean, near};
use justfull_base::doc::{Form, ParamDoc};
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;
use toml::{Table, Value};

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The file.
    pub file: String,
    /// The error in words.
    pub what: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.what)
    }
}

impl std::error::Error for FileError {}

/// The settings in the file at `path`, whose text `parse` reads.
///
/// # Errors
/// The first mistake: file, field, value and allowed values.
pub fn read<T>(path: &Path, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<T, FileError> {
    let failed = |what: String| FileError { file: path.display().to_string(), what };
    let text = read_text(path, SETTINGS_LIMIT).map_err(|e| failed(e.to_string()))?;
    parse(&text).map_err(failed)
}

/// The table in the TOML `text`.
///
/// # Errors
/// The position of the first mistake, and the mistake.
pub fn table(text: &str) -> Result<Table, String> {
    text.parse().map_err(|e: toml::de::Error| {
        let before = text.get(..e.span().map_or(0, |span| span.start)).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        format!("line {line}, column {column}: {}", e.message())
    })
}

/// The settings in `tree`, whose parameters are `params`. `T` has a default for each of them. The
/// bounds of the parameters are not checked.
///
/// # Errors
/// The first unknown field with the known ones, or the first field of another type.
pub fn settings<T: DeserializeOwned>(tree: &Table, params: &[ParamDoc]) -> Result<T, String> {
    unknown(tree, params, "")?;
    tree.clone().try_into().map_err(|error: toml::de::Error| match wrong::<T>(tree, &|tree| tree) {
        Some((path, message)) => match in_words(&message) {
            (found, allowed) if allowed.is_empty() => format!("field `{path}`: {found}"),
            (found, allowed) => format!("field `{path}`: found {found}, allowed is {allowed}"),
        },
        None => error.message().trim().to_owned(),
    })
}

/// The found value and the allowed ones in the `message` of a reader, in words of TOML; all of the
/// message, and nothing, if it does not say both.
#[must_use]
pub fn in_words(message: &str) -> (String, String) {
    let Some((found, allowed)) = message.trim().split_once(", expected ") else {
        return (message.trim().to_owned(), String::new());
    };
    let value = ["invalid type: ", "invalid value: ", "unknown variant "]
        .into_iter()
        .find_map(|kind| found.strip_prefix(kind));
    let allowed = match allowed {
        "a sequence" => "a list",
        "a string" => "text in quotes",
        "a boolean" => "true or false",
        "a map" => "a table",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        other if other.starts_with("struct ") => "a table",
        other => other,
    };
    (value.unwrap_or(found).to_owned(), allowed.to_owned())
}

/// Refuses the first key that is not in `params`, and suggests similar keys.
fn unknown(tree: &Table, params: &[ParamDoc], at: &str) -> Result<(), String> {
    for (key, value) in tree {
        let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
        let Some(param) = params.iter().find(|param| param.name == key) else {
            let names: Vec<&str> = params.iter().map(|param| param.name).collect();
            return Err(format!(
                "field `{path}`: there is no such field, allowed is one of {}{}",
                names.join(", "),
                did_you_mean(&near(key, &names))
            ));
        };
        let Some(table) = value.as_table() else { continue };
        match &param.form {
            Form::Table(params) => unknown(table, params, &path)?,
            Form::Kinds(docs) => {
                let kind = table.get("kind").and_then(Value::as_str);
                let Some(doc) = docs.iter().find(|doc| Some(doc.name) == kind) else {
                    return Err(format!(
                        "field `{path}.kind`: found {}, allowed is one of {}",
                        kind.unwrap_or("nothing"),
                        param.form.allowed()
                    ));
                };
                let mut rest = table.clone();
                rest.remove("kind");
                unknown(&rest, &doc.params(), &path)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The path and the message of the first field of `entries` that `T` refuses alone, beside the
/// `kind` of its table; `whole` puts a table in the place of `entries`.
fn wrong<T: DeserializeOwned>(
    entries: &Table,
    whole: &dyn Fn(Table) -> Table,
) -> Option<(String, String)> {
    let kind = entries.get_key_value("kind");
    entries.iter().find_map(|(key, value)| {
        let alone = |value: Value| {
            let pairs = kind.into_iter().chain([(key, &value)]);
            whole(pairs.map(|(key, value)| (key.clone(), value.clone())).collect())
        };
        let error = alone(value.clone()).try_into::<T>().err()?;
        let deeper = value.as_table().and_then(|table| wrong::<T>(table, &|t| alone(t.into())));
        Some(match deeper {
            Some((path, message)) => (format!("{key}.{path}"), message),
            None => (key.clone(), error.message().trim().to_owned()),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use justfull_base::{Duration, table};
    use serde::{Deserialize, Serialize};

    table! {
        /// Time limits.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Limits with Default {
            /// For an answer.
            answer: Duration = Duration::from_secs(1);
            /// For data.
            data: Duration = Duration::from_secs(2);
        }
    }

    table! {
        /// The whole file.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Whole with Default {
            /// Time limits.
            limits: Limits = Limits::default();
            /// Name.
            name: String = String::new();
        }
    }

    fn parsed(text: &str) -> Result<Whole, String> {
        settings(&table(text)?, &Whole::params())
    }

    #[test]
    fn left_out_fields_have_their_defaults() {
        let whole = parsed("[limits]\ndata = \"9s\"").expect("valid");
        assert_eq!(
            (whole.limits.answer, whole.limits.data.as_secs_f64()),
            (Duration::from_secs(1), 9.0)
        );
        assert_eq!(parsed(""), Ok(Whole::default()));
        assert_eq!(whole.validate(), Ok(()));
    }

    #[test]
    fn the_first_mistake_is_named_with_its_place_and_what_is_allowed() {
        for (text, parts) in [
            ("name = \"a\"\n[limits", &["line 2, column "][..]),
            ("limit = 1", &["field `limit`: there is no", "limits, name; did you mean limits?"]),
            ("limits.dat = 1", &["field `limits.dat`", "answer, data; did you mean data?"]),
            ("limits.data = 1\nname = 2", &["field `limits.data`: found ", "a time with its unit"]),
            ("name = 2", &["field `name`: found integer `2`, allowed is text in quotes"]),
            ("name = []", &["field `name`: found ", ", allowed is text in quotes"]),
            ("limits = 2", &["field `limits`: found integer `2`, allowed is a table"]),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(parts.iter().all(|part| error.contains(part)), "{text}: {error}");
        }
    }

    #[test]
    fn messages_of_a_reader_become_what_was_found_and_what_is_allowed() {
        for (message, found, allowed) in [
            ("invalid type: string \"lo\", expected a sequence", "string \"lo\"", "a list"),
            (
                "invalid value: integer `-1`, expected u64",
                "integer `-1`",
                "a whole number of at least 0",
            ),
            ("unknown variant `x`, expected `pass` or `reset`", "`x`", "`pass` or `reset`"),
            ("unknown field `x`, expected one of `a`, `b`", "unknown field `x`", "one of `a`, `b`"),
            (" missing field `flow` ", "missing field `flow`", ""),
        ] {
            assert_eq!(in_words(message), (found.into(), allowed.into()), "{message}");
        }
    }

    #[test]
    fn an_error_names_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("f.toml");
        let error = read(&path, parsed).expect_err("there is none").to_string();
        assert!(error.starts_with(&format!("{}: found ", path.display())), "{error}");
        std::fs::write(&path, "nam = 1").expect("a file");
        let error = read(&path, parsed).expect_err("a wrong key").to_string();
        assert!(
            error.contains("f.toml: field `nam`: ") && error.ends_with("mean name?"),
            "{error}"
        );
    }
}
