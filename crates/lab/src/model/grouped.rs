//! A paper's claims judged again in groups of seeds: the frequency of each verdict.

use super::claims::{ClaimTable, Verdict};
use crate::stats::mean;

/// The verdicts of one paper's claims, group by group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouped {
    /// Short name of the paper, e.g. `A21`.
    pub paper: String,
    /// Notes on the runs.
    pub notes: Vec<String>,
    /// One row for each claim.
    pub rows: Vec<GroupedRow>,
    /// Groups judged.
    pub groups: usize,
    /// Runs that broke an invariant.
    pub broken: Vec<String>,
}

/// One claim.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedRow {
    /// Key in the file of claims.
    pub id: String,
    /// Place in the paper, e.g. `Fig. 7`.
    pub place: String,
    /// The claim in words.
    pub what: String,
    /// Its verdict in each group, in the order of the groups.
    pub verdicts: Vec<Verdict>,
    /// By switch name, the number of groups in which a missed claim is met with the switch.
    pub switches: Vec<(String, usize)>,
}

impl GroupedRow {
    /// Number of groups with `verdict`.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.verdicts.iter().filter(|found| **found == verdict).count()
    }
}

impl Grouped {
    /// Adds the group that `table` judges.
    pub fn add(&mut self, table: &ClaimTable) {
        if self.rows.is_empty() {
            let row = |row: &super::ClaimRow| GroupedRow {
                id: row.id.clone(),
                place: row.place.clone(),
                what: row.what.clone(),
                verdicts: Vec::new(),
                switches: Vec::new(),
            };
            self.rows = table.rows.iter().map(row).collect();
            (self.paper, self.notes) = (table.paper.clone(), table.notes.clone());
        }
        for (row, found) in self.rows.iter_mut().zip(&table.rows) {
            row.verdicts.push(found.verdict);
            for switch in found.switches.iter().filter(|switch| switch.meets && switch.explains) {
                match row.switches.iter_mut().find(|(name, _)| *name == switch.name) {
                    Some((_, count)) => *count += 1,
                    None => row.switches.push((switch.name.clone(), 1)),
                }
            }
        }
        self.groups += 1;
    }

    /// Claims with one of `verdicts` in each group.
    #[must_use]
    pub fn counts(&self, verdicts: &[Verdict]) -> Vec<f64> {
        let of = |group: usize| {
            self.rows.iter().filter(|row| verdicts.contains(&row.verdicts[group])).count() as f64
        };
        (0..self.groups).map(of).collect()
    }

    /// The outcome in one line: the mean number of claims with each verdict over the groups, and
    /// the range of the number of claims met or explained.
    #[must_use]
    pub fn tally(&self) -> String {
        let in_mean = |verdicts: &[Verdict]| mean(&self.counts(verdicts)).unwrap_or_default();
        let parts = Verdict::ALL.map(|v| format!("{:.1} {}", in_mean(&[v]), v.word()));
        let held = [Verdict::Met, Verdict::Explained];
        let counts = self.counts(&held);
        let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
        let most = counts.iter().copied().fold(0.0, f64::max);
        format!(
            "{} claims in the mean of {} groups: {}; met or explained {:.1} ({least} to {most})",
            self.rows.len(),
            self.groups,
            parts.join(", "),
            in_mean(&held)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ClaimRow, Expected, SwitchValue};

    fn table(verdicts: &[Verdict]) -> ClaimTable {
        let row = |verdict: &Verdict| ClaimRow {
            id: "a".into(),
            place: "Fig. 1".into(),
            what: "it holds".into(),
            unit: String::new(),
            paper: Expected::Absent,
            anchor: Expected::Absent,
            ours: Vec::new(),
            band: Expected::Absent,
            changed: false,
            of_anchor: false,
            verdict: *verdict,
            undecided: false,
            worlds: Vec::new(),
            reason: String::new(),
            switches: vec![SwitchValue {
                name: "other".into(),
                ours: Vec::new(),
                meets: *verdict == Verdict::Explained,
                undecided: false,
                explains: true,
            }],
        };
        ClaimTable { rows: verdicts.iter().map(row).collect(), ..ClaimTable::default() }
    }

    #[test]
    fn verdicts_are_counted_in_the_mean_of_the_groups() {
        let mut grouped = Grouped::default();
        grouped.add(&table(&[Verdict::Met, Verdict::Missed]));
        grouped.add(&table(&[Verdict::Met, Verdict::Explained]));
        assert_eq!(
            grouped.tally(),
            "2 claims in the mean of 2 groups: 1.0 met, 0.5 explained, 0.5 missed, 0.0 not run; \
             met or explained 1.5 (1 to 2)"
        );
        assert_eq!(grouped.rows[0].count(Verdict::Met), 2);
        assert_eq!(grouped.rows[1].switches, [("other".to_owned(), 1)]);
    }
}
