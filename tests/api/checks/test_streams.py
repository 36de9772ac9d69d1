"""A check's numbers hang on the seed, its name and its rows, and on nothing beside them."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, cmi_test, simulate, sufficiency_test


@cache
def runs_of_leaky():
    return simulate("leaky", n_contexts=20, n_reps=2, iterated=False, rng=2)


@cache
def results_of(rng):
    """Return what all checks give, run once a seed."""
    return analyze(runs_of_leaky(), rng=rng).results


runs = pytest.fixture(lambda: runs_of_leaky())


@pytest.mark.parametrize(
    ("test", "check", "state"),
    [
        (sufficiency_test, "sufficiency", {"exact": "p_true"}),
        (cmi_test, "cmi", {"truth": "theta"}),
    ],
)
@pytest.mark.parametrize("rng", [1, np.int64(7)])
def test_a_check_by_itself_has_the_numbers_that_it_has_in_a_report(runs, test, check, state, rng):
    rows = runs.dropna(subset="action")
    alone = test(data=rows, belief="p", action="action", context="context", **state, rng=rng)
    for results in (analyze(runs, checks=[check], rng=rng).results, results_of(rng)):
        results = results.set_index("check")
        assert results.loc[check, "pvalue"] == alone.pvalue
        assert results.loc[check, "estimate"] == alone.statistic
        assert alone.interval is None or results.loc[check, "low"] == alone.interval.low


def test_a_generator_gives_one_seed_to_all_checks(runs):
    first, again = (analyze(runs, rng=np.random.default_rng(3)).results for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    assert not first["pvalue"].equals(results_of(1)["pvalue"])


def test_other_models_and_new_names_move_no_number(runs):
    numbers = ["check", "estimate", "low", "high", "pvalue"]
    checks = ["sufficiency", "cmi"]
    alone = analyze(runs, checks=checks, rng=1).results[numbers]
    other = simulate("rational", n_contexts=40, n_reps=2, iterated=False, rng=5)
    together = pd.concat([other.assign(model="another"), runs.assign(model="renamed")])
    results = analyze(together, checks=checks, rng=1).results
    of_model = results.loc[results["model"] == "renamed", numbers].reset_index(drop=True)
    pd.testing.assert_frame_equal(of_model, alone)
