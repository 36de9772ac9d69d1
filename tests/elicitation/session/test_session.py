"""A whole session with a scripted model.

Breaks if an answer lands on the wrong row, is asked twice, or is given a value that was not stated.
"""

import re

import numpy as np
import pandas as pd
import pytest

from bayesnets import posterior
from coherence.errors import InputError
from coherence.table.faults import find_faults
from elicitation.models.base import Answer
from elicitation.session.asking import ask
from elicitation.session.plan import Design, Task, number_draws
from elicitation.session.questions import evidence_of, plan_questions
from elicitation.session.session import elicit
from elicitation.store import AnswerStore

_LABELS = re.compile(r"in this order: \[(.*), (.*)\]")


class Scripted:
    """Answers by the kind of question, and keeps a record of what it was asked."""

    name, fingerprint = "scripted", "script"

    def __init__(self, answers=None, fail_after=None):
        self.answers = answers or {}
        self.asked = []
        self.fail_after = fail_after

    def generate(self, requests):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise KeyboardInterrupt
        self.asked += requests
        return [Answer(self.answer(request)) for request in requests]

    def answer(self, request):
        if "Decision:" in request.text:
            return self.answers.get("decision", "Can decide: Yes\nDecision: Yes")
        if "spread over the categories" in request.text:
            first, second = (
                _LABELS.search(request.text).groups()
                if ", or both" not in request.text
                else ("", "")
            )
            return self.answers.get("auxiliary", f"{first}: 0.25\n{second}: 0.75")
        if "Brier" in request.text:
            return self.answers.get("mse", "No: 0.40\nYes: 0.60")
        return self.answers.get(
            "belief", f"No: 0.{99 - request.seed % 10}\nYes: 0.{request.seed % 10:02d}"
        )


@pytest.fixture
def store():
    with AnswerStore(":memory:") as opened:
        yield opened


def test_the_table_is_valid_complete_and_true(asia, cases, store):
    runs, tally = elicit(Scripted(), asia, cases, store, design=Design(reps=3))
    assert find_faults(runs) == []
    assert len(runs) == 12 * 3 * (4 + 2)
    assert (tally.asked, tally.reused, tally.total) == (12 * 3 * 8, 0, 12 * 3 * 8)
    ordinary, given = runs[runs["z"].isna()], runs[runs["z"].notna()]
    # The action stands on the standard rows and nowhere else.
    for column in ("action", "raw_action"):
        assert (ordinary[column].notna() == (ordinary["prompt"] == "standard")).all()
    assert given["action"].isna().all()
    assert (given["prompt"] == "standard").all()
    assert (ordinary.loc[ordinary["prompt"] == "mse", "p"] == 0.6).all()
    by_context = cases.set_index("context")
    for row in runs.itertuples():
        case = by_context.loc[row.context]
        evidence = evidence_of(case)
        assert row.theta == case["theta"]
        assert {name: getattr(row, f"x_{name}") for name in evidence} == evidence
        if pd.notna(row.z):
            assert row.z == case["z"]
            truth = posterior(
                asia.network, pd.DataFrame([{**evidence, row.z: row.z_state}]), "lung"
            )["yes"].item()
            share = posterior(asia.network, pd.DataFrame([evidence]), row.z)[row.z_state].item()
            assert (row.p_true, row.p_z_true) == (pytest.approx(truth), pytest.approx(share))
            if row.z != "either":  # its labels hold commas, which the script does not read
                assert row.p_z == {"yes": 0.25, "no": 0.75}[row.z_state]
        else:
            assert row.p_true == pytest.approx(case["p_true"])
            assert pd.isna(row.p_z)


def test_every_value_is_the_one_that_its_raw_answer_states(asia, cases, store):
    runs, _ = elicit(Scripted(), asia, cases, store, design=Design(reps=2))
    stated = runs["raw_belief"].str.extract(r"Yes: ([0-9.]+)")[0].astype(float)
    pd.testing.assert_series_equal(
        runs["p"], stated.astype("float64"), check_names=False, check_dtype=False
    )


@pytest.mark.parametrize(
    ("answers", "status", "kept"),
    [
        ({"decision": "I cannot decide."}, "refused", "p"),
        ({"belief": "Perhaps."}, "unparsed", "action"),
        ({"belief": "No: 40\nYes: 60"}, "out_of_range", "action"),
        ({"belief": "Perhaps.", "decision": "I cannot decide."}, "refused", None),
    ],
)
def test_a_row_has_its_gravest_status_and_keeps_what_could_be_read(
    asia, cases, store, answers, status, kept
):
    runs, tally = elicit(Scripted(answers), asia, cases, store, design=Design(reps=1))
    rows = runs[(runs["prompt"] == "standard") & runs["z"].isna()]
    assert (rows["status"] == status).all()
    for column in ("p", "action"):
        assert rows[column].notna().all() == (column == kept)
        assert rows[column].isna().all() == (column != kept)
    assert rows["raw_belief"].notna().all()
    assert find_faults(runs) == []
    assert tally.readable < tally.total


def test_an_unreadable_distribution_of_z_leaves_the_belief(asia, cases, store):
    runs, _ = elicit(
        Scripted({"auxiliary": "high: 0.2\nlow: 0.8"}), asia, cases, store, design=Design(reps=1)
    )
    given = runs[runs["z"].notna()]
    assert (given["status"] == "unparsed").all()
    assert given["p"].notna().all()
    assert given["p_z"].isna().all()
    assert (runs.loc[runs["z"].isna(), "status"] == "ok").all()


