//! The printed answer of `recommend`.

use crate::failure::Failure;
use crate::name::VERSION;
use crate::terminal::{print, print_exact};
use justfull_base::Duration;
use justfull_lab::model::Group;
use justfull_lab::recommend::{
    Agreement, Choice, agreement, choices, for_low_latency, over_all, recommended,
};
use justfull_report::export::choices::Answer;
use justfull_report::table;
use justfull_run::results::RunResult;

/// Numbers of seeds.
#[derive(Clone, Copy)]
pub(super) struct Seeds {
    /// Seeds that choose the method.
    pub(super) choosing: usize,
    /// Seeds that measure how certain the choice is.
    pub(super) fresh: usize,
}

/// The runs at one point of the sweep, for each base round trip, and their answer.
pub(super) struct Answered<'a> {
    pub(super) round_trips: &'a [Option<Duration>],
    pub(super) groups: Vec<&'a Group>,
    pub(super) not_run: &'a [(String, String)],
    pub(super) seeds: Seeds,
}

impl Answered<'_> {
    /// Prints the answer. With several base round trips the answer over all comes first. Returns
    /// the choices of the first printed answer.
    pub(super) fn show(&self, notes: &[String], json: bool) -> Result<Vec<Choice>, Failure> {
        let mut seeds: Vec<u64> = self.groups[0].runs.iter().map(|run| run.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        let (choosing, fresh) = seeds.split_at(self.seeds.choosing.min(seeds.len()));
        let runs: Vec<&[RunResult]> = self.groups.iter().map(|group| &group.runs[..]).collect();
        let of_group = |group: &&Group| {
            let own = group.runs.iter().filter(|run| choosing.contains(&run.seed));
            choices(&own.cloned().collect::<Vec<_>>())
        };
        let by_rtt: Vec<Vec<Choice>> = self.groups.iter().map(of_group).collect();
        let all = over_all(&by_rtt, for_low_latency(&runs));
        let taken = recommended(if let [one] = &by_rtt[..] { one } else { &all });
        let sure = taken.filter(|_| self.seeds.fresh > 0);
        let sure = sure.map(|choice| agreement(&runs, fresh, &choice.method));
        let heading = self.groups[0].heading();
        let mut answers = Vec::new();
        if by_rtt.len() > 1 {
            answers.push((format!("{heading}; mean over base round trips"), None, &all));
        }
        for (choices, rtt) in by_rtt.iter().zip(self.round_trips) {
            let at = rtt.map_or_else(String::new, |rtt| format!("; base round trip {rtt}"));
            answers.push((format!("{heading}{at}"), *rtt, choices));
        }
        for (place, (heading, rtt, choices)) in answers.iter().enumerate() {
            let sure = sure.as_ref().filter(|_| place == 0);
            if json {
                print_exact(&self.json(heading, *rtt, choices, choosing, sure))?;
            } else {
                self.print(heading, choices, (place == 0).then_some(notes), sure)?;
            }
        }
        Ok(answers.swap_remove(0).2.clone())
    }

    fn json(
        &self,
        heading: &str,
        rtt: Option<Duration>,
        choices: &[Choice],
        seeds: &[u64],
        fresh: Option<&Agreement>,
    ) -> String {
        let answer = Answer {
            scenario: heading.to_owned(),
            base_rtt_ms: rtt.map(|rtt| rtt.as_secs_f64() * 1e3),
            choices: choices.to_vec(),
            not_run: self.not_run,
            seeds: seeds.to_vec(),
            fresh: fresh.cloned(),
            settings: &self.groups[0].settings,
            version: VERSION,
        };
        answer.json()
    }

    /// Prints a table; the first one has the notes of the scenario and those of all tables.
    fn print(
        &self,
        heading: &str,
        choices: &[Choice],
        first: Option<&[String]>,
        fresh: Option<&Agreement>,
    ) -> Result<(), Failure> {
        let style = table::Style::detect();
        let mut grid = table::choices(choices);
        grid.notes.extend(table::settings(self.groups[0]));
        let notes = first.unwrap_or_default().iter();
        let notes: String = notes.map(|n| format!("note: {}\n", table::printable(n))).collect();
        let sure = fresh.map_or_else(String::new, |found| {
            format!("\n{}", table::line(&table::agreement(found), style))
        });
        print(&format!(
            "{notes}\n{}\n{}{}\n{}",
            table::line(heading, style),
            table::terminal(&grid, style),
            sure,
            if first.is_some() { table::notes([&grid], style) } else { String::new() }
        ))
    }
}
