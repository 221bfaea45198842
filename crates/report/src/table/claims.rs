//! The table of claims, and the effect of its worlds and switches on the whole paper.

use super::{Grid, PLUS_MINUS, Row, RowKind, Style, digits_for, with_interval};
use justfull_lab::model::claims::{ClaimRow, ClaimTable, Expected, SwitchRow, Verdict, WorldRow};
use justfull_lab::model::{SwitchValue, WorldValue};
use justfull_lab::stats::Summary;

fn expected(value: &Expected) -> String {
    match value {
        Expected::Absent => "–".into(),
        Expected::Words(words) => words.clone(),
        Expected::Range(low, high) if low.total_cmp(high).is_eq() => format!("{low}"),
        Expected::Range(low, high) => format!("{low} to {high}"),
    }
}

/// The values at the points of a sweep, with the number of values behind each.
fn found(ours: &[Summary]) -> String {
    let Some(first) = ours.first() else { return "–".into() };
    let alike = ours.iter().all(|s| s.n == first.n);
    let text = |s: &Summary| {
        // A ratio of nothing to nothing.
        if s.mean.is_nan() {
            return "no value".into();
        }
        let value = with_interval(Some(*s), digits_for(s.mean));
        if alike { value } else { format!("{value} (n = {})", s.n) }
    };
    let text: Vec<String> = ours.iter().map(text).collect();
    let text = text.join("; ");
    if alike { format!("{text} (n = {})", first.n) } else { text }
}

/// A verdict in words, with a note if the seeds leave it undecided.
fn worded(verdict: Verdict, undecided: bool) -> String {
    let mark = if undecided { ", undecided" } else { "" };
    format!("{}{mark}", verdict.word())
}

/// Values and verdict in one world.
fn in_world(value: &WorldValue) -> String {
    match value.verdict {
        Verdict::NotRun => "–".into(),
        verdict => format!("{}: {}", found(&value.ours), worded(verdict, value.undecided)),
    }
}

fn with_switch(value: &SwitchValue) -> String {
    let mark = match (value.meets, value.explains) {
        (true, true) => " (met)",
        (true, false) => " (met, but explains nothing)",
        (false, _) => "",
    };
    format!("{}: {}{mark}", value.name, found(&value.ours))
}

/// The cells of `claim`, with a column for each world if there are several.
fn claim_cells(claim: &ClaimRow, worlds: bool) -> Vec<String> {
    let unit = if claim.unit.is_empty() { String::new() } else { format!(", {}", claim.unit) };
    let anchor = if worlds && claim.of_anchor { " (anchor's)" } else { "" };
    let changed = if claim.changed { " (changed)" } else { "" };
    let reason =
        if claim.reason.is_empty() { String::new() } else { format!(": {}", claim.reason) };
    let switches: Vec<String> = claim.switches.iter().map(with_switch).collect();
    let values =
        if worlds { claim.worlds.iter().map(in_world).collect() } else { vec![found(&claim.ours)] };
    let mut cells = vec![
        claim.place.clone(),
        format!("{}{unit}", claim.what),
        expected(&claim.paper),
        expected(&claim.anchor),
    ];
    cells.extend(values);
    cells.extend([
        format!("{}{anchor}{changed}", expected(&claim.band)),
        format!("{}{reason}", worded(claim.verdict, claim.undecided)),
        switches.join("; "),
    ]);
    cells
}