def test_a_second_session_asks_nothing_and_gives_the_same_table(asia, cases, store):
    first, _ = elicit(Scripted(), asia, cases, store, design=Design(reps=2))
    model = Scripted()
    second, tally = elicit(model, asia, cases, store, design=Design(reps=2))
    assert model.asked == []
    assert (tally.asked, tally.reused) == (0, tally.total)
    pd.testing.assert_frame_equal(first, second)


def test_an_interrupted_session_asks_only_the_rest(asia, cases, store):
    stopped, resumed = Scripted(fail_after=50), Scripted()
    with pytest.raises(KeyboardInterrupt):
        elicit(stopped, asia, cases, store, design=Design(reps=2), batch_size=10)
    assert len(store) == 50
    runs, tally = elicit(resumed, asia, cases, store, design=Design(reps=2), batch_size=10)
    assert tally.reused == 50
    assert not {(request.text, request.seed) for request in stopped.asked} & {
        (request.text, request.seed) for request in resumed.asked
    }
    with AnswerStore(":memory:") as other:
        whole, _ = elicit(Scripted(), asia, cases, other, design=Design(reps=2), batch_size=64)
    pd.testing.assert_frame_equal(runs.drop(columns="created"), whole.drop(columns="created"))


def test_more_repetitions_keep_the_answers_that_are_there(asia, cases, store):
    few, _ = elicit(Scripted(), asia, cases, store, design=Design(reps=2))
    more, tally = elicit(Scripted(), asia, cases, store, design=Design(reps=3))
    assert tally.reused == 12 * 2 * 8
    pd.testing.assert_frame_equal(more[more["rep"] < 2].reset_index(drop=True), few)


def test_another_model_seed_or_temperature_gets_answers_of_its_own(asia, cases, store):
    elicit(Scripted(), asia, cases, store, design=Design(reps=1))
    other = Scripted()
    other.fingerprint = "other weights"
    for model, options in (
        (other, {}),
        (Scripted(), {"seed": 1}),
        (Scripted(), {"temperature": 0.5}),
    ):
        _, tally = elicit(model, asia, cases, store, design=Design(reps=1, **options))
        assert tally.reused == 0


def test_contexts_with_the_same_words_get_draws_of_their_own(asia, cases):
    twins = pd.concat([cases.iloc[[0, 0]]]).assign(context=["a", "b"])
    questions = plan_questions(twins, asia.phrases, "lung", reps=2)
    draws = number_draws(questions, Design())
    assert len({draw.key("f") for draw in draws}) == len(draws)
    # At temperature 0 they are one question, asked once.
    greedy = number_draws(questions, Design(temperature=0.0))
    model = Scripted()
    with AnswerStore(":memory:") as store:
        answers, asked = ask(model, greedy, store)
    assert asked == len({question.text for question in questions}) == len(model.asked)
    assert len(answers) == len(questions)


def test_options_choose_the_questions(asia, cases, store):
    model = Scripted()
    design = Design(reps=1, prompts=("standard", "bayes"), iterated=False)
    runs, tally = elicit(model, asia, cases, store, design=design)
    assert tally.total == 12 * 3
    assert set(runs["prompt"]) == {"standard", "bayes"}
    assert runs["z"].isna().all()
    assert {"p_z", "z", "raw_z"} <= set(runs.columns)  # the same columns whatever was asked
    assert not any("spread over" in request.text for request in model.asked)


def test_room_for_an_answer_suffices_for_any_spelling(asia, cases):
    for question in plan_questions(cases, asia.phrases, "lung", reps=1):
        longest = "\n" + "\n".join(f"{line}: 0.00" for line in question.lines) + "\n"
        assert question.max_new_tokens >= len(longest)


def test_progress_counts_to_the_end(asia, cases, store):
    seen = []
    elicit(
        Scripted(),
        asia,
        cases,
        store,
        design=Design(reps=1),
        batch_size=40,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen[0] == (0, 96)
    assert seen[-1] == (96, 96)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_tasks_and_cases_come_from_their_seed(asia):
    pd.testing.assert_frame_equal(asia.cases(30, seed=4), asia.cases(30, seed=4))
    assert not asia.cases(30, seed=4)["context"].equals(asia.cases(30, seed=5)["context"])
    assert Task.load("asia", target="lung").name == "asia"
    assert Task.load("asia", target="bronc").name == "asia:bronc"


@pytest.mark.parametrize(
    "options",
    [
        {"reps": 0},
        {"prompts": ()},
        {"prompts": ("standard", "odd")},
        {"prompts": ("standard", "standard")},
        {"temperature": -1.0},
        {"temperature": np.nan},
        {"seed": -1},
        {"max_new_tokens": 0},
    ],
)
def test_designs_out_of_range(asia, cases, store, options):
    with pytest.raises(InputError, match=next(iter(options))):
        elicit(Scripted(), asia, cases, store, design=Design(**options))


def test_a_batch_of_nothing(asia, cases, store):
    with pytest.raises(InputError, match="batch_size"):
        elicit(Scripted(), asia, cases, store, batch_size=0)


def test_no_contexts(asia):
    with pytest.raises(InputError, match="contexts must be positive"):
        asia.cases(0, seed=0)
