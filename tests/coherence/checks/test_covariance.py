"""residual_covariance_test: closed forms, the hidden shift, contexts, degenerate input."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import coherence
from coherence import AGENTS, InputError, analyze, residual_covariance_test, simulate
from coherence.checks.covariance import CHECK, residual_covariance_of_means


def columns(seed=1, n_contexts=200, n_reps=5, **changes):
    agent = AGENTS["rational"].with_parameters(**changes)
    runs = simulate(
        agent, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed
    )
    return (runs["p"].to_numpy(), runs["action"].to_numpy(), runs["theta"].to_numpy()), runs[
        "context"
    ].to_numpy()


def test_flags_the_leaky_agent_and_not_the_rational_one():
    arrays, context = columns(hidden_signal=0.4)
    assert residual_covariance_test(*arrays, context=context, rng=1).pvalue <= 0.001
    arrays, context = columns()
    assert residual_covariance_test(*arrays, context=context, rng=1).pvalue > 0.05


def test_hidden_shift_recovers_the_planted_one():
    """The shift is in units of belief: planted .3, 3000 contexts; a first-order estimate would be
    near .23."""
    arrays, context = columns(seed=3, n_contexts=3000, n_reps=3, hidden_signal=0.3)
    result = residual_covariance_test(*arrays, context=context, n_draws=199, rng=1)
    assert result.unit == "belief"
    assert result.statistic == pytest.approx(0.3, abs=0.03)
    assert result.interval.low < 0.3 < result.interval.high


def test_an_interval_without_0_stands_beside_a_p_value_that_rejects():
    """The test shares its level out among components, which one component's interval does not."""
    reached = []
    for seed in range(15, 50):
        arrays, context = columns(seed=seed, n_contexts=60, n_reps=2, hidden_signal=0.15)
        result = residual_covariance_test(*arrays, context=context, n_draws=499, rng=1)
        low, high = result.interval.low, result.interval.high
        assert result.pvalue <= 0.05 or low <= 0 <= high
        if "reaches to 0" in result.interval.method:
            assert 0 in (low, high)
            reached.append(result.unit)
    # Either kind of interval ended short of it.
    assert set(reached) == {"belief", "probability"}


def test_components_are_differences_of_choice_probability():
    """With a belief that explains nothing, the component is the plain difference of shares between
    the states."""
    rng = np.random.default_rng(0)
    belief, truth = rng.random(4000), rng.integers(0, 2, 4000)
    action = np.where(rng.random(4000) < 0.3 + 0.2 * truth, "go", "stay")
    details = residual_covariance_test(belief, action, truth, n_draws=199, rng=0).details.set_index(
        "component"
    )
    row = details.loc["P(go | 1) - P(go | not 1)"]
    plain = (action == "go")[truth == 1].mean() - (action == "go")[truth == 0].mean()
    assert row["estimate"] == pytest.approx(plain, abs=0.01)
    assert row["standard_error"] == pytest.approx(
        math.sqrt(2 * (0.3 * 0.7 + 0.5 * 0.5) / 4000), rel=0.1
    )
    assert row["pvalue_single"] < 1e-9


def test_sees_dependence_that_the_shift_does_not():
    """Deferring more when the state is 1, with yes and no shrinking alike: no shift of belief, but
    no independence either."""
    rng = np.random.default_rng(5)
    belief = rng.integers(0, 21, 3000) / 20
    truth = (rng.random(3000) < belief).astype(int)
    decided = np.where(rng.random(3000) < belief, "yes", "no")
    action = np.where(
        rng.random(3000) < 0.2 + 0.2 * truth * 4 * belief * (1 - belief), "defer", decided
    )
    result = residual_covariance_test(belief, action, truth, n_draws=999, rng=0)
    assert result.pvalue < 0.01
    assert abs(result.statistic) < 0.1


def test_copies_of_rows_do_not_sharpen_the_test():
    arrays, context = columns(seed=7, n_contexts=60, n_reps=1)
    once = residual_covariance_test(*arrays, context=context, rng=0)
    copied = residual_covariance_test(
        *(np.repeat(a, 10) for a in arrays), context=np.repeat(context, 10), rng=0
    )
    assert copied.pvalue == pytest.approx(once.pvalue, abs=0.02)
    assert copied.interval.high - copied.interval.low == pytest.approx(
        once.interval.high - once.interval.low, rel=0.1
    )


