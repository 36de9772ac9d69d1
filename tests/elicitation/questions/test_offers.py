"""Matching and stakes questions: breaks if order or frame goes with the case or the level, if an
answer means another option than the one named, or if a question answers for another."""

from functools import cache

import pandas as pd
import pytest

import coherence
from coherence import AGENTS, InputError
from coherence.runs.read import validate_runs
from elicitation import (
    TABLE_PROMPTS,
    Answer,
    AnswerStore,
    Design,
    agent_for_task,
    elicit,
    load_prompts,
    load_task,
    plan_task,
)
from elicitation.questions.plan import plan_own_questions
from elicitation.questions.prompts import chances_of

MATCHING = {"decision": "matching", "prompts": ("standard",), "iterated": False}
STAKES = {**MATCHING, "decision": "stakes"}
SAID = {**MATCHING, "decision": "costs-said"}


def offered(asia, cases, **options):
    """The offers of a plan as a table, with the texts."""
    questions = plan_task(asia, cases, Design(**options)).questions
    assert {each.spec.role for each in questions} == {"belief", options["decision"]}
    columns = ("case", "rep", "level", "frame", "order", "text")
    rows = [
        (each.case, each.rep, spec.level, spec.frame, spec.order, each.text)
        for each in questions
        if (spec := each.spec).is_offer
    ]
    table = pd.DataFrame(rows, columns=columns)
    # Against the event itself.
    event = table["level"].where(table["frame"] != "complement", 1 - table["level"])
    return table.assign(event=event.round(2))


def session(agent, asia, cases, **options):
    model = agent_for_task(agent, asia, cases, decision=options["decision"])
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(model, asia, cases, store, design=Design(**options))
        again, second = elicit(model, asia, cases, store, design=Design(**options))
    assert (second.asked, tally.reused) == (0, 0)
    pd.testing.assert_frame_equal(runs, again)
    validate_runs(runs)
    return runs


def test_order_and_frame_are_crossed_and_balanced_within_every_case(asia, cases):
    one = offered(asia, cases, reps=1, **MATCHING)
    assert (one.groupby("case").size() == 10).all()
    assert (one.groupby(["case", "frame"]).size() == 5).all()
    assert (one.groupby(["case", "order"]).size() == 5).all()
    assert one.groupby("case")[["frame", "order"]].value_counts().between(2, 3).all()
    assert (one.groupby("case")["event"].unique().map(sorted).map(tuple) == chances_of(10)).all()
    four = offered(asia, cases, reps=4, **MATCHING)
    exact = offered(asia, cases, answers="exact", **MATCHING)
    for every in (four, exact):  # all four cells of every level
        assert len(every) == len(every.drop_duplicates(["case", "event", "frame", "order"]))
        assert (every.groupby(["case", "event"]).size() == 4).all()
    # Not the same cells in all cases, and the same for the same seed.
    assert one.groupby("case")["frame"].agg(tuple).nunique() > 3
    pd.testing.assert_frame_equal(one, offered(asia, cases, reps=1, **MATCHING))
    assert not one.equals(offered(asia, cases, reps=1, seed=1, **MATCHING))


def test_stakes_are_stated_as_payoffs_in_both_orders(asia, cases):
    two = offered(asia, cases, reps=2, **STAKES)
    assert (two.groupby(["case", "level", "order"]).size() == 1).all()
    assert two["level"].unique().tolist() == [0.1, 0.25, 0.5, 0.75, 0.9]
    first = two.loc[(two["level"] == 0.1) & (two["order"] == "act"), "text"].iloc[0]
    assert "A: You gain 18 points" in first
    assert "lose 2 points" in first
    assert not two["text"].str.contains("%", regex=False).any()


def test_a_text_says_what_its_row_says_and_the_chance_stands_late(asia, cases):
    for row in offered(asia, cases, answers="exact", **MATCHING).itertuples():
        lines = [line for line in row.text.splitlines() if line[:2] in ("A:", "B:")]
        lottery = lines[row.order != "lottery"]
        event = lines[row.order == "lottery"]
        assert f" {row.level:.0%}." in lottery
        assert ("do not have lung cancer" in event) == (row.frame == "complement")
        assert row.text.index("%") > 0.7 * len(row.text)  # what stands before it is read once


@pytest.mark.parametrize(("n", "first"), [(10, 0.05), (3, 0.17), (4, 0.12), (99, 0.01)])
def test_chances_are_whole_percents_and_their_own_complement(n, first):
    chances = chances_of(n)
    assert chances[0] == first
    assert len(set(chances)) == n
    assert [round(1 - chance, 2) for chance in reversed(chances)] == list(chances)


def test_acting_pays_from_the_stated_threshold_on(asia, cases):
    runs = session("greedy", asia, cases, temperature=0, reps=2, **STAKES)
    stated = runs[runs["loss"].isna()].groupby("context")["p"].first()
    asked = runs[runs["loss"].notna()]
    belief, pays = asked["context"].map(stated), asked["loss"] / (asked["gain"] + asked["loss"])
    clear = (belief - pays).abs() > 0.01
    assert clear.sum() > 50
    assert ((asked["action"] == asked["acts"]) == (belief > pays))[clear].all()
    both = pd.concat([runs, session("greedy", asia, cases, reps=2, **MATCHING)])
    both = both.drop_duplicates(["context", "rep", "level", "gain", "loss", "order"])
    for rows in (runs, both):  # neither sees the questions of the other
        (evaluation,) = coherence.analyze(rows, checks=["stakes", "matching"], rng=1).evaluations
        assert evaluation.stakes is not None
        counts = evaluation.statuses.set_index("question")["rows"]
        assert counts["stakes questions"] == len(asked)


