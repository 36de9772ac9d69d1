"""Power predicted is power found: tables simulated and tested by the public functions."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
from coherence import AGENTS, power, simulate
from coherence.analysis.power import UNITS

QUICK = {"n_simulations": 10, "rng": 1}


def alike(counts, sizes):
    """Fisher's exact test that two shares are equal; level .001."""
    table = [[count, size - count] for count, size in zip(counts, sizes, strict=True)]
    return stats.fisher_exact(table).pvalue > 0.001


def pvalue(runs, check):
    results = coherence.analyze(runs, checks=[check.partition(":")[0]], rng=7).results
    return results.set_index("check")["pvalue"].get(check, np.nan)


@pytest.mark.lengthy
def test_every_share_has_its_exact_interval():
    """By quantiles of the beta distribution (Clopper and Pearson 1934)."""
    table = power("rational", [20, 40, 120], 2, 0.9, n_simulations=10, rng=1)
    assert table["n_cases"].tolist() == [20, 40, 120]
    assert table["n_rejected"].iloc[0] < 10 == table["n_rejected"].iloc[-1]
    for row in table.to_dict("records"):
        k, n = row["n_rejected"], row["n_simulations"]
        assert row["power"] == k / n
        assert row["low"] == pytest.approx(stats.beta.ppf(0.025, k, n - k + 1))
        high = 1.0 if k == n else stats.beta.ppf(0.975, k + 1, n - k)
        assert row["high"] == pytest.approx(high)


def test_one_seed_gives_one_table_whatever_else_is_asked():
    one = power("shaded", 30, 2, 0.4, n_simulations=10, rng=3)
    more = power("shaded", [20, 30], 2, 0.4, n_simulations=10, n_jobs=-1, rng=3)
    pd.testing.assert_frame_equal(one, more[more["n_cases"] == 30].reset_index(drop=True))
    other = (power("shaded", 30, 2, 0.4, n_simulations=10, rng=seed) for seed in range(4, 8))
    assert any(table["n_rejected"].item() != one["n_rejected"].item() for table in other)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "planted", "signal", "base", "n_cases", "n_reps"),
    [
        ("sufficiency", "hidden_signal", 0.2, "clairvoyant", 60, 3),
        ("sufficiency", "weight", 0.3, "rational", 60, 2),
        ("sufficiency", "weight", 0.5, "noisy", 80, 3),
        ("monotone_choice:yes/no", "peak", 1.0, "nonmonotone", 40, 2),
        ("iterated_expectation", "iterated_bias", 0.5, "rational", 120, 2),
        ("cmi", "hidden_signal", 0.3, "clairvoyant", 60, 2),
    ],
)
def test_predictions_of_every_check(check, planted, signal, base, n_cases, n_reps):
    """200 tables against 100 others, from planning to a report."""
    name = check.partition(":")[0]
    table = power(base, n_cases, n_reps, signal, name, n_simulations=200, rng=1)
    predicted = table[table["check"] == check].iloc[0]
    assert predicted["planted"] == planted
    unstated = AGENTS["shaded"].unstated if planted == "weight" else AGENTS[base].unstated
    agent = AGENTS[base].with_parameters(**{planted: signal, "unstated": unstated})
    size = {"n_contexts": n_cases, "n_reps": n_reps}
    tables = (simulate(agent, **size, rng=20_000 + number) for number in range(100))
    if planted == "hidden_signal":
        tables = (runs.drop(columns=["p_true", "truth_kind"]) for runs in tables)
    rejected = sum(pvalue(runs, check) <= 0.05 for runs in tables)
    assert alike((predicted["n_rejected"], rejected), (200, 100)), (predicted, rejected)


def test_what_is_undefined_does_not_reject_and_is_counted():
    """Ten cases are too few for the test."""
    table = power("rational", 10, 2, 0.5, **QUICK)
    assert table[["n_undefined", "n_rejected"]].iloc[0].tolist() == [10, 0]


def test_what_a_signal_sets_follows_from_who_answers_and_is_said():
    told = [
        power(agent, 12, 2, 0.4, n_simulations=10, rng=1)[["agent", "planted"]].iloc[0].tolist()
        for agent in ("rational", "clairvoyant")
    ]
    assert told == [["agent rational", "weight"], ["agent clairvoyant", "hidden_signal"]]
    assert "probability" in UNITS["hidden_signal"]
    few = power("rational", 12, 2, 1.0, "monotone_choice", n_simulations=10, rng=1)
    assert few["planted"].eq("peak").all()
