import numpy as np
import pandas as pd
from statsmodels.stats.proportion import proportion_confint

from bayesnets import strata


def test_wilson_intervals_are_those_of_statsmodels():
    table = pd.DataFrame(
        {
            "a": ["x"] * 50 + ["y"] * 50 + ["z"] * 30,
            "b": ["no"] * 50 + ["yes"] * 50 + ["yes"] * 7 + ["no"] * 23,
        }
    )
    found = strata(table, ["a"], "b", positive="yes", min_records=1)
    low, high = proportion_confint(found["n_positive"], found["n"], method="wilson")
    np.testing.assert_allclose(found[["low", "high"]], np.column_stack([low, high]), atol=1e-12)
    assert found.loc[0, "low"] == 0
    assert found.loc[1, "high"] == 1
