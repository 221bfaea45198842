//! The library from C and C++, with every warning an error and sanitizers.

mod built;

use built::{SANITIZED, compiled, crate_root, output};
use std::path::PathBuf;
use std::process::Command;

fn source(name: &str) -> PathBuf {
    crate_root().join("tests/programs").join(name)
}

fn run(name: &str, flags: &[&str]) -> String {
    let out = tempfile::tempdir().expect("a folder");
    output(&mut Command::new(compiled(&source(name), flags, out.path())))
}

#[test]
fn every_wrong_call_from_c_is_answered_with_an_error_that_changes_nothing() {
    assert_eq!(run("calls.c", &SANITIZED), "every call is answered\n");
}

#[test]
fn rapid_from_c_decides_as_by_hand_and_answers_every_wrong_call() {
    assert_eq!(run("rapid.c", &SANITIZED), "every call is answered\n");
}

#[test]
fn objects_in_cpp_end_with_their_scope_and_say_why_they_were_not_made() {
    assert_eq!(run("raii.cpp", &SANITIZED), "objects end with their scope\n");
}

#[test]
fn the_first_program_of_the_guide_keeps_the_rlc_short_and_a_radio_of_two_rates_busy() {
    let said = run("../../../../examples/rlc-c/rlc.c", &SANITIZED);
    // 1800 and 900 B a slot for 5 s each; 1200 B come in each.
    let number = |before: &str| -> u64 {
        let rest = said.split(before).nth(1).and_then(|rest| rest.split(' ').next());
        rest.and_then(|word| word.trim_end_matches([',', ';']).parse().ok()).expect("a number")
    };
    assert!((11_500_000..=12_000_000).contains(&number("delivered ")), "{said}");
    assert!(number("at most ") <= 4_000 && number("marked ") > 0, "{said}");
    assert!(said.ends_with(" done\n"), "{said}");
}

#[test]
fn no_call_makes_a_system_call_once_an_object_is_made() {
    assert_eq!(run("system_calls.c", &["-O2"]), "no system call\n");
}

#[test]
fn no_call_allocates_once_an_object_is_made() {
    let wrapped = ["malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"];
    let flags: Vec<String> = wrapped.iter().map(|name| format!("-Wl,--wrap={name}")).collect();
    let flags: Vec<&str> = ["-O2"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let said = run("allocations.c", &flags);
    assert!(said.starts_with("no call allocated"), "{said}");
    print!("{said}");
}
