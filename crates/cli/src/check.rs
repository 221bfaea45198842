//! `check`.

use crate::args::{GridArgs, PluginArgs, ScenarioArgs};
use crate::check_folder;
use crate::complete;
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::plugins::{Plugins, Shown};
use crate::scenarios::{axes, chosen, data_dir, overrides, source};
use crate::terminal::{print, print_exact, say};
use clap::Args;
use justfull_report::table;
use justfull_scenario::{Overrides, Scenario};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Check scenario files without running them, and report all that is wrong with them; check
/// folders of results
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull check my.toml\n  \
     justfull check my.toml --method DRQL --set rlc.limiter.keep=1\n  \
     justfull check results/my\n\n\
     Each file is read under all of its methods, variants and switches, or those that are \
     named. Each mistake is a line. \
     A folder of results that is not the whole of one run is exit 1."
))]
pub(crate) struct CheckArgs {
    /// Scenario files, names of shipped ones, or folders of results; - is standard input
    #[arg(required = true, add = complete::scenarios_and_files())]
    pub(crate) files: Vec<PathBuf>,
    /// Method to check instead of the file's; may be given several times
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Print JSON: a list of the files and folders, each with its findings
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginArgs,
}

/// Maximum number of mistakes printed for one file; JSON has all of them.
const PRINTED: usize = 20;

/// The findings for one name, for programs.
#[derive(Serialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Found<'a> {
    Scenario(CheckedFile<'a>),
    Folder(check_folder::Checked),
}

/// A scenario file.
#[derive(Serialize)]
struct CheckedFile<'a> {
    name: String,
    sound: bool,
    mistakes: Vec<String>,
    warnings: Vec<String>,
    /// The runs of a valid scenario.
    #[serde(flatten)]
    runs: Option<Runs<'a>>,
}

/// The runs that a valid scenario would make.
#[derive(Serialize)]
struct Runs<'a> {
    runs: usize,
    methods: Vec<String>,
    /// Each point of its sweep, in words; one empty text without a sweep.
    points: Vec<String>,
    seeds: Vec<u64>,
    /// A picture of its chain in text.
    chain: String,
    /// The parts of its trace that the runs play.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<String>,
    /// The plugins with their settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    plugins: Vec<Shown<'a>>,
}

pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let overrides = Overrides {
        methods: chosen(&args.methods),
        grid: axes(&args.grid)?,
        ..overrides(&args.scenario)?
    };
    let plugins = Plugins::load(&args.plugins)?;
    let (mut wrong, mut folders, mut all) = (Vec::new(), Ok(()), Vec::new());
    for name in &args.files {
        if check_folder::is_folder(name) {
            let found = check_folder::check(name)?;
            if !args.json {
                print(&table::printable(&found.in_words()))?;
            }
            folders = folders.and(found.verdict());
            all.push(Found::Folder(found));
            continue;
        }
        let found = check_file(name, &overrides, &plugins);
        found.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
        if let Some(runs) = found.runs.as_ref().filter(|_| !args.json) {
            print(&table::printable(&in_words(&found.name, runs)))?;
        }
        wrong.extend(printed(&found));
        all.push(Found::Scenario(found));
    }
    if args.json {
        let all = serde_json::to_string(&all).map_err(|e| Failure::usage(&e))?;
        print_exact(&format!("{all}\n"))?;
    }
    if wrong.is_empty() { folders } else { Err(Failure::Usage(wrong.join("\njustfull: "))) }
}

/// A line about a valid scenario and a picture of its chain.
fn in_words(name: &str, found: &Runs<'_>) -> String {
    let (runs, methods, points) = (found.runs, found.methods.len(), found.points.len());
    let parts = found.parts.as_ref().map(|parts| format!("  {parts}\n")).unwrap_or_default();
    let chain = &found.chain;
    let [runs, methods, points] = [(runs, "run"), (methods, "method"), (points, "point")]
        .map(|(n, noun)| format!("{n} {noun}{}", if n == 1 { "" } else { "s" }));
    let settings: String = found.plugins.iter().map(Shown::in_words).collect();
    let settings = if settings.is_empty() { settings } else { format!("\n{settings}") };
    format!("{name}: sound; {runs} ({methods}, {points})\n{parts}\n{chain}{settings}")
}

/// The mistakes for standard error.
fn printed(found: &CheckedFile<'_>) -> Vec<String> {
    let mut lines: Vec<String> = found.mistakes.iter().take(PRINTED).cloned().collect();
    let count = found.mistakes.len();
    if count > PRINTED {
        lines.push(format!("{}: {count} mistakes, the first {PRINTED} are shown", found.name));
    }
    lines
}

/// The findings for the scenario `name`.
fn check_file<'a>(name: &Path, overrides: &Overrides, plugins: &'a Plugins) -> CheckedFile<'a> {
    let mut found = CheckedFile {
        name: name.display().to_string(),
        sound: false,
        mistakes: Vec::new(),
        warnings: Vec::new(),
        runs: None,
    };
    match examined(name, overrides, plugins) {
        Ok((runs, warnings)) => {
            (found.sound, found.runs, found.warnings) = (true, Some(runs), warnings);
        }
        Err(mistakes) => found.mistakes = mistakes,
    }
    found
}

/// The runs of the valid scenario `name`, with warnings, or its mistakes.
fn examined<'a>(
    name: &Path,
    overrides: &Overrides,
    plugins: &'a Plugins,
) -> Result<(Runs<'a>, Vec<String>), Vec<String>> {
    let (text, file) = source(name).map_err(|failure| vec![failure.to_string()])?;
    let overrides = plugins.overrides(&text, &file, overrides);
    let scenario = Scenario::examine(&text, &file, data_dir(), overrides)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let one = |e: justfull_scenario::ScenarioError| vec![e.to_string()];
    let warnings = scenario.warnings().map_err(one)?;
    let runs = Runs {
        runs: scenario.jobs().len(),
        methods: scenario.methods().to_vec(),
        points: (0..scenario.points().len()).map(|point| scenario.point(point)).collect(),
        seeds: scenario.seeds(),
        chain: scenario.chain().map_err(one)?,
        parts: scenario.parts().map_err(one)?,
        plugins: plugins.shown(),
    };
    Ok((runs, warnings))
}
