//! The commands of the guide run as they stand, with the library of this test's build.

mod built;

use built::{archive, crate_root, output};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn root() -> PathBuf {
    crate_root().join("../..").canonicalize().expect("the checkout")
}

/// The blocks of `kind` in the guide.
fn blocks(kind: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("docs/guide/in-a-gnb.md")).expect("the guide");
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line == format!("```{kind}") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(block.join("\n"));
        }
    }
    blocks
}

#[test]
fn every_command_of_the_base_station_page_works_as_written() {
    let home = tempfile::tempdir().expect("a folder");
    // `cargo xtask package` runs the commands that install a package.
    let mut blocks = blocks("sh");
    blocks.retain(|block| !block.starts_with("dpkg "));
    assert_eq!(blocks.len(), 5, "blocks of commands");
    let script = format!(
        "set -eu\n{}\necho \"decisions: $(wc -l < \"$HOME/decisions\")\"\n",
        blocks.join("\n")
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(root()).env("ARCHIVE", archive());
    for (name, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
        if let (None, Some(home)) = (std::env::var_os(name), std::env::var_os("HOME")) {
            shell.env(name, PathBuf::from(home).join(folder));
        }
    }
    shell.env_remove("MAKEFLAGS").env_remove("MAKELEVEL").env_remove("DESTDIR");
    let said = output(shell.env("HOME", home.path()));
    let page = fs::read_to_string(root().join("docs/guide/in-a-gnb.md")).expect("the guide");
    let line = page.lines().find(|line| line.starts_with("delivered ")).expect("its output");
    assert_eq!(said.matches(&format!("{line}\n")).count(), 2, "by hand and by CMake: {said}");
    // Of 12 000 packets of 1400 B in 9.6 s, 10 s of 1.5 MB carry at most 10 714.
    let (entered, dropped) = counts(&said);
    assert!((10_000..10_720).contains(&entered) && entered + dropped <= 12_000, "{said}");
    assert!(dropped > 1_000, "{said}");
}

/// The first two numbers that stand alone in a line.
fn counts(said: &str) -> (u64, u64) {
    let mut numbers = said.lines().filter_map(|line| line.trim().parse().ok());
    (numbers.next().expect("entered"), numbers.next().expect("dropped"))
}

#[test]
fn the_settings_of_the_page_make_a_gate_and_a_control() {
    use justfull::gate::jf_gate_size;
    use justfull::rapid::jf_rapid_size;
    let blocks = blocks("toml");
    let [gate, control] = &blocks[..] else { panic!("blocks of settings: {blocks:?}") };
    let (mut of_gate, mut of_control) = (0, 0);
    // SAFETY: the settings are there.
    let told = unsafe {
        let of_gate = Some(&mut of_gate);
        let of_control = Some(&mut of_control);
        [
            jf_gate_size(gate.as_ptr().cast(), gate.len(), of_gate, None),
            jf_rapid_size(control.as_ptr().cast(), control.len(), of_control, None),
        ]
    };
    assert_eq!(told, [justfull::jf_status::JF_OK; 2]);
    // A connection takes some hundred bytes.
    assert!(of_gate > 10_000 && of_control > 2_000 * 100, "{of_gate} and {of_control} B");
}
