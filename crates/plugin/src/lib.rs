//! Limiters of users in shared libraries, compiled from C or any language with C's calls
//! ([`abi`], `include/justfull_plugin.h`).
//!
//! A library is loaded only from a path that the user gave on the command line, and its code then
//! has the rights of the program. It stays loaded until the program ends.
//!
//! # Safety
//! All `unsafe` code is in `library`, which loads and checks, and in `limiter`, which calls. Both
//! rely on the contract of the header: functions return, keep to their types, and share nothing
//! between objects.
#![deny(unsafe_code)]

pub mod abi;
#[allow(unsafe_code, reason = "functions of a shared library")]
mod library;
#[allow(unsafe_code, reason = "functions of a shared library")]
mod limiter;
mod whole;

pub use library::{PluginError, sha256_of};

use justfull_base::ConfigError;
use justfull_base::make::Make;
pub use justfull_base::make::OwnSetting;
use justfull_ran::limiter::LimiterConfig;
use library::{Loaded, Table};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A limiter of a shared library.
#[derive(Clone, Debug)]
pub struct Plugin {
    /// Its name by itself.
    pub name: String,
    /// The file, as the user gave it.
    pub file: PathBuf,
    /// SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
    /// Its settings in the order of its table.
    pub settings: Vec<OwnSetting>,
    table: Table,
    /// The limiters so far, by the bits of their values.
    made: Arc<Mutex<BTreeMap<Vec<u64>, LimiterConfig>>>,
    odd: Arc<AtomicU64>,
}

impl Plugin {
    /// Loads the shared library in `file` and checks its table.
    ///
    /// # Errors
    /// The file is none, does not load, or has no valid table of a limiter.
    pub fn load(file: &Path) -> Result<Self, PluginError> {
        let sha256 = sha256_of(file)?;
        let Loaded { table, name, settings } = library::load(file)?;
        let (made, odd) = (Arc::default(), Arc::default());
        Ok(Self { name, file: file.into(), sha256, settings, table, made, odd })
    }

    /// The limiters that it makes with `values` for its settings, one for each bearer. Equal values
    /// give equal configurations.
    ///
    /// # Panics
    /// If there is not a value within its bounds for each setting.
    #[must_use]
    pub fn limiter(&self, values: &[f64]) -> LimiterConfig {
        assert_eq!(values.len(), self.settings.len(), "a value for each setting");
        assert!(self.settings.iter().zip(values).all(|(setting, value)| setting.allows(*value)));
        let bits = values.iter().map(|value| value.to_bits()).collect();
        let mut made = self.made.lock().unwrap_or_else(|e| e.into_inner());
        made.entry(bits).or_insert_with(|| self.with(values.into())).clone()
    }

    fn with(&self, values: Vec<f64>) -> LimiterConfig {
        let (table, odd) = (self.table, Arc::clone(&self.odd));
        LimiterConfig::Custom(Make(Arc::new(move |context| {
            limiter::Called::new(table, context, &values, Arc::clone(&odd))
                .map(|called| Box::new(called) as _)
                .ok_or_else(|| {
                    let allowed = "an object: `create` returned NULL";
                    ConfigError::new("rlc.limiter", &"none", allowed, "the plugin")
                })
        })))
    }

    /// Number of rooms above [`abi::JF_PLUGIN_MOST`] so far, which counted as no limit.
    #[must_use]
    pub fn odd_rooms(&self) -> u64 {
        self.odd.load(Ordering::Relaxed)
    }
}
