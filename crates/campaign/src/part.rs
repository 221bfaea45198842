//! Parts: Parquet files with the rows of some jobs of one case.

use crate::failure::Failure;
use crate::ledger::Part;
use crate::plan::{Campaign, Case};
use crate::{SOURCE, VERSION};
use justfull_lab::model::{Comparison, Group};
use justfull_report::export::outputs::as_file_name;
use justfull_report::export::{Sink, part_parquet};
use justfull_scenario::Scenario;
use justfull_sim::results::RunResult;
use parquet::file::reader::{FileReader, SerializedFileReader};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Key of a part's description in its metadata.
const KEY: &str = "justfull.part";

/// The folder of a case's parts, from the dataset's.
fn folder(scenario: &Scenario, case: &Case) -> String {
    format!("parts/scenario={}/method={}", as_file_name(&scenario.name), as_file_name(&case.method))
}

/// Writes the results of the jobs of `part`, which names no file yet.
pub(crate) fn write(
    dataset: &Path,
    campaign: &Campaign,
    case: &Case,
    results: Vec<RunResult>,
    mut part: Part,
) -> Result<Part, Failure> {
    let scenario = &campaign.scenarios[case.scenario];
    let folder = folder(scenario, case);
    fs::create_dir_all(dataset.join(&folder))
        .map_err(|what| Failure::disk(&dataset.join(&folder), what))?;
    part.file = format!("{folder}/{}.parquet", case.job(part.from));
    let point = case.point;
    let group = Group {
        label: scenario.label(point),
        x: scenario.x(point),
        grid: scenario.grid(point),
        runs: results,
    };
    let comparison = Comparison {
        scenario_toml: scenario.job_toml(&case.of_seed(part.from))?,
        version: VERSION.into(),
        command: "justfull campaign run".into(),
        groups: vec![group],
        ..Comparison::default()
    };
    let about = serde_json::to_string(&part).unwrap_or_default();
    let facts = vec![(KEY.to_string(), about), ("justfull.source".to_string(), SOURCE.into())];
    let path = dataset.join(&part.file);
    let mut sink = Sink::create(&path)?;
    part_parquet(&comparison, &|seed| case.job(seed).to_string(), facts, &mut sink)
        .map_err(|what| sink.error(what))?;
    sink.commit()?;
    let written = fs::read(&path).map_err(|what| Failure::disk(&path, what))?;
    (part.bytes, part.sha256) = (written.len() as u64, hash(&written));
    Ok(part)
}

/// SHA-256 of `bytes` in hexadecimal digits.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True when the file of `part` in `dataset` is what was written.
pub(crate) fn is_whole(dataset: &Path, part: &Part) -> bool {
    fs::read(dataset.join(&part.file)).is_ok_and(|bytes| hash(&bytes) == part.sha256)
}

/// The part in the file `name` of `dataset`, which has no line in the ledger; none if it is no
/// whole part of this program's. Every row is read.
pub(crate) fn read(dataset: &Path, name: &str) -> Option<Part> {
    let path = dataset.join(name);
    let reader = SerializedFileReader::new(File::open(&path).ok()?).ok()?;
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    let facts: BTreeMap<&str, &str> =
        pairs.iter().filter_map(|pair| Some((pair.key.as_str(), pair.value.as_deref()?))).collect();
    let maker = (facts.get("justfull.version"), facts.get("justfull.source"));
    if maker != (Some(&VERSION), Some(&SOURCE)) {
        return None;
    }
    let part: Part = serde_json::from_str(facts.get(KEY)?).ok()?;
    if part.file != name || !reader.get_row_iter(None).ok()?.all(|row| row.is_ok()) {
        return None;
    }
    let bytes = fs::read(&path).ok()?;
    Some(Part { bytes: bytes.len() as u64, sha256: hash(&bytes), ..part })
}
