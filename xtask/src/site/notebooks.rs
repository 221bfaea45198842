//! The notebooks as pages: their cells, with their output if they can be executed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::cannot;
use crate::tidy::tree::{File, Tree};
use crate::{Outcome, process, python};

/// Ending of their names.
pub(super) const ENDING: &str = ".ipynb";
/// Executes a notebook, its first argument, and writes it to its second.
const EXECUTE: &str = "import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name='python3').execute()
nbformat.write(notebook, sys.argv[2])";

/// The notebooks of the tree by their paths, executed in `folder` with the package of the tree.
/// Without Python's tools they are not executed; this is printed.
pub(super) fn executed(
    root: &Path,
    tree: &Tree,
    folder: &Path,
) -> Outcome<BTreeMap<String, String>> {
    let mut made = BTreeMap::new();
    let Some(python) = python::with_package(root)? else {
        process::skipped(
            "skipped: what the notebooks print, since there are no Python tools: \
                          `.ci/setup --tests` installs them",
        )?;
        return Ok(made);
    };
    fs::create_dir_all(folder).map_err(|error| cannot(folder, &error))?;
    for file in tree.files.iter().filter(|file| file.path.ends_with(ENDING)) {
        let name = file.path.rsplit('/').next().unwrap_or(&file.path);
        let out = folder.join(name);
        let mut command = Command::new(&python);
        command.current_dir(folder).args(["-c", EXECUTE]).arg(root.join(&file.path)).arg(&out);
        println!("executing {}", file.path);
        // A kernel's messages about its connections do not concern the page.
        process::stderr_of(&mut command)?;
        let text = fs::read_to_string(&out).map_err(|error| cannot(&out, &error))?;
        made.insert(file.path.clone(), text);
    }
    Ok(made)
}

/// The notebook `path` as Markdown: the executed one, else the tree's.
pub(super) fn page(
    tree: &Tree,
    path: &str,
    executed: &BTreeMap<String, String>,
) -> Result<String, String> {
    let there = tree.get(path).and_then(File::text);
    let text = executed.get(path).map(String::as_str).or(there);
    markdown(text.unwrap_or_default()).map_err(|why| format!("{path}: {why}"))
}

/// A notebook of format 4 as Markdown.
fn markdown(notebook: &str) -> Result<String, String> {
    let notebook: Value = serde_json::from_str(notebook).map_err(|error| error.to_string())?;
    let cells = notebook["cells"].as_array().ok_or("a notebook has cells")?;
    let mut page = String::new();
    for cell in cells {
        let source = joined(&cell["source"]);
        if cell["cell_type"] == "code" {
            page.push_str(&fenced("python", &source));
            let outputs = cell["outputs"].as_array();
            page.extend(outputs.into_iter().flatten().map(shown));
        } else {
            page.push_str(&format!("{}\n\n", source.trim_end()));
        }
    }
    Ok(page)
}

/// The output of a cell, in the richest form that a page can have.
fn shown(output: &Value) -> String {
    let data = &output["data"];
    if let Some(picture) = data["image/png"].as_str() {
        let picture: String = picture.split_whitespace().collect();
        return format!("<img alt=\"figure\" src=\"data:image/png;base64,{picture}\">\n\n");
    }
    let html = joined(&data["text/html"]);
    if !html.is_empty() {
        // An empty line would end the HTML block.
        let lines: Vec<&str> = html.lines().filter(|line| !line.trim().is_empty()).collect();
        return format!("<div class=\"output\">{}</div>\n\n", lines.join("\n"));
    }
    let printed = joined(&output["text"]) + &joined(&data["text/plain"]);
    if printed.is_empty() { printed } else { fenced("text", &printed) }
}

fn fenced(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n\n", text.trim_end())
}

/// Text, or a list of its lines.
fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        text => text.as_str().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_paragraphs_code_and_its_output() {
        let notebook = r##"{"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "\n", "Text.\n"]},
            {"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["said\n"]},
                {"output_type": "execute_result", "data": {"text/plain": ["1"]}}]},
            {"cell_type": "code", "source": "draw()", "outputs": [
                {"data": {"image/png": "QUJD\nREVG\n", "text/plain": ["<Figure>"]}},
                {"data": {"text/html": ["<p>a</p>\n", "\n", "<p>b</p>"], "text/plain": "t"}}]}
        ]}"##;
        assert_eq!(
            markdown(notebook).unwrap(),
            "# Title\n\nText.\n\n```python\nx = 1\nx\n```\n\n```text\nsaid\n```\n\n```text\n1\n```\
             \n\n```python\ndraw()\n```\n\n<img alt=\"figure\" \
             src=\"data:image/png;base64,QUJDREVG\">\n\n<div class=\"output\"><p>a</p>\n<p>b</p>\
             </div>\n\n"
        );
        assert!(markdown("{}").is_err() && markdown("# no").is_err());
    }
}
