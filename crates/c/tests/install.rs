//! The files and places of `make install`, and the ways to link with them. This test's build makes
//! the library.

mod built;

use built::{archive, crate_root, output};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of libraries below `/usr`, as Debian has it.
const LIB: &str = "lib/x-linux-gnu";

/// The library, installed under `root` for `/usr`.
fn installed(root: &Path) -> PathBuf {
    let mut install = Command::new(crate_root().join("install.sh"));
    install.arg(archive()).env("PREFIX", "/usr").env("DESTDIR", root).env_remove("CC");
    output(install.env("LIBDIR", format!("/usr/{LIB}")));
    root.join("usr")
}

/// Every function of the header, in order.
fn declared() -> Vec<String> {
    let header = fs::read_to_string(crate_root().join("include/justfull.h")).expect("a header");
    let names = header.lines().filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        let is_function = line.starts_with("jf_status ") || line.starts_with("const char ");
        (name.starts_with("jf_") && is_function).then(|| name.to_owned())
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_shared_library_exports_the_functions_of_the_header_and_nothing_else() {
    let root = tempfile::tempdir().expect("a folder");
    let lib = installed(root.path()).join(LIB);
    let shared = lib.join("libjustfull.so");
    let listed = output(Command::new("nm").args(["-D", "--defined-only"]).arg(&shared));
    let mut exported: Vec<String> = listed
        .lines()
        .filter_map(|line| Some(line.rsplit(' ').next()?.split("@@").next()?.to_owned()))
        .filter(|name| name != "JUSTFULL_0")
        .collect();
    exported.sort();
    let symbols = fs::read_to_string(crate_root().join("symbols.txt")).expect("a list");
    let known: Vec<&str> = symbols.lines().collect();
    assert_eq!(exported, known, "symbols.txt: a symbol that goes changes the soname");
    assert_eq!(declared(), known, "the header");
    assert!(listed.lines().any(|line| line.ends_with(" jf_gate_offer@@JUSTFULL_0")), "{listed}");
    let dynamic = output(Command::new("readelf").args(["-d"]).arg(&shared));
    assert!(dynamic.contains("soname: [libjustfull.so.0]"), "{dynamic}");
}

#[test]
fn programs_link_it_by_pkg_config_and_by_cmake() {
    let root = tempfile::tempdir().expect("a folder");
    let usr = installed(root.path());
    let paths = |command: &mut Command| {
        command.env("PKG_CONFIG_PATH", usr.join(LIB).join("pkgconfig"));
        command.env("PKG_CONFIG_SYSROOT_DIR", root.path());
        command.env("LD_LIBRARY_PATH", usr.join(LIB));
    };
    let source = crate_root().join("tests/programs/calls.c");
    let mut link = Command::new("sh");
    link.args(["-c", "cc \"$1\" $(pkg-config --cflags --libs justfull) -o calls && ./calls", "sh"]);
    paths(link.arg(source).current_dir(root.path()));
    assert_eq!(output(&mut link), "every call is answered\n");

    let example = crate_root().join("../../examples/gnb-cpp");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(&example).arg("-B").arg(root.path().join("build"));
    let package = usr.join(LIB).join("cmake/justfull");
    output(configure.arg(format!("-Djustfull_DIR={}", package.display())));
    output(Command::new("cmake").arg("--build").arg(root.path().join("build")));
    let mut wrong = Command::new(root.path().join("build/gnb"));
    paths(&mut wrong);
    let said = wrong.output().expect("it starts");
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).starts_with("usage: gnb SETTINGS SLOTS"));
}
