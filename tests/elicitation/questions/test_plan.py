"""A session planned: breaks if two contexts share a draw, a senseless design passes, an option does
not choose its questions, or an answer has no room.
"""

import pandas as pd
import pytest

from coherence import InputError
from elicitation import (
    NETWORK_PROMPTS,
    TABLE_PROMPTS,
    AnswerStore,
    Design,
    load_prompts,
    load_task,
    plan_task,
)
from elicitation.asking.session import run_plan
from elicitation.questions.plan import plan_own_questions


def test_questions_with_the_same_words_are_asked_once_at_temperature_zero(asia, cases, scripted):
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    model, greedy = scripted(), plan_task(asia, twins, Design(reps=2, temperature=0.0))
    with AnswerStore(":memory:") as store:
        _, tally = run_plan(model, greedy, store)
    n_texts = len({question.text for question in greedy.questions})
    assert tally.total == tally.asked == n_texts == len(model.asked)
    assert len(greedy.questions) == len(plan_task(asia, twins, Design(reps=2)).questions)


def test_tasks_and_cases_come_from_their_seed(asia):
    pd.testing.assert_frame_equal(asia.cases(30, seed=4), asia.cases(30, seed=4))
    assert not asia.cases(30, seed=4)["context"].equals(asia.cases(30, seed=5)["context"])
    assert load_task("asia", target="lung").name == "asia"
    assert load_task("asia", target="bronc").name == "asia:bronc"


def test_exact_answers_are_asked_for_once_and_others_five_times():
    assert Design(answers="exact").n_reps == 1
    assert Design(answers="exact", reps=1).n_reps == 1
    assert Design(answers="forced").n_reps == Design().n_reps == 5
    assert Design(reps=3).n_reps == 3


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"x_1": "yes"}, "variable must have words; '1' has none"),
        ({"x_smoke": "maybe"}, "state of 'smoke' must have words; 'maybe' has none"),
        ({"z": "smok"}, "variable must have words; 'smok' has none. .*'smoke'"),
    ],
)
def test_cases_without_words_are_named(asia, cases, change, told):
    with pytest.raises(InputError, match=told):
        plan_task(asia, cases.assign(**change), Design())


def test_room_for_an_answer_suffices_for_any_spelling(asia, cases):
    for question in plan_task(asia, cases, Design(reps=1)).questions:
        longest = "\n" + "\n".join(f"{line}: 0.00" for line in question.spec.lines) + "\n"
        assert question.request.max_new_tokens >= len(longest)


# The keys that answers are stored under: breaks if two different answers share one.


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


# Templates from a file.
# Breaks if a fault passes or hides another, if a text can reach into Python, or if a template is
# not
# asked as it stands.


GOOD = """
[belief.plain]
form = "number"
text = "A patient {description}. P({question})? {{number}}"

[belief.standard]
text = "{description}|{question}|{labels}|{example}|{n_lines}"

[decision]
text = "{description} {question} decide"
"""


def _load(tmp_path, text, base=NETWORK_PROMPTS):
    path = tmp_path / "lab.toml"
    path.write_text(text, encoding="utf-8")
    return load_prompts(path, base)


def test_templates_come_in_over_the_built_in_ones(tmp_path):
    prompts, names = _load(tmp_path, GOOD)
    assert names == ("plain", "standard")
    assert prompts.belief["plain"].form == "number"
    filled = prompts.belief["plain"].fill(description="smokes", question="cough {x}")
    assert filled == "A patient smokes. P(cough {x})? {number}"
    assert prompts.belief["standard"].text.startswith("{description}|")
    assert prompts.belief["mse"] == NETWORK_PROMPTS.belief["mse"]
    assert prompts.decision.text.endswith("decide")
    assert prompts.yes_no == NETWORK_PROMPTS.yes_no
    assert "plain" not in NETWORK_PROMPTS.belief
    # Tables of questions have no description.
    prompts, _ = _load(tmp_path, '[decision]\ntext = "{question}: {options}"', TABLE_PROMPTS)
    assert prompts.decision.fill(question="?", options="a") == "?: a"
    with pytest.raises(InputError, match=r"placeholder \{description\}; there are question"):
        _load(tmp_path, '[belief.a]\ntext = "{description} {question}"', TABLE_PROMPTS)


def test_every_fault_comes_at_once(tmp_path):
    text = """
[belief."x y"]
text = "{name} {question}"
forms = 1
[belief.a]
form = "percent"
text = 3
[decsion]
text = "x"
[decision]
text = "{"
"""
    with pytest.raises(InputError) as caught:
        _load(tmp_path, text)
    message = str(caught.value)
    for part in (
        "8 errors: ",
        "[decsion] is no template",
        "'decision'",
        "named by a letter",
        "unknown key 'forms'",
        "unknown placeholder {name}",
        "lacks the placeholder {description}",
        "form must be one of lines, number",
        "needs text",
        "stray brace",
    ):
        assert part in message, part
    assert message.count(" | ") == 7


@pytest.mark.parametrize(
    "field",
    ["{question.__class__}", "{question[0]}", "{question!r}", "{question:>99999999}", "{0}", "{}"],
)
def test_placeholders_are_names_and_nothing_else(tmp_path, field):
    with pytest.raises(InputError, match="unknown placeholder"):
        _load(tmp_path, f'[belief.a]\ntext = "{{description}} {{question}} {field}"')
