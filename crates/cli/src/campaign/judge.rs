//! `campaign judge`.

use super::{interrupted, load, made_of, opened, rows};
use crate::args::{JudgeArgs, Study};
use crate::failure::Failure;
use crate::terminal::{print, print_exact, say};
use justfull_campaign::bars::floors::{Beside, Floors};
use justfull_campaign::bars::{self, Figures, Judged, Verdicts};
use justfull_campaign::draw::{ALONE, variant};
use justfull_campaign::{Campaign, Dataset};
use justfull_report::export::{Column, Runs, Sink};
use justfull_report::read;
use justfull_report::table::{self, Grid, Row, RowKind, Style};
use justfull_scenario::Setting;
use std::io::Write as _;
use std::path::PathBuf;

/// The methods that the page compares.
const METHODS: [&str; 10] = [
    "CoDel",
    "FQ-CoDel",
    "PIE",
    "5G-BDP",
    "e5G-BDP",
    "LastPoll",
    "Justfull",
    "Justfull-split",
    "Justfull-2",
    "Justfull-2-split",
];

pub(crate) fn judge(args: &JudgeArgs) -> Result<(), Failure> {
    let file = written(args)?;
    let campaign = load(&file)?;
    let folder = file.with_extension("");
    let mut dataset = opened(&folder, &campaign, args.quiet)?;
    if made_of(&campaign, &mut dataset, &args.jobs, args.quiet)? {
        return Err(interrupted(&dataset.tally(&campaign)));
    }
    let columns: Vec<&'static Column<Runs>> =
        bars::COLUMNS.iter().filter_map(|name| read::column(name)).collect();
    let verdicts = bars::judge(&campaign.drawn, &rows(&dataset, &campaign, &columns)?);
    shown(args, &verdicts)?;
    finished(&dataset, &campaign)
}

/// Writes the campaign's file, unless it is there as it would be written.
fn written(args: &JudgeArgs) -> Result<PathBuf, Failure> {
    let JudgeArgs { seed, cases, measured, .. } = args;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if seed.is_empty() || seed.len() > 64 || !seed.chars().all(is_plain) {
        return Err(Failure::Usage(format!(
            "--seed: found `{seed}`, allowed are 1 to 64 letters, digits, `-` and `_`"
        )));
    }
    if *cases == 0 {
        return Err(Failure::Usage("--cases: found 0, allowed is at least 1".into()));
    }
    let of_parts = args.study.map(|study| study == Study::Parts);
    let methods: Vec<String> = match (of_parts, &args.methods[..]) {
        (Some(of_parts), _) => {
            let whole = ["Justfull-2", "Justfull-2-split"].map(str::to_owned);
            whole.into_iter().chain(variant::names(of_parts)).collect()
        }
        (None, []) => METHODS.map(str::to_owned).to_vec(),
        (None, methods) => methods.iter().filter(|name| *name != "Vanilla").cloned().collect(),
    };
    let quoted: Vec<String> = ["Vanilla", ALONE]
        .map(str::to_owned)
        .into_iter()
        .chain(methods)
        .map(|name| format!("{name:?}"))
        .collect();
    let variants = of_parts.map(variant::tables).unwrap_or_default();
    let line = |setting: &Setting| {
        let Setting { path, if_present, value } = setting;
        format!("\"{}{path}\" = {value}\n", if *if_present { "?" } else { "" })
    };
    let set: String = args.set.iter().map(line).collect();
    let text = format!(
        "title = \"Drawn paths\"\nmethods = [{}]\nseeds = 1\n\n[draw]\ncases = {cases}\n\
         seed = \"{seed}\"\nmeasured = {measured}\n\n{variants}[set]\n{set}",
        quoted.join(", ")
    );
    let study = match args.study {
        None => "",
        Some(Study::Parts) => "-parts",
        Some(Study::Constants) => "-constants",
    };
    let file = args.out.join(format!("{seed}-{cases}{study}.toml"));
    match std::fs::read_to_string(&file) {
        Ok(there) if there == text => return Ok(file),
        Ok(_) => {
            return Err(Failure::Usage(format!(
                "{}: found another campaign, allowed is a folder without it: choose one with \
                 --out",
                file.display()
            )));
        }
        Err(_) => {}
    }
    let made = |what| Failure::Usage(format!("{}: {what}", args.out.display()));
    std::fs::create_dir_all(&args.out).map_err(made)?;
    let sink = Sink::create(&file).and_then(|mut sink| {
        sink.write_all(text.as_bytes()).map_err(|what| sink.error(what))?;
        sink.commit()
    });
    sink.map_err(|e| Failure::usage(&e))?;
    Ok(file)
}

