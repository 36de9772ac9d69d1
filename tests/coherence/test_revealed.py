import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coherence.batteries.revealed.answer_scores import score_stated, score_wagers
from coherence.batteries.revealed.belief_scores import (
    comparison_table,
    score_beliefs,
    summarise_scores,
)
from coherence.batteries.revealed.distances import (
    belief_distance,
    order_preference,
    previous_influence,
    stated_error,
    symmetric_kl,
)
from coherence.batteries.revealed.influences import order_preferences, previous_influences
from coherence.errors import InputError

# "Do large language models exhibit cognitive dissonance?", appendix C: choice between two options,
# single. Eleven models each, in its order.
TWO_CHOICES = {
    "base": (
        (0.42, 0.41, 0.46, 0.41, 0.42, 0.43, 0.39, 0.41, 0.32, 0.46, 0.38),
        (0.85, 0.82, 0.92, 0.83, 0.85, 0.86, 0.79, 0.83, 0.64, 0.93, 0.76),
        (1.06, 0.95, 1.43, 0.99, 1.06, 1.14, 0.84, 0.99, 0.48, 1.50, 0.76),
    ),
    "instruct": (
        (0.21, 0.41, 0.49, 0.46, 0.50, 0.47, 0.34, 0.44, 0.32, 0.49, 0.35),
        (0.41, 0.82, 0.97, 0.92, 1.00, 0.95, 0.67, 0.88, 0.64, 0.99, 0.70),
        (0.18, 0.95, 2.07, 1.43, 4.00, 1.72, 0.55, 1.21, 0.48, 2.60, 0.62),
    ),
}
# The same for four options: largest difference and divergence.
FOUR_CHOICES = (
    (0.45, 0.48, 0.61, 0.44, 0.54, 0.57, 0.32, 0.55, 0.35, 0.65, 0.34),
    (0.97, 1.20, 1.82, 0.94, 1.34, 1.50, 0.53, 1.46, 0.76, 2.28, 0.59),
)
HALF = 0.005 + 1e-9  # of the last digit of a published cell

distributions = st.lists(st.floats(0.001, 1), min_size=2, max_size=12).map(
    lambda weights: np.array(weights) / np.sum(weights)
)


@pytest.mark.parametrize("kind", TWO_CHOICES)
def test_published_cells_of_two_choices(kind):
    for chebyshev, l1, divergence in zip(*TWO_CHOICES[kind], strict=True):
        # Two options: the L1 distance, known to half a digit, fixes the belief up to the label.
        low, high = (
            belief_distance([0.5, 0.5], [0.5 + x, 0.5 - x])
            for x in ((l1 - HALF) / 2, min((l1 + HALF) / 2, 0.5))
        )
        assert low.chebyshev - HALF <= chebyshev <= high.chebyshev + HALF
        assert low.symmetric_kl - HALF <= divergence <= high.symmetric_kl + HALF
        # The half-sum, which some call by the same name, does not fit; a belief that may be a point
        # mass says nothing about it.
        assert (
            l1 == 1.00
            or not low.symmetric_kl / 2 - HALF <= divergence <= high.symmetric_kl / 2 + HALF
        )


def test_published_cells_of_four_choices_keep_the_lower_bound():
    # Merging the options that are not the favourite cannot raise a divergence, so the belief in two
    # parts bounds the published cell from below.
    for chebyshev, divergence in zip(*FOUR_CHOICES, strict=True):
        merged = symmetric_kl([0.25, 0.75], [0.25 + chebyshev - HALF, 0.75 - chebyshev + HALF])
        assert merged <= divergence + HALF < 2 * merged


def test_distances_by_hand():
    distance = belief_distance([0.5, 0.5, 0, 0], [0.4, 0.2, 0.3, 0.1])
    assert distance.chebyshev == pytest.approx(0.3)
    assert distance.l1 == pytest.approx(0.1 + 0.3 + 0.3 + 0.1)
    assert distance.leaked_mass == pytest.approx(0.4)
    # On the possible outcomes the belief is (2/3, 1/3).
    assert distance.symmetric_kl == pytest.approx(
        (2 / 3 - 1 / 2) * math.log(4 / 3) + (1 / 3 - 1 / 2) * math.log(2 / 3)
    )
    # A point mass on the first outcome is .5 and 1 away.
    assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((0.6, 0.8))
    assert distance.first_excess == pytest.approx(-0.1)


