"""cmi_test: reproducible, invariant, honest about degenerate input, and able to see a leak."""

import math
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import mutual_info_score

from coherence import AGENTS, InputError, cmi_test, simulate
from coherence.checks.cmi import CHECK
from coherence.statistics.cmi_statistics import calibrated
from coherence.statistics.conditioning import gather_conditioning
from coherence.statistics.information import BinnedCounts
from coherence.statistics.information_interval import centred_information
from coherence.statistics.knn import conditional_information
from coherence.statistics.knn_general import general_information
from coherence.statistics.resample import exchanged_states


def arrays(name="rational", seed=1, n_contexts=60, n_reps=3, **changes):
    from coherence import AGENTS

    agent = AGENTS[name].with_parameters(**changes)
    runs = simulate(
        agent, n_contexts=n_contexts, n_reps=n_reps, prompts=["standard"], iterated=False, rng=seed
    )
    return (
        runs["p"].to_numpy(),
        runs["action"].to_numpy(),
        runs["theta"].to_numpy(),
        runs["context"].to_numpy(),
    )


def test_flags_the_leaky_agent_and_not_the_rational_one():
    belief, action, truth, context = arrays("leaky", n_contexts=200, n_reps=5)
    assert cmi_test(belief, action, truth, context=context, rng=1).pvalue == 0.0001
    belief, action, truth, context = arrays("rational", n_contexts=200, n_reps=5)
    assert cmi_test(belief, action, truth, context=context, rng=1).pvalue > 0.05


def test_details_relate_as_they_say():
    result = cmi_test(*arrays()[:3], context=arrays()[3], n_permutations=99, rng=0)
    nats = result.details.set_index("quantity")["nats"]
    assert nats["excess information"] == pytest.approx(
        nats["nearest-neighbour estimate"] - nats["mean of permuted estimates"], abs=1e-15
    )
    assert result.statistic == pytest.approx(
        nats["information, jackknifed in belief bins"]
        - nats["mean of permuted information in bins"],
        abs=1e-15,
    )
    assert nats["centred information in bins"] == pytest.approx(result.statistic, abs=1e-15)
    assert result.interval.high > result.statistic


def test_same_seed_same_result_and_labels_do_not_matter():
    belief, action, truth, context = arrays()
    first = cmi_test(belief, action, truth, context=context, n_permutations=99, rng=7)
    renamed = cmi_test(
        belief,
        [f"do {a}" for a in action],
        np.where(truth == 1, "b", "a"),
        context=context,
        n_permutations=99,
        rng=7,
    )
    assert (first.statistic, first.pvalue, first.interval) == (
        renamed.statistic,
        renamed.pvalue,
        renamed.interval,
    )


def test_contexts_matter():
    """True null, taste shared within contexts: ignoring contexts rejects far too often, naming them
    does not (4 of 20 has chance .003)."""
    rejected = {"named": 0, "ignored": 0}
    for seed in range(20):
        belief, action, truth, context = arrays(seed=seed, n_contexts=80, n_reps=8, taste=2.0)
        rejected["named"] += (
            cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0).pvalue
            <= 0.05
        )
        rejected["ignored"] += (
            cmi_test(belief, action, truth, n_permutations=99, rng=0).pvalue <= 0.05
        )
    assert rejected["named"] <= 4
    assert rejected["ignored"] >= 8


def test_published_procedure_reports_raw_estimate_and_row_interval():
    belief, action, truth, context = arrays()
    result = cmi_test(
        belief, action, truth, context=context, published=True, n_bootstraps=50, rng=0
    )
    ours = cmi_test(belief, action, truth, context=context, n_permutations=9, rng=0)
    assert result.pvalue is None
    assert (
        result.statistic == ours.details.set_index("quantity")["nats"]["nearest-neighbour estimate"]
    )
    assert "rows" in result.interval.method


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"action": "yes"}, "only one action was seen ('yes')"),
        ({"truth": 1}, "truth is constant (1)"),
    ],
)
def test_degenerate_input_is_undefined_with_a_reason(change, reason):
    belief, action, truth, context = arrays()
    columns = {"belief": belief, "action": action, "truth": truth}
    for name, value in change.items():
        columns[name] = np.full(len(belief), value)
    result = cmi_test(**columns, context=context, rng=0)
    assert math.isnan(result.statistic)
    assert math.isnan(result.pvalue)
    assert result.reason == reason


