"""Both ways of asking on one scale: breaks if a distance, its spread or the sentence is another."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from coherence import InputError
from coherence.batteries.revealed.scores import ALL, compare_misses
from coherence.batteries.revealed.tables import render_misses

OPTIONS = ("1/4", "1/2", "3/4", "1/8")  # the first is right


def stated_answer(setting, masses, *, outcome="1", group="g", source="m", options=OPTIONS):
    """Four rotations in which every option gets the mass given for it."""
    rows = [
        (source, "dice", group, setting, outcome, rotation, letter, options[k], k == 0, masses[k])
        for rotation in range(4)
        for letter, k in zip("ABCD", [(p - rotation) % 4 for p in range(4)], strict=True)
    ]
    names = ["source", "scenario", "group", "setting", "outcome", "rotation", "letter", "option"]
    return pd.DataFrame(rows, columns=[*names, "correct", "mass"])


@pytest.fixture
def table(beliefs):
    truth = [0.25, 0.75]
    return pd.concat(
        [
            beliefs("s", "a", [0.2, 0.2], truth),  # .5 for the outcome "1": .25 off
            beliefs("s", "b", [0.35, 0.65], truth),  # .1 off
            beliefs("t", "a", [0.1, 0.3], truth),  # exact
            beliefs("t", "b", [0.0, 1.0], truth),  # .25 off
        ],
        ignore_index=True,
    )


def test_distances_are_those_of_a_hand_calculation(table):
    """Stated, s: half on the truth and half on 1/2, .125 off; t: all on 3/4, .5 off."""
    stated = pd.concat([stated_answer("s", [0.1, 0.1, 0, 0]), stated_answer("t", [0, 0, 0.02, 0])])
    (row, total) = compare_misses(table, stated).to_dict("records")
    assert (row["group"], total["group"]) == ("g", ALL)
    wordings = np.array([(0.25 + 0) / 2, (0.1 + 0.25) / 2])
    reach = stats.t.ppf(0.975, 1) * wordings.std(ddof=1) / math.sqrt(2)
    assert row["revealed_miss"] == pytest.approx(wordings.mean())
    assert row["revealed_low"] == pytest.approx(max(wordings.mean() - reach, 0))
    assert row["stated_miss"] == pytest.approx((0.125 + 0.5) / 2)
    assert row["stated_least"] == row["stated_most"] == pytest.approx(row["stated_miss"])
    gaps = wordings - (0.125 + 0.5) / 2
    assert row["difference"] == pytest.approx(gaps.mean())
    assert row["high"] == pytest.approx(gaps.mean() + reach)
    assert row["revealed_uniform"] == pytest.approx(0.25)
    assert row["stated_guess"] == pytest.approx((0 + 0.25 + 0.5 + 0.125) / 4)
    assert (row["n_settings"], row["n_wordings"]) == (2, 2)
    assert row["answer_mass"] == pytest.approx((0.2 + 0.02) / 2)


def test_rotations_that_prefer_a_letter_show_as_a_range(table):
    """All on the first letter: each rotation says another option."""
    stated = stated_answer("s", [0] * 4)
    stated["mass"] = stated["letter"].eq("A").astype(float)
    (row, _) = compare_misses(table, stated).to_dict("records")
    assert (row["stated_least"], row["stated_most"]) == (0.0, 0.5)
    assert row["stated_miss"] == pytest.approx(row["stated_guess"])


def test_what_was_not_read_both_ways_is_left_out(table):
    """A rotation unread takes its setting away: a letter that is liked would not average out."""
    unread = stated_answer("t", [1, 0, 0, 0])
    unread.loc[unread["rotation"] == 2, "mass"] = 0.0
    missing = stated_answer("u", [1, 0, 0, 0])
    both = pd.concat([stated_answer("s", [1, 0, 0, 0]), unread, missing])
    assert compare_misses(table, both)["n_settings"].tolist() == [1, 1]
    gap = table.assign(
        mass=table["mass"].mask((table["setting"] == "s") & (table["wording"] == "a"))
    )
    assert compare_misses(gap, both)["n_wordings"].tolist() == [1, 1]
    other = stated_answer("s", [1, 0, 0, 0], source="another")
    assert compare_misses(table, other).empty


@pytest.mark.parametrize(
    ("masses", "said"),
    [
        ([1, 0, 0, 0], "which is nearer to the truth is not settled; on average the stated"),
        ([0, 0, 1, 0], "which is nearer to the truth is not settled; on average the revealed"),
    ],
)
def test_a_sentence_does_not_decide_what_wordings_leave_open(table, masses, said):
    text = render_misses(compare_misses(table, stated_answer("s", masses)))
    assert text.startswith(f"m: {said}")


def test_an_option_that_is_no_number_is_named(table):
    with pytest.raises(InputError, match="option must be a probability .* received 'often'"):
        compare_misses(table, stated_answer("s", [1] * 4, options=("often", "1/2", "0.3", "1")))
