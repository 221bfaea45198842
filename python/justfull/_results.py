"""Results of runs."""

from __future__ import annotations

import os
from html import escape

from justfull import _native
from justfull._table import Table


class Results:
    """The runs of a scenario. Its tables have the names, columns and values of the result files."""

    def __init__(self, native: _native.Results, name: str) -> None:
        self._native = native
        self._name = name

    @property
    def runs(self) -> Table:
        """A row for each run and flow."""
        return Table(self._native.runs, "runs")

    @property
    def series(self) -> Table:
        """A row for each run and bin of time: backlogs, capacity, use."""
        return Table(self._native.series, "series")

    @property
    def flow_series(self) -> Table:
        """A row for each run, flow name and bin of time: delay, goodput."""
        return Table(self._native.flow_series, "flow_series")

    @property
    def cdf(self) -> Table:
        """A row for each run, distribution and point."""
        return Table(self._native.cdf, "cdf")

    @property
    def entities(self) -> Table:
        """A row for each run and queue, if the scenario measures queues."""
        return Table(self._native.entities, "entities")

    @property
    def cells(self) -> Table:
        """A row for each run and cell, if the scenario has several cells."""
        return Table(self._native.cells, "cells")

    @property
    def handovers(self) -> Table:
        """A row for each run and handover."""
        return Table(self._native.handovers, "handovers")

    @property
    def handover_delay(self) -> Table:
        """A row for each run and interval around handovers."""
        return Table(self._native.handover_delay, "handover_delay")

    @property
    def legs(self) -> Table:
        """A row for each run and leg of split bearers, with dual connectivity."""
        return Table(self._native.legs, "legs")

    @property
    def carriers(self) -> Table:
        """A row for each run and carrier, if the cell has SCells."""
        return Table(self._native.carriers, "carriers")

    @property
    def drx(self) -> Table:
        """A row for each run and UE with discontinuous reception."""
        return Table(self._native.drx, "drx")

    @property
    def packets(self) -> Table:
        """A row for each packet of each run; ask for them by `run(packets=True)`."""
        return Table(self._native.packets, "packets")

    @property
    def slots(self) -> Table:
        """A row for each slot of each run; ask for them by `run(slots=True)`."""
        return Table(self._native.slots, "slots")

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return self._native.title

    @property
    def notes(self) -> list[str]:
        """Notes for the reader."""
        return self._native.notes

    @property
    def broken(self) -> list[str]:
        """Runs that broke an invariant; their results are left out."""
        return self._native.broken

    @property
    def scenario_toml(self) -> str:
        """The scenario with every default filled in."""
        return self._native.scenario_toml

    def colour(self, method: str) -> str:
        """The method's colour in all figures, `#rrggbb`."""
        return self._native.colour(method)

    def figures(self) -> dict[str, str]:
        """The figures of the report as SVG."""
        return {name: svg for name, _, svg in self._native.figures()}

    def report(self) -> str:
        """The report, one HTML page."""
        return self._native.html()

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> list[str]:
        """Writes the results folder of the command line. Returns messages about the writing.

        `force` replaces a folder with other results.
        """
        return self._native.save(os.fspath(path), scenario=self._name, force=force)

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        return f"<justfull.Results {self._name}: {len(self.runs)} rows of runs>"

    def _repr_html_(self) -> str:
        return "".join(_as_html(*group) for group in self._native.tables())


def _as_html(
    heading: str, header: list[str], rows: list[tuple[list[str], str, str]], notes: list[str]
) -> str:
    def cells(tag: str, row: list[str]) -> str:
        return "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)

    head = cells("th", [cell.replace("\n", " ") for cell in header])
    body = ""
    for row, kind, note in rows:
        style = " style='font-style:italic'" if kind == "reference" else ""
        body += f"<tr{style}>{cells('td', row)}</tr>"
        if note:
            body += f"<tr><td colspan='{len(header)}'>{escape(note)}</td></tr>"
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (f"<h4>{escape(heading)}</h4><div style='overflow-x:auto'><table><thead><tr>{head}"
            f"</tr></thead><tbody>{body}</tbody></table></div>{below}")
