"""Scores of stated answers and of bets."""

import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.batteries.revealed.scores import score_stated, score_wagers


def test_a_letter_without_a_probability_is_named_with_its_setting(stated_rows):
    rows = stated_rows(0.2)
    message = (
        "stated answers of 'm' to 's' lack the probability of letter 'C' in rotation 1 .1 are "
        "missing.. Give one to every letter"
    )
    hole = (rows["rotation"] == 1) & (rows["letter"] == "C")
    for faulty in (rows[~hole], rows.assign(mass=rows["mass"].mask(hole))):
        with pytest.raises(InputError, match=message):
            score_stated(faulty)


def test_stated_errors_are_means_over_rotations(stated_rows):
    rows = stated_rows(0.2)
    # The right letter has .6, the others .2 each: right in half of what is said.
    right = rows.assign(mass=rows["mass"] + 0.4 * rows["correct"])
    (score,) = score_stated(right).to_dict("records")
    assert (score["stated_error"], score["answer_mass"]) == pytest.approx((0.5, 1.2))


def test_who_always_gives_one_letter_is_wrong_three_times_of_four(stated_rows):
    rows = stated_rows(0.0)
    always = score_stated(rows.assign(mass=(rows["letter"] == "A").astype(float)))
    assert always["stated_error"].tolist() == pytest.approx([0.75])
    # Without any letter nothing is known, however sure the other rotations are.
    unread = score_stated(rows.assign(mass=rows["correct"] * (rows["rotation"] > 0).astype(float)))
    assert unread["stated_error"].isna().all()


def test_who_knows_the_truth_loses_nothing_and_who_does_the_opposite_all(stated_rows):
    truth = np.linspace(0, 1, 11)
    knowing = pd.DataFrame({"truth": truth, "share": (truth > 0.5).astype(float), "name": "x"})
    scores = score_wagers(knowing)
    np.testing.assert_allclose(scores["loss"], 0, atol=1e-12)
    np.testing.assert_allclose(scores["gain"], np.maximum(2 * truth - 1, 0))
    assert list(scores.columns) == ["truth", "share", "name", "gain", "loss"]
    unread = score_wagers(knowing.assign(share=math.nan))
    assert unread[["gain", "loss"]].isna().all(axis=None)
    opposite = score_wagers(knowing.assign(share=1 - knowing["share"]))
    np.testing.assert_allclose(opposite["loss"], np.abs(2 * truth - 1))
