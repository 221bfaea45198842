//! The failure of a command.

use std::fmt::Display;
use std::process::ExitCode;

/// The reason why a command ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Exit status 1.
    Failed(String),
    /// Exit status 2.
    Usage(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Failed(why) | Self::Usage(why)) = self;
        f.write_str(why)
    }
}

impl Failure {
    pub(crate) fn usage(error: &dyn Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// The failure for a feature that this build lacks.
    pub(crate) fn lacks(what: &str, feature: &str) -> Self {
        Self::Usage(format!("this build has no {what}; build with --features {feature}"))
    }

    pub(crate) fn status(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
        })
    }
}
