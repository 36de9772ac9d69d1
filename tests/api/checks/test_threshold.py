"""threshold_estimates: where choices change, what lies beyond, and what must not matter."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import analyze, threshold_estimates


def choices(at=0.5, *, n=80, n_reps=3, noise=0.0, low=0.05, high=0.95, seed=1):
    """Steep choices of "yes" above a belief, reports on a grid of .05."""
    rng = np.random.default_rng(seed)
    belief = rng.uniform(low, high, n).repeat(n_reps)
    said = np.clip(np.round((belief + noise * rng.normal(size=belief.size)) * 20) / 20, 0, 1)
    yes = rng.random(belief.size) < 1 / (1 + np.exp(20 * (at - belief)))
    action = np.where(yes, "yes", "no")
    return pd.DataFrame({"p": said, "action": action, "context": np.arange(n).repeat(n_reps)})


def of(table, **options):
    return threshold_estimates("p", "action", data=table, context="context", **options)


@pytest.mark.parametrize("at", [0.3, 0.5, 0.8])
def test_the_belief_at_which_choices_change_is_found(at):
    """Breaks if the ratio is of other columns, or the labels are turned."""
    (found,) = of(choices(at))
    assert found.interval.low < at < found.interval.high < found.interval.low + 0.15
    assert (found.settings["start"], found.settings["to"]) == ("no", "yes")
    turned = choices(at).assign(p=lambda rows: 1 - rows["p"])
    (other,) = of(turned)
    assert other.statistic == pytest.approx(1 - found.statistic, abs=1e-4)
    assert (other.settings["start"], other.settings["to"]) == ("yes", "no")


def test_ends_are_no_finer_than_what_was_said():
    """Breaks if an interval ends between two beliefs of which nothing is known."""
    table = choices(0.5, n=400)
    (found,) = of(table.assign(p=(table["p"] * 5).round() / 5))
    assert found.interval.low <= 0.4 + 1e-9
    assert found.interval.high >= 0.6 - 1e-9


def test_what_lies_beyond_the_beliefs_is_a_bound():
    (above,), (below,) = of(choices(0.7, n=200, high=0.5)), of(choices(0.3, n=200, low=0.5))
    assert math.isnan(above.statistic)
    assert 0.4 <= above.settings["above"] <= 0.5
    assert 0.5 <= below.settings["below"] <= 0.6
    assert "above 0.4" in above.reason


def test_noise_of_reports_is_taken_out_where_it_is_seen():
    """Breaks if reports pull a threshold off the middle to the mean of the beliefs, or past it."""
    table = choices(0.65, n=2_000, n_reps=3, noise=0.15, low=0.3, high=0.7, seed=2)
    (found,), (as_exact,) = of(table), of(table, computed=True)
    assert abs(found.statistic - 0.65) < 0.012
    assert "stop short" in as_exact.reason  # as noise that is not known looks
    assert not found.settings["as_stated"]


def test_who_acts_on_the_number_of_the_moment_is_within_the_interval_too():
    """Breaks if noise is taken out of reports that are themselves acted on."""
    held = 0
    for seed in range(20):
        table = choices(0.2, n=120, n_reps=2, noise=0.15, seed=seed)
        (found,) = of(table.assign(action=np.where(table["p"] > 0.2, "yes", "no")))
        held += found.low <= 0.2 <= found.high
    assert held >= 18


@pytest.mark.parametrize("end", ["highest", "lowest"])
def test_choices_that_stop_short_of_an_action_have_no_threshold(end):
    """Breaks if a logit that runs from never to always says where they are one half."""
    rng, table = np.random.default_rng(1), choices(n=400, noise=0.0)
    short = rng.random(len(table)) < 0.3
    other = table["action"].mask(short, "no" if end == "highest" else "yes")
    (found,) = of(table.assign(action=other), computed=True)
    assert math.isnan(found.statistic)
    assert f"with the {end} beliefs" in found.reason


def test_the_lowest_action_is_that_of_the_lowest_beliefs():
    """Breaks if the commonest action is taken for it where most beliefs are high."""
    belief = np.random.default_rng(1).beta(6, 2, 400)
    action = np.where(belief < 0.45, "a", np.where(belief < 0.75, "b", "c"))
    found = threshold_estimates(belief, action, computed=True)[0]
    assert found.settings["start"] == "a"
    assert found.low <= 0.45 <= found.high


def test_single_reports_say_so_and_computed_ones_do_not():
    single = choices(0.5, n=200, n_reps=1)
    assert of(single)[0].settings["as_stated"]
    assert "noise" in of(single)[0].reason
    assert not of(single, computed=True)[0].settings["as_stated"]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (choices().assign(action="no"), "one action"),
        (choices().assign(p=0.5), "not seen to change"),
        (choices(n=4), "contexts"),
        (choices(0.5, n=12).assign(action=lambda rows: np.where(rows.index < 2, "yes", "no")), "8"),
    ],
)
def test_where_nothing_can_be_said_a_reason_is(table, said):
    (found,) = of(table)
    assert math.isnan(found.statistic)
    assert said in found.reason


def test_groups_are_the_clusters():
    """Breaks if cases of a group that changes elsewhere count as independent ones."""
    rng = np.random.default_rng(3)
    belief, group = rng.uniform(0.05, 0.95, 300), np.arange(300) // 15
    own = 0.5 + 0.2 * rng.normal(size=20)[group]
    action = np.where(rng.random(300) < 1 / (1 + np.exp(20 * (own - belief))), "b", "a")
    alone, named = (threshold_estimates(belief, action, group=g)[0] for g in (None, group))
    assert named.statistic == alone.statistic
    assert named.high - named.low > 1.3 * (alone.high - alone.low)


def test_of_three_actions_the_lowest_and_the_highest_are_told_apart():
    rng = np.random.default_rng(4)
    belief = rng.uniform(0.02, 0.98, 400)
    likely = 1 / (1 + np.exp(25 * (np.array([[0.3, 0.7]]) - belief[:, None])))
    drawn = rng.random(400)
    action = np.where(drawn < likely[:, 1], "c", np.where(drawn < likely[:, 0], "b", "a"))
    lowest, highest = threshold_estimates(belief, action)
    assert (lowest.check, lowest.settings["start"]) == ("threshold:lowest", "a")
    assert (highest.check, highest.settings["to"]) == ("threshold:highest", "c")
    assert (lowest.statistic, highest.statistic) == pytest.approx((0.3, 0.7), abs=0.03)


def test_a_report_has_it_with_and_without_a_truth():
    """Breaks if a table without a truth is told nothing, or labels are those of another model."""
    (found,) = of(choices(0.4))
    ends = [f"{100 * number:.0f}" for number in (found.statistic, found.low, found.high)]
    true = choices(0.4).assign(theta=lambda rows: rows["context"] % 2)
    checks = ["sufficiency", "threshold"]
    said = " ".join(str(analyze(true, checks=checks, rng=1)).split())
    assert "changes from no to yes at {}% [{}, {}]".format(*ends) in said
    without = " ".join(str(analyze(choices(0.4), checks=["threshold"], rng=1)).split())
    assert "changes from no to yes at {}% [{}, {}]".format(*ends) in without
    beyond = " ".join(str(analyze(choices(0.7, high=0.6), rng=1)).split())
    assert "changes from no to yes at above 55%" in beyond
    other = true.assign(model="n", action=true["action"].map({"no": "go", "yes": "stay"}))
    two = pd.concat([true.assign(model="m"), other])
    assert "choices change at" in " ".join(str(analyze(two, checks=checks, rng=1)).split())
