"""Tables of bet questions and of answers to them, brought into one order of choices.

Questions come from ``elicitation.batteries.bets.questions`` or from its CSV; answers from a model
there, or from anywhere else: as letters, or as one score per option. Answers are untrusted text:
what is neither letters nor the words of an option is unread, and counted.
"""

import math
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.battery import AnswerColumn, AnswerTable
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    NO_CHOICE,
    VALUE_CHOICES,
    Truths,
    set_codes,
    standard_choices,
)
from coherence.decoding.decode import decode_choice
from coherence.errors import closest
from coherence.inputs import Codes, Floats
from coherence.runs.formats import require_frame

OPTIONS = ("a", "b", "c")
SCORES, PROBABILITIES = [[f"{name}_{letter}" for letter in OPTIONS] for name in ("score", "prob")]
TEXTS, ROLES = [[f"{name}_{letter}" for letter in OPTIONS] for name in ("option", "role")]
_NAMES = ("question", "kind", "template", "split")
_ALWAYS = (*_NAMES, "high", "low", "high_value", "low_value", *ROLES)
_BETS = ("wins", "chance", "stake")
_AMOUNTS = ("high_value", "low_value", "chance", "stake", "payout")
_KINDS = {"value": VALUE_CHOICES, "bet": BET_CHOICES, "ladder": BET_CHOICES}
_LOGITS = "Take the logistic transform of scores that are logits, and divide percentages by 100."
_LETTERS = re.compile(r"\(?[abc]\)?\.?(?:(?:\s*[+,;/&]\s*|\s+and\s+|\s+)\(?[abc]\)?\.?)*")
_MARKUP = re.compile(r'[*`"“”„«»]')


@dataclass(frozen=True, eq=False)
class BetAnswers:
    """The answers of one model to questions of one kind and template."""

    # model, kind, template: whose answers, and to what
    model: str
    kind: str
    template: str
    questions: pd.DataFrame  # only questions that were answered, in their order
    # shape (n,): place of the chosen option in the order of `BET_CHOICES` or `VALUE_CHOICES`;
    # `NO_CHOICE` where there is no single one
    choice: Codes
    # shape (n,): codes of the sets of letters that were stated; 0 where none was, or where the
    # answer is unread
    stated: Codes
    # shape (n, 3), or None: scores in [0, 1] in the same order; None where only letters were given
    scores: Floats | None
    # shape (n, 3): probability of each choice; of a letter 1, and NaN where there is no single
    # choice
    probabilities: Floats
    unread: "np.typing.NDArray[np.bool_]"  # shape (n,): answers that are neither empty nor readable

    def only(self, keep: "np.typing.NDArray[np.bool_]") -> "BetAnswers":
        """Return the answers to some of the questions."""
        kept: dict[str, Any] = {}
        for name in ("choice", "stated", "scores", "probabilities", "unread"):
            array = getattr(self, name)
            kept[name] = None if array is None else array[keep]
        return replace(self, questions=self.questions[keep].reset_index(drop=True), **kept)


def join_answers(questions: pd.DataFrame, answers: pd.DataFrame) -> list[BetAnswers]:
    """Bring answers to their questions."""
    check_bet_questions(questions)
    joined = questions.merge(_checked(questions, answers), on="question", how="inner", sort=False)
    groups = joined.groupby(["model", "kind", "template"], sort=False)
    return [
        _answers(str(model), str(kind), str(template), part.reset_index(drop=True))
        for (model, kind, template), part in groups
    ]


def check_bet_questions(questions: pd.DataFrame) -> None:
    """Raise `SchemaError` if a table is not a table of bet questions."""
    questions = require_frame(questions, "questions")
    only_values = "kind" in questions and (questions["kind"] == "value").all()
    needed = _ALWAYS if only_values else (*_ALWAYS, *_BETS)
    # A payout that is not stated is none; values alone need no amounts.
    amounts = [name for name in _AMOUNTS if name in (*needed, *questions.columns)]
    columns = [
        AnswerColumn(
            name,
            required=name in needed,
            one_of=tuple(_KINDS) if name == "kind" else None,
            number=name in _AMOUNTS,
            may_lack=True,
            low=0,
            high=1 if name == "chance" else math.inf,
        )
        for name in (*(name for name in needed if name not in _AMOUNTS), *amounts)
    ]
    checked = AnswerTable(questions, columns, source="questions")
    table = checked.table
    checked.unique(["question"], table["question"].notna())
    roles = pd.Series([sorted(row) for row in table[ROLES].to_numpy()], table.index)
    expected = table["kind"].map({kind: sorted(choices) for kind, choices in _KINDS.items()})
    known = table["kind"].isin(_KINDS)
    rule = "role_a to role_c must be the choices of their kind in some order"
    checked.refuse((roles != expected) & known, rule, ROLES[0])
    bets = known & (table["kind"] != "value")
    for name in _AMOUNTS:
        if name in table.columns and name != "payout":
            lacks = table[name].isna() & ~checked.not_numbers(name)
            checked.refuse(bets & lacks, f"column {name!r} must hold numbers for bets", name)
    certain = (table["kind"] == "ladder") & (table.get("stake") == 0)
    checked.refuse(certain, "column 'stake' must be above 0 for ladders", "stake")
    checked.raise_errors()


