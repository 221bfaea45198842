"""Campaigns on threads and on Dask give one dataset, even if processes die on the way."""

import json
import math
import os
import re
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
# Seconds of the processes that jobs leave behind; no other program sleeps as long.
LONG = f"1000.{os.getpid()}"
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
    # The rows of the earlier file stay.
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
    assert dataset.table("delay.mean", "voip").to_dicts() == table
    with pytest.raises(jf.ArgumentError, match="metric: found delay.p98, .*did you mean"):
        dataset.table("delay.p98", "voip")
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


def test_a_mistake_is_an_exception(file: Path, tmp_path: Path) -> None:
    file.write_text(TEXT.replace("DRQL", "DRQX"))
    with pytest.raises(jf.ArgumentError, match="did you mean DRQL"):
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


MINE = '''
import os, signal, subprocess, sys, time
import justfull as jf

runs = 0


class Half(jf.Limiter):
    """Half a slot's capacity, at least 3000 bytes."""

    base = "Vanilla"

    def __init__(self, unit, slot, mtu):
        global runs
        runs += 1
        assert runs == 1, "nothing of another job is left"
        print("a line that belongs to nobody")
        super().__init__(unit, slot, mtu)
        self.limit = 2 * mtu

    def room(self, now, backlog):
        return max(0, self.limit - backlog)

    def on_slot(self, report):
        self.limit = max(3000, report.capacity // 2)
        trouble(report.pulled_at)


def trouble(now):
    pass
'''

