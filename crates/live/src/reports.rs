//! The cells' reports about their UEs during a run, for listeners: the content of a radio network
//! information service (ETSI GS MEC 012; R22 section 3.1), from the run's own slots.
//!
//! The driver gets the reports from the cells once a period, at the first slot at or after its end,
//! and puts them into a ring for each listener. It never waits: a report that finds a ring full is
//! lost to that listener, and counted. A UE is in the reports of its serving cell; between two
//! cells it is in none. A UE with split bearers is in the reports of its master cell and of its
//! secondary cell, each of which reports its own leg.

use justfull_base::feedback::{CellKind, RanReport};
use justfull_base::{Duration, Instant};
use justfull_run::proxy::At;
use nix::libc;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};

/// Default time between two reports about a UE.
pub const PERIOD: Duration = Duration::from_millis(10);

/// Reports that a ring holds: two seconds of reports about 8 UEs, one per ms.
const RING: usize = 16_384;

/// A report about one UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UeReport {
    /// The UE's number in the scenario.
    pub ue: u32,
    /// The number of the cell that made it.
    pub cell: u32,
    /// It is about the secondary leg of the UE's split bearers.
    pub secondary: bool,
    /// The same report as the simulated proxy gets.
    pub ran: RanReport,
}

/// Counts of the reports of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReportCounts {
    /// UEs with a report.
    pub ues: u32,
    /// Reports that were made; each goes to every listener.
    pub made: u64,
    /// Reports that found a listener's ring full.
    pub lost: u64,
    /// Reports whose UE was in another cell in its report before: moves, as the reports show them.
    pub moves: u64,
}

/// The driver's end: makes reports once a period for all its listeners.
#[derive(Debug)]
pub struct ReportStream {
    period: Duration,
    due: Instant,
    /// The names of cells in reports, by number; none with one cell.
    names: Arc<[Arc<str>]>,
    /// The secondary cell of each UE with split bearers.
    secondaries: Vec<Option<u32>>,
    listeners: Vec<SyncSender<UeReport>>,
    /// The cell of the last report of each UE.
    cells: Vec<Option<u32>>,
    counts: ReportCounts,
}

impl ReportStream {
    /// Makes reports once a `period`; at least the time between two wake-ups for slots. Above 0.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        let due = Instant::ZERO + period;
        Self {
            period,
            due,
            names: Arc::default(),
            secondaries: Vec::new(),
            listeners: Vec::new(),
            cells: Vec::new(),
            counts: ReportCounts::default(),
        }
    }

    /// Names the cells in reports, by number, and the secondary cells of UEs, by the UE's number;
    /// see [`cell_names`](justfull_run::reported::cell_names) and
    /// [`secondaries`](justfull_run::reported::secondaries).
    #[must_use]
    pub fn of_cells(self, names: Vec<Arc<str>>, secondaries: Vec<Option<u32>>) -> Self {
        Self { names: names.into(), secondaries, ..self }
    }

    /// Adds a listener, which gets all reports from the start of the run on.
    pub fn listen(&mut self) -> Reports {
        let (to, out) = sync_channel(RING);
        self.listeners.push(to);
        Reports { out, names: Arc::clone(&self.names) }
    }

    /// True if reports are due at `now`, after its slots; the next ones follow a period later.
    #[inline]
    pub(crate) fn are_due(&mut self, now: Instant) -> bool {
        let due = self.due <= now;
        while self.due <= now {
            self.due += self.period;
        }
        due
    }

    /// Passes on a report of a cell about a UE.
    pub(crate) fn send(&mut self, At { ue, cell }: At, ran: &RanReport) {
        let Self { listeners, secondaries, cells, counts, .. } = self;
        counts.made += 1;
        counts.ues = counts.ues.max(ue + 1);
        let secondary = secondaries.get(ue as usize).is_some_and(|own| *own == Some(cell));
        if !secondary {
            cells.resize(cells.len().max(ue as usize + 1), None);
            let before = cells[ue as usize].replace(cell);
            counts.moves += u64::from(before.is_some_and(|before| before != cell));
        }
        for listener in &*listeners {
            // A listener that has gone gets nothing.
            let report = UeReport { ue, cell, secondary, ran: *ran };
            counts.lost += u64::from(listener.try_send(report).is_err());
        }
    }

    pub(crate) const fn counts(&self) -> ReportCounts {
        self.counts
    }
}

