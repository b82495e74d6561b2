"""Writes the notebooks as .ipynb files: `make notebooks`.

A notebook is kept as text, in which cells begin with `# %%` (jupytext's percent format). The files that are written
begin with one more cell, which installs dancfr where it is missing, such as in Colab.
"""

import argparse
from pathlib import Path

import jupytext
import nbformat

TEXTS = Path(__file__).parents[2] / "examples" / "notebooks"
NAMES = ("solve", "matches", "train", "own_game", "own_method")
INSTALL = """# Installs dancfr where it is missing: from SOURCE, or from a wheel beside this notebook.
import importlib.util
import subprocess
import sys
from pathlib import Path

SOURCE = {source!r}  # an address that pip understands
if importlib.util.find_spec("dancfr") is None:
    wheels = sorted(Path.cwd().glob("dancfr-*.whl"))
    if not SOURCE and not wheels:
        raise SystemExit("dancfr is not installed: put its wheel, dancfr-*.whl, beside this notebook, or name a SOURCE")
    wanted = f"dancfr[{extras}] @ {{SOURCE or wheels[-1].as_uri()}}"
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", wanted], check=True)
"""


def notebook(name: str, source: str = "") -> nbformat.NotebookNode:
    """Returns a notebook with the cell that installs dancfr.

    Args:
        name: One of `NAMES`.
        source: Address from which the cell installs dancfr; empty: a wheel beside the notebook.
    """
    found = jupytext.read(TEXTS / f"{name}.py")
    extras = found.metadata.pop("dancfr")["extras"]
    found.metadata.pop("jupytext", None)
    found.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    install = nbformat.v4.new_code_cell(INSTALL.format(source=source, extras=extras).rstrip())
    found.cells.insert(1, install)  # below the title
    for place, cell in enumerate(found.cells):
        cell["id"] = f"{name}-{place}".replace("_", "-")  # the same whenever it is written
    nbformat.validate(found)
    return found


def main() -> None:
    """Writes all notebooks into a folder."""
    parser = argparse.ArgumentParser(description="Writes the notebooks as .ipynb files.")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--source",
        default="",
        help="address from which their first cell installs dancfr",
    )
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        nbformat.write(notebook(name, options.source), options.folder / f"{name}.ipynb")
        print(options.folder / f"{name}.ipynb")


if __name__ == "__main__":
    main()
