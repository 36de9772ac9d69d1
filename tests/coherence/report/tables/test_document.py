import shutil
import subprocess

import pytest

from coherence.analysis.paper.figures import write_paper_figures
from coherence.analysis.paper.tables import paper_tables
from coherence.report.tables.document import PaperFigure, write_document


def test_the_index_shows_every_table_and_figure_with_its_caption(paper_results, tmp_path):
    figures = write_paper_figures(paper_results, tmp_path)
    tables = paper_tables(paper_results)
    written = write_document(tmp_path, "A & B", tables, figures)
    assert all(path.is_file() for path in written)
    index = (tmp_path / "paper.md").read_text(encoding="utf-8")
    assert index.startswith("# A &amp; B\n")
    for table in tables:
        assert (tmp_path / f"{table.name}.md").read_text(encoding="utf-8") in index
    for figure in figures:
        assert f"]({figure.name}.svg)" in index


def test_a_figure_that_is_not_there_is_explained_and_not_linked(tmp_path):
    write_document(tmp_path, "T", [], [PaperFigure("", "Figure 2", "Gaps", "Not drawn: no z.")])
    index = (tmp_path / "paper.md").read_text(encoding="utf-8")
    assert "Not drawn: no z." in index
    assert "![" not in index
    assert r"\includegraphics" not in (tmp_path / "paper.tex").read_text(encoding="utf-8")


def test_files_of_an_earlier_call_go_and_others_stay(tmp_path):
    for name in ("figure1-2.svg", "figure1-2.svg.bak", "mine.md"):
        (tmp_path / name).write_text("x")
    write_document(tmp_path, "T", [], earlier=r"figure1-\d\.svg|paper\.md")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["figure1-2.svg.bak", "mine.md", "paper.md", "paper.tex"]


@pytest.mark.lengthy
def test_latex_sets_the_document(paper_results, tmp_path):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here; the structure of the files is tested elsewhere")
    figures = write_paper_figures(paper_results, tmp_path)
    write_document(tmp_path, "50% & more_", paper_tables(paper_results), figures)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
