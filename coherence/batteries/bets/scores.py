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
from coherence.batteries.bets.chances import switching_chance
from coherence.batteries.bets.gains import (
    NO_CHOICE,
    VALUE_CHOICES,
    Rule,
    Truths,
    asked,
    believed_best,
    bet_truths,
    expected_gains,
    is_right,
    random_rate,
    threshold_sets,
    tune_threshold,
    value_truths,
)
from coherence.batteries.bets.ladder import LadderFit, fit_ladder
from coherence.errors import InputError
from coherence.inputs import Codes, Floats

STANDARD, THRESHOLD, STATED = "standard", "threshold", "stated set"
BELIEF_TEMPLATE = "choice-valuable"
BCA = "belief-conditioned"
COLUMNS = (
    "model",
    "kind",
    "template",
    "truth",
    "method",
    "n",
    "n_right",
    "accuracy",
    "chance",
    "low",
    "high",
    "p_exact",
    "z",
    "p_z",
    "threshold",
    "dev_accuracy",
    "n_tied",
    "n_unread",
)


@dataclass(frozen=True, eq=False)
class BetScores:
    """What `score_bets` returns.

    Parameters
    ----------
    accuracy : DataFrame
        One row per model, kind, template, truth and method: ``n`` questions, ``n_right``,
        ``accuracy``, ``chance`` (of a random guess, by enumeration), ``low`` and ``high`` (95%,
        things as crossed clusters), ``p_exact`` (exact, one-sided), ``z`` and ``p_z`` (the paper's
        test), ``threshold`` and ``dev_accuracy`` where one was tuned, ``n_tied`` (answers without a
        single choice), ``n_unread`` (answers that could not be read; both count as wrong).
    ladders : mapping of (str, str) to LadderFit
        By model and modality; empty where no ladder was answered. Answers without a single choice
        are left out.
    answers : list of BetAnswers
        What was scored.
    notes : tuple of str
        What could not be computed, and why.
    """

    accuracy: pd.DataFrame
    ladders: Mapping[tuple[str, str], LadderFit]
    answers: list[BetAnswers]
    notes: tuple[str, ...]


