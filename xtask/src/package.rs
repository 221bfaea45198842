//! `cargo xtask package`: the program for others. A `.deb` by cargo-deb, whose metadata are in
//! `crates/cli/Cargo.toml`, and an archive with a static program. Both are tried: the `.deb` is
//! installed on a Debian of essential packages, runs `justfull demo` there as the user nobody and
//! is removed without a trace; the static program runs `justfull demo` in an otherwise empty
//! folder. The service of the `.deb` is upgraded under systemd. The C library has a `.deb` of its
//! own, `libjustfull-dev`, with which the guide's commands compile and run an example. The wheel is
//! installed on a Debian with Python, and the container image is built and run. [`release`] adds
//! the other files of a release.

mod image;
mod library;
mod release;
mod systemd;
mod wheel;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, Outcome, dist, process};

const PACKAGE: &str = "justfull";
/// The largest `.deb`, in bytes.
const MOST_BYTES: u64 = 15_000_000;
/// Texts that go with every copy of the program.
const LICENCES: [&str; 3] = ["LICENSE-MIT", "LICENSE-APACHE", "NOTICE"];
/// Completions, by the names that shells look for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "justfull"), ("zsh", "_justfull"), ("fish", "justfull.fish")];
/// The unit in the tree, the program's path in it, and the program's path in a package.
const UNIT: &str = "crates/proxy/operation/justfull-proxy.service";
const UNIT_PROGRAMS: [&str; 2] = ["/usr/local/bin/justfull", "/usr/bin/justfull"];

/// The packages to make, and the programs for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    profile: &'static str,
    /// The program of the `.deb`, if it is built already.
    program: Option<PathBuf>,
    /// The static program, if it is built already.
    alone: Option<PathBuf>,
    /// The wheel, if it is built already.
    wheel: Option<PathBuf>,
    /// The `.deb` for [`Part::Systemd`].
    deb: Option<PathBuf>,
    /// The one part to make; all if none.
    only: Option<Part>,
}

/// A package that can be made alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The C library.
    Library,
    Wheel,
    Image,
    /// The trial of the service alone, with a `.deb` that is made already.
    Systemd,
}

pub(crate) fn parse(words: &[&str]) -> Outcome<Plan> {
    let mut plan =
        Plan { profile: "dist", program: None, alone: None, wheel: None, deb: None, only: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut path = || {
            let path = words.next().map(PathBuf::from).filter(|path| path.is_file());
            path.ok_or_else(|| Failure::Environment(format!("{word} needs a program's path")))
        };
        match *word {
            "--release" => plan.profile = "release",
            "--library" => plan.only = Some(Part::Library),
            "--only-wheel" => plan.only = Some(Part::Wheel),
            "--only-image" => plan.only = Some(Part::Image),
            "--program" => plan.program = Some(path()?),
            "--static" => plan.alone = Some(path()?),
            "--wheel" => plan.wheel = Some(path()?),
            "--only-systemd" => (plan.only, plan.deb) = (Some(Part::Systemd), Some(path()?)),
            other => {
                return Err(Failure::Environment(format!(
                    "package: unknown option `{other}`; there are --release, --library, \
                     --only-wheel, --only-image, --only-systemd DEB, --program FILE, \
                     --static FILE and --wheel FILE"
                )));
            }
        }
    }
    Ok(plan)
}

