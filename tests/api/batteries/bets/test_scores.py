"""Scores of whole tables: sets, unread answers, what is left out, and several models."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from coherence import InputError, crossed_interval, exact_test, score_bets
from coherence.batteries.bets.accuracy import z_test
from coherence.batteries.bets.agents import simulate_answers
from coherence.batteries.bets.answers import join_answers
from coherence.batteries.bets.scores import compare_models, right_roles
from elicitation import bet_questions, ladder_questions, value_questions
from elicitation.batteries.bets.items import Item, Items, default_items


def test_accuracy_does_not_depend_on_the_order_of_rows_or_letters(questions):
    answers = simulate_answers("maximiser", questions, sharpness=3, rng=1)
    reference = score_bets(questions, answers).accuracy
    mixed = questions.sample(frac=1, random_state=1)
    turned = mixed.rename(
        columns={
            f"{name}_{old}": f"{name}_{new}"
            for name in ("option", "role")
            for old, new in ("ab", "bc", "ca")
        }
    )
    names = {
        f"{name}_{old}": f"{name}_{new}"
        for name in ("score", "prob")
        for old, new in ("ab", "bc", "ca")
    }
    scored = score_bets(
        turned, answers.sample(frac=1, random_state=2).rename(columns=names)
    ).accuracy
    keys = ["template", "truth"]
    pd.testing.assert_frame_equal(
        *(
            # The letters of the best constant answer turn with the options.
            table.sort_values(keys, ignore_index=True).drop(columns="constant")
            for table in (scored, reference)
        )
    )


def test_sets_of_letters_are_scored_as_sets(questions, by_truth):
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    both = pd.DataFrame({"question": bets["question"], "answer": "a+b"})
    accuracy = by_truth(score_bets(questions, both))["accuracy"]
    # Half the stake on each side gains 14.75 where the high thing is won.
    assert accuracy["coin", "positive gain"] == 1
    assert accuracy["coin", "non-negative gain"] == 0.5
    assert accuracy["coin", "strict"] == accuracy["coin", "correct"] == 0


def test_unread_answers_are_wrong_and_counted(questions, by_truth):
    values = questions[(questions["kind"] == "value") & (questions["split"] == "test")]
    answers = pd.DataFrame(
        {
            "question": values["question"],
            "answer": ["A", "(a)", "a.", "", "As I see it, a car", "A house."] + ["a"] * 19,
        }
    )
    row = by_truth(score_bets(questions, answers)).loc["choice-valuable", "correct"]
    assert (row["n"], row["n_right"], row["n_unread"], row["n_tied"]) == (25, 23, 1, 2)


def perfect_answers(steps):
    roles = np.where(steps["chance"] > steps["break_even"], "win", "none")
    letters = [
        next(name for name in "abc" if row[f"role_{name}"] == role)
        for row, role in zip(steps.to_dict("records"), roles, strict=True)
    ]
    return pd.DataFrame({"question": steps["question"].to_numpy(), "answer": letters})


def test_unread_answers_do_not_move_the_chance_acted_on():
    steps = ladder_questions(default_items())
    answers = perfect_answers(steps)
    whole = score_bets(steps, answers).ladders["model", "coin"].table
    for text in ("I would rather not say", "", "a+b"):
        lost = np.random.default_rng(3).random(len(steps)) < 0.3
        scores = score_bets(steps, answers.assign(answer=np.where(lost, text, answers["answer"])))
        table = scores.ladders["model", "coin"].table
        np.testing.assert_allclose(table["implied"], whole["implied"], atol=0.03)
        assert table["n"].sum() == (~lost).sum()
        assert (
            f"model, coin: {lost.sum()} of {len(steps)} ladder answers have no single choice "
            "and are left out." in scores.notes
        )


ITEMS = default_items()


def test_a_ladder_about_one_pair_says_that_its_answers_were_taken_as_independent():
    items = Items((Item("a car", "high", "test", 100.0), Item("a pen", "low", "test", 1.0)))
    questions = ladder_questions(items)
    scores = score_bets(questions, simulate_answers("maximiser", questions, sharpness=1e6, rng=0))
    assert scores.ladders["maximiser", "coin"].unit == "every answer by itself"
    assert scores.notes == (
        "maximiser, coin: intervals of the ladder take answers as independent, "
        "for it is about one thing of a kind.",
    )


def test_models_are_compared_on_all_their_test_questions(without_ladders):
    answers = pd.concat(
        [
            simulate_answers(name, without_ladders, sharpness=1e4, rng=0)
            for name in ("random", "value-only", "maximiser")
        ]
    )
    table = compare_models(join_answers(without_ladders, answers)).set_index(["measure", "model"])
    assert table.loc["bets"].index.tolist() == ["maximiser", "value-only", "random"]  # best first
    assert table.loc[("bets", "value-only"), ["n", "n_right"]].tolist() == [300, 150]
    assert table.loc[("values", "maximiser"), ["n", "accuracy"]].tolist() == [25, 1]
    row = table.loc[("bets", "random")]
    test = without_ladders[
        (without_ladders["kind"] == "bet") & (without_ladders["split"] == "test")
    ]
    of_random = answers[
        (answers["model"] == "random") & answers["question"].isin(test["question"])
    ].merge(test, on="question")
    chosen = of_random[["prob_a", "prob_b", "prob_c"]].to_numpy().argmax(axis=1)
    roles = of_random[["role_a", "role_b", "role_c"]].to_numpy()[np.arange(len(of_random)), chosen]
    right = roles == np.array(right_roles(of_random))
    interval = crossed_interval(right, of_random["high"], of_random["low"])
    assert (row["n_right"], row["low"], row["high"]) == (
        right.sum(),
        pytest.approx(interval.low),
        pytest.approx(interval.high),
    )
    # Half of the things to be won are the lesser one: never to bet is right there.
    assert (row["constant"], row["constant_rate"]) == ("none", 0.5)
    assert row["p_exact"] == pytest.approx(exact_test(int(right.sum()), np.full(300, 1 / 2)))
    letters = itertools.cycle("abc")
    unasked = compare_models(
        join_answers(
            without_ladders,
            pd.DataFrame(
                {"question": test["question"], "answer": [next(letters) for _ in test.index]}
            ),
        )
    )
    assert unasked["measure"].tolist() == ["bets"]


def test_every_row_has_the_tests_of_its_own_counts(without_ladders):
    answers = simulate_answers("value-only", without_ladders, sharpness=1.0, rng=3)
    rows = score_bets(without_ladders, answers).accuracy
    assert (rows["n"] > 1).all()
    for row in rows.to_dict("records"):
        paper = z_test(row["n_right"], row["n"], max(row["chance"], row["constant_rate"]))
        assert (row["z"], row["p_z"]) == pytest.approx(paper)
        assert row["accuracy"] == row["n_right"] / row["n"]
        tuned = row["method"] == "threshold"
        assert math.isnan(row["threshold"]) != tuned
        assert math.isnan(row["dev_accuracy"]) != tuned
    assert set(rows["template"]) == set(without_ladders["template"])


def test_one_question_has_no_variance_and_none_has_no_share():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    answers = pd.DataFrame({"question": values["question"].head(1), "answer": "a"})
    row = score_bets(values, answers).accuracy.iloc[0]
    assert (row["n"], row["n_right"], row["accuracy"]) == (1, 1, 1)
    assert np.isnan(row[["z", "p_z", "low", "high"]].astype(float)).all()
    assert row["p_exact"] == 1  # who always takes that letter is right as well
    # At other odds a bet between equals has no rational choice: no question is left.
    bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"], chances=(0.4,))
    both = pd.concat([values, bets], ignore_index=True)
    same = pd.DataFrame({"question": both["question"], "answer": "c"})
    rows = score_bets(both, same).accuracy.set_index(["template", "truth"])
    empty = rows.loc[("coin", "belief-conditioned")]
    assert (empty["n"], empty["n_right"], empty["n_unread"]) == (0, 0, 0)
    results = ["accuracy", "chance", "low", "high", "p_exact", "z", "p_z"]
    assert np.isnan(empty[results].astype(float)).all()


def test_bets_are_compared_by_the_values_that_each_model_holds(without_ladders):
    """One model holds every low thing for dearer and bets on that; the other one knows better."""
    rows = []
    for row in without_ladders.itertuples():
        role = "low" if row.kind == "value" else "win" if row.wins == "low" else "none"
        letter = next(name for name in "abc" if getattr(row, f"role_{name}") == role)
        rows.append({"question": row.question, "answer": letter, "model": "upside down"})
    knowing = simulate_answers("maximiser", without_ladders, sharpness=1e4, rng=0)
    tables = (pd.DataFrame(rows), knowing)
    both = [group for table in tables for group in join_answers(without_ladders, table)]
    table = compare_models(both).set_index(["measure", "model"])["accuracy"]
    assert table.to_dict() == {
        ("values", "maximiser"): 1,
        ("values", "upside down"): 0,
        ("bets", "maximiser"): 1,
        ("bets", "upside down"): 0,
        ("bets by own values", "maximiser"): 1,
        ("bets by own values", "upside down"): 1,
    }
    unasked = compare_models(both, belief_template="no such words")
    assert set(unasked["measure"]) == {"values", "bets"}


def test_what_is_missing_is_said(questions):
    bets = questions[(questions["kind"] == "bet") & (questions["split"] == "test")]
    answers = simulate_answers("random", bets, rng=0)
    notes = " ".join(score_bets(questions, answers).notes)
    assert (
        "no belief-conditioned accuracy without answers to the value questions 'choice-valuable'"
        in notes
    )
    assert "no threshold for 'strict' without scores of development questions" in notes
    with pytest.raises(InputError, match="no answers to questions of split 'train'"):
        score_bets(questions, answers, split="train")


def test_ladders_are_not_fitted_where_whoever_bets_gets_what_comes_up():
    questions = ladder_questions(ITEMS)
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    both = pd.concat([questions, values], ignore_index=True)
    scores = score_bets(both, simulate_answers("maximiser", both, rng=0), rule="outcome")
    assert not scores.ladders
    assert "maximiser, coin: ladders are fitted for the rule 'side' only." in scores.notes
