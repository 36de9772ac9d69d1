"""Accuracies of bets, with tests and intervals; and bets as runs tables for the usual checks.

The standard method takes the choice of the largest score, the threshold method every choice above a
threshold that was tuned on development questions, for every truth anew (Tang and Kejriwal, sections
4.2.1, 4.3 and 4.4). Belief-conditioned accuracy counts a bet as right if it is rational given the
model's own answer on which of the two things is worth more. Beside every accuracy stands the best
constant answer: a model that declines every bet is right wherever the thing to be won is the lesser
one, which is half of the bets.

Every bet of a ladder states its probability and has stakes: as a runs table the check `stakes`
reads off them from which belief a model bets.

Questions come from ``elicitation.batteries.bets.questions`` or from its CSV; answers from a model
there, or from anywhere else: as letters, or as one score per option. Answers are untrusted text:
what is neither letters nor the words of an option is unread, and counted.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from coherence.batteries.battery import AnswerColumn, AnswerTable
from coherence.batteries.bets.truths import (
    BET_CHOICES,
    MEMBERS,
    NO_CHOICE,
    VALUE_CHOICES,
    Truths,
    asked,
    believed_best,
    best_choices,
    bet_gains,
    bet_truths,
    break_evens,
    crossed_interval,
    exact_test,
    is_right,
    payouts,
    random_rate,
    set_codes,
    standard_choices,
    threshold_sets,
    tune_threshold,
    value_truths,
    z_test,
)
from coherence.decoding.decode import decode_choice
from coherence.errors import InputError, closest, listing
from coherence.inputs import Codes, Floats
from coherence.runs.columns import DRAWN
from coherence.runs.formats import require_frame
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


def correct_choices(group: BetAnswers) -> Truths:
    """Return the truth of the standard method."""
    if group.kind == "value":
        return np.tile([True, False, False], (len(group.questions), 1))
    return best_choices(bet_gains(group.questions))


def believed_values(group: BetAnswers) -> dict[tuple[str, str], int]:
    """Return which of two things a model holds for more valuable."""
    asked = group.questions
    first = asked["first"] if "first" in asked else pd.Series("high", index=asked.index)
    answers = zip(asked["high"], asked["low"], first, group.choice, strict=True)
    return {
        (str(high), str(low)): int(choice)
        for high, low, order, choice in answers
        if order == "high"
    }


def rational_choices(group: BetAnswers, beliefs: Mapping[tuple[str, str], int]) -> Truths:
    """Return the choices that are rational given a model's own answers on values."""
    bets = group.questions
    pairs = zip(bets["high"].astype(str), bets["low"].astype(str), strict=True)
    belief = np.array([beliefs.get(pair, NO_CHOICE) for pair in pairs], dtype=np.int64)
    # Who holds two things for equally valuable has, in the paper's bets, nothing to gain. At other
    # odds it depends on how valuable, which was not asked: such a bet is left out.
    even = (bets["chance"] == 0.5).to_numpy() & (payouts(bets) == 0)
    belief[(belief == VALUE_CHOICES.index("same")) & ~even] = NO_CHOICE
    gains = [bet_gains(bets, swapped=swapped) for swapped in (False, True)]
    return believed_best(belief, *gains)


def best_constant(questions: pd.DataFrame, right: Truths) -> tuple[str, float]:
    """Find the constant answer that is right most often.

    Constant are the roles of a bet (win, lose, none), the answer "same" to a question on values,
    and the letters of the options; of sets, those of roles. "High" and "low" are no constant
    answers: which thing that is has to be known.
    """
    kept = asked(right)
    constants = _constants(questions[kept], right[kept])
    if not kept.any() or not constants:
        return "", float("nan")
    name = max(constants, key=lambda each: int(constants[each].sum()))  # the first of equal ones
    return name, int(constants[name].sum()) / int(kept.sum())


def _constants(questions: pd.DataFrame, right: Truths) -> dict[str, Truths]:
    """Return for each constant answer whether it is right, by question."""
    of_values = bool(len(questions)) and str(questions["kind"].iloc[0]) == "value"
    roles = VALUE_CHOICES if of_values else BET_CHOICES
    if right.shape[1] == len(MEMBERS):
        # Sets that treat both things alike need no knowledge of them.
        alike = [7, 4, 3, 0] if of_values else range(len(MEMBERS) - 1, -1, -1)
        names = [" and ".join(np.array(roles)[MEMBERS[code]]) or "nothing" for code in alike]
        return {name: right[:, code] for name, code in zip(names, alike, strict=True)}
    # The last role first: of equal rates, not to bet is the one that models fall into.
    constants = {
        roles[position]: right[:, position]
        for position in (2, 1, 0)
        if not of_values or roles[position] == "same"
    }
    for letter, role in zip(OPTIONS, ROLES, strict=True):
        if role in questions.columns:
            positions = questions[role].map(roles.index).to_numpy(dtype=np.int64)
            constants[f"letter {letter}"] = right[np.arange(len(right)), positions]
    return constants