def test_many_contexts_use_the_normal_limit_of_the_signs(monkeypatch):
    arrays, context = columns(seed=7, hidden_signal=0.05)
    signs = residual_covariance_test(*arrays, context=context, rng=0).pvalue
    monkeypatch.setattr("coherence.statistics.exchange.MANY_CONTEXTS", 10)
    assert residual_covariance_test(*arrays, context=context, rng=0).pvalue == pytest.approx(
        signs, abs=0.03
    )


def test_of_labels_that_say_nothing_one_must_be_named():
    arrays, context = columns(n_contexts=50, n_reps=2)
    labels = np.where(arrays[2] == 1, "hit", "miss")
    with pytest.raises(InputError, match="Name it: positive='hit' or positive='miss'"):
        residual_covariance_test(arrays[0], arrays[1], labels, context=context)


def test_does_not_depend_on_labels_or_row_order():
    arrays, context = columns(n_contexts=50, n_reps=2)
    first = residual_covariance_test(*arrays, context=context, n_draws=199, rng=2)
    for one, other in (("z", "a"), ("a", "z")):  # one alphabet and the other
        renamed = residual_covariance_test(
            arrays[0],
            [f"do {a}" for a in arrays[1]],
            np.where(arrays[2] == 1, one, other),
            positive=one,
            context=context,
            n_draws=199,
            rng=2,
        )
        assert renamed.statistic == pytest.approx(first.statistic, abs=1e-9)
        assert renamed.interval.high == pytest.approx(first.interval.high, abs=1e-9)
    shuffled = np.random.default_rng(0).permutation(len(context))
    moved = residual_covariance_test(
        *(a[shuffled] for a in arrays), context=context[shuffled], n_draws=199, rng=2
    )
    assert moved.statistic == pytest.approx(first.statistic, abs=1e-6)
    assert moved.pvalue == first.pvalue


def test_several_states_have_no_shift():
    rng = np.random.default_rng(1)
    belief, truth = rng.random(500), rng.integers(0, 3, 500)
    action = np.where(rng.random(500) < 0.7, truth, 0)
    result = residual_covariance_test(belief, action, truth, n_draws=199, rng=0)
    assert result.unit == "probability"
    assert len(result.details) == 9
    assert result.pvalue <= 0.01


def test_choices_that_ignore_belief_identify_no_shift():
    """An agent that only ever follows the state: dependence is certain, a shift of belief is not
    defined, and the difference in choices is 1."""
    rng = np.random.default_rng(2)
    belief, truth = rng.random(400), rng.integers(0, 2, 400)
    result = residual_covariance_test(belief, truth, truth, n_draws=199, rng=0)
    assert result.pvalue <= 0.01
    assert result.unit == "probability"
    assert abs(result.statistic) == pytest.approx(1, abs=0.02)
    assert result.interval is not None
    assert "does not follow the belief" in result.settings["no_hidden_shift"]
    assert math.isnan(result.details["estimate"].iloc[-1])


def test_degenerate_and_wrong_input():
    rng = np.random.default_rng(0)
    belief, truth = rng.random(40), rng.integers(0, 2, 40)
    assert (
        residual_covariance_test(belief, ["go"] * 40, truth).reason
        == "only one action was seen ('go')"
    )
    assert math.isnan(residual_covariance_test(belief, truth, np.ones(40)).pvalue)
    with pytest.raises(InputError, match=r"rows of belief must sum to 1"):
        residual_covariance_test(rng.random((40, 3)), truth, truth)


def three_states(seed, n_contexts=200, n_reps=5, signal=0.0):
    """Softmax choice among three actions by beliefs over three states, taste by context; `signal`
    leaks the state into what is acted on."""
    rng = np.random.default_rng(seed)
    belief = rng.dirichlet([1, 1, 1], n_contexts)
    truth = (rng.random(n_contexts)[:, None] > belief.cumsum(axis=1)[:, :2]).sum(axis=1)
    utility = 6 * (belief + signal * np.eye(3)[truth]) + rng.normal(size=(n_contexts, 3))
    context = np.repeat(np.arange(n_contexts), n_reps)
    action = np.argmax(utility[context] + rng.gumbel(size=(context.size, 3)), axis=1)
    return (belief[context], action, truth[context]), context


