"""CheckResult: flat rows, readable text."""

import math

import pandas as pd
import pytest

from coherence import CheckResult, Interval


def result(**changes):
    fields = {"check": "cmi", "null": "nothing", "statistic": 0.123456789, "unit": "nats"}
    fields |= {"interval": Interval(0.1, 0.2), "pvalue": 0.01, "n_rows": 10, "n_contexts": 5}
    return CheckResult(**fields | changes)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"statistic": math.nan, "pvalue": math.nan}, "  undefined: too few"),
        ({"statistic": math.nan, "pvalue": None}, "  undefined: too few"),
        ({"statistic": math.nan, "pvalue": 0.0001}, "  effect undefined: too few"),
        ({"pvalue": math.nan}, "  p-value undefined: too few"),
        ({"interval": None}, "  note: too few"),
        ({"interval": None, "pvalue": None}, "  note: too few"),
    ],
)
def test_only_a_missing_number_is_called_undefined(changes, line):
    assert str(result(**changes, reason="too few")).splitlines()[-1] == line


def test_an_interval_ends_where_its_quantity_does():
    assert Interval(-0.66, 2.5, 0.9, "by hand").within(-1, 1) == Interval(-0.66, 1, 0.9, "by hand")
    assert Interval(1.1, 1.2).within(-1, 1) == Interval(1, 1)
    assert Interval(-0.5, 0.5).within(-1, 1) == Interval(-0.5, 0.5)


def test_a_list_of_results_fits_on_a_screen_and_a_notebook_runs_nothing():
    marked = result(check="<script>x</script>", details=pd.DataFrame({"<i>": ["<b>"]}))
    assert len(repr(marked)) < 200
    assert "\n" not in repr(marked)
    page = marked._repr_html_()
    assert not any(tag in page for tag in ("<script>", "<b>", "<i>"))
    assert "&lt;script&gt;x&lt;/script&gt;" in page


def test_what_a_check_of_ones_own_names_among_its_settings_is_its_component():
    named = {"component": "P(a)", "tested": "both"}
    result = CheckResult("mine", "null", 0.1, "probability", None, 0.03, 10, 10, settings=named)
    assert (result.component, result.settings) == ("P(a)", named)
    assert "P(a), adjusted; p is that of both" in result.estimate_note()
