"""Campaigns: thousands of runs as one dataset, on this machine or on a cluster.

The dataset, its parts and its ledger are those of `justfull campaign`.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from justfull import _native
from justfull.errors import JustfullError

__all__ = ["Dataset", "VersionError", "WorkerError", "campaign"]

_PART_S = 2.0
_AHEAD = 2


class VersionError(JustfullError):
    """A worker has another version of the program."""


class WorkerError(JustfullError):
    """A part could not be made on any worker; what is made is kept."""


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
        """All rows as a lazy frame of polars, with the columns of `runs.csv` and `job`."""
        import polars

        return polars.scan_parquet(str(self.path / "parts" / "**" / "*.parquet"),
                                   hive_partitioning=False)

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
    data: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Makes what the dataset of a campaign's file lacks, and returns the dataset.

    With `client`, a `distributed.Client`, its workers make the parts; they need the same version of
    justfull, and the folder `out` (default: results/campaign/NAME), the file and the traces under
    the same paths. Without it, `threads` threads of this machine do. A campaign that was ended in
    any way goes on when it is called again; nothing is made twice.

    Raises ScenarioError and ArgumentError for a wrong file, OSError for the disk, VersionError for
    a worker with another version, WorkerError for a part that no worker could make.
    """
    source = Path(file).absolute()
    folder = Path(out).absolute() if out else Path("results/campaign", source.stem).absolute()
    traces = os.fspath(data) if data is not None else os.environ.get("JUSTFULL_DATA")
    native = _native.Campaign(os.fspath(source), os.fspath(folder), traces or None)
    native.open()
    try:
        if client is None:
            native.run(threads or len(os.sched_getaffinity(0)))
        else:
            _on_cluster(native, client, (os.fspath(source), os.fspath(folder), traces or None))
    finally:
        native.close()
    return Dataset(native, folder)


@lru_cache(maxsize=4)
def _known(source: str, folder: str, traces: str | None, changed: float) -> _native.Campaign:
    """A worker reads a campaign once."""
    return _native.Campaign(source, folder, traces)


def _version() -> tuple[str, str]:
    return _native.VERSION, _native.SOURCE


def _refuse(worker: str, there: tuple[str, str], here: tuple[str, str]) -> VersionError:
    return VersionError(
        f"worker {worker}: found justfull {there[0]}, source {there[1]}, allowed is that of the "
        f"caller, {here[0]}, source {here[1]}")


def _make(
    place: tuple[str, str, str | None],
    changed: float,
    caller: tuple[str, str],
    part: tuple[int, int, int],
) -> tuple[str, float]:
    """Runs on a worker."""
    if _version() != caller:
        raise _refuse(os.uname().nodename, _version(), caller)
    return _known(*place, changed).make_part(*part)


def _same_version(client: Any) -> None:
    """Refuses the cluster before the first part; workers that come later are asked with theirs."""
    for worker, there in client.run(_version, on_error="return").items():
        if isinstance(there, OSError):
            continue  # it has died meanwhile
        if isinstance(there, BaseException):
            raise WorkerError(f"worker {worker}: {there}") from there
        if tuple(there) != _version():
            raise _refuse(worker, there, _version())


def _on_cluster(
    native: _native.Campaign, client: Any, place: tuple[str, str, str | None]
) -> None:
    import distributed

    _same_version(client)
    changed = os.stat(place[0]).st_mtime
    job_s: dict[int, float] = {}
    # With a target, the values of a round say what the next one makes.
    while left := native.stretches()[::-1]:
        running: Any = distributed.as_completed  # it has no types
        running = running()
        batches: dict[Any, tuple[int, int]] = {}

        def submit() -> bool:
            if not left:
                return False
            case, first, last = left.pop()
            seeds = int(_PART_S / job_s[case]) if case in job_s else 1
            end = min(last, first + min(max(seeds, 1), native.MOST_SEEDS) - 1)
            if end < last:
                left.append((case, end + 1, last))
            # A part's name is its own, so a part that is made again takes its place.
            part = (case, first, end)
            future = client.submit(_make, place, changed, _version(), part, pure=False, retries=3)
            batches[future.key] = (case, first)
            running.add(future)
            return True

        slots = max(sum(client.nthreads().values()), 1) * _AHEAD
        while running.count() < slots and submit():
            pass
        for future in running:
            case, first = batches.pop(future.key)
            if future.status != "finished":
                error = future.exception()
                if isinstance(error, VersionError):
                    raise error
                raise WorkerError(f"case {case}, seed {first}: {error}") from error
            lines, took = future.result()
            native.record(lines)
            job_s[case] = max(job_s.get(case, 0.0), took)
            future.release()
            submit()
