"""The mixing battery: golden numbers of the published scoring, equilibria, noise, intervals, bounds, independence, faults of a table.

Golden numbers are worked out by hand from the supplementary scoring system of the "failure to mix"
study (trapezoidal rule, ends extended with a constant rate, direction with a dead zone of .01);
each test breaks if the scoring departs from it.
"""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import InputError, SchemaError, monotone_choice_test, validate_runs
from coherence.batteries.mixing.answers import count_answers
from coherence.batteries.mixing.dependence import draw_dependence, flip_dependence
from coherence.batteries.mixing.design import (
    PARTS,
    equilibrium_shares,
    literal_shares,
    optimal_rates,
)
from coherence.batteries.mixing.equilibrium import mixed_equilibrium
from coherence.batteries.mixing.files import distinct_names, read_mixing_answers
from coherence.batteries.mixing.intervals import Estimate, score_interval
from coherence.batteries.mixing.measures import measures_of
from coherence.batteries.mixing.noise import (
    corrected_distance,
    expected_distance,
    shortfall,
    sum_distribution,
)
from coherence.batteries.mixing.runs import mixing_runs
from coherence.batteries.mixing.scoring import score_mixing
from coherence.batteries.mixing.simulated import MIXING_AGENTS, expected_answers, simulate_mixing

GRID = np.arange(21) / 20
TENTHS = np.arange(1, 10) / 10


def exact(experiment, p, shares, outcomes):
    """A table of exact rates; shares has one column per outcome."""
    rows = [
        (experiment, x, label, share)
        for x, own in zip(p, shares, strict=True)
        for label, share in zip(outcomes, own, strict=True)
    ]
    return pd.DataFrame(rows, columns=["experiment", "p", "answer", "probability"])


def binary(experiment, p, rate):
    rate = np.asarray(rate, dtype=float)
    return exact(experiment, p, np.stack([rate, 1 - rate], axis=1), PARTS[experiment].outcomes)


def measure(answers, name, column="published_loss"):
    rows = score_mixing(answers, n_resamples=100, rng=0).measures
    return float(rows.loc[rows["measure"] == name, column].iloc[0])


def experiment(answers, number, column="published"):
    rows = score_mixing(answers, n_resamples=100, rng=0).experiments
    return float(rows.loc[rows["experiment"] == number, column].iloc[0])


def step(p, at_half):
    return np.where(np.isclose(p, 0.5), at_half, p > 0.5).astype(float)


@pytest.mark.parametrize(
    ("rate", "golden"),
    [
        (GRID, 0.0),
        (step(GRID, 1.0), 1.0),
        (step(GRID, 0.5), 0.9),
        (np.full(21, 0.5), 1.0),
        (np.zeros(21), 2.0),
        (1 - GRID, 2.0),
        (1 - step(GRID, 1.0), 3.0),
    ],
    ids=[
        "perfect",
        "step",
        "step, half at .5",
        "constant .5",
        "constant 0",
        "1 - p",
        "reverse step",
    ],
)
def test_step_likeness_on_the_published_grid(rate, golden):
    assert measure(binary("flip", GRID, rate), "S") == pytest.approx(golden, abs=1e-12)
    assert experiment(binary("flip", GRID, rate), 1) == pytest.approx(
        max(0.0, 20 * (1 - golden)), abs=1e-9
    )


def test_tenths_and_direction():
    """Ends extended with constant rates: perfect .04, step 1; a step moves in one pair of eight, (1/8 + 1) / 2 = .5625."""
    assert measure(binary("reads", TENTHS, TENTHS), "S") == pytest.approx(0.04, abs=1e-12)
    assert measure(binary("reads", TENTHS, step(TENTHS, 1.0)), "S") == pytest.approx(1.0, abs=1e-12)
    assert 1 - measure(binary("pennies", TENTHS, step(TENTHS, 1.0)), "direction") == pytest.approx(
        0.5625
    )
    # The corrected area is taken over the tenths alone, and follows the equilibrium.
    assert measure(binary("reads", TENTHS, TENTHS), "S", "corrected_loss") == pytest.approx(
        0.0, abs=1e-12
    )
    assert measure(
        binary("reads", TENTHS, step(TENTHS, 1.0)), "S", "corrected_loss"
    ) == pytest.approx(1.0, abs=1e-12)
    assert 1 - measure(
        binary("positioning", TENTHS, 1 - step(TENTHS, 1.0)), "direction", "corrected_loss"
    ) == pytest.approx(0.5625)


def test_a_difference_inside_the_dead_zone_is_no_direction():
    """Rates that rise by .01 count as equal, by .011 as rising."""
    assert measure(binary("positioning", TENTHS, 0.5 + 0.01 * np.arange(9)), "direction") == 0.5
    assert measure(binary("positioning", TENTHS, 0.4 + 0.011 * np.arange(9)), "direction") == 0.0


@pytest.mark.parametrize(
    ("rates", "losses", "golden"),
    [
        # Rows: P(0) = .6, .5, ... 0. The most probable outcome; it is tied at P(0) = .4 and .2.
        ([0, 0, 1, 1, 1, 2, 2], (0.4048, 0.8333, 0.4048), 9.048),
        ([0, 0, (0.5, 0.5, 0), 1, (0, 0.5, 0.5), 2, 2], None, 11.852),
        ([0, 0, 0, 1, 2, 2, 2], None, 9.153),
        ([1] * 7, None, 7.619),
        ([(1 / 3, 1 / 3, 1 / 3)] * 7, None, 16.296),
    ],
    ids=["ties to 1", "ties split", "ties to 0 and 2", "always 1", "uniform"],
)
def test_three_outcomes(rates, losses, golden):
    shares = np.array([np.eye(3)[rate] if isinstance(rate, int) else rate for rate in rates])
    answers = exact("three_outcomes", PARTS["three_outcomes"].probabilities, shares, "012")
    assert experiment(answers, 3) == pytest.approx(golden, abs=5e-4)
    if losses:
        assert [measure(answers, f"S {i}") for i in range(3)] == pytest.approx(losses, abs=5e-5)