OF_MINE = """
scenarios = ["nr-100mhz"]
methods = ["DRQL", "Half"]
seeds = 4
[set]
duration = "1s"
warmup = "100ms"
[python.Half]
file = "mine.py"
class = "Half"
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    path = tmp_path / "own.toml"
    path.write_text(OF_MINE.replace("scenarios", 'job_limit = "60s"\nscenarios', 1))
    return path


def test_methods_in_python_give_equal_rows_on_threads_and_on_dask(
    mine: Path, tmp_path: Path, client: Client
) -> None:
    told: list[tuple[int, float]] = []
    threads = jf.campaign(mine, tmp_path / "threads", threads=2,
                          progress=lambda *made: told.append(made))
    dask = jf.campaign(mine, tmp_path / "dask", client=client)
    assert (threads.tally["done"], threads.tally["failed"], told[-1]) == (8, [], (8, 8.0))
    assert rows(threads).equals(rows(dask))
    scope: dict[str, Any] = {}
    exec(MINE.replace("assert runs == 1", "assert runs"), scope)
    cell = jf.scenario("nr-100mhz").set(duration="1s", warmup="100ms")
    run = cell.run([scope["Half"]], seeds=4, progress=False).runs.to_polars().sort("seed", "flow")
    ours = rows(threads).filter(polars.col("method") == "Half").sort("seed", "flow")
    for name in ("delay_ms_mean", "delay_ms_p99", "goodput_mbit_s"):
        assert ours[name].equals(run[name].cast(polars.Float64)), name
    # Other settings and another file give other jobs; equal jobs are not made again.
    ledger = (tmp_path / "threads" / "ledger.jsonl").read_text()
    assert jf.campaign(mine, tmp_path / "threads").tally["done"] == 8
    assert (tmp_path / "threads" / "ledger.jsonl").read_text() == ledger
    (tmp_path / "mine.py").write_text(MINE.replace("// 2", "// 3"))
    changed = json.loads(program("status", mine, "-o", tmp_path / "threads", "--json").stdout)
    assert (changed["done"], changed["open"]) == (4, 4)
    with mine.open("a") as file:
        file.write('settings = { "rlc.queue.limit" = "20kB" }\n')
    other = jf.campaign(mine, tmp_path / "threads")
    assert other.tally["done"] == 8
    assert rows(other).filter(polars.col("method") == "Half")["job"].n_unique() == 8


def program(command: str, *arguments: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, "campaign", command, *map(str, arguments)],
                          capture_output=True, text=True)


def test_the_command_line_lists_adds_and_tables_what_python_makes(
    mine: Path, tmp_path: Path
) -> None:
    jf.campaign(mine, tmp_path / "out")
    refused = program("run", mine, "-o", tmp_path / "out")
    assert refused.returncode == 2
    assert "python.Half: found a method in Python" in refused.stderr
    assert len(program("list", mine).stdout.splitlines()) >= 8
    added = program("add", mine, "--seeds", "6", "-o", tmp_path / "out")
    assert (added.returncode, "seeds = 6" in mine.read_text()) == (0, True), added.stderr
    assert "8 of 12 jobs made, 4 open" in added.stdout
    assert jf.campaign(mine, tmp_path / "out").tally["done"] == 12
    table = program("table", mine, "-o", tmp_path / "out", "--flow", "voip", "--json")
    assert [row["method"] for row in json.loads(table.stdout)["rows"]] == ["DRQL", "Half"]


TROUBLES = {
    "raise ValueError('too much')": r"mine\.py, line \d+: ValueError: too much",
    "sys.exit(3)": r"mine\.py, line \d+: SystemExit: 3",
    "os._exit(3)": r"its process ended with exit status 3",
    "os.kill(os.getpid(), signal.SIGKILL)": r"its process was ended by SIGKILL",
    "time.sleep(1e6)": r"it had not ended after 7 s, more than job_limit",
    f"subprocess.Popen(['sleep', '{LONG}']); os._exit(0)": r"its process ended with exit status 0",
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_a_job_in_trouble_fails_alone_and_can_be_made_again(
    mine: Path, tmp_path: Path, trouble: str, client: Client
) -> None:
    file = tmp_path / "mine.py"
    mine.write_text(mine.read_text().replace('"60s"', '"2s"')
                    .replace('"DRQL", ', "").replace("seeds = 4", "seeds = 3"))
    # The first job finds no flag, the others find the flag of the first.
    flag = tmp_path / "flag"
    file.write_text(MINE.replace("    pass", f"""\
    if now > 500_000_000 and not os.path.exists({str(flag)!r}):
        open({str(flag)!r}, "x").close()
        {trouble}"""))
    before = len(sleepers())
    first = jf.campaign(mine, tmp_path / "out", threads=1)
    [failed] = first.tally["failed"]
    assert re.search(TROUBLES[trouble], failed), failed
    assert first.tally["done"] == 2
    assert len(sleepers()) == before, "what it started goes with it"
    again = jf.campaign(mine, tmp_path / "out", client=client, retry=True)
    assert (again.tally["done"], again.tally["failed"]) == (3, [])


def sleepers() -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [place.read_text()] if f"sleep\x00{LONG}" in place.read_text() else []
        except OSError:
            pass
    return found


def test_an_answer_that_is_nonsense_and_a_loop_without_end_fail_in_words(
    mine: Path, tmp_path: Path
) -> None:
    mine.write_text(mine.read_text().replace('"60s"', '"2s"').replace('"DRQL", ', "")
                    .replace("seeds = 4", "seeds = 1"))
    file = tmp_path / "mine.py"
    file.write_text(MINE.replace("return max(0, self.limit - backlog)", "return 'much'"))
    [failed] = jf.campaign(mine, tmp_path / "a").tally["failed"]
    assert "room: returned 'much', allowed is a whole number" in failed
    file.write_text(MINE.replace("    pass", "    while True: pass"))
    [failed] = jf.campaign(mine, tmp_path / "b").tally["failed"]
    assert "it had not ended after 7 s, more than job_limit" in failed


@pytest.mark.parametrize("old, new, field, found", [
    ("import os", "import nothing_of_this_name", "python.Half.file", "ModuleNotFoundError"),
    ("import os", "import os as = 3, os", "python.Half.file", "line 2: SyntaxError"),
    ("import os", "import os; os._exit(7)", "python", "ended with exit status 7"),
    ("class Half(jf.Limiter)", "class Other(jf.Limiter)", "python.Half.class", "Half"),
    ("class Half(jf.Limiter)", "class Half", "python.Half.class", "Half"),
    ('base = "Vanilla"', 'base = "CoDel"', "python.Half.base", "Vanilla"),
])
def test_an_unusable_method_is_refused_before_the_first_job(
    mine: Path, tmp_path: Path, old: str, new: str, field: str, found: str
) -> None:
    (tmp_path / "mine.py").write_text(MINE.replace(old, new, 1))
    with pytest.raises(jf.ArgumentError) as caught:
        jf.campaign(mine, tmp_path / "out")
    assert caught.value.field == field
    assert found in str(caught.value)
    assert not list((tmp_path / "out" / "parts").iterdir())


@pytest.mark.parametrize("old, new, message", [
    ('file = "mine.py"', 'file = "none.py"', r"python\.Half\.file: found .*none\.py: No such file"),
    ('"DRQL", "Half"', '"DRQL"', r"python\.Half: found a method that is not used"),
    ('[python.Half]', '[python.drql]', r"python\.drql: found a method that is not used"),
    ('class = "Half"', 'class = "Half"\nbase = "Vanila"', r"did you mean Vanilla"),
    ('class = "Half"', 'class = "Half"\nsettings = { "rlc.queue" = 3 }', r"rlc\.queue"),
])
def test_a_table_of_python_is_checked(
    mine: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    mine.write_text(mine.read_text().replace(old, new, 1))
    with pytest.raises(jf.JustfullError, match=message):
        jf.campaign(mine, tmp_path / "out")


def one_job(mine: Path) -> None:
    mine.write_text(mine.read_text().replace('"DRQL", ', "").replace("seeds = 4", "seeds = 1"))


def test_a_method_may_have_a_thousand_files_open(mine: Path, tmp_path: Path) -> None:
    one_job(mine)
    (tmp_path / "mine.py").write_text(MINE.replace(
        "runs = 0", "runs = 0\nimport resource\n"
        "_, most = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, most), most))\n"
        "files = [open('/dev/null') for _ in range(1100)]"))
    dataset = jf.campaign(mine, tmp_path / "out")
    assert (dataset.tally["done"], dataset.tally["failed"]) == (1, [])


def test_a_job_cannot_answer_in_the_place_of_its_maker_and_leaves_no_process(
    mine: Path, tmp_path: Path
) -> None:
    one_job(mine)
    (tmp_path / "mine.py").write_text(MINE.replace(
        "def trouble(now):\n    pass", """