pub(crate) fn run(root: &Path, plan: &Plan) -> Outcome {
    let metadata = process::metadata(&root.join("Cargo.toml"))?;
    let packages = metadata.workspace_packages();
    let version = packages.iter().find(|package| package.name == PACKAGE);
    let version = version.map(|package| package.version.to_string()).unwrap_or_default();
    let target = metadata.target_directory.into_std_path_buf();
    let out = target.join("package");
    let wants = |part| plan.only.is_none_or(|only| only == part);
    if let Some(deb) = &plan.deb {
        return systemd::attempt(&target, deb);
    }
    if plan.only.is_none() && !process::exists("cargo-deb") {
        let message = "cargo-deb is not here: `.ci/setup --package` installs it";
        return Err(Failure::Environment(message.to_owned()));
    }
    dist::fresh(&out)?;
    if wants(Part::Library) {
        let library = library::make(root, plan.profile, &version, &out)?;
        library::attempt(root, &target, &library)?;
        println!("{}: {} B", library.display(), size(&library)?);
    }
    if wants(Part::Wheel) {
        let wheel = match &plan.wheel {
            Some(wheel) => wheel::kept(wheel, &out)?,
            None => wheel::make(root, &out)?,
        };
        try_one(&target, "wheel", WHEEL, &["python3-venv"], &wheel)?;
        println!("{}: {} B", wheel.display(), size(&wheel)?);
    }
    if wants(Part::Image) {
        let program = match &plan.program {
            Some(program) => program.clone(),
            None => dist::program(root, plan.profile)?,
        };
        if plan.only.is_none() {
            programs(root, plan, &program, &version, &out)?;
        }
        if may_try()? {
            let work = target.join("xtask/image");
            image::attempt(root, &program, &debian(&target, &[])?, &work)?;
        }
    }
    if plan.only.is_none() { release::make(root, &version, &out) } else { Ok(()) }
}

/// The `.deb` of `program` and the archive with the static program, in `out` of the target folder.
fn programs(root: &Path, plan: &Plan, program: &Path, version: &str, out: &Path) -> Outcome {
    let target = out.parent().unwrap_or(out);
    let staged = out.join("staged");
    stage(root, program, &staged.join("release"))?;
    let deb = out.join(format!("{PACKAGE}.deb"));
    let mut cargo = process::cargo(root);
    cargo.args(["deb", "--quiet", "--no-build", "--package", PACKAGE, "--output"]).arg(&deb);
    process::must_succeed(cargo.env("CARGO_TARGET_DIR", &staged))?;
    let bytes = size(&deb)?;
    if bytes > MOST_BYTES {
        let message = format!("{}: {bytes} B, at most {MOST_BYTES}", deb.display());
        return Err(Failure::Check(message));
    }

    let alone = match &plan.alone {
        Some(program) => program.clone(),
        None => {
            println!("the static program has the system's libc, by +crt-static");
            dist::fixed(root, plan.profile)?
        }
    };
    let archive = archive(root, &alone, version, out)?;
    try_one(target, "installed", INSTALLED, &[], &deb)?;
    systemd::attempt(target, &deb)?;
    try_one(target, "static", include_str!("package/alone.sh"), &[], &archive)?;
    println!("{}: {bytes} B", deb.display());
    println!("{}: {} B", archive.display(), size(&archive)?);
    Ok(())
}

/// Lays out the files that `crates/cli/Cargo.toml` expects in `target/release`: the program, and
/// its man pages and completions.
fn stage(root: &Path, program: &Path, folder: &Path) -> Outcome {
    dist::fresh(folder)?;
    copy(program, &folder.join(PACKAGE))?;
    written_by(program, folder)?;
    compress(&folder.join("man1"))?;
    let unit = root.join(UNIT);
    let text = fs::read_to_string(&unit).map_err(|error| dist::cannot(&unit, &error))?;
    write(&folder.join("justfull-proxy.service"), &packaged_unit(&text))
}

/// The man pages and completions.
fn written_by(program: &Path, folder: &Path) -> Outcome {
    process::stdout_of(Command::new(program).args(["man", "--out"]).arg(folder.join("man1")))?;
    let completions = folder.join("completions");
    dist::fresh(&completions)?;
    for (shell, name) in COMPLETIONS {
        let script = process::stdout_of(Command::new(program).args(["completions", shell]))?;
        write(&completions.join(name), &script)?;
    }
    Ok(())
}

/// Makes each page `PAGE.gz`, as Debian has them.
fn compress(pages: &Path) -> Outcome {
    for entry in fs::read_dir(pages).map_err(|error| dist::cannot(pages, &error))? {
        let page = entry.map_err(|error| dist::cannot(pages, &error))?.path();
        let text = fs::read(&page).map_err(|error| dist::cannot(&page, &error))?;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        let done = packed.write_all(&text).and_then(|()| packed.finish());
        let bytes = done.map_err(|error| dist::cannot(&page, &error))?;
        let name = page.with_extension("1.gz");
        fs::write(&name, bytes).map_err(|error| dist::cannot(&name, &error))?;
        fs::remove_file(&page).map_err(|error| dist::cannot(&page, &error))?;
    }
    Ok(())
}

