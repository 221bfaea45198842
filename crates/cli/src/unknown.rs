//! Names that do not exist, with similar names, and tips on wrong arguments: options that are
//! settings of scenarios, values below 0, and values that are no whole numbers.

use crate::failure::Failure;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use justfull_scenario::{keys, near};

pub(crate) fn name(name: &str, known: &[&str], otherwise: &str) -> Failure {
    Failure::Usage(format!(
        "name: found {}, allowed is {}",
        shown(name),
        near::allowed(name, known, otherwise)
    ))
}

/// A found text in a message; an empty one is a pair of quotes.
pub(crate) fn shown(found: &str) -> &str {
    if found.is_empty() { "\"\"" } else { found }
}

/// `error` of `cli`, with a tip if one matches the user's intent.
pub(crate) fn with_tip(error: Error, cli: &Command) -> Error {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    tipped(error, cli, &words)
}

fn tipped(mut error: Error, cli: &Command, words: &[String]) -> Error {
    if let Some(tip) = tip(&error, cli, words) {
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
        error.remove(ContextKind::SuggestedArg);
    } else if let Some(name) = listed(&error, cli, words) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(name));
    }
    error
}

/// The visible name of the suggested option, if its suggested name is hidden from the help.
fn listed(error: &Error, cli: &Command, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg) else {
        return None;
    };
    let similar = similar.strip_prefix("--")?;
    let mut arguments = cli.find_subcommand(words.first()?)?.get_arguments();
    let has = |names: Option<Vec<&str>>| names.is_some_and(|names| names.contains(&similar));
    let found = arguments.find(|argument| has(argument.get_all_aliases()))?;
    found.get_long().map(|name| format!("--{name}"))
}

/// The tip on a wrong argument among the words of the command line.
fn tip(error: &Error, cli: &Command, words: &[String]) -> Option<String> {
    match error.kind() {
        ErrorKind::UnknownArgument => below_zero(error, words)
            .or_else(|| file(error, cli, words))
            .or_else(|| key(error, cli, words)),
        // The reader's words say nothing of what is allowed.
        ErrorKind::ValueValidation => {
            let text = error.to_string();
            let reader = ["invalid digit found", "number too large", "number too small"];
            let of_reader = reader.iter().any(|words| text.contains(words));
            of_reader.then(|| "allowed is a whole number of at least 0".into())
        }
        _ => None,
    }
}

/// The option before a value below 0. The parser reads such a value as another option.
fn below_zero(error: &Error, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let number = found.strip_prefix('-')?.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let at = words.iter().position(|word| number && word.starts_with(found.as_str()))?;
    let option = words.get(at.checked_sub(1)?).filter(|word| word.starts_with('-'))?;
    Some(format!("{option}: found {}, allowed is no value below 0", words[at]))
}

/// The option for a second file, if the command writes one.
fn file(error: &Error, cli: &Command, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut command = cli;
    for word in words {
        let Some(sub) = command.find_subcommand(word) else { break };
        command = sub;
    }
    let out = command.get_arguments().find(|argument| argument.get_long() == Some("out"))?;
    let writes = out.get_value_names()?.first()?.as_str() == "FILE";
    let is_file = !found.starts_with('-') && found.contains('.');
    (writes && is_file).then(|| format!("to write this file, use '--out {found}'"))
}

/// The alternative to an unknown option that is a key of scenarios.
fn key(error: &Error, cli: &Command, words: &[String]) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let command = cli.find_subcommand(words.first()?)?;
    let key = option.strip_prefix("--")?.split('=').next()?.replace('-', "_");
    if keys::keys(&key).is_empty() {
        return None;
    }
    if command.get_name() == "new" {
        return Some(format!(
            "`{key}` is a setting of the scenario: `new` writes it into the file"
        ));
    }
    if !command.get_arguments().any(|argument| argument.get_long() == Some("set")) {
        return None;
    }
    let at = words.iter().position(|word| word.split('=').next() == option.split('=').next())?;
    let value = match words[at].split_once('=') {
        Some((_, value)) => value,
        None => words.get(at + 1).map(String::as_str).filter(|next| !next.starts_with('-'))?,
    };
    Some(format!("`{key}` is a setting of the scenario: use '--set {key}={value}'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::{CommandFactory, Parser};

    fn tip_for(words: &[&str]) -> Option<String> {
        let error = Cli::try_parse_from([&["justfull"], words].concat()).err()?;
        tip(&error, &Cli::command(), &words.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn an_option_that_is_a_setting_says_how_to_set_it_and_others_do_not() {
        for words in [
            &["run", "demo", "--warmup", "20s"][..],
            &["run", "--warmup=20s", "demo"],
            &["check", "demo", "--warmup", "20s"],
            &["recommend", "demo", "--warmup", "20s"],
        ] {
            let tip = tip_for(words).unwrap_or_else(|| panic!("{words:?}"));
            assert!(tip.ends_with("use '--set warmup=20s'"), "{tip}");
        }
        assert!(
            tip_for(&["run", "demo", "--tie-order", "x"])
                .is_some_and(|t| t.contains("tie_order=x"))
        );
        for words in [
            &["run", "demo", "--no-such", "1"][..],
            &["explain", "--warmup", "20s"],
            &["run", "demo", "--duration"],
        ] {
            assert_eq!(tip_for(words), None, "{words:?}");
        }
    }

    #[test]
    fn a_tip_names_no_option_that_help_does_not_show() {
        let said = |words: &[&str]| {
            let error = Cli::try_parse_from([&["justfull"], words].concat()).err();
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            tipped(error.expect("no such option"), &Cli::command(), &words).render().to_string()
        };
        let similar = said(&["run", "demo", "--times", "3s"]);
        assert!(similar.contains("'--duration'") && !similar.contains("'--time'"), "{similar}");
        let of_new = said(&["new", "my", "--duration", "3s"]);
        assert!(of_new.contains("`new` writes it into the file"), "{of_new}");
        assert!(!of_new.contains("similar"), "{of_new}");
    }

    #[test]
    fn a_second_file_of_a_command_that_writes_one_gets_the_option_for_it() {
        let tip = tip_for(&["trace", "convert", "a.csv", "b.csv", "--to", "csv"]);
        assert_eq!(tip.as_deref(), Some("to write this file, use '--out b.csv'"));
        assert_eq!(tip_for(&["run", "a.toml", "b.toml"]), None);
    }

    #[test]
    fn a_value_below_zero_and_one_that_is_no_number_say_the_allowed_values() {
        for (words, parts) in [
            (&["run", "demo", "--runs", "-1"][..], "--runs: found -1, allowed is no value below 0"),
            (&["run", "demo", "--duration", "-5s"], "--duration: found -5s, allowed is no value"),
            (&["trace", "info", "x", "--bin", "-.5s"], "--bin: found -.5s, allowed is no value"),
            (&["run", "demo", "--runs", "1e3"], "allowed is a whole number of at least 0"),
        ] {
            let tip = tip_for(words).unwrap_or_else(|| panic!("{words:?}"));
            assert!(tip.starts_with(parts), "{tip}");
        }
        assert_eq!(tip_for(&["run", "demo", "-1"]), None);
    }
}
