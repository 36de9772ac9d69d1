"""Gaps, their squares and the reports behind them, by hand."""

import numpy as np
import pandas as pd
import pytest

from coherence.checks.iterated import gaps_of, squares_of, under_prompt
from coherence.table.runs import Runs


def runs_of(reports):
    """Rows of (context, rep, z, state, p, p_z); no z for the plain belief."""
    return pd.DataFrame(reports, columns=["context", "rep", "z", "z_state", "p", "p_z"])


def small_table(n_contexts=12, n_reps=2, variables=("z",)):
    rows = []
    for context in range(n_contexts):
        for rep in range(n_reps):
            rows.append((context, rep, None, None, 0.5 + 0.01 * rep, np.nan))
            for z in variables:
                rows += [(context, rep, z, "a", 0.2, 0.5), (context, rep, z, "b", 0.6, 0.5)]
    return runs_of(rows)


def gaps(runs, computed=False):
    states = runs[runs["z_state"].notna()].groupby("z")["z_state"].nunique()
    return gaps_of(runs, states, computed=computed)


def test_gap_by_hand():
    result = gaps(small_table())
    assert result.rows["gap"].tolist()[:2] == pytest.approx([0.1, 0.11])
    assert len(result.pieces) == 2 * len(result.rows)
    lacking = small_table()
    lacking = lacking[~((lacking["context"] == 3) & (lacking["z_state"] == "b"))]
    assert gaps(lacking).n_dropped == 2
    assert 3 not in set(gaps(lacking).pieces["context"])


def test_squares_by_hand():
    """Products of different repetitions, .1 * .11, and mean squares of single ones."""
    repeated = squares_of(gaps(small_table()), repeated=True)
    assert repeated.expected == pytest.approx(np.full(12, 0.1 * 0.11))
    assert repeated.raw == pytest.approx(np.full(12, (0.1**2 + 0.11**2) / 2))
    single = squares_of(gaps(small_table()), repeated=False)
    assert single.expected == pytest.approx(repeated.raw)
    assert squares_of(gaps(small_table(n_reps=1)), repeated=True) is None


def test_what_is_computed_has_no_noise():
    runs = small_table()
    assert not Runs(runs).computed
    assert Runs(runs.assign(belief_kind="stated:exact")).computed
    assert under_prompt(runs, "standard")[1] == []