/// The unit without its instructions for manual installation.
fn packaged_unit(text: &str) -> String {
    let [here, packaged] = UNIT_PROGRAMS;
    let lines = text.lines().skip_while(|line| line.starts_with('#'));
    lines.map(|line| line.replace(here, packaged) + "\n").collect()
}

/// The static program, stripped, with its licences, man pages and completions.
fn archive(root: &Path, program: &Path, version: &str, out: &Path) -> Outcome<PathBuf> {
    let name = format!("{PACKAGE}-{version}-{}-linux-static", std::env::consts::ARCH);
    let folder = out.join(&name);
    dist::fresh(&folder)?;
    let inside = folder.join(PACKAGE);
    copy(program, &inside)?;
    process::must_succeed(Command::new("strip").arg(&inside))?;
    written_by(&inside, &folder)?;
    for licence in LICENCES {
        copy(&root.join(licence), &folder.join(licence))?;
    }
    let archive = out.join(format!("{name}.tar.gz"));
    let mut tar = Command::new("tar");
    tar.args(["--create", "--gzip", "--owner=0", "--group=0", "--sort=name", "--file"]);
    process::must_succeed(tar.arg(&archive).arg("--directory").arg(out).arg(&name))?;
    fs::remove_dir_all(&folder).map_err(|error| dist::cannot(&folder, &error))?;
    Ok(archive)
}

/// True if packages can be tried on this machine; prints the reason if not.
fn may_try() -> Outcome<bool> {
    let may = Command::new("unshare").args(["--mount", "true"]).output();
    let may = may.is_ok_and(|done| done.status.success());
    if !may {
        process::skipped("skipped: the packages' trials, which need root")?;
    }
    Ok(may)
}

/// The trials of a `.deb` and of a wheel, each after a prologue that makes the root.
const INSTALLED: &str =
    concat!(include_str!("package/overlay.sh"), include_str!("package/installed.sh"));
const WHEEL: &str = concat!(include_str!("package/overlay.sh"), include_str!("package/wheel.sh"));

/// Tries `package` by `script` in a mount namespace of its own whose changes are in memory, on a
/// clean Debian that also has `packages`. `what` is the trial's name.
fn try_one(target: &Path, what: &str, script: &str, packages: &[&str], package: &Path) -> Outcome {
    if !may_try()? {
        return Ok(());
    }
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", script]).env("PACKAGE", package);
    succeeds_on(target, what, packages, &mut shell)
}

/// Runs a trial's command with a clean Debian that also has `packages`, and prints its output.
fn succeeds_on(target: &Path, what: &str, packages: &[&str], shell: &mut Command) -> Outcome {
    let debian = debian(target, packages)?;
    let work = target.join("xtask/package");
    dist::fresh(&work)?;
    shell.env("WORK", &work).env("LOWER", &debian);
    let said = shell.output().map_err(|error| dist::cannot(Path::new("unshare"), &error))?;
    for bytes in [&said.stdout, &said.stderr] {
        print!("{}", String::from_utf8_lossy(bytes));
    }
    if !said.status.success() {
        return Err(Failure::Check(format!("{what}: the package fails its check")));
    }
    Ok(())
}

/// A Debian of essential packages and `packages`, fetched once; the operator's guide is tried on
/// the one without others.
fn debian(target: &Path, packages: &[&str]) -> Outcome<PathBuf> {
    let mut name = "debian".to_owned();
    packages.iter().for_each(|package| name.extend(["-", package]));
    let debian = target.join("tmp").join(name);
    if !debian.exists() {
        let part = debian.with_extension("part");
        dist::fresh(&part)?;
        let mut fetch = Command::new("mmdebstrap");
        fetch.args(["--quiet", "--variant=essential"]);
        fetch.args(packages.iter().map(|package| format!("--include={package}")));
        process::must_succeed(fetch.arg("bookworm").arg(&part))?;
        fs::rename(&part, &debian).map_err(|error| dist::cannot(&debian, &error))?;
    }
    Ok(debian)
}

