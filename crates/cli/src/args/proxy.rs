//! Arguments of `proxy`.

use super::ConfigArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Proxy the TCP connections of UEs, with windows that follow the radio (RAPID, R22)
#[derive(Subcommand)]
pub(crate) enum ProxyCommand {
    /// Proxy TCP connections until SIGTERM; SIGHUP reads the configuration again
    #[command(after_help = "Example:\n  justfull proxy run --config rapid.toml")]
    Run(ProxyRunArgs),
    /// Say what this host can do for the proxy, and which limits hold
    #[command(after_help = "Example:\n  justfull proxy check --config rapid.toml\n\nExit status: \
                            0 when the proxy can run here, 1 when not, 2 for a wrong file")]
    Check(ConfigArgs),
    /// Replace the running proxy by one of this program and configuration, with all its connections
    #[command(
        after_help = "Example:\n  justfull proxy reload --config rapid.toml\n\nIt returns when \
                            the new proxy has everything. If that fails, the old one goes on and \
                            the exit status is 2."
    )]
    Reload(ConfigArgs),
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
    #[command(flatten)]
    pub(crate) file: ConfigArgs,
    /// Take the place of the proxy that runs at `operation.socket`, with its connections; it ends
    /// then
    #[arg(long)]
    pub(crate) takeover: bool,
}

// Whom `status` and `flows` ask.
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
