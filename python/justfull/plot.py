"""The report's figures on matplotlib axes.

Every function draws on `ax`, or on the current axes without one, and returns the axes. Labels are
words with units. At several points of a sweep each method has a line for each point. A method has
the same colour as in the report, and the same mark and dashes as in a figure for a paper of
`justfull plot`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import TYPE_CHECKING, Any

from justfull._columns import column
from justfull._native import (
    half_width,
    in_words,
    looks,
    over_time,
    point_in_words,
    time_in_words,
)
from justfull.errors import ArgumentError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from justfull._results import Tables as Results
    from justfull._table import Table
    from justfull.campaigns import Dataset
    from justfull.traces import Trace

__all__ = [
    "backlog", "cases", "ccdf", "cdf", "delay_over_time", "front", "goodput_over_time", "line",
    "rate_cdf", "rates", "series", "style",
]

# The marks of `justfull plot` in matplotlib's letters.
_MARKS = {
    "circle": "o", "square": "s", "triangle": "^", "diamond": "D", "triangle_down": "v", "plus": "P",
    "pentagon": "p", "cross": "X", "star": "*",
}
# Distance of the marks on a line, as a part of the figure's diagonal, and how far the marks of one
# line stand before those of the next.
_APART, _SHIFT = 0.12, 0.037

_UNITS = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54, "pt": 1 / 72, "px": 1 / 96}
# Width in inches and size of type in points of `justfull plot --style`.
_STYLES = {"plain": (8.0, 12.6), "ieee": (3.5, 8.0), "acm": (3.33, 8.0)}
_LENGTH = "a length of 1.5in to 20in, such as 3.5in, 88mm, 9cm, 252pt or 600px"
_FONT = 'a size of 7pt to 24pt, a family, or both, such as "8pt Times New Roman"'


def _refused(field: str, found: object, allowed: str) -> ArgumentError:
    return ArgumentError(f"{field}: found {found}, allowed is {allowed}", field=field,
                         found=str(found), allowed=allowed)


def _number(text: str, unit: str) -> float:
    """The number before `unit`; not a number if it is none."""
    try:
        return float(text.removesuffix(unit))
    except ValueError:
        return math.nan


def _inches(field: str, text: str) -> float:
    unit = next((unit for unit in _UNITS if text.endswith(unit)), None)
    inches = math.nan if unit is None else _number(text, unit) * _UNITS[unit]
    if not 1.5 <= inches <= 20.0:
        raise _refused(field, text, _LENGTH)
    return inches


def style(
    name: str = "plain",
    width: str | None = None,
    height: str | None = None,
    font: str | None = None,
) -> dict[str, Any]:
    """Settings of matplotlib for a figure of a paper, for `pyplot.rc_context`: the sizes of
    `justfull plot --style` (plain, ieee or acm), `--width`, `--height` and `--font`, fonts embedded
    as TrueType, and 600 pixels an inch."""
    if name not in _STYLES:
        raise _refused("name", name, "one of " + ", ".join(_STYLES))
    across, size = _STYLES[name]
    if width is not None:
        own = _inches("width", width)
        size = max(8.0, size * own / across) if name == "plain" else size
        across = own
    down = 0.62 * across if height is None else _inches("height", height)
    family = None
    if font is not None:
        first, _, rest = font.partition(" ")
        family = font.strip()
        if first[:1].isdigit() or first[:1] == "-":
            size, family = _number(first, "pt"), rest.strip()
        if not 7.0 <= size <= 24.0 or not font.strip():
            raise _refused("font", font, _FONT)
    settings = {
        "figure.figsize": (across, down),
        "figure.constrained_layout.use": True,
        "savefig.dpi": 600,
        "pdf.fonttype": 42,
        "axes.titlesize": size,
        "lines.linewidth": 1.2,
    }
    sized = ("font.size", "axes.labelsize", "legend.fontsize", "xtick.labelsize", "ytick.labelsize")
    settings |= {key: size for key in sized}
    if family:
        settings["font.family"] = family
    return settings


def _axes(ax: Axes | None) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.gca()


def _chosen(name: str, wanted: str | None, there: Iterable[Any]) -> list[Any]:
    """All values in order of appearance, or the wanted ones."""
    known = list(dict.fromkeys(there))
    if wanted is None:
        return known
    if wanted not in known:
        allowed = ", ".join(map(str, known))
        raise ArgumentError(f"{name}: found {wanted}, allowed is one of {allowed}",
                            field=name, found=wanted, allowed=allowed)
    return [wanted]


def _asked(results: Results, flow: str | None) -> str:
    """The wanted flow; else the scenario's low-latency flow, else the first."""
    runs = results.runs
    if flow is None:
        asked = [name for name, low in zip(runs["flow"], runs["low_latency"]) if low]
        flow = (asked or runs["flow"])[0]
    return str(_chosen("flow", flow, runs["flow"])[0])


