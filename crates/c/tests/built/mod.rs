//! Programs in C and C++ that link the library.
#![allow(dead_code, reason = "each test uses a part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

/// The folder of the crate.
pub(crate) fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The static library that cargo has built beside this test: the newest, since each change of the
/// sources makes a new one.
pub(crate) fn archive() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let folder = test.parent().expect("a folder");
    let age = |path: &PathBuf| {
        fs::metadata(path).and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    let entries = fs::read_dir(folder).expect("a folder");
    let all = entries.map(|entry| entry.expect("an entry").path()).filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("libjustfull") && name.ends_with(".a") && !name.contains("justfull_")
    });
    all.max_by_key(age).expect("cargo builds the library before its tests")
}

/// The system's libraries that Rust's standard library needs.
pub(crate) const SYSTEM: [&str; 3] = ["-lpthread", "-lm", "-ldl"];

/// Compiles `source` with every warning an error and `flags`, links it, and returns the program.
pub(crate) fn compiled(source: &Path, flags: &[&str], out: &Path) -> PathBuf {
    let cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if cpp { ("c++", "-std=c++17") } else { ("cc", "-std=c11") };
    let program = out.join(source.file_stem().expect("a name"));
    let mut command = Command::new(compiler);
    command.args([standard, "-g", "-Wall", "-Wextra", "-Werror", "-pedantic"]).args(flags);
    command.arg("-I").arg(crate_root().join("include")).arg(source).arg(archive());
    command.args(SYSTEM).arg("-o").arg(&program);
    let done = command.output().unwrap_or_else(|error| {
        panic!("{compiler}: {error}; `.ci/setup --tests` installs a compiler for C++")
    });
    assert!(done.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// The address and undefined behaviour sanitizers, any finding of which ends the program.
pub(crate) const SANITIZED: [&str; 3] =
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1"];

/// The output of `program`, which must succeed.
pub(crate) fn output(program: &mut Command) -> String {
    let Output { status, stdout, stderr } = program.output().expect("it starts");
    let (said, failed) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{program:?}: {status}\n{failed}\n{said}");
    said.into_owned()
}
