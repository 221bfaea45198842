//! The table of claims judged in groups of seeds.

use super::{Grid, Row, RowKind};
use justfull_lab::model::claims::Verdict;
use justfull_lab::model::grouped::{Grouped, GroupedRow};

/// The number of groups with each verdict, for each claim; the kind of a row is its most frequent
/// verdict.
#[must_use]
pub fn grouped(table: &Grouped) -> Grid {
    let header = ["place", "claim", "met", "explained", "missed", "not run", "met by"];
    let row = |claim: &GroupedRow| {
        let counts = Verdict::ALL.map(|verdict| claim.count(verdict));
        let most = Verdict::ALL.into_iter().rev().max_by_key(|verdict| claim.count(*verdict));
        let switches = claim.switches.iter().map(|(name, groups)| format!("{name} {groups}"));
        let names = [claim.place.clone(), claim.what.clone()].into_iter();
        let cells = names
            .chain(counts.iter().map(ToString::to_string))
            .chain([switches.collect::<Vec<_>>().join(", ")])
            .collect();
        Row::new(cells, RowKind::Claim(most.unwrap_or(Verdict::NotRun)))
    };
    Grid {
        dropped_first: Vec::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: table.rows.iter().map(row).collect(),
        numbers_from: header.len(),
        notes: vec![
            "met, explained, missed, not run: groups with this verdict. met by: switches with \
             which it is met where it is not without, and in how many groups."
                .into(),
        ],
    }
}
