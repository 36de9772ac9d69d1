"""Several models beside each other: how often each is right about values, about bets, and about bets given its own values.

All kinds of value questions, and all kinds of bets, are taken together for each model. Every model answers the same questions, so two models differ
with less uncertainty than two separate intervals suggest.
"""

import math

import numpy as np
import pandas as pd

from coherence.bet_answers import BetAnswers
from coherence.bet_scores import BELIEF_TEMPLATE, believed_values, correct_choices, rational_choices
from coherence.bet_tests import crossed_interval, exact_test
from coherence.bets import Rule, Truths, asked, is_right

MEASURES = ("values", "bets", "bets by own values")


def compare_models(answers: list[BetAnswers], *, split: str = "test", rule: Rule = "side", belief_template: str = BELIEF_TEMPLATE) -> pd.DataFrame:
    """Return the shares of right single choices of every model.

    Parameters
    ----------
    answers : list of BetAnswers
        As in ``BetScores.answers``.
    split, rule, belief_template
        As of `coherence.bet_scores.score_bets`.

    Returns
    -------
    DataFrame
        One row per measure of `MEASURES` and model that was asked: ``measure``, ``model``, ``n``, ``n_right``, ``accuracy``, ``chance`` (of a
        guess), ``low``, ``high`` (95%, things as crossed clusters) and ``p_exact`` (one-sided, against guesses); within a measure the best model
        first, equal ones by name.
    """
    groups = [(group, group.only((group.questions["split"] == split).to_numpy())) for group in answers if group.kind != "ladder"]
    rows = []
    for model in dict.fromkeys(group.model for group, _ in groups):
        own = [(whole, part) for whole, part in groups if whole.model == model and len(part.questions)]
        beliefs = next((believed_values(whole) for whole, _ in own if whole.kind == "value" and whole.template == belief_template), None)
        parts: dict[str, list[tuple[BetAnswers, Truths]]] = {name: [] for name in MEASURES}
        for _, part in own:
            parts["values" if part.kind == "value" else "bets"].append((part, correct_choices(part, rule)))
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
    right = np.concatenate([is_right(group.choice[keep], truth[keep]) for (group, truth), keep in zip(parts, kept, strict=True)])
    row: dict[str, object] = {"measure": measure, "model": model, "n": right.size, "n_right": int(right.sum())}
    if right.size == 0:
        return row | dict.fromkeys(("accuracy", "chance", "low", "high", "p_exact"), math.nan)
    things = pd.concat([group.questions[keep] for (group, _), keep in zip(parts, kept, strict=True)])
    chances = np.concatenate([truth[keep].mean(axis=1) for (_, truth), keep in zip(parts, kept, strict=True)])
    interval = crossed_interval(right, things["high"], things["low"])
    found = {"accuracy": float(right.mean()), "chance": float(chances.mean()), "low": interval.low, "high": interval.high}
    return row | found | {"p_exact": exact_test(int(right.sum()), chances)}