def test_beliefs_over_three_states():
    arrays, context = three_states(0)
    null = residual_covariance_test(*arrays, context=context, n_draws=999, rng=0)
    arrays, context = three_states(0, signal=0.3)
    leak = residual_covariance_test(*arrays, context=context, n_draws=999, rng=0)
    assert null.pvalue > 0.05
    assert null.interval.low < 0 < null.interval.high
    assert leak.pvalue == 0.001
    assert leak.unit == "probability"
    assert list(leak.details["component"][:2]) == [
        "P(0 | 0) - P(0 | not 0)",
        "P(1 | 0) - P(1 | not 0)",
    ]
    assert leak.interval.low > 0
    assert not any("shift" in name for name in leak.details["component"])


def test_interval_of_the_selected_component_is_simultaneous():
    """With nine components it must reach further than a single one: between 2.2 and 3.2 standard
    errors instead of 2."""
    arrays, context = three_states(1)
    result = residual_covariance_test(*arrays, context=context, n_draws=999, rng=0)
    error = result.details.loc[result.details["pvalue_single"].idxmin(), "standard_error"]
    assert 2.2 < (result.interval.high - result.statistic) / error < 3.2
    assert "simultaneous over 9 components" in result.interval.method


def test_three_beliefs_but_two_states_seen():
    """No belief is the belief in the second state, so there is no shift to estimate."""
    (belief, action, truth), context = three_states(2)
    kept = truth != 2
    result = residual_covariance_test(
        belief[kept], action[kept], truth[kept], context=context[kept], n_draws=199, rng=0
    )
    assert len(result.details) == 3
    assert result.unit == "probability"


def least_squares_gcm(belief, action, truth):
    design = np.stack([np.ones(belief.size), belief], axis=1)
    left = [
        values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
        for values in (action.astype(float), truth.astype(float))
    ]
    products = left[0] * left[1]
    return math.sqrt(belief.size) * products.mean() / products.std()


def test_equals_the_generalised_covariance_measure(monkeypatch):
    """One-row contexts and straight lines: Shah and Peters' statistic, by hand and by pgmpy 1.1.2
    (golden number)."""
    monkeypatch.setattr("coherence.statistics.smoothing.SIZES", (2,))
    monkeypatch.setattr("coherence.statistics.smoothing.JUMP_SIZES", ())
    rng = np.random.default_rng(11)
    belief = rng.random(300)
    truth, action = (
        (rng.random(300) < belief).astype(int),
        (rng.random(300) < belief**2).astype(int),
    )
    details = residual_covariance_test(belief, action, truth, n_draws=99, rng=0).details
    assert abs(details["gcm"][1]) == pytest.approx(
        abs(least_squares_gcm(belief, action, truth)), abs=1e-6
    )
    assert details["gcm"][0] == pytest.approx(-details["gcm"][1], abs=1e-6)
    assert abs(details["gcm"][1]) == pytest.approx(0.8273440408816807, abs=1e-6)


def test_one_belief_throughout_leaves_the_plain_difference():
    """Yes in 30 of 40 contexts with the state and in 20 of 60 without: the difference is 3/4 - 1/3,
    and the belief explains none of it."""
    truth = np.repeat([1, 0], [40, 60])
    action = np.concatenate(
        [np.repeat(["yes", "no"], [30, 10]), np.repeat(["yes", "no"], [20, 40])]
    )
    result = residual_covariance_test(np.full(100, 0.4), action, truth, n_draws=999, rng=0)
    assert (result.unit, result.settings["component"]) == (
        "probability",
        "P(no | 1) - P(no | not 1)",
    )
    assert result.statistic == pytest.approx(1 / 3 - 3 / 4)
    assert result.pvalue == 0.001
    assert result.interval.low < result.statistic < result.interval.high < 0
    # The same over three states of which the stated beliefs never change.
    several = residual_covariance_test(
        np.tile([0.3, 0.4, 0.3], (100, 1)), action, truth, n_draws=999, rng=0
    )
    assert several.statistic == pytest.approx(result.statistic)
    assert (
        residual_covariance_test(
            np.full(100, 0.4), action, np.tile([1, 0], 50), n_draws=999, rng=0
        ).pvalue
        > 0.5
    )


