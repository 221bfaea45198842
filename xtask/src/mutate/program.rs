//! The program under limits: a shell sets them on itself and becomes the program.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use crate::{Failure, Outcome, process};

/// Processor time of a run, of all its threads together.
pub(super) const SECONDS: u64 = 20;
/// Address space of a run in bytes, and so the most memory that it can have.
pub(super) const MEMORY: u64 = 1_000_000_000;
/// A run that has used no processor time for so long, and has not ended, waits for something. Long:
/// on a busy machine it may be its turn.
const HANGS: Duration = Duration::from_secs(300);
/// Stands for the file in a command.
pub(super) const FILE: &str = "FILE";
/// Signal of a process that has used up its processor time.
const SIGXCPU: i32 = 24;

pub(super) struct Program {
    program: PathBuf,
    folder: PathBuf,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// An exit status of 0, 1 or 2 without a panic.
    Exit(u8),
    /// Anything else, in words.
    Failed(String),
}

/// A run that has ended.
pub(super) struct Ran {
    pub(super) verdict: Verdict,
    /// Processor time of all its threads: a busy machine makes no run longer.
    pub(super) took: Duration,
    /// Most resident memory that was seen, in bytes.
    pub(super) peak: u64,
}

impl Program {
    pub(super) fn new(program: &Path, folder: &Path) -> Self {
        Self { program: program.into(), folder: folder.into() }
    }

    /// Runs `command`, in which [`FILE`] stands for `file`, in the folder of the cases.
    pub(super) fn run(&self, command: &[String], file: &Path) -> Outcome<Ran> {
        let limits =
            format!("ulimit -v {} && ulimit -S -t {SECONDS} && exec \"$@\"", MEMORY / 1024);
        let mut shell = Command::new("sh");
        shell.args(["-c", &limits, "sh"]).arg(&self.program);
        shell.args(
            command
                .iter()
                .map(|word| if word == FILE { file.as_os_str() } else { OsStr::new(word) }),
        );
        // The output of a run goes to a file: a full pipe would block the run.
        let said = file.with_extension("said");
        let errors = fs::File::create(&said).map_err(|error| super::cannot(&said, &error))?;
        shell.current_dir(&self.folder).env("RUST_BACKTRACE", "0");
        shell.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        let mut child = shell
            .spawn()
            .map_err(|error| Failure::Environment(format!("cannot run sh: {error}")))?;
        let Watched { status, took, peak } = watch(&mut child)?;
        let text = fs::read(&said).map_err(|error| super::cannot(&said, &error))?;
        fs::remove_file(&said).map_err(|error| super::cannot(&said, &error))?;
        let verdict = status.map_or_else(
            || Verdict::Failed(format!("did nothing for {} s", HANGS.as_secs())),
            |status| judge(status, &String::from_utf8_lossy(&text)),
        );
        Ok(Ran { verdict, took, peak })
    }
}

/// The measurements of a run.
struct Watched {
    /// None: it did not end.
    status: Option<ExitStatus>,
    took: Duration,
    peak: u64,
}

/// Waits for `child`. A child without progress for [`HANGS`] is killed and has no status. Returns
/// the greatest processor time and memory that were measured.
fn watch(child: &mut Child) -> Outcome<Watched> {
    let failed =
        |error: std::io::Error| Failure::Environment(format!("cannot wait for a run: {error}"));
    let mut moved = process::clock();
    let (mut took, mut peak) = (Duration::ZERO, 0);
    let mut pause = Duration::from_millis(1);
    loop {
        peak = peak.max(resident(child.id()));
        let so_far = processor_time(child.id());
        if so_far > took {
            (took, moved) = (so_far, process::clock());
        }
        if let Some(status) = child.try_wait().map_err(failed)? {
            return Ok(Watched { status: Some(status), took, peak });
        }
        if moved.elapsed() > HANGS {
            child.kill().map_err(failed)?;
            child.wait().map_err(failed)?;
            return Ok(Watched { status: None, took, peak });
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// The most memory that the process `id` had so far, in bytes; 0 where the system does not say.
fn resident(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// The processor time that the process `id` has had, in steps of the 10 ms that Linux counts for
/// users (proc_pid_stat(5): utime and stime); 0 where the system does not say.
fn processor_time(id: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let Some((_, fields)) = stat.rsplit_once(')') else { return Duration::ZERO };
    let ticks = fields.split_ascii_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

fn judge(status: ExitStatus, said: &str) -> Verdict {
    let panic = said
        .lines()
        .find(|line| line.contains("panicked at") || line.contains("memory allocation of"));
    match (status.code(), status.signal(), panic) {
        (Some(code @ 0..=2), _, None) => Verdict::Exit(code as u8),
        (_, Some(SIGXCPU), _) => {
            Verdict::Failed(format!("more than {SECONDS} s of processor time"))
        }
        (_, _, Some(line)) => Verdict::Failed(format!("{status}: {line}")),
        (_, _, None) => {
            Verdict::Failed(format!("{status}: {}", said.lines().next_back().unwrap_or_default()))
        }
    }
}

/// A command as one would type it.
pub(super) fn shown(command: &[String], file: &Path) -> String {
    let file = file.display().to_string();
    let words = command.iter().map(|word| if word == FILE { &file } else { word });
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a script for `sh` under the limits.
    fn verdict(script: &str) -> Verdict {
        let folder = std::env::temp_dir();
        let file = folder.join(format!("justfull-mutate-{}-{}", std::process::id(), script.len()));
        let command = ["-c".to_owned(), script.to_owned(), FILE.to_owned()];
        Program::new(Path::new("sh"), &folder).run(&command, &file).unwrap().verdict
    }

    #[test]
    fn exit_statuses_to_2_are_sound_and_others_signals_and_panics_are_failures() {
        assert_eq!(verdict("exit 0"), Verdict::Exit(0));
        assert_eq!(verdict("echo no >&2; exit 2"), Verdict::Exit(2));
        let failed = |script| match verdict(script) {
            Verdict::Failed(what) => what,
            Verdict::Exit(code) => panic!("{script}: {code}"),
        };
        assert!(failed("echo worse >&2; exit 101").ends_with("101: worse"));
        assert!(failed("echo \"thread 'x' panicked at y\" >&2; exit 2").contains("panicked at y"));
        assert!(failed("kill -SEGV $$").contains("signal: 11"));
        assert!(failed("kill -XCPU $$").contains("of processor time"));
    }

    #[test]
    fn processor_time_belongs_to_this_process_and_a_sleep_takes_none() {
        let own = std::process::id();
        let before = processor_time(own);
        while processor_time(own) < before + Duration::from_millis(50) {
            std::hint::black_box((0..100_000_u64).sum::<u64>());
        }
        let mut sleeper = Command::new("sleep").arg("1000").spawn().unwrap();
        assert!(processor_time(sleeper.id()) < Duration::from_secs(1));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert_eq!(processor_time(u32::MAX), Duration::ZERO);
    }

    #[test]
    fn limits_of_memory_and_time_are_set_on_the_program() {
        let memory = MEMORY / 1024;
        assert_eq!(
            verdict(&format!("test $(ulimit -v) = {memory} && test $(ulimit -t) = {SECONDS}")),
            Verdict::Exit(0)
        );
    }
}
