"""Results as figures take them. Breaks if a table of something else is drawn as results."""

import pandas as pd
import pytest

from coherence.errors import InputError
from coherence.plots.results import results_table
from coherence.result import CheckResult

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