def test_too_few_contexts_are_undefined():
    belief, action, truth, context = arrays(n_contexts=9)
    assert cmi_test(belief, action, truth, context=context).reason == "9 contexts are fewer than 10"


def test_contexts_without_neighbours_are_undefined():
    """Ten contexts .1 apart: there is nothing to exchange, so no p-value may appear."""
    belief = np.repeat(np.arange(10) / 9, 4)
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.permutation([0, 1] * 5), 4)
    result = cmi_test(
        belief, rng.integers(0, 2, 40), truth, context=np.repeat(np.arange(10), 4), rng=0
    )
    assert math.isnan(result.pvalue)
    assert "similar belief" in result.reason


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ([0.1, 85.0], ["a", "b"], [0, 1]),
            r"belief must hold probabilities in \[0, 1\]; 1 of 2 values do not, "
            "the first is 85 at position 1",
        ),
        (
            ([0.1, np.nan], ["a", "b"], [0, 1]),
            "the first is nan at position 1. Drop missing answers first",
        ),
        (
            ([0.1, 0.2], ["a", None], [0, 1]),
            "action must not be missing; 1 of 2 values are, the first at position 1",
        ),
        (
            ([0.1, 0.2], ["a"], [0, 1]),
            "action must have one value per row of belief; received 1 values for 2 rows",
        ),
        (([[0.1, 0.2, 0.6]] * 4, ["a", "b"] * 2, [0, 1] * 2), "rows of belief must sum to 1"),
    ],
)
def test_wrong_input_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        cmi_test(*arguments)


def test_truth_must_not_vary_within_a_context():
    with pytest.raises(
        InputError,
        match="truth must be constant within a context; in context 'x' it is 0 and, "
        "at position 1, 1",
    ):
        cmi_test([0.1, 0.2, 0.3], ["a", "b", "a"], [0, 1, 1], context=["x", "x", "y"], k=1)


def several_states(seed, n_contexts=150, n_reps=4, signal=0.0):
    """Softmax choice among three actions by beliefs over three states, taste by context; `signal`
    leaks the state into what is acted on."""
    rng = np.random.default_rng(seed)
    belief = rng.dirichlet([1, 1, 1], n_contexts)
    truth = (rng.random(n_contexts)[:, None] > belief.cumsum(axis=1)[:, :2]).sum(axis=1)
    utility = 6 * (belief + signal * np.eye(3)[truth]) + rng.normal(size=(n_contexts, 3))
    context = np.repeat(np.arange(n_contexts), n_reps)
    action = np.argmax(utility[context] + rng.gumbel(size=(context.size, 3)), axis=1)
    return belief[context], action, truth[context], context


def test_beliefs_over_three_states():
    belief, action, truth, context = several_states(0)
    null = cmi_test(belief, action, truth, context=context, n_permutations=199, rng=0)
    belief, action, truth, context = several_states(0, signal=0.4)
    leak = cmi_test(belief, action, truth, context=context, n_permutations=199, rng=0)
    assert null.pvalue > 0.05
    assert leak.pvalue == 0.005
    assert leak.interval.low > 0
    nats = leak.details.set_index("quantity")["nats"]
    assert leak.statistic == nats["centred information in bins"]
    assert (
        leak.statistic
        == nats["information, jackknifed in belief bins"]
        - nats["mean of permuted information in bins"]
    )
    exact = general_information(belief, np.zeros(len(belief), dtype=int), action, truth, 3)
    assert leak.details.set_index("quantity")["nats"][
        "nearest-neighbour estimate"
    ] == pytest.approx(exact, abs=1e-12)
    assert leak.details["nats"].notna().all()


