"""Runs tables from bets: a probability and an action on it, for the checks of coherence.

Two probabilities can stand in column ``p``. For bets whose chances are even, it is the model's own
belief that the thing to be won is worth more than the one that may be lost, out of its answers to
value questions. For ladders, it is the probability that the question states, and every bet has
stakes: the check `stakes` reads off them from which belief it bets.
"""

import numpy as np
import pandas as pd

from coherence.batteries.bets.answers import BetAnswers
from coherence.batteries.bets.scores import BELIEF_TEMPLATE
from coherence.batteries.bets.truths import BET_CHOICES, NO_CHOICE, break_evens
from coherence.runs.columns import DRAWN, RECORDED
from coherence.statistics.resample import Seed, as_generator

WIN = BET_CHOICES[0]


def belief_runs(
    groups: list[BetAnswers], *, belief_template: str = BELIEF_TEMPLATE
) -> pd.DataFrame:
    """Return a runs table of value beliefs and bets.

    The checks take contexts as independent, and pairs that share a thing are not: every thing is
    in one context at most, so that few of the pairs asked about are there.
    """
    rows = [
        _belief_rows(bets, values, belief_template)
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


def _belief_rows(bets: BetAnswers, values: BetAnswers, belief_template: str) -> pd.DataFrame:
    """Return the rows of one modality and one wording of the value question."""
    high, _, same = values.probabilities.T
    asked = values.questions[["high", "low"]].assign(belief=high + same / 2)
    belief = asked.groupby(["high", "low"], sort=False)["belief"].mean()
    facts = bets.questions
    pairs = pd.MultiIndex.from_frame(facts[["high", "low"]])
    of_high = belief.reindex(pairs).to_numpy()
    named = zip(facts["high"], facts["low"], facts["wins"], strict=True)
    context = pd.Series([_context(*names) for names in named], index=facts.index, dtype="string")
    standard = values.template == belief_template
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
