//! Scenarios: parsed by the code that the command line uses, with settings from Python's values.

use crate::errors;
use crate::own::Own;
use crate::results::Results;
use crate::run::{self, Keep};
use justfull_lab::plugin::own_limiter;
use justfull_plugin::{Plugin, PluginError};
use justfull_scenario::{Axis, Derived, DerivedLimiter, Overrides, Setting, Value, library, near};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario that has been read and found sound.
#[pyclass(frozen, module = "justfull._native")]
pub(crate) struct Scenario {
    pub(crate) scenario: Arc<justfull_scenario::Scenario>,
}

/// A value of Python as a value of TOML.
fn value(field: &str, found: &Bound<'_, PyAny>) -> PyResult<Value> {
    let py = found.py();
    if found.is_instance_of::<PyBool>() {
        Ok(Value::Boolean(found.extract()?))
    } else if found.is_instance_of::<PyInt>() {
        let whole = found.extract::<i64>();
        whole.map(Value::Integer).map_err(|_| {
            errors::argument(py, field, &found.to_string(), "a whole number of 64 bits")
        })
    } else if found.is_instance_of::<PyFloat>() {
        Ok(Value::Float(found.extract()?))
    } else if found.is_instance_of::<PyString>() {
        Ok(Value::String(found.extract()?))
    } else if let Ok(table) = found.cast::<PyDict>() {
        let pair = |(key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
            let key: String = key.extract()?;
            let item = value(&format!("{field}.{key}"), &item)?;
            Ok((key, item))
        };
        table.iter().map(pair).collect::<PyResult<_>>().map(Value::Table)
    } else if let Ok(items) = found.try_iter() {
        let item = |item: PyResult<Bound<'_, PyAny>>| value(field, &item?);
        items.map(item).collect::<PyResult<_>>().map(Value::Array)
    } else {
        let allowed = "a bool, a number, a text, or a list or dict of these";
        Err(errors::argument(py, field, &found.get_type().name()?.to_string(), allowed))
    }
}

fn setting(path: &str, found: &Bound<'_, PyAny>) -> PyResult<Setting> {
    let value = value(path, found)?;
    Setting::new(path, value)
        .map_err(|why| errors::argument(found.py(), path, &why, "a path of the scenario"))
}

fn axis(path: &str, values: &Bound<'_, PyAny>) -> PyResult<Axis> {
    match value(path, values)? {
        found @ Value::Array(_) => format!("{path}={found}")
            .parse()
            .map_err(|why: String| errors::argument(values.py(), "grid", &why, "path: [values]")),
        other => Err(errors::argument(values.py(), path, &other.to_string(), "a list of values")),
    }
}

/// A method derived from another's settings.
#[derive(FromPyObject)]
pub(crate) struct Method<'py> {
    name: String,
    base: String,
    settings: BTreeMap<String, Bound<'py, PyAny>>,
    plugin: Option<PathBuf>,
}

impl Method<'_> {
    fn derived(&self, py: Python<'_>) -> PyResult<Derived> {
        let Self { name, base, settings, plugin } = self;
        let set = settings.iter().map(|(path, at)| Ok((path.clone(), setting(path, at)?.value)));
        let limiter = plugin.as_ref().map(|file| {
            let wrong = |e: PluginError| {
                let found = format!("{}: {}", e.file, e.found);
                errors::argument(py, "plugin", &found, &e.allowed)
            };
            Plugin::load(file).map(|own| DerivedLimiter::Own(own_limiter(&own))).map_err(wrong)
        });
        Ok(Derived {
            name: name.clone(),
            title: format!("{base}, changed in Python"),
            base: base.clone(),
            set: set.collect::<PyResult<_>>()?,
            limiter: limiter.transpose()?.unwrap_or_default(),
        })
    }
}