def test_beliefs_that_foretell_every_state_leave_nothing_to_test():
    """Both the state and the choice are steps in the belief; what a spline misses of two equal
    steps is the same, and no incoherence."""
    belief = np.concatenate([np.linspace(1e-6, 0.02, 12), np.linspace(0.97, 1 - 1e-6, 12)])
    truth = (belief > 0.5).astype(int)
    result = residual_covariance_test(
        belief, np.where(truth, "go", "stay"), truth, n_draws=199, rng=0
    )
    assert math.isnan(result.pvalue)
    assert "a threshold of the belief separates the states" in result.reason
    truth[0] = 1  # one surprise: the state varies at equal belief, the choice does not
    settled = residual_covariance_test(
        belief, np.where(belief > 0.5, "go", "stay"), truth, n_draws=199, rng=0
    )
    assert (settled.statistic, settled.pvalue, settled.interval) == (0, 1, None)
    assert "settles the action" in settled.reason


def rejections(draw, n_sets=120):
    """Share of data sets with exactly independent actions and states that are rejected at .05."""
    results = [
        residual_covariance_test(*draw(np.random.default_rng([5, number])), n_draws=299, rng=number)
        for number in range(n_sets)
    ]
    return sum(result.pvalue <= 0.05 for result in results), results


def test_rare_actions_and_rare_states_do_not_reject_by_hardly_meeting():
    """At rates of .05 in 200 contexts they meet half a time on average; flipped signs rejected 44%
    of such nulls, exchanges must not."""

    def draw(rng):
        return (
            np.full(200, 0.05),
            np.where(rng.random(200) < 0.05, "act", "wait"),
            (rng.random(200) < 0.05).astype(int),
        )

    rejected, results = rejections(draw)
    assert rejected <= 14  # exact binomial bound at .995
    tested = [result for result in results if not math.isnan(result.pvalue)]
    assert {result.settings["null_distribution"] for result in tested} == {"exchange of contexts"}
    assert all(result.unit == "probability" and result.interval is not None for result in tested)
    missed = sum(not result.interval.low <= 0 <= result.interval.high for result in tested)
    assert missed <= 14


def test_rare_actions_that_go_with_rare_states_are_found():
    rng = np.random.default_rng(2)
    truth = (rng.random(300) < 0.05).astype(int)
    action = np.where(rng.random(300) < np.where(truth == 1, 0.6, 0.03), "act", "wait")
    result = residual_covariance_test(np.full(300, 0.05), action, truth, n_draws=999, rng=0)
    assert result.settings["null_distribution"] == "exchange of contexts"
    assert result.pvalue <= 0.005


@pytest.mark.lengthy
@pytest.mark.parametrize(
    ("levels", "state", "acts"),
    [
        ((0.1, 0.5, 0.9), (0.1, 0.8, 0.9), (0.1, 0.8, 0.9)),
        (
            (0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 0.9),
            (0.1, 0.9, 0.2, 0.8, 0.3, 0.9, 0.1),
            (0.1, 0.9, 0.2, 0.8, 0.3, 0.9, 0.1),
        ),
    ],
    ids=["three beliefs", "seven beliefs"],
)
def test_few_beliefs_have_a_mean_each(levels, state, acts):
    """State and action follow the belief by the same rule that is no line; a straight line rejected
    half of such nulls, or all."""

    def draw(rng):
        place = rng.integers(0, len(levels), 300)
        chances = np.array(state)[place], np.array(acts)[place]
        return (
            np.array(levels)[place],
            np.where(rng.random(300) < chances[1], "act", "wait"),
            (rng.random(300) < chances[0]).astype(int),
        )

    assert rejections(draw)[0] <= 14