def score_bets(
    questions: pd.DataFrame,
    answers: pd.DataFrame,
    *,
    split: str = "test",
    rule: Rule = "side",
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
    """
    groups = join_answers(questions, answers)
    beliefs = {
        (group.model): believed_values(group)
        for group in groups
        if group.kind == "value" and group.template == belief_template
    }
    rows: list[dict[str, object]] = []
    notes: list[str] = []
    ladders: dict[tuple[str, str], LadderFit] = {}
    for group in groups:
        where = f"{group.model}, {group.template}"
        if group.kind == "ladder":
            if rule != "side":
                # Whoever bets gets whatever comes up then, and below one half the losing side costs
                # less: no stake tells such chances apart.
                notes.append(f"{where}: ladders are fitted for the rule 'side' only.")
                continue
            read = group.choice != NO_CHOICE
            if not read.all():
                # Unread is not refused.
                notes.append(
                    f"{where}: {int((~read).sum())} of {read.size} ladder answers have no "
                    "single choice and are left out."
                )
            if not read.any():
                notes.append(f"{where}: no ladder without an answer that has a single choice.")
                continue
            group = group.only(read)
            facts = group.questions
            several = min(facts["high"].nunique(), facts["low"].nunique()) > 1
            high, low = (facts["high"], facts["low"]) if several else (None, None)
            if not several:
                notes.append(
                    f"{where}: intervals of the ladder take answers as independent, "
                    "for it is about one thing of a kind."
                )
            even = break_evens(facts)
            ladders[group.model, group.template] = fit_ladder(
                facts["chance"], even, group.choice == 0, first=high, second=low
            )
            continue
        test = group.only((group.questions["split"] == split).to_numpy())
        dev = group.only((group.questions["split"] == "dev").to_numpy())
        if not len(test.questions):
            notes.append(f"{where}: no answers to questions of split {split!r}.")
            continue
        rows.append(_row(test, "correct", STANDARD, test.choice, correct_choices(test, rule)))
        if group.kind == "bet":
            if group.model in beliefs:
                rows.append(
                    _row(
                        test,
                        BCA,
                        STANDARD,
                        test.choice,
                        rational_choices(test, beliefs[group.model], rule),
                    )
                )
            else:
                notes.append(
                    f"{where}: no belief-conditioned accuracy without answers to the value "
                    f"questions {belief_template!r}."
                )
        rows += _set_rows(
            test,
            dev,
            _set_truths(test, rule),
            _set_truths(dev, rule) if len(dev.questions) else {},
            notes,
        )
    notes += _unread_notes(groups, split)
    if not rows and not ladders:
        raise InputError(
            f"there are no answers to questions of split {split!r}. Choose another split, "
            "or answer its questions."
        )
    return BetScores(pd.DataFrame(rows, columns=list(COLUMNS)), ladders, groups, tuple(notes))


def _unread_notes(groups: list[BetAnswers], split: str) -> list[str]:
    """Return a line for every model with answers that could not be read."""
    found = []
    scored = [
        (group.model, group.unread[(group.questions["split"] == split).to_numpy()])
        for group in groups
        if group.kind != "ladder"
    ]
    for model in dict.fromkeys(name for name, _ in scored):
        unread = np.concatenate([own for name, own in scored if name == model])
        if unread.any():
            found.append(
                f"{model}: {int(unread.sum())} of {unread.size} answers on values and bets "
                "could not be read and count as wrong."
            )
    return found


def bet_gains(bets: pd.DataFrame, *, rule: Rule = "side", swapped: bool = False) -> Floats:
    """Return the expected gains of a table of bets.

    Parameters
    ----------
    bets : DataFrame
        With ``wins``, ``high_value``, ``low_value``, ``stake`` and ``chance``, and ``payout``
        unless it is 0 throughout.
    rule : {"side", "outcome"}
        See `expected_gains`.
    swapped : bool
        Whether to exchange the two values, as for a model that holds the low thing for the more
        valuable one.

    Returns
    -------
    ndarray, shape (n, 4)
        Win, lose, both, none.
    """
    prize, loss = _amounts(bets, swapped=swapped)
    return expected_gains(
        prize, loss, bets["stake"], chance=bets["chance"], payout=_payouts(bets), rule=rule
    )


def right_roles(questions: pd.DataFrame, *, rule: Rule = "side") -> list[str]:
    """Return the role of the right option of every question, for training.

    Parameters
    ----------
    questions : DataFrame
        Value questions or bets.
    rule : {"side", "outcome"}
        See `expected_gains`.

    Returns
    -------
    list of str
        "high" for a value question; "win", "lose" or "none" for a bet, the first of them where
        gains are equal.
    """
    roles = np.full(len(questions), "high", dtype=object)
    is_bet = (questions["kind"] != "value").to_numpy()
    if is_bet.any():
        best = bet_truths(bet_gains(questions[is_bet], rule=rule)).best
        roles[is_bet] = np.array(["win", "lose", "none"], dtype=object)[best.argmax(axis=1)]
    return [str(role) for role in roles]


def break_evens(bets: pd.DataFrame) -> Floats:
    """Return the chance of the winning side above which the bet on it is the choice of largest gain, see `switching_chance`."""
    prize, loss = _amounts(bets)
    return switching_chance(prize, loss, bets["stake"], payout=_payouts(bets))


def _amounts(bets: pd.DataFrame, *, swapped: bool = False) -> tuple[Floats, Floats]:
    """Return what is won and what is lost."""
    high_is_won = (bets["wins"] == "high").to_numpy() != swapped
    high, low = (
        bets["high_value"].to_numpy(dtype=np.float64),
        bets["low_value"].to_numpy(dtype=np.float64),
    )
    return np.where(high_is_won, high, low), np.where(high_is_won, low, high)


def _payouts(bets: pd.DataFrame) -> Floats:
    if "payout" not in bets.columns:
        return np.zeros(len(bets))
    return bets["payout"].fillna(0.0).to_numpy(dtype=np.float64)


def believed_values(group: BetAnswers) -> dict[tuple[str, str], int]:
    """Return which of two things a model holds for more valuable, by pair: a place in `VALUE_CHOICES`, or `NO_CHOICE`.

    Pairs that were asked in both orders count as the paper asks them, with the high thing first.
    """
    first = (
        group.questions["first"]
        if "first" in group.questions
        else pd.Series("high", index=group.questions.index)
    )
    return {
        (str(high), str(low)): int(choice)
        for high, low, order, choice in zip(
            group.questions["high"], group.questions["low"], first, group.choice, strict=True
        )
        if order == "high"
    }


def correct_choices(group: BetAnswers, rule: Rule = "side") -> Truths:
    """Return the truth of the standard method, shape (n, 3): the high thing, or the choices of largest expected gain."""
    if group.kind == "value":
        return np.tile([True, False, False], (len(group.questions), 1))
    return bet_truths(bet_gains(group.questions, rule=rule)).best


def _set_truths(group: BetAnswers, rule: Rule) -> Mapping[str, Truths]:
    return (
        value_truths(len(group.questions))
        if group.kind == "value"
        else bet_truths(bet_gains(group.questions, rule=rule)).sets()
    )


def rational_choices(
    group: BetAnswers, beliefs: Mapping[tuple[str, str], int], rule: Rule = "side"
) -> Truths:
    """Return the choices that are rational given a model's own answers on values.

    Parameters
    ----------
    group : BetAnswers
        Answers to bets.
    beliefs : mapping
        As from `believed_values`.
    rule : {"side", "outcome"}
        See `expected_gains`.

    Returns
    -------
    ndarray of bool, shape (n, 3)
        No choice is rational for a pair without an answer on its values.
    """
    pairs = zip(group.questions["high"], group.questions["low"], strict=True)
    belief = np.array(
        [beliefs.get((str(high), str(low)), NO_CHOICE) for high, low in pairs], dtype=np.int64
    )
    # Who holds two things for equally valuable has, in the paper's bets, nothing to gain. At other
    # odds it depends on how valuable, which was not asked: such a bet is left out.
    even = (group.questions["chance"] == 0.5).to_numpy() & (_payouts(group.questions) == 0)
    belief[(belief == VALUE_CHOICES.index("same")) & ~even] = NO_CHOICE
    gains = [bet_gains(group.questions, rule=rule, swapped=swapped) for swapped in (False, True)]
    return believed_best(belief, *gains)


def _set_rows(
    test: BetAnswers,
    dev: BetAnswers,
    truths: Mapping[str, Truths],
    dev_truths: Mapping[str, Truths],
    notes: list[str],
) -> list[dict[str, object]]:
    """Return the rows of the threshold method, or those of sets that were stated as letters."""
    if test.scores is None:
        return [
            _row(test, name, STATED, test.stated, right)
            for name, right in truths.items()
            if asked(right).any()
        ]
    rows = []
    for name, right in truths.items():
        if not asked(right).any():
            notes.append(
                f"{test.model}, {test.template}: no question has a right answer under {name!r}."
            )
        elif name not in dev_truths or dev.scores is None or not asked(dev_truths[name]).any():
            notes.append(
                f"{test.model}, {test.template}: no threshold for {name!r} without scores of "
                "development questions."
            )
        else:
            tuned = tune_threshold(dev.scores, dev_truths[name])
            row = _row(test, name, THRESHOLD, threshold_sets(test.scores, tuned.value), right)
            rows.append(row | {"threshold": tuned.value, "dev_accuracy": tuned.accuracy})
    return rows


def _row(
    group: BetAnswers, truth: str, method: str, codes: Codes, right: Truths
) -> dict[str, object]:
    # A bet whose pair was not asked for its value, or not answered, has no rational answer; as in
    # the paper's truths, it is left out.
    kept = asked(right)
    n = int(kept.sum())
    row: dict[str, object] = {
        "model": group.model,
        "kind": group.kind,
        "template": group.template,
        "truth": truth,
        "method": method,
        "n": n,
    }
    row |= {
        "threshold": math.nan,
        "dev_accuracy": math.nan,
        "n_unread": int(group.unread[kept].sum()),
    }
    row["n_tied"] = int((group.choice[kept] == NO_CHOICE).sum()) if method == STANDARD else 0
    if n == 0:
        return (
            row
            | dict.fromkeys(("accuracy", "chance", "low", "high", "p_exact", "z", "p_z"), math.nan)
            | {"n_right": 0}
        )
    correct = is_right(codes[kept], right[kept])
    n_right, chance = int(correct.sum()), random_rate(right)
    paper = z_test(n_right, n, chance) if n > 1 else None
    things = group.questions[kept]
    interval = crossed_interval(correct, things["high"], things["low"])
    row |= {
        "n_right": n_right,
        "accuracy": n_right / n,
        "chance": chance,
        "low": interval.low,
        "high": interval.high,
    }
    row |= {"p_exact": exact_test(n_right, right[kept].mean(axis=1))}
    return row | {"z": paper.z if paper else math.nan, "p_z": paper.pvalue if paper else math.nan}


MEASURES = ("values", "bets", "bets by own values")


def compare_models(
    answers: list[BetAnswers],
    *,
    split: str = "test",
    rule: Rule = "side",
    belief_template: str = BELIEF_TEMPLATE,
) -> pd.DataFrame:
    """Return the shares of right single choices of every model.

    Parameters
    ----------
    answers : list of BetAnswers
        As in ``BetScores.answers``.
    split, rule, belief_template
        As of `coherence.batteries.bets.scores.score_bets`.

    Returns
    -------
    DataFrame
        One row per measure of `MEASURES` and model that was asked: ``measure``, ``model``, ``n``,
        ``n_right``, ``accuracy``, ``chance`` (of a guess), ``low``, ``high`` (95%, things as
        crossed clusters) and ``p_exact`` (one-sided, against guesses); within a measure the best
        model first, equal ones by name.
    """
    groups = [
        (group, group.only((group.questions["split"] == split).to_numpy()))
        for group in answers
        if group.kind != "ladder"
    ]
    rows = []
    for model in dict.fromkeys(group.model for group, _ in groups):
        own = [
            (whole, part) for whole, part in groups if whole.model == model and len(part.questions)
        ]
        beliefs = next(
            (
                believed_values(whole)
                for whole, _ in own
                if whole.kind == "value" and whole.template == belief_template
            ),
            None,
        )
        parts: dict[str, list[tuple[BetAnswers, Truths]]] = {name: [] for name in MEASURES}
        for _, part in own:
            parts["values" if part.kind == "value" else "bets"].append(
                (part, correct_choices(part, rule))
            )
            if part.kind == "bet" and beliefs is not None:
                parts["bets by own values"].append((part, rational_choices(part, beliefs, rule)))
        rows += [_pooled(model, measure, found) for measure, found in parts.items() if found]
    table = pd.DataFrame(rows)
    if table.empty:
        return table
    place = table["measure"].map(MEASURES.index)
    return (
        table.assign(place=place)
        .sort_values(["place", "accuracy", "model"], ascending=[True, False, True])
        .drop(columns="place")
        .reset_index(drop=True)
    )


def _pooled(model: str, measure: str, parts: list[tuple[BetAnswers, Truths]]) -> dict[str, object]:
    kept = [asked(right) for _, right in parts]
    right = np.concatenate(
        [
            is_right(group.choice[keep], truth[keep])
            for (group, truth), keep in zip(parts, kept, strict=True)
        ]
    )
    row: dict[str, object] = {
        "measure": measure,
        "model": model,
        "n": right.size,
        "n_right": int(right.sum()),
    }
    if right.size == 0:
        return row | dict.fromkeys(("accuracy", "chance", "low", "high", "p_exact"), math.nan)
    things = pd.concat(
        [group.questions[keep] for (group, _), keep in zip(parts, kept, strict=True)]
    )
    chances = np.concatenate(
        [truth[keep].mean(axis=1) for (_, truth), keep in zip(parts, kept, strict=True)]
    )
    interval = crossed_interval(right, things["high"], things["low"])
    found = {
        "accuracy": float(right.mean()),
        "chance": float(chances.mean()),
        "low": interval.low,
        "high": interval.high,
    }
    return row | found | {"p_exact": exact_test(int(right.sum()), chances)}
