//! Rights of a user without capabilities. This program has its own `main`: the kernel lets only a
//! process with one thread enter a user namespace, and the usual test program has two.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use justfull_net::SystemError;
use justfull_net::{Network, NetworkConfig, Side, capabilities, privilege};

const ROLE: &str = "JUSTFULL_TEST_ROLE";
const NOBODY: u32 = 65_534;

fn main() {
    if std::env::var_os(ROLE).is_some() {
        println!("{}", without_right().unwrap_or_else(|error| error.to_string()));
    } else if nix::unistd::geteuid().is_root() {
        a_user_without_capabilities_builds_in_a_user_namespace_or_learns_the_missing_one();
    } else {
        println!("skipped: only root can become another user");
    }
}

/// Does the steps that need no rights, up to the first error.
fn without_right() -> Result<String, SystemError> {
    let mut text = format!("{:?}\n", privilege()?);
    for one in capabilities() {
        writeln!(text, "{}: {:?}", one.name, one.found).expect("a string takes all");
    }
    let work = || -> Result<(), SystemError> {
        let mut config = NetworkConfig::new(1);
        config.ues[0].down = Some("cubic".into());
        let network = Network::build(&config)?;
        let words = ["sh", "-c", "getent hosts server && id -u"].map(Into::into);
        let status = network.run(Side::Ue(0), &words, &[])?.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(SystemError::new("find the server's name", status))
        }
    };
    writeln!(text, "built: {:?}", work().map_err(|error| error.to_string()))
        .expect("a string takes all");
    Ok(text)
}

fn a_user_without_capabilities_builds_in_a_user_namespace_or_learns_the_missing_one() {
    // Another user may have no right to read the folder of this program.
    let readable = fs::Permissions::from_mode(0o755);
    let folder = tempfile::Builder::new().permissions(readable).tempdir().expect("a folder");
    std::os::unix::fs::chown(folder.path(), Some(NOBODY), None).expect("root may give it away");
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().expect("this program"), &program).expect("copied");
    let mut command = Command::new(program);
    command
        .env(ROLE, "nobody")
        .env("TMPDIR", folder.path())
        .env_remove("XDG_RUNTIME_DIR")
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/");
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    println!("{text}");
    if text.contains("UserNamespace\n") {
        assert!(text.contains("network namespaces: Ok"), "{text}");
        let opens = text.contains("TUN devices: Ok(") && text.contains("built: Ok(())");
        let refused = text.contains("TUN devices: Err(\"Permission denied")
            && text.contains(
                "cannot open /dev/net/tun for server: Permission denied (os error 13); this user \
                 may not open it",
            );
        assert!(opens || refused, "{text}");
    } else {
        assert!(text.contains("CAP_SYS_ADMIN and CAP_NET_ADMIN are needed"), "{text}");
    }
}
