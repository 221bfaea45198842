//! Arguments of `rnis`.

use super::ScenarioArgs;
use crate::complete;
use crate::help::with_exit_status;
use clap::Args;
use std::path::PathBuf;

/// Serve reports of the radio as ETSI's Radio Network Information Service (GS MEC 012)
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull rnis live-lte --method CoDel\n  \
     mkfifo /run/ran-reports; justfull rnis --lines /run/ran-reports --listen 192.0.2.1:8080 \
     --tokens tokens\n  justfull rnis --openapi > rnis.json\n\n\
     GET /openapi.json describes it."
))]
#[command(override_usage = "justfull rnis [OPTIONS] <FILE>\n       \
                            justfull rnis [OPTIONS] --lines <FILE>\n       \
                            justfull rnis --openapi")]
pub(crate) struct RnisArgs {
    /// Scenario file, or the name of a shipped one, simulated in real time
    #[arg(required_unless_present_any = ["lines", "openapi"], add = complete::scenarios_and_files())]
    pub(crate) file: Option<PathBuf>,
    /// Method of the scenario, without a proxy of its own [default: the file's first]
    #[arg(long, value_name = "NAME", add = complete::methods())]
    pub(crate) method: Option<String>,
    #[command(flatten)]
    pub(crate) scenario: ScenarioArgs,
    /// Time between two reports about a UE of the scenario
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub(crate) report_period: justfull_base::Duration,
    /// Reports as lines of JSON from a file that grows or a named pipe, or from standard input (-)
    /// until its end
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub(crate) lines: Option<PathBuf>,
    /// Address to listen at: a port of 127.0.0.1, or an address with a port
    #[arg(long, value_name = "[ADDRESS:]PORT", default_value = "8080")]
    pub(crate) listen: String,
    /// Serve HTTPS with this chain of certificates, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Key of the first certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Serve only clients with a token of this file: one token on each line, followed by `read` if
    /// it does not allow subscriptions
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Certificates that verify receivers of notifications over HTTPS, a PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// Allow notifications to this address or network even if it belongs to this host, is
    /// link-local or serves a cloud's metadata; may be given several times
    #[arg(long, value_name = "NETWORK")]
    pub(crate) allow_callbacks: Vec<String>,
    /// Mobile country code of the cells
    #[arg(long, default_value = "001")]
    pub(crate) mcc: String,
    /// Mobile network code of the cells
    #[arg(long, default_value = "01")]
    pub(crate) mnc: String,
    /// Identity of the first cell: seven hexadecimal digits; each further cell has the next number
    #[arg(long, default_value = "0000001")]
    pub(crate) cell_id: String,
    /// QoS class of the bearers
    #[arg(long, default_value_t = 9)]
    pub(crate) qci: u8,
    /// Only print the OpenAPI description
    #[arg(long)]
    pub(crate) openapi: bool,
}