@pytest.mark.lengthy
def test_wide_bins_are_centred():
    """Within bins of several beliefs the belief itself ties action to truth: counts in such bins
    alone average .015 under this null, against blocks .001."""
    results = [
        cmi_test(*draw[:3], context=draw[3], n_permutations=30, rng=0)
        for draw in (several_states(seed) for seed in range(24))
    ]
    assert abs(np.mean([result.statistic for result in results])) < 0.006
    assert sum(result.interval.low > 0 for result in results) <= 2


def test_two_columns_are_one_belief():
    belief, action, truth, context = arrays()
    one = cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0)
    two = cmi_test(
        np.stack([1 - belief, belief], axis=1),
        action,
        truth,
        context=context,
        n_permutations=99,
        rng=0,
    )
    assert (one.statistic, one.pvalue) == (two.statistic, two.pvalue)


def test_many_rows_use_bins_and_still_estimate(monkeypatch):
    monkeypatch.setattr("coherence.statistics.cmi_problem.TABLE_ROWS", 100)
    belief, action, truth, context = several_states(0, signal=0.5)
    result = cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0)
    nats = result.details.set_index("quantity")["nats"]
    assert result.settings["k_test"] == "binned"
    assert result.pvalue == 0.01
    assert nats["statistic in bins"] == pytest.approx(
        nats["plug-in information in belief bins"], abs=1e-12
    )
    assert "nearest-neighbour statistic" not in nats
    # What is counted in bins has no neighbours; what is searched has three.
    neighbours = result.details.set_index("quantity")["neighbours"]
    searched = ("nearest-neighbour estimate", "mean of permuted estimates", "excess information")
    assert neighbours.dropna().to_dict() == dict.fromkeys(searched, 3)
    assert (
        nats.notna().all()
    )  # permutations without an estimate of their own are left out of its mean


def confounded(seed, n_contexts=200, n_reps=4):
    """A feature moves truth and choice beyond the belief: independent given belief and feature,
    dependent given belief alone."""
    rng = np.random.default_rng(seed)
    belief, feature, word = (
        rng.random(n_contexts),
        rng.normal(size=n_contexts),
        rng.choice(["low", "high"], n_contexts),
    )
    push = 1.5 * feature + np.where(word == "high", 1.0, -1.0)
    truth = (rng.random(n_contexts) < 1 / (1 + np.exp(-(3 * (belief - 0.5) + push)))).astype(int)
    context = np.repeat(np.arange(n_contexts), n_reps)
    action = (
        rng.random(context.size) < 1 / (1 + np.exp(-(3 * (belief - 0.5) + push)))[context]
    ).astype(int)
    features = pd.DataFrame({"feature": feature, "word": word}).iloc[context].reset_index(drop=True)
    return belief[context], action, truth[context], context, features


def test_features_explain_what_they_carry():
    belief, action, truth, context, features = confounded(1)
    assert (
        cmi_test(belief, action, truth, context=context, n_permutations=199, rng=0).pvalue <= 0.02
    )
    given = cmi_test(
        belief, action, truth, context=context, condition_on=features, n_permutations=199, rng=0
    )
    assert given.pvalue > 0.05
    assert given.settings["numeric_features"] == ("feature",)
    assert given.settings["discrete_features"] == ("word",)
    assert "belief, features" in given.null


def test_a_leak_beyond_features_is_found():
    belief, action, truth, context, features = confounded(2)
    leaky = np.where(np.random.default_rng(0).random(truth.size) < 0.4, truth, action)
    assert (
        cmi_test(
            belief, leaky, truth, context=context, condition_on=features, n_permutations=199, rng=0
        ).pvalue
        <= 0.01
    )


def test_unit_of_a_feature_does_not_matter():
    belief, action, truth, context, features = confounded(3, n_contexts=80)
    results = [
        cmi_test(
            belief, action, truth, context=context, condition_on=frame, n_permutations=99, rng=0
        )
        for frame in (features, features.assign(feature=1000 * features["feature"] + 7))
    ]
    assert results[0].pvalue == results[1].pvalue
    assert results[0].statistic == pytest.approx(results[1].statistic, abs=1e-12)