@pytest.mark.parametrize("n", [2, 6, 12])
def test_a_point_mass_has_relative_distance_one(n):
    certain = np.eye(n)[0]
    distance = belief_distance(np.full(n, 1 / n), certain)
    assert distance.chebyshev == pytest.approx(
        1 - 1 / n
    )  # not comparable between numbers of outcomes
    assert (distance.chebyshev_relative, distance.l1_relative) == pytest.approx((1, 1))
    assert distance.symmetric_kl == math.inf


def test_what_is_undefined_is_missing():
    one_outcome = belief_distance([1, 0], [0.7, 0.3])
    assert math.isnan(one_outcome.chebyshev_relative)
    assert math.isnan(one_outcome.l1_relative)
    assert (
        one_outcome.symmetric_kl == 0
    )  # nothing to divide on the only possible outcome; the rest leaked
    assert one_outcome.leaked_mass == pytest.approx(0.3)
    assert math.isnan(symmetric_kl([1, 0], [0, 1]))


@given(distributions, st.randoms(use_true_random=False))
def test_invariances(belief, random):
    truth = np.roll(belief, 1)
    distance = belief_distance(truth, belief)
    order = list(range(len(belief)))
    random.shuffle(order)
    shuffled = belief_distance(truth[order], belief[order])
    for name in ("chebyshev", "l1", "symmetric_kl", "leaked_mass"):
        assert getattr(shuffled, name) == pytest.approx(getattr(distance, name), abs=1e-12)
    assert belief_distance(belief, truth).symmetric_kl == pytest.approx(
        distance.symmetric_kl, abs=1e-12
    )
    assert distance.chebyshev <= distance.l1 / 2 + 1e-12
    assert belief_distance(truth, truth).l1 == 0


@pytest.mark.parametrize(
    ("truth", "belief", "match"),
    [
        ([0.5, 0.5], [0.5, 0.6], "belief must sum to 1; it sums to 1.1"),
        ([0.5, 0.5], [1.5, -0.5], "position 0 is 1.5"),
        ([0.5, 0.5], [math.nan, 1], "probabilities in"),
        ([0.5, 0.5], [1.0], "one value per outcome; received 1 for 2"),
        ([[0.5, 0.5]], [0.5, 0.5], "shape"),
        (["a", "b"], [0.5, 0.5], "no numbers"),
    ],
)
def test_wrong_input_is_refused(truth, belief, match):
    with pytest.raises(InputError, match=match):
        belief_distance(truth, belief)


def test_position_and_label_are_told_apart():
    # The first option gets .2 more for its place, the label .1 for itself.
    assert vars(order_preference(0.5, 0.8, 0.4)) == pytest.approx({"position": 0.2, "label": 0.1})
    assert vars(order_preference(0.75, 0.75, 0.75)) == {"position": 0, "label": 0}
    with pytest.raises(InputError, match="named_second"):
        order_preference(0.5, 0.5, 2)


def test_influence_of_an_earlier_result():
    influence = previous_influence([0.25] * 4, [0.55, 0.15, 0.15, 0.15], 0)
    assert (influence.distance, influence.pull) == pytest.approx((0.3, 0.3))
    assert math.isnan(previous_influence([0.5, 0.5], [0.5, 0.5], None).pull)
    with pytest.raises(InputError, match="below 2"):
        previous_influence([0.5, 0.5], [0.5, 0.5], 2)


def test_stated_error():
    # Three quarters for who knows nothing, as the published .75 of models that answer by chance or
    # by place.
    assert stated_error(np.full((4, 4), 0.2), range(4)) == pytest.approx(0.75)
    always_a = np.tile([1, 0, 0, 0], (4, 1))
    assert stated_error(always_a, range(4)) == pytest.approx(0.75)
    assert stated_error(np.eye(4), range(4)) == 0
    assert math.isnan(stated_error([[0, 0], [1, 0]], [0, 0]))
    with pytest.raises(InputError, match="from 0 to 1"):
        stated_error([[0.5, 0.5]], [2])


def beliefs(
    setting,
    wording,
    masses,
    truth,
    *,
    source="m",
    previous="",
    baseline="",
    pair="",
    beginnings=None,
):
    n = len(masses)
    columns = {
        "source": source, "scenario": "dice", "variant": "single", "group": "g", "setting": setting, "wording": wording, "position": range(n),
        "outcome": [str(k + 1) for k in range(n)], "truth": truth, "mass": masses, "mass_beginning": beginnings or [math.nan] * n,
        "previous": previous, "shift": 0, "baseline": baseline, "pair": pair,
    }  # fmt: skip
    return pd.DataFrame(columns)


