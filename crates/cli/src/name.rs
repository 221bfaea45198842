//! The program's name and version, and the line that started it.

/// The program's version, with the commit that it was built from where that is known.
pub(crate) const VERSION: &str = env!("JUSTFULL_VERSION");

/// What the program is called.
pub(crate) const NAME: &str = "justfull";

/// The command line as it was given.
pub(crate) fn command_line() -> String {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .map(|w| if w.contains(' ') { format!("'{w}'") } else { w })
        .collect();
    format!("justfull {}", words.join(" "))
}