def trouble(now):
    if now != 0 and not os.path.exists("/proc/self/fd/999"):
        os.dup2(2, 999)
        for descriptor in range(3, 60):
            try:
                if os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe"):
                    os.write(descriptor, b"[]\\n")
            except OSError:
                pass
        subprocess.Popen(["setsid", "sleep", "LONG"])
        subprocess.Popen(["sh", "-c", "setsid sleep LONG &"], start_new_session=True)
""".replace("LONG", LONG)))
    before = len(sleepers())
    dataset = jf.campaign(mine, tmp_path / "out")
    # It may spoil its own answer, and nothing else.
    assert dataset.tally["done"] + len(dataset.tally["failed"]) == 1
    assert len(sleepers()) == before


def test_no_row_of_a_damaged_part_is_read(file: Path, tmp_path: Path) -> None:
    file.write_text(TEXT.replace("seeds = 30", "seeds = 2"))
    dataset = jf.campaign(file, tmp_path / "out", threads=2)
    (tmp_path / "out" / "parts" / "mine.parquet").write_bytes(b"none of its own")
    count = len(rows(dataset))
    part = next((tmp_path / "out").glob("parts/*/*/*.parquet"))
    whole = part.read_bytes()
    part.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    with pytest.raises(jf.ArgumentError, match="found other content than was written"):
        dataset.scan()
    part.write_bytes(whole)
    assert len(rows(dataset)) == count


def test_a_folder_that_is_no_dataset_is_left_alone(file: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / "parts").mkdir(parents=True)
    (tmp_path / "out" / "parts" / ".env").write_text("mine")
    with pytest.raises(jf.ArgumentError, match="allowed is a new or empty folder"):
        jf.campaign(file, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["parts", ".env"]


def test_ctrl_c_ends_the_processes_of_jobs(mine: Path, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    (tmp_path / "mine.py").write_text(MINE.replace(
        "    pass", f"    subprocess.Popen(['sleep', '{LONG}'])\n"
        f"    open({str(flag)!r}, 'w').write(str(os.getpid())); time.sleep(1e6)"))
    before = len(sleepers())
    script = tmp_path / "drive.py"
    script.write_text(f"import justfull as jf\njf.campaign({str(mine)!r}, {str(tmp_path / 'o')!r})")
    driver = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not (flag.exists() and flag.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    child = int(flag.read_text())
    driver.send_signal(signal.SIGINT)
    _, said = driver.communicate(timeout=30)
    assert b"KeyboardInterrupt" in said
    assert len(sleepers()) == before, "what a job has started goes with it"
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists()
    tally = json.loads(program("status", mine, "-o", tmp_path / "o", "--json").stdout)
    assert tally["failed"] == []
