//! The effect of a switch on a whole paper: the claims that it changes from missed to met, and from
//! met to missed.

use super::runs::Runs;
use super::{ClaimsFile, Options, Under};
use crate::model::SwitchRow;

/// The recorded or counted effects of the switches that claims name.
pub(super) struct Effects {
    rows: Vec<SwitchRow>,
    /// Claims not counted under a switch that one of their methods refuses: switch and claim.
    refused: Vec<(String, String)>,
}

impl Effects {
    /// The effects that `file` records.
    pub(super) fn recorded(file: &ClaimsFile) -> Self {
        let row = |name: &str| {
            let record = file.switch.get(name);
            SwitchRow {
                name: name.into(),
                recorded: record.map(|record| [record.mends, record.breaks]),
                mends: None,
                breaks: None,
                may_explain: record.is_none_or(|record| record.explains),
                why: record.map(|record| record.why.clone()).unwrap_or_default(),
            }
        };
        let rows = file.switches_named().into_iter().map(row).collect();
        Self { rows, refused: Vec::new() }
    }

    /// A method of `claim` refuses `switch`.
    pub(super) fn refuse(&mut self, switch: &str, claim: &str) {
        self.refused.push((switch.into(), claim.into()));
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.rows.iter().map(|row| row.name.clone()).collect()
    }

    /// True if `switch` explains a claim that is met with it.
    pub(super) fn explains(&self, switch: &str) -> bool {
        self.rows.iter().any(|row| row.name == switch && row.explains())
    }

    /// Counts the effect of `switch`, whose runs exist.
    pub(super) fn count(
        &mut self,
        file: &ClaimsFile,
        runs: &Runs,
        switch: &str,
        options: &Options,
    ) {
        let (mut mends, mut breaks) = (Vec::new(), Vec::new());
        let refused = |claim: &str| {
            let mut of_switch = self.refused.iter().filter(|(name, _)| name == switch);
            of_switch.any(|(_, id)| id == claim)
        };
        for claim in file.claim.iter().filter(|claim| !refused(&claim.id)) {
            let meets = |switch: &str| {
                let under = Under { world: file.world_of(claim), switch };
                runs.find(file, claim, under, options).map(|found| found.meets)
            };
            match (meets(""), meets(switch)) {
                (Some(false), Some(true)) => mends.push(claim.id.clone()),
                (Some(true), Some(false)) => breaks.push(claim.id.clone()),
                _ => {}
            }
        }
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == switch) {
            (row.mends, row.breaks) = (Some(mends), Some(breaks));
        }
    }

    /// A sentence for each switch whose record is absent or differs from the count.
    pub(super) fn differences(&self) -> Vec<String> {
        let note = |row: &SwitchRow| match (row.counted(), row.recorded) {
            (Some(found), Some(recorded)) if found != recorded => Some(format!(
                "switch {}: recorded is +{} / -{}, found +{} / -{}",
                row.name, recorded[0], recorded[1], found[0], found[1]
            )),
            (Some(found), None) => Some(format!(
                "switch {}: nothing is recorded, found +{} / -{}",
                row.name, found[0], found[1]
            )),
            (None, None) => Some(format!(
                "switch {}: nothing is recorded, so it explains nothing; --switches counts it",
                row.name
            )),
            _ => None,
        };
        let count = |row: &SwitchRow| {
            let claims = self.refused.iter().filter(|(name, _)| *name == row.name).count();
            (claims > 0).then(|| {
                format!(
                    "switch {}: without {claims} claims, which have a method that refuses it",
                    row.name
                )
            })
        };
        self.rows.iter().flat_map(|row| [note(row), count(row)]).flatten().collect()
    }

    pub(super) fn rows(self) -> Vec<SwitchRow> {
        self.rows
    }
}
