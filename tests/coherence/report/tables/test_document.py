"""Documents. Breaks if an index misses what was written, or an earlier file stays."""

from coherence.report.tables.document import PaperFigure, write_document


def test_a_figure_that_is_not_there_is_explained_and_not_linked(tmp_path):
    write_document(tmp_path, "T", [], [PaperFigure("", "Figure 2", "Gaps", "Not drawn: no z.")])
    index = (tmp_path / "paper.md").read_text(encoding="utf-8")
    assert "Not drawn: no z." in index
    assert "![" not in index
    assert r"\includegraphics" not in (tmp_path / "paper.tex").read_text(encoding="utf-8")
