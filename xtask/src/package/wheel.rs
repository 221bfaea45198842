//! The wheel of the Python package: one for Python 3.11 and later (abi3), for glibc 2.28 and later
//! if zig is there to link against its symbols.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failure, Outcome, dist, process, python};

/// The oldest systems that the wheel is for.
const SYSTEMS: &str = "manylinux_2_28";

/// Builds the wheel of the release profile in `out`.
pub(super) fn make(root: &Path, out: &Path) -> Outcome<PathBuf> {
    let tools = python::tools();
    let mut maturin = Command::new(tools.join("maturin"));
    maturin.current_dir(root).args(["build", "--quiet", "--locked", "--profile", "release"]);
    let zig = ["-c", "import ziglang"];
    if process::stdout_of(Command::new(tools.join("python")).args(zig)).is_ok() {
        maturin.args(["--zig", "--compatibility", SYSTEMS]);
        // maturin looks for zig beside the Python that it finds first.
        let others = std::env::var_os("PATH").unwrap_or_default();
        let places = std::iter::once(tools).chain(std::env::split_paths(&others));
        let places = std::env::join_paths(places);
        maturin.env("PATH", places.map_err(|error| Failure::Environment(error.to_string()))?);
    } else {
        process::skipped("skipped: a wheel for older systems, which needs ziglang")?;
    }
    let made = out.join("wheel");
    dist::fresh(&made)?;
    process::must_succeed(maturin.arg("--out").arg(&made))?;
    let found = std::fs::read_dir(&made).into_iter().flatten().flatten().next();
    let found = found.ok_or_else(|| Failure::Check("maturin made no wheel".into()))?.path();
    let wheel = kept(&found, out)?;
    std::fs::remove_dir_all(&made).map_err(|error| dist::cannot(&made, &error))?;
    Ok(wheel)
}

/// The path of a copy of `wheel` in `out`; its name says which systems it is for.
pub(super) fn kept(wheel: &Path, out: &Path) -> Outcome<PathBuf> {
    let named = wheel.file_name().filter(|_| wheel.extension().is_some_and(|end| end == "whl"));
    let message = || Failure::Environment(format!("{} is no wheel", wheel.display()));
    let copy = out.join(named.ok_or_else(message)?);
    super::copy(wheel, &copy)?;
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_keeps_its_name_and_other_files_are_no_wheels() {
        let folder = std::env::temp_dir().join(format!("justfull-wheel-{}", std::process::id()));
        let out = folder.join("out");
        dist::fresh(&out).unwrap();
        let wheel = folder.join("justfull-0.1.0-cp311-abi3-manylinux_2_28_x86_64.whl");
        std::fs::write(&wheel, "wheel").unwrap();
        let copy = kept(&wheel, &out).unwrap();
        assert_eq!((copy.parent(), copy.file_name()), (Some(&*out), wheel.file_name()));
        assert_eq!(std::fs::read_to_string(copy).unwrap(), "wheel");
        assert!(matches!(kept(&folder, &out), Err(Failure::Environment(_))));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
