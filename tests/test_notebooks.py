"""The notebooks for teaching. Breaks if one does not run, or is saved without what it shows now."""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = {path.stem: path for path in sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))}
LARGEST = 300_000  # bytes
# What no reader has: folders of the machine that it was saved on.
MACHINE = re.compile(r"/(?:work|tmp|home|root|Users|opt)/|[A-Z]:\\\\")
NUMBER = re.compile(r"-?\d*\.?\d+(?:e-?\d+)?")
QUICK = ("01", "04", "06", "08", "10")


def read(name):
    return nbformat.read(NOTEBOOKS[name], as_version=4)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def pictures(notebook):
    return [
        len([output for output in cell.outputs if "image/png" in output.get("data", {})])
        for cell in code_cells(notebook)
    ]


def texts(notebook):
    """Return what is printed, with every number replaced, and the numbers."""
    printed = [
        output.get("text") or output["data"]["text/plain"]
        for cell in code_cells(notebook)
        for output in cell.outputs
    ]
    text = " ".join("\n".join(printed).split())
    return NUMBER.sub("#", text), [float(number) for number in NUMBER.findall(text)]


def marks_of(name):
    if "smollm2" in name:
        return pytest.mark.smollm2
    return pytest.mark.lengthy if name.startswith(QUICK) else pytest.mark.slow


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_is_saved_as_it_ran_small_and_without_the_machine(name):
    notebook, text = read(name), NOTEBOOKS[name].read_text(encoding="utf-8")
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    kinds = {output.output_type for output in outputs}
    assert kinds <= {"stream", "execute_result", "display_data"}
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert sum(pictures(notebook)) >= 1
    assert len(text.encode()) < LARGEST
    assert not MACHINE.search(re.sub(r'"image/png": "[^"]*"', "", text))
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }


@pytest.mark.parametrize("name", [pytest.param(one, marks=marks_of(one)) for one in NOTEBOOKS])
@pytest.mark.filterwarnings("default")  # the kernel's libraries warn of themselves
def test_a_notebook_runs_and_shows_what_was_saved(name, monkeypatch, request):
    from nbclient import NotebookClient

    if "smollm2" in name:
        monkeypatch.setenv("SMOLLM2", str(request.getfixturevalue("smollm2_folder")))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    saved, notebook = read(name), read(name)
    where = {"metadata": {"path": str(ROOT / "examples" / "notebooks")}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute()
    assert pictures(notebook) == pictures(saved)
    (words, numbers), (saved_words, saved_numbers) = texts(notebook), texts(saved)
    assert words == saved_words
    # Libraries of other versions differ in last digits.
    assert numbers == pytest.approx(saved_numbers, rel=0.02, abs=0.002)
