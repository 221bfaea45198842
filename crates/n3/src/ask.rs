//! Questions to a running stage: over a local socket, and by the server of metrics.

use justfull_net::SystemError;
use justfull_net::questions::{self, Question};
use std::path::Path;

/// An answer about 1 000 000 UEs.
const LONGEST_ANSWER: u64 = 1 << 30;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Status,
    Tunnels,
    Metrics,
    /// The path of the routing domain, for a proxy.
    Domain,
}

impl Question for What {
    const METRICS: Self = Self::Metrics;

    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "status" => Self::Status,
            "tunnels" => Self::Tunnels,
            "domain" => Self::Domain,
            _ => return None,
        })
    }
}

pub(crate) type Ask = questions::Ask<What>;
pub(crate) type Asker = questions::Asker<What>;

/// Requests `status`, `domain` or `tunnels` of the stage at `socket`, in JSON.
///
/// # Errors
/// No stage serves it, this user has no right to use it, or no answer came.
pub fn ask(socket: &Path, question: &str) -> Result<String, SystemError> {
    questions::ask(socket, "stage", question, LONGEST_ANSWER)
}
