"""Episodes of agents in Inspect logs: an episode is a case, its last call of a tool the action.

The belief is what was said before that call in the same episode: aside (an event that the solver
wrote into the transcript), as an argument of a tool that reports it, or in words. What came before
what is told by places in the transcript, never by ids of calls, which repeat in some logs. Samples
come from Inspect's own reader some at a time, as all of a long log at once do not fit into memory.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from coherence.errors import InputError, closest, listing
from coherence.printable import counted
from coherence.runs.cells import numbers
from coherence.runs.columns import EXACT, OWN_CONTEXT, PERCENT, SAME_CONTEXT
from coherence.runs.logs.answers import (
    PICKED,
    AnswerLog,
    Probability,
    Record,
    belief_cell,
    names_of,
    sample_columns,
)
from coherence.runs.logs.inspect_log import notes_on, read_samples, record_of, require_answers

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.tool import ToolCall

SIDE_QUESTION, TEXT, TOOL = "side_question", "text", "tool:"
SOURCE = "coherence.side_question"
"""Source of the event by which a solver records what it asked aside."""
_GRADES = {"C", "I", "P", "N"}  # of an answer, as Inspect's scorers give them
_MOST_SHOWN, _MOST_VALUES = 8, 3  # calls, and values of an argument
_NOTES = {
    "several": "episodes with several calls of these tools: {n}; the last one is the action",
    "unnamed": "episodes whose call lacks the argument that is the action, or cannot be read: {n}; "
    "their action is unparsed",
    "without": "episodes without such a call, which have no action: {n}: {names}",
    "unsaid": "episodes in which no belief was said before the action: {n}: {names}",
}


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
            raise InputError("action_from must name a tool, such as --action-from treat,home.")
        if self.source not in (SIDE_QUESTION, TEXT) and not self.argument:
            raise InputError(
                f"belief_from must be {SIDE_QUESTION}, {TEXT} or {TOOL}NAME.ARGUMENT, such as "
                f"--belief-from tool:report_confidence.probability; received {self.belief_from!r}."
            )

    @property
    def source(self) -> str:
        """Where the belief stands."""
        return self.belief_from or (TEXT if self.pattern else SIDE_QUESTION)

    @property
    def argument(self) -> str:
        """The tool that reports beliefs and its argument, with a dot between them."""
        named = self.source.removeprefix(TOOL)
        return named if named != self.source and "." in named.strip(".") else ""

    def argument_of(self, tool: str) -> str | None:
        """Return the argument of a tool that is the action: empty for all, None of no action."""
        of = {name.removeprefix(f"{tool}.") for name in self.tools if name.startswith(f"{tool}.")}
        return "" if tool in self.tools else next(iter(of), None)


class Episode:
    """A sample of one epoch, in the order of its transcript."""

    def __init__(self, sample: EvalSample) -> None:
        self.sample = sample
        epoch = "" if sample.epoch == 1 else f" (epoch {sample.epoch})"
        self.name = f"{sample.id}{epoch}"
        self.spoken: list[ToolCall | str] = []  # words and calls of the agent's own messages
        # what was asked aside, and names of tools that were run
        self.events: list[Mapping[str, Any] | str] = []
        for message in sample.messages:
            # What an input shows, as in an example, the agent has not said.
            if message.role == "assistant" and message.source != "input":
                self.spoken += [text] if (text := message.text.strip()) else []
                self.spoken += message.tool_calls or ()
        for event in sample.events:
            if event.event == "info" and event.source == SOURCE:
                data = event.data
                self.events.append(data if isinstance(data, dict) else {"reply": data})
            elif event.event == "tool":
                self.events.append(event.function)

    @property
    def calls(self) -> list[tuple[int, ToolCall]]:
        """Calls of tools, with their places among what was spoken."""
        return [(at, each) for at, each in enumerate(self.spoken) if not isinstance(each, str)]

    def asked_before(self, action: ToolCall | None) -> list[Mapping[str, Any]]:
        """Return what was last asked aside before the last call of a tool, or at all."""
        end = len(self.events)
        if action is not None:
            run = [place for place, event in enumerate(self.events) if event == action.function]
            called = sum(call.function == action.function for _, call in self.calls)
            # Where a call was not run, as at a limit, it is the last: all else was before it.
            end = run[-1] if len(run) >= called else end
        asked: list[Mapping[str, Any]] = []
        for event in reversed(self.events[:end]):
            if isinstance(event, str) or (asked and event.get("turn") != asked[0].get("turn")):
                if asked:
                    break
            else:
                asked.insert(0, event)
        return asked


def as_text(value: object) -> str:
    """Return an argument's value as a label shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_calls(path: Path, *, reading: CallReading) -> AnswerLog:
    """Return the episodes of a log, one record each, or one for each time it was asked aside.

    Raises
    ------
    InputError
        No call, a tool or an argument that no call has, or nothing that says where beliefs stand.
    """
    log, samples = read_samples(path)
    seen, records, kept = _Calls(), list[dict[str, object]](), []
    found: dict[str, list[str]] = defaultdict(list)  # kind of note -> episodes
    for sample in samples:
        episode = Episode(sample)
        seen.add(episode)
        made, kinds = _records(path, episode, reading)
        records += made
        for kind in kinds:
            found[kind].append(episode.name)
        # What is asked of every sample further on, without its messages and events.
        kept.append(sample.model_copy(update={"messages": [], "events": []}))
    require_answers(path, log, kept)
    seen.check(path, reading)
    _bare_ones_on_scale(records)
    names = names_of(records)
    columns, notes = sample_columns(names, "metadata."), [*notes_on(log, kept)]
    notes += [
        text.format(n=len(found[kind]), names=listing(found[kind], 3))
        for kind, text in _NOTES.items()
        if found[kind]
    ]
    # A list is one a turn, and an episode is one case.
    if any(as_text(record.get(f"metadata.{EXACT}", ""))[:1] == "[" for record in records):
        columns.pop(EXACT)
        notes.append(
            f"metadata.{EXACT} is a list, and left out: give the exact posterior at the action, "
            "one number an episode"
        )
    fields = {"context": "id", "answer": "belief", "created": "completed_at"}
    fields |= _theta(records, names)
    # What came true is the sample's; the exact posterior may be of what an epoch has seen.
    truths = [*filter(None, (fields.get("theta"), columns.get(EXACT)))]
    if found["epochs"] and _same_in_epochs(records, truths):
        _number_through(records)
        notes.append(
            "epochs of a sample are repetitions of its case (--context episode takes each as a "
            "case)"
        )
    elif found["epochs"]:
        fields |= {"context": "episode", "group": "id"}
        notes.append(f"{' or '.join(truths)} differs between epochs: each is a case of a group")
    as_named = ("rep", "action", "belief_context", "raw_action", "asked")
    fields |= {name: name for name in as_named if name in names}
    fields |= {"raw_belief": "reply"} if "reply" in names else {}
    run, labels, fields = log.eval, ("action",), fields | columns
    return AnswerLog(
        path.name, run.task, run.model, tuple(records), fields, labels=labels, notes=tuple(notes)
    )


