//! Arguments that select a scenario and the way it runs.

use crate::complete;
use clap::Args;
use std::path::PathBuf;

// Which scenario, and how.
#[derive(Args)]
pub(crate) struct ScenarioArgs {
    /// Variant: sound, or one that the file defines (T20: as-published, as-released) [default: the
    /// file's, else sound]
    #[arg(long, value_name = "NAME")]
    pub(crate) variant: Option<String>,
    /// Switch of the file to turn on; may be given several times
    #[arg(long = "switch", value_name = "NAME")]
    pub(crate) switches: Vec<String>,
    /// Change a setting, e.g. rlc.queue.limit=10MB or rlc.limiter.keep=1; may be given several
    /// times.
    ///
    /// It is applied after the method's settings. A note names the methods without this setting; a
    /// setting that no method has is an error. A bare name is a table of that kind:
    /// rlc.limiter=drql. Text needs no quotes, even if it looks like a number:
    /// flow.NAME.tcp.sender.kernel=4.15.
    #[arg(long = "set", value_name = "PATH=VALUE", add = complete::settings())]
    pub(crate) set: Vec<String>,
    /// Time after which a run ends, even if a command or a transfer is not finished, e.g. 20s
    /// [default: the scenario's duration]
    #[arg(long, value_name = "TIME", alias = "time")]
    pub(crate) duration: Option<String>,
    /// Seed of the first run [default: the scenario's]
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

// A grid of settings.
#[derive(Args, Default)]
pub(crate) struct GridArgs {
    /// A setting and its values, e.g. rlc.queue.limit=[1MB, 10MB]; with several settings all
    /// combinations run [default: the file's sweep]
    #[arg(long = "grid", value_name = "PATH=[VALUE, ...]", add = complete::paths_of_settings())]
    pub(crate) axes: Vec<String>,
}

// Limiters in shared libraries, as methods.
#[derive(Args)]
pub(crate) struct PluginArgs {
    /// Run the limiter of this shared library too, as a method of its own; may be given several
    /// times
    ///
    /// Its code runs with your rights: load what you trust. Its settings are plugin.NAME.SETTING of
    /// --set and --grid; `justfull check SCENARIO --plugin FILE` lists them.
    /// docs/guide/own-limiter.md has the calls.
    #[arg(long = "plugin", value_name = "FILE")]
    pub(crate) plugins: Vec<PathBuf>,
    /// Method that gives the other settings of the plugins' methods
    #[arg(
        long, value_name = "NAME", default_value = "Vanilla", requires = "plugins",
        add = complete::methods()
    )]
    pub(crate) plugin_base: String,
}
