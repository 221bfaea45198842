//! Runs the commands in pages of the guide unchanged.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of the blocks of `page` that are in `language`.
pub(crate) fn lines_in(page: &str, language: &str) -> Vec<String> {
    blocks_in(page, language).concat()
}

/// The lines of each block.
pub(crate) fn blocks_in(page: &str, language: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join(page)).expect("the page is there");
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if let Some(mark) = line.strip_prefix("```") {
            inside = mark == language;
            found.extend(inside.then(Vec::new));
        } else if inside && !line.is_empty() {
            found.last_mut().expect("a block has begun").push(line.to_string());
        }
    }
    found
}

/// Runs the commands of `page` in a folder of their own. Commands of programs that are not
/// installed are skipped with a note, which continuous integration counts as a failure.
pub(crate) fn run_all(page: &str, least: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = Path::new(env!("CARGO_BIN_EXE_justfull"));
    let path = std::env::join_paths(
        std::iter::once(program.parent().expect("the program is in a folder").to_path_buf())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    )
    .expect("the folder's name is sound");
    let commands = lines_in(page, "sh");
    assert!(commands.len() >= least, "the guide shows commands: {commands:?}");
    for command in commands {
        let tool = command.split(' ').next().unwrap_or_default();
        let installed = Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .env("PATH", &path)
            .output();
        if !installed.is_ok_and(|found| found.status.success()) {
            assert!(std::env::var_os("CI").is_none(), "{tool} is missing; .ci/setup installs it");
            eprintln!("skipped: {tool} is not installed: {command}");
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-ec", &command]).current_dir(&folder).env("PATH", &path);
        let done = shell.output().expect("a shell runs");
        let said = String::from_utf8_lossy(&done.stderr);
        // Lateness of a live run is a property of this machine; all other work of the command must
        // have been done.
        let well = done.status.success() || said.contains("justfull: the run is late");
        assert!(well, "{command}\n{said}");
    }
    folder
}
