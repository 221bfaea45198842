//! Several cells: their settings, and the places and moves of UEs.

use super::channel::channel as channel_of;
use super::error::ScenarioError;
use super::file::{DriveFile, ScenarioFile, UeFile};
use super::locator::Locator;
use super::trace_channel::Run;
use justfull_base::Duration;
use justfull_ran::SplitConfig;
use justfull_run::cells::{CellConfig, CellsConfig, MOST_MOVES, Move, Place};
use justfull_trace::{Serving, ServingColumns, TracePaths, serving};
use std::sync::Arc;

/// The cells of `file`; none if there are less than two.
pub(super) fn cells(
    file: &ScenarioFile,
    run: Run,
    traces: &TracePaths,
    locator: &Locator,
) -> Result<Option<Box<CellsConfig>>, ScenarioError> {
    let names: Vec<&str> = file.cell.iter().map(|cell| cell.name.as_str()).collect();
    for (i, name) in names.iter().enumerate() {
        if names[..i].contains(name) {
            let allowed = "each name once: a UE names its cell";
            return Err(locator.plain(&format!("cell[{i}].name"), name, allowed));
        }
    }
    if names.len() < 2 {
        return alone(file, locator).map(|()| None);
    }
    let mut cells = Vec::new();
    for (i, cell) in file.cell.iter().enumerate() {
        let mac = cell.mac.clone().unwrap_or_else(|| file.mac.clone());
        let run = Run { slot: mac.slot().period, unit: mac.unit(), ..run };
        let (channel, at) = match &cell.channel {
            Some(channel) => (channel, format!("cell[{i}].channel")),
            None => (&file.channel, "channel".into()),
        };
        cells.push(CellConfig {
            name: cell.name.as_str().into(),
            channel: channel_of(channel, run, traces, &at, locator)?,
            mac,
            gnb: cell.gnb,
        });
    }
    let mut places = Vec::new();
    for (i, ue) in file.ue.iter().enumerate() {
        let (at, duration) = (format!("ue[{i}]"), file.duration);
        let seen = Seen { names: &names, duration, at, locator, traces };
        seen.places(ue, &mut places)?;
    }
    Ok(Some(Box::new(CellsConfig { cells, places, handover: file.handover.clone() })))
}

/// Checks that no UE moves in a world with one cell.
fn alone(file: &ScenarioFile, locator: &Locator) -> Result<(), ScenarioError> {
    let known = file.cell.first().map(|cell| cell.name.as_str());
    for (i, ue) in file.ue.iter().enumerate() {
        let wrong = |field: &str, found: &str, allowed: &str| {
            Err(locator.plain(&format!("ue[{i}].{field}"), found, allowed))
        };
        if let Some(cell) = ue.cell.as_deref().filter(|cell| Some(*cell) != known) {
            return wrong("cell", cell, known.unwrap_or("none: there is no [[cell]]"));
        }
        let moving = [
            ("moves", !ue.moves.is_empty()),
            ("tour", ue.tour.is_some()),
            ("a3", ue.a3.is_some()),
            ("secondary", ue.secondary.is_some()),
            ("split", ue.split.is_some()),
            ("drive", ue.drive.is_some()),
        ];
        if let Some((field, _)) = moving.into_iter().find(|(_, set)| *set) {
            return wrong(field, "set", "two or more [[cell]]: a UE has or changes cells");
        }
    }
    Ok(())
}

/// An entry of UEs.
struct Seen<'a> {
    names: &'a [&'a str],
    duration: Duration,
    at: String,
    locator: &'a Locator,
    traces: &'a TracePaths,
}