STANDARD, THRESHOLD, STATED = "standard", "threshold", "stated set"
BELIEF_TEMPLATE = "choice-valuable"
BCA = "belief-conditioned"
_COLUMNS = (
    *("model", "kind", "template", "truth", "method", "n", "n_right", "accuracy", "chance"),
    *("constant", "constant_rate", "low", "high", "p_exact", "z", "p_z", "threshold"),
    *("dev_accuracy", "n_tied", "n_unread"),
)

_Row = dict[str, object]


@dataclass(frozen=True, eq=False)
class BetScores:
    """What `score_bets` returns."""

    # one row per model, kind, template, truth and method: ``n`` questions, ``n_right``,
    # ``accuracy``, ``chance`` (of a random guess, by enumeration), ``constant`` and
    # ``constant_rate`` (the answer that is right most often when it is always given, and how
    # often), ``low`` and ``high`` (95%, things as crossed clusters), ``p_exact`` (exact, one-
    # sided), ``z`` and ``p_z`` (the test of the paper), both against the guess or the constant
    # answer, whichever is right more often, ``threshold`` and ``dev_accuracy`` where one was tuned,
    # ``n_tied`` (answers without a single choice), ``n_unread`` (answers that could not be read;
    # both count as wrong)
    accuracy: pd.DataFrame
    answers: list[BetAnswers]  # what was scored
    notes: tuple[str, ...]  # what could not be computed, and why


def score_bets(
    questions: pd.DataFrame,
    answers: pd.DataFrame,
) -> BetScores:
    """Score answers to value questions and bets.

    Parameters
    ----------
    questions : DataFrame
        As from ``coherence bets questions``.
    answers : DataFrame
        One row for each question: `question` and `answer` (a letter, a set such as "a+c", or the
        words of an option), or `score_a` to `score_c`, a score in [0, 1] of each option by itself.
        Optional: `prob_a` to `prob_c`, and `model`. Thresholds are tuned on those to questions of
        split "dev", and those of split "test" scored.

    Returns
    -------
    BetScores
        Accuracies, and what was left out; ladders are scored as runs (`ladder_runs`).

    Raises
    ------
    SchemaError
        A table breaks a rule; all of them are listed.
    InputError
        No answer is to a question of split "test".

    Notes
    -----
    What counts as right, by `truth`, and how often a guess is:

    - correct: the choice of largest gain (of values: the thing worth more); 1/3.
    - belief-conditioned: the choice of largest gain if the model's own answer on the values were
      true, and no bet after "the same"; 1/3.
    - normal, weak normal, weak (of values): the thing worth more; or with "the same"; or anything
      but a contradiction; .125, .25, .625.
    - strict, positive gain, non-negative gain: a set of choices with the largest gain; a gain above
      0 (only bets that have one); of at least 0; .125, .25, .25.

    From "normal" on sets are judged: every option whose score exceeds the threshold.

    Examples
    --------
    >>> from elicitation.batteries.bets.questions import bet_questions
    >>> from elicitation.batteries.bets.questions import default_items
    >>> questions = bet_questions(default_items(), splits=["test"], modalities=["coin"])
    >>> never = questions[["question"]].assign(answer="I do not bet.")
    >>> float(score_bets(questions, never).accuracy.loc[0, "accuracy"])
    0.5
    """
    groups = join_answers(questions, answers)
    beliefs = {
        group.model: believed_values(group)
        for group in groups
        if (group.kind, group.template) == ("value", BELIEF_TEMPLATE)
    }
    rows: list[_Row] = []
    notes: dict[str, list[str]] = {}  # what could not be computed -> of whom
    lost: dict[str, list[bool]] = {}
    for group in groups:
        if group.kind == "ladder":
            continue
        test, dev = _of_split(group, "test"), _of_split(group, "dev")
        lost.setdefault(group.model, []).extend(test.unread)
        unknown = []
        if len(test.questions):
            right = correct_choices(test)
            rows.append(_row(test, "correct", STANDARD, test.choice, right))
            if group.kind == "bet" and group.model in beliefs:
                rational = rational_choices(test, beliefs[group.model])
                rows.append(_row(test, BCA, STANDARD, test.choice, rational))
            elif group.kind == "bet":
                without = f"without answers to the value questions {BELIEF_TEMPLATE!r}."
                unknown.append(f"no belief-conditioned accuracy {without}")
            of_sets, more = _set_rows(test, dev)
            rows, unknown = rows + of_sets, unknown + more
        else:
            unknown.append("no answers to questions of split 'test'.")
        for said in unknown:
            notes.setdefault(said, []).append(f"{group.model}, {group.template}")
    for model, unread in lost.items():
        if any(unread):
            said = "answers on values and bets could not be read and count as wrong."
            notes.setdefault(f"{sum(unread)} of {len(unread)} {said}", []).append(model)
    if not rows and not any(group.kind == "ladder" for group in groups):
        raise InputError(
            "there are no answers to questions of split 'test', which are scored. Answer them."
        )
    lines = tuple(f"{listing(of, 3)}: {said}" for said, of in notes.items())
    return BetScores(pd.DataFrame(rows, columns=list(_COLUMNS)), groups, lines)


