"""Episodes of agents in Inspect logs: an episode is a case, its last call of a tool the action.

The belief is what was said before that call in the same episode: aside (an event that the solver
wrote into the transcript), as an argument of a tool that reports it, or in words. What came before
what is told by places in the transcript, never by ids of calls, which repeat in some logs. Samples
come from Inspect's own reader some at a time, as all of a long log at once do not fit into memory.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError, closest, listing
from coherence.printable import counted
from coherence.runs.columns import EXACT, OWN_CONTEXT, PERCENT, SAME_CONTEXT
from coherence.runs.logs.answers import belief_cell
from coherence.runs.logs.inspect_log import notes_on, read_samples, record_of
from coherence.runs.logs.log_format import PICKED, AnswerLog, Record, names_of, sample_columns

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample
    from inspect_ai.tool import ToolCall

SIDE_QUESTION, TEXT, TOOL = "side_question", "text", "tool:"
READ, PERCENTAGES = "read", "read as percentages"
SOURCE = "coherence.side_question"
"""Source of the event by which a solver records what it asked aside."""
_GRADES = {"C", "I", "P", "N"}  # of an answer, as Inspect's scorers give them
_OF_BELIEFS = re.compile(r"prob|confid|belie|likel|chance|credence|certain|risk|^p$", re.IGNORECASE)
_MOST_SHOWN = 8
_MOST_ACTIONS = 10  # values of an argument that is proposed as the action


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
    def name(self) -> str:
        """What identifies it: the sample, and the epoch after the first."""
        epoch = self.sample.epoch
        return f"{self.sample.id}" if epoch == 1 else f"{self.sample.id} (epoch {epoch})"

    def asked_before(self, action: ToolCall | None) -> list[Mapping[str, Any]]:
        """Return what was last asked aside before the last call of a tool, or at all."""
        end = len(self.events)
        if action is not None:
            run = [place for place, event in enumerate(self.events) if event == action.function]
            calls = [each.function for each in self.spoken if not isinstance(each, str)]
            called = calls.count(action.function)
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
    seen, made, kept = _Calls(path), _Records(path, reading), []
    for sample in samples:
        episode = Episode(sample)
        seen.add(episode)
        made.add(episode)
        # What is asked of every sample further on, without its messages and events.
        kept.append(sample.model_copy(update={"messages": [], "events": []}))
    records, names = tuple(made.records), names_of(made.records)
    seen.check(reading, {record.get("action") for record in records} - {None})
    columns, notes = sample_columns(names, "metadata."), [*notes_on(log, kept), *made.notes()]
    # A list is one a turn, and an episode is one case.
    if any(as_text(record.get(f"metadata.{EXACT}", ""))[:1] == "[" for record in records):
        columns.pop(EXACT)
        notes.append(
            f"metadata.{EXACT} is a list, and left out: give the exact posterior at the action, "
            "one number an episode"
        )
    fields = {"context": "episode", "answer": "belief", "theta": _theta(records, names)}
    fields |= {"created": "completed_at"} | ({"group": "id"} if made.found["epochs"] else {})
    as_named = ("rep", "action", "belief_context", "raw_action", "asked")
    fields |= {name: name for name in as_named if name in names}
    fields |= {"raw_belief": "reply"} if "reply" in names else {}
    run, labels, fields = log.eval, ("action",), fields | columns
    return AnswerLog(
        path.name, run.task, run.model, records, fields, labels=labels, notes=tuple(notes)
    )


def _theta(records: tuple[Record, ...], names: tuple[str, ...]) -> str:
    """Return the field of the state: the sample's own, or what the only scorer gives."""
    if "metadata.theta" in names:
        return "metadata.theta"
    scores = [name for name in names if name.startswith("scores.") and name.endswith(".value")]
    values = {str(record.get(scores[0])) for record in records} if len(scores) == 1 else _GRADES
    given = any(record.get("target") not in (None, "") for record in records)
    return "target" if given or values <= _GRADES else scores[0]


_NOTES = {
    "several": "episodes with several calls of these tools: {n}; the last one is the action",
    "unnamed": "episodes whose call lacks the argument that is the action, or cannot be read: {n}; "
    "their action is unparsed",
    "without": "episodes without such a call, which have no action: {n}: {names}",
    "unsaid": "episodes in which no belief was said before the action: {n}: {names}",
    "epochs": "every epoch of a sample is a case; they share its outcome, and are a group",
}


class _Records:
    """Records of episodes, and the episodes that a note is about."""

    def __init__(self, path: Path, reading: CallReading) -> None:
        self.path, self.reading = path, reading
        self.records: list[dict[str, object]] = []
        self.found: dict[str, list[str]] = defaultdict(list)

    def notes(self) -> Iterator[str]:
        """Say what was left out, joined or not found."""
        for kind, text in _NOTES.items():
            if names := self.found[kind]:
                yield text.format(n=len(names), names=listing(names, 3))

    def add(self, episode: Episode) -> None:
        """Make the records of an episode."""
        spoken, reading = episode.spoken, self.reading
        acting = [
            place
            for place, each in enumerate(spoken)
            if not isinstance(each, str) and reading.argument_of(each.function) is not None
        ]
        at = acting[-1] if acting else len(spoken)
        call = spoken[at] if acting else None
        assert not isinstance(call, str), "a place of an action"
        aside = reading.source == SIDE_QUESTION
        nothing: list[dict[str, object]] = [{"belief": None}]
        said: list[dict[str, object]] = [{"belief": self._said(spoken, at)}]
        beliefs = (self._asked(episode, call) if aside else said) or nothing
        record = {**record_of(episode.sample), "episode": episode.name, **self._action(call)}
        record["belief_context"] = OWN_CONTEXT if aside else SAME_CONTEXT
        for name in (PICKED, "finish_reason"):  # of the last message, which is no action's
            record.pop(name, None)
        for kind, is_so in (
            ("several", len(acting) > 1),
            ("unnamed", call is not None and record["action"] is None),
            ("without", call is None),
            ("unsaid", beliefs == nothing),
            ("epochs", episode.sample.epoch > 1),
        ):
            self.found[kind] += [episode.name] * is_so
        # Of further reports before the same action: it acted once.
        again = {
            name: each for name, each in record.items() if name not in ("action", "raw_action")
        }
        for rep, belief in enumerate(beliefs):
            self.records.append({**(again if rep else record), **belief, "rep": rep})

    def _action(self, call: ToolCall | None) -> dict[str, object]:
        """Return the action that a call is, as far as it can be named."""
        if call is None:
            return {"action": None, "raw_action": None}
        given = ", ".join(f"{name}={as_text(value)}" for name, value in call.arguments.items())
        raw, argument = f"{call.function}({given})", self.reading.argument_of(call.function)
        if argument and (call.parse_error or argument not in call.arguments):
            return {"action": None, "raw_action": raw}
        value = as_text(call.arguments[argument]) if argument else ""
        alone = value and len(self.reading.tools) == 1
        label = value if alone else f"{call.function} {value}".strip()
        return {"action": label, "raw_action": raw}

    def _asked(self, episode: Episode, action: ToolCall | None) -> list[dict[str, object]]:
        asked = episode.asked_before(action)
        questions = {str(each.get("question")) for each in asked}
        if len(questions) > 1:
            raise InputError(
                f"{self.path}: {len(questions)} different questions were asked aside before the "
                f"action of episode {episode.name!r}, and nothing says which is the belief: "
                f"{listing(sorted(map(repr, questions)), 2)}. Ask one question a turn, or read "
                f"beliefs elsewhere: --belief-from {TEXT}."
            )
        # A number that the solver read itself comes before the reply.
        first = "reply" if self.reading.pattern else "p"
        return [
            {
                "belief": _plain(each.get("reply") if each.get(first) is None else each[first]),
                "reply": each.get("reply"),
                "asked": each.get("question"),
            }
            for each in asked
        ]

    def _said(self, spoken: list[ToolCall | str], at: int) -> object:
        """Return what the agent itself said before a place: the last that can be read."""
        if self.reading.argument:
            # The call that is the action may itself report the belief.
            reports = [
                value
                for call in spoken[: at + 1]
                for name, value in ({} if isinstance(call, str) else call.arguments).items()
                if not isinstance(call, str) and f"{call.function}.{name}" == self.reading.argument
            ]
            return _plain(reports[-1]) if reports else None
        texts = [each for each in spoken[:at] if isinstance(each, str)]
        holds = self.reading.pattern.search if self.reading.pattern else _how_read
        return next((text for text in reversed(texts) if holds(text)), texts[-1] if texts else None)


def _how_read(value: object) -> str:
    """Return how a belief is read: as it is, or as a percentage; empty for neither."""
    for how, line in ((READ, None), (PERCENTAGES, PERCENT)):
        if belief_cell(value, line=line).value is not None:
            return how
    return ""


def _plain(value: object) -> object:
    """Return what was reported; what is neither text nor a number is shown as text."""
    is_plain = value is None or isinstance(value, str | float) or type(value) is int
    return value if is_plain else as_text(value)


