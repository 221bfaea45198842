"""Algorithms written in Python."""

import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from my_drql import MyDrql

import justfull as jf

TREE = Path(__file__).parents[2]
SHORT = {"duration": "15s", "warmup": "5s"}


def rows(results: jf.Results) -> list[dict[str, Any]]:
    return [{name: cell for name, cell in row.items() if name != "method"}
            for row in results.runs.to_dicts()]


@pytest.mark.parametrize("cell", ["t20-individual", "voip-over-lte", "nr-100mhz"])
def test_a_copy_of_drql_gives_the_rows_of_drql(cell: str) -> None:
    cell_of = jf.scenario(cell).set(SHORT)
    shipped = cell_of.run([jf.Method("D", "DRQL", {"rlc.limiter": {"kind": "drql"}})],
                          seeds=2, progress=False)
    own = cell_of.run([jf.Method("D", "DRQL", limiter=MyDrql)], seeds=2, progress=False)
    assert rows(own) == rows(shipped)


def test_a_limiter_in_c_gives_the_rows_of_drql_with_its_own_settings(tmp_path: Path) -> None:
    library = tmp_path / "drql.so"
    include, source = TREE / "crates/plugin/include", TREE / "examples/plugin-c/drql.c"
    subprocess.run(["cc", "-std=c11", "-O2", "-shared", "-fPIC", "-I", include, "-o", library,
                    source, "-lm"], check=True)
    cell = jf.scenario("voip-over-lte").set(SHORT)
    settings = {"plugin.Mine.growth": 1.5, "plugin.Mine.max": 64}
    mine = jf.Method("Mine", plugin=library, settings=settings)
    same = jf.Method("Same", "DRQL", {"rlc.limiter.growth": 1.5, "rlc.limiter.max": 64,
                                      "rlc.limiter.start": 64})
    own = cell.run([mine, jf.Method("Plain", plugin=library)], seeds=1, progress=False)
    known = cell.run([same, "DRQL"], seeds=1, progress=False)
    assert rows(own) == rows(known)

    wrong = jf.Method("Mine", plugin=library, settings={"plugin.Mine.growth": 40})
    with pytest.raises(jf.ScenarioError, match="found 40, allowed is 1.01 to 16 times"):
        cell.run([wrong], progress=False)
    with pytest.raises(jf.ArgumentError, match="No such file") as refused:
        cell.run([jf.Method("Mine", plugin=tmp_path / "none.so")], progress=False)
    assert refused.value.field == "plugin"
    with pytest.raises(jf.ArgumentError, match="a plugin and a limiter"):
        jf.Method("Mine", plugin=library, limiter=MyDrql)
    with pytest.raises(jf.ScenarioError, match="allowed is `settings` of a Method with that"):
        cell.set({"plugin.Mine.growth": 2})

    file = tmp_path / "c.toml"
    file.write_text('scenarios = ["voip-over-lte"]\nmethods = ["DRQL", "Mine"]\nseeds = 1\n'
                    '[set]\nduration = "11s"\n[plugin.Mine]\nfile = "drql.so"\n')
    with pytest.raises(jf.ArgumentError, match="plugins: found False, allowed is True") as refused:
        jf.campaign(file, tmp_path / "out", progress=False)
    assert refused.value.field == "plugins" and not (tmp_path / "out").exists()
    dataset = jf.campaign(file, tmp_path / "out", plugins=True, progress=False)
    assert (dataset.tally["done"], dataset.tally["failed"]) == (2, [])


@pytest.mark.skipif("/release/" not in os.environ.get("JUSTFULL_PROGRAM", ""),
                    reason="times of the release build: `cargo xtask python`")
def test_a_limiter_in_python_costs_less_a_packet_than_250_calls_in_python() -> None:
    cell = jf.scenario("voip-over-lte").set(duration="20s")
    packets = len(cell.run([MyDrql], seeds=1, packets=True, progress=False).packets)

    def took(work: Callable[[], object]) -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    def run(method: Any) -> float:
        return took(lambda: cell.run([method], seeds=1, threads=1, progress=False))

    def call(value: int) -> int:
        return value

    def calls() -> None:
        for _ in range(250 * packets):
            call(1)

    # The least of each, in turns: whatever slows one of them slows the others.
    rounds = [(run(MyDrql), run("DRQL"), took(calls)) for _ in range(5)]
    own, shipped, reference = (min(times) for times in zip(*rounds))
    assert own - shipped < reference


class Deep(jf.Aqm):
    """Drops a packet at the head that waited for over 20 ms, at most every 100 ms."""

    def __init__(self, lanes: int, key: int) -> None:
        super().__init__(lanes, key)
        self.last = -(10**9)

    def on_dequeue(self, now: int, queue: jf.Queue, packet: jf.Packet, sojourn: int) -> str | None:
        assert packet.size > 0 and queue.bytes >= 0
        if sojourn > 20_000_000 and now - self.last > 100_000_000:
            self.last = now
            return "signal"
        return None


class FewFirst(jf.RbScheduler):
    """Serves the UE with the least backlog first."""

    def schedule(self, demand: jf.Demand) -> list[int]:
        left, given = demand.units, [0] * len(demand.ues)
        for index in sorted(range(len(given)), key=lambda i: demand.ues[i].backlog):
            ue = demand.ues[index]
            blocks = next((n for n, size in enumerate(ue.tbs) if size >= ue.backlog), demand.rbs)
            given[index] = min(left, math.ceil(blocks / demand.unit_size))
            left -= given[index]
        return given


