"""Reading the answers of a session: breaks if one is read twice, or how it ended is not told."""

import re

import pytest

from elicitation import Answer, Design, elicit


class Thinker:
    """Thinks aloud, explains itself, and is cut where it has too much to say."""

    name, fingerprint = "thinker", "1"

    def generate(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if "Decision:" in request.text:
            text = "<think>Yes?</think>\n**Can decide:** Yes\n**Decision:** No\n\nAs it seems."
            return Answer(text, finish_reason="stop")
        if "Brier" in request.text:
            return Answer("<think>\nNo: 0.10\nYes: 0.90\nBut", finish_reason="length")
        if "absolute" in request.text:
            return Answer("No: 0.30\nYes: 0.7", finish_reason="length")
        if "Bayesian" in request.text:
            return Answer("", finish_reason="content_filter")
        said = "No: 0.30\nYes: 0.70\n\nCorrected:\nNo: 0.40\nYes: 0.60"
        return Answer(said[:18] if request.seed % 2 else said, thinking="Well.")


def test_whole_replies_are_read_and_how_they_ended_is_told(asia, cases, store):
    design = Design(reps=4, iterated=False)
    # The longest texts come first, and none of those is answered well.
    runs, tally = elicit(Thinker(), asia, cases, store, design=design, keep_going=True)
    by_prompt = dict(list(runs.groupby("prompt")))
    assert set(by_prompt["mse"]["status"]) == set(by_prompt["absolute"]["status"]) == {"truncated"}
    assert set(by_prompt["bayes"]["status"]) == {"refused"}
    assert set(by_prompt["mse"]["finish_reason"]) == {"length"}
    assert set(by_prompt["bayes"]["finish_reason"]) == {"content_filter"}
    standard = by_prompt["standard"]
    assert set(standard["action"]) == {"no"}
    assert set(standard["finish_reason"]) == {"stop"}  # of the action; the belief's is not known
    # A reply that corrects itself has no value; its first lines alone would have.
    assert set(zip(standard["p"].fillna(-1), standard["status"], strict=True)) == {
        (0.7, "repaired:passage"),
        (-1.0, "unparsed"),
    }
    n = len(cases) * 4
    assert (tally.total, tally.truncated, tally.thought) == (5 * n, 2 * n, 3 * n)


class Echo:
    """Repeats the question before it answers, plain or in bold letters."""

    name, fingerprint = "echo", "1"

    def __init__(self, said, bold):
        self.said, self.mark = said, "**" * bold

    def generate(self, requests):
        marked = self.mark + r"\1" + self.mark
        texts = [re.sub(r"(?m)^(.+)$", marked, request.text) for request in requests]
        return [Answer(f"{text}\n{self.said}") for text in texts]


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize(("said", "beliefs"), [("No: 0.20\nYes: 0.80", [0.8]), ("", [])])
def test_a_repeated_question_is_no_answer(asia, cases, store, bold, said, beliefs):
    """Breaks if the example of a question that a model repeats is read as its answer."""
    design = Design(reps=1, iterated=False)
    runs, _ = elicit(Echo(said, bold), asia, cases, store, design=design, keep_going=True)
    assert runs["p"].dropna().unique().tolist() == beliefs
    assert runs["action"].isna().all()