def test_words():
    """Always the first listed: position 0, preference 10. Always the same word: 10 (1 - 2.22 * .45) = .01, but corrected it keeps its position."""
    first = expected_answers("first")
    words = first[first["experiment"] == "words"]
    assert experiment(words, 5) == pytest.approx(10.0)
    assert experiment(words, 5, "corrected") == pytest.approx(10.0)
    same = words.assign(
        probability=(words["answer"] == words["item"].str.split("/").str[0]).astype(float)
    )
    assert experiment(same, 5) == pytest.approx(0.01, abs=1e-9)
    assert measure(same, "position", "corrected") == pytest.approx(10.0)
    assert measure(same, "preference", "corrected") == pytest.approx(0.0)


def test_attainable_ceiling_with_a_hundred_answers():
    """From exact binomial sums: E[S] = .123, words 19.15, the whole battery 91.14, of which a player of the equilibria gets 80.73."""
    scores = score_mixing(simulate_mixing("literal", n_draws=100, rng=0), n_resamples=100, rng=0)
    ceiling = scores.experiments.set_index("experiment")["ceiling"]
    assert 1 - ceiling[1] / 20 == pytest.approx(0.123, abs=0.005)
    assert ceiling[5] == pytest.approx(19.15, abs=0.005)
    assert ceiling[0] == pytest.approx(91.14, abs=0.005)
    player = scores.experiments.set_index("experiment")["equilibrium"]
    assert player[0] == pytest.approx(80.73, abs=0.005)
    # The two differ in the games alone.
    assert player.drop([0, 4]).tolist() == pytest.approx(ceiling.drop([0, 4]).tolist())
    published = [score_mixing(simulate_mixing(name, rng=seed), n_resamples=100, rng=0).experiments["published"].iloc[-1]
                 for name in ("literal", "ideal") for seed in range(4)]  # fmt: skip
    # The average of four sessions, whose standard error is about .5.
    assert np.mean(published[:4]) == pytest.approx(91.14, abs=2.0)
    assert np.mean(published[4:]) == pytest.approx(80.7, abs=2.0)


def test_the_reference_of_an_ideal_sampler():
    """Reproduces the reference total of 82.7 for an ideal sampler with 100 answers, with E[S] = .123 and 19.15 for words, under one reading of it.

    Matching pennies at its solved equilibrium (no points for S, .237 points for direction),
    positioning by the larger payoff every time (luxury from p = .5 on: direction .5625, 2.25
    points), everything else at the rates asked for; with the games' roles exchanged the total is
    the same.
    """
    larger = step(TENTHS, 1.0)

    def published(pennies, positioning):
        table = expected_answers("literal")
        for name, first, rate in (
            ("pennies", "heads", pennies),
            ("positioning", "luxury", positioning),
        ):
            own = table["experiment"] == name
            chosen = table.loc[own, "p"].map(dict(zip(TENTHS.round(9), rate, strict=True)))
            table.loc[own, "probability"] = chosen.where(
                table.loc[own, "answer"] == first, 1 - chosen
            )
        (parts,) = count_answers(table).values()
        points, losses = {}, {}
        for name, counts in parts.items():
            for one in measures_of(counts):
                loss = one.published.expected(counts.shares, np.full(len(counts.conditions), 100.0))
                losses[name, one.name] = loss
                points[name, one.name] = one.points * min(max(1 - loss, 0.0), 1.0)
        return points, losses

    points, losses = published(1 - TENTHS, larger)
    assert losses["flip", "S"] == pytest.approx(0.123, abs=5e-4)
    assert points["words", "position"] + points["words", "preference"] == pytest.approx(
        19.15, abs=5e-3
    )
    assert points["pennies", "S"] == 0
    assert points["pennies", "direction"] == pytest.approx(0.237, abs=5e-4)
    assert points["positioning", "direction"] == pytest.approx(2.25, abs=1e-12)
    assert math.fsum(points.values()) == pytest.approx(82.74, abs=0.005)
    exchanged, _ = published(larger, 1 - TENTHS)
    assert exchanged["pennies", "S"] == 0
    assert math.fsum(exchanged.values()) == pytest.approx(82.74, abs=0.005)


def test_exact_rates_of_the_agents():
    """The perfect agent reaches the ceiling of exact rates, which is 99.52 for the extended ends; corrected, equilibria count."""
    totals = {
        name: score_mixing(expected_answers(name), n_resamples=100, rng=0).experiments.iloc[-1]
        for name in MIXING_AGENTS
    }
    assert totals["literal"]["published"] == pytest.approx(totals["literal"]["ceiling"], abs=1e-9)
    assert totals["literal"]["ceiling"] == pytest.approx(99.52, abs=1e-9)
    assert totals["ideal"]["corrected"] == pytest.approx(100)
    # 0.48 of the literal agent's points lie at the ends, 12 of its points in the games.
    assert totals["literal"]["corrected"] == pytest.approx(88)
    published = {name: totals[name]["published"] for name in ("argmax", "first", "uniform")}
    # argmax: 2 + 2 + 11.852 + (1.6 + 0 + 1.5 + 1.5) + 20; first: 0 + 0 + 6.032 + 4 + 10; uniform: 0
    # + 0 + 16.296 + 4 + 20.
    assert published == pytest.approx(
        {"argmax": 40.452, "first": 20.032, "uniform": 40.296}, abs=5e-4
    )
    assert all(row["low"] == row["high"] == row["corrected"] for row in totals.values())


