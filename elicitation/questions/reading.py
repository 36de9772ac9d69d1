"""What an answer says: words by their form, numbers and shares of a distribution, a status by mass.

What is read off probabilities is renormalised over the readable answers, whose probability is the
answer mass; which way reads what is said in `elicitation.ways`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from coherence.decoding.decode import (
    LOW_MASS,
    OK,
    UNPARSED,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
)
from elicitation.models.base import Answer
from elicitation.spelling.forms import Distribution

if TYPE_CHECKING:
    from elicitation.questions.question import QuestionSpec

ACTION_LABELS = ("no", "yes", "defer")
"""What a decision may come to."""
LEAST_MASS = 0.5
"""Share of the draws that must be on Yes and No for a belief to be read; where less of the mass is
on the answers that are read, the status says so."""
WIDEST_SHARE = 0.02
"""Where a server lists only the likeliest tokens, the share of Yes has bounds; wider than this, it
counts as unread."""
_QUANTILES = (0.05, 0.95)
_BARE = " \t\r\n*_#>`"  # what is taken off a line before it is compared: bold echoes, too
_STATEMENT = re.compile(r"[^:]+: \S+")  # such as an example in a question has, or an answer


@dataclass(frozen=True)
class Parsed:
    """What an answer says."""

    # probability of Yes; shares of labels that sum to 1; an action, or action -> probability; None
    # unless the status is one of those with a value
    value: Any
    status: str  # one of `coherence.decoding.decode.STATUSES`.
    # probability of the readable answers, or their share in the draws; None of free text
    answer_mass: float | None = None
    # sd, q05, q95: standard deviation and quantiles of a belief that is a distribution
    sd: float = math.nan
    q05: float = math.nan
    q95: float = math.nan
    too_wide: bool = False  # whether it has no value for its bounds alone


def mass_status(mass: float, min_mass: float = 0.0) -> str:
    """Return the status of what is read off the answers that have a mass."""
    if mass <= 0 or mass < min_mass:
        return UNPARSED
    return LOW_MASS if mass < LEAST_MASS else OK


def belief(p: Any, share: Any, status: str, mass: float) -> Parsed:
    """Return the mean, the spread and the quantiles of probabilities that have shares."""
    mean = float(share @ p)
    order = np.argsort(p)
    # Half of a rounding error below, so that a sum of .05 in decimals counts as .05.
    cumulative = np.cumsum(share[order]) + 1e-12
    low, high = (
        float(p[order][min(int(np.searchsorted(cumulative, q)), len(p) - 1)]) for q in _QUANTILES
    )
    # Rounding may leave [0, 1] by a digit.
    mean = min(max(mean, 0.0), 1.0)
    sd = math.sqrt(max(float(share @ (p - mean) ** 2), 0.0))
    return Parsed(mean, status, mass, sd, low, high)


def shares(stated: Sequence[float], status: str, mass: float) -> Parsed:
    """Return numbers as shares of their sum."""
    total = math.fsum(stated)
    if total <= 0:
        return Parsed(None, UNPARSED, mass)
    return Parsed(tuple(number / total for number in stated), status, mass)


def numbers(distribution: Distribution, part: int = 0) -> tuple[Any, Any]:
    """Return the numbers that the answers to a part state, and their shares."""
    stated = distribution.shares(part)
    return np.array(list(map(float, stated))), np.array(list(stated.values()))


def read_words(spec: "QuestionSpec", answer: Answer, asked: str) -> Parsed:
    """Read an answer in words by the form asked for."""
    text, ended = without_echo(answer.text, asked), answer.finish_reason
    read: Any
    if spec.is_choice:
        # What a letter stands for may be said in its place.
        said = _lines_of(asked, spec.lines) if spec.is_offer else ()
        read = decode_choice(text, spec.lines, words=said, finish_reason=ended)
    elif spec.role == "decision":
        read = decode_decision(text, finish_reason=ended)
    elif spec.role == "auxiliary":
        read = decode_distribution(text, spec.lines, finish_reason=ended)
    else:
        read = decode_belief(text, form=spec.form, finish_reason=ended)
    return Parsed(read.value, read.status)


def _lines_of(asked: str, letters: Sequence[str]) -> tuple[str, ...]:
    """Return the options of a question, each on the line of its letter; () where any is missing."""
    begun = {line[:1]: line[2:].strip() for line in asked.splitlines() if line[1:2] == ":"}
    return tuple(begun[letter] for letter in letters) if set(letters) <= set(begun) else ()


def without_echo(text: str, asked: str) -> str:
    r"""Take the question's own lines off an answer that repeats them, its example among them.

    Two lines and more that follow each other in the question are an echo where one of them is no
    statement: an answer may well equal the example.
    """
    known = [line.strip(_BARE) for line in asked.splitlines() if line.strip()]
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    kept, at = [], 0
    while at < len(lines):
        runs = [
            sum(1 for _ in takewhile(lambda pair: pair[0].strip(_BARE) == pair[1], pairs))
            for start in range(len(known))
            if known[start] == lines[at].strip(_BARE)
            and (pairs := zip(lines[at:], known[start:], strict=False))
        ]
        length = max(runs, default=0)
        run = lines[at : at + max(length, 1)]
        if length < 2 or all(_STATEMENT.fullmatch(line.strip(_BARE)) for line in run):
            kept.append(lines[at])
            at += 1
        else:
            at += length
    return "".join(kept) if len(kept) < len(lines) else text