def _of_split(group: BetAnswers, split: str) -> BetAnswers:
    return group.only((group.questions["split"] == split).to_numpy())


def _set_truths(group: BetAnswers) -> Mapping[str, Truths]:
    """Return the truths for sets of choices, by name; none for a group without questions."""
    if not len(group.questions):
        return {}
    if group.kind == "value":
        return value_truths(len(group.questions))
    return bet_truths(bet_gains(group.questions))


def _set_rows(test: BetAnswers, dev: BetAnswers) -> tuple[list[_Row], list[str]]:
    """Return the rows of the threshold method, or of sets that were stated, and what is unknown."""
    truths, dev_truths = _set_truths(test), _set_truths(dev)
    if test.scores is None:
        return [
            _row(test, name, STATED, test.stated, right)
            for name, right in truths.items()
            if asked(right).any()
        ], []
    rows, notes = list[_Row](), list[str]()
    for name, right in truths.items():
        if not asked(right).any():
            notes.append(f"no question has a right answer under {name!r}.")
        elif name not in dev_truths or dev.scores is None or not asked(dev_truths[name]).any():
            notes.append(f"no threshold for {name!r} without scores of development questions.")
        else:
            threshold, accuracy = tune_threshold(dev.scores, dev_truths[name])
            row = _row(test, name, THRESHOLD, threshold_sets(test.scores, threshold), right)
            rows.append(row | {"threshold": threshold, "dev_accuracy": accuracy})
    return rows, notes


def _row(group: BetAnswers, truth: str, method: str, codes: Codes, right: Truths) -> _Row:
    # A bet whose pair was not asked for its value, or not answered, has no rational answer; as in
    # the paper's truths, it is left out.
    kept = asked(right)
    questions, right = group.questions[kept], right[kept]
    hits = is_right(codes[kept], right)
    n, n_right = hits.size, int(hits.sum())
    constant, constant_rate = best_constant(questions, right)
    row: _Row = dict.fromkeys(_COLUMNS, math.nan) | {
        "model": group.model,
        "kind": group.kind,
        "template": group.template,
        "truth": truth,
        "method": method,
        "n": n,
        "n_right": n_right,
        "chance": random_rate(right),
        "constant": constant,
        "constant_rate": constant_rate,
        "n_tied": int((group.choice[kept] == NO_CHOICE).sum()) if method == STANDARD else 0,
        "n_unread": int(group.unread[kept].sum()),
    }
    if n:
        interval = crossed_interval(hits, questions["high"], questions["low"])
        row |= {"accuracy": n_right / n, "low": interval.low, "high": interval.high}
        # Where gains are equal more than one choice is right, and a guess is right more often; who
        # always answers alike would pass for rational.
        chances = right.mean(axis=1)
        if constant_rate > chances.mean():
            chances = np.full(n, constant_rate)
        row["p_exact"] = exact_test(n_right, chances)
    # The paper estimates the variance with n - 1, which one question does not allow; its rate is
    # the guess.
    if n > 1:
        row["z"], row["p_z"] = z_test(n_right, n, max(random_rate(right), constant_rate))
    return row


WIN = BET_CHOICES[0]


def ladder_runs(groups: list[BetAnswers], *, rng: Seed = None) -> pd.DataFrame:
    """Return a runs table of stated probabilities and bets."""
    generator = as_generator(rng)
    rows = []
    drawn: dict[str, int] = {}
    for group in groups:
        if group.kind != "ladder":
            continue
        facts = group.questions
        stated = facts["chance"].astype("float64")
        context = facts["high"] + " | " + facts["low"] + " | p " + stated.map("{:g}".format)
        # Equal for all models: the same coin is tossed for each.
        for name, chance in zip(group.template + " | " + context, stated, strict=True):
            drawn.setdefault(name, int(generator.random() < chance))
        action, even = _actions(group), break_evens(facts)
        rows.append(
            pd.DataFrame(
                {
                    "task": f"ladder:{group.template}",
                    "model": group.model,
                    "context": context,
                    "rep": facts.groupby(context).cumcount().to_numpy(),
                    "prompt": "standard",
                    "p": stated,
                    "belief_kind": "stated:fixed",
                    # The losing side passes what is to be won, as no bet does.
                    "action": action.where(action.isna() | (action == WIN), "pass"),
                    "acts": WIN,
                    "gain": facts["stake"] * (1 - even) / even,
                    "loss": facts["stake"],
                    "theta": (group.template + " | " + context).map(drawn),
                    "p_true": stated,
                    "truth_kind": DRAWN,
                    "status": np.where(action.isna(), "unparsed", "ok"),
                    "break_even": even,
                }
            )
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame()


def _actions(group: BetAnswers) -> "pd.Series[str]":
    labels = pd.Series(
        np.array(BET_CHOICES, dtype=object)[np.maximum(group.choice, 0)],
        index=group.questions.index,
        dtype="string",
    )
    return labels.mask(pd.Series(group.choice == NO_CHOICE, index=labels.index))
