"""Reading beliefs off a model: the probability of every outcome after an unfinished text.

What is read is kept in an answer store, so that a session resumes.
"""

import json
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError
from elicitation.answers.outcomes import outcome_probabilities
from elicitation.asking.loop import AnswerStream, Progress, Strategy, ask_missing
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, ScoringModel
from elicitation.questions.question import Question
from elicitation.spelling.spellings import Spelling, spellings_of

if TYPE_CHECKING:
    from elicitation.models.local.causal import CausalModel, Prompting

BEGINS = "…"
"""Ends the name of a reading that counts every answer that begins with an outcome: "1…" is also 10
and 12."""
CHOSEN = ")"
"""Ends the name of a letter that is read in all the forms of `letter_spellings`."""
_TOLERANCE = 1e-12
"""Of token sequences that are given up: far below the usual one, since a divergence looks at the
logarithm of improbable outcomes."""
_RELATIVE_GAP = 1e-3
"""Most that may have been given up beside the least probable outcome: a thousandth in its
logarithm."""
_FINER = 1e-6
_ROUNDS = 5
"""Of reading with finer tolerances; the last is 1e-36, below which an outcome counts as
impossible."""
_LETTER_TOLERANCE = 1e-7
"""Of letters, whose many forms are costly to follow and of which nobody takes a logarithm."""
_LEADS = (
    "",
    "\n",
    "\n\n",
    "Answer: ",
    "**Answer:** ",
    "**Answer: ",
    "Option ",
    "The answer is ",
    "The correct answer is ",
)
_MARKS = ("", "(", "**", "**(", "[")
"""What a chat model may put before the letter that it chooses."""
_SENTENCE = tuple(f" {letter}".encode() for letter in string.ascii_lowercase)
_OPENING_MARKS = ("", "**", '"', "(")
_OPENING_TOLERANCE = 1e-5
_LEAST_OPENING_TOLERANCE = 1e-6
"""Many forms of improbable answers would be followed for nothing: what has less is unread."""
_OPENING_GAP = 2e-3
"""Of the mass of all outcomes in their many forms: most that may have been given up beside it."""
OPENED = "$"
"""Ends the name of an outcome that is read in all the forms of `opening_spellings`."""
# An outcome stands alone: "1: 30%", "1. The coin shows 0", "man or woman" begin with one and do not
# choose it. Behind it come at most a stop, a closing mark and two blanks, and the line ends.
_STOPS = ("", ".", "!")
_CLOSING_MARKS = ("", "*", "**", '"', ")")
_ENDS = tuple(
    dict.fromkeys(
        "".join(parts).encode()
        for marks in ((_STOPS, _CLOSING_MARKS), (_CLOSING_MARKS, _STOPS))
        for parts in product(*marks, ("", " ", "  "), "\r\n")
    )
)
LARGEST_GAP = 0.01
"""Of the probability on the outcomes: a belief that may lack more than this is not read."""

Masses = dict[str, float]


