//! Texts that several helps share.

/// Appends the meaning of exit statuses, the same for every command, to a command's own text.
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

pub(crate) use with_exit_status;
