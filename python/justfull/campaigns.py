"""Campaigns: thousands of runs as one dataset, on this machine or on a cluster.

The dataset, its parts and its ledger are the same as those of `justfull campaign`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any

from justfull import _native
from justfull._apart import Maker, Place
from justfull._columns import column
from justfull._progress import Progress, Tell, shown
from justfull.errors import ArgumentError, JustfullError

__all__ = ["Dataset", "VersionError", "WorkerError", "campaign"]

_AHEAD = 2

# Jobs of a part: cases by their names, each with first and last seed.
_Batch = list[tuple[str, int, int]]

# The columns of `runs.csv` that identify a case.
_CASE = ["scenario", "x_name", "x_value", "grid", "method"]


def _one_of(field: str, found: str, known: Sequence[str]) -> None:
    if found not in known:
        allowed = ", ".join(sorted(known))
        raise ArgumentError(f"{field}: found {found}, allowed is one of {allowed}",
                            field=field, found=found, allowed=allowed)


class VersionError(JustfullError):
    """A worker has another version of the program."""


class WorkerError(JustfullError):
    """A part could not be made on any worker; finished parts are kept."""


class Dataset:
    """A campaign's results: a folder of Parquet parts and their ledger."""

    def __init__(self, native: _native.Campaign, path: Path) -> None:
        self._native = native
        self.path = path

    @property
    def tally(self) -> dict[str, Any]:
        """How far it is: jobs, done, open, failed (in words), parts, bytes, cpu_s."""
        return self._native.tally()

    def scan(self) -> Any:
        """All rows as a lazy frame of polars, with the columns of `runs.csv` and `job`. Raises
        ArgumentError for a part whose file has changed."""
        import polars

        return polars.scan_parquet(self._native.parts(), hive_partitioning=False, glob=False)

    def table(self, metric: str, flow: str, against: str | None = None) -> Any:
        """A frame of polars with a row for each case: n, mean, and half the width of the 95 %
        interval of the mean (null with fewer than three seeds). `metric` is a column, or its short
        name such as `delay.p99`.

        With the name of a method in `against`, the values are differences to that method, seed by
        seed at the same point.
        """
        import polars

        metric = column("metric", metric, self.scan().collect_schema().names())
        rows = self._values([metric], flow)
        if against is not None:
            methods = rows["method"].unique().to_list()
            _one_of("against", against, methods)
            base = rows.filter(polars.col("method") == against).drop("method")
            rows = rows.join(base, on=[*_CASE[:-1], "seed"], suffix="_base", nulls_equal=True)
            rows = rows.filter(polars.col("method") != against).with_columns(
                polars.col(metric) - polars.col(f"{metric}_base"))
        found = rows.group_by(_CASE, maintain_order=True).agg(
            n=polars.len(), mean=polars.col(metric).mean(), values=polars.col(metric))
        halves = [_native.half_width(values) for values in found["values"].to_list()]
        return found.drop("values").with_columns(
            polars.Series("half_width", halves, dtype=polars.Float64))

    def report(self, columns: Sequence[str] = (), against: str | None = None) -> Path:
        """Writes `report.html` into the dataset's folder, with figures and tables of all flows, and
        returns the file. `columns` are names or short names of columns; by default the target's,
        mean, p95 and p99 of delay, and goodput. `against` is the method that others are compared
        with."""
        return self._native.report(list(columns), against)

    def pareto(self, flow: str, *, least: Sequence[str] = (), most: Sequence[str] = ()) -> Any:
        """A frame of polars with the means of each case, and `front`: no case of the same scenario
        is at least as good in every column and better in one. Little is good in the columns
        `least`, much in `most`."""
        import polars

        there = self.scan().collect_schema().names()
        least = [column("least", name, there) for name in least]
        most = [column("most", name, there) for name in most]
        names = [*least, *most]
        if len(names) < 2:
            raise ArgumentError("least, most: found fewer than two columns, allowed are two or "
                                "more", field="least", found=str(names), allowed="two or more")
        means = self._values(names, flow).group_by(_CASE, maintain_order=True).agg(
            *[polars.col(name).mean() for name in names])
        points = [(row["scenario"], *[row[name] for name in least],
                   *[-row[name] for name in most]) for row in means.to_dicts()]

        def beaten(point: tuple[Any, ...]) -> bool:
            return any(other[0] == point[0] and other != point
                       and all(a <= b for a, b in zip(other[1:], point[1:])) for other in points)

        return means.with_columns(
            polars.Series("front", [not beaten(point) for point in points]))

    def _values(self, columns: Sequence[str], flow: str) -> Any:
        """Case, seed and columns of all jobs, without those that lack a value."""
        import polars

        scan = self.scan()
        rows = scan.filter(polars.col("flow") == flow).select(*_CASE, "seed", *columns).collect()
        if rows.is_empty():
            _one_of("flow", flow, scan.select("flow").unique().collect()["flow"].to_list())
        return rows.drop_nulls(list(columns)).sort(*_CASE, "seed", nulls_last=True)

    def __repr__(self) -> str:
        tally = self.tally
        return (f"<justfull.Dataset {self.path}: {tally['done']} of {tally['jobs']} jobs, "
                f"{tally['parts']} parts>")


