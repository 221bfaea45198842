"""Sensitivity: a queue that is always full decides the delay, and nothing else does."""

from pathlib import Path
from typing import Any

import pytest
from distributed import Client

import justfull as jf

# The delay of a full queue is its length over the rate. The queue of the uplink, which is never
# full, does not change it.
MATTERS, DOES_NOT = "rlc.queue.limit", "uplink.limit"
SETTINGS: dict[str, jf.sensitivity.Range] = {
    MATTERS: ("20kB", "100kB"), DOES_NOT: ("1MB", "4MB", "log")}


def cell() -> jf.Scenario:
    return jf.scenario("voip-over-lte").set(duration="6s", warmup="2s").set(
        {"flow.voip.start": "0s"})


def by_setting(found: jf.sensitivity.Sensitivity) -> dict[str, dict[str, Any]]:
    return {row["setting"]: row for row in found.table.to_dicts()}


def test_sobol_separates_effective_settings_from_others(tmp_path: Path) -> None:
    found = jf.sensitivity.sobol(cell(), SETTINGS, "delay_ms_p50", "voip", points=32,
                                 out=tmp_path / "study")
    indices = by_setting(found)
    assert list(indices) == [MATTERS, DOES_NOT]
    assert indices[MATTERS]["first"] == pytest.approx(1, abs=0.1)
    assert indices[MATTERS]["total"] == pytest.approx(1, abs=0.1)
    assert 0 < indices[MATTERS]["total_half_width"] < 0.5
    assert indices[DOES_NOT]["first"] == indices[DOES_NOT]["total"] == 0
    assert len(found.sample) == 32 * 4 == found.dataset.tally["done"]
    kilobytes = [float(text.removesuffix("kB")) for text in found.sample[MATTERS]]
    assert 20 <= min(kilobytes) < 25 and 95 < max(kilobytes) <= 100
    delays = found.sample["delay_ms_p50"].to_list()
    assert delays[kilobytes.index(max(kilobytes))] > 3 * delays[kilobytes.index(min(kilobytes))]
    # A second call makes nothing, and returns the same.
    again = jf.sensitivity.sobol(cell(), SETTINGS, "delay_ms_p50", "voip", points=32,
                                 out=tmp_path / "study")
    assert again.table.equals(found.table) and again.dataset.tally["done"] == 128
    with pytest.raises(jf.ArgumentError, match="another study in"):
        jf.sensitivity.sobol(cell(), SETTINGS, "delay_ms_p50", "voip", points=16,
                             out=tmp_path / "study")


def test_a_point_has_the_rows_of_the_same_scenario_alone(tmp_path: Path) -> None:
    found = jf.sensitivity.morris(cell(), SETTINGS, "delay_ms_p99", "voip", method="DRQL",
                                  trajectories=2, seeds=3, out=tmp_path / "study")
    assert len(found.sample) == 6 and found.dataset.tally["done"] == 18
    point = found.sample.to_dicts()[4]
    mean = point.pop("delay_ms_p99")
    alone = cell().set(point).run(["DRQL"], seeds=3, progress=False).runs
    delays = [delay for delay, flow in zip(alone["delay_ms_p99"], alone["flow"]) if flow == "voip"]
    assert mean == pytest.approx(sum(delays) / 3)


def test_morris_tells_by_how_much(tmp_path: Path) -> None:
    found = jf.sensitivity.morris(cell(), SETTINGS, "delay_ms_p50", "voip", trajectories=8,
                                  out=tmp_path / "study")
    indices = by_setting(found)
    # 80 kB at 17.18 Mbit/s.
    assert indices[MATTERS]["mu"] == pytest.approx(80e3 * 8 / 17.18e3, rel=0.1)
    assert indices[MATTERS]["mu_star"] == pytest.approx(indices[MATTERS]["mu"])
    assert indices[DOES_NOT]["mu_star"] == 0


def test_on_dask_the_same_comes_out(tmp_path: Path) -> None:
    def study(folder: str, client: Any = None) -> jf.sensitivity.Sensitivity:
        return jf.sensitivity.morris(cell(), SETTINGS, "delay_ms_p50", "voip", trajectories=4,
                                     out=tmp_path / folder, client=client)

    with Client(n_workers=1, threads_per_worker=1, processes=False,
                dashboard_address=None) as client:
        there = study("there", client)
    here = study("here")
    assert there.sample.equals(here.sample) and there.table.equals(here.table)


def test_an_impossible_analysis_is_refused(tmp_path: Path) -> None:
    def ask(field: str, settings: Any = SETTINGS, scenario: Any = None, **more: Any) -> None:
        more = {"out": tmp_path / "none", "metric": "delay_ms_p50", "flow": "voip"} | more
        with pytest.raises(jf.ArgumentError) as told:
            jf.sensitivity.sobol(scenario or cell(), settings, **more)
        assert told.value.field == field and told.value.allowed, told.value

    ask("settings", {MATTERS: ("20kB", "100kB")})
    ask("points", points=48)
    ask("scenario", scenario=cell().grid({"core.delay": ["5ms", "6ms"]}))
    for wrong in (("20kB",), ("20kB", "1MB"), ("20kB", "10kB"), ("many", "20kB"),
                  ("20kB", "30kB", "squared"), ("0kB", "30kB", "log"), (True, 3)):
        ask(MATTERS, {DOES_NOT: ("1MB", "4MB"), MATTERS: wrong})
    with pytest.raises(jf.ArgumentError, match="at least 2"):
        jf.sensitivity.morris(cell(), SETTINGS, "delay_ms_p50", "voip", trajectories=1)
    assert not (tmp_path / "none").exists()
    ask("metric", metric="delays", points=4)
    with pytest.raises(jf.ScenarioError, match="rlc.queue.limits"):
        jf.sensitivity.sobol(cell(), {DOES_NOT: ("1MB", "4MB"), "rlc.queue.limits": (1, 2)},
                             "delay_ms_p50", "voip", points=4, out=tmp_path / "other")
