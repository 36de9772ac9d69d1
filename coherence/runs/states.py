"""Which of two labels of the state a belief is in, and which labels are alike.

A column `p` of probabilities does not say itself what it is the probability of. Where the two
labels are 0 and 1, no and yes, or false and true, everybody means the second; of any other two
labels the user has to name one, because the wrong one turns every score and every sign around.
"""

import re
import shlex
import unicodedata
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coherence.errors import InputError, closest
from coherence.runs.columns import STATE_PREFIX

KNOWN_PAIRS = (("no", "yes"), ("false", "true"), ("0", "1"))
"""Two labels of which the second is the one that a belief is in; case does not matter."""
NO, YES = map(frozenset, zip(*KNOWN_PAIRS, strict=True))
STATE_NAMES = ("truth = 0", "truth = 1")
"""What figures call states of which nothing else is known."""
_WHOLE = re.compile(r"(-?[0-9]+)\.0+")


def label_text(label: Any) -> str:
    """Write a label as its author did: with one empty cell, a column of 1 holds 1.0."""
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def names_of_state(label: Any) -> tuple[str, ...]:
    """Return what columns of beliefs in a state are called: p_<state>, or as the state is."""
    texts = dict.fromkeys([str(label), label_text(label)])
    return tuple(f"{prefix}{text}" for prefix in (STATE_PREFIX, "") for text in texts)


def named_states(labels: Sequence[Any], column: str = "theta") -> tuple[str, ...]:
    """Return what figures call two states: by their labels, no and yes with the column's name."""
    texts = tuple(map(label_text, labels))
    name = "truth" if column == "theta" else column
    return tuple(f"{name} = {text}" for text in texts) if known_pair(texts) else texts


def folded(label: Any) -> str:
    """Return what labels have in common that differ by blanks, case, Unicode form or type."""
    text = str(label)
    # Unicode's forms cost ten times as much, and tables hold labels by the hundred thousand.
    ascii_alone = text.isascii()
    text = " ".join(text.lower().split()) if ascii_alone else tidy(tidy(text).casefold())
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def tidy(text: str) -> str:
    """Return a text with single blanks inside and none around, in one Unicode form."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def known_pair(labels: Collection[Any]) -> tuple[str, str] | None:
    """Return the entry of `KNOWN_PAIRS` that some labels are out of; None if there is none."""
    seen = {folded(label) for label in labels}
    return next((pair for pair in KNOWN_PAIRS if seen and seen <= set(pair)), None)


def compared_labels(
    answers: Collection[Any], truths: Collection[Any]
) -> tuple[dict[Any, str], dict[Any, str]]:
    """Return what each label of answers, and of truths, counts as where both are compared.

    Blanks, case, type and marks around a label do not count; of two pairs that are known, such as
    yes or no and 1 or 0, neither does which of them is used.
    """
    columns = [{label: folded(label) for label in each} for each in (answers, truths)]
    bare = [{text: text.strip(_MARKS) or text for text in column.values()} for column in columns]
    if all(len(set(each.values())) == len(each) for each in bare):  # no two become one
        columns = [
            {label: each[text] for label, text in column.items()}
            for column, each in zip(columns, bare, strict=True)
        ]
    pairs = [known_pair(column.values()) for column in columns]
    if None not in pairs and pairs[0] != pairs[1]:
        columns = [
            {label: str(pair.index(text)) for label, text in column.items()}
            for column, pair in zip(columns, pairs, strict=True)
            if pair is not None
        ]
    return columns[0], columns[1]


_MARKS = " .:()[]\"'*"
_MOST_STATES = 10
_INSIDE = 3  # numbers strictly between 0 and 1 that are posteriors: 0, 0.5 and 1 may be outcomes


def _as_numbers(labels: Sequence[Any]) -> NDArray[np.float64] | None:
    """Return labels as numbers, also those in text; None where one of them is not."""
    try:
        numbers = np.array([float(label) for label in labels])
    except (TypeError, ValueError):
        return None
    return numbers if np.isfinite(numbers).all() else None


def not_labels(labels: Sequence[Any], n_cases: int, *, numbers_alone: bool = False) -> str:
    """Return why different values of a column are not labels of states or actions; else ""."""
    numbers = _as_numbers(labels)
    if numbers is not None and (numbers % 1).any():
        inside = int(((numbers > 0) & (numbers < 1)).sum())
        if len(labels) > _MOST_STATES or inside >= _INSIDE:
            return f"{len(labels)} different numbers, not all whole, among {n_cases}"
    if not numbers_alone and len(labels) > max(_MOST_STATES, n_cases / 2):
        return f"{len(labels)} different labels among {n_cases}"
    return ""


def labels_error(
    name: str,
    labels: Sequence[Any],
    n_cases: int,
    *,
    order: str = "",
    numbers_alone: bool = False,
    column: str = "",
) -> str:
    """Return the error of `not_labels`, with a remedy; empty where there is none.

    Arrays are given in an `order`, a table's labels in a `column`.
    """
    reason = not_labels(labels, n_cases, numbers_alone=numbers_alone)
    if not reason:
        return ""
    what = "these are measurements, ids or free answers, not labels."
    if name == "truth":
        exact = typed_option("--exact", column) if column else "exact= (--exact)"
        what += (
            " Give 0 or 1 for whether the state came true that the belief is in; if it is the "
            f"posterior that follows from the evidence: {exact}; where the belief is the "
            "confidence in an answer: --prediction and --gold."
        )
    ordered = f" The order is {order}." if order else ""
    return f"{repr(column) if column else name} holds {reason}: {what}{ordered}"


def in_order(labels: Sequence[Any]) -> list[Any] | None:
    """Return labels in the order that they have by themselves; None where they have none.

    Numbers, also as text, go by value; two labels out of `KNOWN_PAIRS` as they stand there.
    """
    if (pair := known_pair(labels)) is not None:
        return sorted(labels, key=lambda label: pair.index(folded(label)))
    numbers = _as_numbers(labels)
    return None if numbers is None else [labels[at] for at in np.argsort(numbers, kind="stable")]


def meant_by(wanted: Any, labels: Sequence[Any]) -> list[Any]:
    """Return the labels that a user's word may mean; see `named_state`."""
    exact = [label for label in labels if label == wanted or str(label) == str(wanted)]
    return exact or [label for label in labels if folded(label) == folded(wanted)]