def campaign(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    client: Any = None,
    threads: int | None = None,
    part_s: float = 2.0,
    retry: bool = False,
    progress: Progress = None,
    data: str | os.PathLike[str] | None = None,
    plugins: bool = False,
) -> Dataset:
    """Makes the missing jobs of a campaign's dataset, and returns the dataset.

    With `client`, a `distributed.Client`, its workers make the parts; they need the same version of
    justfull, and the folder `out` (default: results/campaign/NAME), the file and the traces under
    the same paths. A part is made of as many jobs as take about `part_s` seconds of CPU: more is
    better on a large cluster. Without it, `threads` threads of this machine make them. A campaign
    that ended early continues at the next call; nothing is made twice. With `retry`,
    jobs that have failed are made once more. `progress` is the same as in `Scenario.run`.

    Each job of a method in Python is made in a process of its own: an exception, or the end of the
    process, is the failure of this job alone.

    With `plugins` the plugins that the file names are loaded, here and on the workers; their code
    runs with your rights.

    Raises ScenarioError and ArgumentError for a wrong file, OSError for the disk, VersionError for
    a worker with another version, WorkerError for a part that no worker could make.
    """
    source = Path(file).absolute()
    folder = Path(out).absolute() if out else Path("results/campaign", source.stem).absolute()
    traces = os.fspath(data) if data is not None else os.environ.get("JUSTFULL_DATA")
    place: Place = (os.fspath(source), os.fspath(folder), traces or None, plugins)
    native = _native.Campaign(*place)
    if native.plugins and not plugins:
        library = os.fspath(native.plugins[0])
        allowed = f"True, by which the code of {library} runs with your rights"
        raise ArgumentError(f"plugins: found False, allowed is {allowed}",
                            field="plugins", found="False", allowed=allowed)
    native.open(retry)
    try:
        if native.python:
            with Maker(place) as maker:
                maker.start()  # raises what is wrong, before the first job
        with shown(progress, *native.open_work()) as tell:
            if client is None:
                count = threads or len(os.sched_getaffinity(0))
                told = _Told(native, tell)
                native.run(count, told.others)
                if native.python:
                    _in_processes(native, place, count, told)
            else:
                _on_cluster(native, client, place, part_s, _Told(native, tell))
    finally:
        native.close()
    return Dataset(native, folder)


@lru_cache(maxsize=4)
def _known(source: str, folder: str, traces: str | None, plugins: bool) -> _native.Campaign:
    """A worker reads a campaign once, and again when its caller knows other cases."""
    return _native.Campaign(source, folder, traces, plugins)


def _version() -> tuple[str, str]:
    return _native.VERSION, _native.SOURCE


def _refuse(worker: str, there: tuple[str, str], here: tuple[str, str]) -> VersionError:
    return VersionError(
        f"worker {worker}: found justfull {there[0]}, source {there[1]}, allowed is that of the "
        f"caller, {here[0]}, source {here[1]}")


