//! Plugins as limiters of methods.

use justfull_plugin::Plugin;
use justfull_scenario::{Make, OwnLimiter};
use std::sync::Arc;

/// The limiter of `plugin`, with its source in words.
#[must_use]
pub fn own_limiter(plugin: &Plugin) -> OwnLimiter {
    let source = format!("{}, SHA-256 {}", plugin.file.display(), plugin.sha256);
    let (settings, plugin) = (plugin.settings.clone(), plugin.clone());
    OwnLimiter { with: Make(Arc::new(move |values| plugin.limiter(values))), settings, source }
}
