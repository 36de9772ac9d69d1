"""Summaries of gaps: which rows there are, and what is said of the grid."""

import math

import numpy as np
import pytest

from coherence import simulate
from coherence.checks.iterated_gaps import gaps_of
from coherence.checks.iterated_measures import BEYOND, NOISELESS, ONCE_BEYOND, ROUNDING, measures_of


def measured(runs, computed=False):
    states = runs[runs["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    gaps = gaps_of(runs, states, computed=computed)
    relative = (gaps.rows["gap"].abs() / gaps.rows["p"]).to_numpy()
    table, grids = measures_of(gaps, relative)
    return table.set_index("measure"), grids


@pytest.fixture(scope="module")
def runs():
    return simulate("noisy", n_contexts=30, n_reps=2, prompts=["standard"], rng=1)


def in_steps(runs, step):
    stated = runs[["p", "p_z"]]
    return runs.assign(**(stated / step).round() * step)


def test_reports_without_a_grid_have_no_floor(runs):
    spread = np.random.default_rng(0).uniform(-0.02, 0.02, (len(runs), 2))
    table, grids = measured(runs.assign(**(runs[["p", "p_z"]] + spread).clip(0, 1)))
    assert set(grids.values()) == {"no steps"}
    assert (table.loc[ROUNDING, "value"], table.loc[ROUNDING, "reason"]) == (
        0,
        "the reports show no grid",
    )
    same = table.loc[[BEYOND, NOISELESS], ["value", "low", "high"]].to_numpy()
    assert same[0] == pytest.approx(same[1], nan_ok=True)


def test_each_column_has_its_own_grid(runs):
    given = runs["z_state"].notna()
    mixed = in_steps(runs, 0.1).where(given, in_steps(runs, 0.05))
    mixed["p_z"] = in_steps(runs, 0.01)["p_z"]
    _, grids = measured(mixed)
    assert grids == {
        "p": "steps of 0.05",
        "p given z": "steps of 0.1",
        "p_z": "steps of 0.01",
    }


def test_computed_beliefs_need_no_repetition(runs):
    once = in_steps(runs[runs["rep"] == 0], 0.05)
    stated, computed = measured(once)[0], measured(once, computed=True)[0]
    assert math.isnan(stated.loc[BEYOND, "value"])
    assert stated.loc[ONCE_BEYOND, "value"] == computed.loc[BEYOND, "value"]
    assert ONCE_BEYOND not in computed.index
    assert stated.loc[ROUNDING, "value"] > 0.01


def test_a_mixture_is_told_by_its_shares(runs):
    rough = runs.assign(p=np.where(runs["context"].astype("category").cat.codes % 2, 0.1, 0.05))
    rough["p"] = (runs["p"] / rough["p"]).round() * rough["p"]
    _, grids = measured(rough)
    assert "steps of 0.1 (" in grids["p"]
    assert "steps of 0.05 (" in grids["p"]