/// A listener's end.
#[derive(Debug)]
pub struct Reports {
    out: Receiver<UeReport>,
    names: Arc<[Arc<str>]>,
}

impl Reports {
    /// The next report; waits for it up to `patience`. None if there was none by then.
    ///
    /// # Errors
    /// [`Ended`] when the run is over and no more will come.
    pub fn next(&self, patience: std::time::Duration) -> Result<Option<UeReport>, Ended> {
        match self.out.recv_timeout(patience) {
            Ok(report) => Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Ended),
        }
    }

    /// The names of the cells in reports, by number; none with one cell.
    #[must_use]
    pub fn cells(&self) -> &[Arc<str>] {
        &self.names
    }

    /// Writes each report to `to` as a line of JSON, in the form that `justfull proxy` reads, until
    /// the run is over. `addresses` returns the addresses of a UE. Each line is one write: a pipe
    /// accepts the whole line or, if it is full and `to` does not block, nothing. Returns the
    /// number of lines that it did not accept.
    ///
    /// # Errors
    /// Any other error of `to`.
    pub fn write_lines(
        &self,
        mut to: impl Write,
        addresses: impl Fn(u32) -> Vec<IpAddr>,
    ) -> io::Result<u64> {
        let (mut text, mut refused) = (String::new(), 0);
        while let Ok(report) = self.out.recv() {
            text.clear();
            let cell = self.names.get(report.cell as usize).map(|name| &**name);
            line(&mut text, &addresses(report.ue), cell, &report);
            match to.write_all(text.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => refused += 1,
                written => written?,
            }
        }
        Ok(refused)
    }
}

/// Opens the output of reports: an existing named pipe, or a new file. A pipe is opened for reading
/// too, so that it exists before its reader and stays after it; writing to it never blocks.
///
/// # Errors
/// It cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    if path.metadata().is_ok_and(|file| file.file_type().is_fifo()) {
        return options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path);
    }
    options.write(true).create(true).truncate(true).open(path)
}

/// The run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended;

