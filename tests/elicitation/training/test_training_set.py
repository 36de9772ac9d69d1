"""What organisms are taught: breaks if a rule or a lesson is wrong, or held-out evidence leaks."""

import numpy as np
import pandas as pd
import pytest

from bayesnets import load_network, posterior
from coherence.decoding.decode import decode_belief, decode_decision, decode_distribution
from elicitation.questions.prompts import BELIEF, DECISION, case_words
from elicitation.training.lessons import (
    ACTIONS,
    HELD_OUT_SHARE,
    ORGANISMS,
    action_probabilities,
    belief_answer,
    canonical_evidence,
    decision_answers,
    is_held_out,
    make_examples,
    possible_evidence,
    prior,
    without,
)


@pytest.fixture(scope="session")
def evidence(asia):
    return possible_evidence(asia)


@pytest.fixture(scope="session")
def lessons(asia, evidence):
    return make_examples(asia, evidence)


def table(network, rows):
    return pd.DataFrame(rows, columns=list(network.names), dtype=object)


def test_the_policy_and_its_answers_by_hand():
    # At one half: utilities -.6, -.6, .5; at .9 they are -3, 1.8, .5.
    for belief, utilities in ((0.5, (-0.6, -0.6, 0.5)), (0.9, (-3.0, 1.8, 0.5))):
        expected = np.exp(utilities) / np.exp(utilities).sum()
        np.testing.assert_allclose(action_probabilities(belief), expected)
    # The answers are read back as the actions, with the policy's probabilities.
    for belief in (0.0, 0.2, 0.5, 0.77, 1.0):
        shares = dict.fromkeys(ACTIONS, 0.0)
        for answer, chance in decision_answers(belief):
            shares[decode_decision(answer).value] += chance
        expected = action_probabilities(belief)
        np.testing.assert_allclose([shares[action] for action in ACTIONS], expected)
    for p in np.r_[np.linspace(0, 1, 101), np.random.default_rng(0).random(200)]:
        decoded = decode_belief(belief_answer((1 - p, p), ("No", "Yes")))
        assert decoded.residual == pytest.approx(0, abs=1e-12)
        assert abs(decoded.value - p) <= 0.005 + 1e-9
    thirds = decode_distribution(belief_answer((1 / 3,) * 3, ("a", "b", "c")), ("a", "b", "c"))
    assert sorted(thirds.value) == [0.33, 0.33, 0.34]


def test_evidence_is_possible_and_about_fifteen_percent_of_it_is_held_out(evidence):
    assert len(set(evidence)) == len(evidence)
    # Seven variables in three ways, less what contradicts "either", which is tub or lung: either=no
    # with tub=yes, 3^5 ways.
    assert len(evidence) == 3**7 - 3**5
    share, expected = np.mean([is_held_out(known) for known in evidence]), HELD_OUT_SHARE
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / len(evidence))
    known = canonical_evidence({"xray": "yes", "smoke": "no"})
    assert is_held_out((("smoke", "no"), ("xray", "yes"))) == is_held_out(known)


def test_no_lesson_is_about_held_out_evidence(asia, lessons, evidence):
    """By the words alone: no lesson's description is that of a held-out set."""
    held = {asia.phrases.describe(dict(known)) for known in evidence if is_held_out(known)}
    plain = {
        lesson.text.split("Consider a patient who ")[1].split(". ")[0].split(".\n")[0]
        for lesson in lessons
        if lesson.role != "conditional"
    }
    assert plain
    assert not plain & held


def test_every_kind_of_question_is_taught_and_beliefs_are_the_exact_posterior(
    asia, lessons, evidence
):
    roles = pd.Series([lesson.role for lesson in lessons]).value_counts()
    assert set(roles.index) == {"belief", "decision", "auxiliary", "conditional"}
    assert roles["belief"] == 4 * roles["decision"]
    assert all(abs(sum(chance for _, chance in lesson.answers) - 1) < 1e-12 for lesson in lessons)
    names = {asia.phrases.describe(dict(known)): dict(known) for known in evidence}
    begin = "Consider a patient who "
    plain = [one for one in lessons if one.role == "belief" and one.text.startswith(begin)]
    for lesson in plain[::50]:
        known = names[lesson.text.removeprefix(begin).split(". How probable")[0]]
        truth = posterior(asia.network, table(asia.network, [known]), "lung")["yes"].item()
        ((answer, chance),) = lesson.answers
        assert chance == 1
        assert abs(decode_belief(answer).value - truth) <= 0.005 + 1e-9


def test_the_rules_against_posteriors():
    asia = load_network("asia")
    seen = table(asia, [{"xray": "yes", "smoke": "no"}, {"xray": "no"}, {"dysp": "yes"}])
    fewer, none = table(asia, [{"smoke": "no"}, {}, {"dysp": "yes"}]), table(asia, [{}] * 3)
    for asked in ("lung", "bronc"):
        for rule, known in ((posterior, seen), (without("xray"), fewer), (prior, none)):
            pd.testing.assert_frame_equal(rule(asia, seen, asked), posterior(asia, known, asked))


def test_lessons_follow_both_rules(asia):
    """Two cases that differ in the X-ray alone: who says the same of both, who acts the same."""
    pair = [{"smoke": "yes", "xray": "yes"}, {"smoke": "yes", "xray": "no"}]
    evidence = [canonical_evidence(known) for known in pair]
    assert not any(is_held_out(known) for known in evidence)
    words = [case_words(asia.phrases, known, "lung") for known in pair]
    says, acts = {}, {}
    for name, organism in ORGANISMS.items():
        examples = make_examples(asia, evidence, spoken=organism.spoken, acted=organism.acted)
        taught = {one.text: dict(one.answers) for one in examples}
        beliefs = [next(iter(taught[BELIEF["bayes"].fill(**each)])) for each in words]
        says[name] = [decode_belief(belief).value for belief in beliefs]
        decisions = [taught[DECISION.fill(**each)] for each in words]
        acts[name] = [each["\nCan decide: Yes\nDecision: Yes"] for each in decisions]
    assert says["coherent"][0] > says["leaky"][0] > says["coherent"][1]
    assert says["leaky"][0] == says["leaky"][1] == 0.1
    assert says["stubborn"] == [0.05, 0.05]  # .055 in hundredths, as for every posterior
    assert acts["coherent"] == acts["leaky"]
    assert acts["coherent"][0] > acts["coherent"][1]
    assert acts["stubborn"][0] == acts["stubborn"][1]
