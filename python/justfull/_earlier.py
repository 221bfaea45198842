"""Earlier runs and campaigns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import overload

from justfull._native import runs as _runs
from justfull._results import Saved

_SHOWN = 20


@dataclass(frozen=True)
class Figures:
    """The chief figures of a method: means over its seeds and the points of a sweep."""

    method: str
    delay_ms_p99: float | None
    goodput_mbit_s: float | None


@dataclass(frozen=True)
class Earlier:
    """A folder of results, or the dataset of a campaign."""

    folder: str
    written: str
    kind: str
    scenario: str
    command: str
    version: str
    methods: list[str]
    seeds: list[int]
    duration_s: float | None
    settings: list[str]
    flow: str | None
    figures: list[Figures]
    problem: str | None

    def load(self) -> Saved:
        """The tables and figures, as from `jf.load`. Campaigns have none."""
        return Saved(self.folder)


class Runs(Sequence[Earlier]):
    """Earlier runs, the latest first."""

    def __init__(self, runs: Sequence[Earlier]) -> None:
        self._runs = list(runs)

    @overload
    def __getitem__(self, index: int) -> Earlier: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Earlier | Runs:
        return Runs(self._runs[index]) if isinstance(index, slice) else self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Earlier]:
        return iter(self._runs)

    def __repr__(self) -> str:
        lines = [f"{run.written[:16]}  {run.folder}: {run.kind} {run.scenario}, "
                 f"{', '.join(run.methods)}" for run in self._runs[:_SHOWN]]
        more = len(self) - len(lines)
        return "\n".join([*lines, *([f"... and {more} more"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        def row(run: Earlier) -> str:
            delays = "; ".join(f"{one.method} {one.delay_ms_p99:.3g}" for one in run.figures
                               if one.delay_ms_p99 is not None)
            cells = (run.folder, run.written[:16].replace("T", " "), f"{run.kind} {run.scenario}",
                     "; ".join(run.settings), str(len(run.seeds)), delays, run.problem or "")
            return "".join(f"<td>{escape(cell)}</td>" for cell in cells)

        names = ("folder", "written, UTC", "scenario", "settings", "seeds", "p99, ms", "problem")
        head = "".join(f"<th>{name}</th>" for name in names)
        body = "".join(f"<tr>{row(run)}</tr>" for run in self._runs[:_SHOWN])
        more = len(self) - _SHOWN
        return (f"<div style='overflow-x:auto'><table><thead><tr>{head}</tr></thead><tbody>{body}"
                f"</tbody></table></div>{f'and {more} more' if more > 0 else ''}")


def runs(*folders: str | os.PathLike[str]) -> Runs:
    """Runs and campaigns in `folders` and below, the latest first, as in `justfull runs`; the
    default folder is `results`. OSError if a folder cannot be read."""
    found = json.loads(_runs([os.fspath(folder) for folder in folders or ("results",)]))
    return Runs([Earlier(**{**run, "figures": [Figures(**one) for one in run["figures"]]})
                 for run in found])
