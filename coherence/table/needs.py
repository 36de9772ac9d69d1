"""What a table must have for each check, and what it lacks."""

from collections.abc import Collection

import pandas as pd

from coherence.table.schema import state_columns

ANOTHER_PROMPT, GIVEN_Z, ONE_BELIEF = (
    "second prompt",
    "z, z_state and p_z",
    "belief in one of two states",
)
CHECK_NEEDS = {
    "residual_covariance": ("readable belief", "action", "theta"),
    "cmi": ("readable belief", "action", "theta"),
    "predictive_gain": ("readable belief", "action", "theta"),
    "monotone_choice": (ONE_BELIEF, "action"),
    "prompt_consistency": ("p", ANOTHER_PROMPT),
    "iterated_expectation": ("p", GIVEN_Z),
    "calibration": (ONE_BELIEF, "theta or p_true"),
}
"""Check -> what a table must have for it."""


def _lacks(runs: pd.DataFrame, there: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return what each check lacks if the columns `there` count as being there."""
    states = [name for name in state_columns(runs) if name in there]
    prompt = runs["prompt"] if "prompt" in there else pd.Series(dtype=object)
    has = {
        "readable belief": "p" in there or len(states) > 1,
        ONE_BELIEF: "p" in there or len(states) == 2,
        "p": "p" in there,
        "action": "action" in there,
        "theta": "theta" in there,
        "theta or p_true": "theta" in there or "p_true" in there,
        # An empty cell stands for the wording "standard".
        ANOTHER_PROMPT: prompt.astype(object).where(prompt.notna(), "standard").nunique() > 1,
        GIVEN_Z: {"z", "z_state", "p_z"} <= set(there),
    }
    return {
        check: tuple(need for need in needs if not has[need])
        for check, needs in CHECK_NEEDS.items()
    }


def lacking(runs: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Say what each check lacks in a table.

    Parameters
    ----------
    runs : DataFrame
        A runs table; a column without any value counts as absent.

    Returns
    -------
    dict
        Check -> what it lacks, in the words of `CHECK_NEEDS`; nothing where the columns allow the
        check.

    Examples
    --------
    >>> needs = lacking(pd.DataFrame({"p": [0.2, 0.9], "p_true": [0.1, 0.8]}))
    >>> needs["calibration"], needs["monotone_choice"]
    ((), ('action',))
    """
    return _lacks(runs, [str(name) for name in runs.columns if runs[name].notna().any()])