fn size(path: &Path) -> Outcome<u64> {
    fs::metadata(path).map(|file| file.len()).map_err(|error| dist::cannot(path, &error))
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map(drop).map_err(|error| dist::cannot(from, &error))
}

fn write(path: &Path, text: &str) -> Outcome {
    fs::write(path, text).map_err(|error| dist::cannot(path, &error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// cargo-deb's name of the build folder.
    const BUILT: &str = "target/release/";

    #[test]
    fn options_follow_the_plan() {
        let here = file!().replace("xtask/", "");
        let plan = parse(&["--release", "--program", &here]).unwrap();
        let expected = ("release", Some(here.clone().into()), None);
        assert_eq!((plan.profile, plan.program, plan.alone), expected);
        assert_eq!(parse(&[]).unwrap().profile, "dist");
        let plan = parse(&["--only-wheel", "--wheel", &here]).unwrap();
        assert_eq!((plan.only, plan.wheel), (Some(Part::Wheel), Some(here.clone().into())));
        let plan = parse(&["--only-systemd", &here]).unwrap();
        assert_eq!((plan.only, plan.deb), (Some(Part::Systemd), Some(here.into())));
        for wrong in [
            &["--quick"][..],
            &["--program"],
            &["--only-systemd"],
            &["--static", "/no/such/program"],
        ] {
            assert!(matches!(parse(wrong), Err(Failure::Environment(_))), "{wrong:?}");
        }
    }

    #[test]
    fn the_packaged_unit_starts_the_packages_program() {
        let text = fs::read_to_string(crate::root().join(UNIT)).unwrap();
        let unit = packaged_unit(&text);
        assert!(unit.starts_with("[Unit]\n") && !unit.contains("/usr/local"), "{unit}");
        assert_eq!(
            unit.matches("=/usr/bin/justfull proxy").count(),
            3,
            "check, run, reload: {unit}"
        );
    }

    /// The metadata of a crate that registries show.
    #[test]
    fn crates_have_descriptions() {
        let metadata = process::metadata(&crate::root().join("Cargo.toml")).unwrap();
        for package in metadata.workspace_packages() {
            let name = &package.name;
            assert!(package.description.is_some() && package.license.is_some(), "{name}");
            assert!(package.repository.is_some() && package.rust_version.is_some(), "{name}");
            // An empty list of registries means that it is not published.
            if package.publish.as_ref().is_none_or(|registries| !registries.is_empty()) {
                assert!((1..=5).contains(&package.keywords.len()), "{name}");
                assert!(!package.categories.is_empty() && package.readme.is_some(), "{name}");
            }
        }
    }

    /// Every asset of the metadata is in the tree, or is made by [`stage`] under its name.
    #[test]
    fn assets_of_the_package_exist() {
        let root = crate::root();
        let metadata = process::metadata(&root.join("Cargo.toml")).unwrap();
        let packages = metadata.workspace_packages();
        let package = packages.iter().find(|package| package.name == PACKAGE).unwrap();
        let folder = package.manifest_path.parent().unwrap().as_std_path();
        let assets = package.metadata["deb"]["assets"].as_array().unwrap();
        let mut made: BTreeSet<String> =
            COMPLETIONS.iter().map(|(_, name)| format!("completions/{name}")).collect();
        made.extend([PACKAGE, "justfull-proxy.service", "man1/*.gz"].map(str::to_owned));
        let mut licences = LICENCES.to_vec();
        for asset in assets {
            let source = asset[0].as_str().unwrap();
            if let Some(name) = source.strip_prefix(BUILT) {
                assert!(made.remove(name), "nothing makes {source}");
                continue;
            }
            let above = folder.join(source.trim_end_matches("*.toml"));
            assert!(above.exists(), "there is no {source}");
            licences.retain(|licence| !source.ends_with(licence));
        }
        assert!(made.is_empty() && licences.is_empty(), "not packed: {made:?}, {licences:?}");
    }
}
