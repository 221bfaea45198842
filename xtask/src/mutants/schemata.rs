//! Every mutant of a file in one text: a function that has mutants becomes a `match` on which of
//! them is chosen, with the whole body once for each.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::Visit;

use super::list::Mutant;

/// The module that a switched crate gets. It reads from the environment once which mutant is
/// chosen, or writes which functions are reached, each named by its first mutant.
pub(super) const SWITCH: &str = r#"
pub(crate) mod mutation_switch {
    extern crate std;
    use std::io::Write;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const UNREAD: usize = usize::MAX;
    const RECORD: usize = usize::MAX - 1;
    static CHOSEN: AtomicUsize = AtomicUsize::new(UNREAD);
    static SEEN: Mutex<std::collections::BTreeSet<usize>> =
        Mutex::new(std::collections::BTreeSet::new());

    #[inline]
    pub(crate) fn chosen(function: usize) -> usize {
        match CHOSEN.load(Ordering::Relaxed) {
            UNREAD | RECORD => first(function),
            mutant => mutant,
        }
    }

    #[cold]
    fn first(function: usize) -> usize {
        let chosen = std::env::var("MUTANT").ok().map_or(0, |text| text.parse().unwrap());
        let Some(path) = std::env::var_os("REACHED") else {
            CHOSEN.store(chosen, Ordering::Relaxed);
            return chosen;
        };
        CHOSEN.store(RECORD, Ordering::Relaxed);
        if SEEN.lock().unwrap().insert(function) {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            std::writeln!(file.unwrap(), "{function}").unwrap();
        }
        0
    }
}
"#;

/// A file with all its mutants.
#[derive(Debug, PartialEq)]
pub(super) struct Switched {
    pub(super) text: String,
    /// The lines, counted from 1, that belong to a mutant.
    pub(super) arms: Vec<(Range<usize>, usize)>,
    /// For each mutant that has an arm, the first mutant of its function.
    pub(super) functions: BTreeMap<usize, usize>,
    /// Mutants that need a build of their own: outside of functions, in a function that constants
    /// call, or in one that returns `impl Trait`, whose arms would have different types (but not
    /// in its closures).
    pub(super) alone: Vec<usize>,
}

/// The code that a switch can skip.
struct Body {
    span: Range<usize>,
    name: String,
    constant: Option<Range<usize>>,
}

/// The bodies of a file's outermost functions; of those that return `impl Trait`, of their
/// closures.
struct Bodies(Vec<Body>);

impl Bodies {
    fn add(&mut self, signature: &syn::Signature, block: &syn::Block) {
        if matches!(&signature.output, syn::ReturnType::Type(_, kind) if opaque(kind)) {
            self.visit_block(block);
            return;
        }
        self.0.push(Body {
            span: block.span().byte_range(),
            name: signature.ident.to_string(),
            constant: signature.constness.as_ref().map(|token| token.span.byte_range()),
        });
    }
}

impl<'a> Visit<'a> for Bodies {
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.add(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.add(&item.sig, block);
        }
    }

    fn visit_expr_closure(&mut self, closure: &'a syn::ExprClosure) {
        let span = closure.body.span().byte_range();
        self.0.push(Body { span, name: String::new(), constant: None });
    }
}

/// Whether `impl Trait` is part of `kind`.
fn opaque(kind: &syn::Type) -> bool {
    struct Opaque(bool);
    impl Visit<'_> for Opaque {
        fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut found = Opaque(false);
    found.visit_type(kind);
    found.0
}