def test_equilibria():
    """Matching pennies of the textbook, games of the battery, and games without a mixed equilibrium."""
    assert mixed_equilibrium([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]) == (0.5, 0.5)
    # Battle of the sexes: (2, 1) and (1, 2); each plays the favourite two times in three.
    assert mixed_equilibrium([[2, 0], [0, 1]], [[1, 0], [0, 2]]) == pytest.approx((2 / 3, 1 / 3))
    for name in ("pennies", "positioning"):
        np.testing.assert_allclose(optimal_rates(name, TENTHS), 1 - TENTHS, atol=1e-12)
    with pytest.raises(InputError, match="no equilibrium has both players mix"):
        mixed_equilibrium([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    with pytest.raises(
        InputError, match=r"row must hold finite payoffs of shape \(2, 2\); received shape \(3,\)"
    ):
        mixed_equilibrium([1, 2, 3], [[0, 0], [0, 0]])


@pytest.mark.parametrize("seed", range(5))
def test_nobody_gains_by_leaving_an_equilibrium(seed):
    rng = np.random.default_rng(seed)
    row = rng.random((2, 2)) + 2 * np.eye(2)
    column = rng.random((2, 2)) - 2 * np.eye(2)
    x, y = mixed_equilibrium(row, column)
    np.testing.assert_allclose(*(row @ [y, 1 - y]))
    np.testing.assert_allclose(*([x, 1 - x] @ column))


def test_expected_distance_is_the_binomial_sum():
    p, n = 0.3, 17
    k = np.arange(n + 1)
    golden = stats.binom.pmf(k, n, p) @ np.abs(k / n - p)
    assert expected_distance([(1.0, np.array([1 - p, p]), n)], p) == pytest.approx(
        golden, abs=1e-14
    )
    # Half of two means with different numbers of draws, against all their pairs.
    j = np.arange(6)
    joint = np.outer(stats.binom.pmf(k, n, p), stats.binom.pmf(j, 5, 0.6))
    golden = (joint * np.maximum(np.abs((k[:, None] / n + j / 5) / 2 - 0.5) - 0.05, 0)).sum()
    assert expected_distance(
        [(0.5, np.array([1 - p, p]), n), (0.5, np.array([0.4, 0.6]), 5)], 0.5, 0.05
    ) == pytest.approx(golden, abs=1e-12)
    np.testing.assert_allclose(
        sum_distribution(np.array([0.25, 0.5, 0.25]), 7),
        stats.binom.pmf(np.arange(15), 14, 0.5),
        atol=1e-14,
    )


def test_the_corrected_distance_is_nearly_unbiased():
    """Quadrature over a standard normal error: no bias at 0 (the plain distance: .80), at most .33 anywhere, little far out."""
    true, noise = np.linspace(0, 6, 25), np.linspace(-9, 9, 6001)
    chance = stats.norm.pdf(noise) * (noise[1] - noise[0])
    bias = np.array(
        [corrected_distance(place + noise, np.ones_like(noise)) @ chance - place for place in true]
    )
    assert abs(bias[0]) < 1e-3
    assert np.abs(bias).max() < 0.33
    assert np.abs(bias[true >= 4]).max() < 0.07
    assert np.abs(noise) @ chance == pytest.approx(0.798, abs=0.001)


@pytest.mark.parametrize(
    ("agent", "n_draws"), [("ideal", 100), ("ideal", 20), ("steep", 100), ("uniform", 100)]
)
def test_corrected_step_likeness_in_samples(agent, n_draws):
    """The average of sixty sessions lies within three standard errors plus .02 of the truth; the published S of the ideal agent is off by .12."""
    expected = expected_answers(agent)
    rates = expected[expected["experiment"] == "flip"]
    chance = rates.loc[rates["answer"] == "1", "probability"].to_numpy()
    rng = np.random.default_rng(n_draws)
    # The sixty sessions are sixty models of one table.
    ones = rng.binomial(n_draws, chance, size=(60, chance.size))
    rows = [(str(session), "flip", p, label, n) for session in range(60) for p, one in zip(GRID, ones[session], strict=True)
            for label, n in (("1", one), ("0", n_draws - one))]  # fmt: skip
    table = pd.DataFrame(rows, columns=["model", "experiment", "p", "answer", "count"])
    found = score_mixing(table, n_resamples=200, rng=0).measures.to_dict("records")
    truth = score_mixing(rates, n_resamples=100, rng=0).measures.iloc[0]["corrected_loss"]
    corrected = np.array([row["corrected_loss"] for row in found])
    assert abs(corrected.mean() - truth) < 0.02 + 3 * corrected.std() / math.sqrt(60)
    if agent == "ideal":
        assert np.mean([row["published_loss"] for row in found]) > 0.115
    covered = sum(row["loss_low"] <= truth <= row["loss_high"] for row in found)
    assert covered >= stats.binom.ppf(0.001, 60, 0.95)


@pytest.mark.parametrize("agent", ["ideal", "steep", "argmax"])
def test_intervals_of_the_total_cover(agent):
    """Twelve sessions; fewer hits than the lowest one in a thousand of a binomial with .9 would show an interval that does not cover."""
    truth = (
        score_mixing(expected_answers(agent), n_resamples=100, rng=0)
        .experiments["corrected"]
        .to_numpy()
    )
    hits = np.zeros(6)
    for seed in range(12):
        rows = score_mixing(
            simulate_mixing(agent, n_draws=50, rng=seed), n_resamples=200, rng=seed
        ).experiments
        hits += (rows["low"].to_numpy() <= truth + 1e-9) & (rows["high"].to_numpy() >= truth - 1e-9)
    assert (hits >= stats.binom.ppf(0.001, 12, 0.9)).all()


def test_the_shortfall_makes_up_for_the_bias_whatever_the_truth():
    """By quadrature over what may be observed; nothing where there is no noise, and nothing to speak of far out."""
    noise = np.linspace(-9, 9, 1801)
    chance = stats.norm.pdf(noise) * (noise[1] - noise[0])
    true = np.linspace(0, 8, 33)
    seen = true[:, None] + noise
    bias = corrected_distance(seen, np.ones_like(seen)) @ chance - true
    made_up = shortfall(seen, np.ones_like(seen)) @ chance
    assert (made_up + bias >= -0.01).all()
    assert (made_up[true >= 4] < 0.03).all()
    assert shortfall(np.array([-2.6]), np.array([2.0]))[0] == pytest.approx(
        2 * shortfall(np.array([1.3]), np.ones(1))[0]
    )
    assert shortfall(np.array([0.0, 0.3, 8.0]), np.array([0.0, 0.0, 1.0])) == pytest.approx(
        [0, 0, 0], abs=1e-3
    )


def test_the_interval_of_a_sum_of_scores():
    """By hand, with resamples of a known spread: S beyond 1 is worth nothing however far; at 1 half of the estimates lie under the cap."""
    spread = np.array([-0.1, 0.1])  # standard deviation .1 sqrt(2), reach .277
    reach = 1.959963984540054 * 0.1 * math.sqrt(2)

    def one(loss, doubt=(0.0, 0.0), points=10.0):
        return Estimate(points, loss, loss + spread, doubt)

    assert score_interval([one(0.5)]) == pytest.approx((5 - 10 * reach, 5 + 10 * reach))
    assert score_interval([one(0.5, (0.1, 0.2))]) == pytest.approx(
        (5 - 10 * reach - 2, 5 + 10 * reach + 1)
    )
    assert score_interval([one(0.5), one(2.5)]) == pytest.approx((5 - 10 * reach, 5 + 10 * reach))
    # At and a little beyond the cap the upper end holds the whole reach; the lower one counts the
    # estimate as it is.
    assert score_interval([one(1.1)]) == pytest.approx((0, 10 * reach))
    assert score_interval([one(0.1), one(1.1)]) == pytest.approx((8 - 20 * reach, 9 + 20 * reach))
    # Chance above the points: the interval keeps its width below them.
    assert score_interval([one(-0.2)]) == pytest.approx((10 - 10 * reach, 10))
    # A loss that chance took below 0 is the lower end of its own interval.
    assert one(-0.2).interval == pytest.approx((-0.2, reach))
    assert one(0.1).interval == pytest.approx((0, 0.1 + reach))
    assert np.isnan(score_interval([one(0.5), one(math.nan)])).all()
    assert score_interval([Estimate(10.0, 0.3, np.array([0.3]), (0.0, 0.0))]) == (7, 7)


def test_unreadable_answers_leave_the_rates_and_come_back_as_bounds():
    """Of 100 answers at every p ten are refused: rates among the 90 are perfect, and the bounds hold every way to fill in the ten."""
    rows = [
        ("flip", p, label, "ok", n)
        for p in (0.0, 0.5, 1.0)
        for label, n in (("1", round(90 * p)), ("0", 90 - round(90 * p)))
    ]
    rows += [("flip", p, None, "refused", 10) for p in (0.0, 0.5, 1.0)]
    answers = pd.DataFrame(rows, columns=["experiment", "p", "answer", "status", "count"])
    scores = score_mixing(answers, n_resamples=100, rng=0)
    row = scores.experiments.iloc[0]
    assert row["published"] == 20
    assert row["refused"] == row["unread"] == pytest.approx(0.1)
    assert row["answers"] == 300
    filled = []
    for ones in np.ndindex(11, 11, 11):
        rate = (90 * np.array([0, 0.5, 1]) + ones) / 100
        filled.append(4 * np.trapezoid(np.abs(rate - [0, 0.5, 1]), [0, 0.5, 1]))
    assert row["best"] == pytest.approx(20 * (1 - min(filled)))
    assert row["worst"] == pytest.approx(20 * (1 - max(filled)))


@pytest.mark.parametrize("name", ["three_outcomes", "pennies", "two_flips", "words"])
def test_bounds_hold_however_unreadable_answers_are_filled_in(name):
    answers = simulate_mixing("steep", n_draws=12, rng=3)
    answers = answers[answers["experiment"] == name].reset_index(drop=True)
    rng = np.random.default_rng(4)
    lost = rng.random(len(answers)) < 0.15
    bounded = score_mixing(
        answers.assign(
            answer=answers["answer"].mask(lost), status=np.where(lost, "unparsed", "ok")
        ),
        n_resamples=100,
        rng=0,
    ).measures
    for _ in range(6):
        filled = answers.copy()
        outcomes = (
            filled["item"].str.split("/")
            if name == "words"
            else pd.Series([PARTS[name].outcomes] * len(filled))
        )
        filled.loc[lost, "answer"] = [rng.choice(list(own)) for own in outcomes[lost]]
        published = score_mixing(filled, n_resamples=100, rng=0).measures["published"]
        assert (published <= bounded["best"] + 1e-9).all()
        assert (published >= bounded["worst"] - 1e-9).all()


def test_refusals_have_a_share_and_a_band_in_tables_and_figures():
    """Of 10 answers at each p two are refused and one cannot be read; the band is what those three may have been, drawn where there is any."""
    figure_module = pytest.importorskip("matplotlib.figure")
    from coherence.batteries.mixing.plots import plot_rates, plot_words

    rows = [
        ("flip", p, label, status, n)
        for p in (0.25, 0.75)
        for label, status, n in (("1", "ok", 2), ("0", "ok", 5), (None, "refused", 2))
    ]
    rows += [("flip", p, None, "unparsed", 1) for p in (0.25, 0.75)]
    curves = score_mixing(
        pd.DataFrame(rows, columns=["experiment", "p", "answer", "status", "count"]),
        n_resamples=100,
        rng=0,
    ).curves
    assert curves["refused"].tolist() == pytest.approx([0.2, 0.2])
    assert curves["unread"].tolist() == pytest.approx([0.3, 0.3])
    assert curves["rate"].tolist() == pytest.approx([2 / 7, 2 / 7])
    assert curves["rate_least"].tolist() == pytest.approx([0.2, 0.2])
    assert curves["rate_most"].tolist() == pytest.approx([0.5, 0.5])

    def drawn(plot, table):
        ax = plot(table, figure_module.Figure().add_subplot())
        return ax, {artist.get_gid(): artist for artist in ax.get_children() if artist.get_gid()}

    ax, artists = drawn(plot_rates, curves)
    heights = artists["band-1"].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((0.2, 0.5))
    assert list(artists["refused"].get_ydata()) == pytest.approx([0.2, 0.2])
    assert {"if all were read", "refused"} <= {
        text.get_text() for text in ax.get_legend().get_texts()
    }

    answers = simulate_mixing("ideal", n_draws=4, rng=0)
    whole = score_mixing(answers, n_resamples=100, rng=0).curves
    assert (whole["rate_least"] == whole["rate"]).all()
    assert not {"band-1", "refused"} & set(drawn(plot_rates, whole[whole["part"] == "flip"])[1])
    # A condition with no readable answer has no rate, and a band from 0 to 1.
    lost = (
        (answers["experiment"] == "words")
        & (answers["item"] == answers["item"].iloc[-1])
        & (answers["order"] == "forward")
    )
    curves = score_mixing(
        answers.assign(status=np.where(lost, "refused", "ok")), n_resamples=100, rng=0
    ).curves
    words = curves[curves["part"] == "words"]
    empty = words[words["rate"].isna()]
    assert empty[["rate_least", "rate_most", "refused"]].to_numpy().tolist() == [[0, 1, 1]]
    ax, artists = drawn(plot_words, words)
    assert artists["band-forward"].get_segments()[0][:, 0].tolist() == [0, 1]
    assert "5% refused" in ax.get_xlabel()


def test_a_condition_without_a_readable_answer_leaves_its_score_undefined():
    answers = simulate_mixing("ideal", n_draws=5, rng=0)
    empty = (answers["experiment"] == "flip") & (answers["p"] == 0.5)
    scores = score_mixing(
        answers.assign(status=np.where(empty, "refused", "ok")), n_resamples=100, rng=0
    ).experiments.set_index("experiment")
    assert math.isnan(scores.loc[1, "published"])
    assert math.isnan(scores.loc[0, "corrected"])
    assert 0 <= scores.loc[1, "worst"] < scores.loc[1, "best"] <= 20
    assert scores.loc[2, "published"] > 0


def test_a_single_answer_shows_no_noise_to_take_out():
    """With one readable answer at one p the ideal sampler would be charged for all of its chance; exact rates need no second answer."""
    answers = simulate_mixing("ideal", n_draws=5, rng=0)
    middle = (answers["experiment"] == "flip") & (answers["p"] == 0.5)
    lost = middle & (answers.groupby("p").cumcount() > 0)
    for kept, single in ((answers[~lost], 1), (answers.assign(status=np.where(lost, "refused", "ok")), 1), (answers.groupby(
        ["experiment", "p", "item", "order"]).head(1), 98)):  # fmt: skip
        scores = score_mixing(kept, n_resamples=100, rng=0)
        row = scores.experiments.set_index("experiment").loc[1]
        assert np.isnan(row[["corrected", "low", "high"]].astype(float)).all()
        assert 0 <= row["published"] <= 20
        assert math.isnan(scores.experiments["corrected"].iloc[-1])
        assert sum(int(note.split(" for ")[1].split()[0]) for note in scores.notes) == single
        assert "ideal, one flip: no corrected score" in scores.notes[0]
    whole = score_mixing(answers, n_resamples=100, rng=0)
    assert (
        whole.notes == score_mixing(expected_answers("ideal"), n_resamples=100, rng=0).notes == ()
    )
    assert whole.experiments["corrected"].notna().all()
    pair = score_mixing(
        answers.groupby(["experiment", "p", "item", "order"]).head(2), n_resamples=100, rng=0
    )
    assert pair.experiments["corrected"].notna().all()


def test_corrected_losses_lie_in_their_intervals():
    tables = [
        simulate_mixing(name, n_draws=n, rng=n).assign(model=f"{name} {n}")
        for name in ("ideal", "steep", "first")
        for n in (2, 5, 100)
    ]
    measures = score_mixing(pd.concat(tables), n_resamples=100, rng=0).measures
    assert (measures["corrected_loss"] < 0).any()
    assert (measures["loss_low"] <= measures["corrected_loss"]).all()
    assert (measures["corrected_loss"] <= measures["loss_high"]).all()


def test_numbers_of_draws_may_be_text_and_values_of_p_need_not_be_equal_in_the_last_bit():
    answers = simulate_mixing("steep", n_draws=30, rng=0)
    flips = answers[answers["experiment"] == "flip"].sample(frac=1, random_state=0)
    rows = [score_mixing(table, n_resamples=100, rng=0).dependence for table in (
        flips, flips.assign(draw=flips["draw"].astype(str)), flips.assign(p=flips["p"] - 1e-12 * (flips["p"] > 0) * (flips["draw"] % 2)),
        flips.assign(p=flips["p"].astype(str)))]  # fmt: skip
    assert rows[0]["pairs"].item() == 21 * 29
    for row in rows[1:]:
        pd.testing.assert_frame_equal(rows[0], row)


def test_flips_given_the_first_agree_with_fisher_and_with_permutations():
    table = np.array([[12.0, 3.0, 5.0, 10.0]])
    observed, expected, pvalue = flip_dependence(table)
    assert observed == pytest.approx(22 / 30)
    assert expected == pytest.approx((17 * 15 + 13 * 15) / 900)
    # With equal margins on one side the hypergeometric is symmetric, where distance and probability
    # order tables alike.
    assert pvalue == pytest.approx(stats.fisher_exact(table.reshape(2, 2)).pvalue)
    strata = np.array([[4.0, 6.0, 7.0, 2.0], [10.0, 1.0, 3.0, 2.0], [1.0, 5.0, 4.0, 9.0]])
    rng, equal = np.random.default_rng(0), []
    pairs = [
        (np.repeat([0, 0, 1, 1], row.astype(int)), np.repeat([0, 1, 0, 1], row.astype(int)))
        for row in strata
    ]
    for _ in range(4000):
        equal.append(sum((first == rng.permutation(second)).sum() for first, second in pairs))
    observed, expected, pvalue = flip_dependence(strata)
    distance = abs(observed - expected) * strata.sum()
    permuted = np.mean(np.abs(np.array(equal) - expected * strata.sum()) >= distance - 1e-9)
    assert pvalue == pytest.approx(permuted, abs=0.03)
    assert np.mean(equal) == pytest.approx(expected * strata.sum(), abs=0.2)


def test_neighbouring_draws_agree_with_all_orders():
    from itertools import permutations

    sequence = [1, 1, 1, 0, 0, 1, 0]
    runs = np.array([1 + np.count_nonzero(np.diff(order)) for order in permutations(sequence)])
    distance = np.abs(runs - runs.mean())
    golden = np.mean(distance >= distance[0] - 1e-9)
    observed, expected, pvalue = draw_dependence([sequence, [1, 1, 1], [0]])
    assert pvalue == pytest.approx(golden)
    # Numbers of orders beyond the range of a float: two thousand answers in as many runs as are
    # expected.
    long = [0, 0, 1, 1] * 500
    assert draw_dependence([long])[2] == pytest.approx(1.0, abs=0.1)
    assert observed == pytest.approx((7 - 4 + 2) / 8)
    assert expected == pytest.approx((7 - runs.mean() + 2) / 8)


def test_tests_of_independence_find_an_alternating_model_and_keep_their_level():
    """Flips that are independent reject at .05 no more often than chance allows, in two hundred sessions."""
    rng = np.random.default_rng(5)
    shares = literal_shares("two_flips", GRID)
    seconds = [flip_dependence(rng.multinomial(20, shares).astype(float))[2] for _ in range(200)]
    neighbours = [
        draw_dependence([rng.binomial(1, p, 20).tolist() for p in GRID])[2] for _ in range(200)
    ]
    for pvalues in (seconds, neighbours):
        assert np.mean(np.array(pvalues) <= 0.05) <= stats.binom.ppf(0.999, 200, 0.05) / 200
    flips = simulate_mixing("ideal", n_draws=20, rng=1)
    opposite = flips["experiment"] == "two_flips"
    flips.loc[opposite, "answer"] = (
        flips.loc[opposite, "answer"].str[0].map({"0": "0 1", "1": "1 0"})
    )
    table = score_mixing(flips, n_resamples=100, rng=0).dependence.set_index("test")
    assert table.loc["second flip given the first", "observed"] == 0
    assert table.loc["second flip given the first", "pvalue"] < 1e-6
    # Rates that differ between conditions are no dependence: all answers of a condition are equal
    # here.
    equal = np.array([[100.0, 0, 0, 0], [0, 0, 0, 100.0]])
    assert flip_dependence(equal)[:2] == (1.0, 1.0)
    assert math.isnan(flip_dependence(equal)[2])
    assert all(math.isnan(value) for value in draw_dependence([]))
    assert all(math.isnan(value) for value in flip_dependence(np.zeros((1, 4))))


def test_counts_single_answers_and_orders_of_rows_agree():
    answers = simulate_mixing("steep", n_draws=10, rng=0)
    keys = ["model", "experiment", "p", "item", "order", "answer"]
    counted = answers.groupby(keys, as_index=False).size().rename(columns={"size": "count"})
    one, other, mixed = (
        score_mixing(table, n_resamples=100, rng=0).experiments
        for table in (answers, counted, answers.sample(frac=1, random_state=0))
    )
    pd.testing.assert_frame_equal(one, other)
    pd.testing.assert_frame_equal(one, mixed)


def test_the_leaderboard_ranks_by_the_corrected_total():
    answers = pd.concat(
        [simulate_mixing(name, n_draws=20, rng=0) for name in ("first", "ideal", "argmax")]
    )
    answers = pd.concat(
        [
            answers,
            answers[(answers["model"] == "ideal") & (answers["experiment"] == "flip")].assign(
                model="flips only"
            ),
        ]
    )
    board = score_mixing(answers, n_resamples=100, rng=0).leaderboard()
    assert board["model"].tolist() == ["ideal", "argmax", "first", "flips only"]
    assert board["rank"].tolist()[:3] == [1, 2, 3]
    assert math.isnan(board["corrected"].iloc[3])
    assert board["experiment_1"].notna().all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"experiment": "flips"}, "column 'experiment' must be one of flip, two_flips"),
        ({"p": 30}, "the first other value is 30.0 (row 0). Divide percentages by 100."),
        ({"p": None}, "column 'p' must hold probabilities in [0, 1]"),
        (
            {"answer": "heads"},
            "a readable 'answer' must be one of the outcomes of its experiment; the first other value is 'heads' (row 0)",
        ),
        ({"answer": None}, "a readable 'answer' must be one of the outcomes"),
        ({"status": "fine"}, "column 'status' must be ok, a repair"),
        ({"count": 1.5}, "column 'count' must hold whole numbers of at least 0"),
        ({"probability": 2.0}, "column 'probability' must lie in [0, 1]"),
        ({"probability": 0.5}, "must all have a 'probability', or none"),
        (
            {"experiment": "words", "item": "cat", "order": "forward"},
            "must name the two words of 'words' as 'first/second'",
        ),
        (
            {"experiment": "words", "item": "cat/dog", "order": "up", "answer": "cat"},
            "column 'order' must be forward or reverse",
        ),
        (
            {"experiment": "words", "item": "man/woman", "order": "forward", "answer": "woman!"},
            "must be one of the outcomes",
        ),
        (
            {"experiment": "pennies", "p": 1.0, "answer": "heads"},
            "the parameter of a game must lie strictly between 0 and 1",
        ),
        (
            {"experiment": "three_outcomes", "p": 0.7, "answer": "2"},
            "the probability of outcome 0 among three must be at most 0.6",
        ),
    ],
)
def test_faults_of_a_table_are_named(change, message):
    rows = {
        "experiment": "flip",
        "p": 0.2,
        "item": "",
        "order": "",
        "answer": "1",
        "status": "ok",
        "count": 1.0,
        "probability": None,
    }
    table = pd.DataFrame([rows | change, rows])
    with pytest.raises(SchemaError) as error:
        score_mixing(table)
    assert message in str(error.value)


