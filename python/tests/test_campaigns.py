"""Campaigns on threads and on Dask give one dataset, whatever dies on the way."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import polars
import pytest
from distributed import Client, LocalCluster

import justfull as jf
from justfull import campaigns

PROGRAM = os.environ["JUSTFULL_PROGRAM"]
TEXT = """
scenarios = ["nr-100mhz"]
methods = ["Vanilla", "DRQL"]
seeds = 30
[set]
duration = "2s"
warmup = "500ms"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    return path


def rows(dataset: jf.campaigns.Dataset) -> polars.DataFrame:
    frame: polars.DataFrame = dataset.scan().collect()
    return frame.sort("job", "flow")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with Client(cluster) as made:
            yield made


def test_one_dataset_from_the_command_line_threads_and_dask(
    file: Path, tmp_path: Path, client: Client
) -> None:
    subprocess.run([PROGRAM, "campaign", "run", str(file), "-q", "-o", str(tmp_path / "rust")],
                   check=True, capture_output=True)
    threads = jf.campaign(file, tmp_path / "threads", threads=2)
    dask = jf.campaign(file, tmp_path / "dask", client=client)
    assert threads.tally["done"] == dask.tally["done"] == 60
    assert rows(threads).equals(rows(dask))
    there = polars.read_parquet(str(tmp_path / "rust" / "parts" / "**" / "*.parquet"),
                                hive_partitioning=False)
    assert rows(dask).equals(there.sort("job", "flow"))
    # The same rows as a run of the scenario.
    cell = jf.scenario("nr-100mhz").set(duration="2s", warmup="500ms")
    run = cell.run(["DRQL"], seeds=3, progress=False).runs.to_polars()
    ours = rows(dask).filter((polars.col("method") == "DRQL") & (polars.col("seed") <= 3))
    for name in ("delay_ms_mean", "delay_ms_p99", "goodput_mbit_s", "delivered_packets"):
        expected = run.sort("seed", "flow")[name].cast(polars.Float64)
        assert ours.sort("seed", "flow")[name].equals(expected), name


def test_more_seeds_reuse_what_is_there(file: Path, tmp_path: Path, client: Client) -> None:
    first = jf.campaign(file, tmp_path / "out", threads=2)
    ledger = (tmp_path / "out" / "ledger.jsonl").read_text()
    file.write_text(TEXT.replace("seeds = 30", "seeds = 34"))
    more = jf.campaign(file, tmp_path / "out", client=client)
    assert (first.tally["done"], more.tally["done"]) == (60, 68)
    assert (tmp_path / "out" / "ledger.jsonl").read_text().startswith(ledger)


def test_a_worker_sees_that_a_file_beside_the_campaign_has_changed(
    tmp_path: Path, client: Client
) -> None:
    cell = tmp_path / "cell.toml"
    cell.write_text(str(jf.scenario("nr-100mhz").set(duration="1s", warmup="100ms").toml()))
    file = tmp_path / "study.toml"
    file.write_text('scenarios = ["cell.toml"]\nmethods = ["Vanilla"]\nseeds = 6\n')
    told: list[tuple[int, float]] = []

    def tell(finished: int, simulated_s: float) -> None:
        told.append((finished, simulated_s))

    first = jf.campaign(file, tmp_path / "out", client=client, progress=tell)
    assert (first.tally["done"], told[-1]) == (6, (6, 6.0))
    told.clear()
    jf.campaign(file, tmp_path / "threads", threads=2, progress=tell)
    assert told[-1][0] == 6
    cell.write_text(cell.read_text().replace('duration = "1s"', 'duration = "1.5s"'))
    second = jf.campaign(file, tmp_path / "out", client=client)
    assert (second.tally["done"], second.tally["failed"]) == (6, [])
    # The rows of the file as it was stay.
    assert sorted(rows(second)["duration_s"].unique()) == [1.0, 1.5]


def test_many_cases_share_parts_on_dask_too(tmp_path: Path, client: Client) -> None:
    path = tmp_path / "study.toml"
    limits = ", ".join(f'"{n}0kB"' for n in range(1, 41))
    path.write_text(TEXT.replace("seeds = 30", "seeds = 2").replace('"2s"', '"1s"')
                    + f'[grid]\n"rlc.queue.limit" = [{limits}]\n')
    dask = jf.campaign(path, tmp_path / "dask", client=client)
    threads = jf.campaign(path, tmp_path / "threads", threads=2)
    assert dask.tally["done"] == threads.tally["done"] == 160
    assert max(dask.tally["parts"], threads.tally["parts"]) < 40
    assert rows(dask).equals(rows(threads))


