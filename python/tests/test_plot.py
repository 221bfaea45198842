"""Figures on matplotlib axes."""

from pathlib import Path

import matplotlib
import pytest

import justfull as jf

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(scope="module")
def results() -> jf.Results:
    cell = jf.scenario("voip-over-lte").set(duration="15s", warmup="5s")
    return cell.run(["Vanilla", "DRQL"], seeds=3, progress=False)


def test_each_figure_has_a_line_for_each_method_in_its_colour(results: jf.Results) -> None:
    for draw in (jf.plot.delay_over_time, jf.plot.goodput_over_time, jf.plot.cdf, jf.plot.ccdf):
        _, axes = pyplot.subplots()
        assert draw(results, ax=axes) is axes
        colours = {line.get_label(): line.get_color() for line in axes.get_lines()}
        assert colours == {m: results.colour(m) for m in ("Vanilla", "DRQL")}, draw.__name__
        assert "voip" in axes.get_ylabel() + axes.get_xlabel()
        pyplot.close()


MARKS = {"Vanilla": "o", "DRQL": "v"}


def test_a_method_has_the_mark_and_the_dashes_of_the_command_lines_papers(
    results: jf.Results,
) -> None:
    for draw in (jf.plot.delay_over_time, jf.plot.goodput_over_time, jf.plot.cdf, jf.plot.ccdf,
                 jf.plot.series):
        _, axes = pyplot.subplots()
        draw(results, ax=axes)
        lines = {line.get_label(): line for line in axes.get_lines()}
        assert {name: line.get_marker() for name, line in lines.items()} == MARKS, draw.__name__
        dashed = {name: line.is_dashed() for name, line in lines.items()}
        assert dashed == {"Vanilla": False, "DRQL": True}, draw.__name__
        pyplot.close()


def test_a_series_is_a_column_over_time_in_the_run_with_the_seed_or_the_mean_of_all(
    results: jf.Results,
) -> None:
    _, axes = pyplot.subplots()
    assert jf.plot.series(results, "delay.p90", seed=2, ax=axes) is axes
    table = results.flow_series
    rows = zip(table["method"], table["seed"], table["flow"], table["time_s"],
               table["delay_ms_p90"])
    expected = [(time, value) for method, seed, flow, time, value in rows
                if (method, seed, flow) == ("DRQL", 2, "voip")]
    line = next(line for line in axes.get_lines() if line.get_label() == "DRQL")
    found = list(zip(*line.get_data()))
    assert len(found) == len(expected) > 10
    for (time, value), (at, wanted) in zip(found, expected):
        assert time == at and (value == wanted or wanted is None and value != value)
    assert axes.get_ylabel() == "90th percentile of delay of voip (ms)"
    pyplot.close()
    _, axes = pyplot.subplots()
    jf.plot.series(results, "goodput", ax=axes)
    rows = zip(table["method"], table["flow"], table["time_s"], table["goodput_mbit_s"])
    first = [value for method, flow, time, value in rows
             if (method, flow) == ("DRQL", "voip") and time == table["time_s"][0]]
    line = next(line for line in axes.get_lines() if line.get_label() == "DRQL")
    assert len(first) == 3 and line.get_ydata()[0] == pytest.approx(sum(first) / 3)
    pyplot.close()
    _, axes = pyplot.subplots()
    jf.plot.series(results, "rlc_packets", ax=axes)
    assert axes.get_ylabel() == "RLC packets" and len(axes.get_lines()) == 2
    pyplot.close()
    with pytest.raises(jf.ArgumentError, match="y: found dely, .* did you mean delay"):
        jf.plot.series(results, "dely")
    with pytest.raises(jf.ArgumentError, match="flow: found voip, allowed is none"):
        jf.plot.series(results, "rlc_packets", "voip")


def test_the_backlog_is_stacked_by_layer(results: jf.Results) -> None:
    _, axes = pyplot.subplots()
    jf.plot.backlog(results, "DRQL", ax=axes)
    assert [area.get_label() for area in axes.collections] == ["UPF", "SDAP", "RLC"]
    pyplot.close()


def test_a_line_over_a_swept_setting(results: jf.Results) -> None:
    cell = jf.scenario("voip-over-lte").set(duration="15s", warmup="5s")
    swept = cell.grid({"rlc.queue.limit": ["50kB", "200kB"]})
    _, axes = pyplot.subplots()
    found = swept.run(["Vanilla"], seeds=3, progress=False)
    jf.plot.line(found, "delay_ms_p99", ax=axes)
    x, y = axes.get_lines()[0].get_data()
    assert list(x) == [50.0, 200.0] and y[0] < y[1]
    assert axes.get_ylabel() == "99th percentile of delay of voip (ms)"
    assert axes.get_xlabel() == "RLC queue limit (kB)"
    pyplot.close()
    _, short = pyplot.subplots()
    jf.plot.line(found, "delay.p99", ax=short)
    assert list(short.get_lines()[0].get_data()[1]) == list(y), "by its short name"
    assert short.get_ylabel() == "99th percentile of delay of voip (ms)"
    pyplot.close()
    both = swept.grid({"rlc.queue.limit": ["50kB", "200kB"], "core.delay": ["5ms", "20ms"]})
    _, axes = pyplot.subplots()
    jf.plot.line(both.run(["Vanilla"], seeds=2, progress=False), "delay_ms_p99", ax=axes)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [f"Vanilla, core delay {delay} ms" for delay in (5, 20)]
    assert all(list(line.lines[0].get_xdata()) == [50.0, 200.0] for line in axes.containers)
    assert len({line.lines[0].get_linestyle() for line in axes.containers}) == 2
    pyplot.close()
    for draw in (jf.plot.series, jf.plot.delay_over_time, jf.plot.goodput_over_time, jf.plot.cdf,
                 jf.plot.ccdf):
        _, axes = pyplot.subplots()
        draw(found, ax=axes)
        lines = axes.get_lines()
        names = [f"Vanilla, RLC queue limit {limit} kB" for limit in (50, 200)]
        assert [line.get_label() for line in lines] == names, draw.__name__
        assert len({line.get_linestyle() for line in lines}) == 2, draw.__name__
        for line in lines:
            times = list(line.get_xdata())
            assert times == sorted(times) and len(times) > 3, draw.__name__
        pyplot.close()
    near = {"scenario": ["s"] * 2, "grid": [None] * 2, "x_name": ["rlc.queue.limit_B"] * 2,
            "x_value": [1000001.0, 1000002.0]}
    assert len(set(jf.plot._points(near))) == 2, "points that differ late keep a line each"
    with pytest.raises(jf.ArgumentError, match="y: found dely.p99, .* did you mean .*delay.p99"):
        jf.plot.line(found, "dely.p99")
    with pytest.raises(jf.ArgumentError, match="a sweep or grid"):
        jf.plot.line(results)
    with pytest.raises(jf.ArgumentError, match="flow: found nobody"):
        jf.plot.cdf(results, "nobody")


