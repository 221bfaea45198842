"""Traces: read, described, fitted and made by chance, as the command line does."""

import json
import os
import subprocess
from pathlib import Path

import matplotlib
import pytest

import justfull as jf

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

PROGRAM = os.environ.get("JUSTFULL_PROGRAM", "justfull")


def said(*words: object) -> str:
    return subprocess.run([PROGRAM, "trace", *map(str, words)], check=True, text=True,
                          capture_output=True).stdout


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    file = tmp_path / "walk.trace"
    jf.traces.fit("pedestrian-like").make("120s").save(file, "mahimahi")
    return file


def test_a_trace_made_by_chance_is_the_command_lines(tmp_path: Path, walk: Path) -> None:
    there = tmp_path / "there.trace"
    said("synth", "pedestrian-like", "--duration", "120s", "--to", "mahimahi", "-o", there)
    assert walk.read_bytes() == there.read_bytes()
    other = jf.traces.fit("pedestrian-like").make("120s", seed=2)
    assert other.rates("1s") != jf.traces.read(walk).rates("1s")


def test_info_and_fit_are_the_command_lines(walk: Path) -> None:
    trace = jf.traces.read(walk)
    assert trace.info("1s") == json.loads(said("info", walk, "--bin", "1s", "--json"))
    assert trace.duration_s == pytest.approx(120, abs=1) and trace.notes == []
    assert "Mbit/s" in repr(trace)
    fitted = trace.fit(step="1s", map="nr_t1")
    assert fitted.toml == said("fit", walk, "--step", "1s", "--map", "nr_t1")
    assert fitted.trace is not None and fitted.chain is not None
    assert fitted.chain.mean_mbit_s == pytest.approx(fitted.trace.mean_mbit_s, rel=0.15)


def test_a_fit_is_a_channel_of_scenarios_and_a_file(tmp_path: Path, walk: Path) -> None:
    fitted = jf.traces.read(walk).fit(step="1s")
    fitted.save(tmp_path / "walk.toml")
    again = jf.traces.fit(tmp_path / "walk.toml")
    assert again.make("30s", seed=3).rates() == fitted.make("30s", seed=3).rates()
    cell = jf.scenario("voip-over-lte").set(
        channel=fitted.channel, duration="12s", warmup="2s")
    found = cell.run(["Vanilla"], seeds=2, progress=False)
    first, second = [bits for bits, flow in zip(found.runs["goodput_mbit_s"], found.runs["flow"])
                     if flow == "bulk"]
    assert first != second and first > 0


def test_a_part_and_a_table_of_rates(tmp_path: Path, walk: Path) -> None:
    trace = jf.traces.read(walk)
    assert trace.part("10s", "20s").rates("1s")[1] == pytest.approx(trace.rates("1s")[1][10:20])
    table = tmp_path / "drive.csv"
    table.write_text("time_ms,rate\n0,8\n1000,16\n2000,8\n")
    drive = jf.traces.read(table, rate_column="rate", unit="Mbit/s", time_column="time_ms")
    assert drive.rates("1s")[1][:2] == pytest.approx([8, 16])
    table.write_text("zeit;DL (kbps)\n0,0;8000\n0,5;16000\n")
    tram = jf.traces.read(table, rate_column=2, time_column="zeit")
    assert tram.rates("500ms")[1] == pytest.approx([8, 16])
    assert any("decimal comma" in note for note in tram.notes)
    table = tmp_path / "table.csv"
    table.write_text("time,rate\n0,5\n1,\n")
    with pytest.raises(jf.TraceError, match='allowed is .*: read.".*", time_column="time", rate_'):
        jf.traces.read(table)
    with pytest.raises(jf.TraceError, match='gaps="hold", "zero" or "skip" reads rows without'):
        jf.traces.read(table, time_column="time", rate_column="rate", unit="Mbit/s")
    with pytest.raises(jf.TraceError, match="without effect") as told:
        jf.traces.read(walk, gaps="zero")
    assert told.value.field == "gaps"


def test_a_mistake_is_named(tmp_path: Path, walk: Path) -> None:
    wrong = tmp_path / "wrong.trace"
    wrong.write_text("1\n2\nx\n")
    with pytest.raises(jf.TraceError) as told:
        jf.traces.read(wrong, format="mahimahi")
    assert (told.value.line, told.value.file) == (3, str(wrong)) and told.value.allowed
    with pytest.raises(jf.TraceError, match="nowhere"):
        jf.traces.read(tmp_path / "nowhere")
    trace = jf.traces.read(walk)
    for field, call in (
        ("options", lambda: jf.traces.read(walk, colour="red")),
        ("format", lambda: jf.traces.read(walk, format="mahi")),
        ("unit", lambda: jf.traces.read(walk, rate_column="1", unit="furlong")),
        ("time_unit", lambda: jf.traces.read(walk, time_unit="min")),
        ("rnti", lambda: jf.traces.read(walk, rnti="all")),
        ("prbs", lambda: trace.fit(prbs="many")),
        ("prbs", lambda: trace.fit(prbs=0)),
        ("step", lambda: trace.fit(step="2s")),
        ("over", lambda: trace.fit(over="rates")),
        ("start", lambda: trace.part("10s", "5s")),
        ("end", lambda: trace.part("10s", "1000s")),
        ("bin", lambda: trace.rates("fast")),
        ("format", lambda: trace.save(tmp_path / "out", "ucc")),
        ("source", lambda: jf.traces.fit("walk-like")),
        ("fit", lambda: jf.traces.fit(walk)),
    ):
        with pytest.raises(jf.ArgumentError) as refused:
            call()
        assert refused.value.field == field and refused.value.allowed, field
    with pytest.raises(OSError):
        trace.save(tmp_path / "no" / "folder.csv")


def test_traces_are_drawn(walk: Path) -> None:
    trace = jf.traces.read(walk)
    _, (left, right) = pyplot.subplots(1, 2)
    jf.plot.rates({"a": trace, "part": trace.part("0s", "60s")}, "1s", ax=left)
    jf.plot.rate_cdf(trace, "1s", ax=right)
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["a", "part"]
    assert len(left.patches) == 2 and right.get_legend() is None
    x, y = right.lines[0].get_data()
    assert list(x) == sorted(trace.rates("1s")[1]) and y[-1] == 1
    pyplot.close("all")
