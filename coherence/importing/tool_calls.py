"""Episodes of agents in Inspect logs: an episode is a case, its last call of a tool the action.

The belief is what was said before that call in the same episode: aside (an event that the solver
wrote into the transcript), as an argument of a tool that reports it, or in words. What came before
what is told by places in the transcript, never by ids of calls, which repeat in some logs. Samples
come from Inspect's own reader some at a time, as all of a long log at once do not fit into memory.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError, closest, listing
from coherence.importing.cells import belief_cell
from coherence.importing.inspect_log import episodes_of, log_notes, record_of, whole_text
from coherence.importing.log_format import PICKED, AnswerLog, names_of, sample_columns
from coherence.table.schema import OWN_CONTEXT, SAME_CONTEXT

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SIDE_QUESTION, TEXT, TOOL = "side_question", "text", "tool:"
SOURCE = "coherence.side_question"
"""Source of the event by which a solver records what it asked aside."""
UNPARSED = "unparsed"
_GRADES = {"C", "I", "P", "N"}  # of an answer, as Inspect's scorers give them


@dataclass(frozen=True)
class CallReading:
    """Which calls are the action, and where the belief stands."""

    # TOOL, or TOOL.ARGUMENT where a value of the argument is the action
    tools: tuple[str, ...]
    # SIDE_QUESTION, TEXT or "tool:NAME.ARGUMENT"; None: in words if there is a pattern, else aside
    belief_from: str | None = None
    pattern: re.Pattern[str] | None = None  # of the number that is the belief

    def __post_init__(self) -> None:
        """Refuse places that there are not."""
        if not self.tools:
            raise InputError(
                "action_from must name a tool, or several with commas between them, such as "
                "--action-from treat,home."
            )
        if self.belief_from in (None, SIDE_QUESTION, TEXT) or self.belief_argument:
            return
        raise InputError(
            f"belief_from must be {SIDE_QUESTION}, {TEXT} or {TOOL}NAME.ARGUMENT, such as "
            f"--belief-from tool:report_confidence.probability; received {self.belief_from!r}."
        )

    @property
    def source(self) -> str:
        """Where the belief stands."""
        return self.belief_from or (TEXT if self.pattern else SIDE_QUESTION)

    @property
    def belief_argument(self) -> tuple[str, str] | None:
        """The tool that reports beliefs, and its argument."""
        if self.belief_from is None or not self.belief_from.startswith(TOOL):
            return None
        tool, dot, argument = self.belief_from.removeprefix(TOOL).rpartition(".")
        return (tool, argument) if tool and dot and argument else None

    def argument_of(self, tool: str) -> str | None:
        """Return the argument of a tool that is the action: empty for all, None of no action."""
        of = {name.removeprefix(f"{tool}.") for name in self.tools if name.startswith(f"{tool}.")}
        return "" if tool in self.tools else next(iter(of), None)


@dataclass(frozen=True)
class Call:
    """One call of a tool."""

    tool: str
    arguments: Mapping[str, Any]
    broken: bool = False  # whether its arguments could not be read

    def __str__(self) -> str:
        """Write the call as it would be typed."""
        given = ", ".join(f"{name}={as_text(value)}" for name, value in self.arguments.items())
        return f"{self.tool}({given})"


@dataclass(frozen=True)
class Episode:
    """A sample of one epoch, in the order of its transcript."""

    sample: EvalSample
    spoken: list[Call | str]  # words and calls of the agent's own messages
    events: list[Mapping[str, Any] | str]  # what was asked aside, and names of tools that were run

    @property
    def name(self) -> str:
        """What identifies it: the sample, and the epoch after the first."""
        epoch = self.sample.epoch
        return f"{self.sample.id}" if epoch == 1 else f"{self.sample.id} (epoch {epoch})"

    @property
    def calls(self) -> list[Call]:
        """The calls of the agent's own messages."""
        return [each for each in self.spoken if isinstance(each, Call)]

    def asked_before(self, at: int) -> list[Mapping[str, Any]]:
        """Return what was last asked aside before what stands at a place of `spoken`."""
        end = len(self.events)
        if at < len(self.spoken) and isinstance(acted := self.spoken[at], Call):
            called = sum(call.tool == acted.tool for call in self.calls)
            run = [place for place, event in enumerate(self.events) if event == acted.tool]
            # Where a call was not run, as at a limit, it is the last: all else was before it.
            end = run[-1] if len(run) >= called else end
        asked: list[Mapping[str, Any]] = []
        for event in reversed(self.events[:end]):
            if isinstance(event, str) or (asked and event.get("turn") != asked[0].get("turn")):
                if asked:
                    break
                continue
            asked.insert(0, event)
        return asked


