//! Measured traces must not be published, and large files make every clone slow.
//!
//! A trace is recognised by the columns of its header and, if `JUSTFULL_DATA` names the folder of
//! the measured traces, by its own rows. A few rows written by hand, as in a test or a page, are no
//! trace.

use std::fs;
use std::path::Path;

use super::Finding;
use super::tree::{File, Tree};

/// Most bytes of a file.
const MAX_BYTES: usize = 1024 * 1024;

/// Columns that only the measured traces have.
const MEASURED_COLUMNS: [&str; 6] =
    ["packets_per_10ms", "rsrp_dbm", "rsrq_db", "mmwave_outage", "obstruction", "tcp_conns"];

/// Most rows of an example.
const EXAMPLE_ROWS: usize = 50;

/// Rows of a measured trace that identify a copy.
const KNOWN_ROWS: usize = 100;

/// A measured trace outside the tree.
struct Trace {
    name: String,
    /// Its first rows, without comments and header.
    rows: String,
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let traces = std::env::var_os("JUSTFULL_DATA")
        .map(|folder| read_traces(Path::new(&folder)))
        .unwrap_or_default();
    tree.files.iter().flat_map(|file| check_file(file, &traces)).collect()
}

fn check_file(file: &File, traces: &[Trace]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if file.bytes.len() > MAX_BYTES {
        let message = format!("{} bytes, at most {MAX_BYTES}: commit a summary", file.bytes.len());
        findings.push(Finding::new(&file.path, 1, message));
    }
    if ["gz", "zip", "xz", "zst", "bz2"].contains(&file.extension()) {
        findings.push(Finding::new(&file.path, 1, "compressed: nobody can review it"));
    }
    let Some(text) = file.text() else { return findings };
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let rows = || lines[index + 1..].iter().take_while(|line| is_row(line)).count();
        if let Some(column) = measured_column(line).filter(|_| rows() > EXAMPLE_ROWS) {
            findings.push(Finding::new(
                &file.path,
                index + 1,
                format!(
                    "a measured trace (column `{column}` and {} rows): it must not be committed",
                    rows()
                ),
            ));
        }
    }
    let copied = traces.iter().find(|trace| text.contains(&trace.rows));
    findings.extend(copied.map(|trace| {
        Finding::new(
            &file.path,
            1,
            format!("holds rows of the measured trace {}: it must not be committed", trace.name),
        )
    }));
    findings
}

/// The measured column among the comma-separated fields of a line.
fn measured_column(line: &str) -> Option<&'static str> {
    let mut fields = line.split(',').map(|field| field.trim().trim_matches('"'));
    fields.find_map(|field| MEASURED_COLUMNS.into_iter().find(|column| *column == field))
}

fn is_row(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

/// The text traces in `folder`; none without the folder.
fn read_traces(folder: &Path) -> Vec<Trace> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    let measured = |name: &str| {
        name.starts_with("packets_") || name.starts_with("trace_") && name != "trace_stats.csv"
    };
    paths
        .iter()
        .filter_map(|path| {
            let name = path.file_name()?.to_str().filter(|name| measured(name))?;
            let text = fs::read_to_string(path).ok()?;
            Some(Trace { name: name.to_owned(), rows: first_rows(&text)? })
        })
        .collect()
}

/// The rows that identify a copy of `text`, if it has enough.
fn first_rows(text: &str) -> Option<String> {
    let rows: Vec<&str> = text.lines().filter(|line| is_row(line)).take(KNOWN_ROWS).collect();
    (rows.len() == KNOWN_ROWS).then(|| rows.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::tree_of;
    use super::*;

    fn findings(path: &str, text: &str, traces: &[Trace]) -> Vec<String> {
        check_file(&tree_of(&[(path, text)]).files[0], traces)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_header_with_many_rows_is_a_trace_and_an_example_is_not() {
        let rows = |count: usize| format!("# T20\npackets_per_10ms\n{}", "6\n".repeat(count));
        assert_eq!(findings("a.csv", &rows(50), &[]), [""; 0]);
        assert_eq!(
            findings("a.csv", &rows(51), &[]),
            ["a.csv:2: a measured trace (column `packets_per_10ms` and 51 rows): it must not be \
              committed"]
        );
        let table = format!("t_s,cqi,rsrp_dbm\n{}", "1,2,-90\n".repeat(60));
        assert_eq!(findings("notes.md", &table, &[]).len(), 1, "whatever the file is called");
        assert_eq!(findings("a.csv", &table.replace("rsrp_dbm", "rate_kbps"), &[]), [""; 0]);
    }

    #[test]
    fn rows_are_known_without_their_header() {
        let text = format!(
            "packets_per_10ms\n{}",
            (0..200).map(|n| format!("{}\n", n % 15)).collect::<String>()
        );
        let trace = Trace { name: "packets_walk.csv".into(), rows: first_rows(&text).unwrap() };
        let copy = text.replace("packets_per_10ms", "n");
        assert_eq!(
            findings("b.txt", &copy, &[trace]),
            ["b.txt:1: holds rows of the measured trace packets_walk.csv: it must not be \
              committed"]
        );
    }

    #[test]
    fn large_and_compressed_files_are_found() {
        assert_eq!(findings("a.svg", &"x".repeat(MAX_BYTES), &[]), [""; 0]);
        assert_eq!(findings("a.svg", &"x".repeat(MAX_BYTES + 1), &[]).len(), 1);
        assert_eq!(findings("a.csv.gz", "", &[]), ["a.csv.gz:1: compressed: nobody can review it"]);
    }
}
