"""Where counts of a report lead: groups of contexts.

Addresses are made of numbers that the report counts itself; no name of a task, model, context or
answer enters the name of a file.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

MOST_CONTEXTS = 1000
"""Contexts of an evaluation whose answers are written, unless something else is asked for."""
PER_PAGE = 100


@dataclass(frozen=True)
class Group:
    """Contexts that a count stands for."""

    anchor: str  # id on the evaluation's page of groups
    title: str  # what they have in common
    contexts: tuple[str, ...]  # as text


class AnswerLinks:
    """Addresses of the answers of one evaluation, and the groups that were linked to.

    Parameters
    ----------
    key : str
        Key of the evaluation, such as "evaluation-3".
    contexts : sequence
        Contexts of the evaluation in the order of the table.
    most : int
        How many of them have their answers written.
    moves : mapping, optional
        What each of them adds to the result: those that move it most come first. Without it they
        stay in the order of the table, and of too many some are taken, evenly spaced.
    base : str
        Folder of the pages as seen from the page that links, with its slash.

    Attributes
    ----------
    shown : dict
        Context -> its number on the pages, in order.
    groups : list of Group
        In the order in which they were linked to.
    """

    def __init__(
        self,
        key: str,
        contexts: Sequence[Hashable],
        *,
        most: int,
        moves: Mapping[str, float] | None = None,
        base: str = "answers/",
    ) -> None:
        self.key, self.base, self.n_contexts = key, base, len(contexts)
        self.moves, named, kept = moves or {}, list(map(str, contexts)), min(most, len(contexts))
        if self.moves:
            # Equal ones stay in the order of the table.
            chosen = sorted(named, key=lambda each: -abs(self.moves.get(each, 0.0)))[:kept]
        else:
            # Not drawn: equal pages for equal data.
            chosen = [named[at * len(named) // kept] for at in range(kept)]
        self.shown = {context: number for number, context in enumerate(chosen)}
        self.groups: list[Group] = []

    @property
    def n_pages(self) -> int:
        """Pages of contexts."""
        return -(-len(self.shown) // PER_PAGE)

    def index(self) -> str:
        """Return the address of the evaluation's page of groups."""
        return f"{self.base}{self.key}.html"

    def page_of(self, context: str) -> str:
        """Return file and anchor of a context that is shown."""
        number = self.shown[context]
        return f"{self.key}-page-{number // PER_PAGE + 1}.html#context-{number + 1}"

    def group(self, anchor: str, title: str, contexts: Iterable[object]) -> str:
        """Return the address of a group of contexts, which is listed on the page of groups."""
        members = tuple(dict.fromkeys(map(str, contexts)))
        self.groups.append(Group(anchor, title, members))
        return f"{self.index()}#{anchor}"
