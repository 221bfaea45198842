//! `justfull live --tui` on a pseudo terminal, to its end and to Ctrl-C, and without a terminal.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "the tests of lifecycles use the rest")]
mod room;

use room::{Run, room};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const LIVE: &str = "live live-lte --set warmup=0s --allow-late --no-files --tui --duration";
/// Sequences that enter and leave the alternate screen.
const SCREEN: [&str; 2] = ["\u{1b}[?1049h", "\u{1b}[?1049l"];

/// Runs `justfull` with these words on a terminal of 160 columns and 40 lines and presses Ctrl-C
/// once `press` is visible. Returns all output, including the final output of `stty`.
fn at_a_terminal(folder: &Path, words: &str, press: Option<&str>) -> String {
    let program = env!("CARGO_BIN_EXE_justfull");
    // The shell survives Ctrl-C.
    let command =
        format!("trap : INT; stty cols 160 rows 40; {program} {words}; echo left $?; stty -a");
    let mut child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(folder)
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script is part of Debian");
    let mut keys = child.stdin.take().expect("a pipe");
    let mut out = child.stdout.take().expect("a pipe");
    let (mut raw, mut buffer, mut press) = (Vec::new(), [0; 4_096], press);
    while let Ok(length @ 1..) = out.read(&mut buffer) {
        raw.extend_from_slice(&buffer[..length]);
        if press.is_some_and(|part| String::from_utf8_lossy(&raw).contains(part)) {
            keys.write_all(&[3]).expect("it reads");
            press = None;
        }
    }
    assert!(child.wait().expect("a child").success());
    String::from_utf8_lossy(&raw).into_owned()
}

/// The painted part and the text after it; the terminal's state is restored.
fn painted(text: &str) -> (&str, &str) {
    assert!(text.contains(" icanon") && text.contains(" echo "), "{text}");
    let (_, rest) = text.split_once(SCREEN[0]).unwrap_or_else(|| panic!("{text}"));
    let (painted, after) = rest.split_once(SCREEN[1]).unwrap_or_else(|| panic!("{text}"));
    assert!(painted.contains("\u{1b}[?25l") && text.contains("\u{1b}[?25h"), "the cursor");
    assert!(!after.contains(SCREEN[0]) && !after.contains(SCREEN[1]), "once: {after}");
    (painted, after)
}

#[test]
fn a_run_is_painted_on_the_terminal_which_is_then_as_it_was_with_the_table_on_it() {
    let test = "a_run_is_painted_on_the_terminal_which_is_then_as_it_was_with_the_table_on_it";
    room(test, |folder| {
        let text = at_a_terminal(folder, &format!("{LIVE} 4s"), None);
        let (painted, after) = painted(&text);
        for part in [
            "justfull live: live-lte, Vanilla, seed 1; ",
            "of 4 s",
            "rate  ",
            " Mbit/s",
            "used of the cell",
            "backlog upf",
            "backlog sdap",
            "backlog rlc",
            "delay low latency",
            "delay other",
            "late slots",
            "█",
        ] {
            assert!(painted.contains(part), "{part}: {painted}");
        }
        // A download fills 20 Mbit/s, and the call waits with it.
        let delay = painted.rsplit("delay low latency").next().expect("text");
        assert!(delay.trim_start().starts_with("p50 "), "{delay}");
        let pages = painted.matches("\u{1b}[2J").count();
        assert!((8..=17).contains(&pages), "four a second: {pages}");
        assert!(after.contains("bulk") && after.contains("left 0"), "{after}");
    });
}

#[test]
fn ctrl_c_gives_the_terminal_back_and_keeps_the_results_up_to_then() {
    room("ctrl_c_gives_the_terminal_back_and_keeps_the_results_up_to_then", |folder| {
        let text = at_a_terminal(folder, &format!("{LIVE} 100s"), Some("p50 "));
        let (_, after) = painted(&text);
        for part in ["bulk", "interrupted; the results are those up to then", "left 1"] {
            assert!(after.contains(part), "{part}: {after}");
        }
    });
}

#[test]
fn without_a_terminal_there_is_a_line_each_second() {
    room("without_a_terminal_there_is_a_line_each_second", |folder| {
        let words = format!("{LIVE} 3500ms");
        let done =
            Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &words.split(' ').collect::<Vec<_>>())
                .end();
        assert_eq!(done.code, 0, "{}", done.stderr);
        let lines: Vec<&str> = done.stderr.lines().filter(|l| l.contains("backlog")).collect();
        assert!((2..=4).contains(&lines.len()), "{}", done.stderr);
        for part in [" Mbit/s, ", "rlc ", "low latency ", "(p99)", "dropped", " slots late"] {
            assert!(lines[1].contains(part), "{part}: {}", lines[1]);
        }
        assert!(!done.stderr.contains('\u{1b}') && done.stdout.contains("bulk"), "{}", done.stderr);

        for other in ["-q", "--shell ue"] {
            let words = format!("{LIVE} 1s {other}");
            let words: Vec<&str> = words.split(' ').collect();
            let done = Run::of(env!("CARGO_BIN_EXE_justfull"), folder, &words).end();
            assert!(done.code == 2 && done.stderr.contains("--tui"), "{}", done.stderr);
        }
    });
}
