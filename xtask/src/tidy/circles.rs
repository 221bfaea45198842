//! "No circle between files": among the modules that one module declares, none depends on itself
//! through the others.
//!
//! A module counts with all modules below it, and a path between a module and one above or below it
//! is no arrow: a parent names the kinds that its children implement, and they name its trait. A
//! name that a module imports or re-exports belongs to the module that defines it. Tests may use
//! anything.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use super::rust_code::{module_of, paths, start_of_tests};
use super::tree::{File, Tree};

/// A module, from the root of its crate.
type Module = Vec<String>;

/// For each module the modules that it names, and facts about each arrow.
type Arrows<'a, P> = BTreeMap<&'a str, BTreeMap<String, P>>;

/// Imports of imports are followed this far.
const DEEPEST_IMPORT: usize = 8;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<&File>> = BTreeMap::new();
    for file in &tree.files {
        if let Some((folder, _)) =
            file.path.split_once("/src/").filter(|_| file.extension() == "rs")
        {
            crates.entry(folder).or_default().push(file);
        }
    }
    crates.iter().flat_map(|(folder, files)| Graph::of(folder, files).circles()).collect()
}

/// One module's place, and the paths that it names.
struct Node<'a> {
    file: &'a File,
    /// Path and line of each name outside of its tests.
    named: Vec<(Module, usize)>,
    /// Imported names, and their origins.
    imports: BTreeMap<String, Module>,
}

struct Graph<'a> {
    modules: BTreeMap<Module, Node<'a>>,
}

impl<'a> Graph<'a> {
    fn of(folder: &str, files: &[&'a File]) -> Self {
        let (mut modules, mut tests) = (BTreeMap::new(), Vec::new());
        for file in files {
            let Some(text) = file.text() else { continue };
            let module = module_of(&file.path[folder.len() + "/src/".len()..]);
            let end = start_of_tests(text);
            let production = paths(text, &module).into_iter().filter(|path| path.line <= end);
            let (mut named, mut imports) = (Vec::new(), BTreeMap::new());
            for path in production {
                imports.insert(path.name, path.segments.clone());
                named.push((path.segments, path.line));
            }
            tests.extend(test_modules(text, &module));
            modules.insert(module, Node { file, named, imports });
        }
        modules.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Self { modules }
    }

    /// The module that defines the target of `path`, as far as names show.
    fn home(&self, path: &[String], depth: usize) -> Module {
        let inside =
            (0..=path.len()).rev().find(|&n| self.modules.contains_key(&path[..n])).unwrap_or(0);
        let (module, rest) = path.split_at(inside);
        let import = rest.first().and_then(|name| self.modules.get(module)?.imports.get(name));
        match import {
            Some(import) if depth < DEEPEST_IMPORT && import != path => {
                self.home(&[import, &rest[1..]].concat(), depth + 1)
            }
            _ => module.to_vec(),
        }
    }

    fn circles(&self) -> Vec<Finding> {
        // For each parent, which of its children names which, and where.
        let mut levels: BTreeMap<&[String], Arrows<(&str, usize)>> = BTreeMap::new();
        for (module, node) in &self.modules {
            for (path, line) in &node.named {
                let home = self.home(path, 0);
                let shared = module.iter().zip(&home).take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(shared), home.get(shared)) {
                    let arrows =
                        levels.entry(&module[..shared]).or_default().entry(from).or_default();
                    arrows.entry(to.clone()).or_insert((&node.file.path, *line));
                }
            }
        }
        let mut findings = Vec::new();
        for arrows in levels.values() {
            let mut told: BTreeSet<&str> = BTreeSet::new();
            for from in arrows.keys() {
                let Some(circle) = shortest_circle(from, arrows) else { continue };
                if circle.iter().any(|module| told.contains(module)) {
                    continue;
                }
                told.extend(&circle);
                let (path, line) = arrows[from][*circle.get(1).unwrap_or(from)];
                let way = circle.iter().chain([from]).map(|name| format!("`{name}`"));
                let way = way.collect::<Vec<_>>().join(" -> ");
                let message =
                    format!("a circle of modules: {way}; move the common part below them");
                findings.push(Finding::new(path, line, message));
            }
        }
        findings
    }
}

/// The modules that the text of `module` declares for tests only.
fn test_modules(text: &str, module: &[String]) -> Vec<Module> {
    let lines = text.lines().zip(text.lines().skip(1));
    let declared = lines.filter(|(attribute, _)| attribute.trim() == "#[cfg(test)]").filter_map(
        |(_, item)| {
            let name = item.trim().strip_suffix(';')?.rsplit_once("mod ")?.1;
            Some([module, &[name.to_owned()]].concat())
        },
    );
    declared.collect()
}

/// The modules of the shortest way from `from` back to itself, `from` first.
fn shortest_circle<'a, P>(from: &'a str, arrows: &'a Arrows<'_, P>) -> Option<Vec<&'a str>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = *way.last()?;
            for next in arrows.get(last).into_iter().flat_map(BTreeMap::keys) {
                if next == from {
                    return Some(way);
                }
                if seen.insert(next) {
                    longer.push([&way[..], &[next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/x/src/{path}"), *text)).collect();
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        check(&tree_of(&files)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn two_files_that_need_each_other_are_a_circle() {
        assert_eq!(
            findings(&[("a.rs", "\nuse crate::b::B;"), ("b.rs", "fn f() { super::a::g() }")]),
            ["crates/x/src/a.rs:2: a circle of modules: `a` -> `b` -> `a`; move the common part \
             below them"]
        );
        assert_eq!(findings(&[("a.rs", "use crate::b::B;"), ("b.rs", "use core::fmt;")]), [""; 0]);
    }

    #[test]
    fn a_circle_of_three_is_reported_once() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::a::A;"),
        ];
        let found = findings(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`a` -> `b` -> `c` -> `a`"), "{found:?}");
    }

    #[test]
    fn a_module_counts_with_what_is_below_it() {
        let found = findings(&[
            ("a/deep.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;"),
            ("a.rs", ""),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/x/src/a/deep.rs:1:"), "{found:?}");
    }

    #[test]
    fn parents_and_children_and_the_root_are_no_circle() {
        let root = ("lib.rs", "mod a;\npub use a::A;\nuse a::child::C;");
        let parent = ("a.rs", "mod child;\nuse child::C;\nuse crate::Root;");
        assert_eq!(
            findings(&[root, parent, ("a/child.rs", "use super::A;\nuse crate::Root;")]),
            [""; 0]
        );
    }

    #[test]
    fn a_name_exported_again_belongs_to_its_own_module() {
        let root = ("lib.rs", "pub use b::{B as Renamed};\nmod b;");
        let found =
            findings(&[root, ("a.rs", "use crate::Renamed;"), ("b.rs", "use crate::a::A;")]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn brothers_are_held_to_it_at_every_depth() {
        let found = findings(&[
            ("m.rs", ""),
            ("m/a.rs", "use super::b::B;"),
            ("m/b.rs", "use crate::m::a::A;"),
        ]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn tests_may_use_what_they_like() {
        let tests = "#[cfg(test)]\nmod tests {\n use crate::a::A;\n}";
        assert_eq!(findings(&[("a.rs", "use crate::b::B;"), ("b.rs", tests)]), [""; 0]);
        let declared = ("b.rs", "#[cfg(test)]\nmod fixture;\nstruct B;");
        let fixture = ("b/fixture.rs", "use crate::a::A;");
        assert_eq!(findings(&[("a.rs", "use crate::b::B;"), declared, fixture]), [""; 0]);
    }
}