def _points(table: Table) -> list[str]:
    """The point of the sweep of each row, in words; empty without a sweep."""
    scenarios = table["scenario"]
    several = len(set(scenarios)) > 1
    words: dict[tuple[Any, ...], str] = {}

    def point(scenario: str, grid: str | None, name: str | None, value: float | None) -> str:
        text = grid or (f"{name}={value:.15g}" if name is not None and value is not None else "")
        parts = [scenario if several else "", point_in_words(text) if text else ""]
        return ", ".join(part for part in parts if part)

    found = []
    for row in zip(scenarios, table["grid"], table["x_name"], table["x_value"]):
        if row not in words:
            words[row] = point(*row)
        found.append(words[row])
    return found


def _beside(grid: str | None, name: str | None) -> str:
    """The settings of a grid's point other than `name`, in words."""
    parts = [part for part in (grid or "").split("; ") if part.partition("=")[0] not in ("", name)]
    return point_in_words("; ".join(parts)) if parts else ""


# Method and point of a line.
_Line = tuple[str, str]


def _bins(
    table: Table, flow: str | None, seed: int | None, columns: tuple[str, ...]
) -> dict[_Line, list[tuple[Any, ...]]]:
    """Time and columns of each bin, by method and point, of one run each: the run with `seed`, or
    the first run without a seed."""
    seeds: dict[_Line, int] = {}
    bins: dict[_Line, list[tuple[Any, ...]]] = {}
    cells = [table[column] for column in ("time_s", *columns)]
    flows = itertools.repeat(None) if flow is None else table["flow"]
    for method, point, of, name, *values in zip(
            table["method"], _points(table), table["seed"], flows, *cells):
        line = method, point
        if name == flow and seeds.setdefault(line, of if seed is None else seed) == of:
            bins.setdefault(line, []).append(tuple(values))
    return bins


def _means(
    table: Table, flow: str | None, seed: int | None, column: str
) -> dict[_Line, list[tuple[float, float]]]:
    """Time and value of each bin, by method and point: the value of the run with `seed`, or the
    mean over the runs with a value."""
    found: dict[_Line, dict[float, list[float]]] = {}
    flows = itertools.repeat(None) if flow is None else table["flow"]
    for method, point, of, name, time, value in zip(
            table["method"], _points(table), table["seed"], flows, table["time_s"], table[column]):
        if name == flow and seed in (None, of):
            bin = found.setdefault((method, point), {}).setdefault(time, [])
            if value is not None:
                bin.append(value)
    # A bin without packets leaves a gap.
    return {line: [(time, fmean(bins[time]) if bins[time] else math.nan) for time in sorted(bins)]
            for line, bins in found.items()}


# Dashes of the points of a sweep.
_POINT_DASHES = ("-", "--", "-.", ":")


