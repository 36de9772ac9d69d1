"""belief_movement_test: enumerated excess, what report noise does, turns of a runs table."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, analyze, belief_movement_test

RIGHT, N_TURNS = 0.7, 6
GOLDEN = {1.0: 0.0, 1.5: 0.06229, 0.6: -0.02315}
"""Excess of an agent that multiplies log odds by this, six signals that are right with .7."""


def beliefs(signal, weight=1.0):
    odds = np.cumsum(signal, axis=1) * math.log(RIGHT / (1 - RIGHT))
    return 1 / (1 + np.exp(-weight * np.column_stack([np.zeros(len(signal)), odds])))


def signals(n, rng):
    share = np.where(rng.random(n) < 0.5, RIGHT, 1 - RIGHT)
    return np.where(rng.random((n, N_TURNS)) < share[:, None], 1, -1)


def table(weight=1.0, *, n=150, noise=0.0, n_reps=1, seed=1):
    rng = np.random.default_rng(seed)
    signal = signals(n, rng)
    p = np.broadcast_to(beliefs(signal, weight), (n_reps, n, N_TURNS + 1))
    exact = np.broadcast_to(beliefs(signal), p.shape)
    said = np.clip(p + noise * rng.normal(size=p.shape), 0, 1)
    rep, group, turn = np.indices(p.shape).reshape(3, -1)
    columns = {"p": said.ravel(), "turn": turn, "group": group, "rep": rep}
    return pd.DataFrame(columns | {"p_true": exact.ravel()})


def test_of(rows, **options):
    columns = {"belief": "p", "turn": "turn", "episode": "group", "rep": "rep"}
    return belief_movement_test(data=rows, **columns | options)


test_of.__test__ = False


@pytest.mark.parametrize("weight", GOLDEN)
def test_excess_is_the_enumerated_one(weight):
    """Every stream as often as 9,382 of them would hold it, give or take a half."""
    every = np.array(list(itertools.product([1, -1], repeat=N_TURNS)))
    ups = (every > 0).sum(axis=1)
    chance = 0.5 * (RIGHT**ups * 0.3 ** (6 - ups) + 0.3**ups * RIGHT ** (6 - ups))
    copies = np.repeat(every, np.round(chance * 9_382).astype(int), axis=0)
    episode, turn = np.indices((len(copies), N_TURNS + 1)).reshape(2, -1)
    result = belief_movement_test(beliefs(copies, weight).ravel(), turn, episode, computed=True)
    assert result.statistic == pytest.approx(GOLDEN[weight], abs=1e-5)
    told = result.settings
    assert told["movement"] - told["reduction"] == pytest.approx(result.statistic)
    assert result.details["excess"].sum() == pytest.approx(result.statistic)
    assert list(result.details["turn"]) == [1, 2, 3, 4, 5, 6]


def test_products_of_repetitions_are_those_written_out():
    """Unequal numbers of reports, and two of one repetition at consecutive turns."""
    rng = np.random.default_rng(3)
    rows = table(n=12, noise=0.1, n_reps=3).sample(frac=0.8, random_state=1)
    excess = []
    for _, episode in rows.groupby("group"):
        cells = [cell for _, cell in episode.groupby("turn") if len(cell) > 1]
        total = 0.0
        for before, after in itertools.pairwise(cells):
            pairs = before[["rep", "p"]].merge(after[["rep", "p"]], how="cross")
            pairs = pairs[pairs["rep_x"] != pairs["rep_y"]]
            squares = [p * q for p, q in itertools.permutations(before["p"], 2)]
            across = (pairs["p_x"] * pairs["p_y"]).mean()
            total += after["p"].mean() - before["p"].mean() - 2 * across + 2 * np.mean(squares)
        excess.append(total)
    result = test_of(rows.iloc[rng.permutation(len(rows))])
    assert result.statistic == pytest.approx(np.mean(excess))
    counts = rows.groupby(["group", "turn"])["p"].transform("size")
    assert result.n_dropped == (counts == 1).sum()


def test_repetitions_take_noise_off_and_single_reports_say_that_it_may_be_all():
    noisy = table(noise=0.1, n_reps=2)
    twice, once = test_of(noisy), test_of(noisy[noisy["rep"] == 0])
    assert twice.check == "belief_movement"
    assert twice.pvalue > 0.05
    assert twice.low < 0 < twice.high
    assert once.check == "belief_movement:single_reports"
    assert once.pvalue < 1e-6
    assert "no noise" in once.null
    assert "deviation of 0.1" in once.reason  # .0986 at .1
    assert test_of(noisy[noisy["rep"] == 0], computed=True).check == "belief_movement"
    assert "lower still" in test_of(table(0.6)).reason


def test_reports_of_0_and_1_are_read_both_ways_only_where_reports_differ():
    cut = test_of(table(noise=0.1, n_reps=2))
    assert 0.05 < cut.settings["share_at_ends"] < 0.3
    assert "cut off" in cut.interval.method
    rng = np.random.default_rng(1)
    rows = table(n_reps=2)
    sure = (rows["p"] > 0.9) | (rows["p"] < 0.1)
    inside = rows["p"] + np.where(sure, 0, rng.uniform(-0.05, 0.05, len(rows)))
    result = test_of(rows.assign(p=inside.mask(sure, rows["p"].round())))
    assert result.settings["share_at_ends"] == 0
    assert "cut off" not in result.interval.method


def test_the_exact_posterior_shortens_the_interval_of_the_same_excess():
    rows = table(1.5, n=60)
    alone = test_of(rows, computed=True)
    beside = test_of(rows, computed=True, exact="p_true")
    assert beside.low < GOLDEN[1.5] < beside.high
    assert beside.high - beside.low < 0.6 * (alone.high - alone.low)
    excess, exact = (
        np.array([((np.diff(p)) * (1 - 2 * p[:-1])).sum() for _, p in rows.groupby("group")[name]])
        for name in ("p", "p_true")
    )
    product, square = excess * exact, exact**2
    slope = (product.sum() - product) / (square.sum() - square)  # that of the other episodes
    assert beside.statistic == pytest.approx((excess - slope * exact).mean())
    bayes = test_of(table(), computed=True, exact="p_true")
    assert bayes.statistic == 0
    assert math.isnan(bayes.pvalue)
    assert "zero" in bayes.reason


def test_the_luck_of_the_posterior_is_not_charged_to_beliefs_that_hardly_move():
    rng = np.random.default_rng(1)
    rejected = []
    for seed in range(40):
        rows = table(n=30, seed=seed)
        still = 0.45 + 0.01 * rng.normal(size=30).repeat(7)  # by episode: it never learns
        hardly = still + 1e-3 * (rows["p_true"] - 0.5)
        result = test_of(rows.assign(p=hardly), computed=True, exact="p_true")
        assert abs(result.statistic) < 1e-3
        rejected.append(result.pvalue < 0.05)
    assert np.mean(rejected) < 0.2


def test_rounded_reports_that_do_not_vary_are_not_taken_for_incoherence():
    """Without the second reading a Bayesian who rounds is rejected at p < 1e-6."""
    rows = table(n=300, n_reps=2)
    result = test_of(rows.assign(p=rows["p"].round(1)), exact="p_true")
    assert result.settings["step"] == 0.1
    assert "multiples of 0.1" in result.reason
    assert result.low < result.statistic < result.high == 0
    assert result.pvalue == 1
    varying = np.clip(rows["p"] + 0.05 * np.random.default_rng(1).normal(size=len(rows)), 0, 1)
    assert test_of(rows.assign(p=varying.round(1)), exact="p_true").settings["step"] == 0


def test_turning_states_round_or_splitting_one_changes_what_it_must():
    rows = table(1.5, n_reps=2, noise=0.05)
    same = test_of(rows.assign(p=1 - rows["p"]))
    both = test_of(rows.assign(q=1 - rows["p"]).rename(columns={"p": "of 1", "q": "p"}))
    assert same.statistic == pytest.approx(test_of(rows).statistic)
    assert both.statistic == pytest.approx(same.statistic)
    thirds = rows.assign(a=rows["p"] / 2, b=rows["p"] / 2, c=1 - rows["p"])
    several = test_of(thirds, belief=["a", "b", "c"], computed=True)
    alone = [
        belief_movement_test(thirds[name], rows["turn"], rows["group"], computed=True).statistic
        for name in "abc"
    ]
    assert several.statistic == pytest.approx(sum(alone))


def test_groups_of_episodes_are_the_clusters():
    rows = table(n=60)
    rows = pd.concat([rows.assign(group=rows["group"] + 60 * copy) for copy in range(4)])
    shared = test_of(rows.assign(of=rows["group"] % 60), group="of", computed=True)
    assert shared.interval.method.endswith("groups as clusters")
    once = test_of(table(n=60), computed=True)
    assert (shared.low, shared.high) == pytest.approx((once.low, once.high))
    few = test_of(rows.assign(of=rows["group"] % 5), group="of", computed=True)
    assert "5 groups" in few.reason
    assert "9 episodes" in test_of(table(n=9)).reason
    assert "0 episodes" in test_of(table().query("turn == 0")).reason
    still = test_of(table().assign(p=0.3), computed=True)
    assert math.isnan(still.pvalue)
    assert "zero" in still.reason


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"p": 30.0}, r"belief .*\[0, 1\].*100"),
        ({"turn": np.nan}, r"turn .*nan at position 0.*Number turns"),
        ({"group": None}, "episode must not be missing"),
        ({"rep": 0}, r"rep must differ .*turn 0 of episode 0.*leave rep out"),
    ],
)
def test_bad_columns_are_refused(change, match):
    rows = table(n=12, n_reps=2)
    with pytest.raises(InputError, match=match):
        test_of(rows.assign(**change))


def test_a_group_or_an_exact_posterior_that_varies_is_refused():
    rows = table(n=12, n_reps=2)
    with pytest.raises(InputError, match="group must be constant .*give each one group"):
        test_of(rows, group="turn")
    with pytest.raises(InputError, match="exact is the posterior of one of two states"):
        test_of(rows.assign(q=0.0, r=1 - rows["p"]), exact="p_true", belief=["p", "q", "r"])
    rows.loc[0, "p_true"] = 0.2
    with pytest.raises(InputError, match="exact must be the same"):
        test_of(rows, exact="p_true")


# In a runs table


def runs(**options):
    rows = table(**options)
    return rows.assign(context=rows["group"].astype(str) + "-" + rows["turn"].astype(str))


def test_a_runs_table_of_beliefs_with_turn_and_group_is_tested_by_itself():
    rows = runs(weight=1.5, n=60, noise=0.05, n_reps=2)
    report = analyze(rows.drop(columns="p_true"), rng=1)
    row = report.results.set_index("check").loc["belief_movement"]
    alone = test_of(rows)
    assert (row["estimate"], row["pvalue"]) == pytest.approx((alone.statistic, alone.pvalue))
    exact = {"columns": {"exact": "p_true"}, "checks": ["belief_movement"], "rng": 1}
    beside = analyze(rows, **exact).results.iloc[0]
    assert beside["estimate"] == pytest.approx(test_of(rows, exact="p_true").statistic)


def test_of_single_reports_the_report_says_what_it_rests_on():
    rows = runs(weight=1.0, n=60, noise=0.1).drop(columns="p_true")
    report = analyze(rows, checks=["belief_movement"], rng=1)
    assert "if single reports have no noise" in " ".join(str(report).split())
    assert "If single reports have no noise" in report.results["verdict"][0]
    named = analyze(rows.assign(belief_kind="stated:exact"), checks=["belief_movement"], rng=1)
    assert list(named.results["check"]) == ["belief_movement"]