UNNAMED = "model"
"""The model of answers that have no such column."""


def _checked(questions: pd.DataFrame, answers: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of answers that count, with scores as numbers and a model throughout."""
    scored = [names for names in (SCORES, PROBABILITIES) if set(names) <= set(answers.columns)]
    numbers = [name for names in scored for name in names]
    columns = [
        AnswerColumn("question", required=True),
        AnswerColumn("model", default=UNNAMED),
        *(AnswerColumn(name, number=True, low=0, high=1, remedy=_LOGITS) for name in numbers),
    ]
    checked = AnswerTable(answers, columns)
    table, errors = checked.table, checked.errors
    if "answer" not in table.columns and SCORES not in scored:
        errors.append("it needs a column 'answer' with letters, or columns score_a to score_c.")
    unknown = ~table["question"].isin(questions["question"])
    first = "".join(table["question"][unknown].head(1))
    rule = "column 'question' must name questions that there are"
    checked.refuse(unknown, rule, "question", closest(first, questions["question"]))
    checked.refuse(table["model"] == "", "column 'model' must not be empty", "model")
    checked.unique(["model", "question"], ~unknown)
    if PROBABILITIES in scored:
        # Tables from elsewhere may hold rounded probabilities.
        off = (table[PROBABILITIES].sum(axis=1) - 1).abs() > 0.02
        remedy = "Leave them out, or divide them by their sum."
        checked.refuse(off, "prob_a to prob_c must sum to 1", PROBABILITIES[0], remedy)
    checked.raise_errors()
    return table[[name for name in ("question", "model", "answer", *numbers) if name in table]]


def _answers(model: str, kind: str, template: str, part: pd.DataFrame) -> BetAnswers:
    """Return the answers to questions of one kind and template, choices in canonical order."""
    roles = part[ROLES].to_numpy()
    # For each canonical choice, the number of the letter that stands for it in this question.
    letter = np.stack([(roles == choice).argmax(axis=1) for choice in _KINDS[kind]], axis=1)
    scores, probabilities = (
        np.take_along_axis(part[names].to_numpy(dtype=np.float64), letter, axis=1)
        if set(names) <= set(part.columns)
        else None
        for names in (SCORES, PROBABILITIES)
    )
    unread = np.zeros(len(part), dtype=bool)
    stated = np.zeros(len(part), dtype=np.int64)
    if scores is None:
        chosen, unread = _chosen(part, letter)
        stated = set_codes(chosen)
        alone = chosen.sum(axis=1) == 1
        choice = np.where(alone, chosen.argmax(axis=1), NO_CHOICE).astype(np.int64)
        probabilities = np.where(alone[:, None], chosen.astype(np.float64), np.nan)
    elif probabilities is None:
        choice = standard_choices(scores)
        total = scores.sum(axis=1, keepdims=True)
        undefined = np.full_like(scores, np.nan)
        probabilities = np.divide(scores, total, out=undefined, where=total > 0)
    else:
        # Scores of large logits all round to 1, where the probabilities still differ.
        choice = standard_choices(probabilities)
    others = ["model", "answer", *SCORES, *PROBABILITIES]
    questions = part.drop(columns=others, errors="ignore")
    return BetAnswers(
        model, kind, template, questions, choice, stated, scores, probabilities, unread
    )


def _chosen(part: pd.DataFrame, letter: Codes) -> tuple[Truths, Truths]:
    """Return which canonical choices were stated, shape (n, 3), and which answers are unread."""
    options = np.full((len(part), 3), "", dtype=object)
    if set(TEXTS) <= set(part.columns):
        options = part[TEXTS].to_numpy()
    answers = [
        read_letters(answer, words.tolist())
        for answer, words in zip(part["answer"], options, strict=True)
    ]
    stated = [[name in (letters or ()) for name in OPTIONS] for letters in answers]
    chosen = np.take_along_axis(np.array(stated, dtype=bool), letter, axis=1)
    return chosen, np.array([letters is None for letters in answers])


def read_letters(
    answer: object, options: list[str], *, finish_reason: str | None = None
) -> frozenset[str] | None:
    """Read an answer given as letters, or in the words of an option."""
    if answer is None or (isinstance(answer, float) and np.isnan(answer)) or answer is pd.NA:
        return frozenset()
    text = " ".join(str(answer).split()).casefold()
    if not text:
        return frozenset()
    words = [" ".join(option.split()) for option in options]
    bare = _bare(text)
    # Words that two options share name neither.
    whole = [_bare(option.casefold()) for option in words]
    if bare and whole.count(bare) == 1:
        return frozenset(OPTIONS[whole.index(bare)])
    # Several letters are an answer here, which the reader of one choice does not know.
    if _LETTERS.fullmatch(bare):
        return frozenset(re.findall(r"[abc](?![a-z])", bare))
    capitals = tuple(letter.upper() for letter in OPTIONS)
    for letters in (OPTIONS, capitals):
        chosen = decode_choice(str(answer), letters, words=words, finish_reason=finish_reason).value
        if chosen is not None:
            return frozenset(chosen.lower())
    return None


def _bare(text: str) -> str:
    """Return a text without marks of quotation and emphasis, and the full stop at its end."""
    return _MARKUP.sub("", text).strip(" '‘’.")
