"""Choices between two options of which one has a stated level: matching and stakes questions.

A matching question offers the same prize on an event or with a stated chance (Karni 2009); half of
them offer the complement of the event, which takes ambiguity attitude out (Baillon, Huang, Selim
and Wakker 2018). A stakes question offers to act or to pass, for payoffs of which acting is worth
it from some probability of the event on. Which option is named first, and which frame, is crossed
and balanced within the case.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from coherence.errors import InputError
from coherence.runs.columns import FRAMES, LEVEL_OPTIONS
from elicitation.options import MOST_LEVELS, Decision

LETTERS = ("A", "B")
"""The answers: options are named in this order."""
_FRAMES_OF = {"matching": FRAMES, "stakes": ("stakes",)}
ACT = "act"
OFFERED = {"matching": LEVEL_OPTIONS, "stakes": (ACT, "pass")}
"""The two options of each kind of question."""
THRESHOLDS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Probabilities of the event from which acting pays, of stakes questions."""
TOTAL = 20
"""Points between the best and the worst end of acting: whole numbers at every threshold."""


@dataclass(frozen=True)
class Offer:
    """What a question offers."""

    # in (0, 1): the chance as the question states it, or the probability from which acting pays
    level: float
    frame: str  # "event" or "complement", or "stakes"
    order: str  # the option that is named first

    @property
    def numbers(self) -> dict[str, str]:
        """The placeholders that depend on the level."""
        loss = round(TOTAL * self.level)
        return {
            "chance": str(round(100 * self.level)),
            "gain": str(TOTAL - loss),
            "loss": str(loss),
        }


def cells_of(kind: str, level: float | None, frame: str, order: str) -> dict[str, Any]:
    """Return the cells of a row with the answer to an offer: level and frame, or what is staked."""
    if kind != "stakes" or level is None:
        return {"level": level, "frame": frame, "order": order}
    loss = float(round(TOTAL * level))
    return {"gain": TOTAL - loss, "loss": loss, "acts": ACT, "order": order}


def chances_of(n_levels: int) -> tuple[float, ...]:
    """Return an even grid of whole percents: (k - 1/2) / n."""
    if not 2 <= n_levels <= MOST_LEVELS:
        raise InputError(
            f"levels must be at least 2, to see a choice turn, and at most {MOST_LEVELS}, to be "
            f"different whole percents; received {n_levels}."
        )
    # Halves go to the even number, so that the grid is its own complement.
    return tuple(round(100 * (k + 0.5) / n_levels) / 100 for k in range(n_levels))


def offers_of(
    decision: Decision, n_levels: int, *, every: bool, seed: int, case: int, rep: int
) -> Iterator[Offer]:
    """Yield what a case is offered in a repetition: one cell of order x frame for each level.

    Neighbouring levels have both orders and both frames; further repetitions go through the other
    cells of each level. `every` takes all cells of every level at once.
    """
    frames, options = _FRAMES_OF[decision], OFFERED[decision]
    levels = chances_of(n_levels) if decision == "matching" else THRESHOLDS
    n_cells = len(frames) * len(options)
    turn, cell_of_turn = divmod(rep, n_cells)
    first = _balanced(len(levels), n_cells, np.random.default_rng([seed, case, turn]))
    for level, cell in zip(levels, first, strict=True):
        for number in range(n_cells) if every else (cell ^ cell_of_turn,):
            frame = frames[number // 2]
            stated = round(1 - level, 2) if frame == "complement" else level
            yield Offer(stated, frame, options[number % 2])


def _balanced(n_levels: int, n_cells: int, rng: np.random.Generator) -> list[int]:
    """Return a cell for each level, each with its opposite beside it."""
    cells: list[int] = []
    while len(cells) < n_levels:
        first = int(rng.integers(n_cells))
        cells += [first, first ^ (n_cells - 1)]
        if n_cells == 4:
            second = first ^ int(rng.integers(1, 3))
            cells += [second, second ^ 3]
    return cells[:n_levels]
