"""What models of the action may see, and how they are judged: by log-loss on other contexts."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from coherence.inputs import Floats, require, with_missing
from coherence.statistics.evaluation import EvaluationData

_LARGEST = float(np.finfo(np.float32).max)  # trees take features in single precision

Words = NDArray[np.object_]


def expected_losses(predicted: Floats, policy: Floats, n_train: int) -> Floats:
    """Expected log-loss of each row in nats, shape (n,), of an action drawn from its policy.

    Predictions are mixed with the uniform distribution at weight n_actions / (n_train + n_actions),
    so that an action that training never saw costs a finite loss, the same for both models. A
    chosen action is a policy of probability 1, and a probability of 0 costs nothing.
    """
    # As one more training row of each action would do to its share.
    mixed = (n_train * predicted + 1.0) / (n_train + predicted.shape[1])
    return np.asarray(-(policy * np.log(mixed)).sum(axis=1))


def as_features(features: Any, n_rows: int) -> tuple[Floats, Words]:
    """Split features, whatever a user has of them, into numbers and categories."""
    if isinstance(features, pd.Series | pd.DataFrame):
        frame = pd.DataFrame(features).reset_index(drop=True)
    else:
        # A list of mixed types is one of objects: numbers among them become numbers again.
        given = with_missing(features)
        cells = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
        require(
            cells.ndim in (1, 2),
            f"features must have one row per belief; received an array of shape {cells.shape}.",
        )
        frame = pd.DataFrame(cells if len(cells) else None).infer_objects()
    require(
        frame.shape[1] > 0,
        "features must have at least one column; received none. Leave it out instead.",
    )
    require(
        len(frame) == n_rows,
        f"features must have one row per belief; received {len(frame)} rows for {n_rows}.",
    )
    numbers, words = [], []
    names = [str(name) for name in frame.columns]
    # By name, ties broken by position: the order of columns is no evidence.
    for position in sorted(range(len(names)), key=names.__getitem__):
        name, column = names[position], frame.iloc[:, position]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
            beyond = np.abs(values) > _LARGEST
            first = int(np.argmax(beyond))
            require(
                not beyond.any(),
                f"features must be finite or missing, and at most {_LARGEST:.2g} in size; "
                f"{int(beyond.sum())} of {n_rows} values of column {name!r} are not, the first is "
                f"{values[first]:g} at position {first}. Mark them as missing, or cap them.",
            )
            numbers.append(values)
        else:
            # A missing category is evidence that was not shown: a category of its own.
            shown = column.astype(object).where(column.notna(), "(not shown)")
            # Half of a surrogate pair, which JSON allows, is no text for CatBoost.
            whole = [str(word).encode("utf-8", "backslashreplace").decode() for word in shown]
            words.append(np.array(whole, dtype=object))
    stacked = np.column_stack(words) if words else np.empty((n_rows, 0), dtype=object)
    return np.column_stack(numbers) if numbers else np.empty((n_rows, 0)), stacked


def designs(
    data: EvaluationData, features: tuple[Floats, Words] | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what the model without truth sees, and what the model with truth sees.

    Stated beliefs, numeric features, and indicators of each state but the first, in the single
    precision that CatBoost takes; then categories.
    """
    words = np.empty((data.n_rows, 0), dtype=object)
    known = [data.belief.reshape(data.n_rows, -1)]
    if features is not None:
        known, words = [*known, features[0]], features[1]
    # The first state is where all indicators are 0.
    states = (data.truth[:, None] == np.arange(1, len(data.states))).astype(np.float64)
    without, with_truth = (
        pd.concat(
            [pd.DataFrame(np.hstack(numbers), dtype=np.float32), pd.DataFrame(words, dtype=object)],
            axis=1,
            ignore_index=True,
        )
        for numbers in (known, [*known, states])
    )
    return without, with_truth
