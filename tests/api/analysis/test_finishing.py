import dataclasses
import math

import pandas as pd
import pytest

from coherence import CheckResult
from coherence.analysis.finishing import adjusted, measured, with_results
from coherence.analysis.reading import as_runs, units_of
from coherence.analysis.twins import Beside

RESULT = CheckResult("calibration:rmse", "", 0.1, "probability", None, None, 2, 2)


def test_p_values_are_adjusted_over_all_units_and_estimates_stay():
    def with_p(pvalue):
        return dataclasses.replace(RESULT, pvalue=pvalue)

    first, second = adjusted([[with_p(0.01), RESULT], [with_p(0.04), with_p(math.nan)]])
    assert [result.pvalue_holm for result in first] == [0.02, None]
    assert second[0].pvalue_holm == pytest.approx(0.04)
    assert {result.n_tests for result in (first[0], second[0])} == {2}
    assert math.isnan(second[1].pvalue_holm)


@pytest.mark.parametrize("with_rows", [True, False])
def test_a_unit_says_what_its_results_say(with_rows):
    runs = as_runs(pd.DataFrame({"p": [0.2, 0.4], "theta": [0, 1], "context": [1, 2]})).completed()
    ((key, unit),) = units_of(runs, {"": ((0, 1), None)}, None)
    bare = measured(key, unit, ["a note"], with_rows=with_rows)
    assert len(bare.rows) == (2 if with_rows else 0)
    assert bare.conclusion == ()
    finished = with_results(bare, Beside((RESULT,), ("another",)))
    assert finished.notes == ("a note", "another")
    assert finished.conclusion[0].startswith("No test could be run")
    assert len(finished.verdicts) == 1


def test_an_alert_is_a_note_that_stands_apart():
    runs = as_runs(pd.DataFrame({"p": [0.2, 0.4], "theta": [0, 1]})).completed()
    ((key, unit),) = units_of(runs, {"": ((0, 1), None)}, None)
    bare = measured(key, unit, [*runs.notes, "a note"])
    assert bare.notes == (*bare.alerts, "a note")
