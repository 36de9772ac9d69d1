"""The draws of the battery as a runs table, for the checks that make sense of them.

The `p` of such a table is instructed, not stated: the rate that an action should have. There is no
realised state, so that only the direction of the choices can be checked: does an action become more
frequent as its best rate rises?
"""

import numpy as np
import pandas as pd

from coherence.batteries.mixing.answers import count_answers, plain_text
from coherence.batteries.mixing.design import PARTS, optimal_rates
from coherence.table.schema import READABLE

RUN_PARTS = ("flip", "reads", "pennies", "positioning")
"""Parts with two actions whose best rate varies; three outcomes have no single p, and that of words
is always one half."""


def mixing_runs(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the drawn answers as a runs table."""
    count_answers(answers)  # every fault at once, before anything is laid out
    drawn = answers[answers["experiment"].isin(RUN_PARTS)]
    if "probability" in drawn.columns:
        drawn = drawn[drawn["probability"].isna()]
    if "count" in drawn.columns:
        drawn = drawn.loc[drawn.index.repeat(pd.to_numeric(drawn["count"]).fillna(0).astype(int))]
    drawn = drawn.reset_index(drop=True)
    answer = drawn["answer"].astype(object)
    status = (
        drawn["status"]
        if "status" in drawn.columns
        else pd.Series(np.where(answer.notna(), "ok", "unparsed"), index=drawn.index)
    )
    p = pd.to_numeric(drawn["p"]).astype(float).round(9)
    best = p.copy()
    for name in RUN_PARTS:
        rows = (drawn["experiment"] == name).to_numpy()
        best[rows] = optimal_rates(name, np.asarray(p[rows], dtype=np.float64))
    # What cannot be read must not become an action of its own.
    action = answer.map(_action, na_action="ignore").where(status.isin(READABLE), None)
    runs = pd.DataFrame(
        {
            "task": [f"mixing:{name}" for name in drawn["experiment"]],
            "model": plain_text(drawn["model"]) if "model" in drawn.columns else "",
            "context": [
                f"{name} p={value:g}" for name, value in zip(drawn["experiment"], p, strict=True)
            ],
            "p": best,
            "action": action,
            "status": status,
        }
    )
    if runs["action"].isna().all():
        runs = runs.iloc[:0]
    runs.insert(3, "rep", runs.groupby(["task", "model", "context"]).cumcount())
    return runs


def _action(answer: object) -> str:
    """Return an answer in the spelling of its outcome."""
    # Spreadsheets turn 0 into 0.0.
    text = str(answer).strip().casefold().removesuffix(".0")
    names = {outcome.casefold(): outcome for name in RUN_PARTS for outcome in PARTS[name].outcomes}
    return names.get(text, text)
