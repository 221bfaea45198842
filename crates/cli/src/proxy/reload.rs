//! `proxy reload`: a new process takes the place of the running proxy.

use super::{answer_of, read};
use crate::failure::Failure;
use crate::terminal::say;
use justfull_net::clock;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest wait for the new process. Each of its steps has a shorter limit.
const LIMIT: Duration = Duration::from_secs(60);
/// Time between two requests of the status.
const LOOK: Duration = Duration::from_millis(20);

pub(super) fn reload(file: &Path) -> Result<(), Failure> {
    let socket = read(file)?.operation.socket;
    let socket = Path::new(&socket);
    let old = process(socket)?;
    let program = std::env::current_exe().map_err(|e| Failure::usage(&e))?;
    let mut command = Command::new(program);
    command.args(["proxy", "run", "--takeover", "--config"]).arg(file);
    // A signal from this terminal is not for the service.
    let mut new = command
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|e| Failure::usage(&format!("start the new proxy: {e}")))?;
    let took = until_it_has_everything(socket, &mut new);
    if took.is_err() {
        // The new process has not taken over, or it hangs.
        let _ended = new.kill();
    }
    took?;
    say(&format!("process {} has taken over from process {old}", new.id()));
    Ok(())
}

fn until_it_has_everything(socket: &Path, new: &mut Child) -> Result<(), Failure> {
    let end = clock::now() + LIMIT;
    while clock::now() < end {
        if let Ok(Some(status)) = new.try_wait() {
            let why = format!("the new proxy ended ({status}); the old one goes on");
            return Err(Failure::usage(&why));
        }
        // The old process may end between request and answer.
        if process(socket).is_ok_and(|process| process == u64::from(new.id())) {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    Err(Failure::usage(&"the new proxy has not taken over in time"))
}

/// The process that answers at `socket`.
fn process(socket: &Path) -> Result<u64, Failure> {
    let status = answer_of(socket, "status")?;
    status["process"].as_u64().ok_or_else(|| Failure::Failed("the proxy's answer is none".into()))
}
