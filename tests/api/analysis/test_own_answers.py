"""Confidences in the own answer, which are no beliefs in a state, are held back everywhere."""

import numpy as np
import pandas as pd
import pytest

import coherence

OWN = "confidence in the own answer"


def confidences(n=300, *, mostly=0.5, hard=True, options=("no", "yes"), reps=1, seed=1):
    """Coherent: the confidence is the probability that the answer is right."""
    rng = np.random.default_rng(seed)
    sure = 0.5 + 0.5 * rng.beta(1, 3 if hard else 1, n)
    k = len(options)
    chances = [1 - mostly, *[mostly / (k - 1)] * (k - 1)]
    answer = rng.choice(k, n, p=chances)
    right = rng.random(n) < sure
    truth = np.where(right, answer, (answer + rng.integers(1, k, n)) % k)
    labels = np.array(options, dtype=object)
    table = pd.DataFrame(
        {"p": sure, "action": labels[answer], "theta": labels[truth], "context": np.arange(n)}
    )
    table = table.loc[table.index.repeat(reps)].reset_index(drop=True)
    noise = rng.normal(0, 0.05, len(table)) if reps > 1 else 0.0
    return table.assign(p=(table["p"] + noise).clip(0.5, 1).round(2))


@pytest.mark.parametrize("mostly", [0.5, 0.85])
@pytest.mark.parametrize("hard", [True, False])
def test_hard_questions_and_one_sided_answers_are_held_back(mostly, hard):
    """Breaks if confidences that never fall below one half accuse (a third of such tables)."""
    with pytest.raises(coherence.InputError, match=OWN):
        coherence.analyze(confidences(mostly=mostly, hard=hard))


@pytest.mark.parametrize(
    ("answers", "truths"),
    [
        ({"no": "no", "yes": "yes"}, {"no": 0, "yes": 1}),
        ({"no": 0, "yes": 1}, {"no": "false", "yes": "true"}),
        ({"no": "No.", "yes": "Yes."}, {"no": "no", "yes": "yes"}),
    ],
)
def test_two_ways_of_writing_one_pair_are_compared(answers, truths):
    """Breaks if yes and 1 are no answer and truth, or what the refusal proposes is refused."""
    table = confidences(hard=False)
    table = table.assign(action=table["action"].map(answers), theta=table["theta"].map(truths))
    with pytest.raises(coherence.InputError, match=OWN):
        coherence.analyze(table)
    read = coherence.analyze(table, prediction="action", gold="theta", rng=1)
    assert read.verdicts["verdict"].tolist() == ["forecasts"]


def test_repeated_reports_and_persons_are_held_back_where_a_state_is_named():
    """Breaks if another test takes the place of one that was withheld."""
    several = confidences(150, options=("A", "B", "C", "D"), reps=3, hard=False)
    persons = confidences(900, hard=False).assign(
        context=lambda rows: rows.index // 15, person=lambda rows: rows.index % 15
    )
    persons["theta"] = persons.groupby("context")["theta"].transform("first")
    persons["p"] = np.where(persons["action"] == persons["theta"], 0.9, 0.6)
    for table, state in ((several, "A"), (persons, "yes")):
        checks = ["sufficiency", "threshold"]
        report = coherence.analyze(table, positive=state, checks=checks, rng=1)
        assert report.verdicts["verdict"].tolist() == ["other_belief"]
        assert report.results["estimate"].isna().all()


def test_a_policy_is_an_answer_too():
    table = confidences(hard=False)
    yes = np.where(table["action"] == "yes", 0.9, 0.1)
    policy = pd.DataFrame({"no": 1 - yes, "yes": yes})
    with pytest.raises(coherence.InputError, match=OWN):
        coherence.sufficiency_test(table["p"], policy, table["theta"])
