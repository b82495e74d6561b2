"""The notebooks run as their readers run them: every cell in a kernel, with all that they assert on the way."""

import re
import subprocess
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "notebooks"


def load_writer() -> ModuleType:
    spec = util.spec_from_file_location("write_notebooks", ROOT / "docs" / "site" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WRITER = load_writer()


def run(notebook: nbformat.NotebookNode, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs all cells in a kernel of this interpreter, over sockets in files."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("MPLBACKEND", raising=False)  # the kernel shows figures
    kernel = AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "kernel"))
    client = NotebookClient(notebook, kernel, timeout=900, resources={"metadata": {"path": str(folder)}})
    client.execute(cleanup_kc=True)  # by default a kernel that is given is left running


def outputs(notebook: nbformat.NotebookNode, kind: str) -> list[str]:
    found = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", ())]
    return [data[kind] for data in found if kind in data]


def test_every_notebook_is_listed() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")}
    assert files == set(WRITER.NAMES)
    text = (ROOT / "docs" / "tutorials" / "notebooks.md").read_text()
    assert [name for name in WRITER.NAMES if f"](../../examples/notebooks/{name}.py)" not in text] == []


@pytest.mark.parametrize("name", WRITER.NAMES)
def test_notebook_is_written_with_a_title_and_an_installation(name: str) -> None:
    notebook = WRITER.notebook(name, "https://example.org/dancfr.whl")
    title, install, *rest = notebook.cells
    assert title.source.startswith("# ")
    assert "https://example.org/dancfr.whl" in install.source
    assert re.search(r"dancfr\[[a-z,]+\] @ ", install.source)
    assert "\nimport dancfr\n" in f"\n{chr(10).join(cell.source for cell in rest)}\n"
    assert sum(cell.source.count("assert ") for cell in rest) >= 3, "a reader checks what it says"
    assert notebook == WRITER.notebook(name, "https://example.org/dancfr.whl"), "the same whenever it is written"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", WRITER.NAMES)
def test_notebook_runs_to_its_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = WRITER.notebook(name)
    run(notebook, tmp_path, monkeypatch)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert outputs(notebook, "text/html"), "results show themselves as tables"
    assert outputs(notebook, "image/png"), "and curves as figures"
    assert {path.name.split("-")[0] for path in tmp_path.iterdir()} <= {"kernel"}, "a notebook leaves nothing behind"


def test_false_statement_in_a_notebook_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = nbformat.v4.new_code_cell("assert 1 + 1 == 3")
    with pytest.raises(CellExecutionError, match="AssertionError"):
        run(nbformat.v4.new_notebook(cells=[cell]), tmp_path, monkeypatch)


def test_installation_without_a_source_says_how(tmp_path: Path) -> None:
    """Where dancfr is not to be found: without site-packages, in an empty folder."""
    install = WRITER.notebook("solve").cells[1].source
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", install], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr == (
        "dancfr is not installed: put its wheel, dancfr-*.whl, beside this notebook, or name a SOURCE\n"
    )
