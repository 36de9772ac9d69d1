"""Reading the answers of a session, each once, by what was asked and how it was to be answered."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from coherence.decoding.decode import (
    BELIEF_LABELS,
    UNPARSED,
    Decoded,
    decode_belief,
    decode_choice,
    decode_decision,
    decode_distribution,
    worst,
)
from coherence.decoding.reply import take_apart
from elicitation.answers.beliefs import ReadBelief, mass_status, token_belief
from elicitation.answers.distributions import (
    Distribution,
    ExactReading,
    exact_action,
    exact_belief,
    exact_shares,
    forced_shares,
)
from elicitation.models.base import Answer
from elicitation.questions.grid import Question, form_of

_STATEMENT = re.compile(r"[^:]+: \S+")  # such as an example in a question has, or an answer


@dataclass(frozen=True)
class ReadAnswer:
    """An answer and what was read of it."""

    question: Question  # what was asked
    stored: Answer  # what came back
    decoded: Decoded[Any] | ReadBelief | ExactReading  # from `decode_answer`

    @property
    def answer_mass(self) -> float | None:
        """Probability of the readable answers, where it is known."""
        return None if isinstance(self.decoded, Decoded) else self.decoded.answer_mass

    @property
    def thought_aloud(self) -> bool:
        """Whether the model thought before it answered, in the text or apart from it."""
        if self.question.way == "token":
            return False
        thinking = self.stored.thinking or take_apart(self.stored.text).thinking
        return bool(thinking and thinking.strip())


def decode_answer(
    question: Question,
    text: str,
    finish_reason: str | None = None,
    *,
    answer_mass: float | None = None,
    min_mass: float = 0.0,
) -> Decoded[Any] | ReadBelief | ExactReading:
    """Read the answer of a question according to its role."""
    # The way comes first: a belief that is read off has the role of a stated one.
    if question.way == "token":
        return token_belief(text, min_mass)
    if question.way in ("exact", "forced"):
        return read_in_form(
            question,
            text,
            answer_mass,
            lambda: _decode_words(question, text, finish_reason),
            min_mass=min_mass,
        )
    return _decode_words(question, text, finish_reason)


def without_echo(text: str, asked: str) -> str:
    r"""Take the question's own lines off an answer that repeats them, its example among them.

    Two lines and more that follow each other in the question are an echo where one of them is no
    statement: an answer may well equal the example.
    """
    known = [line.strip() for line in asked.splitlines() if line.strip()]
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    kept, at = [], 0
    while at < len(lines):
        runs = [
            sum(1 for _ in takewhile(lambda pair: pair[0].strip() == pair[1], pairs))
            for start in range(len(known))
            if known[start] == lines[at].strip()
            and (pairs := zip(lines[at:], known[start:], strict=False))
        ]
        length = max(runs, default=0)
        run = lines[at : at + max(length, 1)]
        if length < 2 or all(_STATEMENT.fullmatch(line.strip()) for line in run):
            kept.append(lines[at])
            at += 1
        else:
            at += length
    return "".join(kept) if len(kept) < len(lines) else text


def _decode_words(question: Question, text: str, finish_reason: str | None) -> Decoded[Any]:
    text = without_echo(text, question.text)
    if question.way == "sampled":
        return decode_choice(text, BELIEF_LABELS, finish_reason=finish_reason)
    if question.role == "choice":
        return decode_choice(text, question.lines, finish_reason=finish_reason)
    if question.role == "decision":
        return decode_decision(text, finish_reason=finish_reason)
    if question.role == "auxiliary":
        return decode_distribution(text, question.lines, finish_reason=finish_reason)
    return decode_belief(text, form=question.form, finish_reason=finish_reason)


def read_all(
    questions: Sequence[Question], answers: Sequence[Answer], *, min_mass: float = 0.0
) -> list[ReadAnswer]:
    """Read all answers of a session, each once."""
    return [
        ReadAnswer(
            question,
            answer,
            decode_answer(
                question,
                answer.text,
                answer.finish_reason,
                answer_mass=answer.answer_mass,
                min_mass=min_mass,
            ),
        )
        for question, answer in zip(questions, answers, strict=True)
    ]


def read_in_form(
    question: Question,
    text: str,
    answer_mass: float | None,
    decode: Callable[[], Decoded[Any]],
    *,
    min_mass: float = 0.0,
) -> ExactReading | Decoded[Any]:
    """Read an answer that has the form of its question."""
    form = form_of(question)
    if question.way == "exact":
        distribution = Distribution.load(text)
        if form.kind in ("decision", "choice"):
            return exact_action(distribution, form, min_mass)
        if question.role == "auxiliary":
            return exact_shares(distribution, form, min_mass)
        return exact_belief(distribution, form, min_mass)
    if answer_mass is None:
        return decode()
    status = mass_status(answer_mass, min_mass)
    if status == UNPARSED:
        return ExactReading(None, status, answer_mass)
    # Numbers that were drawn line by line need not sum to 1 as stated ones must.
    by_lines = question.role == "auxiliary" and len(question.lines) > 2
    read = forced_shares(text, form) if by_lines else decode()
    return ExactReading(read.value, worst([read.status, status]), answer_mass)