def named_state(labels: Sequence[Any], wanted: Any, *, name: str = "truth") -> Any:
    """Return the one of `labels` that a user's word means."""
    alike = meant_by(wanted, labels)
    if len(alike) == 1:
        return alike[0]
    hint = closest(wanted, labels)
    if alike:
        hint = f"It may be {' or '.join(map(repr, alike))}; write it as it stands there."
    raise InputError(f"positive must be a label of {name}; received {wanted!r}. {hint}")


def zero_or_one(
    labels: Sequence[Any], positive: Any = None, *, name: str = "truth"
) -> tuple[int, ...] | None:
    """Say of each label of the state whether a belief in one state is in it."""
    if positive is not None:
        # A single state that came true need not be the one that the belief is in.
        if len(labels) == 1 and folded(labels[0]) != folded(positive):
            return (0,)
        meant = named_state(labels, positive, name=name)
        return tuple(int(label is meant) for label in labels)
    pair = known_pair(labels)
    return None if pair is None else tuple(pair.index(folded(label)) for label in labels)


def beside_a_pair(labels: Sequence[Any]) -> list[Any]:
    """Return labels that stand beside two known ones and are none: yes, no and "annulled".

    Numbers do not stand beside 0 and 1: they are further states.
    """
    seen = {folded(label) for label in labels}
    pair = next((set(pair) for pair in KNOWN_PAIRS if set(pair) <= seen), None)
    others = [label for label in labels if pair is not None and folded(label) not in pair]
    return others if all(isinstance(label, str) for label in others) else []


def unknown_pair(labels: Sequence[Any], name: str) -> str:
    """Say that of two labels nothing tells which one the belief is in, and what to do."""
    first, second = labels
    typed = " or ".join(typed_option("--positive", label) for label in labels)
    return (
        f"{name} is {first!r} or {second!r}, and nothing says which of the two the belief is in. "
        f"Name it: positive={first!r} or positive={second!r} ({typed})."
    )


def typed_option(option: str, value: Any) -> str:
    """Write an option as a user can type it; empty where the value holds what no key makes."""
    text = str(value)
    if not text.isprintable():
        return ""
    # Without the equals sign, a value with a dash in front would be read as an option.
    return f"{option}{'=' if text.startswith('-') else ' '}{shlex.quote(text)}"
