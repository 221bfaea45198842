"""Scenarios: read, changed, checked and run."""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from justfull import _native
from justfull._progress import Progress, shown
from justfull._results import Results
from justfull.errors import BrokenRunError
from justfull.own import Aqm, CongestionControl, Limiter, Method, RbScheduler

# JupyterLab shows a <pre> in a proportional font, in which the lines of the chain do not meet.
_CHAIN = "font-family:monospace;line-height:1.3;overflow-x:auto"

Own = Method | type[Limiter] | type[Aqm] | type[RbScheduler] | type[CongestionControl]


@dataclass(frozen=True)
class Scenario:
    """A scenario with changes. Every change is checked and returns a new scenario."""

    text: str = field(repr=False)
    file: str
    settings: tuple[tuple[str, Any], ...] = ()
    axes: tuple[tuple[str, Iterable[Any]], ...] = ()
    variant: str | None = None
    switches: tuple[str, ...] = ()
    data: str | None = None
    _checked: list[_native.Scenario] = field(default_factory=list, repr=False, compare=False)

    def _read(
        self,
        methods: list[str] | None = None,
        seeds: int | None = None,
        first_seed: int | None = None,
        derived: list[Method] | None = None,
    ) -> _native.Scenario:
        data = self.data if self.data is not None else os.environ.get("JUSTFULL_DATA")
        return _native.Scenario(
            self.text, self.file, data=data or None, set=list(self.settings),
            grid=list(self.axes), methods=methods,
            variant=self.variant, switches=list(self.switches), seeds=seeds,
            first_seed=first_seed, derived=derived or [])

    @property
    def _sound(self) -> _native.Scenario:
        if not self._checked:
            self._checked.append(self._read())
        return self._checked[0]

    def set(self, settings: Mapping[str, Any] | None = None, **more: Any) -> Scenario:
        """With other settings, as `--set`: dotted paths and values with their units, e.g.
        `set({"rlc.queue.limit": "1MB"}, duration="20s")`. A path that `grid` named has this one
        value from now on."""
        pairs = [*(settings or {}).items(), *more.items()]
        names = {path for path, _ in pairs}
        kept = [(path, value) for path, value in self.settings if path not in names]
        axes = tuple((path, values) for path, values in self.axes if path not in names)
        return self._with(settings=(*kept, *pairs), axes=axes)

    def grid(self, axes: Mapping[str, Iterable[Any]]) -> Scenario:
        """Over all combinations of these values, as `--grid`; they replace what `set` gave their
        paths."""
        kept = tuple((path, value) for path, value in self.settings if path not in axes)
        return self._with(settings=kept, axes=tuple(axes.items()))

    def switch(self, *names: str) -> Scenario:
        """With these switches of the file turned on."""
        return self._with(switches=(*self.switches, *names))

    def _with(self, **changes: Any) -> Scenario:
        changed = replace(self, _checked=[], **changes)
        changed._sound  # raises what is wrong
        return changed

    @property
    def name(self) -> str:
        """Short name: the file's without its ending."""
        return self._sound.name

    @property
    def title(self) -> str:
        """One line."""
        return self._sound.title

    @property
    def methods(self) -> list[str]:
        """Names of the methods that it compares."""
        return self._sound.methods

    @property
    def seeds(self) -> list[int]:
        """Seeds of its runs."""
        return self._sound.seeds

    @property
    def points(self) -> list[str]:
        """Points of its sweep or grid; one empty text without."""
        return self._sound.points

    @property
    def warnings(self) -> list[str]:
        """Warnings before the first run."""
        return self._sound.warnings

    def chain(self) -> str:
        """The chain as a picture in text: layers, polls, limits, methods, rates."""
        return self._sound.chain()

    def toml(self, method: str | None = None) -> str:
        """The scenario with every default filled in, as TOML."""
        return self._sound.toml(method)

    def run(
        self,
        methods: Iterable[str | Own] | None = None,
        *,
        seeds: int | None = None,
        first_seed: int | None = None,
        threads: int | None = None,
        packets: bool = False,
        slots: bool = False,
        progress: Progress = None,
    ) -> Results:
        """Makes all runs and returns their results.

        `methods` are names of shipped methods or the scenario's, and methods of your own;
        `seeds` is the number of runs of each. `packets` and `slots` keep a record of each packet
        (72 bytes of memory each) and slot. `progress` is True or False for a bar or none, or a
        function of finished runs and simulated seconds; by default there is a bar if the output is
        a terminal. Ctrl-C ends the runs.

        Raises ScenarioError, ArgumentError, BrokenRunError, and the exceptions of a method in
        Python.
        """
        names, own, derived = _methods(methods)
        native = self._read(names, seeds, first_seed, derived) if (
            names is not None or seeds is not None or first_seed is not None) else self._sound
        total_s = native.runs * native.duration_s
        with shown(progress, native.runs, total_s) as tell:
            made = native.run(
                threads=threads or len(os.sched_getaffinity(0)), progress=tell,
                packets=packets, slots=slots, own=own)
        results = Results(made, native.name)
        if results.broken:
            raise BrokenRunError(results.broken, results)
        return results

    def __str__(self) -> str:
        return f"{self.name}: {self.title}\n\n{self.chain()}"

    def _repr_html_(self) -> str:
        return (f"<b>{html.escape(self.name)}</b>: {html.escape(self.title)}"
                f"<pre style='{_CHAIN}'>{html.escape(self.chain())}</pre>")


def _methods(
    methods: Iterable[str | Own] | None,
) -> tuple[list[str] | None, dict[str, Method], list[Method]]:
    if methods is None:
        return None, {}, []
    if isinstance(methods, (str, type, Method)):
        methods = [methods]
    names: list[str] = []
    own: dict[str, Method] = {}
    derived: list[Method] = []
    for given in methods:
        if isinstance(given, str):
            names.append(given)
            continue
        method = Method.of(given)
        names.append(method.name)
        derived.append(replace(method, settings=dict(method.settings)))
        if method.decides:
            own[method.name] = method
    return names, own, derived


def scenario(
    source: str | os.PathLike[str],
    *,
    variant: str | None = None,
    data: str | os.PathLike[str] | None = None,
) -> Scenario:
    """The scenario of a name that ships, of a file, or of TOML text (anything with a line feed).

    `data` is the folder of traces that are not part of the program; the default is the environment
    variable JUSTFULL_DATA.
    """
    name = os.fspath(source)
    text, file = (name, "scenario.toml") if "\n" in name else _native.scenario_text(name)
    made = Scenario(text, str(file), variant=variant,
                    data=None if data is None else os.fspath(data))
    made._sound  # raises what is wrong
    return made


def scenarios() -> list[str]:
    """Names of the scenarios that ship."""
    return [name for name, _ in _native.shipped_scenarios()]


def methods() -> list[str]:
    """Names of the methods that ship."""
    return _native.shipped_methods()


