//! The command `justfull`.
//!
//! Standard output has data and tables; progress, warnings and errors go to standard error. Exit 0:
//! success. Exit 1: a claim is worse than recorded, a run was late, broken or interrupted, or the
//! command behind `live --` failed. Exit 2: wrong usage or input, or a place that cannot be
//! written.
#![forbid(unsafe_code)]

mod args;
#[cfg(feature = "campaign")]
mod campaign;
mod check;
mod check_folder;
mod compare;
mod complete;
mod completions;
mod demo;
mod earlier;
mod explain;
#[cfg(feature = "f1u")]
mod f1u;
mod failure;
mod folders;
mod help;
mod list;
#[cfg(feature = "live")]
mod live;
mod man;
#[cfg(feature = "proxy")]
mod n3;
mod name;
mod new;
#[cfg(any(feature = "live", feature = "proxy"))]
mod period;
mod picture;
mod plot;
mod plugins;
mod progress;
#[cfg(feature = "proxy")]
mod proxy;
mod recommend;
mod reference;
mod reproduce;
mod results;
#[cfg(feature = "proxy")]
mod rnis;
mod run;
mod run_files;
mod runs;
mod scenarios;
mod schema;
#[cfg(any(feature = "live", feature = "proxy"))]
mod screen;
#[cfg(any(feature = "f1u", feature = "live", feature = "proxy"))]
mod service;
mod show;
mod terminal;
mod trace;
mod ui;
mod unknown;
mod validate;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use help::with_exit_status;
use justfull_report::table::printable;
use std::process::ExitCode;
use terminal::say;

/// Keep the queues of cellular networks just full, but no fuller.
#[derive(Parser)]
#[command(
    name = "justfull", version = name::VERSION, about, after_help = EXAMPLES, max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = with_exit_status!(
    "\
Examples:
  justfull demo                                       what a download does to a call, in seconds
  justfull run t20-individual                         a shipped scenario (see `justfull list`)
  justfull new my --nr --ues 4                        a scenario of your own to start from
  justfull run my.toml --runs 10 --out results/my     ten seeds, 95 % intervals
  justfull run t20-individual --method Vanilla --method DRQL --set 'rlc.queue.limit=10MB'
  justfull reproduce T20                              a paper's claims (traces: JUSTFULL_DATA)
  justfull explain codel                              what a method does, with its parameters"
);

/// The commands in the order of the help: the arguments of each and the function that executes it;
/// for some, the feature that a build needs for them.
macro_rules! commands {
    ($(
        $(#[$attribute:meta])*
        $Name:ident($Args:ty) $(in $feature:literal, $what:literal)? => $run:path;
    )*) => {
        #[derive(Subcommand)]
        enum Command {
            $($(#[$attribute])* $Name($Args),)*
        }

        impl Command {
            fn run(&self) -> Result<(), Failure> {
                match self {
                    $(Self::$Name(args) => {
                        $(
                            #[cfg(not(feature = $feature))]
                            {
                                let _ = args;
                                Err(Failure::lacks($what, $feature))
                            }
                        )?
                        $(#[cfg(feature = $feature)])?
                        {
                            $run(args)
                        }
                    })*
                }
            }
        }
    };
}

commands! {
    Run(run::RunArgs) => run::run;
    Demo(demo::DemoArgs) => demo::demo;
    Recommend(recommend::RecommendArgs) => recommend::recommend;
    #[command(subcommand)]
    Campaign(args::CampaignCommand) in "campaign", "campaigns" => campaign::campaign;
    Reproduce(reproduce::ReproduceArgs) => reproduce::reproduce;
    Live(args::LiveArgs) in "live", "live runs" => live::live;
    Parity(args::ParityArgs) in "live", "live runs" => live::parity;
    Validate(validate::ValidateArgs) => validate::validate;
    List(list::ListArgs) => list::list;
    Explain(explain::ExplainArgs) => explain::explain;
    Check(check::CheckArgs) => check::check;
    Runs(earlier::RunsArgs) => earlier::runs;
    Compare(compare::CompareArgs) => compare::compare;
    Plot(plot::PlotArgs) => plot::plot;
    New(new::NewArgs) => new::new;
    Show(show::ShowArgs) => show::show;
    Schema(schema::SchemaArgs) => schema::schema;
    #[command(subcommand)]
    Trace(trace::TraceCommand) => trace::trace;
    #[command(subcommand)]
    Proxy(args::ProxyCommand) in "proxy", "proxy" => proxy::proxy;
    #[command(subcommand)]
    F1u(args::F1uCommand) in "f1u", "box on F1-U" => f1u::f1u;
    #[command(subcommand)]
    N3(args::N3Command) in "proxy", "n3" => n3::n3;
    Rnis(args::RnisArgs) in "proxy", "rnis" => rnis::rnis;
    Ui(ui::UiArgs) in "ui", "page" => ui::ui;
    Completions(completions::CompletionsArgs) => completions::completions;
    Man(man::ManArgs) => man::man;
    Reference(reference::ReferenceArgs) => reference::reference;
}

/// Prints clap's text: help, the version, or the fault of the arguments, which may hold any
/// characters.
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
    complete::answer(Cli::command);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&unknown::with_tip(error, &Cli::command())),
    };
    match cli.command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("justfull: {failure}"));
            failure.status()
        }
    }
}
