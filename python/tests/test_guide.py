"""The guide's Python, block after block, as a reader would type it."""

import re
from pathlib import Path

import matplotlib
import pytest

import justfull as jf

matplotlib.use("Agg")
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"


def test_the_guide_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) > 5
    names: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    assert (tmp_path / "voip.pdf").stat().st_size > 1000
    assert (tmp_path / "results" / "mine" / "manifest.json").exists()
    assert isinstance(names["results"], jf.Results)
