//! Arguments of `proxy`.

use super::{CheckConfigArgs, ConfigArgs};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Proxy the TCP connections of UEs, with windows that follow the radio (RAPID, R22)
#[derive(Subcommand)]
pub(crate) enum ProxyCommand {
    /// Proxy TCP connections until SIGTERM; SIGHUP reads the configuration again
    #[command(after_help = "Example:\n  justfull proxy run --config rapid.toml")]
    Run(ProxyRunArgs),
    /// Check the abilities of this host that the proxy needs, and show its limits
    #[command(after_help = "Example:\n  justfull proxy check --config rapid.toml\n\nExit status: \
                            0 when the proxy can run here, 1 when not, 2 for a wrong file")]
    Check(CheckConfigArgs),
    /// Replace the running proxy by this program with this configuration; all connections continue
    #[command(
        after_help = "Example:\n  justfull proxy reload --config rapid.toml\n\nIt returns when \
                            the new proxy has everything. If that fails, the old one goes on and \
                            the exit status is 2."
    )]
    Reload(ConfigArgs),
    /// Show the status of a running proxy: connections, reports of the radio, UEs
    Status(ProxyAskArgs),
    /// List the connections of a running proxy with their windows
    Flows(ProxyAskArgs),
    /// Watch the UEs and connections of a running proxy
    #[command(after_help = "Keys: q ends it.\nWithout a terminal it prints one page.\n\n\
                            Example:\n  justfull proxy top --json --every 10s --count 6")]
    Top(ProxyTopArgs),
}

/// Arguments of `run`.
#[derive(Args)]
pub(crate) struct ProxyRunArgs {
    #[command(flatten)]
    pub(crate) file: ConfigArgs,
    /// Replace the proxy that runs at `operation.socket` and take over its connections; it then
    /// ends
    #[arg(long)]
    pub(crate) takeover: bool,
}

// The proxy of `status` and `flows`.
#[derive(Args)]
pub(crate) struct ProxyAskArgs {
    /// Local socket of the proxy, `operation.socket` of its configuration
    #[arg(long, value_name = "FILE", default_value = "/run/justfull-proxy.sock")]
    pub(crate) socket: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `top`.
#[derive(Args)]
pub(crate) struct ProxyTopArgs {
    #[command(flatten)]
    pub(crate) ask: ProxyAskArgs,
    /// Time between two pages
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = period)]
    pub(crate) every: justfull_base::Duration,
    /// Number of pages [default: without a terminal 1]
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