def _theta(records: Sequence[Record], names: Sequence[str]) -> dict[str, str]:
    """Return the field of the state: the sample's own, or what the only scorer gives."""
    scores = [name for name in names if name.startswith("scores.") and name.endswith(".value")]
    for name in ("metadata.theta", "target", *scores[: len(scores) == 1]):
        values = {record.get(name) for record in records} - {None, ""}
        if values and not (name in scores and {*map(str, values)} <= _GRADES):
            return {"theta": name}
    return {}


def _same_in_epochs(records: Sequence[Record], names: Sequence[str]) -> bool:
    """Tell whether fields have one value in all epochs of a sample."""
    seen: dict[object, set[object]] = defaultdict(set)
    for record, name in product(records, names):
        seen[record["id"], name] |= {record.get(name)} - {None}
    return all(len(values) <= 1 for values in seen.values())


def _number_through(records: list[dict[str, object]]) -> None:
    """Number the repetitions of a sample over its epochs."""
    n_seen: Counter[object] = Counter()
    for record in sorted(records, key=itemgetter("epoch")):
        record["rep"] = n_seen[record["id"]]
        n_seen[record["id"]] += 1


def _bare_ones_on_scale(records: list[dict[str, object]]) -> None:
    """Leave a bare 1 to the scale where other bare replies are above 1 and none is a fraction."""
    bare = numbers(pd.Series([each.get("reply") for each in records], dtype=object)).bare
    if (bare > 1).any() and not ((bare > 0) & (bare < 1)).any():
        for record in records:
            if str(record.get("reply")).strip() == "1":
                record["belief"] = record["reply"]