def test_features_that_set_every_context_apart_are_undefined():
    belief, action, truth, context, _ = confounded(4, n_contexts=60)
    result = cmi_test(
        belief,
        action,
        truth,
        context=context,
        condition_on=[f"case {number}" for number in context],
        rng=0,
    )
    assert math.isnan(result.pvalue)
    assert (
        result.reason == "only 0 of 60 contexts have a neighbour of similar belief and features "
        "to be exchanged with"
    )


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros(3), "condition_on must have one row per row of belief; received 3 rows for 180"),
        (
            np.full(180, np.nan),
            "condition_on must hold finite numbers; 180 of 180 values of 'feature 1' are not, "
            "the first at position 0",
        ),
        (np.zeros((180, 0)), "condition_on must hold at least one feature"),
        (np.zeros((180, 1, 1)), "condition_on must have shape"),
        ([None] + ["a"] * 179, "feature 'feature 1' of condition_on must not be missing"),
    ],
)
def test_wrong_features_are_refused(features, message):
    belief, action, truth, context = arrays()
    with pytest.raises(InputError, match=message):
        cmi_test(belief, action, truth, context=context, condition_on=features)


def test_constant_features_change_nothing():
    rng = np.random.default_rng(0)
    context = np.repeat(np.arange(10), 3)
    given = gather_conditioning(rng.random(30), np.full((30, 1), 0.1), context, 10)
    assert (given.continuous[:, 1] == 0).all()
    assert (given.stratum == 0).all()


def test_calibration_equals_scikit_learn():
    rng = np.random.default_rng(5)
    belief = np.round(rng.random(300), 2)
    truth = (rng.random(300) < belief**2).astype(int)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(belief, truth).predict(belief)
    assert calibrated(belief, truth) == pytest.approx(fitted, abs=1e-12)


def test_isotonic_estimate_uses_calibrated_beliefs():
    belief, action, truth, context = arrays()
    raw = cmi_test(belief, action, truth, context=context, n_permutations=49, rng=0)
    result = cmi_test(
        belief, action, truth, context=context, isotonic=True, n_permutations=49, rng=0
    )
    by_hand = cmi_test(
        calibrated(belief, truth),
        action,
        truth,
        context=context,
        n_permutations=1,
        published=True,
        n_bootstraps=2,
        rng=0,
    )
    assert result.settings["isotonic"] is True
    assert "isotonic" not in raw.settings
    assert result.details["nats"][4] == by_hand.statistic
    assert result.details["nats"][4] != raw.details["nats"][4]
    assert result.statistic == raw.statistic


def test_isotonic_survives_any_increasing_distortion():
    """Squared beliefs calibrate to the same values: the published estimate and its interval must
    not move."""
    belief, action, truth, context = arrays()
    first, second = (
        cmi_test(
            stated,
            action,
            truth,
            context=context,
            isotonic=True,
            published=True,
            n_bootstraps=30,
            rng=0,
        )
        for stated in (belief, belief**2)
    )
    assert (first.statistic, first.interval) == (second.statistic, second.interval)


def test_isotonic_must_know_which_state_the_belief_is_in():
    """Calibrated as a belief in the other state, it would be made constant."""
    belief, action, truth, context = arrays()
    hit = np.where(truth == 1, "hit", "miss")
    options = {"context": context, "n_permutations": 49, "rng": 0}
    plain = cmi_test(belief, action, truth, isotonic=True, **options)
    named = cmi_test(belief, action, hit, isotonic=True, positive="hit", **options)
    assert named.details.equals(plain.details)
    assert cmi_test(belief, action, hit, **options).pvalue > 0
    with pytest.raises(InputError, match="positive='hit' or positive='miss'"):
        cmi_test(belief, action, hit, isotonic=True, **options)


def test_isotonic_needs_two_states():
    belief, action, truth, context = several_states(0, n_contexts=20)
    with pytest.raises(
        InputError, match="isotonic=True calibrates the belief in one of two states"
    ):
        cmi_test(belief, action, truth, context=context, isotonic=True)