/// The table of claims, with a column for each world. The columns for anchors and switches are
/// omitted if no row has one.
#[must_use]
pub fn claims(table: &ClaimTable) -> Grid {
    let worlds = table.worlds.len() > 1;
    let ours: Vec<String> = match worlds {
        true => table.worlds.iter().map(|world| format!("ours, {}", world.name)).collect(),
        false => vec!["ours".into()],
    };
    let mut header: Vec<String> = ["place", "claim", "paper", "anchor"].map(str::to_owned).into();
    header.extend(ours);
    header.extend(["band", "verdict", "with switch"].map(str::to_owned));
    let anchors = table.rows.iter().any(|row| row.anchor != Expected::Absent);
    let switches = table.rows.iter().any(|row| !row.switches.is_empty());
    let last = header.len() - 1;
    let kept = |cells: Vec<String>| -> Vec<String> {
        let keep = |i: usize| (i != 3 || anchors) && (i != last || switches);
        cells.into_iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, cell)| cell).collect()
    };
    let row = |claim: &ClaimRow| {
        Row::new(kept(claim_cells(claim, worlds)), RowKind::Claim(claim.verdict))
    };
    let rows: Vec<Row> = table.rows.iter().map(row).collect();
    let header = kept(header);
    let mut notes = vec![
        format!("{PLUS_MINUS} Fewer than three values are listed instead."),
        "ours: one value for each point of the sweep. Of an order, a trend or a change it is a \
         difference, seed by seed, of which n counts the pairs."
            .into(),
        "undecided: a 95 % interval crosses an edge of the band, or a sign's 0, so that other \
         seeds may give another verdict."
            .into(),
    ];
    if let Some(period) = table.worlds.get(1).filter(|_| worlds) {
        notes.push(format!(
            "The verdict is that under {}, or under today's settings where the band is the \
             anchor's.",
            period.name
        ));
    }
    Grid { dropped_first: Vec::new(), numbers_from: header.len(), header, rows, notes }
}

/// The tally of the whole paper in each world; none if there is only one world.
#[must_use]
pub fn worlds(table: &ClaimTable) -> Option<Grid> {
    if table.worlds.len() < 2 {
        return None;
    }
    let header = ["world", "switches", "met", "missed", "undecided", "what it is"];
    let row = |world: &WorldRow| {
        let switches =
            if world.switches.is_empty() { "–".into() } else { world.switches.join(", ") };
        let counts = [world.met, world.missed, world.undecided].map(|count| count.to_string());
        let cells = [world.name.clone(), switches].into_iter().chain(counts);
        Row::new(cells.chain([world.why.clone()]).collect(), RowKind::Part)
    };
    Some(Grid {
        dropped_first: Vec::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: table.worlds.iter().map(row).collect(),
        numbers_from: header.len(),
        notes: vec![
            "worlds: each judges every claim that was run in it, with the same bands.".into(),
        ],
    })
}

/// The effect of each switch on the whole paper; none if claims name no switch.
#[must_use]
pub fn switches(table: &ClaimTable) -> Option<Grid> {
    let header = ["switch", "over the whole paper", "explains", "why"];
    let row = |switch: &SwitchRow| {
        let cells = [switch.name.clone(), counts(switch), explains(switch), switch.why.clone()];
        Row::new(cells.into(), RowKind::Part)
    };
    (!table.switches.is_empty()).then(|| Grid {
        dropped_first: Vec::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: table.switches.iter().map(row).collect(),
        numbers_from: header.len(),
        notes: vec![
            "switches: +n claims are met with the switch and missed without it, -m are missed \
             with it and met without. A claim is explained only by a switch that mends more than \
             it breaks. --switches counts; without it the numbers are those that the file of \
             claims records."
                .into(),
        ],
    })
}

fn counts(switch: &SwitchRow) -> String {
    let text = |[mends, breaks]: [usize; 2]| format!("+{mends} / -{breaks}");
    match (switch.counted(), switch.recorded) {
        (Some(found), Some(recorded)) if found != recorded => {
            format!("{} (recorded: {})", text(found), text(recorded))
        }
        (Some(found), _) => text(found),
        (None, Some(recorded)) => text(recorded),
        (None, None) => "not counted".into(),
    }
}

fn explains(switch: &SwitchRow) -> String {
    match switch.counted().or(switch.recorded) {
        _ if switch.explains() => "yes",
        _ if !switch.may_explain => "no: the paper cannot mean it",
        Some([mends, breaks]) if breaks > mends => "no: it breaks more than it mends",
        Some(_) => "no: it mends no more than it breaks",
        None => "no: it is not counted",
    }
    .into()
}

