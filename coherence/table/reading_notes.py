"""What was assumed when a table was read, kept with the table until a report can say it."""

from collections.abc import Sequence

import pandas as pd

_KEY = "notes_of_reading"


def with_reading_notes(runs: pd.DataFrame, notes: Sequence[str]) -> pd.DataFrame:
    """Put notes to a table, behind those that it has."""
    if notes:
        runs.attrs[_KEY] = [*reading_notes(runs), *notes]
    return runs


def reading_notes(runs: pd.DataFrame) -> list[str]:
    """Return the notes of a table; none for one that was read elsewhere."""
    notes = runs.attrs.get(_KEY, [])
    # Attributes are anybody's: a file of another program may bring some.
    return [note for note in notes if isinstance(note, str)] if isinstance(notes, list) else []
