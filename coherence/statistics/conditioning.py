"""What actions and truths are conditioned on: beliefs over states, and features of the evidence.

Numeric features are divided by four standard deviations, so that the central 95% of a normal
feature spans 1, as beliefs do and as two different labels do; ranks would swamp the 0/1 distance of
the discrete variables. All other features are labels.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from coherence.inputs import Codes, Floats, as_codes, require
from coherence.statistics.knn import SPREAD
from coherence.statistics.resample import context_means


@dataclass(frozen=True)
class Conditioning:
    """Conditioning columns of one unit."""

    continuous: Floats  # shape (n, n_columns): beliefs, then scaled numeric features
    # shape (n,): code of the combination of discrete features; zeros if there are none
    stratum: Codes
    # shape (n_contexts, n_summaries): context means of the continuous columns and of one indicator
    # per label, by which contexts are compared
    summary: Floats
    # numeric, discrete: names of the features
    numeric: tuple[str, ...] = ()
    discrete: tuple[str, ...] = ()


def _frame(features: ArrayLike | pd.DataFrame, n_rows: int) -> pd.DataFrame:
    if isinstance(features, pd.DataFrame | pd.Series):
        frame = pd.DataFrame(features).reset_index(drop=True)
    else:
        values = np.asarray(features)
        require(
            values.ndim in (1, 2),
            f"condition_on must have shape (n,) or (n, n_features); received shape {values.shape}.",
        )
        require(
            len(values) > 0,
            f"condition_on must have a value for every row; received shape {values.shape}. Leave "
            "it out to condition on nothing but the belief.",
        )
        # An array of mixed types is one of objects: numbers among them become numbers again.
        values = values.reshape(len(values), -1)
        frame = pd.DataFrame(
            values, columns=[f"feature {position + 1}" for position in range(values.shape[1])]
        ).infer_objects()
    require(
        len(frame) == n_rows,
        f"condition_on must have one row per row of belief; received {len(frame)} rows "
        f"for {n_rows}.",
    )
    require(
        frame.shape[1] > 0,
        "condition_on must hold at least one feature; received none. Leave it out to condition on "
        "the belief alone.",
    )
    return frame


def _scaled(column: "pd.Series[float]", name: str) -> Floats:
    values = column.to_numpy(dtype=np.float64)
    wrong = ~np.isfinite(values)
    require(
        not wrong.any(),
        f"condition_on must hold finite numbers; {int(wrong.sum())} of {values.size} values of "
        f"{name!r} are not, the first at position {int(np.argmax(wrong))}. "
        "Fill or drop them first.",
    )
    spread = float(values.std())
    # A constant feature distinguishes nothing; deviations of its last bits must not be blown up.
    return (
        (values - values.mean()) / (SPREAD * spread)
        if spread > 1e-12 * max(1.0, float(np.abs(values).max()))
        else np.zeros(values.size)
    )


def gather_conditioning(
    belief: Floats, features: ArrayLike | pd.DataFrame | None, context: Codes, n_contexts: int
) -> Conditioning:
    """Gather what is conditioned on."""
    n_rows = len(belief)
    columns = list(belief.reshape(n_rows, -1).T)
    indicators: list[Floats] = []
    stratum = np.zeros(n_rows, dtype=np.int64)
    numeric, discrete = [], []
    frame = pd.DataFrame(index=range(n_rows)) if features is None else _frame(features, n_rows)
    for position, label in enumerate(frame.columns):
        column, name = frame.iloc[:, position], str(label)
        # pandas counts truth values as numeric; here they are two labels.
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            numeric.append(name)
            columns.append(_scaled(column, name))
        else:
            discrete.append(name)
            codes, labels = as_codes(column, f"feature {name!r} of condition_on", n_rows)
            # The context mean of an indicator is the share of its label: distances compare those.
            indicators += [(codes == code).astype(np.float64) for code in range(len(labels))]
            # Renumbered each time: a plain product of many features would leave 64 bits.
            stratum = np.unique(stratum * len(labels) + codes, return_inverse=True)[1]
    summary = np.stack(
        [context_means(column, context, n_contexts) for column in [*columns, *indicators]], axis=1
    )
    return Conditioning(
        np.stack(columns, axis=1), stratum, summary, tuple(numeric), tuple(discrete)
    )
