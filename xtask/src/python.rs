//! `cargo xtask python`: the Python package: its wheel, made and installed in a fresh environment,
//! its types, and its tests against the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, Outcome, process};

/// Most bytes of a distributed wheel.
const MOST_BYTES: u64 = 20_000_000;
/// The first example of README.
const FIRST: &str =
    "import justfull as jf; print(jf.scenario('voip-over-lte').run(seeds=2, progress=False))";

/// The build of the wheel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Like the tests' own program, with assertions.
    Dev,
    /// The distributed build.
    Release,
}

/// Checks the distributed wheel against the program of the same build.
pub(crate) fn given_away(root: &Path) -> Outcome {
    let mut build = process::cargo(root);
    build.args(["build", "--release", "-p", "justfull"]);
    let program = process::built(&mut build, "justfull")?;
    run(root, Profile::Release, &program)?;
    let tools = tools();
    if tools.join("maturin").exists() { source(root, &tools, &folder(root)?) } else { Ok(()) }
}

/// The source distribution builds in an otherwise empty place, and its package has the same source
/// hash as the tree's in `tools`.
fn source(root: &Path, tools: &Path, folder: &Path) -> Outcome {
    let place = folder.join("source");
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).map_err(|e| Failure::Environment(e.to_string()))?;
    let mut make = Command::new(tools.join("maturin"));
    process::must_succeed(make.current_dir(root).args(["sdist", "--out"]).arg(&place))?;
    let found = fs::read_dir(&place).into_iter().flatten().flatten().next();
    let made = found.ok_or_else(|| Failure::Check("maturin made no source".into()))?.path();
    let mut unpack = Command::new("tar");
    process::must_succeed(
        unpack.args(["--strip-components=1", "-xzf"]).arg(&made).arg("-C").arg(&place),
    )?;
    let mut build = Command::new(tools.join("maturin"));
    build.current_dir(&place).args(["build", "--quiet", "--profile", "dev", "--out"]);
    build.arg(place.join("wheels")).env("CARGO_TARGET_DIR", folder.join("source-target"));
    process::must_succeed(&mut build)?;
    let found = fs::read_dir(place.join("wheels")).into_iter().flatten().flatten().next();
    let wheel = found.ok_or_else(|| Failure::Check("maturin made no wheel".into()))?.path();
    first_steps(&place, &wheel)?;
    let source_of = |python: &Path| {
        let ask = "import justfull._native as native; print(native.SOURCE)";
        process::stdout_of(Command::new(python).current_dir(&place).args(["-I", "-c", ask]))
    };
    let (theirs, ours) =
        (source_of(&place.join("fresh/bin/python"))?, source_of(&tools.join("python"))?);
    if theirs == ours {
        return Ok(());
    }
    Err(Failure::Check(format!("source {theirs} from the distribution, {ours} from the tree")))
}

/// Builds the wheel and compares it with `program`.
pub(crate) fn run(root: &Path, profile: Profile, program: &Path) -> Outcome {
    let tools = tools();
    if !tools.join("maturin").exists() {
        let message = "no Python tools: `.ci/setup --tests` installs them";
        return process::skipped(&format!(
            "skipped: the Python package, since there are {message}"
        ));
    }
    let folder = folder(root)?;
    let wheel = wheel(root, &tools, &folder, profile)?;
    first_steps(&folder, &wheel)?;
    let python = installed(&tools, &wheel)?;
    // In a folder of its own, so that Python reads the installed package and not the tree's.
    let types = folder.join("types");
    fs::create_dir_all(&types).map_err(|e| Failure::Environment(e.to_string()))?;
    let settings = root.join("pyproject.toml");
    let mypy = |rest: &[&str]| {
        let mut command = Command::new(&python);
        command.current_dir(&types).args(["-m", "mypy"]).arg("--config-file").arg(&settings);
        command.args(rest).args(["-p", "justfull"]);
        process::must_succeed(&mut command)
    };
    mypy(&[])?;
    let examples = root.join("python/examples");
    for entry in fs::read_dir(&examples).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|ending| ending == "py") {
            let mut command = Command::new(&python);
            command.current_dir(&types).args(["-m", "mypy", "--strict"]).arg(entry.path());
            process::must_succeed(&mut command)?;
        }
    }
    // A second type checker, with its own settings in the same file.
    let mut pyright = Command::new(tools.join("pyright"));
    pyright.current_dir(root).arg("--pythonpath").arg(&python);
    process::must_succeed(&mut pyright)?;
    let stubs = ["-m", "mypy.stubtest", "justfull._native"];
    process::must_succeed(Command::new(&python).current_dir(&types).args(stubs))?;
    let tests = root.join("python/tests");
    let mut pytest = Command::new(&python);
    pytest
        .current_dir(&types)
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"])
        .arg(&tests)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("JUSTFULL_PROGRAM", program);
    process::must_succeed(&mut pytest)
}