@pytest.mark.slow
def test_jumps_at_the_same_belief_are_no_covariance():
    """An underconfident model that knows the state, and decides by it: both jump at one half, and
    5% of each go astray by themselves."""

    def draw(rng):
        belief = rng.random(300)
        truth, choice = ((belief > 0.5) ^ (rng.random(300) < 0.05) for _ in range(2))
        return belief, np.where(choice, "act", "wait"), truth.astype(int)

    assert rejections(draw)[0] <= 14


def test_several_beliefs_that_foretell_every_state_leave_nothing_to_test():
    belief = np.random.default_rng(4).dirichlet([0.5] * 3, 200)
    result = residual_covariance_test(
        belief,
        np.array(["a", "b", "c"])[belief.argmax(axis=1)],
        belief.argmax(axis=1),
        n_draws=199,
        rng=0,
    )
    assert math.isnan(result.pvalue)
    assert "separates the states" in result.reason


def share_table(n_of, copies=1):
    """One belief throughout: rows (state, acts) with the number of contexts of each."""
    state, acts = (np.repeat(values, list(n_of.values())) for values in zip(*n_of, strict=True))
    context = np.repeat(np.arange(state.size), copies)
    return np.full(context.size, 0.5), acts[context], state[context], context


def test_largest_component_has_the_larger_of_the_errors_under_and_beyond_the_null():
    """By hand: 40 of 40 act in one state and 20 of 40 in the other, none of it by the belief.

    Shares 1 and 1/2 leave residuals 1/4 and -3/4 of the action, 1/2 and -1/2 of the state. The
    effect is 1/2 and its sandwich error is that of the rest once it is taken out; under the null
    each context's sum stands whole, which is more here.
    """
    belief, acts, state, context = share_table({(1, 1): 40, (0, 1): 20, (0, 0): 20})
    result = residual_covariance_test(belief, acts, state, context=context, n_draws=9_999, rng=0)
    assert abs(result.statistic) == pytest.approx(0.5)
    products = np.repeat([1 / 8, -1 / 8, 3 / 8], [40, 20, 20])
    under_null = math.sqrt((products**2).sum()) / (80 / 4)
    row = result.details[result.details["component"] == result.settings["component"]].iloc[0]
    assert row["standard_error"] < 0.9 * under_null
    # The two components mirror each other: selection costs what the signs of one of them give.
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(20_000, 80))
    drawn = np.abs(signs @ products) / math.sqrt((products**2).sum())
    selected = np.quantile(drawn, 0.95) / stats.norm.ppf(0.975)
    reach = (result.interval.high - result.interval.low) / 2
    assert reach == pytest.approx(stats.t.ppf(0.975, 79) * selected * under_null, rel=0.03)


def test_copies_in_contexts_leave_the_interval_of_the_largest_component():
    """Few contexts of many rows: the quantile is that of t with 11 degrees, not of 359 rows."""
    groups = {(1, 1): 4, (1, 0): 2, (0, 1): 2, (0, 0): 4}
    once, copied = (
        residual_covariance_test(*arrays[:3], context=arrays[3], n_draws=999, rng=0)
        for arrays in (share_table(groups), share_table(groups, copies=30))
    )
    assert (copied.n_rows, copied.n_contexts) == (360, 12)
    assert copied.interval.low == pytest.approx(once.interval.low, abs=1e-6)
    assert copied.interval.high == pytest.approx(once.interval.high, abs=1e-6)
    products = np.full(12, 1 / 4) * np.repeat([1, -1, -1, 1], [4, 2, 2, 4])
    error = math.sqrt((products**2).sum()) / (12 / 4)
    reach = (copied.interval.high - copied.interval.low) / 2
    # The quantile of signed sums of twelve is a little off the normal one; t of 359 is 11% less.
    drawn = np.random.default_rng(1).choice([-1.0, 1.0], size=(50_000, 12)) @ np.full(12, 12**-0.5)
    selected = np.quantile(np.abs(drawn), 0.95) / stats.norm.ppf(0.975)
    assert reach == pytest.approx(stats.t.ppf(0.975, 11) * selected * error, rel=0.02)


