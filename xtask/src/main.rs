//! The tree's own chores: `cargo xtask <command>`, listed by `cargo xtask help`.
//!
//! Exit status: 0 all well, 1 a check failed, 2 wrong usage or something missing on this machine.

#![forbid(unsafe_code)]

mod bench;
mod ci;
mod deny;
mod dist;
mod docs;
mod fuzz;
mod golden;
mod mutants;
mod mutate;
mod notice;
mod package;
mod process;
mod properties;
mod python;
mod site;
mod soak;
mod swarm;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::Profile;

const USAGE: &str = "\
cargo xtask <command>

  ci [--fast | --track TRACK | --from STEP]
                               everything a change must pass; --fast: format, tidy, clippy, unit \
                     tests; --track real-time | compiled: what runs beside the tests;
                               --from: the steps from this one on, one after the other
  tidy                         the rules of the house that no compiler checks
  tidy --count                 lines of source and of tests
  tidy --sample N --seed S     N comments at random, to be read by someone else
  deny                         licences, sources and versions of dependencies (cargo-deny, \
                     deny.toml)
  notice [--check]             write NOTICE, the licences of what a binary holds, or compare it
  mutate [--scenarios N] [--traces N] [--seed S] [--seconds T]
                               scenarios and traces that are nearly right, under limits of time \
                     and memory
  soak [PART]                  what is too long for every change: long tests, mutate, swarm, fuzz, \
                     mutants
  docs [validation|rapid|slow-bearers|readme|which-method|verdicts] [--check]
                               write docs/reference, or docs/validation or the tables of \
                     docs/rapid.md from runs, or what pages say of claims from their tables, or \
                     compare them with what the code says
  golden [--check|--bless]     run the golden tests, or accept their present output
  bench [--ci | --dist]        time workloads S1, S2 and S3 and count their instructions; --ci \
                     fails above the floors,
                               --dist measures the profile of packages
  dist                         build the package's program, guided by a profile where llvm-tools \
                     are, and compare its results
  package [--release] [--program FILE] [--static FILE] [--wheel FILE]
                               a .deb (cargo-deb), a static program, a wheel, in target/package, \
                     all tried on a clean root, and a container image, which is run;
                               --release builds quicker than dist, FILE is built before
  package --only-wheel [--wheel FILE] | --only-image [--program FILE]
                               the wheel or the image alone
  package --only-systemd DEB   run the service of a .deb under systemd, and upgrade it under load
  package --library [--release]
                               the C library alone: libjustfull-dev
  bench aqm [--ci]             count what each AQM costs for a packet, beside CoDel
  bench c [--ci]               count what the C library's calls cost for a packet, beside the \
                     gate's own
  bench eqp [--ci]             time the scheduler EQP as queues, SDUs and resource blocks grow
  bench growth [--ci]          time a packet and weigh a UE as UEs with downloads are added to the \
                     cell of S1
  bench live [--ci]            throughput and lateness of live runs against a plain forwarder and \
                     a bare loop
  bench senders [--ci]         count what Prague and BBRv3 cost for a packet, beside CUBIC
  bench site [--ci]            time 64 cells of 100 UEs, and weigh a quiet UE
  bench f1u [--ci]             packets a second through the box on F1-U, beside a plain forwarder
  bench n3 [--ci]              what the proxy costs inside tunnels beside its cost at SGi
  bench page [--ci]            first paint, slider and charts of `justfull ui` in Chromium
  bench proxy [--ci]           what the proxy costs beside HAProxy and nginx; --ci fails where a \
                     goal is missed
  site                         the documentation as a site (mdBook), its links and its search \
                     checked
  python                       the Python package: the wheel that is given away, its types, its \
                     tests
  fuzz [--seconds N] [TARGET]  run the fuzz targets, 60 s each by default
  properties [--for TIME | --seed N]
                               the property tests with fresh cases, 10 minutes by default
  swarm [--for TIME]           random worlds from fresh seeds, 10 minutes by default; \
                     prints and shrinks what fails
  mutants [AREA...]            change the algorithms one place at a time; every change must make a \
                     test fail
  help                         this text
";

/// Why a command ended without success.
#[derive(Debug)]
enum Failure {
    /// A check failed: exit 1.
    Check(String),
    /// Wrong usage, or a missing tool or file: exit 2.
    Environment(String),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Self::Check(words) | Self::Environment(words)) = self;
        f.write_str(words)
    }
}

type Outcome<T = ()> = Result<T, Failure>;

/// The top of the checkout, with the workspace's Cargo.toml.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