#[pymethods]
impl Scenario {
    /// Reads `text`; messages name it `file`.
    #[new]
    #[allow(clippy::too_many_arguments)]
    #[pyo3(signature = (
        text, file, *, data=None, set=Vec::new(), grid=Vec::new(), methods=None, variant=None,
        switches=Vec::new(), seeds=None, first_seed=None, derived=Vec::new()
    ))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: PathBuf,
        data: Option<PathBuf>,
        set: Vec<(String, Bound<'_, PyAny>)>,
        grid: Vec<(String, Bound<'_, PyAny>)>,
        methods: Option<Vec<String>>,
        variant: Option<String>,
        switches: Vec<String>,
        seeds: Option<u32>,
        first_seed: Option<u64>,
        derived: Vec<Method<'_>>,
    ) -> PyResult<Self> {
        let overrides = Overrides {
            set: set.iter().map(|(path, value)| setting(path, value)).collect::<PyResult<_>>()?,
            grid: grid.iter().map(|(path, values)| axis(path, values)).collect::<PyResult<_>>()?,
            methods,
            variant,
            switches,
            runs: seeds,
            seed: first_seed,
            derived: derived.iter().map(|own| own.derived(py)).collect::<PyResult<_>>()?,
            ..Overrides::default()
        };
        let read = || justfull_scenario::Scenario::parse(text, &file, data, overrides);
        let scenario = py.detach(read).map_err(|error| errors::scenario(py, &error))?;
        Ok(Self { scenario: Arc::new(scenario) })
    }

    /// Short name.
    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }

    /// Its title.
    #[getter]
    fn title(&self) -> &str {
        &self.scenario.base.title
    }

    /// Names of its methods.
    #[getter]
    fn methods(&self) -> Vec<String> {
        self.scenario.methods().to_vec()
    }

    /// Seeds of its runs.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.scenario.seeds()
    }

    /// Its points: a label for each, empty without a sweep.
    #[getter]
    fn points(&self) -> Vec<String> {
        (0..self.scenario.points().len()).map(|point| self.scenario.point(point)).collect()
    }

    /// Number of its runs.
    #[getter]
    fn runs(&self) -> usize {
        self.scenario.jobs().len()
    }

    /// Simulated seconds of one run.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.scenario.base.duration.as_secs_f64()
    }

    /// Warnings before the first run.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.scenario.warnings().map_err(|error| errors::scenario(py, &error))
    }

    /// Makes all runs on `threads` threads. `progress` is called with finished runs and simulated
    /// seconds about ten times a second.
    #[pyo3(signature = (
        *, threads, progress=None, packets=false, slots=false, own=BTreeMap::new()
    ))]
    fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        packets: bool,
        slots: bool,
        own: BTreeMap<String, Own>,
    ) -> PyResult<Results> {
        let keep = Keep { packets, slots };
        run::run(py, &self.scenario, threads, progress.as_ref(), keep, own)
    }

    /// The chain as a picture in text.
    fn chain(&self, py: Python<'_>) -> PyResult<String> {
        self.scenario.chain().map_err(|error| errors::scenario(py, &error))
    }

    /// The scenario with every default filled in, as TOML.
    #[pyo3(signature = (method=None))]
    fn toml(&self, py: Python<'_>, method: Option<&str>) -> PyResult<String> {
        self.scenario.resolved_toml(method).map_err(|error| errors::scenario(py, &error))
    }
}

/// Text and file of the scenario `name`: a file, or a shipped one.
#[pyfunction]
pub(crate) fn scenario_text(py: Python<'_>, name: &str) -> PyResult<(String, PathBuf)> {
    let path = Path::new(name);
    match library::scenario(name).filter(|_| !path.exists()) {
        Some(text) => Ok((text.into(), path.with_extension("toml"))),
        None => justfull_scenario::Scenario::text_of(path).map(|text| (text, path.into())).map_err(
            |mut error| {
                if !path.exists() {
                    let known: Vec<&str> = library::SCENARIOS.iter().map(|s| s.0).collect();
                    let near = near::did_you_mean(&near::near(name, &known));
                    error.allowed =
                        format!("{}, or the name of a shipped scenario{near}", error.allowed);
                }
                errors::scenario(py, &error)
            },
        ),
    }
}

/// Name and first lines of each shipped scenario.
#[pyfunction]
pub(crate) fn shipped_scenarios() -> Vec<(String, String)> {
    library::SCENARIOS.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect()
}

/// Names of the shipped methods.
#[pyfunction]
pub(crate) fn shipped_methods() -> Vec<String> {
    let library = justfull_scenario::MethodLibrary::shipped();
    library.names().into_iter().map(str::to_string).collect()
}
