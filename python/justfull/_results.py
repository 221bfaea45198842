"""Results of runs."""

from __future__ import annotations

import os
from html import escape

from justfull import _native
from justfull._table import Table


class Tables:
    """Tables of runs, with the names, columns and values of the result files."""

    def _table(self, name: str) -> Table:
        raise NotImplementedError

    @property
    def runs(self) -> Table:
        """A row for each run and flow."""
        return self._table("runs")

    @property
    def series(self) -> Table:
        """A row for each run and bin of time: backlogs, capacity, use."""
        return self._table("series")

    @property
    def flow_series(self) -> Table:
        """A row for each run, flow name and bin of time: delay, goodput."""
        return self._table("flow_series")

    @property
    def cdf(self) -> Table:
        """A row for each run, distribution and point."""
        return self._table("cdf")

    @property
    def entities(self) -> Table:
        """A row for each run and queue, if the scenario measures queues."""
        return self._table("entities")

    @property
    def cells(self) -> Table:
        """A row for each run and cell, if the scenario has several cells."""
        return self._table("cells")

    @property
    def handovers(self) -> Table:
        """A row for each run and handover."""
        return self._table("handovers")

    @property
    def handover_delay(self) -> Table:
        """A row for each run and interval around handovers."""
        return self._table("handover_delay")

    @property
    def legs(self) -> Table:
        """A row for each run and leg of split bearers, with dual connectivity."""
        return self._table("legs")

    @property
    def carriers(self) -> Table:
        """A row for each run and carrier, if the cell has SCells."""
        return self._table("carriers")

    @property
    def drx(self) -> Table:
        """A row for each run and UE with discontinuous reception."""
        return self._table("drx")

    def colour(self, method: str) -> str:
        """The method's colour in all figures, `#rrggbb`."""
        raise NotImplementedError


class Results(Tables):
    """The runs of a scenario."""

    def __init__(self, native: _native.Results, name: str) -> None:
        self._native = native
        self._name = name

    def _table(self, name: str) -> Table:
        return Table(getattr(self._native, name), name)

    @property
    def packets(self) -> Table:
        """A row for each packet of each run; record them by `run(packets=True)`."""
        return Table(self._native.packets, "packets")

    @property
    def slots(self) -> Table:
        """A row for each slot of each run; record them by `run(slots=True)`."""
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


class Saved(Tables):
    """A folder of results. A number without a fraction in all rows of a column is whole."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        if os.path.exists(os.path.join(self._path, "ledger.jsonl")):
            raise ValueError(f"{self._path}: found the dataset of a campaign, allowed is a folder "
                             f"of results; jf.campaign(FILE, out={self._path!r}) returns a dataset")
        self._native = _native.Saved(self._path)

    def _table(self, name: str) -> Table:
        return Table(self._native.table(name), name)

    @property
    def scenario(self) -> str:
        """Name of the scenario."""
        return self._native.scenario

    @property
    def command(self) -> str:
        """The command that made the folder."""
        return self._native.command

    @property
    def version(self) -> str:
        """The version of the program that made the folder."""
        return self._native.version

    @property
    def scenario_toml(self) -> str:
        """The scenario with every default filled in."""
        return self._native.scenario_toml

    def colour(self, method: str) -> str:
        """The method's colour in all figures, `#rrggbb`."""
        return self._native.colour(method)

    def figures(self) -> dict[str, str]:
        """The figures of the folder as SVG."""
        return self._native.figures()

    def report(self) -> str | None:
        """The report, one HTML page; None if the folder has none."""
        return self._native.html()

    def __repr__(self) -> str:
        return f"<justfull.Saved {self._path}: {self.command}>"


def load(path: str | os.PathLike[str]) -> Saved:
    """The folder of results at `path`, of `justfull run`, `reproduce`, `live` or `Results.save`.

    ValueError if it is not the whole of one run, was changed, or is of another version.
    """
    return Saved(path)


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
