"""The keys that answers are stored under: breaks if two different answers share one."""

import pandas as pd
import pytest

from elicitation import Design
from elicitation.questions.plan import plan_own_questions


def question(text="How much?", options=None, **design):
    """Return the first question of a plan: its belief, or its choice where options are named."""
    table = pd.DataFrame({"context": ["a"], "belief_question": text, "yes_no_question": text})
    if options:
        table = table.assign(action_question=text, options=[options])
    plan = plan_own_questions(table, Design(**{"prompts": ("standard",), **design}))
    roles = [each for each in plan.questions if (each.spec.role == "choice") == bool(options)]
    return roles[0]


def test_every_way_of_asking_has_a_key_of_its_own():
    exact, choice = {"answers": "exact"}, {"answers": "exact", "options": ("x", "y")}
    asked = [
        question(),
        question("How many?"),
        question("How many?", **exact),
        question(**choice),
        question(**{**choice, "options": ("y", "x")}),
    ]
    settings = {"seed": 1, "temperature": 0.5, "max_new_tokens": 999, "belief": "token"}
    asked += [question(**{name: value}) for name, value in settings.items()]
    asked += [question(answers=way) for way in ("forced", "exact")]
    assert len({each.key("f") for each in asked} | {question().key("g")}) == len(asked) + 1
    # Nothing is drawn: neither seed nor repetitions can change it.
    assert question(**exact, seed=7).key("f") == question(**exact).key("f")
    # Draws in a form have the seeds of free ones.
    free, forced = question(max_new_tokens=64), question(answers="forced", max_new_tokens=64)
    assert forced.request.seed == free.request.seed


@pytest.mark.parametrize(
    ("design", "key"),
    [
        ({}, "95ef068d30a2c593265f65c0455e0005b4aff993a70a6f2630fd415ea2734385"),
        ({"answers": "forced"}, "5852d70637c557fe6270e9999a618b1a4f01deec78dd5193b4a7b0f7eb2bca2f"),
        ({"answers": "exact"}, "f4dfd69fe3498e8545d48237f49f3dedbe943a90663cbe8efd54d83069920a14"),
        ({"belief": "token"}, "2e284eba81d4fe6352fdf0b7fe20970993de7229de6d10e4f124d74e5beb035e"),
    ],
)
def test_the_key_of_a_question_is_pinned(design, key):
    """Breaks if answers that were paid for are asked again."""
    assert question(**design).key("f") == key
