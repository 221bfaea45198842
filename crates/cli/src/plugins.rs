//! Limiters of shared libraries, as methods beside a scenario's.

use crate::complete;
use crate::failure::Failure;
use crate::scenarios::{data_dir, source};
use crate::terminal::say;
use clap::Args;
use justfull_plugin::Plugin;
use justfull_scenario::{Derived, MethodLibrary, Overrides, OwnLimiter, Scenario};
use std::path::{Path, PathBuf};

#[derive(Args)]
pub(crate) struct PluginArgs {
    /// Run the limiter of this shared library too, as a method of its own; may be given several
    /// times
    ///
    /// Its code runs with your rights: load what you trust. docs/guide/own-limiter.md has the
    /// calls.
    #[arg(long = "plugin", value_name = "FILE")]
    plugins: Vec<PathBuf>,
    /// Method that gives the other settings of the plugins' methods
    #[arg(
        long, value_name = "NAME", default_value = "Vanilla", requires = "plugins",
        add = complete::methods()
    )]
    plugin_base: String,
}

/// Loaded plugins.
pub(crate) struct Plugins {
    loaded: Vec<Plugin>,
    base: String,
}

impl PluginArgs {
    /// Loads the plugins.
    pub(crate) fn load(&self) -> Result<Plugins, Failure> {
        let mut loaded: Vec<Plugin> = Vec::new();
        for file in &self.plugins {
            let plugin = load(file, "--plugin")?;
            let shipped = MethodLibrary::shipped();
            let twice = loaded.iter().any(|other| other.name.eq_ignore_ascii_case(&plugin.name));
            if twice || shipped.find(&plugin.name).is_some() {
                let (file, name) = (file.display(), &plugin.name);
                return Err(Failure::Usage(format!(
                    "--plugin: {file}: found the name `{name}`, allowed is one that no other \
                     method has"
                )));
            }
            loaded.push(plugin);
        }
        Ok(Plugins { loaded, base: self.plugin_base.clone() })
    }
}

/// The plugin in `file`, which `field` names.
pub(crate) fn load(file: &Path, field: &str) -> Result<Plugin, Failure> {
    Plugin::load(file).map_err(|error| Failure::Usage(format!("{field}: {error}")))
}

/// The limiter of `plugin`, with its source in words.
pub(crate) fn limiter(plugin: &Plugin) -> OwnLimiter {
    let source = format!("{}, SHA-256 {}", plugin.file.display(), plugin.sha256);
    OwnLimiter { config: plugin.limiter(), source }
}

/// Prints how many answers of `plugins` were out of bounds.
pub(crate) fn tell_odd<'a>(plugins: impl IntoIterator<Item = &'a Plugin>) {
    for plugin in plugins {
        let odd = plugin.odd_rooms();
        if odd > 0 {
            let name = &plugin.name;
            say(&format!("warning: {name}: {odd} rooms above 2^40 counted as no limit"));
        }
    }
}

impl Plugins {
    /// The scenario `name`, in which each plugin is the last of the methods.
    pub(crate) fn scenario(&self, name: &Path, plain: &Overrides) -> Result<Scenario, Failure> {
        let (text, file) = source(name)?;
        let derived = self.loaded.iter().map(|plugin| Derived {
            name: plugin.name.clone(),
            title: format!("{} with a plugin", self.base),
            base: self.base.clone(),
            limiter: Some(limiter(plugin)),
            ..Derived::default()
        });
        let mut overrides = Overrides { derived: derived.collect(), ..plain.clone() };
        let read = |overrides: Overrides| {
            Scenario::parse(&text, &file, data_dir(), overrides).map_err(|e| Failure::usage(&e))
        };
        let mut methods = match &overrides.methods {
            Some(methods) => methods.clone(),
            None => read(overrides.clone())?.methods().to_vec(),
        };
        for Plugin { name, .. } in &self.loaded {
            if !methods.iter().any(|method| method.eq_ignore_ascii_case(name)) {
                methods.push(name.clone());
            }
        }
        overrides.methods = Some(methods);
        read(overrides)
    }

    /// True if there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.loaded.is_empty()
    }

    /// Prints how many answers were out of bounds.
    pub(crate) fn tell_odd(&self) {
        tell_odd(&self.loaded);
    }
}
