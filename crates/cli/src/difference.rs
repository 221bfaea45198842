//! `compare`: what differs between folders of results.

use crate::Failure;
use crate::args::CompareArgs;
use crate::folders;
use crate::terminal::{print, print_exact};
use justfull_report::difference::{self, Change, Condition, USUAL};
use justfull_report::read::{self, Folder};
use justfull_report::table::{self, Style};

/// Compares folders of results; a condition that holds is a failure.
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
    let folders = folders::read(&args.folders, &columns, &args.methods, &args.flows)?;
    let names: Vec<String> = folders.iter().map(|folder| folder.name.clone()).collect();
    let found = difference::differences(&folders, &columns).map_err(Failure::Usage)?;
    let scenarios: Vec<&str> = folders.iter().map(|folder| &*folder.scenario_toml).collect();
    let settings = difference::settings(&scenarios);
    let broken: Vec<String> =
        conditions.iter().flat_map(|condition| condition.broken_by(&found, &names)).collect();
    if args.json {
        let text = difference::json(&names, settings.as_deref(), &found, &broken);
        print_exact(&format!("{text}\n"))?;
    } else {
        print(&in_words(&folders, settings.as_deref()))?;
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

/// The commands, and the versions and settings that differ, a line for each.
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
