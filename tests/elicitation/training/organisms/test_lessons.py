"""Lessons: breaks if one is wrong, or if held-out evidence leaks into them."""

import numpy as np
import pandas as pd
import pytest

from bayesnets import posterior
from coherence import decode_belief, decode_decision, decode_distribution
from elicitation import Design, plan_task
from elicitation.training.organisms.lessons import (
    ACTIONS,
    HELD_OUT_SHARE,
    action_probabilities,
    belief_answer,
    canonical_evidence,
    decision_answers,
    is_held_out,
    lesson_weights,
    possible_evidence,
)
from elicitation.training.organisms.reader import held_out_cases


def test_the_policy_by_hand():
    # At one half: utilities -.6, -.6, .5; at .9 they are -3, 1.8, .5.
    for belief, utilities in ((0.5, (-0.6, -0.6, 0.5)), (0.9, (-3.0, 1.8, 0.5))):
        expected = np.exp(utilities) / np.exp(utilities).sum()
        np.testing.assert_allclose(action_probabilities(belief), expected)
    # The answers are read back as the actions, with the policy's probabilities.
    for belief in (0.0, 0.2, 0.5, 0.77, 1.0):
        shares = dict.fromkeys(ACTIONS, 0.0)
        for answer, chance in decision_answers(belief):
            shares[decode_decision(answer).value] += chance
        np.testing.assert_allclose(
            [shares[action] for action in ACTIONS], action_probabilities(belief)
        )


def test_belief_answers_are_readable_and_rounded():
    for p in np.r_[np.linspace(0, 1, 101), np.random.default_rng(0).random(200)]:
        decoded = decode_belief(belief_answer((1 - p, p), ("No", "Yes")))
        assert decoded.residual == pytest.approx(0, abs=1e-12)
        assert abs(decoded.value - p) <= 0.005 + 1e-9
    thirds = decode_distribution(belief_answer((1 / 3,) * 3, ("a", "b", "c")), ("a", "b", "c"))
    assert sorted(thirds.value) == [0.33, 0.33, 0.34]


def test_evidence_is_possible_and_complete(asia, evidence):
    assert len(set(evidence)) == len(evidence)
    # Seven variables in three ways, less what contradicts "either", which is tub or lung: either=no
    # with tub=yes, 3^5 ways.
    assert len(evidence) == 3**7 - 3**5


def test_about_fifteen_percent_are_held_out_whatever_the_seed(asia, evidence):
    share = np.mean([is_held_out(known) for known in evidence])
    assert abs(share - HELD_OUT_SHARE) < 4 * np.sqrt(
        HELD_OUT_SHARE * (1 - HELD_OUT_SHARE) / len(evidence)
    )
    assert is_held_out((("smoke", "no"), ("xray", "yes"))) == is_held_out(
        canonical_evidence({"xray": "yes", "smoke": "no"})
    )


def test_no_lesson_is_about_held_out_evidence(asia, lessons, evidence):
    """By the words alone: no lesson's description is that of a held-out set."""
    held = {known for known in evidence if is_held_out(known)}
    described = {asia.phrases.describe(dict(known)) for known in held}
    plain = {
        lesson.text.split("Consider a patient who ")[1].split(". ")[0].split(".\n")[0]
        for lesson in lessons
        if lesson.role != "conditional"
    }
    assert plain
    assert not plain & described
    asked = held_out_cases(asia)
    assert len(asked) > 100
    questions = plan_task(asia, asked, Design(reps=1, iterated=False)).questions
    assert not {question.text for question in questions} & {lesson.text for lesson in lessons}


def test_lessons_teach_the_exact_posterior(asia, lessons):
    rows = [
        lesson
        for lesson in lessons
        if lesson.role == "belief" and lesson.text.startswith("Consider")
    ][::50]
    names = {
        asia.phrases.describe(dict(known)): dict(known)
        for known in possible_evidence(asia, np.random.default_rng(0))
    }
    for lesson in rows:
        known = names[
            lesson.text.removeprefix("Consider a patient who ").split(". How probable")[0]
        ]
        frame = pd.DataFrame([known], columns=list(asia.network.names), dtype=object)
        truth = posterior(asia.network, frame, "lung")["yes"].item()
        (answer, chance), *others = lesson.answers
        assert not others
        assert chance == 1
        assert abs(decode_belief(answer).value - truth) <= 0.005 + 1e-9


def test_lessons_are_drawn_half_evenly_over_the_posterior(asia, lessons):
    """Those near one half are drawn more often than their number says; all have a chance."""
    weights = np.array([lesson.weight for lesson in lessons])
    assert weights.min() > 0.5
    # Seven lessons per tenth of [0, 1) but one: the lone one has weight 1/2 + 8 / (2 * 2 * 1).
    assert lesson_weights([0.05] * 7 + [0.95]).tolist() == pytest.approx(
        [0.5 + 8 / (2 * 2 * 7)] * 7 + [2.5]
    )
    assert lesson_weights([0.0, 0.5, 1.0]).mean() == pytest.approx(1)


def test_every_kind_of_question_is_taught(asia, lessons):
    roles = pd.Series([lesson.role for lesson in lessons]).value_counts()
    assert set(roles.index) == {"belief", "decision", "auxiliary", "conditional"}
    assert roles["belief"] == 4 * roles["decision"]
    assert all(abs(sum(chance for _, chance in lesson.answers) - 1) < 1e-12 for lesson in lessons)
