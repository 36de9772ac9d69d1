"""Episodes of agents in Inspect logs: every turn that calls tools is a row, its calls the action.

A turn is a message of the model that calls tools. Its belief was stated before: aside (an event
that the solver wrote into the transcript), as an argument of a tool that reports it, or in the
words before the call. Samples come from Inspect's own reader some at a time, as all of a long log
at once do not fit into memory.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coherence.errors import InputError, closest, listing
from coherence.importing.inspect_log import episodes_of, log_notes, record_of, whole_text
from coherence.importing.log_format import PICKED, AnswerLog, names_of, sample_columns

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

SIDE_QUESTION, TEXT, TOOL = "side_question", "text", "tool:"
SOURCE = "coherence.side_question"
"""Source of the event by which a solver records what it asked aside."""
TOGETHER = " + "
"""Between the calls of one turn: what was called at once is one action, in alphabetical order."""
UNPARSED = "unparsed"


@dataclass(frozen=True)
class CallReading:
    """Which calls are actions, and where the beliefs stand."""

    # SIDE_QUESTION, TEXT or "tool:NAME.ARGUMENT"; None: aside, if anything was asked so
    belief_from: str | None = None
    # tool -> what the action is called; empty: every tool, by its name
    tools: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[tuple[str, str]] = ()  # (tool, argument) whose values tell actions apart

    @property
    def belief_argument(self) -> tuple[str, str] | None:
        """The tool that reports beliefs, and its argument."""
        if self.belief_from is None or not self.belief_from.startswith(TOOL):
            return None
        tool, dot, argument = self.belief_from.removeprefix(TOOL).rpartition(".")
        return (tool, argument) if tool and dot and argument else None

    def __post_init__(self) -> None:
        """Refuse places that there are not."""
        if self.belief_from in (None, SIDE_QUESTION, TEXT) or self.belief_argument:
            return
        raise InputError(
            f"belief_from must be {SIDE_QUESTION}, {TEXT} or {TOOL}NAME.ARGUMENT, such as "
            f"--belief-from tool:report_confidence.probability; received {self.belief_from!r}."
        )


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


@dataclass
class Turn:
    """What was said and called in one message, and asked aside before its calls were run."""

    calls: list[Call]
    said: str = ""
    asked: list[Mapping[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Episode:
    """A sample of one epoch."""

    sample: "EvalSample"
    turns: list[Turn]
    elsewhere: int  # calls in events that no message of the episode has, as those of sub-agents

    @property
    def name(self) -> str:
        """What identifies it: the sample, and the epoch after the first."""
        epoch = self.sample.epoch
        return f"{self.sample.id}" if epoch == 1 else f"{self.sample.id} (epoch {epoch})"


def as_text(value: object) -> str:
    """Return an argument's value as a label shows it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_episodes(path: Path, *, max_bytes: int) -> tuple["EvalLog", Iterator[Episode]]:
    """Return a log's header, and its episodes as they are read."""
    log, samples = episodes_of(path, max_bytes)
    return log, map(_episode, samples)


def _episode(sample: "EvalSample") -> Episode:
    turns: list[Turn] = []
    turn_of: dict[str, Turn] = {}
    said = ""
    for message in sample.messages:
        if message.role == "user":
            said = ""
        if message.role != "assistant":
            continue
        text = whole_text(message.text, sample).strip()
        said = text or said
        if not message.tool_calls:
            continue
        turn = Turn(
            [Call(c.function, c.arguments, bool(c.parse_error)) for c in message.tool_calls]
        )
        turn.said, said = said, ""
        turns.append(turn)
        turn_of |= {call.id: turn for call in message.tool_calls}
    waiting: list[Mapping[str, Any]] = []
    elsewhere = 0
    for event in sample.events:
        if event.event == "info" and event.source == SOURCE:
            data = event.data if isinstance(event.data, dict) else {"reply": event.data}
            waiting.append(
                {
                    name: whole_text(value, sample) if isinstance(value, str) else value
                    for name, value in data.items()
                }
            )
        elif event.event == "tool":
            asked = turn_of.get(event.id)
            if asked is None:
                elsewhere += 1
            elif waiting:
                *before, asked.asked = _by_turn(waiting)
                at = next(number for number, turn in enumerate(turns) if turn is asked)
                turns[at:at] = [Turn([], asked=of) for of in before]
                waiting = []
    # The call that it was asked before was never run, or there was none.
    for of in _by_turn(waiting):
        if not turns or turns[-1].asked:
            turns.append(Turn([]))
        turns[-1].asked = of
    return Episode(sample, turns, elsewhere)