/// Puts the `mutants` of a file, in the order of their numbers, into its `text`. Those in
/// `unviable` are left out. Functions named in `constants` stay `const`, others lose it, because a
/// constant function cannot read the environment.
pub(super) fn switch(
    text: &str,
    mutants: &[(usize, &Mutant)],
    unviable: &BTreeSet<usize>,
    constants: &BTreeSet<String>,
) -> Result<Switched, syn::Error> {
    let mut bodies = Bodies(Vec::new());
    bodies.visit_file(&syn::parse_file(text)?);
    bodies.0.sort_by_key(|body| body.span.start);
    let mut made = Switched {
        text: String::new(),
        arms: Vec::new(),
        functions: BTreeMap::new(),
        alone: Vec::new(),
    };
    let place = |mutant: &Mutant| mutant.span.bytes(text);
    let mut taken = BTreeSet::new();
    let mut copied = 0;
    for body in &bodies.0 {
        let inside = |mutant: &Mutant| {
            let place = place(mutant);
            body.span.start <= place.start && place.end <= body.span.end
        };
        let fixed = body.constant.is_some() && constants.contains(&body.name);
        let chosen: Vec<_> =
            mutants.iter().filter(|(_, mutant)| !fixed && inside(mutant)).collect();
        let Some((function, _)) = chosen.first() else { continue };
        taken.extend(chosen.iter().map(|(id, _)| *id));
        if let Some(constant) = &body.constant {
            made.text.push_str(&text[copied..constant.start]);
            copied = constant.end;
        }
        made.text.push_str(&text[copied..body.span.start]);
        copied = body.span.end;
        made.text.push_str(&format!("{{ match crate::mutation_switch::chosen({function}) {{\n"));
        for (id, mutant) in chosen.iter().filter(|(id, _)| !unviable.contains(id)) {
            let changed = mutant.applied(text, &body.span);
            let first = made.text.lines().count() + 1;
            made.arms.push((first..first + changed.lines().count(), *id));
            made.functions.insert(*id, *function);
            made.text.push_str(&format!("{id} => {{{changed}}}\n"));
        }
        made.text.push_str(&format!("_ => {{{}}}\n}} }}", &text[body.span.clone()]));
    }
    made.text.push_str(&text[copied..]);
    made.alone = mutants.iter().map(|(id, _)| *id).filter(|id| !taken.contains(id)).collect();
    made.alone.retain(|id| !unviable.contains(id));
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "const N: u8 = 1 + 1;\nconst fn one() -> u8 {\n    2 - 1\n}\n\
                        fn all() -> impl Iterator { (0..9 / 3).map(|n| n * 3) }\nfn main() {}\n";

    fn mutants() -> Vec<Mutant> {
        vec![
            Mutant::at("- with +", (3, 7), (3, 8), "+"),
            Mutant::at("1", (3, 5), (3, 10), "1"),
            Mutant::at("+ with *", (1, 17), (1, 18), "*"),
            Mutant::at("/ with +", (5, 35), (5, 36), "+"),
            Mutant::at("* with +", (5, 50), (5, 51), "+"),
        ]
    }

    #[test]
    fn a_function_gets_an_arm_for_each_mutant_and_the_others_stay() {
        let mutants = mutants();
        let numbered: Vec<_> = (1..).zip(&mutants).collect();
        let made = switch(TEXT, &numbered, &BTreeSet::new(), &BTreeSet::new()).unwrap();
        let text = "const N: u8 = 1 + 1;\n fn one() -> u8 { match crate::mutation_switch::chosen(1) {\n\
                    1 => {{\n    2  +  1\n}}\n2 => {{\n     1 \n}}\n_ => {{\n    2 - 1\n}}\n} }\n\
                    fn all() -> impl Iterator { (0..9 / 3).map(|n| { match \
                    crate::mutation_switch::chosen(5) {\n5 => {n  +  3}\n_ => {n * 3}\n} }) }\n\
                    fn main() {}\n";
        assert_eq!(made.text, text);
        assert_eq!(made.arms, [(3..6, 1), (6..9, 2), (14..15, 5)]);
        assert_eq!(made.functions, [(1, 1), (2, 1), (5, 5)].into());
        assert_eq!(made.alone, [3, 4]);
    }

    #[test]
    fn mutants_that_do_not_compile_are_left_out_and_functions_of_constants_stay() {
        let mutants = mutants();
        let numbered: Vec<_> = (1..).zip(&mutants).take(4).collect();
        let made = switch(TEXT, &numbered, &[1, 3].into(), &BTreeSet::new()).unwrap();
        assert_eq!((made.arms, made.alone), (vec![(3..6, 2)], vec![4]));
        let made = switch(TEXT, &numbered, &BTreeSet::new(), &["one".to_owned()].into()).unwrap();
        assert_eq!((made.text.as_str(), made.alone), (TEXT, vec![1, 2, 3, 4]));
    }
}