def _records(
    path: Path, episode: Episode, reading: CallReading
) -> tuple[list[dict[str, object]], list[str]]:
    """Return the records of an episode, and the kinds of notes that it is one of."""
    acting = [each for each in episode.calls if reading.argument_of(each[1].function) is not None]
    at, call = acting[-1] if acting else (len(episode.spoken), None)
    aside = reading.source == SIDE_QUESTION
    beliefs = (
        _asked(path, episode, call, reading) if aside else [{"belief": _said(episode, at, reading)}]
    ) or [{"belief": None}]
    record = {**record_of(episode.sample), "episode": episode.name}
    record["belief_context"] = OWN_CONTEXT if aside else SAME_CONTEXT
    for name in (PICKED, "finish_reason"):  # of the last message, which is no action's
        record.pop(name, None)
    action, raw = (None, None) if call is None else _action(call, reading)
    kinds = {
        "several": len(acting) > 1,
        "unnamed": call is not None and action is None,
        "without": call is None,
        "unsaid": beliefs == [{"belief": None}],
        "epochs": episode.sample.epoch > 1,
    }
    records = [{**record, **belief, "rep": rep} for rep, belief in enumerate(beliefs)]
    records[0] |= {"action": action, "raw_action": raw}  # it acted once
    return records, [kind for kind, is_so in kinds.items() if is_so]


def _action(call: ToolCall, reading: CallReading) -> tuple[str | None, str]:
    """Return the action that a call is, as far as it can be named, and the call in words."""
    given = ", ".join(f"{name}={as_text(value)}" for name, value in call.arguments.items())
    raw, argument = f"{call.function}({given})", reading.argument_of(call.function)
    if argument and (call.parse_error or argument not in call.arguments):
        return None, raw
    value = as_text(call.arguments[argument]) if argument else ""
    alone = value and len(reading.tools) == 1
    return value if alone else f"{call.function} {value}".strip(), raw


def _asked(
    path: Path, episode: Episode, action: ToolCall | None, reading: CallReading
) -> list[dict[str, object]]:
    """Return what was asked aside before an action, with the number that the question read of it.

    Else the belief is the reply, as where a pattern is to find it there.
    """
    asked = episode.asked_before(action)
    questions = {str(each.get("question")) for each in asked}
    if len(questions) > 1:
        raise InputError(
            f"{path}: {len(questions)} different questions were asked aside before the action of "
            f"episode {episode.name!r}, and nothing says which is the belief: "
            f"{listing(sorted(map(repr, questions)), 2)}. Ask one question a turn, or read beliefs "
            f"elsewhere: --belief-from {TEXT}."
        )
    records = []
    for each in asked:
        read, reply = each.get("p"), _plain(each.get("reply"))
        if read is None or (reading.pattern and reply is not None):
            belief = reply
        else:
            belief = Probability(read) if isinstance(read, int | float) else _plain(read)
        known = {"reply": each.get("reply"), "asked": each.get("question")}
        records.append({"belief": belief, **known})
    return records


def _said(episode: Episode, at: int, reading: CallReading) -> object:
    """Return what the agent itself said before a place: the last that can be read."""
    if reading.argument:
        # The call that is the action may itself report the belief.
        reports = [
            value
            for place, call in episode.calls
            for name, value in call.arguments.items()
            if place <= at and f"{call.function}.{name}" == reading.argument
        ]
        return _plain(reports[-1]) if reports else None
    texts = [each for each in episode.spoken[:at] if isinstance(each, str)]
    holds = reading.pattern.search if reading.pattern else _is_belief
    return next((text for text in reversed(texts) if holds(text)), texts[-1] if texts else None)


def _is_belief(text: str) -> bool:
    """Tell whether a belief can be read from a text, as it is or as a percentage."""
    return any(belief_cell(text, line=line).value is not None for line in (None, PERCENT))


def _plain(value: object) -> object:
    """Return what was reported; what is neither text nor a number is shown as text."""
    is_plain = value is None or isinstance(value, str | float) or type(value) is int
    return value if is_plain else as_text(value)


