"""The folder of a paper. Breaks if equal calls write other bytes, or if a table stays empty without
a reason."""

import shutil
import subprocess

import pytest

import coherence
from coherence.analysis.paper.figures import write_paper_figures
from coherence.analysis.paper.tables import paper_tables
from coherence.analysis.paper.write import write_paper
from coherence.report.files import write_document


@pytest.fixture(scope="module")
def small():
    return coherence.simulate("noisy", n_contexts=20, n_reps=2, rng=1)


@pytest.mark.lengthy
def test_the_command_writes_the_bytes_that_the_function_writes(small, tmp_path, run):
    path = tmp_path / "runs.parquet"
    small.to_parquet(path)
    folders = tmp_path / "paper", tmp_path / "again"
    options = ["--checks", "cmi", "--published", "--seed", "1", "--paper", folders[0]]
    status, _, err = run("analyze", path, *options)
    assert status == 0
    assert "see " in err
    report = coherence.analyze(small, checks=["cmi"], rng=1)
    write_paper(report, folders[1], runs=small, published=True)
    first, second = ({each.name: each.read_bytes() for each in f.iterdir()} for f in folders)
    assert first == second
    assert b"cmi.published.low" in first["table1.csv"]
    for wrong, said in (
        (["--out", tmp_path, "--paper", f"{tmp_path}/."], "--paper and --out must be different"),
        (["--paper", path], "--paper must be a folder"),
    ):
        status, _, err = run("analyze", path, *wrong)
        assert status == 2
        assert said in err


@pytest.mark.lengthy
def test_the_index_shows_every_table_and_figure_and_latex_sets_it(paper_results, tmp_path):
    figures = write_paper_figures(paper_results, tmp_path)
    tables = paper_tables(paper_results)
    written = write_document(tmp_path, "50% & more_", tables, figures)
    assert all(path.is_file() for path in written)
    index = (tmp_path / "paper.md").read_text(encoding="utf-8")
    assert index.startswith("# 50% &amp; more")
    for table in tables:
        assert (tmp_path / f"{table.name}.md").read_text(encoding="utf-8") in index
    for figure in figures:
        assert f"]({figure.name}.svg)" in index
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here; the structure of the files is tested elsewhere")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
