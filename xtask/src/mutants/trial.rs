//! Runs tests on mutants, in processes under limits of processor time and memory.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::{Failure, Outcome};

/// Virtual memory of a test. One that takes more is a mutant that never ends.
const MEMORY_KB: u32 = 4_000_000;
/// Processor time of a test beyond [`TIMES`] what it takes without a mutant.
const GRACE: Duration = Duration::from_secs(1);
const TIMES: u32 = 3;
/// Tests that run before the others of their program.
const FIRST: usize = 8;

/// A program of tests.
pub(super) struct Program {
    pub(super) path: PathBuf,
    /// Of its package, where cargo runs it.
    pub(super) folder: PathBuf,
}

/// A test, and what it does without a mutant.
pub(super) struct Test<'a> {
    program: &'a Program,
    name: String,
    /// Of the processor: on a busy machine the clock says little.
    time: Duration,
    /// Functions, each named by its first mutant.
    reached: BTreeSet<usize>,
}

impl Program {
    /// Runs the program, which the shell's `script` calls `$0`.
    fn command(&self, script: &str) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -c 0; {script}")).arg(&self.path);
        // A failing input need not shrink.
        command
            .current_dir(&self.folder)
            .env("PROPTEST_MAX_SHRINK_ITERS", "0")
            .stderr(Stdio::null());
        command
    }

    fn run(&self, command: &mut Command) -> Outcome<std::process::Output> {
        command
            .output()
            .map_err(|error| Failure::Environment(format!("{}: {error}", self.path.display())))
    }

    fn names(&self) -> Outcome<Vec<String>> {
        let script = "exec \"$0\" \"$@\"";
        let output = self.run(self.command(script).args(["--list", "--format", "terse"]))?;
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect())
    }

    /// Runs the test `name` without a mutant.
    fn test(&self, name: &str, record: &Path) -> Outcome<Test<'_>> {
        let _ = std::fs::remove_file(record);
        let script = "\"$0\" --exact \"$@\"; code=$?; times; exit $code";
        let output = self.run(self.command(script).arg(name).env("REACHED", record))?;
        let time = time_of_children(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            Failure::Environment("the shell's `times` prints no times".to_owned())
        })?;
        if !output.status.success() {
            return Err(Failure::Check(format!("{name} fails without a mutant")));
        }
        // A test that reaches no function with mutants leaves no file.
        let text = std::fs::read_to_string(record).unwrap_or_default();
        let reached = text.lines().filter_map(|line| line.parse().ok()).collect();
        Ok(Test { program: self, name: name.to_owned(), time, reached })
    }
}

/// The processor time of the children of a shell, in the last line that its `times` writes: minutes
/// and seconds as user and as system, such as `0m1.25s 0m0.5s`.
fn time_of_children(output: &str) -> Option<Duration> {
    let times = output.lines().next_back()?.split(' ').map(|time| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
    });
    Duration::try_from_secs_f64(times.sum::<Option<f64>>()?).ok()
}

/// Runs `tests` of one program on `mutant`, 0 for none; false where one fails or they take too
/// much.
fn pass(tests: &[&Test], mutant: usize) -> Outcome<bool> {
    let Some(Test { program, .. }) = tests.first() else { return Ok(true) };
    let time: Duration = tests.iter().map(|test| test.time).sum();
    let seconds = (GRACE + TIMES * time).as_secs();
    let script = format!("ulimit -t {seconds}; ulimit -v {MEMORY_KB}; exec \"$0\" --exact \"$@\"");
    let mut command = program.command(&script);
    command.arg("--test-threads=1").args(tests.iter().map(|test| &test.name));
    Ok(program.run(command.env("MUTANT", mutant.to_string()))?.status.success())
}

