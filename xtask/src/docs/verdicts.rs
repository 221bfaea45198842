//! `cargo xtask docs verdicts`: sentences about the verdicts on claims, from the committed tables
//! of `docs/reproduction`. Nothing is run. This command makes the sentence at the top of a paper's
//! page, the table of `docs/claims.md` and the bars of `docs/method-evidence.md`. It refuses counts
//! in other places, so that no two places differ.

use std::collections::BTreeMap;
use std::path::Path;

use super::Mode;
use super::page::{filled_in, read, settle};
use crate::{Failure, Outcome};

/// A paper, its name in the README, its title, and the file of its claims.
struct Paper {
    /// Of its page, `NAME.md`, and its table, `NAME-table.md`.
    name: &'static str,
    told: &'static str,
    title: &'static str,
    claims: &'static str,
}

const PAPERS: [Paper; 6] = [
    Paper {
        name: "T20",
        told: "T20",
        title: "*Dynamic Buffer Sizing and Pacing as Enablers of 5G Low-Latency Services*",
        claims: "claims/T20.toml",
    },
    Paper {
        name: "E19",
        told: "E19",
        title: "*Active Queue Management as Quality of Service Enabler for 5G Networks*",
        claims: "claims/E19.toml",
    },
    Paper {
        name: "A21",
        told: "A21",
        title: "*Preventing RLC Buffer Sojourn Delays in 5G*",
        claims: "claims/A21.toml",
    },
    Paper { name: "R22", told: "R22", title: "*RAPID*, simulated", claims: "claims/R22.toml" },
    Paper {
        name: "R22-live",
        told: "R22",
        title: "*RAPID*, over the kernel's TCP",
        claims: "claims/R22-live.toml",
    },
    Paper {
        name: "P06",
        told: "P06",
        title: "*Comparison of Different Active Queue Management Mechanisms for 3G Radio Network \
                Controllers*",
        claims: "claims/P06.toml",
    },
];

/// The tables of this project's own bars: on which channels, and the name; the last is held out.
const BARS: [(&str, &str); 4] = [
    ("seen", "Justfull"),
    ("seen until `dip`", "Justfull-fresh"),
    ("seen until the radio's clock", "Justfull-held-out"),
    ("held out", "Justfull-unseen"),
];

const README: &str = "README.md";
const PAPERS_PAGE: &str = "docs/claims.md";
const WHICH_METHOD: &str = "docs/method-evidence.md";
const CHANGELOG: &str = "CHANGELOG.md";

/// The counts of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Outcomes {
    seeds: usize,
    claims: usize,
    met: usize,
    explained: usize,
    missed: usize,
    not_run: usize,
    /// Undecided verdicts; none in a table without this column.
    undecided: Option<usize>,
    /// Name of the TCP of the paper's time, where the table has one.
    period: Option<String>,
    /// Claims that are met in each world by its name, where there are several.
    worlds: Vec<(String, usize)>,
}

/// Makes what pages say of verdicts, or compares.
pub(super) fn run_with(root: &Path, mode: Mode) -> Outcome {
    let mut pages: BTreeMap<String, String> = BTreeMap::new();
    let mut fill = |page: &str, name: &str, text: &str| -> Outcome {
        let old = pages.remove(page).map_or_else(|| read(&root.join(page)), Ok)?;
        pages.insert(page.to_owned(), filled_in(page, &old, name, text)?);
        Ok(())
    };
    // A stale table of one paper keeps no other's page from being made.
    let mut wrong: Vec<String> = Vec::new();
    let mut rows = String::from(
        "| paper | claims | met | explained | missed | undecided | seeds |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for paper in &PAPERS {
        let found = outcomes(root, paper.name)?;
        let of_file = of_file(paper.claims, &read(&root.join(paper.claims))?)?;
        let page = format!("docs/reproduction/{}.md", paper.name);
        match sentence(paper.name, &found, &of_file) {
            Ok(text) => fill(&page, &format!("verdict {}", paper.name), &format!("{text}\n"))?,
            Err(stale) => wrong.push(stale),
        }
        rows += &row_of_paper(paper, &found);
    }
    fill(PAPERS_PAGE, "claims", &rows)?;
    let bars: Vec<Outcomes> =
        BARS.iter().map(|(_, name)| outcomes(root, name)).collect::<Outcome<_>>()?;
    fill(PAPERS_PAGE, "own bars", &own_bars(&bars))?;
    fill(WHICH_METHOD, "own bars", &bars_table(&bars))?;
    for page in [README, PAPERS_PAGE, CHANGELOG] {
        let text = pages.get(page).cloned().map_or_else(|| read(&root.join(page)), Ok)?;
        no_counts(page, &text, &|_| true)?;
    }
    for paper in &PAPERS {
        let (page, table) =
            (format!("docs/reproduction/{}.md", paper.name), format!("({}-table.md)", paper.name));
        no_counts(&page, pages.get(&page).map_or("", String::as_str), &|line| {
            line.contains(&table)
        })?;
    }
    pages.iter().try_for_each(|(page, text)| settle(&root.join(page), text, mode))?;
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(Failure::Check(wrong.join("\n  "))),
    }
}

