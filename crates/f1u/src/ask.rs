//! Questions to a running box: over a local socket, and by the server of metrics.

use justfull_net::SystemError;
use justfull_net::questions::{self, Question};
use std::path::Path;

/// An answer about 65 536 bearers.
const LONGEST_ANSWER: u64 = 1 << 26;

/// A question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Status,
    Bearers,
    Metrics,
    /// Leaves the detour to another box, and ends.
    Leave,
}

impl Question for What {
    const METRICS: Self = Self::Metrics;

    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "status" => Self::Status,
            "bearers" => Self::Bearers,
            "leave" => Self::Leave,
            _ => return None,
        })
    }
}

pub(crate) type Ask = questions::Ask<What>;
pub(crate) type Asker = questions::Asker<What>;

/// Requests `status` or `bearers` of the box at `socket`, in JSON.
///
/// # Errors
/// No box serves it, this user has no right to use it, or no answer came.
pub fn ask(socket: &Path, question: &str) -> Result<String, SystemError> {
    questions::ask(socket, "box", question, LONGEST_ANSWER)
}
