"""The gaps of the iterated expectation alone: statistics of `coherence.checks.iterated` for twins.

Twins have the same rows as the table that they are twins of. Which rows form which gap is found
once; each twin then takes sums over them.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from coherence.checks.check import Original
from coherence.checks.iterated_gaps import KEY, gaps_of, squares_of, under_prompt, without_noise
from coherence.inputs import MIN_CONTEXTS, Codes, Floats
from coherence.statistics.rounding import (
    Parts,
    expected_squares,
    root_alone,
    rounded,
)

NAME = "iterated_expectation"


@dataclass(frozen=True)
class Layout:
    """Which rows of a table form which gap.

    Parameters
    ----------
    plain : ndarray of int, shape (n_gaps,)
        Row of the belief of each gap: a context, repetition and variable.
    piece, gap_of_piece : ndarray of int, shape (n_pieces,)
        Row of each belief given z, and its gap.
    context : ndarray of int, shape (n_gaps,)
        Context of each gap.
    parts : Parts or None
        Reports behind the gaps whose noise can be removed, with rows in place of values.
    used : ndarray of int
        Gaps that enter them.
    unit, context_of_unit : ndarray of int
        Context and variable of each of these, and the context of each such unit.
    part, context_of_part : ndarray of int
        Gap among `parts` of each of these, and the context of each such gap.
    computed : bool
        Whether beliefs are without noise.
    """

    plain: Codes
    piece: Codes
    gap_of_piece: Codes
    context: Codes
    parts: Parts | None
    used: Codes
    unit: Codes
    context_of_unit: Codes
    part: Codes
    context_of_part: Codes
    computed: bool


def layout_of(runs: pd.DataFrame, reference: str) -> Layout | None:
    """Find the gaps of a table.

    Parameters
    ----------
    runs : DataFrame
        As for `coherence.checks.iterated.iterated_expectation_test`.
    reference : str
        The prompt.

    Returns
    -------
    Layout or None
        None where a question was asked twice in one repetition, so that a gap is no single row's.
    """
    # Rows travel through the joins in place of values, as those with all values would.
    row = pd.Series(np.arange(len(runs), dtype=np.float64), index=runs.index)
    known = {name: row.where(runs[name].notna()) for name in ("p", "p_z")}
    table, _ = under_prompt(runs.assign(p=known["p"], p_z=known["p_z"] + 1), reference)
    states = runs[runs["z_state"].notna()].groupby("z", observed=True)["z_state"].nunique()
    of_gap = [*KEY, "z"]
    asked = table.dropna(subset=["p"]).assign(z_state=lambda some: some["z_state"].astype(object))
    if asked.duplicated([*of_gap, "z_state"]).any():
        return None
    gaps = gaps_of(table, states, computed=without_noise(table))
    rows = gaps.rows.sort_values(of_gap).reset_index(drop=True)
    number = rows[of_gap].assign(number=np.arange(len(rows)))
    pieces = gaps.pieces.merge(number, on=of_gap)
    squares = squares_of(gaps, repeated=not gaps.computed)
    least = 1 if gaps.computed else 2
    sizes = rows.groupby(["context", "z"], observed=True)["p"].transform("size")
    used = rows[sizes >= least]
    number_of_unit = used.groupby(["context", "z"], observed=True).ngroup()
    unit = np.asarray(number_of_unit, dtype=np.int64)
    first = used.iloc[np.unique(unit, return_index=True)[1]]
    return Layout(
        plain=rows["p"].to_numpy(dtype=np.int64),
        piece=pieces["p"].to_numpy(dtype=np.int64),
        gap_of_piece=pieces["number"].to_numpy(dtype=np.int64),
        context=pd.factorize(rows["context"])[0],
        parts=None if squares is None else squares.parts,
        used=used.index.to_numpy(dtype=np.int64),
        unit=unit,
        context_of_unit=pd.factorize(first["context"])[0],
        part=np.arange(len(used), dtype=np.int64) if gaps.computed else unit,
        context_of_part=np.empty(0, np.int64) if squares is None else squares.context,
        computed=gaps.computed,
    )


def effects_of(belief: Floats, share: Floats, layout: Layout) -> dict[str, float]:
    """Return the statistics of the check, by name of the result.

    Parameters
    ----------
    belief, share : ndarray, shape (n_rows,)
        Columns ``p`` and ``p_z`` of the table.
    layout : Layout
        Which of them form gaps.

    Returns
    -------
    dict
        Mean signed gap, median relative gap and gap beyond noise and rounding.
    """
    n_gaps = layout.plain.size
    weight = share[layout.piece]
    total = np.bincount(layout.gap_of_piece, weights=weight, minlength=n_gaps).astype(np.float64)
    product = weight * belief[layout.piece]
    weighted = np.bincount(layout.gap_of_piece, weights=product, minlength=n_gaps)
    plain = belief[layout.plain]
    with np.errstate(invalid="ignore", divide="ignore"):
        gap = plain - weighted / total
        relative = np.abs(gap) / np.where(plain > 0, plain, np.nan)
    if layout.context.max(initial=-1) + 1 < MIN_CONTEXTS or not np.isfinite(gap).all():
        return {NAME: math.nan}
    known = ~np.isnan(relative)
    enough = np.unique(layout.context[known]).size >= MIN_CONTEXTS
    return {
        NAME: float(_means(gap, layout.context).mean()),
        f"{NAME}:relative": float(np.median(relative[known])) if enough else math.nan,
        f"{NAME}:noise_removed": _beyond(belief, share, gap, total, layout),
    }


def _beyond(belief: Floats, share: Floats, gap: Floats, total: Floats, layout: Layout) -> float:
    """Return the root-mean-square gap without noise and rounding."""
    if layout.parts is None:
        return math.nan
    n = np.bincount(layout.unit)
    gaps = gap[layout.used]
    sums = np.bincount(layout.unit, weights=gaps)
    squares = np.bincount(layout.unit, weights=gaps**2)
    # Products of different repetitions are free of the noise that one repetition carries.
    square = squares / n if layout.computed else (sums**2 - squares) / (n * (n - 1))

    expected = _means(square, layout.context_of_unit)
    parts = _filled(layout.parts, belief, share)
    misses = np.zeros(layout.context_of_part.size)
    np.maximum.at(misses, layout.part, np.abs(total[layout.used] - 1))
    two = np.bincount(parts.gap_of_piece) == 2
    parts = replace(parts, sums_to_one=two & (misses < 1e-9))
    grids = parts.grids()
    if not rounded(grids):
        return math.sqrt(max(float(expected.mean()), 0.0))
    of_gap = expected_squares(parts, grids, repeated=not layout.computed)
    contexts = layout.context_of_part
    return root_alone(expected, lambda root, shape: _means(of_gap(root, shape), contexts))


def _means(values: Floats, context: Codes) -> Floats:
    return np.asarray(np.bincount(context, weights=values) / np.bincount(context))


def _filled(parts: Parts, belief: Floats, share: Floats) -> Parts:
    """Put the values of a table where its rows stand."""
    return replace(
        parts,
        belief=replace(parts.belief, value=belief[parts.belief.value.astype(np.int64)]),
        given=replace(parts.given, value=belief[parts.given.value.astype(np.int64)]),
        weight=replace(parts.weight, value=share[parts.weight.value.astype(np.int64) - 1]),
    )


def iterated_effects(
    runs: pd.DataFrame, original: Original, rng: object, *, reference: str
) -> dict[str, float] | None:
    """Return the statistics of a twin, or None where its rows cannot be laid out."""
    if NAME not in original.kept:
        original.kept[NAME] = layout_of(runs, reference)
    layout = original.kept[NAME]
    if layout is None:
        return None
    belief, share = (runs[name].to_numpy(dtype=np.float64) for name in ("p", "p_z"))
    return effects_of(belief, share, layout)