def _looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour, mark and dashes of lines of methods that stand together."""
    names = list(dict.fromkeys(methods))
    found: dict[str, dict[str, Any]] = {}
    for name, (colour, mark, hollow, dashes) in zip(names, looks(names)):
        look: dict[str, Any] = {"color": colour, "marker": _MARKS[mark], "label": name,
                "markerfacecolor": "white" if hollow else colour}
        if dashes:
            look["linestyle"] = (0, tuple(dashes))
        found[name] = look
    return found


def _told_apart(methods: Iterable[str], lines: Iterable[_Line]) -> dict[_Line, dict[str, Any]]:
    """The looks of `lines`: colour and mark of the method, one of `methods`. With several points,
    the dashes show the point."""
    own = _looks(methods)
    lines = list(lines)
    points = list(dict.fromkeys(point for _, point in lines))
    found = {}
    for method, point in lines:
        found[method, point] = own[method]
        if len(points) > 1:
            dashes = _POINT_DASHES[points.index(point) % len(_POINT_DASHES)]
            found[method, point] = own[method] | {
                "label": f"{method}, {point}", "linestyle": dashes}
    return found


def _along(results: Results, lines: Iterable[_Line]) -> dict[_Line, dict[str, Any]]:
    """The same with marks at equal distances."""
    found = _told_apart(results.runs["method"], lines)
    return {line: look | {"markevery": (i * _SHIFT % _APART, _APART)}
            for i, (line, look) in enumerate(found.items())}


def _words(words: str, flow: str) -> str:
    """Inserts the flow into the label of an axis, before the unit: `Delay of voip (ms)`."""
    before, bracket, unit = words.partition(" (")
    return f"{before} of {flow}{bracket}{unit}"


def delay_over_time(
    results: Results, flow: str | None = None, seed: int | None = None, ax: Axes | None = None
) -> Any:
    """Delay of a flow over time in one run of each method: the median of each bin, and a band from
    its 10th to its 90th percentile."""
    axes, flow = _axes(ax), _asked(results, flow)
    columns = ("delay_ms_p10", "delay_ms_p50", "delay_ms_p90")
    found = _bins(results.flow_series, flow, seed, columns)
    drawn = _along(results, found)
    for line, bins in found.items():
        # A bin without packets leaves a gap.
        times, low, mid, high = (
            [math.nan if value is None else value for value in column] for column in zip(*bins))
        axes.plot(times, mid, **drawn[line])
        axes.fill_between(times, low, high, color=drawn[line]["color"], alpha=0.2, linewidth=0)
    axes.set_yscale("log")
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(f"Delay of {flow} (ms)")
    axes.legend()
    return axes


def goodput_over_time(
    results: Results, flow: str | None = None, seed: int | None = None, ax: Axes | None = None
) -> Any:
    """Goodput of a flow over time in one run of each method."""
    axes, flow = _axes(ax), _asked(results, flow)
    found = _bins(results.flow_series, flow, seed, ("goodput_mbit_s",))
    drawn = _along(results, found)
    for line, bins in found.items():
        times, goodputs = zip(*bins)
        axes.plot(times, goodputs, **drawn[line])
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(f"Goodput of {flow} (Mbit/s)")
    axes.legend()
    return axes


def series(
    results: Results,
    y: str = "delay",
    flow: str | None = None,
    seed: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """A quantity over time, as in `justfull plot --kind series`: the mean over the runs of each
    method, or the run with `seed`. `y` is a column of `flow_series`, such as `delay` (the median),
    `delay.p90` or `goodput`, or a column of `series`, such as `rlc_packets`, a sum over all
    flows."""
    axes = _axes(ax)
    found, hint = over_time(y)
    if found is None:
        allowed = f"a column of flow_series or series, or its short name such as delay.p90{hint}"
        raise ArgumentError(f"y: found {y}, allowed is {allowed}", field="y", found=y,
                            allowed=allowed)
    name, of_flow, words = found
    if of_flow:
        flow = _asked(results, flow)
        lines, words = _means(results.flow_series, flow, seed, name), _words(words, flow)
    elif flow is not None:
        raise ArgumentError(f"flow: found {flow}, allowed is none: {name} has all flows together",
                            field="flow", found=flow, allowed="none")
    else:
        lines = _means(results.series, None, seed, name)
    drawn = _along(results, lines)
    for line, points in lines.items():
        times, values = zip(*points)
        axes.plot(times, values, **drawn[line])
    if name.startswith("delay_ms"):
        axes.set_yscale("log")
    axes.set_xlabel("Time (s)")
    axes.set_ylabel(words)
    axes.legend()
    return axes


def _distributions(
    table: Table, quantity: str, flow: str
) -> dict[_Line, list[tuple[float, float]]]:
    """The distribution of a quantity, by method and point of a sweep: at each time the mean share
    over the seeds."""
    found: dict[_Line, dict[int, list[tuple[float, float]]]] = {}
    for method, point, what, of, seed, time, share in zip(
            table["method"], _points(table), table["quantity"], table["of"], table["seed"],
            table["time_ms"], table["share"]):
        if (what, of) == (quantity, flow):
            line = found.setdefault((method, point), {})
            line.setdefault(seed, []).append((time, share))
    return {line: _mean_shares(by_seed) for line, by_seed in found.items()}


def _mean_shares(by_seed: dict[int, list[tuple[float, float]]]) -> list[tuple[float, float]]:
    times = sorted({time for points in by_seed.values() for time, _ in points})
    shares = [[_at(points, time) for time in times] for points in by_seed.values()]
    return [(time, fmean(of_time)) for time, of_time in zip(times, zip(*shares))]


def _at(points: list[tuple[float, float]], time: float) -> float:
    """Share at or below `time`: the last of ascending points that is not beyond it."""
    share = 0.0
    for at, value in points:
        if at > time:
            break
        share = value
    return share


def cdf(
    results: Results, flow: str | None = None, quantity: str = "delay", ax: Axes | None = None
) -> Any:
    """Share of packets that waited no longer than a time, over all seeds."""
    axes, table, flow = _axes(ax), results.cdf, _asked(results, flow)
    _chosen("quantity", quantity, table["quantity"])
    lines = _distributions(table, quantity, flow)
    drawn = _along(results, lines)
    for line, points in lines.items():
        times, shares = zip(*points)
        axes.step(times, shares, where="post", **drawn[line])
    axes.set_xscale("log")
    axes.set_xlabel(_words(time_in_words(quantity), flow))
    axes.set_ylabel("Share of packets at or below")
    axes.legend()
    return axes


def ccdf(
    results: Results, flow: str | None = None, quantity: str = "delay", ax: Axes | None = None
) -> Any:
    """Share of packets that waited longer than a time, with a logarithmic tail."""
    axes, table, flow = _axes(ax), results.cdf, _asked(results, flow)
    _chosen("quantity", quantity, table["quantity"])
    lines = _distributions(table, quantity, flow)
    drawn = _along(results, lines)
    for line, points in lines.items():
        above = [(time, 1 - share) for time, share in points if share < 1]
        if above:
            times, shares = zip(*above)
            axes.step(times, shares, where="post", **drawn[line])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(_words(time_in_words(quantity), flow))
    axes.set_ylabel("Share of packets above")
    axes.legend()
    return axes


def backlog(results: Results, method: str, seed: int | None = None, ax: Axes | None = None) -> Any:
    """Packets in UPF, SDAP and RLC over time, stacked, in one run of a method. With a sweep, the
    run is at the first point."""
    axes, table = _axes(ax), results.series
    _chosen("method", method, table["method"])
    seed = min(table["seed"]) if seed is None else seed
    keys = list(zip(table["method"], table["seed"], _points(table)))
    first = next((key for key in keys if key[:2] == (method, seed)), None)
    rows = [i for i, key in enumerate(keys) if key == first]
    times = [table["time_s"][i] for i in rows]
    layers = ("upf", "sdap", "rlc")
    heights = [[table[f"{layer}_packets"][i] or 0.0 for i in rows] for layer in layers]
    axes.stackplot(times, *heights, labels=[layer.upper() for layer in layers],
                   colors=("#9ecae1", "#6baed6", "#2171b5"))
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Backlog (packets)")
    axes.set_title(f"{method}, seed {seed}")
    axes.legend()
    return axes


def line(
    results: Results,
    y: str = "delay_ms_mean",
    flow: str | None = None,
    ax: Axes | None = None,
) -> Any:
    """A column of `runs`, by its name or short name such as `delay.p99`, over the swept setting:
    mean over the seeds, with its 95 % interval from three seeds on. With a grid, each method has a
    line for each combination of the other settings."""
    axes, table, flow = _axes(ax), results.runs, _asked(results, flow)
    y = column("y", y, table.columns)
    names = [name for name in table["x_name"] if name is not None]
    if not names:
        raise ArgumentError("results: found no swept setting, allowed are those of a sweep or grid",
                            field="results", found="no swept setting", allowed="a sweep or grid")
    points: dict[_Line, dict[float, list[float]]] = {}
    for method, name, grid, x, value in zip(
            table["method"], table["flow"], table["grid"], table["x_value"], table[y]):
        if name == flow and x is not None and value is not None:
            line = method, _beside(grid, names[0])
            points.setdefault(line, {}).setdefault(x, []).append(value)
    drawn = _told_apart(table["method"], points)
    for line, values in points.items():
        xs = sorted(values)
        means = [fmean(values[x]) for x in xs]
        halves = [half_width(values[x]) or 0.0 for x in xs]
        axes.errorbar(xs, means, yerr=halves, capsize=3, **drawn[line])
    axes.set_xlabel(in_words(names[0]))
    axes.set_ylabel(_words(in_words(y), flow))
    axes.legend()
    return axes


def cases(dataset: Dataset, metric: str, flow: str, ax: Axes | None = None) -> Any:
    """A column of a campaign over its swept setting, for each method and each combination of a
    grid's other settings: mean over the seeds, with its 95 % interval from three seeds on."""
    axes = _axes(ax)
    rows = [row for row in dataset.table(metric, flow).to_dicts() if row["x_value"] is not None]
    swept = {(row["scenario"], row["x_name"]) for row in rows}
    if len(swept) != 1:
        raise ArgumentError(f"dataset: found {len(swept)} scenarios with a swept setting, allowed "
                            "is one", field="dataset", found=str(len(swept)), allowed="one")
    rows.sort(key=lambda row: row["x_value"])
    lines: dict[_Line, list[dict[str, Any]]] = {}
    for row in rows:
        line = row["method"], _beside(row["grid"], row["x_name"])
        lines.setdefault(line, []).append(row)
    drawn = _told_apart((row["method"] for row in rows), lines)
    for line, own in lines.items():
        axes.errorbar([row["x_value"] for row in own], [row["mean"] for row in own],
                      yerr=[row["half_width"] or 0.0 for row in own], capsize=3, **drawn[line])
    axes.set_xlabel(in_words(rows[0]["x_name"]))
    axes.set_ylabel(_words(in_words(metric), flow))
    axes.legend()
    return axes


