//! Parts that the commands of services share: checks of the host, answers of a running service, and
//! their lines and tables.

#[cfg(any(feature = "f1u", feature = "proxy"))]
mod answers;

#[cfg(any(feature = "f1u", feature = "proxy"))]
pub(crate) use answers::{Lines, answer, listed, plain};
#[cfg(feature = "proxy")]
pub(crate) use answers::{parsed, table};

use crate::failure::Failure;
use crate::terminal::print;
use justfull_net::Capability;

/// Prints the result of each check, as lines or as JSON.
///
/// # Errors
/// The names of the required ones that failed.
pub(crate) fn checked(who: &str, tried: &[Capability], json: bool) -> Result<(), Failure> {
    let lacks = |one: &&Capability| one.required && one.found.is_err();
    let lacking: Vec<&str> = tried.iter().filter(lacks).map(|one| one.name).collect();
    print(&if json { document(tried) } else { lines(tried) })?;
    if lacking.is_empty() {
        return if json { Ok(()) } else { print(&format!("{who} can run\n")) };
    }
    Err(Failure::Failed(format!("{who} needs {}", lacking.join(", "))))
}

/// A list of the checks: each with its name, whether it is required and met, and what was found.
fn document(tried: &[Capability]) -> String {
    let check = |Capability { name, required, found }: &Capability| {
        let (Ok(text) | Err(text)) = found;
        serde_json::json!({
            "name": name, "required": required, "met": found.is_ok(), "found": text,
        })
    };
    format!("{:#}\n", tried.iter().map(check).collect::<serde_json::Value>())
}

fn lines(tried: &[Capability]) -> String {
    let width = tried.iter().map(|one| one.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Capability { name, found, .. } in tried {
        let (word, what) = match found {
            Ok(found) => ("yes", found),
            Err(why) => ("no", why),
        };
        text.push_str(&format!("{name:width$} {word:3}  {what}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_as_json_says_what_is_required_and_what_was_found() {
        let of = |name, required, found| Capability { name, required, found };
        let tried = [
            of("namespaces", true, Ok("yes".to_owned())),
            of("real-time priority", false, Err("no right".to_owned())),
        ];
        let found: serde_json::Value = serde_json::from_str(&document(&tried)).expect("JSON");
        assert_eq!(found[0]["name"], "namespaces");
        assert_eq!((&found[0]["required"], &found[0]["met"]), (&true.into(), &true.into()));
        assert_eq!((&found[1]["required"], &found[1]["met"]), (&false.into(), &false.into()));
        assert_eq!(found[1]["found"], "no right");
        let lines = lines(&tried);
        assert_eq!(lines.lines().nth(1), Some("real-time priority no   no right"));
    }
}
