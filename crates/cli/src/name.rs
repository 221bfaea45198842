//! The program's name and version, and its command line.

/// The program's version, with the commit of its source if known.
pub(crate) const VERSION: &str = env!("JUSTFULL_VERSION");

/// The program's name.
pub(crate) const NAME: &str = "justfull";

/// The command line as given.
pub(crate) fn command_line() -> String {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .map(|w| if w.contains(' ') { format!("'{w}'") } else { w })
        .collect();
    format!("justfull {}", words.join(" "))
}
