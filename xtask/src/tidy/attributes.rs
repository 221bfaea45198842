//! Crate attributes: pure crates are `no_std` and forbid `unsafe`; the others forbid or deny it,
//! except the drivers that make system calls.

use super::Finding;
use super::arrows::PURE;
use super::crates::Crate;
use super::rust_code;
use super::tree::Tree;

/// Crates that make system calls.
const MAY_BE_UNSAFE: [&str; 3] = ["live", "net", "proxy"];

pub(super) fn check(crates: &[Crate], tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in crates {
        for path in &member.roots {
            let Some(text) = tree.get(path).and_then(|file| file.text()) else { continue };
            let missing = missing(&member.short, text);
            findings.extend(missing.into_iter().map(|message| Finding::new(path, 1, message)));
        }
    }
    findings
}

/// The missing attributes in the root file of the crate `short`.
fn missing(short: &str, text: &str) -> Vec<String> {
    let code = rust_code::without_comments(text);
    let has = |attribute: &str| code.lines().any(|line| line.trim() == attribute);
    let forbids = has("#![forbid(unsafe_code)]");
    let mut messages = Vec::new();
    if PURE.contains(&short) {
        if !has("#![no_std]") {
            messages.push(format!("pure crate `{short}` must say `#![no_std]`"));
        }
        if !forbids {
            messages.push(format!("pure crate `{short}` must say `#![forbid(unsafe_code)]`"));
        }
    } else if !MAY_BE_UNSAFE.contains(&short) && !forbids && !has("#![deny(unsafe_code)]") {
        messages.push(format!(
            "`{short}` must say `#![forbid(unsafe_code)]` or `#![deny(unsafe_code)]`; only {} \
             need not",
            MAY_BE_UNSAFE.join(" and ")
        ));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_crate_needs_both_attributes() {
        assert_eq!(missing("queue", "#![no_std]\n#![forbid(unsafe_code)]\n"), [""; 0]);
        assert_eq!(missing("queue", "//! Nothing.\n").len(), 2);
        assert_eq!(
            missing("queue", "#![no_std]\n#![deny(unsafe_code)]\n").len(),
            1,
            "deny can be lifted"
        );
    }

    #[test]
    fn an_attribute_in_a_comment_does_not_count() {
        assert_eq!(missing("lab", "// #![forbid(unsafe_code)]\n").len(), 1);
    }

    #[test]
    fn only_drivers_of_the_kernel_go_without() {
        assert_eq!(missing("live", ""), [""; 0]);
        assert_eq!(missing("sim", "").len(), 1);
        assert_eq!(missing("sim", "#![deny(unsafe_code)]"), [""; 0]);
    }
}
