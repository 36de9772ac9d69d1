"""Distributions over the answers in a form, read off a model's probabilities of token sequences.

One loop for all forms: token sequences are given up as long as they have no more than a tolerance
together, and texts of which too much was given up are read once more.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from elicitation.spelling.forms import AnswerForm, Distribution, FormKind, FormPart, Spelling
from elicitation.spelling.tokenizations import SpellingMasses

Floats = NDArray[np.float64]
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
