"""Make inspect_agent.eval with Inspect itself and its mock model: an agent that acts in turns.

Run with inspect_ai 0.3.285 on Python 3.11, from this folder: ``python make_inspect_agent.py``.
Eight episodes of up to three turns; before each the agent is asked aside, and reports a confidence
in percent by a tool, at times together with the action. On purpose: two calls at once, a dose that
is missing, replies in percent and without a number, an episode that errs and one that only talks.
The log is scrubbed as those of make_inspect_logs.py are; of the events those are kept that are
read.
"""

import tempfile
from datetime import datetime
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, transcript, write_eval_log
from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, execute_tools, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolCall, tool
from make_inspect_logs import _WHEN, LOGS, _scrubbed

CASES = (
    # (theta, beliefs by turn, actions by turn)
    ("Yes", (0.6, 0.8, 0.9), ("test a", "test b", "treat 10")),
    ("No", (0.4, 0.3, 0.1), ("test a", "test b, treat 5", "treat 5")),
    ("Yes", (0.5, 0.7, 0.6), ("test b", "treat 10", "test a")),
    ("No", (0.5, 0.2, 0.3), ("test a", "treat", "treat 5")),  # a dose is missing
    ("Yes", (0.7, 0.9), ("test a", "treat 10")),
    ("No", (0.3, 0.2), ("test b", "error")),
    ("No", (0.2, 0.1), ("treat 5", "test a")),
    ("Yes", (0.5,), ("talk",)),
)


@tool(name="test")
def look() -> Tool:
    """Return a tool."""

    async def execute(kind: str) -> str:
        """Run a test.

        Args:
            kind: Which one.
        """
        return f"{kind} is positive"

    return execute


@tool
def treat() -> Tool:
    """Return a tool."""

    async def execute(dose: int) -> str:
        """Treat the patient.

        Args:
            dose: Units to give.
        """
        return "given"

    return execute


@tool
def report_confidence() -> Tool:
    """Return a tool."""

    async def execute(probability: int) -> str:
        """Report how likely the disease is.

        Args:
            probability: In percent.
        """
        return "noted"

    return execute


def _calls(action: str) -> list[ToolCall]:
    calls = []
    for number, words in enumerate(action.split(", ")):
        name, *rest = words.split()
        value: dict[str, Any] = {}
        if rest:
            value = {"kind": rest[0]} if name == "test" else {"dose": int(rest[0])}
        calls.append(ToolCall(id=f"call-{number}", function=name, arguments=value))
    return calls


def _reply(number: int, turn: int, p: float) -> tuple[str, float | None]:
    if (number, turn) == (2, 1):
        return "70%", None  # the solver left it to the reader
    return ("I cannot say.", None) if (number, turn) == (2, 2) else (str(p), p)


@solver
def agent() -> Solver:
    """Return the agent."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        number = int(str(state.sample_id).removeprefix("patient-"))
        tools = [look(), treat(), report_confidence()]

        async def say(text: str, calls: list[ToolCall], before: dict[str, Any] | None) -> None:
            for call in calls:
                call.id = f"{state.sample_id}-{len(state.messages)}-{call.id}"
            message = ChatMessageAssistant(content=text, tool_calls=calls or None)
            output = ModelOutput.from_message(message)
            # Left out, Inspect would look for a tokenizer on the web.
            output.usage = ModelUsage(input_tokens=30, output_tokens=3, total_tokens=33)
            model = get_model("mockllm/model", custom_outputs=[output], memoize=False)
            state.output = await model.generate(state.messages, tools=tools)
            state.messages.append(state.output.message)
            if before:
                transcript().info(before, source="coherence.side_question")
            messages, _ = await execute_tools(state.messages, tools)
            state.messages.extend(messages)

        _, beliefs, actions = CASES[number]
        for turn, (p, action) in enumerate(zip(beliefs, actions, strict=True)):
            if action == "error":
                raise RuntimeError("the sandbox is gone")
            if action == "talk":
                await say("I would rather not act.", [], None)
                continue
            reply, read = _reply(number, turn, p)
            asked = {"turn": turn, "question": "P(ill)?", "reply": reply, "p": read}
            report = ToolCall(
                id="report", function="report_confidence", arguments={"probability": int(100 * p)}
            )
            words = f"Probability: {p}" if turn else "Let me see."
            if number % 2:
                await say("", [report], None)
                await say(words, _calls(action), asked)
            else:
                await say(words, [report, *_calls(action)], asked)
        return state

    return solve


def main() -> None:
    """Run the agent and write its log."""
    samples = [
        Sample(
            id=f"patient-{number}",
            input="A patient.",
            target=theta,
            metadata={"p_true": [round(0.9 * p + 0.05, 3) for p in beliefs]},
        )
        for number, (theta, beliefs, _) in enumerate(CASES)
    ]
    task = Task(dataset=samples, solver=agent(), name="clinic")
    with tempfile.TemporaryDirectory() as folder:
        (done,) = eval(
            task,
            model="mockllm/model",
            log_dir=folder,
            max_samples=1,
            fail_on_error=False,
            display="none",
        )
        log = read_eval_log(done.location)
    events = {
        sample.id: [event for event in sample.events if event.event in ("info", "tool")]
        for sample in log.samples or []
    }
    log, when = _scrubbed(log), datetime.fromisoformat(_WHEN)
    for sample in log.samples or []:
        sample.events = events[sample.id]
        for event in sample.events:
            event.uuid, event.span_id, event.timestamp = None, None, when
            event.working_start = 0.0
            if event.event == "tool":
                event.completed, event.message_id, event.working_time = when, None, 0.0
        if sample.error:
            sample.error.traceback = sample.error.traceback_ansi = ""
        sample.error_retries = None
    write_eval_log(log, str(LOGS / "inspect_agent.eval"))


if __name__ == "__main__":
    main()