/// A Python with the package of the tree; none without Python's tools.
pub(crate) fn with_package(root: &Path) -> Outcome<Option<PathBuf>> {
    let tools = tools();
    if !tools.join("maturin").exists() {
        return Ok(None);
    }
    let wheel = wheel(root, &tools, &folder(root)?, Profile::Dev)?;
    installed(&tools, &wheel).map(Some)
}

/// The folder for wheels.
fn folder(root: &Path) -> Outcome<PathBuf> {
    let metadata = process::metadata(&root.join("Cargo.toml"))?;
    Ok(metadata.target_directory.into_std_path_buf().join("python"))
}

/// The Python of `tools`, into which `wheel` is installed.
fn installed(tools: &Path, wheel: &Path) -> Outcome<PathBuf> {
    let python = tools.join("python");
    let install = ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--force-reinstall"];
    process::must_succeed(Command::new(&python).args(install).arg(wheel))?;
    Ok(python)
}

/// The programs of the environment that `.ci/setup --tests` makes.
pub(crate) fn tools() -> PathBuf {
    let made = std::env::var_os("JUSTFULL_VENV").unwrap_or_else(|| "/var/tmp/justfull-venv".into());
    PathBuf::from(made).join("bin")
}

fn wheel(root: &Path, tools: &Path, folder: &Path, profile: Profile) -> Outcome<PathBuf> {
    let wheels = folder.join("wheels");
    let _ = fs::remove_dir_all(&wheels);
    let name = if profile == Profile::Dev { "dev" } else { "release" };
    let mut build = Command::new(tools.join("maturin"));
    build.current_dir(root).args(["build", "--quiet", "--locked", "--profile", name, "--out"]);
    process::must_succeed(build.arg(&wheels))?;
    let found = fs::read_dir(&wheels).into_iter().flatten().flatten().next();
    let wheel = found.ok_or_else(|| Failure::Check("maturin made no wheel".into()))?.path();
    let bytes = fs::metadata(&wheel).map_or(0, |found| found.len());
    println!("{}: {:.1} MB", wheel.display(), bytes as f64 / 1e6);
    if profile == Profile::Release && bytes > MOST_BYTES {
        return Err(Failure::Check(format!("the wheel has {bytes} bytes, allowed {MOST_BYTES}")));
    }
    Ok(wheel)
}

/// The wheel prints a table in an otherwise empty environment.
fn first_steps(folder: &Path, wheel: &Path) -> Outcome {
    let fresh = folder.join("fresh");
    let _ = fs::remove_dir_all(&fresh);
    process::must_succeed(Command::new("python3").args(["-m", "venv"]).arg(&fresh))?;
    let python = fresh.join("bin/python");
    let install = ["-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check"];
    process::must_succeed(Command::new(&python).args(install).arg(wheel))?;
    let printed = process::stdout_of(Command::new(&python).args(["-c", FIRST]))?;
    if printed.contains("Vanilla") && printed.contains("voip") {
        return Ok(());
    }
    Err(Failure::Check(format!("no table: {printed}")))
}
