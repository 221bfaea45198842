//! A grid: several settings, each with its own values, in all combinations.

use crate::error::ScenarioError;
use crate::keys;
use crate::locator::Locator;
use crate::sweep::{SweepFile, SweepPath};
use crate::tree::{Path, Setting};
use crate::{Scenario, Settings, sweep_number};
use std::collections::BTreeMap;
use std::str::FromStr;
use toml::Value;

/// Maximum number of points of a grid, and of runs of a scenario.
pub(super) const MOST_RUNS: usize = 1_000_000;

/// A setting and its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    path: Path,
    values: Vec<Value>,
    /// The path, with the unit of the values if they have one.
    label: String,
    /// All values are numbers in this unit.
    is_numeric: bool,
}

impl FromStr for Axis {
    type Err = String;

    /// Parses `path=[value, value]`. Values that are not TOML are strings, so
    /// `rlc.queue.limit=[1MB, 2MB]` needs no quotes. A number for a setting that takes only text
    /// needs none either.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("found `{text}`, allowed is path=[value, value]");
        let (path, list) = text.split_once('=').ok_or_else(wrong)?;
        let list = list.trim();
        let inside = list.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let inside = inside.ok_or_else(wrong)?;
        let path: Path = path.trim().parse()?;
        let toml =
            format!("v = {list}").parse::<toml::Table>().ok().and_then(|mut t| t.remove("v"));
        let is_text = keys::is_text(&path.to_string());
        let each = |key: &str| -> Result<Vec<Value>, String> {
            let value =
                |part| format!("{key}={part}").parse().map(|setting: Setting| setting.value);
            parts(inside).into_iter().map(value).collect()
        };
        let values = match toml {
            _ if is_text => each(&path.to_string())?,
            Some(Value::Array(values)) => values,
            // A dummy key: a bare name stays a bare name, for the labels.
            _ => each("v")?,
        };
        if values.is_empty() {
            return Err(format!("found no values for `{path}`, allowed is at least one"));
        }
        for (i, value) in values.iter().enumerate() {
            if values[..i].contains(value) {
                return Err(format!("found {value} twice for `{path}`, allowed is each once"));
            }
        }
        let label = label(&path, &values);
        let is_numeric = values.iter().all(|value| sweep_number(value, &label).is_finite());
        Ok(Self { path, values, label, is_numeric })
    }
}

/// The parts of `list` between commas outside of braces, brackets and quotes.
fn parts(list: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, c) in list.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '{' | '[' if !quoted => depth += 1,
            '}' | ']' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// `path`, with the unit of `values` if they have one.
fn label(path: &Path, values: &[Value]) -> String {
    let all =
        |reads: fn(&str) -> bool| values.iter().all(|value| value.as_str().is_some_and(reads));
    let unit = if all(|text| text.parse::<justfull_base::Duration>().is_ok()) {
        "_ms"
    } else if all(|text| text.parse::<justfull_base::Bytes>().is_ok()) {
        "_kB"
    } else if all(|text| text.parse::<justfull_base::BitRate>().is_ok()) {
        "_Mbit/s"
    } else {
        ""
    };
    format!("{path}{unit}")
}

impl Axis {
    /// Path of the setting.
    #[must_use]
    pub const fn path(&self) -> &Path {
        &self.path
    }

    /// The values in their order.
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    fn number(&self, value: &Value) -> Option<f64> {
        Some(sweep_number(value, &self.label)).filter(|number| number.is_finite())
    }

    /// The value in figures and tables.
    fn shown(&self, value: &Value) -> String {
        match self.number(value).filter(|_| self.is_numeric) {
            Some(number) => number.to_string(),
            None => plain(value),
        }
    }
}

/// Text without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

