"""Our tasks run in Inspect, in this process; the replies are a function of the question."""

import gc
import hashlib
import warnings

import pytest

from elicitation import Answer


def reply(text, seed):
    """An answer in the form asked for, or one that cannot be read, the same for equal questions."""
    drawn = int(hashlib.sha256(f"{text}{seed}".encode()).hexdigest(), 16)
    if drawn % 17 == 0:
        return Answer("I cannot say.", finish_reason="stop")
    if "No: " in text and "Yes: " in text:
        share = drawn % 101 / 100
        return Answer(f"No: {1 - share:.2f}\nYes: {share:.2f}", finish_reason="stop")
    word = (("A", "B") if "\nA: " in text else ("Yes", "No"))[drawn % 2]
    return Answer(word, finish_reason="length" if drawn % 13 == 0 else "stop")


class Scripted:
    """The model that gives these replies in a session of our own."""

    name = fingerprint = "mockllm/model"

    def generate(self, requests):
        return [reply(request.text, request.seed) for request in requests]


@pytest.fixture
def scripted():
    return Scripted()


@pytest.fixture(scope="module")
def run_task(tmp_path_factory):
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    folder = tmp_path_factory.mktemp("inspect")

    def answer(messages, tools, tool_choice, config):
        (message,) = messages
        said = reply(message.text, config.seed)
        ends = {"stop": "stop", "length": "max_tokens"}
        output = ModelOutput.from_content("mockllm", said.text, ends[said.finish_reason])
        output.usage = ModelUsage()  # else Inspect counts tokens by a file that it has to fetch
        return output

    def run(task, name="model", outputs=answer, **options):
        model = get_model(f"mockllm/{name}", custom_outputs=outputs, memoize=False)
        settings = {"display": "none", "log_dir": str(folder / "logs"), "log_format": "eval"}
        # Inspect leaves streams open, and calls what its libraries will take away.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (log,) = eval(f"belief_coherence/{task}", model=model, **settings, **options)
            gc.collect()
        return log

    return run
