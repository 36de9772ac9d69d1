"""Results as figures take them. Breaks if a table of something else is drawn as results."""

import pandas as pd
import pytest

from coherence import CheckResult, InputError
from coherence.plots.results import require_columns, results_table, rows_of

ONE = CheckResult("cmi", "", 0.4, "nats", None, 0.2, 90, 30)


@pytest.mark.parametrize("results", [ONE, [ONE], (ONE,), pd.DataFrame([ONE.to_row()])])
def test_each_form_is_the_same_table(results):
    pd.testing.assert_frame_equal(results_table(results), pd.DataFrame([ONE.to_row()]))


def test_no_results_are_an_empty_table_with_the_same_columns():
    assert list(results_table([]).columns) == list(ONE.to_row())


@pytest.mark.parametrize("other", [3, "cmi", [ONE, 3], {"cmi": ONE}])
def test_something_else_is_refused(other):
    with pytest.raises(InputError, match="results must be a table such as Report.results"):
        results_table(other)


def test_one_check_is_drawn_and_which_there_are_is_said():
    table = pd.DataFrame({"check": ["b", "a", "b"]}, index=[5, 6, 7])
    assert rows_of(table, "check", "b", what="check").index.tolist() == [0, 1]
    assert rows_of(table[1:2], "check", None, what="check")["check"].tolist() == ["a"]
    for wanted in (None, "c"):
        with pytest.raises(InputError, match=f"check must name one check; received {wanted!r}. It"):
            rows_of(table, "check", wanted, what="check")
    with pytest.raises(InputError, match="It has: none"):
        rows_of(table[:0], "check", None, what="check")


@pytest.mark.parametrize("table", [3, pd.DataFrame({"low": []})])
def test_columns_that_lack_are_named(table):
    with pytest.raises(InputError, match=r"table must be X, or some .* lacking the columns .*high"):
        require_columns(table, ["low", "high"], "table must be X")
    require_columns(pd.DataFrame({"low": [], "high": []}), ["low", "high"], "table must be X")
