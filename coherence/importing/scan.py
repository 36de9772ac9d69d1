"""What the agents of an Inspect log called and where they stated beliefs, and what to type next."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from coherence.errors import listing
from coherence.importing.cells import belief_cell
from coherence.importing.inspect_log import log_notes
from coherence.importing.log_format import AnswerLog
from coherence.importing.mapping import KNOWN_LABELS
from coherence.importing.tool_calls import (
    SIDE_QUESTION,
    TEXT,
    TOOL,
    Episode,
    Turn,
    as_text,
    read_episodes,
)
from coherence.table.printable import counted
from coherence.table.states import folded

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog

_OF_BELIEFS = re.compile(r"prob|confid|belie|likel|chance|credence|certain|risk|^p$", re.IGNORECASE)
_MOST_VALUES = 1_000  # of an argument that are told apart; texts may be different in every call
_MOST_ACTIONS = 10  # values of an argument that is proposed as the action
_SHOWN = 40  # letters of a value


@dataclass
class Place:
    """Where beliefs may stand: how many turns have something there, and what could be read."""

    turns: int = 0
    read: int = 0
    percent: int = 0  # numbers without a sign that are above 1, up to 100
    example: str = ""

    def add(self, value: object) -> None:
        """Count what stands there in one turn."""
        self.turns += 1
        cell = belief_cell(value, None, is_text=True, percent=False)
        of_100 = belief_cell(value, None, is_text=True, percent=True)
        self.read += cell.value is not None
        self.percent += cell.value is None and of_100.value is not None
        if not self.example and (cell.value is not None or of_100.value is not None):
            self.example = as_text(value)[-_SHOWN:].replace("\n", " ")

    @property
    def in_percent(self) -> bool:
        """Whether most numbers are percentages."""
        return self.percent > self.read


@dataclass
class _Seen:
    episodes: int = 0
    silent: int = 0
    turns: int = 0
    together: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    tools: Counter[str] = field(default_factory=Counter)
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    given_outcome: bool = False  # whether metadata has theta
    exact: bool = False

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        sample = episode.sample
        self.episodes += 1
        if sample.error:
            self.errors[sample.error.message] += 1
        self.silent += not any(turn.calls for turn in episode.turns)
        metadata = sample.metadata or {}
        self.exact |= "p_true" in metadata
        self.given_outcome |= "theta" in metadata
        theta = metadata.get("theta", sample.target)
        if theta not in (None, "", []):
            self.outcomes[str(theta)[:_SHOWN]] += 1
        for turn in episode.turns:
            self._add_turn(turn)

    def _add_turn(self, turn: Turn) -> None:
        self.turns += bool(turn.calls)
        self.together += len(turn.calls) > 1
        if turn.asked:
            asked = turn.asked[0]
            said = asked.get("reply") if asked.get("p") is None else asked["p"]
            self._place(SIDE_QUESTION).add(said)
        if turn.said and turn.calls:
            self._place(TEXT).add(turn.said)
        for call in turn.calls:
            self.tools[call.tool] += 1
            for name, value in call.arguments.items():
                values = self.values.setdefault((call.tool, name), Counter())
                text = as_text(value)[:_SHOWN]
                if text in values or len(values) < _MOST_VALUES:
                    values[text] += 1
                if _OF_BELIEFS.search(name):
                    self._place(f"{TOOL}{call.tool}.{name}").add(value)

    def _place(self, name: str) -> Place:
        return self.places.setdefault(name, Place())


def scan(path: Path, *, max_bytes: int) -> tuple[AnswerLog, list[str]]:
    """Return a log without records, and lines on what its episodes hold."""
    log, episodes = read_episodes(path, max_bytes=max_bytes)
    seen = _Seen()
    for episode in episodes:
        seen.add(episode)
    answers = AnswerLog(path.name, log.eval.task, log.eval.model, (), {})
    return answers, list(_lines(path, log, seen))


def _lines(path: Path, log: "EvalLog", seen: _Seen) -> Iterator[str]:
    name = log.eval.task
    yield f"{path}: {counted(seen.episodes, 'episode')} of {name}, model {log.eval.model}"
    for note in log_notes(log, seen.episodes, seen.errors):
        yield f"  {note}"
    if not seen.turns:
        yield "  no message calls a tool; what was answered last is read without --action-from"
        yield f"next: coherence import {shlex.quote(str(path))} --out runs.parquet"
        return
    more = f", {seen.together} of them several at once" if seen.together else ""
    yield f"  turns that call tools: {seen.turns}{more}; episodes without one: {seen.silent}"
    yield "  tools"
    for tool, times in seen.tools.most_common():
        yield f"    {tool}: {counted(times, 'call')}"
        for (of, argument), values in seen.values.items():
            if of == tool:
                yield f"      {argument}: {_values(values)}"
    yield "  beliefs"
    for where, place in seen.places.items():
        read = place.percent if place.in_percent else place.read
        form = " as percentages" if place.in_percent else ""
        example = f", such as {place.example!r}" if place.example else ""
        yield f"    {where}: in {counted(place.turns, 'turn')}, read in {read}{form}{example}"
    if not seen.places:
        yield "    none: nothing asked aside, no words before a call, no argument that is a belief"
    where = "metadata.theta" if seen.given_outcome else "target"
    known = ", ".join(f"{label!r} {n}" for label, n in seen.outcomes.most_common(4))
    yield f"  outcomes: {f'{where}: {known}' if known else 'none in target or metadata.theta'}"
    scores = sorted(
        {score.name for score in (log.results.scores if log.results else [])},
    )
    if scores:
        yield f"    scores, for --map theta=scores.NAME.value: {listing(scores)}"
    yield f"  exact posterior: {'metadata.p_true' if seen.exact else 'none in metadata.p_true'}"
    yield from _next(path, seen)


def _values(values: Counter[str]) -> str:
    shown = ", ".join(f"{value} ({n})" for value, n in values.most_common(5))
    left = len(values) - 5
    more = "" if left <= 0 else f" and {left}{'+' * (len(values) >= _MOST_VALUES)} more"
    return shown + more


def _next(path: Path, seen: _Seen) -> Iterator[str]:
    """Propose a command: beliefs from where most can be read, aside before tools before words."""
    readable = {
        where: max(place.read, place.percent)
        for where, place in seen.places.items()
        if max(place.read, place.percent)
    }
    if not readable:
        yield "next: nothing states a probability that can be read; ask for one at every turn"
        return
    rank = {SIDE_QUESTION: 2, TEXT: 0}
    best = max(readable, key=lambda where: (rank.get(where, 1), readable[where]))
    words = ["coherence", "import", str(path), "--action-from", "tool_calls"]
    words += ["--belief-from", best] + ["--percent"] * seen.places[best].in_percent
    # A tool that reports beliefs is no action, also where others state them.
    reporters = {tool for tool, argument in seen.values if f"{TOOL}{tool}.{argument}" in readable}
    if reporters - {best.removeprefix(TOOL).rpartition(".")[0]}:
        for tool in seen.tools:
            words += ["--tool-action", tool] * (tool not in reporters)
    words += _of_one_tool(seen, reporters)
    unknown = [label for label in seen.outcomes if folded(label) not in KNOWN_LABELS]
    words += ["--map", "theta=-"] * bool(unknown)
    yield f"next: {shlex.join([*words, '--out', 'runs.parquet'])}"
    if unknown:
        yield (
            f"      in place of theta=-, --positive LABEL says whose probability was stated: "
            f"{listing(map(repr, unknown), 4)}"
        )


def _of_one_tool(seen: _Seen, reporters: set[str]) -> list[str]:
    """Propose the argument that tells actions apart, where only one tool acts."""
    acting = set(seen.tools) - reporters
    kinds = {
        argument: len(values)
        for (tool, argument), values in seen.values.items()
        if {tool} == acting and 2 <= len(values) <= _MOST_ACTIONS
    }
    if not kinds:
        return []
    return ["--action-argument", f"{acting.pop()}:{min(kinds, key=lambda name: kinds[name])}"]
