//! Arguments of `live` and `parity`.

use super::{GridArgs, OutputArgs, PluginArgs, ScenarioArgs};
use crate::complete;
use crate::help::with_exit_status;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

const LIVE_EXAMPLES: &str = with_exit_status!(
    "\
Examples:
  justfull live --check
  justfull live live-lte --serve 'iperf3 -s' -- iperf3 -c server -R
  justfull live live-lte --method CoDel --flows -- ping -c 20 server
  justfull live live-lte --method Vanilla --method CoDel --runs 3 --duration 20s --out live
  justfull live live-lte --shell ue --duration 1h
  justfull live live-lte --duration 20s --tui
  justfull live live-lte --duration 1h --attach eth1 eth2
  justfull live live-lte --duration 20s --proxy rapid.toml

Without a command the scenario's own flows are sent over the kernel's sockets. In the namespaces \
`server`, `ue`, `ue0`, `ue1` ...
are names. What was made is removed at the end, on Ctrl-C too; what a killed run left, at the \
next start.

Several runs, of points of a sweep, methods or repeats, go one after the other into one folder. \
The command and --serve start anew in each. Ctrl-C keeps the runs that are done.

A command behind -- that fails makes the exit status 1, whatever its own; the message names it \
(\"the command ended with status 7\")."
);

// How long a live run takes, and how true it is.
#[derive(Args)]
pub(crate) struct PaceArgs {
    /// Time between two reads of the interfaces: a shorter time is more exact and takes more of a
    /// core
    #[arg(long, value_name = "TIME", default_value = "100us")]
    pub(crate) read: justfull_base::Duration,
}

/// Put real applications behind the stack, in real time, over the kernel's own TCP
#[derive(Args)]
#[command(after_help = LIVE_EXAMPLES)]
pub(crate) struct LiveArgs {
    /// Scenario file, or the name of a shipped one
    #[arg(required_unless_present = "check", add = complete::scenarios_and_files())]
    pub(crate) file: Option<PathBuf>,
    /// Method; may be given several times, for one run after the other [default: the file's first]
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Number of runs of each method, each with the next seed; three or more give 95 % confidence
    /// intervals
    #[arg(long, default_value_t = 1)]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) grid: GridArgs,
    #[command(flatten)]
    pub(crate) plugins: PluginArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Where the command runs: server, ue (the first), ue0, ue1 ..., or proxy
    #[arg(long, value_name = "SIDE", default_value = "ue")]
    pub(crate) on: String,
    /// Shell command on the server's side, started before the command and ended after it; may be
    /// given several times
    #[arg(long, value_name = "LINE")]
    pub(crate) serve: Vec<OsString>,
    /// An interactive shell on this side instead of a command
    #[arg(long, value_name = "SIDE", conflicts_with = "command")]
    pub(crate) shell: Option<String>,
    /// Put the stack between two existing Ethernet interfaces, as a bridge, until the command
    /// ends, --duration is over or Ctrl-C comes.
    ///
    /// The first interface is the servers' side, the second the UEs' side. The command runs in the
    /// namespace of justfull. A single UE gets all packets. Of several, UE n has 10.45.0.(n+1) and
    /// fd45::(n+1), and ue0 gets the packets to all other addresses.
    #[arg(long, num_args = 2, value_names = ["SERVERS", "UES"],
          conflicts_with_all = ["on", "serve", "shell", "flows", "congestion_control"])]
    pub(crate) attach: Option<Vec<String>>,
    /// Put `justfull proxy` with this configuration between the servers and the stack.
    ///
    /// The proxy runs in a namespace `proxy`, behind the core's delay, and gets the reports of the
    /// run's slots. The run sets what the file leaves out: interface, source of reports, socket,
    /// and the control that the method names. If the proxy fails, the run fails.
    #[arg(long, value_name = "FILE", conflicts_with = "attach")]
    pub(crate) proxy: Option<PathBuf>,
    /// Exchange each packet with the kernel alone. By default the kernel hands over and takes many
    /// segments at once, which is faster; packets, their order and their delays are the same
    #[arg(long, conflicts_with = "attach")]
    pub(crate) single: bool,
    /// Send the scenario's own flows beside the command
    #[arg(long)]
    pub(crate) flows: bool,
    /// Congestion control of both sides, set by route, by the kernel's name [default: that of each
    /// UE's first flow]
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion_control: Option<String>,
    /// Capture file for Wireshark with the real datagrams and one interface for each layer
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
    /// Show rate, backlog, delay and drops of the run on the terminal four times a second, with
    /// bars over time; without a terminal, write a line each second
    #[arg(long, conflicts_with_all = ["quiet", "shell"])]
    pub(crate) tui: bool,
    /// Serve metrics for Prometheus at this port of 127.0.0.1, or at this address
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub(crate) metrics: Option<String>,
    /// Write the reports of each cell about its UEs to this file or named pipe: a line of JSON for
    /// each report, as `justfull proxy` reads it
    #[arg(long, value_name = "FILE")]
    pub(crate) reports: Option<PathBuf>,
    /// Serve the reports at this port of 127.0.0.1, or at this address, as `justfull rnis` does
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    pub(crate) rnis: Option<String>,
    /// Allow `--rnis` to send notifications to this address or network even if it belongs to this
    /// host, is link-local or serves a cloud's metadata; may be given several times
    #[arg(long, value_name = "NETWORK", requires = "rnis")]
    pub(crate) allow_callbacks: Vec<String>,
    /// Time between two reports about a UE
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) report_period: justfull_base::Duration,
    /// Exit with 0 even if slots were late
    #[arg(long)]
    pub(crate) allow_late: bool,
    /// Print JSON instead of tables: notes, the folder, missing runs, the rows of runs.jsonl
    #[arg(long)]
    pub(crate) json: bool,
    /// Only check the abilities of this machine
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Command to run, after --
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