class _Calls:
    """What the agents of a log called, and how often they were asked aside."""

    def __init__(self) -> None:
        self.n_episodes = self.n_asked = self.n_limited = 0
        self.tools: Counter[str] = Counter()
        # of tools, with how often each value was given
        self.arguments: dict[str, dict[str, Counter[str]]] = defaultdict(dict)

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.n_episodes += 1
        self.n_asked += not all(isinstance(event, str) for event in episode.events)
        self.n_limited += episode.sample.limit is not None
        for _, call in episode.calls:
            self.tools[call.function] += 1
            for name, value in call.arguments.items():
                values = self.arguments[call.function].setdefault(name, Counter())
                values[str(value)[:40]] += 1

    def check(self, path: Path, reading: CallReading) -> None:
        """Raise where the log has nothing of what is to be read."""
        if not self.tools:
            raise InputError(
                f"{path}: no message of {self.n_episodes} episodes calls a tool. Leave out "
                "--action-from."
            )
        known = [f"{tool}.{name}" for tool, of in self.arguments.items() for name in of]
        wanted = dict.fromkeys(reading.tools, "action_from")
        wanted |= {reading.argument: "belief_from"} if reading.argument else {}
        for name, option in wanted.items():
            if name not in (*self.tools, *known):
                candidates = known if "." in name else [*self.tools]
                raise InputError(
                    f"{path}: {option} names {name!r}, which no message calls. "
                    f"{closest(name, candidates)}{self._why_not_called(name, candidates)}"
                )
        if reading.source == SIDE_QUESTION and not self.n_asked:
            raise InputError(
                f"{path}: no belief was asked aside, and nothing says where beliefs stand: "
                f"--belief-from {TOOL}NAME.ARGUMENT or --belief-from {TEXT}. {self.overview()}"
            )
        if reading.pattern and reading.belief_from is None and self.n_asked:
            raise InputError(
                f"{path}: a pattern may find the number in what was asked aside, or in the agent's "
                f"own words. Say which: --belief-from {SIDE_QUESTION} or --belief-from {TEXT}. "
                f"{self.overview()}"
            )
        if len(reading.tools) == 1 and (arguments := self.arguments.get(reading.tools[0])):
            (tool,) = reading.tools
            differ = [f"{tool}.{name}" for name, values in arguments.items() if len(values) > 1]
            of_tool = differ or [f"{tool}.{name}" for name in arguments]
            others = [name for name in self.tools if name != tool]
            beside = f"Other tools are called too: --action-from {','.join([tool, *others])}. "
            raise InputError(
                f"{path}: every action is {tool!r}. {beside * bool(others)}An argument of it may "
                f"tell actions apart: --action-from {of_tool[0]}; there are {listing(of_tool, 6)}."
            )

    def _why_not_called(self, name: str, candidates: Sequence[str]) -> str:
        """Say why the messages may lack a call."""
        if self.n_limited:
            episodes = counted(self.n_limited, "episode")
            return f" A limit ended {episodes} of {self.n_episodes}, which may lack the call."
        if "submit" not in name and closest(name, candidates, far=""):
            return ""
        return (
            " Inspect takes calls of submit out of the messages: "
            "AgentSubmit(keep_in_messages=True) leaves them."
        )

    def overview(self) -> str:
        """Return what was called, each argument with its most frequent values."""
        calls = []
        for tool, times in self.tools.most_common():
            shown = []
            for name, values in self.arguments[tool].items():
                few = [value for value, _ in values.most_common(_MOST_VALUES)]
                shown.append(f"{name}={'|'.join(few)}{'|…' * (len(values) > len(few))}")
            calls.append(f"{tool}({', '.join(shown)}) {counted(times, 'time')}")
        asked = counted(self.n_asked, "episode has", "episodes have")
        return f"Calls: {listing(calls, _MOST_SHOWN)}; {asked} a belief that was asked aside."


def require_action_from(path: Path) -> None:
    """Raise `InputError` where the agents of a log call tools, and list these.

    The last answer need not be what was done then.
    """
    seen = _Calls()
    for sample in read_samples(path)[1]:
        seen.add(Episode(sample))
    if seen.tools:
        raise InputError(
            f"{path}: agents call tools in {counted(seen.n_episodes, 'episode')}, and nothing says "
            f"which call is the action. {seen.overview()} Name the action, and where the belief "
            "before it stands if it was not asked aside: --action-from TOOL or TOOL.ARGUMENT, "
            f"--belief-from {TOOL}TOOL.ARGUMENT or {TEXT}; a number among words is read by "
            "--belief-pattern REGEX. To read the last answers instead: --belief output."
        )