def test_other_faults():
    with pytest.raises(
        SchemaError, match="column 'answer' is missing. Closest name found: 'answers'"
    ):
        score_mixing(pd.DataFrame({"experiment": ["flip"], "answers": ["1"]}))
    with pytest.raises(SchemaError, match="it has no rows"):
        score_mixing(pd.DataFrame({"experiment": [], "answer": []}))
    with pytest.raises(InputError, match="one flip need answers at two values of p"):
        score_mixing(pd.DataFrame({"experiment": ["flip"], "p": [0.5], "answer": ["1"]}))
    with pytest.raises(
        InputError,
        match="pairs of words must be asked in both orders; 1 are not, the first is 'cat/dog'",
    ):
        score_mixing(
            pd.DataFrame(
                {
                    "experiment": ["words"],
                    "item": ["cat/dog"],
                    "order": ["forward"],
                    "answer": ["dog"],
                }
            )
        )
    with pytest.raises(SchemaError, match="must sum to at most 1"):
        score_mixing(
            pd.DataFrame({"experiment": "flip", "p": 0.5, "answer": ["0", "1"], "probability": 0.7})
        )
    with pytest.raises(InputError, match="Closest name found: 'argmax'"):
        simulate_mixing("argmin")
    with pytest.raises(InputError, match="no such file"):
        read_mixing_answers("nowhere.csv")


