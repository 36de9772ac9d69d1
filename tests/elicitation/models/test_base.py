"""Capabilities: breaks if a model is taken for what it is not, or what it can do goes unseen."""

import subprocess
import sys
from pathlib import Path

import pytest

from coherence import InputError
from elicitation import (
    Answer,
    AnswerStore,
    Design,
    HostedModel,
    Model,
    Request,
    ScoringModel,
    agent_for_task,
    elicit,
    outcome_probabilities,
)
from elicitation.answers.distributions import ask_labels
from elicitation.models.base import BoundingModel, LabelModel, OutcomeModel, StreamingModel

ROOT = Path(__file__).parents[3]
CAPABILITIES = (
    Model,
    StreamingModel,
    LabelModel,
    BoundingModel,
    OutcomeModel,
    ScoringModel,
)


class Brought:
    """A model that somebody brings: answers, and a method `stream` of its own."""

    name, fingerprint = "brought", "f"

    def generate(self, requests):
        return [Answer("Can decide: Yes\nDecision: Yes") for _ in requests]

    def stream(self, text):
        yield from text.split()


def capabilities_of(model):
    return {capability for capability in CAPABILITIES if isinstance(model, capability)}


def hosted_model():
    from inspect_ai.model import get_model

    return HostedModel(get_model("openai-api/lab/m", base_url="http://127.0.0.1:9", api_key="none"))


def test_a_local_model_answers_and_scores(model):
    assert capabilities_of(model) == {Model, OutcomeModel, ScoringModel}


def test_a_multiple_choice_model_knows_labels():
    from elicitation import MultipleChoiceModel

    model = MultipleChoiceModel.__new__(MultipleChoiceModel)
    model.name, model.fingerprint = "m", "f"
    assert capabilities_of(model) == {Model, LabelModel}


def test_a_server_streams_and_bounds():
    assert capabilities_of(hosted_model()) == {Model, StreamingModel, BoundingModel}


def test_an_agent_knows_labels(asia, cases):
    assert capabilities_of(agent_for_task("rational", asia, cases)) == {Model, LabelModel}


def test_a_method_named_stream_is_no_stream_of_answers(asia, cases):
    assert capabilities_of(Brought()) == {Model}
    with AnswerStore(":memory:") as store:
        runs, tally = elicit(
            Brought(), asia, cases.head(2), store, design=Design(reps=1, iterated=False)
        )
    assert tally.asked == tally.total
    assert (runs["action"].dropna() == "yes").all()


def test_what_is_no_model_is_none():
    assert capabilities_of(object()) == set()
    assert capabilities_of(type("Unnamed", (), {"generate": Brought.generate})()) == set()


def test_a_lacking_capability_is_named(asia, cases):
    with pytest.raises(InputError, match="gives the probabilities of labels; brought does not"):
        ask_labels(Brought(), ["Does it?"])
    for model in (Brought(), agent_for_task("rational", asia, cases), hosted_model()):
        with pytest.raises(InputError, match=f"all spellings; {model.name} does not. Use a local"):
            outcome_probabilities(model, ["Does it?"], ["Yes", "No"])


def test_requests_have_defaults_that_leave_the_model_alone():
    assert Request("?", 0, 5) == Request("?", 0, 5, temperature=1.0, max_lines=None)


def test_the_extra_is_named_where_it_is_missing():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "try:\n    import elicitation.models.local.causal\n"
        "except ImportError as error:\n    print(type(error).__name__, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.startswith("MissingExtraError Asking a local model needs"), done.stderr
    assert "elicit" in done.stdout


def test_no_backend_is_loaded_before_it_is_used():
    code = (
        "import sys, elicitation, elicitation.models.base, elicitation.models.labels\n"
        "print(sorted({'torch', 'transformers', 'httpx'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr
