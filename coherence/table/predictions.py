"""Whether a prediction is right, as the state that a confidence in it is about.

A table of answers, right answers and confidences has no state of its own: each prediction is right
or not, and the confidence is the belief that it is. Labels are compared as everywhere that labels
are told apart (`coherence.table.states.compared_labels`).
"""

import json
from typing import Any

import pandas as pd

from coherence.errors import InputError, listing
from coherence.printable import counted
from coherence.table.notes import Code, Note, warning
from coherence.table.row_condition import quoted_column
from coherence.table.states import compared_labels, typed_option

STOOD_ASIDE = {"theta": "unmapped_theta"}
"""What a column of the file is called whose name is that of the state that is made."""
_MOST_LABELS = 10  # of a closed list of right labels
_MOST_NAMED = 4  # labels that a condition lists as those to leave out
_TIMES_EACH = 5  # how often each of them must stand there on average
_BY_CHANCE = 0.001  # probability below which labels are not of one action by chance


def _never_right(
    labels: "list[pd.Series[Any]]",
    forms: "list[pd.Series[Any]]",
    known: "pd.Series[bool]",
    prediction: str,
    gold: str,
    actions: "pd.Series[Any] | None",
) -> Note | None:
    """Say which predictions no right label can match, such as "I don't know" among A to D.

    Only where the right labels are a short list that returns: free answers are often wrong in words
    that no right answer has. Raises `InputError` where they are all of one of several `actions`, as
    of who abstains: counted as wrong, they would make the state follow from the choice.
    """
    possible = forms[1][known]
    n_possible = possible.nunique()
    if not 1 < n_possible <= _MOST_LABELS or len(possible) < _TIMES_EACH * n_possible:
        return None
    odd = known & ~forms[0].isin(set(possible))
    if not odd.any():
        return None
    counts = labels[0][odd].value_counts()
    held = listing((f"{label!r} ({counted(n, 'row')})" for label, n in counts.items()), 4)
    operator, these = "not in", list(counts.index)
    if len(these) > _MOST_NAMED:
        operator, these = "in", sorted(labels[0][known & ~odd].unique(), key=str)
    if len(these) == 1:
        condition = f"{quoted_column(prediction)} != {_literal(these[0])}"
    else:
        condition = f"{quoted_column(prediction)} {operator} ({', '.join(map(_literal, these))})"
    if actions is not None and _are_one_action(actions[known], odd[known]):
        raise InputError(
            f"predictions that {gold!r} never holds would count as wrong, and those of "
            f"{prediction!r} ({held}) all have {str(actions[odd].iloc[0])!r} in {actions.name!r}: "
            "the truth would follow from the choice, and every agent would seem to act on more "
            f"than it says. Leave these rows out: {typed_option('--where', condition)}. To test "
            "whoever abstains, ask for an answer in every case."
        )
    return warning(
        Code.NEVER_RIGHT,
        f"{counted(int(odd.sum()), 'prediction')} of {int(known.sum())} can never be right, for "
        f"{gold!r} has no such label, and count as wrong: {held}. Where such a label is no answer, "
        f"leave these rows out: {typed_option('--where', condition)}.",
    )


def _are_one_action(actions: "pd.Series[Any]", odd: "pd.Series[bool]") -> bool:
    """Tell whether the `odd` rows are of one of several actions, and not by chance."""
    if actions.nunique() < 2 or actions[odd].nunique(dropna=False) != 1:
        return False
    return bool((actions == actions[odd].iloc[0]).mean() ** int(odd.sum()) < _BY_CHANCE)


def _literal(label: Any) -> str:
    return json.dumps(label, ensure_ascii=False) if isinstance(label, str) else str(label)


def with_right_or_wrong(
    table: pd.DataFrame,
    prediction: str,
    gold: str,
    *,
    used: frozenset[str] = frozenset(),
    action: str = "action",
) -> tuple[pd.DataFrame, list[Note]]:
    """Put in theta whether each prediction is right; return the table and notes that count them.

    Both columns go, but for those that are `used` for something else; rows that lack one have no
    state.
    """
    labels = [table[name].astype(object) for name in (prediction, gold)]
    known = labels[0].notna() & labels[1].notna()
    texts = compared_labels(*({*column[known]} for column in labels))
    forms = [column.map(of, na_action="ignore") for column, of in zip(labels, texts, strict=True)]
    labels_of = [set(column[known]) for column in forms]
    # Few labels, and none in common: one column has the codes of what the other names.
    if known.any() and not labels_of[0] & labels_of[1] and 2 * len(labels_of[1]) <= known.sum():
        first, second = (listing(map(repr, dict.fromkeys(column[known])), 3) for column in labels)
        raise InputError(
            f"prediction and gold must name labels alike; {prediction!r} holds {first}, {gold!r} "
            f"holds {second}, and no prediction is right. Write both in one way."
        )
    right = (forms[0] == forms[1]).astype(object).where(known, None)
    actions = table[action] if action in table and action != prediction else None
    never_right = _never_right(labels, forms, known, prediction, gold, actions)
    table = table.drop(columns=[name for name in (prediction, gold) if name not in used])
    table = table.rename(columns=STOOD_ASIDE)
    n, n_right = int(known.sum()), int(right.sum())
    counts = (
        f"theta is whether {prediction!r} is {gold!r}, but for blanks, case, Unicode form, "
        f"type and marks around it: {n_right} of {counted(n, 'prediction')} right."
    )
    theta = right.map(int, na_action="ignore").astype("Int64")
    return table.assign(theta=theta, theta_name=f"{prediction} is right"), [
        *([] if never_right is None else [never_right]),
        Note(Code.PREDICTIONS, counts),
    ]
