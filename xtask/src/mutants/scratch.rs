//! A copy of the tree in which mutants are built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cargo_metadata::Message;
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel, DiagnosticSpan};

use super::areas::Area;
use super::list::Mutant;
use super::schemata::{SWITCH, Switched, switch};
use super::trial::Program;
use crate::{Failure, Outcome, process};

pub(super) struct Scratch {
    tree: PathBuf,
    target: PathBuf,
}

/// The programs that hold all mutants of an area, and what is not in them.
pub(super) struct Schemata {
    pub(super) programs: Vec<Program>,
    pub(super) unviable: BTreeSet<usize>,
    /// For each mutant of the programs, the first mutant of its function.
    pub(super) functions: BTreeMap<usize, usize>,
    /// Mutants that need a build of their own.
    pub(super) alone: Vec<usize>,
}

impl Scratch {
    /// Copies the files at `root` that git does not ignore to `folder`.
    pub(super) fn copy(root: &Path, folder: &Path) -> Outcome<Self> {
        let scratch = Self { tree: folder.join("tree"), target: folder.join("target") };
        match std::fs::remove_dir_all(&scratch.tree) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(&scratch.tree, &error));
            }
            _ => {}
        }
        let mut git = std::process::Command::new("git");
        git.current_dir(root).args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        for file in process::stdout_of(&mut git)?.split_terminator('\0') {
            // Files that are listed and missing have been deleted since the last commit.
            if root.join(file).exists() {
                let to = scratch.tree.join(file);
                let parent = to.parent().unwrap_or(&to);
                std::fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
                std::fs::copy(root.join(file), &to).map_err(|error| failed(&to, &error))?;
            }
        }
        Ok(scratch)
    }

    pub(super) fn tree(&self) -> &Path {
        &self.tree
    }

    /// Builds the tests of `area` with all its `mutants` that compile, and leaves the tree as it
    /// was.
    pub(super) fn schemata(&self, area: &Area, mutants: &[Mutant]) -> Outcome<Schemata> {
        let library = format!("{}/src/lib.rs", area.folder);
        let mut texts = BTreeMap::from([(library.clone(), self.read(&library)?)]);
        for mutant in mutants {
            texts.insert(mutant.file.clone(), self.read(&mutant.file)?);
        }
        let built = self.switched(area, mutants, &library, &texts);
        for (file, text) in &texts {
            self.write(file, text)?;
        }
        built
    }

    /// Builds, leaves out what the compiler refuses, and builds again until it refuses nothing.
    fn switched(
        &self,
        area: &Area,
        mutants: &[Mutant],
        library: &str,
        texts: &BTreeMap<String, String>,
    ) -> Outcome<Schemata> {
        let (mut unviable, mut constants) = (BTreeSet::new(), BTreeSet::new());
        loop {
            let mut files = BTreeMap::new();
            for (file, text) in texts {
                let own: Vec<_> =
                    (1..).zip(mutants).filter(|(_, mutant)| mutant.file == *file).collect();
                let mut made = switch(text, &own, &unviable, &constants)
                    .map_err(|error| Failure::Environment(format!("{file}: {error}")))?;
                if file == library {
                    made.text.push_str(SWITCH);
                }
                self.write(file, &made.text)?;
                files.insert(file.clone(), made);
            }
            let errors = match self.build(area)? {
                Ok(programs) => {
                    let functions =
                        files.values().flat_map(|file| file.functions.clone()).collect();
                    let alone = files.values().flat_map(|file| file.alone.clone()).collect();
                    return Ok(Schemata { programs, unviable, functions, alone });
                }
                Err(errors) => errors,
            };
            let before = (unviable.len(), constants.len());
            for error in &errors {
                match blamed(error, &files) {
                    Some(mutant) => _ = unviable.insert(mutant),
                    None => constants.extend(called(error)),
                }
            }
            if before == (unviable.len(), constants.len()) {
                let rendered = errors.iter().filter_map(|error| error.rendered.as_deref());
                return Err(Failure::Check(format!(
                    "no mutant's fault:\n{}",
                    rendered.collect::<String>()
                )));
            }
        }
    }

    /// Builds the tests of `area` with `mutant` alone, in the place of those with the others, and
    /// leaves the tree as it was. False when it does not compile.
    pub(super) fn one(&self, area: &Area, mutant: &Mutant) -> Outcome<bool> {
        let text = self.read(&mutant.file)?;
        self.write(&mutant.file, &mutant.applied(&text, &(0..text.len())))?;
        let built = self.build(area);
        self.write(&mutant.file, &text)?;
        built.map(|built| built.is_ok())
    }

    /// The test programs of `area`, or the errors of the compiler.
    fn build(&self, area: &Area) -> Outcome<Result<Vec<Program>, Vec<Diagnostic>>> {
        let mut command = process::cargo(&self.tree);
        command.args([
            "test",
            "--quiet",
            "--no-run",
            "--message-format=json",
            // Reading and writing settings is behind one.
            "--all-features",
            "--package",
            area.package,
        ]);
        command.arg("--lib").args(area.tests).env("CARGO_TARGET_DIR", &self.target);
        // Most mutants die in a test of milliseconds: compiling well would take longer than it
        // saves.
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "1").env("CARGO_PROFILE_DEV_DEBUG", "false");
        command.env("CARGO_INCREMENTAL", "1").stderr(Stdio::null());
        let output = command
            .output()
            .map_err(|error| Failure::Environment(format!("cargo test: {error}")))?;
        let (mut programs, mut errors) = (Vec::new(), Vec::new());
        for message in Message::parse_stream(output.stdout.as_slice()).filter_map(Result::ok) {
            match message {
                Message::CompilerMessage(found)
                    if found.message.level == DiagnosticLevel::Error =>
                {
                    errors.push(found.message);
                }
                Message::CompilerArtifact(artifact) => {
                    programs.extend(artifact.executable.map(|path| {
                        let folder =
                            artifact.manifest_path.parent().unwrap_or(&artifact.manifest_path);
                        Program { path: path.into(), folder: folder.into() }
                    }))
                }
                _ => {}
            }
        }
        if output.status.success() {
            return Ok(Ok(programs));
        }
        if errors.is_empty() {
            return Err(Failure::Environment(format!(
                "cargo could not build the tests of {}",
                area.package
            )));
        }
        Ok(Err(errors))
    }

    fn read(&self, file: &str) -> Outcome<String> {
        let path = self.tree.join(file);
        std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))
    }

    fn write(&self, file: &str, text: &str) -> Outcome {
        let path = self.tree.join(file);
        std::fs::write(&path, text).map_err(|error| failed(&path, &error))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("{}: {error}", path.display()))
}

/// The mutant whose lines `error` is about.
fn blamed(error: &Diagnostic, files: &BTreeMap<String, Switched>) -> Option<usize> {
    let primary = error.spans.iter().filter(|span| span.is_primary);
    primary
        .chain(error.spans.iter().filter(|span| !span.is_primary))
        .find_map(|span| arm(span, files))
}

/// The mutant whose arm `span`, or the call of the macro that it is in, lies in.
fn arm(span: &DiagnosticSpan, files: &BTreeMap<String, Switched>) -> Option<usize> {
    let arms = files.get(&span.file_name).map_or(&[][..], |file| &file.arms);
    let own =
        arms.iter().find(|(lines, _)| lines.contains(&span.line_start)).map(|(_, mutant)| *mutant);
    own.or_else(|| arm(&span.expansion.as_ref()?.span, files))
}

/// The last part of the path in a message such as ``cannot call non-const function `a::b` in
/// constants``.
fn called(error: &Diagnostic) -> Option<String> {
    let constant = error.code.as_ref().is_some_and(|code| code.code == "E0015");
    let path = error.message.split('`').nth(1).filter(|_| constant)?;
    path.rsplit("::").next().map(str::to_owned)
}
