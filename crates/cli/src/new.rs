//! `new`: a new scenario file, or a new crate with a user-defined limiter.

mod limiter;

use crate::args::ColumnsArgs;
use crate::complete;
use crate::failure::Failure;
use crate::help::with_exit_status;
use crate::scenarios::data_dir;
use crate::terminal::{print_exact, say};
use clap::{Args, ValueEnum};
use justfull_report::export;
use justfull_scenario::starter::{Cell, Starter, Traffic};
use justfull_scenario::{MethodLibrary, Overrides, Scenario, ScenarioError, near};
use std::path::{Path, PathBuf};

/// Write a scenario to start your own from, or a crate with a limiter of your own
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull new my\n  justfull new --limiter mine\n  \
     justfull new my.toml --lte --ues 4 --traffic download,call,pages\n  \
     justfull new my --trace walk.trace --method Vanilla --method DRQL --runs 5\n  \
     justfull new my --trace drive.csv --time-column time --rate-column 'DL (kbps)'\n\n\
     Kinds of traffic: download and upload (TCP), call (G.711), game (60 frames a second), \
     pages, video (adaptive), ping."
))]
pub(crate) struct NewArgs {
    /// File to write, or its name without .toml; - is standard output
    #[arg(value_name = "NAME|FILE", required_unless_present = "limiter")]
    pub(crate) file: Option<PathBuf>,
    /// Write a Rust crate with your own limiter instead, into this new folder, whose name is the
    /// limiter's name
    #[arg(long, value_name = "FOLDER", conflicts_with_all = [
        "file", "CellArgs", "ues", "traffic", "methods", "runs", "trace", "ColumnsArgs", "force"
    ])]
    pub(crate) limiter: Option<PathBuf>,
    /// Tree of justfull that the crate of --limiter builds on [default: the repository on the web]
    #[arg(long, value_name = "FOLDER", requires = "limiter")]
    pub(crate) justfull: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) cell: CellArgs,
    /// Number of UEs, all alike
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) ues: u32,
    /// Traffic of each UE
    #[arg(long, value_name = "KIND", value_enum, value_delimiter = ',',
          default_values = ["download", "call"])]
    pub(crate) traffic: Vec<TrafficName>,
    /// Method to compare; may be given several times [default: five that fit the cell]
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Number of seeds; three or more give 95 % confidence intervals
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) runs: u32,
    /// Trace of the cell's capacity, instead of its resource blocks; a table needs the names of its
    /// columns
    #[arg(long, value_name = "FILE", conflicts_with = "umts")]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
}

// The cell, one of three.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct CellArgs {
    /// NR, 100 MHz in band n78 (this is the default)
    #[arg(long)]
    nr: bool,
    /// LTE, 10 MHz
    #[arg(long)]
    lte: bool,
    /// UMTS, dedicated channels of 384 kbit/s
    #[arg(long)]
    umts: bool,
}

impl CellArgs {
    pub(crate) fn cell(&self) -> Cell {
        match (self.lte, self.umts) {
            (true, _) => Cell::Lte,
            (_, true) => Cell::Umts,
            _ => Cell::Nr,
        }
    }
}

/// A kind of traffic by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrafficName {
    Download,
    Upload,
    Call,
    Game,
    Pages,
    Video,
    Ping,
}

impl From<TrafficName> for Traffic {
    fn from(name: TrafficName) -> Self {
        match name {
            TrafficName::Download => Self::Download,
            TrafficName::Upload => Self::Upload,
            TrafficName::Call => Self::Call,
            TrafficName::Game => Self::Game,
            TrafficName::Pages => Self::Pages,
            TrafficName::Video => Self::Video,
            TrafficName::Ping => Self::Ping,
        }
    }
}

pub(crate) fn new(args: &NewArgs) -> Result<(), Failure> {
    match (&args.limiter, &args.file) {
        (Some(folder), _) => limiter::new(folder, args.justfull.as_deref()),
        (None, Some(file)) => scenario(args, file),
        (None, None) => Err(Failure::Usage("NAME or --limiter is needed".into())),
    }
}

