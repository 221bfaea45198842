"""Checks that an algorithm of one's own keeps to the rules that every shipped one keeps to."""

from __future__ import annotations

from typing import Any

from justfull import _native
from justfull._results import Results
from justfull._scenario import Own, scenario
from justfull.own import Method

__all__ = ["ConformanceError", "check"]

_SHORT = {"duration": "4s", "warmup": "1s"}
_CELLS: dict[str, dict[str, Any]] = {
    # Grants in packets, in bytes, and in resource blocks; one UE and several; calls, pages.
    "t20-individual": {},
    "live-lte": {},
    "voip-over-lte": {},
    "several-ues": {},
    "nr-100mhz": {},
}


class ConformanceError(AssertionError):
    """The algorithm breaks a rule; the message names the rule and the scenario."""


def check(own: Own, *, cells: dict[str, dict[str, Any]] | None = None) -> list[str]:
    """Runs `own` in cells of every kind and checks the rules. Returns the checked rules.

    - It can be made and run in each cell without an exception, and the simulator's own invariants
      hold: every packet is delivered, dropped with a reason, or still queued.
    - It is deterministic: a second run gives the same rows to the last bit.
    - It does not starve the cell: every flow that Vanilla serves is served.
    - It has no memory beyond its object: earlier runs do not change a run.
    - A limiter refuses when it is full, but never for good; idle slots and drops change nothing;
      and its room changes with time alone only if it paces: the rules of every shipped limiter.

    Raises ConformanceError for a broken rule, and any exception of the algorithm itself.
    """
    method = Method.of(own)
    done: list[str] = []
    if method.limiter is not None:
        kept, broken = _native.check_limiter(method.limiter)
        if broken is not None:
            raise ConformanceError(f"{method.name}: {broken}")
        done += kept
    for name, settings in (cells or _CELLS).items():
        if method.rb_scheduler is not None and not _has_carrier(name):
            continue
        cell = scenario(name).set({**_SHORT, **settings})
        plain = cell.run(["Vanilla"], seeds=1, progress=False)
        first = cell.run([method], seeds=1, progress=False)
        second = cell.run([method], seeds=2, progress=False)
        _served(name, method.name, plain, first)
        if first.runs.to_dicts() != _of_seed(second, min(second.runs["seed"])):
            raise ConformanceError(
                f"{name}: {method.name} is not deterministic: the same seed gave other rows")
        done.append(f"{name}: made, served, deterministic")
    return done


def _has_carrier(name: str) -> bool:
    return "[mac.carrier]" in scenario(name).toml()


def _of_seed(results: Results, seed: int) -> list[dict[str, Any]]:
    return [row for row in results.runs.to_dicts() if row["seed"] == seed]


def _served(name: str, method: str, plain: Results, own: Results) -> None:
    def served(results: Results) -> set[str]:
        table = results.runs
        return {flow for flow, packets in zip(table["flow"], table["delivered_packets"]) if packets}

    missing = served(plain) - served(own)
    if missing:
        raise ConformanceError(
            f"{name}: {method} starves {', '.join(sorted(missing))}: nothing was delivered")
