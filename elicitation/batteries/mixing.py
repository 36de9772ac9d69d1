"""The questions of the "failure to mix" battery, and what an answer to them says.

Every question asks for one draw at given rates, or for one decision that is best made at random.
An answer gives the outcome that stands alone on its first line, as it is or behind "Answer:" and
its like. The rates come from many draws, or from the probabilities of the outcomes where a model
gives them: of the same event, that an answer begins so.
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import pandas as pd

from coherence.batteries.mixing.design import FLIPS, MIDDLE, ORDERS, PARTS
from coherence.decoding.decode import OK, REFUSED, TRUNCATED, UNPARSED, WITHHELD, decode_choice
from coherence.decoding.statements import sounds_like_refusal, take_apart
from coherence.errors import InputError
from elicitation.asking.ask import EXACT_AT_ONCE, Progress, ask, ask_masses, gives
from elicitation.asking.store import AnswerStore
from elicitation.models.base import Answer, Model
from elicitation.questions.question import Question
from elicitation.spelling.forms import AnswerForm, opened_with
from elicitation.ways import QuestionSpec

_CONDITION = ("model", "experiment", "p", "item", "order")
# For what may stand before an outcome, such as "The correct answer is".
_SPARE_TOKENS = 32
_PASSAGE = "repaired:passage"
_WAIT = "\n\nYour answer:"
_HEADING = re.compile(r"[^\n]*:[* ]*")

_WORDS = tomllib.loads((files("elicitation.batteries") / "mixing.toml").read_text(encoding="utf-8"))
TEXTS = {name: text + _WAIT for name, text in _WORDS["texts"].items()}
WORD_PAIRS = [tuple(pair) for pair in _WORDS["words"]["pairs"]]


@dataclass(frozen=True)
class MixingQuestion:
    """One condition of the battery."""

    experiment: str  # part of the battery, as in `coherence.batteries.mixing.design.PARTS`.
    p: float  # instructed probability, or parameter of a game
    text: str  # the question
    answers: tuple[str, ...]  # readable answers, as asked for
    outcomes: tuple[str, ...]  # what each of them means in the table of answers
    # item, order: of words: the pair, and whether it is asked in its forward or reverse order
    item: str = ""
    order: str = ""

    @property
    def max_lines(self) -> int:
        """Lines of a readable answer."""
        return 1 + self.answers[0].count("\n")

    @property
    def exact(self) -> Question:
        """It, as a model that gives probabilities is asked."""
        return Question.of_form(self.text, AnswerForm("openings", self.answers))

    @property
    def spec_json(self) -> str:
        """How to read the answer, for those who look into the store."""
        return QuestionSpec("choice", self.experiment, self.answers).spec_json


def mixing_questions() -> list[MixingQuestion]:
    """Return the 98 conditions of all five experiments, in a fixed order.

    One flip (21), two flips (21), three outcomes (7), three decisions (9 each), words (11 pairs in
    2 orders).
    """
    questions = [
        MixingQuestion(name, p, TEXTS[name].format(**_numbers(name, round(100 * p))), *said)
        for name, said in _ASKED.items()
        for p in PARTS[name].probabilities
    ]
    for pair in WORD_PAIRS:
        for order, words in zip(ORDERS, (pair, pair[::-1]), strict=True):
            text = TEXTS["words"].format(first=words[0], second=words[1])
            questions.append(
                MixingQuestion("words", 0.5, text, words, words, "/".join(pair), order)
            )
    return questions


def _numbers(name: str, percent: int) -> dict[str, object]:
    """Return all numbers that the text of a part may have, by the percent of `p`."""
    middle, unit = round(100 * MIDDLE), 10 if name == "reads" else 1
    chances = {"p": percent, "q": 100 - percent, "middle": middle, "rest": 100 - middle - percent}
    amounts = {"a": unit * percent, "b": unit * (100 - percent)}
    return {**{key: f"{chance}%" for key, chance in chances.items()}, **amounts}


_LINES = tuple("Flip 1: {}\nFlip 2: {}".format(*pair.split()) for pair in FLIPS)
_ASKED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "flip": (("0", "1"), ("0", "1")),
    "two_flips": (_LINES, FLIPS),
    "three_outcomes": (("0", "1", "2"), ("0", "1", "2")),
    "reads": (("A", "B"), ("A", "B")),
    "pennies": (("Heads", "Tails"), PARTS["pennies"].outcomes),
    "positioning": (("Luxury", "Affordable"), PARTS["positioning"].outcomes),
}
"""By part, readable answers, and what they mean."""


def read_mixing_answer(
    text: str, question: MixingQuestion, *, finish_reason: str | None = None
) -> tuple[str | None, str]:
    """Read the outcome that an answer begins with: the event whose probability is read exactly.

    A later line, which is not asked for, must not be another outcome, by itself or behind a colon.
    """
    if finish_reason == WITHHELD:
        return None, REFUSED
    reply = take_apart(text)
    if reply.unfinished:
        return None, TRUNCATED
    said = (reply.text if reply.thinking is None else reply.text.lstrip()).replace("\r\n", "\n")
    was_cut = finish_reason == "length" and not reply.marked
    answer, rest, still_open = opened_with(said, question.answers, cut=was_cut)
    lines = rest.split("\n")
    for at in range(1, len(lines)):
        below = "\n".join(lines[at : at + question.max_lines + 1])
        for later in (below, _HEADING.sub("", below, count=1)):
            if opened_with(later, question.answers)[0] not in (None, answer):
                return None, UNPARSED
    if answer is None:
        refused = sounds_like_refusal(said)
        return None, REFUSED if refused else TRUNCATED if was_cut or still_open else UNPARSED
    # How much of the answer is the outcome and nothing else decides what the repair is called.
    alone = not rest.strip(" .!*)\"'`\n\r")
    decoded = decode_choice(said.strip(), question.answers) if alone else None
    status = decoded.status if decoded and decoded.value == answer else _PASSAGE
    return question.outcomes[question.answers.index(answer)], status


def elicit_mixing(
    model: Model,
    store: AnswerStore,
    *,
    draws: int = 100,
    exact: bool = False,
    seed: int = 0,
    batch_size: int = 64,
    max_new_tokens: int | None = None,
    keep_going: bool = False,
    progress: Progress | None = None,
    questions: Sequence[MixingQuestion] | None = None,
) -> pd.DataFrame:
    """Ask a model the whole battery, or some `questions` of it.

    With `exact` the probability of every outcome is read off the model; else `draws` answers per
    condition are drawn at temperature 1, each cut after `max_new_tokens` (None takes what a
    readable answer needs, which leaves a model that thinks first no room to). Returns a table for
    ``coherence.batteries.score_mixing``: `model`, `experiment`, `p`, `item`, `order`, `answer`,
    `status` and either `draw` and `raw` (the text), or `probability`. Raises `InputError` for a
    model that gives no probabilities.
    """
    asked = mixing_questions() if questions is None else list(questions)
    if exact:
        if not all(gives(model, each.exact.request.form) for each in asked):
            # The likeliest first tokens that a server lists bound a rate; a bound must not pass for
            # the rate.
            raise InputError(
                "exact=True needs a model that gives the probabilities of whole answers; "
                f"{model.name} does not. Draw answers instead."
            )
        at_once = min(batch_size, EXACT_AT_ONCE)
        read = ask_masses(
            model, [each.exact for each in asked], store, batch_size=at_once, progress=progress
        )
        masses = [
            [row[answer] for answer in question.answers]
            for question, row in zip(asked, read, strict=True)
        ]
        return _exact_table(model.name, asked, masses)
    planned = mixing_draws(asked, draws, seed, max_new_tokens)
    repeated = asked * draws
    asked_by = dict(zip(planned, repeated, strict=True))

    def readable(draw: Question, answer: Answer) -> bool:
        ended = answer.finish_reason
        return read_mixing_answer(answer.text, asked_by[draw], finish_reason=ended)[0] is not None

    watch = None if keep_going else readable
    stored, _ = ask(model, planned, store, batch_size=batch_size, readable=watch, progress=progress)
    rows = []
    for question, draw, answer in zip(repeated, planned, stored, strict=True):
        said = read_mixing_answer(answer.text, question, finish_reason=answer.finish_reason)
        rows.append((*_condition(model.name, question), draw.number, *said, answer.text))
    return pd.DataFrame(rows, columns=[*_CONDITION, "draw", "answer", "status", "raw"])


def _condition(model: str, question: MixingQuestion) -> tuple[Any, ...]:
    return model, question.experiment, question.p, question.item, question.order


def mixing_draws(
    questions: Sequence[MixingQuestion], draws: int, seed: int, max_new_tokens: int | None = None
) -> list[Question]:
    """Return all answers to be had; by draws first: a session cut short has some to each.

    The cut of each is what a readable answer needs, or given.
    """
    return [
        Question.of(
            question.text,
            number,
            base_seed=seed,
            temperature=1.0,
            # A token holds a byte at least; the spare ones are for signs around the answer.
            max_new_tokens=max_new_tokens
            or max(len(answer.encode()) for answer in question.answers) + _SPARE_TOKENS,
            max_lines=question.max_lines,
            spec_json=question.spec_json,
        )
        for number in range(draws)
        for question in questions
    ]


def _exact_table(
    model: str, asked: Iterable[MixingQuestion], read: Iterable[list[float]]
) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for question, masses in zip(asked, read, strict=True):
        condition = _condition(model, question)
        rows += [
            (*condition, outcome, OK, mass)
            for outcome, mass in zip(question.outcomes, masses, strict=True)
        ]
        # Rounding may carry the sum past 1.
        rows.append((*condition, None, UNPARSED, max(0.0, 1 - sum(masses))))
    return pd.DataFrame(rows, columns=[*_CONDITION, "answer", "status", "probability"])
