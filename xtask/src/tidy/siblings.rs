//! "One algorithm, one file": files of one kind import no sibling; and a layer calls another only
//! if it stands on it.

use std::collections::BTreeSet;

use super::Finding;
use super::rust_code::{module_of, paths, start_of_tests};
use super::tree::{File, Tree};

/// Folders whose files are each one algorithm: crate and module.
const FAMILIES: [(&str, &str); 8] = [
    ("queue", "aqm"),
    ("queue", "discipline"),
    ("ran", "limiter"),
    ("ran", "pacer"),
    ("ran", "rb_scheduler"),
    ("ran", "scheduler"),
    ("tcp", "cc"),
    ("tcp", "rc"),
];

/// Layers of the downlink chain.
const LAYERS: [&str; 7] = ["upf", "sdap", "bearer", "pdcp", "rlc", "mac", "harq"];

/// Modules that join layers, each with the layers that it may name. `ran::stack` may name all.
const JOINS: [(&str, &[&str]); 3] = [
    // A data radio bearer is PDCP above RLC.
    ("bearer", &["pdcp", "rlc"]),
    // A slot serves the bearers, and HARQ repeats its blocks.
    ("mac", &["bearer", "harq"]),
    // Settings of all layers.
    ("config", &["upf", "pdcp", "harq"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (member, family) in FAMILIES {
        let folder = format!("crates/{member}/src/{family}/");
        let algorithms: BTreeSet<&str> = tree
            .files
            .iter()
            .filter_map(|file| Some(stem(file.path.strip_prefix(&folder)?)))
            .collect();
        for file in tree.files.iter().filter(|file| file.path.starts_with(&folder)) {
            findings.extend(imported_siblings(file, member, family, &algorithms));
        }
    }
    findings.extend(tree.files.iter().filter_map(joined_layers));
    findings
}

/// First folder or file name without `.rs` of a path: `bbr/startup.rs` is `bbr`.
fn stem(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.strip_suffix(".rs").unwrap_or(first)
}

fn imported_siblings(
    file: &File,
    member: &str,
    family: &str,
    algorithms: &BTreeSet<&str>,
) -> Vec<Finding> {
    let Some((module, text)) = source(file, member) else { return Vec::new() };
    let own = module.get(1).map_or("", String::as_str);
    let is_sibling = |name: &str| name != own && algorithms.contains(name);
    paths(text, &module)
        .into_iter()
        .filter(|path| path.segments.first().is_some_and(|first| first == family))
        .filter_map(|path| {
            let sibling = path.segments.get(1).filter(|name| is_sibling(name))?;
            let message = format!(
                "`{family}::{own}` uses its sibling `{family}::{sibling}`: move what both need to \
                 `{family}.rs`"
            );
            Some(Finding::new(&file.path, path.line, message))
        })
        .collect()
}

/// The first place where production code of `ran` names a layer that it may not name.
fn joined_layers(file: &File) -> Option<Finding> {
    let (module, text) = source(file, "ran")?;
    // The root declares the layers; it does not call them. Tests may.
    let name = module
        .first()
        .filter(|name| *name != "stack" && module.iter().all(|part| part != "tests"))?;
    let joined = JOINS.iter().find(|(joiner, _)| joiner == name).map(|(_, layers)| *layers);
    // A module that is no layer may serve one of them.
    let mut own = LAYERS.into_iter().find(|layer| layer == name);
    let last_line = start_of_tests(text);
    for path in paths(text, &module).into_iter().filter(|path| path.line <= last_line) {
        let Some(first) = path.segments.first() else { continue };
        let Some(layer) = LAYERS.into_iter().find(|layer| layer == first) else { continue };
        let own = *own.get_or_insert(layer);
        if layer != own && !joined.is_some_and(|layers| layers.contains(&layer)) {
            return Some(Finding::new(
                &file.path,
                path.line,
                format!(
                    "`ran::{name}` brings the layers `{own}` and `{layer}` together: only \
                     `ran::stack` and xtask's table of joins may"
                ),
            ));
        }
    }
    None
}

/// Module and text of a source file of the crate `member`.
fn source<'a>(file: &'a File, member: &str) -> Option<(Vec<String>, &'a str)> {
    let in_src = file.path.strip_prefix(&format!("crates/{member}/src/"))?;
    in_src.ends_with(".rs").then_some(())?;
    Some((module_of(in_src), file.text()?))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        check(&tree_of(files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sibling_is_found_however_it_is_named() {
        let red = ("crates/queue/src/aqm/red.rs", "");
        for import in [
            "use super::red::Red;",
            "use crate::aqm::{Aqm, red::Red};",
            "fn f() { super::red::mark() }",
        ] {
            let found = findings(&[("crates/queue/src/aqm/ared.rs", &format!("\n{import}")), red]);
            assert_eq!(
                found,
                ["crates/queue/src/aqm/ared.rs:2: `aqm::ared` uses its sibling `aqm::red`: move \
                  what both need to `aqm.rs`"],
                "{import}"
            );
        }
    }

    #[test]
    fn the_family_and_other_families_are_no_siblings() {
        let found = findings(&[
            (
                "crates/queue/src/aqm/fq_codel.rs",
                "use super::Aqm;\nuse crate::discipline::drr::Drr;",
            ),
            ("crates/queue/src/discipline/drr.rs", ""),
            ("crates/queue/src/aqm/red.rs", ""),
        ]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn files_of_one_folder_are_one_algorithm() {
        let bbr = (
            "crates/tcp/src/cc/bbr/startup.rs",
            "use super::filter::Max;\nuse crate::cc::bbr::State;",
        );
        let found = findings(&[
            bbr,
            ("crates/tcp/src/cc/bbr/filter.rs", ""),
            ("crates/tcp/src/cc/bbr.rs", ""),
        ]);
        assert_eq!(found, [""; 0]);
        let found = findings(&[
            ("crates/tcp/src/cc/bbr/probe.rs", "use crate::cc::cubic::K;"),
            ("crates/tcp/src/cc/cubic.rs", ""),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn only_the_stack_and_the_table_join_layers() {
        let both = "use crate::rlc::Um;\nuse crate::mac::Mac;\n";
        let of = |path: &str, text: &str| findings(&[(&format!("crates/ran/src/{path}"), text)]);
        assert_eq!([of("stack.rs", both), of("stack/pull.rs", both)].concat(), [""; 0]);
        assert_eq!(
            of("channel.rs", both),
            ["crates/ran/src/channel.rs:2: `ran::channel` brings the layers `rlc` and `mac` \
              together: only `ran::stack` and xtask's table of joins may"]
        );
        assert_eq!(of("rlc/um.rs", "use crate::mac::Mac;").len(), 1, "its own layer counts");
        assert_eq!(
            of("rlc/um.rs", "use super::Sn;\n#[cfg(test)]\nmod tests {\nuse crate::mac::Mac;"),
            [""; 0]
        );
        assert_eq!(of("harq.rs", "use crate::pdcp::Pdcp;").len(), 1);
        assert_eq!(of("bearer/link.rs", "use crate::pdcp::Pdcp;\nuse crate::rlc::Tx;"), [""; 0]);
        assert_eq!(
            of("bearer.rs", "use crate::mac::Mac;").len(),
            1,
            "a bearer does not depend on its MAC"
        );
        assert_eq!(of("mac/rb.rs", "use crate::harq::Harq;\nuse crate::bearer::Bearer;"), [""; 0]);
        assert_eq!(of("mac/rb.rs", "use crate::rlc::RlcTx;").len(), 1, "the bearer is between");
        assert_eq!(of("limiter.rs", "use crate::mac::Mac;"), [""; 0], "it serves one layer");
    }
}