def test_several_files_are_joined(tmp_path):
    """Scores are those of each file alone; a file that names no model goes by its own name, with the folders that tell it from others."""
    first, second = (
        simulate_mixing("steep", n_draws=4, rng=0),
        simulate_mixing("first", n_draws=4, rng=0),
    )
    first.to_parquet(tmp_path / "first.parquet")
    counted = (
        second.groupby(["experiment", "p", "item", "order", "answer"], as_index=False)
        .size()
        .rename(columns={"size": "count"})
    )
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        counted.to_csv(tmp_path / folder / "run 1.csv", index=False)
    joined = read_mixing_answers(
        tmp_path / "first.parquet", tmp_path / "a" / "run 1.csv", tmp_path / "b" / "run 1.csv"
    )
    scores = score_mixing(joined, n_resamples=100, rng=0)
    assert scores.leaderboard()["model"].tolist() == ["steep", "a/run 1", "b/run 1"]
    for model, alone in (("steep", first), ("a/run 1", second)):
        golden = score_mixing(alone, n_resamples=100, rng=0).experiments
        own = scores.experiments[scores.experiments["model"] == model]
        assert own["published"].tolist() == pytest.approx(golden["published"].tolist())
        assert own["answers"].tolist() == golden["answers"].tolist()
    # Counts of one model do not cost the others their test of neighbouring draws.
    assert scores.dependence.set_index("model").loc["steep", "test"].tolist() == [
        "second flip given the first",
        "flip given the draw before",
    ]
    # One model in two files: other experiments, or other draws.
    flip, early = first["experiment"] == "flip", first["draw"] < 2
    parts = [flip, ~flip & early, ~flip & ~early]
    for number, part in enumerate(parts):
        first[part].to_parquet(tmp_path / f"{number}.parquet")
    whole = score_mixing(
        read_mixing_answers(*(tmp_path / f"{number}.parquet" for number in range(3))),
        n_resamples=100,
        rng=0,
    )
    pd.testing.assert_frame_equal(
        whole.experiments, score_mixing(first, n_resamples=100, rng=0).experiments
    )