def test_few_arrangements_give_an_exact_pvalue():
    """Six contexts at one belief and six alone or alike: 20 arrangements, all of them counted by
    hand."""
    belief = np.array([0.5] * 6 + [0.8] * 6)
    truth = np.array([0, 0, 1, 0, 1, 1] + [1] * 6)
    action = np.array([0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1])
    result = cmi_test(belief, action, truth, k=2, n_permutations=99, rng=0)
    assert result.settings["exact"] is True
    levels = np.rint(belief * 1e9).astype(int)
    arranged = [
        np.array([*head, *truth[6:]]) for head in sorted(set(permutations(truth[:6].tolist())))
    ]
    assert len(arranged) == 20
    values = [statistics_by_hand(levels, action, states) for states in arranged]
    observed = statistics_by_hand(levels, action, truth)

    def at_least(one):
        """Share of arrangements as large in each statistic."""
        return np.mean([np.array(each) >= np.array(one) - 1e-12 for each in values], axis=0)

    alone = result.details.dropna(subset="pvalue")
    assert alone["nats"].tolist() == pytest.approx(observed, abs=1e-12)
    assert alone["pvalue"].tolist() == at_least(observed).tolist()
    scores = [at_least(one) ** -0.5 @ [3, 1, 2, 1, 1] for one in values]
    score = at_least(observed) ** -0.5 @ [3, 1, 2, 1, 1]
    assert result.pvalue == np.mean(np.array(scores) >= score - 1e-12)


def statistics_by_hand(levels, action, states):
    """Two beliefs that are the two blocks, bins and halves."""
    six = slice(0, 6), slice(6, 12)
    in_bins = sum(mutual_info_score(action[part], states[part]) for part in six) / 2
    throughout = along = 0.0
    for a in (0, 1):
        for t in (0, 1):
            expected = sum((action[p] == a).mean() * (states[p] == t).mean() for p in six) / 2
            share = ((action == a) & (states == t)).mean()
            throughout += share * math.log(share / expected) if share else 0.0
            lift = expected / ((action == a).mean() * (states == t).mean())
            along += (share - expected) * math.log(lift)
    near = conditional_information(levels, action, states, 2)
    return along, in_bins, in_bins, throughout, near


def test_exchanges_that_change_nothing_are_undefined():
    belief = np.repeat([0.2, 0.8], 10)
    result = cmi_test(belief, np.tile([0, 1], 10), np.repeat([0, 1], 10), rng=0)
    assert math.isnan(result.pvalue)
    assert "exchanging them changes nothing" in result.reason


def greedy(seed, n_contexts, n_reps, grid, slip=0.0, signal=0.0):
    """Deterministic choices by a belief on a grid, with slips; the state is drawn from the belief.

    `signal` moves the belief acted on towards the state.
    """
    rng = np.random.default_rng([31, seed])
    belief = np.round(np.round(rng.random(n_contexts) / grid) * grid, 10)
    state = (rng.random(n_contexts) < belief).astype(int)
    context = np.repeat(np.arange(n_contexts), n_reps)
    action = np.digitize(belief + signal * (state - 0.5), [0.4, 0.6])[context]
    slipped = rng.random(context.size) < slip
    action = np.where(slipped, rng.integers(0, 3, context.size), action)
    return belief[context], action, state[context], context


@pytest.mark.parametrize(
    "design", [(200, 5, 0.05), (200, 5, 0.05, 0.03), (500, 1, 0.01, 0.05)], ids=str
)
def test_intervals_hold_a_true_zero_of_greedy_choices(design):
    """Before, two of five excluded it where choices slip, with p-values up to .99 beside them.

    At a coverage of .95, four of twenty misses have chance .016; a bias of the size of the
    interval misses in most.
    """
    missed = 0
    for seed in range(20):
        belief, action, truth, context = greedy(seed, *design)
        result = cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0)
        if result.interval is None:
            assert result.statistic == 0
            assert "all choose alike" in result.reason
        else:
            missed += not result.interval.low <= 1e-12
            assert not (result.interval.low > 1e-12 and result.pvalue > 0.5)
    assert missed <= 3


