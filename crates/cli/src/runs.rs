//! Runs of whole scenarios, and the output about them.

use crate::args::{JobsArgs, OutputArgs, ThreadsArgs};
use crate::failure::Failure;
use crate::name::{VERSION, command_line};
use crate::progress::Display;
use crate::results;
use crate::terminal::{print, print_exact, say};
use justfull_lab::model::Comparison;
use justfull_lab::runner;
use justfull_report::export::answer::answer;
use justfull_report::export::folder::Subject;
use justfull_report::export::outputs::Outputs;
use justfull_report::export::run::RunFiles;
use justfull_report::table;
use justfull_scenario::Scenario;

/// Scenarios to run, and the place of the results.
pub(crate) struct RunRequest<'a> {
    /// The command.
    pub(crate) kind: &'a str,
    /// The last component of the path of the results.
    pub(crate) name: &'a str,
    pub(crate) scenarios: &'a [Scenario],
    /// Notes for the reader.
    pub(crate) notes: Vec<String>,
    /// The files of each run of each scenario.
    pub(crate) outputs: &'a [Vec<Outputs>],
    pub(crate) jobs: &'a JobsArgs,
    pub(crate) output: &'a OutputArgs,
    /// Print JSON instead of tables.
    pub(crate) json: bool,
}

impl RunRequest<'_> {
    /// Makes the runs, prints and writes their results.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let names: Vec<&str> =
            self.scenarios.iter().map(|scenario| scenario.name.as_str()).collect();
        let subject = Subject { kind: self.kind.into(), scenario: names.join(", ") };
        let out = results::open(self.output, self.name, &subject)?;
        let mut notes = self.notes;
        for scenario in self.scenarios {
            notes.extend(scenario.warnings().map_err(|e| Failure::usage(&e))?);
        }
        if !self.json {
            announce(&notes)?;
        }
        let display = Display::new(self.output.quiet, self.jobs.progress);
        for scenario in self.scenarios {
            let seconds = scenario.base.duration.as_secs_f64() * scenario.jobs().len() as f64;
            display.announce((seconds * 1e3) as u64);
        }
        let mut whole = Comparison {
            notes,
            command: command_line(),
            version: VERSION.into(),
            ..Comparison::default()
        };
        for (i, scenario) in self.scenarios.iter().enumerate() {
            let files = self.outputs.get(i).map_or(&[][..], Vec::as_slice);
            let part = runner::compare(
                scenario,
                threads(&self.jobs.threads),
                &display.watch,
                &RunFiles(files),
            )
            .map_err(|e| Failure::usage(&e))?;
            whole.title =
                if whole.title.is_empty() { part.title } else { "Comparison of scenarios".into() };
            whole.live |= part.live;
            whole.groups.extend(part.groups);
            whole.scenario_toml.push_str(&part.scenario_toml);
            whole.missing.extend(part.missing);
            whole.broken.extend(part.broken);
        }
        let speed = display.speed();
        drop(display);
        // Results are written in any case: standard output may be a full disk.
        let shown = if self.json { Ok(()) } else { show(&whole, self.output.wide) };
        say(&speed);
        // An interruption before the end of the first run leaves the earlier results in place.
        let none =
            !whole.missing.is_empty() && whole.groups.iter().all(|group| group.runs.is_empty());
        let out = out.filter(|_| !none);
        let place = out.as_ref().map(|folder| folder.path().to_path_buf());
        if let Some(folder) = out {
            results::finish(folder, &whole, self.output)?;
        }
        shown?;
        if self.json {
            print_exact(&answer(&whole, place.as_deref()))?;
        }
        unbroken(&whole.broken)?;
        if whole.missing.is_empty() {
            Ok(())
        } else {
            Err(Failure::Failed(missing("interrupted", &whole.missing)))
        }
    }
}

/// Fails and names the runs that have broken an invariant.
pub(crate) fn unbroken(runs: &[String]) -> Result<(), Failure> {
    if runs.is_empty() {
        return Ok(());
    }
    let text = format!(
        "a bug of the program; {} of the runs contradict themselves:\n  {}",
        runs.len(),
        runs.join("\n  ")
    );
    Err(Failure::Failed(text))
}

/// Maximum number of runs that a message names.
const NAMED: usize = 10;

/// The runs missing because of `ended`, in words.
pub(crate) fn missing(ended: &str, runs: &[String]) -> String {
    let (named, others) = runs.split_at(runs.len().min(NAMED));
    let count = runs.len();
    let mut text = format!("{ended}, {count} of the runs are missing:\n  {}", named.join("\n  "));
    if !others.is_empty() {
        text.push_str(&format!("\n  and {} others; result.json names all", others.len()));
    }
    text
}

/// Maximum number of threads; more would only wait for each other.
const MOST_THREADS: usize = 1024;

pub(crate) fn threads(args: &ThreadsArgs) -> usize {
    args.jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
        .clamp(1, MOST_THREADS)
}

/// Prints the notes for the reader.
pub(crate) fn announce(notes: &[String]) -> Result<(), Failure> {
    let style = table::Style::detect();
    let line = |note: &String| format!("{}\n", table::line(&format!("note: {note}"), style));
    print(&notes.iter().map(line).collect::<String>())
}

/// Prints the tables.
pub(crate) fn show(comparison: &Comparison, wide: bool) -> Result<(), Failure> {
    let mut text = String::new();
    let style = table::Style::detect();
    let mut grids = Vec::new();
    for group in comparison.groups.iter().filter(|g| !g.runs.is_empty()) {
        let mut grid = if wide { table::wide(&group.runs) } else { table::methods(&group.runs) };
        grid.notes.extend(table::settings(group));
        text.push_str(&format!(
            "\n{}\n{}\n",
            table::line(&group.heading(), style),
            table::terminal(&grid, style)
        ));
        grids.push(grid);
    }
    text.push_str(&table::notes(&grids, style));
    print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_run_fails_by_name() {
        assert!(unbroken(&[]).is_ok());
        let broken = vec!["s: Vanilla, seed 1: used <= offered: 2, 1".to_string()];
        let Err(Failure::Failed(text)) = unbroken(&broken) else {
            panic!("it fails with status 1")
        };
        assert!(
            text.contains("1 of the runs")
                && text.ends_with("s: Vanilla, seed 1: used <= offered: 2, 1"),
            "{text}"
        );
    }
}
