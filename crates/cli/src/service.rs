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

/// Prints the result of each check.
///
/// # Errors
/// The names of the required ones that failed.
pub(crate) fn checked(who: &str, tried: &[Capability]) -> Result<(), Failure> {
    let width = tried.iter().map(|one| one.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for Capability { name, found, .. } in tried {
        let (word, what) = match found {
            Ok(found) => ("yes", found),
            Err(why) => ("no", why),
        };
        text.push_str(&format!("{name:width$} {word:3}  {what}\n"));
    }
    let lacks = |one: &&Capability| one.required && one.found.is_err();
    let lacking: Vec<&str> = tried.iter().filter(lacks).map(|one| one.name).collect();
    if lacking.is_empty() {
        return print(&format!("{text}{who} can run\n"));
    }
    print(&text)?;
    Err(Failure::Failed(format!("{who} needs {}", lacking.join(", "))))
}
