//! `compare`: differences between folders of results, or between the methods of one.

use crate::complete;
use crate::failure::Failure;
use crate::folders;
use crate::help::with_exit_status;
use crate::terminal::{print, print_exact};
use clap::Args;
use justfull_report::difference::{self, Change, Condition, Difference, USUAL};
use justfull_report::export::{Column, Runs};
use justfull_report::read::{self, Folder};
use justfull_report::table::{self, Style};
use std::path::PathBuf;

/// Compare folders of results, or the methods of one, flow by flow, with intervals
#[derive(Args)]
#[command(after_help = with_exit_status!(
    "Examples:\n  justfull compare results/before results/after\n  \
     justfull compare results/t20-individual --against CoDel\n  \
     justfull compare a b --column delay.p99 --fail-if 'delay.p99 > 5%'\n  \
     justfull compare simulated live --method DRQL --json\n\n\
     What changes is compared with the first folder, or with the method of --against, seed by seed \
     if both have the same seeds. A flow counts if both folders have it under the same method and \
     scenario. \
     A change that a --fail-if describes, and that its interval tells from none, is exit 1."
))]
pub(crate) struct CompareArgs {
    /// Folders of results; the others are compared with the first. With --against one folder
    #[arg(required = true, num_args = 1..)]
    pub(crate) folders: Vec<PathBuf>,
    /// Method with which the other methods of the folder are compared
    #[arg(long, value_name = "METHOD", add = complete::methods())]
    pub(crate) against: Option<String>,
    /// Column of runs.jsonl, or its short name such as delay.p99; may be given several times
    /// [default: delay.mean, delay.p95, delay.p99, goodput]
    #[arg(long = "column", value_name = "NAME")]
    pub(crate) columns: Vec<String>,
    /// Method to compare; may be given several times [default: all]
    #[arg(long = "method", value_name = "NAME", add = complete::methods())]
    pub(crate) methods: Vec<String>,
    /// Flow to compare; may be given several times [default: all]
    #[arg(long = "flow", value_name = "NAME")]
    pub(crate) flows: Vec<String>,
    /// Change that counts as a failure: COLUMN > NUMBER or COLUMN < NUMBER, with % for a part of
    /// the mean of the first folder or of --against; may be given several times
    #[arg(long, value_name = "CONDITION")]
    pub(crate) fail_if: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Compares folders of results; fails if a condition holds.
pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let column = |name: &String| {
        read::column_of(name).map_err(|why| Failure::Usage(format!("--column: {why}")))
    };
    let condition = |text: &String| {
        Condition::parse(text).map_err(|why| Failure::Usage(format!("--fail-if: {why}")))
    };
    let conditions = args.fail_if.iter().map(condition).collect::<Result<Vec<_>, _>>()?;
    let usual = USUAL.map(String::from);
    let names: &[String] = if args.columns.is_empty() { &usual } else { &args.columns };
    let mut columns = names.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    for condition in &conditions {
        if !columns.iter().any(|column| column.name == condition.column) {
            columns.extend(read::column(condition.column));
        }
    }
    let Compared { folders, names, found } = compared(args, &columns)?;
    let scenarios: Vec<&str> = folders.iter().map(|folder| &*folder.scenario_toml).collect();
    let settings = difference::settings(&scenarios).filter(|_| args.against.is_none());
    let broken: Vec<String> =
        conditions.iter().flat_map(|condition| condition.broken_by(&found, &names)).collect();
    if args.json {
        let text = difference::json(&names, settings.as_deref(), &found, &broken);
        print_exact(&format!("{text}\n"))?;
    } else {
        let settings = if args.against.is_some() { Some(&[][..]) } else { settings.as_deref() };
        print(&in_words(&folders, settings))?;
        let grid = difference::table(&found, &names);
        let style = Style::detect();
        print(&format!("{}\n", table::terminal(&grid, style)))?;
        print(&table::notes([&grid], style))?;
    }
    match broken.as_slice() {
        [] => Ok(()),
        broken => Err(Failure::Failed(broken.join("\n"))),
    }
}

/// Folders, the names of the columns of their values, and the differences.
struct Compared {
    folders: Vec<Folder>,
    names: Vec<String>,
    found: Vec<Difference>,
}

fn compared(args: &CompareArgs, columns: &[&'static Column<Runs>]) -> Result<Compared, Failure> {
    let refused = |why: &str| Err(Failure::Usage(why.into()));
    let mut methods = args.methods.clone();
    match (&args.against, args.folders.len()) {
        (None, 1) => {
            return refused("found one folder, allowed is two or more, or --against METHOD");
        }
        (Some(_), 2..) => {
            return refused("--against: found several folders, allowed is one");
        }
        // The other methods are compared with this one, so it is read in any case.
        (Some(against), _) if !methods.is_empty() => methods.push(against.clone()),
        _ => {}
    }
    let folders = folders::read(&args.folders, columns, &methods, &args.flows)?;
    let (names, found) = match (&args.against, folders.as_slice()) {
        (Some(against), [folder]) => (
            vec![against.clone(), "own".into()],
            difference::differences_of_methods(folder, against, columns),
        ),
        _ => (
            folders.iter().map(|folder| folder.name.clone()).collect(),
            difference::differences(&folders, columns),
        ),
    };
    let found = found.map_err(|e| Failure::usage(&e))?;
    Ok(Compared { folders, names, found })
}

/// The commands, and the versions and settings that differ, one line each.
fn in_words(folders: &[Folder], settings: Option<&[Change]>) -> String {
    let several = folders.windows(2).any(|pair| pair[0].version != pair[1].version);
    let mut text = String::new();
    for Folder { name, command, version, .. } in folders {
        let version = if several { format!(" ({version})") } else { String::new() };
        text.push_str(&format!("{name}{version}: {command}\n"));
    }
    let Some(settings) = settings else {
        text.push_str("The folders hold several scenarios, whose settings are not compared.\n");
        return text;
    };
    if !settings.is_empty() {
        text.push_str(
            "Settings of the scenario that differ, before methods and --set change them:\n",
        );
    }
    for Change { path, values } in settings {
        let values: Vec<&str> =
            values.iter().map(|value| value.as_deref().unwrap_or("not set")).collect();
        text.push_str(&format!("  {path}: {}\n", values.join(" | ")));
    }
    text
}