def as_text(value: object) -> str:
    """Return an argument's value as a label shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_episodes(path: Path) -> tuple[EvalLog, Iterator[Episode]]:
    """Return a log's header, and its episodes as they are read."""
    log, samples = episodes_of(path)
    return log, map(_episode, samples)


def _episode(sample: EvalSample) -> Episode:
    spoken: list[Call | str] = []
    for message in sample.messages:
        # What an input shows, as in an example, the agent has not said.
        if message.role == "assistant" and message.source != "input":
            text = whole_text(message.text, sample).strip()
            spoken += [text] * bool(text)
            spoken += [
                Call(each.function, each.arguments, bool(each.parse_error))
                for each in message.tool_calls or ()
            ]
    events: list[Mapping[str, Any] | str] = []
    for event in sample.events:
        if event.event == "info" and event.source == SOURCE:
            data = event.data if isinstance(event.data, dict) else {"reply": event.data}
            events.append(
                {
                    name: whole_text(value, sample) if isinstance(value, str) else value
                    for name, value in data.items()
                }
            )
        elif event.event == "tool":
            events.append(event.function)
    return Episode(sample, spoken, events)


def read_calls(path: Path, *, reading: CallReading) -> AnswerLog:
    """Return the episodes of a log, one record each, or one for each time it was asked aside.

    Raises
    ------
    InputError
        No call, a tool or an argument that no call has, or nothing that says where beliefs stand.
    """
    log, episodes = read_episodes(path)
    made = _Made(path, reading)
    for episode in episodes:
        made.add(episode)
    made.check()
    records, names = tuple(made.records), names_of(made.records)
    columns = sample_columns(names, "metadata.")
    # A list is one a turn, and an episode is one case.
    listed = any(as_text(record.get("metadata.p_true", ""))[:1] == "[" for record in records)
    if listed:
        columns.pop("p_true")
    fields = {
        "context": "episode",
        "answer": "belief",
        "theta": _theta(records, names),
        "created": "completed_at",
        **{name: name for name in ("rep", "action", "status", "belief_context")},
        **({"group": "id"} if made.counts["epochs"] else {}),
        **{name: name for name in ("raw_action", "asked") if name in names},
        **({"raw_belief": "reply"} if "reply" in names else {}),
        **columns,
    }
    notes = [*log_notes(log, made.n_episodes, made.errors), *made.notes()]
    if listed:
        notes.append(
            "metadata.p_true is a list, and left out: give the exact posterior at the action, one "
            "number an episode"
        )
    return AnswerLog(
        file=path.name,
        task=log.eval.task,
        model=log.eval.model,
        records=records,
        fields=fields,
        labels=("action",),
        notes=tuple(notes),
    )


def _theta(records: Iterable[Mapping[str, object]], names: Iterable[str]) -> str:
    """Return the field of the state: the sample's own, or what the only scorer gives."""
    if "metadata.theta" in names:
        return "metadata.theta"
    scores = [name for name in names if name.startswith("scores.") and name.endswith(".value")]
    values = {str(record.get(scores[0])) for record in records} if len(scores) == 1 else _GRADES
    given = any(record.get("target") not in (None, "") for record in records)
    return "target" if given or values <= _GRADES else scores[0]


