"""What a report writes in a folder. Breaks if a link leads nowhere, or a number is another."""

import csv
import io
import math
import re

import pandas as pd
import pytest

import coherence
from coherence import CheckResult, analyze, simulate
from coherence.report.figures import all_figures
from coherence.report.folder import (
    ENDINGS,
    FIGURES,
    OURS,
    report_files,
    table_files,
    write_figures,
)
from coherence.report.ranking import FEW
from tests.api.tables import read_exactly


@pytest.fixture(scope="module")
def reports():
    tables = [
        simulate("rational", n_contexts=30, n_reps=2, rng=seed).assign(model=f"../m{seed}")
        for seed in range(FEW + 1)
    ]
    checks = ["residual_covariance", "monotone_choice", "calibration"]
    many = analyze(pd.concat(tables, ignore_index=True), checks=checks, rng=0)
    return {"one": analyze(tables[0], checks=checks, rng=0), "many": many}


def files_of(report, answers=1000):
    return list(report_files(report.evaluations, report.settings, most_answers=answers))


@pytest.mark.lengthy
@pytest.mark.parametrize("which", ["one", "many"])
def test_every_link_of_every_page_leads_to_a_page_and_place_that_exist(reports, which):
    files = dict(files_of(reports[which]))
    assert len(files) == len(files_of(reports[which]))
    ids = {name: set(re.findall(r'\bid="([^"]+)"', text)) for name, text in files.items()}
    checked = 0
    for name, text in files.items():
        here = name.rpartition("/")[0]
        for href in re.findall(r'href="([^"]*)"', text):
            target, _, anchor = href.partition("#")
            parts = [*filter(None, here.split("/")), *target.split("/")] if target else [name]
            path = re.sub(r"[^/]+/\.\./", "", "/".join(parts))
            assert path in files, (name, href)
            assert not anchor or anchor in ids[path], (name, href)
            checked += 1
    assert checked > 100


@pytest.mark.lengthy
def test_without_answers_no_page_is_written_and_nothing_links_to_one(reports):
    files = dict(files_of(reports["one"], answers=0))
    assert list(files) == ["report.html"]
    assert "answers/" not in files["report.html"]
    assert files["report.html"] == reports["one"].to_html()


@pytest.mark.lengthy
def test_equal_reports_give_equal_files(reports):
    assert files_of(reports["many"]) == files_of(reports["many"])


# Figures


@pytest.fixture
def units(unit, choices):
    beliefs = choices(actions=("yes", "no"), n_contexts=40, n_reps=1)
    return [unit(task="=1+1", model="../m<b>", results=(), verdicts=(), beliefs=beliefs)]


@pytest.mark.lengthy
def test_each_figure_is_written_in_every_format_and_listed(units, tmp_path):
    written = write_figures(units, tmp_path)
    assert sorted(written) == sorted(path.name for path in tmp_path.iterdir())
    with (tmp_path / FIGURES).open(newline="") as file:
        listed = list(csv.DictReader(file))
    titles = [figure.title for _, figure in all_figures(units)]
    assert [row["title"] for row in listed] == titles
    assert {(row["task"], row["model"]) for row in listed} == {("'=1+1", "../m<b>")}  # no formula
    starts = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}
    for row in listed:
        for ending in ENDINGS:
            name = f"{row['file']}.{ending}"
            assert (tmp_path / name).read_bytes().startswith(starts[ending])
            assert re.fullmatch(OURS[FIGURES], name)


@pytest.mark.lengthy
def test_equal_reports_give_equal_figures(units, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        write_figures(units, folder)
    first, second = ({p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders)
    assert first == second


# Tables


@pytest.fixture(scope="module")
def report():
    agents = ("leaky", "noisy")
    runs = [coherence.simulate(name, n_contexts=40, n_reps=2, rng=1) for name in agents]
    checks = ["residual_covariance", "calibration", "rational_agent"]
    return coherence.analyze(pd.concat(runs), checks=checks, rng=1)


def test_files_hold_the_results_unrounded(report):
    files = table_files(report.evaluations)
    for number, unit in enumerate(report.evaluations, start=1):
        table = read_exactly(io.StringIO(files[f"results-{number}.csv"]))
        results = report.results[report.results["model"] == unit.model].reset_index(drop=True)
        assert table["check"].tolist() == results["check"].tolist()
        for name, column in (
            ("effect", "estimate"),
            ("effect.low", "low"),
            ("effect.high", "high"),
            ("p", "pvalue"),
            ("p_holm", "pvalue_holm"),
            ("contexts", "n_contexts"),
            ("rows", "n_rows"),
        ):
            pd.testing.assert_series_equal(
                table[name], results[column], check_exact=True, check_names=False, check_dtype=False
            )
        assert table["effect.unit"].tolist() == results["unit"].tolist()


def test_names_are_no_markup_and_what_is_lacking_says_why(unit):
    nothing = CheckResult("cmi", "", math.nan, "nats", None, math.nan, 0, 0, reason="too few")
    evil = unit(task="<b>$x$", model="a_b|c", results=(nothing,), verdicts=("",))
    files = table_files([evil])
    assert "&lt;b&gt;" in files["results-1.md"]
    assert r"a\_b\|c" in files["results-1.md"]
    assert r"\textless{}b\textgreater{}\$x\$" in files["results-1.tex"]
    assert "too few" in files["results-1.csv"]
    assert "undefined" in files["results-1.md"]
