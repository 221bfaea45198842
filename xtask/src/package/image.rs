//! The container image: `Containerfile` with a program that is built already, on the clean Debian
//! as its base. It must write the results of `justfull demo`.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{Failure, Outcome, dist, process};

const BASE: &str = "localhost/clean-debian";
const IMAGE: &str = "localhost/justfull";
/// The stage of `Containerfile` in which the program is built, and the program's path in it.
const STAGE: &str = "build";
const BUILT: &str = "installed/bin";
/// A file of the results.
const REPORT: &str = "demo/report.html";

/// Builds the image of `program` on the root `debian`, and runs it, all in `work`.
pub(super) fn attempt(root: &Path, program: &Path, debian: &Path, work: &Path) -> Outcome {
    if !process::exists("podman") || !process::exists("runc") {
        return process::skipped("skipped: the container image, which needs podman and runc");
    }
    dist::fresh(work)?;
    let built = work.join(BUILT);
    let results = work.join("results");
    for folder in [&built, &results] {
        fs::create_dir_all(folder).map_err(|error| dist::cannot(folder, &error))?;
    }
    super::copy(program, &built.join(super::PACKAGE))?;
    let podman = || {
        let mut podman = Command::new("podman");
        // Layers as folders, which also works inside a container; no files of the user's own.
        podman.args(["--storage-driver", "vfs", "--runtime", "runc"]);
        podman.args(["--cgroup-manager", "cgroupfs", "--root"]).arg(work.join("storage"));
        podman.arg("--runroot").arg(work.join("state"));
        podman
    };
    let tar = work.join("debian.tar");
    let mut pack = Command::new("tar");
    pack.args(["--create", "--file"]).arg(&tar).arg("--directory").arg(debian).arg(".");
    process::must_succeed(&mut pack)?;
    process::stdout_of(podman().args(["import", "--quiet"]).arg(&tar).arg(BASE))?;
    let mut build = podman();
    build.args(["build", "--quiet", "--isolation", "chroot", "--pull=never", "--tag", IMAGE]);
    build.args(["--build-arg", &format!("BASE={BASE}"), "--build-context"]);
    build.arg(format!("{STAGE}={}", work.display()));
    process::stdout_of(build.arg("--file").arg(root.join("Containerfile")).arg(root))?;
    let mut run = podman();
    // Limits that a user without further rights may set.
    run.args(["run", "--rm", "--network", "none", "--ulimit", "nofile=1024:1024"]);
    run.args(["--ulimit", "nproc=1024:1024", "--volume"]);
    let said = process::stdout_of(run.arg(format!("{}:/results", results.display())).arg(IMAGE))?;
    if !said.contains("Justfull") || !results.join(REPORT).is_file() {
        return Err(Failure::Check(format!("the image writes no {REPORT}; it prints: {said}")));
    }
    println!("the image runs justfull demo");
    fs::remove_dir_all(work).map_err(|error| dist::cannot(work, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trial_replaces_the_stage_that_builds_and_its_program() {
        let text = fs::read_to_string(crate::root().join("Containerfile")).unwrap();
        assert!(text.contains("ARG BASE=") && text.contains("CMD [\"demo\"]"), "{text}");
        assert!(text.contains(&format!(" AS {STAGE}\n")), "{text}");
        let copied = format!("COPY --from={STAGE} /{BUILT}/{} ", super::super::PACKAGE);
        assert!(text.contains(&copied), "{text}");
    }
}