/// The sweep that represents the grid of `axes`; the last axis changes fastest. None without axes.
pub(super) fn sweep(axes: &[Axis], locator: &Locator) -> Result<Option<SweepFile>, ScenarioError> {
    if axes.is_empty() {
        return Ok(None);
    }
    for (i, axis) in axes.iter().enumerate() {
        if axes[..i].iter().any(|other| other.path == axis.path) {
            let twice = format!("`{}` twice", axis.path);
            return Err(locator.option("--grid", &twice, "each path once"));
        }
    }
    let points = axes.iter().try_fold(1_usize, |n, axis| n.checked_mul(axis.values.len()));
    let Some(points) = points.filter(|points| *points <= MOST_RUNS) else {
        let sizes: Vec<String> = axes.iter().map(|axis| axis.values.len().to_string()).collect();
        let found = format!("{} points", sizes.join(" x "));
        return Err(locator.option("--grid", &found, "a grid of at most a million runs"));
    };
    let (mut settings, mut values) = (BTreeMap::new(), Vec::with_capacity(points));
    for point in 0..points {
        let at = at(axes, point);
        let name: Vec<String> =
            at.iter().map(|(axis, value)| format!("{}={}", axis.path, plain(value))).collect();
        let name = name.join(", ");
        let own: BTreeMap<String, Value> =
            at.iter().map(|(axis, value)| (axis.path.to_string(), (*value).clone())).collect();
        settings.insert(name.clone(), Settings::from(own));
        values.push(Value::String(name));
    }
    let label = axes.iter().map(|axis| axis.label.as_str()).collect::<Vec<_>>().join(", ");
    Ok(Some(SweepFile { path: SweepPath::Points(settings), values, label }))
}

/// The value of each axis at `point`.
fn at(axes: &[Axis], mut point: usize) -> Vec<(&Axis, &Value)> {
    let mut found: Vec<(&Axis, &Value)> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        found.push((axis, &axis.values[point % axis.values.len()]));
        point /= axis.values.len();
    }
    found.reverse();
    found
}

/// The axis for the horizontal axis of figures: the first whose values are numbers.
fn across(axes: &[Axis]) -> Option<usize> {
    axes.iter().position(|axis| axis.is_numeric)
}

impl Scenario {
    /// The first axis of the grid with numbers, and its value at `point`.
    pub(super) fn grid_x(&self, point: usize) -> Option<(String, f64)> {
        let axes = &self.overrides.grid;
        let (axis, value) = at(axes, point)[across(axes)?];
        Some((axis.label.clone(), axis.number(value)?))
    }

