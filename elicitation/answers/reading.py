"""Reading answers, each once, by what was asked and how it was to be answered.

Beliefs that are read off, from the probability of labels or from the rate over many draws, are
renormalised over the readable answers; `answer_mass` says how much that was. Where the labels have
less than half of the mass, the model would rather say something else: what is read off has the
status `low_mass`. Where less than half of the draws can be read, there is no belief.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from coherence.decoding.decode import (
    BELIEF_LABELS,
    LOW_MASS,
    OK,
    UNPARSED,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
    worst,
)
from coherence.decoding.reply import take_apart
from elicitation.models.base import Answer
from elicitation.questions.question import Question, QuestionSpec
from elicitation.spelling.forms import AnswerForm, Distribution

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
class Reading:
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


@dataclass(frozen=True)
class ReadAnswer:
    """An answer and what was read of it."""

    question: Question  # what was asked
    stored: Answer  # what came back
    reading: Reading  # what it says

    @property
    def thought_aloud(self) -> bool:
        """Whether the model thought before it answered, in the text or apart from it."""
        if self.question.spec.belief_method == "token":
            return False
        thinking = self.stored.thinking or take_apart(self.stored.text).thinking
        return bool(thinking and thinking.strip())


def read_answer(question: Question, answer: Answer, *, min_mass: float = 0.0) -> ReadAnswer:
    """Read the answer to a question of a session."""
    return ReadAnswer(
        question,
        answer,
        decode_answer(question.spec, answer, asked=question.text, min_mass=min_mass),
    )


def decode_answer(
    spec: QuestionSpec, answer: Answer, *, asked: str = "", min_mass: float = 0.0
) -> Reading:
    """Read an answer by what it is about; lines of what was asked are no part of it."""
    read = _decode(spec, answer, asked, min_mass)
    if not spec.is_offer or read.value is None:
        return read
    if isinstance(read.value, dict):
        named = {spec.meant[letter]: share for letter, share in read.value.items()}
        return replace(read, value=named)
    return replace(read, value=spec.meant[read.value])


def _decode(spec: QuestionSpec, answer: Answer, asked: str, min_mass: float) -> Reading:
    # First of all: a belief that is read off has the role of a stated one.
    if spec.belief_method == "token":
        return token_belief(answer.text, min_mass)
    if spec.answer_mode == "exact":
        distribution, form = Distribution.load(answer.text), spec.answer_form
        if form.kind in ("decision", "choice"):
            return exact_action(distribution, form, min_mass)
        if spec.role == "auxiliary":
            return exact_shares(distribution, form, min_mass)
        return exact_belief(distribution, form, min_mass)
    mass = answer.answer_mass if spec.answer_mode == "forced" else None
    if mass is None:
        return _decode_words(spec, answer, asked)
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return Reading(None, status, mass)
    # Numbers that were drawn line by line need not sum to 1 as stated ones must.
    by_lines = spec.role == "auxiliary" and len(spec.lines) > 2
    read = (
        forced_shares(answer.text, spec.answer_form)
        if by_lines
        else _decode_words(spec, answer, asked)
    )
    return Reading(read.value, worst([read.status, status]), mass)


def _decode_words(spec: QuestionSpec, answer: Answer, asked: str) -> Reading:
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
    return Reading(read.value, read.status)


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


def mass_status(mass: float, min_mass: float = 0.0) -> str:
    """Return the status of what is read off the answers that have a mass."""
    if mass <= 0 or mass < min_mass:
        return UNPARSED
    return LOW_MASS if mass < LEAST_MASS else OK


def token_belief(text: str, min_mass: float = 0.0) -> Reading:
    """Read the belief off the probabilities of No and Yes."""
    masses = json.loads(text)
    no, yes = (masses[label] for label in BELIEF_LABELS)
    low, high = masses.get("share", (0.0, 0.0))
    # Rounding may lift the sum above 1 by a digit.
    mass = min(no + yes, 1.0)
    status = mass_status(mass, min_mass)
    if status == UNPARSED or high - low > WIDEST_SHARE:
        return Reading(None, UNPARSED, mass, too_wide=status != UNPARSED)
    # A label outside the list of likely tokens has no probability of its own, but bounds; the
    # belief is their middle.
    return Reading((low + high) / 2 if "share" in masses else yes / (no + yes), status, mass)


def sampled_belief(draws: Sequence[Reading]) -> Reading:
    """Read the belief off the rate of Yes over draws."""
    # Unreadable draws are left out of the rate, and counted in the answer mass.
    readable = [draw for draw in draws if draw.value is not None]
    mass = len(readable) / len(draws)
    if mass < LEAST_MASS:
        failures = Counter(draw.status for draw in draws if draw.value is None)
        return Reading(None, failures.most_common(1)[0][0], mass)
    return Reading(
        sum(draw.value == "Yes" for draw in readable) / len(readable),
        worst([draw.status for draw in readable]),
        mass,
    )


def exact_belief(distribution: Distribution, form: AnswerForm, min_mass: float) -> Reading:
    """Read the belief off a distribution over numbers."""
    mass = distribution.answer_mass
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return Reading(None, status, mass)
    stated, share = _numbers(distribution)
    p = 1 - stated if form.kind == "lines" else stated
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
    return Reading(mean, status, mass, sd, low, high)


def exact_shares(distribution: Distribution, form: AnswerForm, min_mass: float) -> Reading:
    """Read the probabilities of labels off distributions over numbers, and make them sum to 1."""
    mass = distribution.answer_mass
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return Reading(None, status, mass)
    means = []
    for part in range(len(distribution.parts)):
        stated, share = _numbers(distribution, part)
        means.append(float(share @ stated))
    return _normalised(means, form, status, mass)


def _normalised(numbers: Sequence[float], form: AnswerForm, status: str, mass: float) -> Reading:
    # Two labels are asked for with one number, the first one's.
    stated = [numbers[0], 1 - numbers[0]] if len(form.labels) == 2 else list(numbers)
    total = math.fsum(stated)
    if total <= 0:
        return Reading(None, UNPARSED, mass)
    return Reading(tuple(number / total for number in stated), status, mass)


def exact_action(distribution: Distribution, form: AnswerForm, min_mass: float) -> Reading:
    """Read the probabilities of actions off a distribution over decisions or options."""
    mass = distribution.answer_mass
    status = mass_status(mass, min_mass)
    if status == UNPARSED:
        return Reading(None, status, mass)
    shares = distribution.shares()
    if form.kind == "choice":
        return Reading({option: shares.get(option, 0.0) for option in form.labels}, status, mass)
    actions = dict.fromkeys(ACTION_LABELS, 0.0)
    for name, share in shares.items():
        # As a drawn answer is read: who cannot decide, defers, whatever the second line says.
        actions[str(decode_decision(name).value)] += share
    return Reading(actions, status, mass)


def _numbers(distribution: Distribution, part: int = 0) -> tuple[Any, Any]:
    shares = distribution.shares(part)
    return np.array(list(map(float, shares))), np.array(list(shares.values()))


def forced_shares(text: str, form: AnswerForm) -> Reading:
    r"""Read the numbers of lines that `draw_in_form` wrote, and make them sum to 1."""
    numbers = [float(line.rpartition(": ")[2]) for line in text.split("\n")]
    return _normalised(numbers, form, "ok", math.nan)