fn scenario(args: &NewArgs, file: &Path) -> Result<(), Failure> {
    known(&args.methods)?;
    if let (None, Some(option)) = (&args.trace, args.columns.first()) {
        return Err(Failure::Usage(format!("{option}: allowed with --trace FILE")));
    }
    let standard_output = file == Path::new("-");
    usable(file)?;
    let file = match file.extension() {
        _ if standard_output => Path::new("my.toml").into(),
        Some(ending) if ending == "toml" => file.to_path_buf(),
        // A part that looks like an extension may belong to the name.
        _ => {
            let mut name = file.as_os_str().to_os_string();
            name.push(".toml");
            name.into()
        }
    };
    if !standard_output && !args.force && file.symlink_metadata().is_ok() {
        let text = "is there already; --force replaces it";
        return Err(Failure::Usage(format!("{}: {text}", file.display())));
    }
    let mut traffic: Vec<Traffic> = Vec::new();
    for kind in args.traffic.iter().copied().map(Traffic::from) {
        if !traffic.contains(&kind) {
            traffic.push(kind);
        }
    }
    let starter = Starter {
        cell: args.cell.cell(),
        ues: args.ues,
        traffic,
        methods: args.methods.clone(),
        runs: args.runs,
        trace: args.trace.as_deref().map(|trace| beside(trace, &file)).transpose()?,
        columns: args.columns.keys(),
    };
    let text = starter.text(&file.display().to_string());
    // Errors in the user's names: methods that do not fit, a trace that cannot be read.
    let scenario = Scenario::examine(&text, &file, data_dir(), Overrides::default())
        .map_err(|errors| refused(args, &errors[0]))?;
    for warning in scenario.warnings().map_err(|e| Failure::usage(&e))? {
        say(&format!("warning: {warning}"));
    }
    if let Some(parts) = scenario.parts().map_err(|e| Failure::usage(&e))? {
        say(&format!("note: {parts}"));
    }
    if standard_output {
        return print_exact(&text);
    }
    export::write_whole(&file, |out| out.write_all(text.as_bytes()))
        .map_err(|e| Failure::usage(&e))?;
    let name = file.display();
    say(&format!("{name} is written; run it with: justfull run {name}"));
    Ok(())
}

/// The failure for `error`; that of a trace that cannot be read, in words of its file.
fn refused(args: &NewArgs, error: &ScenarioError) -> Failure {
    let failure = Failure::usage(error);
    match (&args.trace, &args.file) {
        (Some(trace), Some(file)) if trace.exists() => {
            let command = format!("justfull new {} --trace", file.display());
            args.columns.unread(trace, &command, failure)
        }
        _ => failure,
    }
}

/// Checks that `file` ends in a name to which `.toml` can be added.
fn usable(file: &Path) -> Result<(), Failure> {
    let text = file.to_string_lossy();
    if file.file_name().is_some() && !text.ends_with('/') && !text.contains(char::is_control) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "NAME: found {}, allowed is a file to write, or its name without .toml",
        text.escape_debug()
    )))
}

/// Checks that all of `methods` are shipped.
fn known(methods: &[String]) -> Result<(), Failure> {
    let library = MethodLibrary::shipped();
    let names = library.names();
    let Some(method) = methods.iter().find(|method| library.find(method).is_none()) else {
        return Ok(());
    };
    let allowed = near::allowed(method, &names, "a method of `justfull list`");
    Err(Failure::Usage(format!("--method: found {method}, allowed is {allowed}")))
}

/// The path of `trace`, which is relative to the working folder, in a form for the scenario in
/// `file`: a scenario looks for traces beside itself, and then among the user's traces.
fn beside(trace: &Path, file: &Path) -> Result<String, Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let seen = match folder {
        Some(folder) if trace.is_relative() && trace.exists() => {
            trace.strip_prefix(folder).map(Path::to_path_buf).or_else(|_| {
                trace
                    .canonicalize()
                    .map_err(|e| Failure::Usage(format!("--trace: {}: {e}", trace.display())))
            })?
        }
        _ => trace.to_path_buf(),
    };
    seen.to_str().map(str::to_string).ok_or_else(|| {
        Failure::Usage(format!("--trace: found {}, allowed is a name in UTF-8", trace.display()))
    })
}
