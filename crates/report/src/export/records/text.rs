//! Records as text.

use super::columns::{Fact, Read, RecordColumn};
use crate::export::facts::Provenance;
use crate::export::value::csv_text;
use serde::Serialize;
use std::io::{self, Write};

/// The header of a text file.
#[derive(Serialize)]
struct Header<'a> {
    justfull: Inner<'a>,
}

#[derive(Serialize)]
struct Inner<'a> {
    #[serde(flatten)]
    provenance: &'a Provenance,
    columns: Vec<Described>,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
}

fn header<R>(columns: &[RecordColumn<R>], provenance: &Provenance) -> io::Result<String> {
    let columns = columns
        .iter()
        .map(|c| Described { name: c.name, unit: c.unit, meaning: c.meaning })
        .collect();
    Ok(serde_json::to_string(&Header { justfull: Inner { provenance, columns } })?)
}

/// One line that starts with `#`, then the names of the columns.
pub(super) fn csv_header<R>(
    out: &mut dyn Write,
    columns: &[RecordColumn<R>],
    provenance: &Provenance,
) -> io::Result<()> {
    let names: Vec<&str> = columns.iter().map(|c| c.name).collect();
    writeln!(out, "# {}\n{}", header(columns, provenance)?, names.join(","))
}

/// The first record.
pub(super) fn json_header<R>(
    out: &mut dyn Write,
    columns: &[RecordColumn<R>],
    provenance: &Provenance,
) -> io::Result<()> {
    writeln!(out, "{}", header(columns, provenance)?)
}

/// `text` as a cell, quoted if RFC 4180 requires it.
fn quoted(text: &str) -> String {
    let text = csv_text(text).into_owned();
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Rows of CSV.
pub(super) fn csv_rows<R>(
    out: &mut dyn Write,
    columns: &[RecordColumn<R>],
    names: &[Vec<String>],
    rows: &[R],
) -> io::Result<()> {
    let names: Vec<Vec<String>> =
        names.iter().map(|of| of.iter().map(|n| quoted(n)).collect()).collect();
    let mut line = String::new();
    for row in rows {
        line.clear();
        for (i, (column, names)) in columns.iter().zip(&names).enumerate() {
            if i > 0 {
                line.push(',');
            }
            match column.read {
                Read::Whole(_, read) => push_number(&mut line, read(row)),
                Read::Name(_, read) => line.push_str(read(row).map_or("", |n| &names[n as usize])),
                Read::Run(_) => line.push_str(names.first().map_or("", String::as_str)),
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

/// Rows of JSON; keys without a value are left out.
pub(super) fn json_rows<R>(
    out: &mut dyn Write,
    columns: &[RecordColumn<R>],
    names: &[Vec<String>],
    rows: &[R],
) -> io::Result<()> {
    let text = |(column, names): (&RecordColumn<R>, &Vec<String>)| match column.read {
        Read::Run(Fact::Seed) => Ok(names.clone()),
        _ => names.iter().map(serde_json::to_string).collect::<Result<Vec<String>, _>>(),
    };
    let texts = columns.iter().zip(names).map(text).collect::<Result<Vec<_>, _>>()?;
    let mut line = String::new();
    for row in rows {
        line.clear();
        for (column, names) in columns.iter().zip(&texts) {
            let start = line.len();
            line.push(if start == 0 { '{' } else { ',' });
            line.push('"');
            line.push_str(column.name);
            line.push_str("\":");
            let content = line.len();
            match column.read {
                Read::Whole(_, read) => push_number(&mut line, read(row)),
                Read::Name(_, read) => line.push_str(read(row).map_or("", |n| &names[n as usize])),
                Read::Run(_) => line.push_str(names.first().map_or("", String::as_str)),
            }
            if line.len() == content {
                line.truncate(start);
            }
        }
        line.push_str("}\n");
        out.write_all(line.as_bytes())?;
    }
    Ok(())
}

fn push_number(line: &mut String, value: Option<u64>) {
    if let Some(value) = value {
        use std::fmt::Write as _;
        // Writing to a string cannot fail.
        let _ = write!(line, "{value}");
    }
}
