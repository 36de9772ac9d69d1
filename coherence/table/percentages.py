"""Whether columns that are said to be percentages can be: decided from the whole column.

A single 0.7 may be 0.7% or a probability that was left as it is; beside values above 1 it is the
former, and where no value is above 1 nobody can tell.
"""

from collections.abc import Iterable, Mapping

from coherence.errors import InputError
from coherence.table.schema import COLUMN_NAMES


def check_percentages(columns: Mapping[str, Iterable[float]], source: str) -> str:
    """Refuse columns of percentages without a value above 1, and count values below 1 elsewhere.

    Parameters
    ----------
    columns : mapping of str to iterable of float
        Column -> its numbers without a percent sign, as they were written. Columns of several
        states (``p_rain``, ``p_dry``) are one distribution and are judged together.
    source : str
        Name of the table, for messages.

    Returns
    -------
    str
        A note on values between 0 and 1, which are taken as percentages too; empty where there are
        none.

    Raises
    ------
    InputError
        No value of a column is above 1.

    Examples
    --------
    >>> check_percentages({"p": [70.0, 0.7, 20.0]}, "mine.csv")
    "1 of 3 values of 'p' is below 1 and was taken as a percentage: 0.7 as 0.7%"
    """
    states = [name for name in columns if name not in COLUMN_NAMES]
    together = {name: [name] for name in columns if name in COLUMN_NAMES}
    if states:
        together[", ".join(states)] = states
    notes = []
    for title, names in together.items():
        numbers = [number for name in names for number in columns[name]]
        positive = [number for number in numbers if number > 0]
        if positive and max(positive) <= 1:
            raise InputError(
                f"{source}: {title} is said to hold percentages, and the largest of "
                f"{len(numbers)} values is {max(positive):g}. Leave percent (--percent) out if "
                "they are probabilities; if all of them are at most one percent, divide them by "
                "100 yourself."
            )
        below = [number for number in positive if number < 1]
        if below:
            # Signs make the meaning plain; only bare numbers were counted.
            verb = "is below 1 and was taken as a percentage"
            if len(below) > 1:
                verb = "are below 1 and were taken as percentages"
            notes.append(
                f"{len(below)} of {len(numbers)} values of {title!r} {verb}: "
                f"{below[0]:g} as {below[0]:g}%"
            )
    return "; ".join(notes)