def test_what_slips_hide_is_estimated_and_covered():
    """Exact information of the design, summed over the grid; 13 of 20 has chance 1e-5 at .95."""
    beliefs, weights = np.arange(21) / 20, np.array([0.5] + [1.0] * 19 + [0.5]) / 20
    exact = 0.0
    for belief, weight in zip(beliefs, weights, strict=True):
        share = np.full((2, 3), 0.03 / 3)
        for state in (0, 1):
            acted_on = belief + (0.2 + 1e-9) * (state - 0.5)
            share[state, np.digitize(acted_on, [0.4, 0.6])] += 0.97
        mixed = (1 - belief) * share[0] + belief * share[1]
        for chance, row in ((1 - belief, share[0]), (belief, share[1])):
            exact += weight * chance * (row * np.log(row / mixed)).sum()
    results = []
    for seed in range(20):
        belief, action, truth, context = greedy(seed, 200, 5, 0.05, 0.03, signal=0.2 + 1e-9)
        results.append(cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0))
    assert np.mean([result.statistic for result in results]) == pytest.approx(exact, rel=0.1)
    assert sum(r.interval.low <= exact <= r.interval.high for r in results) >= 14


def leaning(seed, effect):
    """Three options at 200 beliefs; the state moves their shares as `effect` of the belief says."""
    rng = np.random.default_rng([32, seed])
    belief = np.round(rng.random(200) * 20) / 20
    truth = (rng.random(200) < belief).astype(int)
    moved = np.array([effect(b) for b in belief]) * (truth[:, None] - 0.5)
    share = 1 / 3 + moved
    context = np.repeat(np.arange(200), 5)
    action = (rng.random(1000)[:, None] > share.cumsum(axis=1)[context][:, :2]).sum(axis=1)
    return belief[context], action, truth[context], context


@pytest.mark.parametrize(
    ("effect", "seen"),
    [
        (lambda b: np.array([-0.2, 0.0, 0.2]) * (1 if b > 0.5 else -1), "statistic in halves"),
        (lambda b: np.array([0.05, -0.1, 0.05]), "statistic throughout"),
        (lambda b: np.array([-0.3, 0.0, 0.3]) * (-1) ** round(b * 20), "statistic in bins"),
    ],
    ids=["opposite sign above and below", "in the spread alone", "another sign at each belief"],
)
def test_dependence_that_neighbours_average_away_is_found(effect, seen):
    """Nearest neighbours alone find fewer."""
    found, alone, partner = 0, 0, 0
    for seed in range(8):
        belief, action, truth, context = leaning(seed, effect)
        result = cmi_test(belief, action, truth, context=context, n_permutations=499, rng=0)
        pvalue = result.details.set_index("quantity")["pvalue"]
        found += result.pvalue <= 0.05
        alone += pvalue["nearest-neighbour statistic"] <= 0.05
        partner += pvalue[seen] <= 0.05
    assert found >= 6
    assert partner >= 6
    assert alone < found


def test_neighbours_must_be_fewer_than_rows():
    with pytest.raises(
        InputError, match="k must be below the number of rows; received k=12 for 12 rows"
    ):
        cmi_test(np.linspace(0, 1, 12), ["a", "b"] * 6, [0, 0, 1, 1] * 3, k=12)


def test_a_handful_of_rows_is_undefined_not_an_error():
    """One unit with two rows must not cost the report of the others."""
    assert cmi_test([0.1, 0.2], ["a", "b"], [0, 1]).reason == "2 contexts are fewer than 10"


def test_one_belief_throughout_leaves_plain_mutual_information():
    """Nothing is conditioned on then, and the permutation test is one of independence between
    action and truth."""
    rng = np.random.default_rng(3)
    truth = np.repeat(rng.integers(0, 2, 80), 4)
    context = np.repeat(np.arange(80), 4)
    told = np.where(rng.random(320) < 0.3 + 0.4 * truth, "yes", "no")
    result = cmi_test(np.full(320, 0.5), told, truth, context=context, rng=0)
    plug_in = result.details.set_index("quantity")["nats"]["plug-in information in belief bins"]
    assert plug_in == pytest.approx(mutual_info_score(told, truth), abs=1e-12)
    assert result.pvalue <= 0.01
    silent = np.where(rng.random(320) < 0.5, "yes", "no")
    assert cmi_test(np.full(320, 0.5), silent, truth, context=context, rng=0).pvalue > 0.05


