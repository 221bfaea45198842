//! Makes the table of a file of claims: selects the runs, orders them and judges the claims.

use super::evaluate;
use super::runs::{Case, Runs, Wanted};
use super::switched::Effects;
use super::{Claim, ClaimsError, ClaimsFile, Means, Options, Status, Under, notes, select};
use crate::model::{ClaimTable, Comparison, Grouped};
use std::collections::BTreeMap;

/// The claims of a paper, run and judged.
#[derive(Clone, Debug)]
pub struct Reproduced {
    /// The runs under today's settings.
    pub comparison: Comparison,
    /// The verdicts.
    pub table: ClaimTable,
    /// Keys of claims whose verdict is worse than the recorded one, except claims that the seeds
    /// leave undecided if the file permits this.
    pub worse: Vec<String>,
}

/// The functions that make the runs and announce them.
struct Maker<'a> {
    file: &'a ClaimsFile,
    options: &'a Options,
    means: Means<'a>,
    runs: Runs,
}

/// The cases and the wanted part of each.
type Cases = BTreeMap<Case, Wanted>;

/// Runs the claims of `file` by `means` and judges them. The comparison holds the runs of each case
/// without a switch.
///
/// # Errors
/// Unknown names, a wrong scenario, a failed run, or an interruption.
pub fn reproduce(
    file: &ClaimsFile,
    options: &Options,
    means: Means<'_>,
    announce: &mut dyn FnMut(u64, usize),
) -> Result<Reproduced, ClaimsError> {
    let claims = select(file, options.figure.as_deref())?;
    let claims: Vec<&Claim> = claims.into_iter().filter(|c| file.judges(c, options)).collect();
    if claims.is_empty() {
        let found = options.figure.as_deref().unwrap_or("none");
        return Err(ClaimsError::Unknown(format!(
            "--figure: found {found} with --short, allowed is a figure of {}",
            file.scenarios_short.join(", ")
        )));
    }
    let mut maker = Maker { file, options, means, runs: Runs::default() };
    maker.run_worlds(&claims, announce)?;
    let mut effects = Effects::recorded(file);
    maker.run_switches(&claims, &effects, announce)?;
    if options.switches {
        for switch in effects.names() {
            maker.count(&switch, &mut effects, announce)?;
        }
    }
    let runs = &maker.runs;
    let rows: Vec<_> =
        claims.iter().map(|claim| runs.judge(file, claim, &effects, options)).collect();
    let (mut worse, mut excused) = (Vec::new(), Vec::new());
    for (claim, row) in claims.iter().zip(&rows) {
        match evaluate::against_record(claim, row) {
            evaluate::Against::AsRecorded => {}
            evaluate::Against::Worse => worse.push(claim.id.clone()),
            evaluate::Against::Undecided => excused.push(claim.id.clone()),
        }
    }
    let mut notes = notes(file, options);
    if !excused.is_empty() {
        notes.push(format!(
            "worse than recorded, but undecided as the file records: {}",
            excused.join(", ")
        ));
    }
    notes.extend(effects.differences());
    let worlds = 0..file.worlds_shown(options);
    let table = ClaimTable {
        paper: file.paper.clone(),
        notes,
        worlds: worlds.map(|world| file.world_row(world, &rows)).collect(),
        rows,
        switches: effects.rows(),
        shown: runs.shown(file, &file.shown_with(options), options),
    };
    let comparison = runs.comparison(file, options)?;
    Ok(Reproduced { comparison, table, worse })
}