def test_a_style_is_the_size_and_the_type_of_the_figure_in_print(
    results: jf.Results, tmp_path: Path
) -> None:
    for settings, inches, size in (
        (jf.plot.style("ieee"), (3.5, 2.17), 8.0),
        (jf.plot.style("acm", height="2in"), (3.33, 2.0), 8.0),
        (jf.plot.style(width="88mm", font="9pt DejaVu Serif"), (3.4646, 2.148), 9.0),
        (jf.plot.style(width="600px"), (6.25, 3.875), 9.84375),
    ):
        with pyplot.rc_context(settings):
            axes = jf.plot.cdf(results, "voip", ax=pyplot.figure().gca())
            figure = axes.figure
            assert figure.get_size_inches().tolist() == pytest.approx(inches, abs=1e-3)
            texts = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(),
                     *axes.get_legend().get_texts()]
            assert [text.get_fontsize() for text in texts] == pytest.approx([size] * len(texts))
            figure.savefig(tmp_path / "f.pdf")
            pyplot.close()
        points = " ".join(f"{72 * side:g}"[:5] for side in inches[:1])
        assert f"/MediaBox [ 0 0 {points}".encode() in (tmp_path / "f.pdf").read_bytes()


def test_a_style_that_is_not_allowed_is_named() -> None:
    for wrong, match in (
        ({"name": "nature"}, "name: found nature, allowed is one of plain, ieee, acm"),
        ({"width": "3 feet"}, "width: found 3 feet, allowed is a length of 1.5in to 20in"),
        ({"width": "nanin"}, "width: found nanin, allowed is a length"),
        ({"height": "-2in"}, "height: found -2in, allowed is a length"),
        ({"font": "5pt"}, "font: found 5pt, allowed is a size of 7pt to 24pt"),
        ({"font": ""}, "font: found , allowed is a size of 7pt to 24pt"),
    ):
        with pytest.raises(jf.ArgumentError, match=match):
            jf.plot.style(**wrong)


def test_the_package_lists_what_it_has_and_nothing_else() -> None:
    assert {"campaign", "campaigns", "plot", "sensitivity", "testing", "traces"} <= set(dir(jf))
    assert not {"Any", "TYPE_CHECKING", "importlib", "annotations"} & set(dir(jf))
    assert all(hasattr(jf, name) for name in dir(jf))


CAMPAIGN = """
scenarios = ["voip-over-lte"]
methods = ["Vanilla", "DRQL"]
seeds = 3
[set]
duration = "12s"
"""


def test_a_campaigns_cases_and_the_front_of_them(tmp_path: Path) -> None:
    grid = '[grid]\n"rlc.queue.limit" = ["200kB", "50kB"]\n'
    (tmp_path / "depth.toml").write_text(CAMPAIGN + grid)
    dataset = jf.campaign(tmp_path / "depth.toml", tmp_path / "depth")
    _, axes = pyplot.subplots()
    assert jf.plot.cases(dataset, "delay_ms_p99", "voip", ax=axes) is axes
    lines = {bars.get_label(): bars.lines[0].get_data() for bars in axes.containers}
    means = {(row["method"], row["x_value"]): row["mean"]
             for row in dataset.table("delay_ms_p99", "voip").to_dicts()}
    for method in ("Vanilla", "DRQL"):
        x, y = lines[method]
        assert list(x) == [50.0, 200.0]
        assert list(y) == [means[method, 50.0], means[method, 200.0]]
    assert axes.containers[0].lines[0].get_color() != axes.containers[1].lines[0].get_color()
    _, axes = pyplot.subplots()
    jf.plot.front(dataset, "bulk", least="delay_ms_mean", most="goodput_mbit_s", ax=axes)
    assert len(axes.collections) == 2
    best = dataset.pareto("bulk", least=["delay_ms_mean"], most=["goodput_mbit_s"])
    assert len(axes.get_lines()[0].get_xdata()) == sum(best["front"].to_list())
    pyplot.close("all")
    (tmp_path / "plain.toml").write_text(CAMPAIGN)
    plain = jf.campaign(tmp_path / "plain.toml", tmp_path / "plain")
    with pytest.raises(jf.ArgumentError, match="found 0 scenarios with a swept setting"):
        jf.plot.cases(plain, "delay_ms_p99", "voip")
