//! The shape of functions: the patterns of their parameters, the names of tests. Clippy bounds
//! their length.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, Pat, Signature};

use super::Finding;
use super::tree::{File, Tree};

/// Papers, by which tests may be called.
const PAPERS: [&str; 5] = ["t20", "e19", "a21", "r22", "p06"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rust = tree.files.iter().filter(|file| file.extension() == "rs");
    rust.filter(|file| !file.path.contains("/fuzz/seeds/")).flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<Finding> {
    let Some(syntax) = file.text().and_then(|text| syn::parse_file(text).ok()) else {
        return Vec::new();
    };
    let mut visitor = Functions { path: &file.path, findings: Vec::new() };
    visitor.visit_file(&syntax);
    visitor.findings
}

struct Functions<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn say(&mut self, span: Span, message: String) {
        self.findings.push(Finding::new(self.path, span.start().line, message));
    }

    fn function(&mut self, attributes: &[Attribute], signature: &Signature) {
        let name = signature.ident.to_string();
        for argument in &signature.inputs {
            if let FnArg::Typed(argument) = argument
                && matches!(&*argument.pat, Pat::Tuple(_) | Pat::Slice(_))
            {
                let message = format!(
                    "`{name}` takes a tuple or an array apart in its parameters: give the \
                     parameters names, or their struct"
                );
                self.say(argument.span(), message);
            }
        }
        let test = attributes.iter().any(|attribute| attribute.path().is_ident("test"));
        if test && has_label(&name) {
            let message = format!("`{name}` begins with a label: say what the test asserts");
            self.say(signature.ident.span(), message);
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.attrs, &item.sig);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.attrs, &item.sig);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.attrs, &item.sig);
        visit::visit_trait_item_fn(self, item);
    }
}

/// True of `f6_...` and `soak_u1_...`: the number of an entry in a list outside the tree.
/// `p95_...` is a percentile, `t20_...` a paper.
fn has_label(name: &str) -> bool {
    let name = name.strip_prefix("soak_").unwrap_or(name);
    let Some((first, _)) = name.split_once('_') else { return false };
    if PAPERS.contains(&first) {
        return false;
    }
    let mut characters = first.chars();
    let letter = characters.next().is_some_and(|c| c.is_ascii_lowercase() && c != 'p');
    letter && !characters.as_str().is_empty() && characters.all(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        check(&tree_of(&[("a.rs", text)])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn tuples_and_arrays_in_parameters_are_found_except_in_closures() {
        let found = findings("struct S;\nimpl S {\n fn f(&self, (a, b): (u8, u8)) {}\n}\n");
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.rs:3: `f` takes a tuple"), "{found:?}");
        assert_eq!(findings("fn f([a, b]: [u8; 2]) {}").len(), 1);
        assert_eq!(findings("trait T { fn f(x: (u8, u8)); }"), [""; 0]);
        assert_eq!(findings("fn f() { let _ = |(a, b): (u8, u8)| a + b; }"), [""; 0]);
    }

    #[test]
    fn labels_of_tests_are_found_and_words_with_digits_are_not() {
        assert_eq!(findings("#[test]\nfn f6_a_run_ends() {}\n").len(), 1);
        assert_eq!(findings("#[test]\nfn soak_u1_a_run_ends() {}\n").len(), 1);
        assert_eq!(findings("fn f6_helper() {}\n"), [""; 0]);
        assert_eq!(findings("#[test]\nfn p95_is_above_the_median() {}\n"), [""; 0]);
        assert_eq!(findings("#[test]\nfn ipv4_passes() {}\n"), [""; 0]);
        assert_eq!(findings("#[test]\nfn t20_gives_its_values() {}\n"), [""; 0]);
    }
}
