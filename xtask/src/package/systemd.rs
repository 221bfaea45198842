//! The service of the `.deb` under systemd, in namespaces of its own: the proxy is upgraded by
//! `systemctl reload` while connections pass data through it.

use std::path::Path;
use std::process::Command;

use crate::Outcome;

/// Boots systemd.
const BOOT: &str = concat!(include_str!("overlay.sh"), include_str!("systemd.sh"));
/// Runs inside, as a service.
const TRIAL: &str = include_str!("systemd.py");
const PACKAGES: [&str; 3] = ["systemd", "iproute2", "python3"];

/// Installs `deb` on a clean Debian that boots, and runs the trial there; `target` is the build
/// folder. An error if systemd does not boot.
pub(super) fn attempt(target: &Path, deb: &Path) -> Outcome {
    if !super::may_try()? {
        return Ok(());
    }
    let mut shell = Command::new("unshare");
    shell.args(["--mount", "sh", "-c", BOOT]).env("PACKAGE", deb).env("TRIAL", TRIAL);
    super::succeeds_on(target, "systemd", &PACKAGES, &mut shell)
}
