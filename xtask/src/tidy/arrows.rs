//! The allowed dependencies (ARCHITECTURE.md, "Arrows"): nothing points back, and pure crates stay
//! pure.

use super::Finding;
use super::crates::{Crate, Dependency, short_name};
use super::tree::Tree;

/// Crates without clock, thread, socket or platform mathematics.
pub(crate) const PURE: [&str; 7] = ["base", "phy", "queue", "ran", "tcp", "rapid", "nru"];

/// Each member with the members it may use.
const ARROWS: [(&str, &[&str]); 29] = [
    ("base", &[]),
    ("phy", &["base"]),
    ("queue", &["base"]),
    ("ran", &["base", "phy", "queue"]),
    ("tcp", &["base"]),
    ("rapid", &["base", "phy"]),
    ("c", &["base", "queue", "ran", "rapid"]),
    ("plugin", &["base", "ran"]),
    ("nru", &[]),
    ("run", &PURE),
    ("sim", &["base", "phy", "queue", "ran", "tcp", "rapid", "run"]),
    ("testkit", &["base", "queue", "ran", "tcp", "run", "sim"]),
    ("net", &["base"]),
    ("live", &["base", "phy", "queue", "ran", "tcp", "rapid", "run", "net"]),
    ("rnis", &["base", "phy", "net", "trace"]),
    (
        "proxy",
        &["base", "phy", "queue", "ran", "tcp", "rapid", "net", "rnis", "n3", "nru", "trace"],
    ),
    ("f1u", &["base", "ran", "nru", "net", "trace"]),
    ("n3", &["base", "nru", "net", "trace"]),
    ("trace", &PURE),
    ("scenario", &["base", "phy", "queue", "ran", "tcp", "rapid", "run", "sim", "proxy", "trace"]),
    (
        "lab",
        &[
            "base", "phy", "queue", "ran", "tcp", "rapid", "run", "sim", "proxy", "plugin",
            "scenario", "trace",
        ],
    ),
    ("report", &["base", "phy", "queue", "ran", "tcp", "rapid", "run", "scenario", "trace", "lab"]),
    ("ui", &["base", "run", "net", "rnis", "scenario", "lab", "report", "campaign", "trace"]),
    ("campaign", &["base", "run", "sim", "plugin", "scenario", "lab", "report"]),
    (
        "cli",
        &[
            "campaign", "base", "run", "sim", "net", "plugin", "ui", "live", "rnis", "proxy",
            "f1u", "n3", "trace", "scenario", "lab", "report",
        ],
    ),
    (
        "py",
        &[
            "base", "queue", "ran", "tcp", "run", "sim", "trace", "scenario", "lab", "report",
            "plugin", "campaign", "unified",
        ],
    ),
    ("two-slots", &["base", "ran", "lab", "report"]),
    ("unified", &[]),
    ("xtask", &["unified"]),
];

/// Members that the tests of a driver may use.
const FOR_TESTS: [&str; 2] = ["sim", "testkit"];

/// Members that the tests of the C library may use besides: they compare it with whole scenarios.
const FOR_TESTS_OF_C: [&str; 3] = ["run", "scenario", "tcp"];

/// Registry crates that a pure crate may use outside its tests.
const PURE_MAY_USE: [&str; 2] = ["libm", "serde"];

pub(super) fn check(crates: &[Crate], tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in crates {
        let messages = match allowed(&member.short) {
            Some(direct) => {
                let broken = member.dependencies.iter().filter_map(|dependency| {
                    Some((
                        dependency.name.as_str(),
                        broken_arrow(&member.short, direct, dependency)?,
                    ))
                });
                broken.collect()
            }
            None => {
                vec![(
                    "name",
                    format!("crate `{}` has no line in xtask's table of arrows", member.short),
                )]
            }
        };
        findings.extend(messages.into_iter().map(|(key, message)| {
            let line = tree
                .get(&member.manifest)
                .and_then(|file| line_of_key(file.text()?, key))
                .unwrap_or(1);
            Finding::new(&member.manifest, line, message)
        }));
    }
    findings
}

fn allowed(short: &str) -> Option<&'static [&'static str]> {
    ARROWS.iter().find(|(name, _)| *name == short).map(|(_, direct)| *direct)
}

