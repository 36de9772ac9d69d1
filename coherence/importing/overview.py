"""What the agents of an Inspect log called, where they said beliefs, and the command to type."""

import re
import shlex
from collections import Counter
from pathlib import Path

from coherence.errors import InputError, listing
from coherence.importing.cells import belief_cell
from coherence.importing.tool_calls import SIDE_QUESTION, TEXT, TOOL, Episode, read_episodes
from coherence.printable import counted

_OF_BELIEFS = re.compile(r"prob|confid|belie|likel|chance|credence|certain|risk|^p$", re.IGNORECASE)
_STATED = re.compile(r"([^\W\d][^\n:=]{2,60}[:=])\s*(?:[0-9]*\.[0-9]+|[0-9]{1,3} ?%)")
_MOST_TOOLS = 8
_MOST_ACTIONS = 10  # values of an argument that is proposed as the action


class _Seen:
    def __init__(self) -> None:
        self.episodes = 0
        self.tools: Counter[str] = Counter()
        self.last: Counter[str] = Counter()
        self.values: dict[tuple[str, str], Counter[str]] = {}
        # place -> how often something stands there, is read, and is read as a percentage alone
        self.places: dict[str, Counter[str]] = {}
        self.words: Counter[str] = Counter()  # before what may be a belief

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.episodes += 1
        for event in episode.events:
            if not isinstance(event, str):
                self._said(
                    SIDE_QUESTION, event.get("reply") if event.get("p") is None else event["p"]
                )
        for each in episode.spoken:
            if isinstance(each, str):
                self._said(TEXT, each)
                self.words.update(words.strip() for words in _STATED.findall(each))
                continue
            self.tools[each.tool] += 1
            for name, value in each.arguments.items():
                self.values.setdefault((each.tool, name), Counter())[str(value)[:40]] += 1
                if _OF_BELIEFS.search(name):
                    self._said(f"{TOOL}{each.tool}.{name}", value)
        acted = [call.tool for call in episode.calls if call.tool not in self.reporters]
        self.last.update(acted[-1:])

    @property
    def reporters(self) -> set[str]:
        """Tools that report beliefs, which are no actions."""
        return {
            place.removeprefix(TOOL).rpartition(".")[0]
            for place, seen in self.places.items()
            if place.startswith(TOOL) and seen["read"] + seen["percent"]
        }

    def _said(self, place: str, value: object) -> None:
        seen = self.places.setdefault(place, Counter())
        read, percent = (
            belief_cell(value, None, percent=percent).value is not None for percent in (False, True)
        )
        seen.update(all=1, read=read, percent=percent and not read)


def require_action_from(path: Path) -> None:
    """Raise where the agents of a log call tools: which, where beliefs stand, and what to type.

    Raises
    ------
    InputError
        Some message calls a tool, so that the last answer need not be what was done.
    """
    _, episodes = read_episodes(path)
    seen = _Seen()
    for episode in episodes:
        seen.add(episode)
    if not seen.tools:
        return
    tools = [f"{tool} ({counted(times, 'call')})" for tool, times in seen.tools.most_common()]
    beliefs = [
        f"{place} ({found['read'] or found['percent']} of {found['all']} read"
        f"{' as percentages' if found['percent'] > found['read'] else ''})"
        for place, found in seen.places.items()
    ]
    raise InputError(
        f"{path}: agents call tools in {counted(seen.episodes, 'episode')}, and nothing says which "
        f"call is the action. Tools: {listing(tools, _MOST_TOOLS)}. What looks like a belief: "
        f"{listing(beliefs, _MOST_TOOLS) or 'nothing'}. {_command(path, seen)} To read the last "
        "answers instead: --map p=output"
    )


def _command(path: Path, seen: _Seen) -> str:
    """Propose a command: beliefs from where most can be read, aside before tools before words."""
    rank = {SIDE_QUESTION: 2, TEXT: 0}
    readable = [place for place, found in seen.places.items() if found["read"] + found["percent"]]
    words = ["coherence", "import", str(path), "--action-from", ",".join(_actions(seen))]
    if not readable:
        ((before, _),) = seen.words.most_common(1) or [("PROBABILITY:", 0)]
        pattern = f"{re.escape(before)} *([0-9.]+ ?%?)"
        return f"Type: {shlex.join([*words, '--belief-pattern', pattern, *_OUT])}."
    best = max(readable, key=lambda place: (rank.get(place, 1), seen.places[place]["read"]))
    words += ["--belief-from", best] * (best != SIDE_QUESTION)
    words += ["--percent"] * (seen.places[best]["percent"] > seen.places[best]["read"])
    return f"Type: {shlex.join([*words, *_OUT])}."


_OUT = ("--out", "runs.parquet")


def _actions(seen: _Seen) -> list[str]:
    """Return the tools that end episodes; of one alone the argument that tells calls apart."""
    tools = [tool for tool, _ in seen.last.most_common(4)] or [*seen.tools][:1]
    kinds = {
        name: len(values)
        for (tool, name), values in seen.values.items()
        if [tool] == tools and 2 <= len(values) <= _MOST_ACTIONS
    }
    return [f"{tools[0]}.{min(kinds, key=lambda name: kinds[name])}"] if kinds else tools
