"""Accuracies of bets, with tests and intervals; and bets as runs tables for the usual checks.

The standard method takes the choice of the largest score, the threshold method every choice above a
threshold that was tuned on development questions, for every truth anew (Tang and Kejriwal, sections
4.2.1, 4.3 and 4.4). Belief-conditioned accuracy counts a bet as right if it is rational given the
model's own answer on which of the two things is worth more. Beside every accuracy stands the best
constant answer: a model that declines every bet is right wherever the thing to be won is the lesser
one, which is half of the bets.

Two probabilities can stand in column ``p`` of a runs table. For bets whose chances are even, it is
the model's own belief that the thing to be won is worth more than the one that may be lost, out of
its answers to value questions. For ladders, it is the probability that the question states, and
every bet has stakes: the check `stakes` reads off them from which belief it bets.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from coherence.batteries.bets.answers import OPTIONS, ROLES, BetAnswers, join_answers
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
    threshold_sets,
    tune_threshold,
    value_truths,
    z_test,
)
from coherence.errors import InputError
from coherence.inputs import Codes
from coherence.runs.columns import DRAWN, RECORDED
from coherence.statistics.resample import Seed, as_generator


def right_roles(questions: pd.DataFrame) -> list[str]:
    """Return the role of the right option of every question, for training."""
    roles = np.full(len(questions), "high", dtype=object)
    is_bet = (questions["kind"] != "value").to_numpy()
    if is_bet.any():
        best = best_choices(bet_gains(questions[is_bet]))
        roles[is_bet] = np.array(BET_CHOICES, dtype=object)[best.argmax(axis=1)]
    return [str(role) for role in roles]


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


NEARLY_ALL = 0.95
"""Share of equal answers from which on a note says so."""


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


def constant_notes(group: BetAnswers, right: Truths) -> list[str]:
    """Say where nearly all answers are alike, or one answer is right nearly everywhere."""
    notes = []
    read = group.choice != NO_CHOICE
    n = int(read.sum())
    if n > 1:
        chosen = np.eye(3, dtype=bool)[group.choice[read]]
        name, share = best_constant(group.questions[read], chosen)
        if share >= NEARLY_ALL:
            notes.append(
                f"{round(share * n)} of {n} answers are {name!r}, whatever was asked; "
                "how many are right is then decided by the questions."
            )
    name, rate = best_constant(group.questions, right)
    if len(right) > 1 and rate >= NEARLY_ALL:
        notes.append(
            f"whoever always answers {name!r} is right in {rate:.0%} of the questions, so "
            "that the share of right answers shows no knowledge. Ask all questions of "
            "`coherence bets questions`, whose sides are in both orders."
        )
    return notes


STANDARD, THRESHOLD, STATED = "standard", "threshold", "stated set"
BELIEF_TEMPLATE = "choice-valuable"
BCA = "belief-conditioned"
_COLUMNS = (
    *("model", "kind", "template", "truth", "method", "n", "n_right", "accuracy", "chance"),
    *("constant", "constant_rate", "low", "high", "p_exact", "z", "p_z", "threshold"),
    *("dev_accuracy", "n_tied", "n_unread"),
)

_MOST_NAMED = 3  # of what one note is true of

_Row = dict[str, object]


class _Notes(dict[str, list[str]]):
    """What could not be computed: a sentence -> of whom it is true."""

    def add(self, group: BetAnswers, said: str) -> None:
        self.setdefault(said, []).append(f"{group.model}, {group.template}")

    def lines(self) -> tuple[str, ...]:
        """Return each sentence once, with what it is true of."""
        return tuple(
            f"{'; '.join(of[:_MOST_NAMED])}{f'; and {more} more' if more > 0 else ''}: {said}"
            for said, of in self.items()
            for more in [len(of) - _MOST_NAMED]
        )


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
    notes = _Notes()
    for group in groups:
        if group.kind == "ladder":
            continue
        test, dev = _of_split(group, "test"), _of_split(group, "dev")
        if not len(test.questions):
            notes.add(group, "no answers to questions of split 'test'.")
            continue
        right = correct_choices(test)
        for said in constant_notes(test, right):
            notes.add(group, said)
        rows.append(_row(test, "correct", STANDARD, test.choice, right))
        if group.kind == "bet" and group.model in beliefs:
            rational = rational_choices(test, beliefs[group.model])
            rows.append(_row(test, BCA, STANDARD, test.choice, rational))
        elif group.kind == "bet":
            without = f"without answers to the value questions {BELIEF_TEMPLATE!r}."
            notes.add(group, f"no belief-conditioned accuracy {without}")
        rows += _set_rows(test, dev, notes)
    lost: dict[str, list[bool]] = {}
    for group in groups:
        if group.kind != "ladder":
            lost.setdefault(group.model, []).extend(_of_split(group, "test").unread)
    for model, unread in lost.items():
        if any(unread):
            said = "answers on values and bets could not be read and count as wrong."
            notes.setdefault(f"{sum(unread)} of {len(unread)} {said}", []).append(model)
    if not rows and not any(group.kind == "ladder" for group in groups):
        raise InputError(
            "there are no answers to questions of split 'test', which are scored. Answer them."
        )
    return BetScores(pd.DataFrame(rows, columns=list(_COLUMNS)), groups, notes.lines())


def _of_split(group: BetAnswers, split: str) -> BetAnswers:
    return group.only((group.questions["split"] == split).to_numpy())


def _set_truths(group: BetAnswers) -> Mapping[str, Truths]:
    """Return the truths for sets of choices, by name; none for a group without questions."""
    if not len(group.questions):
        return {}
    if group.kind == "value":
        return value_truths(len(group.questions))
    return bet_truths(bet_gains(group.questions))


def _set_rows(test: BetAnswers, dev: BetAnswers, notes: _Notes) -> list[_Row]:
    """Return the rows of the threshold method, or those of sets that were stated as letters."""
    truths, dev_truths = _set_truths(test), _set_truths(dev)
    if test.scores is None:
        return [
            _row(test, name, STATED, test.stated, right)
            for name, right in truths.items()
            if asked(right).any()
        ]
    rows = []
    for name, right in truths.items():
        if not asked(right).any():
            notes.add(test, f"no question has a right answer under {name!r}.")
        elif name not in dev_truths or dev.scores is None or not asked(dev_truths[name]).any():
            notes.add(test, f"no threshold for {name!r} without scores of development questions.")
        else:
            threshold, accuracy = tune_threshold(dev.scores, dev_truths[name])
            row = _row(test, name, THRESHOLD, threshold_sets(test.scores, threshold), right)
            rows.append(row | {"threshold": threshold, "dev_accuracy": accuracy})
    return rows


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


def belief_runs(groups: list[BetAnswers]) -> pd.DataFrame:
    """Return a runs table of value beliefs and bets.

    The checks take contexts as independent, and pairs that share a thing are not: every thing is
    in one context at most, so that few of the pairs asked about are there.
    """
    rows = [
        _belief_rows(bets, values)
        for bets in groups
        if bets.kind == "bet"
        for values in groups
        if values.kind == "value" and values.model == bets.model
    ]
    if not rows:
        return pd.DataFrame()
    runs = pd.concat(rows)
    return runs[runs["context"].isin(_disjoint(groups))].reset_index(drop=True)


def _disjoint(groups: list[BetAnswers]) -> set[str]:
    """Return contexts of which no two share a thing, in the order of the questions."""
    asked = pd.concat(
        [group.questions[["split", "high", "low"]] for group in groups if group.kind == "bet"]
    )
    # The n-th high thing with the n-th low one, as far as there are both.
    pairs = [
        pair
        for _, part in asked.groupby("split", sort=False)
        for pair in zip(part["high"].unique(), part["low"].unique(), strict=False)
    ]
    # Taking turns, so that theta varies from pair to pair.
    return {
        _context(high, low, ("high", "low")[number % 2]) for number, (high, low) in enumerate(pairs)
    }


def _context(high: str, low: str, wins: str) -> str:
    return f"{high} | {low} | wins {wins}"


def _belief_rows(bets: BetAnswers, values: BetAnswers) -> pd.DataFrame:
    """Return the rows of one modality and one wording of the value question."""
    high, _, same = values.probabilities.T
    asked = values.questions[["high", "low"]].assign(belief=high + same / 2)
    belief = asked.groupby(["high", "low"], sort=False)["belief"].mean()
    facts = bets.questions
    pairs = pd.MultiIndex.from_frame(facts[["high", "low"]])
    of_high = belief.reindex(pairs).to_numpy()
    named = zip(facts["high"], facts["low"], facts["wins"], strict=True)
    context = pd.Series([_context(*names) for names in named], index=facts.index, dtype="string")
    standard = values.template == BELIEF_TEMPLATE
    action = _actions(bets)
    p = np.where(facts["wins"] == "high", of_high, 1 - of_high)
    unparsed = np.isnan(p) | (action.isna().to_numpy() & standard)
    table = pd.DataFrame(
        {
            "task": f"bets:{bets.template}",
            "model": bets.model,
            "context": context,
            "rep": facts.groupby(context).cumcount().to_numpy(),
            "prompt": "standard" if standard else values.template,
            "p": p,
            # One action per context and repetition: other wordings of the belief carry none.
            "action": action if standard else pd.Series(pd.NA, index=facts.index, dtype="string"),
            "theta": (facts["wins"] == "high").astype("int64"),
            "truth_kind": RECORDED,
            "status": np.where(unparsed, "unparsed", "ok"),
            "split": facts["split"],
        }
    )
    return table[np.isin(pairs, belief.index)]


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