def test_scores_are_of_renormalised_beliefs():
    table = beliefs("s", "w", [0.3, 0.1], [0.5, 0.5], beginnings=[0.7, 0.1])
    (row,) = score_beliefs(table.sample(frac=1, random_state=1)).to_dict("records")
    assert row["answer_mass"] == pytest.approx(0.4)
    assert row["chebyshev"] == pytest.approx(0.25)
    assert row["first_excess"] == pytest.approx(0.25)
    assert row["first_excess_beginning"] == pytest.approx(0.375)


def test_summary_has_the_spread_over_wordings():
    pieces = [
        beliefs(setting, wording, [0.5 + x, 0.5 - x], [0.5, 0.5])
        for setting in "st"
        for wording, x in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    ]
    pieces.append(beliefs("unread", "a", [0, 0], [0.5, 0.5]))
    summary = summarise_scores(score_beliefs(pd.concat(pieces))).set_index("metric")
    row = summary.loc["chebyshev"]
    assert (row["mean"], row["sd_wordings"]) == pytest.approx((0.2, 0.1))
    # t with two degrees of freedom, 4.3027; a distance is not below 0, an excess may be.
    reach = 4.3027 * 0.1 / math.sqrt(3)
    assert (row["low"], row["high"]) == pytest.approx((0, 0.2 + reach), abs=1e-4)
    assert summary.loc["first_excess", ["low", "high"]].tolist() == pytest.approx(
        [0.2 - reach, 0.2 + reach], abs=1e-4
    )
    assert (row["n_settings"], row["n_wordings"]) == (2, 3)
    assert summary.loc["answer_mass", "n_settings"] == 3


def test_intervals_of_a_summary_hold_nothing_impossible():
    """Two wordings that differ, for which the t interval alone is more than ten standard errors to either side."""
    pieces = [
        beliefs("s", wording, masses, [0.5, 0.5])
        for wording, masses in (("a", [0.9, 0.05]), ("b", [0.1, 0.1]))
    ]
    summary = summarise_scores(score_beliefs(pd.concat(pieces))).set_index("metric")
    assert summary.loc["answer_mass", ["low", "high"]].tolist() == [0, 1]
    assert summary.loc["chebyshev", ["low", "high"]].tolist() == [0, 1]
    assert summary.loc["l1", ["low", "high"]].tolist() == [0, 2]
    assert summary.loc["first_excess", ["low", "high"]].tolist() == [-1, 1]
    assert summary.loc["l1_relative", "low"] == 0
    assert summary.loc["l1_relative", "high"] > 1  # a belief may be further off than a point mass
    known = summary.dropna(subset="low")
    assert (known["low"] <= known["mean"]).all()
    assert (known["mean"] <= known["high"]).all()


def test_a_belief_that_was_not_read_is_no_answer_mass_of_zero():
    told = beliefs("s", "a", [0.6, 0.2], [0.5, 0.5])
    for masses in ([math.nan, math.nan], [0.4, math.nan]):
        both = score_beliefs(pd.concat([told, beliefs("t", "a", masses, [0.5, 0.5])])).set_index(
            "setting"
        )
        assert math.isnan(both.loc["t", "answer_mass"])
        row = summarise_scores(both.reset_index()).set_index("metric").loc["answer_mass"]
        assert (row["mean"], row["n_settings"]) == (pytest.approx(0.8), 1)
    # Read, and nothing found, is 0.
    assert score_beliefs(beliefs("s", "a", [0.0, 0.0], [0.5, 0.5]))["answer_mass"].item() == 0


def test_a_group_without_a_belief_stays_in_the_table():
    summary = summarise_scores(score_beliefs(beliefs("s", "w", [0.0, 0.0], [0.5, 0.5])))
    table = comparison_table(summary)
    assert list(table["metric"]) == ["chebyshev", "l1", "symmetric_kl"]
    assert table["m"].isna().all()
    assert (table["n_settings"] == 0).all()


def test_sources_stand_side_by_side_with_the_stated_error():
    both = pd.concat(
        [
            beliefs("s", "w", [0.6, 0.4], [0.5, 0.5], source="base"),
            beliefs("s", "w", [0.9, 0.1], [0.5, 0.5], source="instruct"),
        ]
    )
    rows = [
        {"source": "instruct", "scenario": "dice", "group": "g", "setting": "s", "rotation": rotation, "letter": letter, "correct": place == rotation,
         "mass": 0.4 if place == rotation else 0.1}
        for rotation in range(4) for place, letter in enumerate("ABCD")
    ]  # fmt: skip
    errors = score_stated(pd.DataFrame(rows))
    table = comparison_table(summarise_scores(score_beliefs(both)), errors).set_index("metric")
    assert table.loc[
        "chebyshev", ["base", "instruct", "instruct stated"]
    ].tolist() == pytest.approx([0.1, 0.4, 3 / 7])
    assert errors["answer_mass"].item() == pytest.approx(0.7)


