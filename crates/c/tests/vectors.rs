//! Golden vectors: input and output of every limiter, pacer, AQM, discipline, of EQP and RAPID, for
//! ports to other languages. `docs/vectors.md` has the format. This test makes the vectors from the
//! algorithms, and a program in C gets the same output through the library. `JUSTFULL_BLESS=1`
//! writes them (`cargo xtask golden --bless`).

mod built;
#[path = "vectors/eqp.rs"]
mod eqp;
#[path = "vectors/limiter.rs"]
mod limiter;
#[path = "vectors/pacer.rs"]
mod pacer;
#[path = "vectors/queue.rs"]
mod queue;
#[path = "vectors/rapid.rs"]
mod rapid;

use built::{SANITIZED, compiled, crate_root, output};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A file: its name, and its lines.
struct Vector {
    name: String,
    lines: Vec<String>,
}

impl Vector {
    fn new(kind: &str, name: &str, settings: &[&str]) -> Self {
        let mut lines = vec![format!("justfull-vectors 1 {kind} {name}")];
        lines.extend(settings.iter().map(|line| format!("| {line}")));
        Self { name: format!("{kind}-{name}.txt"), lines }
    }

    fn say(&mut self, line: String) {
        self.lines.push(line);
    }

    fn text(mut self) -> (String, String) {
        self.lines.push("end\n".into());
        (self.name, self.lines.join("\n"))
    }
}

fn all() -> BTreeMap<String, String> {
    let made = limiter::all().into_iter().chain(pacer::all()).chain(queue::all());
    made.chain([eqp::vector()]).chain(rapid::all()).map(Vector::text).collect()
}

fn folder() -> PathBuf {
    crate_root().join("vectors")
}

/// The files that are in the tree.
fn present() -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder()).expect("a folder");
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        (name, fs::read_to_string(path).expect("a file"))
    };
    entries.map(file).collect()
}

#[test]
fn the_vectors_in_the_tree_are_what_the_algorithms_do() {
    let made = all();
    if std::env::var_os("JUSTFULL_BLESS").is_some() {
        for name in present().keys() {
            fs::remove_file(folder().join(name)).expect("a file of this folder");
        }
        for (name, text) in &made {
            fs::write(folder().join(name), text).expect("a file can be written");
        }
    }
    let present = present();
    assert!(made.keys().eq(present.keys()), "made {:?}", made.keys());
    for (name, text) in &made {
        assert!(text == &present[name], "{name}: `cargo xtask golden --bless` accepts it");
    }
}

#[test]
fn the_library_in_c_finds_what_the_vectors_say() {
    let out = tempfile::tempdir().expect("a folder");
    let source = crate_root().join("tests/programs/vectors.c");
    let program = compiled(&source, &SANITIZED, out.path());
    let files = present();
    let mut command = Command::new(program);
    let said = output(command.current_dir(folder()).args(files.keys()));
    assert_eq!(said, format!("{} files agree\n", files.len()));
}

#[test]
fn a_vector_that_is_changed_in_one_number_is_found() {
    let out = tempfile::tempdir().expect("a folder");
    let source = crate_root().join("tests/programs/vectors.c");
    let program = compiled(&source, &["-O1"], out.path());
    for (name, word) in [
        ("limiter-drql.txt", "room "),
        ("queue-codel.txt", "dequeue "),
        ("eqp-eqp.txt", "ue "),
        ("rapid-rapid.txt", "windows "),
    ] {
        let text = fs::read_to_string(folder().join(name)).expect("a vector");
        let mut lines: Vec<String> = text.lines().map(String::from).collect();
        let last = lines.iter().rposition(|line| line.starts_with(word)).expect("a line");
        let end = lines[last].pop().and_then(|digit| digit.to_digit(10)).expect("a digit");
        lines[last] += &((end + 1) % 10).to_string();
        fs::write(out.path().join(name), lines.join("\n") + "\n").expect("a file");
        let done = Command::new(&program).arg(out.path().join(name)).output().expect("it starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let line = format!("{name}:{}:", last + 1);
        assert!(!done.status.success() && said.contains(&line), "{name}: {said}");
    }
}