/// Why the member `from` may not declare `dependency`, or `None`.
fn broken_arrow(from: &str, direct: &[&str], dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    let pure = PURE.contains(&from);
    if !dependency.external {
        let to = short_name(name);
        // A test may also look through an arrow at what lies behind it, never against one; the
        // tests of a driver compare it with the simulator in cells of the test kit.
        let test = dependency.dev
            && (!pure && FOR_TESTS.contains(&to)
                || from == "c" && FOR_TESTS_OF_C.contains(&to)
                || direct.iter().any(|via| reaches(via, to)));
        let fine = direct.contains(&to) || test;
        let list = if direct.is_empty() { "no member".to_owned() } else { direct.join(", ") };
        return (!fine)
            .then(|| format!("arrow `{from}` -> `{to}` is not allowed: `{from}` may use {list}"));
    }
    if !pure || dependency.dev {
        return None;
    }
    if !PURE_MAY_USE.contains(&name) {
        return Some(format!(
            "pure crate `{from}` may use {} only, not `{name}`",
            PURE_MAY_USE.join(" and ")
        ));
    }
    if name == "serde" && !dependency.optional {
        return Some(format!("pure crate `{from}` must declare `serde` as optional"));
    }
    // `std` for serde; for libm, instructions of one processor, which would give other bits
    // elsewhere.
    dependency
        .default_features
        .then(|| format!("pure crate `{from}` must take `{name}` without default features"))
}

fn reaches(from: &str, to: &str) -> bool {
    allowed(from)
        .is_some_and(|direct| direct.contains(&to) || direct.iter().any(|via| reaches(via, to)))
}

/// The first line of a manifest that sets `key`, from 1.
fn line_of_key(manifest: &str, key: &str) -> Option<usize> {
    let sets = |line: &str| {
        line.trim_start().strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
            || line.trim() == format!("[dependencies.{key}]")
    };
    manifest.lines().position(sets).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::crates::tests::crate_of;
    use super::super::tree::tests::tree_of;
    use super::*;

    fn messages(short: &str, dependencies: &str) -> Vec<String> {
        let findings = check(&[crate_of(short, dependencies)], &tree_of(&[]));
        findings.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn the_arrows_of_the_plan_are_allowed() {
        assert_eq!(
            messages("ran", "justfull-base justfull-phy justfull-queue libm serde?"),
            [""; 0]
        );
        assert_eq!(messages("cli", "justfull-lab clap!"), [""; 0]);
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        for (name, _) in ARROWS {
            assert!(!reaches(name, name), "{name} reaches itself");
        }
    }

    #[test]
    fn an_arrow_back_is_found_with_its_line() {
        let manifest =
            "[package]\nname = \"justfull-queue\"\n[dependencies]\njustfull-ran.workspace = true\n";
        let tree = tree_of(&[("crates/queue/Cargo.toml", manifest)]);
        let found = check(&[crate_of("queue", "justfull-base justfull-ran")], &tree);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(
            found[0].to_string(),
            "crates/queue/Cargo.toml:4: arrow `queue` -> `ran` is not allowed: `queue` may use base"
        );
    }

    #[test]
    fn ran_and_tcp_never_see_each_other_not_even_in_tests() {
        assert_eq!(messages("tcp", "justfull-base dev:justfull-ran").len(), 1);
        assert_eq!(messages("ran", "justfull-tcp").len(), 1);
    }

    #[test]
    fn a_test_may_look_through_an_arrow() {
        assert_eq!(messages("cli", "justfull-lab dev:justfull-queue"), [""; 0]);
        assert_eq!(
            messages("cli", "justfull-lab justfull-queue").len(),
            1,
            "the program itself may not"
        );
    }

    #[test]
    fn a_pure_crate_may_use_any_registry_crate_in_tests_only() {
        assert_eq!(messages("queue", "justfull-base dev:proptest! dev:serde_json!"), [""; 0]);
        assert_eq!(
            messages("queue", "rand"),
            ["pure crate `queue` may use libm and serde only, not `rand`"]
        );
    }

    #[test]
    fn a_pure_crate_takes_serde_as_optional_and_both_without_defaults() {
        assert_eq!(messages("phy", "serde"), ["pure crate `phy` must declare `serde` as optional"]);
        assert_eq!(
            messages("phy", "libm!"),
            ["pure crate `phy` must take `libm` without default features"]
        );
    }

    #[test]
    fn an_unknown_member_needs_a_line_in_the_table() {
        assert_eq!(messages("attic", ""), ["crate `attic` has no line in xtask's table of arrows"]);
    }
}