class _Calls:
    """What the agents of a log called, and what looks like a belief."""

    def __init__(self, path: Path) -> None:
        self.path, self.n_episodes = path, 0
        self.tools: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()  # tool -> episodes that it ends
        self.arguments: dict[str, Counter[str]] = defaultdict(Counter)  # TOOL.ARGUMENT -> values
        self.places: dict[str, Counter[str]] = defaultdict(Counter)  # place -> how it is read

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.n_episodes += 1
        acts = []
        for event in episode.events:
            if not isinstance(event, str):
                said = event.get("reply") if event.get("p") is None else event["p"]
                self.places[SIDE_QUESTION][_how_read(said)] += 1
        for each in episode.spoken:
            if isinstance(each, str):
                self.places[TEXT][_how_read(each)] += 1
                continue
            self.tools[each.function] += 1
            for name, value in each.arguments.items():
                self.arguments[f"{each.function}.{name}"][str(value)[:40]] += 1
                if _OF_BELIEFS.search(name):
                    self.places[f"{TOOL}{each.function}.{name}"][_how_read(value)] += 1
            # A call that reports a belief alone is no action.
            if not each.arguments or not all(map(_OF_BELIEFS.search, each.arguments)):
                acts.append(each.function)
        self.ends.update(acts[-1:])

    def check(self, reading: CallReading, actions: set[object]) -> None:
        """Raise where the log has nothing of what is to be read."""
        if not self.tools:
            raise InputError(
                f"{self.path}: no message of {self.n_episodes} episodes calls a tool. Leave out "
                "--action-from."
            )
        known, reports = {*self.tools, *self.arguments}, reading.argument
        for name in (*reading.tools, *[reports] * bool(reports)):
            tool, _, argument = name.rpartition(".")
            if name not in known and tool in self.tools:
                given = [each.rpartition(".") for each in self.arguments]
                raise InputError(
                    f"{self.path}: no call of {tool!r} has the argument {argument!r}. "
                    f"{closest(argument, [each for of, _, each in given if of == tool])}"
                )
            if name not in known:
                option = "belief_from" if name == reports else "action_from"
                raise InputError(
                    f"{self.path}: {option} names {name!r}, which no message calls. "
                    f"{closest(name, self.tools)} Inspect takes calls of submit out of the "
                    "messages: AgentSubmit(keep_in_messages=True) leaves them there."
                )
        if reporting := [name for name in reading.tools if f"{reports}.".startswith(f"{name}.")]:
            raise InputError(
                f"{self.path}: the tool {reporting[0]!r} reports beliefs, and is no action. Leave "
                "it out of --action-from, or name the argument that is the action."
            )
        if reading.source == SIDE_QUESTION and SIDE_QUESTION not in self.places:
            raise InputError(
                f"{self.path}: no belief was asked aside, and nothing says where beliefs stand: "
                f"--belief-from {TOOL}NAME.ARGUMENT or --belief-from {TEXT}. See what the log "
                f"holds: coherence import {shlex.quote(str(self.path))}"
            )
        only, *others = reading.tools
        of_tool = [name for name in self.arguments if name.startswith(f"{only}.")]
        if not others and actions == {only} and of_tool:
            raise InputError(
                f"{self.path}: every action is {only!r}. An argument of it may tell actions apart: "
                f"--action-from {of_tool[0]}; there are {listing(of_tool, 6)}."
            )

    def overview(self) -> str:
        """Return what there is, and a command: beliefs asked aside before those of tools."""
        actions = [tool for tool, _ in self.ends.most_common(4)] or [*self.tools][:1]
        telling = {
            name: len(values)
            for name, values in self.arguments.items()
            if [name.rpartition(".")[0]] == actions
            and 2 <= len(values) <= _MOST_ACTIONS
            and f"{TOOL}{name}" not in self.places
        }
        if telling:  # of one tool alone the argument that tells calls apart
            actions = [min(telling, key=lambda name: telling[name])]
        words = ["coherence", "import", str(self.path), "--action-from", ",".join(actions)]
        order = {SIDE_QUESTION: 0, TEXT: 2}
        readable = [place for place, read in self.places.items() if read.total() > read[""]]
        for place in sorted(readable, key=lambda place: order.get(place, 1))[:1]:
            words += ["--belief-from", place] if place != SIDE_QUESTION else []
            words += ["--percent"] if PERCENTAGES in self._said(place) else []
        calls = [f"{tool} ({counted(times, 'call')})" for tool, times in self.tools.most_common()]
        beliefs = listing(map(self._said, self.places), _MOST_SHOWN) or "nothing"
        return (
            f"{self.path}: agents call tools in {counted(self.n_episodes, 'episode')}, and nothing "
            f"says which call is the action. Tools: {listing(calls, _MOST_SHOWN)}. What looks like "
            f"a belief: {beliefs}; a number among words is read by --belief-pattern REGEX. Type: "
            f"{shlex.join(words)} --out runs.parquet. To read the last answers instead: --map "
            "p=output"
        )

    def _said(self, place: str) -> str:
        read = self.places[place]
        how = READ if read[READ] >= read[PERCENTAGES] else PERCENTAGES
        return f"{place} ({read.total() - read['']} of {read.total()} {how})"


def require_action_from(path: Path) -> None:
    """Raise where the agents of a log call tools: which, where beliefs stand, and what to type.

    Raises
    ------
    InputError
        Some message calls a tool, so that the last answer need not be what was done.
    """
    seen = _Calls(path)
    for sample in read_samples(path)[1]:
        seen.add(Episode(sample))
    if seen.tools:
        raise InputError(seen.overview())
