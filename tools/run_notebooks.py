"""Run the notebooks of examples/notebooks from top to bottom and keep their outputs.

    python tools/run_notebooks.py [NOTEBOOK ...]

It needs ``pip install 'graphmetric[notebooks]'``. Times and other traces of the run are not kept, so that a notebook
changes only where its outputs do.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "examples" / "notebooks"


def run(path: Path) -> None:
    """Run one notebook in its own folder and write it back."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": path.parent}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not is_passing(output)]
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def is_passing(output: nbformat.NotebookNode) -> bool:
    """Whether an output is of the moment only: messages on standard error and cleared progress bars."""
    return output.get("name") == "stderr" or output.get("data", {}).get("text/plain") == ""


if __name__ == "__main__":
    for chosen in [Path(name) for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb")):
        run(chosen)
        print(chosen.name)
