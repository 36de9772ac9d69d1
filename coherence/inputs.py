"""Array validators shared by the checks.

They turn what a user passes into codes and floats, or raise an `InputError` that states parameter,
rule, received value, position and remedy.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from coherence.decoding.ranges import ROUNDING, STATED_SUM, are_percentages
from coherence.errors import InputError, shown

logger = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_MOST = 10**7


def require(condition: bool, message: str) -> None:
    """Raise `InputError` with `message` unless `condition` holds."""
    if not condition:
        raise InputError(message)


def whole_number(value: Any, name: str, minimum: int) -> int:
    """Validate an integer option."""
    # True is an int to Python, and never meant as the number 1 here.
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(
        is_whole and value >= minimum,
        f"{name} must be a whole number of at least {minimum}; received {value!r}.",
    )
    require(
        value <= _MOST,
        f"{name} must be at most {_MOST:,}, for which memory and time would not do; "
        f"received {value}.",
    )
    return int(value)


def check_level(level: Any) -> None:
    """Raise `InputError` unless a nominal coverage lies between 0 and 1."""
    is_number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    require(
        is_number and 0 < level < 1,
        f"level must be a number between 0 and 1, such as 0.95; received {_brief(level)}.",
    )


MOST_JOBS = 4096
"""More processes than any machine has, and fewer than would bring one down."""


def number_of_jobs(value: Any) -> int:
    """Validate a number of processes for joblib: -1 for all cores, or 1 to `MOST_JOBS`."""
    if value == -1 and not isinstance(value, bool):
        return -1
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    require(
        whole and 1 <= value <= MOST_JOBS,
        f"n_jobs must be -1 (all cores) or a number from 1 to {MOST_JOBS}; received {value!r}.",
    )
    return int(value)


def as_doubles(values: NDArray[Any]) -> Floats:
    """Return numbers in double precision; of shorter floats those that their digits say.

    The 0.1 of 32 bits lies 1.5e-9 beside that of 64, which beliefs that tie at 1e-9 would notice.
    """
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        values = values.astype(str)
    return values.astype(np.float64)


def with_missing(values: Any) -> Any:
    """Return masked values as missing ones, which numpy else takes for what lies under the mask."""
    if isinstance(values, np.ma.MaskedArray):
        cells = np.ma.getdata(values)
        if np.ma.is_masked(values):
            cells = cells.astype(values.dtype if values.dtype.kind == "f" else object)
            cells[np.ma.getmaskarray(values)] = np.nan
        return cells
    if isinstance(values, list | tuple) and any(cell is np.ma.masked for cell in values):
        return [np.nan if cell is np.ma.masked else cell for cell in values]
    return values


def as_numbers(values: Any, name: str) -> Floats:
    """Turn what should be numbers into an array of floats, of any shape; what is missing is NaN."""
    try:
        array = np.asarray(with_missing(values))
        # Of a complex number the cast would keep a half, and only warn.
        if np.iscomplexobj(array):
            raise TypeError("complex numbers")
        if array.dtype == object:  # pandas' own mark of a missing number is none to numpy
            single = [isinstance(cell, np.floating) and cell.itemsize < 8 for cell in array.flat]
            short = np.reshape(single, array.shape)
            array = np.where(pd.isna(array), np.nan, array)
            array[short] = array[short].astype(str)
        return as_doubles(array)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must hold numbers; received {_brief(values)}.") from error


def require_yes_no(values: Floats, name: str) -> None:
    """Raise `InputError` unless every value is 0 or 1."""
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise InputError(
            f"{name} must hold 0 or 1, or false and true; {int(wrong.sum())} of {values.size} "
            f"values do not, the first is {values.ravel()[at]:g} at position {at}. Drop missing "
            "answers first and report how many there were."
        )


def _brief(value: Any) -> str:
    text = shown(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def require_aligned(**values: Any) -> None:
    """Raise `InputError` if pandas objects of one length do not have the same index."""
    indexed = {
        name: each.index
        for name, each in values.items()
        if isinstance(each, pd.Series | pd.DataFrame)
    }
    for name, index in indexed.items():
        first, expected = next(iter(indexed.items()))
        if 0 < len(index) == len(expected) and not index.equals(expected):
            position = int(np.argmax(np.asarray(index != expected)))
            raise InputError(
                f"{first} and {name} must have the same index; at position {position} they have "
                f"{expected[position]!r} and {index[position]!r}. Align them "
                f"({name}.loc[{first}.index]), or pass values alone ({name}.to_numpy()) if their "
                "order is right."
            )


def require_one_per_row(belief: Any, context: Any = None, **values: Any) -> None:
    """Refuse columns that are shorter or longer than the beliefs, or stand in another order."""
    require_aligned(belief=belief, context=context, **values)
    for name, column in values.items():
        n = len(belief) if column is None else len(column)
        require(
            n == len(belief),
            f"{name} must have one value per row of belief; received {n} values for {len(belief)} "
            "rows.",
        )


def require_probabilities(values: Floats, name: str, *, strict: bool = False) -> None:
    """Refuse numbers outside of [0, 1], or (0, 1); NaN is left to others."""
    wrong = (values <= 0) | (values >= 1) if strict else (values < 0) | (values > 1)
    if wrong.any():
        known, at = values[~np.isnan(values)], int(wrong.argmax())
        raise InputError(
            f"{name} must hold numbers in {'(0, 1)' if strict else '[0, 1]'}; {wrong.sum()} of "
            f"{len(known)} do not, the first is {values[at]:g} at position {at}."
            + " Divide percentages by 100."
            * are_percentages(known)
        )


def probabilities_of(column: "pd.Series[Any]", name: str) -> Floats:
    """Return the numbers of a column, in [0, 1]; NaN where it has none."""
    numbers = as_numbers(column.astype(object).where(column.notna()), name)
    require_probabilities(numbers, name)
    return numbers


def _holds_booleans(values: Any) -> bool:
    # Among numbers of a list numpy would make True a 1 before it could be seen.
    array = np.asarray(values, dtype=object if isinstance(values, list | tuple) else None)
    if array.dtype == object:
        return any(isinstance(value, bool | np.bool_) for value in array.ravel())
    return array.dtype == bool


def as_belief(values: ArrayLike, name: str = "belief") -> Floats:
    """Validate beliefs in [0, 1], shape (n,), or rows over several states, shape (n, n_states).

    Rows may miss a sum of 1 by `STATED_SUM`, and come back as `to_nine_decimals` gives them.
    """
    return to_nine_decimals(as_probabilities(values, name, within=STATED_SUM))


def to_nine_decimals(probabilities: Floats) -> Floats:
    """Round probabilities, shape (n,) or (n, n_states), so that 0.3 and 1 - 0.7 are one.

    What would become 0 or 1 by that stays as it is, for the log score of a certainty that fails is
    infinite. Rows over states sum to 1 as before: else their columns would be independent.
    """
    rounded = np.round(probabilities, 9)
    rounded = np.where((rounded == 0) | (rounded == 1), probabilities, rounded)
    return rounded if rounded.ndim == 1 else rounded / rounded.sum(axis=1, keepdims=True)


def as_probabilities(values: ArrayLike, name: str, *, within: float = ROUNDING) -> Floats:
    """Validate probabilities, shape (n,) or (n, n_columns) in rows that sum to 1 `within` a bit."""
    values = with_missing(values)
    require(
        not _holds_booleans(values),
        f"{name} must hold probabilities in [0, 1]; received true and false. Pass stated numbers, "
        "or 0.0 and 1.0 if they were stated as such.",
    )
    try:
        belief = as_numbers(values, name).copy()
    except InputError:
        raise InputError(
            f"{name} must hold numbers in [0, 1]; received values that are no numbers. "
            "Give numbers ('85%' is 0.85); coherence.analyze reads percentages and blanks itself."
        ) from None
    require(
        belief.ndim in (1, 2) and belief.size > 0,
        f"{name} must have shape (n,) or (n, n_states) with n > 0; received shape {belief.shape}.",
    )
    require(
        belief.ndim == 1 or belief.shape[1] > 1,
        f"{name} must have one column for each of two or more states; received one column. Pass it "
        "as one dimension if it is the belief in one state.",
    )
    flat = belief.ravel()
    # Negated, so that NaN is wrong too: every comparison with it is false.
    wrong = ~((flat >= -ROUNDING) & (flat <= 1 + ROUNDING))
    if wrong.any():
        position = int(np.flatnonzero(wrong)[0])
        first = flat[position]
        if np.isnan(first):
            remedy = "Drop missing answers first and report how many there were."
        else:
            remedy = (
                "Divide percentages by 100."
                if are_percentages(flat)
                else "Correct these values, or check how they were read."
            )
        row = position // belief.shape[1] if belief.ndim == 2 else position
        raise InputError(
            f"{name} must hold probabilities in [0, 1]; {int(wrong.sum())} of {flat.size} values "
            f"do not, the first is {first:.10g} at position {row}. {remedy}"
        )
    if belief.ndim == 2:
        total = belief.sum(axis=1)
        off = np.abs(total - 1) > within
        require(
            not off.any(),
            f"rows of {name} must sum to 1 (within {within:g}); {int(off.sum())} do not, the first "
            f"sums to {total[np.argmax(off)]:g} at position {int(np.argmax(off))}. Give every "
            f"column its share, or divide each row by its sum: {name} / {name}.sum(axis=1, "
            "keepdims=True).",
        )
    if int(((flat < 0) | (flat > 1)).sum()):
        logger.warning("%s holds rounding errors outside [0, 1], which count as 0 or 1", name)
        return np.clip(belief, 0, 1)
    return belief


def _cells(values: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(values, dtype=object)
    except ValueError:  # parts of unequal shape
        raise InputError(
            f"{name} must hold one label per row; received {_brief(values)}. Pass the labels "
            "alone, as text."
        ) from None


def as_codes(
    values: ArrayLike, name: str, length: int | None = None
) -> tuple[Codes, tuple[Any, ...]]:
    """Turn labels into integer codes."""
    # As objects, because numpy would turn 1 and "a" into two texts.
    values = with_missing(values)
    column = (
        values.reset_index(drop=True)
        if isinstance(values, pd.Series)
        else pd.Series(_cells(values, name).ravel(), dtype=object)
    )
    require(
        length is None or len(column) == length,
        f"{name} must have one value per row of belief; received {len(column)} values "
        f"for {length} rows.",
    )
    missing = column.isna().to_numpy()
    require(
        not missing.any(),
        f"{name} must not be missing; {int(missing.sum())} of {len(column)} values are, the first "
        f"at position {int(np.argmax(missing)) if len(column) else -1}. Drop unreadable answers "
        "first and report how many there were.",
    )
    try:
        uniques = list(dict.fromkeys(column.astype(object)))
    except TypeError:  # lists and the like
        raise InputError(
            f"{name} must hold one label per row; received {_brief(column.tolist())}. Pass the "
            "labels alone, as text."
        ) from None
    try:
        labels = tuple(sorted(uniques))
    except TypeError:  # labels of several types, such as 0 and "no", have no order of their own
        labels = tuple(sorted(uniques, key=lambda label: (type(label).__name__, str(label))))
    # Tuples are ids like any other, and no index of several levels.
    index = pd.Index(labels, dtype=object, tupleize_cols=False)
    codes = pd.Categorical(column.astype(object), categories=index).codes
    return codes.astype(np.int64), labels


@dataclass(frozen=True)
class Actions:
    """What was chosen in each row, or the probability with which each action would be."""

    # shape (n,): position of the chosen action in `labels`; empty where actions are probabilities,
    # of which no single one was chosen
    codes: Codes
    # actions in sorted order, those that have no probability anywhere left out
    labels: tuple[Any, ...]
    # shape (n, n_actions), or None: rows that sum to 1; None where actions were chosen
    probabilities: Floats | None = None

    @property
    def share(self) -> Floats:
        """Probability of each action in each row; 0 or 1 where one was chosen."""
        if self.probabilities is not None:
            return self.probabilities
        return np.asarray(self.codes[:, None] == np.arange(len(self.labels)), dtype=np.float64)


def as_actions(values: Any, length: int) -> Actions:
    """Validate actions: labels, or a probability for every action."""
    values = with_missing(values)
    n_columns = 1 if isinstance(values, pd.Series) else _cells(values, "action").ndim
    if n_columns > 1 and np.shape(values)[1:] != (1,):
        return _as_policies(values, length)
    codes, labels = as_codes(values, "action", length)
    fractions = [label for label in labels if isinstance(label, float) and 0 < label < 1]
    require(
        not fractions,
        f"action must hold names of actions, or a column of probabilities for each action; "
        f"received one column with {', '.join(map(str, fractions[:3]))}. Probabilities of the "
        "second of two actions are np.column_stack([1 - action, action]); numbers that are names "
        "are given as text.",
    )
    return Actions(codes, labels)


def _as_policies(values: Any, length: int) -> Actions:
    """Validate probabilities of actions, shape (n, n_actions)."""
    # Indicators of what was chosen are probabilities of 0 and 1.
    texts = [cell for cell in _cells(values, "action").flat if isinstance(cell, str)]
    require(
        not texts,
        f"action of shape (n, n_actions) must hold a probability for every action; received texts, "
        f"such as {texts[0] if texts else ''!r}. Labels of what was chosen have shape (n,), one a "
        "row.",
    )
    numbers = as_numbers(values, "action") if _holds_booleans(values) else values
    probabilities = as_probabilities(numbers, "action")
    require(
        len(probabilities) == length,
        f"action must have one row per row of belief; received {len(probabilities)} rows "
        f"for {length}.",
    )
    named = isinstance(values, pd.DataFrame)
    names = list(values.columns) if named else list(range(probabilities.shape[1]))
    columns, labels = as_codes(names, "names of the columns of action")
    require(
        len(labels) == len(names),
        f"columns of action must have different names; received {', '.join(map(repr, names))}.",
    )
    # In the order of the labels, so that results do not depend on the order of columns.
    return seen_policies(probabilities[:, np.argsort(columns)], labels)


def seen_policies(probabilities: Floats, labels: tuple[Any, ...]) -> Actions:
    """Leave out actions that have no probability anywhere, as a label that nobody chose would be.

    Probabilities of 0 and 1 throughout are choices.
    """
    chosen = np.flatnonzero(probabilities.any(axis=0))
    if not chosen.size:  # of no rows
        return Actions(np.zeros(0, dtype=np.int64), labels, probabilities)
    probabilities, labels = probabilities[:, chosen], tuple(labels[code] for code in chosen)
    if np.isin(probabilities, (0.0, 1.0)).all():
        return Actions(probabilities.argmax(axis=1).astype(np.int64), labels)
    return Actions(np.zeros(0, dtype=np.int64), labels, probabilities)


# below this a permutation or a bootstrap over contexts has too few distinct outcomes to mean
# anything
MIN_CONTEXTS = 10


def few_contexts(n: int, which: str = "", *, fewest: int = MIN_CONTEXTS) -> str:
    """Say that contexts are too few; empty where they are not."""
    one = n == 1
    named = " ".join(filter(None, [f"{n} context{'' if one else 's'}", which]))
    return "" if n >= fewest else f"{named} {'is' if one else 'are'} fewer than {fewest}"


def of_contexts(
    codes: Codes,
    labels: Sequence[Any],
    context: Codes,
    contexts: Sequence[Any],
    name: str,
    remedy: str,
) -> Codes:
    """Return the label of each context, as a code; refuse labels that differ within one."""
    first = np.zeros(len(contexts), dtype=np.int64)
    # From the last row to the first, so that what stays is each context's first.
    first[context[::-1]] = codes[::-1]
    varies = first[context] != codes
    if varies.any():
        at = int(np.flatnonzero(varies)[0])
        raise InputError(
            f"{name} must be constant within a context; in context {contexts[context[at]]!r} it is "
            f"{labels[first[context[at]]]!r} and, at position {at}, {labels[codes[at]]!r}. {remedy}"
        )
    return first


def as_contexts(context: ArrayLike | None, n_rows: int) -> tuple[Codes, tuple[Any, ...]]:
    """Turn context ids into codes; without any, every row is its own context."""
    if context is None:
        return np.arange(n_rows, dtype=np.int64), tuple(range(n_rows))
    return as_codes(context, "context", n_rows)