/// Columns of a terminal below which a table of claims loses columns.
const ALL_CLAIMS: u16 = 110;

/// The table of claims for a terminal of `style`. A narrow terminal omits the place in the paper,
/// the authors' own program and the switches; the report and Markdown have them.
#[must_use]
pub fn narrow(grid: &Grid, style: Style) -> Grid {
    if style.width.is_none_or(|width| width >= ALL_CLAIMS) {
        return grid.clone();
    }
    let keep = |i: usize| !["place", "anchor", "with switch"].contains(&grid.header[i].as_str());
    let kept = |cells: &[String]| -> Vec<String> {
        cells.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, cell)| cell.clone()).collect()
    };
    let header = kept(&grid.header);
    let rows = grid.rows.iter().map(|row| Row { cells: kept(&row.cells), ..row.clone() });
    Grid {
        dropped_first: Vec::new(),
        numbers_from: header.len(),
        rows: rows.collect(),
        header,
        notes: grid.notes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::terminal;
    use super::*;
    use justfull_lab::model::example;

    #[test]
    fn claims_say_their_verdict_in_words_and_mark_a_changed_band() {
        let table = example::claims();
        let text = terminal(&claims(&table), Style { colour: false, width: Some(400) });
        for verdict in Verdict::ALL {
            assert!(text.contains(verdict.word()), "{text}");
        }
        assert!(text.contains("(changed)") && text.contains("no trace"), "{text}");
        assert!(
            text.contains("ours, Linux 4.15") && text.contains("explained, undecided"),
            "{text}"
        );
        assert!(text.contains("(anchor's)"), "{text}");
        assert_eq!(
            table.tally(),
            "4 claims: 1 met, 1 explained, 1 missed, 1 not run; 1 undecided: bbr:-mean-delay"
        );
    }

    #[test]
    fn one_world_has_one_column_and_no_table_of_worlds() {
        let mut table = example::claims();
        assert_eq!(worlds(&table).map(|grid| grid.rows.len()), Some(2));
        table.worlds.truncate(1);
        assert!(worlds(&table).is_none());
        assert!(claims(&table).header.contains(&"ours".to_owned()));
    }

    #[test]
    fn a_switch_says_what_it_mends_and_breaks_and_whether_it_explains() {
        let row = |recorded, counted: Option<[usize; 2]>, may_explain| {
            let ids = |count| vec![String::from("a"); count];
            let switch = SwitchRow {
                recorded,
                mends: counted.map(|[mends, _]| ids(mends)),
                breaks: counted.map(|[_, breaks]| ids(breaks)),
                may_explain,
                ..SwitchRow::default()
            };
            (counts(&switch), explains(&switch))
        };
        let cells = |counts: &str, explains: &str| (counts.to_owned(), explains.to_owned());
        assert_eq!(row(Some([3, 1]), None, true), cells("+3 / -1", "yes"));
        assert_eq!(
            row(Some([3, 1]), Some([1, 2]), true),
            cells("+1 / -2 (recorded: +3 / -1)", "no: it breaks more than it mends")
        );
        assert_eq!(
            row(Some([3, 1]), None, false),
            cells("+3 / -1", "no: the paper cannot mean it")
        );
        assert_eq!(row(Some([1, 1]), None, true).1, "no: it mends no more than it breaks");
        assert_eq!(row(None, None, true), cells("not counted", "no: it is not counted"));
    }

    #[test]
    fn values_of_a_sweep_say_how_many_runs_are_behind_them() {
        assert_eq!(found(&[]), "–");
        let of = |values: &[f64]| Summary::of(values).expect("values");
        assert_eq!(found(&[of(&[7.0]), of(&[8.0])]), "7.00; 8.00 (n = 1)");
        assert_eq!(found(&[of(&[2.0, 2.0, 2.0]), of(&[8.0])]), "2.00 ± 0.00 (n = 3); 8.00 (n = 1)");
        assert_eq!(found(&[of(&[0.5, f64::NAN, 0.7])]), "no value (n = 3)");
    }
}
