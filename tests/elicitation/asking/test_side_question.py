"""The agent never sees the side question; the log has its answer before the calls of the turn."""

import gc
import warnings

from elicitation import side_question


def looks(n):
    """A model that looks outside n times and submits, and the conversations that it was shown."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    shown = []

    def answer(messages, tools, tool_choice, config):
        shown.append((messages, tools))
        done = sum(message.role == "tool" for message in messages)
        output = ModelOutput.from_content("mockllm", "0.7" if done else "Likely, I think.")
        if tools:
            call = ("submit", {"answer": "rain"}) if done == n else ("look", {})
            output = ModelOutput.for_tool_call("mockllm", *call)
        output.usage = ModelUsage()
        return output

    return get_model("mockllm/agent", custom_outputs=answer, memoize=False), shown


def test_a_fork_is_asked_before_every_turn_and_leaves_no_trace(tmp_path):
    from inspect_ai import Task, eval
    from inspect_ai.agent import react
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.tool import tool

    @tool
    def look():
        async def execute() -> str:
            """Look outside."""
            return "It is cloudy."

        return execute

    model, shown = looks(2)
    asks = side_question("How probable is rain?")
    samples = [Sample(input="Will it rain?", id=number) for number in (1, 2)]
    task = Task(dataset=MemoryDataset(samples), solver=react(model=asks, tools=[look()]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (log,) = eval(task, model=model, display="none", log_dir=str(tmp_path), max_samples=1)
        gc.collect()
    assert log.status == "success", log.error
    for sample in log.samples:
        kept = [event for event in sample.events if event.event in ("info", "tool")]
        assert [event.event for event in kept] == ["info", "tool"] * 3
        asides = [event.data for event in kept[::2]]
        assert all(event.source == "coherence.side_question" for event in kept[::2])
        assert [aside["turn"] for aside in asides] == [0, 1, 2]
        assert [aside["p"] for aside in asides] == [None, 0.7, 0.7]
        assert asides[0]["reply"] == "Likely, I think."
        assert not any("probable" in message.text for message in sample.messages)
    forks, turns = shown[::2], shown[1::2]
    for (asked, tools), (seen, _) in zip(forks, turns, strict=True):
        assert not tools
        assert [message.text for message in asked[:-1]] == [message.text for message in seen]
        assert asked[-1].text.startswith("How probable is rain?")
