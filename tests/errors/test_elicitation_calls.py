"""Calls of `elicitation` that cannot mean anything.

Breaks if one does not raise an error of ours that names what is wrong, in one line.
"""

import re

import pandas as pd
import pytest

import elicitation
from coherence import CoherenceError
from elicitation.models.local.multiple_choice import load_multiple_choice_model
from elicitation.questions.plan import plan_own_questions

ASIA = elicitation.load_task("asia")
CASES = ASIA.cases(3, seed=0)
HERE = {"server": "http://127.0.0.1:9"}


def agent_of_labels(*labels):
    """Return what an agent knows of labels after one of its questions."""
    plan = elicitation.plan_task(ASIA, CASES, elicitation.Design(reps=1, belief="token"))
    text = plan.questions[0].text
    agent = elicitation.agent_for_task("rational", ASIA, CASES)
    return list(agent.distributions([(text, elicitation.AnswerForm("labels", labels))]))


def connecting(model="m", **options):
    return lambda folder: elicitation.connect(model, **options)


def loading(**options):
    return lambda folder: elicitation.load_causal_model(folder, **options)


def choosing(**options):
    return lambda folder: load_multiple_choice_model(folder, **options)


def asked(method, *arguments):
    """Call a method of an untrained model."""
    return lambda folder: getattr(elicitation.load_causal_model(folder), method)(*arguments)


def designing(**options):
    return lambda folder: elicitation.plan_task(ASIA, CASES, elicitation.Design(**options))


CALLS = {
    # Designs and agents.
    "no room": (designing(max_new_tokens=0), "max_new_tokens"),
    "samples of exact answers": (designing(answers="exact", belief="sampled"), "Take belief='tok"),
    "a guess": (designing(belief="guess"), "belief must be one of"),
    "one level": (designing(decision="matching", levels=1), "levels must be at least 2.*'1'"),
    "levels beyond percents": (designing(decision="matching", levels=100), "at most 99.*'100'"),
    "levels of stakes": (designing(decision="stakes", levels=5), "are those of decision='match"),
    "a decision misspelt": (designing(decision="match"), "one of usual, matching, stakes"),
    "costs of lotteries": (designing(decision="matching", costs="3:1,1:1"), "decision='stakes'"),
    "a cost of half a pair": (designing(decision="stakes", costs="3:1,1"), "with a colon.*'1'"),
    "one ratio": (designing(decision="stakes", costs="3:1,6:2"), "2 to 20 different ratios"),
    "a question of no case": (
        lambda folder: elicitation.agent_for_task("rational", ASIA, CASES).generate(
            [elicitation.Request("Well?", 0, 5)]
        ),
        "knows the questions of its cases alone; received 'Well",
    ),
    "a blank for a question": (lambda folder: elicitation.side_question(" "), "must be a text"),
    "labels of an agent": (lambda folder: agent_of_labels("A", "B"), "labels must be No and Yes"),
    "a number for a question": (
        lambda folder: elicitation.side_question(3),
        "question must be a text",
    ),
    "options alike": (
        lambda folder: plan_own_questions(
            pd.DataFrame([{"context": "a", "belief_question": "?", "action_question": "?"}]).assign(
                options=[("wait", "Wait")]
            ),
            elicitation.Design(answers="exact"),
        ),
        "different options|two or more labels",
    ),
    # Hosted models: options, names and addresses.
    "no call at a time": (connecting(**HERE, max_connections=0), "max_connections must be"),
    "a word for how much": (connecting(**HERE, reasoning_effort="lots"), "reasoning_effort"),
    "a message without chat": (connecting(**HERE, chat=False, system="Be brief."), "need a chat"),
    **{
        f"address {address!r}": (connecting(server=address), "an address must look like")
        for address in ("localhost:8000", "http://", "http://h:99999", "http://a b", "ftp://h")
    },
    **{
        f"name {name!r}": (connecting(name), "model must be PROVIDER/NAME")
        for name in ("m", "Qwen/Qwen3-8B", "hf/openai/gpt-oss-20b", "vllm/")
    },
    "no key": (connecting("openai/gpt-4o"), "OPENAI_API_KEY"),
    "texts to a chat": (connecting("anthropic/m", chat=False), "answers in chats alone"),
    "nothing at an address": (connecting(**HERE, max_retries=0), "m does not answer: Connection"),
    # Local models.
    "a batch of none": (loading(batch_size=0), "batch_size must be positive"),
    "whole numbers as weights": (loading(dtype="int8"), "dtype must be one of"),
    "no device": (loading(device="somewhere"), "device must be auto or a torch device"),
    "an accelerator that is not there": (loading(device="cuda:77"), "needs a CUDA device"),
    "a device and a map": (loading(device_map="auto", device="cpu"), "'cpu' beside it"),
    "a revision of a folder": (loading(revision="main"), "revision is for models on the hub"),
    "a chat without template": (loading(chat=True), "chat template"),
    "a message without template": (loading(system="Be brief."), "system needs a chat template"),
    "choices of a causal model": (choosing(), "could not be loaded as a multiple-choice model"),
    "a text that does not fit": (
        asked("generate", [elicitation.Request("word " * 3000, 0, 5)]),
        "exceeds the model's context of",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from elicitation.training.organisms import make_untrained_model

    return make_untrained_model(tmp_path_factory.mktemp("blank") / "model")


@pytest.mark.parametrize("name", CALLS)
def test_an_error_of_our_own_says_what_was_received(name, folder, monkeypatch):
    for variable in ("OPENAI_API_KEY", "AZUREAI_OPENAI_API_KEY", "VLLM_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    call, message = CALLS[name]
    with pytest.raises(CoherenceError) as caught:
        call(folder)
    assert re.search(message, str(caught.value)), str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert "[bold]" not in str(caught.value)
