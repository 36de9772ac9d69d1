import re

import pytest

from elicitation.models.base import Answer
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
def scripted():
    return Scripted


@pytest.fixture
def store():
    with AnswerStore(":memory:") as opened:
        yield opened
