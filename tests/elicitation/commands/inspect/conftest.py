"""Our tasks run in Inspect, in this process; the replies are a function of the question."""

import gc
import warnings

import pandas as pd
import pytest

from elicitation import Answer, AnswerStore
from elicitation.inspect_logs import read_inspect_runs

from ...models.hosted.fake_server import in_form


class Scripted:
    """The model that gives these replies in a session of our own."""

    name = fingerprint = "mockllm/model"

    def generate(self, requests):
        said = [in_form(request.text, request.seed) for request in requests]
        return [Answer(text, finish_reason=reason) for text, reason in said]


@pytest.fixture
def session():
    """Run a session of ours with this model."""

    def run(elicit, *asked, **options):
        with AnswerStore(":memory:") as store:
            return elicit(Scripted(), *asked, store, keep_going=True, **options)

    return run


@pytest.fixture(scope="session")
def same():
    """Assert that the table of a log is that of a session."""

    def compare(log, runs):
        of_log, _ = read_inspect_runs([log.location])
        tables = [each.drop(columns="created") for each in (of_log, runs)]
        pd.testing.assert_frame_equal(*tables)

    return compare


@pytest.fixture(scope="module")
def run_task(tmp_path_factory):
    from inspect_ai import eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    folder = tmp_path_factory.mktemp("inspect")

    def answer(messages, tools, tool_choice, config):
        (message,) = messages
        text, reason = in_form(message.text, config.seed)
        output = ModelOutput.from_content(
            "mockllm", text, {"length": "max_tokens"}.get(reason, reason)
        )
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