@dataclass(frozen=True)
class OutcomeQuestion:
    """A text and the outcomes whose probabilities are read after it."""

    text: str  # the text
    # What may come next. Numbers are read twice: as they are, and, with `BEGINS` in their name, as
    # beginnings of longer numbers.
    outcomes: tuple[str, ...]
    ignore_case: bool = False  # whether outcomes count in any case
    # whether the outcomes are letters of options, to be read in all the forms in which a chat model
    # would begin its answer with one
    lettered: bool = False
    # whether the outcomes are words, numbers or lines, to be read in all the forms of
    # `opening_spellings`
    opened: bool = False
    spec_json: str = ""  # what the question is, for those who look into the store

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the masses; a letter in all its forms is not the letter as it is."""
        if self.opened:
            return tuple(f"{outcome}{OPENED}" for outcome in self.outcomes)
        if self.lettered:
            return tuple(f"{letter}{CHOSEN}" for letter in self.outcomes)
        beginnings = (
            tuple(f"{outcome}{BEGINS}" for outcome in self.outcomes) if self.numeric else ()
        )
        return self.outcomes + beginnings

    @property
    def asked(self) -> Question:
        """It, as the store knows it."""
        return Question.of_labels(self.text, self.labels, spec_json=self.spec_json)

    @property
    def numeric(self) -> bool:
        """Whether the outcomes are numbers."""
        return all(outcome.isdigit() for outcome in self.outcomes)


def read_masses(
    model: ScoringModel,
    questions: Sequence[OutcomeQuestion],
    store: AnswerStore,
    *,
    portion: int = 32,
    progress: Progress | None = None,
) -> tuple[list[Masses], int]:
    """Read the probabilities of outcomes after texts, from the store where they are there.

    A portion is kept once all of it was read: larger ones are no faster, and lose more to a stop.
    """
    draws = [question.asked for question in questions]
    question_of = dict(zip(draws, questions, strict=True))

    def answer(missing: Sequence[Question]) -> AnswerStream:
        # One pass of the model reads the same spellings after every text of it.
        groups: dict[tuple[frozenset[str], bool, bool, bool], list[Question]] = {}
        for draw in missing:
            question = question_of[draw]
            flags = (question.ignore_case, question.lettered, question.opened)
            form = (frozenset(question.outcomes), *flags)
            groups.setdefault(form, []).append(draw)
        for group in groups.values():
            for start in range(0, len(group), portion):
                batch = group[start : start + portion]
                masses = _read(model, [question_of[draw] for draw in batch])
                answers = [Answer(json.dumps(row)) for row in masses]
                yield list(zip(batch, answers, strict=True))

    stored, asked = ask_missing(model, draws, store, Strategy(answer), progress=progress)
    return [json.loads(answer.text) for answer in stored], asked


# Ends the fingerprint of a model that is asked with its template beside texts without it.
_IN_CHAT = " in its chat template"


def in_chat(model: "CausalModel") -> "CausalModel":
    """Return the same model with its chat template, for questions."""
    from elicitation.models.local.causal import CausalModel, Prompting

    if model.chat or model.tokenizer.chat_template is None:
        return model
    prompting = Prompting(model.tokenizer, name=model.name, chat=True)
    if prompting.facts.thinking:
        raise InputError(
            f"the chat template of {model.name} opens its thinking, and answers to questions would "
            "be read inside of it. Leave the questions out by --only-revealed."
        )
    return CausalModel(
        model.network,
        model.tokenizer,
        name=model.name,
        fingerprint=in_chat_fingerprint(model.fingerprint, prompting),
        chat=True,
        reading=model.reading,
    )


def in_chat_fingerprint(fingerprint: str, prompting: "Prompting") -> str:
    """Return what the answers of a model in its chat template are kept under."""
    return f"{fingerprint}{_IN_CHAT}{prompting.facts.settings}"


def letter_spellings(letters: Sequence[str]) -> list[Spelling]:
    """List the ways in which an answer may begin that chooses an option by its letter."""
    forms = {
        letter: [lead + mark + letter for lead in _LEADS for mark in _MARKS] for letter in letters
    }
    return [
        replace(spelling, forbidden=(*spelling.forbidden, *_SENTENCE))
        for spelling in spellings_of(forms, boundary="word")
    ]


@cache
def opening_spellings(outcomes: tuple[str, ...]) -> list[Spelling]:
    """List the ways in which an answer may begin that gives one of some outcomes."""
    forms = {}
    for outcome in outcomes:
        # Blanks at the end of a line show nowhere; two are a line's end in Markdown.
        spaced = [outcome.replace("\n", end) for end in ("\n", "\n\n", " \n", "  \n")]
        # A single letter counts as it stands: a small one is a word as well.
        turned = (str.lower, str.upper, str.capitalize) if len(outcome) > 1 else ()
        cases = dict.fromkeys(
            case for text in spaced for case in (text, *(turn(text) for turn in turned))
        )
        forms[outcome] = [
            *(mark + case for mark in _OPENING_MARKS for case in cases),
            *(lead + mark + outcome for lead in _LEADS if lead for mark in _OPENING_MARKS),
        ]
    return [replace(spelling, forbidden=(), ends=_ENDS) for spelling in spellings_of(forms)]


def opened_with(
    text: str, outcomes: Sequence[str], *, cut: bool = False
) -> tuple[str | None, str, bool]:
    """Read a drawn answer as `opening_spellings` has it: the same event, of one text.

    It is the outcome, what follows, and whether it was cut where the line might have gone on.
    """
    said = text.encode("utf-8", "replace")
    for spelling in opening_spellings(tuple(outcomes)):
        if not said.startswith(spelling.text):
            continue
        rest = said[len(spelling.text) :]
        if rest in spelling.open_tails:
            return (None, "", True) if cut else (spelling.outcome, rest.decode(), False)
        if rest.startswith(spelling.ends):
            return spelling.outcome, rest.decode("utf-8", "replace"), False
    return None, text, False


def _read(model: ScoringModel, questions: Sequence[OutcomeQuestion]) -> list[Masses]:
    """Read questions of the same outcomes; where too little is known, all have probability 0."""
    texts, first = [question.text for question in questions], questions[0]
    if first.lettered:
        read = _masses_of(model, texts, letter_spellings(first.outcomes), _LETTER_TOLERANCE)
    elif first.opened:
        openings = opening_spellings(first.outcomes)
        read = _masses_of(model, texts, openings, _OPENING_TOLERANCE, _opening_tolerance)
    else:
        read = _read_closely(model, texts, first)
    return [_or_unread(masses, lost, first) for masses, lost in read]


def _opening_tolerance(masses: NDArray[np.float64]) -> float:
    # Rates are shares in the mass of all outcomes.
    return max(_OPENING_GAP * float(masses.sum()), _LEAST_OPENING_TOLERANCE)


def _read_closely(
    model: ScoringModel, texts: Sequence[str], question: OutcomeQuestion
) -> list[tuple[Masses, float]]:
    """Read outcomes, and read those once more of which too much was given up.

    Where all answers together have next to no mass, a tolerance that is small beside 1 is large
    beside an outcome: it would come back as impossible, and its divergence as infinite.
    """

    def bound(masses: Masses) -> float:
        # Divergences look at the least of them.
        return _RELATIVE_GAP * min(masses[outcome] for outcome in question.outcomes)

    read: list[tuple[Masses, float]] = [({}, 0.0)] * len(texts)
    left = list(range(len(texts)))
    tolerance = _TOLERANCE
    for _ in range(_ROUNDS):
        tolerance_for = _read_once(model, [texts[i] for i in left], question, tolerance)
        for i, row in zip(left, tolerance_for, strict=True):
            read[i] = row
        left = [i for i in left if read[i][1] > bound(read[i][0])]
        if not left:
            break
        # Of an outcome that was given up nothing is known but that it is less than the tolerance.
        wanted = min(bound(read[i][0]) for i in left)
        tolerance = wanted if wanted > 0 else tolerance * _FINER
    return read


def _read_once(
    model: ScoringModel, texts: Sequence[str], question: OutcomeQuestion, tolerance: float
) -> list[tuple[Masses, float]]:
    if question.numeric:
        # Both readings of a number in one pass; they overlap by intention, which
        # outcome_probabilities would refuse.
        spellings = spellings_of(question.outcomes, boundary="number")
        spellings += [
            Spelling(f"{spelling.outcome}{BEGINS}", spelling.text) for spelling in spellings
        ]
        return _masses_of(model, texts, spellings, tolerance)
    outcomes = outcome_probabilities(
        model, texts, question.outcomes, ignore_case=question.ignore_case, tolerance=tolerance
    )
    return [
        (dict(zip(question.outcomes, map(float, row), strict=True)), float(lost))
        for row, lost in zip(outcomes.probabilities.to_numpy(), outcomes.unresolved, strict=True)
    ]


def _masses_of(
    model: ScoringModel,
    texts: Sequence[str],
    spellings: list[Spelling],
    tolerance: float,
    tolerance_for: Callable[[NDArray[np.float64]], float] | None = None,
) -> list[tuple[Masses, float]]:
    """Add up the masses of spellings by outcome; beside them what may be missing."""
    read = model.spelling_masses(
        model.encode(texts), spellings, tolerance=tolerance, tolerance_for=tolerance_for
    )
    rows = []
    for row, lost in zip(read.masses, read.unresolved, strict=True):
        masses = dict.fromkeys((spelling.outcome for spelling in spellings), 0.0)
        for spelling, mass in zip(spellings, row, strict=True):
            masses[spelling.outcome] += float(mass)
        rows.append((masses, float(lost)))
    return rows


def _or_unread(masses: Masses, lost: float, question: OutcomeQuestion) -> Masses:
    enough = lost <= LARGEST_GAP * sum(masses[outcome] for outcome in question.outcomes)
    return masses if enough else dict.fromkeys(masses, 0.0)