def test_answers_that_would_count_twice_are_refused(tmp_path):
    answers = simulate_mixing("steep", n_draws=3, rng=0)
    answers.to_parquet(tmp_path / "one.parquet")
    answers[answers["draw"] > 1].to_csv(tmp_path / "two.csv", index=False)
    with pytest.raises(
        InputError,
        match=r"one.parquet and .*two.csv hold the same 98 draws of model 'steep'; the first: experiment flip, p 0, draw 2\. ",
    ):
        read_mixing_answers(tmp_path / "one.parquet", tmp_path / "two.csv")
    answers.drop(columns="draw").to_csv(tmp_path / "three.csv", index=False)
    expected_answers("steep").to_parquet(tmp_path / "four.parquet")
    for other in ("three.csv", "four.parquet"):
        with pytest.raises(
            InputError,
            match="answers of model 'steep' to the same conditions, and no draw numbers tell all of them apart",
        ):
            read_mixing_answers(tmp_path / "one.parquet", tmp_path / other)
    with pytest.raises(InputError, match="one.parquet is named twice"):
        read_mixing_answers(tmp_path / "one.parquet", tmp_path / "." / "one.parquet")
    pd.DataFrame({"answer": ["1"]}).to_csv(tmp_path / "five.csv", index=False)
    with pytest.raises(SchemaError, match="column 'experiment' must be one of"):
        score_mixing(read_mixing_answers(tmp_path / "one.parquet", tmp_path / "five.csv"))