fn outcomes(root: &Path, name: &str) -> Outcome<Outcomes> {
    let file = format!("docs/reproduction/{name}-table.md");
    of_table(&file, &read(&root.join(&file))?)
}

/// The counts of the table in `file`, which `justfull reproduce --markdown` has written.
fn of_table(file: &str, text: &str) -> Outcome<Outcomes> {
    let bad = |what: &str| Failure::Check(format!("{file}: {what}"));
    let mut found = Outcomes::default();
    for note in text.lines().filter_map(|line| line.strip_prefix("note: ")) {
        if note.starts_with("short: ") {
            return Err(bad("found the table of a short run, allowed is that of a whole one"));
        }
        if let Some(seeds) = note.strip_suffix(" seeds") {
            found.seeds = seeds.parse().unwrap_or(0);
        }
        if let Some((_, rest)) = note.split_once("claims of the paper are judged under ") {
            found.period = rest.split_once(" (").map(|(name, _)| name.to_owned());
        }
    }
    if found.seeds == 0 {
        return Err(bad("found no `note: N seeds`, allowed is a table of the file's own seeds"));
    }
    let tally = text.lines().find_map(|line| line.split_once(" claims: "));
    let (claims, rest) = tally.ok_or_else(|| bad("found no line `N claims: ...`"))?;
    found.claims = claims.parse().map_err(|_| bad("found no number of claims"))?;
    for part in rest.split([',', ';', ':']).map(str::trim) {
        let Some((count, word)) = part.split_once(' ') else { continue };
        let Ok(count) = count.parse() else { continue };
        match word {
            "met" => found.met = count,
            "explained" => found.explained = count,
            "missed" => found.missed = count,
            "not run" => found.not_run = count,
            "undecided" => found.undecided = Some(count),
            _ => {}
        }
    }
    if found.met + found.explained + found.missed + found.not_run != found.claims {
        return Err(bad("the verdicts do not add up to the number of claims"));
    }
    let worlds = text.lines().skip_while(|line| !line.starts_with("| world | ")).skip(2);
    for line in worlds.take_while(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        if let [name, _, met, ..] = cells.as_slice() {
            let met =
                met.parse().map_err(|_| bad("the table of worlds has no number of claims"))?;
            found.worlds.push((name.trim_start_matches("| ").to_owned(), met));
        }
    }
    Ok(found)
}

/// The content of a file of claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OfFile {
    claims: usize,
    seeds: usize,
    live: bool,
}

fn of_file(file: &str, text: &str) -> Outcome<OfFile> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
    let seeds = value("seeds").and_then(|seeds| seeds.parse().ok());
    let seeds = seeds.ok_or_else(|| Failure::Check(format!("{file}: found no `seeds = N`")))?;
    let claims = text.lines().filter(|line| *line == "[[claim]]").count();
    Ok(OfFile { claims, seeds, live: value("live") == Some("true") })
}