def test_influence_is_measured_within_a_wording():
    table = pd.concat(
        [
            beliefs("base", "a", [0.5, 0.5], [0.5, 0.5]),
            beliefs("base", "b", [0.9, 0.1], [0.5, 0.5]),
            beliefs("later", "a", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="base"),
            beliefs("later", "b", [0.9, 0.1], [0.5, 0.5], previous="1", baseline="base"),
            beliefs("alone", "a", [0.9, 0.1], [0.5, 0.5], previous="1", baseline="not there"),
        ]
    )
    found = previous_influences(table).set_index("wording")
    assert found.loc[["a", "b"], "pull"].tolist() == pytest.approx([-0.3, 0])
    assert len(found) == 2


def test_orders_are_paired():
    first = beliefs("x", "a", [0.9, 0.1], [0.5, 0.5], pair="p")
    second = beliefs("y", "a", [0.3, 0.7], [0.5, 0.5], pair="p").assign(outcome=["2", "1"])
    lonely = beliefs("z", "a", [0.9, 0.1], [0.5, 0.5], pair="q")
    (row,) = order_preferences(pd.concat([first, second, lonely])).to_dict("records")
    assert (row["named_first"], row["named_second"]) == pytest.approx((0.9, 0.7))
    assert (row["position"], row["label"]) == pytest.approx((0.1, 0.3))


def test_a_missing_column_is_named():
    with pytest.raises(InputError, match="column 'baseline'"):
        score_beliefs(beliefs("s", "w", [0.5, 0.5], [0.5, 0.5]).drop(columns="baseline"))


def test_figures_are_written(tmp_path):
    from coherence.batteries.revealed.figures import write_figures
    from coherence.batteries.revealed.plots import plot_outcomes, plot_previous

    table = pd.concat(
        [
            beliefs("dice/single/$a$", "a", [0.9, 0.1], [0.5, 0.5]),
            beliefs("dice/single/$a$", "b", [0.7, 0.3], [0.5, 0.5]),
            beliefs(
                "later", "a", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="dice/single/$a$"
            ).assign(variant="independent"),
        ]
    )
    written = write_figures(table, tmp_path)
    assert [path.name for path in written] == ["outcomes.png", "previous.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)

    from matplotlib.figure import Figure

    ax = plot_outcomes(table, "dice/single/$a$", Figure().add_subplot())
    heights = [bar.get_height() for bar in ax.patches]
    assert heights == pytest.approx([0.5, 0.5, 0.8, 0.2])  # the truth, and the mean of the wordings
    ax = plot_previous(table, "dice/single/$a$", "independent", Figure().add_subplot(), source="m")
    assert ax.lines[-1].get_ydata() == pytest.approx([0.2, 0.8])
    with pytest.raises(InputError, match="must be one of the table"):
        plot_outcomes(table, "elsewhere", Figure().add_subplot())


def test_figures_with_four_sources_and_long_names(tmp_path):
    """Breaks if a source without a belief, or with a name that is too long, spoils the figure of the others."""
    from PIL import Image

    from coherence.batteries.revealed.figures import write_figures
    from coherence.batteries.revealed.plots import plot_orders, plot_outcomes

    labels = ["Strongly disagree with $x", "Wholeheartedly agree"]
    tables = []
    for number in range(4):
        source = f"{number}-a-very-long-name-of-a-model-that-somebody-chose"
        for setting, order in (("x", labels), ("y", labels[::-1])):
            masses = [0.0, 0.0] if number == 3 else [0.6, 0.2]
            table = beliefs(
                f"preference/single/{setting}", "a", masses, [0.5, 0.5], source=source, pair="p"
            )
            tables.append(table.assign(outcome=order, scenario="preference"))
    both = pd.concat(tables, ignore_index=True)
    assert [path.name for path in write_figures(both, tmp_path)] == ["outcomes.png", "orders.png"]
    with Image.open(tmp_path / "orders.png") as image:
        assert image.size == (
            3 * 495,
            360,
        )  # three sources with a belief side by side, none for the fourth

    from matplotlib.figure import Figure

    ax = plot_outcomes(both, "preference/single/x", Figure().add_subplot())
    assert [text.get_text() for text in ax.texts] == ["no belief read of 3-a-very-long-name-…"]
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "Strongly\ndisagree with…",
        "Wholeheartedly\nagree",
    ]
    assert not any(text.get_parse_math() for text in [*ax.texts, *ax.get_xticklabels()])
    assert (
        max(bar.get_height() for bar in ax.patches) < ax.get_ylim()[1] * 0.85
    )  # the note stands above the bars
    ax = plot_orders(both, "p", Figure().add_subplot(), source=both["source"].iloc[0])
    assert sorted(bar.get_height() for bar in ax.patches) == pytest.approx([0.25, 0.25, 0.75, 0.75])