def reported_design(seed, n_contexts, n_reps, taste):
    """Beliefs on a .05 grid, three actions with utilities 6 (p - .6), 6 (.4 - p) and .5.

    The binary state is drawn from the belief; tastes N(0, `taste` squared) are shared by the rows
    of a context.
    """
    rng = np.random.default_rng([20, seed])
    belief = np.round(rng.random(n_contexts) * 20) / 20
    truth = (rng.random(n_contexts) < belief).astype(int)
    context = np.repeat(np.arange(n_contexts), n_reps)
    tastes = rng.normal(size=(n_contexts, 3)) * taste
    action = AGENTS["rational"].choose(belief[context], truth[context], tastes[context], rng)
    return belief[context], action, truth[context], context


def test_bare_estimates_under_a_true_null():
    """Independent rows: Mesner-Shalizi -.012 nats and plug-in +.017 on average."""
    nearest, plug_in = [], []
    for seed in range(60):
        belief, action, truth, context = reported_design(seed, 1000, 1, 0.0)
        details = cmi_test(
            belief, action, truth, context=context, n_permutations=1, rng=0
        ).details.set_index("quantity")["nats"]
        nearest.append(details["nearest-neighbour estimate"])
        plug_in.append(details["plug-in information in belief bins"])
    assert np.mean(nearest) == pytest.approx(-0.012, abs=0.002)
    assert np.mean(plug_in) == pytest.approx(0.017, abs=0.002)


def test_interval_is_that_of_fifty_exchanges_spread_evenly():
    """Of 99 exchanges every second one counts, from the first to the last.

    At each of two beliefs the four combinations of action and state are equally frequent, so that
    the jackknife's error is far below the spread.
    """
    belief = np.repeat([0.3, 0.7], 40)
    action, truth = np.tile([0, 0, 1, 1], 20), np.tile([0, 1], 40)
    result = cmi_test(belief, action, truth, n_permutations=99, rng=0)
    blocks = np.repeat([0, 1], 40)
    (exchanged,) = exchanged_states(blocks, truth, 99, np.random.default_rng(0))
    counts = BinnedCounts(blocks, blocks, np.arange(80), np.eye(2)[action], 2)
    plug_ins = counts.divergences(exchanged).in_bins
    expected = centred_information(counts, truth, exchanged[::2], plug_ins, most=math.log(2))
    assert len(exchanged[::2]) == 50
    assert result.statistic == pytest.approx(expected.effect, abs=1e-15)
    assert result.interval == expected.interval
    assert result.interval.high >= stats.t.ppf(0.975, 79) * np.std(
        [counts.estimate(states).corrected for states in exchanged[::2]]
    )


@pytest.mark.slow
def test_a_sure_rejection_survives_a_correction_over_many_tests():
    """Of 999 exchanges the least p-value is 1/1000: Holm over 51 tests could never reject."""
    belief, action, truth, context = arrays("leaky", n_contexts=200, n_reps=5)
    few = cmi_test(belief, action, truth, context=context, n_permutations=998, rng=1)
    usual = cmi_test(belief, action, truth, context=context, rng=1)
    assert few.pvalue == 1 / 999
    assert usual.pvalue * 240 < 0.05
    assert usual.settings["n_permutations"] == 9999
    # Effect and interval are those of the first draws, whatever the p-value is.
    again = cmi_test(belief, action, truth, context=context, rng=1)
    assert (again.statistic, again.interval) == (usual.statistic, usual.interval)
    unsure = cmi_test(*arrays("rational", n_contexts=200, n_reps=5)[:3], context=context, rng=1)
    assert unsure.settings["n_permutations"] == 999


