"""Tables of bet questions and of answers to them, brought into one order of choices.

Questions come from ``elicitation.batteries.bets.questions`` or from its CSV; answers from a model
there, or from anywhere else: as letters, or as one score per option. Answers are untrusted text:
what is neither letters nor the words of an option is unread, and counted.

Simulated agents, for teaching and for tests, give probabilities and scores of the options as a
model would. The scores follow from a gain that the agent sees in an option: expected gain for the
maximiser, the worth of the thing that its text speaks of for the value-only chooser, nothing for
the guesser.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit

from coherence.batteries.battery import AnswerColumn, AnswerTable
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    NO_CHOICE,
    VALUE_CHOICES,
    Truths,
    bet_gains,
    set_codes,
    standard_choices,
)
from coherence.decoding.decode import decode_choice
from coherence.errors import InputError, closest
from coherence.inputs import Codes, Floats
from coherence.runs.frames import require_frame
from coherence.statistics.resample import Seed, as_generator

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
        scores = None if self.scores is None else self.scores[keep]
        questions = self.questions[keep].reset_index(drop=True)
        return replace(
            self,
            questions=questions,
            choice=self.choice[keep],
            stated=self.stated[keep],
            scores=scores,
            probabilities=self.probabilities[keep],
            unread=self.unread[keep],
        )


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
    columns = [
        AnswerColumn(name, required=True, one_of=tuple(_KINDS) if name == "kind" else None)
        for name in needed
        if name not in _AMOUNTS
    ]
    # A payout that is not stated is none; values alone need no amounts.
    columns += [
        AnswerColumn(
            name,
            required=name in needed,
            number=True,
            may_lack=True,
            low=0,
            high=1 if name == "chance" else math.inf,
        )
        for name in _AMOUNTS
        if name in (*needed, *questions.columns)
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


def _value_gains(questions: pd.DataFrame) -> Floats:
    """Gains of answering high, low and same: an honest answer gains one."""
    return np.tile([1.0, -1.0, -1.0], (len(questions), 1))


def _maximiser(questions: pd.DataFrame) -> Floats:
    gains = bet_gains(questions)[:, [0, 1, 3]]
    # In units of the largest, so that the sharpness means the same at any stakes.
    return np.asarray(gains / np.abs(gains).max(axis=1, keepdims=True))


def _value_only(questions: pd.DataFrame) -> Floats:
    """Bet on the side that names the more valuable thing, as if it were asked for values."""
    high_is_won = (questions["wins"] == "high").to_numpy()
    return np.where(high_is_won[:, None], [1.0, -1.0, -0.5], [-1.0, 1.0, -0.5])


def _guesser(questions: pd.DataFrame) -> Floats:
    return np.zeros((len(questions), 3))


_Gains = Callable[[pd.DataFrame], Floats]
BET_AGENTS: dict[str, tuple[str, _Gains, _Gains]] = {
    "maximiser": (
        "knows values and takes the choice of largest expected gain",
        _value_gains,
        _maximiser,
    ),
    "value-only": (
        "knows values and bets on the side with the more valuable thing, even if it would lose it",
        _value_gains,
        _value_only,
    ),
    "random": ("guesses", _guesser, _guesser),
}
"""By name: description, gains seen in the answers to value questions, and gains seen in bets."""


def simulate_answers(
    agent: str, questions: pd.DataFrame, *, sharpness: float = 20.0, rng: Seed = None
) -> pd.DataFrame:
    """Answer questions as a simulated agent."""
    if agent not in BET_AGENTS:
        raise InputError(f"agent must be one of {', '.join(BET_AGENTS)}; received {agent!r}.")
    if not sharpness >= 0:
        raise InputError(f"sharpness must be at least 0; received {sharpness}.")
    _, of_values, of_bets = BET_AGENTS[agent]
    generator = as_generator(rng)
    is_bet = (questions["kind"] != "value").to_numpy()
    gains = np.zeros((len(questions), 3))
    if (~is_bet).any():
        gains[~is_bet] = of_values(questions[~is_bet])
    if is_bet.any():
        gains[is_bet] = of_bets(questions[is_bet])
    logits = sharpness * gains + generator.standard_normal(gains.shape)
    # From the order of roles into that of the letters.
    order = {name: at for each in (VALUE_CHOICES, BET_CHOICES) for at, name in enumerate(each)}
    choice = questions[ROLES].map(order.__getitem__).to_numpy()
    logits = np.take_along_axis(logits, choice, axis=1)
    # Less the largest, so that no exponential overflows.
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    table = pd.DataFrame({"question": questions["question"].to_numpy(), "model": agent})
    table[SCORES] = expit(logits)
    table[PROBABILITIES] = weights / weights.sum(axis=1, keepdims=True)
    return table
