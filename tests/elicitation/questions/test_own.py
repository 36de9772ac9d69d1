"""Questions of one's own, and beliefs that are read off.

Breaks if a question is changed, an answer is misplaced, or a fault passes.
"""

import json

import numpy as np
import pandas as pd
import pytest

from coherence import InputError
from coherence.runs.read import validate_runs
from elicitation import Answer, Design, Distribution, elicit, load_questions
from elicitation.questions.plan import plan_own_questions

from ..models.hosted.fake_server import Fake, answer, connected, listing

CSV = """id,belief_question,yes_no_question,action_question,options,theta,p_true,x_sky
d1,How probable is rain? {sky} "grey",Will it rain?,Umbrella?,take it|leave it,1,0.8,grey
NA,How probable is rain?,Will it rain today?,Umbrella today?,take it|leave it|wait,0,,blue
"""


class Own:
    """A model of a user's own: any object with these three members."""

    name, fingerprint = "own", "own-1"

    def __init__(self, belief="No: 0.25\nYes: 0.75", action="take it", word="Yes"):
        self.belief, self.action, self.word, self.texts = belief, action, word, []

    def generate(self, requests):
        self.texts += [request.text for request in requests]
        return [Answer(self.answer(request), -1.5) for request in requests]

    def answer(self, request):
        if "options" in request.text or "Decision" in request.text:
            return self.action
        if "one word" in request.text:
            return self.word if request.seed % 4 else "No"
        return self.belief


class Labelled(Own):
    masses = (0.2, 0.6)

    answer_kinds = ("labels",)

    def distributions(self, questions):
        for position, (_, form) in enumerate(questions):
            assert form.labels == ("No", "Yes")
            yield position, Distribution((dict(zip(form.labels, self.masses, strict=True)),))


@pytest.fixture
def table(tmp_path):
    (tmp_path / "q.csv").write_text(CSV, encoding="utf-8")
    return load_questions(tmp_path / "q.csv")


def asked(model, table, store, **design):
    return elicit(model, "questions", table, store, design=Design(**{"reps": 1, **design}))


def test_csv_and_jsonl_say_the_same(table, tmp_path):
    records = table.assign(options=table["options"].map(list)).to_dict("records")
    records[1]["p_true"] = None
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n\n")
    pd.testing.assert_frame_equal(load_questions(tmp_path / "q.jsonl"), table, check_dtype=False)
    assert table["context"].tolist() == ["d1", "NA"]
    assert table["options"].tolist() == [("take it", "leave it"), ("take it", "leave it", "wait")]
    assert np.isnan(table.loc[1, "p_true"])


def test_questions_are_asked_as_they_stand_and_answers_land_on_their_rows(table, store):
    model = Own()
    runs, tally = elicit(model, "rain", table, store, design=Design(reps=2))
    validate_runs(runs)
    assert (len(runs), tally.total) == (2 * 2 * 4, 2 * 2 * 5)
    assert any(text.startswith('How probable is rain? {sky} "grey"\n') for text in model.texts)
    assert any("nothing else:\ntake it\nleave it\nwait\n" in text for text in model.texts)
    assert (runs["p"] == 0.75).all()
    standard = runs["prompt"] == "standard"
    assert (runs.loc[standard, "action"] == "take it").all()
    assert runs.loc[~standard, "action"].isna().all()
    assert runs.groupby("context")["theta"].first().to_dict() == {"d1": 1, "NA": 0}
    assert set(runs["x_sky"]) == {"grey", "blue"}
    assert (runs["logprob_belief"] == -1.5).all()
    assert "z" not in runs.columns
    # What is not known is no column.
    runs, _ = asked(Own(), table[["context", "belief_question"]], store)
    assert not {"theta", "p_true", "action", "raw_action"} & set(runs.columns)
    validate_runs(runs)


def test_sampled_beliefs_are_rates_over_draws(table, store):
    runs, tally = asked(Own(), table, store, reps=3, belief="sampled", draws=10)
    validate_runs(runs)
    assert tally.total == 2 * 3 * 11
    assert set(runs["prompt"]) == {"sampled"}
    for row in runs.itertuples():
        counts = json.loads(row.raw_belief)
        assert sum(counts.values()) == 10
        assert row.p == pytest.approx(counts.get("Yes", 0) / 10)
    assert runs["p"].nunique() > 1
    assert (runs["answer_mass"] == 1).all()


class Refusing(Own):
    """Answers yes or no by the rest of the seed."""

    def __init__(self, *words):
        super().__init__()
        self.words = words

    def answer(self, request):
        one = self.words[request.seed % len(self.words)]
        return one if "one word" in request.text else super().answer(request)