def test_tables_differences_and_fronts(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    # The call begins after 2 s.
    text = TEXT.replace("seeds = 30", "seeds = 5").replace('"2s"', '"4s"')
    path.write_text(text
                    + '[grid]\n"rlc.queue.limit" = ["200kB", "2MB"]\n')
    dataset = jf.campaign(path, tmp_path / "out")
    table = dataset.table("delay_ms_mean", "voip").to_dicts()
    assert [(row["method"], row["n"]) for row in table] == [
        ("DRQL", 5), ("Vanilla", 5)] * 2
    cell = jf.scenario("nr-100mhz").set(
        {"rlc.queue.limit": "2MB"}, duration="4s", warmup="500ms")
    runs = cell.run(["Vanilla", "DRQL"], seeds=5, progress=False).runs.to_dicts()

    def delays(method: str) -> list[float]:
        return [row["delay_ms_mean"] for row in runs
                if (row["method"], row["flow"]) == (method, "voip")]

    assert math.isclose(table[3]["mean"], fmean(delays("Vanilla")))
    assert table[3]["half_width"] > 0
    apart = dataset.table("delay_ms_mean", "voip", against="Vanilla").to_dicts()
    assert [row["method"] for row in apart] == ["DRQL", "DRQL"]
    differences = [a - b for a, b in zip(delays("DRQL"), delays("Vanilla"))]
    assert math.isclose(apart[1]["mean"], fmean(differences))
    page = dataset.report(["delay.mean", "goodput"], against="Vanilla")
    assert page == tmp_path / "out" / "report.html"
    assert "Differences to Vanilla" in page.read_text()
    with pytest.raises(jf.ArgumentError, match="no column `dely`"):
        dataset.report(["dely"])
    with pytest.raises(jf.ArgumentError, match="no method `X`"):
        dataset.report(against="X")
    front = dataset.pareto("voip", least=["delay_ms_mean", "delay_ms_p99"]).to_dicts()
    best = min(front, key=lambda row: row["delay_ms_mean"])
    assert best["front"] and not all(row["front"] for row in front)
    with pytest.raises(jf.ArgumentError, match="against: found X, allowed is one of DRQL, Vanilla"):
        dataset.table("delay_ms_mean", "voip", against="X")
    with pytest.raises(jf.ArgumentError, match="metric: found nothing"):
        dataset.table("nothing", "voip")
    with pytest.raises(jf.ArgumentError, match="flow: found nobody"):
        dataset.table("delay_ms_mean", "nobody")
    with pytest.raises(jf.ArgumentError, match="two or more"):
        dataset.pareto("voip", least=["delay_ms_mean"])


def started(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "distributed.cli." + arguments[0],
                             *arguments[1:]], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def workers(scheduler: str, count: int) -> list[subprocess.Popen[bytes]]:
    return [started("dask_worker", scheduler, "--nthreads", "1", "--no-nanny", "--no-dashboard",
                    "--name", f"w{i}-{time.time_ns()}") for i in range(count)]


def length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def until_it_grows(ledger: Path, driver: subprocess.Popen[bytes]) -> None:
    before, end = length(ledger), time.monotonic() + 60
    while length(ledger) <= before and driver.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


def test_workers_killed_three_times_and_the_scheduler_once(file: Path, tmp_path: Path) -> None:
    file.write_text(TEXT.replace('duration = "2s"', 'duration = "10s"'))
    whole = jf.campaign(file, tmp_path / "whole", threads=2)
    ledger, script = tmp_path / "out" / "ledger.jsonl", tmp_path / "drive.py"
    script.write_text(
        "import sys\nfrom distributed import Client\nimport justfull as jf\n"
        "with Client(sys.argv[1], timeout=60) as client:\n"
        "    client.wait_for_workers(1)\n"
        "    jf.campaign(sys.argv[2], sys.argv[3], client=client)\n")

    def cluster(port: int) -> tuple[list[subprocess.Popen[bytes]], subprocess.Popen[bytes]]:
        address = f"tcp://127.0.0.1:{port}"
        scheduler = started("dask_scheduler", "--host", "127.0.0.1", "--port", str(port),
                            "--no-dashboard")
        running = [scheduler, *workers(address, 2)]
        driver = subprocess.Popen([sys.executable, str(script), address, str(file),
                                   str(tmp_path / "out")], stderr=subprocess.DEVNULL)
        return running, driver

    running, driver = cluster(18786)
    try:
        for _ in range(3):
            until_it_grows(ledger, driver)
            running[1].send_signal(signal.SIGKILL)
            running.pop(1).wait()
            running += workers("tcp://127.0.0.1:18786", 1)
        until_it_grows(ledger, driver)
        assert driver.poll() is None, "it goes on"
        running[0].send_signal(signal.SIGKILL)
    finally:
        for process in [*running, driver]:
            process.kill()
            process.wait()
    known = json.loads(subprocess.run(
        [PROGRAM, "campaign", "status", str(file), "-o", str(tmp_path / "out"), "--json"],
        check=True, capture_output=True).stdout)
    assert 0 < known["done"]
    running, driver = cluster(18787)
    try:
        assert driver.wait(timeout=120) == 0
    finally:
        for process in [*running, driver]:
            process.kill()
            process.wait()
    assert rows(campaigns.campaign(file, tmp_path / "out")).equals(rows(whole))


def test_a_worker_of_another_version_is_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Other:
        def run(self, ask: Any, on_error: str) -> dict[str, tuple[str, str]]:
            return {"tcp://far:1": ("9.9.9", "0000")}

    with pytest.raises(campaigns.VersionError, match=r"worker tcp://far:1: found justfull 9\.9\.9"):
        jf.campaign(file, tmp_path / "out", client=Other())


def test_what_is_wrong_is_an_exception(file: Path, tmp_path: Path) -> None:
    file.write_text(TEXT.replace("DRQL", "DRQX"))
    with pytest.raises(jf.ScenarioError, match="did you mean DRQL"):
        jf.campaign(file, tmp_path / "out")
    file.write_text(TEXT.replace("seeds = 30", "seeds = 0"))
    with pytest.raises(jf.ArgumentError) as caught:
        jf.campaign(file, tmp_path / "out")
    assert (caught.value.field, caught.value.found) == ("seeds", "0")
    file.write_text(TEXT)
    jf.campaign(file, tmp_path / "out", threads=2)
    ledger = tmp_path / "out" / "ledger.jsonl"
    ledger.write_text(ledger.read_text().replace('"ledger":2', '"ledger":7'))
    with pytest.raises(jf.ArgumentError, match="a ledger of format 7"):
        jf.campaign(file, tmp_path / "out")
