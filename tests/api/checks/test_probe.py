"""Beliefs read off hidden states, beside those read off the evidence.

Breaks if a case is predicted from itself or its group, if the evidence is read less well than it
can be, if random features of the evidence pass for a belief, or if actions are held against the
wrong belief.
"""

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError

N = 60


def logistic(odds):
    return 1 / (1 + np.exp(-odds))


@pytest.fixture(scope="module")
def cases():
    """Cases whose posterior rests on what columns show, and on what none shows."""
    rng = np.random.default_rng(3)
    shown, unshown = rng.choice([-1, 0, 1], size=(N, 6)), rng.normal(0, 1.5, N)
    odds = shown @ np.linspace(1.0, 0.4, 6)
    return {
        "shown": pd.DataFrame(shown.astype(str)),
        "said": logistic(odds),
        "exact": logistic(odds + unshown),
        "hidden": (np.column_stack([odds, unshown]) @ rng.normal(size=(2, 40)))[:, None],
        "rng": rng,
    }


def probed(cases, hidden, **options):
    options = {"exact": cases["exact"], "features": cases["shown"], "rng": 1} | options
    return coherence.probe_estimates(hidden, cases["said"], computed=True, **options)


def test_the_layer_that_holds_the_posterior_is_found_and_beats_the_evidence(cases):
    noise = cases["rng"].normal(size=(N, 2, 40))
    found = probed(cases, np.hstack([noise, cases["hidden"]]), layers=[4, 8, 12])
    assert found.gains
    assert found.target == "exact posterior"
    r2 = found.beliefs.set_index("belief")["r2"]
    assert r2["probed"] > 0.98 > 0.7 > r2["evidence"]
    assert found.layers["n_folds"].tolist() == [0, 0, 10]
    assert set(found.cases["layer"]) == {12}
    # An additive log-odds is all that the evidence can tell.
    assert found.layers["r2"][0] < 0.1
    gain = found.gain.statistic
    assert gain == pytest.approx(r2["probed"] - r2["evidence"])
    assert found.gain.contributions.sum() == pytest.approx(0, abs=1e-12)
    assert "no action" in found.probed.reason


def test_evidence_is_read_from_its_columns_and_from_their_pairs(cases):
    found = probed(cases, cases["hidden"], exact=cases["said"]).beliefs.set_index("belief")
    assert found.loc["evidence", "r2"] > 0.97
    assert found.loc["stated"].tolist() == pytest.approx([1, 0, 1], abs=1e-8)
    shown = cases["rng"].choice([0, 1], size=(N, 4))
    exact = np.where(shown[:, 0] == shown[:, 1], 0.8, 0.2)  # that count only together
    found = probed(cases, cases["hidden"], exact=exact, features=pd.DataFrame(shown.astype(str)))
    assert found.beliefs.set_index("belief").loc["evidence", "r2"] > 0.95


def test_a_random_network_of_the_evidence_has_no_belief(cases):
    one_hot = pd.get_dummies(cases["shown"]).to_numpy(float)
    random = np.tanh(one_hot @ cases["rng"].normal(0, 0.6, (one_hot.shape[1], 200)))
    found = probed(cases, random[:, None], exact=cases["said"])
    assert found.beliefs.set_index("belief").loc["probed", "r2"] > 0.5  # it can be decoded
    assert not found.gains
    assert np.isnan([found.probed.pvalue, found.stated.statistic]).all()
    assert "no better than the evidence" in found.probed.reason


@pytest.mark.parametrize("acts_on", ["said", "exact"])
def test_actions_go_with_the_belief_acted_on(cases, acts_on):
    share = logistic(8 * (cases[acts_on] - 0.5))
    chose = np.where(np.random.default_rng(5).random(N) < share, "yes", "no")
    found = probed(cases, cases["hidden"], action=chose)
    at = {"said": (found.stated, found.probed), "exact": (found.probed, found.stated)}[acts_on]
    assert at[0].pvalue < 0.05 < at[1].pvalue
    assert at[0].statistic > 0
    assert at[0].settings["action"] == "yes"


def test_a_case_is_not_predicted_from_its_group(cases):
    """States that tell a group and nothing else foretell what groups share, of other cases only."""
    group = np.arange(N) % 15
    level = logistic(np.random.default_rng(1).normal(0, 2, 15))[group]
    hidden = np.eye(15)[group][:, None]
    alone = probed(cases, hidden, exact=level).beliefs["r2"][0]
    grouped = probed(cases, hidden, exact=level, group=group)
    assert alone > 0.9
    assert grouped.beliefs["r2"][0] < 0.05
    assert grouped.gain.settings["clusters"] == "group"


def test_neither_the_order_of_rows_nor_scales_matter_and_rows_of_a_case_count_once(cases):
    hidden, order = cases["hidden"], np.random.default_rng(0).permutation(N).repeat(2)
    of_rows = {"exact": cases["exact"][order], "features": cases["shown"].iloc[order]}
    mixed = {**cases, "said": cases["said"][order]}
    here = probed(cases, hidden, context=np.arange(N))
    there = probed(mixed, 100 * hidden[order] + 7, context=order, **of_rows)
    pd.testing.assert_frame_equal(here.cases, there.cases, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda hidden: {"hidden": hidden[:, 0]}, "hidden must be numbers of shape"),
        (lambda hidden: {"hidden": hidden * np.inf}, "hidden must be finite"),
        (lambda hidden: {"layers": [1, 2]}, "layers must name the 1 layers"),
        (lambda hidden: {"exact": np.full(N, 0.3)}, "the same in all cases"),
        (lambda hidden: {"exact": None}, "realised state must be known"),
        (lambda hidden: {"context": np.arange(N) // 3}, "at least 30 cases"),
        (lambda hidden: {"group": np.arange(N) // 20}, "3 groups are too few"),
    ],
)
def test_what_cannot_be_probed_is_refused(cases, change, named):
    options = {"hidden": cases["hidden"]} | change(cases["hidden"])
    if "context" in options:
        options["exact"] = cases["exact"][np.arange(N) // 3]
    with np.errstate(invalid="ignore"), pytest.raises(InputError, match=named):
        probed(cases, **options)


def test_realised_states_are_read_where_the_posterior_is_not_known(cases):
    happened = (np.random.default_rng(2).random(N) < cases["exact"]).astype(int)
    found = probed(cases, cases["hidden"], exact=None, truth=happened)
    assert found.target == "realised state"
    assert 0.1 < found.beliefs["r2"][0] < 0.9