/// The counts of the table of the paper called `name` in a sentence, and its terms in further ones,
/// or why the table is not of its file.
fn sentence(name: &str, found: &Outcomes, of_file: &OfFile) -> Result<String, String> {
    let again = format!("run `justfull reproduce` for {name} whole and commit its table");
    if found.claims != of_file.claims {
        return Err(format!(
            "docs/reproduction/{name}-table.md: found {} claims, its file has {}; {again}",
            found.claims, of_file.claims
        ));
    }
    let (runs, whole) = match (of_file.live, found.seeds == of_file.seeds) {
        (false, true) => (format!("{} seeds", found.seeds), String::new()),
        (true, true) => (format!("{} live runs", found.seeds), String::new()),
        // A live run of all takes hours of real time.
        (true, false) => (
            format!("{} live runs", found.seeds),
            format!("; the command makes {} by default", of_file.seeds),
        ),
        (false, false) => {
            return Err(format!(
                "docs/reproduction/{name}-table.md: found {} seeds, its file has {}; {again}",
                found.seeds, of_file.seeds
            ));
        }
    };
    let not_run = match found.not_run {
        0 => String::new(),
        count => format!(", {count} not run"),
    };
    let judged = found.period.as_ref().map(|period| {
        format!(
            "Claims of the paper are judged under {period}, the TCP of its time, and claims of \
             the authors' program under today's settings."
        )
    });
    let worlds: Vec<String> =
        found.worlds.iter().map(|(world, met)| format!("{met} under *{world}*")).collect();
    let worlds = (!worlds.is_empty())
        .then(|| format!("With one setting for all claims {} are met.", worlds.join(" and ")));
    let undecided = match found.undecided {
        None => None,
        Some(0) => Some("The seeds decide all of these verdicts.".into()),
        Some(1) => Some(
            "One verdict is undecided: a 95 % interval crosses an edge of its band.".to_owned(),
        ),
        Some(count) => Some(format!(
            "{count} verdicts are undecided: a 95 % interval crosses an edge of their band."
        )),
    };
    let counts = format!(
        "**Of {} claims {} are met, {} explained by a switch and {} missed{not_run} \
         ({runs}{whole}; [table]({name}-table.md)).**",
        found.claims, found.met, found.explained, found.missed
    );
    let parts = [Some(counts), judged, worlds, undecided];
    Ok(parts.into_iter().flatten().collect::<Vec<String>>().join("\n"))
}

fn row_of_paper(paper: &Paper, found: &Outcomes) -> String {
    format!(
        "| [{}](reproduction/{}.md), {} | {} | {} | {} | {} | {} | {} |\n",
        paper.told,
        paper.name,
        paper.title,
        found.claims,
        found.met,
        found.explained,
        found.missed,
        found.undecided.map_or_else(|| "–".into(), |count| count.to_string()),
        found.seeds
    )
}

/// Of each table of bars how many are met.
fn bars_table(bars: &[Outcomes]) -> String {
    let head = "| channels | command | met | seeds | table |\n|---|---|---|---|---|\n";
    BARS.iter().zip(bars).fold(head.to_owned(), |text, ((channels, name), found)| {
        let (met, all, seeds) = (found.met, found.claims, found.seeds);
        text + &format!(
            "| {channels} | `justfull reproduce {name}` | {met} of {all} | {seeds} | \
             [bars](reproduction/{name}-table.md) |\n"
        )
    })
}

fn own_bars(bars: &[Outcomes]) -> String {
    let Some((held_out, seen)) = bars.split_last() else { return String::new() };
    let sum = |of: fn(&Outcomes) -> usize| seen.iter().map(of).sum::<usize>();
    format!(
        "Justfull's own goals are not a paper's: {} of {} are met on eight channels that were held \
         out ([its claims](reproduction/Justfull-unseen-table.md)), {} of {} on the channels seen \
         before.\n",
        held_out.met,
        held_out.claims,
        sum(|found| found.met),
        sum(|found| found.claims)
    )
}

/// Refuses a count of verdicts that is written by hand in a line of `page` that `matters`.
fn no_counts(page: &str, text: &str, matters: &dyn Fn(&str) -> bool) -> Outcome {
    let mut made = false;
    for (number, line) in text.lines().enumerate() {
        made = (made || line.starts_with("<!-- made: ")) && line != "<!-- end -->";
        if !made && matters(line) && counts_verdicts(line) {
            return Err(Failure::Check(format!(
                "{page}:{}: found a count of verdicts, allowed is one in a part that `cargo xtask \
                 docs verdicts` makes",
                number + 1
            )));
        }
    }
    Ok(())
}

