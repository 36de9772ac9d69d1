"""A reduced form of the simulated comparisons, and what the full table promises."""

import pandas as pd
import pytest
from comparison import DESIGNS, FAIR, GOOD, QUICK, RESULTS, Design, study, truth
from scipy import stats

N = 25
# At a true rate of .05 a binomial count passes its bound once in a thousand lines.
SURE = 0.999


def test_a_small_study_counts_every_effect():
    """Breaks if the simulation no longer fits what it simulates."""
    truths = {kind: dict.fromkeys(QUICK, 0.0) for kind in (GOOD, FAIR)}
    rows = pd.DataFrame(study(Design("small", (GOOD, FAIR), 20), [1, 0, 0], truths))
    assert {*QUICK, "all, BH", "all, Holm"} <= {*rows["effect"]}
    compared = rows.set_index("effect")["n_models"]
    assert (compared[["calibration:rmse", "calibration:brier", "report_noise"]] == 2).all()


@pytest.mark.slow
def test_ranks_with_ties_are_held_and_ties_not_told_apart():
    design = DESIGNS[0]
    truths = {kind: truth(kind) for kind in design.kinds}
    studies = [study(design, [2, 0, number], truths) for number in range(N)]
    rows = pd.DataFrame([row for rows in studies for row in rows])
    effects = rows[~rows["effect"].str.startswith("all")]
    missed = effects.groupby("effect")["held"].agg(lambda held: (held == False).sum())  # noqa: E712
    assert (missed <= stats.binom.ppf(0.9999, N, 0.05)).all()
    together = rows[rows["effect"] == "all, BH"]
    assert together["false_share"].mean() < 0.05
    assert together["seen"].mean() > 0.4


def test_ranks_are_held_and_false_discoveries_bounded():
    """Ranks held in 95%, false discoveries at most 5%, each within its binomial bound."""
    table = pd.read_csv(RESULTS)
    names = [design.name for design in DESIGNS]
    assert set(names[:2]) <= set(table["design"]) <= set(names)
    effects = table[table["held"].notna()]
    missed = ((1 - effects["held"]) * effects["n_studies"]).round()
    assert (missed <= stats.binom.ppf(SURE, effects["n_studies"], 0.05)).all()
    together = table[table["effect"] == "all, BH"]
    bound = stats.binom.ppf(SURE, together["n_studies"], 0.05) / together["n_studies"]
    assert (together["false_share"] <= bound).all()
    assert (effects.loc[effects["design"] == "three pairs", "n_studies"] >= 500).all()
