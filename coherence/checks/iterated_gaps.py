"""Gaps between beliefs and the averages of beliefs given a variable, out of a runs table.

For each context and repetition the stated P(theta | x) is set against sum_j P(theta | x, z = j)
P(z = j | x), all from the same model.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from coherence.inputs import MIN_CONTEXTS, Codes, Floats
from coherence.statistics.rounding import Parts, Reports
from coherence.table.schema import COMPUTED_KINDS

KEY = ["context", "rep"]


@dataclass(frozen=True)
class Gaps:
    """Gaps of a table under one prompt.

    Parameters
    ----------
    rows : DataFrame
        One row per context, repetition and z: ``p``, ``reconstructed``, ``gap``, and ``residual``,
        by which the stated P(z) miss a sum of 1.
    pieces : DataFrame
        One row per state of z behind these: ``p`` and ``p_z``.
    n_dropped : int
        Questions that were asked and are incomplete.
    computed : bool
        Whether all beliefs are expectations themselves, without the noise of drawing.
    """

    rows: pd.DataFrame
    pieces: pd.DataFrame
    n_dropped: int
    computed: bool


def under_prompt(runs: pd.DataFrame, reference: str) -> tuple[pd.DataFrame, list[str]]:
    """Rows under the reference prompt, and other prompts that asked for beliefs given z."""
    if "prompt" not in runs.columns:
        return runs, []
    conditional = runs["z_state"].notna()
    prompt = runs["prompt"].astype(str)
    wanted = (prompt == reference) | (conditional & runs["prompt"].isna())
    return runs[wanted], sorted(prompt[conditional & ~wanted].unique())


def gaps_of(runs: pd.DataFrame, states: "pd.Series[int]", *, computed: bool) -> Gaps:
    """Set beliefs against their reconstructions.

    Parameters
    ----------
    runs : DataFrame
        Rows under one prompt.
    states : Series
        Number of values of each z.
    computed : bool
        Whether beliefs are without noise.

    Returns
    -------
    Gaps
        A state that was asked for twice counts once, with the mean of its answers.
    """
    conditional = runs[runs["z_state"].notna()]
    plain = runs[runs["z_state"].isna()]
    n_asked = conditional.groupby([*KEY, "z"], observed=True).ngroups
    pieces = (
        conditional.dropna(subset=["p", "p_z"])
        .groupby([*KEY, "z", "z_state"], observed=True)[["p", "p_z"]]
        .mean()
        .reset_index()
    )
    pieces["product"] = pieces["p"] * pieces["p_z"]
    grouped = pieces.groupby([*KEY, "z"], observed=True).agg(
        answered=("z_state", "size"),
        total=("p_z", "sum"),
        weighted=("product", "sum"),
        lowest=("p", "min"),
        highest=("p", "max"),
    )
    grouped = grouped.reset_index()
    grouped["wanted"] = grouped["z"].map(states).astype(int)
    whole = grouped[(grouped["answered"] == grouped["wanted"]) & (grouped["total"] > 0)]
    joined = whole.merge(plain[[*KEY, "p"]].dropna(subset="p"), on=KEY, how="inner")
    joined["residual"] = joined["total"] - 1
    # Stated distributions may sum to .99 or 1.01 from rounding; the residual is reported, the
    # reconstruction uses the normalised weights.
    joined["reconstructed"] = joined["weighted"] / joined["total"]
    joined["gap"] = joined["p"] - joined["reconstructed"]
    behind = joined[[*KEY, "z"]].drop_duplicates()
    return Gaps(joined, pieces.merge(behind, on=[*KEY, "z"]), n_asked - len(joined), computed)


def mean_over_contexts(values: "pd.Series[float]", context: "pd.Series[Any]") -> Floats:
    """Average rows within contexts, in the order of contexts."""
    return np.asarray(values.groupby(context, observed=True).mean(), dtype=np.float64)


def without_noise(runs: pd.DataFrame) -> bool:
    """Tell whether all beliefs are expectations themselves, without the noise of drawing."""
    return "belief_kind" in runs and bool(runs["belief_kind"].isin(COMPUTED_KINDS).all())


@dataclass(frozen=True)
class Squares:
    """Squared gaps of each context, and the reports behind them.

    Parameters
    ----------
    raw, expected : ndarray, shape (n_contexts,)
        Squared gap, and unbiased squared expected gap; the latter is the former where nothing was
        repeated.
    parts : Parts
        Reports; units are repetitions where these are not `repeated`, else contexts.
    context : ndarray of int, shape (n_gaps,)
        Context of each gap of `parts`.
    repeated : bool
        Whether products of different repetitions were taken.
    """

    raw: Floats
    expected: Floats
    parts: Parts
    context: Codes
    repeated: bool

    def by_context(self, of_gap: Floats) -> Floats:
        """Average values of gaps within contexts, shape (n_contexts,)."""
        sizes = np.bincount(self.context)
        return np.asarray(np.bincount(self.context, weights=of_gap) / sizes, dtype=np.float64)


def squares_of(gaps: Gaps, *, repeated: bool) -> Squares | None:
    """Square gaps by context.

    Parameters
    ----------
    gaps : Gaps
        Of one prompt.
    repeated : bool
        Whether the noise of answers is to be removed: the mean product of the gaps of different
        repetitions is free of the noise that one repetition carries. Gaps of different z in one
        repetition share its plain belief and with it the noise, so that products are taken within
        each z.

    Returns
    -------
    Squares or None
        None where too few contexts have two repetitions, or a gap.
    """
    unit = ["context", "z"] if repeated else ["context", "rep", "z"]
    once = gaps.rows.groupby([*KEY, "z"], observed=True)[["gap", "p", "total"]].mean().reset_index()
    n = once.groupby(["context", "z"], observed=True)["gap"].transform("size")
    once = once[n >= (2 if repeated else 1)]
    if once["context"].nunique() < MIN_CONTEXTS:
        return None
    sums = (
        once.assign(square=once["gap"] ** 2)
        .groupby(["context", "z"], observed=True)
        .agg(n=("gap", "size"), total=("gap", "sum"), square=("square", "sum"))
    )
    raw = sums["square"] / sums["n"]
    expected = raw
    if repeated:
        expected = (sums["total"] ** 2 - sums["square"]) / (sums["n"] * (sums["n"] - 1))
    means = pd.DataFrame({"raw": raw, "expected": expected}).groupby("context", observed=True)
    of_context = means.mean().to_numpy(dtype=np.float64).T
    parts, context = _parts(once, gaps.pieces, unit)
    return Squares(of_context[0], of_context[1], parts, context, repeated)


def _parts(once: pd.DataFrame, pieces: pd.DataFrame, unit: list[str]) -> tuple[Parts, Codes]:
    """Gather the reports behind gaps, one for each value of the columns `unit`."""
    gap = once.groupby(unit, observed=True).ngroup()
    once = once.assign(code=gap)
    with_code = pieces.merge(once[[*KEY, "z", "code"]], on=[*KEY, "z"])
    piece = _codes(with_code.groupby(["code", "z_state"], observed=True).ngroup())
    of_piece = with_code.assign(piece=piece).drop_duplicates("piece").sort_values("piece")
    answers = once.drop_duplicates(KEY)
    plain = [name for name in unit if name != "z"]
    belief = _codes(answers.groupby(plain, observed=True).ngroup())
    belief_of_row = once[KEY].merge(answers[KEY].assign(belief=belief), on=KEY, how="left")
    of_gap = once.assign(belief=belief_of_row["belief"].to_numpy()).drop_duplicates("code")
    of_gap = of_gap.sort_values("code")
    misses = (once["total"] - 1).abs().groupby(once["code"]).max().to_numpy()
    gap_of_piece = _codes(of_piece["code"])
    n_states = np.bincount(gap_of_piece)
    parts = Parts(
        belief=Reports(answers["p"].to_numpy(dtype=np.float64), belief),
        given=Reports(with_code["p"].to_numpy(dtype=np.float64), piece),
        weight=Reports(with_code["p_z"].to_numpy(dtype=np.float64), piece),
        gap_of_piece=gap_of_piece,
        state_of_piece=_codes(of_piece.groupby("code").cumcount()),
        belief_of_gap=_codes(of_gap["belief"]),
        sums_to_one=(n_states == 2) & (misses < 1e-9),
    )
    return parts, pd.factorize(of_gap["context"])[0]


def _codes(column: "pd.Series[int]") -> Codes:
    return np.asarray(column, dtype=np.int64)
