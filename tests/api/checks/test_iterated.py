"""iterated_expectation_test: gaps by hand, noise removed, incomplete questions counted."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from coherence import (
    InputError,
    iterated_expectation_test,
    prompt_consistency,
    random_forest_baseline,
    simulate,
)


def hand_made(gap=0.0, n_contexts=12, n_reps=1, weights=(0.25, 0.75)):
    rows = []
    for context, rep in itertools.product(range(n_contexts), range(n_reps)):
        exact = weights[0] * 0.2 + weights[1] * 0.6
        rows.append((context, rep, exact + gap, None, None, np.nan))
        rows.append((context, rep, 0.2, "z", "a", weights[0]))
        rows.append((context, rep, 0.6, "z", "b", weights[1]))
    return pd.DataFrame(rows, columns=["context", "rep", "p", "z", "z_state", "p_z"])


MEDIAN, TOTAL = "median of |gap| / belief", "sum of P(z|x) minus 1"
SIZE = "root-mean-square gap, noise and rounding removed"


def value(result, measure):
    return result.details.set_index("measure")["value"][measure]


def test_gap_by_hand():
    result = iterated_expectation_test(hand_made(gap=0.1), rng=0)
    assert result.statistic == pytest.approx(0.1)
    assert value(result, MEDIAN) == pytest.approx(0.1 / 0.6)
    assert value(result, TOTAL) == pytest.approx(0.0)
    # All twelve gaps have one sign; only all signs and none do as well.
    assert result.pvalue == 2 / 2**12
    # A distribution that does not sum to one is normalised, and it is reported.
    result = iterated_expectation_test(hand_made(weights=(0.25, 0.70)), rng=0)
    assert value(result, TOTAL) == pytest.approx(-0.05)
    assert result.statistic == pytest.approx(0.47 - 0.47 / 0.95)
    coherent = iterated_expectation_test(hand_made(weights=(0.5, 0.5)), rng=0)
    assert math.isnan(coherent.pvalue)
    assert "exactly zero" in coherent.reason
    assert "fewer than 10" in iterated_expectation_test(hand_made(n_contexts=4)).reason


def test_noise_is_told_from_incoherence():
    """Answers that scatter by .05 around coherent beliefs."""
    rng = np.random.default_rng(2)
    runs = hand_made(n_contexts=300, n_reps=4)
    runs["p"] += rng.normal(0, 0.05, len(runs))
    result = iterated_expectation_test(runs, rng=0)
    assert value(result, SIZE) < 0.02
    expected = 0.05 * math.sqrt(1 + 0.25**2 + 0.75**2)
    assert abs(result.statistic) < 3 * expected / math.sqrt(300 * 4)


def test_incomplete_answers_are_counted_not_filled():
    runs = hand_made(gap=0.1, n_contexts=15)
    runs.loc[1, "p"] = np.nan  # one conditional belief of context 0
    runs.loc[3, "p"] = np.nan  # the unconditional belief of context 1
    runs.loc[(runs["context"] == 4) & runs["z_state"].notna(), "p_z"] = 0.0  # no weight at all
    result = iterated_expectation_test(runs, rng=0)
    assert (result.n_rows, result.n_dropped, result.n_contexts) == (12, 3, 12)
    assert result.statistic == pytest.approx(0.1)


def test_published_is_the_median_relative_gap_and_needs_beliefs_above_0():
    """Breaks if beliefs of 0, whose relative gap is undefined, end in a warning of numpy."""
    runs = simulate("noisy", n_contexts=40, n_reps=1, rng=1)
    result = iterated_expectation_test(runs, published=True, n_bootstraps=100, rng=0)
    assert result.pvalue is None
    median = value(iterated_expectation_test(runs, rng=0), MEDIAN)
    assert result.statistic == pytest.approx(median)
    few = runs.assign(p=runs["p"].where(runs["context"].isin(runs["context"].unique()[:9]), 0.0))
    result = iterated_expectation_test(few, published=True, n_bootstraps=100, rng=0)
    assert np.isnan(result.statistic)
    assert result.interval is None
    assert "belief above 0" in result.reason
    twelve = runs.assign(p=runs["p"].where(runs["context"].isin(runs["context"].unique()[:12]), 0))
    result = iterated_expectation_test(twelve, published=True, n_bootstraps=2_000, rng=0)
    assert result.interval.low <= result.statistic <= result.interval.high


def test_only_rows_of_the_reference_prompt_enter():
    runs = hand_made(gap=0.1, n_contexts=15).assign(prompt="standard")
    given = runs["z_state"].notna()
    expected = iterated_expectation_test(runs, rng=0)
    both = pd.concat([runs, runs[given].assign(prompt="mse", p=0.9)], ignore_index=True)
    assert iterated_expectation_test(both, rng=0) == expected

    def with_prompt(prompt, **options):
        return iterated_expectation_test(runs.assign(prompt=prompt), rng=0, **options)

    assert with_prompt(runs["prompt"].mask(given)) == expected
    assert with_prompt(1, reference="1").statistic == expected.statistic
    elsewhere = with_prompt(runs["prompt"].mask(given, "mse"))
    assert "0 contexts with" in elsewhere.reason
    assert "under 'standard'" in elsewhere.reason
    split = with_prompt(runs["prompt"].mask(runs["z_state"] == "b", "mse"))
    assert (split.n_rows, split.n_dropped) == (0, 15)  # half of the distribution is no whole


def test_sizes_by_hand():
    """Gaps of .1 in eight contexts and of -.2 in four, the same in both repetitions."""
    runs = hand_made(n_contexts=12, n_reps=2)
    gap = np.where(runs["context"] < 8, 0.1, -0.2)
    runs["p"] += np.where(runs["z_state"].isna(), gap, 0.0)
    result = iterated_expectation_test(runs, rng=0)
    # Two different beliefs may be exact: they show no grid.
    expected = {MEDIAN: 0.1 / 0.6, SIZE: math.sqrt((8 * 0.01 + 4 * 0.04) / 12), TOTAL: 0.0}
    table = result.details.set_index("measure")["value"]
    assert table.to_dict() == pytest.approx(expected, abs=1e-7)
    assert (result.n_rows, result.n_contexts, result.statistic) == (24, 12, pytest.approx(0))


def rounded_agent(step, *, gap=0.0, scatter=0.0, n_contexts=150, n_reps=3, seed=0):
    """Beliefs `gap` away from an average of beliefs given z, reported in steps."""
    rng = np.random.default_rng(seed)
    exact = rng.uniform(gap, 1 - gap, n_contexts)
    share = rng.uniform(0.2, 0.8, n_contexts)
    apart = rng.uniform(-1, 1, n_contexts) * (np.minimum(exact, 1 - exact) - gap)
    context = np.repeat(np.arange(n_contexts), n_reps)

    def reported(values):
        stated = values[context] + scatter * rng.normal(size=context.size)
        return np.clip(np.round(np.round(stated / step) * step, 10), 0, 1)

    weight = reported(share)
    common = {"context": context, "rep": np.tile(np.arange(n_reps), n_contexts)}
    p = reported(exact + gap * rng.choice([-1.0, 1.0], n_contexts))
    plain = pd.DataFrame({**common, "p": p, "z": None, "z_state": None, "p_z": np.nan})
    given = [
        pd.DataFrame({**common, "p": reported(value), "z": "z", "z_state": state, "p_z": stated})
        for state, value, stated in (
            ("0", exact - share * apart, 1 - weight),
            ("1", exact + (1 - share) * apart, weight),
        )
    ]
    return pd.concat([plain, *given], ignore_index=True)


def test_steps_wider_than_what_they_hide_leave_no_interval_and_a_reason():
    """In quarters most beliefs given z round alike: more is taken off than there is."""
    row = iterated_expectation_test(rounded_agent(0.25), rng=0).details.set_index("measure")
    assert row.loc[SIZE, "value"] == 0
    assert np.isnan(row.loc[SIZE, "low"])
    assert row.loc[SIZE, "reason"]
    # With a gap of .1 the correction misses about .01: an interval would hold it in half of tables.
    agent = rounded_agent(0.25, gap=0.1)
    row = iterated_expectation_test(agent, rng=0).details.set_index("measure")
    assert 0.05 < row.loc[SIZE, "value"] < 0.15
    assert np.isnan(row.loc[SIZE, "low"])
    assert "steps above .1" in row.loc[SIZE, "reason"]


@pytest.mark.parametrize("step", [0.05, 0.1])
def test_rounding_is_not_called_incoherence(step):
    """All repetitions round alike, so that removing noise alone leaves the rounding in."""
    table = iterated_expectation_test(rounded_agent(step), rng=0).details.set_index("measure")
    assert table.loc[SIZE, "low"] == 0
    assert table.loc[SIZE, "value"] < 0.25 * step


def test_beliefs_that_stop_at_a_floor_are_recognised():
    """Coherent but for a floor: averages of what never goes below .2 lie above the belief."""
    runs = rounded_agent(0.05, n_contexts=200, seed=3)
    floored = runs.assign(p=runs["p"].clip(lower=0.2))
    assert "never go below 0.2" in iterated_expectation_test(floored, rng=0).reason
    assert iterated_expectation_test(runs, rng=0).reason == ""


def test_gaps_beyond_rounding_are_found_and_sized():
    for seed in range(2):
        result = iterated_expectation_test(rounded_agent(0.05, gap=0.1, seed=seed), rng=0)
        row = result.details.set_index("measure").loc[SIZE]
        assert 0.09 < row.low < row.value < row.high < 0.11
        assert row.value == pytest.approx(0.1, abs=0.003)


def with_gaps(gaps, **columns):
    """Beliefs that differ from the average of those given z by the gap of their context."""
    runs = hand_made(n_contexts=len(gaps))
    runs["p"] += np.where(runs["z_state"].isna(), np.asarray(gaps)[runs["context"]], 0.0)
    return runs.assign(**{name: np.asarray(of)[runs["context"]] for name, of in columns.items()})


def test_the_test_draws_nothing_and_takes_groups_as_units():
    gaps = np.repeat(np.random.default_rng(3).normal(0.03, 0.05, 12), 4)
    alone = iterated_expectation_test(with_gaps(gaps), rng=0)
    named = iterated_expectation_test(with_gaps(gaps, group=np.arange(48) // 4), rng=1)
    once = iterated_expectation_test(with_gaps(gaps[::4]), rng=2)
    assert named.pvalue == pytest.approx(once.pvalue)
    assert alone.pvalue < named.pvalue / 2


def test_intervals_end_where_gaps_do():
    """Ten contexts, of which one is as wrong as can be: a mean gap is at most 1."""
    runs = hand_made(n_contexts=10)
    runs.loc[runs["z_state"].isna(), "p"] = np.where(np.arange(10) < 9, 1.0, 0.0)
    runs.loc[runs["z_state"].notna(), "p"] = np.repeat(np.where(np.arange(10) < 9, 0.0, 1.0), 2)
    interval = iterated_expectation_test(runs, rng=0).interval
    assert interval.high <= 1
    assert -1 <= interval.low < 0.8


@pytest.mark.parametrize(("n_repeated", "known"), [(10, True), (9, False)])
def test_noise_is_removed_from_ten_contexts_with_two_repetitions(n_repeated, known):
    runs = hand_made(gap=0.1, n_contexts=14, n_reps=2)
    runs["p"] += np.random.default_rng(1).normal(0, 0.02, len(runs))
    runs = runs[(runs["context"] < n_repeated) | (runs["rep"] == 0)]
    result = iterated_expectation_test(runs, rng=0)
    assert math.isfinite(value(result, SIZE)) == known


def test_one_value_of_z_is_no_average_unless_it_is_sure():
    runs = hand_made()
    one = iterated_expectation_test(runs[runs["z_state"] != "b"])
    assert math.isnan(one.statistic)
    assert one.n_dropped == 12
    sure = runs[runs["z_state"] != "b"].assign(p=0.2).replace({"p_z": {0.25: 1.0}})
    assert iterated_expectation_test(sure).n_contexts == 12


@pytest.mark.parametrize("name", ["p", "p_z"])
def test_numbers_that_are_no_probabilities_are_refused(name):
    runs = hand_made()
    with pytest.raises(InputError, match=f"{name} must hold numbers in .* Divide percentages"):
        iterated_expectation_test(runs.assign(**{name: 100 * runs[name]}))


# prompt_consistency: closed forms for the raw, corrected and floor figures.


def noisy_runs(shift, sd=0.1, n_contexts=400, n_reps=5, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.4, 0.6, n_contexts)
    pieces = []
    for prompt, moved in (("standard", 0.0), ("mse", shift)):
        p = np.clip(base[:, None] + moved + rng.normal(0, sd, (n_contexts, n_reps)), 0, 1)
        index = pd.MultiIndex.from_product(
            [range(n_contexts), range(n_reps)], names=["context", "rep"]
        )
        pieces.append(pd.DataFrame({"prompt": prompt, "p": p.ravel()}, index=index).reset_index())
    return pd.concat(pieces, ignore_index=True)


def test_published_keeps_the_noise_and_the_bootstrap():
    runs = noisy_runs(0.05, n_contexts=40)
    published, ours = (prompt_consistency(runs, published=each, rng=0) for each in (True, False))
    assert published.statistic == ours.details["rmse_means"][0]
    assert "bootstrap" in published.interval.method
    assert ours.interval == prompt_consistency(runs, rng=1).interval


def test_prompts_are_pooled_over_those_that_a_context_was_asked():
    """A context without one of the prompts stays, with the mean over its others.

    Thirty contexts, two prompts that lie .1 and .3 off, the second asked in half of them: the
    answers do not scatter, so that squares are .01 and (.01 + .09) / 2.
    """
    pieces = [
        pd.DataFrame({"context": range(n), "rep": rep, "prompt": prompt, "p": 0.4 + shift})
        for prompt, shift, n in (("standard", 0.0, 30), ("mse", 0.1, 30), ("bayes", 0.3, 15))
        for rep in range(2)
    ]
    result = prompt_consistency(pd.concat(pieces, ignore_index=True), rng=0)
    assert result.n_contexts == 30
    assert result.statistic == pytest.approx(math.sqrt((0.01 * 15 + 0.05 * 15) / 30))


def test_figures_by_hand():
    """Ten contexts with answers .5 and .7, under the other prompt .6 and .9: means .15 apart.

    Variances .02 and .045 of two answers each: noise .0325, more than the .0225 between the means;
    in ten more contexts the means are .35 apart, so that .1225 - .0325 is left.
    """
    pieces = [
        pd.DataFrame({"context": contexts, "rep": rep, "prompt": prompt, "p": p})
        for contexts, prompt, answers in (
            (range(20), "standard", (0.5, 0.7)),
            (range(10), "mse", (0.6, 0.9)),
            (range(10, 20), "mse", (0.1, 0.4)),
        )
        for rep, p in enumerate(answers)
    ]
    result = prompt_consistency(pd.concat(pieces, ignore_index=True))
    assert result.details["rmse_means"][0] == pytest.approx(math.sqrt((0.0225 + 0.1225) / 2))
    assert result.statistic == pytest.approx(math.sqrt((0.0225 + 0.1225) / 2 - 0.0325))


def test_ten_contexts_are_enough_and_nine_are_not():
    enough, few = (prompt_consistency(noisy_runs(0.08, n_contexts=n)) for n in (10, 9))
    assert enough.interval.low < enough.statistic < enough.interval.high
    assert few.reason == "9 contexts with both prompts are fewer than 10"
    assert math.isnan(few.statistic)
    assert few.details["rmse_means"].notna().all()


# random_forest_baseline: forests that can average out do, and what decides it.


@pytest.fixture(scope="module")
def runs():
    return simulate("rational", n_contexts=60, n_reps=2, prompts=["standard"], rng=1)


def quick(table, **options):
    return random_forest_baseline(table, **{"n_trees": 4} | options)


def test_constant_posteriors_leave_no_gap_and_equal_gaps_no_interval(runs):
    """Forests predict a constant exactly; weights that are not normalised would leave a gap."""
    plain = runs["z_state"].isna()
    result = quick(runs.assign(p_true=0.4, p_z=np.where(plain, np.nan, 0.6)))
    assert result.statistic == pytest.approx(0, abs=1e-12)
    # A half before z and a quarter after it, in every context: each gap is half of the belief.
    result = quick(runs.assign(p_true=np.where(plain, 0.5, 0.25)))
    assert (result.statistic, result.interval) == (0.5, None)
    assert result.reason == "no interval, because all contexts have the same gap"
    # A prediction of 0 has no relative gap: divided by, the median would be infinite.
    result = quick(runs.assign(p_true=np.where(plain, 0.0, 0.25)))
    assert math.isnan(result.statistic)
    assert result.reason == "fewer than 10 contexts have a prediction above 0"


def test_predictions_are_out_of_sample_and_words_are_evidence(runs):
    """A feature that identifies the context would let a forest that has seen it repeat its
    posterior."""
    plain = runs.filter(regex="^(?!x_)")
    numbers = np.random.default_rng(0).permutation(60)
    noise = plain.assign(x_1=numbers[runs["context"].factorize()[0]])
    word = plain.assign(x_word=np.where(runs["p_true"] > 0.5, "high", "low"))
    tables = (quick(table).details for table in (noise, word))
    of_noise, of_word = (np.corrcoef(each["belief"], each["p_true"])[0, 1] for each in tables)
    assert abs(of_noise) < 0.4
    assert of_word > 0.7


def test_exact_distribution_of_z_is_preferred_and_incomplete_contexts_are_left_out(runs):
    assert quick(runs).settings["weights_from"] == "p_z"
    exact = runs.assign(p_z_true=runs["p_z"], p_z=np.where(runs["p_z"].notna(), 0.5, np.nan))
    result = quick(exact)
    assert result.settings["weights_from"] == "p_z_true"
    assert result.statistic == quick(runs).statistic
    result = quick(runs[~((runs["context"] == "c0003") & (runs["z_state"] == "1"))])
    assert result.n_contexts == 59
    assert "c0003" not in set(result.details["context"])
    missing = quick(runs.drop(columns="p_true"))
    assert math.isnan(missing.statistic)
    assert "column p_true is missing" in missing.reason
    assert "no column starts with x_" in quick(runs.filter(regex="^(?!x_)")).reason
    assert "0 contexts" in quick(runs[runs["z_state"].isna()]).reason


def test_gap_is_that_of_the_predictions(runs):
    result = quick(runs)
    table = result.details
    assert result.statistic == pytest.approx(
        np.median((table["belief"] - table["reconstructed"]).abs() / table["belief"])
    )
    assert result.interval.low < result.statistic < result.interval.high
    assert result.statistic > 0.02  # well fitted, but nothing makes the predictions average out
    assert np.corrcoef(table["belief"], table["p_true"])[0, 1] > 0.3
    assert (result.n_contexts, result.n_rows, result.pvalue) == (60, 60, None)