def test_a_rate_counts_readable_draws_alone_and_of_few_is_none(table, store):
    refusal, sampled = "I cannot say that.", {"belief": "sampled", "draws": 40}
    runs, _ = asked(Refusing("Yes", "no", refusal), table, store, **sampled)
    for row in runs.itertuples():
        counts = json.loads(row.raw_belief)
        read = counts["Yes"] + counts["no"]
        assert read > 20
        assert row.p == pytest.approx(counts["Yes"] / read)
        assert row.answer_mass == pytest.approx(read / 40)
    runs, _ = asked(Refusing("Yes", *[refusal] * 3), table, store, seed=1, **sampled)
    assert runs["p"].isna().all()
    assert set(runs["status"]) == {"refused"}
    assert (runs["answer_mass"] < 0.5).all()


@pytest.mark.parametrize(
    ("masses", "p", "status"),
    [
        ((0.2, 0.6), 0.75, "ok"),
        ((0.1, 0.3), 0.75, "low_mass"),
        ((0.0, 0.0), np.nan, "unparsed"),
        ((0.5, 0.5 + 1e-9), 0.5, "ok"),  # rounding
    ],
)
def test_token_beliefs_are_shares_of_the_label_mass(table, store, masses, p, status):
    model = Labelled()
    model.masses = masses
    runs, _ = asked(model, table, store, reps=2, belief="token")
    assert set(runs["prompt"]) == {"token"}
    assert set(runs["status"]) == {status}
    assert runs["answer_mass"].tolist() == pytest.approx([sum(masses)] * 4)
    # Every digit is kept.
    assert json.loads(runs["raw_belief"].iloc[0]) == dict(zip(("No", "Yes"), masses, strict=True))
    assert runs["p"].astype(float).tolist() == pytest.approx([p] * 4, nan_ok=True)
    # Nothing is drawn: the repetitions share one answer.
    assert len(store) == 2 + 2 * 2


def test_token_beliefs_need_probabilities_and_their_column(table, store):
    with pytest.raises(InputError, match="the probabilities of labels; own does not"):
        asked(Own(), table, store, belief="token")
    with pytest.raises(InputError, match="needs the column 'yes_no_question'"):
        asked(Labelled(), table.drop(columns="yes_no_question"), store, belief="token")


@pytest.mark.parametrize(
    ("likely", "p"),
    [
        # What is not listed may be either label: the belief is the middle, if that is near enough.
        ({"Yes": 0.5, "No": 0.481}, 0.5095),
        ({"Yes": 0.5, "No": 0.479}, np.nan),
        ({"Yes": 0.7, "The": 0.1}, np.nan),
    ],
)
def test_a_server_that_lists_likely_tokens_gives_a_belief_where_the_list_suffices(
    table, store, likely, p
):
    fake = Fake(lambda body, n: listing(likely) if body.get("logprobs") else answer("take it"))
    with connected(fake) as model:
        runs, tally = asked(model, table, store, belief="token")
    assert tally.too_wide == 2 * np.isnan(p)
    mass = sum(likely.values()) - likely.get("The", 0)
    assert runs["answer_mass"].tolist() == pytest.approx([mass] * 2)
    assert runs["p"].astype(float).tolist() == pytest.approx([p] * 2, nan_ok=True)


FAULTS = (
    "7 errors",
    "'truth' is unknown",
    "'context' is empty; see row 2",
    "'context' must be unique; see row 1",
    "'belief_question' is empty; see row 1",
    "must hold texts; see row 2",
    "two or more different options",
    "'p_true' must hold probabilities in [0, 1]; see rows 1, 2",
)


def test_every_fault_of_a_table_comes_at_once():
    faulty = pd.DataFrame({"context": ["a", "a", None], "belief_question": ["ok", "", 3]})
    faulty = faulty.assign(action_question=list("xyz"), options="yes", truth=[0, 1, 0])
    faulty["p_true"] = [0.5, 1.5, "high"]
    with pytest.raises(InputError) as caught:
        plan_own_questions(faulty, Design())
    assert [part for part in FAULTS if part not in str(caught.value)] == []


@pytest.mark.parametrize("options", [5, "yes|Yes", "a|", ("a", "b\nc"), "a|b\rc", "a|" + "b" * 201])
def test_options_are_lines_that_differ(options):
    row = {"context": "a", "belief_question": "?", "action_question": "?", "options": options}
    with pytest.raises(InputError, match="two or more different options"):
        plan_own_questions(pd.DataFrame([row]), Design())
