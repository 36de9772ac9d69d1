"""Choices between two options of which one has a stated level: matching and stakes questions.

A matching question offers the same prize on an event or with a stated chance (Karni 2009); half of
them offer the complement of the event, which takes ambiguity attitude out (Baillon, Huang, Selim
and Wakker 2018). A stakes question offers to act or to pass, for payoffs of which acting is worth
it from some probability of the event on; another asks from which one it would. Which option is
named first, and which frame, is crossed and balanced within the case.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from coherence.errors import InputError
from coherence.runs.columns import FRAMES, LEVEL_OPTIONS
from elicitation.options import MOST_LEVELS, Decision

LETTERS = ("A", "B")
"""The answers: options are named in this order."""
ACT = "act"
SAID: Literal["costs-said"] = "costs-said"
OFFERED = {"matching": LEVEL_OPTIONS, "stakes": (ACT, "pass")}
"""The two options of each kind of question."""
USUAL_COSTS = {"stakes": "18:2,15:5,10:10,5:15,2:18", SAID: "3:1,1:1,1:3"}
"""What acting gains if the event happens, and loses if not, by the decision."""
MOST_COSTS = 20


@dataclass(frozen=True)
class Offer:
    """What a question offers."""

    # in (0, 1): the chance as the question states it, or the probability from which acting pays
    level: float
    frame: str  # "event" or "complement", or gain and loss as "3:1"
    order: str  # the option that is named first

    @property
    def numbers(self) -> dict[str, str]:
        """The placeholders that depend on the level."""
        gain, _, loss = self.frame.partition(":")
        return {"chance": str(round(100 * self.level)), "gain": gain, "loss": loss}


def cells_of(level: float | None, frame: str, order: str) -> dict[str, Any]:
    """Return the cells of a row with the answer to an offer: level and frame, or what is staked."""
    gain, staked, loss = frame.partition(":")
    if not staked:
        return {"level": level, "frame": frame, "order": order}
    return {"gain": float(gain), "loss": float(loss), "acts": ACT, "order": order}


def costs_of(decision: Decision, costs: str | None) -> dict[str, float]:
    """Return "gain:loss" -> the probability from which acting pays, of all payoffs."""
    found: dict[str, float] = {}
    listed = USUAL_COSTS[decision] if costs is None else costs
    for word in listed.split(","):
        amounts = [each.strip() for each in word.split(":")]
        try:
            gain, loss = map(float, amounts)
        except ValueError:
            gain = loss = math.nan
        if not (0 < gain < math.inf and 0 < loss < math.inf):
            raise InputError(
                "costs must be what acting gains and loses, two numbers above 0 with a colon, such "
                f"as {USUAL_COSTS[SAID]}; received {word.strip()!r}."
            )
        found[":".join(amounts)] = round(loss / (gain + loss), 9)
    if not 2 <= len(set(found.values())) == len(found) <= MOST_COSTS:
        raise InputError(
            f"costs must be 2 to {MOST_COSTS} different ratios; received {listed!r}. With one, "
            "choices cannot move."
        )
    return found


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
    decision: Decision,
    n_levels: int,
    costs: str | None,
    *,
    every: bool,
    seed: int,
    case: int,
    rep: int,
) -> Iterator[Offer]:
    """Yield what a case is offered in a repetition: one cell of order x frame for each level.

    Neighbouring levels have both orders and both frames; further repetitions go through the other
    cells of each level. `every` takes all cells of every level at once.
    """
    matching = decision == "matching"
    options = OFFERED["matching" if matching else "stakes"]
    offered: list[tuple[float, tuple[str, ...]]]
    if matching:
        offered = [(level, FRAMES) for level in chances_of(n_levels)]
    else:
        offered = [(level, (frame,)) for frame, level in costs_of(decision, costs).items()]
    n_cells = len(offered[0][1]) * len(options)
    turn, cell_of_turn = divmod(rep, n_cells)
    first = _balanced(len(offered), n_cells, np.random.default_rng([seed, case, turn]))
    for (level, frames), cell in zip(offered, first, strict=True):
        for number in range(n_cells) if every else (cell ^ cell_of_turn,):
            frame = frames[number // 2]
            stated = round(1 - level, 2) if frame == "complement" else level
            yield Offer(stated, frame, options[number % 2])


def said_of(costs: str | None, n: int) -> Iterator[tuple[int, Offer]]:
    """Yield from which probability it is asked whether it would act: `n` times, orders in turn."""
    for number in range(n):
        for at, (frame, level) in enumerate(costs_of(SAID, costs).items()):
            yield number, Offer(level, frame, OFFERED["stakes"][(number + at) % 2])


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
