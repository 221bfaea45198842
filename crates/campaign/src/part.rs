//! Parts: Parquet files with the rows of jobs of one scenario under one method.

use crate::failure::Failure;
use crate::ledger::{METHOD, PARTS, Part, SCENARIO, Stretch};
use crate::plan::{Campaign, Id};
use crate::{SOURCE, VERSION};
use bytes::Bytes;
use justfull_base::Bytes as Limit;
use justfull_lab::model::{Comparison, Group};
use justfull_report::export::outputs::as_file_name;
use justfull_report::export::{Sink, part_parquet};
use justfull_report::read;
use justfull_run::results::RunResult;
use justfull_scenario::input::read_capped;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Largest file that may be a part.
const LARGEST: Limit = Limit(1 << 30);

/// Key of a part's description in its metadata.
const KEY: &str = "justfull.part";

/// The folder and name of the part of `jobs`, from the dataset's folder; equal jobs have equal
/// names.
fn place(campaign: &Campaign, jobs: &[Stretch]) -> Option<(String, Id)> {
    let case = &campaign.cases[campaign.index(jobs.first()?.case)?];
    let scenario = as_file_name(&campaign.scenarios[case.scenario].name);
    let mut hash = Sha256::new();
    for Stretch { case, from, to } in jobs {
        hash.update(format!("{case} {from} {to}\n").as_bytes());
    }
    let method = as_file_name(&case.method);
    let folder = format!("{PARTS}/{SCENARIO}{scenario}/{METHOD}{method}");
    Some((folder, Id::of(hash)))
}

/// Writes `results` of the jobs of `part` in its order; `part` names no file yet. The content of
/// the file depends only on the jobs.
pub(crate) fn write(
    dataset: &Path,
    campaign: &Campaign,
    results: Vec<Vec<RunResult>>,
    mut part: Part,
) -> Result<Part, Failure> {
    let Some((folder, name)) = place(campaign, &part.jobs) else {
        return Err(Failure::wrong(dataset, "part", "no case of the campaign", "one of its cases"));
    };
    fs::create_dir_all(dataset.join(&folder))
        .map_err(|what| Failure::disk(&dataset.join(&folder), what))?;
    part.file = format!("{folder}/{name}.parquet");
    let mut comparison = Comparison {
        version: VERSION.into(),
        command: "justfull campaign run".into(),
        ..Comparison::default()
    };
    let mut names = Vec::new();
    for (stretch, runs) in part.jobs.iter().zip(results) {
        let Some(case) = campaign.index(stretch.case).map(|index| &campaign.cases[index]) else {
            continue;
        };
        let (scenario, point) = (&campaign.scenarios[case.scenario], case.point);
        if comparison.scenario_toml.is_empty() {
            comparison.scenario_toml = scenario.job_toml(&case.of_seed(stretch.from))?;
        }
        names.extend(runs.iter().map(|run| case.job(run.seed).to_string()));
        comparison.groups.push(Group {
            label: scenario.label(point),
            x: scenario.x(point),
            grid: scenario.grid(point),
            runs,
            settings: Vec::new(),
            parts: None,
        });
    }
    // The CPU time differs from run to run, so it is left out.
    let stable = Part { cpu_s: 0.0, ..part.clone() };
    let about = serde_json::to_string(&stable).unwrap_or_default();
    let facts = vec![(KEY.to_string(), about), ("justfull.source".to_string(), SOURCE.into())];
    let path = dataset.join(&part.file);
    let mut sink = Sink::create(&path)?;
    part_parquet(&comparison, &names, facts, &mut sink).map_err(|what| sink.error(what))?;
    sink.commit()?;
    let written = fs::read(&path).map_err(|what| Failure::disk(&path, what))?;
    (part.bytes, part.sha256) = (written.len() as u64, hash(&written));
    Ok(part)
}

/// SHA-256 of `bytes` in hexadecimal digits.
fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// True if the file of `part` in `dataset` is unchanged.
pub(crate) fn is_whole(dataset: &Path, part: &Part) -> bool {
    content(dataset, part).is_some()
}

/// The file of `part` in `dataset`; none if it has changed.
fn content(dataset: &Path, part: &Part) -> Option<Bytes> {
    let bytes = read_capped(&dataset.join(&part.file), Limit(part.bytes)).ok()?;
    (hash(&bytes) == part.sha256).then(|| bytes.into())
}

/// The part in the file `name` of `dataset`, which has no line in the ledger; none if it is no
/// complete part of this program. Reads every row.
pub(crate) fn read(dataset: &Path, name: &str) -> Option<Part> {
    let bytes = Bytes::from(read_capped(&dataset.join(name), LARGEST).ok()?);
    let reader = SerializedFileReader::new(bytes.clone()).ok()?;
    let pairs = reader.metadata().file_metadata().key_value_metadata()?;
    let facts: BTreeMap<&str, &str> =
        pairs.iter().filter_map(|pair| Some((pair.key.as_str(), pair.value.as_deref()?))).collect();
    let maker = (facts.get("justfull.version"), facts.get("justfull.source"));
    if maker != (Some(&VERSION), Some(&SOURCE)) {
        return None;
    }
    let part: Part = serde_json::from_str(facts.get(KEY)?).ok()?;
    let sound = part.file == name && part.is_sound();
    if !sound || !reader.get_row_iter(None).ok()?.all(|row| row.is_ok()) {
        return None;
    }
    Some(Part { bytes: bytes.len() as u64, sha256: hash(&bytes), ..part })
}

/// Calls `each` for every row of `part` in `dataset`, with the number of its job in the part and
/// its fields in `columns`, until it returns false; none if its file has changed.
pub(crate) fn rows(
    dataset: &Path,
    part: &Part,
    columns: &[&str],
    mut each: impl FnMut(usize, BTreeMap<&str, &Field>) -> bool,
) -> Option<()> {
    let reader = SerializedFileReader::new(content(dataset, part)?).ok()?;
    let schema = reader.metadata().file_metadata().schema();
    let wanted = |name: &str| name == "job" || columns.contains(&name);
    let fields = schema.get_fields().iter().filter(|field| wanted(field.name()));
    let chosen = Type::group_type_builder(schema.name()).with_fields(fields.cloned().collect());
    let (mut number, mut last) = (0, None);
    for row in reader.get_row_iter(Some(chosen.build().ok()?)).ok()? {
        let row = row.ok()?;
        let mut fields: BTreeMap<&str, &Field> =
            row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
        let Some(Field::Str(job)) = fields.remove("job") else { return None };
        if last.as_ref() != Some(job) {
            number += usize::from(last.is_some());
            last = Some(job.clone());
        }
        if !each(number, fields) {
            break;
        }
    }
    Some(())
}

/// `metric` of `flow` in each job with rows of `part` in `dataset`, in the order of the rows; none
/// if its file has changed.
pub(crate) fn values(
    dataset: &Path,
    part: &Part,
    metric: &str,
    flow: &str,
) -> Option<Vec<Option<f64>>> {
    let metric = read::column_of(metric).ok()?.name;
    let mut values = Vec::new();
    rows(dataset, part, &["flow", metric], |job, fields| {
        values.resize((job + 1).max(values.len()), None);
        if let (Some(Field::Str(of)), Some(Field::Double(value))) =
            (fields.get("flow"), fields.get(metric))
            && of == flow
        {
            values[job] = Some(*value);
        }
        true
    })?;
    Some(values)
}
