//! `new`: a scenario to start from, or a crate with a limiter of one's own.

mod limiter;

use crate::Failure;
use crate::args::NewArgs;
use crate::compare::data_dir;
use crate::terminal::{print_exact, say};
use justfull_report::export;
use justfull_scenario::starter::{Starter, Traffic};
use justfull_scenario::{MethodLibrary, Overrides, Scenario, near};
use std::path::Path;

pub(crate) fn new(args: &NewArgs) -> Result<(), Failure> {
    match (&args.limiter, &args.file) {
        (Some(folder), _) => limiter::new(folder, args.justfull.as_deref()),
        (None, Some(file)) => scenario(args, file),
        (None, None) => Err(Failure::Usage("NAME or --limiter is needed".into())),
    }
}

fn scenario(args: &NewArgs, file: &Path) -> Result<(), Failure> {
    known(&args.methods)?;
    let standard_output = file == Path::new("-");
    let file = match file.extension() {
        _ if standard_output => Path::new("my.toml").into(),
        Some(ending) if ending == "toml" => file.to_path_buf(),
        // What looks like an ending may be a part of the name.
        _ => {
            let mut name = file.as_os_str().to_os_string();
            name.push(".toml");
            name.into()
        }
    };
    if !standard_output && !args.force && file.symlink_metadata().is_ok() {
        let text = "is there already; --force replaces it";
        return Err(Failure::Usage(format!("{}: {text}", file.display())));
    }
    let mut traffic: Vec<Traffic> = Vec::new();
    for kind in args.traffic.iter().copied().map(Traffic::from) {
        if !traffic.contains(&kind) {
            traffic.push(kind);
        }
    }
    let starter = Starter {
        cell: args.cell.cell(),
        ues: args.ues,
        traffic,
        methods: args.methods.clone(),
        runs: args.runs,
        trace: args.trace.as_deref().map(|trace| beside(trace, &file)).transpose()?,
    };
    let text = starter.text(&file.display().to_string());
    // What it names is not of its making: methods that do not fit, a trace that cannot be read.
    let scenario = Scenario::examine(&text, &file, data_dir(), Overrides::default())
        .map_err(|errors| Failure::usage(&errors[0]))?;
    for warning in scenario.warnings().map_err(|e| Failure::usage(&e))? {
        say(&format!("warning: {warning}"));
    }
    if let Some(parts) = scenario.parts().map_err(|e| Failure::usage(&e))? {
        say(&format!("note: {parts}"));
    }
    if standard_output {
        return print_exact(&text);
    }
    export::write_whole(&file, |out| out.write_all(text.as_bytes()))
        .map_err(|e| Failure::usage(&e))?;
    let name = file.display();
    say(&format!("{name} is written; run it with: justfull run {name}"));
    Ok(())
}

/// All of `methods` ship.
fn known(methods: &[String]) -> Result<(), Failure> {
    let library = MethodLibrary::shipped();
    let names = library.names();
    let Some(method) = methods.iter().find(|method| library.find(method).is_none()) else {
        return Ok(());
    };
    let allowed = near::allowed(method, &names, "a method of `justfull list`");
    Err(Failure::Usage(format!("--method: found {method}, allowed is {allowed}")))
}

/// `trace`, named from here, as the scenario in `file` must name it: scenarios look beside
/// themselves, and then among the user's traces.
fn beside(trace: &Path, file: &Path) -> Result<String, Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let seen = match folder {
        Some(folder) if trace.is_relative() && trace.exists() => {
            trace.strip_prefix(folder).map(Path::to_path_buf).or_else(|_| {
                trace
                    .canonicalize()
                    .map_err(|e| Failure::Usage(format!("--trace: {}: {e}", trace.display())))
            })?
        }
        _ => trace.to_path_buf(),
    };
    seen.to_str().map(str::to_string).ok_or_else(|| {
        Failure::Usage(format!("--trace: found {}, allowed is a name in UTF-8", trace.display()))
    })
}