class _Made:
    """Records of episodes, and what is counted while they are made."""

    def __init__(self, path: Path, reading: CallReading) -> None:
        self.path, self.reading = path, reading
        self.records: list[dict[str, object]] = []
        self.errors: Counter[str] = Counter()
        self.called: Counter[str] = Counter()
        self.given: dict[str, Counter[str]] = {}
        self.counts: Counter[str] = Counter()
        self.without: list[str] = []  # episodes without an action
        self.unsaid: list[str] = []  # episodes without a belief before it
        self.n_episodes = 0

    def add(self, episode: Episode) -> None:
        """Make the records of an episode."""
        self.n_episodes += 1
        sample, reading = episode.sample, self.reading
        if sample.error:
            self.errors[sample.error.message] += 1
        self.counts["epochs"] += sample.epoch > 1
        self.counts["aside"] += any(not isinstance(event, str) for event in episode.events)
        acting = []
        for place, call in enumerate(episode.spoken):
            if isinstance(call, Call):
                self.called[call.tool] += 1
                self.given.setdefault(call.tool, Counter()).update(call.arguments)
                acting += [place] * (reading.argument_of(call.tool) is not None)
        self.counts["several"] += len(acting) > 1
        at = acting[-1] if acting else len(episode.spoken)
        # How the last message ended, and what it answers, is nothing of the action's.
        record: dict[str, object] = {
            name: value
            for name, value in record_of(sample).items()
            if name not in (PICKED, "finish_reason")
        }
        # A status says that what is empty was not asked for.
        record |= {"episode": episode.name, "status": "ok", **self._action(episode, at)}
        aside = reading.source == SIDE_QUESTION
        record["belief_context"] = OWN_CONTEXT if aside else SAME_CONTEXT
        beliefs = self._asked(episode, at) if aside else [{"belief": self._said(episode, at)}]
        self.unsaid += [episode.name] * (not beliefs or beliefs == [{"belief": None}])
        self.records.append({**record, "rep": 0, **(beliefs or [{"belief": None}])[0]})
        for rep, belief in enumerate(beliefs[1:], 1):
            # Further reports before the same action: it acted once.
            again = {**record, **belief, "rep": rep, "status": "ok"}
            self.records.append({**again, "action": None, "raw_action": None})

    def _action(self, episode: Episode, at: int) -> dict[str, object]:
        """Return the action that stands at a place; what cannot be named has the status of it."""
        if at == len(episode.spoken):
            self.without.append(episode.name)
            return {"action": None, "raw_action": None, "status": UNPARSED}
        call = episode.spoken[at]
        assert isinstance(call, Call), "a place of an action"
        argument = self.reading.argument_of(call.tool)
        if argument and (call.broken or argument not in call.arguments):
            self.counts["unnamed"] += 1
            return {"action": None, "raw_action": str(call), "status": UNPARSED}
        value = as_text(call.arguments[argument]) if argument else ""
        label = value if value and len(self.reading.tools) == 1 else f"{call.tool} {value}".strip()
        return {"action": label, "raw_action": str(call)}

    def _asked(self, episode: Episode, at: int) -> list[dict[str, object]]:
        asked = episode.asked_before(at)
        questions = {str(each.get("question")) for each in asked}
        if len(questions) > 1:
            raise InputError(
                f"{self.path}: {len(questions)} different questions were asked aside before the "
                f"action of episode {episode.name!r}, and nothing says which is the belief: "
                f"{listing(sorted(map(repr, questions)), 2)}. Ask one question a turn, or read "
                f"beliefs elsewhere: --belief-from {TEXT}."
            )
        # A number that the solver read itself comes before the reply.
        as_read = self.reading.pattern is None
        return [
            {
                "belief": _answer(each["p"] if as_read and each.get("p") is not None else reply),
                "reply": reply,
                "asked": each.get("question"),
            }
            for each in asked
            for reply in [each.get("reply")]
        ]

    def _said(self, episode: Episode, at: int) -> object:
        """Return what the agent itself said before a place: the last that can be read."""
        before, of = episode.spoken[:at], self.reading.belief_argument
        if of is not None:
            reports = [
                call.arguments[of[1]]
                for call in before
                if isinstance(call, Call) and call.tool == of[0] and of[1] in call.arguments
            ]
            return _answer(reports[-1]) if reports else None
        texts = [each for each in before if isinstance(each, str)]
        readable = (text for text in reversed(texts) if self._holds_belief(text))
        return next(readable, texts[-1] if texts else None)

    def _holds_belief(self, text: str) -> bool:
        if self.reading.pattern:
            return self.reading.pattern.search(text) is not None
        return any(
            belief_cell(text, None, percent=percent).value is not None for percent in (False, True)
        )

    def check(self) -> None:
        """Raise where the log has nothing of what is to be read."""
        path, reading = self.path, self.reading
        if not self.called:
            raise InputError(
                f"{path}: no message of {self.n_episodes} episodes calls a tool. Leave out "
                "--action-from."
            )
        of = reading.belief_argument
        named = [("action_from", *self._parted(name)) for name in reading.tools]
        named += [("belief_from", *of)] if of else []
        for option, tool, argument in named:
            if tool not in self.called:
                raise InputError(
                    f"{path}: {option} names the tool {tool!r}, which no message calls. "
                    f"{closest(tool, self.called)} Inspect takes calls of submit out of the "
                    "messages: AgentSubmit(keep_in_messages=True) leaves them there."
                )
            if argument and argument not in self.given[tool]:
                raise InputError(
                    f"{path}: no call of {tool!r} has the argument {argument!r}. "
                    f"{closest(argument, sorted(self.given[tool]))}"
                )
            if option == "belief_from" and reading.argument_of(tool) is not None:
                raise InputError(
                    f"{path}: the tool {tool!r} reports beliefs, and is no action. Leave it out "
                    "of --action-from."
                )
        if reading.source == SIDE_QUESTION and not self.counts["aside"]:
            raise InputError(
                f"{path}: no belief was asked aside, and nothing says where beliefs stand: "
                f"--belief-from {TOOL}NAME.ARGUMENT or --belief-from {TEXT}. See what the log "
                f"holds: coherence import {path}"
            )
        actions = {record["action"] for record in self.records} - {None}
        only = reading.tools[0]
        if len(reading.tools) == 1 and actions == {only} and self.given[only]:
            raise InputError(
                f"{path}: every action is {only!r}. An argument of it may tell actions apart: "
                f"--action-from {only}.{self.given[only].most_common(1)[0][0]}; it has "
                f"{listing(self.given[only], 6)}."
            )

    def _parted(self, name: str) -> tuple[str, str]:
        tool, _, argument = name.rpartition(".")
        return (name, "") if name in self.called or not tool else (tool, argument)

    def notes(self) -> Iterable[str]:
        """Say what was left out, joined or not found."""
        counts = self.counts
        if counts["several"]:
            yield (
                f"episodes with several calls of these tools: {counts['several']}; the last one is "
                "the action"
            )
        if counts["unnamed"]:
            yield (
                f"episodes whose call lacks the argument that is the action, or cannot be read: "
                f"{counts['unnamed']}; their action is unparsed"
            )
        if self.without:
            yield (
                f"episodes without such a call, which have no action: {len(self.without)}: "
                f"{listing(self.without, 3)}"
            )
        if self.unsaid:
            yield (
                f"episodes in which no belief was said before the action: {len(self.unsaid)}: "
                f"{listing(self.unsaid, 3)}"
            )
        if counts["epochs"]:
            yield "every epoch of a sample is a case; they share its outcome, and are a group"


def _answer(value: object) -> object:
    """Return what was reported; what is neither text nor a number is shown as text."""
    if value is None or isinstance(value, str | float) or type(value) is int:
        return value
    return as_text(value)
