//! A terminal that is painted on. It is given back as it was when painting ends, and when the
//! program panics.

use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{cursor, execute, queue, style};
use justfull_report::table::printable;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, Once, PoisonError};

/// Where the terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Stdout,
    #[cfg(feature = "live")]
    Stderr,
}

impl To {
    /// Standard error, or else standard output, if it is a terminal that can be painted on.
    #[cfg(feature = "live")]
    pub(crate) fn any() -> Option<Self> {
        let found = if io::stderr().is_terminal() { Self::Stderr } else { Self::Stdout };
        found.can_be_painted_on().then_some(found)
    }

    /// A terminal, and one that knows more than lines.
    pub(crate) fn can_be_painted_on(self) -> bool {
        let terminal = match self {
            Self::Stdout => io::stdout().is_terminal(),
            #[cfg(feature = "live")]
            Self::Stderr => io::stderr().is_terminal(),
        };
        terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    fn writer(self) -> Box<dyn Write> {
        match self {
            Self::Stdout => Box::new(io::stdout()),
            #[cfg(feature = "live")]
            Self::Stderr => Box::new(io::stderr()),
        }
    }
}

/// Who reads what is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// This program, each key at once: Ctrl-C is a key like others.
    Ours,
    /// Whoever did before: Ctrl-C is a signal.
    #[cfg_attr(not(feature = "live"), expect(dead_code, reason = "`live` leaves them alone"))]
    Others,
}

/// The screen that is open.
static OPEN: Mutex<Option<(To, Keys)>> = Mutex::new(None);
/// Panics give the terminal back first, so that their words are seen.
static HOOK: Once = Once::new();

/// A screen; dropping it gives the terminal back as it was. There is one at a time.
pub(crate) struct Screen {
    to: To,
}

impl Screen {
    pub(crate) fn open(to: To, keys: Keys) -> io::Result<Self> {
        HOOK.call_once(|| {
            let others = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                close();
                others(panic);
            }));
        });
        if keys == Keys::Ours {
            enable_raw_mode()?;
        }
        *OPEN.lock().unwrap_or_else(PoisonError::into_inner) = Some((to, keys));
        let screen = Self { to };
        execute!(to.writer(), EnterAlternateScreen, cursor::Hide)?;
        Ok(screen)
    }

    /// Shows as many lines, and as much of each, as there is room for.
    pub(crate) fn show(&self, lines: &[String]) -> io::Result<()> {
        let (width, height) = size()?;
        // In one piece, so that no half of it is seen.
        let mut page = Vec::new();
        queue!(page, Clear(ClearType::All))?;
        for (row, line) in (0..height).zip(lines) {
            let line: String = printable(line).chars().take(width.into()).collect();
            queue!(page, cursor::MoveTo(0, row), style::Print(line))?;
        }
        let mut out = self.to.writer();
        out.write_all(&page)?;
        out.flush()
    }
}

/// Gives the terminal back, if it is painted on.
fn close() {
    // A panic while it is being opened has it free.
    let Ok(mut open) = OPEN.try_lock() else { return };
    let Some((to, keys)) = open.take() else { return };
    // Nobody may see it any more.
    let _gone = execute!(to.writer(), cursor::Show, LeaveAlternateScreen);
    if keys == Keys::Ours {
        let _gone = disable_raw_mode();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set where the program is to panic.
    const PANICS: &str = "JUSTFULL_TEST_SCREEN";

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_then_seen() {
        let name = "screen::tests::a_panic_gives_the_terminal_back_and_is_then_seen";
        if std::env::var_os(PANICS).is_some() {
            let _screen = Screen::open(To::Stdout, Keys::Ours).expect("a terminal");
            panic!("of the test");
        }
        // Without the harness, which would keep what is said.
        let program = std::env::current_exe().expect("this program");
        let command = format!("{} {name} --exact --nocapture; stty -a", program.display());
        let done = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env(PANICS, "1")
            .stdin(std::process::Stdio::null())
            .output()
            .expect("script is part of Debian");
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?}: {text:?}"));
        assert!(at("\u{1b}[?1049h") < at("\u{1b}[?1049l"), "{text:?}");
        assert!(at("\u{1b}[?25h") < at("of the test"), "{text:?}");
        assert_eq!(text.matches("\u{1b}[?1049l").count(), 1, "{text:?}");
        assert!(text.contains(" icanon") && text.contains(" echo "), "{text}");
    }
}
