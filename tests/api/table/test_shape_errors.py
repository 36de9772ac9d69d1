"""The form of a table. Breaks if a frame that is none ends in a traceback of pandas."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from coherence import SchemaError, analyze, validate_runs


def table(**columns):
    plain = {"p": [0.1, 0.2], "action": ["a", "b"], "theta": [0, 1], "context": ["x", "y"]}
    return pd.DataFrame({**plain, **columns})


def test_plain_tables_have_no_fault():
    validate_runs(table())
    validate_runs(table().rename_axis("row"))
    validate_runs(table(x_note=["a", None]))
    validate_runs(table(model=[date(2026, 1, 1), "b"], context=[Decimal(1), 2.5]))
    # What is never sorted needs no order.
    validate_runs(table(action=[date(2026, 1, 1), 1], theta=[pd.NaT, 1]))
    validate_runs(table(p=pd.Series([0.1, 0.2], dtype="Sparse[float]")))
    empty = pd.Series([np.nan, np.nan], dtype="Sparse[float]")
    validate_runs(table(p_true=empty).iloc[:1])


@pytest.mark.parametrize(
    ("runs", "told"),
    [
        (table(action=[["a"], ["b"]]), "'action' must hold single values; 2 of 2 .* a list"),
        (table(theta=[{}, 1]), "'theta' must hold single values; 1 of 2 .* a dict"),
        (table(context=["x", np.zeros(2)]), "'context' must hold single values; .* ndarray"),
        (table(context=[("x", 1), "y"]), "'context' must hold single values; .* a tuple"),
        (table(theta=[0, frozenset()]), "'theta' must hold single values; .* a frozenset"),
        (table(p=[0.1 + 0j, 0.2]), "'p' must hold single values; 2 of 2 .* a complex"),
        (table(model=[date(2026, 1, 1), 1.5]), "'model' must hold labels of one kind.*date and fl"),
        (table(p=[0.1, {0.2}]), "'p' must hold single values; .* a set"),
        (table().rename_axis("context"), "context .* drop the index"),
        (
            table().set_axis(pd.MultiIndex.from_product([list("pxyz"), [""]]), axis="columns"),
            "columns must have one level of names; these have 2",
        ),
    ],
)
def test_frames_of_another_form_are_refused_with_a_remedy(runs, told):
    with pytest.raises(SchemaError, match=told):
        validate_runs(runs)
    with pytest.raises(SchemaError, match=told):
        analyze(runs)