    /// The title, with the values at `point` of the grid's settings other than [`Scenario::x`].
    #[must_use]
    pub fn label(&self, point: usize) -> String {
        let axes = &self.overrides.grid;
        let shown = across(axes);
        let others: Vec<String> = at(axes, point)
            .iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != shown)
            .map(|(_, (axis, value))| format!("{} {}", axis.path, plain(value)))
            .collect();
        let title = &self.base.title;
        if others.is_empty() { title.clone() } else { format!("{title}: {}", others.join(", ")) }
    }

    /// The settings of a grid with their values at `point`, e.g. `rlc.queue.limit_kB=100;
    /// core.delay_ms=5`; empty without a grid.
    #[must_use]
    pub fn grid(&self, point: usize) -> String {
        let axes = &self.overrides.grid;
        if axes.len() < 2 && across(axes).is_some() {
            return String::new();
        }
        let all = at(axes, point);
        let text =
            |(axis, value): &(&Axis, &Value)| format!("{}={}", axis.label, axis.shown(value));
        all.iter().map(text).collect::<Vec<_>>().join("; ")
    }

    /// The swept setting and its value at `point`, e.g. `interval_ms=20`; empty without a sweep.
    #[must_use]
    pub fn point(&self, point: usize) -> String {
        match (self.grid(point), self.x(point)) {
            (grid, _) if !grid.is_empty() => grid,
            (_, Some((label, value))) => format!("{label}={value}"),
            (_, None) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Overrides, library};
    use std::path::Path as FilePath;

    fn of(grid: &[&str]) -> Result<Scenario, String> {
        let text = library::scenario("demo").expect("it ships");
        let grid = grid.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        let overrides = Overrides { grid, runs: Some(1), ..Overrides::default() };
        Scenario::parse(text, FilePath::new("demo.toml"), None, overrides)
            .map_err(|e| e.to_string())
    }

    #[test]
    fn a_grid_is_the_product_of_its_axes_and_the_last_changes_fastest() {
        let grid = of(&["rlc.queue.limit=[100kB, 1MB]", "core.delay=[5ms, 10ms, 20ms]"])
            .expect("it is sound");
        assert_eq!(grid.points().len(), 6);
        assert_eq!(grid.x(0), Some(("rlc.queue.limit_kB".into(), 100.0)));
        assert_eq!(grid.x(5), Some(("rlc.queue.limit_kB".into(), 1000.0)));
        assert_eq!(grid.grid(4), "rlc.queue.limit_kB=1000; core.delay_ms=10");
        assert!(grid.label(4).ends_with(": core.delay 10ms"), "{}", grid.label(4));
        let job = grid.jobs().into_iter().find(|job| job.point == 4).expect("it is there");
        let text = grid.job_toml(&job).expect("it is sound");
        let tree: toml::Table = text.parse().expect("TOML");
        assert_eq!(tree["rlc"]["queue"]["limit"].as_str(), Some("1MB"));
        assert_eq!(tree["core"]["delay"].as_str(), Some("10ms"));
    }

    #[test]
    fn the_points_are_read_in_no_case_and_told_once() {
        let grid = of(&["core.delay=[5ms, 10ms]"]).expect("it is sound");
        assert!(!grid.tree.contains_key("sweep"));
        let text = grid.resolved_toml(None).expect("it is sound");
        let tree: toml::Table = text.parse().expect("TOML");
        assert_eq!(tree["sweep"]["values"].as_array().map(Vec::len), Some(2), "{text}");
    }

    #[test]
    fn one_axis_is_a_sweep_and_names_are_labels() {
        let one = of(&["rlc.queue.limit=[\"100kB\", \"1MB\"]"]).expect("it is sound");
        assert_eq!((one.grid(1), one.label(1)), (String::new(), one.base.title.clone()));
        assert_eq!(one.point(1), "rlc.queue.limit_kB=1000");
        let named = of(&["rlc.limiter=[drql, { kind = \"fixed\", limit = \"9 packets\" }]"])
            .expect("it is sound");
        assert_eq!((named.points().len(), named.x(0)), (2, None));
        assert_eq!(named.point(0), "rlc.limiter=drql");
        assert!(named.label(1).contains("9 packets"), "{}", named.label(1));
    }

    #[test]
    fn numbers_are_text_where_the_setting_takes_only_text() {
        let path = "flow.download.tcp.sender.kernel";
        let of_values = |list: &str| -> Vec<Value> {
            let axis: Axis = format!("{path}={list}").parse().expect("it is sound");
            axis.values
        };
        let text = ["4.15", "6.18", "rfc"].map(Value::from);
        assert_eq!(of_values("[4.15, 6.18, rfc]"), text);
        assert_eq!(of_values("[4.15, \"6.18\", \"rfc\"]"), text);
        assert_eq!(of(&[&format!("{path}=[4.15, 6.18]")]).expect("it is sound").points().len(), 2);
        let error = of(&[&format!("{path}=[4.15, 4.16]")]).map(drop).expect_err("no such kernel");
        assert!(
            error.contains("4.16") && error.contains("`4.15`, `5.3`, `5.18`, `6.18`"),
            "{error}"
        );
    }

    #[test]
    fn a_wrong_grid_is_one_error() {
        let many: Vec<String> = (1..=1001).map(|n| format!("{n}kB")).collect();
        let many = format!("rlc.queue.limit=[{}]", many.join(","));
        let delays: Vec<String> = (1..=1000).map(|n| format!("{n}us")).collect();
        let delays = format!("core.delay=[{}]", delays.join(","));
        for (grid, why) in [
            (&["rlc.queue.limit=[]"][..], "no values for `rlc.queue.limit`"),
            (&["rlc.queue.limit=[ , ]"], "no values"),
            (&["rlc.queue.limit=1MB"], "path=[value, value]"),
            (&["rlc.queue.limit"], "path=[value, value]"),
            (&["core.delay=[1ms, 1ms]"], "twice"),
            (&["core.delay=[1ms]", "core.delay=[2ms]"], "each path once"),
            (&[&many, &delays], "1001 x 1000 points"),
            (&["core.dellay=[1ms, 2ms]"], "dellay"),
            (&["core.delay=[1ms, fast]"], "fast"),
        ] {
            let error = of(grid).map(drop).expect_err("it is wrong");
            assert!(error.contains(why), "{grid:?}: {error}");
        }
        let text = library::scenario("demo").expect("it ships");
        let grid = vec![delays.parse().expect("it is sound")];
        let overrides = Overrides { grid, runs: Some(500), ..Overrides::default() };
        let error = Scenario::parse(text, FilePath::new("demo.toml"), None, overrides)
            .map(drop)
            .expect_err("two million runs");
        assert!(error.to_string().contains("at most a million runs"), "{error}");
    }
}
