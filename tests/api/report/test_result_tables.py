"""Tables of results. Breaks if a number in a file is not the number of its result."""

import io
import math

import pandas as pd
import pytest

import coherence
from coherence import CheckResult, Interval
from coherence.report.result_tables import table_files
from coherence.table.exact_csv import read_exact_csv


@pytest.fixture(scope="module")
def report():
    agents = ("leaky", "noisy")
    runs = [coherence.simulate(name, n_contexts=40, n_reps=2, rng=1) for name in agents]
    checks = ["residual_covariance", "calibration", "rational_agent"]
    return coherence.analyze(pd.concat(runs), checks=checks, rng=1)


def test_files_hold_the_results_unrounded(report):
    files = table_files(report.units)
    for number, unit in enumerate(report.units, start=1):
        table = read_exact_csv(io.StringIO(files[f"results-{number}.csv"]))
        results = report.results[report.results["model"] == unit.model].reset_index(drop=True)
        assert table["check"].tolist() == results["check"].tolist()
        for name, column in (
            ("effect", "statistic"),
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


def test_statuses_are_counted_as_in_the_report(report):
    files = table_files(report.units)
    table = read_exact_csv(io.StringIO(files["answers-1.csv"]))
    assert table["rows"].tolist() == report.units[0].statuses["rows"].tolist()
    assert table["status"].tolist() == report.units[0].statuses["status"].astype(str).tolist()


def test_every_table_has_every_form_and_a_place_on_the_page(report):
    files = table_files(report.units)
    assert set(files) == {
        f"{name}-{number}.{end}"
        for name in ("results", "answers")
        for number in (1, 2)
        for end in ("md", "tex", "csv")
    } | {"tables.md"}
    assert files["tables.md"].count("**Table ") == 4
    assert "[results-2.csv](results-2.csv)" in files["tables.md"]
    assert r"\toprule" in files["results-1.tex"]


def test_names_are_no_markup_and_what_is_lacking_says_why(unit):
    nothing = CheckResult("cmi", "", math.nan, "nats", None, math.nan, 0, 0, reason="too few")
    evil = unit(task="<b>$x$", model="a_b|c", results=(nothing,), verdicts=("",))
    files = table_files([evil])
    assert "&lt;b&gt;" in files["results-1.md"]
    assert r"a\_b\|c" in files["results-1.md"]
    assert r"\textless{}b\textgreater{}\$x\$" in files["results-1.tex"]
    assert "too few" in files["results-1.csv"]
    assert "undefined" in files["results-1.md"]


def test_an_effect_that_is_one_of_many_differences_says_which(unit):
    """ "0.446 probability" alone does not say of what."""
    contrast = "P(yes_now | 1) - P(yes_now | not 1)"
    fields = ("", 0.446, "probability", Interval(0.3, 0.6), 0.001, 300, 60)
    named = CheckResult("residual_covariance", *fields, settings={"component": contrast})
    plain = CheckResult("cmi", *fields, reason="few contexts")
    files = table_files([unit(results=(named, plain), verdicts=("", ""))])
    said = "The effect shown is P(yes"
    assert "| 0.446 probability<sup>a</sup> |" in files["results-1.md"]
    assert rf"<sup>a</sup> {said}\_now \| 1) - P(yes\_now \| not 1)." in files["results-1.md"]
    assert rf"\textsuperscript{{a}} {said}\_now" in files["results-1.tex"]
    assert files["results-1.md"].count(said) == 1
    table = read_exact_csv(io.StringIO(files["results-1.csv"]))
    assert table["effect.component"].fillna("").tolist() == [contrast, ""]
    assert "effect.why" not in table  # nothing is lacking


def test_an_undefined_difference_says_why_and_not_which(unit):
    settings = {"component": "P(yes | 1) - P(yes | not 1)"}
    fields = ("", math.nan, "probability", None, 0.2, 300, 60)
    lacking = CheckResult("residual_covariance", *fields, settings=settings, reason="too few")
    files = table_files([unit(results=(lacking,), verdicts=("",))])
    assert "<sup>a</sup> too few" in files["results-1.md"]
    assert "The effect shown" not in files["results-1.md"]
    table = read_exact_csv(io.StringIO(files["results-1.csv"]))
    assert table["effect.why"].tolist() == ["too few"]
