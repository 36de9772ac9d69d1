"""Probabilities of token sequences after a text, and by them of the answers in a form.

A text is read once for all sequences: both functions on them walk a tree of sequences from its
root, level by level, and read the logits after every node that they need. One loop serves all
forms: sequences are given up as long as they have no more than a tolerance together, and texts of
which too much was given up are read once more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from heapq import heapify, heappop, heappush

import numpy as np
import torch
from numpy.typing import NDArray

from coherence.errors import CoherenceError
from elicitation.models.local.forward import ROOT, Trees, require_numbers
from elicitation.spelling.forms import AnswerForm, Distribution, FormKind, FormPart, Spelling
from elicitation.spelling.tokenizations import SpellingGraph, SpellingMasses

Floats = NDArray[np.float64]
Tokens = tuple[int, ...]
Ranges = tuple[tuple[int, int], ...]
# Most logits held at a time, in numbers.
_LOGITS = 1 << 26
# Nodes that the trees of a portion may have, with two kilobytes each.
_MOST_NODES = 1 << 21


def continuation_logprobs(
    trees: Trees, continuations: Sequence[Sequence[Sequence[int]]]
) -> list[Floats]:
    """Score token sequences after the texts of trees that have not grown yet."""
    # log p(t1..tn) = sum_k log p(tk | t1..tk-1). The last token of a path is never fed, only read
    # off the logits after its parent: whatever leads on is an inner node.
    paths = [
        {tuple(each[:end]) for each in endings for end in range(1, len(each) + 1)}
        for endings in continuations
    ]
    # Inner nodes of every tree, shorter paths first: a parent has its number before its children.
    numbers: list[dict[Tokens, int]] = []
    for of_text in paths:
        inner = sorted({path[:-1] for path in of_text}, key=lambda path: (len(path), path))
        numbers.append({path: k for k, path in enumerate(inner, ROOT)})
    steps: list[dict[Tokens, float]] = [{} for _ in continuations]

    def read(logits: torch.Tensor, first: int) -> None:
        """Note the log-probability of every last token of a path after nodes `first` and on."""
        wanted = [
            (row, k, path)
            for row, of_text in enumerate(paths)
            for path in of_text
            if 0 <= (k := numbers[row][path[:-1]] - first) < logits.shape[1]
        ]
        if not wanted:
            return
        index = torch.tensor([(row, k, path[-1]) for row, k, path in wanted]).to(logits.device).T
        # The normaliser in single precision and the difference in double: a whole vocabulary in
        # double would take twice the memory.
        logits = logits.float()
        normaliser = logits.logsumexp(-1).double()[tuple(index[:2])]
        require_numbers(normaliser)
        values = (logits[tuple(index)].double() - normaliser).tolist()
        for (row, _, path), value in zip(wanted, values, strict=True):
            steps[row][path] = value

    read(trees.roots[:, None], ROOT)
    nodes = [[(tree[path[:-1]], path[-1]) for path in tree if path] for tree in numbers]
    portion = max(1, _LOGITS // trees.roots.numel())
    for first in range(0, max(map(len, nodes)), portion):
        read(trees.grow([added[first : first + portion] for added in nodes]), first)
    scores = []
    for step, endings in zip(steps, continuations, strict=True):
        beginnings = ([tuple(each[:end]) for end in range(1, len(each) + 1)] for each in endings)
        scores.append(np.array([sum(map(step.__getitem__, paths)) for paths in beginnings]))
    return scores


@dataclass(frozen=True)
class _Node:
    state: int
    mass: float
    number: int  # of its parent while it is a child, its own once it has grown
    tokens: Tokens


def spelling_masses(
    trees: Trees,
    graph: SpellingGraph,
    order: NDArray[np.int64],
    *,
    n_spellings: int,
    tolerance: float,
    tolerance_for: Callable[[Floats], float] | None = None,
    alike_share: float = 0.0,
    grown: Callable[[int], None] = lambda n_nodes: None,
) -> tuple[Floats, Floats]:
    """Add up the probability of spellings over all their token sequences; see `ReadsForms`.

    `grown` is called with the number of sequences of a text that were read so far.
    """
    tolerances = [tolerance] * len(trees.roots)
    reader = _MassReader(trees, graph, order, n_spellings)
    # Nodes that have not grown: what they may still add is no more than their own probability.
    waiting = reader.read(trees.roots[:, None], [[_Node(0, 1.0, ROOT, ())] for _ in trees.roots])
    # A level is one forward pass, or several where its logits would not fit.
    n_grown, portion = 0, max(1, _LOGITS // trees.roots.numel())
    while True:
        for row, nodes in enumerate(waiting):
            if tolerance_for is not None and sum(node.mass for node in nodes) <= tolerances[row]:
                tolerances[row] = min(tolerances[row], tolerance_for(reader.masses[row]))
        level = [
            reader.to_grow(row, nodes, tolerances[row], alike_share)
            for row, nodes in enumerate(waiting)
        ]
        if not any(level):
            if alike_share:
                for row, nodes in enumerate(waiting):
                    reader.add_alike(row, nodes)
            # The smallest first, so that the sum does not depend on the order in which they came.
            left = [float(sum(sorted(node.mass for node in nodes))) for nodes in waiting]
            return reader.masses, np.array(left)
        for row, nodes in enumerate(level):
            growing_now = set(nodes)
            waiting[row] = [node for node in waiting[row] if node not in growing_now]
        for first in range(0, max(map(len, level)), portion):
            # Trees are cut alike, so that the numbers of their nodes keep pace.
            growing = [
                _with_next(
                    nodes[first : first + portion], graph, n_grown, trees.ahead, tolerances[row]
                )
                for row, nodes in enumerate(level)
            ]
            logits = trees.grow(
                [[(node.number, node.tokens[-1]) for node in nodes] for nodes in growing]
            )
            numbered = [
                [replace(node, number=n_grown + k) for k, node in enumerate(nodes)]
                for nodes in growing
            ]
            n_grown += logits.shape[1]
            grown(n_grown)
            if n_grown * len(waiting) > _MOST_NODES:
                if len(waiting) > 1:  # a smaller portion may have room
                    raise MemoryError
                raise CoherenceError(
                    f"the answers in this form are spread over more than {_MOST_NODES:,} token "
                    "sequences, as where a tokenizer writes one text in many ways, and are not "
                    "read. Have them drawn (--answers drawn)."
                )
            for nodes, children in zip(waiting, reader.read(logits, numbered), strict=True):
                nodes += children


class _MassReader:
    """What the logits after nodes say about spellings, added up; see `spelling_masses`."""

    def __init__(
        self,
        trees: Trees,
        graph: SpellingGraph,
        order: NDArray[np.int64],
        n_spellings: int,
    ) -> None:
        n_texts, self.vocabulary_size = trees.roots.shape
        self.masses = np.zeros((n_texts, n_spellings))
        # for every text the nodes that were read, each with the masses that are decided after it
        self.nodes: list[list[tuple[_Node, NDArray[np.int64], Floats]]] = [
            [] for _ in range(n_texts)
        ]
        self.graph = graph
        self.tables: dict[int, _Table] = {}
        self.sets = _TokenSets(order, trees.roots.device)

    def read(self, logits: torch.Tensor, level: list[list[_Node]]) -> list[list[_Node]]:
        """Add what is decided after the nodes of a level to `masses`; return what is still open."""
        children: list[dict[Tokens, _Node]] = [{} for _ in level]
        at_nodes = [
            (row, k, node) for row, nodes in enumerate(level) for k, node in enumerate(nodes)
        ]
        # Copies in the precision of the sums lie side by side here: a part of the rows at a time.
        step = max(1, _LOGITS // (4 * self.vocabulary_size))
        for start in range(0, len(at_nodes), step):
            portion = at_nodes[start : start + step]
            tables = [self._table(node.state) for *_, node in portion]
            index = torch.tensor([(row, k) for row, k, _ in portion], device=logits.device).T
            values = logits[tuple(index)]
            values = values if values.dtype == torch.float64 else values.float()
            normaliser = values.logsumexp(-1).double()
            require_numbers(normaliser)
            decided = self.sets.sums(values, normaliser, [table.ranges for table in tables])
            further = _take(values, normaliser, [table.tokens for table in tables])
            for (row, _, node), table, sums, onward in zip(
                portion, tables, decided, further, strict=True
            ):
                # The mass of a node that grew together with its parent is known only now.
                node = replace(node, mass=children[row].pop(node.tokens, node).mass)
                masses = sums[table.which] * node.mass
                self.masses[row, table.spelling] += masses
                self.nodes[row].append((node, table.spelling, masses))
                steps = self.graph.steps[node.state]
                for (token, target), mass in zip(steps, (onward * node.mass).tolist(), strict=True):
                    tokens = *node.tokens, token
                    children[row][tokens] = _Node(target, mass, node.number, tokens)
        return [list(nodes.values()) for nodes in children]

    def _table(self, state: int) -> "_Table":
        # Of thousands of states few are reached with a probability that counts.
        if state not in self.tables:
            self.tables[state] = _Table.of(self.graph, state)
        return self.tables[state]

    def to_grow(
        self, row: int, nodes: list[_Node], tolerance: float, alike_share: float
    ) -> list[_Node]:
        """Choose which nodes grow next; others of their kind may stand for some."""
        limit = alike_share * float(self.masses[row].sum())
        if limit <= tolerance:
            return _to_grow(nodes, tolerance)
        kinds = {self.graph.kinds[node.state] for node, *_ in self.nodes[row]}
        alone: list[_Node] = []
        alike: list[_Node] = []
        for node in sorted(nodes, key=lambda node: (-node.mass, node.tokens)):
            kind = self.graph.kinds[node.state]
            (alike if kind in kinds else alone).append(node)
            kinds.add(kind)
        return sorted(
            _to_grow(alone, tolerance) + _to_grow(alike, limit), key=lambda node: node.tokens
        )

    def add_alike(self, row: int, waiting: list[_Node]) -> None:
        """Have nodes that were not read go on as the most probable one of their kind that was."""
        read = {node.tokens: (spelling, masses) for node, spelling, masses in self.nodes[row]}
        most: dict[int, _Node] = {}
        children: dict[Tokens, list[_Node]] = {}
        for node, *_ in self.nodes[row]:
            kind = self.graph.kinds[node.state]
            most[kind] = max(most.get(kind, node), node, key=lambda node: node.mass)
        for node in [*(node for node, *_ in self.nodes[row]), *waiting]:
            if node.tokens:
                children.setdefault(node.tokens[:-1], []).append(node)

        @cache
        def below(node: _Node) -> Floats:
            total = np.zeros(self.masses.shape[1])
            if node.tokens in read:
                spelling, masses = read[node.tokens]
                total[spelling] += masses
                # Of other kinds, as less of every spelling is missing there: this comes to an end.
                return sum((below(child) for child in children.get(node.tokens, ())), start=total)
            like = most.get(self.graph.kinds[node.state])
            return total if like is None or not like.mass else below(like) * (node.mass / like.mass)

        self.masses[row] = below(self.nodes[row][0][0])


class _TokenSets:
    """Sums of probabilities over sets of tokens, which many states share; see `_Table.ranges`."""

    def __init__(self, order: NDArray[np.int64], device: torch.device) -> None:
        self.order, self.device = order, device
        self.members: dict[Ranges, tuple[torch.Tensor, bool]] = {}

    def sums(
        self, values: torch.Tensor, normaliser: torch.Tensor, wanted: Sequence[tuple[Ranges, ...]]
    ) -> list[Floats]:
        """Return for every row of logits the probabilities of the sets that are wanted there."""
        rows_of: dict[Ranges, list[int]] = {}
        for row, sets in enumerate(wanted):
            for ranges in sets:
                rows_of.setdefault(ranges, []).append(row)
        sums, counted = [], []
        for ranges, rows in rows_of.items():
            ids, complement = self._members_of(ranges)
            at = torch.tensor(rows, device=self.device)
            # All but a few tokens: those few are added up, and the rest is what they leave.
            share = (values[at[:, None], ids].double() - normaliser[at, None]).exp().sum(-1)
            sums.append((1 - share).clamp(min=0) if complement else share)
            counted += [(row, ranges) for row in rows]
        # One transfer from the device for all of them.
        listed = torch.cat(sums).tolist() if sums else []
        share_of = dict(zip(counted, listed, strict=True))
        return [
            np.array([share_of[row, ranges] for ranges in sets], dtype=np.float64)
            for row, sets in enumerate(wanted)
        ]

    def _members_of(self, ranges: Ranges) -> tuple[torch.Tensor, bool]:
        if ranges not in self.members:
            inside = np.zeros(len(self.order), dtype=bool)
            for start, stop in ranges:
                inside[start:stop] = True
            complement = bool(2 * inside.sum() > len(inside))
            ids = self.order[~inside if complement else inside]
            self.members[ranges] = torch.from_numpy(ids).to(self.device), complement
        return self.members[ranges]


@dataclass(frozen=True, eq=False)
class _Table:
    """What the tokens do at one state, as arrays: see `SpellingGraph`.

    `ranges` holds sets of tokens as ranges of places in the vocabulary; those of the set at
    position ``which[i]`` decide in favour of ``spelling[i]``.
    """

    spelling: NDArray[np.int64]
    which: NDArray[np.int64]
    ranges: tuple[Ranges, ...]
    tokens: NDArray[np.int64]  # that keep it open

    @classmethod
    def of(cls, graph: SpellingGraph, state: int) -> "_Table":
        of_spelling: dict[int, list[tuple[int, int]]] = {}
        for spelling, start, stop in graph.deciding[state]:
            of_spelling.setdefault(spelling, []).append((start, stop))
        sets = {spelling: tuple(ranges) for spelling, ranges in of_spelling.items()}
        position = {ranges: k for k, ranges in enumerate(dict.fromkeys(sets.values()))}
        return cls(
            np.array(list(sets), dtype=np.int64),
            np.array([position[ranges] for ranges in sets.values()], dtype=np.int64),
            tuple(position),
            np.array([token for token, _ in graph.steps[state]], dtype=np.int64),
        )


def _take(
    values: torch.Tensor, normaliser: torch.Tensor, columns: Sequence[NDArray[np.int64]]
) -> list[Floats]:
    """Read the probabilities of some tokens in every row, in one transfer from the device."""
    counts = [len(columns_of_row) for columns_of_row in columns]
    row = torch.from_numpy(np.repeat(np.arange(len(columns)), counts)).to(values.device)
    column = torch.from_numpy(np.concatenate(columns)).to(values.device)
    read = (values[row, column].double() - normaliser[row]).exp()
    return np.split(read.cpu().numpy(), np.cumsum(counts)[:-1])


def _with_next(
    nodes: list[_Node], graph: SpellingGraph, first: int, n_more: int, tolerance: float
) -> list[_Node]:
    """Return nodes and behind them, up to so many, those that will most probably grow next.

    They grow in the same pass, before their probability is known: as if all steps were alike. The
    first of the nodes will have the number `first`.
    """
    grown = list(nodes)

    def entry(k: int) -> tuple[float, int]:
        return -grown[k].mass / max(1, len(graph.steps[grown[k].state])), k

    likely = [entry(k) for k in range(len(nodes))]
    heapify(likely)
    while likely and -likely[0][0] > tolerance:
        mass, k = heappop(likely)
        node, steps = grown[k], graph.steps[grown[k].state]
        if len(grown) + len(steps) > len(nodes) + n_more:
            continue
        for token, state in steps:
            grown.append(_Node(state, -mass, first + k, (*node.tokens, token)))
            heappush(likely, entry(len(grown) - 1))
    return grown


def _to_grow(nodes: list[_Node], tolerance: float) -> list[_Node]:
    """Choose which nodes grow next: the most probable, none if all may be given up.

    The others wait, and are given up if at the end all that wait sum to the tolerance at most.
    Nothing is given up level by level: what a level may lose would shrink with every one below it,
    and a long spelling would be followed in all its tokens, however improbable.
    """
    ordered = sorted(nodes, key=lambda node: (node.mass, node.tokens))
    sums = np.cumsum([node.mass for node in ordered])
    if not nodes or sums[-1] <= tolerance:
        return []
    # Half of it for those that wait: with all of it, every pass would end in a nearly equal one.
    n_waiting = int(np.searchsorted(sums, tolerance / 2, side="right"))
    return sorted(ordered[n_waiting:], key=lambda node: node.tokens)


LARGEST_GAP = 0.01
"""Of the probability on the outcomes: a belief that may lack more than this is not read."""
_OPENING_GAP = 2e-3
"""Of the mass of all outcomes in their many forms: most that may have been given up beside it."""
_LEAST_OPENING_TOLERANCE = 1e-6
"""Many forms of improbable answers would be followed for nothing: what has less is unread."""


@dataclass(frozen=True)
class Refinement:
    """How closely the answers of a kind of form are read."""

    tolerance: float  # of the first reading
    rounds: int = 1
    # most that may have been given up, by the masses of all spellings and those of the labels
    bound: Callable[[Floats, Floats], float] = lambda spellings, labels: np.inf
    # The next tolerance is this share of the least bound or, where nothing at all was read, of the
    # tolerance; and so many times finer in any case.
    share: float = 1.0
    share_of_nothing: float = 1.0
    step: int = 1
    # the tolerance that a text gets while it is read, by the masses read so far
    tolerance_for: Callable[[Floats], float] | None = None
    # of the masses: most that sequences may have that are taken to go on as others of their kind
    alike_share: float = 0.0
    or_unread: bool = False  # whether a text that lacks more than `LARGEST_GAP` has no masses


_FORMS = Refinement(
    1e-6,
    rounds=4,
    # Of the answer mass: what was given up is little, but of an answer mass that is as little.
    bound=lambda spellings, labels: 1e-3 * float(spellings.sum()),
    share=0.5,
    step=100,
    # " 0.3" is taken to go on as "0.3" does. Beliefs of SmolLM2 are within 5e-7 of those of a
    # tolerance of 1e-9, and a third of the nodes is not read (benchmarks/smollm2.md).
    alike_share=2e-4,
)
REFINEMENTS: dict[FormKind, Refinement] = {
    **dict.fromkeys(("lines", "number", "decision", "choice"), _FORMS),
    # A share among the labels: what was given up is little beside their mass, however little it is.
    "labels": Refinement(
        1e-6, rounds=5, bound=lambda spellings, labels: 1e-5 * float(labels.sum()), share=0.5
    ),
    # Far below the usual tolerance: divergences look at the logarithm of the least outcome, of
    # which no more than a thousandth may be missing. The last tolerance is 1e-36, below which an
    # outcome counts as impossible.
    "outcomes": Refinement(
        1e-12,
        rounds=5,
        bound=lambda spellings, labels: 1e-3 * float(labels.min()),
        share_of_nothing=1e-6,
        or_unread=True,
    ),
    # Many forms are costly to follow, and nobody takes a logarithm.
    "letters": Refinement(1e-7, or_unread=True),
    # Rates are shares in the mass of all outcomes.
    "openings": Refinement(
        1e-5,
        tolerance_for=lambda masses: max(
            _OPENING_GAP * float(masses.sum()), _LEAST_OPENING_TOLERANCE
        ),
        or_unread=True,
    ),
}


class ReadsForms:
    """A model that knows how probable it is that its answer begins in given ways.

    It knows by that the answers in any form, and need not write any.
    """

    answer_kinds = frozenset(REFINEMENTS)

    def encode(self, texts: Sequence[str], *, answer: str = "") -> list[list[int]]:
        """Return the token ids of each text as the model reads it."""
        raise NotImplementedError

    def spelling_masses(
        self,
        texts: Sequence[Sequence[int]],
        spellings: Sequence[Spelling],
        *,
        tolerance: float,
        tolerance_for: Callable[[Floats], float] | None = None,
        alike_share: float = 0.0,
    ) -> SpellingMasses:
        """Return the probabilities that the answers to texts begin with spellings.

        Token sequences are given up as long as they have no more than `tolerance` together, and no
        more than `tolerance_for` makes of the masses that were read so. Beside them sequences are
        not read that have no more than `alike_share` of the masses together, where the same may
        follow as after sequences that are read (after " 0.3" as after "0.3"): they are taken to go
        on as those do, and count as the same outcomes.
        """
        raise NotImplementedError

    def distributions(
        self, questions: Sequence[tuple[str, AnswerForm]]
    ) -> Iterator[tuple[int, Distribution]]:
        """Return the distribution over the answers in a form after each text."""
        wanted = [
            (row, k, form, part)
            for row, (_, form) in enumerate(questions)
            for k, part in enumerate(form.parts)
        ]
        read: dict[tuple[int, int], dict[str, float]] = {}
        # Those with the same spellings in one call of the model.
        for same in dict.fromkeys(frozenset(part.spellings) for *_, part in wanted):
            alike = [each for each in wanted if same == frozenset(each[3].spellings)]
            # The beginning of the answer is read with the text: a tokenizer may merge both.
            ids = [
                self.encode([questions[row][0]], answer=part.prefill)[0] for row, *_, part in alike
            ]
            _, _, form, part = alike[0]
            for (row, k, *_), masses in zip(alike, _masses(self, ids, form, part), strict=True):
                read[row, k] = masses
        for row, (_, form) in enumerate(questions):
            yield row, Distribution(tuple(read[row, k] for k in range(len(form.parts))))


def _masses(
    model: ReadsForms, ids: Sequence[Sequence[int]], form: AnswerForm, part: FormPart
) -> Iterator[dict[str, float]]:
    """Yield the masses of the answers after each text by their names."""
    refinement, names = REFINEMENTS[form.kind], part.outcomes
    column = np.array([names.index(spelling.outcome) for spelling in part.spellings])
    masses, lost = np.empty((len(ids), len(part.spellings))), np.empty(len(ids))
    left, tolerance = list(range(len(ids))), refinement.tolerance

    def by_name(row: int) -> Floats:
        return np.asarray(np.bincount(column, masses[row], len(names)), dtype=np.float64)

    for _ in range(refinement.rounds):
        read = model.spelling_masses(
            [ids[i] for i in left],
            part.spellings,
            tolerance=tolerance,
            tolerance_for=refinement.tolerance_for,
            alike_share=refinement.alike_share,
        )
        masses[left], lost[left] = read.masses, read.unresolved
        bounds = {i: refinement.bound(masses[i], by_name(i)[: len(form.labels)]) for i in left}
        left = [i for i in left if lost[i] > bounds[i]]
        if not left:
            break
        # Where nothing at all was read, there may be something below the tolerance.
        bound = min(bounds[i] for i in left)
        wanted = bound * refinement.share or tolerance * refinement.share_of_nothing
        tolerance = min(wanted, tolerance / refinement.step)
    for row in range(len(ids)):
        summed = by_name(row)
        gap = LARGEST_GAP * float(sum(summed[: len(form.labels)]))
        if refinement.or_unread and lost[row] > gap:
            summed = np.zeros(len(names))
        yield dict(zip(names, summed.tolist(), strict=True))
