//! Limiters of shared libraries, as methods beside a scenario's.

use crate::args::PluginArgs;
use crate::failure::Failure;
use crate::scenarios::{data_dir, source};
use crate::terminal::say;
use justfull_lab::plugin::own_limiter;
use justfull_plugin::Plugin;
use justfull_scenario::{Derived, DerivedLimiter, MethodLibrary, Overrides, OwnSetting, Scenario};
use serde::Serialize;
use std::path::Path;

/// Loaded plugins.
#[derive(Default)]
pub(crate) struct Plugins {
    loaded: Vec<Plugin>,
    base: String,
}

/// A plugin for `check`.
#[derive(Serialize)]
pub(crate) struct Shown<'a> {
    name: &'a str,
    file: &'a Path,
    sha256: &'a str,
    settings: &'a [OwnSetting],
}

impl Shown<'_> {
    /// Its settings, one a line.
    pub(crate) fn in_words(&self) -> String {
        let Self { name, .. } = self;
        let one = |setting: &OwnSetting| {
            let OwnSetting { name: key, default, text, .. } = setting;
            format!("  plugin.{name}.{key} = {default} ({}): {text}\n", setting.allowed())
        };
        self.settings.iter().map(one).collect()
    }
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
    /// Loads the plugins that the arguments name.
    pub(crate) fn load(args: &PluginArgs) -> Result<Self, Failure> {
        let mut loaded: Vec<Plugin> = Vec::new();
        for file in &args.plugins {
            let plugin =
                Plugin::load(file).map_err(|error| Failure::Usage(format!("--plugin: {error}")))?;
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
        Ok(Self { loaded, base: args.plugin_base.clone() })
    }

    /// The scenario `name` with `plain`, in which each plugin is the last of the methods.
    pub(crate) fn scenario(&self, name: &Path, plain: &Overrides) -> Result<Scenario, Failure> {
        let (text, file) = source(name)?;
        let overrides = self.overrides(&text, &file, plain);
        Scenario::parse(&text, &file, data_dir(), overrides).map_err(|e| Failure::usage(&e))
    }

    /// `plain` with each plugin as the last of the methods of the scenario `text`. A wrong scenario
    /// keeps its own methods, so that its reader finds the mistakes.
    pub(crate) fn overrides(&self, text: &str, file: &Path, plain: &Overrides) -> Overrides {
        if self.loaded.is_empty() {
            return plain.clone();
        }
        let derived = self.loaded.iter().map(|plugin| Derived {
            name: plugin.name.clone(),
            title: format!("{} with a plugin", self.base),
            base: self.base.clone(),
            limiter: DerivedLimiter::Own(own_limiter(plugin)),
            ..Derived::default()
        });
        let mut overrides = Overrides { derived: derived.collect(), ..plain.clone() };
        if overrides.methods.is_none() {
            let own = Scenario::parse(text, file, data_dir(), overrides.clone());
            overrides.methods = own.ok().map(|scenario| scenario.methods().to_vec());
        }
        if let Some(methods) = &mut overrides.methods {
            for Plugin { name, .. } in &self.loaded {
                if !methods.iter().any(|method| method.eq_ignore_ascii_case(name)) {
                    methods.push(name.clone());
                }
            }
        }
        overrides
    }

    /// True if `method` is a plugin's.
    #[cfg(feature = "live")]
    pub(crate) fn has(&self, method: &str) -> bool {
        self.loaded.iter().any(|plugin| plugin.name == method)
    }

    /// Each plugin.
    pub(crate) fn shown(&self) -> Vec<Shown<'_>> {
        let all = self.loaded.iter().map(|plugin| {
            let Plugin { name, file, sha256, settings, .. } = plugin;
            Shown { name, file, sha256, settings }
        });
        all.collect()
    }

    /// Prints how many answers were out of bounds.
    pub(crate) fn tell_odd(&self) {
        tell_odd(&self.loaded);
    }
}