def test_interval_of_the_hidden_shift_reaches_as_far_as_t_over_contexts():
    arrays, context = columns(seed=11, n_contexts=300, n_reps=3)
    result = residual_covariance_test(*arrays, context=context, n_draws=99, rng=0)
    error = result.details["standard_error"].iloc[-1]
    assert result.unit == "belief"
    # The score is nearly a straight line in the shift where choices follow a smooth curve.
    for end in (result.interval.low, result.interval.high):
        assert abs(end - result.statistic) / error == pytest.approx(
            stats.t.ppf(0.975, 299), rel=0.2
        )


def test_differences_of_probabilities_end_at_one():
    """Twelve contexts that all act as the state is: the effect is 1, and no interval passes it."""
    belief, acts, state, context = share_table({(1, 1): 6, (0, 0): 6})
    result = residual_covariance_test(belief, acts, state, context=context, n_draws=999, rng=0)
    assert abs(result.statistic) == pytest.approx(1)
    ends = sorted(map(abs, (result.interval.low, result.interval.high)))
    assert ends[1] == 1.0
    assert ends[0] < 0.7


def test_standard_error_is_the_sandwich_by_hand():
    """Residuals of the action 1/4 and -3/4, of the state 1/2 and -1/2: what is left of each
    context's product once the effect of 1/2 times 1/4 is taken out is 0, -1/4 or 1/4."""
    belief, acts, state, context = share_table({(1, 1): 40, (0, 1): 20, (0, 0): 20})
    details = residual_covariance_test(
        belief, acts, state, context=context, n_draws=99, rng=0
    ).details.set_index("component")
    row = details.loc["P(1 | 1) - P(1 | not 1)"]
    rest = np.repeat([0, -1 / 4, 1 / 4], [40, 20, 20])
    error = math.sqrt((rest**2).sum() * 80 / 79) / (80 / 4)
    assert row["estimate"] == pytest.approx(1 / 2)
    assert row["standard_error"] == pytest.approx(error, rel=1e-6)
    products = np.repeat([1 / 8, -1 / 8, 3 / 8], [40, 20, 20])
    studentised = products.sum() / math.sqrt((products**2).sum())
    assert row["pvalue_single"] == pytest.approx(2 * stats.norm.sf(studentised), rel=1e-5)
    assert row["gcm"] == pytest.approx(products.mean() / products.std() * math.sqrt(80), rel=1e-6)
    other = details.loc["P(0 | 1) - P(0 | not 1)"]
    assert other["estimate"] == pytest.approx(-row["estimate"])
    assert other["standard_error"] == pytest.approx(row["standard_error"])


def test_adjusted_pvalues_count_signs_of_contexts():
    """Twelve contexts, ten of which act as the state is: all 2^12 signs by hand.

    The two components mirror each other and have half of the weight each, so that the adjusted
    p-value of both is the share of signs whose sum is as far from 0, 158 of 4096.
    """
    groups = {(1, 1): 5, (1, 0): 1, (0, 1): 1, (0, 0): 5}
    belief, acts, state, context = share_table(groups)
    result = residual_covariance_test(belief, acts, state, context=context, n_draws=40_000, rng=0)
    signs = 1 - 2 * (np.arange(2**12)[:, None] >> np.arange(12) & 1)
    # Products of 1/4 in size: shares are 5/6 and 1/6, their residuals about 1/2 each.
    products = np.repeat([1, -1, -1, 1], [5, 1, 1, 5]) / 4
    expected = np.mean(np.abs(signs @ products) >= abs(products.sum()) - 1e-9)
    assert result.details["pvalue_adjusted"].tolist() == pytest.approx([expected] * 2, abs=0.004)
    assert result.pvalue == result.details["pvalue_adjusted"].min()


def test_two_columns_of_beliefs_are_one_where_contexts_are_exchanged():
    """Rare actions and states: contexts move among those of similar belief in the second state."""
    rng = np.random.default_rng(2)
    belief = rng.uniform(0.02, 0.08, 300)
    truth = (rng.random(300) < belief).astype(int)
    action = np.where(rng.random(300) < 0.05, "act", "wait")
    single, paired = (
        residual_covariance_test(stated, action, truth, n_draws=199, rng=0)
        for stated in (belief, np.stack([1 - belief, belief], axis=1))
    )
    assert single.settings["null_distribution"] == "exchange of contexts"
    assert (single.statistic, single.pvalue) == (paired.statistic, paired.pvalue)