impl Maker<'_> {
    /// Runs `claims` without switches in each world.
    fn run_worlds(
        &mut self,
        claims: &[&Claim],
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<(), ClaimsError> {
        let (file, options) = (self.file, self.options);
        let mut first = Cases::new();
        for claim in claims {
            for world in file.worlds_for(claim, options) {
                self.add(&mut first, claim, Under { world, switch: "" });
            }
        }
        if options.figure.is_none() && !file.is_part(options) && !options.judged_alone {
            // The whole reproduction shows every method of each scenario, with or without a claim.
            first
                .iter_mut()
                .filter(|(case, _)| case.on.is_empty())
                .for_each(|(_, wanted)| wanted.add_all(Vec::new()));
        }
        let shown = file.shown_with(options);
        for (case, point) in shown.iter().flat_map(|cases| cases.cases()) {
            first.entry(case).or_default().add_all(vec![point]);
        }
        self.runs.make(file, first, options, self.means, announce)
    }

    /// Runs the switches of the missed ones among `claims`.
    fn run_switches(
        &mut self,
        claims: &[&Claim],
        effects: &Effects,
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<(), ClaimsError> {
        let (file, options) = (self.file, self.options);
        let part = file.is_part(options);
        let settled = |c: &Claim| part && c.status == Status::Missed;
        let unmet = |c: &&Claim| !settled(c) && self.runs.needs_switches(file, c, options);
        let unmet: Vec<&Claim> = claims.iter().copied().filter(unmet).collect();
        if !part {
            let mut cases = Cases::new();
            for claim in unmet {
                for switch in &claim.switches {
                    self.add(&mut cases, claim, Under { world: file.world_of(claim), switch });
                }
            }
            return self.runs.make(file, cases, options, self.means, announce);
        }
        // One explanation suffices, so each claim's switches are tried one after the other.
        let tried = |claim: &Claim| -> Vec<String> {
            claim.switches.iter().filter(|name| effects.explains(name)).cloned().collect()
        };
        let most = unmet.iter().map(|claim| tried(claim).len()).max().unwrap_or(0);
        for i in 0..most {
            let mut cases = Cases::new();
            for claim in &unmet {
                let explained = self.runs.is_explained(file, claim, effects, options);
                if let Some(switch) = tried(claim).get(i).filter(|_| !explained) {
                    self.add(&mut cases, claim, Under { world: file.world_of(claim), switch });
                }
            }
            self.runs.make(file, cases, options, self.means, announce)?;
        }
        Ok(())
    }

    /// Runs the whole paper with `switch` on and counts the changed verdicts.
    fn count(
        &mut self,
        switch: &str,
        effects: &mut Effects,
        announce: &mut dyn FnMut(u64, usize),
    ) -> Result<(), ClaimsError> {
        let (file, options) = (self.file, self.options);
        let mut cases = Cases::new();
        for claim in &file.claim {
            let under = Under { world: file.world_of(claim), switch };
            // A method may refuse a switch, as one that waits for polls does where there are none.
            let runs = |(case, method): &(Case, String)| self.is_run(case, method);
            if claim.needs(file, under).iter().all(runs) {
                self.add(&mut cases, claim, under);
            } else {
                effects.refuse(switch, &claim.id);
            }
        }
        let new: Vec<Case> =
            cases.keys().filter(|case| !self.runs.by_case.contains_key(case)).cloned().collect();
        self.runs.make(file, cases, options, self.means, announce)?;
        effects.count(file, &self.runs, switch, options);
        // The runs of all switches together would take gigabytes.
        for case in new {
            self.runs.by_case.remove(&case);
        }
        Ok(())
    }

    /// True if `method` can run in `case`, or could with the trace that it needs.
    fn is_run(&self, case: &Case, method: &str) -> bool {
        let found = self.file.scenario(case, &[method.into()], self.options);
        found.map_or_else(|error| error.needs_data, |_| true)
    }

    /// Adds the runs for `claim` to `cases`.
    fn add(&self, cases: &mut Cases, claim: &Claim, under: Under<'_>) {
        for (case, method) in claim.needs(self.file, under) {
            let points = self.file.points(&claim.scenario, self.options.short);
            let points = claim.intervals.clone().unwrap_or(points);
            cases.entry(case).or_default().add(method, points);
        }
    }
}

impl Claim {
    /// Cases and methods whose runs the claim needs.
    fn needs(&self, file: &ClaimsFile, under: Under<'_>) -> Vec<(Case, String)> {
        let own = self.under.as_deref().unwrap_or_default();
        let case = |scenario: &str, own: &str| file.case(scenario, &self.trace, own, under);
        let methods = self.order.iter().chain([&self.method]).filter(|name| !name.is_empty());
        let mut needs: Vec<(Case, String)> =
            methods.map(|method| (case(&self.scenario, own), method.clone())).collect();
        if !self.base.is_empty() {
            let scenario = self.base_scenario.as_deref().unwrap_or(&self.scenario);
            let own = self.base_under.as_deref().unwrap_or(own);
            needs.push((case(scenario, own), self.base.clone()));
        }
        needs
    }
}

/// Judges the claims of `file` once in each of `groups` groups of consecutive seeds from `first`
/// on.
///
/// # Errors
/// The errors of [`reproduce`].
pub fn reproduce_groups(
    file: &ClaimsFile,
    options: &Options,
    first: u64,
    groups: u32,
    means: Means<'_>,
    announce: &mut dyn FnMut(u64, usize),
) -> Result<Grouped, ClaimsError> {
    let mut grouped = Grouped::default();
    for group in 0..groups {
        let seed = first + u64::from(group) * u64::from(file.runs(options));
        let options = Options { seed: Some(seed), judged_alone: true, ..options.clone() };
        let found = reproduce(file, &options, means, announce)?;
        grouped.add(&found.table);
        grouped.broken.extend(found.comparison.broken);
    }
    Ok(grouped)
}
