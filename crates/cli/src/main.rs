//! The command `justfull`.
//!
//! Standard output is data and tables; progress, warnings and errors go to standard error. Exit 0:
//! done; 1: a claim came out worse than recorded, a run was late, broken or interrupted, or the
//! command behind `live --` failed; 2: wrong usage or input, or a place that cannot be written.
#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "campaign")]
mod campaign;
mod check;
mod check_folder;
mod compare;
mod complete;
mod difference;
mod explain;
mod folders;
#[cfg(feature = "live")]
mod live;
mod new;
#[cfg(any(feature = "live", feature = "proxy"))]
mod period;
mod picture;
mod plot;
mod progress;
#[cfg(feature = "proxy")]
mod proxy;
mod recommend;
mod reproduce;
mod results;
#[cfg(feature = "proxy")]
mod rnis;
mod run_files;
#[cfg(any(feature = "live", feature = "proxy"))]
mod screen;
mod terminal;
mod trace;
mod unknown;
mod validate;

use args::{Cli, Command};
use clap::Parser;
use justfull_report::table::printable;
use std::fmt::Display;
use std::process::ExitCode;
use terminal::say;

/// The program's version, with the commit that it was built from where that is known.
pub(crate) const VERSION: &str = env!("JUSTFULL_VERSION");

/// What the program is called.
pub(crate) const NAME: &str = "justfull";

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit 1.
    Failed(String),
    /// Exit 2.
    Usage(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Failed(why) | Self::Usage(why)) = self;
        f.write_str(why)
    }
}

impl Failure {
    pub(crate) fn usage(error: &dyn Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// For what this build was made without.
    pub(crate) fn lacks(what: &str, feature: &str) -> Self {
        Self::Usage(format!("this build has no {what}; build with --features {feature}"))
    }
}

/// Prints what clap says: help, the version, or what is wrong with the arguments, which may hold
/// anything.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() && printable(&text) != text {
        say(text.trim_end());
    } else {
        // A closed pipe is no error.
        let _ = error.print();
    }
    ExitCode::from(if error.use_stderr() { 2 } else { 0 })
}

fn main() -> ExitCode {
    complete::answer();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&unknown::with_tip(error)),
    };
    let outcome = match &cli.command {
        Command::Run(args) => compare::run(args),
        Command::Demo(args) => compare::demo(args),
        Command::Recommend(args) => recommend::recommend(args),
        #[cfg(feature = "campaign")]
        Command::Campaign { command } => campaign::campaign(command),
        #[cfg(not(feature = "campaign"))]
        Command::Campaign { .. } => Err(Failure::lacks("campaigns", "campaign")),
        Command::Reproduce(args) => reproduce::reproduce(args),
        #[cfg(feature = "live")]
        Command::Live(args) => live::live(args),
        #[cfg(feature = "live")]
        Command::Parity(args) => live::parity(args),
        #[cfg(not(feature = "live"))]
        Command::Live(_) | Command::Parity(_) => Err(Failure::lacks("live runs", "live")),
        #[cfg(feature = "proxy")]
        Command::Proxy { command } => proxy::run(command),
        #[cfg(not(feature = "proxy"))]
        Command::Proxy { .. } => Err(Failure::lacks("proxy", "proxy")),
        #[cfg(feature = "proxy")]
        Command::Rnis(args) => rnis::rnis(args),
        #[cfg(not(feature = "proxy"))]
        Command::Rnis(_) => Err(Failure::lacks("rnis", "proxy")),
        Command::Validate(args) => validate::validate(args),
        Command::List(args) => explain::list(args),
        Command::Explain { name, json } => explain::explain(name, *json),
        Command::Check(args) => check::check(args),
        Command::Compare(args) => difference::compare(args),
        Command::Plot(args) => plot::plot(args),
        Command::New(args) => new::new(args),
        Command::Show { name } => explain::show(name),
        Command::Schema => explain::schema(),
        Command::Trace { command } => trace::run(command),
        Command::Completions { shell } => complete::script(*shell),
        Command::Man { out } => explain::man(out),
        Command::Reference { out } => explain::reference(out),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("justfull: {failure}"));
            ExitCode::from(match failure {
                Failure::Failed(_) => 1,
                Failure::Usage(_) => 2,
            })
        }
    }
}
