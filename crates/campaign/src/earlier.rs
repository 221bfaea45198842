//! Datasets among earlier runs, read without the files of their campaigns: a dataset may come from
//! another machine, and a page opens no file outside its folder.

use crate::VERSION;
pub use crate::dataset::Row;
use crate::dataset::{Dataset, campaign_of};
use crate::failure::Failure;
use justfull_report::earlier::{COLUMNS, Earlier, is_run};
use justfull_report::read::{Folder, OF_ROW};
use serde_json::Value;
use std::cmp::Ordering;
use std::path::Path;

/// The folder of a run or of a dataset at `path`.
#[must_use]
pub fn read(path: &Path) -> Earlier {
    let Some(file) = campaign_of(path).filter(|_| !is_run(path)) else {
        return Earlier::read(path);
    };
    let own = Earlier {
        kind: "campaign".into(),
        command: format!("justfull campaign run {}", word(&file.display().to_string())),
        version: VERSION.into(),
        ..Earlier::at(path)
    };
    match rows(path, &COLUMNS) {
        Ok(rows) => of_rows(own, path, rows),
        Err(why) => Earlier { problem: Some(why.to_string()), ..own },
    }
}

/// True if the folder at `path` is a dataset.
#[must_use]
pub fn is_dataset(path: &Path) -> bool {
    !is_run(path) && campaign_of(path).is_some()
}

/// The rows of the dataset at `path`, sorted by scenario, setting, method and seed, with the
/// identifying columns and `columns`.
///
/// # Errors
/// The dataset is damaged, of another version of the program, or above the size limit for readers
/// without the campaign.
pub fn rows(path: &Path, columns: &[&str]) -> Result<Vec<Row>, Failure> {
    let wanted: Vec<&str> = OF_ROW.into_iter().chain(columns.iter().copied()).collect();
    let mut rows = Dataset::alone(path)?.all_rows(&wanted)?;
    rows.sort_by(order);
    Ok(rows)
}

/// The order of rows: numbers by value, flows in the order of a run.
fn order(a: &Row, b: &Row) -> Ordering {
    let compared =
        OF_ROW.iter().filter(|name| !["flow", "group"].contains(*name)).map(|name| {
            match (a.get(*name).unwrap_or(&Value::Null), b.get(*name).unwrap_or(&Value::Null)) {
                (Value::Number(a), Value::Number(b)) => {
                    a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default())
                }
                (a, b) => a.as_str().cmp(&b.as_str()),
            }
        });
    compared.fold(Ordering::Equal, Ordering::then)
}

fn of_rows(own: Earlier, path: &Path, rows: Vec<Row>) -> Earlier {
    let mut seeds: Vec<u64> = rows.iter().filter_map(|row| row.get("seed")?.as_u64()).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let settings = settings(&rows);
    let mut folder = Folder::empty(path, &own.command, &own.version);
    rows.into_iter().for_each(|row| folder.add(row));
    let scenario = folder.scenarios().join(", ");
    Earlier { scenario, seeds, settings, ..own }.with(&folder)
}

/// Each swept setting with its values: `rlc.queue.limit_kB=[100, 1000]`.
fn settings(rows: &[Row]) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |name: &str, value: &str| {
        let at = found.iter().position(|(known, _)| known == name).unwrap_or(found.len());
        if at == found.len() {
            found.push((name.into(), Vec::new()));
        }
        if !found[at].1.iter().any(|known| known == value) {
            found[at].1.push(value.into());
        }
    };
    for row in rows {
        let text = |name| row.get(name).and_then(Value::as_str);
        match (text("grid"), text("x_name"), row.get("x_value")) {
            (Some(grid), ..) => {
                grid.split("; ").filter_map(|one| one.split_once('=')).for_each(|(n, v)| add(n, v));
            }
            (None, Some(name), Some(value)) => {
                add(name, &value.as_f64().unwrap_or_default().to_string());
            }
            _ => {}
        }
    }
    found.into_iter().map(|(name, values)| format!("{name}=[{}]", values.join(", "))).collect()
}

/// `text` as one word of a shell.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@.,:=/+-_".contains(c);
    match text.chars().all(plain) {
        true => text.into(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}
