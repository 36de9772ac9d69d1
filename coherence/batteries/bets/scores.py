"""Accuracies of bets: every model, kind of question, truth and method, with tests and intervals.

The standard method takes the choice of the largest score, the threshold method every choice above a
threshold that was tuned on development questions, for every truth anew (Tang and Kejriwal, sections
4.2.1, 4.3 and 4.4). Belief-conditioned accuracy counts a bet as right if it is rational given the
model's own answer on which of the two things is worth more.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.batteries.bets.accuracy import crossed_interval, exact_test, z_test
from coherence.batteries.bets.answers import BetAnswers, join_answers
from coherence.batteries.bets.constant_answers import best_constant, constant_notes
from coherence.batteries.bets.gains import BetRule, bet_gains, break_evens
from coherence.batteries.bets.ladder import LadderFit, fit_ladder
from coherence.batteries.bets.predictions import threshold_sets, tune_threshold
from coherence.batteries.bets.right_choices import (
    believed_values,
    correct_choices,
    rational_choices,
)
from coherence.batteries.bets.truths import (
    NO_CHOICE,
    Truths,
    asked,
    bet_truths,
    is_right,
    random_rate,
    value_truths,
)
from coherence.errors import InputError
from coherence.inputs import Codes

STANDARD, THRESHOLD, STATED = "standard", "threshold", "stated set"
BELIEF_TEMPLATE = "choice-valuable"
BCA = "belief-conditioned"
MEASURES = ("values", "bets", "bets by own values")
_ASKED = ["model", "kind", "template", "truth", "method", "n"]
_RESULTS = ["n_right", "accuracy", "chance", "constant", "constant_rate", "low", "high", "p_exact"]
_COLUMNS = [*_ASKED, *_RESULTS, "z", "p_z", "threshold", "dev_accuracy", "n_tied", "n_unread"]

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
    # By model and modality; empty where no ladder was answered. Answers without a single choice are
    # left out.
    ladders: Mapping[tuple[str, str], LadderFit]
    answers: list[BetAnswers]  # what was scored
    notes: tuple[str, ...]  # what could not be computed, and why


def score_bets(
    questions: pd.DataFrame,
    answers: pd.DataFrame,
    *,
    split: str = "test",
    rule: BetRule = "side",
    belief_template: str = BELIEF_TEMPLATE,
) -> BetScores:
    """Score answers to value questions and bets.

    Parameters
    ----------
    questions, answers : DataFrame
        See `join_answers`.
    split : str
        The questions to score; thresholds are tuned on those of split "dev".
    rule : {"side", "outcome"}
        See `expected_gains`.
    belief_template : str
        Which value questions tell a model's belief, for the belief-conditioned accuracy.

    Returns
    -------
    BetScores
        Accuracies, ladders and what was left out.

    Raises
    ------
    InputError
        See `join_answers`; or no answer is to a question of `split`.

    Examples
    --------
    >>> from coherence.batteries.bets.simulated import simulate_answers
    >>> from elicitation import ladder_questions
    >>> from elicitation.batteries.bets.items import default_items
    >>> questions = ladder_questions(default_items(), chances=[0.25, 0.5, 0.75])
    >>> answers = simulate_answers("maximiser", questions, rng=1)
    >>> table = score_bets(questions, answers).ladders["maximiser", "coin"].table
    >>> table[["stated", "implied"]].round(2)
       stated  implied
    0    0.25     0.25
    1    0.50     0.52
    2    0.75     0.75
    """
    groups = join_answers(questions, answers)
    beliefs = {
        group.model: believed_values(group)
        for group in groups
        if group.kind == "value" and group.template == belief_template
    }
    rows: list[_Row] = []
    notes: list[str] = []
    ladders: dict[tuple[str, str], LadderFit] = {}
    for group in groups:
        if group.kind == "ladder":
            fit = _fit_answers(group, rule, notes)
            if fit is not None:
                ladders[group.model, group.template] = fit
            continue
        test, dev = _of_split(group, split), _of_split(group, "dev")
        if not len(test.questions):
            notes.append(f"{_where(group)}: no answers to questions of split {split!r}.")
            continue
        notes += constant_notes(test, correct_choices(test, rule))
        rows.append(_row(test, "correct", STANDARD, test.choice, correct_choices(test, rule)))
        if group.kind == "bet" and group.model in beliefs:
            rational = rational_choices(test, beliefs[group.model], rule)
            rows.append(_row(test, BCA, STANDARD, test.choice, rational))
        elif group.kind == "bet":
            notes.append(
                f"{_where(group)}: no belief-conditioned accuracy without answers to the value "
                f"questions {belief_template!r}."
            )
        rows += _set_rows(test, dev, rule, notes)
    notes += _unread_notes(groups, split)
    if not rows and not ladders:
        raise InputError(
            f"there are no answers to questions of split {split!r}. "
            "Choose another split, or answer its questions."
        )
    return BetScores(pd.DataFrame(rows, columns=_COLUMNS), ladders, groups, tuple(notes))


def _where(group: BetAnswers) -> str:
    return f"{group.model}, {group.template}"


def _of_split(group: BetAnswers, split: str) -> BetAnswers:
    return group.only((group.questions["split"] == split).to_numpy())


def _fit_answers(group: BetAnswers, rule: BetRule, notes: list[str]) -> LadderFit | None:
    """Fit the ladder of a model in one modality; None where that cannot be, with a note why."""
    if rule != "side":
        # Whoever bets gets whatever comes up then, and below one half the losing side costs less:
        # no stake tells such chances apart.
        notes.append(f"{_where(group)}: ladders are fitted for the rule 'side' only.")
        return None
    # Unread is not refused: taken for bets declined, such answers would move the chance acted on.
    read = group.choice != NO_CHOICE
    if not read.all():
        notes.append(
            f"{_where(group)}: {int((~read).sum())} of {read.size} ladder answers "
            "have no single choice and are left out."
        )
    if not read.any():
        notes.append(f"{_where(group)}: no ladder without an answer that has a single choice.")
        return None
    group = group.only(read)
    bets = group.questions
    several = min(bets["high"].nunique(), bets["low"].nunique()) > 1
    if not several:
        notes.append(
            f"{_where(group)}: intervals of the ladder take answers as independent, "
            "for it is about one thing of a kind."
        )
    high, low = (bets["high"], bets["low"]) if several else (None, None)
    return fit_ladder(bets["chance"], break_evens(bets), group.choice == 0, first=high, second=low)


def _unread_notes(groups: list[BetAnswers], split: str) -> list[str]:
    """Return a line for every model with answers that could not be read."""
    unread: dict[str, list[bool]] = {}
    for group in groups:
        if group.kind != "ladder":
            unread.setdefault(group.model, []).extend(_of_split(group, split).unread)
    return [
        f"{model}: {sum(answers)} of {len(answers)} answers on values and bets "
        "could not be read and count as wrong."
        for model, answers in unread.items()
        if any(answers)
    ]


def _set_truths(group: BetAnswers, rule: BetRule) -> Mapping[str, Truths]:
    """Return the truths for sets of choices, by name; none for a group without questions."""
    if not len(group.questions):
        return {}
    if group.kind == "value":
        return value_truths(len(group.questions))
    return bet_truths(bet_gains(group.questions, rule=rule)).sets()


def _set_rows(test: BetAnswers, dev: BetAnswers, rule: BetRule, notes: list[str]) -> list[_Row]:
    """Return the rows of the threshold method, or those of sets that were stated as letters."""
    truths, dev_truths = _set_truths(test, rule), _set_truths(dev, rule)
    if test.scores is None:
        return [
            _row(test, name, STATED, test.stated, right)
            for name, right in truths.items()
            if asked(right).any()
        ]
    rows = []
    for name, right in truths.items():
        if not asked(right).any():
            notes.append(f"{_where(test)}: no question has a right answer under {name!r}.")
        elif name not in dev_truths or dev.scores is None or not asked(dev_truths[name]).any():
            notes.append(
                f"{_where(test)}: no threshold for {name!r} without scores of development "
                "questions."
            )
        else:
            tuned = tune_threshold(dev.scores, dev_truths[name])
            row = _row(test, name, THRESHOLD, threshold_sets(test.scores, tuned.value), right)
            rows.append(row | {"threshold": tuned.value, "dev_accuracy": tuned.accuracy})
    return rows


def _row(group: BetAnswers, truth: str, method: str, codes: Codes, right: Truths) -> _Row:
    # A bet whose pair was not asked for its value, or not answered, has no rational answer; as in
    # the paper's truths, it is left out.
    kept = asked(right)
    names = (group.model, group.kind, group.template, truth, method, int(kept.sum()))
    row: _Row = dict(zip(_ASKED, names, strict=True))
    row |= _share_right([(group.questions, codes, right)]) | {"chance": random_rate(right)}
    row |= {"z": math.nan, "p_z": math.nan, "threshold": math.nan, "dev_accuracy": math.nan}
    row["n_unread"] = int(group.unread[kept].sum())
    row["n_tied"] = int((group.choice[kept] == NO_CHOICE).sum()) if method == STANDARD else 0
    # The paper estimates the variance with n - 1, which one question does not allow.
    if kept.sum() > 1:
        n_right = int(is_right(codes[kept], right[kept]).sum())
        # The paper's rate is the guess; who always answers alike would pass for rational.
        rate = max(random_rate(right), best_constant([(group.questions, right)])[1])
        paper = z_test(n_right, int(kept.sum()), rate)
        row |= {"z": paper.z, "p_z": paper.pvalue}
    return row


def _share_right(parts: list[tuple[pd.DataFrame, Codes, Truths]]) -> _Row:
    """Return the `_RESULTS` of questions, their predictions and truths, over all parts together."""
    kept = [asked(truth) for _, _, truth in parts]
    answered = list(zip(parts, kept, strict=True))
    right = np.concatenate(
        [is_right(codes[keep], truth[keep]) for (_, codes, truth), keep in answered]
    )
    if right.size == 0:
        return {"n_right": 0} | dict.fromkeys(_RESULTS[1:], math.nan) | {"constant": ""}
    things = pd.concat([questions[keep] for (questions, _, _), keep in answered])
    # Where gains are equal more than one choice is right, and a guess is right more often.
    chances = np.concatenate([truth[keep].mean(axis=1) for (_, _, truth), keep in answered])
    interval = crossed_interval(right, things["high"], things["low"])
    n_right, chance = int(right.sum()), float(chances.mean())
    constant = best_constant([(questions, truth) for questions, _, truth in parts])
    if constant[1] > chance:
        chances = np.full(right.size, constant[1])
    pvalue = exact_test(n_right, chances)
    values = (n_right, n_right / right.size, chance, *constant, interval.low, interval.high, pvalue)
    return dict(zip(_RESULTS, values, strict=True))


def compare_models(
    answers: list[BetAnswers],
    *,
    split: str = "test",
    rule: BetRule = "side",
    belief_template: str = BELIEF_TEMPLATE,
) -> pd.DataFrame:
    """Return the shares of right single choices of every model."""
    rows: list[_Row] = []
    for model in dict.fromkeys(group.model for group in answers if group.kind != "ladder"):
        groups = [
            (group, _of_split(group, split))
            for group in answers
            if group.model == model and group.kind != "ladder"
        ]
        groups = [(group, test) for group, test in groups if len(test.questions)]
        # The first wording that was asked for beliefs counts, in all its splits.
        beliefs = next(
            (
                believed_values(group)
                for group, _ in groups
                if group.kind == "value" and group.template == belief_template
            ),
            None,
        )
        parts: dict[str, list[tuple[pd.DataFrame, Codes, Truths]]] = {name: [] for name in MEASURES}
        for group, test in groups:
            right = correct_choices(test, rule)
            parts["values" if group.kind == "value" else "bets"].append(
                (test.questions, test.choice, right)
            )
            if group.kind == "bet" and beliefs is not None:
                right = rational_choices(test, beliefs, rule)
                parts["bets by own values"].append((test.questions, test.choice, right))
        for measure, answered in parts.items():
            if answered:
                n = sum(int(asked(truth).sum()) for _, _, truth in answered)
                row: _Row = {"measure": measure, "model": model, "n": n}
                rows.append(row | _share_right(answered))
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    return table.sort_values(
        ["measure", "accuracy", "model"],
        ascending=[True, False, True],
        key=lambda column: column.map(MEASURES.index) if column.name == "measure" else column,
        ignore_index=True,
    )