def test_a_table_is_tested_with_its_contexts_unless_papers_are_reproduced(planned):
    runs = simulate("rational", n_contexts=12, n_reps=2, rng=0)
    notes, (call,) = planned(CHECK, runs)
    assert (notes, call.n_dropped, call.draws) == ([], 0, True)
    result = call.function(n_draws=99, rng=0)
    assert (result.n_rows, result.n_contexts) == (24, 12)
    assert planned(CHECK, runs, published=True) == ([], [])


ALONE = [0.0, 0.15, 0.3, 0.45, 0.6, 0.75]


@pytest.mark.parametrize(
    ("belief", "tested"),
    [
        ([*ALONE[:5], 0.9, 0.92, 0.94, 0.96, 0.98], True),
        ([*ALONE[:6], 0.92, 0.94, 0.96, 0.98], False),
    ],
    ids=["half have a neighbour", "fewer have"],
)
def test_exchanges_need_neighbours_for_half_of_the_contexts(belief, tested):
    """One act and one state among ten: signs misjudge their product, and exchanges are limited."""
    action, truth = np.zeros(10, dtype=int), np.zeros(10, dtype=int)
    action[2], truth[7] = 1, 1
    result = residual_covariance_test(np.array(belief), action, truth, n_draws=99, rng=0)
    assert result.settings["null_distribution"] == "exchange of contexts"
    assert math.isnan(result.pvalue) is not tested
    lack = "most contexts have no neighbour of similar belief to be compared with"
    assert (lack in result.reason) is not tested


def test_means_of_noisy_reports_move_less_and_are_no_test():
    """Beside the test only where reports scatter; a rational agent that reports with noise."""
    agent = AGENTS["rational"].with_parameters(report_noise=0.2)
    runs = simulate(agent, n_contexts=300, n_reps=5, rng=1)
    rows = analyze(runs, checks=["residual_covariance"], rng=1).results.set_index("check")
    means = rows.loc["residual_covariance:context_means"]
    assert rows.loc["residual_covariance", "low"] > 0
    assert abs(means["statistic"]) < 0.5 * rows.loc["residual_covariance", "statistic"]
    assert (means["outcome"], rows["n_tests"].max()) == ("estimate", 1)
    assert "is not exact" in means["verdict"]
    exact = simulate("rational", n_contexts=40, n_reps=2, rng=1)
    assert list(analyze(exact, checks=["residual_covariance"], rng=1).results["check"]) == [
        "residual_covariance"
    ]


def test_means_over_single_rows_are_the_rows():
    runs = simulate("leaky", n_contexts=80, n_reps=1, rng=2).dropna(subset="action")
    arrays = runs["p"], runs["action"], runs["theta"]
    shares = pd.get_dummies(runs["action"]).astype(float)
    of_means = residual_covariance_of_means(*arrays, context=runs["context"], n_draws=99, rng=3)
    order = np.argsort(runs["context"].to_numpy(), kind="stable")
    alone = residual_covariance_test(
        *(values.iloc[order] for values in (arrays[0], shares, arrays[2])), n_draws=99, rng=3
    )
    assert of_means.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert of_means.pvalue is None


def test_what_is_estimated_depends_on_no_seed_and_no_order():
    """The curve that is chosen decides what is estimated: a seed once turned .11 into -.14."""
    runs = coherence.simulate("rational", n_contexts=60, n_reps=3, rng=1)
    rows = runs[runs["action"].notna()]

    def tested(rows, rng):
        return coherence.residual_covariance_test(
            rows["p"], rows["action"], rows["theta"], context=rows["context"], rng=rng
        )

    first = tested(rows, 0)
    shuffled = rows.sample(frac=1, random_state=0)
    for other in (*(tested(rows, seed) for seed in range(1, 6)), tested(shuffled, 0)):
        assert other.unit == first.unit
        assert other.statistic == pytest.approx(first.statistic, rel=1e-9)
        assert other.reason == first.reason
        # Random signs alone move the p-value.
        assert other.pvalue == pytest.approx(first.pvalue, abs=0.03)
