//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

mod campaign;
mod list;
mod live;
mod new;
mod output;
mod recommend;
mod reproduce;
mod rnis;

pub(crate) use campaign::CampaignCommand;
#[cfg(feature = "campaign")]
pub(crate) use campaign::{AddArgs, CampaignArgs, MakeArgs, TableArgs};
pub(crate) use list::ListArgs;
#[cfg(feature = "live")]
pub(crate) use live::PaceArgs;
pub(crate) use live::{LiveArgs, ParityArgs};
pub(crate) use new::NewArgs;
pub(crate) use output::{JobsArgs, OutputArgs, Progress, ThreadsArgs};
pub(crate) use recommend::RecommendArgs;
pub(crate) use reproduce::ReproduceArgs;
pub(crate) use rnis::RnisArgs;

/// What exit statuses mean, the same for every command, after what a command says of itself.
macro_rules! with_exit_status {
    ($($text:expr),*) => {
        concat!(
            $($text, "\n\n",)*
            "Exit status: 0 done; 1 a claim came out worse than recorded, a run was late, broken \
             or interrupted, or the command behind `live --` failed, whatever its own status; \
             2 wrong usage or input, or a place that cannot be written."
        )
    };
}

/// Keep the queues of cellular networks just full, but no fuller.
#[derive(Parser)]
#[command(
    name = "justfull", version = crate::VERSION, about, after_help = EXAMPLES, max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
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

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run scenarios and compare their methods
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Show in seconds what a download does to a call, and what five methods do about it
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull demo\n  justfull demo --all\n\n\
         The first is the shipped scenario demo (`justfull show demo`)."
    ))]
    Demo(DemoArgs),
    /// Say which method to take: run several on your channel and traffic and compare what each
    /// costs
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull recommend nr-100mhz\n  justfull recommend walk.trace --runs 5\n  \
         justfull recommend my.toml --split 5ms --json\n\n\
         A trace gets the traffic of the shipped scenario download-pages-call. \
         With --split what the RLC holds is known so much later, as where CU and DU are apart.\n\n\
         Recommended is, of the methods that lose at most one per cent of a low-latency flow's \
         packets more than the method that loses least and have a p99 of these flows' delay of at \
         most 400 ms, if any has, and of these that have 95 % of the greatest goodput of the other \
         flows, one with the least p99; within 10 % or 1 ms of it, the one with the least round \
         trip. A packet is lost if it was dropped on its way to the UE, not if it was still queued \
         at the end; the p99 is that of packets that arrive."
    ))]
    Recommend(RecommendArgs),
    /// Make thousands of runs as one dataset of Parquet parts, and go on after any fault
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull campaign run delays.toml -j 2\n  justfull campaign status \
         delays.toml\n\nA campaign's file:\n  scenarios = [\"nr-100mhz\", \"mine.toml\"]\n  \
         methods = [\"Vanilla\", \"DRQL\"]\n  seeds = 100\n  [set]\n  duration = \"20s\"\n  \
         [grid]\n  \"rlc.queue.limit\" = [\"1MB\", \"4MB\"]"
    ))]
    Campaign {
        #[command(subcommand)]
        command: CampaignCommand,
    },
    /// Run a paper's claims and judge them
    #[command(after_help = with_exit_status!(
        "Examples:\n  JUSTFULL_DATA=~/traces justfull reproduce T20\n  \
         justfull reproduce T20 --figure 7 --short\n\n\
         A claim whose trace is not here is not run, which is said; with --strict that is exit 1. \
         A claim that the file of claims records as missed may miss again: exit 1 is for one that \
         came out worse than recorded."
    ))]
    Reproduce(ReproduceArgs),
    /// Put real applications behind the stack, in real time, over the kernel's own TCP
    #[command(after_help = LIVE_EXAMPLES)]
    Live(LiveArgs),
    /// Run a scenario's flows simulated and live, and compare
    #[command(after_help = with_exit_status!(
        "Example:\n  justfull parity live-lte --method CoDel --method DRQL --time 60s\n\n\
         A figure outside its band is exit 1. A run that is too short to compare a figure says \
         so, and does not miss it."
    ))]
    Parity(ParityArgs),
    /// Compare TCP controls with published formulas and figures, and figures with values by hand
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull validate cubic --no-files\n  \
         justfull validate by-hand --no-files\n  \
         justfull validate all --out results/tcp\n\n\
         Writes CONTROL.md and figures/*.svg. A case outside its band, other than recorded, is \
         exit 1."
    ))]
    Validate(ValidateArgs),
    /// List methods, algorithms, formats of traces, scenarios and papers
    #[command(after_help = "Examples:\n  justfull list methods\n  \
        justfull list aqms limiters --json")]
    List(ListArgs),
    /// Say what an algorithm, a method, a key of a scenario, a column of results or a format of
    /// traces is: parameters, units, bounds, defaults, sources
    #[command(
        after_help = "Examples:\n  justfull explain codel\n  justfull explain USP@5G-BDP\n  \
        justfull explain rlc.queue.limit\n  justfull explain delay.p99\n  \
        justfull explain mahimahi --json"
    )]
    Explain {
        /// Name of an algorithm or a method (see `justfull list`), path of a key, column, format
        name: String,
        /// Print JSON: a list of all that has the name, each with `what` it is
        #[arg(long)]
        json: bool,
    },
    /// Check scenario files without running them, and report all that is wrong with them; check
    /// folders of results
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull check my.toml\n  \
         justfull check my.toml --method DRQL --set rlc.limiter.keep=1\n  \
         justfull check results/my\n\n\
         Each file is read under all of its methods, variants and switches, or those that are \
         named. Each mistake is a line. \
         A folder of results that is not the whole of one run is exit 1."
    ))]
    Check(CheckArgs),
    /// Compare folders of results, flow by flow, with intervals
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull compare results/before results/after\n  \
         justfull compare a b --column delay.p99 --fail-if 'delay.p99 > 5%'\n  \
         justfull compare simulated live --method DRQL --json\n\n\
         What changes is compared with the first folder, seed by seed where both have the same \
         seeds. A flow counts where both have it under the same method and scenario. \
         A change that a --fail-if describes, and that its interval tells from none, is exit 1."
    ))]
    Compare(CompareArgs),
    /// Draw a figure from folders of results: SVG, PNG or PDF
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull run my.toml --runs 5 --out r\n  \
         justfull plot r --y delay.p99 --flow call -o limit.pdf\n  \
         justfull plot r --kind points --x goodput --y delay.p95 -o trade.svg\n  \
         justfull plot before after --kind ccdf --y delay --flow call -o tail.png\n\n\
         Columns are those of runs.jsonl, by name or short name (delay.p99 is delay_ms_p99)."
    ))]
    Plot(PlotArgs),
    /// Write a scenario to start your own from, or a crate with a limiter of your own
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull new my\n  justfull new --limiter mine\n  \
         justfull new my.toml --lte --ues 4 --traffic download,call,pages\n  \
         justfull new my --trace walk.trace --method Vanilla --method DRQL --runs 5\n\n\
         Kinds of traffic: download and upload (TCP), call (G.711), game (60 frames a second), \
         pages, ping."
    ))]
    New(NewArgs),
    /// Print a shipped scenario
    Show {
        /// Name of a shipped scenario
        name: String,
    },
    /// Print the JSON Schema of scenario files, for editors
    #[command(after_help = "Example: justfull schema > scenario.schema.json\n\
        Then begin a scenario with: #:schema ./scenario.schema.json")]
    Schema,
    /// Look at traces, convert them, fit and make them
    Trace {
        #[command(subcommand)]
        command: crate::trace::TraceCommand,
    },
    /// Proxy the TCP connections of UEs, with windows that follow the radio (RAPID, R22)
    Proxy {
        #[command(subcommand)]
        command: ProxyCommand,
    },
    /// Serve reports of the radio as ETSI's Radio Network Information Service (GS MEC 012)
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull rnis live-lte --method CoDel\n  \
         mkfifo /run/ran-reports; justfull rnis --lines /run/ran-reports --listen 192.0.2.1:8080 \
         --tokens tokens\n  justfull rnis --openapi > rnis.json\n\n\
         GET /openapi.json describes it."
    ))]
    #[command(override_usage = "justfull rnis [OPTIONS] <FILE>\n       \
                                justfull rnis [OPTIONS] --lines <FILE>\n       \
                                justfull rnis --openapi")]
    Rnis(RnisArgs),
    /// Print the script by which a shell completes commands, scenarios, methods and settings
    #[command(after_help = with_exit_status!(
        "Example:\n  source <(justfull completions bash)"
    ))]
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write man pages
    Man {
        /// Folder
        #[arg(long, default_value = "man")]
        out: PathBuf,
    },
    /// Write the reference pages of the documentation
    #[command(hide = true)]
    Reference {
        /// Folder
        #[arg(long)]
        out: PathBuf,
    },
}

const RUN_EXAMPLES: &str = with_exit_status!(
    "\
Examples:
  justfull run t20-individual --variant as-released
  justfull run t20-shared --runs 5 --jobs 2 --set flow.bulk.tcp.sender.cc.kind=new_reno
  justfull run my.toml --grid 'rlc.queue.limit=[1MB, 10MB]' --grid 'core.delay=[5ms, 20ms]'
  justfull run my.toml --set 'channel={kind=\"constant\", per_slot=4}' --no-files
  justfull run voip-over-lte --method CoDel --no-files --pcapng call.pcapng --packets call.parquet"
);

const LIVE_EXAMPLES: &str = with_exit_status!(
    "\
Examples:
  justfull live --check
  justfull live live-lte --serve 'iperf3 -s' -- iperf3 -c server -R
  justfull live live-lte --method CoDel --flows -- ping -c 20 server
  justfull live live-lte --method Vanilla --method CoDel --runs 3 --time 20s --out live
  justfull live live-lte --shell ue --time 1h
  justfull live live-lte --time 20s --tui
  justfull live live-lte --time 1h --attach eth1 eth2
  justfull live live-lte --time 20s --proxy rapid.toml

Without a command the scenario's own flows are sent over the kernel's sockets. In the namespaces \
`server`, `ue`, `ue0`, `ue1` ...
are names. What was made is removed at the end, on Ctrl-C too; what a killed run left, at the \
next start.

Several runs, of points of a sweep, methods or repeats, go one after the other into one folder. \
The command and --serve start anew in each. Ctrl-C keeps the runs that are done.

A command behind -- that fails makes the exit status 1, whatever its own; the message names it \
(\"the command ended with status 7\")."
);

/// Which scenario, and how.
#[derive(Args)]
pub(crate) struct ScenarioArgs {
    /// Variant: sound, or one that the file defines (T20: as-published, as-released)
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Switch of the file to turn on; may be given several times
    #[arg(long = "switch", value_name = "NAME")]
    pub(crate) switches: Vec<String>,
    /// Change a setting, e.g. rlc.queue.limit=10MB or rlc.limiter.keep=1; may be given several
    /// times.
    ///
    /// It comes after the method's settings and beats them. Where a method has no such setting it
    /// does not apply, which is said; a setting that no method has is refused. A bare name
    /// stands for a table of that kind: rlc.limiter=drql. Text needs no quotes, even if it looks
    /// like a number: flow.NAME.tcp.sender.kernel=4.15.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of the first run [default: the scenario's]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Scenario files, names of shipped ones, or folders of results; - is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Method to check instead of the file's; may be given several times
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    /// Print JSON: a list of the files and folders, each with what was found
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
}

/// A grid of settings.
#[derive(Args, Default)]
pub(crate) struct GridArgs {
    /// A setting and its values, e.g. rlc.queue.limit=[1MB, 10MB], instead of the file's sweep; of
    /// several, all combinations are run
    #[arg(long = "grid", value_name = "PATH=[VALUE, ...]")]
    pub(crate) axes: Vec<String>,
}

#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Folders of results; the others are compared with the first
    #[arg(required = true, num_args = 2..)]
    pub(crate) folders: Vec<PathBuf>,
    /// Column of runs.jsonl, or its short name such as delay.p99; may be given several times
    /// [default: delay.mean, delay.p95, delay.p99, goodput]
    #[arg(long = "column", value_name = "NAME")]
    pub(crate) columns: Vec<String>,
    /// Method to compare; may be given several times [default: all]
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    /// Flow to compare; may be given several times [default: all]
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    /// Change that is a failure: COLUMN > NUMBER or COLUMN < NUMBER, with % for parts of the first
    /// folder's mean; may be given several times
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct PlotArgs {
    /// Folders of results
    #[arg(required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// What goes up: a column of runs.jsonl; of a distribution its quantity in cdf.csv, such as
    /// delay
    #[arg(long, value_name = "COLUMN")]
    pub(crate) y: String,
    /// What goes across: a column for points; for lines what is swept [default: of a grid its first
    /// setting]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) x: Option<String>,
    /// Means over a sweep, means over another column, or distributions (ccdf: the logarithmic tail)
    #[arg(long, value_enum, default_value = "line")]
    pub(crate) kind: PlotKind,
    /// Method to draw; may be given several times [default: all]
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    /// Flow to draw; may be given several times [default: all]
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    /// File to write, in the form that its name ends in: .svg, .png, .pdf; - is standard output, as
    /// SVG
    #[arg(long, short = 'o', value_name = "FILE", default_value = "-")]
    pub(crate) out: PathBuf,
}

/// What `plot` draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    Line,
    Points,
    Cdf,
    Ccdf,
}

#[derive(Args)]
pub(crate) struct RunArgs {
    /// Scenario files, or names of shipped ones; - is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Method to run instead of the file's; may be given several times
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
    /// Print JSON instead of tables: notes, the folder, what is missing, the rows of runs.jsonl
    #[arg(long)]
    pub(crate) json: bool,
    /// Number of runs, each with the next seed; three or more give 95 % confidence intervals
    /// [default: the scenario's]
    #[arg(long)]
    pub(crate) runs: Option<u32>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Last: its heading is over all that follow.
    #[command(flatten)]
    pub(crate) files_of_runs: RunFileArgs,
}

/// Files that are written while a run goes on; with several runs, each run's name goes into the
/// file's.
#[derive(Args)]
#[command(next_help_heading = "Files of single runs")]
pub(crate) struct RunFileArgs {
    /// A record of each packet, in the form that the name ends in: .parquet, .csv, .jsonl
    #[arg(long, value_name = "FILE")]
    pub(crate) packets: Option<PathBuf>,
    /// A record of each slot, likewise
    #[arg(long, value_name = "FILE")]
    pub(crate) slots: Option<PathBuf>,
    /// Form of --packets and --slots, whatever their names end in: parquet, csv, jsonl
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Option<String>,
    /// A capture for Wireshark, one interface for each layer
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Goodput and delays over time for flent; name it NAME.flent.gz
    #[arg(long, value_name = "FILE")]
    pub(crate) flent: Option<PathBuf>,
    /// Delays of the first low-latency flow of datagrams as irtt's JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) irtt: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct DemoArgs {
    /// T20's main comparison on two synthetic channels, and on the paper's where JUSTFULL_DATA has
    /// them: 85 MB of results
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// Control: new_reno, cubic, bbr, vegas, westwood, yeah, fixed; by-hand, the figures worked
    /// out by hand; or all
    #[arg(default_value = "all")]
    pub(crate) control: String,
    #[command(flatten)]
    pub(crate) jobs: ThreadsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// The command line as it was given.
pub(crate) fn command() -> String {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .map(|w| if w.contains(' ') { format!("'{w}'") } else { w })
        .collect();
    format!("justfull {}", words.join(" "))
}

/// `proxy`.
#[derive(Subcommand)]
pub(crate) enum ProxyCommand {
    /// Proxy TCP connections until SIGTERM; SIGHUP reads the configuration again
    #[command(after_help = "Example:\n  justfull proxy run --config rapid.toml")]
    Run(ProxyRunArgs),
    /// Say what this host can do for the proxy, and which limits hold
    #[command(after_help = "Example:\n  justfull proxy check --config rapid.toml\n\nExit status: \
                            0 when the proxy can run here, 1 when not, 2 for a wrong file")]
    Check(ProxyCheckArgs),
    /// Say how a running proxy is: connections, reports of the radio, UEs
    Status(ProxyAskArgs),
    /// List the connections of a running proxy with their windows
    Flows(ProxyAskArgs),
    /// Watch the UEs and connections of a running proxy
    #[command(after_help = "Keys: q ends it.\nWithout a terminal it prints one page.\n\n\
                            Example:\n  justfull proxy top --json --every 10s --count 6")]
    Top(ProxyTopArgs),
}

/// What `run` reads.
#[derive(Args)]
pub(crate) struct ProxyRunArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
    /// Take the place of the proxy that runs at `operation.socket`, with its connections; it ends
    /// then
    #[arg(long)]
    pub(crate) takeover: bool,
}

/// What `check` reads.
#[derive(Args)]
pub(crate) struct ProxyCheckArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}

/// Whom `status` and `flows` ask.
#[derive(Args)]
pub(crate) struct ProxyAskArgs {
    /// Local socket of the proxy, `operation.socket` of its configuration
    #[arg(long, value_name = "FILE", default_value = "/run/justfull-proxy.sock")]
    pub(crate) socket: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `top` shows.
#[derive(Args)]
pub(crate) struct ProxyTopArgs {
    #[command(flatten)]
    pub(crate) ask: ProxyAskArgs,
    /// Time between two pages
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = period)]
    pub(crate) every: justfull_base::Duration,
    /// Pages after which it ends [default: without a terminal 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) count: Option<u64>,
}

/// 100 ms to an hour.
fn period(text: &str) -> Result<justfull_base::Duration, String> {
    use justfull_base::Duration;
    let time: Duration = text.parse().map_err(|e| format!("{e}"))?;
    let allowed = Duration::from_millis(100)..=Duration::from_secs(3_600);
    if allowed.contains(&time) { Ok(time) } else { Err("100ms to 1h are allowed".into()) }
}