/// Runs `tests` on `mutant` as [`pass`] does, first the few that are likely to notice and then
/// twice as many each time: a program of tests goes on after one has failed.
fn all_pass(tests: &[&Test], mutant: usize) -> Outcome<bool> {
    for mut tests in tests.chunk_by(|one, other| one.program.path == other.program.path) {
        let mut number = FIRST;
        while !tests.is_empty() {
            let (next, others) = tests.split_at(tests.len().min(number));
            if !pass(next, mutant)? {
                return Ok(false);
            }
            (tests, number) = (others, 2 * number);
        }
    }
    Ok(true)
}

/// Runs all tests without a mutant and returns them by program, first those that are quick and
/// reach little.
pub(super) fn record<'a>(programs: &'a [Program], folder: &Path) -> Outcome<Vec<Test<'a>>> {
    let mut tests = Vec::new();
    for (program, record) in programs.iter().zip(0..) {
        let names: Vec<_> = program.names()?.into_iter().enumerate().collect();
        let mut own = parallel(&names, |(number, name)| {
            program.test(name, &folder.join(format!("reached-{record}-{number}")))
        })?;
        own.sort_by_key(|test| test.time.as_micros() * test.reached.len() as u128);
        tests.extend(own);
    }
    Ok(tests)
}

/// Of `mutants`, each with the first mutant of its function, those that no test catches; `found`
/// gets each at once.
pub(super) fn survivors(
    tests: &[Test],
    mutants: &[(usize, usize)],
    found: impl Fn(usize) + Sync,
) -> Outcome<Vec<usize>> {
    let verdicts = parallel(mutants, |(mutant, function)| {
        let reaching: Vec<_> =
            tests.iter().filter(|test| test.reached.contains(function)).collect();
        let survives = all_pass(&reaching, *mutant)?;
        if survives {
            found(*mutant);
        }
        Ok(survives.then_some(*mutant))
    })?;
    Ok(verdicts.into_iter().flatten().collect())
}

/// Whether all `tests` pass on what has been built since they were recorded.
pub(super) fn pass_now(tests: &[Test]) -> Outcome<bool> {
    all_pass(&tests.iter().collect::<Vec<_>>(), 0)
}

/// `work` on each of `items`, as many at once as there are processors; in their order.
fn parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Outcome<R> + Sync,
) -> Outcome<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((index, item)) = {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    items.get(index).map(|item| (index, item))
                } {
                    let result = work(item);
                    done.lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that passes only without a mutant, ends by a signal on mutant 2, and reaches
    /// function 1.
    const PROGRAM: &str = "#!/bin/sh\n\
        [ \"$1\" = --list ] && echo 'a::b: test' && exit\n\
        [ -n \"$REACHED\" ] && echo 1 >> \"$REACHED\" && exit\n\
        [ \"$MUTANT\" = 2 ] && kill -XCPU $$\n\
        exit \"$MUTANT\"\n";

    #[test]
    fn the_time_of_a_test_is_processor_time() {
        let output = "test result: ok\n0m0.000000s 0m0.010000s\n1m2.500000s 0m0.250000s\n";
        assert_eq!(time_of_children(output), Some(Duration::from_millis(62_750)));
        assert_eq!(time_of_children("test result: ok\n"), None);
    }

    #[test]
    fn a_mutant_that_no_test_reaches_or_fails_on_survives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        // Written by another process: one that this process had open might still be open in a
        // child of another test, and could not be run.
        let mut write = Command::new("sh");
        write.args(["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""]).arg(&path).arg(PROGRAM);
        assert!(write.status().unwrap().success());
        let programs = [Program { path, folder: folder.path().to_owned() }];
        let tests = record(&programs, folder.path()).unwrap();
        assert_eq!((tests.len(), tests[0].name.as_str()), (1, "a::b"));
        // 0 stands for a mutant that makes no difference.
        let found = survivors(&tests, &[(0, 1), (1, 1), (2, 1), (3, 3)], |_| {}).unwrap();
        assert_eq!(found, [0, 3]);
    }
}