def test_a_side_without_a_belief_keeps_its_column(tmp_path):
    from coherence.batteries.revealed.figures import write_figures

    history = [
        beliefs("dice/single/b", "a", [0.5, 0.5], [0.5, 0.5]),
        beliefs(
            "later", "a", [0.2, 0.8], [0.5, 0.5], previous="1", baseline="dice/single/b"
        ).assign(variant="independent"),
    ]
    other = [history[0].assign(source="other")]  # asked about the single roll alone
    assert [path.name for path in write_figures(pd.concat([*history, *other]), tmp_path)] == [
        "outcomes.png",
        "previous.png",
    ]


def stated_rows(mass, *, source="m"):
    return pd.DataFrame(
        [
            {"source": source, "scenario": "dice", "group": "g", "setting": "s", "rotation": rotation, "letter": letter,
             "correct": place == rotation, "mass": mass}
            for rotation in range(4) for place, letter in enumerate("ABCD")
        ]
    )  # fmt: skip


def test_a_letter_without_a_probability_is_named_with_its_setting():
    rows = stated_rows(0.2)
    message = "stated answers of 'm' to 's' lack the probability of letter 'C' in rotation 1 .1 are missing.. Give one to every letter"
    hole = (rows["rotation"] == 1) & (rows["letter"] == "C")
    for faulty in (rows[~hole], rows.assign(mass=rows["mass"].mask(hole))):
        with pytest.raises(InputError, match=message):
            score_stated(faulty)


def test_text_warns_of_stated_answers_that_are_none():
    from coherence.batteries.revealed.text import render_stated

    both = pd.concat(
        [stated_rows(0.24, source="says letters"), stated_rows(0.001, source="does not")]
    )
    lines = render_stated(score_stated(both)).splitlines()
    assert lines[2].split() == ["dice:", "g", "1", "0.75", "0.96", "0.75", "0.004"]
    assert [line for line in lines if "no belief" in line] == [
        "does not: the probability that a stated answer is a letter at all is 0.004 (median). The errors are shares of that little, and no belief."
    ]


def test_text_on_bets():
    from coherence.batteries.revealed.text import render_bets

    table = pd.DataFrame(
        {"source": "m", "truth": [0.75, 0.25], "share": [1.0, math.nan], "answer_mass": [0.9, 0.0]}
    )
    text = render_bets(score_wagers(table))
    assert text.startswith(
        "m: takes 100% of 2 bets at even odds, and loses 0.00 points a bet against who knows the truth; 1 could not be read."
    )
    assert "0.45 (median): hardly its decisions" in text
    nothing = render_bets(score_wagers(table.assign(share=math.nan)))
    assert nothing.startswith("m: none of 2 bets could be read.")


def test_text_warns_of_wordings_that_scatter():
    from coherence.batteries.revealed.text import render_cautions

    runs = pd.DataFrame(
        {"task": "dice", "model": "m", "context": [0, 0, 1, 1], "prompt": ["a", "b"] * 2, "z": None}
    )
    assert render_cautions(runs.assign(p=[0.5, 0.52, 0.1, 0.12])) == ""
    # Variances of .02 and 0: their mean is the square of .1.
    assert "dice, m: wordings move the belief by 0.10" in render_cautions(
        runs.assign(p=[0.5, 0.7, 0.1, 0.1])
    )


def test_counts_of_settings_are_those_of_the_source_that_has_most():
    unread = beliefs("s", "w", [0.0, 0.0], [0.5, 0.5], source="first")
    read = beliefs("s", "w", [0.9, 0.1], [0.5, 0.5], source="second")
    table = comparison_table(summarise_scores(score_beliefs(pd.concat([unread, read]))))
    assert table["n_settings"].tolist() == [1, 1, 1]
    assert table["first"].isna().all()
