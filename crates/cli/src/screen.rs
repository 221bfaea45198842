//! Paints on a terminal. The terminal's state is restored when painting ends and when the program
//! panics.

use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{cursor, execute, queue, style};
use justfull_report::table::printable;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, Once, PoisonError};

/// The stream of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    Stdout,
    #[cfg(feature = "live")]
    Stderr,
}

impl To {
    /// Standard error, else standard output, if it is a terminal that supports painting.
    #[cfg(feature = "live")]
    pub(crate) fn any() -> Option<Self> {
        let found = if io::stderr().is_terminal() { Self::Stderr } else { Self::Stdout };
        found.can_be_painted_on().then_some(found)
    }

    /// True for a terminal with more abilities than lines.
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

/// The reader of the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// This program, key by key: Ctrl-C is an ordinary key.
    Ours,
    /// The previous reader: Ctrl-C is a signal.
    #[cfg_attr(not(feature = "live"), expect(dead_code, reason = "`live` leaves them alone"))]
    Others,
}

/// The open screen.
static OPEN: Mutex<Option<(To, Keys)>> = Mutex::new(None);
/// Restores the terminal before a panic's message, so that it is visible.
static HOOK: Once = Once::new();

/// A screen; a drop restores the terminal. There is one at a time.
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

    /// Shows as many lines, and as much of each, as fit.
    pub(crate) fn show(&self, lines: &[String]) -> io::Result<()> {
        let (width, height) = size()?;
        // In one write, so that no half page is visible.
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

/// Restores the terminal if a screen is open.
fn close() {
    // A panic during the opening holds the lock, and the terminal is unchanged.
    let Ok(mut open) = OPEN.try_lock() else { return };
    let Some((to, keys)) = open.take() else { return };
    // The terminal may be gone.
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

    /// Set if the program is to panic.
    const PANICS: &str = "JUSTFULL_TEST_SCREEN";

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_then_seen() {
        let name = "screen::tests::a_panic_gives_the_terminal_back_and_is_then_seen";
        if std::env::var_os(PANICS).is_some() {
            let _screen = Screen::open(To::Stdout, Keys::Ours).expect("a terminal");
            panic!("of the test");
        }
        // Without the test harness, which would capture the output.
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