def test_names_are_as_long_as_needed(tmp_path):
    paths = [tmp_path / name for name in ("a/x/last", "b/x/last", "b/y/last")]
    assert distinct_names(paths) == ["a/x/last", "b/x/last", "b/y/last"]
    assert distinct_names(paths[1:]) == ["x/last", "y/last"]
    assert distinct_names(paths[:1]) == ["last"]


def test_answers_survive_a_file(tmp_path):
    """A CSV must not turn "0 1" into a number, nor the answer 0 into a float."""
    answers = simulate_mixing("steep", n_draws=4, rng=0)
    answers.loc[5, ["answer", "status"]] = [None, "refused"]
    answers.to_csv(tmp_path / "answers.csv", index=False)
    answers.to_parquet(tmp_path / "answers.parquet")
    scores = [
        score_mixing(read_mixing_answers(tmp_path / f"answers.{ending}"), n_resamples=100, rng=0)
        for ending in ("csv", "parquet")
    ]
    pd.testing.assert_frame_equal(scores[0].experiments, scores[1].experiments)
    assert scores[0].experiments["published"].notna().all()
    numbers = pd.DataFrame({"experiment": "flip", "p": [0.0, 1.0], "answer": [0.0, 1.0]})
    assert measure(numbers, "S") == 0