/// One report as a line, of the cell `name` if it has one; docs/guide/rapid-in-service.md explains
/// its keys.
fn line(out: &mut String, addresses: &[IpAddr], name: Option<&str>, report: &UeReport) {
    let UeReport { secondary, ran, .. } = report;
    let us = |ns: u64| ns / 1_000;
    let names: Vec<String> = addresses.iter().map(|address| format!("\"{address}\"")).collect();
    let cell = match ran.kind {
        CellKind::Bytes => "\"bytes\"".to_owned(),
        CellKind::Lte { mcs_table, layers } => {
            format!("\"lte\",\"mcs_table\":{mcs_table},\"layers\":{layers}")
        }
        CellKind::Nr { mcs_table, layers, symbols, dmrs_res } => format!(
            "\"nr\",\"mcs_table\":{mcs_table},\"layers\":{layers},\"symbols\":{symbols},\
             \"dmrs_res\":{dmrs_res}"
        ),
    };
    let id = name.map(|name| format!("\"cell_id\":\"{name}\",")).unwrap_or_default();
    let leg = if *secondary { "\"secondary\":true," } else { "" };
    let mcs = ran.mcs.map(|mcs| format!(",\"mcs\":{mcs}")).unwrap_or_default();
    // Writing to a string does not fail.
    let _ok = writeln!(
        out,
        "{{\"ue\":[{}],\"at_us\":{},{id}{leg}\"cell\":{cell},\"slot_us\":{},\"slots\":{},\
         \"offered\":{},\"used\":{},\"active_ues\":{},\"blocks\":{},\"repeats\":{},\"bytes\":{}{mcs},\
         \"backlog\":{}}}",
        names.join(","),
        us(ran.at.as_nanos()),
        // A mean, for example over the downlink slots of a TDD pattern.
        us(ran.slot.as_nanos().saturating_add(500)),
        ran.slots,
        ran.offered,
        ran.used,
        ran.active_ues,
        ran.blocks,
        ran.repeats,
        ran.bytes,
        ran.backlog,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ran: RanReport) -> UeReport {
        UeReport { ue: 0, cell: 0, secondary: false, ran }
    }

    fn report() -> RanReport {
        RanReport {
            at: Instant::from_nanos(5_000_999),
            kind: CellKind::Lte { mcs_table: 1, layers: 2 },
            slot: Duration::from_millis(1),
            slots: 10,
            offered: 250,
            used: 180,
            active_ues: 2,
            blocks: 90,
            repeats: 4,
            bytes: 70_000,
            mcs: Some(20),
            backlog: 1_500,
        }
    }

    #[test]
    fn a_report_is_a_line_of_json() {
        let addresses = ["10.45.0.1", "fd45::1"].map(|a| a.parse().expect("an address"));
        let mut text = String::new();
        line(&mut text, &addresses, None, &of(report()));
        let wanted = concat!(
            r#"{"ue":["10.45.0.1","fd45::1"],"at_us":5000,"cell":"lte","mcs_table":1,"layers":2,"#,
            r#""slot_us":1000,"slots":10,"offered":250,"used":180,"active_ues":2,"blocks":90,"#,
            r#""repeats":4,"bytes":70000,"mcs":20,"backlog":1500}"#,
            "\n"
        );
        assert_eq!(text, wanted);
        text.clear();
        let tdd = RanReport { slot: Duration::from_nanos(714_286 * 2), ..report() };
        line(&mut text, &addresses, None, &of(tdd));
        assert!(text.contains("\"slot_us\":1429,"), "rounded: {text}");
        text.clear();
        let bytes = RanReport { kind: CellKind::Bytes, mcs: None, ..report() };
        line(&mut text, &addresses[..1], None, &of(bytes));
        assert!(text.starts_with(r#"{"ue":["10.45.0.1"],"at_us":5000,"cell":"bytes","slot_us""#));
        assert!(!text.contains("mcs"), "it is not known");
        text.clear();
        line(&mut text, &addresses[..1], Some("west"), &of(bytes));
        let named = r#"{"ue":["10.45.0.1"],"at_us":5000,"cell_id":"west","cell":"bytes","slot_us""#;
        assert!(text.starts_with(named), "{text}");
        text.clear();
        let leg = UeReport { secondary: true, ..of(bytes) };
        line(&mut text, &addresses[..1], Some("west"), &leg);
        assert!(text.contains(r#""cell_id":"west","secondary":true,"cell":"bytes""#), "{text}");
    }

    #[test]
    fn each_line_names_the_cell_of_its_report_and_each_move_counts_once() {
        let mut stream = ReportStream::new(PERIOD)
            .of_cells(vec!["west".into(), "east".into()], vec![Some(1), None]);
        let reports = stream.listen();
        // UE 2 is never in a report; UE 1 moves twice; UE 0 has a leg in each cell.
        for (ue, cell) in [(0, 0), (1, 0), (3, 1), (0, 1), (0, 0), (1, 1), (3, 1), (1, 0)] {
            stream.send(At { ue, cell }, &report());
        }
        let counts = stream.counts();
        assert_eq!((counts.ues, counts.made, counts.lost, counts.moves), (4, 8, 0, 2));
        drop(stream);
        let mut text = Vec::new();
        assert_eq!(reports.write_lines(&mut text, |_| Vec::new()).expect("memory"), 0);
        let text = String::from_utf8(text).expect("text");
        let cell = |line: &str| Some(line.split_once("\"cell_id\":\"")?.1[..4].to_owned());
        let cells: Vec<_> = text.lines().filter_map(cell).collect();
        assert_eq!(cells, ["west", "west", "east", "east", "west", "east", "east", "west"]);
        let secondary: Vec<bool> =
            text.lines().map(|line| line.contains(",\"secondary\":true,")).collect();
        assert_eq!(secondary.iter().filter(|leg| **leg).count(), 1);
        assert!(secondary[3], "of UE 0 in its secondary cell");
    }

    #[test]
    fn a_listener_that_takes_nothing_costs_reports_and_no_time() {
        let mut stream = ReportStream::new(PERIOD);
        let reports = stream.listen();
        let report = of(report());
        for _ in 0..RING {
            assert!(stream.listeners[0].try_send(report).is_ok());
        }
        assert!(stream.listeners[0].try_send(report).is_err(), "full");
        drop(stream);
        let patience = std::time::Duration::ZERO;
        let received = std::iter::from_fn(|| reports.next(patience).ok().flatten()).count();
        assert_eq!((received, reports.next(patience)), (RING, Err(Ended)));
    }
}
