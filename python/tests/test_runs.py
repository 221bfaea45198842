"""Scenarios, runs and results, held against the command line's files."""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import polars
import pyarrow
import pytest

import justfull as jf

PROGRAM = os.environ["JUSTFULL_PROGRAM"]
SHORT = {"duration": "15s", "warmup": "5s"}


def command(*arguments: str) -> None:
    subprocess.run([PROGRAM, *arguments], check=True, capture_output=True)


@pytest.fixture(scope="module")
def results() -> jf.Results:
    cell = jf.scenario("voip-over-lte").set(SHORT)
    return cell.run(["Vanilla", "DRQL"], seeds=2, packets=True, slots=True, progress=False)


def test_rows_equal_the_command_lines(results: jf.Results, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command("run", "voip-over-lte", "--set", "duration=15s", "--set", "warmup=5s", "--method",
            "Vanilla", "--method", "DRQL", "--runs", "2", "-q", "--out", str(out))
    assert results.runs.to_polars().equals(polars.read_parquet(out / "runs.parquet"))
    for name in ("series", "flow_series", "cdf"):
        table = getattr(results, name)
        there = polars.read_csv(out / f"{name}.csv", infer_schema_length=None)
        assert table.columns == there.columns
        assert len(table) == len(there) > 0
        for column in there.columns:
            numbers = there[column].dtype.is_numeric()
            for ours, theirs in zip(table[column], there[column].to_list()):
                assert ours == theirs or (numbers and math.isclose(ours, theirs)), column


def test_a_folder_of_results_is_loaded_with_its_tables_figures_and_colours(
    results: jf.Results, tmp_path: Path
) -> None:
    results.save(tmp_path / "out")
    loaded = jf.load(tmp_path / "out")
    for name in ("runs", "series", "flow_series", "cdf", "entities", "cells", "drx"):
        ours, theirs = getattr(results, name), getattr(loaded, name)
        assert ours.columns == theirs.columns and len(ours) == len(theirs)
        assert all(ours[column] == theirs[column] for column in ours.columns), name
        assert theirs.meaning == ours.meaning
    assert loaded.scenario_toml == results.scenario_toml
    assert loaded.colour("DRQL") == results.colour("DRQL")
    assert loaded.figures() == results.figures()
    assert loaded.report() == results.report()
    assert "voip-over-lte" in loaded.scenario and "out" in repr(loaded)


def test_a_folder_that_is_not_whole_is_not_loaded(results: jf.Results, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder of results is there"):
        jf.load(tmp_path / "none")
    results.save(tmp_path / "out")
    with (tmp_path / "out" / "cdf.csv").open("a") as file:
        file.write("x\n")
    with pytest.raises(ValueError, match="cdf.csv"):
        jf.load(tmp_path / "out")


def test_packets_and_slots_equal_the_command_lines(
    results: jf.Results, tmp_path: Path
) -> None:
    for name in ("packets", "slots"):
        file = tmp_path / f"{name}.parquet"
        command("run", "voip-over-lte", "--set", "duration=15s", "--set", "warmup=5s", "--method",
                "DRQL", "--seed", "2", "--runs", "1", "-q", "--no-files", f"--{name}", str(file))
        ours = getattr(results, name).to_polars().filter(method="DRQL", seed=2)
        theirs = polars.read_parquet(file)
        assert ours.columns == theirs.columns
        same = theirs.with_columns([
            polars.col(column).cast(ours[column].dtype) for column in theirs.columns])
        assert ours.equals(same), name


def test_readers_share_the_memory(results: jf.Results) -> None:
    table = pyarrow.table(results.runs)
    again = pyarrow.table(results.runs)
    assert table.num_rows == len(results.runs) == 8
    frame = results.runs.to_pandas()
    assert list(frame["method"].unique()) == ["Vanilla", "DRQL"]
    found = duckdb.sql("select method, count(*) from again group by method order by method")
    assert found.fetchall() == [("DRQL", 4), ("Vanilla", 4)]
    runs = results.runs
    first, second = pyarrow.table(runs), pyarrow.table(runs)
    column = first.column_names.index("delay_ms_mean")
    address = [t.column(column).chunk(0).buffers()[1].address for t in (first, second)]
    assert address[0] == address[1], "no copy is made"
    assert again.equals(table)
    assert "ms: " in runs.meaning["delay_ms_mean"]


def test_a_setting_a_grid_and_a_method_change_a_scenario() -> None:
    cell = jf.scenario("nr-100mhz").set(SHORT)
    grid = cell.grid({"rlc.queue.limit": ["1MB", "4MB"], "core.delay": ["5ms", "10ms"]})
    assert len(grid.points) == 4
    assert 'duration = "15s"' in cell.toml()
    assert "RLC" in str(cell)
    # The last call about a setting counts.
    one = {"rlc.queue.limit": "2MB"}
    assert not cell.set(one).grid({"rlc.queue.limit": ["1MB", "4MB"]}).warnings
    assert grid.set(one).points == ["core.delay_ms=5", "core.delay_ms=10"]
    mine = jf.Method("Shallow", "Vanilla", {"rlc.queue.limit": "50kB"})
    found = jf.scenario("voip-over-lte").set(SHORT).run(
        ["Vanilla", mine], seeds=1, progress=False).runs
    delay = dict(zip(zip(found["method"], found["flow"]), found["delay_ms_mean"]))
    assert delay["Shallow", "voip"] < delay["Vanilla", "voip"]


def test_mistakes_name_file_field_value_and_what_is_allowed() -> None:
    cell = jf.scenario("t20-individual")
    with pytest.raises(jf.ScenarioError) as caught:
        cell.set({"rlc.queue.limt": "1MB"})
    assert caught.value.field == "rlc.queue.limt"
    assert "limit" in caught.value.allowed
    with pytest.raises(jf.ScenarioError) as caught:
        jf.scenario("[flow]\nx = \n")
    assert (caught.value.file, caught.value.line) == ("scenario.toml", 2)
    with pytest.raises(jf.ScenarioError, match="did you mean t20-individual"):
        jf.scenario("t20-indvidual")
    with pytest.raises(jf.ScenarioError, match="field `methods`: found NoSuch"):
        cell.run(["NoSuch"])
    with pytest.raises(jf.ScenarioError, match="field `seeds`: found 0"):
        cell.run(seeds=0)
    with pytest.raises(jf.ScenarioError, match=r"field `duration` \(set by set\(\)\)"):
        cell.set(duration="x")
    with pytest.raises(jf.ArgumentError, match="64 bits"):
        cell.set(seed=2**70)
    with pytest.raises(jf.ArgumentError, match="a bool, a number"):
        cell.set(duration=object())
    with pytest.raises(jf.ArgumentError, match="a list of values"):
        cell.grid({"duration": 3})
    with pytest.raises(ValueError, match=r"packets=True"):
        cell.set(SHORT).run(["Vanilla"], seeds=1, progress=False).packets
    with pytest.raises(KeyError, match="delay_ms_mean"):
        cell.set(SHORT).run(["Vanilla"], seeds=1, progress=False).runs["nothing"]


def test_a_column_has_its_short_name_too_and_a_typo_gets_the_names_beside_it() -> None:
    runs = jf.scenario("demo").set(SHORT).run(["Vanilla"], seeds=1, progress=False).runs
    assert runs["delay.p99"] == runs["delay_ms_p99"]
    for typo in ("delay_ms_p9", "dely.p99"):
        with pytest.raises(KeyError, match=f"found {typo}, did you mean delay_ms_p99"):
            runs[typo]


def test_ctrl_c_ends_a_long_run_within_a_tenth_of_a_second() -> None:
    cell = jf.scenario("nr-100mhz").set(duration="2000s")
    sent = [0.0]

    def interrupt() -> None:
        time.sleep(0.5)
        sent[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        cell.run(["Vanilla"], seeds=1, progress=False)
    assert time.monotonic() - sent[0] < 0.1


def test_python_goes_on_while_runs_are_made() -> None:
    counted, end = [0], threading.Event()

    def count() -> None:
        while not end.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    jf.scenario("nr-100mhz").set(duration="10s").run(["Vanilla"], seeds=2, progress=False)
    elapsed = time.monotonic() - start
    end.set()
    thread.join()
    assert counted[0] > 20 * elapsed, "the lock of the interpreter is free"


def test_progress_is_told_and_may_end_the_runs() -> None:
    cell, told = jf.scenario("nr-100mhz").set(duration="10s"), []
    cell.run(["Vanilla"], seeds=2, progress=lambda runs, seconds: told.append((runs, seconds)))
    assert told[-1] == (2, 20.0)

    def refuse(runs: int, seconds: float) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cell.set(duration="500s").run(["Vanilla"], seeds=1, progress=refuse)


def test_results_are_saved_shown_and_reported(results: jf.Results, tmp_path: Path) -> None:
    results.save(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "result.json").read_text())["schema"] >= 1
    subprocess.run([PROGRAM, "check", str(tmp_path / "out")], check=True, capture_output=True)
    assert "<svg" in next(iter(results.figures().values()))
    assert "Vanilla" in str(results)
    html = results._repr_html_()
    assert html.count("<tr") > 4 and "DRQL" in html
    assert "<table>" in results.runs._repr_html_()
    assert "<td style='white-space:nowrap'>" in results.runs._repr_html_()
    assert "<pre style='font-family:monospace" in jf.scenario("demo")._repr_html_()


def test_the_import_takes_under_a_tenth_of_a_second() -> None:
    timed = ("import time; t = time.process_time(); import justfull; "
             "print(time.process_time() - t)")
    least = min(float(subprocess.run([sys.executable, "-c", timed], check=True,
                                     capture_output=True, text=True).stdout) for _ in range(5))
    assert least < 0.1


def test_earlier_runs_and_campaigns_are_listed_as_on_the_command_line(
    results: jf.Results, tmp_path: Path
) -> None:
    results.save(tmp_path / "r" / "saved")
    (tmp_path / "c.toml").write_text(
        'scenarios = ["voip-over-lte"]\nmethods = ["DRQL"]\nseeds = 3\n[set]\nduration = "12s"\n')
    command("campaign", "run", str(tmp_path / "c.toml"), "-q", "--out", str(tmp_path / "r" / "c"))
    found = jf.runs(tmp_path / "r")
    done = subprocess.run([PROGRAM, "runs", str(tmp_path / "r"), "--json"], check=True,
                          capture_output=True)
    there = json.loads(done.stdout)
    assert [run.folder for run in found] == [run["folder"] for run in there]
    assert {run.kind for run in found} == {"campaign", "run"}
    saved = next(run for run in found if run.kind == "run")
    assert saved.scenario == "voip-over-lte" and saved.methods == ["Vanilla", "DRQL"]
    assert saved.figures[0].delay_ms_p99 > saved.figures[1].delay_ms_p99
    assert len(saved.load().runs) == len(results.runs)
    assert "saved" in repr(found) and "<td>" in found._repr_html_() and len(found[:1]) == 1
    dataset = next(run for run in found if run.kind == "campaign")
    with pytest.raises(ValueError, match=r"found the dataset of a campaign, .* jf\.campaign"):
        dataset.load()
    with pytest.raises(OSError, match="none"):
        jf.runs(tmp_path / "none")


def test_a_scenario_shows_its_file_and_settings_without_its_text() -> None:
    changed = jf.scenario("voip-over-lte").set({"rlc.queue.limit": "100kB"})
    shown = repr(changed)
    assert shown.startswith("Scenario(file='voip-over-lte.toml'"), shown
    assert "'rlc.queue.limit', '100kB'" in shown and "\\n" not in shown, shown