def test_the_runs_table_carries_the_direction_and_no_empty_column():
    answers = simulate_mixing("steep", n_draws=20, rng=0)
    answers.loc[0, ["answer", "status"]] = [None, "refused"]
    runs = mixing_runs(answers)
    validate_runs(runs)
    assert list(runs.columns) == ["task", "model", "context", "rep", "p", "action", "status"]
    assert not runs.isna().all().any()
    assert len(runs) == 20 * (21 + 27)
    assert runs["action"].isna().sum() == 1
    games = runs[runs["context"] == "pennies p=0.1"]
    assert games["p"].unique().tolist() == [0.9]
    flips = runs[(runs["task"] == "mixing:flip") & runs["action"].notna()]
    assert (
        monotone_choice_test(
            flips["p"], flips["action"], pair=("1", "0"), context=flips["context"], rng=0
        ).pvalue
        > 0.2
    )
    assert len(mixing_runs(expected_answers("ideal"))) == 0
    # Without one readable answer there would be no action in the table, and nothing to check.
    assert len(mixing_runs(answers.assign(answer=None, status="refused"))) == 0


def test_design():
    """98 conditions; faultless rates are probabilities; the equilibrium is the best rate in games and p elsewhere."""
    assert (
        sum(len(part.probabilities) for part in PARTS.values() if part.name != "words") + 22 == 98
    )
    for name, part in PARTS.items():
        p = np.array(part.probabilities)
        shares = literal_shares(name, p)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert (shares >= -1e-12).all()
        np.testing.assert_allclose(
            optimal_rates(name, p), 1 - p if name in ("pennies", "positioning") else p
        )
        np.testing.assert_allclose(
            equilibrium_shares(name, p),
            shares[:, ::-1] if name in ("pennies", "positioning") else shares,
            atol=1e-12,
        )
