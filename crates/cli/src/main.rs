//! The command `justfull`.
//!
//! Standard output is data and tables; progress, warnings and errors go to standard error. Exit 0: done; 1: a claim or a run
//! failed or was interrupted; 2: wrong usage, a wrong scenario, or a place that cannot be written.
#![forbid(unsafe_code)]

mod args;
mod compare;
mod explain;
mod live;
mod progress;
mod reproduce;
mod run_files;
mod trace;
mod validate;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use compare::{print, say};
use std::fmt::Display;
use std::process::ExitCode;

/// Why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit 1.
    Failed(String),
    /// Exit 2.
    Usage(String),
}

impl Failure {
    pub(crate) fn usage(error: &dyn Display) -> Self {
        Self::Usage(error.to_string())
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match &cli.command {
        Command::Run(args) => compare::run(args),
        Command::Demo(args) => compare::demo(args),
        Command::Reproduce(args) => reproduce::reproduce(args),
        Command::Live(args) => live::live(args),
        Command::Parity(args) => live::parity(args),
        Command::Validate(args) => validate::validate(args),
        Command::List => explain::list(),
        Command::Explain { name } => explain::explain(name),
        Command::Check { files } => compare::check(files),
        Command::Show { name } => explain::show(name),
        Command::Trace { command } => trace::run(command),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Cli::command(), "justfull", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Command::Man { out } => explain::man(out),
        Command::Reference { out } => explain::reference(out),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Failed(why)) => {
            say(&format!("justfull: {why}"));
            ExitCode::from(1)
        }
        Err(Failure::Usage(why)) => {
            say(&format!("justfull: {why}"));
            ExitCode::from(2)
        }
    }
}
