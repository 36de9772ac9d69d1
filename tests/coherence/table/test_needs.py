"""missing: what a table holds that beliefs can be checked against."""

import pandas as pd
import pytest

from coherence.table.needs import (
    ACTION,
    ANOTHER_PROMPT,
    BELIEF,
    EVIDENCE,
    GIVEN_Z,
    ONE_BELIEF,
    TARGET,
    THETA,
    P,
    missing,
)


@pytest.mark.parametrize(
    ("columns", "met"),
    [
        ({"p": [0.1]}, {P, BELIEF, ONE_BELIEF}),
        ({"p_a": [0.1]}, set()),
        ({"p_a": [0.1], "p_b": [0.9]}, {BELIEF, ONE_BELIEF}),
        ({"p_a": [0.1], "p_b": [0.5], "p_c": [0.4]}, {BELIEF}),
        ({"theta": [1]}, {THETA, TARGET}),
        ({"p_true": [0.5]}, {TARGET}),
        ({"action": ["a"]}, {ACTION}),
        ({"prompt": ["mse"]}, set()),
        ({"prompt": ["mse", None]}, {ANOTHER_PROMPT}),
        ({"prompt": ["standard", None]}, set()),
        ({"z": ["s"], "z_state": ["a"], "p_z": [0.4]}, {GIVEN_Z}),
        ({"z": ["s"], "z_state": ["a"]}, set()),
    ],
)
def test_each_need_is_met_by_its_columns_alone(columns, met):
    every = {need for needs in EVIDENCE for need in needs}
    assert missing(pd.DataFrame(columns)) == every - met


def test_empty_columns_count_only_where_they_are_named():
    runs = pd.DataFrame({"p": [0.1, 0.2], "action": [None, None]})
    assert ACTION in missing(runs)
    assert ACTION not in missing(runs, ["p", "action"])