@pytest.mark.parametrize(("signal", "fewest", "most"), [(0.0, 0, 3), (0.15, 1, 12), (0.5, 10, 12)])
def test_an_interval_above_zero_stands_beside_a_rejection_alone(signal, fewest, most):
    """And where there is one, it stays within what two states can tell."""
    above = 0
    for seed in range(12):
        belief, action, truth, context = greedy(seed, 60, 3, 0.01, 0.05, signal=signal)
        result = cmi_test(belief, action, truth, context=context, n_permutations=99, rng=0)
        assert 0 <= result.interval.low <= result.interval.high <= math.log(2)
        assert result.interval.low == 0 or result.pvalue <= 0.05
        above += result.interval.low > 0
    assert fewest <= above <= most


def test_information_of_all_that_two_states_can_tell_ends_the_interval():
    """Actions are the states: log 2 of them, estimated without error."""
    truth = np.tile([0, 1], 40)
    result = cmi_test(np.full(80, 0.5), np.array(["a", "b", "c"])[truth], truth, rng=0)
    assert result.pvalue == 0.0001
    assert result.interval.high == math.log(2)
    assert result.interval.low > 0.6


def test_statistic_of_the_test_has_its_own_neighbours():
    """The estimate looks at one neighbour, the test at .15 of thirteen rows, which is two.

    All 20 arrangements of the six contexts at .5 are listed, so that both means are by hand.
    """
    belief = np.array([0.5] * 6 + [0.8] * 7)
    truth = np.array([0, 0, 1, 0, 1, 1] + [1] * 7)
    action = np.array([0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0])
    result = cmi_test(belief, action, truth, k=1, n_permutations=99, rng=0)
    levels = np.rint(belief * 1e9).astype(int)
    nats = result.details.set_index("quantity")["nats"]
    arranged = [
        np.array([*head, *truth[6:]]) for head in sorted(set(permutations(truth[:6].tolist())))
    ]
    for k, observed, mean in (
        (1, "nearest-neighbour estimate", "mean of permuted estimates"),
        (2, "nearest-neighbour statistic", "nearest-neighbour statistic, mean of permuted"),
    ):
        by_hand = [conditional_information(levels, action, states, k) for states in arranged]
        assert nats[observed] == pytest.approx(conditional_information(levels, action, truth, k))
        assert nats[mean] == pytest.approx(np.mean(by_hand))
    assert nats["mean of permuted estimates"] != pytest.approx(
        nats["nearest-neighbour statistic, mean of permuted"]
    )
    assert result.settings["k_test"] == 2
    neighbours = result.details.set_index("quantity")["neighbours"]
    assert neighbours[
        ["nearest-neighbour statistic", "nearest-neighbour statistic, mean of permuted"]
    ].tolist() == [2, 2]


def test_one_neighbour_one_exchange_and_two_resamples_are_the_fewest():
    belief, action, truth, context = arrays(n_contexts=12, n_reps=1)
    few = {"k": 1, "n_permutations": 1, "n_bootstraps": 2}
    result = cmi_test(belief, action, truth, context=context, rng=0, **few)
    assert (result.settings["k"], result.settings["n_permutations"]) == (1, 1)
    for name, least in few.items():
        with pytest.raises(InputError, match=f"{name} must be a whole number of at least {least}"):
            cmi_test(belief, action, truth, context=context, **{name: least - 1})


def test_three_neighbours_and_999_exchanges_unless_told_otherwise():
    """Other defaults would change every number of an analysis."""
    belief, action, truth, context = arrays(n_contexts=20, n_reps=1)
    settings = cmi_test(belief, action, truth, context=context, rng=0).settings
    assert (settings["k"], settings["n_permutations"], settings["published"]) == (3, 999, False)
    published = cmi_test(belief, action, truth, context=context, published=True, rng=0)
    assert published.settings["n_bootstraps"] == 500


@pytest.mark.parametrize("published", [False, True])
def test_a_table_is_tested_with_its_contexts(planned, published):
    runs = simulate("rational", n_contexts=12, n_reps=2, rng=0)
    notes, (call,) = planned(CHECK, runs, published=published)
    assert (notes, call.n_dropped, call.draws) == ([], 0, True)
    result = call.function(n_bootstraps=2, rng=0)
    assert (result.n_rows, result.n_contexts) == (24, 12)
    assert (result.pvalue is None) is published
