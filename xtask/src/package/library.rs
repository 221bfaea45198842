//! `libjustfull-dev`: the C library, its headers, its examples, its files for pkg-config and CMake,
//! as a `.deb`. Made by `crates/c/install.sh` and dpkg-deb. The guide's commands are tried on a
//! Debian with compilers: they install it, and compile, link and run an example.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, Outcome, dist, process};

const PACKAGE: &str = "libjustfull-dev";
/// The compilers and tools that the guide's reader has.
const TOOLS: [&str; 5] = ["gcc", "libc6-dev", "pkg-config", "cmake", "make"];
/// The examples that the package has.
const EXAMPLES: [&str; 2] = ["rlc-c", "gnb-cpp"];
/// The page whose commands the trial runs.
const GUIDE: &str = "docs/guide/in-a-gnb.md";
const TRIAL: &str = concat!(include_str!("overlay.sh"), include_str!("library.sh"));

/// Builds the library with `profile` and packs version `version` into `out`.
pub(super) fn make(root: &Path, profile: &str, version: &str, out: &Path) -> Outcome<PathBuf> {
    let mut cargo = process::cargo(root);
    process::must_succeed(cargo.args([
        "build",
        "--profile",
        profile,
        "-p",
        "justfull-c",
        "--lib",
    ]))?;
    let target = process::metadata(&root.join("Cargo.toml"))?.target_directory;
    let archive = target.join(profile).join("libjustfull.a");
    let staged = out.join("library");
    dist::fresh(&staged)?;
    let architecture = process::stdout_of(Command::new("dpkg").arg("--print-architecture"))?;
    let tuple = format!("{}-linux-gnu", std::env::consts::ARCH);
    let mut install = Command::new(root.join("crates/c/install.sh"));
    install.arg(archive).env("DESTDIR", &staged).env("PREFIX", "/usr");
    process::must_succeed(install.env("LIBDIR", format!("/usr/lib/{tuple}")))?;
    let lib = staged.join("usr/lib").join(&tuple);
    for name in ["libjustfull.a", "libjustfull.so"] {
        process::must_succeed(Command::new("strip").arg("--strip-debug").arg(lib.join(name)))?;
    }
    let texts = staged.join("usr/share/doc").join(PACKAGE);
    dist::fresh(&texts)?;
    let licences: Vec<String> = super::LICENCES
        .iter()
        .map(|name| fs::read_to_string(root.join(name)).map_err(|e| dist::cannot(root, &e)))
        .collect::<Outcome<_>>()?;
    super::write(&texts.join("copyright"), &licences.join("\n"))?;
    let examples = texts.join("examples");
    dist::fresh(&examples)?;
    for example in EXAMPLES {
        let mut copy = Command::new("cp");
        let from = root.join("examples").join(example);
        process::must_succeed(copy.arg("-r").arg(from).arg(&examples))?;
    }
    dist::fresh(&staged.join("DEBIAN"))?;
    super::write(&staged.join("DEBIAN/control"), &control(version, architecture.trim()))?;
    let deb = out.join(format!("{PACKAGE}.deb"));
    let mut pack = Command::new("dpkg-deb");
    pack.args(["--root-owner-group", "--build"]).arg(&staged).arg(&deb);
    process::must_succeed(&mut pack)?;
    check(&deb, &tuple)?;
    Ok(deb)
}

fn control(version: &str, architecture: &str) -> String {
    format!(
        "Package: {PACKAGE}\nVersion: {version}\nArchitecture: {architecture}\nSection: libdevel\n\
         Priority: optional\nMaintainer: The justfull developers\n\
         Depends: libc6, libgcc-s1\nDescription: queues above an RLC for base stations\n \
         The gate of a UE, AQMs, limiters, pacers and EQP of justfull for C and C++:\n headers, \
         the static and the shared library, pkg-config and CMake files.\n"
    )
}

/// Follows the guide with `deb` on a clean Debian with compilers.
pub(super) fn attempt(root: &Path, target: &Path, deb: &Path) -> Outcome {
    if !super::may_try()? {
        return Ok(());
    }
    let guide = root.join(GUIDE);
    let text = fs::read_to_string(&guide).map_err(|error| dist::cannot(&guide, &error))?;
    let (commands, output) = followed(&text)
        .ok_or_else(|| Failure::Check(format!("{GUIDE}: no commands with dpkg, or no output")))?;
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", TRIAL]).env("PACKAGE", deb);
    shell.env("COMMANDS", commands).env("OUTPUT", output);
    super::succeeds_on(target, "library", &TOOLS, &mut shell)
}

/// The guide's commands that begin with the package's installation, and the line that the program
/// prints.
fn followed(guide: &str) -> Option<(String, &str)> {
    let mut lines = guide.lines().skip_while(|line| !line.starts_with("dpkg --install"));
    let commands: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
    let output = guide.lines().find(|line| line.starts_with("delivered "))?;
    (!commands.is_empty()).then(|| (commands.join("\n"), output))
}

/// The package holds what a user links.
fn check(deb: &Path, tuple: &str) -> Outcome {
    let listed = process::stdout_of(Command::new("dpkg-deb").arg("--contents").arg(deb))?;
    let lib = format!("./usr/lib/{tuple}");
    let expected = [
        "./usr/include/justfull.h".to_owned(),
        "./usr/include/justfull.hpp".to_owned(),
        format!("{lib}/libjustfull.a"),
        format!("{lib}/libjustfull.so -> libjustfull.so.0"),
        format!("{lib}/pkgconfig/justfull.pc"),
        format!("{lib}/cmake/justfull/justfull-config.cmake"),
        format!("./usr/share/doc/{PACKAGE}/copyright"),
        format!("./usr/share/doc/{PACKAGE}/examples/rlc-c/rlc.c"),
        format!("./usr/share/doc/{PACKAGE}/examples/gnb-cpp/gnb.cpp"),
    ];
    let missing = |path: &&String| !listed.lines().any(|line| line.ends_with(path.as_str()));
    match expected.iter().find(missing) {
        Some(path) => Err(Failure::Check(format!("{}: no {path}", deb.display()))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_the_trials_commands_and_their_output() {
        let text = fs::read_to_string(crate::root().join(GUIDE)).unwrap();
        let (commands, output) = followed(&text).unwrap();
        assert!(
            commands.ends_with("/build/rlc\"") && commands.contains("pkg-config"),
            "{commands}"
        );
        assert!(output.starts_with("delivered 1"), "{output}");
        assert_eq!(followed("delivered 1"), None);
    }

    #[test]
    fn the_control_file_has_a_field_in_each_line_and_indents_its_description() {
        let text = control("0.1.0", "amd64");
        assert!(text.starts_with("Package: libjustfull-dev\nVersion: 0.1.0\n"));
        let lines: Vec<&str> = text.lines().collect();
        let fine = |line: &&str| line.starts_with(' ') || line.contains(": ");
        assert!(lines.iter().all(fine) && text.ends_with("files.\n"), "{text}");
    }
}