/// Exit status 1 if a run failed, with its error.
fn finished(dataset: &Dataset, campaign: &Campaign) -> Result<(), Failure> {
    let tally = dataset.tally(campaign);
    tally.failed.iter().for_each(|line| say(&format!("failed: {line}")));
    if tally.failed.is_empty() && tally.open() == 0 {
        return Ok(());
    }
    let (open, failed) = (tally.open(), tally.failed.len());
    Err(Failure::Failed(format!("{failed} runs failed, {open} are open")))
}

fn shown(args: &JudgeArgs, verdicts: &Verdicts) -> Result<(), Failure> {
    if args.json {
        let page = serde_json::to_string_pretty(verdicts);
        let page = page.map_err(|e| Failure::Failed(e.to_string()))?;
        return print_exact(&format!("{page}\n"));
    }
    let style = Style::detect();
    print(&format!("{}\n", table::terminal(&grid(&verdicts.judged), style)))?;
    let apart = verdicts.apart.len();
    print(&format!(
        "{apart} further cases, whose low-latency flows take over half of a phone's fair rate, \
         are in no figure.\n"
    ))?;
    for judged in verdicts.judged.iter().filter(|judged| judged.round_trip_ms.is_none()) {
        let missed = judged.missed();
        let words = if missed.is_empty() { "all bars hold".into() } else { missed.join("; ") };
        let out_of_reach = match judged.out_of_reach {
            0 => String::new(),
            cases => format!("; goodput out of reach in {cases} cases"),
        };
        print(&format!("{}: {words}{out_of_reach}\n", judged.method))?;
    }
    if args.floors {
        for (case, floors) in &verdicts.floors {
            print(&format!("{case}: {}\n", beside(floors)))?;
        }
    }
    let Some(method) = &args.misses else { return Ok(()) };
    for (case, of) in &verdicts.cases {
        let Some(figures) = of.get(method).filter(|figures| !figures.holds()) else { continue };
        print(&format!("{case}: {}\n", line(figures)))?;
    }
    Ok(())
}

/// The bounds of a case, each with the schedule's value and the best method.
fn beside(floors: &Floors) -> String {
    let line = |name: &str, unit: &str, of: &Beside| {
        let [floor, schedule, best] =
            [of.floor, of.schedule, of.best].map(|value| rounded(value, 2));
        let method = of.method.as_deref().unwrap_or("-");
        format!("{name} {unit} floor {floor}, schedule {schedule}, best {best} ({method})")
    };
    [
        line("delay", "ms", &floors.delay_ms),
        line("goodput", "Mbit/s", &floors.goodput_mbit_s),
        line("round trip", "ms", &floors.round_trip_ms),
    ]
    .join("; ")
}

/// Each figure that misses the bar of a case, and the bound on the goodput if it misses its bar.
fn line(figures: &Figures) -> String {
    let missed = figures.missed();
    let mut words: Vec<String> =
        missed.iter().map(|(name, value)| format!("{name} {}", rounded(Some(*value), 3))).collect();
    words.extend(figures.goodput_out_of_reach().map(|most| {
        format!("no method that sends as many low-latency packets has more goodput than {most:.3}")
    }));
    words.join(", ")
}

/// A figure with `digits` digits after the point.
fn rounded(figure: Option<f64>, digits: usize) -> String {
    match figure {
        None => "-".to_owned(),
        Some(f64::INFINITY) => "lacking".to_owned(),
        Some(value) => format!("{value:.digits$}"),
    }
}

fn grid(judged: &[Judged]) -> Grid {
    let header = [
        "method",
        "base RTT",
        "cases",
        "all bars\nhold",
        "delay over\nalone, median",
        "95 %",
        "lossy\ncases",
        "goodput over\nVanilla, median",
        "5 %",
        "least",
        "RTT growth,\nmedian, ms",
        "page load\nover best",
        "frames\nwhole, 5 %",
        "Jain,\n5 %",
        "delay over\nthe floor",
        "goodput over\nthe floor",
        "RTT above\nthe floor, ms",
    ];
    let number = |value| rounded(value, 3);
    let row = |judged: &Judged| {
        let rtt = judged.round_trip_ms.map_or_else(|| "all".into(), |ms| format!("{ms} ms"));
        let mut cells = vec![judged.method.clone(), rtt];
        cells.extend([judged.cases, judged.held].map(|n| n.to_string()));
        cells.extend(judged.delay.map(number));
        cells.push(judged.lossy.to_string());
        cells.extend(judged.goodput.map(number));
        cells.push(rounded(judged.round_trip_growth_ms, 0));
        cells.extend([judged.page[0], judged.frames, judged.jain].map(number));
        cells.extend([judged.of_floor.delay, judged.of_floor.goodput].map(number));
        cells.push(rounded(judged.of_floor.round_trip_ms, 0));
        let kind = if judged.round_trip_ms.is_none() { RowKind::Method } else { RowKind::Part };
        Row::new(cells, kind)
    };
    Grid {
        dropped_first: Vec::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: judged.iter().map(row).collect(),
        numbers_from: 2,
        notes: Vec::new(),
    }
}