def front(
    dataset: Dataset, flow: str, *, least: str, most: str, ax: Axes | None = None
) -> Any:
    """The cases of a campaign by two columns, and a line through those that no other beats: little
    is good in the column `least`, much in `most`."""
    axes, names = _axes(ax), dataset.scan().collect_schema().names()
    least, most = column("least", least, names), column("most", most, names)
    rows = dataset.pareto(flow, least=[least], most=[most]).to_dicts()
    for method, look in _looks(row["method"] for row in rows).items():
        own = [row for row in rows if row["method"] == method]
        axes.scatter([row[least] for row in own], [row[most] for row in own], label=method,
                     marker=look["marker"], edgecolors=look["color"],
                     facecolors=look["markerfacecolor"])
    for name in dict.fromkeys(row["scenario"] for row in rows):
        points = sorted((row[least], row[most]) for row in rows
                        if row["front"] and row["scenario"] == name)
        axes.plot(*zip(*points), color="0.5", linewidth=1, zorder=0)
    axes.set_xlabel(_words(in_words(least), flow))
    axes.set_ylabel(_words(in_words(most), flow))
    axes.legend()
    return axes


def _named(traces: Trace | Mapping[str, Trace]) -> Mapping[str, Trace]:
    return traces if isinstance(traces, Mapping) else {"": traces}


