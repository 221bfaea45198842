"""The notebooks: committed without outputs, executed as a reader would."""

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# Time limit of a cell, for a machine with other load.
MOST_S = 300.0


def test_all_four_are_there() -> None:
    assert [file.stem for file in NOTEBOOKS] == [
        "campaign-to-figure", "first-study", "own-limiter", "trace-to-channel"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_has_no_outputs_and_can_be_executed(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notebook: Any = nbformat.read(file, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in code)
    monkeypatch.delenv("MPLBACKEND", raising=False)
    client = nbclient.NotebookClient(notebook, timeout=MOST_S, kernel_name="python3",
                                     resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [kind for cell in code for output in cell.outputs
             for kind in output.get("data", {})]
    assert "image/png" in shown and "text/html" in shown
    said = [output for cell in code for output in cell.outputs if output.get("name") == "stderr"]
    assert not said