@cache
def cases_of_heart():
    heart = load_task("heart")
    return heart, heart.cases(60, seed=1)


def test_a_cost_that_is_said_stands_in_a_row_of_its_own(asia, cases):
    runs = session(AGENTS["rational"], asia, cases, answers="exact", reps=1, **SAID)
    said = runs[runs["says_from"].notna()]
    assert (said.groupby(["gain", "loss", "order"]).size() == 1).all()
    assert (said["says_from"] == said["loss"] / (said["gain"] + said["loss"])).all()
    assert len(said) > 1


@pytest.mark.lengthy
@pytest.mark.parametrize("answers", ["drawn", "exact"])
@pytest.mark.parametrize("heeds", [0.0, 0.5, 1.0])
def test_costs_asked_for_and_said_are_told_from_those_acted_on(heeds, answers):
    """Breaks if a cost is not in the text, or an answer without a case is one of a case."""
    heart, cases = cases_of_heart()
    agent = AGENTS["rational"].with_parameters(heeds=heeds, slope=30.0, taste=0.0)
    runs = session(agent, heart, cases, answers=answers, reps=1 + (answers == "drawn"), **SAID)
    said = runs[runs["says_from"].notna()]
    first = said["asked_action"].str.contains("would you choose A")
    assert (first == (said["order"] == "act")).all()
    assert (said["asked_action"].str.contains("gain 3 points") == (said["gain"] == 3)).all()
    (evaluation,) = coherence.analyze(runs, checks=["stakes"], rng=1).evaluations
    found = {result.check.partition(":")[2]: result for result in evaluation.results}
    assert found["slope"].low - 1e-9 <= heeds <= found["slope"].high + 1e-9
    assert found["difference"].low - 1e-9 <= 0 <= found["difference"].high + 1e-9
    assert found["said_slope"].statistic == pytest.approx(1)
    assert (evaluation.headline.code == "ignores_stakes") == (heeds == 0)


class Scripted:
    """Says the same to every offer."""

    name = fingerprint = "scripted"

    def __init__(self, said):
        self.said = said

    def generate(self, requests):
        belief = Answer("No: 0.40\nYes: 0.60")
        return [self.said if "\nA: " in each.text else belief for each in requests]


WORDS = """
[matching]
text = "{question} Nehmen Sie: {options}"
lottery = "Ein Los, das mit {chance} Prozent gewinnt."
"""


@pytest.mark.parametrize(
    ("said", "status", "first"),
    [
        (Answer("A"), "ok", True),
        (Answer("B."), "repaired:punctuation", False),
        (Answer("B: You neither gain nor lose any points."), "repaired:words", None),
        (Answer("Both are fine."), "unparsed", None),
        (Answer("I cannot decide."), "refused", None),
        (Answer("", finish_reason="length"), "truncated", None),
    ],
)
def test_a_letter_is_the_option_named_so(asia, cases, store, said, status, first):
    design = Design(reps=2, **STAKES)
    runs, _ = elicit(Scripted(said), asia, cases, store, design=design, keep_going=True)
    asked = runs[runs["loss"].notna()]
    assert runs.loc[runs["loss"].isna(), "status"].eq("ok").all()
    if first is not None:
        assert asked["status"].eq(status).all()
        assert (asked["action"] == asked["order"]).eq(first).all()
    elif status == "repaired:words":  # the words choose where the second option has them
        read = asked["status"].isin(["ok", status])
        assert (asked.loc[read, "action"] == "pass").all()
        assert (read == (asked["order"] == "act")).all()
    else:
        assert asked["status"].eq(status).all()
        assert asked["action"].isna().all()


def test_questions_of_ones_own_are_prizes_on_the_answer_yes(tmp_path, store):
    table = pd.DataFrame({"context": ["a", "b"], "options": ["go|stay"] * 2})
    table["belief_question"] = ["How probable is rain?", "How probable is snow?"]
    table["yes_no_question"] = ["Will it rain?", "Will it snow?"]
    table["action_question"] = "What do you do?"
    design = Design(reps=4, **MATCHING)
    runs, _ = elicit(Scripted(Answer("A")), "questions", table, store, design=design)
    asked = runs[runs["level"].notna()]
    texts, named = asked["asked_action"], asked["context"].map({"a": "rain?", "b": "snow?"})
    assert (named == texts.str.extract(r"(\w+\?)")[0]).all()
    assert (texts.str.contains("to be No") == (asked["frame"] == "complement")).all()
    assert not runs["asked_action"].str.contains("What do you do", na=False).any()
    with pytest.raises(InputError, match="needs the column 'yes_no_question'"):
        plan_own_questions(table.drop(columns="yes_no_question"), Design(**MATCHING))
    # Words of one's own, for the question and for what an option says.
    file = tmp_path / "words.toml"
    file.write_text(WORDS, encoding="utf-8")
    templates, _ = load_prompts(file, TABLE_PROMPTS)
    plan = plan_own_questions(table, Design(reps=1, templates=templates, **MATCHING))
    last = plan.questions[-1].text
    assert last.startswith("Will it snow? Nehmen Sie: A: ")
    assert "Ein Los, das mit " in last
    assert "You win the prize if" in last
    file.write_text('[matching]\ntext = "{options}"\nlottery = "a lot"\nlot = "x"', "utf-8")
    with pytest.raises(InputError, match=r"'lot'.*\{question\}.*\{chance\}"):
        load_prompts(file, TABLE_PROMPTS)