/// Whether `line` says how many claims have a verdict.
fn counts_verdicts(line: &str) -> bool {
    let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).collect();
    let is_verdict = |word: &str| ["met", "explained", "missed"].contains(&word);
    let is_number = |word: &str| word.parse::<usize>().is_ok();
    let counted = words.windows(2).any(|pair| is_number(pair[0]) && is_verdict(pair[1]));
    counted || line.contains("claims are met")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "note: variant sound: own\nnote: 5 seeds\nnote: claims of the paper are \
                         judged under Linux 4.15 (kernel_4_15), those of an anchor under \
                         today's settings\n\n| place | claim |\n| --- | --- |\n| Fig. 1 | a |\n\n\
                         9 claims: 5 met, 1 explained, 3 missed, 0 not run; 2 undecided: a, b\n\n\
                         | world | switches | met | missed | undecided | what it is |\n\
                         | --- | --- | --- | --- | --- | --- |\n| today | – | 4 | 5 | 2 | own |\n\
                         | Linux 4.15 | kernel_4_15 | 5 | 4 | 2 | old |\n\nworlds: each\n";

    const FILE: OfFile = OfFile { claims: 9, seeds: 5, live: false };

    fn said<T: std::fmt::Debug>(outcome: Outcome<T>) -> String {
        match outcome {
            Err(Failure::Check(said)) => said,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_sentence_has_the_counts_and_seeds_of_the_table() {
        let found = of_table("t", TABLE).unwrap();
        let worlds = vec![("today".to_owned(), 4), ("Linux 4.15".to_owned(), 5)];
        assert_eq!((found.seeds, found.met, found.undecided), (5, 5, Some(2)));
        assert_eq!((found.period.as_deref(), &found.worlds), (Some("Linux 4.15"), &worlds));
        let text = sentence("X", &found, &FILE).unwrap();
        for part in [
            "Of 9 claims 5 are met, 1 explained by a switch and 3 missed (5 seeds",
            "under Linux 4.15, the TCP of its time",
            "With one setting for all claims 4 under *today* and 5 under *Linux 4.15* are met",
            "2 verdicts are undecided",
            "[table](X-table.md)",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn a_table_of_one_world_and_no_undecided_claim_is_read() {
        let old = "note: 3 seeds\n\n2 claims: 1 met, 0 explained, 1 missed, 0 not run\n";
        let found = of_table("t", old).unwrap();
        assert_eq!((found.seeds, found.met, found.missed, found.worlds.len()), (3, 1, 1, 0));
        let text = sentence("X", &found, &OfFile { claims: 2, seeds: 3, live: false }).unwrap();
        assert!(!text.contains("decide"), "the table does not say: {text}");
    }

    #[test]
    fn a_table_of_other_seeds_or_claims_than_its_file_or_of_a_short_run_is_refused() {
        let found = of_table("t", TABLE).unwrap();
        let with = |of_file| sentence("X", &found, &of_file).unwrap_err();
        assert!(with(OfFile { seeds: 10, ..FILE }).contains("found 5 seeds, its file has 10"));
        assert!(with(OfFile { claims: 8, ..FILE }).contains("found 9 claims, its file has 8"));
        let live = sentence("X", &found, &OfFile { seeds: 10, live: true, ..FILE }).unwrap();
        assert!(live.contains("5 live runs; the command makes 10"), "{live}");
        let short = TABLE.replace("note: 5 seeds", "note: 5 seeds\nnote: short: intervals");
        assert!(said(of_table("t", &short)).contains("short run"));
        let fresh = TABLE.replace("5 seeds", "5 seeds from 101 on");
        assert!(said(of_table("t", &fresh)).contains("own seeds"));
        let wrong = TABLE.replace("3 missed", "4 missed");
        assert!(said(of_table("t", &wrong)).contains("add up"));
    }

    #[test]
    fn counts_of_verdicts_by_hand_are_refused_outside_of_what_is_made() {
        let page = "a\n<!-- made: x -->\n\n7 met, 2 missed\n\n<!-- end -->\nall well\n";
        assert!(no_counts("p", page, &|_| true).is_ok());
        let by_hand = format!("{page}61 met, 2 missed\n");
        assert!(said(no_counts("p", &by_hand, &|_| true)).starts_with("p:8: "));
        assert!(no_counts("p", &by_hand, &|line| line.contains("table")).is_ok());
        assert!(counts_verdicts("all of T20's claims are met"));
        assert!(!counts_verdicts("the 127 claims stand in a file"));
    }

    #[test]
    fn a_file_of_claims_says_its_seeds_and_how_many_claims_it_has() {
        let text = "seeds = 5\nseeds_short = 3\n[[claim]]\nid = \"a\"\n[[claim]]\n";
        assert_eq!(of_file("f", text).unwrap(), OfFile { claims: 2, seeds: 5, live: false });
        assert!(said(of_file("f", "seeds_short = 3")).contains("f: found no"));
    }
}
