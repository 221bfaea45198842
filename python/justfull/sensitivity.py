"""Which settings matter: a sample of them is run as a campaign, and SALib makes indices of it.

Needs SALib and polars.
"""

from __future__ import annotations

import json
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from justfull._scenario import Scenario
from justfull.campaigns import Dataset, campaign
from justfull.errors import ArgumentError

__all__ = ["Range", "Sensitivity", "morris", "sobol"]

Range = tuple[str | float, str | float] | tuple[str | float, str | float, str]
"""Lowest and highest value, numbers or texts with the same unit; with "log" as the third, values
are drawn evenly over their logarithms."""

_QUANTITY = re.compile(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)\s*(.*)")
# Units of indivisible amounts.
_WHOLE = ("B", "ns", "bit/s", "packets", "slots")
_LEVELS = 4
# Points in one scenario file: the time to read a sweep is quadratic in its length.
_SWEPT = 32


@dataclass(frozen=True)
class Sensitivity:
    """How much each setting decides of a column."""

    table: Any
    """A frame of polars with a row for each setting, the index that matters most first. Columns
    that end in `_half_width` are half the width of the 95 % interval of the one before."""

    sample: Any
    """A frame of polars with a row for each point: the settings, and the column's mean over the
    seeds."""

    dataset: Dataset
    """All runs."""

    def _repr_html_(self) -> str:
        html: str = self.table._repr_html_()
        return html

    def __repr__(self) -> str:
        return repr(self.table)


@dataclass(frozen=True)
class _Axis:
    path: str
    low: float
    high: float
    unit: str
    whole: bool
    log: bool

    @staticmethod
    def of(path: str, given: Sequence[str | float]) -> _Axis:
        def wrong(allowed: str) -> ArgumentError:
            return ArgumentError(f"{path}: found {given!r}, allowed is {allowed}",
                                 field=path, found=repr(given), allowed=allowed)

        if not 2 <= len(given) <= 3 or (len(given) == 3 and given[2] != "log"):
            raise wrong('lowest and highest value, and "log" or nothing')
        ends = [_quantity(end) for end in given[:2]]
        if None in ends:
            raise wrong("numbers, or numbers with a unit")
        (low, unit), (high, other) = (end for end in ends if end is not None)
        if unit != other:
            raise wrong("two values of the same unit")
        if not low < high:
            raise wrong("a lowest value below the highest")
        if len(given) == 3 and low <= 0:
            raise wrong('a lowest value above 0 for "log"')
        whole = unit in _WHOLE if unit else all(isinstance(end, int) for end in given[:2])
        return _Axis(path, low, high, unit, whole, len(given) == 3)

    def value(self, share: float) -> str | float:
        """The value at `share` of the way from the lowest to the highest."""
        found = self.low + (self.high - self.low) * share
        if self.log:
            found = self.low * math.exp(math.log(self.high / self.low) * share)
        if self.whole:
            return f"{round(found)}{self.unit}" if self.unit else round(found)
        return f"{found:.3f}{self.unit}" if self.unit else found


def _quantity(end: str | float) -> tuple[float, str] | None:
    """A number and its unit."""
    if isinstance(end, str):
        parts = _QUANTITY.fullmatch(end.strip())
        return (float(parts[1]), parts[2]) if parts else None
    return None if isinstance(end, bool) else (float(end), "")


def sobol(
    scenario: Scenario,
    settings: Mapping[str, Range],
    metric: str,
    flow: str,
    *,
    method: str | None = None,
    points: int = 64,
    seeds: int = 1,
    sample_seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    client: Any = None,
    threads: int | None = None,
) -> Sensitivity:
    """Sobol's indices: the share of the variance of `metric` of `flow` that each setting causes by
    itself (`first`), and together with others (`total`).

    `points` is a power of 2; (number of settings + 2) times as many points run, each with the same
    `seeds` under one `method`, by default the scenario's first. `out`, by default
    results/sensitivity/NAME, keeps the runs, so that a study that ended early continues. `client`
    and `threads` are the same as in `jf.campaign`.
    """
    if points < 4 or points & (points - 1):
        raise ArgumentError(f"points: found {points}, allowed is a power of 2, at least 4",
                            field="points", found=str(points), allowed="a power of 2, at least 4")
    study = _Study(scenario, settings, metric, flow, method, seeds)
    from SALib.analyze import sobol as analyse
    from SALib.sample import sobol as sample

    drawn = sample.sample(study.problem, points, calc_second_order=False, seed=sample_seed)
    dataset, frame = study.run(drawn, out or f"results/sensitivity/{scenario.name}-sobol",
                               client, threads)
    values = study.values(frame)
    found = analyse.analyze(study.problem, values, calc_second_order=False, seed=sample_seed)
    columns = {"first": "S1", "first_half_width": "S1_conf",
               "total": "ST", "total_half_width": "ST_conf"}
    return Sensitivity(study.table(found, columns, "total"), frame, dataset)


