"""Traces of a link's capacity: read, described, fitted, made by chance.

Formats, repairs and options are the same as those of `justfull trace`. Times and sizes are texts
with their units, such as "100ms" and "1500B".
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from justfull import _native
from justfull.errors import ArgumentError

__all__ = ["Fit", "Moments", "Trace", "fit", "read"]


@dataclass(frozen=True)
class Moments:
    """Moments of a rate over the steps of a chain, which a queue depends on."""

    mean_mbit_s: float
    sd_mbit_s: float
    autocorrelation: tuple[float | None, ...]
    """After 1, 10 and 100 steps; None where the trace is too short to tell."""

    percentiles_mbit_s: tuple[float, ...]
    """The 5th, 50th and 95th."""

    silences: tuple[float, ...]
    """Share of steps in which nothing passes, mean and longest such time in seconds."""

    @property
    def lag1(self) -> float:
        """Autocorrelation after one step; 0 when the rate never changes."""
        return self.autocorrelation[0] or 0.0


@dataclass(frozen=True)
class Fit:
    """A Markov chain over channel qualities. Each seed makes another trace of it."""

    toml: str
    """A scenario's table `channel`."""

    trace: Moments | None = None
    """The trace that it was fitted to; None for a chain that ships."""

    quantised: Moments | None = None
    """The same in the states of the chain."""

    chain: Moments | None = None
    """What the chain makes."""

    @property
    def channel(self) -> dict[str, Any]:
        """For a scenario: `scenario.set(channel=fit.channel)`."""
        found: dict[str, Any] = tomllib.loads(self.toml)["channel"]
        return found

    def make(self, duration: str, seed: int = 1) -> Trace:
        """A trace of this length by chance; the same seed gives the same trace."""
        return Trace(_native.synthesise(self.toml, seed, duration))

    def save(self, file: str | os.PathLike[str]) -> None:
        """Writes `toml`, which `justfull trace synth` and `fit` of this module read."""
        with open(file, "w", encoding="utf-8") as out:
            out.write(self.toml)


class Trace:
    """A link's capacity over time."""

    def __init__(self, native: _native.Trace) -> None:
        self._native = native

    @property
    def duration_s(self) -> float:
        """Length in seconds."""
        return self._native.duration_s

    @property
    def notes(self) -> list[str]:
        """Repairs, estimates and skipped parts of the reading."""
        return self._native.notes

    def rates(self, bin: str | None = None) -> tuple[float, list[float]]:
        """Seconds of a bin, and the mean rate in Mbit/s of each. Without `bin` an interval of the
        trace, at least 100 ms."""
        return self._native.rates(bin)

    def info(self, bin: str | None = None) -> dict[str, Any]:
        """Its description, as of `justfull trace info --json`: rates over bins, outages."""
        found: dict[str, Any] = json.loads(self._native.info(bin))
        return found

    def part(self, start: str, end: str) -> Trace:
        """The part from `start` on and before `end`."""
        return Trace(self._native.part(start, end))

    def save(
        self, file: str | os.PathLike[str], format: str = "csv", packet: str | None = None
    ) -> list[str]:
        """Writes it, as `justfull trace convert`.

        Returns the change of the steps, and the parts that the format cannot hold.
        """
        return self._native.save(file, format, packet)

    def fit(
        self, step: str | None = None, over: str | None = None, **quality: str | int
    ) -> Fit:
        """A Markov chain fitted to it, as `justfull trace fit`.

        `step` is at most "1s"; `over` is "cqi" or "rate", by default "cqi" where the trace has it;
        `map`, `prbs` and `layers` say how a CQI becomes a rate.
        """
        toml, told = self._native.fit(over, step, _texts(quality))
        trace, quantised, chain = (_moments(*found) for found in told)
        return Fit(toml, trace, quantised, chain)

    def __repr__(self) -> str:
        info = self.info()
        return (f"<justfull.traces.Trace {info['file']}: {self.duration_s:g} s, "
                f"{info['rate_mbit_s_mean']:.3g} Mbit/s>")


def _moments(mean: float, sd: float, *rest: Sequence[float | None]) -> Moments:
    memory, percentiles, silences = (tuple(part) for part in rest)
    return Moments(mean, sd, memory, percentiles, silences)  # type: ignore[arg-type]


def _texts(options: dict[str, str | int]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}


def read(file: str | os.PathLike[str], **options: str | int) -> Trace:
    """The trace in `file`, as `justfull trace` reads it.

    Options have the names of the command line's: `format` (its `--from`), `packet`, `row`,
    `rate_column` or `amount_column` with `time_column`, `unit`, `time_unit`, `separator`,
    `decimal`; `rnti`, `link`; `column`, `repeated`, `gaps`, `idle`; `map`, `prbs`, `layers`.
    Raises TraceError for a file that is no trace, and for an option that it does not read.
    """
    return Trace(_native.Trace(file, _texts(options)))


def fit(source: str | os.PathLike[str]) -> Fit:
    """A chain that ships, "pedestrian-like" or "train-like", or one in a file."""
    name, shipped = os.fspath(source), _native.shipped_fits()
    if name in shipped:
        return Fit(f'[channel]\nkind = "markov"\nfit = "{name}"\n')
    if not os.path.isfile(name):
        allowed = f"a file, or one of {', '.join(shipped)}"
        raise ArgumentError(f"source: found {name}, allowed is {allowed}",
                            field="source", found=name, allowed=allowed)
    with open(name, encoding="utf-8") as file:
        made = Fit(file.read())
    made.make("1s")  # raises what is wrong
    return made
