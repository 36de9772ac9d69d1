"""Documents. Breaks if an index misses what was written, or an earlier file stays."""

from coherence.report.tables.document import PaperFigure, write_document


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