impl Seen<'_> {
    fn wrong<T>(&self, field: &str, found: &str, allowed: &str) -> Result<T, ScenarioError> {
        Err(self.locator.plain(&format!("{}.{field}", self.at), found, allowed))
    }

    /// Index of the cell `name` in `field`.
    fn cell(&self, field: &str, name: &str) -> Result<u32, ScenarioError> {
        match self.names.iter().position(|known| *known == name) {
            Some(at) => Ok(at as u32),
            None => self.wrong(field, name, &self.names.join(", ")),
        }
    }

    /// Index of the cell `name` in `field`, the target of a UE in `from`.
    fn target(&self, field: &str, name: &str, from: u32) -> Result<u32, ScenarioError> {
        let to = self.cell(field, name)?;
        if to == from {
            let others = self.names.iter().filter(|other| **other != name);
            let others = others.copied().collect::<Vec<_>>().join(", ");
            let found = format!("{name}, where the UE already is");
            return self.wrong(field, &found, &others);
        }
        Ok(to)
    }

    /// Appends the places of the UEs of `ue`.
    fn places(&self, ue: &UeFile, places: &mut Vec<Arc<Place>>) -> Result<(), ScenarioError> {
        let ways = [!ue.moves.is_empty(), ue.tour.is_some(), ue.a3.is_some(), ue.drive.is_some()];
        if ways.iter().filter(|set| **set).count() > 1 {
            return self.wrong("cell", "several of `moves`, `tour`, `a3`, `drive`", "one of them");
        }
        if let Some(drive) = &ue.drive {
            if ue.secondary.is_some() {
                return self.wrong("secondary", "set", "none for a UE that moves");
            }
            let place = Arc::new(self.driven(ue, drive)?);
            places.extend(std::iter::repeat_n(place, ue.count as usize));
            return Ok(());
        }
        let Some(name) = &ue.cell else {
            return self.wrong("cell", "none", &self.names.join(", "));
        };
        let cell = self.cell("cell", name)?;
        if ue.tour.is_some() && ue.secondary.is_some() {
            return self.wrong("secondary", "set", "none for a UE that moves");
        }
        let Some(tour) = &ue.tour else {
            let (moves, split) = (self.moves(ue, cell)?, self.split(ue, cell)?);
            let place = Arc::new(Place { cell, moves, a3: ue.a3, split });
            places.extend(std::iter::repeat_n(place, ue.count as usize));
            return Ok(());
        };
        if tour.every.is_zero() {
            return self.wrong("tour.every", "0s", "above 0s");
        }
        let mut targets = Vec::new();
        for (i, name) in tour.cells.iter().enumerate() {
            let from = targets.last().copied().unwrap_or(cell);
            targets.push(self.target(&format!("tour.cells[{i}]"), name, from)?);
        }
        let again = targets.len() > 1;
        match targets[..] {
            [] => return self.wrong("tour.cells", "none", "at least one cell"),
            [first, .., last] if first == last => {
                return self.wrong("tour.cells", name, "another last cell than the first");
            }
            _ => {}
        }
        let rounds = self.duration.as_nanos() / tour.every.as_nanos() + 1;
        if again && rounds > MOST_MOVES as u64 {
            let allowed = format!("at most {MOST_MOVES} moves of a UE");
            return self.wrong("tour.every", &tour.every.to_string(), &allowed);
        }
        for k in 0..u64::from(ue.count) {
            let later = tour.every.as_nanos() / u64::from(ue.count) * k;
            let mut at = tour.first + Duration::from_nanos(later);
            let mut moves = Vec::new();
            let most = if again { usize::MAX } else { 1 };
            for &to in targets.iter().cycle().take(most) {
                if at >= self.duration {
                    break;
                }
                moves.push(Move { at, to });
                at += tour.every;
            }
            places.push(Arc::new(Place { cell, moves, ..Place::default() }));
        }
        Ok(())
    }

    /// The secondary cell and the split bearers of `ue` in `cell`.
    fn split(&self, ue: &UeFile, cell: u32) -> Result<Option<(u32, SplitConfig)>, ScenarioError> {
        let Some(name) = &ue.secondary else {
            return match &ue.split {
                None => Ok(None),
                Some(_) => self.wrong("split", "set", "none, or with `secondary`"),
            };
        };
        let secondary = self.target("secondary", name, cell)?;
        Ok(Some((secondary, ue.split.clone().unwrap_or_default())))
    }

    /// The place and the moves of `ue` by the log of `drive`.
    fn driven(&self, ue: &UeFile, drive: &DriveFile) -> Result<Place, ScenarioError> {
        let DriveFile { file, cells, cell_column, time_column, start } = drive;
        let columns = ServingColumns { time: time_column.as_deref(), cell: cell_column.as_deref() };
        let served = serving(file.as_ref(), self.traces, columns)
            .map_err(|e| self.locator.trace(&format!("{}.drive.file", self.at), &e))?;
        let mut known = Vec::new();
        for (id, name) in cells {
            known.push((id, self.cell(&format!("drive.cells.{id}"), name)?));
        }
        let mut place: Option<Place> = None;
        let mut here = 0;
        for Serving { from, cell, line } in &served {
            let Some((_, to)) = known.iter().find(|(id, _)| *id == cell) else {
                let found = format!("no `{cell}`, the cell in line {line} of {file}");
                let allowed = format!("a cell for each id: {}", self.names.join(", "));
                return self.wrong("drive.cells", &found, &allowed);
            };
            match &mut place {
                Some(place) if from > start => {
                    let at = *from - *start;
                    if *to != here && at < self.duration {
                        place.moves.push(Move { at, to: *to });
                    }
                }
                _ => place = Some(Place { cell: *to, ..Place::default() }),
            }
            here = *to;
        }
        let place = place.unwrap_or_default();
        if place.moves.len() > MOST_MOVES {
            let found = format!("{} moves", place.moves.len());
            return self.wrong("drive.file", &found, &format!("at most {MOST_MOVES} of a UE"));
        }
        let first = self.names[place.cell as usize];
        match ue.cell.as_deref().filter(|cell| *cell != first) {
            Some(other) => self.wrong("cell", other, &format!("{first}, the first of the log")),
            None => Ok(place),
        }
    }

    /// The moves of `ue` from `cell` on.
    fn moves(&self, ue: &UeFile, cell: u32) -> Result<Vec<Move>, ScenarioError> {
        let (mut from, mut before) = (cell, Duration::ZERO);
        let mut moves = Vec::new();
        for (i, step) in ue.moves.iter().enumerate() {
            let to = self.target(&format!("moves[{i}].cell"), &step.cell, from)?;
            if step.at < before {
                let allowed = format!("at least {before}, the time of the move before");
                return self.wrong(&format!("moves[{i}].at"), &step.at.to_string(), &allowed);
            }
            moves.push(Move { at: step.at, to });
            (from, before) = (to, step.at);
        }
        Ok(moves)
    }
}