/// Run a scenario's flows simulated and live, and compare
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Example:\n  justfull parity live-lte --method CoDel --method DRQL --duration 60s\n\n\
     A figure outside its band is exit 1. A run that is too short to compare a figure says \
     so, and does not miss it."
))]
pub(crate) struct ParityArgs {
    /// Scenario file, or the name of a shipped one; of a sweep the first point is compared
    #[arg(add = complete::scenarios_and_files())]
    pub(crate) file: PathBuf,
    /// Method; may be given several times [default: the file's first]
    #[arg(long, value_name = "NAME", add = complete::methods())]
    pub(crate) method: Vec<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(crate) pace: PaceArgs,
    /// Time for live runs until one can be compared, in whole runs.
    ///
    /// A run is late if 0.1 % of its slots are late, or 1 % of its wake-ups by a tenth of their
    /// period. A late run measures the machine as much as the method, so it stops as soon as it is
    /// known to be late.
    #[arg(
        long, value_name = "N", default_value_t = 3,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub(crate) tries: u32,
    /// Number of live runs of each method. Their medians are compared; a miss smaller than the
    /// distance of two runs is explained
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=100)
    )]
    pub(crate) live_runs: u32,
    /// Compare missed delays again and count differences up to this time as equal: delays come in
    /// steps, and a machine's 50 us may shift one to the next step
    #[arg(long, value_name = "TIME")]
    pub(crate) explain: Option<justfull_base::Duration>,
    /// Print one line of JSON for each method instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Judge the last live run even if it was late
    #[arg(long)]
    pub(crate) allow_late: bool,
    /// Shell command on the server's side, started before the command and ended after it; may be
    /// given several times
    #[arg(long, value_name = "LINE", requires = "command")]
    pub(crate) serve: Vec<OsString>,
    /// Congestion control of the kernel's TCP under the command [default: that of the scenario's
    /// flow, which the kernel must then have]
    #[arg(long, value_name = "NAME", requires = "command")]
    pub(crate) congestion_control: Option<String>,
    /// Print no line about the run
    #[arg(long, short = 'q')]
    pub(crate) quiet: bool,
    /// Command at the UE, after --, in place of the scenario's sole flow in the live run: of the
    /// live flows in the same direction, the one with the most packets is compared
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}
