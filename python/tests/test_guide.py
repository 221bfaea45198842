"""The guide's Python, block after block, as a reader would type it."""

import re
from pathlib import Path

import matplotlib
import pytest

import justfull as jf

matplotlib.use("Agg")
GUIDES = Path(__file__).parents[2] / "docs" / "guide"
CAMPAIGN = """
scenarios = ["voip-over-lte"]
methods = ["Vanilla", "DRQL"]
seeds = 3
[set]
duration = "12s"
"""


def followed(page: str) -> dict[str, object]:
    text = (GUIDES / page).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 1
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


def test_the_guide_of_python_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = followed("python.md")
    assert (tmp_path / "voip.pdf").stat().st_size > 1000
    assert (tmp_path / "results" / "mine" / "manifest.json").exists()
    assert isinstance(names["results"], jf.Results)


def test_the_guide_of_campaigns_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "depth.toml").write_text(CAMPAIGN)
    names = followed("campaigns.md")
    assert (tmp_path / "results" / "campaign" / "depth" / "ledger.jsonl").exists()
    assert (tmp_path / "results" / "on-dask" / "ledger.jsonl").exists()
    assert len(list((tmp_path / "results" / "campaign" / "own").rglob("*.parquet"))) >= 4
    study = names["study"]
    assert isinstance(study, jf.sensitivity.Sensitivity)
    assert study.table["setting"][0] == "rlc.queue.limit"
