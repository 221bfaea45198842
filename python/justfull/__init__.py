"""Keeps the queues of cellular networks just full: scenarios, runs and results in Python.

    import justfull as jf
    results = jf.scenario("voip-over-lte").run(seeds=5)
    print(results)
    jf.plot.cdf(results)

The simulator is the command line's: the same scenario and seed give the same rows.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from justfull._native import VERSION as __version__
from justfull._earlier import Earlier, Runs, runs
from justfull._results import Results, Saved, load
from justfull._scenario import Scenario, methods, scenario, scenarios
from justfull._table import Table
from justfull.errors import (
    ArgumentError,
    BrokenRunError,
    JustfullError,
    ScenarioError,
    TraceError,
)
from justfull.own import (
    Ack,
    Aqm,
    CongestionControl,
    Demand,
    Limiter,
    Method,
    Packet,
    Queue,
    RbScheduler,
    SlotReport,
)

if TYPE_CHECKING:
    from justfull import campaigns, plot, sensitivity, testing, traces
    from justfull.campaigns import campaign

__all__ = [
    "Ack", "Aqm", "ArgumentError", "BrokenRunError", "CongestionControl", "Demand",
    "Earlier", "JustfullError", "Limiter", "Method", "Packet", "Queue", "RbScheduler", "Results", "Runs", "Saved",
    "Scenario", "ScenarioError", "SlotReport", "Table", "TraceError", "__version__", "campaign", "campaigns",
    "load", "methods", "plot", "runs", "scenario", "scenarios", "sensitivity", "testing", "traces",
]

_LATER = ("campaigns", "plot", "sensitivity", "testing", "traces")


def __getattr__(name: str) -> Any:
    """Parts that need other packages are imported when they are used."""
    if name in _LATER:
        return importlib.import_module(f"justfull.{name}")
    if name == "campaign":
        return importlib.import_module("justfull.campaigns").campaign
    raise AttributeError(f"module 'justfull' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