class _Told:
    """Sums up the finished work, for the caller's progress."""

    def __init__(self, native: _native.Campaign, tell: Tell | None) -> None:
        self._native, self._tell = native, tell
        self._finished, self._simulated_s = 0, 0.0

    def others(self, finished: int, simulated_s: float) -> None:
        """The work of all others."""
        self._finished, self._simulated_s = finished, simulated_s
        if self._tell is not None:
            self._tell(finished, simulated_s)

    def made(self, batch: _Batch) -> None:
        """One batch more."""
        jobs, job_s = self._native.work(batch)
        self.others(self._finished + jobs, self._simulated_s + job_s)


def _in_processes(native: _native.Campaign, place: Place, count: int, told: _Told) -> None:
    """Makes the jobs of methods in Python, `count` at a time."""
    makers = [Maker(place) for _ in range(count)]
    free, running = list(makers), dict[Future[tuple[str, float]], tuple[Maker, _Batch]]()
    with ThreadPoolExecutor(count) as pool:
        try:
            while native.fill(python=True):
                while True:
                    # With a length of 0: single jobs.
                    while free and (batch := native.next_batch(0.0)) is not None:
                        maker = free.pop()
                        running[pool.submit(maker.make, native, batch[0])] = maker, batch
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        maker, batch = running.pop(future)
                        free.append(maker)
                        native.record(future.result()[0])
                        told.made(batch)
        finally:
            # After Ctrl-C, jobs end with their processes.
            for maker in makers:
                maker.close()


def _make(
    place: Place, caller: tuple[str, str], batch: _Batch
) -> tuple[str, float]:
    """Runs on a worker."""
    if _version() != caller:
        raise _refuse(os.uname().nodename, _version(), caller)
    known = _known(*place)
    if not known.knows(batch):
        # A file has changed since: the campaign's, or a scenario's or trace beside it.
        _known.cache_clear()
        known = _known(*place)
    if known.python_of(batch) is None:
        return known.make_part(batch)
    jobs = [(case, seed, seed) for case, first, last in batch for seed in range(first, last + 1)]
    with Maker(place) as maker:
        made = [maker.make(known, job) for job in jobs]
    return "".join(lines for lines, _ in made), sum(cpu_s for _, cpu_s in made)


def _same_version(client: Any) -> None:
    """Refuses the cluster before the first part; checks later workers with their first part."""
    for worker, there in client.run(_version, on_error="return").items():
        if isinstance(there, OSError):
            continue  # it has died meanwhile
        if isinstance(there, BaseException):
            raise WorkerError(f"worker {worker}: {there}") from there
        if tuple(there) != _version():
            raise _refuse(worker, there, _version())


def _on_cluster(
    native: _native.Campaign,
    client: Any,
    place: Place,
    part_s: float,
    told: _Told,
) -> None:
    import distributed

    _same_version(client)
    # With a target, the values of a round determine the jobs of the next one.
    while native.fill(python=False):
        as_completed: Any = distributed.as_completed  # it has no types
        running = as_completed()
        batches: dict[Any, _Batch] = {}

        def submit() -> bool:
            batch = native.next_batch(part_s)
            if batch is None:
                return False
            # A part has a fixed name, so a part that is made again replaces the first.
            future = client.submit(_make, place, _version(), batch, pure=False, retries=3)
            batches[future.key] = batch
            running.add(future)
            return True

        slots = max(sum(client.nthreads().values()), 1) * _AHEAD
        while running.count() < slots and submit():
            pass
        for future in running:
            batch = batches.pop(future.key)
            if future.status != "finished":
                error = future.exception()
                if isinstance(error, VersionError):
                    raise error
                case, seed, _ = batch[0]
                raise WorkerError(f"case {case}, seed {seed}: {error}") from error
            lines, took = future.result()
            native.record(lines)
            native.took(batch, took)
            told.made(batch)
            future.release()
            submit()
