//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

mod campaign;
mod new;
mod recommend;
mod rnis;

pub(crate) use campaign::{CampaignArgs, CampaignCommand};
pub(crate) use new::NewArgs;
pub(crate) use recommend::RecommendArgs;
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
         With --split what the RLC holds is known so much later, as where CU and DU are apart."
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
    /// Compare TCP controls with published formulas and figures
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull validate cubic --no-files\n  \
         justfull validate all --out results/tcp\n\n\
         Writes CONTROL.md and figures/*.svg."
    ))]
    Validate(ValidateArgs),
    /// List methods, algorithms, scenarios and papers
    List,
    /// Say what an algorithm, a method, a key of a scenario, a column of results or a format of
    /// traces is: parameters, units, bounds, defaults, sources
    #[command(
        after_help = "Examples:\n  justfull explain codel\n  justfull explain USP@5G-BDP\n  \
        justfull explain rlc.queue.limit\n  justfull explain delay.p99\n  \
        justfull explain mahimahi"
    )]
    Explain {
        /// Name of an algorithm or a method (see `justfull list`), path of a key, column, format
        name: String,
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
    /// Write a scenario to start your own from: commented, and ready to run
    #[command(after_help = with_exit_status!(
        "Examples:\n  justfull new my\n  \
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
    /// Print shell completions
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

Several runs, of methods or repeats, go one after the other into one folder. The command and \
--serve start anew in each. Ctrl-C keeps the runs that are done.

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
    /// stands for a table of that kind: rlc.limiter=drql.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of the first run
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// How long a live run takes, and how true it is.
#[derive(Args)]
pub(crate) struct PaceArgs {
    /// Time after which the run ends, whatever still runs in it, e.g. 20s [default: the scenario's
    /// duration]
    #[arg(long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Time between readings of the interfaces: shorter is truer, and takes more of a core
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub(crate) read: justfull_base::Duration,
}

#[derive(Args)]
pub(crate) struct LiveArgs {
    /// Scenario file, or the name of a shipped one
    #[arg(required_unless_present = "check")]
    pub(crate) file: Option<PathBuf>,
    /// Method; may be given several times: one run after the other [default: the file's first]
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    /// Number of runs of each method, each with the next seed; three or more give 95 % confidence
    /// intervals
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Where the command runs: server, ue (the first), ue0, ue1 ..., or proxy
    #[arg(long, value_name = "SIDE", default_value = "ue")]
    pub(crate) on: String,
    /// A line for a shell on the server's side, started before the command and ended after it; may
    /// be given several times
    #[arg(long, value_name = "LINE")]
    pub(crate) serve: Vec<OsString>,
    /// An interactive shell on this side instead of a command
    #[arg(long, value_name = "SIDE", conflicts_with = "command")]
    pub(crate) shell: Option<String>,
    /// Put the stack between two existing Ethernet interfaces, as a bridge, until the command
    /// ends, --time is over or Ctrl-C comes.
    ///
    /// The first is the servers' side, the second the UEs'. The command runs where justfull does.
    /// A sole UE takes all; of several, UE n has 10.45.0.(n+1) and fd45::(n+1), and ue0 takes
    /// what no other has.
    #[arg(long, num_args = 2, value_names = ["SERVERS", "UES"],
          conflicts_with_all = ["on", "serve", "shell", "flows", "congestion_control"])]
    pub(crate) attach: Option<Vec<String>>,
    /// Put `justfull proxy` with this configuration between the servers and the stack.
    ///
    /// It runs in a namespace `proxy`, behind the core's delay, and hears what the run's own slots
    /// report. What the file leaves out is filled in: the interface, the reports, the socket, and
    /// the control that the method names. If it fails, the run has failed.
    #[arg(long, value_name = "FILE", conflicts_with = "attach")]
    pub(crate) proxy: Option<PathBuf>,
    /// Send the scenario's own flows beside the command
    #[arg(long)]
    pub(crate) flows: bool,
    /// Congestion control of both sides by route, as the kernel names it [default: that of each
    /// UE's first flow]
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion_control: Option<String>,
    /// A capture for Wireshark with the real datagrams, one interface for each layer
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Paint what the run is doing on the terminal four times a second: rate, backlog, delay,
    /// drops, with sparklines; without a terminal, write a line each second
    #[arg(long, conflicts_with_all = ["quiet", "shell"])]
    pub(crate) tui: bool,
    /// Serve metrics for Prometheus at this port of 127.0.0.1, or at this address
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub(crate) metrics: Option<String>,
    /// Write what the cell reports of its UEs to this file or named pipe, a line of JSON for each
    /// report, as `justfull proxy` reads them
    #[arg(long, value_name = "FILE")]
    pub(crate) reports: Option<PathBuf>,
    /// Serve them at this port of 127.0.0.1, or at this address, as `justfull rnis` does
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub(crate) rnis: Option<String>,
    /// Time between two reports about a UE
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) report_period: justfull_base::Duration,
    /// Exit 0 though slots were handled too late
    #[arg(long)]
    pub(crate) allow_late: bool,
    /// Say what this machine can do, and nothing else
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Command to run, after --
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct ParityArgs {
    /// Scenario file, or the name of a shipped one
    pub(crate) file: PathBuf,
    /// Method; may be given several times [default: the file's first]
    #[arg(long, value_name = "NAME")]
    pub(crate) method: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Time for live runs until one can be compared, in whole runs.
    ///
    /// One of which 0.1 % of the slots are late, or 1 % of the wake-ups by a tenth of their
    /// period, says as much about the machine as about the method, and is given up as soon as
    /// that is settled.
    #[arg(
        long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub(crate) tries: u32,
    /// Compare delays that miss again, taking for equal what differs by no more than this: tells a
    /// machine's 50 us on delays that come in steps from a difference of substance
    #[arg(long, value_name = "TIME")]
    pub(crate) explain: Option<justfull_base::Duration>,
    /// Print one line of JSON for each method instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Judge the last live run, however late it was
    #[arg(long)]
    pub(crate) allow_late: bool,
    /// No line about the run
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// Scenario files, names of shipped ones, or folders of results; - is standard input
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Method to check instead of the file's; may be given several times
    #[arg(long = "method", value_name = "NAME")]
    pub(crate) methods: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
}

/// A grid of settings.
#[derive(Args)]
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
    /// Number of runs, each with the next seed; three or more give 95 % confidence intervals
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
pub(crate) struct JobsArgs {
    /// Threads [default: all cores]
    #[arg(long, short = 'j')]
    pub(crate) jobs: Option<usize>,
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
pub(crate) struct OutputArgs {
    /// Folder of the results, which is replaced as a whole: report.html, runs.csv, runs.jsonl,
    /// runs.parquet, series.csv, flow_series.csv, cdf.csv, result.json, manifest.json [default:
    /// results/NAME; live: results/live/SCENARIO-UTC]
    #[arg(long, short = 'o', value_name = "DIR", conflicts_with = "no_files")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the folder whatever it holds; what no run can make again is kept as DIR.old
    #[arg(long, conflicts_with = "no_files")]
    pub(crate) force: bool,
    /// Print the table only
    #[arg(long)]
    pub(crate) no_files: bool,
    /// Write each figure as PNG too
    #[arg(long, conflicts_with = "no_files")]
    pub(crate) png: bool,
    /// Print p99.9, jitter, missed delay budgets and fairness too
    #[arg(long)]
    pub(crate) wide: bool,
    /// No progress bar
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
}

#[derive(Args)]
pub(crate) struct ValidateArgs {
    /// Control: new_reno, cubic, bbr, vegas, westwood, yeah, fixed or all
    #[arg(default_value = "all")]
    pub(crate) control: String,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args)]
pub(crate) struct ReproduceArgs {
    /// Paper: T20, E19, A21, R22, P06, LastPoll or Justfull
    pub(crate) paper: String,
    /// The claims that are run live, over the kernel's TCP and `justfull proxy`: R22, section 5
    #[arg(long)]
    pub(crate) live: bool,
    /// Only the claims of this figure, e.g. 7, or of another place that the paper's claims name,
    /// e.g. "Table 4"
    #[arg(long, value_name = "N")]
    pub(crate) figure: Option<String>,
    /// Number of seeds, at least 3, for an interval: more give narrower ones
    #[arg(long, value_parser = clap::value_parser!(u32).range(3..))]
    pub(crate) runs: Option<u32>,
    /// First seed, instead of the scenarios' own
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=u64::MAX / 2))]
    pub(crate) seed: Option<u64>,
    /// Judge the claims in this many groups of seeds, one after the other, from --seed on: how
    /// often each verdict falls; no folder is written, and what the file records is not compared
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
          requires = "seed", conflicts_with_all = ["fit", "live"])]
    pub(crate) groups: Option<u32>,
    /// Fewer points of the sweep, same bands
    #[arg(long)]
    pub(crate) short: bool,
    /// Fit what the paper does not print to some of its values, as the claims' file says, and print
    /// what that does to all of them; no claim is judged and no folder is written
    #[arg(long, conflicts_with_all = ["figure", "short", "strict", "seed"])]
    pub(crate) fit: bool,
    /// Exit 1 when a claim was not run for want of its trace
    #[arg(long)]
    pub(crate) strict: bool,
    /// Also write the table of claims as Markdown to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) jobs: JobsArgs,
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
