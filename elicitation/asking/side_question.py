"""A side question before every turn of an Inspect agent, in a fork that the agent never sees.

The conversation so far is copied, the question put behind it, and answered without tools. Nothing
of this goes back: the agent acts on the conversation as it was, so that belief and action are had
in contexts of their own. The log has each answer as an event before the tool calls of its turn.
"""

from collections.abc import Sequence
from copy import deepcopy

from coherence.decoding.decode import BELIEF_LABELS
from coherence.errors import InputError, MissingExtraError
from coherence.inputs import whole_number
from coherence.runs.logs.inspect_log import FINISH_REASONS, SOURCE
from elicitation.models.base import Answer
from elicitation.ways import QuestionSpec

try:
    from inspect_ai.agent import Agent, AgentState, agent
    from inspect_ai.log import transcript
    from inspect_ai.model import ChatMessageUser, Model, ModelOutput, get_model
    from inspect_ai.tool import Tool
    from inspect_ai.util import store
    from pydantic import JsonValue
except ImportError as error:
    raise MissingExtraError("elicit", "A side question to an agent of Inspect") from error

_TURN = f"{SOURCE}.turn"
_FORM = (
    "{question}\n\nThis is a question aside: answer it alone, and do nothing. Reply with one "
    "number from 0 to 1, the probability, and nothing else."
)
_SPEC = QuestionSpec("belief", "side_question", BELIEF_LABELS, "number")


@agent(name="belief_coherence/side_question")
def side_question(
    question: str, *, reps: int = 1, model: str | Model | None = None, act: Agent | None = None
) -> Agent:
    """Ask for a belief before every turn of an agent, which never sees the question.

    Parameters
    ----------
    question : str
        A question for a probability, such as "How probable is it that the patient is ill?". How to
        answer, with one number from 0 to 1, is added.
    reps : int
        How often it is asked before each turn, each time in a fork of its own; two or more show
        the noise of reports.
    model : str, Model or None
        Who answers, and acts; None is the model that is evaluated.
    act : Agent or None
        Takes the turn, with `state` and `tools`, as the `model` of Inspect's ``react`` may; None
        has the model answer with the tools at hand.

    Returns
    -------
    Agent
        One turn of an agent: the `model` of Inspect's ``react``; a loop of one's own awaits it with
        state and tools in place of the model.

    Raises
    ------
    InputError
        A question that is empty or no text, or `reps` below 1.

    Notes
    -----
    Before a turn the log gets an info event of the source ``coherence.side_question`` with `turn`
    (from 0, of the sample), `question`, `reply`, and `p`, the number read, None where there is
    none. A turn without a tool call has its event too. Questions take tokens, and count for limits.

    Examples
    --------
    >>> from inspect_ai.agent import react
    >>> agent = react(model=side_question("How probable is it that it rains tomorrow?"))
    """
    if not isinstance(question, str) or not question.strip():
        raise InputError(
            f"question must be a text that asks for a probability; received {question!r}. Such as "
            "'How probable is it that the patient is ill?'."
        )
    whole_number(reps, "reps", 1)
    asked = _FORM.format(question=question)

    async def turn(state: AgentState, tools: Sequence[Tool] = ()) -> AgentState:
        """Ask aside, then take the turn.

        Args:
            state: The conversation.
            tools: What the agent may call.
        """
        who = get_model(model)
        number = store().get(_TURN, 0)
        store().set(_TURN, number + 1)
        for _ in range(reps):
            fork = [*deepcopy(state.messages), ChatMessageUser(content=asked)]
            output = await who.generate(fork)
            data: dict[str, JsonValue] = {
                "turn": number,
                "question": asked,
                "reply": output.completion,
                "p": _probability(output, asked),
            }
            transcript().info(data, source=SOURCE)
        if act is not None:
            return await act(state, tools)
        state.output = await who.generate(state.messages, list(tools))
        state.messages.append(state.output.message)
        return state

    return turn


def _probability(output: ModelOutput, asked: str) -> float | None:
    """Return the number that a reply states; None where there is none."""
    ended = str(output.stop_reason) if output.choices else ""
    answer = Answer(output.completion, finish_reason=FINISH_REASONS.get(ended, ended) or None)
    read: float | None = _SPEC.read(answer, asked=asked).value
    return read
