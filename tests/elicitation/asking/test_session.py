"""A whole session with a scripted model.

Breaks if an answer lands on the wrong row, is asked twice, or is given a value that was not stated.
"""

import pandas as pd
import pytest

from elicitation import AnswerStore, Design, elicit, plan_task


def test_an_interrupted_session_asks_only_the_rest_and_a_second_one_nothing(
    asia, cases, store, scripted
):
    stopped, resumed, design = scripted(fail_after=50), scripted(), Design(reps=2)
    with pytest.raises(KeyboardInterrupt):
        elicit(stopped, asia, cases, store, design=design, batch_size=10)
    assert len(store) == 58  # calls of 8, 10, 10, ...
    runs, tally = elicit(resumed, asia, cases, store, design=design, batch_size=10)
    assert tally.reused == 58
    before, after = ({(of.text, of.seed) for of in each.asked} for each in (stopped, resumed))
    assert not before & after
    with AnswerStore(":memory:") as other:
        whole, _ = elicit(scripted(), asia, cases, other, design=design, batch_size=64)
    pd.testing.assert_frame_equal(runs.drop(columns="created"), whole.drop(columns="created"))
    model = scripted()
    again, tally = elicit(model, asia, cases, store, design=design)
    assert model.asked == []
    assert (tally.asked, tally.reused) == (0, tally.total)
    pd.testing.assert_frame_equal(again, runs)
    # More repetitions keep the answers that are there.
    more, tally = elicit(scripted(), asia, cases, store, design=Design(reps=3))
    assert tally.reused == 12 * 2 * 8
    pd.testing.assert_frame_equal(more[more["rep"] < 2].reset_index(drop=True), runs)


def test_draws_have_seeds_of_their_own_and_none_without_a_temperature(asia, cases):
    questions = plan_task(asia, cases, Design(reps=3, seed=1)).questions
    seeds = {question.request.seed for question in questions}
    assert len(seeds) == len(questions) > 200
    assert all(0 <= seed < 2**63 for seed in seeds)
    other = plan_task(asia, cases, Design(reps=3)).questions
    assert not seeds & {question.request.seed for question in other}
    cold = plan_task(asia, cases, Design(reps=3, temperature=0)).questions
    assert len({question.key("f") for question in cold}) == len({each.text for each in cold})
    # Contexts with the same words get draws of their own; at temperature 0 they are one question.
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    questions = plan_task(asia, twins, Design(reps=2)).questions
    assert len({question.key("f") for question in questions}) == len(questions)
