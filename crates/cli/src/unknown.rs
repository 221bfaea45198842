//! Names that do not exist, with similar names, and unknown options that are settings of scenarios.

use crate::failure::Failure;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use justfull_scenario::{keys, near};

pub(crate) fn name(name: &str, known: &[&str], otherwise: &str) -> Failure {
    Failure::Usage(format!(
        "name: found {name}, allowed is {}",
        near::allowed(name, known, otherwise)
    ))
}

/// `error` of `cli`, with the tip to use `--set` if that matches the user's intent.
pub(crate) fn with_tip(mut error: Error, cli: &Command) -> Error {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(tip) = tip(&error, cli, &words) {
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
}

/// The alternative to an unknown option among the words of the command line.
fn tip(error: &Error, cli: &Command, words: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let command = cli.find_subcommand(words.first()?)?;
    if !command.get_arguments().any(|argument| argument.get_long() == Some("set")) {
        return None;
    }
    let key = option.strip_prefix("--")?.split('=').next()?.replace('-', "_");
    if keys::keys(&key).is_empty() {
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
}
