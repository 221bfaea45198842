//! Scenarios named in the arguments.

use crate::args::{GridArgs, ScenarioArgs};
use crate::failure::Failure;
use justfull_scenario::{Axis, Overrides, Scenario, Setting, Value, library, near};
use std::path::{Path, PathBuf};

/// The folder of traces outside the project.
pub(crate) fn data_dir() -> Option<PathBuf> {
    std::env::var_os("JUSTFULL_DATA").filter(|v| !v.is_empty()).map(PathBuf::from)
}

/// The shipped scenario called `name`, unless a file has this name. A folder may have it: results
/// of `demo` are often in the folder `demo`.
pub(crate) fn shipped(name: &Path) -> Option<&'static str> {
    name.to_str().and_then(library::scenario).filter(|_| !name.exists() || name.is_dir())
}

/// The scenario in the file `name`, or on standard input for `-`. If there is no such file, the
/// shipped scenario of this name.
pub(crate) fn load(name: &Path, overrides: Overrides) -> Result<Scenario, Failure> {
    let (text, file) = source(name)?;
    Scenario::parse(&text, &file, data_dir(), overrides).map_err(|e| Failure::usage(&e))
}

/// Text of the scenario `name`, and the file name for messages.
pub(crate) fn source(name: &Path) -> Result<(String, PathBuf), Failure> {
    if name == Path::new("-") {
        let file = PathBuf::from("stdin.toml");
        let text = Scenario::text_from(std::io::stdin().lock(), &file);
        return text.map(|text| (text, file)).map_err(|e| Failure::usage(&e));
    }
    match shipped(name) {
        Some(text) => Ok((text.into(), name.with_extension("toml"))),
        None => Scenario::text_of(name).map(|text| (text, name.into())).map_err(|e| {
            let known: Vec<&str> = library::SCENARIOS.iter().map(|(name, _)| *name).collect();
            let near = near::did_you_mean(&near::near(&name.to_string_lossy(), &known));
            let shipped = format!(", or the name of a shipped one (`justfull list`){near}");
            Failure::Usage(format!("{e}{}", if name.exists() { "" } else { &shipped }))
        }),
    }
}

/// The changes of a scenario from the arguments.
pub(crate) fn overrides(args: &ScenarioArgs) -> Result<Overrides, Failure> {
    let set: Result<Vec<Setting>, String> = args.set.iter().map(|text| text.parse()).collect();
    let mut set = set.map_err(|e| Failure::Usage(format!("--set: {e}")))?;
    if let Some(duration) = &args.duration {
        let duration = Setting::new("duration", Value::String(duration.clone()));
        set.push(duration.map_err(|e| Failure::Usage(format!("--duration: {e}")))?);
    }
    Ok(Overrides {
        variant: args.variant.clone(),
        switches: args.switches.clone(),
        set,
        seed: args.seed,
        ..Overrides::default()
    })
}

/// The axes of a grid.
pub(crate) fn axes(args: &GridArgs) -> Result<Vec<Axis>, Failure> {
    let axes: Result<Vec<Axis>, String> = args.axes.iter().map(|text| text.parse()).collect();
    axes.map_err(|e| Failure::Usage(format!("--grid: {e}")))
}

/// The requested methods; none for the file's own.
pub(crate) fn chosen(methods: &[String]) -> Option<Vec<String>> {
    (!methods.is_empty()).then(|| methods.to_vec())
}
