"""Capabilities: breaks if a model is taken for what it is not, or what it can do goes unseen."""

import subprocess
import sys
from pathlib import Path

from elicitation import (
    Answer,
    AnswerStore,
    Design,
    elicit,
)

ROOT = Path(__file__).parents[3]


class Brought:
    """A model that somebody brings: answers, and a method `stream` of its own."""

    name, fingerprint = "brought", "f"

    def generate(self, requests):
        return [Answer("Can decide: Yes\nDecision: Yes") for _ in requests]

    def stream(self, text):
        yield from text.split()


def test_a_method_named_stream_is_no_stream_of_answers(asia, cases):
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(
            Brought(), asia, cases.head(2), store, design=Design(reps=1, iterated=False)
        )
    assert tally.asked == tally.total
    assert (runs["action"].dropna() == "yes").all()


def test_the_extra_is_named_where_it_is_missing():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    import elicitation.models.local.causal\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("MissingExtraError Asking a local model needs"), done.stderr
    assert "elicit" in done.stdout
