import shutil
import subprocess

import pandas as pd
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
def test_equal_calls_write_equal_bytes(small, tmp_path):
    report = coherence.analyze(small, checks=["cmi", "iterated_expectation"], rng=1)
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        write_paper(report, folder, runs=small)
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == sorted(path.name for path in folders[1].iterdir())
    for name in names:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


@pytest.mark.lengthy
def test_a_report_alone_fills_what_it_can_and_says_what_it_lacks(small, tmp_path):
    report = coherence.analyze(small, checks=["cmi", "prompt_consistency"], rng=1)
    written = write_paper(report, tmp_path)
    assert written[0] == tmp_path / "paper.md"
    assert set(written) == set(tmp_path.iterdir())
    table = pd.read_csv(tmp_path / "table5.csv")
    estimate = report.evaluations[0].results[0].also["nearest_neighbours"].value
    assert table["cmi.repaired"].tolist() == [estimate]
    assert table["cmi:isotonic.repaired.why"].str.contains("needs the runs table").all()


def test_the_command_writes_what_the_function_writes(small, tmp_path, run):
    path = tmp_path / "runs.parquet"
    small.to_parquet(path)
    folder = tmp_path / "paper"
    options = ["--checks", "cmi", "--published", "--seed", "1", "--paper", str(folder)]
    status, _, err = run("analyze", str(path), *options)
    assert status == 0
    assert "see " in err
    report = coherence.analyze(small, checks=["cmi"], rng=1)
    write_paper(report, tmp_path / "again", runs=small, published=True)
    for name in ("table1.csv", "table5.tex", "paper.md"):
        text = (folder / name).read_text(encoding="utf-8")
        assert text == (tmp_path / "again" / name).read_text(encoding="utf-8")
    assert "cmi.published.low" in (folder / "table1.csv").read_text(encoding="utf-8")


def test_the_folder_of_the_report_is_refused(small, tmp_path, run):
    path = tmp_path / "runs.parquet"
    small.to_parquet(path)
    same = ["--out", str(tmp_path), "--paper", str(tmp_path / ".")]
    status, _, err = run("analyze", str(path), *same)
    assert status == 2
    assert "--paper and --out must be different folders" in err
    status, _, err = run("analyze", str(path), "--paper", str(path))
    assert status == 2
    assert "--paper must be a folder" in err


@pytest.mark.slow
def test_the_published_gain_stands_beside_the_repaired_one(tmp_path):
    runs = coherence.simulate("leaky", n_contexts=12, n_reps=2, rng=1)
    report = coherence.analyze(runs, checks=["predictive_gain"], rng=1)
    write_paper(report, tmp_path, runs=runs, published=True)
    alone = coherence.analyze(runs, checks=["predictive_gain"], published=True, rng=1).results
    table = pd.read_csv(tmp_path / "table1.csv").iloc[0]
    for row in alone.to_dict("records"):
        assert table[f"{row['check']}.published"] == row["estimate"]


@pytest.mark.lengthy
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


@pytest.mark.lengthy
def test_latex_sets_the_document(paper_results, tmp_path, run):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex here; the structure of the files is tested elsewhere")
    figures = write_paper_figures(paper_results, tmp_path)
    write_document(tmp_path, "50% & more_", paper_tables(paper_results), figures)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert "Overfull" not in done.stdout