fn unknown(args: &[&str]) -> Outcome {
    Err(Failure::Environment(format!("unknown command `{}`\n\n{USAGE}", args.join(" "))))
}

fn dispatch(args: &[&str]) -> Outcome {
    match args {
        ["ci"] => ci::run(&root(), ci::Part::All),
        ["ci", "--fast"] => ci::run(&root(), ci::Part::Fast),
        ["ci", "--from", step] => ci::run(&root(), ci::Part::From(step)),
        ["ci", "--track", name] => ci::run(&root(), ci::Part::Track(name)),
        ["tidy"] => tidy::run(&root()),
        ["tidy", "--count"] => tidy::count(&root()),
        ["tidy", "--sample", count, "--seed", seed] => {
            let number = |word: &str| {
                let message = || format!("`{word}` is no whole number");
                word.parse::<u64>().map_err(|_| Failure::Environment(message()))
            };
            tidy::sample(&root(), number(count)? as usize, number(seed)?)
        }
        ["deny"] => deny::run(&root()),
        ["notice"] => notice::run(&root(), notice::Mode::Write),
        ["notice", "--check"] => notice::run(&root(), notice::Mode::Check),
        ["mutate", rest @ ..] => mutate::run(&root(), &mutate::parse(rest)?),
        ["soak"] => soak::run(&root(), None),
        ["soak", part] => soak::run(&root(), Some(part)),
        ["docs", rest @ ..] => docs::command(&root(), rest).unwrap_or_else(|| unknown(args)),
        ["golden"] | ["golden", "--check"] => golden::run(&root(), golden::Mode::Check),
        ["golden", "--bless"] => golden::run(&root(), golden::Mode::Bless),
        ["bench"] => bench::run(&root(), Profile::Release, false),
        ["bench", "--ci"] => bench::run(&root(), Profile::Release, true),
        ["bench", "--dist"] => bench::run(&root(), Profile::Dist, false),
        ["package", rest @ ..] => package::run(&root(), &package::parse(rest)?),
        ["dist"] => dist::run(&root()),
        ["bench", "aqm"] => bench::run_aqm(&root(), false),
        ["bench", "aqm", "--ci"] => bench::run_aqm(&root(), true),
        ["bench", "c"] => bench::run_c(&root(), false),
        ["bench", "c", "--ci"] => bench::run_c(&root(), true),
        ["bench", "eqp"] => bench::run_eqp(&root(), false),
        ["bench", "eqp", "--ci"] => bench::run_eqp(&root(), true),
        ["bench", "growth"] => bench::run_growth(&root(), false),
        ["bench", "growth", "--ci"] => bench::run_growth(&root(), true),
        ["bench", "senders"] => bench::run_senders(&root(), false),
        ["bench", "senders", "--ci"] => bench::run_senders(&root(), true),
        ["bench", "site"] => bench::run_site(&root(), false),
        ["bench", "site", "--ci"] => bench::run_site(&root(), true),
        ["bench", "live"] => bench::run_live(&root(), false),
        ["bench", "live", "--ci"] => bench::run_live(&root(), true),
        ["bench", "f1u"] => bench::run_f1u(&root(), false),
        ["bench", "f1u", "--ci"] => bench::run_f1u(&root(), true),
        ["bench", "n3"] => bench::run_n3(&root(), false),
        ["bench", "n3", "--ci"] => bench::run_n3(&root(), true),
        ["bench", "page"] => bench::run_page(&root(), false),
        ["bench", "page", "--ci"] => bench::run_page(&root(), true),
        ["bench", "proxy"] => bench::run_proxy(&root(), false),
        ["bench", "proxy", "--ci"] => bench::run_proxy(&root(), true),
        ["python"] => python::given_away(&root()),
        ["site"] => site::run(&root()),
        ["fuzz", rest @ ..] => fuzz::run(&root(), rest),
        ["properties", rest @ ..] => properties::run(&root(), rest),
        ["swarm", rest @ ..] => swarm::run(&root(), rest),
        ["mutants", rest @ ..] => mutants::run(&root(), rest),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(Failure::Environment(format!("a command is needed\n\n{USAGE}"))),
        _ => unknown(args),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Check(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Environment(message)) => {
            eprintln!("xtask: {message}");
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_is_a_usage_error_that_names_it() {
        match dispatch(&["polish"]) {
            Err(Failure::Environment(message)) => assert!(message.contains("polish"), "{message}"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unknown_option_is_not_ignored() {
        assert!(matches!(dispatch(&["ci", "--slow"]), Err(Failure::Environment(_))));
    }

    #[test]
    fn the_root_holds_the_workspace_manifest() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
