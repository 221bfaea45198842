"""Base classes of algorithms written in Python, and methods that use them.

Times are whole nanoseconds since the start of the run. An algorithm must not look at clocks or draw
random numbers without a seed of its own: the same run must give the same results.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from justfull._native import Ack, Demand, Packet, Queue, SlotReport
from justfull.errors import ArgumentError

__all__ = ["Ack", "Aqm", "CongestionControl", "Demand", "Limiter", "Method", "Packet", "Queue",
           "RbScheduler", "SlotReport"]


class Limiter:
    """How much may sit in a bearer's RLC queue. One object for each bearer.

    Amounts are in `unit`, "packets" or "bytes", in which the MAC grants.
    """

    base: ClassVar[str] = "Vanilla"
    """The shipped method whose other settings a method of this class takes."""

    overdraws: bool = False
    """An SDU larger than the room may enter as long as there is any room."""

    paces: bool = False
    """The room changes with time alone, so that the layer above must call it again."""

    def __init__(self, unit: str, slot: int, mtu: int) -> None:
        self.unit = unit
        self.slot = slot
        self.mtu = mtu

    def room(self, now: int, backlog: int) -> int | None:
        """How much more may enter; None for no limit."""
        raise NotImplementedError

    def on_admitted(self, now: int, amount: int, backlog: int) -> None:
        """An SDU of `amount` has entered; `backlog` includes it."""

    def on_departed(self, now: int, sojourn: int) -> None:
        """The last byte of an SDU has left for the radio."""

    def on_slot(self, report: SlotReport) -> None:
        """The MAC has pulled."""


class Aqm:
    """Active queue management. One object for each queue.

    A verdict is None or "pass"; "signal", which marks a packet that can carry a mark if the class
    `marks`, and drops any other; or "drop".
    """

    base: ClassVar[str] = "Vanilla"
    layer: ClassVar[str] = "rlc"
    """Where it works: "upf", "sdap" or "rlc"."""

    marks: bool = False
    """A signal may be a mark (ECN)."""

    def __init__(self, lanes: int, key: int) -> None:
        self.lanes = lanes
        self.key = key

    def on_enqueue(self, now: int, queue: Queue, packet: Packet) -> str | None:
        """A packet arrives."""
        return None

    def on_dequeue(self, now: int, queue: Queue, packet: Packet, sojourn: int) -> str | None:
        """A packet has left the head after waiting for `sojourn`. After a drop it is called again
        with the next."""
        return None

    def on_empty(self, now: int, lane: int) -> None:
        """A lane has run empty."""


class RbScheduler:
    """Allocates the resource blocks of each slot. One object for a cell with `mac.kind` rb."""

    base: ClassVar[str] = "Vanilla"

    def __init__(self, shares: Sequence[float]) -> None:
        self.shares = shares

    def schedule(self, demand: Demand) -> Sequence[int]:
        """Units for each of `demand.ues`, in their order; at most `demand.units` in all."""
        raise NotImplementedError

    def on_served(self, now: int, served: Sequence[tuple[int, int, int]]) -> None:
        """UEs that got a grant, the blocks that each used and the bytes that it sent."""


class CongestionControl:
    """A congestion control of TCP. One object for each sender.

    The sender obeys `cwnd` (bytes), `ssthresh` (bytes, or None) and `pacing_rate` (bit/s, or None),
    which it reads after each call.
    """

    base: ClassVar[str] = "Vanilla"

    cwnd: int
    ssthresh: int | None = None
    pacing_rate: float | None = None

    def __init__(self, mss: int, initial_window: int) -> None:
        self.mss = mss
        self.cwnd = initial_window

    def on_ack(self, ack: Ack) -> None:
        """An acknowledgement has arrived."""
        raise NotImplementedError

    def on_congestion(self, now: int, cause: str, in_flight: int) -> None:
        """Congestion: "loss" and "ecn" once in a round trip, "timeout" at each."""
        raise NotImplementedError

    def on_sent(self, now: int, size: int, in_flight: int) -> None:
        """A segment leaves."""

    def on_idle(self, now: int, idle: int) -> None:
        """Sending goes on after `idle` with nothing in flight."""

    def on_recovery_exit(self, now: int) -> None:
        """The reduction or recovery is over."""


@dataclass(frozen=True)
class Method:
    """A method of one's own: the settings of `base`, then `settings`, then the algorithms.

    An algorithm is a class of this module, or any function that takes the arguments of its
    constructor, such as `functools.partial(Mine, growth=1.5)` with keyword arguments of your own.

    `plugin` is a shared library with a limiter in C (`justfull_plugin.h`), whose code runs with
    your rights. Its settings are `plugin.NAME.SETTING` of `settings`, with the method's name.
    """

    name: str
    base: str = "Vanilla"
    settings: Mapping[str, Any] = field(default_factory=dict)
    limiter: Callable[..., Limiter] | None = None
    aqm: Callable[..., Aqm] | None = None
    aqm_in: str = "rlc"
    rb_scheduler: Callable[..., RbScheduler] | None = None
    congestion_control: Callable[..., CongestionControl] | None = None
    plugin: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.plugin is not None and self.limiter is not None:
            raise ArgumentError(
                "plugin: found a plugin and a limiter, allowed is one of the two",
                field="plugin", found="a plugin and a limiter", allowed="one of the two")
        if self.aqm_in not in ("upf", "sdap", "rlc"):
            raise ArgumentError(
                f"aqm_in: found {self.aqm_in!r}, allowed is 'upf', 'sdap' or 'rlc'",
                field="aqm_in", found=repr(self.aqm_in), allowed="'upf', 'sdap' or 'rlc'")

    @property
    def decides(self) -> bool:
        """It has an algorithm in Python."""
        parts = (self.limiter, self.aqm, self.rb_scheduler, self.congestion_control)
        return any(part is not None for part in parts)

    @staticmethod
    def of(given: Method | type[Limiter | Aqm | RbScheduler | CongestionControl]) -> Method:
        """The method of a class: its name, over the class's `base`."""
        if isinstance(given, Method):
            return given
        if isinstance(given, type):
            name = given.__name__
            if issubclass(given, Limiter):
                return Method(name, given.base, limiter=given)
            if issubclass(given, Aqm):
                return Method(name, given.base, aqm=given, aqm_in=given.layer)
            if issubclass(given, RbScheduler):
                return Method(name, given.base, rb_scheduler=given)
            if issubclass(given, CongestionControl):
                return Method(name, given.base, congestion_control=given)
        allowed = "a name, a Method, or a class of Limiter, Aqm, RbScheduler or CongestionControl"
        raise ArgumentError(f"methods: found {given!r}, allowed is {allowed}",
                            field="methods", found=repr(given), allowed=allowed)