def morris(
    scenario: Scenario,
    settings: Mapping[str, Range],
    metric: str,
    flow: str,
    *,
    method: str | None = None,
    trajectories: int = 16,
    seeds: int = 1,
    sample_seed: int = 1,
    out: str | os.PathLike[str] | None = None,
    client: Any = None,
    threads: int | None = None,
) -> Sensitivity:
    """Morris's screening, for many settings and few runs: the change of `metric` of `flow` over
    the whole range of a setting, as the mean of its amounts (`mu_star`) and with its sign (`mu`);
    `sigma` is large if the change depends on other settings, or is not linear.

    (Number of settings + 1) times as many points as `trajectories` run. The other arguments are
    the same as in `sobol`.
    """
    if trajectories < 2:
        raise ArgumentError(f"trajectories: found {trajectories}, allowed is at least 2",
                            field="trajectories", found=str(trajectories), allowed="at least 2")
    study = _Study(scenario, settings, metric, flow, method, seeds)
    from SALib.analyze import morris as analyse
    from SALib.sample import morris as sample

    drawn = sample.sample(study.problem, trajectories, num_levels=_LEVELS, seed=sample_seed)
    dataset, frame = study.run(drawn, out or f"results/sensitivity/{scenario.name}-morris",
                               client, threads)
    values = study.values(frame)
    found = analyse.analyze(study.problem, drawn, values, num_levels=_LEVELS, seed=sample_seed)
    columns = {"mu_star": "mu_star", "mu_star_half_width": "mu_star_conf", "mu": "mu",
               "sigma": "sigma"}
    return Sensitivity(study.table(found, columns, "mu_star"), frame, dataset)


class _Study:
    """The questions of a study, and its runs."""

    def __init__(
        self,
        scenario: Scenario,
        settings: Mapping[str, Range],
        metric: str,
        flow: str,
        method: str | None,
        seeds: int,
    ) -> None:
        def wrong(field: str, found: str, allowed: str) -> ArgumentError:
            return ArgumentError(f"{field}: found {found}, allowed is {allowed}",
                                 field=field, found=found, allowed=allowed)

        if len(settings) < 2:
            raise wrong("settings", f"{len(settings)}", "two or more")
        if scenario.axes or scenario.switches or "sweep" in tomllib.loads(scenario.text):
            raise wrong("scenario", "a sweep, a grid or switches", "a scenario without these")
        self.scenario = scenario
        self.axes = [_Axis.of(path, given) for path, given in settings.items()]
        self.metric, self.flow, self.seeds = metric, flow, seeds
        self.method = method if method is not None else scenario.methods[0]
        # Values between 0 and 1; the axes convert them.
        self.problem = {"num_vars": len(self.axes), "names": [axis.path for axis in self.axes],
                        "bounds": [[0.0, 1.0]] * len(self.axes)}

    def run(
        self, drawn: Any, out: str | os.PathLike[str], client: Any, threads: int | None
    ) -> tuple[Dataset, Any]:
        """Runs all points. Returns them, with the column's means."""
        import polars

        folder = Path(out)
        values = [[axis.value(float(share)) for axis, share in zip(self.axes, row)]
                  for row in drawn]
        texts = self._texts(values)
        begun = (folder / "dataset").exists()
        for name, text in texts.items():
            file = folder / name
            if begun and not (file.exists() and file.read_text(encoding="utf-8") == text):
                raise ArgumentError(
                    f"out: found another study in {folder}, allowed is a new folder",
                    field="out", found=f"another study in {folder}", allowed="a new folder")
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        data = self.scenario.data or os.environ.get("JUSTFULL_DATA")
        beside = Path(self.scenario.file).parent
        dataset = campaign(folder / "campaign.toml", folder / "dataset", client=client,
                           threads=threads, data=data or beside)
        means = {row["x_value"]: row["mean"]
                 for row in dataset.table(self.metric, self.flow).to_dicts()}
        frame = polars.DataFrame(
            {axis.path: [row[i] for row in values] for i, axis in enumerate(self.axes)})
        return dataset, frame.with_columns(polars.Series(
            self.metric, [means.get(float(i)) for i in range(len(values))],
            dtype=polars.Float64))

    def values(self, frame: Any) -> Any:
        """The column's means; all points must have one."""
        missing = frame[self.metric].null_count()
        if missing:
            raise ArgumentError(
                f"metric: found no {self.metric} of {self.flow} at {missing} of {len(frame)} "
                "points, allowed is a column that all have", field="metric", found=self.metric,
                allowed="a column that all points have")
        return frame[self.metric].to_numpy()

    def table(self, found: Any, columns: Mapping[str, str], by: str) -> Any:
        """A frame of SALib's results."""
        import polars

        cells = {"setting": [axis.path for axis in self.axes]} | {
            name: [float(value) for value in found[key]] for name, key in columns.items()}
        return polars.DataFrame(cells).sort(by, descending=True, maintain_order=True)

    def _texts(self, values: list[list[str | float]]) -> dict[str, str]:
        """The campaign, and its scenarios: each sweeps over some of the points."""
        parts = [range(len(values))[i:i + _SWEPT] for i in range(0, len(values), _SWEPT)]
        files = [f"scenario/{self.scenario.name}-{i:04}.toml" for i in range(len(parts))]
        lines = [f"scenarios = {_toml(files)}", f"methods = {_toml([self.method])}",
                 f"seeds = {self.seeds}"]
        if self.scenario.variant is not None:
            lines.append(f"variant = {_toml(self.scenario.variant)}")
        lines.append("[set]")
        lines += [f"{_toml(path)} = {_toml(value)}" for path, value in self.scenario.settings]
        texts = {"campaign.toml": "\n".join(lines) + "\n"}
        return texts | {file: self._swept(values, part) for file, part in zip(files, parts)}

    def _swept(self, values: list[list[str | float]], points: range) -> str:
        lines = [self.scenario.text.rstrip("\n"), "", "[sweep]", 'label = "point"',
                 f"values = {_toml([str(i) for i in points])}"]
        for i in points:
            lines.append(f'[sweep.path."{i}"]')
            lines += [f"{_toml(axis.path)} = {_toml(value)}"
                      for axis, value in zip(self.axes, values[i])]
        return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """A value as TOML writes it, on one line."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items())
        return f"{{ {inside} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return json.dumps(value)
