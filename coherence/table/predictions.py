"""Whether a prediction is right, as the state that a confidence in it is about.

A table of answers, right answers and confidences has no state of its own: each prediction is right
or not, and the confidence is the belief that it is. Labels are compared as everywhere that labels
are told apart (`coherence.table.labels.form_of`).
"""

from typing import Any

import pandas as pd

from coherence.errors import InputError, closest, listing
from coherence.table.labels import form_of
from coherence.table.printable import counted


def require_both(prediction: Any, gold: Any) -> None:
    """Raise `InputError` unless prediction and gold name two columns, or neither is given."""
    if prediction is None and gold is None:
        return
    for name, value in (("prediction", prediction), ("gold", gold)):
        if not isinstance(value, str):
            raise InputError(
                "prediction and gold must both name a column, or neither; received "
                f"{name}={value!r}. Give --prediction COLUMN --gold COLUMN (prediction=, gold=)."
            )
    if prediction == gold:
        raise InputError(
            f"prediction and gold must be two columns; received {gold!r} for both. Name the "
            "column of the predicted labels and that of the right ones."
        )


def missing_columns(table: pd.DataFrame, prediction: str | None, gold: str | None) -> list[str]:
    """Say which of the two columns a table lacks."""
    wanted = {} if prediction is None else {"prediction": prediction, "gold": gold}
    return [
        f"there is no column {column!r} to use as {name}. {closest(column, table.columns)}"
        for name, column in wanted.items()
        if column not in table.columns
    ]


def with_right_or_wrong(
    table: pd.DataFrame, prediction: str, gold: str, *, used: frozenset[str] = frozenset()
) -> tuple[pd.DataFrame, str]:
    """Put in theta whether each prediction is right; return the table and a note that counts them.

    Both columns go, but for those that are `used` for something else; rows that lack one have no
    state.
    """
    labels = [table[name].astype(object) for name in (prediction, gold)]
    known = labels[0].notna() & labels[1].notna()
    forms = [column.map(form_of, na_action="ignore") for column in labels]
    labels_of = [set(column[known]) for column in forms]
    # Few labels, and none in common: one column has the codes of what the other names.
    if known.any() and not labels_of[0] & labels_of[1] and 2 * len(labels_of[1]) <= known.sum():
        first, second = (listing(map(repr, dict.fromkeys(column[known])), 3) for column in labels)
        raise InputError(
            f"prediction and gold must name labels alike; {prediction!r} holds {first}, {gold!r} "
            f"holds {second}, and no prediction is right. Write both in one way."
        )
    right = (forms[0] == forms[1]).astype(object).where(known, None)
    table = table.drop(columns=[name for name in (prediction, gold) if name not in used])
    if "theta" in table.columns:
        table = table.rename(columns={"theta": "unmapped_theta"})
    n, n_right = int(known.sum()), int(right.sum())
    note = (
        f"theta is whether {prediction!r} is {gold!r}, but for blanks, case, Unicode form and "
        f"type: {n_right} of {counted(n, 'prediction')} right."
    )
    theta = right.map(int, na_action="ignore").astype("Int64")
    return table.assign(theta=theta, theta_name=f"{prediction} is right"), note
