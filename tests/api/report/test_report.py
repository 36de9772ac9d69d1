import json
import subprocess
import sys

import pandas as pd
import pytest

from coherence import Report


def test_one_row_per_unit_and_check_with_the_settings_as_json(report):
    table = report.results
    assert len(table) == 7
    assert table["model"].tolist() == ["small-lm"] * 5 + ["large-lm"] * 2
    assert json.loads(table["settings"].iloc[0]) == {"k": 3, "n_permutations": "999"}
    assert table["verdict"].tolist()[:5] == list(report.units[0].verdicts)
    assert table["pvalue"].tolist()[:2] == [0.004, 0.31]


def test_a_report_without_a_check_has_the_same_columns(report):
    empty = Report((), {}).results
    assert len(empty) == 0
    assert list(empty.columns) == list(report.results.columns)


@pytest.mark.lengthy
def test_a_report_loads_no_renderer_before_it_is_asked():
    code = (
        "import sys, coherence.report.report; "
        "assert not {'matplotlib', 'rich', 'jinja2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_notebook_shows_what_is_read_first(report):
    with pd.option_context("display.max_columns", 20):  # as notebooks have it
        shown = report.results._repr_html_()
    for name in ("task", "model", "check", "statistic", "low", "high", "pvalue", "pvalue_holm"):
        assert f"<th>{name}</th>" in shown
    assert "<th>...</th>" in shown
