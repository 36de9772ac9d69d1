"""The primary test: what it sees that the direction does not, and what it says beside p."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import coherence
from coherence import InputError, sufficiency_test
from coherence.agents import named_agent
from coherence.checks.sufficiency import SEQUENCES
from coherence.statistics.report_noise import in_heaps


def cases(n, rng, *, moved=0.0, turned=0.0, taste=0.3):
    """Draw beliefs, exact posteriors and shares of an action that follows the belief."""
    said = rng.integers(1, 20, n) / 20
    exact = np.clip(said + 0.15 * rng.normal(size=n), 0.01, 0.99)
    left = exact - said
    utility = 4 * (said - 0.5) + moved * left + turned * left * np.sign(said - 0.5)
    utility = utility + taste * rng.normal(size=n)
    return said, exact, 1 / (1 + np.exp(-utility))


def covariance(one, other):
    return np.cov(one, other, bias=True)[0, 1]


def policies(share):
    return pd.DataFrame({"yes": share, "no": 1 - share})


def of_agent(name, n, reps, seed):
    runs = coherence.simulate(name, n_contexts=n, n_reps=reps, rng=seed)
    return runs[runs["action"].notna()]


def found_in(rows, **options):
    return sufficiency_test(
        rows["p"], rows["action"], exact=rows["p_true"], context=rows["context"], rng=1, **options
    )


def test_an_effect_that_turns_is_seen_by_the_turn_alone():
    said, exact, share = cases(200, np.random.default_rng(3), turned=6)
    result = sufficiency_test(said, policies(share), exact=exact, computed=True, rng=1)
    assert result.settings["p_direction"] > 0.05
    assert result.pvalue < 0.01


def test_beliefs_in_the_other_state_turn_the_same_way():
    said, exact, share = cases(120, np.random.default_rng(4), moved=1, turned=3)
    one = sufficiency_test(said, policies(share), exact=exact, rng=1)
    other = sufficiency_test(1 - said, policies(share), exact=1 - exact, rng=1)
    assert one.pvalue == pytest.approx(other.pvalue, abs=1e-12)
    assert one.settings["p_turn"] == pytest.approx(other.settings["p_turn"], abs=1e-12)


def test_the_hidden_share_is_what_was_hidden():
    said, exact, _ = cases(2_000, np.random.default_rng(5))
    share = 0.5 + 0.3 * (said - 0.5) + 0.6 * (exact - said)
    result = sufficiency_test(said, policies(share), exact=exact, computed=True, rng=1)
    found = result.also["hidden_share"]
    left = [covariance(share[said == p], exact[said == p]) for p in said]
    truth = np.mean(left) / covariance(share, exact)
    assert found.value == pytest.approx(truth, abs=0.02)
    assert found.low < truth < found.high


@pytest.mark.lengthy
def test_the_plain_average_weighs_cases_alike():
    rng = np.random.default_rng(6)
    said = rng.integers(1, 20, 4_000) / 20
    exact = np.clip(said + 0.1 * rng.normal(size=4_000), 0.01, 0.99)
    # A difference of .4 where the belief is near its ends, of 0 in the middle.
    moved = np.where(np.abs(said - 0.5) > 0.3, 0.4, 0.0)
    share = 0.5 + moved * (exact - said)
    result = sufficiency_test(said, policies(share), exact=exact, computed=True, rng=1)
    averages = result.details.set_index("component").loc["P(yes | 1) - P(yes | 0)"]
    left = np.array([covariance(share[said == p], exact[said == p]) for p in said])
    m = np.array([exact[said == p].mean() for p in said])
    truth, weighted = np.mean(left / (m * (1 - m))), np.sum(left) / np.sum(m * (1 - m))
    assert truth - weighted > 0.003
    assert averages["plain_low"] < truth < averages["plain_high"]
    assert averages["low"] < weighted < averages["high"]


def test_numbers_that_cannot_be_estimated_have_a_reason():
    rng = np.random.default_rng(7)
    said = np.where(rng.random(200) < 0.3, 0.001, rng.random(200))
    truth, action = (rng.random(200) < said).astype(int), rng.integers(0, 2, 200)
    settled = sufficiency_test(said, action, truth, rng=1).also["plain_average"]
    assert math.isnan(settled.value)
    assert "settled" in settled.reason
    said, exact, _ = cases(200, np.random.default_rng(8))
    nothing = sufficiency_test(said, action, exact=exact, rng=1).also["hidden_share"]
    assert math.isnan(nothing.value)
    assert nothing.reason == "its choices are not seen to know the state"
    said, exact, _ = cases(1_000, np.random.default_rng(9))
    against = policies(0.5 + 0.5 * (said - 0.5) - 0.4 * (exact - said))
    result = sufficiency_test(said, against, exact=exact, computed=True, rng=1)
    reason = result.also["hidden_share"].reason
    assert "at equal belief and through the belief, and against it on the other" in reason
    belief = np.where(np.arange(30) == 3, 0.8, 0.5)
    slope = sufficiency_test(belief, action[:30], exact=exact[:30], rng=1).also["slope"]
    assert math.isnan(slope.value)
    assert "all cases but one" in slope.reason
    rows = of_agent("leaky", 120, 2, 4)
    group = rows["context"].factorize()[0] % 4
    assert "ten groups" in found_in(rows, group=group).also["hidden_share"].reason


@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_noise_of_reports_is_allowed_for_in_the_pvalue_and_at_one_end(noise):
    """A flat middle: reports hardly differ where beliefs do, and their noise hides it."""
    accused, as_exact, seen = 0, 0, 0
    for seed in range(10):
        rng = np.random.default_rng([21, seed])
        belief, context = rng.random(200), np.repeat(np.arange(200), 5)
        flat = 0.5 + 0.5 * np.sign(2 * belief - 1) * np.abs(2 * belief - 1) ** 3
        report = np.clip(flat[context] + noise * rng.normal(size=1000), 0, 1)
        yes = 1 / (1 + np.exp(-8 * (belief - 0.5)))[context]
        options = {"exact": belief[context], "context": context, "n_draws": 999, "rng": 1}
        result = sufficiency_test(report, policies(yes), **options)
        assert result.settings["reports"] == "differ"
        assert (result.interval.low > 0) == (result.settings["p_beyond"] <= 0.04)
        accused += result.pvalue <= 0.05
        as_exact += result.settings["p_direction"] <= 0.04
        share = result.also["hidden_share"]
        seen += share.low > 0
    assert as_exact == 10
    assert accused == seen == 0


def test_a_choice_may_be_made_on_the_very_report_of_its_row():
    pvalues = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        belief, context = rng.beta(1.5, 1.5, 100), np.repeat(np.arange(100), 5)
        report = (belief[context] + 0.1 * rng.normal(size=500)).clip(0, 1)
        yes = 1 / (1 + np.exp(-8 * (report - 0.5)))
        options = {"exact": belief[context], "context": context, "n_draws": 99, "rng": 1}
        pvalues.append(sufficiency_test(report, policies(yes), **options).pvalue)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.15


def test_reports_written_on_the_rows_of_choices_are_copies():
    """Breaks if rows count as reports: the noise of a mean would be taken for a third of it."""
    rows = of_agent(replace(named_agent("rational"), report_noise=0.1), 80, 2, 1)
    copied = rows.loc[rows.index.repeat(3)]
    once, thrice = found_in(rows), found_in(copied)
    assert once.settings["allowed"] == pytest.approx(thrice.settings["allowed"], rel=0.15)
    assert once.pvalue == pytest.approx(thrice.pvalue, abs=0.05)
    lost = copied.sample(frac=0.9, random_state=1)
    assert found_in(lost).settings["allowed"] == pytest.approx(once.settings["allowed"], rel=0.15)


def test_cases_in_heaps_are_left_out_and_said():
    rng = np.random.default_rng(5)
    belief = rng.random(200)
    exact = np.clip(belief + 0.1 * rng.normal(size=200), 0.01, 0.99)
    yes = 1 / (1 + np.exp(-12 * (belief - 0.5)))
    unsure = (np.abs(belief - 0.5) < 0.2) & (rng.random(200) < 0.6)
    said = np.where(unsure, 0.5, np.round(belief, 2))
    result = sufficiency_test(said, policies(yes), exact=exact, rng=1)
    assert result.pvalue > 0.05
    n = (said == 0.5).sum()
    words = f"{n} of 200 cases say 50%, which stands for more than its step"
    assert result.settings["left_out"] == words
    assert result.reason == f"{words}: left out"
    assert result.contributions.shape == (200,)
    assert (result.contributions[said == 0.5] == 0).all()
    # Also among numbers that are computed; where nothing else moves, they are tested, and said.
    finer = np.where(said == 0.5, 0.5, belief)
    computed = sufficiency_test(finer, policies(yes), exact=exact, computed=True, rng=1)
    assert computed.pvalue < 0.05
    assert computed.settings["in_heaps"] == words
    assert computed.reason == f"{words}: the others leave nothing to test"
    tastes = np.clip(yes + 0.2 * rng.normal(size=200), 0, 1)
    apart = sufficiency_test(finer, policies(tastes), exact=exact, computed=True, rng=1)
    assert apart.settings["left_out"] == words
    assert apart.pvalue > 0.05
    # Too few cases are left: all are tested, and the verdict says so.
    mostly = np.where(np.arange(200) < 185, 0.5, np.round(belief, 2))
    coarse = sufficiency_test(mostly, policies(yes), exact=exact, rng=1)
    assert "of 200 cases say 50%" in coarse.settings["in_heaps"]
    assert coarse.pvalue < 0.05
    # Values of a grid that are frequent by chance are none (in a third of such tables by counts).
    drawn = np.random.default_rng(1).integers(0, 21, (200, 60)) / 20
    assert sum(in_heaps(belief).any() for belief in drawn) <= 6


def test_mean_reports_that_foretell_every_state_leave_nothing_to_test():
    options = {"prompts": ["standard"], "iterated": False, "rng": 5027}
    rows = coherence.simulate("noisy", n_contexts=21, n_reps=2, **options)
    arrays, context = (rows["p"], rows["action"], rows["theta"]), rows["context"]
    result = sufficiency_test(*arrays, context=context, rng=1)
    assert math.isnan(result.pvalue)
    assert result.lack == "open"


def test_kinds_of_reports_are_told_apart():
    rows = of_agent("noisy", 60, 1, 1)
    assert found_in(rows).settings["reports"] == "single"
    assert found_in(rows, computed=True).settings["reports"] == "exact"
    rows = of_agent("rational", 60, 3, 1)  # noise too small to move a test leaves it exact
    slightly = rows.assign(p=(rows["p"] + 1e-4 * (rows["rep"] % 2)).clip(0, 1))
    assert found_in(slightly).settings["reports"] == "exact"
    with pytest.raises(InputError, match="computed must be True or False; received 1"):
        found_in(rows, computed=1)


def test_one_belief_throughout_has_no_turn_and_no_slope():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 100)
    result = sufficiency_test(np.full(100, 0.5), truth, truth, rng=1)
    assert result.settings["test"] == SEQUENCES
    assert "p_turn" not in result.settings
    assert result.pvalue < 0.01
    assert math.isnan(result.also["slope"].value)


@pytest.mark.parametrize("steps", [10, 3])
def test_an_agent_that_rounds_what_it_says_is_not_accused(steps):
    """The exact posterior sees what a statement in steps leaves of the belief acted on."""
    rejected, alone = [], []
    for seed in range(10):
        rng = np.random.default_rng([7, seed])
        belief = rng.random(200)
        share = 1 / (1 + np.exp(-8 * (belief - 0.5)))
        said = np.round(steps * belief) / steps
        result = sufficiency_test(said, policies(share), exact=belief, rng=seed)
        rejected.append(result.pvalue <= 0.05)
        alone.append(result.settings["p_direction"] <= 0.05)
        assert result.interval.low < 0 < result.interval.high
        assert result.also["plain_average"].low < 0
    assert all(alone)
    assert not any(rejected)


def test_a_turn_beside_rounding_is_called_a_turn():
    """The direction rejects by what rounding leaves unsaid, which does not count."""
    rng = np.random.default_rng(11)
    belief = rng.random(400)
    said = np.round(belief, 1)
    exact = np.clip(belief + 0.1 * rng.normal(size=400), 0.01, 0.99)
    utility = 8 * (belief - 0.5) + 10 * (exact - belief) * np.sign(said - 0.5)
    share = 1 / (1 + np.exp(-utility))
    found = sufficiency_test(said, policies(share), exact=exact, rng=1).settings
    assert found["p_turn"] < 0.01
    assert found["p_beyond"] > found["p_direction"]
    assert found["turns"]
