//! The names of cells in reports of the radio.

use crate::config::WorldConfig;
use justfull_base::ConfigError;
use justfull_base::error::ensure;
use justfull_base::feedback::{CELL_NAME, is_cell_name};
use std::sync::Arc;

/// The names of the cells of `config` in reports, by number; none for a world with one cell, whose
/// reports name no cell.
///
/// # Errors
/// A name that a report cannot have, or a split bearer: two cells would report one UE.
pub fn cell_names(config: &WorldConfig) -> Result<Vec<Arc<str>>, ConfigError> {
    let Some(cells) = &config.cells else { return Ok(Vec::new()) };
    for (i, cell) in cells.cells.iter().enumerate() {
        let field = format!("cell[{i}].name");
        let why = "reports of the radio name their cell";
        ensure(is_cell_name(&cell.name), &field, &cell.name, CELL_NAME, why)?;
    }
    if let Some(i) = cells.places.iter().position(|place| place.split.is_some()) {
        let why = "a report is about a UE in one cell";
        let allowed = "none with reports of the radio or a proxy";
        ensure(false, &format!("ue[{i}].secondary"), &"set", allowed, why)?;
    }
    Ok(cells.cells.iter().map(|cell| Arc::clone(&cell.name)).collect())
}
