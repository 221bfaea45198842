//! Traces of a link's capacity: read, described, written, fitted and made by chance.

use crate::errors;
use justfull_base::{Bytes, ConfigError, Duration};
use justfull_report::export;
use justfull_trace::fit::{self, Over, Statistics};
use justfull_trace::info::{self, Info};
use justfull_trace::{
    self as trace, FileFormat, Loaded, Output, ReadOption, ReadOptions, Timeline, Words, near,
};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

/// The mean and the standard deviation of the rate in Mbit/s, its autocorrelation after 1, 10 and
/// 100 steps, its 5th, 50th and 95th percentile, the share of silence, and the mean and the longest
/// silence in seconds.
type Moments = (f64, f64, [Option<f64>; 3], [f64; 3], [f64; 3]);

/// A trace in memory.
#[pyclass(frozen, module = "justfull._native")]
pub(crate) struct Trace {
    loaded: Loaded,
    name: String,
}

/// Parses `text` as the command line does.
fn told<T: FromStr>(py: Python<'_>, field: &str, text: &str) -> PyResult<T>
where
    T::Err: Display,
{
    text.parse().map_err(|why: T::Err| errors::sentence(py, field, text, &why.to_string()))
}

/// An error of the library, under the name that the argument has here.
fn refused(py: Python<'_>, error: &ConfigError) -> PyErr {
    let field = match error.field.as_str() {
        "n_prb" => "prbs",
        "from-time" => "start",
        "to-time" => "end",
        "to" => "format",
        other => other,
    };
    errors::argument(py, field, &error.value, &error.bound)
}

/// The options for reading, from the options of `justfull trace` by their names.
fn options(py: Python<'_>, given: &BTreeMap<String, String>) -> PyResult<ReadOptions> {
    let mut options = ReadOptions { words: Words::Python, ..ReadOptions::default() };
    for (name, text) in given {
        let option = options.words.option(name).ok_or_else(|| {
            let all = ReadOption::ALL.iter().filter_map(|option| options.words.bare(*option));
            let mut all: Vec<String> = all.collect();
            all.sort_unstable();
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let near = near::did_you_mean(&near::near(name, &all));
            errors::argument(py, "options", name, &format!("one of {}{near}", all.join(", ")))
        })?;
        options.set(option, text).map_err(|why| errors::sentence(py, name, text, &why))?;
    }
    options
        .set_quality(
            given.get("map").map(String::as_str),
            whole(py, given, "prbs")?,
            whole(py, given, "layers")?,
        )
        .map_err(|error| refused(py, &error))?;
    Ok(options)
}

fn whole<T: FromStr>(
    py: Python<'_>,
    given: &BTreeMap<String, String>,
    field: &str,
) -> PyResult<Option<T>> {
    let read = |text: &String| {
        text.parse().map_err(|_| errors::argument(py, field, text, "a whole number above 0"))
    };
    given.get(field).map(read).transpose()
}

fn moments(of: &Statistics) -> Moments {
    let silences = [of.silent, of.silence_s, of.longest_silence_s];
    (of.mean_mbit_s, of.sd_mbit_s, of.autocorrelation, of.percentiles, silences)
}

impl Trace {
    fn of(timeline: Timeline, name: String) -> Self {
        Self { loaded: Loaded { timeline, format: FileFormat::Csv, notes: Vec::new() }, name }
    }

    fn timeline(&self) -> &Timeline {
        &self.loaded.timeline
    }
}

#[pymethods]
impl Trace {
    /// Reads the trace in `file`.
    #[new]
    fn new(py: Python<'_>, file: PathBuf, given: BTreeMap<String, String>) -> PyResult<Self> {
        let options = options(py, &given)?;
        let loaded = py.detach(|| trace::load(&file, &options));
        let loaded = loaded.map_err(|error| errors::trace(py, &file, &error))?;
        Ok(Self { loaded, name: file.display().to_string() })
    }

    /// Length in seconds.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.timeline().duration().as_secs_f64()
    }

    /// Repairs, estimates and skipped parts of the reading.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.loaded.notes.clone()
    }

    /// Seconds of a bin, and the rate in Mbit/s of each.
    #[pyo3(signature = (bin=None))]
    fn rates(&self, py: Python<'_>, bin: Option<&str>) -> PyResult<(f64, Vec<f64>)> {
        let bin = match bin {
            Some(text) => told(py, "bin", text)?,
            None => info::default_bin(self.timeline()),
        };
        let rates = self.timeline().rates_mbit_s(bin).map_err(|error| refused(py, &error))?;
        Ok((bin.as_secs_f64(), rates))
    }

    /// Its description, as JSON.
    #[pyo3(signature = (bin=None))]
    fn info(&self, py: Python<'_>, bin: Option<&str>) -> PyResult<String> {
        let bin = bin.map(|text| told(py, "bin", text)).transpose()?;
        let info = Info::of(&self.name, &self.loaded, bin).map_err(|error| refused(py, &error))?;
        Ok(info.json())
    }

    /// The part from `start` on and before `end`.
    fn part(&self, py: Python<'_>, start: &str, end: &str) -> PyResult<Self> {
        let (from, to) = (told(py, "start", start)?, told(py, "end", end)?);
        let part = self.timeline().slice(from, to).map_err(|error| refused(py, &error))?;
        Ok(Self::of(part, self.name.clone()))
    }

    /// Writes it to `file`. Returns the parts that the file cannot hold.
    #[pyo3(signature = (file, format, packet=None))]
    fn save(
        &self,
        py: Python<'_>,
        file: PathBuf,
        format: &str,
        packet: Option<&str>,
    ) -> PyResult<Vec<String>> {
        let format = told(py, "format", format)?;
        let packet = packet.map(|text| told::<Bytes>(py, "packet", text)).transpose()?;
        let output = Output::new(self.timeline(), format, packet);
        let output = output.map_err(|error| refused(py, &error))?;
        py.detach(|| export::write_whole(&file, |out| output.write(out)))
            .map_err(|error| PyOSError::new_err(error.to_string()))?;
        Ok(output.notes)
    }

    /// A Markov chain fitted to it, as a part of a scenario in TOML, and the moments of the trace,
    /// of the trace in the chain's states, and of the chain.
    #[pyo3(signature = (over=None, step=None, given=BTreeMap::new()))]
    fn fit(
        &self,
        py: Python<'_>,
        over: Option<&str>,
        step: Option<&str>,
        given: BTreeMap<String, String>,
    ) -> PyResult<(String, [Moments; 3])> {
        let over = match over {
            Some(text) => told(py, "over", text)?,
            None if self.timeline().cqi().is_some() => Over::Cqi,
            None => Over::Rate,
        };
        let step = step.map(|text| told(py, "step", text)).transpose()?;
        let quality = options(py, &given)?.quality;
        let sized = given.contains_key("prbs");
        let fitted = py.detach(|| fit::fit(self.timeline(), over, step, &quality, sized));
        let fitted = fitted.map_err(|error| refused(py, &error))?;
        let told = [&fitted.trace, &fitted.quantised, &fitted.chain].map(moments);
        Ok((fitted.toml(&self.name), told))
    }
}

/// A trace of `duration` that the chain `text`, a name of a shipped one or TOML, makes by chance.
#[pyfunction]
pub(crate) fn synthesise(py: Python<'_>, text: &str, seed: u64, duration: &str) -> PyResult<Trace> {
    let config = match fit::shipped_fit(text) {
        Some(config) => config,
        None => fit::parse_fit(text).map_err(|why| errors::sentence(py, "fit", text, &why))?,
    };
    let duration: Duration = told(py, "duration", duration)?;
    let made = py.detach(|| fit::synthesise(&config, seed, duration));
    let made = made.map_err(|error| refused(py, &error))?;
    Ok(Trace::of(made, format!("made with seed {seed}")))
}

/// Names of the chains that ship.
#[pyfunction]
pub(crate) fn shipped_fits() -> Vec<&'static str> {
    fit::SHIPPED_FITS.to_vec()
}