def _by_turn(asked: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Part what was asked aside by the turns that the solver names, of which some call nothing."""
    return [list(of) for _, of in groupby(asked, key=lambda data: data.get("turn"))]


def read_calls(path: Path, *, max_bytes: int, reading: CallReading) -> AnswerLog:
    """Return the turns of a log's episodes, one record each.

    Raises
    ------
    InputError
        No call, a tool or an argument that no call has, or nothing that says where beliefs stand.
    """
    log, episodes = read_episodes(path, max_bytes=max_bytes)
    made = _Made(path, reading)
    for episode in episodes:
        made.add(episode)
    made.check()
    records = tuple(made.records)
    names = names_of(records)
    columns = sample_columns(names, "metadata.")
    columns = {name: column for name, column in columns.items() if name != "p_true"}
    theta = "metadata.theta" if "metadata.theta" in names else "target"
    fields = {
        "context": "turn_id",
        "group": "episode",
        "rep": "rep",
        "answer": "belief",
        "action": "action",
        "theta": theta,
        "created": "completed_at",
        "status": "status",
        **{name: name for name in ("raw_action", "asked", "p_true") if name in names},
        **({"raw_belief": "reply"} if "reply" in names else {}),
        **columns,
    }
    return AnswerLog(
        file=path.name,
        task=log.eval.task,
        model=log.eval.model,
        records=records,
        fields=fields,
        labels=("action",),
        notes=(*log_notes(log, made.n_episodes, made.errors), *made.notes()),
    )


class _Made:
    """Records of turns, and what is counted while they are made."""

    def __init__(self, path: Path, reading: CallReading) -> None:
        self.path, self.reading = path, reading
        self.records: list[dict[str, object]] = []
        self.errors: Counter[str] = Counter()
        self.called: Counter[str] = Counter()
        self.given: dict[str, set[str]] = {}
        self.counts: Counter[str] = Counter()
        self.silent: list[str] = []  # episodes without a call
        self.no_row: Counter[str] = Counter()  # calls of tools that are no actions
        self.n_episodes = 0

    @property
    def reporter(self) -> str | None:
        """The tool that reports beliefs; its calls are no actions."""
        of = self.reading.belief_argument
        return None if of is None else of[0]

    def add(self, episode: Episode) -> None:
        """Make the records of an episode."""
        self.n_episodes += 1
        sample = episode.sample
        if sample.error:
            self.errors[sample.error.message] += 1
        self.counts["elsewhere"] += episode.elsewhere
        self.counts["epochs"] += sample.epoch > 1
        if not any(turn.calls for turn in episode.turns):
            self.silent.append(episode.name)
        # How the last message ended, and what it answers, is nothing of a turn's.
        shared = {
            name: value
            for name, value in record_of(sample).items()
            if name not in (PICKED, "finish_reason")
        } | {"episode": episode.name}
        exact = (sample.metadata or {}).get("p_true")
        reported: list[object] = []
        number = 0
        for turn in episode.turns:
            for call in turn.calls:
                self.called[call.tool] += 1
                self.given.setdefault(call.tool, set()).update(call.arguments)
                self.counts["broken"] += call.broken
            of = self.reading.belief_argument
            reported += [
                call.arguments.get(of[1])
                for call in turn.calls
                if of is not None and call.tool == of[0]
            ]
            self.counts["side"] += bool(turn.asked)
            acting = [call for call in turn.calls if self._is_action(call)]
            self.no_row.update(
                call.tool
                for call in turn.calls
                if call not in acting and call.tool != self.reporter
            )
            # What a report alone says is stated before the next turn that acts.
            aside = self.reading.belief_from in (None, SIDE_QUESTION) and turn.asked
            if not acting and not aside:
                continue
            turn.calls = acting
            self._put(episode, turn, number, shared, reported, exact)
            reported, number = [], number + 1
        if reported:
            self._put(episode, Turn([]), number, shared, reported, exact)

    def _put(
        self,
        episode: Episode,
        turn: Turn,
        number: int,
        shared: Mapping[str, object],
        reported: Sequence[object],
        exact: object,
    ) -> None:
        """Make the records of one turn: one, or one for each time that it was asked aside."""
        # A status says that what is empty was not asked for.
        record = {
            **shared,
            "turn_id": f"{episode.name}:{number}",
            "rep": 0,
            "said": turn.said,
            "status": "ok",
            **self._action(turn),
        }
        if isinstance(exact, list):
            if number < len(exact):
                record["p_true"] = exact[number]
            else:
                self.counts["short"] += 1
        elif exact is not None:
            record["p_true"] = exact
        beliefs: list[dict[str, object]]
        source = self.reading.belief_from or SIDE_QUESTION
        if source == SIDE_QUESTION:
            beliefs = self._asked(episode, turn, number)
        elif source == TEXT:
            beliefs = [{"belief": turn.said or None}]
        else:
            self.counts["superseded"] += len(reported) > 1
            beliefs = [{"belief": _answer(reported[-1]) if reported else None}]
        self.records.append(record | beliefs[0])
        for rep, belief in enumerate(beliefs[1:], 1):
            # Further reports at the same turn: it acted once.
            again = {**record, **belief, "rep": rep, "status": "ok"}
            self.records.append({**again, "action": None, "raw_action": None})

    def _asked(self, episode: Episode, turn: Turn, number: int) -> list[dict[str, object]]:
        questions = {str(asked.get("question")) for asked in turn.asked}
        if len(questions) > 1:
            raise InputError(
                f"{self.path}: {len(questions)} different questions were asked aside at turn "
                f"{number} of episode {episode.name!r}, and nothing says which is the belief: "
                f"{listing(sorted(map(repr, questions)), 2)}. Ask one question a turn, or read "
                f"beliefs elsewhere: --belief-from {TEXT}."
            )
        beliefs: list[dict[str, object]] = [
            {
                # A number that the solver read itself comes before the reply.
                "belief": _answer(asked.get("reply") if asked.get("p") is None else asked["p"]),
                "reply": asked.get("reply"),
                "asked": asked.get("question"),
            }
            for asked in turn.asked
        ]
        return beliefs or [{"belief": None}]

    def _action(self, turn: Turn) -> dict[str, object]:
        """Return the action of a turn; what cannot be named has the status of it."""
        if not turn.calls:
            return {"action": None}
        labels = list(map(self._label, turn.calls))
        self.counts["together"] += len(labels) > 1
        raw = TOGETHER.join(map(str, turn.calls))
        if None in labels:
            self.counts["unnamed"] += 1
            return {"action": None, "raw_action": raw, "status": UNPARSED}
        named = sorted({label for label in labels if label is not None})
        return {"action": TOGETHER.join(named), "raw_action": raw}

    def _is_action(self, call: Call) -> bool:
        chosen = self.reading.tools
        return call.tool != self.reporter and (not chosen or call.tool in chosen)

    def _label(self, call: Call) -> str | None:
        """Return what a call is called; None where an argument that tells is not given."""
        names = [argument for tool, argument in self.reading.arguments if tool == call.tool]
        if call.broken or any(name not in call.arguments for name in names):
            return None
        label = self.reading.tools.get(call.tool, call.tool)
        return " ".join([label, *(f"{name}={as_text(call.arguments[name])}" for name in names)])

    def check(self) -> None:
        """Raise where the log has nothing of what is to be read."""
        path, reading = self.path, self.reading
        if not self.called:
            raise InputError(
                f"{path}: no message of {self.n_episodes} episodes calls a tool. Leave out "
                "--action-from, or see what the log holds: --list."
            )
        chosen = [("tool_action", name) for name in reading.tools]
        chosen += [("action_argument", name) for name, _ in reading.arguments]
        chosen += [("belief_from", self.reporter)] if self.reporter else []
        for option, name in chosen:
            if name not in self.called:
                raise InputError(
                    f"{path}: {option} names the tool {name!r}, which is never called. "
                    f"{closest(name, self.called)}"
                )
        if self.reporter in reading.tools:
            raise InputError(
                f"{path}: the tool {self.reporter!r} reports beliefs, and is no action. "
                f"Leave out --tool-action {self.reporter}."
            )
        for name, _ in reading.arguments:
            if reading.tools and name not in reading.tools:
                raise InputError(
                    f"{path}: action_argument is about {name!r}, which is not among the tools that "
                    f"are actions. Add --tool-action {name}."
                )
        of = reading.belief_argument
        for tool, argument in (*reading.arguments, *([of] if of else [])):
            if argument not in self.given[tool]:
                raise InputError(
                    f"{path}: no call of {tool!r} has the argument {argument!r}. "
                    f"{closest(argument, sorted(self.given[tool]))}"
                )
        if not of and reading.belief_from != TEXT and not self.counts["side"]:
            raise InputError(
                f"{path}: no belief was asked aside, and nothing says where beliefs stand: "
                f"--belief-from {TOOL}NAME.ARGUMENT or --belief-from {TEXT}. See what the log "
                f"holds: coherence import {path} --list."
            )
        if not any(record["action"] for record in self.records) and not self.counts["unnamed"]:
            raise InputError(
                f"{path}: the only tool that is called is {self.reporter!r}, which reports "
                "beliefs, so that there is no action. Name another --belief-from."
            )

    def notes(self) -> Iterable[str]:
        """Say what was left out, joined or not found."""
        counts = self.counts
        # Epochs of a sample share its outcome: as cases of their own they would count it often.
        if counts["epochs"] and not any("p_true" in record for record in self.records):
            yield (
                "no metadata.p_true: an episode has one outcome, and so have all epochs of a "
                "sample: sufficiency takes one turn of each, and samples for the cases: add --map "
                "group=id here, then coherence analyze FILE --where 'turn == 0' --context group "
                "--ignore rep"
            )
        elif not any("p_true" in record for record in self.records):
            yield (
                "no metadata.p_true: an episode has one outcome, and sufficiency takes one turn of "
                "each: coherence analyze FILE --where 'turn == 0' --ignore group"
            )
        if counts["together"]:
            yield (
                f"turns that call several tools at once: {counts['together']}; their calls "
                f"together are one action, such as 'a{TOGETHER}b'"
            )
        if counts["unnamed"]:
            yield (
                f"turns whose call lacks an argument that tells actions apart, or cannot be read: "
                f"{counts['unnamed']}; their action is unparsed"
            )
        if self.no_row:
            left = ", ".join(f"{tool} {n}" for tool, n in self.no_row.most_common())
            yield f"calls of tools that are no action (--tool-action): {left}"
        if self.silent:
            yield (
                f"episodes without a call, which have no action: {len(self.silent)}: "
                f"{listing(self.silent, 3)}"
            )
        if counts["superseded"]:
            yield (
                f"turns before which several beliefs were reported: {counts['superseded']}; the "
                "last one is read"
            )
        if counts["short"]:
            yield f"turns beyond the end of metadata.p_true: {counts['short']}; they have no p_true"
        if counts["elsewhere"]:
            yield (
                f"calls in the events alone, as of sub-agents: {counts['elsewhere']}; they are "
                "left out"
            )
        if counts["epochs"]:
            yield (
                "every epoch of a sample is an episode (group), though epochs share the outcome; "
                "--map group=id takes samples for the clusters"
            )


def _answer(value: object) -> object:
    """Return what was reported; what is neither text nor a number is shown as text."""
    if value is None or isinstance(value, str | float) or type(value) is int:
        return value
    return as_text(value)
