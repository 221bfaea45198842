//! The cells of a world in reports of the radio.

use crate::config::WorldConfig;
use justfull_base::ConfigError;
use justfull_base::error::ensure;
use justfull_base::feedback::{CELL_NAME, is_cell_name};
use std::sync::Arc;

/// The names of the cells of `config` in reports, by number; none for a world with one cell, whose
/// reports name no cell.
///
/// # Errors
/// A name that a report cannot have.
pub fn cell_names(config: &WorldConfig) -> Result<Vec<Arc<str>>, ConfigError> {
    let Some(cells) = &config.cells else { return Ok(Vec::new()) };
    for (i, cell) in cells.cells.iter().enumerate() {
        let field = format!("cell[{i}].name");
        let why = "reports of the radio name their cell";
        ensure(is_cell_name(&cell.name), &field, &cell.name, CELL_NAME, why)?;
    }
    Ok(cells.cells.iter().map(|cell| Arc::clone(&cell.name)).collect())
}

/// The secondary cell of each UE with split bearers, by the UE's number; none for other UEs, and
/// none at all for a world with one cell.
#[must_use]
pub fn secondaries(config: &WorldConfig) -> Vec<Option<u32>> {
    let places = config.cells.iter().flat_map(|cells| &cells.places);
    places.map(|place| place.secondary()).collect()
}

/// Refuses split bearers, for readers of reports that know one cell of each UE.
///
/// # Errors
/// The first UE with split bearers: two cells would report it.
pub fn one_cell_each(config: &WorldConfig) -> Result<(), ConfigError> {
    let Some(i) = secondaries(config).iter().position(Option::is_some) else { return Ok(()) };
    let allowed = "none with a radio network information service or a proxy";
    let why = "they know a UE in one cell";
    ensure(false, &format!("ue[{i}].secondary"), &"set", allowed, why)
}
