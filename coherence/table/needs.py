"""What a runs table holds that beliefs can be checked against, in the words of its reports.

A check names one entry of `EVIDENCE` as what it needs; which check needs what is declared there
(`coherence.checks.check`). Another kind of evidence is a change of the runs table and begins here.
"""

from collections.abc import Collection

import pandas as pd

from coherence.table.schema import action_columns, state_columns

BELIEF, ONE_BELIEF, P = "readable belief", "belief in one of two states", "p"
ACTION, THETA, TARGET = "action", "theta", "theta or p_true"
ANOTHER_PROMPT, GIVEN_Z = "second prompt", "z, z_state and p_z"

JUDGED_CHOICES = (BELIEF, ACTION, THETA)
CHOICES = (ONE_BELIEF, ACTION)
TARGETS = (ONE_BELIEF, TARGET)
WORDINGS = (P, ANOTHER_PROMPT)
CONDITIONALS = (P, GIVEN_Z)
EVIDENCE = (JUDGED_CHOICES, CHOICES, TARGETS, WORDINGS, CONDITIONALS)
"""All that a belief can be checked against, in the order of a report: what few rows have first."""


def missing(runs: pd.DataFrame, there: Collection[str] | None = None) -> frozenset[str]:
    """Say which needs a table does not meet."""
    if there is None:
        there = [str(name) for name in runs.columns if runs[name].notna().any()]
    n_states = sum(name in there for name in state_columns(runs))
    prompt = runs["prompt"] if "prompt" in there else pd.Series(dtype=object)
    met = {
        # A single p_<state> column is no belief: it may be p, or lack the other state.
        BELIEF: "p" in there or n_states > 1,
        ONE_BELIEF: "p" in there or n_states == 2,
        P: "p" in there,
        ACTION: "action" in there or any(name in there for name in action_columns(runs)),
        THETA: "theta" in there,
        TARGET: "theta" in there or "p_true" in there,
        # An empty cell stands for the wording "standard".
        ANOTHER_PROMPT: prompt.astype(object).where(prompt.notna(), "standard").nunique() > 1,
        GIVEN_Z: {"z", "z_state", "p_z"} <= set(there),
    }
    return frozenset(need for need, is_met in met.items() if not is_met)
