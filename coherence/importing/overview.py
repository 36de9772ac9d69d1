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
    """What the agents of a log called, and what looks like a belief."""

    def __init__(self) -> None:
        self.episodes = 0
        self.tools: Counter[str] = Counter()
        self.last: Counter[str] = Counter()  # tool -> episodes that it ends
        self.values: dict[tuple[str, str], Counter[str]] = {}  # of the arguments of tools
        # place -> how often something stands there, and is read: as it is, and as a percentage
        self.places: dict[str, Counter[str]] = {}
        self.words: Counter[str] = Counter()  # before what may be a belief

    def add(self, episode: Episode) -> None:
        """Count an episode."""
        self.episodes += 1
        for event in episode.events:
            if not isinstance(event, str):
                p, reply = event.get("p"), event.get("reply")
                self._said(SIDE_QUESTION, reply if p is None else p)
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
        reporters = {place.removeprefix(TOOL).rpartition(".")[0] for place in self.readable()}
        self.last.update([call.tool for call in episode.calls if call.tool not in reporters][-1:])

    def _said(self, place: str, value: object) -> None:
        read, percent = (
            belief_cell(value, None, percent=percent).value is not None for percent in (False, True)
        )
        seen = self.places.setdefault(place, Counter())
        seen.update(all=1, read=read, percent=percent and not read)

    def readable(self) -> list[str]:
        """Return the places of beliefs that can be read."""
        return [place for place, seen in self.places.items() if seen["read"] + seen["percent"]]

    def command(self, path: Path) -> str:
        """Propose a command: beliefs asked aside before those of tools before words.

        Actions are the tools that end episodes; of one alone the argument that tells calls apart.
        """
        tools = [tool for tool, _ in self.last.most_common(4)] or [*self.tools][:1]
        kinds = {
            name: len(values)
            for (tool, name), values in self.values.items()
            if [tool] == tools and 2 <= len(values) <= _MOST_ACTIONS
        }
        if kinds:
            tools = [f"{tools[0]}.{min(kinds, key=lambda name: kinds[name])}"]
        words = ["coherence", "import", str(path), "--action-from", ",".join(tools)]
        rank = {SIDE_QUESTION: 2, TEXT: 0}
        places = sorted(
            self.readable(), key=lambda place: (rank.get(place, 1), self.places[place]["read"])
        )
        if not places:
            ((before, _),) = self.words.most_common(1) or [("PROBABILITY:", 0)]
            words += ["--belief-pattern", f"{re.escape(before)} *([0-9.]+ ?%?)"]
        elif places[-1] != SIDE_QUESTION:
            words += ["--belief-from", places[-1]]
        if places and self.places[places[-1]]["percent"] > self.places[places[-1]]["read"]:
            words.append("--percent")
        return shlex.join([*words, "--out", "runs.parquet"])


def require_action_from(path: Path) -> None:
    """Raise where the agents of a log call tools: which, where beliefs stand, and what to type.

    Raises
    ------
    InputError
        Some message calls a tool, so that the last answer need not be what was done.
    """
    seen = _Seen()
    for episode in read_episodes(path)[1]:
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
        f"{listing(beliefs, _MOST_TOOLS) or 'nothing'}. Type: {seen.command(path)}. To read the "
        "last answers instead: --map p=output"
    )
