"""A margin is claimed where intervals lie within it, of all actions, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze, simulate

CHECKS = ["sufficiency"]
LEAKY = simulate("leaky", n_contexts=200, n_reps=5, iterated=False, rng=1)


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(1)
    context = np.repeat(np.arange(300), 4)
    belief = rng.integers(2, 19, 300) / 20
    truth = (rng.random(300) < belief).astype(int)
    share = 0.2 + 0.6 * belief[context]
    action = np.where(rng.random(context.size) < share, "yes", "no")
    columns = {"context": context, "p": belief[context], "theta": truth[context]}
    return pd.DataFrame({**columns, "action": action})


def test_the_interval_decides(runs):
    report = analyze(runs, checks=CHECKS, rng=1)
    (result,) = report.evaluations[0].results
    # Two actions have opposite differences: one interval tells of both.
    plain = result.also["plain_average"]
    least = max(-plain.low, plain.high)
    assert 0.01 < least < 0.2
    above, below = (
        analyze(runs, checks=CHECKS, rng=1, margin=least + away).evaluations[0].conclusion
        for away in (0.001, -0.001)
    )
    assert above[0].startswith("Within ")
    assert "Not shown to be within " in below[0]
    assert below[0].startswith(report.evaluations[0].conclusion[0])
    beyond = analyze(LEAKY, checks=CHECKS, margin=0.05, rng=1)
    (unit,) = beyond.evaluations
    assert unit.results[0].also["plain_average"].low > 0.05
    assert "Beyond 5 points: the average difference" in unit.conclusion[0]
    assert beyond.settings["margin"] == 0.05
    with pytest.raises(InputError, match=r"margin .*sufficiency.*checks=\['cmi'\]. Add"):
        analyze(runs, checks=["cmi"], margin=0.05)


def test_every_action_counts():
    """The action that moves most is not the one that the effect shown is about."""
    rng = np.random.default_rng(2)
    belief = rng.integers(2, 19, 400) / 20
    truth = (rng.random(400) < belief).astype(int)
    yes = 0.1 + 0.5 * belief
    no = (1 - yes) * (0.5 + 0.2 * (truth - belief))
    policies = np.stack([yes, no, 1 - yes - no], axis=1)
    table = pd.DataFrame({"context": range(400), "p": belief, "theta": truth})
    table["action"] = [rng.choice(["yes", "no", "defer"], p=row) for row in policies]
    (result,) = analyze(table, checks=CHECKS, rng=1).evaluations[0].results
    plain = result.also["plain_average"]
    shown = max(abs(plain.low), abs(plain.high))
    ends = result.details[["plain_low", "plain_high"]].abs()
    assert result.settings["component"].startswith("P(yes")
    least = ends.iloc[:3].to_numpy().max()
    assert least > shown
    for margin, opening in ((least + 0.001, "Within "), (least - 0.001, "Not shown to be within ")):
        (unit,) = analyze(table, checks=CHECKS, rng=1, margin=margin).evaluations
        assert opening in unit.conclusion[0]


def test_no_interval_no_claim(runs):
    few = runs[runs["context"] < 12].assign(theta=lambda rows: (rows["context"] == 0).astype(int))
    told = analyze(few, checks=CHECKS, margin=0.05, rng=1).evaluations[0].conclusion[0]
    assert told.startswith("Cannot tell: too few cases")
    assert "ithin" not in told


@pytest.mark.parametrize("margin", [1, 0, 1.5, True, "5"])
def test_a_margin_is_a_difference_of_probabilities(margin):
    with pytest.raises(InputError, match=f"between 0 and 1.*received {margin!r}"):
        analyze(LEAKY, checks=CHECKS, margin=margin)