class HalfWindow(jf.CongestionControl):
    """Adds a segment for each window, halves at a loss."""

    def on_ack(self, ack: jf.Ack) -> None:
        if not ack.in_recovery:
            self.cwnd += max(self.mss * ack.acked // max(self.cwnd, 1), 1)

    def on_congestion(self, now: int, cause: str, in_flight: int) -> None:
        self.cwnd = max(in_flight // 2, 2 * self.mss)
        self.ssthresh = self.cwnd


def test_an_aqm_a_scheduler_and_a_control_act() -> None:
    cell = jf.scenario("voip-over-lte").set(duration="15s")
    found = cell.run(["Vanilla", Deep, HalfWindow], seeds=1, progress=False).runs
    delay = dict(zip(zip(found["method"], found["flow"]), found["delay_ms_mean"]))
    drops = dict(zip(zip(found["method"], found["flow"]), found["dropped_packets"]))
    assert delay["Deep", "voip"] < delay["Vanilla", "voip"] / 10
    assert drops["Deep", "bulk"] > 0
    assert delay["HalfWindow", "bulk"] < delay["Vanilla", "bulk"]
    served = jf.scenario("several-ues").set(SHORT).run(["Vanilla"], seeds=1, progress=False)
    assert len(served.runs) > 0
    nr = jf.scenario("nr-100mhz").set(SHORT).run(["Vanilla", FewFirst], seeds=1, progress=False)
    assert {name for name in nr.runs["method"]} == {"Vanilla", "FewFirst"}


@pytest.mark.parametrize("own", [MyDrql, Deep, FewFirst, HalfWindow])
def test_each_keeps_the_rules(own: Any) -> None:
    kept = jf.testing.check(own)
    assert ("a greedy flow never starves for good" in kept) == issubclass(own, jf.Limiter)
    assert "voip-over-lte: made, served, deterministic" in kept or own is FewFirst


class Closed(jf.Limiter):
    def room(self, now: int, backlog: int) -> int:
        return 0


class Moody(jf.Aqm):
    calls = 0

    def on_enqueue(self, now: int, queue: jf.Queue, packet: jf.Packet) -> str | None:
        Moody.calls += 1
        return "drop" if Moody.calls % 977 == 0 else None


class Patient(jf.Limiter):
    """Counts slots, so that its answer changes after idle slots that were not reported."""

    def __init__(self, unit: str, slot: int, mtu: int) -> None:
        super().__init__(unit, slot, mtu)
        self.packet, self.slots = mtu if unit == "bytes" else 1, 0

    def room(self, now: int, backlog: int) -> int:
        return max(self.packet * (20 + self.slots % 8) - backlog, 0)

    def on_slot(self, report: jf.SlotReport) -> None:
        self.slots += 1


def test_the_rules_catch_starvation_and_chance() -> None:
    for own, told in ((Closed, "Closed: a greedy flow never starves for good: broken"),
                      (Patient, "Patient: one report of the latest idle slot stands for all"),
                      (Moody, "not deterministic")):
        with pytest.raises(jf.testing.ConformanceError, match=told):
            jf.testing.check(own)
    with pytest.raises(LookupError, match="nothing there"):
        jf.testing.check(Raises)


class Raises(jf.Limiter):
    def room(self, now: int, backlog: int) -> int:
        raise LookupError("nothing there")


class Nonsense(jf.Limiter):
    def room(self, now: int, backlog: int) -> int:
        return -5


class Unmade(jf.Limiter):
    def __init__(self, unit: str, slot: int, mtu: int) -> None:
        raise LookupError("cannot be made")

    def room(self, now: int, backlog: int) -> int:
        return 0


class Greedy(jf.RbScheduler):
    def schedule(self, demand: jf.Demand) -> list[int]:
        return [demand.units + 1] * len(demand.ues)


class Odd(jf.Aqm):
    def on_enqueue(self, now: int, queue: jf.Queue, packet: jf.Packet) -> str | None:
        return "maybe"


def test_an_error_or_a_wrong_return_value_of_a_method_is_an_exception() -> None:
    cell = jf.scenario("voip-over-lte").set(SHORT)
    with pytest.raises(LookupError, match="nothing there"):
        cell.run([Raises], seeds=1)
    with pytest.raises(TypeError, match=r"Limiter.room: returned -5, allowed is a whole number"):
        cell.run([Nonsense], seeds=1)
    with pytest.raises(LookupError, match="cannot be made"):
        cell.run([Unmade], seeds=1)
    with pytest.raises(TypeError, match="'maybe', allowed is None, 'pass'"):
        cell.run([Odd], seeds=1)
    with pytest.raises(TypeError, match="at most"):
        jf.scenario("nr-100mhz").set(SHORT).run([Greedy], seeds=1)
    with pytest.raises(jf.ArgumentError, match="methods: found 3"):
        cell.run([3])  # type: ignore[list-item]
    with pytest.raises(jf.ScenarioError, match="a name that no other method has"):
        cell.run([jf.Method("DRQL")])
    with pytest.raises(jf.ArgumentError, match="aqm_in"):
        jf.Method("X", aqm=Deep, aqm_in="air")


class Endless(jf.Limiter):
    def room(self, now: int, backlog: int) -> int:
        while True:
            pass


def test_ctrl_c_ends_a_method_that_never_returns() -> None:
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        jf.scenario("voip-over-lte").set(SHORT).run([Endless], seeds=1)
