//! The parts of its trace that a scenario's runs play, in words.

use super::file::{ChannelFile, TraceFile};
use super::trace_channel::{self, Run};
use super::trace_start::TraceStart;
use super::{Scenario, ScenarioError};
use justfull_base::Duration;
use justfull_ran::channel::AtEnd;

impl Scenario {
    /// The parts of the cell's trace that the runs play, in words. None if they begin at its start,
    /// or if no trace gives the cell's capacity.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn parts(&self) -> Result<Option<String>, ScenarioError> {
        const NAMED: usize = 10;
        let ChannelFile::Trace(file) = &self.base.channel else { return Ok(None) };
        if file.start == TraceStart::default() {
            return Ok(None);
        }
        let slot = self.base.mac.slot().period;
        let from_start = TraceFile { start: TraceStart::default(), ..file.clone() };
        let field = "channel.file";
        let run = Run { seed: 0, slot, unit: self.base.mac.unit(), length: Duration::ZERO };
        let rows = trace_channel::rows(&from_start, run, &self.traces, field, &self.locator)?;
        let (row, count) = (trace_channel::length(rows.row, slot), rows.amounts.len());
        let begin = |seed: u64| {
            let first = file.start.row(seed, count, row).unwrap_or(0);
            (row.times(first as u64), seed)
        };
        let seeds = self.seeds();
        let mut begins: Vec<String> = match file.start {
            TraceStart::At(_) => vec![in_words(begin(0).0)],
            TraceStart::Spread => seeds
                .iter()
                .take(NAMED)
                .map(|seed| begin(*seed))
                .map(|(time, seed)| format!("{} (seed {seed})", in_words(time)))
                .collect(),
        };
        if seeds.len() > NAMED && file.start == TraceStart::Spread {
            begins.push(format!("and {} more", seeds.len() - NAMED));
        }
        let parts = if begins.len() == 1 { "the part" } else { "parts" };
        let (played, whole) = (self.base.duration, row.times(count as u64));
        let (name, played_s, whole_s) = (&file.file, in_words(played), in_words(whole));
        let of = match file.at_end {
            AtEnd::Loop if played > whole => {
                format!("{played_s} of {name}, whose {whole_s} repeat")
            }
            _ => format!("{played_s} of the {whole_s} of {name}"),
        };
        Ok(Some(format!("{of}: {parts} beginning at {}", begins.join(", "))))
    }
}

/// A time in seconds with one decimal.
fn in_words(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round() / 10.0;
    format!("{tenths} s")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, starter};
    use justfull_ran::channel::ChannelConfig;
    use std::path::Path;

    /// A scenario with a trace whose row k, of one second, carries k packets in 10 ms.
    fn scenario(channel: &str, runs: u32) -> Result<Scenario, ScenarioError> {
        let folder = tempfile::tempdir().expect("a folder");
        let read = written(folder.path(), channel, runs, "20s")?;
        // The trace is read here.
        let jobs = read.jobs();
        assert!(jobs.iter().all(|job| read.world(job).is_ok()));
        let first: Vec<u64> = jobs.iter().map(|job| first_row(&read, job)).collect();
        let expected: Vec<u64> = match channel {
            text if text.contains("spread") => {
                read.seeds().iter().map(|seed| begins(*seed)).collect()
            }
            text if text.contains("start") => vec![30; jobs.len()],
            _ => vec![0; jobs.len()],
        };
        assert_eq!(first, expected);
        let said = read.parts()?;
        assert_eq!(said.is_some(), channel.contains("start"), "{said:?}");
        if channel.contains("spread") {
            let text = said.unwrap_or_default();
            let starts =
                "20 s of the 100 s of p.csv: parts beginning at 0 s (seed 1), 61 s (seed 2)";
            assert!(text.starts_with(starts), "{text}");
        }
        Ok(read)
    }

    /// The scenario in `folder`, of `duration`.
    fn written(
        folder: &Path,
        channel: &str,
        runs: u32,
        duration: &str,
    ) -> Result<Scenario, ScenarioError> {
        let rows: String = (0..100).map(|k| format!("{k}\n")).collect();
        std::fs::write(folder.join("p.csv"), format!("packets_per_10ms\n{rows}")).expect("a file");
        let text = format!(
            "title = \"t\"\nduration = \"{duration}\"\nruns = {runs}\nmethods = [\"Vanilla\"]\n[mac]\n\
             kind = \"packets\"\nslot = {{ period = \"10ms\" }}\n[channel]\nkind = \"trace\"\nfile = \
             \"p.csv\"\n{channel}\n[[flow]]\nname = \"f\"\ntcp = {{}}\n"
        );
        let file = folder.join("s.toml");
        Scenario::parse(&text, &file, None, Overrides::default())
    }

    #[test]
    fn a_trace_shorter_than_the_run_is_said_to_repeat() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = written(folder.path(), "start = \"spread\"", 2, "250s").expect("it is sound");
        let text = read.parts().expect("it was read").unwrap_or_default();
        let parts = "parts beginning at 0 s (seed 1), 61 s (seed 2)";
        assert_eq!(text, format!("250 s of p.csv, whose 100 s repeat: {parts}"));
    }

    fn begins(seed: u64) -> u64 {
        (100.0 * ((seed - 1) as f64 * 0.618_033_988_75).fract()) as u64
    }

    fn first_row(scenario: &Scenario, job: &crate::Job) -> u64 {
        match scenario.world(job).expect("it is sound").stack.channel {
            ChannelConfig::Rows(rows) => rows.amounts[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_seed_plays_another_part_and_a_time_skips_the_rows_before_it() {
        scenario("", 2).expect("it is sound");
        scenario("start = \"30s\"", 2).expect("it is sound");
        scenario("start = \"30s\"\nat_end = \"hold\"", 2).expect("it is sound");
        let spread = scenario("start = \"spread\"", 4).expect("it is sound");
        let text = spread.job_toml(&spread.jobs()[0]);
        assert!(text.expect("TOML").contains("start = \"spread\""));
    }

    #[test]
    fn a_start_behind_the_end_and_a_start_that_cannot_be_spread_are_refused() {
        for (channel, said) in [
            ("start = \"100s\"", "`channel.start`: found 100s, allowed is below 100s"),
            ("start = \"spread\"\nat_end = \"stop\"", "found spread, allowed is a time"),
            ("start = \"evenly\"", "\"spread\" or a time"),
        ] {
            let error = scenario(channel, 1).expect_err("refused").to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_new_scenario_with_a_trace_spreads_its_parts() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("p.csv"), "packets_per_10ms\n5\n7\n").expect("a file");
        let new = starter::Starter {
            cell: starter::Cell::Lte,
            ues: 1,
            traffic: vec![starter::Traffic::Download],
            methods: Vec::new(),
            runs: 3,
            trace: Some("p.csv".into()),
            columns: Vec::new(),
        };
        let text = new.text("my.toml");
        assert!(text.contains("start = \"spread\""), "{text}");
        let file = folder.path().join(Path::new("my.toml"));
        let read = Scenario::parse(&text, &file, None, Overrides::default()).expect("it is sound");
        let parts = read.parts().expect("it is read").expect("it says");
        assert!(parts.starts_with("30 s of "), "{parts}");
    }
}