def rates(
    traces: Trace | Mapping[str, Trace], bin: str | None = None, ax: Axes | None = None
) -> Any:
    """The rate of a trace over time, or of several by their names, over bins of this length."""
    axes = _axes(ax)
    for name, trace in _named(traces).items():
        bin_s, values = trace.rates(bin)
        times = [bin_s * i for i in range(len(values) + 1)]
        axes.stairs(values, times, label=name or None)
    axes.set_xlabel("Time (s)")
    return _rated(axes, "y", traces)


def rate_cdf(
    traces: Trace | Mapping[str, Trace], bin: str | None = None, ax: Axes | None = None
) -> Any:
    """Share of the bins of a trace, or of several by their names, with no more than a rate."""
    axes = _axes(ax)
    for name, trace in _named(traces).items():
        values = sorted(trace.rates(bin)[1])
        shares = [(i + 1) / len(values) for i in range(len(values))]
        axes.step(values, shares, where="post", label=name or None)
    axes.set_ylabel("Share of bins at or below")
    return _rated(axes, "x", traces)


def _rated(axes: Any, along: str, traces: Trace | Mapping[str, Trace]) -> Any:
    axes.set(**{f"{along}label": "Rate (Mbit/s)"})
    if isinstance(traces, Mapping):
        axes.legend()
    return axes
