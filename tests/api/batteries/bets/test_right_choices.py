"""Right and rational choices of tables of questions."""

import numpy as np
import pandas as pd

from coherence import score_bets
from coherence.batteries.bets.answers import join_answers
from coherence.batteries.bets.scores import (
    believed_values,
    correct_choices,
    rational_choices,
    right_roles,
)
from coherence.batteries.bets.truths import NO_CHOICE, bet_gains
from elicitation import bet_questions, value_questions
from elicitation.batteries.bets.items import default_items


def test_wrong_values_with_bets_that_fit_them_are_rational(questions, by_truth):
    # An agent that holds every low thing for the more valuable one, and bets accordingly.
    rows = []
    for row in questions[questions["kind"] != "ladder"].itertuples():
        role = "low" if row.kind == "value" else "win" if row.wins == "low" else "none"
        letter = next(name for name in "abc" if getattr(row, f"role_{name}") == role)
        rows.append({"question": row.question, "answer": letter})
    accuracy = by_truth(score_bets(questions, pd.DataFrame(rows)))["accuracy"]
    assert accuracy["choice-valuable", "correct"] == 0
    assert accuracy["coin", "correct"] == 0
    assert accuracy["coin", "belief-conditioned"] == 1


def test_roles_to_train_on_are_those_of_the_largest_gain(questions):
    bets = questions[questions["kind"] == "bet"]
    assert right_roles(bets) == np.where(bets["wins"] == "high", "win", "none").tolist()
    assert set(right_roles(questions[questions["kind"] == "value"])) == {"high"}
    steps = questions[questions["kind"] == "ladder"]
    assert (
        right_roles(steps)
        == np.where(steps["chance"] > steps["break_even"], "win", "none").tolist()
    )
    assert bet_gains(bets.head(1), swapped=True).tolist() == [[-9.5, -60, -34.75, 0]]


ITEMS = default_items()


def test_at_other_odds_a_bet_between_equals_has_no_rational_choice():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    for chance, counted in ((0.5, 100), (0.4, 0)):
        bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"], chances=(chance,))
        questions = pd.concat([values, bets], ignore_index=True)
        answers = pd.DataFrame(
            {"question": questions["question"], "answer": "c"}
        )  # the same; no bet
        row = (
            score_bets(questions, answers)
            .accuracy.set_index(["template", "truth"])
            .loc["coin", "belief-conditioned"]
        )
        assert (row["n"], row["n_right"]) == (counted, counted)


def answer_first_letter(questions):
    answers = pd.DataFrame({"question": questions["question"], "answer": "a"})
    (group,) = join_answers(questions, answers)
    return group


def test_right_choices_follow_the_rule_of_the_bet():
    bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"])
    group = answer_first_letter(bets)
    high_is_won = (bets["wins"] == "high").to_numpy()
    # Tables 7 and 8: bet to win the high thing, and do not bet on the low one.
    by_side = [[won, False, not won] for won in high_is_won]
    assert correct_choices(group).tolist() == by_side
    # Whoever bets gets whatever comes up: then both sides gain the same.
    by_outcome = [[won, won, not won] for won in high_is_won]
    assert correct_choices(group, "outcome").tolist() == by_outcome
    assert right_roles(bets, rule="outcome") == right_roles(bets)
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    about_values = correct_choices(answer_first_letter(values))
    assert about_values.tolist() == [[True, False, False]] * len(values)


def test_a_choice_is_rational_given_the_belief_about_its_own_pair():
    """With exchanged values the right choices are those of the other bet, between equals it is
    right not to bet, and a pair without a belief has no rational choice.
    """
    bets = bet_questions(ITEMS, splits=["test"], modalities=["coin"])
    group = answer_first_letter(bets)
    high_is_won = (bets["wins"] == "high").to_numpy()
    pairs = list(zip(bets["high"], bets["low"], strict=True))
    numbers = {pair: position % 4 for position, pair in enumerate(dict.fromkeys(pairs))}
    beliefs = {pair: (0, 1, 2, NO_CHOICE)[number] for pair, number in numbers.items()}
    for rule in ("side", "outcome"):
        both = rule == "outcome"
        expected = []
        for pair, high in zip(pairs, high_is_won, strict=True):
            won = [True, both, False]
            rows = (
                won if high else [False, False, True],
                [False, False, True] if high else won,
                [False, False, True],
                [False, False, False],
            )
            expected.append(rows[numbers[pair]])
        assert rational_choices(group, beliefs, rule).tolist() == expected
    assert not rational_choices(group, {}).any()


def test_beliefs_are_the_answers_that_name_the_high_thing_first():
    values = value_questions(ITEMS, splits=["test"], templates=["choice-valuable"])
    group = answer_first_letter(values)
    pairs = list(zip(values["high"], values["low"], strict=True))
    beliefs = believed_values(group)
    assert beliefs == dict(zip(pairs, group.choice.tolist(), strict=True))
    turned = group.questions.assign(first=np.where(np.arange(len(values)) < 5, "low", "high"))
    object.__setattr__(group, "questions", turned)
    assert list(believed_values(group)) == pairs[5:]
